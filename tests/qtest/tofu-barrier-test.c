/* SPDX-License-Identifier: MIT */
/*
 * Registers of gates, pages of channels, barriers of one node, and session
 * mode.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tofu-vm.h"

#define MEMORY "256M"
#define PATIENCE_US (20 * G_USEC_PER_SEC)
#define ALL_ONES UINT64_MAX

static const uint32_t settings[] = {
	TOFU_GATE_SRC_LCL, TOFU_GATE_SRC_RMT, TOFU_GATE_DST_LCL,
	TOFU_GATE_DST_RMT, TOFU_GATE_GPID, TOFU_GATE_CHANNEL,
};

/**
 * struct gate - a gate, with or without a channel
 * @block: the channel's block in guest memory, or 0
 * @ended: barriers whose end was seen
 */
struct gate {
	struct tofu_vm *vm;
	unsigned int tni;
	unsigned int nr;
	uint64_t block;
	uint32_t ended;
};

static uint64_t gate_reg(const struct gate *gate, uint32_t reg)
{
	return tofu_vm_reg(gate->vm, TOFU_GATE_REGS(gate->tni, gate->nr) + reg);
}

static void gate_reg_set(const struct gate *gate, uint32_t reg, uint64_t value)
{
	tofu_vm_reg_set(gate->vm, TOFU_GATE_REGS(gate->tni, gate->nr) + reg,
			value);
}

static struct gate relay(struct tofu_vm *vm, unsigned int tni, unsigned int nr)
{
	struct gate gate = { .vm = vm, .tni = tni, .nr = nr };

	gate_reg_set(&gate, TOFU_GATE_GPID, TOFU_VM_GPID);
	return gate;
}

static struct gate channel(struct tofu_vm *vm, unsigned int tni,
			   unsigned int nr)
{
	struct gate gate = relay(vm, tni, nr);

	gate.block = tofu_vm_alloc(vm, sizeof(struct tofu_channel));
	gate_reg_set(&gate, TOFU_GATE_CHANNEL, gate.block);
	return gate;
}

static bool gate_enable(const struct gate *gate)
{
	gate_reg_set(gate, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
	return gate_reg(gate, TOFU_GATE_CTRL) == TOFU_GATE_CTRL_ENABLE;
}

static uint64_t link_lcl(const struct gate *gate)
{
	return TOFU_SET(TOFU_LINK_VALID, 1) |
	       TOFU_SET(TOFU_LINK_GATE, gate->nr);
}

static uint64_t link_rmt(const struct gate *gate)
{
	return link_lcl(gate) | TOFU_SET(TOFU_LINK_TNI, gate->tni);
}

/* Each signals the other, over the network. */
static void link_pair(const struct gate *a, const struct gate *b)
{
	gate_reg_set(a, TOFU_GATE_SRC_RMT, link_rmt(b));
	gate_reg_set(a, TOFU_GATE_DST_RMT, link_rmt(b));
	gate_reg_set(b, TOFU_GATE_SRC_RMT, link_rmt(a));
	gate_reg_set(b, TOFU_GATE_DST_RMT, link_rmt(a));
}

static uint64_t start_page(const struct gate *gate)
{
	return TOFU_CHANNEL_PAGE(gate->tni, gate->nr) + TOFU_CHANNEL_START;
}

static void fill(const struct gate *gate, enum tofu_reduce_op op,
		 unsigned int count, uint64_t operand)
{
	QTestState *qts = gate->vm->qts;

	qtest_writeq(qts, gate->block + offsetof(struct tofu_channel, command),
		     TOFU_SET(TOFU_CHANNEL_OP, op) |
		     TOFU_SET(TOFU_CHANNEL_COUNT, count));
	qtest_writeq(qts, gate->block + offsetof(struct tofu_channel, operand),
		     operand);
}

static void start(const struct gate *gate, enum tofu_reduce_op op,
		  unsigned int count, uint64_t operand)
{
	fill(gate, op, count, operand);
	qpci_io_writeq(gate->vm->dev, gate->vm->pages, start_page(gate), 1);
}

static uint64_t done(const struct gate *gate)
{
	return qtest_readq(gate->vm->qts,
			   gate->block + offsetof(struct tofu_channel, done));
}

static bool ended(const struct gate *gate)
{
	return TOFU_GET(done(gate), TOFU_CHANNEL_ENDED) != gate->ended;
}

static uint64_t result(const struct gate *gate)
{
	return qtest_readq(gate->vm->qts,
			   gate->block + offsetof(struct tofu_channel, result));
}

static void expect_end(struct gate *gate, enum tofu_barrier_status status)
{
	int64_t end = g_get_monotonic_time() + PATIENCE_US;

	while (!ended(gate)) {
		qpci_io_writel(gate->vm->dev, gate->vm->pages,
			       TOFU_CHANNEL_PAGE(gate->tni, gate->nr) +
			       TOFU_CHANNEL_POLL, 1);
		g_usleep(50);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
	}
	gate->ended++;
	g_assert_cmphex(done(gate), ==,
			TOFU_SET(TOFU_CHANNEL_ENDED, gate->ended) |
			TOFU_SET(TOFU_CHANNEL_STATUS, status));
}

/* ---- Registers ---- */

static uint64_t bad_accesses(struct tofu_vm *vm)
{
	return tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS);
}

