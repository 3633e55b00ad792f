/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-p2p.
 *
 * May include: common/, srb/, net/
 */
#ifndef TOFU_P2P_TOOL_H
#define TOFU_P2P_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/p2p.h>
#include <tofu/srb.h>

#include "common/args.h"
#include "common/world.h"
#include "common/stats.h"

/* The node that receives messages and prints rows */
#define MEASURE_ROOT 0U

/* Reserved for measurements: the tools themselves communicate through TNI 0. */
#define MEASURE_TNI 1
#define MEASURE_COMPONENT 0

/* ---- Options (p2p/options.c) ---- */

enum measure_test {
	MEASURE_LATENCY,
	MEASURE_THRESHOLD,
	MEASURE_SRB,
	MEASURE_COUNTER,
	MEASURE_MEMORY,
	MEASURE_NEED,
	MEASURE_TESTS,
};

#define MEASURE_MODES_MAX 8

/**
 * struct measure_options - the user's options
 * @mode:     modes to measure
 * @modes:    number of modes
 * @bytes:    bytes of a message
 * @senders:  nodes that send to node 0 at the same time
 * @peers:    peers of a process; senders where it is not given
 * @memory, @ring, @large, @small, @machine: as in struct tofu_p2p_params
 * @armw:     there are remote atomics
 * @odd:      see tofu_armw_odd()
 * @iterations: messages that are timed one by one
 * @warmup:   messages before the timed ones
 * @messages: messages of each sender, sent in a row to measure their rate
 * @window:   most messages that may be under way
 * @timeout:  seconds that a wait may take
 * @corrupt:  node that changes a byte of the last message that it sends in a
 *            row, or -1
 */
struct measure_options {
	enum measure_test test;
	enum tofu_p2p_mode mode[MEASURE_MODES_MAX];
	size_t modes;
	struct tofu_sizes bytes;
	struct tofu_sizes senders;
	struct tofu_sizes peers;
	size_t memory;
	size_t ring;
	size_t large;
	size_t small;
	const char *machine;
	bool armw;
	const char *odd;
	uint64_t iterations;
	uint64_t warmup;
	uint64_t messages;
	uint64_t window;
	unsigned int timeout;
	int64_t corrupt;
	bool json;
};

/* measure_options_parse - exits with status 2 where options are wrong */
struct measure_options measure_options_parse(int argc, char **argv);

/* measure_options_finish - fill in the machine's values; exits as parse does */
void measure_options_finish(struct measure_options *options, uint32_t nodes);

/* measure_mode_name, measure_test_name - names as people type them */
const char *measure_mode_name(enum tofu_p2p_mode mode);
const char *measure_test_name(enum measure_test test);

/* ---- Output (p2p/report.c) ---- */

/**
 * struct measure_cell - a cell of a row
 * @title: title of the table's column
 * @key:   key of the JSON member
 * @text:  contents; NULL: print @value
 * @value: number, divided by @by unless that is 0
 */
struct measure_cell {
	const char *title;
	const char *key;
	const char *text;
	uint64_t value;
	unsigned int by;
};

struct measure_report;

/**
 * measure_report_begin - print the lines above the rows
 * @nodes: 0: there is no machine
 * @shape: shape of the machine
 *
 * Return: to be freed; NULL where there is no memory.
 */
struct measure_report *
measure_report_begin(const struct measure_options *options, uint32_t nodes,
		     const char *shape);

/* measure_report_row - print a row; all rows have the same columns */
void measure_report_row(struct measure_report *report,
			const struct measure_cell *cell, size_t cells);

/* measure_report_end - print what follows the rows; @wrong: wrong messages */
void measure_report_end(struct measure_report *report, uint64_t wrong);

/* ---- A node (p2p/p2p.c) ---- */

#define MEASURE_SENDERS_MAX 63

