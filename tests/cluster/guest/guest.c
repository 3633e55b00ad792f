// SPDX-License-Identifier: MIT
#include <err.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/wait.h"
#include "guest.h"

#define ODD 0x9e3779b97f4a7c15ULL

static void fail(const char *what, char *why)
{
	/* A line that TAP parsers take for a failure */
	printf("Bail out! %s%s%s\n", what, why ? ": " : "", why ? why : "");
	fflush(stdout);
	errx(EXIT_FAILURE, "%s%s%s", what, why ? ": " : "", why ? why : "");
}

static void check(int code, const char *what)
{
	if (code != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

typedef int join_fn(const struct tofu_machine *machine, unsigned int timeout,
		    char **why, struct tofu_world **world);

static void begin(struct guest *guest, unsigned int plan, join_fn *join)
{
	uint64_t own;
	const uint64_t *ids;
	char *why = NULL;

	*guest = (struct guest){ 0 };
	if (tofu_machine_find(&guest->machine, &why) ||
	    join(&guest->machine, GUEST_TIMEOUT, &why, &guest->world))
		fail("the processes do not meet", why);
	guest->number = guest->machine.job.rank;
	guest->count = guest->machine.job.ranks;
	if (guest->number == 0) {
		printf("TAP version 13\n1..%u\n", plan);
		fflush(stdout);
	}
	check(utofu_create_vcq(0, 0, &guest->vcq), "utofu_create_vcq");
	check(utofu_query_vcq_id(guest->vcq, &own), "utofu_query_vcq_id");
	ids = guest_gather(guest, &own, 1);
	guest->id = calloc(guest->count, sizeof(*guest->id));
	if (!guest->id)
		fail("no memory", NULL);
	memcpy(guest->id, ids, guest->count * sizeof(*guest->id));
}

void guest_begin(struct guest *guest, unsigned int plan)
{
	begin(guest, plan, tofu_world_join);
}

void guest_begin_all(struct guest *guest, unsigned int plan)
{
	begin(guest, plan, tofu_world_meet);
}

int guest_end(struct guest *guest)
{
	char *why = NULL;

	utofu_free_vcq(guest->vcq);
	free(guest->id);
	if (tofu_world_leave(guest->world, &why))
		fail("the processes do not part", why);
	return guest->failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int guest_watch(int (*run)(void *data), void *data)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(EXIT_FAILURE, "fork");
	if (!child)
		exit(run(data));
	if (waitpid(child, &status, 0) != child)
		err(EXIT_FAILURE, "waitpid");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return EXIT_SUCCESS;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static void point_print(struct guest *guest, bool good, const char *name,
			const char *skip)
{
	guest->points++;
	guest->failed += !good;
	if (guest->number != 0)
		return;
	printf("%sok %u - %s%s%s\n", good ? "" : "not ", guest->points, name,
	       skip ? " # SKIP " : "", skip ? skip : "");
	fflush(stdout);
}

void guest_point(struct guest *guest, bool good, const char *format, ...)
{
	uint64_t mine = good;
	const uint64_t *all = guest_gather(guest, &mine, 1);
	char name[256];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	for (uint32_t node = 0; node < guest->count; node++) {
		if (!all[node] && guest->number == 0)
			printf("# failed on node %u\n", node);
		good &= all[node];
	}
	point_print(guest, good, name, NULL);
}

void guest_skip(struct guest *guest, const char *name, const char *reason)
{
	point_print(guest, true, name, reason);
}

void guest_note(const struct guest *guest, const char *format, ...)
{
	va_list args;

	/* Node 0's notes are in its TAP; the others have no TAP. */
	printf("# node %u: ", guest->number);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

void guest_barrier(struct guest *guest)
{
	char *why = NULL;

	if (tofu_world_barrier(guest->world, &why))
		fail("barrier", why);
}

const uint64_t *guest_gather(struct guest *guest, const uint64_t *mine,
			     size_t words)
{
	const uint64_t *all = NULL;
	char *why = NULL;

	if (tofu_world_gather(guest->world, mine, words, &all, &why))
		fail("allgather", why);
	return all;
}

/* All nodes get all cards, in pieces; each keeps the one it needs. */
void guest_connect(struct guest *guest, struct tofu_exchange *exchange,
		   unsigned int message, unsigned int back, uint32_t peer)
{
	struct tofu_exchange_card own, card;
	const uint64_t *all;

	/* All nodes have the card of @back, for the message that meets it. */
	check(tofu_exchange_card(exchange, back, &own), "tofu_exchange_card");
	for (size_t i = 0; i < TOFU_EXCHANGE_CARD_WORDS; i += TOFU_WORLD_WORDS) {
		all = guest_gather(guest, own.word + i, TOFU_WORLD_WORDS);
		memcpy(card.word + i, all + (size_t)peer * TOFU_WORLD_WORDS,
		       TOFU_WORLD_WORDS * sizeof(*all));
	}
	check(tofu_exchange_connect(exchange, message, &card),
	      "tofu_exchange_connect");
}

void *guest_area(struct guest *guest, size_t bytes, unsigned int stag,
		 utofu_stadd_t *stadd)
{
	void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (area == MAP_FAILED)
		err(EXIT_FAILURE, "%zu bytes", bytes);
	check(utofu_reg_mem_with_stag(guest->vcq, area, bytes, stag, 0, stadd),
	      "utofu_reg_mem_with_stag");
	return area;
}

uint32_t guest_next(const struct guest *guest)
{
	return (guest->number + 1) % guest->count;
}

uint32_t guest_previous(const struct guest *guest)
{
	return (guest->number + guest->count - 1) %
	       guest->count;
}

int guest_finish(struct guest *guest, int posted,
		 struct utofu_mrq_notice *notice)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);
	struct utofu_mrq_notice other;
	void *cbdata;
	int code;

	if (posted != UTOFU_SUCCESS)
		return posted;
	do {
		code = utofu_poll_tcq(guest->vcq, 0, &cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND && tofu_wait_more(&wait));
	while (code == UTOFU_SUCCESS || code == UTOFU_ERR_NOT_FOUND) {
		code = utofu_poll_mrq(guest->vcq, 0, notice ? notice : &other);
		if (code == UTOFU_SUCCESS)
			return code;
		if (code == UTOFU_ERR_NOT_FOUND && !tofu_wait_more(&wait))
			return UTOFU_ERR_NOT_COMPLETED;
	}
	return code;
}

uint64_t guest_seed(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * ODD ^ (b + ODD) * 0xbf58476d1ce4e5b9ULL ^
		     (c ^ ODD) * 0x94d049bb133111ebULL;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 29;
}

static uint64_t word_at(uint64_t seed, size_t index)
{
	uint64_t x = seed + index * ODD;

	return x ^ x >> 29;
}

void guest_fill(void *buf, size_t bytes, uint64_t seed)
{
	uint8_t *at = buf;
	uint64_t word;
	size_t i;

	for (i = 0; i < bytes / sizeof(word); i++, at += sizeof(word)) {
		word = word_at(seed, i);
		memcpy(at, &word, sizeof(word));
	}
	word = word_at(seed, i);
	memcpy(at, &word, bytes % sizeof(word));
}

static size_t differing(uint64_t a, uint64_t b, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++, a >>= 8, b >>= 8)
		count += (a & 0xff) != (b & 0xff);
	return count;
}

size_t guest_wrong(const void *buf, size_t bytes, uint64_t seed)
{
	const uint8_t *at = buf;
	size_t count = 0;
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < bytes / sizeof(word); i++, at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		if (word != word_at(seed, i))
			count += differing(word, word_at(seed, i), sizeof(word));
	}
	memcpy(&word, at, bytes % sizeof(word));
	return count + differing(word, word_at(seed, i), bytes % sizeof(word));
}
