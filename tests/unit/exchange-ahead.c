/* SPDX-License-Identifier: MIT */
/* Fast and slow neighbours: none disturbs what another still reads. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "exchange-util.h"
#include "harness.h"

#define ROUNDS 2000

FIXTURE(slow){};

FIXTURE_VARIANT(slow)
{
	struct tofu_grid grid;
	struct tofu_neighbor_params params;
	bool meet;
	size_t up; /* of messages that go up alone, 0: all go */
};

FIXTURE_VARIANT_ADD(slow, native){
	.grid = { 2, { 3, 2 }, 3 },
	.params = { .algorithm = TOFU_NEIGHBOR_NATIVE },
};

FIXTURE_VARIANT_ADD(slow, segmented){
	.grid = { 3, { 2, 3, 1 }, 7 },
	.params = { .algorithm = TOFU_NEIGHBOR_SEGMENTED },
};

FIXTURE_VARIANT_ADD(slow, segmented_open){
	.grid = { 3, { 1, 5, 1 }, 0 },
	.params = { .algorithm = TOFU_NEIGHBOR_SEGMENTED },
};

FIXTURE_VARIANT_ADD(slow, two_sided){
	.grid = { 3, { 2, 3, 1 }, 3 },
	.params = {
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
		.form = TOFU_NEIGHBOR_TWO_SIDED,
	},
};

FIXTURE_VARIANT_ADD(slow, in_steps){
	.grid = { 3, { 2, 3, 1 }, 3 },
	.params = {
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
		.form = TOFU_NEIGHBOR_STEPS,
	},
};

/* A node that only sends learns from no data that the other has finished. */
FIXTURE_VARIANT_ADD(slow, one_way){
	.grid = { 1, { 4 }, 1 },
	.params = { .algorithm = TOFU_NEIGHBOR_NATIVE },
	.up = 4000,
};

FIXTURE_VARIANT_ADD(slow, with_barrier){
	.grid = { 3, { 2, 2, 1 }, 7 },
	.params = { .algorithm = TOFU_NEIGHBOR_SEGMENTED },
	.meet = true,
};

FIXTURE_SETUP(slow)
{
}

FIXTURE_TEARDOWN(slow)
{
}

/* Messages of all sizes: the quick ones are there long before the others. */
TEST_F_TIMEOUT(slow, neighbours_at_random, 240)
{
	struct scene scene = {
		.grid = variant->grid,
		.bytes = { 8, 3001, 1, 20000, 0, 517 },
		.params = variant->params,
		.meet = variant->meet,
		.rounds = ROUNDS,
		.late = 100,
	};

	if (variant->up) {
		scene.bytes[0] = variant->up;
		scene.bytes[1] = 0;
	}
	EXPECT_EQ(scene_run(&scene), 0);
}

/* ---- */

static struct scene pair = {
	.grid = { 1, { 2 }, 1 },
	.bytes = { 5000, 300 },
	.params = {
		.algorithm = TOFU_NEIGHBOR_NATIVE,
	},
};

/*
 * Node 1 goes ahead as far as it can: it has begun the next exchange, and all
 * that it sends in it has come, while node 0 reads what came in the last one.
 */
static void ahead(struct tofu_nodes *nodes, unsigned int node)
{
	struct timespec pause = { 0, 1000000 };
	struct actor actor;

	actor_enter(&actor, nodes, node);
	for (unsigned int round = 0; round < 20; round++) {
		if (node == 0)
			CHECK(!tofu_wait_word(&nodes->word[0], round + 1));
		if (node == 0 && round)
			actor_check(&actor, round - 1);
		actor_fill(&actor, round);
		CHECK(!tofu_exchange_start(actor.exchange));
		for (int i = 0; node == 1 && i < 10; i++) {
			/* Node 0 has not begun: this cannot end. */
			CHECK(tofu_exchange_test(actor.exchange) ==
			      UTOFU_ERR_NOT_COMPLETED);
			nanosleep(&pause, NULL);
		}
		if (node == 1)
			__atomic_store_n(&nodes->word[0], round + 1,
					 __ATOMIC_RELEASE);
		CHECK(!tofu_exchange_wait(actor.exchange));
		actor_check(&actor, round);
	}
	tofu_nodes_meet(nodes);
	actor_leave(&actor);
}

