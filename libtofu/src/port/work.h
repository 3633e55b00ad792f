/* SPDX-License-Identifier: MIT */
/*
 * What the library's calls cost, for a home whose programs run in no time of
 * their own: there each call counts its work by tofu_work(), and the port
 * spends it. Elsewhere software takes the time that it takes, and nothing of
 * this is compiled.
 */
#ifndef PORT_WORK_H
#define PORT_WORK_H

#include <stdbool.h>
#include <stdint.h>

/**
 * enum tofu_work - kinds of work
 * @TOFU_WORK_POST: a command on the fast path, up to its doorbell
 * @TOFU_WORK_POST_SLOT: more, for its second slot
 * @TOFU_WORK_POST_SLOWLY: any other command, up to its doorbell
 * @TOFU_WORK_POST_ALONE: more, where no other command is under way: the
 *	descriptor is stored into the page, too; of each slot
 * @TOFU_WORK_POST_PACED: more, with an MTU, a gap or a stride
 * @TOFU_WORK_POST_FULL: more, where the room has to be looked up
 * @TOFU_WORK_POST_PREPARED: a call of utofu_post_toq(), up to its doorbell
 * @TOFU_WORK_PREPARED: more, for each of its commands
 * @TOFU_WORK_POSTED: from the doorbell to the end of the call, and what a
 *	program does until the next one
 * @TOFU_WORK_POSTED_SLOWLY: more, but on the fast path
 * @TOFU_WORK_PREPARE: a command for later
 * @TOFU_WORK_TCQ_LOOK: a poll of the TCQ, up to its look at the queue
 * @TOFU_WORK_TCQ_EMPTY, @TOFU_WORK_TCQ_FOUND: from there to its end
 * @TOFU_WORK_MRQ_LOOK, @TOFU_WORK_MRQ_EMPTY, @TOFU_WORK_MRQ_FOUND: the same, of
 *	the MRQ
 * @TOFU_WORK_TCQ_SLOWLY, @TOFU_WORK_MRQ_SLOWLY: more, where the engine is told
 *	what has been read
 * @TOFU_WORK_VCQ_IDLE: waiting without a poll
 * @TOFU_WORK_BARRIER_START: up to the store that starts a barrier
 * @TOFU_WORK_BARRIER_STARTED: from there to the end of the call
 * @TOFU_WORK_BARRIER_LOOK: a poll of a barrier, up to its look
 * @TOFU_WORK_BARRIER_EMPTY, @TOFU_WORK_BARRIER_ENDED: from there to its end
 * @TOFU_WORK_CLOCK: reading the system's clock
 * @TOFU_WORK_COUNTER: reading the processor's
 * @TOFU_WORK_WAIT: a turn of a wait, beside its polls
 * @TOFU_WORK_YIELD: giving way to other processes
 * @TOFU_WORK_QUEUE, @TOFU_WORK_QUEUE_FREE: making or freeing a command queue
 * @TOFU_WORK_MEMORY, @TOFU_WORK_MEMORY_FREE: registering or deregistering
 * @TOFU_WORK_MEMORY_PAGE, @TOFU_WORK_MEMORY_PAGE_FREE: more, for each page
 * @TOFU_WORK_COPY, @TOFU_WORK_CLEAR: TOFU_WORK_BYTES of memory
 * @TOFU_WORK_BOOT_PUT: addressing a word of another process
 * @TOFU_WORK_BOOT_BARRIER: more, at the end of a barrier
 * @TOFU_WORK_BOOT_WAIT: a turn of a wait for another process
 * @TOFU_WORK_EXCHANGE_START, @TOFU_WORK_EXCHANGE_END: of an exchange
 * @TOFU_WORK_EXCHANGE_TEST: a test of an exchange
 * @TOFU_WORK_EXCHANGE_LOOK: looking whether an engine has something to post
 * @TOFU_WORK_EXCHANGE_POST: posting it
 * @TOFU_WORK_EXCHANGE_ENGINE: polling an engine
 * @TOFU_WORK_EXCHANGE_NOTICE: more, for each notice that has come
 * @TOFU_WORK_RING_LOOK: looking for a record in a ring
 * @TOFU_WORK_RING_FOUND: more, where there is one
 * @TOFU_WORK_RING_CONSUME: releasing it
 * @TOFU_WORK_SRB_RECEIVE: more, where the ring is shared
 * @TOFU_WORK_SRB_SEND: beginning to send a record, up to its first command
 * @TOFU_WORK_SRB_SENT: from there to the end of the call
 * @TOFU_WORK_SRB_SINGLE: as TOFU_WORK_SRB_SEND, and putting it, where nothing
 *	else is to be done
 * @TOFU_WORK_SRB_EXPRESS: the same of a short record, up to its command
 * @TOFU_WORK_SRB_POLL, @TOFU_WORK_SRB_POLLED: a poll of a sender, before and after
 *	its queues are polled
 * @TOFU_WORK_SRB_NOTICE, @TOFU_WORK_SRB_ENDED: a step of a record that is sent, and
 *	its end
 * @TOFU_WORK_SRB_PUT, @TOFU_WORK_SRB_POSTED: more, where it is put into the ring,
 *	before and after that
 * @TOFU_WORK_P2P_SEND, @TOFU_WORK_P2P_RECEIVE: beginning one
 * @TOFU_WORK_P2P_EXPRESS, @TOFU_WORK_P2P_EXPRESSED: sending a short message, before
 *	and after its record is sent
 * @TOFU_WORK_P2P_RECORD, @TOFU_WORK_P2P_SENT: a record, before and after it is
 *	sent
 * @TOFU_WORK_P2P_FLOWN: its end
 * @TOFU_WORK_P2P_TEST: testing a request, beside the turn
 * @TOFU_WORK_P2P_PROGRESS: a turn, up to polling senders
 * @TOFU_WORK_P2P_SENDER: more, where one has records under way
 * @TOFU_WORK_P2P_LOOK: from there to looking at rings
 * @TOFU_WORK_P2P_SHARED: more, where rings are shared
 * @TOFU_WORK_P2P_TURNED: from there to the turn's end
 * @TOFU_WORK_P2P_UNHEARD: looking for a first record of a process, each time
 * @TOFU_WORK_P2P_MESSAGE, @TOFU_WORK_P2P_REPLY: more, where one has come
 * @TOFU_WORK_P2P_CHUNK: moving a part of a long message, when that has ended
 * @TOFU_WORK_P2P_REGION: looking for a buffer that is still registered, and
 *	returning it
 * @TOFU_WORK_P2P_CHECK: asking whether remembered memory was unmapped
 * @TOFU_WORK_P2P_ENDED: handing a request back
 * @TOFU_WORK_COLL_START, @TOFU_WORK_COLL_END: of a collective
 * @TOFU_WORK_COLL_TEST: a test of a collective, up to its first poll or step
 * @TOFU_WORK_COLL_VAIN: more, after a test that is not the last
 * @TOFU_WORK_COLL_ENGINE, @TOFU_WORK_COLL_POLLED: before and after an engine is
 *	polled
 * @TOFU_WORK_COLL_NOTICE: more, for each notice that has come
 * @TOFU_WORK_COLL_LANE: looking whether a lane can go on
 * @TOFU_WORK_COLL_AWAIT: more, where it waits for an engine
 * @TOFU_WORK_COLL_STEP: a step of a lane
 * @TOFU_WORK_COLL_DOUBLING: more, where it is planned by recursive doubling and
 *	does not wait
 * @TOFU_WORK_COLL_RING: more, where it moves or adds data in a ring
 * @TOFU_WORK_COLL_RINGS: more, where it is planned for rings of several
 *	directions
 * @TOFU_WORK_COLL_SUM: more, where it adds
 * @TOFU_WORK_COLL_COMMAND: more, before a put is posted
 * @TOFU_WORK_COLL_PIGGYBACK: the same, where the command has the data in itself
 * @TOFU_WORK_COLL_PUT: more, after a put whose end a lane waits for
 * @TOFU_WORK_COLL_CARRY: more, after a put whose end nobody waits for
 * @TOFU_WORK_COLL_COMBINE: more, where it combines
 * @TOFU_WORK_COLL_REDUCE: combining TOFU_WORK_BYTES
 */
