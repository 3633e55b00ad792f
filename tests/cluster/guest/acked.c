// SPDX-License-Identifier: MIT
/*
 * Node VICTIM is struck by a fault while all others put to it. Each put that was
 * acknowledged before has to be in its memory, whole; the others get PEER, and
 * go on among themselves.
 *
 * usage: acked VICTIM FAULT FILE
 *
 * The victim's memory is FILE, which outlives it. FAULT is what it does when
 * each has put enough:
 *
 *   kill, exec, exit, crash   ends, in that way
 *   parent    executes a program that stays, and has a child from before
 *   wait      does nothing more until the test ends it
 *   eat       stops; when it is continued, touches memory until a limit kills it,
 *             or says that none does
 *   none      nothing: all puts have to end well, whatever the test does to it
 *
 * The victim says "# node N: victim PID" before the first put and "# node N:
 * struck" when it begins that, the others say at their ends how they have fared.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/wait.h"
#include "guest.h"

#define STAG 60
#define SECONDS 120
#define EDATA 256

/* A put is one block, by reference; it does not overwrite one under way. */
#define BLOCK 4096
#define WORDS (BLOCK / sizeof(uint64_t))
#define UNDER_WAY 4
#define BLOCKS (2 * UNDER_WAY)
#define AREA (BLOCKS * BLOCK)

/* Puts of a node before the fault, and altogether where there is none */
#define BEFORE 500
#define PUTS 50000

/* More than the limit of memory of any test */
#define EAT_BYTES (1ULL << 30)
#define NOT_EATEN 3

static const char *const faults[] = { "kill", "exec", "parent", "exit",
				      "crash", "wait", "eat",    "none" };

/**
 * struct test
 * @area:  at the victim: the file, AREA for each node; else blocks to send from
 * @to:    STADD of this node's part of the victim's area
 * @sent:  puts so far; put n has the words n + 1 in block n % BLOCKS
 * @acked: the first of them that were acknowledged
 * @done:  by put modulo EDATA: acknowledged, perhaps before earlier ones
 * @refused: puts to the victim that ended with PEER
 */
struct test {
	struct guest guest;
	uint32_t victim;
	const char *fault;
	const char *file;
	uint64_t *area;
	utofu_stadd_t from;
	utofu_stadd_t to;
	uint64_t sent;
	uint64_t acked;
	bool done[EDATA];
	unsigned int refused;
};

static bool faultless(const struct test *test)
{
	return !strcmp(test->fault, "none");
}

static void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

/* ---- The victim ---- */

static uint64_t *file_map(const struct test *test)
{
	const size_t bytes = (size_t)AREA * test->guest.machine.nodes;
	int fd = open(test->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		err(EXIT_FAILURE, "%s", test->file);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		err(EXIT_FAILURE, "%s", test->file);
	close(fd);
	return at;
}

/* Wait until each node has put @count blocks. */
static void puts_await(const struct test *test, uint64_t count)
{
	const uint64_t *word = test->area + (count - 1) % BLOCKS * WORDS;
	struct tofu_wait wait = tofu_wait_patient(SECONDS);

	for (uint32_t n = 0; n < test->guest.machine.nodes; n++)
		while (n != test->victim &&
		       __atomic_load_n(&word[n * BLOCKS * WORDS],
				       __ATOMIC_ACQUIRE) < count)
			if (!tofu_wait_more(&wait))
				errx(EXIT_FAILURE, "node %u puts nothing", n);
}

static int eat(void)
{
	char *at = mmap(NULL, EAT_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	raise(SIGSTOP);
	if (at != MAP_FAILED)
		memset(at, 1, EAT_BYTES);
	puts("# no limit of memory");
	return NOT_EATEN;
}

/* Execute a program while a child lives that has what the parent had open. */
static void execute_as_parent(void)
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(pause());
	}
	execl("/bin/sleep", "sleep", "600", (char *)NULL);
}

