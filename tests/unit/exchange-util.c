/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "exchange-util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gates/network.h"
#include "exchange-engines.h"

#define GUARD 64
#define GUARD_BYTE 0x7e
#define DIRECTIONS_MAX (2 * TOFU_GRID_DIMS_MAX)

/* Shared by the processes of a scene, beside struct tofu_nodes */
static struct tofu_exchange_card (*cards)[DIRECTIONS_MAX];
static const struct scene *playing;

/* ---- Data: each byte is of one exchange, sender, message and place ---- */

static uint64_t word_of(uint64_t round, uint64_t rank, uint64_t message,
			uint64_t at)
{
	uint64_t x = (round << 32 | rank << 8 | message) +
		     (at + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static void data_fill(char *at, size_t bytes, unsigned int round,
		      unsigned int rank, unsigned int message)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = word_of(round, rank, message, i);

		memcpy(at + i, &word, bytes - i < 8 ? bytes - i : 8);
	}
}

static bool data_is(const char *at, size_t bytes, unsigned int round,
		    unsigned int rank, unsigned int message)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = word_of(round, rank, message, i);

		if (memcmp(at + i, &word, bytes - i < 8 ? bytes - i : 8))
			return false;
	}
	return true;
}

/* ---- Buffers ---- */

static void *buffer_make(char **area, size_t bytes)
{
	if (!bytes)
		return NULL;
	*area = malloc(bytes + 2 * GUARD);
	CHECK(*area);
	memset(*area, GUARD_BYTE, bytes + 2 * GUARD);
	return *area + GUARD;
}

static bool guarded(const char *area, size_t bytes)
{
	for (size_t i = 0; area && i < GUARD; i++)
		if (area[i] != GUARD_BYTE ||
		    area[GUARD + bytes + i] != GUARD_BYTE)
			return false;
	return true;
}

static void message_make(struct actor *actor, unsigned int i)
{
	const struct scene *scene = actor->scene;
	struct tofu_message *m = &actor->message[i];
	int code = tofu_grid_neighbor(&scene->grid, actor->rank, i,
				      &actor->peer[i], &m->back);

	if (code == UTOFU_ERR_NOT_FOUND)
		return;
	CHECK(!code);
	m->send_bytes = scene->bytes[i];
	m->recv_bytes = scene->bytes[m->back];
	m->send = buffer_make(&actor->area[i][0], m->send_bytes);
	m->recv[0] = buffer_make(&actor->area[i][1], m->recv_bytes);
	m->recv[1] = buffer_make(&actor->area[i][2], m->recv_bytes);
}

/* ---- Entering and leaving ---- */

static bool has_neighbor(const struct actor *actor, unsigned int i)
{
	return actor->message[i].send_bytes || actor->message[i].recv_bytes;
}

static utofu_vbg_id_t gates_make(struct tofu_nodes *nodes, unsigned int rank)
{
	struct utofu_vbg_setting settings[NODE_GATES_MAX];
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	utofu_vbg_id_t id[NODE_GATES_MAX];
	unsigned int count = tofu_network_links(TOFU_NETWORK_BUTTERFLY,
						nodes->count, rank, links);

	CHECK(!utofu_alloc_vbg(0, count, 0, id));
	memcpy(nodes->vbg[rank], id, count * sizeof(id[0]));
	tofu_nodes_meet(nodes);
	tofu_network_settings(links, count, rank, nodes->vbg[0],
			      NODE_GATES_MAX, settings);
	CHECK(!utofu_set_vbg(settings, count));
	tofu_nodes_meet(nodes);
	return id[0];
}

static void actor_connect(struct actor *actor, struct tofu_nodes *nodes)
{
	for (unsigned int i = 0; i < actor->messages; i++)
		CHECK(!tofu_exchange_card(actor->exchange, i,
					  &cards[actor->rank][i]));
	tofu_nodes_meet(nodes);
	for (unsigned int i = 0; i < actor->messages; i++)
		if (has_neighbor(actor, i))
			CHECK(!tofu_exchange_connect(
				actor->exchange, i,
				&cards[actor->peer[i]][actor->message[i].back]));
}

