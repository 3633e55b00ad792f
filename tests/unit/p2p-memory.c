/* SPDX-License-Identifier: MIT */
/*
 * Memory: the limit holds whatever is sent, what does not fit waits and is not
 * lost, and own rings come and go as peers do.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc-util.h"
#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define BYTES_MAX 3000

/* ---- Streams: numbered messages from one endpoint to another ---- */

/**
 * struct stream
 * @sent, @got: messages
 */
struct stream {
	unsigned int from;
	unsigned int to;
	unsigned int sent;
	unsigned int got;
};

static size_t bytes_of(const struct stream *stream, unsigned int number)
{
	return 8 + word_of(stream->from, stream->to, number, 7) % BYTES_MAX;
}

static uint64_t seed_of(const struct stream *stream, unsigned int number)
{
	return word_of(stream->from, stream->to, number, 8);
}

static void stream_send(struct harness_test *_metadata, struct world *world,
			struct stream *stream,
			struct tofu_p2p_request **request, char *buf)
{
	size_t bytes = bytes_of(stream, stream->sent);

	data_fill(buf, bytes, seed_of(stream, stream->sent));
	ASSERT_EQ(tofu_p2p_isend(world->p2p[stream->from], buf, bytes,
				 stream->to, 1, request),
		  0);
	stream->sent++;
}

/* The next message is of any stream to @to, and is the next of that stream. */
static void streams_receive(struct harness_test *_metadata,
			    struct world *world, struct stream stream[],
			    unsigned int to, uint32_t source)
{
	struct tofu_p2p_request *request;
	struct tofu_p2p_status status;
	char buf[8 + BYTES_MAX];
	struct stream *from;

	ASSERT_EQ(tofu_p2p_irecv(world->p2p[to], buf, sizeof(buf), source, 1,
				 &request),
		  0);
	ASSERT_EQ(world_wait(world, to, &request, &status), 0);
	from = &stream[status.source];
	ASSERT_EQ(status.bytes, bytes_of(from, from->got));
	ASSERT_TRUE(data_is(buf, status.bytes, seed_of(from, from->got)));
	from->got++;
}

static void turns(struct harness_test *_metadata, struct world *world,
		  unsigned int count)
{
	while (count--)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
}

/* ---- Limits ---- */

static size_t all_of(const struct tofu_p2p_memory *memory)
{
	return memory->shared + memory->own + memory->peers +
	       memory->unexpected + memory->pool;
}

static struct tofu_p2p_params least_params(enum tofu_p2p_mode mode)
{
	struct tofu_p2p_params params = p2p_params();

	params.mode = mode;
	return p2p_least(params);
}

FIXTURE(within)
{
	struct world world;
};

FIXTURE_VARIANT(within)
{
	enum tofu_p2p_mode mode;
	size_t more;
};

FIXTURE_VARIANT_ADD(within, least_automatic){
	.mode = TOFU_P2P_AUTO,
};

FIXTURE_VARIANT_ADD(within, least_shared){
	.mode = TOFU_P2P_SHARED,
};

FIXTURE_VARIANT_ADD(within, little_fast){
	.mode = TOFU_P2P_FAST,
	.more = 200000,
};

FIXTURE_VARIANT_ADD(within, little_saving){
	.mode = TOFU_P2P_SAVING,
	.more = 50000,
};

FIXTURE_VARIANT_ADD(within, little_automatic){
	.mode = TOFU_P2P_AUTO,
	.more = 100000,
};

#define ENDPOINTS 8

FIXTURE_SETUP(within)
{
	struct tofu_p2p_params params = least_params(variant->mode);

	params.memory += variant->more;
	ASSERT_EQ(world_make(&self->world, ENDPOINTS, &params), 0);
	params.memory = least_params(variant->mode).memory - 1;
	ASSERT_EQ(tofu_p2p_need(&params, 0, &(struct tofu_p2p_memory){ 0 }),
		  UTOFU_ERR_INVALID_SIZE);
}

