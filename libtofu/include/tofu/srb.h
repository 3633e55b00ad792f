/* SPDX-License-Identifier: MIT */
/*
 * Shared receive buffers: each process has one ring, into which all others
 * write records, so that its memory does not grow with the number of peers.
 * Documentation/library/srb.rst describes the protocol.
 *
 * Functions return enum utofu_return_code. A ring belongs to one thread at a
 * time, and so does a sender.
 */
#ifndef TOFU_SRB_H
#define TOFU_SRB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define TOFU_SRB_BYTES_MIN (UINT64_C(1) << 12)
#define TOFU_SRB_BYTES_MAX (UINT64_C(1) << 30)

/* STAGs of a ring: one for its counters, 16 for its epochs in turn */
#define TOFU_SRB_STAGS 17

/* Bytes of a record beside its payload, which is padded to 8 bytes */
#define TOFU_SRB_OVERHEAD 16

/* ---- Receiving ---- */

struct tofu_srb;

/**
 * struct tofu_srb_params - parameters of a ring
 * @bytes:       power of two, TOFU_SRB_BYTES_MIN … TOFU_SRB_BYTES_MAX
 * @stag:        first of TOFU_SRB_STAGS STAGs of the VCQ, reserved for the ring
 * @patience_ns: how long a sender may leave its reserved bytes unwritten; 0:
 *               10^9, plus 10 for each byte of the longest record, which is
 *               half of @bytes
 */
struct tofu_srb_params {
	size_t bytes;
	unsigned int stag;
	uint64_t patience_ns;
};

/**
 * struct tofu_srb_address - what a sender needs to know of a ring
 * @vcq:  the owner's VCQ
 * @ring: opaque: STAG and size; equal for all rings with the same parameters
 */
struct tofu_srb_address {
	utofu_vcq_id_t vcq;
	uint64_t ring;
};

/**
 * struct tofu_srb_record - a received record
 * @part:  payload in the ring, in two pieces if it wraps; a piece may be empty
 * @bytes: total of both pieces
 */
struct tofu_srb_record {
	struct iovec part[2];
	size_t bytes;
};

/**
 * struct tofu_srb_counts - counters of a ring
 * @records: records delivered
 * @padding: records of padding
 * @epochs:  epochs ended
 * @skipped: bytes that were reserved and never delivered, as far as is known
 */
struct tofu_srb_counts {
	uint64_t records;
	uint64_t padding;
	uint64_t epochs;
	uint64_t skipped;
};

/**
 * tofu_srb_create - create a ring
 * @vcq:    VCQ of the owner, used for nothing else
 * @params: parameters
 * @srb:    set to the ring
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_SIZE for
 * @params->bytes; UTOFU_ERR_INVALID_STAG: the VCQ does not have all these
 * STAGs; UTOFU_ERR_USED: one of them is in use; UTOFU_ERR_OUT_OF_MEMORY, or
 * what utofu_reg_mem_with_stag() returns; UTOFU_ERR_NOT_SUPPORTED on a machine
 * without remote atomics.
 */
int tofu_srb_create(utofu_vcq_hdl_t vcq, const struct tofu_srb_params *params,
		    struct tofu_srb **srb);

/**
 * tofu_srb_free - free a ring
 * @srb: ring, or NULL
 *
 * Sends that are under way fail at their senders.
 */
void tofu_srb_free(struct tofu_srb *srb);

/**
 * tofu_srb_address - compute the address of a ring
 * @vcq:     VCQ ID of the ring's owner
 * @params:  parameters of the ring
 * @address: filled
 *
 * Needs no communication: any process that can name the owner's VCQ can send to
 * it.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_SIZE and
 * UTOFU_ERR_INVALID_STAG as tofu_srb_create(); UTOFU_ERR_INVALID_VCQ_ID.
 */
int tofu_srb_address(utofu_vcq_id_t vcq, const struct tofu_srb_params *params,
		     struct tofu_srb_address *address);

/**
 * tofu_srb_receive - look for the next record
 * @srb:    ring
 * @record: set to it, valid until tofu_srb_release()
 *
 * Senders that follow the protocol no longer write the record. Others can, so
 * two reads of the same bytes may differ. Returns the same record until it is
 * released.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND: none is complete; the error that
 * ending an epoch met, then and in all later calls.
 */
