// SPDX-License-Identifier: MIT
/* What members send, and what each has to get. */
#include <string.h>

#include "coll/contents.h"
#include "coll/values.h"
#include "common/mix.h"

/* ---- Kinds and types ---- */

bool contents_combines(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_REDUCE || kind == TOFU_COLL_ALLREDUCE ||
	       kind == TOFU_COLL_REDUCE_SCATTER;
}

bool contents_roots(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_BCAST || kind == TOFU_COLL_REDUCE ||
	       kind == TOFU_COLL_GATHER || kind == TOFU_COLL_SCATTER;
}

size_t contents_size(enum tofu_coll_type type)
{
	return type == TOFU_COLL_USER ? CONTENTS_USER_SIZE :
					tofu_coll_type_size(type);
}

static bool is_located(enum tofu_coll_type type)
{
	return type >= TOFU_COLL_FLOAT_INT && type <= TOFU_COLL_UINT64_INT;
}

static bool is_integer(enum tofu_coll_type type)
{
	return type >= TOFU_COLL_INT32 && type <= TOFU_COLL_UINT64;
}

bool contents_op_goes(enum tofu_coll_type type, enum tofu_coll_op op)
{
	switch (op) {
	case TOFU_COLL_CALL:
		return true;
	case TOFU_COLL_MINLOC:
	case TOFU_COLL_MAXLOC:
		return is_located(type);
	case TOFU_COLL_BAND:
	case TOFU_COLL_BOR:
	case TOFU_COLL_BXOR:
		return is_integer(type);
	default:
		return is_integer(type) || type == TOFU_COLL_FLOAT ||
		       type == TOFU_COLL_DOUBLE;
	}
}

enum tofu_coll_op contents_op_of(enum tofu_coll_type type)
{
	if (contents_op_goes(type, TOFU_COLL_SUM))
		return TOFU_COLL_SUM;
	return is_located(type) ? TOFU_COLL_MINLOC : TOFU_COLL_CALL;
}

/* Bytes are added, each by itself: that goes for elements of any type. */
void contents_call(void *dst, const void *a, const void *b, size_t count,
		   void *data)
{
	const uint8_t *left = a, *right = b;
	const size_t *size = data;
	uint8_t *to = dst;

	for (size_t i = 0; i < count * *size; i++)
		to[i] = (uint8_t)(left[i] + right[i]);
}

/* ---- Blocks ---- */

/* Of this member's buffers; 0: it has none */
static uint32_t blocks_sent(const struct contents *contents)
{
	bool root = contents->number == contents->root;

	switch (contents->kind) {
	case TOFU_COLL_BARRIER:
		return 0;
	case TOFU_COLL_BCAST:
		return root;
	case TOFU_COLL_SCATTER:
		return root ? contents->members : 0;
	case TOFU_COLL_REDUCE_SCATTER:
	case TOFU_COLL_ALLTOALL:
		return contents->members;
	default:
		return 1;
	}
}

static uint32_t blocks_got(const struct contents *contents)
{
	bool root = contents->number == contents->root;

	switch (contents->kind) {
	case TOFU_COLL_BARRIER:
		return 0;
	case TOFU_COLL_BCAST:
		return !root;
	case TOFU_COLL_REDUCE:
		return root;
	case TOFU_COLL_GATHER:
		return root ? contents->members : 0;
	case TOFU_COLL_ALLGATHER:
	case TOFU_COLL_ALLTOALL:
		return contents->members;
	default:
		return 1;
	}
}

static size_t block_bytes(const struct contents *contents)
{
	return contents->count * contents->size;
}

size_t contents_send_bytes(const struct contents *contents)
{
	return blocks_sent(contents) * block_bytes(contents);
}

size_t contents_recv_bytes(const struct contents *contents)
{
	return blocks_got(contents) * block_bytes(contents);
}

/* ---- Combined elements ---- */

static unsigned int residue_of(uint64_t seed, uint64_t element)
{
	uint64_t x = seed + element * TOFU_MIX_ODD;

	return (unsigned int)((x ^ x >> 29) >> 16) % CONTENTS_RESIDUES;
}

static uint64_t elements_seed(const struct contents *contents,
			      uint64_t iteration)
{
	return payload_seed(contents->row, 0, 0, iteration);
}

void contents_make(struct contents *contents)
{
	contents->size = contents_size(contents->type);
	if (!contents_combines(contents->kind))
		return;
	for (unsigned int r = 0; r < CONTENTS_RESIDUES; r++) {
		struct value value = value_of(contents, contents->number, r);

		value_write(contents, &value, contents->mine[r]);
		if (!blocks_got(contents))
			continue;
		value = value_combined(contents, r);
		value_write(contents, &value, contents->result[r]);
	}
}

