/* SPDX-License-Identifier: MIT */
/* Waiting for what comes without a notice, for the layers above. */
#ifndef UTOFU_IDLE_H
#define UTOFU_IDLE_H

#include "port/work.h"
#include "utofu/instance.h"

/**
 * tofu_vcq_idle - in place of a poll of a VCQ for which no notice can come
 *
 * Like a poll in vain it gives an emulated controller its turn, and tells when
 * the device is gone, but it takes less time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_FATAL: the device is gone; an error code if
 * there is no such VCQ.
 */
static inline int tofu_vcq_idle(utofu_vcq_hdl_t hdl)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(hdl);

	if (!vcq)
		return tofu_error_no_vcq();
	tofu_work(TOFU_WORK_VCQ_IDLE);
	return tofu_queue_idle(vcq->queue) && tofu_queue_gone(vcq->queue) ?
		       tofu_error(UTOFU_ERR_FATAL) :
		       UTOFU_SUCCESS;
}

#endif /* UTOFU_IDLE_H */
