// SPDX-License-Identifier: MIT
/*
 * What programs written for uTofu rely on, tested from the interface alone.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "utofu-machine.h"

#include <kselftest_harness.h>

#define PATHS_MAX 13
#define BURST 300	/* transfers that surely fit into a queue */

static const size_t sizes[] = {
	1, 4, 31, 32, 33, 60, 255, 256, 257, 1919, 1920, 1921, 4095, 4096,
	4097, 8192, 20001, 65535, 65536, 65537, 262157, 1048576,
};
#define NUM_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* ---- Capabilities ---- */

TEST_NODES(capabilities_are_those_of_real_machines, 1)
{
	struct utofu_onesided_caps *caps;
	utofu_tni_id_t *tnis;
	size_t count;

	(void)n;
	OK(utofu_get_onesided_tnis(&tnis, &count));
	IS(4, count);
	free(tnis);
	OK(utofu_query_onesided_caps(0, &caps));
	IS(3, caps->flags);
	IS(0x3f, caps->armw_ops);
	IS(8, caps->num_cmp_ids);
	IS(256, caps->num_reserved_stags);
	IS(256, caps->cache_line_size);
	IS(256, caps->stag_address_alignment);
	IS(64, caps->max_toq_desc_size);
	IS(16777215, caps->max_putget_size);
	IS(32, caps->max_piggyback_size);
	IS(1, caps->max_edata_size);
	IS(true, caps->max_mtu == 1920 && caps->max_gap == 255);
}

/* ---- Queues ---- */

enum kind { PUT, GET, ARMW, KINDS };

static int post_kind(struct node *n, enum kind kind, uintptr_t cbdata)
{
	utofu_vcq_id_t id = n->m->id[1];
	utofu_stadd_t own = n->m->out[n->me];

	if (kind == PUT)
		return utofu_put(n->vcq, id, own, n->m->in[1], 8, 0, TCQ,
				 (void *)cbdata);
	if (kind == GET)
		return utofu_get(n->vcq, id, own, n->m->in[1], 8, 0, TCQ,
				 (void *)cbdata);
	return utofu_armw8(n->vcq, id, UTOFU_ARMW_OP_ADD, 1, n->m->words[1], 0,
			   TCQ, (void *)cbdata);
}

/* Takes what reports there are; cbdata counts up from *@seen. */
static void drain(struct node *n, uintptr_t *seen)
{
	void *cbdata;
	int rc;

	while (!(rc = utofu_poll_tcq(n->vcq, 0, &cbdata)))
		IS(++*seen, (uintptr_t)cbdata);
	IS(UTOFU_ERR_NOT_FOUND, rc);
}

static void overrun(struct node *n, enum kind kind)
{
	uintptr_t posted = 0, seen = 0;
	int rc;

	while (!(rc = post_kind(n, kind, posted + 1)) && posted < 1 << 20)
		posted++;
	IS(UTOFU_ERR_BUSY, rc);
	for (int i = 0; i < 5000; i++, posted++)
		WAIT_WHILE((rc = post_kind(n, kind, posted + 1)) ==
			   UTOFU_ERR_BUSY && (drain(n, &seen), true));
	OK(rc);
	WAIT_WHILE(seen < posted && (drain(n, &seen), true));
	expect_empty(n);
	if (kind == ARMW)
		IS(posted, peek(n, 1, 0));
}

TEST_NODES(full_queue_is_busy_until_reports_are_taken, 2)
{
	if (n->me)
		return;
	for (enum kind kind = PUT; kind < KINDS; kind++)
		overrun(n, kind);
}

TEST_NODES(reports_bring_cbdata_in_order_and_none_without_notice, 2)
{
	size_t count;

	if (n->me)
		return;
	expect_empty(n);
	for (uintptr_t i = 0; i < 300; i++) {
		put(n, 1, 0, sizes[i % NUM_SIZES], 0, 0);
		OK(post_kind(n, i % KINDS, 1000 + i));
		OK(utofu_nop(n->vcq, 0, (void *)7));
	}
	for (uintptr_t i = 0; i < 300; i++)
		expect_report(n, 1000 + i);
	OK(utofu_query_num_unread_tcq(n->vcq, &count));
	IS(0, count);
	expect_empty(n);
}

