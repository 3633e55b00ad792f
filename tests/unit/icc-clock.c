// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "icc-clock.h"

const struct tofu_preset toy = {
	.name = "toy",
	.tnis = 4,
	.link_mbs = 1000, /* a byte a ns */
	.mtu = 1000,
	.overhead = 24,
	.buffers = 4,
	.credits = 8,
	.hop_ns = 100,
	.doorbell_ns = 7,
	.fetch_ns = 20000,
	.read_ns = 3000,
	.send_ns = 400,
	.receive_ns = 50,
	.write_ns = 600,
	.reply_ns = 70,
	.atomic_ns = 800,
	.gate_ns = 60,
	.command_ns = 9,
	.tni_mbs = 1000,
	.tni_both_mbs = 2000,
	.host_mbs = 4000,
};

uint64_t flight(unsigned int hops, uint64_t bytes)
{
	return toy.send_ns + hops * toy.hop_ns + bytes + toy.overhead +
	       toy.receive_ns;
}
#include "net/network.h"

#define KINDS (ICC_TRACE_CHANNEL + 1)
#define ARRIVALS 65536

struct arrival {
	uint64_t time;
	uint64_t seq;
	uint32_t src;
	uint32_t to;
	struct net_packet *packet;
};

/**
 * struct net_clock - the clock of a machine
 * @arrival: by time
 * @promised: by node: it sends nothing before that, as far as it knew
 */
struct net_clock {
	uint64_t now;
	const struct tofu_preset *machine;
	struct icc_host_ops *ops;
	struct tofu_net *links;
	uint64_t seq[NET_NODES];
	uint32_t to[NET_NODES];
	struct arrival *arrival;
	size_t first, end;
	uint64_t promised[NET_NODES];
	struct icc_trace seen[NET_NODES][KINDS];
	uint64_t hash;
};

/* ---- Calls of controllers ---- */

static uint64_t host_now(void *host)
{
	return ((struct net_node *)host)->net->clock->now;
}

static struct tofu_packet *host_tx_begin(void *host, uint32_t number,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	struct net_node *node = host;
	struct net *net = node->net;

	(void)class_;
	if (payload > net->clock->machine->mtu || number >= net->nodes)
		abort();
	*err = -EHOSTDOWN;
	if (net->node[number].down)
		return NULL;
	node->tx = malloc(sizeof(struct tofu_packet) + payload);
	net->clock->to[node->number] = number;
	return &node->tx->pkt;
}

static void host_tx_commit(void *host)
{
	struct net_node *node = host;
	struct net_clock *clock = node->net->clock;
	const struct tofu_packet *pkt = &node->tx->pkt;
	const struct tofu_net_packet packet = {
		.time = pkt->time,
		.src = node->number,
		.dst = clock->to[node->number],
		.seq = clock->seq[node->number]++,
		.path = pkt->path,
		.class_ = (uint8_t)tofu_class_of(pkt->type),
		.engine = tofu_packet_engine(pkt->type, pkt->src_tni),
		.taker = tofu_packet_engine(pkt->type, pkt->dst_tni),
		.payload = pkt->payload,
		.cookie = node->tx,
	};

	/* The lookahead that synchronisation between nodes relies on. */
	if (pkt->time < clock->now + tofu_preset_send_ns(clock->machine) ||
	    pkt->time < clock->promised[node->number] ||
	    tofu_net_send(clock->links, &packet))
		abort();
	node->tx = NULL;
}

static bool host_fence_done(void *host)
{
	(void)host;
	return true;
}

static void host_trace(void *host, const struct icc_trace *trace)
{
	struct net_node *node = host;
	struct net_clock *clock = node->net->clock;
	const uint8_t *byte = (const uint8_t *)trace;

	clock->seen[node->number][trace->kind] = *trace;
	for (size_t i = 0; i < sizeof(*trace); i++)
		clock->hash = (clock->hash ^ byte[i]) * 0x100000001b3ULL;
}

