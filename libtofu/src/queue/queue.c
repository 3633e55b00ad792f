/* SPDX-License-Identifier: MIT */
#include "queue/queue.h"

#include <errno.h>
#include <stdlib.h>

int tofu_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int err;

	/* Held for some ten nanoseconds: spinning beats a system call. */
	err = pthread_mutexattr_init(&attr);
	if (err)
		return -err;
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	err = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

int tofu_queue_create(struct tofu_port_dev *port,
		      const struct tofu_queue_params *params,
		      struct tofu_queue **queue)
{
	uint64_t entries = TOFU_RING_ENTRIES(params->toq_code);
	struct tofu_queue *q = calloc(1, sizeof(*q));
	uint32_t flags = params->session ? TOFU_CQ_SESSION_MODE : 0;
	int err = -ENOMEM;

	if (!q)
		return -ENOMEM;
	q->posted = calloc(entries, sizeof(*q->posted));
	if (!q->posted)
		goto err_queue;
	err = tofu_lock_init(&q->lock);
	if (err)
		goto err_posted;
	err = port->ops->cq_create(port, params->tni, flags, params->toq_code,
				   params->mrq_code, &q->cq);
	if (err)
		goto err_lock;
	q->toq_mask = entries - 1;
	q->mrq_mask = TOFU_RING_ENTRIES(params->mrq_code) - 1;
	q->toq_limit = entries - TOFU_TOQ_RESERVE;
	q->tcq_due = tofu_due(0, q->toq_mask);
	q->tcq_flip = tofu_flip(0, q->toq_mask);
	q->mrq_due = tofu_due(0, q->mrq_mask);
	q->mrq_flip = tofu_flip(0, q->mrq_mask);
	q->locked = params->locked;
	q->exclusive = params->exclusive;
	q->fetched = params->fetched;
	*queue = q;
	return 0;

err_lock:
	pthread_mutex_destroy(&q->lock);
err_posted:
	free(q->posted);
err_queue:
	free(q);
	return err;
}

void tofu_queue_destroy(struct tofu_queue *queue)
{
	queue->cq->port->ops->cq_destroy(queue->cq);
	pthread_mutex_destroy(&queue->lock);
	free(queue->posted);
	free(queue);
}

/*
 * Lanes without a component ID take turns: what another process still puts to a
 * closed one, which it has not heard of, reaches no other one for a while.
 *
 * Return: a free number, or -1.
 */
static int lane_number(const struct tofu_queue *queue, unsigned int number)
{
	const unsigned int anonymous = TOFU_LANES - TOFU_LANE_ANONYMOUS;

	if (queue->exclusive && queue->lanes)
		return -1;
	if (number != TOFU_LANE_ANONYMOUS)
		return queue->lane[number] ? -1 : (int)number;
	for (unsigned int i = 0; i < anonymous; i++) {
		number = TOFU_LANE_ANONYMOUS + (queue->made + i) % anonymous;
		if (!queue->lane[number])
			return (int)number;
	}
	return -1;
}

bool tofu_queue_takes(const struct tofu_queue *queue, unsigned int number)
{
	return lane_number(queue, number) >= 0;
}

/*
 * One piece of memory for the lane and its inboxes. They are large, and of what
 * is not written nothing is read: most of it is never touched.
 */
static struct tofu_lane *lane_alloc(const struct tofu_queue *queue)
{
	const size_t reports = 2 * (queue->toq_mask + 1);
	const size_t notices = queue->mrq_mask + 1;
	struct tofu_lane *lane =
		malloc(sizeof(*lane) + reports * sizeof(*lane->report) +
		       notices * sizeof(*lane->notice));

	if (!lane)
		return NULL;
	*lane = (struct tofu_lane){ .report = (void *)(lane + 1) };
	lane->notice = (void *)(lane->report + reports);
	return lane;
}

int tofu_lane_open(struct tofu_queue *queue, unsigned int number,
		   struct tofu_lane **lane)
{
	struct tofu_lane *l;
	int err = 0, n;

	l = lane_alloc(queue);
	if (!l)
		return -ENOMEM;
	tofu_queue_lock(queue);
	n = lane_number(queue, number);
	if (n >= 0) {
		l->number = (unsigned int)n;
		l->owner = TOFU_OWNER(++queue->serial, l->number);
		queue->lane[n] = l;
		queue->lanes++;
		if (number == TOFU_LANE_ANONYMOUS)
			queue->made = l->number + 1 - TOFU_LANE_ANONYMOUS;
	} else {
		err = number < TOFU_LANE_ANONYMOUS ? -EEXIST : -ENOSPC;
	}
	tofu_queue_unlock(queue);
	if (err)
		free(l);
	else
		*lane = l;
	return err;
}

void tofu_lane_close(struct tofu_queue *queue, struct tofu_lane *lane)
{
	tofu_queue_lock(queue);
	queue->lane[lane->number] = NULL;
	queue->lanes--;
	tofu_queue_unlock(queue);
	free(lane);
}
