// SPDX-License-Identifier: MIT
/* Watched regions: whatever gives their addresses other pages marks them. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "tk_harness.h"

#define PAGE 4096UL
#define PAGES 8
#define SIZE (PAGES * PAGE)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static int watch_get(struct tk_cq *cq, struct tofu_ioc_watch *arg)
{
	*arg = (struct tofu_ioc_watch){ .size = sizeof(*arg) };
	return tk_ioctl(cq->fd, TOFU_IOC_WATCH, arg);
}

static struct tofu_watch *watch_map(struct tk_cq *cq)
{
	struct tofu_ioc_watch arg;
	void *at;

	if (watch_get(cq, &arg))
		return NULL;
	at = mmap(NULL, arg.map.length, PROT_READ, MAP_SHARED, cq->fd,
		  arg.map.key);
	return at == MAP_FAILED ? NULL : at;
}

static uint64_t generation(const struct tofu_watch *watch)
{
	return __atomic_load_n(&watch->generation, __ATOMIC_ACQUIRE);
}

static bool stale(const struct tofu_watch *watch, const struct tk_mem *mem)
{
	return __atomic_load_n(&watch->stale[mem->stag / 64],
			       __ATOMIC_ACQUIRE) >> mem->stag % 64 & 1;
}

static char *map(void *at, size_t size)
{
	char *addr = mmap(at, size, RW, ANON | (at ? MAP_FIXED : 0), -1, 0);

	if (addr != MAP_FAILED)
		memset(addr, 1, size);
	return addr;
}

/* Registers @size bytes at @addr; fails unless the region is not stale. */
static int watch(struct tk_cq *cq, const struct tofu_watch *watch, char *addr,
		 size_t size, struct tk_mem *mem)
{
	int ret = tk_mem_reg(cq, addr, size, TOFU_MEM_WATCH, mem);

	return ret ? ret : stale(watch, mem) ? -ESTALE : 0;
}

FIXTURE(watch) {
	int log;
	struct tk_cq cq;
	struct tofu_watch *watch;
	char *addr;
	struct tk_mem mem;
	struct tk_mem other;
	uint64_t before;
};

/* One region to be changed, and one beside it */
FIXTURE_SETUP(watch)
{
	self->log = tk_log_begin();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, tk_cq_open(&self->cq));
	self->watch = watch_map(&self->cq);
	ASSERT_NE(NULL, self->watch);
	EXPECT_EQ(0, generation(self->watch));
	self->addr = map(NULL, 2 * SIZE);
	ASSERT_NE(MAP_FAILED, self->addr);
	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr, SIZE,
			   &self->mem));
	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr + SIZE, SIZE,
			   &self->other));
	self->before = generation(self->watch);
}

FIXTURE_TEARDOWN(watch)
{
	const char *found;

	munmap(self->addr, 2 * SIZE);
	munmap(self->watch, PAGE);
	tk_cq_close(&self->cq);
	found = tk_left_over(self->log);
	EXPECT_EQ(NULL, found)
		TH_LOG("left over: %s", found);
}

#define EXPECT_STALE()                                                   \
	do {                                                             \
		EXPECT_LT(self->before, generation(self->watch));        \
		EXPECT_TRUE(stale(self->watch, &self->mem));             \
	} while (0)

#define EXPECT_UNCHANGED()                                               \
	do {                                                             \
		EXPECT_EQ(self->before, generation(self->watch));        \
		EXPECT_FALSE(stale(self->watch, &self->mem));            \
	} while (0)

/* ---- What is told ---- */

TEST_F(watch, munmap_of_any_part)
{
	ASSERT_EQ(0, munmap(self->addr + 3 * PAGE, PAGE));
	EXPECT_STALE();
	EXPECT_FALSE(stale(self->watch, &self->other));
}

TEST_F(watch, mmap_over_it)
{
	ASSERT_EQ(self->addr, map(self->addr, PAGE));
	EXPECT_STALE();
}

TEST_F(watch, mremap_away)
{
	char *to = mmap(NULL, SIZE, RW, ANON, -1, 0);

	ASSERT_EQ(to, mremap(self->addr, SIZE, SIZE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_STALE();
	munmap(to, SIZE);
}

TEST_F(watch, mremap_onto_it)
{
	char *from = map(NULL, PAGE);

	ASSERT_EQ(self->addr, mremap(from, PAGE, PAGE,
				     MREMAP_MAYMOVE | MREMAP_FIXED,
				     self->addr));
	EXPECT_STALE();
}

TEST_F(watch, madvise_dontneed)
{
	ASSERT_EQ(0, madvise(self->addr, PAGE, MADV_DONTNEED));
	EXPECT_STALE();
	EXPECT_EQ(0, *self->addr);
}

static int file_map(char *at, size_t size)
{
	int fd = memfd_create("tofu_watch", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, size) ||
	    mmap(at, size, RW, MAP_SHARED | MAP_FIXED, fd, 0) != at)
		return -1;
	memset(at, 2, size);
	return fd;
}

TEST_F(watch, truncation_of_a_mapped_file)
{
	int fd = file_map(self->addr, SIZE);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr, SIZE,
			   &self->mem));
	self->before = generation(self->watch);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	EXPECT_STALE();
	close(fd);
}

