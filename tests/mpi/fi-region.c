/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: how memory is registered, and which of it is not
 * accessed.
 */
#include "fi-remote.h"

#include <string.h>

#define CONSTANT 65537

/* ---- What fi_getinfo() says ---- */

static int mode_is(int hinted, int expected)
{
	const uint64_t caps[] = { FI_MSG | FI_RMA, FI_RMA, FI_RMA | FI_ATOMIC | FI_TAGGED };
	struct fi_info *got = NULL;
	int mode;

	for (int i = 0; i < (machine_has_atomics() ? 3 : 2); i++) {
		TEST(!info_with(caps[i], hinted, &got));
		mode = got->domain_attr->mr_mode;
		if (mode != expected)
			fprintf(stderr, "# rank %d: mode %#x: %#x\n", rank, hinted, mode);
		TEST(mode == expected || (hinted == FI_MR_BASIC && mode == VIRTUAL));
		TEST((got->caps & caps[i]) == caps[i]);
		TEST(!(got->caps & FI_COLLECTIVE));
		TEST(got->tx_attr->rma_iov_limit == 1);
		TEST(got->domain_attr->mr_key_size && got->domain_attr->mr_key_size <= 8);
		fi_freeinfo(got);
	}
	return 0;
}

static int modes(void)
{
	const int refused[] = { 0, FI_MR_ALLOCATED, FI_MR_PROV_KEY, FI_MR_SCALABLE,
				FI_MR_VIRT_ADDR, FI_MR_VIRT_ADDR | FI_MR_PROV_KEY };
	struct fi_info *got = NULL;

	for (int i = 0; i < 6; i++) {
		TEST(info_with(FI_MSG | FI_RMA, refused[i], &got) == -FI_ENODATA);
		TEST(info_with(FI_ATOMIC, refused[i], &got) == -FI_ENODATA);
	}
	RUN(mode_is(OFFSETS, OFFSETS));
	RUN(mode_is(VIRTUAL, VIRTUAL));
	RUN(mode_is(FI_MR_BASIC, FI_MR_BASIC));
	RUN(mode_is(OFFSETS | FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_RAW, OFFSETS));
	TEST(!info_with(FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, VIRTUAL,
			&got));
	TEST(got->caps & FI_REMOTE_READ && got->caps & FI_REMOTE_WRITE);
	fi_freeinfo(got);
	return 0;
}

/* ---- Registering ---- */

static int check_write(int to, uint64_t at, uint64_t value)
{
	struct done done = { 0 };
	uint64_t back = 0;

	TEST(!write_to(to, &value, 8, at, &done));
	RUN(ended_as(&done, FI_RMA | FI_WRITE));
	TEST(!read_from(to, &back, 8, at, &done));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	TEST(back == value);
	return 0;
}

/* What has been registered is shared, written by the left, and as it should be. */
static int check_region(struct fid_mr *mr, uint64_t *word)
{
	struct done done = { 0 };
	uint64_t value = 50 + (uint64_t)rank;

	RUN(region_is(mr, word));
	RUN(together());
	RUN(check_write(right, 8, value));
	TEST(!RETRY(fi_write(port.ep, &value, 8, fi_mr_desc(mr), port.peer[right],
			     places[right].at, places[right].key, &done)));
	RUN(ended_as(&done, FI_RMA | FI_WRITE));
	RUN(together());
	TEST(word[0] == 50 + (uint64_t)left && word[1] == word[0] && !word[2]);
	memset(word, 0, 24);
	return together();
}

static int registering(void)
{
	uint64_t *words = room(1024);
	struct iovec piece[2] = { { words + 5, 64 }, { words + 20, 64 } };
	struct fi_mr_attr attr = {
		.mr_iov = piece,
		.iov_count = 1,
		.access = ANY_ACCESS,
		.context = words,
	};
	struct fid_mr *mr;

	RUN(memory_open(VIRTUAL, NULL));
	TEST(!fi_mr_reg(own_domain, words, 64, ANY_ACCESS, 0, 7, 0, &mr, words));
	TEST(mr->fid.fclass == FI_CLASS_MR && mr->fid.context == words);
	RUN(check_region(mr, words));
	TEST(!fi_mr_regv(own_domain, piece, 1, ANY_ACCESS, 0, 7, 0, &mr, NULL));
	RUN(check_region(mr, words + 5));
	TEST(!fi_mr_regattr(own_domain, &attr, 0, &mr));
	TEST(mr->fid.context == words);
	RUN(check_region(mr, words + 5));
	TEST(fi_mr_regv(own_domain, piece, 2, ANY_ACCESS, 0, 7, 0, &mr, NULL) < 0);
	attr.iov_count = 2;
	TEST(fi_mr_regattr(own_domain, &attr, 0, &mr) < 0);
	return all_close();
}