static void test_settings(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct gate gate = { .vm = vm, .tni = 3, .nr = 47 };
	uint64_t bad = bad_accesses(vm);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		g_assert_cmphex(gate_reg(&gate, settings[i]), ==, 0);
		gate_reg_set(&gate, settings[i], ALL_ONES - i);
		g_assert_cmphex(gate_reg(&gate, settings[i]), ==, ALL_ONES - i);
		gate_reg_set(&gate, settings[i], 0);
	}
	g_assert_true(gate_enable(&gate));
	g_assert_cmpuint(bad_accesses(vm), ==, bad);
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		gate_reg_set(&gate, settings[i], 1);
		g_assert_cmphex(gate_reg(&gate, settings[i]), ==, 0);
	}
	bad += ARRAY_SIZE(settings);
	g_assert_cmpuint(bad_accesses(vm), ==, bad);
	gate_reg_set(&gate, TOFU_GATE_CTRL, 0);
	g_assert_cmphex(gate_reg(&gate, TOFU_GATE_CTRL), ==, 0);
	gate_reg_set(&gate, TOFU_GATE_GPID, 5);
	g_assert_cmphex(gate_reg(&gate, TOFU_GATE_GPID), ==, 5);

	/* The state is owned by the device. */
	gate_reg_set(&gate, TOFU_GATE_STATE, 1);
	g_assert_cmphex(gate_reg(&gate, TOFU_GATE_STATE), ==, 0);
	g_assert_cmpuint(bad_accesses(vm), ==, bad + 1);
	tofu_vm_stop(vm);
}

static void test_holes(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, ",tnis=2");
	const uint64_t holes[] = {
		TOFU_GATE_REGS(0, TOFU_GATES), TOFU_GATE_REGS(1, 0) - 8,
		TOFU_GATE_REGS(2, 0), TOFU_GATE_REGS(TOFU_TNIS_MAX - 1, 47),
		TOFU_GATE_REGS(0, 0) - 8,
	};
	struct gate gate = relay(vm, 0, 0);
	uint64_t bad = bad_accesses(vm);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(holes); i++) {
		g_assert_cmphex(tofu_vm_reg(vm, holes[i]), ==, ALL_ONES);
		tofu_vm_reg_set(vm, holes[i], 1);
		bad += 2;
		g_assert_cmpuint(bad_accesses(vm), ==, bad);
	}
	/* Half a register is a hole, too. */
	qpci_io_writel(vm->dev, vm->regs,
		       TOFU_GATE_REGS(0, 0) + TOFU_GATE_CTRL, 1);
	g_assert_cmphex(gate_reg(&gate, TOFU_GATE_CTRL), ==, 0);
	g_assert_cmpuint(bad_accesses(vm), ==, bad + 1);
	tofu_vm_stop(vm);
}

