// SPDX-License-Identifier: MIT
/* Reading peers' memory: of files and of processes. */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "harness.h"

#define GIB (1ULL << 30)

/* ---- Allocations of all that is linked here ---- */

static unsigned int allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

/* ---- Two nodes ---- */

FIXTURE(pair)
{
	int fd;
	char path[32];
	struct tofu_fabric *a, *b;
	struct sink sink;
};

FIXTURE_SETUP(pair)
{
	self->fd = machine_create(3, self->path);
	ASSERT_GE(self->fd, 0);
	self->a = attach(self->path, 0);
	self->b = attach(self->path, 1);
	ASSERT_NE(NULL, self->a);
	ASSERT_NE(NULL, self->b);
}

FIXTURE_TEARDOWN(pair)
{
	tofu_fabric_detach(self->a);
	tofu_fabric_detach(self->b);
	close(self->fd);
}

static int memory_file(uint64_t size)
{
	int fd = memfd_create("ram", MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	return fd;
}

/* Write a word that depends on @offset to that place. */
static bool mark(int fd, uint64_t offset)
{
	uint64_t word = offset ^ 0x746f6675;

	return pwrite(fd, &word, sizeof(word), (off_t)offset) == sizeof(word);
}

static bool marked(const void *at, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word == (offset ^ 0x746f6675);
}

/* ---- Publishing ---- */

TEST_F(pair, what_is_not_there_cannot_be_published)
{
	int fd = memory_file(GIB), pipes[2];
	struct tofu_ram many[TOFU_FABRIC_RAM_MAX + 1];
	char byte;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, pipe(pipes));
	const struct {
		struct tofu_ram ram;
		int err;
	} cases[] = {
		{ { 0, GIB, fd, 0 }, 0 },
		{ { 0, 0, fd, 0 }, -EINVAL },
		{ { 0, GIB + 1, fd, 0 }, -EINVAL },
		{ { 0, GIB, fd, 1 }, -EINVAL },
		{ { UINT64_MAX - 4095, 4096, fd, 0 }, 0 },
		{ { UINT64_MAX - 4095, 4097, fd, 0 }, -EINVAL },
		{ { 0, 4096, fd, UINT64_MAX - 4095 }, -EINVAL },
		{ { 0, 4096, pipes[0], 0 }, -EINVAL },
		{ { 0, 4096, 9999, 0 }, -EBADF },
		{ { 0, 4096, -2, 0 }, -EBADF },
		{ { 0, 4096, -1, 0 }, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EXPECT_EQ(cases[i].err,
			  tofu_fabric_publish(self->b, &cases[i].ram, 1));
	for (size_t i = 0; i <= TOFU_FABRIC_RAM_MAX; i++)
		many[i] = (struct tofu_ram){ i * 4096, 4096, fd, i * 4096 };
	EXPECT_EQ(0, tofu_fabric_publish(self->b, many, TOFU_FABRIC_RAM_MAX));
	EXPECT_EQ(-E2BIG,
		  tofu_fabric_publish(self->b, many, TOFU_FABRIC_RAM_MAX + 1));
	/* A refused table leaves the previous one in place. */
	EXPECT_EQ(0, tofu_fabric_read(self->a, 1, 31 * 4096, &byte, 1));
	close(fd);
}

/* ---- Files ---- */

/* As in a PC: below 3 GiB, and the rest from 4 GiB on. */
TEST_F(pair, large_memories_with_a_hole_are_read_everywhere)
{
	static const uint64_t sizes[] = { 2 * GIB, 3 * GIB, 5 * GIB };

	for (size_t i = 0; i < 3; i++) {
		uint64_t low = sizes[i] < 3 * GIB ? sizes[i] : 3 * GIB;
		int fd = memory_file(sizes[i]);
		struct tofu_ram ram[] = {
			{ 0, low, fd, 0 },
			{ 4 * GIB, sizes[i] - low, fd, low },
		};
		uint64_t bytes, len;
		const void *at;

		ASSERT_TRUE(mark(fd, 0) && mark(fd, low - 8) &&
			    mark(fd, sizes[i] - 8));
		ASSERT_EQ(0, tofu_fabric_publish(self->b, ram,
						 low < sizes[i] ? 2 : 1));
		len = 8;
		at = tofu_fabric_peer_memory(self->a, 1, 0, &len);
		ASSERT_NE(NULL, at);
		EXPECT_TRUE(marked(at, 0));
		len = 4096;
		at = tofu_fabric_peer_memory(self->a, 1, low - 8, &len);
		ASSERT_NE(NULL, at);
		EXPECT_EQ(8, len);
		EXPECT_TRUE(marked(at, low - 8));
		EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 1, low - 4, &bytes,
						    sizeof(bytes)));
		EXPECT_EQ(NULL, tofu_fabric_peer_memory(self->a, 1, 4 * GIB - 1,
							&len));
		if (low < sizes[i]) {
			ASSERT_EQ(0,
				  tofu_fabric_read(self->a, 1,
						   4 * GIB + sizes[i] - low - 8,
						   &bytes, sizeof(bytes)));
			EXPECT_TRUE(marked(&bytes, sizes[i] - 8));
		}
		len = 1;
		EXPECT_EQ(NULL,
			  tofu_fabric_peer_memory(self->a, 1,
						  4 * GIB + sizes[i] - low,
						  &len));
		close(fd);
	}
}

