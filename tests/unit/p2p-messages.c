/* SPDX-License-Identifier: MIT */
/*
 * Messages between endpoints of one process, one thing at a time: every way a
 * message can go, every order of send and receive, and what can be wrong.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define EAGER 1000
#define GET 100000
#define LIMIT 20 /* seconds */

FIXTURE(by)
{
	struct world world;
};

FIXTURE_VARIANT(by)
{
	enum tofu_p2p_mode mode;
	bool no_armw;
};

FIXTURE_VARIANT_ADD(by, automatic){
	.mode = TOFU_P2P_AUTO,
};

FIXTURE_VARIANT_ADD(by, fast){
	.mode = TOFU_P2P_FAST,
};

FIXTURE_VARIANT_ADD(by, saving){
	.mode = TOFU_P2P_SAVING,
};

FIXTURE_VARIANT_ADD(by, shared){
	.mode = TOFU_P2P_SHARED,
};

FIXTURE_VARIANT_ADD(by, large_without_atomics){
	.mode = TOFU_P2P_AUTO,
	.no_armw = true,
};

FIXTURE_VARIANT_ADD(by, small_without_atomics){
	.mode = TOFU_P2P_SAVING,
	.no_armw = true,
};

FIXTURE_SETUP(by)
{
	ASSERT_EQ(world_make_by(&self->world, variant->mode, variant->no_armw,
				EAGER, GET),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(by)
{
	world_free(&self->world);
}

#define P2P(rank) (self->world.p2p[rank])
#define WAIT(rank, request, status) \
	world_wait(&self->world, rank, request, status)

/* Bytes of messages: eager, got, put; at both sides of each threshold */
static const size_t sizes[] = {
	0, 1, 7, 8, 9, EAGER - 1, EAGER, EAGER + 1, 5000, GET, GET + 1, 300001,
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* A message from 0 to 1, received first or sent first. */
static void pass(struct harness_test *_metadata, struct world *world,
		 size_t bytes, bool receive_first)
{
	struct tofu_p2p_request *send, *recv;
	struct tofu_p2p_status status = { 0 };
	char *from = malloc(bytes + 1), *to = malloc(bytes + 1);

	data_fill(from, bytes, bytes);
	to[bytes] = 77;
	if (receive_first)
		ASSERT_EQ(tofu_p2p_irecv(world->p2p[1], to, bytes, 0, 5, &recv),
			  UTOFU_SUCCESS);
	ASSERT_EQ(tofu_p2p_isend(world->p2p[0], from, bytes, 1, 5, &send),
		  UTOFU_SUCCESS);
	for (int i = 0; !receive_first && i < 50; i++)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
	if (!receive_first)
		ASSERT_EQ(tofu_p2p_irecv(world->p2p[1], to, bytes, 0, 5, &recv),
			  UTOFU_SUCCESS);
	EXPECT_EQ(world_wait(world, 1, &recv, &status), UTOFU_SUCCESS);
	EXPECT_EQ(recv, NULL);
	EXPECT_EQ(world_wait(world, 0, &send, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(status.source, 0);
	EXPECT_EQ(status.tag, 5);
	EXPECT_EQ(status.bytes, bytes);
	EXPECT_TRUE(data_is(to, bytes, bytes))
	TH_LOG("%zu bytes", bytes);
	EXPECT_EQ(to[bytes], 77);
	free(from);
	free(to);
}

TEST_F(by, receives_first)
{
	for (int again = 0; again < 3; again++)
		for (size_t i = 0; i < SIZES; i++)
			pass(_metadata, &self->world, sizes[i], true);
}

TEST_F(by, sends_first)
{
	for (int again = 0; again < 3; again++)
		for (size_t i = 0; i < SIZES; i++)
			pass(_metadata, &self->world, sizes[i], false);
}

/* A message is longer than the buffer: which has its beginning, and no more. */
TEST_F(by, longer_than_the_buffer)
{
	static const size_t rooms[] = { 0, 1, 500 };
	struct tofu_p2p_request *send, *recv;
	struct tofu_p2p_status status;
	char *from = malloc(300001), to[501];

	for (size_t i = 0; i < SIZES * 3; i++) {
		size_t room = rooms[i % 3], bytes = sizes[i / 3];

		if (bytes <= room)
			continue;
		data_fill(from, bytes, bytes);
		memset(to, 77, sizeof(to));
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from, bytes, 2, 1, &send), 0);
		ASSERT_EQ(tofu_p2p_irecv(P2P(2), room ? to : NULL, room, 0, 1,
					 &recv),
			  0);
		EXPECT_EQ(WAIT(2, &recv, &status), UTOFU_ERR_INVALID_SIZE);
		EXPECT_EQ(WAIT(0, &send, NULL), UTOFU_SUCCESS);
		EXPECT_EQ(status.bytes, bytes);
		EXPECT_TRUE(data_is(to, room, bytes))
		TH_LOG("%zu bytes into %zu", bytes, room);
		EXPECT_EQ(to[room], 77);
	}
	free(from);
}

/* To oneself; also what waits where it is, because it is long. */
/* A receiver that has ended, and flushed, does nothing more: its sender ends. */
static void flush_and_leave(struct harness_test *_metadata,
			    struct world *world, size_t bytes)
{
	struct tofu_p2p_request *send, *recv;
	char *from = calloc(1, bytes), *to = malloc(bytes);
	time_t since = time(NULL);

	ASSERT_EQ(tofu_p2p_irecv(world->p2p[1], to, bytes, 0, 5, &recv),
		  UTOFU_SUCCESS);
	ASSERT_EQ(tofu_p2p_isend(world->p2p[0], from, bytes, 1, 5, &send),
		  UTOFU_SUCCESS);
	ASSERT_EQ(world_wait(world, 1, &recv, NULL), UTOFU_SUCCESS);
	while (tofu_p2p_flush(world->p2p[1]) && time(NULL) - since < LIMIT)
		tofu_p2p_progress(world->p2p[0]);
	while (send && time(NULL) - since < LIMIT)
		tofu_p2p_test(world->p2p[0], &send, NULL);
	EXPECT_EQ(send, NULL);
	EXPECT_EQ(memcmp(from, to, bytes), 0);
	free(from);
	free(to);
}

TEST_F(by, who_has_flushed_may_leave)
{
	EXPECT_EQ(tofu_p2p_flush(NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_flush(P2P(2)), UTOFU_SUCCESS);
	for (size_t i = 1; i < SIZES; i++)
		flush_and_leave(_metadata, &self->world, sizes[i]);
}

TEST_F(by, to_oneself)
{
	struct tofu_p2p_request *send, *recv;
	struct tofu_p2p_status status;
	char *from = malloc(300001), *to = malloc(300001);

	for (size_t i = 0; i < SIZES * 2; i++) {
		size_t bytes = sizes[i / 2];

		data_fill(from, bytes, i);
		if (i % 2)
			ASSERT_EQ(tofu_p2p_irecv(P2P(1), to, bytes, 1, i,
						 &recv),
				  0);
		ASSERT_EQ(tofu_p2p_isend(P2P(1), from, bytes, 1, i, &send), 0);
		if (!(i % 2))
			ASSERT_EQ(tofu_p2p_irecv(P2P(1), to, bytes,
						 TOFU_P2P_ANY_SOURCE,
						 TOFU_P2P_ANY_TAG, &recv),
				  0);
		EXPECT_EQ(tofu_p2p_wait(P2P(1), &recv, &status), 0);
		EXPECT_EQ(tofu_p2p_wait(P2P(1), &send, NULL), 0);
		EXPECT_EQ(status.source, 1);
		EXPECT_EQ(status.tag, i);
		EXPECT_EQ(status.bytes, bytes);
		EXPECT_TRUE(data_is(to, bytes, i));
	}
	free(from);
	free(to);
}

/* Eager, got and put messages of one tag overtake each other nowhere. */
TEST_F(by, order_of_a_pair)
{
	enum { COUNT = 60 };
	static const size_t bytes[] = { 8, 200000, 900, 5000, 16 };
	struct tofu_p2p_request *send[COUNT], *recv[COUNT];
	static char from[COUNT][200000], to[COUNT][200000];
	struct tofu_p2p_status status;

	for (int i = 0; i < COUNT; i++) {
		data_fill(from[i], bytes[i % 5], (uint64_t)i);
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from[i], bytes[i % 5], 1, 9,
					 &send[i]),
			  0);
	}
	for (int i = 0; i < COUNT; i++)
		ASSERT_EQ(tofu_p2p_irecv(P2P(1), to[i], sizeof(to[i]),
					 i % 2 ? 0 : TOFU_P2P_ANY_SOURCE,
					 i % 3 ? 9 : TOFU_P2P_ANY_TAG,
					 &recv[i]),
			  0);
	for (int i = COUNT - 1; i >= 0; i--) {
		EXPECT_EQ(WAIT(1, &recv[i], &status), 0);
		EXPECT_EQ(WAIT(0, &send[i], NULL), 0);
		EXPECT_EQ(status.bytes, bytes[i % 5]);
		EXPECT_TRUE(data_is(to[i], bytes[i % 5], (uint64_t)i))
		TH_LOG("message %d", i);
	}
}

TEST_F(by, probe_tells_of_the_earliest)
{
	struct tofu_p2p_request *send[3];
	struct tofu_p2p_status status;
	char from[5000] = { 0 };

	EXPECT_EQ(tofu_p2p_probe(P2P(1), 0, 3, &status), UTOFU_ERR_NOT_FOUND);
	for (uint64_t i = 0; i < 3; i++)
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from, i * 2500, 1, 3 + i,
					 &send[i]),
			  0);
	for (int i = 0; i < 50; i++)
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_p2p_probe(P2P(1), 0, 4, &status), UTOFU_SUCCESS);
	EXPECT_EQ(status.bytes, 2500);
	EXPECT_EQ(tofu_p2p_probe(P2P(1), 2, TOFU_P2P_ANY_TAG, &status),
		  UTOFU_ERR_NOT_FOUND);
	for (uint64_t i = 0; i < 3; i++) {
		EXPECT_EQ(tofu_p2p_probe(P2P(1), TOFU_P2P_ANY_SOURCE,
					 TOFU_P2P_ANY_TAG, &status),
			  UTOFU_SUCCESS);
		EXPECT_EQ(status.source, 0);
		EXPECT_EQ(status.tag, 3 + i);
		EXPECT_EQ(status.bytes, i * 2500);
		EXPECT_EQ(tofu_p2p_irecv(P2P(1), from, sizeof(from), 0, 3 + i,
					 &send[0]),
			  0);
		EXPECT_EQ(WAIT(1, &send[0], NULL), 0);
	}
}

