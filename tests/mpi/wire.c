/* SPDX-License-Identifier: MIT */
/*
 * What an MPICH asks a process manager, without an MPICH: the program is linked with a
 * library of its name (wire-mpi.c), and writes and reads the lines itself. A test runs on
 * all ranks; rank 0 prints TAP.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "point.h"

/* As much as an MPICH has room for */
#define LINE_MAX_BYTES 1024
#define WAIT_SECONDS 60

int MPI_Init(int *argc, char ***argv);

int rank, ranks, left, right;

static int manager;
static char line[LINE_MAX_BYTES];

static int number_of(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : -1;
}

/* Return: whether the answer has come, and is for that. */
static bool ask(const char *request, const char *wanted)
{
	size_t have = 0;

	if (write(manager, request, strlen(request)) != (ssize_t)strlen(request))
		return false;
	while (have < sizeof(line) - 1 && read(manager, line + have, 1) == 1 &&
	       line[have] != '\n')
		have++;
	line[have] = '\0';
	return !strncmp(line, "cmd=", 4) &&
	       !strncmp(line + 4, wanted, strlen(wanted)) &&
	       line[4 + strlen(wanted)] == ' ';
}

static bool says(const char *word)
{
	const char *at = strstr(line, word);

	return at && (at[strlen(word)] == ' ' || !at[strlen(word)]);
}

/* ---- Tests ---- */

static int environment(void)
{
	manager = number_of("PMI_FD");
	TEST(manager >= 0);
	TEST(rank == number_of("TOFU_RANK") && ranks == number_of("TOFU_RANKS"));
	return 0;
}

static int beginning(void)
{
	TEST(ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init"));
	TEST(says("rc=0") && says("pmi_version=1") && says("pmi_subversion=1"));
	TEST(ask("cmd=get_maxes\n", "maxes"));
	TEST(says("keylen_max=64") && says("vallen_max=1024"));
	TEST(ask("cmd=get_appnum\n", "appnum") && says("appnum=0"));
	return 0;
}

static int size(void)
{
	char wanted[32];

	snprintf(wanted, sizeof(wanted), "size=%d", ranks);
	TEST(ask("cmd=get_universe_size\n", "universe_size") && says(wanted));
	return 0;
}

/* Long values, and twice: what is put after a barrier comes with the next one. */
static int words(void)
{
	char request[LINE_MAX_BYTES], value[512];

	TEST(ask("cmd=get_my_kvsname\n", "my_kvsname") && says("kvsname=tofu"));
	for (int turn = 0; turn < 2; turn++) {
		memset(value, 'a' + (rank + turn) % 26, sizeof(value));
		value[sizeof(value) - 1] = '\0';
		snprintf(request, sizeof(request),
			 "cmd=put kvsname=tofu key=of-%d value=%s\n", rank, value);
		TEST(ask(request, "put_result") && says("rc=0"));
		TEST(ask("cmd=barrier_in\n", "barrier_out"));
		memset(value, 'a' + (left + turn) % 26, sizeof(value) - 1);
		snprintf(request, sizeof(request), "cmd=get kvsname=tofu key=of-%d\n",
			 left);
		TEST(ask(request, "get_result") && says("rc=0"));
		snprintf(request, sizeof(request), "value=%s", value);
		TEST(says(request));
		TEST(ask("cmd=barrier_in\n", "barrier_out"));
	}
	return 0;
}

static int unknown_words(void)
{
	TEST(ask("cmd=get kvsname=tofu key=nobody-has-put-it\n", "get_result"));
	TEST(says("rc=-1"));
	return 0;
}

static int what_there_is_not(void)
{
	TEST(ask("cmd=publish_name service=a port=b\n", "publish_name_result"));
	TEST(says("rc=-1"));
	TEST(ask("mcmd=spawn\nnprocs=2\nexecname=a\ntotspawns=1\nendcmd\n",
		 "spawn_result"));
	TEST(says("rc=-1"));
	TEST(ask("words without meaning\n", "_result") && says("rc=-1"));
	return 0;
}

static int end(void)
{
	TEST(ask("cmd=finalize\n", "finalize_ack") && says("rc=0"));
	return 0;
}

static const struct test tests[] = {
	{ "rank, size and socket are in the environment", environment },
	{ "it begins, and tells its limits", beginning },
	{ "size of the universe", size },
	{ "words of others, after a barrier", words },
	{ "a word that nobody has put", unknown_words },
	{ "what there is not is refused", what_there_is_not },
	{ "the end", end },
};

#define TESTS ((int)(sizeof(tests) / sizeof(tests[0])))

/* Ranks that fail end at once, so others have a limit, and the launcher ends them. */
int main(int argc, char **argv)
{
	alarm(WAIT_SECONDS);
	MPI_Init(&argc, &argv);
	rank = number_of("PMI_RANK");
	ranks = number_of("PMI_SIZE");
	left = ranks > 0 ? (rank + ranks - 1) % ranks : 0;
	if (!rank)
		printf("TAP version 13\n1..%d\n", TESTS);
	for (int i = 0; i < TESTS; i++) {
		if (tests[i].run()) {
			printf("not ok %d %s\n", i + 1, tests[i].name);
			return EXIT_FAILURE;
		}
		if (!rank)
			printf("ok %d %s\n", i + 1, tests[i].name);
	}
	return EXIT_SUCCESS;
}
