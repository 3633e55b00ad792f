// SPDX-License-Identifier: MIT
/*
 * Every command, and every status under the condition that it is named after.
 */
#include "harness.h"

#include "icc-host.h"

FIXTURE(command)
{
	struct pair p;
};

FIXTURE_VARIANT(command)
{
	struct net_mode mode;
};

NET_MODES(command);

FIXTURE_SETUP(command)
{
	pair_create(&self->p, &variant->mode, PAIR_LENGTH);
}

FIXTURE_TEARDOWN(command)
{
	pair_destroy(&self->p);
}

/* Untimed: waiting packets and commands can be inspected. */
FIXTURE(command_now)
{
	struct pair p;
};

FIXTURE_VARIANT(command_now)
{
	struct net_mode mode;
};

NET_MODES_WITHOUT_TIME(command_now);

FIXTURE_SETUP(command_now)
{
	pair_create(&self->p, &variant->mode, PAIR_LENGTH);
}

FIXTURE_TEARDOWN(command_now)
{
	pair_destroy(&self->p);
}

static struct transfer armw(struct pair *p, enum tofu_armw_op op, bool eight)
{
	struct transfer t = p->put;

	t.cmd = TOFU_CMD_ARMW;
	t.lcl = NULL;
	t.op = op;
	t.armw_8 = eight;
	t.length = eight ? 8 : 4;
	return t;
}

static struct transfer piggyback(struct pair *p, uint64_t length)
{
	struct transfer t = p->put;

	t.cmd = TOFU_CMD_PUT_PIGGYBACK;
	t.lcl = NULL;
	t.length = length;
	return t;
}

static struct transfer get(struct pair *p)
{
	struct transfer t = p->put;

	t.cmd = TOFU_CMD_GET;
	return t;
}

TEST_F(command, nop_gives_a_tcq_entry_only)
{
	struct transfer t = { .cmd = TOFU_CMD_NOP, .flags = ALL_NOTICES,
			      .cq = self->p.a };
	uint64_t entry;

	EXPECT_EQ(-1, pair_run(&self->p, &t));
	ASSERT_TRUE(cq_tcq(self->p.a, &entry));
	EXPECT_EQ(TOFU_ST_OK, TOFU_GET(entry, TOFU_TCQ_STATUS));
	EXPECT_EQ(0, TOFU_GET(entry, TOFU_TCQ_INDEX));
	EXPECT_EQ(-1, cq_tcq_status(self->p.a));
}

