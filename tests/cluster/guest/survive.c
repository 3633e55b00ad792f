// SPDX-License-Identifier: MIT
/*
 * A node dies in mid-transfer. All nodes send to all others without end; the
 * test kills one. The survivors must see an error of a command to that node,
 * none may hang, and transfers between them must continue.
 *
 * usage: survive VICTIM [COMMANDS]
 *
 * The victim runs COMMANDS of the shell beside the program, whose process is
 * $PROGRAM there, and ends with their status.
 *
 * Prints "# node N: streaming" when a node is under way, and its part of the
 * TAP when it has seen the victim die. Each survivor reports separately: there
 * is no barrier after a death.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/stats.h"
#include "common/wait.h"
#include "guest.h"

#define STAG 60
#define BYTES (1 << 20)
#define WINDOW 8
#define AFTER 200
#define DEATH_SECONDS 120ULL

/**
 * struct test
 * @area:   BYTES to send from, BYTES for each node to receive into, and a word
 *          for each node to report that it has finished
 * @busy:   puts without a report so far
 * @errors: commands to the victim that failed as they should
 * @wrong:  other commands that failed
 * @sent:   puts tried so far
 */
struct test {
	struct guest guest;
	uint32_t victim;
	uint8_t *area;
	utofu_stadd_t stadd;
	unsigned int busy;
	unsigned int errors;
	unsigned int wrong;
	uint64_t sent;
};

static void put_to(struct test *test, uint32_t node)
{
	struct guest *guest = &test->guest;
	utofu_stadd_t to = test->stadd +
			   (utofu_stadd_t)BYTES * (1 + guest->machine.node);
	int code = utofu_put(guest->vcq, guest->id[node], test->stadd, to,
			     BYTES, node & 0xff, GUEST_FLAGS, NULL);

	if (code == UTOFU_SUCCESS)
		test->busy++;
	else if (code != UTOFU_ERR_BUSY)
		test->wrong++;
	test->sent++;
}

static void queues_poll(struct test *test)
{
	struct utofu_mrq_notice notice;
	void *cbdata;
	int code = utofu_poll_tcq(test->guest.vcq, 0, &cbdata);

	if (code == UTOFU_SUCCESS)
		test->busy--;
	else if (code != UTOFU_ERR_NOT_FOUND)
		test->wrong++;
	code = utofu_poll_mrq(test->guest.vcq, 0, &notice);
	if (code == UTOFU_ERR_NOT_FOUND || code == UTOFU_SUCCESS)
		return;
	if (code == UTOFU_ERR_MRQ_PEER && notice.edata == (test->victim & 0xff))
		test->errors++;
	else
		test->wrong++;
}

static bool drain(struct test *test)
{
	uint64_t began = tofu_now();

	while (test->busy) {
		queues_poll(test);
		if (tofu_now() - began > DEATH_SECONDS * 1000000000ULL)
			return false;
	}
	return true;
}

/* Sends round to all until a command to the victim fails. */
static bool stream(struct test *test)
{
	uint32_t nodes = test->guest.machine.nodes;
	uint32_t to = test->guest.machine.node;
	uint64_t began = tofu_now();

	while (!test->errors) {
		if (tofu_now() - began > DEATH_SECONDS * 1000000000ULL)
			return false;
		if (test->busy < WINDOW) {
			to = (to + 1) % nodes;
			put_to(test, to);
			if (test->sent == 4 * WINDOW)
				guest_note(&test->guest, "streaming");
		}
		queues_poll(test);
	}
	return drain(test);
}

/* Sends to the next node that is alive, or to itself if none is. */
static bool go_on(struct test *test)
{
	uint32_t nodes = test->guest.machine.nodes;
	uint32_t to = guest_next(&test->guest);

	if (to == test->victim)
		to = (to + 1) % nodes;
	for (int i = 0; i < AFTER; i++) {
		put_to(test, to);
		if (!drain(test))
			return false;
	}
	return !test->wrong;
}

static bool still_refused(struct test *test)
{
	unsigned int before = test->errors;

	put_to(test, test->victim);
	/* The notice comes with the report or after it. */
	for (uint64_t began = tofu_now();
	     test->errors == before &&
	     tofu_now() - began < 10 * 1000000000ULL;)
		queues_poll(test);
	return drain(test) && test->errors == before + 1;
}

/*
 * No node leaves while another survivor may still send to it, which would look
 * like another death.
 */
static bool part(struct test *test)
{
	struct guest *guest = &test->guest;
	size_t words = (size_t)BYTES * (1 + guest->machine.nodes);
	uint64_t *through = (uint64_t *)(test->area + words);
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);

	for (uint32_t n = 0; n < guest->machine.nodes; n++) {
		utofu_stadd_t to = test->stadd + words +
				   guest->machine.node * sizeof(*through);
		int code;

		if (n == test->victim)
			continue;
		code = utofu_put_piggyback8(guest->vcq, guest->id[n], 1, to,
					    sizeof(*through), 0, GUEST_FLAGS,
					    NULL);
		if (guest_finish(guest, code, NULL) != UTOFU_SUCCESS)
			return false;
	}
	for (uint32_t n = 0; n < guest->machine.nodes; n++) {
		while (n != test->victim &&
		       !__atomic_load_n(&through[n], __ATOMIC_ACQUIRE)) {
			queues_poll(test);
			if (!tofu_wait_more(&wait))
				return false;
		}
	}
	return true;
}

static void point(unsigned int number, bool good, const char *name)
{
	printf("%sok %u - %s\n", good ? "" : "not ", number, name);
	fflush(stdout);
}

/* The program goes on in a child; here are the commands that end it. */
static void strike(const char *commands)
{
	char text[16];
	pid_t program = fork();
	int status;

	if (program < 0)
		err(EXIT_FAILURE, "fork");
	if (!program)
		return;
	snprintf(text, sizeof(text), "%d", (int)program);
	if (setenv("PROGRAM", text, 1))
		err(EXIT_FAILURE, "setenv");
	status = system(commands);
	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	exit(status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) :
						 EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	const char *node = getenv("TOFU_NODE");
	struct test test = { 0 };
	size_t bytes;
	bool good;

	if (argc != 2 && argc != 3)
		errx(EXIT_FAILURE, "usage: survive VICTIM [COMMANDS]");
	test.victim = (uint32_t)strtoul(argv[1], NULL, 10);
	if (argc == 3 && node && strtoul(node, NULL, 10) == test.victim)
		strike(argv[2]);
	guest_begin(&test.guest, 3);
	if (test.guest.machine.node != 0)
		printf("TAP version 13\n1..3\n");
	bytes = (size_t)BYTES * (1 + test.guest.machine.nodes) +
		test.guest.machine.nodes * sizeof(uint64_t);
	test.area = guest_area(&test.guest, bytes, STAG, &test.stadd);
	guest_fill(test.area, BYTES, test.guest.machine.node);
	guest_barrier(&test.guest);

	good = stream(&test);
	point(1, good && test.errors, "a command to the dead node ends in PEER");
	good = good && go_on(&test);
	point(2, good, "the others go on");
	good = good && still_refused(&test);
	point(3, good, "a new command to the dead node ends in PEER");
	if (!part(&test))
		errx(EXIT_FAILURE, "a survivor is missing");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
