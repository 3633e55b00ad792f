// SPDX-License-Identifier: MIT
/*
 * Fuzzing of the controller model: the input is a program of posts, writes to
 * tables, rings and pages, register accesses, packets and peer deaths, run on
 * four nodes. For any input, the model must stay inside its memory (ASan), and
 * an undisturbed pair of CQs must still work in the end.
 *
 * With clang's -fsanitize=fuzzer the input is libFuzzer's; without, and with
 * seeds.c, it is random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/icc-clock.h"
#include "../unit/icc-mesh.h"
#include "seeds.h"

struct input {
	const uint8_t *at;
	size_t left;
};

static uint64_t take(struct input *in, unsigned int bytes)
{
	uint64_t value = 0;

	for (; bytes && in->left; bytes--, in->left--)
		value = value << 8 | *in->at++;
	return value;
}

struct machine {
	struct net *net;
	struct cq *cq[3]; /* of nodes 0, 1 and 0 */
	struct region *region[3];
	struct cq *calm[2]; /* of nodes 2 and 3, and of another group */
	struct region *calm_region[2];
	struct mesh *mesh; /* over nodes 0 and 1 */
	struct mesh *calm_mesh; /* over nodes 2 and 3 */
	uint64_t polled; /* time of the last poll of a channel; ns */
};

/* Any combination of capabilities; one input of four is timed. */
static struct net_mode take_mode(struct input *in)
{
	const unsigned int what = take(in, 1);
	const size_t bytes = take(in, 1) * 4;
	const size_t most = bytes * (TOFU_PKT_INLINE_MAX / 4 / 255);

	if (what % 4 == 3)
		return (struct net_mode)NET_TIMED;
	return (struct net_mode){ .mtu = TOFU_SIGNAL_BYTES + bytes / 2,
				  .inline_max = most,
				  .refers = what % 4 != 2,
				  .patience = what & 8 ? ICC_PATIENT : what >> 4,
				  .doorbells = what & 4 };
}

static void machine_create(struct machine *m, const struct net_mode *mode)
{
	static const uint32_t node[] = { 0, 1, 0 };

	m->net = net_create("2x2", 4, mode);
	for (unsigned int i = 0; i < 3; i++) {
		m->cq[i] = cq_create(m->net, node[i], i % 2, i);
		m->region[i] = region_create(m->cq[i], i, 50000, i * 700, 12,
					     i * 8);
		region_steering(m->region[i])->ctrl |=
			TOFU_SET(TOFU_STEERING_FIRST, i * 100);
	}
	for (unsigned int i = 0; i < 2; i++) {
		m->calm[i] = cq_create(m->net, 2 + i, 0, i);
		cq_disable(m->calm[i]);
		cq_reg_set(m->calm[i], TOFU_CQ_GPID, 2000);
		cq_enable(m->calm[i]);
		m->calm_region[i] =
			region_create(m->calm[i], 1, 9000, 0, 12, 0);
	}
	m->mesh = mesh_create(m->net, 1);
	mesh_ring(m->mesh, 2);
	mesh_enable(m->mesh);
	m->calm_mesh = mesh_create(m->net, 0);
	mesh_link(m->calm_mesh, (struct gate){ 2, 0 }, (struct gate){ 3, 0 });
	mesh_link(m->calm_mesh, (struct gate){ 3, 0 }, (struct gate){ 2, 0 });
	mesh_enable(m->calm_mesh);
}

static void machine_destroy(struct machine *m)
{
	for (unsigned int i = 0; i < 3; i++) {
		region_destroy(m->region[i]);
		cq_destroy(m->cq[i]);
	}
	for (unsigned int i = 0; i < 2; i++) {
		region_destroy(m->calm_region[i]);
		cq_destroy(m->calm[i]);
	}
	mesh_destroy(m->mesh);
	mesh_destroy(m->calm_mesh);
	net_destroy(m->net);
}

/* Some blocks, or very many; close together, or beyond the address space. */
static void blocks(struct input *in, uint64_t second[4])
{
	second[0] = take(in, 1) % 4 ? take(in, 2) : take(in, 5);
	second[1] = take(in, 1) % 4 ? take(in, 1) : take(in, 3);
	second[2] = take(in, 1) % 16 == 0;
	second[3] = take(in, 1) % 16 == 0;
}

