/* SPDX-License-Identifier: MIT */
/*
 * A guest without a processor.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "../libqos/pci-pc.h"
#include "fabric/fabric.h"
#include "tofu-vm.h"

#define PAGE 4096ULL
#define FIRST_FREE 0x200000ULL
/* A test fails without an answer in this time: nothing is measured here. */
#define PATIENCE_US (20 * G_USEC_PER_SEC)

static char *firmware_path;

static void firmware_remove(void)
{
	unlink(firmware_path);
}

const char *tofu_vm_firmware(void)
{
	int fd;

	if (firmware_path)
		return firmware_path;
	fd = g_file_open_tmp("tofu-qtest-XXXXXX", &firmware_path, NULL);
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, 0x10000), ==, 0);
	close(fd);
	atexit(firmware_remove);
	return firmware_path;
}

char *tofu_vm_args(const char *memory, const char *props)
{
	return g_strdup_printf(
		"-nodefaults -machine pc,memory-backend=mem0 "
		"-global apic-common.vapic=off -bios %s "
		"-m %s -object memory-backend-memfd,id=mem0,size=%s,share=on "
		"-device tofu-pci,id=tofu0,addr=%d%s",
		tofu_vm_firmware(), memory, memory, TOFU_SLOT, props);
}

char *tofu_fabric_make(const char *text)
{
	struct tofu_shape shape;
	int fd = memfd_create("tofu-fabric", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(tofu_shape_parse(text, &shape), ==, 0);
	g_assert_cmpint(tofu_fabric_format(fd, &shape, 1), ==, 0);
	return g_strdup_printf("/proc/%d/fd/%d", getpid(), fd);
}

struct tofu_vm *tofu_vm_start(const char *memory, const char *props)
{
	g_autofree char *args = tofu_vm_args(memory, props);
	struct tofu_vm *vm = g_new0(struct tofu_vm, 1);

	vm->qts = qtest_init(args);
	vm->bus = qpci_new_pc(vm->qts, NULL);
	vm->dev = qpci_device_find(vm->bus, QPCI_DEVFN(TOFU_SLOT, 0));
	g_assert_nonnull(vm->dev);
	vm->regs = qpci_iomap(vm->dev, TOFU_BAR_REGS, &vm->regs_size);
	vm->pages = qpci_iomap(vm->dev, TOFU_BAR_PAGES, &vm->pages_size);
	vm->trap = strstr(props, "trap=on") != NULL;
	vm->next = FIRST_FREE;
	qpci_device_enable(vm->dev);
	return vm;
}

static void vm_free(struct tofu_vm *vm)
{
	g_free(vm->dev);
	qpci_free_pc(vm->bus);
	g_free(vm);
}

void tofu_vm_stop(struct tofu_vm *vm)
{
	qtest_quit(vm->qts);
	vm_free(vm);
}

void tofu_vm_kill(struct tofu_vm *vm, pid_t pid)
{
	int status;

	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFSIGNALED(status));
	/* The rest of qtest_quit() fails for a QEMU that was killed. */
	qtest_remove_abrt_handler(vm->qts);
	vm_free(vm);
}

uint64_t tofu_vm_alloc(struct tofu_vm *vm, size_t len)
{
	uint64_t addr = vm->next;

	qtest_memset(vm->qts, addr, 0, len);
	vm->next += ROUND_UP(len, PAGE);
	return addr;
}

uint64_t tofu_vm_reg(struct tofu_vm *vm, uint64_t offset)
{
	return qpci_io_readq(vm->dev, vm->regs, offset);
}

void tofu_vm_reg_set(struct tofu_vm *vm, uint64_t offset, uint64_t value)
{
	qpci_io_writeq(vm->dev, vm->regs, offset, value);
}

/* Gives the device a little time; false when patience is exhausted. */
static bool pause_until(int64_t end)
{
	g_usleep(50);
	return g_get_monotonic_time() < end;
}

void tofu_vm_reg_wait(struct tofu_vm *vm, uint64_t offset, uint64_t mask,
		      uint64_t value)
{
	int64_t end = g_get_monotonic_time() + PATIENCE_US;

	while ((tofu_vm_reg(vm, offset) & mask) != value)
		g_assert_true(pause_until(end));
}

void tofu_vm_master(struct tofu_vm *vm, bool on)
{
	uint16_t cmd = qpci_config_readw(vm->dev, PCI_COMMAND);

	cmd &= ~PCI_COMMAND_MASTER;
	qpci_config_writew(vm->dev, PCI_COMMAND,
			   cmd | (on ? PCI_COMMAND_MASTER : 0));
}

