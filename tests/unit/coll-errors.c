// SPDX-License-Identifier: MIT
/* What <tofu/coll.h> refuses, and what becomes of members that disagree. */
#define _GNU_SOURCE
#include <string.h>

#include "coll-util.h"
#include "harness.h"

#define SLOTS 64
#define FEW_SECONDS 1

static uint64_t send[64];
static uint64_t recv[64];

static struct tofu_coll_spec spec_of(enum tofu_coll_kind kind)
{
	return (struct tofu_coll_spec){
		.kind = kind,
		.type = TOFU_COLL_UINT64,
		.count = 4,
		.send = send,
		.recv = recv,
	};
}

static void close_all(struct tofu_boot *boot, struct tofu_group *group)
{
	tofu_group_free(group);
	CHECK(!tofu_boot_leave(boot));
}

/* ---- Arguments of a group ---- */

static void group_arguments(struct tofu_nodes *nodes, unsigned int rank)
{
	static const uint32_t all[] = { 1, 0, 2 }, twice[] = { 0, 1, 2, 1 },
			      beyond[] = { 0, 1, 2, 3 };
	static const uint32_t good[] = { 1, 3, 1 }, wrong[] = { 2, 2, 1 },
			      none[] = { 0, 3, 1 },
			      large[] = { 65536, 65536, 65536 };
	const uint32_t other = (rank + 1) % 3;
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group_info info;
	struct tofu_group *group, *sub;
	uint32_t got;

#define REFUSED(code, ...) CHECK(tofu_group_create(__VA_ARGS__) == (code))
	REFUSED(UTOFU_ERR_INVALID_POINTER, NULL, NULL, 0, NULL, &group);
	REFUSED(UTOFU_ERR_INVALID_POINTER, boot, NULL, 0, NULL, NULL);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, boot, twice, 4, NULL, &group);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, boot, beyond, 4, NULL, &group);
	REFUSED(UTOFU_ERR_NOT_FOUND, boot, &other, 1, NULL, &group);
	REFUSED(UTOFU_ERR_INVALID_SIZE, boot, all, 3, wrong, &group);
	REFUSED(UTOFU_ERR_INVALID_SIZE, boot, all, 3, none, &group);
	REFUSED(UTOFU_ERR_INVALID_SIZE, boot, NULL, 0, large, &group);
