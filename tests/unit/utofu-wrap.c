// SPDX-License-Identifier: MIT
/*
 * Rings whose positions pass 2^16, 2^32 and 2^48: completions say only the low
 * 32 bits of a command's place, packets only 48 of its number. Library and
 * controller go on from a little before, as if so many commands had been posted.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "icc/internal.h"
#include "port/soft.h"
#include "utofu-util.h"
#include "utofu/instance.h"

/* The smallest rings; positions begin at an even round, as of empty rings. */
#define ENTRIES 2048
#define BEFORE (2 * ENTRIES)
#define COMMANDS (4 * ENTRIES)
#define UNDER_WAY 7

FIXTURE(wrap)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint64_t *word;
	utofu_stadd_t at;
};

FIXTURE_VARIANT(wrap)
{
	uint64_t at;
};

FIXTURE_VARIANT_ADD(wrap, at_16_bits){ .at = 1ULL << 16 };
FIXTURE_VARIANT_ADD(wrap, at_32_bits){ .at = 1ULL << 32 };
FIXTURE_VARIANT_ADD(wrap, at_48_bits){ .at = 1ULL << 48 };

static void controller_begin(struct icc_cq *cq, uint64_t at)
{
	cq->toq.pos = at;
	cq->tcq.pos = at;
	cq->mrq.pos = at;
	cq->seq_head = at;
	cq->seq_tail = at;
	cq->page->fetch_start = htole64(at);
	cq->page->mrq_full_pointer = htole64(at);
	cq->page->tcq_read = htole64(at);
	cq->page->toq_head = htole64(at);
}

static void queue_begin(struct tofu_queue *queue, uint64_t at)
{
	queue->toq_tail += at;
	queue->toq_limit += at;
	queue->toq_last += at;
	queue->toq_ended += at;
	queue->tcq_head += at;
	queue->tcq_told += at;
	queue->tcq_due += at;
	queue->mrq_head += at;
	queue->mrq_told += at;
	queue->mrq_due += at;
}

/* The lock keeps the helper's thread away from the controller. */
static void begin(utofu_vcq_hdl_t vcq, uint64_t at)
{
	struct tofu_queue *queue = tofu_vcq_find(vcq)->queue;
	struct tofu_soft *soft = (struct tofu_soft *)queue->cq->port;

	soft->ops->lock(soft);
	controller_begin(icc_cq_at(soft->icc, queue->cq->tni, queue->cq->cq),
			 at);
	queue_begin(queue, at);
	soft->ops->unlock(soft);
}

FIXTURE_SETUP(wrap)
{
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	begin(self->vcq, variant->at - BEFORE);
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->id), UTOFU_SUCCESS);
	self->word = aligned_alloc(256, 256);
	memset(self->word, 0, 256);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->word, 256, 0, &self->at),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(wrap)
{
	EXPECT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	free(self->word);
}

/* Commands of one slot and of two, several under way at a time. */
TEST_F(wrap, commands_end_in_order_and_whole)
{
	struct utofu_mrq_notice notice;
	uintptr_t sent = 0, ended = 0;
	void *cbdata;

	while (ended < COMMANDS) {
		if (sent < COMMANDS && sent - ended < UNDER_WAY) {
			uint64_t value[4] = { sent, ~sent, sent, ~sent };

			ASSERT_EQ(utofu_put_piggyback(
					  self->vcq, self->id, value, self->at,
					  sent % 2 ? 32 : 8, sent % 251,
					  TCQ | LCL, (void *)(sent + 1)),
				  UTOFU_SUCCESS);
			sent++;
			continue;
		}
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		ASSERT_EQ(cbdata, (void *)(ended + 1));
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		ASSERT_EQ(notice.edata, ended % 251);
		ended++;
	}
	EXPECT_EQ(self->word[0], COMMANDS - 1);
	EXPECT_LT(variant->at, tofu_vcq_find(self->vcq)->queue->toq_tail);
	EXPECT_LT(variant->at, tofu_vcq_find(self->vcq)->queue->mrq_head);
}

/* A single command goes by the page, where the place is said, too. */
TEST_F(wrap, commands_go_by_the_page)
{
	void *cbdata;

	for (uintptr_t i = 0; i < COMMANDS; i++) {
		ASSERT_EQ(utofu_put_piggyback8(self->vcq, self->id, i, self->at,
					       8, 0, TCQ, (void *)(i + 1)),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		ASSERT_EQ(cbdata, (void *)(i + 1));
		ASSERT_EQ(self->word[0], i);
	}
	/* Flushing counts commands as well. */
	ASSERT_EQ(utofu_dereg_mem(self->vcq, self->at, 0), UTOFU_SUCCESS);
}

TEST_HARNESS_MAIN