TEST_F(watch, hole_in_a_mapped_file)
{
	int fd = file_map(self->addr, SIZE);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr, SIZE,
			   &self->mem));
	self->before = generation(self->watch);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       PAGE, PAGE));
	EXPECT_STALE();
	close(fd);
}

static void *unmap_it(void *addr)
{
	munmap(addr, PAGE);
	return NULL;
}

TEST_F(watch, munmap_by_another_thread)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, unmap_it, self->addr));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_STALE();
}

/* ---- What is not ---- */

TEST_F(watch, changes_elsewhere)
{
	ASSERT_EQ(0, munmap(map(NULL, SIZE), SIZE));
	ASSERT_EQ(0, munmap(self->addr + SIZE, PAGE));
	EXPECT_TRUE(stale(self->watch, &self->other));
	EXPECT_FALSE(stale(self->watch, &self->mem));
}

TEST_F(watch, use_of_the_memory)
{
	memset(self->addr, 7, SIZE);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&self->cq, &self->cq, self->other.stadd,
				     self->mem.stadd, SIZE));
	EXPECT_EQ(7, self->addr[2 * SIZE - 1]);
	EXPECT_UNCHANGED();
}

TEST_F(watch, regions_that_are_not_watched)
{
	char *addr = map(NULL, SIZE);
	struct tk_mem mem;

	ASSERT_EQ(0, tk_mem_reg(&self->cq, addr, SIZE, 0, &mem));
	ASSERT_EQ(0, munmap(addr, SIZE));
	EXPECT_UNCHANGED();
	EXPECT_FALSE(stale(self->watch, &mem));
}

TEST_F(watch, regions_that_are_deregistered)
{
	ASSERT_EQ(0, tk_mem_dereg(&self->cq, &self->mem));
	ASSERT_EQ(0, munmap(self->addr, SIZE));
	EXPECT_UNCHANGED();
}

TEST_F(watch, changes_in_a_child)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(munmap(self->addr, SIZE));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	/* fork() itself may mark it. */
	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr, SIZE,
			   &self->mem));
	self->before = generation(self->watch);
	child = fork();
	if (!child)
		_exit(munmap(self->addr, SIZE));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* After it nothing does, and pages are still those of the parent. */
	memset(self->addr, 9, SIZE);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&self->cq, &self->cq, self->other.stadd,
				     self->mem.stadd, SIZE));
	EXPECT_EQ(9, self->addr[SIZE]);
}

/* ---- Marks ---- */

TEST_F(watch, registering_clears_the_mark)
{
	uint32_t stag = self->mem.stag;

	ASSERT_EQ(0, madvise(self->addr, PAGE, MADV_DONTNEED));
	ASSERT_TRUE(stale(self->watch, &self->mem));
	memset(self->addr, 1, PAGE);
	ASSERT_EQ(0, tk_mem_dereg(&self->cq, &self->mem));
	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr, SIZE,
			   &self->mem));
	EXPECT_EQ(stag, self->mem.stag);
	self->before = generation(self->watch);
	ASSERT_EQ(0, madvise(self->addr, PAGE, MADV_DONTNEED));
	EXPECT_STALE();
}

/* It is told once that a region is stale. */
TEST_F(watch, generation_counts_stale_regions)
{
	ASSERT_EQ(0, munmap(self->addr, PAGE));
	EXPECT_EQ(self->before + 1, generation(self->watch));
	ASSERT_EQ(0, munmap(self->addr + PAGE, PAGE));
	EXPECT_EQ(self->before + 1, generation(self->watch));
	ASSERT_EQ(0, munmap(self->addr + 2 * PAGE, SIZE));
	EXPECT_EQ(self->before + 2, generation(self->watch));
}

