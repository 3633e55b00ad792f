/* SPDX-License-Identifier: MIT */
/*
 * The transfers.
 */
#include "fjmpi.h"

/*
 * Notices are taken from the MRQ once per this many posts, far fewer than it
 * holds, so that a program that posts much before it polls loses none of its
 * own.
 */
#define POSTS_PER_DRAIN 64

/* utofu_put() or utofu_get() */
typedef int fjmpi_post_fn(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			  size_t length, uint64_t edata,
			  unsigned long int flags, void *cbdata);

/**
 * struct transfer - what the parts of a transfer share
 * @post:  function that queues them
 * @pid:   the peer
 * @rmt:   the peer's VCQ
 * @vcq:   this process's VCQ
 * @edata: tag and NICs
 * @flags: UTOFU_ONESIDED_FLAG_* of parts without notices
 * @notices: flags that the last part has, too
 */
struct transfer {
	fjmpi_post_fn *post;
	int pid;
	utofu_vcq_id_t rmt;
	struct fjmpi_vcq *vcq;
	uint64_t edata;
	unsigned long flags;
	unsigned long notices;
};

static bool arguments_valid(int pid, int tag, int flags)
{
	return fjmpi.up && fjmpi_pid_valid(pid) && tag >= 0 &&
	       tag < FJMPI_TAGS && !(flags & ~FJMPI_FLAGS_ALL);
}

static struct transfer transfer_of(fjmpi_post_fn *post, int pid, int tag,
				   int flags)
{
	unsigned int nic = FJMPI_REMOTE(flags), path = FJMPI_PATH(flags);
	struct transfer transfer = {
		.post = post,
		.pid = pid,
		.rmt = fjmpi.peer[pid].id[nic][path],
		.vcq = fjmpi_vcq_of_nic(FJMPI_LOCAL(flags)),
		.edata = FJMPI_EDATA(tag, flags),
		.notices = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE,
	};

	if (flags & FJMPI_RDMA_STRONG_ORDER)
		transfer.flags |= UTOFU_ONESIDED_FLAG_STRONG_ORDER;
	if (flags & FJMPI_RDMA_REMOTE_NOTICE)
		transfer.notices |= UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE;
	return transfer;
}

/* Only the peer knows where its memory ends. */
static bool range_valid(uint64_t raddr, uint64_t laddr, size_t length)
{
	int memid = fjmpi_memid_of(laddr);
	const struct fjmpi_region *region;
	uint64_t offset;

	if (length > FJMPI_LENGTH_MAX || length % 4 || memid < 0 ||
	    fjmpi_memid_of(raddr) < 0)
		return false;
	region = &fjmpi.region[memid];
	offset = laddr - region->addr;
	return laddr >= region->addr && offset <= region->size &&
	       length <= region->size - offset;
}

/* Takes what is there now: peers can send without end. */
static void drain(struct fjmpi_vcq *vcq)
{
	size_t reports = 0, notices = 0;

	utofu_query_num_unread_tcq(vcq->hdl[0], &reports);
	utofu_query_num_unread_mrq(vcq->hdl[0], &notices);
	for (size_t left = reports + notices; left && fjmpi_take(vcq);)
		left--;
}

static int post(const struct transfer *t, uint64_t raddr, uint64_t laddr,
		size_t length, unsigned long notices)
{
	int code;

	if (++t->vcq->posts % POSTS_PER_DRAIN == 0)
		drain(t->vcq);
	for (;;) {
		code = t->post(t->vcq->hdl[0], t->rmt, laddr, raddr, length,
			       t->edata, t->flags | notices,
			       fjmpi_cbdata(t->pid, t->edata));
		if (code != UTOFU_ERR_BUSY)
			break;
		drain(t->vcq);
	}
	return code ? (int)FJMPI_RDMA_ERROR : 0;
}

static int one(fjmpi_post_fn *post_fn, int pid, int tag, uint64_t raddr,
	       uint64_t laddr, size_t length, int flags)
{
	int ret = (int)FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (arguments_valid(pid, tag, flags) &&
	    range_valid(raddr, laddr, length)) {
		struct transfer t = transfer_of(post_fn, pid, tag, flags);

		ret = post(&t, raddr, laddr, length, t.notices);
	}
	pthread_mutex_unlock(&fjmpi_lock);
	return ret;
}

int FJMPI_Rdma_put(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags)
{
	return one(utofu_put, pid, tag, raddr, laddr, length, flags);
}

int FJMPI_Rdma_get(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags)
{
	return one(utofu_get, pid, tag, raddr, laddr, length, flags);
}

/* ---- Several puts ---- */

/**
 * struct list - arguments of FJMPI_Rdma_mput()
 */
struct list {
	const uint64_t *raddr;
	const uint64_t *laddr;
	const size_t *length;
	ptrdiff_t stride;
	int n;
};

/**
 * struct part - one put of an mput
 */
struct part {
	uint64_t raddr;
	uint64_t laddr;
	size_t length;
};

static struct part part_of(const struct list *list, int i)
{
	int at = list->stride ? 0 : i;
	/* Unsigned, so that it may wrap; range_valid() decides. */
	uint64_t distance = (uint64_t)list->stride * (uint64_t)i;

	return (struct part){
		.raddr = list->raddr[at] + distance,
		.laddr = list->laddr[at] + distance,
		.length = list->length[at],
	};
}

static bool list_valid(const struct list *list)
{
	if (!list->raddr || !list->laddr || !list->length || list->n < 1 ||
	    list->n > FJMPI_MPUT_MAX)
		return false;
	for (int i = 0; i < list->n; i++) {
		struct part part = part_of(list, i);

		if (!range_valid(part.raddr, part.laddr, part.length))
			return false;
	}
	return true;
}

static int list_post(const struct transfer *t, const struct list *list)
{
	int ret = 0;

	for (int i = 0; i < list->n && !ret; i++) {
		struct part part = part_of(list, i);
		bool last = i == list->n - 1;

		ret = post(t, part.raddr, part.laddr, part.length,
			   last ? t->notices : 0);
	}
	return ret;
}

int FJMPI_Rdma_mput(int pid, int tag, uint64_t raddrs[], uint64_t laddrs[],
		    size_t lengths[], ptrdiff_t stride, int n, int flags)
{
	const struct list list = { raddrs, laddrs, lengths, stride, n };
	int ret = (int)FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (arguments_valid(pid, tag, flags) && list_valid(&list)) {
		struct transfer t = transfer_of(utofu_put, pid, tag, flags);

		ret = list_post(&t, &list);
	}
	pthread_mutex_unlock(&fjmpi_lock);
	return ret;
}
