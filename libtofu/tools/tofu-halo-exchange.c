// SPDX-License-Identifier: MIT
/*
 * The exchanges of a row: made by the library for what the row says, run and
 * timed here, with every byte that comes in looked at.
 *
 * One area of memory holds the send buffers and two sets of receive buffers; the
 * rows use it in turn. The barrier before each exchange is not for correctness:
 * it makes the time that of an exchange, not of the neighbours' verification.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tofu/mark.h>
#include <tofu/neighbor.h>
#include <tofu/rsched.h>

#include "common/error.h"
#include "common/stats.h"
#include "common/wait.h"
#include "neighbor/schedule.h"
#include "tofu-halo.h"

#define SETS 2
#define SAY_MAX 8 /* messages about wrong bytes, each node */
#define CHECK_NS 1000000000ULL

_Static_assert(TOFU_EXCHANGE_CARD_WORDS <= TOFU_BOOT_SLOT_WORDS &&
		       HALO_MESSAGES_MAX <= TOFU_BOOT_SLOTS,
	       "the board has room for all cards");

/**
 * struct halo - a node's part of the exchanges
 * @area:     send buffers, then the receive sets
 * @span:     bytes of each of these
 * @workload: of the row, where it is of SCALE-LES3
 * @pattern, @exchange: of the row
 * @said:     messages about wrong bytes so far
 */
struct halo {
	const struct tofu_machine *machine;
	const struct halo_options *options;
	const struct tofu_rsched_model *model;
	struct tofu_boot *boot;
	struct halo_gates gates;
	uint8_t *area;
	size_t span;

	const struct halo_row *row;
	struct sched_workload workload;
	struct halo_pattern pattern;
	struct tofu_exchange *exchange;
	unsigned int said;
};

/* ---- What goes where ---- */

static void pattern_make(struct halo *halo, const struct halo_row *row)
{
	const struct tofu_grid *grid = &halo->options->grid;
	uint32_t node = halo->machine->node;

	halo->row = row;
	if (row->neighbors) {
		halo_pattern_neighbor(grid, node, row->neighbors, row->size,
				      &halo->pattern);
	} else {
		sched_workload_scale(&halo->workload, row->part,
				     (unsigned int)row->size);
		halo_pattern_scale(grid, node, &halo->workload,
				   &halo->pattern);
	}
	if (!halo->options->verify)
		halo_pattern_overlay(&halo->pattern);
}

static uint8_t *set_at(const struct halo *halo, unsigned int set)
{
	return halo->area + halo->span * (1 + set);
}

static void messages_make(const struct halo *halo,
			  struct tofu_message messages[])
{
	for (unsigned int i = 0; i < halo->pattern.count; i++) {
		const struct halo_message *m = &halo->pattern.message[i];

		messages[i] = (struct tofu_message){
			.send = halo->area + m->offset,
			.send_bytes = m->bytes,
			.recv = {
				set_at(halo, 0) + m->offset,
				set_at(halo, 1) + m->offset,
			},
			.recv_bytes = m->bytes,
			.back = m->back,
		};
	}
}

/* ---- Making an exchange ---- */

static int say_code(const struct halo *halo, const char *what, int code,
		    char **why)
{
	tofu_error_say(why, "node %u: %s: %s", halo->machine->node, what,
		       tofu_error_text(code));
	return -EIO;
}

static utofu_vbg_id_t barrier_of(const struct halo *halo)
{
	return halo->gates.count ? halo->gates.id[0] : UTOFU_VBG_ID_NULL;
}

static int neighbor_create(struct halo *halo,
			   enum tofu_neighbor_algorithm algorithm,
			   const struct tofu_message *messages)
{
	const struct tofu_neighbor_params params = {
		.engines = halo->row->tnis,
		.algorithm = algorithm,
		.form = halo->options->form,
		.machine = halo->options->machine,
		.barrier = barrier_of(halo),
	};

	return tofu_neighbor_create(&params, messages, halo->pattern.count,
				    &halo->exchange);
}

