/* SPDX-License-Identifier: MIT */
/*
 * Shared receive buffers: one ring a process, into which all others write
 * records, so that memory does not grow with the number of peers.
 * Documentation/library/srb.rst is the protocol.
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

/* STAGs of a ring: one for its counters, the others for its epochs in turn */
#define TOFU_SRB_STAGS 17

/* What a record takes beside its payload, which is padded to 8 bytes */
#define TOFU_SRB_OVERHEAD 16

/* ---- Receiving ---- */

struct tofu_srb;

/**
 * struct tofu_srb_params - a ring
 * @bytes:       power of two, TOFU_SRB_BYTES_MIN … TOFU_SRB_BYTES_MAX
 * @stag:        first of TOFU_SRB_STAGS STAGs of the VCQ that are kept for it
 * @patience_ns: how long a sender may leave its place empty; 0: 10^9, and 10 for
 *               each byte of the longest record, which is half of @bytes
 */
struct tofu_srb_params {
	size_t bytes;
	unsigned int stag;
	uint64_t patience_ns;
};

/**
 * struct tofu_srb_address - all that a sender has to know of a ring
 * @vcq:  its owner's VCQ
 * @ring: opaque: STAG and size; the same of all rings with the same params
 */
struct tofu_srb_address {
	utofu_vcq_id_t vcq;
	uint64_t ring;
};

/**
 * struct tofu_srb_record - what has come
 * @part:  payload in the ring, the second piece of one that wraps; may be empty
 * @bytes: of both
 */
struct tofu_srb_record {
	struct iovec part[2];
	size_t bytes;
};

/**
 * struct tofu_srb_counts - what a ring has seen
 * @records: delivered
 * @padding: records of padding
 * @epochs:  that were ended
 * @skipped: bytes that were reserved and never delivered, as far as is known
 */
struct tofu_srb_counts {
	uint64_t records;
	uint64_t padding;
	uint64_t epochs;
	uint64_t skipped;
};

/**
 * tofu_srb_create - make a ring
 * @vcq:    of the owner, used for nothing else
 * @params: how
 * @srb:    set to it
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_SIZE of
 * @params->bytes; UTOFU_ERR_INVALID_STAG: they are not all there;
 * UTOFU_ERR_USED: one is; UTOFU_ERR_OUT_OF_MEMORY, or what
 * utofu_reg_mem_with_stag() returns.
 */
int tofu_srb_create(utofu_vcq_hdl_t vcq, const struct tofu_srb_params *params,
		    struct tofu_srb **srb);

/**
 * tofu_srb_free - free a ring; NULL is nothing
 * @srb: ring
 *
 * Sends that are under way fail with their senders.
 */
void tofu_srb_free(struct tofu_srb *srb);

/**
 * tofu_srb_address - tell where to send to
 * @vcq:     VCQ ID of a ring's owner
 * @params:  of the ring
 * @address: set
 *
 * Needs nothing from the owner: who can name its VCQ can send to it.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_SIZE and
 * UTOFU_ERR_INVALID_STAG as tofu_srb_create(); UTOFU_ERR_INVALID_VCQ_ID.
 */
int tofu_srb_address(utofu_vcq_id_t vcq, const struct tofu_srb_params *params,
		     struct tofu_srb_address *address);

/**
 * tofu_srb_receive - look for the next record
 * @srb:    ring
 * @record: set to it, good until tofu_srb_release()
 *
 * Senders that keep to the protocol write it no more; others can, so that what
 * is read twice may differ. Returns the same record until it is released.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND: none is complete; what went wrong
 * when an epoch was to be ended, as all later calls.
 */
int tofu_srb_receive(struct tofu_srb *srb, struct tofu_srb_record *record);

/**
 * tofu_srb_release - give a record's bytes back to senders
 * @srb: ring
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND where none is held.
 */
int tofu_srb_release(struct tofu_srb *srb);

