// SPDX-License-Identifier: MIT
/*
 * Translation: STAG → steering entry → memory block → pages. The tables are in
 * the node's memory. Each packet reads them again, each entry once, so a
 * packet that begins after a deregistration sees it. Where the home counts the
 * changes of its tables, entries are remembered until the next one.
 */
#include <errno.h>

#include "icc/internal.h"

#define PAGE_SHIFT_MIN 12
#define PAGE_SHIFT_MAX 40

/*
 * Read an entry of either table. Software writes ctrl, its first word, after
 * the rest. So ctrl is read before the rest: otherwise a reused STAG could be
 * seen with its new pages and its old length. In virtual time software stands
 * still meanwhile.
 */
static int read_entry(struct icc *icc, uint64_t addr, void *entry, size_t size)
{
	const size_t ctrl = sizeof(__le64);

	if (icc->time)
		return icc->ops->read(icc->host, addr, entry, size);
	if (icc->ops->read(icc->host, addr, entry, ctrl))
		return -EFAULT;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return icc->ops->read(icc->host, addr + ctrl, (uint8_t *)entry + ctrl,
			      size - ctrl);
}

/* ---- What is remembered ---- */

static struct icc_memo *memo_at(struct icc_cq *cq, uint64_t stag)
{
	return &cq->memo[stag % ICC_MEMOS];
}

static bool memo_good(const struct icc *icc, const struct icc_memo *memo,
		      uint64_t stag)
{
	return icc->changes && memo->key == stag + 1 &&
	       memo->changes == *icc->changes;
}

static enum icc_fault read_steering(struct icc *icc, struct icc_cq *cq,
				    uint64_t stag,
				    struct tofu_steering *steering)
{
	struct icc_memo *memo = memo_at(cq, stag);

	if (memo_good(icc, memo, stag)) {
		steering->ctrl = memo->ctrl;
		steering->mbva = memo->mbva;
		steering->length = memo->length;
		return ICC_FAULT_NONE;
	}
	if (stag >= cq->stt_count)
		return ICC_FAULT_STADD;
	if (read_entry(icc, cq->stt_base + stag * sizeof(*steering), steering,
		       sizeof(*steering)))
		return ICC_FAULT_MEMORY;
	if (icc->changes)
		*memo = (struct icc_memo){ .key = (uint32_t)stag + 1,
					   .changes = *icc->changes,
					   .ctrl = steering->ctrl,
					   .mbva = steering->mbva,
					   .length = steering->length };
	return ICC_FAULT_NONE;
}

/* The block of a STAG whose steering entry was read last. */
static int read_block(struct icc *icc, struct icc_cq *cq, uint64_t stag,
		      uint64_t mbid, struct tofu_memory_block *block)
{
	struct icc_memo *memo = memo_at(cq, stag);
	const bool good = memo_good(icc, memo, stag);

	if (good && memo->whole) {
		block->ctrl = memo->block_ctrl;
		block->table = memo->table;
		block->npage = memo->npage;
		return 0;
	}
	if (mbid >= cq->mbt_count ||
	    read_entry(icc, cq->mbt_base + mbid * sizeof(*block), block,
		       sizeof(*block)))
		return -EFAULT;
	if (good) {
		memo->block_ctrl = block->ctrl;
		memo->table = block->table;
		memo->npage = block->npage;
		memo->whole = true;
	}
	return 0;
}

/* ---- Look up ---- */

static enum icc_fault steer(struct icc *icc, struct icc_cq *cq,
			    uint64_t addr, const struct icc_span *span,
			    struct tofu_steering *steering)
{
	const uint64_t stag = TOFU_GET(addr, TOFU_ADDR_STAG);
	const uint64_t offset = TOFU_GET(addr, TOFU_ADDR_OFFSET);
	const enum icc_fault fault = read_steering(icc, cq, stag, steering);

	if (fault)
		return fault;
	if (!TOFU_GET(steering->ctrl, TOFU_STEERING_ENABLE))
		return ICC_FAULT_STADD;
	if (span->write && TOFU_GET(steering->ctrl, TOFU_STEERING_READONLY))
		return ICC_FAULT_STADD;
	if (offset < TOFU_GET(steering->ctrl, TOFU_STEERING_FIRST))
		return ICC_FAULT_STADD;
	/* Two comparisons instead of a sum, which could wrap. */
	if (offset > steering->length ||
	    span->total > steering->length - offset)
		return ICC_FAULT_STADD;
	return ICC_FAULT_NONE;
}

