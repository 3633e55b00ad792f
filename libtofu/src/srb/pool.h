/* SPDX-License-Identifier: MIT */
/*
 * Room for records that are under way: blocks of any size out of one piece of
 * memory, given back in any order. The blocks are in the order of their
 * addresses; room is looked for behind the one that was taken last, where it
 * nearly always is, and in as many gaps as there are blocks at most.
 */
#ifndef SRB_POOL_H
#define SRB_POOL_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct srb_block - a block; kept by who has it
 * @at:    first byte, from the beginning of the pool
 * @bytes: of it
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
 * @last:  the one that was taken last, or that lies before it
 * @bytes: of the pool
 */
struct srb_pool {
	struct srb_block edge;
	struct srb_block *last;
	size_t bytes;
};

void srb_pool_init(struct srb_pool *pool, size_t bytes);

/* srb_pool_take - false: there is no such gap now */
bool srb_pool_take(struct srb_pool *pool, struct srb_block *block,
		   size_t bytes);

void srb_pool_give(struct srb_pool *pool, struct srb_block *block);

#endif /* SRB_POOL_H */
