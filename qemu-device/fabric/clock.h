/* SPDX-License-Identifier: MIT */
/*
 * Virtual time on a fabric: a few words that each node publishes, a log of the
 * packets that it puts into the network, and a way to sleep until another's
 * words have moved. What the words mean, and what follows from them, is said in
 * node/clock.h; nothing here knows it.
 *
 * A node reads the words of all others again and again, so they are memory: a
 * transport between hosts keeps copies of them. It writes its own by a call.
 *
 * A reader takes @counted, then @promise, then @tail. A writer publishes in the
 * opposite order: whoever sees a promise sees the log that goes with it, and
 * whoever sees a count sees the promise that goes with that.
 */
#ifndef FABRIC_CLOCK_H
#define FABRIC_CLOCK_H

#include "fabric/fabric.h"

/**
 * struct tofu_clock_words - what a node says
 * @promise: no packet of the node enters the network before that, as far as
 *           those are concerned that it knows of; ns of common time
 * @counted: it knows of all packets before that; never goes back
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
 * struct tofu_log_entry - of a log: a packet of the log's node
 * @time:    when it enters the first link
 * @tid:     of the packet, as its @type, @path, @payload
 * @dst:     node
 * @tni, @cq: engine and queue that sent it
 *
 * The packet itself goes to @dst only.
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
	uint8_t reserved[4];
};
TOFU_ASSERT_SIZE(struct tofu_log_entry, 32);

/**
 * struct tofu_fabric_clock - a node's clock and log as this node reads them
 * @words: the node's
 * @read:  entries of its log that were read here
 */
struct tofu_fabric_clock {
	const struct tofu_clock_words *words;
	uint64_t read;
};

/* TOFU_CLOCK_READY: it has come, and waits for others to come */
enum tofu_clock_state {
	TOFU_CLOCK_APART,
	TOFU_CLOCK_READY,
	TOFU_CLOCK_JOINED,
};

/**
 * struct tofu_clock_report - how far a node has come
 * @now:       common time as it was last shown, ns; of a node that is not apart
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
 * Each is what the function of that name below does.
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
		      uint64_t promise, uint64_t counted);
	void (*wake)(struct tofu_fabric *fabric, uint32_t node);

	bool (*log_room)(struct tofu_fabric *fabric);
	uint64_t (*log_append)(struct tofu_fabric *fabric,
			       const struct tofu_log_entry *entry);
	bool (*log_read)(struct tofu_fabric *fabric, uint32_t node,
			 struct tofu_log_entry *entry);
	bool (*take)(struct tofu_fabric *fabric, uint32_t node,
		     enum tofu_class class_, uint64_t number,
		     const struct tofu_fabric_handler *handler, void *ctx);
};

/* ---- Coming into common time ---- */

/**
 * tofu_fabric_clock_create - this node is one in virtual time
 *
 * Once, before anything is sent. From now on packets are not told to their
 * receiver by tofu_fabric_poll(), but by the log, and can be of
 * TOFU_PKT_MTU_MAX bytes; fabric->clocks are there.
 *
 * Return: 0 or a negative errno.
 */
static inline int tofu_fabric_clock_create(struct tofu_fabric *fabric)
{
	return fabric->ops->clock->create(fabric);
}

/**
 * tofu_fabric_clock_report - how far a node has come, in the life that it has
 *
 * For nodes that join, and for people. A node that can be connected to is.
 */
static inline void tofu_fabric_clock_report(struct tofu_fabric *fabric,
					    uint32_t node,
					    struct tofu_clock_report *report)
{
	fabric->ops->clock->report(fabric, node, report);
}

/**
 * tofu_fabric_clock_announce - say that this node has come
 * @state:   TOFU_CLOCK_READY or TOFU_CLOCK_JOINED
 * @now:     the common time at which it begins
 * @promise: its first one
 *
 * What others append to their logs from here on is kept until it is read. A
 * node that sees the state sees the words.
 */
