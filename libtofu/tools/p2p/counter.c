// SPDX-License-Identifier: MIT
/*
 * How senders contend for a counter: only additions to one word of node 0, one
 * by one and as fast as possible.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/stats.h"
#include "common/wait.h"
#include "p2p/p2p.h"

#define STEP 8

/**
 * struct counter - a node's part
 * @vcq:  of this node; @to: node 0's
 * @word: node 0's; @stadd: its address
 * @sum:  that it should be
 */
struct counter {
	struct measure *measure;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t to;
	utofu_stadd_t stadd;
	uint64_t *word;
	uint64_t sum;
};

/* ---- Additions ---- */

static int notice_wait(struct counter *counter)
{
	struct measure *measure = counter->measure;
	struct tofu_wait wait = tofu_wait_keen(measure->options->timeout);
	struct utofu_mrq_notice notice;
	int code;

	while ((code = utofu_poll_mrq(counter->vcq, 0, &notice)) ==
	       UTOFU_ERR_NOT_FOUND)
		if (!tofu_wait_more(&wait)) {
			tofu_error_say(&measure->why,
				       "node %u: an addition has not ended in %u s",
				       measure->machine.node,
				       measure->options->timeout);
			return -ETIMEDOUT;
		}
	return code ? measure_fail(measure, "an addition has failed", code) : 0;
}

static int addition_post(struct counter *counter)
{
	int code = utofu_armw8(counter->vcq, counter->to, UTOFU_ARMW_OP_ADD,
			       STEP, counter->stadd, 0,
			       UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL);

	return code ? measure_fail(counter->measure, "cannot add", code) : 0;
}

/* @time: of each, from its post to its notice, where there is one at a time */
static int additions(struct counter *counter, uint64_t count, uint64_t window,
		     uint64_t *time, uint64_t *began, uint64_t *ended)
{
	int err = 0;

	*began = tofu_now();
	for (uint64_t i = 0; i < count + window && !err; i++) {
		if (i >= window)
			err = notice_wait(counter);
		if (i >= window && window == 1)
			time[i - window] = tofu_now() - time[i - window];
		if (i >= count || err)
			continue;
		time[i] = tofu_now();
		err = addition_post(counter);
	}
	*ended = tofu_now();
	return err;
}

/* ---- Rows ---- */

enum { BEGAN,
       ENDED,
       MEDIAN,
       SLOWEST,
       WORDS };

/* From the first post to the last notice of all; the median of medians */
static void row_print(struct counter *counter, uint64_t senders,
		      uint64_t window, const uint64_t *all)
{
	struct measure *measure = counter->measure;
	uint64_t median[MEASURE_SENDERS_MAX], slowest = 0;
	uint64_t began = UINT64_MAX, ended = 0;
	uint64_t adds = senders * measure->options->messages;

	for (uint64_t i = 0; i < senders; i++) {
		const uint64_t *of = all + (i + 1) * WORDS;

		began = of[BEGAN] < began ? of[BEGAN] : began;
		ended = of[ENDED] > ended ? of[ENDED] : ended;
		slowest = of[SLOWEST] > slowest ? of[SLOWEST] : slowest;
		median[i] = of[MEDIAN];
	}
	measure_row(measure,
		    (struct measure_cell[]){
			    { "senders", "senders", NULL, senders, 0 },
			    { "window", "window", NULL, window, 0 },
			    { "add/ns", "add_ns", NULL,
			      tofu_stats_of(median, senders).median, 0 },
			    { "slowest/ns", "slowest_ns", NULL, slowest, 0 },
			    { "adds/s", "adds_per_s", NULL,
			      adds * 1000000000 / (ended - began), 0 },
		    },
		    5);
}

/* Of a sender in a row, those that are not counted among them */
static uint64_t additions_of(const struct measure *measure)
{
	return measure->options->warmup + measure->options->messages;
}

/* When all have ended */
static void sum_check(const struct counter *counter)
{
	struct measure *measure = counter->measure;

	if (measure_is_root(measure) &&
	    __atomic_load_n(counter->word, __ATOMIC_RELAXED) != counter->sum)
		measure->wrong++;
}

/* First some that are not counted: what is touched for the first time is slow. */
static int sender_run(struct counter *counter, bool sends, uint64_t window,
		      uint64_t *time, uint64_t mine[WORDS])
{
	const struct measure_options *options = counter->measure->options;
	struct tofu_stats stats;
	int err = 0;

	if (sends)
		err = additions(counter, options->warmup, 1, time, &mine[BEGAN],
				&mine[ENDED]);
	if (!err)
		err = measure_barrier(counter->measure);
	if (err || !sends)
		return err;
	err = additions(counter, options->messages, window, time, &mine[BEGAN],
			&mine[ENDED]);
	if (!err && window == 1) {
		stats = tofu_stats_of(time, options->messages);
		mine[MEDIAN] = stats.median;
		mine[SLOWEST] = stats.max;
	}
	return err;
}

static int row_run(struct counter *counter, uint64_t senders, uint64_t window)
{
	struct measure *measure = counter->measure;
	uint64_t *time = calloc(additions_of(measure), sizeof(*time));
	uint64_t mine[WORDS] = { 0 };
	const uint64_t *all;
	int err = -ENOMEM;

	if (time)
		err = sender_run(counter, measure_sends(measure, senders),
				 window, time, mine);
	free(time);
	if (!err)
		err = measure_gather(measure, mine, WORDS, &all);
	if (err)
		return err;
	counter->sum += senders * additions_of(measure) * STEP;
	row_print(counter, senders, window, all);
	return 0;
}

static int rows_run(struct counter *counter)
{
	const struct measure_options *options = counter->measure->options;
	int err = 0;

	for (size_t i = 0; i < options->senders.count && !err; i++) {
		err = row_run(counter, options->senders.size[i], 1);
		if (!err && options->window > 1)
			err = row_run(counter, options->senders.size[i],
				      options->window);
	}
	return err;
}

/* ---- Making ---- */

static int word_make(struct counter *counter, uint64_t mine[2])
{
	int code = utofu_query_vcq_id(counter->vcq, &mine[0]);

	counter->word = aligned_alloc(256, 256);
	if (!counter->word)
		return UTOFU_ERR_OUT_OF_MEMORY;
	*counter->word = 0;
	if (!code)
		code = utofu_reg_mem(counter->vcq, counter->word, 256, 0,
				     &mine[1]);
	return code;
}

int measure_counter(struct measure *measure)
{
	struct counter counter = { .measure = measure };
	uint64_t mine[2] = { 0 };
	const uint64_t *all;
	int code = utofu_create_vcq(MEASURE_TNI, 0, &counter.vcq);
	int err;

	if (code)
		return measure_fail(measure, "cannot make a queue", code);
	code = word_make(&counter, mine);
	err = code ? measure_fail(measure, "cannot make a counter", code) :
		     measure_gather(measure, mine, 2, &all);
	if (!err) {
		counter.to = all[0];
		counter.stadd = all[1];
		err = rows_run(&counter);
	}
	if (!err)
		err = measure_barrier(measure);
	if (!err)
		sum_check(&counter);
	utofu_free_vcq(counter.vcq);
	free(counter.word);
	return err;
}
