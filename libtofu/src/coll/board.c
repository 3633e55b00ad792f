// SPDX-License-Identifier: MIT
/* The board of a process: where members of a collective find each other. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/time.h>

#include "coll/coll.h"
#include "utofu/error.h"

/* ---- Boards ---- */

static void board_free(void *state)
{
	struct coll_board *board = state;

	while (board->serials) {
		struct coll_serial *next = board->serials->next;

		free(board->serials);
		board->serials = next;
	}
	free(board);
}

/*
 * Whether there are fewer processors than processes. Some of those may be on
 * other hosts; yielding too soon costs little then.
 */
static bool crowded(const struct tofu_boot *boot)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) &&
	       tofu_boot_size(boot) > CPU_COUNT(&set);
}

int coll_board(struct tofu_boot *boot, struct coll_board **result)
{
	struct coll_board *board = boot->tenant.state;
	struct tofu_time_info info = { 0 };
	int code;

	if (!board) {
		board = calloc(1, sizeof(*board));
		if (!board)
			return UTOFU_ERR_OUT_OF_MEMORY;
		code = boot_region_create(boot, BOARD_WORDS, BOOT_TENANT_STAG,
					  &boot->tenant.region);
		if (code) {
			free(board);
			return code;
		}
		tofu_query_time(&info);
		board->in_calls = info.in_calls;
		board->crowded = !info.in_calls && crowded(boot);
		board->boot = boot;
		boot->tenant.state = board;
		boot->tenant.free = board_free;
	}
	*result = board;
	return UTOFU_SUCCESS;
}

/* ---- Keys: the n-th collective of a group has the same everywhere ---- */

static int serial_next(struct coll_board *board, uint64_t identity,
		       uint64_t *serial)
{
	struct coll_serial *s = board->serials;

	while (s && s->identity != identity)
		s = s->next;
	if (!s) {
		s = malloc(sizeof(*s));
		if (!s)
			return UTOFU_ERR_OUT_OF_MEMORY;
		*s = (struct coll_serial){ board->serials, identity, 0 };
		board->serials = s;
	}
	*serial = s->count++;
	return UTOFU_SUCCESS;
}

static uint64_t key_of(uint64_t identity, uint64_t serial)
{
	uint64_t key = coll_hash(coll_hash(COLL_HASH, identity), serial);

	return key ? key : 1;
}

#define CARD_REFUSED UINT64_C(0)

/* What all members have to agree about */
static uint64_t what_of(const struct tofu_coll *coll)
{
	const struct coll_job *job = &coll->plan.job;
	const uint64_t words[] = {
		coll->spec.kind,      coll->spec.type,
		coll->spec.op,	      coll->spec.root,
		coll->spec.count,     job->bytes,
		job->element,	      job->engines,
		job->routes,	      job->segment,
		coll->tuning.flags & TOFU_COLL_REPRODUCIBLE,
		coll->algorithm->algorithm,
	};
	uint64_t hash = COLL_HASH;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = coll_hash(hash, words[i]);
	return hash == CARD_REFUSED ? hash + 1 : hash;
}

/* ---- The own card ---- */

static void card_fill(const struct tofu_coll *coll,
		      volatile uint64_t card[])
{
	card[CARD_KEY] = coll->key;
	card[CARD_WHAT] = what_of(coll);
	card[CARD_SLOT] = coll->slot;
	card[CARD_SESSION] = coll->engine[0].session_id;
	card[CARD_SESSION + 1] = coll->engine[0].session_at;
	for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++) {
		const struct coll_engine *engine = &coll->engine[e];
		volatile uint64_t *word = &card[CARD_ENGINE + 3 * e];

		word[0] = engine->id;
		word[1] = engine->at[COLL_RECV];
		word[2] = engine->at[COLL_WORK];
	}
	for (unsigned int i = 0; i < coll->gates; i++)
		card[CARD_GATE + i] = coll->gate[i];
}

int coll_name(struct tofu_coll *coll)
{
	uint64_t serial;
	int code = serial_next(coll->board, coll->group->identity, &serial);

	if (!code)
		coll->key = key_of(coll->group->identity, serial);
	return code;
}

/* A free slot; where there is none, one that only has a refusal */
static int slot_take(struct coll_board *board, unsigned int *slot)
{
	uint64_t taken = board->used;

	if (!~(taken | board->refused))
		board->refused = 0;
	taken |= board->refused;
	if (!~taken)
		return UTOFU_ERR_FULL;
	*slot = (unsigned int)__builtin_ctzll(~taken);
	return UTOFU_SUCCESS;
}

/* Who sees the key finds the card. */
static void key_show(struct tofu_coll *coll)
{
	*coll_board_word(coll->board, BOARD_LOSS + coll->slot) = 0;
	__atomic_store_n(coll_board_word(coll->board, BOARD_KEY + coll->slot),
			 coll->key, __ATOMIC_RELEASE);
}

int coll_publish(struct tofu_coll *coll)
{
	int code = slot_take(coll->board, &coll->slot);

	if (code)
		return code;
	card_fill(coll, coll_board_word(coll->board,
					BOARD_CARD +
						coll->slot * CARD_WORDS));
	key_show(coll);
	coll->board->used |= UINT64_C(1) << coll->slot;
	coll->published = true;
	return UTOFU_SUCCESS;
}

void coll_withdraw(struct tofu_coll *coll)
{
	if (!coll->published)
		return;
	*coll_board_word(coll->board, BOARD_KEY + coll->slot) = 0;
	coll->board->used &= ~(UINT64_C(1) << coll->slot);
	coll->published = false;
}

