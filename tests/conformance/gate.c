// SPDX-License-Identifier: MIT
/* Barrier gates: how many, what their IDs hold, how they are linked and freed. */
#include <math.h>
#include <string.h>

#include "network.h"

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
	/* A barrier begun at the old gates is not taken for one at these. */
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
}

static utofu_vbg_id_t composed(const uint8_t at[6], utofu_tni_id_t tni,
			       utofu_bg_id_t bg)
{
	return (utofu_vbg_id_t)bg | (utofu_vbg_id_t)at[0] << 32 |
	       (utofu_vbg_id_t)at[1] << 40 | (utofu_vbg_id_t)at[2] << 48 |
	       (utofu_vbg_id_t)at[3] << 56 | (utofu_vbg_id_t)at[4] << 57 |
	       (utofu_vbg_id_t)at[5] << 59 | (utofu_vbg_id_t)tni << 61;
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
	/* Bit by bit, as programs compose the IDs of others' gates. */
	for (int i = 0; i < 4; i++)
		CHECK(ids[i] == composed(world.coords[world.rank], 1, bg[i]));
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

/* Neighbours of a good ID, bit by bit: some are of gates that nobody has. */
static void check_gate_numbers(void)
{
	unsigned int beyond = 0;
	utofu_vbg_id_t vbg;

	CODE(utofu_alloc_vbg(0, 1, 0, &vbg), UTOFU_SUCCESS);
	for (int i = 0; i < 64; i++)
		for (int k = 0; k < i; k++) {
			uint64_t flipped = UINT64_C(1) << i | UINT64_C(1) << k;
			uint8_t coords[6];
			utofu_tni_id_t tni;
			utofu_bg_id_t bg = 0;
			uint16_t extra;
			int code = utofu_query_vbg_info(vbg ^ flipped, coords,
							&tni, &bg, &extra);

			beyond += code == UTOFU_ERR_INVALID_BG_ID;
			CHECK(code == UTOFU_ERR_INVALID_BG_ID ||
			      code == UTOFU_ERR_INVALID_VBG_ID ||
			      (code == UTOFU_SUCCESS && bg < 48 &&
			       tni < TNIS_MAX));
		}
	CHECK(beyond > 0);
	CODE(utofu_free_vbg(&vbg, 1), UTOFU_SUCCESS);
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

	CODE(utofu_alloc_vbg(0, 2, 0, ids), UTOFU_SUCCESS);
	good.vbg_id = ids[0];
	CODE(utofu_set_vbg(NULL, 1), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_set_vbg(&good, 0), UTOFU_ERR_INVALID_NUMBER);
	wrong = good;
	wrong.vbg_id = UTOFU_VBG_ID_NULL;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_ERR_INVALID_VBG_ID);
	wrong = good;
	wrong.dst_rmt_vbg_id = ids[1] | UINT64_C(1) << 60;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_ERR_INVALID_VBG_ID);
	wrong = good;
	/* Not linked yet. */
	CODE(utofu_barrier(ids[0], 0), UTOFU_ERR_INVALID_VBG_ID);
	wrong.dst_rmt_vbg_id = ids[1];
	wrong.dst_path_coords[1] = 7;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_SUCCESS);
	wrong.dst_path_coords[0] = 0;
	CODE(utofu_set_vbg(&wrong, 1), UTOFU_ERR_INVALID_PATH);
	claim("UTOFU_PATH_COORD_NULL first is the default path of a gate");
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

int main(void)
{
	struct gates gates;

	conform_begin();
	check_alloc_arguments();
	IN_TURN
		check_numbers();
	claim("gates are allocated until FULL; FULL allocates nothing");
	check_info();
	IN_TURN
		check_gate_numbers();
	claim("a gate that no TNI has: INVALID_BG_ID");
	check_alone();
	check_set_arguments();
	if (world.ranks == 1) {
		claim_skip("networks", "one node");
		return conform_end();
	}
	network_make(&gates, RING, 0);
	check_start_arguments(start_of(&gates), gates.id[world.rank][1]);
	network_free(&gates);
	for (int network = 0; network < NETWORKS; network++)
		check_freed_while_armed((enum network)network);
	return conform_end();
}
