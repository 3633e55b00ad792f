// SPDX-License-Identifier: MIT
/*
 * Nodes in common virtual time: however the host schedules their processes, all
 * events are the same to the nanosecond.
 */
#define _GNU_SOURCE
#include "virtual-rings.h"
#include "virtual-runner.h"

#include <limits.h>

#include "icc/trace.h"

#include "harness.h"

#define RUNS 4

#define STOP_US 20000

/* Then nodes are more than processors on any host, and take turns. */
static void keep_to_one_processor(void)
{
	cpu_set_t may, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(may), &may))
		abort();
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
}

static int child(const struct scenario *scenario, const char *path,
		 uint32_t number, const char *trace, struct seen_log *log)
{
	struct runner *r = calloc(1, sizeof(*r));

	if (scenario->crowd)
		keep_to_one_processor();
	virtual_rings.bytes = scenario->ring;
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
	/* There its home could not stop it. */
	if (virtual_rings.inside)
		return 5;
	return scenario->ring && !virtual_rings.held ? 6 : 0;
}

static void trace_path(char path[64], const char *folder, uint32_t node,
		       int run)
{
	snprintf(path, 64, "%s/%u.%d", folder, node, run);
}

/* Nodes go on counting where their predecessors have stopped. */
static void logs_begin(int fd, uint32_t nodes, uint64_t at)
{
	uint8_t *base = machine_map(fd, nodes);

	for (uint32_t n = 0; n < nodes; n++) {
		struct tofu_shm_clock *clock =
			(void *)(base + tofu_shm_clock_offset(nodes, n));

		clock->words.tail = at;
	}
	munmap(base, tofu_shm_size(nodes));
}

/* As the host's scheduler, a debugger or SIGSTOP would; until all have ended. */
static void stop_in_turn(const pid_t *pid, uint32_t nodes)
{
	const int64_t end = now_ms() + LIMIT_MS;
	uint32_t left = nodes;

	for (uint32_t turn = 0; left && now_ms() < end; turn++) {
		siginfo_t ended = { 0 };
		const pid_t one = pid[turn % nodes];

		kill(one, SIGSTOP);
		usleep(STOP_US);
		kill(one, SIGCONT);
		usleep(STOP_US / 4);
		left = 0;
		for (uint32_t n = 0; n < nodes; n++) {
			ended.si_pid = 0;
			waitid(P_PID, (id_t)pid[n], &ended,
			       WEXITED | WNOHANG | WNOWAIT);
			left += !ended.si_pid;
		}
	}
}

/* ---- Hosts ---- */

#define HOSTS_MAX 3
#define FIRST_PORT 7431

/* struct host - a fabric, and the bridge to the others; without others none */
struct host {
	int fd;
	char path[32];
	pid_t bridge;
};

static void bridge_path(char path[PATH_MAX])
{
	ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX - 1);

	path[bytes < 0 ? 0 : bytes] = '\0';
	for (int up = 0; up < 3 && strrchr(path, '/'); up++)
		*strrchr(path, '/') = '\0';
	strncat(path, "/bin/tofu-bridge", PATH_MAX - 1 - strlen(path));
}

static bool has_bridge(void)
{
	char path[PATH_MAX];

	bridge_path(path);
	return !access(path, X_OK);
}

/* The nodes of host @h, the first ones of the machine on the first host. */
static uint32_t first_of(uint32_t nodes, unsigned int hosts, unsigned int h)
{
	return nodes * h / hosts;
}

static void hosts_table(char *text, size_t size, uint32_t nodes,
			unsigned int hosts)
{
	size_t used = 0;

	for (unsigned int h = 0; h < hosts; h++)
		used += (size_t)snprintf(text + used, size - used,
					 "%sh%u:%u@127.0.0.1:%u", h ? "," : "", h,
					 first_of(nodes, hosts, h + 1) -
						 first_of(nodes, hosts, h),
					 FIRST_PORT + h);
}

static void bridge_execute(const struct host *host, unsigned int h,
			   const char *table)
{
	char path[PATH_MAX], self[16], fd[32];

	bridge_path(path);
	snprintf(self, sizeof(self), "h%u", h);
	snprintf(fd, sizeof(fd), "/dev/fd/%d", dup(host->fd));
	alarm(0);
	setenv("TOFU_BRIDGE_TOKEN", "a token for the test", 1);
	execl(path, "tofu-bridge", "--quiet", "--fabric", fd, "--hosts", table,
	      "--self", self, NULL);
	_exit(127);
}