FIXTURE_TEARDOWN(within)
{
	for (unsigned int rank = 0; rank < self->world.count; rank++) {
		struct tofu_p2p_memory memory;

		tofu_p2p_memory(self->world.p2p[rank], &memory);
		EXPECT_LE(all_of(&memory), memory.peak);
		EXPECT_LE(memory.peak,
			  self->world.p2p[rank]->config.params.memory);
		EXPECT_EQ(memory.unexpected, 0);
	}
	world_free(&self->world);
}

#define FLOOD 40

static char flood[ENDPOINTS][FLOOD][8 + BYTES_MAX];

/* All send to one, who asks for nothing: they wait, and all comes in order. */
TEST_F_TIMEOUT(within, floods_wait, 120)
{
	struct tofu_p2p_request *send[ENDPOINTS][FLOOD] = { 0 };
	struct stream stream[ENDPOINTS];
	unsigned int waiting = 0;

	for (unsigned int from = 1; from < ENDPOINTS; from++) {
		stream[from] = (struct stream){ .from = from };
		for (unsigned int i = 0; i < FLOOD; i++)
			stream_send(_metadata, &self->world, &stream[from],
				    &send[from][i], flood[from][i]);
	}
	turns(_metadata, &self->world, 1000);
	for (unsigned int from = 1; from < ENDPOINTS; from++)
		waiting += tofu_p2p_test(self->world.p2p[from],
					 &send[from][FLOOD - 1], NULL) ==
			   UTOFU_ERR_NOT_COMPLETED;
	EXPECT_GT(waiting, 0);
	for (unsigned int i = 0; i < FLOOD * (ENDPOINTS - 1); i++)
		streams_receive(_metadata, &self->world, stream, 0,
				TOFU_P2P_ANY_SOURCE);
	for (unsigned int from = 1; from < ENDPOINTS; from++)
		for (unsigned int i = 0; i < FLOOD; i++)
			EXPECT_EQ(world_wait(&self->world, from, &send[from][i],
					     NULL),
				  0);
}

/*
 * Two flood each other, and ask for nothing but the long messages that came
 * first: these need only replies, which go through. Then comes all the rest.
 */
TEST_F_TIMEOUT(within, replies_pass_floods, 120)
{
	enum { LONG = 200000 };
	struct tofu_p2p_request *put[2], *send[2][FLOOD], *recv;
	struct stream stream[2] = { { .to = 1 }, { .from = 1 } };
	char *from = malloc(LONG), *to = malloc(LONG);

	data_fill(from, LONG, 3);
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(tofu_p2p_isend(self->world.p2p[i], from, LONG, !i, 2,
					 &put[i]),
			  0);
		for (unsigned int j = 0; j < FLOOD; j++)
			stream_send(_metadata, &self->world, &stream[i],
				    &send[i][j], flood[i][j]);
	}
	turns(_metadata, &self->world, 1000);
	for (unsigned int i = 0; i < 2; i++) {
		memset(to, 0, LONG);
		ASSERT_EQ(tofu_p2p_irecv(self->world.p2p[i], to, LONG, !i, 2,
					 &recv),
			  0);
		EXPECT_EQ(world_wait(&self->world, i, &recv, NULL), 0);
		EXPECT_TRUE(data_is(to, LONG, 3));
		EXPECT_EQ(world_wait(&self->world, !i, &put[!i], NULL), 0);
	}
	for (unsigned int i = 0; i < 2 * FLOOD; i++)
		streams_receive(_metadata, &self->world, stream, i % 2, !(i % 2));
	for (unsigned int i = 0; i < 2 * FLOOD; i++)
		EXPECT_EQ(world_wait(&self->world, i % 2, &send[i % 2][i / 2],
				     NULL),
			  0);
	free(from);
	free(to);
}

