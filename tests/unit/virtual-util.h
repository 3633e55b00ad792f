/* SPDX-License-Identifier: MIT */
/*
 * A machine in virtual time whose processors are small programs: each posts
 * commands, polls its rings and sleeps at times that a seed determines, and
 * logs what it sees and when. The same program runs on nodes that are
 * processes, and on controllers that a plain loop over all events drives.
 */
#ifndef VIRTUAL_UTIL_H
#define VIRTUAL_UTIL_H

#include "node-util.h"

#define VIRTUAL_NODES 12
#define SEEN_MAX 8192

/**
 * enum seen_kind - events that a program logs
 * @SEEN_TCQ, @SEEN_MRQ: an entry of a ring
 * @SEEN_WORD: a word of the node's own memory has changed
 * @SEEN_WAKE: an interrupt
 * @SEEN_PORT: a counter of a port
 */
enum seen_kind { SEEN_TCQ = 1, SEEN_MRQ, SEEN_WORD, SEEN_WAKE, SEEN_PORT };

struct seen {
	uint64_t time;
	uint64_t kind;
	uint64_t value;
};

/**
 * struct seen_log - the log of a node, in memory that processes share
 * @ended: the program has come to its end
 */
struct seen_log {
	uint32_t count;
	uint32_t ended;
	struct seen seen[SEEN_MAX];
};

/**
 * struct scenario - parameters of the programs
 * @shape:    of the machine
 * @machine:  name
 * @commands: count for each node
 * @burst:    commands posted at once, at most
 * @length:   bytes of a put or get, at most
 * @poll:     ns between two polls
 * @sleeps:   a program sleeps now and then until an interrupt comes
 * @loopback: some commands go to the node itself
 * @all_to_one: all go to node 0
 * @blocks:   some commands are in blocks, or paced
 * @sessions: every other CQ is in session mode, and commands bring steps
 * @logged:   of nodes that are processes: entries that each log has had before
 * @stops:    of nodes that are processes: each is stopped in turn for a moment
 * @crowd:    of nodes that are processes: all share one processor
 * @quiet:    of nodes that are processes: see struct icc_params; programs begin
 *            after that
 * @ring:     of nodes that are processes: bytes that each ring seems to have, so
 *            that nodes wait for room; or 0: all
 * @hosts:    of nodes that are processes: each in a fabric of one of that many
 *            hosts, with bridges between them; or 0
 */
struct scenario {
	const char *shape;
	const char *machine;
	unsigned int commands;
	unsigned int burst;
	uint64_t length;
	uint64_t poll;
	bool sleeps;
	bool loopback;
	bool all_to_one;
	uint64_t seed;
	bool blocks;
	bool sessions;
	uint64_t logged;
	bool stops;
	uint64_t ring;
	bool crowd;
	uint32_t quiet;
	unsigned int hosts;
};

/**
 * struct cpu - the processor of a node
 * @ring: rings the doorbell
 * @next: common time of its next step; UINT64_MAX: never
 * @asleep: until @next or an interrupt
 */
struct cpu {
	const struct scenario *scenario;
	struct home *home;
	struct seen_log *log;
	void (*ring)(struct cpu *cpu, uint64_t tail);
	void *driver;
	uint32_t node;
	uint32_t nodes;
	struct tofu_shape shape;
	uint64_t rng;
	uint64_t next;
	bool asleep;
	unsigned int irqs;
	unsigned int left;
	unsigned int under_way;
	uint64_t word[4];
};

/* A time after the end of all commands. */
#define SCENARIO_END 5000000

void cpu_create(struct cpu *cpu, const struct scenario *scenario,
		struct home *home, uint32_t node, struct seen_log *log);

/* cpu_step - take the step that is due; true when it rang a doorbell */
bool cpu_step(struct cpu *cpu, uint64_t now);

/* cpu_wake - wake on an interrupt after the controller has run at @now */
void cpu_wake(struct cpu *cpu, uint64_t now);

void seen_add(struct seen_log *log, uint64_t time, enum seen_kind kind,
	      uint64_t value);

/* seen_same - compare logs; prints the first difference */
bool seen_same(const struct seen_log *a, const struct seen_log *b,
	       uint32_t nodes);

/* scenario_enable - set up the tables and the CQ of a node */
void scenario_enable(const struct scenario *scenario, struct home *home,
		     uint32_t node);

/* home_alone - memory and rings, without a node; @pages are the controller's */
bool home_alone(struct home *home, void *pages);

/**
 * oracle_run - run the scenario without nodes; fills the logs of all
 * @folder: for traces, node<number>.trace of each node
 */
void oracle_run(const struct scenario *scenario, const char *folder,
		struct seen_log *log);

/* ports_see - log all counters of ports, at the end */
void ports_see(struct cpu *cpu, uint64_t now);

#endif /* VIRTUAL_UTIL_H */