static int neighbor_make(struct halo *halo, const struct tofu_message *messages,
			 struct halo_result *result)
{
	const struct halo_row *row = halo->row;
	unsigned int puts = row->neighbors;
	int code = neighbor_create(halo, row->algorithm, messages);

	if (!code)
		code = tofu_neighbor_algorithm(halo->exchange, &result->runs);
	if (code)
		return code;
	if (result->runs == TOFU_NEIGHBOR_SEGMENTED)
		puts *= tofu_neighbor_plan_segmented(row->neighbors, row->tnis)
				.segments;
	result->puts = puts;
	result->engines = puts < row->tnis ? puts : row->tnis;
	result->planned = tofu_neighbor_model_ns(halo->options->machine,
						 result->runs, row->neighbors,
						 row->tnis, row->size);
	return UTOFU_SUCCESS;
}

/*
 * Messages as they are take the engines in turn, all that there are: as round
 * robin over so many, which is what the plan is for.
 */
static int scale_make(struct halo *halo, const struct tofu_message *messages,
		      struct halo_result *result)
{
	struct tofu_rsched_model model = *halo->model;
	const struct sched_scheduler native = {
		.scheduler = TOFU_RSCHED_ROUND_ROBIN,
		.width = halo->row->tnis,
	};
	const struct sched_scheduler *scheduler = halo->row->scheduler;
	struct tofu_rsched_plan *plan;
	int code;

	if (halo->row->tnis < model.engines || !scheduler)
		model.engines = halo->row->tnis;
	plan = sched_plan(&model, scheduler ? scheduler : &native,
			  &halo->workload);
	if (scheduler)
		code = tofu_rsched_create(plan, messages, barrier_of(halo),
					  &halo->exchange);
	else
		code = neighbor_create(halo, TOFU_NEIGHBOR_NATIVE, messages);
	result->puts = halo->pattern.count;
	result->engines = plan->engines;
	result->planned = plan->makespan_ns;
	tofu_rsched_free(plan);
	return code;
}

/* A card goes to whoever sends what it tells of. */
static int cards_tell(struct halo *halo, char **why)
{
	int err = 0;

	for (unsigned int i = 0; i < halo->pattern.count && !err; i++) {
		const struct halo_message *m = &halo->pattern.message[i];
		struct tofu_exchange_card card;
		int code = tofu_exchange_card(halo->exchange, i, &card);

		if (code)
			return say_code(halo, "cannot make a card", code, why);
		err = tofu_boot_tell(halo->boot, m->from, m->back, card.word,
				     why);
	}
	return err ? err : tofu_boot_barrier(halo->boot, why);
}

static int cards_take(struct halo *halo, char **why)
{
	for (unsigned int i = 0; i < halo->pattern.count; i++) {
		struct tofu_exchange_card card;
		int code;

		memcpy(card.word, tofu_boot_told(halo->boot, i),
		       sizeof(card.word));
		code = tofu_exchange_connect(halo->exchange, i, &card);
		if (code)
			return say_code(halo, "cannot connect the exchange",
					code, why);
	}
	return 0;
}

static int exchange_make(struct halo *halo, struct halo_result *result,
			 char **why)
{
	struct tofu_message messages[HALO_MESSAGES_MAX];
	int code, err;

	messages_make(halo, messages);
	code = halo->row->neighbors ? neighbor_make(halo, messages, result) :
				      scale_make(halo, messages, result);
	if (code)
		return say_code(halo, "cannot make the exchange", code, why);
	result->bytes = halo->pattern.bytes;
	err = cards_tell(halo, why);
	return err ? err : cards_take(halo, why);
}

/* ---- Running it ---- */

/*
 * A neighbour that has died sends nothing, not even that: look whether those
 * that this node exchanges with are there.
 */
static int partners_check(struct halo *halo, char **why)
{
	int err = 0;

	for (unsigned int i = 0; i < halo->pattern.count && !err; i++)
		err = tofu_boot_check(halo->boot, halo->pattern.message[i].from,
				      why);
	return err;
}

