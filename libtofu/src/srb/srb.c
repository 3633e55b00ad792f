/* SPDX-License-Identifier: MIT */
/* A shared receive buffer on its owner's side: registration and epochs. */
#include "srb/srb.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "utofu/time.h"
#include "utofu/vcq_id.h"
#include "utofu/work.h"

/*
 * Default patience: for a sender to be scheduled, and for the bytes of the
 * longest record at 100 MB/s, so that no ring is too large for records of half
 * its size.
 */
#define PATIENCE_NS UINT64_C(1000000000)
#define PATIENCE_BYTE_NS 10

/* The word of an address: magic, STAG, power of the size */
#define ADDRESS_MAGIC (UINT64_C(0x535242) << 40)
#define ADDRESS_STAG_SHIFT 8

/**
 * struct tofu_srb
 * @counters: as senders see them: only written here, but for swaps of the
 *            producer
 * @memory:   STADD of the ring in this epoch
 * @missed:   place of a record that is missing
 * @since:    when it was first missed, ns; 0: none is missing
 * @ended:    the epoch has ended: its remaining records are delivered now
 * @end:      place where they end
 * @error:    the error that broke the ring
 */
struct tofu_srb {
	struct srb_ring ring;
	char *counters;
	utofu_vcq_hdl_t vcq;
	unsigned int stag;
	utofu_stadd_t memory;
	utofu_stadd_t counters_stadd;
	uint64_t patience_ns;
	uint64_t missed;
	uint64_t since;
	bool ended;
	uint64_t end;
	struct tofu_srb_counts counts;
	int error;
};

/* ---- Addresses ---- */

static int params_check(const struct tofu_srb_params *params)
{
	if (!params)
		return UTOFU_ERR_INVALID_POINTER;
	if (params->bytes < TOFU_SRB_BYTES_MIN ||
	    params->bytes > TOFU_SRB_BYTES_MAX ||
	    params->bytes & (params->bytes - 1))
		return UTOFU_ERR_INVALID_SIZE;
	if (params->stag > TOFU_STAGS_RESERVED - TOFU_SRB_STAGS)
		return UTOFU_ERR_INVALID_STAG;
	return UTOFU_SUCCESS;
}

int tofu_srb_address(utofu_vcq_id_t vcq, const struct tofu_srb_params *params,
		     struct tofu_srb_address *address)
{
	int code = params_check(params);

	if (code)
		return code;
	if (!address)
		return UTOFU_ERR_INVALID_POINTER;
	if (!tofu_vcq_id_valid(vcq))
		return UTOFU_ERR_INVALID_VCQ_ID;
	*address = (struct tofu_srb_address){
		.vcq = vcq,
		.ring = ADDRESS_MAGIC |
			(uint64_t)params->stag << ADDRESS_STAG_SHIFT |
			(uint64_t)__builtin_ctzll(params->bytes),
	};
	return UTOFU_SUCCESS;
}

bool srb_where(uint64_t ring, struct srb_where *where)
{
	uint64_t power = ring & 0xff;
	uint64_t stag = ring >> ADDRESS_STAG_SHIFT & 0xff;
	struct tofu_srb_params params = {
		.bytes = power < 64 ? UINT64_C(1) << power : 0,
		.stag = (unsigned int)stag,
	};

	if ((ring & ~UINT64_C(0xffff)) != ADDRESS_MAGIC ||
	    params_check(&params))
		return false;
	*where = (struct srb_where){
		.stag = params.stag,
		.bytes = params.bytes,
	};
	return true;
}

/* ---- Memory ---- */