static void test_refused(void)
{
	const uint64_t valid = TOFU_SET(TOFU_LINK_VALID, 1);
	const uint64_t nowhere = valid | TOFU_SET(TOFU_LINK_COORDS, 1);
	const struct {
		uint32_t reg;
		uint64_t value;
		bool relay;
	} bad[] = {
		{ TOFU_GATE_SRC_LCL, valid | TOFU_SET(TOFU_LINK_GATE, 48) },
		{ TOFU_GATE_DST_LCL, valid | TOFU_SET(TOFU_LINK_GATE, 255) },
		{ TOFU_GATE_SRC_LCL, valid | TOFU_SET(TOFU_LINK_TNI, 1) },
		{ TOFU_GATE_DST_LCL, valid | TOFU_SET(TOFU_LINK_COORDS, 1) },
		{ TOFU_GATE_SRC_RMT, valid | TOFU_SET(TOFU_LINK_GATE, 48) },
		{ TOFU_GATE_DST_RMT, valid | TOFU_SET(TOFU_LINK_GATE, 48) },
		{ TOFU_GATE_SRC_RMT, valid | TOFU_SET(TOFU_LINK_TNI, 6) },
		{ TOFU_GATE_DST_RMT, valid | TOFU_SET(TOFU_LINK_TNI, 7) },
		{ TOFU_GATE_SRC_RMT, nowhere },
		{ TOFU_GATE_DST_RMT, nowhere },
		{ TOFU_GATE_SRC_RMT, valid | 1ULL << 31 },
		{ TOFU_GATE_DST_RMT, valid | 1ULL << 50 },
		{ TOFU_GATE_GPID, 0x10000 },
		{ TOFU_GATE_CHANNEL, 0x300040 },
		{ TOFU_GATE_CHANNEL, 0x300000, .relay = true },
	};
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct gate gate = bad[i].relay ? relay(vm, 1, 16) :
						  channel(vm, 1, 15);
		uint64_t good = gate_reg(&gate, bad[i].reg);

		g_test_message("row %zu", i);
		gate_reg_set(&gate, bad[i].reg, bad[i].value);
		g_assert_false(gate_enable(&gate));
		g_assert_cmphex(gate_reg(&gate, bad[i].reg), ==, bad[i].value);
		gate_reg_set(&gate, bad[i].reg, good);
		g_assert_true(gate_enable(&gate));
		gate_reg_set(&gate, TOFU_GATE_CTRL, 0);
	}
	tofu_vm_stop(vm);
}

/* ---- Pages ---- */

static void test_start_of_any_size(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct gate gate = channel(vm, 3, 15);

	g_assert_true(gate_enable(&gate));
	fill(&gate, TOFU_REDUCE_BARRIER, 0, 0);
	qpci_io_writeb(vm->dev, vm->pages, start_page(&gate), 0);
	expect_end(&gate, TOFU_BARRIER_OK);
	qpci_io_writew(vm->dev, vm->pages, start_page(&gate), 0x1234);
	expect_end(&gate, TOFU_BARRIER_OK);
	qpci_io_writel(vm->dev, vm->pages, start_page(&gate), 0);
	expect_end(&gate, TOFU_BARRIER_OK);
	qpci_io_writeq(vm->dev, vm->pages, start_page(&gate), ALL_ONES);
	expect_end(&gate, TOFU_BARRIER_OK);
	tofu_vm_stop(vm);
}

/* The next barrier of the channel is the first whose end is seen. */
static void test_elsewhere_nothing_starts(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, ",tnis=2");
	struct gate gate = channel(vm, 1, 3), relays = relay(vm, 1, 4);
	const uint64_t pages[] = {
		start_page(&gate) + 1, start_page(&gate) + 4,
		start_page(&gate) + 8, start_page(&gate) + 0xff8,
		TOFU_CHANNEL_PAGE(1, 2), TOFU_CHANNEL_PAGE(1, 4),
		TOFU_CHANNEL_PAGE(0, 3), TOFU_CHANNEL_PAGE(2, 3),
		TOFU_CHANNEL_PAGE(7, 15), TOFU_BAR_PAGES_SIZE - 0x1000,
		TOFU_CQ_PAGE(1, 3), TOFU_KICK_PAGE(1, 3),
	};
	size_t i;

	g_assert_true(gate_enable(&gate));
	g_assert_true(gate_enable(&relays));
	fill(&gate, TOFU_REDUCE_BARRIER, 0, 0);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		qpci_io_writeb(vm->dev, vm->pages, pages[i], 1);
		if (pages[i] >= TOFU_CHANNEL_PAGE(0, 0)) {
			g_assert_cmphex(qpci_io_readb(vm->dev, vm->pages,
						      pages[i]), ==, 0);
		}
	}
	g_assert_cmphex(gate_reg(&gate, TOFU_GATE_STATE), ==, 0);
	start(&gate, TOFU_REDUCE_BARRIER, 0, 0);
	expect_end(&gate, TOFU_BARRIER_OK);
	g_assert_cmpuint(TOFU_GET(gate_reg(&gate, TOFU_GATE_STATE),
				  TOFU_GATE_STATE_FIRED), ==, 1);
	tofu_vm_stop(vm);
}

