// SPDX-License-Identifier: MIT
/*
 * What a receiver keeps in its rings, what it has released, and whose life it
 * was: what a bridge between fabrics relies on.
 */
#define _GNU_SOURCE
#include "fabric-util.h"

#include "harness.h"

FIXTURE(pair)
{
	int fd;
	char path[32];
	struct tofu_fabric *a, *b;
	struct sink at_b;
};

FIXTURE_SETUP(pair)
{
	self->fd = machine_create(3, self->path);
	ASSERT_GE(self->fd, 0);
	self->a = attach(self->path, 0);
	self->b = attach(self->path, 1);
	ASSERT_NE(NULL, self->a);
	ASSERT_NE(NULL, self->b);
}

FIXTURE_TEARDOWN(pair)
{
	if (self->a)
		tofu_fabric_detach(self->a);
	tofu_fabric_detach(self->b);
	close(self->fd);
}

/* ---- What is kept ---- */

TEST_F(pair, a_refused_response_is_offered_again_before_any_request)
{
	self->at_b.refuse_all = true;
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 2));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 3));
	EXPECT_FALSE(sink_poll(self->b, &self->at_b));
	EXPECT_FALSE(sink_poll(self->b, &self->at_b));
	EXPECT_EQ(2, self->at_b.offered);
	self->at_b.refuse_all = false;
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 3));
	EXPECT_EQ(1, self->at_b.seen[0].tid);
	EXPECT_EQ(3, self->at_b.seen[1].tid);
	EXPECT_EQ(2, self->at_b.seen[2].tid);
}

TEST_F(pair, responses_of_a_dead_node_wait_until_they_are_taken)
{
	self->at_b.refuse_all = true;
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 1));
	sink_poll(self->b, &self->at_b);
	tofu_fabric_detach(self->a);
	self->a = NULL;
	for (int i = 0; i < 10; i++)
		sink_poll(self->b, &self->at_b);
	EXPECT_EQ(0, self->at_b.down);
	self->at_b.refuse_all = false;
	ASSERT_TRUE(sink_wait_down(self->b, &self->at_b, 1));
	EXPECT_EQ(1, self->at_b.down_after);
	EXPECT_EQ(1, self->at_b.seen[0].tid);
}

/* ---- What has been released ---- */

TEST_F(pair, a_position_is_passed_when_what_was_sent_is_released)
{
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		const enum tofu_class c = (enum tofu_class)class_;
		uint64_t first, last;

		self->at_b = (struct sink){ .refuse_all = true };
		ASSERT_EQ(0, send_one(self->a, 1, c, 1));
		first = tofu_fabric_tx_position(self->a, 1, c);
		ASSERT_EQ(0, send_one(self->a, 1, c, 2));
		last = tofu_fabric_tx_position(self->a, 1, c);
		EXPECT_GT(last, first);
		sink_poll(self->b, &self->at_b);
		EXPECT_FALSE(tofu_fabric_tx_passed(self->a, 1, c, first));
		self->at_b.refuse_all = false;
		ASSERT_TRUE(sink_wait(self->b, &self->at_b, 2));
		EXPECT_TRUE(tofu_fabric_tx_passed(self->a, 1, c, first));
		EXPECT_TRUE(tofu_fabric_tx_passed(self->a, 1, c, last));
		ASSERT_EQ(0, send_one(self->a, 1, c, 3));
		EXPECT_FALSE(tofu_fabric_tx_passed(
			self->a, 1, c, tofu_fabric_tx_position(self->a, 1, c)));
	}
}

TEST_F(pair, who_waits_for_a_position_is_woken_when_it_is_passed)
{
	struct pollfd fd = { .fd = tofu_fabric_fd(self->a), .events = POLLIN };
	uint64_t position;

	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	position = tofu_fabric_tx_position(self->a, 1, TOFU_REQUEST);
	tofu_fabric_fd_ack(self->a);
	tofu_fabric_want_wake(self->a, true);
	EXPECT_FALSE(tofu_fabric_tx_passed(self->a, 1, TOFU_REQUEST, position));
	EXPECT_EQ(0, poll(&fd, 1, 0));
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 1));
	EXPECT_EQ(1, poll(&fd, 1, LIMIT_MS));
	EXPECT_TRUE(tofu_fabric_tx_passed(self->a, 1, TOFU_REQUEST, position));
}

/* ---- Lives ---- */

TEST_F(pair, a_generation_is_that_of_the_life_that_is_there)
{
	struct tofu_fabric *watch, *b;
	uint32_t first;

	ASSERT_EQ(0, tofu_fabric_observe(self->path, &watch));
	EXPECT_EQ(0, tofu_fabric_generation(watch, 2));
	b = attach(self->path, 2);
	ASSERT_NE(NULL, b);
	first = tofu_fabric_generation(watch, 2);
	EXPECT_NE(0, first);
	EXPECT_EQ(first, tofu_fabric_generation(self->a, 2));
	tofu_fabric_detach(b);
	EXPECT_EQ(0, tofu_fabric_generation(watch, 2));
	b = attach(self->path, 2);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(first + 1, tofu_fabric_generation(watch, 2));
	tofu_fabric_detach(b);
	tofu_fabric_detach(watch);
}

TEST_HARNESS_MAIN
