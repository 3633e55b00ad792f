// SPDX-License-Identifier: MIT
/*
 * Data of all sizes at all alignments: every node puts to the next one and gets
 * from it; all bytes are compared, including those around the data.
 *
 * Covered, for put and for get:
 *   every size from 1 to 1024 bytes, and 2^n - 1, 2^n, 2^n + 1 to 16 MiB - 1;
 *   every source alignment 0 ... 255 and every destination alignment, many
 *   times, in pairs that differ from size to size;
 *   every difference of the two alignments, 0 ... 255, with a fixed size;
 *   every size from 1 to 512 across a page's end, on either side.
 * For piggyback puts every size from 1 to 32, at every destination alignment.
 *
 * usage: data [LARGEST]   bytes of the largest transfer (default 16777215)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"

#define ALIGNMENTS 256
#define GUARD 64
#define GUARD_BYTE 0xc3
#define PAGE 4096
#define ALL_SIZES 1024
#define PAGE_SIZES 512
#define SIZE_MAX_PUT 0xffffff
#define SPAN (SIZE_MAX_PUT + 1 + 4 * PAGE)
#define BATCH 64
#define STAG_SOURCE 32
#define STAG_TARGET 33

enum kind { PUT, GET, PIGGYBACK };

/**
 * struct transfer - a transfer
 * @from, @to: offsets in the areas; their lowest eight bits are the alignments
 *             of source and destination
 */
struct transfer {
	enum kind kind;
	size_t bytes;
	size_t from;
	size_t to;
	uint64_t number;
};

/**
 * struct test - areas, and transfers that are made together
 * @at:    offset for the next transfer in the areas
 * @wrong: number of wrong bytes
 * @errors: number of failed transfers
 */
struct test {
	struct guest guest;
	uint8_t *source;
	uint8_t *target;
	utofu_stadd_t source_stadd;
	utofu_stadd_t target_stadd;
	struct transfer batch[BATCH];
	unsigned int count;
	size_t at;
	uint64_t number;
	uint64_t wrong;
	uint64_t errors;
};

static uint64_t seed_of(const struct transfer *t, uint32_t node)
{
	return guest_seed(t->number, node, t->kind);
}

static int transfer_make(struct test *test, const struct transfer *t)
{
	struct guest *guest = &test->guest;
	utofu_vcq_id_t next = guest->id[guest_next(guest)];
	utofu_stadd_t from = test->source_stadd + t->from;
	utofu_stadd_t to = test->target_stadd + t->to;
	int code;

	if (t->kind == PUT)
		code = utofu_put(guest->vcq, next, from, to, t->bytes, 1,
				 GUEST_FLAGS, NULL);
	else if (t->kind == GET)
		code = utofu_get(guest->vcq, next, to, from, t->bytes, 2,
				 GUEST_FLAGS, NULL);
	else
		code = utofu_put_piggyback(guest->vcq, next,
					   test->source + t->from, to,
					   t->bytes, 3, GUEST_FLAGS, NULL);
	return guest_finish(guest, code, NULL);
}

static uint64_t guard_wrong(const uint8_t *guard)
{
	uint64_t wrong = 0;

	for (int i = 0; i < GUARD; i++)
		wrong += guard[i] != GUARD_BYTE;
	return wrong;
}

/* A put comes from the previous node, a get's data from the next node. */
static void transfer_verify(struct test *test, const struct transfer *t)
{
	const struct guest *guest = &test->guest;
	uint32_t origin = t->kind == GET ? guest_next(guest) :
					   guest_previous(guest);
	const uint8_t *to = test->target + t->to;
	uint64_t wrong = guest_wrong(to, t->bytes, seed_of(t, origin)) +
			 guard_wrong(to - GUARD) + guard_wrong(to + t->bytes);

	if (wrong && !test->wrong)
		guest_note(guest,
			   "%s of %zu bytes, alignments %zu and %zu: %llu bytes wrong",
			   t->kind == GET ? "get" : "put", t->bytes,
			   t->from % ALIGNMENTS, t->to % ALIGNMENTS,
			   (unsigned long long)wrong);
	test->wrong += wrong;
}

