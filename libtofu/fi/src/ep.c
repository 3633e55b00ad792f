/* SPDX-License-Identifier: MIT */
/* Endpoints: making, binding and closing them. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider.h"

/* Component IDs of a TNI that endpoints may use: two each */
#define PER_TNI 3
#define COMPONENTS 2

/* Endpoints of a process: each has a bit */
#define NUMBERS 64

/* What an endpoint may take, unless FI_TOFU_MEMORY says otherwise, MiB */
#define MEMORY_MIB 64
#define MEMORY_MIB_MAX (1U << 20)

/* Bytes that a buffer for several messages has left, unless the program says */
#define MULTI_MIN 64

/* How long a closed endpoint answers others that still wait, seconds */
#define FLUSH_SECONDS 2

static struct tofu_fi_ep *ep_of(struct fid *fid)
{
	return (struct tofu_fi_ep *)fid;
}

/* ---- Numbers, and where they are ---- */

static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t numbers;

static int number_take(unsigned int most)
{
	int number = -1;

	pthread_mutex_lock(&numbers_lock);
	for (unsigned int i = 0; i < most && number < 0; i++)
		if (!(numbers >> i & 1))
			number = (int)i;
	if (number >= 0)
		numbers |= 1ULL << number;
	pthread_mutex_unlock(&numbers_lock);
	return number;
}

static void number_give(unsigned int number)
{
	pthread_mutex_lock(&numbers_lock);
	numbers &= ~(1ULL << number);
	pthread_mutex_unlock(&numbers_lock);
}

/*
 * Process l of its node has the TNIs l, l + p, l + 2p … of p processes: there it
 * is the first, as <tofu/p2p.h> wants it.
 */
static unsigned int tnis_of(const struct tofu_fi_domain *domain,
			    unsigned int local)
{
	return local < domain->tnis ?
		       (unsigned int)(domain->tnis - local - 1) /
				       domain->job.ppn +
			       1 :
		       0;
}

static unsigned int numbers_of(const struct tofu_fi_domain *domain)
{
	unsigned int most = PER_TNI *
			    tnis_of(domain, domain->job.rank % domain->job.ppn);

	return most < NUMBERS ? most : NUMBERS;
}

/* Return: false if no process has such an endpoint. */
static bool place_of(const struct tofu_fi_domain *domain, uint32_t rank,
		     unsigned int number, utofu_tni_id_t *tni,
		     utofu_cmp_id_t *component)
{
	unsigned int local = rank % domain->job.ppn;
	unsigned int tnis = tnis_of(domain, local);

	if (number >= tnis * PER_TNI)
		return false;
	*tni = (utofu_tni_id_t)(local + number % tnis * domain->job.ppn);
	*component = (utofu_cmp_id_t)(number / tnis * COMPONENTS);
	return true;
}

/* Who is not in the address vector yet has the same number, as a rule. */
static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	const struct tofu_fi_ep *ep = arg;
	const struct tofu_fi_peer *peer =
		tofu_fi_peer(ep->av, tofu_fi_address(ep->av, rank));
	unsigned int number = peer && rank != ep->domain->job.rank ?
				      peer->endpoint :
				      ep->number;

	if (!place_of(ep->domain, rank, number, tni, component))
		return UTOFU_ERR_NOT_AVAILABLE;
	return tofu_query_rank_coords(rank, coords);
}

/* ---- Enabling ---- */

static size_t memory_get(void)
{
	int mib = MEMORY_MIB;

	if (fi_param_get_int(&tofu_fi_provider, "memory", &mib) == FI_SUCCESS &&
	    (mib < 1 || (unsigned int)mib > MEMORY_MIB_MAX)) {
		tofu_fi_warn(FI_LOG_EP_CTRL,
			     "FI_TOFU_MEMORY=%d: not from 1 to %u MiB\n", mib,
			     MEMORY_MIB_MAX);
		mib = MEMORY_MIB;
	}
	return (size_t)mib << 20;
}

static int ep_enable(struct tofu_fi_ep *ep)
{
	struct tofu_p2p_params params = {
		.processes = ep->domain->job.ranks,
		.rank = ep->domain->job.rank,
		.where = where,
		.arg = ep,
		.mode = TOFU_P2P_AUTO,
		.memory = memory_get(),
		.eager = TOFU_P2P_DEFAULT,
		.get = TOFU_P2P_DEFAULT,
	};
	int code;

	if (ep->p2p)
		return -FI_EOPBADSTATE;
	if (!ep->av)
		return -FI_ENOAV;
	if (!ep->tx || !ep->rx)
		return -FI_ENOCQ;
	if (!place_of(ep->domain, params.rank, ep->number, &params.tni,
		      &params.component))
		return -FI_ENODEV;
	code = tofu_p2p_create(&params, &ep->p2p);
	if (!code) {
		LIST_INSERT_HEAD(&ep->domain->eps, ep, link);
		return 0;
	}
	tofu_fi_warn(FI_LOG_EP_CTRL,
		     "no endpoint on TNI %u: %s%s\n", params.tni,
		     tofu_error_text(code),
		     code == UTOFU_ERR_INVALID_SIZE ?
			     "; FI_TOFU_MEMORY, in MiB, may be more" :
			     "");
	return -tofu_fi_errno(code);
}

