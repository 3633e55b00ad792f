/* SPDX-License-Identifier: MIT */
/*
 * Barriers and reductions of machines of several processes, over each network
 * of gates.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gates/network.h"
#include "harness.h"
#include "icc/internal.h"
#include "port/soft.h"
#include "utofu-util.h"
#include "utofu/instance.h"

/* The network that the processes of a test build: set before they are made. */
static enum tofu_network network;

/* A process's gates */
struct gates {
	unsigned int count;
	utofu_vbg_id_t id[NODE_GATES_MAX];
};

static struct gates gates_open(struct tofu_nodes *nodes, unsigned int node,
			       utofu_tni_id_t tni)
{
	struct utofu_vbg_setting settings[NODE_GATES_MAX];
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	struct gates gates;

	gates.count = tofu_network_links(network, nodes->count, node, links);
	CHECK(gates.count <= NODE_GATES_MAX);
	CHECK(!utofu_alloc_vbg(tni, gates.count, 0, gates.id));
	memcpy(nodes->vbg[node], gates.id, gates.count * sizeof(gates.id[0]));
	tofu_nodes_meet(nodes);
	tofu_network_settings(links, gates.count, node, nodes->vbg[0],
			      NODE_GATES_MAX, settings);
	CHECK(!utofu_set_vbg(settings, gates.count));
	tofu_nodes_meet(nodes);
	return gates;
}

static void gates_close(struct tofu_nodes *nodes, struct gates *gates)
{
	tofu_nodes_meet(nodes);
	CHECK(!utofu_free_vbg(gates->id, gates->count));
}

FIXTURE(over){};

FIXTURE_VARIANT(over)
{
	enum tofu_network network;
};

FIXTURE_VARIANT_ADD(over, butterfly){
	.network = TOFU_NETWORK_BUTTERFLY,
};

FIXTURE_VARIANT_ADD(over, ring){
	.network = TOFU_NETWORK_RING,
};

FIXTURE_VARIANT_ADD(over, tree){
	.network = TOFU_NETWORK_TREE,
};

FIXTURE_SETUP(over)
{
	network = variant->network;
}

FIXTURE_TEARDOWN(over)
{
}

/* ---- */

static unsigned int rounds;

/* word[0] counts those who have come to a barrier. */
static void comes(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	for (unsigned int i = 1; i <= rounds; i++) {
		__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(!tofu_wait_barrier(gates.id[0]));
		CHECK(__atomic_load_n(&nodes->word[0], __ATOMIC_SEQ_CST) >=
		      (uint64_t)i * nodes->count);
	}
	gates_close(nodes, &gates);
}

TEST_F(over, nobody_leaves_before_the_last_has_come)
{
	rounds = 1000;
	for (unsigned int count = 1; count <= 4; count++) {
		EXPECT_EQ(tofu_nodes_run(count, comes, -1), 0)
		TH_LOG("%u nodes", count);
	}
}

TEST_F_TIMEOUT(over, nobody_leaves_before_the_last_of_many_has_come, 120)
{
	rounds = 50;
	for (unsigned int count = 5; count <= NODES_MAX; count++) {
		EXPECT_EQ(tofu_nodes_run(count, comes, -1), 0)
		TH_LOG("%u nodes", count);
	}
}

/* ---- */

/* Nodes that are late, each time others. */
static void late_ones(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 1);
	uint64_t sum;

	for (unsigned int i = 0; i < 60; i++) {
		uint64_t one[] = { i };

		if (i % nodes->count == node)
			usleep(3000);
		CHECK(!utofu_reduce_uint64(gates.id[0], UTOFU_REDUCE_OP_SUM,
					   one, 1, 0));
		one[0] = 77; /* is free for reuse */
		CHECK(!tofu_wait_uint64(gates.id[0], &sum));
		CHECK(sum == i * nodes->count);
	}
	gates_close(nodes, &gates);
}

