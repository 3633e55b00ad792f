/* SPDX-License-Identifier: MIT */
/* Address vectors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

static struct tofu_fi_av *av_of(struct fid_av *fid)
{
	return (struct tofu_fi_av *)fid;
}

/* ---- Inserting ---- */

static bool name_is_valid(const struct tofu_fi_av *av,
			  const struct tofu_fi_name *name)
{
	return name->magic == TOFU_FI_MAGIC &&
	       name->ranks == av->domain->job.ranks && name->rank < name->ranks;
}

static bool room_make(struct tofu_fi_av *av)
{
	size_t room = av->room ? 2 * av->room : 64;
	struct tofu_fi_peer *peer;

	if (av->count < av->room)
		return true;
	peer = realloc(av->peer, room * sizeof(*peer));
	if (!peer)
		return false;
	av->peer = peer;
	av->room = room;
	return true;
}

/* Answers go to a process: to one of its endpoints, always the same. */
static bool is_only(const struct tofu_fi_av *av, const struct tofu_fi_name *name)
{
	const size_t other = av->of_rank[name->rank];

	return !other || av->peer[other - 1].endpoint == name->endpoint;
}

static fi_addr_t peer_add(struct tofu_fi_av *av, const struct tofu_fi_name *name)
{
	av->peer[av->count] = (struct tofu_fi_peer){
		.rank = name->rank,
		.endpoint = name->endpoint,
		.used = true,
	};
	if (!av->of_rank[name->rank])
		av->of_rank[name->rank] = av->count + 1;
	return av->count++;
}

static int one_insert(struct tofu_fi_av *av, const struct tofu_fi_name *name,
		      fi_addr_t *address)
{
	*address = FI_ADDR_NOTAVAIL;
	if (!name_is_valid(av, name) || !is_only(av, name))
		return FI_EINVAL;
	if (!room_make(av))
		return FI_ENOMEM;
	*address = peer_add(av, name);
	return 0;
}

static int av_insert(struct fid_av *fid, const void *names, size_t count,
		     fi_addr_t *address, uint64_t flags, void *context)
{
	struct tofu_fi_av *av = av_of(fid);
	int inserted = 0;

	tofu_fi_lock(av->domain);
	for (size_t i = 0; i < count; i++) {
		struct tofu_fi_name name;
		fi_addr_t at;
		int err;

		memcpy(&name, (const char *)names + i * sizeof(name),
		       sizeof(name));
		err = one_insert(av, &name, &at);
		if (address)
			address[i] = at;
		if (flags & FI_SYNC_ERR && context)
			((int *)context)[i] = err;
		inserted += !err;
	}
	tofu_fi_unlock(av->domain);
	return inserted;
}

static int no_insertsvc(struct fid_av *fid, const char *node,
			const char *service, fi_addr_t *address,
			uint64_t flags, void *context)
{
	(void)fid;
	(void)node;
	(void)service;
	(void)address;
	(void)flags;
	(void)context;
	return -FI_ENOSYS;
}

static int no_insertsym(struct fid_av *fid, const char *node, size_t nodes,
			const char *service, size_t services,
			fi_addr_t *address, uint64_t flags, void *context)
{
	(void)fid;
	(void)node;
	(void)nodes;
	(void)service;
	(void)services;
	(void)address;
	(void)flags;
	(void)context;
	return -FI_ENOSYS;
}

/* ---- Removing ---- */

/* Another entry of the same process takes its place, if there is one. */
static void rank_refind(struct tofu_fi_av *av, uint32_t rank)
{
	av->of_rank[rank] = 0;
	for (size_t i = 0; i < av->count && !av->of_rank[rank]; i++)
		if (av->peer[i].used && av->peer[i].rank == rank)
			av->of_rank[rank] = i + 1;
}

static int av_remove(struct fid_av *fid, fi_addr_t *address, size_t count,
		     uint64_t flags)
{
	struct tofu_fi_av *av = av_of(fid);
	int err = 0;

	(void)flags;
	tofu_fi_lock(av->domain);
	for (size_t i = 0; i < count; i++) {
		if (!tofu_fi_peer(av, address[i])) {
			err = -FI_EINVAL;
			continue;
		}
		av->peer[address[i]].used = false;
		if (av->of_rank[av->peer[address[i]].rank] == address[i] + 1)
			rank_refind(av, av->peer[address[i]].rank);
	}
	while (av->count && !av->peer[av->count - 1].used)
		av->count--;
	tofu_fi_unlock(av->domain);
	return err;
}

/* ---- Names ---- */

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *name,
		     size_t *bytes)
{
	const struct tofu_fi_av *av = av_of(fid);
	const struct tofu_fi_peer *peer = tofu_fi_peer(av, address);
	struct tofu_fi_name is;

	if (!peer)
		return -FI_EINVAL;
	is = (struct tofu_fi_name){
		.magic = TOFU_FI_MAGIC,
		.ranks = av->domain->job.ranks,
		.rank = peer->rank,
		.endpoint = peer->endpoint,
	};
	memcpy(name, &is, *bytes < sizeof(is) ? *bytes : sizeof(is));
	*bytes = sizeof(is);
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *name, char *text,
			      size_t *bytes)
{
	struct tofu_fi_name is;
	int length;

	(void)fid;
	memcpy(&is, name, sizeof(is));
	length = snprintf(text, *bytes,
			  TOFU_FI_NAME "://%" PRIu32 "/%" PRIu32, is.rank,
			  is.endpoint);
	*bytes = (size_t)length + 1;
	return text;
}

static int no_av_set(struct fid_av *av, struct fi_av_set_attr *attr,
		     struct fid_av_set **set, void *context)
{
	(void)av;
	(void)attr;
	(void)set;
	(void)context;
	return -FI_ENOSYS;
}

/* ---- Objects ---- */

static int av_close(struct fid *fid)
{
	struct tofu_fi_av *av = (struct tofu_fi_av *)fid;

	if (tofu_fi_is_used(&av->users))
		return -FI_EBUSY;
	tofu_fi_drop(&av->domain->users);
	free(av->peer);
	free(av->of_rank);
	free(av);
	return 0;
}

/* Everything is inserted at once, so there are no events to be told. */
static int av_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
	(void)fid;
	(void)flags;
	return bound->fclass == FI_CLASS_EQ ? 0 : -FI_EINVAL;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = tofu_fi_no_control,
	.ops_open = tofu_fi_no_ops,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = no_insertsvc,
	.insertsym = no_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = no_av_set,
};

int tofu_fi_av_open(struct fid_domain *fid, struct fi_av_attr *attr,
		    struct fid_av **made, void *context)
{
	struct tofu_fi_domain *domain = (struct tofu_fi_domain *)fid;
	struct tofu_fi_av *av;

	if (attr->rx_ctx_bits || attr->name)
		return -FI_ENOSYS;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	av->of_rank = calloc(domain->job.ranks, sizeof(*av->of_rank));
	if (!av->of_rank) {
		free(av);
		return -FI_ENOMEM;
	}
	av->domain = domain;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	if (attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE;
	tofu_fi_hold(&domain->users);
	*made = &av->fid;
	return 0;
}
