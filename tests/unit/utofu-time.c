/* SPDX-License-Identifier: MIT */
/*
 * The clock of a node and the stamps of its queues: on the emu port, which has
 * the host's time, and on ports that say that their time is virtual.
 */
#include <tofu/time.h>

#include "harness.h"
#include "port/soft.h"
#include "utofu/instance.h"

#define COMPUTED 1000000 /* ns */
#define PAST_COMPUTED 2500 /* ns, of a virtual clock */

FIXTURE(clock)
{
	const struct tofu_port_ops *real;
	struct tofu_port_ops ops;
	struct tofu_port_dev *port;
	utofu_vcq_hdl_t vcq;
};

/* The port of a node alone; a test can replace functions of it. */
FIXTURE_SETUP(clock)
{
	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	self->port = tofu_instance()->port;
	self->real = self->port->ops;
	self->ops = *self->real;
	self->port->ops = &self->ops;
}

FIXTURE_TEARDOWN(clock)
{
	self->port->ops = self->real;
	utofu_free_vcq(self->vcq);
	tofu_instance_close();
}

/* ---- The host's time ---- */

TEST_F(clock, is_the_hosts_on_emu)
{
	struct tofu_time_info info;
	uint64_t began = tofu_time();

	ASSERT_EQ(tofu_query_time(&info), UTOFU_SUCCESS);
	EXPECT_EQ(info.is_virtual, 0);
	EXPECT_EQ(info.in_calls, 0);
	EXPECT_STREQ(info.machine, "");
	EXPECT_NE(began, 0);
	EXPECT_GE(tofu_time(), began);
}

TEST_F(clock, moves_on_while_a_program_computes)
{
	uint64_t began = tofu_time();

	ASSERT_EQ(tofu_compute(COMPUTED), UTOFU_SUCCESS);
	EXPECT_GE(tofu_time() - began, COMPUTED);
	EXPECT_EQ(tofu_compute(0), UTOFU_SUCCESS);
}

TEST_F(clock, refuses_what_it_cannot_write_to)
{
	uint64_t stamp[TOFU_STAMPS];

	EXPECT_EQ(tofu_query_time(NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_query_stamps(self->vcq, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_query_stamps(self->vcq + 1, stamp),
		  UTOFU_ERR_INVALID_VCQ_HDL);
}

TEST_F(clock, has_no_stamps_without_virtual_time)
{
	uint64_t stamp[TOFU_STAMPS];

	EXPECT_EQ(tofu_query_stamps(self->vcq, stamp),
		  UTOFU_ERR_NOT_AVAILABLE);
	/* Not even where the port can read the registers */
	self->ops.stamps = tofu_soft_stamps;
	EXPECT_EQ(tofu_query_stamps(self->vcq, stamp),
		  UTOFU_ERR_NOT_AVAILABLE);
}

TEST_F(clock, is_nothing_without_an_interconnect)
{
	struct tofu_time_info info;

	self->port->ops = self->real;
	tofu_instance_close();
	setenv("TOFU_PORT", "none", 1);
	EXPECT_EQ(tofu_query_time(&info), UTOFU_ERR_NOT_AVAILABLE);
	EXPECT_EQ(tofu_compute(1), UTOFU_ERR_NOT_AVAILABLE);
	EXPECT_EQ(tofu_time(), 0);
	/* For the teardown */
	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	self->port = tofu_instance()->port;
}

/* ---- Virtual time ---- */

static uint64_t virtual_ns = 100;

static uint64_t now_virtual(struct tofu_port_dev *port)
{
	(void)port;
	return virtual_ns;
}

static void spend_virtual(struct tofu_port_dev *port, uint64_t ns)
{
	(void)port;
	virtual_ns += ns;
}

TEST_F(clock, is_virtual_where_the_port_has_a_machine)
{
	struct tofu_time_info info;

	self->ops.now = now_virtual;
	self->ops.spend = spend_virtual;
	self->port->machine = "fugaku";
	ASSERT_EQ(tofu_query_time(&info), UTOFU_SUCCESS);
	EXPECT_EQ(info.is_virtual, 1);
	EXPECT_EQ(info.in_calls, 1);
	EXPECT_STREQ(info.machine, "fugaku");
	EXPECT_EQ(tofu_time(), 100);
	ASSERT_EQ(tofu_compute(PAST_COMPUTED), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_time(), 100 + PAST_COMPUTED);
}

static bool shared_found(struct tofu_port_dev *port, uint64_t *now)
{
	port->machine = "a machine with a long name";
	*now = 7;
	return true;
}

static bool shared_missing(struct tofu_port_dev *port, uint64_t *now)
{
	(void)port;
	(void)now;
	return false;
}

TEST_F(clock, can_be_another_one_than_that_of_the_port)
{
	struct tofu_time_info info;

	self->ops.shared = shared_found;
	ASSERT_EQ(tofu_query_time(&info), UTOFU_SUCCESS);
	EXPECT_EQ(info.is_virtual, 1);
	EXPECT_EQ(info.in_calls, 0);
	EXPECT_STREQ(info.machine, "a machine with ");
	EXPECT_EQ(tofu_time(), 7);
}

TEST_F(clock, is_that_of_the_port_where_there_is_no_other)
{
	struct tofu_time_info info;

	self->ops.now = now_virtual;
	self->ops.shared = shared_missing;
	ASSERT_EQ(tofu_query_time(&info), UTOFU_SUCCESS);
	EXPECT_EQ(info.is_virtual, 0);
	EXPECT_EQ(tofu_time(), 100);
}

TEST_F(clock, has_the_stamps_of_the_queues_registers)
{
	uint64_t stamp[TOFU_STAMPS];

	for (int i = 0; i < TOFU_STAMPS; i++)
		stamp[i] = UINT64_MAX;
	self->ops.stamps = tofu_soft_stamps;
	self->port->machine = "k";
	ASSERT_EQ(tofu_query_stamps(self->vcq, stamp), UTOFU_SUCCESS);
	/* A controller without a clock keeps none. */
	for (int i = 0; i < TOFU_STAMPS; i++)
		EXPECT_EQ(stamp[i], 0);
}

TEST_HARNESS_MAIN
