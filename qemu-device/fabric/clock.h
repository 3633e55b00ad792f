/* SPDX-License-Identifier: MIT */
/*
 * Virtual time on a fabric: a few words that each node publishes, a log of the
 * packets that it puts into the network, and a way to sleep until another
 * node's words have moved. node/clock.h defines what the words mean and what
 * follows from them.
 *
 * A node reads the words of all others very often, so they are memory; a
 * transport between hosts would keep copies. It writes its own words by a call.
 *
 * A reader loads @counted, then @promise, then @tail. A writer publishes in the
 * opposite order: a node that sees a promise sees the log behind it, and a node
 * that sees a count sees the promise behind it.
 */
#ifndef FABRIC_CLOCK_H
#define FABRIC_CLOCK_H

#include "fabric/fabric.h"

/**
 * struct tofu_clock_words - the words of a node; times are ns of common time
 * @promise: the node puts no packet into the network before that, as far as it
 *           knows
 * @counted: the node knows all packets before that; never decreases
 * @tail:    entries of its log, free-running
 * @start:   @tail when this life of the node began
 */
struct tofu_clock_words {
	uint64_t promise;
	uint64_t counted;
	uint64_t tail;
	uint64_t start;
};

/**
 * struct tofu_log_entry - an entry of a log: a packet of the log's node
 * @time:    when it enters the first link
 * @tid, @type, @path, @payload: of the packet
 * @dst:     node
 * @tni, @cq: engine and queue that sent it
 * @taker:   engine of @dst that takes it
 *
 * Only @dst gets the packet itself.
 */
struct tofu_log_entry {
	uint64_t time;
	uint64_t tid;
	uint32_t dst;
	uint32_t payload;
	uint8_t type;
	uint8_t path;
	uint8_t tni;
	uint8_t cq;
	uint8_t taker;
	uint8_t reserved[3];
};
TOFU_ASSERT_SIZE(struct tofu_log_entry, 32);

/**
 * struct tofu_fabric_clock - another node's clock and log, for reading
 * @words: that node's words
 * @read:  entries of its log that this node has read
 */
struct tofu_fabric_clock {
	const struct tofu_clock_words *words;
	uint64_t read;
};

/* TOFU_CLOCK_READY: the node has come and waits for others */
enum tofu_clock_state {
	TOFU_CLOCK_APART,
	TOFU_CLOCK_READY,
	TOFU_CLOCK_JOINED,
};

/**
 * struct tofu_clock_report - progress of a node in common time
 * @now:       last shown common time, ns; unless @state is APART
 * @waits_for: the node that it waits for, or -1
 */
struct tofu_clock_report {
	enum tofu_clock_state state;
	uint64_t now;
	int waits_for;
};

/**
 * struct tofu_fabric_clock_ops - virtual time of a transport
 *
 * The function of the same name below documents each.
 */
struct tofu_fabric_clock_ops {
	int (*create)(struct tofu_fabric *fabric);
	void (*report)(struct tofu_fabric *fabric, uint32_t node,
		       struct tofu_clock_report *report);
	void (*announce)(struct tofu_fabric *fabric,
			 enum tofu_clock_state state, uint64_t now,
			 uint64_t promise);
	void (*joined)(struct tofu_fabric *fabric);
	bool (*enter)(struct tofu_fabric *fabric, uint32_t node);
	void (*meet)(struct tofu_fabric *fabric,
		     const struct tofu_fabric_handler *handler, void *ctx);
	void (*watch)(struct tofu_fabric *fabric);
	void (*break_peer)(struct tofu_fabric *fabric, uint32_t node);

	void (*publish)(struct tofu_fabric *fabric, uint64_t promise,
			uint64_t counted);
	void (*show)(struct tofu_fabric *fabric, uint64_t now, int waits_for);
	void (*sleep)(struct tofu_fabric *fabric, uint32_t node,
		      uint64_t promise, uint64_t counted, bool crowd);
	void (*pass)(struct tofu_fabric *fabric, bool leaves);
	void (*wake)(struct tofu_fabric *fabric, uint32_t node);

	bool (*log_room)(struct tofu_fabric *fabric, uint64_t entries);
	uint64_t (*log_append)(struct tofu_fabric *fabric,
			       const struct tofu_log_entry *entry);
	bool (*log_read)(struct tofu_fabric *fabric, uint32_t node,
			 struct tofu_log_entry *entry);
	bool (*take)(struct tofu_fabric *fabric, uint32_t node,
		     enum tofu_class class_, uint64_t number,
		     const struct tofu_fabric_handler *handler, void *ctx);
};

/* ---- Entering common time ---- */

/**
 * tofu_fabric_clock_create - switch this node to virtual time
 *
 * Call it once, before anything is sent. From then on receivers learn of
 * packets by the log, not by tofu_fabric_poll(); packets can carry
 * TOFU_PKT_MTU_MAX bytes; and fabric->clocks is valid.
 *
 * Return: 0 or a negative errno, -ENOSPC where the filesystem of the shared file
 * is full.
 */
static inline int tofu_fabric_clock_create(struct tofu_fabric *fabric)
{
	return fabric->ops->clock->create(fabric);
}

/**
 * tofu_fabric_clock_report - progress of a node in its present life
 *
 * For nodes that join, and for tools. Connects to the node if possible.
 */
static inline void tofu_fabric_clock_report(struct tofu_fabric *fabric,
					    uint32_t node,
					    struct tofu_clock_report *report)
{
	fabric->ops->clock->report(fabric, node, report);
}

