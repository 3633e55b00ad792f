/* SPDX-License-Identifier: MIT */
/*
 * Posted messages: masks, immediate data, synchronous and copied sends, claimed
 * messages, and the list of ends.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define EAGER 1000
#define GET 100000
#define MOST 300001

FIXTURE(by)
{
	struct world world;
	char *from;
	char *to;
};

FIXTURE_VARIANT(by)
{
	enum tofu_p2p_mode mode;
	bool no_armw;
};

FIXTURE_VARIANT_ADD(by, automatic){
	.mode = TOFU_P2P_AUTO,
};

FIXTURE_VARIANT_ADD(by, saving){
	.mode = TOFU_P2P_SAVING,
};

FIXTURE_VARIANT_ADD(by, shared){
	.mode = TOFU_P2P_SHARED,
};

FIXTURE_VARIANT_ADD(by, without_atomics){
	.mode = TOFU_P2P_AUTO,
	.no_armw = true,
};

FIXTURE_SETUP(by)
{
	self->from = malloc(MOST);
	self->to = malloc(MOST);
	ASSERT_EQ(world_make_by(&self->world, variant->mode, variant->no_armw,
				EAGER, GET),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(by)
{
	world_free(&self->world);
	free(self->from);
	free(self->to);
}

#define P2P(rank) (self->world.p2p[rank])

#define END(rank, end) world_ended(&self->world, rank, end)

static void turns(struct harness_test *_metadata, struct world *world)
{
	for (int i = 0; i < 50; i++)
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
}

/* The node's thread may have its lock, and no processor: so there is no count of turns. */
static int peek_until_there(struct world *world,
			    const struct tofu_p2p_receive *receive,
			    struct tofu_p2p_end *end)
{
	const time_t since = time(NULL);
	int code;

	do {
		code = world_turn(world);
		if (code)
			return code;
		code = tofu_p2p_peek(world->p2p[1], receive, end, NULL);
	} while (turn_again(since) && code == UTOFU_ERR_NOT_FOUND);
	return code;
}

