// SPDX-License-Identifier: MIT
/*
 * Barrier gates without time: barriers and reductions over up to 16 nodes by
 * several networks of gates, and their behaviour on errors.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "icc-mesh.h"
#include "icc/reduce.h"

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

static uint64_t random_state = 1;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static const struct gate channel0 = { 0, 0 }, channel1 = { 1, 0 };

static uint64_t state(struct mesh *mesh, struct gate gate)
{
	return gate_reg(mesh, gate, TOFU_GATE_STATE);
}

static uint64_t dropped(struct mesh *mesh, uint32_t node)
{
	return icc_reg_read(mesh->net->node[node].icc, TOFU_REG_BAD_PACKETS, 8);
}

static uint64_t wrong_accesses(struct mesh *mesh, uint32_t node)
{
	return icc_reg_read(mesh->net->node[node].icc, TOFU_REG_BAD_ACCESS, 8);
}

/* ---- Registers ---- */

TEST_F(gates, the_controller_says_that_it_has_gates)
{
	const uint64_t caps = icc_reg_read(self->net->node[0].icc,
					   TOFU_REG_CAPS, 8);

	EXPECT_EQ(TOFU_GATES, TOFU_GET(caps, TOFU_CAPS_GATES));
}

TEST_F(gates, settings_are_written_while_a_gate_is_disabled)
{
	struct mesh *mesh = self->mesh;
	const struct gate gate = { 3, 20 };

	for (unsigned int reg = TOFU_GATE_SRC_LCL; reg <= TOFU_GATE_CHANNEL;
	     reg += 8) {
		EXPECT_EQ(0, gate_reg(mesh, gate, reg));
		gate_set(mesh, gate, reg, 8);
		EXPECT_EQ(8, gate_reg(mesh, gate, reg));
		gate_set(mesh, gate, reg, 0);
	}
	gate_set(mesh, gate, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
	EXPECT_EQ(TOFU_GATE_CTRL_ENABLE, gate_reg(mesh, gate, TOFU_GATE_CTRL));
	EXPECT_EQ(0, wrong_accesses(mesh, 3));
	gate_set(mesh, gate, TOFU_GATE_GPID, 5);
	EXPECT_EQ(0, gate_reg(mesh, gate, TOFU_GATE_GPID));
	gate_set(mesh, gate, TOFU_GATE_STATE, 1);
	EXPECT_EQ(2, wrong_accesses(mesh, 3));
	EXPECT_EQ(UINT64_MAX, gate_reg(mesh, (struct gate){ 3, TOFU_GATES },
				       TOFU_GATE_CTRL));
	EXPECT_EQ(3, wrong_accesses(mesh, 3));
}

TEST_F(gates, wrong_settings_leave_a_gate_disabled)
{
	static const struct {
		unsigned int gate, reg;
		uint64_t value;
	} wrong[] = {
		{ 0, TOFU_GATE_CHANNEL, 64 },
		{ TOFU_CHANNELS, TOFU_GATE_CHANNEL, 128 },
		{ 1, TOFU_GATE_GPID, 0x10000 },
		{ 1, TOFU_GATE_SRC_LCL, 1ULL << 63 | 48ULL << 32 },
		{ 1, TOFU_GATE_SRC_LCL, 1ULL << 63 | 1 },
		{ 1, TOFU_GATE_DST_LCL, 1ULL << 63 | 255ULL << 32 },
		{ 1, TOFU_GATE_SRC_RMT, 1ULL << 63 | 48ULL << 32 },
		{ 1, TOFU_GATE_DST_RMT, 1ULL << 63 | 4 }, /* X */
		{ 1, TOFU_GATE_SRC_RMT, 1ULL << 63 | 1ULL << 24 }, /* A */
		{ 1, TOFU_GATE_DST_RMT, 1ULL << 63 | 6ULL << 28 }, /* TNI */
		{ 1, TOFU_GATE_DST_RMT, 1ULL << 63 | 1ULL << 31 },
		{ 1, TOFU_GATE_DST_RMT, 1ULL << 63 | 1ULL << 44 },
		{ 1, TOFU_GATE_DST_RMT, 1ULL << 63 | 6ULL << 40 }, /* B */
		{ 1, TOFU_GATE_SRC_RMT, 1ULL << 63 | 15ULL << 40 },
	};
	struct mesh *mesh = self->mesh;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct gate gate = { 0, wrong[i].gate };

		gate_set(mesh, gate, wrong[i].reg, wrong[i].value);
		gate_set(mesh, gate, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
		EXPECT_EQ(0, gate_reg(mesh, gate, TOFU_GATE_CTRL));
		gate_set(mesh, gate, wrong[i].reg, wrong[i].value << 1 >> 1);
		if (wrong[i].value >> 63)
			gate_set(mesh, gate, TOFU_GATE_CTRL,
				 TOFU_GATE_CTRL_ENABLE);
		EXPECT_EQ(wrong[i].value >> 63,
			  gate_reg(mesh, gate, TOFU_GATE_CTRL));
		gate_set(mesh, gate, TOFU_GATE_CTRL, 0);
		gate_set(mesh, gate, wrong[i].reg, 0);
	}
}

/* ---- Barriers ---- */

TEST_F(gates, nobody_leaves_before_the_last_one_enters)
{
	for (unsigned int m = 0; m < MESHES; m++) {
		for (uint32_t n = 2; n <= NODES; n++) {
			const uint32_t late = draw() % n;

			mesh_rebuild(&self->mesh, mesh_all[m], n);
			for (uint32_t round = 1; round < 4; round++) {
				for (uint32_t i = 0; i < n; i++) {
					if (i != late)
						mesh_barrier(self->mesh, i);
				}
				net_run(self->net);
				for (uint32_t i = 0; i < n; i++)
					ASSERT_EQ(round - 1,
						  mesh_ended(self->mesh, i));
				mesh_barrier(self->mesh, late);
				net_run(self->net);
				for (uint32_t i = 0; i < n; i++) {
					ASSERT_EQ(round,
						  mesh_ended(self->mesh, i));
					ASSERT_EQ(TOFU_BARRIER_OK,
						  mesh_status(self->mesh, i));
				}
			}
		}
	}
}

TEST_F(gates, a_barrier_of_one_gives_back_its_own)
{
	static const uint64_t operand[] = { 7, 8, 9, 10, 11, 12 };
	struct mesh *mesh = self->mesh;

	mesh_enable(mesh);
	mesh_start(mesh, 0, TOFU_REDUCE_SUM, 4, operand);
	EXPECT_EQ(1, TOFU_GET(state(mesh, channel0), TOFU_GATE_STATE_BEGUN));
	net_run(self->net);
	EXPECT_EQ(0, TOFU_GET(state(mesh, channel0), TOFU_GATE_STATE_BEGUN));
	EXPECT_EQ(1, TOFU_GET(state(mesh, channel0), TOFU_GATE_STATE_FIRED));
	EXPECT_EQ(1, mesh_ended(mesh, 0));
	for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++)
		EXPECT_EQ(i < 4 ? operand[i] : 0, mesh_block(mesh, 0)->result[i]);
}

