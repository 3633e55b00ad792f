// SPDX-License-Identifier: MIT
/*
 * Packets on their way: the lanes of routers, the buffers behind links, the
 * links, and the ways to the engines.
 */
#include <errno.h>

#include "net/flight.h"

static uint64_t to_ns(uint64_t ps)
{
	return (ps + PS - 1) / PS;
}

/* struct move - the callbacks of an advance */
struct move {
	struct tofu_net *net;
	const struct tofu_net_ops *ops;
	void *ctx;
};

static void departs(const struct move *move, const struct flying *f,
		    uint64_t ps)
{
	if (move->ops->departs)
		move->ops->departs(move->ctx, &f->packet, to_ns(ps));
}

static void leave(const struct move *move, struct flying *f)
{
	move->net->flying--;
	tofu_flying_free(move->net, f);
}

static void arrives(const struct move *move, struct flying *f, uint64_t ps)
{
	move->ops->arrives(move->ctx, &f->packet, to_ns(ps));
	leave(move, f);
}

static void touches(const struct move *move, uint32_t node, uint64_t ps)
{
	if (move->ops->touches)
		move->ops->touches(move->ctx, node, ps / PS);
}

/* The head reaches f->node, not the last one, at @ps. */
static void moves(const struct move *move, struct flying *f, uint64_t ps)
{
	if (!in_block(move->net, f->node)) {
		move->ops->leaves(move->ctx, &f->packet, f->node, ps, f->at);
		leave(move, f);
		return;
	}
	push(move->net, f, ps);
	touches(move, f->node, ps);
}

static void count_wait(struct link *link, uint64_t ps)
{
	if (!ps)
		return;
	ps += link->wait_ps;
	link->count.wait_ns += ps / PS;
	link->wait_ps = (uint32_t)(ps % PS);
}

/* ---- Buffers ---- */

/* Look again at who wants a link, at @ps. */
static void watch(struct tofu_net *net, uint32_t node,
		  struct tofu_queued *retry, bool *watched, uint64_t ps)
{
	if (*watched)
		return;
	*watched = true;
	retry->time = ps;
	tofu_queue_push(queue_of(net, node), retry);
}

static void watch_room(struct tofu_net *net, uint32_t node, struct room *room)
{
	if (room->coming)
		watch(net, node, &room->retry, &room->watched,
		      room->back[room->first]);
}

/* Whether a buffer is to be had at @ps; a credit that is back is taken. */
static bool has_room(const struct tofu_net *net, struct room *room, uint64_t ps)
{
	if (room->used < net->machine->buffers)
		return true;
	if (!room->coming || room->back[room->first] > ps)
		return false;
	room->first = (room->first + 1) % TOFU_BUFFERS_MAX;
	room->coming--;
	room->used--;
	return true;
}

/* Whether somebody waits for it. */
static bool give_back(struct tofu_net *net, const struct tofu_net_credit *credit)
{
	struct link *link = link_at(net, credit->node, credit->port);
	struct room *room = room_at(net, link, credit->channel);

	room->back[(room->first + room->coming++) % TOFU_BUFFERS_MAX] =
		credit->ps;
	if (!link->out.wanted)
		return false;
	watch_room(net, credit->node, room);
	return true;
}

/* The buffer that a packet had at @node is free at @ps. */
static void release(const struct move *move, uint32_t node, unsigned int lane,
		    uint64_t ps)
{
	struct tofu_net *net = move->net;
	const enum tofu_port port = (enum tofu_port)(lane / CHANNELS);
	struct tofu_net_credit credit = {
		.ps = ps + net->machine->hop_ns * PS,
		.port = (uint8_t)tofu_port_reverse(port),
		.channel = (uint8_t)(lane % CHANNELS),
	};

	if (lane >= LINK_LANES)
		return;
	credit.node = link_at(net, node, port)->to;
	if (!in_block(net, credit.node)) {
		move->ops->credits(move->ctx, &credit);
		return;
	}
	if (give_back(net, &credit))
		touches(move, credit.node, credit.ps);
}

