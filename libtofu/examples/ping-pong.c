// SPDX-License-Identifier: MIT
/*
 * Ping-pong with notices: two processes send a number back and forth. Each
 * learns from a notice, not from memory, that the number has come.
 *
 *	tofu-run --shape 2 ./ping-pong
 *
 * With more processes each pair plays for itself.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tofu/boot.h>
#include <utofu.h>

#define ROUNDS 1000
#define TIMEOUT 60 /* seconds, for a process that never comes */

/* What the processes tell each other: where the ball is to go */
struct place {
	utofu_vcq_id_t vcq;
	utofu_stadd_t ball;
};

static char why[TOFU_BOOT_WHY]; /* what is wrong with a process */
static utofu_vcq_hdl_t vcq;
static struct place peer;

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d %s\n", what, code, why);
	exit(EXIT_FAILURE);
}

/* The next notice, and whether its put went well. */
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

	check(utofu_put_piggyback8(vcq, peer.vcq, number, peer.ball,
				   sizeof(number), 0, flags, NULL),
	      "utofu_put_piggyback8");
	check(notice_wait(&notice), "send");
}

static void ball_await(const uint64_t *ball, uint64_t number)
{
	struct utofu_mrq_notice notice;

	check(notice_wait(&notice), "utofu_poll_mrq");
	/* The notice comes after the data. */
	if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT &&
	    notice.vcq_id == peer.vcq && *ball == number)
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

static void rounds_play(const uint64_t *ball, bool serves)
{
	double begin = now_ns();

	for (uint64_t round = 0; round < ROUNDS; round++)
		play(ball, serves, round);
	if (serves)
		printf("%d rounds, %.0f ns from one to the other\n", ROUNDS,
		       (now_ns() - begin) / ROUNDS / 2);
}

/* No process puts before the barrier, when all have told their addresses. */
static void peer_find(struct tofu_boot *boot, const struct place *own, int rank)
{
	check(tofu_boot_tell(boot, (uint32_t)rank, 0, own, sizeof(*own)), "tofu_boot_tell");
	check(tofu_boot_barrier(boot), "tofu_boot_barrier");
	check(tofu_boot_told(boot, 0, &peer, sizeof(peer)), "tofu_boot_told");
}

int main(void)
{
	/* Registered memory begins at such a boundary. */
	static _Alignas(256) uint64_t ball;
	struct tofu_boot *boot;
	struct place own;
	int rank, other;

	check(tofu_boot_join(TIMEOUT, why, &boot), "tofu_boot_join");
	rank = tofu_boot_rank(boot);
	other = rank ^ 1;
	if (other >= tofu_boot_size(boot))
		other = rank; /* the last of an odd number has none */

	check(utofu_create_vcq(0, 0, &vcq), "utofu_create_vcq");
	check(utofu_query_vcq_id(vcq, &own.vcq), "utofu_query_vcq_id");
	check(utofu_reg_mem(vcq, &ball, sizeof(ball), 0, &own.ball), "utofu_reg_mem");
	peer_find(boot, &own, other);
	if (other != rank)
		rounds_play(&ball, rank < other);
	check(tofu_boot_leave(boot), "tofu_boot_leave");
	utofu_free_vcq(vcq);
	return EXIT_SUCCESS;
}
