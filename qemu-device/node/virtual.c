/* SPDX-License-Identifier: MIT */
/*
 * A node in virtual time: what is due when, and how far its processor may run.
 *
 * All events of a time are handled while the processor stands at that time, in
 * an order that depends on virtual time alone: credits, then packets by sender
 * and number, then the controller's calendar. A stop is complete only when no
 * other event can be due then, that is before the horizon.
 *
 * What software does at a time comes before all events of that time: it may act
 * at the horizon itself, by the last instruction before the stop there, when
 * nobody knows them yet.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <errno.h>
#include <stdlib.h>

#include "node/trace.h"

/*
 * How far the network is computed ahead. No node needs more, and a node that
 * comes late can still put packets in behind that.
 */
#define AHEAD_NS 1000000

/* ---- What this node promises ---- */

/* The earliest time at which a credit of a packet in the network is back. */
static uint64_t first_leaving(struct tofu_virtual *v)
{
	return tofu_clock_add(tofu_parcel_leaving(v),
			      tofu_preset_flight_ns(v->machine));
}

/*
 * The earliest time at which a packet that is in the network is here, or its
 * credit. Credits matter only where an engine waits for one: an engine that has
 * something to send later finds those that are back by then, since departures are
 * known up to the horizon less a packet's flight.
 */
static uint64_t first_moving(struct tofu_virtual *v)
{
	const uint64_t time = tofu_clock_add(tofu_parcel_coming(v),
					     v->machine->receive_ns);

	return icc_starved(v->node->icc) ? tofu_min64(time, first_leaving(v)) :
					   time;
}

/* When an engine that waits for a credit has one. */
static uint64_t first_credit(struct tofu_virtual *v)
{
	return tofu_min64(first_leaving(v), tofu_heap_time(&v->credits));
}

/* The next known event. A credit that nobody waits for needs no stop of its own. */
static uint64_t next_due(const struct tofu_virtual *v)
{
	uint64_t next = tofu_min64(icc_next_time(v->node->icc),
			      tofu_heap_time(&v->due));

	return icc_starved(v->node->icc) ?
		       tofu_min64(next, tofu_heap_time(&v->credits)) :
		       next;
}

/*
 * No packet of this node enters the network before that, as far as it knows. A
 * packet in the network moves the promise forward as the network advances;
 * otherwise all nodes could wait for a packet that waits for a link.
 */
static uint64_t promise(struct tofu_virtual *v)
{
	const struct icc *icc = v->node->icc;
	uint64_t limit;

	limit = tofu_clock_add(icc_takes_effect(icc, v->busy),
			       tofu_preset_store_ns(v->machine));
	if (icc_starved(icc))
		limit = tofu_min64(limit,
				   tofu_clock_add(first_credit(v),
						  tofu_preset_send_ns(v->machine)));
	return tofu_parcel_answers(v, icc_sends_from(icc, limit));
}

/*
 * All events before that are known. Unknown packets enter the network at the
 * bound or later.
 */
static uint64_t horizon(struct tofu_virtual *v)
{
	const uint64_t flight = tofu_preset_flight_ns(v->machine);

	return tofu_min64(tofu_clock_add(v->clock.bound, flight),
			  first_moving(v));
}

/*
 * Advance the network as far as all its packets are known, and what it brings
 * here as far as that is certain.
 */
static void advance(struct tofu_virtual *v, uint64_t now)
{
	const uint64_t limit = tofu_min64(v->clock.bound, now + AHEAD_NS);
	uint64_t advanced, settled;

	/* An arrival on the way can move the promise forward. */
	do {
		const uint64_t until = tofu_min64(limit, promise(v));

		advanced = v->advanced;
		settled = v->settled;
		if (until > advanced)
			tofu_parcel_advance(v, until);
		tofu_parcel_settle(v, promise(v));
	} while (v->advanced > advanced || v->settled > settled);
}

/* ---- Stops ---- */

/*
 * Handle the next event that is due at @now; false where there is none, or no
 * room for what it sends.
 */
