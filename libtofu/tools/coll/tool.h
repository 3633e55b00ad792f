/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-coll.
 *
 * May include: common/, net/
 */
#ifndef TOFU_COLL_TOOL_H
#define TOFU_COLL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/boot.h>
#include <tofu/coll.h>

#include "common/args.h"
#include "common/machine.h"
#include "common/stats.h"

/* The member that collects times and prints rows */
#define MEASURE_ROOT 0U

/* ---- Options (coll/options.c) ---- */

/**
 * struct measure_options - the user's options
 * @kind, @kinds: collectives to measure
 * @algorithm, @algorithms: in which each is measured, if it exists for it
 * @bytes:    of a block, as enum tofu_coll_kind says
 * @type:     TOFU_COLL_TYPES: the kind's
 * @op:       TOFU_COLL_OPS: the type's
 * @root:     member
 * @segment, @engines, @routes: as in struct tofu_coll_tuning
 * @size:     members along each axis; 0: as the machine is
 * @axes:     of the part of the group that is measured; 0: all of it
 * @reproducible, @blank: TOFU_COLL_REPRODUCIBLE, TOFU_COLL_BLANK
 * @in_place: without a send buffer
 * @verify:   every iteration
 * @iterations: that are timed
 * @warmup:   iterations before the timed ones
 * @phases:   report parts of the time
 * @timeout:  seconds that processes wait for each other
 * @corrupt:  member that sends a wrong element, or -1
 */
struct measure_options {
	enum tofu_coll_kind kind[TOFU_COLL_KINDS];
	size_t kinds;
	enum tofu_coll_algorithm algorithm[TOFU_COLL_ALGORITHMS];
	size_t algorithms;
	struct tofu_sizes bytes;
	uint32_t type;
	uint32_t op;
	uint32_t root;
	size_t segment;
	unsigned int engines;
	unsigned int routes;
	uint32_t size[TOFU_COLL_AXES];
	unsigned int axes;
	bool reproducible;
	bool blank;
	bool in_place;
	bool verify;
	uint64_t iterations;
	uint64_t warmup;
	bool phases;
	unsigned int timeout;
	int64_t corrupt;
	bool json;
};

/* measure_options_parse - exits with status 2 where options are wrong */
struct measure_options measure_options_parse(int argc, char **argv);

/*
 * measure_options_virtual - check them, and fill in the rest, where it is known
 * whether there is virtual time; exits as parse does
 */
void measure_options_virtual(struct measure_options *options);

/**
 * measure_options_members - check them against the members; exits as parse does
 * @all:      members of the whole group
 * @measured: members of the part that is measured
 */
void measure_options_members(const struct measure_options *options,
			     uint32_t all, uint32_t measured);

/* measure_sub_name - a part of a group as people type it */
const char *measure_sub_name(unsigned int axes);

/* measure_type, measure_op - type and operation of a kind's elements */
enum tofu_coll_type measure_type(const struct measure_options *options,
				 enum tofu_coll_kind kind);
enum tofu_coll_op measure_op(const struct measure_options *options,
			     enum tofu_coll_kind kind);

/* ---- Output (coll/report.c) ---- */

/**
 * struct measure_phases - the parts of a collective's time, ns
 * @start:       the start call of the slowest member
 * @skew:        from the first member's start to the last one's
 * @first, @last: from the first member's start to the first and last end
 */
struct measure_phases {
	uint64_t start;
	uint64_t skew;
	uint64_t first;
	uint64_t last;
};

/**
 * struct measure_row - a row
 * @asked: algorithm that was asked for
 * @how:   what it is done by, which can be another one
 * @time:  of its iterations, ns
 * @wrong: bytes, on all members
 */
struct measure_row {
	enum tofu_coll_kind kind;
	enum tofu_coll_algorithm asked;
	uint64_t bytes;
	uint32_t members;
	struct tofu_coll_description how;
	struct tofu_stats time;
	struct measure_phases phases;
	uint64_t wrong;
};

struct measure_report;

/**
 * measure_report_begin - print the lines above the rows
 * @machine: where it runs
 * @all, @measured: the whole group, and the part that is measured
 *
 * Return: to be freed; NULL where there is no memory.
 */
struct measure_report *
measure_report_begin(const struct measure_options *options,
		     const struct tofu_machine *machine,
		     const struct tofu_group_info *all,
		     const struct tofu_group_info *measured);

void measure_report_row(struct measure_report *report,
			const struct measure_row *row);

/* measure_report_end - print what follows the rows; @wrong: wrong bytes */
void measure_report_end(struct measure_report *report, uint64_t wrong);

/* ---- A member (coll/coll.c) ---- */

/**
 * struct measure - a member's part of the measurements
 * @said:   what the boot says of its failures
 * @all:    of all processes
 * @part:   of @all; which is measured, in all parts at the same time
 * @info, @of_part: this member of @all and @part
 * @barrier: before each iteration, of @all
 * @report: NULL but on MEASURE_ROOT of @all
 * @rows:   rows so far
 * @wrong:  wrong bytes so far, on all members; known by MEASURE_ROOT
 * @why:    text of a failure
 */
struct measure {
	const struct measure_options *options;
	struct tofu_machine machine;
	struct tofu_boot *boot;
	char said[TOFU_BOOT_WHY];
	struct tofu_group *all;
	struct tofu_group *part;
	struct tofu_group_info info;
	struct tofu_group_info of_part;
	struct tofu_coll *barrier;
	struct measure_report *report;
	uint64_t rows;
	uint64_t wrong;
	char *why;
};

/* measure_is_root - whether this member prints */
bool measure_is_root(const struct measure *measure);

/* measure_fail - keep an error of the library. Return: -EIO */
int measure_fail(struct measure *measure, const char *what, int code);

/*
 * measure_coll_fail - keep an error of a collective, with the member that is
 * gone. Return: -EIO
 */
int measure_coll_fail(struct measure *measure, const char *what,
		      const struct tofu_coll *coll, int code);

/* measure_barrier - wait for all members */
int measure_barrier(struct measure *measure);

/**
 * measure_say - count wrong bytes, and tell the user about the first ones
 * @wrong: of this member
 * @where: in which iteration and buffer
 */
struct payload_wrong;
void measure_say(struct measure *measure, uint64_t *wrong,
		 const struct payload_wrong *found, enum tofu_coll_kind kind,
		 uint64_t bytes, const char *where);

/* ---- Times of all members (coll/tally.c) ---- */

struct measure_tally;

/**
 * struct measure_sample - an iteration of this member
 * @began:   before the start call
 * @started: after it
 * @ended:   when it had waited
 */
struct measure_sample {
	uint64_t began;
	uint64_t started;
	uint64_t ended;
};

/* measure_tally_make - for up to measure_options.iterations samples */
int measure_tally_make(struct measure *measure, struct measure_tally **tally);
void measure_tally_free(struct measure_tally *tally);

/**
 * measure_tally - combine the samples of all members
 * @sample: of this one
 * @count:  how many, the same on all members
 * @wrong:  wrong bytes on this member
 * @barrier: check that no iteration has ended anywhere before it began
 *          everywhere, where clocks can tell
 * @row:    on MEASURE_ROOT times, phases and wrong bytes are filled in
 */
int measure_tally(struct measure *measure, struct measure_tally *tally,
		  const struct measure_sample *sample, uint64_t wrong,
		  bool barrier, struct measure_row *row);

/* ---- Rows (coll/rows.c) ---- */

/* measure_rows - measure all */
int measure_rows(struct measure *measure);

#endif /* TOFU_COLL_TOOL_H */
