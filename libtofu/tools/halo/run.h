/* SPDX-License-Identifier: MIT */
/*
 * The runner of tofu-halo's rows, and the ways to exchange the messages of a
 * row: planned by the library, or from point to point.
 */
#ifndef TOFU_HALO_RUN_H
#define TOFU_HALO_RUN_H

#include <tofu/gates.h>
#include <tofu/exchange.h>

#include "halo/halo.h"

/* Receive buffers take turns. */
#define HALO_SETS 2

struct halo_p2p;
struct halo_way;

/**
 * struct halo - a node's part of the exchanges
 * @places:   where the grid is
 * @ways:     what puts meet there, where schedulers plan them
 * @gates:    gates for barriers of all nodes, or NULL
 * @barrier:  the gate to enter a barrier by, or UTOFU_VBG_ID_NULL
 * @area:     send buffers, then the receive sets
 * @span:     bytes of the send buffers, and of each receive set
 * @p2p:      endpoints of messages from point to point, where a row has them
 * @row:      current row
 * @way:      way to exchange the row's messages
 * @workload: workload of the row, where schedulers plan it
 * @pattern:  messages of the row
 * @exchange: exchange of the row, NULL from point to point
 * @turn:     current exchange
 */
struct halo {
	const struct tofu_machine *machine;
	const struct halo_options *options;
	const struct tofu_rsched_model *model;
	struct tofu_world *world;
	struct halo_places places;
	struct sched_ways ways;
	struct tofu_gates *gates;
	utofu_vbg_id_t barrier;
	uint8_t *area;
	size_t span;
	struct halo_p2p *p2p;

	const struct halo_row *row;
	const struct halo_way *way;
	struct sched_workload workload;
	struct halo_pattern pattern;
	struct tofu_exchange *exchange;
	struct halo_turn turn;
};

/**
 * struct halo_way - a way to exchange the messages of a row
 * @make:  make what the row needs, on all nodes at the same time; set the
 *         members of @result that are known. Return: 0 or a negative errno.
 * @start: begin an exchange, and the barrier before it. Return: enum
 *         utofu_return_code.
 * @test:  advance it. Return: UTOFU_SUCCESS when it has ended, and the
 *         barrier after it; UTOFU_ERR_NOT_COMPLETED; or an error.
 * @check: check the way's own records of the exchange that has ended.
 *         Return: 0 or a negative errno.
 * @free:  free what @make has made; no exchange is under way on any node
 */
struct halo_way {
	int (*make)(struct halo *halo, struct halo_result *result, char **why);
	int (*start)(struct halo *halo);
	int (*test)(struct halo *halo);
	int (*check)(struct halo *halo, char **why);
	void (*free)(struct halo *halo);
};

/* halo_planned - use the library's exchanges (halo/planned.c) */
extern const struct halo_way halo_planned;

/* halo_p2p - send messages from point to point (halo/p2p.c) */
extern const struct halo_way halo_p2p;

/**
 * halo_p2p_open - make endpoints for all rows, on all nodes at the same time
 *
 * Return: 0 or a negative errno; call halo_p2p_close() in either case.
 */
int halo_p2p_open(struct halo *halo, char **why);

/* halo_p2p_close - free the endpoints, when no node sends any more */
void halo_p2p_close(struct halo *halo);

/* halo_set_at - the receive buffers of a set */
static inline uint8_t *halo_set_at(const struct halo *halo, unsigned int set)
{
	return halo->area + halo->span * (1 + set);
}

/* halo_receive_set - the set that the exchange of this turn receives into */
static inline uint8_t *halo_receive_set(const struct halo *halo)
{
	return halo_set_at(halo, halo->turn.iteration % HALO_SETS);
}

/* halo_barrier - the gate to enter a barrier by, or UTOFU_VBG_ID_NULL */
static inline utofu_vbg_id_t halo_barrier(const struct halo *halo)
{
	return halo->barrier;
}

/* halo_say_code - say that @what failed with @code. Return: a negative errno */
int halo_say_code(const struct halo *halo, const char *what, int code,
		  char **why);

#endif /* TOFU_HALO_RUN_H */
