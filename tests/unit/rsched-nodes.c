// SPDX-License-Identifier: MIT
/* Schedules that are run: the halos of SCALE-LES3 on periodic grids. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gates/network.h"
#include "exchange-engines.h"
#include "harness.h"
#include "utofu-util.h"

#include <tofu/rsched.h>

#define PUTS 14
#define LEVELS 64 /* k + 4 of the smallest published grid */
#define ROUNDS 12

/* East, west, north and south twice, then each diagonal twice. */
static const struct {
	int dx, dy;
	size_t bytes;
	unsigned int back;
} puts_[PUTS] = {
	{ 1, 0, LEVELS * 256, 1 },   { -1, 0, LEVELS * 256, 0 },
	{ 0, 1, LEVELS * 128, 4 },   { 0, 1, LEVELS * 128, 5 },
	{ 0, -1, LEVELS * 128, 2 },  { 0, -1, LEVELS * 128, 3 },
	{ 1, 1, LEVELS * 16, 12 },   { 1, 1, LEVELS * 16, 13 },
	{ 1, -1, LEVELS * 16, 10 },  { 1, -1, LEVELS * 16, 11 },
	{ -1, 1, LEVELS * 16, 8 },   { -1, 1, LEVELS * 16, 9 },
	{ -1, -1, LEVELS * 16, 6 },  { -1, -1, LEVELS * 16, 7 },
};

/* Shared by the processes: set before they are made. */
static struct {
	int p, q;
	int scheduler;
	unsigned int width;
	bool collective;
	struct tofu_exchange_card (*card)[PUTS];
} run;

static unsigned int neighbor(unsigned int node, unsigned int put)
{
	const int x = ((int)node / run.q + puts_[put].dx + run.p) % run.p;
	const int y = ((int)node % run.q + puts_[put].dy + run.q) % run.q;

	return (unsigned int)(x * run.q + y);
}

static struct tofu_rsched_plan *plan_make(void)
{
	struct tofu_rsched_request request[PUTS];
	struct tofu_rsched_model model;
	struct tofu_rsched_plan *plan;

	CHECK(!tofu_rsched_machine("k", &model));
	for (unsigned int i = 0; i < PUTS; i++)
		request[i] = (struct tofu_rsched_request){
			.bytes = puts_[i].bytes,
			.direction = (uint32_t)(puts_[i].dx + 1) * 3 +
				     (uint32_t)(puts_[i].dy + 1),
			.flags = puts_[i].dx && puts_[i].dy ?
					 TOFU_RSCHED_DIAGONAL :
					 0,
		};
	CHECK(!tofu_rsched_make(&model, run.scheduler, run.width, request, PUTS,
				&plan));
	return plan;
}

static uint8_t *buffers_make(struct tofu_message message[PUTS])
{
	uint8_t *area, *at;
	size_t bytes = 0;

	for (unsigned int i = 0; i < PUTS; i++)
		bytes += 3 * puts_[i].bytes;
	area = at = malloc(bytes);
	CHECK(area);
	for (unsigned int i = 0; i < PUTS; i++) {
		message[i] = (struct tofu_message){
			.send = at,
			.send_bytes = puts_[i].bytes,
			.recv = { at + puts_[i].bytes, at + 2 * puts_[i].bytes },
			.recv_bytes = puts_[i].bytes,
			.back = puts_[i].back,
		};
		at += 3 * puts_[i].bytes;
	}
	memset(area, 0, bytes);
	return area;
}

/* A byte of a message: no two messages are alike for long. */
static uint8_t byte_of(unsigned int round, unsigned int node, unsigned int put,
		       size_t at)
{
	uint64_t word = ((uint64_t)round << 40 | (uint64_t)node << 32 |
			 (uint64_t)put << 24 | at) *
			0x9e3779b97f4a7c15;

	return (uint8_t)(word >> 56);
}

static void send_fill(struct tofu_message message[PUTS], unsigned int round,
		      unsigned int node)
{
	for (unsigned int i = 0; i < PUTS; i++)
		for (size_t at = 0; at < message[i].send_bytes; at++)
			((uint8_t *)message[i].send)[at] =
				byte_of(round, node, i, at);
}

static void received_check(struct tofu_exchange *exchange, unsigned int round,
			   unsigned int node)
{
	for (unsigned int i = 0; i < PUTS; i++) {
		const unsigned int from = neighbor(node, i);
		const uint8_t *got;
		void *buffer;

		CHECK(!tofu_exchange_received(exchange, i, &buffer));
		got = buffer;
		for (size_t at = 0; at < puts_[i].bytes; at++)
			CHECK(got[at] ==
			      byte_of(round, from, puts_[i].back, at));
	}
}

static void connect_all(struct tofu_nodes *nodes, unsigned int node,
			struct tofu_exchange *exchange)
{
	for (unsigned int i = 0; i < PUTS; i++)
		CHECK(!tofu_exchange_card(exchange, i, &run.card[node][i]));
	tofu_nodes_meet(nodes);
	for (unsigned int i = 0; i < PUTS; i++)
		CHECK(!tofu_exchange_connect(
			exchange, i,
			&run.card[neighbor(node, i)][puts_[i].back]));
	tofu_nodes_meet(nodes);
}

