/* SPDX-License-Identifier: MIT */
/*
 * Entering common time, and the bound that follows from the others' words.
 */
#include "node/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A node that comes late begins this far in the others' future. */
#define LATE_NS 10000000

int tofu_clock_create(struct tofu_fabric *fabric,
		      const struct tofu_preset *machine,
		      const struct tofu_clock_ops *ops, void *ctx,
		      struct tofu_clock *clock)
{
	int err = tofu_fabric_clock_create(fabric);

	if (err)
		return err;
	memset(clock, 0, sizeof(*clock));
	clock->peers = calloc(fabric->nodes, sizeof(*clock->peers));
	if (!clock->peers)
		return -ENOMEM;
	clock->fabric = fabric;
	clock->machine = machine;
	clock->ops = ops;
	clock->ctx = ctx;
	clock->reaction =
		tofu_preset_flight_ns(machine) + tofu_preset_answer_ns(machine);
	clock->limit = -1;
	return 0;
}

void tofu_clock_destroy(struct tofu_clock *clock)
{
	for (uint32_t n = 0; n < clock->fabric->nodes; n++)
		tofu_heap_free(&clock->peers[n].uncounted);
	free(clock->peers);
}

/* ---- Coming into common time ---- */

/* Whether a node that was not in common time has entered it. */
static bool enter(struct tofu_clock *clock, uint32_t node)
{
	struct tofu_clock_peer *peer = &clock->peers[node];

	if (!tofu_fabric_clock_enter(clock->fabric, node))
		return false;
	peer->counted = 0;
	peer->uncounted.count = 0;
	peer->in = true;
	return true;
}

/* The time to begin at, if others have begun; 0: none has. */
static uint64_t late_start(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;
	uint64_t start = 0;

	for (uint32_t n = 0; n < fabric->nodes; n++) {
		struct tofu_clock_report report;

		if (n == fabric->self)
			continue;
		tofu_fabric_clock_report(fabric, n, &report);
		if (report.state == TOFU_CLOCK_JOINED &&
		    report.now < TOFU_CLOCK_MAX && report.now + LATE_NS > start)
			start = report.now + LATE_NS;
	}
	return start;
}

static void announce(struct tofu_clock *clock, uint64_t start,
		     enum tofu_clock_state state)
{
	const uint64_t store = tofu_preset_store_ns(clock->machine);

	tofu_fabric_clock_announce(clock->fabric, state, start, start + store);
}

/*
 * The others may have advanced before they saw this node. It moves its start to
 * where they are, until they no longer advance in between.
 */
static uint64_t join_late(struct tofu_clock *clock)
{
	uint64_t start, after;

	do {
		start = late_start(clock);
		announce(clock, start, TOFU_CLOCK_JOINED);
		after = late_start(clock);
	} while (after > start + LATE_NS / 2);
	return start;
}

/* Whether all nodes have come, or another node has seen that they had. */
static bool all_ready(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;
	bool all = true, begun = false;

	for (uint32_t n = fabric->nodes; n-- > 0;) {
		struct tofu_clock_report report;

		if (n == fabric->self)
			continue;
		tofu_fabric_clock_report(fabric, n, &report);
		begun |= report.state == TOFU_CLOCK_JOINED;
		if (report.state == TOFU_CLOCK_APART) {
			all = false;
			clock->limit = (int)n;
		}
	}
	return all || begun;
}

int tofu_clock_join(struct tofu_clock *clock, uint64_t *start)
{
	if (!clock->ready) {
		clock->ready = true;
		clock->late = late_start(clock);
		if (!clock->late)
			announce(clock, 0, TOFU_CLOCK_READY);
	}
	*start = 0;
	if (clock->late)
		*start = join_late(clock);
	else if (!all_ready(clock))
		return -EAGAIN;
	tofu_fabric_clock_joined(clock->fabric);
	clock->joined = true;
	clock->limit = -1;
	return 0;
}

/* ---- The logs of others ---- */

static bool entry_valid(const struct tofu_clock *clock,
			const struct tofu_log_entry *entry)
{
	return entry->time < TOFU_CLOCK_MAX &&
	       entry->dst < clock->fabric->nodes &&
	       entry->payload <= TOFU_PKT_MTU_MAX &&
	       entry->tni < TOFU_TNIS_MAX && entry->taker < TOFU_TNIS_MAX &&
	       entry->cq < tofu_packet_cqs(entry->type);
}

static void note_uncounted(struct tofu_clock *clock,
			   const struct tofu_log_entry *entry)
{
	struct tofu_clock_peer *peer = &clock->peers[entry->dst];

	if (entry->dst != clock->fabric->self && peer->in)
		tofu_heap_push(&peer->uncounted, entry->time, 0, NULL);
}