/* ---- Barriers ---- */

static void test_pair(const void *props)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, props);
	struct gate a = channel(vm, 0, 0), b = channel(vm, 1, 15);
	unsigned int i;

	link_pair(&a, &b);
	g_assert_true(gate_enable(&a));
	g_assert_true(gate_enable(&b));
	for (i = 0; i < 5; i++) {
		start(&a, TOFU_REDUCE_SUM, 1, 100 + i);
		g_assert_cmphex(gate_reg(&a, TOFU_GATE_STATE), ==,
				TOFU_SET(TOFU_GATE_STATE_BEGUN, 1) |
				TOFU_SET(TOFU_GATE_STATE_FIRED, i));
		start(&b, TOFU_REDUCE_SUM, 1, 200 + i);
		expect_end(&a, TOFU_BARRIER_OK);
		expect_end(&b, TOFU_BARRIER_OK);
		g_assert_cmpuint(result(&a), ==, 200 + i);
		g_assert_cmpuint(result(&b), ==, 100 + i);
	}
	/* They disagree, and both get an error. */
	start(&a, TOFU_REDUCE_MAX, 1, 1);
	start(&b, TOFU_REDUCE_SUM, 1, 1);
	expect_end(&a, TOFU_BARRIER_MISMATCH);
	expect_end(&b, TOFU_BARRIER_MISMATCH);
	g_assert_cmpuint(result(&a), ==, 0);
	g_assert_cmpuint(tofu_vm_reg(vm, TOFU_REG_BAD_PACKETS), ==, 0);
	tofu_vm_stop(vm);
}

/* Two channels on one node, whose operands a relay adds up */
static void test_relay(const void *props)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, props);
	struct gate a = channel(vm, 0, 1), b = channel(vm, 1, 2);
	struct gate sum = relay(vm, 0, 20);

	gate_reg_set(&a, TOFU_GATE_DST_LCL, link_lcl(&sum));
	gate_reg_set(&a, TOFU_GATE_SRC_LCL, link_lcl(&sum));
	gate_reg_set(&b, TOFU_GATE_DST_RMT, link_rmt(&sum));
	gate_reg_set(&b, TOFU_GATE_SRC_RMT, link_rmt(&sum));
	gate_reg_set(&sum, TOFU_GATE_SRC_LCL, link_lcl(&a));
	gate_reg_set(&sum, TOFU_GATE_SRC_RMT, link_rmt(&b));
	gate_reg_set(&sum, TOFU_GATE_DST_LCL, link_lcl(&a));
	gate_reg_set(&sum, TOFU_GATE_DST_RMT, link_rmt(&b));
	g_assert_true(gate_enable(&a));
	g_assert_true(gate_enable(&b));
	g_assert_true(gate_enable(&sum));
	start(&a, TOFU_REDUCE_SUM, 1, 3);
	g_assert_false(ended(&a));
	start(&b, TOFU_REDUCE_SUM, 1, 4);
	expect_end(&a, TOFU_BARRIER_OK);
	expect_end(&b, TOFU_BARRIER_OK);
	g_assert_cmpuint(result(&a), ==, 7);
	g_assert_cmpuint(result(&b), ==, 7);
	g_assert_cmpuint(TOFU_GET(gate_reg(&sum, TOFU_GATE_STATE),
				  TOFU_GATE_STATE_FIRED), ==, 1);
	tofu_vm_stop(vm);
}

