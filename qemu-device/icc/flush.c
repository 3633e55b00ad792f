// SPDX-License-Identifier: MIT
/*
 * Flush and the end of a reset: wait until no access to the node's memory is
 * under way. The host's fence covers the answers to others' gets; the windows
 * cover the node's own commands.
 */
#include "icc/internal.h"

/*
 * A fence that is under way may have begun too early. Only the next one covers
 * all that was sent so far; it serves all requests made until it begins.
 */
static uint64_t fence_wish(struct icc *icc)
{
	icc->fence.wanted = icc->fence.begun + 1;
	return icc->fence.wanted;
}

static bool fence_progress(struct icc *icc)
{
	struct icc_fences *fence = &icc->fence;
	bool done = false;

	if (fence->done < fence->begun && icc->ops->fence_done(icc->host)) {
		fence->done = fence->begun;
		done = true;
	}
	if (fence->done == fence->begun && fence->wanted > fence->begun) {
		fence->begun++;
		icc->ops->fence_begin(icc->host);
		done = true;
	}
	return done;
}

static bool flush_end(struct icc *icc, struct icc_cq *cq)
{
	if (!cq->flushing || cq->seq_tail < cq->flush_seq ||
	    icc->fence.done < cq->flush_fence)
		return false;
	cq->flushing = false;
	icc_cq_event(icc, cq, TOFU_CQ_IRQ_FLUSH);
	return true;
}

static bool windows_empty(const struct icc *icc)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int c = 0; c < TOFU_CQS_PER_TNI; c++) {
			const struct icc_cq *cq = icc->tni[t].cq[c];

			if (cq && cq->seq_head != cq->seq_tail)
				return false;
		}
	}
	return true;
}

void icc_flush_begin(struct icc *icc, struct icc_cq *cq)
{
	cq->flushing = true;
	cq->flush_seq = cq->seq_head;
	cq->flush_fence = fence_wish(icc);
	icc->flushes = true;
	icc_flush_progress(icc);
}

void icc_reset_begin(struct icc *icc)
{
	icc->resetting = true;
	icc->reset_fence = fence_wish(icc);
	icc->flushes = true;
	icc_flush_progress(icc);
}

bool icc_flush_progress(struct icc *icc)
{
	bool waiting = false;
	bool done;

	if (!icc->flushes)
		return false;
	done = fence_progress(icc);
	/* In virtual time a fence ends at once; no later call would end it. */
	while (icc->time && fence_progress(icc))
		done = true;
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int c = 0; c < TOFU_CQS_PER_TNI; c++) {
			struct icc_cq *cq = icc->tni[t].cq[c];

			if (!cq)
				continue;
			done |= flush_end(icc, cq);
			waiting |= cq->flushing;
		}
	}
	if (icc->resetting && icc->fence.done >= icc->reset_fence &&
	    windows_empty(icc)) {
		icc->resetting = false;
		done = true;
	}
	icc->flushes = waiting || icc->resetting ||
		       icc->fence.wanted > icc->fence.done;
	return done;
}