static int exchange_failed(struct halo *halo, int code, char **why)
{
	/* If that is because a process has died, its node is the message. */
	partners_check(halo, why);
	return say_code(halo, "the exchange failed", code, why);
}

/* After each second of waiting, and when it is too long. */
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

	while ((code = tofu_exchange_test(halo->exchange)) ==
	       UTOFU_ERR_NOT_COMPLETED) {
		err = wait_look(halo, &wait, &looked, why);
		if (err)
			return err;
	}
	return code ? exchange_failed(halo, code, why) : 0;
}

/* What is timed: from the first put to the last notice and report. */
static int exchange_run(struct halo *halo, uint64_t *ns, char **why)
{
	uint64_t began = tofu_now();
	int code, err;

	tofu_mark(TOFU_MARK_NAME("post"));
	code = tofu_exchange_start(halo->exchange);
	if (code)
		return exchange_failed(halo, code, why);
	tofu_mark(TOFU_MARK_NAME("wait"));
	err = exchange_wait(halo, why);
	tofu_mark(TOFU_MARK_END);
	*ns = tofu_now() - began;
	return err;
}

/* ---- Data ---- */

static bool is_corrupt(const struct halo *halo, uint64_t iteration)
{
	const struct halo_options *options = halo->options;

	return options->corrupt == halo->machine->node &&
	       iteration + 1 == options->warmup + options->iterations;
}

static void fill(struct halo *halo, uint64_t iteration)
{
	const struct halo_message *message = halo->pattern.message;

	for (unsigned int i = 0; i < halo->pattern.count; i++) {
		uint64_t seed = halo_seed(halo->row->number,
					  halo->machine->node, i, iteration);

		halo_fill(halo->area + message[i].offset, message[i].bytes,
			  seed);
	}
	if (is_corrupt(halo, iteration))
		halo->area[message[0].offset + message[0].bytes / 2] ^= 1;
}

static void say_wrong(struct halo *halo, const struct halo_message *m,
		      uint64_t iteration, const struct halo_wrong *wrong,
		      const char *where)
{
	const struct halo_message *sent = &halo->pattern.message[m->back];

	if (halo->said++ >= SAY_MAX)
		return;
	fprintf(stderr,
		"tofu-halo: node %u: row %" PRIu64 ", exchange %" PRIu64
		", from node %u going %s, message %u%s: byte %zu of %zu is 0x%02x, should be 0x%02x (%zu wrong)\n",
		halo->machine->node, halo->row->size, iteration, m->from,
		sent->direction, sent->part, where, wrong->first, m->bytes,
		wrong->seen, wrong->expected, wrong->count);
}

/* All payload of a set; returns how many bytes are wrong. */
static uint64_t verify_payload(struct halo *halo, const uint8_t *set,
			       uint64_t iteration)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < halo->pattern.count; i++) {
		const struct halo_message *m = &halo->pattern.message[i];
		uint64_t seed = halo_seed(halo->row->number, m->from, m->back,
					  iteration);
		struct halo_wrong wrong =
			halo_verify(set + m->offset, m->bytes, seed);

		if (wrong.count)
			say_wrong(halo, m, iteration, &wrong, "");
		count += wrong.count;
	}
	return count;
}

/* The bytes between the buffers, after each up to the next one. */
static uint64_t verify_guards(struct halo *halo, const uint8_t *set,
			      uint64_t iteration)
{
	const struct halo_pattern *pattern = &halo->pattern;
	struct halo_wrong wrong = halo_guard_verify(set, 0, HALO_GUARD);
	uint64_t count = wrong.count;

	if (wrong.count)
		say_wrong(halo, &pattern->message[0], iteration, &wrong,
			  ", guard before the buffer");
	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];
		size_t end = m->offset + m->bytes;
		size_t next = i + 1 < pattern->count ?
				      pattern->message[i + 1].offset :
				      pattern->span;

		wrong = halo_guard_verify(set, end, next - end);
		if (wrong.count) {
			wrong.first -= m->offset;
			say_wrong(halo, m, iteration, &wrong,
				  ", guard behind the buffer");
		}
		count += wrong.count;
	}
	return count;
}

