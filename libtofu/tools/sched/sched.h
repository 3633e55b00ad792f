/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-sched.
 *
 * May include: common/, coll/, net/
 */
#ifndef TOFU_SCHED_H
#define TOFU_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/sched.h"
#include "net/topology.h"

/* ---- Workloads: puts to be scheduled (sched/workload.c) ---- */

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

/* ---- Processes on a machine (sched/places.c) ---- */

/**
 * sched_places_ways - what puts of a grid meet where tofu-halo places it
 * @size:  of the grid, with as many processes as the machine has nodes
 *
 * Exits where there is no memory.
 */
void sched_places_ways(const uint32_t size[2], const struct tofu_shape *shape,
		       struct sched_ways *ways);

/* ---- All schedulers side by side (sched/compare.c) ---- */

/**
 * sched_compare - a table of times
 * @workload: one row, or NULL: each set of SCALE-LES3 and its published rows
 * @json:     instead of the table
 */
void sched_compare(const struct tofu_rsched_model *model, const char *machine,
		   const struct sched_workload *workload, bool json);

/* ---- What happened (sched/happened.c) ---- */

/**
 * struct sched_seen - a put that was sent
 * @begin_ns:   when the engine began with it, from the start of all
 * @end_ns:     when the engine was through with it
 * @arrived_ns: when all of it was in the target's memory
 */
struct sched_seen {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t arrived_ns;
};

/**
 * struct sched_happened - an exchange beside its plan
 * @makespan_ns: when the last put had arrived
 * @start_ns: when each engine began with its first put
 * @last_ns:  when each was through with its last one
 * @put:      as many as the plan has, in the order of the workload
 */
struct sched_happened {
	uint64_t makespan_ns;
	uint64_t start_ns[TOFU_RSCHED_ENGINES_MAX];
	uint64_t last_ns[TOFU_RSCHED_ENGINES_MAX];
	struct sched_seen put[];
};

/**
 * sched_happened_read - the lines that tofu-trace engines prints
 * @name: of the file, or "-" for standard input
 *
 * The i-th line of an engine is the i-th put of its list in the plan. Exits as
 * tofu_arg_number() does where that cannot be.
 *
 * Return: to be freed.
 */
struct sched_happened *
sched_happened_read(const char *name, const struct tofu_rsched_plan *plan,
		    const struct sched_workload *workload);

/* ---- Pictures: engines as columns, time upward ---- */

/* The start of an engine, which occupies it but is no put */
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
	char title[48];
	uint32_t engines;
	uint64_t end_ns;
	const struct sched_bar *bar;
	size_t bars;
	const char (*name)[SCHED_NAME];
};

/* sched_panels_end - the last end of all bars, at least 1 */
uint64_t sched_panels_end(const struct sched_panel *panel, size_t panels);

/**
 * sched_draw_text - panels beside each other, for a terminal
 * @rows: lines, of which each is a part of the common time (sched/draw.c)
 */
void sched_draw_text(FILE *out, const struct sched_panel *panel, size_t panels,
		     unsigned int rows);

/**
 * sched_draw_svg - panels beside each other, on one axis (sched/svg.c)
 * @title: of all
 */
void sched_draw_svg(FILE *out, const char *title,
		    const struct sched_panel *panel, size_t panels);

#endif /* TOFU_SCHED_H */
