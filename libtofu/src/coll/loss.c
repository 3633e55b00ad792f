// SPDX-License-Identifier: MIT
/*
 * A member that ends before the collective has.
 *
 * Its controller answers no more: puts to it fail, and who has waited long for
 * it asks. Who learns of the loss leaves a word with all that it has links with,
 * and fails; they find the word at their next test and do the same. A member
 * that is waited for has a link to who waits for it, so the word comes to all
 * that wait, directly or not, for the one that is gone.
 *
 * The word has the upper half of the collective's key, so that one that comes
 * late is not taken for another collective's of the same slot.
 */
#include "coll/coll.h"
#include "utofu/error.h"

/* A failure without a loss */
#define NOBODY_LOST UINT32_MAX

static uint64_t word_of(const struct tofu_coll *coll)
{
	return (coll->key & ~(uint64_t)UINT32_MAX) |
	       (coll->has_lost ? coll->lost : NOBODY_LOST);
}

static void tell(struct tofu_coll *coll, uint32_t rank, uint32_t slot)
{
	struct tofu_boot *boot = coll->board->boot;

	*coll_board_word(coll->board, BOARD_SEEN_KEY) = word_of(coll);
	/* Who cannot be told has other sources. */
	boot_put_block(boot, rank, &boot->tenant.region, BOARD_SEEN_KEY,
		       BOARD_LOSS + slot, sizeof(uint64_t));
}

static void all_tell(struct tofu_coll *coll)
{
	for (unsigned int i = 0; i < coll->plan.links; i++) {
		const struct coll_target *target = &coll->target[i];

		if (i && target[-1].rank == target->rank)
			continue;
		if (!coll->has_lost || target->rank != coll->lost)
			tell(coll, target->rank, target->slot);
	}
	for (unsigned int i = 0; i < coll->gate_peers; i++) {
		const struct coll_gate_peer *peer = &coll->gate_peer[i];

		if (!coll->has_lost || peer->rank != coll->lost)
			tell(coll, peer->rank, peer->slot);
	}
}

int coll_lose(struct tofu_coll *coll, uint32_t rank)
{
	coll->has_lost = true;
	coll->lost = rank;
	return UTOFU_ERR_MRQ_PEER;
}

int coll_told(struct tofu_coll *coll)
{
	uint64_t word = *coll_board_word(coll->board, BOARD_LOSS + coll->slot);
	uint32_t rank = (uint32_t)word;

	if (!word || (word ^ coll->key) >> 32)
		return UTOFU_SUCCESS;
	if (rank == NOBODY_LOST)
		return UTOFU_ERR_MRQ_OTHER;
	return coll_lose(coll, rank);
}

/* ---- Asking ---- */

static int ask_links(struct tofu_coll *coll)
{
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < coll->plan.links && !code; i++) {
		const struct coll_target *target = &coll->target[i];

		if (!i || target[-1].rank != target->rank)
			code = coll_ask(coll, target->rank);
	}
	return code;
}

static int ask_gates(struct tofu_coll *coll)
{
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < coll->gate_peers && !code; i++)
		code = coll_ask(coll, coll->gate_peer[i].rank);
	return code;
}

/* Gates tell of a loss, but not whose. */
static int ask_members(struct tofu_coll *coll)
{
	int code = UTOFU_SUCCESS;

	for (uint32_t i = 1; i < coll->group->count && !code; i++)
		code = coll_ask(coll,
				coll_group_rank(coll->group,
						(coll->group->number + i) %
							coll->group->count));
	return code;
}

int coll_probe(struct tofu_coll *coll)
{
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < coll->plan.lanes && !code; i++) {
		const struct coll_lane *lane = &coll->lane[i];
		uint32_t peer;

		if (lane->ended || !lane->ready)
			continue;
		if (lane->step.what == COLL_RESULT)
			code = ask_gates(coll);
		if (lane->step.what != COLL_AWAIT)
			continue;
		peer = coll->plan.port[lane->step.which].peer;
		code = peer == COLL_NOBODY ?
			       ask_links(coll) :
			       coll_ask(coll,
					coll_group_rank(coll->group, peer));
	}
	return code;
}

/* ---- Failing ---- */

int coll_fail(struct tofu_coll *coll, int code)
{
	if (coll->gates && !coll->has_lost &&
	    ask_members(coll) == UTOFU_ERR_MRQ_PEER)
		code = UTOFU_ERR_MRQ_PEER;
	coll->error = tofu_error(code);
	all_tell(coll);
	return coll->error;
}