TEST_F(command, put_moves_bytes_and_tells_both)
{
	struct pair *p = &self->p;
	struct tofu_mrq_entry l, r;

	p->put.lcl_offset = 100;
	p->put.rmt_offset = 333;
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(-1, region_differs(p->src, 100, p->dst, 333, 64));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	ASSERT_TRUE(cq_mrq(p->a, &l));
	ASSERT_TRUE(cq_mrq(p->b, &r));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));

	EXPECT_EQ(TOFU_MRQ_LCL_PUT, TOFU_GET(l.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ(TOFU_MRQ_RMT_PUT, TOFU_GET(r.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ(0x5a, TOFU_GET(l.ctrl, TOFU_MRQ_EDATA));
	EXPECT_EQ(0x5a, TOFU_GET(r.ctrl, TOFU_MRQ_EDATA));
	EXPECT_EQ(5, TOFU_GET(l.ctrl, TOFU_MRQ_CQ));
	EXPECT_EQ(3, TOFU_GET(r.ctrl, TOFU_MRQ_CQ));
	EXPECT_EQ(coords_word(p->b->node),
		  TOFU_GET(l.route, TOFU_ROUTE_COORDS));
	EXPECT_EQ(coords_word(p->a->node),
		  TOFU_GET(r.route, TOFU_ROUTE_COORDS));
	EXPECT_EQ(1, TOFU_GET(l.route, TOFU_ROUTE_TNI));
	EXPECT_EQ(0, TOFU_GET(r.route, TOFU_ROUTE_TNI));
	EXPECT_EQ(64, TOFU_GET(l.route, TOFU_ROUTE_LENGTH));
	EXPECT_EQ(64, TOFU_GET(r.route, TOFU_ROUTE_LENGTH));
	EXPECT_EQ(0xc3, TOFU_GET(l.route, TOFU_ROUTE_TAG));
	EXPECT_EQ(0xc3, TOFU_GET(r.route, TOFU_ROUTE_TAG));
	EXPECT_EQ((1ULL << 40) + 100, l.lcl);
	EXPECT_EQ((1ULL << 40) + 100, r.lcl);
	EXPECT_EQ((2ULL << 40) + 333, l.rmt);
	EXPECT_EQ((2ULL << 40) + 333, r.rmt);
}

TEST_F(command, notices_come_only_when_asked_for)
{
	struct pair *p = &self->p;

	for (unsigned int flags = 0; flags < TOFU_TOQ_F_STRIDE; flags++) {
		p->put.flags = flags;
		transfer_post(&p->put);
		net_run(p->net);
		EXPECT_EQ(flags & TOFU_TOQ_F_LCL_NOTICE ? 0 : -1,
			  cq_mrq_status(p->a));
		EXPECT_EQ(flags & TOFU_TOQ_F_RMT_NOTICE ? 0 : -1,
			  cq_mrq_status(p->b));
		EXPECT_EQ(flags & TOFU_TOQ_F_TCQ_NOTICE ? 0 : -1,
			  cq_tcq_status(p->a));
	}
}

TEST_F(command, put_of_nothing_tells_both)
{
	self->p.put.length = 0;
	self->p.put.lcl_offset = PAIR_LENGTH;
	self->p.put.rmt_offset = PAIR_LENGTH;
	EXPECT_EQ(TOFU_ST_OK, pair_run(&self->p, &self->p.put));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->p.b));
}

TEST_F(command, addresses_of_nothing_are_checked)
{
	struct pair *p = &self->p;

	p->put.length = 0;
	p->put.rmt_offset = PAIR_LENGTH + 1;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	p->put.rmt_offset = 0;
	p->put.lcl_offset = PAIR_LENGTH + 1;
	EXPECT_EQ(-1, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
}

TEST_F(command, strong_order_uses_ordered_copies)
{
	struct pair *p = &self->p;
	struct transfer t = get(p);

	p->put.flags |= TOFU_TOQ_F_STRONG_ORDER;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(1, p->b->node->writes_ordered);
	p->put.length = 300;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(2, p->b->node->writes_ordered);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &t));
	EXPECT_EQ(0, p->a->node->writes_ordered);
	t.flags |= TOFU_TOQ_F_STRONG_ORDER;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &t));
	EXPECT_EQ(1, p->a->node->writes_ordered);
}

TEST_F(command, piggyback_carries_up_to_32_bytes)
{
	struct pair *p = &self->p;
	uint8_t data[32];

	for (unsigned int i = 0; i < 32; i++)
		data[i] = (uint8_t)(i + 1);
	for (uint64_t length = 1; length <= 32; length++) {
		struct transfer t = piggyback(p, length);
		struct tofu_mrq_entry entry;

		region_fill(p->dst, 2);
		memcpy(length > 8 ? (void *)t.second : &t.operand, data,
		       length);
		transfer_post(&t);
		net_run(p->net);
		ASSERT_TRUE(cq_mrq(p->b, &entry));
		EXPECT_EQ(0, entry.lcl);
		EXPECT_EQ(TOFU_MRQ_RMT_PUT, TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE));
		ASSERT_TRUE(cq_mrq(p->a, &entry));
		EXPECT_EQ(0, entry.lcl);
		for (uint64_t i = 0; i < length; i++)
			ASSERT_EQ(data[i], *region_byte(p->dst, i));
	}
}

