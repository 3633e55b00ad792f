// SPDX-License-Identifier: MIT
#include "network-slow.h"

#include <stdlib.h>
#include <string.h>

#define CLASS_CHANNELS (TOFU_CLASSES * TOFU_VCS)
#define ENGINES (TOFU_TNIS_MAX + 1)
#define LANES_MAX (TOFU_PORTS * CLASS_CHANNELS + ENGINES * TOFU_CLASSES)
#define OUTPUTS (TOFU_PORTS + ENGINES)
#define NEVER UINT64_MAX

/**
 * struct walker - a packet of the slow model
 * @hop:    its route
 * @hops, @passed: count of all, and of those that its head has passed
 * @at:     node where its head is
 * @lane:   of that node
 * @came:   when its head came there, ps
 * @credit: of the buffer that it has there, in struct slow.back
 * @taken:  by its engine, or it crosses no link
 */
struct walker {
	const struct tofu_net_packet *packet;
	struct tofu_hop hop[16];
	size_t hops, passed;
	uint32_t at, lane;
	uint64_t came;
	uint64_t *credit;
	bool taken;
	uint64_t departed, arrived;
};

/**
 * struct slow - all of the model
 * @output: when each link and engine is free, ps
 * @lane:  when the last packet had left each, ps
 * @first: of each lane
 * @taken: by link and channel: buffers that have been taken so far
 * @back:  of each of these: when the credit comes back
 */
struct slow {
	const struct tofu_shape *shape;
	const struct tofu_preset *m;
	const struct tofu_net_packet *packet;
	size_t count;
	struct walker *walker;
	uint64_t *output;
	uint64_t *lane;
	struct walker **first;
	size_t *taken;
	uint64_t *back;
};

static uint64_t duration(const struct tofu_preset *m,
			 const struct tofu_net_packet *p)
{
	return ((uint64_t)p->payload + m->overhead + m->control) * 1000000 /
	       m->link_mbs;
}

static bool earlier(const struct walker *a, uint64_t since_a,
		    const struct walker *b, uint64_t since_b)
{
	const struct tofu_net_packet *p = a->packet, *q = b->packet;

	if (since_a != since_b)
		return since_a < since_b;
	return p->src < q->src || (p->src == q->src && p->seq < q->seq);
}

static void find_first(struct slow *slow)
{
	const size_t lanes = tofu_shape_nodes(slow->shape) * LANES_MAX;

	memset(slow->first, 0, lanes * sizeof(*slow->first));
	for (size_t i = 0; i < slow->count; i++) {
		struct walker *one = &slow->walker[i];
		struct walker **first =
			&slow->first[one->at * LANES_MAX + one->lane];

		if (!one->taken &&
		    (!*first || earlier(one, one->came, *first, (*first)->came)))
			*first = one;
	}
}

static unsigned int channel_of(const struct walker *one)
{
	return one->packet->class_ * TOFU_VCS + one->hop[one->passed].channel;
}

static bool at_end(const struct walker *one)
{
	return one->passed == one->hops;
}

static size_t output_at(const struct walker *one)
{
	unsigned int output = TOFU_PORTS;

	if (at_end(one))
		output += one->packet->taker;
	else
		output = one->hop[one->passed].port;
	return one->at * OUTPUTS + output;
}

static size_t channel_at(const struct walker *one)
{
	return (one->at * TOFU_PORTS + one->hop[one->passed].port) *
		       CLASS_CHANNELS + channel_of(one);
}

/* Buffers are left in the order in which they were taken. */
static uint64_t room_from(const struct slow *slow, const struct walker *one)
{
	const size_t channel = channel_at(one), taken = slow->taken[channel];

	if (taken < slow->m->buffers)
		return 0;
	return slow->back[channel * slow->count + taken - slow->m->buffers];
}

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t since_of(const struct slow *slow, const struct walker *one)
{
	return latest(one->came, slow->lane[one->at * LANES_MAX + one->lane]);
}

static uint64_t start_of(const struct slow *slow, const struct walker *one)
{
	uint64_t time = latest(since_of(slow, one),
			       slow->output[output_at(one)]);

	return at_end(one) ? time : latest(time, room_from(slow, one));
}

