/* SPDX-License-Identifier: MIT */
/*
 * The home of icc-host.h in virtual time: all controllers of a machine and its
 * network under one clock, which moves from event to event.
 */
#ifndef TESTS_ICC_CLOCK_H
#define TESTS_ICC_CLOCK_H

#include "icc-host.h"

/* flight - on toy, from the engine until a packet of @bytes has made @hops */
uint64_t flight(unsigned int hops, uint64_t bytes);

/* clock_create - make a machine of a shape; net_destroy() ends it */
struct net *clock_create(const char *shape, const struct tofu_preset *machine);

/* clock_end - for net_destroy(): free the clock and packets under way */
void clock_end(struct net *net);

/* clock_send - let a packet arrive now that no controller has made */
void clock_send(struct net *net, uint32_t to, struct net_packet *packet);

uint64_t clock_now(const struct net *net);

/* clock_run - run until nothing is planned */
void clock_run(struct net *net);

/* clock_run_until - run all events up to @time, ns, which is the new now */
void clock_run_until(struct net *net, uint64_t time);

/* clock_post - post a transfer and ring; clock_ring: only ring the doorbell */
void clock_post(const struct transfer *t);
void clock_ring(struct cq *cq);

/* clock_post_direct - post a transfer by a direct descriptor */
void clock_post_direct(const struct transfer *t);

/**
 * clock_seen - the last trace record of an event
 * @node: that traced it
 * @kind: enum icc_trace_kind
 *
 * Return: the record; its kind is 0 where there was none.
 */
struct icc_trace clock_seen(const struct net *net, uint32_t node,
			    unsigned int kind);

/* notice_time - time of the last notice that a node's software got */
uint64_t notice_time(const struct net *net, uint32_t node);

/* clock_hash - hash over all trace records of all nodes so far */
uint64_t clock_hash(const struct net *net);

#endif /* TESTS_ICC_CLOCK_H */