static void batch_run(struct test *test)
{
	struct guest *guest = &test->guest;

	for (unsigned int i = 0; i < test->count; i++) {
		const struct transfer *t = &test->batch[i];

		guest_fill(test->source + t->from, t->bytes,
			   seed_of(t, guest->machine.node));
		memset(test->target + t->to - GUARD, GUARD_BYTE,
		       t->bytes + 2 * GUARD);
	}
	guest_barrier(guest);
	for (unsigned int i = 0; i < test->count; i++) {
		int code = transfer_make(test, &test->batch[i]);

		if (code == UTOFU_SUCCESS)
			continue;
		if (!test->errors++)
			guest_note(guest, "transfer of %zu bytes: error %d",
				   test->batch[i].bytes, code);
	}
	guest_barrier(guest);
	for (unsigned int i = 0; i < test->count; i++)
		transfer_verify(test, &test->batch[i]);
	test->count = 0;
	test->at = PAGE;
}

/*
 * Adds a transfer whose buffers begin @from and @to bytes after the beginning
 * of a separate block of pages, each up to PAGE bytes.
 */
static void transfer_add(struct test *test, enum kind kind, size_t bytes,
			 size_t from, size_t to)
{
	size_t need = bytes + 2 * PAGE;

	need = (need + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (test->count == BATCH || test->at + need > SPAN)
		batch_run(test);
	test->batch[test->count++] = (struct transfer){
		.kind = kind,
		.bytes = bytes,
		.from = test->at + from,
		.to = test->at + to,
		.number = test->number++,
	};
	test->at += need;
}

static void point(struct test *test, const char *name)
{
	if (test->count)
		batch_run(test);
	guest_point(&test->guest, !test->wrong && !test->errors, "%s", name);
	test->wrong = 0;
	test->errors = 0;
}

/* Odd factors: as sizes grow, all alignments occur, in changing pairs. */
static size_t source_of(size_t i)
{
	return i * 37 % ALIGNMENTS;
}

static size_t target_of(size_t i)
{
	return (i * 11 + i / ALIGNMENTS * 67) % ALIGNMENTS;
}

static void test_kind(struct test *test, enum kind kind, const char *name,
		      size_t largest)
{
	char text[128];

	for (size_t bytes = 1; bytes <= ALL_SIZES; bytes++)
		transfer_add(test, kind, bytes, source_of(bytes),
			     target_of(bytes));
	snprintf(text, sizeof(text), "%s of every size from 1 to %d", name,
		 ALL_SIZES);
	point(test, text);

	for (size_t i = 0; i < ALIGNMENTS; i++)
		transfer_add(test, kind, 300, i * 37 % ALIGNMENTS,
			     i * 36 % ALIGNMENTS);
	for (size_t i = 0; i < ALIGNMENTS; i++)
		transfer_add(test, kind, 5000, i, (i * 85 + 19) % ALIGNMENTS);
	snprintf(text, sizeof(text),
		 "%s at every alignment and every difference of alignments",
		 name);
	point(test, text);

	for (size_t bytes = 1; bytes <= PAGE_SIZES; bytes++)
		transfer_add(test, kind, bytes, PAGE - bytes / 2,
			     PAGE - bytes / 3);
	snprintf(text, sizeof(text), "%s across the ends of pages", name);
	point(test, text);

	for (size_t power = 2 * ALL_SIZES, i = 0; power - 1 <= largest;
	     power *= 2) {
		for (int d = -1; d <= 1; d++, i++) {
			size_t bytes = power + (size_t)d;

			if (bytes <= largest)
				transfer_add(test, kind, bytes, source_of(i),
					     target_of(i));
		}
	}
	snprintf(text, sizeof(text), "%s of 2^n - 1, 2^n, 2^n + 1 up to %zu",
		 name, largest);
	point(test, text);
}

static void test_piggyback(struct test *test)
{
	for (size_t bytes = 1; bytes <= 32; bytes++)
		for (size_t to = 0; to < ALIGNMENTS; to += 8)
			transfer_add(test, PIGGYBACK, bytes, source_of(bytes),
				     to + bytes % 8);
	point(test, "piggyback put of every size from 1 to 32");

	for (size_t to = 0; to < ALIGNMENTS; to++)
		transfer_add(test, PIGGYBACK, to % 2 ? 29 : 8, 0, to);
	point(test, "piggyback put at every alignment");
}

int main(int argc, char **argv)
{
	size_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : SIZE_MAX_PUT;
	struct test *test = calloc(1, sizeof(*test));

	if (!test || largest > SIZE_MAX_PUT)
		return EXIT_FAILURE;
	guest_begin(&test->guest, 10);
	test->source = guest_area(&test->guest, SPAN, STAG_SOURCE,
				  &test->source_stadd);
	test->target = guest_area(&test->guest, SPAN, STAG_TARGET,
				  &test->target_stadd);
	test->at = PAGE;
	test_kind(test, PUT, "put", largest);
	test_kind(test, GET, "get", largest);
	test_piggyback(test);
	return guest_end(&test->guest);
}