TEST_NODES(source_may_change_after_the_report, 2)
{
	for (size_t i = 0; i < NUM_SIZES; i++) {
		if (n->me) {
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, i);
			IS(sizes[i], mismatch(in, sizes[i], i));
		} else {
			fill(0, sizes[i], i);
			put(n, 1, 0, sizes[i], i, TCQ | RMT);
			expect_report(n, 0);
			memset(out, MARK, sizes[i]);
		}
		meet(n);
	}
}

/* ---- Order ---- */

TEST_NODES(payload_is_there_before_its_notice, 2)
{
	for (unsigned int i = 0; i < 4 * NUM_SIZES; i++) {
		size_t length = sizes[i % NUM_SIZES], at = i / NUM_SIZES * 61;

		if (n->me) {
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, i);
			IS(length, mismatch(in + at, length, i));
			put_word(n, 0, 0, 0, i, RMT);
		} else {
			fill(at, length, i);
			put(n, 1, at, length, i, RMT);
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 1, i);
		}
	}
}

/* Node 1 answers as soon as a notice, or the last byte, tells of the put. */
static void answer_puts(struct node *n, bool by_notice)
{
	for (unsigned int i = 0; i < 10 * NUM_SIZES; i++) {
		size_t length = sizes[i % NUM_SIZES];
		uint8_t *last = &in[length - 1];

		if (!n->me) {
			memset(out, i % 255 + 1, length);
			put(n, 1, 0, length, i % 256,
			    LCL | STRONG | (by_notice ? RMT : 0));
			expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 1, i % 256);
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 1, i % 256);
			continue;
		}
		if (by_notice)
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, i % 256);
		else
			WAIT_WHILE(__atomic_load_n(last, __ATOMIC_ACQUIRE) !=
				   i % 255 + 1);
		put_word(n, 0, 0, 0, i % 256, RMT);
	}
}

TEST_NODES(answer_to_a_notice_does_not_overtake_the_puts_end, 2)
{
	answer_puts(n, true);
}

TEST_NODES(answer_to_the_last_byte_does_not_overtake_the_puts_end, 2)
{
	answer_puts(n, false);
}

static uint32_t load_word(const uint8_t *p)
{
	return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
}

/* Both sides wait for memory alone. */
TEST_NODES(strong_order_puts_the_last_bytes_last, 2)
{
	for (unsigned int i = 0; i < 6 * NUM_SIZES; i++) {
		size_t length = sizes[i % NUM_SIZES] + 3, end = 2 << 20;
		size_t at = end - length;
		uint32_t last;

		if (!n->me) {
			/* The source is free when the last put has come. */
			WAIT_WHILE(load_word((uint8_t *)words) != i + 1);
			fill(at, length, i);
			put(n, 1, at, length, 0, STRONG);
			continue;
		}
		fill(at, length, i);
		memcpy(&last, out + end - 4, 4);
		memset(in + at, 0, length);
		put_word(n, 0, 0, i + 1, 0, STRONG);
		WAIT_WHILE(load_word(in + end - 4) != last);
		IS(length, mismatch(in + at, length, i));
	}
	expect_empty(n);
}

/* IDs of node 1: with the default path, then with every other; how many */
static int all_paths(struct node *n, utofu_vcq_id_t ids[], int max)
{
	int count = 0;

	ids[count++] = n->m->id[1];
	for (uint8_t i = 0; i < 12; i++) {
		uint8_t abc[] = { i & 1, i >> 2, i >> 1 & 1 };
		utofu_vcq_id_t id = n->m->id[1];
		int rc = utofu_set_vcq_id_path(&id, abc);

		if (rc == UTOFU_ERR_INVALID_PATH)
			continue;
		OK(rc);
		IS(true, count < max);
		ids[count++] = id;
		OK(utofu_set_vcq_id_path(&id, NULL));
		IS(n->m->id[1], id);
	}
	IS(true, count >= 5);
	return count;
}

/* The ith transfer of a burst, behind a put of @value that nothing tells of */
static void post_mixed(struct node *n, utofu_vcq_id_t to, int i,
		       uint64_t value)
{
	utofu_stadd_t own = n->m->out[0], at = n->m->in[1];
	unsigned int edata = i % 256;

	OK(utofu_put_piggyback8(n->vcq, to, value, n->m->words[1], 8, 0, 0, NULL));
	switch (i % 5) {
	case 0:
		OK(utofu_put(n->vcq, to, own, at, 100000, edata, RMT, NULL));
		break;
	case 1:
		OK(utofu_armw4(n->vcq, to, UTOFU_ARMW_OP_XOR, i, at, edata,
			       RMT, NULL));
		break;
	case 2:
		OK(utofu_put_piggyback(n->vcq, to, &i, at, 4, edata, RMT,
				       NULL));
		break;
	case 3:
		OK(utofu_get(n->vcq, to, own, at, 100000, edata, RMT, NULL));
		break;
	default:
		OK(utofu_put(n->vcq, to, own, at, 1, edata, RMT, NULL));
	}
}

