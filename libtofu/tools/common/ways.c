// SPDX-License-Identifier: MIT
/*
 * What the puts of a grid meet in the machine, where no two links of the grid
 * need be two links of the machine. All nodes have one plan, so it is enough to
 * count how often each link is crossed in each direction of the grid.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ways.h"

#define LINKS 63

/* What a put to the node itself crosses: none of the links */
#define NO_LINK (UINT64_C(1) << LINKS)

/* For each direction of the grid */
struct tally {
	uint8_t of[SCHED_COMPASS];
};

/* Steps eastwards and northwards, in the order of struct sched_workload */
static const struct {
	int east;
	int north;
} compass[SCHED_COMPASS] = {
	{ 1, 0 },  { -1, 0 }, { 0, 1 },	  { 0, -1 },
	{ -1, 1 }, { 1, 1 },  { -1, -1 }, { 1, -1 },
};

/**
 * struct crossing - all links of the machine
 * @size, @node: of the grid
 * @link: how often puts cross it, by node and port
 * @hop:  of a route
 */
struct crossing {
	const uint32_t *size;
	const uint32_t *node;
	const struct tofu_shape *shape;
	uint32_t nodes;
	struct tally *link;
	struct tofu_hop hop[TOFU_HOPS_MAX];
};

/**
 * struct way_of - what the puts of a node meet, by direction
 * @crowd, @chain: of struct tofu_rsched_way, but 1 where nothing is crowded
 */
struct way_of {
	struct tally crowd;
	struct tally chain;
};

/* ---- The largest of several tallies ---- */

static bool covers(const uint8_t *a, const uint8_t *b, size_t size)
{
	while (size--)
		if (a[size] < b[size])
			return false;
	return true;
}

static void cover(uint8_t *a, const uint8_t *b, size_t size)
{
	while (size--)
		if (a[size] < b[size])
			a[size] = b[size];
}

/*
 * Keeps those of @size bytes that no other one covers. The last of @most takes in
 * those for which there is no room: that plans for more than there is.
 */
static void keep_largest(uint8_t *kept, size_t *count, size_t most,
			 const uint8_t *one, size_t size)
{
	size_t left = 0;

	for (size_t i = 0; i < *count; i++)
		if (covers(kept + i * size, one, size))
			return;
	for (size_t i = 0; i < *count; i++) {
		if (covers(one, kept + i * size, size))
			continue;
		memmove(kept + left++ * size, kept + i * size, size);
	}
	*count = left;
	if (left == most) {
		cover(kept + (left - 1) * size, one, size);
		return;
	}
	memcpy(kept + left * size, one, size);
	(*count)++;
}

/* ---- Routes ---- */

/* Puts go by the coordinates A, B, C of their target, as the library sends them. */
static unsigned int path_to(const struct tofu_shape *shape, uint32_t node)
{
	const struct tofu_coords at = tofu_coords_of(shape, node);

	return (unsigned int)(TOFU_SET(TOFU_PATH_A, at.c[TOFU_A]) |
			      TOFU_SET(TOFU_PATH_B, at.c[TOFU_B]) |
			      TOFU_SET(TOFU_PATH_C, at.c[TOFU_C]));
}

static uint32_t node_of(const struct crossing *all, uint32_t place)
{
	return all->node ? all->node[place] : place;
}

static uint32_t step(uint32_t at, int by, uint32_t size)
{
	if (by < 0)
		return at ? at - 1 : size - 1;
	at += (uint32_t)by;
	return at < size ? at : 0;
}

static uint32_t next_to(const struct crossing *all, uint32_t place,
			uint32_t direction)
{
	const uint32_t columns = all->size[1];
	const uint32_t x = step(place / columns, compass[direction].east,
				all->size[0]);

	return x * columns +
	       step(place % columns, compass[direction].north, columns);
}

