/* SPDX-License-Identifier: MIT */
/*
 * Holes: senders that stop at each step, and senders that are only late. The
 * others' records all come, and so do those of the late.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "srb-util.h"
#include "harness.h"

#define KIB 1024
#define PATIENCE_NS 20000000
#define SECOND_NS UINT64_C(1000000000)

static const struct srb_scene few = {
	.bytes = 4 * KIB,
	.patience_ns = PATIENCE_NS,
	.senders = 3,
	.letters = 3000,
	.least = sizeof(struct letter),
	.most = 400,
	.sender = {
		.pool = 16 * KIB,
		.records = 16,
	},
};

static struct srb_scene scene;

FIXTURE(epochs){};

FIXTURE_SETUP(epochs)
{
	scene = few;
}

FIXTURE_TEARDOWN(epochs)
{
}

/* ---- A sender of plain uTofu, which does what it likes ---- */

/**
 * struct breaker
 * @peer: only its address
 * @counters: STADD
 */
struct breaker {
	utofu_vcq_hdl_t vcq;
	struct tofu_srb_peer peer;
	utofu_stadd_t counters;
};

static struct breaker breaker_make(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to)
{
	struct breaker breaker = {
		.vcq = vcq,
		.peer = scene_peer(&scene, to),
	};

	CHECK(!utofu_query_stadd(to, SRB_STAG, &breaker.counters));
	return breaker;
}

static uint64_t breaker_armw(const struct breaker *breaker,
			     enum utofu_armw_op op, uint64_t value,
			     unsigned int at)
{
	struct utofu_mrq_notice notice;

	CHECK(!utofu_armw8(breaker->vcq, breaker->peer.address.vcq, op, value,
			   breaker->counters + at, 0, LCL, NULL));
	CHECK(!tofu_wait_mrq(breaker->vcq, &notice));
	return notice.rmt_value;
}

static uint64_t breaker_reserve(const struct breaker *breaker, uint64_t bytes)
{
	return breaker_armw(breaker, UTOFU_ARMW_OP_ADD, bytes, SRB_PRODUCER);
}

static uint64_t breaker_consumer(const struct breaker *breaker)
{
	return breaker_armw(breaker, UTOFU_ARMW_OP_OR, 0, SRB_CONSUMER);
}

/* Returns what came of it. */
static int breaker_put(const struct breaker *breaker, uint64_t place,
		       uint64_t at, uint64_t word)
{
	struct utofu_mrq_notice notice;
	utofu_stadd_t to;

	CHECK(!utofu_query_stadd(breaker->peer.address.vcq,
				 srb_epoch_stag(SRB_STAG, place), &to));
	to += (place + at) & (scene.bytes - 1);
	CHECK(!utofu_put_piggyback8(breaker->vcq, breaker->peer.address.vcq,
				    word, to, SRB_WORD, 0, LCL, NULL));
	return tofu_wait_mrq(breaker->vcq, &notice);
}

static void until_room(const struct breaker *breaker, uint64_t place,
		       uint64_t bytes)
{
	time_t since = time(NULL);

	while (place + bytes - breaker_consumer(breaker) > scene.bytes) {
		CHECK(time(NULL) - since <= WAIT_SECONDS);
		/* Somebody else's hole ended the epoch, or a slow one's did. */
		if (srb_later(breaker_consumer(breaker), place))
			return;
		sched_yield();
	}
}

static void until_later(const struct breaker *breaker, uint64_t place)
{
	time_t since = time(NULL);

	while (!srb_later(breaker_consumer(breaker), place)) {
		CHECK(time(NULL) - since <= WAIT_SECONDS);
		sched_yield();
	}
}

/* Where a sender stops: after this number of words of its record. */
#define HOLE_PAYLOAD 120
#define HOLE_BYTES (HOLE_PAYLOAD + TOFU_SRB_OVERHEAD)
#define HOLE_WORDS (HOLE_BYTES / SRB_WORD)

static uint64_t hole_word(uint64_t place, uint64_t word)
{
	if (word == 0)
		return SRB_DATA | HOLE_PAYLOAD;
	return word + 1 == HOLE_WORDS ? srb_tail(place) : ~word;
}