void coll_refuse(struct tofu_coll *coll)
{
	volatile uint64_t *card;

	coll_withdraw(coll);
	if (slot_take(coll->board, &coll->slot))
		return;
	card = coll_board_word(coll->board,
			       BOARD_CARD + coll->slot * CARD_WORDS);
	card[CARD_WHAT] = CARD_REFUSED;
	card[CARD_LOST] = coll->has_lost;
	card[CARD_SLOT] = coll->lost;
	key_show(coll);
	coll->board->refused |= UINT64_C(1) << coll->slot;
}

/* ---- Cards of others ---- */

/* Looks for the key among those of another board: the slot, or BOARD_SLOTS. */
static int slot_find(struct tofu_coll *coll, uint32_t rank, unsigned int *slot)
{
	struct tofu_boot *boot = coll->board->boot;
	int code = boot_get_block(boot, rank, &boot->tenant.region, BOARD_KEY,
				  BOARD_SEEN_KEY,
				  BOARD_SLOTS * sizeof(uint64_t));

	/* It may have no board yet. */
	if (code)
		return code == UTOFU_ERR_MRQ_RMT_STADD ?
			       UTOFU_ERR_NOT_FOUND :
			       boot_say_put(boot, rank, code);
	for (*slot = 0; *slot < BOARD_SLOTS; ++*slot)
		if (*coll_board_word(coll->board, BOARD_SEEN_KEY + *slot) ==
		    coll->key)
			return UTOFU_SUCCESS;
	return UTOFU_ERR_NOT_FOUND;
}

static int card_get(struct tofu_coll *coll, uint32_t rank, uint64_t card[])
{
	struct tofu_boot *boot = coll->board->boot;
	unsigned int slot = 0;
	int code = slot_find(coll, rank, &slot);

	if (code)
		return code;
	code = boot_get_block(boot, rank, &boot->tenant.region,
			      BOARD_CARD + slot * CARD_WORDS, BOARD_SEEN_CARD,
			      CARD_WORDS * sizeof(uint64_t));
	if (code)
		return boot_say_put(boot, rank, code);
	for (unsigned int i = 0; i < CARD_WORDS; i++)
		card[i] = *coll_board_word(coll->board, BOARD_SEEN_CARD + i);
	return UTOFU_SUCCESS;
}

/* A member that could not create the collective may know who is gone. */
static int card_judge(struct tofu_coll *coll, const uint64_t card[])
{
	if (card[CARD_WHAT] != CARD_REFUSED)
		return UTOFU_SUCCESS;
	return card[CARD_LOST] ? coll_lose(coll, (uint32_t)card[CARD_SLOT]) :
				 UTOFU_ERR_NOT_AVAILABLE;
}

int coll_ask(struct tofu_coll *coll, uint32_t rank)
{
	uint64_t card[CARD_WORDS];
	int code = card_get(coll, rank, card);

	if (code == UTOFU_ERR_MRQ_PEER)
		return coll_lose(coll, rank);
	return code ? UTOFU_SUCCESS : card_judge(coll, card);
}

int coll_card_of(struct tofu_coll *coll, uint32_t number, uint64_t card[])
{
	struct tofu_boot *boot = coll->board->boot;
	uint32_t rank = coll_group_rank(coll->group, number);
	struct boot_wait wait = boot_wait_begin(boot);
	int code;

	while ((code = card_get(coll, rank, card)) == UTOFU_ERR_NOT_FOUND)
		if (!boot_wait_more(&wait))
			return boot_say(boot, UTOFU_ERR_NOT_COMPLETED,
					"waited %u s for %s %u to create the same collective",
					boot->timeout, boot_unit(boot), rank);
	if (code)
		return code == UTOFU_ERR_MRQ_PEER ? coll_lose(coll, rank) :
						    code;
	code = card_judge(coll, card);
	if (code)
		return boot_say(boot, code,
				"%s %u could not create the collective",
				boot_unit(boot), rank);
	if (card[CARD_WHAT] != what_of(coll) || card[CARD_SLOT] >= BOARD_SLOTS)
		return boot_say(boot, UTOFU_ERR_INVALID_DATA,
				"%s %u has created another collective of this group",
				boot_unit(boot), rank);
	return UTOFU_SUCCESS;
}

/* ---- Links ---- */

static void target_fill(const struct coll_link *link, uint32_t rank,
			const uint64_t card[], struct coll_target *target)
{
	const uint64_t *word = &card[CARD_ENGINE + 3 * link->engine];

	target->rank = rank;
	target->slot = (uint32_t)card[CARD_SLOT];
	target->vcq = link->session ? card[CARD_SESSION] : word[0];
	target->at[COLL_RECV] = link->session ? card[CARD_SESSION + 1] :
						word[1];
	target->at[COLL_WORK] = word[2];
}

/* Several links often lead to the same member, one after the other. */
int coll_connect(struct tofu_coll *coll)
{
	const struct coll_plan *plan = &coll->plan;
	uint64_t card[CARD_WORDS];
	uint32_t seen = COLL_NOBODY;

	for (unsigned int i = 0; i < plan->links; i++) {
		const struct coll_link *link = &plan->link[i];
		int code = UTOFU_SUCCESS;

		if (link->peer != seen)
			code = coll_card_of(coll, link->peer, card);
		if (code)
			return code;
		seen = link->peer;
		target_fill(link, coll_group_rank(coll->group, seen), card,
			    &coll->target[i]);
	}
	return UTOFU_SUCCESS;
}
