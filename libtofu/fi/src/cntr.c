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
	tofu_fi_bell_ring(&cntr->bell);
	tofu_fi_unlock(cntr->domain);
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);

	tofu_fi_lock(cntr->domain);
	cntr->value += value;
	tofu_fi_bell_ring(&cntr->bell);
	tofu_fi_unlock(cntr->domain);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct tofu_fi_cntr *cntr = cntr_of(fid);

	tofu_fi_lock(cntr->domain);
	cntr->errors += value;
	tofu_fi_bell_ring(&cntr->bell);
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
		const int64_t left = until - tofu_fi_now_ms();

		if (look(cntr, &cntr->errors) != errors)
			return -FI_EAVAIL;
		if (timeout >= 0 && left <= 0)
			return -FI_ETIMEDOUT;
		if (cntr->bell.fd < 0)
			sched_yield();
		else if (!tofu_fi_cntr_trywait(&fid->fid))
			tofu_fi_bell_wait(&cntr->bell,
					  timeout < 0 ? -1 : (int)left);
	}
	return 0;
}

/* Has the bell ring for what has changed since the last time, too. */
int tofu_fi_cntr_trywait(struct fid *fid)
{
	struct tofu_fi_cntr *cntr = (struct tofu_fi_cntr *)fid;
	int err = -FI_EAGAIN;

	tofu_fi_lock(cntr->domain);
	tofu_fi_progress_all(cntr->domain);
	if (cntr->seen == cntr->value + cntr->errors) {
		tofu_fi_bell_arm(&cntr->bell);
		err = 0;
	}
	cntr->seen = cntr->value + cntr->errors;
	tofu_fi_unlock(cntr->domain);
	return err;
}

/* ---- Objects ---- */

static int cntr_close(struct fid *fid)
{
	struct tofu_fi_cntr *cntr = (struct tofu_fi_cntr *)fid;

	if (tofu_fi_is_used(&cntr->users))
		return -FI_EBUSY;
	tofu_fi_drop(&cntr->domain->users);
	tofu_fi_bell_close(&cntr->bell);
	free(cntr);
	return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	return tofu_fi_bell_control(&((struct tofu_fi_cntr *)fid)->bell, command,
				    arg);
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = tofu_fi_no_bind,
	.control = cntr_control,
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
	int err;

	if (attr->events != FI_CNTR_EVENTS_COMP || attr->flags)
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = (struct tofu_fi_domain *)domain;
	err = tofu_fi_bell_open(&cntr->bell, cntr->domain, attr->wait_obj);
	if (err) {
		free(cntr);
		return err;
	}
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops;
	tofu_fi_hold(&cntr->domain->users);
	*made = &cntr->fid;
	return 0;
}
