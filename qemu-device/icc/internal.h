/* SPDX-License-Identifier: MIT */
/*
 * Private declarations of the model.
 *
 *   icc.c        create, reset, progress, arrival of packets
 *   regs.c       register file
 *   cq.c         state of a command queue, its rings and interrupts
 *   xfer.c       the dispatcher of stages; stages of an initiator's command
 *   serve.c      stages of a request at its target
 *   response.c   stages of a response at its initiator
 *   translate.c  STAG and offset to bus addresses
 *   data.c       payload out of and into the node's memory
 *   route.c      ports of the router and their counters
 *   stream.c     streams of payload, where they arrive
 *   flush.c      flush, fence, end of a reset
 *   gate.c       the barrier interface: gates and channels
 *   watch.c      sources of barriers that are gone
 *   reduce.c     reductions of elements by gates
 *   time.c       virtual time: the calendar, and arriving packets
 *   engine.c     virtual time: when engines send, receive and wait
 *
 * icc/transfer.h has the structures of a transfer; icc/time.h declares the
 * functions of time.c and engine.c.
 */
#ifndef ICC_INTERNAL_H
#define ICC_INTERNAL_H

#include "icc/transfer.h"

/* ---- Command queues ---- */

/**
 * struct icc_window - commands under way
 * @chunk:  memory of commands, ICC_CHUNK each; never moved or given back before
 *          the end
 * @room:   commands that the chunks have
 * @spare:  count of commands that are not used
 * @unused: their numbers, the next one last
 * @slot:   the command with sequence number n is slot[n mod TOFU_WINDOW]
 */
struct icc_window {
	struct icc_xfer *chunk[TOFU_WINDOW / ICC_CHUNK];
	uint8_t room;
	uint8_t spare;
	uint8_t unused[TOFU_WINDOW];
	uint8_t slot[TOFU_WINDOW];
};

/**
 * struct icc_memo - what is remembered of the tables for a STAG: a cache line
 * @key:     the STAG, plus one; 0: nothing
 * @whole:   the memory block, too
 * @changes: the home's count of changes when the entries were read
 * @ctrl, @mbva, @length: of the steering entry
 * @block_ctrl, @table, @npage: of the memory block
 */
struct icc_memo {
	_Alignas(ICC_LINE) uint32_t key;
	bool whole;
	uint64_t changes;
	uint64_t ctrl;
	uint64_t mbva;
	uint64_t length;
	uint64_t block_ctrl;
	uint64_t table;
	uint64_t npage;
};
TOFU_ASSERT_SIZE(struct icc_memo, ICC_LINE);

#define ICC_MEMOS 2

struct icc_ring {
	uint64_t base;
	uint64_t pos; /* free-running: TOQ entries fetched, others written */
	unsigned int code;
};

/**
 * struct icc_cq - a command queue
 * @tni, @cq:  its numbers
 * @page:      written by software at any time: software's words are read
 *             once each, the device's are never read
 * @status:    TOFU_CQ_STATUS_*
 * @setting:   registers TOFU_CQ_TOQ_BASE … TOFU_CQ_GPID
 * @armed, @cause: TOFU_CQ_IRQ_*
 * @memo:      entries of its tables, by STAG modulo ICC_MEMOS
 * @counter:   TOFU_CQ_COUNTER()
 * @window:    the commands from @seq_tail to @seq_head
 * @seq_head:  number of the next command
 * @seq_tail:  number of the oldest command under way
 * @sending:   the command that has not been injected completely; no other one
 *             starts before it has
 * @out:       if not timed: outbox of @sending; NULL before the first enable
 * @blocks:    of the strided command that was fetched last
 * @tcq_status: first TCQ error among the retired blocks of a strided command
 * @session:   session mode
 * @steps:     of a session: commands, or blocks of them, that may still begin
 * @tail:      with doorbells: slots that software has rung for
 * @known:     slots up to @tail that the engine knows of
 * @direct_tail: the value of @tail for which @direct holds the last command;
 *             else 0
 * @direct:    slots of that command
 * @unsent:    if timed: number of the oldest command that the engine has not
 *             sent completely
 * @next:      if timed: that command, if it still is; or NULL
 * @life:      counts enables, to recognise leftovers of an old life
 * @stamp:     TOFU_CQ_STAMP()
 * @flushing:  a flush is under way
 * @flush_seq: the flush waits for commands before this one
 * @flush_fence: and for this fence
 *
 * Made when software first writes one of its registers. What each packet needs
 * comes first and together.
 */
