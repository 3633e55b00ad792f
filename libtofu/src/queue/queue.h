/* SPDX-License-Identifier: MIT */
/*
 * A queue: the rings of one command queue (CQ) as its software side uses
 * them. Several VCQs of the process can share it. Each has a lane: a number
 * that travels with its commands and comes back with their reports and
 * notices, and an inbox for entries that another lane's poll has found in the
 * rings. So a lane that is not polled delays no other lane, and loses only
 * its own notices.
 *
 * Data path (post.c, poll.c): no system call, no allocation. The caller
 * holds tofu_queue_lock() around everything but the kicks. Control path:
 * queue.c.
 *
 * Ring positions are free-running and masked at use.
 *
 * May include: port/, uapi/
 */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/desc.h>
#include <tofu/regs.h>

#include "port/barrier.h"
#include "port/port.h"

/*
 * The tag of a command: number of the target's lane, number of the sender's
 * lane. Lanes below TOFU_LANE_ANONYMOUS belong to component IDs.
 */
#define TOFU_TAG_RMT_SHIFT 4
#define TOFU_TAG_RMT_BITS 4
#define TOFU_TAG_LCL_SHIFT 0
#define TOFU_TAG_LCL_BITS 4
#define TOFU_LANES 16
#define TOFU_LANE_ANONYMOUS 8

/**
 * struct tofu_report - a TCQ entry
 * @cbdata: of the command
 * @status: enum tofu_status
 */
struct tofu_report {
	void *cbdata;
	unsigned int status;
};

/**
 * struct tofu_lane - one VCQ's share of a queue
 * @number: in the queue
 * @owner:  @number and a serial number, which distinguishes the lane from an
 *          earlier one of that number: TOFU_OWNER()
 * @report: inbox for TCQ reports; twice the TOQ's entries, see
 *          tofu_lane_is_full()
 * @report_head, @report_tail: its positions
 * @notice: inbox for MRQ entries, as large as the MRQ
 * @notice_head, @notice_tail: its positions
 * @notice_lost: a notice found the inbox full
 */
struct tofu_lane {
	unsigned int number;
	uint64_t owner;
	struct tofu_report *report;
	uint64_t report_head;
	uint64_t report_tail;
	struct tofu_mrq_entry *notice;
	uint64_t notice_head;
	uint64_t notice_tail;
	bool notice_lost;
};

/**
 * struct tofu_posted - what the queue records about a command, by TOQ slot
 * @cbdata: for its report
 * @owner:  of its lane
 */
struct tofu_posted {
	void *cbdata;
	uint64_t owner;
};

#define TOFU_OWNER(serial, number) ((uint64_t)(serial) * TOFU_LANES + (number))

/**
 * struct tofu_queue
 * @cq:         the port's side of it
 * @toq_mask, @mrq_mask: entries - 1; the TCQ has as many as the TOQ
 * @locked:     whether tofu_queue_lock() locks
 * @exclusive:  one lane only
 * @fetched:    no command is stored into the page: engines fetch them all
 * @toq_tail:   slots written
 * @toq_limit:  @toq_tail must not pass it before toq_head is read again
 * @posted:     by TOQ slot
 * @toq_last:   first slot of the last command
 * @toq_ended:  the commands below it are known to have ended. Polls advance
 *              it, so it can lag; where it equals @toq_tail, all have ended.
 * @lcl_posted: LCL notices that commands asked for; this and the next two only
 *              with struct tofu_port_cq.direct
 * @lcl_read:   LCL notices that were read
 * @lcl_silent: a command from @toq_ended on did not ask for an LCL notice
 * @tcq_head:   TCQ entries read
 * @tcq_told:   @tcq_head as last published
 * @tcq_due:    the entry after which @tcq_head is published: the last one of
 *              its quarter of the ring
 * @tcq_flip:   flip bit of the entries up to @tcq_due
 * @mrq_head, @mrq_told, @mrq_due, @mrq_flip: the same for the MRQ
 * @empty_polls: empty polls in a row; races between lockless readers are
 *              harmless
 * @status_polls: empty polls of the MRQ in a row; only with struct
 *              tofu_port_cq.direct
 * @lanes:      lanes in use
 * @serial:     of the last lane made
 * @made:       which lane without a component ID is the next, counted from the
 *              first of these
 * @lane:       by number
 * @lock:       protects all of the above if @locked
 * @users:      VCQs, and calls that wait with it; kept by the layer above
 */
