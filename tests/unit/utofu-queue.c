/* SPDX-License-Identifier: MIT */
/*
 * Rings as libtofu drives them, at their smallest size: rounds, full queues,
 * prepared and delayed commands, VCQs that share a queue, threads.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "utofu-util.h"

#define ENTRIES 2048
#define WORDS 64

FIXTURE(queue)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint64_t *word;
	utofu_stadd_t at;
};

FIXTURE_SETUP(queue)
{
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->id), UTOFU_SUCCESS);
	self->word = aligned_alloc(256, WORDS * 8);
	memset(self->word, 0, WORDS * 8);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->word, WORDS * 8, 0,
				&self->at), UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(queue)
{
	EXPECT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	free(self->word);
}

static void *number(uintptr_t n)
{
	return (void *)(n + 1);
}

TEST_F(queue, many_rounds_in_order)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	for (uintptr_t i = 0; i < 5 * ENTRIES + 3; i++) {
		ASSERT_EQ(utofu_put_piggyback(self->vcq, self->id,
					      &(uint64_t[2]){ i, ~i },
					      self->at, 16, i % 251,
					      TCQ | LCL, number(i)),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		ASSERT_EQ(cbdata, number(i));
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		ASSERT_EQ(notice.edata, i % 251);
		ASSERT_EQ(self->word[0], i);
		ASSERT_EQ(self->word[1], ~i);
	}
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_NOT_FOUND);
}

/*
 * Posts until BUSY can only be of unread reports: before that post those of all
 * commands were there, so the engine, which may be another thread, had nothing
 * to do. Return: how many were taken; 0: an error, or it never came to that.
 */
static uintptr_t fill(utofu_vcq_hdl_t vcq, uintptr_t from, uintptr_t unread,
		      uintptr_t max)
{
	time_t since = time(NULL);
	bool idle = false;
	uintptr_t n = 0;
	size_t reports;

	while (n < max && time(NULL) - since <= WAIT_SECONDS) {
		int code = utofu_nop(vcq, TCQ, number(from + n));

		if (code == UTOFU_SUCCESS) {
			idle = false;
			n++;
			continue;
		}
		if (code != UTOFU_ERR_BUSY)
			return 0;
		if (idle)
			return n;
		if (utofu_query_num_unread_tcq(vcq, &reports))
			return 0;
		idle = reports == unread + n;
	}
	return n < max ? 0 : n;
}

TEST_F(queue, busy_until_reports_are_read)
{
	uintptr_t posted = 0, read = 0, n;
	size_t unread;
	void *cbdata;

	for (int round = 0; round < 5; round++) {
		n = fill(self->vcq, posted, posted - read, 10 * ENTRIES);
		EXPECT_GT(n, 0);
		EXPECT_LT(n, 3 * ENTRIES);
		posted += n;
		ASSERT_EQ(utofu_query_num_unread_tcq(self->vcq, &unread),
			  UTOFU_SUCCESS);
		EXPECT_LE(unread, posted - read);
		for (; posted - read > ENTRIES / 2; read++) {
			ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata),
				  UTOFU_SUCCESS);
			ASSERT_EQ(cbdata, number(read));
		}
	}
	for (; read < posted; read++) {
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		ASSERT_EQ(cbdata, number(read));
	}
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(utofu_query_num_unread_tcq(self->vcq, &unread),
		  UTOFU_SUCCESS);
	EXPECT_EQ(unread, 0);
}

/* Commands without a notice to the initiator fill no queue. */
TEST_F(queue, silent_commands_need_no_poll)
{
	struct utofu_mrq_notice notice;

	for (uint64_t i = 0; i < 20 * ENTRIES; i++) {
		int code;

		do {
			code = utofu_armw8(self->vcq, self->id,
					   UTOFU_ARMW_OP_ADD, 1, self->at, 0,
					   0, NULL);
		} while (code == UTOFU_ERR_BUSY);
		ASSERT_EQ(code, UTOFU_SUCCESS);
	}
	EXPECT_EQ(tofu_wait_word(self->word, 20 * ENTRIES), 0);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_NOT_FOUND);
}

TEST_F(queue, lost_notices_are_told)
{
	struct utofu_mrq_notice notice;
	uint64_t posts = ENTRIES + 100;
	size_t unread;

	for (uint64_t i = 0; i < posts; i++)
		while (utofu_armw8(self->vcq, self->id, UTOFU_ARMW_OP_ADD, 1,
				   self->at, i & 0xff, LCL, NULL))
			;
	ASSERT_EQ(tofu_wait_word(self->word, posts), 0);
	for (uint64_t i = 0; i < ENTRIES; i++) {
		ASSERT_EQ(utofu_query_num_unread_mrq(self->vcq, &unread),
			  UTOFU_SUCCESS);
		ASSERT_EQ(unread, ENTRIES - i);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		ASSERT_EQ(notice.rmt_value, i);
	}
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_MRQ_OTHER);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_MRQ_OTHER);
	EXPECT_EQ(notice.rmt_value, 0);
}

