/* SPDX-License-Identifier: MIT */
/*
 * Networks of gates: both ends of every link agree, and whatever way signals
 * take their time, no rank leaves a round before the last one has come, every
 * rank's part is in the result once, and no signal finds its place taken.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gates/network.h"
#include "harness.h"

#define RANKS_MAX 37
#define ROUNDS 30
#define STEPS 10000000L /* many more than it takes */
#define WAY 4 /* signals of a link under way */

/* ---- Gates, as the specification has them ---- */

struct slot {
	bool full;
	uint64_t value;
};

/*
 * The values under way to a gate's remote source, the oldest first
 * @patience: it gives one up on one of @patience requests, on average
 */
struct way {
	unsigned int patience;
	unsigned int count;
	uint64_t value[WAY];
};

struct rank {
	unsigned int gates;
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	struct slot lcl[TOFU_NETWORK_GATES_MAX];
	struct slot rmt[TOFU_NETWORK_GATES_MAX];
	struct way way[TOFU_NETWORK_GATES_MAX];
	bool begun;
	unsigned int started;
	unsigned int ended;
};

struct machine {
	unsigned int ranks;
	struct rank rank[RANKS_MAX];
	bool bad;
};

static void fill(struct machine *m, struct slot *slot, uint64_t value)
{
	m->bad |= slot->full;
	*slot = (struct slot){ true, value };
}

static void signal_send(struct machine *m, unsigned int r, unsigned int gate,
			uint64_t value)
{
	const struct tofu_gate_links *l = &m->rank[r].links[gate];

	if (l->dst_lcl != TOFU_GATE_NONE)
		fill(m, &m->rank[r].lcl[l->dst_lcl], value);
	if (l->dst_rmt != TOFU_GATE_NONE) {
		struct way *way = &m->rank[l->dst_rank].way[l->dst_rmt];

		if (way->count == WAY)
			m->bad = true;
		else
			way->value[way->count++] = value;
	}
}

static uint64_t slot_take(struct slot *slot)
{
	uint64_t value = slot->full ? slot->value : 0;

	slot->full = false;
	return value;
}

static bool ready(const struct rank *rank, unsigned int gate)
{
	const struct tofu_gate_links *l = &rank->links[gate];

	return (l->src_lcl == TOFU_GATE_NONE || rank->lcl[gate].full) &&
	       (l->src_rmt == TOFU_GATE_NONE || rank->rmt[gate].full) &&
	       (gate ? l->src_lcl != TOFU_GATE_NONE ||
				l->src_rmt != TOFU_GATE_NONE :
		       rank->begun);
}

static void end(struct machine *m, struct rank *rank, uint64_t value)
{
	if (rank->links[0].src_lcl == TOFU_GATE_NONE &&
	    rank->links[0].src_rmt == TOFU_GATE_NONE)
		value = 1;
	rank->begun = false;
	rank->ended++;
	m->bad |= value != (1ULL << m->ranks) - 1;
	for (unsigned int i = 0; i < m->ranks; i++)
		m->bad |= m->rank[i].started < rank->ended;
}

static bool fire(struct machine *m, unsigned int r, unsigned int gate)
{
	struct rank *rank = &m->rank[r];
	uint64_t value;

	if (!ready(rank, gate))
		return false;
	value = slot_take(&rank->lcl[gate]) + slot_take(&rank->rmt[gate]);
	if (gate)
		signal_send(m, r, gate, value);
	else
		end(m, rank, value);
	return true;
}

static void fire_all(struct machine *m, unsigned int r)
{
	bool some;

	do {
		some = false;
		for (unsigned int g = 0; g < m->rank[r].gates; g++)
			some |= fire(m, r, g);
	} while (some && !m->bad);
}

static void rank_start(struct machine *m, unsigned int r)
{
	struct rank *rank = &m->rank[r];

	if (rank->begun || rank->started == ROUNDS)
		return;
	rank->begun = true;
	rank->started++;
	signal_send(m, r, 0, 1ULL << r);
	fire_all(m, r);
}

static void signal_arrive(struct machine *m, unsigned int r, unsigned int gate)
{
	struct way *way = &m->rank[r].way[gate];

	if (!way->count || (unsigned int)rand() % way->patience)
		return;
	fill(m, &m->rank[r].rmt[gate], way->value[0]);
	way->count--;
	memmove(way->value, way->value + 1, way->count * sizeof(*way->value));
	fire_all(m, r);
}

static bool finished(const struct machine *m)
{
	for (unsigned int r = 0; r < m->ranks; r++)
		if (m->rank[r].ended < ROUNDS)
			return false;
	return true;
}

/* Lets something happen at one rank. Return: whether all is over. */
static bool step(struct machine *m)
{
	unsigned int r = (unsigned int)rand() % m->ranks;

	if (rand() % 2)
		rank_start(m, r);
	for (unsigned int g = 0; g < m->rank[r].gates; g++)
		signal_arrive(m, r, g);
	return m->bad || finished(m);
}

static struct machine *machine_create(enum tofu_network network,
				      unsigned int ranks)
{
	struct machine *m = calloc(1, sizeof(*m));

	m->ranks = ranks;
	for (unsigned int r = 0; r < ranks; r++) {
		m->rank[r].gates = tofu_network_links(network, ranks, r,
						      m->rank[r].links);
		/* Some links are much slower than others. */
		for (unsigned int g = 0; g < m->rank[r].gates; g++)
			m->rank[r].way[g].patience = rand() % 4 ? 1 : 20;
	}
	return m;
}