static bool do_one(struct tofu_virtual *v, uint64_t now)
{
	if (tofu_heap_time(&v->credits) <= now) {
		tofu_parcel_credit(v);
	} else if (tofu_heap_time(&v->due) <= now) {
		tofu_parcel_deliver(v);
	} else if (icc_next_time(v->node->icc) <= now) {
		return icc_progress(v->node->icc);
	} else {
		return false;
	}
	return true;
}

static bool do_all(struct tofu_virtual *v, uint64_t now)
{
	bool work = false;

	if (now >= v->horizon)
		return false;
	tofu_links_see(v, now);
	v->inside = true;
	while (do_one(v, now)) {
		work = true;
		v->handled++;
	}
	v->inside = false;
	return work;
}

/*
 * What is due and known already: the others' words are looked at afterwards, when
 * what this node sends is in its log.
 */
static void do_known(struct tofu_virtual *v, uint64_t now)
{
	if (now >= v->horizon)
		return;
	advance(v, now);
	do_all(v, now);
}

static void peer_down(void *ctx, uint32_t peer)
{
	struct tofu_virtual *v = ctx;

	v->handled++;
	/* Nobody could know of that. */
	v->promised = 0;
	tofu_clock_leave(&v->clock, peer);
	icc_peer_down(v->node->icc, peer);
}

static const struct tofu_fabric_handler handler = { .peer_down = peer_down };

static void look(struct tofu_virtual *v, uint64_t now)
{
	tofu_fabric_clock_meet(v->node->fabric, &handler, v);
	tofu_clock_look(&v->clock);
	advance(v, now);
	v->horizon = horizon(v);
}

/* The bound at which a wait can end. */
static void note_wanted(struct tofu_virtual *v, uint64_t now)
{
	const uint64_t flight = tofu_preset_flight_ns(v->machine);
	const uint64_t next = tofu_max64(now, tofu_min64(next_due(v), v->busy));

	v->wanted = tofu_clock_add(v->clock.bound, 1);
	if (!v->coming.count && next > flight && next != UINT64_MAX)
		v->wanted = tofu_max64(v->wanted, next - flight + 1);
}

static uint64_t run(struct tofu_node *node, uint64_t busy_from, bool ahead)
{
	struct tofu_virtual *v = node->virtual;
	const uint64_t home = node->ops->now(node->home);
	const uint64_t now = home - v->epoch;
	uint64_t stop;

	if (!v->clock.joined)
		return UINT64_MAX;
	v->busy = busy_from;
	if (busy_from != UINT64_MAX)
		v->busy = tofu_max64(busy_from, home) - v->epoch;
	do_known(v, now);
	do {
		look(v, now);
	} while (do_all(v, now));
	/* What has come may make the processor act otherwise. */
	if (ahead && v->handled != v->known)
		v->busy = now;
	v->known = v->handled;
	v->promised = promise(v);
	tofu_clock_publish(&v->clock, v->promised);
	stop = tofu_min64(v->horizon, next_due(v));
	if (ahead && stop < v->busy && next_due(v) >= v->horizon)
		stop = now;
	tofu_clock_show(&v->clock, now, stop <= now);
	if (stop <= now)
		note_wanted(v, now);
	if (stop == UINT64_MAX) {
		/* The home waits for nothing that is said here. */
		tofu_fabric_clock_pass(node->fabric, true);
		return stop;
	}
	/* Of a node that came late the horizon can be before its home's 0. */
	return tofu_max64(stop, now) + v->epoch;
}

uint64_t tofu_node_run(struct tofu_node *node, uint64_t busy_from)
{
	return run(node, busy_from, false);
}

uint64_t tofu_node_run_ahead(struct tofu_node *node, uint64_t busy_from)
{
	return run(node, busy_from, true);
}

uint64_t tofu_node_due(const struct tofu_node *node)
{
	return tofu_clock_add(next_due(node->virtual), node->virtual->epoch);
}

uint64_t tofu_node_handled(const struct tofu_node *node)
{
	return node->virtual->handled;
}

/* ---- Joining ---- */

