/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-halo.
 *
 * May include: common/, neighbor/
 */
#ifndef TOFU_HALO_H
#define TOFU_HALO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/neighbor.h>
#include <tofu/p2p.h>

#include "common/args.h"
#include "common/phase.h"
#include "common/world.h"
#include "common/payload.h"
#include "common/sched.h"

/* ---- Patterns: who sends how much to whom (halo/pattern.c) ---- */

#define HALO_MESSAGES_MAX TOFU_EXCHANGE_MESSAGES_MAX
#define HALO_NAME 32

/* Least number of bytes between two receive buffers; no write may hit them. */
#define HALO_GUARD 64

/**
 * struct halo_message - a message of an exchange, and what comes in return
 * @direction: name of the direction that it takes, for people
 * @part:   number among the messages of the same direction, from 0
 * @to:     node that this one sends it to
 * @from:   node whose message @back comes to this one in return
 * @back:   the message in the opposite direction; this one itself where the
 *          pattern has none
 * @bytes:  payload of either message
 * @offset: offset of its buffer in the send area and in each receive set
 */
struct halo_message {
	char direction[HALO_NAME];
	unsigned int part;
	unsigned int to;
	unsigned int from;
	unsigned int back;
	size_t bytes;
	size_t offset;
};

/**
 * struct halo_pattern - the messages of an exchange
 * @count:  number of messages
 * @bytes:  payload of all messages
 * @span:   bytes of the send area, and of each receive set
 */
struct halo_pattern {
	unsigned int count;
	uint64_t bytes;
	size_t span;
	struct halo_message message[HALO_MESSAGES_MAX];
};

/**
 * halo_pattern_scale - the messages of SCALE-LES3
 * @grid:     two dimensions, west to east and south to north
 * @workload: made by sched_workload_scale(); message i is its put i
 */
void halo_pattern_scale(const struct tofu_grid *grid, uint32_t node,
			const struct sched_workload *workload,
			struct halo_pattern *pattern);

/**
 * halo_pattern_random - random puts, each of which goes around in its direction
 * @grid:     as for halo_pattern_scale()
 * @workload: in directions of a 2-D grid; message i is its put i
 *
 * No answer is sent: a node receives the same message from the node behind it.
 */
void halo_pattern_random(const struct tofu_grid *grid, uint32_t node,
			 const struct sched_workload *workload,
			 struct halo_pattern *pattern);

/**
 * halo_pattern_neighbor - one message of @bytes to each of @neighbors
 * @grid: periodic in all dimensions
 *
 * The nearest neighbours come first: ordered by the largest part of the offset,
 * then by the sum of its parts, each followed by its opposite. On a small grid
 * several may be the same node, or this one.
 */
void halo_pattern_neighbor(const struct tofu_grid *grid, uint32_t node,
			   unsigned int neighbors, size_t bytes,
			   struct halo_pattern *pattern);

/* halo_pattern_overlay - one place for all messages, which are not verified */
void halo_pattern_overlay(struct halo_pattern *pattern);

/* ---- Places in the grid (halo/place.c) ---- */

/**
 * struct halo_places - where the processes of the grid are
 * @node: by place; NULL: the places are nodes
 * @own:  this node's place
 */
struct halo_places {
	uint32_t *node;
	uint32_t own;
};

/**
 * halo_places_make - place the grid on the machine
 * @own: this node
 * @why: as for tofu_world_join()
 *
 * Where the machine's torus, as <tofu/coll.h> has it, has the sizes of the grid,
 * neighbours in the grid are neighbours in the machine.
 *
 * Return: 0 or a negative errno; halo_places_free() in any case.
 */
int halo_places_make(const struct tofu_grid *grid, struct tofu_boot *boot,
		     uint32_t own, struct halo_places *places, char **why);
void halo_places_free(struct halo_places *places);

/* halo_places_put - name nodes in a pattern that names places */
void halo_places_put(const struct halo_places *places,
		     struct halo_pattern *pattern);

/* ---- Contents of messages (halo/data.c) ---- */

/**
 * struct halo_turn - an exchange, as a node knows it
 * @row:       number of the row
 * @size:      size of the row, by which people know it
 * @node:      this node
 * @iteration: number of the exchange in its row, from 0
 * @said:      messages about wrong bytes so far
 */