TEST_F(by, cancelled_receives_get_nothing)
{
	struct tofu_p2p_request *recv, *other, *send, *self_send;
	char from[8], to[8], second[8];

	data_fill(from, 8, 1);
	memset(to, 77, 8);
	ASSERT_EQ(tofu_p2p_irecv(P2P(1), to, 8, 0, 1, &recv), 0);
	ASSERT_EQ(tofu_p2p_irecv(P2P(1), second, 8, 0, 1, &other), 0);
	EXPECT_EQ(tofu_p2p_cancel(P2P(1), &recv), UTOFU_SUCCESS);
	EXPECT_EQ(recv, NULL);
	ASSERT_EQ(tofu_p2p_isend(P2P(0), from, 8, 1, 1, &send), 0);
	EXPECT_EQ(WAIT(1, &other, NULL), 0);
	EXPECT_TRUE(data_is(second, 8, 1));
	EXPECT_EQ(to[0], 77);
	EXPECT_EQ(WAIT(0, &send, NULL), 0);
	ASSERT_EQ(tofu_p2p_isend(P2P(0), from, 8, 0, 1, &self_send), 0);
	EXPECT_EQ(tofu_p2p_cancel(P2P(0), &self_send), UTOFU_ERR_BUSY);
	EXPECT_EQ(tofu_p2p_cancel(P2P(0), &recv), UTOFU_ERR_INVALID_POINTER);
}