/* Receives until there is no memory; and still all that is sent to them comes. */
TEST_F_TIMEOUT(within, requests_end_at_the_limit, 120)
{
	enum { MANY = 1 << 20 };
	static struct tofu_p2p_request *recv[MANY];
	struct tofu_p2p_request *send[FLOOD];
	struct tofu_p2p_memory memory;
	struct stream stream[2] = { { .from = 0 }, { .from = 1 } };
	unsigned int count = 0;
	int code;

	for (unsigned int i = 0; i < FLOOD; i++)
		stream_send(_metadata, &self->world, &stream[1], &send[i],
			    flood[1][i]);
	turns(_metadata, &self->world, 1000);
	while (!(code = tofu_p2p_irecv(self->world.p2p[0], NULL, 0, 2, count,
				       &recv[count])))
		ASSERT_LT(++count, MANY);
	EXPECT_EQ(code, UTOFU_ERR_OUT_OF_MEMORY);
	/* Allocations that are always there, whatever has come */
	EXPECT_GE(count, 64);
	tofu_p2p_memory(self->world.p2p[0], &memory);
	EXPECT_LE(memory.peak, self->world.p2p[0]->config.params.memory);
	while (count--)
		ASSERT_EQ(tofu_p2p_cancel(self->world.p2p[0], &recv[count]), 0);
	for (unsigned int i = 0; i < FLOOD; i++)
		streams_receive(_metadata, &self->world, stream, 0, 1);
	for (unsigned int i = 0; i < FLOOD; i++)
		EXPECT_EQ(world_wait(&self->world, 1, &send[i], NULL), 0);
}

/* ---- Computed and actual memory ---- */

FIXTURE(need)
{
	struct world world;
};

FIXTURE_VARIANT(need)
{
	enum tofu_p2p_mode mode;
};

FIXTURE_VARIANT_ADD(need, automatic){
	.mode = TOFU_P2P_AUTO,
};

FIXTURE_VARIANT_ADD(need, fast){
	.mode = TOFU_P2P_FAST,
};

FIXTURE_VARIANT_ADD(need, saving){
	.mode = TOFU_P2P_SAVING,
};

FIXTURE_VARIANT_ADD(need, shared){
	.mode = TOFU_P2P_SHARED,
};

FIXTURE_SETUP(need)
{
}

FIXTURE_TEARDOWN(need)
{
	world_free(&self->world);
}

/* One after the other to all others, so that requests are few. */
static void all_to_all(struct harness_test *_metadata, struct world *world)
{
	for (unsigned int i = 0; i < world->count * world->count; i++) {
		struct tofu_p2p_request *send, *recv;
		unsigned int from = i / world->count, to = i % world->count;
		char byte = 1;

		if (from == to)
			continue;
		ASSERT_EQ(tofu_p2p_irecv(world->p2p[to], &byte, 1, from, 0,
					 &recv),
			  0);
		ASSERT_EQ(tofu_p2p_isend(world->p2p[from], &byte, 1, to, 0,
					 &send),
			  0);
		ASSERT_EQ(world_wait(world, from, &send, NULL), 0);
		ASSERT_EQ(world_wait(world, to, &recv, NULL), 0);
	}
	turns(_metadata, world, 100);
}

/* Also where not all peers get a ring, or not all get a large one. */
TEST_F_TIMEOUT(need, is_what_is_taken, 120)
{
	static const size_t more[] = { 150000, 400000, 900000, 4 << 20 };

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct tofu_p2p_params params = least_params(variant->mode);
		struct tofu_p2p_memory computed, memory;

		params.memory += more[i];
		ASSERT_EQ(tofu_p2p_need(&params, ENDPOINTS - 1, &computed), 0);
		ASSERT_EQ(world_make(&self->world, ENDPOINTS, &params), 0);
		all_to_all(_metadata, &self->world);
		for (unsigned int rank = 0; rank < ENDPOINTS; rank++) {
			tofu_p2p_memory(self->world.p2p[rank], &memory);
			EXPECT_EQ(memory.shared, computed.shared);
			EXPECT_EQ(memory.own, computed.own);
			EXPECT_EQ(memory.peers, computed.peers);
			EXPECT_EQ(memory.pool, computed.pool);
		}
		world_free(&self->world);
		self->world.count = 0;
	}
}

TEST_F(need, grows_as_the_mode_says)
{
	struct tofu_p2p_params params = least_params(variant->mode);
	struct tofu_p2p_memory few, many;

	params.memory = SIZE_MAX;
	ASSERT_EQ(tofu_p2p_need(&params, 1000, &few), 0);
	ASSERT_EQ(tofu_p2p_need(&params, 1000000, &many), 0);
	if (variant->mode == TOFU_P2P_SHARED) {
		EXPECT_EQ(all_of(&many), all_of(&few));
	} else {
		EXPECT_EQ(many.own, few.own * 1000);
	}
	params.memory = 100 << 20;
	ASSERT_EQ(tofu_p2p_need(&params, 10000000, &many), 0);
	EXPECT_LE(many.peak, params.memory);
	EXPECT_GE(many.own, variant->mode == TOFU_P2P_SHARED ? 0 : 40 << 20);
}