struct tofu_queue {
	struct tofu_port_cq *cq;
	uint64_t toq_mask;
	uint64_t mrq_mask;
	bool locked;
	bool exclusive;
	bool fetched;

	uint64_t toq_tail;
	uint64_t toq_limit;
	struct tofu_posted *posted;
	uint64_t toq_last;
	uint64_t toq_ended;
	uint64_t lcl_posted;
	uint64_t lcl_read;
	bool lcl_silent;

	uint64_t tcq_head;
	uint64_t tcq_told;
	uint64_t tcq_due;
	uint64_t tcq_flip;
	uint64_t mrq_head;
	uint64_t mrq_told;
	uint64_t mrq_due;
	uint64_t mrq_flip;
	unsigned int empty_polls;
	unsigned int status_polls;

	unsigned int lanes;
	uint64_t serial;
	unsigned int made;
	struct tofu_lane *lane[TOFU_LANES];
	pthread_mutex_t lock;
	unsigned int users;
};

/**
 * struct tofu_queue_params - how a queue is made
 * @tni:       number of the TNI
 * @toq_code, @mrq_code: size codes
 * @locked:    several threads use it at once
 * @exclusive: it has one lane
 * @fetched:   its engine fetches all commands
 * @session:   session mode: each command waits for a step
 */
struct tofu_queue_params {
	unsigned int tni;
	unsigned int toq_code;
	unsigned int mrq_code;
	bool locked;
	bool exclusive;
	bool fetched;
	bool session;
};

/* ---- Control path: queue.c ---- */

/* tofu_lock_init - make a lock for a data path; 0 or a negative errno */
int tofu_lock_init(pthread_mutex_t *lock);

/* tofu_queue_create - Return: 0 or a negative errno; @queue on success only */
int tofu_queue_create(struct tofu_port_dev *port,
		      const struct tofu_queue_params *params,
		      struct tofu_queue **queue);
/* tofu_queue_destroy - destroy a queue that has no lanes */
void tofu_queue_destroy(struct tofu_queue *queue);

/* tofu_queue_takes - whether the number is free for tofu_lane_open() */
bool tofu_queue_takes(const struct tofu_queue *queue, unsigned int number);

/**
 * tofu_lane_open - add a lane to the queue
 * @number: the lane's, or TOFU_LANE_ANONYMOUS without a component ID
 *
 * Return: 0, -EEXIST where the number is in use, -ENOSPC, -ENOMEM.
 */
int tofu_lane_open(struct tofu_queue *queue, unsigned int number,
		   struct tofu_lane **lane);
void tofu_lane_close(struct tofu_queue *queue, struct tofu_lane *lane);

static inline void tofu_queue_lock(struct tofu_queue *queue)
{
	if (queue->locked)
		pthread_mutex_lock(&queue->lock);
}

static inline void tofu_queue_unlock(struct tofu_queue *queue)
{
	if (queue->locked)
		pthread_mutex_unlock(&queue->lock);
}

/*
 * tofu_flip - tofu_ring_flip() for a ring of @mask + 1 entries: the bit above
 * the mask tells odd rounds from even ones
 */
static inline unsigned int tofu_flip(uint64_t index, uint64_t mask)
{
	return !(index & (mask + 1));
}

/* tofu_due - the last entry of the quarter of the ring that @told is in */
static inline uint64_t tofu_due(uint64_t told, uint64_t mask)
{
	return told | mask / 4;
}

/* ---- Data path: post.c ---- */

/* Slots whose reports may still be missing; see post.c */
#define TOFU_TOQ_RESERVE (2 * TOFU_WINDOW)

