// SPDX-License-Identifier: MIT
/* How the conformance programs meet, agree and wait: see conform.h. */
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

/* Polls before a wait begins to sleep between them. */
#define EAGER_TURNS 200
#define NAP_NS 200000

struct world world;

/**
 * struct page - what others write to
 * @arrived:  of process 0: the rounds that the others have come to, with their
 *            verdict as the lowest bit
 * @released: the round that may be left
 * @mail:     values exchanged, of even and odd exchanges
 */
struct page {
	_Atomic uint64_t arrived[RANKS_MAX];
	_Atomic uint64_t released;
	_Atomic uint64_t mail[2][RANKS_MAX];
};

/*
 * Where this process is with the others. Once it is parting, one that has been
 * released may be gone before its answer has left.
 */
static struct {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id[RANKS_MAX];
	struct page *page;
	uint64_t round;
	uint64_t exchanges;
	unsigned int points;
	unsigned int failed;
	atomic_bool bad;
	bool parting;
} control;

/* ---- Words ---- */

static void say(const char *before, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	printf("%s%s\n", before, text);
	fflush(stdout);
}

void note(const char *format, ...)
{
	char before[32];
	va_list args;

	snprintf(before, sizeof(before), "# node %u: ", world.rank);
	va_start(args, format);
	say(before, format, args);
	va_end(args);
}

void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("Bail out! ", format, args);
	va_end(args);
	exit(EXIT_FAILURE);
}

bool check_that(bool holds, const char *text, const char *file, int line)
{
	if (!holds) {
		control.bad = true;
		note("%s:%d: not so: %s", file, line, text);
	}
	return holds;
}

bool check_code(int code, int expected, const char *text, const char *file,
		int line)
{
	if (code != expected) {
		control.bad = true;
		note("%s:%d: %d instead of %d from %s", file, line, code,
		     expected, text);
	}
	return code == expected;
}

/* ---- Waiting ---- */

static long now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)now.tv_sec;
}

static bool patient_for(struct patience *patience, long seconds)
{
	struct timespec nap = { .tv_nsec = NAP_NS };

	if (patience->turns++ == 0)
		patience->began = now_seconds();
	if (patience->turns < EAGER_TURNS) {
		sched_yield();
		return true;
	}
	nanosleep(&nap, NULL);
	return now_seconds() - patience->began < seconds;
}

bool patient(struct patience *patience)
{
	return patient_for(patience, world.wait_seconds);
}

void rest(unsigned int milliseconds)
{
	struct timespec nap = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = milliseconds % 1000 * 1000000L,
	};

	nanosleep(&nap, NULL);
}

/* ---- Meeting ---- */

/* Put a word into another's page; the code of its notice. */
static int control_put(unsigned int rank, size_t offset, uint64_t value)
{
	struct patience patience = { 0 };
	struct utofu_mrq_notice notice;
	utofu_stadd_t stadd;
	int code;

	if (utofu_query_stadd(control.id[rank], CONTROL_STAG, &stadd))
		give_up("the address of node %u's page", rank);
	do {
		code = utofu_put_piggyback8(control.vcq, control.id[rank],
					    value, stadd + offset,
					    sizeof(value), 0, LCL, NULL);
	} while (code == UTOFU_ERR_BUSY && patient(&patience));
	while (code == UTOFU_SUCCESS) {
		code = utofu_poll_mrq(control.vcq, 0, &notice);
		if (code != UTOFU_ERR_NOT_FOUND)
			return code;
		code = patient(&patience) ? UTOFU_SUCCESS : code;
	}
	return code;
}

/* The other process may not have come yet: then its page is not there. */
static void control_send(unsigned int rank, size_t offset, uint64_t value)
{
	struct patience patience = { 0 };
	int code;

	do {
		code = control_put(rank, offset, value);
		if (code == UTOFU_SUCCESS || control.parting)
			return;
	} while (control.round <= 1 && patient(&patience));
	give_up("node %u cannot write to node %u: %d", world.rank, rank, code);
}

static void await(_Atomic uint64_t *word, uint64_t least, const char *what,
		  unsigned int rank)
{
	struct patience patience = { 0 };

	/* The others may be waiting in vain for several things first. */
	while (atomic_load(word) < least)
		if (!patient_for(&patience, WAIT_SECONDS))
			give_up("node %u waits for %s of node %u, round %u",
				world.rank, what, rank,
				(unsigned int)control.round);
}

/* Process 0 hears of all, and lets all go on. Whether none was bad. */
static bool gather(void)
{
	bool good = true;

	for (unsigned int r = 0; r < world.ranks; r++) {
		await(&control.page->arrived[r], control.round << 1, "arrival",
		      r);
		if (atomic_load(&control.page->arrived[r]) & 1) {
			printf("# wrong on node %u\n", r);
			good = false;
		}
	}
	return good;
}

