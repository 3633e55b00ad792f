// SPDX-License-Identifier: MIT
/* <tofu/boot.h> on machines of processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tofu/boot.h>
#include <tofu/error.h>

#include "boot/internal.h"
#include "harness.h"
#include "utofu-util.h"

/* Seconds until a wait that is expected to time out does so */
#define SHORT 2

static char why[TOFU_BOOT_WHY];

static void number_set(const char *name, unsigned int value)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

static void job_set(unsigned int rank, unsigned int ranks, unsigned int ppn)
{
	setenv("TOFU_PORT", "emu", 1);
	number_set("TOFU_RANK", rank);
	number_set("TOFU_RANKS", ranks);
	number_set("TOFU_PPN", ppn);
}

static struct tofu_boot *joined(void)
{
	struct tofu_boot *boot = NULL;
	int code = tofu_boot_join(WAIT_SECONDS, why, &boot);

	if (code)
		fprintf(stderr, "# %s: %s\n", tofu_error_text(code), why);
	CHECK(!code && boot);
	return boot;
}

static void left(struct tofu_boot *boot)
{
	CHECK(tofu_boot_leave(boot) == UTOFU_SUCCESS);
}

/* ---- A system that has just started ---- */

static bool just_started;

/* The boot's, in place of the C library's */
ssize_t getrandom(void *to, size_t len, unsigned int flags)
{
	if (just_started) {
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_getrandom, to, len, flags);
}

static void early_main(struct tofu_nodes *nodes, unsigned int rank)
{
	just_started = true;
	job_set(rank, nodes->count, 1);
	left(joined());
}

TEST(a_boot_needs_no_random_numbers)
{
	EXPECT_EQ(0, tofu_nodes_run(2, early_main, -1));
}

/* ---- Bytes ---- */

static unsigned char byte_of(unsigned int rank, size_t i)
{
	return (unsigned char)(rank * 31 + i * 7 + 1);
}

static void gather_check(struct tofu_boot *boot, unsigned int ranks,
			 unsigned int rank, size_t bytes)
{
	/* Not at a boundary; the byte behind has to stay. */
	unsigned char *all = malloc(ranks * bytes + 2), *mine = all + 1;

	memset(all, 0xee, ranks * bytes + 2);
	mine += rank * bytes;
	for (size_t i = 0; i < bytes; i++)
		mine[i] = byte_of(rank, i);
	CHECK(!tofu_boot_allgather(boot, mine, bytes, all + 1));
	for (unsigned int r = 0; r < ranks; r++)
		for (size_t i = 0; i < bytes; i++)
			CHECK(all[1 + r * bytes + i] == byte_of(r, i));
	CHECK(all[0] == 0xee && all[1 + ranks * bytes] == 0xee);
	free(all);
}

static void gather_main(struct tofu_nodes *nodes, unsigned int rank)
{
	/* Tables grow, and stay for what is smaller. */
	static const size_t sizes[] = { 0,   1,	  7,	8,    9,
					127, 128, 129, 1000, 8 };
	struct tofu_boot *boot;

	job_set(rank, nodes->count, 1);
	boot = joined();
	CHECK(tofu_boot_rank(boot) == (int)rank);
	CHECK(tofu_boot_size(boot) == (int)nodes->count);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		gather_check(boot, nodes->count, rank, sizes[i]);
	left(boot);
}

TEST(all_get_the_bytes_of_all)
{
	for (unsigned int count = 1; count <= 5; count++)
		EXPECT_EQ(0, tofu_nodes_run(count, gather_main, -1));
}

static void notes_main(struct tofu_nodes *nodes, unsigned int rank)
{
	unsigned int next = (rank + 1) % nodes->count;
	unsigned char note[TOFU_BOOT_NOTE];
	struct tofu_boot *boot;

	job_set(rank, nodes->count, 1);
	boot = joined();
	memset(note, (int)rank + 1, sizeof(note));
	/* To the next one and to itself, in the first slot and the last. */
	CHECK(!tofu_boot_tell(boot, next, 0, note, 1));
	CHECK(!tofu_boot_tell(boot, rank, TOFU_BOOT_SLOTS - 1, note,
			      sizeof(note)));
	CHECK(!tofu_boot_barrier(boot));
	CHECK(!tofu_boot_told(boot, 0, note, 2));
	CHECK(note[0] == (rank + nodes->count - 1) % nodes->count + 1);
	CHECK(note[1] == 0);
	CHECK(!tofu_boot_told(boot, TOFU_BOOT_SLOTS - 1, note, sizeof(note)));
	CHECK(note[0] == rank + 1 && note[TOFU_BOOT_NOTE - 1] == rank + 1);
	left(boot);
}