int tofu_net_credit(struct tofu_net *net, const struct tofu_net_credit *credit)
{
	struct room *room;

	if (!in_block(net, credit->node) || credit->port >= TOFU_PORTS ||
	    credit->channel >= CHANNELS)
		return -EINVAL;
	room = room_at(net, link_at(net, credit->node, credit->port),
		       credit->channel);
	if (room->coming >= room->used)
		return -EINVAL;
	give_back(net, credit);
	return 0;
}

/* ---- Routers ---- */

/* The link that it wants; NULL where it is at its end and wants its engine. */
static struct link *link_of(const struct tofu_net *net, const struct flying *f)
{
	return at_end(f) ? NULL :
			   link_at(net, f->node, f->leg[f->passed].port);
}

static struct output *output_of(const struct tofu_net *net,
				const struct flying *f)
{
	return at_end(f) ? engine_at(net, f->node, f->packet.taker) :
			   &link_of(net, f)->out;
}

/* The first packet of a lane has left it, with its last byte at @ps. */
static void shift(const struct move *move, uint32_t node, unsigned int number,
		  uint64_t ps)
{
	struct tofu_net *net = move->net;
	struct lane *lane = lane_at(net, node, number);
	struct flying *next = lane->second;

	release(move, node, number, ps);
	lane->first = next;
	lane->free = ps;
	if (!next)
		return;
	lane->second = (struct flying *)next->queued.next;
	next->first = true;
	push(net, next, ps);
}

static void discard(const struct move *move, struct flying *f, uint64_t ps)
{
	if (f->first) {
		output_of(move->net, f)->wanted &= ~(1ULL << f->lane);
		shift(move, f->node, f->lane, ps);
	} else {
		release(move, f->node, f->lane, ps);
	}
	tofu_flying_free(move->net, f);
}

/* The packet's head crosses @link from @ps on. */
static void cross(const struct move *move, struct flying *f, struct link *link,
		  uint64_t ps)
{
	struct tofu_net *net = move->net;

	link->count.packets++;
	link->count.bytes += f->packet.payload;
	count_wait(link, ps - f->came);
	if (move->ops->crosses)
		move->ops->crosses(move->ctx, &f->packet, f->node,
				   (enum tofu_port)link->port, ps / PS,
				   to_ns(ps + f->ps));
	if (!f->at)
		departs(move, f, ps + f->ps);
	f->first = false;
	room_at(net, link, channel_of(f, link->closes))->used++;
	set_lane(f, link->closes);
	f->node = link->to;
	pass(f, 1);
	moves(move, f, ps + net->machine->hop_ns * PS);
}

/* The packet's head leaves its lane at @ps, by @link or to its engine. */
static void go(const struct move *move, struct flying *f, struct output *output,
	       struct link *link, uint64_t ps)
{
	output->free = ps + f->ps;
	output->wanted &= ~(1ULL << f->lane);
	shift(move, f->node, f->lane, ps + f->ps);
	if (link)
		cross(move, f, link, ps);
	else
		arrives(move, f, ps + f->ps);
}

static bool before(const struct flying *a, const struct flying *b)
{
	return a->queued.time < b->queued.time ||
	       (a->queued.time == b->queued.time &&
		a->queued.order < b->queued.order);
}

/* The one that may go on and has waited for the longest time, or NULL. */
static struct flying *choose(const struct move *move, uint32_t node,
			     struct output *output, struct link *link,
			     uint64_t ps)
{
	struct tofu_net *net = move->net;
	struct flying *best = NULL;

	for (uint64_t left = output->wanted; left; left &= left - 1) {
		struct flying *f =
			lane_at(net, node, (unsigned int)__builtin_ctzll(left))
				->first;
		struct room *room =
			link ? room_at(net, link, channel_of(f, link->closes)) :
			       NULL;

		if (f->state == GONE)
			discard(move, f, ps);
		else if (room && !has_room(net, room, ps))
			watch_room(net, node, room);
		else if (!best || before(f, best))
			best = f;
	}
	return best;
}

