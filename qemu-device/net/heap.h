/* SPDX-License-Identifier: MIT */
/*
 * A binary heap of items by time, then by order; the least comes first. Grows
 * as needed and never shrinks. Zeroed memory is an empty heap.
 */
#ifndef NET_HEAP_H
#define NET_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * tofu_heap_order - the order of packets of one time: by sender, then by the
 * sender's number. Both fields are wide enough for any machine.
 */
static inline uint64_t tofu_heap_order(uint32_t src, uint64_t number)
{
	const unsigned int bits = 40;

	return (uint64_t)src << bits | (number & ((1ULL << bits) - 1));
}

struct tofu_heap_item {
	uint64_t time;
	uint64_t order;
	void *what;
};

/**
 * struct tofu_heap - a heap
 * @item:  the least first
 * @time:  of the first item, so that looking at it needs no item
 * @count, @room: items, and those that there is memory for
 */
struct tofu_heap {
	struct tofu_heap_item *item;
	uint64_t time;
	uint32_t count;
	uint32_t room;
};

/* tofu_heap_push - add an item; false where there is no memory */
bool tofu_heap_push(struct tofu_heap *heap, uint64_t time, uint64_t order,
		    void *what);

/* tofu_heap_pop - remove the first item of a heap that is not empty */
void *tofu_heap_pop(struct tofu_heap *heap);

void tofu_heap_free(struct tofu_heap *heap);

/* tofu_heap_time - time of the first item; UINT64_MAX: there is none */
static inline uint64_t tofu_heap_time(const struct tofu_heap *heap)
{
	return heap->count ? heap->time : UINT64_MAX;
}

#endif /* NET_HEAP_H */