static inline void tofu_fabric_clock_announce(struct tofu_fabric *fabric,
					      enum tofu_clock_state state,
					      uint64_t now, uint64_t promise)
{
	fabric->ops->clock->announce(fabric, state, now, promise);
}

/* tofu_fabric_clock_joined - this node has seen that all have come */
static inline void tofu_fabric_clock_joined(struct tofu_fabric *fabric)
{
	fabric->ops->clock->joined(fabric);
}

/**
 * tofu_fabric_clock_enter - look whether a node has come
 *
 * Return: true: its words are valid, and its log is read from where this life
 * of it began.
 */
static inline bool tofu_fabric_clock_enter(struct tofu_fabric *fabric,
					   uint32_t node)
{
	return fabric->ops->clock->enter(fabric, node);
}

/**
 * tofu_fabric_clock_meet - in virtual time, instead of tofu_fabric_poll()
 *
 * Takes no packet. Meets peers that want to be met, and tells @handler of those
 * that are gone: before they are forgotten, so that it can still take what they
 * had sent.
 */
static inline void
tofu_fabric_clock_meet(struct tofu_fabric *fabric,
		       const struct tofu_fabric_handler *handler, void *ctx)
{
	fabric->ops->clock->meet(fabric, handler, ctx);
}

/* tofu_fabric_clock_watch - note which peers have ended; the next meet tells */
static inline void tofu_fabric_clock_watch(struct tofu_fabric *fabric)
{
	fabric->ops->clock->watch(fabric);
}

/* tofu_fabric_clock_break - a peer has logged nonsense: it counts as gone */
static inline void tofu_fabric_clock_break(struct tofu_fabric *fabric,
					   uint32_t node)
{
	fabric->ops->clock->break_peer(fabric, node);
}

/* ---- Words ---- */

/**
 * tofu_fabric_clock_publish - this node's words
 * @counted: less than it was: it is not published
 *
 * Wakes the nodes that sleep until the words are what they are now.
 */
static inline void tofu_fabric_clock_publish(struct tofu_fabric *fabric,
					     uint64_t promise, uint64_t counted)
{
	fabric->ops->clock->publish(fabric, promise, counted);
}

/* tofu_fabric_clock_show - for people; @waits_for: a node, or -1 */
static inline void tofu_fabric_clock_show(struct tofu_fabric *fabric,
					  uint64_t now, int waits_for)
{
	fabric->ops->clock->show(fabric, now, waits_for);
}

/**
 * tofu_fabric_clock_sleep - until a node's words are so far
 * @promise, @counted: one of them is enough
 *
 * Returns earlier when a log has something to be read, when this node is woken,
 * and after a millisecond: the other may not see that somebody sleeps.
 */
static inline void tofu_fabric_clock_sleep(struct tofu_fabric *fabric,
					   uint32_t node, uint64_t promise,
					   uint64_t counted)
{
	fabric->ops->clock->sleep(fabric, node, promise, counted);
}

/* tofu_fabric_clock_wake - a node that sleeps in virtual time */
static inline void tofu_fabric_clock_wake(struct tofu_fabric *fabric,
					  uint32_t node)
{
	fabric->ops->clock->wake(fabric, node);
}

/* ---- Logs ---- */

/* tofu_fabric_log_room - whether this node's log takes another entry */
static inline bool tofu_fabric_log_room(struct tofu_fabric *fabric)
{
	return fabric->ops->clock->log_room(fabric);
}

/**
 * tofu_fabric_log_append - to this node's log, which has room
 *
 * Its packet was committed just before. Wakes the receiver.
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
 * To be called while @read of the node's clock is not what @tail was. The entry
 * is a copy, as its node wrote it.
 *
 * Return: false: there is none, or none that can be believed.
 */
static inline bool tofu_fabric_log_read(struct tofu_fabric *fabric,
					uint32_t node,
					struct tofu_log_entry *entry)
{
	return fabric->ops->clock->log_read(fabric, node, entry);
}

/**
 * tofu_fabric_log_take - the packet that entry @number of a log is about
 *
 * Return: whether it was there and @handler has got it. If not, the peer is
 * broken.
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
