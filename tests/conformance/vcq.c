// SPDX-License-Identifier: MIT
/* VCQs and their IDs: how many, in which queues, and what an ID holds. */
#include <string.h>

#include "conform.h"

#define CMP_IDS 8
#define VCQS 7
#define CQS_MAX 16

static utofu_vcq_id_t id_of(utofu_vcq_hdl_t vcq)
{
	utofu_vcq_id_t id = 0;

	CODE(utofu_query_vcq_id(vcq, &id), UTOFU_SUCCESS);
	return id;
}

/* The queue of a VCQ of this process, after a look at the rest of its ID. */
static utofu_cq_id_t cq_of(utofu_vcq_id_t id, utofu_tni_id_t tni,
			   uint16_t *extra)
{
	uint8_t coords[8];
	utofu_tni_id_t seen = UINT16_MAX;
	utofu_cq_id_t cq = UINT16_MAX;

	memset(coords, 0xee, sizeof(coords));
	CODE(utofu_query_vcq_info(id, coords, &seen, &cq, extra),
	     UTOFU_SUCCESS);
	CHECK(!memcmp(coords, world.coords[world.rank], 6));
	CHECK(coords[6] == 0xee);
	CHECK(seen == tni);
	return cq;
}

/* The control VCQs have the last TNI's first queues. */
static utofu_cq_id_t first_cq(utofu_tni_id_t tni)
{
	return (utofu_cq_id_t)(tni == world.tnis - 1 ? world.ppn : 0);
}

static void check_component_ids(utofu_tni_id_t tni)
{
	utofu_vcq_hdl_t vcq[CMP_IDS] = { 0 }, other;
	utofu_vcq_id_t id[CMP_IDS], made;
	uint16_t extra;

	for (utofu_cmp_id_t cmp = 0; cmp < CMP_IDS; cmp++) {
		CODE(utofu_create_vcq_with_cmp_id(tni, cmp, 0, &vcq[cmp]),
		     UTOFU_SUCCESS);
		id[cmp] = id_of(vcq[cmp]);
		CHECK(cq_of(id[cmp], tni, &extra) == first_cq(tni));
		CHECK(extra == cmp);
		CODE(utofu_construct_vcq_id(world.coords[world.rank], tni,
					    first_cq(tni), cmp, &made),
		     UTOFU_SUCCESS);
		CHECK(made == id[cmp]);
		CODE(utofu_create_vcq_with_cmp_id(tni, cmp, 0, &other),
		     UTOFU_ERR_USED);
	}
	CODE(utofu_create_vcq_with_cmp_id(tni, CMP_IDS, 0, &other),
	     UTOFU_ERR_INVALID_CMP_ID);
	CODE(utofu_create_vcq_with_cmp_id(tni, UINT16_MAX, 0, &other),
	     UTOFU_ERR_INVALID_CMP_ID);
	for (int cmp = 0; cmp < CMP_IDS; cmp++)
		CODE(utofu_free_vcq(vcq[cmp]), UTOFU_SUCCESS);
	CODE(utofu_create_vcq_with_cmp_id(tni, 3, 0, &other), UTOFU_SUCCESS);
	CHECK(id_of(other) == id[3]);
	CODE(utofu_free_vcq(other), UTOFU_SUCCESS);
}