/* The types of the notices that they bring there */
static const uint8_t mixed_types[] = {
	UTOFU_MRQ_TYPE_RMT_PUT, UTOFU_MRQ_TYPE_RMT_ARMW,
	UTOFU_MRQ_TYPE_RMT_PUT, UTOFU_MRQ_TYPE_RMT_GET, UTOFU_MRQ_TYPE_RMT_PUT,
};

TEST_NODES(puts_and_notices_of_a_path_arrive_in_order, 4)
{
	utofu_vcq_id_t ids[PATHS_MAX];
	int paths = n->me == 0 ? all_paths(n, ids, PATHS_MAX) : 0;

	if (n->me == 0)
		n->m->told[0] = paths;
	meet(n);
	for (unsigned int p = 0; p < n->m->told[0]; p++) {
		for (int i = 0; i < BURST && n->me < 2; i++) {
			uint64_t value = p * BURST + i;

			if (!n->me) {
				post_mixed(n, ids[p], i, value);
				continue;
			}
			expect(n, mixed_types[i % 5], 0, i % 256);
			IS(true, words[0] >= value);
		}
		meet(n);
	}
}

TEST_NODES(notices_name_vcqs_without_path, 4)
{
	utofu_vcq_id_t ids[PATHS_MAX];
	int paths;

	if (n->me == 1) {
		for (int i = 0; i < 2 * 5; i++)
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, 3);
		return;
	}
	if (n->me)
		return;
	paths = all_paths(n, ids, PATHS_MAX);
	for (int i = 0; i < 5; i++) {
		utofu_vcq_id_t id = ids[i % paths];

		OK(utofu_put_piggyback8(n->vcq, id, 0, n->m->in[1], 8, 3,
					LCL | RMT, NULL));
		expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 1, 3);
		put(n, 1, 0, 64, 3,
		    LCL | RMT | UTOFU_ONESIDED_FLAG_PATH(id >> 60));
		expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 1, 3);
	}
}

/* ---- Atomics ---- */

static uint64_t armw(struct node *n, int width, enum utofu_armw_op op,
		     uint64_t value, unsigned int edata)
{
	utofu_vcq_id_t id = n->m->id[1];
	utofu_stadd_t at = n->m->words[1];

	if (width == 4)
		OK(utofu_armw4(n->vcq, id, op, value, at, edata, LCL, NULL));
	else
		OK(utofu_armw8(n->vcq, id, op, value, at, edata, LCL, NULL));
	return expect(n, UTOFU_MRQ_TYPE_LCL_ARMW, 1, edata).rmt_value;
}

static uint64_t cswap(struct node *n, int width, uint64_t old, uint64_t new)
{
	utofu_vcq_id_t id = n->m->id[1];
	utofu_stadd_t at = n->m->words[1];

	if (width == 4)
		OK(utofu_cswap4(n->vcq, id, old, new, at, 255, LCL, NULL));
	else
		OK(utofu_cswap8(n->vcq, id, old, new, at, 255, LCL, NULL));
	return expect(n, UTOFU_MRQ_TYPE_LCL_ARMW, 1, 255).rmt_value;
}

static void atomics(struct node *n, int width)
{
	uint64_t mask = width == 4 ? UINT32_MAX : UINT64_MAX;
	uint64_t v = 0xf0f1f2f3f4f5f6f7 & mask;
	uint64_t neighbour = width == 4 ? 0x1122334400000000 : 0;

	put_word(n, 1, 0, neighbour, 0, 0);
	IS(0, armw(n, width, UTOFU_ARMW_OP_SWAP, v, 1));
	IS(v, armw(n, width, UTOFU_ARMW_OP_ADD, mask, 2));
	IS(v - 1, armw(n, width, UTOFU_ARMW_OP_XOR, mask, 3));
	v = ~(v - 1) & mask;
	IS(v, armw(n, width, UTOFU_ARMW_OP_AND, 0xff, 4));
	v &= 0xff;
	IS(v, armw(n, width, UTOFU_ARMW_OP_OR, 0x70000, 5));
	v |= 0x70000;
	IS(v, cswap(n, width, v + 1, 5));
	IS(v, cswap(n, width, v, mask));
	IS(mask, cswap(n, width, mask - 1, 6));
	IS(mask | neighbour, peek(n, 1, 0));
}

