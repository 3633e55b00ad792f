/* SPDX-License-Identifier: MIT */
/*
 * Rings that soon are full, and where their nodes wait then.
 */
#ifndef VIRTUAL_RINGS_H
#define VIRTUAL_RINGS_H

#include <stdint.h>

/**
 * struct virtual_rings - of the nodes of this process
 * @bytes:  that a ring seems to have, or 0: all
 * @inside: count of waits inside the controller
 * @held:   count of waits for room at the horizon
 */
struct virtual_rings {
	uint64_t bytes;
	unsigned int inside;
	unsigned int held;
};

extern struct virtual_rings virtual_rings;

#endif /* VIRTUAL_RINGS_H */