/* Eager, got and put, at both sides of each threshold */
static const size_t sizes[] = {
	0, 1, 7, 8, 12, 24, EAGER - 4, EAGER, EAGER + 1, GET, GET + 1, MOST,
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const unsigned int flags[] = {
	0,
	TOFU_P2P_DATA,
	TOFU_P2P_COPY,
	TOFU_P2P_DATA | TOFU_P2P_COPY,
	TOFU_P2P_SYNCHRONOUS,
	TOFU_P2P_SYNCHRONOUS | TOFU_P2P_DATA,
	TOFU_P2P_SYNCHRONOUS | TOFU_P2P_COPY,
	TOFU_P2P_SYNCHRONOUS | TOFU_P2P_DATA | TOFU_P2P_COPY,
	TOFU_P2P_DELIVERED,
	TOFU_P2P_DELIVERED | TOFU_P2P_DATA,
	TOFU_P2P_DELIVERED | TOFU_P2P_COPY,
	TOFU_P2P_DELIVERED | TOFU_P2P_DATA | TOFU_P2P_COPY,
};

#define FLAGS (sizeof(flags) / sizeof(flags[0]))

/* ---- All kinds of sends ---- */

/**
 * struct passage - a message from 0 to @to
 * @first: the receive is posted first
 */
struct passage {
	unsigned int to;
	size_t bytes;
	unsigned int flags;
	bool first;
};

static void pass(struct harness_test *_metadata, struct world *world,
		 char *from, char *to, const struct passage *passage)
{
	const uint64_t seed = passage->bytes + passage->flags;
	const struct tofu_p2p_send send = {
		.buf = from,
		.bytes = passage->bytes,
		.tag = 0xf00000005,
		.dest = passage->to,
		.data = 0x89abcdef,
		.flags = passage->flags,
		.context = from,
	};
	const struct tofu_p2p_receive receive = {
		.buf = to,
		.room = passage->bytes,
		.tag = 0xa00000005,
		.ignore = 0xf00000000,
		.source = passage->first ? 0 : TOFU_P2P_ANY_SOURCE,
		.context = to,
	};
	struct tofu_p2p_end sent = { .code = 1 }, got = { .code = 1 };

	data_fill(from, passage->bytes, seed);
	memset(to, 77, passage->bytes);
	if (passage->first)
		ASSERT_EQ(tofu_p2p_post_receive(world->p2p[passage->to],
						&receive, NULL), 0);
	ASSERT_EQ(tofu_p2p_post_send(world->p2p[0], &send, NULL), 0);
	if (passage->flags & TOFU_P2P_COPY)
		memset(from, 55, passage->bytes);
	if (!passage->first) {
		turns(_metadata, world);
		/* Nothing has been received, so a synchronous send has not ended. */
		if (passage->flags & TOFU_P2P_SYNCHRONOUS)
			EXPECT_EQ(tofu_p2p_ended(world->p2p[0], &sent),
				  UTOFU_ERR_NOT_FOUND);
		ASSERT_EQ(tofu_p2p_post_receive(world->p2p[passage->to],
						&receive, NULL), 0);
	}
	if (!passage->to) {
		struct tofu_p2p_end one, other;

		ASSERT_EQ(world_ended(world, 0, &one), 0);
		ASSERT_EQ(world_ended(world, 0, &other), 0);
		sent = one.flags & TOFU_P2P_SENT ? one : other;
		got = one.flags & TOFU_P2P_SENT ? other : one;
	} else {
		ASSERT_EQ(world_ended(world, passage->to, &got), 0);
		ASSERT_EQ(world_ended(world, 0, &sent), 0);
	}
	EXPECT_EQ(sent.code, 0);
	EXPECT_EQ(sent.context, from);
	EXPECT_EQ(sent.flags, TOFU_P2P_SENT);
	EXPECT_EQ(sent.source, passage->to);
	EXPECT_EQ(sent.bytes, passage->bytes);
	EXPECT_EQ(got.code, 0);
	EXPECT_EQ(got.context, to);
	EXPECT_EQ(got.flags, passage->flags & TOFU_P2P_DATA);
	EXPECT_EQ(got.data, got.flags ? 0x89abcdef : 0);
	EXPECT_EQ(got.source, 0);
	EXPECT_EQ(got.tag, 0xf00000005);
	EXPECT_EQ(got.bytes, passage->bytes);
	EXPECT_TRUE(data_is(to, passage->bytes, seed))
	TH_LOG("%zu bytes, flags %u", passage->bytes, passage->flags);
}

TEST_F(by, every_send_arrives)
{
	for (size_t i = 0; i < 2 * 2 * SIZES * FLAGS; i++) {
		const struct passage passage = {
			.first = i % 2,
			.to = i / 2 % 2,
			.bytes = sizes[i / 4 % SIZES],
			.flags = flags[i / 4 / SIZES],
		};

		pass(_metadata, &self->world, self->from, self->to, &passage);
	}
}

/* Of a message that is too long, the beginning; its data is not the payload's. */
TEST_F(by, longer_than_the_buffer)
{
	for (size_t i = 1; i < SIZES; i++) {
		const struct tofu_p2p_send send = {
			.buf = self->from,
			.bytes = sizes[i],
			.dest = 1,
			.data = 7,
			.flags = TOFU_P2P_DATA,
		};
		const struct tofu_p2p_receive receive = {
			.buf = self->to,
			.room = sizes[i] - 1,
		};
		struct tofu_p2p_end end;

		data_fill(self->from, sizes[i], i);
		self->to[sizes[i] - 1] = 77;
		ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
		ASSERT_EQ(END(1, &end), 0);
		EXPECT_EQ(end.code, UTOFU_ERR_INVALID_SIZE);
		EXPECT_EQ(end.bytes, sizes[i]);
		EXPECT_EQ(end.data, 7);
		EXPECT_TRUE(data_is(self->to, sizes[i] - 1, i));
		EXPECT_EQ(self->to[sizes[i] - 1], 77);
		ASSERT_EQ(END(0, &end), 0);
	}
}

/* Process 1 posts a receive for each word: its tag is the word's number. */
static void receive_each(struct harness_test *_metadata, struct world *world, uint64_t *to,
			 uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const struct tofu_p2p_receive receive = {
			.buf = &to[i],
			.room = sizeof(to[i]),
			.tag = i,
		};

		ASSERT_EQ(tofu_p2p_post_receive(world->p2p[1], &receive, NULL), 0);
	}
}