TEST_F(command, piggyback_touches_no_byte_beyond)
{
	struct transfer t = piggyback(&self->p, 5);
	uint8_t after = *region_byte(self->p.dst, 5);

	t.operand = ~0ULL;
	EXPECT_EQ(TOFU_ST_OK, pair_run(&self->p, &t));
	EXPECT_EQ(0xff, *region_byte(self->p.dst, 4));
	EXPECT_EQ(after, *region_byte(self->p.dst, 5));
}

TEST_F(command, piggyback_of_a_wrong_length_is_refused)
{
	struct transfer t = piggyback(&self->p, 0);

	EXPECT_EQ(-1, pair_run(&self->p, &t));
	EXPECT_EQ(TOFU_ST_TCQ_LENGTH, cq_tcq_status(self->p.a));
	t.length = 33;
	t.flags = 0;
	EXPECT_EQ(-1, pair_run(&self->p, &t));
	EXPECT_EQ(TOFU_ST_TCQ_LENGTH, cq_tcq_status(self->p.a));
	EXPECT_EQ(-1, cq_mrq_status(self->p.b));
	EXPECT_EQ(2, cq_reg(self->p.a, TOFU_CQ_COUNTER(TOFU_CQ_TCQ_ERRORS)));
}

TEST_F(command, get_brings_bytes_and_tells_both)
{
	struct pair *p = &self->p;
	struct transfer t = get(p);
	struct tofu_mrq_entry entry;

	t.lcl_offset = 77;
	t.rmt_offset = 9000;
	transfer_post(&t);
	net_run(p->net);
	EXPECT_EQ(-1, region_differs(p->src, 77, p->dst, 9000, 64));
	ASSERT_TRUE(cq_mrq(p->a, &entry));
	EXPECT_EQ(TOFU_MRQ_LCL_GET, TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ((1ULL << 40) + 77, entry.lcl);
	ASSERT_TRUE(cq_mrq(p->b, &entry));
	EXPECT_EQ(TOFU_MRQ_RMT_GET, TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ((1ULL << 40) + 77, entry.lcl);
	EXPECT_EQ((2ULL << 40) + 9000, entry.rmt);
}

TEST_F(command, get_of_nothing)
{
	struct transfer t = get(&self->p);

	t.length = 0;
	EXPECT_EQ(TOFU_ST_OK, pair_run(&self->p, &t));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->p.b));
}

/* The result of each operation on 0x…f0f0 with operand 0x…ff00. */
static uint64_t expected(enum tofu_armw_op op, uint64_t old, uint64_t operand,
			 uint64_t compare)
{
	switch (op) {
	case TOFU_ARMW_CSWAP:
		return old == compare ? operand : old;
	case TOFU_ARMW_SWAP:
		return operand;
	case TOFU_ARMW_ADD:
		return old + operand;
	case TOFU_ARMW_XOR:
		return old ^ operand;
	case TOFU_ARMW_AND:
		return old & operand;
	default:
		return old | operand;
	}
}

TEST_F(command, armw_of_every_operation_and_size)
{
	struct pair *p = &self->p;
	const uint64_t start = 0xfedcba98f0f0f0f0ULL;

	for (unsigned int i = 0; i < TOFU_ARMW_OPS * 4; i++) {
		const enum tofu_armw_op op = i / 4;
		const bool eight = i & 1;
		const uint64_t mask = eight ? ~0ULL : 0xffffffffULL;
		struct transfer t = armw(p, op, eight);
		struct tofu_mrq_entry l, r;
		uint64_t now;

		memcpy(region_byte(p->dst, 16), &start, 8);
		t.rmt_offset = 16;
		t.operand = 0x11223344ff00ff00ULL;
		t.second[0] = i & 2 ? start : start + 1;
		transfer_post(&t);
		net_run(p->net);
		ASSERT_TRUE(cq_mrq(p->a, &l));
		ASSERT_TRUE(cq_mrq(p->b, &r));
		EXPECT_EQ(TOFU_MRQ_LCL_ARMW, TOFU_GET(l.ctrl, TOFU_MRQ_TYPE));
		EXPECT_EQ(TOFU_MRQ_RMT_ARMW, TOFU_GET(r.ctrl, TOFU_MRQ_TYPE));
		EXPECT_EQ(start & mask, l.lcl);
		EXPECT_EQ(start & mask, r.lcl);
		EXPECT_EQ(t.length, TOFU_GET(r.route, TOFU_ROUTE_LENGTH));
		memcpy(&now, region_byte(p->dst, 16), 8);
		EXPECT_EQ((expected(op, start & mask, t.operand & mask,
				    t.second[0] & mask) & mask) |
				  (start & ~mask),
			  now);
	}
}

