/* SPDX-License-Identifier: MIT */
/*
 * The PCI function: identity, BARs, registers, properties, unplug.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "tofu-vm.h"

#define MEMORY "256M"
#define ONES UINT64_MAX

static const uint64_t holes[] = {
	0x050, 0x3f8, TOFU_REG_PORT(TOFU_PORTS, 0),
	TOFU_REG_PORT(0, TOFU_PORT_COUNTERS), 0xfff8,
	TOFU_CQ_REGS(0, 0) + 0xc8,
	TOFU_CQ_REGS(0, TOFU_CQS_PER_TNI),
	TOFU_CQ_REGS(TOFU_TNIS_DEFAULT, 0), TOFU_BAR_REGS_SIZE - 8,
};

static void test_identity(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");

	g_assert_cmphex(qpci_config_readw(vm->dev, PCI_VENDOR_ID), ==,
			TOFU_PCI_VENDOR_ID);
	g_assert_cmphex(qpci_config_readw(vm->dev, PCI_DEVICE_ID), ==,
			TOFU_PCI_DEVICE_ID);
	g_assert_cmphex(qpci_config_readw(vm->dev, PCI_CLASS_DEVICE), ==,
			TOFU_PCI_CLASS);
	g_assert_cmphex(qpci_config_readb(vm->dev, PCI_REVISION_ID), ==,
			TOFU_PCI_REVISION);
	tofu_vm_stop(vm);
}

static void test_bars(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	uint32_t bar = qpci_config_readl(vm->dev, PCI_BASE_ADDRESS_2);

	g_assert_cmphex(vm->regs_size, ==, TOFU_BAR_REGS_SIZE);
	g_assert_cmphex(vm->pages_size, ==, TOFU_BAR_PAGES_SIZE);
	g_assert_cmphex(bar & PCI_BASE_ADDRESS_MEM_TYPE_MASK, ==,
			PCI_BASE_ADDRESS_MEM_TYPE_64);
	g_assert_cmphex(bar & PCI_BASE_ADDRESS_MEM_PREFETCH, ==,
			PCI_BASE_ADDRESS_MEM_PREFETCH);
	tofu_vm_stop(vm);
}

static void check_tnis(unsigned int tnis)
{
	g_autofree char *props = g_strdup_printf(",tnis=%u", tnis);
	struct tofu_vm *vm = tofu_vm_start(MEMORY, props);
	uint64_t last = TOFU_CQ_REGS(tnis - 1, TOFU_CQS_PER_TNI - 1);

	qpci_msix_enable(vm->dev);
	g_assert_cmpuint(qpci_msix_table_size(vm->dev), ==, TOFU_VECTORS(tnis));
	g_assert_cmpuint(TOFU_GET(tofu_vm_reg(vm, TOFU_REG_CAPS),
				  TOFU_CAPS_TNIS), ==, tnis);
	g_assert_cmphex(tofu_vm_reg(vm, last + TOFU_CQ_STATUS), ==, 0);
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_CQ_REGS(tnis, 0)), ==, ONES);
	tofu_vm_stop(vm);
}

static void test_tnis(void)
{
	check_tnis(1);
	check_tnis(TOFU_TNIS_DEFAULT);
	check_tnis(TOFU_TNIS_MAX);
}

static void check_constants(struct tofu_vm *vm, bool ram_pages)
{
	uint64_t id = tofu_vm_reg(vm, TOFU_REG_ID);
	uint64_t caps = tofu_vm_reg(vm, TOFU_REG_CAPS);

	g_assert_cmphex(TOFU_GET(id, TOFU_ID_MAGIC), ==, TOFU_ID_MAGIC);
	g_assert_cmpuint(TOFU_GET(id, TOFU_ID_VERSION), ==, TOFU_ID_VERSION);
	g_assert_cmpuint(TOFU_GET(caps, TOFU_CAPS_TNIS), ==,
			 TOFU_TNIS_DEFAULT);
	g_assert_cmpuint(TOFU_GET(caps, TOFU_CAPS_CQS), ==, TOFU_CQS_PER_TNI);
	g_assert_cmpuint(TOFU_GET(caps, TOFU_CAPS_RING_CODE), ==,
			 TOFU_RING_CODE_MAX);
	g_assert_cmpuint(TOFU_GET(caps, TOFU_CAPS_STAG), ==,
			 TOFU_STAG_BITS_MAX);
	g_assert_cmpuint(TOFU_GET(caps, TOFU_CAPS_RAM_PAGES), ==, ram_pages);
	g_assert_cmpuint(TOFU_GET(caps, TOFU_CAPS_GATES), ==, TOFU_GATES);
	/* Node 0 of 1, and every axis of size 1. */
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_REG_NODE), ==, 1ULL << 32);
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_REG_COORDS), ==, 0);
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_REG_SHAPE), ==,
			0x0004010040100401ULL);
}

