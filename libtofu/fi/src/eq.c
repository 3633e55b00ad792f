/* SPDX-License-Identifier: MIT */
/*
 * Event queues. Nothing here ends later than its call, so none ever has an event;
 * programs open them all the same.
 */
#include <stdlib.h>
#include <time.h>

#include "provider.h"

static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buf,
		       size_t bytes, uint64_t flags)
{
	(void)eq;
	(void)event;
	(void)buf;
	(void)bytes;
	(void)flags;
	return -FI_EAGAIN;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *entry,
			  uint64_t flags)
{
	(void)eq;
	(void)entry;
	(void)flags;
	return -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *eq, uint32_t event, const void *buf,
			size_t bytes, uint64_t flags)
{
	(void)eq;
	(void)event;
	(void)buf;
	(void)bytes;
	(void)flags;
	return -FI_ENOSYS;
}

/* Without a limit it would never end. */
static ssize_t eq_sread(struct fid_eq *eq, uint32_t *event, void *buf,
			size_t bytes, int timeout, uint64_t flags)
{
	const struct timespec wait = {
		.tv_sec = timeout / 1000,
		.tv_nsec = timeout % 1000 * 1000000L,
	};

	if (timeout < 0)
		return -FI_ENOSYS;
	nanosleep(&wait, NULL);
	return eq_read(eq, event, buf, bytes, flags);
}

static const char *eq_strerror(struct fid_eq *eq, int code, const void *data,
			       char *buf, size_t bytes)
{
	(void)eq;
	(void)data;
	(void)buf;
	(void)bytes;
	return tofu_error_text(code);
}

struct event_queue {
	struct fid_eq fid;
	struct tofu_fi_bell bell;
};

static int eq_close(struct fid *fid)
{
	tofu_fi_bell_close(&((struct event_queue *)fid)->bell);
	free(fid);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	return tofu_fi_bell_control(&((struct event_queue *)fid)->bell, command,
				    arg);
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = tofu_fi_no_bind,
	.control = eq_control,
	.ops_open = tofu_fi_no_ops,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int tofu_fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		    struct fid_eq **made, void *context)
{
	struct event_queue *eq = calloc(1, sizeof(*eq));
	int err;

	(void)fabric;
	if (!eq)
		return -FI_ENOMEM;
	err = tofu_fi_bell_open(&eq->bell, NULL, attr->wait_obj);
	if (err) {
		free(eq);
		return err;
	}
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	*made = &eq->fid;
	return 0;
}
