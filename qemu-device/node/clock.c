/* SPDX-License-Identifier: MIT */
/*
 * The words and logs of common time in the shared file.
 */
#define _GNU_SOURCE
#include "node/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A node that comes late begins so far in the others' future. */
#define LATE_NS 10000000

static uint64_t state_word(const struct tofu_clock *clock, uint64_t state)
{
	return TOFU_SET(TOFU_SHM_CLOCK_STATE, state) |
	       TOFU_SET(TOFU_SHM_CLOCK_GEN, clock->fabric->gen);
}

static struct tofu_shm_entry *log_at(const struct tofu_fabric *fabric,
				     uint32_t node)
{
	return (struct tofu_shm_entry *)(fabric->base +
					 tofu_shm_log_offset(fabric->nodes,
							     node));
}

static uint64_t *row_at(const struct tofu_fabric *fabric, uint32_t reader)
{
	return (uint64_t *)(fabric->base +
			    tofu_shm_read_offset(fabric->nodes, reader));
}

int tofu_clock_create(struct tofu_fabric *fabric,
		      const struct icc_machine *machine,
		      const struct tofu_clock_ops *ops, void *ctx,
		      struct tofu_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->peers = calloc(fabric->nodes, sizeof(*clock->peers));
	if (!clock->peers)
		return -ENOMEM;
	clock->fabric = fabric;
	clock->machine = machine;
	clock->ops = ops;
	clock->ctx = ctx;
	clock->own = tofu_clock_at(fabric, fabric->self);
	clock->row = row_at(fabric, fabric->self);
	clock->log = log_at(fabric, fabric->self);
	clock->tail = tofu_load(&clock->own->tail);
	clock->room = clock->tail;
	clock->reaction =
		icc_machine_flight_ns(machine) + icc_machine_answer_ns(machine);
	clock->limit = -1;
	tofu_store(&clock->own->state, 0);
	tofu_store(&clock->own->now, 0);
	tofu_store(&clock->own->waits_for, 0);
	tofu_store(&clock->own->asleep, 0);
	return 0;
}

void tofu_clock_destroy(struct tofu_clock *clock)
{
	for (uint32_t n = 0; n < clock->fabric->nodes; n++)
		tofu_heap_free(&clock->peers[n].uncounted);
	free(clock->peers);
}

/* ---- Who is in common time ---- */

/* How far the node with that number, in the life that is known here, has come.
 */
static uint64_t peer_state(const struct tofu_clock *clock, uint32_t node)
{
	const struct tofu_peer *peer = &clock->fabric->peers[node];
	uint64_t word;

	if (!peer->life || !tofu_peer_usable(clock->fabric, node))
		return 0;
	word = tofu_load_acquire(&tofu_clock_at(clock->fabric, node)->state);
	if (TOFU_GET(word, TOFU_SHM_CLOCK_GEN) != tofu_shm_gen(peer->life))
		return 0;
	return TOFU_GET(word, TOFU_SHM_CLOCK_STATE);
}

/* A node that was not in common time may be now. */
static bool enter(struct tofu_clock *clock, uint32_t node)
{
	struct tofu_clock_peer *peer = &clock->peers[node];
	uint64_t start;

	if (!peer_state(clock, node))
		return false;
	start = tofu_load(&tofu_clock_at(clock->fabric, node)->start);
	/* Who was there before this node has entries that it does not get. */
	if ((int64_t)(start - peer->read) > 0)
		peer->read = start;
	peer->counted = 0;
	peer->uncounted.count = 0;
	peer->in = true;
	return true;
}

static void connect_all(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;

	for (uint32_t n = 0; n < fabric->nodes; n++)
		tofu_peer_get(fabric, n);
}

/* From here on the others keep what they write until it is read. */
static void begin_reading(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;

	for (uint32_t n = 0; n < fabric->nodes; n++) {
		struct tofu_clock_peer *peer = &clock->peers[n];

		peer->read = tofu_load(&tofu_clock_at(fabric, n)->tail);
		peer->shown = peer->read;
		tofu_store(&clock->row[n], peer->read);
	}
}

/* The time to begin at, where others have begun; 0: nobody has. */
static uint64_t late_start(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;
	uint64_t start = 0;

	for (uint32_t n = 0; n < fabric->nodes; n++) {
		uint64_t now;

		if (n == fabric->self ||
		    peer_state(clock, n) != TOFU_SHM_CLOCK_JOINED)
			continue;
		now = tofu_load(&tofu_clock_at(fabric, n)->now);
		if (now < TOFU_CLOCK_MAX && now + LATE_NS > start)
			start = now + LATE_NS;
	}
	return start;
}

/* Whoever sees the state sees what stands before it. */
static void announce(struct tofu_clock *clock, uint64_t start, uint64_t state)
{
	tofu_store(&clock->own->counted, 0);
	tofu_store(&clock->own->promise,
		   start + icc_machine_store_ns(clock->machine));
	tofu_store(&clock->own->start, clock->tail);
	tofu_store(&clock->own->now, start);
	begin_reading(clock);
	tofu_store_release(&clock->own->state, state_word(clock, state));
	/* What is written behind the back of the state is written after it. */
	tofu_fence_full();
}

