// SPDX-License-Identifier: MIT
/*
 * Nodes of several processes: their numbers, and the owners of queues and
 * gates.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "harness.h"

#include "fabric-util.h"

#define NODES 3
#define PPN 4

FIXTURE(machine)
{
	int fd;
	char path[32];
};

FIXTURE_SETUP(machine)
{
	struct tofu_shape shape = { { NODES, 1, 1, 1, 1, 1 } };

	self->fd = memfd_create("test-fabric", MFD_ALLOW_SEALING);
	ASSERT_EQ(0, tofu_fabric_format(self->fd, &shape, PPN));
	snprintf(self->path, sizeof(self->path), "/dev/fd/%d", self->fd);
}

FIXTURE_TEARDOWN(machine)
{
	close(self->fd);
}

/* Take the lowest free number, as a new queue does; -1: there is none. */
static int take_lowest(struct tofu_fabric *fabric, enum tofu_share share,
		       unsigned int tni)
{
	const unsigned int count =
		share == TOFU_SHARE_CQ ? TOFU_CQS_PER_TNI : TOFU_GATES;
	unsigned int number;

	if (tofu_fabric_shares_lock(fabric))
		return -1;
	number = (unsigned int)__builtin_ctzll(
		~tofu_fabric_taken_locked(fabric, share, tni));
	if (number < count)
		tofu_fabric_take_locked(fabric, share, tni, 1ULL << number);
	tofu_fabric_shares_unlock(fabric);
	return number < count ? (int)number : -1;
}

static int64_t cq_owner(struct tofu_fabric *fabric, uint32_t node,
			unsigned int tni, unsigned int cq)
{
	return tofu_fabric_owner(fabric, node, TOFU_SHARE_CQ, tni, cq);
}

TEST(the_number_of_processes_is_bounded)
{
	struct tofu_shape shape = { { 256, 1, 1, 1, 1, 1 } };
	int fd = memfd_create("test-fabric", 0);

	EXPECT_EQ(-EINVAL, tofu_fabric_format(fd, &shape, 0));
	EXPECT_EQ(-EINVAL, tofu_fabric_format(fd, &shape, 5));
	shape.size[TOFU_X] = 1;
	EXPECT_EQ(-EINVAL,
		  tofu_fabric_format(fd, &shape, TOFU_FABRIC_PPN_MAX + 1));
	EXPECT_EQ(0, tofu_fabric_format(fd, &shape, TOFU_FABRIC_PPN_MAX));
	close(fd);
}

TEST_F(machine, a_node_is_joined_until_it_is_full)
{
	struct tofu_fabric *fabric[PPN], *more = NULL;
	char *why = NULL;

	for (uint32_t i = 0; i < PPN; i++) {
		fabric[i] = attach(self->path, 1);
		ASSERT_NE(NULL, fabric[i]);
		EXPECT_EQ(PPN + i, tofu_fabric_endpoint(fabric[i]));
		EXPECT_EQ(PPN, tofu_fabric_ppn(fabric[i]));
	}
	EXPECT_EQ(-EBUSY, tofu_fabric_attach(self->path, 1, &why, &more));
	ASSERT_NE(NULL, why);
	EXPECT_NE(NULL, strstr(why, "node 1 has 4 processes already"));
	free(why);
	why = NULL;
	EXPECT_EQ(-EINVAL, tofu_fabric_attach(self->path, NODES, &why, &more));
	ASSERT_NE(NULL, why);
	EXPECT_NE(NULL, strstr(why, "machine of 3 nodes"));
	free(why);

	/* A process that leaves makes room. */
	tofu_fabric_detach(fabric[2]);
	fabric[2] = attach(self->path, 1);
	ASSERT_NE(NULL, fabric[2]);
	EXPECT_EQ(PPN + 2, tofu_fabric_endpoint(fabric[2]));
	for (uint32_t i = 0; i < PPN; i++)
		tofu_fabric_detach(fabric[i]);
}

