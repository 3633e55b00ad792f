// SPDX-License-Identifier: MIT
/*
 * The controller as a whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "icc/time.h"

/* See struct icc_params for the reasons. */
static bool modes_good(const struct icc_params *params)
{
	const struct tofu_preset *m = params->machine;

	if (params->mtu < TOFU_SIGNAL_BYTES ||
	    params->mtu > (m ? TOFU_PKT_MTU_MAX : TOFU_PKT_INLINE_MAX))
		return false;
	if (params->ops->patience &&
	    !(params->ops->pull && params->ops->pull_ordered))
		return false;
	if (params->blank && params->ops->patience && !m)
		return false;
	return !m || (params->doorbells && params->mtu <= m->mtu &&
		      params->ops->now && params->ppn <= 1);
}

static bool params_good(const struct icc_params *params)
{
	struct tofu_shape shape;

	return params->ops && params->tnis >= 1 && params->tnis <= TOFU_TNIS_MAX &&
	       !tofu_shape_unpack(tofu_shape_pack(&params->shape), &shape) &&
	       params->node < tofu_shape_nodes(&params->shape) &&
	       (params->ppn <= 1 || params->ops->owner) && params->pages &&
	       modes_good(params);
}

void *icc_alloc_lines(size_t size)
{
	void *mem;

	size = (size + ICC_LINE - 1) / ICC_LINE * ICC_LINE;
	mem = aligned_alloc(ICC_LINE, size);
	return mem ? memset(mem, 0, size) : NULL;
}

/* What only an untimed controller has; see struct icc. */
static int untimed_create(struct icc *icc)
{
	icc->route = calloc(ICC_ROUTES, sizeof(*icc->route));
	icc->answer = calloc((size_t)icc->nodes * icc->ppn, sizeof(*icc->answer));
	icc->out = calloc(1, sizeof(*icc->out));
	return icc->route && icc->answer && icc->out ? 0 : -ENOMEM;
}

struct icc *icc_create(const struct icc_params *params)
{
	struct icc *icc;

	if (!params_good(params)) {
		errno = EINVAL;
		return NULL;
	}
	icc = icc_alloc_lines(sizeof(*icc));
	if (!icc)
		return NULL;
	icc->ops = params->ops;
	icc->host = params->host;
	icc->shape = params->shape;
	icc->node = params->node;
	icc->ppn = params->ppn ? params->ppn : 1;
	icc->nodes = tofu_shape_nodes(&params->shape);
	icc->tnis = params->tnis;
	icc->ram_pages = params->ram_pages;
	icc->machine = params->machine;
	icc->quiet_ns = params->quiet_ns;
	icc->doorbells = params->doorbells;
	icc->blank = params->blank;
	icc->armw = params->armw;
	icc->changes = params->changes;
	icc->mtu = params->mtu;
	icc->inline_max = params->inline_max;
	icc->refers = !icc->machine && icc->ops->patience;
	icc->pages = params->pages;
	if (icc->machine ? icc_time_create(icc) : untimed_create(icc)) {
		icc_destroy(icc);
		errno = ENOMEM;
		return NULL;
	}
	return icc;
}

void icc_destroy(struct icc *icc)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int c = 0; c < TOFU_CQS_PER_TNI; c++)
			icc_cq_free(icc->tni[t].cq[c]);
	}
	icc_gates_free(icc);
	icc_time_destroy(icc);
	icc_streams_destroy(icc);
	free(icc->route);
	free(icc->answer);
	if (!icc->machine)
		free(icc->out);
	free(icc);
}

/*
 * Clear the device's words of a page whose CQ does not exist. Look first: a page
 * that nobody has written takes no memory of its own, in a home with many nodes.
 */
static void page_clear(struct tofu_cq_page *page)
{
	if (!(__atomic_load_n(&page->status, __ATOMIC_RELAXED) |
	      __atomic_load_n(&page->need_kick, __ATOMIC_RELAXED) |
	      __atomic_load_n(&page->toq_head, __ATOMIC_RELAXED)))
		return;
	icc_store_relaxed32(&page->status, 0);
	icc_store_release(&page->toq_head, 0);
	icc_store_relaxed32(&page->need_kick, 0);
}

static void cq_reset(struct icc *icc, unsigned int t, unsigned int c)
{
	struct icc_cq *cq = icc->tni[t].cq[c];

	if (!cq) {
		page_clear(icc_cq_page(icc, t, c));
		return;
	}
	cq->armed = 0;
	cq->flushing = false;
	icc_cq_disable(icc, cq);
	cq->cause = 0;
	cq->toq.pos = 0;
	cq->tcq.pos = 0;
	cq->mrq.pos = 0;
	cq->steps = 0;
	memset(cq->counter, 0, sizeof(cq->counter));
	memset(cq->setting, 0, sizeof(cq->setting));
	icc_cq_publish(cq);
	icc_store_relaxed32(&cq->page->need_kick, 0);
}

void icc_reset(struct icc *icc)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int c = 0; c < TOFU_CQS_PER_TNI; c++)
			cq_reset(icc, t, c);
		icc->tni[t].lost = 0;
	}
	icc_gates_reset(icc);
	icc_ports_reset(icc);
	icc->bad_access = 0;
	icc->bad_packets = 0;
	icc_reset_begin(icc);
}

int64_t icc_endpoint(const struct icc *icc, int64_t node, enum tofu_share share,
		     unsigned int tni, unsigned int number)
{
	if (node < 0 || icc->ppn == 1)
		return node;
	return icc->ops->owner(icc->host, (uint32_t)node, share, tni, number);
}

