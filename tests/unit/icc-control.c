// SPDX-License-Identifier: MIT
/*
 * Registers, enabling, interrupts, flush, reset, counters.
 */
#include <errno.h>

#include "harness.h"

#include "icc-host.h"

FIXTURE(control)
{
	struct pair p;
	struct icc *icc;
};

FIXTURE_VARIANT(control)
{
	struct net_mode mode;
};

NET_MODES_WITHOUT_TIME(control);

FIXTURE_SETUP(control)
{
	pair_create(&self->p, &variant->mode, 1 << 20);
	self->icc = self->p.a->node->icc;
}

FIXTURE_TEARDOWN(control)
{
	pair_destroy(&self->p);
}

static uint64_t reg(struct icc *icc, uint64_t offset)
{
	return icc_reg_read(icc, offset, 8);
}

static uint64_t some_time(void *host)
{
	(void)host;
	return 0;
}

static int64_t some_owner(void *host, uint32_t node, enum tofu_share share,
			  unsigned int tni, unsigned int number)
{
	(void)host;
	(void)share;
	(void)tni;
	(void)number;
	return node;
}

static unsigned int some_patience(void *host)
{
	(void)host;
	return 0;
}

/* Host services that creation checks for but never calls. */
static struct icc_host_ops some_ops(bool pull, bool patience)
{
	struct icc_host_ops ops = net_ops;

	if (!pull) {
		ops.pull = NULL;
		ops.pull_ordered = NULL;
	}
	if (patience)
		ops.patience = some_patience;
	ops.now = some_time;
	return ops;
}

static struct icc_params some_params(void)
{
	static uint8_t pages[TOFU_PAGES_HALF];
	static struct icc_host_ops ops;

	ops = some_ops(true, true);
	return (struct icc_params){ .tnis = 4,
				    .pages = pages,
				    .shape = { { 2, 1, 1, 1, 1, 1 } },
				    .mtu = toy.mtu,
				    .ops = &ops };
}

/* Whether @params make a controller; if not, errno must be EINVAL. */
static bool makes_one(const struct icc_params *params)
{
	struct icc *icc;

	errno = 0;
	icc = icc_create(params);
	if (icc)
		icc_destroy(icc);
	else if (errno != EINVAL)
		abort();
	return icc;
}

TEST(wrong_parameters_make_no_controller)
{
	const struct icc_params good = some_params();
	struct icc_params bad[8];

	EXPECT_TRUE(makes_one(&good));
	for (unsigned int i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].tnis = 0;
	bad[1].tnis = TOFU_TNIS_MAX + 1;
	bad[2].node = 2;
	bad[3].shape.size[TOFU_B] = 4;
	bad[4].pages = NULL;
	bad[5].ops = NULL;
	bad[6].mtu = TOFU_SIGNAL_BYTES - 1;
	bad[7].mtu = TOFU_PKT_INLINE_MAX + 1;
	for (unsigned int i = 0; i < 8; i++)
		EXPECT_FALSE(makes_one(&bad[i]));
}

TEST(what_works_together_makes_a_controller)
{
	for (unsigned int i = 0; i < 16; i++) {
		const bool pull = i & 4, patience = i & 8;
		const struct icc_host_ops ops = some_ops(pull, patience);
		struct icc_params params = some_params();

		params.doorbells = i & 1;
		params.machine = i & 2 ? &toy : NULL;
		params.ops = &ops;
		EXPECT_EQ((pull || !patience) &&
				  (!params.machine || params.doorbells),
			  makes_one(&params));
	}
}

TEST(a_machine_has_its_own_packets_and_one_process_a_node)
{
	struct icc_host_ops ops = some_ops(true, true);
	struct icc_params params = some_params();

	ops.owner = some_owner;
	params.ops = &ops;
	params.doorbells = true;
	params.machine = &toy;
	params.mtu = toy.mtu / 2;
	EXPECT_TRUE(makes_one(&params));
	params.mtu = toy.mtu + 1;
	EXPECT_FALSE(makes_one(&params));
	params.mtu = toy.mtu;
	params.ppn = 2;
	EXPECT_FALSE(makes_one(&params));
	params.machine = NULL;
	EXPECT_TRUE(makes_one(&params));
}

