// SPDX-License-Identifier: MIT
/*
 * Atomics of all nodes on words of node 0, while a thread there works on the
 * same words with its own processor's atomics: nothing may be lost.
 */
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wait.h"
#include "guest.h"

#define ADDS 2000
#define OWN_ADDS 20000
#define LOCK_ROUNDS 50
#define STAG 50

/**
 * struct words - words of node 0; the others only use @scratch
 * @sum8, @sum4: every node adds one
 * @bits:    one bit for each node, set and cleared
 * @lock:    0, or the number of its holder plus 1
 * @guarded: changed by its holder only, by get and put
 * @scratch: destination of gets, source of puts
 */
struct words {
	_Atomic uint64_t sum8;
	_Atomic uint32_t sum4;
	uint32_t pad;
	_Atomic uint64_t bits;
	_Atomic uint64_t lock;
	uint64_t guarded;
	uint64_t scratch;
};

struct test {
	struct guest guest;
	struct words *words;
	utofu_stadd_t stadd;
};

static utofu_stadd_t at(const struct test *test, size_t offset)
{
	return test->stadd + offset;
}

/* Returns the value before; exits if there is none to check. */
static uint64_t old_of(struct test *test, int posted)
{
	struct utofu_mrq_notice notice;
	int code = guest_finish(&test->guest, posted, &notice);

	if (code != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "atomic: error %d", code);
	return notice.rmt_value;
}

static uint64_t armw8(struct test *test, enum utofu_armw_op op, size_t offset,
		      uint64_t value)
{
	struct guest *guest = &test->guest;

	return old_of(test, utofu_armw8(guest->vcq, guest->id[0], op, value,
					at(test, offset), 0, GUEST_FLAGS,
					NULL));
}

static uint64_t armw4(struct test *test, enum utofu_armw_op op, size_t offset,
		      uint32_t value)
{
	struct guest *guest = &test->guest;

	return old_of(test, utofu_armw4(guest->vcq, guest->id[0], op, value,
					at(test, offset), 0, GUEST_FLAGS,
					NULL));
}

static uint64_t cswap8(struct test *test, size_t offset, uint64_t old,
		       uint64_t new)
{
	struct guest *guest = &test->guest;

	return old_of(test, utofu_cswap8(guest->vcq, guest->id[0], old, new,
					 at(test, offset), 0, GUEST_FLAGS,
					 NULL));
}

/* ---- Sums ---- */

static void *add_own(void *arg)
{
	struct words *words = arg;

	for (int i = 0; i < OWN_ADDS; i++) {
		atomic_fetch_add(&words->sum8, 1);
		atomic_fetch_add(&words->sum4, 1);
	}
	return NULL;
}

static void test_sums(struct test *test)
{
	struct guest *guest = &test->guest;
	uint64_t nodes = guest->machine.nodes;
	uint64_t expected = nodes * ADDS + OWN_ADDS;
	uint64_t before8 = 0, before4 = 0;
	bool rising = true, exact = true;
	pthread_t thread;

	guest_barrier(guest);
	if (guest->machine.node == 0 &&
	    pthread_create(&thread, NULL, add_own, test->words))
		errx(EXIT_FAILURE, "no thread");
	for (int i = 0; i < ADDS; i++) {
		uint64_t old8 = armw8(test, UTOFU_ARMW_OP_ADD,
				      offsetof(struct words, sum8), 1);
		uint64_t old4 = armw4(test, UTOFU_ARMW_OP_ADD,
				      offsetof(struct words, sum4), 1);

		rising &= i == 0 || (old8 > before8 && old4 > before4);
		before8 = old8;
		before4 = old4;
	}
	if (guest->machine.node == 0)
		pthread_join(thread, NULL);
	guest_barrier(guest);
	if (guest->machine.node == 0) {
		exact = test->words->sum8 == expected &&
			test->words->sum4 == expected;
		if (!exact)
			guest_note(guest, "sums %llu and %u, should be %llu",
				   (unsigned long long)test->words->sum8,
				   test->words->sum4,
				   (unsigned long long)expected);
	}
	guest_point(guest, exact, "%llu nodes and a processor add: no add lost",
		    (unsigned long long)nodes);
	guest_point(guest, rising, "each add sees a larger value than the last");
}

/* ---- The operations ---- */

#define A 0xf0f0123456789abcULL
#define B 0x0ff0fedcba987654ULL

