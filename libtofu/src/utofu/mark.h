/* SPDX-License-Identifier: MIT */
/*
 * Where marks are stored. All calls but tofu_mark_forked() need the instance
 * locked.
 */
#ifndef UTOFU_MARK_H
#define UTOFU_MARK_H

#include "queue/queue.h"

/* tofu_mark_open - let marks use the kick page of a new queue */
void tofu_mark_open(const struct tofu_queue *queue);

/* tofu_mark_close - move marks off the page of a queue about to be destroyed */
void tofu_mark_close(const struct tofu_queue *queue);

/* tofu_mark_forked - discard marks in a forked child, which has no kick page */
void tofu_mark_forked(void);

#endif /* UTOFU_MARK_H */
