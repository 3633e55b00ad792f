/* SPDX-License-Identifier: MIT */
/* The parts of tofu-sched. */
#ifndef TOFU_SCHED_H
#define TOFU_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tofu/rsched.h>

/* ---- Workloads: puts to be scheduled (tofu-sched-workload.c) ---- */

#define SCHED_DIRECTIONS 64
#define SCHED_NAME 16

/**
 * struct sched_workload - puts, and what people call their directions
 * @title:     of all
 * @request:   @count puts
 * @direction: names; those of no put may be empty
 * @directions: that have names
 */
struct sched_workload {
	char title[64];
	struct tofu_rsched_request request[TOFU_RSCHED_REQUESTS_MAX];
	size_t count;
	char direction[SCHED_DIRECTIONS][SCHED_NAME];
	uint32_t directions;
};

/* Parts of the halo exchange of SCALE-LES3 */
enum sched_part {
	SCHED_EW = 1,
	SCHED_NS = 2,
	SCHED_DIAGONAL = 4,
};

/**
 * struct sched_set - directions that are exchanged together
 * @name:  as people type it
 * @title: for a table
 * @parts: enum sched_part
 */
struct sched_set {
	const char *name;
	const char *title;
	unsigned int parts;
};

#define SCHED_SETS 5
extern const struct sched_set sched_sets[SCHED_SETS];

/* sched_set_find - by name, or NULL */
const struct sched_set *sched_set_find(const char *name);

/* sched_workload_scale - of a grid with @k levels */
void sched_workload_scale(struct sched_workload *workload,
			  const struct sched_set *set, unsigned int k);

/* sched_workload_neighbors - one put for each, each in a direction of its own */
void sched_workload_neighbors(struct sched_workload *workload,
			      unsigned int neighbors, uint64_t bytes);

/**
 * sched_workload_read - puts from a file, a line each
 * @name: of the file, or "-" for standard input
 *
 * Exits as tofu_arg_number() does where a line is wrong.
 */
void sched_workload_read(struct sched_workload *workload, const char *name);

/* ---- Schedulers ---- */

/**
 * struct sched_scheduler - one that can be asked for
 * @scheduler: enum tofu_rsched_scheduler
 * @width:     of it, or 0
 * @name:      as people type it
 * @title:     of a table's column
 */
struct sched_scheduler {
	int scheduler;
	unsigned int width;
	const char *name;
	const char *title;
};

#define SCHED_SCHEDULERS 7
extern const struct sched_scheduler sched_schedulers[SCHED_SCHEDULERS];

/* sched_scheduler_find - by name, or NULL */
const struct sched_scheduler *sched_scheduler_find(const char *name);

/* sched_plan - of a workload; exits with a sentence where there is none */
struct tofu_rsched_plan *sched_plan(const struct tofu_rsched_model *model,
				    const struct sched_scheduler *scheduler,
				    const struct sched_workload *workload);

/* ---- All schedulers side by side (tofu-sched-compare.c) ---- */

/**
 * sched_compare - a table of times
 * @workload: one row, or NULL: each set of SCALE-LES3 and its published rows
 * @json:     instead of the table
 */
void sched_compare(const struct tofu_rsched_model *model, const char *machine,
		   const struct sched_workload *workload, bool json);

/* ---- Pictures: engines as columns, time upward ---- */

/* What is no put, but keeps an engine: its start */
#define SCHED_START UINT32_MAX

/**
 * struct sched_bar - something that an engine does
 * @direction: number of its name, or SCHED_START
 */
struct sched_bar {
	uint32_t engine;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t direction;
};

/**
 * struct sched_panel - one schedule, planned or seen
 * @title:   above it
 * @engines: columns
 * @end_ns:  said below the title
 * @bar:     @bars of them, in any order
 * @name:    of directions
 */
struct sched_panel {
	const char *title;
	uint32_t engines;
	uint64_t end_ns;
	const struct sched_bar *bar;
	size_t bars;
	const char (*name)[SCHED_NAME];
};

/* sched_draw_text - for a terminal, in @rows lines (tofu-sched-draw.c) */
void sched_draw_text(FILE *out, const struct sched_panel *panel,
		     unsigned int rows);

/**
 * sched_draw_svg - panels beside each other, on one axis (tofu-sched-svg.c)
 * @title: of all
 */
void sched_draw_svg(FILE *out, const char *title,
		    const struct sched_panel *panel, size_t panels);

#endif /* TOFU_SCHED_H */