/* ---- Reductions ---- */

static unsigned int draw_count(unsigned int op)
{
	unsigned int count;

	do {
		count = draw() % (TOFU_REDUCE_WORDS + 1);
	} while (!icc_reduce_known(op, count));
	return count;
}

static void draw_operand(unsigned int op, uint64_t *operand)
{
	for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++) {
		operand[i] = draw();
		if (op == TOFU_REDUCE_BFPSUM) /* finite */
			operand[i] &= ~(0x80ULL << 52);
		if (op == TOFU_REDUCE_MAXLOC)
			operand[i] %= 4;
	}
}

/* struct round - a reduction of all nodes, and its expected result */
struct round {
	unsigned int op, count;
	uint64_t operand[NODES][TOFU_REDUCE_WORDS];
	uint64_t result[TOFU_REDUCE_WORDS];
};

static void draw_round(struct round *round, uint32_t nodes)
{
	uint64_t sum[TOFU_REDUCE_WORDS], word[TOFU_REDUCE_WORDS];

	round->op = TOFU_REDUCE_BARRIER + draw() % 8;
	round->count = draw_count(round->op);
	for (uint32_t i = 0; i < nodes; i++) {
		draw_operand(round->op, round->operand[i]);
		if (!icc_reduce_load(round->op, round->count,
				     round->operand[i], i ? word : sum) ||
		    (i && !icc_reduce_merge(round->op, round->count, sum,
					    word)))
			abort();
	}
	icc_reduce_store(round->op, round->count, sum, round->result);
}

