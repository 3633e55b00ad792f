// SPDX-License-Identifier: MIT
/*
 * Nodes in common virtual time: processes that go on as the host likes, and
 * what happens is the same to the nanosecond.
 */
#define _GNU_SOURCE
#include "virtual-util.h"

#include "icc/trace.h"

#include "kselftest_harness.h"

#define RUNS 4

/**
 * struct runner - a node that runs a scenario
 * @clock:  the home's
 * @origin: of it, at common time 0
 * @jitter: for what the host does
 */
struct runner {
	struct home home;
	struct cpu cpu;
	uint64_t clock;
	uint64_t origin;
	unsigned int jitter;
};

static uint64_t runner_now(void *arg)
{
	struct home *home = arg;

	return ((struct runner *)(void *)home)->clock;
}

static const struct tofu_node_ops runner_ops = {
	.map = home_map,
	.irq = home_irq,
	.misuse = home_misuse,
	.now = runner_now,
};

static void ring(struct cpu *cpu, uint64_t tail)
{
	tofu_node_store(cpu->home->node, HOME_TNI, HOME_CQ, tail);
}

static bool runner_open(struct runner *r, const struct scenario *scenario,
			const char *path, uint32_t number, const char *trace,
			struct seen_log *log)
{
	struct tofu_node_params params = {
		.fabric = path,
		.node = (int)number,
		.tnis = 1,
		.machine = icc_machine_find(scenario->machine),
		.trace = trace,
		.ops = &runner_ops,
		.home = &r->home,
	};
	char *why = NULL;

	if (!home_alone(&r->home))
		return false;
	params.pages = r->home.pages;
	r->clock = 12345 + 1000000 * number;
	if (tofu_node_create(&params, &why, &r->home.node)) {
		fprintf(stderr, "# %s\n", why);
		return false;
	}
	r->home.icc = tofu_node_icc(r->home.node);
	home_tables(&r->home);
	home_enable(&r->home);
	cpu_create(&r->cpu, scenario, &r->home, number, log);
	r->cpu.ring = ring;
	return true;
}

static void runner_close(struct runner *r)
{
	tofu_node_destroy(r->home.node);
	munmap(r->home.ram, HOME_BYTES);
	free(r->home.pages);
}

static bool runner_join(struct runner *r)
{
	int64_t end = now_ms() + LIMIT_MS;
	unsigned int turn = 0;

	while (tofu_node_join(r->home.node) && now_ms() < end)
		tofu_node_wait(r->home.node, turn++);
	r->origin = r->clock - tofu_node_time(r->home.node);
	return tofu_node_joined(r->home.node);
}

/* What a host does to a process. */
static void jitter(struct runner *r)
{
	r->jitter = r->jitter * 1103515245 + 12345;
	if ((r->jitter >> 16) % 8 == 0)
		sched_yield();
	if ((r->jitter >> 16) % 256 == 1)
		usleep((r->jitter >> 8) % 200);
}

static uint64_t runner_stop(struct runner *r)
{
	const uint64_t next = r->cpu.next == UINT64_MAX ?
				      UINT64_MAX :
				      r->cpu.next + r->origin;
	const uint64_t stop = tofu_node_run(
		r->home.node, r->cpu.asleep ? next : r->clock);

	cpu_wake(&r->cpu, r->clock - r->origin);
	return stop;
}

/* Until common time @end; false after the limit. */
static bool runner_run(struct runner *r, uint64_t end)
{
	const int64_t limit = now_ms() + LIMIT_MS;
	uint64_t stop = runner_stop(r);
	unsigned int turn = 0;

	while (r->clock - r->origin < end) {
		uint64_t next = r->cpu.next + r->origin;

		jitter(r);
		if (stop <= r->clock) {
			tofu_node_wait(r->home.node, turn++);
			if (now_ms() > limit)
				return false;
			stop = runner_stop(r);
			continue;
		}
		turn = 0;
		if (next > end + r->origin)
			next = end + r->origin;
		r->clock = next < stop ? next : stop;
		if (r->clock == stop)
			stop = runner_stop(r);
		else if (r->clock < end + r->origin &&
			 cpu_step(&r->cpu, r->clock - r->origin))
			stop = runner_stop(r);
	}
	return true;
}

/* The clock stands at the end, until all have come there. */
static bool runner_end(struct runner *r, struct seen_log *log)
{
	const int64_t limit = now_ms() + LIMIT_MS;
	unsigned int turn = 0;

	r->cpu.next = UINT64_MAX;
	r->cpu.asleep = true;
	__atomic_store_n(&log[r->cpu.node].ended, 1, __ATOMIC_RELEASE);
	for (;;) {
		uint32_t ended = 0;

		runner_stop(r);
		for (uint32_t n = 0; n < r->cpu.nodes; n++)
			ended += __atomic_load_n(&log[n].ended,
						 __ATOMIC_ACQUIRE);
		if (ended == r->cpu.nodes)
			return true;
		if (now_ms() > limit)
			return false;
		tofu_node_wait(r->home.node, turn++);
	}
}

static int child(const struct scenario *scenario, const char *path,
		 uint32_t number, const char *trace, struct seen_log *log)
{
	struct runner *r = calloc(1, sizeof(*r));

	r->jitter = (unsigned int)(now_ms() + getpid());
	if (!runner_open(r, scenario, path, number, trace, &log[number]))
		return 1;
	if (!runner_join(r))
		return 2;
	if (!runner_run(r, SCENARIO_END))
		return 3;
	if (!runner_end(r, log))
		return 4;
	ports_see(&r->cpu, SCENARIO_END);
	runner_close(r);
	free(r);
	return 0;
}

