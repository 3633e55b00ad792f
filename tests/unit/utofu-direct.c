/* SPDX-License-Identifier: MIT */
/*
 * Direct commands, by a port whose device is this test: when the library takes
 * the way by the CQ page, what it stores there, and what it does not look at.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/mark.h>
#include <utofu.h>

#include "harness.h"
#include "queue/post.h"
#include "utofu/mark.h"

#define ENTRIES 2048
#define TCQ TOFU_TOQ_F_TCQ_NOTICE
#define LCL TOFU_TOQ_F_LCL_NOTICE

/* The other side of the rings; @tcq and @mrq are entries written. */
static struct device {
	struct tofu_port_dev port;
	struct tofu_port_cq cq;
	struct tofu_cq_page page;
	uint64_t kick[512];
	struct tofu_toq_desc toq_ring[ENTRIES];
	__le64 tcq_ring[ENTRIES];
	struct tofu_mrq_entry mrq_ring[ENTRIES];
	uint64_t tcq;
	uint64_t mrq;
} device;

static int device_create(struct tofu_port_dev *port, unsigned int tni,
			 uint32_t flags, unsigned int toq_code,
			 unsigned int mrq_code, struct tofu_port_cq **cq)
{
	(void)flags;
	(void)toq_code;
	(void)mrq_code;
	device.cq.port = port;
	device.cq.tni = tni;
	device.cq.page = &device.page;
	device.cq.toq = device.toq_ring;
	device.cq.tcq = device.tcq_ring;
	device.cq.mrq = device.mrq_ring;
	device.cq.kick = device.kick;
	device.cq.mark = &device.kick[TOFU_KICK_MARK / 8];
	device.cq.poll_patience = UINT32_MAX;
	*cq = &device.cq;
	return 0;
}

static void device_destroy(struct tofu_port_cq *cq)
{
	(void)cq;
}

static const struct tofu_port_ops device_ops = {
	.cq_create = device_create,
	.cq_destroy = device_destroy,
};

FIXTURE(direct)
{
	struct tofu_queue *queue;
	struct tofu_lane *lane;
	uint64_t posted;
	bool easily;
};

/* @easily: commands of one slot go the short way where they can. */
FIXTURE_VARIANT(direct)
{
	bool easily;
};

FIXTURE_VARIANT_ADD(direct, easily) { .easily = true };
FIXTURE_VARIANT_ADD(direct, slowly) { .easily = false };

FIXTURE_SETUP(direct)
{
	const struct tofu_queue_params params = { .tni = 0 };

	self->easily = variant->easily;
	memset(&device, 0, sizeof(device));
	device.port.ops = &device_ops;
	device.cq.direct = true;
	device.page.status = TOFU_CQ_STATUS_ENABLED;
	ASSERT_EQ(tofu_queue_create(&device.port, &params, &self->queue), 0);
	ASSERT_EQ(tofu_lane_open(self->queue, TOFU_LANE_ANONYMOUS,
				 &self->lane), 0);
}

FIXTURE_TEARDOWN(direct)
{
	tofu_lane_close(self->queue, self->lane);
	tofu_queue_destroy(self->queue);
}

/* ---- The device's side ---- */

/* Command number @index has ended, and all before it. */
static void report(uint64_t index)
{
	device.tcq_ring[device.tcq % ENTRIES] =
		tofu_ring_flip(device.tcq, 0) |
		TOFU_SET(TOFU_TCQ_INDEX, (uint32_t)index);
	device.tcq++;
}

static void notice(enum tofu_mrq_type type, enum tofu_status status)
{
	struct tofu_mrq_entry *entry = &device.mrq_ring[device.mrq % ENTRIES];

	entry->route = TOFU_SET(TOFU_ROUTE_TAG,
				TOFU_LANE_ANONYMOUS << TOFU_TAG_LCL_SHIFT |
				TOFU_LANE_ANONYMOUS << TOFU_TAG_RMT_SHIFT);
	entry->ctrl = tofu_ring_flip(device.mrq, 0) |
		      TOFU_SET(TOFU_MRQ_TYPE, type) |
		      TOFU_SET(TOFU_MRQ_STATUS, status);
	device.mrq++;
}

