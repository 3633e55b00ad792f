/* SPDX-License-Identifier: MIT */
/*
 * A collective from the inside: made in create.c, connected in board.c, run in
 * run.c, ended by a dead member in loss.c.
 *
 * Each engine that the plan uses has a VCQ of the collective's own, which shares
 * a command queue with others; an algorithm with sessions has one in session
 * mode, too, and its queue. So no other handler takes its notices.
 *
 * A process keeps a *board* with its boot, which is registered under a STAG that
 * all know. There each collective has a slot: a key, which its members compute
 * alike, and a card, with what others need to put to it. A member that is
 * created gets the cards of those that it has links with, as soon as they are
 * there. So a group needs no other members than its own, and no barrier. A
 * member that cannot create the collective leaves a card that says so.
 *
 * May include: utofu/, boot/, gates/, net/, uapi/
 */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <tofu/gates.h>

#include "coll/group.h"
#include "coll/op.h"
#include "coll/plan.h"
#include "gates/network.h"

/* ---- The board ---- */

#define BOARD_SLOTS 64

/*
 * Words of a card. Engines have three words each: VCQ ID, and the STADDs of
 * COLL_RECV and COLL_WORK.
 */
enum card_word {
	CARD_KEY,
	CARD_WHAT, /* hash of the specification */
	CARD_SLOT,
	CARD_LOST, /* of a refusal: whether CARD_SLOT is the rank of a lost one */
	CARD_SESSION, /* VCQ ID, and the STADD of COLL_RECV */
	CARD_ENGINE = CARD_SESSION + 2,
	CARD_GATE = CARD_ENGINE + 3 * COLL_ENGINES_MAX,
	CARD_WORDS = CARD_GATE + TOFU_NETWORK_GATES_MAX,
};

/* Words of the board; a loss is the key's upper half and a rank. */
enum board_word {
	BOARD_KEY,
	BOARD_LOSS = BOARD_KEY + BOARD_SLOTS,
	BOARD_CARD = BOARD_LOSS + BOARD_SLOTS,
	BOARD_SEEN_KEY = BOARD_CARD + BOARD_SLOTS * CARD_WORDS,
	BOARD_SEEN_CARD = BOARD_SEEN_KEY + BOARD_SLOTS,
	BOARD_WORDS = BOARD_SEEN_CARD + CARD_WORDS,
};

/**
 * struct coll_serial - how many collectives groups of an identity have had
 */
struct coll_serial {
	struct coll_serial *next;
	uint64_t identity;
	uint64_t count;
};

/**
 * struct coll_board - the collectives of a boot
 * @active: those that are under way
 * @used:   slots
 * @refused: slots that only say that a collective was not created
 * @in_calls: time passes in calls of the library alone, as for
 *            TOFU_COLL_BLANK matters
 * @crowded: processes have to share processors, so one that waits makes room
 *           for others at once
 */
struct coll_board {
	struct tofu_boot *boot;
	struct tofu_coll *active;
	struct coll_serial *serials;
	uint64_t used;
	uint64_t refused;
	bool in_calls;
	bool crowded;
};

/* coll_board - the boot's, made when it is first asked for */
int coll_board(struct tofu_boot *boot, struct coll_board **board);

static inline volatile uint64_t *coll_board_word(const struct coll_board *board,
						 size_t index)
{
	return &board->boot->tenant.region.word[index];
}

/* ---- Collectives ---- */

/**
 * struct coll_engine - a TNI of a collective
 * @tni:     its number
 * @used:    the plan has ports or links there
 * @vcq, @id: open if @has_vcq
 * @session, @session_id: open if @has_session
 * @at:      STADDs of the areas
 * @session_at: of COLL_RECV, for the session-mode VCQ
 * @under_way: puts whose end a lane waits for
 * @carried: other puts that have not ended
 * @port:    ports by tag, and PORT_NONE
 */
struct coll_engine {
	utofu_tni_id_t tni;
	bool used;
	bool sessions;
	bool has_vcq;
	bool has_session;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_vcq_hdl_t session;
	utofu_vcq_id_t session_id;
	utofu_stadd_t at[COLL_AREAS];
	utofu_stadd_t session_at;
	unsigned int under_way;
	unsigned int carried;
	uint16_t port[COLL_TAGS];
};

#define COLL_PORT_NONE UINT16_MAX

/**
 * struct coll_target - what a link leads to
 * @rank: in the boot
 * @slot: of its board
 * @at:   STADDs of its areas; COLL_SEND has none
 */
struct coll_target {
	utofu_vcq_id_t vcq;
	uint32_t rank;
	uint32_t slot;
	utofu_stadd_t at[COLL_AREAS];
};

/**
 * struct coll_lane - a lane that runs
 * @index: of the step
 * @ready: @step is computed
 * @ended: it was the last one
 * @under_way: puts that have not ended here, but for carried ones
 * @done:  bytes of the step that are posted
 */
struct coll_lane {
	uint64_t index;
	struct coll_step step;
	bool ready;
	bool ended;
	unsigned int under_way;
	uint64_t done;
};