/*
 * In struct tofu_toq_desc.ctrl of a command that is not yet queued: the next
 * post starts it. The bit is reserved in the TOQ and cleared there.
 */
#define TOFU_COMMAND_DELAY TOFU_SET(TOFU_TOQ_FLAGS, 1U << 7)
TOFU_ASSERT(!(TOFU_TOQ_F_ALL & 1U << 7), "the engine does not know the flag");

/*
 * In struct tofu_toq_desc.ctrl of a command that a program has prepared: its
 * queue, so that no other queue takes it. TOFU_COMMAND_QUEUE() is never zero.
 */
#define TOFU_COMMAND_ORIGIN_SHIFT (TOFU_TOQ_FLAGS_SHIFT + 8)
#define TOFU_COMMAND_ORIGIN_BITS 8
#define TOFU_COMMAND_QUEUE(tni, cq) \
	TOFU_SET(TOFU_COMMAND_ORIGIN, 0x80 | (tni) << 4 | (cq))
TOFU_ASSERT(TOFU_TNIS_MAX <= 8 && TOFU_CQS_PER_TNI <= 16 &&
		    !(TOFU_TOQ_F_ALL >> 8),
	    "the engine does not know these bits");

/**
 * tofu_queue_post_locked - queue commands, all or none
 * @command: whole commands without flip bits, of any alignment. Another thread
 *           may write to them meanwhile: each slot is read once.
 * @slots:   how many slots they take
 * @cbdata:  of each command
 *
 * Return: 1 if the caller must call tofu_queue_start(), 0 if the last command
 * has TOFU_COMMAND_DELAY or the engine needs no kick; -EBUSY if there is no
 * room now (then all queued commands have been started, even delayed ones, or
 * room would never come); -EIO if the queue has stopped; -EINVAL if the last
 * command takes one slot more than @slots.
 */
int tofu_queue_post_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			   const void *command, size_t slots, void *cbdata);

/**
 * tofu_queue_post_one_locked - queue one command, faster
 * @command: aligned, with room for a second slot behind it
 * @slots:   1 or 2, as tofu_toq_slots() says
 * @cbdata:  of the command
 *
 * Return: as tofu_queue_post_locked().
 */
int tofu_queue_post_one_locked(struct tofu_queue *queue,
			       struct tofu_lane *lane,
			       const struct tofu_toq_desc *command,
			       unsigned int slots, void *cbdata);

/* tofu_queue_slots_max - most slots that one post can take */
static inline size_t tofu_queue_slots_max(const struct tofu_queue *queue)
{
	return queue->toq_mask + 1 - TOFU_TOQ_RESERVE;
}

/* tofu_queue_start - kick the engine if it asks for it */
void tofu_queue_start(struct tofu_queue *queue);

/* ---- Data path: poll.c ---- */

/*
 * The fast path of a poll that finds nothing, or finds an entry for its own
 * lane, on a queue of one thread: a few instructions. TOFU_UNCLEAR refers all
 * other cases to the functions below.
 */
enum tofu_glance { TOFU_NOTHING, TOFU_FOUND, TOFU_UNCLEAR };

/* tofu_queue_ended - the command at @index and all before it have ended */
static inline void tofu_queue_ended(struct tofu_queue *queue, uint32_t index)
{
	if (index == (uint32_t)queue->toq_last)
		queue->toq_ended = queue->toq_tail;
}

/* tofu_queue_report_glance - take the lane's next report on the fast path */
static inline enum tofu_glance
tofu_queue_report_glance(struct tofu_queue *queue, const struct tofu_lane *lane,
			 struct tofu_report *report)
{
	uint64_t mask = queue->toq_mask, head;
	const struct tofu_posted *posted;
	__u64 entry;

