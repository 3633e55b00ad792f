// SPDX-License-Identifier: MIT
/*
 * Other processes' own rings, here. A ring is one region: the consumer's word,
 * and the ring behind it. It is registered anew for each peer, so a peer that
 * has left it cannot write to it any more.
 */
#include "p2p/internal.h"

/* Offset of the ring in the region */
#define RING_AT 256

/* Most rings that are being taken back at a time */
#define TAKEN_MAX 4

static size_t region_bytes(size_t bytes)
{
	return RING_AT + bytes;
}

bool p2p_ring_take(struct p2p_account *account,
		   const struct p2p_config *config, enum p2p_class *class,
		   size_t *bytes)
{
	*class = P2P_LARGE;
	*bytes = config->large;
	if (p2p_account_take(account, *class, region_bytes(*bytes)))
		return true;
	*class = P2P_SMALL;
	*bytes = config->small;
	return p2p_account_take(account, *class, region_bytes(*bytes));
}

/* ---- Making and freeing ---- */

static int ring_register(struct tofu_p2p *p2p, struct p2p_ring *ring,
			 size_t bytes)
{
	ring->memory = p2p_memory(region_bytes(bytes));
	if (!ring->memory)
		return UTOFU_ERR_OUT_OF_MEMORY;
	ring->ring = (struct srb_ring){
		.memory = ring->memory + RING_AT,
		.bytes = bytes,
		.consumer = (uint64_t *)(void *)ring->memory,
	};
	return utofu_reg_mem(p2p->data, ring->memory, region_bytes(bytes), 0,
			     &ring->stadd);
}

static struct p2p_ring *ring_make(struct tofu_p2p *p2p, enum p2p_class class,
				  size_t bytes)
{
	struct p2p_ring *ring = p2p_allocate(&p2p->account, P2P_PEERS,
					     sizeof(*ring));

	if (ring && !ring_register(p2p, ring, bytes)) {
		ring->class = class;
		return ring;
	}
	/* Its memory has already been taken from the account. */
	if (ring && ring->memory)
		p2p_free(&p2p->account, class, ring->memory,
			 region_bytes(bytes));
	else
		p2p_account_give(&p2p->account, class, region_bytes(bytes));
	p2p_free(&p2p->account, P2P_PEERS, ring, sizeof(*ring));
	return NULL;
}

void p2p_ring_free(struct tofu_p2p *p2p, struct p2p_ring *ring)
{
	struct p2p_peer *peer = ring->peer;

	utofu_dereg_mem(p2p->data, ring->stadd, 0);
	TAILQ_REMOVE(&p2p->rings, ring, link);
	p2p->taken -= ring->taken;
	peer->ring = NULL;
	peer->take_back = false;
	p2p_free(&p2p->account, ring->class, ring->memory,
		 region_bytes(ring->ring.bytes));
	p2p_free(&p2p->account, P2P_PEERS, ring, sizeof(*ring));
	p2p_peer_unpin(p2p, peer);
}

void p2p_ring_gone(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	/* A peer that does not know of its ring yet is told first. */
	if (peer->ring && !peer->answer)
		p2p_ring_free(p2p, peer->ring);
}

void p2p_rings_free(struct tofu_p2p *p2p)
{
	while (!TAILQ_EMPTY(&p2p->rings))
		p2p_ring_free(p2p, TAILQ_FIRST(&p2p->rings));
}

/* ---- Giving and taking ---- */

static bool ring_give(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_ring *ring;
	enum p2p_class class;
	size_t bytes;

	if (peer->spare ||
	    !p2p_ring_take(&p2p->account, &p2p->config, &class, &bytes))
		return false;
	ring = ring_make(p2p, class, bytes);
	if (!ring)
		return false;
	ring->peer = peer;
	ring->heard = p2p->clock;
	peer->ring = ring;
	p2p_peer_pin(p2p, peer);
	TAILQ_INSERT_HEAD(&p2p->rings, ring, link);
	return true;
}

static void ring_take_back(struct tofu_p2p *p2p, struct p2p_ring *ring)
{
	ring->taken = true;
	p2p->taken++;
	ring->peer->take_back = true;
	p2p_peer_wake(p2p, ring->peer);
}

/* Others want a ring: takes that of the longest silent peer. */
static void silent_take(struct tofu_p2p *p2p)
{
	struct p2p_ring *ring;

	if (p2p->taken >= TAKEN_MAX)
		return;
	TAILQ_FOREACH_REVERSE(ring, &p2p->rings, p2p_rings, link) {
		if (p2p->clock - ring->heard < p2p->config.silence)
			return;
		if (ring->open && !ring->taken)
			break;
	}
	if (ring)
		ring_take_back(p2p, ring);
}

/*
 * A small ring with much traffic dates from a time of more peers. It is taken
 * back when there is memory for a large one, which its peer gets when it asks
 * again. Until then, rings of silent peers are taken back.
 */
static void ring_outgrown(struct tofu_p2p *p2p, struct p2p_ring *ring)
{
	const struct p2p_account *account = &p2p->account;
	size_t bytes = region_bytes(p2p->config.large);

	if (ring->taken || bytes > account->cap[P2P_LARGE])
		return;
	if (!p2p_account_fits(account, P2P_LARGE, bytes))
		silent_take(p2p);
	else if (p2p->taken < TAKEN_MAX)
		ring_take_back(p2p, ring);
}

void p2p_ring_asked(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	/* A peer that has a ring, or will learn of one, asks by mistake. */
	if (peer->ring || peer->answer)
		return;
	if (p2p->config.params.mode == TOFU_P2P_SHARED ||
	    p2p->config.standing) {
		peer->answer = P2P_NEVER;
	} else if (ring_give(p2p, peer)) {
		peer->answer = P2P_OWN;
	} else {
		peer->answer = P2P_NONE;
		silent_take(p2p);
	}
	p2p_peer_wake(p2p, peer);
}

void p2p_ring_answer(const struct tofu_p2p *p2p, const struct p2p_peer *peer,
		     struct p2p_reply *reply)
{
	if (peer->answer != P2P_OWN)
		return;
	reply->vcq = p2p->data_id;
	reply->consumer = peer->ring->stadd;
	reply->stadd = peer->ring->stadd + RING_AT;
	reply->bytes = peer->ring->ring.bytes;
}

void p2p_ring_open(struct tofu_p2p *p2p, uint32_t rank)
{
	struct p2p_peer *peer = p2p_peer_find(p2p, rank);

	/* Not before the peer has been told where the ring is. */
	if (!peer || !peer->ring || peer->answer)
		return;
	peer->ring->open = true;
	p2p_ring_heard(p2p, peer->ring);
}

void p2p_ring_heard(struct tofu_p2p *p2p, struct p2p_ring *ring)
{
	ring->heard = p2p->clock;
	TAILQ_REMOVE(&p2p->rings, ring, link);
	TAILQ_INSERT_HEAD(&p2p->rings, ring, link);
	if (ring->class != P2P_SMALL || ++ring->came < p2p->config.silence)
		return;
	ring->came = 0;
	ring_outgrown(p2p, ring);
}
