// SPDX-License-Identifier: MIT
/*
 * Session mode: commands that wait until puts of others let them go, and
 * chains of them that need no processor. In a guest a chain's programs are
 * stopped while it runs; others, which only look at memory, see its end.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define SPS(steps) UTOFU_ONESIDED_FLAG_SPS(steps)
#define BYTES 65536
#define LAPS 50
#define PLACES_MAX 5
#define TOKEN 64

/* Each node holds commands back, and lets those of the next node go. */
static struct port free_port, held;

static uint64_t word_at(size_t at)
{
	return atomic_load((_Atomic uint64_t *)(free_port.area + at));
}

/* A command that waits: number k into the next node's word. */
static void hold(uint64_t k)
{
	CODE(utofu_put_piggyback8(held.vcq, free_port.id[world.next], k,
				  free_port.stadd[world.next], 8, 0, TCQ,
				  NULL),
	     UTOFU_SUCCESS);
}

/* Let the next node's commands go, by a put into its held port. */
static void let_go(unsigned int steps)
{
	CODE(utofu_put_piggyback8(free_port.vcq, held.id[world.next], steps,
				  held.stadd[world.next], 8, 0,
				  LCL | SPS(steps), NULL),
	     UTOFU_SUCCESS);
	take_notices(&free_port, 1, 0);
}

/* The commands let go have arrived, and a while later no others have. */
static void expect(uint64_t k)
{
	struct patience patience = { 0 };

	while (word_at(0) < k && patient(&patience))
		;
	for (int i = 0; i < 5; i++) {
		meet();
		rest(2);
	}
	CHECK(word_at(0) == k);
	meet();
}

/* A held command ends without a poll; this takes @reports of them. */
static void settle(size_t reports)
{
	take_reports(&held, reports);
	check_quiet(&held);
	atomic_store((_Atomic uint64_t *)free_port.area, 0);
	meet();
}

static void check_steps(void)
{
	for (uint64_t k = 1; k <= 20; k++)
		hold(k);
	expect(0);
	claim("commands of a SESSION_MODE VCQ wait");
	let_go(0);
	expect(0);
	claim("a put without steps lets none go");
	for (uint64_t k = 1; k <= 4; k++) {
		let_go(1);
		expect(k);
	}
	claim("one step lets one command go, in order");
	let_go(3);
	expect(7);
	let_go(13);
	expect(20);
	claim("SPS(n) lets n commands go");
	settle(20);
}

static void check_early_steps(void)
{
	let_go(2);
	let_go(15);
	meet();
	for (uint64_t k = 1; k <= 18; k++)
		hold(k);
	expect(17);
	let_go(1);
	expect(18);
	settle(18);
	claim("steps that come before the commands are kept");
}

/* By each kind of command; a get and an atomic let go as well as a put. */
static void check_kinds(void)
{
	utofu_vcq_id_t id = held.id[world.next];
	utofu_stadd_t own = free_port.stadd[world.rank] + 4096;
	utofu_stadd_t to = held.stadd[world.next];

	for (uint64_t k = 1; k <= 5; k++)
		hold(k);
	meet();
	CODE(utofu_put(free_port.vcq, id, own, to, 30000, 0, LCL | SPS(1),
		       NULL),
	     UTOFU_SUCCESS);
	take_notices(&free_port, 1, 0);
	expect(1);
	CODE(utofu_get(free_port.vcq, id, own, to, 30000, 0, LCL | SPS(1),
		       NULL),
	     UTOFU_SUCCESS);
	take_notices(&free_port, 1, 0);
	expect(2);
	CODE(utofu_armw8(free_port.vcq, id, UTOFU_ARMW_OP_ADD, 1, to, 0,
			 LCL | SPS(1), NULL),
	     UTOFU_SUCCESS);
	take_notices(&free_port, 1, 0);
	expect(3);
	CODE(utofu_put_stride(free_port.vcq, id, own, to, 8, 16, 2, 0,
			      LCL | SPS(1), NULL),
	     UTOFU_SUCCESS);
	take_notices(&free_port, 2, 0);
	expect(5);
	settle(5);
	claim("put, get, atomic let go; of blocks each has its own step");
}