TEST_F(queue, delayed_commands_start_with_the_next)
{
	void *cbdata;

	for (uint64_t i = 0; i < 3; i++)
		ASSERT_EQ(utofu_put_piggyback8(self->vcq, self->id, i + 1,
					       self->at + 8 * i, 8, 0,
					       DELAY | TCQ, number(i)),
			  UTOFU_SUCCESS);
	/* Long enough for an engine that had been told of them */
	for (int i = 0; i < 1000; i++)
		ASSERT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata),
			  UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(self->word[0], 0);
	ASSERT_EQ(utofu_nop(self->vcq, TCQ, number(3)), UTOFU_SUCCESS);
	for (uintptr_t i = 0; i < 4; i++) {
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		EXPECT_EQ(cbdata, number(i));
	}
	for (uint64_t i = 0; i < 3; i++)
		EXPECT_EQ(self->word[i], i + 1);
}

TEST_F(queue, delayed_commands_alone_do_not_jam_it)
{
	struct utofu_mrq_notice notice;
	int code = UTOFU_SUCCESS;
	uint64_t posts = 3 * ENTRIES;

	for (uint64_t i = 0; i < posts; i++) {
		do {
			code = utofu_armw8(self->vcq, self->id,
					   UTOFU_ARMW_OP_ADD, 1, self->at, 0,
					   DELAY, NULL);
		} while (code == UTOFU_ERR_BUSY);
		ASSERT_EQ(code, UTOFU_SUCCESS);
	}
	while (utofu_nop(self->vcq, 0, NULL))
		;
	EXPECT_EQ(tofu_wait_word(self->word, posts), 0);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_NOT_FOUND);
}

/* One of each kind, one behind the other. Return: how many bytes. */
static size_t prepare_all(utofu_vcq_hdl_t v, utofu_vcq_id_t id,
			  utofu_stadd_t at, char *desc)
{
	uint64_t data[4] = { 11, 12, 13, 14 };
	size_t n = 0, size;

	if (!utofu_prepare_put_piggyback(v, id, data, at, 32, 1, LCL,
					 desc + n, &size))
		n += size;
	if (!utofu_prepare_put(v, id, at, at + 32, 32, 2, LCL, desc + n, &size))
		n += size;
	if (!utofu_prepare_put_piggyback8(v, id, 15, at + 64, 8, 3, LCL,
					  desc + n, &size))
		n += size;
	if (!utofu_prepare_get(v, id, at + 72, at + 64, 8, 4, LCL, desc + n,
			       &size))
		n += size;
	if (!utofu_prepare_armw8(v, id, UTOFU_ARMW_OP_ADD, 5, at + 64, 5, LCL,
				 desc + n, &size))
		n += size;
	if (!utofu_prepare_armw4(v, id, UTOFU_ARMW_OP_OR, 64, at + 64, 6, LCL,
				 desc + n, &size))
		n += size;
	if (!utofu_prepare_cswap8(v, id, 84, 1, at + 64, 7, LCL, desc + n,
				  &size))
		n += size;
	if (!utofu_prepare_cswap4(v, id, 1, 2, at + 64, 8, LCL, desc + n,
				  &size))
		n += size;
	if (!utofu_prepare_nop(v, TCQ, desc + n, &size))
		n += size;
	return n;
}

static void expect_notices(struct harness_test *_metadata,
			   utofu_vcq_hdl_t vcq, unsigned int count)
{
	struct utofu_mrq_notice notice;
	uint64_t seen = 0;

	for (unsigned int i = 0; i < count; i++) {
		ASSERT_EQ(tofu_wait_mrq(vcq, &notice), UTOFU_SUCCESS);
		seen |= 1ULL << notice.edata;
	}
	EXPECT_EQ(seen, (2ULL << count) - 2);
}

TEST_F(queue, prepared_commands_go_out_together)
{
	/* Not aligned on purpose. */
	char buffer[9 * 64 + 1], *desc = buffer + 1;
	size_t size = prepare_all(self->vcq, self->id, self->at, desc);
	void *cbdata;
	int tag;

	ASSERT_EQ(size, (9 + 3) * 32);
	for (int round = 0; round < 3; round++) {
		memset(self->word, 0, WORDS * 8);
		ASSERT_EQ(utofu_post_toq(self->vcq, desc, size, &tag),
			  UTOFU_SUCCESS);
		expect_notices(_metadata, self->vcq, 8);
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		EXPECT_EQ(cbdata, &tag);
		EXPECT_EQ(self->word[3], 14);
		EXPECT_EQ(self->word[8], 2);
	}
}

