/* SPDX-License-Identifier: MIT */
/* Groups, collectives and cases of the program coll. */
#ifndef TOFU_TEST_COLL_CASE_H
#define TOFU_TEST_COLL_CASE_H

#include "coll-data.h"
#include "guest.h"

#define TEXT 300

/**
 * struct test - this node's process
 * @seed:    of the case
 * @failed:  something was wrong since the last test point
 * @verbose: describe each collective, not only those that fail
 */
struct test {
	struct guest guest;
	struct tofu_boot *boot;
	uint32_t node;
	uint32_t nodes;
	uint64_t seed;
	bool failed;
	bool verbose;
};

/* test_point - a test point, which is ok if nothing was wrong anywhere */
void test_point(struct test *test, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* case_complain - print what is wrong, with the seed of the case */
void case_complain(struct test *test, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * struct part - a group, which other nodes know without being in it
 * @group:   NULL on nodes that are not
 * @members: how many there are
 * @number:  of this node
 */
struct part {
	struct tofu_group *group;
	uint32_t members;
	uint32_t number;
	char text[TEXT];
};

/*
 * part_all, part_list - all nodes; @members of them in any order, with any
 * lengths of axes
 */
struct part part_all(struct test *test);
struct part part_list(struct test *test, uint64_t *state, uint32_t members);
void part_free(struct part *part);

/**
 * struct buffer - memory between guards
 * @at:    beginning of the contents
 * @bytes: of the contents
 */
struct buffer {
	unsigned char *base;
	unsigned char *at;
	size_t bytes;
};

/**
 * struct handle - a collective
 * @data:   seed and contents of the first start
 * @number: of this member
 * @inside: the contents are in @recv, and @send is not used
 * @aside:  buffers that are not needed are given to the library nevertheless
 * @by_rank: contents are those of the boot's ranks, not of numbers
 * @left:   starts to be made
 * @now:    contents of the start that is under way
 */
struct handle {
	struct data data;
	struct tofu_coll_tuning tuning;
	uint32_t number;
	bool inside;
	bool aside;
	bool by_rank;
	unsigned int left;
	bool running;
	struct data now;
	struct buffer send;
	struct buffer recv;
	struct tofu_coll *coll;
	const struct part *part;
};

/* They exit where the library fails, after saying what has failed. */
void handle_create(struct test *test, struct handle *h,
		   const struct part *part);
void handle_free(struct handle *h);

/* handle_start - fill the buffers and start; @turn makes other contents */
void handle_start(struct test *test, struct handle *h, unsigned int turn);

/*
 * handle_test, handle_wait - tofu_coll_test() and tofu_coll_wait(); they check
 * the result
 *
 * Return: whether it is still under way.
 */
bool handle_test(struct test *test, struct handle *h);
void handle_wait(struct test *test, struct handle *h);

/* handle_run - tofu_coll_run() */
void handle_run(struct test *test, struct handle *h, const struct part *part);

void handle_complain(struct test *test, const struct handle *h,
		     const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* handle_note - describe a collective */
void handle_note(struct test *test, const struct handle *h);

/* case_run - what a seed says */
void case_run(struct test *test, uint64_t seed);

#endif /* TOFU_TEST_COLL_CASE_H */