/* A command that fails gives no step. */
static void check_failed(void)
{
	struct utofu_mrq_notice notice;
	utofu_stadd_t nowhere;

	hold(1);
	utofu_query_stadd(held.id[world.next], 99, &nowhere);
	CODE(utofu_put_piggyback8(free_port.vcq, held.id[world.next], 1,
				  nowhere, 8, 0, LCL | SPS(1), NULL),
	     UTOFU_SUCCESS);
	CODE(next_notice(&free_port, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	expect(0);
	let_go(1);
	expect(1);
	settle(1);
	claim("a put that fails lets none go");
}

static void check_others(void)
{
	/* One that is not in session mode does not mind. */
	CODE(utofu_put_piggyback8(free_port.vcq, free_port.id[world.next], 5,
				  free_port.stadd[world.next] + 8, 8, 0,
				  TCQ | SPS(15), NULL),
	     UTOFU_SUCCESS);
	take_reports(&free_port, 1);
	CODE(utofu_nop(free_port.vcq, TCQ, NULL), UTOFU_SUCCESS);
	take_reports(&free_port, 1);
	meet();
	claim("a VCQ that is not in session mode minds no steps");
}

/* BUSY when full, and what waits is given up with the VCQ. */
static void fill_and_free(void)
{
	utofu_vcq_hdl_t vcq = 0;
	unsigned long count = 0;
	int code;

	CODE(utofu_create_vcq(0, UTOFU_VCQ_FLAG_SESSION_MODE, &vcq),
	     UTOFU_SUCCESS);
	do {
		code = utofu_put_piggyback8(vcq, free_port.id[world.next], 1,
					    free_port.stadd[world.next] + 16,
					    8, 0, 0, NULL);
	} while (code == UTOFU_SUCCESS && ++count < (1ul << 22));
	CODE(code, UTOFU_ERR_BUSY);
	CHECK(count >= 64);
	CODE(utofu_free_vcq(vcq), UTOFU_SUCCESS);
}

static void check_given_up(void)
{
	IN_TURN
		fill_and_free();
	CHECK(word_at(16) == 0);
	claim("a full queue of waiting commands is BUSY, and can be freed");
}

/* ---- The chain ---- */

/**
 * struct course - how a token goes round
 * @places:  VCQs that it comes by in a lap; place p is on node p mod ranks
 * @strided: of these places, a bit each: all laps are one strided put
 */
struct course {
	unsigned int places;
	unsigned int strided;
};

/**
 * struct chain - what the chain's program and the one that looks share
 * @step:  how far they are
 * @id:    of the places' VCQs in session mode
 * @stadd: of the places' @slots
 * @slots: of this node's places, where the token comes by, a slot a lap
 */
struct chain {
	_Atomic unsigned int step;
	uint64_t id[PLACES_MAX];
	uint64_t stadd[PLACES_MAX];
	uint8_t slots[PLACES_MAX][LAPS + 1][TOKEN];
};

enum step { NOTHING, OPEN, KNOWN, READY, START, END, FAILED };

static struct chain *chain;

static void chain_await(unsigned int step)
{
	struct patience patience = { 0 };

	while (atomic_load(&chain->step) < step && patient(&patience))
		;
}

/* Errors are reported where all processes look. */
static void chain_expect(bool holds)
{
	if (!holds)
		atomic_store(&chain->step, FAILED);
}

static bool is_own(unsigned int place)
{
	return place % world.ranks == world.rank;
}

/* This node's part of a course; the last VCQ starts the token. */
static void chain_open(const struct course *course, utofu_vcq_hdl_t vcq[])
{
	for (unsigned int p = 0; p < course->places; p++)
		if (is_own(p))
			chain_expect(!utofu_create_vcq(
					     (utofu_tni_id_t)(p % world.tnis),
					     UTOFU_VCQ_FLAG_SESSION_MODE,
					     &vcq[p]) &&
				     !utofu_query_vcq_id(vcq[p],
							 &chain->id[p]) &&
				     !utofu_reg_mem(vcq[p], chain->slots[p],
						    sizeof(chain->slots[p]), 0,
						    &chain->stadd[p]));
	chain_expect(!utofu_create_vcq(1, 0, &vcq[course->places]));
}

static void chain_close(const struct course *course, utofu_vcq_hdl_t vcq[])
{
	for (unsigned int p = 0; p < course->places; p++)
		if (is_own(p))
			chain_expect(!utofu_free_vcq(vcq[p]));
	chain_expect(!utofu_free_vcq(vcq[course->places]));
}

/* The token goes on from place to place, and from the last to the next lap. */
static void place_post(const struct course *course, utofu_vcq_hdl_t vcq,
		       unsigned int place)
{
	unsigned int next = (place + 1) % course->places;
	utofu_stadd_t from = chain->stadd[place];
	utofu_stadd_t to = chain->stadd[next] + (next == 0) * TOKEN;

	if (course->strided >> place & 1) {
		chain_expect(!utofu_put_stride(vcq, chain->id[next], from, to,
					       TOKEN, TOKEN, LAPS, 0, SPS(1),
					       NULL));
		return;
	}
	for (size_t lap = 0; lap < LAPS; lap++)
		chain_expect(!utofu_put(vcq, chain->id[next],
					from + lap * TOKEN, to + lap * TOKEN,
					TOKEN, 0, SPS(1), NULL));
}

static void chain_post(const struct course *course, const utofu_vcq_hdl_t vcq[])
{
	for (unsigned int p = 0; p < course->places; p++)
		if (is_own(p))
			place_post(course, vcq[p], p);
}

/* Place 0's node gives the token to it. */
static void chain_start(utofu_vcq_hdl_t starter)
{
	uint8_t token[32];

	fill(token, sizeof(token), LAPS);
	chain_expect(!utofu_put_piggyback(starter, chain->id[0], token,
					  chain->stadd[0], sizeof(token), 0,
					  SPS(1), NULL));
}

/* Looks at memory alone: the token has come by in every lap. */
static void chain_watch(const struct course *course)
{
	for (unsigned int p = 0; p < course->places; p++) {
		size_t last = p == 0 ? LAPS : LAPS - 1;
		uint8_t *slot = chain->slots[p][last];
		struct patience patience = { 0 };

		if (!is_own(p))
			continue;
		while (atomic_load((_Atomic uint32_t *)(slot + 28)) == 0 &&
		       patient(&patience))
			;
		for (size_t lap = 0; lap <= last; lap++)
			if (!CHECK(is_filled(chain->slots[p][lap], 32, LAPS)))
				break;
	}
	CHECK(chain->step != FAILED);
}

static void chain_make(void)
{
	chain = mmap(NULL, sizeof(*chain), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (chain == MAP_FAILED)
		give_up("no memory");
}

/* Everybody learns what each place's node knows. */
static void chain_introduce(const struct course *course)
{
	for (unsigned int p = 0; p < course->places; p++) {
		uint64_t all[RANKS_MAX];

		exchange(chain->id[p], all);
		chain->id[p] = all[p % world.ranks];
		exchange(chain->stadd[p], all);
		chain->stadd[p] = all[p % world.ranks];
	}
}

static void chain_claim(const struct course *course, const char *how)
{
	char strided[PLACES_MAX + 1] = "";

	for (unsigned int p = 0; p < course->places; p++)
		strided[p] = course->strided >> p & 1 ? 'S' : '.';
	claim("a chain of %u, %d laps, strided %s%s", course->places, LAPS,
	      strided, how);
}

/* In one process: nobody calls the library while the token is under way. */
static void check_chain(const struct course *course)
{
	utofu_vcq_hdl_t vcq[PLACES_MAX + 1];

	memset(chain, 0, sizeof(*chain));
	chain_open(course, vcq);
	chain_introduce(course);
	chain_post(course, vcq);
	meet();
	if (world.rank == 0)
		chain_start(vcq[course->places]);
	chain_watch(course);
	chain_claim(course, "");
	chain_close(course, vcq);
	CHECK(chain->step != FAILED);
}

/* The chain's program: stops as soon as it has nothing more to say. */
static void run(const struct course *course)
{
	utofu_vcq_hdl_t vcq[PLACES_MAX + 1];

	chain_await(OPEN);
	chain_open(course, vcq);
	if (atomic_load(&chain->step) == FAILED)
		_exit(1);
	atomic_store(&chain->step, KNOWN);
	chain_await(READY);
	chain_post(course, vcq);
	if (world.rank == 0) {
		atomic_store(&chain->step, START);
		chain_await(END);
		chain_start(vcq[course->places]);
	}
	raise(SIGSTOP);
	chain_close(course, vcq);
	if (atomic_load(&chain->step) == FAILED)
		_exit(1);
	atomic_store(&chain->step, NOTHING);
}

static void await_stop(pid_t pid)
{
	int status = 0;

	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

static void check_stopped_chain(const struct course *course, pid_t pid)
{
	struct patience patience = { 0 };

	while (atomic_load(&chain->step) != NOTHING && patient(&patience))
		;
	memset(chain, 0, sizeof(*chain));
	atomic_store(&chain->step, OPEN);
	chain_await(KNOWN);
	CHECK(atomic_load(&chain->step) == KNOWN);
	chain_introduce(course);
	atomic_store(&chain->step, READY);
	if (world.rank == 0)
		chain_await(START);
	else
		await_stop(pid);
	meet();
	if (world.rank == 0) {
		atomic_store(&chain->step, END);
		await_stop(pid);
	}
	chain_watch(course);
	chain_claim(course, ", its programs all stopped");
	kill(pid, SIGCONT);
}

/* ---- All courses ---- */

/* No place strided, each by itself, all of them. */
static const struct course courses[] = {
	{ 3, 0 }, { 3, 1 }, { 3, 2 }, { 3, 4 }, { 3, 7 },
	{ 5, 0 }, { 5, 1 }, { 5, 2 }, { 5, 4 }, { 5, 8 }, { 5, 16 }, { 5, 31 },
};

#define COURSES (sizeof(courses) / sizeof(*courses))

/* TNIs are known to the process that meets the others. */
static void runner(void)
{
	utofu_tni_id_t *tnis;
	size_t count;

	chain_await(OPEN);
	if (utofu_get_onesided_tnis(&tnis, &count))
		_exit(1);
	free(tnis);
	world.tnis = (unsigned int)count;
	for (size_t i = 0; i < COURSES; i++)
		run(&courses[i]);
	_exit(0);
}

static void check_chains(void)
{
	for (size_t i = 0; i < COURSES; i++)
		check_chain(&courses[i]);
}

static void check_stopped_chains(pid_t pid)
{
	int status = 0;

	if (!pid) {
		claim_skip("chains whose programs are all stopped",
			   engine_apart() ?
				   "with one process a node" :
				   "a process is its own engine here");
		return;
	}
	/* Drop the step of earlier chains: this process waits for a new one. */
	atomic_store(&chain->step, NOTHING);
	for (size_t i = 0; i < COURSES; i++)
		check_stopped_chain(&courses[i], pid);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	claim("the programs end when they go on");
}

int main(void)
{
	pid_t pid = 0;

	world_read();
	chain_make();
	if (engine_apart() && world.ppn == 1) {
		/* Before the first call of the library. */
		pid = fork();
		if (pid < 0)
			give_up("no process");
		if (pid == 0)
			runner();
	}
	conform_begin();
	port_open(&free_port, 0, 0, BYTES);
	port_open(&held, 0, UTOFU_VCQ_FLAG_SESSION_MODE, BYTES);
	check_steps();
	check_early_steps();
	check_kinds();
	check_failed();
	check_others();
	check_given_up();
	port_close(&held);
	check_chains();
	check_stopped_chains(pid);
	port_close(&free_port);
	return conform_end();
}
