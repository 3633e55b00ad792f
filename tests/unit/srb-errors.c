/* SPDX-License-Identifier: MIT */
/*
 * Shared receive buffers that cannot be had, owners that are gone, and parties
 * that do not keep to the protocol. Rings with one sender, too: what a record
 * that is too large and a ring that is too small have in common.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "srb-util.h"
#include "harness.h"
#include "utofu/instance.h"

#define KIB 1024
#define POLLS 100 /* more than the empty ones before a program lends its processor */

static const struct srb_scene scene = {
	.bytes = 4 * KIB,
	.patience_ns = 20000000,
	.senders = 1,
	.letters = 500,
	.least = sizeof(struct letter),
	.most = 400,
	.sender = {
		.pool = 8 * KIB,
		.records = 16,
	},
};

/* ---- In one process ---- */

FIXTURE(alone)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
};

FIXTURE_SETUP(alone)
{
	unsetenv("TOFU_FABRIC");
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->id), UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(alone)
{
	utofu_free_vcq(self->vcq);
}

static int create(utofu_vcq_hdl_t vcq, size_t bytes, unsigned int stag)
{
	const struct tofu_srb_params params = { .bytes = bytes, .stag = stag };
	struct tofu_srb *srb = NULL;
	int code = tofu_srb_create(vcq, &params, &srb);

	if (code && srb)
		return UTOFU_ERR_FATAL;
	tofu_srb_free(srb);
	return code;
}

