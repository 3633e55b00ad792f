// SPDX-License-Identifier: MIT
/*
 * Collectives drawn from a seed, which is the same on all nodes: every kind and
 * algorithm in turn, with any type, operation, size, root, group and tuning,
 * one at a time and several at once in different orders on different nodes.
 * Every element is compared with what one process computes, and the bytes
 * around the buffers with what they were.
 *
 * usage: coll [CASES [STARTS [SEED]]]
 *
 * CASES is the number of cases (default 60), each of seed SEED + i; STARTS that
 * of starts of one collective (default 10000). A failure prints its seed, and
 * 'coll 1 0 SEED' repeats it.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll-case.h"

#define BITS_COUNT 700
#define SAME_COUNT 150

/* ---- The machine's own torus ---- */

/* Of members that follow each other on a node, too */
static bool are_neighbours(const struct test *test, uint32_t a, uint32_t b)
{
	a /= test->guest.machine.job.ppn;
	b /= test->guest.machine.job.ppn;
	for (int port = 0; port < TOFU_PORTS; port++)
		if (tofu_neighbour(&test->guest.machine.shape, a, port) == b)
			return true;
	return a == b;
}

/* Numbers grow fastest along the last axis. */
static void axis_check(struct test *test, const struct tofu_group *group,
		       const struct tofu_group_info *info, int axis)
{
	uint32_t step = 1, size = info->size[axis], a, b;

	for (int i = axis + 1; i < TOFU_COLL_AXES; i++)
		step *= info->size[i];
	for (uint32_t n = 0; n < info->count; n++) {
		uint32_t at = n / step % size;
		uint32_t next = n + ((at + 1) % size - at) * step;

		if (tofu_group_rank(group, n, &a) ||
		    tofu_group_rank(group, next, &b) ||
		    !are_neighbours(test, a, b))
			case_complain(test, "axis %d: members %u and %u", axis,
				      n, next);
	}
}

static void test_torus(struct test *test)
{
	struct part part = part_all(test);
	struct tofu_group_info info;

	if (tofu_group_query(part.group, &info))
		errx(EXIT_FAILURE, "no size of the group");
	for (int axis = 0; axis < TOFU_COLL_AXES; axis++)
		axis_check(test, part.group, &info, axis);
	part_free(&part);
	test_point(test, "members next to each other are neighbours");
}

/* ---- The same bits ---- */

static uint64_t hash(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < count; i++)
		h = (h ^ at[i]) * 0x100000001b3ULL;
	return h;
}

/* Sums that need rounding */
static struct handle rounding(enum tofu_coll_kind kind, enum tofu_coll_type type,
			      enum tofu_coll_op op, size_t count)
{
	return (struct handle){
		.data.spec = {
			.kind = kind,
			.type = type,
			.op = op,
			.count = count,
		},
		.data.size = tofu_coll_type_size(type),
		.data.seed = 99,
		.data.wild = true,
		.tuning.segment = 1000,
	};
}

static uint64_t start_hash(struct test *test, struct handle *h)
{
	handle_start(test, h, 0);
	handle_wait(test, h);
	return hash(h->recv.at, data_received(&h->data, h->number) *
					h->data.size);
}

/* Two collectives of the same members, each started twice */
static uint64_t runs_hash(struct test *test, const struct handle *form,
			  const struct part *part)
{
	uint64_t seen = 0, now;
	struct handle h;

	for (int i = 0; i < 4; i++) {

		if (i % 2 == 0) {
			h = *form;
			handle_create(test, &h, part);
		}
		now = start_hash(test, &h);
		if (i && now != seen)
			handle_complain(test, &h, "other bits in run %d", i);
		seen = now;
		if (i % 2) {
			guest_barrier(&test->guest);
			handle_free(&h);
		}
	}
	return seen;
}

static bool all_have(struct test *test, uint64_t mine)
{
	const uint64_t *all = guest_gather(&test->guest, &mine, 1);
	bool good = true;

	for (uint32_t i = 1; i < test->nodes; i++)
		good &= all[i] == all[0];
	return good;
}

static void kind_bits(struct test *test, enum tofu_coll_kind kind,
		      enum tofu_coll_algorithm algorithm,
		      const struct part *part)
{
	for (int i = 0; i < 4; i++) {
		struct handle form = rounding(kind,
			i % 2 ? TOFU_COLL_DOUBLE : TOFU_COLL_FLOAT,
			i / 2 ? TOFU_COLL_PROD : TOFU_COLL_SUM, BITS_COUNT);
		uint64_t mine;

		form.tuning.algorithm = algorithm;
		mine = runs_hash(test, &form, part);
		if (kind == TOFU_COLL_ALLREDUCE && !all_have(test, mine))
			handle_complain(test, &form, "other bits elsewhere");
	}
}

