// SPDX-License-Identifier: MIT
/*
 * Standing rings, for machines without remote atomics, where no ring can have
 * several senders: each process keeps two rings for every other process from
 * the start, one for requests and one for replies. They take the place of the
 * shared rings. All are in one region, at a place that the sender's rank tells.
 */
#include "p2p/internal.h"

#include <stdlib.h>

#include "utofu/work.h"

/* In a process's part of the region: the consumers' words, and the rings */
#define WORDS 256
#define WORD(kind) ((kind) * 128U)

/*
 * Rings of processes that are looked at per turn, whether one is heard for the
 * first time. Most turns look in vain.
 */
#define LOOK 16

static size_t part_bytes(const struct p2p_config *config)
{
	return WORDS + P2P_STANDING_REPLIES + config->ring;
}

static size_t ring_bytes(const struct p2p_config *config,
			 enum p2p_standing_kind kind)
{
	return kind == P2P_STANDING_REPLY ? P2P_STANDING_REPLIES : config->ring;
}

static size_t ring_at(enum p2p_standing_kind kind)
{
	return kind == P2P_STANDING_REPLY ? WORDS :
					    WORDS + P2P_STANDING_REPLIES;
}

size_t p2p_standing_bytes(const struct p2p_config *config)
{
	return config->params.processes *
	       (part_bytes(config) + sizeof(struct p2p_standing_peer));
}

/* ---- Making and freeing ---- */

static void rings_init(struct tofu_p2p *p2p, uint32_t rank)
{
	const struct p2p_config *config = &p2p->config;
	struct p2p_standing *standing = &p2p->standing;
	char *part = standing->memory + rank * part_bytes(config);

	for (unsigned int kind = 0; kind < P2P_STANDING_KINDS; kind++)
		standing->peer[rank].ring[kind] = (struct srb_ring){
			.memory = part + ring_at(kind),
			.bytes = ring_bytes(config, kind),
			.consumer = (uint64_t *)(void *)(part + WORD(kind)),
		};
}

int p2p_standing_make(struct tofu_p2p *p2p)
{
	const struct p2p_config *config = &p2p->config;
	const uint32_t processes = config->params.processes;
	struct p2p_standing *standing = &p2p->standing;
	size_t bytes = processes * part_bytes(config);
	int code;

	TAILQ_INIT(&standing->heard);
	/* Their memory is always in use: the account has it already. */
	standing->memory = p2p_memory(bytes);
	standing->peer = p2p_memory(processes * sizeof(*standing->peer));
	if (!standing->memory || !standing->peer)
		return UTOFU_ERR_OUT_OF_MEMORY;
	for (uint32_t rank = 0; rank < processes; rank++)
		rings_init(p2p, rank);
	code = utofu_reg_mem_with_stag(p2p->requests_vcq, standing->memory,
				       bytes, P2P_STAG, 0, &standing->stadd);
	standing->registered = !code;
	return code;
}

void p2p_standing_free(struct tofu_p2p *p2p)
{
	struct p2p_standing *standing = &p2p->standing;

	if (standing->registered)
		utofu_dereg_mem(p2p->requests_vcq, standing->stadd, 0);
	free(standing->peer);
	free(standing->memory);
}

/* ---- Sending ---- */

int p2p_standing_find(const struct tofu_p2p *p2p, const struct p2p_peer *peer,
		      enum p2p_standing_kind kind,
		      struct tofu_srb_single *single)
{
	const struct p2p_config *config = &p2p->config;
	utofu_vcq_id_t vcq = peer->requests.address.vcq;
	utofu_stadd_t part;
	int code = utofu_query_stadd(vcq, P2P_STAG, &part);

	if (code)
		return code;
	part += config->params.rank * part_bytes(config);
	*single = (struct tofu_srb_single){
		.peer.address.vcq = vcq,
		.memory = part + ring_at(kind),
		.consumer = part + WORD(kind),
		.bytes = ring_bytes(config, kind),
	};
	return UTOFU_SUCCESS;
}

/* ---- Receiving ---- */

static inline uint64_t word_at(const char *at)
{
	return __atomic_load_n((const uint64_t *)(const void *)at,
			       __ATOMIC_RELAXED);
}

/* The first word of a record is never 0. */
static inline bool has_sent(const char *part)
{
	return word_at(part + ring_at(P2P_STANDING_REQUEST)) |
	       word_at(part + ring_at(P2P_STANDING_REPLY));
}

static void hear(struct p2p_standing *standing, uint32_t rank)
{
	struct p2p_standing_peer *peer = &standing->peer[rank];

	if (peer->heard)
		return;
	peer->heard = true;
	standing->heards++;
	TAILQ_INSERT_TAIL(&standing->heard, peer, link);
}

void p2p_standing_look(struct tofu_p2p *p2p, unsigned int turns)
{
	struct p2p_standing *standing = &p2p->standing;
	const uint32_t processes = p2p->config.params.processes;
	const uint32_t look = processes < LOOK ? processes : LOOK;
	const size_t bytes = part_bytes(&p2p->config);
	const char *part;

	/* A process does not send to itself. */
	if (standing->heards == processes - 1)
		return;
	tofu_work_settle((processes + LOOK - 1) / LOOK);
	if (turns > 1 && processes > LOOK)
		standing->next = (uint32_t)((standing->next +
					     (turns - 1) * (uint64_t)LOOK) %
					    processes);
	tofu_work_times(TOFU_WORK_P2P_UNHEARD, look);
	part = standing->memory + standing->next * bytes;
	for (uint32_t i = 0; i < look; i++) {
		if (has_sent(part))
			hear(standing, standing->next);
		part += bytes;
		if (++standing->next == processes) {
			standing->next = 0;
			part = standing->memory;
		}
	}
	tofu_work_pass();
}

void p2p_standing_rotate(struct tofu_p2p *p2p, unsigned int turns)
{
	struct p2p_standing *standing = &p2p->standing;
	struct p2p_standing_peer *first;

	if (standing->heards < 2)
		return;
	if (turns > 1)
		turns %= standing->heards;
	for (; turns; turns--) {
		first = TAILQ_FIRST(&standing->heard);
		TAILQ_REMOVE(&standing->heard, first, link);
		TAILQ_INSERT_TAIL(&standing->heard, first, link);
	}
}