struct icc_cq {
	uint8_t tni;
	uint8_t cq;
	uint16_t gpid;
	uint32_t status;
	uint64_t seq_head, seq_tail;
	uint64_t unsent;
	struct icc_xfer *next;
	struct icc_xfer *sending;
	uint32_t life;
	uint8_t tcq_status;
	bool session;
	bool flushing;
	struct icc_outbox *out;
	uint64_t stt_base, stt_count;
	uint64_t mbt_base, mbt_count;
	struct icc_memo memo[ICC_MEMOS];
	uint64_t counter[TOFU_CQ_COUNTERS];
	uint64_t stamp[TOFU_CQ_STAMPS];
	struct tofu_cq_page *page;
	struct icc_ring toq, tcq, mrq;
	uint64_t armed, cause;
	uint64_t tail;
	uint64_t known;
	uint64_t direct_tail;
	uint64_t steps;
	struct icc_window window;
	struct tofu_toq_desc direct[2];
	struct icc_blocks blocks;
	uint64_t flush_seq;
	uint64_t flush_fence;
	uint64_t setting[ICC_SETTINGS];
};

/* ---- The controller ---- */

/**
 * struct icc_tni - an engine
 * @enabled: enabled CQs, a bit each
 * @ending:  disabled CQs that have to end a stream, a bit each
 * @sendable: if timed: CQs that may have a packet to send, a bit each
 * @lost:    CQs whose registers found no memory, a bit each: they cannot be
 *           enabled before the next reset
 * @ready:   gates that may have work, a bit each
 * @blocked: gates whose signal found no room
 * @gates_lost: as @lost
 * @unwatched: gates whose remote source was not looked at (icc_gates_watch())
 * @cq, @gate: NULL until software writes one of the registers
 */
struct icc_tni {
	uint32_t enabled;
	uint32_t ending;
	uint32_t sendable;
	uint32_t lost;
	uint64_t ready;
	uint64_t blocked;
	uint64_t gates_lost;
	uint64_t unwatched;
	struct icc_cq *cq[TOFU_CQS_PER_TNI];
	struct icc_gate *gate[TOFU_GATES];
};

/**
 * struct icc_answer - the answer to an endpoint that waits for room
 *
 * Its request stays in the transport's queue, so that requests of others go on.
 *
 * @tid:  of the request
 * @sent, @looks, @life: of its arrival; @sent is 0 where nothing waits
 */
struct icc_answer {
	uint64_t tid;
	uint32_t sent;
	uint32_t looks;
	uint32_t life;
};

/**
 * struct icc_route - cached ports of the route to a node and back
 * @key:  endpoint and path, plus one; 0: unused
 * @out:  port by which a packet to that node leaves; TOFU_PORTS: none
 * @in:   port by which a packet from that node arrives; TOFU_PORTS: none
 * @coords: TOFU_ROUTE_X … C of that node
 */
struct icc_route {
	uint64_t key;
	uint64_t coords;
	uint8_t out;
	uint8_t in;
};

/**
 * struct icc_fences - the host's fences, one at a time
 * @wanted: number of the last fence that is waited for
 * @begun:  number of the last one begun
 * @done:   number of the last one done
 */
struct icc_fences {
	uint64_t wanted;
	uint64_t begun;
	uint64_t done;
};

/**
 * struct icc_stream - requests of a CQ of the machine to a TNI of this node
 * @key:     names the CQ and the TNI; 0: the entry is unused
 * @carried: if timed: when the last request is carried out, ns
 * @failed:  enum tofu_status of the put under way
 */
struct icc_stream {
	uint64_t key;
	uint64_t carried;
	uint8_t failed;
};

