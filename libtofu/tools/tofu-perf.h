/* SPDX-License-Identifier: MIT */
/* The parts of tofu-perf. */
#ifndef TOFU_PERF_H
#define TOFU_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#include "common/boot.h"
#include "common/stats.h"

enum perf_op { PERF_PUT, PERF_GET, PERF_ARMW, PERF_OPS };

/**
 * struct perf_settings - how is measured
 * @peer:       node that node 0 talks to
 * @window:     commands outstanding when bandwidth is measured
 * @iterations: that are counted
 * @warmup:     before them
 * @timeout:    seconds that a wait may take
 */
struct perf_settings {
	uint32_t peer;
	unsigned int window;
	uint64_t iterations;
	uint64_t warmup;
	unsigned int timeout;
};

/**
 * struct perf_result - of one operation and size, on node 0
 * @latency:   nanoseconds: of put one way, half of a round trip between two
 *             polling programs; of get and armw until the answer is there
 * @bandwidth: bytes a second, @window commands outstanding
 * @rate:      commands a second, likewise
 */
struct perf_result {
	struct tofu_stats latency;
	double bandwidth;
	double rate;
};

struct perf;

/**
 * perf_open - queue and buffers of this node, and learn the peer's
 * @tni:   that both sides use
 * @peer:  node that node 0 talks to
 * @bytes: largest size to come
 * @why:   as of tofu_boot_join()
 *
 * All nodes call it. Return: 0 or a negative errno.
 */
int perf_open(const struct tofu_machine *machine, struct tofu_boot *boot,
	      unsigned int tni, uint32_t peer, size_t bytes, char **why,
	      struct perf **perf);
void perf_close(struct perf *perf);

/**
 * perf_run - measure one operation at one size
 * @bytes:  for PERF_ARMW 4 or 8
 * @result: set on node 0, on success
 *
 * All nodes call it; those that have no part wait. Return: 0 or a negative
 * errno.
 */
int perf_run(struct perf *perf, const struct perf_settings *settings,
	     enum perf_op op, size_t bytes, char **why,
	     struct perf_result *result);

/**
 * perf_memcpy - bytes a second of memcpy() between buffers of this process
 * @bytes:      a copy
 * @iterations: copies
 *
 * Return: 0 where there is no memory for it.
 */
double perf_memcpy(size_t bytes, uint64_t iterations);

#endif /* TOFU_PERF_H */
