/* SPDX-License-Identifier: MIT */
/*
 * Virtual time in the shared file: the words and the log of each node.
 *
 * Each reader keeps its positions in the others' logs in its row of the file. A
 * log's node overwrites an entry after all have read it.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct tofu_shm_clock *own_clock(const struct tofu_shm *shm)
{
	return tofu_shm_clock_of(shm, shm->fabric.self);
}

static struct tofu_log_entry *log_at(const struct tofu_shm *shm, uint32_t node)
{
	return (struct tofu_log_entry *)(shm->base +
					 tofu_shm_log_offset(shm->fabric.nodes,
							     node));
}

static uint64_t *row_at(const struct tofu_shm *shm, uint32_t reader)
{
	return (uint64_t *)(shm->base +
			    tofu_shm_read_offset(shm->fabric.nodes, reader));
}

static int clock_create(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_shm_clock *own = own_clock(shm);
	const uint64_t clocks = tofu_shm_clock_offset(fabric->nodes, 0);
	int err;

	/* Each node uses the clocks and logs of all. */
	err = tofu_file_reserve(shm->fd, clocks, shm->size - clocks);
	if (err)
		return err;
	fabric->clocks = calloc(fabric->nodes, sizeof(*fabric->clocks));
	shm->shown = calloc(fabric->nodes, sizeof(*shm->shown));
	if (!fabric->clocks || !shm->shown)
		return -ENOMEM; /* detaching frees them */
	for (uint32_t n = 0; n < fabric->nodes; n++)
		fabric->clocks[n].words = &tofu_shm_clock_of(shm, n)->words;
	shm->log_tail = tofu_load(&own->words.tail);
	shm->log_room = shm->log_tail;
	shm->entry = (uint16_t)shm->log_tail;
	shm->timed = true;
	shm->payload_max = TOFU_PKT_MTU_MAX;
	tofu_store(&own->state, 0);
	tofu_store(&own->now, 0);
	tofu_store(&own->waits_for, 0);
	tofu_store(&own->asleep, 0);
	tofu_store(&own->due, 0);
	tofu_store(&own->cpu, 0);
	return 0;
}

/* ---- Coming into common time ---- */

/* The state in @clock, if it is that of the life @gen; else 0. */
static uint64_t state_of(const struct tofu_shm_clock *clock, uint32_t gen)
{
	/* Acquire: writes before the state are seen with it. */
	const uint64_t word = tofu_load_acquire(&clock->state);

	if (TOFU_GET(word, TOFU_SHM_CLOCK_GEN) != gen)
		return 0;
	return TOFU_GET(word, TOFU_SHM_CLOCK_STATE);
}

uint64_t tofu_clock_state(const struct tofu_shm *shm, uint32_t node)
{
	const struct tofu_peer *peer = &shm->peers[node];

	if (!peer->life || !tofu_peer_usable(shm, node))
		return 0;
	return state_of(tofu_shm_clock_of(shm, node), tofu_shm_gen(peer->life));
}

static void read_report(const struct tofu_shm *shm,
			const struct tofu_shm_clock *clock, uint64_t state,
			struct tofu_clock_report *report)
{
	const uint32_t whom = tofu_load(&clock->waits_for);

	*report = (struct tofu_clock_report){ .waits_for = -1 };
	if (!state)
		return;
	report->state = state == TOFU_SHM_CLOCK_JOINED ? TOFU_CLOCK_JOINED :
							 TOFU_CLOCK_READY;
	report->now = tofu_load(&clock->now);
	if (whom && whom <= shm->fabric.nodes)
		report->waits_for = (int)whom - 1;
}

static void clock_report(struct tofu_fabric *fabric, uint32_t node,
			 struct tofu_clock_report *report)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	tofu_peer_get(shm, node);
	read_report(shm, tofu_shm_clock_of(shm, node),
		    tofu_clock_state(shm, node), report);
}

