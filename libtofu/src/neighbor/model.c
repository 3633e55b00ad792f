// SPDX-License-Identifier: MIT
#include "neighbor/model.h"

#include <tofu/neighbor.h>

#include "net/machine.h"

/* The product of a size, a time and a number of steps exceeds 64 bits. */
__extension__ typedef unsigned __int128 wide;

/* Time of a put of few bytes to the next node */
static uint64_t latency_ns(const struct tofu_preset *m)
{
	return (uint64_t)m->doorbell_ns + m->fetch_ns + m->read_ns +
	       m->send_ns + m->hop_ns + m->receive_ns + m->write_ns;
}

/* Bandwidth of an engine each way, while all of them send and receive */
static uint64_t bandwidth_mbs(const struct tofu_preset *m,
			      unsigned int engines)
{
	const uint64_t bounds[] = {
		tofu_preset_link_payload(m),
		m->tni_mbs,
		m->tni_both_mbs / 2,
		tofu_preset_host_both(m) / engines,
	};
	uint64_t least = bounds[0];

	for (size_t i = 1; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (bounds[i] < least)
			least = bounds[i];
	return least ? least : 1;
}

bool tofu_neighbor_times_of(const char *machine, unsigned int engines,
			    struct tofu_neighbor_times *times)
{
	const struct tofu_preset *m = machine ? tofu_preset_find(machine) :
						NULL;

	if (!m)
		return false;
	times->latency_ns = latency_ns(m);
	times->mbs = bandwidth_mbs(m, engines);
	return true;
}

uint64_t tofu_neighbor_time(const struct tofu_neighbor_times *times,
			    const struct tofu_neighbor_plan *plan,
			    uint64_t bytes)
{
	wide part = (wide)plan->segments * times->mbs;
	wide ns = (wide)times->latency_ns * plan->steps +
		  ((wide)plan->steps * bytes * 1000 + part - 1) / part;

	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint64_t tofu_neighbor_equal(const struct tofu_neighbor_times *times,
			     unsigned int neighbors, unsigned int engines)
{
	struct tofu_neighbor_plan native =
		tofu_neighbor_plan_native(neighbors, engines);
	struct tofu_neighbor_plan segmented =
		tofu_neighbor_plan_segmented(neighbors, engines);
	uint64_t more, less;
	wide bytes;

	if (segmented.segments == 1)
		return UINT64_MAX;
	/* Segments cost more starts, and carry less per engine. */
	more = segmented.steps - native.steps;
	less = (uint64_t)native.steps * segmented.segments - segmented.steps;
	bytes = (wide)times->latency_ns * more * times->mbs *
		segmented.segments;
	return (uint64_t)((bytes + less * 1000 - 1) / (less * 1000));
}

uint64_t tofu_neighbor_model_ns(const char *machine,
				enum tofu_neighbor_algorithm algorithm,
				unsigned int neighbors, unsigned int engines,
				uint64_t bytes)
{
	struct tofu_neighbor_plan native, segmented;
	struct tofu_neighbor_times times;
	uint64_t whole, cut;

	if (!neighbors || !engines ||
	    !tofu_neighbor_times_of(machine, engines, &times))
		return 0;
	native = tofu_neighbor_plan_native(neighbors, engines);
	segmented = tofu_neighbor_plan_segmented(neighbors, engines);
	whole = tofu_neighbor_time(&times, &native, bytes);
	cut = tofu_neighbor_time(&times, &segmented, bytes);
	switch (algorithm) {
	case TOFU_NEIGHBOR_NATIVE:
		return whole;
	case TOFU_NEIGHBOR_SEGMENTED:
		return cut;
	default:
		return cut < whole ? cut : whole;
	}
}

uint64_t tofu_neighbor_crossover(const char *machine, unsigned int neighbors,
				 unsigned int engines)
{
	struct tofu_neighbor_times times;

	if (!neighbors || !engines ||
	    !tofu_neighbor_times_of(machine, engines, &times))
		return UINT64_MAX;
	return tofu_neighbor_equal(&times, neighbors, engines);
}