/* Where the library says that it is, which is where it ought to be. */
static int verify(struct halo *halo, uint64_t iteration, uint64_t *wrong,
		  char **why)
{
	const uint8_t *set = set_at(halo, iteration % SETS);
	void *first;
	int code = tofu_exchange_received(halo->exchange, 0, &first);

	if (code)
		return exchange_failed(halo, code, why);
	if (first != set + halo->pattern.message[0].offset) {
		tofu_error_say(why, "node %u: the exchange tells of a buffer that is not its turn",
			       halo->machine->node);
		return -EIO;
	}
	*wrong += verify_payload(halo, set, iteration);
	*wrong += verify_guards(halo, set, iteration);
	return 0;
}

/* ---- A row ---- */

static int exchange_once(struct halo *halo, uint64_t iteration, uint64_t *ns,
			 uint64_t *wrong, char **why)
{
	int err = 0;

	if (halo->options->verify) {
		tofu_mark(TOFU_MARK_NAME("pack"));
		fill(halo, iteration);
	}
	tofu_mark(TOFU_MARK_NAME("sync"));
	if (halo->options->sync == HALO_SYNC_BEFORE)
		err = tofu_boot_barrier(halo->boot, why);
	if (!err)
		err = exchange_run(halo, ns, why);
	if (err || !halo->options->verify)
		return err;
	tofu_mark(TOFU_MARK_NAME("check"));
	err = verify(halo, iteration, wrong, why);
	tofu_mark(TOFU_MARK_END);
	return err;
}

static int exchanges_run(struct halo *halo, uint64_t *time,
			 struct halo_result *result, char **why)
{
	const struct halo_options *options = halo->options;
	uint64_t all = options->warmup + options->iterations;

	for (uint64_t i = 0; i < all; i++) {
		uint64_t ns;
		int err = exchange_once(halo, i, &ns, &result->wrong, why);

		if (err)
			return err;
		if (i < options->warmup)
			continue;
		time[i - options->warmup] = ns;
		if (options->verify)
			result->verified += halo->pattern.bytes;
	}
	result->median = tofu_stats_of(time, options->iterations).median;
	return 0;
}

/*
 * Sums of all nodes; of the times the longest. When all have come here, no
 * exchange is under way any more.
 */
static int result_gather(struct halo *halo, struct halo_result *result,
			 char **why)
{
	uint64_t mine[] = { result->wrong, result->verified, result->median };
	const size_t words = sizeof(mine) / sizeof(mine[0]);
	const uint64_t *all;
	int err = tofu_boot_allgather(halo->boot, mine, words, &all, why);

	if (err)
		return err;
	result->wrong = 0;
	result->verified = 0;
	for (uint32_t node = 0; node < halo->machine->nodes; node++) {
		result->wrong += all[0];
		result->verified += all[1];
		if (all[2] > result->median)
			result->median = all[2];
		all += words;
	}
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
	for (unsigned int set = 0; set < SETS && halo->options->verify; set++)
		halo_guard_fill(set_at(halo, set), 0, halo->pattern.span);
	err = exchange_make(halo, result, why);
	if (!err)
		err = exchanges_run(halo, time, result, why);
	if (!err)
		err = result_gather(halo, result, why);
	tofu_exchange_free(halo->exchange);
	halo->exchange = NULL;
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
	size = halo->span * (1 + SETS);
	halo->area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (halo->area != MAP_FAILED)
		return 0;
	halo->area = NULL;
	tofu_error_say(why, "node %u: no memory for %zu bytes",
		       halo->machine->node, size);
	return -ENOMEM;
}

int halo_open(const struct tofu_machine *machine, struct tofu_boot *boot,
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
	halo->boot = boot;
	err = area_make(halo, row, rows, why);
	if (!err && options->sync == HALO_SYNC_GATES)
		err = halo_gates_make(machine, boot, &halo->gates, why);
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
	halo_gates_free(&halo->gates);
	if (halo->area)
		munmap(halo->area, halo->span * (1 + SETS));
	free(halo);
}
