/* SPDX-License-Identifier: MIT */
/*
 * Large rings: records of several puts, and of half the ring, wherever they wrap;
 * and the largest ring that there can be.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "srb-util.h"
#include "harness.h"

#define MIB (UINT64_C(1) << 20)

/* A record that is more than one put */
#define SEVERAL 20000000

/* A machine that does much else may be slow: patience is not what is tested. */
static struct srb_scene scene = {
	.patience_ns = 60000000000,
	.senders = 1,
};

static const size_t *sizes;
static unsigned int count;

/* ---- Records: each word is made of the record's number and its offset ---- */

static uint64_t word_of(unsigned int number, size_t at)
{
	return (at + 1) * 0x9e3779b97f4a7c15ULL ^ number;
}

static void record_fill(char *to, size_t bytes, unsigned int number)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(number, at);

		memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

/* A part that another follows is words: places are multiples of them. */
static bool part_is(const struct iovec *part, size_t begin, unsigned int number)
{
	for (size_t at = 0; at < part->iov_len; at += 8) {
		uint64_t word = word_of(number, begin + at);
		size_t rest = part->iov_len - at;

		if (memcmp((char *)part->iov_base + at, &word,
			   rest < 8 ? rest : 8))
			return false;
	}
	return true;
}

static bool record_is(const struct tofu_srb_record *record, size_t bytes,
		      unsigned int number)
{
	return record->bytes == bytes &&
	       record->part[0].iov_len + record->part[1].iov_len == bytes &&
	       part_is(&record->part[0], 0, number) &&
	       part_is(&record->part[1], record->part[0].iov_len, number);
}

/* ---- One sends, the other receives ---- */

static void all_send(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to)
{
	struct tofu_srb_peer peer = scene_peer(&scene, to);
	char *text = malloc(scene.bytes / 2);
	struct tofu_srb_sender *sender;
	unsigned int sent = 0, ended = 0;

	CHECK(text);
	CHECK(!tofu_srb_sender_create(vcq, &scene.sender, &sender));
	CHECK(tofu_srb_send(sender, &peer,
			    &(struct iovec){ text, scene.bytes / 2 - 15 }, 1,
			    NULL) == UTOFU_ERR_INVALID_SIZE);
	while (ended < count) {
		struct iovec part = { text, sent < count ? sizes[sent] : 0 };
		int result, code = UTOFU_ERR_BUSY;
		void *cbdata;

		if (sent < count) {
			record_fill(text, part.iov_len, sent);
			code = tofu_srb_send(sender, &peer, &part, 1, NULL);
			CHECK(!code || code == UTOFU_ERR_BUSY);
			sent += !code;
		}
		while (code && tofu_srb_poll(sender, &cbdata, &result) ==
				       UTOFU_ERR_NOT_FOUND)
			sched_yield();
		CHECK(!code || !result);
		ended += !!code;
	}
	tofu_srb_sender_free(sender);
	free(text);
}

static void record_take(struct tofu_srb *srb, unsigned int number)
{
	struct tofu_srb_record record;

	scene_await(srb, &record);
	CHECK(record_is(&record, sizes[number], number));
	CHECK(!tofu_srb_release(srb));
}

static void play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	struct tofu_srb_counts counts;

	tofu_nodes_meet(nodes);
	if (node) {
		struct utofu_onesided_caps *caps;

		CHECK(!utofu_query_onesided_caps(0, &caps));
		CHECK(caps->max_putget_size < SEVERAL);
		all_send(vcq, nodes->vcq[0]);
	} else {
		for (unsigned int i = 0; i < count; i++)
			record_take(srb, i);
		tofu_srb_counts(srb, &counts);
		CHECK(!counts.epochs);
	}
	tofu_nodes_meet(nodes);
	tofu_srb_free(srb);
	tofu_nodes_meet(nodes);
}

/* ---- 64 MiB ---- */

FIXTURE(ring){};

FIXTURE_SETUP(ring)
{
	scene.bytes = 64 * MIB;
	scene.sender.pool = 64 * MIB;
	scene.sender.records = 4;
}

FIXTURE_TEARDOWN(ring)
{
}

/* Some end in words that are not whole, and the last wraps. */
TEST_F_TIMEOUT(ring, records_of_several_puts, 60)
{
	static const size_t large[] = { SEVERAL, SEVERAL + 3, 17, SEVERAL + 5,
					SEVERAL };

	sizes = large;
	count = 5;
	EXPECT_EQ(tofu_nodes_run(2, play, -1), 0);
}

/* Two fill the ring, and others follow at once, with the ring's end inside. */
TEST_F_TIMEOUT(ring, records_of_half_of_it, 60)
{
	static const size_t half[] = {
		32 * MIB - TOFU_SRB_OVERHEAD,
		32 * MIB - TOFU_SRB_OVERHEAD,
		32 * MIB - TOFU_SRB_OVERHEAD,
		32 * MIB - TOFU_SRB_OVERHEAD,
	};

	scene.place = 48 * MIB + 8;
	sizes = half;
	count = 4;
	EXPECT_EQ(tofu_nodes_run(2, play, -1), 0);
}

/* ---- 1 GiB ---- */

/* Only the ends of the ring are touched and take memory. */
TEST(the_largest_ring)
{
	static const size_t small[] = { 100, 3000 };
	void *room = mmap(NULL, TOFU_SRB_BYTES_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		SKIP(return, "there is no memory for a ring of 1 GiB");
	munmap(room, TOFU_SRB_BYTES_MAX);
	scene.bytes = TOFU_SRB_BYTES_MAX;
	scene.place = TOFU_SRB_BYTES_MAX - 1000;
	scene.sender.pool = 8192;
	scene.sender.records = 2;
	sizes = small;
	count = 2;
	EXPECT_EQ(tofu_nodes_run(2, play, -1), 0);
}

TEST_HARNESS_MAIN