static void hosts_open(const struct scenario *scenario, uint32_t nodes,
		       struct host *host)
{
	const unsigned int hosts = scenario->hosts ? scenario->hosts : 1;
	char table[256];

	hosts_table(table, sizeof(table), nodes, hosts);
	for (unsigned int h = 0; h < hosts; h++) {
		host[h].fd = machine_of(scenario->shape, host[h].path);
		logs_begin(host[h].fd, nodes, scenario->logged);
		host[h].bridge = 0;
	}
	for (unsigned int h = 0; h < scenario->hosts; h++) {
		host[h].bridge = start_child();
		if (!host[h].bridge)
			bridge_execute(&host[h], h, table);
	}
}

static void hosts_close(const struct scenario *scenario, struct host *host)
{
	for (unsigned int h = 0; h < scenario->hosts; h++) {
		kill(host[h].bridge, SIGTERM);
		end_child(host[h].bridge);
		close(host[h].fd);
	}
	if (!scenario->hosts)
		close(host[0].fd);
}

static const char *path_of(const struct scenario *scenario,
			   const struct host *host, uint32_t nodes, uint32_t n)
{
	unsigned int h = 0;

	while (h + 1 < scenario->hosts &&
	       n >= first_of(nodes, scenario->hosts, h + 1))
		h++;
	return host[h].path;
}

/* Run all nodes as processes; true when all went well. */
static bool processes_run(const struct scenario *scenario,
			  struct seen_log *log, const char *folder, int run)
{
	struct host host[HOSTS_MAX];
	struct tofu_shape shape;
	pid_t pid[VIRTUAL_NODES];
	bool good = true;
	uint32_t nodes;
	char trace[64];

	tofu_shape_parse(scenario->shape, &shape);
	nodes = tofu_shape_nodes(&shape);
	hosts_open(scenario, nodes, host);
	for (uint32_t n = 0; n < nodes; n++) {
		trace_path(trace, folder, n, run);
		pid[n] = start_child();
		if (!pid[n])
			_exit(child(scenario, path_of(scenario, host, nodes, n),
				    n, trace, log));
	}
	if (scenario->stops)
		stop_in_turn(pid, nodes);
	for (uint32_t n = 0; n < nodes; n++) {
		const int status = end_child(pid[n]);

		if (status)
			fprintf(stderr, "# node %u: %d\n", n, status);
		good &= !status;
	}
	hosts_close(scenario, host);
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

/* Records of a node's trace by time, those of a time in some order */
struct records {
	struct icc_trace *at;
	size_t count;
};

static int by_time(const void *a, const void *b)
{
	const struct icc_trace *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return memcmp(a, b, sizeof(*x));
}

static struct records records_of(const char *path)
{
	struct icc_trace_header header = { 0 };
	struct records all = { NULL, 0 };
	FILE *file = fopen(path, "r");