static void hole_make(const struct breaker *breaker, uint64_t words)
{
	uint64_t place = breaker_reserve(breaker, HOLE_BYTES);

	until_room(breaker, place, HOLE_BYTES);
	for (uint64_t w = 0; w < words; w++)
		(void)breaker_put(breaker, place, w * SRB_WORD,
				  hole_word(place, w));
	until_later(breaker, place);
	/* Awake again, it finishes what it began. */
	for (uint64_t w = words; w < HOLE_WORDS; w++)
		CHECK(breaker_put(breaker, place, w * SRB_WORD,
				  hole_word(place, w)) ==
		      UTOFU_ERR_MRQ_RMT_STADD);
}

/* ---- Holes among others' records ---- */

static uint64_t holes;

static void holes_play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	struct tofu_srb_counts counts;

	tofu_nodes_meet(nodes);
	if (node > scene.senders) {
		struct breaker breaker = breaker_make(vcq, nodes->vcq[0]);

		for (uint64_t h = 0; h < holes; h++)
			hole_make(&breaker, h % HOLE_WORDS);
		__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
	} else if (node) {
		scene_send(&scene, vcq, nodes->vcq[0], node);
	} else {
		scene_take_all(&scene, srb);
		while (!__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE)) {
			struct tofu_srb_record none;

			CHECK(tofu_srb_receive(srb, &none) ==
			      UTOFU_ERR_NOT_FOUND);
			sched_yield();
		}
		tofu_srb_counts(srb, &counts);
		CHECK(counts.records == scene.senders * scene.letters);
		CHECK(counts.epochs >= holes);
		CHECK(counts.skipped >= holes * HOLE_BYTES);
	}
	tofu_nodes_meet(nodes);
	tofu_srb_free(srb);
	CHECK(!utofu_free_vcq(vcq));
	tofu_nodes_meet(nodes);
}

TEST_F_TIMEOUT(epochs, holes_of_all_kinds, 120)
{
	holes = 2 * HOLE_WORDS;
	EXPECT_EQ(tofu_nodes_run(scene.senders + 2, holes_play, -1), 0);
}

/* Epochs wrap, and with them the choice of STAGs. */
TEST_F_TIMEOUT(epochs, epochs_wrap, 120)
{
	scene.letters = 500;
	scene.place = srb_epoch_begin(65530) + 8 * 77;
	holes = HOLE_WORDS;
	EXPECT_EQ(tofu_nodes_run(scene.senders + 2, holes_play, -1), 0);
}

/* ---- Patience ---- */

/*
 * The owner's patience begins anew with each place that is missing. It is so short
 * that a second look at the same place ends the epoch.
 */
TEST_F_TIMEOUT(epochs, patience_is_of_a_place, 60)
{
	utofu_vcq_hdl_t owner, sender;
	struct tofu_srb_counts counts;
	struct tofu_srb_record record;
	struct breaker breaker;
	time_t since = time(NULL);
	struct tofu_srb *srb;
	utofu_vcq_id_t id;
	uint64_t place;

	unsetenv("TOFU_FABRIC");
	scene.patience_ns = 1;
	ASSERT_EQ(utofu_create_vcq(0, 0, &owner), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(0, 0, &sender), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(owner, &id), UTOFU_SUCCESS);
	srb = scene_ring(&scene, owner);
	breaker = breaker_make(sender, id);
	place = breaker_reserve(&breaker, TOFU_SRB_OVERHEAD);
	breaker_reserve(&breaker, TOFU_SRB_OVERHEAD);
	EXPECT_EQ(tofu_srb_receive(srb, &record), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(breaker_put(&breaker, place, 0, SRB_PADDING), UTOFU_SUCCESS);
	EXPECT_EQ(breaker_put(&breaker, place, SRB_WORD, srb_tail(place)),
		  UTOFU_SUCCESS);
	EXPECT_EQ(tofu_srb_receive(srb, &record), UTOFU_ERR_NOT_FOUND);
	tofu_srb_counts(srb, &counts);
	EXPECT_EQ(counts.padding, 1);
	EXPECT_EQ(counts.epochs, 0);
	while (!counts.epochs) {
		EXPECT_EQ(tofu_srb_receive(srb, &record), UTOFU_ERR_NOT_FOUND);
		tofu_srb_counts(srb, &counts);
		ASSERT_LE(time(NULL) - since, WAIT_SECONDS);
	}
	tofu_srb_free(srb);
}

/*
 * The clock of the owner's patience, ns; 0: the real one. The machine is in this
 * process, too, and has nothing else to do with time here.
 */
static uint64_t stopped_clock;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC || !stopped_clock)
		return (int)syscall(SYS_clock_gettime, clock, time);
	time->tv_sec = (time_t)(stopped_clock / SECOND_NS);
	time->tv_nsec = (long)(stopped_clock % SECOND_NS);
	return 0;
}

