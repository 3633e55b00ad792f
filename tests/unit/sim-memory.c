// SPDX-License-Identifier: MIT
/*
 * Work on memory takes the longer of its instructions and of its bytes through
 * memory, with what the engines send and receive meanwhile.
 */
#define _GNU_SOURCE
#include "virtual-util.h"

#include "sim/costs.h"
#include "sim/sim.h"

#include "harness.h"

#define STACK (64UL << 10)
#define NODES 2
#define BYTES 256000U
#define PUT_BYTES 65536U

/**
 * struct bench - a machine of two nodes
 * @put:   the first one puts bytes into the other one's memory
 * @work:  what both do meanwhile
 * @other: work that is not on memory
 * @clock: by node: what a clock shows before the work is spent
 * @took:  by node
 */
struct bench {
	struct tofu_preset machine;
	struct home home[NODES];
	bool put;
	enum tofu_work work;
	uint64_t other;
	uint64_t clock[NODES];
	uint64_t took[NODES];
};

static void put(struct sim_node *node, struct home *home)
{
	struct tofu_toq_desc *slot = (void *)(home->ram + HOME_TOQ);
	const struct tofu_coords to =
		tofu_coords_of(&node->sim->params.shape, 1);

	slot->route = tofu_coords_pack(&to) |
		      TOFU_SET(TOFU_ROUTE_TNI, HOME_TNI) |
		      TOFU_SET(TOFU_ROUTE_LENGTH, PUT_BYTES);
	slot->rmt = home_addr(0);
	slot->lcl = home_addr(0);
	slot->ctrl = TOFU_SET(TOFU_TOQ_FLIP, tofu_ring_flip(0, 0)) |
		     TOFU_SET(TOFU_TOQ_CMD, TOFU_CMD_PUT);
	icc_doorbell(home->icc, HOME_TNI, HOME_CQ, 1);
}

static int run(struct sim_node *node)
{
	struct bench *b = node->sim->params.program;

	if (b->put && !node->number)
		put(node, &b->home[0]);
	tofu_work_times(TOFU_WORK_POST, b->other);
	tofu_work_bytes(b->work, BYTES);
	b->clock[node->number] = sim_time(node);
	sim_spend_work(node);
	b->took[node->number] = node->now;
	return 0;
}

static void enter(struct sim_node *node)
{
	(void)node;
}

static void *place(struct sim_node *node, uint64_t addr, size_t *len)
{
	struct bench *b = node->sim->params.program;

	return home_map(&b->home[node->number], addr, len, true);
}

static const struct sim_software software = {
	.run = run,
	.enter = enter,
	.place = place,
};

static void open_home(struct bench *b, struct sim_node *node)
{
	struct home *home = &b->home[node->number];

	if (!home_alone(home, node->soft.pages))
		abort();
	home->icc = node->soft.icc;
	home_tables(home);
	home_enable(home);
}

static void bench_run(struct bench *b)
{
	struct sim_params params = {
		.machine = &b->machine,
		.nodes = NODES,
		.count = NODES,
		.tnis = 1,
		.stack = STACK,
		.software = &software,
		.program = b,
	};
	struct sim *sim;
	char *why;

	tofu_shape_parse("2", &params.shape);
	tofu_worked.cost = sim_costs(&b->machine);
	if (sim_create(&params, &sim, &why))
		abort();
	for (uint32_t n = 0; n < NODES; n++)
		open_home(b, &sim->node[n]);
	while (sim_window(sim, sim_next(sim)))
		;
	for (uint32_t n = 0; n < NODES; n++)
		munmap(b->home[n].ram, HOME_BYTES);
	if (sim->stop)
		abort();
	sim_destroy(sim);
}

static struct bench bench(const char *machine, uint32_t memory_mbs,
			  enum tofu_work work)
{
	struct bench b = { .machine = *tofu_preset_find(machine),
			   .work = work };

	b.machine.memory_mbs = memory_mbs;
	return b;
}

/* What it takes where memory has no limit */
static uint64_t instructions_ns(const struct tofu_preset *m,
				enum tofu_work work)
{
	return (uint64_t)BYTES * sim_costs(m)[work].ns / TOFU_WORK_BYTES;
}

/* ---- Alone ---- */

FIXTURE(kind) { int unused; };
FIXTURE_VARIANT(kind) { enum tofu_work work; uint64_t accesses; };
FIXTURE_SETUP(kind) { (void)self; (void)variant; }
FIXTURE_TEARDOWN(kind) { (void)self; }
FIXTURE_VARIANT_ADD(kind, reduce) { TOFU_WORK_COLL_REDUCE, 4 };
FIXTURE_VARIANT_ADD(kind, copy) { TOFU_WORK_COPY, 2 };
FIXTURE_VARIANT_ADD(kind, clear) { TOFU_WORK_CLEAR, 1 };

/* A byte a ns */
TEST_F(kind, takes_its_loads_and_stores)
{
	struct bench b = bench("fugaku", 1000, variant->work);

	bench_run(&b);
	EXPECT_EQ(variant->accesses * BYTES, b.took[0]);
	EXPECT_EQ(b.took[0], b.clock[0]);
}

TEST_F(kind, takes_its_instructions_where_they_are_longer)
{
	struct bench b = bench("fx10", 1000000, variant->work);

	bench_run(&b);
	EXPECT_EQ(instructions_ns(&b.machine, variant->work), b.took[0]);
	EXPECT_EQ(b.took[0], b.clock[0]);
}

TEST_F(kind, takes_its_instructions_where_memory_has_no_limit)
{
	struct bench b = bench("fx10", 0, variant->work);

	bench_run(&b);
	EXPECT_EQ(instructions_ns(&b.machine, variant->work), b.took[0]);
}

/* So what was measured on virtual machines stays so on every machine. */
TEST_F(kind, alone_is_never_limited_by_memory_of_real_machines)
{
	const struct tofu_preset *m;

	for (size_t i = 0; (m = tofu_preset_at(i)); i++) {
		const uint64_t ns =
			tofu_preset_ps(variant->accesses * BYTES,
				       m->memory_mbs) / 1000;

		EXPECT_LT(0, m->memory_mbs);
		EXPECT_LT(ns, instructions_ns(m, variant->work));
	}
}

/* No other work is done while memory is waited for. */
TEST(other_work_takes_its_time_beside)
{
	struct bench b = bench("k", 1000, TOFU_WORK_COPY);
	const uint64_t post_ns = sim_costs(&b.machine)[TOFU_WORK_POST].ns;

	b.other = 100;
	bench_run(&b);
	EXPECT_EQ(100 * post_ns + 2 * BYTES, b.took[0]);
}

/* ---- Beside the engines ---- */

TEST(what_is_sent_and_received_takes_its_part_of_memory)
{
	struct bench b = bench("k", 10000, TOFU_WORK_COLL_REDUCE);
	const uint64_t ns = (4 * BYTES + PUT_BYTES) / 10;

	b.put = true;
	bench_run(&b);
	EXPECT_EQ(ns, b.took[0]);
	EXPECT_EQ(ns, b.took[1]);
	/* It was not known before. */
	EXPECT_EQ(4 * BYTES / 10, b.clock[0]);
}

TEST(engines_take_what_instructions_leave)
{
	struct bench b = bench("k", 46000, TOFU_WORK_COLL_REDUCE);

	b.put = true;
	bench_run(&b);
	EXPECT_EQ(instructions_ns(&b.machine, b.work), b.took[0]);
	EXPECT_EQ(b.took[0], b.took[1]);
}

TEST_HARNESS_MAIN
