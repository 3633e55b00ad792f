// SPDX-License-Identifier: MIT
/*
 * Controllers in virtual time whose software enables a first queue or gate: it
 * takes a while until it acts.
 */
#include "harness.h"

#include "icc-clock.h"
#include "icc-mesh.h"
#include "icc/internal.h"

#define START 1000
#define QUIET 5000

FIXTURE(quiet)
{
	struct net *net;
	struct icc *icc;
	struct cq *cq;
	struct transfer nop;
};

FIXTURE_SETUP(quiet)
{
	self->net = clock_create("6", &toy);
	self->icc = self->net->node[0].icc;
	self->cq = cq_create(self->net, 0, 0, 3);
	self->nop = (struct transfer){ .cmd = TOFU_CMD_NOP, .cq = self->cq };
	clock_run_until(self->net, START);
}

FIXTURE_TEARDOWN(quiet)
{
	cq_destroy(self->cq);
	net_destroy(self->net);
}

TEST_F(quiet, the_first_queue_takes_its_time)
{
	uint64_t open;

	EXPECT_EQ(START, icc_takes_effect(self->icc, START));
	self->icc->quiet_ns = QUIET;
	cq_disable(self->cq);
	cq_enable(self->cq);
	open = START + QUIET;
	clock_run_until(self->net, START + 10);
	EXPECT_EQ(open, icc_takes_effect(self->icc, START + 10));
	clock_post(&self->nop);
	clock_run_until(self->net, START + 20);
	clock_post(&self->nop);
	clock_run_until(self->net, open + toy.doorbell_ns - 1);
	EXPECT_EQ(0, cq_reg(self->cq, TOFU_CQ_TOQ_HEAD));
	clock_run_until(self->net, open + toy.doorbell_ns);
	EXPECT_EQ(2, cq_reg(self->cq, TOFU_CQ_TOQ_HEAD));
	clock_run(self->net);
	EXPECT_EQ(clock_now(self->net),
		  icc_takes_effect(self->icc,
				   clock_now(self->net)));
}

TEST_F(quiet, a_further_queue_acts_at_once)
{
	struct icc *icc = self->icc;
	struct cq *more;

	icc->quiet_ns = QUIET;
	more = cq_create(self->net, 0, 2, 3);
	EXPECT_EQ(START, icc_takes_effect(icc, START));
	cq_disable(more);
	cq_disable(more);
	cq_destroy(more);
	EXPECT_EQ(START, icc_takes_effect(icc, START));
	EXPECT_EQ(1, icc->open);
	icc_reset(icc);
	EXPECT_EQ(START + QUIET, icc_takes_effect(icc, START));
	EXPECT_EQ(UINT64_MAX, icc_takes_effect(icc, UINT64_MAX - 1));
	EXPECT_EQ(0, icc->open);
}

TEST_F(quiet, the_first_gate_takes_its_time)
{
	static const uint64_t one[TOFU_REDUCE_WORDS] = { 1 };
	const uint64_t barrier = toy.doorbell_ns + toy.fetch_ns + toy.write_ns;
	struct mesh *mesh = mesh_create(self->net, 2);

	cq_disable(self->cq);
	self->icc->quiet_ns = QUIET;
	EXPECT_EQ(START + QUIET, icc_takes_effect(self->icc, START));
	mesh_enable(mesh);
	mesh_start(mesh, 0, TOFU_REDUCE_SUM, 1, one);
	clock_run_until(self->net, START + QUIET + barrier - 1);
	EXPECT_EQ(0, mesh_ended(mesh, 0));
	clock_run_until(self->net, START + QUIET + barrier);
	EXPECT_EQ(1, mesh_ended(mesh, 0));
	mesh_start(mesh, 0, TOFU_REDUCE_SUM, 1, one);
	clock_run_until(self->net, START + QUIET + 2 * barrier);
	EXPECT_EQ(2, mesh_ended(mesh, 0));
	mesh_destroy(mesh);
}

TEST_HARNESS_MAIN