int tofu_srb_receive(struct tofu_srb *srb, struct tofu_srb_record *record);

/**
 * tofu_srb_release - give a record's bytes back to senders
 * @srb: ring
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND where no record is held.
 */
int tofu_srb_release(struct tofu_srb *srb);

/**
 * tofu_srb_counts - read the counters of a ring
 * @srb:    ring
 * @counts: filled
 */
void tofu_srb_counts(const struct tofu_srb *srb, struct tofu_srb_counts *counts);

/* ---- Sending ---- */

struct tofu_srb_sender;
struct tofu_srb_flow;

/**
 * DOC: TOFU_SRB_SENDER_*
 * @SERIAL: step 2 begins when step 1 has ended
 * @FRESH:  the consumer index is read for each record
 */
#define TOFU_SRB_SENDER_SERIAL 1U
#define TOFU_SRB_SENDER_FRESH 2U

/* A notice has 8 bits to say which record its command belongs to. */
#define TOFU_SRB_RECORDS_MAX 256

/**
 * struct tofu_srb_sender_params - parameters of a sender
 * @pool:    bytes for records under way; no record can be larger
 * @records: records that can be under way, 1 … TOFU_SRB_RECORDS_MAX
 * @flags:   TOFU_SRB_SENDER_*, to measure what it costs
 */
struct tofu_srb_sender_params {
	size_t pool;
	unsigned int records;
	unsigned int flags;
};

/**
 * struct tofu_srb_peer - a receiver as a sender knows it
 * @address:  address of its ring
 * @consumer: last known consumer index; initially 0
 * @stale:    whether that index left too little room last time; initially 0
 * @flow:     the sender's state of what is under way; initially NULL
 *
 * Owned by the caller, who may keep it, and may drop it whenever nothing is
 * under way to the ring. While something is under way, a ring has one such
 * structure per sender.
 */
struct tofu_srb_peer {
	struct tofu_srb_address address;
	uint64_t consumer;
	int stale;
	struct tofu_srb_flow *flow;
};

/**
 * tofu_srb_sender_create - create a sender
 * @vcq:    VCQ, used for nothing else
 * @params: parameters
 * @sender: set to the sender
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (@params->records), UTOFU_ERR_INVALID_SIZE (@params->pool),
 * UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_OUT_OF_MEMORY; UTOFU_ERR_NOT_SUPPORTED on
 * a machine without remote atomics; or what utofu_reg_mem() returns.
 */
int tofu_srb_sender_create(utofu_vcq_hdl_t vcq,
			   const struct tofu_srb_sender_params *params,
			   struct tofu_srb_sender **sender);

/**
 * tofu_srb_sender_free - free a sender, even with records under way
 * @sender: sender, or NULL
 *
 * Some of the records under way may arrive, others leave holes.
 */
void tofu_srb_sender_free(struct tofu_srb_sender *sender);

/**
 * tofu_srb_send - begin to send a record
 * @sender: sender
 * @peer:   receiver; has to stay while records to it are under way
 * @part:   pieces of the payload; copied
 * @parts:  number of pieces
 * @cbdata: returned by tofu_srb_poll()
 *
 * The records that a sender sends to one ring arrive in the order of these
 * calls.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY: the sender has no room now;
 * UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_ARG: not the address of a ring;
 * UTOFU_ERR_INVALID_VCQ_ID; UTOFU_ERR_INVALID_SIZE: payload and
 * TOFU_SRB_OVERHEAD exceed half the ring, or the pool; or the error that broke
 * the sender.
 */
int tofu_srb_send(struct tofu_srb_sender *sender, struct tofu_srb_peer *peer,
		  const struct iovec *part, unsigned int parts, void *cbdata);

/**
 * tofu_srb_poll - make progress, and take the next send that has ended
 * @sender: sender
 * @cbdata: set to the value that the send was given
 * @result: set to UTOFU_SUCCESS: the record lies in the ring, and will be
 *          delivered unless the receiver ends first; or to an error, such as
 *          UTOFU_ERR_MRQ_PEER
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND: no send has ended;
 * UTOFU_ERR_TCQ_*, UTOFU_ERR_MRQ_*: the queue is broken.
 */
int tofu_srb_poll(struct tofu_srb_sender *sender, void **cbdata, int *result);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_SRB_H */
