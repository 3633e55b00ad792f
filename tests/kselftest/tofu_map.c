// SPDX-License-Identifier: MIT
/* Mappings of a CQ, valid and invalid. */
#include <signal.h>
#include <sys/mman.h>

#include "tk_harness.h"

#define RW (PROT_READ | PROT_WRITE)

/* Returns 0, or the errno of mmap(); unmaps a successful mapping. */
static int try_map(int fd, uint64_t key, size_t length, int prot, int flags)
{
	void *at = mmap(NULL, length, prot, flags, fd, key);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, length);
	return 0;
}

TEST_F(tofu, keys_give_what_they_say)
{
	struct tk_cq cq;
	int i;

	ASSERT_EQ(0, tk_cq_create(&cq));
	for (i = 0; i < TOFU_MAPS; i++) {
		const struct tofu_map *map = &cq.create.map[i];

		EXPECT_EQ(0, map->length % 4096);
		EXPECT_EQ(0, map->reserved);
		EXPECT_EQ(0, try_map(cq.fd, map->key, map->length, RW,
				     MAP_SHARED));
		EXPECT_EQ(0, try_map(cq.fd, map->key, map->length, PROT_READ,
				     MAP_SHARED));
	}
	tk_cq_close(&cq);
}

TEST_F(tofu, rings_have_their_lengths)
{
	struct tk_cq cq;
	uint64_t n = TOFU_RING_ENTRIES(0);

	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_EQ(4096, cq.create.map[TOFU_MAP_PAGE].length);
	EXPECT_EQ(4096, cq.create.map[TOFU_MAP_KICK].length);
	EXPECT_EQ(n * 32, cq.create.map[TOFU_MAP_TOQ].length);
	EXPECT_EQ(n * 8, cq.create.map[TOFU_MAP_TCQ].length);
	EXPECT_EQ(n * 32, cq.create.map[TOFU_MAP_MRQ].length);
	tk_cq_close(&cq);
}

TEST_F(tofu, caching_is_told)
{
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_GE(TOFU_MAP_UNCACHED, cq.create.map[TOFU_MAP_PAGE].cache);
	EXPECT_EQ(TOFU_MAP_UNCACHED, cq.create.map[TOFU_MAP_KICK].cache);
	EXPECT_EQ(TOFU_MAP_CACHED, cq.create.map[TOFU_MAP_TOQ].cache);
	EXPECT_EQ(TOFU_MAP_CACHED, cq.create.map[TOFU_MAP_TCQ].cache);
	EXPECT_EQ(TOFU_MAP_CACHED, cq.create.map[TOFU_MAP_MRQ].cache);
	tk_cq_close(&cq);
}

