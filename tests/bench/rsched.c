// SPDX-License-Identifier: MIT
/*
 * Times of scheduling, and distances of schedules from the best one. Sets are
 * random, the same in each run.
 *
 * The best one is the best of all lists: each put on each engine at each place,
 * evaluated as the library does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <utofu.h>

#include "rsched/internal.h"

#define SCHEDULERS 7
#define BRUTE_MAX 8
#define SETS 12
#define ROUNDS 101

static const struct {
	int scheduler;
	unsigned int width;
	const char *name;
} schedulers[SCHEDULERS] = {
	{ TOFU_RSCHED_ROUND_ROBIN, 1, "RoundRobin(1)" },
	{ TOFU_RSCHED_ROUND_ROBIN, 2, "RoundRobin(2)" },
	{ TOFU_RSCHED_ROUND_ROBIN, 4, "RoundRobin(4)" },
	{ TOFU_RSCHED_BL, 1, "BLbased(1)" },
	{ TOFU_RSCHED_BL, 2, "BLbased(2)" },
	{ TOFU_RSCHED_BL, 4, "BLbased(4)" },
	{ TOFU_RSCHED_OVERHEAD_AWARE, 0, "overhead-aware" },
};

static uint64_t state = 1;

static uint64_t chance(uint64_t below)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % below;
}

static void requests_make(struct tofu_rsched_request *request, size_t count,
			  uint64_t bytes)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t direction = (uint32_t)chance(8);

		request[i] = (struct tofu_rsched_request){
			.bytes = 1 + chance(bytes),
			.direction = direction,
			.flags = direction >= 4 ? TOFU_RSCHED_DIAGONAL : 0,
		};
	}
}

static struct tofu_rsched_plan *plan_make(
	const struct tofu_rsched_model *model, int scheduler,
	const struct tofu_rsched_request *request, size_t count)
{
	struct tofu_rsched_plan *plan;

	if (tofu_rsched_make(model, schedulers[scheduler].scheduler,
			     schedulers[scheduler].width, request, count,
			     &plan))
		abort();
	return plan;
}

/* ---- How long it takes ---- */

/* Time of this process only: others run on the host, too. */
static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Median, in microseconds */
static double time_of(const struct tofu_rsched_model *model, int scheduler,
		      const struct tofu_rsched_request *request, size_t count)
{
	uint64_t took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t begin = now();

		tofu_rsched_free(plan_make(model, scheduler, request, count));
		took[i] = now() - begin;
	}
	qsort(took, ROUNDS, sizeof(took[0]), compare);
	return (double)took[ROUNDS / 2] / 1000;
}

static void times_print(const struct tofu_rsched_model *model)
{
	static const size_t counts[] = { 14, 100, 1000 };
	static struct tofu_rsched_request request[1000];

	printf("Time to make a schedule, median of %d, us of a processor (goals: 14 puts 20, 1000 puts 50000)\n\n%-16s",
	       ROUNDS, "puts");
	for (size_t i = 0; i < 3; i++)
		printf("%12zu", counts[i]);
	for (int s = 0; s < SCHEDULERS; s++) {
		printf("\n%-16s", schedulers[s].name);
		for (size_t i = 0; i < 3; i++) {
			state = 1;
			requests_make(request, counts[i], 100000);
			printf("%12.1f",
			       time_of(model, s, request, counts[i]));
		}
	}
	putchar('\n');
}

/* ---- How good it is ---- */

/* struct lists - the puts of each engine, in order */
struct lists {
	size_t list[TOFU_RSCHED_ENGINES_MAX][BRUTE_MAX];
	size_t length[TOFU_RSCHED_ENGINES_MAX];
};

static void lists_try(struct tofu_rsched_work *work, struct lists *lists,
		      struct tofu_rsched_draft *draft)
{
	/* Starting an engine starts those before it, so these send, too. */
	for (unsigned int e = 1; e < work->model.engines; e++) {
		if (lists->length[e] && !lists->length[e - 1])
			return;
	}
	for (unsigned int e = 0; e < work->model.engines; e++)
		for (size_t i = 0; i < lists->length[e]; i++)
			draft->place[lists->list[e][i]] =
				(struct tofu_rsched_place){
					.engine = e,
					.begin_ns = i,
				};
	if (tofu_rsched_run(work, draft))
		work->limit = draft->end;
}