/* More than rings and pools hold: copies wait, and the buffer is free at once. */
TEST_F(by, copies_wait_for_their_turn)
{
	enum { COUNT = 3000 };
	static uint64_t to[COUNT];
	struct tofu_p2p_end end;

	for (uint64_t i = 0; i < COUNT; i++) {
		const struct tofu_p2p_send send = {
			.buf = &i,
			.bytes = sizeof(i),
			.tag = i,
			.dest = 1,
			.flags = TOFU_P2P_COPY | TOFU_P2P_SILENT,
		};

		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
	}
	receive_each(_metadata, &self->world, to, COUNT);
	for (uint64_t i = 0; i < COUNT; i++) {
		ASSERT_EQ(END(1, &end), 0);
		ASSERT_EQ(end.code, 0);
		ASSERT_EQ(to[end.tag], end.tag);
	}
	turns(_metadata, &self->world);
	EXPECT_EQ(tofu_p2p_ended(P2P(0), &end), UTOFU_ERR_NOT_FOUND);
}

/* ---- Delivered ---- */

/* Only the sender makes calls, for a while, and its message is in the ring meanwhile. */
static void only_sender(struct harness_test *_metadata, struct world *world,
			const struct tofu_p2p_request *request)
{
	const time_t since = time(NULL);
	struct tofu_p2p_end end;
	int code;

	do {
		ASSERT_EQ(tofu_p2p_ended(world->p2p[0], &end), UTOFU_ERR_NOT_FOUND);
		code = tofu_p2p_away(world->p2p[0], request);
	} while (turn_again(since) && code == UTOFU_ERR_NOT_COMPLETED);
	ASSERT_EQ(code, 0);
	for (int i = 0; i < 200; i++)
		ASSERT_EQ(tofu_p2p_ended(world->p2p[0], &end), UTOFU_ERR_NOT_FOUND);
}

/* Not before its receiver makes a call, and then without a receive. */
TEST_F(by, delivered_when_it_is_taken)
{
	const uint64_t from = 0x1234;
	const struct tofu_p2p_send send = {
		.buf = &from,
		.bytes = sizeof(from),
		.dest = 1,
		.flags = TOFU_P2P_DELIVERED,
	};
	uint64_t to = 0;
	const struct tofu_p2p_receive receive = { .buf = &to, .room = sizeof(to) };
	struct tofu_p2p_request *request;
	struct tofu_p2p_end end;

	/* They know each other after the first. */
	for (int i = 0; i < 3; i++) {
		to = 0;
		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, &request), 0);
		only_sender(_metadata, &self->world, request);
		ASSERT_EQ(END(0, &end), 0);
		EXPECT_EQ(end.code, 0);
		ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
		ASSERT_EQ(END(1, &end), 0);
		EXPECT_EQ(to, from);
	}
}

/* A receive that has been posted has it by then. */
TEST_F(by, delivered_into_its_buffer)
{
	enum { COUNT = 100 };
	uint64_t from[COUNT], to[COUNT] = { 0 };
	struct tofu_p2p_end end;

	receive_each(_metadata, &self->world, to, COUNT);
	for (uint64_t i = 0; i < COUNT; i++) {
		const struct tofu_p2p_send send = {
			.buf = &from[i],
			.bytes = sizeof(from[i]),
			.tag = i,
			.dest = 1,
			.flags = i % 3 ? TOFU_P2P_DELIVERED : TOFU_P2P_SILENT,
			.context = &from[i],
		};

		from[i] = i + 1;
		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		if (i % 3 == 0)
			continue;
		ASSERT_EQ(END(0, &end), 0);
		/* Those that are delivered end in their order. */
		EXPECT_EQ(end.context, &from[i]);
		EXPECT_EQ(to[i], i + 1);
	}
	for (int i = 0; i < COUNT; i++)
		ASSERT_EQ(END(1, &end), 0);
}

/*
 * Who has been told of a message makes no more calls, and its sender hears of it all the
 * same.
 */
