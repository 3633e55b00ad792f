// SPDX-License-Identifier: MIT
/*
 * The scenario without nodes, rings, clocks and promises: all controllers, one
 * network, and a loop that always takes the event of the least time. Nodes must
 * give the same results.
 */
#define _GNU_SOURCE
#include "net/heap.h"
#include "net/network.h"
#include "virtual-util.h"

struct mail {
	struct oracle_node *from;
	uint32_t to;
	struct tofu_packet pkt;
	uint8_t payload[TOFU_PKT_MTU_MAX];
};

struct oracle_node {
	struct oracle *oracle;
	uint32_t number;
	struct home home;
	struct cpu cpu;
	struct mail *open;
	uint64_t seq;
	struct tofu_heap due, credits;
};

struct oracle {
	const struct tofu_preset *machine;
	uint64_t now;
	uint64_t advanced;
	uint32_t nodes;
	struct tofu_net *net;
	struct oracle_node node[VIRTUAL_NODES];
};

/* ---- Calls of a controller ---- */

static int mem_read(void *host, uint64_t addr, void *buf, size_t len)
{
	memcpy(buf, ((struct oracle_node *)host)->home.ram + addr, len);
	return 0;
}

static int mem_write(void *host, uint64_t addr, const void *buf, size_t len)
{
	memcpy(((struct oracle_node *)host)->home.ram + addr, buf, len);
	return 0;
}

static int mem_store64(void *host, uint64_t addr, uint64_t value)
{
	return mem_write(host, addr, &value, sizeof(value));
}

/* The program only adds 8 bytes. */
static int mem_armw(void *host, uint64_t addr, unsigned int size,
		    enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		    uint64_t *old)
{
	uint64_t word;

	(void)compare;
	if (op != TOFU_ARMW_ADD || size != 8)
		abort();
	mem_read(host, addr, old, 8);
	word = *old + operand;
	return mem_write(host, addr, &word, 8);
}

static struct tofu_packet *tx_begin(void *host, uint32_t to,
				    enum tofu_class class_, size_t payload,
				    int *err)
{
	struct oracle_node *node = host;

	(void)class_;
	(void)err;
	node->open = calloc(1, sizeof(*node->open));
	node->open->from = node;
	node->open->to = to;
	node->open->pkt.payload = (uint32_t)payload;
	return &node->open->pkt;
}

static void tx_commit(void *host)
{
	struct oracle_node *node = host;
	struct mail *mail = node->open;
	const struct tofu_net_packet packet = {
		.time = mail->pkt.time,
		.src = node->number,
		.dst = mail->to,
		.seq = node->seq++,
		.path = mail->pkt.path,
		.payload = mail->pkt.payload,
		.cookie = mail,
	};

	mail->pkt.src = node->number;
	if (packet.time < node->oracle->advanced)
		abort();
	tofu_net_send(node->oracle->net, &packet);
}

static bool yes(void *host, uint32_t node, enum tofu_class class_)
{
	(void)host;
	(void)node;
	(void)class_;
	return true;
}

static void fence_begin(void *host)
{
	(void)host;
}

static bool fence_done(void *host)
{
	(void)host;
	return true;
}

static void irq(void *host, unsigned int vector)
{
	(void)vector;
	((struct oracle_node *)host)->home.irqs++;
}

static void misuse(void *host, const char *format, ...)
{
	(void)host;
	(void)format;
}

static uint64_t now(void *host)
{
	return ((struct oracle_node *)host)->oracle->now;
}

static const struct icc_host_ops ops = {
	.read = mem_read,
	.write = mem_write,
	.write_ordered = mem_write,
	.store64 = mem_store64,
	.armw = mem_armw,
	.tx_begin = tx_begin,
	.tx_commit = tx_commit,
	.tx_room = yes,
	.fence_begin = fence_begin,
	.fence_done = fence_done,
	.irq = irq,
	.misuse = misuse,
	.now = now,
};

/* ---- Network ---- */

static void departs(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct oracle *o = ctx;
	const struct mail *mail = packet->cookie;

	/* Pass the engine's number: the packet may be gone by then. */
	tofu_heap_push(&o->node[packet->src].credits,
		       time + tofu_preset_flight_ns(o->machine), packet->seq,
		       (void *)(uintptr_t)mail->pkt.src_tni);
}

static void arrives(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct oracle *o = ctx;

	tofu_heap_push(&o->node[packet->dst].due,
		       time + o->machine->receive_ns,
		       tofu_heap_order(packet->src, packet->seq),
		       packet->cookie);
}

static const struct tofu_net_ops net_ops = { .departs = departs,
					     .arrives = arrives };

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t planned(struct oracle *o)
{
	uint64_t next = UINT64_MAX / 2;

	for (uint32_t n = 0; n < o->nodes; n++) {
		struct oracle_node *node = &o->node[n];

		next = min64(next, node->cpu.next);
		next = min64(next, icc_next_time(node->home.icc));
		next = min64(next, tofu_heap_time(&node->due));
		next = min64(next, tofu_heap_time(&node->credits));
	}
	return next;
}