/**
 * struct icc_streams - a hash table of streams, see stream.c
 * @room:  entries, a power of two; or 0
 * @count: used ones
 * @failures: entries whose put has failed
 * @lost:  there was no memory for the status of a put that failed
 */
struct icc_streams {
	struct icc_stream *stream;
	size_t room;
	size_t count;
	size_t failures;
	bool lost;
};

struct icc {
	const struct icc_host_ops *ops;
	void *host;
	struct tofu_shape shape;
	uint32_t node;
	uint32_t nodes;
	uint32_t ppn;
	unsigned int tnis;
	bool ram_pages;
	size_t inline_max;
	uint32_t mtu;
	bool refers; /* packets may refer to memory */
	bool doorbells;
	bool blank;
	bool armw; /* executes remote atomics */
	const uint64_t *changes; /* of the tables; or NULL: not counted */
	const struct tofu_preset *machine;
	uint32_t quiet_ns;
	uint32_t open; /* count of enabled CQs and gates */
	struct icc_time *time; /* if timed, else NULL */
	struct icc_outbox *out; /* of the packet being sent; if untimed, of answers */
	struct icc_route *route; /* if not timed, ICC_ROUTES */
	struct icc_answer *answer; /* if not timed, by endpoint */
	struct icc_streams streams;
	uint32_t sending; /* CQs with a command that has begun and is not sent */
	uint32_t answering; /* incomplete answers */
	bool answered; /* one of these has gone on since icc_progress() */
	uint8_t *pages;
	uint32_t need_kick;
	unsigned int turn; /* CQ with which icc_progress() begins */
	bool resetting;
	bool flushes; /* icc_flush_progress() has something to do */
	uint64_t reset_fence;
	struct icc_fences fence;
	uint64_t bad_access;
	uint64_t bad_packets;
	uint64_t port[TOFU_PORTS][TOFU_PORT_COUNTERS];
	uint64_t port_base[TOFU_PORTS][TOFU_PORT_COUNTERS];
	struct icc_tni tni[TOFU_TNIS_MAX];
};

/* ---- icc.c ---- */

/**
 * icc_endpoint - the endpoint that owns a queue or gate
 * @node: of the machine, or -1
 *
 * Return: the endpoint, or -1 where there is none.
 */
int64_t icc_endpoint(const struct icc *icc, int64_t node, enum tofu_share share,
		     unsigned int tni, unsigned int number);

/* icc_alloc_lines - allocate zeroed memory of whole cache lines */
void *icc_alloc_lines(size_t size);

/* icc_drop - count an invalid packet, and otherwise ignore it */
void icc_drop(struct icc *icc, const struct tofu_packet *pkt, const char *why);

/* ---- Shared words of a CQ page ---- */

