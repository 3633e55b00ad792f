/* SPDX-License-Identifier: MIT */
#include "queue/post.h"

#include <errno.h>
#include <string.h>

#include "port/kick.h"

/*
 * How far the TOQ may be filled.
 *
 * A slot may be reused once it has been fetched: tail - head <= entries. Two
 * more arrays, both as long as the TOQ, must not overflow: the TCQ, which the
 * engine writes without flow control, and @posted, which is needed until the
 * report is read. All reports so far are moved to the inboxes here, so of the
 * commands below head only the TOFU_WINDOW in flight are left, of at most two
 * slots each. Hence tail - head <= entries - TOFU_TOQ_RESERVE is enough for
 * all three.
 *
 * Head is read first, with acquire, so the reap sees every entry of the
 * commands that had ended when head was published.
 */
static void toq_limit_update(struct tofu_queue *queue)
{
	uint64_t head = tofu_position_acquire(&queue->cq->page->toq_head);

	tofu_queue_reap_locked(queue);
	queue->toq_limit = head + queue->toq_mask + 1 - TOFU_TOQ_RESERVE;
}

static int toq_make_room(struct tofu_queue *queue, struct tofu_lane *lane,
			 size_t slots)
{
	__u32 status = tofu_word_read(&queue->cq->page->status);

	tofu_work(TOFU_WORK_POST_FULL);
	if (!(status & TOFU_CQ_STATUS_ENABLED) ||
	    status & TOFU_CQ_STATUS_TOQ_EXCEPTION)
		return -EIO;
	toq_limit_update(queue);
	if (tofu_post_is_free(queue, lane, slots))
		return 0;
	tofu_position_release(&queue->cq->page->fetch_start, queue->toq_tail);
	return -EBUSY;
}

/* Stores the last command, which is at @index, into the page. */
static inline void direct_write(struct tofu_queue *queue, uint64_t index)
{
	const struct tofu_toq_desc *toq = queue->cq->toq;
	__u8 *direct = queue->cq->page->direct;

	tofu_direct_copy(direct, &toq[index & queue->toq_mask]);
	if (index + 1 != queue->toq_tail)
		tofu_direct_copy(direct + sizeof(*toq),
				 &toq[(index + 1) & queue->toq_mask]);
}

/* ---- Posting ---- */

static inline bool command_delayed(const struct tofu_toq_desc *command)
{
	return le64toh(command->ctrl) & TOFU_COMMAND_DELAY;
}

/*
 * A strided put or get has one notice per block. A program may have changed the
 * number of blocks in a prepared command; if it is invalid, there is no notice.
 */
static inline uint64_t command_notices(const struct tofu_toq_desc *command,
				       unsigned int slots)
{
	struct tofu_toq_stride stride;

	if (slots == 1 || !(le64toh(command->ctrl) &
			    TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE)))
		return 1;
	memcpy(&stride, &command[1], sizeof(stride));
	return le64toh(stride.blocks) <= TOFU_BLOCKS_MAX ?
		       le64toh(stride.blocks) : 0;
}

/* Writes one command, of one slot or two, and records it in @posted. */
static inline void command_write(struct tofu_queue *queue, uint64_t index,
				 const struct tofu_lane *lane,
				 const struct tofu_toq_desc *command,
				 unsigned int slots, void *cbdata)
{
	struct tofu_toq_desc *toq = queue->cq->toq;
	struct tofu_toq_desc first = *command;
	__u64 ctrl = le64toh(first.ctrl) & ~(TOFU_COMMAND_DELAY |
					     TOFU_FIELD(TOFU_COMMAND_ORIGIN));

	ctrl |= TOFU_SET(TOFU_TOQ_FLIP, tofu_flip(index, queue->toq_mask));
	first.ctrl = htole64(ctrl);
	toq[index & queue->toq_mask] = first;
	if (slots == 2)
		toq[(index + 1) & queue->toq_mask] = command[1];
	tofu_command_remember(queue, lane, slots, cbdata);
	if (queue->cq->direct)
		tofu_notice_expect(queue, ctrl,
				   command_notices(command, slots));
}

