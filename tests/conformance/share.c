// SPDX-License-Identifier: MIT
/*
 * Four processes a node, where a node can have several, with 28 VCQs each over
 * all TNIs: none gets what is meant for another one.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define PROCESSES 4
#define VCQS 28
#define PUTS 20
#define PEERS 2
#define SLOT 64

/**
 * struct vcq - one of a process
 * @hdl:   handle
 * @area:  a slot for each of those that send to it
 */
struct vcq {
	utofu_vcq_hdl_t hdl;
	uint8_t *area;
};

/**
 * struct table - what the processes of a node share
 * @step:  that all may take
 * @done:  by how many it has been taken
 * @bad:   some check did not hold
 * @id:    of the VCQs, by node
 * @stadd: of their areas
 */
struct table {
	_Atomic unsigned int step;
	_Atomic unsigned int done;
	_Atomic bool bad;
	uint64_t id[RANKS_MAX][PROCESSES][VCQS];
	uint64_t stadd[RANKS_MAX][PROCESSES][VCQS];
};

static struct table *table;
static unsigned int processes = 1;
static unsigned int own; /* number in the node */
static struct vcq vcqs[VCQS];

static void expect(bool holds, const char *text)
{
	if (!holds) {
		atomic_store(&table->bad, true);
		note("process %u: not so: %s", own, text);
	}
}

#define EXPECT(holds) expect(holds, #holds)

/* ---- What every process does ---- */

static utofu_tni_id_t tni_of(unsigned int v)
{
	return (utofu_tni_id_t)(v % world.tnis);
}

static void vcqs_open(void)
{
	uint8_t *memory = aligned_alloc(4096, VCQS * 4096);

	if (!memory)
		give_up("no memory");
	memset(memory, 0, VCQS * 4096);
	for (unsigned int v = 0; v < VCQS; v++) {
		vcqs[v].area = memory + v * 4096;
		EXPECT(!utofu_create_vcq(tni_of(v), 0, &vcqs[v].hdl));
		EXPECT(!utofu_query_vcq_id(vcqs[v].hdl,
					   &table->id[world.rank][own][v]));
		EXPECT(!utofu_reg_mem(vcqs[v].hdl, vcqs[v].area, 4096, 0,
				      &table->stadd[world.rank][own][v]));
	}
}

/* Whom one sends to: the same VCQ of the next node, and of the next process. */
static void peer_of(unsigned int which, unsigned int *rank,
		    unsigned int *process)
{
	*rank = which ? world.rank : world.next;
	*process = which ? (own + 1) % processes : own;
}

static void sender_of(unsigned int which, unsigned int *rank,
		      unsigned int *process)
{
	*rank = which ? world.rank : world.prev;
	*process = which ? (own + processes - 1) % processes : own;
}

static uint64_t value_of(unsigned int rank, unsigned int process,
			 unsigned int v, unsigned int which)
{
	return ((rank * UINT64_C(100) + process) * 100 + v) * 10 + which + 1;
}

static void vcq_send(unsigned int v, unsigned int which)
{
	struct patience patience = { 0 };
	unsigned int rank, process;
	int code;

	peer_of(which, &rank, &process);
	do {
		code = utofu_put_piggyback8(
			vcqs[v].hdl, table->id[rank][process][v],
			value_of(world.rank, own, v, which),
			table->stadd[rank][process][v] + which * SLOT, 8,
			which, TCQ | RMT, &vcqs[v].area[which]);
	} while (code == UTOFU_ERR_BUSY && patient(&patience));
	EXPECT(code == UTOFU_SUCCESS);
}

/* A notice names its sender, a report its post. */
static bool vcq_poll(unsigned int v, unsigned int *reports,
		     unsigned int *notices)
{
	struct utofu_mrq_notice notice;
	unsigned int rank, process;
	void *cbdata;
	int code = utofu_poll_tcq(vcqs[v].hdl, 0, &cbdata);

	if (code != UTOFU_ERR_NOT_FOUND) {
		EXPECT(code == UTOFU_SUCCESS);
		EXPECT(cbdata == &vcqs[v].area[0] ||
		       cbdata == &vcqs[v].area[1]);
		(*reports)++;
	}
	code = utofu_poll_mrq(vcqs[v].hdl, 0, &notice);
	if (code != UTOFU_ERR_NOT_FOUND) {
		EXPECT(code == UTOFU_SUCCESS);
		sender_of(notice.edata & 1, &rank, &process);
		EXPECT(notice.vcq_id == table->id[rank][process][v]);
		EXPECT(notice.rmt_stadd ==
		       table->stadd[world.rank][own][v] +
			       notice.edata * SLOT);
		(*notices)++;
	}
	return *reports == PUTS * PEERS && *notices == PUTS * PEERS;
}

static void vcqs_check(void)
{
	for (unsigned int v = 0; v < VCQS; v++)
		for (unsigned int which = 0; which < PEERS; which++) {
			unsigned int rank, process;
			uint64_t value;

			sender_of(which, &rank, &process);
			memcpy(&value, vcqs[v].area + which * SLOT, 8);
			EXPECT(value == value_of(rank, process, v, which));
		}
}