static int strike(const struct test *test)
{
	guest_note(&test->guest, "struck");
	if (!strcmp(test->fault, "kill"))
		raise(SIGKILL);
	else if (!strcmp(test->fault, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	else if (!strcmp(test->fault, "parent"))
		execute_as_parent();
	else if (!strcmp(test->fault, "crash"))
		raise(SIGSEGV);
	else if (!strcmp(test->fault, "wait"))
		pause();
	else if (!strcmp(test->fault, "eat"))
		return eat();
	/* Without closing anything */
	exit(EXIT_SUCCESS);
}

static int victim_run(void *data)
{
	struct test *test = data;
	utofu_stadd_t stadd;

	guest_begin(&test->guest, 1);
	test->area = file_map(test);
	check(utofu_reg_mem_with_stag(test->guest.vcq, test->area,
				      (size_t)AREA * test->guest.machine.nodes,
				      STAG, 0, &stadd),
	      "utofu_reg_mem_with_stag");
	guest_note(&test->guest, "victim %d", (int)getpid());
	guest_barrier(&test->guest);
	puts_await(test, faultless(test) ? PUTS : BEFORE);
	return strike(test);
}

/* In a child: tofu-run ends all when a process of its own dies. */
static int victim_watch(struct test *test)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(EXIT_FAILURE, "fork");
	if (!child)
		exit(victim_run(test));
	if (waitpid(child, &status, 0) != child)
		err(EXIT_FAILURE, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SUCCESS;
}

/* ---- The others ---- */

static void block_put(struct test *test)
{
	const uint64_t at = test->sent % BLOCKS * BLOCK;
	uint64_t *word = test->area + test->sent % BLOCKS * WORDS;
	int code;

	for (size_t i = 0; i < WORDS; i++)
		word[i] = test->sent + 1;
	code = utofu_put(test->guest.vcq, test->guest.id[test->victim],
			 test->from + at, test->to + at, BLOCK,
			 test->sent % EDATA,
			 UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL);
	if (code != UTOFU_ERR_BUSY) {
		check(code, "utofu_put");
		test->sent++;
	}
}

/* Wait for the end of a put; false when none ends. */
static bool notice_await(struct test *test)
{
	struct tofu_wait wait = tofu_wait_patient(SECONDS);
	struct utofu_mrq_notice notice;
	int code;

	do {
		code = utofu_poll_mrq(test->guest.vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND && tofu_wait_more(&wait));
	if (code == UTOFU_ERR_NOT_FOUND)
		return false;
	if (code == UTOFU_ERR_MRQ_PEER) {
		test->refused++;
		return true;
	}
	check(code, "utofu_poll_mrq");
	test->done[notice.edata] = true;
	while (test->acked < test->sent && test->done[test->acked % EDATA])
		test->done[test->acked++ % EDATA] = false;
	return true;
}

/* Until a put fails, or all have ended: each has an end. */
static bool stream(struct test *test)
{
	const uint64_t puts = faultless(test) ? PUTS : UINT64_MAX;
	uint64_t ended = 0;

	while (ended < test->sent || (test->sent < puts && !test->refused)) {
		if (test->sent < puts && !test->refused &&
		    test->sent < ended + UNDER_WAY) {
			block_put(test);
			continue;
		}
		if (!notice_await(test))
			return false;
		ended++;
	}
	return faultless(test) ? !test->refused : test->refused;
}

/* The acknowledged blocks that no later put can have overwritten */
static bool acked_are_there(const struct test *test)
{
	const uint64_t *area =
		file_map(test) + test->guest.machine.node * BLOCKS * WORDS;
	const uint64_t first =
		test->sent > BLOCKS ? test->sent - BLOCKS : 0;

	for (uint64_t n = first; n < test->acked; n++)
		for (size_t i = 0; i < WORDS; i++)
			if (area[n % BLOCKS * WORDS + i] != n + 1)
				return false;
	return test->acked > first;
}

static bool refused_again(struct test *test)
{
	const unsigned int before = test->refused;

	block_put(test);
	return notice_await(test) && test->refused == before + 1;
}

/* A word goes around all that are left, by the next node. */
static bool others_go_on(struct test *test)
{
	struct guest *guest = &test->guest;
	uint32_t next = guest_next(guest);

	if (next == test->victim)
		next = (next + 1) % guest->machine.nodes;
	/* The block behind those for the victim, of the next node */
	return guest_finish(guest,
			    utofu_put_piggyback8(guest->vcq, guest->id[next], 1,
						 test->from + AREA, 8, 0,
						 GUEST_FLAGS, NULL),
			    NULL) == UTOFU_SUCCESS;
}

/* All survivors have to be there until each has put to the next. */
static bool part(const struct test *test)
{
	struct tofu_wait wait = tofu_wait_patient(SECONDS);
	const uint64_t *word = test->area + BLOCKS * WORDS;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		if (!tofu_wait_more(&wait))
			return false;
	return true;
}

static int survivor_run(struct test *test)
{
	const char *trouble = NULL;

	guest_begin(&test->guest, 1);
	/* The same STAG and offset as at the victim */
	test->area = guest_area(&test->guest, AREA + BLOCK, STAG, &test->from);
	check(utofu_query_stadd(test->guest.id[test->victim], STAG, &test->to),
	      "utofu_query_stadd");
	test->to += (utofu_stadd_t)AREA * test->guest.machine.node;
	guest_barrier(&test->guest);
	if (!stream(test))
		trouble = "a put has ended in another way, or never";
	else if (!acked_are_there(test))
		trouble = "what was acknowledged is not there";
	else if (!faultless(test) && !refused_again(test))
		trouble = "a later put is not refused";
	else if (!others_go_on(test) || !part(test))
		trouble = "the others do not go on";
	guest_note(&test->guest, "%s: %lu of %lu acknowledged, %u refused",
		   trouble ? trouble : "good", test->acked, test->sent,
		   test->refused);
	return trouble ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const char *node = getenv("TOFU_NODE");
	struct test test = { 0 };
	bool known = false;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		known |= argc == 4 && !strcmp(argv[2], faults[i]);
	if (!known || !node)
		errx(EXIT_FAILURE, "usage: acked VICTIM FAULT FILE");
	test.victim = (uint32_t)strtoul(argv[1], NULL, 10);
	test.fault = argv[2];
	test.file = argv[3];
	return strtoul(node, NULL, 10) == test.victim ? victim_watch(&test) :
							survivor_run(&test);
}
