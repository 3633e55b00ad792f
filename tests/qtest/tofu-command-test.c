/* SPDX-License-Identifier: MIT */
/*
 * Commands between two CQs of one node, with CQ pages that are memory and with
 * CQ pages that trap: the same tests, the same results.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tofu-vm.h"

#define MEMORY "256M"
#define LEN 65536

/* STAGs, the same in both CQs. */
enum {
	STAG_RW = 1,
	STAG_READONLY,
	STAG_DISABLED,
	STAG_NO_BLOCK, /* its memory block is not enabled */
	STAG_MMIO, /* its page is the device's register BAR */
	STAG_PAGES, /* its page is the CQ pages */
    STAG_NOWHERE, /* its page is beyond the end of memory */
};

/**
 * struct pair - two CQs of a node
 * @vm: the node
 * @a:  the initiator
 * @b:  the target
 * @a_mem, @b_mem: LEN bytes that STAG_RW and STAG_READONLY name
 */
struct pair {
	struct tofu_vm *vm;
	struct tofu_cq a;
	struct tofu_cq b;
	uint64_t a_mem;
	uint64_t b_mem;
};

static uint64_t register_all(struct tofu_vm *vm, struct tofu_cq *cq)
{
	uint64_t mem = tofu_vm_alloc(vm, LEN);

	tofu_cq_register(cq, STAG_RW, mem, LEN, 0);
	tofu_cq_register(cq, STAG_READONLY, mem, LEN,
			 TOFU_SET(TOFU_STEERING_READONLY, 1));
	tofu_cq_register(cq, STAG_NO_BLOCK, mem, LEN, 0);
	qtest_writeq(vm->qts, cq->mbt + STAG_NO_BLOCK * 32, 0);
	tofu_cq_register(cq, STAG_MMIO, vm->regs.addr, LEN, 0);
	tofu_cq_register(cq, STAG_PAGES, vm->pages.addr, LEN, 0);
	tofu_cq_register(cq, STAG_NOWHERE, 1ULL << 40, LEN, 0);
	return mem;
}

static struct pair pair_start(const void *props)
{
	struct pair pair = { .vm = tofu_vm_start(MEMORY, props) };

	tofu_cq_open(&pair.a, pair.vm, 0, 0);
	tofu_cq_open(&pair.b, pair.vm, 1, 5);
	pair.a_mem = register_all(pair.vm, &pair.a);
	pair.b_mem = register_all(pair.vm, &pair.b);
	return pair;
}

static void pair_stop(struct pair *pair)
{
	tofu_vm_stop(pair->vm);
}

/* A command from @a to @b, both in STAG_RW at offset 0. */
static struct tofu_toq_desc command(const struct pair *pair,
				    enum tofu_command cmd, unsigned int flags,
				    uint64_t length)
{
	return (struct tofu_toq_desc) {
		.ctrl = cpu_to_le64(tofu_toq_ctrl(cmd, flags)),
		.route = cpu_to_le64(tofu_cq_route(&pair->b, 0, length)),
		.rmt = cpu_to_le64(tofu_cq_addr(&pair->b, STAG_RW, 0)),
		.lcl = cpu_to_le64(tofu_cq_addr(&pair->a, STAG_RW, 0)),
	};
}

static void expect_tcq(struct tofu_cq *cq, uint64_t index,
		       enum tofu_status status)
{
	uint64_t entry = tofu_cq_wait_tcq(cq);

	g_assert_cmpuint(TOFU_GET(entry, TOFU_TCQ_STATUS), ==, status);
	g_assert_cmpuint(TOFU_GET(entry, TOFU_TCQ_INDEX), ==, index);
}

static struct tofu_mrq_entry expect_mrq(struct tofu_cq *cq,
					enum tofu_mrq_type type,
					enum tofu_status status)
{
	struct tofu_mrq_entry entry = tofu_cq_wait_mrq(cq);
	uint64_t ctrl = le64_to_cpu(entry.ctrl);

	g_assert_cmpuint(TOFU_GET(ctrl, TOFU_MRQ_TYPE), ==, type);
	g_assert_cmpuint(TOFU_GET(ctrl, TOFU_MRQ_STATUS), ==, status);
	return entry;
}

static void fill(struct tofu_vm *vm, uint64_t addr, size_t len, uint8_t seed)
{
	g_autofree uint8_t *bytes = g_malloc(len);
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = seed + i * 7 + (i >> 8);
	qtest_memwrite(vm->qts, addr, bytes, len);
}

