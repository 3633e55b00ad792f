// SPDX-License-Identifier: MIT
/*
 * Operations on memory that another process has registered: puts and gets, which
 * move like announced messages but tell nobody, and atomics.
 */
#include "p2p/internal.h"

#include <string.h>

#define MOVE_FLAGS (TOFU_P2P_COPY | TOFU_P2P_SILENT)
#define ATOMIC_FLAGS TOFU_P2P_SILENT

static struct tofu_p2p_request *request_make(struct tofu_p2p *p2p, bool sends,
					     const struct tofu_p2p_remote *remote)
{
	struct tofu_p2p_request *made = p2p_request_begin(p2p, sends);

	if (!made)
		return NULL;
	made->access = P2P_MOVE;
	made->posted = true;
	made->dest = remote->rank;
	made->message.source = remote->rank;
	made->message.vcq = remote->vcq;
	made->message.stadd = remote->stadd;
	return made;
}

/* ---- Puts and gets ---- */

static int move_check(const struct tofu_p2p *p2p,
		      const struct tofu_p2p_move *move, bool puts)
{
	if (!p2p || !move || (!move->buf && move->bytes))
		return UTOFU_ERR_INVALID_POINTER;
	if (move->flags & ~(puts ? MOVE_FLAGS : TOFU_P2P_SILENT))
		return UTOFU_ERR_INVALID_FLAGS;
	if (move->remote.rank >= p2p->config.params.processes)
		return UTOFU_ERR_INVALID_NUMBER;
	return p2p->error;
}

static int move_post(struct tofu_p2p *p2p, const struct tofu_p2p_move *move,
		     bool puts)
{
	int code = move_check(p2p, move, puts);
	struct tofu_p2p_request *made;

	if (code)
		return code;
	made = request_make(p2p, puts, &move->remote);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->buf = move->buf;
	made->room = move->bytes;
	made->length = move->bytes;
	made->message.bytes = move->bytes;
	made->flags = move->flags;
	made->context = move->context;
	if (move->flags & TOFU_P2P_COPY && move->bytes &&
	    !p2p_request_copy(p2p, made)) {
		p2p_request_drop(p2p, made);
		return UTOFU_ERR_OUT_OF_MEMORY;
	}
	if (move->bytes)
		p2p_rendezvous_move(p2p, made);
	else
		p2p_request_end(p2p, made, UTOFU_SUCCESS);
	return UTOFU_SUCCESS;
}

int tofu_p2p_post_put(struct tofu_p2p *p2p, const struct tofu_p2p_move *put)
{
	return move_post(p2p, put, true);
}

int tofu_p2p_post_get(struct tofu_p2p *p2p, const struct tofu_p2p_move *get)
{
	return move_post(p2p, get, false);
}

/* ---- Atomics ---- */

static int word_post(struct tofu_p2p *p2p,
		     const struct tofu_p2p_request *request, void *cbdata)
{
	const unsigned long flags = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
	const struct p2p_atomic *word = &request->atomic;
	const struct p2p_message *to = &request->message;
	const bool wide = request->room == sizeof(uint64_t);

	if (word->compares)
		return wide ? utofu_cswap8(p2p->data, to->vcq, word->compare,
					   word->value, to->stadd, 0, flags,
					   cbdata) :
			      utofu_cswap4(p2p->data, to->vcq,
					   (uint32_t)word->compare,
					   (uint32_t)word->value, to->stadd, 0,
					   flags, cbdata);
	return wide ? utofu_armw8(p2p->data, to->vcq, word->op, word->value,
				  to->stadd, 0, flags, cbdata) :
		      utofu_armw4(p2p->data, to->vcq, word->op,
				  (uint32_t)word->value, to->stadd, 0, flags,
				  cbdata);
}

int p2p_onesided_post(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	return word_post(p2p, request,
			 (void *)(uintptr_t)p2p_request_handle(request));
}

void p2p_onesided_result(const struct tofu_p2p_request *request, uint64_t value)
{
	const uint32_t narrow = (uint32_t)value;

	if (!request->buf)
		return;
	if (request->room == sizeof(value))
		memcpy(request->buf, &value, sizeof(value));
	else
		memcpy(request->buf, &narrow, sizeof(narrow));
}

static int atomic_check(const struct tofu_p2p *p2p,
			const struct tofu_p2p_atomic *atomic)
{
	if (!p2p || !atomic)
		return UTOFU_ERR_INVALID_POINTER;
	if (atomic->flags & ~ATOMIC_FLAGS)
		return UTOFU_ERR_INVALID_FLAGS;
	if (atomic->bytes != sizeof(uint32_t) &&
	    atomic->bytes != sizeof(uint64_t))
		return UTOFU_ERR_INVALID_SIZE;
	if (atomic->remote.rank >= p2p->config.params.processes)
		return UTOFU_ERR_INVALID_NUMBER;
	return p2p->error;
}

int tofu_p2p_post_atomic(struct tofu_p2p *p2p,
			 const struct tofu_p2p_atomic *atomic)
{
	int code = atomic_check(p2p, atomic);
	struct tofu_p2p_request *made;

	if (code)
		return code;
	made = request_make(p2p, true, &atomic->remote);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->buf = atomic->result;
	made->room = atomic->bytes;
	made->length = atomic->bytes;
	made->flags = atomic->flags;
	made->context = atomic->context;
	made->access = P2P_ATOMIC;
	made->atomic = (struct p2p_atomic){
		.op = atomic->op,
		.compares = atomic->compares,
		.value = atomic->value,
		.compare = atomic->compare,
	};
	p2p_rendezvous_move(p2p, made);
	return UTOFU_SUCCESS;
}