TEST_NODES(atomics_bring_the_old_value_and_edata, 2)
{
	if (n->me)
		return;
	atomics(n, 4);
	atomics(n, 8);
}

/* Everybody counts up the same word, its owner too. */
TEST_NODES(atomics_of_many_nodes_lose_nothing, 4)
{
	const uint64_t adds = 4 * BURST;
	int64_t last = -1;

	for (int i = 0; i < BURST; i++) {
		uint64_t old = armw(n, 8, UTOFU_ARMW_OP_ADD, 1, 0);

		IS(true, (int64_t)old > last && old < adds);
		last = old;
		__atomic_fetch_add(&n->m->told[0], old, __ATOMIC_RELAXED);
	}
	meet(n);
	IS(adds, peek(n, 1, 0));
	IS(adds * (adds - 1) / 2, n->m->told[0]);
}

TEST_NODES(edata_is_one_byte, 2)
{
	for (int i = 0; i < 256; i++) {
		if (n->me) {
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, i);
			continue;
		}
		put(n, 1, 0, 0, i, LCL | RMT);
		expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 1, i);
	}
	IS(UTOFU_ERR_INVALID_EDATA,
	      utofu_put(n->vcq, n->m->id[1], n->m->out[n->me], n->m->in[1], 1,
			256, 0, NULL));
}

/* ---- Gets and sizes ---- */

TEST_NODES(got_bytes_are_there_before_the_notice, 2)
{
	fill(0, sizes[NUM_SIZES - 1], n->me);
	meet(n);
	for (size_t i = 0; i < NUM_SIZES; i++) {
		struct utofu_mrq_notice notice;

		memset(in, MARK, sizes[i] + 1);
		if (n->me) {
			notice = expect(n, UTOFU_MRQ_TYPE_RMT_GET, 0, i);
			IS(n->m->out[1], notice.rmt_stadd);
			continue;
		}
		OK(utofu_get(n->vcq, n->m->id[1], n->m->in[0], n->m->out[1],
			     sizes[i], i, LCL | RMT, NULL));
		notice = expect(n, UTOFU_MRQ_TYPE_LCL_GET, 1, i);
		IS(n->m->in[0], notice.lcl_stadd);
		IS(sizes[i], mismatch(in, sizes[i], 1));
		IS(MARK, in[sizes[i]]);
	}
}

TEST_NODES(largest_put_arrives_whole, 2)
{
	const size_t length = 16777215;

	if (n->me) {
		expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, 1);
		IS(length, mismatch(in, length, 77));
		return;
	}
	fill(0, length, 77);
	put(n, 1, 0, length, 1, RMT);
	IS(UTOFU_ERR_INVALID_SIZE,
	      utofu_put(n->vcq, n->m->id[1], n->m->out[0], n->m->in[1],
			length + 1, 0, 0, NULL));
}

/* ---- Prepared and delayed commands ---- */

/* Five commands, one behind the other, at an odd address; their bytes */
static size_t prepare_five(struct node *n, uint8_t *desc)
{
	utofu_vcq_id_t id = n->m->id[1];
	utofu_stadd_t own = n->m->out[0], at = n->m->in[1];
	size_t size, sum = 0;

	OK(utofu_prepare_put(n->vcq, id, own, at, 5000, 1, RMT | TCQ, desc,
			     &size));
	sum += size;
	OK(utofu_prepare_armw8(n->vcq, id, UTOFU_ARMW_OP_ADD, 3,
			       n->m->words[1], 2, RMT | TCQ, desc + sum,
			       &size));
	sum += size;
	OK(utofu_prepare_put_piggyback8(n->vcq, id, 0x99, at, 1, 3, RMT | TCQ,
					desc + sum, &size));
	sum += size;
	OK(utofu_prepare_get(n->vcq, id, own, at, 64, 4, RMT | TCQ,
			     desc + sum, &size));
	sum += size;
	OK(utofu_prepare_nop(n->vcq, TCQ, desc + sum, &size));
	return sum + size;
}

