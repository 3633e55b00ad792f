/* SPDX-License-Identifier: MIT */
/*
 * Exchanges that cannot be made, connected or ended; and that a running one asks
 * nothing of the system.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "alloc-util.h"
#include "exchange-util.h"
#include "exchange/internal.h"
#include "harness.h"

#define BYTES 100

static char sent[BYTES], got[2][BYTES];

/* To oneself and back */
static const struct tofu_message to_self = {
	.send = sent,
	.send_bytes = BYTES,
	.recv = {
		got[0],
		got[1],
	},
	.recv_bytes = BYTES,
};

static int create(const struct tofu_neighbor_params *params,
		  const struct tofu_message *message, unsigned int count)
{
	struct tofu_exchange *exchange = NULL;
	int code = tofu_neighbor_create(params, message, count, &exchange);

	if (code && exchange)
		return UTOFU_ERR_FATAL;
	tofu_exchange_free(exchange);
	return code;
}

TEST(bad_messages)
{
	struct tofu_message m[65];

	for (int i = 0; i < 65; i++) {
		m[i] = to_self;
		m[i].back = (unsigned int)i;
	}
	EXPECT_EQ(create(NULL, m, 1), UTOFU_SUCCESS);
	EXPECT_EQ(create(NULL, m, 64), UTOFU_SUCCESS);
	EXPECT_EQ(create(NULL, m, 65), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(create(NULL, m, 0), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(create(NULL, NULL, 1), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_neighbor_create(NULL, m, 1, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(create(NULL, m, 2), UTOFU_SUCCESS);
	m[1].back = 2;
	EXPECT_EQ(create(NULL, m, 2), UTOFU_ERR_INVALID_NUMBER);
	m[1] = m[0];
	m[1].send = NULL;
	EXPECT_EQ(create(NULL, m, 2), UTOFU_ERR_INVALID_POINTER);
	m[1] = m[0];
	m[1].recv[1] = NULL;
	EXPECT_EQ(create(NULL, m, 2), UTOFU_ERR_INVALID_POINTER);
	m[1] = m[0];
	m[1].recv[1] = got[0] + BYTES - 1;
	EXPECT_EQ(create(NULL, m, 2), UTOFU_ERR_INVALID_ADDRESS);
}

TEST(bad_parameters)
{
	struct tofu_neighbor_params good = { .barrier = UTOFU_VBG_ID_NULL };
	struct tofu_neighbor_params p = good;

	EXPECT_EQ(create(&p, &to_self, 1), UTOFU_SUCCESS);
	p.engines = 5;
	EXPECT_EQ(create(&p, &to_self, 1), UTOFU_ERR_INVALID_NUMBER);
	p = good;
	p.algorithm = (enum tofu_neighbor_algorithm)3;
	EXPECT_EQ(create(&p, &to_self, 1), UTOFU_ERR_INVALID_ARG);
	p = good;
	p.form = (enum tofu_neighbor_form)3;
	EXPECT_EQ(create(&p, &to_self, 1), UTOFU_ERR_INVALID_ARG);
	p = good;
	p.machine = "none";
	EXPECT_EQ(create(&p, &to_self, 1), UTOFU_ERR_INVALID_ARG);
}

/* An exchange returns all that it takes, or queues would run out soon. */
TEST(made_and_freed_many_times)
{
	for (int i = 0; i < 40; i++)
		ASSERT_EQ(create(NULL, &to_self, 1), UTOFU_SUCCESS);
}

TEST(no_queue_left)
{
	struct tofu_exchange *all[32];
	int made = 0, code;

	while (!(code = tofu_neighbor_create(NULL, &to_self, 1, &all[made])))
		ASSERT_LT(++made, 32);
	EXPECT_EQ(code, UTOFU_ERR_FULL);
	while (made)
		tofu_exchange_free(all[--made]);
	EXPECT_EQ(create(NULL, &to_self, 1), UTOFU_SUCCESS);
}

/* ---- One exchange with oneself ---- */

FIXTURE(self)
{
	struct tofu_exchange *exchange;
	struct tofu_exchange_card card;
};

FIXTURE_SETUP(self)
{
	ASSERT_EQ(tofu_neighbor_create(NULL, &to_self, 1, &self->exchange), 0);
	ASSERT_EQ(tofu_exchange_card(self->exchange, 0, &self->card), 0);
}

FIXTURE_TEARDOWN(self)
{
	tofu_exchange_free(self->exchange);
}

TEST_F(self, not_connected)
{
	void *buffer;

	EXPECT_EQ(tofu_exchange_start(self->exchange), UTOFU_ERR_INVALID_ARG);
	EXPECT_EQ(tofu_exchange_test(self->exchange), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_exchange_received(self->exchange, 0, &buffer),
		  UTOFU_ERR_NOT_PROCESSED);
}

TEST_F(self, bad_arguments)
{
	enum tofu_neighbor_algorithm algorithm;
	struct tofu_exchange *x = self->exchange;
	void *buffer;
	size_t puts;

	EXPECT_EQ(tofu_exchange_card(NULL, 0, &self->card),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_card(x, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_card(x, 1, &self->card),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_exchange_connect(NULL, 0, &self->card),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_connect(x, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_connect(x, 1, &self->card),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_exchange_start(NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_test(NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_wait(NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_received(NULL, 0, &buffer),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_received(x, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_received(x, 1, &buffer),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(tofu_exchange_puts(NULL, &puts), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_exchange_puts(x, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_neighbor_algorithm(NULL, &algorithm),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_neighbor_algorithm(x, NULL), UTOFU_ERR_INVALID_POINTER);
	tofu_exchange_free(NULL);
}

/* How many puts six messages to this process itself take */
static size_t puts_of(enum tofu_neighbor_algorithm algorithm)
{
	const struct tofu_neighbor_params params = {
		.algorithm = algorithm,
		.engines = 4,
		.barrier = UTOFU_VBG_ID_NULL,
	};
	struct tofu_exchange *exchange;
	struct tofu_message m[6];
	size_t puts = 0;

	for (unsigned int i = 0; i < 6; i++) {
		m[i] = to_self;
		m[i].back = i;
	}
	if (tofu_neighbor_create(&params, m, 6, &exchange))
		return 0;
	tofu_exchange_puts(exchange, &puts);
	tofu_exchange_free(exchange);
	return puts;
}

/* Segments are half messages: 12 puts are the same for each of four engines. */
TEST(puts_are_counted)
{
	EXPECT_EQ(puts_of(TOFU_NEIGHBOR_NATIVE), 6);
	EXPECT_EQ(puts_of(TOFU_NEIGHBOR_SEGMENTED), 12);
}

TEST_F(self, one_at_a_time)
{
	ASSERT_EQ(tofu_exchange_connect(self->exchange, 0, &self->card), 0);
	EXPECT_EQ(tofu_exchange_connect(self->exchange, 0, &self->card),
		  UTOFU_ERR_USED);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), UTOFU_ERR_BUSY);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), 0);
}

/* Every word that is not of the engines is looked at. */
TEST_F(self, cards_that_are_none)
{
	for (int word = 0; word < 5; word++) {
		struct tofu_exchange_card card = self->card;

		card.word[word] ^= 1;
		EXPECT_EQ(tofu_exchange_connect(self->exchange, 0, &card),
			  UTOFU_ERR_INVALID_DATA)
		TH_LOG("word %d", word);
	}
	self->card.word[5] = ~0ULL;
	EXPECT_EQ(tofu_exchange_connect(self->exchange, 0, &self->card),
		  UTOFU_ERR_INVALID_DATA);
	ASSERT_EQ(tofu_exchange_card(self->exchange, 0, &self->card), 0);
	EXPECT_EQ(tofu_exchange_connect(self->exchange, 0, &self->card), 0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), 0);
}

/* The other process has other engines, another algorithm, form or barrier. */
TEST_F(self, cards_of_other_exchanges)
{
	struct tofu_message m[6];
	struct tofu_neighbor_params of[] = {
		{
			.engines = 4,
			.algorithm = TOFU_NEIGHBOR_SEGMENTED,
			.barrier = UTOFU_VBG_ID_NULL,
		},
		{
			.engines = 3,
			.algorithm = TOFU_NEIGHBOR_SEGMENTED,
			.barrier = UTOFU_VBG_ID_NULL,
		},
		{
			.engines = 4,
			.algorithm = TOFU_NEIGHBOR_NATIVE,
			.barrier = UTOFU_VBG_ID_NULL,
		},
		{
			.engines = 4,
			.algorithm = TOFU_NEIGHBOR_SEGMENTED,
			.form = TOFU_NEIGHBOR_TWO_SIDED,
			.barrier = UTOFU_VBG_ID_NULL,
		},
		{
			.engines = 4,
			.algorithm = TOFU_NEIGHBOR_SEGMENTED,
			.form = TOFU_NEIGHBOR_STEPS,
			.barrier = UTOFU_VBG_ID_NULL,
		},
		{
			.engines = 4,
			.algorithm = TOFU_NEIGHBOR_SEGMENTED,
			.barrier = 0,
		},
	};
	struct tofu_exchange *x[6];

	for (unsigned int i = 0; i < 6; i++) {
		m[i] = to_self;
		m[i].back = i ^ 1;
	}
	for (int i = 0; i < 6; i++)
		ASSERT_EQ(tofu_neighbor_create(&of[i], m, 6, &x[i]), 0);
	for (int i = 5; i >= 0; i--) {
		ASSERT_EQ(tofu_exchange_card(x[i], 1, &self->card), 0);
		EXPECT_EQ(tofu_exchange_connect(x[0], 0, &self->card),
			  i ? UTOFU_ERR_INVALID_DATA : UTOFU_SUCCESS)
		TH_LOG("card of exchange %d", i);
	}
	for (int i = 0; i < 6; i++)
		tofu_exchange_free(x[i]);
}

/* Memory that has been taken back: a failure, and told again and again. */
TEST_F(self, what_went_wrong_stays)
{
	struct tofu_exchange *gone;
	struct tofu_exchange_card card;
	int code;

	ASSERT_EQ(tofu_neighbor_create(NULL, &to_self, 1, &gone), 0);
	ASSERT_EQ(tofu_exchange_card(gone, 0, &card), 0);
	tofu_exchange_free(gone);
	ASSERT_EQ(tofu_exchange_connect(self->exchange, 0, &card), 0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	code = tofu_exchange_wait(self->exchange);
	EXPECT_EQ(code, UTOFU_ERR_MRQ_PEER);
	EXPECT_EQ(tofu_exchange_test(self->exchange), code);
	EXPECT_EQ(tofu_exchange_start(self->exchange), code);
}

TEST_F(self, more_than_belongs_to_an_exchange)
{
	utofu_vcq_hdl_t vcq;

	ASSERT_EQ(tofu_exchange_connect(self->exchange, 0, &self->card), 0);
	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), 0);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(utofu_put_piggyback8(vcq, self->card.word[5], 0,
					       self->card.word[6], 8, 0, RMT,
					       NULL),
			  0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), UTOFU_ERR_MRQ_OTHER);
	EXPECT_EQ(utofu_free_vcq(vcq), 0);
}

/* Its neighbour is there and has sent all, and yet it has not got its part. */
TEST_F(self, a_part_that_fails_while_its_neighbour_is_asked)
{
	const utofu_stadd_t got_first = self->card.word[6];

	self->card.word[7] = got_first + (1ULL << 30);
	ASSERT_EQ(tofu_exchange_connect(self->exchange, 0, &self->card), 0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_start(self->exchange), 0);
	EXPECT_EQ(utofu_put_piggyback8(self->exchange->engine[0].vcq,
				       self->card.word[5], 0, got_first, 8,
				       EXCHANGE_EDATA(1, 0), RMT, NULL),
		  0);
	EXPECT_EQ(exchange_probe(self->exchange), 0);
	EXPECT_EQ(tofu_exchange_wait(self->exchange), UTOFU_ERR_MRQ_RMT_STADD);
}

/* ---- A neighbour that dies ---- */

static struct scene scene = {
	.grid = { 3, { 3, 1, 1 }, 7 },
	.bytes = { 5000, 5000, 1, 1, 0, 0 },
	.params = { .algorithm = TOFU_NEIGHBOR_SEGMENTED },
};

/**
 * enum last_act - what node 2 does in the last round
 * @DIES_LATE:  nothing, until the others have sent all and wait
 * @DIES_FIRST: nothing: it is gone when the others begin, or soon after
 * @DIES_BEGUN: it has begun, and dies
 * @FREES:      as @DIES_LATE, but it lives on, without its queues
 */
enum last_act {
	DIES_LATE,
	DIES_FIRST,
	DIES_BEGUN,
	FREES,
};

static enum last_act last_act;

/* Tests after which all that is sent has come and has been reported. */
#define TESTS_TO_SEND 5000

/* Rounds before the last one: both sets have been used. */
#define ROUNDS_BEFORE 3

static void exchange_rounds(struct actor *actor, unsigned int from,
			    unsigned int to)
{
	for (unsigned int round = from; round < to; round++) {
		actor_fill(actor, round);
		CHECK(!tofu_exchange_start(actor->exchange));
		CHECK(!tofu_exchange_wait(actor->exchange));
		actor_check(actor, round);
	}
}

static void others_wait(struct tofu_nodes *nodes, unsigned int count)
{
	while (__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE) != count)
		sched_yield();
}

static void victim_ends(struct tofu_nodes *nodes, struct actor *actor)
{
	if (last_act == DIES_LATE || last_act == FREES)
		others_wait(nodes, 2);
	if (last_act == DIES_BEGUN)
		CHECK(!tofu_exchange_start(actor->exchange));
	if (last_act != FREES)
		raise(SIGKILL);
	tofu_exchange_free(actor->exchange);
	others_wait(nodes, 4);
}

/* A put may have failed before wait(), which has to end whatever happens. */
static int survivor_waits(struct tofu_nodes *nodes, struct actor *actor)
{
	int code = tofu_exchange_start(actor->exchange);

	for (int i = 0; !code && i < TESTS_TO_SEND; i++) {
		code = tofu_exchange_test(actor->exchange);
		if (code == UTOFU_ERR_NOT_COMPLETED)
			code = UTOFU_SUCCESS;
	}
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_RELEASE);
	return code ? code : tofu_exchange_wait(actor->exchange);
}

static void victim(struct tofu_nodes *nodes, unsigned int node)
{
	struct actor actor;
	int code;

	actor_enter(&actor, nodes, node);
	exchange_rounds(&actor, 0, ROUNDS_BEFORE);
	if (node == 2) {
		victim_ends(nodes, &actor);
		return;
	}
	code = survivor_waits(nodes, &actor);
	/* A process that has begun may have sent and received all. */
	CHECK(code == UTOFU_ERR_MRQ_PEER ||
	      (last_act == DIES_BEGUN && !code) ||
	      (scene.meet && code == UTOFU_ERR_BARRIER_OTHER));
	CHECK(tofu_exchange_test(actor.exchange) == code);
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_RELEASE);
	tofu_exchange_free(actor.exchange);
}

FIXTURE(dying){};

FIXTURE_VARIANT(dying)
{
	enum tofu_neighbor_form form;
	bool meet;
};

FIXTURE_VARIANT_ADD(dying, one_sided){};

FIXTURE_VARIANT_ADD(dying, two_sided){
	.form = TOFU_NEIGHBOR_TWO_SIDED,
};

FIXTURE_VARIANT_ADD(dying, in_steps){
	.form = TOFU_NEIGHBOR_STEPS,
};

FIXTURE_VARIANT_ADD(dying, with_barrier){
	.meet = true,
};

FIXTURE_SETUP(dying)
{
	scene.params.form = variant->form;
	scene.meet = variant->meet;
	scene_prepare(&scene);
}

FIXTURE_TEARDOWN(dying)
{
}

TEST_F_TIMEOUT(dying, after_it_has_answered_all, 120)
{
	last_act = DIES_LATE;
	EXPECT_EQ(tofu_nodes_run(3, victim, 2), 0);
}

TEST_F_TIMEOUT(dying, before_it_is_asked, 120)
{
	last_act = DIES_FIRST;
	EXPECT_EQ(tofu_nodes_run(3, victim, 2), 0);
}

TEST_F_TIMEOUT(dying, when_it_has_begun, 120)
{
	last_act = DIES_BEGUN;
	EXPECT_EQ(tofu_nodes_run(3, victim, 2), 0);
}

/* A barrier does not know about the queues, and keeps waiting. */
TEST_F_TIMEOUT(dying, its_queues_alone, 120)
{
	if (variant->meet)
		SKIP(return, "the barrier waits for who has not begun");
	last_act = FREES;
	EXPECT_EQ(tofu_nodes_run(3, victim, -1), 0);
}

/* ---- A neighbour that is through, or late ---- */

/*
 * Unsuccessful tests that are enough for a probe of each neighbour. This many
 * take minutes on a busy machine: most of them are only counted.
 */
#define TESTS_LONG 70000

static struct scene line = {
	.grid = { 1, { 3 }, 0 },
	.bytes = { 5000, 700 },
	.params = { .algorithm = TOFU_NEIGHBOR_NATIVE },
};

static void waits_long(struct tofu_nodes *nodes, struct actor *actor)
{
	CHECK(!tofu_exchange_start(actor->exchange));
	actor->exchange->tests += TESTS_LONG - TESTS_TO_SEND;
	for (int i = 0; i < TESTS_TO_SEND; i++)
		CHECK(tofu_exchange_test(actor->exchange) ==
		      UTOFU_ERR_NOT_COMPLETED);
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_RELEASE);
	CHECK(!tofu_exchange_wait(actor->exchange));
}

/* Node 0 is through and gone; node 2 is late; node 1 is between them. */
static void late(struct tofu_nodes *nodes, unsigned int node)
{
	struct actor actor;

	actor_enter(&actor, nodes, node);
	exchange_rounds(&actor, 0, ROUNDS_BEFORE);
	actor_fill(&actor, ROUNDS_BEFORE);
	if (node == 1) {
		waits_long(nodes, &actor);
	} else {
		if (node == 2)
			others_wait(nodes, 1);
		CHECK(!tofu_exchange_start(actor.exchange));
		CHECK(!tofu_exchange_wait(actor.exchange));
	}
	actor_check(&actor, ROUNDS_BEFORE);
	actor_leave(&actor);
	others_wait(nodes, 1);
	tofu_nodes_meet(nodes);
}

/* Both ends wait for node 1. One of them has a message, but not the first. */
static void late_between(struct tofu_nodes *nodes, unsigned int node)
{
	struct actor actor;

	actor_enter(&actor, nodes, node);
	actor_fill(&actor, 0);
	if (node == 1) {
		others_wait(nodes, 2);
		CHECK(!tofu_exchange_start(actor.exchange));
		CHECK(!tofu_exchange_wait(actor.exchange));
	} else {
		waits_long(nodes, &actor);
	}
	actor_check(&actor, 0);
	exchange_rounds(&actor, 1, 1 + ROUNDS_BEFORE);
	actor_leave(&actor);
	tofu_nodes_meet(nodes);
}

FIXTURE(waiting){};

FIXTURE_SETUP(waiting)
{
	scene_prepare(&line);
}

FIXTURE_TEARDOWN(waiting)
{
}

TEST_F_TIMEOUT(waiting, who_is_through_may_go_meanwhile, 120)
{
	EXPECT_EQ(tofu_nodes_run(3, late, -1), 0);
}

TEST_F_TIMEOUT(waiting, at_an_open_boundary, 120)
{
	EXPECT_EQ(tofu_nodes_run(3, late_between, -1), 0);
}

/* ---- Nothing of the system ---- */

#define CALL(name)                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/*
 * Allow the calls of the machine in this thread, which a controller would make
 * instead, and calls that wait. Any other call ends the process.
 */
static void forbid_calls(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		CALL(futex),
#ifdef __NR_epoll_wait
		CALL(epoll_wait),
		CALL(poll),
#else /* younger processors have these alone */
		CALL(epoll_pwait),
		CALL(ppoll),
#endif
		CALL(process_vm_readv),
		CALL(sched_yield),
		CALL(clock_nanosleep), /* as of a poll that waits for long */
		CALL(sigaltstack), /* of the sanitizer, at the end */
		CALL(exit_group),
		CALL(write), /* of CHECK(), and to wake others */
		CALL(rt_sigprocmask), /* around that */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void asks_nothing(struct tofu_nodes *nodes, unsigned int node)
{
	void *volatile block;
	struct actor actor;

	actor_enter(&actor, nodes, node);
	/* In the first ones the machine's nodes get to know each other. */
	exchange_rounds(&actor, 0, 4);
	tofu_nodes_meet(nodes);
	CHECK(!alloc_watch());
	forbid_calls();
	exchange_rounds(&actor, 4, 50);
	CHECK(!alloc_calls());
	/* They would have been seen. */
	block = malloc(1);
	free(block);
	CHECK(alloc_calls() == 2);
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE) != 3)
		;
}

TEST(a_running_exchange_asks_nothing_of_the_system)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		SKIP(return, "an emulator has no seccomp");
	scene_prepare(&scene);
	EXPECT_EQ(tofu_nodes_run(3, asks_nothing, -1), 0);
	scene.params.form = TOFU_NEIGHBOR_STEPS;
	EXPECT_EQ(tofu_nodes_run(3, asks_nothing, -1), 0);
	scene.params.form = TOFU_NEIGHBOR_TWO_SIDED;
	scene.meet = true;
	EXPECT_EQ(tofu_nodes_run(3, asks_nothing, -1), 0);
}

TEST_HARNESS_MAIN