/* ---- Accounted and allocated memory ---- */

/*
 * Bytes that uTofu keeps beside its VCQs: for the memory that an endpoint has
 * registered, and for its own ring. And the excess of an account over its
 * allocations.
 */
#define REGISTERED 512
#define REGISTERED_OF_RING 64
#define ROUNDED 1024

#define CROWD 16
#define EACH 10

static char crowd[CROWD][EACH][8 + BYTES_MAX];

/* VCQs as those of the endpoints of a world, and what these take */
static ptrdiff_t vcqs_bytes(struct harness_test *_metadata)
{
	utofu_vcq_hdl_t vcq[CROWD][5];
	ptrdiff_t bytes = alloc_bytes();

	for (unsigned int i = 0; i < CROWD * 5; i++) {
		unsigned int rank = i / 5, of = i % 5;
		utofu_tni_id_t tni;
		utofu_cmp_id_t component;

		world_where(rank, &tni, &component);
		component = (utofu_cmp_id_t)(component + of);
		if (of < 2) {
			ASSERT_EQ(utofu_create_vcq_with_cmp_id(
					  tni, component, 0, &vcq[rank][of]),
				  0);
		} else {
			ASSERT_EQ(utofu_create_vcq(tni, 0, &vcq[rank][of]), 0);
		}
	}
	bytes = alloc_bytes() - bytes;
	for (unsigned int i = 0; i < CROWD * 5; i++)
		ASSERT_EQ(utofu_free_vcq(vcq[i / 5][i % 5]), 0);
	return bytes;
}

/* Bytes of all accounts, and what may be beside them */
static size_t accounts_bytes(const struct world *world, size_t *beside)
{
	size_t bytes = 0;

	*beside = 0;
	for (unsigned int rank = 0; rank < world->count; rank++) {
		const struct p2p_ring *ring;
		struct tofu_p2p_memory memory;

		tofu_p2p_memory(world->p2p[rank], &memory);
		bytes += all_of(&memory);
		*beside += REGISTERED;
		TAILQ_FOREACH(ring, &world->p2p[rank]->rings, link)
		*beside += REGISTERED_OF_RING;
	}
	return bytes;
}

static void allocated_is_taken(struct harness_test *_metadata,
			       const struct world *world, ptrdiff_t before)
{
	size_t beside, taken = accounts_bytes(world, &beside);
	size_t allocated = (size_t)(alloc_bytes() - before);

	ASSERT_LE(allocated, taken + beside);
	ASSERT_GE(allocated + world->count * ROUNDED, taken);
}

/*
 * All others flood process 0, which receives nothing at first, so that each
 * class has its share; after each turn the allocated bytes are compared.
 */
TEST_F_TIMEOUT(need, is_what_is_allocated, 120)
{
	struct tofu_p2p_request *send[CROWD][EACH] = { 0 };
	struct tofu_p2p_params params = least_params(variant->mode);
	struct stream stream[CROWD];
	ptrdiff_t before, end;

	ASSERT_EQ(alloc_watch(), 0);
	/* The machine is there from the first one on. */
	vcqs_bytes(_metadata);
	end = alloc_bytes();
	before = end + vcqs_bytes(_metadata);
	ASSERT_EQ(alloc_bytes(), end);
	params.memory += 400000;
	ASSERT_EQ(world_make(&self->world, CROWD, &params), 0);
	allocated_is_taken(_metadata, &self->world, before);
	all_to_all(_metadata, &self->world);
	allocated_is_taken(_metadata, &self->world, before);
	for (unsigned int from = 1; from < CROWD; from++) {
		stream[from] = (struct stream){ .from = from };
		for (unsigned int i = 0; i < EACH; i++)
			stream_send(_metadata, &self->world, &stream[from],
				    &send[from][i], crowd[from][i]);
	}
	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
		allocated_is_taken(_metadata, &self->world, before);
	}
	for (unsigned int i = 0; i < EACH * (CROWD - 1); i++)
		streams_receive(_metadata, &self->world, stream, 0,
				TOFU_P2P_ANY_SOURCE);
	allocated_is_taken(_metadata, &self->world, before);
	world_free(&self->world);
	self->world.count = 0;
	EXPECT_EQ(alloc_bytes(), end);
}

