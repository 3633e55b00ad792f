// SPDX-License-Identifier: MIT
/*
 * Requests. Other processes name them by handles, which are index and
 * generation, so that an answer to a request that has ended finds none. Slabs
 * of requests are kept until the endpoint is freed.
 */
#include "p2p/internal.h"

#include <string.h>

#include "utofu/work.h"

static size_t slab_bytes(void)
{
	return P2P_SLAB * sizeof(struct tofu_p2p_request);
}

static size_t table_bytes(size_t room)
{
	return room * sizeof(struct tofu_p2p_request *);
}

static bool table_grow(struct tofu_p2p *p2p)
{
	struct p2p_slabs *slabs = &p2p->slabs;
	size_t room = slabs->room ? 2 * slabs->room : P2P_SLABS_MIN;
	void *table = p2p_allocate(&p2p->account, P2P_REQUESTS,
				   table_bytes(room));

	if (!table)
		return false;
	if (slabs->slab)
		memcpy(table, slabs->slab, table_bytes(slabs->slabs));
	p2p_free(&p2p->account, P2P_REQUESTS, slabs->slab,
		 table_bytes(slabs->room));
	slabs->slab = table;
	slabs->room = room;
	return true;
}

static bool slab_add(struct tofu_p2p *p2p)
{
	struct p2p_slabs *slabs = &p2p->slabs;
	struct tofu_p2p_request *slab;

	if (slabs->slabs == UINT32_MAX / P2P_SLAB ||
	    (slabs->slabs == slabs->room && !table_grow(p2p)))
		return false;
	slab = p2p_allocate(&p2p->account, P2P_REQUESTS, slab_bytes());
	if (!slab)
		return false;
	for (uint32_t i = 0; i < P2P_SLAB; i++) {
		slab[i].index = (uint32_t)slabs->slabs * P2P_SLAB + i;
		/* Makes all handles differ from 0. */
		slab[i].generation = 1;
		TAILQ_INSERT_TAIL(&slabs->free, &slab[i], link);
	}
	slabs->slab[slabs->slabs++] = slab;
	return true;
}

int p2p_slabs_make(struct tofu_p2p *p2p)
{
	TAILQ_INIT(&p2p->slabs.free);
	return slab_add(p2p) ? UTOFU_SUCCESS : UTOFU_ERR_OUT_OF_MEMORY;
}

struct tofu_p2p_request *p2p_request_new(struct tofu_p2p *p2p, bool sends)
{
	struct tofu_p2p_request *request;

	if (TAILQ_EMPTY(&p2p->slabs.free) && !slab_add(p2p))
		return NULL;
	request = TAILQ_FIRST(&p2p->slabs.free);
	TAILQ_REMOVE(&p2p->slabs.free, request, link);
	request->sends = sends;
	request->last = false;
	request->registered = false;
	request->code = UTOFU_SUCCESS;
	request->peer = NULL;
	request->moved = 0;
	request->length = 0;
	request->local = 0;
	request->region = NULL;
	request->slot = P2P_SILENT;
	request->access = P2P_NO_ACCESS;
	request->posted = false;
	request->flags = 0;
	request->copy = NULL;
	request->tells = false;
	request->message = (struct p2p_message){ 0 };
	return request;
}

void p2p_request_free(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	request->state = P2P_FREE;
	if (!++request->generation)
		request->generation = 1;
	TAILQ_INSERT_HEAD(&p2p->slabs.free, request, link);
}

struct tofu_p2p_request *p2p_request_at(const struct tofu_p2p *p2p,
					uint32_t index)
{
	const struct p2p_slabs *slabs = &p2p->slabs;
	struct tofu_p2p_request *request;

	if (index / P2P_SLAB >= slabs->slabs)
		return NULL;
	request = &slabs->slab[index / P2P_SLAB][index % P2P_SLAB];
	return request->state == P2P_FREE ? NULL : request;
}

struct tofu_p2p_request *p2p_request_find(const struct tofu_p2p *p2p,
					  uint64_t handle)
{
	struct tofu_p2p_request *request =
		p2p_request_at(p2p, (uint32_t)handle);

	return request && request->generation == handle >> P2P_INDEX_BITS ?
		       request :
		       NULL;
}

/* If a message was too long, its beginning has been received. */
static int code_of(const struct tofu_p2p_request *request, int code)
{
	if (!code && !request->sends && !request->access &&
	    request->message.bytes > request->room)
		return UTOFU_ERR_INVALID_SIZE;
	return code;
}

bool p2p_request_copy(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	request->copy = p2p_allocate(&p2p->account, P2P_REQUESTS,
				     request->room);
	if (!request->copy)
		return false;
	tofu_work_bytes(TOFU_WORK_COPY, request->room);
	memcpy(request->copy, request->buf, request->room);
	request->buf = request->copy;
	return true;
}

static void copy_free(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	p2p_free(&p2p->account, P2P_REQUESTS, request->copy, request->room);
	request->copy = NULL;
}

void p2p_request_drop(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	if (request->copy)
		copy_free(p2p, request);
	p2p_request_free(p2p, request);
}

void p2p_request_end(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		     int code)
{
	if (request->registered)
		p2p_region_give(p2p, request, code);
	if (request->tells)
		TAILQ_REMOVE(&request->peer->untaken, request, untaken);
	request->tells = false;
	if (request->peer)
		p2p_peer_unpin(p2p, request->peer);
	request->peer = NULL;
	request->code = code_of(request, code);
	request->state = P2P_ENDED;
	if (request->copy)
		copy_free(p2p, request);
	if (request->posted)
		STAILQ_INSERT_TAIL(&p2p->told, request, told);
}

void p2p_slabs_free(struct tofu_p2p *p2p)
{
	struct p2p_slabs *slabs = &p2p->slabs;

	for (size_t i = 0; i < slabs->slabs * P2P_SLAB; i++) {
		struct tofu_p2p_request *request =
			p2p_request_at(p2p, (uint32_t)i);

		if (request && request->copy)
			copy_free(p2p, request);
	}
	for (size_t i = 0; i < slabs->slabs; i++)
		p2p_free(&p2p->account, P2P_REQUESTS, slabs->slab[i],
			 slab_bytes());
	p2p_free(&p2p->account, P2P_REQUESTS, slabs->slab,
		 table_bytes(slabs->room));
}
