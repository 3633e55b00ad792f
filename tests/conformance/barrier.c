// SPDX-License-Identifier: MIT
/*
 * Barriers and reductions over networks of gates: butterfly, ring and tree, of
 * as many nodes as there are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define GATES_MAX 6
#define ROUNDS 40

/**
 * struct gates - the gates of all nodes, and how the own ones are linked
 * @count: of a node; the first is the start and end gate
 * @id:    by node
 * @link:  of the own gates
 */
struct gates {
	unsigned int count;
	utofu_vbg_id_t id[RANKS_MAX][GATES_MAX];
	struct utofu_vbg_setting link[GATES_MAX];
};

enum network { BUTTERFLY, RING, TREE, NETWORKS };

static const char *const network_names[] = { "butterfly", "ring", "tree" };

/* ---- Networks ---- */

static void gates_alloc(struct gates *gates, utofu_tni_id_t tni,
			unsigned int count)
{
	utofu_vbg_id_t own[GATES_MAX] = { 0 };

	gates->count = count;
	CODE(utofu_alloc_vbg(tni, count, 0, own), UTOFU_SUCCESS);
	for (unsigned int g = 0; g < GATES_MAX; g++) {
		uint64_t all[RANKS_MAX];

		exchange(own[g], all);
		for (unsigned int r = 0; r < world.ranks; r++)
			gates->id[r][g] = all[r];
	}
	for (unsigned int g = 0; g < count; g++) {
		struct utofu_vbg_setting none = {
			.vbg_id = own[g],
			.src_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.src_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_path_coords = { UTOFU_PATH_COORD_NULL,
					     UTOFU_PATH_COORD_NULL,
					     UTOFU_PATH_COORD_NULL, },
		};

		gates->link[g] = none;
	}
}

/* A signal from one own gate to another. */
static void link_local(struct gates *gates, unsigned int from, unsigned int to)
{
	gates->link[from].dst_lcl_vbg_id = gates->id[world.rank][to];
	gates->link[to].src_lcl_vbg_id = gates->id[world.rank][from];
}

static void link_to(struct gates *gates, unsigned int from, unsigned int rank,
		    unsigned int to)
{
	gates->link[from].dst_rmt_vbg_id = gates->id[rank][to];
}

static void link_from(struct gates *gates, unsigned int rank,
		      unsigned int from, unsigned int to)
{
	gates->link[to].src_rmt_vbg_id = gates->id[rank][from];
}

static unsigned int log2_of(unsigned int n)
{
	unsigned int steps = 0;

	while (1u << steps < n)
		steps++;
	return steps;
}

/* Step i meets the node whose number differs in bit i. */
static void butterfly(struct gates *gates)
{
	unsigned int steps = log2_of(world.ranks);

	for (unsigned int i = 0; i < steps; i++) {
		unsigned int partner = world.rank ^ 1u << i;

		link_local(gates, i, i + 1);
		link_to(gates, i, partner, i + 1);
		link_from(gates, partner, i, i + 1);
	}
	link_local(gates, steps, 0);
}

/* Once round to collect, by gates 1, and once more to tell, by gates 2. */
static void ring(struct gates *gates)
{
	unsigned int r = world.rank, last = world.ranks - 1;

	if (r > 0) {
		link_local(gates, 0, 1);
		link_from(gates, r - 1, r == 1 ? 0 : 1, 1);
	}
	if (r < last)
		link_to(gates, r == 0 ? 0 : 1, r + 1, 1);
	else
		link_to(gates, 1, 0, 2);
	if (r == last) {
		link_local(gates, 1, 0);
		return;
	}
	link_from(gates, r == 0 ? last : r - 1, r == 0 ? 1 : 2, 2);
	if (r + 1 < last)
		link_to(gates, 2, r + 1, 2);
	link_local(gates, 2, 0);
}

static unsigned int children(unsigned int r)
{
	return (2 * r + 1 < world.ranks) + (2 * r + 2 < world.ranks);
}

/*
 * A tree of two children a node: gates 1 and 2 collect from a child each, gates
 * 3 and 4 tell a child each. A leaf's end gate hears from its parent itself.
 */
static void tree(struct gates *gates)
{
	unsigned int r = world.rank, n = children(r);
	unsigned int parent = (r - 1) / 2, side = (r - 1) % 2;

	for (unsigned int c = 0; c < n; c++) {
		unsigned int child = 2 * r + 1 + c;

		link_local(gates, c, c + 1);
		link_from(gates, child, children(child), c + 1);
		link_to(gates, 3 + c, child, children(child) ? 3 : 0);
		link_local(gates, 3 + c, c + 1 < n ? 4 + c : 0);
	}
	if (r == 0) {
		link_local(gates, n, 3);
		return;
	}
	link_to(gates, n, parent, 1 + side);
	link_from(gates, parent, 3 + side, n ? 3 : 0);
}

