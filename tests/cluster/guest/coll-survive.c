// SPDX-License-Identifier: MIT
/*
 * A process dies between two starts of an allreduce. Each other one must end a
 * round by itself with an error, and name the dead one. Then the survivors free
 * the collective and the group, and gather their answers by a collective of a
 * group of their own.
 *
 * usage: coll-survive VICTIM ALGORITHM die|wait
 *
 * The victim, not node 0, kills its process, or waits for the test to kill the
 * node: all nodes say "# node N: streaming" when it may. Node 0 prints TAP for
 * all.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tofu/coll.h>

#include "common/error.h"
#include "guest.h"

#define NODES 4
/* Gates combine so many words. */
#define FEW 6
#define COUNT 5000
#define BEFORE 50

/**
 * struct test
 * @dies: the victim kills itself
 * @lost: rank that is said to be lost
 */
struct test {
	struct guest guest;
	struct tofu_boot *boot;
	uint32_t victim;
	enum tofu_coll_algorithm algorithm;
	bool dies;
	uint32_t lost;
	uint64_t send[COUNT];
	uint64_t recv[COUNT];
};

static void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

/* ---- The collective that loses a member ---- */

static size_t count_of(const struct test *test)
{
	return test->algorithm == TOFU_COLL_GATES ? FEW : COUNT;
}

static struct tofu_coll *coll_make(struct test *test, struct tofu_group *group)
{
	const struct tofu_coll_spec spec = {
		.kind = TOFU_COLL_ALLREDUCE,
		.type = TOFU_COLL_UINT64,
		.op = TOFU_COLL_SUM,
		.count = count_of(test),
		.send = test->send,
		.recv = test->recv,
	};
	const struct tofu_coll_tuning tuning = {
		.algorithm = test->algorithm,
		.segment = 1024,
	};
	struct tofu_coll_description how;
	struct tofu_coll *coll;

	check(tofu_coll_create(group, &spec, &tuning, &coll), "create");
	check(tofu_coll_describe(coll, &how), "describe");
	if (how.algorithm != test->algorithm)
		errx(EXIT_FAILURE, "%s", how.text);
	return coll;
}

/* Return: as tofu_coll_wait(). */
static int round_run(struct test *test, struct tofu_coll *coll, uint64_t round)
{
	const uint64_t sum = NODES * (NODES - 1) / 2;
	int code;

	for (size_t i = 0; i < count_of(test); i++)
		test->send[i] = round + i + test->guest.number;
	code = tofu_coll_start(coll);
	if (!code)
		code = tofu_coll_wait(coll);
	for (size_t i = 0; i < count_of(test) && !code; i++)
		if (test->recv[i] != NODES * (round + i) + sum)
			errx(EXIT_FAILURE, "round %llu: element %zu is wrong",
			     (unsigned long long)round, i);
	return code;
}

static int victim_run(struct test *test, struct tofu_coll *coll)
{
	for (uint64_t round = 0; round < BEFORE; round++)
		check(round_run(test, coll, round), "round");
	if (test->dies)
		raise(SIGKILL);
	guest_note(&test->guest, "streaming");
	sleep(GUEST_TIMEOUT);
	return EXIT_FAILURE;
}

/*
 * The victim may be dead before this node has ended the last round: what it has
 * told may be lost with it.
 *
 * Return: the code of the round that fails, 0 for none.
 */
static int loss_await(struct test *test, struct tofu_coll *coll)
{
	int code = UTOFU_SUCCESS;

	alarm(GUEST_TIMEOUT);
	for (uint64_t round = 0; round <= BEFORE && !code; round++) {
		if (round == BEFORE)
			guest_note(&test->guest, "streaming");
		code = round_run(test, coll, round);
	}
	if (tofu_coll_lost(coll, &test->lost))
		test->lost = UINT32_MAX;
	return code;
}

/* ---- Those that live ---- */

static void answers_print(const struct test *test, const uint64_t answers[])
{
	const uint64_t good = test->victim;
	unsigned int number = 0;

	for (uint32_t node = 0; node < NODES; node++) {
		if (node == test->victim)
			continue;
		if (answers[number] != good)
			printf("# code and rank: %016llx\nnot ",
			       (unsigned long long)answers[number]);
		printf("ok %u - the wait of node %u ends, and names node %u\n",
		       number + 1, node, test->victim);
		number++;
	}
	fflush(stdout);
}

/* The code's difference from the one that is due, and the rank */
static uint64_t answer(const struct test *test, int code)
{
	return (uint64_t)(uint32_t)(code - UTOFU_ERR_MRQ_PEER) << 32 |
	       test->lost;
}

static void answers_gather(struct test *test, uint64_t mine)
{
	uint64_t answers[NODES];
	const struct tofu_coll_spec spec = {
		.kind = TOFU_COLL_ALLGATHER,
		.type = TOFU_COLL_UINT64,
		.count = 1,
		.send = &mine,
		.recv = answers,
	};
	uint32_t ranks[NODES], count = 0;
	struct tofu_group *group;

	for (uint32_t node = 0; node < NODES; node++)
		if (node != test->victim)
			ranks[count++] = node;
	check(tofu_group_create(test->boot, ranks, count, NULL, &group),
	      "group of the survivors");
	check(tofu_coll_run(group, &spec, NULL), "allgather of the survivors");
	tofu_group_free(group);
	if (!test->guest.number)
		answers_print(test, answers);
}

static int node_run(void *data)
{
	struct test *test = data;
	struct tofu_group *group;
	struct tofu_coll *coll;
	int code;

	guest_begin(&test->guest, NODES - 1);
	if (test->guest.count != NODES)
		errx(EXIT_FAILURE, "wants %u nodes", NODES);
	test->boot = test->guest.world->boot;
	check(tofu_group_create(test->boot, NULL, 0, NULL, &group), "group");
	coll = coll_make(test, group);
	if (test->guest.number == test->victim)
		return victim_run(test, coll);
	code = loss_await(test, coll);
	tofu_coll_free(coll);
	tofu_group_free(group);
	answers_gather(test, answer(test, code));
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct test test;

	if (argc != 4)
		errx(EXIT_FAILURE,
		     "usage: coll-survive VICTIM ALGORITHM die|wait");
	test.victim = (uint32_t)strtoul(argv[1], NULL, 10);
	test.dies = !strcmp(argv[3], "die");
	for (int a = TOFU_COLL_GATES; a < TOFU_COLL_ALGORITHMS; a++)
		if (!strcmp(tofu_coll_algorithm_name(a), argv[2]))
			test.algorithm = a;
	if (!test.algorithm)
		errx(EXIT_FAILURE, "'%s' is not an algorithm", argv[2]);
	return test.dies ? guest_watch(node_run, &test) : node_run(&test);
}
