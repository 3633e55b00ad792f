/* SPDX-License-Identifier: MIT */
/*
 * What members of a collective send, from formulas, and what has to come out,
 * computed one member after the other.
 */
#ifndef TOFU_TEST_COLL_DATA_H
#define TOFU_TEST_COLL_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/coll.h>

/* Bytes of the largest element */
#define DATA_ELEMENT 24

/* Bytes around a buffer that must stay as they are */
#define DATA_GUARD 128

/* random_next - a number of a sequence; random_below - one below @limit */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t limit);

/**
 * struct data - contents of one start of a collective
 * @spec:    without buffers
 * @size:    bytes of an element
 * @members: of the group
 * @seed:    of the contents
 * @wild:    sums and products of floating-point numbers need rounding, so
 *           their bits depend on the order
 */
struct data {
	struct tofu_coll_spec spec;
	size_t size;
	uint32_t members;
	uint64_t seed;
	bool wild;
};

/* data_call - a tofu_coll_call_fn; its data is a size_t, bytes of an element */
void data_call(void *dst, const void *a, const void *b, size_t count,
	       void *data);

/* data_combines - whether a kind combines elements */
bool data_combines(enum tofu_coll_kind kind);

/* data_rooted - whether a kind has a root */
bool data_rooted(enum tofu_coll_kind kind);

/* data_goes - whether an operation exists for a type */
bool data_goes(enum tofu_coll_type type, enum tofu_coll_op op);

/* data_sent, data_received - elements that a member's buffers have */
size_t data_sent(const struct data *data, uint32_t member);
size_t data_received(const struct data *data, uint32_t member);

/* data_fill - write what a member sends */
void data_fill(const struct data *data, uint32_t member, void *send);

/* data_sent_wrong - bytes of a member's @send that differ from data_fill() */
size_t data_sent_wrong(const struct data *data, uint32_t member,
		       const void *send);

/* data_wrong - elements of a member's @recv that are not the result */
size_t data_wrong(const struct data *data, uint32_t member, const void *recv);

#endif /* TOFU_TEST_COLL_DATA_H */