static void test_foreign_group(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct gate a = channel(vm, 0, 0), b = channel(vm, 1, 0);

	link_pair(&a, &b);
	gate_reg_set(&b, TOFU_GATE_GPID, TOFU_VM_GPID + 1);
	g_assert_true(gate_enable(&a));
	g_assert_true(gate_enable(&b));
	start(&a, TOFU_REDUCE_BARRIER, 0, 0);
	tofu_vm_reg_wait(vm, TOFU_REG_BAD_PACKETS, ALL_ONES, 1);
	start(&b, TOFU_REDUCE_BARRIER, 0, 0);
	tofu_vm_reg_wait(vm, TOFU_REG_BAD_PACKETS, ALL_ONES, 2);
	g_assert_false(ended(&a));
	g_assert_false(ended(&b));
	tofu_vm_stop(vm);
}

/* Disabling drops a barrier under way; a reset disables. */
static void test_disable(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct gate a = channel(vm, 0, 0), b = channel(vm, 1, 0);

	link_pair(&a, &b);
	g_assert_true(gate_enable(&a));
	g_assert_true(gate_enable(&b));
	start(&a, TOFU_REDUCE_BARRIER, 0, 0);
	gate_reg_set(&a, TOFU_GATE_CTRL, 0);
	g_assert_cmphex(gate_reg(&a, TOFU_GATE_STATE), ==, 0);
	start(&a, TOFU_REDUCE_BARRIER, 0, 0);
	start(&b, TOFU_REDUCE_BARRIER, 0, 0);
	expect_end(&b, TOFU_BARRIER_OK);
	g_assert_false(ended(&a));
	tofu_vm_reg_set(vm, TOFU_REG_CTRL, TOFU_CTRL_RESET);
	tofu_vm_reg_wait(vm, TOFU_REG_CTRL, TOFU_CTRL_RESET, 0);
	g_assert_cmphex(gate_reg(&b, TOFU_GATE_CTRL), ==, 0);
	g_assert_cmphex(gate_reg(&b, TOFU_GATE_CHANNEL), ==, 0);
	start(&b, TOFU_REDUCE_BARRIER, 0, 0);
	g_assert_false(ended(&b));
	tofu_vm_stop(vm);
}

/* A block that is no memory, and a device without access to memory */
static void test_no_memory(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct gate gate = channel(vm, 0, 0);
	const uint64_t places[] = {
		vm->regs.addr, vm->pages.addr,
		vm->pages.addr + TOFU_CHANNEL_PAGE(0, 0), 1ULL << 40,
		ALL_ONES & ~(TOFU_CHANNEL_ALIGN - 1ULL),
	};
	struct gate lost = gate;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		gate_reg_set(&gate, TOFU_GATE_CTRL, 0);
		gate_reg_set(&gate, TOFU_GATE_CHANNEL, places[i]);
		g_assert_true(gate_enable(&gate));
		qpci_io_writeq(vm->dev, vm->pages, start_page(&gate), 1);
		tofu_vm_reg_wait(vm, TOFU_GATE_REGS(0, 0) + TOFU_GATE_STATE,
				 ALL_ONES, TOFU_SET(TOFU_GATE_STATE_FIRED, 1));
	}
	gate_reg_set(&gate, TOFU_GATE_CTRL, 0);
	gate_reg_set(&gate, TOFU_GATE_CHANNEL, lost.block);
	g_assert_true(gate_enable(&gate));
	tofu_vm_master(vm, false);
	start(&lost, TOFU_REDUCE_BARRIER, 0, 0);
	tofu_vm_reg_wait(vm, TOFU_GATE_REGS(0, 0) + TOFU_GATE_STATE, ALL_ONES,
			 TOFU_SET(TOFU_GATE_STATE_FIRED, 1));
	tofu_vm_master(vm, true);
	g_assert_cmphex(done(&lost), ==, 0);
	tofu_vm_stop(vm);
}

/* ---- Session mode ---- */

