/* SPDX-License-Identifier: MIT */
/*
 * The machine, and the loop of windows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/doorbells.h"
#include "sim/sim.h"
#include "sim/task.h"
#include "sim/trace.h"

/* The search for the next event looks at one time for so many nodes. */
#define GROUP 64

/* ---- When ---- */

void sim_touch(struct sim *sim, uint32_t number, uint64_t time)
{
	const uint32_t i = number - sim->params.first;

	if (time < sim->next[i])
		sim->next[i] = time;
	if (time < sim->group[i / GROUP])
		sim->group[i / GROUP] = time;
}

static uint32_t groups(const struct sim *sim)
{
	return (sim->params.count + GROUP - 1) / GROUP;
}

uint64_t sim_next(const struct sim *sim)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t g = 0; g < groups(sim); g++) {
		if (sim->group[g] < next)
			next = sim->group[g];
	}
	return next;
}

/* ---- A window ---- */

static void run_node(struct sim *sim, uint32_t i)
{
	sim_node_run(&sim->node[i], sim->until);
	sim->next[i] = sim_node_next(&sim->node[i]);
}

/* While the node at @at runs, each of the next ones is a step further. */
static void prefetch(const struct sim *sim, const uint32_t due[], int count,
		     int at)
{
	for (int step = 0; step < SIM_PREFETCHES; step++) {
		const int ahead = at + SIM_PREFETCHES - step;

		if (ahead >= 0 && ahead < count)
			sim_prefetch(&sim->node[due[ahead]],
				     (unsigned int)step);
	}
}

static void run_group(struct sim *sim, uint32_t group)
{
	const uint32_t from = group * GROUP;
	uint32_t to = from + GROUP;
	uint64_t next = UINT64_MAX;
	uint32_t due[GROUP];
	int count = 0;

	if (to > sim->params.count)
		to = sim->params.count;
	sim_heap_grown();
	/* What happens here concerns others in later windows alone. */
	for (uint32_t i = from; i < to; i++) {
		if (sim->next[i] < sim->until)
			due[count++] = i;
	}
	for (int i = -SIM_PREFETCHES; i < count && !sim->stop; i++) {
		prefetch(sim, due, count, i);
		if (i >= 0)
			run_node(sim, due[i]);
	}
	for (uint32_t i = from; i < to; i++) {
		if (sim->next[i] < next)
			next = sim->next[i];
	}
	sim->group[group] = next;
}

bool sim_window(struct sim *sim, uint64_t from)
{
	if (from == UINT64_MAX || sim->stop)
		return false;
	sim->until = from + sim->params.machine->hop_ns;
	sim->stats.time = from;
	sim->stats.windows++;
	for (uint32_t g = 0; g < groups(sim); g++) {
		if (sim->group[g] < sim->until)
			run_group(sim, g);
	}
	return true;
}

/* ---- Life ---- */

/* What a node's rings, tables, pages and instance need of the arena, at most */
#define ARENA_NODE (64UL << 20)

static int trace_open(struct sim_node *node, const char *folder, char **why)
{
	int err = sim_trace_open(node, folder);

	if (err && asprintf(why, "--trace: no file can be made in '%s': %s",
			    folder, strerror(-err)) < 0)
		*why = NULL;
	return err;
}

static int nodes_create(struct sim *sim, char **why)
{
	const struct sim_params *p = &sim->params;
	int err = 0;

	for (uint32_t i = 0; !err && i < p->count; i++) {
		struct sim_node *node = &sim->node[i];

		sim_heap_grown();
		err = sim_node_create(sim, node, p->first + i);
		sim->next[i] = UINT64_MAX;
		if (!err && p->trace)
			err = trace_open(node, p->trace, why);
		if (!err && p->doorbells && node->number < p->nodes)
			err = sim_doorbells_open(node, p->doorbells, why);
		if (!err && node->number < p->nodes) {
			err = sim_begin(node);
			sim->next[i] = 0;
			sim->stats.running++;
		}
	}
	memset(sim->group, 0, groups(sim) * sizeof(*sim->group));
	return err;
}

static int parts_create(struct sim *sim, char **why)
{
	const struct sim_params *p = &sim->params;
	int err;

	sim_heap_begin();
	err = sim_stacks_create(p->count, p->stack);

	if (!err)
		err = sim_arena_create(p->count * ARENA_NODE);
	if (err)
		return err;
	sim->node = calloc(p->count, sizeof(*sim->node));
	sim->next = calloc(p->count, sizeof(*sim->next));
	sim->group = calloc(groups(sim), sizeof(*sim->group));
	sim->net = tofu_net_create_block(&p->shape, p->machine, p->first,
					 p->count);
	if (!sim->node || !sim->next || !sim->group || !sim->net)
		return -ENOMEM;
	return nodes_create(sim, why);
}

int sim_create(const struct sim_params *params, struct sim **result, char **why)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	int err = -ENOMEM;

	*why = NULL;
	if (!sim)
		return -ENOMEM;
	sim->params = *params;
	err = parts_create(sim, why);
	if (err) {
		if (!*why &&
		    asprintf(why, "the machine cannot be made: %s",
			     strerror(-err)) < 0)
			*why = NULL;
		sim_destroy(sim);
		return err;
	}
	*result = sim;
	return 0;
}

static void free_mail(struct sim_mail *mail)
{
	while (mail) {
		struct sim_mail *next = mail->next;

		free(mail);
		mail = next;
	}
}

void sim_destroy(struct sim *sim)
{
	for (uint32_t i = 0; sim->node && i < sim->params.count; i++)
		sim_node_destroy(&sim->node[i]);
	if (sim->net)
		tofu_net_destroy(sim->net);
	free_mail(sim->spare_small);
	free_mail(sim->spare_large);
	free(sim->node);
	free(sim->next);
	free(sim->group);
	free(sim);
	sim_arena_destroy();
	sim_stacks_destroy();
}
