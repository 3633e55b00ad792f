// SPDX-License-Identifier: MIT
/* The shared file: how it is made, whose it is, and the room that it takes. */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "fabric/clock.h"

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

/* ---- Room ---- */

static uint64_t bytes_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

TEST(a_pair_of_nodes_needs_room_for_its_rings_only)
{
	const uint64_t rings = 2 * TOFU_CLASSES * TOFU_SHM_RING;
	struct tofu_fabric *nodes[8];
	char path[32];
	int fd = machine_create(64, path);
	uint64_t before;

	ASSERT_GE(fd, 0);
	before = bytes_of(fd);
	EXPECT_LE(before, 65 * TOFU_SHM_PAGE + TOFU_SHM_PAGE);
	for (int n = 0; n < 8; n++) {
		nodes[n] = attach(path, n);
		ASSERT_NE(NULL, nodes[n]);
	}
	ASSERT_EQ(0, send_one(nodes[0], 1, TOFU_REQUEST, 1));
	EXPECT_GE(bytes_of(fd), before + rings);
	EXPECT_LE(bytes_of(fd), before + rings + 4 * TOFU_SHM_PAGE);
	/* Nor does it take room to leave nodes that sleep. */
	for (int n = 2; n < 8; n++)
		tofu_fabric_want_wake(nodes[n], true);
	tofu_fabric_detach(nodes[0]);
	EXPECT_LE(bytes_of(fd), before + rings + 4 * TOFU_SHM_PAGE);
	for (int n = 1; n < 8; n++)
		tofu_fabric_detach(nodes[n]);
	close(fd);
}

/* A filesystem of @size that is mounted nowhere, and ends with this process */
static int filesystem(const char *size)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), root = -1;

	if (fs < 0)
		return -errno;
	if (!fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) &&
	    !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (root < 0)
		root = -errno;
	close(fs);
	return root;
}

/* Make a machine there. Return: its file, or a negative errno. */
static int machine_on(const char *size, uint32_t nodes, char path[32])
{
	struct tofu_shape shape = { { (uint16_t)nodes, 1, 1, 1, 1, 1 } };
	int root = filesystem(size), fd, err;

	if (root < 0)
		return root;
	fd = openat(root, "machine", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	err = fd < 0 ? -errno : 0;
	close(root);
	if (err)
		return err;
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	err = tofu_fabric_format(fd, &shape, 1);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Whether this process may make a filesystem, and the kernel has the calls */
static bool cannot_mount(int err)
{
	return err == -EPERM || err == -ENOSYS;
}

/* Touch each byte of both rings, several times. */
static bool exchange(struct tofu_fabric *a, struct tofu_fabric *b)
{
	static uint8_t payload[TOFU_PKT_INLINE_MAX];
	struct sink *sink = calloc(1, sizeof(*sink));
	unsigned int sent = 0;

	for (unsigned int i = 0; i < 400; i++) {
		sent += !send_flags(a, tofu_fabric_endpoint(b), i % 2, i,
				    payload, sizeof(payload), 0);
		sink_poll(b, sink);
	}
	free(sink);
	return sent == 400;
}

TEST(a_full_filesystem_is_an_error_and_no_signal)
{
	enum { NODES = 16 };
	struct tofu_fabric *nodes[NODES];
	unsigned int good = 0, full = 0;
	char path[32];
	int fd = machine_on("2m", NODES, path);

	if (cannot_mount(fd))
		SKIP(return, "only root can make a small filesystem");
	ASSERT_GE(fd, 0);
	for (int n = 0; n < NODES; n++) {
		nodes[n] = attach(path, n);
		ASSERT_NE(NULL, nodes[n]);
	}
	for (int n = 1; n < NODES; n++) {
		const int err = send_one(nodes[0], n, TOFU_REQUEST, 1);

		full += err == -ENOSPC;
		good += !err && exchange(nodes[0], nodes[n]) &&
			exchange(nodes[n], nodes[0]);
	}
	EXPECT_GT(good, 3);
	EXPECT_GT(full, 3);
	EXPECT_EQ(NODES - 1, good + full);
	/* All leave without a signal, too. */
	for (int n = 0; n < NODES; n++)
		tofu_fabric_detach(nodes[n]);
	close(fd);
}

/* Looking at a machine touches no page that its nodes have not reserved. */
TEST(who_looks_at_a_machine_needs_no_room)
{
	enum { NODES = 64 };
	struct tofu_fabric *machine, *a, *b;
	uint64_t before;
	char path[32];
	int fd = machine_create(NODES, path);

	ASSERT_GE(fd, 0);
	a = attach(path, 0);
	b = attach(path, 1);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(a, 1, TOFU_REQUEST, 1));
	ASSERT_EQ(0, tofu_fabric_observe(path, &machine));
	before = bytes_of(fd);
	for (uint32_t n = 0; n < NODES; n++) {
		struct tofu_fabric_report report;
		struct tofu_clock_report clock;

		tofu_fabric_report(machine, n, &report);
		tofu_fabric_clock_report(machine, n, &clock);
		EXPECT_EQ(n < 2 ? TOFU_LIFE_UP : TOFU_LIFE_DOWN, report.life);
		EXPECT_EQ(n == 1 ? TOFU_SHM_RECORD(0) : 0,
			  report.waiting[TOFU_REQUEST]);
		EXPECT_EQ(0, report.waiting[TOFU_RESPONSE]);
		EXPECT_EQ(TOFU_CLOCK_APART, clock.state);
	}
	EXPECT_EQ(before, bytes_of(fd));
	tofu_fabric_detach(machine);
	tofu_fabric_detach(a);
	tofu_fabric_detach(b);
	close(fd);
}

TEST(a_machine_that_does_not_fit_is_not_made)
{
	char path[32];
	int fd = machine_on("64k", 100, path);

	if (cannot_mount(fd))
		SKIP(return, "only root can make a small filesystem");
	EXPECT_EQ(-ENOSPC, fd);
}

TEST_HARNESS_MAIN