uint64_t tofu_cq_reg(struct tofu_cq *cq, uint64_t offset)
{
	return tofu_vm_reg(cq->vm, TOFU_CQ_REGS(cq->tni, cq->cq) + offset);
}

void tofu_cq_reg_set(struct tofu_cq *cq, uint64_t offset, uint64_t value)
{
	tofu_vm_reg_set(cq->vm, TOFU_CQ_REGS(cq->tni, cq->cq) + offset, value);
}

static uint64_t page_at(const struct tofu_cq *cq, size_t offset)
{
	return TOFU_CQ_PAGE(cq->tni, cq->cq) + offset;
}

/* Stores to the software's part of the CQ page. */
static void page_store(struct tofu_cq *cq, size_t offset, uint64_t value)
{
	qpci_io_writeq(cq->vm->dev, cq->vm->pages, page_at(cq, offset), value);
}

void tofu_cq_prepare(struct tofu_cq *cq, struct tofu_vm *vm, unsigned int tni,
		     unsigned int number)
{
	const uint64_t entries = TOFU_RING_ENTRIES(0);

	*cq = (struct tofu_cq) {
		.vm = vm,
		.tni = tni,
		.cq = number,
		.toq = tofu_vm_alloc(vm, entries * 32),
		.tcq = tofu_vm_alloc(vm, entries * 8),
		.mrq = tofu_vm_alloc(vm, entries * 32),
		.stt = tofu_vm_alloc(vm, TOFU_VM_STAGS * 32),
		.mbt = tofu_vm_alloc(vm, TOFU_VM_STAGS * 32),
	};
	page_store(cq, offsetof(struct tofu_cq_page, fetch_start), 0);
	page_store(cq, offsetof(struct tofu_cq_page, mrq_full_pointer), 0);
	tofu_cq_reg_set(cq, TOFU_CQ_TOQ_BASE, cq->toq);
	tofu_cq_reg_set(cq, TOFU_CQ_TCQ_BASE, cq->tcq);
	tofu_cq_reg_set(cq, TOFU_CQ_MRQ_BASE, cq->mrq);
	tofu_cq_reg_set(cq, TOFU_CQ_RINGS, 0);
	tofu_cq_reg_set(cq, TOFU_CQ_STT_BASE, cq->stt);
	tofu_cq_reg_set(cq, TOFU_CQ_STT_COUNT, TOFU_VM_STAGS);
	tofu_cq_reg_set(cq, TOFU_CQ_MBT_BASE, cq->mbt);
	tofu_cq_reg_set(cq, TOFU_CQ_MBT_COUNT, TOFU_VM_STAGS);
	tofu_cq_reg_set(cq, TOFU_CQ_GPID, TOFU_VM_GPID);
}