	if (queue->locked || lane->report_head != lane->report_tail)
		return TOFU_UNCLEAR;
	head = queue->tcq_head;
	entry = tofu_entry_acquire(&queue->cq->tcq[head & mask]);
	if (TOFU_GET(entry ^ queue->tcq_flip, TOFU_TCQ_FLIP))
		return head == queue->tcq_told ? TOFU_NOTHING : TOFU_UNCLEAR;
	posted = &queue->posted[TOFU_GET(entry, TOFU_TCQ_INDEX) & mask];
	if (posted->owner != lane->owner || head == queue->tcq_due)
		return TOFU_UNCLEAR;
	report->cbdata = posted->cbdata;
	report->status = (unsigned int)TOFU_GET(entry, TOFU_TCQ_STATUS);
	queue->tcq_head = head + 1;
	queue->empty_polls = 0;
	tofu_queue_ended(queue, (uint32_t)TOFU_GET(entry, TOFU_TCQ_INDEX));
	return TOFU_FOUND;
}

/*
 * tofu_mrq_is_local - whether the notice is for the initiator, not the target;
 * undefined for a type that does not exist
 */
static inline bool tofu_mrq_is_local(__u64 ctrl)
{
	return !(ctrl & TOFU_SET(TOFU_MRQ_TYPE, 1));
}
TOFU_ASSERT(!(TOFU_MRQ_LCL_PUT & 1) && !(TOFU_MRQ_LCL_GET & 1) &&
		    !(TOFU_MRQ_LCL_ARMW & 1) && TOFU_MRQ_RMT_PUT & 1 &&
		    TOFU_MRQ_RMT_GET & 1 && TOFU_MRQ_RMT_ARMW & 1,
	    "even types are local");

/*
 * tofu_mrq_tag - the tag as if this side had made the command: TOFU_TAG_LCL is
 * the lane that the notice is for, at an initiator the lane that sent, at a
 * target the lane that the command named
 */
static inline uint8_t tofu_mrq_tag(__u64 ctrl, __u64 route)
{
	uint8_t tag = (uint8_t)TOFU_GET(route, TOFU_ROUTE_TAG);

	if (tofu_mrq_is_local(ctrl))
		return tag;
	return (uint8_t)(TOFU_GET(tag, TOFU_TAG_RMT) << TOFU_TAG_LCL_SHIFT |
			 TOFU_GET(tag, TOFU_TAG_LCL) << TOFU_TAG_RMT_SHIFT);
}

/*
 * tofu_queue_ended_by_notice - count a local notice that has been read; only
 * with struct tofu_port_cq.direct
 *
 * If all commands under way have asked for LCL notices, and all of those have
 * been read, the commands have ended. An error makes the counts useless: its
 * notice may have come unasked.
 */
static inline void tofu_queue_ended_by_notice(struct tofu_queue *queue,
					      __u64 ctrl)
{
	if (ctrl & TOFU_FIELD(TOFU_MRQ_STATUS))
		queue->lcl_posted += 1ULL << 32;
	if (++queue->lcl_read == queue->lcl_posted && !queue->lcl_silent)
		queue->toq_ended = queue->toq_tail;
}

/* tofu_mrq_entry_read - read the rest of an entry after its first two words */
static inline struct tofu_mrq_entry
tofu_mrq_entry_read(const struct tofu_mrq_entry *from, __u64 ctrl, __u64 route)
{
	return (struct tofu_mrq_entry){
		.ctrl = htole64(ctrl),
		.route = htole64(route),
		.rmt = htole64(tofu_entry_word(&from->rmt)),
		.lcl = htole64(tofu_entry_word(&from->lcl)),
	};
}

/*
 * tofu_queue_notice_glance - whether there is a notice; takes none
 * @next: set to the next entry, written or not
 * @ctrl: set to its first word
 */
static inline enum tofu_glance
tofu_queue_notice_glance(const struct tofu_queue *queue,
			 const struct tofu_lane *lane,
			 const struct tofu_mrq_entry **next, __u64 *ctrl)
{
	uint64_t head;

	if (queue->locked || lane->notice_head != lane->notice_tail)
		return TOFU_UNCLEAR;
	head = queue->mrq_head;
	*next = &queue->cq->mrq[head & queue->mrq_mask];
	*ctrl = tofu_entry_acquire(&(*next)->ctrl);
	if (!TOFU_GET(*ctrl ^ queue->mrq_flip, TOFU_MRQ_FLIP))
		return TOFU_FOUND;
	return head == queue->mrq_told ? TOFU_NOTHING : TOFU_UNCLEAR;
}