TEST_F(machine, without_a_number_the_lowest_node_with_room_is_joined)
{
	struct tofu_fabric *fabric[PPN + 1];

	for (uint32_t i = 0; i <= PPN; i++) {
		fabric[i] = attach(self->path, -1);
		ASSERT_NE(NULL, fabric[i]);
		EXPECT_EQ(i, tofu_fabric_endpoint(fabric[i]));
	}
	for (uint32_t i = 0; i <= PPN; i++)
		tofu_fabric_detach(fabric[i]);
}

TEST_F(machine, what_one_has_no_other_of_its_node_gets)
{
	struct tofu_fabric *a = attach(self->path, 1);
	struct tofu_fabric *b = attach(self->path, 1);
	struct tofu_fabric *far = attach(self->path, 2);

	ASSERT_TRUE(a && b && far);
	for (int i = 0; i < TOFU_CQS_PER_TNI; i += 2) {
		EXPECT_EQ(i, take_lowest(a, TOFU_SHARE_CQ, 3));
		EXPECT_EQ(i + 1, take_lowest(b, TOFU_SHARE_CQ, 3));
	}
	EXPECT_EQ(-1, take_lowest(a, TOFU_SHARE_CQ, 3));
	EXPECT_EQ(0, take_lowest(b, TOFU_SHARE_CQ, 2));
	EXPECT_EQ(0, take_lowest(b, TOFU_SHARE_GATE, 3));
	EXPECT_EQ(0, take_lowest(far, TOFU_SHARE_CQ, 3));

	/* All nodes see the owners. */
	EXPECT_EQ(PPN, cq_owner(far, 1, 3, 4));
	EXPECT_EQ(PPN + 1, cq_owner(far, 1, 3, 5));
	EXPECT_EQ(PPN + 1, cq_owner(a, 1, 2, 0));
	EXPECT_EQ(-1, cq_owner(a, 1, 2, 1));
	EXPECT_EQ(2 * PPN, cq_owner(a, 2, 3, 0));
	EXPECT_EQ(-1, cq_owner(a, 0, 3, 0));
	EXPECT_EQ(PPN + 1,
		  tofu_fabric_owner(far, 1, TOFU_SHARE_GATE, 3, 0));

	tofu_fabric_give(a, TOFU_SHARE_CQ, 3, 1 << 4);
	EXPECT_EQ(-1, cq_owner(far, 1, 3, 4));
	EXPECT_EQ(4, take_lowest(b, TOFU_SHARE_CQ, 3));
	EXPECT_EQ(PPN + 1, cq_owner(far, 1, 3, 4));
	tofu_fabric_detach(a);
	tofu_fabric_detach(b);
	tofu_fabric_detach(far);
}

static int hold(int fd, uint64_t at, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)at,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

/* As a process does that is stopped while it joins, or takes a queue. */
TEST_F(machine, a_lock_that_is_never_given_back_is_not_waited_for)
{
	const uint64_t entry = tofu_shm_node_offset(PPN);
	struct tofu_fabric *a = attach(self->path, 1), *other;
	char *why = NULL;
	pid_t child;

	ASSERT_NE(NULL, a);
	ASSERT_EQ(0, hold(self->fd, entry, F_WRLCK));
	ASSERT_EQ(0, hold(self->fd, entry + 1, F_WRLCK));
	child = fork();
	if (!child)
		_exit(-tofu_fabric_attach(self->path, 1, &why, &other));
	EXPECT_EQ(-ETIMEDOUT, tofu_fabric_shares_lock(a));
	EXPECT_EQ(ETIMEDOUT, end_child(child));

	ASSERT_EQ(0, hold(self->fd, entry, F_UNLCK));
	ASSERT_EQ(0, hold(self->fd, entry + 1, F_UNLCK));
	EXPECT_EQ(0, take_lowest(a, TOFU_SHARE_CQ, 0));
	other = attach(self->path, 1);
	EXPECT_NE(NULL, other);
	tofu_fabric_detach(other);
	tofu_fabric_detach(a);
}

