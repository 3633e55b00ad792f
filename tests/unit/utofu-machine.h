/* SPDX-License-Identifier: MIT */
/*
 * A machine of processes, made as a launcher makes it: by rank and count in
 * their environment. For tests that know nothing but <utofu.h>.
 */
#ifndef UNIT_UTOFU_MACHINE_H
#define UNIT_UTOFU_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "utofu-util.h"

#define STRONG UTOFU_ONESIDED_FLAG_STRONG_ORDER
#define TNIS_MAX 6
#define VCQS 7			/* of a program on a TNI */
#define SIZE ((size_t)1 << 24)	/* of the buffers; the largest put fits */
#define MARK 0xee		/* a byte that fill() does not make */

/* What its nodes share; filled by each node for itself. */
struct machine {
	atomic_int living;
	atomic_int here;	/* of meet() */
	atomic_int turn;
	atomic_int doomed;	/* node that will kill itself, or -1 */
	utofu_vcq_id_t id[NODES_MAX];
	utofu_stadd_t in[NODES_MAX];
	utofu_stadd_t out[NODES_MAX];
	utofu_stadd_t words[NODES_MAX];
	uint8_t coords[NODES_MAX][6];
	utofu_vcq_id_t many[NODES_MAX][TNIS_MAX][VCQS];
	uint64_t told[4];	/* from one node to another */
};

/* One of them, as its own process sees it */
struct node {
	struct machine *m;
	int me;
	utofu_vcq_hdl_t vcq;
};

/* Of each process, registered by it; "in" is what others write to. */
extern uint8_t in[SIZE];
extern uint8_t out[SIZE];
extern uint64_t words[32];

/*
 * machine_run - run a function in so many processes, each of which has a VCQ
 * and its buffers registered; whether all came to a good end
 *
 * Of four nodes each axis A and C has two: there are four paths. A node that
 * sets machine.doomed to itself may die of SIGKILL; it no longer counts as
 * living when its end is known.
 */
bool machine_run(int nodes, void (*body)(struct node *n));

/* A test of the kselftest harness whose body runs in each of the processes */
#define TEST_NODES(name, nodes)						\
	static void body_##name(struct node *n);			\
	TEST(name) { ASSERT_TRUE(machine_run(nodes, body_##name)); }	\
	static void body_##name(struct node *n)

/* meet - wait until all living nodes are here */
void meet(struct node *n);

/* A check that fails ends the process, and with it the machine. */
void node_fail(int line, const char *what, long long want, long long got)
	__attribute__((noreturn));

/* node_wait - a turn of a loop that waits; fails when it takes too long */
void node_wait(time_t since, int line);
time_t node_now(void);

#define IS(want, got)						\
	do {								\
		long long want_ = (long long)(want);			\
		long long got_ = (long long)(got);			\
		if (want_ != got_)					\
			node_fail(__LINE__, #got, want_, got_);		\
	} while (0)
#define OK(call) IS(UTOFU_SUCCESS, call)

#define WAIT_WHILE(cond)						\
	do {								\
		for (time_t since_ = node_now(); (cond);)			\
			node_wait(since_, __LINE__);			\
	} while (0)

/* fill - put a pattern into "out" */
void fill(size_t from, size_t length, unsigned int seed);

/* mismatch - the first byte that is not as of fill(); @length if all are */
size_t mismatch(const uint8_t *p, size_t length, unsigned int seed);

/* changed - how many bytes are not MARK */
size_t changed(const uint8_t *p, size_t length);

/* put - from the own "out" to the same place of another's "in" */
void put(struct node *n, int to, size_t at, size_t length, unsigned int edata,
	 unsigned long flags);

/* put_word - to another's words[index] */
void put_word(struct node *n, int to, int index, uint64_t value,
	      unsigned int edata, unsigned long flags);

/* peek - the value of words[index] over there */
uint64_t peek(struct node *n, int at, int index);

/* expect - the next notice is of this type, of the first VCQ of @peer */
struct utofu_mrq_notice expect(struct node *n, int type, int peer,
			       unsigned int edata);

/* expect_report - the next report brings this cbdata */
void expect_report(struct node *n, uintptr_t cbdata);

/* expect_empty - there are no reports and no notices */
void expect_empty(struct node *n);

#endif /* UNIT_UTOFU_MACHINE_H */