static void observe_clock(struct tofu_fabric *fabric, uint32_t node,
			  struct tofu_clock_report *report)
{
	const struct tofu_shm *shm = tofu_shm_of(fabric);
	const uint64_t life = tofu_load(&tofu_shm_node_of(shm, node)->life);
	struct tofu_shm_clock clock;
	uint64_t state = 0;

	/* Clocks are reserved in virtual time only. */
	tofu_shm_peek(shm, tofu_shm_clock_offset(fabric->nodes, node), &clock,
		      sizeof(clock));
	/* The words may be those of an earlier life. */
	if (life & TOFU_SHM_LIFE_UP)
		state = state_of(&clock, tofu_shm_gen(life));
	read_report(shm, &clock, state, report);
}

/* From here on the others keep their entries until this node has read them. */
static void begin_reading(struct tofu_shm *shm)
{
	uint64_t *row = row_at(shm, shm->fabric.self);

	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		const uint64_t tail = tofu_load(
			&tofu_shm_clock_of(shm, n)->words.tail);

		shm->fabric.clocks[n].read = tail;
		shm->shown[n] = tail;
		tofu_store(&row[n], tail);
	}
}

/* Release: a node that sees the state sees all writes before it. */
static void set_state(struct tofu_shm *shm, uint64_t state)
{
	tofu_store_release(&own_clock(shm)->state,
			   TOFU_SET(TOFU_SHM_CLOCK_STATE, state) |
				   TOFU_SET(TOFU_SHM_CLOCK_GEN, shm->gen));
}

static void clock_announce(struct tofu_fabric *fabric,
			   enum tofu_clock_state state, uint64_t now,
			   uint64_t promise)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_shm_clock *own = own_clock(shm);

	tofu_store(&own->words.counted, 0);
	tofu_store(&own->words.promise, promise);
	tofu_store(&own->words.start, shm->log_tail);
	tofu_store(&own->now, now);
	begin_reading(shm);
	set_state(shm, state == TOFU_CLOCK_JOINED ? TOFU_SHM_CLOCK_JOINED :
						    TOFU_SHM_CLOCK_READY);
	/* All later writes come after the state. */
	tofu_fence_full();
}

static void clock_joined(struct tofu_fabric *fabric)
{
	set_state(tofu_shm_of(fabric), TOFU_SHM_CLOCK_JOINED);
}

static bool clock_enter(struct tofu_fabric *fabric, uint32_t node)
{
	const struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_fabric_clock *clock = &fabric->clocks[node];
	uint64_t start;

	if (!tofu_clock_state(shm, node))
		return false;
	start = tofu_load(&clock->words->start);
	/* Entries from before this node came stay skipped. */
	if ((int64_t)(start - clock->read) > 0)
		clock->read = start;
	return true;
}

static void clock_watch(struct tofu_fabric *fabric)
{
	tofu_peer_watch(tofu_shm_of(fabric), false);
}

static void clock_break(struct tofu_fabric *fabric, uint32_t node)
{
	tofu_peer_break(tofu_shm_of(fabric), node);
}

/* ---- Words ---- */

static void clock_wake(struct tofu_fabric *fabric, uint32_t node)
{
	tofu_turn_due(tofu_shm_of(fabric), node);
}

static void clock_publish(struct tofu_fabric *fabric, uint64_t promise,
			  uint64_t counted)
{
	const struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_clock_words *own = &own_clock(shm)->words;

	/* Release: a node that sees the promise sees the log before it. */
	if (tofu_load(&own->promise) != promise)
		tofu_store_release(&own->promise, promise);
	/* Release: a node that sees the count sees the promise before it. */
	if (tofu_load(&own->counted) < counted)
		tofu_store_release(&own->counted, counted);
	tofu_turn_moved(shm);
}

static void clock_show(struct tofu_fabric *fabric, uint64_t now, int waits_for)
{
	struct tofu_shm_clock *own = own_clock(tofu_shm_of(fabric));
	const uint32_t whom = (uint32_t)(waits_for + 1);

	if (tofu_load(&own->now) != now)
		tofu_store(&own->now, now);
	if (tofu_load(&own->waits_for) != whom)
		tofu_store(&own->waits_for, whom);
}