TEST_F(control, the_controller_says_what_it_is)
{
	struct icc *icc = self->p.b->node->icc;

	EXPECT_EQ(TOFU_ID_MAGIC, TOFU_GET(reg(icc, TOFU_REG_ID), TOFU_ID_MAGIC));
	EXPECT_EQ(1, TOFU_GET(reg(icc, TOFU_REG_ID), TOFU_ID_VERSION));
	EXPECT_EQ(4, TOFU_GET(reg(icc, TOFU_REG_CAPS), TOFU_CAPS_TNIS));
	EXPECT_EQ(12, TOFU_GET(reg(icc, TOFU_REG_CAPS), TOFU_CAPS_CQS));
	EXPECT_EQ(5, TOFU_GET(reg(icc, TOFU_REG_CAPS), TOFU_CAPS_RING_CODE));
	EXPECT_EQ(15, TOFU_GET(reg(icc, TOFU_REG_CAPS), TOFU_CAPS_STAG));
	EXPECT_EQ(!variant->mode.doorbells,
		  TOFU_GET(reg(icc, TOFU_REG_CAPS), TOFU_CAPS_RAM_PAGES));
	EXPECT_EQ(variant->mode.doorbells,
		  TOFU_GET(reg(icc, TOFU_REG_CAPS), TOFU_CAPS_DIRECT));
	EXPECT_EQ(1 | 4ULL << 32, reg(icc, TOFU_REG_NODE));
	EXPECT_EQ(1ULL << 8, reg(icc, TOFU_REG_COORDS));
	EXPECT_EQ(2 | 2 << 10 | 1 << 20 | 1ULL << 30 | 1ULL << 40 | 1ULL << 50,
		  reg(icc, TOFU_REG_SHAPE));
}

TEST_F(control, bad_accesses_are_counted_and_have_no_effect)
{
	static const uint64_t holes[] = {
		0x050,	0x3f8,	0x428,	0x680,	0xfff8,	0x14000, 0x1fff8,
		0x10c00, 0x100c8, 0x10ff8, TOFU_BAR_REGS_SIZE,
	};
	uint64_t count = 0;

	for (unsigned int i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
		EXPECT_EQ(UINT64_MAX, reg(self->icc, holes[i]));
		icc_reg_write(self->icc, holes[i], 1, 8);
		count += 2;
	}
	for (unsigned int size = 1; size < 8; size++) {
		EXPECT_EQ(UINT64_MAX,
			  icc_reg_read(self->icc, TOFU_REG_ID, size));
		EXPECT_EQ(UINT64_MAX, icc_reg_read(self->icc, size, 8));
		icc_reg_write(self->icc, TOFU_REG_CTRL, TOFU_CTRL_RESET, size);
		count += 3;
	}
	for (uint64_t offset = 0; offset < 0x50; offset += 8) {
		if (offset == TOFU_REG_CTRL)
			continue;
		icc_reg_write(self->icc, offset, 0, 8);
		count++;
	}
	icc_reg_write(self->icc, TOFU_REG_PORT(0, 0), 0, 8);
	cq_reg_set(self->p.a, TOFU_CQ_STATUS, 0);
	cq_reg_set(self->p.a, TOFU_CQ_TOQ_HEAD, 0);
	cq_reg_set(self->p.a, TOFU_CQ_COUNTER(0), 0);
	cq_reg_set(self->p.a, TOFU_CQ_SESSION, 5);
	count += 5;
	EXPECT_EQ(count, reg(self->icc, TOFU_REG_BAD_ACCESS));
	EXPECT_EQ(count, self->p.a->node->misuses);
	EXPECT_EQ(1, cq_reg(self->p.a, TOFU_CQ_CTRL));
}

