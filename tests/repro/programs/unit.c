// SPDX-License-Identifier: MIT
/*
 * All-gather and all-to-all as a published suite of Fugaku's has them, for the
 * experiment 'unit' of scripts/repro: 12 nodes, a process on each, no barrier.
 *
 *	unit gather BYTES each|all TNIS ROUNDS SEED
 *	unit ring BYTES each 1 ROUNDS SEED
 *	unit to-all BYTES each|all TNIS ROUNDS SEED
 *
 * A round is a put to (own rank + s) mod nodes for s = 1, 2, ..., put i by TNI
 * i mod TNIS, and then a wait for the last word of what each other node puts.
 * 'each' waits for the local completion of a put before the next is posted;
 * 'all' posts them all and waits then. In a ring a block is passed on to the
 * next node as soon as it has come. A process begins its next round when it has
 * all of this one, so processes need not stay in step. When each process begins
 * depends on SEED.
 *
 * In to-all a node has TOKENS tokens of BYTES bytes, for EXPERTS of EXPERTS_ALL
 * experts by chance. The experts are spread over the nodes in blocks, so
 * messages have 88 to 214 tokens, and the last node gets fewer.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/boot.h>
#include <tofu/time.h>
#include <utofu.h>

#define NODES_MAX 64
#define TNIS_MAX 6
#define TIMEOUT 60 /* seconds, for a process that never comes */
#define LINE 256 /* of A64FX; a slot shares none with another */
#define WARMUP 2
#define APART 300000 /* ns, at most, by which processes begin apart */
#define TOKENS 256
#define EXPERTS 8
#define EXPERTS_ALL 256

/* What the processes tell each other: where puts by each TNI go */
struct place {
	utofu_vcq_id_t vcq[TNIS_MAX];
	utofu_stadd_t memory[TNIS_MAX];
};

static char why[TOFU_BOOT_WHY]; /* what is wrong with a process */
static struct tofu_boot *boot;
static unsigned int own, nodes, tnis;
static bool each; /* puts end one by one */
static utofu_vcq_hdl_t vcq[TNIS_MAX];
static struct place own_place, place[NODES_MAX];
/* The slots in which each node's data comes, then those of what goes to each */
static char *memory;
static size_t slot;
static size_t bytes[NODES_MAX][NODES_MAX]; /* from, to */

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d %s\n", what, code, why);
	exit(EXIT_FAILURE);
}

static size_t in_slot(unsigned int node)
{
	return node * slot;
}

static size_t out_slot(unsigned int node)
{
	return (nodes + node) * slot;
}

/* ---- Sizes ---- */