TEST_F(pair, pieces_that_meet_are_read_across)
{
	int fd = memory_file(8192);
	/* The file's pages in reverse order, at an odd address. */
	struct tofu_ram ram[] = { { 0x12345, 4096, fd, 4096 },
				  { 0x13345, 4096, fd, 0 } };
	uint8_t page[4096], buf[8192];

	memset(page, 'b', sizeof(page));
	ASSERT_EQ(4096, pwrite(fd, page, 4096, 0));
	memset(page, 'a', sizeof(page));
	ASSERT_EQ(4096, pwrite(fd, page, 4096, 4096));
	ASSERT_EQ(0, tofu_fabric_publish(self->b, ram, 2));
	ASSERT_EQ(0, tofu_fabric_read(self->a, 1, 0x12345, buf, sizeof(buf)));
	EXPECT_EQ('a', buf[0]);
	EXPECT_EQ('a', buf[4095]);
	EXPECT_EQ('b', buf[4096]);
	EXPECT_EQ('b', buf[8191]);
	EXPECT_EQ(-EFAULT,
		  tofu_fabric_read(self->a, 1, 0x12346, buf, sizeof(buf)));
	close(fd);
}

TEST_F(pair, a_piece_can_begin_anywhere_in_its_file)
{
	int fd = memory_file(3 * 4096);
	struct tofu_ram ram = { 0x1000, 4096, fd, 5000 };
	size_t len = 8;
	const void *at;

	ASSERT_TRUE(mark(fd, 5000) && mark(fd, 5000 + 4088));
	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	at = tofu_fabric_peer_memory(self->a, 1, 0x1000, &len);
	ASSERT_NE(NULL, at);
	EXPECT_TRUE(marked(at, 5000));
	at = tofu_fabric_peer_memory(self->a, 1, 0x1000 + 4088, &len);
	ASSERT_NE(NULL, at);
	EXPECT_TRUE(marked(at, 5000 + 4088));
	close(fd);
}

TEST_F(pair, a_connected_peer_is_read_without_allocating)
{
	int fd = memory_file(1 << 20);
	struct tofu_ram ram = { .len = 1 << 20, .fd = fd };
	unsigned int before;
	uint64_t word;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	/* The first table that is read, and one that replaces it. */
	for (int table = 0; table < 2; table++) {
		ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
		before = allocations;
		EXPECT_EQ(0, tofu_fabric_read(self->a, 1, 0, &word,
					      sizeof(word)));
		EXPECT_EQ(before, allocations);
	}
	close(fd);
}

TEST_F(pair, a_new_table_replaces_the_old)
{
	int one = memory_file(4096), two = memory_file(8192);
	struct tofu_ram ram = { 0, 4096, one, 0 };
	uint64_t word;

	ASSERT_TRUE(mark(one, 0) && mark(two, 4096));
	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	ASSERT_EQ(0, tofu_fabric_read(self->a, 1, 0, &word, sizeof(word)));
	EXPECT_TRUE(marked(&word, 0));
	ram.fd = two;
	ram.offset = 4096;
	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	ASSERT_EQ(0, tofu_fabric_read(self->a, 1, 0, &word, sizeof(word)));
	EXPECT_TRUE(marked(&word, 4096));
	ASSERT_EQ(0, tofu_fabric_publish(self->b, NULL, 0));
	EXPECT_EQ(-EFAULT,
		  tofu_fabric_read(self->a, 1, 0, &word, sizeof(word)));
	close(one);
	close(two);
}

TEST_F(pair, own_memory_is_read_like_any_other)
{
	int fd = memory_file(4096);
	struct tofu_ram ram = { 0x1000, 4096, fd, 0 };
	uint64_t word;

	ASSERT_TRUE(mark(fd, 8));
	ASSERT_EQ(0, tofu_fabric_publish(self->a, &ram, 1));
	ASSERT_EQ(0, tofu_fabric_read(self->a, 0, 0x1008, &word, 8));
	EXPECT_TRUE(marked(&word, 8));
	close(fd);
}

