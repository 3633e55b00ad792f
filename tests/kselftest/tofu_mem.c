// SPDX-License-Identifier: MIT
/* Registered memory: pinning, its duration, and a peer's access. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "tk_harness.h"

#define PAGE 4096UL
#define HUGE_PAGE (2UL << 20)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static void fill(void *addr, size_t length, unsigned int seed)
{
	unsigned char *byte = addr;
	size_t i;

	for (i = 0; i < length; i++)
		byte[i] = (i * 13 + (i >> 12) * 5 + seed) & 0xff;
}

static bool filled(const void *addr, size_t length, int value)
{
	const unsigned char *byte = addr;
	size_t i;

	for (i = 0; i < length; i++)
		if (byte[i] != value)
			return false;
	return true;
}

TEST_F(tofu, stags_begin_at_4096_and_offsets_at_256)
{
	static char memory[2 * 4096] __attribute__((aligned(4096)));
	struct tk_cq cq;
	struct tk_mem mem;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, tk_mem_reg(&cq, memory + 300, 1, 0, &mem));
	EXPECT_EQ(TOFU_STAG_AUTO, mem.stag);
	EXPECT_EQ(300 - 256, TOFU_GET(mem.stadd, TOFU_ADDR_OFFSET));
	ASSERT_EQ(0, tk_mem_reg(&cq, memory + 512, 1, 0, &mem));
	EXPECT_EQ(TOFU_STAG_AUTO + 1, mem.stag);
	EXPECT_EQ(0, TOFU_GET(mem.stadd, TOFU_ADDR_OFFSET));
	tk_cq_close(&cq);
}

TEST_F(tofu, pages_are_pinned_until_deregistration)
{
	struct tk_cq cq;
	struct tk_mem mem;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, 10 * PAGE, &mem));
	EXPECT_EQ(1, tk_count("regions"));
	EXPECT_EQ(10, tk_count("pinned_pages"));
	EXPECT_EQ(40, tk_pinned_kb());
	ASSERT_EQ(0, tk_mem_dereg(&cq, &mem));
	EXPECT_EQ(0, tk_count("regions"));
	EXPECT_EQ(0, tk_count("pinned_pages"));
	EXPECT_EQ(0, tk_pinned_kb());
	munmap(mem.addr, mem.length);
	tk_cq_close(&cq);
}

TEST_F(tofu, closing_unpins)
{
	struct tk_cq cq;
	struct tk_mem mem;
	int i;

	ASSERT_EQ(0, tk_cq_open(&cq));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, tk_mem_new(&cq, 3 * PAGE, &mem));
	EXPECT_EQ(60, tk_count("pinned_pages"));
	tk_cq_close(&cq);
	EXPECT_EQ(0, tk_pinned_kb());
}

/*
 * Every start and end within pages, which covers page tables of one entry and
 * of many, and with a lead before the region.
 */
TEST_F_TIMEOUT(tofu, data_lands_where_it_should, TK_TIMEOUT_S)
{
	static const size_t starts[] = { 0, 1, 255, 4095, 4096, 123456 };
	static const size_t lengths[] = { 1, 4096, 70001, HUGE_PAGE + 5 };
	const size_t size = 3 * HUGE_PAGE;
	char *from = mmap(NULL, size, RW, ANON, -1, 0);
	char *to = mmap(NULL, size, RW, ANON, -1, 0);
	struct tk_mem src, dst;
	struct tk_cq cq;
	size_t i, k;

	ASSERT_EQ(0, tk_cq_open(&cq));
	fill(from, size, 3);
	for (i = 0; i < 6; i++) {
		for (k = 0; k < 4; k++) {
			size_t start = starts[i], length = lengths[k];
			char *end = to + start + length;

			memset(to, 0, size);
			ASSERT_EQ(0, tk_mem_reg(&cq, from + start, length,
						TOFU_MEM_READ_ONLY, &src));
			ASSERT_EQ(0, tk_mem_reg(&cq, to + start, length, 0,
						&dst));
			ASSERT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, dst.stadd,
						     src.stadd, length));
			EXPECT_EQ(0, memcmp(from + start, to + start, length))
				TH_LOG("%zu bytes at %zu", length, start);
			EXPECT_TRUE(filled(to, start, 0));
			EXPECT_TRUE(filled(end, to + size - end, 0));
			ASSERT_EQ(0, tk_mem_dereg(&cq, &src));
			ASSERT_EQ(0, tk_mem_dereg(&cq, &dst));
		}
	}
	munmap(from, size);
	munmap(to, size);
	tk_cq_close(&cq);
}