static inline uint64_t icc_load_acquire(const __le64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void icc_store_release(__le64 *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void icc_store_relaxed32(__le32 *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* ---- cq.c ---- */

static inline bool icc_cq_enabled(const struct icc_cq *cq)
{
	return cq->status & TOFU_CQ_STATUS_ENABLED;
}

/* icc_cq_at - the CQ with these numbers; NULL: none, or never touched */
static inline struct icc_cq *icc_cq_at(const struct icc *icc, unsigned int tni,
				       unsigned int cq)
{
	if (tni >= icc->tnis || cq >= TOFU_CQS_PER_TNI)
		return NULL;
	return icc->tni[tni].cq[cq];
}

static inline struct tofu_cq_page *icc_cq_page(const struct icc *icc,
					       unsigned int tni,
					       unsigned int cq)
{
	return (struct tofu_cq_page *)(icc->pages + TOFU_CQ_PAGE(tni, cq));
}

/* icc_cq_out - the outbox of the command that @cq is sending */
static inline struct icc_outbox *icc_cq_out(const struct icc *icc,
					    const struct icc_cq *cq)
{
	return icc->time ? icc->out : cq->out;
}

/* icc_window_at - the command with the number @seq, which is under way */
static inline struct icc_xfer *icc_window_at(const struct icc_cq *cq,
					     uint64_t seq)
{
	const unsigned int n = cq->window.slot[seq % TOFU_WINDOW];

	return &cq->window.chunk[n / ICC_CHUNK][n % ICC_CHUNK];
}

static inline uint64_t icc_ring_mask(const struct icc_ring *ring)
{
	return TOFU_RING_ENTRIES(ring->code) - 1;
}

/* icc_status_is_tcq - an error found before any packet left the node */
static inline bool icc_status_is_tcq(unsigned int status)
{
	return status != TOFU_ST_OK && status < TOFU_ST_PEER;
}

/* icc_cq_make - the CQ with these numbers; NULL where there is no memory */
struct icc_cq *icc_cq_make(struct icc *icc, unsigned int tni, unsigned int c);
void icc_cq_free(struct icc_cq *cq);

/* icc_window_next - memory for the next command; NULL: the window is full */
struct icc_xfer *icc_window_next(struct icc_cq *cq);

/* icc_window_add - the command in the memory that was got last has begun */
void icc_window_add(struct icc_cq *cq, struct icc_xfer *x);

/* icc_cq_enable - check the settings and enable; BAD_CONFIG: cannot be */
void icc_cq_enable(struct icc *icc, struct icc_cq *cq);
void icc_cq_disable(struct icc *icc, struct icc_cq *cq);

/* icc_cq_event - note a cause of interrupt, and raise it if armed */
void icc_cq_event(struct icc *icc, struct icc_cq *cq, uint64_t cause);

/* icc_cq_set_error - set an error bit of STATUS */
void icc_cq_set_error(struct icc *icc, struct icc_cq *cq, uint32_t error);

/**
 * icc_cq_fetch - read the next command of the TOQ
 * @command: desc, data and index are set on success
 *
 * Return: count of its slots; 0 where no complete command is there, or the CQ
 * has stopped with an exception.
 */
unsigned int icc_cq_fetch(struct icc *icc, struct icc_cq *cq,
			  struct icc_command *command);

/* icc_cq_blocks_left - whether the last command has blocks that must begin */
static inline bool icc_cq_blocks_left(const struct icc_cq *cq)
{
	return cq->blocks.next != cq->blocks.count;
}

/* icc_cq_filled - count of slots to fetch, as far as the engine knows */
static inline uint64_t icc_cq_filled(const struct icc *icc, const struct icc_cq *cq)
{
	if (icc->doorbells)
		return cq->known - cq->toq.pos;
	/* Acquire: the slots were written before software moved the tail. */
	return (icc_load_acquire(&cq->page->fetch_start) & ~TOFU_FETCH_DIRECT) - cq->toq.pos;
}

/**
 * icc_cq_add_steps - let a session begin @steps more commands or blocks
 *
 * They begin in icc_progress(), if timed when the engine has learned of them.
 */
void icc_cq_add_steps(struct icc *icc, struct icc_cq *cq, unsigned int steps);

/* icc_cq_direct - whether the next command to fetch is in @direct */
static inline bool icc_cq_direct(const struct icc_cq *cq)
{
	return cq->direct_tail && cq->direct_tail == cq->known &&
	       tofu_toq_slots(cq->direct[0].ctrl, cq->direct[0].route) ==
		       cq->known - cq->toq.pos;
}

/* icc_cq_publish - let software use the slots that have been fetched */
void icc_cq_publish(struct icc_cq *cq);

/* icc_cq_retire - write TCQ entries of the oldest commands that have ended */
void icc_cq_retire(struct icc *icc, struct icc_cq *cq);

/* icc_mrq_write - set the flip bit and write the entry; a full MRQ loses it */
void icc_mrq_write(struct icc *icc, struct icc_cq *cq,
		   struct tofu_mrq_entry *entry);

/* ---- xfer.c ---- */

/* icc_xfer_run - run the stages as far as possible */
void icc_xfer_run(struct icc *icc, struct icc_xfer *x);

/* icc_command_run - run a command's stages; retire it if it ends */
void icc_command_run(struct icc *icc, struct icc_xfer *x);

/**
 * icc_command_fail - send no further data; the command ends when what has been
 * sent has been answered
 */
void icc_command_fail(struct icc *icc, struct icc_xfer *x,
		      enum tofu_status status);

/* icc_command_answered - the last answer of a command has come */
void icc_command_answered(struct icc *icc, struct icc_xfer *x,
			  enum tofu_status status);

/**
 * icc_part_max - how many of @bytes one packet can cover
 * @mtu:   TOFU_TOQ_MTU of the command
 * @refer: by reference
 */
static inline uint64_t icc_part_max(const struct icc *icc, unsigned int mtu,
				    bool refer, uint64_t bytes)
{
	uint64_t most = bytes;

	if (refer)
		return most < ICC_REFER_MAX ? most : ICC_REFER_MAX;
	if (most > icc->mtu)
		most = icc->mtu;
	if (mtu && most > mtu * TOFU_LINE)
		most = mtu * TOFU_LINE;
	return most;
}

/*
 * icc_cq_start - continue the command that is being sent, then start at most
 * ICC_BURST others; true when there was work
 */
bool icc_cq_start(struct icc *icc, struct icc_cq *cq);

/* ---- serve.c, response.c: stages by number, for the dispatcher ---- */

extern icc_stage_fn *const icc_request_stage[ICC_STAGES];
extern icc_stage_fn *const icc_response_stage[ICC_STAGES];

/**
 * icc_request_begin, icc_response_begin - begin the leg of an arrived packet
 *
 * icc_response_begin() counts the packet as bad and returns false where no
 * command waits for it.
 */
void icc_request_begin(struct icc *icc, struct icc_xfer *x,
		       const struct tofu_packet *pkt, const void *payload);
bool icc_response_begin(struct icc *icc, struct icc_xfer *x,
			const struct tofu_packet *pkt, const void *payload);

/*
 * icc_serve - serve a request, or go on with it; where it is new, there is room for the
 * (first) response
 *
 * Return: whether it is done; else it is to be offered again.
 */
bool icc_serve(struct icc *icc, const struct tofu_packet *pkt,
	       const void *payload);

/* icc_serve_begun - whether a part of the answer has been sent */
bool icc_serve_begun(const struct icc *icc, const struct tofu_packet *pkt);

/* icc_serve_forget - nothing is to be sent to an endpoint any more */
void icc_serve_forget(struct icc *icc, uint32_t endpoint);

/* icc_response - take a response */
void icc_response(struct icc *icc, const struct tofu_packet *pkt,
		  const void *payload);

/*
 * tid: the initiator's name of a command. It need not be secret: a response
 * must also come from the node that the request went to.
 */
#define ICC_TID_CQ_SHIFT 0
#define ICC_TID_CQ_BITS 4
#define ICC_TID_TNI_SHIFT 4
#define ICC_TID_TNI_BITS 4
#define ICC_TID_GATE_SHIFT 8 /* of a signal, else 0 */
#define ICC_TID_GATE_BITS 8
#define ICC_TID_SEQ_SHIFT 16
#define ICC_TID_SEQ_BITS 48

/* icc_tid - the name of a command */
static inline uint64_t icc_tid(const struct icc_cq *cq,
			       const struct icc_command *c)
{
	return TOFU_SET(ICC_TID_CQ, cq->cq) | TOFU_SET(ICC_TID_TNI, cq->tni) |
	       TOFU_SET(ICC_TID_SEQ, c->seq);
}

/* ---- translate.c ---- */

/**
 * struct icc_span - a piece of the memory of a command
 * @total:  bytes of the command; all of them must be in the region
 * @offset: of the piece
 * @length: of the piece
 * @write:  the piece will be written
 */
struct icc_span {
	uint64_t total;
	uint64_t offset;
	uint64_t length;
	bool write;
};

/**
 * icc_translate - look an address up
 * @addr:  TOFU_ADDR_*
 * @range: set on success; for a span without bytes it is empty
 */
enum icc_fault icc_translate(struct icc *icc, struct icc_cq *cq,
			     uint64_t addr, const struct icc_span *span,
			     struct icc_range *range);

/**
 * icc_range_next - the next bytes that are contiguous on the bus
 *
 * Pages that follow each other on the bus are one piece.
 *
 * Return: 1; 0 at the end; -EFAULT where the page table cannot be read.
 */
int icc_range_next(struct icc *icc, struct icc_range *range,
		   struct tofu_ref *piece);

/* ---- data.c ---- */

/* icc_out_carried - bytes of an outbox that really travel */
static inline uint32_t icc_out_carried(const struct icc_outbox *out)
{
	return out->blank ? 0 : out->bytes;
}

/*
 * icc_out_begin - begin the packet for data that are gathered next, if there is room:
 * then they need no second copy
 */
void icc_out_begin(struct icc *icc, struct icc_outbox *out, uint32_t peer,
		   enum tofu_class class_, size_t bytes);

/*
 * icc_out_packet - the packet for an outbox, with its payload behind the header, as of
 * tx_begin
 */
struct tofu_packet *icc_out_packet(struct icc *icc, struct icc_outbox *out,
				   uint32_t peer, enum tofu_class class_,
				   int *err);

/**
 * icc_gather - fill an outbox from a range
 * @refer: with references, as many as it has room for; else with data, which fit
 *
 * Return: 0, or -EFAULT.
 */
int icc_gather(struct icc *icc, struct icc_range *range, bool refer,
	       struct icc_outbox *out);

/**
 * enum icc_carriage - how the next part of a transfer goes
 * @ICC_CARRY: its data go in the packet
 * @ICC_REFER: by reference
 * @ICC_WAIT:  not now
 */
enum icc_carriage {
	ICC_CARRY,
	ICC_REFER,
	ICC_WAIT,
};

/**
 * icc_carriage - decide that, before the part is read
 * @peer:  the receiver, or -1
 * @total: bytes of the command
 * @looks: in vain for room, from 0
 */
enum icc_carriage icc_carriage(struct icc *icc, int64_t peer,
			       enum tofu_class class_, uint64_t total,
			       uint32_t *looks);

/**
 * icc_scatter - put the payload of a packet into a range
 * @ordered: the bytes land in ascending order
 *
 * Return: 0; -EMSGSIZE: the payload is not pkt->length bytes, nothing was
 * written; -EFAULT: the node's own memory; -EHOSTDOWN: the sender's memory.
 */
int icc_scatter(struct icc *icc, const struct tofu_packet *pkt,
		const void *payload, struct icc_range *range, bool ordered);

/* ---- route.c ---- */

/* icc_port_count_sent, icc_port_count_arrived - count a packet at its port */
void icc_port_count_sent(struct icc *icc, uint32_t endpoint,
			 unsigned int path, uint64_t bytes);
void icc_port_count_arrived(struct icc *icc, const struct tofu_packet *pkt);

/* icc_ports_reset - reset the counters of the ports */
void icc_ports_reset(struct icc *icc);

/* icc_route_coords - TOFU_ROUTE_X … C of the sender */
uint64_t icc_route_coords(struct icc *icc, const struct tofu_packet *pkt);

/* ---- stream.c ---- */

void icc_streams_destroy(struct icc *icc);

/**
 * icc_stream_carry - when a request is carried out that could be at @time, ns
 *
 * Requests of a CQ to an engine are carried out in order.
 *
 * Return: @time, or when the last one before it is carried out if that is
 * later; UINT64_MAX where there is no memory.
 */
uint64_t icc_stream_carry(struct icc *icc, const struct tofu_packet *pkt,
			  uint64_t time);

/**
 * icc_stream_status - the status of a packet of a put
 * @status: of this packet alone
 *
 * Only the last packet of a put is answered when all is well. Where a packet
 * before it has failed, the last one gets the status of that and has no effect.
 */
enum tofu_status icc_stream_status(struct icc *icc,
				   const struct tofu_packet *pkt,
				   enum tofu_status status);

/* ---- flush.c ---- */

void icc_flush_begin(struct icc *icc, struct icc_cq *cq);

/* icc_flush_progress - begin and end fences, flushes and the reset */
bool icc_flush_progress(struct icc *icc);

void icc_reset_begin(struct icc *icc);

#endif /* ICC_INTERNAL_H */
