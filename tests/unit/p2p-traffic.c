/* SPDX-License-Identifier: MIT */
/*
 * Random traffic among processes: messages of all sizes to all, receives with
 * and without wildcards, posted before and after the messages come. Every byte is
 * checked, every message is received once, and in the order that matching has:
 *
 *   of two messages of one source, the earlier one goes to the receive that was
 *   posted earlier, if it fits that.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define PROCESSES 4

/* Of each process to each, itself too */
#define MESSAGES 400

/* That a process has under way, and receives that it has posted */
#define SENDS 24
#define RECEIVES 24

#define TAGS 4
#define TINY_TAG 1000
#define BYTES_MAX 40000

/* A message that was received by which receive */
struct matched {
	uint64_t posted;
	uint32_t source;
	uint64_t tag;
	unsigned int message;
};

struct post {
	struct tofu_p2p_request *request;
	uint64_t number;
	uint32_t source;
	uint64_t tag;
	size_t room;
	char *buf;
};

struct flying {
	struct tofu_p2p_request *request;
	char *buf;
};

/**
 * struct player - a process
 * @sent:    messages to each
 * @got:     messages from each
 * @pattern: source and tag of each receive
 * @wild:    receives of anything that are posted: never none
 */
struct player {
	struct tofu_p2p *p2p;
	unsigned int rank;
	uint64_t random;
	unsigned int sent[PROCESSES];
	struct flying flying[SENDS];
	struct post post[RECEIVES];
	uint64_t posts;
	unsigned int wild;
	unsigned int got;
	bool seen[PROCESSES][MESSAGES];
	struct matched matched[PROCESSES * MESSAGES];
	struct {
		uint32_t source;
		uint64_t tag;
	} pattern[1 << 16];
};

static struct tofu_p2p_params playing;
static bool naps;

/* Rings are taken back as soon as somebody else asks, and that is all the time. */
static bool restless;

static uint64_t rnd(struct player *player, uint64_t below)
{
	player->random = word_of(1, 2, 3, player->random);
	return player->random % below;
}

/* ---- Messages that both sides can compute ---- */

static uint64_t seed_of(unsigned int from, unsigned int to, unsigned int number)
{
	return word_of(from, to, number, 0);
}

static size_t bytes_of(uint64_t seed)
{
	switch (seed % 16) {
	case 0:
		return seed / 16 % 8;
	case 1:
	case 2:
		return 8 + seed / 16 % BYTES_MAX;
	case 3:
		return 8 + seed / 16 % 6000;
	default:
		return 8 + seed / 16 % 600;
	}
}

/* A message without room for its number has it in its tag. */
static uint64_t tag_of(uint64_t seed, unsigned int number)
{
	return seed % 16 ? seed / 7 % TAGS : TINY_TAG + number;
}

/* ---- Sending ---- */

static void send_one(struct player *player)
{
	unsigned int to = (unsigned int)rnd(player, PROCESSES);
	unsigned int number = player->sent[to];
	uint64_t seed = seed_of(player->rank, to, number);
	size_t bytes = bytes_of(seed);
	struct flying *flying = player->flying;
	int code;

	while (flying < player->flying + SENDS && flying->request)
		flying++;
	if (flying == player->flying + SENDS || number == MESSAGES)
		return;
	flying->buf = malloc(bytes + 8);
	data_fill(flying->buf, bytes, seed);
	if (bytes >= 8)
		memcpy(flying->buf, &(uint64_t){ number }, 8);
	code = tofu_p2p_isend(player->p2p, flying->buf, bytes, to,
			      tag_of(seed, number), &flying->request);
	/* A message to itself needs memory until it is received. */
	CHECK(!code || (code == UTOFU_ERR_OUT_OF_MEMORY && restless));
	if (code)
		free(flying->buf);
	else
		player->sent[to]++;
}

static void send_test(struct player *player)
{
	struct flying *flying = &player->flying[rnd(player, SENDS)];
	int code;

	if (!flying->request)
		return;
	code = tofu_p2p_test(player->p2p, &flying->request, NULL);
	CHECK(code == UTOFU_ERR_NOT_COMPLETED || !code);
	if (code)
		return;
	free(flying->buf);
}

/* ---- Receiving ---- */

static void post_one(struct player *player, struct post *post)
{
	uint64_t kind = player->wild ? rnd(player, 4) : 3;

	post->source = kind & 1 ? TOFU_P2P_ANY_SOURCE :
				  (uint32_t)rnd(player, PROCESSES);
	post->tag = kind & 2 ? TOFU_P2P_ANY_TAG : rnd(player, TAGS);
	post->room = rnd(player, 3) ? BYTES_MAX + 8 : 8 + rnd(player, 3000);
	post->buf = malloc(post->room + 1);
	post->buf[post->room] = 77;
	post->number = player->posts++;
	CHECK(post->number < 1 << 16);
	player->pattern[post->number].source = post->source;
	player->pattern[post->number].tag = post->tag;
	player->wild += kind == 3;
	CHECK(!tofu_p2p_irecv(player->p2p, post->buf, post->room, post->source,
			      post->tag, &post->request));
}