TEST_F(alone, rings_that_cannot_be)
{
	struct tofu_srb *srb = scene_ring(&scene, self->vcq);
	struct tofu_srb_params params = { .bytes = 4096 };
	struct tofu_srb_address address;

	EXPECT_EQ(create(self->vcq, 4096, 100), UTOFU_SUCCESS);
	EXPECT_EQ(create(self->vcq, 2048, 100), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(create(self->vcq, 4097, 100), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(create(self->vcq, 0, 100), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(create(self->vcq, 2 * TOFU_SRB_BYTES_MAX, 100),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(create(self->vcq, 4096, 256 - TOFU_SRB_STAGS), UTOFU_SUCCESS);
	EXPECT_EQ(create(self->vcq, 4096, 257 - TOFU_SRB_STAGS),
		  UTOFU_ERR_INVALID_STAG);
	EXPECT_EQ(create(self->vcq, 4096, SRB_STAG), UTOFU_ERR_USED);
	/* Its counters would be where the other's ring is. */
	EXPECT_EQ(create(self->vcq, 4096, SRB_STAG + 1), UTOFU_ERR_USED);
	EXPECT_EQ(create(0, 4096, 100), UTOFU_ERR_INVALID_VCQ_HDL);
	EXPECT_EQ(tofu_srb_create(self->vcq, NULL, &srb),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_srb_create(self->vcq, &params, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_srb_address(self->id, &params, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_srb_address(~UINT64_C(0), &params, &address),
		  UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(tofu_srb_release(srb), UTOFU_ERR_NOT_FOUND);
	tofu_srb_free(srb);
	tofu_srb_free(NULL);
	/* All STAGs are given back. */
	EXPECT_EQ(create(self->vcq, 4096, SRB_STAG), UTOFU_SUCCESS);
}

static int sender_create(utofu_vcq_hdl_t vcq, size_t pool, unsigned int records,
			 unsigned int flags)
{
	const struct tofu_srb_sender_params params = { pool, records, flags };
	struct tofu_srb_sender *sender = NULL;
	int code = tofu_srb_sender_create(vcq, &params, &sender);

	if (code && sender)
		return UTOFU_ERR_FATAL;
	tofu_srb_sender_free(sender);
	return code;
}

TEST_F(alone, ports_that_cannot_be)
{
	EXPECT_EQ(sender_create(self->vcq, 16, 1, 0), UTOFU_SUCCESS);
	EXPECT_EQ(sender_create(self->vcq, 4096, 256, 3), UTOFU_SUCCESS);
	EXPECT_EQ(sender_create(self->vcq, 15, 1, 0), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(sender_create(self->vcq, 4096, 0, 0), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(sender_create(self->vcq, 4096, 257, 0),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(sender_create(self->vcq, 4096, 1, 4), UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(sender_create(0, 4096, 1, 0), UTOFU_ERR_INVALID_VCQ_HDL);
}

static int send_bytes(struct tofu_srb_sender *sender, struct tofu_srb_peer *peer,
		      size_t bytes)
{
	static char text[8 * KIB];
	struct iovec part = { text, bytes };

	return tofu_srb_send(sender, peer, &part, 1, NULL);
}

static struct tofu_srb_sender *sender_make(utofu_vcq_hdl_t vcq, size_t pool,
					   unsigned int records)
{
	const struct tofu_srb_sender_params params = { pool, records, 0 };
	struct tofu_srb_sender *sender = NULL;

	CHECK(!tofu_srb_sender_create(vcq, &params, &sender));
	return sender;
}

/* The result of the next record that ends. */
static int result_wait(struct tofu_srb_sender *sender)
{
	time_t since = time(NULL);
	void *cbdata;
	int result, code;

	while ((code = tofu_srb_poll(sender, &cbdata, &result)) ==
	       UTOFU_ERR_NOT_FOUND) {
		if (time(NULL) - since > WAIT_SECONDS)
			return UTOFU_ERR_NOT_COMPLETED;
		sched_yield();
	}
	return code ? code : result;
}

TEST_F(alone, records_that_cannot_be)
{
	struct tofu_srb *srb = scene_ring(&scene, self->vcq);
	struct tofu_srb_peer peer = scene_peer(&scene, self->id), other = peer;
	struct tofu_srb_sender *sender = sender_make(self->vcq, 4 * KIB, 2);
	struct tofu_srb_sender *small = sender_make(self->vcq, 256, 2);
	struct iovec huge[2] = { { &peer, SIZE_MAX }, { &peer, 17 } };

	EXPECT_EQ(send_bytes(sender, &peer, 2 * KIB - 15),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(send_bytes(small, &other, 241), UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(send_bytes(small, &other, 240), UTOFU_SUCCESS);
	EXPECT_EQ(send_bytes(small, &other, 8), UTOFU_ERR_BUSY);
	EXPECT_EQ(tofu_srb_send(sender, &peer, huge, 2, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(tofu_srb_send(sender, &peer, NULL, 1, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_srb_send(sender, NULL, huge, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(send_bytes(sender, &peer, 2 * KIB - 16), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_srb_send(sender, &peer, NULL, 0, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(send_bytes(sender, &peer, 1), UTOFU_ERR_BUSY);
	other = peer;
	other.address.ring ^= UINT64_C(1) << 50;
	EXPECT_EQ(send_bytes(sender, &other, 1), UTOFU_ERR_INVALID_ARG);
	other.address.ring = peer.address.ring | 0xff00;
	EXPECT_EQ(send_bytes(sender, &other, 1), UTOFU_ERR_INVALID_ARG);
	other.address.ring = peer.address.ring | 0xff;
	EXPECT_EQ(send_bytes(sender, &other, 1), UTOFU_ERR_INVALID_ARG);
	tofu_srb_sender_free(sender);
	tofu_srb_sender_free(small);
	EXPECT_EQ(peer.flow, NULL);
	tofu_srb_free(srb);
}

/*
 * A ring that is not there, by turns with one that is. The bad ones have two
 * commands that fail, and what is told of the second must not meet others.
 */
TEST_F(alone, a_ring_that_is_not_there)
{
	struct tofu_srb *srb = scene_ring(&scene, self->vcq);
	struct tofu_srb_peer good = scene_peer(&scene, self->id), bad = good;
	struct tofu_srb_sender *sender;
	struct tofu_srb_record record;
	utofu_vcq_hdl_t vcq;

	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	sender = sender_make(vcq, 4 * KIB, 1);
	ASSERT_EQ(tofu_srb_address(self->id,
				   &(struct tofu_srb_params){ .bytes = 4096,
							      .stag = 100 },
				   &bad.address),
		  UTOFU_SUCCESS);
	for (int i = 0; i < 200; i++) {
		bad.stale = 1;
		ASSERT_EQ(send_bytes(sender, &bad, 100), UTOFU_SUCCESS);
		ASSERT_EQ(result_wait(sender), UTOFU_ERR_MRQ_RMT_STADD);
		ASSERT_EQ(send_bytes(sender, &good, 100), UTOFU_SUCCESS);
		ASSERT_EQ(result_wait(sender), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_srb_receive(srb, &record), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_srb_release(srb), UTOFU_SUCCESS);
	}
	tofu_srb_sender_free(sender);
	tofu_srb_free(srb);
	EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
}

/* Some lie in it, some wait for room. */
TEST_F(alone, a_ring_that_goes)
{
	struct tofu_srb *srb = scene_ring(&scene, self->vcq);
	struct tofu_srb_peer peer = scene_peer(&scene, self->id);
	struct tofu_srb_sender *sender;
	utofu_vcq_hdl_t vcq;

	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	sender = sender_make(vcq, 16 * KIB, 5);
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(send_bytes(sender, &peer, 2000), UTOFU_SUCCESS);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(result_wait(sender), UTOFU_SUCCESS);
	tofu_srb_free(srb);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(result_wait(sender), UTOFU_ERR_MRQ_RMT_STADD);
	EXPECT_EQ(peer.flow, NULL);
	tofu_srb_sender_free(sender);
	EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
}

/* ---- A device that goes ---- */

/* What a program finds in the pages of a queue whose device is gone. */
static void device_lose(utofu_vcq_hdl_t hdl)
{
	struct tofu_cq_page *page = (struct tofu_cq_page *)(uintptr_t)
		tofu_vcq_find(hdl)->queue->cq->page;

	page->status = TOFU_WORD_GONE;
	page->need_kick = TOFU_WORD_GONE;
}

static int receive_until_error(struct tofu_srb *srb)
{
	struct tofu_srb_record record;
	int code = UTOFU_ERR_NOT_FOUND;

	for (int i = 0; i < POLLS && code == UTOFU_ERR_NOT_FOUND; i++)
		code = tofu_srb_receive(srb, &record);
	return code;
}

TEST_F(alone, a_device_that_goes)
{
	struct tofu_srb *srb = scene_ring(&scene, self->vcq);
	struct tofu_srb_peer peer = scene_peer(&scene, self->id);
	struct tofu_srb_sender *sender;
	utofu_vcq_hdl_t vcq;
	int result, code = UTOFU_ERR_NOT_FOUND;
	void *cbdata;

	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	sender = sender_make(vcq, 16 * KIB, 5);
	ASSERT_EQ(send_bytes(sender, &peer, 100), UTOFU_SUCCESS);
	ASSERT_EQ(result_wait(sender), UTOFU_SUCCESS);
	device_lose(vcq);
	for (int i = 0; i < POLLS && code == UTOFU_ERR_NOT_FOUND; i++)
		code = tofu_srb_poll(sender, &cbdata, &result);
	EXPECT_EQ(code, UTOFU_ERR_FATAL);

	/* What had come is still there. */
	device_lose(self->vcq);
	EXPECT_EQ(receive_until_error(srb), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_srb_release(srb), UTOFU_SUCCESS);
	EXPECT_EQ(receive_until_error(srb), UTOFU_ERR_FATAL);
	EXPECT_EQ(receive_until_error(srb), UTOFU_ERR_FATAL);
	tofu_srb_sender_free(sender);
	tofu_srb_free(srb);
	EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
}

/* ---- Owners and senders that lie ---- */

/* A ring gets over invalid values in its counters. */
TEST_F(alone, counters_that_lie)
{
	struct tofu_srb *srb = scene_ring(&scene, self->vcq);
	struct tofu_srb_peer peer = scene_peer(&scene, self->id);
	utofu_stadd_t counters;
	utofu_vcq_hdl_t vcq, liar;
	struct tofu_srb_sender *sender;
	uint64_t random = 9;

	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(1, 0, &liar), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_stadd(self->id, SRB_STAG, &counters),
		  UTOFU_SUCCESS);
	sender = sender_make(vcq, 4 * KIB, 4);
	for (int i = 0; i < 20; i++) {
		struct utofu_mrq_notice notice;
		struct tofu_srb_record record;
		time_t since = time(NULL);
		uint64_t lie = srb_random(&random) >> (i % 4 * 16);

		ASSERT_EQ(utofu_armw8(liar, self->id, UTOFU_ARMW_OP_SWAP, lie,
				      counters + (i % 2 ? SRB_PRODUCER :
							  SRB_CONSUMER),
				      0, LCL, NULL),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(liar, &notice), UTOFU_SUCCESS);
		/* The owner gets over it, or has not even noticed. */
		if (i % 2) {
			struct tofu_srb_counts before, after;

			tofu_srb_counts(srb, &before);
			do {
				ASSERT_EQ(tofu_srb_receive(srb, &record),
					  UTOFU_ERR_NOT_FOUND);
				tofu_srb_counts(srb, &after);
				ASSERT_LE(time(NULL) - since, WAIT_SECONDS);
			} while (after.epochs == before.epochs);
		}
	}
	ASSERT_EQ(send_bytes(sender, &peer, 100), UTOFU_SUCCESS);
	ASSERT_EQ(result_wait(sender), UTOFU_SUCCESS);
	tofu_srb_sender_free(sender);
	tofu_srb_free(srb);
}

/* With random counters of the owner a sender sends or fails, without harm. */
TEST_F(alone, an_owner_that_lies)
{
	struct tofu_srb_peer peer = scene_peer(&scene, self->id);
	static uint64_t page[SRB_COUNTERS_BYTES / 8]
		__attribute__((aligned(256)));
	static char ring[4 * KIB] __attribute__((aligned(256)));
	utofu_stadd_t counters, stadd;
	struct tofu_srb_sender *sender;
	utofu_vcq_hdl_t vcq;
	uint64_t random = 4;

	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem_with_stag(self->vcq, page, sizeof(page),
					  SRB_STAG, 0, &counters),
		  UTOFU_SUCCESS);
	for (unsigned int e = 0; e < SRB_EPOCH_STAGS; e += 2)
		ASSERT_EQ(utofu_reg_mem_with_stag(self->vcq, ring, sizeof(ring),
						  SRB_STAG + 1 + e, 0, &stadd),
			  UTOFU_SUCCESS);
	sender = sender_make(vcq, 4 * KIB, 8);
	for (int i = 0; i < 20000; i++) {
		uint64_t lie = srb_random(&random);
		void *cbdata;
		int result;

		if (lie % 8 == 0)
			__atomic_store_n(&page[lie % 16 ? SRB_PRODUCER / 8 :
							  SRB_CONSUMER / 8],
					 lie >> (lie % 60), __ATOMIC_RELAXED);
		(void)send_bytes(sender, &peer, lie % 300);
		result = tofu_srb_poll(sender, &cbdata, &result);
		ASSERT_TRUE(result == UTOFU_SUCCESS ||
			    result == UTOFU_ERR_NOT_FOUND);
	}
	tofu_srb_sender_free(sender);
	EXPECT_EQ(peer.flow, NULL);
}

/* ---- An owner that dies ---- */

static void dying_play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	struct tofu_srb_sender *sender;
	struct tofu_srb_peer peer;
	int ended = 0, result;

	tofu_nodes_meet(nodes);
	if (!node) {
		CHECK(srb && !tofu_wait_word(&nodes->word[0], 1));
		raise(SIGKILL);
	}
	sender = sender_make(vcq, 32 * KIB, 10);
	peer = scene_peer(&scene, nodes->vcq[0]);
	while (!send_bytes(sender, &peer, 1500))
		ended--;
	/* Two fit into the ring. */
	CHECK(!result_wait(sender) && !result_wait(sender));
	__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
	for (ended += 2; ended; ended++) {
		result = result_wait(sender);
		CHECK(result == UTOFU_ERR_MRQ_PEER);
	}
	tofu_srb_sender_free(sender);
}

TEST(an_owner_that_dies)
{
	EXPECT_EQ(tofu_nodes_run(2, dying_play, 0), 0);
}

/* ---- Rings with one sender ---- */

#define SINGLE_BYTES 1024
#define SINGLE_LETTERS 3000
#define SINGLE_STAG 90

/* Its memory, and behind it the consumer */
struct slab {
	char ring[SINGLE_BYTES];
	uint64_t consumer;
};

/* What a command has room for, with what a record has beside its payload */
#define SINGLE_SHORT 16

/* All values come. */
static uint16_t label_of(uint64_t number)
{
	return (uint16_t)(number * 0x9e37);
}

/* Every other one is a number and its negation, of SINGLE_SHORT at most. */
static size_t single_bytes(uint64_t number)
{
	return number % 2 ? sizeof(number) + number % 3 * 4 :
			    sizeof(struct letter) + number * 7 % 400;
}

static void short_write(char text[SINGLE_SHORT], uint64_t number)
{
	const uint64_t word[] = { number, ~number };

	memcpy(text, word, sizeof(word));
}

/* It need not be in one piece. */
static bool short_is(const struct tofu_srb_record *record, uint64_t number)
{
	const size_t first = record->part[0].iov_len;
	char text[SINGLE_SHORT];

	short_write(text, number);
	return first <= record->bytes &&
	       !memcmp(text, record->part[0].iov_base, first) &&
	       !memcmp(text + first, record->part[1].iov_base,
		       record->bytes - first);
}

static bool single_is(const struct tofu_srb_record *record, uint64_t number)
{
	struct letter letter;

	if (record->bytes != single_bytes(number))
		return false;
	if (record->bytes <= SINGLE_SHORT)
		return short_is(record, number);
	return letter_read(record, &letter) && letter.number == number;
}

/* As the layer above does */
static bool single_express(struct tofu_srb_sender *sender,
			   struct tofu_srb_single *single, uint64_t number,
			   const char *text, size_t bytes)
{
	uint64_t word[TOFU_SRB_EXPRESS / sizeof(uint64_t)] = { 0 };

	if (bytes > sizeof(word))
		return false;
	memcpy(word, text, bytes);
	return tofu_srb_express(sender, single, label_of(number), word, bytes,
				NULL);
}

static int single_try(struct tofu_srb_sender *sender,
		      struct tofu_srb_single *single, uint64_t number,
		      const char *text, size_t bytes, bool *express)
{
	void *to;
	int code;

	*express = single_express(sender, single, number, text, bytes);
	if (*express)
		return UTOFU_SUCCESS;
	code = tofu_srb_reserve(sender, single, label_of(number), bytes,
				    &to);

	if (code)
		return code;
	memcpy(to, text, bytes);
	tofu_srb_commit(sender, single, NULL);
	return UTOFU_SUCCESS;
}

/* Short ones go at once; but where they have no room, or would be in two pieces. */
static void single_send(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, uint64_t place)
{
	struct tofu_srb_single single = {
		.peer.address.vcq = to,
		.peer.consumer = place,
		.bytes = SINGLE_BYTES,
		.producer = place,
	};
	struct tofu_srb_sender *sender = sender_make(vcq, 4 * KIB, 16);
	uint64_t sent = 0, ended = 0, at_once = 0, shorts = 0;
	char text[SINGLE_BYTES];
	bool express;

	CHECK(!utofu_query_stadd(to, SINGLE_STAG, &single.memory));
	single.consumer = single.memory + offsetof(struct slab, consumer);
	CHECK(single_try(sender, &single, 0, text, SINGLE_BYTES / 2, &express) ==
	      UTOFU_ERR_INVALID_SIZE);
	while (ended < SINGLE_LETTERS) {
		size_t bytes = single_bytes(sent);
		int code = UTOFU_ERR_BUSY;

		if (bytes > SINGLE_SHORT)
			letter_write(text, 1, sent, bytes);
		else
			short_write(text, sent);
		if (sent < SINGLE_LETTERS)
			code = single_try(sender, &single, sent, text, bytes,
					  &express);
		CHECK(!code || code == UTOFU_ERR_BUSY);
		shorts += !code && bytes <= SINGLE_SHORT;
		at_once += !code && express;
		sent += !code;
		if (code) {
			CHECK(!result_wait(sender));
			ended++;
		}
	}
	CHECK(at_once && at_once < shorts);
	tofu_srb_sender_free(sender);
}

static void single_take(utofu_vcq_hdl_t vcq, struct slab *slab, uint64_t place)
{
	struct srb_ring ring = {
		.memory = slab->ring,
		.bytes = SINGLE_BYTES,
		.consumer = &slab->consumer,
		.place = place,
	};

	for (uint64_t i = 0; i < SINGLE_LETTERS; i++) {
		time_t since = time(NULL);
		struct utofu_mrq_notice notice;
		struct tofu_srb_record record;

		while (!srb_ring_receive(&ring, &record)) {
			utofu_poll_mrq(vcq, 0, &notice);
			CHECK(time(NULL) - since <= WAIT_SECONDS);
			sched_yield();
		}
		CHECK(single_is(&record, i));
		CHECK(ring.label == label_of(i));
		srb_ring_release(&ring);
	}
}

/* Places go on where others would have another epoch. */
static void single_play(struct tofu_nodes *nodes, unsigned int node)
{
	static struct slab slab __attribute__((aligned(256)));
	uint64_t place = srb_epoch_begin(1) - 64 * KIB;
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	utofu_stadd_t stadd;

	slab.consumer = place;
	if (!node)
		CHECK(!utofu_reg_mem_with_stag(vcq, &slab, sizeof(slab),
					       SINGLE_STAG, 0, &stadd));
	tofu_nodes_meet(nodes);
	if (node)
		single_send(vcq, nodes->vcq[0], place);
	else
		single_take(vcq, &slab, place);
	tofu_nodes_meet(nodes);
}

TEST(rings_with_one_sender)
{
	EXPECT_EQ(tofu_nodes_run(2, single_play, -1), 0);
}

/* Rings of this process, to which nothing is put that is refused */
TEST_F(alone, short_records_that_do_not_go_at_once)
{
	const uint64_t word[TOFU_SRB_EXPRESS / sizeof(uint64_t)] = { 1, 2 };
	const struct {
		struct tofu_srb_single single;
		unsigned int flags;
	} refused[] = {
		/* No room; a word less than is needed; a consumer that lies */
		{ { .bytes = 1024, .producer = 1024 }, 0 },
		{ { .bytes = 1024, .producer = 1024, .peer.consumer = 24 }, 0 },
		{ { .bytes = 1024, .producer = 1024, .peer.consumer = 1032 }, 0 },
		/* In two pieces; more than half a ring; the room has to be read */
		{ { .bytes = 1024, .producer = 1016, .peer.consumer = 1000 }, 0 },
		{ { .bytes = 32 }, 0 },
		{ { .bytes = 1024 }, TOFU_SRB_SENDER_FRESH },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct tofu_srb_single single = refused[i].single;
		struct tofu_srb_sender_params params = {
			.pool = 4096,
			.records = 1,
			.flags = refused[i].flags,
		};
		struct tofu_srb_sender *sender;

		ASSERT_EQ(0, tofu_srb_sender_create(self->vcq, &params, &sender));
		ASSERT_EQ(0, utofu_query_vcq_id(self->vcq,
						&single.peer.address.vcq));
		EXPECT_FALSE(tofu_srb_express(sender, &single, 0, word, 16,
					      NULL))
		TH_LOG("%zu", i);
		EXPECT_EQ(refused[i].single.producer, single.producer);
		EXPECT_EQ(NULL, single.peer.flow);
		tofu_srb_sender_free(sender);
	}
}

/* With just as much room as it needs */
TEST_F(alone, a_short_record_goes_at_once)
{
	const uint64_t word[TOFU_SRB_EXPRESS / sizeof(uint64_t)] = { 1, 2 };
	static char ring[1024] __attribute__((aligned(256)));
	struct tofu_srb_single single = {
		.bytes = sizeof(ring),
		.producer = 1024,
		.peer.consumer = 32,
	};
	const struct tofu_srb_sender_params params = { .pool = 4096,
						       .records = 1 };
	struct tofu_srb_sender *sender;

	ASSERT_EQ(0, tofu_srb_sender_create(self->vcq, &params, &sender));
	ASSERT_EQ(0, utofu_query_vcq_id(self->vcq, &single.peer.address.vcq));
	ASSERT_EQ(0, utofu_reg_mem(self->vcq, ring, sizeof(ring), 0,
				   &single.memory));
	EXPECT_TRUE(tofu_srb_express(sender, &single, 0, word, 16, NULL));
	EXPECT_EQ(1024 + 32, single.producer);
	/* There is one record, and it is used. */
	EXPECT_FALSE(tofu_srb_express(sender, &single, 0, word, 16, NULL));
	EXPECT_EQ(0, result_wait(sender));
	EXPECT_EQ(0, memcmp(ring + 8, word, sizeof(word)));
	tofu_srb_sender_free(sender);
}

TEST_F(alone, machines_without_atomics)
{
	struct tofu_ioc_info *info = &tofu_instance()->port->info;
	const struct tofu_srb_params params = { .bytes = 4096 };
	struct tofu_srb *srb = NULL;

	info->caps &= ~TOFU_INFO_ARMW;
	EXPECT_EQ(tofu_srb_create(self->vcq, &params, &srb),
		  UTOFU_ERR_NOT_SUPPORTED);
	EXPECT_EQ(srb, NULL);
	EXPECT_EQ(sender_create(self->vcq, 4096, 1, 0),
		  UTOFU_ERR_NOT_SUPPORTED);
}

TEST_HARNESS_MAIN