/* ---- Promises ---- */

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t promise(const struct net *net, uint32_t number)
{
	const struct net_clock *clock = net->clock;
	const struct icc *icc = net->node[number].icc;
	uint64_t time = icc_sends_from(icc, UINT64_MAX);

	for (size_t i = clock->first; i != clock->end; i++) {
		const struct arrival *a = &clock->arrival[i];

		if (a->to == number)
			time = min64(time, a->time + icc_answer_ns(icc, &a->packet->pkt));
	}
	return time;
}

/* What a node knows now lets it promise more than before. */
static void promise_more(struct net *net)
{
	for (uint32_t i = 0; i < net->nodes; i++) {
		uint64_t *promised = &net->clock->promised[i];
		const uint64_t more = promise(net, i);

		if (!net->node[i].down && more > *promised)
			*promised = more;
	}
}

/* A node has learnt of something. */
static void promise_less(struct net *net, uint32_t number)
{
	uint64_t *promised = &net->clock->promised[number];

	*promised = min64(*promised, promise(net, number));
}

/* ---- Time ---- */

static void departs(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	const struct net_packet *p = packet->cookie;
	struct net *net = ctx;

	icc_credit(net->node[packet->src].icc, p->pkt.src_tni, time);
	promise_less(net, packet->src);
}

static bool before(const struct arrival *a, const struct arrival *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->src != b->src ? a->src < b->src : a->seq < b->seq;
}

static void insert(struct net_clock *clock, struct arrival arrival)
{
	struct arrival *at = &clock->arrival[clock->end++];

	for (; at != &clock->arrival[clock->first] && before(&arrival, at - 1);
	     at--)
		*at = at[-1];
	*at = arrival;
}

static void arrives(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct net_clock *clock = ((struct net *)ctx)->clock;

	if (clock->end == ARRIVALS) {
		memmove(clock->arrival, clock->arrival + clock->first,
			(clock->end - clock->first) * sizeof(struct arrival));
		clock->end -= clock->first;
		clock->first = 0;
		if (clock->end == ARRIVALS)
			abort();
	}
	insert(clock, (struct arrival){
			      .time = time + clock->machine->receive_ns,
			      .to = packet->dst,
			      .src = packet->src,
			      .seq = packet->seq,
			      .packet = packet->cookie,
		      });
	promise_less(ctx, packet->dst);
}

void clock_send(struct net *net, uint32_t to, struct net_packet *packet)
{
	if (net->clock->end == ARRIVALS)
		abort();
	insert(net->clock, (struct arrival){ .time = net->clock->now,
					     .to = to,
					     .src = packet->pkt.src,
					     .seq = UINT64_MAX,
					     .packet = packet });
}

static const struct tofu_net_ops links_ops = { .departs = departs,
					       .arrives = arrives };

static uint64_t next_time(struct net *net)
{
	struct net_clock *clock = net->clock;
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < net->nodes; i++) {
		const uint64_t time = icc_next_time(net->node[i].icc);

		if (!net->node[i].down && time < next)
			next = time;
	}
	if (clock->first != clock->end &&
	    clock->arrival[clock->first].time < next)
		next = clock->arrival[clock->first].time;
	return next;
}

static void receive(struct net *net)
{
	struct net_clock *clock = net->clock;

	while (clock->first != clock->end &&
	       clock->arrival[clock->first].time <= clock->now) {
		const struct arrival *a = &clock->arrival[clock->first++];
		struct net_node *node = &net->node[a->to];

		if (!node->down &&
		    icc_receive(node->icc, &a->packet->pkt,
				a->packet->payload))
			abort();
		free(a->packet);
	}
}

/* Advance the links up to the first time that a planned event can change. */
static void look_ahead(struct net *net, uint64_t next)
{
	struct net_clock *clock = net->clock;
	const uint64_t send = tofu_preset_send_ns(clock->machine);

	if (next > UINT64_MAX - send)
		next = UINT64_MAX - send;
	tofu_net_advance(clock->links, next + send, &links_ops, net);
}

/*
 * Advance by at most receive_ns: a packet that is found on the way comes later
 * than that.
 */
