// SPDX-License-Identifier: MIT
/* Exchanges that the library makes, of puts that are known in advance. */
#include <errno.h>

#include <tofu/neighbor.h>
#include <tofu/rsched.h>

#include "common/error.h"
#include "halo/run.h"

_Static_assert(sizeof(struct tofu_exchange_card) <= TOFU_BOOT_NOTE &&
		       HALO_MESSAGES_MAX <= TOFU_BOOT_SLOTS,
	       "the board has room for all cards");

static void messages_make(const struct halo *halo,
			  struct tofu_message messages[])
{
	for (unsigned int i = 0; i < halo->pattern.count; i++) {
		const struct halo_message *m = &halo->pattern.message[i];

		messages[i] = (struct tofu_message){
			.send = halo->area + m->offset,
			.send_bytes = m->bytes,
			.recv = {
				halo_set_at(halo, 0) + m->offset,
				halo_set_at(halo, 1) + m->offset,
			},
			.recv_bytes = m->bytes,
			.back = m->back,
		};
	}
}

static int neighbor_create(struct halo *halo,
			   enum tofu_neighbor_algorithm algorithm,
			   const struct tofu_message *messages)
{
	const struct tofu_neighbor_params params = {
		.engines = halo->row->tnis,
		.algorithm = algorithm,
		.form = (enum tofu_neighbor_form)halo->options->form,
		.machine = halo->options->machine,
		.barrier = halo_barrier(halo),
	};

	return tofu_neighbor_create(&params, messages, halo->pattern.count,
				    &halo->exchange);
}

static int neighbor_make(struct halo *halo, const struct tofu_message *messages,
			 struct halo_result *result)
{
	const struct halo_row *row = halo->row;
	enum tofu_neighbor_algorithm runs;
	size_t puts;
	int code = neighbor_create(halo, row->algorithm, messages);

	if (!code)
		code = tofu_neighbor_algorithm(halo->exchange, &runs);
	if (!code)
		code = tofu_exchange_puts(halo->exchange, &puts);
	if (code)
		return code;
	result->runs = halo_algorithm_name(runs);
	result->puts = (unsigned int)puts;
	result->engines = puts < row->tnis ? result->puts : row->tnis;
	result->planned = tofu_neighbor_model_ns(halo->options->machine, runs,
						 row->neighbors,
						 row->tnis, row->size);
	return UTOFU_SUCCESS;
}

/*
 * Unplanned messages take all engines in turn: round robin over as many
 * engines as the plan is for.
 */
static int scheduled_make(struct halo *halo, const struct tofu_message *messages,
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
		code = tofu_rsched_create(plan, messages, halo_barrier(halo),
					  &halo->exchange);
	else
		code = neighbor_create(halo, TOFU_NEIGHBOR_NATIVE, messages);
	result->puts = halo->pattern.count;
	result->engines = plan->engines;
	result->planned = plan->makespan_ns;
	tofu_rsched_free(plan);
	return code;
}

/* A card goes to the sender of the message that it describes. */
static int cards_tell(struct halo *halo, char **why)
{
	int err = 0;

	for (unsigned int i = 0; i < halo->pattern.count && !err; i++) {
		const struct halo_message *m = &halo->pattern.message[i];
		struct tofu_exchange_card card;
		int code = tofu_exchange_card(halo->exchange, i, &card);

		if (code)
			return halo_say_code(halo, "cannot make a card", code, why);
		code = tofu_boot_tell(halo->world->boot, m->from, m->back,
				      &card, sizeof(card));
		err = tofu_world_errno(halo->world, code, why);
	}
	return err ? err : tofu_world_barrier(halo->world, why);
}

static int cards_take(struct halo *halo, char **why)
{
	for (unsigned int i = 0; i < halo->pattern.count; i++) {
		struct tofu_exchange_card card;
		int code = tofu_boot_told(halo->world->boot, i, &card,
					  sizeof(card));

		if (!code)
			code = tofu_exchange_connect(halo->exchange, i, &card);
		if (code)
			return halo_say_code(halo, "cannot connect the exchange",
					     code, why);
	}
	return 0;
}

static int planned_make(struct halo *halo, struct halo_result *result,
			char **why)
{
	struct tofu_message messages[HALO_MESSAGES_MAX];
	int code, err;

	messages_make(halo, messages);
	code = halo->row->neighbors ? neighbor_make(halo, messages, result) :
				      scheduled_make(halo, messages, result);
	if (code)
		return halo_say_code(halo, "cannot make the exchange", code, why);
	err = cards_tell(halo, why);
	return err ? err : cards_take(halo, why);
}

static int planned_start(struct halo *halo)
{
	return tofu_exchange_start(halo->exchange);
}

static int planned_test(struct halo *halo)
{
	return tofu_exchange_test(halo->exchange);
}

/* Where the library says that it is, which is where it ought to be. */
static int planned_check(struct halo *halo, char **why)
{
	const uint8_t *set = halo_receive_set(halo);
	void *first;
	int code = tofu_exchange_received(halo->exchange, 0, &first);

	if (code)
		return halo_say_code(halo, "cannot ask for buffers", code, why);
	if (first == set + halo->pattern.message[0].offset)
		return 0;
	tofu_error_say(why,
		       "node %u: the exchange tells of a buffer that is not its turn",
		       halo->machine->node);
	return -EIO;
}

static void planned_free(struct halo *halo)
{
	tofu_exchange_free(halo->exchange);
	halo->exchange = NULL;
}

const struct halo_way halo_planned = {
	.make = planned_make,
	.start = planned_start,
	.test = planned_test,
	.check = planned_check,
	.free = planned_free,
};
