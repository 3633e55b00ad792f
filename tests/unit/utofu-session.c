/* SPDX-License-Identifier: MIT */
/*
 * Session mode: commands that wait until others' commands let them go.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "utofu-util.h"

#define ENTRIES 2048
#define WORDS 64
#define SPS(n) UTOFU_ONESIDED_FLAG_SPS(n)
#define SESSION UTOFU_VCQ_FLAG_SESSION_MODE

/* @vcq has no session; what it lets go are the commands of @waiting. */
FIXTURE(session)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_hdl_t waiting;
	utofu_vcq_id_t id;
	utofu_vcq_id_t waiting_id;
	uint64_t *word;
	utofu_stadd_t at;	/* of @word, through either */
	utofu_stadd_t waiting_at;
};

FIXTURE_SETUP(session)
{
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(0, SESSION, &self->waiting), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->id), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(self->waiting, &self->waiting_id),
		  UTOFU_SUCCESS);
	self->word = aligned_alloc(256, WORDS * 8);
	memset(self->word, 0, WORDS * 8);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->word, WORDS * 8, 0,
				&self->at), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem(self->waiting, self->word, WORDS * 8, 0,
				&self->waiting_at), UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(session)
{
	EXPECT_EQ(utofu_free_vcq(self->waiting), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	free(self->word);
}

#define SELF FIXTURE_DATA(session)

/* The last word is what the steps are put into. */
static int let_go(const SELF *self, unsigned int steps)
{
	struct utofu_mrq_notice notice;
	int code = utofu_put_piggyback8(self->vcq, self->waiting_id, 1,
					self->waiting_at + 8 * (WORDS - 1), 8,
					0, LCL | SPS(steps), NULL);

	return code ? code : tofu_wait_mrq(self->vcq, &notice);
}

static int post_waiting(const SELF *self, unsigned int i, unsigned long flags)
{
	return utofu_put_piggyback8(self->waiting, self->id, i + 1,
				    self->at + 8 * i, 8, 0, TCQ | flags,
				    (void *)(uintptr_t)(i + 1));
}

/* Long enough for an engine that had let it go */
static bool none_went(const SELF *self)
{
	void *cbdata;

	for (int i = 0; i < 1000; i++)
		if (utofu_poll_tcq(self->waiting, 0, &cbdata) !=
		    UTOFU_ERR_NOT_FOUND)
			return false;
	return true;
}

/* A word of which nobody tells but itself */
static bool came(const SELF *self, unsigned int i, uint64_t value)
{
	struct utofu_mrq_notice notice;
	uint64_t now = 0;

	for (int tries = 0; tries < 1000000 && now != value; tries++) {
		utofu_poll_mrq(self->waiting, 0, &notice);
		now = __atomic_load_n(&self->word[i], __ATOMIC_ACQUIRE);
	}
	return now == value;
}

/* Those from @from to @to, and not one more */
static bool went(const SELF *self, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		void *cbdata = NULL;

		if (tofu_wait_tcq(self->waiting, &cbdata) ||
		    cbdata != (void *)(uintptr_t)(i + 1) ||
		    self->word[i] != i + 1)
			return false;
	}
	return none_went(self);
}

/* ---- Queues ---- */

static unsigned int cq_of(utofu_vcq_id_t id)
{
	utofu_tni_id_t tni;
	utofu_cq_id_t cq = 99;
	uint8_t coords[6];
	uint16_t extra;

	utofu_query_vcq_info(id, coords, &tni, &cq, &extra);
	return cq;
}

TEST_F(session, each_has_its_own_queue)
{
	utofu_vcq_hdl_t vcq[3];
	utofu_vcq_id_t id;

	EXPECT_EQ(cq_of(self->id), 0);
	EXPECT_EQ(cq_of(self->waiting_id), 1);
	for (unsigned int i = 0; i < 3; i++) {
		unsigned long flags = i ? UTOFU_VCQ_FLAG_THREAD_SAFE |
						  UTOFU_VCQ_FLAG_EXCLUSIVE : 0;

		ASSERT_EQ(utofu_create_vcq_with_cmp_id(0, 3, SESSION | flags,
						       &vcq[i]),
			  UTOFU_SUCCESS);
		ASSERT_EQ(utofu_query_vcq_id(vcq[i], &id), UTOFU_SUCCESS);
		EXPECT_EQ(cq_of(id), 2 + i);
	}
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
}

