// SPDX-License-Identifier: MIT
/*
 * The scenario without nodes, rings, clocks and promises: all controllers in
 * the loop of tofu-sim, with the scenario's processors for programs. Nodes must
 * give the same results.
 */
#define _GNU_SOURCE
#include "virtual-util.h"

#include "sim/sim.h"

#define STACK (64UL << 10)

/**
 * struct oracle_node - a processor and its memory
 * @home: its pages and its controller are the simulated node's
 */
struct oracle_node {
	struct home home;
	struct cpu cpu;
};

struct oracle {
	const struct scenario *scenario;
	struct seen_log *log;
	struct oracle_node node[VIRTUAL_NODES];
};

static struct oracle_node *of(const struct sim_node *node)
{
	struct oracle *oracle = node->sim->params.program;

	return &oracle->node[node->number];
}

/* ---- The software of a node ---- */

static int run(struct sim_node *node)
{
	struct cpu *cpu = &of(node)->cpu;

	while (node->now < SCENARIO_END) {
		const uint64_t next =
			cpu->next < SCENARIO_END ? cpu->next : SCENARIO_END;

		sim_spend(node, next - node->now);
		cpu_wake(cpu, node->now);
		if (cpu->next == node->now && node->now < SCENARIO_END)
			cpu_step(cpu, node->now);
	}
	return 0;
}

static void enter(struct sim_node *node)
{
	(void)node;
}

/* Bus addresses are offsets. */
static void *place(struct sim_node *node, uint64_t addr, size_t *len)
{
	return home_map(&of(node)->home, addr, len, true);
}

/* The program goes on at once, and looks whether it waited for that. */
static void irq(struct sim_node *node)
{
	of(node)->home.irqs++;
	node->wake = node->now;
}

static const struct sim_software software = {
	.run = run,
	.enter = enter,
	.place = place,
	.irq = irq,
};

static void ring(struct cpu *cpu, uint64_t tail)
{
	icc_doorbell(cpu->home->icc, HOME_TNI, HOME_CQ, tail);
}

/* ---- Life ---- */

static void open_node(struct oracle *o, struct sim_node *sim_node)
{
	struct oracle_node *node = of(sim_node);
	const uint32_t number = sim_node->number;

	if (!home_alone(&node->home, sim_node->soft.pages))
		abort();
	node->home.icc = sim_node->soft.icc;
	scenario_enable(o->scenario, &node->home, number);
	cpu_create(&node->cpu, o->scenario, &node->home, number,
		   &o->log[number]);
	node->cpu.ring = ring;
}

/* The counters of the network itself. */
static void see_ports(const struct sim *sim, uint32_t number,
		      struct seen_log *log)
{
	for (int port = 0; port < TOFU_PORTS; port++) {
		const struct tofu_net_link *out =
			tofu_net_link(sim->net, number, port);
		const struct tofu_net_link *in =
			tofu_net_link_in(sim->net, number, port);
		const uint64_t value[] = { out->packets, out->bytes,
					   in->packets, in->bytes,
					   out->wait_ns };

		for (int c = 0; c < TOFU_PORT_COUNTERS; c++)
			seen_add(log, SCENARIO_END, SEEN_PORT, value[c]);
	}
}

static struct sim *machine(struct oracle *o, const char *folder)
{
	struct sim_params params = {
		.machine = tofu_preset_find(o->scenario->machine),
		.tnis = 1,
		.armw = true,
		.stack = STACK,
		.software = &software,
		.program = o,
		.trace = folder,
	};
	struct sim *sim;
	char *why;

	tofu_shape_parse(o->scenario->shape, &params.shape);
	params.nodes = tofu_shape_nodes(&params.shape);
	params.count = params.nodes;
	if (params.nodes > VIRTUAL_NODES || sim_create(&params, &sim, &why))
		abort();
	return sim;
}

void oracle_run(const struct scenario *scenario, const char *folder,
		struct seen_log *log)
{
	struct oracle *o = calloc(1, sizeof(*o));
	struct sim *sim;

	o->scenario = scenario;
	o->log = log;
	sim = machine(o, folder);
	for (uint32_t n = 0; n < sim->params.nodes; n++)
		open_node(o, &sim->node[n]);
	while (sim->stats.running && sim_window(sim, sim_next(sim)))
		;
	for (uint32_t n = 0; n < sim->params.nodes; n++) {
		see_ports(sim, n, &log[n]);
		munmap(o->node[n].home.ram, HOME_BYTES);
	}
	if (sim->stop)
		abort();
	sim_destroy(sim);
	free(o);
}
