// SPDX-License-Identifier: MIT
/* The work of engines, put by put of a plan, read from tofu-trace engines. */
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/lines.h"
#include "sched/sched.h"

/* About a month; exact as a double */
#define NS_MAX (UINT64_C(1) << 51)

/**
 * struct reader - the lines so far
 * @taken: puts taken so far, for each engine
 */
struct reader {
	const struct tofu_rsched_plan *plan;
	const struct sched_workload *workload;
	struct sched_happened *happened;
	size_t taken[TOFU_RSCHED_ENGINES_MAX];
};

/* In the order of their columns */
enum column { ENGINE,
	      BEGIN,
	      END,
	      BYTES,
	      NODE,
	      ARRIVED,
	      COLUMNS };

static void words_take(const char *where, char *line, uint64_t word[COLUMNS])
{
	static const uint64_t most[COLUMNS] = {
		[ENGINE] = TOFU_RSCHED_ENGINES_MAX - 1,
		[BEGIN] = NS_MAX,
		[END] = NS_MAX,
		[BYTES] = TOFU_RSCHED_BYTES_MAX,
		[NODE] = UINT32_MAX,
		[ARRIVED] = NS_MAX,
	};
	const char *text[COLUMNS + 1] = { NULL };
	size_t count = 0;
	char *rest;

	for (const char *next = strtok_r(line, TOFU_LINE_BLANKS, &rest);
	     next && count <= COLUMNS;
	     next = strtok_r(NULL, TOFU_LINE_BLANKS, &rest))
		text[count++] = next;
	if (count != COLUMNS)
		errx(EXIT_USAGE, "%s: want: ENGINE BEGIN END BYTES NODE ARRIVED",
		     where);
	if (!strcmp(text[ARRIVED], "-"))
		errx(EXIT_USAGE, "%s: it is not known when this put arrived",
		     where);
	for (size_t i = 0; i < COLUMNS; i++)
		word[i] = tofu_arg_number(where, text[i], 0, most[i]);
	if (word[BEGIN] > word[END] || word[END] > word[ARRIVED])
		errx(EXIT_USAGE, "%s: wants begin <= end <= arrived", where);
}

static size_t planned(const struct tofu_rsched_plan *plan, uint64_t engine)
{
	return engine < plan->engines ?
		       plan->first[engine + 1] - plan->first[engine] :
		       0;
}

/* Find the put that has the same place in the plan's list of the engine. */
static size_t put_find(const struct reader *reader, const char *where,
		       uint64_t engine, uint64_t bytes)
{
	const struct tofu_rsched_plan *plan = reader->plan;
	const size_t nth = reader->taken[engine];
	uint64_t want;
	size_t put;

	if (nth == planned(plan, engine))
		errx(EXIT_USAGE,
		     "%s: put %zu of engine %" PRIu64 ", and the plan has %zu",
		     where, nth + 1, engine, nth);
	put = plan->order[plan->first[engine] + nth];
	want = reader->workload->request[put].bytes;
	if (bytes != want)
		errx(EXIT_USAGE,
		     "%s: put %zu of engine %" PRIu64 " has %" PRIu64
		     " bytes, and in the plan %" PRIu64,
		     where, nth + 1, engine, bytes, want);
	return put;
}

static void line_take(void *context, const char *where, char *line)
{
	struct reader *reader = context;
	struct sched_happened *happened = reader->happened;
	uint64_t word[COLUMNS];
	uint64_t engine;
	size_t put;

	words_take(where, line, word);
	engine = word[ENGINE];
	put = put_find(reader, where, engine, word[BYTES]);
	if (!reader->taken[engine])
		happened->start_ns[engine] = word[BEGIN];
	else if (word[BEGIN] < happened->last_ns[engine])
		errx(EXIT_USAGE,
		     "%s: begins before the end of the put before it, on engine %" PRIu64,
		     where, engine);
	reader->taken[engine]++;
	happened->last_ns[engine] = word[END];
	happened->put[put] = (struct sched_seen){
		.begin_ns = word[BEGIN],
		.end_ns = word[END],
		.arrived_ns = word[ARRIVED],
	};
	if (word[ARRIVED] > happened->makespan_ns)
		happened->makespan_ns = word[ARRIVED];
}

struct sched_happened *sched_happened_read(const char *name,
					   const struct tofu_rsched_plan *plan,
					   const struct sched_workload *workload)
{
	struct sched_happened *happened =
		calloc(1, sizeof(*happened) +
				  plan->count * sizeof(*happened->put));
	struct reader reader = {
		.plan = plan,
		.workload = workload,
		.happened = happened,
	};

	if (!happened)
		errx(EXIT_FAILURE, "no memory");
	tofu_lines_read(name, line_take, &reader);
	for (uint32_t e = 0; e < plan->engines; e++) {
		if (reader.taken[e] != planned(plan, e))
			errx(EXIT_USAGE,
			     "%s: ends after put %zu of engine %" PRIu32
			     ", and the plan has %zu",
			     name, reader.taken[e], e, planned(plan, e));
	}
	return happened;
}
