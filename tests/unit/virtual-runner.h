/* SPDX-License-Identifier: MIT */
/*
 * Nodes that run a scenario: their homes, and what the host does to them.
 */
#ifndef VIRTUAL_RUNNER_H
#define VIRTUAL_RUNNER_H

#include "virtual-util.h"

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

/* runner_open - a node; @trace may be NULL */
bool runner_open(struct runner *r, const struct scenario *scenario,
		 const char *path, uint32_t number, const char *trace,
		 struct seen_log *log);
void runner_close(struct runner *r);

/* runner_join - false after the limit */
bool runner_join(struct runner *r);

/* runner_run - until common time @end; false after the limit */
bool runner_run(struct runner *r, uint64_t end);

/* runner_end - the clock stands, until all have ended; false after the limit */
bool runner_end(struct runner *r, struct seen_log *log);

/* share_log - logs of all nodes, for processes; drop_log() */
struct seen_log *share_log(void);
void drop_log(struct seen_log *log);

/* machine_of - a fabric of a shape; its descriptor, and how to open it */
int machine_of(const char *shape, char path[32]);

#endif /* VIRTUAL_RUNNER_H */
