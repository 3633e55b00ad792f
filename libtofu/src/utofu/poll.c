/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <string.h>

#include "port/work.h"
#include "utofu/instance.h"
#include "utofu/vcq_id.h"

/* ---- TCQ ---- */

static int tcq_code(unsigned int status)
{
	switch (status) {
	case TOFU_ST_OK:
		return UTOFU_SUCCESS;
	case TOFU_ST_TCQ_DESC:
		return UTOFU_ERR_TCQ_DESC;
	case TOFU_ST_TCQ_MEMORY:
		return UTOFU_ERR_TCQ_MEMORY;
	case TOFU_ST_TCQ_STADD:
		return UTOFU_ERR_TCQ_STADD;
	case TOFU_ST_TCQ_LENGTH:
		return UTOFU_ERR_TCQ_LENGTH;
	default:
		return UTOFU_ERR_TCQ_OTHER;
	}
}

static bool tcq_poll(const struct tofu_vcq *vcq, struct tofu_report *report)
{
	bool found;

	tofu_queue_lock(vcq->queue);
	found = tofu_queue_report_locked(vcq->queue, vcq->lane, report);
	tofu_queue_unlock(vcq->queue);
	return found;
}

static inline int tcq_found(const struct tofu_report *report, void **cbdata)
{
	tofu_work_found(TOFU_WORK_TCQ_FOUND);
	*cbdata = report->cbdata;
	return report->status == TOFU_ST_OK ? UTOFU_SUCCESS :
					      tofu_error(tcq_code(report->status));
}

/* Lends the processor to the engine, after enough empty polls. */
__attribute__((noinline)) static int tcq_lend(const struct tofu_vcq *vcq,
					      void **cbdata)
{
	const bool lent = tofu_queue_lend(vcq->queue);
	struct tofu_report report;

	if (lent && tcq_poll(vcq, &report))
		return tcq_found(&report, cbdata);
	tofu_work(TOFU_WORK_TCQ_EMPTY);
	tofu_work_pass();
	return lent && tofu_queue_gone(vcq->queue) ?
		       tofu_error(UTOFU_ERR_FATAL) :
		       UTOFU_ERR_NOT_FOUND;
}

/* Out of line, so that the common case needs no stack frame for the call. */
__attribute__((noinline)) static int tcq_poll_slowly(const struct tofu_vcq *vcq,
						     void **cbdata)
{
	struct tofu_report report;

	tofu_work(TOFU_WORK_TCQ_SLOWLY);
	if (tcq_poll(vcq, &report))
		return tcq_found(&report, cbdata);
	return tofu_queue_patient(vcq->queue) ? UTOFU_ERR_NOT_FOUND :
						tcq_lend(vcq, cbdata);
}

int utofu_poll_tcq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   void **cbdata)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	struct tofu_report report;

	if (!vcq)
		return tofu_error_no_vcq();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	if (!cbdata)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	tofu_work(TOFU_WORK_TCQ_LOOK);
	switch (tofu_queue_report_glance(vcq->queue, vcq->lane, &report)) {
	case TOFU_FOUND:
		return tcq_found(&report, cbdata);
	case TOFU_NOTHING:
		return tofu_queue_patient(vcq->queue) ? UTOFU_ERR_NOT_FOUND :
							tcq_lend(vcq, cbdata);
	default:
		return tcq_poll_slowly(vcq, cbdata);
	}
}

/* @lent: tofu_queue_idle() has lent the processor */
static int counted(const struct tofu_vcq *vcq, bool lent,
		   size_t (*unread)(const struct tofu_vcq *vcq), size_t *count)
{
	size_t found = unread(vcq);

	if (!found && lent && tofu_queue_gone(vcq->queue))
		return tofu_error(UTOFU_ERR_FATAL);
	*count = found;
	return UTOFU_SUCCESS;
}

static size_t tcq_count(const struct tofu_vcq *vcq)
{
	size_t count;

	tofu_queue_lock(vcq->queue);
	count = tofu_queue_reports_locked(vcq->queue, vcq->lane);
	tofu_queue_unlock(vcq->queue);
	return count;
}

int utofu_query_num_unread_tcq(utofu_vcq_hdl_t vcq_hdl, size_t *count)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);

	if (!vcq)
		return tofu_error_no_vcq();
	if (!count)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	/* A program may wait with this call alone, so it counts as a poll. */
	tofu_work(TOFU_WORK_TCQ_LOOK);
	tofu_work(TOFU_WORK_TCQ_EMPTY);
	return counted(vcq, tofu_queue_idle(vcq->queue), tcq_count, count);
}