TEST_F(command_now, armw_of_a_machine_without_atomics_is_unknown)
{
	struct net_mode mode = variant->mode;
	struct transfer t;
	struct pair p;

	mode.no_armw = true;
	pair_create(&p, &mode, PAIR_LENGTH);
	EXPECT_EQ(0, TOFU_GET(icc_reg_read(p.a->node->icc, TOFU_REG_CAPS, 8),
			      TOFU_CAPS_ARMW));
	for (unsigned int op = 0; op < TOFU_ARMW_OPS; op++) {
		t = armw(&p, op, true);
		EXPECT_EQ(-1, pair_run(&p, &t));
		EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p.a));
	}
	EXPECT_EQ(0, p.b->node->misuses);
	EXPECT_EQ(TOFU_ST_OK, pair_run(&p, &p.put));
	pair_destroy(&p);
}

TEST_F(command, armw_of_an_unaligned_word_is_refused)
{
	for (unsigned int i = 1; i < 16; i++) {
		struct transfer t = armw(&self->p, TOFU_ARMW_ADD, i & 8);

		t.rmt_offset = 4088 + i % 8;
		t.operand = 1;
		EXPECT_EQ(i % 8 % t.length ? TOFU_ST_RMT_STADD : TOFU_ST_OK,
			  pair_run(&self->p, &t));
	}
}

TEST_F(command, armw_of_a_word_that_two_pages_share_is_refused)
{
	struct pair *p = &self->p;
	struct transfer t = armw(p, TOFU_ARMW_SWAP, true);

	/* Offset 3584 is the end of page 0; its pages begin at 4 modulo 8. */
	for (unsigned int i = 0; i < p->dst->pages; i++)
		region_table(p->dst)[i] -= 4;
	t.rmt_offset = 3584 - 4;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &t));
	t.rmt_offset = 3584 - 12;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &t));
}

TEST_F(command, armw_of_a_wrong_length_is_refused)
{
	struct transfer t = armw(&self->p, TOFU_ARMW_ADD, true);

	t.length = 4;
	EXPECT_EQ(-1, pair_run(&self->p, &t));
	EXPECT_EQ(TOFU_ST_TCQ_LENGTH, cq_tcq_status(self->p.a));
	t.armw_8 = false;
	t.length = 8;
	EXPECT_EQ(-1, pair_run(&self->p, &t));
	EXPECT_EQ(TOFU_ST_TCQ_LENGTH, cq_tcq_status(self->p.a));
}