void tofu_cq_open(struct tofu_cq *cq, struct tofu_vm *vm, unsigned int tni,
		  unsigned int number)
{
	tofu_cq_prepare(cq, vm, tni, number);
	tofu_cq_reg_set(cq, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	g_assert_cmphex(tofu_cq_reg(cq, TOFU_CQ_STATUS), ==,
			TOFU_CQ_STATUS_ENABLED);
}

void tofu_cq_register(struct tofu_cq *cq, unsigned int stag, uint64_t addr,
		      uint64_t len, uint64_t flags)
{
	struct tofu_vm *vm = cq->vm;
	uint64_t pages = DIV_ROUND_UP(len, PAGE);
	struct tofu_memory_block block = {
		.ctrl = cpu_to_le64(TOFU_SET(TOFU_MB_ENABLE, 1) |
				    TOFU_SET(TOFU_MB_PAGE_SHIFT, 12)),
		.table = cpu_to_le64(tofu_vm_alloc(vm, pages * 8)),
		.npage = cpu_to_le64(pages),
	};
	struct tofu_steering steering = {
		.ctrl = cpu_to_le64(TOFU_SET(TOFU_STEERING_ENABLE, 1) |
				    TOFU_SET(TOFU_STEERING_MBID, stag) | flags),
		.length = cpu_to_le64(len),
	};
	uint64_t i;

	g_assert_cmpuint(stag, <, TOFU_VM_STAGS);
	for (i = 0; i < pages; i++)
		qtest_writeq(vm->qts, le64_to_cpu(block.table) + i * 8,
			     addr + i * PAGE);
	qtest_memwrite(vm->qts, cq->mbt + stag * 32, &block, sizeof(block));
	qtest_memwrite(vm->qts, cq->stt + stag * 32, &steering,
		       sizeof(steering));
}

static uint64_t slot(const struct tofu_cq *cq, uint64_t index)
{
	return cq->toq + index % TOFU_RING_ENTRIES(0) * 32;
}

void tofu_cq_write(struct tofu_cq *cq, const struct tofu_toq_desc *desc,
		   const struct tofu_toq_data *data)
{
	QTestState *qts = cq->vm->qts;
	struct tofu_toq_desc first = *desc;

	first.ctrl |= cpu_to_le64(
		TOFU_SET(TOFU_TOQ_FLIP, tofu_ring_flip(cq->toq_tail, 0)));
	qtest_memwrite(qts, slot(cq, cq->toq_tail++), &first, sizeof(first));
	if (data)
		qtest_memwrite(qts, slot(cq, cq->toq_tail++), data,
			       sizeof(*data));
}

static void kick(struct tofu_cq *cq, uint32_t need, uint64_t offset)
{
	struct tofu_vm *vm = cq->vm;
	uint32_t wanted = qpci_io_readl(
		vm->dev, vm->pages,
		page_at(cq, offsetof(struct tofu_cq_page, need_kick)));

	if (wanted & need)
		qpci_io_writel(vm->dev, vm->pages,
			       TOFU_KICK_PAGE(cq->tni, cq->cq) + offset, 1);
}

void tofu_cq_ring(struct tofu_cq *cq)
{
	page_store(cq, offsetof(struct tofu_cq_page, fetch_start),
		   cq->toq_tail);
	/* Where the page traps, the store was the doorbell. */
	if (!cq->vm->trap)
		kick(cq, TOFU_NEED_KICK_TAIL, TOFU_KICK_TAIL);
}

void tofu_cq_post(struct tofu_cq *cq, const struct tofu_toq_desc *desc,
		  const struct tofu_toq_data *data)
{
	tofu_cq_write(cq, desc, data);
	tofu_cq_ring(cq);
}

static bool tcq_ready(struct tofu_cq *cq, uint64_t *entry)
{
	uint64_t index = cq->tcq_head % TOFU_RING_ENTRIES(0);

	*entry = qtest_readq(cq->vm->qts, cq->tcq + index * 8);
	return TOFU_GET(*entry, TOFU_TCQ_FLIP) ==
	       tofu_ring_flip(cq->tcq_head, 0);
}

static bool mrq_ready(struct tofu_cq *cq, struct tofu_mrq_entry *entry)
{
	uint64_t index = cq->mrq_head % TOFU_RING_ENTRIES(0);

	qtest_memread(cq->vm->qts, cq->mrq + index * 32, entry,
		      sizeof(*entry));
	return TOFU_GET(le64_to_cpu(entry->ctrl), TOFU_MRQ_FLIP) ==
	       tofu_ring_flip(cq->mrq_head, 0);
}

uint64_t tofu_cq_wait_tcq(struct tofu_cq *cq)
{
	int64_t end = g_get_monotonic_time() + PATIENCE_US;
	uint64_t entry;

	while (!tcq_ready(cq, &entry)) {
		kick(cq, TOFU_NEED_KICK_POLL, TOFU_KICK_POLL);
		g_assert_true(pause_until(end));
	}
	cq->tcq_head++;
	return entry;
}

struct tofu_mrq_entry tofu_cq_wait_mrq(struct tofu_cq *cq)
{
	int64_t end = g_get_monotonic_time() + PATIENCE_US;
	struct tofu_mrq_entry entry;

	while (!mrq_ready(cq, &entry)) {
		kick(cq, TOFU_NEED_KICK_POLL, TOFU_KICK_POLL);
		g_assert_true(pause_until(end));
	}
	cq->mrq_head++;
	page_store(cq, offsetof(struct tofu_cq_page, mrq_full_pointer),
		   cq->mrq_head);
	return entry;
}

bool tofu_cq_idle(struct tofu_cq *cq)
{
	struct tofu_mrq_entry notice;
	uint64_t entry;

	return !tcq_ready(cq, &entry) && !mrq_ready(cq, &notice);
}

uint64_t tofu_toq_ctrl(enum tofu_command cmd, unsigned int flags)
{
	return TOFU_SET(TOFU_TOQ_CMD, cmd) | TOFU_SET(TOFU_TOQ_FLAGS, flags);
}

uint64_t tofu_cq_route(const struct tofu_cq *to, uint64_t coords,
		       uint64_t length)
{
	return TOFU_SET(TOFU_ROUTE_COORDS, coords) |
	       TOFU_SET(TOFU_ROUTE_TNI, to->tni) |
	       TOFU_SET(TOFU_ROUTE_LENGTH, length);
}

uint64_t tofu_cq_addr(const struct tofu_cq *cq, unsigned int stag,
		      uint64_t offset)
{
	return TOFU_SET(TOFU_ADDR_CQ, cq->cq) |
	       TOFU_SET(TOFU_ADDR_STAG, stag) |
	       TOFU_SET(TOFU_ADDR_OFFSET, offset);
}
