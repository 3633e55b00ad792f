// SPDX-License-Identifier: MIT
/*
 * Barriers and reductions of all nodes by barrier gates, over each kind of
 * network.
 *
 * usage: barrier [times | left | forked]
 *
 * times: also how long barriers take, for runs that must be repeatable, but not
 * what takes long in virtual time; left: only that, with one network; forked: the
 * last node's process ends in a barrier, and a child of it lives. Each other node
 * then says "forked: ended" with the barrier's code.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gates/network.h"
#include "common/error.h"
#include "common/stats.h"
#include "common/virtual.h"
#include "common/wait.h"
#include "guest.h"

#define ROUNDS 200
#define SUMS 20
#define TIMES 8
#define STAG 60
#define FORKED_SECONDS (GUEST_TIMEOUT + 30)
#define GATES_MAX TOFU_WORLD_WORDS
#define POINTS 5 /* of a network; one more without "times" */

static const char *const network_name[] = {
	[TOFU_NETWORK_BUTTERFLY] = "butterfly",
	[TOFU_NETWORK_RING] = "ring",
	[TOFU_NETWORK_TREE] = "tree",
};

/**
 * struct test
 * @gates:   number of this node's gates in the network under test
 * @vbg:     their IDs
 * @came:    on node 0: number of arrivals at barriers
 * @came_at: its STADD
 * @sums:    sums that the first network computed
 */
struct test {
	struct guest guest;
	unsigned int gates;
	utofu_vbg_id_t vbg[GATES_MAX];
	uint64_t *came;
	utofu_stadd_t came_at;
	double sums[SUMS][3];
};