TEST_F(command, armw_where_no_memory_is)
{
	struct pair *p = &self->p;
	struct transfer t = armw(p, TOFU_ARMW_ADD, true);

	region_table(p->dst)[0] = 0x1000;
	EXPECT_EQ(TOFU_ST_RMT_MEMORY, pair_run(p, &t));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

/* Bits of the first word that a command may set, except flip and code. */
static uint64_t known_bits(enum tofu_command cmd)
{
	const uint64_t all = TOFU_MASK(5) << 16 | TOFU_MASK(16) << 32;

	switch (cmd) {
	case TOFU_CMD_PUT:
	case TOFU_CMD_GET:
		return all | TOFU_TOQ_F_STRIDE << 16 | TOFU_MASK(16) << 48;
	case TOFU_CMD_ARMW:
		return all | TOFU_MASK(5) << 48;
	default:
		return all;
	}
}

TEST_F(command, a_reserved_bit_is_a_bad_descriptor)
{
	struct pair *p = &self->p;
	const struct transfer good[] = { p->put, get(p), piggyback(p, 8),
					 armw(p, TOFU_ARMW_ADD, true),
					 { .cmd = TOFU_CMD_NOP, .cq = p->a } };

	for (unsigned int i = 0; i < 5 * 64; i++) {
		const struct transfer *t = &good[i / 64];
		const uint64_t bit = 1ULL << i % 64;
		struct tofu_toq_desc desc = transfer_desc(t);

		if (bit == 1 || (bit & TOFU_FIELD(TOFU_TOQ_CMD)) ||
		    bit & known_bits(t->cmd))
			continue;
		desc.ctrl |= bit;
		desc_post(p->a, desc);
		net_run(p->net);
		EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p->a));
		EXPECT_EQ(-1, cq_mrq_status(p->a));
	}
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST_F(command, a_hint_or_a_number_changes_nothing)
{
	struct pair *p = &self->p;
	struct transfer cmds[] = { p->put, get(p) };

	for (unsigned int i = 0; i < 2; i++) {
		cmds[i].sps = 15;
		cmds[i].gap = 255;
		cmds[i].mtu = 1;
		region_fill(p->dst, i);
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &cmds[i]));
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
		EXPECT_EQ(-1, region_differs(p->src, 0, p->dst, 0, 64));
	}
}

TEST_F(command, only_five_commands_are_known)
{
	struct pair *p = &self->p;

	for (unsigned int cmd = 0; cmd < 256; cmd++) {
		struct tofu_toq_desc desc = transfer_desc(&p->put);

		if (cmd == TOFU_CMD_NOP || cmd == TOFU_CMD_PUT ||
		    cmd == TOFU_CMD_PUT_PIGGYBACK || cmd == TOFU_CMD_GET ||
		    cmd == TOFU_CMD_ARMW)
			continue;
		desc.ctrl &= ~TOFU_FIELD(TOFU_TOQ_CMD);
		desc.ctrl |= TOFU_SET(TOFU_TOQ_CMD, cmd);
		desc_post(p->a, desc);
		net_run(p->net);
		ASSERT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p->a));
	}
}

TEST_F(command, other_bad_descriptors)
{
	struct pair *p = &self->p;
	struct transfer t = armw(p, TOFU_ARMW_OPS, true);
	struct tofu_toq_desc desc = transfer_desc(&p->put);

	transfer_push(&t);
	desc.route |= TOFU_ROUTE_RESERVED;
	desc_post(p->a, desc);
	t = armw(p, TOFU_ARMW_CSWAP, true);
	t.second[3] = 1;
	transfer_post(&t);
	p->put.path = TOFU_SET(TOFU_PATH_B, 3);
	transfer_post(&p->put);
	net_run(p->net);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p->a));
	EXPECT_EQ(-1, cq_tcq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
}

TEST_F(command, local_address_of_another_cq_is_refused)
{
	struct pair *p = &self->p;
	struct tofu_toq_desc desc = transfer_desc(&p->put);

	desc.lcl ^= TOFU_SET(TOFU_ADDR_CQ, 1);
	desc_post(p->a, desc);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
}

TEST_F(command, local_stag_faults)
{
	struct pair *p = &self->p;
	struct transfer cmds[] = { p->put, get(p) };

	for (int i = 0; i < 2; i++) {
		struct transfer t = cmds[i];

		t.lcl_offset = PAIR_LENGTH - 63;
		EXPECT_EQ(-1, pair_run(p, &t));
		EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
		t = cmds[i];
		p->src->stag = 7;
		EXPECT_EQ(-1, pair_run(p, &t));
		EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
		p->src->stag = CQ_STAGS;
		EXPECT_EQ(-1, pair_run(p, &t));
		EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
		p->src->stag = 1;
	}
}