TEST_F(machine, what_is_nothing_has_no_owner)
{
	struct tofu_fabric *a = attach(self->path, 1);
	struct tofu_shm_node *table = machine_map(self->fd, NODES * PPN);

	ASSERT_TRUE(a && table != MAP_FAILED);
	EXPECT_EQ(-1, cq_owner(a, NODES, 0, 0));
	EXPECT_EQ(-1, cq_owner(a, UINT32_MAX, 0, 0));
	EXPECT_EQ(-1, cq_owner(a, 1, TOFU_TNIS_MAX, 0));
	EXPECT_EQ(-1, cq_owner(a, 1, 0, TOFU_CQS_PER_TNI));
	EXPECT_EQ(-1, tofu_fabric_owner(a, 1, TOFU_SHARE_GATE, 0, TOFU_GATES));

	/* An invalid value in the table names no owner, and does not stay. */
	table = (void *)((uint8_t *)table + tofu_shm_node_offset(PPN));
	table->cq_owner[0][0] = PPN + 1;
	EXPECT_EQ(-1, cq_owner(a, 1, 0, 0));
	table->cq_owner[0][0] = 255;
	EXPECT_EQ(-1, cq_owner(a, 1, 0, 0));
	EXPECT_EQ(0, take_lowest(a, TOFU_SHARE_CQ, 0));
	tofu_fabric_detach(a);
}

/* A process of node 1 that takes queues and gates, and dies. */
static void die_with_shares(const char *path)
{
	pid_t pid = start_child();
	struct tofu_fabric *fabric;

	if (pid) {
		end_child(pid);
		return;
	}
	fabric = attach(path, 1);
	for (int i = 0; i < 3; i++) {
		take_lowest(fabric, TOFU_SHARE_CQ, 0);
		take_lowest(fabric, TOFU_SHARE_GATE, 0);
	}
	_exit(0);
}

TEST_F(machine, what_a_dead_process_had_is_free)
{
	struct tofu_fabric *a = attach(self->path, 1);

	ASSERT_NE(NULL, a);
	die_with_shares(self->path);
	EXPECT_EQ(PPN + 1, cq_owner(a, 1, 0, 2));
	EXPECT_FALSE(tofu_fabric_up(a, PPN + 1));
	EXPECT_EQ(0, take_lowest(a, TOFU_SHARE_CQ, 0));
	EXPECT_EQ(PPN, cq_owner(a, 1, 0, 0));
	EXPECT_EQ(0, take_lowest(a, TOFU_SHARE_GATE, 0));
	tofu_fabric_detach(a);
}

TEST_F(machine, who_gets_the_number_of_a_dead_process_has_nothing_of_it)
{
	struct tofu_fabric *a = attach(self->path, 1), *b;

	ASSERT_NE(NULL, a);
	die_with_shares(self->path);
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(PPN + 1, tofu_fabric_endpoint(b));
	EXPECT_EQ(-1, cq_owner(a, 1, 0, 2));
	EXPECT_EQ(-1, tofu_fabric_owner(a, 1, TOFU_SHARE_GATE, 0, 0));
	tofu_fabric_detach(a);
	tofu_fabric_detach(b);
}

/* Processes that take and give at once never have the same number. */
TEST_F(machine, many_take_at_once)
{
	_Atomic unsigned int *held =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[PPN];

	ASSERT_NE(MAP_FAILED, (void *)held);
	for (unsigned int p = 0; p < PPN; p++) {
		struct tofu_fabric *fabric;

		pid[p] = start_child();
		if (pid[p])
			continue;
		fabric = attach(self->path, 1);
		for (int i = 0; i < 500; i++) {
			int n = take_lowest(fabric, TOFU_SHARE_CQ, 0);

			if (n < 0 || held[n]++)
				_exit(1);
			sched_yield();
			held[n]--;
			tofu_fabric_give(fabric, TOFU_SHARE_CQ, 0, 1ULL << n);
		}
		_exit(0);
	}
	for (unsigned int p = 0; p < PPN; p++)
		EXPECT_EQ(0, end_child(pid[p]));
	munmap((void *)held, 4096);
}

TEST_HARNESS_MAIN