#define RACE_ROUNDS 40

/* Every node continues as soon as it can, without waiting for the others. */
static void race(struct harness_test *_metadata, struct mesh *mesh,
		 uint32_t nodes)
{
	static struct round round[RACE_ROUNDS];
	uint32_t at[NODES] = { 0 }, left = nodes;

	for (unsigned int i = 0; i < RACE_ROUNDS; i++)
		draw_round(&round[i], nodes);
	for (uint32_t i = 0; i < nodes; i++)
		mesh_start(mesh, i, round[0].op, round[0].count,
			   round[0].operand[i]);
	while (left) {
		const uint32_t i = draw() % nodes;
		const struct round *r = &round[at[i]];

		if (draw() % 8 == 0)
			net_step(mesh->net);
		if (at[i] == RACE_ROUNDS || mesh_ended(mesh, i) != at[i] + 1)
			continue;
		ASSERT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, i));
		ASSERT_EQ(0, memcmp(r->result, mesh_block(mesh, i)->result,
				    sizeof(r->result)));
		if (++at[i] == RACE_ROUNDS)
			left--;
		else
			mesh_start(mesh, i, r[1].op, r[1].count,
				   r[1].operand[i]);
	}
}

TEST_F(gates, all_nodes_get_the_result_by_any_network)
{
	for (unsigned int m = 0; m < MESHES; m++) {
		for (uint32_t n = 2; n <= NODES; n++) {
			mesh_rebuild(&self->mesh, mesh_all[m], n);
			race(_metadata, self->mesh, n);
		}
	}
	EXPECT_EQ(0, self->net->node[0].misuses);
}

TEST_F(gates, full_queues_only_make_it_slower)
{
	for (uint32_t i = 0; i < NODES; i++)
		self->net->node[i].queue[TOFU_RESPONSE].room = 1;
	for (unsigned int m = 0; m < MESHES; m++) {
		mesh_rebuild(&self->mesh, mesh_all[m], 11);
		race(_metadata, self->mesh, 11);
	}
	EXPECT_EQ(0, self->net->node[0].misuses);
}

TEST_F(gates, a_gate_does_not_fire_before_its_signal_is_sent)
{
	struct mesh *mesh = self->mesh;
	const struct gate relay = mesh_relay(mesh, 0);

	mesh_link(mesh, channel0, relay);
	mesh_link(mesh, relay, channel1);
	mesh_enable(mesh);
	self->net->node[1].queue[TOFU_RESPONSE].room = 0;
	for (unsigned int i = 0; i < 2; i++) {
		mesh_barrier(mesh, 0);
		net_run(self->net);
	}
	EXPECT_EQ(2, mesh_ended(mesh, 0));
	EXPECT_EQ(1, TOFU_GET(state(mesh, relay), TOFU_GATE_STATE_FIRED));
	EXPECT_EQ(1, TOFU_GET(state(mesh, relay), TOFU_GATE_STATE_LCL));
	self->net->node[1].queue[TOFU_RESPONSE].room = 1;
	net_run(self->net);
	EXPECT_EQ(2, TOFU_GET(state(mesh, relay), TOFU_GATE_STATE_FIRED));
	EXPECT_EQ(0, TOFU_GET(state(mesh, relay), TOFU_GATE_STATE_LCL));
}

TEST_F(gates, what_is_done_to_the_block_later_does_not_matter)
{
	static const uint64_t operand[] = { 3, 0, 0, 0, 0, 0 };
	struct mesh *mesh = self->mesh;

	mesh_rebuild(&self->mesh, mesh_butterfly, 2);
	mesh = self->mesh;
	mesh_start(mesh, 0, TOFU_REDUCE_SUM, 1, operand);
	net_run(self->net);
	memset(mesh_block(mesh, 0), 0xff, sizeof(struct tofu_channel));
	mesh_start(mesh, 1, TOFU_REDUCE_SUM, 1, operand);
	net_run(self->net);
	for (uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(1, mesh_ended(mesh, i));
		EXPECT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, i));
		EXPECT_EQ(6, mesh_block(mesh, i)->result[0]);
	}
}