TEST_F(control, settings_are_fixed_while_enabled)
{
	struct cq *a = self->p.a;
	const uint64_t before = cq_reg(a, TOFU_CQ_GPID);

	cq_reg_set(a, TOFU_CQ_GPID, 7);
	EXPECT_EQ(before, cq_reg(a, TOFU_CQ_GPID));
	EXPECT_EQ(1, reg(self->icc, TOFU_REG_BAD_ACCESS));
	cq_disable(a);
	for (unsigned int r = TOFU_CQ_TOQ_BASE; r <= TOFU_CQ_GPID; r += 8) {
		cq_reg_set(a, r, r * 0x123456789ULL);
		EXPECT_EQ(r * 0x123456789ULL, cq_reg(a, r));
	}
}

TEST_F(control, wrong_settings_leave_the_cq_disabled)
{
	static const struct {
		unsigned int reg;
		uint64_t value;
	} bad[] = {
		{ TOFU_CQ_TOQ_BASE, 0x1080 },
		{ TOFU_CQ_TCQ_BASE, 0x1008 },
		{ TOFU_CQ_MRQ_BASE, 0x1001 },
		{ TOFU_CQ_TOQ_BASE, 0xffffffffffffff00ULL },
		{ TOFU_CQ_TCQ_BASE, 0xffffffffffffff00ULL },
		{ TOFU_CQ_MRQ_BASE, 0xffffffffffffff00ULL },
		{ TOFU_CQ_RINGS, TOFU_SET(TOFU_CQ_RINGS_TOQ, 6) },
		{ TOFU_CQ_RINGS, TOFU_SET(TOFU_CQ_RINGS_MRQ, 6) },
		{ TOFU_CQ_RINGS, 0x200 },
		{ TOFU_CQ_STT_COUNT, 32769 },
		{ TOFU_CQ_STT_BASE, UINT64_MAX - 31 },
		{ TOFU_CQ_MBT_COUNT, 1ULL << 59 },
		{ TOFU_CQ_MBT_BASE, UINT64_MAX - 31 },
		{ TOFU_CQ_GPID, 0x10000 },
	};
	struct cq *a = self->p.a;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cq_disable(a);
		cq_settings(a);
		cq_reg_set(a, bad[i].reg, bad[i].value);
		cq_enable(a);
		EXPECT_EQ(TOFU_CQ_STATUS_BAD_CONFIG, cq_reg(a, TOFU_CQ_STATUS));
		EXPECT_EQ(TOFU_CQ_STATUS_BAD_CONFIG, a->page->status);
		EXPECT_EQ(0, cq_reg(a, TOFU_CQ_CTRL));
	}
	cq_settings(a);
	cq_enable(a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(a, TOFU_CQ_STATUS));
}

TEST_F(control, all_sizes_of_rings)
{
	struct pair *p = &self->p;

	for (unsigned int code = 1; code <= 3; code++) {
		const uint64_t n = TOFU_RING_ENTRIES(code);
		struct transfer nop = { .cmd = TOFU_CMD_NOP, .cq = p->a,
					.flags = TOFU_TOQ_F_TCQ_NOTICE };

		cq_disable(p->a);
		p->a->toq_code = code;
		p->a->toq = ram_alloc(p->a->node, n * 32, 4096);
		p->a->tcq = ram_alloc(p->a->node, n * 8, 4096);
		cq_settings(p->a);
		cq_enable(p->a);
		for (uint64_t i = 0; i < 2 * n + 1; i++) {
			transfer_post(&nop);
			net_run(p->net);
			ASSERT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
		}
	}
}

TEST_F(control, a_disabled_cq_writes_nothing)
{
	struct pair *p = &self->p;
	struct transfer g = p->put;
	const uint8_t before = *region_byte(p->src, 0);

	g.cmd = TOFU_CMD_GET;
	*region_byte(p->dst, 0) = (uint8_t)~before;
	transfer_push(&p->put);
	transfer_post(&g);
	p->b->node->held = true;
	net_run(p->net);
	cq_disable(p->a);
	EXPECT_EQ(0, p->a->page->status);
	p->b->node->held = false;
	net_run(p->net);
	EXPECT_EQ(-1, cq_tcq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	EXPECT_EQ(before, *region_byte(p->src, 0));
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_TOQ_HEAD));
}