/* A valid transfer, sometimes with one word of its descriptor disturbed. */
static void post(struct machine *m, struct input *in)
{
	static const enum tofu_command cmds[] = { TOFU_CMD_PUT, TOFU_CMD_GET,
						  TOFU_CMD_ARMW, TOFU_CMD_NOP,
						  TOFU_CMD_PUT_PIGGYBACK };
	const unsigned int from = take(in, 1) % 3, to = take(in, 1) % 3;
	struct transfer t = {
		.cmd = cmds[take(in, 1) % 5],
		.flags = take(in, 1) & TOFU_TOQ_F_ALL,
		.cq = m->cq[from],
		.lcl = m->region[from],
		.rmt = m->region[to],
		.length = take(in, 2),
		.lcl_offset = take(in, 1) * 64,
		.rmt_offset = take(in, 1) * 8,
		.path = take(in, 1) % 16,
		.sps = take(in, 1) % 16,
	};
	struct tofu_toq_desc desc;
	uint64_t noise[4];

	if (t.cmd == TOFU_CMD_ARMW) {
		t.op = take(in, 1) % 8;
		t.armw_8 = t.length & 1;
		t.length = t.armw_8 ? 8 : 4;
	} else if (t.cmd == TOFU_CMD_PUT_PIGGYBACK) {
		t.length %= 36;
	} else if (t.cmd != TOFU_CMD_NOP) {
		t.gap = take(in, 1);
		t.mtu = take(in, 1);
	}
	if ((t.flags & TOFU_TOQ_F_STRIDE) && take(in, 1) % 4)
		t.flags &= ~TOFU_TOQ_F_STRIDE;
	desc = transfer_desc(&t);
	if (take(in, 1) % 4 == 0)
		((uint64_t *)&desc)[take(in, 1) % 4] ^= 1ULL
							<< take(in, 1) % 64;
	desc_post(t.cq, desc);
	for (unsigned int i = 0; i < 4; i++)
		noise[i] = take(in, 1) % 2;
	if (t.flags & TOFU_TOQ_F_STRIDE)
		blocks(in, noise);
	if (tofu_toq_slots(desc.ctrl, desc.route) > 1) {
		cq_push(t.cq, noise);
		cq_kick(t.cq);
	}
}

/* Overwrite a word of a CQ's tables or page, or a register. */
static void scribble(struct machine *m, struct input *in)
{
	const unsigned int i = take(in, 1) % 3;
	struct cq *cq = m->cq[i];
	const unsigned int what = take(in, 1) % 6;
	const uint64_t word = take(in, 1) % 4;
	const uint64_t value = take(in, 1) % 2 ? take(in, 8) :
						 1ULL << take(in, 1) % 64;

	switch (what) {
	case 0:
		((uint64_t *)region_steering(m->region[i]))[word] ^= value;
		break;
	case 1:
		((uint64_t *)region_block(m->region[i]))[word] ^= value;
		break;
	case 2: /* where the table was made; the entry may lead elsewhere now */
		memcpy(ram_at(cq->node, cq->node->base + value % RAM_SIZE / 16 *
							8, 8),
		       &value, 8);
		break;
	case 3:
		((uint64_t *)cq->page)[take(in, 1) % 32] ^= value;
		break;
	case 4:
		cq_reg_set(cq, take(in, 1) & ~7U, value);
		break;
	case 5:
		icc_reg_write(cq->node->icc, take(in, 3), value,
			      1U << take(in, 1) % 4);
		icc_reg_read(cq->node->icc, take(in, 3),
			     1U << take(in, 1) % 4);
		break;
	}
}

