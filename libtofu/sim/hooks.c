/* SPDX-License-Identifier: MIT */
/*
 * What calls of the C library do for the program that makes them.
 */
#define _GNU_SOURCE
#include "sim/hooks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/libc.h"
#include "port/work.h"
#include "sim/task.h"
#include "sim/watch.h"

#define STATUS_SIGNAL 128

static struct sim *machine;

static int64_t hook_node(void)
{
	const struct sim_node *node = sim_node_running();

	return node ? (int64_t)node->number : -1;
}

static uint64_t hook_now(void)
{
	tofu_work(TOFU_WORK_CLOCK);
	return sim_time(sim_node_running());
}

static void hook_spend(uint64_t ns)
{
	struct sim_node *node = sim_node_running();

	sim_act(node);
	sim_spend(node, ns);
}

/* As a poll in vain, if that goes on for long. */
static void hook_yield(void)
{
	struct sim_node *node = sim_node_running();

	tofu_work(TOFU_WORK_YIELD);
	sim_yield(node);
}

static const char *number(uint32_t value)
{
	static char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return text;
}

static const char *shape_text(void)
{
	const uint16_t *size = machine->params.shape.size;
	static char text[48];

	snprintf(text, sizeof(text), "%ux%ux%ux%ux%ux%u", size[0], size[1],
		 size[2], size[3], size[4], size[5]);
	return text;
}

static const char *hook_variable(const char *name)
{
	static const char *const ranks[] = { "TOFU_RANK", "TOFU_NODE",
					     "PMI_RANK" };
	static const char *const counts[] = { "TOFU_RANKS", "TOFU_NODES",
					      "PMI_SIZE" };
	const struct sim_node *node = sim_node_running();

	if (strncmp(name, "TOFU_", 5) && strncmp(name, "PMI_", 4))
		return NULL;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		if (!strcmp(name, ranks[i]))
			return number(node->number);
		if (!strcmp(name, counts[i]))
			return number(machine->params.nodes);
	}
	if (!strcmp(name, "TOFU_PPN"))
		return "1";
	if (!strcmp(name, "TOFU_PORT"))
		return "sim";
	if (!strcmp(name, "TOFU_SHAPE"))
		return shape_text();
	return NULL;
}

/* Of a handler of the signal: no buffers. */
static void hook_crashed(int64_t node, int sig, void *addr)
{
	const struct sim_node *running = sim_node_running();
	char text[256];
	int bytes;

	if (node < 0)
		return;
	bytes = snprintf(text, sizeof(text),
			 "tofu-sim: node %lld: %s at address %p, at %llu ns%s; the others are ended\n",
			 (long long)node, strsignal(sig), addr,
			 (unsigned long long)running->now,
			 sim_task_overrun(running->task) ||
					 sim_task_below(running->task, addr) ?
				 ": it needs more stack, see --stack" :
				 "");
	(void)!write(STDERR_FILENO, text, (size_t)bytes);
	sim_watch_exit(STATUS_SIGNAL + sig);
}

static void hook_refused(int64_t node, const char *function)
{
	fprintf(stderr,
		"tofu-sim: node %lld: %s() is refused: a simulated node has one thread and no processes\n",
		(long long)node, function);
}

int sim_hooks_begin(struct sim *sim)
{
	const struct sim_libc_hooks hooks = {
		.node = hook_node,
		.now = hook_now,
		.spend = hook_spend,
		.yield = hook_yield,
		.variable = hook_variable,
		.crashed = hook_crashed,
		.refused = hook_refused,
	};

	machine = sim;
	sim_libc_hooks_set(&hooks);
	return sim_libc_catch();
}
