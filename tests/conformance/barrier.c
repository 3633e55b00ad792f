// SPDX-License-Identifier: MIT
/*
 * Barriers and reductions over networks of gates: butterfly, ring and tree, of
 * as many nodes as there are.
 */
#include <math.h>
#include <string.h>

#include "network.h"

#define ROUNDS 40

/* ---- Barriers ---- */

/* Say to everybody that this node has come to a round. */
static void announce(struct port *port, uint64_t round)
{
	for (unsigned int r = 0; r < world.ranks; r++)
		CODE(utofu_put_piggyback8(port->vcq, port->id[r], round,
					  port->stadd[r] + 8 * world.rank, 8,
					  0, LCL, NULL),
		     UTOFU_SUCCESS);
	take_notices(port, world.ranks, 0);
}

static void check_separation(utofu_vbg_id_t vbg, const char *network)
{
	struct port port;

	port_open(&port, 0, 0, 4096);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (round % world.ranks == world.rank)
			rest(3);
		announce(&port, round);
		CODE(utofu_barrier(vbg, 0), UTOFU_SUCCESS);
		if (!CODE(end_barrier(vbg), UTOFU_SUCCESS))
			break;
		for (unsigned int r = 0; r < world.ranks; r++) {
			uint64_t seen;

			memcpy(&seen, port.area + 8 * r, sizeof(seen));
			CHECK(seen == round || seen == round + 1);
		}
	}
	claim("%s of %u: no barrier ends before all have started it", network,
	      world.ranks);
	port_close(&port);
}

static void check_polls(utofu_vbg_id_t vbg)
{
	uint64_t data[6] = { 0 };
	double values[3] = { 0 };

	CODE(utofu_poll_barrier(vbg, 0), UTOFU_ERR_NOT_PROCESSED);
	CODE(utofu_poll_reduce_uint64(vbg, 0, data), UTOFU_ERR_NOT_PROCESSED);
	meet();
	/* The last one starts when the others have looked. */
	if (world.rank < world.ranks - 1) {
		CODE(utofu_barrier(vbg, 0), UTOFU_SUCCESS);
		rest(5);
		CODE(utofu_poll_barrier(vbg, 0), UTOFU_ERR_NOT_COMPLETED);
		CODE(utofu_barrier(vbg, 0), UTOFU_ERR_BUSY);
		CODE(utofu_reduce_uint64(vbg, UTOFU_REDUCE_OP_SUM, data, 1, 0),
		     UTOFU_ERR_BUSY);
		CODE(utofu_poll_reduce_uint64(vbg, 0, data),
		     UTOFU_ERR_INVALID_OP);
		CODE(utofu_poll_reduce_double(vbg, 0, values),
		     UTOFU_ERR_INVALID_OP);
	}
	meet();
	if (world.rank == world.ranks - 1)
		CODE(utofu_barrier(vbg, 0), UTOFU_SUCCESS);
	CODE(end_barrier(vbg), UTOFU_SUCCESS);
	CODE(utofu_poll_barrier(vbg, 0), UTOFU_ERR_NOT_PROCESSED);
	claim("NOT_PROCESSED, NOT_COMPLETED, BUSY, and INVALID_OP of polls");
}

/* ---- Reductions of integers ---- */

static uint64_t input(unsigned int rank, unsigned int i, unsigned int op)
{
	uint64_t x = (rank + 1) * UINT64_C(0x9e3779b97f4a7c15) +
		     (i * 8 + op + 1) * UINT64_C(0xbf58476d1ce4e5b9);

	/* Many bits set for AND, few for OR. */
	x ^= x >> 29;
	if (op == UTOFU_REDUCE_OP_BAND)
		return x | x << 7 | x >> 11;
	if (op == UTOFU_REDUCE_OP_BOR)
		return x & x << 9;
	/* Equal values, so that the location decides. */
	if (op == UTOFU_REDUCE_OP_MAXLOC)
		return i % 2 ? 1000 - rank : x >> 63;
	return x;
}

static uint64_t combine(uint64_t a, uint64_t b, unsigned int op)
{
	switch (op) {
	case UTOFU_REDUCE_OP_BAND:
		return a & b;
	case UTOFU_REDUCE_OP_BOR:
		return a | b;
	case UTOFU_REDUCE_OP_BXOR:
		return a ^ b;
	case UTOFU_REDUCE_OP_MAX:
		return a > b ? a : b;
	default:
		return a + b;
	}
}

