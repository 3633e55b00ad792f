/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the libfabric provider share: endpoints with all they need,
 * operations that remember how they have ended, and waits with a limit.
 */
#ifndef FI_UTIL_H
#define FI_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "point.h"

#define RANKS_MAX 64
#define NAME_BYTES 16
#define INJECT_MAX 256
#define PIECES_MAX 8
#define COUNTERS_MAX 4

/* In place of a rank */
#define ANY (-1)

extern struct fi_info *info;
extern struct fid_fabric *fabric;
extern struct fid_domain *domain;

/* struct suite - tests of one file */
struct suite {
	const struct test *tests;
	int count;
};

extern const struct suite transfer_suite, receive_suite, completion_suite,
	memory_suite, region_suite, atomic_suite, wait_suite;

/* test_run - join, run all tests, leave; Return: for main() */
int test_run(const struct suite *const suites[], int suite_count);

/*
 * alone_to_the_end - open a domain that makes progress by itself and stays open, so
 * that the program ends with it
 */
bool alone_to_the_end(void);

/* RUN - what a test consists of: a part that returns like a test */
#define RUN(part)                 \
	do {                      \
		if (part)         \
			return 1; \
	} while (0)

/**
 * struct done - an operation, and its entries in completion queues
 * @context:  of the operation, which is also the address of this structure
 * @times:    entries so far
 * @sequence: how many entries the port had read before
 * @queue:    where the last entry was
 * @entry:    the last one
 * @from:     its source
 * @error:    the error code in it, 0 for success
 * @rest:     olen in it
 */
struct done {
	struct fi_context context;
	int times;
	int sequence;
	struct fid_cq *queue;
	struct fi_cq_tagged_entry entry;
	fi_addr_t from;
	int error;
	size_t rest;
};

/**
 * struct options - how to open a port
 * @map:         FI_AV_MAP rather than FI_AV_TABLE
 * @empty:       nothing is inserted into the AV
 * @two_queues:  one for sends and one for receives
 * @send_flags:  FI_SELECTIVE_COMPLETION or 0
 * @recv_flags:  FI_SELECTIVE_COMPLETION or 0
 * @operation:   flags of all sends
 * @min_receive: FI_OPT_MIN_MULTI_RECV, 0 for the default
 * @wait:        of the queues
 * @counter:     bound to the endpoint, until NULL
 * @counted:     with which flags
 */
struct options {
	bool map, empty, two_queues;
	uint64_t send_flags, recv_flags, operation;
	size_t min_receive;
	enum fi_wait_obj wait;
	struct fid_cntr *counter[COUNTERS_MAX];
	uint64_t counted[COUNTERS_MAX];
};

/**
 * struct port - an endpoint on each rank, with what it is bound to; static
 * @sends, @receives: the same queue unless there are two
 * @name:    of this rank's
 * @names:   of all ranks'
 * @peer:    addresses of all ranks'
 * @entries: read so far, errors among them
 * @errors:  read so far
 * @strays:  read so far with NULL for the context
 */
struct port {
	struct fid_av *av;
	struct fid_cq *sends, *receives;
	struct fid_ep *ep;
	uint8_t name[NAME_BYTES];
	uint8_t names[RANKS_MAX][NAME_BYTES];
	fi_addr_t peer[RANKS_MAX];
	int entries, errors, strays;
	struct port *next;
};

/* ---- All ranks ---- */

/* meet - whether all ranks have come to the same place of a test */
bool meet(void);

/* verdict - at the end of a test; Return: whether it has passed everywhere */
bool verdict(bool failed);

/* ---- Ports ---- */

/* port_open - on all ranks; Return: 0, or 1 as a test that has failed */
int port_open(struct port *port, const struct options *options);

/* port_close - on this rank; Return: as port_open() */
int port_close(struct port *port);

/* ports_close - whatever a test has left */
void ports_close(void);

/* queue_open, av_open - with TAGGED entries; Return: as libfabric */
int queue_open(enum fi_cq_format format, size_t size, struct fid_cq **queue);
int av_open(enum fi_av_type type, struct fid_av **av);

/* ---- Waiting ---- */

/* clock_ms - milliseconds from some beginning */
uint64_t clock_ms(void);

/* late - whether a wait since that time has failed */
bool late(uint64_t since);

/* poll_all - read what the ports have, and note it in its struct done */
void poll_all(void);

/* linger - poll for some milliseconds, for what must not happen */
void linger(unsigned int milliseconds);

/* ended - wait until @count operations have an entry each, whatever it says */
bool ended(const struct done done[], int count);

/* succeeded - like ended(), and all are good */
bool succeeded(const struct done done[], int count);

/* failed_with - like ended() for one, with this error */
bool failed_with(const struct done *done, int error);

/* renew - before an operation is used again; its context stays */
void renew(struct done *done);

/* RETRY - post something as soon as there is room for it */
#define RETRY(call)                                                    \
	({                                                             \
		uint64_t since_ = clock_ms();                          \
		ssize_t ret_;                                          \
		while ((ret_ = (call)) == -FI_EAGAIN && !late(since_)) \
			poll_all();                                    \
		ret_;                                                  \
	})

/* ---- Operations, to and from ranks; Return: as libfabric ---- */

ssize_t send_tagged(struct port *port, int to, const void *from, size_t bytes,
		    uint64_t tag, struct done *done);
ssize_t receive_tagged(struct port *port, int from, void *to, size_t bytes,
		       uint64_t tag, uint64_t ignore, struct done *done);
ssize_t send_plain(struct port *port, int to, const void *from, size_t bytes,
		   struct done *done);
ssize_t receive_plain(struct port *port, int from, void *to, size_t bytes,
		      struct done *done);

/* send_flagged - fi_tsendmsg() */
ssize_t send_flagged(struct port *port, int to, const void *from, size_t bytes,
		     uint64_t tag, uint64_t flags, struct done *done);

/* receive_flagged - fi_trecvmsg() */
ssize_t receive_flagged(struct port *port, int from, void *to, size_t bytes,
			uint64_t tag, uint64_t ignore, uint64_t flags,
			struct done *done);

/* ---- Data ---- */

/* fill, filled - bytes that tell which message they belong to */
void fill(void *bytes, size_t count, unsigned int seed);
bool filled(const void *bytes, size_t count, unsigned int seed);

/* untouched - whether all bytes have this value */
bool untouched(const void *bytes, size_t count, uint8_t value);

/* room - memory that is freed after the test; never NULL */
void *room(size_t bytes);

/* rooms_free - after a test */
void rooms_free(void);

#endif /* FI_UTIL_H */
