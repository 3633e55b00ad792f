/* SPDX-License-Identifier: MIT */
/*
 * The interconnect controller (ICC): TNIs with their command queues, address
 * translation, atomics, barrier gates, counters. Plain C11 without threads and
 * locks. It receives events (register accesses, doorbells, packets, a peer's
 * death) and calls a small table of host services. Not thread-safe: the owner
 * serialises all calls.
 *
 * Three capabilities are chosen when the controller is made: payload travels by
 * reference, where a peer's memory can be read, or as a stream of packets;
 * software rings doorbells or the controller polls CQ pages; and the controller
 * is timed or not. See struct icc_params. All controllers of a machine carry
 * payload in the same way.
 *
 * An untimed controller acts at once. A timed one takes its times from a machine
 * (net/machine.h): it keeps a calendar of events. Its home has a clock and calls
 * icc_progress() at icc_next_time().
 *
 * Memory is allocated for what software uses. A CQ and a gate get theirs when
 * one of their registers is first written, and a CQ more when it is enabled.
 * Where there is none, it cannot be enabled: STATUS has BAD_CONFIG, the gate's
 * CTRL stays 0, and this lasts until the next reset. An enabled CQ of an untimed
 * controller needs no more. A timed controller allocates for commands and
 * packets under way; where that fails, fewer commands of a CQ are in flight, or
 * an event is dropped and counted as a bad packet.
 *
 * QEMU, the emu port of libtofu, unit tests and fuzzers run this same code.
 *
 * May include: net/, uapi/
 */
#ifndef ICC_ICC_H
#define ICC_ICC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/regs.h>
#include "net/packet.h"
#include "net/machine.h"
#include "net/topology.h"
#include "icc/trace.h"

struct icc;

/* A result of patience */
#define ICC_PATIENT (~0U)

/**
 * struct icc_host_ops - what the model asks of its home
 * @read:    copy @len bytes of the node's memory at bus address @addr
 * @write:   copy to the node's memory
 * @store64: store an aligned 64-bit word after everything written before
 *           (release); a processor of the node sees it whole
 * @armw:    atomic against the node's processors on an aligned word of @size
 *           4 or 8 bytes; @old gets the value before, zero-extended
 * @pull:    copy @len bytes at @src of @endpoint's memory to @dst of this
 *           node's memory: the one memcpy of a transfer. @endpoint can be this
 *           one; source and destination may then overlap.
 * @write_ordered, @pull_ordered: as @write and @pull, but the bytes land in
 *           ascending order (strong order)
 * @tx_begin: reserve room for a packet with @payload bytes behind it, in place;
 *           without @tx_commit nothing is sent
 * @tx_commit: send the packet of the last successful @tx_begin; header and
 *           payload are complete
 * @tx_room: true when tx_begin() of the largest packet would succeed, or
 *           when @endpoint is gone (the packet then goes nowhere)
 * @patience: after how many looks in vain for room, of those that found this
 *           result, what is left of a transfer goes by reference; ICC_PATIENT: this
 *           look does not count. NULL: no packet refers to memory
 * @ready:   false: handle no further entry of the calendar in this call, since
 *           what it sends may find no room; NULL: always true. Timed
 *           controllers only.
 * @owner:   the endpoint that owns a queue or gate of a node of the machine, or
 *           -1; called where nodes can have several processes
 * @fence_begin, @fence_done: a fence is done when the receiver of each response
 *           with references that was sent before the fence began has taken it,
 *           or is gone. One fence at a time.
 * @irq:     raise an MSI-X vector
 * @release: a packet that icc_receive() has kept is no longer needed; NULL: it
 *           copies what it needs. Timed controllers only.
 * @misuse:  log a guest's mistake: a constant format with arguments
 * @now:     virtual time, ns; timed controllers only
 * @trace:   record an event; timed controllers only; may be NULL
 *
 * @read, @write, @store64, @armw and @pull return 0, or a negative errno:
 * -EFAULT where a bus address is not memory of the node; -EHOSTDOWN where @pull
 * cannot read the peer's memory. After an error the destination may be written
 * in part. @pull and @pull_ordered may be NULL without @patience.
 *
 * @tx_begin returns NULL and sets @err to -EAGAIN (no room now; the model
 * tries again in icc_progress()) or -EHOSTDOWN (no such node, or gone). With a
 * timed controller there is always room; the packet's time says when it enters
 * the first link, which is tofu_preset_answer_ns() or more from now.
 *
 * All are called on the thread that called into the model.
 */