TEST(notes_are_there_after_a_barrier)
{
	EXPECT_EQ(0, tofu_nodes_run(3, notes_main, -1));
}

/* ---- Threads beside it ---- */

/**
 * struct beside - a thread with a VCQ of the boot's command queue
 * @lock:  one of the two at a time
 * @puts:  of the thread, to itself
 * @calls: of attend()
 */
struct beside {
	pthread_mutex_t lock;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint64_t word[2];
	utofu_stadd_t stadd;
	bool stop;
	uint64_t puts;
	uint64_t calls;
};

static void beside_exclude(void *arg, bool on)
{
	struct beside *beside = arg;

	CHECK(!(on ? pthread_mutex_lock(&beside->lock) :
		     pthread_mutex_unlock(&beside->lock)));
}

static void beside_attend(void *arg)
{
	struct beside *beside = arg;

	/* It may take the lock itself: an error, if this thread had it. */
	CHECK(!pthread_mutex_lock(&beside->lock));
	beside->calls++;
	CHECK(!pthread_mutex_unlock(&beside->lock));
}

static void *beside_run(void *arg)
{
	struct beside *beside = arg;
	struct utofu_mrq_notice notice;
	bool stop = false;

	while (!stop) {
		CHECK(!pthread_mutex_lock(&beside->lock));
		beside->puts++;
		CHECK(!utofu_put_piggyback8(beside->vcq, beside->id,
					    beside->puts, beside->stadd, 8, 0,
					    LCL, NULL));
		CHECK(!tofu_wait_mrq(beside->vcq, &notice));
		CHECK(notice.vcq_id == beside->id &&
		      beside->word[0] == beside->puts);
		stop = beside->stop;
		CHECK(!pthread_mutex_unlock(&beside->lock));
		sched_yield();
	}
	return NULL;
}

static bool beside_seen(struct beside *beside)
{
	bool seen;

	CHECK(!pthread_mutex_lock(&beside->lock));
	seen = beside->puts && beside->calls;
	CHECK(!pthread_mutex_unlock(&beside->lock));
	return seen;
}

/* All of them go on until all have seen both: how soon depends on the host. */
static bool beside_all(struct tofu_boot *boot, unsigned int ranks, bool mine)
{
	bool all[8];

	CHECK(ranks <= sizeof(all));
	CHECK(!tofu_boot_allgather(boot, &mine, sizeof(mine), all));
	for (unsigned int r = 0; r < ranks; r++)
		mine = mine && all[r];
	return mine;
}

static void beside_main(struct tofu_nodes *nodes, unsigned int rank)
{
	static struct beside beside;
	struct tofu_attendant attendant = {
		.attend = beside_attend,
		.exclude = beside_exclude,
		.arg = &beside,
	};
	pthread_mutexattr_t attr;
	struct tofu_boot *boot;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&beside.lock, &attr);
	job_set(rank, nodes->count, 1);
	boot = joined();
	CHECK(!utofu_create_vcq(0, 0, &beside.vcq));
	CHECK(!utofu_query_vcq_id(beside.vcq, &beside.id));
	CHECK(!utofu_reg_mem(beside.vcq, beside.word, sizeof(beside.word), 0,
			     &beside.stadd));
	tofu_boot_attend(&attendant);
	CHECK(!pthread_create(&thread, NULL, beside_run, &beside));
	do {
		for (unsigned int i = 0; i < 100; i++)
			gather_check(boot, nodes->count, rank, i % 10 * 100);
	} while (!beside_all(boot, nodes->count, beside_seen(&beside)));
	CHECK(!pthread_mutex_lock(&beside.lock));
	beside.stop = true;
	CHECK(!pthread_mutex_unlock(&beside.lock));
	CHECK(!pthread_join(thread, NULL));
	tofu_boot_unattend(&attendant);
	CHECK(!utofu_free_vcq(beside.vcq));
	left(boot);
}

TEST(attendants_keep_their_threads_away)
{
	EXPECT_EQ(0, tofu_nodes_run(3, beside_main, -1));
}

/* ---- Numbers that wrap ---- */

#define WRAP_ROUNDS 8

/* Barriers and tables so far, which are the same in all processes */
static uint32_t so_far;