struct halo_turn {
	uint64_t row;
	uint64_t size;
	uint32_t node;
	uint64_t iteration;
	unsigned int said;
};

/* halo_data_fill - write all data that this node sends */
void halo_data_fill(const struct halo_pattern *pattern,
		    const struct halo_turn *turn, uint8_t *area);

/**
 * halo_data_verify - check all received data, and the bytes between the buffers
 * @set: receive buffers
 *
 * Prints the first wrong bytes to the error output.
 *
 * Return: the number of wrong bytes.
 */
uint64_t halo_data_verify(const struct halo_pattern *pattern,
			  struct halo_turn *turn, const uint8_t *set);

/* ---- Options (halo/options.c) ---- */

/**
 * struct halo_row - the measurement of one row of the table
 * @number:    number of the row, from 0
 * @size:      k of SCALE-LES3, number of a random set, or bytes of a message
 * @tnis:      most engines to use
 * @part:      part of SCALE-LES3; NULL: random set, unless @neighbors are given
 * @scheduler: NULL: messages as they are
 * @neighbors: 0: puts that schedulers plan
 * @algorithm: algorithm of the neighbour exchange, and of @messages
 * @messages:  from point to point, instead of puts
 * @form:      name of the form of the neighbour exchange; NULL: orig, which has
 *     none, or another pattern
 * @name:      name of the scheduler or algorithm, as people type it
 */
struct halo_row {
	uint64_t number;
	uint64_t size;
	unsigned int tnis;
	const struct sched_set *part;
	const struct sched_scheduler *scheduler;
	unsigned int neighbors;
	enum tofu_neighbor_algorithm algorithm;
	bool messages;
	const char *form;
	const char *name;
};

/**
 * enum halo_sync - how exchanges are kept apart
 * @HALO_SYNC_BEFORE: the tool's barrier before each, which is not timed
 * @HALO_SYNC_GATES:  pseudo-collective: a barrier of gates before and after
 *     each, both timed
 * @HALO_SYNC_FREE:   no barrier
 */
enum halo_sync {
	HALO_SYNC_BEFORE,
	HALO_SYNC_GATES,
	HALO_SYNC_FREE,
};

/* The choices of a list: each is an index. */
#define HALO_CHOICES_MAX 16
struct halo_choices {
	size_t count;
	unsigned int choice[HALO_CHOICES_MAX];
};

/* Choices beside the library's own */
#define HALO_ALGORITHM_ORIG (TOFU_NEIGHBOR_SEGMENTED + 1)
#define HALO_FORM_MESSAGES (TOFU_NEIGHBOR_STEPS + 1)
#define HALO_SCHEDULER_NATIVE SCHED_SCHEDULERS
#define HALO_SCHEDULER_ORIG (SCHED_SCHEDULERS + 1)

/**
 * struct halo_options - the user's options
 * @neighbor:   pattern neighbor, else puts that schedulers plan
 * @random:     these are random sets, else scale-les3
 * @sizes:      values of k, numbers of sets, or sizes of messages
 * @tnis:       numbers of engines; 0: all
 * @neighbors:  numbers of neighbours
 * @parts:      indices of sched_sets
 * @schedulers: indices of sched_schedulers, HALO_SCHEDULER_NATIVE,
 *     HALO_SCHEDULER_ORIG
 * @algorithms: enum tofu_neighbor_algorithm, HALO_ALGORITHM_ORIG
 * @form:       enum tofu_neighbor_form, or HALO_FORM_MESSAGES
 * @p2p_mode:   mode of messages from point to point
 * @grid:       grid of the processes; 0 dimensions where it is not given
 * @machine:    machine whose model plans, or NULL
 * @start_ns:   time to start an engine, in plans; -1: as the model has it
 * @starts:     how far apart the nodes begin an exchange
 * @verify:     check every byte that comes in
 * @iterations: exchanges of a row that are counted
 * @warmup:     exchanges before the counted ones
 * @timeout:    seconds that a wait may take
 * @corrupt:    node that sends one wrong byte in a row's last exchange, or -1
 */