/**
 * tofu_fabric_clock_announce - announce that this node has come
 * @state:   TOFU_CLOCK_READY or TOFU_CLOCK_JOINED
 * @now:     the common time at which it begins
 * @promise: its first promise
 *
 * From then on the others keep entries of their logs until this node has read
 * them. A node that sees the state sees the words.
 */
static inline void tofu_fabric_clock_announce(struct tofu_fabric *fabric,
					      enum tofu_clock_state state,
					      uint64_t now, uint64_t promise)
{
	fabric->ops->clock->announce(fabric, state, now, promise);
}

/* tofu_fabric_clock_joined - announce that this node has seen all come */
static inline void tofu_fabric_clock_joined(struct tofu_fabric *fabric)
{
	fabric->ops->clock->joined(fabric);
}

/**
 * tofu_fabric_clock_enter - check whether a node has come
 *
 * Return: true where it has: its words are valid, and reading of its log begins
 * with its present life.
 */
static inline bool tofu_fabric_clock_enter(struct tofu_fabric *fabric,
					   uint32_t node)
{
	return fabric->ops->clock->enter(fabric, node);
}

/**
 * tofu_fabric_clock_meet - replaces tofu_fabric_poll() in virtual time
 *
 * Takes no packets. Connects to peers that have connected to this node, and
 * reports those that are gone to @handler before it forgets them, so that their
 * packets can still be taken.
 */
static inline void
tofu_fabric_clock_meet(struct tofu_fabric *fabric,
		       const struct tofu_fabric_handler *handler, void *ctx)
{
	fabric->ops->clock->meet(fabric, handler, ctx);
}

/* tofu_fabric_clock_watch - note which peers have ended, for the next meet */
static inline void tofu_fabric_clock_watch(struct tofu_fabric *fabric)
{
	fabric->ops->clock->watch(fabric);
}

/* tofu_fabric_clock_break - count a peer with an invalid log as gone */
static inline void tofu_fabric_clock_break(struct tofu_fabric *fabric,
					   uint32_t node)
{
	fabric->ops->clock->break_peer(fabric, node);
}

/* ---- Words ---- */

/**
 * tofu_fabric_clock_publish - publish this node's words
 * @counted: not published if less than before
 *
 * Wakes the nodes that sleep until the words reach these values.
 */
static inline void tofu_fabric_clock_publish(struct tofu_fabric *fabric,
					     uint64_t promise, uint64_t counted)
{
	fabric->ops->clock->publish(fabric, promise, counted);
}

/* tofu_fabric_clock_show - show tools the time; @waits_for: a node, or -1 */
static inline void tofu_fabric_clock_show(struct tofu_fabric *fabric,
					  uint64_t now, int waits_for)
{
	fabric->ops->clock->show(fabric, now, waits_for);
}

/**
 * tofu_fabric_clock_sleep - sleep until a node's words have reached a value
 * @promise, @counted: reaching one of them is enough
 * @crowd: nodes are more than processors: the calling thread keeps to one from
 *         then on, and takes turns with the other nodes there
 *
 * Returns earlier when a log has an entry to read, when this node is woken, and
 * after some milliseconds, since others may miss that this one sleeps.
 */
static inline void tofu_fabric_clock_sleep(struct tofu_fabric *fabric,
					   uint32_t node, uint64_t promise,
					   uint64_t counted, bool crowd)
{
	fabric->ops->clock->sleep(fabric, node, promise, counted, crowd);
}

/**
 * tofu_fabric_clock_pass - wake the next node of this processor
 * @leaves: this node takes no turns until it sleeps in a crowd again
 *
 * For a node that waits for something else than words.
 */
static inline void tofu_fabric_clock_pass(struct tofu_fabric *fabric,
					  bool leaves)
{
	fabric->ops->clock->pass(fabric, leaves);
}

/* tofu_fabric_clock_wake - wake a node from tofu_fabric_clock_sleep() */
static inline void tofu_fabric_clock_wake(struct tofu_fabric *fabric,
					  uint32_t node)
{
	fabric->ops->clock->wake(fabric, node);
}

/* ---- Logs ---- */

/* tofu_fabric_log_room - whether this node's log takes that many more entries */
static inline bool tofu_fabric_log_room(struct tofu_fabric *fabric,
					uint64_t entries)
{
	return fabric->ops->clock->log_room(fabric, entries);
}

/**
 * tofu_fabric_log_append - append to this node's log, which has room
 *
 * The entry's packet was committed just before. Wakes the receiver.
 *
 * Return: the number of the entry.
 */
static inline uint64_t
tofu_fabric_log_append(struct tofu_fabric *fabric,
		       const struct tofu_log_entry *entry)
{
	return fabric->ops->clock->log_append(fabric, entry);
}

/**
 * tofu_fabric_log_read - the next entry of another node's log
 *
 * Call it while @read of the node's clock has not reached its @tail. The entry
 * is a copy, unchecked.
 *
 * Return: false where there is no entry, or the log's position is invalid.
 */
static inline bool tofu_fabric_log_read(struct tofu_fabric *fabric,
					uint32_t node,
					struct tofu_log_entry *entry)
{
	return fabric->ops->clock->log_read(fabric, node, entry);
}

/**
 * tofu_fabric_log_take - take the packet of entry @number of a log
 *
 * Return: true when @handler has got the packet; false where it was missing,
 * and the peer counts as gone.
 */
static inline bool
tofu_fabric_log_take(struct tofu_fabric *fabric, uint32_t node,
		     enum tofu_class class_, uint64_t number,
		     const struct tofu_fabric_handler *handler, void *ctx)
{
	return fabric->ops->clock->take(fabric, node, class_, number, handler,
					ctx);
}

#endif /* FABRIC_CLOCK_H */