#undef REFUSED
	CHECK(!tofu_group_create(boot, all, 3, good, &group));
	CHECK(tofu_group_query(NULL, &info) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_group_query(group, NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(!tofu_group_query(group, &info));
	CHECK(info.count == 3 && all[info.number] == rank);
	CHECK(!memcmp(info.size, good, sizeof(good)));
	CHECK(tofu_group_rank(NULL, 0, &got) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_group_rank(group, 0, NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_group_rank(group, 3, &got) == UTOFU_ERR_INVALID_NUMBER);
	CHECK(tofu_group_sub(NULL, 1, &sub) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_group_sub(group, 1, NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_group_sub(group, 8, &sub) == UTOFU_ERR_INVALID_ARG);
	tofu_group_free(NULL);
	close_all(boot, group);
}

TEST(groups_check_their_arguments)
{
	EXPECT_EQ(0, tofu_nodes_run(3, group_arguments, -1));
}

/* Member (x, y, z) of 2x3x2 is number (x * 3 + y) * 2 + z. */
static void part_check(const struct tofu_group *whole, uint32_t number,
		       unsigned int axes)
{
	static const uint32_t size[] = { 2, 3, 2 };
	uint32_t of_sub[3], at[3] = { number / 6, number / 2 % 3, number % 2 };
	struct tofu_group_info info;
	struct tofu_group *sub;
	uint32_t i = 0, rank, expected;

	CHECK(!tofu_group_sub(whole, axes, &sub));
	for (int a = 0; a < 3; a++)
		of_sub[a] = axes >> a & 1 ? size[a] : 1;
	CHECK(!tofu_group_query(sub, &info));
	CHECK(!memcmp(info.size, of_sub, sizeof(of_sub)));
	for (uint32_t n = 0; n < 12; n++) {
		uint32_t p[3] = { n / 6, n / 2 % 3, n % 2 };
		bool in = true;

		for (int a = 0; a < 3; a++)
			in &= axes >> a & 1 || p[a] == at[a];
		if (!in)
			continue;
		CHECK(!tofu_group_rank(whole, n, &expected));
		CHECK(!tofu_group_rank(sub, i, &rank) && rank == expected);
		CHECK(n != number || info.number == i);
		i++;
	}
	CHECK(info.count == i);
	tofu_group_free(sub);
}

static void group_parts(struct tofu_nodes *nodes, unsigned int rank)
{
	static const uint32_t ranks[] = { 11, 3, 5, 0, 1, 10, 2, 9, 4, 8, 7, 6 };
	static const uint32_t size[] = { 2, 3, 2 };
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group;
	struct tofu_group_info info;

	CHECK(!tofu_group_create(boot, ranks, 12, size, &group));
	CHECK(!tofu_group_query(group, &info) && ranks[info.number] == rank);
	for (unsigned int axes = 1; axes < 8; axes++)
		part_check(group, info.number, axes);
	tofu_group_free(group);
	CHECK(!tofu_group_create(boot, NULL, 0, size, &group));
	CHECK(!tofu_group_query(group, &info) && info.number == rank);
	for (unsigned int axes = 1; axes < 8; axes++)
		part_check(group, info.number, axes);
	close_all(boot, group);
}

TEST(lines_and_planes_have_the_right_members)
{
	EXPECT_EQ(0, tofu_nodes_run(12, group_parts, -1));
}

/* ---- Arguments of a collective ---- */

static struct tofu_group *checked;

static void refused(int expected, struct tofu_coll_spec spec,
		    struct tofu_coll_tuning tuning, int line)
{
	struct tofu_coll *coll = (void *)&spec;
	int code = tofu_coll_create(checked, &spec, &tuning, &coll);

	if (code != expected || coll != (void *)&spec) {
		fprintf(stderr, "# line %d: %d, not %d\n", line, code,
			expected);
		_exit(1);
	}
	CHECK(tofu_coll_run(checked, &spec, &tuning) == expected);
}

/* The collective that is right, but for what is said */
#define SPEC_REFUSED(code, of, ...)                                       \
	do {                                                              \
		struct tofu_coll_spec s = spec_of(of);                    \
		__VA_ARGS__;                                              \
		refused(code, s, (struct tofu_coll_tuning){ 0 }, __LINE__); \
	} while (0)
#define TUNING_REFUSED(code, of, ...)                               \
	do {                                                        \
		struct tofu_coll_spec s = spec_of(of);              \
		struct tofu_coll_tuning t = { .flags = 0 };         \
		__VA_ARGS__;                                        \
		refused(code, s, t, __LINE__);                      \
	} while (0)

static void spec_words(void)
{
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_KINDS);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_BCAST,
		     s.type = TOFU_COLL_TYPES);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_REDUCE,
		     s.op = TOFU_COLL_OPS);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		     s.type = TOFU_COLL_BYTE);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		     s.type = TOFU_COLL_DOUBLE, s.op = TOFU_COLL_BAND);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		     s.op = TOFU_COLL_MINLOC);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		     s.type = TOFU_COLL_DOUBLE_INT);
	SPEC_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		     s.type = TOFU_COLL_USER, s.size = 3);
	SPEC_REFUSED(UTOFU_ERR_INVALID_POINTER, TOFU_COLL_REDUCE_SCATTER,
		     s.op = TOFU_COLL_CALL);
	SPEC_REFUSED(UTOFU_ERR_INVALID_SIZE, TOFU_COLL_ALLTOALL,
		     s.type = TOFU_COLL_USER);
	SPEC_REFUSED(UTOFU_ERR_INVALID_SIZE, TOFU_COLL_BCAST,
		     s.count = SIZE_MAX / 2);
	SPEC_REFUSED(UTOFU_ERR_INVALID_SIZE, TOFU_COLL_ALLGATHER,
		     s.count = (size_t)1 << 45);
	SPEC_REFUSED(UTOFU_ERR_INVALID_SIZE, TOFU_COLL_BCAST,
		     s.type = TOFU_COLL_USER, s.size = SIZE_MAX, s.count = 2);
}

static void spec_buffers(void)
{
	for (int kind = TOFU_COLL_BCAST; kind < TOFU_COLL_KINDS; kind++) {
		SPEC_REFUSED(UTOFU_ERR_INVALID_POINTER, kind, s.send = NULL,
			     s.recv = NULL);
		if (kind != TOFU_COLL_BCAST)
			SPEC_REFUSED(UTOFU_ERR_INVALID_POINTER, kind,
				     s.recv = NULL);
		if (kind >= TOFU_COLL_GATHER)
			SPEC_REFUSED(UTOFU_ERR_INVALID_POINTER, kind,
				     s.send = NULL);
	}
	SPEC_REFUSED(UTOFU_ERR_INVALID_NUMBER, TOFU_COLL_BCAST, s.root = 1);
	SPEC_REFUSED(UTOFU_ERR_INVALID_NUMBER, TOFU_COLL_GATHER, s.root = 1);
}

