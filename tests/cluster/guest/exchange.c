// SPDX-License-Identifier: MIT
/*
 * Neighbour exchanges among all nodes, with naps at random nodes at random
 * times: neighbours get ahead of each other, and every byte is checked.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tofu/neighbor.h>

#include "common/error.h"
#include "common/wait.h"
#include "guest.h"

#define MESSAGES 6
#define BYTES_MAX 100001
#define NAP_US 3000

/* One exchange in NAPS has a nap. */
#define NAPS 20

/**
 * struct form - how messages are exchanged
 * @bytes: bytes of the messages in each direction
 */
struct form {
	const char *name;
	enum tofu_neighbor_algorithm algorithm;
	enum tofu_neighbor_form form;
	unsigned int rounds;
	size_t bytes[MESSAGES];
};

/* Three times around the ring of the nodes: six messages on four engines */
static const struct form forms[] = {
	{
		.name = "native",
		.algorithm = TOFU_NEIGHBOR_NATIVE,
		.rounds = 1000,
		.bytes = { 8, 3001, 1, 20000, 700, 64 },
	},
	{
		.name = "segmented",
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
		.rounds = 1000,
		.bytes = { 8, 3001, 1, 20000, 700, 64 },
	},
	{
		.name = "segmented, in steps",
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
		.form = TOFU_NEIGHBOR_TWO_SIDED,
		.rounds = 500,
		.bytes = { 8, 3001, 1, 20000, 700, 64 },
	},
	{
		.name = "segmented, large messages",
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
		.rounds = 100,
		.bytes = {
			BYTES_MAX,
			BYTES_MAX,
			BYTES_MAX,
			BYTES_MAX,
			BYTES_MAX,
			BYTES_MAX,
		},
	},
	{
		.name = "native, one way",
		.algorithm = TOFU_NEIGHBOR_NATIVE,
		.rounds = 500,
		.bytes = { 4000, 0, 4000, 0, 4000, 0 },
	},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

struct test {
	struct guest guest;
	const struct form *form;
	struct tofu_message message[MESSAGES];
	struct tofu_exchange *exchange;
	char send[MESSAGES][BYTES_MAX];
	char recv[2][MESSAGES][BYTES_MAX];
	uint64_t random;
};

/* Even messages go to the next node, odd ones to the previous one. */
static uint32_t peer_of(const struct test *test, unsigned int message)
{
	return message % 2 ? guest_previous(&test->guest) :
			     guest_next(&test->guest);
}

static void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

static void exchange_make(struct test *test)
{
	const struct tofu_neighbor_params params = {
		.algorithm = test->form->algorithm,
		.form = test->form->form,
		.barrier = UTOFU_VBG_ID_NULL,
	};

	for (unsigned int i = 0; i < MESSAGES; i++)
		test->message[i] = (struct tofu_message){
			.send = test->send[i],
			.send_bytes = test->form->bytes[i],
			.recv = {
				test->recv[0][i],
				test->recv[1][i],
			},
			.recv_bytes = test->form->bytes[i ^ 1],
			.back = i ^ 1,
		};
	check(tofu_neighbor_create(&params, test->message, MESSAGES,
				   &test->exchange),
	      "create");
	for (unsigned int i = 0; i < MESSAGES; i++)
		guest_connect(&test->guest, test->exchange, i,
			      test->message[i].back, peer_of(test, i));
}

static void nap(struct test *test)
{
	test->random = guest_seed(test->random, test->guest.machine.node, 1);
	if (test->random % NAPS == 0)
		usleep((useconds_t)((test->random >> 32) % NAP_US));
}

static uint64_t seed_of(uint64_t round, uint32_t node, unsigned int message)
{
	return guest_seed(round, node, message);
}

static void round_fill(struct test *test, uint64_t round)
{
	for (unsigned int i = 0; i < MESSAGES; i++)
		guest_fill(test->send[i], test->message[i].send_bytes,
			   seed_of(round, test->guest.machine.node, i));
}

static size_t round_wrong(struct test *test, uint64_t round)
{
	size_t wrong = 0;

	for (unsigned int i = 0; i < MESSAGES; i++) {
		void *got;

		check(tofu_exchange_received(test->exchange, i, &got),
		      "received");
		wrong += guest_wrong(got, test->message[i].recv_bytes,
				     seed_of(round, peer_of(test, i),
					     test->message[i].back));
	}
	return wrong;
}

/* Return: the exchange's code, or UTOFU_ERR_NOT_COMPLETED if it takes long. */
static int round_wait(struct test *test)
{
	struct tofu_wait wait = tofu_wait_keen(GUEST_TIMEOUT);
	int code;

	do {
		code = tofu_exchange_test(test->exchange);
	} while (code == UTOFU_ERR_NOT_COMPLETED && tofu_wait_more(&wait));
	return code;
}

/* Checks twice: a neighbour that is ahead must not change the data. */
static int rounds_run(struct test *test, size_t *wrong)
{
	for (uint64_t round = 0; round < test->form->rounds; round++) {
		int code;

		round_fill(test, round);
		code = tofu_exchange_start(test->exchange);
		if (code)
			return code;
		nap(test);
		code = round_wait(test);
		if (code)
			return code;
		*wrong += round_wrong(test, round);
		nap(test);
		*wrong += round_wrong(test, round);
	}
	return UTOFU_SUCCESS;
}

static void form_run(struct test *test)
{
	size_t wrong = 0;
	int code;

	exchange_make(test);
	code = rounds_run(test, &wrong);
	if (code || wrong)
		guest_note(&test->guest, "%s; %zu bytes wrong",
			   tofu_error_text(code), wrong);
	guest_point(&test->guest, !code && !wrong, "%u exchanges, %s",
		    test->form->rounds, test->form->name);
	tofu_exchange_free(test->exchange);
}

int main(void)
{
	struct test *test = calloc(1, sizeof(*test));

	if (!test)
		return EXIT_FAILURE;
	guest_begin(&test->guest, FORMS);
	for (size_t i = 0; i < FORMS; i++) {
		test->form = &forms[i];
		form_run(test);
	}
	return guest_end(&test->guest);
}