/* ---- Errors of programs ---- */

/* All nodes end with an error; the next barrier ends without. */
static void one_differs(struct harness_test *_metadata, struct mesh *mesh,
			uint32_t odd, uint64_t command, unsigned int status)
{
	static const uint64_t operand[TOFU_REDUCE_WORDS] = { 1, 2, 3, 4, 5, 6 };
	const struct tofu_channel *block;

	for (uint32_t i = 0; i < 5; i++) {
		mesh_command(mesh, i, TOFU_REDUCE_SUM, 4, operand);
		memset(mesh_block(mesh, i)->result, 0x55, 48);
		if (i == odd)
			mesh_block(mesh, i)->command = command;
		icc_channel_start(mesh->net->node[i].icc, mesh->tni, 0);
	}
	net_run(mesh->net);
	for (uint32_t i = 0; i < 5; i++) {
		block = mesh_block(mesh, i);
		ASSERT_EQ(1, mesh_ended(mesh, i) % 2);
		ASSERT_EQ(status, mesh_status(mesh, i));
		for (unsigned int w = 0; w < TOFU_REDUCE_WORDS; w++)
			ASSERT_EQ(0, block->result[w]);
		mesh_start(mesh, i, TOFU_REDUCE_SUM, 4, operand);
	}
	net_run(mesh->net);
	for (uint32_t i = 0; i < 5; i++) {
		block = mesh_block(mesh, i);
		ASSERT_EQ(0, mesh_ended(mesh, i) % 2);
		ASSERT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, i));
		ASSERT_EQ(5 * operand[3], block->result[3]);
	}
}

TEST_F(gates, a_mismatch_reaches_all)
{
	for (unsigned int m = 0; m < MESHES; m++) {
		mesh_rebuild(&self->mesh, mesh_all[m], 5);
		for (uint32_t odd = 0; odd < 5; odd++) {
			one_differs(_metadata, self->mesh, odd,
				    TOFU_REDUCE_SUM | 5 << 8,
				    TOFU_BARRIER_MISMATCH);
			one_differs(_metadata, self->mesh, odd,
				    TOFU_REDUCE_MAX | 4 << 8,
				    TOFU_BARRIER_MISMATCH);
			one_differs(_metadata, self->mesh, odd,
				    TOFU_REDUCE_BARRIER,
				    TOFU_BARRIER_MISMATCH);
		}
	}
}

TEST_F(gates, a_mismatch_of_two_channels_that_signal_to_each_other_is_seen)
{
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh);
	mesh_start(mesh, 0, TOFU_REDUCE_MAX, 1, NULL);
	mesh_start(mesh, 1, TOFU_REDUCE_MAX, 2, NULL);
	net_run(self->net);
	EXPECT_EQ(TOFU_BARRIER_MISMATCH, mesh_status(mesh, 0));
	EXPECT_EQ(TOFU_BARRIER_MISMATCH, mesh_status(mesh, 1));
}

TEST_F(gates, a_bad_command_is_an_error_of_all)
{
	static const uint64_t bad[] = {
		0,
		TOFU_REDUCE_OPS | 1 << 8,
		255 | 1 << 8,
		TOFU_REDUCE_BARRIER | 1 << 8,
		TOFU_REDUCE_SUM,
		TOFU_REDUCE_SUM | 7 << 8,
		TOFU_REDUCE_SUM | 255 << 8,
		TOFU_REDUCE_MAXLOC | 3 << 8,
		TOFU_REDUCE_BFPSUM | 4 << 8,
		TOFU_REDUCE_SUM | 4 << 8 | 1 << 16,
		TOFU_REDUCE_SUM | 4 << 8 | 1ULL << 63,
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mesh_rebuild(&self->mesh, mesh_all[i % MESHES], 5);
		one_differs(_metadata, self->mesh, i % 5, bad[i],
			    TOFU_BARRIER_OTHER);
	}
	EXPECT_NE(0, self->net->node[0].misuses);
}