/*
 * The others may have gone on before they saw this node: it begins again
 * where they are, until they have not come further meanwhile.
 */
static uint64_t join_late(struct tofu_clock *clock)
{
	uint64_t start, after;

	do {
		start = late_start(clock);
		announce(clock, start, TOFU_SHM_CLOCK_JOINED);
		after = late_start(clock);
	} while (after > start + LATE_NS / 2);
	return start;
}

/* Whether all have come, or others have seen that they had. */
static bool all_ready(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;
	bool all = true, begun = false;

	for (uint32_t n = fabric->nodes; n-- > 0;) {
		uint64_t state;

		if (n == fabric->self)
			continue;
		state = peer_state(clock, n);
		begun |= state == TOFU_SHM_CLOCK_JOINED;
		if (!state) {
			all = false;
			clock->limit = (int)n;
		}
	}
	return all || begun;
}

int tofu_clock_join(struct tofu_clock *clock, uint64_t *start)
{
	connect_all(clock);
	if (!clock->ready) {
		clock->ready = true;
		clock->late = late_start(clock);
		if (!clock->late)
			announce(clock, 0, TOFU_SHM_CLOCK_READY);
	}
	*start = 0;
	if (clock->late)
		*start = join_late(clock);
	else if (!all_ready(clock))
		return -EAGAIN;
	tofu_store_release(&clock->own->state,
			   state_word(clock, TOFU_SHM_CLOCK_JOINED));
	clock->joined = true;
	clock->limit = -1;
	return 0;
}

/* ---- The logs of others ---- */

static bool entry_valid(const struct tofu_clock *clock,
			const struct tofu_shm_entry *entry)
{
	return entry->time < TOFU_CLOCK_MAX &&
	       entry->dst < clock->fabric->nodes &&
	       entry->payload <= clock->fabric->payload_max &&
	       entry->tni < TOFU_TNIS_MAX &&
	       entry->cq < tofu_packet_cqs(entry->type);
}

static void note_uncounted(struct tofu_clock *clock,
			   const struct tofu_shm_entry *entry)
{
	struct tofu_clock_peer *peer = &clock->peers[entry->dst];

	if (entry->dst != clock->fabric->self && peer->in)
		tofu_heap_push(&peer->uncounted, entry->time, 0, NULL);
}

/* The producer only needs to know now and then. */
static void show_read(struct tofu_clock *clock, uint32_t node)
{
	struct tofu_clock_peer *peer = &clock->peers[node];

	if (peer->read - peer->shown < TOFU_SHM_LOG / 4)
		return;
	peer->shown = peer->read;
	tofu_store_release(&clock->row[node], peer->read);
}

static void read_log(struct tofu_clock *clock, uint32_t node)
{
	const struct tofu_shm_clock *line = tofu_clock_at(clock->fabric, node);
	const struct tofu_shm_entry *log = log_at(clock->fabric, node);
	struct tofu_clock_peer *peer = &clock->peers[node];
	/* Acquire: the entries before it, and their records. */
	uint64_t tail = tofu_load_acquire(&line->tail);

	if (tail == peer->read)
		return;
	if (tail - peer->read > TOFU_SHM_LOG) {
		tofu_peer_break(clock->fabric, node);
		return;
	}
	while (peer->read != tail && !clock->fabric->peers[node].broken) {
		struct tofu_shm_entry entry;

		/* A private copy: its owner can still write. */
		memcpy(&entry, &log[peer->read % TOFU_SHM_LOG], sizeof(entry));
		__asm__ volatile("" : : : "memory");
		if (!entry_valid(clock, &entry)) {
			tofu_peer_break(clock->fabric, node);
			break;
		}
		note_uncounted(clock, &entry);
		clock->ops->entry(clock->ctx, node, peer->read, &entry);
		peer->read++;
	}
	show_read(clock, node);
}

/* ---- The bound ---- */

/* What the words of a node, and what it may not have counted, leave. */
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
 * In this order: a packet that is not in the log yet when that is read comes
 * after the words. See clock.h.
 */
static void read_peer(struct tofu_clock *clock, uint32_t node)
{
	const struct tofu_shm_clock *line = tofu_clock_at(clock->fabric, node);
	struct tofu_clock_peer *peer = &clock->peers[node];

	peer->counted = tofu_load_acquire(&line->counted);
	peer->promise = tofu_load_acquire(&line->promise);
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
	/* Only now all entries are known. */
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
	/* What it had sent goes on. */
	if (!clock->fabric->peers[node].broken)
		read_log(clock, node);
	clock->peers[node].in = false;
}

/* ---- Sleeping ---- */