/* ---- Binding ---- */

static void cq_bind(struct tofu_fi_ep *ep, struct tofu_fi_cq *cq,
		    uint64_t flags)
{
	const bool selective = flags & FI_SELECTIVE_COMPLETION;
	struct tofu_fi_bound *bound = flags & FI_TRANSMIT ? &ep->tx_bound :
							    &ep->rx_bound;

	if (flags & FI_TRANSMIT) {
		ep->tx = cq;
		ep->tx_selective = selective;
	}
	if (flags & FI_RECV) {
		ep->rx = cq;
		ep->rx_selective = selective;
	}
	/* In the list once, for both */
	if (ep->tx == ep->rx && (ep->tx_bound.ep || ep->rx_bound.ep))
		return;
	bound->ep = ep;
	TAILQ_INSERT_TAIL(&cq->bound, bound, link);
}

/* What others do with this process's memory is not seen here. */
static int cntr_bind(struct tofu_fi_ep *ep, struct tofu_fi_cntr *cntr,
		     uint64_t flags)
{
	uint64_t left = flags;

	for (size_t i = 0; i < TOFU_FI_COUNTED; i++) {
		if (flags & tofu_fi_counted(i) && ep->cntr[i])
			return -FI_EINVAL;
		left &= ~tofu_fi_counted(i);
	}
	if (left || !flags)
		return left ? -FI_EOPNOTSUPP : -FI_EINVAL;
	for (size_t i = 0; i < TOFU_FI_COUNTED; i++) {
		if (!(flags & tofu_fi_counted(i)))
			continue;
		ep->cntr[i] = cntr;
		tofu_fi_hold(&cntr->users);
	}
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
	struct tofu_fi_ep *ep = ep_of(fid);

	if (ep->p2p)
		return -FI_EOPBADSTATE;
	switch (bound->fclass) {
	case FI_CLASS_AV:
		if (ep->av)
			return -FI_EINVAL;
		ep->av = (struct tofu_fi_av *)bound;
		tofu_fi_hold(&ep->av->users);
		return 0;
	case FI_CLASS_CQ:
		if (!(flags & (FI_TRANSMIT | FI_RECV)) ||
		    (flags & FI_TRANSMIT && ep->tx) ||
		    (flags & FI_RECV && ep->rx))
			return -FI_EINVAL;
		cq_bind(ep, (struct tofu_fi_cq *)bound, flags);
		return 0;
	case FI_CLASS_CNTR:
		return cntr_bind(ep, (struct tofu_fi_cntr *)bound, flags);
	case FI_CLASS_EQ:
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static void cqs_unbind(struct tofu_fi_ep *ep)
{
	if (ep->tx_bound.ep)
		TAILQ_REMOVE(&ep->tx->bound, &ep->tx_bound, link);
	if (ep->rx_bound.ep)
		TAILQ_REMOVE(&ep->rx->bound, &ep->rx_bound, link);
}

/* ---- Closing ---- */

/* Others may still wait for answers. */
static void flush(struct tofu_fi_ep *ep)
{
	time_t until = time(NULL) + FLUSH_SECONDS;

	while (tofu_p2p_flush(ep->p2p) == UTOFU_ERR_NOT_COMPLETED &&
	       time(NULL) <= until)
		sched_yield();
}

static int ep_close(struct fid *fid)
{
	struct tofu_fi_ep *ep = ep_of(fid);

	tofu_fi_lock(ep->domain);
	if (ep->p2p) {
		LIST_REMOVE(ep, link);
		flush(ep);
		tofu_p2p_free(ep->p2p);
	}
	tofu_fi_forget(ep);
	cqs_unbind(ep);
	for (size_t i = 0; i < TOFU_FI_COUNTED; i++)
		if (ep->cntr[i])
			tofu_fi_drop(&ep->cntr[i]->users);
	if (ep->av)
		tofu_fi_drop(&ep->av->users);
	tofu_fi_drop(&ep->domain->users);
	tofu_fi_unlock(ep->domain);
	number_give(ep->number);
	free(ep);
	return 0;
}

/* ---- Control ---- */

static uint64_t *op_flags(struct tofu_fi_ep *ep, uint64_t which)
{
	if (which & FI_TRANSMIT)
		return &ep->tx_flags;
	return which & FI_RECV ? &ep->rx_flags : NULL;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct tofu_fi_ep *ep = ep_of(fid);
	uint64_t *flags;
	int err;

	switch (command) {
	case FI_ENABLE:
		tofu_fi_lock(ep->domain);
		err = ep_enable(ep);
		tofu_fi_unlock(ep->domain);
		return err;
	case FI_GETOPSFLAG:
		flags = op_flags(ep, *(uint64_t *)arg);
		if (!flags)
			return -FI_EINVAL;
		*(uint64_t *)arg = *flags;
		return 0;
	case FI_SETOPSFLAG:
		flags = op_flags(ep, *(uint64_t *)arg);
		if (!flags)
			return -FI_EINVAL;
		*flags = *(uint64_t *)arg & ~(FI_TRANSMIT | FI_RECV);
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = tofu_fi_no_ops,
};

/* ---- Names ---- */

static int ep_getname(fid_t fid, void *to, size_t *bytes)
{
	const struct tofu_fi_ep *ep = ep_of(fid);
	const struct tofu_fi_name name = {
		.magic = TOFU_FI_MAGIC,
		.ranks = ep->domain->job.ranks,
		.rank = ep->domain->job.rank,
		.endpoint = ep->number,
	};
	const size_t room = *bytes;

	*bytes = sizeof(name);
	if (room)
		memcpy(to, &name, room < sizeof(name) ? room : sizeof(name));
	return room < sizeof(name) ? -FI_ETOOSMALL : 0;
}

static int no_name(fid_t fid, void *name, size_t bytes)
{
	(void)fid;
	(void)name;
	(void)bytes;
	return -FI_ENOSYS;
}

static int no_peer(struct fid_ep *ep, void *name, size_t *bytes)
{
	(void)ep;
	(void)name;
	(void)bytes;
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *name, const void *data,
		      size_t bytes)
{
	(void)ep;
	(void)name;
	(void)data;
	(void)bytes;
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *pep)
{
	(void)pep;
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *data, size_t bytes)
{
	(void)ep;
	(void)data;
	(void)bytes;
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *pep, fid_t handle, const void *data,
		     size_t bytes)
{
	(void)pep;
	(void)handle;
	(void)data;
	(void)bytes;
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep;
	(void)flags;
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *ep, const void *name, uint64_t flags,
		   struct fid_mc **mc, void *context)
{
	(void)ep;
	(void)name;
	(void)flags;
	(void)mc;
	(void)context;
	return -FI_ENOSYS;
}

static struct fi_ops_cm ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = no_name,
	.getname = ep_getname,
	.getpeer = no_peer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};

/* ---- Operations and options ---- */

static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct tofu_fi_ep *ep = ep_of(fid);

	tofu_fi_lock(ep->domain);
	tofu_fi_cancel(ep, context);
	tofu_fi_unlock(ep->domain);
	return 0;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *bytes)
{
	const struct tofu_fi_ep *ep = ep_of(fid);
	const size_t room = *bytes;

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	*bytes = sizeof(ep->multi_min);
	if (room < *bytes)
		return -FI_ETOOSMALL;
	memcpy(value, &ep->multi_min, *bytes);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value,
		     size_t bytes)
{
	struct tofu_fi_ep *ep = ep_of(fid);

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (bytes != sizeof(ep->multi_min))
		return -FI_EINVAL;
	tofu_fi_lock(ep->domain);
	memcpy(&ep->multi_min, value, bytes);
	tofu_fi_unlock(ep->domain);
	return 0;
}

static int no_tx(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
		 struct fid_ep **tx, void *context)
{
	(void)ep;
	(void)index;
	(void)attr;
	(void)tx;
	(void)context;
	return -FI_ENOSYS;
}

static int no_rx(struct fid_ep *ep, int index, struct fi_rx_attr *attr,
		 struct fid_ep **rx, void *context)
{
	(void)ep;
	(void)index;
	(void)attr;
	(void)rx;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t size_left(struct fid_ep *ep)
{
	(void)ep;
	return TOFU_FI_SIZE;
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = no_tx,
	.rx_ctx = no_rx,
	.rx_size_left = size_left,
	.tx_size_left = size_left,
};

int tofu_fi_ep_open(struct fid_domain *fid, struct fi_info *info,
		    struct fid_ep **made, void *context)
{
	struct tofu_fi_domain *domain = (struct tofu_fi_domain *)fid;
	struct tofu_fi_ep *ep = calloc(1, sizeof(*ep));
	int number;

	if (!ep)
		return -FI_ENOMEM;
	number = number_take(numbers_of(domain));
	if (number < 0) {
		tofu_fi_warn(FI_LOG_EP_CTRL,
			     "a process has at most %u endpoints: %zu TNIs, %u processes a node\n",
			     numbers_of(domain), domain->tnis, domain->job.ppn);
		free(ep);
		return -FI_EBUSY;
	}
	ep->number = (unsigned int)number;
	ep->domain = domain;
	ep->directed = info->caps & FI_DIRECTED_RECV;
	ep->rma = info->caps & (FI_RMA | FI_ATOMIC);
	ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->multi_min = MULTI_MIN;
	LIST_INIT(&ep->ops);
	LIST_INIT(&ep->unused);
	TAILQ_INIT(&ep->multis);
	LIST_INIT(&ep->claims);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &ep_cm_ops;
	ep->fid.msg = &tofu_fi_msg_ops;
	ep->fid.tagged = &tofu_fi_tagged_ops;
	ep->fid.rma = &tofu_fi_rma_ops;
	ep->fid.atomic = &tofu_fi_atomic_ops;
	tofu_fi_hold(&domain->users);
	*made = &ep->fid;
	return 0;
}