#define REGIONS 64

/* Of which many exist at a time, and more one after the other */
static int many_regions(void)
{
	uint64_t *words = room(REGIONS * 8), keys[REGIONS];

	RUN(memory_open(OFFSETS, NULL));
	for (int i = 0; i < REGIONS; i++) {
		RUN(region_open(&words[i], 8, ANY_ACCESS));
		keys[i] = own.key;
		for (int j = 0; j < i; j++)
			TEST(keys[i] != keys[j]);
		RUN(together());
		RUN(check_write(right, 0, (uint64_t)(rank * REGIONS + i)));
		RUN(together());
	}
	for (int i = 0; i < REGIONS; i++)
		TEST(words[i] == (uint64_t)(left * REGIONS + i));
	for (int i = 0; i < 3 * REGIONS; i++) {
		RUN(regions_close());
		RUN(expose(words, 8, ANY_ACCESS));
		RUN(check_write(right, 0, (uint64_t)i));
		RUN(together());
		TEST(words[0] == (uint64_t)i);
	}
	return all_close();
}

/* A region is its domain's: there before its endpoints, and after them. */
static int regions_stay(void)
{
	uint64_t *words = room(64);

	RUN(domain_open(VIRTUAL));
	RUN(region_open(words, 64, ANY_ACCESS));
	for (int i = 0; i < 3; i++) {
		RUN(own_port_open(&port, NULL));
		RUN(together());
		RUN(check_write(right, 8, (uint64_t)(rank + i)));
		RUN(together());
		TEST(words[1] == (uint64_t)(left + i));
		RUN(port_close(&port));
	}
	TEST(fi_close(&own_domain->fid) == -FI_EBUSY);
	return memory_close();
}

/* The same key, whichever of its owner's endpoints is asked */
static int two_endpoints(void)
{
	uint64_t *words = room(64), value = 7 + (uint64_t)rank;
	struct done done[4] = { 0 };
	static struct port two;

	RUN(memory_open(VIRTUAL, NULL));
	RUN(own_port_open(&two, NULL));
	RUN(expose(words, 64, ANY_ACCESS));
	TEST(!write_to(right, &value, 8, 0, &done[0]));
	TEST(!RETRY(fi_write(two.ep, &value, 8, NULL, two.peer[right], places[right].at + 8,
			     places[right].key, &done[1])));
	RUN(ended_as(&done[0], FI_RMA | FI_WRITE));
	RUN(ended_as(&done[1], FI_RMA | FI_WRITE));
	RUN(share(&two));
	TEST(words[0] == 7 + (uint64_t)left && words[1] == words[0] && !words[2]);
	TEST(!RETRY(fi_read(two.ep, &value, 8, NULL, two.peer[left], places[left].at,
			    places[left].key, &done[2])));
	RUN(ended_as(&done[2], FI_RMA | FI_READ));
	TEST(value == 7 + (uint64_t)((left + ranks - 1) % ranks));
	RUN(together());
	RUN(port_close(&port));
	TEST(!RETRY(fi_write(two.ep, &value, 8, NULL, two.peer[right], places[right].at + 16,
			     places[right].key, &done[3])));
	RUN(ended_as(&done[3], FI_RMA | FI_WRITE));
	RUN(share(&two));
	TEST(words[2] == 7 + (uint64_t)((left + 2 * ranks - 2) % ranks));
	RUN(port_close(&two));
	return memory_close();
}

/* ---- Errors ---- */

#define ERRORS (1u << 20)

static int beyond_at(uint64_t at, size_t bytes, uint8_t *local)
{
	struct done done = { 0 };

	RUN(fails(write_to(right, local, bytes, at, &done), &done));
	return fails(read_from(right, local, bytes, at, &done), &done);
}

/*
 * Sums of key and address name places: those that differ in these bits can be in
 * another region of the process.
 */
static bool names_another(int bit)
{
	return bit >= 40 && bit < 58;
}

