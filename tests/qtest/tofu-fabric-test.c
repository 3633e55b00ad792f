/* SPDX-License-Identifier: MIT */
/*
 * Two QEMUs on one fabric.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "fabric/fabric.h"
#include "tofu-vm.h"

#define SMALL "256M"
#define LEN 16384
#define STAG 1

/**
 * struct node - a node of a machine, with a CQ that has one region
 * @coords: coordinates of the node
 * @mem: LEN bytes, STAG of @cq
 */
struct node {
	struct tofu_vm *vm;
	struct tofu_cq cq;
	uint64_t coords;
	uint64_t mem;
};

static void node_register(struct node *node, uint64_t mem)
{
	node->mem = mem;
	tofu_cq_register(&node->cq, STAG, mem, LEN, 0);
}

static struct node node_start(const char *fabric, unsigned int number,
			      const char *memory, const char *more)
{
	g_autofree char *props = g_strdup_printf(",fabric=%s,node=%u%s", fabric,
						 number, more);
	struct node node = { .vm = tofu_vm_start(memory, props) };

	g_assert_cmphex(tofu_vm_reg(node.vm, TOFU_REG_NODE), ==,
			number | 2ULL << 32);
	node.coords = tofu_vm_reg(node.vm, TOFU_REG_COORDS);
	tofu_cq_open(&node.cq, node.vm, 0, number);
	node_register(&node, tofu_vm_alloc(node.vm, LEN));
	return node;
}

static void fill(const struct node *node, uint8_t seed)
{
	g_autofree uint8_t *bytes = g_malloc(LEN);
	size_t i;

	for (i = 0; i < LEN; i++)
		bytes[i] = seed + i * 13 + (i >> 8);
	qtest_memwrite(node->vm->qts, node->mem, bytes, LEN);
}

static void expect_equal(const struct node *a, const struct node *b, size_t len)
{
	g_autofree uint8_t *x = g_malloc(len);
	g_autofree uint8_t *y = g_malloc(len);

	qtest_memread(a->vm->qts, a->mem, x, len);
	qtest_memread(b->vm->qts, b->mem, y, len);
	g_assert_cmpmem(x, len, y, len);
}

static void post(struct node *from, const struct node *to,
		 enum tofu_command cmd, uint64_t length)
{
	struct tofu_toq_desc desc = {
		.ctrl = cpu_to_le64(tofu_toq_ctrl(
			cmd, TOFU_TOQ_F_LCL_NOTICE | TOFU_TOQ_F_RMT_NOTICE)),
		.route = cpu_to_le64(
			tofu_cq_route(&to->cq, to->coords, length)),
		.rmt = cpu_to_le64(tofu_cq_addr(&to->cq, STAG, 0)),
		.lcl = cpu_to_le64(tofu_cq_addr(&from->cq, STAG, 0)),
	};

	tofu_cq_post(&from->cq, &desc, NULL);
}

static void expect(struct node *node, enum tofu_mrq_type type,
		   enum tofu_status status)
{
	struct tofu_mrq_entry entry = tofu_cq_wait_mrq(&node->cq);
	uint64_t ctrl = le64_to_cpu(entry.ctrl);

	g_assert_cmpuint(TOFU_GET(ctrl, TOFU_MRQ_TYPE), ==, type);
	g_assert_cmpuint(TOFU_GET(ctrl, TOFU_MRQ_STATUS), ==, status);
}

