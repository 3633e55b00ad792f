/* SPDX-License-Identifier: MIT */
/*
 * PCI Express: the capability, the extended configuration space, and the
 * function's reset. The machine is that of a cluster's nodes.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "tofu-vm.h"

/* Configuration space and memory of the microvm machine's PCI bus */
#define ECAM 0xe0000000ULL
#define WINDOW 0xc0000000ULL
#define SLOT 4
#define CONFIG (ECAM + (SLOT << 15))

static QTestState *express_start(void)
{
	return qtest_initf("-nodefaults -machine microvm,pcie=on -bios %s "
			   "-device tofu-pci,addr=%d", tofu_vm_firmware(),
			   SLOT);
}

static unsigned int express_cap(QTestState *qts)
{
	unsigned int at = qtest_readb(qts, CONFIG + PCI_CAPABILITY_LIST);

	while (at && qtest_readb(qts, CONFIG + at) != PCI_CAP_ID_EXP)
		at = qtest_readb(qts, CONFIG + at + PCI_CAP_LIST_NEXT);
	g_assert_cmpuint(at, !=, 0);
	return at;
}

static void map_registers(QTestState *qts)
{
	qtest_writel(qts, CONFIG + PCI_BASE_ADDRESS_0, WINDOW);
	qtest_writew(qts, CONFIG + PCI_COMMAND,
		     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void test_capability(void)
{
	QTestState *qts = express_start();
	unsigned int at = express_cap(qts);
	unsigned int type = qtest_readw(qts, CONFIG + at + PCI_EXP_FLAGS);

	g_assert_cmphex(qtest_readl(qts, CONFIG), ==,
			TOFU_PCI_VENDOR_ID | TOFU_PCI_DEVICE_ID << 16);
	/* An endpoint on the root bus is an integrated one. */
	g_assert_cmphex((type & PCI_EXP_FLAGS_TYPE) >> 4, ==,
			PCI_EXP_TYPE_RC_END);
	g_assert_cmphex(qtest_readl(qts, CONFIG + at + PCI_EXP_DEVCAP) &
			PCI_EXP_DEVCAP_FLR, ==, PCI_EXP_DEVCAP_FLR);
	/* Present, and empty */
	g_assert_cmphex(qtest_readl(qts, CONFIG + 0x100), ==, 0);
	qtest_quit(qts);
}

static void test_function_reset(void)
{
	QTestState *qts = express_start();
	unsigned int control = express_cap(qts) + PCI_EXP_DEVCTL;
	const uint64_t gpid = WINDOW + TOFU_CQ_REGS(3, 7) + TOFU_CQ_GPID;

	map_registers(qts);
	qtest_writeq(qts, gpid, 42);
	g_assert_cmpuint(qtest_readq(qts, gpid), ==, 42);
	qtest_writew(qts, CONFIG + control, PCI_EXP_DEVCTL_BCR_FLR);
	/* The reset clears the configuration and the registers. */
	g_assert_cmphex(qtest_readw(qts, CONFIG + PCI_COMMAND), ==, 0);
	map_registers(qts);
	g_assert_cmpuint(qtest_readq(qts, gpid), ==, 0);
	g_assert_cmpuint(qtest_readq(qts, WINDOW + TOFU_REG_CTRL), ==, 0);
	qtest_quit(qts);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	qtest_add_func("tofu/express/capability", test_capability);
	qtest_add_func("tofu/express/function-reset", test_function_reset);
	return g_test_run();
}