static void tunings(void)
{
	TUNING_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_BCAST,
		       t.algorithm = TOFU_COLL_ALGORITHMS);
	TUNING_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_BCAST, t.flags = 4);
	TUNING_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		       t.flags = TOFU_COLL_REPRODUCIBLE);
	TUNING_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_BCAST,
		       s.type = TOFU_COLL_DOUBLE,
		       t.flags = TOFU_COLL_REPRODUCIBLE);
	TUNING_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_ALLREDUCE,
		       s.type = TOFU_COLL_DOUBLE, s.op = TOFU_COLL_MAX,
		       t.flags = TOFU_COLL_REPRODUCIBLE);
	TUNING_REFUSED(UTOFU_ERR_INVALID_ARG, TOFU_COLL_BCAST,
		       t.machine = "nonsense");
	TUNING_REFUSED(UTOFU_ERR_INVALID_NUMBER, TOFU_COLL_BCAST,
		       t.engines = 1000);
}

static void pointers(void)
{
	struct tofu_coll_spec spec = spec_of(TOFU_COLL_BARRIER);
	struct tofu_coll_description d;
	struct tofu_coll *coll;
	uint32_t rank;

	CHECK(tofu_coll_create(NULL, &spec, NULL, &coll) ==
	      UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_create(checked, NULL, NULL, &coll) ==
	      UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_create(checked, &spec, NULL, NULL) ==
	      UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_run(NULL, &spec, NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_start(NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_test(NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_wait(NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_lost(NULL, &rank) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_describe(NULL, &d) == UTOFU_ERR_INVALID_POINTER);
	tofu_coll_free(NULL);
	CHECK(!tofu_coll_create(checked, &spec, NULL, &coll));
	CHECK(tofu_coll_lost(coll, NULL) == UTOFU_ERR_INVALID_POINTER);
	CHECK(tofu_coll_lost(coll, &rank) == UTOFU_ERR_NOT_FOUND);
	CHECK(tofu_coll_describe(coll, NULL) == UTOFU_ERR_INVALID_POINTER);
	/* What was not started has ended. */
	CHECK(!tofu_coll_test(coll));
	CHECK(!tofu_coll_wait(coll));
	tofu_coll_free(coll);
}

static void coll_arguments(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);

	checked = group_of_all(boot);
	for (int i = 0; i < 3; i++) {
		spec_words();
		spec_buffers();
		tunings();
	}
	pointers();
	close_all(boot, checked);
}

TEST(collectives_check_their_arguments)
{
	EXPECT_EQ(0, tofu_nodes_run(1, coll_arguments, -1));
}

TEST(names_exist_for_what_exists)
{
	EXPECT_STREQ("allreduce", tofu_coll_kind_name(TOFU_COLL_ALLREDUCE));
	EXPECT_STREQ("pipelined",
		     tofu_coll_algorithm_name(TOFU_COLL_PIPELINED));
	EXPECT_STREQ("double", tofu_coll_type_name(TOFU_COLL_DOUBLE));
	EXPECT_STREQ("sum", tofu_coll_op_name(TOFU_COLL_SUM));
	EXPECT_EQ(NULL, tofu_coll_kind_name(TOFU_COLL_KINDS));
	EXPECT_EQ(NULL, tofu_coll_algorithm_name(TOFU_COLL_ALGORITHMS));
	EXPECT_EQ(NULL, tofu_coll_type_name(TOFU_COLL_TYPES));
	EXPECT_EQ(NULL, tofu_coll_op_name(TOFU_COLL_OPS));
	EXPECT_EQ(16, tofu_coll_type_size(TOFU_COLL_DOUBLE_INT));
	EXPECT_EQ(0, tofu_coll_type_size(TOFU_COLL_USER));
	EXPECT_EQ(0, tofu_coll_type_size(TOFU_COLL_TYPES));
	EXPECT_EQ(1, tofu_coll_fits(TOFU_COLL_BARRIER, TOFU_COLL_GATES));
	EXPECT_EQ(0, tofu_coll_fits(TOFU_COLL_BARRIER, TOFU_COLL_RING));
	EXPECT_EQ(0, tofu_coll_fits(TOFU_COLL_KINDS, TOFU_COLL_RING));
	EXPECT_EQ(0, tofu_coll_fits(TOFU_COLL_BCAST, TOFU_COLL_ALGORITHMS));
}

/* ---- Members that disagree ---- */

/*
 * Who sees that the other one has created another collective says so; the other
 * one may hear first that this one could not create it.
 */
static bool told(int code)
{
	return code == UTOFU_ERR_INVALID_DATA ||
	       code == UTOFU_ERR_NOT_AVAILABLE;
}

static int create_as(struct tofu_group *group, enum tofu_coll_kind kind,
		     size_t count, uint32_t root)
{
	struct tofu_coll_spec spec = spec_of(kind);
	struct tofu_coll *coll;
	int code;

	spec.count = count;
	spec.root = root;
	code = tofu_coll_create(group, &spec, NULL, &coll);
	if (!code)
		tofu_coll_free(coll);
	return code;
}

/* One that is never started is freed when all have created it. */
static void agree(struct tofu_boot *boot, struct tofu_group *group,
		  enum tofu_coll_kind kind)
{
	struct tofu_coll_spec spec = spec_of(kind);
	struct tofu_coll *coll;

	CHECK(!tofu_coll_create(group, &spec, NULL, &coll));
	CHECK(!tofu_boot_barrier(boot));
	tofu_coll_free(coll);
}

/* After each disagreement they agree again. */
static void disagree(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	bool other = rank == 1;

	CHECK(told(create_as(group, TOFU_COLL_ALLREDUCE, other ? 5 : 4, 0)));
	CHECK(!tofu_boot_barrier(boot));
	CHECK(told(create_as(group,
			     other ? TOFU_COLL_ALLGATHER : TOFU_COLL_ALLTOALL,
			     4, 0)));
	CHECK(!tofu_boot_barrier(boot));
	CHECK(told(create_as(group, TOFU_COLL_BCAST, 4, other)));
	CHECK(!tofu_boot_barrier(boot));
	CHECK(create_as(group, TOFU_COLL_REDUCE, 4, other ? 2 : 0) ==
	      (other ? UTOFU_ERR_INVALID_NUMBER : UTOFU_ERR_NOT_AVAILABLE));
	CHECK(!tofu_boot_barrier(boot));
	agree(boot, group, TOFU_COLL_ALLREDUCE);
	close_all(boot, group);
}

TEST(members_that_disagree_are_told)
{
	EXPECT_EQ(0, tofu_nodes_run(2, disagree, -1));
}

static void absent(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined_for(rank, nodes->count, FEW_SECONDS);
	struct tofu_group *group = group_of_all(boot);

	if (rank != 1)
		CHECK(create_as(group, TOFU_COLL_ALLREDUCE, 4, 0) ==
		      UTOFU_ERR_NOT_COMPLETED);
	tofu_nodes_meet(nodes);
	close_all(boot, group);
}

TEST(a_member_that_creates_nothing_is_not_awaited_for_ever)
{
	EXPECT_EQ(0, tofu_nodes_run(2, absent, -1));
}

/* ---- Handles ---- */

static void busy(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_coll_spec spec = spec_of(TOFU_COLL_BARRIER);
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	struct tofu_coll *coll;

	CHECK(!tofu_coll_create(group, &spec, NULL, &coll));
	if (rank)
		CHECK(!tofu_wait_word(&nodes->word[0], 1));
	CHECK(!tofu_coll_start(coll));
	if (!rank) {
		CHECK(tofu_coll_start(coll) == UTOFU_ERR_BUSY);
		CHECK(tofu_coll_test(coll) == UTOFU_ERR_NOT_COMPLETED);
		__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
	}
	CHECK(!tofu_coll_wait(coll));
	CHECK(!tofu_boot_barrier(boot));
	tofu_coll_free(coll);
	close_all(boot, group);
}

TEST(what_is_under_way_is_busy)
{
	EXPECT_EQ(0, tofu_nodes_run(2, busy, -1));
}

/* Creates as many as there can be, and frees them when all have them. */
static unsigned int fill(struct tofu_boot *boot, struct tofu_group *group,
			 enum tofu_coll_kind kind, int *code)
{
	struct tofu_coll_spec spec = spec_of(kind);
	struct tofu_coll *coll[SLOTS + 1];
	unsigned int count = 0;

	spec.count = 1;
	while (count <= SLOTS &&
	       !(*code = tofu_coll_create(group, &spec, NULL, &coll[count])))
		count++;
	CHECK(!tofu_boot_barrier(boot));
	for (unsigned int i = 0; i < count; i++)
		tofu_coll_free(coll[i]);
	return count;
}

static void slots_of_one(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	int code;

	for (int i = 0; i < 5; i++) {
		CHECK(fill(boot, group, TOFU_COLL_BARRIER, &code) == SLOTS);
		CHECK(code == UTOFU_ERR_FULL);
	}
	close_all(boot, group);
}

/* Queues may be fewer than slots; whoever has none left tells the others. */
static void slots_of_two(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	unsigned int first = 0;
	int code;

	for (int i = 0; i < 3; i++) {
		unsigned int count =
			fill(boot, group, TOFU_COLL_ALLREDUCE, &code);

		CHECK(code == UTOFU_ERR_FULL ||
		      code == UTOFU_ERR_NOT_AVAILABLE);
		CHECK(count >= 8 && (!i || count == first));
		first = count;
		agree(boot, group, TOFU_COLL_ALLTOALL);
	}
	close_all(boot, group);
}

TEST(slots_come_back)
{
	EXPECT_EQ(0, tofu_nodes_run(1, slots_of_one, -1));
	EXPECT_EQ(0, tofu_nodes_run(2, slots_of_two, -1));
}

TEST_HARNESS_MAIN
