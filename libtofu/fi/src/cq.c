/* SPDX-License-Identifier: MIT */
/* Completion queues, as long as memory lasts. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define ROOM 256

/* Completions that a call looks for, where it has room for fewer */
#define LOOK_MIN 16

static struct tofu_fi_cq *cq_of(struct fid_cq *fid)
{
	return (struct tofu_fi_cq *)fid;
}

/* ---- The ring ---- */

static struct tofu_fi_entry *entry_at(const struct tofu_fi_cq *cq, size_t i)
{
	return &cq->entry[(cq->first + i) & (cq->room - 1)];
}

static void ring_grow(struct tofu_fi_cq *cq)
{
	size_t room = 2 * cq->room;
	struct tofu_fi_entry *entry = malloc(room * sizeof(*entry));

	/* What has ended cannot be told, and must not be lost. */
	if (!entry) {
		tofu_fi_warn(FI_LOG_CQ, "no memory for %zu completions\n", room);
		abort();
	}
	for (size_t i = 0; i < cq->count; i++)
		entry[i] = *entry_at(cq, i);
	free(cq->entry);
	cq->entry = entry;
	cq->room = room;
	cq->first = 0;
}

void tofu_fi_cq_add(struct tofu_fi_cq *cq, const struct tofu_fi_entry *entry)
{
	if (cq->count == cq->room)
		ring_grow(cq);
	*entry_at(cq, cq->count++) = *entry;
	cq->domain->ended++;
	tofu_fi_bell_ring(&cq->bell);
}

static void entry_drop(struct tofu_fi_cq *cq)
{
	cq->first = (cq->first + 1) & (cq->room - 1);
	cq->count--;
}

/* ---- Reading ---- */

int tofu_fi_errno(int code)
{
	switch (code) {
	case UTOFU_SUCCESS:
		return 0;
	case UTOFU_ERR_INVALID_SIZE:
		return FI_ETRUNC;
	case UTOFU_ERR_MRQ_PEER:
		return FI_ECONNRESET;
	case UTOFU_ERR_OUT_OF_MEMORY:
	case UTOFU_ERR_FULL:
		return FI_ENOMEM;
	case UTOFU_ERR_INVALID_ADDRESS:
		return FI_EFAULT;
	case UTOFU_ERR_INVALID_POINTER:
	case UTOFU_ERR_INVALID_NUMBER:
	case UTOFU_ERR_INVALID_FLAGS:
		return FI_EINVAL;
	default:
		return FI_EIO;
	}
}

static size_t entry_bytes(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return sizeof(struct fi_cq_entry);
	}
}

/* Each format begins as those before it, and that of errors as all of them. */
_Static_assert(offsetof(struct fi_cq_err_entry, tag) ==
		       offsetof(struct fi_cq_tagged_entry, tag),
	       "the formats are alike");

static size_t entries_take(struct tofu_fi_cq *cq, char *to, size_t count,
			   fi_addr_t *source)
{
	const size_t bytes = entry_bytes(cq->format);
	size_t taken;

	for (taken = 0; taken < count && cq->count; taken++) {
		const struct tofu_fi_entry *entry = entry_at(cq, 0);

		if (entry->is.err)
			break;
		memcpy(to + taken * bytes, &entry->is, bytes);
		if (source)
			source[taken] = entry->source;
		entry_drop(cq);
	}
	return taken;
}

static void cq_progress(struct tofu_fi_cq *cq, size_t count)
{
	struct tofu_fi_bound *bound;

	TAILQ_FOREACH(bound, &cq->bound, link)
		tofu_fi_progress(bound->ep, count > LOOK_MIN ? count : LOOK_MIN);
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count,
			   fi_addr_t *source)
{
	struct tofu_fi_cq *cq = cq_of(fid);
	bool turn;
	ssize_t taken;

	tofu_fi_lock(cq->domain);
	/*
	 * MPIs read until there is nothing, before they do anything with what they got. So a
	 * read after one that has looked, and told all, does not look for more: the next one
	 * does.
	 */
	turn = !cq->count && !cq->emptied;
	if (turn)
		cq_progress(cq, count);
	taken = (ssize_t)entries_take(cq, buf, count, source);
	cq->emptied = turn && taken && (size_t)taken < count && !cq->count;
	if (!taken)
		taken = cq->count && entry_at(cq, 0)->is.err ? -FI_EAVAIL :
							       -FI_EAGAIN;
	tofu_fi_unlock(cq->domain);
	return taken;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *to,
			  uint64_t flags)
{
	struct tofu_fi_cq *cq = cq_of(fid);
	ssize_t read = -FI_EAGAIN;

	(void)flags;
	tofu_fi_lock(cq->domain);
	if (cq->count && entry_at(cq, 0)->is.err) {
		*to = entry_at(cq, 0)->is;
		entry_drop(cq);
		read = 1;
	}
	tofu_fi_unlock(cq->domain);
	return read;
}

