// SPDX-License-Identifier: MIT
/* <tofu/coll.h> on machines of processes: every algorithm, and what goes wrong. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll-util.h"
#include "harness.h"

#define MEMBERS_MAX 8
#define COUNT_MAX 6000
#define LATE_US 200000
#define GUARD 0x5a5a5a5a5a5a5a5aULL

/* ---- What has to come out ---- */

static uint64_t send[MEMBERS_MAX * COUNT_MAX];
static uint64_t recv[MEMBERS_MAX * COUNT_MAX + 1];

static uint64_t value(uint32_t member, size_t index, unsigned int round)
{
	return (member + 1) * 1000003ULL + index * 7 + round * 13;
}

static uint64_t sum(uint32_t members, size_t index, unsigned int round)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < members; i++)
		all += value(i, index, round);
	return all;
}

/* Elements of @recv that a member gets */
static size_t received(const struct tofu_coll_spec *spec, uint32_t members,
		       uint32_t number)
{
	bool root = number == spec->root;

	switch (spec->kind) {
	case TOFU_COLL_BARRIER:
		return 0;
	case TOFU_COLL_BCAST:
		return root ? 0 : spec->count;
	case TOFU_COLL_REDUCE:
		return root ? spec->count : 0;
	case TOFU_COLL_GATHER:
		return root ? members * spec->count : 0;
	case TOFU_COLL_ALLGATHER:
	case TOFU_COLL_ALLTOALL:
		return members * spec->count;
	default:
		return spec->count;
	}
}

static uint64_t expected(const struct tofu_coll_spec *spec, uint32_t members,
			 uint32_t number, size_t i, unsigned int round)
{
	size_t own = number * spec->count;

	switch (spec->kind) {
	case TOFU_COLL_BCAST:
		return value(spec->root, i, round);
	case TOFU_COLL_REDUCE:
	case TOFU_COLL_ALLREDUCE:
		return sum(members, i, round);
	case TOFU_COLL_REDUCE_SCATTER:
		return sum(members, own + i, round);
	case TOFU_COLL_SCATTER:
		return value(spec->root, own + i, round);
	case TOFU_COLL_ALLTOALL:
		return value((uint32_t)(i / spec->count),
			     own + i % spec->count, round);
	default:
		return value((uint32_t)(i / spec->count), i % spec->count,
			     round);
	}
}

static void buffers_fill(uint32_t number, unsigned int round)
{
	for (size_t i = 0; i < MEMBERS_MAX * COUNT_MAX; i++)
		send[i] = value(number, i, round);
	for (size_t i = 0; i <= MEMBERS_MAX * COUNT_MAX; i++)
		recv[i] = GUARD;
}

static void buffers_check(const struct tofu_coll_spec *spec, uint32_t members,
			  uint32_t number, unsigned int round)
{
	size_t count = received(spec, members, number);

	for (size_t i = 0; i < count; i++)
		CHECK(recv[i] == expected(spec, members, number, i, round));
	CHECK(recv[count] == GUARD);
}

/* ---- Every algorithm ---- */

static void collective_run(struct tofu_group *group,
			   const struct tofu_coll_spec *spec,
			   const struct tofu_coll_tuning *tuning)
{
	struct tofu_coll_description d;
	struct tofu_group_info info;
	struct tofu_coll *coll;

	CHECK(!tofu_group_query(group, &info));
	CHECK(!tofu_coll_create(group, spec, tuning, &coll));
	CHECK(!tofu_coll_describe(coll, &d));
	for (unsigned int round = 0; round < 3; round++) {
		buffers_fill(info.number, round);
		CHECK(!tofu_coll_start(coll));
		CHECK(!tofu_coll_wait(coll));
		buffers_check(spec, info.count, info.number, round);
	}
	tofu_coll_free(coll);
}

static void kinds_run(struct tofu_group *group, size_t count,
		      enum tofu_coll_kind first, enum tofu_coll_kind last)
{
	struct tofu_group_info info;

	CHECK(!tofu_group_query(group, &info));
	for (int kind = first; kind <= (int)last; kind++)
		for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++) {
			struct tofu_coll_spec spec = {
				.kind = kind,
				.type = TOFU_COLL_UINT64,
				.op = TOFU_COLL_SUM,
				.root = info.count - 1,
				.count = count,
				.send = send,
				.recv = recv,
			};
			struct tofu_coll_tuning tuning = {
				.algorithm = a,
				.segment = 4096,
			};

			if (!a || tofu_coll_fits(kind, a))
				collective_run(group, &spec, &tuning);
		}
}

static void some_main(struct tofu_nodes *nodes, unsigned int rank)
{
	static const size_t counts[] = { 0, 1, 3, 513, COUNT_MAX };
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		kinds_run(group, counts[i], 0, TOFU_COLL_KINDS - 1);
	tofu_group_free(group);
	CHECK(!tofu_boot_leave(boot));
}

TEST(each_algorithm_is_right)
{
	for (unsigned int count = 1; count <= 6; count++)
		EXPECT_EQ(0, tofu_nodes_run(count, some_main, -1));
}

/* ---- Late members ---- */

static struct tofu_coll_spec spec_of(enum tofu_coll_kind kind, size_t count)
{
	return (struct tofu_coll_spec){
		.kind = kind,
		.type = TOFU_COLL_UINT64,
		.count = count,
		.send = send,
		.recv = recv,
	};
}

/* The others wait for it, however often they look. */
static void late_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);

	for (int kind = 0; kind < TOFU_COLL_KINDS; kind++)
		for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++) {
			const struct tofu_coll_tuning tuning = {
				.algorithm = a,
			};
			struct tofu_coll_spec spec = spec_of(kind, 100);

			if (!tofu_coll_fits(kind, a))
				continue;
			CHECK(!tofu_boot_barrier(boot));
			if (rank == 1)
				usleep(LATE_US);
			CHECK(!tofu_coll_run(group, &spec, &tuning));
		}
	tofu_group_free(group);
	CHECK(!tofu_boot_leave(boot));
}

TEST(a_member_may_create_its_collective_late)
{
	EXPECT_EQ(0, tofu_nodes_run(4, late_main, -1));
}

TEST_HARNESS_MAIN