/* Anonymous pages: zero, aligned as regions need, allocated when touched */
static void *pages_map(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static uint64_t *producer_of(const struct tofu_srb *srb)
{
	return (uint64_t *)(void *)(srb->counters + SRB_PRODUCER);
}

static int memory_make(struct tofu_srb *srb, uint64_t bytes, uint64_t place)
{
	srb->counters = pages_map(SRB_COUNTERS_BYTES);
	srb->ring.memory = pages_map(bytes);
	if (!srb->counters || !srb->ring.memory)
		return UTOFU_ERR_OUT_OF_MEMORY;
	srb->ring.bytes = bytes;
	srb->ring.consumer = (uint64_t *)(void *)(srb->counters + SRB_CONSUMER);
	srb->ring.place = place;
	*producer_of(srb) = place;
	*srb->ring.consumer = place;
	return UTOFU_SUCCESS;
}

static void memory_free(struct tofu_srb *srb)
{
	if (srb->counters)
		munmap(srb->counters, SRB_COUNTERS_BYTES);
	if (srb->ring.memory)
		munmap(srb->ring.memory, srb->ring.bytes);
}

static int ring_register(struct tofu_srb *srb)
{
	return utofu_reg_mem_with_stag(srb->vcq, srb->ring.memory,
				       srb->ring.bytes,
				       srb_epoch_stag(srb->stag,
						      srb->ring.place),
				       0, &srb->memory);
}

/* The ring first: a sender that finds the counters finds the ring. */
static int all_register(struct tofu_srb *srb)
{
	int code = ring_register(srb);

	if (code)
		return code;
	code = utofu_reg_mem_with_stag(srb->vcq, srb->counters,
				       SRB_COUNTERS_BYTES, srb->stag, 0,
				       &srb->counters_stadd);
	if (code)
		utofu_dereg_mem(srb->vcq, srb->memory, 0);
	return code;
}

/* ---- Making ---- */

static uint64_t patience_default(uint64_t bytes)
{
	return PATIENCE_NS + bytes / 2 * PATIENCE_BYTE_NS;
}

static int srb_make(struct tofu_srb *srb, const struct tofu_srb_params *params,
		    uint64_t place)
{
	int code = memory_make(srb, params->bytes, place);

	return code ? code : all_register(srb);
}

int tofu_srb_create_at(utofu_vcq_hdl_t vcq,
		       const struct tofu_srb_params *params, uint64_t place,
		       struct tofu_srb **srb)
{
	struct utofu_onesided_caps *caps;
	struct tofu_srb *made;
	int code = params_check(params);

	if (!code && !srb)
		code = UTOFU_ERR_INVALID_POINTER;
	if (!code)
		code = utofu_query_onesided_caps(0, &caps);
	if (!code && !(caps->flags & UTOFU_ONESIDED_CAP_FLAG_ARMW))
		code = UTOFU_ERR_NOT_SUPPORTED;
	if (code)
		return code;
	made = calloc(1, sizeof(*made));
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->vcq = vcq;
	made->stag = params->stag;
	made->patience_ns = params->patience_ns ?
				    params->patience_ns :
				    patience_default(params->bytes);
	code = srb_make(made, params, place);
	if (code) {
		memory_free(made);
		free(made);
		return code;
	}
	*srb = made;
	return UTOFU_SUCCESS;
}

int tofu_srb_create(utofu_vcq_hdl_t vcq, const struct tofu_srb_params *params,
		    struct tofu_srb **srb)
{
	return tofu_srb_create_at(vcq, params, 0, srb);
}

void tofu_srb_free(struct tofu_srb *srb)
{
	if (!srb)
		return;
	utofu_dereg_mem(srb->vcq, srb->counters_stadd, 0);
	/* There is no ring between two epochs. */
	utofu_dereg_mem(srb->vcq, srb->memory, 0);
	memory_free(srb);
	free(srb);
}

/* ---- Epochs ---- */

/* The next record would begin where offsets end. */
static bool epoch_spent(const struct tofu_srb *srb)
{
	return !srb->ring.held && srb_offset(srb->ring.place) >= SRB_OFFSET_END;
}

/* Whether all that was reserved has come, or patience remains */
static bool owner_waits(struct tofu_srb *srb)
{
	uint64_t now;

	if (__atomic_load_n(producer_of(srb), __ATOMIC_RELAXED) ==
	    srb->ring.place) {
		srb->since = 0;
		return true;
	}
	now = tofu_time_now();
	/* Padding may have come, and the next record is missing. */
	if (!srb->since || srb->missed != srb->ring.place) {
		srb->missed = srb->ring.place;
		srb->since = now;
	}
	return now - srb->since <= srb->patience_ns;
}

/* Step b. From here on only this thread touches the ring. */
static int epoch_close(struct tofu_srb *srb)
{
	int code = utofu_dereg_mem(srb->vcq, srb->memory, 0);
	uint64_t end = srb->ring.place + srb->ring.bytes, producer;

	if (code)
		return code;
	producer = __atomic_load_n(producer_of(srb), __ATOMIC_RELAXED);
	/* Reservations beyond that had no room. */
	if (producer >= srb->ring.place && producer < end)
		end = producer & ~(uint64_t)(SRB_WORD - 1);
	srb->ended = true;
	srb->end = end;
	srb->since = 0;
	return UTOFU_SUCCESS;
}

/*
 * Step d. Places of the old epoch may still be given out before the swap: they
 * are void. The ring exists before any sender gets a place in it, and the
 * consumer's epoch is never later than the producer's.
 */
static int epoch_open(struct tofu_srb *srb)
{
	uint16_t epoch = (uint16_t)(srb_epoch(srb->ring.place) + 1);
	int code;

	memset(srb->ring.memory, 0, srb->ring.bytes);
	srb->ring.place = srb_epoch_begin(epoch);
	code = ring_register(srb);
	if (code)
		return code;
	__atomic_exchange_n(producer_of(srb), srb->ring.place,
			    __ATOMIC_ACQ_REL);
	__atomic_store_n(srb->ring.consumer, srb->ring.place, __ATOMIC_RELEASE);
	srb->ended = false;
	srb->counts.epochs++;
	return UTOFU_SUCCESS;
}

/* ---- Receiving ---- */

bool tofu_srb_is_quiet(const struct tofu_srb *srb)
{
	return __atomic_load_n(producer_of(srb), __ATOMIC_RELAXED) ==
		       srb->ring.place &&
	       !srb->ring.held && !srb->ended && !srb->error &&
	       !epoch_spent(srb);
}

static int receive_rest(struct tofu_srb *srb, struct tofu_srb_record *record)
{
	if (srb_ring_scan(&srb->ring, srb->end, record, &srb->counts.skipped))
		return UTOFU_SUCCESS;
	srb->error = epoch_open(srb);
	return srb->error ? srb->error : UTOFU_ERR_NOT_FOUND;
}

static int receive_nothing(struct tofu_srb *srb, struct tofu_srb_record *record)
{
	struct utofu_mrq_notice notice;

	if (!epoch_spent(srb) && owner_waits(srb)) {
		/* Gives the engine its turn; there may be no notices. */
		if (utofu_poll_mrq(srb->vcq, 0, &notice) != UTOFU_ERR_FATAL)
			return UTOFU_ERR_NOT_FOUND;
		srb->error = UTOFU_ERR_FATAL;
		return srb->error;
	}
	srb->error = epoch_close(srb);
	return srb->error ? srb->error : receive_rest(srb, record);
}

int tofu_srb_receive(struct tofu_srb *srb, struct tofu_srb_record *record)
{
	if (!srb || !record)
		return UTOFU_ERR_INVALID_POINTER;
	if (srb->error)
		return srb->error;
	tofu_work(TOFU_WORK_SRB_RECEIVE);
	if (srb->ended)
		return receive_rest(srb, record);
	if (epoch_spent(srb) || !srb_ring_receive(&srb->ring, record))
		return receive_nothing(srb, record);
	srb->since = 0;
	return UTOFU_SUCCESS;
}

int tofu_srb_release(struct tofu_srb *srb)
{
	if (!srb)
		return UTOFU_ERR_INVALID_POINTER;
	if (!srb->ring.held)
		return UTOFU_ERR_NOT_FOUND;
	if (srb->ended)
		srb_ring_pass(&srb->ring);
	else
		srb_ring_release(&srb->ring);
	srb->counts.records++;
	return UTOFU_SUCCESS;
}

void tofu_srb_counts(const struct tofu_srb *srb, struct tofu_srb_counts *counts)
{
	if (!srb || !counts)
		return;
	*counts = srb->counts;
	counts->padding = srb->ring.padding;
}