TEST_F_TIMEOUT(tofu, huge_pages, TK_TIMEOUT_S)
{
	const size_t size = 4 * HUGE_PAGE;
	char *raw = mmap(NULL, size + HUGE_PAGE, RW, ANON, -1, 0);
	char *at = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) &
			    ~(HUGE_PAGE - 1));
	struct tk_mem all, part, src;
	struct tk_cq cq;

	madvise(at, size, MADV_HUGEPAGE);
	memset(at, 0, size);
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_reg(&cq, at, size, 0, &all));
	ASSERT_EQ(0, tk_mem_reg(&cq, at + 5 * PAGE, size - 9 * PAGE, 0,
				&part));
	ASSERT_EQ(0, tk_mem_new(&cq, HUGE_PAGE, &src));
	fill(src.addr, HUGE_PAGE, 4);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, all.stadd + HUGE_PAGE - 777,
				     src.stadd, HUGE_PAGE));
	EXPECT_EQ(0, memcmp(at + HUGE_PAGE - 777, src.addr, HUGE_PAGE));
	memset(at, 0, size);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, part.stadd + HUGE_PAGE - 777,
				     src.stadd, HUGE_PAGE));
	EXPECT_EQ(0, memcmp(at + 5 * PAGE + HUGE_PAGE - 777, src.addr,
			    HUGE_PAGE));
	EXPECT_TRUE(filled(at, 5 * PAGE + HUGE_PAGE - 777, 0));
	tk_cq_close(&cq);
	munmap(src.addr, src.length);
	munmap(raw, size + HUGE_PAGE);
}

/* ---- The first page of a memory block ---- */

#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_PFN ((1ULL << 55) - 1)
/* Above all memory: the page of that size around it begins below address 0. */
#define FAR_BOUNDARY (1ULL << 40)

/* Two pages that are contiguous in memory and in @area, or NULL */
static char *find_contiguous_pair(char *area, size_t pages)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	off_t at = (uintptr_t)area / PAGE * sizeof(uint64_t);
	uint64_t entry, last = 0;
	char *found = NULL;
	size_t i;

	for (i = 0; i < pages && !found; i++, at += sizeof(entry)) {
		if (pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
			break;
		if (entry & last & PAGEMAP_PRESENT && last & PAGEMAP_PFN &&
		    (entry & PAGEMAP_PFN) == (last & PAGEMAP_PFN) + 1)
			found = area + (i - 1) * PAGE;
		last = entry;
	}
	close(fd);
	return found;
}

/*
 * User addresses allow a page of any size here, and bus addresses have no gap:
 * only the lower limit of bus addresses, 0, makes it smaller.
 */
TEST_F(tofu, a_region_around_a_far_boundary)
{
	const size_t size = 4 * HUGE_PAGE;
	char *area = mmap(NULL, size, RW, ANON, -1, 0);
	char *to = (char *)(FAR_BOUNDARY - PAGE);
	struct tk_mem src, dst;
	struct tk_cq cq;
	char *pair;

	ASSERT_NE(MAP_FAILED, area);
	madvise(area, size, MADV_NOHUGEPAGE);
	memset(area, 0, size);
	pair = find_contiguous_pair(area, size / PAGE);
	if (!pair)
		SKIP(return, "no two pages follow each other in memory");
	ASSERT_EQ(to, mremap(pair, 2 * PAGE, 2 * PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_reg(&cq, to, 2 * PAGE, 0, &dst));
	ASSERT_EQ(0, tk_mem_new(&cq, 2 * PAGE, &src));
	fill(src.addr, 2 * PAGE, 7);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, dst.stadd, src.stadd,
				     2 * PAGE));
	EXPECT_EQ(0, memcmp(to, src.addr, 2 * PAGE));
	tk_cq_close(&cq);
	munmap(to, 2 * PAGE);
	munmap(area, size);
	munmap(src.addr, src.length);
}

