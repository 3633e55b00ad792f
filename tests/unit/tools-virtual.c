// SPDX-License-Identifier: MIT
/*
 * Virtual time as tools see it, on a port whose time passes only in calls, and
 * on one whose time is the host's.
 */
#include <string.h>

#include "harness.h"
#include "port/port.h"
#include "utofu/instance.h"

#include "common/phase.h"
#include "common/stats.h"
#include "common/virtual.h"

#define ITERATIONS 64
#define PHASE_MAX 256 /* ns */
#define STARTS 100 /* ns */

static uint64_t clock_ns = 1000;

static uint64_t now_in_calls(struct tofu_port_dev *port)
{
	(void)port;
	return clock_ns;
}

static void spend_in_calls(struct tofu_port_dev *port, uint64_t ns)
{
	(void)port;
	clock_ns += ns;
}

static void stamps_in_calls(struct tofu_port_cq *cq,
			    uint64_t stamp[TOFU_CQ_STAMPS])
{
	(void)cq;
	for (unsigned int i = 0; i < TOFU_CQ_STAMPS; i++)
		stamp[i] = clock_ns + i;
}

FIXTURE(tool)
{
	const struct tofu_port_ops *real;
	struct tofu_port_ops ops;
	utofu_vcq_hdl_t vcq;
};

FIXTURE_SETUP(tool)
{
	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	self->real = tofu_instance()->port->ops;
	self->ops = *self->real;
	self->ops.now = now_in_calls;
	self->ops.spend = spend_in_calls;
	self->ops.stamps = stamps_in_calls;
}

FIXTURE_TEARDOWN(tool)
{
	tofu_instance()->port->ops = self->real;
	utofu_free_vcq(self->vcq);
	tofu_instance_close();
}

static void simulate(FIXTURE_DATA(tool) *self)
{
	tofu_instance()->port->machine = "fx100";
	tofu_instance()->port->ops = &self->ops;
}

TEST_F(tool, has_no_virtual_time_on_emu)
{
	char name[TOFU_VIRTUAL_MACHINE];
	uint64_t began = tofu_now();

	EXPECT_FALSE(tofu_virtual_find());
	EXPECT_FALSE(tofu_virtual());
	EXPECT_FALSE(tofu_virtual_runs());
	EXPECT_FALSE(tofu_virtual_machine(name));
	EXPECT_GE(tofu_now(), began);
}

TEST_F(tool, has_the_librarys_clock_where_time_passes_in_calls)
{
	char name[TOFU_VIRTUAL_MACHINE];

	simulate(self);
	EXPECT_TRUE(tofu_virtual_find());
	EXPECT_TRUE(tofu_virtual());
	EXPECT_FALSE(tofu_virtual_runs());
	ASSERT_TRUE(tofu_virtual_machine(name));
	EXPECT_STREQ("fx100", name);
	EXPECT_EQ(tofu_now(), 1000);
}

TEST_F(tool, spends_the_phases_of_its_polls)
{
	uint64_t began = clock_ns;
	bool differ = false;
	uint64_t first = 0;

	/* None without virtual time */
	tofu_phase(0, 0);
	EXPECT_EQ(clock_ns, began);
	simulate(self);
	ASSERT_TRUE(tofu_virtual_find());
	for (uint64_t i = 0; i < ITERATIONS; i++) {
		began = clock_ns;
		tofu_phase(3, i);
		EXPECT_LT(clock_ns - began, PHASE_MAX);
		differ |= i && clock_ns - began != first;
		first = clock_ns - began;
	}
	EXPECT_TRUE(differ);
}

TEST(start_times_follow_from_seed_node_and_number)
{
	const struct tofu_starts starts = { .ns = STARTS, .seed = 5 };
	const struct tofu_starts others = { .ns = STARTS, .seed = 6 };
	unsigned int same_node = 0, same_seed = 0, late = 0;

	for (uint64_t i = 0; i < ITERATIONS; i++) {
		uint64_t ns = tofu_start_ns(&starts, 3, i);

		EXPECT_LE(ns, STARTS);
		EXPECT_EQ(ns, tofu_start_ns(&starts, 3, i));
		same_node += ns == tofu_start_ns(&starts, 4, i);
		same_seed += ns == tofu_start_ns(&others, 3, i);
		late += ns > STARTS / 2;
	}
	EXPECT_LT(same_node, ITERATIONS / 4);
	EXPECT_LT(same_seed, ITERATIONS / 4);
	EXPECT_GT(late, ITERATIONS / 4);
	EXPECT_LT(late, 3 * ITERATIONS / 4);
}

TEST_F(tool, waits_for_its_start_in_virtual_time)
{
	const struct tofu_starts starts = { .ns = STARTS, .seed = 1 };
	const struct tofu_starts none = { .ns = 0, .seed = 1 };
	uint64_t began;

	simulate(self);
	ASSERT_TRUE(tofu_virtual_find());
	for (uint64_t i = 0; i < ITERATIONS; i++) {
		began = clock_ns;
		tofu_start_wait(&none, 2, i);
		EXPECT_EQ(clock_ns, began);
		tofu_start_wait(&starts, 2, i);
		EXPECT_EQ(clock_ns - began, tofu_start_ns(&starts, 2, i));
	}
}

TEST_F(tool, has_the_librarys_stamps)
{
	struct tofu_stamps stamps;
	char *why = NULL;

	simulate(self);
	ASSERT_TRUE(tofu_virtual_find());
	ASSERT_EQ(tofu_stamps_open(&stamps, self->vcq, 0, 0, &why), 0);
	for (int i = 0; i < TOFU_CQ_STAMPS; i++)
		EXPECT_EQ(tofu_stamp(&stamps, (enum tofu_cq_stamp)i),
			  1000 + (uint64_t)i);
	tofu_stamps_close(&stamps);
}

TEST_HARNESS_MAIN