static void wrap_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct timespec nap = { .tv_nsec = 5000000 };
	struct tofu_boot *boot;

	job_set(rank, nodes->count, 1);
	boot = joined();
	CHECK(!tofu_boot_barrier(boot));
	tofu_nodes_meet(nodes);
	boot->epoch = so_far;
	boot->gathers = so_far;
	tofu_nodes_meet(nodes);
	for (unsigned int i = 1; i <= WRAP_ROUNDS; i++) {
		/* Others have its last signals, with larger numbers. */
		if (i % nodes->count == rank)
			nanosleep(&nap, NULL);
		__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
		CHECK(!tofu_boot_barrier(boot));
		CHECK(__atomic_load_n(&nodes->word[0], __ATOMIC_SEQ_CST) >=
		      (uint64_t)i * nodes->count);
		gather_check(boot, nodes->count, rank, i);
	}
	left(boot);
}

/* A signal has 31 bits of a barrier's number. */
TEST(barriers_end_when_their_number_wraps)
{
	for (unsigned int count = 1; count <= 5; count++) {
		so_far = (UINT32_C(1) << 31) - 4;
		EXPECT_EQ(0, tofu_nodes_run(count, wrap_main, -1));
		so_far = UINT32_MAX - 3;
		EXPECT_EQ(0, tofu_nodes_run(count, wrap_main, -1));
	}
}

/* ---- Several processes on a node ---- */

#define PPN 5

static void shared_main(struct tofu_nodes *nodes, unsigned int rank)
{
	utofu_vcq_hdl_t vcq;
	struct tofu_boot *boot;

	job_set(rank, nodes->count, PPN);
	setenv("TOFU_TNIS", "2", 1);
	boot = joined();
	gather_check(boot, nodes->count, rank, 300);
	/* There is room beside it. */
	CHECK(!utofu_create_vcq(0, 0, &vcq));
	CHECK(!tofu_boot_barrier(boot));
	CHECK(!utofu_free_vcq(vcq));
	left(boot);
}

TEST(processes_of_a_node_find_each_other)
{
	EXPECT_EQ(0, tofu_processes_run(2 * PPN - 1, PPN, shared_main, -1));
}

/* A process that is there before the one whose queue is below its own. */
static void late_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct timespec nap = { .tv_nsec = 200000000 };

	job_set(rank, nodes->count, PPN);
	setenv("TOFU_TNIS", "1", 1);
	for (unsigned int i = rank; i < PPN; i++)
		nanosleep(&nap, NULL);
	left(joined());
}

TEST(processes_come_in_any_order)
{
	EXPECT_EQ(0, tofu_processes_run(PPN, PPN, late_main, -1));
}

static void crowd_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = NULL;

	job_set(rank, nodes->count, 12);
	setenv("TOFU_TNIS", "1", 1);
	if (rank == 11) {
		CHECK(tofu_boot_join(SHORT, why, &boot) ==
		      UTOFU_ERR_NOT_AVAILABLE);
		CHECK(strstr(why, "too many for the queues"));
	}
	CHECK(!boot);
}

TEST(more_processes_than_queues_are_refused)
{
	EXPECT_EQ(0, tofu_processes_run(12, 12, crowd_main, -1));
}

/* ---- Processes that are missing or leave ---- */

static void missing_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = NULL;

	job_set(rank, nodes->count, 1);
	if (rank == 1) {
		tofu_nodes_meet(nodes);
		return;
	}
	CHECK(tofu_boot_join(SHORT, why, &boot) == UTOFU_ERR_NOT_COMPLETED);
	CHECK(!boot);
	CHECK(!strcmp(why, "node 0: waited 2 s; no such program is running on node 1"));
	tofu_nodes_meet(nodes);
}

TEST(one_that_does_not_come_is_named)
{
	EXPECT_EQ(0, tofu_nodes_run(2, missing_main, -1));
}

static void absent_rank_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = NULL;

	job_set(rank, nodes->count, 2);
	if (rank == 2) {
		tofu_nodes_meet(nodes);
		return;
	}
	/* The others are there until it has looked. */
	CHECK(tofu_boot_join(rank ? 2 * SHORT : SHORT, why, &boot) ==
	      UTOFU_ERR_NOT_COMPLETED);
	CHECK(!boot);
	if (rank == 0)
		CHECK(!strcmp(why, "rank 0: waited 2 s; no such program is running with rank 2"));
	tofu_nodes_meet(nodes);
}

TEST(of_several_on_a_node_the_rank_is_named)
{
	EXPECT_EQ(0, tofu_processes_run(4, 2, absent_rank_main, -1));
}

