// SPDX-License-Identifier: MIT
/*
 * Messages while numbers wrap: the uses of requests, which are in their handles,
 * at 2^32, and the places of rings at 2^32 and 2^48. Shared rings end an epoch
 * instead, and the number of epochs wraps. All begin a little before, as if there
 * had been so many messages.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define RANKS 2
#define EAGER 1000
#define GET 100000
#define LARGE 8192
#define SMALL 4096

/* Uses of a request, turns of receiving, and bytes of a shared ring until then */
#define BEFORE 5
#define BEFORE_BYTES 2048

#define ROUNDS 60
/* Turns after which all is at rest */
#define TURNS 200

FIXTURE(wrap)
{
	struct world world;
};

FIXTURE_VARIANT(wrap)
{
	enum tofu_p2p_mode mode;
	bool no_armw;
	uint64_t at;
};

FIXTURE_VARIANT_ADD(wrap, fast_at_32_bits){
	.mode = TOFU_P2P_FAST,
	.at = 1ULL << 32,
};

FIXTURE_VARIANT_ADD(wrap, fast_at_48_bits){
	.mode = TOFU_P2P_FAST,
	.at = 1ULL << 48,
};

FIXTURE_VARIANT_ADD(wrap, saving_at_32_bits){
	.mode = TOFU_P2P_SAVING,
	.at = 1ULL << 32,
};

FIXTURE_VARIANT_ADD(wrap, saving_at_48_bits){
	.mode = TOFU_P2P_SAVING,
	.at = 1ULL << 48,
};

FIXTURE_VARIANT_ADD(wrap, shared_at_32_bits){
	.mode = TOFU_P2P_SHARED,
	.at = 1ULL << 32,
};

FIXTURE_VARIANT_ADD(wrap, shared_at_48_bits){
	.mode = TOFU_P2P_SHARED,
	.at = 1ULL << 48,
};

FIXTURE_VARIANT_ADD(wrap, without_atomics_at_32_bits){
	.mode = TOFU_P2P_FAST,
	.no_armw = true,
	.at = 1ULL << 32,
};

FIXTURE_VARIANT_ADD(wrap, without_atomics_at_48_bits){
	.mode = TOFU_P2P_FAST,
	.no_armw = true,
	.at = 1ULL << 48,
};

/* ---- A little before ---- */

static uint64_t shared_place;

/* All shared rings begin there. */
int __wrap_tofu_srb_create(utofu_vcq_hdl_t vcq,
			   const struct tofu_srb_params *params,
			   struct tofu_srb **srb);
int __wrap_tofu_srb_create(utofu_vcq_hdl_t vcq,
			   const struct tofu_srb_params *params,
			   struct tofu_srb **srb)
{
	return tofu_srb_create_at(vcq, params, shared_place, srb);
}

/* Offsets are below 2^47: what ends there is the last epoch. */
static uint64_t shared_begin(uint64_t at)
{
	return at < SRB_OFFSET_END ?
		       at - BEFORE_BYTES :
		       srb_epoch_begin(UINT16_MAX) + SRB_OFFSET_END -
			       BEFORE_BYTES;
}

typedef bool ring_fn(struct srb_ring *ring, struct tofu_srb_single *to,
		     uint64_t at);

/* An empty ring continues within its last round before @at. */
static bool ring_begin(struct srb_ring *ring, struct tofu_srb_single *to,
		       uint64_t at)
{
	uint64_t by = at - (ring->place / ring->bytes + 1) * ring->bytes;

	CHECK(to->bytes == ring->bytes && to->producer == ring->place);
	ring->place += by;
	*ring->consumer = ring->place;
	to->producer = ring->place;
	to->peer.consumer = ring->place;
	return true;
}

static bool ring_has_passed(struct srb_ring *ring, struct tofu_srb_single *to,
			    uint64_t at)
{
	return ring->place > at && to->producer == ring->place &&
	       *ring->consumer == ring->place;
}

