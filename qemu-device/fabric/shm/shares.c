/* SPDX-License-Identifier: MIT */
/*
 * Shares: which of a node's processes owns which queue and gate. The table of a
 * node is in the page of its first endpoint, with a byte for each queue and
 * gate: 0, or the number of the owner among the node's processes, plus one.
 *
 * A process takes free queues and gates under a lock of the node, and only the
 * owner gives them back. Those of a dead process are free. So no table is ever
 * repaired, and readers need no lock: they read one byte.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <fcntl.h>

/* The lock's byte in the page of the node's first endpoint; the first byte of
 * the page locks that endpoint's own entry.
 */
#define LOCK_BYTE 1

static const unsigned int counts[TOFU_SHARES] = {
	[TOFU_SHARE_CQ] = TOFU_CQS_PER_TNI,
	[TOFU_SHARE_GATE] = TOFU_GATES,
};

static uint8_t *owner_at(const struct tofu_shm *shm, uint32_t node,
			 enum tofu_share share, unsigned int tni,
			 unsigned int number)
{
	struct tofu_shm_node *entry =
		tofu_shm_node_of(shm, node * shm->fabric.ppn);

	return share == TOFU_SHARE_CQ ? &entry->cq_owner[tni][number] :
					&entry->gate_owner[tni][number];
}

static uint32_t own_node(const struct tofu_shm *shm)
{
	return shm->fabric.self / shm->fabric.ppn;
}

/* This process's value in the table. */
static uint8_t own_mark(const struct tofu_shm *shm)
{
	return (uint8_t)(shm->fabric.self % shm->fabric.ppn + 1);
}

int64_t tofu_shm_owner(struct tofu_fabric *fabric, uint32_t node,
		       enum tofu_share share, unsigned int tni,
		       unsigned int number)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	unsigned int mark;

	if (node >= shm->fabric.nodes / shm->fabric.ppn ||
	    tni >= TOFU_TNIS_MAX || number >= counts[share])
		return -1;
	mark = tofu_load_acquire(owner_at(shm, node, share, tni, number));
	if (!mark || mark > shm->fabric.ppn)
		return -1;
	return (int64_t)node * shm->fabric.ppn + mark - 1;
}

/* ---- Taking and giving ---- */

static int shares_lock(struct tofu_shm *shm, short type)
{
	return tofu_shm_lock_byte(shm, own_node(shm) * shm->fabric.ppn,
				  LOCK_BYTE, type);
}

int tofu_shm_shares_lock(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	return shares_lock(shm, F_WRLCK);
}

void tofu_shm_shares_unlock(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	shares_lock(shm, F_UNLCK);
}

/* The living processes of this node, a bit for each mark. */
static uint64_t living_marks(struct tofu_shm *shm)
{
	const uint32_t first = own_node(shm) * shm->fabric.ppn;
	uint64_t marks = 0;

	for (uint32_t i = 0; i < shm->fabric.ppn; i++)
		if (first + i == shm->fabric.self ||
		    tofu_shm_up(&shm->fabric, first + i))
			marks |= 1ULL << i;
	return marks << 1;
}

uint64_t tofu_shm_taken_locked(struct tofu_fabric *fabric,
			       enum tofu_share share, unsigned int tni)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	const uint64_t living = living_marks(shm);
	uint64_t taken = 0;

	for (unsigned int n = 0; n < counts[share]; n++) {
		const unsigned int mark = tofu_load(
			owner_at(shm, own_node(shm), share, tni, n));

		if (mark <= shm->fabric.ppn && living >> mark & 1)
			taken |= 1ULL << n;
	}
	return taken;
}

static void mark_all(struct tofu_shm *shm, enum tofu_share share,
		     unsigned int tni, uint64_t numbers, uint8_t mark)
{
	for (; numbers; numbers &= numbers - 1)
		tofu_store_release(owner_at(shm, own_node(shm), share,
					    tni,
					    (unsigned int)__builtin_ctzll(
						    numbers)),
				   mark);
}

void tofu_shm_take_locked(struct tofu_fabric *fabric, enum tofu_share share,
			  unsigned int tni, uint64_t numbers)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	mark_all(shm, share, tni, numbers, own_mark(shm));
}

void tofu_shm_give(struct tofu_fabric *fabric, enum tofu_share share,
		   unsigned int tni, uint64_t numbers)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	mark_all(shm, share, tni, numbers, 0);
}

static void forget_share(struct tofu_shm *shm, enum tofu_share share)
{
	for (unsigned int tni = 0; tni < TOFU_TNIS_MAX; tni++) {
		for (unsigned int n = 0; n < counts[share]; n++) {
			uint8_t *owner = owner_at(shm, own_node(shm),
						  share, tni, n);

			if (tofu_load(owner) == own_mark(shm))
				tofu_store(owner, 0);
		}
	}
}

int tofu_shares_forget(struct tofu_shm *shm)
{
	int err = tofu_shm_shares_lock(&shm->fabric);

	if (err)
		return err;
	forget_share(shm, TOFU_SHARE_CQ);
	forget_share(shm, TOFU_SHARE_GATE);
	tofu_shm_shares_unlock(&shm->fabric);
	return 0;
}