static bool network_make(struct gates *gates, enum network network,
			 utofu_tni_id_t tni)
{
	if (network == BUTTERFLY && (world.ranks & (world.ranks - 1)))
		return false;
	gates_alloc(gates, tni, network == BUTTERFLY ?
					log2_of(world.ranks) + 1 :
				network == RING ? 3 :
						  5);
	if (network == BUTTERFLY)
		butterfly(gates);
	else if (network == RING)
		ring(gates);
	else
		tree(gates);
	CODE(utofu_set_vbg(gates->link, gates->count), UTOFU_SUCCESS);
	meet();
	return true;
}

static void network_free(struct gates *gates)
{
	meet();
	CODE(utofu_free_vbg(gates->id[world.rank], gates->count),
	     UTOFU_SUCCESS);
	meet();
}

static utofu_vbg_id_t start_of(const struct gates *gates)
{
	return gates->id[world.rank][0];
}

/* ---- Waiting for the end ---- */

static int end_barrier(utofu_vbg_id_t vbg)
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_barrier(vbg, 0);
	} while (code == UTOFU_ERR_NOT_COMPLETED && patient(&patience));
	return code;
}

static int end_uint64(utofu_vbg_id_t vbg, uint64_t data[])
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_reduce_uint64(vbg, 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && patient(&patience));
	return code;
}

static int end_double(utofu_vbg_id_t vbg, double data[])
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_reduce_double(vbg, 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && patient(&patience));
	return code;
}

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

/* ---- Gates ---- */

/* A network whose nodes have all but one begun is freed, and made again. */
static void check_freed_while_armed(enum network network)
{
	struct gates gates;

	if (!network_make(&gates, network, 0))
		return;
	if (world.rank > 0) {
		CODE(utofu_barrier(start_of(&gates), 0), UTOFU_SUCCESS);
		CODE(utofu_poll_barrier(start_of(&gates), 0),
		     UTOFU_ERR_NOT_COMPLETED);
		CODE(utofu_set_vbg(gates.link, gates.count), UTOFU_ERR_BUSY);
	}
	network_free(&gates);
	CODE(utofu_poll_barrier(start_of(&gates), 0),
	     UTOFU_ERR_INVALID_VBG_ID);
	network_make(&gates, network, 0);
	/* What was begun with the old gates is not taken for these. */
	if (world.rank == 0) {
		CODE(utofu_barrier(start_of(&gates), 0), UTOFU_SUCCESS);
		rest(5);
		CODE(utofu_poll_barrier(start_of(&gates), 0),
		     UTOFU_ERR_NOT_COMPLETED);
	}
	meet();
	if (world.rank > 0)
		CODE(utofu_barrier(start_of(&gates), 0), UTOFU_SUCCESS);
	CODE(end_barrier(start_of(&gates)), UTOFU_SUCCESS);
	network_free(&gates);
	claim("%s of %u: gates freed while armed, and allocated again",
	      network_names[network], world.ranks);
}

static void check_numbers(void)
{
	utofu_vbg_id_t ids[64], seen[64];
	size_t most = 0;
	int code = UTOFU_SUCCESS;

	/* One by one until there are no more. */
	while (most < 64) {
		code = utofu_alloc_vbg(0, 1, 0, &ids[most]);
		if (code != UTOFU_SUCCESS)
			break;
		most++;
	}
	CODE(code, UTOFU_ERR_FULL);
	CHECK(most > 0 && most <= 48);
	for (size_t i = 0; i < most; i++)
		CODE(utofu_free_vbg(&ids[i], 1), UTOFU_SUCCESS);
	claim("gates are allocated until FULL");

	/* As many as there are, in one piece; FULL allocates nothing. */
	for (most = 48; most > 1; most--) {
		code = utofu_alloc_vbg(0, most, 0, ids);
		if (code != UTOFU_ERR_FULL)
			break;
	}
	CODE(code, UTOFU_SUCCESS);
	CHECK(most > 6);
	CODE(utofu_free_vbg(ids, most), UTOFU_SUCCESS);
	CODE(utofu_alloc_vbg(0, 1, 0, ids), UTOFU_SUCCESS);
	memset(seen, 0xee, sizeof(seen));
	CODE(utofu_alloc_vbg(0, most, 0, seen), UTOFU_ERR_FULL);
	CHECK(is_all(seen, sizeof(seen), 0xee));
	CODE(utofu_alloc_vbg(0, most - 1, 0, ids + 1), UTOFU_SUCCESS);
	CODE(utofu_free_vbg(ids + 1, most - 1), UTOFU_SUCCESS);
	CODE(utofu_free_vbg(ids, 1), UTOFU_SUCCESS);
	claim("FULL allocates nothing");
}