TEST_NODES(concatenated_descriptors_go_out_together, 2)
{
	uint8_t desc[1 + 5 * 64];
	size_t size;

	fill(0, 5000, 3);
	for (int i = 0; i < 20 && n->me; i++) {
		expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, 1);
		expect(n, UTOFU_MRQ_TYPE_RMT_ARMW, 0, 2);
		expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, 3);
		expect(n, UTOFU_MRQ_TYPE_RMT_GET, 0, 4);
		IS(0x99, in[0]);
		IS(0, memcmp(in + 1, out + 1, 4999));
		IS(3 * (i + 1), words[0]);
		meet(n);
	}
	if (n->me)
		return;
	size = prepare_five(n, desc + 1);
	IS(true, size <= 5 * 64);
	expect_empty(n);
	for (uintptr_t i = 0; i < 20; i++) {
		OK(utofu_post_toq(n->vcq, desc + 1, size, (void *)i));
		for (int k = 0; k < 5; k++)
			expect_report(n, i);
		expect_empty(n);
		meet(n);
	}
}

TEST_NODES(delayed_commands_start_with_the_next, 2)
{
	if (n->me) {
		meet(n);
		for (int i = 0; i < 100; i++)
			expect_empty(n);
		IS(0, words[0] | words[1] | words[2]);
		meet(n);
		for (int i = 0; i < 3; i++) {
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, i);
			IS(100 + i, words[i]);
		}
		return;
	}
	for (int i = 0; i < 3; i++)
		OK(utofu_put_piggyback8(n->vcq, n->m->id[1], 100 + i,
					n->m->words[1] + 8 * i, 8, i,
					DELAY | RMT | TCQ,
					(void *)(uintptr_t)i));
	meet(n);
	meet(n);
	expect_empty(n);
	OK(utofu_nop(n->vcq, TCQ, (void *)3));
	for (int i = 0; i <= 3; i++)
		expect_report(n, i);
}

/* ---- Memory ---- */

#define LOW40 ((1ULL << 40) - 1)

/* Node 0 knows where node 1 will be before anything is there. */
TEST_NODES(addresses_are_computed_without_communication, 2)
{
	struct machine *m = n->m;
	utofu_vcq_id_t id;
	utofu_stadd_t stadd;
	utofu_vcq_hdl_t vcq;

	OK(utofu_construct_vcq_id(m->coords[1], 1, 0, 3, &id));
	OK(utofu_query_stadd(id, 17, &stadd));
	if (!n->me) {
		meet(n);
		put_word(n, 1, 0, 0, 0, 0);
		OK(utofu_put_piggyback8(n->vcq, id, 4711, stadd + 1024, 8, 0,
					LCL, NULL));
		OK(tofu_wait_mrq(n->vcq, &(struct utofu_mrq_notice){ 0 }));
		meet(n);
		return;
	}
	OK(utofu_create_vcq_with_cmp_id(1, 3, 0, &vcq));
	OK(utofu_query_vcq_id(vcq, &m->told[0]));
	IS(id, m->told[0]);
	OK(utofu_reg_mem_with_stag(vcq, in, 4096, 17, 0, &m->told[1]));
	IS(stadd, m->told[1]);
	meet(n);
	meet(n);
	IS(4711, *(uint64_t *)(in + 1024));
	OK(utofu_free_vcq(vcq));
}

TEST_NODES(every_reserved_stag_has_its_own_stadd, 1)
{
	utofu_stadd_t got, want, before = 0;

	for (unsigned int stag = 0; stag < 256; stag++) {
		OK(utofu_reg_mem_with_stag(n->vcq, in + stag * 256, 256, stag,
					   0, &got));
		OK(utofu_query_stadd(n->m->id[0], stag, &want));
		IS(want, got);
		IS(0, got & LOW40);
		IS(true, !stag || got >> 40 != before >> 40);
		before = got;
		OK(utofu_put_piggyback8(n->vcq, n->m->id[0], stag, got + 255,
					1, 0, LCL, NULL));
		expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 0, 0);
		IS(stag, in[stag * 256 + 255]);
	}
	IS(UTOFU_ERR_INVALID_STAG,
	      utofu_query_stadd(n->m->id[0], 256, &want));
}