TEST_F(over, late_nodes_are_waited_for)
{
	EXPECT_EQ(tofu_nodes_run(5, late_ones, -1), 0);
}

/* ---- */

#define WORDS 6

static uint64_t word_of(unsigned int node, unsigned int i)
{
	uint64_t x = (node + 1) * 0x9e3779b97f4a7c15ULL ^ (i + 1ULL) << 57;

	return x ^ x >> 29;
}

static uint64_t reduced(enum utofu_reduce_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case UTOFU_REDUCE_OP_BAND:
		return a & b;
	case UTOFU_REDUCE_OP_BOR:
		return a | b;
	case UTOFU_REDUCE_OP_BXOR:
		return a ^ b;
	case UTOFU_REDUCE_OP_MAX:
		return a > b ? a : b;
	default:
		return a + b;
	}
}

/* Every node works out what all of them give. */
static void integers(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	for (int op = UTOFU_REDUCE_OP_BAND; op <= UTOFU_REDUCE_OP_SUM; op++) {
		uint64_t mine[WORDS], want[WORDS], got[WORDS + 1];

		if (op == UTOFU_REDUCE_OP_MAXLOC)
			continue;
		for (unsigned int i = 0; i < WORDS; i++) {
			mine[i] = word_of(node, i);
			want[i] = word_of(0, i);
			for (unsigned int n = 1; n < nodes->count; n++)
				want[i] = reduced((enum utofu_reduce_op)op,
						  want[i], word_of(n, i));
		}
		got[WORDS - 1] = 4711;
		for (unsigned int count = 1; count <= WORDS; count++) {
			got[count] = 4711;
			CHECK(!utofu_reduce_uint64(gates.id[0],
						   (enum utofu_reduce_op)op,
						   mine, count, 0));
			CHECK(!tofu_wait_uint64(gates.id[0], got));
			CHECK(!memcmp(got, want, count * sizeof(got[0])));
			CHECK(got[count] == 4711);
		}
	}
	gates_close(nodes, &gates);
}

TEST_F(over, integers_are_reduced)
{
	EXPECT_EQ(tofu_nodes_run(2, integers, -1), 0);
	EXPECT_EQ(tofu_nodes_run(7, integers, -1), 0);
}

/* ---- Numbers that wrap ---- */

#define WRAP_ROUNDS 12

/* As if there had been so many barriers */
static void gates_begin(const struct gates *gates, uint32_t at)
{
	struct tofu_vbg_group *group = tofu_vbg_find(gates->id[0])->group;
	const struct tofu_port_gates *port = group->gates;
	struct tofu_soft *soft = (struct tofu_soft *)port->port;

	soft->ops->lock(soft);
	for (unsigned int i = 0; i < port->count; i++) {
		struct icc_gate *gate =
			soft->icc->tni[port->tni].gate[port->gate[i]];

		gate->fired = at;
		gate->ended = at;
	}
	group->started = at;
	port->channel->done = htole64(TOFU_SET(TOFU_CHANNEL_ENDED, at));
	soft->ops->unlock(soft);
}

/* Each node's number wraps in another round. */
static void wraps(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);
	const unsigned int count = nodes->count;
	uint64_t sum;
	double real;

	gates_begin(&gates, UINT32_MAX - node);
	for (unsigned int i = 1; i <= WRAP_ROUNDS; i++) {
		__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(!tofu_wait_barrier(gates.id[0]));
		CHECK(__atomic_load_n(&nodes->word[0], __ATOMIC_SEQ_CST) >=
		      (uint64_t)i * count);
		sum = i + node;
		CHECK(!utofu_reduce_uint64(gates.id[0], UTOFU_REDUCE_OP_SUM,
					   &sum, 1, 0));
		CHECK(!tofu_wait_uint64(gates.id[0], &sum));
		CHECK(sum == i * count + count * (count - 1) / 2);
		real = i + 0.5;
		CHECK(!utofu_reduce_double(gates.id[0], UTOFU_REDUCE_OP_BFPSUM,
					   &real, 1, 0));
		CHECK(!tofu_wait_double(gates.id[0], &real));
		CHECK(real == (i + 0.5) * count);
	}
	CHECK(tofu_vbg_find(gates.id[0])->group->started ==
	      3 * WRAP_ROUNDS - 1 - node);
	gates_close(nodes, &gates);
}