struct halo_options {
	bool neighbor;
	bool random;
	struct tofu_sizes sizes;
	struct tofu_sizes tnis;
	struct tofu_sizes neighbors;
	struct halo_choices parts;
	struct halo_choices schedulers;
	struct halo_choices algorithms;
	unsigned int form;
	enum tofu_p2p_mode p2p_mode;
	struct tofu_grid grid;
	const char *machine;
	int64_t start_ns;
	enum halo_sync sync;
	struct tofu_starts starts;
	bool verify;
	bool json;
	uint64_t iterations;
	uint64_t warmup;
	unsigned int timeout;
	int64_t corrupt;
};

/* halo_options_parse - exits with status 2 where options are wrong */
struct halo_options halo_options_parse(int argc, char **argv);

/**
 * halo_options_finish - fill in the machine's values
 * @engines: engines of a node
 * @model:   set to the model of the machine that plans, with at most @engines
 *
 * Exits as halo_options_parse() does.
 */
void halo_options_finish(struct halo_options *options,
			 const struct tofu_machine *machine,
			 unsigned int engines, struct tofu_rsched_model *model);

/**
 * halo_rows - make all rows
 * @count: set to their number
 *
 * Return: to be freed; NULL where there is no memory.
 */
struct halo_row *halo_rows(const struct halo_options *options, size_t *count);

/* halo_algorithm_name - the name of a choice */
const char *halo_algorithm_name(unsigned int algorithm);

/* halo_form_name - the name of a choice */
const char *halo_form_name(unsigned int form);

/* halo_scheduler_name - the name of a choice */
const char *halo_scheduler_name(unsigned int scheduler);

/* halo_pattern_name - the name as people type it */
const char *halo_pattern_name(const struct halo_options *options);

/* halo_mode_name - the name of an enum tofu_p2p_mode */
const char *halo_mode_name(unsigned int mode);

/* ---- The exchange (halo/exchange.c) ---- */

/**
 * struct halo_time - times of the counted exchanges, in nanoseconds
 * @min, @max: the shortest and the longest
 * @lower, @upper: quartiles
 */
struct halo_time {
	uint64_t min;
	uint64_t lower;
	uint64_t median;
	uint64_t upper;
	uint64_t max;
};

/**
 * struct halo_result - the result of one row, on this node
 * @bytes:    payload that a node sends in an exchange
 * @puts:     puts of a node in an exchange; from point to point: messages
 * @engines:  engines that have puts
 * @runs:     name of the algorithm that a neighbour exchange has run
 * @planned:  nanoseconds by the model; 0: nothing is planned
 * @wrong:    wrong bytes received
 * @verified: bytes checked in the counted exchanges
 * @time:     times of an exchange in nanoseconds
 * @middle:   the mean of their middle half
 */
struct halo_result {
	uint64_t bytes;
	unsigned int puts;
	unsigned int engines;
	const char *runs;
	uint64_t planned;
	uint64_t wrong;
	uint64_t verified;
	struct halo_time time;
	uint64_t middle;
};

struct halo;

/**
 * halo_open - make buffers, and gates where they are wanted
 * @machine, @options, @model: kept
 * @row, @rows: all rows that will be run
 * @why:  as for tofu_world_join()
 * @halo: set on success
 *
 * Return: 0 or a negative errno.
 */
int halo_open(const struct tofu_machine *machine, struct tofu_world *world,
	      const struct halo_options *options,
	      const struct tofu_rsched_model *model, const struct halo_row *row,
	      size_t rows, char **why, struct halo **halo);
void halo_close(struct halo *halo);

/**
 * halo_run - run the exchanges of a row, on all nodes at the same time
 * @result: set on success to the sums of all nodes, the times of the node with
 *          the longest median, and the mean of @middle
 *
 * Prints the first wrong bytes to the error output.
 *
 * Return: 0, also where bytes are wrong; or a negative errno.
 */
int halo_run(struct halo *halo, const struct halo_row *row, char **why,
	     struct halo_result *result);

/* ---- Output (halo/report.c) ---- */

struct halo_report;

/**
 * halo_report_begin - print the lines above the rows
 *
 * Return: to be freed; NULL where there is no memory.
 */
struct halo_report *halo_report_begin(const struct halo_options *options,
				      const struct tofu_machine *machine);

/* These do nothing where @report is NULL: another node prints. */
void halo_report_row(struct halo_report *report, const struct halo_row *row,
		     const struct halo_result *result);

/* halo_report_end - print what follows the last row */
void halo_report_end(struct halo_report *report, uint64_t wrong);

#endif /* TOFU_HALO_H */
