/* SPDX-License-Identifier: MIT */
/*
 * More messages than a receiver has room for, of which it wants another one first:
 * what it does not wait for is held back at its sender, and stops nothing.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define MEMORY (2U << 20)
#define EAGER 1000
#define FLOOD 1500
#define SENDERS 3
#define LONG 20000

static char from[FLOOD][LONG / 8], to[LONG];
static struct tofu_p2p_request *sends[SENDERS][FLOOD];

FIXTURE(hold)
{
	struct world world;
};

FIXTURE_VARIANT(hold)
{
	enum tofu_p2p_mode mode;
	bool no_armw;
};

FIXTURE_VARIANT_ADD(hold, automatic){
	.mode = TOFU_P2P_AUTO,
};

FIXTURE_VARIANT_ADD(hold, saving){
	.mode = TOFU_P2P_SAVING,
};

FIXTURE_VARIANT_ADD(hold, shared){
	.mode = TOFU_P2P_SHARED,
};

FIXTURE_VARIANT_ADD(hold, without_atomics){
	.mode = TOFU_P2P_AUTO,
	.no_armw = true,
};

FIXTURE_SETUP(hold)
{
	struct tofu_p2p_params params = p2p_params();

	setenv("TOFU_ARMW", variant->no_armw ? "0" : "1", 1);
	params.mode = variant->mode;
	params.memory = MEMORY;
	params.large = 16384;
	params.eager = EAGER;
	ASSERT_EQ(world_make(&self->world, 1 + SENDERS, &params),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(hold)
{
	world_free(&self->world);
}

#define P2P(rank) (self->world.p2p[rank])

static void turns(struct harness_test *_metadata, struct world *world,
		  unsigned int count)
{
	while (count--)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
}

/* Empty ones, and some that are announced anyway */
static size_t bytes_of(unsigned int i)
{
	return i % 50 == 7 ? 0 : i % 50 == 8 ? sizeof(from[0]) : 8 + i % 900;
}

static uint64_t seed_of(unsigned int sender, unsigned int i)
{
	return sender * FLOOD + i;
}

/* Sender's messages, each with a tag of its own, until they no longer move */
static void flood(struct harness_test *_metadata, struct world *world,
		  unsigned int sender, unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++) {
		data_fill(from[i], bytes_of(i), seed_of(sender, i));
		ASSERT_EQ(tofu_p2p_isend(world->p2p[sender], from[i],
					 bytes_of(i), 0, i,
					 &sends[sender - 1][i]),
			  UTOFU_SUCCESS);
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
	}
	turns(_metadata, world, 500);
}

static bool is_held(struct world *world, unsigned int sender)
{
	const struct p2p_peer *peer = p2p_peer_find(world->p2p[sender], 0);

	return peer && peer->withheld.held;
}

static void receive(struct harness_test *_metadata, struct world *world,
		    uint32_t source, uint64_t tag, unsigned int sender,
		    unsigned int i)
{
	struct tofu_p2p_request *request;
	struct tofu_p2p_status status;

	ASSERT_EQ(tofu_p2p_irecv(world->p2p[0], to, sizeof(to), source, tag,
				 &request),
		  UTOFU_SUCCESS);
	ASSERT_EQ(world_wait(world, 0, &request, &status), UTOFU_SUCCESS);
	ASSERT_EQ(status.tag, i);
	ASSERT_EQ(status.source, sender);
	ASSERT_EQ(status.bytes, bytes_of(i));
	ASSERT_TRUE(data_is(to, status.bytes, seed_of(sender, i)));
}

static void sends_end(struct harness_test *_metadata, struct world *world,
		      unsigned int sender, unsigned int end)
{
	for (unsigned int i = 0; i < end; i++)
		ASSERT_EQ(world_wait(world, sender, &sends[sender - 1][i],
				     NULL),
			  UTOFU_SUCCESS);
}

