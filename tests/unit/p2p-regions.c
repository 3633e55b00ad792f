/* SPDX-License-Identifier: MIT */
/*
 * Buffers that stay registered: when they are registered again and when not,
 * how many are kept, and what happens when their addresses change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"
#include "port/soft.h"
#include "utofu/watch.h"

#define PAGE 4096UL
#define BYTES (5 * PAGE)
#define BUFFERS 6
#define COUNT 3

FIXTURE(regions)
{
	struct world world;
	struct tofu_p2p_params params;
	struct tofu_watch watch;
	char *from;
	char *to;
	uint64_t seed;
};

FIXTURE_VARIANT(regions)
{
	size_t get;
};

FIXTURE_VARIANT_ADD(regions, get){
	.get = SIZE_MAX - 1,
};

FIXTURE_VARIANT_ADD(regions, put){
	.get = 0,
};

static void *pages_map(void *at, size_t bytes)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

FIXTURE_SETUP(regions)
{
	self->params = p2p_params();
	self->params.eager = 100;
	self->params.get = variant->get;
	self->from = pages_map(NULL, BUFFERS * BYTES);
	self->to = pages_map(NULL, BUFFERS * BYTES);
	ASSERT_NE(self->from, MAP_FAILED);
	ASSERT_NE(self->to, MAP_FAILED);
}

FIXTURE_TEARDOWN(regions)
{
	world_free(&self->world);
	munmap(self->from, BUFFERS * BYTES);
	munmap(self->to, BUFFERS * BYTES);
}

/* ---- Messages ---- */

#define WORLD(bound)                                                       \
	do {                                                               \
		self->params.pinned = (bound);                             \
		ASSERT_EQ(world_make(&self->world, COUNT, &self->params), \
			  0);                                              \
	} while (0)

static void message(struct harness_test *_metadata, struct world *world,
		    char *from, char *to, size_t bytes, uint64_t seed)
{
	struct tofu_p2p_request *send, *recv;

	data_fill(from, bytes, seed);
	ASSERT_EQ(tofu_p2p_irecv(world->p2p[1], to, bytes, 0, 0, &recv), 0);
	ASSERT_EQ(tofu_p2p_isend(world->p2p[0], from, bytes, 1, 0, &send), 0);
	ASSERT_EQ(world_wait(world, 1, &recv, NULL), 0);
	ASSERT_EQ(world_wait(world, 0, &send, NULL), 0);
	ASSERT_TRUE(data_is(to, bytes, seed));
}

/* From 0 to 1, between buffers at these offsets */
#define MESSAGE(offset, bytes)                                                 \
	message(_metadata, &self->world, self->from + (offset),                \
		self->to + (offset), bytes, ++self->seed)

/* Registrations and their ends so far, by both processes */
static uint64_t changes(void)
{
	return ((struct tofu_soft *)tofu_instance()->port)->changes;
}

/* A registration changes the tables once, its end twice. */
#define CHANGES_MADE 1U
#define CHANGES_ENDED 2U

/* ---- What must always hold ---- */

static void table_is_sound(struct harness_test *_metadata,
			   const struct tofu_p2p *p2p)
{
	const struct p2p_regions *regions = &p2p->regions;
	const struct p2p_region *region;
	unsigned int idle = 0, used = 0;
	size_t pinned = 0;

	TAILQ_FOREACH(region, &regions->idle, link)
	{
		EXPECT_EQ(region->users, 0);
		EXPECT_TRUE(region->known);
		pinned += (region->end - 1) / PAGE - region->start / PAGE + 1;
		idle++;
	}
	EXPECT_EQ(regions->pinned, pinned * PAGE);
	EXPECT_LE(regions->pinned, p2p->config.pinned);
	for (unsigned int i = 0; i < regions->count; i++) {
		used += !!regions->table[i]->users;
		EXPECT_TRUE(regions->table[i]->known);
		if (!i)
			continue;
		EXPECT_GT(regions->table[i]->start,
			  regions->table[i - 1]->start);
		EXPECT_GT(regions->table[i]->end, regions->table[i - 1]->end);
	}
	EXPECT_EQ(idle + used, regions->count);
}