/* The CQs of an engine, in turn, each call beginning with the next one. */
static bool tni_progress(struct icc *icc, struct icc_tni *tni)
{
	const unsigned int first = icc->turn % TOFU_CQS_PER_TNI;
	const uint32_t active = tni->enabled | tni->ending;
	uint32_t left = active | active << TOFU_CQS_PER_TNI;
	bool done = false;

	left = left >> first & TOFU_MASK(TOFU_CQS_PER_TNI);
	for (; left; left &= left - 1) {
		const unsigned int c = first + (unsigned int)
						       __builtin_ctz(left);

		done |= icc_cq_start(icc, tni->cq[c % TOFU_CQS_PER_TNI]);
	}
	return done;
}

bool icc_goes_on(const struct icc *icc)
{
	return icc->sending || icc->answering || icc->flushes;
}

bool icc_progress(struct icc *icc)
{
	unsigned int first;
	bool done = false;

	if (icc->time) {
		done = icc_time_run(icc);
		return icc_flush_progress(icc) || done;
	}
	first = ++icc->turn % icc->tnis;
	done = icc->answered;
	icc->answered = false;
	for (unsigned int t = first; t < icc->tnis; t++)
		done |= tni_progress(icc, &icc->tni[t]);
	for (unsigned int t = 0; t < first; t++)
		done |= tni_progress(icc, &icc->tni[t]);
	done |= icc_gates_progress(icc);
	return icc_flush_progress(icc) || done;
}

void icc_drop(struct icc *icc, const struct tofu_packet *pkt, const char *why)
{
	icc->bad_packets++;
	icc->ops->misuse(icc->host, "packet of type %u from node %u: %s",
			 pkt->type, pkt->src, why);
}

static size_t payload_max(const struct icc *icc)
{
	return icc->time ? TOFU_PKT_MTU_MAX : TOFU_PKT_INLINE_MAX;
}

static bool known_type(unsigned int type)
{
	return (type >= TOFU_PKT_PUT && type <= TOFU_PKT_ARMW) ||
	       type == TOFU_PKT_SIGNAL ||
	       (type >= TOFU_PKT_DONE && type <= TOFU_PKT_VALUE);
}

int icc_receive(struct icc *icc, const struct tofu_packet *pkt,
		const void *payload)
{
	if (pkt->src >= icc->nodes * icc->ppn || pkt->payload > payload_max(icc)) {
		icc_drop(icc, pkt, "no such node or size");
		return 0;
	}
	if (pkt->flags & TOFU_PKT_F_BLANK && !icc->blank) {
		icc_drop(icc, pkt, "blank payload");
		return 0;
	}
	if (pkt->type == TOFU_PKT_ARMW && pkt->armw_op >= TOFU_ARMW_OPS) {
		icc_drop(icc, pkt, "unknown operation");
		return 0;
	}
	if (icc->time && known_type(pkt->type))
		return icc_time_hold(icc, pkt, payload);
	switch (pkt->type) {
	case TOFU_PKT_PUT:
	case TOFU_PKT_GET:
	case TOFU_PKT_ARMW:
		if (!icc_serve_begun(icc, pkt)) {
			if (!icc->ops->tx_room(icc->host, pkt->src,
					       TOFU_RESPONSE))
				return -EAGAIN;
			icc_port_count_arrived(icc, pkt);
		}
		return icc_serve(icc, pkt, payload) ? 0 : -EAGAIN;
	case TOFU_PKT_SIGNAL:
		icc_port_count_arrived(icc, pkt);
		icc_gate_signal(icc, pkt, payload);
		return 0;
	case TOFU_PKT_DONE:
	case TOFU_PKT_DATA:
	case TOFU_PKT_VALUE:
		icc_port_count_arrived(icc, pkt);
		icc_response(icc, pkt, payload);
		return 0;
	default:
		icc_drop(icc, pkt, "unknown type");
		return 0;
	}
}

static void cq_peer_down(struct icc *icc, struct icc_cq *cq, uint32_t endpoint)
{
	const uint64_t end = cq->seq_head;

	for (uint64_t seq = cq->seq_tail; seq != end; seq++) {
		struct icc_xfer *x = icc_window_at(cq, seq);

		/* The end of one command can retire others, too. */
		if (seq < cq->seq_tail || x->stage == ICC_ENDED ||
		    x->command.peer != endpoint)
			continue;
		x->command.awaits = false;
		icc_command_fail(icc, x, TOFU_ST_PEER);
	}
}

void icc_peer_down(struct icc *icc, uint32_t endpoint)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int c = 0; c < TOFU_CQS_PER_TNI; c++) {
			if (icc->tni[t].cq[c])
				cq_peer_down(icc, icc->tni[t].cq[c], endpoint);
		}
	}
	icc_gates_peer_down(icc, endpoint);
	if (!icc->time && endpoint < icc->nodes * icc->ppn)
		icc_serve_forget(icc, endpoint);
	icc_flush_progress(icc);
}

void icc_set_need_kick(struct icc *icc, uint32_t mask)
{
	icc->need_kick = mask;
	for (unsigned int t = 0; t < icc->tnis; t++) {
		uint32_t left = icc->tni[t].enabled;

		/* Relaxed: the caller fences before it looks again. */
		for (; left; left &= left - 1)
			icc_store_relaxed32(&icc->tni[t]
						     .cq[__builtin_ctz(left)]
						     ->page->need_kick,
					    mask);
	}
}