/* splitmix64, as in the suite: all processes know the same messages. */
static uint64_t chance(void)
{
	static uint64_t state = 1;
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* A token of @from goes to different experts. */
static void token_route(unsigned int from, size_t size)
{
	const unsigned int block = (EXPERTS_ALL + nodes - 1) / nodes;
	bool chosen[EXPERTS_ALL] = { 0 };

	for (unsigned int i = 0; i < EXPERTS;) {
		const unsigned int expert = chance() % EXPERTS_ALL;

		if (chosen[expert])
			continue;
		chosen[expert] = true;
		bytes[from][expert / block] += size;
		i++;
	}
}

static void sizes_set(size_t size, bool routed)
{
	for (unsigned int from = 0; from < nodes; from++) {
		for (unsigned int i = 0; i < TOKENS && routed; i++)
			token_route(from, size);
		for (unsigned int to = 0; to < nodes; to++) {
			if (!routed)
				bytes[from][to] = size;
			if (bytes[from][to] > slot)
				slot = bytes[from][to];
		}
	}
	/* A word after the data says of which round it is. */
	slot = (slot + sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

/* ---- Rounds ---- */

static void completion_await(unsigned int tni)
{
	void *cbdata;
	int code;

	do {
		code = utofu_poll_tcq(vcq[tni], 0, &cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND);
	check(code, "utofu_poll_tcq");
}

static void put(unsigned int tni, unsigned int to, size_t from_slot,
		size_t to_slot, size_t size)
{
	check(utofu_put(vcq[tni], place[to].vcq[tni],
			own_place.memory[tni] + from_slot,
			place[to].memory[tni] + to_slot,
			size + sizeof(uint64_t), 0,
			UTOFU_ONESIDED_FLAG_TCQ_NOTICE, NULL),
	      "utofu_put");
}

static void mark(size_t at, size_t size, uint64_t round)
{
	memcpy(memory + at + size, &round, sizeof(round));
}

/* Until the word after the slot's data is of this round. The suite looks at
 * memory and a clock; time passes in calls of the library.
 */
static void word_await(size_t at, size_t size, uint64_t round)
{
	const volatile uint64_t *word =
		(const volatile uint64_t *)(memory + at + size);
	struct utofu_mrq_notice notice;

	while (*word < round)
		(void)utofu_poll_mrq(vcq[0], 0, &notice);
}

static void fan_round(uint64_t round)
{
	unsigned int posted[TNIS_MAX] = { 0 };

	for (unsigned int s = 1; s < nodes; s++) {
		const unsigned int to = (own + s) % nodes, tni = (s - 1) % tnis;

		mark(out_slot(to), bytes[own][to], round);
		put(tni, to, out_slot(to), in_slot(own), bytes[own][to]);
		if (each)
			completion_await(tni);
		else
			posted[tni]++;
	}
	for (unsigned int tni = 0; tni < tnis; tni++)
		while (posted[tni]--)
			completion_await(tni);
	for (unsigned int from = 0; from < nodes; from++)
		if (from != own)
			word_await(in_slot(from), bytes[from][own], round);
}

static void ring_round(uint64_t round)
{
	mark(in_slot(own), bytes[own][own], round);
	for (unsigned int s = 0; s + 1 < nodes; s++) {
		const unsigned int sent = (own + nodes - s) % nodes;
		const unsigned int next = (own + nodes - s - 1) % nodes;

		put(0, (own + 1) % nodes, in_slot(sent), in_slot(sent),
		    bytes[sent][own]);
		completion_await(0);
		word_await(in_slot(next), bytes[next][own], round);
	}
}

/* ---- Setting up ---- */

static void places_make(void)
{
	const size_t size = 2 * nodes * slot;

	memory = aligned_alloc(LINE, size);
	if (!memory)
		exit(EXIT_FAILURE);
	memset(memory, 0, size);
	for (unsigned int tni = 0; tni < tnis; tni++) {
		check(utofu_create_vcq((utofu_tni_id_t)tni, 0, &vcq[tni]),
		      "utofu_create_vcq");
		check(utofu_query_vcq_id(vcq[tni], &own_place.vcq[tni]),
		      "utofu_query_vcq_id");
		check(utofu_reg_mem(vcq[tni], memory, size, 0,
				    &own_place.memory[tni]),
		      "utofu_reg_mem");
	}
	check(tofu_boot_allgather(boot, &own_place, sizeof(own_place), place),
	      "tofu_boot_allgather");
}

/* In the suite processes come from a sleep and from rounds of other kinds. */
static void begin_apart(unsigned int seed)
{
	check(tofu_boot_barrier(boot), "tofu_boot_barrier");
	for (unsigned int i = 0; i < seed * nodes + own; i++)
		chance();
	tofu_compute(chance() % APART);
}

static double rounds_run(void (*round_run)(uint64_t round), uint64_t rounds)
{
	uint64_t begin = 0;

	for (uint64_t i = 1; i <= WARMUP + rounds; i++) {
		if (i == WARMUP + 1)
			begin = tofu_time();
		round_run(i);
	}
	return (double)(tofu_time() - begin) / (double)rounds / 1000;
}

int main(int argc, char *argv[])
{
	uint64_t rounds;
	double us;
	bool ring;

	if (argc != 7)
		return 2;
	ring = !strcmp(argv[1], "ring");
	each = !strcmp(argv[3], "each");
	tnis = (unsigned int)atoi(argv[4]);
	rounds = strtoull(argv[5], NULL, 10);
	check(tofu_boot_join(TIMEOUT, why, &boot), "tofu_boot_join");
	own = (unsigned int)tofu_boot_rank(boot);
	nodes = (unsigned int)tofu_boot_size(boot);
	if (nodes > NODES_MAX || !tnis || tnis > TNIS_MAX || !rounds)
		return 2;
	sizes_set(strtoull(argv[2], NULL, 10), !strcmp(argv[1], "to-all"));
	places_make();
	begin_apart((unsigned int)atoi(argv[6]));
	us = rounds_run(ring ? ring_round : fan_round, rounds);
	if (!own)
		printf("{\"time_us\": %.3f}\n", us);
	check(tofu_boot_leave(boot), "tofu_boot_leave");
	return EXIT_SUCCESS;
}
