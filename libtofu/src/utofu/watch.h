/* SPDX-License-Identifier: MIT */
/*
 * Registrations that outlive their use: whether the addresses of a region still
 * have the pages that it was registered with, for the layers above.
 */
#ifndef UTOFU_WATCH_H
#define UTOFU_WATCH_H

#include "utofu/instance.h"

/*
 * TOFU_REG_MEM_FLAG_WATCH - a flag of utofu_reg_mem(): note in struct tofu_watch
 * when the region becomes stale. UTOFU_ERR_NOT_SUPPORTED: the driver cannot.
 */
#define TOFU_REG_MEM_FLAG_WATCH (1UL << 17)

/* tofu_watch_of - get a VCQ's marks; NULL: no such VCQ, or nothing is watched */
static inline const struct tofu_watch *tofu_watch_of(utofu_vcq_hdl_t hdl)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(hdl);

	return vcq ? __atomic_load_n(&vcq->queue->cq->watch, __ATOMIC_ACQUIRE) :
		     NULL;
}

/* tofu_watch_generation - read the generation; marks read later are no older */
static inline uint64_t tofu_watch_generation(const struct tofu_watch *watch)
{
	return __atomic_load_n(&watch->generation, __ATOMIC_ACQUIRE);
}

/* tofu_watch_stale - check whether a region is stale */
static inline bool tofu_watch_stale(const struct tofu_watch *watch,
				    utofu_stadd_t stadd)
{
	uint64_t stag = TOFU_GET(stadd, TOFU_ADDR_STAG) % TOFU_WATCH_STAGS;
	uint64_t word = __atomic_load_n(&watch->stale[stag / 64],
					__ATOMIC_RELAXED);

	return word >> stag % 64 & 1;
}

#endif /* UTOFU_WATCH_H */
