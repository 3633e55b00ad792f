// SPDX-License-Identifier: MIT
/*
 * Times of all members: by reductions, since a large machine has no room for
 * the times of all in one place.
 */
#include <errno.h>
#include <stdlib.h>

#include "coll/tool.h"
#include "common/virtual.h"

/* Greatest values; what counts from the least one is inverted. */
enum greatest {
	TIME,
	CALL,
	FIRST_BEGIN,
	LAST_BEGIN,
	FIRST_END,
	LAST_END,
	GREATEST,
};

/**
 * struct part - a reduction of words to MEASURE_ROOT
 * @coll: persistent
 * @mine: words of this member
 * @all:  of all members, combined
 */
struct part {
	struct tofu_coll *coll;
	uint64_t *mine;
	uint64_t *all;
};

/**
 * struct measure_tally
 * @greatest: GREATEST words of each iteration
 * @sum:      the time of each iteration, then wrong bytes
 * @time:     for sorting
 */
struct measure_tally {
	struct part greatest;
	struct part sum;
	uint64_t *time;
};

/* ---- Making ---- */

static int part_make(struct measure *measure, struct part *part, size_t words,
		     enum tofu_coll_op op)
{
	const struct tofu_coll_tuning tuning = {
		.algorithm = TOFU_COLL_BINOMIAL,
	};
	struct tofu_coll_spec spec = {
		.kind = TOFU_COLL_REDUCE,
		.type = TOFU_COLL_UINT64,
		.op = op,
		.root = MEASURE_ROOT,
		.count = words,
	};
	int code;

	part->mine = calloc(words, sizeof(*part->mine));
	part->all = calloc(words, sizeof(*part->all));
	if (!part->mine || !part->all)
		return -ENOMEM;
	spec.send = part->mine;
	spec.recv = part->all;
	code = tofu_coll_create(measure->all, &spec, &tuning, &part->coll);
	return code ? measure_fail(measure, "cannot make a reduction of times",
				   code) :
		      0;
}

static void part_free(struct part *part)
{
	tofu_coll_free(part->coll);
	free(part->mine);
	free(part->all);
}

int measure_tally_make(struct measure *measure, struct measure_tally **result)
{
	uint64_t iterations = measure->options->iterations;
	struct measure_tally *tally = calloc(1, sizeof(*tally));
	int err = -ENOMEM;

	if (!tally)
		return -ENOMEM;
	*result = tally;
	tally->time = calloc(iterations, sizeof(*tally->time));
	if (tally->time)
		err = part_make(measure, &tally->greatest,
				iterations * GREATEST, TOFU_COLL_MAX);
	if (!err)
		err = part_make(measure, &tally->sum, iterations + 1,
				TOFU_COLL_SUM);
	return err;
}

void measure_tally_free(struct measure_tally *tally)
{
	if (!tally)
		return;
	part_free(&tally->greatest);
	part_free(&tally->sum);
	free(tally->time);
	free(tally);
}

/* ---- Combining ---- */

static int part_run(struct measure *measure, struct part *part)
{
	int code = tofu_coll_start(part->coll);

	if (!code)
		code = tofu_coll_wait(part->coll);
	return code ? measure_coll_fail(measure, "cannot combine times",
					part->coll, code) :
		      0;
}

static void sample_take(uint64_t words[GREATEST],
			const struct measure_sample *sample)
{
	words[TIME] = sample->ended - sample->began;
	words[CALL] = sample->started - sample->began;
	words[FIRST_BEGIN] = ~sample->began;
	words[LAST_BEGIN] = sample->began;
	words[FIRST_END] = ~sample->ended;
	words[LAST_END] = sample->ended;
}

enum phase {
	PHASE_START,
	PHASE_SKEW,
	PHASE_FIRST,
	PHASE_LAST,
};

static uint64_t phase_of(const uint64_t words[GREATEST], enum phase phase)
{
	uint64_t first = ~words[FIRST_BEGIN];

	switch (phase) {
	case PHASE_START:
		return words[CALL];
	case PHASE_SKEW:
		return words[LAST_BEGIN] - first;
	case PHASE_FIRST:
		return ~words[FIRST_END] - first;
	default:
		return words[LAST_END] - first;
	}
}

static uint64_t phase_median(const struct measure_tally *tally, uint64_t count,
			     enum phase phase)
{
	for (uint64_t i = 0; i < count; i++)
		tally->time[i] =
			phase_of(tally->greatest.all + i * GREATEST, phase);
	return tofu_stats_of(tally->time, count).median;
}

/* Clocks can be compared in virtual time only. */
static struct tofu_stats time_stats(const struct measure *measure,
				    const struct measure_tally *tally,
				    uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		tally->time[i] =
			tofu_virtual() ?
				tally->greatest.all[i * GREATEST + TIME] :
				tally->sum.all[i] / measure->info.count;
	return tofu_stats_of(tally->time, count);
}

/* Iterations that ended somewhere before they began everywhere */
static uint64_t early(const struct measure_tally *tally, uint64_t count)
{
	uint64_t found = 0;

	for (uint64_t i = 0; i < count && tofu_virtual(); i++) {
		const uint64_t *words = tally->greatest.all + i * GREATEST;

		found += ~words[FIRST_END] < words[LAST_BEGIN];
	}
	return found;
}

int measure_tally(struct measure *measure, struct measure_tally *tally,
		  const struct measure_sample *sample, uint64_t wrong,
		  bool barrier, struct measure_row *row)
{
	uint64_t count = measure->options->iterations;
	int err;

	for (uint64_t i = 0; i < count; i++) {
		sample_take(tally->greatest.mine + i * GREATEST, &sample[i]);
		tally->sum.mine[i] = sample[i].ended - sample[i].began;
	}
	tally->sum.mine[count] = wrong;
	err = part_run(measure, &tally->greatest);
	if (!err)
		err = part_run(measure, &tally->sum);
	if (err || !measure_is_root(measure))
		return err;
	row->time = time_stats(measure, tally, count);
	row->wrong = tally->sum.all[count];
	if (barrier)
		row->wrong += early(tally, count);
	row->phases = (struct measure_phases){
		.start = phase_median(tally, count, PHASE_START),
		.skew = phase_median(tally, count, PHASE_SKEW),
		.first = phase_median(tally, count, PHASE_FIRST),
		.last = phase_median(tally, count, PHASE_LAST),
	};
	return 0;
}
