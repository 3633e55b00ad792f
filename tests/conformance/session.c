// SPDX-License-Identifier: MIT
/*
 * Session mode: commands that wait until puts of others let them go, and a
 * chain of them that needs no processor. In a guest the chain's programs are
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

/* What has been let go has come, and a while later no more than that. */
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

/* A held command ends without a poll; this takes the reports of so many. */
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

/* What fails does not let go. */
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
static void check_given_up(void)
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
	meet();
	CHECK(word_at(16) == 0);
	claim("a full queue of waiting commands is BUSY, and can be freed");
}

/* ---- The chain ---- */

/**
 * struct chain - what the chain's program and the one that looks share
 * @step:  how far they are
 * @id:    of the nodes' VCQs in session mode
 * @stadd: of the nodes' @slots
 * @slots: where the token comes by, a slot a lap
 */
struct chain {
	_Atomic unsigned int step;
	uint64_t id[RANKS_MAX];
	uint64_t stadd[RANKS_MAX];
	uint8_t slots[LAPS + 1][TOKEN];
};

enum step { NOTHING, OPEN, KNOWN, READY, START, END, FAILED };

static struct chain *chain;

static void chain_await(unsigned int step)
{
	struct patience patience = { 0 };

	while (atomic_load(&chain->step) < step && patient(&patience))
		;
}

static utofu_vcq_hdl_t chain_open(utofu_tni_id_t tni, unsigned long flags,
				  uint64_t *id, uint64_t *stadd)
{
	utofu_vcq_hdl_t vcq = 0;

	if (utofu_create_vcq(tni, flags, &vcq) ||
	    utofu_query_vcq_id(vcq, id) ||
	    utofu_reg_mem(vcq, chain->slots, sizeof(chain->slots), 0, stadd))
		atomic_store(&chain->step, FAILED);
	return vcq;
}

/* The token goes on from node to node, and from the last to the next lap. */
static void chain_post(utofu_vcq_hdl_t vcq, unsigned int rank)
{
	unsigned int next = (rank + 1) % world.ranks;

	for (size_t lap = 0; lap < LAPS; lap++) {
		size_t to = lap + (next == 0);
		int code = utofu_put(vcq, chain->id[next],
				     chain->stadd[rank] + lap * TOKEN,
				     chain->stadd[next] + to * TOKEN, TOKEN, 0,
				     SPS(1), NULL);

		if (code != UTOFU_SUCCESS)
			atomic_store(&chain->step, FAILED);
	}
}

/* Node 0 gives the token to itself. */
static void chain_start(utofu_vcq_hdl_t starter)
{
	uint8_t token[32];

	fill(token, sizeof(token), LAPS);
	if (utofu_put_piggyback(starter, chain->id[0], token, chain->stadd[0],
				sizeof(token), 0, SPS(1), NULL))
		atomic_store(&chain->step, FAILED);
}

/* Looks at memory alone. */
static void chain_watch(void)
{
	size_t last = world.rank == 0 ? LAPS : LAPS - 1;
	uint8_t *slot = chain->slots[last];
	struct patience patience = { 0 };

	while (atomic_load((_Atomic uint32_t *)(slot + 28)) == 0 &&
	       patient(&patience))
		;
	for (size_t lap = 0; lap <= last; lap++)
		CHECK(is_filled(chain->slots[lap], 32, LAPS));
}

static void chain_make(void)
{
	chain = mmap(NULL, sizeof(*chain), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (chain == MAP_FAILED)
		give_up("no memory");
}

static void chain_introduce(void)
{
	uint64_t all[RANKS_MAX];

	exchange(chain->id[world.rank], all);
	memcpy(chain->id, all, sizeof(all));
	exchange(chain->stadd[world.rank], all);
	memcpy(chain->stadd, all, sizeof(all));
}

/* In one process: nobody calls the library while the token is under way. */
static void check_chain(void)
{
	uint64_t id, stadd;
	utofu_vcq_hdl_t vcq, starter;

	vcq = chain_open(0, UTOFU_VCQ_FLAG_SESSION_MODE, &chain->id[world.rank],
			 &chain->stadd[world.rank]);
	starter = chain_open(1, 0, &id, &stadd);
	chain_introduce();
	chain_post(vcq, world.rank);
	meet();
	if (world.rank == 0)
		chain_start(starter);
	chain_watch();
	CHECK(chain->step != FAILED);
	claim("a chain of %d laps over %u nodes", LAPS, world.ranks);
	CODE(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	CODE(utofu_free_vcq(starter), UTOFU_SUCCESS);
	memset(chain, 0, sizeof(*chain));
}

/* The chain's program: stops as soon as it has nothing more to say. */
static void runner(unsigned int rank)
{
	uint64_t id, stadd;
	utofu_vcq_hdl_t vcq, starter;

	chain_await(OPEN);
	vcq = chain_open(0, UTOFU_VCQ_FLAG_SESSION_MODE, &chain->id[rank],
			 &chain->stadd[rank]);
	starter = chain_open(1, 0, &id, &stadd);
	if (atomic_load(&chain->step) == FAILED)
		_exit(1);
	atomic_store(&chain->step, KNOWN);
	chain_await(READY);
	chain_post(vcq, rank);
	if (rank == 0) {
		atomic_store(&chain->step, START);
		chain_await(END);
		chain_start(starter);
	}
	raise(SIGSTOP);
	_exit(atomic_load(&chain->step) == FAILED);
}

static void await_stop(pid_t pid)
{
	int status = 0;

	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

static void check_stopped_chain(pid_t pid)
{
	int status = 0;

	atomic_store(&chain->step, OPEN);
	chain_await(KNOWN);
	CHECK(atomic_load(&chain->step) == KNOWN);
	chain_introduce();
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
	chain_watch();
	claim("a chain over %u nodes whose programs are all stopped",
	      world.ranks);
	kill(pid, SIGCONT);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	claim("the programs end when they go on");
}

int main(void)
{
	pid_t pid = 0;

	world_read();
	chain_make();
	if (several_processes()) {
		/* Before the first call of the library. */
		pid = fork();
		if (pid < 0)
			give_up("no process");
		if (pid == 0)
			runner(world.rank);
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
	check_chain();
	if (pid)
		check_stopped_chain(pid);
	else
		claim_skip("a chain whose programs are all stopped",
			   "one process a node here");
	port_close(&free_port);
	return conform_end();
}