/* Calls @what for all rings with one sender. Return: whether it always did */
static bool rings_all(const struct world *world, uint64_t at, ring_fn *what)
{
	bool all = true;

	for (uint32_t from = 0; from < RANKS; from++) {
		struct tofu_p2p *sender = world->p2p[from];
		struct tofu_p2p *owner = world->p2p[!from];
		struct p2p_peer *peer = p2p_peer_find(owner, from);

		for (int k = 0; k < P2P_STANDING_KINDS && sender->config.standing;
		     k++)
			all &= what(&owner->standing.peer[from].ring[k],
				    &sender->standing.peer[!from].to[k], at);
		if (peer->ring)
			all &= what(&peer->ring->ring,
				    &p2p_peer_find(sender, !from)->own, at);
	}
	return all;
}

/* Nothing is under way, so all of them are free: each has @left uses until then. */
static void requests_begin(struct tofu_p2p *p2p, uint32_t left)
{
	struct p2p_slabs *slabs = &p2p->slabs;

	for (size_t i = 0; i < slabs->slabs * P2P_SLAB; i++) {
		struct tofu_p2p_request *request =
			&slabs->slab[i / P2P_SLAB][i % P2P_SLAB];

		CHECK(request->state == P2P_FREE);
		request->generation = UINT32_MAX - left;
	}
}

/* ---- Messages ---- */

/* Eager, got, put */
static const size_t sizes[] = { 0, 8, 100, EAGER, 5000, GET + 1 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define PAIRS (RANKS * RANKS)

/* struct letter - a message from one endpoint to another, or to itself */
struct letter {
	uint32_t from;
	uint32_t to;
	size_t bytes;
	struct tofu_p2p_request *send;
	struct tofu_p2p_request *recv;
	char *out;
	char *in;
};

static struct letter letters[PAIRS * SIZES];

static void letters_make(void)
{
	for (uint32_t i = 0; i < PAIRS * SIZES; i++) {
		struct letter *letter = &letters[i];

		*letter = (struct letter){
			.from = i % RANKS,
			.to = i / RANKS % RANKS,
			.bytes = sizes[i / PAIRS],
		};
		letter->out = malloc(letter->bytes + 1);
		letter->in = malloc(letter->bytes + 1);
		CHECK(letter->out && letter->in);
	}
}

static void letters_free(void)
{
	for (uint32_t i = 0; i < PAIRS * SIZES; i++) {
		free(letters[i].out);
		free(letters[i].in);
	}
}

static void letter_recv(struct world *world, struct letter *letter,
			uint64_t tag)
{
	memset(letter->in, 0, letter->bytes);
	CHECK(!tofu_p2p_irecv(world->p2p[letter->to], letter->in, letter->bytes,
			      letter->from, tag, &letter->recv));
}

static void letter_send(struct world *world, struct letter *letter,
			uint64_t tag)
{
	data_fill(letter->out, letter->bytes, tag);
	CHECK(!tofu_p2p_isend(world->p2p[letter->from], letter->out,
			      letter->bytes, letter->to, tag, &letter->send));
}

static void letter_end(struct harness_test *_metadata, struct world *world,
		       struct letter *letter, uint64_t tag)
{
	struct tofu_p2p_status status = { 0 };

	ASSERT_EQ(world_wait(world, letter->to, &letter->recv, &status),
		  UTOFU_SUCCESS);
	ASSERT_EQ(world_wait(world, letter->from, &letter->send, NULL),
		  UTOFU_SUCCESS);
	ASSERT_EQ(status.source, letter->from);
	ASSERT_EQ(status.tag, tag);
	ASSERT_EQ(status.bytes, letter->bytes);
	ASSERT_TRUE(data_is(letter->in, letter->bytes, tag));
}

/* All messages at the same time; every other receive comes late. */
static void round_play(struct harness_test *_metadata, struct world *world,
		       uint64_t round)
{
	const unsigned int count = PAIRS * SIZES;
	const uint64_t tag = round * count;

	for (unsigned int i = 0; i < count; i++)
		if ((i + round) % 2)
			letter_recv(world, &letters[i], tag + i);
	for (unsigned int i = 0; i < count; i++)
		letter_send(world, &letters[i], tag + i);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
	for (unsigned int i = 0; i < count; i++)
		if (!((i + round) % 2))
			letter_recv(world, &letters[i], tag + i);
	for (unsigned int i = 0; i < count; i++)
		letter_end(_metadata, world, &letters[i], tag + i);
}

static void rest(struct harness_test *_metadata, struct world *world)
{
	for (int i = 0; i < TURNS; i++)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		ASSERT_EQ(tofu_p2p_flush(world->p2p[rank]), UTOFU_SUCCESS);
}

/* Each has its rings by the time that these messages have come. */
FIXTURE_SETUP(wrap)
{
	struct tofu_p2p_params params = p2p_params();

	setenv("TOFU_ARMW", variant->no_armw ? "0" : "1", 1);
	shared_place = shared_begin(variant->at);
	params.mode = variant->mode;
	params.eager = EAGER;
	params.get = GET;
	params.large = LARGE;
	params.small = SMALL;
	ASSERT_EQ(world_make(&self->world, RANKS, &params), UTOFU_SUCCESS);
	letters_make();
	round_play(_metadata, &self->world, 0);
	rest(_metadata, &self->world);
	round_play(_metadata, &self->world, 1);
	rest(_metadata, &self->world);
	rings_all(&self->world, variant->at, ring_begin);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		requests_begin(self->world.p2p[rank], BEFORE);
		self->world.p2p[rank]->turn = UINT_MAX - BEFORE;
	}
}