static void check_info(void)
{
	utofu_vbg_id_t ids[4];
	utofu_bg_id_t bg[4] = { 0 };
	uint8_t coords[8];
	utofu_tni_id_t tni;
	uint16_t extra;

	CODE(utofu_alloc_vbg(1, 4, UTOFU_VBG_FLAG_THREAD_SAFE, ids),
	     UTOFU_SUCCESS);
	memset(coords, 0xee, sizeof(coords));
	for (int i = 0; i < 4; i++) {
		CODE(utofu_query_vbg_info(ids[i], coords, &tni, &bg[i],
					  &extra),
		     UTOFU_SUCCESS);
		CHECK(!memcmp(coords, world.coords[world.rank], 6));
		CHECK(coords[6] == 0xee);
		CHECK(tni == 1);
		CHECK(bg[i] < 48);
		for (int k = 0; k < i; k++)
			CHECK(bg[i] != bg[k] && ids[i] != ids[k]);
	}
	CODE(utofu_query_vbg_info(UTOFU_VBG_ID_NULL, coords, &tni, bg, &extra),
	     UTOFU_ERR_INVALID_VBG_ID);
	CODE(utofu_query_vbg_info(ids[0], NULL, &tni, bg, &extra),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vbg_info(ids[0], coords, NULL, bg, &extra),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vbg_info(ids[0], coords, &tni, NULL, &extra),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vbg_info(ids[0], coords, &tni, bg, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_free_vbg(ids, 3), UTOFU_ERR_INVALID_NUMBER);
	CODE(utofu_free_vbg(ids, 4), UTOFU_SUCCESS);
	CODE(utofu_free_vbg(ids, 4), UTOFU_ERR_INVALID_VBG_ID);
	claim("what a VBG ID holds");
}

/* A barrier of one node: its start gate, a relay, and back. */
static void check_alone(void)
{
	uint64_t data[6] = { 1, 2, 3, 4, 5, 6 };
	utofu_vbg_id_t ids[2];
	struct utofu_vbg_setting link[2];

	CODE(utofu_alloc_vbg(0, 2, 0, ids), UTOFU_SUCCESS);
	for (int i = 0; i < 2; i++) {
		struct utofu_vbg_setting one = {
			.vbg_id = ids[i],
			.src_lcl_vbg_id = ids[1 - i],
			.src_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_lcl_vbg_id = ids[1 - i],
			.dst_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_path_coords = { 255, 255, 255, },
		};

		link[i] = one;
	}
	CODE(utofu_set_vbg(link, 2), UTOFU_SUCCESS);
	CODE(utofu_barrier(ids[0], 0), UTOFU_SUCCESS);
	CODE(end_barrier(ids[0]), UTOFU_SUCCESS);
	CODE(utofu_reduce_uint64(ids[0], UTOFU_REDUCE_OP_SUM, data, 6, 0),
	     UTOFU_SUCCESS);
	memset(data, 0, sizeof(data));
	CODE(end_uint64(ids[0], data), UTOFU_SUCCESS);
	for (uint64_t i = 0; i < 6; i++)
		CHECK(data[i] == i + 1);
	CODE(utofu_free_vbg(ids, 2), UTOFU_SUCCESS);
	claim("a barrier of a start gate and a relay of one node");
}

static void check_set_arguments(void)
{
	struct utofu_vbg_setting wrong, good = {
		.src_lcl_vbg_id = UTOFU_VBG_ID_NULL,
		.src_rmt_vbg_id = UTOFU_VBG_ID_NULL,
		.dst_lcl_vbg_id = UTOFU_VBG_ID_NULL,
		.dst_rmt_vbg_id = UTOFU_VBG_ID_NULL,
		.dst_path_coords = { 255, 255, 255, },
	};
	utofu_vbg_id_t ids[2];
	utofu_vcq_id_t vcq_id;

	CODE(utofu_alloc_vbg(0, 2, 0, ids), UTOFU_SUCCESS);
	good.vbg_id = ids[0];
	CODE(utofu_set_vbg(NULL, 1), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_set_vbg(&good, 0), UTOFU_ERR_INVALID_NUMBER);
	wrong = good;
	wrong.vbg_id = UTOFU_VBG_ID_NULL;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_ERR_INVALID_VBG_ID);
	wrong = good;
	utofu_construct_vcq_id(world.coords[0], 0, 0, 0, &vcq_id);
	wrong.dst_rmt_vbg_id = vcq_id;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_ERR_INVALID_VBG_ID);
	wrong = good;
	wrong.dst_rmt_vbg_id = ids[1];
	wrong.dst_path_coords[1] = 7;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_ERR_INVALID_PATH);
	/* Not linked yet. */
	CODE(utofu_barrier(ids[0], 0), UTOFU_ERR_INVALID_VBG_ID);
	CODE(utofu_free_vbg(ids, 2), UTOFU_SUCCESS);
	claim("bad arguments of set_vbg");
}