	if (!file || fread(&header, sizeof(header), 1, file) != 1)
		abort();
	all.at = calloc(header.records + 1, sizeof(*all.at));
	all.count = fread(all.at, sizeof(*all.at), header.records, file);
	fclose(file);
	if (all.count != header.records)
		abort();
	qsort(all.at, all.count, sizeof(*all.at), by_time);
	return all;
}

static void say_record(const char *who, const struct icc_trace *r)
{
	fprintf(stderr,
		"# %s: %llu to %llu, kind %u, id %#llx, peer %u, detail %u, wait %u\n",
		who, (unsigned long long)r->time, (unsigned long long)r->end,
		r->kind, (unsigned long long)r->id, r->peer, r->detail,
		r->wait);
}

/* Records of a time can stand in another order. */
static bool trace_as_oracle(const char *oracle, const char *trace)
{
	const struct records a = records_of(oracle), b = records_of(trace);
	bool same = a.count == b.count && a.count;

	if (!same)
		fprintf(stderr, "# %zu and %zu records\n", a.count, b.count);
	for (size_t i = 0; same && i < a.count; i++) {
		same = !by_time(&a.at[i], &b.at[i]);
		if (same)
			continue;
		say_record("oracle", &a.at[i]);
		say_record("node", &b.at[i]);
	}
	free(a.at);
	free(b.at);
	return same;
}

static bool traces_as_oracle(const char *folder, uint32_t nodes, int run)
{
	char a[64], b[64];

	for (uint32_t n = 0; n < nodes; n++) {
		snprintf(a, sizeof(a), "%s/node%u.trace", folder, n);
		trace_path(b, folder, n, run);
		if (!trace_as_oracle(a, b)) {
			fprintf(stderr, "# the trace of node %u differs\n", n);
			return false;
		}
	}
	return true;
}

static void remove_traces(const char *folder)
{
	char path[64];

	for (uint32_t n = 0; n < VIRTUAL_NODES; n++) {
		for (int run = 0; run < RUNS; run++) {
			trace_path(path, folder, n, run);
			unlink(path);
		}
		snprintf(path, sizeof(path), "%s/node%u.trace", folder, n);
		unlink(path);
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

/* The oracle's controllers are never quiet. */
FIXTURE_VARIANT_ADD(same, quiet_at_first){
	.scenario = { "2x2", "fugaku", 60, 10, 30000, 500, true, true, false,
		      10, .quiet = 20000 },
};

FIXTURE_VARIANT_ADD(same, crowd_on_a_processor){
	.scenario = { "2x3", "fugaku", 40, 4, 8000, 400, true, true, false, 16,
		      .crowd = true },
};

FIXTURE_VARIANT_ADD(same, crowd_of_nodes_that_are_stopped){
	.scenario = { "3", "fugaku", 200, 3, 4000, 100, true, true, false, 17,
		      .stops = true, .crowd = true },
};

FIXTURE_VARIANT_ADD(same, alone){
	.scenario = { "1", "fx10", 200, 8, 20000, 100, true, true, false, 7 },
};

FIXTURE_VARIANT_ADD(same, blocks_and_gaps){
	.scenario = { "3", "fugaku", 60, 5, 6000, 300, true, true, false, 8,
		      true, false },
};

FIXTURE_VARIANT_ADD(same, sessions){
	.scenario = { "2x2", "k", 60, 5, 3000, 300, true, true, false, 9, true,
		      true },
};

/* Numbers of entries wrap in records, in 32 bits, and altogether. */
FIXTURE_VARIANT_ADD(same, logs_wrap_at_16_bits){
	.scenario = { "3", "fugaku", 100, 3, 4000, 100, true, false, false, 10,
		      false, false, (1ULL << 16) - 50 },
};

FIXTURE_VARIANT_ADD(same, logs_wrap_at_32_bits){
	.scenario = { "3", "k", 100, 3, 4000, 100, true, true, false, 11,
		      false, false, (1ULL << 32) - 50 },
};

FIXTURE_VARIANT_ADD(same, logs_wrap_at_64_bits){
	.scenario = { "2x2", "fx100", 100, 3, 4000, 100, true, false, false, 12,
		      false, false, -50ULL },
};

FIXTURE_VARIANT_ADD(same, nodes_are_stopped_and_continue){
	.scenario = { "2x2", "fugaku", 600, 3, 4000, 100, true, true, false, 13,
		      false, false, 0, true },
};

FIXTURE_VARIANT_ADD(same, rings_are_full){
	.scenario = { "2x2", "fugaku", 100, 8, 30000, 100, true, true, false,
		      14, false, false, 0, false, TOFU_SHM_RECORD(TOFU_PKT_MTU_MAX) },
};

FIXTURE_VARIANT_ADD(same, rings_are_full_of_nodes_that_are_stopped){
	.scenario = { "3", "fx100", 200, 8, 20000, 100, true, true, false, 15,
		      false, false, 0, true, TOFU_SHM_RECORD(TOFU_PKT_MTU_MAX) },
};

FIXTURE_VARIANT_ADD(same, on_two_hosts){
	.scenario = { "2x2", "fugaku", 60, 5, 30000, 500, true, true, false,
		      18, .hosts = 2 },
};

FIXTURE_VARIANT_ADD(same, on_three_hosts){
	.scenario = { "2x3", "k", 40, 3, 4000, 400, true, true, false, 19,
		      .hosts = 3 },
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

	if (variant->scenario.hosts && !has_bridge())
		SKIP(return, "no tofu-bridge beside these tests");
	tofu_shape_parse(variant->scenario.shape, &shape);
	nodes = tofu_shape_nodes(&shape);
	oracle_run(&variant->scenario, self->folder, self->oracle);
	for (uint32_t n = 0; n < nodes; n++)
		ASSERT_LT(100, self->oracle[n].count);
	for (int run = 0; run < RUNS; run++) {
		memset(self->log, 0, VIRTUAL_NODES * sizeof(*self->log));
		ASSERT_TRUE(processes_run(&variant->scenario, self->log,
					  self->folder, run));
		ASSERT_TRUE(seen_same(self->oracle, self->log, nodes));
		ASSERT_TRUE(traces_same(self->folder, nodes, run));
		ASSERT_TRUE(traces_as_oracle(self->folder, nodes, run));
	}
}

TEST_HARNESS_MAIN