/* Send any packet to node 0 or 1, or disturb one that is under way. */
static void packet(struct machine *m, struct input *in)
{
	static const uint8_t types[] = { 1, 2, 3, 16, 17, 18, 0, 255, 15 };
	const uint32_t to = take(in, 1) % 2;
	struct tofu_packet pkt = {
		.src = take(in, 1) % 5, .type = types[take(in, 1) % 9],
		.flags = take(in, 1), .path = take(in, 1),
		.src_tni = take(in, 1), .src_cq = take(in, 1),
		.dst_tni = take(in, 1) % 4, .dst_cq = take(in, 1) % 4,
		.gpid = 1000, .status = take(in, 1), .armw_op = take(in, 1) % 8,
		.armw_size = take(in, 1), .length = take(in, 2),
		.tid = take(in, 4), .operand = take(in, 8),
		.rmt = TOFU_SET(TOFU_ADDR_STAG, take(in, 1) % 4),
		.sps = take(in, 1), .gap = take(in, 1), .mtu = take(in, 1),
		.offset = take(in, 1) % 4 ? 0 : take(in, 2),
		.time = take(in, 1) % 4 ? 0 : take(in, 8),
	};
	uint8_t payload[TOFU_PKT_INLINE_MAX];
	unsigned int under_way;

	pkt.payload = take(in, 1) % 2 ? pkt.length : take(in, 2);
	pkt.payload %= TOFU_PKT_INLINE_MAX + 1;
	pkt.total = take(in, 1) % 2 ? pkt.length : take(in, 4);
	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = i < 64 ? take(in, 1) : 0;
	for (int c = 0; c < TOFU_CLASSES; c++) {
		under_way = m->net->node[to].queue[c].count;
		if (under_way >= NET_QUEUE / 2)
			return;
	}
	under_way = m->net->node[to].queue[TOFU_RESPONSE].count;
	if (under_way && take(in, 1) % 2) {
		struct net_packet *p =
			m->net->node[to].queue[TOFU_RESPONSE].packet[0];

		((uint8_t *)&p->pkt)[8 + take(in, 1) % 88] ^= take(in, 1);
		return;
	}
	net_send(m->net, to, &pkt, payload);
}

/* Start a barrier; sometimes disturb its block or its gates. */
static void gates(struct machine *m, struct input *in)
{
	const uint32_t node = take(in, 1) % 2;
	const struct gate gate = { node, take(in, 1) % 2 ? MESH_RELAY : 0 };
	struct tofu_channel *block = mesh_block(m->mesh, node);
	const uint64_t word = 8 * (take(in, 1) % 8);
	const unsigned int op = take(in, 1) % (TOFU_REDUCE_OPS + 1);

	switch (take(in, 1) % 5) {
	case 0:
		mesh_enable_node(m->mesh, node);
		break;
	case 1:
		gate_set(m->mesh, gate, TOFU_GATE_CTRL, 0);
		gate_set(m->mesh, gate, word,
			 gate_reg(m->mesh, gate, word) ^
				 1ULL << take(in, 1) % 64);
		gate_set(m->mesh, gate, TOFU_GATE_CTRL, 1);
		break;
	case 2:
		((uint64_t *)block)[take(in, 1) % 16] ^= 1ULL
							 << take(in, 1) % 64;
		break;
	case 3: /* later each time: the second poll in a barrier asks */
		m->polled += TOFU_ASK_NS;
		icc_channel_poll(m->net->node[node].icc, 1, 0, m->polled);
		break;
	default:
		mesh_start(m->mesh, node, op, take(in, 1) % 8, NULL);
		break;
	}
}

/* Send a signal, in most fields like one of the gate that may send it. */
static void send_signal(struct machine *m, struct input *in)
{
	const uint32_t to = take(in, 1) % 2;
	const struct tofu_packet pkt = {
		.src = take(in, 1) % 8 ? !to : to,
		.payload = take(in, 1) % 8 ? TOFU_SIGNAL_BYTES : take(in, 1),
		.type = TOFU_PKT_SIGNAL,
		.flags = take(in, 1) % 8 ? 0 : take(in, 1),
		.operand = take(in, 1) % 8,
		.src_tni = 1,
		.dst_tni = 1,
		.src_cq = MESH_RELAY,
		.dst_cq = take(in, 1) % 2 ? MESH_RELAY : 0,
		.gpid = MESH_GPID,
		.status = take(in, 1) % 4,
		.armw_op = take(in, 1) % TOFU_REDUCE_OPS,
		.armw_size = take(in, 1) % 8,
	};
	uint8_t payload[UINT8_MAX];

	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = i < TOFU_SIGNAL_BYTES ? take(in, 1) : 0;
	if (m->net->node[to].queue[TOFU_RESPONSE].count < NET_QUEUE / 2)
		net_send(m->net, to, &pkt, payload);
}