/* ---- Rings come and go ---- */

#define TALKERS 11

FIXTURE(rings){};

FIXTURE_SETUP(rings)
{
}

FIXTURE_TEARDOWN(rings)
{
}

static struct p2p_ring *ring_of(const struct world *world, unsigned int rank)
{
	const struct p2p_peer *peer = p2p_peer_find(world->p2p[0], rank);

	return peer ? peer->ring : NULL;
}

/* One message of each of some streams to 0, and of some of them another. */
static void talk(struct harness_test *_metadata, struct world *world,
		 struct stream stream[], unsigned int first, unsigned int last)
{
	struct tofu_p2p_request *send[TALKERS + 1][2];
	unsigned int count = 0;

	for (unsigned int from = first; from <= last; from++)
		for (unsigned int i = 0; i < 2; i++) {
			stream_send(_metadata, world, &stream[from],
				    &send[from][i], flood[from % 8][i + 2 * (from / 8)]);
			count++;
		}
	while (count--)
		streams_receive(_metadata, world, stream, 0,
				TOFU_P2P_ANY_SOURCE);
	for (unsigned int from = first; from <= last; from++)
		for (unsigned int i = 0; i < 2; i++)
			ASSERT_EQ(world_wait(world, from, &send[from][i], NULL),
				  0);
}

/*
 * Room for two large rings and for some small ones. When all but the last three
 * peers fall silent, these get rings of them; and when others talk again, nothing
 * is lost or overtaken.
 */
TEST_F_TIMEOUT(rings, go_with_the_peers, 180)
{
	struct tofu_p2p_params params = p2p_params();
	struct stream stream[TALKERS + 1];
	unsigned int large = 0, small = 0;
	struct world world;

	params.mode = TOFU_P2P_AUTO;
	params.large = 16384;
	params.small = 8192;
	params = p2p_least(params);
	params.memory += 4 * (2 * (16384 + 256) + 100);
	ASSERT_EQ(world_make(&world, TALKERS + 1, &params), 0);
	for (unsigned int i = 0; i <= TALKERS; i++)
		stream[i] = (struct stream){ .from = i };
	/* One after the other, so that it is known who gets which. */
	for (unsigned int i = 1; i <= TALKERS; i++)
		for (unsigned int j = 0; j < 5; j++)
			talk(_metadata, &world, stream, i, i);
	for (unsigned int i = 1; i <= TALKERS; i++) {
		const struct p2p_ring *ring = ring_of(&world, i);

		large += ring && ring->class == P2P_LARGE;
		small += ring && ring->class == P2P_SMALL;
		EXPECT_EQ(!!ring, i <= 5);
	}
	EXPECT_EQ(large, 2);
	EXPECT_EQ(small, 3);
	for (unsigned int i = 0; i < 800; i++)
		talk(_metadata, &world, stream, TALKERS - 2, TALKERS);
	for (unsigned int i = TALKERS - 2; i <= TALKERS; i++)
		EXPECT_NE(ring_of(&world, i), NULL);
	for (unsigned int i = 0; i < 5; i++)
		talk(_metadata, &world, stream, 1, TALKERS);
	world_free(&world);
}

/*
 * Room for one large ring, and the second peer gets a small one. When the first
 * falls silent the second gets the large one, and nothing is lost or overtaken.
 */