static uint64_t epochs_after(struct tofu_srb *srb, uint64_t ns)
{
	struct tofu_srb_counts counts;
	struct tofu_srb_record none;

	stopped_clock += ns;
	CHECK(tofu_srb_receive(srb, &none) == UTOFU_ERR_NOT_FOUND);
	tofu_srb_counts(srb, &counts);
	return counts.epochs;
}

/* A second, and what half the ring takes at 100 MB/s */
TEST_F_TIMEOUT(epochs, patience_grows_with_the_ring, 60)
{
	utofu_vcq_hdl_t owner, sender;
	struct breaker breaker;
	struct tofu_srb *srb;
	utofu_vcq_id_t id;

	unsetenv("TOFU_FABRIC");
	scene.patience_ns = 0;
	ASSERT_EQ(utofu_create_vcq(0, 0, &owner), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(0, 0, &sender), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(owner, &id), UTOFU_SUCCESS);
	for (scene.bytes = 4 * KIB; scene.bytes <= 4096 * KIB; scene.bytes *= 32) {
		srb = scene_ring(&scene, owner);
		breaker = breaker_make(sender, id);
		breaker_reserve(&breaker, scene.bytes / 2);
		stopped_clock = SECOND_NS;
		EXPECT_EQ(epochs_after(srb, 0), 0);
		EXPECT_EQ(epochs_after(srb, SECOND_NS + scene.bytes / 2 * 10),
			  0);
		EXPECT_EQ(epochs_after(srb, 1), 1);
		stopped_clock = 0;
		tofu_srb_free(srb);
	}
}

/* ---- The start of a new epoch ---- */

static void ring_get(const struct breaker *breaker, uint64_t place, void *to)
{
	struct utofu_mrq_notice notice;
	utofu_stadd_t from, stadd;

	CHECK(!utofu_query_stadd(breaker->peer.address.vcq,
				 srb_epoch_stag(SRB_STAG, place), &from));
	CHECK(!utofu_reg_mem(breaker->vcq, to, scene.bytes, 0, &stadd));
	CHECK(!utofu_get(breaker->vcq, breaker->peer.address.vcq, stadd, from,
			 scene.bytes, 0, LCL, NULL));
	CHECK(!tofu_wait_mrq(breaker->vcq, &notice));
	CHECK(!utofu_dereg_mem(breaker->vcq, stadd, 0));
}

static void clear_play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	static char ring[4 * KIB], zero[4 * KIB];
	struct tofu_srb_record none;

	tofu_nodes_meet(nodes);
	if (node) {
		struct breaker breaker = breaker_make(vcq, nodes->vcq[0]);

		hole_make(&breaker, HOLE_WORDS - 1);
		ring_get(&breaker, breaker_consumer(&breaker), ring);
		CHECK(!memcmp(ring, zero, sizeof(ring)));
		__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
	}
	while (!node && !__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE))
		CHECK(tofu_srb_receive(srb, &none) == UTOFU_ERR_NOT_FOUND);
	tofu_nodes_meet(nodes);
	tofu_srb_free(srb);
	tofu_nodes_meet(nodes);
}

TEST_F_TIMEOUT(epochs, a_new_ring_is_clear, 60)
{
	EXPECT_EQ(tofu_nodes_run(2, clear_play, -1), 0);
}

/* ---- An epoch that is spent ---- */

static void spent_play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	struct tofu_srb_counts counts;

	tofu_nodes_meet(nodes);
	if (node) {
		scene_send(&scene, vcq, nodes->vcq[0], node);
	} else {
		scene_take_all(&scene, srb);
		tofu_srb_counts(srb, &counts);
		CHECK(counts.epochs == 1);
	}
	tofu_nodes_meet(nodes);
	tofu_srb_free(srb);
	tofu_nodes_meet(nodes);
}

/* Patience has no part in it. */
TEST_F_TIMEOUT(epochs, offsets_end, 60)
{
	scene.patience_ns = 60000000000;
	scene.place = srb_epoch_begin(65535) + SRB_OFFSET_END - 64 * KIB;
	EXPECT_EQ(tofu_nodes_run(scene.senders + 1, spent_play, -1), 0);
}

