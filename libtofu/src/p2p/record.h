/* SPDX-License-Identifier: MIT */
/*
 * What the records of the rings say. A record is its sender's word, and read
 * once: sizes are compared with the record's, ranks with the number of processes,
 * handles with the requests that there are, and STADDs are for uTofu to judge.
 *
 * A rank that is not the sender's own is something that a sender can write: then
 * the message is taken for that process's, and answers go to that process, which knows no
 * request of that handle. Processes of a program are not protected from each
 * other's lies, only from their consequences to memory.
 */
#ifndef P2P_RECORD_H
#define P2P_RECORD_H

#include <stdint.h>

/**
 * enum p2p_kind - of a record
 * @P2P_EAGER: request: a message: struct p2p_head, tag, and then the bytes
 * @P2P_GET:   request: struct p2p_announce of a message to be got
 * @P2P_PUT:   request: struct p2p_announce of a message to be put
 * @P2P_MOVED: request: the sender goes on in the other ring
 * @P2P_DONE:  reply: the message with the handle is received
 * @P2P_READY: reply: the message with the handle can be put
 * @P2P_FIN:   reply: the putting for the receive with the handle has ended
 * @P2P_OWN:   reply: the address of an own ring
 * @P2P_NONE:  reply: there is none now
 * @P2P_NEVER: reply: there will be none
 * @P2P_BACK:  reply: the own ring is taken back
 * @P2P_HELLO: reply: nothing; that it arrives says that somebody is there
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
};

/* In a request: the sender would like to have an own ring. */
#define P2P_ASK 1

/**
 * struct p2p_head - how every record begins
 * @kind:   enum p2p_kind
 * @flags:  P2P_ASK
 * @source: rank
 * @tag:    of a message, else 0
 */
struct p2p_head {
	uint16_t kind;
	uint16_t flags;
	uint32_t source;
	uint64_t tag;
};

/**
 * struct p2p_announce - P2P_GET, P2P_PUT
 * @bytes:  of the message
 * @handle: of the send
 * @vcq:    that the sender's transfers go through
 * @stadd:  of the message, where it is to be got
 */
struct p2p_announce {
	struct p2p_head head;
	uint64_t bytes;
	uint64_t handle;
	uint64_t vcq;
	uint64_t stadd;
};

/**
 * struct p2p_reply
 * @handle: of the other's request
 * @code:   of P2P_DONE and P2P_FIN: what became of it
 * @slot:   of P2P_READY: edata of the notice that is wanted, or P2P_SILENT
 * @own:    of P2P_READY: handle of the receive
 * @vcq, @stadd, @bytes: of P2P_READY: where to put, and how much. Of P2P_OWN:
 *          the ring
 * @consumer: of P2P_OWN: STADD of the word
 */
struct p2p_reply {
	struct p2p_head head;
	uint64_t handle;
	int32_t code;
	uint32_t slot;
	uint64_t own;
	uint64_t vcq;
	uint64_t stadd;
	uint64_t bytes;
	uint64_t consumer;
};

#define P2P_SILENT UINT32_MAX

#endif /* P2P_RECORD_H */
