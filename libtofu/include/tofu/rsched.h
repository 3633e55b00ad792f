/* SPDX-License-Identifier: MIT */
/*
 * Schedules of puts that are known together: which engine sends which put, in
 * which order, and when, so that puts do not contend for engines or links. All
 * of it is arithmetic, in whole nanoseconds and bytes: the same input gives the
 * same plan everywhere, and no controller is needed.
 * Documentation/library/rsched.rst describes the schedulers and the model.
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
#define TOFU_RSCHED_SITES_MAX 16
#define TOFU_RSCHED_CROWD_MAX 64

/**
 * DOC: TOFU_RSCHED_*
 * @DIAGONAL: the put goes in a diagonal direction; a scheduler may limit the
 *            engines of these
 */
#define TOFU_RSCHED_DIAGONAL 1U

/**
 * struct tofu_rsched_request - a put to be scheduled
 * @bytes:     at most TOFU_RSCHED_BYTES_MAX; a put of 0 bytes is still a
 *             command
 * @links:     links that bottom-left packing keeps free for it, a bit each; 0:
 *             the one whose number is @direction, which must be below 64 then
 * @path:      links that its packets cross, which it shares with other puts; 0:
 *             those of @links
 * @direction: number; breaks ties between puts of one length
 * @flags:     TOFU_RSCHED_DIAGONAL, or 0
 *
 * As published, a link stands for a direction: a diagonal put has a link to
 * itself although it takes two hops. A caller that knows the hops gives them in
 * @path. When all processes of a torus send alike, a put takes from the node's
 * own links what the puts of others take that pass through. Where the processes
 * are not such a torus in the machine, struct tofu_rsched_way says more.
 */
struct tofu_rsched_request {
	uint64_t bytes;
	uint64_t links;
	uint64_t path;
	uint32_t direction;
	uint32_t flags;
};

/**
 * struct tofu_rsched_way - what a put meets on its way from a site
 * @path:    links that its packets cross, which it shares with other puts; 0:
 *           those of the request
 * @crowded: links of the path that the same put of several processes crosses
 * @crowd:   how many of them share such a link, this one included: from 2, or 0
 *           where @crowded is 0
 * @chain:   with how many of them this one takes turns on all its links, itself
 *           included: from @crowd up to TOFU_RSCHED_CROWD_MAX, or 0 where
 *           @crowded is 0
 *
 * A site is a node, and stands for all whose puts meet the same. Where a grid of
 * processes is folded into a machine, puts in one direction share a link at some
 * nodes and none at others. A put that shares one of its links with one other
 * process's has a crowd and a chain of 2; one that shares two links, with another
 * process's each time, has a chain of 3.
 */
struct tofu_rsched_way {
	uint64_t path;
	uint64_t crowded;
	uint32_t crowd;
	uint32_t chain;
};

/**
 * struct tofu_rsched_model - what a put costs
 * @engines:    engines of a node, at most TOFU_RSCHED_ENGINES_MAX
 * @link_mbs:   payload of a link, 10^6 bytes per second
 * @engine_mbs: payload of an engine that sends and receives as much
 * @host_mbs:   payload of all engines together, which do so: at least @engines;
 *              0: without limit
 * @start_ns:   the processor's time to start an engine; it starts them one
 *              after the other, and an engine is idle before
 * @post_ns:    more, for each put that it posts to that engine
 * @command_ns: shortest time that a put occupies an engine
 * @latency_ns: from an engine's start to an empty put's arrival, without
 *              contention
 * @poll_ns:    the processor's time at the end, for each engine that it polls
 * @notice_ns:  its time to take the notice of a put that has arrived
 */
struct tofu_rsched_model {
	uint32_t engines;
	uint32_t link_mbs;
	uint32_t engine_mbs;
	uint32_t host_mbs;
	uint32_t start_ns;
	uint32_t post_ns;
	uint32_t command_ns;
	uint32_t latency_ns;
	uint32_t poll_ns;
	uint32_t notice_ns;
};

/**
 * enum tofu_rsched_scheduler - how puts are distributed
 * @TOFU_RSCHED_ROUND_ROBIN:    put i by engine i mod width; links are shared
 * @TOFU_RSCHED_BL:             bottom-left packing: the longest first, each at
 *                              the earliest time when neither engine nor link
 *                              is taken and fewer than width engines are busy
 *                              with diagonal directions
 * @TOFU_RSCHED_OVERHEAD_AWARE: the best of many plans, including those of the
 *                              other schedulers, with as few engines as that
 *                              takes; no width
 */
enum tofu_rsched_scheduler {
	TOFU_RSCHED_ROUND_ROBIN = 0,
	TOFU_RSCHED_BL = 1,
	TOFU_RSCHED_OVERHEAD_AWARE = 2,
};

/**
 * struct tofu_rsched_place - engine and times of a put
 * @engine:   engine that sends it, and that receives it at the other side
 * @begin_ns: when the engine begins it, from the start of all
 * @end_ns:   when the engine has finished it
 */
