/* SPDX-License-Identifier: MIT */
/*
 * Schedules of puts that are known together: which engine sends which of them,
 * in which order, and when, so that neither engines nor links are in each
 * other's way. All of it is arithmetic, in whole nanoseconds and bytes: the same
 * input gives the same plan everywhere, and no controller is needed.
 * Documentation/library/rsched.rst tells of the schedulers and of the model.
 */
#ifndef TOFU_RSCHED_H
#define TOFU_RSCHED_H

#include <stddef.h>
#include <stdint.h>

#include <tofu/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Schedules of puts ---- */

#define TOFU_RSCHED_ENGINES_MAX 8
#define TOFU_RSCHED_REQUESTS_MAX 4096
#define TOFU_RSCHED_BYTES_MAX (UINT64_C(1) << 40)

/**
 * DOC: TOFU_RSCHED_*
 * @DIAGONAL: the put goes in a diagonal direction, of which a scheduler may limit
 *            the engines
 */
#define TOFU_RSCHED_DIAGONAL 1U

/**
 * struct tofu_rsched_request - a put to be scheduled
 * @bytes:     at most TOFU_RSCHED_BYTES_MAX; one of none is still a command
 * @links:     links that it occupies, a bit each; 0: the one whose number is
 *             @direction, which has to be below 64 then
 * @direction: number; decides between puts of one length
 * @flags:     TOFU_RSCHED_DIAGONAL, or 0
 *
 * As published, a link stands for a direction: a diagonal put has one of its own,
 * though it takes two hops, because nobody knows which of two ways it takes. Who
 * knows the path says so in @links.
 */
struct tofu_rsched_request {
	uint64_t bytes;
	uint64_t links;
	uint32_t direction;
	uint32_t flags;
};

/**
 * struct tofu_rsched_model - what a put costs
 * @engines:    of a node, at most TOFU_RSCHED_ENGINES_MAX
 * @link_mbs:   payload of a link, 10^6 bytes a second
 * @engine_mbs: payload of an engine that sends and receives as much
 * @start_ns:   the processor's time to start an engine; it starts one after the
 *              other, and an engine does nothing before
 * @command_ns: least time that a put keeps an engine
 * @latency_ns: from an engine's start to an empty put's arrival, nobody in the way
 */
struct tofu_rsched_model {
	uint32_t engines;
	uint32_t link_mbs;
	uint32_t engine_mbs;
	uint32_t start_ns;
	uint32_t command_ns;
	uint32_t latency_ns;
};

/**
 * enum tofu_rsched_scheduler - how puts are distributed
 * @TOFU_RSCHED_ROUND_ROBIN:    put i by engine i mod width; links are shared
 * @TOFU_RSCHED_BL:             bottom-left packing: the longest first, each to the
 *                              earliest place where neither engine nor link is
 *                              taken and less than width engines are busy with
 *                              diagonal directions
 * @TOFU_RSCHED_OVERHEAD_AWARE: the best of many plans, those of the others among
 *                              them, with as few engines as that takes; no width
 */
enum tofu_rsched_scheduler {
	TOFU_RSCHED_ROUND_ROBIN = 0,
	TOFU_RSCHED_BL = 1,
	TOFU_RSCHED_OVERHEAD_AWARE = 2,
};

/**
 * struct tofu_rsched_place - where a put has come to
 * @engine:   that sends it, and the other side's that receives it
 * @begin_ns: when the engine begins with it, from the start of all
 * @end_ns:   when the engine is through with it
 */
struct tofu_rsched_place {
	uint32_t engine;
	uint64_t begin_ns;
	uint64_t end_ns;
};

/**
 * struct tofu_rsched_plan - a schedule
 * @makespan_ns: when the last put has arrived; 0 where there is none
 * @count:       of puts
 * @engines:     that have puts: those with the lowest numbers
 * @place:       of each put, in the order in which they were given
 * @order:       indices of puts: those of engine 0 in its order, then those of
 *               engine 1 ...
 * @first:       of each engine, where in @order it begins; where the last ends
 */
struct tofu_rsched_plan {
	uint64_t makespan_ns;
	size_t count;
	uint32_t engines;
	const struct tofu_rsched_place *place;
	const size_t *order;
	size_t first[TOFU_RSCHED_ENGINES_MAX + 1];
};

/**
 * tofu_rsched_machine - the costs of a machine
 * @machine: k, fx10, fx100 or fugaku
 * @model:   filled
 *
 * Times and bandwidths are those of the machine in virtual time. An engine sends
 * and receives at once, and gets its share of what all of them can. The start
 * of an engine is 600 ns, what this library needs in virtual time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_FOUND where
 * there is no such machine.
 */
int tofu_rsched_machine(const char *machine, struct tofu_rsched_model *model);

/**
 * tofu_rsched_make - schedule puts
 * @model:     whose bandwidths are at least 1
 * @scheduler: enum tofu_rsched_scheduler
 * @width:     of round robin and bottom-left, 1 to the engines of the model; else
 *             0
 * @requests:  puts
 * @count:     of them, at most TOFU_RSCHED_REQUESTS_MAX
 * @plan:      set to the schedule; to be freed by tofu_rsched_free()
 *
 * Processes that exchange with each other give the same puts, in the same order:
 * then all have one plan, and no engine receives from two at a time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_NUMBER of
 * @width, @count, the model's engines or a direction; UTOFU_ERR_INVALID_SIZE of
 * bytes; UTOFU_ERR_INVALID_FLAGS; UTOFU_ERR_INVALID_ARG of @scheduler or a
 * bandwidth; UTOFU_ERR_OUT_OF_MEMORY.
 */
int tofu_rsched_make(const struct tofu_rsched_model *model, int scheduler,
		     unsigned int width,
		     const struct tofu_rsched_request *requests, size_t count,
		     struct tofu_rsched_plan **plan);

/**
 * tofu_rsched_free - free a schedule; NULL is nothing
 * @plan: schedule
 */
void tofu_rsched_free(struct tofu_rsched_plan *plan);

/**
 * tofu_rsched_create - make an exchange that runs a schedule
 * @plan:     the same on all processes; may be freed afterwards
 * @messages: put i of the plan sends message i, of @plan->count, which is 1 to
 *            TOFU_EXCHANGE_MESSAGES_MAX; sizes need not be those of the plan
 * @barrier:  start and end gate of the processes' barrier: pseudo-collective
 *            mode, where none begins before all do, and it ends when it has ended
 *            for all; UTOFU_VBG_ID_NULL: free-running mode, neighbours may be
 *            ahead
 * @exchange: set to it; to be connected with its neighbours'
 *
 * Engines run through their lists, and wait for nothing between: of the plan's
 * times the order is what they keep. Takes a command queue on each engine.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER (an argument, or a buffer that
 * has bytes); UTOFU_ERR_INVALID_NUMBER (puts, more engines than there are, or
 * a back that is no message); otherwise as tofu_neighbor_create().
 */
int tofu_rsched_create(const struct tofu_rsched_plan *plan,
		       const struct tofu_message *messages,
		       utofu_vbg_id_t barrier, struct tofu_exchange **exchange);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_RSCHED_H */
