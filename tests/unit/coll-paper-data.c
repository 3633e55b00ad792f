// SPDX-License-Identifier: MIT
/* Contents of the buffers, and the results that they should have. */
#include "coll-paper-parts.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 32
#define GUARD_BYTE 0xa5

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static void random_fill(uint8_t *at, uint64_t bytes, uint64_t key)
{
	for (uint64_t i = 0; i < bytes; i += 8) {
		const uint64_t word = mixed(key + i * 0x9e3779b97f4a7c15);

		memcpy(at + i, &word, bytes - i < 8 ? bytes - i : 8);
	}
}

/* ---- Combining ---- */

static void combine_bytes(uint8_t *dst, const uint8_t *a, const uint8_t *b,
			  uint64_t bytes, bool ordered)
{
	for (uint64_t i = 0; i < bytes; i++) {
		const uint8_t sum = (uint8_t)(a[i] + b[i]);

		dst[i] = ordered ? (uint8_t)((sum ^ sum >> 3) * 29 + 7) : sum;
	}
}

void paper_combine(const struct paper *paper, uint8_t *dst, const uint8_t *a,
		   const uint8_t *b, uint64_t bytes)
{
	const bool ordered = paper->job->ordered;

	if (paper->job->element % 8) {
		combine_bytes(dst, a, b, bytes, ordered);
		return;
	}
	for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t left, right, sum;

		memcpy(&left, a + i, 8);
		memcpy(&right, b + i, 8);
		/* Operands may change places. */
		sum = ordered ? mixed(left + right + 1) : left + right;
		memcpy(dst + i, &sum, 8);
	}
}

/* ---- Contents of rounds ---- */

static bool combines(const struct paper *paper)
{
	const enum tofu_coll_kind kind = paper->job->how->kind;

	return kind == TOFU_COLL_REDUCE || kind == TOFU_COLL_ALLREDUCE ||
	       kind == TOFU_COLL_REDUCE_SCATTER;
}

static struct paper_data *data_of(struct paper *paper, unsigned int round)
{
	struct paper_data *data = &paper->data[round];
	const uint64_t input = paper->input;

	if (data->input)
		return data;
	data->input = malloc(paper->members * input + 1);
	data->sum = calloc(1, input + 1);
	data->known = calloc(paper->members, sizeof(*data->known));
	for (uint32_t m = 0; m < paper->members; m++)
		random_fill(data->input + m * input, input,
			    mixed(paper->job->contents + 1) ^
				    mixed(round * UINT64_C(65536) + m + 1));
	if (!combines(paper) || paper->job->ordered)
		return data;
	for (uint32_t m = 0; m < paper->members; m++)
		paper_combine(paper, data->sum, data->sum,
			      data->input + m * input, input);
	return data;
}

static const uint8_t *input_of(struct paper *paper, unsigned int round,
			       uint32_t member)
{
	return data_of(paper, round)->input + member * paper->input;
}

void paper_data_free(struct paper *paper)
{
	for (unsigned int r = 0; r < paper->job->rounds; r++) {
		struct paper_data *data = &paper->data[r];

		for (uint64_t i = 0; data->sum && i < paper->input; i++)
			paper->report->bits =
				mixed(paper->report->bits + data->sum[i] + 1);
		free(data->input);
		free(data->sum);
		free(data->known);
	}
	free(paper->data);
}

/* ---- Areas ---- */

/* Bytes of the user's @send, and of @recv. */
static void user_sizes(const struct paper_member *member, uint64_t *send,
		       uint64_t *recv)
{
	const struct paper *paper = member->paper;
	const bool root = member->number == paper->job->root;
	const uint64_t one = paper->bytes, all = paper->members * one;

	*send = one;
	*recv = one;
	switch (paper->job->how->kind) {
	case TOFU_COLL_BCAST:
		*send = root ? one : 0;
		*recv = root ? 0 : one;
		break;
	case TOFU_COLL_REDUCE:
		*recv = root ? one : 0;
		break;
	case TOFU_COLL_GATHER:
		*recv = root ? all : 0;
		break;
	case TOFU_COLL_SCATTER:
		*send = root ? all : 0;
		break;
	case TOFU_COLL_ALLGATHER:
		*recv = all;
		break;
	case TOFU_COLL_REDUCE_SCATTER:
		*send = all;
		break;
	case TOFU_COLL_ALLTOALL:
		*send = all;
		*recv = all;
		break;
	default:
		break;
	}
}

static void area_make(struct paper_area *area, uint64_t bytes)
{
	area->memory = malloc(bytes + 2 * GUARD);
	memset(area->memory, GUARD_BYTE, bytes + 2 * GUARD);
	area->base = area->memory + GUARD;
	area->bytes = bytes;
}

void paper_areas(struct paper_member *member)
{
	struct paper_area *area = member->area;
	uint64_t send, recv;

	user_sizes(member, &send, &recv);
	area_make(&area[COLL_WORK], member->plan.work);
	random_fill(area[COLL_WORK].base, area[COLL_WORK].bytes,
		    member->number);
	if (member->plan.job.in_place) {
		area_make(&area[COLL_RECV], send > recv ? send : recv);
		area[COLL_SEND] = area[COLL_RECV];
		area[COLL_SEND].memory = NULL;
		return;
	}
	area_make(&area[COLL_SEND], send);
	area_make(&area[COLL_RECV], recv);
}