TEST_F(by, delivered_though_its_receiver_calls_no_more)
{
	for (uint64_t i = 1; i <= 40; i++) {
		const time_t since = time(NULL);
		const struct tofu_p2p_send send = {
			.buf = &i,
			.bytes = sizeof(i),
			.dest = 1,
			.flags = TOFU_P2P_DELIVERED,
		};
		uint64_t to = 0;
		const struct tofu_p2p_receive receive = { .buf = &to, .room = sizeof(to) };
		struct tofu_p2p_end end;
		int code;

		ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
		ASSERT_EQ(END(1, &end), 0);
		EXPECT_EQ(to, i);
		do {
			code = tofu_p2p_ended(P2P(0), &end);
		} while (turn_again(since) && code == UTOFU_ERR_NOT_FOUND);
		ASSERT_EQ(code, 0);
	}
}

/* ---- Masks ---- */

/* In the order in which receives are posted, whatever they ignore. */
TEST_F(by, masks_match_in_order)
{
	static const uint64_t ignore[] = {
		0xff, 0, UINT64_MAX, 0xf0, 0xff00000000000000, 1, 2, 4, 8, 16,
	};
	enum { COUNT = sizeof(ignore) / sizeof(ignore[0]) };
	uint64_t to[COUNT];
	struct tofu_p2p_end end;

	for (size_t i = 0; i < COUNT; i++) {
		const struct tofu_p2p_receive receive = {
			.buf = &to[i],
			.room = sizeof(to[i]),
			.tag = 0x10,
			.ignore = ignore[i],
			.source = i % 2 ? TOFU_P2P_ANY_SOURCE : 2,
			.context = &to[i],
		};

		ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		const struct tofu_p2p_send send = {
			.buf = &i,
			.bytes = sizeof(i),
			.tag = 0x10,
			.dest = 1,
			.flags = TOFU_P2P_COPY,
		};

		ASSERT_EQ(tofu_p2p_post_send(P2P(2), &send, NULL), 0);
		ASSERT_EQ(END(1, &end), 0);
		EXPECT_EQ(end.context, &to[i]);
		EXPECT_EQ(to[i], i);
	}
}

/* ---- Claims ---- */

TEST_F(by, claimed_messages_are_taken)
{
	for (size_t i = 0; i < 2 * SIZES; i++) {
		const size_t bytes = sizes[i / 2];
		const unsigned int from = i % 2;
		const struct tofu_p2p_send send = {
			.buf = self->from,
			.bytes = bytes,
			.tag = 5,
			.dest = 1,
			.data = 9,
			.flags = TOFU_P2P_DATA,
		};
		struct tofu_p2p_receive receive = {
			.buf = self->to,
			.room = bytes,
			.tag = 4,
			.ignore = 1,
			.source = from,
			.context = self->to,
		};
		struct tofu_p2p_claim *claim = NULL;
		struct tofu_p2p_end end;

		EXPECT_EQ(tofu_p2p_peek(P2P(1), &receive, &end, &claim),
			  UTOFU_ERR_NOT_FOUND);
		data_fill(self->from, bytes, i);
		ASSERT_EQ(tofu_p2p_post_send(P2P(from), &send, NULL), 0);
		ASSERT_EQ(peek_until_there(&self->world, &receive, &end), 0);
		EXPECT_EQ(end.bytes, bytes);
		EXPECT_EQ(end.source, from);
		EXPECT_EQ(end.tag, 5);
		EXPECT_EQ(end.data, 9);
		EXPECT_EQ(end.context, self->to);
		ASSERT_EQ(tofu_p2p_peek(P2P(1), &receive, &end, &claim), 0);
		ASSERT_NE(claim, NULL);
		/* Nobody else gets it. */
		EXPECT_EQ(tofu_p2p_peek(P2P(1), &receive, &end, NULL),
			  UTOFU_ERR_NOT_FOUND);
		receive.tag = 0;
		receive.ignore = 0;
		ASSERT_EQ(tofu_p2p_post_claimed(P2P(1), claim, &receive, NULL),
			  0);
		for (int ends = from == 1 ? 2 : 1; ends; ends--) {
			ASSERT_EQ(END(1, &end), 0);
			EXPECT_EQ(end.code, 0);
		}
		if (from != 1)
			ASSERT_EQ(END(from, &end), 0);
		EXPECT_TRUE(data_is(self->to, bytes, i))
		TH_LOG("%zu bytes from %u", bytes, from);
	}
}