TEST_F(watch, overlapping_regions)
{
	struct tk_mem mem;

	ASSERT_EQ(0, watch(&self->cq, self->watch, self->addr + 100, PAGE,
			   &mem));
	self->before = generation(self->watch);
	ASSERT_EQ(0, madvise(self->addr + 3 * PAGE, PAGE, MADV_DONTNEED));
	EXPECT_STALE();
	EXPECT_FALSE(stale(self->watch, &mem));
	/* Bytes of a page that the region has a part of */
	ASSERT_EQ(0, madvise(self->addr + PAGE, PAGE, MADV_DONTNEED));
	EXPECT_TRUE(stale(self->watch, &mem));
}

/* ---- Calls ---- */

TEST_F(watch, page_can_only_be_read)
{
	struct tofu_ioc_watch arg, again;

	ASSERT_EQ(0, watch_get(&self->cq, &arg));
	ASSERT_EQ(0, watch_get(&self->cq, &again));
	EXPECT_EQ(0, memcmp(&arg, &again, sizeof(arg)));
	EXPECT_EQ(PAGE, arg.map.length);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, RW, MAP_SHARED, self->cq.fd,
				   arg.map.key));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE,
				   self->cq.fd, arg.map.key));
	EXPECT_EQ(-1, mprotect(self->watch, PAGE, RW));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(tofu, regions_are_watched_after_the_first_map)
{
	char *addr = map(NULL, PAGE);
	struct tofu_ioc_watch arg;
	struct tk_mem mem;
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_EQ(-EINVAL, tk_mem_reg(&cq, addr, PAGE, TOFU_MEM_WATCH, &mem));
	ASSERT_EQ(0, watch_get(&cq, &arg));
	EXPECT_EQ(0, tk_mem_reg(&cq, addr, PAGE, TOFU_MEM_WATCH, &mem));
	munmap(addr, PAGE);
	EXPECT_EQ(-EFAULT, tk_mem_reg(&cq, addr, PAGE, TOFU_MEM_WATCH, &mem));
	tk_cq_close(&cq);
}

/* The last reference to the CQ ends with the process. */
TEST_F(tofu, exit_with_watched_regions)
{
	int status;
	pid_t child = fork();

	if (!child) {
		char *addr = map(NULL, SIZE);
		struct tk_mem mem;
		struct tk_cq cq;

		if (tk_cq_open(&cq) || !watch_map(&cq) ||
		    tk_mem_reg(&cq, addr, SIZE, TOFU_MEM_WATCH, &mem))
			_exit(1);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/* The driver watches no more, though the file is still open. */
TEST_F_TIMEOUT(tofu, unbind_with_watched_regions, TK_TIMEOUT_S)
{
	char *addr = map(NULL, SIZE), function[64];
	struct tofu_watch *marks;
	struct tk_mem mem;
	struct tk_cq cq;

	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	ASSERT_EQ(0, tk_cq_open(&cq));
	marks = watch_map(&cq);
	ASSERT_NE(NULL, marks);
	ASSERT_EQ(0, watch(&cq, marks, addr, SIZE, &mem));
	ASSERT_EQ(0, tk_write(TK_DRIVER "/unbind", function));
	EXPECT_EQ(0, tk_touch((char *)marks));
	EXPECT_EQ(0, tk_pinned_kb());
	EXPECT_EQ(0, munmap(addr, SIZE));
	ASSERT_EQ(0, tk_write(TK_DRIVER "/bind", function));
	munmap(marks, PAGE);
	tk_cq_close(&cq);
}

/* ---- Under load ---- */

#define THREADS 3
#define ROUNDS 300

static atomic_bool stop;
static struct tk_cq shared;

static void *remap(void *arg)
{
	while (!stop)
		map(arg, SIZE);
	return NULL;
}

/* Regions come and go while their addresses change; all end up stale. */
TEST_F_TIMEOUT(tofu, registration_beside_changes, TK_TIMEOUT_S)
{
	struct tofu_watch *watch;
	pthread_t threads[THREADS];
	char *addr[THREADS];
	struct tk_mem mem;
	int i;

	stop = false;
	ASSERT_EQ(0, tk_cq_open(&shared));
	watch = watch_map(&shared);
	ASSERT_NE(NULL, watch);
	for (i = 0; i < THREADS; i++) {
		addr[i] = map(NULL, SIZE);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, remap,
					    addr[i]));
	}
	for (i = 0; i < ROUNDS; i++) {
		int ret = tk_mem_reg(&shared, addr[i % THREADS], SIZE,
				     TOFU_MEM_WATCH, &mem);

		ASSERT_EQ(0, ret);
		if (i % 2)
			while (!stale(watch, &mem))
				sched_yield();
		ASSERT_EQ(0, tk_mem_dereg(&shared, &mem));
	}
	stop = true;
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		munmap(addr[i], SIZE);
	}
	munmap(watch, PAGE);
	tk_cq_close(&shared);
}

TEST_HARNESS_MAIN
