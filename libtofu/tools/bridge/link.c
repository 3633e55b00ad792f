/* SPDX-License-Identifier: MIT */
/*
 * Another host: it can be reached or not. The one that is later in the table
 * connects. When a connection is lost, all nodes of the host are down; they come
 * back as others.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bridge/bridge.h"
#include "common/hash.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000
#define PING_MS 1000
#define LEAVES_MS 2000

/* ---- Messages to people ---- */

void bridge_say(struct bridge *bridge, const char *format, ...)
{
	char text[512];
	va_list args;
	uint64_t hash;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	hash = tofu_hash(TOFU_HASH_BASIS, text, strlen(text));
	for (unsigned int i = 0; i < BRIDGE_SAID; i++)
		if (bridge->said[i] == hash)
			return;
	bridge->said[bridge->says++ % BRIDGE_SAID] = hash;
	fprintf(stderr, "tofu-bridge: %s\n", text);
}

/* After a change what was said may be said again. */
static void say_anew(struct bridge *bridge, const struct link *link,
		     const char *what)
{
	memset(bridge->said, 0, sizeof(bridge->said));
	fprintf(stderr, "tofu-bridge: %s: %s\n", link->host->name, what);
}

/* ---- Coming and going ---- */

int links_create(struct bridge *bridge)
{
	bridge->link = calloc(bridge->hosts.count, sizeof(*bridge->link));
	if (!bridge->link)
		return -1;
	for (uint32_t h = 0; h < bridge->hosts.count; h++) {
		struct link *link = &bridge->link[h];

		*link = (struct link){ .bridge = bridge,
				       .number = h,
				       .host = &bridge->hosts.host[h],
				       .lost = bridge_now_ms(),
				       .delay = RETRY_MIN_MS };
		notes_init(&link->notes);
		for (int c = 0; c < TOFU_CLASSES; c++) {
			link->told[c] = calloc(bridge->host->nodes,
					       sizeof(*link->told[c]));
			if (!link->told[c])
				return -1;
		}
	}
	return 0;
}

void link_drop(struct link *link)
{
	struct bridge *bridge = link->bridge;

	notes_drop(&link->notes);
	for (int c = 0; c < TOFU_CLASSES; c++) {
		if (link->stream[c])
			link->stream[c]->state = STREAM_DEAD;
		link->stream[c] = NULL;
		memset(link->told[c], 0,
		       bridge->host->nodes * sizeof(*link->told[c]));
	}
	for (uint32_t n = 0; n < link->host->nodes; n++) {
		struct proxy *proxy = &bridge->proxy[link->host->first + n];

		/* What has not come is not lost. */
		if (link->up || proxy->gen)
			proxy_down(proxy);
		proxy->last = 0;
	}
	if (link->up && !bridge->ends && !(bridge->quiet && link->leaves))
		say_anew(bridge, link,
			 link->leaves ? "has left" :
					"is gone, with all its nodes");
	if (link->up)
		link->lost = bridge_now_ms();
	link->up = false;
	link->leaves = false;
	link->retry = bridge_now_ms() + link->delay;
	link->delay = link->delay * 2 < RETRY_MAX_MS ? link->delay * 2 :
						       RETRY_MAX_MS;
}

void link_open(struct stream *stream)
{
	struct link *link = stream->link;
	const enum tofu_class class_ = stream->class_;

	/* It has begun anew, which this side may not have noticed yet. */
	if (!stream->connects && (link->session != stream->other.session ||
				  link->stream[class_])) {
		link_drop(link);
		link->session = stream->other.session;
	}
	link->stream[class_] = stream;
	stream->state = STREAM_OPEN;
	for (int c = 0; c < TOFU_CLASSES; c++)
		if (!link->stream[c] || link->stream[c]->state != STREAM_OPEN)
			return;
	link->up = true;
	link->untold = true;
	clock_tell_anew(link->bridge);
	link->ups++;
	link->delay = RETRY_MIN_MS;
	for (uint32_t n = 0; n < link->host->nodes; n++)
		proxy_expect_soon(
			&link->bridge->proxy[link->host->first + n]);
	if (!link->bridge->quiet)
		say_anew(link->bridge, link, "is here");
}

static void link_connect(struct link *link)
{
	if (getrandom(&link->session, sizeof(link->session), 0) !=
	    sizeof(link->session))
		return;
	for (int c = 0; c < TOFU_CLASSES; c++)
		stream_connect(link, (enum tofu_class)c);
	for (int c = 0; c < TOFU_CLASSES; c++) {
		if (link->stream[c])
			continue;
		link_drop(link);
		return;
	}
}

/* ---- What is due ---- */

static bool tell(struct stream *stream, enum bridge_type type, uint32_t node,
		 uint32_t gen)
{
	struct bridge_frame *frame =
		stream_put(stream, sizeof(*frame), sizeof(*frame));

	if (!frame)
		return false;
	frame->type = (uint16_t)type;
	frame->src = node;
	frame->src_gen = gen;
	return true;
}