/* Each gets its own; those that are posted last are sent to first. */
TEST_F_TIMEOUT(by, many_receives, 120)
{
	enum { COUNT = 100000, STEP = 7919 };
	struct tofu_p2p_request **recv = calloc(COUNT, sizeof(*recv)), *send;
	uint64_t *to = calloc(COUNT, sizeof(*to));

	for (uint64_t i = 0; i < COUNT; i++)
		ASSERT_EQ(tofu_p2p_irecv(P2P(1), &to[i], 8, 0, i, &recv[i]), 0);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t tag = (COUNT - i * STEP % COUNT) % COUNT;

		ASSERT_EQ(tofu_p2p_isend(P2P(0), &tag, 8, 1, tag, &send), 0);
		ASSERT_EQ(WAIT(0, &send, NULL), 0);
		ASSERT_EQ(WAIT(1, &recv[tag], NULL), 0);
		ASSERT_EQ(to[tag], tag);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		if (recv[i])
			ASSERT_EQ(tofu_p2p_cancel(P2P(1), &recv[i]), 0);
	free(recv);
	free(to);
}

/* A put has less than 16 MiB, and so has a get. */
TEST_F(by, longer_than_a_transfer)
{
	size_t bytes = (20 << 20) + 13;
	struct tofu_p2p_params params = p2p_params();
	struct world world;

	params.mode = variant->mode;
	params.tni = 0;
	pass(_metadata, &self->world, bytes, true);
	world_free(&self->world);
	params.get = SIZE_MAX - 1;
	ASSERT_EQ(world_make(&world, 2, &params), 0);
	pass(_metadata, &world, bytes, true);
	world_free(&world);
	self->world.count = 0;
}

