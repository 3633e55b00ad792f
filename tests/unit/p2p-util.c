/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "p2p-util.h"

#include <sched.h>
#include <string.h>
#include <stdlib.h>
#include <time.h>

/* Endpoints of a TNI: each has two components. */
#define PER_TNI 4

struct tofu_p2p_params p2p_params(void)
{
	return (struct tofu_p2p_params){
		.mode = TOFU_P2P_SHARED,
		.memory = PLENTY,
		.ring = 16384,
		.eager = TOFU_P2P_DEFAULT,
		.get = TOFU_P2P_DEFAULT,
	};
}

int p2p_where_never(void *arg, uint32_t rank, uint8_t coords[6],
		    utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	(void)arg;
	(void)rank;
	(void)coords;
	(void)tni;
	(void)component;
	return UTOFU_ERR_NOT_FOUND;
}

struct tofu_p2p_params p2p_least(struct tofu_p2p_params params)
{
	struct tofu_p2p_memory memory;
	size_t low = 0, high = PLENTY;

	params.processes = 2;
	params.where = p2p_where_never;
	while (low + 1 < high) {
		params.memory = (low + high) / 2;
		if (tofu_p2p_need(&params, 0, &memory))
			low = params.memory;
		else
			high = params.memory;
	}
	params.memory = high;
	return params;
}

/* ---- In one process ---- */

void world_where(unsigned int rank, utofu_tni_id_t *tni,
		 utofu_cmp_id_t *component)
{
	*tni = (utofu_tni_id_t)(rank / PER_TNI);
	*component = (utofu_cmp_id_t)(rank % PER_TNI * 2);
}

static int where_here(void *arg, uint32_t rank, uint8_t coords[6],
		      utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	(void)arg;
	world_where(rank, tni, component);
	return utofu_query_my_coords(coords);
}

int world_make(struct world *world, unsigned int count,
	       const struct tofu_p2p_params *params)
{
	*world = (struct world){
		.count = count,
	};
	for (unsigned int rank = 0; rank < count; rank++) {
		struct tofu_p2p_params own = *params;
		int code;

		own.processes = count;
		own.rank = rank;
		world_where(rank, &own.tni, &own.component);
		own.where = where_here;
		code = tofu_p2p_create(&own, &world->p2p[rank]);
		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

void world_free(struct world *world)
{
	for (unsigned int rank = 0; rank < world->count; rank++)
		tofu_p2p_free(world->p2p[rank]);
}

int world_turn(struct world *world)
{
	for (unsigned int rank = 0; rank < world->count; rank++) {
		int code = tofu_p2p_progress(world->p2p[rank]);

		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* Whether it is worth another turn; of a loop that began then */
bool turn_again(time_t since)
{
	sched_yield();
	return time(NULL) - since <= WAIT_SECONDS;
}

int world_wait(struct world *world, unsigned int rank,
	       struct tofu_p2p_request **request,
	       struct tofu_p2p_status *status)
{
	time_t since = time(NULL);
	int code;

	do {
		code = world_turn(world);
		if (code)
			return code;
		code = tofu_p2p_test(world->p2p[rank], request, status);
	} while (turn_again(since) && code == UTOFU_ERR_NOT_COMPLETED);
	return code;
}

int world_ended(struct world *world, unsigned int rank,
		struct tofu_p2p_end *end)
{
	time_t since = time(NULL);
	int code;

	do {
		code = world_turn(world);
		if (code)
			return code;
		code = tofu_p2p_ended(world->p2p[rank], end);
	} while (turn_again(since) && code == UTOFU_ERR_NOT_FOUND);
	return code;
}

int world_make_by(struct world *world, enum tofu_p2p_mode mode, bool no_armw,
		  size_t eager, size_t get)
{
	struct tofu_p2p_params params = p2p_params();

	setenv("TOFU_ARMW", no_armw ? "0" : "1", 1);
	params.mode = mode;
	params.eager = eager;
	params.get = get;
	return world_make(world, 3, &params);
}

/* ---- In several ---- */

static int where_node(void *arg, uint32_t rank, uint8_t coords[6],
		      utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	(void)arg;
	(void)tni;
	(void)component;
	memset(coords, 0, 6);
	coords[0] = (uint8_t)rank;
	return UTOFU_SUCCESS;
}

struct tofu_p2p_params node_params(const struct tofu_p2p_params *params,
				   const struct tofu_nodes *nodes,
				   unsigned int node)
{
	struct tofu_p2p_params own = *params;

	own.processes = nodes->count;
	own.rank = node;
	own.where = where_node;
	return own;
}

/* ---- Data ---- */

uint64_t word_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t x = (a << 40 ^ b << 20 ^ c) + (d + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

void data_fill(void *at, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = word_of(0, 0, seed, i);

		memcpy((char *)at + i, &word, bytes - i < 8 ? bytes - i : 8);
	}
}

bool data_is(const void *at, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = word_of(0, 0, seed, i);

		if (memcmp((const char *)at + i, &word,
			   bytes - i < 8 ? bytes - i : 8))
			return false;
	}
	return true;
}
