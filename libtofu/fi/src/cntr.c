/* SPDX-License-Identifier: MIT */
/* Counters of what has ended. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "provider.h"

static struct tofu_fi_cntr *cntr_of(struct fid_cntr *fid)
{
	return (struct tofu_fi_cntr *)fid;
}

/* Return: its value, or the number of its errors, now */
static uint64_t look(struct tofu_fi_cntr *cntr, const uint64_t *which)
{
	uint64_t value;

	tofu_fi_lock(cntr->domain);
	tofu_fi_progress_all(cntr->domain);
	value = *which;
	tofu_fi_unlock(cntr->domain);
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);

	return look(cntr, &cntr->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);

	return look(cntr, &cntr->errors);
}

/* ---- Changing ---- */

static int change(struct tofu_fi_cntr *cntr, uint64_t *which,
		  uint64_t value)
{
	tofu_fi_lock(cntr->domain);
	*which = value;
	tofu_fi_unlock(cntr->domain);
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);

	tofu_fi_lock(cntr->domain);
	cntr->value += value;
	tofu_fi_unlock(cntr->domain);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);

	tofu_fi_lock(cntr->domain);
	cntr->errors += value;
	tofu_fi_unlock(cntr->domain);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	return change(cntr_of(fid), &cntr_of(fid)->value, value);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	return change(cntr_of(fid), &cntr_of(fid)->errors, value);
}

/* ---- Waiting ---- */

/* Errors so far, and not those that a look would find */
static uint64_t before(struct tofu_fi_cntr *cntr)
{
	uint64_t errors;

	tofu_fi_lock(cntr->domain);
	errors = cntr->errors;
	tofu_fi_unlock(cntr->domain);
	return errors;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);
	const uint64_t errors = before(cntr);
	const int64_t until = tofu_fi_now_ms() + timeout;

	while (cntr_read(fid) < threshold) {
		if (look(cntr, &cntr->errors) != errors)
			return -FI_EAVAIL;
		if (timeout >= 0 && tofu_fi_now_ms() >= until)
			return -FI_ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

/* ---- Objects ---- */

static int cntr_close(struct fid *fid)
{
	struct tofu_fi_cntr *cntr = (struct tofu_fi_cntr *)fid;

	if (tofu_fi_is_used(&cntr->users))
		return -FI_EBUSY;
	tofu_fi_drop(&cntr->domain->users);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = tofu_fi_no_bind,
	.control = tofu_fi_no_control,
	.ops_open = tofu_fi_no_ops,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int tofu_fi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		      struct fid_cntr **made, void *context)
{
	struct tofu_fi_cntr *cntr;

	if (attr->events != FI_CNTR_EVENTS_COMP || attr->flags ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	     attr->wait_obj != FI_WAIT_YIELD))
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = (struct tofu_fi_domain *)domain;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops;
	tofu_fi_hold(&cntr->domain->users);
	*made = &cntr->fid;
	return 0;
}
