/* SPDX-License-Identifier: MIT */
/*
 * Virtual time over several hosts: logs and words of each node are copied to all
 * other hosts, in the order in which they were written. Documentation/spec/bridge.rst
 * says why a copy that is late is as good as the original.
 *
 * One proxy reads a local node's log for all of them; the others keep up with it,
 * since the node waits for all its readers. A packet is taken out of its ring by
 * the proxy for which it is, when its entry is read, and goes with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "fabric/clock.h"

/* Far more than virtual time lets one node be ahead of another */
#define NOTES_MAX (1U << 17)

/* ---- Notes ---- */

void notes_init(struct notes *notes)
{
	notes->first = NULL;
	notes->last = &notes->first;
	notes->count = 0;
}

static void notes_add(struct notes *notes, struct note *note)
{
	note->next = NULL;
	*notes->last = note;
	notes->last = &note->next;
	notes->count++;
}

static void notes_drop_first(struct notes *notes)
{
	struct note *first = notes->first;

	notes->first = first->next;
	if (!notes->first)
		notes->last = &notes->first;
	notes->count--;
	free(first);
}

void notes_drop(struct notes *notes)
{
	while (notes->first)
		notes_drop_first(notes);
}

static struct note *note_create(uint32_t bytes)
{
	struct note *note = calloc(1, sizeof(*note) + bytes);

	if (note)
		note->bytes = bytes;
	return note;
}

/* ---- From this host ---- */

static void *note_body(struct note *note)
{
	return note->frame + 1;
}

/* A frame about a local node, or NULL. */
static struct note *note_about(struct bridge *bridge, uint32_t node,
			       enum bridge_type type, uint32_t bytes)
{
	struct note *note =
		note_create((uint32_t)sizeof(struct bridge_frame) + bytes);

	if (!note)
		return NULL;
	*note->frame = (struct bridge_frame){
		.bytes = note->bytes,
		.type = (uint16_t)type,
		.src = node,
		.src_gen = bridge_local(bridge, node)->gen,
	};
	return note;
}

static void send_copy(struct link *link, const struct note *note,
		      uint32_t bytes)
{
	struct note *copy = note_create(bytes);

	/* A log with a gap would be another one: it is none, then. */
	if (!copy) {
		stream_fail(link->stream[TOFU_REQUEST], "%s", bridge_no_memory);
		return;
	}
	memcpy(copy->frame, note->frame, bytes);
	copy->frame->bytes = bytes;
	notes_add(&link->notes, copy);
}

/*
 * To all hosts that are there; @packet: only that one gets what is behind @bytes.
 * Without a note, since there was no memory for it, they are given up.
 */
static void send_all(struct bridge *bridge, struct note *note, uint32_t bytes,
		     const struct link *packet)
{
	for (uint32_t h = 0; h < bridge->hosts.count; h++) {
		struct link *link = &bridge->link[h];

		if (h == bridge->self || !link->up)
			continue;
		if (note)
			send_copy(link, note,
				  link == packet ? note->bytes : bytes);
		else
			stream_fail(link->stream[TOFU_REQUEST], "%s",
				    bridge_no_memory);
	}
	free(note);
}

/* It has to know first that the nodes are there. */
static bool flush_notes(struct link *link)
{
	bool work = false;

	while (link->notes.first && link->up && !link->untold) {
		const struct note *note = link->notes.first;
		struct bridge_frame *frame =
			stream_put(link->stream[TOFU_REQUEST], note->bytes,
				   note->bytes);

		if (!frame)
			break;
		memcpy(frame, note->frame, note->bytes);
		notes_drop_first(&link->notes);
		work = true;
	}
	return work;
}

/* ---- Logs of local nodes ---- */

static bool reads(const struct proxy *proxy)
{
	return proxy->fabric && proxy->timed.state != TOFU_CLOCK_APART;
}

static struct proxy *find_reader(struct bridge *bridge)
{
	for (uint32_t n = 0; n < bridge->hosts.nodes; n++)
		if (reads(&bridge->proxy[n]))
			return &bridge->proxy[n];
	return NULL;
}

/* struct taken - the packet of an entry */
struct taken {
	struct note *note;
};

static int take_packet(void *ctx, const struct tofu_packet *packet,
		       const void *payload)
{
	struct taken *taken = ctx;
	const uint32_t head = (uint32_t)(sizeof(struct bridge_frame) +
					 sizeof(struct tofu_log_entry));
	struct note *note = note_create(head + (uint32_t)sizeof(*packet) +
					packet->payload);

	if (!note)
		return 0;
	memcpy((uint8_t *)note->frame + head, packet, sizeof(*packet));
	memcpy((uint8_t *)note->frame + head + sizeof(*packet), payload,
	       packet->payload);
	taken->note = note;
	return 0;
}