/* Nothing is left of it, and nothing was taken beyond the limit. */
static void all_is_over(struct harness_test *_metadata, struct world *world)
{
	turns(_metadata, world, 300);
	for (unsigned int rank = 0; rank <= SENDERS; rank++) {
		struct tofu_p2p_memory memory;

		EXPECT_EQ(tofu_p2p_flush(world->p2p[rank]), UTOFU_SUCCESS);
		tofu_p2p_memory(world->p2p[rank], &memory);
		EXPECT_EQ(memory.unexpected, 0);
		EXPECT_LE(memory.peak, MEMORY);
		EXPECT_TRUE(TAILQ_EMPTY(&world->p2p[rank]->holds));
		EXPECT_TRUE(TAILQ_EMPTY(&world->p2p[rank]->sought));
		if (rank)
			EXPECT_FALSE(is_held(world, rank));
	}
}

/* The last comes first: each is behind all that are not wanted yet. */
TEST_F_TIMEOUT(hold, what_is_wanted_stops_for_nothing, 120)
{
	flood(_metadata, &self->world, 1, 0, FLOOD);
	EXPECT_TRUE(is_held(&self->world, 1));
	for (unsigned int i = FLOOD; i--;)
		receive(_metadata, &self->world, 1, i, 1, i);
	sends_end(_metadata, &self->world, 1, FLOOD);
	all_is_over(_metadata, &self->world);
}

/* Without a tag, the order is that of the sends, whatever was held back. */
TEST_F_TIMEOUT(hold, who_takes_anything_gets_all_in_order, 120)
{
	flood(_metadata, &self->world, 1, 0, FLOOD);
	EXPECT_TRUE(is_held(&self->world, 1));
	for (unsigned int i = 700; i < FLOOD; i += 100)
		receive(_metadata, &self->world, 1, i, 1, i);
	for (unsigned int i = 0; i < FLOOD; i++)
		if (i < 700 || i % 100)
			receive(_metadata, &self->world, TOFU_P2P_ANY_SOURCE,
				TOFU_P2P_ANY_TAG, 1, i);
	sends_end(_metadata, &self->world, 1, FLOOD);
	all_is_over(_metadata, &self->world);
}

/* Receives that are there before their messages, among others */
TEST_F_TIMEOUT(hold, what_is_sent_later_is_offered, 120)
{
	enum { EARLY = 10,
	       HALF = FLOOD / 2 };
	struct tofu_p2p_request *early[EARLY];
	static char into[EARLY][LONG / 8];

	flood(_metadata, &self->world, 1, 0, HALF);
	for (unsigned int i = 0; i < EARLY; i++)
		ASSERT_EQ(tofu_p2p_irecv(P2P(0), into[i], sizeof(into[i]),
					 i % 2 ? 1 : TOFU_P2P_ANY_SOURCE,
					 HALF + 40 * i, &early[i]),
			  0);
	flood(_metadata, &self->world, 1, HALF, FLOOD);
	EXPECT_TRUE(is_held(&self->world, 1));
	for (unsigned int i = 0; i < EARLY; i++) {
		ASSERT_EQ(world_wait(&self->world, 0, &early[i], NULL), 0);
		EXPECT_TRUE(data_is(into[i], bytes_of(HALF + 40 * i),
				    seed_of(1, HALF + 40 * i)));
	}
	for (unsigned int i = FLOOD; i--;)
		if (i < HALF || (i - HALF) % 40 || i >= HALF + 40 * EARLY)
			receive(_metadata, &self->world, 1, i, 1, i);
	sends_end(_metadata, &self->world, 1, FLOOD);
	all_is_over(_metadata, &self->world);
}