static void run_step(struct net *net, uint64_t time)
{
	struct net_clock *clock = net->clock;

	for (;;) {
		/* Software's store at the end of the step may come first. */
		const uint64_t planned = next_time(net);
		uint64_t next;

		look_ahead(net, planned < time ? planned : time);
		next = next_time(net);
		if (next > time)
			break;
		promise_more(net);
		clock->now = next;
		receive(net);
		for (unsigned int i = 0; i < net->nodes; i++) {
			if (!net->node[i].down)
				icc_progress(net->node[i].icc);
		}
	}
	clock->now = time;
}

void clock_run_until(struct net *net, uint64_t time)
{
	const uint64_t most = net->clock->machine->receive_ns;

	/* Software may have stored. */
	memset(net->clock->promised, 0, sizeof(net->clock->promised));
	do {
		const uint64_t left = time - net->clock->now;

		run_step(net, net->clock->now + (left < most ? left : most));
	} while (net->clock->now != time);
}

void clock_run(struct net *net)
{
	for (unsigned int i = 0;; i++) {
		uint64_t next = next_time(net);

		if (next == UINT64_MAX) {
			if (tofu_net_idle(net->clock->links))
				return;
			next = net->clock->now + 1000;
		}
		clock_run_until(net, next);
		if (i > 10000000)
			abort();
	}
}

uint64_t clock_now(const struct net *net)
{
	return net->clock->now;
}

/* ---- Software ---- */

void clock_ring(struct cq *cq)
{
	icc_doorbell(cq->node->icc, cq->tni, cq->cq, cq->tail);
}

void clock_post(const struct transfer *t)
{
	transfer_push(t);
	clock_ring(t->cq);
}

void clock_post_direct(const struct transfer *t)
{
	struct cq *cq = t->cq;
	const uint64_t mask = TOFU_RING_ENTRIES(cq->toq_code) - 1;
	const uint64_t first = cq->tail;

	transfer_push(t);
	for (uint64_t i = first; i != cq->tail; i++)
		memcpy(cq->page->direct + (i - first) * 32,
		       ram_at(cq->node, cq->toq + (i & mask) * 32, 32), 32);
	icc_doorbell(cq->node->icc, cq->tni, cq->cq,
		     cq->tail | TOFU_FETCH_DIRECT);
}

struct icc_trace clock_seen(const struct net *net, uint32_t node,
			    unsigned int kind)
{
	return net->clock->seen[node][kind];
}

uint64_t notice_time(const struct net *net, uint32_t node)
{
	return clock_seen(net, node, ICC_TRACE_NOTICE).time;
}

uint64_t clock_hash(const struct net *net)
{
	return net->clock->hash;
}

/* ---- Life ---- */

struct net *clock_create(const char *shape, const struct tofu_preset *machine)
{
	struct icc_host_ops *ops = malloc(sizeof(*ops));
	struct net_clock *clock = calloc(1, sizeof(*clock));
	const struct net_mode mode = { .mtu = machine->mtu,
				       .doorbells = true,
				       .machine = machine };
	struct tofu_shape parsed;
	struct net *net;

	*ops = net_ops;
	ops->now = host_now;
	ops->tx_begin = host_tx_begin;
	ops->tx_commit = host_tx_commit;
	ops->fence_done = host_fence_done;
	ops->trace = host_trace;
	ops->pull = NULL;
	ops->pull_ordered = NULL;
	net = net_create_with(shape, machine->tnis, &mode, ops);
	if (tofu_shape_parse(shape, &parsed))
		abort();
	clock->machine = machine;
	clock->links = tofu_net_create(&parsed, machine);
	clock->arrival = malloc(ARRIVALS * sizeof(struct arrival));
	clock->ops = ops;
	net->clock = clock;
	return net;
}

static void drop(void *ctx, const struct tofu_net_packet *packet)
{
	(void)ctx;
	free(packet->cookie);
}

void clock_end(struct net *net)
{
	struct net_clock *clock = net->clock;

	for (unsigned int i = 0; i < net->nodes; i++)
		tofu_net_forget(clock->links, i, drop, NULL);
	while (clock->first != clock->end)
		free(clock->arrival[clock->first++].packet);
	tofu_net_destroy(clock->links);
	free(clock->ops);
	free(clock->arrival);
	free(clock);
}
