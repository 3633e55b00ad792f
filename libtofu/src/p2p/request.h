/* SPDX-License-Identifier: MIT */
/* Messages, and the sends and receives that they are parts of. */
#ifndef P2P_REQUEST_H
#define P2P_REQUEST_H

#include <sys/queue.h>

#include <tofu/p2p.h>

#include "p2p/account.h"
#include "p2p/match.h"
#include "p2p/record.h"
#include "utofu/work.h"

/* ---- Messages ---- */

/**
 * struct p2p_message - a message without its data
 * @source, @tag, @bytes: of the message
 * @kind:   P2P_EAGER, P2P_GET, P2P_PUT; P2P_SELF: from this process to itself,
 *          held by the send
 * @flags:  P2P_DATA: it has @data
 * @handle: of the send, unless eager
 * @vcq, @stadd: of an announced message: the sender's VCQ and buffer
 */
struct p2p_message {
	uint32_t source;
	uint16_t kind;
	uint16_t flags;
	uint64_t tag;
	uint64_t bytes;
	uint64_t handle;
	utofu_vcq_id_t vcq;
	utofu_stadd_t stadd;
	uint32_t data;
};

/* Not a kind of a record */
#define P2P_SELF UINT16_MAX

/**
 * struct p2p_unexpected - a message that no receive has matched
 * @node:  in the table
 * @link:  of a claimed message, which is not in the table
 * @class: class of the memory: P2P_REQUESTS where a send holds it
 * @size:  size of this structure with its data
 * @data:  data of an eager message
 */
struct p2p_unexpected {
	union {
		struct p2p_match_message node;
		TAILQ_ENTRY(p2p_unexpected) link;
	};
	struct p2p_message message;
	enum p2p_class class;
	size_t size;
	char data[];
};

TAILQ_HEAD(p2p_claimed, p2p_unexpected);

/* p2p_unexpected_bytes - compute the memory of a message with its data */
static inline size_t p2p_unexpected_bytes(size_t bytes)
{
	return sizeof(struct p2p_unexpected) + bytes;
}

/* ---- Requests ---- */

/**
 * enum p2p_state - what a request waits for
 * @P2P_FREE:     nothing: it is unused
 * @P2P_PEERLESS: send, receive: an entry for its peer
 * @P2P_QUEUED:   send: its turn, and room in the sender
 * @P2P_OFFERED:  send: whether its receiver wants it; still in its queue
 * @P2P_SENT:     send: its record's arrival; or the answer to a rendezvous, or to a message
 *                that is to be delivered
 * @P2P_POSTED:   receive: a message
 * @P2P_HELD:     send to this process: a receive
 * @P2P_STARTING: its turn to move data
 * @P2P_POSTING:  room in the queue
 * @P2P_MOVING:   a transfer
 * @P2P_AWAITED:  receive: the sender's transfer
 * @P2P_REPLYING: receive, send: room for a reply
 * @P2P_TELLING:  receive, send: its last reply's arrival
 * @P2P_ENDED:    the user
 */
enum p2p_state {
	P2P_FREE,
	P2P_PEERLESS,
	P2P_QUEUED,
	P2P_OFFERED,
	P2P_SENT,
	P2P_POSTED,
	P2P_HELD,
	P2P_STARTING,
	P2P_POSTING,
	P2P_MOVING,
	P2P_AWAITED,
	P2P_REPLYING,
	P2P_TELLING,
	P2P_ENDED,
};

struct p2p_peer;
struct p2p_ring;

/**
 * enum p2p_access - whether a request is about memory of another process
 * @P2P_NO_ACCESS: it is a message
 * @P2P_MOVE:      a put or get
 * @P2P_ATOMIC:    an operation on a word
 */
enum p2p_access {
	P2P_NO_ACCESS,
	P2P_MOVE,
	P2P_ATOMIC,
};

/**
 * struct p2p_atomic - an operation on a word of another process
 * @op:       without @compares
 * @compares: compare and swap: @value replaces @compare
 */
struct p2p_atomic {
	enum utofu_armw_op op;
	bool compares;
	uint64_t value;
	uint64_t compare;
};