static void elements_fill(const struct contents *contents, uint64_t iteration,
			  uint8_t *buf)
{
	uint64_t seed = elements_seed(contents, iteration);
	size_t size = contents->size;
	size_t count = contents_send_bytes(contents) / size;

	for (size_t i = 0; i < count; i++)
		memcpy(buf + i * size, contents->mine[residue_of(seed, i)],
		       size);
}

static void compare(struct payload_wrong *wrong, const uint8_t *seen,
		    const uint8_t *expected, size_t bytes, size_t offset)
{
	if (!memcmp(seen, expected, bytes))
		return;
	for (size_t i = 0; i < bytes; i++)
		if (seen[i] != expected[i] && !wrong->count++) {
			wrong->first = offset + i;
			wrong->expected = expected[i];
			wrong->seen = seen[i];
		}
}

static struct payload_wrong elements_verify(const struct contents *contents,
					    uint64_t iteration,
					    const uint8_t *buf)
{
	bool scattered = contents->kind == TOFU_COLL_REDUCE_SCATTER;
	uint64_t first = scattered ? contents->number * contents->count : 0;
	uint64_t seed = elements_seed(contents, iteration);
	size_t size = contents->size;
	size_t count = contents_recv_bytes(contents) / size;
	struct payload_wrong wrong = { 0 };

	for (size_t i = 0; i < count; i++)
		compare(&wrong, buf + i * size,
			contents->result[residue_of(seed, first + i)], size,
			i * size);
	return wrong;
}

/* ---- Moved blocks ---- */

/* Blocks are unaligned, where elements are. */
static uint64_t word_at(uint64_t seed, size_t index)
{
	uint64_t x = seed + index * TOFU_MIX_ODD;

	return x ^ x >> 29;
}

static void block_fill(uint8_t *buf, size_t bytes, uint64_t seed)
{
	uint64_t word;

	for (size_t i = 0; i < bytes; i += sizeof(word)) {
		size_t left = bytes - i;

		word = word_at(seed, i);
		memcpy(buf + i, &word,
		       left < sizeof(word) ? left : sizeof(word));
	}
}

static void block_verify(struct payload_wrong *wrong, const uint8_t *buf,
			 size_t bytes, uint64_t seed, size_t offset)
{
	uint64_t word;

	for (size_t i = 0; i < bytes; i += sizeof(word)) {
		size_t left = bytes - i;

		word = word_at(seed, i);
		compare(wrong, buf + i, (const uint8_t *)&word,
			left < sizeof(word) ? left : sizeof(word), offset + i);
	}
}

/* Of the block that @from has for @to; one for all has 0 there */
static uint64_t block_seed(const struct contents *contents, uint32_t from,
			   uint32_t to, uint64_t iteration)
{
	bool each = contents->kind == TOFU_COLL_SCATTER ||
		    contents->kind == TOFU_COLL_ALLTOALL;

	return payload_seed(contents->row, from, each ? to : 0, iteration);
}

static void blocks_fill(const struct contents *contents, uint64_t iteration,
			uint8_t *buf)
{
	size_t bytes = block_bytes(contents);

	for (uint32_t i = 0; i < blocks_sent(contents); i++)
		block_fill(buf + i * bytes, bytes,
			   block_seed(contents, contents->number, i,
				      iteration));
}

static struct payload_wrong blocks_verify(const struct contents *contents,
					  uint64_t iteration,
					  const uint8_t *buf)
{
	bool rooted = contents->kind == TOFU_COLL_BCAST ||
		      contents->kind == TOFU_COLL_SCATTER;
	size_t bytes = block_bytes(contents);
	struct payload_wrong wrong = { 0 };

	for (uint32_t i = 0; i < blocks_got(contents); i++)
		block_verify(&wrong, buf + i * bytes, bytes,
			     block_seed(contents, rooted ? contents->root : i,
					contents->number, iteration),
			     i * bytes);
	return wrong;
}

/* ---- All ---- */

void contents_fill(const struct contents *contents, uint64_t iteration,
		   uint8_t *buf)
{
	if (contents_combines(contents->kind))
		elements_fill(contents, iteration, buf);
	else
		blocks_fill(contents, iteration, buf);
}

void contents_spoil(const struct contents *contents, uint64_t iteration,
		    uint8_t *buf)
{
	size_t bytes = contents_send_bytes(contents), size = contents->size;
	uint8_t element[CONTENTS_ELEMENT_MAX];
	struct value value;

	if (!bytes)
		return;
	if (!contents_combines(contents->kind)) {
		buf[bytes - 1] ^= 1;
		return;
	}
	value = value_of(contents, contents->number,
			 residue_of(elements_seed(contents, iteration),
				    bytes / size - 1));
	value = value_spoiled(contents, value);
	value_write(contents, &value, element);
	memcpy(buf + bytes - size, element, size);
}

struct payload_wrong contents_verify(const struct contents *contents,
				     uint64_t iteration, const uint8_t *buf)
{
	return contents_combines(contents->kind) ?
		       elements_verify(contents, iteration, buf) :
		       blocks_verify(contents, iteration, buf);
}