TEST_F_TIMEOUT(rings, grow_when_peers_are_few, 60)
{
	struct tofu_p2p_params params = p2p_params();
	struct stream stream[3] = { { .from = 0 }, { .from = 1 }, { .from = 2 } };
	struct world world;

	params.mode = TOFU_P2P_AUTO;
	params.large = 16384;
	params.small = 8192;
	params = p2p_least(params);
	params.memory += 4 * (16384 + 256 + 100);
	ASSERT_EQ(world_make(&world, 3, &params), 0);
	for (unsigned int i = 0; i < 3; i++) {
		world.p2p[i]->config.silence = 64;
		world.p2p[i]->config.ask_again = 16;
	}
	for (unsigned int j = 0; j < 5; j++)
		talk(_metadata, &world, stream, 1, 1);
	for (unsigned int j = 0; j < 5; j++)
		talk(_metadata, &world, stream, 2, 2);
	ASSERT_NE(ring_of(&world, 1), NULL);
	ASSERT_NE(ring_of(&world, 2), NULL);
	ASSERT_EQ(ring_of(&world, 1)->class, P2P_LARGE);
	ASSERT_EQ(ring_of(&world, 2)->class, P2P_SMALL);
	for (unsigned int j = 0; j < 150; j++)
		talk(_metadata, &world, stream, 2, 2);
	EXPECT_EQ(ring_of(&world, 1), NULL);
	ASSERT_NE(ring_of(&world, 2), NULL);
	EXPECT_EQ(ring_of(&world, 2)->class, P2P_LARGE);
	EXPECT_EQ(world.p2p[0]->taken, 0);
	for (unsigned int j = 0; j < 100; j++)
		talk(_metadata, &world, stream, 1, 2);
	ASSERT_NE(ring_of(&world, 1), NULL);
	EXPECT_EQ(ring_of(&world, 1)->class, P2P_SMALL);
	EXPECT_EQ(ring_of(&world, 2)->class, P2P_LARGE);
	world_free(&world);
}

/*
 * A ring is taken back while it is full: that it is left can be written only when
 * there is room, and what is sent meanwhile comes after all that is in it.
 */
TEST_F_TIMEOUT(rings, are_taken_back_while_full, 60)
{
	struct tofu_p2p_params params = p2p_params();
	struct stream stream[2] = { { .from = 0 }, { .from = 1 } };
	struct tofu_p2p_request *send[FLOOD], *recv[FLOOD];
	struct p2p_ring *ring;
	struct world world;

	params.mode = TOFU_P2P_SAVING;
	/* Little room for unexpected messages */
	params.large = 4096;
	params = p2p_least(params);
	params.memory += 20000;
	ASSERT_EQ(world_make(&world, 2, &params), 0);
	for (unsigned int i = 0; i < 5; i++)
		talk(_metadata, &world, stream, 1, 1);
	ring = ring_of(&world, 1);
	ASSERT_NE(ring, NULL);
	ASSERT_TRUE(ring->open);
	for (unsigned int i = 0; i < FLOOD / 2; i++)
		stream_send(_metadata, &world, &stream[1], &send[i],
			    flood[1][i]);
	turns(_metadata, &world, 300);
	ASSERT_EQ(ring_of(&world, 1), ring);
	ring->taken = true;
	world.p2p[0]->taken++;
	ring->peer->take_back = true;
	p2p_peer_wake(world.p2p[0], ring->peer);
	turns(_metadata, &world, 300);
	for (unsigned int i = FLOOD / 2; i < FLOOD; i++)
		stream_send(_metadata, &world, &stream[1], &send[i],
			    flood[1][i]);
	turns(_metadata, &world, 300);
	/* All at once: the ring is empty before its sender can go on. */
	for (unsigned int i = 0; i < FLOOD; i++)
		ASSERT_EQ(tofu_p2p_irecv(world.p2p[0], flood[2][i],
					 sizeof(flood[2][i]), 1, 1, &recv[i]),
			  0);
	for (unsigned int i = 0; i < FLOOD; i++) {
		unsigned int number = stream[1].got++;

		ASSERT_EQ(world_wait(&world, 0, &recv[i], NULL), 0);
		EXPECT_TRUE(data_is(flood[2][i], bytes_of(&stream[1], number),
				    seed_of(&stream[1], number)));
		EXPECT_EQ(world_wait(&world, 1, &send[i], NULL), 0);
	}
	EXPECT_EQ(world.p2p[0]->taken, 0);
	world_free(&world);
}

TEST_HARNESS_MAIN
