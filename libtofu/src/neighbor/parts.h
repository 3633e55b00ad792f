/* SPDX-License-Identifier: MIT */
/* The schedule of a neighbour exchange as the list of an engine's puts. */
#ifndef NEIGHBOR_PARTS_H
#define NEIGHBOR_PARTS_H

#include "exchange/exchange.h"
#include "neighbor/schedule.h"

/**
 * tofu_neighbor_parts - list the parts that an engine sends, in order
 * @messages: plan->neighbors entries
 * @part:     filled; plan->steps entries
 *
 * Return: number of parts.
 */
unsigned int tofu_neighbor_parts(const struct tofu_neighbor_plan *plan,
				 unsigned int engine,
				 const struct tofu_message *messages,
				 struct tofu_part *part);

#endif /* NEIGHBOR_PARTS_H */