bool tofu_clock_news(const struct tofu_shm *shm)
{
	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		const struct tofu_fabric_clock *clock = &shm->fabric.clocks[n];

		if (n != shm->fabric.self &&
		    tofu_load(&clock->words->tail) != clock->read &&
		    tofu_clock_state(shm, n))
			return true;
	}
	return false;
}

/* ---- Logs ---- */

static bool log_room(struct tofu_fabric *fabric, uint64_t entries)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	if (shm->log_room - shm->log_tail >= entries)
		return true;
	shm->log_room = shm->log_tail + TOFU_SHM_LOG;
	for (uint32_t n = 0; n < fabric->nodes; n++) {
		uint64_t read, unread;

		if (n == fabric->self || !tofu_clock_state(shm, n))
			continue;
		/* Acquire: the reader copied the entries before it moved on. */
		read = tofu_load_acquire(&row_at(shm, n)[fabric->self]);
		unread = shm->log_tail - read;
		if (unread > TOFU_SHM_LOG)
			unread = TOFU_SHM_LOG;
		if (shm->log_room - shm->log_tail > TOFU_SHM_LOG - unread)
			shm->log_room = shm->log_tail + TOFU_SHM_LOG - unread;
	}
	return shm->log_room - shm->log_tail >= entries;
}

static uint64_t log_append(struct tofu_fabric *fabric,
			   const struct tofu_log_entry *entry)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	const uint64_t number = shm->log_tail++;

	log_at(shm, fabric->self)[number % TOFU_SHM_LOG] = *entry;
	shm->entry = (uint16_t)shm->log_tail;
	/* Release: a node that sees the tail sees the entry and the record. */
	tofu_store_release(&own_clock(shm)->words.tail, shm->log_tail);
	if (entry->dst != fabric->self)
		tofu_turn_due(shm, entry->dst);
	return number;
}

/* Publish the position now and then, which is enough for the log's node. */
static void show_read(struct tofu_shm *shm, uint32_t node)
{
	const uint64_t read = shm->fabric.clocks[node].read;

	if (read - shm->shown[node] < TOFU_SHM_LOG / 4)
		return;
	shm->shown[node] = read;
	tofu_store_release(&row_at(shm, shm->fabric.self)[node], read);
}

static bool log_read(struct tofu_fabric *fabric, uint32_t node,
		     struct tofu_log_entry *entry)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_fabric_clock *clock = &fabric->clocks[node];
	/* Acquire: entries before the tail, and their records, are visible. */
	const uint64_t tail = tofu_load_acquire(&clock->words->tail);

	if (tail == clock->read || shm->peers[node].broken)
		return false;
	if (tail - clock->read > TOFU_SHM_LOG) {
		tofu_peer_break(shm, node);
		return false;
	}
	/* A private copy, since the log's node can still write. */
	tofu_copy_once(entry, &log_at(shm, node)[clock->read % TOFU_SHM_LOG],
		       sizeof(*entry));
	clock->read++;
	show_read(shm, node);
	return true;
}

const struct tofu_fabric_clock_ops tofu_shm_clock_ops = {
	.create = clock_create,
	.report = clock_report,
	.announce = clock_announce,
	.joined = clock_joined,
	.enter = clock_enter,
	.meet = tofu_shm_meet,
	.watch = clock_watch,
	.break_peer = clock_break,
	.publish = clock_publish,
	.show = clock_show,
	.sleep = tofu_turn_sleep,
	.pass = tofu_turn_pass,
	.wake = clock_wake,
	.log_room = log_room,
	.log_append = log_append,
	.log_read = log_read,
	.take = tofu_shm_take,
};

const struct tofu_fabric_clock_ops tofu_shm_observer_clock_ops = {
	.report = observe_clock,
};