/* ---- */

static bool agrees(const struct machine *m, unsigned int r, unsigned int gate)
{
	const struct tofu_gate_links *l = &m->rank[r].links[gate], *o;

	if (l->dst_lcl != TOFU_GATE_NONE &&
	    m->rank[r].links[l->dst_lcl].src_lcl != (int)gate)
		return false;
	if (l->src_lcl != TOFU_GATE_NONE &&
	    m->rank[r].links[l->src_lcl].dst_lcl != (int)gate)
		return false;
	if (l->dst_rmt != TOFU_GATE_NONE) {
		o = &m->rank[l->dst_rank].links[l->dst_rmt];
		if (o->src_rmt != (int)gate || o->src_rank != r)
			return false;
	}
	if (l->src_rmt != TOFU_GATE_NONE) {
		o = &m->rank[l->src_rank].links[l->src_rmt];
		if (o->dst_rmt != (int)gate || o->dst_rank != r)
			return false;
	}
	return true;
}

static bool all_agree(const struct machine *m)
{
	for (unsigned int r = 0; r < m->ranks; r++)
		for (unsigned int g = 0; g < m->rank[r].gates; g++)
			if (!agrees(m, r, g))
				return false;
	return true;
}

TEST(both_ends_of_a_link_agree)
{
	for (int network = 0; network < TOFU_NETWORKS; network++)
		for (unsigned int n = 1; n <= RANKS_MAX; n++) {
			struct machine *m = machine_create(
				(enum tofu_network)network, n);

			EXPECT_TRUE(all_agree(m))
			TH_LOG("network %d of %u ranks", network, n);
			free(m);
		}
}

TEST(nobody_leaves_before_all_have_come)
{
	for (int network = 0; network < TOFU_NETWORKS; network++)
		for (unsigned int n = 1; n <= RANKS_MAX; n++) {
			struct machine *m = machine_create(
				(enum tofu_network)network, n);

			for (long i = 0; i < STEPS && !step(m); i++)
				;
			EXPECT_TRUE(!m->bad && finished(m))
			TH_LOG("network %d of %u ranks", network, n);
			free(m);
		}
}

static unsigned int gates_most(enum tofu_network network, unsigned int ranks)
{
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	unsigned int most = 0;

	for (unsigned int r = 0; r < ranks; r++) {
		unsigned int gates =
			tofu_network_links(network, ranks, r, links);

		if (gates > most)
			most = gates;
	}
	return most;
}

TEST(as_many_gates_as_is_said)
{
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];

	for (int network = 0; network < TOFU_NETWORKS; network++) {
		EXPECT_EQ(gates_most((enum tofu_network)network, 1), 1);
	}
	EXPECT_EQ(gates_most(TOFU_NETWORK_BUTTERFLY, 4), 3);
	EXPECT_EQ(gates_most(TOFU_NETWORK_BUTTERFLY, 5), 4);
	EXPECT_EQ(gates_most(TOFU_NETWORK_BUTTERFLY, 16), 5);
	EXPECT_EQ(gates_most(TOFU_NETWORK_RING, 16), 3);
	EXPECT_EQ(gates_most(TOFU_NETWORK_TREE, 16), 5);
	EXPECT_EQ(tofu_network_links(TOFU_NETWORK_BUTTERFLY, ~0U, 0, links),
		  TOFU_NETWORK_GATES_MAX);
}

TEST(settings_name_the_gates_of_the_links)
{
	const utofu_vbg_id_t ids[] = { 10, 11, 12, 20, 21, 22, 30, 31, 32 };
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	struct utofu_vbg_setting s[TOFU_NETWORK_GATES_MAX];
	unsigned int count =
		tofu_network_links(TOFU_NETWORK_RING, 3, 1, links);

	ASSERT_EQ(count, 3);
	tofu_network_settings(links, count, 1, ids, 3, s);
	EXPECT_EQ(s[0].vbg_id, 20);
	EXPECT_EQ(s[0].src_lcl_vbg_id, 22);
	EXPECT_EQ(s[0].src_rmt_vbg_id, UTOFU_VBG_ID_NULL);
	EXPECT_EQ(s[0].dst_lcl_vbg_id, 21);
	EXPECT_EQ(s[0].dst_rmt_vbg_id, UTOFU_VBG_ID_NULL);
	EXPECT_EQ(s[1].vbg_id, 21);
	EXPECT_EQ(s[1].src_lcl_vbg_id, 20);
	EXPECT_EQ(s[1].src_rmt_vbg_id, 10);
	EXPECT_EQ(s[1].dst_lcl_vbg_id, UTOFU_VBG_ID_NULL);
	EXPECT_EQ(s[1].dst_rmt_vbg_id, 31);
	EXPECT_EQ(s[2].src_rmt_vbg_id, 11);
	EXPECT_EQ(s[2].dst_rmt_vbg_id, UTOFU_VBG_ID_NULL);
	EXPECT_EQ(s[2].dst_lcl_vbg_id, 20);
	EXPECT_EQ(s[2].dst_path_coords[0], UTOFU_PATH_COORD_NULL);
}

TEST_HARNESS_MAIN
