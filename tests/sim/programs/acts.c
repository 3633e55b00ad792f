// SPDX-License-Identifier: MIT
/*
 * What a program may do to a simulated machine: acts ACT [NODE] [NUMBER].
 * Without a node, or with "all", all nodes do it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <tofu/mark.h>
#include <tofu/time.h>
#include <utofu.h>

static int node, nodes;
static long number;
static volatile int zero;
static volatile int *volatile nowhere;
static _Thread_local int own_of_thread;
static int own_of_program;

static utofu_vcq_hdl_t open_queue(void)
{
	utofu_vcq_hdl_t vcq;

	if (utofu_create_vcq(0, 0, &vcq))
		exit(99);
	return vcq;
}

static void poll_times(unsigned long times)
{
	utofu_vcq_hdl_t vcq = open_queue();
	struct utofu_mrq_notice notice;

	while (times--)
		utofu_poll_mrq(vcq, 0, &notice);
	utofu_free_vcq(vcq);
}

/* ---- Acts ---- */

/* Two phases of its own length each; what is outside of its queue's life is none. */
static void act_marks(void)
{
	utofu_vcq_hdl_t vcq;

	tofu_mark(TOFU_MARK_NAME("early"));
	vcq = open_queue();
	tofu_mark(TOFU_MARK_NAME("first"));
	tofu_compute(1000 * (uint64_t)(node + 1));
	tofu_mark(TOFU_MARK_NAME("second"));
	tofu_compute(500);
	tofu_mark(TOFU_MARK_END);
	utofu_free_vcq(vcq);
	tofu_mark(TOFU_MARK_NAME("late"));
}

/* Adds to a word of its own node, and says what came of it. */
static void act_armw(void)
{
	static uint64_t word __attribute__((aligned(256)));
	struct utofu_onesided_caps *caps;
	struct utofu_mrq_notice notice;
	utofu_vcq_hdl_t vcq = open_queue();
	utofu_stadd_t stadd;
	utofu_vcq_id_t id;
	int code;

	if (utofu_query_onesided_caps(0, &caps) ||
	    utofu_query_vcq_id(vcq, &id) ||
	    utofu_reg_mem(vcq, &word, sizeof(word), 0, &stadd))
		exit(99);
	word = 5;
	code = utofu_armw8(vcq, id, UTOFU_ARMW_OP_ADD, 3, stadd, 0,
			   UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL);
	if (!code)
		while ((code = utofu_poll_mrq(vcq, 0, &notice)) ==
		       UTOFU_ERR_NOT_FOUND)
			;
	printf("node %d: operations 0x%lx, code %d, word %lu\n", node,
	       caps->armw_ops, code, (unsigned long)word);
	utofu_free_vcq(vcq);
}

/* Waits for a put to itself by asking how many notices there are, and nothing else. */
static void act_count(void)
{
	static uint64_t word __attribute__((aligned(256)));
	utofu_vcq_hdl_t vcq = open_queue();
	utofu_stadd_t stadd;
	utofu_vcq_id_t id;
	size_t count = 0;

	if (utofu_query_vcq_id(vcq, &id) ||
	    utofu_reg_mem(vcq, &word, sizeof(word), 0, &stadd) ||
	    utofu_put_piggyback8(vcq, id, 7, stadd, sizeof(word), 0,
				 UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL))
		exit(99);
	while (!count)
		if (utofu_query_num_unread_mrq(vcq, &count))
			exit(99);
	printf("node %d: %zu unread\n", node, count);
	utofu_free_vcq(vcq);
}

static void act_exit(void)
{
	exit((int)number);
}

static void act_segv(void)
{
	*nowhere = 1;
}

static void act_abort(void)
{
	abort();
}

static void act_divide(void)
{
	zero = 100 / zero;
}

static void act_spin(void)
{
	while (!zero)
		;
}

static void act_wait(void)
{
	poll_times(-1UL);
}

/* Each call needs a frame of its own: it gives its room to the next one. */
static int deeper(long left, volatile char *before)
{
	volatile char room[1000];

	memset((void *)room, (int)left, sizeof(room));
	before[0] = 1;
	return left ? deeper(left - 1, room) + room[0] : 0;
}

/* Deep while something else runs, and then back */
static void act_deep(void)
{
	volatile char room[1];

	zero = deeper(number, room) * 0;
	poll_times(10);
}

static void act_fork(void)
{
	pid_t pid = fork();

	printf("node %d: fork %d %d\n", node, (int)pid, errno == ENOSYS);
}

static void *thread(void *arg)
{
	return arg;
}

static void act_thread(void)
{
	pthread_t id;

	printf("node %d: thread %d\n", node,
	       pthread_create(&id, NULL, thread, NULL) == EAGAIN);
}

static void act_print(void)
{
	printf("node %d of %d: line %ld\n", node, nodes, number);
}

/* What is each node's own stays so while others run. */
static void act_own(void)
{
	for (int i = 0; i < 50; i++) {
		own_of_program += node + 1;
		own_of_thread += 2 * node + 1;
		poll_times(3);
	}
	if (own_of_program != 50 * (node + 1) ||
	    own_of_thread != 50 * (2 * node + 1))
		exit(1);
}

/* Goes on for ever, with traffic: its own queue's. */
static void act_traffic(void)
{
	utofu_vcq_hdl_t vcq = open_queue();
	struct utofu_mrq_notice notice;
	static char memory[4096];
	utofu_stadd_t stadd;
	utofu_vcq_id_t id;

	if (utofu_query_vcq_id(vcq, &id) ||
	    utofu_reg_mem(vcq, memory, sizeof(memory), 0, &stadd))
		exit(99);
	printf("node %d: under way\n", node);
	for (;;) {
		utofu_put_piggyback8(vcq, id, 1, stadd, 8, 0,
				     UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE,
				     NULL);
		while (utofu_poll_mrq(vcq, 0, &notice) ==
		       UTOFU_ERR_NOT_FOUND)
			;
	}
}

static void act_sleep(void)
{
	struct timespec time = { .tv_sec = number };

	nanosleep(&time, NULL);
}

static void act_nothing(void)
{
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{ "exit", act_exit },
	{ "segv", act_segv },
	{ "abort", act_abort },
	{ "divide", act_divide },
	{ "spin", act_spin },
	{ "wait", act_wait },
	{ "deep", act_deep },
	{ "fork", act_fork },
	{ "thread", act_thread },
	{ "print", act_print },
	{ "own", act_own },
	{ "traffic", act_traffic },
	{ "sleep", act_sleep },
	{ "nothing", act_nothing },
	{ "armw", act_armw },
	{ "count", act_count },
	{ "marks", act_marks },
};

int main(int argc, char **argv)
{
	const char *rank = getenv("TOFU_RANK"), *ranks = getenv("TOFU_RANKS");

	if (argc < 2 || !rank || !ranks)
		return 98;
	node = atoi(rank);
	nodes = atoi(ranks);
	number = argc > 3 ? atol(argv[3]) : 0;
	if (argc > 2 && strcmp(argv[2], "all") && atoi(argv[2]) != node)
		return 0;
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
		if (!strcmp(acts[i].name, argv[1])) {
			acts[i].act();
			return 0;
		}
	}
	return 98;
}