TEST_F(over, barriers_end_when_their_number_wraps)
{
	for (unsigned int count = 1; count <= 5; count++) {
		EXPECT_EQ(tofu_nodes_run(count, wraps, -1), 0)
		TH_LOG("%u nodes", count);
	}
}

/* ---- */

/* The largest value is at nodes 2 and 1, at 1 and 0 with locations to match. */
static void locations(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);
	uint64_t mine[] = { node == 1 || node == 2 ? ~0ULL : node, 100 + node,
			    5, 1ULL << (63 - node), node, node };
	uint64_t got[6];

	CHECK(!utofu_reduce_uint64(gates.id[0], UTOFU_REDUCE_OP_MAXLOC, mine, 6,
				   0));
	CHECK(!tofu_wait_uint64(gates.id[0], got));
	CHECK(got[0] == ~0ULL && got[1] == 101);
	CHECK(got[2] == 5 && got[3] == 1ULL << (64 - nodes->count));
	CHECK(got[4] == nodes->count - 1 && got[5] == nodes->count - 1);
	gates_close(nodes, &gates);
}

TEST_F(over, the_largest_value_is_located)
{
	EXPECT_EQ(tofu_nodes_run(5, locations, -1), 0);
}

/* ---- */

#define SUMS 40

static double addend(unsigned int node, unsigned int round, unsigned int i)
{
	uint64_t bits = word_of(node * 64 + round, i);
	/* Exponents far apart, of both signs, and some that cancel out */
	uint64_t exponent = 1023 - 40 + bits % 80;
	double value;

	bits = (bits & 0x800fffffffffffffULL) | exponent << 52;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The results of all networks, in memory that all processes share. */
static double (*sums)[SUMS][3];

static void doubles(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);
	double cancelling[] = { node == 0 ? 1e16 : node == 1 ? 1 :
					   node == 2	     ? -1e16 :
							       0,
				-0.0 };

	CHECK(!utofu_reduce_double(gates.id[0], UTOFU_REDUCE_OP_BFPSUM,
				   cancelling, 2, 0));
	CHECK(!tofu_wait_double(gates.id[0], cancelling));
	CHECK(cancelling[0] == 1.0 && cancelling[1] == 0.0);
	for (unsigned int round = 0; round < SUMS; round++) {
		double data[3];

		for (unsigned int i = 0; i < 3; i++)
			data[i] = addend(node, round, i);
		CHECK(!utofu_reduce_double(gates.id[0], UTOFU_REDUCE_OP_BFPSUM,
					   data, 3, 0));
		CHECK(!tofu_wait_double(gates.id[0], data));
		memcpy(sums[network * NODES_MAX + node][round], data,
		       sizeof(data));
	}
	gates_close(nodes, &gates);
}

static double nearly(unsigned int nodes, unsigned int round, unsigned int i)
{
	double sum = 0;

	for (unsigned int n = 0; n < nodes; n++)
		sum += addend(n, round, i);
	return sum;
}

TEST(a_sum_has_the_same_bits_on_all_nodes_and_networks)
{
	const unsigned int count = 6;
	size_t size = TOFU_NETWORKS * NODES_MAX * sizeof(*sums);

	sums = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((void *)sums, MAP_FAILED);
	for (int n = 0; n < TOFU_NETWORKS; n++) {
		network = (enum tofu_network)n;
		ASSERT_EQ(tofu_nodes_run(count, doubles, -1), 0);
	}
	for (unsigned int i = 0; i < SUMS; i++) {
		double off = sums[0][i][0] - nearly(count, i, 0);

		EXPECT_TRUE(off < 0x1p-8 && off > -0x1p-8);
	}
	for (unsigned int n = 0; n < TOFU_NETWORKS * NODES_MAX; n++) {
		if (n % NODES_MAX >= count)
			continue;
		EXPECT_EQ(memcmp(sums[n], sums[0], sizeof(*sums)), 0)
		TH_LOG("network %u, node %u", n / NODES_MAX,
		       n % NODES_MAX);
	}
}