TEST_F(gates, a_double_that_is_not_finite_is_an_error_of_all)
{
	static const uint64_t nan[] = { 0, 0x7ff8ULL << 48, 0, 0, 0, 0 };

	mesh_rebuild(&self->mesh, mesh_ring, 3);
	for (uint32_t i = 0; i < 3; i++)
		mesh_start(self->mesh, i, TOFU_REDUCE_BFPSUM, 2,
			   i == 1 ? nan : NULL);
	net_run(self->net);
	for (uint32_t i = 0; i < 3; i++)
		EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(self->mesh, i));
}

TEST_F(gates, a_block_that_is_no_memory_is_an_error_of_the_others)
{
	struct net_node *node = &self->net->node[2];

	mesh_rebuild(&self->mesh, mesh_tree, 4);
	node->hole[node->holes++] = self->mesh->block[2] & ~4095ULL;
	for (uint32_t i = 0; i < 4; i++) {
		if (i != 2)
			mesh_barrier(self->mesh, i);
	}
	icc_channel_start(node->icc, 1, 0);
	net_run(self->net);
	for (uint32_t i = 0; i < 4; i++) {
		if (i != 2)
			EXPECT_EQ(TOFU_BARRIER_OTHER,
				  mesh_status(self->mesh, i));
	}
	EXPECT_EQ(2, node->misuses);
}

TEST_F(gates, starts_that_cannot_be_are_ignored)
{
	struct mesh *mesh = self->mesh;
	struct icc *icc = self->net->node[0].icc;

	icc_channel_start(icc, 1, 0); /* not enabled */
	mesh_pair(mesh);
	icc_channel_start(icc, 1, 1);
	icc_channel_start(icc, 1, TOFU_CHANNELS);
	icc_channel_start(icc, 2, 0);
	mesh_barrier(mesh, 0);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	mesh_barrier(mesh, 0);
	mesh_barrier(mesh, 1);
	net_run(self->net);
	EXPECT_EQ(1, mesh_ended(mesh, 0));
	EXPECT_EQ(1, mesh_ended(mesh, 1));
	EXPECT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, 1));
	net_run(self->net);
	EXPECT_EQ(0, TOFU_GET(state(mesh, channel1), TOFU_GATE_STATE_RMT));
}

TEST_F(gates, an_overrun_is_an_error)
{
	struct mesh *mesh = self->mesh;

	mesh_link(mesh, channel0, channel1);
	mesh_enable(mesh);
	for (unsigned int i = 0; i < 2; i++) {
		mesh_barrier(mesh, 0);
		net_run(self->net);
	}
	mesh_barrier(mesh, 1);
	net_run(self->net);
	EXPECT_EQ(1, mesh_ended(mesh, 1));
	EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(mesh, 1));
	mesh_barrier(mesh, 0);
	mesh_barrier(mesh, 1);
	net_run(self->net);
	EXPECT_EQ(2, mesh_ended(mesh, 1));
	EXPECT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, 1));
}

/* ---- Signals that are not meant ---- */

/* Two signals arrive before a gate takes a step. */
TEST_F(gates, gates_behind_each_other_keep_up)
{
	static const uint64_t zero[TOFU_REDUCE_WORDS];
	struct tofu_packet pkt = mesh_signal(self->mesh);
	struct mesh *mesh = self->mesh;
	const struct gate first = mesh_relay(mesh, 1);
	const struct gate second = mesh_relay(mesh, 1);

	mesh_link(mesh, channel0, first);
	mesh_link(mesh, first, second);
	mesh_link(mesh, second, channel1);
	mesh_enable(mesh);
	mesh_start(mesh, 1, TOFU_REDUCE_SUM, 1, zero);
	net_run(self->net);
	pkt.dst_cq = (uint8_t)first.number;
	for (unsigned int i = 0; i < 2; i++)
		icc_receive(self->net->node[1].icc, &pkt, zero);
	for (uint32_t round = 1; round <= 2; round++) {
		net_run(self->net);
		EXPECT_EQ(round, mesh_ended(mesh, 1));
		EXPECT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, 1));
		mesh_start(mesh, 1, TOFU_REDUCE_SUM, 1, zero);
	}
}