TEST_F(tofu, others_cannot_write_what_is_read_only)
{
	struct tk_mem src, dst;
	struct tk_cq cq;
	char *to = mmap(NULL, PAGE, RW, ANON, -1, 0);

	memset(to, 0x11, PAGE);
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_reg(&cq, to, PAGE, TOFU_MEM_READ_ONLY, &dst));
	ASSERT_EQ(0, tk_mem_new(&cq, PAGE, &src));
	EXPECT_EQ(TOFU_ST_RMT_STADD, tk_put(&cq, &cq, dst.stadd, src.stadd,
					    PAGE));
	EXPECT_TRUE(filled(to, PAGE, 0x11));
	tk_cq_close(&cq);
	munmap(to, PAGE);
	munmap(src.addr, PAGE);
}

TEST_F(tofu, others_cannot_reach_what_is_around_it)
{
	struct tk_mem src, dst;
	struct tk_cq cq;
	char *to = mmap(NULL, PAGE, RW, ANON, -1, 0);

	memset(to, 0x11, PAGE);
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_reg(&cq, to + 2 * 256 + 100, 300, 0, &dst));
	ASSERT_EQ(0, tk_mem_new(&cq, PAGE, &src));
	EXPECT_EQ(TOFU_ST_RMT_STADD, tk_put(&cq, &cq, dst.stadd - 1, src.stadd,
					    1));
	EXPECT_EQ(TOFU_ST_RMT_STADD, tk_put(&cq, &cq, dst.stadd - 100,
					    src.stadd, 300));
	EXPECT_EQ(TOFU_ST_RMT_STADD, tk_put(&cq, &cq, dst.stadd + 300,
					    src.stadd, 1));
	EXPECT_TRUE(filled(to, PAGE, 0x11));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, dst.stadd, src.stadd, 300));
	EXPECT_TRUE(filled(to + 2 * 256 + 100, 300, 0));
	tk_cq_close(&cq);
	munmap(to, PAGE);
	munmap(src.addr, PAGE);
}

TEST_F(tofu, memory_without_write_permission)
{
	char *from = mmap(NULL, PAGE, RW, ANON, -1, 0);
	struct tk_mem src, dst;
	struct tk_cq cq;

	memset(from, 0x22, PAGE);
	ASSERT_EQ(0, mprotect(from, PAGE, PROT_READ));
	ASSERT_EQ(0, tk_cq_open(&cq));
	EXPECT_EQ(-EFAULT, tk_mem_reg(&cq, from, PAGE, 0, &src));
	ASSERT_EQ(0, tk_mem_reg(&cq, from, PAGE, TOFU_MEM_READ_ONLY, &src));
	ASSERT_EQ(0, tk_mem_new(&cq, PAGE, &dst));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, dst.stadd, src.stadd, PAGE));
	EXPECT_TRUE(filled(dst.addr, PAGE, 0x22));
	tk_cq_close(&cq);
	munmap(from, PAGE);
	munmap(dst.addr, PAGE);
}

/* Others read what the owner writes after registering. */
TEST_F(tofu, copy_on_write_does_not_part_owner_and_device)
{
	char *from = mmap(NULL, PAGE, RW, ANON, -1, 0);
	struct tk_mem src, dst;
	struct tk_cq cq;
	int status;
	pid_t child;

	ASSERT_EQ(0, tk_cq_open(&cq));
	/* Not written so far: the zero page. */
	EXPECT_EQ(0, *(volatile char *)from);
	ASSERT_EQ(0, tk_mem_reg(&cq, from, PAGE, TOFU_MEM_READ_ONLY, &src));
	ASSERT_EQ(0, tk_mem_new(&cq, PAGE, &dst));
	child = fork();
	if (!child)
		_exit(0);
	memset(from, 0x33, PAGE);
	waitpid(child, &status, 0);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, dst.stadd, src.stadd, PAGE));
	EXPECT_TRUE(filled(dst.addr, PAGE, 0x33));
	tk_cq_close(&cq);
	munmap(from, PAGE);
	munmap(dst.addr, PAGE);
}

