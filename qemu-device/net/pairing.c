// SPDX-License-Identifier: MIT
#include "net/pairing.h"

#include <stdbool.h>
#include <stddef.h>

static bool before(const struct tofu_queued *a, const struct tofu_queued *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* The later of two trees goes below the earlier one, which is returned. */
static struct tofu_queued *join(struct tofu_queued *a, struct tofu_queued *b)
{
	struct tofu_queued *top = before(b, a) ? b : a;
	struct tofu_queued *below = top == a ? b : a;

	below->next = top->child;
	top->child = below;
	return top;
}

void tofu_queue_push(struct tofu_queue *queue, struct tofu_queued *entry)
{
	entry->child = NULL;
	entry->next = NULL;
	queue->first = queue->first ? join(queue->first, entry) : entry;
	queue->time = queue->first->time;
}

/* Join neighbours in a list in pairs, and then all pairs from the last one. */
static struct tofu_queued *join_all(struct tofu_queued *list)
{
	struct tofu_queued *pairs = NULL, *all, *next;

	while (list) {
		struct tofu_queued *one = list, *two = list->next;

		list = two ? two->next : NULL;
		if (two)
			one = join(one, two);
		one->next = pairs;
		pairs = one;
	}
	all = pairs;
	if (!all)
		return NULL;
	for (pairs = all->next; pairs; pairs = next) {
		next = pairs->next;
		all = join(all, pairs);
	}
	all->next = NULL;
	return all;
}

struct tofu_queued *tofu_queue_pop(struct tofu_queue *queue)
{
	struct tofu_queued *first = queue->first;

	queue->first = join_all(first->child);
	if (queue->first)
		queue->time = queue->first->time;
	return first;
}