/* ---- */

static int mismatching(struct gates *gates, unsigned int node,
		       unsigned int what)
{
	uint64_t data[2] = { 1, 2 };

	if (node != 1)
		what = 0;
	switch (what) {
	case 1: /* an operation */
		CHECK(!utofu_reduce_uint64(gates->id[0],
					   UTOFU_REDUCE_OP_BOR, data, 2, 0));
		return tofu_wait_uint64(gates->id[0], data);
	case 2: /* how many elements */
		CHECK(!utofu_reduce_uint64(gates->id[0],
					   UTOFU_REDUCE_OP_SUM, data, 1, 0));
		return tofu_wait_uint64(gates->id[0], data);
	case 3: /* no reduction at all */
		CHECK(!utofu_barrier(gates->id[0], 0));
		return tofu_wait_barrier(gates->id[0]);
	default:
		CHECK(!utofu_reduce_uint64(gates->id[0],
					   UTOFU_REDUCE_OP_SUM, data, 2, 0));
		return tofu_wait_uint64(gates->id[0], data);
	}
}

static void mismatch(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	for (unsigned int round = 0; round < 12; round++) {
		int code = mismatching(&gates, node, round % 4);

		CHECK(code == (round % 4 ? UTOFU_ERR_BARRIER_MISMATCH :
					   UTOFU_SUCCESS));
		CHECK(utofu_poll_barrier(gates.id[0], 0) ==
		      UTOFU_ERR_NOT_PROCESSED);
	}
	gates_close(nodes, &gates);
}

TEST_F(over, a_mismatch_at_one_node_is_told_to_all)
{
	EXPECT_EQ(tofu_nodes_run(2, mismatch, -1), 0);
	EXPECT_EQ(tofu_nodes_run(6, mismatch, -1), 0);
}

/* ---- */

#define VICTIM 2

static void victim(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	for (unsigned int i = 0; i < 20; i++) {
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(!tofu_wait_barrier(gates.id[0]));
	}
	if (node == VICTIM)
		raise(SIGKILL);
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(tofu_wait_barrier(gates.id[0]) ==
		      UTOFU_ERR_BARRIER_OTHER);
	}
	CHECK(!utofu_free_vbg(gates.id, gates.count));
}

TEST_F(over, a_barrier_with_a_dead_node_ends_with_an_error)
{
	EXPECT_EQ(tofu_nodes_run(3, victim, VICTIM), 0);
	EXPECT_EQ(tofu_nodes_run(5, victim, VICTIM), 0);
}

/* ---- A process that has ended, with a node of its own or with others ---- */

static enum end { END_KILLED, END_EXIT, END_FREE_AND_EXIT } end;

static void end_as_told(struct gates *gates)
{
	if (end == END_KILLED)
		raise(SIGKILL);
	if (end == END_FREE_AND_EXIT)
		CHECK(!utofu_free_vbg(gates->id, gates->count));
	exit(0);
}

/* The victim has told its process ID, and is its parent's to wait for. */
static void wait_for_end(struct tofu_nodes *nodes)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)nodes->word[VICTIM]);
	while (state != 'Z') {
		file = fopen(path, "r");
		if (!file)
			return;
		CHECK(fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
		fclose(file);
		usleep(1000);
	}
}

static void survivor(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates;

	if (node == VICTIM)
		nodes->word[VICTIM] = (uint64_t)getpid();
	gates = gates_open(nodes, node, 0);
	for (unsigned int i = 0; i < rounds; i++) {
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(!tofu_wait_barrier(gates.id[0]));
	}
	if (node == VICTIM)
		end_as_told(&gates);
	wait_for_end(nodes);
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(tofu_wait_barrier(gates.id[0]) ==
		      UTOFU_ERR_BARRIER_OTHER);
	}
	CHECK(!utofu_free_vbg(gates.id, gates.count));
}