TEST(nobody_is_two_exchanges_ahead)
{
	scene_prepare(&pair);
	EXPECT_EQ(tofu_nodes_run(2, ahead, -1), 0);
}

TEST(nobody_is_ahead_in_steps)
{
	pair.params.form = TOFU_NEIGHBOR_TWO_SIDED;
	scene_prepare(&pair);
	EXPECT_EQ(tofu_nodes_run(2, ahead, -1), 0);
	pair.params.form = TOFU_NEIGHBOR_STEPS;
	scene_prepare(&pair);
	EXPECT_EQ(tofu_nodes_run(2, ahead, -1), 0);
}

/* ---- */

#define HALF 1024

/* Two of the six messages are for the other; of these, halves are in two steps. */
static struct scene halves = {
	.grid = { 3, { 2, 1, 1 }, 7 },
	.bytes = { 2 * HALF, 2 * HALF, 8, 8, 8, 8 },
	.params = { .algorithm = TOFU_NEIGHBOR_SEGMENTED },
	.expect = TOFU_NEIGHBOR_SEGMENTED,
};

static char byte_at(const struct actor *actor, size_t offset)
{
	const char *at = actor->message[0].recv[0];

	return __atomic_load_n(at + offset, __ATOMIC_ACQUIRE);
}

/* Node 1 is alone, and does what it can. */
static void alone_sends(struct tofu_nodes *nodes, struct actor *actor)
{
	memset((char *)(uintptr_t)actor->message[1].send, 1, 2 * HALF);
	tofu_nodes_meet(nodes);
	CHECK(!tofu_exchange_start(actor->exchange));
	while (!__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE))
		tofu_exchange_test(actor->exchange);
}

/* Node 0 sees what comes meanwhile: all, or what needs no answer. */
static void alone_receives(struct tofu_nodes *nodes, struct actor *actor)
{
	bool answers = halves.params.form == TOFU_NEIGHBOR_TWO_SIDED;
	char before = byte_at(actor, HALF);
	time_t since = time(NULL);

	tofu_nodes_meet(nodes);
	while (byte_at(actor, answers ? 0 : HALF) == before)
		CHECK(time(NULL) - since < WAIT_SECONDS);
	usleep(20000);
	CHECK((byte_at(actor, HALF) == before) == answers);
	__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
	CHECK(!tofu_exchange_start(actor->exchange));
}

static void alone(struct tofu_nodes *nodes, unsigned int node)
{
	struct actor actor;

	actor_enter(&actor, nodes, node);
	if (node == 1)
		alone_sends(nodes, &actor);
	else
		alone_receives(nodes, &actor);
	CHECK(!tofu_exchange_wait(actor.exchange));
	CHECK(node == 1 || byte_at(&actor, HALF) == 1);
	tofu_nodes_meet(nodes);
	actor_leave(&actor);
}

TEST(all_is_queued_at_once)
{
	scene_prepare(&halves);
	EXPECT_EQ(tofu_nodes_run(2, alone, -1), 0);
}

TEST(steps_wait_for_the_neighbour)
{
	halves.params.form = TOFU_NEIGHBOR_TWO_SIDED;
	scene_prepare(&halves);
	EXPECT_EQ(tofu_nodes_run(2, alone, -1), 0);
}

TEST(steps_that_end_here_do_not_wait_for_the_neighbour)
{
	halves.params.form = TOFU_NEIGHBOR_STEPS;
	scene_prepare(&halves);
	EXPECT_EQ(tofu_nodes_run(2, alone, -1), 0);
}

TEST_HARNESS_MAIN
