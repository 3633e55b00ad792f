/* SPDX-License-Identifier: MIT */
#include "srb/pool.h"

void srb_pool_init(struct srb_pool *pool, size_t bytes)
{
	pool->edge = (struct srb_block){
		.next = &pool->edge,
		.prev = &pool->edge,
	};
	pool->last = &pool->edge;
	pool->bytes = bytes;
}

/* Bytes between a block and the next one */
static size_t gap_behind(const struct srb_pool *pool,
			 const struct srb_block *block)
{
	size_t end = block->next == &pool->edge ? pool->bytes : block->next->at;

	return end - (block->at + block->bytes);
}

bool srb_pool_take(struct srb_pool *pool, struct srb_block *block, size_t bytes)
{
	struct srb_block *before = pool->last;

	while (gap_behind(pool, before) < bytes) {
		before = before->next;
		if (before == pool->last)
			return false;
	}
	*block = (struct srb_block){
		.next = before->next,
		.prev = before,
		.at = before->at + before->bytes,
		.bytes = bytes,
	};
	before->next->prev = block;
	before->next = block;
	pool->last = block;
	return true;
}

void srb_pool_give(struct srb_pool *pool, struct srb_block *block)
{
	if (pool->last == block)
		pool->last = block->prev;
	block->prev->next = block->next;
	block->next->prev = block->prev;
}