TEST_F(by, claims_end_with_their_endpoint)
{
	const struct tofu_p2p_send send = {
		.buf = self->from,
		.bytes = EAGER,
		.dest = 1,
	};
	const struct tofu_p2p_receive receive = { 0 };
	struct tofu_p2p_claim *claim;
	struct tofu_p2p_end end;

	data_fill(self->from, EAGER, 1);
	ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
	turns(_metadata, &self->world);
	ASSERT_EQ(tofu_p2p_peek(P2P(1), &receive, &end, &claim), 0);
}

/* ---- Ends ---- */

TEST_F(by, silent_messages_tell_errors_only)
{
	struct tofu_p2p_receive receive = {
		.buf = self->to,
		.room = 4,
		.flags = TOFU_P2P_SILENT,
		.context = self->to,
	};
	const struct tofu_p2p_send send = {
		.buf = self->from,
		.bytes = 8,
		.dest = 1,
		.flags = TOFU_P2P_SILENT,
	};
	struct tofu_p2p_end end;

	data_fill(self->from, 8, 1);
	ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
	receive.room = 8;
	ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
	ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
	ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
	ASSERT_EQ(END(1, &end), 0);
	EXPECT_EQ(end.code, UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(end.context, self->to);
	turns(_metadata, &self->world);
	EXPECT_EQ(tofu_p2p_ended(P2P(1), &end), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(tofu_p2p_ended(P2P(0), &end), UTOFU_ERR_NOT_FOUND);
	EXPECT_TRUE(data_is(self->to, 8, 1));
}

TEST_F(by, a_cancelled_receive_does_not_end)
{
	const struct tofu_p2p_receive receive = {
		.buf = self->to,
		.room = 8,
		.ignore = 3,
	};
	struct tofu_p2p_request *request;
	struct tofu_p2p_end end;

	ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, &request), 0);
	ASSERT_EQ(tofu_p2p_cancel(P2P(1), &request), 0);
	EXPECT_EQ(tofu_p2p_ended(P2P(1), &end), UTOFU_ERR_NOT_FOUND);
}

/* As a program's constants: got and put, and in pieces of a ring */
TEST_F(by, what_cannot_be_written_can_be_sent)
{
	static const size_t lengths[] = { 8, EAGER, EAGER + 1, GET + 1, MOST };
	const size_t room = (MOST + 4095) / 4096 * 4096;
	char *from = mmap(NULL, room, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(from, MAP_FAILED);
	data_fill(from, MOST, 5);
	ASSERT_EQ(mprotect(from, room, PROT_READ), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct tofu_p2p_send send = {
			.buf = from,
			.bytes = lengths[i],
			.dest = 1,
		};
		const struct tofu_p2p_receive receive = {
			.buf = self->to,
			.room = MOST,
			.source = TOFU_P2P_ANY_SOURCE,
		};
		struct tofu_p2p_end end;

		ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), 0);
		ASSERT_EQ(END(1, &end), UTOFU_SUCCESS);
		EXPECT_EQ(end.code, UTOFU_SUCCESS);
		EXPECT_FALSE(memcmp(self->to, from, lengths[i]));
		ASSERT_EQ(END(0, &end), UTOFU_SUCCESS);
		EXPECT_EQ(end.code, UTOFU_SUCCESS);
	}
	munmap(from, room);
}