#define P2P(rank) (self->world.p2p[rank])

FIXTURE_TEARDOWN(wrap)
{
	world_free(&self->world);
	letters_free();
}

/* Return: how many requests have begun to count again; none has had use 0 */
static unsigned int requests_wrapped(const struct tofu_p2p *p2p)
{
	unsigned int wrapped = 0;

	for (unsigned int i = 0; i < P2P_SLAB; i++) {
		CHECK(p2p->slabs.slab[0][i].generation);
		wrapped += p2p->slabs.slab[0][i].generation <
			   UINT32_MAX - BEFORE;
	}
	return wrapped;
}

/* The smallest record in a ring */
#define RECORD_MIN (TOFU_SRB_OVERHEAD + sizeof(struct p2p_head))

static void shared_check(struct harness_test *_metadata, struct tofu_srb *srb,
			 uint64_t at)
{
	struct tofu_srb_counts counts;

	if (!srb)
		return;
	tofu_srb_counts(srb, &counts);
	EXPECT_GT(counts.records * RECORD_MIN, BEFORE_BYTES);
	EXPECT_EQ(counts.epochs, at > SRB_OFFSET_END);
}

TEST_F_TIMEOUT(wrap, messages_come_as_before, 120)
{
	for (uint64_t round = 2; round < ROUNDS; round++)
		round_play(_metadata, &self->world, round);
	rest(_metadata, &self->world);
	EXPECT_TRUE(rings_all(&self->world, variant->at, ring_has_passed));
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		struct tofu_p2p *p2p = self->world.p2p[rank];
		const struct p2p_peer *peer = p2p_peer_find(p2p, !rank);

		/* Half of the letters are sent here, and half received. */
		EXPECT_GE(requests_wrapped(p2p), PAIRS * SIZES / 2);
		EXPECT_TRUE(variant->no_armw || p2p->turn < UINT_MAX / 2);
		EXPECT_EQ(!!peer->ring, !variant->no_armw &&
						variant->mode != TOFU_P2P_SHARED);
		shared_check(_metadata, p2p->replies, variant->at);
		if (variant->mode == TOFU_P2P_SHARED)
			shared_check(_metadata, p2p->requests, variant->at);
	}
}

/* ---- Old answers ---- */

