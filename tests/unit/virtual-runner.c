// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "virtual-runner.h"

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

bool runner_open(struct runner *r, const struct scenario *scenario,
		 const char *path, uint32_t number, const char *trace,
		 struct seen_log *log)
{
	struct tofu_node_params params = {
		.fabric = path,
		.node = (int)number,
		.tnis = 1,
		.armw = true,
		.machine = tofu_preset_find(scenario->machine),
		.quiet_ns = scenario->quiet,
		.trace = trace,
		.ops = &runner_ops,
		.home = &r->home,
	};
	char *why = NULL;

	uint8_t *pages = aligned_alloc(4096, TOFU_PAGES_HALF);

	memset(pages, 0, TOFU_PAGES_HALF);
	if (!home_alone(&r->home, pages))
		return false;
	params.pages = r->home.pages;
	r->clock = 12345 + 1000000 * number;
	if (tofu_node_create(&params, &why, &r->home.node)) {
		fprintf(stderr, "# %s\n", why);
		return false;
	}
	r->home.icc = tofu_node_icc(r->home.node);
	scenario_enable(scenario, &r->home, number);
	cpu_create(&r->cpu, scenario, &r->home, number, log);
	r->cpu.ring = ring;
	return true;
}

void runner_close(struct runner *r)
{
	tofu_node_destroy(r->home.node);
	munmap(r->home.ram, HOME_BYTES);
	free(r->home.pages);
}

bool runner_join(struct runner *r)
{
	int64_t end = now_ms() + LIMIT_MS;
	unsigned int turn = 0;

	while (tofu_node_join(r->home.node) && now_ms() < end)
		tofu_node_wait(r->home.node, turn++);
	r->origin = r->clock - tofu_node_time(r->home.node);
	return tofu_node_joined(r->home.node);
}

/* Disturb a process as its host might. */
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

bool runner_run(struct runner *r, uint64_t end)
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

bool runner_end(struct runner *r, struct seen_log *log)
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

struct seen_log *share_log(void)
{
	return mmap(NULL, VIRTUAL_NODES * sizeof(struct seen_log),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void drop_log(struct seen_log *log)
{
	munmap(log, VIRTUAL_NODES * sizeof(struct seen_log));
}

int machine_of(const char *text, char path[32])
{
	struct tofu_shape shape;
	int fd = memfd_create("virtual", MFD_ALLOW_SEALING);

	if (tofu_shape_parse(text, &shape) || tofu_fabric_format(fd, &shape, 1))
		return -1;
	snprintf(path, 32, "/dev/fd/%d", fd);
	return fd;
}
