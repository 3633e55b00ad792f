/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-perf, as its main program sees them.
 *
 * May include: common/, uapi/
 */
#ifndef TOFU_PERF_H
#define TOFU_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#include "common/world.h"
#include "common/stats.h"

enum perf_op { PERF_PUT, PERF_GET, PERF_ARMW, PERF_OPS };

/**
 * struct perf_place - the nodes of a measurement
 * @from:  node that measures
 * @to:    node that it communicates with
 * @peers: nodes that bandwidth is measured with, @to the first of them, the
 *         others those next to @from
 * @tni:   first TNI
 * @tnis:  how many, from @tni on: command number i of a bandwidth goes by the
 *         one of number i mod @tnis, to peer number i mod @peers
 * @bytes: largest size to come
 */
struct perf_place {
	uint32_t from;
	uint32_t to;
	uint32_t peers;
	unsigned int tni;
	unsigned int tnis;
	size_t bytes;
};

/**
 * struct perf_settings - parameters of a measurement
 * @window:     commands outstanding on each TNI when bandwidth is measured
 * @iterations: iterations counted, of latency and phases
 * @commands:   commands counted, of bandwidth
 * @warmup:     iterations or commands before the counted ones
 * @timeout:    seconds that a wait may take
 * @memory:     puts of all sizes have their data in memory
 * @inject:     data goes into the cache of the target's processor
 */
struct perf_settings {
	unsigned int window;
	uint64_t iterations;
	uint64_t commands;
	uint64_t warmup;
	unsigned int timeout;
	bool memory;
	bool inject;
};

/**
 * struct perf_result - of one operation and size, where it was measured
 * @times:     nanoseconds: of put a round trip between two polling programs;
 *             of get and armw until the answer is there
 * @ways:      of which a latency is one: 2 or 1
 * @elapsed:   nanoseconds from the first post to the last report, with
 *             perf_settings.window commands outstanding
 * @bandwidth: bytes a second in that time
 * @rate:      commands a second in that time
 */
struct perf_result {
	struct tofu_stats times;
	unsigned int ways;
	uint64_t elapsed;
	double bandwidth;
	double rate;
};

/**
 * enum perf_phase - where the time of a put goes, from the call to the notice
 * @PERF_LIBRARY:  from the call to the store that is the doorbell
 * @PERF_DOORBELL: until the engine begins with it
 * @PERF_ENGINE:   until its last packet enters the first link
 * @PERF_WIRE:     until its engine has taken that
 * @PERF_RECEIVE:  until the notice can be seen
 * @PERF_NOTICE:   until the poll that finds it returns
 */
enum perf_phase {
	PERF_LIBRARY,
	PERF_DOORBELL,
	PERF_ENGINE,
	PERF_WIRE,
	PERF_RECEIVE,
	PERF_NOTICE,
	PERF_PHASES,
};

/**
 * struct perf_phases - of one put
 * @ns:     of each phase
 * @total:  their sum
 * @back:   from the doorbell to the return of the call, beside all this
 */
struct perf_phases {
	int64_t ns[PERF_PHASES];
	int64_t total;
	int64_t back;
};

struct perf;

/**
 * perf_open - make queues and buffers of this node, and learn the peers'
 * @why:   as of tofu_world_join()
 *
 * All nodes call it. Return: 0 or a negative errno.
 */
int perf_open(const struct tofu_machine *machine, struct tofu_world *world,
	      const struct perf_place *place, char **why, struct perf **perf);
void perf_close(struct perf *perf);

/**
 * perf_run - measure one operation at one size
 * @bytes:  for PERF_ARMW 4 or 8
 * @result: set on the node that measures, on success
 *
 * All nodes call it; nodes without a part wait. Return: 0 or a negative errno.
 */
int perf_run(struct perf *perf, const struct perf_settings *settings,
	     enum perf_op op, size_t bytes, char **why,
	     struct perf_result *result);

/**
 * perf_phases - measure the phases of a put; only in virtual time
 * @result: set on the node that measures, on success: the put whose total is
 *          the median
 *
 * All nodes call it. Return: 0 or a negative errno.
 */
int perf_phases(struct perf *perf, const struct perf_settings *settings,
		size_t bytes, char **why, struct perf_phases *result);

/**
 * perf_memcpy - bytes a second of memcpy() between buffers of this process
 * @bytes:      a copy
 * @iterations: copies
 *
 * Return: 0 where there is no memory for it.
 */
double perf_memcpy(size_t bytes, uint64_t iterations);

#endif /* TOFU_PERF_H */
