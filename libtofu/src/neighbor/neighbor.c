// SPDX-License-Identifier: MIT
/* The neighbour exchange: turns a schedule into an exchange. */
#include <tofu/neighbor.h>

#include <stdlib.h>

#include "net/machine.h"
#include "neighbor/parts.h"

static const struct tofu_neighbor_params defaults = {
	.algorithm = TOFU_NEIGHBOR_AUTO,
	.form = TOFU_NEIGHBOR_ONE_SIDED,
	.barrier = UTOFU_VBG_ID_NULL,
};

static const char *machine_of(const struct tofu_neighbor_params *params)
{
	return params->machine ? params->machine : "k";
}

static int params_check(const struct tofu_neighbor_params *params)
{
	switch (params->algorithm) {
	case TOFU_NEIGHBOR_AUTO:
	case TOFU_NEIGHBOR_NATIVE:
	case TOFU_NEIGHBOR_SEGMENTED:
		break;
	default:
		return UTOFU_ERR_INVALID_ARG;
	}
	switch (params->form) {
	case TOFU_NEIGHBOR_ONE_SIDED:
	case TOFU_NEIGHBOR_TWO_SIDED:
	case TOFU_NEIGHBOR_STEPS:
		break;
	default:
		return UTOFU_ERR_INVALID_ARG;
	}
	return tofu_preset_find(machine_of(params)) ? UTOFU_SUCCESS :
						      UTOFU_ERR_INVALID_ARG;
}

static size_t largest(const struct tofu_message *messages, unsigned int count)
{
	size_t most = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (messages[i].send_bytes > most)
			most = messages[i].send_bytes;
		if (messages[i].recv_bytes > most)
			most = messages[i].recv_bytes;
	}
	return most;
}

static bool in_segments(const struct tofu_neighbor_params *params,
			const struct tofu_message *messages,
			unsigned int count, unsigned int engines)
{
	size_t bytes = params->bytes ? params->bytes :
				       largest(messages, count);

	if (params->algorithm != TOFU_NEIGHBOR_AUTO)
		return params->algorithm == TOFU_NEIGHBOR_SEGMENTED;
	if (params->crossover)
		return bytes >= params->crossover;
	return bytes >=
	       tofu_neighbor_crossover(machine_of(params), count, engines);
}

static enum tofu_exchange_pace pace_of(enum tofu_neighbor_form form)
{
	switch (form) {
	case TOFU_NEIGHBOR_TWO_SIDED:
		return TOFU_EXCHANGE_MET;
	case TOFU_NEIGHBOR_STEPS:
		return TOFU_EXCHANGE_SENT;
	default:
		return TOFU_EXCHANGE_FREE;
	}
}

static int plan_make(const struct tofu_neighbor_plan *schedule,
		     const struct tofu_neighbor_params *params,
		     const struct tofu_message *messages, unsigned int count,
		     struct tofu_exchange **exchange)
{
	unsigned int most = schedule->steps * schedule->engines, parts = 0;
	struct tofu_part *part = calloc(most, sizeof(*part));
	struct tofu_exchange_plan plan = {
		.engines = schedule->engines,
		.pace = pace_of(params->form),
		.parts = part,
		.barrier = params->barrier,
		.note = schedule->segments > 1 ? TOFU_NEIGHBOR_SEGMENTED :
						 TOFU_NEIGHBOR_NATIVE,
	};
	int code;

	if (!part)
		return UTOFU_ERR_OUT_OF_MEMORY;
	for (unsigned int e = 0; e < plan.engines; e++) {
		plan.count[e] = tofu_neighbor_parts(schedule, e, messages,
						    part + parts);
		parts += plan.count[e];
	}
	code = tofu_exchange_make(&plan, messages, count, exchange);
	free(part);
	return code;
}

int tofu_neighbor_create(const struct tofu_neighbor_params *params,
			 const struct tofu_message *messages,
			 unsigned int count, struct tofu_exchange **exchange)
{
	struct tofu_neighbor_plan plan;
	unsigned int engines;
	int code;

	if (!params)
		params = &defaults;
	if (!messages || !exchange)
		return UTOFU_ERR_INVALID_POINTER;
	code = params_check(params);
	if (!code)
		code = tofu_exchange_engines(&engines);
	if (code)
		return code;
	if (!count || count > TOFU_EXCHANGE_MESSAGES_MAX ||
	    params->engines > engines)
		return UTOFU_ERR_INVALID_NUMBER;
	if (params->engines)
		engines = params->engines;
	plan = in_segments(params, messages, count, engines) ?
		       tofu_neighbor_plan_segmented(count, engines) :
		       tofu_neighbor_plan_native(count, engines);
	return plan_make(&plan, params, messages, count, exchange);
}

int tofu_neighbor_algorithm(const struct tofu_exchange *exchange,
			    enum tofu_neighbor_algorithm *algorithm)
{
	int note;

	if (!exchange || !algorithm)
		return UTOFU_ERR_INVALID_POINTER;
	note = tofu_exchange_note(exchange);
	if (note != TOFU_NEIGHBOR_NATIVE && note != TOFU_NEIGHBOR_SEGMENTED)
		return UTOFU_ERR_INVALID_ARG;
	*algorithm = (enum tofu_neighbor_algorithm)note;
	return UTOFU_SUCCESS;
}