/* Run one step; in virtual time, any time up to a millisecond. */
static void go_on(struct net *net, struct input *in)
{
	if (net->clock)
		clock_run_until(net, clock_now(net) + (1U << take(in, 1) % 20));
	else
		net_step(net);
}

/* Run long enough for a short piece of work to end. */
static void settle(struct net *net)
{
	if (net->clock)
		clock_run_until(net, clock_now(net) + 1000000);
	for (unsigned int s = 0; s < 300 && !net->clock; s++)
		net_step(net);
}

static void step(struct machine *m, struct input *in)
{
	struct net_node *node = &m->net->node[take(in, 1) % 2];

	switch (take(in, 1) % 20) {
	case 0 ... 5:
		post(m, in);
		break;
	case 6 ... 7:
		scribble(m, in);
		break;
	case 8 ... 9:
		packet(m, in);
		break;
	case 10:
		node->held = !node->held;
		break;
	case 11:
		node->queue[TOFU_REQUEST].room = take(in, 1) % 4;
		node->queue[TOFU_RESPONSE].room = 1 + take(in, 1) % 4;
		break;
	case 12:
		icc_peer_down(node->icc, (uint32_t)take(in, 1) % 6);
		break;
	case 13:
		cq_reg_set(m->cq[take(in, 1) % 3], TOFU_CQ_CTRL,
			   take(in, 1) % 2);
		break;
	case 16:
	case 17:
		gates(m, in);
		break;
	case 18:
		send_signal(m, in);
		break;
	default:
		go_on(m->net, in);
		break;
	}
}

/* The undisturbed gates still work. */
static void check_calm_gates(struct machine *m)
{
	for (uint32_t i = 2; i < 4; i++)
		mesh_start(m->calm_mesh, i, TOFU_REDUCE_BARRIER, 0, NULL);
	settle(m->net);
	for (uint32_t i = 2; i < 4; i++) {
		if (mesh_ended(m->calm_mesh, i) != 1 ||
		    mesh_status(m->calm_mesh, i) != TOFU_BARRIER_OK)
			abort();
	}
}

/* The undisturbed pair still works: puts both ways arrive. */
static void check_calm(struct machine *m)
{
	/* A node has one queue, where a held packet blocks all behind it. */
	for (unsigned int i = 0; i < m->net->nodes; i++) {
		m->net->node[i].held = false;
		for (int c = 0; c < TOFU_CLASSES; c++)
			m->net->node[i].queue[c].room = NET_QUEUE / 2;
	}
	for (unsigned int i = 0; i < 2; i++) {
		struct transfer t = { .cmd = TOFU_CMD_PUT, .flags = ALL_NOTICES,
				      .cq = m->calm[i],
				      .lcl = m->calm_region[i],
				      .rmt = m->calm_region[!i],
				      .length = 9000 };

		region_fill(m->calm_region[i], i);
		transfer_post(&t);
		settle(m->net);
		if (cq_tcq_status(m->calm[i]) || cq_mrq_status(m->calm[i]) ||
		    cq_mrq_status(m->calm[!i]) ||
		    region_differs(m->calm_region[0], 0, m->calm_region[1], 0,
				   9000) != -1)
			abort();
	}
}

const unsigned long fuzz_inputs = 300;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct machine m;

	const struct net_mode mode = take_mode(&in);

	machine_create(&m, &mode);
	for (unsigned int i = 0; i < 3; i++)
		if (take(&in, 1) % 4 == 0)
			cq_session(m.cq[i]);
	while (in.left)
		step(&m, &in);
	check_calm(&m);
	check_calm_gates(&m);
	machine_destroy(&m);
	return 0;
}