static void check_alloc_arguments(void)
{
	utofu_tni_id_t none = (utofu_tni_id_t)world.tnis;
	utofu_vbg_id_t ids[2];

	CODE(utofu_alloc_vbg(none, 1, 0, ids), UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_alloc_vbg(0, 0, 0, ids), UTOFU_ERR_INVALID_NUMBER);
	CODE(utofu_alloc_vbg(0, 1, 2, ids), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_alloc_vbg(0, 1, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_free_vbg(NULL, 1), UTOFU_ERR_INVALID_POINTER);
	claim("bad arguments of alloc_vbg and free_vbg");
}

static void check_start_arguments(utofu_vbg_id_t vbg, utofu_vbg_id_t relay)
{
	uint64_t data[8] = { 0 };
	double values[4] = { 0 };

	CODE(utofu_barrier(UTOFU_VBG_ID_NULL, 0), UTOFU_ERR_INVALID_VBG_ID);
	CODE(utofu_barrier(relay, 0), UTOFU_ERR_INVALID_VBG_ID);
	CODE(utofu_barrier(vbg, 1), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_poll_barrier(relay, 0), UTOFU_ERR_INVALID_VBG_ID);
	CODE(utofu_poll_barrier(vbg, 1), UTOFU_ERR_INVALID_FLAGS);
	claim("bad arguments of a barrier");
#define REDUCE(op, count, code)                                               \
	CODE(utofu_reduce_uint64(vbg, (enum utofu_reduce_op)(op), data, count, \
				 0),                                           \
	     code)
	REDUCE(0, 1, UTOFU_ERR_INVALID_OP);
	REDUCE(9, 1, UTOFU_ERR_INVALID_OP);
	REDUCE(UTOFU_REDUCE_OP_BFPSUM, 1, UTOFU_ERR_NOT_SUPPORTED);
	REDUCE(UTOFU_REDUCE_OP_SUM, 0, UTOFU_ERR_INVALID_NUMBER);
	REDUCE(UTOFU_REDUCE_OP_SUM, 7, UTOFU_ERR_INVALID_NUMBER);
	REDUCE(UTOFU_REDUCE_OP_MAXLOC, 3, UTOFU_ERR_INVALID_NUMBER);
#undef REDUCE
	CODE(utofu_reduce_uint64(vbg, UTOFU_REDUCE_OP_SUM, NULL, 1, 0),
	     UTOFU_ERR_INVALID_POINTER);
	claim("bad arguments of a reduction of integers");
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, values, 4, 0),
	     UTOFU_ERR_INVALID_NUMBER);
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, values, 0, 0),
	     UTOFU_ERR_INVALID_NUMBER);
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_SUM, values, 1, 0),
	     UTOFU_ERR_NOT_SUPPORTED);
	CODE(utofu_reduce_double(vbg, (enum utofu_reduce_op)0, values, 1, 0),
	     UTOFU_ERR_INVALID_OP);
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, NULL, 1, 0),
	     UTOFU_ERR_INVALID_POINTER);
	values[0] = INFINITY;
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, values, 1, 0),
	     UTOFU_ERR_INVALID_DATA);
	values[0] = NAN;
	CODE(utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, values, 1, 0),
	     UTOFU_ERR_INVALID_DATA);
	claim("bad arguments of a sum; NaN and infinity: INVALID_DATA");
	CODE(utofu_poll_barrier(vbg, 0), UTOFU_ERR_NOT_PROCESSED);
	claim("what was refused has not begun");
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
	if (network == RING)
		check_start_arguments(vbg, gates.id[world.rank][1]);
	check_polls(vbg);
	check_separation(vbg, network_names[network]);
	check_integers(vbg, network_names[network]);
	check_sums(vbg, network);
	check_mismatch(vbg, network_names[network]);
	network_free(&gates);
	check_freed_while_armed(network);
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

static void check_death(void)
{
	struct gates gates;

	if (world.ranks < 3) {
		claim_skip("a node that is gone: BARRIER_OTHER", "fewer than 3");
		return;
	}
	network_make(&gates, RING, 0);
	conform_lose_last();
	CODE(utofu_barrier(start_of(&gates), 0), UTOFU_SUCCESS);
	CODE(end_barrier(start_of(&gates)), UTOFU_ERR_BARRIER_OTHER);
	network_free(&gates);
	claim("a node that is gone: BARRIER_OTHER on all others");
}

int main(void)
{
	conform_begin();
	check_alloc_arguments();
	check_numbers();
	check_info();
	check_alone();
	check_set_arguments();
	if (world.ranks == 1) {
		claim_skip("networks", "one node");
		return conform_end();
	}
	for (int network = 0; network < NETWORKS; network++)
		check_network((enum network)network);
	check_all_tnis();
	check_death();
	return conform_end();
}
