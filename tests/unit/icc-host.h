/* SPDX-License-Identifier: MIT */
/*
 * A home for controllers in one process: memory is byte arrays, the network is
 * an ordered queue with as much room as a test wants, and a test can make every
 * service fail. Also the simplest form of what a driver and a library do with a
 * CQ.
 */
#ifndef TESTS_ICC_HOST_H
#define TESTS_ICC_HOST_H

#include "icc/icc.h"

#define NET_NODES 16
#define NET_QUEUE 256
#define NET_STORES 8 /* of a node, which are remembered */
#define RAM_SIZE (64ULL << 20)
#define RAM_HOLES 8
#define REGION_PAGES 5000

struct net_packet {
	struct tofu_packet pkt;
	uint8_t payload[TOFU_PKT_INLINE_MAX];
};

/**
 * struct net_queue - packets of a class under way to a node
 * @room: count of packets that fit
 * @tight: no room for the largest packet, but for short ones
 */
struct net_queue {
	struct net_packet *packet[NET_QUEUE];
	unsigned int count;
	unsigned int room;
	bool tight;
};

/**
 * struct net_node - a node
 * @ram:    memory at bus address @base, which differs from node to node
 * @next:   first byte of @ram that is not allocated
 * @hole:   bus addresses of pages that do not answer
 * @tx:     packet that tx_begin() returned
 * @held:   packets stay in the queues to this node
 * @fence:  a fence is wanted; @fence_held: it does not end
 * @reads:  count of reads of @ram
 * @stores: count of store64(), and @stored: where the last of them were
 * @writes_ordered: count of ordered writes and pulls
 */
struct net_node {
	struct net *net;
	uint32_t number;
	struct icc *icc;
	uint8_t *ram;
	uint64_t base;
	uint64_t next;
	uint64_t hole[RAM_HOLES];
	unsigned int holes;
	uint8_t *pages;
	bool down;
	bool held;
	struct net_queue queue[TOFU_CLASSES];
	struct net_packet *tx;
	struct net_queue *tx_queue;
	unsigned int irq[TOFU_VECTORS(TOFU_TNIS_MAX)];
	unsigned int misuses;
	unsigned int fences;
	bool fence_held;
	unsigned int pulls;
	unsigned int reads;
	unsigned int writes_ordered;
	unsigned int stores;
	uint64_t stored[NET_STORES];
};

/**
 * struct net_mode - capabilities of struct icc_params
 * @refers: packets can refer to memory; @patience: of the host
 * @no_armw: the opposite of @armw there
 */
struct net_mode {
	size_t inline_max;
	uint32_t mtu;
	bool refers;
	unsigned int patience;
	bool doorbells;
	bool no_armw;
	const uint64_t *changes;
	const struct tofu_preset *machine;
};

/* Initialisers: one for each combination that a test may depend on. */
#define NET_STREAM { .mtu = 1000 }
#define NET_BY_REFERENCE { .mtu = 1000, .inline_max = 256, .refers = true }
#define NET_DOORBELLS                                                         \
	{ .mtu = 1000, .inline_max = 256, .refers = true, .doorbells = true }
#define NET_IMPATIENT                                                         \
	{ .mtu = 1000,                                                        \
	  .inline_max = TOFU_LENGTH_MAX,                                      \
	  .refers = true,                                                     \
	  .patience = 1 }
#define NET_TIMED { .mtu = 1000, .doorbells = true, .machine = &toy }

extern const struct net_mode by_reference;

/* Variants of a fixture, which has a struct net_mode @mode. */
#define NET_MODES_WITHOUT_TIME(fixture)                                       \
	FIXTURE_VARIANT_ADD(fixture, by_reference) {                          \
		.mode = NET_BY_REFERENCE };                                   \
	FIXTURE_VARIANT_ADD(fixture, stream) { .mode = NET_STREAM };          \
	FIXTURE_VARIANT_ADD(fixture, impatient) { .mode = NET_IMPATIENT };    \
	FIXTURE_VARIANT_ADD(fixture, doorbells) { .mode = NET_DOORBELLS }
#define NET_MODES(fixture)                                                    \
	NET_MODES_WITHOUT_TIME(fixture);                                      \
	FIXTURE_VARIANT_ADD(fixture, timed) { .mode = NET_TIMED }

/* toy - a machine whose numbers are round and all different */
extern const struct tofu_preset toy;

struct net_clock;

/**
 * struct net - a machine
 * @mode:  of its controllers
 * @clock: of a machine in virtual time, see icc-clock.h; else NULL
 */
struct net {
	unsigned int nodes;
	struct net_mode mode;
	struct net_clock *clock;
	struct net_node node[NET_NODES];
};

/* net_create - make a machine, untimed or in virtual time */
struct net *net_create(const char *shape, unsigned int tnis,
		       const struct net_mode *mode);

/* net_create_with - make a machine with other host services */
struct net *net_create_with(const char *shape, unsigned int tnis,
			    const struct net_mode *mode,
			    const struct icc_host_ops *ops);
extern const struct icc_host_ops net_ops;
void net_destroy(struct net *net);

/* net_step - let each node make progress and take arrived packets, once */
bool net_step(struct net *net);

