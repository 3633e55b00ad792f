/* SPDX-License-Identifier: MIT */
/*
 * Peers that hinder others: floods that leave no memory, processes that do not go
 * on, or are gone, and more of them than there are entries for.
 */
#include <stdlib.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

FIXTURE(peers)
{
	struct world world;
};

FIXTURE_SETUP(peers)
{
	setenv("TOFU_TNIS", "6", 1);
}

FIXTURE_TEARDOWN(peers)
{
	world_free(&self->world);
}

static void turns(struct harness_test *_metadata, struct world *world,
		  unsigned int count)
{
	while (count--)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
}

static struct p2p_ring *ring_of(const struct world *world, unsigned int rank)
{
	const struct p2p_peer *peer = p2p_peer_find(world->p2p[0], rank);

	return peer ? peer->ring : NULL;
}

#define RING 16384

/* All that 0 has beyond the least is for the subject of the test. */
static struct tofu_p2p_params little(enum tofu_p2p_mode mode, size_t more)
{
	struct tofu_p2p_params params = p2p_params();
	struct tofu_p2p_memory memory;

	params.mode = mode;
	params.large = RING;
	params.processes = 2;
	params.where = p2p_where_never;
	params.memory = 0;
	while (tofu_p2p_need(&params, 0, &memory))
		params.memory += 64;
	params.memory += more;
	return params;
}

/* ---- Floods ---- */

#define FLOODERS 10
#define FLOOD 8
#define RECEIVES 1500
#define BYTES 1900

static char flood[BYTES];

/* One of each, in turn, is seen to, and sent again when it has gone. */
static void flood_on(struct harness_test *_metadata, struct world *world,
		     struct tofu_p2p_request *send[FLOODERS][FLOOD],
		     unsigned int turn)
{
	for (unsigned int from = 1; from < FLOODERS; from++) {
		struct tofu_p2p_request **request = &send[from][turn % FLOOD];
		int code = tofu_p2p_test(world->p2p[from], request, NULL);

		ASSERT_TRUE(!code || code == UTOFU_ERR_NOT_COMPLETED);
		if (!*request)
			ASSERT_EQ(tofu_p2p_isend(world->p2p[from], flood, BYTES,
						 0, 0, request),
				  0);
	}
}

/*
 * A receive from any source receives from all, be it by own rings or by the
 * shared one, though there is memory for some of their messages only.
 */
TEST_F_TIMEOUT(peers, floods_take_turns, 120)
{
	struct tofu_p2p_params params = little(TOFU_P2P_FAST, 200000);
	struct tofu_p2p_request *send[FLOODERS][FLOOD] = { 0 };
	unsigned int got[FLOODERS] = { 0 }, rings = 0, turn = 0;

	ASSERT_EQ(world_make(&self->world, FLOODERS, &params), 0);
	for (unsigned int i = 0; i < RECEIVES; i++) {
		struct tofu_p2p_request *request;
		struct tofu_p2p_status status;
		char buf[BYTES];

		ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[0], buf, BYTES,
					 TOFU_P2P_ANY_SOURCE, 0, &request),
			  0);
		do
			flood_on(_metadata, &self->world, send, turn++);
		while (tofu_p2p_test(self->world.p2p[0], &request, &status));
		got[status.source]++;
	}
	for (unsigned int from = 1; from < FLOODERS; from++) {
		rings += !!ring_of(&self->world, from);
		EXPECT_GT(got[from], RECEIVES / FLOODERS / 5);
	}
	EXPECT_GT(rings, 0);
	EXPECT_LT(rings, FLOODERS - 1);
}

/* ---- Peers that stop ---- */

/* A process that takes no replies sends more announcements than replies fit. */
TEST_F_TIMEOUT(peers, who_takes_no_replies_keeps_none_from_others, 120)
{
	enum { MANY = 700,
	       LONG = 30000 };
	static struct tofu_p2p_request *send[MANY], *recv[MANY];
	struct tofu_p2p_params params = p2p_params();
	struct tofu_p2p_request *put, *got;
	struct world awake;
	static char from[LONG], to[LONG];

	params.eager = 100;
	params.get = 0;
	ASSERT_EQ(world_make(&self->world, 3, &params), 0);
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(tofu_p2p_isend(self->world.p2p[1], from, LONG, 0, 0,
					 &send[i]),
			  0);
	turns(_metadata, &self->world, 3000);
	awake = self->world;
	awake.p2p[1] = awake.p2p[2];
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[0], NULL, 0, 1, 0,
					 &recv[i]),
			  0);
	turns(_metadata, &awake, 2000);
	data_fill(from, LONG, 5);
	ASSERT_EQ(tofu_p2p_isend(self->world.p2p[2], from, LONG, 0, 1, &put), 0);
	ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[0], to, LONG, 2, 1, &got), 0);
	EXPECT_EQ(world_wait(&awake, 0, &got, NULL), 0);
	EXPECT_EQ(world_wait(&awake, 2, &put, NULL), 0);
	EXPECT_TRUE(data_is(to, LONG, 5));
	for (unsigned int i = 0; i < MANY; i++) {
		EXPECT_EQ(world_wait(&self->world, 1, &send[i], NULL), 0);
		EXPECT_EQ(world_wait(&self->world, 0, &recv[i], NULL),
			  UTOFU_ERR_INVALID_SIZE);
	}
}

