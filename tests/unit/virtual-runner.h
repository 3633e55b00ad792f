/* SPDX-License-Identifier: MIT */
/*
 * Nodes that run a scenario: their homes, and disturbances by the host.
 */
#ifndef VIRTUAL_RUNNER_H
#define VIRTUAL_RUNNER_H

#include "virtual-util.h"

/**
 * struct runner - a node that runs a scenario
 * @clock:  the home's time
 * @origin: @clock at common time 0
 * @jitter: state of random disturbances
 */
struct runner {
	struct home home;
	struct cpu cpu;
	uint64_t clock;
	uint64_t origin;
	unsigned int jitter;
};

/* runner_open - create a node; @trace may be NULL */
bool runner_open(struct runner *r, const struct scenario *scenario,
		 const char *path, uint32_t number, const char *trace,
		 struct seen_log *log);
void runner_close(struct runner *r);

/* runner_join - enter common time; false after the limit */
bool runner_join(struct runner *r);

/* runner_run - run until common time @end; false after the limit */
bool runner_run(struct runner *r, uint64_t end);

/* runner_end - stop the clock until all have ended; false after the limit */
bool runner_end(struct runner *r, struct seen_log *log);

/* share_log - logs of all nodes, shared by processes; drop_log() frees them */
struct seen_log *share_log(void);
void drop_log(struct seen_log *log);

/* machine_of - make a fabric; returns its descriptor and sets @path to it */
int machine_of(const char *shape, char path[32]);

#endif /* VIRTUAL_RUNNER_H */