static void release(void)
{
	for (unsigned int r = 0; r < world.ranks; r++)
		control_send(r, offsetof(struct page, released),
			     control.round);
}

/* Say where one is; at process 0, whether all are well. */
static bool arrive(void)
{
	bool bad = atomic_exchange(&control.bad, false);

	control.round++;
	control_send(0,
		     offsetof(struct page, arrived) +
			     world.rank * sizeof(uint64_t),
		     control.round << 1 | bad);
	return world.rank == 0 ? gather() : true;
}

static void leave(void)
{
	if (world.rank == 0)
		release();
	await(&control.page->released, control.round, "release", 0);
}

void meet(void)
{
	/* What is bad so far counts against the next claim, at process 0. */
	if (!arrive())
		control.bad = true;
	leave();
}

/* The failure that this run was made to see. */
static void stop_if_seen(const char *name)
{
	const char *part = getenv("CONFORM_STOP");

	if (part && strstr(name, part))
		give_up("this failure was waited for");
}

void claim(const char *format, ...)
{
	bool good = arrive();
	char name[256];
	va_list args;

	control.points++;
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	if (world.rank == 0) {
		printf("%sok %u - %s\n", good ? "" : "not ", control.points,
		       name);
		fflush(stdout);
		control.failed += !good;
		if (!good)
			stop_if_seen(name);
	}
	leave();
}

void claim_skip(const char *name, const char *reason)
{
	claim("%s # SKIP %s", name, reason);
}

void exchange(uint64_t value, uint64_t all[])
{
	unsigned int odd = control.exchanges++ & 1;

	for (unsigned int r = 0; r < world.ranks; r++)
		control_send(r,
			     offsetof(struct page, mail) +
				     (odd * RANKS_MAX + world.rank) *
					     sizeof(uint64_t),
			     value);
	meet();
	for (unsigned int r = 0; r < world.ranks; r++)
		all[r] = atomic_load(&control.page->mail[odd][r]);
}

/* ---- Beginning and end ---- */

static unsigned long env_number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

/* Sizes of X Y Z A B C, those that are left out being 1; their product. */
static unsigned int shape_read(unsigned long size[6])
{
	const char *text = getenv("TOFU_SHAPE");
	unsigned int nodes = 1;

	for (int axis = 0; axis < 6; axis++) {
		char *end = NULL;

		size[axis] = text ? strtoul(text, &end, 10) : 1;
		if (size[axis] == 0)
			give_up("TOFU_SHAPE has to be sizes: 2x3x1x2x3x2");
		nodes *= (unsigned int)size[axis];
		text = end && *end ? end + 1 : NULL;
	}
	return nodes;
}

/* Node numbers count coordinates X Y Z A B C, the last one fastest. */
static void world_shape(void)
{
	unsigned long size[6];

	world.nodes = shape_read(size);
	for (unsigned int r = 0; r < world.nodes && r < RANKS_MAX; r++) {
		unsigned long rest_of = r;

		for (int axis = 5; axis >= 0; axis--) {
			world.coords[r][axis] =
				(uint8_t)(rest_of % size[axis]);
			rest_of /= size[axis];
		}
	}
}

static void world_neighbours(void)
{
	world.next = (world.rank + 1) % world.ranks;
	world.prev = (world.rank + world.ranks - 1) % world.ranks;
}

void world_read(void)
{
	world_shape();
	world.wait_seconds = (long)env_number("CONFORM_WAIT", WAIT_SECONDS);
	world.rank = (unsigned int)env_number("TOFU_NODE", 0);
	world.ranks = (unsigned int)env_number("TOFU_NODES", world.nodes);
	if (world.ranks > RANKS_MAX || world.rank >= world.ranks)
		give_up("1 to %d nodes", RANKS_MAX);
	world_neighbours();
}

bool several_processes(void)
{
	const char *port = getenv("TOFU_PORT");

	return port && !strcmp(port, "kernel");
}

static void world_open(void)
{
	utofu_tni_id_t *tnis;
	size_t count;

	if (utofu_get_onesided_tnis(&tnis, &count) != UTOFU_SUCCESS)
		give_up("node %u has no TNIs", world.rank);
	world.tnis = (unsigned int)count;
	free(tnis);
}

