/* SPDX-License-Identifier: MIT */
/*
 * Room for records under way: blocks of any size from one piece of memory,
 * freed in any order. The blocks are linked in the order of their addresses.
 * The search for room begins behind the block that was taken last, where there
 * nearly always is some, and looks at as many gaps as there are blocks at most.
 */
#ifndef SRB_POOL_H
#define SRB_POOL_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct srb_block - a block; kept by its user
 * @at:    offset of its first byte in the pool
 * @bytes: its length
 */
struct srb_block {
	struct srb_block *next;
	struct srb_block *prev;
	size_t at;
	size_t bytes;
};

/**
 * struct srb_pool
 * @edge:  a block of no bytes at the beginning, before all others
 * @last:  the block that was taken last, or one that lies before it
 * @bytes: size of the pool
 */
struct srb_pool {
	struct srb_block edge;
	struct srb_block *last;
	size_t bytes;
};

void srb_pool_init(struct srb_pool *pool, size_t bytes);

/* srb_pool_take - take a block; false if no gap is large enough now */
bool srb_pool_take(struct srb_pool *pool, struct srb_block *block,
		   size_t bytes);

void srb_pool_give(struct srb_pool *pool, struct srb_block *block);

#endif /* SRB_POOL_H */