static void expect_equal(struct tofu_vm *vm, uint64_t a, uint64_t b, size_t len)
{
	g_autofree uint8_t *x = g_malloc(len);
	g_autofree uint8_t *y = g_malloc(len);

	qtest_memread(vm->qts, a, x, len);
	qtest_memread(vm->qts, b, y, len);
	g_assert_cmpmem(x, len, y, len);
}

static void test_nop(const void *props)
{
	struct pair pair = pair_start(props);
	struct tofu_toq_desc nop = {
		.ctrl = cpu_to_le64(tofu_toq_ctrl(TOFU_CMD_NOP,
						  TOFU_TOQ_F_TCQ_NOTICE)),
	};

	tofu_cq_post(&pair.a, &nop, NULL);
	expect_tcq(&pair.a, 0, TOFU_ST_OK);
	tofu_cq_write(&pair.a, &nop, NULL);
	tofu_cq_write(&pair.a, &nop, NULL);
	tofu_cq_ring(&pair.a);
	expect_tcq(&pair.a, 1, TOFU_ST_OK);
	expect_tcq(&pair.a, 2, TOFU_ST_OK);
	g_assert_cmpuint(tofu_cq_reg(&pair.a, TOFU_CQ_TOQ_HEAD), ==, 3);
	g_assert_cmpuint(tofu_cq_reg(&pair.a, TOFU_CQ_TCQ_TAIL), ==, 3);
	g_assert_cmpuint(tofu_cq_reg(&pair.a, TOFU_CQ_MRQ_TAIL), ==, 0);
	pair_stop(&pair);
}

/* Lengths around the limits of a packet, a page, and the region */
static const uint64_t lengths[] = { 1, 8, 1024, 1025, 4096, 4097, LEN };

static void test_put(const void *props)
{
	struct pair pair = pair_start(props);
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct tofu_toq_desc put = command(
			&pair, TOFU_CMD_PUT,
			TOFU_TOQ_F_TCQ_NOTICE | TOFU_TOQ_F_LCL_NOTICE |
				TOFU_TOQ_F_RMT_NOTICE, lengths[i]);
		struct tofu_mrq_entry entry;

		put.ctrl |= cpu_to_le64(TOFU_SET(TOFU_TOQ_EDATA, 0x5a));
		fill(pair.vm, pair.a_mem, lengths[i], i + 1);
		tofu_cq_post(&pair.a, &put, NULL);
		expect_tcq(&pair.a, i, TOFU_ST_OK);
		expect_mrq(&pair.a, TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
		entry = expect_mrq(&pair.b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
		g_assert_cmphex(TOFU_GET(le64_to_cpu(entry.ctrl),
					 TOFU_MRQ_EDATA), ==, 0x5a);
		g_assert_cmphex(TOFU_GET(le64_to_cpu(entry.route),
					 TOFU_ROUTE_LENGTH), ==, lengths[i]);
		expect_equal(pair.vm, pair.a_mem, pair.b_mem, lengths[i]);
	}
	pair_stop(&pair);
}

static void test_get(const void *props)
{
	struct pair pair = pair_start(props);
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct tofu_toq_desc get = command(
			&pair, TOFU_CMD_GET,
			TOFU_TOQ_F_TCQ_NOTICE | TOFU_TOQ_F_LCL_NOTICE |
				TOFU_TOQ_F_RMT_NOTICE, lengths[i]);

		fill(pair.vm, pair.b_mem, lengths[i], i + 1);
		tofu_cq_post(&pair.a, &get, NULL);
		expect_tcq(&pair.a, i, TOFU_ST_OK);
		expect_mrq(&pair.a, TOFU_MRQ_LCL_GET, TOFU_ST_OK);
		expect_mrq(&pair.b, TOFU_MRQ_RMT_GET, TOFU_ST_OK);
		expect_equal(pair.vm, pair.a_mem, pair.b_mem, lengths[i]);
	}
	pair_stop(&pair);
}