struct icc_host_ops {
	int (*read)(void *host, uint64_t addr, void *buf, size_t len);
	int (*write)(void *host, uint64_t addr, const void *buf, size_t len);
	int (*write_ordered)(void *host, uint64_t addr, const void *buf,
			     size_t len);
	int (*store64)(void *host, uint64_t addr, uint64_t value);
	int (*armw)(void *host, uint64_t addr, unsigned int size,
		    enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		    uint64_t *old);
	int (*pull)(void *host, uint32_t endpoint, uint64_t src, uint64_t dst,
		    size_t len);
	int (*pull_ordered)(void *host, uint32_t endpoint, uint64_t src,
			    uint64_t dst, size_t len);
	struct tofu_packet *(*tx_begin)(void *host, uint32_t endpoint,
					enum tofu_class class_, size_t payload,
					int *err);
	void (*tx_commit)(void *host);
	bool (*tx_room)(void *host, uint32_t endpoint, enum tofu_class class_);
	unsigned int (*patience)(void *host);
	bool (*ready)(void *host);
	int64_t (*owner)(void *host, uint32_t node, enum tofu_share share,
			 unsigned int tni, unsigned int number);
	void (*fence_begin)(void *host);
	bool (*fence_done)(void *host);
	void (*irq)(void *host, unsigned int vector);
	void (*release)(void *host, const struct tofu_packet *pkt);
	void (*misuse)(void *host, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
	uint64_t (*now)(void *host);
	void (*trace)(void *host, const struct icc_trace *trace);
};

/**
 * struct icc_params - properties of a controller
 * @tnis:   1 … TOFU_TNIS_MAX
 * @shape:  of the machine
 * @node:   number of this node, in the shape
 * @ppn:    processes that a node can have; 0 is 1. A controller belongs to one
 *          of them, an endpoint, and leaves the queues and gates of the others
 *          alone. Packets go from endpoint to endpoint; node n has the
 *          endpoints n * ppn to n * ppn + ppn - 1.
 * @pages:  first half of TOFU_BAR_PAGES: TOFU_PAGES_HALF bytes that the CQs'
 *          owners write at any time
 * @ram_pages: the value of TOFU_CAPS_RAM_PAGES
 * @mtu:    payload travels in packets with at most this many bytes each, of which
 *          the last one is answered. From TOFU_SIGNAL_BYTES, since a signal is not
 *          divided, to TOFU_PKT_MTU_MAX if timed, else TOFU_PKT_INLINE_MAX
 * @inline_max: where @ops has @patience: commands with more bytes travel by
 *          reference: the receiver pulls the payload out of the sender's memory.
 *          What is left of others goes by reference when patience has ended. If
 *          timed, there are no references
 * @doorbells: a CQ page is registers: the home calls icc_doorbell() for each
 *          store into fetch_start, and there are direct descriptors. Otherwise
 *          icc_progress() polls the pages.
 * @blank:  the controller knows blank regions (TOFU_STEERING_BLANK); all
 *          controllers of a machine do, or none
 * @armw:   the controller executes remote atomics. Without, it refuses ARMW
 *          commands as unknown ones, and ARMW requests of others.
 * @changes: a count that grows with every change of the node's translation
 *          tables: entries that were read need not be read again while it stays
 *          the same. NULL: changes are not counted.
 * @machine: makes the controller timed, with the times of this machine; or NULL
 * @quiet_ns: if timed: how long it takes until the first CQ or gate that
 *          software enables takes commands. A home can rely on that; see
 *          icc_takes_effect()
 * @ops, @host: the home
 *
 * icc_create() refuses these combinations: references where @ops has no @pull, or
 * with blank regions, which have no memory. A timed controller with a larger @mtu
 * than the machine's. A timed controller without doorbells: a polled page does not
 * tell when software stored. A timed controller whose node has several processes: a
 * node has one clock.
 */
struct icc_params {
	unsigned int tnis;
	struct tofu_shape shape;
	uint32_t node;
	uint32_t ppn;
	void *pages;
	bool ram_pages;
	size_t inline_max;
	uint32_t mtu;
	bool doorbells;
	bool blank;
	bool armw;
	const uint64_t *changes;
	const struct tofu_preset *machine;
	uint32_t quiet_ns;
	const struct icc_host_ops *ops;
	void *host;
};

/**
 * icc_create - make a controller, as after power-on
 *
 * Return: the controller, or NULL with errno ENOMEM, or EINVAL where @params
 * are out of range or a combination that struct icc_params excludes.
 */
struct icc *icc_create(const struct icc_params *params);
void icc_destroy(struct icc *icc);

/* icc_reset - as TOFU_CTRL_RESET; raises no interrupt */
void icc_reset(struct icc *icc);

/**
 * icc_reg_read, icc_reg_write - an access to TOFU_BAR_REGS
 * @offset: in the BAR
 * @size:   bytes of the access
 */
uint64_t icc_reg_read(struct icc *icc, uint64_t offset, unsigned int size);
void icc_reg_write(struct icc *icc, uint64_t offset, uint64_t value,
		   unsigned int size);

/**
 * icc_channel_start - software has written to TOFU_CHANNEL_START of a channel
 *
 * icc_progress() reads the channel's block later; a timed controller does so
 * when the store reaches the engine. Numbers that do not exist, and channels
 * that are not enabled or not ended, are ignored.
 */
void icc_channel_start(struct icc *icc, unsigned int tni,
		       unsigned int channel);

/**
 * icc_channel_poll - software has written to TOFU_CHANNEL_POLL of a channel
 * @now: ns of any clock that all calls read; timed controllers have their own
 *
 * If its barrier waits for long, icc_progress() asks other nodes whether it can
 * still end. Numbers that do not exist are ignored.
 */
void icc_channel_poll(struct icc *icc, unsigned int tni, unsigned int channel,
		      uint64_t now);

/**
 * icc_progress - start commands and continue those that wait
 *
 * Takes a bounded number of commands of each enabled CQ in turn, as far as its
 * page or its doorbells allow; retries packets that found no room; ends
 * flushes. A timed controller handles the calendar's entries up to now.
 *
 * Return: true when there was work: call again soon.
 */
bool icc_progress(struct icc *icc);

/*
 * icc_goes_on - untimed: whether a command or an answer is under way that is not sent, or
 * a flush. Gates and requests that wait for room it does not tell.
 */
bool icc_goes_on(const struct icc *icc);

/**
 * icc_doorbell - software has stored into fetch_start of a CQ page
 * @value: the word
 *
 * With doorbells only; the page is not read. icc_progress() starts the commands
 * later.
 */
void icc_doorbell(struct icc *icc, unsigned int tni, unsigned int cq,
		  uint64_t value);

/* ---- Timed controllers only ---- */

/* icc_next_time - when the calendar's next entry is due; UINT64_MAX: never */
uint64_t icc_next_time(const struct icc *icc);

/*
 * icc_next_visible - whether software can see what the next entry does. A
 * command that fails while it is sent is seen all the same.
 */
bool icc_next_visible(const struct icc *icc);

/**
 * icc_credit - a packet of this node leaves its first link
 * @tni:  engine that sent it: src_tni of the packet
 * @time: when, ns; the engine learns of it tofu_preset_flight_ns() later
 *
 * For every packet that was committed, in the order of the links' times.
 */
void icc_credit(struct icc *icc, unsigned int tni, uint64_t time);

/*
 * icc_starved - whether an engine waits for a credit. Else the next credits may
 * be returned late, but before anything that comes after them.
 */
bool icc_starved(const struct icc *icc);

/**
 * icc_sends_from - when the controller puts its next packet into the network
 * @limit: the result is no later, ns
 *
 * At the earliest, as far as it knows: software stores nothing more, and no
 * further packet, credit or loss of a peer becomes known to it.
 */
uint64_t icc_sends_from(const struct icc *icc, uint64_t limit);

/**
 * icc_answer_ns - from receiving a packet until what follows from it
 * @pkt: for this node; all its fields can be any
 *
 * If it is received at t, neither the controller nor software that it wakes puts
 * a packet into the network for it before t + that. A command that comes to wait
 * for room later than now does not count: icc_sends_from() tells of it.
 */
uint64_t icc_answer_ns(const struct icc *icc, const struct tofu_packet *pkt);

/**
 * icc_takes_effect - when software's next store can start something
 * @time: from when on software may store, ns
 *
 * A store into fetch_start or a channel's page is not earlier on its way to the
 * engine. While neither a CQ nor a gate is enabled, that is @quiet_ns later: of
 * a timed controller only.
 */
uint64_t icc_takes_effect(const struct icc *icc, uint64_t time);

/**
 * icc_port_set_counter - set a port's counter, which the home keeps
 * @value: since the controller was made; TOFU_REG_PORT(@port, @counter) shows
 *         the difference since the last reset
 */
void icc_port_set_counter(struct icc *icc, enum tofu_port port,
			  enum tofu_port_counter counter, uint64_t value);

/**
 * icc_receive - a packet has arrived
 * @pkt:     a private copy of the header
 * @payload: @pkt->payload bytes, in memory that the sender can still write
 *
 * For a timed controller, now is receive_ns after its engine has taken the last
 * byte from the network, and @pkt->time is when the packet entered its first
 * link. It needs the packet until later: it keeps @pkt, behind which @payload
 * lies, and gives it back by the home's @release; or, without that, makes a copy.
 *
 * Return: 0 when taken; ICC_KEPT when @release will follow; -EAGAIN when a
 * request cannot be answered now and nothing has changed: the transport keeps it
 * and offers it again, before all later ones of the same sender. Never -EAGAIN
 * from a timed controller.
 */
#define ICC_KEPT 1
int icc_receive(struct icc *icc, const struct tofu_packet *pkt,
		const void *payload);

/* icc_peer_down - a peer is gone: commands under way to it end in an error */
void icc_peer_down(struct icc *icc, uint32_t endpoint);

/**
 * icc_set_need_kick - show in the pages which kicks are wanted
 * @mask: TOFU_NEED_KICK_*, for every CQ enabled now or later
 *
 * After setting TOFU_NEED_KICK_TAIL, the caller issues a full fence and calls
 * icc_progress() once more before it sleeps.
 */
void icc_set_need_kick(struct icc *icc, uint32_t mask);

/**
 * icc_prefetch - what a timed controller needs next is to be in the caches
 * @step: 0 to ICC_PREFETCHES - 1, one after the other, with some time between
 */
void icc_prefetch(const struct icc *icc, unsigned int step);
#define ICC_PREFETCHES 4

#endif /* ICC_ICC_H */
