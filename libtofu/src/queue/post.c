/* SPDX-License-Identifier: MIT */
#include "queue/queue.h"

#include <errno.h>
#include <string.h>

#include "queue/barrier.h"

/*
 * How far the TOQ may be filled.
 *
 * A slot may be written again when it has been fetched: tail - head <=
 * entries. Two more things must not be overrun, both as long as the TOQ: the
 * TCQ, which the engine writes without asking, and @posted, which is needed
 * until the report is read. Everything that the engine has reported is moved
 * to the inboxes here, so what is left of the commands below head are the
 * TOFU_WINDOW in flight, of two slots at most. Hence tail - head <= entries -
 * TOFU_TOQ_RESERVE is enough for all three.
 *
 * That the reap sees every entry of the commands that had ended when head was
 * published is by head being read first, with acquire.
 */
static void toq_limit_update(struct tofu_queue *queue)
{
	uint64_t head = tofu_position_acquire(&queue->cq->page->toq_head);

	tofu_queue_reap_locked(queue);
	queue->toq_limit = head + queue->toq_mask + 1 - TOFU_TOQ_RESERVE;
}

/*
 * A lane's inbox has room for the reports of two full rings. No post is let
 * through while it holds more than one, and what is under way is never more
 * than one: so it is never overrun.
 */
static bool lane_is_full(const struct tofu_queue *queue,
			 const struct tofu_lane *lane)
{
	return lane->report_tail - lane->report_head > queue->toq_mask + 1;
}

/* Signed, for a limit below the tail: the engine is behind by more. */
static bool toq_has_room(const struct tofu_queue *queue, size_t slots)
{
	return (int64_t)(queue->toq_limit - queue->toq_tail) >= (int64_t)slots;
}

static int toq_make_room(struct tofu_queue *queue, struct tofu_lane *lane,
			 size_t slots)
{
	__u32 status = tofu_word_read(&queue->cq->page->status);

	if (!(status & TOFU_CQ_STATUS_ENABLED) ||
	    status & TOFU_CQ_STATUS_TOQ_EXCEPTION)
		return -EIO;
	toq_limit_update(queue);
	if (toq_has_room(queue, slots) && !lane_is_full(queue, lane))
		return 0;
	tofu_position_release(&queue->cq->page->fetch_start, queue->toq_tail);
	return -EBUSY;
}

/* ---- Direct commands: struct tofu_port_cq.direct ---- */

/* That a command ends shows in the TCQ, or by its LCL notice; see poll.c. */
static void notice_expect(struct tofu_queue *queue, __u64 ctrl)
{
	if (ctrl & TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_LCL_NOTICE))
		queue->lcl_posted++;
	else
		queue->lcl_silent = true;
}

static void direct_copy(__le64 *to, const void *slot)
{
	const __le64 *from = slot;

	for (size_t i = 0; i < sizeof(struct tofu_toq_desc) / sizeof(*to); i++)
		tofu_direct_write(&to[i], from[i]);
}

/* Stores the last command, which is the only one, into the page. */
static void direct_write(struct tofu_queue *queue)
{
	const struct tofu_toq_desc *toq = queue->cq->toq;
	uint64_t index = queue->toq_last;
	__le64 *direct = (__le64 *)(void *)queue->cq->page->direct;

	direct_copy(direct, &toq[index & queue->toq_mask]);
	if (index + 1 != queue->toq_tail)
		direct_copy(direct + 4, &toq[(index + 1) & queue->toq_mask]);
}

/* The store is the doorbell: no kick is needed. */
static int direct_start(struct tofu_queue *queue, bool alone)
{
	uint64_t tail = queue->toq_tail;

	if (alone) {
		direct_write(queue);
		tail |= TOFU_FETCH_DIRECT;
	}
	tofu_position_release(&queue->cq->page->fetch_start, tail);
	return 0;
}

/* ---- Posting ---- */

/*
 * Writes one command. Return: how many slots it took; @delay says whether it
 * wants to be delayed.
 */
static unsigned int toq_write(struct tofu_queue *queue, uint64_t index,
			      const char *command, bool *delay)
{
	struct tofu_toq_desc *toq = queue->cq->toq;
	struct tofu_toq_desc *first = &toq[index & queue->toq_mask];
	struct tofu_toq_desc slot;
	__u64 ctrl;

	memcpy(&slot, command, sizeof(slot));
	ctrl = le64toh(slot.ctrl);
	*delay = ctrl & TOFU_COMMAND_DELAY;
	ctrl &= ~TOFU_COMMAND_DELAY;
	ctrl |= TOFU_SET(TOFU_TOQ_FLIP, tofu_ring_flip(index, queue->toq_code));
	slot.ctrl = htole64(ctrl);
	*first = slot;
	if (queue->cq->direct)
		notice_expect(queue, ctrl);
	if (tofu_toq_slots(ctrl, le64toh(slot.route)) == 1)
		return 1;
	memcpy(&toq[(index + 1) & queue->toq_mask], command + sizeof(slot),
	       sizeof(slot));
	return 2;
}

int tofu_queue_post_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			   const void *command, size_t slots, void *cbdata)
{
	uint64_t index = queue->toq_tail;
	bool idle = index == queue->toq_ended;
	uint64_t start = index, end = index + slots;
	const char *next = command;
	bool delay = false;

	if (!toq_has_room(queue, slots) || lane_is_full(queue, lane)) {
		int err = toq_make_room(queue, lane, slots);

		if (err)
			return err;
	}
	if (idle)
		queue->lcl_silent = false;
	while (index != end) {
		struct tofu_posted *posted =
			&queue->posted[index & queue->toq_mask];
		unsigned int n = toq_write(queue, index, next, &delay);

		posted->cbdata = cbdata;
		posted->serial = lane->serial;
		posted->lane = lane->number;
		queue->toq_last = index;
		index += n;
		next += n * sizeof(struct tofu_toq_desc);
	}
	queue->toq_tail = end;
	if (delay)
		return 0;
	if (queue->cq->direct)
		return direct_start(queue, idle && queue->toq_last == start);
	tofu_position_release(&queue->cq->page->fetch_start, end);
	return 1;
}

void tofu_queue_start(struct tofu_queue *queue)
{
	tofu_kick_fence();
	if (tofu_word_read(&queue->cq->page->need_kick) & TOFU_NEED_KICK_TAIL)
		tofu_kick_write(&queue->cq->kick, TOFU_KICK_TAIL);
}