/* The next walker to move among those under way, or NULL. */
static struct walker *next_walker(struct slow *slow, uint64_t *start)
{
	struct walker *best = NULL;

	find_first(slow);
	*start = NEVER;
	for (size_t i = 0; i < slow->count; i++) {
		struct walker *one = &slow->walker[i];
		uint64_t time;

		if (one->taken ||
		    slow->first[one->at * LANES_MAX + one->lane] != one)
			continue;
		time = start_of(slow, one);
		if (time < *start ||
		    (time == *start &&
		     (!best || earlier(one, since_of(slow, one), best,
				       since_of(slow, best))))) {
			best = one;
			*start = time;
		}
	}
	return best;
}

/* The next link */
static void cross(struct slow *slow, struct walker *one, uint64_t start)
{
	const struct tofu_hop *hop = &one->hop[one->passed];
	const size_t channel = channel_at(one);

	one->credit = &slow->back[channel * slow->count +
				  slow->taken[channel]++];
	*one->credit = NEVER;
	one->lane = tofu_port_reverse(hop->port) * CLASS_CHANNELS +
		    channel_of(one);
	one->at = (uint32_t)tofu_node_at(slow->shape, &hop->to);
	one->came = start + slow->m->hop_ns * 1000ULL;
	one->passed++;
}

/* One step of one packet. */
static void step(struct slow *slow, struct walker *one, uint64_t start)
{
	const uint64_t left = start + duration(slow->m, one->packet);

	slow->output[output_at(one)] = left;
	slow->lane[one->at * LANES_MAX + one->lane] = left;
	if (one->passed)
		*one->credit = left + slow->m->hop_ns * 1000ULL;
	else
		one->departed = left;
	if (at_end(one)) {
		one->arrived = left;
		one->taken = true;
	} else {
		cross(slow, one, start);
	}
}

static void begin(struct slow *slow, size_t number)
{
	struct walker *one = &slow->walker[number];
	const struct tofu_net_packet *p = &slow->packet[number];

	one->packet = p;
	one->at = p->src;
	one->lane = TOFU_PORTS * CLASS_CHANNELS + p->engine * TOFU_CLASSES +
		    p->class_;
	one->came = p->time * 1000;
	one->hops = tofu_route(slow->shape, p->src, p->dst, p->path,
			       one->hop);
	one->taken = !one->hops;
	one->arrived = one->departed =
		one->came + slow->m->hop_ns * 1000ULL + duration(slow->m, p);
}

struct slow_fate *network_slow(const struct tofu_shape *shape,
			       const struct tofu_preset *machine,
			       const struct tofu_net_packet *packet,
			       size_t count)
{
	const size_t nodes = tofu_shape_nodes(shape);
	struct slow_fate *fate = calloc(count, sizeof(*fate));
	struct slow slow = {
		.shape = shape,
		.m = machine,
		.packet = packet,
		.count = count,
		.walker = calloc(count, sizeof(*slow.walker)),
		.output = calloc(nodes * OUTPUTS, sizeof(*slow.output)),
		.lane = calloc(nodes * LANES_MAX, sizeof(*slow.lane)),
		.first = calloc(nodes * LANES_MAX, sizeof(*slow.first)),
		.taken = calloc(nodes * TOFU_PORTS * CLASS_CHANNELS,
				sizeof(*slow.taken)),
		.back = calloc(nodes * TOFU_PORTS * CLASS_CHANNELS * count,
			       sizeof(*slow.back)),
	};
	struct walker *one;
	uint64_t start;

	for (size_t i = 0; i < count; i++)
		begin(&slow, i);
	while ((one = next_walker(&slow, &start)))
		step(&slow, one, start);
	for (size_t i = 0; i < count; i++)
		fate[i] = (struct slow_fate){ slow.walker[i].departed,
					      slow.walker[i].arrived };
	free(slow.walker);
	free(slow.output);
	free(slow.lane);
	free(slow.first);
	free(slow.taken);
	free(slow.back);
	return fate;
}