static void check_put(struct node *from, struct node *to, size_t len)
{
	fill(from, len);
	post(from, to, TOFU_CMD_PUT, len);
	expect(from, TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	expect(to, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	expect_equal(from, to, len);
}

static void check_get(struct node *to, struct node *from, size_t len)
{
	fill(from, len + 1);
	post(to, from, TOFU_CMD_GET, len);
	expect(to, TOFU_MRQ_LCL_GET, TOFU_ST_OK);
	expect(from, TOFU_MRQ_RMT_GET, TOFU_ST_OK);
	expect_equal(from, to, len);
}

static void check_both_ways(struct node *a, struct node *b)
{
	check_put(a, b, 64);
	check_put(b, a, LEN);
	check_put(a, b, LEN);
	check_get(a, b, 64);
	check_get(b, a, LEN);
	check_get(a, b, LEN);
}

static void test_exchange(const void *props)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, props);
	struct node b = node_start(fabric, 1, SMALL, props);

	check_both_ways(&a, &b);
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

static pid_t node_pid(const char *path, unsigned int number)
{
	struct tofu_fabric_report report;
	struct tofu_fabric *fabric;

	g_assert_cmpint(tofu_fabric_observe(path, &fabric), ==, 0);
	tofu_fabric_report(fabric, number, &report);
	tofu_fabric_detach(fabric);
	g_assert_cmpint(report.pid, >, 1);
	return report.pid;
}

/* Returns when all its threads have stopped. */
static void node_halt(pid_t pid)
{
	int status;

	g_assert_cmpint(kill(pid, SIGSTOP), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, WUNTRACED), ==, pid);
	g_assert_true(WIFSTOPPED(status));
}

/* Kicks come while the node's thread sleeps, works or has just woken. */
static void test_stream(const void *props)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, props);
	struct node b = node_start(fabric, 1, SMALL, props);
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		post(&a, &b, TOFU_CMD_PUT, i % 2 ? 8 : LEN);
		if (i % 3 == 0)
			g_usleep(i);
		expect(&b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
		expect(&a, TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	}
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

static void test_absent(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, "");
	struct node b = node_start(fabric, 1, SMALL, "");

	tofu_vm_stop(b.vm);
	post(&a, &b, TOFU_CMD_PUT, 8);
	expect(&a, TOFU_MRQ_LCL_PUT, TOFU_ST_PEER);
	post(&a, &b, TOFU_CMD_GET, LEN);
	expect(&a, TOFU_MRQ_LCL_GET, TOFU_ST_PEER);

	/* Another takes its place, and everything works again. */
	b = node_start(fabric, 1, SMALL, "");
	check_both_ways(&a, &b);
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

static void test_killed(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, "");
	struct node b = node_start(fabric, 1, SMALL, "");
	pid_t pid = node_pid(fabric, 1);

	check_put(&a, &b, LEN);
	node_halt(pid);
	post(&a, &b, TOFU_CMD_PUT, LEN);
	post(&a, &b, TOFU_CMD_GET, 64);
	tofu_vm_reg_wait(a.vm, TOFU_CQ_REGS(0, 0) + TOFU_CQ_TOQ_HEAD,
			 UINT64_MAX, 3);
	g_assert_true(tofu_cq_idle(&a.cq));
	tofu_vm_kill(b.vm, pid);
	expect(&a, TOFU_MRQ_LCL_PUT, TOFU_ST_PEER);
	expect(&a, TOFU_MRQ_LCL_GET, TOFU_ST_PEER);
	g_assert_true(tofu_cq_idle(&a.cq));
	tofu_vm_stop(a.vm);
}