static struct seen_log *share_log(void)
{
	return mmap(NULL, VIRTUAL_NODES * sizeof(struct seen_log),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void drop_log(struct seen_log *log)
{
	munmap(log, VIRTUAL_NODES * sizeof(struct seen_log));
}

static int machine_of(const char *text, char path[32])
{
	struct tofu_shape shape;
	int fd = memfd_create("virtual", MFD_ALLOW_SEALING);

	if (tofu_shape_parse(text, &shape) || tofu_fabric_format(fd, &shape))
		return -1;
	snprintf(path, 32, "/dev/fd/%d", fd);
	return fd;
}

static void trace_path(char path[64], const char *folder, uint32_t node,
		       int run)
{
	snprintf(path, 64, "%s/%u.%d", folder, node, run);
}

/* All nodes as processes; true when all went well. */
static bool processes_run(const struct scenario *scenario,
			  struct seen_log *log, const char *folder, int run)
{
	struct tofu_shape shape;
	pid_t pid[VIRTUAL_NODES];
	char path[32], trace[64];
	bool good = true;
	uint32_t nodes;
	int fd;

	fd = machine_of(scenario->shape, path);
	tofu_shape_parse(scenario->shape, &shape);
	nodes = tofu_shape_nodes(&shape);
	for (uint32_t n = 0; n < nodes; n++) {
		trace_path(trace, folder, n, run);
		pid[n] = start_child();
		if (!pid[n])
			_exit(child(scenario, path, n, trace, log));
	}
	for (uint32_t n = 0; n < nodes; n++) {
		const int status = end_child(pid[n]);

		if (status)
			fprintf(stderr, "# node %u: %d\n", n, status);
		good &= !status;
	}
	close(fd);
	return good;
}

/* ---- Traces ---- */

static bool files_same(const char *a, const char *b)
{
	char x[65536], y[65536];
	FILE *f = fopen(a, "r"), *g = fopen(b, "r");
	bool same = f && g;
	size_t n = 1;

	while (same && n) {
		n = fread(x, 1, sizeof(x), f);
		same = fread(y, 1, sizeof(y), g) == n && !memcmp(x, y, n);
	}
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}

static bool traces_same(const char *folder, uint32_t nodes, int run)
{
	char a[64], b[64];

	for (uint32_t n = 0; n < nodes; n++) {
		trace_path(a, folder, n, 0);
		trace_path(b, folder, n, run);
		if (!files_same(a, b)) {
			fprintf(stderr, "# traces of node %u differ\n", n);
			return false;
		}
	}
	return true;
}

static void remove_traces(const char *folder)
{
	char path[64];

	for (int run = 0; run < RUNS; run++) {
		for (uint32_t n = 0; n < VIRTUAL_NODES; n++) {
			trace_path(path, folder, n, run);
			unlink(path);
		}
	}
	rmdir(folder);
}

/* ---- The same every time ---- */

FIXTURE(same)
{
	char folder[32];
	struct seen_log *oracle;
	struct seen_log *log;
};

FIXTURE_VARIANT(same)
{
	struct scenario scenario;
};

FIXTURE_VARIANT_ADD(same, two_nodes){
	.scenario = { "2", "fugaku", 200, 3, 4000, 100, true, false, false, 1 },
};

FIXTURE_VARIANT_ADD(same, three_nodes_and_loopback){
	.scenario = { "3", "k", 150, 3, 9000, 150, true, true, false, 2 },
};

FIXTURE_VARIANT_ADD(same, five_nodes_that_poll){
	.scenario = { "5", "fx100", 100, 2, 3000, 60, false, false, false, 3 },
};

FIXTURE_VARIANT_ADD(same, bursts_that_fill_rings){
	.scenario = { "3", "fugaku", 60, 20, 150000, 2000, true, false, false,
		      4 },
};

FIXTURE_VARIANT_ADD(same, all_to_one){
	.scenario = { "2x2", "fugaku", 60, 10, 30000, 500, true, true, true,
		      5 },
};

FIXTURE_VARIANT_ADD(same, unit_of_twelve){
	.scenario = { "1x1x1x2x3x2", "fugaku", 40, 4, 8000, 400, true, true,
		      false, 6 },
};

FIXTURE_VARIANT_ADD(same, alone){
	.scenario = { "1", "fx10", 200, 8, 20000, 100, true, true, false, 7 },
};

FIXTURE_SETUP(same)
{
	strcpy(self->folder, "/tmp/virtual-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->folder));
	self->oracle = calloc(VIRTUAL_NODES, sizeof(*self->oracle));
	self->log = share_log();
}

FIXTURE_TEARDOWN(same)
{
	remove_traces(self->folder);
	free(self->oracle);
	drop_log(self->log);
}

TEST_F_TIMEOUT(same, as_without_nodes_and_every_time, 120)
{
	struct tofu_shape shape;
	uint32_t nodes;

	tofu_shape_parse(variant->scenario.shape, &shape);
	nodes = tofu_shape_nodes(&shape);
	oracle_run(&variant->scenario, self->oracle);
	for (uint32_t n = 0; n < nodes; n++)
		ASSERT_LT(100, self->oracle[n].count);
	for (int run = 0; run < RUNS; run++) {
		memset(self->log, 0, VIRTUAL_NODES * sizeof(*self->log));
		ASSERT_TRUE(processes_run(&variant->scenario, self->log,
					  self->folder, run));
		ASSERT_TRUE(seen_same(self->oracle, self->log, nodes));
		ASSERT_TRUE(traces_same(self->folder, nodes, run));
	}
}

TEST_HARNESS_MAIN
