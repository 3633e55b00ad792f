// SPDX-License-Identifier: MIT
/*
 * Numbers that wrap: the positions of rings, the generations of nodes, and the
 * versions of tables of memory. They begin a little before they wrap, as the
 * shared file says. virtual-nodes does the same with the positions of logs.
 */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <sys/mman.h>

#include "harness.h"

#define NODES 3

FIXTURE(machine)
{
	int fd;
	char path[32];
	uint8_t *base;
};

FIXTURE_SETUP(machine)
{
	self->fd = machine_create(NODES, self->path);
	ASSERT_GE(self->fd, 0);
	self->base = machine_map(self->fd, NODES);
	ASSERT_NE(MAP_FAILED, (void *)self->base);
}

FIXTURE_TEARDOWN(machine)
{
	munmap(self->base, tofu_shm_size(NODES));
	close(self->fd);
}

static struct tofu_shm_node *entry_of(uint8_t *base, uint32_t node)
{
	return (void *)(base + tofu_shm_node_offset(node));
}

/* ---- Positions ---- */

/* Before the nodes connect: all rings between them continue at @at. */
static void rings_begin(uint8_t *base, uint64_t at)
{
	for (uint64_t i = 0; i < NODES * NODES * TOFU_CLASSES; i++) {
		struct tofu_shm_ring *ring =
			(void *)(base + tofu_shm_ring_offset(NODES, i));

		ring->tail = at;
		ring->start = at;
		ring->head = at;
	}
}

/**
 * struct stream - packets of a class from one node to the other
 * @sent:  packets so far
 * @bytes: that they took in the ring
 */
struct stream {
	uint64_t sent;
	uint64_t bytes;
	uint64_t came;
	unsigned int wrong;
};

static size_t size_of(uint64_t tid)
{
	return (size_t)(tid * 37 % (TOFU_PKT_INLINE_MAX + 1));
}

static int stream_take(void *ctx, const struct tofu_packet *pkt,
		       const void *payload)
{
	const bool request = pkt->type == TOFU_PKT_PUT;
	struct stream *stream =
		(struct stream *)ctx + (request ? TOFU_REQUEST : TOFU_RESPONSE);
	const uint8_t *bytes = payload;

	stream->wrong += pkt->tid != stream->came ||
			 pkt->payload != size_of(pkt->tid);
	for (size_t i = 0; i < pkt->payload; i++)
		stream->wrong += bytes[i] != (uint8_t)pkt->tid;
	stream->came++;
	return 0;
}

static void stream_down(void *ctx, uint32_t node)
{
	(void)node;
	((struct stream *)ctx)->wrong++;
}

/* Fill the ring; some responses have references, so that a fence waits. */
static void stream_send(struct tofu_fabric *from, uint32_t to,
			enum tofu_class class_, struct stream *stream)
{
	static uint8_t payload[TOFU_PKT_INLINE_MAX];
	const uint8_t flags = class_ == TOFU_RESPONSE ? TOFU_PKT_F_REFS : 0;

	for (;;) {
		const size_t len = size_of(stream->sent);

		memset(payload, (int)stream->sent, len);
		if (send_flags(from, to, class_, stream->sent, payload, len,
			       flags))
			return;
		stream->sent++;
		stream->bytes += TOFU_SHM_RECORD(len);
	}
}

/* True when @bytes have gone through the rings of both classes. */
static bool streams_run(struct tofu_fabric *a, struct tofu_fabric *b,
			struct stream stream[TOFU_CLASSES], uint64_t bytes)
{
	const struct tofu_fabric_handler handler = { stream_take, stream_down };
	const int64_t end = now_ms() + LIMIT_MS;
	bool fenced = true;

