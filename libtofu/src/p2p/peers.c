// SPDX-License-Identifier: MIT
/*
 * What is known of other processes: an open hash table by rank. Entries without
 * pins are dropped for others, so sending to many processes one after the other
 * takes no more memory than sending to few.
 */
#include "p2p/internal.h"

#include <string.h>

#define SLOTS_MIN 64

/* ---- The table ---- */

static size_t slot_of(const struct p2p_peers *peers, uint32_t rank)
{
	/* Neighbours in rank should not be neighbours here. */
	return (size_t)((rank * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
	       (peers->slots - 1);
}

size_t p2p_table_slots(size_t entries)
{
	size_t slots = SLOTS_MIN;

	while (entries + P2P_SPARES > slots / 4 * 3)
		slots *= 2;
	return slots;
}

static void table_add(struct p2p_peers *peers, struct p2p_peer *peer)
{
	size_t at = slot_of(peers, peer->rank);

	while (peers->slot[at])
		at = (at + 1) & (peers->slots - 1);
	peers->slot[at] = peer;
}

static bool table_resize(struct tofu_p2p *p2p, size_t slots)
{
	struct p2p_peers *peers = &p2p->peers;
	struct p2p_peer **old = peers->slot;
	size_t count = peers->slots;

	peers->slot = p2p_allocate(&p2p->account, P2P_PEERS,
				   slots * sizeof(*old));
	if (!peers->slot) {
		peers->slot = old;
		return false;
	}
	peers->slots = slots;
	for (size_t i = 0; i < count; i++)
		if (old[i])
			table_add(peers, old[i]);
	p2p_free(&p2p->account, P2P_PEERS, old, count * sizeof(*old));
	return true;
}

/* Entries behind it move up where that brings them closer to their slots. */
static void table_remove(struct p2p_peers *peers, const struct p2p_peer *peer)
{
	size_t mask = peers->slots - 1, hole = slot_of(peers, peer->rank), at;

	while (peers->slot[hole] != peer)
		hole = (hole + 1) & mask;
	for (at = (hole + 1) & mask; peers->slot[at]; at = (at + 1) & mask) {
		size_t home = slot_of(peers, peers->slot[at]->rank);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		peers->slot[hole] = peers->slot[at];
		hole = at;
	}
	peers->slot[hole] = NULL;
}

struct p2p_peer *p2p_peer_find(const struct tofu_p2p *p2p, uint32_t rank)
{
	const struct p2p_peers *peers = &p2p->peers;

	for (size_t at = slot_of(peers, rank); peers->slot[at];
	     at = (at + 1) & (peers->slots - 1))
		if (peers->slot[at]->rank == rank)
			return peers->slot[at];
	return NULL;
}

/* ---- Entries ---- */

static void entry_give(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (peer->spare) {
		TAILQ_INSERT_HEAD(&p2p->peers.spare, peer, link);
		return;
	}
	p2p_free(&p2p->account, P2P_PEERS, peer, sizeof(*peer));
	p2p->peers.count--;
}

/* Drops the entry that has been idle for the longest time. */
static void entry_forget(struct tofu_p2p *p2p)
{
	struct p2p_peer *peer = TAILQ_FIRST(&p2p->peers.idle);

	TAILQ_REMOVE(&p2p->peers.idle, peer, idle);
	p2p->peers.idles--;
	table_remove(&p2p->peers, peer);
	entry_give(p2p, peer);
}

static struct p2p_peer *entry_make(struct tofu_p2p *p2p)
{
	struct p2p_peers *peers = &p2p->peers;
	size_t slots = p2p_table_slots(peers->count + 1);
	struct p2p_peer *peer;

	if (slots > peers->slots && !table_resize(p2p, slots))
		return NULL;
	peer = p2p_allocate(&p2p->account, P2P_PEERS, sizeof(*peer));
	if (peer)
		peers->count++;
	return peer;
}

static struct p2p_peer *entry_spare(struct tofu_p2p *p2p)
{
	struct p2p_peer *peer = TAILQ_FIRST(&p2p->peers.spare);

	if (!peer)
		return NULL;
	TAILQ_REMOVE(&p2p->peers.spare, peer, link);
	memset(peer, 0, sizeof(*peer));
	peer->spare = true;
	return peer;
}

static struct p2p_peer *entry_get(struct tofu_p2p *p2p)
{
	struct p2p_peer *peer;

	if (p2p->peers.idles >= P2P_IDLE_MAX)
		entry_forget(p2p);
	peer = entry_make(p2p);
	while (!peer && p2p->peers.idles) {
		entry_forget(p2p);
		peer = entry_make(p2p);
	}
	return peer ? peer : entry_spare(p2p);
}

/* ---- Places of processes ---- */

/* The first queue of a process on a TNI has CQ 0; p2p.c ensures that. */
#define CQ 0

static int address_make(const struct tofu_p2p *p2p, uint32_t rank,
			struct p2p_peer *peer)
{
	const struct tofu_p2p_params *params = &p2p->config.params;
	const struct tofu_srb_params ring = p2p_srb_params(p2p->config.ring);
	const struct tofu_srb_params replies = p2p_srb_params(P2P_REPLY_RING);
	utofu_vcq_id_t vcq[2];
	int code = p2p_where(params, rank, vcq);

	if (!code)
		code = tofu_srb_address(vcq[0], &ring, &peer->requests.address);
	if (!code)
		code = tofu_srb_address(vcq[1], &replies,
					&peer->replies.address);
	return code;
}

int p2p_where(const struct tofu_p2p_params *params, uint32_t rank,
	      utofu_vcq_id_t vcq[2])
{
	uint8_t coords[6];
	utofu_tni_id_t tni = params->tni;
	utofu_cmp_id_t component = params->component;
	int code = params->where(params->arg, rank, coords, &tni, &component);

	if (!code)
		code = utofu_construct_vcq_id(coords, tni, CQ, component,
					      &vcq[0]);
	if (!code)
		code = utofu_construct_vcq_id(coords, tni, CQ,
					      (utofu_cmp_id_t)(component + 1),
					      &vcq[1]);
	return code;
}

/* ---- The interface ---- */

static void peer_init(struct p2p_peer *peer, uint32_t rank)
{
	peer->rank = rank;
	TAILQ_INIT(&peer->queue);
	TAILQ_INIT(&peer->replying);
	TAILQ_INIT(&peer->untaken);
}

static int peer_make(struct tofu_p2p *p2p, uint32_t rank,
		     struct p2p_peer **peer)
{
	struct p2p_peer address = { 0 };
	int code = address_make(p2p, rank, &address);

	if (code)
		return code;
	*peer = entry_get(p2p);
	if (!*peer)
		return UTOFU_ERR_OUT_OF_MEMORY;
	peer_init(*peer, rank);
	(*peer)->requests = address.requests;
	(*peer)->replies = address.replies;
	(*peer)->never = p2p->config.standing;
	table_add(&p2p->peers, *peer);
	TAILQ_INSERT_TAIL(&p2p->peers.idle, *peer, idle);
	p2p->peers.idles++;
	return UTOFU_SUCCESS;
}

int p2p_peer_get(struct tofu_p2p *p2p, uint32_t rank, struct p2p_peer **peer)
{
	*peer = p2p_peer_find(p2p, rank);
	return *peer ? UTOFU_SUCCESS : peer_make(p2p, rank, peer);
}

void p2p_peer_pinned(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	TAILQ_REMOVE(&p2p->peers.idle, peer, idle);
	p2p->peers.idles--;
	p2p->peers.spares_used += peer->spare;
}

void p2p_peer_unpinned(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	TAILQ_INSERT_TAIL(&p2p->peers.idle, peer, idle);
	p2p->peers.idles++;
	p2p->peers.spares_used -= peer->spare;
}

bool p2p_peer_lends(const struct tofu_p2p *p2p, const struct p2p_peer *peer)
{
	return !peer->spare || p2p->peers.spares_used + !peer->pins <=
				       P2P_SPARES_OF_SENDS;
}

void p2p_peer_wake(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (peer->active)
		return;
	peer->active = true;
	p2p_peer_pin(p2p, peer);
	TAILQ_INSERT_TAIL(&p2p->peers.active, peer, link);
}

int p2p_peers_make(struct tofu_p2p *p2p)
{
	struct p2p_peers *peers = &p2p->peers;

	TAILQ_INIT(&peers->idle);
	TAILQ_INIT(&peers->active);
	TAILQ_INIT(&peers->spare);
	peers->spares = p2p_allocate(&p2p->account, P2P_PEERS,
				     P2P_SPARES * sizeof(*peers->spares));
	if (!peers->spares || !table_resize(p2p, p2p_table_slots(0)))
		return UTOFU_ERR_OUT_OF_MEMORY;
	for (unsigned int i = 0; i < P2P_SPARES; i++)
		TAILQ_INSERT_TAIL(&peers->spare, &peers->spares[i], link);
	return UTOFU_SUCCESS;
}

void p2p_peers_free(struct tofu_p2p *p2p)
{
	struct p2p_peers *peers = &p2p->peers;

	for (size_t i = 0; i < peers->slots; i++)
		if (peers->slot[i] && !peers->slot[i]->spare)
			p2p_free(&p2p->account, P2P_PEERS, peers->slot[i],
				 sizeof(struct p2p_peer));
	p2p_free(&p2p->account, P2P_PEERS, peers->slot,
		 peers->slots * sizeof(*peers->slot));
	p2p_free(&p2p->account, P2P_PEERS, peers->spares,
		 P2P_SPARES * sizeof(*peers->spares));
}
