/* SPDX-License-Identifier: MIT */
/* Measuring calls of the library: shared by the files of the program costs. */
#ifndef TOFU_TEST_COSTS_H
#define TOFU_TEST_COSTS_H

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/stats.h"
#include "common/virtual.h"
#include "guest.h"

#define ROUNDS 16
#define WARMUP 4
#define BURST 8
#define POLLS 64
#define POLLS_IN_CALLS 2
#define TESTS 8
#define PAGE 4096
#define PAGES 64
#define AREA (PAGES * PAGE)
#define STAG 60
#define SETTLE_NS 30000
#define BYTES_LONG (1 << 18)
#define BYTES_COLL 8192

#define TCQ UTOFU_ONESIDED_FLAG_TCQ_NOTICE
#define MRQ UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE

/**
 * struct test
 * @area:   registered as @stadd on both nodes
 * @peer:   VCQ of the other node
 * @stamps: of guest.vcq
 * @clock:  what two readings of the clock in a row take
 * @began:  of the current measurement
 * @round:  negative while warming up
 * @polls:  in vain, one after the other: where time passes only in calls, more
 *          of them would sleep
 * @tests:  the same, for calls of several polls
 * @reading: what a reading of the clock takes after the time that it shows
 */
struct test {
	struct guest guest;
	char *area;
	utofu_stadd_t stadd;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t peer;
	struct tofu_stamps stamps;
	uint64_t clock;
	uint64_t began;
	int round;
	unsigned int polls;
	unsigned int tests;
	uint64_t reading;
};

static inline void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

/* ---- Measuring ---- */

static inline void start(struct test *test)
{
	test->began = tofu_now();
}

/**
 * struct meter - a measurement
 * @ns: of each round
 */
struct meter {
	uint64_t ns[ROUNDS];
};

static inline void meter_add(const struct test *test, struct meter *meter,
			     uint64_t ns)
{
	if (test->round >= 0)
		meter->ns[test->round] += ns;
}

/* Adds the time since start(). */
static inline void stop(const struct test *test, struct meter *meter)
{
	meter_add(test, meter, tofu_now() - test->began - test->clock);
}

static inline bool round_next(struct test *test)
{
	return ++test->round < ROUNDS;
}

static inline void rounds_begin(struct test *test)
{
	test->round = -WARMUP - 1;
}

/*
 * The lower quartile of the rounds, sorted: where they are in step with the
 * system's clock, half of them have an interrupt.
 */
static inline uint64_t meter_quartile(struct meter *meter)
{
	tofu_stats_of(meter->ns, ROUNDS);
	return meter->ns[ROUNDS / 4];
}

static inline void report(const struct test *test, const char *name,
			  struct meter *meter, unsigned int calls)
{
	uint64_t hundredths = (meter_quartile(meter) * 100 + calls / 2) / calls;

	if (test->guest.machine.node)
		return;
	printf("cost %s %" PRIu64 ".%02" PRIu64 "\n", name, hundredths / 100,
	       hundredths % 100);
}

static inline void settle(void)
{
	check(tofu_compute(SETTLE_NS), "tofu_compute");
}

/* Takes all reports and notices, and tells the engine so. */
static inline void drain(struct test *test)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	settle();
	while (!utofu_poll_tcq(test->vcq, 0, &cbdata))
		;
	while (!utofu_poll_mrq(test->vcq, 0, &notice))
		;
}

/* ---- costs-layers.c ---- */

/* srb_measure - records of @bytes */
void srb_measure(struct test *test, size_t bytes);

/* p2p_measure - messages of @bytes; long ones are got up to @get bytes, or put */
void p2p_measure(struct test *test, size_t bytes, size_t get, const char *name);

/* p2p_measure_unheard - turns of an endpoint that hears of nobody */
void p2p_measure_unheard(struct test *test);

/* ---- costs-coll.c ---- */

void coll_measure(struct test *test);

#endif /* TOFU_TEST_COSTS_H */
