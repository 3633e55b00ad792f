// SPDX-License-Identifier: MIT
#include "common/mix.h"
#include "common/phase.h"
#include "common/stats.h"
#include "common/virtual.h"

#define PHASES 256 /* ns */

void tofu_phase(uint32_t node, uint64_t iteration)
{
	uint64_t seed = (uint64_t)node << 32 ^ iteration;
	uint64_t began, ns;

	if (!tofu_virtual())
		return;
	began = tofu_now();
	ns = tofu_mix(seed + TOFU_MIX_ODD) % PHASES;
	while (tofu_now() - began < ns)
		;
}