/*
 * tofu_queue_notice_take - take the notice that a glance has found, on the
 * fast path; false: it is not, or reports an error
 * @tag: tofu_mrq_tag()
 */
static inline bool tofu_queue_notice_take(struct tofu_queue *queue,
					  const struct tofu_lane *lane,
					  __u64 ctrl, uint8_t tag)
{
	uint64_t head = queue->mrq_head;

	if (TOFU_GET(tag, TOFU_TAG_LCL) != lane->number ||
	    head == queue->mrq_due || ctrl & TOFU_FIELD(TOFU_MRQ_STATUS))
		return false;
	if (tofu_mrq_is_local(ctrl) && queue->cq->direct)
		tofu_queue_ended_by_notice(queue, ctrl);
	queue->mrq_head = head + 1;
	queue->empty_polls = 0;
	queue->status_polls = 0;
	return true;
}

/* tofu_queue_report_locked - take the lane's next report; false: none */
bool tofu_queue_report_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			      struct tofu_report *report);

/* tofu_queue_reap_locked - move every report of the TCQ to its lane's inbox */
void tofu_queue_reap_locked(struct tofu_queue *queue);

/* tofu_queue_reports_locked - how many reports of the lane are unread */
size_t tofu_queue_reports_locked(struct tofu_queue *queue,
				 struct tofu_lane *lane);

/* tofu_queue_notice_locked - take the lane's next notice; false: none */
bool tofu_queue_notice_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			      struct tofu_mrq_entry *entry);

/* tofu_queue_notices_locked - how many notices of the lane are unread */
size_t tofu_queue_notices_locked(struct tofu_queue *queue,
				 struct tofu_lane *lane);

/*
 * Where the status is a register, reading it costs more than the rest of a
 * poll. So the first of several empty polls reads it, and then one of many.
 */
#define TOFU_STATUS_POLLS 64

/* tofu_queue_lost_locked - whether notices for the lane have been lost */
static inline bool tofu_queue_lost_locked(struct tofu_queue *queue,
					  const struct tofu_lane *lane)
{
	if (lane->notice_lost)
		return true;
	if (queue->cq->direct && queue->status_polls++ % TOFU_STATUS_POLLS)
		return false;
	return tofu_word_read(&queue->cq->page->status) &
	       TOFU_CQ_STATUS_MRQ_OVERFLOW;
}

/*
 * tofu_queue_gone - whether the device is gone. Not for every poll: a device
 * that is gone asks for kicks, and says that notices were lost.
 */
static inline bool tofu_queue_gone(const struct tofu_queue *queue)
{
	return tofu_word_read(&queue->cq->page->status) == TOFU_WORD_GONE;
}

/* ---- Empty polls ---- */

static inline void tofu_empty_polls_set(struct tofu_queue *queue,
					unsigned int polls)
{
	__atomic_store_n(&queue->empty_polls, polls, __ATOMIC_RELAXED);
}

/* tofu_queue_lend - patience is over: kick the engine if it asks for it */
bool tofu_queue_lend(struct tofu_queue *queue);

/* tofu_queue_patient - count an empty poll; Return: whether to go on polling */
static inline bool tofu_queue_patient(struct tofu_queue *queue)
{
	unsigned int polls =
		__atomic_load_n(&queue->empty_polls, __ATOMIC_RELAXED) + 1;

	if (polls >= queue->cq->poll_patience)
		return false;
	tofu_empty_polls_set(queue, polls);
	return true;
}

/**
 * tofu_queue_idle - lend the processor to the engine after enough empty polls
 *
 * Return: true when another poll may find something.
 */
static inline bool tofu_queue_idle(struct tofu_queue *queue)
{
	return !tofu_queue_patient(queue) && tofu_queue_lend(queue);
}

#endif /* QUEUE_QUEUE_H */