TEST_F(tofu, a_put_into_unmapped_memory_changes_nobodys_page)
{
	const size_t size = 64 * PAGE;
	struct tk_mem src, dst;
	struct tk_cq cq;
	void *place, *next;

	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, size, &src));
	ASSERT_EQ(0, tk_mem_new(&cq, size, &dst));
	memset(src.addr, 0x44, size);
	place = dst.addr;
	ASSERT_EQ(0, munmap(place, size));
	next = mmap(place, size, RW, ANON | MAP_FIXED, -1, 0);
	ASSERT_EQ(place, next);
	memset(next, 0x55, size);
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, dst.stadd, src.stadd, size));
	EXPECT_TRUE(filled(next, size, 0x55));
	EXPECT_EQ(128, tk_count("pinned_pages"));
	ASSERT_EQ(0, tk_mem_dereg(&cq, &dst));
	EXPECT_EQ(64, tk_count("pinned_pages"));
	tk_cq_close(&cq);
	munmap(next, size);
	munmap(src.addr, size);
}

/* ---- Many threads ---- */

#define THREADS 4
#define ROUNDS 40

static struct tk_cq shared;
static atomic_int failures;

/* Registers and deregisters while the other thread's puts are under way. */
static void *register_and_deregister(void *arg)
{
	char *memory = mmap(NULL, 16 * PAGE, RW, ANON, -1, 0);
	struct tofu_ioc_mem_reg reg = {
		.size = sizeof(reg), .addr = (uintptr_t)memory,
		.length = 16 * PAGE, .stag = (uintptr_t)arg,
	};
	struct tk_mem mem = { .stag = (uintptr_t)arg };
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (tk_ioctl(shared.fd, TOFU_IOC_MEM_REG, &reg))
			failures++;
		usleep(500);
		if (tk_mem_dereg(&shared, &mem))
			failures++;
		/* Nothing may arrive from here on. */
		memset(memory, 0, 16 * PAGE);
		usleep(500);
		if (!filled(memory, 16 * PAGE, 0))
			failures++;
	}
	munmap(memory, 16 * PAGE);
	return NULL;
}

TEST_F_TIMEOUT(tofu, deregistration_from_many_threads_under_load, TK_TIMEOUT_S)
{
	pthread_t threads[THREADS];
	struct tofu_mrq_entry entry;
	unsigned int ok = 0, refused = 0, other = 0;
	struct tk_cq sender;
	struct tk_mem src;
	uint64_t n = 0;
	uintptr_t i;

	failures = 0;
	ASSERT_EQ(0, tk_cq_open(&shared));
	ASSERT_EQ(0, tk_cq_open(&sender));
	ASSERT_EQ(0, tk_mem_new(&sender, 16 * PAGE, &src));
	memset(src.addr, 0x66, 16 * PAGE);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL,
					    register_and_deregister,
					    (void *)(i + 1)));
	while (tk_count("regions") > 1 || n < 200) {
		uint64_t stag = 1 + n++ % THREADS;
		int status = tk_put(&sender, &shared,
				    TOFU_SET(TOFU_ADDR_STAG, stag), src.stadd,
				    16 * PAGE);

		if (status == TOFU_ST_OK)
			ok++;
		else if (status == TOFU_ST_RMT_STADD)
			refused++;
		else
			other++;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, failures);
	EXPECT_EQ(0, other);
	TH_LOG("%u puts arrived, %u found no region", ok, refused);
	EXPECT_EQ(-EAGAIN, tk_mrq_try(&sender, &entry));
	tk_cq_close(&sender);
	tk_cq_close(&shared);
	munmap(src.addr, 16 * PAGE);
}

static void *open_and_close(void *arg)
{
	struct tk_mem mem;
	struct tk_cq cq;
	int i;

	for (i = 0; i < 15; i++) {
		if (tk_cq_open(&cq)) {
			failures++;
			continue;
		}
		if (tk_mem_new(&cq, 4 * PAGE, &mem) ||
		    tk_put(&cq, &cq, mem.stadd, mem.stadd + PAGE, PAGE))
			failures++;
		else
			munmap(mem.addr, mem.length);
		tk_cq_close(&cq);
	}
	return NULL;
}

TEST_F_TIMEOUT(tofu, cqs_of_many_threads, TK_TIMEOUT_S)
{
	pthread_t threads[THREADS];
	int i;

	failures = 0;
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, open_and_close,
					    NULL));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, failures);
}

TEST_HARNESS_MAIN
