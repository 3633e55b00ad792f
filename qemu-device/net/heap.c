/* SPDX-License-Identifier: MIT */
#include "net/heap.h"

#include <stdlib.h>

#define FIRST_ROOM 16

static bool before(const struct tofu_heap_item *a,
		   const struct tofu_heap_item *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static bool grow(struct tofu_heap *heap)
{
	const uint32_t room = heap->room ? 2 * heap->room : FIRST_ROOM;
	void *item;

	if (room < heap->room)
		return false;
	item = realloc(heap->item, room * sizeof(*heap->item));
	if (!item)
		return false;
	heap->item = item;
	heap->room = room;
	return true;
}

bool tofu_heap_push(struct tofu_heap *heap, uint64_t time, uint64_t order,
		    void *what)
{
	const struct tofu_heap_item new = { time, order, what };
	size_t at;

	if (heap->count == heap->room && !grow(heap))
		return false;
	for (at = heap->count++; at; at = (at - 1) / 2) {
		struct tofu_heap_item *parent = &heap->item[(at - 1) / 2];

		if (!before(&new, parent))
			break;
		heap->item[at] = *parent;
	}
	heap->item[at] = new;
	heap->time = heap->item[0].time;
	return true;
}

void *tofu_heap_pop(struct tofu_heap *heap)
{
	void *what = heap->item[0].what;
	const struct tofu_heap_item last = heap->item[--heap->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    before(&heap->item[child + 1], &heap->item[child]))
			child++;
		if (!before(&heap->item[child], &last))
			break;
		heap->item[at] = heap->item[child];
		at = child;
	}
	heap->item[at] = last;
	heap->time = heap->item[0].time;
	return what;
}

void tofu_heap_free(struct tofu_heap *heap)
{
	free(heap->item);
}