void paper_areas_free(struct paper_member *member)
{
	for (unsigned int i = 0; i < COLL_AREAS; i++)
		free(member->area[i].memory);
}

bool paper_guards(struct paper_member *member)
{
	for (unsigned int a = 0; a < COLL_AREAS; a++) {
		const struct paper_area *area = &member->area[a];

		for (unsigned int i = 0; area->memory && i < GUARD; i++)
			if (area->memory[i] != GUARD_BYTE ||
			    area->base[area->bytes + i] != GUARD_BYTE)
				return paper_broken(member->paper,
						    "member %u: area %u was written beside its bytes",
						    member->number, a);
	}
	return true;
}

/* ---- A user ---- */

static bool may_use(struct paper_member *member, const char *why)
{
	const struct paper_area *area = member->area;

	return paper_may_write(member, area[COLL_SEND].base,
			       area[COLL_SEND].bytes, why) &&
	       paper_may_write(member, area[COLL_RECV].base,
			       area[COLL_RECV].bytes, why);
}

/* What a buffer in place has that is not input will not be read. */
void paper_fill(struct paper_member *member)
{
	struct paper_area *area = member->area;
	const uint8_t *input =
		input_of(member->paper, member->round, member->number);
	const enum tofu_coll_kind kind = member->paper->job->how->kind;
	const bool unused = kind == TOFU_COLL_BCAST &&
			    member->number != member->paper->job->root;

	if (!may_use(member, "the user fills its buffers"))
		return;
	memset(area[COLL_RECV].base, 0xee, area[COLL_RECV].bytes);
	if (!unused && area[COLL_SEND].bytes)
		memcpy(area[COLL_SEND].base, input, area[COLL_SEND].bytes);
}

static bool same(struct paper_member *member, enum coll_area area,
		 uint64_t offset, const uint8_t *expected, uint64_t bytes)
{
	const uint8_t *seen = member->area[area].base + offset;
	uint64_t i = 0;

	if (!bytes || !memcmp(seen, expected, bytes))
		return true;
	while (seen[i] == expected[i])
		i++;
	return paper_broken(member->paper,
			    "member %u, round %u: wrong from byte %llu of %s: %02x, expected %02x",
			    member->number, member->round,
			    (unsigned long long)(offset + i),
			    area == COLL_SEND ? "@send" : "@recv", seen[i],
			    expected[i]);
}

/* The first to have a part of the result says what the others should have. */
static bool same_sum(struct paper_member *member, uint64_t from)
{
	struct paper *paper = member->paper;
	struct paper_data *data = data_of(paper, member->round);
	const uint64_t bytes = paper->bytes;
	bool *known = &data->known[bytes ? from / bytes : 0];

	if (paper->job->ordered && !*known)
		memcpy(data->sum + from, member->area[COLL_RECV].base, bytes);
	*known = true;
	return same(member, COLL_RECV, 0, data->sum + from, bytes);
}

/* Blocks at @offset of all members' inputs, or whole ones, one after another. */
static bool same_blocks(struct paper_member *member, uint64_t offset)
{
	struct paper *paper = member->paper;
	const uint64_t bytes = paper->bytes;

	for (uint32_t m = 0; m < paper->members; m++)
		if (!same(member, COLL_RECV, m * bytes,
			  input_of(paper, member->round, m) + offset, bytes))
			return false;
	return true;
}

static bool same_result(struct paper_member *member)
{
	struct paper *paper = member->paper;
	const uint32_t root = paper->job->root;
	const bool is_root = member->number == root;
	const uint64_t own = member->number * paper->bytes;

	switch (paper->job->how->kind) {
	case TOFU_COLL_BCAST:
		return same(member, COLL_RECV, 0,
			    input_of(paper, member->round, root),
			    member->area[COLL_RECV].bytes);
	case TOFU_COLL_REDUCE:
		return !is_root || same_sum(member, 0);
	case TOFU_COLL_ALLREDUCE:
		return same_sum(member, 0);
	case TOFU_COLL_REDUCE_SCATTER:
		return same_sum(member, own);
	case TOFU_COLL_GATHER:
		return !is_root || same_blocks(member, 0);
	case TOFU_COLL_ALLGATHER:
		return same_blocks(member, 0);
	case TOFU_COLL_ALLTOALL:
		return same_blocks(member, own);
	case TOFU_COLL_SCATTER:
		return same(member, COLL_RECV, 0,
			    input_of(paper, member->round, root) + own,
			    paper->bytes);
	default:
		return true;
	}
}

bool paper_check(struct paper_member *member)
{
	const struct paper_area *send = &member->area[COLL_SEND];

	return may_use(member, "the user has its buffers back") &&
	       same_result(member) &&
	       (member->plan.job.in_place ||
		same(member, COLL_SEND, 0,
		     input_of(member->paper, member->round, member->number),
		     send->bytes));
}