static void check_zero(struct tofu_vm *vm, uint64_t first, uint64_t last)
{
	uint64_t offset;

	for (offset = first; offset <= last; offset += 8)
		g_assert_cmphex(tofu_vm_reg(vm, offset), ==, 0);
}

static void check_reset_values(struct tofu_vm *vm, bool ram_pages)
{
	unsigned int port, tni, cq;

	check_constants(vm, ram_pages);
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_REG_CTRL), ==, 0);
	for (port = 0; port < TOFU_PORTS; port++)
		check_zero(vm, TOFU_REG_PORT(port, 0),
			   TOFU_REG_PORT(port, TOFU_PORT_COUNTERS - 1));
	for (tni = 0; tni < TOFU_TNIS_DEFAULT; tni++) {
		for (cq = 0; cq < TOFU_CQS_PER_TNI; cq++) {
			uint64_t regs = TOFU_CQ_REGS(tni, cq);

			check_zero(vm, regs, regs + TOFU_CQ_SESSION);
			check_zero(vm, regs + TOFU_CQ_COUNTER(0),
				   regs + TOFU_CQ_COUNTER(TOFU_CQ_COUNTERS - 1));
		}
		check_zero(vm, TOFU_GATE_REGS(tni, 0),
			   TOFU_GATE_REGS(tni, TOFU_GATES) - 8);
	}
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), ==, 0);
}

static void test_reset_values(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");

	check_reset_values(vm, true);
	tofu_vm_stop(vm);
}

static void test_trap_values(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, ",trap=on");

	check_reset_values(vm, false);
	tofu_vm_stop(vm);
}

static const uint64_t settings[] = {
	TOFU_CQ_TOQ_BASE, TOFU_CQ_TCQ_BASE,  TOFU_CQ_MRQ_BASE,
	TOFU_CQ_STT_BASE, TOFU_CQ_STT_COUNT, TOFU_CQ_MBT_BASE,
	TOFU_CQ_MBT_COUNT,
};

static void test_settings_keep(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	uint64_t regs = TOFU_CQ_REGS(3, 11);
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(settings); i++) {
		tofu_vm_reg_set(vm, regs + settings[i], 0x1234500 + i * 0x100);
		g_assert_cmphex(tofu_vm_reg(vm, regs + settings[i]), ==,
				0x1234500 + i * 0x100);
	}
	tofu_vm_reg_set(vm, regs + TOFU_CQ_GPID, 0xffff);
	g_assert_cmphex(tofu_vm_reg(vm, regs + TOFU_CQ_GPID), ==, 0xffff);
	tofu_vm_reg_set(vm, regs + TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_ALL);
	tofu_vm_reg_set(vm, regs + TOFU_CQ_IRQ_ARM, 0);
	g_assert_cmphex(tofu_vm_reg(vm, regs + TOFU_CQ_IRQ_ARM), ==,
			TOFU_CQ_IRQ_ALL);
	g_assert_cmphex(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), ==, 0);
	/* Another CQ has not changed. */
	check_zero(vm, TOFU_CQ_REGS(3, 10), TOFU_CQ_REGS(3, 10) + TOFU_CQ_GPID);
	tofu_vm_stop(vm);
}

static const uint64_t read_only[] = {
	TOFU_REG_ID, TOFU_REG_CAPS, TOFU_REG_NODE, TOFU_REG_COORDS,
	TOFU_REG_SHAPE, TOFU_REG_BAD_ACCESS,
	TOFU_REG_PORT(TOFU_PORT_C, TOFU_PORT_RX_BYTES),
	TOFU_CQ_REGS(0, 0) + TOFU_CQ_STATUS,
	TOFU_CQ_REGS(0, 0) + TOFU_CQ_TOQ_HEAD,
	TOFU_CQ_REGS(0, 0) + TOFU_CQ_TCQ_TAIL,
	TOFU_CQ_REGS(0, 0) + TOFU_CQ_MRQ_TAIL,
	TOFU_CQ_REGS(0, 0) + TOFU_CQ_SESSION,
	TOFU_CQ_REGS(0, 0) + TOFU_CQ_COUNTER(0),
	TOFU_GATE_REGS(3, 47) + TOFU_GATE_STATE,
};

static void test_read_only(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(read_only); i++) {
		uint64_t before = tofu_vm_reg(vm, read_only[i]);

		tofu_vm_reg_set(vm, read_only[i], ~before);
		if (read_only[i] != TOFU_REG_BAD_ACCESS)
			g_assert_cmphex(tofu_vm_reg(vm, read_only[i]), ==,
					before);
		g_assert_cmpuint(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), ==,
				 i + 1);
	}
	tofu_vm_stop(vm);
}