struct tofu_rsched_place {
	uint32_t engine;
	uint64_t begin_ns;
	uint64_t end_ns;
};

/**
 * struct tofu_rsched_plan - a schedule
 * @makespan_ns: when the processor has the last put's notice; 0 for no puts
 * @count:       number of puts
 * @engines:     engines that have puts: those with the lowest numbers
 * @place:       place of each put, in the order in which they were given
 * @order:       indices of puts: those of engine 0 in its order, then those of
 *               engine 1 ...
 * @first:       where each engine's part of @order begins; the last entry:
 *               where the last part ends
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
 * tofu_rsched_machine - get the costs of a machine
 * @machine: k, fx10, fx100 or fugaku
 * @model:   filled
 *
 * Times and bandwidths are those of the machine in virtual time, where an engine
 * sends and receives at once, and those of this library on its processor.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_FOUND where
 * there is no such machine.
 */
int tofu_rsched_machine(const char *machine, struct tofu_rsched_model *model);

/**
 * tofu_rsched_make - schedule puts
 * @model:     model with bandwidths of at least 1
 * @scheduler: enum tofu_rsched_scheduler
 * @width:     for round robin and bottom-left, 1 up to the engines of the
 *             model; else 0
 * @requests:  puts
 * @count:     number of puts, at most TOFU_RSCHED_REQUESTS_MAX
 * @plan:      set to the schedule; to be freed by tofu_rsched_free()
 *
 * Processes that exchange with each other give the same puts, in the same
 * order: then all have the same plan, and no engine receives from two senders
 * at a time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_NUMBER
 * for @width, @count, the model's engines or a direction;
 * UTOFU_ERR_INVALID_SIZE for bytes; UTOFU_ERR_INVALID_FLAGS;
 * UTOFU_ERR_INVALID_ARG for @scheduler or a bandwidth; UTOFU_ERR_OUT_OF_MEMORY.
 */
int tofu_rsched_make(const struct tofu_rsched_model *model, int scheduler,
		     unsigned int width,
		     const struct tofu_rsched_request *requests, size_t count,
		     struct tofu_rsched_plan **plan);

/**
 * tofu_rsched_make_sites - schedule puts that meet others on a real machine
 * @model:     as for tofu_rsched_make()
 * @scheduler: likewise
 * @width:     likewise
 * @requests:  likewise
 * @count:     likewise
 * @ways:      ways of all puts from the first site, in the order of @requests,
 *             then from the second one ...; may be NULL where there are none
 * @sites:     number of sites, at most TOFU_RSCHED_SITES_MAX; 0: as
 *             tofu_rsched_make() does
 * @plan:      likewise
 *
 * All processes have the same plan, so the slowest site counts: the makespan is
 * its, and so are the places, but for those of TOFU_RSCHED_BL, which are the
 * packing's.
 *
 * Return: as tofu_rsched_make(); UTOFU_ERR_INVALID_POINTER for @ways, too;
 * UTOFU_ERR_INVALID_NUMBER for @sites, a crowd or a chain;
 * UTOFU_ERR_INVALID_ARG where a link is crowded that is not of the path;
 * UTOFU_ERR_INVALID_SIZE where a put's bytes times its chain are more than
 * TOFU_RSCHED_BYTES_MAX.
 */
int tofu_rsched_make_sites(const struct tofu_rsched_model *model, int scheduler,
			   unsigned int width,
			   const struct tofu_rsched_request *requests,
			   size_t count, const struct tofu_rsched_way *ways,
			   size_t sites, struct tofu_rsched_plan **plan);

/**
 * tofu_rsched_free - free a schedule
 * @plan: schedule, or NULL
 */
void tofu_rsched_free(struct tofu_rsched_plan *plan);

/**
 * tofu_rsched_create - create an exchange that runs a schedule
 * @plan:     schedule, the same on all processes; may be freed afterwards
 * @messages: @plan->count messages, 1 … TOFU_EXCHANGE_MESSAGES_MAX; put i of
 *            the plan sends message i. Sizes need not be those of the plan
 * @barrier:  start and end gate of a barrier of the processes:
 *            pseudo-collective mode, where no process begins before all do, and
 *            the exchange ends when it has ended for all; UTOFU_VBG_ID_NULL:
 *            free-running mode, neighbours may be ahead
 * @exchange: set to the exchange, to be connected to those of its neighbours
 *
 * Engines run through their lists without waiting between puts: they keep the
 * order of the plan, not its times. Takes a command queue on each engine.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER (an argument, or a buffer
 * that has bytes); UTOFU_ERR_INVALID_NUMBER (puts, more engines than there are,
 * or a back that is not a message); otherwise as tofu_neighbor_create().
 */
int tofu_rsched_create(const struct tofu_rsched_plan *plan,
		       const struct tofu_message *messages,
		       utofu_vbg_id_t barrier, struct tofu_exchange **exchange);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_RSCHED_H */