/* ---- Errors ---- */

static int create(const struct tofu_p2p_params *params)
{
	struct world world;
	int code = world_make(&world, 2, params);

	world_free(&world);
	return code;
}

TEST(bad_params)
{
	struct tofu_p2p_params params = p2p_params();
	struct tofu_p2p_memory memory;
	struct tofu_p2p *p2p = NULL;

	EXPECT_EQ(create(&params), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_p2p_create(NULL, &p2p), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_create(&params, &p2p), UTOFU_ERR_INVALID_POINTER);
	params.mode = 4;
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_ARG);
	params = p2p_params();
	params.machine = "k2";
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_ARG);
	params = p2p_params();
	params.ring = 12288;
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_SIZE);
	params.ring = 2048;
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_SIZE);
	params = p2p_params();
	params.large = 2048;
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_SIZE);
	params = p2p_params();
	params.small = 5000;
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_SIZE);
	params = p2p_params();
	params.memory = 100000;
	EXPECT_EQ(create(&params), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(tofu_p2p_need(&params, 1, &memory),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(p2p, NULL);
	tofu_p2p_free(NULL);
}

/* Rings for all: they fit, or there is no endpoint. */
TEST(memory_without_atomics)
{
	struct tofu_p2p_params params = p2p_params();
	struct tofu_p2p_memory memory, computed;
	struct tofu_p2p *p2p = NULL;
	struct world world;

	setenv("TOFU_ARMW", "0", 1);
	params.mode = TOFU_P2P_SHARED;
	EXPECT_EQ(world_make(&world, 2, &params), UTOFU_ERR_NOT_SUPPORTED);
	params.mode = TOFU_P2P_FAST;
	ASSERT_EQ(world_make(&world, 2, &params), UTOFU_SUCCESS);
	tofu_p2p_memory(world.p2p[0], &memory);
	params.processes = 2;
	params.where = p2p_where_never;
	ASSERT_EQ(tofu_p2p_need(&params, 0, &computed), UTOFU_SUCCESS);
	EXPECT_EQ(memory.shared, 0);
	EXPECT_EQ(computed.shared, 0);
	EXPECT_EQ(memory.own, computed.own);
	EXPECT_EQ(memory.pool, computed.pool);
	EXPECT_GE(memory.own, 2 * (64 << 10));
	world_free(&world);

	params.memory = computed.own;
	EXPECT_EQ(tofu_p2p_create(&params, &p2p), UTOFU_ERR_INVALID_SIZE);
	params.processes = 1000000;
	params.memory = PLENTY;
	params.mode = TOFU_P2P_AUTO;
	EXPECT_EQ(tofu_p2p_create(&params, &p2p), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(p2p, NULL);
}

TEST_F(by, bad_messages)
{
	struct tofu_p2p_request *request = NULL;
	struct tofu_p2p_status status;
	char byte = 0;

	EXPECT_EQ(tofu_p2p_isend(NULL, &byte, 1, 0, 0, &request),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_isend(P2P(0), NULL, 1, 0, 0, &request),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_isend(P2P(0), &byte, 1, 0, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_isend(P2P(0), &byte, 1, 3, 0, &request),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_isend(P2P(0), &byte, 1, TOFU_P2P_ANY_SOURCE, 0,
				 &request),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_isend(P2P(0), &byte, 1, 1, TOFU_P2P_ANY_TAG,
				 &request),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_irecv(NULL, &byte, 1, 0, 0, &request),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_irecv(P2P(0), NULL, 1, 0, 0, &request),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_irecv(P2P(0), &byte, 1, 3, 0, &request),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_probe(P2P(0), 3, 0, &status),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_probe(P2P(0), 0, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_progress(NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_test(P2P(0), NULL, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(request, NULL);
	EXPECT_EQ(tofu_p2p_test(P2P(0), &request, NULL), UTOFU_SUCCESS);
}

/* Without a peer, all ways to send say so, and other peers are not harmed. */
TEST_F(by, sends_to_nobody)
{
	struct tofu_p2p_request *send, *second;
	char *from = calloc(1, 300001);

	tofu_p2p_free(P2P(2));
	self->world.p2p[2] = NULL;
	self->world.count = 2;
	for (size_t i = 0; i < SIZES; i++) {
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from, sizes[i], 2, 0, &send),
			  0);
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from, sizes[i], 2, 0,
					 &second),
			  0);
		EXPECT_NE(WAIT(0, &second, NULL), UTOFU_SUCCESS);
		EXPECT_NE(WAIT(0, &send, NULL), UTOFU_SUCCESS);
	}
	pass(_metadata, &self->world, 5000, false);
	free(from);
}

/* The receiver's buffer is no memory: both are told. */
TEST_F(by, buffers_that_are_not_there)
{
	void *nowhere = (void *)(uintptr_t)4096;
	struct tofu_p2p_request *send, *recv;
	char *from = calloc(1, 300001);

	for (size_t bytes = 5000; bytes <= 300000; bytes *= 60) {
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from, bytes, 1, 0, &send), 0);
		ASSERT_EQ(tofu_p2p_irecv(P2P(1), nowhere, bytes, 0, 0, &recv),
			  0);
		EXPECT_NE(WAIT(1, &recv, NULL), UTOFU_SUCCESS);
		EXPECT_NE(WAIT(0, &send, NULL), UTOFU_SUCCESS)
		TH_LOG("%zu bytes", bytes);
		ASSERT_EQ(tofu_p2p_isend(P2P(0), nowhere, bytes, 1, 0, &send),
			  0);
		ASSERT_EQ(tofu_p2p_irecv(P2P(1), from, bytes, 0, 0, &recv), 0);
		EXPECT_NE(WAIT(1, &recv, NULL), UTOFU_SUCCESS);
		EXPECT_NE(WAIT(0, &send, NULL), UTOFU_SUCCESS);
	}
	pass(_metadata, &self->world, 5000, true);
	free(from);
}

/* ---- Records of hostile peers ---- */

#define RECORD_MAX 200

/* A random or nearly valid record, with ranks and handles that exist. */
static void record_make(uint64_t *random, char record[RECORD_MAX])
{
	struct p2p_announce announce;

	*random = word_of(3, 1, 4, *random);
	data_fill(record, RECORD_MAX, *random);
	memcpy(&announce, record, sizeof(announce));
	announce.head.kind %= 14;
	announce.head.source %= 4;
	announce.head.tag %= 3;
	if (*random % 3)
		announce.handle = 1ULL << 32 | *random % 3;
	memcpy(record, &announce, sizeof(announce));
}

static void hostile_request(struct world *world, uint64_t *random)
{
	static const size_t lengths[] = {
		0, 8, 16, 17, sizeof(struct p2p_announce), RECORD_MAX,
	};
	struct p2p_peer *peer;
	union {
		struct p2p_head head;
		char contents[RECORD_MAX];
	} made;
	struct p2p_record record = { .head = &made.head };

	record_make(random, made.contents);
	record.head_bytes = lengths[*random / 3 % 6];
	if (record.head_bytes)
		record.known = P2P_REQUEST_KNOWN;
	if (!p2p_peer_get(world->p2p[1], 0, &peer))
		p2p_sender_send(world->p2p[1], peer, &record, 0, false);
}

static void hostile_reply(struct world *world, uint64_t *random)
{
	struct p2p_peer *peer;
	struct p2p_reply reply;
	char record[RECORD_MAX];

	record_make(random, record);
	memcpy(&reply, record, sizeof(reply));
	reply.slot %= P2P_SLOTS + 2;
	if (random[0] % 3)
		reply.handle = 1ULL << 32 | random[0] / 3 % 4;
	if (!p2p_peer_get(world->p2p[1], 0, &peer))
		p2p_sender_reply(world->p2p[1], peer, &reply, 0);
}

/*
 * One writes anything into the rings of another, who has requests that some of it
 * may seem to be meant for. A third one's messages come all the same.
 */
TEST_F_TIMEOUT(by, whatever_is_written, 120)
{
	struct tofu_p2p_request *send[2], *recv[2];
	static char from[2][GET + 1], to[2][5000];
	struct tofu_p2p_memory memory;
	uint64_t random = 1;

	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(tofu_p2p_isend(P2P(0), from[i], i ? GET + 1 : 5000, 1,
					 7, &send[i]),
			  0);
		ASSERT_EQ(tofu_p2p_irecv(P2P(0), to[i], sizeof(to[i]), 1, i,
					 &recv[i]),
			  0);
	}
	for (unsigned int i = 0; i < 3000; i++) {
		if (random % 2)
			hostile_request(&self->world, &random);
		else
			hostile_reply(&self->world, &random);
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
	}
	tofu_p2p_memory(P2P(0), &memory);
	EXPECT_LE(memory.peak, PLENTY);
	for (size_t i = 0; i < 200; i++)
		ASSERT_EQ(world_turn(&self->world), UTOFU_SUCCESS);
	for (size_t i = 0; i < SIZES; i++) {
		size_t bytes = sizes[i];
		char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
		struct tofu_p2p_request *one, *other;

		data_fill(out, bytes, i);
		ASSERT_EQ(tofu_p2p_irecv(P2P(0), in, bytes, 2, 99, &one), 0);
		ASSERT_EQ(tofu_p2p_isend(P2P(2), out, bytes, 0, 99, &other), 0);
		EXPECT_EQ(WAIT(0, &one, NULL), 0);
		EXPECT_EQ(WAIT(2, &other, NULL), 0);
		EXPECT_TRUE(data_is(in, bytes, i));
		free(out);
		free(in);
	}
}

TEST_HARNESS_MAIN