/* ---- Waiting ---- */

/* Whether to sleep now; the bell rings for what comes later. With the lock */
static bool cq_sleeps(struct tofu_fi_cq *cq)
{
	if (!cq->count)
		cq_progress(cq, LOOK_MIN);
	if (cq->count || cq->signalled)
		return false;
	tofu_fi_bell_arm(&cq->bell);
	return true;
}

/* Who waits by itself hears of a signal so, once. */
int tofu_fi_cq_trywait(struct fid *fid)
{
	struct tofu_fi_cq *cq = (struct tofu_fi_cq *)fid;
	bool sleeps;

	tofu_fi_lock(cq->domain);
	sleeps = cq_sleeps(cq);
	cq->signalled = false;
	tofu_fi_unlock(cq->domain);
	return sleeps ? 0 : -FI_EAGAIN;
}

static bool may_sleep(struct tofu_fi_cq *cq)
{
	bool sleeps;

	tofu_fi_lock(cq->domain);
	sleeps = cq_sleeps(cq);
	tofu_fi_unlock(cq->domain);
	return sleeps;
}

static bool signal_take(struct tofu_fi_cq *cq)
{
	bool taken;

	tofu_fi_lock(cq->domain);
	taken = cq->signalled;
	cq->signalled = false;
	tofu_fi_unlock(cq->domain);
	return taken;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
			    fi_addr_t *source, const void *cond, int timeout)
{
	const int64_t until = tofu_fi_now_ms() + timeout;
	struct tofu_fi_cq *cq = cq_of(fid);
	ssize_t read;

	(void)cond;
	while ((read = cq_readfrom(fid, buf, count, source)) == -FI_EAGAIN &&
	       !signal_take(cq)) {
		const int64_t left = until - tofu_fi_now_ms();

		if (timeout >= 0 && left <= 0)
			break;
		if (cq->bell.fd < 0)
			sched_yield();
		else if (may_sleep(cq))
			tofu_fi_bell_wait(&cq->bell,
					  timeout < 0 ? -1 : (int)left);
	}
	return read;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count,
			const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct tofu_fi_cq *cq = cq_of(fid);

	tofu_fi_lock(cq->domain);
	cq->signalled = true;
	tofu_fi_bell_ring(&cq->bell);
	tofu_fi_unlock(cq->domain);
	return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int code, const void *data,
			       char *buf, size_t bytes)
{
	const char *text = tofu_error_text(code);

	(void)fid;
	(void)data;
	if (buf && bytes) {
		strncpy(buf, text, bytes - 1);
		buf[bytes - 1] = '\0';
	}
	return text;
}

/* ---- Objects ---- */

static int cq_close(struct fid *fid)
{
	struct tofu_fi_cq *cq = (struct tofu_fi_cq *)fid;

	if (!TAILQ_EMPTY(&cq->bound))
		return -FI_EBUSY;
	tofu_fi_drop(&cq->domain->users);
	tofu_fi_bell_close(&cq->bell);
	free(cq->entry);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	return tofu_fi_bell_control(&((struct tofu_fi_cq *)fid)->bell, command,
				    arg);
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = tofu_fi_no_bind,
	.control = cq_control,
	.ops_open = tofu_fi_no_ops,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

int tofu_fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		    struct fid_cq **made, void *context)
{
	struct tofu_fi_cq *cq = calloc(1, sizeof(*cq));
	int err;

	if (!cq)
		return -FI_ENOMEM;
	cq->entry = malloc(ROOM * sizeof(*cq->entry));
	err = cq->entry ? tofu_fi_bell_open(&cq->bell,
					    (struct tofu_fi_domain *)domain,
					    attr->wait_obj) :
			  -FI_ENOMEM;
	if (err) {
		free(cq->entry);
		free(cq);
		return err;
	}
	cq->room = ROOM;
	cq->domain = (struct tofu_fi_domain *)domain;
	cq->format = attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	attr->format = cq->format;
	TAILQ_INIT(&cq->bound);
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	tofu_fi_hold(&cq->domain->users);
	*made = &cq->fid;
	return 0;
}
