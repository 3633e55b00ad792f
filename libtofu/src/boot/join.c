/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <tofu/error.h>

#include "boot/internal.h"
#include "utofu/error.h"
#include "utofu/time.h"

/* ---- The job ---- */

static int job_find(struct tofu_boot *boot)
{
	struct tofu_coords at;
	int code = tofu_query_job(&boot->job);

	if (code == UTOFU_SUCCESS)
		code = tofu_query_rank_coords(0, at.c);
	if (code != UTOFU_SUCCESS)
		return boot_say(boot, code, "cannot tell what job this is: %s",
				tofu_error_text(code));
	for (int i = 0; i < TOFU_AXES; i++)
		boot->shape.size[i] = boot->job.shape[i];
	boot->first = (uint32_t)tofu_node_at(&boot->shape, &at);
	while (UINT64_C(1) << boot->rounds < boot->job.ranks)
		boot->rounds++;
	return UTOFU_SUCCESS;
}

static int tnis_find(struct tofu_boot *boot)
{
	utofu_tni_id_t *ids;
	size_t tnis;
	int code = utofu_get_onesided_tnis(&ids, &tnis);

	if (code != UTOFU_SUCCESS)
		return boot_say(boot, code, "cannot ask for TNIs: %s",
				tofu_error_text(code));
	free(ids);
	boot->tnis = (unsigned int)tnis;
	return UTOFU_SUCCESS;
}

/* ---- The VCQ, in the queue where the others expect it ---- */

static int cq_of(utofu_vcq_hdl_t vcq, utofu_cq_id_t *cq)
{
	struct tofu_coords at;
	utofu_vcq_id_t id;
	utofu_tni_id_t tni;
	uint16_t extra;
	int code = utofu_query_vcq_id(vcq, &id);

	if (code == UTOFU_SUCCESS)
		code = utofu_query_vcq_info(id, at.c, &tni, cq, &extra);
	return code;
}

/* Sets @has_vcq if the VCQ is in queue @wanted; else @cq is its queue. */
static int vcq_try(struct tofu_boot *boot, utofu_tni_id_t tni,
		   utofu_cq_id_t wanted, utofu_cq_id_t *cq)
{
	int code = utofu_create_vcq_with_cmp_id(tni, TOFU_BOOT_CMP_ID, 0,
						&boot->vcq);

	if (code != UTOFU_SUCCESS)
		return code;
	code = cq_of(boot->vcq, cq);
	boot->has_vcq = code == UTOFU_SUCCESS && *cq == wanted;
	if (!boot->has_vcq)
		utofu_free_vcq(boot->vcq);
	return code;
}

/*
 * A new queue is the lowest free one. The free queues below the wanted one are
 * held meanwhile; they belong to other processes of the node, which try again.
 */
static int vcq_create(struct tofu_boot *boot, utofu_tni_id_t tni,
		      utofu_cq_id_t wanted)
{
	utofu_vcq_hdl_t held[TOFU_CQS_PER_TNI];
	unsigned int count = 0;
	utofu_cq_id_t cq;
	int code;

	while (!(code = vcq_try(boot, tni, wanted, &cq)) && !boot->has_vcq) {
		if (cq > wanted || count == wanted)
			break;
		code = utofu_create_vcq(tni, UTOFU_VCQ_FLAG_EXCLUSIVE,
					&held[count]);
		if (code)
			break;
		count++;
	}
	while (count)
		utofu_free_vcq(held[--count]);
	return code;
}

static int vcq_failed(const struct tofu_boot *boot, int code,
		      utofu_tni_id_t tni, utofu_cq_id_t cq)
{
	if (code == UTOFU_SUCCESS)
		return boot_say(boot, UTOFU_ERR_USED,
				"another program uses CQ %u of TNI %u", cq,
				tni);
	if (code == UTOFU_ERR_USED)
		return boot_say(boot, code, "this process has joined already");
	return boot_say(boot, code, "cannot create a VCQ: %s",
			tofu_error_text(code));
}

/* Another process may still have the queue: one that is just ending, or one
 * that searches for its own.
 */
static int vcq_open(struct tofu_boot *boot)
{
	struct timespec nap = { .tv_nsec = BOOT_RETRY_NS };
	struct boot_wait wait = boot_wait_begin(boot);
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	int code;

	boot_place(boot, boot->job.rank, &tni, &cq);
	if (cq >= TOFU_CQ_KERNEL)
		return boot_say(boot, UTOFU_ERR_NOT_AVAILABLE,
				"%u processes of a node are too many for the queues of %u TNIs",
				boot->job.ppn, boot->tnis);
	for (;;) {
		boot_begin();
		code = boot_end(vcq_create(boot, tni, cq));
		if (boot->has_vcq)
			return UTOFU_SUCCESS;
		if ((code != UTOFU_SUCCESS && code != UTOFU_ERR_FULL) ||
		    !boot_wait_more(&wait))
			return vcq_failed(boot, code, tni, cq);
		nanosleep(&nap, NULL);
	}
}

/* ---- Joining and leaving ---- */

/* Soon after a start the system has no random numbers. */
static uint32_t hello_draw(void)
{
	uint32_t hello = 0;

	while (!hello) {
		if (getrandom(&hello, sizeof(hello), GRND_NONBLOCK) !=
		    sizeof(hello))
			hello = (uint32_t)tofu_time_now() ^ (uint32_t)getpid() << 16;
	}
	return hello;
}

static int join(struct tofu_boot *boot)
{
	int code = job_find(boot);

	if (!code)
		code = tnis_find(boot);
	if (!code)
		code = vcq_open(boot);
	boot->hello = code ? 0 : hello_draw();
	if (!code)
		code = boot_region_create(boot, BOOT_WORDS, TOFU_BOOT_STAG,
					  &boot->area);
	if (!code)
		code = boot_meet(boot);
	return code ? code : boot_barrier(boot);
}

int tofu_boot_join(unsigned int timeout, char why[], struct tofu_boot **result)
{
	struct tofu_boot *boot;
	int code;

	if (!result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!timeout)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	boot = calloc(1, sizeof(*boot));
	if (!boot)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	boot->timeout = timeout;
	boot->why = why;
	code = join(boot);
	if (code)
		tofu_boot_abandon(boot);
	else
		*result = boot;
	return code;
}

int tofu_boot_rank(const struct tofu_boot *boot)
{
	return boot ? (int)boot->job.rank :
		      tofu_error(UTOFU_ERR_INVALID_POINTER);
}

int tofu_boot_size(const struct tofu_boot *boot)
{
	return boot ? (int)boot->job.ranks :
		      tofu_error(UTOFU_ERR_INVALID_POINTER);
}

int tofu_boot_barrier(struct tofu_boot *boot)
{
	return boot ? boot_barrier(boot) :
		      tofu_error(UTOFU_ERR_INVALID_POINTER);
}

int tofu_boot_leave(struct tofu_boot *boot)
{
	int code;

	if (!boot)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	boot->leaving = true;
	code = boot_barrier(boot);
	tofu_boot_abandon(boot);
	return code;
}

void tofu_boot_abandon(struct tofu_boot *boot)
{
	if (!boot)
		return;
	if (boot->tenant.free)
		boot->tenant.free(boot->tenant.state);
	/* Deregisters, so that no memory is written after this. */
	boot_begin();
	if (boot->has_vcq)
		utofu_free_vcq(boot->vcq);
	boot_end(UTOFU_SUCCESS);
	free(boot->tenant.region.memory);
	free(boot->table.memory);
	free(boot->area.memory);
	free(boot);
}