/* A key that differs in one bit is of no region, or leads out of it. */
static int wrong_keys(int mode, size_t size, size_t at, size_t bytes)
{
	uint8_t *in = room(size), local[64] = { 0 };
	int good = 0;

	memset(in, 0xee, size);
	RUN(memory_open(mode, NULL));
	RUN(expose(in, size, ANY_ACCESS));
	for (int i = 0; i < 64; i++) {
		if (names_another(i) || (at && 1ull << i < size))
			continue;
		places[right].key ^= 1ull << i;
		if (beyond_at(at, bytes, local)) {
			fprintf(stderr, "# rank %d: mode %#x, with another bit %d of the key\n",
				rank, mode, i);
			good++;
		}
		places[right].key ^= 1ull << i;
	}
	TEST(!good);
	RUN(together());
	TEST(untouched(in, size, 0xee));
	RUN(together());
	RUN(check_write(right, 0, 5));
	RUN(together());
	return all_close();
}

static int wrong_keys_whole(void)
{
	RUN(wrong_keys(VIRTUAL, 64, 0, 64));
	return wrong_keys(OFFSETS, 64, 0, 64);
}

static int wrong_keys_middle(void)
{
	RUN(wrong_keys(OFFSETS, 65536, 32768, 8));
	return wrong_keys(VIRTUAL, 65536, 32768, 8);
}

/* Before the beginning, past the end, and around the end of all addresses */
static int beyond_one(int mode)
{
	const struct {
		uint64_t at;
		size_t bytes;
	} wrong[] = {
		{ ERRORS - 7, 8 },
		{ ERRORS, 1 },
		{ ERRORS, ERRORS },
		{ 0, ERRORS + 1 },
		{ ERRORS / 2, ERRORS },
		{ ERRORS - 255, 256 },
		{ -8ull, 8 },
		{ -8ull, 16 },
		{ -8ull, ERRORS + 8 },
	};
	uint8_t *in = room(3 * ERRORS), *bytes = room(2 * ERRORS);

	memset(in, 0xee, 3 * ERRORS);
	RUN(memory_open(mode, NULL));
	RUN(expose(in + ERRORS, ERRORS, ANY_ACCESS));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		RUN(beyond_at(wrong[i].at, wrong[i].bytes, bytes));
	RUN(beyond_at(-places[right].at - 8, 16, bytes));
	RUN(beyond_at(-places[right].at - 1, 1, bytes));
	RUN(together());
	TEST(untouched(in, 3 * ERRORS, 0xee));
	RUN(together());
	RUN(check_write(right, ERRORS - 8, 5));
	RUN(together());
	return all_close();
}

static int beyond(void)
{
	RUN(beyond_one(VIRTUAL));
	return beyond_one(OFFSETS);
}

/* An address that differs in one bit, which is not one of those within the region */
static int far_one(int mode)
{
	uint8_t *in = room(64), bytes[64] = { 0 };
	int good = 0;

	memset(in, 0xee, 64);
	RUN(memory_open(mode, NULL));
	RUN(expose(in, 64, ANY_ACCESS));
	for (int i = 6; i < 64; i++) {
		const uint64_t bit = 1ull << i, at = places[right].at;

		if (!names_another(i) && beyond_at((at ^ bit) - at, 64, bytes)) {
			fprintf(stderr, "# rank %d: mode %#x, with another bit %d of the address\n",
				rank, mode, i);
			good++;
		}
	}
	TEST(!good);
	RUN(together());
	TEST(untouched(in, 64, 0xee));
	return all_close();
}

static int far(void)
{
	RUN(far_one(VIRTUAL));
	return far_one(OFFSETS);
}

static int read_only(void)
{
	const size_t each[] = { 1, 8, 256, 257, 65537, ERRORS };
	uint8_t *in = room(ERRORS), *bytes = room(ERRORS);
	struct done done = { 0 };

	fill(in, ERRORS, seed_of(rank, 1));
	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, ERRORS, FI_REMOTE_READ));
	for (int i = 0; i < 6; i++) {
		RUN(fails(write_to(right, bytes, each[i], 0, &done), &done));
		TEST(!read_from(right, bytes, each[i], 0, &done));
		RUN(ended_as(&done, FI_RMA | FI_READ));
		TEST(filled(bytes, each[i], seed_of(right, 1)));
		memset(bytes, 0, each[i]);
	}
	RUN(together());
	TEST(filled(in, ERRORS, seed_of(rank, 1)));
	return all_close();
}

