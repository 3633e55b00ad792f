// SPDX-License-Identifier: MIT
/* How the conformance programs meet, agree and wait: see conform.h. */
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
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
 * @greeted:  by the next process of the node
 */
struct page {
	_Atomic uint64_t arrived[RANKS_MAX];
	_Atomic uint64_t released;
	_Atomic uint64_t mail[2][RANKS_MAX];
	_Atomic uint64_t greeted;
};

/*
 * Where this process is with the others. Once it is parting, one that has been
 * released may be gone before its answer has left. @children are the other
 * processes of its node, where it has started them.
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
	unsigned int children;
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

	if (world.ppn > 1)
		snprintf(before, sizeof(before), "# process %u: ", world.rank);
	else
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

/* Put a word into a page, through some VCQ; the code of its notice. */
static int page_put(utofu_vcq_hdl_t vcq, utofu_vcq_id_t id, size_t offset,
		    uint64_t value)
{
	struct patience patience = { 0 };
	struct utofu_mrq_notice notice;
	utofu_stadd_t stadd;
	int code;

	if (utofu_query_stadd(id, CONTROL_STAG, &stadd))
		give_up("no address of a page");
	do {
		code = utofu_put_piggyback8(vcq, id, value, stadd + offset,
					    sizeof(value), 0, LCL, NULL);
	} while (code == UTOFU_ERR_BUSY && patient(&patience));
	while (code == UTOFU_SUCCESS) {
		code = utofu_poll_mrq(vcq, 0, &notice);
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
		code = page_put(control.vcq, control.id[rank], offset, value);
		if (code == UTOFU_SUCCESS || control.parting)
			return;
	} while (control.round <= 1 && patient(&patience));
	give_up("%u cannot write to %u: %d", world.rank, rank, code);
}