static void tables_are_sound(struct harness_test *_metadata,
			     const struct world *world)
{
	for (unsigned int rank = 0; rank < world->count; rank++)
		table_is_sound(_metadata, world->p2p[rank]);
}

/* ---- Hits ---- */

TEST_F(regions, second_message_registers_nothing)
{
	uint64_t before;

	WORLD(0);
	before = changes();
	MESSAGE(0, BYTES);
	EXPECT_EQ(changes(), before + 2 * CHANGES_MADE);
	MESSAGE(0, BYTES);
	MESSAGE(0, BYTES - 1);
	MESSAGE(PAGE + 24, 2 * PAGE);
	MESSAGE(BYTES - 200, 200);
	EXPECT_EQ(changes(), before + 2 * CHANGES_MADE);
	tables_are_sound(_metadata, &self->world);
}

TEST_F(regions, larger_region_replaces_what_it_contains)
{
	const struct p2p_regions *regions;
	uint64_t before;

	WORLD(0);
	regions = &self->world.p2p[0]->regions;
	MESSAGE(0, 1000);
	MESSAGE(2 * BYTES, 1000);
	MESSAGE(BYTES, BYTES);
	EXPECT_EQ(regions->count, 3);
	MESSAGE(0, 2 * BYTES + 500);
	EXPECT_EQ(regions->count, 2);
	tables_are_sound(_metadata, &self->world);
	before = changes();
	MESSAGE(BYTES, BYTES);
	MESSAGE(2 * BYTES, 1000);
	EXPECT_EQ(changes(), before);
}

/* Many overlapping ranges, some at a time */
TEST_F_TIMEOUT(regions, any_ranges, 120)
{
	WORLD(BUFFERS * BYTES / 2);
	for (unsigned int i = 0; i < 300; i++) {
		size_t at = word_of(1, 2, 3, i) % (BUFFERS * BYTES - 200);
		size_t most = BUFFERS * BYTES - at;
		size_t bytes = word_of(2, 3, 4, i) % (most / (1 + i % 9));

		MESSAGE(at, bytes < 101 ? 101 : bytes);
		tables_are_sound(_metadata, &self->world);
	}
}

/* ---- Bounds ---- */

TEST_F(regions, longest_unused_goes_first)
{
	uint64_t before;

	WORLD(3 * BYTES);
	for (unsigned int i = 0; i < 3; i++)
		MESSAGE(i * BYTES, BYTES);
	before = changes();
	MESSAGE(0, BYTES);
	EXPECT_EQ(changes(), before);
	/* Instead of the second one */
	MESSAGE(3 * BYTES, BYTES);
	EXPECT_EQ(changes(), before + 2 * (CHANGES_MADE + CHANGES_ENDED));
	tables_are_sound(_metadata, &self->world);
	before = changes();
	MESSAGE(0, BYTES);
	MESSAGE(2 * BYTES, BYTES);
	MESSAGE(3 * BYTES, BYTES);
	EXPECT_EQ(changes(), before);
	MESSAGE(BYTES, BYTES);
	EXPECT_GT(changes(), before);
}

static void nothing_is_kept(struct harness_test *_metadata,
			    const struct world *world)
{
	EXPECT_EQ(world->p2p[0]->regions.count, 0);
	EXPECT_EQ(world->p2p[1]->regions.count, 0);
}

TEST_F(regions, none_are_kept_if_so_wanted)
{
	uint64_t before;

	WORLD(TOFU_P2P_PIN_NONE);
	before = changes();
	MESSAGE(0, BYTES);
	MESSAGE(0, BYTES);
	EXPECT_EQ(changes(), before + 4 * (CHANGES_MADE + CHANGES_ENDED));
	nothing_is_kept(_metadata, &self->world);
}