/* Tell what the other side does not know; what has no room is told later. */
static bool tell_nodes(struct link *link, enum tofu_class class_)
{
	const struct bridge *bridge = link->bridge;
	struct stream *stream = link->stream[class_];

	for (uint32_t n = 0; n < bridge->host->nodes; n++) {
		const uint32_t gen = bridge->local[n].gen;
		uint32_t *told = &link->told[class_][n];
		const uint32_t node = bridge->host->first + n;

		if (*told == gen)
			continue;
		if (*told) {
			if (!tell(stream, BRIDGE_DOWN, node, *told))
				return false;
			*told = 0;
		}
		if (gen) {
			if (!tell(stream, BRIDGE_UP, node, gen))
				return false;
			*told = gen;
		}
	}
	return true;
}

static void tell_all(struct link *link)
{
	bool told = true;

	for (int c = 0; c < TOFU_CLASSES; c++)
		told &= tell_nodes(link, (enum tofu_class)c);
	link->untold = !told;
}

static void ask_sign(struct stream *stream)
{
	const struct bridge_ping ping = { .time = bridge_now_us() };
	const uint32_t bytes = sizeof(struct bridge_frame) + sizeof(ping);
	struct bridge_frame *frame = stream_put(stream, bytes, bytes);

	if (!frame)
		return;
	frame->type = BRIDGE_PING;
	memcpy(frame + 1, &ping, sizeof(ping));
	stream->asked = bridge_now_ms();
}

bool links_up(const struct bridge *bridge)
{
	for (uint32_t h = 0; h < bridge->hosts.count; h++)
		if (bridge->link[h].up)
			return true;
	return false;
}

void links_leave(struct bridge *bridge)
{
	for (uint32_t h = 0; h < bridge->hosts.count; h++)
		for (int c = 0; c < TOFU_CLASSES && bridge->link[h].up; c++)
			tell(bridge->link[h].stream[c], BRIDGE_BYE, 0, 0);
}

static void link_tend(struct link *link, bool ticks)
{
	struct bridge *bridge = link->bridge;
	const int64_t now = bridge_now_ms();

	if (ticks && !link->up && bridge->self > link->number &&
	    !link->stream[TOFU_REQUEST] && !link->stream[TOFU_RESPONSE] &&
	    now >= link->retry)
		link_connect(link);
	if (!link->up)
		return;
	if (link->untold)
		tell_all(link);
	for (int c = 0; c < TOFU_CLASSES && ticks; c++)
		if (now - link->stream[c]->asked >= PING_MS)
			ask_sign(link->stream[c]);
}

/* A process that has died keeps its number until another one takes it. */
static uint32_t generation_now(struct bridge *bridge, uint32_t n)
{
	const uint32_t node = bridge->host->first + n;
	struct local *local = &bridge->local[n];
	uint32_t gen = tofu_fabric_generation(bridge->watch, node);
	struct tofu_fabric_report report;

	if (gen && gen != local->dead) {
		tofu_fabric_report(bridge->watch, node, &report);
		if (report.life == TOFU_LIFE_DEAD)
			local->dead = report.generation;
		gen = report.life == TOFU_LIFE_UP ? report.generation : 0;
	}
	return gen == local->dead ? 0 : gen;
}

/* What it has answered in its old life counts: that may have to wait for room. */
static bool still_answers(struct bridge *bridge, struct local *local)
{
	const int64_t now = bridge_now_ms();

	if (!local->leaves)
		local->leaves = now + LEAVES_MS;
	local->answers = false;
	proxies_poll(bridge);
	return local->answers && now < local->leaves;
}

static void local_changes(struct bridge *bridge, uint32_t n, uint32_t gen)
{
	struct local *local = &bridge->local[n];

	if (local->gen && still_answers(bridge, local)) {
		bridge->rescan = true;
		return;
	}
	local->leaves = 0;
	if (local->gen)
		local->past = local->gen;
	for (uint32_t p = 0; p < bridge->hosts.nodes; p++)
		if (bridge->proxy[p].pair && bridge->proxy[p].pair[n])
			pair_reset(bridge->proxy[p].pair[n]);
	bridge->local[n].gen = gen;
	for (uint32_t h = 0; h < bridge->hosts.count; h++)
		bridge->link[h].untold = true;
}

void links_tend(struct bridge *bridge, bool ticks)
{
	if (ticks || bridge->rescan) {
		bridge->rescan = false;
		for (uint32_t n = 0; n < bridge->host->nodes; n++) {
			uint32_t gen = generation_now(bridge, n);

			if (gen != bridge->local[n].gen)
				local_changes(bridge, n, gen);
		}
	}
	if (ticks) {
		proxies_tend(bridge);
		pool_age(&bridge->rx);
	}
	for (uint32_t h = 0; h < bridge->hosts.count; h++)
		if (h != bridge->self)
			link_tend(&bridge->link[h], ticks);
}
