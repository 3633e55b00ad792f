// SPDX-License-Identifier: MIT
/*
 * A chain in session mode: every node on the X axis queues a put to the next
 * one, where it waits until the put of the one before has come. The first node
 * then puts a token into the second one's memory, and it comes around to the
 * first while the others sleep.
 *
 *	tofu-run --shape 4 ./chain
 */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <utofu.h>

/* Tells a target in session mode that one command more may go on there. */
#define STEP UTOFU_ONESIDED_FLAG_SPS(1)
#define NOTICES (UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

static const char token[32] = "handed on by nobody's processor";
static _Alignas(256) struct {
	char token[32];
	uint64_t hello;
} memory;

static utofu_vcq_hdl_t plain, session;
static utofu_stadd_t stadd; /* of memory, here and on all other nodes */
static utofu_vcq_id_t next; /* the next node's VCQ in session mode */

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, code);
	exit(EXIT_FAILURE);
}

/* The next notice; what it tells of is known by what was asked for. */
static int notice_await(utofu_vcq_hdl_t vcq)
{
	struct utofu_mrq_notice notice;
	int code;

	do {
		code = utofu_poll_mrq(vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND);
	return code;
}

/* Returns when the next node has its VCQ and its memory: these codes say "not yet". */
static void ready_await(void)
{
	const utofu_stadd_t hello = stadd + sizeof(memory.token);
	int code;

	do {
		check(utofu_put_piggyback8(plain, next, 1, hello, sizeof(memory.hello), 0,
					   UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL), "hello");
		code = notice_await(plain);
	} while (code == UTOFU_ERR_MRQ_PEER || code == UTOFU_ERR_MRQ_RMT_STADD);
	check(code, "the next node");
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void token_start(unsigned int nodes)
{
	double begin = now_us();

	check(utofu_put_piggyback(plain, next, (void *)token, stadd, sizeof(token), 0,
				  STEP | NOTICES, NULL), "utofu_put_piggyback");
	check(notice_await(plain), "first put");
	check(notice_await(session), "token");
	printf("around %u nodes in %.1f us\n", nodes, now_us() - begin);
}

/* A put of what others will have put here by then. The step may come before it. */
static void token_hand_on(void)
{
	check(utofu_put(session, next, stadd, stadd, sizeof(token), 0, STEP | NOTICES, NULL),
	      "utofu_put");
	sleep(1);
	check(notice_await(session), "token");
	check(notice_await(session), "put of the chain");
}

int main(void)
{
	const char *shape = getenv("TOFU_SHAPE");
	unsigned int nodes = shape ? (unsigned int)atoi(shape) : 0;
	uint8_t coords[6];
	bool first;

	if (!nodes) {
		fprintf(stderr, "TOFU_SHAPE is not set: start this with tofu-run\n");
		return EXIT_FAILURE;
	}
	alarm(60); /* for a node that never comes */
	check(utofu_query_my_coords(coords), "utofu_query_my_coords");
	first = coords[0] == 0;
	coords[0] = (uint8_t)((coords[0] + 1) % nodes);

	/* The first VCQ of a node on a TNI is in queue 0: so others know its ID. */
	check(utofu_create_vcq_with_cmp_id(0, 0, UTOFU_VCQ_FLAG_SESSION_MODE, &session),
	      "utofu_create_vcq_with_cmp_id");
	check(utofu_reg_mem_with_stag(session, &memory, sizeof(memory), 0, 0, &stadd),
	      "utofu_reg_mem_with_stag");
	check(utofu_create_vcq(0, 0, &plain), "utofu_create_vcq");
	check(utofu_construct_vcq_id(coords, 0, 0, 0, &next), "utofu_construct_vcq_id");
	ready_await();
	if (first)
		token_start(nodes);
	else
		token_hand_on();
	if (memcmp(memory.token, token, sizeof(token))) {
		fprintf(stderr, "another token came\n");
		return EXIT_FAILURE;
	}
	utofu_free_vcq(plain);
	utofu_free_vcq(session);
	return EXIT_SUCCESS;
}