TEST_F(control, commands_in_flight_prevent_enabling)
{
	struct pair *p = &self->p;

	transfer_post(&p->put);
	p->b->node->held = true;
	net_run(p->net);
	cq_disable(p->a);
	cq_enable(p->a);
	EXPECT_EQ(TOFU_CQ_STATUS_BAD_CONFIG, cq_reg(p->a, TOFU_CQ_STATUS));
	p->b->node->held = false;
	net_run(p->net);
	cq_enable(p->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(p->a, TOFU_CQ_STATUS));
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
}

TEST_F(control, disabling_stops_what_is_being_sent)
{
	struct pair *p = &self->p;

	p->put.length = 1 << 20;
	p->b->node->queue[TOFU_REQUEST].room = 1;
	p->b->node->held = true;
	transfer_post(&p->put);
	net_run(p->net);
	cq_disable(p->a);
	p->b->node->queue[TOFU_REQUEST].room = 100;
	p->b->node->held = false;
	net_run(p->net);
	/* A put that has begun sends an end, which carries no data. */
	EXPECT_EQ(2, cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	cq_enable(p->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(p->a, TOFU_CQ_STATUS));
}

TEST_F(control, interrupts_come_once_for_each_arming)
{
	struct pair *p = &self->p;
	unsigned int *irq = &p->a->node->irq[TOFU_VECTOR_CQ(0, 3)];

	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(0, *irq);
	cq_reg_set(p->a, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_TCQ | 0xf0);
	EXPECT_EQ(TOFU_CQ_IRQ_TCQ, cq_reg(p->a, TOFU_CQ_IRQ_ARM));
	EXPECT_EQ(0, *irq);
	for (int i = 0; i < 3; i++) {
		transfer_post(&p->put);
		net_run(p->net);
		EXPECT_EQ(1, *irq);
	}
	EXPECT_EQ(TOFU_CQ_IRQ_TCQ, cq_reg(p->a, TOFU_CQ_IRQ_CAUSE));
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_IRQ_ARM));
	cq_reg_set(p->a, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_MRQ);
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(2, *irq);
	cq_reg_set(p->a, TOFU_CQ_IRQ_CAUSE, TOFU_CQ_IRQ_TCQ);
	EXPECT_EQ(TOFU_CQ_IRQ_MRQ, cq_reg(p->a, TOFU_CQ_IRQ_CAUSE));
	cq_reg_set(p->b, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_MRQ);
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(1, p->b->node->irq[TOFU_VECTOR_CQ(1, 5)]);
}

TEST_F(control, a_flush_of_an_idle_cq_ends)
{
	struct cq *a = self->p.a;

	cq_reg_set(a, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_FLUSH);
	cq_reg_set(a, TOFU_CQ_FLUSH, 1);
	net_run(self->p.net);
	EXPECT_EQ(0, cq_reg(a, TOFU_CQ_FLUSH));
	EXPECT_EQ(1, a->node->irq[TOFU_VECTOR_CQ(0, 3)]);
	EXPECT_EQ(TOFU_CQ_IRQ_FLUSH, cq_reg(a, TOFU_CQ_IRQ_CAUSE));
	cq_disable(a);
	cq_reg_set(a, TOFU_CQ_FLUSH, 1);
	net_run(self->p.net);
	EXPECT_EQ(0, cq_reg(a, TOFU_CQ_FLUSH));
}

TEST_F(control, a_flush_waits_for_commands_before_it_only)
{
	struct pair *p = &self->p;

	transfer_post(&p->put);
	p->b->node->held = true;
	net_run(p->net);
	cq_reg_set(p->a, TOFU_CQ_FLUSH, 1);
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(1, cq_reg(p->a, TOFU_CQ_FLUSH));
	p->b->node->queue[TOFU_REQUEST].count--;
	free(p->b->node->queue[TOFU_REQUEST].packet[1]);
	p->b->node->held = false;
	net_run(p->net);
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_FLUSH));
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_TOQ_HEAD));
	EXPECT_EQ(1, cq_reg(p->a, TOFU_CQ_TCQ_TAIL));
}

