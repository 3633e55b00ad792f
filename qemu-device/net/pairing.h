/* SPDX-License-Identifier: MIT */
/*
 * A queue by time, then by order; the least comes first. It consists of its
 * entries (a pairing heap), so it allocates nothing and an empty one is small.
 * Zeroed memory is an empty queue.
 */
#ifndef NET_PAIRING_H
#define NET_PAIRING_H

#include <stdint.h>

/**
 * struct tofu_queued - an entry, a part of what is queued
 * @time, @order: set before it is pushed, and not changed in the queue
 * @child:        the first of the entries below
 * @next:         the next one below the same entry
 */
struct tofu_queued {
	uint64_t time;
	uint64_t order;
	struct tofu_queued *child;
	struct tofu_queued *next;
};

/**
 * struct tofu_queue - a queue
 * @time:  of the first entry, so that looking at it needs no entry
 * @first: NULL where it is empty
 */
struct tofu_queue {
	uint64_t time;
	struct tofu_queued *first;
};

void tofu_queue_push(struct tofu_queue *queue, struct tofu_queued *entry);

/* tofu_queue_pop - remove the first entry of a queue that is not empty */
struct tofu_queued *tofu_queue_pop(struct tofu_queue *queue);

/* tofu_queue_time - time of the first entry; UINT64_MAX: there is none */
static inline uint64_t tofu_queue_time(const struct tofu_queue *queue)
{
	return queue->first ? queue->time : UINT64_MAX;
}

#endif /* NET_PAIRING_H */