/* @alone: it is one command, and no other is under way. */
static inline int post_end(struct tofu_queue *queue, bool alone)
{
	uint64_t tail = queue->toq_tail;

	if (alone && queue->cq->direct) {
		tofu_work_times(TOFU_WORK_POST_ALONE,
				tail - queue->toq_last);
		direct_write(queue, queue->toq_last);
		tail |= TOFU_FETCH_DIRECT;
	}
	tofu_position_release(&queue->cq->page->fetch_start, tail);
	return queue->cq->kicks;
}

static inline int post_one(struct tofu_queue *queue,
			   const struct tofu_lane *lane,
			   const struct tofu_toq_desc *command,
			   unsigned int slots, void *cbdata)
{
	bool alone = tofu_post_begin(queue);

	tofu_work(TOFU_WORK_POST_SLOWLY);
	command_write(queue, queue->toq_tail, lane, command, slots, cbdata);
	return command_delayed(command) ? 0 : post_end(queue, alone);
}

/* Out of line, so that the common case needs no stack frame for the call. */
__attribute__((noinline)) static int
post_one_slowly(struct tofu_queue *queue, struct tofu_lane *lane,
		const struct tofu_toq_desc *command, unsigned int slots,
		void *cbdata)
{
	int err = toq_make_room(queue, lane, slots);

	return err ? err : post_one(queue, lane, command, slots, cbdata);
}

int tofu_queue_post_one_locked(struct tofu_queue *queue,
			       struct tofu_lane *lane,
			       const struct tofu_toq_desc *command,
			       unsigned int slots, void *cbdata)
{
	if (!tofu_post_is_free(queue, lane, slots))
		return post_one_slowly(queue, lane, command, slots, cbdata);
	return post_one(queue, lane, command, slots, cbdata);
}

/*
 * No command that was written from @begin on has been started. Their other
 * traces can only keep the next commands from going direct.
 */
static void post_unwind(struct tofu_queue *queue, uint64_t begin,
			uint64_t notices)
{
	queue->toq_tail = begin;
	queue->lcl_posted = notices;
}

int tofu_queue_post_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			   const void *command, size_t slots, void *cbdata)
{
	uint64_t begin, end, notices;
	const char *next = command;
	bool idle, delayed = false;

	tofu_work(TOFU_WORK_POST_PREPARED);
	if (!tofu_post_is_free(queue, lane, slots)) {
		int err = toq_make_room(queue, lane, slots);

		if (err)
			return err;
	}
	begin = queue->toq_tail;
	end = begin + slots;
	notices = queue->lcl_posted;
	idle = tofu_post_begin(queue);
	while (queue->toq_tail != end) {
		struct tofu_toq_desc slot[2];
		unsigned int n;

		memcpy(&slot[0], next, sizeof(slot[0]));
		n = tofu_toq_slots(le64toh(slot[0].ctrl),
				   le64toh(slot[0].route));
		if (n > end - queue->toq_tail) {
			post_unwind(queue, begin, notices);
			return -EINVAL;
		}
		if (n == 2)
			memcpy(&slot[1], next + sizeof(slot[0]),
			       sizeof(slot[1]));
		delayed = command_delayed(&slot[0]);
		tofu_work(TOFU_WORK_PREPARED);
		command_write(queue, queue->toq_tail, lane, slot, n, cbdata);
		next += n * sizeof(slot[0]);
	}
	return delayed ? 0 : post_end(queue, idle && queue->toq_last == begin);
}

void tofu_queue_start(struct tofu_queue *queue)
{
	if (queue->cq->port->store_ns) {
		/* A page of registers: the store has told the engine. */
		tofu_port_hold(queue->cq->port);
	} else {
		tofu_kick_fence();
		if (tofu_word_read(&queue->cq->page->need_kick) &
		    TOFU_NEED_KICK_TAIL)
			tofu_port_doorbell(queue->cq);
	}
	tofu_work(TOFU_WORK_POSTED);
}