static void behind_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot;

	job_set(rank, nodes->count, 1);
	CHECK(!tofu_boot_join(rank ? WAIT_SECONDS : SHORT, why, &boot));
	if (rank == 0) {
		CHECK(tofu_boot_barrier(boot) == UTOFU_ERR_NOT_COMPLETED);
		CHECK(!strcmp(why, "node 0: waited 2 s for node 1, which is there but has not come this far"));
	}
	tofu_nodes_meet(nodes);
	tofu_boot_abandon(boot);
}

TEST(one_that_stays_behind_is_named)
{
	EXPECT_EQ(0, tofu_nodes_run(2, behind_main, -1));
}

static void death_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot;
	int code;

	job_set(rank, nodes->count, 1);
	boot = joined();
	CHECK(!tofu_boot_check(boot, 1));
	CHECK(!tofu_boot_barrier(boot));
	if (rank == 1)
		kill(getpid(), SIGKILL);
	/* Its word may be here already when it dies, but not for ever. */
	do {
		code = tofu_boot_barrier(boot);
	} while (!code);
	CHECK(code == UTOFU_ERR_MRQ_PEER);
	CHECK(!strcmp(why + strlen("node 0: "), "the process on node 1 is gone"));
	CHECK(tofu_boot_check(boot, 1) == UTOFU_ERR_MRQ_PEER);
	tofu_boot_abandon(boot);
}

TEST(one_that_dies_is_named)
{
	EXPECT_EQ(0, tofu_nodes_run(2, death_main, 1));
}

/* ---- Once at a time ---- */

static void again_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot, *other = NULL;

	job_set(rank, nodes->count, 1);
	for (int i = 0; i < 3; i++) {
		boot = joined();
		CHECK(tofu_boot_join(SHORT, why, &other) == UTOFU_ERR_USED);
		CHECK(!other && strstr(why, "has joined already"));
		gather_check(boot, nodes->count, rank, 8);
		left(boot);
	}
}

TEST(a_process_joins_once_and_again_when_it_has_left)
{
	EXPECT_EQ(0, tofu_nodes_run(3, again_main, -1));
}

static void taken_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = NULL;
	utofu_vcq_hdl_t vcq;

	job_set(rank, nodes->count, 2);
	if (rank == 1)
		CHECK(!utofu_create_vcq(0, 0, &vcq));
	tofu_nodes_meet(nodes);
	if (rank == 0) {
		CHECK(tofu_boot_join(SHORT, why, &boot) == UTOFU_ERR_USED);
		CHECK(strstr(why, "another program uses CQ 0 of TNI 0"));
	}
	CHECK(!boot);
	tofu_nodes_meet(nodes);
}

TEST(a_queue_that_another_has_is_named)
{
	EXPECT_EQ(0, tofu_processes_run(2, 2, taken_main, -1));
}

/* ---- Arguments ---- */

TEST(arguments_are_checked)
{
	unsigned char byte = 0;
	struct tofu_boot *boot = NULL;

	job_set(0, 1, 1);
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_boot_join(1, why, NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER, tofu_boot_join(0, why, &boot));
	EXPECT_EQ(NULL, boot);
	ASSERT_EQ(UTOFU_SUCCESS, tofu_boot_join(1, NULL, &boot));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_boot_barrier(NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_boot_leave(NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_boot_rank(NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_boot_size(NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_boot_allgather(boot, NULL, 1, &byte));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_boot_allgather(boot, &byte, 1, NULL));
	EXPECT_EQ(UTOFU_SUCCESS, tofu_boot_allgather(boot, NULL, 0, NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_boot_tell(boot, 0, 0, NULL, 1));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_boot_tell(boot, 1, 0, &byte, 1));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_boot_tell(boot, 0, TOFU_BOOT_SLOTS, &byte, 1));
	EXPECT_EQ(UTOFU_ERR_INVALID_SIZE,
		  tofu_boot_tell(boot, 0, 0, &byte, TOFU_BOOT_NOTE + 1));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_boot_told(boot, TOFU_BOOT_SLOTS, &byte, 1));
	EXPECT_EQ(UTOFU_ERR_INVALID_SIZE,
		  tofu_boot_told(boot, 0, &byte, TOFU_BOOT_NOTE + 1));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER, tofu_boot_check(boot, 1));
	tofu_boot_abandon(NULL);
	tofu_boot_abandon(boot);
}

TEST(a_job_that_does_not_fit_is_refused)
{
	struct tofu_boot *boot = NULL;

	job_set(1, 2, 1);
	EXPECT_EQ(UTOFU_ERR_NOT_AVAILABLE, tofu_boot_join(1, why, &boot));
	EXPECT_NE(NULL, strstr(why, "cannot tell what job this is"));
	EXPECT_EQ(NULL, boot);
}

TEST_HARNESS_MAIN