/* Events found on the way can be due before the present plan. */
static void advance(struct oracle *o)
{
	for (;;) {
		const uint64_t until = min64(
			planned(o) + tofu_preset_answer_ns(o->machine),
			o->advanced + tofu_preset_flight_ns(o->machine));

		if (until <= o->advanced)
			return;
		tofu_net_advance(o->net, until, &net_ops, o);
		o->advanced = until;
		if (tofu_net_idle(o->net))
			return;
	}
}

/* ---- Time ---- */

static void deliver(struct oracle_node *node)
{
	const uint64_t flight = tofu_preset_flight_ns(node->oracle->machine);
	struct mail *mail;

	while (tofu_heap_time(&node->credits) <= node->oracle->now) {
		const uint64_t time = tofu_heap_time(&node->credits) - flight;

		icc_credit(node->home.icc,
			   (unsigned int)(uintptr_t)tofu_heap_pop(
				   &node->credits),
			   time);
	}
	while (tofu_heap_time(&node->due) <= node->oracle->now) {
		mail = tofu_heap_pop(&node->due);
		icc_receive(node->home.icc, &mail->pkt, mail->payload);
		free(mail);
	}
}

static void step(struct oracle_node *node)
{
	const uint64_t time = node->oracle->now;

	deliver(node);
	icc_progress(node->home.icc);
	cpu_wake(&node->cpu, time);
	if (node->cpu.next == time)
		cpu_step(&node->cpu, time);
}

static void ring(struct cpu *cpu, uint64_t tail)
{
	icc_doorbell(cpu->home->icc, HOME_TNI, HOME_CQ, tail);
}

bool home_alone(struct home *home)
{
	memset(home, 0, sizeof(*home));
	home->pages = aligned_alloc(4096, TOFU_PAGES_HALF);
	memset(home->pages, 0, TOFU_PAGES_HALF);
	home->ram = mmap(NULL, HOME_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	home->data = home->ram + HOME_DATA;
	home->page = (void *)(home->pages + TOFU_CQ_PAGE(HOME_TNI, HOME_CQ));
	return home->ram != MAP_FAILED;
}

static void open_node(struct oracle *o, uint32_t number,
		      const struct scenario *scenario, struct seen_log *log)
{
	struct oracle_node *node = &o->node[number];
	struct icc_params params = { .tnis = 1,
				     .node = number,
				     .mtu = o->machine->mtu,
				     .doorbells = true,
				     .machine = o->machine,
				     .ops = &ops,
				     .host = node };

	tofu_shape_parse(scenario->shape, &params.shape);
	node->oracle = o;
	node->number = number;
	if (!home_alone(&node->home))
		abort();
	params.pages = node->home.pages;
	node->home.icc = icc_create(&params);
	if (!node->home.icc)
		abort();
	scenario_enable(scenario, &node->home, number);
	cpu_create(&node->cpu, scenario, &node->home, number, log);
	node->cpu.ring = ring;
}

static void close_node(struct oracle_node *node)
{
	tofu_heap_free(&node->due);
	tofu_heap_free(&node->credits);
	icc_destroy(node->home.icc);
	munmap(node->home.ram, HOME_BYTES);
	free(node->home.pages);
}

/* The counters of the network itself. */
static void see_ports(struct oracle *o, uint32_t number)
{
	struct oracle_node *node = &o->node[number];
	struct tofu_shape *shape = &node->cpu.shape;

	for (int port = 0; port < TOFU_PORTS; port++) {
		const struct tofu_net_link *out =
			tofu_net_link(o->net, number, port);
		const struct tofu_net_link *in =
			tofu_net_link_in(o->net, number, port);
		const uint64_t value[] = { out->packets, out->bytes,
					   in->packets, in->bytes,
					   out->wait_ns };

		(void)shape;
		for (int c = 0; c < TOFU_PORT_COUNTERS; c++)
			seen_add(node->cpu.log, SCENARIO_END, SEEN_PORT,
				 value[c]);
	}
}

void oracle_run(const struct scenario *scenario, struct seen_log *log)
{
	struct oracle *o = calloc(1, sizeof(*o));
	struct tofu_shape shape;

	tofu_shape_parse(scenario->shape, &shape);
	o->nodes = tofu_shape_nodes(&shape);
	o->machine = tofu_preset_find(scenario->machine);
	o->net = tofu_net_create(&shape, o->machine);
	for (uint32_t n = 0; n < o->nodes; n++)
		open_node(o, n, scenario, &log[n]);
	for (;;) {
		advance(o);
		o->now = planned(o);
		if (o->now >= SCENARIO_END)
			break;
		for (uint32_t n = 0; n < o->nodes; n++)
			step(&o->node[n]);
	}
	for (uint32_t n = 0; n < o->nodes; n++) {
		see_ports(o, n);
		close_node(&o->node[n]);
	}
	tofu_net_destroy(o->net);
	free(o);
}