enum tofu_work {
	TOFU_WORK_POST,
	TOFU_WORK_POST_SLOT,
	TOFU_WORK_POST_SLOWLY,
	TOFU_WORK_POST_ALONE,
	TOFU_WORK_POST_PACED,
	TOFU_WORK_POST_FULL,
	TOFU_WORK_POST_PREPARED,
	TOFU_WORK_PREPARED,
	TOFU_WORK_POSTED,
	TOFU_WORK_POSTED_SLOWLY,
	TOFU_WORK_PREPARE,
	TOFU_WORK_TCQ_LOOK,
	TOFU_WORK_TCQ_EMPTY,
	TOFU_WORK_TCQ_FOUND,
	TOFU_WORK_MRQ_LOOK,
	TOFU_WORK_MRQ_EMPTY,
	TOFU_WORK_MRQ_FOUND,
	TOFU_WORK_TCQ_SLOWLY,
	TOFU_WORK_MRQ_SLOWLY,
	TOFU_WORK_VCQ_IDLE,
	TOFU_WORK_BARRIER_START,
	TOFU_WORK_BARRIER_STARTED,
	TOFU_WORK_BARRIER_LOOK,
	TOFU_WORK_BARRIER_EMPTY,
	TOFU_WORK_BARRIER_ENDED,
	TOFU_WORK_CLOCK,
	TOFU_WORK_COUNTER,
	TOFU_WORK_WAIT,
	TOFU_WORK_YIELD,
	TOFU_WORK_QUEUE,
	TOFU_WORK_QUEUE_FREE,
	TOFU_WORK_MEMORY,
	TOFU_WORK_MEMORY_FREE,
	TOFU_WORK_MEMORY_PAGE,
	TOFU_WORK_MEMORY_PAGE_FREE,
	TOFU_WORK_COPY,
	TOFU_WORK_CLEAR,
	TOFU_WORK_BOOT_PUT,
	TOFU_WORK_BOOT_BARRIER,
	TOFU_WORK_BOOT_WAIT,
	TOFU_WORK_EXCHANGE_START,
	TOFU_WORK_EXCHANGE_END,
	TOFU_WORK_EXCHANGE_TEST,
	TOFU_WORK_EXCHANGE_LOOK,
	TOFU_WORK_EXCHANGE_POST,
	TOFU_WORK_EXCHANGE_ENGINE,
	TOFU_WORK_EXCHANGE_NOTICE,
	TOFU_WORK_RING_LOOK,
	TOFU_WORK_RING_FOUND,
	TOFU_WORK_RING_CONSUME,
	TOFU_WORK_SRB_RECEIVE,
	TOFU_WORK_SRB_SEND,
	TOFU_WORK_SRB_SENT,
	TOFU_WORK_SRB_SINGLE,
	TOFU_WORK_SRB_EXPRESS,
	TOFU_WORK_SRB_POLL,
	TOFU_WORK_SRB_POLLED,
	TOFU_WORK_SRB_NOTICE,
	TOFU_WORK_SRB_ENDED,
	TOFU_WORK_SRB_PUT,
	TOFU_WORK_SRB_POSTED,
	TOFU_WORK_P2P_SEND,
	TOFU_WORK_P2P_RECEIVE,
	TOFU_WORK_P2P_EXPRESS,
	TOFU_WORK_P2P_EXPRESSED,
	TOFU_WORK_P2P_RECORD,
	TOFU_WORK_P2P_SENT,
	TOFU_WORK_P2P_FLOWN,
	TOFU_WORK_P2P_TEST,
	TOFU_WORK_P2P_PROGRESS,
	TOFU_WORK_P2P_SENDER,
	TOFU_WORK_P2P_LOOK,
	TOFU_WORK_P2P_SHARED,
	TOFU_WORK_P2P_TURNED,
	TOFU_WORK_P2P_UNHEARD,
	TOFU_WORK_P2P_MESSAGE,
	TOFU_WORK_P2P_REPLY,
	TOFU_WORK_P2P_CHUNK,
	TOFU_WORK_P2P_REGION,
	TOFU_WORK_P2P_CHECK,
	TOFU_WORK_P2P_ENDED,
	TOFU_WORK_COLL_START,
	TOFU_WORK_COLL_END,
	TOFU_WORK_COLL_TEST,
	TOFU_WORK_COLL_VAIN,
	TOFU_WORK_COLL_ENGINE,
	TOFU_WORK_COLL_POLLED,
	TOFU_WORK_COLL_NOTICE,
	TOFU_WORK_COLL_LANE,
	TOFU_WORK_COLL_AWAIT,
	TOFU_WORK_COLL_STEP,
	TOFU_WORK_COLL_DOUBLING,
	TOFU_WORK_COLL_RING,
	TOFU_WORK_COLL_RINGS,
	TOFU_WORK_COLL_SUM,
	TOFU_WORK_COLL_COMMAND,
	TOFU_WORK_COLL_PIGGYBACK,
	TOFU_WORK_COLL_PUT,
	TOFU_WORK_COLL_CARRY,
	TOFU_WORK_COLL_COMBINE,
	TOFU_WORK_COLL_REDUCE,
	TOFU_WORKS,
};