/* ---- Ports that are late ---- */

#define LATE_LETTERS 6

static void letter_send(struct tofu_srb_sender *sender, struct tofu_srb_peer *peer,
			uint64_t number)
{
	char text[200];
	struct iovec part = { text, sizeof(text) };

	letter_write(text, 1, number, sizeof(text));
	CHECK(!tofu_srb_send(sender, peer, &part, 1,
			     (void *)(uintptr_t)number));
}

/*
 * Reserves, sleeps until the epoch has ended, reserves more in the next, and
 * goes on: the first are void, and the others must not come before them.
 */
static void late_send(struct tofu_nodes *nodes, utofu_vcq_hdl_t vcq,
		      utofu_vcq_hdl_t other)
{
	struct tofu_srb_peer peer = scene_peer(&scene, nodes->vcq[0]);
	struct breaker watcher = breaker_make(other, nodes->vcq[0]);
	uint64_t before = breaker_consumer(&watcher);
	struct tofu_srb_sender *sender;
	time_t since = time(NULL);
	uint64_t ended = 0;

	CHECK(!tofu_srb_sender_create(vcq, &scene.sender, &sender));
	for (uint64_t n = 0; n < LATE_LETTERS / 2; n++)
		letter_send(sender, &peer, n);
	until_later(&watcher, before);
	for (uint64_t n = LATE_LETTERS / 2; n < LATE_LETTERS; n++)
		letter_send(sender, &peer, n);
	while (ended < LATE_LETTERS) {
		void *cbdata;
		int result, code = tofu_srb_poll(sender, &cbdata, &result);

		CHECK(time(NULL) - since <= WAIT_SECONDS);
		if (code == UTOFU_ERR_NOT_FOUND)
			continue;
		CHECK(!code && !result && (uintptr_t)cbdata == ended);
		ended++;
	}
	tofu_srb_sender_free(sender);
}

static void late_play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node), other;
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	uint64_t next[NODES_MAX] = { 0 };
	struct tofu_srb_counts counts;

	tofu_nodes_meet(nodes);
	if (node) {
		CHECK(!utofu_create_vcq(1, 0, &other));
		late_send(nodes, vcq, other);
	} else {
		for (int i = 0; i < LATE_LETTERS; i++)
			scene_take(&scene, srb, next);
		tofu_srb_counts(srb, &counts);
		CHECK(counts.epochs >= 1);
		CHECK(counts.padding >= LATE_LETTERS / 2);
	}
	tofu_nodes_meet(nodes);
	tofu_srb_free(srb);
	tofu_nodes_meet(nodes);
}

TEST_F_TIMEOUT(epochs, a_port_that_is_not_polled, 60)
{
	EXPECT_EQ(tofu_nodes_run(2, late_play, -1), 0);
}

/*
 * Processes are stopped anywhere, for longer than the patience. Neither their
 * records nor those of others are lost.
 */
static pid_t *pids;

static void stopper(const struct tofu_nodes *nodes)
{
	uint64_t random = 1;

	for (int i = 0; i < 60; i++) {
		pid_t pid = pids[1 + srb_random(&random) % scene.senders];

		if (__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE))
			return;
		usleep(srb_random(&random) % 20000);
		kill(pid, SIGSTOP);
		usleep(2 * PATIENCE_NS / 1000);
		kill(pid, SIGCONT);
	}
}

static void stopped_play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(&scene, vcq);
	struct tofu_srb_counts counts;

	pids[node] = getpid();
	tofu_nodes_meet(nodes);
	if (node > scene.senders) {
		stopper(nodes);
	} else if (node) {
		scene_send(&scene, vcq, nodes->vcq[0], node);
	} else {
		scene_take_all(&scene, srb);
		__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
		tofu_srb_counts(srb, &counts);
		fprintf(stderr, "# %lu epochs, %lu bytes skipped, %lu padding\n",
			counts.epochs, counts.skipped, counts.padding);
	}
	tofu_nodes_meet(nodes);
	tofu_srb_free(srb);
	tofu_nodes_meet(nodes);
}

TEST_F_TIMEOUT(epochs, senders_that_are_stopped, 120)
{
	scene.letters = 20000;
	pids = mmap(NULL, NODES_MAX * sizeof(*pids), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(pids, MAP_FAILED);
	EXPECT_EQ(tofu_nodes_run(scene.senders + 2, stopped_play, -1), 0);
}

TEST_HARNESS_MAIN