static void test_bits(struct test *test)
{
	struct part part = part_all(test);

	for (int kind = 0; kind < TOFU_COLL_KINDS; kind++)
		for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++)
			if (data_combines(kind) && tofu_coll_fits(kind, a))
				kind_bits(test, kind, a, &part);
	part_free(&part);
	test_point(test, "sums have the same bits on all members and in all runs");
}

/* What the root or all get of a reproducible sum, or 0 */
static uint64_t same_hash(struct test *test, enum tofu_coll_kind kind,
			  enum tofu_coll_algorithm algorithm,
			  const struct part *part)
{
	struct handle form = rounding(kind, TOFU_COLL_DOUBLE, TOFU_COLL_SUM,
				      SAME_COUNT);
	uint64_t mine;

	form.tuning.algorithm = algorithm;
	form.tuning.flags = TOFU_COLL_REPRODUCIBLE;
	form.by_rank = true;
	mine = runs_hash(test, &form, part);
	return kind == TOFU_COLL_ALLREDUCE || part->number == 0 ? mine : 0;
}

static void same_in(struct test *test, const struct part *part, uint64_t *sum)
{
	for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++)
		for (int kind = TOFU_COLL_REDUCE; kind <= TOFU_COLL_ALLREDUCE;
		     kind++) {
			uint64_t mine;

			if (a && !tofu_coll_fits(kind, a))
				continue;
			mine = same_hash(test, kind, a, part);
			if (mine && *sum && mine != *sum)
				case_complain(test, "%s, %s, %s: other bits",
					      tofu_coll_kind_name(kind),
					      a ? tofu_coll_algorithm_name(a) :
						  "auto",
					      part->text);
			if (mine)
				*sum = mine;
		}
}

static void test_reproducible(struct test *test)
{
	uint64_t sum = 0, state = 4711;
	struct part part = part_all(test);

	same_in(test, &part, &sum);
	part_free(&part);
	for (int i = 0; i < 2; i++) {
		part = part_list(test, &state, test->nodes);
		same_in(test, &part, &sum);
		part_free(&part);
	}
	if (!all_have(test, sum))
		case_complain(test, "reproducible sums differ between nodes");
	test_point(test, "reproducible sums have the same bits in all shapes and algorithms");
}

/* ---- Many starts ---- */

static void starts_run(struct test *test, struct handle *h, unsigned int starts)
{
	struct part part = part_all(test);

	handle_create(test, h, &part);
	for (unsigned int i = 0; i < starts; i++) {
		handle_start(test, h, i);
		handle_wait(test, h);
	}
	guest_barrier(&test->guest);
	handle_free(h);
	part_free(&part);
}

static struct handle small(enum tofu_coll_kind kind,
			   enum tofu_coll_algorithm algorithm, size_t count)
{
	return (struct handle){
		.data.spec = {
			.kind = kind,
			.type = TOFU_COLL_UINT64,
			.count = count,
		},
		.data.size = sizeof(uint64_t),
		.data.seed = 1,
		.tuning.algorithm = algorithm,
	};
}

static void test_starts(struct test *test, unsigned int starts)
{
	struct handle h = small(TOFU_COLL_ALLREDUCE, TOFU_COLL_AUTO, 1);

	starts_run(test, &h, starts);
	test_point(test, "%u starts of an allreduce of 8 bytes", starts);
	h = small(TOFU_COLL_ALLREDUCE, TOFU_COLL_DOUBLING, 2);
	starts_run(test, &h, starts / 10);
	/* Nothing but the library keeps the first members from running ahead. */
	for (int kind = 0; kind < TOFU_COLL_KINDS; kind++)
		for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++) {
			if (!tofu_coll_fits(kind, a))
				continue;
			h = small(kind, a, 3);
			starts_run(test, &h, starts / 50);
		}
	test_point(test, "%u starts of each kind with each algorithm",
		   starts / 50);
}

int main(int argc, char **argv)
{
	unsigned long long cases = argc > 1 ? strtoull(argv[1], NULL, 0) : 60;
	unsigned int starts = argc > 2 ? (unsigned int)atoi(argv[2]) : 10000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	struct test *test = calloc(1, sizeof(*test));

	if (!test)
		return EXIT_FAILURE;
	guest_begin_all(&test->guest, starts ? 6 : 1);
	test->node = test->guest.number;
	test->nodes = test->guest.count;
	test->boot = test->guest.world->boot;
	test->verbose = argc > 3;
	for (uint64_t i = 0; i < cases; i++)
		case_run(test, seed + i);
	test_point(test, "%llu cases from seed %" PRIu64, cases, seed);
	if (starts) {
		test_torus(test);
		test_bits(test);
		test_reproducible(test);
		test_starts(test, starts);
	}
	return guest_end(&test->guest);
}
