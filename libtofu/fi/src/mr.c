/* SPDX-License-Identifier: MIT */
/*
 * Memory that other processes may touch. All of a process is registered with one
 * VCQ, whose place others know from its rank, whatever endpoints and domains there
 * are: so a key is valid for all of them.
 *
 * A key is what has to be added to libfabric's address to have the STADD: with
 * FI_MR_VIRT_ADDR the address is the one that the memory has in its process,
 * otherwise an offset.
 */
#include <stdlib.h>

#include "provider.h"

/* Beside the components that endpoints may have, on the process's first TNI */
#define COMPONENT 6
#define CQ 0

/**
 * struct window - the VCQ, which stays: it shares a command queue with endpoints
 * @made: there is one
 */
static struct {
	pthread_mutex_t lock;
	utofu_vcq_hdl_t vcq;
	bool made;
} window = { .lock = PTHREAD_MUTEX_INITIALIZER };

static utofu_tni_id_t tni_of(const struct tofu_fi_domain *domain, uint32_t rank)
{
	return (utofu_tni_id_t)(rank % domain->job.ppn);
}

int tofu_fi_window(const struct tofu_fi_domain *domain, uint32_t rank,
		   utofu_vcq_id_t *id)
{
	uint8_t coords[6];
	int code = tofu_query_rank_coords(rank, coords);

	return code ? code :
		      utofu_construct_vcq_id(coords, tni_of(domain, rank), CQ,
					     COMPONENT, id);
}

/* ---- Registering ---- */

/* With the window's lock */
static int window_make(const struct tofu_fi_domain *domain)
{
	int code;

	if (window.made)
		return UTOFU_SUCCESS;
	code = utofu_create_vcq_with_cmp_id(tni_of(domain, domain->job.rank),
					    COMPONENT, 0, &window.vcq);
	window.made = !code;
	return code;
}

/* With the domain's lock, as all that changes its command queues */
static int region_open(struct tofu_fi_mr *mr, void *buf, size_t bytes,
		       unsigned long flags)
{
	int code;

	tofu_fi_lock(mr->domain);
	pthread_mutex_lock(&window.lock);
	code = window_make(mr->domain);
	if (!code)
		code = utofu_reg_mem(window.vcq, buf, bytes, flags, &mr->stadd);
	pthread_mutex_unlock(&window.lock);
	tofu_fi_unlock(mr->domain);
	return code;
}

static void region_close(struct tofu_fi_mr *mr)
{
	tofu_fi_lock(mr->domain);
	pthread_mutex_lock(&window.lock);
	utofu_dereg_mem(window.vcq, mr->stadd, 0);
	pthread_mutex_unlock(&window.lock);
	tofu_fi_unlock(mr->domain);
}

static int mr_close(struct fid *fid)
{
	struct tofu_fi_mr *mr = (struct tofu_fi_mr *)fid;

	if (mr->registered)
		region_close(mr);
	tofu_fi_drop(&mr->domain->users);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = tofu_fi_no_bind,
	.control = tofu_fi_no_control,
	.ops_open = tofu_fi_no_ops,
};

static bool is_written(uint64_t access)
{
	return access & (FI_REMOTE_WRITE | FI_READ | FI_RECV);
}

/* What is only for messages and local buffers needs no registration. */
static int mr_register(struct tofu_fi_mr *mr, const struct iovec *iov,
		       uint64_t access)
{
	int code;

	if (!(access & (FI_REMOTE_READ | FI_REMOTE_WRITE)) || !iov->iov_len)
		return 0;
	code = region_open(mr, iov->iov_base, iov->iov_len,
			   is_written(access) ? 0 :
						UTOFU_REG_MEM_FLAG_READ_ONLY);
	if (code) {
		tofu_fi_warn(FI_LOG_MR, "cannot register %zu bytes: %s\n",
			     iov->iov_len, tofu_error_text(code));
		return code == UTOFU_ERR_INVALID_SIZE ? -FI_EINVAL :
							-tofu_fi_errno(code);
	}
	mr->registered = true;
	mr->fid.key = mr->domain->virtual_addresses ?
			      mr->stadd - (uintptr_t)iov->iov_base :
			      mr->stadd;
	return 0;
}

/*
 * The key that is asked for is not used: FI_MR_PROV_KEY. Nor are offsets, which
 * belong to keys of programs.
 */
static int mr_make(struct tofu_fi_domain *domain, const struct iovec *iov,
		   uint64_t access, void *context, struct fid_mr **made)
{
	struct tofu_fi_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = context;
	mr->fid.fid.ops = &mr_fid_ops;
	/* Of memory that only this process touches */
	mr->fid.key = FI_KEY_NOTAVAIL;
	err = mr_register(mr, iov, access);
	if (err) {
		free(mr);
		return err;
	}
	tofu_fi_hold(&domain->users);
	*made = &mr->fid;
	return 0;
}

/* ---- libfabric's calls ---- */

static int mr_reg(struct fid *fid, const void *buf, size_t bytes,
		  uint64_t access, uint64_t offset, uint64_t key,
		  uint64_t flags, struct fid_mr **made, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, bytes };

	(void)offset;
	(void)key;
	if (flags)
		return -FI_EBADFLAGS;
	return mr_make((struct tofu_fi_domain *)fid, &iov, access, context,
		       made);
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
		   uint64_t access, uint64_t offset, uint64_t key,
		   uint64_t flags, struct fid_mr **made, void *context)
{
	(void)offset;
	(void)key;
	if (flags)
		return -FI_EBADFLAGS;
	if (count != 1)
		return -FI_EINVAL;
	return mr_make((struct tofu_fi_domain *)fid, iov, access, context,
		       made);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
		      uint64_t flags, struct fid_mr **made)
{
	return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access,
		       attr->offset, attr->requested_key, flags, made,
		       attr->context);
}

struct fi_ops_mr tofu_fi_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