TEST_F(gates, foreign_signals_are_dropped)
{
	struct tofu_packet good = mesh_signal(self->mesh), bad[9];
	static const uint8_t payload[TOFU_PKT_INLINE_MAX] = { 1 };

	mesh_pair(self->mesh);
	for (unsigned int i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].src = 2;
	bad[1].src_tni = 0;
	bad[2].src_cq = 1;
	bad[3].gpid++;
	bad[4].payload--;
	bad[5].payload += 8;
	bad[6].dst_tni = 2;
	bad[7].dst_cq = TOFU_GATES;
	bad[8].dst_cq = 20; /* not enabled */
	for (unsigned int i = 0; i < 9; i++) {
		net_send(self->net, 1, &bad[i], payload);
		net_run(self->net);
		EXPECT_EQ(i + 1, dropped(self->mesh, 1));
		EXPECT_EQ(0, state(self->mesh, channel1));
	}
	net_send(self->net, 1, &good, payload);
	net_run(self->net);
	EXPECT_EQ(9, dropped(self->mesh, 1));
	EXPECT_EQ(1, TOFU_GET(state(self->mesh, channel1),
			      TOFU_GATE_STATE_RMT));
	mesh_start(self->mesh, 1, TOFU_REDUCE_SUM, 1, NULL);
	net_run(self->net);
	EXPECT_EQ(1, mesh_block(self->mesh, 1)->result[0]);
}

TEST_F(gates, a_signal_that_makes_no_sense_is_an_error)
{
	struct tofu_packet bad[5];
	static const uint8_t payload[TOFU_SIGNAL_BYTES] = { [15] = 0x7f };
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh);
	for (unsigned int i = 0; i < 5; i++)
		bad[i] = mesh_signal(mesh);
	bad[0].armw_op = TOFU_REDUCE_OPS;
	bad[1].armw_size = 7;
	bad[2].status = 255;
	bad[3].armw_op = TOFU_REDUCE_BFPSUM; /* its top bin does not exist */
	bad[4].flags = TOFU_PKT_F_LAST;
	for (unsigned int i = 0; i < 5; i++) {
		net_send(self->net, 1, &bad[i], payload);
		mesh_start(mesh, 1, TOFU_REDUCE_SUM, 1, NULL);
		net_run(self->net);
		EXPECT_EQ(i + 1, mesh_ended(mesh, 1));
		EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(mesh, 1));
		EXPECT_EQ(0, mesh_block(mesh, 1)->result[0]);
	}
	EXPECT_EQ(0, dropped(mesh, 1));
}

TEST_F(gates, foreign_local_signals_are_dropped)
{
	struct mesh *mesh = self->mesh;
	struct gate relay = mesh_relay(mesh, 0);
	uint64_t link;

	mesh_link(mesh, channel0, relay);
	mesh_enable(mesh);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	EXPECT_EQ(1, TOFU_GET(state(mesh, relay), TOFU_GATE_STATE_FIRED));
	link = gate_reg(mesh, relay, TOFU_GATE_SRC_LCL);

	gate_set(mesh, relay, TOFU_GATE_CTRL, 0);
	gate_set(mesh, relay, TOFU_GATE_SRC_LCL, link ^ 3ULL << 32);
	gate_set(mesh, relay, TOFU_GATE_CTRL, 1);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	EXPECT_EQ(0, state(mesh, relay));

	gate_set(mesh, relay, TOFU_GATE_CTRL, 0);
	gate_set(mesh, relay, TOFU_GATE_SRC_LCL, link);
	gate_set(mesh, relay, TOFU_GATE_GPID, MESH_GPID + 1);
	gate_set(mesh, relay, TOFU_GATE_CTRL, 1);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	EXPECT_EQ(0, state(mesh, relay));
	EXPECT_EQ(2, self->net->node[0].misuses);
	EXPECT_EQ(3, mesh_ended(mesh, 0));
}

