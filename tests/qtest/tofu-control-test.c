/* SPDX-License-Identifier: MIT */
/*
 * Interrupts, configuration, flush and reset, on a single node.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "tofu-vm.h"

#define MEMORY "256M"
#define PATIENCE_US (20 * G_USEC_PER_SEC)
#define ENTRY_SIZE 16

/**
 * struct message - target of a vector's message: memory, which the test reads
 */
struct message {
	unsigned int vector;
	uint64_t addr;
	uint32_t data;
};

static uint64_t entry(struct tofu_vm *vm, unsigned int vector)
{
	return vm->dev->msix_table_off + vector * ENTRY_SIZE;
}

static void vector_mask(struct tofu_vm *vm, unsigned int vector, bool masked)
{
	qpci_io_writel(vm->dev, vm->dev->msix_table_bar,
		       entry(vm, vector) + PCI_MSIX_ENTRY_VECTOR_CTRL, masked);
}

static struct message vector_open(struct tofu_vm *vm, unsigned int vector)
{
	struct message message = {
		.vector = vector,
		.addr = tofu_vm_alloc(vm, 4),
		.data = 0x1000 + vector,
	};
	QPCIBar table = vm->dev->msix_table_bar;

	qpci_io_writel(vm->dev, table,
		       entry(vm, vector) + PCI_MSIX_ENTRY_LOWER_ADDR,
		       message.addr);
	qpci_io_writel(vm->dev, table,
		       entry(vm, vector) + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
	qpci_io_writel(vm->dev, table,
		       entry(vm, vector) + PCI_MSIX_ENTRY_DATA, message.data);
	vector_mask(vm, vector, false);
	return message;
}

static bool raised(struct tofu_vm *vm, const struct message *message)
{
	return qtest_readl(vm->qts, message->addr) == message->data;
}

static void expect_message(struct tofu_vm *vm, const struct message *message)
{
	int64_t end = g_get_monotonic_time() + PATIENCE_US;

	while (!raised(vm, message)) {
		g_usleep(50);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
	}
	qtest_writel(vm->qts, message->addr, 0);
}

static void post_nop(struct tofu_cq *cq)
{
	struct tofu_toq_desc nop = {
		.ctrl = cpu_to_le64(tofu_toq_ctrl(TOFU_CMD_NOP,
						  TOFU_TOQ_F_TCQ_NOTICE)),
	};

	tofu_cq_post(cq, &nop, NULL);
	tofu_cq_wait_tcq(cq);
}

/* Messages of one node come in order: after @fence's none is under way. */
static void pass_fence(struct tofu_cq *fence, const struct message *message)
{
	tofu_cq_reg_set(fence, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_TCQ);
	post_nop(fence);
	expect_message(fence->vm, message);
}

static void test_armed_once(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq, other;
	struct message message, fence;

	qpci_msix_enable(vm->dev);
	tofu_cq_open(&cq, vm, 2, 3);
	tofu_cq_open(&other, vm, 3, 11);
	message = vector_open(vm, TOFU_VECTOR_CQ(2, 3));
	fence = vector_open(vm, TOFU_VECTOR_CQ(3, 11));

	/* Not armed: no message, no cause. */
	post_nop(&cq);
	pass_fence(&other, &fence);
	g_assert_false(raised(vm, &message));
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_IRQ_CAUSE), ==, 0);

	/* Armed: one message, and the cause is disarmed. */
	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_ARM,
			TOFU_CQ_IRQ_TCQ | TOFU_CQ_IRQ_MRQ);
	post_nop(&cq);
	expect_message(vm, &message);
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_IRQ_CAUSE), ==,
			TOFU_CQ_IRQ_TCQ);
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_IRQ_ARM), ==, TOFU_CQ_IRQ_MRQ);
	post_nop(&cq);
	pass_fence(&other, &fence);
	g_assert_false(raised(vm, &message));

	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_CAUSE, TOFU_CQ_IRQ_TCQ);
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_IRQ_CAUSE), ==, 0);
	tofu_vm_stop(vm);
}

/* A message for a masked vector is sent when it is unmasked. */
static void test_masked_vector(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq, other;
	struct message message, fence;

	qpci_msix_enable(vm->dev);
	tofu_cq_open(&cq, vm, 0, 0);
	tofu_cq_open(&other, vm, 0, 1);
	message = vector_open(vm, TOFU_VECTOR_CQ(0, 0));
	fence = vector_open(vm, TOFU_VECTOR_CQ(0, 1));
	vector_mask(vm, message.vector, true);

	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_TCQ);
	post_nop(&cq);
	pass_fence(&other, &fence);
	g_assert_false(raised(vm, &message));
	g_assert_true(qpci_msix_pending(vm->dev, message.vector));

	vector_mask(vm, message.vector, false);
	expect_message(vm, &message);
	g_assert_false(qpci_msix_pending(vm->dev, message.vector));
	tofu_vm_stop(vm);
}