/* ---- Peers that have left ---- */

/* Two requests are asked for in turn: both hear of it. */
TEST_F_TIMEOUT(peers, who_is_gone_is_noticed_among_others, 60)
{
	struct tofu_p2p_params params = p2p_params();
	struct tofu_p2p_request *of[2];
	struct world *world = &self->world;
	char to[2];

	ASSERT_EQ(world_make(world, 2, &params), 0);
	tofu_p2p_free(world->p2p[1]);
	world->p2p[1] = NULL;
	world->count = 1;
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(tofu_p2p_irecv(world->p2p[0], &to[i], 1,
					 i ? TOFU_P2P_ANY_SOURCE : 1, 0,
					 &of[i]),
			  0);
	for (unsigned int i = 0; i < 1000000 && of[0]; i++) {
		int code = tofu_p2p_test(world->p2p[0], &of[i % 2], NULL);

		ASSERT_EQ(code, of[0] ? UTOFU_ERR_NOT_COMPLETED :
					UTOFU_ERR_MRQ_RMT_STADD);
	}
	EXPECT_EQ(of[0], NULL);
}

/* Rings of processes that are gone are taken back, too. */
TEST_F_TIMEOUT(peers, who_is_gone_has_no_ring, 60)
{
	enum { COUNT = 7,
	       LEFT = 6 };
	struct tofu_p2p_params params;
	struct world *world = &self->world;
	char byte = 0;

	params = little(TOFU_P2P_FAST, 0);
	/* Of which a half is for rings: for five */
	params.memory += 2 * 5 * (RING + 400);
	ASSERT_EQ(world_make(world, COUNT, &params), 0);
	for (unsigned int i = 0; i < 4000 + COUNT; i++) {
		unsigned int from = i < COUNT - 2 ? i + 1 : LEFT;
		struct tofu_p2p_request *send, *recv;

		if (i == COUNT - 2)
			for (unsigned int gone = 1; gone < LEFT; gone++) {
				EXPECT_NE(ring_of(world, gone), NULL);
				tofu_p2p_free(world->p2p[gone]);
				world->p2p[gone] = NULL;
			}
		ASSERT_EQ(tofu_p2p_isend(world->p2p[from], &byte, 1, 0, 0,
					 &send),
			  0);
		ASSERT_EQ(tofu_p2p_irecv(world->p2p[0], &byte, 1, from, 0,
					 &recv),
			  0);
		while (send || recv) {
			ASSERT_LE(tofu_p2p_test(world->p2p[from], &send, NULL),
				  0);
			ASSERT_LE(tofu_p2p_test(world->p2p[0], &recv, NULL), 0);
		}
	}
	EXPECT_NE(ring_of(world, LEFT), NULL);
}

/* ---- More than there are entries for ---- */

/*
 * Sends that wait for receives hold all entries; a peer that asks for a ring of
 * its own still gets an answer.
 */
TEST_F_TIMEOUT(peers, sends_leave_entries_for_answers, 120)
{
	enum { COUNT = 19,
	       LONG = 30000 };
	struct tofu_p2p_request *send[COUNT], *last, *recv;
	struct tofu_p2p_params params = little(TOFU_P2P_SHARED, 0);
	static char from[LONG], to[LONG];
	struct world *world = &self->world;

	params.eager = 100;
	ASSERT_EQ(world_make(world, COUNT, &params), 0);
	data_fill(from, LONG, 9);
	for (unsigned int i = 1; i < COUNT - 1; i++)
		ASSERT_EQ(tofu_p2p_isend(world->p2p[0], from, LONG, i, 0,
					 &send[i]),
			  0);
	turns(_metadata, world, 300);
	ASSERT_EQ(tofu_p2p_isend(world->p2p[COUNT - 1], from, LONG, 0, 0,
				 &last),
		  0);
	ASSERT_EQ(tofu_p2p_irecv(world->p2p[0], to, LONG, COUNT - 1, 0, &recv),
		  0);
	EXPECT_EQ(world_wait(world, 0, &recv, NULL), 0);
	EXPECT_EQ(world_wait(world, COUNT - 1, &last, NULL), 0);
	for (unsigned int i = 1; i < COUNT - 1; i++) {
		ASSERT_EQ(tofu_p2p_irecv(world->p2p[i], to, LONG, 0, 0, &recv),
			  0);
		EXPECT_EQ(world_wait(world, i, &recv, NULL), 0);
		EXPECT_EQ(world_wait(world, 0, &send[i], NULL), 0);
	}
}

TEST_HARNESS_MAIN
