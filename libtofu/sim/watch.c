/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "port/host.h"
#include "sim/ranks.h"

#define TICK_US 500000
#define TICKS_A_SECOND 2
#define NS 1000000000ULL
#define REPORT_NS (5 * NS)
#define NAMED 8 /* nodes that a sentence names */
#define STATUS_BUDGET 125

static struct {
	struct sim *sim;
	unsigned int budget;
	bool quiet;
	volatile sig_atomic_t interrupted;
	uint64_t turns;
	unsigned int ticks;
	uint64_t began;
	uint64_t reported;
	struct sim_stats last;
} watch;

/* In a node's context _exit() would end the node only. */
__attribute__((noreturn)) void sim_watch_exit(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

/*
 * Every half second of the processor's time. The program that runs has not
 * given way since the last tick if the count of turns is the same.
 */
static void tick(int sig)
{
	const struct sim_node *node = sim_node_running();
	char text[400];
	int bytes;

	(void)sig;
	if (!node || watch.turns != watch.sim->stats.turns) {
		watch.turns = watch.sim->stats.turns;
		watch.ticks = 0;
		return;
	}
	if (++watch.ticks < watch.budget * TICKS_A_SECOND)
		return;
	bytes = snprintf(text, sizeof(text),
			 "tofu-sim: node %u has computed for %u s without a call of the library, at %llu ns. A loop that waits has to poll (utofu_poll_tcq, utofu_poll_mrq, ...): memory does not change while it only looks. A long computation wants --budget\n",
			 node->number, watch.budget,
			 (unsigned long long)node->now);
	(void)!write(STDERR_FILENO, text, (size_t)bytes);
	sim_watch_exit(STATUS_BUDGET);
}

static void interrupt(int sig)
{
	/* The second one ends a run whose window does not end. */
	if (watch.interrupted)
		sim_watch_exit(128 + sig);
	watch.interrupted = sig;
}

void sim_watch_begin(struct sim *sim, unsigned int budget, bool quiet)
{
	const struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction action = { .sa_handler = tick,
				    .sa_flags = SA_RESTART };

	watch.sim = sim;
	watch.budget = budget;
	/* One rank is enough: the others are as far, and do as much. */
	watch.quiet = quiet || sim_ranks_rank();
	watch.began = tofu_host_now();
	watch.reported = watch.began;
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	action.sa_handler = interrupt;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void report(const struct sim *sim, uint64_t now)
{
	const double host = (double)(now - watch.reported) / NS;
	const struct sim_stats *s = &sim->stats;

	fprintf(stderr,
		"tofu-sim: %.0f s: %.3f ms of virtual time, %.0f ns a second; %.2g packets a second; %u programs run%s\n",
		(double)(now - watch.began) / NS, (double)s->time / 1e6,
		(double)(s->time - watch.last.time) / host,
		(double)(s->packets - watch.last.packets) / host, s->running,
		sim_ranks_count() > 1 ? ", of this rank's" : "");
	watch.last = *s;
	watch.reported = now;
}

void sim_watch_tell(struct sim *sim)
{
	uint64_t now;

	if (watch.interrupted)
		sim->stop = "interrupted";
	/* The clock costs more than a small window. */
	if (watch.quiet || sim->stats.windows % 256)
		return;
	now = tofu_host_now();
	if (now - watch.reported >= REPORT_NS)
		report(sim, now);
}

int sim_watch_interrupted(void)
{
	return watch.interrupted;
}

void sim_watch_end(void)
{
	const struct itimerval never = { 0 };

	setitimer(ITIMER_VIRTUAL, &never, NULL);
}

void sim_watch_say_waiting(const struct sim *sim, uint64_t running)
{
	unsigned int named = 0;

	fflush(NULL);
	for (uint32_t i = 0; i < sim->params.count && named < NAMED; i++) {
		const struct sim_node *node = &sim->node[i];

		if (!node->begun || node->ended)
			continue;
		fprintf(stderr,
			"tofu-sim: node %u polls and finds nothing since %llu ns\n",
			node->number, (unsigned long long)node->poll.floor);
		named++;
	}
	if (running > named)
		fprintf(stderr, "tofu-sim: and %" PRIu64 " more\n",
			running - named);
}