TEST_F(regions, larger_than_the_bound_is_not_kept)
{
	WORLD(BYTES);
	MESSAGE(0, 2 * BYTES);
	nothing_is_kept(_metadata, &self->world);
	/* Its bytes fit, its pages do not. */
	MESSAGE(PAGE / 2, BYTES);
	nothing_is_kept(_metadata, &self->world);
	MESSAGE(0, BYTES);
	EXPECT_EQ(self->world.p2p[0]->regions.count, 1);
}

TEST_F_TIMEOUT(regions, more_buffers_than_entries, 120)
{
	enum { MANY = 3 * P2P_REGIONS / 2 };
	static struct tofu_p2p_request *send[MANY], *recv[MANY];
	size_t step = BUFFERS * BYTES / MANY;

	WORLD(0);
	data_fill(self->from, BUFFERS * BYTES, 1);
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0],
					 self->from + i * step, step, 1, 0,
					 &send[i]),
			  0);
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[1],
					 self->to + i * step, step, 0, 0,
					 &recv[i]),
			  0);
	for (unsigned int i = 0; i < MANY; i++) {
		EXPECT_EQ(world_wait(&self->world, 1, &recv[i], NULL), 0);
		EXPECT_EQ(world_wait(&self->world, 0, &send[i], NULL), 0);
	}
	EXPECT_EQ(memcmp(self->from, self->to, MANY * step), 0);
	tables_are_sound(_metadata, &self->world);
}

/* ---- In use ---- */

/* Others come and go, with room for one: the one in use stays. */
TEST_F(regions, in_use_is_not_evicted)
{
	struct tofu_p2p_request *send, *recv;
	const struct p2p_regions *regions;

	WORLD(BYTES);
	regions = &self->world.p2p[0]->regions;
	data_fill(self->from, BYTES, 77);
	ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[2], self->to, BYTES, 0, 1,
				 &recv),
		  0);
	ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0], self->from, BYTES, 2, 1,
				 &send),
		  0);
	/* Process 2 does not go on. */
	for (unsigned int i = 0; i < 200; i++) {
		tofu_p2p_progress(self->world.p2p[0]);
		tofu_p2p_progress(self->world.p2p[1]);
	}
	self->world.count = 2;
	for (unsigned int i = 1; i < BUFFERS; i++)
		MESSAGE(i * BYTES, BYTES);
	EXPECT_EQ(regions->count, variant->get ? 2 : 1);
	table_is_sound(_metadata, self->world.p2p[0]);
	self->world.count = COUNT;
	EXPECT_EQ(world_wait(&self->world, 2, &recv, NULL), 0);
	EXPECT_EQ(world_wait(&self->world, 0, &send, NULL), 0);
	EXPECT_TRUE(data_is(self->to, BYTES, 77));
	tables_are_sound(_metadata, &self->world);
}

/* From one region, at the same time: each transfer ends for its own message. */
TEST_F(regions, one_buffer_to_several_processes)
{
	struct tofu_p2p_request *send[4], *recv[4];

	WORLD(0);
	data_fill(self->from, BYTES, 5);
	for (unsigned int i = 0; i < 4; i++) {
		ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[1 + i % 2],
					 self->to + i * BYTES, BYTES, 0, 0,
					 &recv[i]),
			  0);
		ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0], self->from,
					 BYTES - i, 1 + i % 2, 0, &send[i]),
			  0);
	}
	EXPECT_EQ(self->world.p2p[0]->regions.count, variant->get ? 1 : 0);
	for (unsigned int i = 0; i < 4; i++) {
		EXPECT_EQ(world_wait(&self->world, 1 + i % 2, &recv[i], NULL),
			  0);
		EXPECT_EQ(world_wait(&self->world, 0, &send[i], NULL), 0);
		EXPECT_TRUE(!memcmp(self->to + i * BYTES, self->from,
				    BYTES - i));
	}
	tables_are_sound(_metadata, &self->world);
}