static const struct tofu_fabric_handler take_handler = { .packet = take_packet };

/* Move the packet of an entry into a note that has room for the entry. */
static struct note *fetch_packet(struct bridge *bridge, uint32_t node,
				 const struct tofu_log_entry *entry,
				 uint64_t number)
{
	struct proxy *to = entry->dst < bridge->hosts.nodes ?
				   &bridge->proxy[entry->dst] :
				   NULL;
	struct taken taken = { 0 };

	if (!to || bridge_is_local(bridge, entry->dst) || !reads(to))
		return NULL;
	tofu_fabric_log_take(to->fabric, node, tofu_class_of(entry->type),
			     number, &take_handler, &taken);
	return taken.note;
}

static void send_entry(struct bridge *bridge, uint32_t node,
		       const struct tofu_log_entry *entry, uint64_t number)
{
	const uint32_t bytes =
		(uint32_t)(sizeof(struct bridge_frame) + sizeof(*entry));
	struct note *note = fetch_packet(bridge, node, entry, number);
	const struct link *link = NULL;

	if (note)
		link = bridge->proxy[entry->dst].link;
	else
		note = note_create(bytes);
	if (note) {
		*note->frame = (struct bridge_frame){
			.bytes = note->bytes,
			.type = BRIDGE_ENTRY,
			.src = node,
			.dst = entry->dst,
			.src_gen = bridge_local(bridge, node)->gen,
		};
		memcpy(note_body(note), entry, sizeof(*entry));
	}
	send_all(bridge, note, bytes, link);
}

/* All proxies keep up with the one that reads. */
static void keep_up(struct bridge *bridge, uint32_t node, uint64_t number)
{
	struct tofu_log_entry entry;

	for (uint32_t n = 0; n < bridge->hosts.nodes; n++) {
		struct proxy *proxy = &bridge->proxy[n];

		if (reads(proxy) &&
		    (int64_t)(number - proxy->fabric->clocks[node].read) >= 0)
			tofu_fabric_log_read(proxy->fabric, node, &entry);
	}
}

static bool send_log(struct bridge *bridge, struct proxy *reader,
		     uint32_t node, uint64_t tail)
{
	struct tofu_fabric_clock *clock = &reader->fabric->clocks[node];
	struct tofu_log_entry entry;
	bool work = false;

	while (clock->read != tail) {
		const uint64_t number = clock->read;

		if (!tofu_fabric_log_read(reader->fabric, node, &entry))
			break;
		keep_up(bridge, node, number);
		send_entry(bridge, node, &entry, number);
		work = true;
	}
	return work;
}

static void send_words(struct bridge *bridge, uint32_t node, uint64_t promise,
		       uint64_t counted)
{
	struct note *note = note_about(bridge, node, BRIDGE_WORDS,
				       sizeof(struct bridge_words));

	if (note)
		*(struct bridge_words *)note_body(note) =
			(struct bridge_words){ promise, counted };
	send_all(bridge, note, note ? note->bytes : 0, NULL);
}

/*
 * Read the words first, then all entries up to the tail: what the words promise
 * beyond is then on its way before them. In the order of fabric/clock.h.
 */
static bool send_news(struct bridge *bridge, struct proxy *reader,
		      uint32_t node)
{
	const struct tofu_clock_words *words =
		reader->fabric->clocks[node].words;
	const uint64_t counted =
		__atomic_load_n(&words->counted, __ATOMIC_ACQUIRE);
	const uint64_t promise =
		__atomic_load_n(&words->promise, __ATOMIC_ACQUIRE);
	const uint64_t tail = __atomic_load_n(&words->tail, __ATOMIC_ACQUIRE);
	struct seen *seen = &bridge_local(bridge, node)->seen;
	bool work = send_log(bridge, reader, node, tail);

	if (promise == seen->promise && counted == seen->counted)
		return work;
	seen->promise = promise;
	seen->counted = counted;
	send_words(bridge, node, promise, counted);
	return true;
}

static void send_state(struct bridge *bridge, uint32_t node,
		       const struct tofu_clock_report *report,
		       uint64_t promise)
{
	struct note *note = note_about(bridge, node, BRIDGE_STATE,
				       sizeof(struct bridge_state));

	if (note)
		*(struct bridge_state *)note_body(note) =
			(struct bridge_state){ report->state, report->now,
					       promise };
	send_all(bridge, note, note ? note->bytes : 0, NULL);
}

