/* SPDX-License-Identifier: MIT */
/*
 * The fast path of posting one command. It is inlined into the
 * file of the transfers, so that the command stays in registers from its
 * arguments to the stores. All other cases are in post.c, which shares these
 * functions.
 */
#ifndef QUEUE_POST_H
#define QUEUE_POST_H

#include <endian.h>
#include <string.h>

#include "port/barrier.h"
#include "port/work.h"
#include "queue/queue.h"

/* Signed, since the limit is below the tail when the engine lags too far. */
static inline bool tofu_toq_has_room(const struct tofu_queue *queue,
				     size_t slots)
{
	return (int64_t)(queue->toq_limit - queue->toq_tail) >= (int64_t)slots;
}

/*
 * A lane's inbox has room for the reports of two full rings. A post is refused
 * while the inbox holds more than one, and at most one more is under way, so
 * the inbox never overflows.
 */
static inline bool tofu_lane_is_full(const struct tofu_queue *queue,
				     const struct tofu_lane *lane)
{
	return lane->report_tail - lane->report_head > queue->toq_mask + 1;
}

static inline bool tofu_post_is_free(const struct tofu_queue *queue,
				     const struct tofu_lane *lane, size_t slots)
{
	return tofu_toq_has_room(queue, slots) &&
	       !tofu_lane_is_full(queue, lane);
}

/* Return: whether all earlier commands are known to have ended. */
static inline bool tofu_post_begin(struct tofu_queue *queue)
{
	if (queue->toq_tail != queue->toq_ended)
		return false;
	queue->lcl_silent = false;
	return !queue->fetched;
}

/* ---- Direct commands: struct tofu_port_cq.direct ---- */

/*
 * The TCQ or a command's LCL notices tell that it has ended; see poll.c.
 * @count: number of its notices, if it asks for any
 */
static inline void tofu_notice_expect(struct tofu_queue *queue, __u64 ctrl,
				      uint64_t count)
{
	if (ctrl & TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_LCL_NOTICE) && count)
		queue->lcl_posted += count;
	else
		queue->lcl_silent = true;
}

static inline void tofu_direct_copy(__u8 *direct,
				    const struct tofu_toq_desc *slot)
{
	__le64 *to = (__le64 *)(void *)direct;

	tofu_direct_write(&to[0], slot->ctrl);
	tofu_direct_write(&to[1], slot->route);
	tofu_direct_write(&to[2], slot->rmt);
	tofu_direct_write(&to[3], slot->lcl);
}

/* A second slot, which may be the program's data */
static inline void tofu_direct_copy_data(__u8 *direct, const void *data)
{
	__le64 *to = (__le64 *)(void *)(direct + sizeof(struct tofu_toq_desc));
	struct tofu_toq_data slot;

	memcpy(&slot, data, sizeof(slot));
	tofu_direct_write(&to[0], slot.word[0]);
	tofu_direct_write(&to[1], slot.word[1]);
	tofu_direct_write(&to[2], slot.word[2]);
	tofu_direct_write(&to[3], slot.word[3]);
}

/* ---- Posting ---- */

/* Records the command written at the tail, and advances the tail. */
static inline void tofu_command_remember(struct tofu_queue *queue,
					 const struct tofu_lane *lane,
					 unsigned int slots, void *cbdata)
{
	uint64_t index = queue->toq_tail;
	struct tofu_posted *posted = &queue->posted[index & queue->toq_mask];

	posted->cbdata = cbdata;
	posted->owner = lane->owner;
	queue->toq_last = index;
	queue->toq_tail = index + slots;
}

/* tofu_post_is_easy - whether tofu_queue_post_easily() may be called */
static inline bool tofu_post_is_easy(const struct tofu_queue *queue,
				     const struct tofu_lane *lane,
				     const struct tofu_toq_desc *command,
				     unsigned int slots)
{
	return !queue->locked && tofu_post_is_free(queue, lane, slots) &&
	       !(le64toh(command->ctrl) & TOFU_COMMAND_DELAY);
}

/**
 * tofu_queue_post_easily - fast path of tofu_queue_post_one_locked()
 * @command: its first slot; by value, so that it can stay in registers
 * @slots:   1, or 2: a constant
 * @data:    the second one; needs no alignment
 *
 * Return: whether tofu_queue_start() is to be called.
 */
__attribute__((always_inline)) static inline bool
tofu_queue_post_easily(struct tofu_queue *queue, const struct tofu_lane *lane,
		       struct tofu_toq_desc command, unsigned int slots,
		       const void *data, void *cbdata)
{
	const struct tofu_port_cq *cq = queue->cq;
	struct tofu_cq_page *page = cq->page;
	uint64_t index = queue->toq_tail, tail = index + slots;
	bool direct = cq->direct, alone = tofu_post_begin(queue);

	command.ctrl |= htole64(
		TOFU_SET(TOFU_TOQ_FLIP, tofu_flip(index, queue->toq_mask)));
	cq->toq[index & queue->toq_mask] = command;
	if (slots == 2) {
		tofu_work(TOFU_WORK_POST_SLOT);
		memcpy(&cq->toq[(index + 1) & queue->toq_mask], data,
		       sizeof(struct tofu_toq_data));
	}
	tofu_command_remember(queue, lane, slots, cbdata);
	if (direct) {
		tofu_notice_expect(queue, le64toh(command.ctrl), 1);
		if (alone) {
			tofu_work_times(TOFU_WORK_POST_ALONE, slots);
			tofu_direct_copy(page->direct, &command);
			if (slots == 2)
				tofu_direct_copy_data(page->direct, data);
			tail |= TOFU_FETCH_DIRECT;
		}
	}
	tofu_work(TOFU_WORK_POST);
	tofu_position_release(&page->fetch_start, tail);
	return cq->kicks;
}

#endif /* QUEUE_POST_H */