	while (stream[TOFU_REQUEST].bytes < bytes ||
	       stream[TOFU_RESPONSE].bytes < bytes) {
		for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
			stream_send(a, tofu_fabric_endpoint(b), class_,
				    &stream[class_]);
		tofu_fabric_fence_begin(a);
		fenced &= !tofu_fabric_fence_done(a);
		while (stream[TOFU_REQUEST].came != stream[TOFU_REQUEST].sent ||
		       stream[TOFU_RESPONSE].came !=
			       stream[TOFU_RESPONSE].sent) {
			if (now_ms() > end)
				return false;
			tofu_fabric_poll(b, &handler, stream);
		}
		fenced &= tofu_fabric_fence_done(a);
	}
	return fenced;
}

TEST_F(machine, positions_of_rings_wrap_at_any_width)
{
	static const uint64_t wraps[] = { 1ULL << 16, 1ULL << 31, 1ULL << 32,
					  1ULL << 63, 0 };

	for (size_t i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++) {
		struct stream stream[TOFU_CLASSES] = { 0 };
		struct tofu_fabric *a, *b;

		rings_begin(self->base, wraps[i] - TOFU_SHM_RING / 2);
		a = attach(self->path, 0);
		b = attach(self->path, 1);
		ASSERT_NE(NULL, a);
		ASSERT_NE(NULL, b);
		EXPECT_TRUE(streams_run(a, b, stream, 4 * TOFU_SHM_RING));
		EXPECT_EQ(0, stream[TOFU_REQUEST].wrong);
		EXPECT_EQ(0, stream[TOFU_RESPONSE].wrong);
		tofu_fabric_detach(a);
		tofu_fabric_detach(b);
	}
}

/* ---- Generations ---- */

TEST_F(machine, generations_wrap_and_none_is_taken_for_another)
{
	struct tofu_shm_node *entry = entry_of(self->base, 1);
	struct sink *sink = calloc(1, sizeof(*sink));
	struct tofu_fabric *a = attach(self->path, 0), *b;

	ASSERT_NE(NULL, sink);
	ASSERT_NE(NULL, a);
	entry->life = TOFU_SET(TOFU_SHM_LIFE_GEN, UINT32_MAX - 2);
	for (unsigned int life = 0; life < 5; life++) {
		b = attach(self->path, 1);
		ASSERT_NE(NULL, b);
		EXPECT_NE(0, tofu_shm_gen(entry->life));
		ASSERT_EQ(0, send_one(b, 0, TOFU_REQUEST, life));
		sink->count = 0;
		ASSERT_TRUE(sink_wait(a, sink, 1));
		EXPECT_EQ(life, sink->seen[0].tid);
		/* What this life has not taken is not for the next one. */
		ASSERT_EQ(0, send_one(a, 1, TOFU_REQUEST, 100 + life));
		tofu_fabric_detach(b);
		ASSERT_TRUE(sink_wait_down(a, sink, life + 1));
	}
	EXPECT_EQ(3, tofu_shm_gen(entry->life));
	tofu_fabric_detach(a);
	free(sink);
}

/* ---- Tables of memory ---- */

TEST_F(machine, versions_of_a_table_wrap)
{
	struct tofu_fabric *a = attach(self->path, 0);
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(a, 1, TOFU_REQUEST, 1));
	entry_of(self->base, 1)->ram_seq = UINT32_MAX - 3;
	for (uint64_t version = 0; version < 5; version++) {
		struct tofu_ram ram = { .len = 4096,
					.fd = memfd_create("ram", 0) };
		uint64_t word = 0;

		ASSERT_EQ(0, ftruncate(ram.fd, 4096));
		ASSERT_EQ(sizeof(version), pwrite(ram.fd, &version,
						  sizeof(version), 0));
		ASSERT_EQ(0, tofu_fabric_publish(b, &ram, 1));
		ASSERT_EQ(0, tofu_fabric_read(a, 1, 0, &word, sizeof(word)));
		EXPECT_EQ(version, word);
		close(ram.fd);
	}
	EXPECT_GT(16, entry_of(self->base, 1)->ram_seq);
	tofu_fabric_detach(a);
	tofu_fabric_detach(b);
}

TEST_HARNESS_MAIN
