/* SPDX-License-Identifier: MIT */
#include <tofu/mark.h>

#include "port/work.h"
#include "utofu/instance.h"
#include "utofu/mark.h"

void tofu_mark(uint64_t name)
{
	struct tofu_instance *instance = tofu_instance();
	uint64_t *at = __atomic_load_n(&instance->mark, __ATOMIC_RELAXED);

	__atomic_store_n(at, name, __ATOMIC_RELAXED);
	if (at != &instance->nowhere)
		tofu_work_marked(at);
}

static void mark_move(uint64_t *at)
{
	struct tofu_instance *instance = tofu_instance();

	__atomic_store_n(&instance->mark, at ? at : &instance->nowhere,
			 __ATOMIC_RELAXED);
}

static uint64_t *mark_find(const struct tofu_queue *except)
{
	for (unsigned int i = 0; i < TOFU_TNIS_MAX * TOFU_CQS_PER_TNI; i++) {
		const struct tofu_queue *queue =
			tofu_instance()->queue[i / TOFU_CQS_PER_TNI]
					      [i % TOFU_CQS_PER_TNI];

		if (queue && queue != except && queue->cq->mark)
			return queue->cq->mark;
	}
	return NULL;
}

void tofu_mark_open(const struct tofu_queue *queue)
{
	if (tofu_instance()->mark == &tofu_instance()->nowhere)
		mark_move(queue->cq->mark);
}

void tofu_mark_close(const struct tofu_queue *queue)
{
	if (tofu_instance()->mark == queue->cq->mark)
		mark_move(mark_find(queue));
}

void tofu_mark_forked(void)
{
	mark_move(NULL);
}