/* Bytes of memory that are a unit of work */
#define TOFU_WORK_BYTES 256
#define TOFU_WORK_PAGE 4096

#ifdef TOFU_COUNT_WORK
/**
 * struct tofu_cost - what a piece of work takes
 * @ns:       of the processor; on memory: for TOFU_WORK_BYTES
 * @accesses: loads and stores of memory for each byte
 */
struct tofu_cost {
	uint32_t ns;
	uint32_t accesses;
};

/**
 * struct tofu_worked - work of the program that runs, not yet spent
 * @ns:        of the processor, but on memory
 * @memory_ns: of the processor, on memory
 * @memory_bytes: that it has loaded and stored meanwhile
 * @found:     it has found what it polls for
 * @alike:     tofu_work_alike()'s, the least since the home's last look
 * @settle:    tofu_work_settle()'s, the most since the home's last look
 * @own:       tofu_work_own() since the home's last look
 * @turn:      number of the turn in which the program is
 * @skipped:   turns that the home has left out before this one
 * @cost:      by enum tofu_work
 */
struct tofu_worked {
	uint64_t ns;
	uint64_t memory_ns;
	uint64_t memory_bytes;
	bool found;
	bool own;
	unsigned int alike;
	unsigned int settle;
	unsigned int turn;
	unsigned int skipped;
	const struct tofu_cost *cost;
};

