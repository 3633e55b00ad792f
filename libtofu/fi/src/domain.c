/* SPDX-License-Identifier: MIT */
/* The provider, its fabric, and domains. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "provider.h"

/* ---- What an object does not have ---- */

int tofu_fi_no_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
	(void)fid;
	(void)bound;
	(void)flags;
	return -FI_ENOSYS;
}

int tofu_fi_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

int tofu_fi_no_ops(struct fid *fid, const char *name, uint64_t flags,
		   void **ops, void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}

/* ---- Domains ---- */

pthread_mutex_t tofu_fi_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int domain_close(struct fid *fid)
{
	struct tofu_fi_domain *domain = (struct tofu_fi_domain *)fid;

	if (tofu_fi_is_used(&domain->users))
		return -FI_EBUSY;
	tofu_fi_runner_stop(domain);
	tofu_boot_unattend(&domain->attendant);
	free(domain);
	return 0;
}

/*
 * What has been sent here must arrive even if the program only waits for a
 * barrier of its process manager. Another thread that has the lock does it.
 */
static void attend(void *arg)
{
	struct tofu_fi_domain *domain = arg;

	if (domain->locks && pthread_mutex_trylock(&tofu_fi_mutex))
		return;
	tofu_fi_progress_all(domain);
	tofu_fi_unlock(domain);
}

/* A boot's VCQ may share a command queue with those of endpoints. */
static void exclude(void *arg, bool on)
{
	if (on)
		tofu_fi_lock(arg);
	else
		tofu_fi_unlock(arg);
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = tofu_fi_no_bind,
	.control = tofu_fi_no_control,
	.ops_open = tofu_fi_no_ops,
};

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info,
			  struct fid_ep **ep, void *context)
{
	(void)domain;
	(void)info;
	(void)ep;
	(void)context;
	return -FI_ENOSYS;
}

static int no_poll(struct fid_domain *domain, struct fi_poll_attr *attr,
		   struct fid_poll **poll)
{
	(void)domain;
	(void)attr;
	(void)poll;
	return -FI_ENOSYS;
}

static int no_stx(struct fid_domain *domain, struct fi_tx_attr *attr,
		  struct fid_stx **stx, void *context)
{
	(void)domain;
	(void)attr;
	(void)stx;
	(void)context;
	return -FI_ENOSYS;
}

static int no_srx(struct fid_domain *domain, struct fi_rx_attr *attr,
		  struct fid_ep **ep, void *context)
{
	(void)domain;
	(void)attr;
	(void)ep;
	(void)context;
	return -FI_ENOSYS;
}

static int no_collective(struct fid_domain *domain, enum fi_collective_op op,
			 struct fi_collective_attr *attr, uint64_t flags)
{
	(void)domain;
	(void)op;
	(void)attr;
	(void)flags;
	return -FI_EOPNOTSUPP;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = tofu_fi_av_open,
	.cq_open = tofu_fi_cq_open,
	.endpoint = tofu_fi_ep_open,
	.scalable_ep = no_scalable_ep,
	.cntr_open = tofu_fi_cntr_open,
	.poll_open = no_poll,
	.stx_ctx = no_stx,
	.srx_ctx = no_srx,
	.query_atomic = tofu_fi_query_atomic,
	.query_collective = no_collective,
};

static int tnis_ask(size_t *count, bool *armw)
{
	struct utofu_onesided_caps *caps;
	utofu_tni_id_t *tnis;
	int code = utofu_get_onesided_tnis(&tnis, count);

	if (code)
		return code;
	code = utofu_query_onesided_caps(tnis[0], &caps);
	*armw = !code && caps->armw_ops;
	free(tnis);
	return code;
}

bool tofu_fi_has_atomics(void)
{
	size_t tnis;
	bool armw;

	return !tnis_ask(&tnis, &armw) && armw;
}

static int machine_ask(struct tofu_fi_domain *domain)
{
	int code = tofu_query_job(&domain->job);

	if (!code)
		code = tnis_ask(&domain->tnis, &domain->armw);
	if (!code)
		return 0;
	tofu_fi_warn(FI_LOG_DOMAIN,
		     "no Tofu job here: %s; TOFU_DEBUG=1 says more\n",
		     tofu_error_text(code));
	return -FI_ENODEV;
}

int tofu_fi_domain_open(struct fid_fabric *fabric, struct fi_info *info,
			struct fid_domain **made, void *context)
{
	struct tofu_fi_domain *domain = calloc(1, sizeof(*domain));
	int err;

	(void)fabric;
	if (!domain)
		return -FI_ENOMEM;
	err = machine_ask(domain);
	if (err) {
		free(domain);
		return err;
	}
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &tofu_fi_mr_ops;
	domain->virtual_addresses = info->domain_attr->mr_mode &
				    (FI_MR_VIRT_ADDR | FI_MR_BASIC);
	domain->locks = info->domain_attr->threading != FI_THREAD_DOMAIN;
	LIST_INIT(&domain->eps);
	domain->attendant.attend = attend;
	domain->attendant.exclude = exclude;
	domain->attendant.arg = domain;
	tofu_boot_attend(&domain->attendant);
	if (info->domain_attr->data_progress == FI_PROGRESS_AUTO)
		err = tofu_fi_runner_start(domain);
	if (err)
		domain_close(&domain->fid.fid);
	else
		*made = &domain->fid;
	return err;
}

/* ---- The fabric ---- */

static int fabric_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = tofu_fi_no_bind,
	.control = tofu_fi_no_control,
	.ops_open = tofu_fi_no_ops,
};

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
			 struct fid_pep **pep, void *context)
{
	(void)fabric;
	(void)info;
	(void)pep;
	(void)context;
	return -FI_ENOSYS;
}

static int no_wait(struct fid_fabric *fabric, struct fi_wait_attr *attr,
		   struct fid_wait **wait)
{
	(void)fabric;
	(void)attr;
	(void)wait;
	return -FI_ENOSYS;
}

/* Whether a program may sleep until one of these has something to read */
static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int err = 0;

	(void)fabric;
	for (int i = 0; i < count && !err; i++) {
		switch (fids[i]->fclass) {
		case FI_CLASS_CQ:
			err = tofu_fi_cq_trywait(fids[i]);
			break;
		case FI_CLASS_CNTR:
			err = tofu_fi_cntr_trywait(fids[i]);
			break;
		case FI_CLASS_EQ:
			break;
		default:
			err = -FI_EINVAL;
		}
	}
	return err;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = tofu_fi_domain_open,
	.passive_ep = no_passive_ep,
	.eq_open = tofu_fi_eq_open,
	.wait_open = no_wait,
	.trywait = fabric_trywait,
};

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **made,
		       void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.context = context;
	fabric->fid.ops = &fabric_fid_ops;
	fabric->ops = &fabric_ops;
	fabric->api_version = attr->api_version;
	*made = fabric;
	return 0;
}

/* ---- The provider ---- */

static void cleanup(void)
{
}

struct fi_provider tofu_fi_provider = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = TOFU_FI_NAME,
	.getinfo = tofu_fi_getinfo,
	.fabric = fabric_open,
	.cleanup = cleanup,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
	return &tofu_fi_provider;
}