/**
 * tofu_srb_counts - tell what a ring has seen
 * @srb:    ring
 * @counts: set
 */
void tofu_srb_counts(const struct tofu_srb *srb, struct tofu_srb_counts *counts);

/* ---- Sending ---- */

struct tofu_srb_sender;
struct tofu_srb_flow;

/**
 * DOC: TOFU_SRB_PORT_*
 * @SERIAL: step 2 begins when step 1 has ended
 * @FRESH:  the consumer is read for each record
 */
#define TOFU_SRB_PORT_SERIAL 1U
#define TOFU_SRB_PORT_FRESH 2U

/* A notice of a command has 8 bits to say which record it is of. */
#define TOFU_SRB_RECORDS_MAX 256

/**
 * struct tofu_srb_sender_params - where records go out
 * @pool:    bytes for records that are under way; no record can be larger
 * @records: that can be under way, 1 … TOFU_SRB_RECORDS_MAX
 * @flags:   TOFU_SRB_PORT_*, to see what it costs
 */
struct tofu_srb_sender_params {
	size_t pool;
	unsigned int records;
	unsigned int flags;
};

/**
 * struct tofu_srb_peer - a receiver as a sender knows it
 * @address:  of its ring
 * @consumer: what is known of it; 0 to begin with
 * @stale:    whether that was not enough last time; 0 to begin with
 * @flow:     the sender's, for what is under way; NULL to begin with
 *
 * The caller's, if it wants to keep what is known; may be forgotten whenever
 * nothing is under way to it. While something is, a ring has one of these with
 * a sender.
 */
struct tofu_srb_peer {
	struct tofu_srb_address address;
	uint64_t consumer;
	int stale;
	struct tofu_srb_flow *flow;
};

/**
 * tofu_srb_sender_create - make a sender
 * @vcq:    used for nothing else
 * @params: how
 * @sender:   set to it
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER (of
 * records), UTOFU_ERR_INVALID_SIZE (of the pool), UTOFU_ERR_INVALID_FLAGS,
 * UTOFU_ERR_OUT_OF_MEMORY; or what utofu_reg_mem() returns.
 */
int tofu_srb_sender_create(utofu_vcq_hdl_t vcq,
			   const struct tofu_srb_sender_params *params,
			   struct tofu_srb_sender **sender);

/**
 * tofu_srb_sender_free - free a sender, whatever is under way; NULL is nothing
 * @sender: sender
 *
 * Of records that are under way some may arrive, and others leave holes.
 */
void tofu_srb_sender_free(struct tofu_srb_sender *sender);

/**
 * tofu_srb_send - begin to send a record
 * @sender:   sender
 * @peer:   to whom; has to stay while records to it are under way
 * @part:   payload, @parts pieces; copied
 * @parts:  of them
 * @cbdata: given back by tofu_srb_poll()
 *
 * Records of a sender to one ring arrive in the order of these calls.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY: no room in the sender now;
 * UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_ARG: no address of a ring;
 * UTOFU_ERR_INVALID_VCQ_ID; UTOFU_ERR_INVALID_SIZE: with TOFU_SRB_OVERHEAD more
 * than half the ring, or than the pool; or what the sender is broken with.
 */
int tofu_srb_send(struct tofu_srb_sender *sender, struct tofu_srb_peer *peer,
		  const struct iovec *part, unsigned int parts, void *cbdata);

/**
 * tofu_srb_poll - go on with all that is under way, and ask for one that has ended
 * @sender:   sender
 * @cbdata: set to what the send has been given
 * @result: set to UTOFU_SUCCESS: it lies in the ring, and will be delivered unless
 *          the receiver ends before; or to what went wrong, such as
 *          UTOFU_ERR_MRQ_PEER
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND: none has; UTOFU_ERR_TCQ_*,
 * UTOFU_ERR_MRQ_*: the queue is broken.
 */
int tofu_srb_poll(struct tofu_srb_sender *sender, void **cbdata, int *result);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_SRB_H */