/**
 * struct coll_pieces - doubles taken apart, for a reproducible sum
 * @send, @recv: memory for them, or NULL
 * @from: the user's elements
 * @sent, @received: how many
 */
struct coll_pieces {
	void *send;
	void *recv;
	const void *from;
	size_t sent;
	size_t received;
};

/**
 * struct coll_gate_peer - a member that gates are linked with
 * @rank: in the boot
 * @slot: of its board
 */
struct coll_gate_peer {
	uint32_t rank;
	uint32_t slot;
};

/**
 * struct tofu_coll
 * @next:   in the board's list of active ones
 * @area:   addresses of the areas
 * @area_bytes: lengths
 * @blank:  there is no memory to read or write
 * @gates, @gate: of COLL_GATE
 * @gate_peer, @gate_peers: members with gates that these are linked with
 * @no_gates: some member has none left
 * @come:   notices of each port, of all rounds
 * @round:  number of the current round, or of the next one
 * @lanes_left: that have not ended in this round
 * @under_way: puts, but for carried ones
 * @tests:  tests without success since something came
 * @turns:  tests of all rounds
 * @mark:   of tofu_work_turns()
 * @open, @awaited, @posted: engines that have queues, those by which lanes wait
 *          for notices, and those with puts that they wait for; bit masks
 * @fallback: why another algorithm was not taken, or NULL
 */
struct tofu_coll {
	struct tofu_coll *next;
	struct coll_board *board;
	struct tofu_group *group;
	struct tofu_coll_spec spec;
	struct tofu_coll_tuning tuning;
	const struct coll_algorithm *algorithm;
	const char *fallback;
	struct coll_op op;
	bool cut;
	struct coll_pieces pieces;
	struct coll_plan plan;
	unsigned int slot;
	uint64_t key;
	bool published;
	struct coll_engine engine[COLL_ENGINES_MAX];
	struct coll_target *target;
	char *area[COLL_AREAS];
	uint64_t area_bytes[COLL_AREAS];
	void *work;
	bool blank;
	unsigned int gates;
	utofu_vbg_id_t gate[TOFU_NETWORK_GATES_MAX];
	struct coll_gate_peer gate_peer[2 * TOFU_NETWORK_GATES_MAX];
	unsigned int gate_peers;
	bool no_gates;
	uint64_t *come;
	struct coll_lane *lane;
	uint64_t round;
	bool is_active;
	unsigned int lanes_left;
	unsigned int under_way;
	unsigned int tests;
	unsigned int turns;
	unsigned int mark;
	unsigned int open;
	unsigned int awaited;
	unsigned int posted;
	int error;
	bool has_lost;
	uint32_t lost;
};

/* ---- board.c ---- */

/* coll_name - give the next collective of the group its key */
int coll_name(struct tofu_coll *coll);

/*
 * coll_publish - take a slot and put the card there, or one that says that the
 * collective was not created; coll_withdraw - give the slot back
 */
int coll_publish(struct tofu_coll *coll);
void coll_refuse(struct tofu_coll *coll);
void coll_withdraw(struct tofu_coll *coll);

/**
 * coll_ask - check whether there is still hope for a member
 *
 * There is where it has not created the collective yet, answers late, or has
 * ended it: a member that fails tells those that it has links with.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_MRQ_PEER if its process is gone, or it could
 * not create the collective because another one's is; UTOFU_ERR_NOT_AVAILABLE
 * if it could not for another reason.
 */
int coll_ask(struct tofu_coll *coll, uint32_t rank);

/* coll_connect - get the cards of those that the plan has links with */
int coll_connect(struct tofu_coll *coll);

/* coll_card_of - get the card of a member into @card, CARD_WORDS words */
int coll_card_of(struct tofu_coll *coll, uint32_t number, uint64_t card[]);

/* ---- run.c ---- */

/* coll_stop - take it from those that are under way */
void coll_stop(struct tofu_coll *coll);

/*
 * coll_drain - wait until carried puts have ended, for a limited time: queues that
 *              are freed would take them along. The collective is not active.
 */
void coll_drain(struct tofu_coll *coll);

/* ---- gate.c ---- */

/*
 * coll_gates_alloc - take gates, which go into the card, if all members get some
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_FULL on all members if one gets none;
 * another code.
 */
int coll_gates_alloc(struct tofu_coll *coll);

/*
 * coll_gates_link - link them with those of others, which have cards; no signal
 * comes before all are linked
 */
int coll_gates_link(struct tofu_coll *coll);

/* ---- loss.c ---- */

/* coll_fail - end with an error, and tell the members that there are links with */
int coll_fail(struct tofu_coll *coll, int code);

/* coll_told - whether another member has told of a failure: its code, or 0 */
int coll_told(struct tofu_coll *coll);

/* coll_probe - check whether those that are waited for are there: 0 or a code */
int coll_probe(struct tofu_coll *coll);

/* coll_lose - record the rank of a member that is gone; Return: the code */
int coll_lose(struct tofu_coll *coll, uint32_t rank);

#endif /* COLL_COLL_H */