static void test_piggyback(const void *props)
{
	struct pair pair = pair_start(props);
	struct tofu_toq_desc small = command(&pair, TOFU_CMD_PUT_PIGGYBACK,
					     TOFU_TOQ_F_RMT_NOTICE, 8);
	struct tofu_toq_desc large = command(&pair, TOFU_CMD_PUT_PIGGYBACK,
					     TOFU_TOQ_F_RMT_NOTICE, 32);
	struct tofu_toq_data data = { .word = { 1, 2, 3, ~0ULL } };
	struct tofu_toq_data got;

	small.lcl = cpu_to_le64(0x1122334455667788);
	tofu_cq_post(&pair.a, &small, NULL);
	expect_mrq(&pair.b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	g_assert_cmphex(qtest_readq(pair.vm->qts, pair.b_mem), ==,
			0x1122334455667788);

	tofu_cq_post(&pair.a, &large, &data);
	expect_mrq(&pair.b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	qtest_memread(pair.vm->qts, pair.b_mem, &got, sizeof(got));
	g_assert_cmpmem(&got, sizeof(got), &data, sizeof(data));
	pair_stop(&pair);
}

/**
 * struct armw - an atomic: value before, operand, value after
 */
struct armw {
	enum tofu_armw_op op;
	uint64_t before;
	uint64_t operand;
	uint64_t compare;
	uint64_t after;
};

static const struct armw armws[] = {
	{ TOFU_ARMW_CSWAP, 5, 9, 5, 9 },
	{ TOFU_ARMW_CSWAP, 5, 9, 6, 5 },
	{ TOFU_ARMW_SWAP, 5, 9, 0, 9 },
	{ TOFU_ARMW_ADD, 0xffffffff, 1, 0, 0x100000000 },
	{ TOFU_ARMW_XOR, 0xff, 0x0f, 0, 0xf0 },
	{ TOFU_ARMW_AND, 0xff, 0x0f, 0, 0x0f },
	{ TOFU_ARMW_OR, 0xf0, 0x0f, 0, 0xff },
};

static void check_armw(struct pair *pair, const struct armw *armw,
		       unsigned int size)
{
	uint64_t mask = size == 8 ? UINT64_MAX : UINT32_MAX;
	struct tofu_toq_desc desc = command(pair, TOFU_CMD_ARMW,
					    TOFU_TOQ_F_LCL_NOTICE, size);
	struct tofu_toq_data data = { .word = { cpu_to_le64(armw->compare) } };
	struct tofu_mrq_entry entry;

	desc.ctrl |= cpu_to_le64(TOFU_SET(TOFU_TOQ_ARMW_OP, armw->op) |
				 TOFU_SET(TOFU_TOQ_ARMW_8, size == 8));
	desc.lcl = cpu_to_le64(armw->operand);
	/* Bytes behind a word of 4 bytes must not change. */
	qtest_writeq(pair->vm->qts, pair->b_mem,
		     (armw->before & mask) | (~mask & 0xa5a5a5a500000000));
	tofu_cq_post(&pair->a, &desc,
		     armw->op == TOFU_ARMW_CSWAP ? &data : NULL);
	entry = expect_mrq(&pair->a, TOFU_MRQ_LCL_ARMW, TOFU_ST_OK);
	g_assert_cmphex(le64_to_cpu(entry.lcl), ==, armw->before & mask);
	g_assert_cmphex(qtest_readq(pair->vm->qts, pair->b_mem), ==,
			(armw->after & mask) | (~mask & 0xa5a5a5a500000000));
}

static void test_armw(const void *props)
{
	struct pair pair = pair_start(props);
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(armws); i++) {
		check_armw(&pair, &armws[i], 4);
		check_armw(&pair, &armws[i], 8);
	}
	pair_stop(&pair);
}

/* More notices than the rings have entries, so the flip bits change. */
static void test_wrap(const void *props)
{
	struct pair pair = pair_start(props);
	const unsigned int rounds = 2, batch = 32;
	struct tofu_toq_desc put = command(
		&pair, TOFU_CMD_PUT_PIGGYBACK,
		TOFU_TOQ_F_TCQ_NOTICE | TOFU_TOQ_F_RMT_NOTICE, 32);
	unsigned int left = rounds * TOFU_RING_ENTRIES(0) + batch, i;
	uint64_t number = 0, index = 0;

	for (; left; left -= batch) {
		for (i = 0; i < batch; i++) {
			struct tofu_toq_data data = {
				.word = { cpu_to_le64(number++) },
			};

			tofu_cq_write(&pair.a, &put, &data);
		}
		tofu_cq_ring(&pair.a);
		for (i = 0; i < batch; i++, index += 2) {
			expect_tcq(&pair.a, index, TOFU_ST_OK);
			expect_mrq(&pair.b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
		}
		g_assert_cmpuint(qtest_readq(pair.vm->qts, pair.b_mem), ==,
				 number - 1);
	}
	g_assert_true(tofu_cq_idle(&pair.a));
	g_assert_true(tofu_cq_idle(&pair.b));
	g_assert_cmpuint(tofu_cq_reg(&pair.b, TOFU_CQ_COUNTER(
				 TOFU_CQ_MRQ_LOST)), ==, 0);
	pair_stop(&pair);
}

static void test_mrq_overflow(const void *props)
{
	struct pair pair = pair_start(props);
	struct tofu_toq_desc put = command(&pair, TOFU_CMD_PUT_PIGGYBACK,
					   TOFU_TOQ_F_RMT_NOTICE, 8);
	uint64_t i;

	for (i = 0; i < TOFU_RING_ENTRIES(0); i++)
		tofu_cq_write(&pair.a, &put, NULL);
	tofu_cq_ring(&pair.a);
	tofu_vm_reg_wait(pair.vm, TOFU_CQ_REGS(1, 5) + TOFU_CQ_MRQ_TAIL,
			 UINT64_MAX, TOFU_RING_ENTRIES(0));
	g_assert_cmphex(tofu_cq_reg(&pair.b, TOFU_CQ_STATUS), ==,
			TOFU_CQ_STATUS_ENABLED);
	tofu_cq_post(&pair.a, &put, NULL);
	tofu_vm_reg_wait(pair.vm, TOFU_CQ_REGS(1, 5) + TOFU_CQ_STATUS,
			 TOFU_CQ_STATUS_MRQ_OVERFLOW,
			 TOFU_CQ_STATUS_MRQ_OVERFLOW);
	g_assert_cmpuint(tofu_cq_reg(&pair.b, TOFU_CQ_COUNTER(
				 TOFU_CQ_MRQ_LOST)), ==, 1);
	pair_stop(&pair);
}

static void add_variants(const char *name, GTestDataFunc test)
{
	g_autofree char *memory = g_strdup_printf("tofu/command/%s", name);
	g_autofree char *trap = g_strdup_printf("tofu/command-trap/%s", name);

	qtest_add_data_func(memory, "", test);
	qtest_add_data_func(trap, ",trap=on", test);
}

/**
 * struct error_case - an invalid command, and its result
 * @cmd, @length: of the command
 * @ctrl, @route: bits to flip
 * @stag_lcl, @stag_rmt: if not 0, instead of STAG_RW
 * @offset_lcl, @offset_rmt: of the addresses
 * @cq_lcl, @cq_rmt: added to the CQ fields
 * @status: of the TCQ entry, or if 16 or more of the MRQ entry
 */
struct error_case {
	const char *name;
	enum tofu_command cmd;
	uint64_t length;
	uint64_t ctrl;
	uint64_t route;
	unsigned int stag_lcl;
	unsigned int stag_rmt;
	uint64_t offset_lcl;
	uint64_t offset_rmt;
	unsigned int cq_lcl;
	unsigned int cq_rmt;
	enum tofu_status status;
};

#define ARMW8 TOFU_SET(TOFU_TOQ_ARMW_8, 1)
#define ADD8 (ARMW8 | TOFU_SET(TOFU_TOQ_ARMW_OP, TOFU_ARMW_ADD))

static const struct error_case errors[] = {
	{ "flip", TOFU_CMD_PUT, 8, .ctrl = TOFU_FIELD(TOFU_TOQ_FLIP),
	  .status = TOFU_ST_TCQ_DESC },
	{ "unknown-command", 0x55, 8, .status = TOFU_ST_TCQ_DESC },
	{ "reserved-ctrl", TOFU_CMD_PUT, 8, .ctrl = 1ULL << 7,
	  .status = TOFU_ST_TCQ_DESC },
	{ "reserved-route", TOFU_CMD_PUT, 8, .route = TOFU_ROUTE_RESERVED,
	  .status = TOFU_ST_TCQ_DESC },
	{ "unknown-flag", TOFU_CMD_PUT, 8,
	  .ctrl = TOFU_SET(TOFU_TOQ_FLAGS, 0x8000),
	  .status = TOFU_ST_TCQ_DESC },
	{ "path", TOFU_CMD_PUT, 8, .ctrl = TOFU_SET(TOFU_TOQ_PATH, 6),
	  .status = TOFU_ST_TCQ_DESC },
	{ "armw-op", TOFU_CMD_ARMW, 8,
	  .ctrl = ARMW8 | TOFU_SET(TOFU_TOQ_ARMW_OP, TOFU_ARMW_OPS),
	  .status = TOFU_ST_TCQ_DESC },
	{ "armw-bits-in-piggyback", TOFU_CMD_PUT_PIGGYBACK, 8, .ctrl = ARMW8,
	  .status = TOFU_ST_TCQ_DESC },
	{ "mtu-in-piggyback", TOFU_CMD_PUT_PIGGYBACK, 8,
	  .ctrl = TOFU_FIELD(TOFU_TOQ_MTU), .status = TOFU_ST_TCQ_DESC },
	{ "stride-in-piggyback", TOFU_CMD_PUT_PIGGYBACK, 8,
	  .ctrl = TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE),
	  .status = TOFU_ST_TCQ_DESC },
	{ "piggyback-0", TOFU_CMD_PUT_PIGGYBACK, 0,
	  .status = TOFU_ST_TCQ_LENGTH },
	{ "armw-length", TOFU_CMD_ARMW, 4, .ctrl = ADD8,
	  .status = TOFU_ST_TCQ_LENGTH },
	{ "lcl-cq", TOFU_CMD_PUT, 8, .cq_lcl = 1,
	  .status = TOFU_ST_TCQ_STADD },
	{ "lcl-stag-disabled", TOFU_CMD_PUT, 8, .stag_lcl = STAG_DISABLED,
	  .status = TOFU_ST_TCQ_STADD },
	{ "lcl-stag-beyond", TOFU_CMD_PUT, 8, .stag_lcl = TOFU_VM_STAGS,
	  .status = TOFU_ST_TCQ_STADD },
	{ "lcl-range", TOFU_CMD_PUT, 8, .offset_lcl = LEN - 7,
	  .status = TOFU_ST_TCQ_STADD },
	{ "lcl-offset-wraps", TOFU_CMD_PUT, 8,
	  .offset_lcl = (1ULL << TOFU_ADDR_OFFSET_BITS) - 1,
	  .status = TOFU_ST_TCQ_STADD },
	{ "get-to-readonly", TOFU_CMD_GET, 8, .stag_lcl = STAG_READONLY,
	  .status = TOFU_ST_TCQ_STADD },
	{ "lcl-block", TOFU_CMD_PUT, 8, .stag_lcl = STAG_NO_BLOCK,
	  .status = TOFU_ST_TCQ_MEMORY },
	{ "lcl-mmio", TOFU_CMD_PUT, 8, .stag_lcl = STAG_MMIO,
	  .status = TOFU_ST_TCQ_MEMORY },
	{ "lcl-pages", TOFU_CMD_PUT, 8, .stag_lcl = STAG_PAGES,
	  .status = TOFU_ST_TCQ_MEMORY },
	{ "lcl-nowhere", TOFU_CMD_PUT, 8, .stag_lcl = STAG_NOWHERE,
	  .status = TOFU_ST_TCQ_MEMORY },
	{ "coords", TOFU_CMD_PUT, 8, .route = TOFU_SET(TOFU_ROUTE_X, 1),
	  .status = TOFU_ST_PEER },
	{ "tni", TOFU_CMD_PUT, 8, .route = TOFU_SET(TOFU_ROUTE_TNI, 4),
	  .status = TOFU_ST_PEER },
	{ "rmt-cq-disabled", TOFU_CMD_PUT, 8, .cq_rmt = 1,
	  .status = TOFU_ST_PEER },
	{ "rmt-cq-beyond", TOFU_CMD_PUT, 8, .cq_rmt = 40,
	  .status = TOFU_ST_PEER },
	{ "rmt-stag-disabled", TOFU_CMD_PUT, 8, .stag_rmt = STAG_DISABLED,
	  .status = TOFU_ST_RMT_STADD },
	{ "rmt-stag-beyond", TOFU_CMD_PUT, 8, .stag_rmt = TOFU_VM_STAGS,
	  .status = TOFU_ST_RMT_STADD },
	{ "rmt-range", TOFU_CMD_PUT, 8, .offset_rmt = LEN - 7,
	  .status = TOFU_ST_RMT_STADD },
	{ "put-to-readonly", TOFU_CMD_PUT, 8, .stag_rmt = STAG_READONLY,
	  .status = TOFU_ST_RMT_STADD },
	{ "armw-to-readonly", TOFU_CMD_ARMW, 8, .ctrl = ADD8,
	  .stag_rmt = STAG_READONLY, .status = TOFU_ST_RMT_STADD },
	{ "armw-unaligned", TOFU_CMD_ARMW, 8, .ctrl = ADD8, .offset_rmt = 4,
	  .status = TOFU_ST_RMT_STADD },
	{ "rmt-block", TOFU_CMD_PUT, 8, .stag_rmt = STAG_NO_BLOCK,
	  .status = TOFU_ST_RMT_MEMORY },
	{ "rmt-mmio", TOFU_CMD_PUT, 8, .stag_rmt = STAG_MMIO,
	  .status = TOFU_ST_RMT_MEMORY },
	{ "rmt-pages", TOFU_CMD_PUT, 8, .stag_rmt = STAG_PAGES,
	  .status = TOFU_ST_RMT_MEMORY },
	{ "rmt-nowhere", TOFU_CMD_PUT, 8, .stag_rmt = STAG_NOWHERE,
	  .status = TOFU_ST_RMT_MEMORY },
	{ "rmt-large-mmio", TOFU_CMD_PUT, 16384, .stag_rmt = STAG_MMIO,
	  .status = TOFU_ST_RMT_MEMORY },
	{ "get-from-mmio", TOFU_CMD_GET, 8, .stag_rmt = STAG_MMIO,
	  .status = TOFU_ST_RMT_MEMORY },
	{ "armw-to-pages", TOFU_CMD_ARMW, 8, .ctrl = ADD8,
	  .stag_rmt = STAG_PAGES, .status = TOFU_ST_RMT_MEMORY },
};

static struct tofu_toq_desc error_command(const struct pair *pair,
					  const struct error_case *error)
{
	struct tofu_toq_desc desc = command(pair, error->cmd, 0,
					    error->length);
	struct tofu_cq lcl = pair->a, rmt = pair->b;

	lcl.cq += error->cq_lcl;
	rmt.cq += error->cq_rmt;
	desc.ctrl ^= cpu_to_le64(error->ctrl);
	desc.route ^= cpu_to_le64(error->route);
	if (error->cmd == TOFU_CMD_PUT || error->cmd == TOFU_CMD_GET)
		desc.lcl = cpu_to_le64(tofu_cq_addr(
			&lcl, error->stag_lcl ? error->stag_lcl : STAG_RW,
			error->offset_lcl));
	desc.rmt = cpu_to_le64(tofu_cq_addr(
		&rmt, error->stag_rmt ? error->stag_rmt : STAG_RW,
		error->offset_rmt));
	return desc;
}

static enum tofu_mrq_type local_type(enum tofu_command cmd)
{
	switch (cmd) {
	case TOFU_CMD_GET:
		return TOFU_MRQ_LCL_GET;
	case TOFU_CMD_ARMW:
		return TOFU_MRQ_LCL_ARMW;
	default:
		return TOFU_MRQ_LCL_PUT;
	}
}

/* Each error is reported without a request, in exactly one entry. */
static void test_errors(const void *props)
{
	struct pair pair = pair_start(props);
	uint64_t tcq = 0, mrq = 0;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(errors); i++) {
		struct tofu_toq_desc desc = error_command(&pair, &errors[i]);

		g_test_message("%s", errors[i].name);
		if (errors[i].ctrl & TOFU_FIELD(TOFU_TOQ_FLIP)) {
			/* tofu_cq_write() sets the right one. */
			tofu_cq_write(&pair.a, &desc, NULL);
			qtest_writeq(pair.vm->qts, pair.a.toq + i * 32,
				     le64_to_cpu(desc.ctrl) & ~1ULL);
			tofu_cq_ring(&pair.a);
		} else {
			tofu_cq_post(&pair.a, &desc, NULL);
		}
		if (errors[i].status < TOFU_ST_PEER) {
			expect_tcq(&pair.a, i, errors[i].status);
			tcq++;
		} else {
			expect_mrq(&pair.a, local_type(errors[i].cmd),
				   errors[i].status);
			mrq++;
		}
		g_assert_true(tofu_cq_idle(&pair.a));
		g_assert_true(tofu_cq_idle(&pair.b));
	}
	g_assert_cmpuint(tofu_cq_reg(&pair.a, TOFU_CQ_COUNTER(
				 TOFU_CQ_TCQ_ERRORS)), ==, tcq);
	g_assert_cmpuint(tofu_cq_reg(&pair.a, TOFU_CQ_COUNTER(
				 TOFU_CQ_MRQ_ERRORS)), ==, mrq);
	g_assert_cmphex(tofu_cq_reg(&pair.a, TOFU_CQ_STATUS), ==,
			TOFU_CQ_STATUS_ENABLED);
	pair_stop(&pair);
}