static void post(struct tofu_cq *from, struct tofu_cq *to, unsigned int sps)
{
	uint64_t ctrl = tofu_toq_ctrl(TOFU_CMD_PUT_PIGGYBACK,
				      TOFU_TOQ_F_TCQ_NOTICE) |
			TOFU_SET(TOFU_TOQ_SPS, sps);
	struct tofu_toq_desc put = {
		.ctrl = cpu_to_le64(ctrl),
		.route = cpu_to_le64(tofu_cq_route(to, 0, 8)),
		.rmt = cpu_to_le64(tofu_cq_addr(to, 1, 0)),
	};

	tofu_cq_post(from, &put, NULL);
}

static void expect_steps(struct tofu_cq *cq, uint64_t steps, uint64_t head)
{
	tofu_vm_reg_wait(cq->vm, TOFU_CQ_REGS(cq->tni, cq->cq) +
			 TOFU_CQ_SESSION, ALL_ONES, steps);
	g_assert_cmpuint(tofu_cq_reg(cq, TOFU_CQ_TOQ_HEAD), ==, head);
}

static void test_session(const void *props)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, props);
	uint64_t mem = tofu_vm_alloc(vm, 4096);
	struct tofu_cq session, other;

	tofu_cq_prepare(&session, vm, 0, 0);
	tofu_cq_reg_set(&session, TOFU_CQ_RINGS,
			TOFU_SET(TOFU_CQ_RINGS_SESSION, 1));
	tofu_cq_reg_set(&session, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	g_assert_cmphex(tofu_cq_reg(&session, TOFU_CQ_STATUS), ==,
			TOFU_CQ_STATUS_ENABLED);
	tofu_cq_open(&other, vm, 1, 1);
	tofu_cq_register(&session, 1, mem, 4096, 0);
	tofu_cq_register(&other, 1, mem, 4096, 0);

	post(&other, &session, 3);
	tofu_cq_wait_tcq(&other);
	expect_steps(&session, 3, 0);
	post(&session, &other, 1);
	tofu_cq_wait_tcq(&session);
	expect_steps(&session, 2, 1);
	post(&session, &other, 0);
	post(&session, &other, 0);
	post(&session, &other, 0);
	tofu_cq_wait_tcq(&session);
	tofu_cq_wait_tcq(&session);
	expect_steps(&session, 0, 3);
	g_assert_true(tofu_cq_idle(&session));
	post(&other, &session, 1);
	tofu_cq_wait_tcq(&session);
	expect_steps(&session, 0, 4);
	/* The other CQ is not in session mode: it counts nothing. */
	g_assert_cmpuint(tofu_cq_reg(&other, TOFU_CQ_SESSION), ==, 0);
	/* Read-only; reset with the CQ. */
	post(&other, &session, 5);
	expect_steps(&session, 5, 4);
	tofu_cq_reg_set(&session, TOFU_CQ_SESSION, 9);
	expect_steps(&session, 5, 4);
	tofu_cq_reg_set(&session, TOFU_CQ_CTRL, 0);
	tofu_cq_reg_set(&session, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	g_assert_cmpuint(tofu_cq_reg(&session, TOFU_CQ_SESSION), ==, 0);
	tofu_vm_stop(vm);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	qtest_add_func("tofu/barrier/settings", test_settings);
	qtest_add_func("tofu/barrier/holes", test_holes);
	qtest_add_func("tofu/barrier/refused", test_refused);
	qtest_add_func("tofu/barrier/start-of-any-size",
		       test_start_of_any_size);
	qtest_add_func("tofu/barrier/elsewhere-nothing-starts",
		       test_elsewhere_nothing_starts);
	qtest_add_data_func("tofu/barrier/pair", "", test_pair);
	qtest_add_data_func("tofu/barrier-trap/pair", ",trap=on", test_pair);
	qtest_add_data_func("tofu/barrier/relay", "", test_relay);
	qtest_add_data_func("tofu/barrier-trap/relay", ",trap=on", test_relay);
	qtest_add_func("tofu/barrier/foreign-group", test_foreign_group);
	qtest_add_func("tofu/barrier/disable", test_disable);
	qtest_add_func("tofu/barrier/no-memory", test_no_memory);
	qtest_add_data_func("tofu/session/steps", "", test_session);
	qtest_add_data_func("tofu/session-trap/steps", ",trap=on",
			    test_session);
	return g_test_run();
}
