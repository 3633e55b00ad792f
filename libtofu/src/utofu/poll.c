/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <string.h>

#include "utofu/context.h"
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

/* @again: nothing was found, and the engine has been lent the processor. */
__attribute__((noinline)) static int
tcq_poll_report(const struct tofu_vcq *vcq, bool again, void **cbdata)
{
	struct tofu_report report;

	if (!tcq_poll(vcq, &report) &&
	    (again || !tofu_queue_idle(vcq->queue) || !tcq_poll(vcq, &report)))
		return UTOFU_ERR_NOT_FOUND;
	*cbdata = report.cbdata;
	return tcq_code(report.status);
}

int utofu_poll_tcq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   void **cbdata)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	struct tofu_report report;
	enum tofu_glance glance;

	if (!vcq)
		return tofu_vcq_missing();
	if (flags)
		return UTOFU_ERR_INVALID_FLAGS;
	if (!cbdata)
		return UTOFU_ERR_INVALID_POINTER;
	glance = tofu_queue_report_glance(vcq->queue, vcq->lane, &report);
	if (glance == TOFU_FOUND) {
		*cbdata = report.cbdata;
		return tcq_code(report.status);
	}
	if (glance == TOFU_NOTHING && !tofu_queue_idle(vcq->queue))
		return UTOFU_ERR_NOT_FOUND;
	return tcq_poll_report(vcq, glance == TOFU_NOTHING, cbdata);
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
		return tofu_vcq_missing();
	if (!count)
		return UTOFU_ERR_INVALID_POINTER;
	/* A program may wait by this alone: it counts as a poll. */
	tofu_queue_idle(vcq->queue);
	*count = tcq_count(vcq);
	return UTOFU_SUCCESS;
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

static bool type_is_local(unsigned int type)
{
	return type == UTOFU_MRQ_TYPE_LCL_PUT ||
	       type == UTOFU_MRQ_TYPE_LCL_GET ||
	       type == UTOFU_MRQ_TYPE_LCL_ARMW;
}

static bool type_is_armw(unsigned int type)
{
	return type == UTOFU_MRQ_TYPE_LCL_ARMW ||
	       type == UTOFU_MRQ_TYPE_RMT_ARMW;
}

/* The values of enum utofu_mrq_notice_type are those of the entry. */
static void notice_fill(struct utofu_mrq_notice *notice,
			const struct tofu_mrq_entry *entry)
{
	uint64_t ctrl = le64toh(entry->ctrl);
	uint64_t route = le64toh(entry->route);
	uint64_t tag = TOFU_GET(route, TOFU_ROUTE_TAG);
	unsigned int type = (unsigned int)TOFU_GET(ctrl, TOFU_MRQ_TYPE);
	uint64_t other = type_is_local(type) ? TOFU_GET(tag, TOFU_TAG_RMT) :
					       TOFU_GET(tag, TOFU_TAG_LCL);

	memset(notice, 0, sizeof(*notice));
	notice->notice_type = (uint8_t)type;
	notice->vcq_id = TOFU_GET(route, TOFU_VCQ_ID_NODE) |
			 TOFU_SET(TOFU_VCQ_ID_CQ,
				  TOFU_GET(ctrl, TOFU_MRQ_CQ)) |
			 TOFU_SET(TOFU_VCQ_ID_NUMBER, other);
	notice->edata = TOFU_GET(ctrl, TOFU_MRQ_EDATA);
	notice->rmt_stadd = le64toh(entry->rmt) & TOFU_STADD_FIELDS;
	if (type_is_armw(type))
		notice->rmt_value = le64toh(entry->lcl);
	else
		notice->lcl_stadd = le64toh(entry->lcl) & TOFU_STADD_FIELDS;
}

static bool mrq_poll(const struct tofu_vcq *vcq, struct tofu_mrq_entry *entry)
{
	bool found;

	tofu_queue_lock(vcq->queue);
	found = tofu_queue_notice_locked(vcq->queue, vcq->lane, entry);
	tofu_queue_unlock(vcq->queue);
	return found;
}

static int mrq_lost(struct utofu_mrq_notice *notice)
{
	memset(notice, 0, sizeof(*notice));
	return UTOFU_ERR_MRQ_OTHER;
}

/* Nothing is there: because there is nothing, or because it was lost. */
static int mrq_empty(const struct tofu_vcq *vcq,
		     struct utofu_mrq_notice *notice)
{
	bool lost;

	tofu_queue_lock(vcq->queue);
	lost = tofu_queue_lost_locked(vcq->queue, vcq->lane);
	tofu_queue_unlock(vcq->queue);
	return lost ? mrq_lost(notice) : UTOFU_ERR_NOT_FOUND;
}

/* As tcq_poll_report() */
__attribute__((noinline)) static int
mrq_poll_notice(const struct tofu_vcq *vcq, bool again,
		struct utofu_mrq_notice *notice)
{
	struct tofu_mrq_entry entry;

	if (!mrq_poll(vcq, &entry) &&
	    (again || !tofu_queue_idle(vcq->queue) || !mrq_poll(vcq, &entry)))
		return mrq_empty(vcq, notice);
	notice_fill(notice, &entry);
	return mrq_code((unsigned int)TOFU_GET(le64toh(entry.ctrl),
					       TOFU_MRQ_STATUS));
}

int utofu_poll_mrq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   struct utofu_mrq_notice *notice)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	bool nothing;

	if (!vcq)
		return tofu_vcq_missing();
	if (flags)
		return UTOFU_ERR_INVALID_FLAGS;
	if (!notice)
		return UTOFU_ERR_INVALID_POINTER;
	nothing = tofu_queue_notice_glance(vcq->queue, vcq->lane) ==
		  TOFU_NOTHING;
	if (!nothing || tofu_queue_idle(vcq->queue))
		return mrq_poll_notice(vcq, nothing, notice);
	if (tofu_queue_lost_locked(vcq->queue, vcq->lane))
		return mrq_lost(notice);
	return UTOFU_ERR_NOT_FOUND;
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
		return tofu_vcq_missing();
	if (!count)
		return UTOFU_ERR_INVALID_POINTER;
	tofu_queue_idle(vcq->queue);
	*count = mrq_count(vcq);
	return UTOFU_SUCCESS;
}
