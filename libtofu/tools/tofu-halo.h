/* SPDX-License-Identifier: MIT */
/* The parts of tofu-halo. */
#ifndef TOFU_HALO_H
#define TOFU_HALO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/boot.h"
#include "neighbor/schedule.h"

/* ---- Patterns: who sends how much to whom (tofu-halo-pattern.c) ---- */

#define HALO_NEIGHBORS_MAX 64
#define HALO_MESSAGES_MAX (HALO_NEIGHBORS_MAX + 1)
#define HALO_NAME 32

/* Bytes at least between two receive buffers that nobody may write. */
#define HALO_GUARD 64

/**
 * struct halo_grid - the processes as a 2-D periodic grid
 * @p: processes west to east
 * @q: processes south to north; node number x * q + y is at (x, y)
 */
struct halo_grid {
	uint32_t p;
	uint32_t q;
};

/**
 * struct halo_message - a message of an exchange
 * @direction: that it goes, for people
 * @part:   number among those of the same direction, from 0
 * @to:     node that this one sends it to
 * @from:   node that this one gets its own counterpart from: the one for which
 *          this node lies in that direction
 * @bytes:  payload
 * @offset: of its buffer in the send area and in each receive set
 */
struct halo_message {
	char direction[HALO_NAME];
	unsigned int part;
	uint32_t to;
	uint32_t from;
	size_t bytes;
	size_t offset;
};

/**
 * struct halo_pattern - the messages of an exchange
 * @row:     k of SCALE-LES3, or bytes of a message: part of what is sent
 * @count:   messages
 * @planned: how many of them a plan covers, the first ones; the rest are
 *           empty and only go so that every direction has its opposite
 * @bytes:   payload of all messages
 * @span:    bytes of the send area, and of each receive set
 */
struct halo_pattern {
	uint64_t row;
	unsigned int count;
	unsigned int planned;
	uint64_t bytes;
	size_t span;
	struct halo_message message[HALO_MESSAGES_MAX];
};

/* halo_pattern_scale - the 14 messages of SCALE-LES3 with @k levels */
void halo_pattern_scale(const struct halo_grid *grid, uint32_t node,
			unsigned int k, struct halo_pattern *pattern);

/**
 * halo_pattern_neighbor - one message of @bytes to each of @neighbors
 *
 * The nearest ones in the grid, in rings, each followed by its opposite. On a
 * small grid several may be the same node, or this one.
 */
void halo_pattern_neighbor(const struct halo_grid *grid, uint32_t node,
			   unsigned int neighbors, size_t bytes,
			   struct halo_pattern *pattern);

/* ---- What is in a message (tofu-halo-data.c) ---- */

/**
 * struct halo_wrong - how a message differs from what was sent
 * @count: bytes that differ
 * @first: the first of them
 * @expected, @seen: its values
 */
struct halo_wrong {
	size_t count;
	size_t first;
	uint8_t expected;
	uint8_t seen;
};

/**
 * halo_seed - names a message: no two have the same but by 64-bit accident
 * @row:       of the pattern
 * @sender:    node
 * @message:   index in the pattern, which stands for direction and part
 * @iteration: counted from the first exchange of the row
 */
uint64_t halo_seed(uint64_t row, uint32_t sender, unsigned int message,
		   uint64_t iteration);

/* halo_fill - write the bytes that a seed stands for; @buf 8-byte aligned */
void halo_fill(void *buf, size_t bytes, uint64_t seed);

/* halo_verify - compare every byte; @buf 8-byte aligned */
struct halo_wrong halo_verify(const void *buf, size_t bytes, uint64_t seed);

/* halo_guard_fill, halo_guard_verify - bytes that nobody may write; @offset
 * tells them apart
 */
void halo_guard_fill(uint8_t *area, size_t offset, size_t bytes);
struct halo_wrong halo_guard_verify(const uint8_t *area, size_t offset,
				    size_t bytes);

/* ---- The exchange (tofu-halo-exchange.c) ---- */

#define HALO_TNIS_MAX TOFU_TNIS_MAX

/**
 * struct halo_settings - how exchanges are run
 * @tnis:       engines to use at most, 0: all
 * @segmented:  plan in segments, else native
 * @free:       no barrier before each exchange
 * @verify:     look at every byte that comes in
 * @iterations: exchanges of a row that are counted
 * @warmup:     exchanges before them
 * @timeout:    seconds that a wait may take
 * @corrupt:    node that sends one wrong byte in a row's last exchange, or -1
 */
struct halo_settings {
	unsigned int tnis;
	bool segmented;
	bool free;
	bool verify;
	uint64_t iterations;
	uint64_t warmup;
	unsigned int timeout;
	int64_t corrupt;
};

/**
 * struct halo_result - of one row, on this node
 * @wrong:    bytes that were not what they should be
 * @verified: bytes that were looked at in the counted exchanges
 * @median:   nanoseconds of an exchange
 */
struct halo_result {
	uint64_t wrong;
	uint64_t verified;
	uint64_t median;
};

struct halo;

/**
 * halo_open - make queues and buffers, learn of the others' queues
 * @span: largest span of the patterns to come
 * @why:  as of tofu_boot_join()
 * @halo: set on success
 *
 * Return: 0 or a negative errno.
 */
int halo_open(const struct tofu_machine *machine, struct tofu_boot *boot,
	      const struct halo_settings *settings, size_t span, char **why,
	      struct halo **halo);
void halo_close(struct halo *halo);

/* halo_tnis - how many engines are used */
unsigned int halo_tnis(const struct halo *halo);

/**
 * halo_run - the exchanges of a row
 * @result: set on success
 *
 * Says on the error output which bytes are wrong.
 *
 * Return: 0, also where bytes are wrong; or a negative errno.
 */
int halo_run(struct halo *halo, const struct halo_pattern *pattern, char **why,
	     struct halo_result *result);

#endif /* TOFU_HALO_H */
