/* SPDX-License-Identifier: MIT */
/*
 * Contents of the records in rings. A record is not trusted, and read once:
 * sizes are compared with the record's, ranks with the number of processes,
 * handles with the existing requests; uTofu checks STADDs.
 *
 * In a ring of several, a sender can write another process's rank. Then the
 * message is taken for that process's, and answers go to that process, which has
 * no request of that handle. The processes of a program are not protected from
 * each other's false statements, but their memory is.
 *
 * A ring of one sender tells the source, and the label of its record has kind
 * and flags. The record begins behind what is known so: a short one then fits
 * into a command.
 */
#ifndef P2P_RECORD_H
#define P2P_RECORD_H

#include <stddef.h>
#include <stdint.h>

/**
 * enum p2p_kind - kinds of records
 * @P2P_EAGER: request: a message: struct p2p_head, tag, and then the bytes
 * @P2P_GET:   request: struct p2p_announce of a message to be got
 * @P2P_PUT:   request: struct p2p_announce of a message to be put
 * @P2P_MOVED: request: the sender continues in the other ring
 * @P2P_DONE:  reply: the message with the handle is received
 * @P2P_READY: reply: the message with the handle can be put
 * @P2P_FIN:   reply: the puts for the receive with the handle have ended
 * @P2P_OWN:   reply: the address of an own ring
 * @P2P_NONE:  reply: there is no own ring now
 * @P2P_NEVER: reply: there will be no own ring
 * @P2P_BACK:  reply: an own ring is taken back
 * @P2P_HELLO: reply: no contents; its arrival shows that the process is there
 * @P2P_HOLD:  reply: no room for messages that nobody waits for: offer them
 * @P2P_GO:    reply: there is room again
 * @P2P_DECLINED: reply: nobody waits for the offered message with the handle
 * @P2P_WANT:  reply: somebody waits for such a message
 * @P2P_NONE_SUCH: reply, to that: there is none
 * @P2P_TAKEN: reply: the eager message with the handle is out of its ring, and so are those
 *             before it that ask for this
 */
enum p2p_kind {
	P2P_EAGER = 1,
	P2P_GET,
	P2P_PUT,
	P2P_MOVED,
	P2P_DONE,
	P2P_READY,
	P2P_FIN,
	P2P_OWN,
	P2P_NONE,
	P2P_NEVER,
	P2P_BACK,
	P2P_HELLO,
	P2P_HOLD,
	P2P_GO,
	P2P_DECLINED,
	P2P_WANT,
	P2P_NONE_SUCH,
	P2P_TAKEN,
};

/*
 * Flags of a request: the sender asks for an own ring; the record ends with
 * immediate data, uint32_t; it is a struct p2p_offer, which may be declined, or
 * which may not; the handle of the send is behind the message, before any data, and
 * is to be told by P2P_TAKEN
 */
#define P2P_ASK 1
#define P2P_DATA 2
#define P2P_OFFER 4
#define P2P_ANSWER 8
#define P2P_TELL 16

/**
 * struct p2p_head - first part of every record
 * @kind:   enum p2p_kind
 * @flags:  P2P_ASK, P2P_DATA, P2P_OFFER, P2P_ANSWER, P2P_TELL
 * @source: rank of the sender
 * @tag:    tag of a message, else 0
 */
struct p2p_head {
	uint8_t kind;
	uint8_t flags;
	uint16_t unused;
	uint32_t source;
	uint64_t tag;
};

/* Bytes of the head that are not in a request, or reply, in a ring of one sender */
#define P2P_REQUEST_KNOWN offsetof(struct p2p_head, tag)
#define P2P_REPLY_KNOWN sizeof(struct p2p_head)

/* Labels of records: flags above kind */
#define P2P_LABEL_SHIFT 8

static inline uint16_t p2p_label(const struct p2p_head *head)
{
	return (uint16_t)(head->flags << P2P_LABEL_SHIFT | head->kind);
}

static inline struct p2p_head p2p_label_head(uint16_t label, uint32_t source)
{
	return (struct p2p_head){
		.kind = (uint8_t)label,
		.flags = (uint8_t)(label >> P2P_LABEL_SHIFT),
		.source = source,
	};
}

/**
 * struct p2p_announce - P2P_GET, P2P_PUT
 * @bytes:  length of the message
 * @handle: handle of the send
 * @vcq:    VCQ of the sender's transfers
 * @stadd:  STADD of the message, if it is to be got
 */
struct p2p_announce {
	struct p2p_head head;
	uint64_t bytes;
	uint64_t handle;
	uint64_t vcq;
	uint64_t stadd;
};

/**
 * struct p2p_offer - P2P_PUT by a peer that holds messages back
 * @seen:     what the last P2P_WANT says of receives, or 0
 * @episode:  of the P2P_HOLD
 * @question: of the P2P_WANT that it answers, or 0
 */
struct p2p_offer {
	struct p2p_announce announce;
	uint64_t seen;
	uint32_t episode;
	uint32_t question;
};

/**
 * struct p2p_reply
 * @handle: handle of the request that the peer has; P2P_WANT: receives with lower
 *     numbers have all been asked for then; P2P_NONE_SUCH: the question
 * @code:   P2P_DONE and P2P_FIN: the result; P2P_WANT: it is to be sent, with all
 *     that come before it
 * @slot:   P2P_READY: edata for the requested notice, or P2P_SILENT; P2P_HOLD,
 *     P2P_WANT, P2P_NONE_SUCH: the episode
 * @own:    P2P_READY: handle of the receive; P2P_WANT: number of the question
 * @vcq, @stadd, @bytes: P2P_READY: where to put, and how much; P2P_OWN: the
 *     ring
 * @consumer: P2P_OWN: STADD of the consumer's word
 * @tag, @ignore: P2P_WANT: of the message, and bits that may differ
 *
 * Other kinds than P2P_READY, P2P_OWN and P2P_WANT end with @slot.
 */
struct p2p_reply {
	struct p2p_head head;
	uint64_t handle;
	int32_t code;
	uint32_t slot;
	uint64_t own;
	union {
		uint64_t vcq;
		uint64_t tag;
	};
	union {
		uint64_t stadd;
		uint64_t ignore;
	};
	uint64_t bytes;
	uint64_t consumer;
};

#define P2P_SILENT UINT32_MAX

static inline size_t p2p_reply_bytes(uint16_t kind)
{
	return kind == P2P_READY || kind == P2P_OWN || kind == P2P_WANT ?
		       sizeof(struct p2p_reply) :
		       offsetof(struct p2p_reply, own);
}

#endif /* P2P_RECORD_H */