TEST_F(session, nobody_joins_it)
{
	utofu_vcq_hdl_t first, second;
	utofu_vcq_id_t first_id, second_id;

	ASSERT_EQ(utofu_create_vcq(1, SESSION, &first), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(1, 0, &second), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(first, &first_id), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(second, &second_id), UTOFU_SUCCESS);
	EXPECT_NE(cq_of(first_id), cq_of(second_id));
	EXPECT_EQ(utofu_free_vcq(first), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vcq(second), UTOFU_SUCCESS);
}

/* ---- Steps ---- */

TEST_F(session, commands_wait_and_go_one_for_each_step)
{
	for (unsigned int i = 0; i < 8; i++)
		ASSERT_EQ(post_waiting(self, i, 0), UTOFU_SUCCESS);
	EXPECT_TRUE(none_went(self));
	EXPECT_EQ(self->word[0], 0);
	ASSERT_EQ(let_go(self, 0), UTOFU_SUCCESS);
	EXPECT_TRUE(none_went(self));
	ASSERT_EQ(let_go(self, 1), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 0, 1));
	EXPECT_EQ(self->word[1], 0);
	ASSERT_EQ(let_go(self, 3), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 1, 4));
	EXPECT_EQ(self->word[4], 0);
	ASSERT_EQ(let_go(self, 15), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 4, 8));
	/* Eleven are left, for commands that are still to come. */
	for (unsigned int i = 8; i < 20; i++)
		ASSERT_EQ(post_waiting(self, i, 0), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 8, 19));
	EXPECT_EQ(self->word[19], 0);
}

/* Every kind of command brings them, when it names this VCQ. */
TEST_F(session, steps_of_every_kind_of_command)
{
	utofu_vcq_id_t to = self->waiting_id;
	utofu_stadd_t at = self->waiting_at + 8 * (WORDS - 1), own = self->at;
	uint64_t data[4] = { 0 };
	unsigned int n = 0;

	for (unsigned int i = 0; i < 12; i++)
		ASSERT_EQ(post_waiting(self, i, 0), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put(self->vcq, to, own + 400, at, 8, 0, SPS(1), NULL),
		  UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 1));
	n++;
	ASSERT_EQ(utofu_get(self->vcq, to, own + 400, at, 8, 0, SPS(1), NULL),
		  UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 1));
	n++;
	ASSERT_EQ(utofu_put_piggyback(self->vcq, to, data, at - 24, 32, 0,
				      SPS(1), NULL), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 1));
	n++;
	ASSERT_EQ(utofu_armw4(self->vcq, to, UTOFU_ARMW_OP_ADD, 1, at, 0,
			      SPS(1), NULL), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 1));
	n++;
	ASSERT_EQ(utofu_cswap8(self->vcq, to, 1, 2, at, 0, SPS(1), NULL),
		  UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 1));
	n++;
	/* Each block is a put of its own. */
	ASSERT_EQ(utofu_put_stride(self->vcq, to, own + 400, at - 16, 4, 8, 3,
				   0, SPS(1), NULL), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 3));
	n += 3;
	ASSERT_EQ(utofu_put_gap(self->vcq, to, own + 400, at, 8, 0, SPS(2), 8,
				1, NULL), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, n, n + 2));
	n += 2;
	EXPECT_EQ(self->word[n], 0);
}