/* ---- Addresses that change ---- */

static struct tofu_port_cq *queue_of(const struct tofu_p2p *p2p)
{
	return tofu_vcq_find(p2p->data)->queue->cq;
}

/* The test says what is stale, instead of the port. */
static void watch_take(struct world *world, struct tofu_watch *watch)
{
	for (unsigned int rank = 0; rank < world->count; rank++)
		queue_of(world->p2p[rank])->watch = watch;
}

static void stale_make(struct tofu_watch *watch, utofu_stadd_t stadd)
{
	uint64_t stag = TOFU_GET(stadd, TOFU_ADDR_STAG);

	watch->stale[stag / 64] |= 1ULL << stag % 64;
	watch->generation++;
}

TEST_F(regions, stale_ones_are_not_used)
{
	struct p2p_regions *regions;
	uint64_t before;

	WORLD(0);
	regions = &self->world.p2p[0]->regions;
	watch_take(&self->world, &self->watch);
	MESSAGE(0, BYTES);
	MESSAGE(BYTES, BYTES);
	ASSERT_EQ(regions->count, 2);
	before = changes();
	stale_make(&self->watch, regions->table[0]->stadd);
	p2p_regions_check(self->world.p2p[0]);
	EXPECT_EQ(changes(), before + CHANGES_ENDED);
	ASSERT_EQ(regions->count, 1);
	EXPECT_EQ(regions->table[0]->start, (uintptr_t)self->from + BYTES);
	MESSAGE(BYTES, BYTES);
	memset(&self->watch.stale, 0, sizeof(self->watch.stale));
	MESSAGE(0, BYTES);
	EXPECT_EQ(regions->count, 2);
	tables_are_sound(_metadata, &self->world);
}

/* Already the message that begins next, without progress in between */
TEST_F(regions, stale_ones_are_not_found)
{
	struct p2p_regions *regions;
	utofu_stadd_t first;

	WORLD(0);
	regions = &self->world.p2p[0]->regions;
	watch_take(&self->world, &self->watch);
	MESSAGE(0, BYTES);
	first = regions->table[0]->stadd;
	stale_make(&self->watch, first);
	if (variant->get) {
		struct tofu_p2p_request *send;

		ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0], self->from, BYTES,
					 1, 0, &send),
			  0);
		ASSERT_EQ(regions->count, 1);
		EXPECT_EQ(regions->table[0]->users, 1);
		EXPECT_NE(regions->table[0]->stadd, first);
	}
}

/* In use it is only forgotten, and deregistered when its message has ended. */
TEST_F(regions, stale_ones_in_use_go_at_the_end)
{
	struct tofu_p2p_request *send, *recv;
	struct p2p_regions *regions;
	uint64_t before;

	WORLD(0);
	if (!variant->get)
		return;
	regions = &self->world.p2p[0]->regions;
	watch_take(&self->world, &self->watch);
	data_fill(self->from, BYTES, 8);
	ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0], self->from, BYTES, 1, 0,
				 &send),
		  0);
	ASSERT_EQ(regions->count, 1);
	before = changes();
	stale_make(&self->watch, regions->table[0]->stadd);
	ASSERT_EQ(world_turn(&self->world), 0);
	EXPECT_EQ(regions->count, 0);
	EXPECT_EQ(changes(), before);
	ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[1], self->to, BYTES, 0, 0,
				 &recv),
		  0);
	EXPECT_EQ(world_wait(&self->world, 1, &recv, NULL), 0);
	EXPECT_EQ(world_wait(&self->world, 0, &send, NULL), 0);
	EXPECT_TRUE(data_is(self->to, BYTES, 8));
	EXPECT_EQ(changes(), before + CHANGES_MADE + CHANGES_ENDED);
}