TEST_F(queue, a_bad_descriptor_queues_nothing)
{
	char desc[9 * 64], zero[64] = { 0 }, garbage[64];
	size_t size = prepare_all(self->vcq, self->id, self->at, desc);
	utofu_vcq_hdl_t other;
	size_t one;
	void *cbdata;

	memset(garbage, 0xff, sizeof(garbage));
	EXPECT_EQ(utofu_post_toq(self->vcq, NULL, 32, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_post_toq(self->vcq, desc, 0, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_post_toq(self->vcq, desc, 31, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	/* The first takes two slots. */
	EXPECT_EQ(utofu_post_toq(self->vcq, desc, 32, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_post_toq(self->vcq, desc, ENTRIES * 32, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_post_toq(self->vcq, garbage, 32, NULL),
		  UTOFU_ERR_INVALID_DESC);
	ASSERT_EQ(utofu_create_vcq(0, 0, &other), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_post_toq(other, desc, size, NULL),
		  UTOFU_ERR_INVALID_DESC);
	EXPECT_EQ(utofu_free_vcq(other), UTOFU_SUCCESS);
	/* Of the same numbers on another TNI. */
	ASSERT_EQ(utofu_create_vcq(1, 0, &other), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_post_toq(other, desc, size, NULL),
		  UTOFU_ERR_INVALID_DESC);
	EXPECT_EQ(utofu_free_vcq(other), UTOFU_SUCCESS);
	/* The flip bit is not for programs to set. */
	desc[0] ^= 1;
	EXPECT_EQ(utofu_post_toq(self->vcq, desc, size, NULL),
		  UTOFU_ERR_INVALID_DESC);
	desc[0] ^= 1;
	EXPECT_EQ(utofu_prepare_nop(self->vcq, 0, NULL, &one),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_prepare_nop(self->vcq, 0, desc, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	/* Zeros would be a NOP, but nobody has prepared it. */
	EXPECT_EQ(utofu_post_toq(self->vcq, zero, 32, NULL),
		  UTOFU_ERR_INVALID_DESC);
	EXPECT_EQ(utofu_nop(self->vcq, TCQ, desc), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(cbdata, (void *)desc);
	EXPECT_EQ(self->word[0], 0);
}

TEST_F(queue, a_prepared_command_can_be_delayed)
{
	char desc[64];
	size_t size;
	void *cbdata;

	ASSERT_EQ(utofu_prepare_put_piggyback8(self->vcq, self->id, 9,
					       self->at, 8, 0, DELAY | TCQ,
					       desc, &size), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_post_toq(self->vcq, desc, size, desc), UTOFU_SUCCESS);
	for (int i = 0; i < 1000; i++)
		ASSERT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata),
			  UTOFU_ERR_NOT_FOUND);
	ASSERT_EQ(utofu_nop(self->vcq, 0, NULL), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(self->word[0], 9);
}

#define SHARERS 7

TEST_F(queue, reports_and_notices_find_their_vcq)
{
	utofu_vcq_hdl_t vcq[SHARERS];
	utofu_vcq_id_t id[SHARERS];
	struct utofu_mrq_notice notice;
	void *cbdata;

	for (uintptr_t i = 0; i < SHARERS; i++) {
		int code = i % 2 ? utofu_create_vcq(1, 0, &vcq[i]) :
				   utofu_create_vcq_with_cmp_id(1, i, 0,
								&vcq[i]);

		ASSERT_EQ(code, UTOFU_SUCCESS);
		ASSERT_EQ(utofu_query_vcq_id(vcq[i], &id[i]), UTOFU_SUCCESS);
	}
	ASSERT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(1, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->word, WORDS * 8, 0,
				&self->at), UTOFU_SUCCESS);
	for (uintptr_t from = 0; from < SHARERS; from++)
		for (uintptr_t to = 0; to < SHARERS; to++)
			ASSERT_EQ(utofu_put_piggyback8(vcq[from], id[to], 0,
						       self->at, 8, from,
						       RMT | TCQ,
						       number(from * 16 + to)),
				  UTOFU_SUCCESS);
	/* The last first: the others' go through its hands. */
	for (uintptr_t i = SHARERS; i-- > 0;) {
		for (uintptr_t n = 0; n < SHARERS; n++) {
			ASSERT_EQ(tofu_wait_tcq(vcq[i], &cbdata),
				  UTOFU_SUCCESS);
			EXPECT_EQ(cbdata, number(i * 16 + n));
			ASSERT_EQ(tofu_wait_mrq(vcq[i], &notice),
				  UTOFU_SUCCESS);
			EXPECT_EQ(notice.edata, n);
			EXPECT_EQ(notice.vcq_id, id[n]);
		}
		EXPECT_EQ(utofu_poll_mrq(vcq[i], 0, &notice),
			  UTOFU_ERR_NOT_FOUND);
		EXPECT_EQ(utofu_poll_tcq(vcq[i], 0, &cbdata),
			  UTOFU_ERR_NOT_FOUND);
	}
	for (int i = 0; i < SHARERS; i++)
		EXPECT_EQ(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
}

TEST_F(queue, a_vcq_that_is_not_polled_harms_itself_only)
{
	struct utofu_mrq_notice notice;
	utofu_vcq_hdl_t lazy;
	utofu_vcq_id_t id;

	ASSERT_EQ(utofu_create_vcq(0, 0, &lazy), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(lazy, &id), UTOFU_SUCCESS);
	for (int i = 0; i < 3 * ENTRIES; i++) {
		ASSERT_EQ(utofu_put_piggyback8(self->vcq, id, 1, self->at, 8,
					       1, RMT | LCL, NULL),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		ASSERT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_PUT);
	}
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_NOT_FOUND);
	for (int i = 0; i < ENTRIES; i++) {
		ASSERT_EQ(tofu_wait_mrq(lazy, &notice), UTOFU_SUCCESS);
		ASSERT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_RMT_PUT);
	}
	EXPECT_EQ(utofu_poll_mrq(lazy, 0, &notice), UTOFU_ERR_MRQ_OTHER);
	EXPECT_EQ(utofu_free_vcq(lazy), UTOFU_SUCCESS);
}

/* Reports that nobody reads stop their own VCQ, and no other. */
TEST_F(queue, a_full_vcq_does_not_stop_another)
{
	utofu_vcq_hdl_t lazy;
	uintptr_t posted;
	void *cbdata;

	ASSERT_EQ(utofu_create_vcq(0, 0, &lazy), UTOFU_SUCCESS);
	posted = fill(lazy, 0, 0, 10 * ENTRIES);
	EXPECT_GT(posted, 0);
	EXPECT_LT(posted, 3 * ENTRIES);
	for (uintptr_t i = 0; i < 3 * ENTRIES; i++) {
		ASSERT_EQ(utofu_nop(self->vcq, TCQ, number(i)), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
		ASSERT_EQ(cbdata, number(i));
	}
	EXPECT_EQ(utofu_nop(lazy, TCQ, NULL), UTOFU_ERR_BUSY);
	EXPECT_EQ(utofu_free_vcq(lazy), UTOFU_SUCCESS);
}

#define THREADS 4
#define ADDS 3000

struct adder {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_stadd_t at;
	unsigned int reports;
	int failed;
};

/* Every thread takes reports of any thread: only their sum is known. */
static void *adder_main(void *arg)
{
	struct adder *adder = arg;
	void *cbdata;
	int code;

	for (int i = 0; i < ADDS; i++) {
		do {
			code = utofu_armw8(adder->vcq, adder->id,
					   UTOFU_ARMW_OP_ADD, 1, adder->at, 0,
					   TCQ, adder);
			if (utofu_poll_tcq(adder->vcq, 0, &cbdata) ==
			    UTOFU_SUCCESS)
				adder->reports++;
		} while (code == UTOFU_ERR_BUSY);
		adder->failed |= code;
	}
	return NULL;
}

TEST_F(queue, threads_share_a_thread_safe_vcq)
{
	struct adder adder[THREADS] = { 0 };
	pthread_t thread[THREADS];
	unsigned int reports = 0;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_stadd_t at;
	void *cbdata;

	ASSERT_EQ(utofu_create_vcq(0, UTOFU_VCQ_FLAG_THREAD_SAFE, &vcq),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(vcq, &id), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem(vcq, self->word, 8, 0, &at), UTOFU_SUCCESS);
	for (int i = 0; i < THREADS; i++) {
		adder[i] = (struct adder){ .vcq = vcq, .id = id, .at = at };
		ASSERT_EQ(pthread_create(&thread[i], NULL, adder_main,
					 &adder[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
		EXPECT_EQ(adder[i].failed, 0);
		reports += adder[i].reports;
	}
	for (; reports < THREADS * ADDS; reports++)
		ASSERT_EQ(tofu_wait_tcq(vcq, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_poll_tcq(vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(self->word[0], THREADS * ADDS);
	EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
}

TEST_HARNESS_MAIN