static int closed_region(void)
{
	uint8_t *in = room(ERRORS), *bytes = room(ERRORS);
	struct done done = { 0 };
	struct place before;

	memset(in, 0xee, ERRORS);
	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, ERRORS, ANY_ACCESS));
	RUN(check_write(right, 64, ~0ull / 255 * 0xee));
	RUN(together());
	before = own;
	RUN(regions_close());
	own = before;
	RUN(together());
	for (size_t i = 8; i <= ERRORS; i *= 8) {
		RUN(fails(write_to(right, bytes, i, 0, &done), &done));
		RUN(fails(read_from(right, bytes, i, 0, &done), &done));
	}
	RUN(together());
	TEST(untouched(in, ERRORS, 0xee));
	RUN(together());
	RUN(expose(in, ERRORS, ANY_ACCESS));
	RUN(check_write(right, 64, 9));
	RUN(together());
	return all_close();
}

/* ---- Memory that cannot be written ---- */

static const uint8_t constant[CONSTANT] = { 1, 2, 3 };

static int from_constant(void)
{
	const size_t each[] = { 1, 8, 256, 4096, CONSTANT };
	uint8_t *in = room(CONSTANT);
	struct done done = { 0 };

	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, CONSTANT, ANY_ACCESS));
	for (int i = 0; i < 5; i++) {
		TEST(!write_to(right, constant, each[i], 0, &done));
		RUN(ended_as(&done, FI_RMA | FI_WRITE));
		RUN(together());
		TEST(!memcmp(in, constant, each[i]));
		memset(in, 0xee, CONSTANT);
		RUN(together());
	}
	return all_close();
}

static int of_constant(void)
{
	uint8_t *in = room(CONSTANT);
	struct done done = { 0 };
	struct fid_mr *mr;

	RUN(memory_open(VIRTUAL, NULL));
	TEST(!fi_mr_reg(own_domain, constant, CONSTANT, FI_REMOTE_READ, 0, 0, 0, &mr, NULL));
	RUN(region_is(mr, (void *)(uintptr_t)constant));
	RUN(together());
	TEST(!read_from(right, in, CONSTANT, 0, &done));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	TEST(!memcmp(in, constant, CONSTANT));
	RUN(together());
	return all_close();
}

/* Nothing has come, so nothing is divided. */
static int failed_pieces(void)
{
	uint8_t *bytes = room(64), *in = room(128);
	const struct iovec piece[] = { { in, 32 }, { in + 64, 32 } };
	struct done done = { 0 };

	memset(in, 0xee, 128);
	RUN(memory_open(OFFSETS, NULL));
	RUN(expose(bytes, 64, ANY_ACCESS));
	RUN(fails(RETRY(fi_readv(port.ep, piece, NULL, 2, port.peer[right], 1, places[right].key,
				 &done)),
		  &done));
	TEST(untouched(in, 128, 0xee));
	RUN(together());
	return all_close();
}

/* It says what a write does with its buffer, and a read has none to give back. */
static int reads_of_injectors(void)
{
	const struct options options = { .operation = FI_INJECT };
	uint8_t *bytes = room(4096), *in = room(4096);
	struct done done = { 0 };

	fill(bytes, 4096, seed_of(rank, 3));
	RUN(memory_open(VIRTUAL, &options));
	RUN(expose(bytes, 4096, ANY_ACCESS));
	TEST(!read_from(right, in, 8, 0, &done));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	renew(&done);
	TEST(!read_from(right, in, 4096, 0, &done));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	TEST(filled(in, 4096, seed_of(right, 3)));
	RUN(together());
	return all_close();
}

static const struct test tests[] = {
	{ "memory modes that hints allow or do not", modes },
	{ "memory is registered in three ways", registering },
	{ "64 regions at a time, and 192 one after the other", many_regions },
	{ "a region outlives endpoints, and its domain waits for it", regions_stay },
	{ "the same key through two endpoints of a domain", two_endpoints },
	{ "each wrong key is an error for all of a region", wrong_keys_whole },
	{ "each wrong key is an error in the middle of a region", wrong_keys_middle },
	{ "each access beyond a region is an error", beyond },
	{ "an access far beyond a region is an error", far },
	{ "a write to what is for reads only is an error", read_only },
	{ "an access after its region has been closed is an error", closed_region },
	{ "writes from memory that cannot be written", from_constant },
	{ "reads of memory that cannot be written", of_constant },
	{ "a read that fails leaves its pieces alone", failed_pieces },
	{ "reads of an endpoint that injects", reads_of_injectors },
};

const struct suite region_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
