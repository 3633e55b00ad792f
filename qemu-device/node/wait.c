/* SPDX-License-Identifier: MIT */
/*
 * A node in virtual time waits for the others: it spins, then yields its
 * processor, then sleeps.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <sched.h>
#include <time.h>

/* Turns of spinning, if each node has a processor; then turns of yielding. */
#define SPIN_TURNS 40
#define SPIN_PAUSES 16
#define YIELD_TURNS 400

/*
 * With that many nodes for each processor, nearly all of them wait and yield to
 * each other, so they sleep after a few yields.
 */
#define CROWD 2
#define CROWD_TURNS 4

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

static void pause_host(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void tofu_node_wait(struct tofu_node *node, unsigned int turn)
{
	static const struct timespec nap = { .tv_nsec = 500000 };
	struct tofu_virtual *v = node->virtual;
	const bool sleeps = v->clock.joined && !v->inside && !v->held_up;

	if (!turn && sleeps)
		tofu_clock_stir(&v->clock);
	if (v->cpus < node->fabric->nodes)
		turn += SPIN_TURNS;
	if (sleeps && turn >= SPIN_TURNS + CROWD_TURNS &&
	    node->fabric->nodes >= CROWD * v->cpus)
		turn += YIELD_TURNS;
	if (sleeps && turn > SPIN_TURNS + FAR_TURNS &&
	    v->wanted - v->clock.bound > FAR_NS)
		turn += YIELD_TURNS;
	if (turn < SPIN_TURNS) {
		for (int i = 0; i < SPIN_PAUSES; i++)
			pause_host();
	} else if (turn < SPIN_TURNS + YIELD_TURNS) {
		sched_yield();
	} else if (sleeps) {
		tofu_clock_sleep(&v->clock, v->wanted);
	} else {
		nanosleep(&nap, NULL);
	}
}
