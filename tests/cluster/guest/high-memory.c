// SPDX-License-Identifier: MIT
/*
 * Memory all over a guest: registers buffers until some of their pages lie
 * above 4 GiB of guest-physical addresses, where guests with more RAM than fits
 * below the PCI hole have some, and some lie below; transfers between all of
 * them, verified.
 *
 * usage: high-memory MIN-GIB   the test point of pages above 4 GiB is skipped
 *                              where the guest has less than this
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "guest.h"

#define PAGE 4096
#define CHUNK (16 << 20)
#define STAG 70
#define FOUR_GIB (1ULL << 32)
#define PFN_MASK ((1ULL << 55) - 1)
#define PRESENT (1ULL << 63)
#define KEPT 2

/**
 * struct chunk - CHUNK bytes of memory
 * @high: pages above 4 GiB
 */
struct chunk {
	uint8_t *at;
	size_t high;
};

static size_t pages_high(const uint8_t *at)
{
	static uint64_t entry[CHUNK / PAGE];
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	off_t offset = (off_t)((uintptr_t)at / PAGE * sizeof(entry[0]));
	size_t high = 0;

	if (fd < 0 || pread(fd, entry, sizeof(entry), offset) != sizeof(entry))
		err(EXIT_FAILURE, "/proc/self/pagemap");
	close(fd);
	for (size_t i = 0; i < CHUNK / PAGE; i++) {
		if (!(entry[i] & PRESENT))
			errx(EXIT_FAILURE, "a page is not there");
		high += (entry[i] & PFN_MASK) * PAGE >= FOUR_GIB;
	}
	return high;
}

static struct chunk chunk_make(void)
{
	struct chunk chunk;

	chunk.at = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (chunk.at == MAP_FAILED)
		err(EXIT_FAILURE, "%d bytes", CHUNK);
	chunk.high = pages_high(chunk.at);
	return chunk;
}

/*
 * Finds one chunk with pages above 4 GiB and one with pages below. The kernel
 * allocates from the top, so the low one comes when high memory is used up;
 * chunks that are skipped stay allocated meanwhile.
 */
static void chunks_find(struct chunk kept[KEPT], bool search)
{
	struct sysinfo info;
	size_t most;

	sysinfo(&info);
	most = search ? info.freeram * info.mem_unit / CHUNK * 9 / 10 : KEPT;
	kept[0] = chunk_make();
	kept[1] = chunk_make();
	for (size_t i = KEPT; i < most && kept[1].high == CHUNK / PAGE; i++)
		kept[1] = chunk_make();
}

static bool transfer(struct guest *guest, utofu_stadd_t from, utofu_stadd_t to,
		     bool get)
{
	utofu_vcq_id_t next = guest->id[guest_next(guest)];
	int code = get ? utofu_get(guest->vcq, next, to, from, CHUNK / 2, 0,
				   GUEST_FLAGS, NULL) :
			 utofu_put(guest->vcq, next, from, to, CHUNK / 2, 0,
				   GUEST_FLAGS, NULL);

	return guest_finish(guest, code, NULL) == UTOFU_SUCCESS;
}

/* From the first half of chunk @a to the second half of chunk @b. */
static void test_pair(struct guest *guest, const struct chunk *kept,
		      const utofu_stadd_t *stadd, int a, int b, bool get)
{
	uint64_t what = (uint64_t)(a * 4 + b * 2 + get);
	uint32_t origin = get ? guest_next(guest) : guest_previous(guest);
	size_t wrong;
	bool good;

	guest_fill(kept[a].at, CHUNK / 2,
		   guest_seed(what, guest->machine.node, 7));
	memset(kept[b].at + CHUNK / 2, 0, CHUNK / 2);
	guest_barrier(guest);
	good = transfer(guest, stadd[a], stadd[b] + CHUNK / 2, get);
	guest_barrier(guest);
	wrong = guest_wrong(kept[b].at + CHUNK / 2, CHUNK / 2,
			    guest_seed(what, origin, 7));
	if (wrong)
		guest_note(guest, "%zu bytes wrong", wrong);
	guest_point(guest, good && !wrong, "%s from chunk %d to chunk %d",
		    get ? "get" : "put", a, b);
}

int main(int argc, char **argv)
{
	uint64_t min = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	utofu_stadd_t stadd[KEPT];
	struct chunk kept[KEPT];
	struct sysinfo info;
	struct guest guest;
	uint64_t gib;

	sysinfo(&info);
	gib = (info.totalram * info.mem_unit + (1ULL << 30) - 1) >> 30;
	guest_begin(&guest, 9);
	chunks_find(kept, min && gib >= min);
	guest_note(&guest, "%llu GiB; pages above 4 GiB: %zu and %zu of %d",
		   (unsigned long long)gib, kept[0].high, kept[1].high,
		   CHUNK / PAGE);
	if (!min || gib < min)
		guest_skip(&guest, "memory above and below 4 GiB",
			   "the guest is not made for it");
	else
		guest_point(&guest,
			    kept[0].high && kept[1].high < CHUNK / PAGE,
			    "memory above and below 4 GiB");
	for (unsigned int i = 0; i < KEPT; i++) {
		if (utofu_reg_mem_with_stag(guest.vcq, kept[i].at, CHUNK,
					    STAG + i, 0,
					    &stadd[i]) != UTOFU_SUCCESS)
			errx(EXIT_FAILURE, "cannot register a chunk");
	}
	for (int a = 0; a < KEPT; a++)
		for (int b = 0; b < KEPT; b++)
			for (int get = 0; get < 2; get++)
				test_pair(&guest, kept, stadd, a, b, get);
	return guest_end(&guest);
}