/* A reply that the protocol does not call for */
static void answer(const struct world *world, uint32_t from, enum p2p_kind kind,
		   uint64_t handle)
{
	const struct p2p_reply reply = {
		.head.kind = (uint16_t)kind,
		.head.source = from,
		.handle = handle,
		.slot = P2P_SILENT,
		.bytes = 1,
	};
	struct p2p_peer *peer;

	CHECK(!p2p_peer_get(world->p2p[from], !from, &peer));
	CHECK(!p2p_sender_reply(world->p2p[from], peer, &reply, 0));
}

/* The place of a request that has just been used again, for the first time. */
static void check_reused(struct harness_test *_metadata,
			 const struct tofu_p2p *p2p,
			 struct tofu_p2p_request *request, uint64_t old)
{
	ASSERT_EQ((uint32_t)old, request->index);
	ASSERT_EQ(old >> P2P_INDEX_BITS, UINT32_MAX);
	EXPECT_EQ(request->generation, 1);
	EXPECT_EQ(p2p_request_find(p2p, p2p_request_handle(request)), request);
	EXPECT_EQ(p2p_request_find(p2p, old), NULL);
	EXPECT_EQ(p2p_request_find(p2p, request->index), NULL);
}

static struct letter *letter_of(uint32_t from, size_t bytes)
{
	struct letter *letter = letters;

	while (letter->from != from || letter->to == from ||
	       letter->bytes != bytes)
		letter++;
	return letter;
}

static void old_answers_to_a_send(struct harness_test *_metadata,
				  struct world *world, struct letter *letter)
{
	struct tofu_p2p *sender = world->p2p[letter->from];
	uint64_t old, handle;

	requests_begin(sender, 0);
	letter_send(world, letter, 1);
	old = p2p_request_handle(letter->send);
	letter_recv(world, letter, 1);
	letter_end(_metadata, world, letter, 1);
	rest(_metadata, world);

	letter_send(world, letter, 2);
	handle = p2p_request_handle(letter->send);
	check_reused(_metadata, sender, letter->send, old);
	rest(_metadata, world);
	answer(world, letter->to, P2P_DONE, old);
	answer(world, letter->to, P2P_READY, old);
	rest(_metadata, world);
	EXPECT_EQ(tofu_p2p_test(sender, &letter->send, NULL),
		  UTOFU_ERR_NOT_COMPLETED);
	letter_recv(world, letter, 2);
	letter_end(_metadata, world, letter, 2);
	EXPECT_EQ(p2p_request_find(sender, handle), NULL);
	rest(_metadata, world);
}

TEST_F(wrap, old_answers_end_no_send)
{
	old_answers_to_a_send(_metadata, &self->world, letter_of(0, 5000));
	old_answers_to_a_send(_metadata, &self->world, letter_of(1, GET + 1));
}

TEST_F(wrap, old_answers_end_no_receive)
{
	struct letter *letter = letter_of(0, GET + 1);
	struct tofu_p2p *receiver = P2P(1);
	uint64_t old;

	requests_begin(receiver, 0);
	letter_recv(&self->world, letter, 1);
	old = p2p_request_handle(letter->recv);
	letter_send(&self->world, letter, 1);
	letter_end(_metadata, &self->world, letter, 1);
	rest(_metadata, &self->world);

	letter_recv(&self->world, letter, 2);
	check_reused(_metadata, receiver, letter->recv, old);
	letter_send(&self->world, letter, 2);
	for (int i = 0; i < TURNS && letter->recv->state != P2P_AWAITED; i++)
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
	/* From here on the sender takes no reply: it does not put yet. */
	ASSERT_EQ(letter->recv->state, P2P_AWAITED);
	answer(&self->world, 0, P2P_FIN, old);
	for (int i = 0; i < TURNS; i++) {
		ASSERT_EQ(p2p_senders_poll(P2P(0)), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_p2p_progress(receiver), UTOFU_SUCCESS);
	}
	ASSERT_EQ(P2P(0)->back.flying, 0);
	EXPECT_EQ(letter->recv->state, P2P_AWAITED);
	letter_end(_metadata, &self->world, letter, 2);
}

TEST_HARNESS_MAIN
