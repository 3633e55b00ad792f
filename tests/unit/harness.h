/* SPDX-License-Identifier: MIT */
/*
 * A harness for unit tests. Its words are those of the kernel's kselftest
 * harness, which the tests in the guest use; nothing of the kernel's sources is
 * needed to build these.
 *
 *	TEST(adds_up) { EXPECT_EQ(4, 2 + 2); }
 *
 *	FIXTURE(list) { struct list *list; };
 *	FIXTURE_SETUP(list) { self->list = list_create(); }
 *	FIXTURE_TEARDOWN(list) { list_destroy(self->list); }
 *	TEST_F(list, is_empty_at_first) { ASSERT_TRUE(list_empty(self->list)); }
 *
 *	TEST_HARNESS_MAIN
 *
 * Each test runs in a process of its own, between setup and teardown, and is a
 * point of TAP. One that crashes, hangs or ends the process has failed. After
 * EXPECT_ a test goes on, after ASSERT_ its teardown runs. A statement behind
 * either runs when it fails. With FIXTURE_VARIANT each test of a fixture runs
 * once for each FIXTURE_VARIANT_ADD, which it finds as *variant.
 *
 * Arguments of the program are parts of names: only those tests run.
 */
#ifndef UNIT_HARNESS_H
#define UNIT_HARNESS_H

/* No warnings where a test compares an int with what is unsigned. */
#pragma GCC system_header

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HARNESS_SECONDS 30 /* that a test may take which says nothing else */

enum harness_phase { HARNESS_SETUP, HARNESS_BODY, HARNESS_TEARDOWN };

struct harness_variant {
	const char *name;
	const void *data;
	struct harness_variant *next;
};

/**
 * struct harness_fixture - what tests have in common
 * @name:     of the tests' names the first part
 * @tests:    in the order of the source
 * @variants: none is one without a name
 */
struct harness_fixture {
	const char *name;
	struct harness_test *tests;
	struct harness_variant *variants;
	struct harness_fixture *next;
};

/**
 * struct harness_test - a test, to its body known as _metadata
 * @run:     does one phase of it
 * @seconds: limit
 * @leave:   where a failed assertion goes
 */
struct harness_test {
	const char *name;
	struct harness_fixture *fixture;
	void (*run)(struct harness_test *test, enum harness_phase phase,
		    const void *variant);
	unsigned int seconds;
	jmp_buf leave;
	struct harness_test *next;
};

/**
 * struct harness_value - one side of a comparison, for messages
 * @text: as written in the test
 * @is_signed: whether @bits is negative when it looks so
 */
struct harness_value {
	const char *text;
	bool is_signed;
	uintmax_t bits;
};

/* Tests that have no fixture */
extern struct harness_fixture harness_global;

/* Constructors call these, in the order of the source. */
void harness_add_fixture(struct harness_fixture *fixture);
void harness_add_variant(struct harness_fixture *fixture,
			 struct harness_variant *variant);
void harness_add_test(struct harness_test *test);