static void must(int code, const char *what)
{
	if (code != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

static void network_open(struct test *test, enum tofu_network network)
{
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	struct utofu_vbg_setting settings[GATES_MAX];
	uint32_t node = test->guest.machine.node;
	const uint64_t *ids;

	test->gates = tofu_network_links(network, test->guest.machine.nodes,
					 node, links);
	if (test->gates > GATES_MAX)
		errx(EXIT_FAILURE, "too many nodes");
	must(utofu_alloc_vbg(0, test->gates, 0, test->vbg), "utofu_alloc_vbg");
	ids = guest_gather(&test->guest, test->vbg, GATES_MAX);
	tofu_network_settings(links, test->gates, node, ids, GATES_MAX,
			      settings);
	must(utofu_set_vbg(settings, test->gates), "utofu_set_vbg");
	guest_barrier(&test->guest);
}

static void network_close(struct test *test)
{
	guest_barrier(&test->guest);
	must(utofu_free_vbg(test->vbg, test->gates), "utofu_free_vbg");
}

/* ---- One barrier or reduction, to its end ---- */

static int barrier(const struct test *test)
{
	struct tofu_wait wait = tofu_wait_keen(GUEST_TIMEOUT);
	int code = utofu_barrier(test->vbg[0], 0);

	if (code != UTOFU_SUCCESS)
		return code;
	do {
		code = utofu_poll_barrier(test->vbg[0], 0);
	} while (code == UTOFU_ERR_NOT_COMPLETED && tofu_wait_more(&wait));
	return code;
}

static int reduce(const struct test *test, enum utofu_reduce_op op,
		  uint64_t data[], size_t count)
{
	struct tofu_wait wait = tofu_wait_keen(GUEST_TIMEOUT);
	int code = utofu_reduce_uint64(test->vbg[0], op, data, count, 0);

	if (code != UTOFU_SUCCESS)
		return code;
	do {
		code = utofu_poll_reduce_uint64(test->vbg[0], 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && tofu_wait_more(&wait));
	return code;
}

static int sum(const struct test *test, double data[], size_t count)
{
	struct tofu_wait wait = tofu_wait_keen(GUEST_TIMEOUT);
	int code = utofu_reduce_double(test->vbg[0], UTOFU_REDUCE_OP_BFPSUM,
				       data, count, 0);

	if (code != UTOFU_SUCCESS)
		return code;
	do {
		code = utofu_poll_reduce_double(test->vbg[0], 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && tofu_wait_more(&wait));
	return code;
}

/* ---- Nobody leaves before the last one has come ---- */

/* Adds @more to node 0's count by an atomic; returns the count before. */
static uint64_t count_came(struct test *test, uint64_t more)
{
	struct guest *guest = &test->guest;
	struct utofu_mrq_notice notice;
	int code = utofu_armw8(guest->vcq, guest->id[0], UTOFU_ARMW_OP_ADD,
			       more, test->came_at, 0, GUEST_FLAGS, NULL);

	must(guest_finish(guest, code, &notice), "utofu_armw8");
	return notice.rmt_value;
}

static bool rounds(struct test *test)
{
	uint64_t before = count_came(test, 0);
	bool good = true;

	guest_barrier(&test->guest);
	for (uint64_t i = 1; i <= ROUNDS && good; i++) {
		count_came(test, 1);
		good = barrier(test) == UTOFU_SUCCESS &&
		       count_came(test, 0) >=
			       before + i * test->guest.machine.nodes;
	}
	return good;
}

/* ---- Reductions ---- */

static uint64_t combined(int op, uint64_t a, uint64_t b)
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

static bool integers(struct test *test, int op)
{
	uint64_t data[6], want[6];
	bool good = true;

	for (unsigned int i = 0; i < 6; i++) {
		want[i] = guest_seed(0, i, (uint64_t)op);
		for (uint32_t n = 1; n < test->guest.machine.nodes; n++)
			want[i] = combined(op, want[i],
					   guest_seed(n, i, (uint64_t)op));
		data[i] = guest_seed(test->guest.machine.node, i,
				     (uint64_t)op);
	}
	good = reduce(test, (enum utofu_reduce_op)op, data, 6) ==
	       UTOFU_SUCCESS;
	return good && !memcmp(data, want, sizeof(data));
}

/* All nodes have the largest value: the lowest location counts. */
static bool location(struct test *test)
{
	uint32_t node = test->guest.machine.node;
	uint64_t data[] = { 5, 100 + node, node, node };

	return reduce(test, UTOFU_REDUCE_OP_MAXLOC, data, 4) ==
		       UTOFU_SUCCESS &&
	       data[0] == 5 && data[1] == 100 &&
	       data[2] == test->guest.machine.nodes - 1 && data[3] == data[2];
}

static bool reductions(struct test *test)
{
	bool good = location(test);

	for (int op = UTOFU_REDUCE_OP_BAND; op <= UTOFU_REDUCE_OP_SUM; op++)
		if (op != UTOFU_REDUCE_OP_MAXLOC)
			good &= integers(test, op);
	return good;
}

/* ---- Sums of floating-point numbers ---- */

/* Of very different sizes and both signs */
static double addend(uint32_t node, unsigned int i, unsigned int k)
{
	uint64_t bits = guest_seed(node, i, k);
	double value = (double)(bits >> 12);

	for (uint64_t n = bits % 64; n; n--)
		value /= 2;
	return bits & 64 ? value : -value;
}

/* Whether all nodes have the bits that the first network computed */
static bool sums_agree(struct test *test, double data[3], double first[3])
{
	uint64_t bits[6];
	const uint64_t *all;
	bool good = true;

	memcpy(bits, data, 3 * sizeof(*data));
	memcpy(bits + 3, first, 3 * sizeof(*first));
	all = guest_gather(&test->guest, bits, 6);
	for (uint32_t n = 0; n < test->guest.machine.nodes; n++)
		good &= !memcmp(&all[6 * n], bits, sizeof(bits));
	return good && !memcmp(bits, bits + 3, 3 * sizeof(*bits));
}

static bool sums(struct test *test, enum tofu_network network)
{
	bool good = true;

	for (unsigned int i = 0; i < SUMS; i++) {
		double data[3];

		for (unsigned int k = 0; k < 3; k++)
			data[k] = addend(test->guest.machine.node, i, k);
		good &= sum(test, data, 3) == UTOFU_SUCCESS;
		if (network == 0)
			memcpy(test->sums[i], data, sizeof(data));
		good &= sums_agree(test, data, test->sums[i]);
	}
	return good;
}

/* ---- The rest ---- */

static bool mismatch(struct test *test)
{
	uint64_t data[] = { 1, 2 };
	size_t count = test->guest.machine.node ? 2 : 1;

	return reduce(test, UTOFU_REDUCE_OP_SUM, data, count) ==
		       UTOFU_ERR_BARRIER_MISMATCH &&
	       barrier(test) == UTOFU_SUCCESS;
}

/* Frees gates during a barrier, and allocates them again. */
static bool given_up(struct test *test, enum tofu_network network)
{
	if (test->guest.machine.node == 0 &&
	    utofu_barrier(test->vbg[0], 0) != UTOFU_SUCCESS)
		return false;
	network_close(test);
	network_open(test, network);
	return utofu_poll_barrier(test->vbg[0], 0) ==
		       UTOFU_ERR_NOT_PROCESSED &&
	       barrier(test) == UTOFU_SUCCESS;
}

/*
 * The last node frees its gates and lives on. The others do not wait for it for
 * ever, and give up theirs.
 */
static bool left(struct test *test)
{
	const struct tofu_machine *machine = &test->guest.machine;
	bool leaves = machine->node == machine->nodes - 1, good = true;

	guest_barrier(&test->guest);
	if (leaves)
		must(utofu_free_vbg(test->vbg, test->gates), "utofu_free_vbg");
	else
		good = barrier(test) == UTOFU_ERR_BARRIER_OTHER;
	guest_barrier(&test->guest);
	if (!leaves)
		must(utofu_free_vbg(test->vbg, test->gates), "utofu_free_vbg");
	return good;
}

static void times(struct test *test, enum tofu_network network)
{
	uint64_t took[TIMES], since;

	barrier(test);
	for (unsigned int i = 0; i < TIMES; i++) {
		since = tofu_now();
		must(barrier(test), "utofu_barrier");
		took[i] = tofu_now() - since;
	}
	for (unsigned int i = 0; i < TIMES; i++)
		guest_note(&test->guest, "%s: %" PRIu64 " ns",
			   network_name[network], took[i]);
}

static void network_test(struct test *test, enum tofu_network network,
			 bool timed)
{
	struct guest *guest = &test->guest;
	const char *name = network_name[network];

	network_open(test, network);
	guest_point(guest, rounds(test),
		    "%s: %u times, nobody leaves before the last has come",
		    name, ROUNDS);
	guest_point(guest, reductions(test), "%s: integers are reduced", name);
	guest_point(guest, sums(test, network),
		    "%s: sums have the same bits on all nodes and networks",
		    name);
	guest_point(guest, mismatch(test), "%s: a mismatch is told to all",
		    name);
	guest_point(guest, given_up(test, network),
		    "%s: gates are given back with a barrier begun", name);
	if (timed)
		times(test, network);
	network_close(test);
}

static void left_test(struct test *test, enum tofu_network network)
{
	network_open(test, network);
	guest_point(&test->guest, left(test),
		    "%s: one that frees its gates ends a barrier of the others",
		    network_name[network]);
}

/* The child lives longer than the others wait. */
static void forked_test(struct test *test)
{
	const struct tofu_machine *machine = &test->guest.machine;

	network_open(test, TOFU_NETWORK_RING);
	if (machine->node == machine->nodes - 1) {
		pid_t child = fork();

		if (child < 0)
			err(EXIT_FAILURE, "fork");
		if (!child)
			sleep(FORKED_SECONDS);
		_exit(EXIT_SUCCESS);
	}
	printf("forked: ended %d\n", barrier(test));
	fflush(stdout);
	_exit(EXIT_SUCCESS);
}

static void all_test(struct test *test, bool timed)
{
	guest_begin(&test->guest, TOFU_NETWORKS * (POINTS + !timed));
	tofu_virtual_find();
	test->came = guest_area(&test->guest, 4096, STAG, &test->came_at);
	guest_barrier(&test->guest);
	for (int i = 0; i < TOFU_NETWORKS; i++) {
		network_test(test, (enum tofu_network)i, timed);
		if (!timed)
			left_test(test, (enum tofu_network)i);
	}
}

int main(int argc, char **argv)
{
	struct test *test = calloc(1, sizeof(*test));
	const char *word = argc > 1 ? argv[1] : "";

	if (!test)
		return EXIT_FAILURE;
	if (!strcmp(word, "left")) {
		guest_begin(&test->guest, 1);
		left_test(test, TOFU_NETWORK_RING);
	} else if (!strcmp(word, "forked")) {
		guest_begin(&test->guest, 0);
		forked_test(test);
	} else {
		all_test(test, !strcmp(word, "times"));
	}
	return guest_end(&test->guest);
}