TEST_F_TIMEOUT(over, a_barrier_with_a_process_that_has_ended_fails, 120)
{
	static const unsigned int before[] = { 0, 3 };

	for (end = END_KILLED; end <= END_FREE_AND_EXIT; end++) {
		const int killed = end == END_KILLED ? VICTIM : -1;

		for (unsigned int i = 0; i < 2 * 3; i++) {
			rounds = before[i / 3];
			ASSERT_EQ(tofu_processes_run(4, i % 3 + 1, survivor,
						     killed), 0)
			TH_LOG("end %d after %u barriers, %u on a node", end,
			       rounds, i % 3 + 1);
		}
	}
}

/* It ends while the others wait for it. */
static void waiter(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	if (node == VICTIM) {
		usleep(20000);
		end_as_told(&gates);
	}
	CHECK(!utofu_barrier(gates.id[0], 0));
	CHECK(tofu_wait_barrier(gates.id[0]) == UTOFU_ERR_BARRIER_OTHER);
}

TEST_F_TIMEOUT(over, a_barrier_fails_when_a_process_ends_during_it, 120)
{
	for (end = END_KILLED; end <= END_FREE_AND_EXIT; end++) {
		const int killed = end == END_KILLED ? VICTIM : -1;

		for (unsigned int ppn = 1; ppn <= 3; ppn++) {
			ASSERT_EQ(tofu_processes_run(4, ppn, waiter, killed), 0)
			TH_LOG("end %d, %u on a node", end, ppn);
		}
	}
}

/* ---- */

/* End after the last barrier, as a program does, without waiting for others. */
static void last_one(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	for (unsigned int i = 0; i < 3; i++) {
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(!tofu_wait_barrier(gates.id[0]));
	}
}

TEST_F(over, a_node_that_ends_after_a_barrier_spoils_it_for_nobody)
{
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(tofu_nodes_run(5, last_one, -1), 0);
}

/* ---- */

/* Node 0 gives its gates back with a barrier begun, and takes them anew. */
static void begun_again(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	for (unsigned int i = 0; i < 10; i++) {
		if (node == 0)
			CHECK(!utofu_barrier(gates.id[0], 0));
		gates_close(nodes, &gates);
		gates = gates_open(nodes, node, 0);
		if (node == 1)
			usleep(2000);
		CHECK(utofu_poll_barrier(gates.id[0], 0) ==
		      UTOFU_ERR_NOT_PROCESSED);
		__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
		CHECK(!utofu_barrier(gates.id[0], 0));
		CHECK(!tofu_wait_barrier(gates.id[0]));
		CHECK(__atomic_load_n(&nodes->word[0], __ATOMIC_SEQ_CST) >=
		      (uint64_t)(i + 1) * nodes->count);
	}
	gates_close(nodes, &gates);
}

TEST_F(over, gates_freed_while_a_barrier_is_begun_start_afresh)
{
	EXPECT_EQ(tofu_nodes_run(4, begun_again, -1), 0);
}

/* ---- */

/* A process that does not poll relays for the others. */
static void away(struct tofu_nodes *nodes, unsigned int node)
{
	struct gates gates = gates_open(nodes, node, 0);

	CHECK(!utofu_barrier(gates.id[0], 0));
	if (node == 1)
		CHECK(!tofu_wait_word(&nodes->word[0], nodes->count - 1));
	CHECK(!tofu_wait_barrier(gates.id[0]));
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
	gates_close(nodes, &gates);
}

TEST_F(over, a_process_that_does_not_poll_relays)
{
	EXPECT_EQ(tofu_nodes_run(4, away, -1), 0);
}

TEST_HARNESS_MAIN