static void set_links(struct mesh *mesh, struct gate gate, uint64_t src_lcl,
		      uint64_t src_rmt, uint64_t dst_lcl, uint64_t dst_rmt)
{
	gate_set(mesh, gate, TOFU_GATE_CTRL, 0);
	gate_set(mesh, gate, TOFU_GATE_SRC_LCL, src_lcl);
	gate_set(mesh, gate, TOFU_GATE_SRC_RMT, src_rmt);
	gate_set(mesh, gate, TOFU_GATE_DST_LCL, dst_lcl);
	gate_set(mesh, gate, TOFU_GATE_DST_RMT, dst_rmt);
	gate_set(mesh, gate, TOFU_GATE_CHANNEL, 0);
	gate_set(mesh, gate, TOFU_GATE_GPID, MESH_GPID);
	gate_set(mesh, gate, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
}

/* A signal of an older life is under way when its gates become a loop. */
TEST_F(gates, gates_in_a_loop_hold_nobody_up)
{
	struct mesh *mesh = self->mesh;
	const struct gate a = mesh_relay(mesh, 0);
	const uint64_t valid = 1ULL << 63, tni = 1ULL << 28;
	const uint64_t to_a = valid | (uint64_t)a.number << 32;
	unsigned int fired;

	gate_set(mesh, channel0, TOFU_GATE_DST_RMT, to_a | tni);
	mesh->setting[0][0][3] = to_a | tni;
	mesh_enable(mesh);
	self->net->node[0].held = true;
	mesh_barrier(mesh, 0);
	net_run(self->net);
	set_links(mesh, a, 0, valid | tni, valid, 0);
	set_links(mesh, channel0, to_a, 0, 0, to_a | tni);
	self->net->node[0].held = false;
	mesh_barrier(mesh, 1);
	for (unsigned int i = 0; i < 100; i++)
		net_step(self->net);
	fired = TOFU_GET(state(mesh, a), TOFU_GATE_STATE_FIRED);
	EXPECT_GT(fired, 50);
	EXPECT_LT(fired, 101);
	EXPECT_EQ(1, mesh_ended(mesh, 1));
}

/* ---- Life ---- */

TEST_F(gates, a_gate_that_was_disabled_has_forgotten_all)
{
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh);
	mesh_barrier(mesh, 0);
	net_run(self->net);
	EXPECT_EQ(1, TOFU_GET(state(mesh, channel0), TOFU_GATE_STATE_BEGUN));
	EXPECT_EQ(1, TOFU_GET(state(mesh, channel1), TOFU_GATE_STATE_RMT));
	mesh_disable(mesh);
	EXPECT_EQ(0, state(mesh, channel0));
	EXPECT_EQ(0, state(mesh, channel1));
	mesh_enable(mesh);
	mesh_barrier(mesh, 1);
	net_run(self->net);
	EXPECT_EQ(0, mesh_ended(mesh, 1));
	mesh_barrier(mesh, 0);
	net_run(self->net);
	for (uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(1, mesh_ended(mesh, i));
		EXPECT_EQ(TOFU_BARRIER_OK, mesh_status(mesh, i));
	}
}

TEST_F(gates, a_gate_disabled_between_start_and_begin_writes_nothing)
{
	struct mesh *mesh = self->mesh;

	mesh_enable(mesh);
	mesh_barrier(mesh, 0);
	gate_set(mesh, channel0, TOFU_GATE_CTRL, 0);
	net_run(self->net);
	EXPECT_EQ(0, mesh_block(mesh, 0)->done);
}

TEST_F(gates, a_reset_disables_gates)
{
	struct mesh *mesh = self->mesh;

	mesh_pair(mesh);
	mesh_barrier(mesh, 0);
	icc_reset(self->net->node[0].icc);
	net_run(self->net);
	for (unsigned int reg = 0; reg <= TOFU_GATE_STATE; reg += 8)
		EXPECT_EQ(0, gate_reg(mesh, channel0, reg));
	EXPECT_EQ(0, state(mesh, channel1));
	EXPECT_EQ(0, mesh_block(mesh, 0)->done);
}

TEST_HARNESS_MAIN