/* ---- The program's side ---- */

#define SELF FIXTURE_DATA(direct)

static int post(SELF *self, const uint64_t command[8], unsigned int slots)
{
	struct tofu_toq_desc desc;

	memcpy(&desc, command, sizeof(desc));
	/* A strided command never goes that way. */
	if (self->easily &&
	    !(command[0] & TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE)) &&
	    tofu_post_is_easy(self->queue, self->lane, &desc, slots))
		return tofu_queue_post_easily(self->queue, self->lane, desc,
					      slots, command + 4, NULL);
	return tofu_queue_post_locked(self->queue, self->lane, command, slots,
				      NULL);
}

/* A put of some slots; @seed makes it different from others. */
static int put(SELF *self, unsigned int slots, unsigned long flags, int seed)
{
	uint64_t kind = slots == 1 ? TOFU_CMD_PUT : TOFU_CMD_PUT_PIGGYBACK;
	uint64_t command[8] = {
		TOFU_SET(TOFU_TOQ_CMD, kind) |
			TOFU_SET(TOFU_TOQ_FLAGS, flags & 0xffff) |
			(flags & TOFU_COMMAND_DELAY),
		TOFU_SET(TOFU_ROUTE_LENGTH, slots == 1 ? 8 : 32),
		(uint64_t)seed, (uint64_t)seed + 1, (uint64_t)seed + 2,
		(uint64_t)seed + 3, (uint64_t)seed + 4, (uint64_t)seed + 5,
	};
	int ret = post(self, command, slots);

	if (ret >= 0)
		self->posted += slots;
	return ret;
}

static bool was_direct(const SELF *self)
{
	uint64_t word = device.page.fetch_start;

	return word == (self->posted | TOFU_FETCH_DIRECT);
}

static bool was_usual(const SELF *self)
{
	return device.page.fetch_start == self->posted;
}

static bool report_read(SELF *self)
{
	struct tofu_report report;

	return tofu_queue_report_locked(self->queue, self->lane, &report);
}

static bool notice_read(SELF *self)
{
	struct tofu_mrq_entry entry;

	return tofu_queue_notice_locked(self->queue, self->lane, &entry);
}

TEST_F(direct, the_first_command_is)
{
	EXPECT_EQ(put(self, 1, TCQ, 1), 0);
	EXPECT_TRUE(was_direct(self));
	EXPECT_EQ(memcmp(device.page.direct, device.toq_ring, 32), 0);
	EXPECT_EQ(device.toq_ring[0].ctrl & 1, tofu_ring_flip(0, 0));
}

TEST_F(direct, not_where_it_saves_nothing)
{
	device.cq.direct = false;
	device.cq.kicks = true;
	EXPECT_EQ(put(self, 1, TCQ, 1), 1);
	EXPECT_TRUE(was_usual(self));
	report(0);
	EXPECT_TRUE(report_read(self));
	EXPECT_EQ(put(self, 1, TCQ, 1), 1);
	EXPECT_TRUE(was_usual(self));
	EXPECT_EQ(device.page.direct[0], 0);
}

TEST_F(direct, two_slots_also_at_the_end_of_the_ring)
{
	for (uint64_t i = 0; i < ENTRIES / 2 + 2; i++) {
		/* At odd ones from the second on. */
		unsigned int slots = i ? 2 : 1;
		uint64_t index = self->posted;

		device.page.toq_head = index;
		ASSERT_EQ(put(self, slots, TCQ, (int)i * 10), 0);
		ASSERT_TRUE(was_direct(self));
		for (unsigned int n = 0; n < slots; n++)
			ASSERT_EQ(memcmp(device.page.direct + 32 * n,
					 &device.toq_ring[(index + n) %
							  ENTRIES],
					 32), 0);
		report(index);
		ASSERT_TRUE(report_read(self));
	}
	EXPECT_GT(self->posted, ENTRIES);
}