static void check_construction(void)
{
	utofu_vcq_hdl_t vcq = 0;
	utofu_vcq_id_t made;
	uint64_t all[RANKS_MAX];
	uint16_t extra;

	IN_TURN
		CODE(utofu_create_vcq_with_cmp_id(0, 5, 0, &vcq),
		     UTOFU_SUCCESS);
	CHECK(cq_of(id_of(vcq), 0, &extra) == world.own);
	exchange(id_of(vcq), all);
	for (unsigned int r = 0; r < world.ranks; r++) {
		CODE(utofu_construct_vcq_id(world.coords[r], 0,
					    (utofu_cq_id_t)(r % world.ppn), 5,
					    &made),
		     UTOFU_SUCCESS);
		CHECK(made == all[r]);
		for (unsigned int i = 0; i < r; i++)
			CHECK(all[i] != all[r]);
	}
	CODE(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	claim("a constructed VCQ ID is the one that the other process has");
}

static void check_sharing(utofu_tni_id_t tni)
{
	utofu_vcq_hdl_t vcq[VCQS] = { 0 };
	utofu_vcq_id_t id[VCQS];
	uint16_t extra;

	for (int i = 0; i < VCQS; i++) {
		CODE(utofu_create_vcq(tni, 0, &vcq[i]), UTOFU_SUCCESS);
		id[i] = id_of(vcq[i]);
		CHECK(cq_of(id[i], tni, &extra) == first_cq(tni));
		for (int k = 0; k < i; k++)
			CHECK(id[i] != id[k] && vcq[i] != vcq[k]);
	}
	for (int i = 0; i < VCQS; i++)
		CODE(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
}

/* Queues of its own until there are no more, and again when they are free. */
static void check_exclusive(utofu_tni_id_t tni, unsigned long flags)
{
	utofu_vcq_hdl_t vcq[CQS_MAX], shared = 0;
	uint32_t seen = 0;
	uint16_t extra;
	int count = 0, code = UTOFU_SUCCESS;

	CODE(utofu_create_vcq(tni, 0, &shared), UTOFU_SUCCESS);
	seen |= 1u << cq_of(id_of(shared), tni, &extra);
	while (count < CQS_MAX) {
		utofu_cq_id_t cq;

		code = utofu_create_vcq(tni, flags, &vcq[count]);
		if (code != UTOFU_SUCCESS)
			break;
		cq = cq_of(id_of(vcq[count++]), tni, &extra);
		CHECK(cq < 12 && !(seen & 1u << cq));
		seen |= 1u << cq;
	}
	CODE(code, UTOFU_ERR_FULL);
	CHECK(count >= 8);
	CODE(utofu_free_vcq(vcq[0]), UTOFU_SUCCESS);
	CODE(utofu_create_vcq(tni, flags, &vcq[0]), UTOFU_SUCCESS);
	for (int i = 0; i < count; i++)
		CODE(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
	CODE(utofu_free_vcq(shared), UTOFU_SUCCESS);
}

static void check_queues(void)
{
	IN_TURN
		for (unsigned int tni = 0; tni < world.tnis; tni++)
			check_component_ids((utofu_tni_id_t)tni);
	claim("component IDs 0 to 7, each once, in queue 0 of every TNI");
	check_construction();
	IN_TURN
		for (unsigned int tni = 0; tni < world.tnis; tni++)
			check_sharing((utofu_tni_id_t)tni);
	claim("7 VCQs on every TNI share queue 0");
	IN_TURN
		check_exclusive(0, UTOFU_VCQ_FLAG_EXCLUSIVE);
	claim("EXCLUSIVE VCQs have queues of their own, until FULL");
	IN_TURN
		check_exclusive(0, UTOFU_VCQ_FLAG_SESSION_MODE);
	claim("SESSION_MODE VCQs have queues of their own, until FULL");
	for (unsigned long flags = 0; flags < 8; flags++) {
		utofu_vcq_hdl_t vcq;

		if (CODE(utofu_create_vcq(0, flags, &vcq), UTOFU_SUCCESS))
			CODE(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	}
	claim("all flags of VCQs, together and alone");
}

static void check_creation(void)
{
	utofu_tni_id_t none = (utofu_tni_id_t)world.tnis;
	utofu_vcq_hdl_t vcq;

	CODE(utofu_create_vcq(none, 0, &vcq), UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_create_vcq(UINT16_MAX, 0, &vcq), UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_create_vcq_with_cmp_id(none, 0, 0, &vcq),
	     UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_create_vcq(0, 8, &vcq), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_create_vcq_with_cmp_id(0, 0, 1UL << 63, &vcq),
	     UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_create_vcq(0, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_create_vcq_with_cmp_id(0, 0, 0, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	claim("bad arguments of the creation of a VCQ");
}

static void check_construction_codes(void)
{
	uint8_t *own = world.coords[world.rank];
	uint8_t outside[6];
	utofu_vcq_id_t id;

	for (int axis = 0; axis < 6; axis++) {
		memcpy(outside, own, sizeof(outside));
		outside[axis] = 255;
		CODE(utofu_construct_vcq_id(outside, 0, 0, 0, &id),
		     UTOFU_ERR_INVALID_COORDS);
	}
	CODE(utofu_construct_vcq_id(own, (utofu_tni_id_t)world.tnis, 0, 0, &id),
	     UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_construct_vcq_id(own, 0, 12, 0, &id),
	     UTOFU_ERR_INVALID_CQ_ID);
	CODE(utofu_construct_vcq_id(own, 0, UINT16_MAX, 0, &id),
	     UTOFU_ERR_INVALID_CQ_ID);
	CODE(utofu_construct_vcq_id(own, 0, 0, CMP_IDS, &id),
	     UTOFU_ERR_INVALID_CMP_ID);
	CODE(utofu_construct_vcq_id(own, 0, 0, 0, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_construct_vcq_id(NULL, 0, 0, 0, &id),
	     UTOFU_ERR_INVALID_POINTER);
	claim("bad arguments of the construction of a VCQ ID");
}

static void check_info_codes(void)
{
	uint8_t coords[6];
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint16_t extra;
	utofu_vcq_id_t id;

	utofu_construct_vcq_id(world.coords[0], 0, 0, 0, &id);
	CODE(utofu_query_vcq_info(id, NULL, &tni, &cq, &extra),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vcq_info(id, coords, NULL, &cq, &extra),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vcq_info(id, coords, &tni, NULL, &extra),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vcq_info(id, coords, &tni, &cq, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_vcq_info(UINT64_MAX, coords, &tni, &cq, &extra),
	     UTOFU_ERR_INVALID_VCQ_ID);
	claim("bad arguments of the query of a VCQ ID");
}

/* Every function that takes a handle refuses one that was freed, and none. */
static void check_dead_handle(utofu_vcq_hdl_t vcq)
{
	uint8_t memory[64], desc[64];
	struct utofu_mrq_notice notice;
	utofu_stadd_t stadd = 0;
	utofu_vcq_id_t id;
	size_t count = 0;
	void *cbdata;

	utofu_construct_vcq_id(world.coords[0], 0, 0, 0, &id);
#define DEAD(call) CODE(call, UTOFU_ERR_INVALID_VCQ_HDL)
	DEAD(utofu_free_vcq(vcq));
	DEAD(utofu_query_vcq_id(vcq, &id));
	DEAD(utofu_reg_mem(vcq, memory, 64, 0, &stadd));
	DEAD(utofu_reg_mem_with_stag(vcq, memory, 64, 0, 0, &stadd));
	DEAD(utofu_dereg_mem(vcq, stadd, 0));
	DEAD(utofu_put(vcq, id, stadd, stadd, 8, 0, 0, NULL));
	DEAD(utofu_get(vcq, id, stadd, stadd, 8, 0, 0, NULL));
	DEAD(utofu_put_gap(vcq, id, stadd, stadd, 8, 0, 0, 0, 0, NULL));
	DEAD(utofu_get_gap(vcq, id, stadd, stadd, 8, 0, 0, 0, 0, NULL));
	DEAD(utofu_put_stride(vcq, id, stadd, stadd, 8, 8, 1, 0, 0, NULL));
	DEAD(utofu_get_stride(vcq, id, stadd, stadd, 8, 8, 1, 0, 0, NULL));
	DEAD(utofu_put_stride_gap(vcq, id, stadd, stadd, 8, 8, 1, 0, 0, 0, 0,
				  NULL));
	DEAD(utofu_get_stride_gap(vcq, id, stadd, stadd, 8, 8, 1, 0, 0, 0, 0,
				  NULL));
	DEAD(utofu_put_piggyback(vcq, id, memory, stadd, 8, 0, 0, NULL));
	DEAD(utofu_put_piggyback8(vcq, id, 0, stadd, 8, 0, 0, NULL));
	DEAD(utofu_armw4(vcq, id, UTOFU_ARMW_OP_ADD, 0, stadd, 0, 0, NULL));
	DEAD(utofu_armw8(vcq, id, UTOFU_ARMW_OP_ADD, 0, stadd, 0, 0, NULL));
	DEAD(utofu_cswap4(vcq, id, 0, 0, stadd, 0, 0, NULL));
	DEAD(utofu_cswap8(vcq, id, 0, 0, stadd, 0, 0, NULL));
	DEAD(utofu_nop(vcq, 0, NULL));
	DEAD(utofu_prepare_put(vcq, id, stadd, stadd, 8, 0, 0, desc, &count));
	DEAD(utofu_prepare_get(vcq, id, stadd, stadd, 8, 0, 0, desc, &count));
	DEAD(utofu_prepare_nop(vcq, 0, desc, &count));
	DEAD(utofu_post_toq(vcq, desc, 32, NULL));
	DEAD(utofu_poll_tcq(vcq, 0, &cbdata));
	DEAD(utofu_poll_mrq(vcq, 0, &notice));
	DEAD(utofu_query_num_unread_tcq(vcq, &count));
	DEAD(utofu_query_num_unread_mrq(vcq, &count));
#undef DEAD
}

static void check_handles(void)
{
	utofu_vcq_hdl_t vcq = 0;

	check_dead_handle(0);
	claim("0 is no handle: INVALID_VCQ_HDL");
	CODE(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	CODE(utofu_query_vcq_id(vcq, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	check_dead_handle(vcq);
	claim("a handle that was freed: INVALID_VCQ_HDL");
}

/* VCQs of one queue get their own notices, however they are polled. */
static void check_own_notices(void)
{
	struct port port[VCQS];

	for (unsigned int i = 0; i < VCQS; i++)
		port_open(&port[i], 0, 0, 4096);
	meet();
	for (unsigned int i = 0; i < VCQS; i++)
		for (unsigned int k = 0; k <= i; k++)
			CODE(utofu_put_piggyback8(
				     port[i].vcq, port[i].id[world.next],
				     i + 1, port[i].stadd[world.next] + 8 * k,
				     8, i, TCQ | LCL | RMT, &port[i]),
			     UTOFU_SUCCESS);
	for (unsigned int i = VCQS; i-- > 0;) {
		struct utofu_mrq_notice notice;
		void *cbdata;

		for (unsigned int k = 0; k < 2 * (i + 1); k++) {
			CODE(next_notice(&port[i], &notice), UTOFU_SUCCESS);
			CHECK(notice.edata == i);
		}
		for (unsigned int k = 0; k < i + 1; k++) {
			CODE(next_report(&port[i], &cbdata), UTOFU_SUCCESS);
			CHECK(cbdata == &port[i]);
		}
	}
	meet();
	for (unsigned int i = 0; i < VCQS; i++) {
		check_quiet(&port[i]);
		CHECK(port[i].area[8 * i] == i + 1);
	}
	claim("each of 7 VCQs of a queue gets its own reports and notices");
	for (unsigned int i = 0; i < VCQS; i++)
		port_close(&port[i]);
}

int main(void)
{
	conform_begin();
	check_queues();
	check_own_notices();
	check_creation();
	check_construction_codes();
	check_info_codes();
	check_handles();
	return conform_end();
}