/* One that nobody has sent yet is waited for meanwhile, from all. */
TEST_F_TIMEOUT(hold, several_are_held_back, 120)
{
	enum { EACH = FLOOD / 2 };
	struct tofu_p2p_request *last;
	char byte = 0;

	for (unsigned int sender = 1; sender <= SENDERS; sender++)
		flood(_metadata, &self->world, sender, 0, EACH);
	for (unsigned int sender = 1; sender <= SENDERS; sender++)
		EXPECT_TRUE(is_held(&self->world, sender));
	ASSERT_EQ(tofu_p2p_irecv(P2P(0), &byte, 1, TOFU_P2P_ANY_SOURCE, FLOOD,
				 &last),
		  0);
	/* All have filled the same buffers, the last one last. */
	for (unsigned int i = EACH; i--;)
		receive(_metadata, &self->world, SENDERS, i, SENDERS, i);
	EXPECT_EQ(tofu_p2p_test(P2P(0), &last, NULL), UTOFU_ERR_NOT_COMPLETED);
	ASSERT_EQ(tofu_p2p_isend(P2P(1), "", 1, 0, FLOOD, &sends[0][EACH]), 0);
	EXPECT_EQ(world_wait(&self->world, 0, &last, NULL), 0);
	for (unsigned int sender = 1; sender < SENDERS; sender++)
		for (unsigned int i = 0; i < EACH; i++) {
			struct tofu_p2p_request *request;

			ASSERT_EQ(tofu_p2p_irecv(P2P(0), to, sizeof(to), sender,
						 i, &request),
				  0);
			ASSERT_EQ(world_wait(&self->world, 0, &request, NULL),
				  0);
		}
	sends_end(_metadata, &self->world, 1, EACH + 1);
	for (unsigned int sender = 2; sender <= SENDERS; sender++)
		sends_end(_metadata, &self->world, sender, EACH);
	all_is_over(_metadata, &self->world);
}

/*
 * Who only looks for a message finds it: what came before it has to be kept, too,
 * so there must be room for that.
 */
TEST_F_TIMEOUT(hold, what_is_looked_for_is_found, 120)
{
	enum { SOME = 800 };
	struct tofu_p2p_status status;
	time_t since = time(NULL);
	int code;

	flood(_metadata, &self->world, 1, 0, SOME);
	EXPECT_TRUE(is_held(&self->world, 1));
	EXPECT_EQ(tofu_p2p_probe(P2P(0), 1, FLOOD, &status),
		  UTOFU_ERR_NOT_FOUND);
	turns(_metadata, &self->world, 100);
	do {
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
		sched_yield();
		code = tofu_p2p_probe(P2P(0), TOFU_P2P_ANY_SOURCE, SOME - 10,
				      &status);
	} while (code == UTOFU_ERR_NOT_FOUND &&
		 time(NULL) - since < WAIT_SECONDS);
	EXPECT_EQ(code, UTOFU_SUCCESS);
	EXPECT_EQ(status.source, 1);
	EXPECT_EQ(status.bytes, bytes_of(SOME - 10));
	for (unsigned int i = 0; i < SOME; i++)
		receive(_metadata, &self->world, 1, TOFU_P2P_ANY_TAG, 1, i);
	sends_end(_metadata, &self->world, 1, SOME);
	all_is_over(_metadata, &self->world);
}

static size_t kept(struct world *world)
{
	struct tofu_p2p_memory memory;

	tofu_p2p_memory(world->p2p[0], &memory);
	return memory.unexpected;
}

static void post(struct harness_test *_metadata, struct world *world,
		 unsigned int i, uint64_t tag)
{
	ASSERT_EQ(tofu_p2p_isend(world->p2p[1], from[i], 8, 0, tag,
				 &sends[0][i]),
		  0);
}

/* Turns of which a process has @often for each of who looks for two tags in turn */
static int look(struct world *world, uint64_t tag, uint64_t other,
		unsigned int often)
{
	struct tofu_p2p_status status;
	int code = UTOFU_ERR_NOT_FOUND;

	for (unsigned int i = 0; i < 3000 && code; i++) {
		code = tofu_p2p_probe(world->p2p[0], 1, tag, &status);
		for (unsigned int turn = 0; turn < often; turn++)
			tofu_p2p_progress(world->p2p[1]);
		if (!code)
			break;
		tofu_p2p_probe(world->p2p[0], 1, other, &status);
		for (unsigned int turn = 0; turn < often; turn++)
			tofu_p2p_progress(world->p2p[1]);
	}
	return code;
}

/* Two in turn, of which nobody has sent one: that hides the other in no order. */
TEST_F_TIMEOUT(hold, who_looks_for_two_finds_either, 120)
{
	struct tofu_p2p_status status;

	flood(_metadata, &self->world, 1, 0, 900);
	for (unsigned int i = 0; i < 8; i++)
		post(_metadata, &self->world, 900 + i, FLOOD + i);
	turns(_metadata, &self->world, 4000);
	for (unsigned int i = 0; i < 8; i++) {
		if (i % 2)
			tofu_p2p_probe(P2P(0), 1, 2 * FLOOD, &status);
		EXPECT_EQ(look(&self->world, FLOOD + i, 2 * FLOOD, 1 + i / 2),
			  UTOFU_SUCCESS);
	}
}