TEST_NODES(region_starts_at_the_boundary_below, 1)
{
	static const unsigned int offsets[] = { 0, 1, 7, 100, 255, 256, 357 };

	fill(0, 400, 9);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint8_t *p = in + 4096 + offsets[i];
		utofu_stadd_t stadd, region;

		memset(in, MARK, 8192);
		OK(utofu_reg_mem_with_stag(n->vcq, p, 400, i, 0, &stadd));
		OK(utofu_query_stadd(n->m->id[0], i, &region));
		IS(region + offsets[i] % 256, stadd);
		OK(utofu_dereg_mem(n->vcq, stadd, 0));
		OK(utofu_reg_mem(n->vcq, p, 400, 0, &stadd));
		IS(offsets[i] % 256, stadd & LOW40);
		OK(utofu_put(n->vcq, n->m->id[0], n->m->out[0], stadd, 400, 0,
			     LCL, NULL));
		expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 0, 0);
		IS(400, mismatch(p, 400, 9));
		IS(400, changed(in, 8192));
		OK(utofu_dereg_mem(n->vcq, stadd, 0));
	}
}

TEST_NODES(bytes_are_added_to_a_stadd, 2)
{
	static const size_t at[] = { 1, 63, 255, 256, 4095, 1 << 20, SIZE - 1 };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (n->me) {
			memset(in, MARK, SIZE);
			meet(n);
			expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, i);
			IS(1, changed(in, SIZE));
			IS(i, in[at[i]]);
			continue;
		}
		out[at[i]] = i;
		meet(n);
		put(n, 1, at[i], 1, i, RMT);
	}
}

/* ---- VCQs ---- */

TEST_NODES(vcq_id_is_made_of_its_parts, 2)
{
	utofu_vcq_hdl_t vcq[8];

	for (utofu_cmp_id_t cmp = 0; cmp < 8; cmp++) {
		utofu_vcq_id_t id, made;
		utofu_tni_id_t tni;
		utofu_cq_id_t cq;
		uint16_t extra;
		uint8_t coords[6];

		OK(utofu_create_vcq_with_cmp_id(2, cmp, 0, &vcq[cmp]));
		OK(utofu_query_vcq_id(vcq[cmp], &id));
		OK(utofu_query_vcq_info(id, coords, &tni, &cq, &extra));
		IS(0, memcmp(coords, n->m->coords[n->me], 6));
		IS(true, tni == 2 && cq == 0 && extra == cmp);
		OK(utofu_construct_vcq_id(coords, tni, cq, cmp, &made));
		IS(id, made);
	}
	for (int cmp = 0; cmp < 8; cmp++)
		OK(utofu_free_vcq(vcq[cmp]));
}

static void create_many(struct node *n, int tni, utofu_vcq_hdl_t vcq[VCQS])
{
	for (int i = 0; i < VCQS; i++) {
		utofu_vcq_id_t *id = &n->m->many[n->me][tni][i];
		utofu_tni_id_t got;
		utofu_cq_id_t cq;
		uint16_t extra;
		uint8_t coords[6];

		OK(utofu_create_vcq(tni, 0, &vcq[i]));
		OK(utofu_query_vcq_id(vcq[i], id));
		OK(utofu_query_vcq_info(*id, coords, &got, &cq, &extra));
		IS(true, got == tni && cq == 0);
		for (int k = 0; k < i; k++)
			IS(true, *id != n->m->many[n->me][tni][k]);
	}
}

/* Each VCQ sends to its like on the next node; the last one is polled first. */
static void use_many(struct node *n, int tni, utofu_vcq_hdl_t vcq[VCQS])
{
	int next = (n->me + 1) % 4, before = (n->me + 3) % 4;
	struct utofu_mrq_notice notice;
	utofu_stadd_t stadd;

	for (int i = 0; i < VCQS; i++)
		OK(utofu_reg_mem_with_stag(vcq[i], in, 4096, i, 0, &stadd));
	meet(n);
	for (int i = 0; i < VCQS; i++) {
		OK(utofu_query_stadd(n->m->many[next][tni][i], i, &stadd));
		OK(utofu_put_piggyback8(vcq[i], n->m->many[next][tni][i], i,
					stadd + 8 * i, 8, i, RMT, NULL));
	}
	for (int i = VCQS - 1; i >= 0; i--) {
		OK(tofu_wait_mrq(vcq[i], &notice));
		IS(UTOFU_MRQ_TYPE_RMT_PUT, notice.notice_type);
		IS(n->m->many[before][tni][i], notice.vcq_id);
		IS(i, notice.edata);
		IS(UTOFU_ERR_NOT_FOUND, utofu_poll_mrq(vcq[i], 0, &notice));
	}
	meet(n);
}