/* Any proxy with a clock connects to the node, and sees its state. */
static void see_state(struct bridge *bridge, struct proxy *proxy, uint32_t node)
{
	struct local *local = bridge_local(bridge, node);
	struct tofu_clock_report report;
	uint64_t promise;

	if (!local->gen)
		return;
	if (local->seen.gen != local->gen)
		local->seen = (struct seen){ .gen = local->gen };
	tofu_fabric_clock_report(proxy->fabric, node, &report);
	/* One that has gone is told as any. */
	if (report.state == local->seen.state ||
	    report.state == TOFU_CLOCK_APART)
		return;
	promise = __atomic_load_n(&proxy->fabric->clocks[node].words->promise,
				  __ATOMIC_ACQUIRE);
	local->seen.state = report.state;
	send_state(bridge, node, &report, promise);
}

/* ---- From other hosts ---- */

/* All that are there, or are expected. */
static bool all_have_come(const struct bridge *bridge)
{
	for (uint32_t n = 0; n < bridge->hosts.nodes; n++)
		if (bridge->proxy[n].fabric && !reads(&bridge->proxy[n]))
			return false;
	return true;
}

/*
 * The first node that joins has seen all others come. Whoever sees it join believes
 * that, so it must see them, too: they may be told by other hosts, and later.
 *
 * Return: 0 or -EAGAIN
 */
static int announce(struct proxy *proxy, const struct bridge_state *state)
{
	if (proxy->timed.state == state->state)
		return 0;
	if (state->state == TOFU_CLOCK_JOINED &&
	    proxy->timed.state == TOFU_CLOCK_APART)
		announce(proxy, &(struct bridge_state){ TOFU_CLOCK_READY,
							state->now,
							state->promise });
	if (state->state == TOFU_CLOCK_JOINED &&
	    !all_have_come(proxy->link->bridge))
		return -EAGAIN;
	if (proxy->timed.state == TOFU_CLOCK_READY)
		tofu_fabric_clock_joined(proxy->fabric);
	else
		tofu_fabric_clock_announce(proxy->fabric,
					   (enum tofu_clock_state)state->state,
					   state->now, state->promise);
	proxy->timed.state = (unsigned int)state->state;
	return 0;
}

/* Return: 0 or -EAGAIN */
static int append(struct proxy *proxy, const struct bridge_frame *frame)
{
	const struct tofu_log_entry *entry = (const void *)(frame + 1);
	const struct tofu_packet *packet = (const void *)(entry + 1);
	struct tofu_packet *to;
	int err = 0;

	if (!tofu_fabric_log_room(proxy->fabric, 1))
		return -EAGAIN;
	if (frame->bytes > sizeof(*frame) + sizeof(*entry)) {
		to = tofu_fabric_tx_begin(proxy->fabric, entry->dst,
					  tofu_class_of(packet->type),
					  packet->payload, &err);
		if (!to && err == -EAGAIN)
			return err;
		if (to) {
			memcpy(to, packet, sizeof(*packet) + packet->payload);
			tofu_fabric_tx_commit(proxy->fabric);
		}
	}
	tofu_fabric_log_append(proxy->fabric, entry);
	return 0;
}

static int apply(struct proxy *proxy, const struct bridge_frame *frame)
{
	const struct bridge_words *words = (const void *)(frame + 1);

	switch (frame->type) {
	case BRIDGE_STATE:
		return announce(proxy, (const void *)(frame + 1));
	case BRIDGE_ENTRY:
		return append(proxy, frame);
	default:
		tofu_fabric_clock_publish(proxy->fabric, words->promise,
					  words->counted);
		return 0;
	}
}

/*
 * Not before both connections are open here, too: local nodes begin when they have
 * seen all others, and then all that they write must get there.
 */
static bool apply_notes(struct proxy *proxy)
{
	bool work = false;

	while (proxy->link->up && proxy->timed.created &&
	       proxy->timed.notes.first &&
	       !apply(proxy, proxy->timed.notes.first->frame)) {
		notes_drop_first(&proxy->timed.notes);
		work = true;
	}
	return work;
}