TEST_F(by, bad_arguments)
{
	struct tofu_p2p_receive receive = { 0 };
	struct tofu_p2p_send send = { 0 };
	struct tofu_p2p_end end;

	EXPECT_EQ(tofu_p2p_post_send(NULL, &send, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_post_send(P2P(0), NULL, NULL), UTOFU_ERR_INVALID_POINTER);
	send.bytes = 1;
	EXPECT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), UTOFU_ERR_INVALID_POINTER);
	send.bytes = 0;
	send.dest = 3;
	EXPECT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), UTOFU_ERR_INVALID_NUMBER);
	send.dest = 1;
	send.tag = TOFU_P2P_ANY_TAG;
	EXPECT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), UTOFU_ERR_INVALID_NUMBER);
	send.tag = 0;
	send.flags = TOFU_P2P_SENT;
	EXPECT_EQ(tofu_p2p_post_send(P2P(0), &send, NULL), UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(tofu_p2p_post_receive(NULL, &receive, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_post_receive(P2P(0), NULL, NULL), UTOFU_ERR_INVALID_POINTER);
	receive.flags = TOFU_P2P_COPY;
	EXPECT_EQ(tofu_p2p_post_receive(P2P(0), &receive, NULL), UTOFU_ERR_INVALID_FLAGS);
	receive.flags = 0;
	receive.source = 3;
	EXPECT_EQ(tofu_p2p_post_receive(P2P(0), &receive, NULL), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_peek(P2P(0), &receive, &end, NULL), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_p2p_peek(P2P(0), NULL, &end, NULL), UTOFU_ERR_INVALID_POINTER);
	receive.source = 0;
	EXPECT_EQ(tofu_p2p_peek(P2P(0), &receive, NULL, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_post_claimed(P2P(0), NULL, &receive, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_away(NULL, (void *)&send), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_away(P2P(0), NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_ended(NULL, &end), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_ended(P2P(0), NULL), UTOFU_ERR_INVALID_POINTER);
}

/* ---- A sender that goes on with something else ---- */

/* Turns until the message is on its way: it then comes without its sender. */
static void let_go(struct harness_test *_metadata, struct world *world,
		   const struct tofu_p2p_request *request)
{
	int code = UTOFU_ERR_NOT_COMPLETED;

	for (int i = 0; i < 1000 && code == UTOFU_ERR_NOT_COMPLETED; i++) {
		ASSERT_EQ(world_turn(world), UTOFU_SUCCESS);
		code = tofu_p2p_away(world->p2p[0], request);
	}
	ASSERT_EQ(code, UTOFU_SUCCESS);
}

TEST_F(by, comes_without_its_sender)
{
	const struct tofu_p2p_send send = {
		.buf = self->from,
		.bytes = 8,
		.dest = 1,
		.flags = TOFU_P2P_COPY | TOFU_P2P_SILENT,
	};
	const struct tofu_p2p_receive receive = { .buf = self->to, .room = 8 };

	for (unsigned int i = 0; i < 100; i++) {
		struct tofu_p2p_end end = { .code = 1 };
		struct tofu_p2p_request *request;
		int code = UTOFU_ERR_NOT_FOUND;

		data_fill(self->from, 8, i);
		ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, &request), 0);
		/* Without atomics, a ring of its own waits for each. */
		if (variant->no_armw)
			ASSERT_EQ(tofu_p2p_away(P2P(0), request), UTOFU_SUCCESS);
		let_go(_metadata, &self->world, request);
		ASSERT_EQ(tofu_p2p_post_receive(P2P(1), &receive, NULL), 0);
		for (int turn = 0; turn < 100000 && code; turn++)
			code = tofu_p2p_ended(P2P(1), &end);
		ASSERT_EQ(code, UTOFU_SUCCESS);
		ASSERT_TRUE(data_is(self->to, 8, i));
		ASSERT_EQ(tofu_p2p_ended(P2P(0), &end), UTOFU_ERR_NOT_FOUND);
	}
}

/* The shared ring takes a place first, by a request that has to be answered. */
TEST_F(by, first_has_to_be_seen_off)
{
	const struct tofu_p2p_send send = {
		.buf = self->from, .bytes = 8, .dest = 1,
		.flags = TOFU_P2P_COPY | TOFU_P2P_SILENT,
	};
	struct tofu_p2p_request *request;

	ASSERT_EQ(tofu_p2p_post_send(P2P(0), &send, &request), 0);
	EXPECT_EQ(tofu_p2p_away(P2P(0), request),
		  variant->no_armw ? UTOFU_SUCCESS : UTOFU_ERR_NOT_COMPLETED);
	let_go(_metadata, &self->world, request);
}

TEST_HARNESS_MAIN