TEST_F(control, a_flush_of_a_get_source_waits_until_it_is_read)
{
	struct pair *p = &self->p;

	p->put.cmd = TOFU_CMD_GET;
	/* With a notice there it would be read at once. */
	p->put.flags &= ~TOFU_TOQ_F_RMT_NOTICE;
	p->put.length = 100000;
	transfer_post(&p->put);
	p->a->node->held = true;
	net_run(p->net);
	cq_reg_set(p->b, TOFU_CQ_FLUSH, 1);
	net_run(p->net);
	/* Payload that travels in packets has already been read. */
	EXPECT_EQ(variant->mode.refers &&
			  p->put.length > variant->mode.inline_max,
		  cq_reg(p->b, TOFU_CQ_FLUSH));
	p->a->node->held = false;
	net_run(p->net);
	EXPECT_EQ(0, cq_reg(p->b, TOFU_CQ_FLUSH));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
}

TEST_F(control, a_flush_needs_a_fence_that_began_after_it)
{
	struct pair *p = &self->p;
	struct cq *other = cq_create(p->net, 0, 1, 0);

	p->a->node->fence_held = true;
	cq_reg_set(p->a, TOFU_CQ_FLUSH, 1);
	cq_reg_set(other, TOFU_CQ_FLUSH, 1);
	cq_reg_set(p->a, TOFU_CQ_FLUSH, 1);
	net_run(p->net);
	EXPECT_EQ(1, p->a->node->fences);
	p->a->node->fence_held = false;
	net_step(p->net);
	p->a->node->fence_held = true;
	EXPECT_EQ(2, p->a->node->fences);
	EXPECT_EQ(1, cq_reg(p->a, TOFU_CQ_FLUSH));
	EXPECT_EQ(1, cq_reg(other, TOFU_CQ_FLUSH));
	p->a->node->fence_held = false;
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_FLUSH));
	EXPECT_EQ(0, cq_reg(other, TOFU_CQ_FLUSH));
	EXPECT_EQ(2, p->a->node->fences);
	EXPECT_FALSE(icc_progress(self->icc));
	cq_destroy(other);
}

TEST_F(control, a_dead_peer_ends_a_flush)
{
	struct pair *p = &self->p;

	transfer_post(&p->put);
	p->b->node->held = true;
	net_run(p->net);
	cq_reg_set(p->a, TOFU_CQ_FLUSH, 1);
	net_run(p->net);
	EXPECT_EQ(1, cq_reg(p->a, TOFU_CQ_FLUSH));
	net_down(p->net, 1);
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_FLUSH));
}

TEST_F(control, reset_forgets_everything)
{
	struct pair *p = &self->p;
	struct cq *a = p->a;

	icc_set_need_kick(self->icc, TOFU_NEED_KICK_TAIL);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	reg(self->icc, 8 + 4);
	cq_reg_set(a, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_ALL);
	icc_reg_write(self->icc, TOFU_REG_CTRL, TOFU_CTRL_RESET, 8);
	net_run(p->net);
	EXPECT_EQ(0, reg(self->icc, TOFU_REG_CTRL));
	for (unsigned int r = 0; r < 0xc8; r += 8) {
		if (r != 0x88)
			EXPECT_EQ(0, cq_reg(a, r));
	}
	EXPECT_EQ(0, a->page->status);
	EXPECT_EQ(0, a->page->need_kick);
	EXPECT_EQ(0, a->page->toq_head);
	EXPECT_EQ(0, reg(self->icc, TOFU_REG_BAD_ACCESS));
	EXPECT_EQ(0, reg(self->icc, TOFU_REG_PORT(TOFU_PORT_YP, 0)));
	EXPECT_EQ(0, a->node->irq[TOFU_VECTOR_CQ(0, 3)]);
	cq_settings(a);
	cq_enable(a);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
}

