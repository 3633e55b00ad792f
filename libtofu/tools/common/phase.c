// SPDX-License-Identifier: MIT
#include <err.h>
#include <string.h>

#include <tofu/time.h>

#include "common/args.h"
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

/* ---- Starts ---- */

#define SEED_DEFAULT 1
#define SEED_MAX UINT32_MAX

struct tofu_starts tofu_starts_parse(const char *option, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	char ns[32];

	if (length >= sizeof(ns))
		errx(EXIT_USAGE, "%s: '%s' is not NS or NS:SEED", option, text);
	memcpy(ns, text, length);
	ns[length] = '\0';
	return (struct tofu_starts){
		.ns = tofu_arg_number(option, ns, 0, TOFU_STARTS_MAX),
		.seed = colon ? tofu_arg_number(option, colon + 1, 0, SEED_MAX) :
				SEED_DEFAULT,
	};
}

uint64_t tofu_start_ns(const struct tofu_starts *starts, uint32_t node,
		       uint64_t iteration)
{
	uint64_t mixed = tofu_mix(starts->seed + TOFU_MIX_ODD);

	mixed = tofu_mix(mixed + node + TOFU_MIX_ODD);
	mixed = tofu_mix(mixed + iteration + TOFU_MIX_ODD);
	return mixed % (starts->ns + 1);
}

void tofu_start_wait(const struct tofu_starts *starts, uint32_t node,
		     uint64_t iteration)
{
	if (starts->ns)
		tofu_compute(tofu_start_ns(starts, node, iteration));
}