TEST_F(command, read_only_stops_writers_only)
{
	struct pair *p = &self->p;
	struct transfer g = get(p), w = armw(p, TOFU_ARMW_OR, false);
	struct transfer b = piggyback(p, 8);

	region_steering(p->dst)->ctrl |= TOFU_SET(TOFU_STEERING_READONLY, 1);
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &w));
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &b));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &g));
	region_steering(p->dst)->ctrl &= ~TOFU_SET(TOFU_STEERING_READONLY, 1);

	region_steering(p->src)->ctrl |= TOFU_SET(TOFU_STEERING_READONLY, 1);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(-1, pair_run(p, &g));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
}

TEST_F(command, remote_stag_faults)
{
	struct pair *p = &self->p;

	p->put.rmt_offset = PAIR_LENGTH - 63;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	p->put.rmt_offset = TOFU_MASK(40);
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	p->put.rmt_offset = 0;
	p->dst->stag = 9;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	p->dst->stag = CQ_STAGS;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_EQ(4, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_MRQ_ERRORS)));
}

/* Ways to break a block; each one causes a memory error. */
static void break_block(struct region *r, unsigned int how)
{
	struct tofu_memory_block *mb = region_block(r);

	switch (how) {
	case 0:
		mb->ctrl &= ~TOFU_FIELD(TOFU_MB_ENABLE);
		break;
	case 1:
		mb->ctrl &= ~TOFU_FIELD(TOFU_MB_PAGE_SHIFT);
		mb->ctrl |= TOFU_SET(TOFU_MB_PAGE_SHIFT, 11);
		break;
	case 2:
		mb->ctrl |= TOFU_SET(TOFU_MB_PAGE_SHIFT, 41);
		break;
	case 3:
		mb->npage = 0;
		break;
	case 4:
		mb->table = UINT64_MAX - 3;
		break;
	case 5:
		mb->table = 0x1000;
		break;
	case 6:
		region_table(r)[0] = UINT64_MAX - 4000;
		break;
	case 7:
		region_table(r)[0] = 0x1000;
		break;
	case 8:
		region_steering(r)->mbva = UINT64_MAX - 10;
		break;
	case 9:
		region_steering(r)->ctrl |=
			TOFU_SET(TOFU_STEERING_MBID, CQ_BLOCKS);
		break;
	case 10: /* npage * 8 does not fit 64 bits */
		mb->npage = UINT64_MAX;
		region_steering(r)->mbva = UINT64_MAX - 70000;
		break;
	}
}
#define BREAKS 11

TEST_F(command, broken_tables_of_the_target_are_its_memory_error)
{
	struct pair *p = &self->p;
	struct transfer g = get(p);

	for (unsigned int how = 0; how < BREAKS; how++) {
		const struct tofu_memory_block mb = *region_block(p->dst);
		const struct tofu_steering st = *region_steering(p->dst);
		const uint64_t page = region_table(p->dst)[0];

		break_block(p->dst, how);
		EXPECT_EQ(TOFU_ST_RMT_MEMORY, pair_run(p, &p->put));
		EXPECT_EQ(TOFU_ST_RMT_MEMORY, pair_run(p, &g));
		*region_block(p->dst) = mb;
		*region_steering(p->dst) = st;
		region_table(p->dst)[0] = page;
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	}
}

