/* SPDX-License-Identifier: MIT */
#include "boot/internal.h"
#include "utofu/work.h"

void boot_place(const struct tofu_boot *boot, uint32_t rank,
		utofu_tni_id_t *tni, utofu_cq_id_t *cq)
{
	uint32_t local = rank % boot->job.ppn;

	*tni = (utofu_tni_id_t)(local % boot->tnis);
	*cq = (utofu_cq_id_t)(local / boot->tnis);
}

static int vcq_of(const struct tofu_boot *boot, uint32_t rank,
		  utofu_vcq_id_t *id)
{
	struct tofu_coords at = tofu_coords_of(
		&boot->shape, boot->first + rank / boot->job.ppn);
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;

	tofu_work(TOFU_WORK_BOOT_PUT);
	boot_place(boot, rank, &tni, &cq);
	return utofu_construct_vcq_id(at.c, tni, cq, TOFU_BOOT_CMP_ID, id);
}

/* Waits for the one command under way: its report, then its notice. */
static int put_end(struct tofu_boot *boot)
{
	struct boot_wait wait = boot_wait_begin(boot);
	struct utofu_mrq_notice notice;
	void *cbdata;
	int code;

	do {
		code = utofu_poll_tcq(boot->vcq, 0, &cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND && boot_wait_more(&wait));
	/* A command that failed before it left the node gives no notice. */
	if (code != UTOFU_SUCCESS)
		return code;
	do {
		code = utofu_poll_mrq(boot->vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND && boot_wait_more(&wait));
	return code;
}

#define PUT_FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | \
		   UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)

int boot_put(struct tofu_boot *boot, uint32_t rank, size_t index,
	     uint64_t value)
{
	utofu_vcq_id_t id;
	int code = vcq_of(boot, rank, &id);

	boot_begin();
	if (code == UTOFU_SUCCESS)
		code = utofu_put_piggyback8(boot->vcq, id, value,
					    boot->area.stadd + index * sizeof(value),
					    sizeof(value), 0, PUT_FLAGS, NULL);
	return boot_end(code == UTOFU_SUCCESS ? put_end(boot) : code);
}

int boot_put_block(struct tofu_boot *boot, uint32_t rank,
		   const struct boot_region *region, size_t from, size_t to,
		   size_t bytes)
{
	utofu_vcq_id_t id;
	int code = vcq_of(boot, rank, &id);

	boot_begin();
	if (code == UTOFU_SUCCESS)
		code = utofu_put(boot->vcq, id,
				 region->stadd + from * sizeof(uint64_t),
				 region->stadd + to * sizeof(uint64_t), bytes, 0,
				 PUT_FLAGS, NULL);
	return boot_end(code == UTOFU_SUCCESS ? put_end(boot) : code);
}

int boot_get_block(struct tofu_boot *boot, uint32_t rank,
		   const struct boot_region *region, size_t from, size_t to,
		   size_t bytes)
{
	utofu_vcq_id_t id;
	int code = vcq_of(boot, rank, &id);

	boot_begin();
	if (code == UTOFU_SUCCESS)
		code = utofu_get(boot->vcq, id,
				 region->stadd + to * sizeof(uint64_t),
				 region->stadd + from * sizeof(uint64_t), bytes,
				 0, PUT_FLAGS, NULL);
	return boot_end(code == UTOFU_SUCCESS ? put_end(boot) : code);
}

bool boot_is_absence(int code)
{
	return code == UTOFU_ERR_MRQ_PEER || code == UTOFU_ERR_MRQ_RMT_STADD;
}