static void control_open(void)
{
	utofu_tni_id_t tni = (utofu_tni_id_t)(world.tnis - 1);
	utofu_stadd_t stadd;

	control.page = aligned_alloc(4096, 4096);
	if (!control.page)
		give_up("no memory");
	memset(control.page, 0, 4096);
	if (utofu_create_vcq_with_cmp_id(tni, CONTROL_CMP_ID,
					 UTOFU_VCQ_FLAG_EXCLUSIVE,
					 &control.vcq) ||
	    utofu_reg_mem_with_stag(control.vcq, control.page, 4096,
				    CONTROL_STAG, 0, &stadd))
		give_up("node %u has no control VCQ", world.rank);
	for (unsigned int r = 0; r < world.ranks; r++)
		if (utofu_construct_vcq_id(world.coords[r], tni, 0,
					   CONTROL_CMP_ID, &control.id[r]))
			give_up("the control VCQ's ID on node %u", r);
}

void conform_begin(void)
{
	world_read();
	world_open();
	control_open();
	if (world.rank == 0)
		printf("TAP version 13\n");
	meet();
}

int conform_end(void)
{
	control.parting = true;
	meet();
	if (world.rank == 0)
		printf("1..%u\n", control.points);
	utofu_free_vcq(control.vcq);
	return control.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

void conform_lose_last(bool node)
{
	control.parting = true;
	meet();
	if (node)
		note("streaming");
	if (world.rank == world.ranks - 1 && !node)
		_exit(EXIT_SUCCESS);
	while (world.rank == world.ranks - 1)
		pause();
	control.parting = false;
	world.ranks--;
	world_neighbours();
}

/* ---- Ports ---- */

void port_open(struct port *port, utofu_tni_id_t tni, unsigned long flags,
	       size_t bytes)
{
	utofu_stadd_t stadd;
	utofu_vcq_id_t id;

	port->bytes = (bytes + 4095) / 4096 * 4096;
	port->area = aligned_alloc(4096, port->bytes);
	if (!port->area)
		give_up("no memory");
	memset(port->area, 0, port->bytes);
	if (utofu_create_vcq(tni, flags, &port->vcq) ||
	    utofu_query_vcq_id(port->vcq, &id) ||
	    utofu_reg_mem(port->vcq, port->area, port->bytes, 0, &stadd))
		give_up("node %u has no VCQ on TNI %u", world.rank, tni);
	exchange(id, port->id);
	exchange(stadd, port->stadd);
}

void port_close(struct port *port)
{
	meet();
	CODE(utofu_free_vcq(port->vcq), UTOFU_SUCCESS);
	free(port->area);
}

int next_report(struct port *port, void **cbdata)
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_tcq(port->vcq, 0, cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND && patient(&patience));
	return code;
}

int next_notice(struct port *port, struct utofu_mrq_notice *notice)
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_mrq(port->vcq, 0, notice);
	} while (code == UTOFU_ERR_NOT_FOUND && patient(&patience));
	return code;
}

void take_reports(struct port *port, size_t count)
{
	void *cbdata;

	while (count--)
		if (!CODE(next_report(port, &cbdata), UTOFU_SUCCESS))
			return;
}

void take_notices(struct port *port, size_t lcl, size_t rmt)
{
	struct utofu_mrq_notice notice;
	size_t seen[2] = { 0 };

	for (size_t i = 0; i < lcl + rmt; i++) {
		if (!CODE(next_notice(port, &notice), UTOFU_SUCCESS))
			return;
		/* The types alternate: even ones are local. */
		seen[notice.notice_type & 1]++;
	}
	CHECK(seen[0] == lcl);
	CHECK(seen[1] == rmt);
}

void check_quiet(struct port *port)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	CODE(utofu_poll_tcq(port->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	CODE(utofu_poll_mrq(port->vcq, 0, &notice), UTOFU_ERR_NOT_FOUND);
}

/* ---- Data ---- */

/* Neighbouring bytes, seeds and kilobytes differ; no byte is 0. */
static uint8_t byte_at(size_t i, uint64_t seed)
{
	uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) +
			 (seed + 1) * UINT64_C(0xbf58476d1ce4e5b9);

	return (uint8_t)((mixed >> 40) % 255 + 1);
}

void fill(void *to, size_t bytes, uint64_t seed)
{
	uint8_t *byte = to;

	for (size_t i = 0; i < bytes; i++)
		byte[i] = byte_at(i, seed);
}

bool is_filled(const void *from, size_t bytes, uint64_t seed)
{
	const uint8_t *byte = from;

	for (size_t i = 0; i < bytes; i++) {
		if (byte[i] == byte_at(i, seed))
			continue;
		note("byte %zu of %zu is %u instead of %u", i, bytes, byte[i],
		     byte_at(i, seed));
		return false;
	}
	return true;
}

bool is_all(const void *from, size_t bytes, uint8_t value)
{
	const uint8_t *byte = from;

	for (size_t i = 0; i < bytes; i++) {
		if (byte[i] == value)
			continue;
		note("byte %zu of %zu is %u instead of %u", i, bytes, byte[i],
		     value);
		return false;
	}
	return true;
}
