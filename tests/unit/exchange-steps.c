/* SPDX-License-Identifier: MIT */
/*
 * An exchange in steps posts nothing of a step before all puts of the last one
 * have ended here. The linker gives the library's posts and polls of reports to
 * this file, which counts them, holds reports back, and makes them fail.
 */
#include <string.h>

#include <tofu/neighbor.h>

#include "exchange/internal.h"
#include "harness.h"

#define ENGINES 4
#define NEIGHBORS_MAX 13
#define BYTES_MAX 5003
#define ROUNDS 3

/* One poll in so many finds reports: engines end a step at different times. */
#define POLLS_IN_VAIN 7

/* No post has this number. */
#define NEVER UINT32_MAX

/* Enough to do all that can be done without the reports that are held back */
#define TESTS_HELD 2000

/**
 * struct watched - what the library has done in an exchange
 * @engines: posts of a step; 0: nothing is being watched
 * @posts, @ended: posts, and their reports that the library has seen
 * @polls:   for reports, of which most find nothing yet
 * @early:   posts that came before the last step had ended
 * @held:    queue whose reports do not come
 * @fails:   number of the post that fails
 * @lost:    the next report says that a put has failed
 */
static struct watched {
	unsigned int engines;
	uint32_t posts;
	uint32_t ended;
	uint32_t polls;
	uint32_t early;
	utofu_vcq_hdl_t held;
	uint32_t fails;
	bool lost;
} watched;

int __real_utofu_post_toq(utofu_vcq_hdl_t vcq, void *desc, size_t bytes,
			  void *cbdata);
int __wrap_utofu_post_toq(utofu_vcq_hdl_t vcq, void *desc, size_t bytes,
			  void *cbdata);
int __real_utofu_poll_tcq(utofu_vcq_hdl_t vcq, unsigned long int flags,
			  void **cbdata);
int __wrap_utofu_poll_tcq(utofu_vcq_hdl_t vcq, unsigned long int flags,
			  void **cbdata);

/* Each post is one engine's part of a step: the parts here are short. */
int __wrap_utofu_post_toq(utofu_vcq_hdl_t vcq, void *desc, size_t bytes,
			  void *cbdata)
{
	if (watched.engines) {
		uint32_t step = watched.posts / watched.engines;

		if (watched.posts == watched.fails)
			return UTOFU_ERR_FATAL;
		watched.early += watched.ended != step * watched.engines;
		watched.posts++;
	}
	return __real_utofu_post_toq(vcq, desc, bytes, cbdata);
}

int __wrap_utofu_poll_tcq(utofu_vcq_hdl_t vcq, unsigned long int flags,
			  void **cbdata)
{
	int code;

	if (watched.engines &&
	    (vcq == watched.held || ++watched.polls % POLLS_IN_VAIN))
		return UTOFU_ERR_NOT_FOUND;
	code = __real_utofu_poll_tcq(vcq, flags, cbdata);
	if (!code && watched.lost)
		return UTOFU_ERR_TCQ_OTHER;
	watched.ended += !code;
	return code;
}

static void watch(unsigned int engines)
{
	watched = (struct watched){ .engines = engines, .fails = NEVER };
}

/* ---- Messages to oneself ---- */

static uint8_t sent[NEIGHBORS_MAX][BYTES_MAX];
static uint8_t got[EXCHANGE_SETS][NEIGHBORS_MAX][BYTES_MAX];

static void fill(unsigned int round)
{
	for (unsigned int i = 0; i < NEIGHBORS_MAX; i++)
		for (size_t at = 0; at < BYTES_MAX; at++)
			sent[i][at] = (uint8_t)(at * 7 + (at >> 8) + i * 31 +
						round * 101);
}

/* What comes with message i is message i, or its pair's. */
static struct tofu_exchange *make(unsigned int neighbors, unsigned int engines,
				  size_t bytes, enum tofu_neighbor_form form)
{
	const struct tofu_neighbor_params params = {
		.engines = engines,
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
		.form = form,
		.barrier = UTOFU_VBG_ID_NULL,
	};
	struct tofu_message m[NEIGHBORS_MAX] = { 0 };
	struct tofu_exchange_card card;
	struct tofu_exchange *exchange;

	for (unsigned int i = 0; i < neighbors; i++)
		m[i] = (struct tofu_message){
			.send = sent[i],
			.send_bytes = bytes,
			.recv = { got[0][i], got[1][i] },
			.recv_bytes = bytes,
			.back = (i ^ 1) < neighbors ? i ^ 1 : i,
		};
	if (tofu_neighbor_create(&params, m, neighbors, &exchange))
		return NULL;
	for (unsigned int i = 0; i < neighbors; i++)
		if (tofu_exchange_card(exchange, m[i].back, &card) ||
		    tofu_exchange_connect(exchange, i, &card)) {
			tofu_exchange_free(exchange);
			return NULL;
		}
	return exchange;
}