/* A second message of that tag, far behind, has not been looked for. */
TEST_F_TIMEOUT(hold, no_more_than_what_is_looked_for_comes, 120)
{
	enum { FIRST = 700,
	       SECOND = FLOOD - 100 };
	struct tofu_p2p_status status;
	size_t found;
	int code = UTOFU_ERR_NOT_FOUND;

	flood(_metadata, &self->world, 1, 0, FIRST);
	for (unsigned int i = FIRST; i < FLOOD; i++)
		post(_metadata, &self->world, i,
		     i == FIRST || i == SECOND ? FLOOD : i);
	turns(_metadata, &self->world, 4000);
	for (unsigned int i = 0; i < 1000 && code; i++) {
		for (unsigned int turn = 0; turn < 40; turn++)
			tofu_p2p_progress(P2P(1));
		code = tofu_p2p_probe(P2P(0), 1, FLOOD, &status);
	}
	EXPECT_EQ(code, UTOFU_SUCCESS);
	found = kept(&self->world);
	turns(_metadata, &self->world, 2000);
	EXPECT_EQ(kept(&self->world), found);
}

/* Memory that others have taken for good keeps nobody waiting. */
TEST_F_TIMEOUT(hold, what_is_taken_otherwise_does_not_matter, 120)
{
	struct p2p_account *account = &P2P(0)->account;
	size_t room = p2p_account_room(account, P2P_UNEXPECTED);

	while (p2p_account_room(account, P2P_UNEXPECTED) > room / 2)
		ASSERT_TRUE(p2p_account_take(account, P2P_REQUESTS, 1000));
	flood(_metadata, &self->world, 1, 0, FLOOD);
	EXPECT_TRUE(is_held(&self->world, 1));
	for (unsigned int i = 0; i < FLOOD; i++)
		receive(_metadata, &self->world, 1, TOFU_P2P_ANY_TAG, 1, i);
	sends_end(_metadata, &self->world, 1, FLOOD);
	all_is_over(_metadata, &self->world);
}

/*
 * A sender that has no entry for the receiver when it is told hears of it later. Of
 * the ranks of this machine only two are there: that of each is its rank modulo 2.
 */
static int where_two(void *arg, uint32_t rank, uint8_t coords[6],
		     utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	(void)arg;
	world_where(rank % 2, tni, component);
	return utofu_query_my_coords(coords);
}

static void world_of_two(struct harness_test *_metadata, struct world *world,
			 enum tofu_p2p_mode mode, bool no_armw, unsigned int ranks)
{
	world->count = 2;
	for (unsigned int rank = 0; rank < 2; rank++) {
		struct tofu_p2p_params params = p2p_params();

		params.mode = mode;
		params.memory = no_armw ? 2 * PLENTY : MEMORY;
		params.large = params.small = 4096;
		params.eager = EAGER;
		params.processes = ranks;
		params.rank = rank;
		params.where = where_two;
		world_where(rank, &params.tni, &params.component);
		ASSERT_EQ(tofu_p2p_create(&params, &world->p2p[rank]), 0);
	}
}

/* Counts if the sender had forgotten the receiver when it was told. */
static void told_in_vain(struct harness_test *_metadata, struct world *world,
			 unsigned int ranks, size_t bytes, unsigned int *in_vain)
{
	bool held = false, forgot = false;

	for (unsigned int i = 0; i < FLOOD; i++) {
		struct p2p_peer *peer;

		ASSERT_EQ(tofu_p2p_isend(world->p2p[1], from[i], bytes, 0, i,
					 &sends[0][i]),
			  0);
		for (unsigned int turn = 0; turn < 5; turn++)
			tofu_p2p_progress(world->p2p[1]);
		/* It meets all others, unless something is still under way. */
		for (unsigned int rank = 2; rank < ranks && !held; rank++)
			p2p_peer_get(world->p2p[1], rank, &peer);
		if (!held)
			forgot = !p2p_peer_find(world->p2p[1], 0);
		turns(_metadata, world, 5);
		peer = p2p_peer_find(world->p2p[0], 1);
		held = held || (peer && peer->holding.held);
	}
	turns(_metadata, world, 500);
	EXPECT_EQ(is_held(world, 1), held);
	*in_vain += held && forgot;
}

