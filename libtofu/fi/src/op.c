/* SPDX-License-Identifier: MIT */
/* What is under way, and how it ends. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/* ---- What somebody wants to hear of ---- */

struct tofu_fi_op *tofu_fi_op_new(struct tofu_fi_ep *ep)
{
	struct tofu_fi_op *op = LIST_FIRST(&ep->unused);

	if (op)
		LIST_REMOVE(op, link);
	else
		op = malloc(sizeof(*op));
	if (!op)
		return NULL;
	op->stage = NULL;
	op->request = NULL;
	op->quiet = false;
	op->multi = false;
	op->source = TOFU_P2P_ANY_SOURCE;
	op->used = 0;
	op->count = 0;
	LIST_INSERT_HEAD(&ep->ops, op, link);
	return op;
}

void tofu_fi_op_free(struct tofu_fi_ep *ep, struct tofu_fi_op *op)
{
	free(op->stage);
	if (op->multi)
		TAILQ_REMOVE(&ep->multis, op, multis);
	LIST_REMOVE(op, link);
	LIST_INSERT_HEAD(&ep->unused, op, link);
}

bool tofu_fi_divide(struct tofu_fi_op *op, const struct iovec *iov,
		    size_t count)
{
	if (count <= 1)
		return true;
	op->stage = malloc(op->room ? op->room : 1);
	if (!op->stage)
		return false;
	op->count = count;
	memcpy(op->iov, iov, count * sizeof(*iov));
	return true;
}

static void ops_free(struct tofu_fi_ops *ops)
{
	struct tofu_fi_op *op;

	while ((op = LIST_FIRST(ops))) {
		LIST_REMOVE(op, link);
		free(op);
	}
}

void tofu_fi_forget(struct tofu_fi_ep *ep)
{
	struct tofu_fi_claim *claim;
	struct tofu_fi_op *op;

	while ((op = LIST_FIRST(&ep->ops)))
		tofu_fi_op_free(ep, op);
	ops_free(&ep->unused);
	while ((claim = LIST_FIRST(&ep->claims))) {
		LIST_REMOVE(claim, link);
		free(claim);
	}
}

/* ---- Ends ---- */

/* Gives the pieces of the program what has come in one. */
static void pieces_fill(const struct tofu_fi_op *op, size_t bytes)
{
	const char *from = op->stage;

	for (size_t i = 0; i < op->count && bytes; i++) {
		size_t length = op->iov[i].iov_len < bytes ?
					op->iov[i].iov_len :
					bytes;

		memcpy(op->iov[i].iov_base, from, length);
		from += length;
		bytes -= length;
	}
}

/*
 * The first process that is gone is named whatever FI_LOG_LEVEL says: programs
 * end then, and what an MPI says of it does not tell who it was.
 */
static void gone_say(struct tofu_fi_domain *domain, uint32_t rank)
{
	if (domain->said_gone || rank >= domain->job.ranks)
		return;
	domain->said_gone = true;
	fprintf(stderr,
		"libtofu-fi: process %u: process %u (node %u) is gone: messages to and from it fail\n",
		domain->job.rank, rank, rank / domain->job.ppn);
}

static const char *text_of(const struct tofu_p2p_end *end)
{
	if (end->flags & TOFU_P2P_ONESIDED)
		return "memory of";
	return end->flags & TOFU_P2P_SENT ? "a message to" : "a message from";
}

static void error_say(struct tofu_fi_ep *ep, const struct tofu_p2p_end *end)
{
	if (end->code == UTOFU_ERR_MRQ_PEER)
		gone_say(ep->domain, end->source);
	tofu_fi_warn(FI_LOG_EP_DATA, "process %u: %s process %u: %s\n",
		     ep->domain->job.rank, text_of(end), end->source,
		     end->code == UTOFU_ERR_MRQ_PEER ?
			     "it is gone" :
			     tofu_error_text(end->code));
}

void tofu_fi_end_add(struct tofu_fi_ep *ep, const struct tofu_fi_op *op,
		     const struct tofu_p2p_end *end, size_t before)
{
	const bool sent = end->flags & (TOFU_P2P_SENT | TOFU_P2P_ONESIDED);
	const bool known = !sent && end->source < ep->domain->job.ranks;
	size_t length = end->bytes;
	struct tofu_fi_entry entry = {
		.is.op_context = op->context,
		.is.flags = op->flags,
		.is.buf = op->buf ? (char *)op->buf + before : NULL,
		.is.data = end->data,
		.is.tag = end->tag & TOFU_FI_TAGS,
		.is.err = tofu_fi_errno(end->code),
		.is.prov_errno = end->code,
		.source = known ? tofu_fi_address(ep->av, end->source) :
				  FI_ADDR_NOTAVAIL,
	};

	if (end->flags & TOFU_P2P_DATA)
		entry.is.flags |= FI_REMOTE_CQ_DATA;
	if (!sent && length > op->room - before) {
		entry.is.olen = length - (op->room - before);
		length -= entry.is.olen;
	}
	entry.is.len = length;
	if (end->code && end->code != UTOFU_ERR_INVALID_SIZE)
		error_say(ep, end);
	tofu_fi_cq_add(sent ? ep->tx : ep->rx, &entry);
}