TEST_F(session, a_command_that_failed_brings_none)
{
	struct utofu_mrq_notice notice;

	ASSERT_EQ(post_waiting(self, 0, 0), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put(self->vcq, self->waiting_id, self->at,
			    self->waiting_at + WORDS * 8, 8, 0, SPS(1), NULL),
		  UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	EXPECT_TRUE(none_went(self));
}

TEST_F(session, others_do_not_mind_steps)
{
	void *cbdata;

	ASSERT_EQ(utofu_put_piggyback8(self->vcq, self->id, 7, self->at, 8, 0,
				       TCQ | SPS(15), self), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(self->word[0], 7);
	EXPECT_EQ(utofu_nop(self->vcq, SPS(1), NULL), UTOFU_ERR_INVALID_FLAGS);
}

/* A command of the queue itself can let the next one go. */
TEST_F(session, a_command_can_let_its_successor_go)
{
	for (unsigned int i = 0; i < 20; i++)
		ASSERT_EQ(utofu_put_piggyback8(self->waiting, self->waiting_id,
					       i + 1, self->waiting_at + 8 * i,
					       8, 0, TCQ | SPS(1),
					       (void *)(uintptr_t)(i + 1)),
			  UTOFU_SUCCESS);
	EXPECT_TRUE(none_went(self));
	ASSERT_EQ(let_go(self, 1), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 0, 20));
}

TEST_F(session, a_nop_takes_a_step_and_each_block_takes_one)
{
	void *cbdata;

	ASSERT_EQ(utofu_put_stride(self->waiting, self->id,
				   self->waiting_at + 400, self->at + 8, 8, 8,
				   10, 0, TCQ, self), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_nop(self->waiting, TCQ, NULL), UTOFU_SUCCESS);
	ASSERT_EQ(post_waiting(self, 0, 0), UTOFU_SUCCESS);
	for (unsigned int i = 50; i < 60; i++)
		self->word[i] = i;
	EXPECT_TRUE(none_went(self));
	for (unsigned int i = 1; i <= 10; i++) {
		EXPECT_TRUE(none_went(self));
		EXPECT_EQ(self->word[i], 0);
		ASSERT_EQ(let_go(self, 1), UTOFU_SUCCESS);
		EXPECT_TRUE(came(self, i, 49 + i));
	}
	EXPECT_EQ(tofu_wait_tcq(self->waiting, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(cbdata, self);
	EXPECT_TRUE(none_went(self));
	ASSERT_EQ(let_go(self, 2), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_tcq(self->waiting, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(cbdata, NULL);
	EXPECT_TRUE(went(self, 0, 1));
}

/* ---- With what else there is ---- */

TEST_F(session, delayed_commands_wait_for_both)
{
	ASSERT_EQ(post_waiting(self, 0, DELAY), UTOFU_SUCCESS);
	ASSERT_EQ(let_go(self, 3), UTOFU_SUCCESS);
	EXPECT_TRUE(none_went(self));
	ASSERT_EQ(post_waiting(self, 1, 0), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 0, 2));
	ASSERT_EQ(post_waiting(self, 2, DELAY), UTOFU_SUCCESS);
	ASSERT_EQ(post_waiting(self, 3, 0), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 2, 3));
	ASSERT_EQ(let_go(self, 1), UTOFU_SUCCESS);
	EXPECT_TRUE(went(self, 3, 4));
}

TEST_F(session, prepared_commands_wait_one_by_one)
{
	uint8_t desc[3 * 32];
	size_t size;

	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(utofu_prepare_put_piggyback8(self->waiting, self->id,
						       i + 1, self->at + 8 * i,
						       8, 0, TCQ,
						       desc + 32 * i, &size),
			  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_post_toq(self->waiting, desc, sizeof(desc), NULL),
		  UTOFU_SUCCESS);
	EXPECT_TRUE(none_went(self));
	for (unsigned int i = 0; i < 3; i++) {
		void *cbdata;

		ASSERT_EQ(let_go(self, 1), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_tcq(self->waiting, &cbdata),
			  UTOFU_SUCCESS);
		EXPECT_EQ(self->word[i], i + 1);
		EXPECT_TRUE(none_went(self));
	}
}

TEST_F(session, a_full_queue_is_busy_until_commands_go)
{
	unsigned int posted = 0, seen = 0;
	void *cbdata;
	int code;

	while (!(code = utofu_nop(self->waiting, TCQ, NULL)) &&
	       posted <= ENTRIES)
		posted++;
	EXPECT_EQ(code, UTOFU_ERR_BUSY);
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(utofu_nop(self->waiting, TCQ, NULL),
			  UTOFU_ERR_BUSY);
	EXPECT_TRUE(none_went(self));
	while (seen < posted) {
		ASSERT_EQ(let_go(self, 15), UTOFU_SUCCESS);
		for (int i = 0; i < 15 && seen < posted; i++, seen++)
			ASSERT_EQ(tofu_wait_tcq(self->waiting, &cbdata),
				  UTOFU_SUCCESS);
	}
	EXPECT_EQ(utofu_nop(self->waiting, TCQ, NULL), UTOFU_SUCCESS);
}

/* The queue that comes next has neither the commands nor the steps. */
TEST_F(session, freed_while_commands_wait)
{
	for (int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 20; i++)
			ASSERT_EQ(post_waiting(self, i, 0), UTOFU_SUCCESS);
		if (round % 2) {
			ASSERT_EQ(let_go(self, 5), UTOFU_SUCCESS);
			EXPECT_TRUE(went(self, 0, 5));
		} else {
			ASSERT_EQ(utofu_free_vcq(self->waiting),
				  UTOFU_SUCCESS);
			ASSERT_EQ(utofu_create_vcq(0, SESSION, &self->waiting),
				  UTOFU_SUCCESS);
			ASSERT_EQ(utofu_reg_mem(self->waiting, self->word,
						WORDS * 8, 0,
						&self->waiting_at),
				  UTOFU_SUCCESS);
			ASSERT_EQ(let_go(self, 15), UTOFU_SUCCESS);
		}
		ASSERT_EQ(utofu_free_vcq(self->waiting), UTOFU_SUCCESS);
		EXPECT_EQ(self->word[5], 0);
		memset(self->word, 0, WORDS * 8);
		ASSERT_EQ(utofu_create_vcq(0, SESSION, &self->waiting),
			  UTOFU_SUCCESS);
		ASSERT_EQ(utofu_reg_mem(self->waiting, self->word, WORDS * 8,
					0, &self->waiting_at), UTOFU_SUCCESS);
	}
}

TEST_F(session, memory_is_taken_back_while_commands_wait)
{
	uint64_t source = 99;
	utofu_stadd_t from;
	void *cbdata;

	ASSERT_EQ(utofu_reg_mem(self->waiting, &source, 8, 0, &from),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put(self->waiting, self->id, from, self->at, 8, 0, 0,
			    self), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_dereg_mem(self->waiting, from, 0), UTOFU_SUCCESS);
	ASSERT_EQ(let_go(self, 1), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_tcq(self->waiting, &cbdata), UTOFU_ERR_TCQ_STADD);
	EXPECT_EQ(cbdata, self);
	EXPECT_EQ(self->word[0], 0);
}

/* ---- A chain over nodes ---- */

#define ROUNDS 3

/* Waits without calling the library. */
static void sleep_until(const unsigned int *word, unsigned int value)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	time_t since = time(NULL);

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
		CHECK(time(NULL) - since < WAIT_SECONDS);
		nanosleep(&moment, NULL);
	}
}