/* ---- MRQ ---- */

static int mrq_code(unsigned int status)
{
	switch (status) {
	case TOFU_ST_OK:
		return UTOFU_SUCCESS;
	case TOFU_ST_PEER:
		return UTOFU_ERR_MRQ_PEER;
	case TOFU_ST_LCL_MEMORY:
		return UTOFU_ERR_MRQ_LCL_MEMORY;
	case TOFU_ST_RMT_MEMORY:
		return UTOFU_ERR_MRQ_RMT_MEMORY;
	case TOFU_ST_LCL_STADD:
		return UTOFU_ERR_MRQ_LCL_STADD;
	case TOFU_ST_RMT_STADD:
		return UTOFU_ERR_MRQ_RMT_STADD;
	case TOFU_ST_LCL_LENGTH:
		return UTOFU_ERR_MRQ_LCL_LENGTH;
	case TOFU_ST_RMT_LENGTH:
		return UTOFU_ERR_MRQ_RMT_LENGTH;
	default:
		return UTOFU_ERR_MRQ_OTHER;
	}
}

/* Undefined for a type that does not exist */
static inline bool type_is_armw(unsigned int type)
{
	return type & UTOFU_MRQ_TYPE_LCL_ARMW;
}
TOFU_ASSERT(UTOFU_MRQ_TYPE_LCL_ARMW == 4 && UTOFU_MRQ_TYPE_RMT_ARMW == 5 &&
		    UTOFU_MRQ_TYPE_RMT_GET < 4,
	    "ARMW is one bit of the type");

/* The initiator gets the old value, the target the address of the word. */
static inline uint64_t rmt_value(unsigned int type, uint64_t before,
				 utofu_stadd_t word)
{
	return type == UTOFU_MRQ_TYPE_LCL_ARMW ? before : word;
}

/*
 * enum utofu_mrq_notice_type has the values of the entry. @tag is from
 * tofu_mrq_tag().
 */
static inline void notice_fill(struct utofu_mrq_notice *notice,
			       const struct tofu_mrq_entry *entry, uint8_t tag)
{
	uint64_t ctrl = le64toh(entry->ctrl), lcl = le64toh(entry->lcl);
	uint64_t rmt = le64toh(entry->rmt) & TOFU_STADD_FIELDS;
	unsigned int type = (unsigned int)TOFU_GET(ctrl, TOFU_MRQ_TYPE);
	bool armw = type_is_armw(type);

	tofu_work_found(TOFU_WORK_MRQ_FOUND);
	*notice = (struct utofu_mrq_notice){
		.notice_type = (uint8_t)type,
		.vcq_id = TOFU_GET(le64toh(entry->route), TOFU_VCQ_ID_NODE) |
			  TOFU_SET(TOFU_VCQ_ID_CQ,
				   TOFU_GET(ctrl, TOFU_MRQ_CQ)) |
			  TOFU_SET(TOFU_VCQ_ID_NUMBER,
				   TOFU_GET(tag, TOFU_TAG_RMT)),
		.edata = TOFU_GET(ctrl, TOFU_MRQ_EDATA),
		.rmt_value = armw ? rmt_value(type, lcl, rmt) : 0,
		.lcl_stadd = armw ? 0 : lcl & TOFU_STADD_FIELDS,
		.rmt_stadd = rmt,
	};
}

static bool mrq_poll(const struct tofu_vcq *vcq, struct tofu_mrq_entry *entry)
{
	bool found;

	tofu_queue_lock(vcq->queue);
	found = tofu_queue_notice_locked(vcq->queue, vcq->lane, entry);
	tofu_queue_unlock(vcq->queue);
	return found;
}

/* In the status of a device that is gone, all bits are set. */
static int mrq_lost(const struct tofu_vcq *vcq, struct utofu_mrq_notice *notice)
{
	memset(notice, 0, sizeof(*notice));
	return tofu_error(tofu_queue_gone(vcq->queue) ? UTOFU_ERR_FATAL :
							UTOFU_ERR_MRQ_OTHER);
}

/* No notice was found: there is none, or it was lost. */
static int mrq_empty(const struct tofu_vcq *vcq,
		     struct utofu_mrq_notice *notice)
{
	bool lost;

