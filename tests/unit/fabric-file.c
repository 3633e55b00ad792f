// SPDX-License-Identifier: MIT
/* The shared file: how it is made, whose it is, and the room that it takes. */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "harness.h"

TEST(a_header_that_lies_is_refused)
{
	struct tofu_shm_header header, good;
	char path[32];
	bool said;
	int fd = machine_create(2, path);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(sizeof(good), pread(fd, &good, sizeof(good), 0));
	for (int lie = 0; lie < 6; lie++) {
		header = good;
		switch (lie) {
		case 0:
			header.magic ^= 1;
			break;
		case 1:
			header.version++;
			break;
		case 2:
			header.nodes = 3;
			break;
		case 3:
			header.ring_size *= 2;
			break;
		case 4:
			header.shape = UINT64_MAX;
			break;
		case 5: {
			/* Consistent, but for more nodes than the file holds.
			 */
			struct tofu_shape shape = { { 2, 2, 1, 1, 1, 1 } };

			header.shape = tofu_shape_pack(&shape);
			header.nodes = 4;
			break;
		}
		}
		ASSERT_EQ(sizeof(header),
			  pwrite(fd, &header, sizeof(header), 0));
		EXPECT_EQ(-EINVAL, attach_error(path, 0, &said));
	}
	ASSERT_EQ(sizeof(good), pwrite(fd, &good, sizeof(good), 0));
	EXPECT_EQ(0, attach_error(path, 0, &said));
	close(fd);
}

TEST(formatting_wants_an_empty_file_and_a_fair_shape)
{
	struct tofu_shape shape = { { 256, 8, 1, 1, 1, 1 } };
	struct tofu_shape largest = { { 256, 4, 1, 1, 1, 1 } };
	int fd = memfd_create("format", MFD_ALLOW_SEALING), pipes[2];

	EXPECT_EQ(-EINVAL, tofu_fabric_format(fd, &shape, 1));
	EXPECT_EQ(0, tofu_fabric_format(fd, &largest, 1));
	EXPECT_EQ(-EEXIST, tofu_fabric_format(fd, &largest, 1));
	EXPECT_EQ(-1, ftruncate(fd, 4096));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-EINVAL, tofu_fabric_format(pipes[1], &largest, 1));
	close(fd);
}

/* A writer could make others read their own files to it. */
TEST(a_file_that_others_can_write_is_refused)
{
	static const struct {
		mode_t mode;
		int err;
	} cases[] = {
		{ 0600, 0 }, { 0644, 0 }, { 0620, -EPERM }, { 0602, -EPERM },
	};
	char path[32];
	bool said;
	int fd = machine_create(2, path);

	ASSERT_GE(fd, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, fchmod(fd, cases[i].mode));
		EXPECT_EQ(cases[i].err, attach_error(path, 0, &said));
		EXPECT_EQ(cases[i].err != 0, said);
	}
	close(fd);
}

TEST(a_file_of_another_user_is_refused)
{
	struct tofu_shape shape = { { 2, 1, 1, 1, 1, 1 } };
	int empty = memfd_create("empty", 0), fd;
	char path[32];
	bool said;

	if (geteuid())
		SKIP(return, "only root can make a file of another user");
	fd = machine_create(2, path);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, fchown(fd, 65534, 65534));
	EXPECT_EQ(-EPERM, attach_error(path, 0, &said));
	EXPECT_TRUE(said);
	ASSERT_EQ(0, fchown(empty, 65534, 65534));
	EXPECT_EQ(-EPERM, tofu_fabric_format(empty, &shape, 1));
	close(fd);
	close(empty);
}

TEST(formatting_closes_a_file_to_others)
{
	struct stat st;
	char path[32];
	int fd = machine_create(2, path);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_EQ(0600, st.st_mode & 07777);
	close(fd);
}

TEST(a_plain_file_will_do)
{
	struct tofu_shape shape = { { 2, 1, 1, 1, 1, 1 } };
	char path[] = "/tmp/fabric-peer-XXXXXX";
	int fd = mkstemp(path);
	struct tofu_fabric *fabric;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, tofu_fabric_format(fd, &shape, 1));
	close(fd);
	fabric = attach(path, -1);
	unlink(path);
	ASSERT_NE(NULL, fabric);
	tofu_fabric_detach(fabric);
}

TEST_HARNESS_MAIN
