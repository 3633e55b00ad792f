/* SPDX-License-Identifier: MIT */
/* Contents of a message, which the receiver can verify. */
#ifndef TOFU_TOOLS_PAYLOAD_H
#define TOFU_TOOLS_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct payload_wrong - how a message differs from what was sent
 * @count: bytes that differ
 * @first: the first of them
 * @expected, @seen: its values
 */
struct payload_wrong {
	size_t count;
	size_t first;
	uint8_t expected;
	uint8_t seen;
};

/**
 * payload_seed - name a message; two have the same by 64-bit accident only
 * @row:       number of the row
 * @sender:    node
 * @message:   index in the pattern, which stands for direction and part
 * @iteration: counted from the first exchange of the row
 */
uint64_t payload_seed(uint64_t row, uint32_t sender, unsigned int message,
		   uint64_t iteration);

/* payload_fill - write the bytes of a seed; @buf is 8-byte aligned */
void payload_fill(void *buf, size_t bytes, uint64_t seed);

/* payload_verify - compare every byte; @buf 8-byte aligned */
struct payload_wrong payload_verify(const void *buf, size_t bytes, uint64_t seed);

/* payload_guard_fill, payload_guard_verify - bytes that no message may
 * overwrite; @offset tells them apart
 */
void payload_guard_fill(uint8_t *area, size_t offset, size_t bytes);
struct payload_wrong payload_guard_verify(const uint8_t *area, size_t offset,
				    size_t bytes);

#endif /* TOFU_TOOLS_PAYLOAD_H */