static void test_operations(struct test *test)
{
	static const struct {
		enum utofu_armw_op op;
		const char *name;
		uint64_t after;
	} ops[] = {
		{ UTOFU_ARMW_OP_SWAP, "swap", B },
		{ UTOFU_ARMW_OP_ADD, "add", A + B },
		{ UTOFU_ARMW_OP_XOR, "xor", A ^ B },
		{ UTOFU_ARMW_OP_AND, "and", A & B },
		{ UTOFU_ARMW_OP_OR, "or", A | B },
	};
	const size_t word = offsetof(struct words, bits);

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		bool good = true;

		/* One node after the other: they share the word. */
		for (uint32_t n = 0; n < test->guest.machine.nodes; n++) {
			guest_barrier(&test->guest);
			if (n != test->guest.machine.node)
				continue;
			armw8(test, UTOFU_ARMW_OP_SWAP, word, A);
			good &= armw8(test, ops[i].op, word, B) == A;
			good &= armw8(test, UTOFU_ARMW_OP_OR, word, 0) ==
				ops[i].after;
			armw8(test, UTOFU_ARMW_OP_SWAP, word, A);
			good &= armw4(test, ops[i].op, word, (uint32_t)B) ==
				(uint32_t)A;
			/* The upper half must not change. */
			good &= armw8(test, UTOFU_ARMW_OP_OR, word, 0) ==
				((A & ~0xffffffffULL) |
				 (uint32_t)ops[i].after);
		}
		guest_point(&test->guest, good, "%s of 8 and of 4 bytes",
			    ops[i].name);
	}
}

static void test_bits(struct test *test)
{
	const size_t word = offsetof(struct words, bits);
	uint64_t bit = 1ULL << test->guest.machine.node % 64;
	bool good = true;

	guest_barrier(&test->guest);
	if (test->guest.machine.node == 0)
		test->words->bits = 0;
	guest_barrier(&test->guest);
	for (int i = 0; i < ADDS / 10; i++) {
		good &= !(armw8(test, UTOFU_ARMW_OP_OR, word, bit) & bit);
		good &= !!(armw8(test, UTOFU_ARMW_OP_XOR, word, bit) & bit);
	}
	guest_point(&test->guest, good,
		    "or and xor of a bit of one's own, all at once");
}

static void test_unaligned(struct test *test)
{
	struct guest *guest = &test->guest;
	bool good = true;

	for (size_t off = 1; off < sizeof(uint64_t); off++) {
		int code = utofu_armw8(guest->vcq, guest->id[0],
				       UTOFU_ARMW_OP_ADD, 1, at(test, off), 0,
				       GUEST_FLAGS, NULL);

		good &= guest_finish(guest, code, NULL) ==
			UTOFU_ERR_MRQ_RMT_STADD;
	}
	guest_point(guest, good, "an unaligned atomic is refused");
}

/* ---- A lock ---- */

static bool lock_take(struct test *test)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);

	while (cswap8(test, offsetof(struct words, lock), 0,
		      test->guest.machine.node + 1)) {
		if (!tofu_wait_more(&wait))
			return false;
	}
	return true;
}

/* Read the word, add one, write it: not atomic, so under the lock. */
static bool guarded_add(struct test *test)
{
	struct guest *guest = &test->guest;
	utofu_stadd_t scratch = at(test, offsetof(struct words, scratch));
	utofu_stadd_t word = at(test, offsetof(struct words, guarded));
	int code = utofu_get(guest->vcq, guest->id[0], scratch, word,
			     sizeof(uint64_t), 0, GUEST_FLAGS, NULL);

	if (guest_finish(guest, code, NULL) != UTOFU_SUCCESS)
		return false;
	test->words->scratch++;
	code = utofu_put(guest->vcq, guest->id[0], scratch, word,
			 sizeof(uint64_t), 0, GUEST_FLAGS, NULL);
	return guest_finish(guest, code, NULL) == UTOFU_SUCCESS;
}

static void test_lock(struct test *test)
{
	struct guest *guest = &test->guest;
	uint64_t expected = (uint64_t)guest->machine.nodes * LOCK_ROUNDS;
	bool good = true;

	guest_barrier(guest);
	for (int i = 0; i < LOCK_ROUNDS && good; i++) {
		good &= lock_take(test);
		good &= guarded_add(test);
		good &= armw8(test, UTOFU_ARMW_OP_SWAP,
			      offsetof(struct words, lock), 0) ==
			guest->machine.node + 1;
	}
	guest_barrier(guest);
	if (guest->machine.node == 0 && test->words->guarded != expected) {
		guest_note(guest, "counted %llu, should be %llu",
			   (unsigned long long)test->words->guarded,
			   (unsigned long long)expected);
		good = false;
	}
	guest_point(guest, good, "a lock by cswap keeps %u nodes apart",
		    guest->machine.nodes);
}

int main(void)
{
	struct test test = { 0 };

	guest_begin(&test.guest, 10);
	test.words = guest_area(&test.guest, 4096, STAG, &test.stadd);
	test_sums(&test);
	test_operations(&test);
	test_bits(&test);
	test_unaligned(&test);
	test_lock(&test);
	return guest_end(&test.guest);
}