static void expected(uint64_t data[], unsigned int count, unsigned int op)
{
	for (unsigned int i = 0; i < count; i++)
		data[i] = input(0, i, op);
	for (unsigned int r = 1; r < world.ranks; r++)
		for (unsigned int i = 0; i < count; i++) {
			uint64_t new = input(r, i, op);
			uint64_t where = input(r, i + 1, op);

			if (op != UTOFU_REDUCE_OP_MAXLOC) {
				data[i] = combine(data[i], new, op);
				continue;
			}
			if (new > data[i] ||
			    (new == data[i] && where < data[i + 1])) {
				data[i] = new;
				data[i + 1] = where;
			}
			i++;
		}
}

static void reduce_once(utofu_vbg_id_t vbg, unsigned int op,
			unsigned int count)
{
	uint64_t data[7], result[7], right[6];

	memset(result, 0xee, sizeof(result));
	for (unsigned int i = 0; i < count; i++)
		data[i] = input(world.rank, i, op);
	CODE(utofu_reduce_uint64(vbg, (enum utofu_reduce_op)op, data, count,
				 0),
	     UTOFU_SUCCESS);
	/* Free for reuse. */
	memset(data, 0xff, sizeof(data));
	CODE(end_uint64(vbg, result), UTOFU_SUCCESS);
	expected(right, count, op);
	CHECK(!memcmp(result, right, count * sizeof(right[0])));
	CHECK(is_all(result + count, sizeof(result[0]), 0xee));
}

static void check_integers(utofu_vbg_id_t vbg, const char *network)
{
	for (unsigned int op = UTOFU_REDUCE_OP_BAND;
	     op <= UTOFU_REDUCE_OP_SUM; op++) {
		unsigned int step = op == UTOFU_REDUCE_OP_MAXLOC ? 2 : 1;

		for (unsigned int count = step; count <= 6; count += step)
			reduce_once(vbg, op, count);
	}
	claim("%s of %u: BAND, BOR, BXOR, MAX, MAXLOC, SUM of 1 to 6",
	      network, world.ranks);
}

/* ---- Sums of floating-point numbers ---- */

/* Numbers whose sum depends on the order, added up as a processor does. */
static double number(unsigned int rank, unsigned int i, unsigned int round)
{
	static const double scale[] = { 1e16, 1.0, -1e16, 1e-7, 3e300, 1e-310 };
	uint64_t x = input(rank, i, round) >> 12;

	if (round % 4 == 3)
		return scale[x % 4] * (double)(x % 1000);
	return ldexp((double)x, (int)(x % 60) - 80) *
	       (rank % 2 ? -1.0 : 1.0) * (round % 4 == 2 ? 1e250 : 1.0);
}

/* All nodes, and all networks, must get the same bits. */
static void sum_once(utofu_vbg_id_t vbg, unsigned int count,
		     unsigned int round, double result[3])
{
	uint64_t all[RANKS_MAX];
	double data[3];

	for (unsigned int i = 0; i < count; i++)
		data[i] = number(world.rank, i, round);
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, data, count, 0),
	     UTOFU_SUCCESS);
	CODE(end_double(vbg, result), UTOFU_SUCCESS);
	for (unsigned int i = 0; i < count; i++) {
		long double sum = 0, size = 0;
		uint64_t bits;

		for (unsigned int r = 0; r < world.ranks; r++) {
			sum += (long double)number(r, i, round);
			size += fabsl((long double)number(r, i, round));
		}
		CHECK(fabsl((long double)result[i] - sum) <=
		      size * 0x1p-50L);
		memcpy(&bits, &result[i], sizeof(bits));
		exchange(bits, all);
		for (unsigned int r = 0; r < world.ranks; r++)
			CHECK(all[r] == bits);
	}
}

#define SUMS 24

static void check_sums(utofu_vbg_id_t vbg, enum network network)
{
	static double before[SUMS][3];
	static bool known;

	for (unsigned int round = 0; round < SUMS; round++) {
		double result[3] = { 0 };

		sum_once(vbg, round % 3 + 1, round, result);
		if (known)
			CHECK(!memcmp(result, before[round], sizeof(result)));
		memcpy(before[round], result, sizeof(result));
	}
	known = true;
	claim("%s of %u: BFPSUM gives the same bits everywhere",
	      network_names[network], world.ranks);
}

/* ---- Disagreement ---- */

