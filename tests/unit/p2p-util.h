/* SPDX-License-Identifier: MIT */
/*
 * Worlds of endpoints: some in one process, which one thread drives in turn, or
 * one in each of some processes. And what is in messages: each byte is of one
 * source, destination, number and place.
 */
#ifndef UNIT_P2P_UTIL_H
#define UNIT_P2P_UTIL_H

#include <time.h>

#include <stdbool.h>

#include <tofu/p2p.h>

#include "utofu-util.h"

#define WORLD_MAX 24

/**
 * struct world - endpoints in one process
 * @p2p: by rank
 */
struct world {
	unsigned int count;
	struct tofu_p2p *p2p[WORLD_MAX];
};

/* Enough for all that is in one test, unless it is about memory. */
#define PLENTY ((size_t)64 << 20)

/* p2p_params - defaults: shared, a small ring, plenty of memory */
struct tofu_p2p_params p2p_params(void);

/* p2p_where_never - tells nobody's place: for endpoints that send nothing */
int p2p_where_never(void *arg, uint32_t rank, uint8_t coords[6],
		    utofu_tni_id_t *tni, utofu_cmp_id_t *component);

/* p2p_least - the same with the least memory that there can be */
struct tofu_p2p_params p2p_least(struct tofu_p2p_params params);

/*
 * world_make - @count endpoints with these parameters, but for rank, TNI and
 * component
 *
 * Return: of the first that could not be made.
 */
int world_make(struct world *world, unsigned int count,
	       const struct tofu_p2p_params *params);
void world_free(struct world *world);

/* world_where - TNI and component of an endpoint of a world */
void world_where(unsigned int rank, utofu_tni_id_t *tni,
		 utofu_cmp_id_t *component);

/* world_turn - each endpoint goes on once; what is broken, or success */
int world_turn(struct world *world);

/* world_wait - turns until the request has ended, or too many */
int world_wait(struct world *world, unsigned int rank,
	       struct tofu_p2p_request **request,
	       struct tofu_p2p_status *status);

/* turn_again - whether a wait that began then may go on; gives way */
bool turn_again(time_t since);

/* world_ended - turns until an endpoint has something to tell, or too many */
int world_ended(struct world *world, unsigned int rank,
		struct tofu_p2p_end *end);

/* world_make_by - three endpoints of a mode and thresholds, with atomics or not */
int world_make_by(struct world *world, enum tofu_p2p_mode mode, bool no_armw,
		  size_t eager, size_t get);

/* node_params - those of an endpoint in a process of tofu_nodes_run() */
struct tofu_p2p_params node_params(const struct tofu_p2p_params *params,
				   const struct tofu_nodes *nodes,
				   unsigned int node);

/* word_of - a number that looks random */
uint64_t word_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* data_fill, data_is - what a message with this seed has in it */
void data_fill(void *at, size_t bytes, uint64_t seed);
bool data_is(const void *at, size_t bytes, uint64_t seed);

#endif /* UNIT_P2P_UTIL_H */
