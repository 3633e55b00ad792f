/* SPDX-License-Identifier: MIT */
/*
 * Remote nodes, as endpoints of the local fabric. A proxy attaches when its node
 * has come at its host, and leaves with it, so local nodes see it come and go.
 *
 * At the beginning all of them are there for a while, and keep what is sent to
 * them: a program that knows by other means that a node has come must not find
 * that the bridges do not know it yet.
 */
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "fabric/clock.h"

/* What is there when a host is reached has been told by then. */
#define SOON_MS 2000

/* Nodes that stand still do not keep the proxy of a dead one. */
#define ENDING_MS 5000

int proxies_create(struct bridge *bridge)
{
	bridge->proxy = calloc(bridge->hosts.nodes, sizeof(*bridge->proxy));
	if (!bridge->proxy)
		return -1;
	for (uint32_t h = 0; h < bridge->hosts.count; h++) {
		const struct tofu_host *host = &bridge->hosts.host[h];

		for (uint32_t n = host->first; n < host->first + host->nodes;
		     n++) {
			struct proxy *proxy = &bridge->proxy[n];

			proxy->node = n;
			proxy->link = &bridge->link[h];
			notes_init(&proxy->timed.notes);
			if (h == bridge->self)
				continue;
			proxy->pair = calloc(bridge->host->nodes,
					     sizeof(*proxy->pair));
			if (!proxy->pair)
				return -1;
		}
	}
	return 0;
}

/* ---- Pairs ---- */

void pair_reset(struct pair *pair)
{
	memset(pair->out, 0, sizeof(pair->out));
	for (int c = 0; c < TOFU_CLASSES; c++)
		in_reset(&pair->in[c]);
}

struct pair *proxy_pair(struct proxy *proxy, uint32_t local)
{
	struct bridge *bridge = proxy->link->bridge;
	struct pair **at = &proxy->pair[local - bridge->host->first];

	if (*at)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	(*at)->local = local;
	(*at)->remote = proxy->node;
	pair_reset(*at);
	return *at;
}

/* ---- Coming and going ---- */

static int publish_pool(struct proxy *proxy)
{
	const struct pool *pool = &proxy->link->bridge->rx;
	const struct tofu_ram ram = { .len = pool->size, .fd = pool->fd };

	return tofu_fabric_publish(proxy->fabric, &ram, 1);
}

static void attach(struct proxy *proxy)
{
	struct bridge *bridge = proxy->link->bridge;
	char *why = NULL;
	int err = tofu_fabric_attach(bridge->path_kept, (int)proxy->node, &why,
				     &proxy->fabric);

	if (!err) {
		err = publish_pool(proxy);
		if (err) {
			tofu_fabric_detach(proxy->fabric);
			proxy->fabric = NULL;
		}
	}
	if (err)
		bridge_say(bridge, "node %u of %s cannot be in the fabric here: %s",
			   proxy->node, proxy->link->host->name,
			   why ? why : strerror(-err));
	else
		bridge_watch(bridge, tofu_fabric_fd(proxy->fabric), proxy);
	free(why);
}

void proxy_down(struct proxy *proxy)
{
	const uint32_t locals = proxy->link->bridge->host->nodes;

	proxy->gen = 0;
	proxy->ending = 0;
	clock_reset(proxy);
	for (uint32_t n = 0; n < locals; n++)
		if (proxy->pair[n])
			pair_reset(proxy->pair[n]);
	if (proxy->fabric)
		tofu_fabric_detach(proxy->fabric);
	proxy->fabric = NULL;
}

void proxy_up(struct proxy *proxy, uint32_t gen)
{
	const bool expected = proxy->fabric && !proxy->gen && !proxy->ending;

	if (proxy->gen == gen)
		return;
	if (!expected)
		proxy_down(proxy);
	proxy->gen = gen;
	proxy->last = gen;
	if (!expected)
		attach(proxy);
}

/* Whether local nodes still take, or read, what the node has answered. */
static bool is_read(const struct proxy *proxy)
{
	const uint32_t locals = proxy->link->bridge->host->nodes;

	for (uint32_t n = 0; n < locals; n++) {
		const struct pair *pair = proxy->pair[n];

		for (int c = 0; c < TOFU_CLASSES && pair; c++)
			if (pair->in[c].held.first ||
			    (c == TOFU_RESPONSE &&
			     pair->in[c].waiting[c].first))
				return true;
	}
	return false;
}

void proxy_end(struct proxy *proxy)
{
	proxy->gen = 0;
	if (proxy->fabric && is_read(proxy))
		proxy->ending = bridge_now_ms() + ENDING_MS;
	else
		proxy_down(proxy);
}

void proxies_expect(struct bridge *bridge)
{
	const int64_t until = bridge_now_ms() + bridge->timeout;

	for (uint32_t n = 0; n < bridge->hosts.nodes; n++) {
		struct proxy *proxy = &bridge->proxy[n];

		if (bridge_is_local(bridge, n))
			continue;
		attach(proxy);
		proxy->until = until;
	}
}

void proxy_expect_soon(struct proxy *proxy)
{
	proxy->until = bridge_now_ms() + SOON_MS;
}

void proxies_tend(struct bridge *bridge)
{
	const int64_t now = bridge_now_ms();

	for (uint32_t n = 0; n < bridge->hosts.nodes; n++) {
		struct proxy *proxy = &bridge->proxy[n];

		if (proxy->ending) {
			if (!is_read(proxy) || now > proxy->ending)
				proxy_down(proxy);
		} else if (proxy->fabric && !proxy->gen && now > proxy->until) {
			proxy_down(proxy);
		} else if (!proxy->fabric && proxy->gen) {
			attach(proxy);
		}
	}
}

/* ---- Packets of local nodes ---- */

static int packet(void *ctx, const struct tofu_packet *pkt, const void *payload)
{
	return out_packet(ctx, pkt, payload);
}

static void peer_down(void *ctx, uint32_t node)
{
	struct proxy *proxy = ctx;

	(void)node;
	proxy->link->bridge->rescan = true;
}

static const struct tofu_fabric_handler handler = { packet, peer_down };

/* In virtual time it is the logs that tell of packets. */
static bool proxy_poll(struct proxy *proxy)
{
	if (!proxy->timed.created)
		return tofu_fabric_poll(proxy->fabric, &handler, proxy);
	tofu_fabric_clock_meet(proxy->fabric, &handler, proxy);
	return false;
}

bool proxies_poll(struct bridge *bridge)
{
	bool work = false;

	for (uint32_t n = 0; n < bridge->hosts.nodes; n++)
		if (bridge->proxy[n].fabric)
			work |= proxy_poll(&bridge->proxy[n]);
	return work;
}

void proxies_want_wake(struct bridge *bridge, bool want)
{
	for (uint32_t n = 0; n < bridge->hosts.nodes; n++) {
		struct tofu_fabric *fabric = bridge->proxy[n].fabric;

		if (fabric)
			tofu_fabric_want_wake(fabric, want);
	}
}

void proxy_woken(struct proxy *proxy)
{
	if (proxy->fabric)
		tofu_fabric_fd_ack(proxy->fabric);
}