TEST_F_TIMEOUT(hold, who_has_forgotten_is_told_again, 120)
{
	enum { RANKS = 1000 };
	unsigned int in_vain = 0;

	world_free(&self->world);
	self->world.count = 0;
	for (size_t bytes = 700; bytes < 900; bytes += 25) {
		struct world world;

		world_of_two(_metadata, &world, variant->mode,
			     variant->no_armw, RANKS);
		told_in_vain(_metadata, &world, RANKS, bytes, &in_vain);
		world_free(&world);
	}
	if (variant->mode == TOFU_P2P_SHARED)
		EXPECT_GT(in_vain, 0);
}

/* The buffer of a copied send is the caller's at once, held back or not. */
TEST_F_TIMEOUT(hold, copies_are_held_back, 120)
{
	enum { MANY = 1000,
	       BYTES = 500 };
	struct tofu_p2p_end end;
	char buf[BYTES];

	for (uint32_t i = 0; i < MANY; i++) {
		const struct tofu_p2p_send send = {
			.buf = buf,
			.bytes = BYTES,
			.tag = i,
			.data = i,
			.flags = TOFU_P2P_COPY | TOFU_P2P_DATA |
				 TOFU_P2P_SILENT,
		};

		data_fill(buf, BYTES, i);
		ASSERT_EQ(tofu_p2p_post_send(P2P(1), &send, NULL), 0);
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
	}
	memset(buf, 0, BYTES);
	turns(_metadata, &self->world, 500);
	EXPECT_TRUE(is_held(&self->world, 1));
	EXPECT_EQ(tofu_p2p_flush(P2P(1)), UTOFU_ERR_NOT_COMPLETED);
	for (unsigned int i = MANY; i--;) {
		const struct tofu_p2p_receive receive = {
			.buf = to,
			.room = sizeof(to),
			.tag = i & ~1U,
			.ignore = i % 2,
			.source = 1,
		};

		/* Odd ones: those of two tags; then the other of them */
		ASSERT_EQ(tofu_p2p_post_receive(P2P(0), &receive, NULL), 0);
		ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
		ASSERT_EQ(end.code, UTOFU_SUCCESS);
		ASSERT_EQ(end.tag | 1, i | 1);
		if (i % 2)
			ASSERT_EQ(end.tag, i - 1);
		ASSERT_EQ(end.data, end.tag);
		ASSERT_TRUE(data_is(to, BYTES, end.tag));
		if (i % 2) {
			const struct tofu_p2p_receive other = {
				.buf = to,
				.room = sizeof(to),
				.tag = i,
				.source = 1,
			};

			ASSERT_EQ(tofu_p2p_post_receive(P2P(0), &other, NULL),
				  0);
			ASSERT_EQ(world_ended(&self->world, 0, &end), 0);
			ASSERT_EQ(end.tag, i);
			ASSERT_TRUE(data_is(to, BYTES, i));
			i--;
		}
	}
	all_is_over(_metadata, &self->world);
}

/* Who holds back messages for a process that is gone hears of it. */
TEST_F_TIMEOUT(hold, who_is_gone_is_noticed, 120)
{
	struct world *world = &self->world;
	unsigned int failed = 0, asleep = 0;

	flood(_metadata, world, 1, 0, FLOOD);
	EXPECT_TRUE(is_held(world, 1));
	tofu_p2p_free(world->p2p[0]);
	world->p2p[0] = NULL;
	for (unsigned int i = 0; i < FLOOD; i++) {
		int code = UTOFU_ERR_NOT_COMPLETED;

		while (code == UTOFU_ERR_NOT_COMPLETED && asleep < 5000000) {
			code = tofu_p2p_test(world->p2p[1], &sends[0][i], NULL);
			asleep++;
		}
		ASSERT_NE(code, UTOFU_ERR_NOT_COMPLETED);
		failed += code != UTOFU_SUCCESS;
	}
	EXPECT_GT(failed, FLOOD / 10);
	EXPECT_FALSE(is_held(world, 1));
}

TEST_HARNESS_MAIN
