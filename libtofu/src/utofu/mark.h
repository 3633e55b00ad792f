/* SPDX-License-Identifier: MIT */
/*
 * Where marks are stored. The calls need the instance locked, but for
 * tofu_mark_forked().
 */
#ifndef UTOFU_MARK_H
#define UTOFU_MARK_H

#include "queue/queue.h"

/* tofu_mark_open - a queue was made: marks may go to its kick page */
void tofu_mark_open(const struct tofu_queue *queue);

/* tofu_mark_close - a queue is about to be destroyed: they go to another's */
void tofu_mark_close(const struct tofu_queue *queue);

/* tofu_mark_forked - in a child, which has no kick page */
void tofu_mark_forked(void);

#endif /* UTOFU_MARK_H */