static void wake(struct tofu_clock *clock, uint32_t node)
{
	uint32_t *asleep = &tofu_clock_at(clock->fabric, node)->asleep;

	if (tofu_load(asleep) &&
	    __atomic_exchange_n(asleep, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Those that sleep until this node's words are what they are now. */
static void wake_sleepers(struct tofu_clock *clock, uint64_t promise)
{
	const uint64_t counted = tofu_load(&clock->own->counted);

	for (uint32_t w = 0; w * 64 < clock->fabric->nodes; w++) {
		/* Acquire: who has set its bit has said what it waits for. */
		uint64_t left = tofu_load_acquire(&clock->own->sleepers[w]);

		for (; left; left &= left - 1) {
			const uint32_t node = w * 64 + __builtin_ctzll(left);
			struct tofu_shm_clock *line;

			if (node >= clock->fabric->nodes)
				break;
			line = tofu_clock_at(clock->fabric, node);
			if (promise >= tofu_load(&line->wait_promise) ||
			    counted >= tofu_load(&line->wait_counted))
				wake(clock, node);
		}
	}
}

/* Something to read, that came before anybody could know that it wakes. */
static bool have_news(const struct tofu_clock *clock)
{
	for (uint32_t n = 0; n < clock->fabric->nodes; n++) {
		const struct tofu_clock_peer *peer = &clock->peers[n];

		if (peer->in &&
		    tofu_load(&tofu_clock_at(clock->fabric, n)->tail) !=
			    peer->read)
			return true;
	}
	return false;
}

static void sleep_for(struct tofu_clock *clock, uint32_t node)
{
	static const struct timespec limit = { .tv_nsec = 1000000 };
	struct tofu_shm_clock *other = tofu_clock_at(clock->fabric, node);
	struct tofu_shm_clock *own = clock->own;
	uint64_t *word = &other->sleepers[clock->fabric->self / 64];
	const uint64_t bit = 1ULL << (clock->fabric->self % 64);

	__atomic_store_n(&own->asleep, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	if (tofu_load(&other->promise) < own->wait_promise &&
	    tofu_load(&other->counted) < own->wait_counted && !have_news(clock))
		syscall(SYS_futex, &own->asleep, FUTEX_WAIT, 1, &limit, NULL,
			0);
	tofu_store(&own->asleep, 0);
	__atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST);
}

void tofu_clock_sleep(struct tofu_clock *clock, uint64_t bound)
{
	const bool held = clock->held != UINT64_MAX;

	if (clock->limit < 0)
		return;
	tofu_clock_stir(clock);
	tofu_store(&clock->own->wait_promise, held ? UINT64_MAX : bound);
	tofu_store(&clock->own->wait_counted,
		   held ? clock->held + 1 : UINT64_MAX);
	sleep_for(clock, (uint32_t)clock->limit);
}

void tofu_clock_stir(struct tofu_clock *clock)
{
	if (clock->limit >= 0 && clock->held != UINT64_MAX)
		wake(clock, (uint32_t)clock->limit);
}

/* ---- The own log and words ---- */

bool tofu_clock_has_room(struct tofu_clock *clock)
{
	struct tofu_fabric *fabric = clock->fabric;

	if (clock->tail != clock->room)
		return true;
	clock->room = clock->tail + TOFU_SHM_LOG;
	for (uint32_t n = 0; n < fabric->nodes; n++) {
		uint64_t read, unread;

		if (n == fabric->self || !clock->peers[n].in ||
		    !tofu_peer_usable(fabric, n))
			continue;
		/* Acquire: it has copied what it gives back. */
		read = tofu_load_acquire(&row_at(fabric, n)[fabric->self]);
		unread = clock->tail - read;
		if (unread > TOFU_SHM_LOG)
			unread = TOFU_SHM_LOG;
		if (clock->room - clock->tail > TOFU_SHM_LOG - unread)
			clock->room = clock->tail + TOFU_SHM_LOG - unread;
	}
	return clock->tail != clock->room;
}

uint64_t tofu_clock_append(struct tofu_clock *clock,
			   const struct tofu_shm_entry *entry)
{
	clock->log[clock->tail % TOFU_SHM_LOG] = *entry;
	note_uncounted(clock, entry);
	/* Who sees the tail sees the entry and the record. */
	tofu_store_release(&clock->own->tail, clock->tail + 1);
	if (entry->dst != clock->fabric->self)
		wake(clock, entry->dst);
	return clock->tail++;
}

void tofu_clock_publish(struct tofu_clock *clock, uint64_t promise)
{
	const uint64_t own = tofu_clock_add(promise, clock->reaction);
	const uint64_t counted = own < clock->bound ? own : clock->bound;

	/* Release: who sees the promise sees the log that goes with it. */
	if (tofu_load(&clock->own->promise) != promise)
		tofu_store_release(&clock->own->promise, promise);
	/* And who sees the count sees a promise that has it. */
	if (tofu_load(&clock->own->counted) < counted)
		tofu_store_release(&clock->own->counted, counted);
	wake_sleepers(clock, promise);
}

void tofu_clock_show(struct tofu_clock *clock, uint64_t now, bool waits)
{
	const uint32_t whom = waits ? (uint32_t)(clock->limit + 1) : 0;

	if (tofu_load(&clock->own->now) != now)
		tofu_store(&clock->own->now, now);
	if (tofu_load(&clock->own->waits_for) != whom)
		tofu_store(&clock->own->waits_for, whom);
}