static unsigned int number_of(const struct post *post,
			      const struct tofu_p2p_status *status)
{
	uint64_t number;

	if (status->tag >= TINY_TAG)
		return (unsigned int)(status->tag - TINY_TAG);
	memcpy(&number, post->buf, 8);
	return (unsigned int)number;
}

static void post_check(struct player *player, const struct post *post,
		       const struct tofu_p2p_status *status, int code)
{
	unsigned int number = number_of(post, status);
	size_t there = status->bytes < post->room ? status->bytes : post->room;
	uint64_t seed;
	char head[8];

	CHECK(status->source < PROCESSES && number < MESSAGES);
	seed = seed_of(status->source, player->rank, number);
	CHECK(status->bytes == bytes_of(seed));
	CHECK(status->tag == tag_of(seed, number));
	CHECK(code == (there < status->bytes ? UTOFU_ERR_INVALID_SIZE : 0));
	data_fill(head, 8, seed);
	if (status->bytes >= 8)
		memcpy(post->buf, head, 8);
	CHECK(data_is(post->buf, there, seed));
	CHECK(post->buf[post->room] == 77);
	CHECK(!player->seen[status->source][number]);
	player->seen[status->source][number] = true;
	player->matched[player->got++] = (struct matched){
		.posted = post->number,
		.source = status->source,
		.tag = status->tag,
		.message = number,
	};
}

static void receive_test(struct player *player)
{
	struct post *post = &player->post[rnd(player, RECEIVES)];
	struct tofu_p2p_status status;
	int code;

	if (!post->request) {
		if (player->got < PROCESSES * MESSAGES)
			post_one(player, post);
		return;
	}
	code = tofu_p2p_test(player->p2p, &post->request, &status);
	if (code == UTOFU_ERR_NOT_COMPLETED)
		return;
	post_check(player, post, &status, code);
	player->wild -= post->source == TOFU_P2P_ANY_SOURCE &&
			post->tag == TOFU_P2P_ANY_TAG;
	free(post->buf);
}

/* ---- The order of matching ---- */

static bool fits(const struct player *player, uint64_t posted,
		 const struct matched *message)
{
	uint32_t source = player->pattern[posted].source;
	uint64_t tag = player->pattern[posted].tag;

	return (source == TOFU_P2P_ANY_SOURCE || source == message->source) &&
	       (tag == TOFU_P2P_ANY_TAG || tag == message->tag);
}

static void order_check(const struct player *player)
{
	for (unsigned int i = 0; i < player->got; i++) {
		const struct matched *a = &player->matched[i];

		CHECK(fits(player, a->posted, a));
		for (unsigned int j = 0; j < player->got; j++) {
			const struct matched *b = &player->matched[j];

			CHECK(a->source != b->source ||
			      a->message >= b->message ||
			      a->posted < b->posted ||
			      !fits(player, b->posted, a));
		}
	}
}

/* ---- The whole ---- */

static bool all_sent(const struct player *player)
{
	for (unsigned int to = 0; to < PROCESSES; to++)
		if (player->sent[to] < MESSAGES)
			return false;
	for (unsigned int i = 0; i < SENDS; i++)
		if (player->flying[i].request)
			return false;
	return true;
}

static void nap(struct player *player)
{
	if (naps && !rnd(player, 500))
		usleep((useconds_t)rnd(player, 3000));
}

static void player_run(struct player *player)
{
	time_t since = time(NULL);
	unsigned int idle = 0;

	while (player->got < PROCESSES * MESSAGES || !all_sent(player)) {
		unsigned int got = player->got;

		switch (rnd(player, 3)) {
		case 0:
			send_one(player);
			break;
		case 1:
			send_test(player);
			break;
		default:
			receive_test(player);
		}
		nap(player);
		idle = got == player->got ? idle + 1 : 0;
		/* Only who gets nothing waits; a busy machine is no mistake. */
		if (!idle)
			since = time(NULL);
		if (idle > 1000)
			sched_yield();
		CHECK(idle % 10000 || time(NULL) - since < WAIT_SECONDS);
	}
}

/* Received messages may still need an answer: go on until all are through. */
static void player_meet(struct player *player, struct tofu_nodes *nodes)
{
	time_t since = time(NULL);

	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&nodes->word[0], __ATOMIC_SEQ_CST) <
	       nodes->count) {
		CHECK(!tofu_p2p_progress(player->p2p));
		sched_yield();
		CHECK(time(NULL) - since <= WAIT_SECONDS);
	}
}

static void player_end(struct player *player)
{
	struct tofu_p2p_memory memory;

	for (unsigned int i = 0; i < RECEIVES; i++) {
		if (!player->post[i].request)
			continue;
		CHECK(!tofu_p2p_cancel(player->p2p, &player->post[i].request));
		free(player->post[i].buf);
	}
	tofu_p2p_memory(player->p2p, &memory);
	CHECK(!memory.unexpected);
	CHECK(memory.peak <= playing.memory);
	order_check(player);
}