/* Whether [range->at, + total) is in the block, with sums below 2^64. */
static bool in_block(const struct icc_range *range, uint64_t total,
		     const struct tofu_memory_block *block)
{
	uint64_t last, bytes, end;

	if (__builtin_add_overflow(range->at, total - 1, &last))
		return false;
	if (last >> range->shift >= block->npage)
		return false;
	if (__builtin_mul_overflow((last >> range->shift) + 1,
				   sizeof(uint64_t), &bytes))
		return false;
	return !__builtin_add_overflow(block->table, bytes, &end);
}

enum icc_fault icc_translate(struct icc *icc, struct icc_cq *cq,
			     uint64_t addr, const struct icc_span *span,
			     struct icc_range *range)
{
	struct tofu_steering steering;
	struct tofu_memory_block block;
	enum icc_fault fault;
	uint64_t mbid;

	fault = steer(icc, cq, addr, span, &steering);
	if (fault)
		return fault;

	range->left = span->length;
	range->blank = icc->blank &&
		       TOFU_GET(steering.ctrl, TOFU_STEERING_BLANK);
	range->next = 0;
	range->count = 0;
	if (!span->total)
		return ICC_FAULT_NONE;

	mbid = TOFU_GET(steering.ctrl, TOFU_STEERING_MBID);
	if (read_block(icc, cq, TOFU_GET(addr, TOFU_ADDR_STAG), mbid, &block))
		return ICC_FAULT_MEMORY;
	range->shift = TOFU_GET(block.ctrl, TOFU_MB_PAGE_SHIFT);
	if (!TOFU_GET(block.ctrl, TOFU_MB_ENABLE) ||
	    range->shift < PAGE_SHIFT_MIN || range->shift > PAGE_SHIFT_MAX)
		return ICC_FAULT_MEMORY;

	range->table = block.table;
	if (__builtin_add_overflow(steering.mbva,
				   TOFU_GET(addr, TOFU_ADDR_OFFSET),
				   &range->at) ||
	    !in_block(range, span->total, &block))
		return ICC_FAULT_MEMORY;
	range->at += span->offset;
	return ICC_FAULT_NONE;
}

/* Read page table entries from that of range->at on, only as many as needed. */
static int fill(struct icc *icc, struct icc_range *range)
{
	const uint64_t first = range->at >> range->shift;
	const uint64_t last = (range->at + range->left - 1) >> range->shift;
	uint64_t count = last - first + 1;

	if (count > ICC_RANGE_BATCH)
		count = ICC_RANGE_BATCH;
	range->next = 0;
	range->count = (unsigned int)count;
	return icc->ops->read(icc->host,
			      range->table + first * sizeof(uint64_t),
			      range->page, count * sizeof(uint64_t));
}

/* The contiguous bytes at range->at in one page; range does not move. */
static int peek(struct icc *icc, struct icc_range *range,
		struct tofu_ref *piece)
{
	const uint64_t size = 1ULL << range->shift;
	const uint64_t in_page = range->at & (size - 1);
	uint64_t page;

	if (range->next == range->count && fill(icc, range))
		return -EFAULT;
	page = range->page[range->next];
	if (page > UINT64_MAX - size)
		return -EFAULT;
	piece->addr = page + in_page;
	piece->len = size - in_page;
	if (piece->len > range->left)
		piece->len = range->left;
	return 0;
}

static void advance(struct icc_range *range, uint64_t len)
{
	range->at += len;
	range->left -= len;
	range->next++;
}

int icc_range_next(struct icc *icc, struct icc_range *range,
		   struct tofu_ref *piece)
{
	struct tofu_ref more;

	if (!range->left)
		return 0;
	if (peek(icc, range, piece))
		return -EFAULT;
	advance(range, piece->len);
	while (range->left) {
		if (peek(icc, range, &more))
			return -EFAULT;
		if (more.addr != piece->addr + piece->len)
			break;
		piece->len += more.len;
		advance(range, more.len);
	}
	return 1;
}
