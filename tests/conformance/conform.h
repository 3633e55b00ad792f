/* SPDX-License-Identifier: MIT */
/*
 * Helpers for the conformance programs: how the processes of a machine find
 * each other with nothing but uTofu, agree on a verdict, and wait.
 * Nothing here knows more of the library than <utofu.h> says.
 *
 * A program runs as one process or more on each node; the processes of a node
 * have numbers in a row. Each is told its number by TOFU_RANK, how many they are
 * by TOFU_RANKS, how many a node has by TOFU_PPN, and the machine's sizes by
 * TOFU_SHAPE. Where only TOFU_NODE and TOFU_NODES are told, it is started once on
 * each node, and makes itself into CONFORM_PPN processes. All make the same
 * claims in the same order; a claim holds when it holds in every process, and
 * process 0 prints it as a point of TAP.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#define RANKS_MAX 128
#define TNIS_MAX 6
#define WAIT_SECONDS 60

/* The control VCQ: on the last TNI, alone in its queue. */
#define CONTROL_CMP_ID 7
#define CONTROL_STAG 255

#define TCQ UTOFU_ONESIDED_FLAG_TCQ_NOTICE
#define LCL UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE
#define RMT UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE
#define STRONG UTOFU_ONESIDED_FLAG_STRONG_ORDER
#define DELAY UTOFU_ONESIDED_FLAG_DELAY_START

/**
 * struct world - the machine as this process sees it
 * @rank:   this process
 * @ranks:  processes
 * @ppn:    of each node
 * @own:    number of this process in its node
 * @next:   the process that this one sends to, in tests where all send
 * @prev:   the process that sends to this one there
 * @coords: of the nodes of all processes
 * @empty:  a node without any process follows these, with @empty_coords
 * @tnis:   TNIs of a node
 * @wait_seconds: what lasts longer does not come any more; CONFORM_WAIT in the
 *          environment, where waits are expected to be in vain
 */
struct world {
	unsigned int rank;
	unsigned int ranks;
	unsigned int ppn;
	unsigned int own;
	unsigned int next;
	unsigned int prev;
	uint8_t coords[RANKS_MAX][6];
	bool empty;
	uint8_t empty_coords[6];
	unsigned int tnis;
	long wait_seconds;
};

extern struct world world;

/**
 * struct port - a VCQ, its memory, and those of the other processes
 * @vcq:   handle
 * @id:    of all processes' VCQs
 * @area:  registered memory, at a page's beginning
 * @bytes: of it
 * @stadd: of all processes' memory
 */
struct port {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id[RANKS_MAX];
	uint8_t *area;
	size_t bytes;
	utofu_stadd_t stadd[RANKS_MAX];
};

/* ---- Verdicts ---- */

/* All processes begin, and end, together. conform_end() is main()'s result. */
void conform_begin(void);
int conform_end(void);

/*
 * For programs that fork, which has to be before the first call of the library:
 * who this is, and whether the node's engine is one that goes on while all its
 * processes are stopped.
 */
void world_read(void);
bool engine_apart(void);

/* Whether a node is still there when its processes have ended. */
bool node_remains(void);

/*
 * Before a statement in which the processes of a node would be in each other's
 * way: one after the other does it.
 */
#define IN_TURN                                                             \
	for (unsigned int turn_ = 0; turn_ < world.ppn; turn_++, meet())    \
		if (turn_ == world.own)

/*
 * The last process leaves without a word, or its node is lost, which somebody
 * else does when all nodes have said that they are streaming. The others go on
 * without it.
 */
void conform_lose_last(bool node);

/* Failures in this process count against the next claim. */
bool check_that(bool holds, const char *text, const char *file, int line);
bool check_code(int code, int expected, const char *text, const char *file,
		int line);
#define CHECK(holds) check_that(holds, #holds, __FILE__, __LINE__)
#define CODE(call, expected) \
	check_code(call, expected, #call, __FILE__, __LINE__)

/*
 * Wait for all, and say whether what is named held everywhere. A failure of a
 * claim with the words of CONFORM_STOP, in the environment, ends the program.
 */
void claim(const char *format, ...);
void claim_skip(const char *name, const char *reason);
void note(const char *format, ...);
void give_up(const char *format, ...);

/* ---- Meeting ---- */

void meet(void);
void exchange(uint64_t value, uint64_t all[]);

/* ---- Waiting ---- */

/**
 * struct patience - a wait with a limit
 * @turns: so far
 * @began: when it began, seconds
 */
struct patience {
	unsigned long turns;
	long began;
};

/* Let others work for a moment; false when it has lasted too long. */
bool patient(struct patience *patience);

void rest(unsigned int milliseconds);

/* ---- Ports ---- */

/* All open one and introduce it; or first the one and then the other. */
void port_open(struct port *port, utofu_tni_id_t tni, unsigned long flags,
	       size_t bytes);
void port_open_alone(struct port *port, utofu_tni_id_t tni,
		     unsigned long flags, size_t bytes);
void port_introduce(struct port *port);
void port_close(struct port *port);

/* The next report or notice; UTOFU_ERR_NOT_FOUND when it does not come. */
int next_report(struct port *port, void **cbdata);
int next_notice(struct port *port, struct utofu_mrq_notice *notice);

/* Take these numbers of each, all of them good, in any order. */
void take_reports(struct port *port, size_t count);
void take_notices(struct port *port, size_t lcl, size_t rmt);

/* That nothing is in either queue. */
void check_quiet(struct port *port);

/* ---- Data ---- */

void fill(void *to, size_t bytes, uint64_t seed);
bool is_filled(const void *from, size_t bytes, uint64_t seed);
bool is_all(const void *from, size_t bytes, uint8_t value);

#endif /* CONFORM_H */