static void read_log(struct tofu_clock *clock, uint32_t node)
{
	struct tofu_fabric_clock *peer = &clock->fabric->clocks[node];
	/* Read once: entries added meanwhile wait for the next look. */
	const uint64_t tail =
		__atomic_load_n(&peer->words->tail, __ATOMIC_ACQUIRE);
	struct tofu_log_entry entry;

	while (peer->read != tail &&
	       tofu_fabric_log_read(clock->fabric, node, &entry)) {
		if (!entry_valid(clock, &entry)) {
			tofu_fabric_clock_break(clock->fabric, node);
			break;
		}
		note_uncounted(clock, &entry);
		clock->ops->entry(clock->ctx, node, peer->read - 1, &entry);
	}
}

/* ---- The bound ---- */

/* The limit from a node's promise and from packets that it has not counted. */
static uint64_t bound_of(struct tofu_clock *clock, uint32_t node)
{
	struct tofu_clock_peer *peer = &clock->peers[node];
	uint64_t oldest;

	while (peer->uncounted.count &&
	       tofu_heap_time(&peer->uncounted) < peer->counted)
		tofu_heap_pop(&peer->uncounted);
	oldest = tofu_heap_time(&peer->uncounted);
	oldest = tofu_clock_add(oldest, clock->reaction);
	return peer->promise < oldest ? peer->promise : oldest;
}

/*
 * In this order: a packet that is not in the log when the log is read was
 * logged after the words. See clock.h.
 */
static void read_peer(struct tofu_clock *clock, uint32_t node)
{
	const struct tofu_clock_words *words =
		clock->fabric->clocks[node].words;
	struct tofu_clock_peer *peer = &clock->peers[node];

	peer->counted = __atomic_load_n(&words->counted, __ATOMIC_ACQUIRE);
	peer->promise = __atomic_load_n(&words->promise, __ATOMIC_ACQUIRE);
	read_log(clock, node);
}

void tofu_clock_look(struct tofu_clock *clock)
{
	const uint32_t nodes = clock->fabric->nodes;

	for (uint32_t n = 0; n < nodes; n++) {
		if (n == clock->fabric->self)
			continue;
		if (clock->peers[n].in || enter(clock, n))
			read_peer(clock, n);
	}
	clock->bound = UINT64_MAX;
	clock->limit = -1;
	clock->held = UINT64_MAX;
	/* All entries are known only now. */
	for (uint32_t n = 0; n < nodes; n++) {
		uint64_t bound;

		if (n == clock->fabric->self || !clock->peers[n].in)
			continue;
		bound = bound_of(clock, n);
		if (bound < clock->bound) {
			clock->bound = bound;
			clock->limit = (int)n;
			clock->held = bound < clock->peers[n].promise
					      ? bound - clock->reaction
					      : UINT64_MAX;
		}
	}
}

void tofu_clock_leave(struct tofu_clock *clock, uint32_t node)
{
	if (!clock->peers[node].in)
		return;
	/* Packets that it had sent stay in the network. */
	read_log(clock, node);
	clock->peers[node].in = false;
}

static bool is_held(const struct tofu_clock *clock)
{
	return clock->held != UINT64_MAX;
}

void tofu_clock_sleep(struct tofu_clock *clock, uint64_t bound, bool crowd)
{
	const bool held = is_held(clock);

	if (clock->limit < 0)
		return;
	tofu_clock_stir(clock);
	tofu_fabric_clock_sleep(clock->fabric, (uint32_t)clock->limit,
				held ? UINT64_MAX : bound,
				held ? clock->held + 1 : UINT64_MAX, crowd);
}

void tofu_clock_stir(struct tofu_clock *clock)
{
	if (clock->limit >= 0 && is_held(clock))
		tofu_fabric_clock_wake(clock->fabric, (uint32_t)clock->limit);
}

/* ---- This node's log and words ---- */

uint64_t tofu_clock_append(struct tofu_clock *clock,
			   const struct tofu_log_entry *entry)
{
	note_uncounted(clock, entry);
	return tofu_fabric_log_append(clock->fabric, entry);
}

void tofu_clock_publish(struct tofu_clock *clock, uint64_t promise)
{
	const uint64_t own = tofu_clock_add(promise, clock->reaction);

	tofu_fabric_clock_publish(clock->fabric, promise,
				  own < clock->bound ? own : clock->bound);
}

void tofu_clock_show(struct tofu_clock *clock, uint64_t now, bool waits)
{
	tofu_fabric_clock_show(clock->fabric, now, waits ? clock->limit : -1);
}
