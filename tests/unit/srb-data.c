/* SPDX-License-Identifier: MIT */
/*
 * Shared receive buffers deliver all records, whole, once and in each sender's
 * order, whatever their sizes and however full the ring is.
 */
#include "srb-util.h"
#include "harness.h"

#define KIB 1024

FIXTURE(sent){};

FIXTURE_VARIANT(sent)
{
	unsigned int flags;
	unsigned int records;
	unsigned int senders;
	unsigned int nap;
	unsigned int slow;
};

FIXTURE_VARIANT_ADD(sent, one_by_one){
	.records = 1,
	.senders = 1,
};

FIXTURE_VARIANT_ADD(sent, by_one){
	.records = 256,
	.senders = 1,
};

FIXTURE_VARIANT_ADD(sent, by_many){
	.records = 16,
	.senders = 7,
};

FIXTURE_VARIANT_ADD(sent, by_many_to_a_slow_one){
	.records = 16,
	.senders = 4,
	.slow = 50,
};

FIXTURE_VARIANT_ADD(sent, by_slow_ones){
	.records = 16,
	.senders = 4,
	.nap = 200,
};

FIXTURE_VARIANT_ADD(sent, in_steps){
	.flags = TOFU_SRB_SENDER_SERIAL,
	.records = 16,
	.senders = 3,
};

FIXTURE_VARIANT_ADD(sent, fresh){
	.flags = TOFU_SRB_SENDER_FRESH,
	.records = 16,
	.senders = 3,
};

FIXTURE_VARIANT_ADD(sent, fresh_in_steps){
	.flags = TOFU_SRB_SENDER_SERIAL | TOFU_SRB_SENDER_FRESH,
	.records = 16,
	.senders = 3,
};

FIXTURE_SETUP(sent)
{
}

FIXTURE_TEARDOWN(sent)
{
}

static struct srb_scene scene_of(const FIXTURE_VARIANT(sent) * variant)
{
	return (struct srb_scene){
		.bytes = 4 * KIB,
		.patience_ns = 60000000000,
		.senders = variant->senders,
		.letters = 2000 / variant->senders,
		.least = sizeof(struct letter),
		.most = 2 * KIB - TOFU_SRB_OVERHEAD,
		.slow = variant->slow,
		.nap = variant->nap,
		.sender = {
			.pool = 16 * KIB,
			.records = variant->records,
			.flags = variant->flags,
		},
	};
}

TEST_F_TIMEOUT(sent, all_sizes, 120)
{
	struct srb_scene scene = scene_of(variant);

	EXPECT_EQ(scene_play(&scene), 0);
}

TEST_F_TIMEOUT(sent, small_ones, 120)
{
	struct srb_scene scene = scene_of(variant);

	scene.most = 40;
	EXPECT_EQ(scene_play(&scene), 0);
}

TEST_F_TIMEOUT(sent, large_ones, 120)
{
	struct srb_scene scene = scene_of(variant);

	scene.bytes = 128 * KIB;
	scene.letters /= 8;
	scene.least = 30 * KIB;
	scene.most = 64 * KIB - TOFU_SRB_OVERHEAD;
	scene.sender.pool = 128 * KIB;
	EXPECT_EQ(scene_play(&scene), 0);
}

TEST_HARNESS_MAIN