static void op_end(struct tofu_fi_ep *ep, struct tofu_fi_op *op,
		   const struct tofu_p2p_end *end)
{
	/* What is discarded has no room, and nobody wants to hear of it. */
	const bool failed = end->code && !(op->flags & FI_DISCARD);

	/* Nothing has come of a read that failed. */
	if (op->stage && op->count &&
	    !(end->code && end->flags & TOFU_P2P_ONESIDED))
		pieces_fill(op, end->bytes < op->room ? end->bytes : op->room);
	if (failed || !op->quiet)
		tofu_fi_end_add(ep, op, end, 0);
	tofu_fi_op_free(ep, op);
}

static void count(struct tofu_fi_ep *ep, uint64_t flags, int code)
{
	for (size_t i = 0; i < TOFU_FI_COUNTED; i++) {
		if (!ep->cntr[i] || !(flags & tofu_fi_counted(i)))
			continue;
		if (code)
			ep->cntr[i]->errors++;
		else
			ep->cntr[i]->value++;
		ep->domain->ended++;
		tofu_fi_bell_ring(&ep->cntr[i]->bell);
	}
}

static void end_take(struct tofu_fi_ep *ep, const struct tofu_p2p_end *end)
{
	struct tofu_fi_op *op = end->context;

	/* What is discarded has no room: that is no error. */
	count(ep, op ? op->flags : FI_SEND,
	      op && op->flags & FI_DISCARD ? UTOFU_SUCCESS : end->code);
	/* Programs take every completion for one of theirs: it has none. */
	if (!op && end->code)
		error_say(ep, end);
	else if (!op)
		return;
	else if (op->multi)
		tofu_fi_multi_take(ep, op, end);
	else
		op_end(ep, op, end);
}

/* The endpoint is of no use any more: all that is under way ends so. */
static void ops_break(struct tofu_fi_ep *ep, int code)
{
	struct tofu_fi_op *op;

	if (!ep->broken)
		tofu_fi_warn(FI_LOG_EP_DATA,
			     "process %u: its endpoint is broken: %s\n",
			     ep->domain->job.rank, tofu_error_text(code));
	ep->broken = true;
	while ((op = LIST_FIRST(&ep->ops))) {
		const struct tofu_fi_entry entry = {
			.is.op_context = op->context,
			.is.flags = op->flags,
			.is.err = tofu_fi_errno(code),
			.is.prov_errno = code,
			.source = FI_ADDR_NOTAVAIL,
		};

		count(ep, op->flags, code);
		tofu_fi_cq_add(op->flags & FI_RECV ? ep->rx : ep->tx, &entry);
		/* A peer may still put there. */
		op->stage = NULL;
		tofu_fi_op_free(ep, op);
	}
}

void tofu_fi_progress(struct tofu_fi_ep *ep, size_t most)
{
	struct tofu_p2p_end end;
	int code;

	if (!ep->p2p || !most)
		return;
	/* What has ended already is told, too, but takes no turn's place. */
	while (most && !tofu_p2p_told(ep->p2p, &end)) {
		end_take(ep, &end);
		most--;
	}
	if (!most)
		return;
	code = tofu_p2p_ended(ep->p2p, &end);
	while (!code) {
		end_take(ep, &end);
		code = --most ? tofu_p2p_told(ep->p2p, &end) : UTOFU_ERR_NOT_FOUND;
	}
	if (code != UTOFU_ERR_NOT_FOUND)
		ops_break(ep, code);
}

/* Ends taken per turn */
#define TURN 16

void tofu_fi_progress_all(struct tofu_fi_domain *domain)
{
	struct tofu_fi_ep *ep;

	LIST_FOREACH(ep, &domain->eps, link)
		tofu_fi_progress(ep, TURN);
}

/* Errors that the caller hears of at once */
ssize_t tofu_fi_result(int code)
{
	return code == UTOFU_ERR_OUT_OF_MEMORY ? -FI_EAGAIN :
						 -tofu_fi_errno(code);
}