extern struct tofu_worked tofu_worked;

/* tofu_work_times - count @times pieces of work of a kind */
static inline void tofu_work_times(enum tofu_work work, uint64_t times)
{
	tofu_worked.ns += times * tofu_worked.cost[work].ns;
}

/* tofu_work_bytes - count work on memory */
static inline void tofu_work_bytes(enum tofu_work work, uint64_t bytes)
{
	const struct tofu_cost *cost = &tofu_worked.cost[work];

	tofu_worked.memory_ns += bytes * cost->ns / TOFU_WORK_BYTES;
	tofu_worked.memory_bytes += bytes * cost->accesses;
}

static inline void tofu_work_note_found(void)
{
	tofu_worked.found = true;
}

/*
 * tofu_work_pass - spend what has been counted, so that the caller sees next what
 * has come meanwhile
 *
 * Others run meanwhile, and packets may change this node's memory. The instance
 * has a port.
 */
void tofu_work_pass(void);

/* tofu_work_marked - a mark has been stored at a queue's @mark, which does not trap */
void tofu_work_marked(uint64_t *at);

/*
 * Turns of a loop that polls in vain are alike, unless the loop counts them to do
 * something else after some. A home may leave out such turns while nothing
 * happens, if it is told for how long they are alike, and who counts them adds
 * those that were left out.
 */

/* tofu_work_alike - so many of a loop's next turns in vain are as this one */
static inline void tofu_work_alike(unsigned int turns)
{
	if (turns < tofu_worked.alike)
		tofu_worked.alike = turns;
}

/*
 * tofu_work_settle - a loop looks at a part of what it waits for in each turn, and
 * has found what comes after so many turns
 */
static inline void tofu_work_settle(unsigned int turns)
{
	if (turns > tofu_worked.settle)
		tofu_worked.settle = turns;
}

/*
 * tofu_work_own - the loop is the library's, and has told of all that it counts, but
 * for counts of ten thousands of turns
 */
static inline void tofu_work_own(void)
{
	tofu_worked.own = true;
}

/* tofu_work_mark - for tofu_work_turns(), when counting begins */
static inline unsigned int tofu_work_mark(void)
{
	return tofu_worked.turn;
}

/*
 * tofu_work_turns - turns since the last call: this one, and those left out
 *
 * Those of another loop are not counted: a loop calls this once in each turn, so
 * its last call was in the turn before the ones that were left out.
 */
static inline unsigned int tofu_work_turns(unsigned int *mark)
{
	const bool own = *mark + 1 == tofu_worked.turn;

	*mark = tofu_worked.turn;
	return own ? 1 + tofu_worked.skipped : 1;
}
#else
static inline void tofu_work_alike(unsigned int turns)
{
	(void)turns;
}

static inline void tofu_work_settle(unsigned int turns)
{
	(void)turns;
}

static inline void tofu_work_own(void)
{
}

static inline unsigned int tofu_work_mark(void)
{
	return 0;
}

static inline unsigned int tofu_work_turns(unsigned int *mark)
{
	(void)mark;
	return 1;
}

static inline void tofu_work_note_found(void)
{
}

static inline void tofu_work_pass(void)
{
}

static inline void tofu_work_marked(uint64_t *at)
{
	(void)at;
}

static inline void tofu_work_times(enum tofu_work work, uint64_t times)
{
	(void)work;
	(void)times;
}

static inline void tofu_work_bytes(enum tofu_work work, uint64_t bytes)
{
	(void)work;
	(void)bytes;
}
#endif

/* tofu_work - count a piece of work of a kind */
static inline void tofu_work(enum tofu_work work)
{
	tofu_work_times(work, 1);
}

/* tofu_work_found - count a poll that has found something */
static inline void tofu_work_found(enum tofu_work work)
{
	tofu_work_note_found();
	tofu_work(work);
}

#endif /* PORT_WORK_H */