TEST_F(pair, memory_of_nobody_is_not_read)
{
	size_t len = 1;
	char byte;

	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 1, 0, &byte, 1));
	EXPECT_EQ(-EHOSTDOWN, tofu_fabric_read(self->a, 2, 0, &byte, 1));
	EXPECT_EQ(-EHOSTDOWN, tofu_fabric_read(self->a, 3, 0, &byte, 1));
	EXPECT_EQ(NULL, tofu_fabric_peer_memory(self->a, 1, 0, &len));
	EXPECT_EQ(NULL, tofu_fabric_peer_memory(self->a, 2, 0, &len));
	EXPECT_EQ(NULL, tofu_fabric_peer_memory(self->a, 99, 0, &len));
}

TEST_F(pair, a_file_that_was_closed_is_no_memory)
{
	int fd = memory_file(4096);
	struct tofu_ram ram = { 0, 4096, fd, 0 };
	char byte;

	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	close(fd);
	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 1, 0, &byte, 1));
}

TEST_F(pair, a_peers_memory_cannot_be_written)
{
	int fd = memory_file(4096);
	struct tofu_ram ram = { 0, 4096, fd, 0 };
	size_t len = 1;
	char *at;
	pid_t child;

	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	at = (char *)tofu_fabric_peer_memory(self->a, 1, 0, &len);
	ASSERT_NE(NULL, at);
	child = start_child();
	if (!child) {
		signal(SIGSEGV, SIG_DFL); /* not the sanitizer's */
		*(volatile char *)at = 1;
		_exit(0);
	}
	EXPECT_EQ(1000 + SIGSEGV, end_child(child));
	close(fd);
}

/*
 * Nobody's table can make a node map what it has open of another user, not even
 * where that can no longer shrink.
 */
TEST_F(pair, files_of_other_users_are_no_memory)
{
	int sealed = memory_file(4096), open = memfd_create("ram", 0);
	const int files[] = { sealed, open };
	char byte;

	if (geteuid())
		SKIP(return, "only root can be another user");
	ASSERT_EQ(0, ftruncate(open, 4096));
	for (size_t i = 0; i < 2; i++) {
		struct tofu_ram ram = { 0, 4096, files[i], 0 };

		ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
		ASSERT_EQ(0, fchown(files[i], 65534, 65534));
		EXPECT_EQ(-EPERM, tofu_fabric_publish(self->b, &ram, 1));
		EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 1, 0, &byte, 1));
		ASSERT_EQ(0, fchown(files[i], geteuid(), 0));
		EXPECT_EQ(0, tofu_fabric_read(self->a, 1, 0, &byte, 1));
		close(files[i]);
	}
}

TEST_F(pair, a_file_that_has_shrunk_is_no_memory)
{
	int fd = memfd_create("ram", 0);
	struct tofu_ram ram = { 0, 8192, fd, 0 };
	char byte;

	ASSERT_EQ(0, ftruncate(fd, 8192));
	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	ASSERT_EQ(0, ftruncate(fd, 4096));
	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 1, 0, &byte, 1));
	close(fd);
}

TEST_F(pair, memory_of_who_is_gone_is_forgotten)
{
	int fd = memory_file(4096);
	struct tofu_ram ram = { 0, 4096, fd, 0 };
	char byte;

	ASSERT_EQ(0, tofu_fabric_publish(self->b, &ram, 1));
	ASSERT_EQ(0, tofu_fabric_read(self->a, 1, 0, &byte, 1));
	tofu_fabric_detach(self->b);
	ASSERT_TRUE(sink_wait_down(self->a, &self->sink, 1));
	EXPECT_EQ(-EHOSTDOWN, tofu_fabric_read(self->a, 1, 0, &byte, 1));
	/* A successor begins without memory. */
	self->b = attach(self->path, 1);
	ASSERT_NE(NULL, self->b);
	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 1, 0, &byte, 1));
	close(fd);
}

/* ---- Processes ---- */

#define PROCESS_BYTES (4ULL << 20)

