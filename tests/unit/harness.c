// SPDX-License-Identifier: MIT
#include "harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>

/**
 * struct result - of a test, in memory that its process shares with the runner
 * @ended: it has come to the end of its phases
 */
struct result {
	bool ended;
	bool failed;
	bool skipped;
	char reason[256];
};

struct harness_fixture harness_global = { .name = "global" };

static struct result *result;
static const struct harness_variant no_variant;

/* ---- Making lists ---- */

#define APPEND(list, item)                   \
	do {                                 \
		__typeof__(&(list)) at_ = &(list); \
		while (*at_)                 \
			at_ = &(*at_)->next; \
		*at_ = (item);               \
	} while (0)

void harness_add_fixture(struct harness_fixture *fixture)
{
	APPEND(harness_global.next, fixture);
}

void harness_add_variant(struct harness_fixture *fixture,
			 struct harness_variant *variant)
{
	APPEND(fixture->variants, variant);
}

void harness_add_test(struct harness_test *test)
{
	APPEND(test->fixture->tests, test);
}

/* ---- In a test's process ---- */

void harness_log(const struct harness_test *test, const char *file, int line,
		 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# %s:%d: %s: ", file, line, test->name);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

static const char *number(struct harness_value value, char text[24])
{
	if (value.is_signed)
		snprintf(text, 24, "%jd", (intmax_t)value.bits);
	else
		snprintf(text, 24, "%ju", value.bits);
	return text;
}

bool harness_fail(const struct harness_test *test, const char *file, int line,
		  const char *relation, struct harness_value expected,
		  struct harness_value seen)
{
	char left[24], right[24];

	result->failed = true;
	harness_log(test, file, line, "expected %s (%s) %s %s (%s)",
		    expected.text, number(expected, left), relation, seen.text,
		    number(seen, right));
	return true;
}

bool harness_fail_str(const struct harness_test *test, const char *file,
		      int line, const char *expected, const char *seen)
{
	if (expected && seen && !strcmp(expected, seen))
		return false;
	result->failed = true;
	harness_log(test, file, line, "expected '%s', seen '%s'", expected,
		    seen);
	return true;
}

bool harness_leave(struct harness_test *test, bool leave)
{
	if (leave)
		longjmp(test->leave, 1);
	return false;
}

void harness_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result->reason, sizeof(result->reason), format, args);
	va_end(args);
	result->skipped = true;
}

static void phase_run(struct harness_test *test, enum harness_phase phase,
		      const void *variant)
{
	if (!setjmp(test->leave))
		test->run(test, phase, variant);
}

static void test_play(struct harness_test *test, const void *variant)
{
	phase_run(test, HARNESS_SETUP, variant);
	if (!result->failed && !result->skipped) {
		phase_run(test, HARNESS_BODY, variant);
		phase_run(test, HARNESS_TEARDOWN, variant);
	}
	result->ended = true;
	fflush(stdout);
	_exit(0);
}

/* ---- In the runner ---- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Wait for a process; false when it does not end in time. SIGCHLD is blocked. */
static bool await(pid_t pid, unsigned int seconds, int *status)
{
	int64_t end = now_ms() + seconds * INT64_C(1000), left;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (waitpid(pid, status, WNOHANG) == 0) {
		struct timespec wait;

		left = end - now_ms();
		if (left <= 0)
			return false;
		wait.tv_sec = left / 1000;
		wait.tv_nsec = left % 1000 * 1000000;
		sigtimedwait(&child, NULL, &wait);
	}
	return true;
}

/* Report the end of a process that did not end with its test. */
static void judge(const struct harness_test *test, bool in_time, int status)
{
	if (!in_time)
		printf("# %s: not ended after %u s\n", test->name,
		       test->seconds);
	else if (WIFSIGNALED(status))
		printf("# %s: ended by signal %d, %s\n", test->name,
		       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!result->ended || WEXITSTATUS(status))
		printf("# %s: has ended the process, status %d\n", test->name,
		       WEXITSTATUS(status));
	else
		return;
	result->failed = true;
}

static pid_t test_start(struct harness_test *test, const void *variant,
			const sigset_t *mask)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	test_play(test, variant);
	return 0;
}

/* Run a test, and end what it has left. */
static void test_run(struct harness_test *test, const void *variant)
{
	sigset_t child, before;
	int status = 0;
	bool in_time;
	pid_t pid;

	memset(result, 0, sizeof(*result));
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	pid = test_start(test, variant, &before);
	if (pid < 0) {
		perror("# fork");
		result->failed = true;
		return;
	}
	setpgid(pid, pid);
	in_time = await(pid, test->seconds, &status);
	kill(-pid, SIGKILL);
	if (!in_time)
		waitpid(pid, &status, 0);
	judge(test, in_time, status);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/**
 * struct tally - points so far
 * @count: planned, when tests are only counted
 */
struct tally {
	unsigned int count;
	unsigned int failed;
	bool only_counts;
	char **wanted;
};

static void point(struct tally *tally, struct harness_test *test,
		  const struct harness_variant *variant)
{
	const char *dot = variant->name ? "." : "";
	const char *which = variant->name ? variant->name : "";
	char name[256];
	bool wanted = !*tally->wanted;

	snprintf(name, sizeof(name), "%s%s%s.%s", test->fixture->name, dot,
		 which, test->name);
	for (char **word = tally->wanted; *word; word++)
		wanted |= strstr(name, *word) != NULL;
	if (!wanted)
		return;
	tally->count++;
	if (tally->only_counts)
		return;
	test_run(test, variant->data);
	tally->failed += result->failed;
	printf("%sok %u - %s", result->failed ? "not " : "", tally->count,
	       name);
	if (result->skipped && !result->failed)
		printf(" # SKIP %s", result->reason);
	printf("\n");
}

static void fixture_run(struct tally *tally, struct harness_fixture *fixture)
{
	const struct harness_variant *variant =
		fixture->variants ? fixture->variants : &no_variant;

	for (; variant; variant = variant->next)
		for (struct harness_test *test = fixture->tests; test;
		     test = test->next)
			point(tally, test, variant);
}

static struct tally all_run(char **wanted, bool only_counts)
{
	struct tally tally = { .only_counts = only_counts, .wanted = wanted };
	struct harness_fixture *fixture = &harness_global;

	for (; fixture; fixture = fixture->next)
		fixture_run(&tally, fixture);
	return tally;
}

int harness_main(int argc, char **argv)
{
	char **wanted = argv + (argc > 0);

	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED) {
		perror("mmap");
		return EXIT_FAILURE;
	}
	/* Keep the output of a test that crashes. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%u\n", all_run(wanted, true).count);
	return all_run(wanted, false).failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
