/* SPDX-License-Identifier: MIT */
/*
 * A node in virtual time waits for the others. If each has a processor, it
 * spins, then yields its processor, then sleeps; otherwise they take turns.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <sched.h>
#include <time.h>

#include "fabric/pause.h"

/* Turns of spinning, if each node has a processor; then turns of yielding. */
#define SPIN_TURNS 40
#define SPIN_PAUSES 16
#define YIELD_TURNS 400

/* Waiting for a bound that far away, sleep after that many yields. */
#define FAR_NS 20000
#define FAR_TURNS 20

unsigned int tofu_wait_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

void tofu_node_wait(struct tofu_node *node, unsigned int turn)
{
	static const struct timespec nap = { .tv_nsec = 500000 };
	struct tofu_virtual *v = node->virtual;
	const bool crowd = v->cpus < node->fabric->nodes;
	const bool sleeps = v->clock.joined && !v->inside && !v->held_up;

	if (crowd && sleeps) {
		tofu_clock_sleep(&v->clock, v->wanted, true);
		return;
	}
	if (crowd) {
		tofu_fabric_clock_pass(node->fabric, false);
		turn += SPIN_TURNS;
	}
	if (!turn && sleeps)
		tofu_clock_stir(&v->clock);
	if (sleeps && turn > SPIN_TURNS + FAR_TURNS &&
	    v->wanted - v->clock.bound > FAR_NS)
		turn += YIELD_TURNS;
	if (turn < SPIN_TURNS)
		tofu_pause(SPIN_PAUSES);
	else if (turn < SPIN_TURNS + YIELD_TURNS)
		sched_yield();
	else if (sleeps)
		tofu_clock_sleep(&v->clock, v->wanted, false);
	else
		nanosleep(&nap, NULL);
}