int tofu_node_join(struct tofu_node *node)
{
	struct tofu_virtual *v = node->virtual;
	uint64_t start;
	int err;

	if (v->clock.joined)
		return 0;
	tofu_fabric_clock_meet(node->fabric, &handler, v);
	err = tofu_clock_join(&v->clock, &start);
	if (err) {
		tofu_clock_show(&v->clock, 0, true);
		return err;
	}
	v->epoch = node->ops->now(node->home) - start;
	v->busy = start;
	v->advanced = start;
	v->settled = start;
	tofu_clock_show(&v->clock, start, false);
	return 0;
}

bool tofu_node_joined(const struct tofu_node *node)
{
	return node->virtual->clock.joined;
}

/* ---- What software does ---- */

void tofu_node_store(struct tofu_node *node, unsigned int tni, unsigned int cq,
		     uint64_t value)
{
	if (node->virtual->clock.joined)
		icc_doorbell(node->icc, tni, cq, value);
}

/*
 * The processor may have run for long since the last stop. All crossings that
 * are visible before now are known, since now is not behind the horizon.
 */
static void catch_up(struct tofu_virtual *v, uint64_t now)
{
	v->busy = tofu_max64(v->busy, now);
	advance(v, now);
	tofu_links_see(v, now);
}

void tofu_node_catch_up(struct tofu_node *node)
{
	struct tofu_virtual *v = node->virtual;

	if (v->clock.joined)
		catch_up(v, tofu_virtual_now(v));
}

void tofu_node_mark(struct tofu_node *node, unsigned int tni, unsigned int cq,
		    uint64_t value)
{
	const uint64_t now = tofu_virtual_now(node->virtual);
	const struct icc_trace mark = {
		.time = now,
		.end = now,
		.id = value,
		.origin = node->fabric->self,
		.peer = node->fabric->self,
		.kind = ICC_TRACE_MARK,
		.tni = (uint8_t)tni,
		.cq = (uint8_t)cq,
	};

	tofu_virtual_trace(node->virtual, &mark);
}

uint64_t tofu_node_time(const struct tofu_node *node)
{
	return tofu_virtual_now(node->virtual);
}

/* Links first, so that records are in the order of their visibility. */
void tofu_virtual_trace(struct tofu_virtual *v, const struct icc_trace *trace)
{
	if (!v->trace || !v->clock.joined)
		return;
	if (trace->kind != ICC_TRACE_LINK && !v->inside)
		catch_up(v, tofu_virtual_now(v));
	tofu_trace_add(v->trace, trace);
}

/* ---- Life ---- */

static const struct tofu_clock_ops clock_ops = { .entry = tofu_parcel_entry };

int tofu_virtual_create(struct tofu_node *node,
			const struct tofu_node_params *params)
{
	struct tofu_virtual *v = calloc(1, sizeof(*v));
	struct tofu_fabric *fabric = node->fabric;
	int err;

	if (!v)
		return -ENOMEM;
	v->flying = calloc(fabric->nodes, sizeof(*v->flying));
	if (!v->flying) {
		err = -ENOMEM;
		goto err_free;
	}
	v->node = node;
	v->machine = params->machine;
	v->answer = tofu_preset_answer_ns(v->machine);
	v->cpus = tofu_wait_cpus();
	err = tofu_clock_create(fabric, v->machine, &clock_ops, v, &v->clock);
	if (err)
		goto err_flying;
	v->net = tofu_net_create(&fabric->shape, v->machine);
	if (!v->net) {
		err = -errno;
		goto err_clock;
	}
	if (params->trace)
		err = tofu_trace_create(params->trace, &fabric->shape,
					fabric->self, v->machine, &v->trace);
	if (err)
		goto err_net;
	tofu_links_create(v);
	node->virtual = v;
	return 0;

err_net:
	tofu_net_destroy(v->net);
err_clock:
	tofu_clock_destroy(&v->clock);
err_flying:
	free(v->flying);
err_free:
	free(v);
	return err;
}

void tofu_virtual_destroy(struct tofu_node *node)
{
	struct tofu_virtual *v = node->virtual;

	if (!v)
		return;
	tofu_parcel_destroy(v);
	tofu_net_destroy(v->net);
	tofu_links_destroy(v);
	tofu_trace_destroy(v->trace);
	tofu_clock_destroy(&v->clock);
	free(v->flying);
	free(v);
	node->virtual = NULL;
}