static void check_mismatch(utofu_vbg_id_t vbg, const char *network)
{
	uint64_t data[6] = { 1, 2, 3, 4, 5, 6 };
	unsigned int odd = world.ranks / 2;

	meet();
	CODE(utofu_reduce_uint64(vbg,
				 world.rank == odd ? UTOFU_REDUCE_OP_MAX :
						     UTOFU_REDUCE_OP_SUM,
				 data, 2, 0),
	     UTOFU_SUCCESS);
	CODE(end_uint64(vbg, data), UTOFU_ERR_BARRIER_MISMATCH);
	meet();
	CODE(utofu_reduce_uint64(vbg, UTOFU_REDUCE_OP_SUM, data,
				 world.rank == odd ? 3 : 2, 0),
	     UTOFU_SUCCESS);
	CODE(end_uint64(vbg, data), UTOFU_ERR_BARRIER_MISMATCH);
	meet();
	if (world.rank == odd)
		CODE(utofu_reduce_uint64(vbg, UTOFU_REDUCE_OP_SUM, data, 1, 0),
		     UTOFU_SUCCESS);
	else
		CODE(utofu_barrier(vbg, 0), UTOFU_SUCCESS);
	CODE(world.rank == odd ? end_uint64(vbg, data) : end_barrier(vbg),
	     UTOFU_ERR_BARRIER_MISMATCH);
	claim("%s of %u: disagreement is BARRIER_MISMATCH on all nodes",
	      network, world.ranks);
	CODE(utofu_barrier(vbg, 0), UTOFU_SUCCESS);
	CODE(end_barrier(vbg), UTOFU_SUCCESS);
	claim("%s of %u: and the next barrier is good again", network,
	      world.ranks);
}

/* ---- All together ---- */

static void check_network(enum network network)
{
	struct gates gates;
	utofu_vbg_id_t vbg;

	if (!network_make(&gates, network, 0)) {
		claim_skip(network_names[network], "not a power of two");
		return;
	}
	vbg = start_of(&gates);
	check_polls(vbg);
	check_separation(vbg, network_names[network]);
	check_integers(vbg, network_names[network]);
	check_sums(vbg, network);
	check_mismatch(vbg, network_names[network]);
	network_free(&gates);
}

/* Barriers on all TNIs at once; the gates of each are its own. */
static void check_all_tnis(void)
{
	struct gates gates[TNIS_MAX];
	uint64_t data[1], sum;

	for (unsigned int t = 0; t < world.tnis; t++)
		network_make(&gates[t], RING, (utofu_tni_id_t)t);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int t = 0; t < world.tnis; t++) {
			data[0] = world.rank + t * 100 + i;
			CODE(utofu_reduce_uint64(start_of(&gates[t]),
						 UTOFU_REDUCE_OP_SUM, data, 1,
						 0),
			     UTOFU_SUCCESS);
		}
		for (unsigned int t = 0; t < world.tnis; t++) {
			CODE(end_uint64(start_of(&gates[t]), data),
			     UTOFU_SUCCESS);
			sum = 0;
			for (unsigned int r = 0; r < world.ranks; r++)
				sum += r + t * 100 + i;
			CHECK(data[0] == sum);
		}
	}
	for (unsigned int t = 0; t < world.tnis; t++)
		network_free(&gates[t]);
	claim("reductions on all TNIs at once");
}

/*
 * With a process its gates are gone, and a barrier never ends; where that is a
 * node, or with it, the others are told.
 */
static void check_death(bool node)
{
	const char *name = "a node that is gone: BARRIER_OTHER on all others";
	struct gates gates;

	if (world.ranks < 3) {
		claim_skip(name, "fewer than 3");
		return;
	}
	if (node_remains() && !node) {
		claim_skip(name, "a node outlives its process here");
		return;
	}
	network_make(&gates, RING, 0);
	conform_lose_last(node);
	CODE(utofu_barrier(start_of(&gates), 0), UTOFU_SUCCESS);
	CODE(end_barrier(start_of(&gates)), UTOFU_ERR_BARRIER_OTHER);
	network_free(&gates);
	claim("%s", name);
}

/*
 * usage: barrier [lost]; with it, somebody else ends the last node.
 */
int main(int argc, char **argv)
{
	bool node = argc > 1 && !strcmp(argv[1], "lost");

	conform_begin();
	if (world.ranks == 1) {
		claim_skip("networks", "one node");
		return conform_end();
	}
	for (int network = 0; network < NETWORKS && !node; network++)
		check_network((enum network)network);
	if (!node)
		check_all_tnis();
	check_death(node);
	return conform_end();
}