/*
 * Each node passes its word on to the next when the one before has put it
 * there: nodes 1 to 3 have posted that, and sleep. The last one's put comes
 * back to node 0, which has put the first.
 */
static void chain_node(struct tofu_nodes *nodes, unsigned int node)
{
	static uint64_t word __attribute__((aligned(256)));
	unsigned int next = (node + 1) % nodes->count;
	utofu_vcq_hdl_t vcq;

	CHECK(!utofu_create_vcq(0, node ? SESSION : 0, &vcq));
	CHECK(!utofu_query_vcq_id(vcq, &nodes->vcq[node]));
	CHECK(!utofu_reg_mem(vcq, &word, 8, 0, &nodes->stadd[node]));
	tofu_nodes_meet(nodes);
	for (int i = 0; i < ROUNDS && node; i++)
		CHECK(!utofu_put(vcq, nodes->vcq[next], nodes->stadd[node],
				 nodes->stadd[next], 8, 0, SPS(1), NULL));
	tofu_nodes_meet(nodes);
	for (unsigned int i = 1; i <= ROUNDS && !node; i++) {
		CHECK(!utofu_put_piggyback8(vcq, nodes->vcq[1], i,
					    nodes->stadd[1], 8, 0, SPS(1),
					    NULL));
		CHECK(!tofu_wait_word(&word, i));
		nodes->word[0] = i;
	}
	if (!node)
		__atomic_store_n((unsigned int *)&nodes->word[1], 1,
				 __ATOMIC_RELEASE);
	else
		sleep_until((unsigned int *)&nodes->word[1], 1);
	CHECK(!utofu_free_vcq(vcq));
	CHECK(word == ROUNDS);
}

TEST(a_chain_over_nodes_whose_programs_sleep)
{
	setenv("TOFU_PORT", "emu", 1);
	EXPECT_EQ(tofu_nodes_run(4, chain_node, -1), 0);
}

TEST_HARNESS_MAIN