/* The links of a put from @place, at most TOFU_HOPS_MAX; returns their count. */
static size_t links_of(struct crossing *all, uint32_t place, uint32_t direction,
		       struct tally *link[])
{
	uint32_t at = node_of(all, place);
	const uint32_t to =
		node_of(all, next_to(all, place, direction));
	const size_t hops = tofu_route(all->shape, at, to,
				       path_to(all->shape, to), all->hop);

	for (size_t i = 0; i < hops; i++) {
		link[i] = &all->link[at * TOFU_PORTS + all->hop[i].port];
		at = (uint32_t)tofu_node_at(all->shape, &all->hop[i].to);
	}
	return hops;
}

/* Counts beyond what plans can have are all the same. */
static void count_up(uint8_t *count, unsigned int by)
{
	const unsigned int sum = *count + by;

	*count = (uint8_t)(sum < TOFU_RSCHED_CROWD_MAX ? sum :
							 TOFU_RSCHED_CROWD_MAX);
}

static void cross_all(struct crossing *all)
{
	struct tally *link[TOFU_HOPS_MAX];

	for (uint32_t place = 0; place < all->nodes; place++)
		for (uint32_t d = 0; d < SCHED_COMPASS; d++)
			for (size_t i = links_of(all, place, d, link); i--;)
				count_up(&link[i]->of[d], 1);
}

static struct way_of way_from(struct crossing *all, uint32_t place)
{
	struct tally *link[TOFU_HOPS_MAX];
	struct way_of way;

	for (uint32_t d = 0; d < SCHED_COMPASS; d++) {
		way.crowd.of[d] = 1;
		way.chain.of[d] = 1;
		for (size_t i = links_of(all, place, d, link); i--;) {
			cover(&way.crowd.of[d], &link[i]->of[d], 1);
			count_up(&way.chain.of[d], link[i]->of[d] - 1U);
		}
	}
	return way;
}

/* ---- Ways ---- */

static void way_fill(const struct way_of *site, const struct tally *link,
		     size_t links, uint32_t d, struct tofu_rsched_way *way)
{
	for (size_t i = 0; i < links; i++) {
		const uint64_t bit = UINT64_C(1) << i;

		way->path |= link[i].of[d] ? bit : 0;
		if (link[i].of[d] > 1 && site->crowd.of[d] > 1)
			way->crowded |= bit;
	}
	if (!way->path)
		way->path = NO_LINK;
	if (!way->crowded)
		return;
	way->crowd = site->crowd.of[d];
	way->chain = site->chain.of[d];
}

static void ways_fill(struct crossing *all, struct sched_ways *ways)
{
	struct way_of site[TOFU_RSCHED_SITES_MAX];
	struct tally link[LINKS];
	size_t links = 0;

	for (size_t i = 0; i < (size_t)all->nodes * TOFU_PORTS; i++)
		keep_largest((uint8_t *)link, &links, LINKS, all->link[i].of,
			     sizeof(link[0]));
	for (uint32_t place = 0; place < all->nodes; place++) {
		const struct way_of way = way_from(all, place);

		keep_largest((uint8_t *)site, &ways->sites,
			     TOFU_RSCHED_SITES_MAX, (const uint8_t *)&way,
			     sizeof(way));
	}
	for (size_t s = 0; s < ways->sites; s++)
		for (uint32_t d = 0; d < SCHED_COMPASS; d++)
			way_fill(&site[s], link, links, d, &ways->way[s][d]);
}

int sched_ways_find(const uint32_t size[2], const uint32_t *node,
		    const struct tofu_shape *shape, struct sched_ways *ways)
{
	struct crossing all = {
		.size = size,
		.node = node,
		.shape = shape,
		.nodes = tofu_shape_nodes(shape),
	};

	*ways = (struct sched_ways){ 0 };
	if (all.nodes > SCHED_WAYS_NODES)
		return 0;
	all.link = calloc((size_t)all.nodes * TOFU_PORTS, sizeof(*all.link));
	if (!all.link)
		return -ENOMEM;
	cross_all(&all);
	ways_fill(&all, ways);
	free(all.link);
	return 0;
}
