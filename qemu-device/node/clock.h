/* SPDX-License-Identifier: MIT */
/*
 * Common time: conservative synchronisation of the nodes of a machine. It
 * computes how far each node may go before it knows what the others send;
 * nothing is ever rolled back. The fabric has the words and the logs
 * (fabric/clock.h); this file defines what they mean.
 *
 * Every node has a log of the packets that it puts into the network, each with
 * the time when it enters the first link, and two words, which do the work of
 * null messages:
 *
 *	promise C	neither this node's processor nor any packet that this
 *			node knows of makes it put a packet into the network
 *			before C. A processor that is halted acts when its
 *			timer is due; of one that runs it can be known that
 *			it does nothing before some time unless a packet comes
 *	counted K	this node knows all packets of all nodes before K
 *
 * C can decrease, when the node learns of a packet that it has to answer. K
 * never decreases. "Answer" stands for all that follows from a packet at its
 * receiver: a response, the next command that has room now, and what software
 * stores that it wakes. How long that takes at least depends on the packet
 * (icc_answer_ns()); what is said of packets that the receiver may not know is
 * true of all (tofu_preset_answer_ns()).
 *
 * From them a node computes its bound S, a lower bound on time stamps: no
 * packet that it does not know of enters the network before S. S is the least
 * of
 *
 *	C of each other node
 *	t + flight + answer for each known packet that enters at t, goes to
 *	another node, and may not be counted there: t is not before that
 *	node's K
 *
 * Then K = min(S, C + flight + answer). S covers what the others do if this
 * node sends nothing more. Their answers to packets that it still sends come no
 * earlier than C + flight + answer.
 *
 * Proof of S: of the packets that are unknown when all logs have been read, let
 * p be the one with the least time, and Y its sender. Y's words were read
 * before Y's log, so Y wrote the entry of p after them. If p is before Y's
 * promise, its cause is a packet q to Y that Y did not know when it promised,
 * and p is at least flight + answer behind q. So q is known here, because p is
 * the least unknown packet; and q is not before K of Y, because Y did not know
 * it. So q is among the packets above, or this node has not sent it yet. In
 * that case S is computed again when q is sent; until then neither K nor the
 * network is advanced beyond what this node's promise allows.
 *
 * Both classes count: a response can also wake a sleeping processor, or let a
 * waiting command continue.
 *
 * The two words are separate: a reader loads K first, then C; a writer stores C
 * first. A C that is newer than its K takes account of all that K covers, since
 * K never decreases.
 *
 * There is no deadlock. Let Z have the least C of all nodes, and let nothing
 * move any more. Where a packet that enters at t is not counted by its
 * receiver, the receiver's bound is beyond t, or is held by a C that is not
 * beyond t either. So S >= C of Z at all nodes. Then whatever limits Z's
 * promise (its processor, a timer, a packet that has been taken) is before
 * S + flight, and Z handles it. A packet in the network is no limit. One on its
 * way, or in another router, comes to Z a hop's time after S at least, and is
 * received later. One that waits in Z's router, for its engine or behind others,
 * leaves it behind Z's promise, up to which Z's own router is computed.
 */
#ifndef NODE_CLOCK_H
#define NODE_CLOCK_H

#include "fabric/clock.h"
#include "net/heap.h"
#include "net/machine.h"

/* The largest common time: a hundred days. */
#define TOFU_CLOCK_MAX (1ULL << 53)

/**
 * struct tofu_clock_ops - callbacks of a clock
 * @entry: another node @src puts a packet into the network; @number is the
 *         number of the entry in its log. All fields have been checked, but
 *         @entry->time can be any time before TOFU_CLOCK_MAX.
 */
struct tofu_clock_ops {
	void (*entry)(void *ctx, uint32_t src, uint64_t number,
		      const struct tofu_log_entry *entry);
};

/**
 * struct tofu_clock_peer - the clock of another node, as last read
 * @in:      it is in common time
 * @promise, @counted: its C and K
 * @uncounted: times of packets to it that it may not have counted
 */
struct tofu_clock_peer {
	bool in;
	uint64_t promise;
	uint64_t counted;
	struct tofu_heap uncounted;
};

/**
 * struct tofu_clock
 * @reaction: flight + answer
 * @bound:  S
 * @limit:  the node that determines S, or -1; before all nodes have come: the
 *          first that is missing
 * @held:   if @limit determines S not by its C but by a packet that it has not
 *          counted: the packet's time; else UINT64_MAX
 * @ready:  this node has announced itself
 * @late:   others had begun before that
 * @joined: this node is in common time
 */
struct tofu_clock {
	struct tofu_fabric *fabric;
	const struct tofu_clock_ops *ops;
	void *ctx;
	const struct tofu_preset *machine;
	uint64_t reaction;
	uint64_t bound;
	int limit;
	uint64_t held;
	bool ready;
	bool late;
	bool joined;
	struct tofu_clock_peer *peers;
};

/* tofu_clock_create - a clock that has not joined; 0 or a negative errno */
int tofu_clock_create(struct tofu_fabric *fabric,
		      const struct tofu_preset *machine,
		      const struct tofu_clock_ops *ops, void *ctx,
		      struct tofu_clock *clock);
void tofu_clock_destroy(struct tofu_clock *clock);

/**
 * tofu_clock_join - enter common time
 * @start: set on success: the time to begin at
 *
 * Return: 0, or -EAGAIN: others are missing, clock->limit is one of them.
 */
int tofu_clock_join(struct tofu_clock *clock, uint64_t *start);

/* tofu_clock_in - whether packets can be sent to @node */
static inline bool tofu_clock_in(const struct tofu_clock *clock, uint32_t node)
{
	return node < clock->fabric->nodes &&
	       (node == clock->fabric->self || clock->peers[node].in);
}

/* tofu_clock_look - read the others' words and logs, set the bound */
void tofu_clock_look(struct tofu_clock *clock);

/* tofu_clock_leave - a peer is gone: read its log, wait for it no more */
void tofu_clock_leave(struct tofu_clock *clock, uint32_t node);

/* tofu_clock_append - append to the log, which has room; the entry's number */
uint64_t tofu_clock_append(struct tofu_clock *clock,
			   const struct tofu_log_entry *entry);

/* tofu_clock_publish - publish the promise, and the count that follows */
void tofu_clock_publish(struct tofu_clock *clock, uint64_t promise);

/* tofu_clock_show - show people the time, and whether the node waits */
void tofu_clock_show(struct tofu_clock *clock, uint64_t now, bool waits);

/**
 * tofu_clock_sleep - sleep until the bound may have reached @bound
 * @crowd: nodes are more than processors, and take turns
 *
 * Sleeps for some milliseconds at most, see tofu_fabric_clock_sleep().
 */
void tofu_clock_sleep(struct tofu_clock *clock, uint64_t bound, bool crowd);

/* tofu_clock_stir - wake the node that has to count a packet at @held */
void tofu_clock_stir(struct tofu_clock *clock);

static inline uint64_t tofu_clock_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif /* NODE_CLOCK_H */