TEST_F(direct, not_while_another_is_under_way)
{
	put(self, 1, TCQ, 1);
	EXPECT_EQ(put(self, 1, TCQ, 2), 0);
	EXPECT_TRUE(was_usual(self));
	report(0);
	EXPECT_TRUE(report_read(self));
	put(self, 1, TCQ, 3);
	EXPECT_TRUE(was_usual(self));
	report(1);
	report(2);
	put(self, 1, TCQ, 4); /* it has ended, but nobody has looked */
	EXPECT_TRUE(was_usual(self));
	report(3);
	while (report_read(self))
		;
	put(self, 1, TCQ, 5);
	EXPECT_TRUE(was_direct(self));
}

TEST_F(direct, not_behind_one_that_nothing_is_heard_of)
{
	put(self, 1, 0, 1);
	put(self, 1, LCL, 2);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	EXPECT_TRUE(notice_read(self));
	put(self, 1, TCQ, 3);
	EXPECT_TRUE(was_usual(self));
	report(2);
	EXPECT_TRUE(report_read(self));
	put(self, 1, LCL, 4);
	EXPECT_TRUE(was_direct(self));
	/* From here on it is forgotten. */
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	EXPECT_TRUE(notice_read(self));
	put(self, 1, LCL, 5);
	EXPECT_TRUE(was_direct(self));
}

