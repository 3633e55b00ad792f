// SPDX-License-Identifier: MIT
/*
 * The exchanges of the rows: made in the way that a row says, run and timed
 * here. Every byte that comes in is checked.
 *
 * One area of memory holds the send buffers and two sets of receive buffers;
 * the rows use it in turn. The barrier before each exchange is not for
 * correctness: it keeps the neighbours' verification out of the time.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <tofu/mark.h>

#include "common/error.h"
#include "common/phase.h"
#include "common/stats.h"
#include "common/wait.h"
#include "common/ways.h"
#include "halo/run.h"

#define CHECK_NS 1000000000ULL

/* ---- The pattern ---- */

static void pattern_make(struct halo *halo, const struct halo_row *row)
{
	const struct tofu_grid *grid = &halo->options->grid;
	uint32_t place = halo->places.own;

	halo->row = row;
	halo->way = row->messages ? &halo_p2p : &halo_planned;
	halo->turn.row = row->number;
	halo->turn.size = row->size;
	if (row->neighbors) {
		halo_pattern_neighbor(grid, place, row->neighbors, row->size,
				      &halo->pattern);
	} else if (row->part) {
		sched_workload_scale(&halo->workload, row->part,
				     (unsigned int)row->size);
		halo_pattern_scale(grid, place, &halo->workload,
				   &halo->pattern);
	} else {
		sched_workload_random(&halo->workload, (unsigned int)row->size);
		halo_pattern_random(grid, place, &halo->workload,
				    &halo->pattern);
	}
	halo->workload.ways = row->neighbors ? NULL : &halo->ways;
	halo_places_put(&halo->places, &halo->pattern);
	if (!halo->options->verify)
		halo_pattern_overlay(&halo->pattern);
}

int halo_say_code(const struct halo *halo, const char *what, int code,
		  char **why)
{
	tofu_error_say(why, "node %u: %s: %s", halo->machine->node, what,
		       tofu_error_text(code));
	return -EIO;
}

/* ---- Running it ---- */

/*
 * A neighbour that has died cannot say so: check that the nodes that this one
 * exchanges with are alive.
 */
static int partners_check(struct halo *halo, char **why)
{
	int err = 0;

	for (unsigned int i = 0; i < halo->pattern.count && !err; i++)
		err = tofu_world_check(halo->world, halo->pattern.message[i].from,
				      why);
	return err;
}

static int exchange_failed(struct halo *halo, int code, char **why)
{
	/* If a process has died, the message names its node instead. */
	partners_check(halo, why);
	return halo_say_code(halo, "the exchange failed", code, why);
}

/* Called after each second of waiting, and on timeout. */
static int wait_look(struct halo *halo, struct tofu_wait *wait,
		     uint64_t *looked, char **why)
{
	uint64_t waited;

	if (!tofu_wait_more(wait)) {
		if (!partners_check(halo, why))
			tofu_error_say(why,
				       "node %u: an exchange has not ended in %u s, and all that it is with are there",
				       halo->machine->node,
				       halo->options->timeout);
		return -ETIMEDOUT;
	}
	waited = tofu_wait_time(wait);
	if (waited - *looked < CHECK_NS)
		return 0;
	*looked = waited;
	return partners_check(halo, why);
}

static int exchange_wait(struct halo *halo, char **why)
{
	struct tofu_wait wait = tofu_wait_keen(halo->options->timeout);
	uint64_t looked = 0;
	int code, err;

	while ((code = halo->way->test(halo)) ==
	       UTOFU_ERR_NOT_COMPLETED) {
		err = wait_look(halo, &wait, &looked, why);
		if (err)
			return err;
	}
	return code ? exchange_failed(halo, code, why) : 0;
}

/* The timed part: from the first put to the last notice and report. */
static int exchange_run(struct halo *halo, uint64_t *ns, char **why)
{
	uint64_t began = tofu_now();
	int code, err;

	tofu_mark(TOFU_MARK_NAME("post"));
	code = halo->way->start(halo);
	if (code)
		return exchange_failed(halo, code, why);
	tofu_phase(halo->machine->node, halo->turn.iteration);
	tofu_mark(TOFU_MARK_NAME("wait"));
	err = exchange_wait(halo, why);
	tofu_mark(TOFU_MARK_END);
	*ns = tofu_now() - began;
	return err;
}

/* ---- Data ---- */

static bool is_corrupt(const struct halo *halo)
{
	const struct halo_options *options = halo->options;

	return options->corrupt == halo->machine->node &&
	       halo->turn.iteration + 1 == options->warmup + options->iterations;
}

static void fill(struct halo *halo)
{
	const struct halo_message *first = &halo->pattern.message[0];

	halo_data_fill(&halo->pattern, &halo->turn, halo->area);
	if (is_corrupt(halo))
		halo->area[first->offset + first->bytes / 2] ^= 1;
}

static int verify(struct halo *halo, uint64_t *wrong, char **why)
{
	int err = halo->way->check(halo, why);

	if (!err)
		*wrong += halo_data_verify(&halo->pattern, &halo->turn,
					   halo_receive_set(halo));
	return err;
}

/* ---- A row ---- */

static int exchange_once(struct halo *halo, uint64_t *ns, uint64_t *wrong,
			 char **why)
{
	int err = 0;

	if (halo->options->verify) {
		tofu_mark(TOFU_MARK_NAME("pack"));
		fill(halo);
	}
	tofu_mark(TOFU_MARK_NAME("sync"));
	if (halo->options->sync == HALO_SYNC_BEFORE)
		err = tofu_world_barrier(halo->world, why);
	if (!err) {
		tofu_start_wait(&halo->options->starts, halo->machine->node,
				halo->turn.iteration);
		err = exchange_run(halo, ns, why);
	}
	if (err || !halo->options->verify)
		return err;
	tofu_mark(TOFU_MARK_NAME("check"));
	err = verify(halo, wrong, why);
	tofu_mark(TOFU_MARK_END);
	return err;
}

