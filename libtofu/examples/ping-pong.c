// SPDX-License-Identifier: MIT
/*
 * Ping-pong with notices: two neighbours on the X axis send a number back and
 * forth. Each learns from a notice, not from memory, that the number has come.
 *
 *	tofu-run --shape 2 ./ping-pong
 *
 * With more nodes each pair plays for itself.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <utofu.h>

#define ROUNDS 1000
#define CMP_ID 0 /* of our VCQ, and STAG of our memory, on every node */
#define STAG 0

static utofu_vcq_hdl_t vcq;
static utofu_vcq_id_t peer;
static utofu_stadd_t peer_ball;

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, code);
	exit(EXIT_FAILURE);
}

/* The next notice, and whether what it tells of went well. */
static int notice_wait(struct utofu_mrq_notice *notice)
{
	int code;

	do {
		code = utofu_poll_mrq(vcq, 0, notice);
	} while (code == UTOFU_ERR_NOT_FOUND);
	return code;
}

/* Returns when the number is in the peer's memory. */
static void ball_send(uint64_t number)
{
	const unsigned long flags = UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE |
				    UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
	struct utofu_mrq_notice notice;
	int code;

	/* These two codes say that the peer is not ready yet. */
	do {
		check(utofu_put_piggyback8(vcq, peer, number, peer_ball,
					   sizeof(number), 0, flags, NULL),
		      "utofu_put_piggyback8");
		code = notice_wait(&notice);
	} while (code == UTOFU_ERR_MRQ_PEER || code == UTOFU_ERR_MRQ_RMT_STADD);
	check(code, "send");
}

static void ball_await(const uint64_t *ball, uint64_t number)
{
	struct utofu_mrq_notice notice;

	check(notice_wait(&notice), "utofu_poll_mrq");
	/* The notice comes after the data. */
	if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT &&
	    notice.vcq_id == peer && *ball == number)
		return;
	fprintf(stderr, "got %" PRIu64 ", not %" PRIu64 "\n", *ball, number);
	exit(EXIT_FAILURE);
}

static void play(const uint64_t *ball, bool serves, uint64_t round)
{
	if (serves)
		ball_send(2 * round);
	ball_await(ball, 2 * round + serves);
	if (!serves)
		ball_send(2 * round + 1);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Peers are known without asking them: the first VCQ of a node is in queue 0. */
static void peer_find(uint8_t coords[])
{
	check(utofu_construct_vcq_id(coords, 0, 0, CMP_ID, &peer),
	      "utofu_construct_vcq_id");
	check(utofu_query_stadd(peer, STAG, &peer_ball), "utofu_query_stadd");
}

int main(void)
{
	/* Registered memory begins at such a boundary. */
	static _Alignas(256) uint64_t ball;
	const char *shape = getenv("TOFU_SHAPE");
	uint8_t coords[6];
	utofu_stadd_t own;
	double begin = 0;
	bool serves;

	if (!shape) {
		fprintf(stderr, "TOFU_SHAPE is not set: start this with tofu-run\n");
		return EXIT_FAILURE;
	}
	alarm(60); /* for a peer that never comes */
	check(utofu_query_my_coords(coords), "utofu_query_my_coords");
	serves = coords[0] % 2 == 0;
	coords[0] ^= 1;
	if (coords[0] >= strtoul(shape, NULL, 10))
		return EXIT_SUCCESS; /* the last of an odd number */

	check(utofu_create_vcq_with_cmp_id(0, CMP_ID, 0, &vcq),
	      "utofu_create_vcq_with_cmp_id");
	check(utofu_reg_mem_with_stag(vcq, &ball, sizeof(ball), STAG, 0, &own),
	      "utofu_reg_mem_with_stag");
	peer_find(coords);
	for (uint64_t round = 0; round <= ROUNDS; round++) {
		play(&ball, serves, round);
		if (!round)
			begin = now_ns(); /* both are there */
	}
	if (serves)
		printf("%d rounds, %.0f ns from one to the other\n", ROUNDS,
		       (now_ns() - begin) / ROUNDS / 2);
	utofu_free_vcq(vcq);
	return EXIT_SUCCESS;
}