/* Here a region is a range of addresses: whatever is mapped there is sent. */
TEST_F(regions, other_memory_at_the_same_address)
{
	uint64_t before;

	WORLD(0);
	MESSAGE(0, BYTES);
	before = changes();
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(munmap(self->from, BYTES), 0);
		ASSERT_EQ(munmap(self->to, BYTES), 0);
		ASSERT_EQ(pages_map(self->from, BYTES), self->from);
		ASSERT_EQ(pages_map(self->to, BYTES), self->to);
		MESSAGE(0, BYTES);
	}
	EXPECT_EQ(changes(), before);
}

/* ---- Failures ---- */

/* Its peer may still write to it, so it is not kept. */
TEST_F(regions, failed_messages_leave_no_region)
{
	struct tofu_p2p_request *recv, *send;
	struct p2p_regions *regions;

	WORLD(0);
	regions = &self->world.p2p[0]->regions;
	if (!variant->get)
		return;
	tofu_p2p_free(self->world.p2p[2]);
	self->world.p2p[2] = NULL;
	self->world.count = 2;
	ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0], self->from, BYTES, 2, 0,
				 &send),
		  0);
	EXPECT_EQ(regions->count, 1);
	EXPECT_NE(world_wait(&self->world, 0, &send, NULL), 0);
	EXPECT_EQ(regions->count, 0);
	/* The message is too long: this fails by no fault of the peer. */
	ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[1], self->to, PAGE, 0, 0,
				 &recv),
		  0);
	ASSERT_EQ(tofu_p2p_isend(self->world.p2p[0], self->from, BYTES, 1, 0,
				 &send),
		  0);
	EXPECT_EQ(world_wait(&self->world, 1, &recv, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(world_wait(&self->world, 0, &send, NULL), 0);
	EXPECT_EQ(regions->count, 1);
}

/* Another port, which registers for the process's own */
static const struct tofu_port_ops *real_ops;
static struct tofu_port_ops other_ops;
static unsigned int refusals;
static bool watches;

static int other_mem_reg(struct tofu_port_cq *cq, void *addr, size_t length,
			 uint32_t flags, uint32_t *stag, uint64_t *offset)
{
	if (flags & TOFU_MEM_WATCH && !watches)
		return -EOPNOTSUPP;
	if (refusals) {
		refusals--;
		return -ENOMEM;
	}
	return real_ops->mem_reg(cq, addr, length, flags, stag, offset);
}

static void ops_replace(bool watching)
{
	struct tofu_port_dev *port = tofu_instance()->port;

	real_ops = port->ops;
	other_ops = *real_ops;
	other_ops.mem_reg = other_mem_reg;
	watches = watching;
	port->ops = &other_ops;
}

static void ops_restore(void)
{
	tofu_instance()->port->ops = real_ops;
}

TEST_F(regions, unused_ones_make_room_for_others)
{
	WORLD(0);
	for (unsigned int i = 0; i < 3; i++)
		MESSAGE(i * BYTES, BYTES);
	ops_replace(true);
	refusals = 3;
	MESSAGE(3 * BYTES, BYTES);
	ops_restore();
	EXPECT_EQ(refusals, 0);
	EXPECT_EQ(self->world.p2p[0]->regions.count +
			  self->world.p2p[1]->regions.count,
		  2 * 4 - 3);
	tables_are_sound(_metadata, &self->world);
}

TEST_F(regions, none_are_kept_by_drivers_that_cannot_watch)
{
	uint64_t before;

	WORLD(0);
	ops_replace(false);
	before = changes();
	MESSAGE(0, BYTES);
	MESSAGE(0, BYTES);
	ops_restore();
	EXPECT_EQ(changes(), before + 4 * (CHANGES_MADE + CHANGES_ENDED));
	nothing_is_kept(_metadata, &self->world);
}

TEST_HARNESS_MAIN