static void await(_Atomic uint64_t *word, uint64_t least, const char *what,
		  unsigned int rank)
{
	struct patience patience = { 0 };

	/* The others may be waiting in vain for several things first. */
	while (atomic_load(word) < least)
		if (!patient_for(&patience, WAIT_SECONDS))
			give_up("%u waits for %s of %u, round %u",
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
			printf("# wrong in process %u\n", r);
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
	/* Failures so far count against the next claim, at process 0. */
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
static void node_coords(unsigned int node, const unsigned long size[6],
			uint8_t coords[6])
{
	for (int axis = 5; axis >= 0; axis--) {
		coords[axis] = (uint8_t)(node % size[axis]);
		node /= (unsigned int)size[axis];
	}
}

static void world_shape(void)
{
	unsigned int occupied = (world.ranks + world.ppn - 1) / world.ppn;
	unsigned long size[6];
	unsigned int nodes = shape_read(size);

	for (unsigned int r = 0; r < world.ranks; r++)
		node_coords(r / world.ppn, size, world.coords[r]);
	world.empty = occupied < nodes;
	if (world.empty)
		node_coords(occupied, size, world.empty_coords);
}

static void world_neighbours(void)
{
	world.next = (world.rank + 1) % world.ranks;
	world.prev = (world.rank + world.ranks - 1) % world.ranks;
}

/* One of a node's processes was started, and starts the others. */
static void world_multiply(void)
{
	world.ppn = (unsigned int)env_number("CONFORM_PPN", 1);
	world.ranks = (unsigned int)env_number("TOFU_NODES", 1) * world.ppn;
	world.rank = (unsigned int)env_number("TOFU_NODE", 0) * world.ppn;
	fflush(stdout);
	for (unsigned int p = 1; p < world.ppn; p++) {
		pid_t pid = fork();

		if (pid < 0)
			give_up("no process");
		if (!pid) {
			control.children = 0;
			world.rank += p;
			return;
		}
		control.children++;
	}
}

void world_read(void)
{
	if (world.ranks)
		return;
	world.wait_seconds = (long)env_number("CONFORM_WAIT", WAIT_SECONDS);
	if (getenv("TOFU_RANK")) {
		world.rank = (unsigned int)env_number("TOFU_RANK", 0);
		world.ranks = (unsigned int)env_number("TOFU_RANKS", 1);
		world.ppn = (unsigned int)env_number("TOFU_PPN", 1);
	} else {
		world_multiply();
	}
	if (world.ranks > RANKS_MAX || world.rank >= world.ranks || !world.ppn)
		give_up("1 to %d processes", RANKS_MAX);
	world.own = world.rank % world.ppn;
	world_shape();
	world_neighbours();
}

static bool port_is(const char *name)
{
	const char *port = getenv("TOFU_PORT");

	return port && !strcmp(port, name);
}

bool engine_apart(void)
{
	return port_is("kernel");
}

bool node_remains(void)
{
	return engine_apart() || port_is("sim");
}

static void world_open(void)
{
	utofu_tni_id_t *tnis;
	size_t count;

	if (utofu_get_onesided_tnis(&tnis, &count) != UTOFU_SUCCESS)
		give_up("%u has no TNIs", world.rank);
	world.tnis = (unsigned int)count;
	free(tnis);
}

static utofu_vcq_id_t control_id(unsigned int rank)
{
	utofu_tni_id_t tni = (utofu_tni_id_t)(world.tnis - 1);
	utofu_vcq_id_t id = 0;

	if (utofu_construct_vcq_id(world.coords[rank], tni,
				   (utofu_cq_id_t)(rank % world.ppn),
				   CONTROL_CMP_ID, &id))
		give_up("no ID of the control VCQ of %u", rank);
	return id;
}

/*
 * The control VCQs of a node get queues in the order of its processes: each
 * waits until the one before it has its own, which it sees by writing there.
 */
static void await_previous(void)
{
	struct patience patience = { 0 };
	utofu_vcq_hdl_t vcq;
	int code;

	if (utofu_create_vcq(0, 0, &vcq))
		give_up("%u has no VCQ", world.rank);
	do {
		code = page_put(vcq, control_id(world.rank - 1),
				offsetof(struct page, greeted), 1);
	} while (code != UTOFU_SUCCESS && patient(&patience));
	if (code != UTOFU_SUCCESS || utofu_free_vcq(vcq))
		give_up("%u does not see the process before it: %d",
			world.rank, code);
}

static void control_open(void)
{
	utofu_tni_id_t tni = (utofu_tni_id_t)(world.tnis - 1);
	utofu_vcq_id_t id;
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
		give_up("%u has no control VCQ", world.rank);
	for (unsigned int r = 0; r < world.ranks; r++)
		control.id[r] = control_id(r);
	if (utofu_query_vcq_id(control.vcq, &id) || id != control.id[world.rank])
		give_up("the control VCQ of %u has another queue", world.rank);
}

void conform_begin(void)
{
	world_read();
	world_open();
	if (world.own)
		await_previous();
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
	for (; control.children; control.children--) {
		int status = 0;

		if (wait(&status) < 0 || status)
			control.failed++;
	}
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

void port_open_alone(struct port *port, utofu_tni_id_t tni,
		     unsigned long flags, size_t bytes)
{
	utofu_stadd_t *stadd = &port->stadd[world.rank];
	utofu_vcq_id_t *id = &port->id[world.rank];

	port->bytes = (bytes + 4095) / 4096 * 4096;
	port->area = aligned_alloc(4096, port->bytes);
	if (!port->area)
		give_up("no memory");
	memset(port->area, 0, port->bytes);
	if (utofu_create_vcq(tni, flags, &port->vcq) ||
	    utofu_query_vcq_id(port->vcq, id) ||
	    utofu_reg_mem(port->vcq, port->area, port->bytes, 0, stadd))
		give_up("%u has no VCQ on TNI %u", world.rank, tni);
}

void port_introduce(struct port *port)
{
	exchange(port->id[world.rank], port->id);
	exchange(port->stadd[world.rank], port->stadd);
}

void port_open(struct port *port, utofu_tni_id_t tni, unsigned long flags,
	       size_t bytes)
{
	port_open_alone(port, tni, flags, bytes);
	port_introduce(port);
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