/* The barrier of all processes, a ring. */
static unsigned int gates_make(struct tofu_nodes *nodes, unsigned int node,
			       utofu_vbg_id_t id[NODE_GATES_MAX])
{
	struct utofu_vbg_setting settings[NODE_GATES_MAX];
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	const unsigned int count = tofu_network_links(
		TOFU_NETWORK_RING, nodes->count, node, links);

	CHECK(count <= NODE_GATES_MAX);
	CHECK(!utofu_alloc_vbg(0, count, 0, id));
	memcpy(nodes->vbg[node], id, count * sizeof(id[0]));
	tofu_nodes_meet(nodes);
	tofu_network_settings(links, count, node, nodes->vbg[0],
			      NODE_GATES_MAX, settings);
	CHECK(!utofu_set_vbg(settings, count));
	tofu_nodes_meet(nodes);
	return count;
}

static void halo(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vbg_id_t gate[NODE_GATES_MAX] = { UTOFU_VBG_ID_NULL };
	struct tofu_rsched_plan *plan = plan_make();
	struct tofu_message message[PUTS];
	uint8_t *area = buffers_make(message);
	struct tofu_exchange *exchange;
	unsigned int gates = 0;

	if (run.collective)
		gates = gates_make(nodes, node, gate);
	CHECK(!tofu_rsched_create(plan, message, gate[0], &exchange));
	tofu_rsched_free(plan);
	connect_all(nodes, node, exchange);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		send_fill(message, round, node);
		CHECK(!tofu_exchange_start(exchange));
		/* One is late, now and then. */
		if ((round + node) % 5 == 0)
			usleep(2000);
		CHECK(!tofu_exchange_wait(exchange));
		received_check(exchange, round, node);
		engines_check(exchange);
	}
	tofu_nodes_meet(nodes);
	tofu_exchange_free(exchange);
	if (gates)
		CHECK(!utofu_free_vbg(gate, gates));
	free(area);
}

static int halo_run(int p, int q, int scheduler, unsigned int width,
		    bool collective)
{
	const size_t bytes = sizeof(*run.card) * NODES_MAX;
	int failed;

	run.p = p;
	run.q = q;
	run.scheduler = scheduler;
	run.width = width;
	run.collective = collective;
	run.card = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run.card == MAP_FAILED)
		return -1;
	failed = tofu_nodes_run((unsigned int)(p * q), halo, -1);
	munmap(run.card, bytes);
	return failed;
}

TEST(a_round_robin_runs)
{
	EXPECT_EQ(0, halo_run(2, 2, TOFU_RSCHED_ROUND_ROBIN, 4, false));
	EXPECT_EQ(0, halo_run(2, 2, TOFU_RSCHED_ROUND_ROBIN, 1, true));
}

TEST(a_packing_runs)
{
	EXPECT_EQ(0, halo_run(3, 2, TOFU_RSCHED_BL, 4, false));
	EXPECT_EQ(0, halo_run(2, 2, TOFU_RSCHED_BL, 2, true));
}

TEST(an_overhead_aware_schedule_runs)
{
	EXPECT_EQ(0, halo_run(3, 2, TOFU_RSCHED_OVERHEAD_AWARE, 0, false));
	EXPECT_EQ(0, halo_run(3, 2, TOFU_RSCHED_OVERHEAD_AWARE, 0, true));
	EXPECT_EQ(0, halo_run(1, 1, TOFU_RSCHED_OVERHEAD_AWARE, 0, false));
}

TEST(what_is_wrong_is_refused)
{
	struct tofu_message message[PUTS];
	uint8_t *area = buffers_make(message);
	struct tofu_exchange *exchange = (void *)1;
	struct tofu_rsched_plan *plan;

	run.scheduler = TOFU_RSCHED_ROUND_ROBIN;
	run.width = 4;
	plan = plan_make();
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_rsched_create(NULL, message, UTOFU_VBG_ID_NULL,
				     &exchange));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_rsched_create(plan, NULL, UTOFU_VBG_ID_NULL, &exchange));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_rsched_create(plan, message, UTOFU_VBG_ID_NULL, NULL));
	plan->count = 0;
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_rsched_create(plan, message, UTOFU_VBG_ID_NULL,
				     &exchange));
	plan->count = TOFU_EXCHANGE_MESSAGES_MAX + 1;
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_rsched_create(plan, message, UTOFU_VBG_ID_NULL,
				     &exchange));
	plan->count = PUTS;
	message[3].back = PUTS;
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_rsched_create(plan, message, UTOFU_VBG_ID_NULL,
				     &exchange));
	EXPECT_EQ((void *)1, exchange);
	tofu_rsched_free(plan);
	free(area);
}

TEST_HARNESS_MAIN