/* Tries puts from @put on at every place of every list. */
static void brute(struct tofu_rsched_work *work, struct lists *lists,
		  size_t put, struct tofu_rsched_draft *draft)
{
	if (put == work->count) {
		lists_try(work, lists, draft);
		return;
	}
	for (unsigned int e = 0; e < work->model.engines; e++) {
		size_t *list = lists->list[e];
		const size_t length = lists->length[e]++;

		for (size_t at = length + 1; at--;) {
			memmove(&list[at + 1], &list[at],
				(length - at) * sizeof(*list));
			list[at] = put;
			brute(work, lists, put + 1, draft);
			memmove(&list[at], &list[at + 1],
				(length - at) * sizeof(*list));
		}
		lists->length[e]--;
	}
}

static uint64_t best_of(const struct tofu_rsched_model *model,
			const struct tofu_rsched_request *request,
			size_t count, uint64_t known)
{
	struct tofu_rsched_place place[BRUTE_MAX];
	struct tofu_rsched_put put[BRUTE_MAX];
	struct tofu_rsched_draft draft = { .place = place };
	struct tofu_rsched_key key[BRUTE_MAX];
	struct lists lists = { 0 };
	struct tofu_rsched_work work = {
		.model = *model,
		.put = put,
		.count = count,
		.key = key,
		.limit = known,
	};

	for (size_t i = 0; i < count; i++)
		put[i] = (struct tofu_rsched_put){
			.path = UINT64_C(1) << request[i].direction,
			.bytes = request[i].bytes,
		};
	brute(&work, &lists, 0, &draft);
	return work.limit;
}

/**
 * struct gap - how much longer plans take than the best one
 * @sum, @most: relative to the best
 * @met:        number of sets where they do not
 */
struct gap {
	double sum;
	double most;
	unsigned int met;
};

static void gap_add(struct gap *gap, uint64_t ns, uint64_t best)
{
	const double more = (double)(ns - best) / (double)best;

	gap->sum += more;
	if (more > gap->most)
		gap->most = more;
	gap->met += ns == best;
}

static void set_judge(const struct tofu_rsched_model *model, size_t count,
		      uint64_t bytes, struct gap gap[SCHEDULERS])
{
	struct tofu_rsched_request request[BRUTE_MAX];
	uint64_t ns[SCHEDULERS], best = UINT64_MAX;

	requests_make(request, count, bytes);
	for (int s = 0; s < SCHEDULERS; s++) {
		struct tofu_rsched_plan *plan =
			plan_make(model, s, request, count);

		ns[s] = plan->makespan_ns;
		if (ns[s] < best)
			best = ns[s];
		tofu_rsched_free(plan);
	}
	best = best_of(model, request, count, best);
	for (int s = 0; s < SCHEDULERS; s++)
		gap_add(&gap[s], ns[s], best);
}

static void gaps_print(const struct tofu_rsched_model *model, size_t count,
		       uint64_t bytes)
{
	struct gap gap[SCHEDULERS] = { 0 };

	state = 1;
	for (int i = 0; i < SETS; i++)
		set_judge(model, count, bytes, gap);
	printf("\n%d sets of %zu puts of up to %" PRIu64 " bytes: more than the best\n\n%-16s%10s%10s%10s\n",
	       SETS, count, bytes, "", "mean", "most", "the best");
	for (int s = 0; s < SCHEDULERS; s++)
		printf("%-16s%9.2f%%%9.2f%%%7u/%d\n", schedulers[s].name,
		       100 * gap[s].sum / SETS, 100 * gap[s].most, gap[s].met,
		       SETS);
}

int main(void)
{
	struct tofu_rsched_model model;

	if (tofu_rsched_machine("k", &model))
		return EXIT_FAILURE;
	times_print(&model);
	for (size_t count = 4; count <= BRUTE_MAX; count += 2) {
		gaps_print(&model, count, 3000);
		gaps_print(&model, count, 100000);
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}
