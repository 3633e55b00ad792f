// SPDX-License-Identifier: MIT
/*
 * Barriers that a node leaves: it goes, or its gates go while it lives and the
 * others ask for them.
 */
#include "harness.h"

#include "icc-mesh.h"

#define NODES 16

FIXTURE(gates)
{
	struct net *net;
	struct mesh *mesh;
};

FIXTURE_SETUP(gates)
{
	self->net = net_create("4x4", 2, &by_reference);
	self->mesh = mesh_create(self->net, 1);
}

FIXTURE_TEARDOWN(gates)
{
	mesh_destroy(self->mesh);
	net_destroy(self->net);
}

static const struct gate channel0 = { 0, 0 };

static uint64_t reg_of(struct mesh *mesh, uint32_t node, unsigned int reg)
{
	return icc_reg_read(mesh->net->node[node].icc, reg, 8);
}

/* ---- Nodes that go ---- */

TEST_F(gates, a_node_that_goes_is_an_error_of_all_others)
{
	for (unsigned int m = 0; m < MESHES; m++) {
		for (uint32_t gone = 0; gone < 7; gone++) {
			for (uint32_t i = 0; i < NODES; i++)
				self->net->node[i].down = false;
			mesh_rebuild(&self->mesh, mesh_all[m], 7);
			for (uint32_t i = 0; i < 7; i++) {
				if (i != gone)
					mesh_barrier(self->mesh, i);
			}
			for (uint32_t i = (m + gone) % 4; i; i--)
				net_step(self->net);
			net_down(self->net, gone);
			for (uint32_t round = 1; round < 4; round++) {
				net_run(self->net);
				for (uint32_t i = 0; i < 7; i++) {
					if (i == gone)
						continue;
					ASSERT_EQ(round,
						  mesh_ended(self->mesh, i));
					ASSERT_EQ(TOFU_BARRIER_OTHER,
						  mesh_status(self->mesh, i));
					mesh_barrier(self->mesh, i);
				}
			}
		}
	}
}

TEST_F(gates, what_came_before_its_node_went_counts)
{
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	net_down(self->net, 0);
	net_run(self->net);
	for (uint32_t round = 0; round < 3; round++) {
		mesh_barrier(mesh, 1);
		net_run(self->net);
		EXPECT_EQ(round + 1, mesh_ended(mesh, 1));
		EXPECT_EQ(round ? TOFU_BARRIER_OTHER : TOFU_BARRIER_OK,
			  mesh_status(mesh, 1));
	}
}

TEST_F(gates, a_partner_that_was_gone_before_is_found_by_sending)
{
	struct mesh *mesh = self->mesh;

	net_down(self->net, 1);
	mesh_pair(mesh);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	EXPECT_EQ(1, mesh_ended(mesh, 0));
	EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(mesh, 0));
}

/* ---- Gates that go while their node lives ---- */

static void disable_node(struct mesh *mesh, uint32_t node)
{
	for (unsigned int g = 0; g < TOFU_GATES; g++)
		gate_set(mesh, (struct gate){ node, g }, TOFU_GATE_CTRL, 0);
}

/* All but node @but poll their channels at @now, and questions are answered. */
static void poll_all(struct mesh *mesh, uint32_t count, uint32_t but,
		     uint64_t now)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i != but)
			icc_channel_poll(mesh->net->node[i].icc, mesh->tni, 0,
					 now);
	}
	net_run(mesh->net);
}

TEST_F(gates, gates_that_go_are_an_error_of_all_others)
{
	const uint64_t begun = 7000000;

	for (unsigned int m = 0; m < MESHES; m++) {
		for (uint32_t gone = 0; gone < 7; gone++) {
			mesh_rebuild(&self->mesh, mesh_all[m], 7);
			for (uint32_t i = 0; i < 7; i++) {
				if (i != gone)
					mesh_barrier(self->mesh, i);
			}
			net_run(self->net);
			disable_node(self->mesh, gone);
			poll_all(self->mesh, 7, gone, begun);
			poll_all(self->mesh, 7, gone, begun + TOFU_ASK_NS - 1);
			for (uint32_t i = 0; i < 7; i++)
				ASSERT_EQ(0, mesh_ended(self->mesh, i));
			poll_all(self->mesh, 7, gone, begun + TOFU_ASK_NS);
			for (uint32_t i = 0; i < 7; i++) {
				if (i == gone)
					continue;
				ASSERT_EQ(1, mesh_ended(self->mesh, i));
				ASSERT_EQ(TOFU_BARRIER_OTHER,
					  mesh_status(self->mesh, i));
			}
		}
	}
}