/* net_run - run until there is nothing left to do */
void net_run(struct net *net);

/* net_down - remove a node and tell all others */
void net_down(struct net *net, uint32_t node);

/* net_send - send a packet that no controller has made */
void net_send(struct net *net, uint32_t to, const struct tofu_packet *pkt,
	      const void *payload);

uint64_t ram_alloc(struct net_node *node, uint64_t size, uint64_t align);
void *ram_at(struct net_node *node, uint64_t addr, uint64_t len);

/**
 * struct cq - a CQ as software has it
 * @tail, @tcq_read, @mrq_read: free-running positions
 * @session: in session mode
 */
struct cq {
	struct net_node *node;
	unsigned int tni, cq;
	unsigned int toq_code, mrq_code;
	uint64_t toq, tcq, mrq, stt, mbt;
	uint64_t tail, tcq_read, mrq_read;
	struct tofu_cq_page *page;
	bool session;
};

#define CQ_STAGS 64
#define CQ_BLOCKS 64

/* cq_create - set up and enable a CQ with empty tables */
struct cq *cq_create(struct net *net, uint32_t node, unsigned int tni,
		     unsigned int number);
void cq_destroy(struct cq *cq);
void cq_settings(struct cq *cq);
void cq_enable(struct cq *cq);
void cq_disable(struct cq *cq);

/* cq_session - enable the CQ again, in session mode */
void cq_session(struct cq *cq);
uint64_t cq_reg(struct cq *cq, unsigned int reg);
void cq_reg_set(struct cq *cq, unsigned int reg, uint64_t value);

/* cq_push - write a slot, without moving the device's tail */
void cq_push(struct cq *cq, const void *slot);
void cq_kick(struct cq *cq);

/* cq_kick_to - move the device's tail to @tail */
void cq_kick_to(struct cq *cq, uint64_t tail);

/* cq_tcq, cq_mrq - take the next entry if there is one */
bool cq_tcq(struct cq *cq, uint64_t *entry);
bool cq_mrq(struct cq *cq, struct tofu_mrq_entry *entry);

/* cq_tcq_status, cq_mrq_status - status of the next entry; -1 if none */
int cq_tcq_status(struct cq *cq);
int cq_mrq_status(struct cq *cq);

/**
 * struct region - registered memory
 * @page: bus addresses of its pages
 */
struct region {
	struct cq *cq;
	unsigned int stag;
	uint64_t length;
	uint64_t mbva;
	unsigned int shift;
	unsigned int pages;
	uint64_t page[REGION_PAGES];
};

/**
 * region_create - register memory of scattered pages
 * @mbva:  its offset in its memory block
 * @shift: log2 of the page size
 * @skew:  bytes from a page's alignment to its begin
 */
struct region *region_create(struct cq *cq, unsigned int stag, uint64_t length,
			     uint64_t mbva, unsigned int shift, uint64_t skew);
void region_destroy(struct region *region);
struct tofu_steering *region_steering(struct region *region);
struct tofu_memory_block *region_block(struct region *region);
uint64_t *region_table(struct region *region);
uint8_t *region_byte(struct region *region, uint64_t offset);
void region_fill(struct region *region, unsigned int seed);

/* region_differs - first offset of @length bytes that differs, or -1 */
int64_t region_differs(struct region *a, uint64_t a_offset, struct region *b,
		       uint64_t b_offset, uint64_t length);

/* A transfer to post; it is strided if @blocks is not 0, even if 1. */
struct transfer {
	enum tofu_command cmd;
	unsigned int flags;
	struct cq *cq;
	struct region *lcl, *rmt;
	uint64_t lcl_offset, rmt_offset, length;
	uint64_t operand;
	uint64_t second[4];
	enum tofu_armw_op op;
	bool armw_8;
	uint8_t edata, tag, path;
	uint8_t sps, gap, mtu;
	uint64_t stride, blocks;
};

#define ALL_NOTICES \
	(TOFU_TOQ_F_RMT_NOTICE | TOFU_TOQ_F_LCL_NOTICE | TOFU_TOQ_F_TCQ_NOTICE)

struct tofu_toq_desc transfer_desc(const struct transfer *t);

/* transfer_push - write its slots; transfer_post - and move the tail */
void transfer_push(const struct transfer *t);
void transfer_post(const struct transfer *t);

/* desc_post - post a descriptor as given, except for the flip bit */
void desc_post(struct cq *cq, struct tofu_toq_desc desc);

uint64_t coords_word(struct net_node *node);

/**
 * struct pair - two CQs of two nodes, each with a region of @length bytes
 * @put: a put of 64 bytes from @src to @dst, to be changed by tests
 */
struct pair {
	struct net *net;
	struct cq *a, *b;
	struct region *src, *dst;
	struct transfer put;
};

#define PAIR_LENGTH 20000
#define PAIR_LARGE (16ULL << 20)

void pair_create(struct pair *p, const struct net_mode *mode, uint64_t length);
void pair_destroy(struct pair *p);

/* pair_run - post and run; returns the status of the next MRQ entry of @a */
int pair_run(struct pair *p, const struct transfer *t);

#endif /* TESTS_ICC_HOST_H */