void actor_enter(struct actor *actor, struct tofu_nodes *nodes,
		 unsigned int rank)
{
	struct tofu_neighbor_params params = playing->params;
	enum tofu_neighbor_algorithm algorithm;

	*actor = (struct actor){
		.scene = playing,
		.rank = rank,
		.messages = 2 * playing->grid.dims,
		.random = word_of(0, rank, 0, 0),
	};
	for (unsigned int i = 0; i < actor->messages; i++)
		message_make(actor, i);
	params.barrier = playing->meet ? gates_make(nodes, rank) :
					 UTOFU_VBG_ID_NULL;
	CHECK(!tofu_neighbor_create(&params, actor->message, actor->messages,
				    &actor->exchange));
	CHECK(!tofu_neighbor_algorithm(actor->exchange, &algorithm));
	CHECK(algorithm == playing->expect ||
	      playing->expect == TOFU_NEIGHBOR_AUTO);
	actor_connect(actor, nodes);
}

void actor_leave(struct actor *actor)
{
	tofu_exchange_free(actor->exchange);
	for (unsigned int i = 0; i < actor->messages; i++) {
		const struct tofu_message *m = &actor->message[i];

		CHECK(guarded(actor->area[i][0], m->send_bytes));
		CHECK(guarded(actor->area[i][1], m->recv_bytes));
		CHECK(guarded(actor->area[i][2], m->recv_bytes));
		for (unsigned int b = 0; b < 3; b++)
			free(actor->area[i][b]);
	}
}

/* ---- Rounds ---- */

void actor_fill(struct actor *actor, unsigned int round)
{
	for (unsigned int i = 0; i < actor->messages; i++)
		if (actor->message[i].send_bytes)
			data_fill(actor->area[i][0] + GUARD,
				  actor->message[i].send_bytes, round,
				  actor->rank, i);
}

void actor_check(struct actor *actor, unsigned int round)
{
	for (unsigned int i = 0; i < actor->messages; i++) {
		const struct tofu_message *m = &actor->message[i];
		void *got;

		CHECK(!tofu_exchange_received(actor->exchange, i, &got));
		CHECK(got == m->recv[round % 2]);
		CHECK(data_is(got, m->recv_bytes, round, actor->peer[i],
			      m->back));
	}
}

static void nap(struct actor *actor)
{
	const struct scene *scene = actor->scene;

	actor->random = word_of(actor->random, 0, 0, 0);
	if (scene->late && actor->random % scene->late == 0)
		usleep((useconds_t)(actor->random >> 32) % 2000);
}

static void play(struct tofu_nodes *nodes, unsigned int rank)
{
	struct actor actor;

	actor_enter(&actor, nodes, rank);
	for (unsigned int round = 0; round < playing->rounds; round++) {
		actor_fill(&actor, round);
		CHECK(!tofu_exchange_start(actor.exchange));
		nap(&actor);
		CHECK(!tofu_exchange_wait(actor.exchange));
		actor_check(&actor, round);
		engines_check(actor.exchange);
		/* Neighbours may be an exchange ahead, and not disturb. */
		nap(&actor);
		actor_check(&actor, round);
	}
	actor_leave(&actor);
	tofu_nodes_meet(nodes);
}

/* ---- Scenes ---- */

unsigned int scene_count(const struct scene *scene)
{
	unsigned int count = 1;

	for (unsigned int d = 0; d < scene->grid.dims; d++)
		count *= scene->grid.size[d];
	return count;
}

void scene_prepare(const struct scene *scene)
{
	playing = scene;
	if (!cards)
		cards = mmap(NULL, NODES_MAX * sizeof(*cards),
			     PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(cards != MAP_FAILED);
}

int scene_run(const struct scene *scene)
{
	scene_prepare(scene);
	return tofu_nodes_run(scene_count(scene), play, -1);
}