	tofu_queue_lock(vcq->queue);
	lost = tofu_queue_lost_locked(vcq->queue, vcq->lane);
	tofu_queue_unlock(vcq->queue);
	return lost ? mrq_lost(vcq, notice) : UTOFU_ERR_NOT_FOUND;
}

static int mrq_found(struct utofu_mrq_notice *notice,
		     const struct tofu_mrq_entry *entry)
{
	uint64_t ctrl = le64toh(entry->ctrl);

	notice_fill(notice, entry, tofu_mrq_tag(ctrl, le64toh(entry->route)));
	if (ctrl & TOFU_FIELD(TOFU_MRQ_STATUS))
		return tofu_error(mrq_code(
			(unsigned int)TOFU_GET(ctrl, TOFU_MRQ_STATUS)));
	return UTOFU_SUCCESS;
}

/* As tcq_lend() */
__attribute__((noinline)) static int mrq_lend(const struct tofu_vcq *vcq,
					      struct utofu_mrq_notice *notice)
{
	struct tofu_mrq_entry entry;

	if (tofu_queue_lend(vcq->queue) && mrq_poll(vcq, &entry))
		return mrq_found(notice, &entry);
	tofu_work(TOFU_WORK_MRQ_EMPTY);
	tofu_work_pass();
	return mrq_empty(vcq, notice);
}

/* As tcq_poll_slowly() */
__attribute__((noinline)) static int
mrq_poll_slowly(const struct tofu_vcq *vcq, struct utofu_mrq_notice *notice)
{
	struct tofu_mrq_entry entry;

	tofu_work(TOFU_WORK_MRQ_SLOWLY);
	if (mrq_poll(vcq, &entry))
		return mrq_found(notice, &entry);
	return tofu_queue_patient(vcq->queue) ? mrq_empty(vcq, notice) :
						mrq_lend(vcq, notice);
}

/* Out of line, so that an empty poll saves no registers for it. */
__attribute__((noinline)) static int
mrq_take(const struct tofu_vcq *vcq, struct utofu_mrq_notice *notice,
	 __u64 ctrl, const struct tofu_mrq_entry *next)
{
	__u64 route = tofu_entry_word(&next->route);
	uint8_t tag = tofu_mrq_tag(ctrl, route);
	struct tofu_mrq_entry entry;

	if (!tofu_queue_notice_take(vcq->queue, vcq->lane, ctrl, tag))
		return mrq_poll_slowly(vcq, notice);
	entry = tofu_mrq_entry_read(next, ctrl, route);
	notice_fill(notice, &entry, tag);
	return UTOFU_SUCCESS;
}

static int mrq_nothing(const struct tofu_vcq *vcq,
		       struct utofu_mrq_notice *notice)
{
	if (!tofu_queue_patient(vcq->queue))
		return mrq_lend(vcq, notice);
	/* The glance succeeds only on a queue without a lock. */
	if (tofu_queue_lost_locked(vcq->queue, vcq->lane))
		return mrq_lost(vcq, notice);
	return UTOFU_ERR_NOT_FOUND;
}

int utofu_poll_mrq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   struct utofu_mrq_notice *notice)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	const struct tofu_mrq_entry *next;
	__u64 ctrl;

	if (!vcq)
		return tofu_error_no_vcq();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	if (!notice)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	tofu_work(TOFU_WORK_MRQ_LOOK);
	switch (tofu_queue_notice_glance(vcq->queue, vcq->lane, &next, &ctrl)) {
	case TOFU_FOUND:
		return mrq_take(vcq, notice, ctrl, next);
	case TOFU_NOTHING:
		return mrq_nothing(vcq, notice);
	default:
		return mrq_poll_slowly(vcq, notice);
	}
}

static size_t mrq_count(const struct tofu_vcq *vcq)
{
	size_t count;

	tofu_queue_lock(vcq->queue);
	count = tofu_queue_notices_locked(vcq->queue, vcq->lane);
	tofu_queue_unlock(vcq->queue);
	return count;
}

int utofu_query_num_unread_mrq(utofu_vcq_hdl_t vcq_hdl, size_t *count)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);

	if (!vcq)
		return tofu_error_no_vcq();
	if (!count)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	tofu_work(TOFU_WORK_MRQ_LOOK);
	tofu_work(TOFU_WORK_MRQ_EMPTY);
	return counted(vcq, tofu_queue_idle(vcq->queue), mrq_count, count);
}