TEST_F(control, reset_lasts_until_nobody_reads_the_memory)
{
	struct pair *p = &self->p;
	struct transfer g = { .cmd = TOFU_CMD_GET, .cq = p->b, .lcl = p->dst,
			      .rmt = p->src, .length = 100000 };

	transfer_post(&p->put);
	transfer_post(&g);
	p->b->node->held = true;
	net_run(p->net);
	icc_reg_write(self->icc, TOFU_REG_CTRL, TOFU_CTRL_RESET, 8);
	net_run(p->net);
	EXPECT_EQ(TOFU_CTRL_RESET, reg(self->icc, TOFU_REG_CTRL));
	cq_settings(p->a);
	cq_enable(p->a);
	EXPECT_EQ(TOFU_CQ_STATUS_BAD_CONFIG, cq_reg(p->a, TOFU_CQ_STATUS));
	p->b->node->held = false;
	net_run(p->net);
	EXPECT_EQ(0, reg(self->icc, TOFU_REG_CTRL));
	cq_enable(p->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(p->a, TOFU_CQ_STATUS));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
}

TEST_F(control, need_kick_is_said_in_enabled_pages)
{
	struct pair *p = &self->p;
	struct cq *later;

	icc_set_need_kick(self->icc, TOFU_NEED_KICK_POLL);
	EXPECT_EQ(TOFU_NEED_KICK_POLL, p->a->page->need_kick);
	later = cq_create(p->net, 0, 3, 11);
	EXPECT_EQ(TOFU_NEED_KICK_POLL, later->page->need_kick);
	icc_set_need_kick(self->icc, 0);
	EXPECT_EQ(0, p->a->page->need_kick);
	EXPECT_EQ(0, later->page->need_kick);
	cq_destroy(later);
}

TEST_F(control, counters_count_from_enabling)
{
	struct pair *p = &self->p;
	struct transfer g = p->put;

	g.cmd = TOFU_CMD_GET;
	g.length = 1000;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &g));
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_TX_COMMANDS)));
	EXPECT_EQ(1064, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_TX_BYTES)));
	EXPECT_EQ(2, cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
	EXPECT_EQ(1064, cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_BYTES)));
	cq_disable(p->a);
	cq_enable(p->a);
	for (int i = 0; i < TOFU_CQ_COUNTERS; i++)
		EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_COUNTER(i)));
}

TEST_F(control, ports_count_packets_and_payload)
{
	struct pair *p = &self->p;
	struct icc *a = self->icc, *b = p->b->node->icc;

	/* Node 1 is at Y = 1 of 2: plus on a tie, so it comes in by Y-. */
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(1, reg(a, TOFU_REG_PORT(TOFU_PORT_YP, TOFU_PORT_TX_PACKETS)));
	EXPECT_EQ(64, reg(a, TOFU_REG_PORT(TOFU_PORT_YP, TOFU_PORT_TX_BYTES)));
	EXPECT_EQ(1, reg(b, TOFU_REG_PORT(TOFU_PORT_YM, TOFU_PORT_RX_PACKETS)));
	EXPECT_EQ(64, reg(b, TOFU_REG_PORT(TOFU_PORT_YM, TOFU_PORT_RX_BYTES)));
	EXPECT_EQ(1, reg(b, TOFU_REG_PORT(TOFU_PORT_YP, TOFU_PORT_TX_PACKETS)));
	EXPECT_EQ(0, reg(b, TOFU_REG_PORT(TOFU_PORT_YP, TOFU_PORT_TX_BYTES)));
	p->put.cmd = TOFU_CMD_GET;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(64, reg(a, TOFU_REG_PORT(TOFU_PORT_YP, TOFU_PORT_TX_BYTES)));
	EXPECT_EQ(64, reg(b, TOFU_REG_PORT(TOFU_PORT_YP, TOFU_PORT_TX_BYTES)));
	EXPECT_EQ(64, reg(a, TOFU_REG_PORT(TOFU_PORT_YM, TOFU_PORT_RX_BYTES)));
}

TEST_HARNESS_MAIN