/* harness_log - a line of diagnostics */
void harness_log(const struct harness_test *test, const char *file, int line,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* harness_fail, harness_fail_str - the test has failed; they return true */
bool harness_fail(const struct harness_test *test, const char *file, int line,
		  const char *relation, struct harness_value expected,
		  struct harness_value seen);
bool harness_fail_str(const struct harness_test *test, const char *file,
		      int line, const char *expected, const char *seen);

/* harness_leave - go to the teardown, if so; false */
bool harness_leave(struct harness_test *test, bool leave);

void harness_skip(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* harness_main - run all tests, or those named; the program's status */
int harness_main(int argc, char **argv);

#define TEST_HARNESS_MAIN                       \
	int main(int argc, char **argv)         \
	{                                       \
		return harness_main(argc, argv); \
	}

/* ---- Tests ---- */

#define HARNESS_CONSTRUCTOR(name) \
	static void __attribute__((constructor)) name(void)

#define HARNESS_TEST(symbol, test_name, of, limit)                          \
	static void symbol##_run(struct harness_test *_metadata,            \
				 enum harness_phase phase,                  \
				 const void *variant);                      \
	static struct harness_test symbol##_test = {                        \
		.name = #test_name,                                         \
		.fixture = &(of),                                           \
		.run = symbol##_run,                                        \
		.seconds = (limit),                                         \
	};                                                                  \
	HARNESS_CONSTRUCTOR(symbol##_add)                                   \
	{                                                                   \
		harness_add_test(&symbol##_test);                           \
	}

#define TEST(name)                                                          \
	static void name(struct harness_test *_metadata);                   \
	HARNESS_TEST(name, name, harness_global, HARNESS_SECONDS)           \
	static void name##_run(struct harness_test *_metadata,              \
			       enum harness_phase phase,                    \
			       const void __attribute__((unused)) *variant) \
	{                                                                   \
		if (phase == HARNESS_BODY)                                  \
			name(_metadata);                                    \
	}                                                                   \
	static void name(struct harness_test __attribute__((unused)) *_metadata)

/* ---- Tests with a fixture: the first parameters of each function ---- */

#define FIXTURE_DATA(fixture) struct fixture##_fixture_data
#define FIXTURE_VARIANT(fixture) struct fixture##_fixture_variant

#define HARNESS_PARAMETERS(fixture)                                         \
	struct harness_test __attribute__((unused)) *_metadata,             \
		FIXTURE_DATA(fixture) __attribute__((unused)) *self,        \
		const FIXTURE_VARIANT(fixture)                              \
			__attribute__((unused)) *variant

#define FIXTURE(fixture)                                                    \
	FIXTURE_VARIANT(fixture);                                           \
	static struct harness_fixture fixture##_fixture = {                 \
		.name = #fixture,                                           \
	};                                                                  \
	HARNESS_CONSTRUCTOR(fixture##_fixture_add)                          \
	{                                                                   \
		harness_add_fixture(&fixture##_fixture);                    \
	}                                                                   \
	FIXTURE_DATA(fixture)

#define FIXTURE_SETUP(fixture) \
	static void fixture##_fixture_setup(HARNESS_PARAMETERS(fixture))

#define FIXTURE_TEARDOWN(fixture) \
	static void fixture##_fixture_teardown(HARNESS_PARAMETERS(fixture))

#define FIXTURE_VARIANT_ADD(fixture, variant_name)                          \
	static const FIXTURE_VARIANT(fixture) fixture##_##variant_name##_data; \
	static struct harness_variant fixture##_##variant_name##_variant = { \
		.name = #variant_name,                                      \
		.data = &fixture##_##variant_name##_data,                   \
	};                                                                  \
	HARNESS_CONSTRUCTOR(fixture##_##variant_name##_variant_add)         \
	{                                                                   \
		harness_add_variant(&fixture##_fixture,                     \
				    &fixture##_##variant_name##_variant);   \
	}                                                                   \
	static const FIXTURE_VARIANT(fixture) fixture##_##variant_name##_data =

#define TEST_F(fixture, name) TEST_F_TIMEOUT(fixture, name, HARNESS_SECONDS)

/* A process runs one test, so what it calls self is 0 at first. */
#define TEST_F_TIMEOUT(fixture, name, seconds)                              \
	static void fixture##_##name(HARNESS_PARAMETERS(fixture));          \
	HARNESS_TEST(fixture##_##name, name, fixture##_fixture, seconds)    \
	static void fixture##_##name##_run(struct harness_test *_metadata,  \
					   enum harness_phase phase,        \
					   const void *variant)             \
	{                                                                   \
		static FIXTURE_DATA(fixture) self;                          \
									    \
		if (phase == HARNESS_SETUP)                                 \
			fixture##_fixture_setup(_metadata, &self, variant); \
		else if (phase == HARNESS_BODY)                             \
			fixture##_##name(_metadata, &self, variant);        \
		else                                                        \
			fixture##_fixture_teardown(_metadata, &self,        \
						   variant);                \
	}                                                                   \
	static void fixture##_##name(HARNESS_PARAMETERS(fixture))

/* ---- Messages of a test ---- */

#define TH_LOG(...) harness_log(_metadata, __FILE__, __LINE__, __VA_ARGS__)

#define SKIP(statement, ...)                                                \
	do {                                                                \
		harness_skip(__VA_ARGS__);                                  \
		statement;                                                  \
	} while (0)

/* A loop that runs once after a failure: with a statement behind the macro. */
#define HARNESS_CHECK(failed, fatal)                                        \
	for (bool failed_ = (failed); failed_;                              \
	     failed_ = harness_leave(_metadata, fatal))

#define HARNESS_VALUE(value, words)                                         \
	((struct harness_value){                                            \
		.text = (words),                                            \
		.is_signed = (__typeof__(value))-1 < (__typeof__(value))1,  \
		.bits = (uintmax_t)(value),                                 \
	})

/* The words come from outside, where no macro in them is expanded yet. */
#define HARNESS_COMPARE(expected, expected_text, relation, seen, seen_text, \
			fatal)                                              \
	HARNESS_CHECK(({                                                    \
		__auto_type expected_ = (expected);                         \
		__auto_type seen_ = (seen);                                 \
									    \
		!(expected_ relation seen_) &&                              \
			harness_fail(_metadata, __FILE__, __LINE__,         \
				     #relation,                             \
				     HARNESS_VALUE(expected_, expected_text), \
				     HARNESS_VALUE(seen_, seen_text));      \
	}), fatal)

#define HARNESS_TRUTH(relation, seen, seen_text, fatal)                     \
	HARNESS_CHECK(({                                                    \
		uintptr_t seen_ = (uintptr_t)(seen);                        \
									    \
		!(0 relation seen_) &&                                      \
			harness_fail(_metadata, __FILE__, __LINE__,         \
				     #relation, HARNESS_VALUE(0, "0"),      \
				     HARNESS_VALUE(seen_, seen_text));      \
	}), fatal)

#define HARNESS_STREQ(expected, seen, fatal)                                \
	HARNESS_CHECK(harness_fail_str(_metadata, __FILE__, __LINE__,       \
				       (expected), (seen)),                 \
		      fatal)

#define EXPECT_EQ(expected, seen) \
	HARNESS_COMPARE(expected, #expected, ==, seen, #seen, false)
#define EXPECT_NE(expected, seen) \
	HARNESS_COMPARE(expected, #expected, !=, seen, #seen, false)
#define EXPECT_LT(expected, seen) \
	HARNESS_COMPARE(expected, #expected, <, seen, #seen, false)
#define EXPECT_LE(expected, seen) \
	HARNESS_COMPARE(expected, #expected, <=, seen, #seen, false)
#define EXPECT_GT(expected, seen) \
	HARNESS_COMPARE(expected, #expected, >, seen, #seen, false)
#define EXPECT_GE(expected, seen) \
	HARNESS_COMPARE(expected, #expected, >=, seen, #seen, false)
#define EXPECT_TRUE(seen) HARNESS_TRUTH(!=, seen, #seen, false)
#define EXPECT_FALSE(seen) HARNESS_TRUTH(==, seen, #seen, false)
#define EXPECT_STREQ(expected, seen) HARNESS_STREQ(expected, seen, false)

#define ASSERT_EQ(expected, seen) \
	HARNESS_COMPARE(expected, #expected, ==, seen, #seen, true)
#define ASSERT_NE(expected, seen) \
	HARNESS_COMPARE(expected, #expected, !=, seen, #seen, true)
#define ASSERT_LT(expected, seen) \
	HARNESS_COMPARE(expected, #expected, <, seen, #seen, true)
#define ASSERT_LE(expected, seen) \
	HARNESS_COMPARE(expected, #expected, <=, seen, #seen, true)
#define ASSERT_GT(expected, seen) \
	HARNESS_COMPARE(expected, #expected, >, seen, #seen, true)
#define ASSERT_GE(expected, seen) \
	HARNESS_COMPARE(expected, #expected, >=, seen, #seen, true)
#define ASSERT_TRUE(seen) HARNESS_TRUTH(!=, seen, #seen, true)
#define ASSERT_FALSE(seen) HARNESS_TRUTH(==, seen, #seen, true)

#endif /* UNIT_HARNESS_H */
