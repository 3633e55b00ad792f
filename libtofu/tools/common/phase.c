// SPDX-License-Identifier: MIT
#include <tofu/time.h>

#include "common/mix.h"
#include "common/phase.h"
#include "common/stats.h"
#include "common/virtual.h"

#define PHASES 256 /* ns */

static inline uint64_t length(uint32_t node, uint64_t iteration)
{
	uint64_t seed = (uint64_t)node << 32 ^ iteration;

	return tofu_mix(seed + TOFU_MIX_ODD) % PHASES;
}

void tofu_phase(uint32_t node, uint64_t iteration)
{
	uint64_t began, ns;

	if (!tofu_virtual_runs()) {
		if (tofu_virtual())
			tofu_compute(length(node, iteration));
		return;
	}
	began = tofu_now();
	ns = length(node, iteration);
	while (tofu_now() - began < ns)
		;
}