TEST_F(direct, notices_tell_it_too)
{
	put(self, 1, LCL, 1);
	put(self, 1, LCL, 2);
	notice(TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	EXPECT_TRUE(notice_read(self));
	EXPECT_TRUE(notice_read(self));
	put(self, 1, LCL, 3);
	EXPECT_TRUE(was_usual(self));
	notice(TOFU_MRQ_LCL_GET, TOFU_ST_OK);
	notice(TOFU_MRQ_LCL_ARMW, TOFU_ST_OK);
	EXPECT_TRUE(notice_read(self));
	EXPECT_TRUE(notice_read(self));
	put(self, 1, LCL, 4);
	EXPECT_TRUE(was_direct(self));
}

/* A put in blocks, as it is prepared */
static int put_blocks(SELF *self, unsigned long flags, uint64_t blocks)
{
	uint64_t command[8] = {
		TOFU_SET(TOFU_TOQ_CMD, TOFU_CMD_PUT) |
			TOFU_SET(TOFU_TOQ_FLAGS, flags | TOFU_TOQ_F_STRIDE),
		[4] = 64, [5] = blocks,
	};
	int ret = post(self, command, 2);

	self->posted += 2;
	return ret;
}

TEST_F(direct, each_block_has_a_notice)
{
	put_blocks(self, LCL, 3);
	EXPECT_TRUE(was_direct(self));
	for (int i = 0; i < 2; i++)
		notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	while (notice_read(self))
		;
	put(self, 1, LCL, 1);
	EXPECT_TRUE(was_usual(self));
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	while (notice_read(self))
		;
	put_blocks(self, TCQ, 100000);
	EXPECT_TRUE(was_direct(self));
	report(3);
	EXPECT_TRUE(report_read(self));
	put(self, 1, LCL, 2);
	EXPECT_TRUE(was_direct(self));
}

/* No prepared command can make notices seem to be read that never come. */
TEST_F(direct, a_number_of_blocks_that_is_none_tells_nothing)
{
	const uint64_t numbers[] = { 0, 1ULL << 24, UINT64_MAX, 1ULL << 63 };

	for (unsigned int i = 0; i < 4; i++) {
		put(self, 1, LCL, 1);
		EXPECT_TRUE(was_direct(self));
		put_blocks(self, LCL, numbers[i]);
		notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
		EXPECT_TRUE(notice_read(self));
		put(self, 1, TCQ, 2);
		EXPECT_TRUE(was_usual(self));
		report(self->posted - 1);
		EXPECT_TRUE(report_read(self));
	}
}

/*
 * Of a queue in session mode too, one that was not let go has not ended: the
 * engine reads the next ones from the ring.
 */
TEST_F(direct, a_command_that_waits_is_under_way)
{
	put(self, 1, TCQ | LCL, 1);
	EXPECT_TRUE(was_direct(self));
	for (int i = 0; i < 100; i++) {
		notice(TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
		EXPECT_TRUE(notice_read(self));
		EXPECT_FALSE(report_read(self));
		put(self, 1, TCQ | LCL, 2);
		EXPECT_TRUE(was_usual(self));
	}
}

/* A notice of an earlier command must not be taken for one of the last. */
TEST_F(direct, old_notices_tell_nothing)
{
	put(self, 1, TCQ | LCL, 1);
	report(0);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	EXPECT_TRUE(report_read(self));
	put(self, 1, TCQ | LCL, 2);
	EXPECT_TRUE(was_direct(self));
	EXPECT_TRUE(notice_read(self));
	put(self, 1, TCQ | LCL, 3);
	EXPECT_TRUE(was_usual(self));
}

TEST_F(direct, after_an_error_only_reports_tell)
{
	put(self, 1, TCQ, 1);
	report(0);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_PEER); /* not asked for */
	EXPECT_TRUE(report_read(self));
	put(self, 1, LCL, 2);
	EXPECT_TRUE(was_direct(self));
	EXPECT_TRUE(notice_read(self));
	put(self, 1, TCQ, 3);
	EXPECT_TRUE(was_usual(self));
	report(2);
	EXPECT_TRUE(report_read(self));
	put(self, 1, TCQ, 4);
	EXPECT_TRUE(was_direct(self));
}

TEST_F(direct, delayed_commands_go_with_the_next_one)
{
	EXPECT_EQ(put(self, 1, TCQ | TOFU_COMMAND_DELAY, 1), 0);
	EXPECT_EQ(device.page.fetch_start, 0);
	EXPECT_EQ(device.page.direct[0], 0);
	put(self, 1, TCQ, 2);
	EXPECT_TRUE(was_usual(self));
}

TEST_F(direct, several_commands_at_once_are_not)
{
	uint64_t command[8] = { [1] = 0 };

	command[0] = command[4] = TOFU_SET(TOFU_TOQ_CMD, TOFU_CMD_NOP) |
				  TOFU_SET(TOFU_TOQ_FLAGS, TCQ);
	EXPECT_EQ(tofu_queue_post_locked(self->queue, self->lane, command, 2,
					 NULL), 0);
	EXPECT_EQ(device.page.fetch_start, 2);
}

/* A program can write to what it has prepared while it is posted. */
TEST_F(direct, a_command_longer_than_what_was_given_queues_nothing)
{
	uint64_t command[8] = {
		[0] = TOFU_SET(TOFU_TOQ_CMD, TOFU_CMD_PUT) |
		      TOFU_SET(TOFU_TOQ_FLAGS, LCL),
		[4] = TOFU_SET(TOFU_TOQ_CMD, TOFU_CMD_PUT_PIGGYBACK) |
		      TOFU_SET(TOFU_TOQ_FLAGS, LCL),
		[5] = TOFU_SET(TOFU_ROUTE_LENGTH, 32),
	};

	EXPECT_EQ(tofu_queue_post_locked(self->queue, self->lane, command, 2,
					 NULL), -EINVAL);
	EXPECT_EQ(device.page.fetch_start, 0);
	put(self, 1, LCL, 1);
	EXPECT_TRUE(was_direct(self));
	EXPECT_EQ(device.toq_ring[0].rmt, 1);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	EXPECT_TRUE(notice_read(self));
	put(self, 1, LCL, 2);
	EXPECT_TRUE(was_direct(self));
}

/* The page's words are registers: a poll that finds nothing is to be quick. */
TEST_F(direct, polls_look_at_the_status_now_and_then)
{
	unsigned int lost = 0;

	device.page.status |= TOFU_CQ_STATUS_MRQ_OVERFLOW;
	device.page.need_kick = TOFU_NEED_KICK_POLL | TOFU_NEED_KICK_TAIL;
	for (int i = 0; i < 650; i++) {
		EXPECT_FALSE(notice_read(self));
		EXPECT_FALSE(tofu_queue_idle(self->queue));
		lost += tofu_queue_lost_locked(self->queue, self->lane);
		/* Other polls between them do not change it. */
		EXPECT_FALSE(tofu_queue_idle(self->queue));
	}
	EXPECT_EQ(lost, 11);
	notice(TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	EXPECT_TRUE(notice_read(self));
	EXPECT_TRUE(tofu_queue_lost_locked(self->queue, self->lane));
	put(self, 1, TCQ, 1);
	EXPECT_EQ(device.kick[TOFU_KICK_TAIL / 8], 0);
	EXPECT_EQ(device.kick[TOFU_KICK_POLL / 8], 0);
}

/* ---- Glances ---- */

static enum tofu_glance report_glance(SELF *self)
{
	struct tofu_report report;

	return tofu_queue_report_glance(self->queue, self->lane, &report);
}

TEST_F(direct, a_glance_takes_a_report)
{
	EXPECT_EQ(report_glance(self), TOFU_NOTHING);
	put(self, 1, TCQ, 1);
	put(self, 1, TCQ, 2);
	report(0);
	EXPECT_EQ(report_glance(self), TOFU_FOUND);
	put(self, 1, TCQ, 3);
	EXPECT_TRUE(was_usual(self));
	report(1);
	report(2);
	EXPECT_EQ(report_glance(self), TOFU_FOUND);
	EXPECT_EQ(report_glance(self), TOFU_FOUND);
	put(self, 1, TCQ, 4);
	EXPECT_TRUE(was_direct(self));
	/* How far the ring was read is still to be told. */
	EXPECT_EQ(report_glance(self), TOFU_UNCLEAR);
	EXPECT_FALSE(report_read(self));
	EXPECT_EQ(device.page.tcq_read, 3);
	EXPECT_EQ(report_glance(self), TOFU_NOTHING);
}

TEST_F(direct, a_glance_leaves_what_is_another_lanes)
{
	struct tofu_lane *other;

	ASSERT_EQ(tofu_lane_open(self->queue, TOFU_LANE_ANONYMOUS, &other), 0);
	put(self, 1, TCQ, 1);
	report(0);
	EXPECT_EQ(tofu_queue_report_glance(self->queue, other,
					   &(struct tofu_report){ 0 }),
		  TOFU_UNCLEAR);
	EXPECT_EQ(tofu_queue_reports_locked(self->queue, other), 0);
	/* It is in the inbox by now, where a glance does not look. */
	EXPECT_EQ(report_glance(self), TOFU_UNCLEAR);
	EXPECT_TRUE(report_read(self));
	tofu_lane_close(self->queue, other);
}

TEST_F(direct, glances_follow_the_ring_around)
{
	for (uint64_t i = 0; i < 3 * ENTRIES; i++) {
		device.page.toq_head = i;
		put(self, 1, TCQ, 1);
		ASSERT_TRUE(was_direct(self));
		report(i);
		/* The last of each quarter is to be told. */
		if (i % (ENTRIES / 4) == ENTRIES / 4 - 1) {
			ASSERT_EQ(report_glance(self), TOFU_UNCLEAR);
			ASSERT_TRUE(report_read(self));
			ASSERT_EQ(device.page.tcq_read, i + 1);
			ASSERT_EQ(report_glance(self), TOFU_NOTHING);
		} else {
			ASSERT_EQ(report_glance(self), TOFU_FOUND);
		}
	}
}

/* Looks, and takes what is found. */
static enum tofu_glance notice_glance(SELF *self)
{
	const struct tofu_mrq_entry *next;
	enum tofu_glance glance;
	__u64 ctrl;

	glance = tofu_queue_notice_glance(self->queue, self->lane, &next,
					  &ctrl);
	if (glance != TOFU_FOUND)
		return glance;
	return tofu_queue_notice_take(self->queue, self->lane, ctrl,
				      tofu_mrq_tag(ctrl, next->route)) ?
		       TOFU_FOUND : TOFU_UNCLEAR;
}

TEST_F(direct, a_glance_takes_a_notice)
{
	EXPECT_EQ(notice_glance(self), TOFU_NOTHING);
	put(self, 1, LCL, 1);
	notice(TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	EXPECT_EQ(notice_glance(self), TOFU_FOUND);
	put(self, 1, LCL, 2);
	EXPECT_TRUE(was_usual(self));
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_OK);
	EXPECT_EQ(notice_glance(self), TOFU_FOUND);
	EXPECT_EQ(notice_glance(self), TOFU_FOUND);
	put(self, 1, LCL, 3);
	EXPECT_TRUE(was_direct(self));
	EXPECT_EQ(notice_glance(self), TOFU_UNCLEAR);
	EXPECT_FALSE(notice_read(self));
	EXPECT_EQ(device.page.mrq_full_pointer, 3);
	EXPECT_EQ(notice_glance(self), TOFU_NOTHING);
}

TEST_F(direct, a_glance_leaves_errors_and_what_is_another_lanes)
{
	struct tofu_lane *other;

	ASSERT_EQ(tofu_lane_open(self->queue, TOFU_LANE_ANONYMOUS, &other), 0);
	notice(TOFU_MRQ_LCL_PUT, TOFU_ST_PEER);
	EXPECT_EQ(notice_glance(self), TOFU_UNCLEAR);
	EXPECT_TRUE(notice_read(self));
	notice(TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
	device.mrq_ring[1].route = TOFU_SET(
		TOFU_ROUTE_TAG, other->number << TOFU_TAG_RMT_SHIFT |
					self->lane->number);
	EXPECT_EQ(notice_glance(self), TOFU_UNCLEAR);
	EXPECT_FALSE(notice_read(self));
	EXPECT_EQ(tofu_queue_notices_locked(self->queue, other), 1);
	tofu_lane_close(self->queue, other);
}

TEST_F(direct, glances_at_notices_follow_the_ring_around)
{
	for (uint64_t i = 0; i < 3 * ENTRIES; i++) {
		notice(TOFU_MRQ_RMT_PUT, TOFU_ST_OK);
		if (i % (ENTRIES / 4) == ENTRIES / 4 - 1) {
			ASSERT_EQ(notice_glance(self), TOFU_UNCLEAR);
			ASSERT_TRUE(notice_read(self));
			ASSERT_EQ(device.page.mrq_full_pointer, i + 1);
			ASSERT_EQ(notice_glance(self), TOFU_NOTHING);
		} else {
			ASSERT_EQ(notice_glance(self), TOFU_FOUND);
		}
	}
}

/* ---- Marks ---- */

TEST_F(direct, marks_are_stored_where_there_is_a_queue)
{
	tofu_mark(TOFU_MARK_NAME("early"));
	tofu_mark_open(self->queue);
	tofu_mark(TOFU_MARK_NAME("unpacking"));
	EXPECT_EQ(memcmp(&device.kick[TOFU_KICK_MARK / 8], "unpackin", 8), 0);
	tofu_mark(TOFU_MARK_NAME("a"));
	EXPECT_EQ(memcmp(&device.kick[TOFU_KICK_MARK / 8], "a\0\0\0\0\0\0\0",
			 8), 0);
	tofu_mark(TOFU_MARK_END);
	EXPECT_EQ(device.kick[TOFU_KICK_MARK / 8], 0);
	tofu_mark_close(self->queue);
	tofu_mark(TOFU_MARK_NAME("late"));
	EXPECT_EQ(device.kick[TOFU_KICK_MARK / 8], 0);
}

TEST_F(direct, marks_are_not_stored_where_there_is_no_trace)
{
	device.cq.mark = NULL;
	tofu_mark_open(self->queue);
	tofu_mark(TOFU_MARK_NAME("pack"));
	EXPECT_EQ(device.kick[TOFU_KICK_MARK / 8], 0);
	tofu_mark_close(self->queue);
}

TEST_F(direct, a_child_marks_nothing)
{
	tofu_mark_open(self->queue);
	tofu_mark_forked();
	tofu_mark(TOFU_MARK_NAME("child"));
	EXPECT_EQ(device.kick[TOFU_KICK_MARK / 8], 0);
}

TEST_HARNESS_MAIN