/* What is wrong with a frame; its size was checked but for that of an entry. */
static const char *check(const struct bridge *bridge,
			 const struct bridge_frame *frame)
{
	const struct bridge_state *state = (const void *)(frame + 1);
	const struct tofu_log_entry *entry = (const void *)(frame + 1);
	const struct tofu_packet *packet = (const void *)(entry + 1);
	const size_t bytes = frame->bytes - sizeof(*frame);

	if (frame->type == BRIDGE_STATE)
		return state->state == TOFU_CLOCK_READY ||
				       state->state == TOFU_CLOCK_JOINED ?
			       NULL :
			       "a node of no known state";
	if (frame->type == BRIDGE_WORDS)
		return NULL;
	if (bytes < sizeof(*entry))
		return "an entry of a wrong size";
	/* Readers check the rest, but appending wakes this node. */
	if (entry->dst >= bridge->hosts.nodes)
		return "an entry for a node that is nowhere";
	if (bytes == sizeof(*entry))
		return NULL;
	if (bytes < sizeof(*entry) + sizeof(*packet) ||
	    packet->payload > TOFU_PKT_MTU_MAX ||
	    bytes != sizeof(*entry) + sizeof(*packet) + packet->payload ||
	    packet->src != frame->src || packet->type != entry->type ||
	    !bridge_is_local(bridge, entry->dst))
		return "an entry with a wrong packet";
	return NULL;
}

const char *clock_take(struct stream *stream, const struct bridge_frame *frame)
{
	struct bridge *bridge = stream->bridge;
	struct proxy *proxy = &bridge->proxy[frame->src];
	const char *wrong = check(bridge, frame);
	struct note *note;

	if (wrong)
		return wrong;
	if (!proxy->gen || frame->src_gen != proxy->gen)
		return NULL;
	bridge->timed = true;
	if (proxy->timed.notes.count >= NOTES_MAX)
		return "more of a log than nodes can be ahead of each other";
	note = note_create(frame->bytes);
	if (!note)
		return bridge_no_memory;
	memcpy(note->frame, frame, frame->bytes);
	notes_add(&proxy->timed.notes, note);
	return NULL;
}

/* ---- Both ---- */

void clock_tell_anew(struct bridge *bridge)
{
	for (uint32_t n = 0; n < bridge->host->nodes; n++)
		bridge->local[n].seen = (struct seen){ 0 };
}

void clock_reset(struct proxy *proxy)
{
	notes_drop(&proxy->timed.notes);
	proxy->timed.created = false;
	proxy->timed.state = TOFU_CLOCK_APART;
}

/* A machine is in virtual time when one of its nodes is. */
static void look_whether_timed(struct bridge *bridge)
{
	struct tofu_clock_report report;

	for (uint32_t n = 0; n < bridge->host->nodes; n++) {
		if (!bridge->local[n].gen)
			continue;
		tofu_fabric_clock_report(bridge->watch,
					 bridge->host->first + n, &report);
		if (report.state != TOFU_CLOCK_APART)
			bridge->timed = true;
	}
}

static void create_clocks(struct bridge *bridge)
{
	for (uint32_t n = 0; n < bridge->hosts.nodes; n++) {
		struct proxy *proxy = &bridge->proxy[n];
		int err;

		if (!proxy->fabric || proxy->timed.created)
			continue;
		err = tofu_fabric_clock_create(proxy->fabric);
		if (err)
			bridge_say(bridge, "node %u has no clock here: %s", n,
				   err == -ENOSPC ? TOFU_FABRIC_FULL :
						    strerror(-err));
		else
			proxy->timed.created = true;
	}
}

/* The first proxy with a clock sees states; the first that has come reads. */
static bool send_all_news(struct bridge *bridge, bool ticks)
{
	struct proxy *reader = find_reader(bridge), *sees = NULL;
	bool work = false;

	for (uint32_t n = 0; n < bridge->hosts.nodes && !sees; n++)
		if (bridge->proxy[n].timed.created)
			sees = &bridge->proxy[n];
	for (uint32_t n = 0; n < bridge->host->nodes && sees; n++) {
		const uint32_t node = bridge->host->first + n;

		if (ticks || bridge->local[n].seen.state != TOFU_CLOCK_JOINED)
			see_state(bridge, sees, node);
		if (reader && bridge->local[n].seen.state != TOFU_CLOCK_APART)
			work |= send_news(bridge, reader, node);
	}
	return work;
}

bool clock_progress(struct bridge *bridge, bool ticks)
{
	bool work = false;

	if (!bridge->timed && ticks)
		look_whether_timed(bridge);
	if (!bridge->timed)
		return false;
	create_clocks(bridge);
	work |= send_all_news(bridge, ticks);
	for (uint32_t n = 0; n < bridge->hosts.nodes; n++)
		work |= apply_notes(&bridge->proxy[n]);
	for (uint32_t h = 0; h < bridge->hosts.count; h++)
		if (h != bridge->self)
			work |= flush_notes(&bridge->link[h]);
	return work;
}