/**
 * struct tofu_p2p_request - a send or receive, or a one-sided operation
 * @node:    of a receive: in the table of posted ones
 * @untaken: of a send, in its peer's list of these
 * @atomic:  of one; @buf is for its result, or NULL, and @room its 4 or 8 bytes
 * @message: message to send, or message found
 * @link:    in the list for its state
 * @index, @generation: its place, and how often that was used: together its
 *     handle
 * @sends:   true: a send to @dest, or a put or atomic; false: a receive, or a get
 * @replies: in P2P_REPLYING: P2P_DONE, P2P_READY, P2P_FIN, P2P_TAKEN
 * @last:    in P2P_REPLYING: it ends when the reply is out; a posted one when
 *           the reply is there
 * @code:    code that it ends with
 * @peer:    the other process; pinned
 * @buf, @room: the user's buffer
 * @moved:   bytes transferred, of @length
 * @local:   STADD of @buf, where @registered
 * @region:  the remembered registration that it is part of; NULL: it has its
 *           own
 * @slot:    for the notice at the end of a put: the receiver's, or P2P_SILENT
 * @sought:  in P2P_POSTED: peers that hold messages back are asked for it
 * @posted:  tofu_p2p_ended() tells its end, unless @flags say otherwise
 * @access:  enum p2p_access: it moves without the other process, which is @dest
 * @flags:   TOFU_P2P_*
 * @context: the user's
 * @copy:    of what @buf had, or NULL
 * @tells:   its receiver has to say that it has taken it
 * @told:    in the list of ended ones
 */
struct tofu_p2p_request {
	union {
		struct p2p_match_receive node;
		struct p2p_atomic atomic;
		TAILQ_ENTRY(tofu_p2p_request) untaken;
	};
	struct p2p_message message;
	TAILQ_ENTRY(tofu_p2p_request) link;
	uint32_t index;
	uint32_t generation;
	uint32_t dest;
	bool sends;
	bool last;
	bool registered;
	uint8_t replies;
	enum p2p_state state;
	int code;
	struct p2p_peer *peer;
	void *buf;
	size_t room;
	size_t moved;
	size_t length;
	utofu_stadd_t local;
	struct p2p_region *region;
	uint32_t slot;
	bool sought;
	bool posted;
	bool tells;
	uint8_t access;
	unsigned int flags;
	void *context;
	void *copy;
	STAILQ_ENTRY(tofu_p2p_request) told;
};

TAILQ_HEAD(p2p_requests, tofu_p2p_request);
STAILQ_HEAD(p2p_told, tofu_p2p_request);

/* Requests in a slab */
#define P2P_SLAB 64

/* Room for pointers to slabs, at least */
#define P2P_SLABS_MIN 16

/* Memory of the first slab */
#define P2P_REQUESTS_FLOOR                                 \
	(P2P_SLAB * sizeof(struct tofu_p2p_request) +      \
	 P2P_SLABS_MIN * sizeof(struct tofu_p2p_request *))

/**
 * struct p2p_slabs - all requests
 * @slab:  pointers to @slabs arrays of P2P_SLAB; @room: room for pointers
 * @free:  unused requests
 */
struct p2p_slabs {
	struct tofu_p2p_request **slab;
	size_t slabs;
	size_t room;
	struct p2p_requests free;
};

/* p2p_request_new - allocate a request. Return: NULL if out of memory */
struct tofu_p2p_request *p2p_request_new(struct tofu_p2p *p2p, bool sends);

/* p2p_request_begin - the same, where it is the beginning of what is done */
static inline struct tofu_p2p_request *p2p_request_begin(struct tofu_p2p *p2p,
							 bool sends)
{
	tofu_work(sends ? TOFU_WORK_P2P_SEND : TOFU_WORK_P2P_RECEIVE);
	return p2p_request_new(p2p, sends);
}

void p2p_request_free(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

#define P2P_INDEX_BITS 32

static inline uint64_t
p2p_request_handle(const struct tofu_p2p_request *request)
{
	return (uint64_t)request->generation << P2P_INDEX_BITS | request->index;
}

/* p2p_request_find - get the request of a handle from a peer, or NULL */
struct tofu_p2p_request *p2p_request_find(const struct tofu_p2p *p2p,
					  uint64_t handle);

/* p2p_request_at - get the request of an index, or NULL where none is in use */
struct tofu_p2p_request *p2p_request_at(const struct tofu_p2p *p2p,
					uint32_t index);

/*
 * p2p_request_copy - copy a request's buffer: from now on the user may write to it
 *
 * Return: false without memory.
 */
bool p2p_request_copy(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_request_drop - free a request that has not begun, and its copy */
void p2p_request_drop(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_request_end - free everything that a request has, but not the request */
void p2p_request_end(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		     int code);

int p2p_slabs_make(struct tofu_p2p *p2p);
void p2p_slabs_free(struct tofu_p2p *p2p);

#endif /* P2P_REQUEST_H */