/* A node whose last page is unmapped; it sends the address in a request. */
static void process_node(const char *path)
{
	struct tofu_fabric *c = attach(path, 2);
	uint8_t *mem = mmap(NULL, PROCESS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tofu_ram ram = { (uintptr_t)mem, PROCESS_BYTES, -1, 0 };

	for (size_t i = 0; i < PROCESS_BYTES; i++)
		mem[i] = (uint8_t)(i * 13 >> 4);
	munmap(mem + PROCESS_BYTES - 4096, 4096);
	_exit(tofu_fabric_publish(c, &ram, 1) ||
			      send_one(c, 0, TOFU_REQUEST, (uintptr_t)mem)
		      ? 1
		      : pause());
}

static void read_a_process(struct harness_test *_metadata,
			   FIXTURE_DATA(pair) *self)
{
	uint8_t *buf = malloc(PROCESS_BYTES);
	size_t len = 1;
	pid_t child = start_child();
	uint64_t addr;

	if (!child)
		process_node(self->path);
	ASSERT_NE(NULL, buf);
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	addr = self->sink.seen[0].tid;
	ASSERT_EQ(0, tofu_fabric_read(self->a, 2, addr + 3, buf,
				      PROCESS_BYTES - 4099));
	for (size_t i = 0; i < PROCESS_BYTES - 4099; i++)
		ASSERT_EQ((uint8_t)((i + 3) * 13 >> 4), buf[i]);
	EXPECT_EQ(NULL, tofu_fabric_peer_memory(self->a, 2, addr, &len));
	/* Into the unmapped page, beyond the piece, below the piece. */
	EXPECT_EQ(-EFAULT,
		  tofu_fabric_read(self->a, 2, addr, buf, PROCESS_BYTES));
	EXPECT_EQ(-EFAULT,
		  tofu_fabric_read(self->a, 2, addr + PROCESS_BYTES, buf, 1));
	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->a, 2, addr - 1, buf, 1));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_EQ(-EHOSTDOWN, tofu_fabric_read(self->a, 2, addr, buf, 1));
	free(buf);
}

TEST_F(pair, a_process_is_read_by_address)
{
	read_a_process(_metadata, self);
}

/* As in some containers, and in an emulator that lacks it */
static bool process_vm_readv_forbid(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return syscall(__NR_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0) <
		       0 &&
	       errno == ENOSYS;
}

TEST_F(pair, a_process_is_read_where_process_vm_readv_is_forbidden)
{
	ASSERT_TRUE(process_vm_readv_forbid());
	read_a_process(_metadata, self);
}

/* A node that connects, then sends many requests and dies. */
static void dying_node(const char *path, int go)
{
	struct tofu_fabric *c = attach(path, 2);
	static char mem[4096];
	struct tofu_ram ram = { (uintptr_t)mem, sizeof(mem), -1, 0 };
	char byte;

	if (tofu_fabric_publish(c, &ram, 1) ||
	    send_one(c, 0, TOFU_REQUEST, (uintptr_t)mem) ||
	    read(go, &byte, 1) != 1)
		_exit(1);
	for (unsigned int i = 0; i < 4; i++)
		if (send_one(c, 0, TOFU_REQUEST, (uintptr_t)mem) ||
		    send_one(c, 0, TOFU_RESPONSE, (uintptr_t)mem))
			_exit(1);
	_exit(0);
}

/* A handler that reads the memory that a request refers to. */
struct reader {
	struct tofu_fabric *fabric;
	unsigned int good, failed, responses, down;
};

static int reader_packet(void *ctx, const struct tofu_packet *pkt,
			 const void *payload)
{
	struct reader *reader = ctx;
	char byte;

	(void)payload;
	if (pkt->type >= TOFU_PKT_DONE)
		reader->responses++;
	else if (tofu_fabric_read(reader->fabric, pkt->src, pkt->tid, &byte, 1))
		reader->failed++;
	else
		reader->good++;
	return 0;
}

static void reader_down(void *ctx, uint32_t node)
{
	struct reader *reader = ctx;

	reader->down += node == 2;
}

/* After a put that cannot be read, the one that announces it must not come. */
TEST_F(pair, no_request_is_taken_behind_one_whose_memory_has_gone)
{
	const struct tofu_fabric_handler handler = { reader_packet,
						     reader_down };
	struct reader reader = { .fabric = self->a };
	int64_t end = now_ms() + LIMIT_MS;
	int go[2];
	pid_t child;

	ASSERT_EQ(0, pipe(go));
	child = start_child();
	if (!child)
		dying_node(self->path, go[0]);
	while (!reader.good && now_ms() < end)
		tofu_fabric_poll(self->a, &handler, &reader);
	ASSERT_EQ(1, reader.good);
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(0, end_child(child));
	while (!reader.down && now_ms() < end)
		tofu_fabric_poll(self->a, &handler, &reader);
	EXPECT_EQ(1, reader.down);
	EXPECT_EQ(1, reader.good);
	EXPECT_EQ(4, reader.responses);
	/* None if the death was seen before a read failed. */
	EXPECT_LE(reader.failed, 1);
	close(go[0]);
	close(go[1]);
}

TEST_HARNESS_MAIN