static void play(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_p2p_params params = node_params(&playing, nodes, rank);
	struct player *player = calloc(1, sizeof(*player));

	player->rank = rank;
	player->random = word_of(rank, playing.mode, playing.eager, 0);
	CHECK(!tofu_p2p_create(&params, &player->p2p));
	if (restless) {
		player->p2p->config.silence = 0;
		player->p2p->config.ask_again = 1;
	}
	tofu_nodes_meet(nodes);
	player_run(player);
	player_meet(player, nodes);
	player_end(player);
	tofu_p2p_free(player->p2p);
	free(player);
}

FIXTURE(traffic){};

FIXTURE_VARIANT(traffic)
{
	enum tofu_p2p_mode mode;
	bool no_armw;
};

FIXTURE_VARIANT_ADD(traffic, automatic){
	.mode = TOFU_P2P_AUTO,
};

FIXTURE_VARIANT_ADD(traffic, fast){
	.mode = TOFU_P2P_FAST,
};

FIXTURE_VARIANT_ADD(traffic, saving){
	.mode = TOFU_P2P_SAVING,
};

FIXTURE_VARIANT_ADD(traffic, shared){
	.mode = TOFU_P2P_SHARED,
};

FIXTURE_VARIANT_ADD(traffic, large_without_atomics){
	.mode = TOFU_P2P_AUTO,
	.no_armw = true,
};

FIXTURE_VARIANT_ADD(traffic, small_without_atomics){
	.mode = TOFU_P2P_SAVING,
	.no_armw = true,
};

FIXTURE_SETUP(traffic)
{
	setenv("TOFU_ARMW", variant->no_armw ? "0" : "1", 1);
	playing = p2p_params();
	playing.mode = variant->mode;
	naps = false;
	restless = false;
}

FIXTURE_TEARDOWN(traffic)
{
}

TEST_F_TIMEOUT(traffic, eager_got_and_put, 120)
{
	playing.eager = 1000;
	playing.get = 10000;
	EXPECT_EQ(tofu_nodes_run(PROCESSES, play, -1), 0);
}

TEST_F_TIMEOUT(traffic, eager, 120)
{
	EXPECT_EQ(tofu_nodes_run(PROCESSES, play, -1), 0);
}

TEST_F_TIMEOUT(traffic, got, 120)
{
	playing.eager = 0;
	playing.get = SIZE_MAX - 1;
	EXPECT_EQ(tofu_nodes_run(PROCESSES, play, -1), 0);
}

TEST_F_TIMEOUT(traffic, put, 120)
{
	playing.eager = 0;
	playing.get = 0;
	EXPECT_EQ(tofu_nodes_run(PROCESSES, play, -1), 0);
}

TEST_F_TIMEOUT(traffic, with_naps, 120)
{
	playing.eager = 1000;
	playing.get = 10000;
	naps = true;
	EXPECT_EQ(tofu_nodes_run(PROCESSES, play, -1), 0);
}

/* One ring, for which all others contend */
TEST_F_TIMEOUT(traffic, rings_that_change_hands, 120)
{
	unsigned int eighths = variant->mode == TOFU_P2P_AUTO ? 2 : 4;

	playing.eager = 1000;
	playing.get = 10000;
	playing.large = 4096;
	playing = p2p_least(playing);
	playing.memory += (4096 + 1000) * 8 / eighths;
	restless = true;
	EXPECT_EQ(tofu_nodes_run(PROCESSES, play, -1), 0);
}

/* ---- Processes that have left ---- */

/* Node 1 goes while 0 waits: to receive from it, or for it to receive. */
static void part(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_p2p_params params = node_params(&playing, nodes, rank);
	struct tofu_p2p_request *send, *recv, *any;
	static char from[5000], to[8], other[8];
	struct tofu_p2p *p2p;
	int code;

	CHECK(!tofu_p2p_create(&params, &p2p));
	tofu_nodes_meet(nodes);
	if (rank == 1)
		kill(getpid(), SIGKILL);
	if (rank == 0) {
		CHECK(!tofu_p2p_irecv(p2p, to, 8, 1, 0, &recv));
		CHECK(!tofu_p2p_irecv(p2p, other, 8, TOFU_P2P_ANY_SOURCE, 0,
				      &any));
		CHECK(!tofu_p2p_isend(p2p, from, sizeof(from), 1, 0, &send));
		code = tofu_p2p_wait(p2p, &recv, NULL);
		CHECK(code == UTOFU_ERR_MRQ_PEER);
		code = tofu_p2p_wait(p2p, &send, NULL);
		CHECK(code == UTOFU_ERR_MRQ_PEER);
		CHECK(!tofu_p2p_wait(p2p, &any, NULL));
	} else {
		CHECK(!tofu_p2p_send(p2p, from, 8, 0, 0));
	}
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
	CHECK(!tofu_wait_word(&nodes->word[0], 2));
	tofu_p2p_free(p2p);
}

TEST_F_TIMEOUT(traffic, who_is_gone_is_not_waited_for, 60)
{
	playing.eager = 1000;
	EXPECT_EQ(tofu_nodes_run(3, part, 1), 0);
}

TEST_HARNESS_MAIN