static void test_holes(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	uint64_t bad = 0;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(holes); i++) {
		g_assert_cmphex(tofu_vm_reg(vm, holes[i]), ==, ONES);
		tofu_vm_reg_set(vm, holes[i], 1);
		bad += 2;
		g_assert_cmpuint(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), ==, bad);
	}
	tofu_vm_stop(vm);
}

static void test_wrong_sizes(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	QPCIDevice *dev = vm->dev;
	uint64_t gpid = TOFU_CQ_REGS(0, 0) + TOFU_CQ_GPID;

	g_assert_cmphex(qpci_io_readb(dev, vm->regs, 0), ==, 0xff);
	g_assert_cmphex(qpci_io_readw(dev, vm->regs, 0), ==, 0xffff);
	g_assert_cmphex(qpci_io_readl(dev, vm->regs, 4), ==, 0xffffffff);
	qpci_io_writeb(dev, vm->regs, gpid, 1);
	qpci_io_writew(dev, vm->regs, gpid, 1);
	qpci_io_writel(dev, vm->regs, gpid, 1);
	g_assert_cmphex(tofu_vm_reg(vm, gpid), ==, 0);
	g_assert_cmpuint(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), ==, 6);
	tofu_vm_stop(vm);
}

static void test_unaligned(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	uint64_t gpid = TOFU_CQ_REGS(0, 0) + TOFU_CQ_GPID;

	g_assert_cmphex(tofu_vm_reg(vm, 4), ==, ONES);
	tofu_vm_reg_set(vm, gpid - 4, ONES);
	g_assert_cmphex(tofu_vm_reg(vm, gpid), ==, 0);
	g_assert_cmpuint(tofu_vm_reg(vm, TOFU_REG_BAD_ACCESS), >, 0);
	tofu_vm_stop(vm);
}

/* A system reset resets the controller, too. */
static void test_system_reset(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq;

	tofu_cq_open(&cq, vm, 0, 0);
	tofu_vm_reg(vm, holes[0]);
	qtest_qmp_assert_success(vm->qts, "{'execute': 'system_reset'}");
	qtest_qmp_eventwait(vm->qts, "RESET");
	g_free(vm->dev);
	vm->dev = qpci_device_find(vm->bus, QPCI_DEVFN(TOFU_SLOT, 0));
	vm->regs = qpci_iomap(vm->dev, TOFU_BAR_REGS, NULL);
	qpci_device_enable(vm->dev);
	check_reset_values(vm, true);
	tofu_vm_stop(vm);
}

static void test_migration_is_refused(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	QDict *reply = qtest_qmp(vm->qts, "{'execute': 'migrate',"
				 " 'arguments': {'uri': 'exec:cat'}}");
	QDict *error = qdict_get_qdict(reply, "error");

	g_assert_nonnull(error);
	g_assert_nonnull(strstr(qdict_get_str(error, "desc"),
				"live migration is not supported"));
	qobject_unref(reply);
	tofu_vm_stop(vm);
}

/* Unplugged during work, and plugged again: the same place, a new device */
static void test_unplug(void)
{
	struct tofu_vm *vm = tofu_vm_start(MEMORY, "");
	struct tofu_cq cq;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		tofu_cq_open(&cq, vm, 0, 0);
		qpci_unplug_acpi_device_test(vm->qts, "tofu0", TOFU_SLOT);
		g_free(vm->dev);
		qtest_qmp_device_add(vm->qts, "tofu-pci", "tofu0",
				     "{'addr': '4'}");
		vm->dev = qpci_device_find(vm->bus, QPCI_DEVFN(TOFU_SLOT, 0));
		g_assert_nonnull(vm->dev);
		vm->regs = qpci_iomap(vm->dev, TOFU_BAR_REGS, NULL);
		vm->pages = qpci_iomap(vm->dev, TOFU_BAR_PAGES, NULL);
		qpci_device_enable(vm->dev);
		check_reset_values(vm, true);
	}
	tofu_vm_stop(vm);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	qtest_add_func("tofu/pci/identity", test_identity);
	qtest_add_func("tofu/pci/bars", test_bars);
	qtest_add_func("tofu/pci/tnis", test_tnis);
	qtest_add_func("tofu/regs/reset-values", test_reset_values);
	qtest_add_func("tofu/regs/reset-values-trap", test_trap_values);
	qtest_add_func("tofu/regs/settings-keep", test_settings_keep);
	qtest_add_func("tofu/regs/read-only", test_read_only);
	qtest_add_func("tofu/regs/holes", test_holes);
	qtest_add_func("tofu/regs/wrong-sizes", test_wrong_sizes);
	qtest_add_func("tofu/regs/unaligned", test_unaligned);
	qtest_add_func("tofu/pci/system-reset", test_system_reset);
	qtest_add_func("tofu/pci/migration-is-refused",
		       test_migration_is_refused);
	qtest_add_func("tofu/pci/unplug", test_unplug);
	return g_test_run();
}