static bool all_came(const struct tofu_exchange *exchange, size_t bytes)
{
	for (unsigned int i = 0; i < exchange->messages; i++) {
		void *buffer;

		if (tofu_exchange_received(exchange, i, &buffer) ||
		    memcmp(buffer, sent[exchange->message[i].back], bytes))
			return false;
	}
	return true;
}

/* ---- Steps ---- */

static uint32_t puts_of(unsigned int neighbors, unsigned int engines)
{
	unsigned int a = neighbors, b = engines;

	while (b) {
		unsigned int rest = a % b;

		a = b;
		b = rest;
	}
	return neighbors > engines && engines > 1 ? neighbors * engines / a :
						    neighbors;
}

/* Whether each round comes right, without a post that is early */
static bool steps_right(unsigned int neighbors, unsigned int engines,
			size_t bytes)
{
	struct tofu_exchange *exchange =
		make(neighbors, engines, bytes, TOFU_NEIGHBOR_STEPS);
	bool right = exchange;

	for (unsigned int round = 0; right && round < ROUNDS; round++) {
		fill(round);
		memset(got[round % EXCHANGE_SETS], 0, sizeof(got[0]));
		watch(engines);
		right = !tofu_exchange_start(exchange) &&
			watched.posts <= engines &&
			!tofu_exchange_wait(exchange) &&
			watched.posts == puts_of(neighbors, engines) &&
			watched.ended == watched.posts && !watched.early &&
			all_came(exchange, bytes);
	}
	watch(0);
	tofu_exchange_free(exchange);
	return right;
}

TEST(a_step_begins_when_the_last_one_has_ended_here)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 1001, BYTES_MAX };

	for (unsigned int n = 1; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 1; c <= ENGINES; c++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]);
			     i++) {
				EXPECT_TRUE(steps_right(n, c, sizes[i]))
				TH_LOG("%u messages of %zu on %u engines", n,
				       sizes[i], c);
			}
}

/* The form that runs freely posts an engine's whole list: there are no steps. */
TEST(all_at_once_is_one_step)
{
	struct tofu_exchange *exchange =
		make(6, ENGINES, BYTES_MAX, TOFU_NEIGHBOR_ONE_SIDED);

	ASSERT_NE(NULL, exchange);
	watch(ENGINES);
	EXPECT_EQ(0, tofu_exchange_start(exchange));
	EXPECT_EQ(0, tofu_exchange_wait(exchange));
	EXPECT_EQ(ENGINES, watched.posts);
	watch(0);
	tofu_exchange_free(exchange);
}

FIXTURE(steps)
{
	struct tofu_exchange *exchange;
};

FIXTURE_SETUP(steps)
{
	self->exchange = make(6, ENGINES, BYTES_MAX, TOFU_NEIGHBOR_STEPS);
	ASSERT_NE(NULL, self->exchange);
	fill(0);
	watch(ENGINES);
}

FIXTURE_TEARDOWN(steps)
{
	watch(0);
	tofu_exchange_free(self->exchange);
}

TEST_F(steps, one_engine_holds_all_back)
{
	for (unsigned int e = 0; e < ENGINES; e++) {
		watch(ENGINES);
		watched.held = self->exchange->engine[e].vcq;
		EXPECT_EQ(0, tofu_exchange_start(self->exchange));
		for (int i = 0; i < TESTS_HELD; i++)
			EXPECT_EQ(UTOFU_ERR_NOT_COMPLETED,
				  tofu_exchange_test(self->exchange));
		EXPECT_EQ(ENGINES, watched.posts);
		EXPECT_EQ(ENGINES - 1, watched.ended);
		watched.held = 0;
		EXPECT_EQ(0, tofu_exchange_wait(self->exchange));
		EXPECT_EQ(0, watched.early);
		EXPECT_TRUE(all_came(self->exchange, BYTES_MAX));
	}
}

TEST_F(steps, a_post_that_fails_is_the_last)
{
	watched.fails = ENGINES + 1;
	EXPECT_EQ(0, tofu_exchange_start(self->exchange));
	EXPECT_EQ(UTOFU_ERR_FATAL, tofu_exchange_wait(self->exchange));
	EXPECT_EQ(ENGINES + 1, watched.posts);
	EXPECT_EQ(UTOFU_ERR_FATAL, tofu_exchange_start(self->exchange));
}

TEST_F(steps, a_report_of_a_failure_ends_the_steps)
{
	EXPECT_EQ(0, tofu_exchange_start(self->exchange));
	watched.lost = true;
	EXPECT_EQ(UTOFU_ERR_TCQ_OTHER, tofu_exchange_wait(self->exchange));
	EXPECT_EQ(ENGINES, watched.posts);
	EXPECT_EQ(UTOFU_ERR_TCQ_OTHER, tofu_exchange_test(self->exchange));
}

TEST_HARNESS_MAIN