static void times_set(struct halo_result *result, uint64_t *time, size_t count)
{
	struct tofu_stats stats = tofu_stats_of(time, count);

	result->time = (struct halo_time){ stats.min, stats.lower, stats.median,
					   stats.upper, stats.max };
	result->middle = stats.middle;
}

static int exchanges_run(struct halo *halo, uint64_t *time,
			 struct halo_result *result, char **why)
{
	const struct halo_options *options = halo->options;
	uint64_t all = options->warmup + options->iterations;

	for (uint64_t i = 0; i < all; i++) {
		uint64_t ns;
		int err;

		halo->turn.iteration = i;
		err = exchange_once(halo, &ns, &result->wrong, why);
		if (err)
			return err;
		if (i < options->warmup)
			continue;
		time[i - options->warmup] = ns;
		if (options->verify)
			result->verified += halo->pattern.bytes;
	}
	times_set(result, time, options->iterations);
	return 0;
}

/*
 * Sum up the results of all nodes; take the times of the slowest one. When all
 * nodes are here, no exchange is under way any more.
 */
static int result_gather(struct halo *halo, struct halo_result *result,
			 char **why)
{
	const struct halo_time *t = &result->time;
	uint64_t mine[] = { result->wrong, result->verified, t->min, t->lower,
			    t->median, t->upper, t->max, result->middle };
	const size_t words = sizeof(mine) / sizeof(mine[0]);
	const uint64_t *all;
	int err = tofu_world_gather(halo->world, mine, words, &all, why);

	if (err)
		return err;
	result->wrong = 0;
	result->verified = 0;
	result->middle = 0;
	for (uint32_t node = 0; node < halo->machine->nodes; node++) {
		struct halo_time time = { all[2], all[3], all[4], all[5],
					  all[6] };

		result->wrong += all[0];
		result->verified += all[1];
		result->middle += all[7];
		if (time.median > result->time.median)
			result->time = time;
		all += words;
	}
	result->middle /= halo->machine->nodes;
	return 0;
}

int halo_run(struct halo *halo, const struct halo_row *row, char **why,
	     struct halo_result *result)
{
	uint64_t *time = calloc(halo->options->iterations, sizeof(*time));
	int err;

	if (!time)
		return -ENOMEM;
	*result = (struct halo_result){ 0 };
	pattern_make(halo, row);
	for (unsigned int set = 0; set < HALO_SETS && halo->options->verify; set++)
		payload_guard_fill(halo_set_at(halo, set), 0, halo->pattern.span);
	result->bytes = halo->pattern.bytes;
	err = halo->way->make(halo, result, why);
	if (!err)
		err = exchanges_run(halo, time, result, why);
	if (!err)
		err = result_gather(halo, result, why);
	halo->way->free(halo);
	free(time);
	return err;
}

/* ---- Setting up ---- */

static int area_make(struct halo *halo, const struct halo_row *row,
		     size_t rows, char **why)
{
	size_t size;

	for (size_t i = 0; i < rows; i++) {
		pattern_make(halo, &row[i]);
		if (halo->pattern.span > halo->span)
			halo->span = halo->pattern.span;
	}
	size = halo->span * (1 + HALO_SETS);
	halo->area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (halo->area != MAP_FAILED)
		return 0;
	halo->area = NULL;
	tofu_error_say(why, "node %u: no memory for %zu bytes",
		       halo->machine->node, size);
	return -ENOMEM;
}

static bool rows_have_messages(const struct halo_row *row, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		if (row[i].messages)
			return true;
	return false;
}

#define GATES_TNI 0

static int gates_make(struct halo *halo, char **why)
{
	int code = tofu_gates_create(halo->world->boot, GATES_TNI, 0,
				    &halo->gates);

	if (!code)
		return tofu_gates_id(halo->gates, &halo->barrier);
	/* Where the boot failed, its own message says more. */
	if (*halo->world->said)
		return tofu_world_errno(halo->world, code, why);
	return halo_say_code(halo, "cannot make barrier gates", code, why);
}

int halo_open(const struct tofu_machine *machine, struct tofu_world *world,
	      const struct halo_options *options,
	      const struct tofu_rsched_model *model, const struct halo_row *row,
	      size_t rows, char **why, struct halo **result)
{
	struct halo *halo = calloc(1, sizeof(*halo));
	int err;

	if (!halo)
		return -ENOMEM;
	halo->machine = machine;
	halo->options = options;
	halo->model = model;
	halo->world = world;
	halo->barrier = UTOFU_VBG_ID_NULL;
	halo->turn.node = machine->node;
	err = halo_places_make(&options->grid, world->boot, machine->node,
			       &halo->places, why);
	if (!err && !options->neighbor)
		err = sched_ways_find(options->grid.size, halo->places.node,
				      &machine->shape, &halo->ways);
	if (!err)
		err = area_make(halo, row, rows, why);
	if (!err && options->sync == HALO_SYNC_GATES)
		err = gates_make(halo, why);
	if (!err && rows_have_messages(row, rows))
		err = halo_p2p_open(halo, why);
	if (err) {
		halo_close(halo);
		return err;
	}
	*result = halo;
	return 0;
}

void halo_close(struct halo *halo)
{
	if (!halo)
		return;
	halo_p2p_close(halo);
	tofu_gates_free(halo->gates);
	halo_places_free(&halo->places);
	if (halo->area)
		munmap(halo->area, halo->span * (1 + HALO_SETS));
	free(halo);
}
