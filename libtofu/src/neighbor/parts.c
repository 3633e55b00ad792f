// SPDX-License-Identifier: MIT
#include "neighbor/parts.h"

unsigned int tofu_neighbor_parts(const struct tofu_neighbor_plan *plan,
				 unsigned int engine,
				 const struct tofu_message *messages,
				 struct tofu_part *part)
{
	struct tofu_neighbor_put put;
	unsigned int count = 0;

	for (unsigned int step = 0; step < plan->steps; step++) {
		if (!tofu_neighbor_plan_put(plan, step, engine, &put))
			continue;
		part[count].message = put.neighbor;
		part[count].step = step;
		part[count].bytes = tofu_neighbor_segment(
			plan, messages[put.neighbor].send_bytes, put.segment,
			&part[count].offset);
		count++;
	}
	return count;
}
