// SPDX-License-Identifier: MIT
/*
 * Streams: payload that does not travel by reference arrives in several
 * packets. Packets from a CQ to an engine arrive in order, one put after the
 * other, so one status for each such pair is enough.
 */
#include <errno.h>
#include <stdlib.h>

#include "icc/internal.h"

int icc_streams_create(struct icc *icc)
{
	icc->failed = calloc(icc_stream_count(icc), sizeof(*icc->failed));
	return icc->failed ? 0 : -ENOMEM;
}

void icc_streams_destroy(struct icc *icc)
{
	free(icc->failed);
}

size_t icc_stream_number(const struct tofu_packet *pkt)
{
	const size_t tni = (size_t)pkt->src * TOFU_TNIS_MAX +
			   pkt->src_tni % TOFU_TNIS_MAX;
	const size_t cq =
		tni * TOFU_CQS_PER_TNI + pkt->src_cq % TOFU_CQS_PER_TNI;

	return cq * TOFU_TNIS_MAX + pkt->dst_tni % TOFU_TNIS_MAX;
}

size_t icc_stream_count(const struct icc *icc)
{
	return (size_t)icc->nodes * icc->ppn * TOFU_TNIS_MAX *
	       TOFU_CQS_PER_TNI * TOFU_TNIS_MAX;
}

enum tofu_status icc_stream_status(struct icc *icc,
				   const struct tofu_packet *pkt,
				   enum tofu_status status)
{
	uint8_t *failed = &icc->failed[icc_stream_number(pkt)];

	if (!pkt->offset)
		*failed = TOFU_ST_OK;
	if (status == TOFU_ST_OK)
		return *failed;
	*failed = (uint8_t)status;
	return status;
}