static void test_flush(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct message message;
	struct tofu_cq cq;

	qpci_msix_enable(vm->dev);
	tofu_cq_open(&cq, vm, 0, 0);
	message = vector_open(vm, TOFU_VECTOR_CQ(0, 0));
	post_nop(&cq);
	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_FLUSH);
	tofu_cq_reg_set(&cq, TOFU_CQ_FLUSH, 1);
	expect_message(vm, &message);
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_FLUSH), ==, 0);
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_IRQ_CAUSE), ==,
			TOFU_CQ_IRQ_FLUSH);
	/* A disabled CQ can be flushed too. */
	tofu_cq_reg_set(&cq, TOFU_CQ_CTRL, 0);
	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_FLUSH);
	tofu_cq_reg_set(&cq, TOFU_CQ_FLUSH, 1);
	expect_message(vm, &message);
	tofu_vm_stop(vm);
}

static void test_exception_message(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct message message;
	struct tofu_cq cq;

	qpci_msix_enable(vm->dev);
	tofu_cq_open(&cq, vm, 0, 0);
	message = vector_open(vm, TOFU_VECTOR_CQ(0, 0));
	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_EXCEPTION);
	cq.toq_tail = UINT64_MAX;
	tofu_cq_ring(&cq);
	expect_message(vm, &message);
	g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_IRQ_CAUSE), ==,
			TOFU_CQ_IRQ_EXCEPTION);
	tofu_vm_stop(vm);
}

/* struct bad_config - a setting that ENABLE refuses */
struct bad_config {
	uint64_t offset;
	uint64_t value;
};

static const struct bad_config bad_configs[] = {
	{ TOFU_CQ_TOQ_BASE, 0x200080 },
	{ TOFU_CQ_TCQ_BASE, 0x200008 },
	{ TOFU_CQ_MRQ_BASE, 0x200001 },
	{ TOFU_CQ_TOQ_BASE, UINT64_MAX & ~0xffULL },
	{ TOFU_CQ_RINGS, TOFU_SET(TOFU_CQ_RINGS_TOQ, 6) },
	{ TOFU_CQ_RINGS, TOFU_SET(TOFU_CQ_RINGS_MRQ, 15) },
	{ TOFU_CQ_STT_BASE, UINT64_MAX - 31 },
	{ TOFU_CQ_STT_COUNT, (1ULL << TOFU_STAG_BITS_MAX) + 1 },
	{ TOFU_CQ_MBT_BASE, UINT64_MAX - 31 },
	{ TOFU_CQ_MBT_COUNT, UINT64_MAX },
};

static void test_bad_config(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(bad_configs); i++) {
		tofu_cq_prepare(&cq, vm, 0, 0);
		tofu_cq_reg_set(&cq, bad_configs[i].offset,
				bad_configs[i].value);
		g_test_message("0x%" PRIx64 " at 0x%" PRIx64, bad_configs[i].value,
			       bad_configs[i].offset);
		tofu_cq_reg_set(&cq, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
		g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_STATUS), ==,
				TOFU_CQ_STATUS_BAD_CONFIG);
		g_assert_cmphex(tofu_cq_reg(&cq, TOFU_CQ_CTRL), ==, 0);
	}
	tofu_cq_open(&cq, vm, 0, 0);
	post_nop(&cq);
	tofu_vm_stop(vm);
}

static void test_settings_are_locked(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq;
	uint64_t offset, bad = 0;

	tofu_cq_open(&cq, vm, 0, 0);
	for (offset = TOFU_CQ_TOQ_BASE; offset <= TOFU_CQ_GPID; offset += 8) {
		uint64_t before = tofu_cq_reg(&cq, offset);

		tofu_cq_reg_set(&cq, offset, 0);
		g_assert_cmphex(tofu_cq_reg(&cq, offset), ==, before);
		g_assert_cmpuint(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), ==,
				 ++bad);
	}
	post_nop(&cq);
	tofu_vm_stop(vm);
}

static void test_reset(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq;
	uint64_t offset;

	tofu_cq_open(&cq, vm, 1, 2);
	tofu_cq_reg_set(&cq, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_ALL);
	post_nop(&cq);
	tofu_vm_reg_set(vm, TOFU_REG_CTRL, TOFU_CTRL_RESET);
	tofu_vm_reg_wait(vm, TOFU_REG_CTRL, UINT64_MAX, 0);
	for (offset = TOFU_CQ_CTRL; offset <= TOFU_CQ_MRQ_TAIL; offset += 8)
		g_assert_cmphex(tofu_cq_reg(&cq, offset), ==, 0);
	g_assert_cmpuint(tofu_cq_reg(&cq, TOFU_CQ_COUNTER(0)), ==, 0);
	tofu_cq_open(&cq, vm, 1, 2);
	post_nop(&cq);
	tofu_vm_stop(vm);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	qtest_add_func("tofu/irq/armed-once", test_armed_once);
	qtest_add_func("tofu/irq/masked-vector", test_masked_vector);
	qtest_add_func("tofu/irq/flush", test_flush);
	qtest_add_func("tofu/irq/exception", test_exception_message);
	qtest_add_func("tofu/control/bad-config", test_bad_config);
	qtest_add_func("tofu/control/settings-are-locked",
		       test_settings_are_locked);
	qtest_add_func("tofu/control/reset", test_reset);
	return g_test_run();
}