/* Purposes of buffers */
enum measure_buffers {
	MEASURE_OUT,
	MEASURE_IN,
	MEASURE_STREAM,
	MEASURE_BUFFERS,
};

/**
 * struct measure - a node's part of the measurements
 * @report: NULL but on node 0
 * @rows:   rows so far
 * @wrong:  wrong messages on this node
 * @area, @area_bytes: buffers, kept to the end: whether one is still registered
 *          must not depend on the addresses that malloc() gives again
 * @why:    text of a failure, as for tofu_world_join()
 */
struct measure {
	const struct measure_options *options;
	struct tofu_machine machine;
	struct tofu_world *world;
	struct measure_report *report;
	uint64_t rows;
	uint64_t wrong;
	char *area[MEASURE_BUFFERS];
	size_t area_bytes[MEASURE_BUFFERS];
	char *why;
};

/* measure_fail - report an error of uTofu. Return: -EIO */
int measure_fail(struct measure *measure, const char *what, int code);

int measure_barrier(struct measure *measure);

/* measure_gather - gather words of all nodes; @all is valid until the next */
int measure_gather(struct measure *measure, const uint64_t *mine, size_t words,
		   const uint64_t **all);

/* measure_sends - whether this node is a sender; senders are 1, 2, … */
bool measure_sends(const struct measure *measure, uint64_t senders);

/* measure_is_root - whether this node is the receiver */
bool measure_is_root(const struct measure *measure);

/**
 * measure_fill, measure_is, measure_check - fill a message, compare one, and
 * compare one with errors said on the error output
 * @buf:    8-byte aligned
 * @sender: node that sends it
 * @number: number of the message among those of the sender in this row
 */
void measure_fill(const struct measure *measure, void *buf, size_t bytes,
		  uint64_t number);
bool measure_is(const struct measure *measure, const void *buf, size_t bytes,
		uint32_t sender, uint64_t number);
void measure_check(struct measure *measure, const void *buf, size_t bytes,
		   uint32_t sender, uint64_t number);

/* measure_spoil - corrupt a message, where the user wants that */
void measure_spoil(const struct measure *measure, void *buf, bool last);

/* measure_row - report a row; does nothing but on node 0 */
void measure_row(struct measure *measure, const struct measure_cell *cell,
		 size_t cells);

/* ---- Messages (p2p/message.c) ---- */

/* measure_params - the parameters of an endpoint of this node */
struct tofu_p2p_params measure_params(const struct measure *measure,
				      enum tofu_p2p_mode mode);

/*
 * measure_open - open an endpoint on each node, at the same time
 *
 * Return: 0 or a negative errno; closed with measure_close().
 */
int measure_open(struct measure *measure, const struct tofu_p2p_params *params,
		 struct tofu_p2p **p2p);
int measure_close(struct measure *measure, struct tofu_p2p *p2p);

/*
 * measure_meet - exchange messages between a node and node 0, one by one, so
 * that each has allocated all that it will ever have for the other
 */
int measure_meet(struct measure *measure, struct tofu_p2p *p2p, uint32_t peer);

/*
 * measure_ping - send messages from all senders to node 0, which answers them,
 * one by one
 * @stats: statistics of each sender's @middle time from message to answer
 */
int measure_ping(struct measure *measure, struct tofu_p2p *p2p,
		 uint64_t senders, size_t bytes, uint64_t iterations,
		 struct tofu_stats *stats);

/* measure_latency and below - measure the rows of the --test of that name */
int measure_latency(struct measure *measure);
int measure_threshold(struct measure *measure);

/* ---- Records, and the counter (p2p/srb.c, p2p/counter.c) ---- */

int measure_srb(struct measure *measure);
int measure_counter(struct measure *measure);

/* ---- Memory (p2p/memory.c) ---- */

int measure_memory(struct measure *measure);

/* measure_need - compute the memory of endpoints; needs no machine */
int measure_need(struct measure *measure);

#endif /* TOFU_P2P_TOOL_H */