TEST_NODES(seven_vcqs_on_each_tni_share_queue_0, 4)
{
	utofu_vcq_hdl_t vcq[4][VCQS];

	for (int tni = 0; tni < 4; tni++)
		create_many(n, tni, vcq[tni]);
	for (int tni = 0; tni < 4; tni++)
		use_many(n, tni, vcq[tni]);
	for (int i = 0; i < 4 * VCQS; i++)
		OK(utofu_free_vcq(vcq[i / VCQS][i % VCQS]));
}

/* ---- Errors ---- */

/* The next notice: of a command that failed, and how */
static int expect_failed(struct node *n, int type, unsigned int edata)
{
	struct utofu_mrq_notice notice;
	int rc = tofu_wait_mrq(n->vcq, &notice);

	IS(true, rc <= UTOFU_ERR_MRQ_OTHER && rc >= UTOFU_ERR_MRQ_RMT_LENGTH);
	IS(type, notice.notice_type);
	IS(edata, notice.edata);
	return rc;
}

static void expect_rejected(struct node *n, utofu_vcq_id_t id,
			    utofu_stadd_t stadd, int why)
{
	OK(utofu_put(n->vcq, id, n->m->out[0], stadd, 64, 1, LCL | RMT, NULL));
	IS(why, expect_failed(n, UTOFU_MRQ_TYPE_LCL_PUT, 1));
	OK(utofu_get(n->vcq, id, n->m->in[0], stadd, 64, 2, LCL | RMT, NULL));
	IS(why, expect_failed(n, UTOFU_MRQ_TYPE_LCL_GET, 2));
	OK(utofu_armw8(n->vcq, id, UTOFU_ARMW_OP_ADD, 1, stadd, 3, LCL | RMT,
		       NULL));
	IS(why, expect_failed(n, UTOFU_MRQ_TYPE_LCL_ARMW, 3));
}

TEST_NODES(unregistered_remote_is_told_and_harms_nobody, 2)
{
	struct machine *m = n->m;
	utofu_vcq_id_t nobody;

	memset(in, MARK, 8192);
	if (n->me) {
		OK(utofu_reg_mem(n->vcq, in, 4096, 0, &m->told[0]));
		OK(utofu_dereg_mem(n->vcq, m->told[0], 0));
		meet(n);
		expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, 4);
		expect_empty(n);
		IS(0, changed(in, 8192));
		return;
	}
	meet(n);
	expect_rejected(n, m->id[1], m->told[0], UTOFU_ERR_MRQ_RMT_STADD);
	OK(utofu_construct_vcq_id(m->coords[1], 3, 5, 0, &nobody));
	expect_rejected(n, nobody, m->in[1], UTOFU_ERR_MRQ_PEER);
	IS(0, changed(in, 8192));
	put_word(n, 1, 0, 5, 4, RMT | LCL);
	expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 1, 4);
	IS(5, peek(n, 1, 0));
}

/* Node 1 dies while it is being written to; node 2 is none the worse for it. */
TEST_NODES(dead_remote_is_told_and_harms_nobody, 3)
{
	struct machine *m = n->m;
	struct utofu_mrq_notice notice;

	if (n->me == 2)
		return;
	if (n->me == 1) {
		expect(n, UTOFU_MRQ_TYPE_RMT_PUT, 0, 0);
		m->doomed = 1;
		raise(SIGKILL);
	}
	for (int i = 0; i < 100; i++)
		put(n, 1, 0, 1 << 20, i, RMT | LCL);
	for (int i = 0; i < 100; i++) {
		int rc = tofu_wait_mrq(n->vcq, &notice);

		IS(true, rc == UTOFU_SUCCESS || rc == UTOFU_ERR_MRQ_PEER);
		IS(UTOFU_MRQ_TYPE_LCL_PUT, notice.notice_type);
		IS(i, notice.edata);
	}
	WAIT_WHILE(m->living == 3);
	expect_rejected(n, m->id[1], m->in[1], UTOFU_ERR_MRQ_PEER);
	put_word(n, 2, 0, 5, 4, LCL);
	expect(n, UTOFU_MRQ_TYPE_LCL_PUT, 2, 4);
	IS(5, peek(n, 2, 0));
}

TEST_HARNESS_MAIN