TEST_F(gates, a_source_that_is_only_late_is_not_lost)
{
	uint64_t now = 1;

	for (unsigned int m = 0; m < MESHES; m++) {
		for (uint32_t late = 0; late < 7; late++) {
			mesh_rebuild(&self->mesh, mesh_all[m], 7);
			for (uint32_t i = 0; i < 7; i++) {
				if (i != late)
					mesh_barrier(self->mesh, i);
			}
			for (int i = 0; i < 5; i++, now += TOFU_ASK_NS)
				poll_all(self->mesh, 7, late, now);
			mesh_barrier(self->mesh, late);
			net_run(self->net);
			for (uint32_t i = 0; i < 7; i++) {
				ASSERT_EQ(1, mesh_ended(self->mesh, i));
				ASSERT_EQ(TOFU_BARRIER_OK,
					  mesh_status(self->mesh, i));
			}
		}
	}
}

/* Its number is that of another group's by now, or leads elsewhere. */
TEST_F(gates, a_source_that_was_set_anew_for_others_is_lost)
{
	static const struct {
		unsigned int reg;
		uint64_t change;
	} anew[] = {
		{ TOFU_GATE_GPID, 1 },
		{ TOFU_GATE_DST_RMT, 1ULL << 28 /* TNI */ },
		{ TOFU_GATE_DST_RMT, 1ULL << 32 /* gate */ },
		{ TOFU_GATE_DST_RMT, 1 /* X */ },
		{ TOFU_GATE_DST_RMT, 1ULL << 63 /* valid */ },
	};

	for (unsigned int i = 0; i < 5; i++) {
		struct mesh *mesh = self->mesh;
		uint64_t was;

		mesh_pair(mesh);
		mesh_barrier(mesh, 1);
		net_run(self->net);
		was = gate_reg(mesh, channel0, anew[i].reg);
		gate_set(mesh, channel0, TOFU_GATE_CTRL, 0);
		gate_set(mesh, channel0, anew[i].reg, was ^ anew[i].change);
		gate_set(mesh, channel0, TOFU_GATE_CTRL, 1);
		poll_all(mesh, 2, 0, 1);
		EXPECT_EQ(0, mesh_ended(mesh, 1));
		poll_all(mesh, 2, 0, 1 + TOFU_ASK_NS);
		EXPECT_EQ(1, mesh_ended(mesh, 1));
		EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(mesh, 1));
		mesh_disable(mesh);
		mesh_destroy(mesh);
		self->mesh = mesh_create(self->net, 1);
	}
}

/* The second barrier starts its own clock. */
TEST_F(gates, nothing_is_asked_before_a_barrier_has_waited)
{
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh);
	for (unsigned int round = 1; round < 4; round++) {
		mesh_barrier(mesh, 1);
		poll_all(mesh, 2, 0, 1);
		poll_all(mesh, 2, 0, TOFU_ASK_NS);
		mesh_barrier(mesh, 0);
		net_run(self->net);
		EXPECT_EQ(round, mesh_ended(mesh, 1));
		EXPECT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, 1));
	}
	mesh_barrier(mesh, 1);
	net_run(self->net);
	disable_node(mesh, 0);
	poll_all(mesh, 2, 0, 2 * TOFU_ASK_NS);
	poll_all(mesh, 2, 0, 3 * TOFU_ASK_NS - 1);
	EXPECT_EQ(3, mesh_ended(mesh, 1));
	icc_channel_poll(self->net->node[1].icc, 1, 0, 3 * TOFU_ASK_NS);
	net_run(self->net);
	EXPECT_EQ(4, mesh_ended(mesh, 1));
	/* None of these exists, or waits. */
	icc_channel_poll(self->net->node[1].icc, 1, 0, 9 * TOFU_ASK_NS);
	icc_channel_poll(self->net->node[1].icc, 1, 1, 1);
	icc_channel_poll(self->net->node[1].icc, 1, TOFU_CHANNELS, 1);
	icc_channel_poll(self->net->node[1].icc, 2, 0, 1);
	EXPECT_EQ(0, reg_of(mesh, 1, TOFU_REG_BAD_ACCESS));
}

TEST_F(gates, an_answer_to_an_earlier_question_counts_no_more)
{
	static const uint8_t payload[TOFU_SIGNAL_BYTES];
	struct tofu_packet answer = mesh_signal(self->mesh);
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh); /* for the first time */
	mesh_disable(mesh);
	mesh_enable(mesh);
	answer.flags = TOFU_PKT_F_ASK | TOFU_PKT_F_LAST;
	answer.status = TOFU_BARRIER_OTHER;
	mesh_barrier(mesh, 1);
	for (unsigned int number = 0; number < 4; number++) {
		answer.operand = number == 2 ? 3 : number;
		net_send(self->net, 1, &answer, payload);
		net_run(self->net);
		EXPECT_EQ(0, mesh_ended(mesh, 1));
	}
	answer.operand = 2;
	answer.src = 2; /* not its source */
	net_send(self->net, 1, &answer, payload);
	net_run(self->net);
	EXPECT_EQ(0, mesh_ended(mesh, 1));
	EXPECT_EQ(1, reg_of(mesh, 1, TOFU_REG_BAD_PACKETS));
	answer.src = 0;
	net_send(self->net, 1, &answer, payload);
	net_run(self->net);
	EXPECT_EQ(1, mesh_ended(mesh, 1));
	EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(mesh, 1));
}

TEST_HARNESS_MAIN