/* With a command in flight a CQ stays disabled, and a reset waits. */
static void test_reset_in_flight(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, "");
	struct node b = node_start(fabric, 1, SMALL, "");
	pid_t pid = node_pid(fabric, 1);

	check_put(&a, &b, LEN);
	node_halt(pid);
	post(&a, &b, TOFU_CMD_PUT, LEN);
	tofu_vm_reg_wait(a.vm, TOFU_CQ_REGS(0, 0) + TOFU_CQ_TOQ_HEAD,
			 UINT64_MAX, 2);
	tofu_cq_reg_set(&a.cq, TOFU_CQ_CTRL, 0);
	tofu_cq_reg_set(&a.cq, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	g_assert_cmphex(tofu_cq_reg(&a.cq, TOFU_CQ_STATUS), ==,
			TOFU_CQ_STATUS_BAD_CONFIG);
	tofu_vm_reg_set(a.vm, TOFU_REG_CTRL, TOFU_CTRL_RESET);
	g_assert_cmphex(tofu_vm_reg(a.vm, TOFU_REG_CTRL), ==, TOFU_CTRL_RESET);

	kill(pid, SIGCONT);
	tofu_vm_reg_wait(a.vm, TOFU_REG_CTRL, UINT64_MAX, 0);
	/* The put itself was carried out: only its sender has forgotten it. */
	expect(&b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	tofu_cq_open(&a.cq, a.vm, 0, 0);
	node_register(&a, a.mem);
	check_both_ways(&a, &b);
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

/* A machine that is reset first lets others read what it has sent them. */
static void test_machine_reset_in_flight(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, "");
	struct node b = node_start(fabric, 1, SMALL, "");
	pid_t pid = node_pid(fabric, 1);
	pid_t waker;

	fill(&a, 77);
	node_halt(pid);
	post(&a, &b, TOFU_CMD_PUT, LEN);
	tofu_vm_reg_wait(a.vm, TOFU_CQ_REGS(0, 0) + TOFU_CQ_TOQ_HEAD,
			 UINT64_MAX, 1);
	waker = fork();
	if (!waker) {
		g_usleep(20000);
		_exit(kill(pid, SIGCONT));
	}
	qtest_qmp_assert_success(a.vm->qts, "{'execute': 'system_reset'}");
	qtest_qmp_eventwait(a.vm->qts, "RESET");
	fill(&a, 78); /* what the machine does next with its memory */
	g_assert_cmpint(waitpid(waker, NULL, 0), ==, waker);
	expect(&b, TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	fill(&a, 77);
	expect_equal(&a, &b, LEN);
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

static void node_unplug(struct node *node)
{
	qpci_unplug_acpi_device_test(node->vm->qts, "tofu0", TOFU_SLOT);
	g_free(node->vm->dev);
}

static void node_plug(struct node *node, const char *fabric, int number)
{
	struct tofu_vm *vm = node->vm;

	qtest_qmp_device_add(vm->qts, "tofu-pci", "tofu0",
			     "{'addr': '4', 'fabric': %s, 'node': %d}", fabric,
			     number);
	vm->dev = qpci_device_find(vm->bus, QPCI_DEVFN(TOFU_SLOT, 0));
	g_assert_nonnull(vm->dev);
	vm->regs = qpci_iomap(vm->dev, TOFU_BAR_REGS, NULL);
	vm->pages = qpci_iomap(vm->dev, TOFU_BAR_PAGES, NULL);
	qpci_device_enable(vm->dev);
	tofu_cq_open(&node->cq, vm, 0, (unsigned int)number);
	node_register(node, node->mem);
}

/*
 * The local ends of @count puts, among notices of what others have put; they get
 * PEER, or perhaps have been carried out before @down
 */
static void expect_ends(struct node *node, unsigned int count, bool down)
{
	while (count) {
		struct tofu_mrq_entry entry = tofu_cq_wait_mrq(&node->cq);
		const uint64_t ctrl = le64_to_cpu(entry.ctrl);
		const uint64_t status = TOFU_GET(ctrl, TOFU_MRQ_STATUS);

		if (TOFU_GET(ctrl, TOFU_MRQ_TYPE) != TOFU_MRQ_LCL_PUT)
			continue;
		g_assert_true(status == TOFU_ST_PEER ||
			      (status == TOFU_ST_OK && !down));
		count--;
	}
}

/* The device goes while both nodes ring; then while the other stands still. */
static void test_unplug_in_flight(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, SMALL, "");
	struct node b = node_start(fabric, 1, SMALL, "");
	pid_t pid = node_pid(fabric, 1);

	for (unsigned int round = 0; round < 6; round++) {
		const bool still = round % 2;

		check_both_ways(&a, &b);
		for (unsigned int i = 0; i < 4; i++)
			post(&b, &a, TOFU_CMD_PUT, LEN);
		if (still)
			node_halt(pid);
		for (unsigned int i = 0; i < 4; i++)
			post(&a, &b, TOFU_CMD_PUT, LEN);
		node_unplug(&a);
		if (still)
			kill(pid, SIGCONT);
		expect_ends(&b, 4, false);
		post(&b, &a, TOFU_CMD_PUT, LEN);
		expect_ends(&b, 1, true);
		tofu_cq_reg_set(&b.cq, TOFU_CQ_CTRL, 0);
		tofu_vm_reg_set(b.vm, TOFU_REG_CTRL, TOFU_CTRL_RESET);
		tofu_vm_reg_wait(b.vm, TOFU_REG_CTRL, UINT64_MAX, 0);
		node_plug(&a, fabric, 0);
		tofu_cq_open(&b.cq, b.vm, 0, 1);
		node_register(&b, b.mem);
	}
	check_both_ways(&a, &b);
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

/**
 * struct split - a memory size, and the last LEN bytes of its RAM
 * @below: below the hole under 4 GiB
 * @above: above it, or 0
 */
struct split {
	const char *memory;
	uint64_t below;
	uint64_t above;
};

#define GIB (1ULL << 30)

static const struct split splits[] = {
	{ "2G", 2 * GIB - LEN, 0 },
	{ "3G", 3 * GIB - LEN, 0 },
	{ "5G", 3 * GIB - LEN, 6 * GIB - LEN },
};

/* Another node can reach every byte of a big guest's memory. */
static void test_memory(const void *data)
{
	const struct split *split = data;
	g_autofree char *fabric = tofu_fabric_make("2");
	struct node a = node_start(fabric, 0, split->memory, "");
	struct node b = node_start(fabric, 1, SMALL, "");

	node_register(&a, split->below);
	check_both_ways(&a, &b);
	if (split->above) {
		node_register(&a, split->above);
		check_both_ways(&a, &b);
		node_register(&a, 4 * GIB);
		check_both_ways(&a, &b);
	}

	/* The next byte is out of reach: the last page is no memory. */
	node_register(&a, (split->above ?: split->below) + 4096);
	post(&b, &a, TOFU_CMD_PUT, LEN);
	expect(&b, TOFU_MRQ_LCL_PUT, TOFU_ST_RMT_MEMORY);
	post(&b, &a, TOFU_CMD_GET, LEN);
	expect(&b, TOFU_MRQ_LCL_GET, TOFU_ST_RMT_MEMORY);
	tofu_vm_stop(a.vm);
	tofu_vm_stop(b.vm);
}

int main(int argc, char **argv)
{
	size_t i;

	g_test_init(&argc, &argv, NULL);
	qtest_add_data_func("tofu/fabric/exchange", "", test_exchange);
	qtest_add_data_func("tofu/fabric/exchange-assist", ",assist=on",
			    test_exchange);
	qtest_add_data_func("tofu/fabric/exchange-by-reference",
			    ",inline-max=0", test_exchange);
	qtest_add_data_func("tofu/fabric/stream", "", test_stream);
	qtest_add_data_func("tofu/fabric/stream-assist", ",assist=on",
			    test_stream);
	qtest_add_func("tofu/fabric/absent", test_absent);
	qtest_add_func("tofu/fabric/killed", test_killed);
	qtest_add_func("tofu/fabric/reset-in-flight", test_reset_in_flight);
	qtest_add_func("tofu/fabric/machine-reset-in-flight",
		       test_machine_reset_in_flight);
	qtest_add_func("tofu/fabric/unplug-in-flight", test_unplug_in_flight);
	for (i = 0; i < G_N_ELEMENTS(splits); i++) {
		g_autofree char *path = g_strdup_printf("tofu/fabric/memory-%s",
							splits[i].memory);

		qtest_add_data_func(path, &splits[i], test_memory);
	}
	return g_test_run();
}
