// SPDX-License-Identifier: MIT
/*
 * A chain in session mode: every process queues a put to the next one, which
 * waits until the previous process's put has arrived. The first process then
 * puts a token into the second one's memory, and the token travels around to
 * the first while the others sleep.
 *
 *	tofu-run --shape 4 ./chain
 */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tofu/boot.h>
#include <utofu.h>

#define TIMEOUT 60 /* seconds, for a process that never comes */

/* Gives a target in session mode a step: one more command may go. */
#define STEP UTOFU_ONESIDED_FLAG_SPS(1)
#define NOTICES (UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

static const char token[32] = "handed on by nobody's processor";
static _Alignas(256) char memory[sizeof(token)];

static utofu_vcq_hdl_t plain, session;
static utofu_stadd_t stadd; /* of memory, in all processes */
static utofu_vcq_id_t next; /* the next process's VCQ in session mode */
static char why[TOFU_BOOT_WHY]; /* what is wrong with a process */

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d %s\n", what, code, why);
	exit(EXIT_FAILURE);
}

/* The next notice; its meaning follows from what was requested. */
static int notice_await(utofu_vcq_hdl_t vcq)
{
	struct utofu_mrq_notice notice;
	int code;

	do {
		code = utofu_poll_mrq(vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND);
	return code;
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void token_start(int processes)
{
	double begin = now_us();

	check(utofu_put_piggyback(plain, next, (void *)token, stadd, sizeof(token), 0,
				  STEP | NOTICES, NULL), "utofu_put_piggyback");
	check(notice_await(plain), "first put");
	check(notice_await(session), "token");
	printf("around %d processes in %.1f us\n", processes, now_us() - begin);
}

/* A put of the data that the previous process will have put here by then */
static void token_pass_on(void)
{
	check(utofu_put(session, next, stadd, stadd, sizeof(token), 0, STEP | NOTICES, NULL),
	      "utofu_put");
}

static void token_await(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	check(notice_await(session), "token");
	check(notice_await(session), "put of the chain");
}

/* No process puts before the barrier, when all have told their addresses. */
static void next_find(struct tofu_boot *boot)
{
	int size = tofu_boot_size(boot), before = (tofu_boot_rank(boot) + size - 1) % size;
	utofu_vcq_id_t own;

	check(utofu_query_vcq_id(session, &own), "utofu_query_vcq_id");
	check(tofu_boot_tell(boot, (uint32_t)before, 0, &own, sizeof(own)), "tofu_boot_tell");
	check(tofu_boot_barrier(boot), "tofu_boot_barrier");
	check(tofu_boot_told(boot, 0, &next, sizeof(next)), "tofu_boot_told");
}

int main(void)
{
	struct tofu_boot *boot;
	bool first;

	check(tofu_boot_join(TIMEOUT, why, &boot), "tofu_boot_join");
	check(utofu_create_vcq(0, UTOFU_VCQ_FLAG_SESSION_MODE, &session), "utofu_create_vcq");
	check(utofu_reg_mem_with_stag(session, memory, sizeof(memory), 0, 0, &stadd),
	      "utofu_reg_mem_with_stag");
	check(utofu_create_vcq(0, 0, &plain), "utofu_create_vcq");
	next_find(boot);
	first = tofu_boot_rank(boot) == 0;
	if (!first)
		token_pass_on();
	check(tofu_boot_barrier(boot), "tofu_boot_barrier");
	if (first)
		token_start(tofu_boot_size(boot));
	else
		token_await();
	check(tofu_boot_leave(boot), "tofu_boot_leave");
	if (memcmp(memory, token, sizeof(token))) {
		fprintf(stderr, "another token came\n");
		return EXIT_FAILURE;
	}
	utofu_free_vcq(plain);
	utofu_free_vcq(session);
	return EXIT_SUCCESS;
}