static void test_group(const void *props)
{
	struct pair pair = pair_start(props);
	struct tofu_toq_desc put = command(&pair, TOFU_CMD_PUT, 0, 8);
	struct tofu_cq other;

	tofu_cq_prepare(&other, pair.vm, 1, 6);
	tofu_cq_reg_set(&other, TOFU_CQ_GPID, TOFU_VM_GPID + 1);
	tofu_cq_reg_set(&other, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	register_all(pair.vm, &other);
	put.rmt = cpu_to_le64(tofu_cq_addr(&other, STAG_RW, 0));
	tofu_cq_post(&pair.a, &put, NULL);
	expect_mrq(&pair.a, TOFU_MRQ_LCL_PUT, TOFU_ST_PEER);
	pair_stop(&pair);
}

static void test_toq_exception(const void *props)
{
	struct pair pair = pair_start(props);
	struct tofu_toq_desc nop = {
		.ctrl = cpu_to_le64(tofu_toq_ctrl(TOFU_CMD_NOP,
						  TOFU_TOQ_F_TCQ_NOTICE)),
	};
	struct tofu_cq *a = &pair.a;

	a->toq_tail = TOFU_RING_ENTRIES(0) + 1;
	tofu_cq_ring(a);
	tofu_vm_reg_wait(pair.vm, TOFU_CQ_REGS(0, 0) + TOFU_CQ_STATUS,
			 UINT64_MAX, TOFU_CQ_STATUS_ENABLED |
			 TOFU_CQ_STATUS_TOQ_EXCEPTION);
	g_assert_cmpuint(tofu_cq_reg(a, TOFU_CQ_TOQ_HEAD), ==, 0);
	/* Only disabling and enabling the CQ recovers it. */
	tofu_cq_reg_set(a, TOFU_CQ_CTRL, 0);
	tofu_cq_open(a, pair.vm, 0, 0);
	tofu_cq_post(a, &nop, NULL);
	expect_tcq(a, 0, TOFU_ST_OK);
	pair_stop(&pair);
}

/* Without bus mastering, access to memory is an exception, not a crash. */
static void test_no_bus_master(const void *props)
{
	struct pair pair = pair_start(props);
	struct tofu_toq_desc put = command(&pair, TOFU_CMD_PUT,
					   TOFU_TOQ_F_TCQ_NOTICE, 8);

	tofu_vm_master(pair.vm, false);
	tofu_cq_post(&pair.a, &put, NULL);
	tofu_vm_reg_wait(pair.vm, TOFU_CQ_REGS(0, 0) + TOFU_CQ_STATUS,
			 UINT64_MAX, TOFU_CQ_STATUS_ENABLED |
			 TOFU_CQ_STATUS_TOQ_EXCEPTION);
	tofu_vm_master(pair.vm, true);
	tofu_cq_reg_set(&pair.a, TOFU_CQ_CTRL, 0);
	tofu_cq_open(&pair.a, pair.vm, 0, 0);
	register_all(pair.vm, &pair.a);
	tofu_cq_post(&pair.a, &put, NULL);
	expect_tcq(&pair.a, 0, TOFU_ST_OK);
	pair_stop(&pair);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add_variants("nop", test_nop);
	add_variants("put", test_put);
	add_variants("get", test_get);
	add_variants("piggyback", test_piggyback);
	add_variants("armw", test_armw);
	add_variants("wrap", test_wrap);
	add_variants("mrq-overflow", test_mrq_overflow);
	add_variants("errors", test_errors);
	add_variants("group", test_group);
	add_variants("toq-exception", test_toq_exception);
	add_variants("no-bus-master", test_no_bus_master);
	return g_test_run();
}
