/* SPDX-License-Identifier: MIT */
/*
 * Rings that this node follows: it looks at their tails by itself, so their producers
 * need not set its pending bit. The top of ring.c has the memory ordering.
 *
 * A look takes longer with each ring, so they are those of a few nodes. A node that
 * this one does not follow takes the place of one that has sent nothing for a while.
 */
#include "fabric/shm/internal.h"

/* Looks that find packets of others, between two chances to be followed */
#define OTHERS 16

static bool has_news(const struct tofu_follow *follow)
{
	bool news = false;

	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		const struct tofu_shm_ring *ring = tofu_load(&follow->ring[class_]);

		news |= tofu_load(&ring->tail) != tofu_load(&follow->seen[class_]);
	}
	return news;
}

void tofu_follow_look(struct tofu_shm *shm)
{
	for (unsigned int i = 0; i < shm->follows; i++)
		if (has_news(&shm->follow[i]))
			tofu_bit_set(shm->todo, shm->follow[i].node);
}

/*
 * Another thread may be changing an entry. It sees the tails after that, if they are
 * not those that it had read, and what this one sees is right at the next look.
 */
bool tofu_follow_quiet(const struct tofu_shm *shm)
{
	/* Acquire: entries are complete before they are counted. */
	const unsigned int follows = tofu_load_acquire(&shm->follows);
	bool news = false;

	for (unsigned int i = 0; i < follows; i++)
		news |= has_news(&shm->follow[i]);
	return !news;
}

static struct tofu_follow *find(struct tofu_shm *shm, uint32_t node)
{
	for (unsigned int i = 0; i < shm->follows; i++)
		if (shm->follow[i].node == node)
			return &shm->follow[i];
	return NULL;
}

/* The producers' word of a ring, which they read only */
static void say(const struct tofu_shm *shm, uint32_t node, bool follows)
{
	const struct tofu_peer *peer = &shm->peers[node];

	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		tofu_store(&peer->rx[class_].ring->followed,
			   follows ? peer->rx[class_].conn : 0);
	tofu_fence_full();
}

static void seen_set(struct tofu_follow *follow, const uint64_t tail[TOFU_CLASSES])
{
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		tofu_store(&follow->seen[class_], tail[class_]);
}

static void follow_begin(struct tofu_shm *shm, struct tofu_follow *follow, uint32_t node,
			 const uint64_t tail[TOFU_CLASSES])
{
	follow->node = node;
	follow->used = true;
	seen_set(follow, tail);
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		tofu_store(&follow->ring[class_], shm->peers[node].rx[class_].ring);
	say(shm, node, true);
}

/* Return: an entry, if there is one that is not in use any more. */
static struct tofu_follow *room_find(struct tofu_shm *shm)
{
	struct tofu_follow *oldest = &shm->follow[shm->hand];

	if (shm->follows < TOFU_FOLLOWS)
		return &shm->follow[shm->follows];
	shm->hand = (shm->hand + 1) % TOFU_FOLLOWS;
	if (oldest->used) {
		oldest->used = false;
		return NULL;
	}
	/* What it sent before it could see that is found by the next look. */
	say(shm, oldest->node, false);
	tofu_bit_set(shm->todo, oldest->node);
	return oldest;
}

/* A node that this one does not follow has sent something. */
static void other_heard(struct tofu_shm *shm, uint32_t node, const uint64_t tail[TOFU_CLASSES])
{
	const struct tofu_rx *rx = shm->peers[node].rx;
	struct tofu_follow *room;

	if (++shm->others < OTHERS || !rx[TOFU_REQUEST].ready || !rx[TOFU_RESPONSE].ready)
		return;
	shm->others = 0;
	room = room_find(shm);
	if (!room)
		return;
	follow_begin(shm, room, node, tail);
	if (room == &shm->follow[shm->follows])
		tofu_store_release(&shm->follows, shm->follows + 1);
}

void tofu_follow_seen(struct tofu_shm *shm, uint32_t node, const uint64_t tail[TOFU_CLASSES],
		      bool taken)
{
	struct tofu_follow *follow = find(shm, node);

	if (follow) {
		follow->used = true;
		seen_set(follow, tail);
	} else if (taken) {
		other_heard(shm, node, tail);
	}
}

void tofu_follow_forget(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_follow *follow = find(shm, node);
	const struct tofu_follow *last;

	if (!follow)
		return;
	last = &shm->follow[shm->follows - 1];
	follow->node = last->node;
	follow->used = last->used;
	seen_set(follow, last->seen);
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		tofu_store(&follow->ring[class_], last->ring[class_]);
	tofu_store(&shm->follows, shm->follows - 1);
	shm->hand = 0;
}
