// SPDX-License-Identifier: MIT
/*
 * The sources of a barrier's gates in other nodes: whether they are there, and
 * can still signal.
 */
#include <errno.h>

#include "icc/internal.h"

#define BIT(number) (1ULL << (number))

/* The gates that signal to this one, or get its signals, in the same TNI. */
static uint64_t neighbours(const struct icc_gate *gate)
{
	uint64_t gates = 0;

	if (gate->sources & BIT(ICC_LCL))
		gates |= BIT(gate->src[ICC_LCL].gate);
	if (gate->destinations & BIT(ICC_LCL))
		gates |= BIT(gate->dst[ICC_LCL].gate);
	return gates;
}

/* The gates of this node in the network of a gate. */
static uint64_t network(const struct icc *icc, const struct icc_gate *gate)
{
	const struct icc_tni *tni = &icc->tni[gate->tni];
	uint64_t left = BIT(gate->gate), seen = 0;

	while (left) {
		const unsigned int g = (unsigned int)__builtin_ctzll(left);

		seen |= BIT(g);
		if (tni->gate[g] && tni->gate[g]->enabled)
			left |= neighbours(tni->gate[g]);
		left &= ~seen;
	}
	return seen;
}

/*
 * The owner of the source, if it had none when the gate was enabled. Another
 * process that owns it by now is not the one that the gate was set for.
 */
static int64_t source_of(const struct icc *icc, struct icc_gate *gate)
{
	struct icc_link *src = &gate->src[ICC_RMT];

	if (src->peer < 0)
		src->peer = icc_link_owner(icc, src);
	return src->peer;
}

/* Room for a packet is reserved only with an endpoint that is known by then. */
static bool is_gone(struct icc *icc, uint32_t endpoint)
{
	int err = 0;

	return !icc->ops->tx_begin(icc->host, endpoint, TOFU_RESPONSE,
				   TOFU_SIGNAL_BYTES, &err) &&
	       err == -EHOSTDOWN;
}

void icc_gates_watch(struct icc *icc, const struct icc_gate *channel)
{
	struct icc_tni *tni = &icc->tni[channel->tni];
	uint64_t left;

	if (!tni->unwatched || icc->time)
		return;
	left = tni->unwatched & network(icc, channel);
	for (; left; left &= left - 1) {
		const unsigned int g = (unsigned int)__builtin_ctzll(left);
		int64_t source = -1;

		if (tni->gate[g]->enabled)
			source = source_of(icc, tni->gate[g]);
		if (source < 0)
			continue;
		tni->unwatched &= ~BIT(g);
		if (is_gone(icc, (uint32_t)source))
			icc_gates_peer_down(icc, (uint32_t)source);
	}
}

/* ---- A source that is disabled ---- */

static const uint64_t no_elements[TOFU_REDUCE_WORDS];

static struct tofu_packet question(const struct icc_gate *gate)
{
	const struct icc_link *src = &gate->src[ICC_RMT];

	return (struct tofu_packet){
		.flags = TOFU_PKT_F_ASK,
		.src_tni = gate->tni,
		.src_cq = gate->gate,
		.dst_tni = src->tni,
		.dst_cq = src->gate,
		.gpid = gate->gpid,
		.status = TOFU_BARRIER_OTHER,
		.operand = gate->enables,
	};
}

/* A question that finds no room is lost: the next poll asks again. */
static void ask(struct icc *icc, struct icc_gate *gate)
{
	const int64_t source = icc_link_owner(icc, &gate->src[ICC_RMT]);
	struct tofu_packet pkt = question(gate);

	if (source < 0 ||
	    icc_signal_post(icc, (uint32_t)source, &pkt, no_elements) ==
		    -EHOSTDOWN)
		icc_gate_lose(icc, gate);
}

void icc_gates_ask(struct icc *icc, const struct icc_gate *channel)
{
	const struct icc_tni *tni = &icc->tni[channel->tni];
	uint64_t left = network(icc, channel);

	for (; left; left &= left - 1) {
		struct icc_gate *gate = tni->gate[__builtin_ctzll(left)];

		if (gate && gate->enabled &&
		    gate->sources & ~gate->full & 1U << ICC_RMT)
			ask(icc, gate);
	}
}

static bool signals_to(const struct icc *icc, const struct icc_gate *gate,
		       const struct tofu_packet *asker)
{
	const struct icc_link *dst = &gate->dst[ICC_RMT];

	return gate->enabled && gate->destinations & 1U << ICC_RMT &&
	       gate->gpid == asker->gpid && dst->tni == asker->src_tni &&
	       dst->gate == asker->src_cq &&
	       icc_link_owner(icc, dst) == asker->src;
}

void icc_gate_asked(struct icc *icc, const struct icc_gate *gate,
		    const struct tofu_packet *pkt)
{
	struct tofu_packet answer = {
		.flags = TOFU_PKT_F_ASK | TOFU_PKT_F_LAST,
		.src_tni = pkt->dst_tni,
		.src_cq = pkt->dst_cq,
		.dst_tni = pkt->src_tni,
		.dst_cq = pkt->src_cq,
		.gpid = pkt->gpid,
		.status = TOFU_BARRIER_OTHER,
		.operand = pkt->operand,
	};

	if (!gate || !signals_to(icc, gate, pkt))
		icc_signal_post(icc, pkt->src, &answer, no_elements);
}
