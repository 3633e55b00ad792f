/* SPDX-License-Identifier: MIT */
/*
 * Common time: how far each node of a machine may go before it has heard of
 * all that the others do. Conservative: nobody ever takes anything back. Words
 * and logs are the fabric's (fabric/clock.h); what they mean is said here.
 *
 * Every node has a log, of the packets that it puts into
 * the network, each with the time when it enters the first link; and two words:
 *
 *	promise C	of the packets that I know of, my own and others', none
 *			makes me put one into the network before C, nor does my
 *			processor
 *	counted K	I know of all packets, of whomever, before K
 *
 * C can go back: when something is heard of that is to be answered. K does not.
 *
 * From them a node has its bound S: no packet that it does not know of enters
 * the network before S. S is the least of
 *
 *	C of each other node
 *	t + flight + answer of each packet known, entering at t, that another
 *	node gets and may not have counted: that is, t is not before its K
 *
 * And then K = min(S, C + flight + answer): S says what others do when this
 * node sends nothing more, and what they answer to what it still sends is
 * behind that.
 *
 * Why that is so: of the packets that are not known when all logs have been
 * read, let p be the one with the least time, and Y its sender. Its entry was
 * written after Y's words that were read, since those were read before Y's log.
 * If p is before Y's promise, then something that Y did not know at that time
 * led to it: a packet q to Y, and p is flight + answer or more behind it. So q
 * is known here, because p is the least of those that are not; and q is not
 * before K of Y, because Y did not know it. So q is among the packets above;
 * or it is one that this node has not sent yet: then S is computed again when
 * it is sent, and what is done until then (the network advanced, K) does not go
 * beyond what this node's promise says of it.
 *
 * Both classes count: a response, too, can wake a processor that sleeps, or
 * let a command go on that waited.
 *
 * Two words of their own, not one: a reader takes K first and then C, a writer
 * writes C first. A C that is newer than its K has counted what K says, as K
 * never goes back.
 *
 * That all come to a standstill cannot be. Of all C let that of Z be the least.
 * A node that gets a packet not yet counted, at t, has a bound beyond t, or it
 * is held by a C that is not beyond t either: so all have S >= C of Z, when
 * nothing moves any more. What makes Z promise no more (its processor, a timer,
 * a packet that is in the network until S at least) is then before S + flight,
 * and done.
 */
#ifndef NODE_CLOCK_H
#define NODE_CLOCK_H

#include "fabric/clock.h"
#include "net/heap.h"
#include "net/machine.h"

/* Common time goes on for a hundred days. */
#define TOFU_CLOCK_MAX (1ULL << 53)

/**
 * struct tofu_clock_ops - what is told of the others
 * @entry: node @src puts a packet into the network; @number is that of the
 *         entry in its log. All fields are as they should be, but @entry->time
 *         can be any before TOFU_CLOCK_MAX. Not for this node's own.
 */
struct tofu_clock_ops {
	void (*entry)(void *ctx, uint32_t src, uint64_t number,
		      const struct tofu_log_entry *entry);
};

/**
 * struct tofu_clock_peer - a node as its clock is seen from here
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
 * @limit:  the node that S is due to, or -1; before all have come: the first
 *          that has not
 * @held:   not to its C: the time of a packet to it that it has not counted;
 *          else UINT64_MAX
 * @ready:  this node has said that it has come
 * @late:   others had begun before that
 * @joined: it is in common time
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

/* tofu_clock_create - not in common time yet; 0 or a negative errno */
int tofu_clock_create(struct tofu_fabric *fabric,
		      const struct tofu_preset *machine,
		      const struct tofu_clock_ops *ops, void *ctx,
		      struct tofu_clock *clock);
void tofu_clock_destroy(struct tofu_clock *clock);

/**
 * tofu_clock_join - come into common time
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

/* tofu_clock_leave - a peer is gone: read what it has left, wait for it no more
 */
void tofu_clock_leave(struct tofu_clock *clock, uint32_t node);

/* tofu_clock_append - to this node's log, which has room; its number */
uint64_t tofu_clock_append(struct tofu_clock *clock,
			   const struct tofu_log_entry *entry);

/* tofu_clock_publish - the promise, and what it has counted */
void tofu_clock_publish(struct tofu_clock *clock, uint64_t promise);

/* tofu_clock_show - for people: the time, and whether the node waits */
void tofu_clock_show(struct tofu_clock *clock, uint64_t now, bool waits);

/**
 * tofu_clock_sleep - until the bound may be @bound, or there is something new
 *
 * A millisecond at most, see tofu_fabric_clock_sleep().
 */
void tofu_clock_sleep(struct tofu_clock *clock, uint64_t bound);

/* tofu_clock_stir - wake the node that should count what this one waits for */
void tofu_clock_stir(struct tofu_clock *clock);

static inline uint64_t tofu_clock_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif /* NODE_CLOCK_H */