static void vcqs_communicate(void)
{
	unsigned int reports[VCQS] = { 0 }, notices[VCQS] = { 0 };
	struct patience patience = { 0 };
	bool all = false;

	for (unsigned int i = 0; i < PUTS; i++)
		for (unsigned int v = 0; v < VCQS; v++)
			for (unsigned int which = 0; which < PEERS; which++)
				vcq_send(v, which);
	while (!all && patient(&patience)) {
		all = true;
		for (unsigned int v = 0; v < VCQS; v++)
			all &= vcq_poll(v, &reports[v], &notices[v]);
	}
	EXPECT(all);
	vcqs_check();
}

static void vcqs_quiet_and_close(void)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	for (unsigned int v = VCQS; v-- > 0;) {
		EXPECT(utofu_poll_tcq(vcqs[v].hdl, 0, &cbdata) ==
		       UTOFU_ERR_NOT_FOUND);
		EXPECT(utofu_poll_mrq(vcqs[v].hdl, 0, &notice) ==
		       UTOFU_ERR_NOT_FOUND);
		EXPECT(!utofu_free_vcq(vcqs[v].hdl));
	}
	free(vcqs[0].area);
}

enum step { NOTHING, OPEN, COMMUNICATE, CLOSE, ALL };

static void take_step(unsigned int step)
{
	if (step == OPEN)
		vcqs_open();
	else if (step == COMMUNICATE)
		vcqs_communicate();
	else
		vcqs_quiet_and_close();
	atomic_fetch_add(&table->done, 1);
}

/* ---- Who does it when ---- */

static void helper(void)
{
	for (unsigned int step = OPEN; step < ALL; step++) {
		struct patience patience = { 0 };

		while (atomic_load(&table->step) < step && patient(&patience))
			;
		if (step == OPEN && own > 0) {
			utofu_tni_id_t *tnis;
			size_t count = 0;

			EXPECT(!utofu_get_onesided_tnis(&tnis, &count));
			world.tnis = (unsigned int)count;
			if (count == 0)
				_exit(1);
			free(tnis);
		}
		take_step(step);
	}
	_exit(0);
}

/* Process 0 takes the step with the others of its node. */
static void all_take(unsigned int step)
{
	struct patience patience = { 0 };

	atomic_store(&table->step, step);
	if (step == OPEN)
		atomic_fetch_add(&table->done, 1);
	else
		take_step(step);
	while (atomic_load(&table->done) < processes * step &&
	       patient(&patience))
		;
	CHECK(atomic_load(&table->done) == processes * step);
	CHECK(!atomic_load(&table->bad));
	meet();
}

static void introduce(void)
{
	for (unsigned int p = 0; p < processes; p++)
		for (unsigned int v = 0; v < VCQS; v++) {
			uint64_t all[RANKS_MAX];

			exchange(table->id[world.rank][p][v], all);
			for (unsigned int r = 0; r < world.ranks; r++)
				table->id[r][p][v] = all[r];
			exchange(table->stadd[world.rank][p][v], all);
			for (unsigned int r = 0; r < world.ranks; r++)
				table->stadd[r][p][v] = all[r];
		}
}

/* The queue of a VCQ of this node. */
static utofu_cq_id_t cq_of(unsigned int p, unsigned int v)
{
	uint8_t coords[6];
	utofu_tni_id_t tni = UINT16_MAX;
	utofu_cq_id_t cq = UINT16_MAX;
	uint16_t extra;

	CODE(utofu_query_vcq_info(table->id[world.rank][p][v], coords, &tni,
				  &cq, &extra),
	     UTOFU_SUCCESS);
	CHECK(tni == tni_of(v));
	return cq;
}

/* A process has one queue a TNI; the first one has the first. */
static void check_queues(void)
{
	for (unsigned int v = 0; v < VCQS; v++) {
		bool last = tni_of(v) == world.tnis - 1;
		uint32_t used = 0;

		for (unsigned int p = 0; p < processes; p++) {
			utofu_cq_id_t cq = cq_of(p, v);

			CHECK(cq == cq_of(p, v % world.tnis));
			CHECK(cq < 12 && !(used & 1u << cq));
			used |= 1u << cq;
		}
		/* The last TNI's first queue is the control VCQ's. */
		CHECK(cq_of(0, v) == (last ? 1 : 0));
	}
}

static void start_helpers(pid_t pid[PROCESSES])
{
	for (unsigned int p = 1; p < processes; p++) {
		pid[p] = fork();
		if (pid[p] < 0)
			give_up("no process");
		if (pid[p] == 0) {
			own = p;
			helper();
		}
	}
}

static void await_helpers(const pid_t pid[PROCESSES])
{
	for (unsigned int p = 1; p < processes; p++) {
		int status = 0;

		CHECK(waitpid(pid[p], &status, 0) == pid[p] && status == 0);
	}
}

int main(void)
{
	pid_t pid[PROCESSES] = { 0 };

	world_read();
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		give_up("no memory");
	if (several_processes())
		processes = PROCESSES;
	/* Before the first call of the library. */
	start_helpers(pid);
	conform_begin();
	vcqs_open();
	all_take(OPEN);
	claim("%u processes make 28 VCQs each", processes);
	introduce();
	check_queues();
	claim("the VCQs of a process on a TNI share a queue; the first is 0");
	all_take(COMMUNICATE);
	claim("each VCQ of each process gets its own reports and notices");
	all_take(CLOSE);
	await_helpers(pid);
	claim("and no others; all are freed");
	if (processes == 1)
		claim_skip("with several processes a node",
			   "one process a node here");
	return conform_end();
}
