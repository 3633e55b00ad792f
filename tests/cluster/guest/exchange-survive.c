// SPDX-License-Identifier: MIT
/*
 * A process dies between two exchanges, when it has sent everything, and has
 * answered what the others sent it next: no command of theirs fails. Each of
 * them must end its wait all the same, by itself: no process leaves before all
 * have ended.
 *
 * usage: exchange-survive VICTIM native|segmented|steps die|wait
 *
 * The victim, not node 0, kills its process, or waits for the test to kill the
 * node: all nodes say "# node N: streaming" when it may. Node 0 prints TAP for
 * all: there is no barrier after a death.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tofu/neighbor.h>

#include "common/error.h"
#include "common/wait.h"
#include "guest.h"

#define NODES 4
#define MESSAGES 6 /* two to each other node */
#define BYTES 3001
#define WORDS_STAG 78

/* Exchanges before the one that the victim does not begin */
#define BEFORE 20

/**
 * struct way - what is exchanged how
 * @name: as people type it
 */
struct way {
	const char *name;
	enum tofu_neighbor_algorithm algorithm;
	enum tofu_neighbor_form form;
};

static const struct way ways[] = {
	{ "native", TOFU_NEIGHBOR_NATIVE, TOFU_NEIGHBOR_ONE_SIDED },
	{ "segmented", TOFU_NEIGHBOR_SEGMENTED, TOFU_NEIGHBOR_ONE_SIDED },
	{ "steps", TOFU_NEIGHBOR_SEGMENTED, TOFU_NEIGHBOR_STEPS },
};

/**
 * struct test
 * @dies:  the victim kills itself
 * @words: result of each node's wait: 1 and the code
 */
struct test {
	struct guest guest;
	uint32_t victim;
	const struct way *way;
	bool dies;
	uint64_t *words;
	utofu_stadd_t words_stadd;
	struct tofu_message message[MESSAGES];
	struct tofu_exchange *exchange;
	char send[MESSAGES][BYTES];
	char recv[2][MESSAGES][BYTES];
};

static void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

/* Even messages go that many nodes forward, odd ones back. */
static uint32_t peer_of(const struct test *test, unsigned int message)
{
	unsigned int far = message / 2 + 1;

	return (test->guest.machine.node + (message % 2 ? NODES - far : far)) %
	       NODES;
}

static void exchange_make(struct test *test)
{
	const struct tofu_neighbor_params params = {
		.algorithm = test->way->algorithm,
		.form = test->way->form,
		.barrier = UTOFU_VBG_ID_NULL,
	};

	for (unsigned int i = 0; i < MESSAGES; i++)
		test->message[i] = (struct tofu_message){
			.send = test->send[i],
			.send_bytes = BYTES,
			.recv = {
				test->recv[0][i],
				test->recv[1][i],
			},
			.recv_bytes = BYTES,
			.back = i ^ 1,
		};
	check(tofu_neighbor_create(&params, test->message, MESSAGES,
				   &test->exchange),
	      "tofu_neighbor_create");
	for (unsigned int i = 0; i < MESSAGES; i++)
		guest_connect(&test->guest, test->exchange, i, i ^ 1,
			      peer_of(test, i));
}

/* ---- Exchanges ---- */

static void round_fill(struct test *test, uint64_t round)
{
	for (unsigned int i = 0; i < MESSAGES; i++)
		guest_fill(test->send[i], BYTES,
			   guest_seed(round, test->guest.machine.node, i));
}

/* Counts bytes that differ from what the others send in a round. */
static size_t round_wrong(const struct test *test, uint64_t round)
{
	size_t wrong = 0;

	for (unsigned int i = 0; i < MESSAGES; i++)
		wrong += guest_wrong(test->recv[round % 2][i], BYTES,
				     guest_seed(round, peer_of(test, i),
						i ^ 1));
	return wrong;
}

static void rounds_run(struct test *test)
{
	for (uint64_t round = 0; round < BEFORE; round++) {
		round_fill(test, round);
		check(tofu_exchange_start(test->exchange), "start");
		check(tofu_exchange_wait(test->exchange), "wait");
		if (round_wrong(test, round))
			errx(EXIT_FAILURE, "bytes are wrong");
	}
}

/* Waits for what the others send in the exchange not begun here. */
static void victim_run(struct test *test)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);

	while (round_wrong(test, BEFORE))
		if (!tofu_wait_more(&wait))
			errx(EXIT_FAILURE, "the others have not sent");
	if (test->dies)
		raise(SIGKILL);
	guest_note(&test->guest, "streaming");
	sleep(GUEST_TIMEOUT);
}

/* ---- Those that live ---- */

static void word_tell(struct test *test, int code)
{
	utofu_stadd_t at = test->words_stadd +
			   test->guest.machine.node * sizeof(uint64_t);

	for (uint32_t node = 0; node < NODES; node++)
		if (node != test->victim)
			check(guest_finish(&test->guest,
					   utofu_put_piggyback8(
						   test->guest.vcq,
						   test->guest.id[node],
						   1 - code, at,
						   sizeof(uint64_t), 0,
						   GUEST_FLAGS, NULL),
					   NULL),
			      "utofu_put_piggyback8");
}

static bool all_told(const struct test *test)
{
	for (uint32_t node = 0; node < NODES; node++)
		if (node != test->victim &&
		    !__atomic_load_n(&test->words[node], __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static int words_print(const struct test *test)
{
	unsigned int number = 0;
	int failed = 0;

	for (uint32_t node = 0; node < NODES; node++) {
		bool good = test->words[node] == 1 - UTOFU_ERR_MRQ_PEER;

		if (node == test->victim)
			continue;
		failed |= !good;
		printf("%sok %u - the wait of node %u ends with UTOFU_ERR_MRQ_PEER\n",
		       good ? "" : "not ", ++number, node);
	}
	fflush(stdout);
	return failed;
}

static int survivor_run(struct test *test)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);

	round_fill(test, BEFORE);
	check(tofu_exchange_start(test->exchange), "start");
	guest_note(&test->guest, "streaming");
	alarm(GUEST_TIMEOUT);
	word_tell(test, tofu_exchange_wait(test->exchange));
	while (!all_told(test) && tofu_wait_more(&wait))
		;
	return test->guest.machine.node ? EXIT_SUCCESS : words_print(test);
}

/* ---- The whole ---- */

static int node_run(void *data)
{
	struct test *test = data;

	guest_begin(&test->guest, NODES - 1);
	if (test->guest.machine.nodes != NODES)
		errx(EXIT_FAILURE, "wants %u nodes", NODES);
	test->words = guest_area(&test->guest, 4096, WORDS_STAG,
				 &test->words_stadd);
	exchange_make(test);
	rounds_run(test);
	if (test->guest.machine.node == test->victim)
		victim_run(test);
	else
		return survivor_run(test);
	return EXIT_SUCCESS;
}

static const struct way *way_find(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static struct test test;

	if (argc == 4)
		test.way = way_find(argv[2]);
	if (!test.way)
		errx(EXIT_FAILURE,
		     "usage: exchange-survive VICTIM native|segmented|steps die|wait");
	test.victim = (uint32_t)strtoul(argv[1], NULL, 10);
	test.dies = !strcmp(argv[3], "die");
	return test.dies ? guest_watch(node_run, &test) : node_run(&test);
}
