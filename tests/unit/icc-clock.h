/* SPDX-License-Identifier: MIT */
/*
 * The home of icc-host.h in virtual time: all controllers of a machine and its
 * network under one clock that goes from event to event.
 */
#ifndef TESTS_ICC_CLOCK_H
#define TESTS_ICC_CLOCK_H

#include "icc-host.h"

/* flight - on it, from the engine until a packet of @bytes has gone @hops */
uint64_t flight(unsigned int hops, uint64_t bytes);

/* clock_create - a machine of that shape; net_destroy() ends it */
struct net *clock_create(const char *shape, const struct tofu_preset *machine);

/* clock_end - for net_destroy(): the clock, and what is on its way */
void clock_end(struct net *net);

/* clock_send - a packet that no controller made arrives now */
void clock_send(struct net *net, uint32_t to, struct net_packet *packet);

uint64_t clock_now(const struct net *net);

/* clock_run - until nothing is planned any more */
void clock_run(struct net *net);

/* clock_run_until - what is due up to @time, ns, which then is now */
void clock_run_until(struct net *net, uint64_t time);

/* clock_post - a transfer, and the doorbell; clock_ring: only that */
void clock_post(const struct transfer *t);
void clock_ring(struct cq *cq);

/* clock_post_direct - by a direct descriptor */
void clock_post_direct(const struct transfer *t);

/**
 * clock_seen - when an event was traced for the last time
 * @node: whose
 * @kind: enum icc_trace_kind
 *
 * Return: the record; its kind is 0 where there was none.
 */
struct icc_trace clock_seen(const struct net *net, uint32_t node,
			    unsigned int kind);

/* notice_time - of the last one that a node's software got */
uint64_t notice_time(const struct net *net, uint32_t node);

/* clock_hash - over all records of all nodes so far */
uint64_t clock_hash(const struct net *net);

#endif /* TESTS_ICC_CLOCK_H */