TEST_F(command, broken_tables_of_the_initiator_are_found_before_sending)
{
	struct pair *p = &self->p;

	for (unsigned int how = 0; how < BREAKS; how++) {
		const struct tofu_memory_block mb = *region_block(p->src);
		const struct tofu_steering st = *region_steering(p->src);
		const uint64_t page = region_table(p->src)[0];

		break_block(p->src, how);
		EXPECT_EQ(-1, pair_run(p, &p->put));
		EXPECT_EQ(TOFU_ST_TCQ_MEMORY, cq_tcq_status(p->a));
		*region_block(p->src) = mb;
		*region_steering(p->src) = st;
		region_table(p->src)[0] = page;
	}
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST_F(command, steering_table_where_no_memory_is)
{
	struct pair *p = &self->p;

	cq_disable(p->b);
	cq_reg_set(p->b, TOFU_CQ_STT_BASE, 0x1000);
	cq_enable(p->b);
	EXPECT_EQ(TOFU_ST_RMT_MEMORY, pair_run(p, &p->put));
}

TEST_F(command, get_into_pages_that_are_none)
{
	struct pair *p = &self->p;
	struct transfer t = get(p);

	region_table(p->src)[0] = 0x1000;
	EXPECT_EQ(TOFU_ST_LCL_MEMORY, pair_run(p, &t));
	t.length = 1000;
	EXPECT_EQ(TOFU_ST_LCL_MEMORY, pair_run(p, &t));
}

TEST_F(command_now, get_into_memory_deregistered_meanwhile)
{
	struct pair *p = &self->p;
	struct transfer t = get(p);

	transfer_post(&t);
	icc_progress(p->a->node->icc);
	region_steering(p->src)->ctrl = 0;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_LCL_STADD, cq_mrq_status(p->a));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
}

TEST_F(command, large_put_from_pages_that_are_none)
{
	struct pair *p = &self->p;

	p->put.length = 1000;
	region_table(p->src)[0] = 0x1000;
	EXPECT_EQ(-1, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_TCQ_MEMORY, cq_tcq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST(memory_that_the_other_side_cannot_read)
{
	struct pair pair, *p = &pair;
	struct transfer g;

	pair_create(p, &by_reference, PAIR_LENGTH);
	g = get(p);
	p->put.length = 1000;
	transfer_post(&p->put);
	icc_progress(p->a->node->icc);
	p->a->node->hole[p->a->node->holes++] = p->src->page[0];
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	p->a->node->holes = 0;

	g.length = 1000;
	g.flags = 0;
	p->a->node->held = true;
	EXPECT_EQ(-1, pair_run(p, &g));
	p->b->node->hole[p->b->node->holes++] = p->dst->page[0];
	p->a->node->held = false;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(p->a));
	pair_destroy(p);
}

TEST_F(command, nobody_there)
{
	struct pair *p = &self->p;
	struct tofu_toq_desc desc = transfer_desc(&p->put), bad = desc;

	bad.route |= TOFU_SET(TOFU_ROUTE_X, 2);
	desc_post(p->a, bad);
	bad = desc;
	bad.rmt |= TOFU_SET(TOFU_ADDR_CQ, 15);
	desc_post(p->a, bad);
	bad = desc;
	bad.rmt ^= TOFU_SET(TOFU_ADDR_CQ, 1);
	desc_post(p->a, bad);
	bad = desc;
	bad.route |= TOFU_SET(TOFU_ROUTE_TNI, 7);
	desc_post(p->a, bad);
	net_run(p->net);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(p->a));
		EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	}
	EXPECT_EQ(-1, cq_mrq_status(p->a));
}

TEST_F(command, other_groups_are_kept_out)
{
	struct pair *p = &self->p;
	struct transfer g = get(p), w = armw(p, TOFU_ARMW_SWAP, true);

	cq_disable(p->b);
	cq_reg_set(p->b, TOFU_CQ_GPID, 1001);
	cq_enable(p->b);
	EXPECT_EQ(TOFU_ST_PEER, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_PEER, pair_run(p, &g));
	EXPECT_EQ(TOFU_ST_PEER, pair_run(p, &w));
}

TEST_F(command, errors_are_told_without_a_flag)
{
	struct pair *p = &self->p;

	p->put.flags = 0;
	cq_disable(p->b);
	EXPECT_EQ(TOFU_ST_PEER, pair_run(p, &p->put));
	EXPECT_EQ(-1, cq_tcq_status(p->a));
}

TEST_F(command, a_node_can_be_its_own_target)
{
	struct pair *p = &self->p;
	struct region *own = region_create(p->a, 5, 3000, 0, 12, 0);

	p->put.rmt = own;
	p->put.length = 2000;
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(-1, region_differs(p->src, 0, own, 0, 2000));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	region_destroy(own);
}

TEST_HARNESS_MAIN
