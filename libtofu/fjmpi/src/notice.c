/* SPDX-License-Identifier: MIT */
/*
 * Notices: from the queues into the inboxes of the NICs, and from there to the
 * program.
 */
#include "fjmpi.h"

#include <stdlib.h>
#include <string.h>

/* More than any program leaves unpolled; a peer shall not take all memory. */
#define INBOX_MAX (1U << 20)
#define INBOX_MIN 64

/* Most notices that one poll moves to other inboxes */
#define TAKEN_A_POLL 64

/* ---- Inboxes ---- */

static bool inbox_grow(struct fjmpi_inbox *inbox)
{
	size_t size = inbox->size ? 2 * inbox->size : INBOX_MIN;
	struct fjmpi_notice *ring;

	if (size > INBOX_MAX)
		return false;
	ring = malloc(size * sizeof(*ring));
	if (!ring)
		return false;
	for (size_t i = inbox->head; i != inbox->tail; i++)
		ring[i & (size - 1)] = inbox->ring[i & (inbox->size - 1)];
	free(inbox->ring);
	inbox->ring = ring;
	inbox->size = size;
	return true;
}

static void inbox_push(struct fjmpi_inbox *inbox, int kind, int pid, int tag)
{
	if (inbox->tail - inbox->head == inbox->size && !inbox_grow(inbox)) {
		inbox->lost = true;
		return;
	}
	inbox->ring[inbox->tail++ & (inbox->size - 1)] = (struct fjmpi_notice){
		.kind = kind,
		.cq = { .pid = pid, .tag = tag },
	};
}

/* A loss is reported after everything that was not lost. */
static bool inbox_pop(struct fjmpi_inbox *inbox, struct fjmpi_notice *notice)
{
	if (inbox->head != inbox->tail) {
		*notice = inbox->ring[inbox->head++ & (inbox->size - 1)];
		return true;
	}
	if (!inbox->lost)
		return false;
	inbox->lost = false;
	*notice = (struct fjmpi_notice){
		.kind = (int)FJMPI_RDMA_ERROR,
		.cq = { .pid = -1, .tag = -1 },
	};
	return true;
}

void fjmpi_inbox_free(struct fjmpi_inbox *inbox)
{
	free(inbox->ring);
	memset(inbox, 0, sizeof(*inbox));
}

/* ---- From the queues ---- */

/* Return: the pid of a VCQ, or -1 if it belongs to no rank. */
static int pid_of(utofu_vcq_id_t id)
{
	const struct fjmpi_name key = { .id = id };
	const struct fjmpi_name *name = bsearch(
		&key, fjmpi.name, (size_t)fjmpi.size * FJMPI_NICS,
		sizeof(*fjmpi.name), fjmpi_name_compare);

	return name ? name->pid : -1;
}

/* Drops what no rank sent, or what is not of this library. */
static void told(int kind, int pid, uint64_t edata)
{
	unsigned int flags = FJMPI_EDATA_FLAGS(edata);
	unsigned int tag = FJMPI_EDATA_TAG(edata);
	unsigned int nic = kind == FJMPI_RDMA_HALFWAY_NOTICE ?
				   FJMPI_REMOTE(flags) :
				   FJMPI_LOCAL(flags);

	if (pid >= 0 && tag < FJMPI_TAGS)
		inbox_push(&fjmpi.inbox[nic], kind, pid, (int)tag);
}

static bool is_remote(const struct utofu_mrq_notice *notice)
{
	return notice->notice_type == UTOFU_MRQ_TYPE_RMT_PUT ||
	       notice->notice_type == UTOFU_MRQ_TYPE_RMT_GET;
}

/*
 * Every later poll returns the overflow, or that the device is gone; the program
 * is told once.
 */
static bool overflow_told(struct fjmpi_vcq *vcq)
{
	bool first = !vcq->overflow;

	vcq->overflow = true;
	if (first)
		vcq->inbox->lost = true;
	return first;
}

static bool mrq_take(struct fjmpi_vcq *vcq)
{
	struct utofu_mrq_notice notice;
	int code = utofu_poll_mrq(vcq->hdl[0], 0, &notice);

	if (code == UTOFU_ERR_NOT_FOUND)
		return false;
	/* A notice is zero only where notices were lost: no peer's ID is 0. */
	if ((code == UTOFU_ERR_MRQ_OTHER && !notice.vcq_id) ||
	    code == UTOFU_ERR_FATAL)
		return overflow_told(vcq);
	if (code)
		told((int)FJMPI_RDMA_ERROR, pid_of(notice.vcq_id),
		     notice.edata);
	else
		told(is_remote(&notice) ? FJMPI_RDMA_HALFWAY_NOTICE :
					  FJMPI_RDMA_NOTICE,
		     pid_of(notice.vcq_id), notice.edata);
	return true;
}

/* Takes reports: of NOPs, and of commands that never left the node. */
static bool tcq_take(struct fjmpi_vcq *vcq)
{
	void *cbdata;
	int code = utofu_poll_tcq(vcq->hdl[0], 0, &cbdata);

	if (code == UTOFU_ERR_NOT_FOUND)
		return false;
	if (code == UTOFU_ERR_FATAL) {
		vcq->nops = 0;
		return overflow_told(vcq);
	}
	if (code)
		told((int)FJMPI_RDMA_ERROR, (int)((uintptr_t)cbdata >> 8),
		     (uintptr_t)cbdata & 0xff);
	else
		vcq->nops--;
	return true;
}

/*
 * Reports first: they are of this rank's commands, so they end; notices need
 * not.
 */
bool fjmpi_take(struct fjmpi_vcq *vcq)
{
	return tcq_take(vcq) || mrq_take(vcq);
}

/* Reports come in the order of the commands, so that of a NOP comes last. */
static void quiesce(struct fjmpi_vcq *vcq)
{
	int code;

	do {
		code = utofu_nop(vcq->hdl[0], UTOFU_ONESIDED_FLAG_TCQ_NOTICE,
				 NULL);
	} while (code == UTOFU_ERR_BUSY && (fjmpi_take(vcq), true));
	if (code)
		return;
	vcq->nops++;
	while (vcq->nops)
		fjmpi_take(vcq);
}

void fjmpi_quiesce(void)
{
	for (unsigned int i = 0; i < fjmpi.vcqs; i++)
		quiesce(&fjmpi.vcq[i]);
}

/* ---- The interface ---- */

/* Bounded: where NICs share a TNI, notices for others can come without end. */
static int poll_locked(unsigned int nic, struct fjmpi_notice *notice)
{
	struct fjmpi_inbox *inbox = &fjmpi.inbox[nic];

	for (int taken = 0; taken < TAKEN_A_POLL; taken++) {
		if (inbox_pop(inbox, notice))
			return notice->kind;
		if (!fjmpi_take(fjmpi_vcq_of_nic(nic)))
			return 0;
	}
	return 0;
}

int FJMPI_Rdma_poll_cq(int nic, struct FJMPI_Rdma_cq *cq)
{
	struct fjmpi_notice notice = { .cq = { .pid = -1, .tag = -1 } };
	int ret = (int)FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (fjmpi.up && nic >= 0 && nic < FJMPI_NICS)
		ret = poll_locked((unsigned int)nic, &notice);
	pthread_mutex_unlock(&fjmpi_lock);
	if (ret && cq)
		*cq = notice.cq;
	return ret;
}