TEST_F(tofu, wrong_mappings_are_refused)
{
	struct tk_cq cq;
	int i;

	ASSERT_EQ(0, tk_cq_create(&cq));
	for (i = 0; i < TOFU_MAPS; i++) {
		uint64_t key = cq.create.map[i].key;
		size_t length = cq.create.map[i].length;

		EXPECT_EQ(-EINVAL, try_map(cq.fd, key, length, RW,
					   MAP_PRIVATE));
		EXPECT_EQ(-EINVAL, try_map(cq.fd, key, length,
					   RW | PROT_EXEC, MAP_SHARED));
		EXPECT_EQ(-EINVAL, try_map(cq.fd, key, length + 4096, RW,
					   MAP_SHARED));
		EXPECT_EQ(-EINVAL, try_map(cq.fd, key + 4096, length, RW,
					   MAP_SHARED));
		if (length > 4096)
			EXPECT_EQ(-EINVAL, try_map(cq.fd, key, length - 4096,
						   RW, MAP_SHARED));
	}
	EXPECT_EQ(-EINVAL, try_map(cq.fd, 0, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(cq.fd, 1ULL << 62, 4096, RW, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(cq.fd, INT64_MAX & ~4095ULL, 4096, RW,
				   MAP_SHARED));
	tk_cq_close(&cq);
}

TEST_F(tofu, a_mapping_never_becomes_executable_or_longer)
{
	struct tk_cq cq;
	size_t length;

	ASSERT_EQ(0, tk_cq_open(&cq));
	length = cq.create.map[TOFU_MAP_TOQ].length;
	EXPECT_EQ(-1, mprotect(cq.map[TOFU_MAP_TOQ], length, RW | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mremap(cq.map[TOFU_MAP_TOQ], length,
				     length + 4096, MREMAP_MAYMOVE));
	EXPECT_EQ(-1, madvise(cq.map[TOFU_MAP_TOQ], length, MADV_DOFORK));
	tk_cq_close(&cq);
}

TEST_F(tofu, a_part_of_a_mapping_keeps_its_place)
{
	struct tk_cq cq;
	uint64_t *ring;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ring = mmap(NULL, cq.create.map[TOFU_MAP_TOQ].length, RW, MAP_SHARED,
		    cq.fd, cq.create.map[TOFU_MAP_TOQ].key);
	ASSERT_NE(MAP_FAILED, ring);
	/* Split before the first touch, so that each part faults separately. */
	ASSERT_EQ(0, munmap(ring + 512, 4096));
	ring[2 * 512] = 0x5afe;
	munmap(ring, cq.create.map[TOFU_MAP_TOQ].length);
	ASSERT_EQ(0, tk_cq_map(&cq));
	ring = cq.map[TOFU_MAP_TOQ];
	EXPECT_EQ(0x5afe, ring[2 * 512]);
	tk_cq_close(&cq);
}

static bool is_zero(const void *addr, size_t length)
{
	const char *byte = addr;

	return !byte[0] && !memcmp(byte, byte + 1, length - 1);
}

TEST_F(tofu, a_new_cq_is_empty_whatever_the_last_owner_left)
{
	struct tk_cq cq;
	int i;

	ASSERT_EQ(0, tk_cq_open(&cq));
	for (i = TOFU_MAP_TOQ; i < TOFU_MAPS; i++)
		memset(cq.map[i], 0xa5, cq.create.map[i].length);
	memset(tk_page(&cq)->direct, 0xa5, sizeof(tk_page(&cq)->direct));
	tk_page(&cq)->mrq_full_pointer = 77;
	tk_page(&cq)->tcq_read = 77;
	tk_cq_close(&cq);

	ASSERT_EQ(0, tk_cq_open(&cq));
	for (i = TOFU_MAP_TOQ; i < TOFU_MAPS; i++)
		EXPECT_TRUE(is_zero(cq.map[i], cq.create.map[i].length));
	EXPECT_EQ(0, tk_page(&cq)->fetch_start);
	EXPECT_EQ(0, tk_page(&cq)->mrq_full_pointer);
	EXPECT_EQ(0, tk_page(&cq)->tcq_read);
	EXPECT_TRUE(is_zero(tk_page(&cq)->direct, 64));
	tk_cq_close(&cq);
}

/* Touches addr in a child process; returns how that ended. */
static int touched_by_a_child(volatile char *addr)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		(void)*addr;
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

TEST_F(tofu, a_child_does_not_inherit_the_mappings)
{
	struct tk_cq cq;
	int i, status;

	ASSERT_EQ(0, tk_cq_open(&cq));
	for (i = 0; i < TOFU_MAPS; i++) {
		status = touched_by_a_child(cq.map[i]);
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(SIGSEGV, WTERMSIG(status));
	}
	tk_cq_close(&cq);
}

TEST_F(tofu, mappings_outlive_the_descriptor)
{
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_open(&cq));
	close(cq.fd);
	cq.fd = -1;
	EXPECT_EQ(1, tk_count("cqs"));
	tk_page(&cq)->tcq_read = 0;
	EXPECT_EQ(0, *(char *)cq.map[TOFU_MAP_MRQ]);
	tk_cq_close(&cq);
}

TEST_HARNESS_MAIN