/* Packets want the output, @link or to an engine: one of them goes, if it can. */
static void serve(const struct move *move, uint32_t node, struct output *output,
		  struct link *link, uint64_t ps)
{
	if (output->free <= ps) {
		struct flying *f = choose(move, node, output, link, ps);

		if (f)
			go(move, f, output, link, ps);
	}
	if (output->wanted && output->free > ps)
		watch(move->net, node, &output->retry, &output->watched,
		      output->free);
}

/* Its order says of what it is: place() in network.c. */
static unsigned int output_of_retry(const struct tofu_queued *queued)
{
	return (queued->order - RETRIES) % RETRIES_OF_NODE / RETRIES_OF_OUTPUT;
}

static void retry(const struct move *move, uint32_t node,
		  const struct tofu_queued *queued, uint64_t ps)
{
	const unsigned int number = output_of_retry(queued);
	const unsigned int which = (queued->order - RETRIES) % RETRIES_OF_OUTPUT;
	struct tofu_net *net = move->net;
	struct link *link = number < TOFU_PORTS ? link_at(net, node, number) :
						  NULL;
	struct output *output =
		link ? &link->out : engine_at(net, node, number - TOFU_PORTS);

	if (which)
		room_at(net, link, which - 1)->watched = false;
	else
		output->watched = false;
	serve(move, node, output, link, ps);
}

/* The packet's head has come into its lane: is it the first there? */
static bool line_up(const struct move *move, struct flying *f, uint64_t ps)
{
	struct lane *lane = lane_at(move->net, f->node, f->lane);

	f->came = ps;
	f->queued.next = NULL;
	if (lane->first) {
		if (lane->second)
			lane->last->queued.next = &f->queued;
		else
			lane->second = f;
		lane->last = f;
		return false;
	}
	lane->first = f;
	f->first = true;
	if (lane->free <= ps)
		return true;
	push(move->net, f, lane->free);
	return false;
}

/* The packet's head reaches a router at @ps, or becomes the first of its lane. */
static void happen(const struct move *move, struct flying *f, uint64_t ps)
{
	const uint64_t hop = move->net->machine->hop_ns * PS;
	struct output *output;

	if (f->state == GONE && !f->legs) {
		tofu_flying_free(move->net, f);
		return;
	}
	if (f->state == GONE) {
		discard(move, f, ps);
		return;
	}
	if (!f->legs) { /* loopback */
		departs(move, f, ps + hop + f->ps);
		arrives(move, f, ps + hop + f->ps);
		return;
	}
	if (!f->first && !line_up(move, f, ps))
		return;
	output = output_of(move->net, f);
	output->wanted |= 1ULL << f->lane;
	serve(move, f->node, output, link_of(move->net, f), ps);
}

static void next(const struct move *move, uint32_t node)
{
	struct tofu_queued *queued = tofu_queue_pop(queue_of(move->net, node));

	if (queued->order >= RETRIES)
		retry(move, node, queued, queued->time);
	else
		happen(move, (struct flying *)queued, queued->time);
}

void tofu_router_run(struct tofu_net *net, uint32_t node, uint64_t until,
		     const struct tofu_net_ops *ops, void *ctx)
{
	const struct move move = { net, ops, ctx };
	const struct tofu_queue *queue = queue_of(net, node);

	while (tofu_queue_time(queue) < until * PS)
		next(&move, node);
}

/* It concerns the way to an engine, which no packet takes that starts here. */
static bool is_of_engine(const struct tofu_queued *queued)
{
	const struct flying *f = (const struct flying *)queued;

	if (queued->order >= RETRIES)
		return output_of_retry(queued) >= TOFU_PORTS;
	return f->legs && at_end(f);
}

uint64_t tofu_net_take_at(struct tofu_net *net, uint32_t node, uint64_t until,
			  const struct tofu_net_ops *ops, void *ctx)
{
	const struct move move = { net, ops, ctx };
	const struct tofu_queue *queue = queue_of(net, node);

	while (tofu_queue_time(queue) < until * PS) {
		if (!is_of_engine(queue->first))
			return tofu_queue_time(queue) / PS;
		next(&move, node);
	}
	return until;
}
