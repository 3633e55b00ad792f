/* SPDX-License-Identifier: MIT */
/*
 * libtofu on machines of several processes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fabric/process.h"
#include "fabric/shm/layout.h"
#include "harness.h"
#include "port/job-file.h"
#include "utofu-util.h"

#define BIG (1 << 20)

/* The state of a process of these tests, set up by node_open() */
struct me {
	utofu_vcq_hdl_t vcq;
	uint8_t *buffer;
	utofu_stadd_t at;
};

static struct me node_open(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me;

	CHECK(!utofu_create_vcq_with_cmp_id(0, 1, 0, &me.vcq));
	CHECK(!utofu_query_vcq_id(me.vcq, &nodes->vcq[node]));
	me.buffer = aligned_alloc(4096, BIG);
	memset(me.buffer, 0, BIG);
	CHECK(!utofu_reg_mem_with_stag(me.vcq, me.buffer, BIG, 3, 0, &me.at));
	nodes->stadd[node] = me.at;
	tofu_nodes_meet(nodes);
	return me;
}

static void node_close(struct me *me)
{
	CHECK(!utofu_free_vcq(me->vcq));
	free(me->buffer);
}

/* ---- */

static void exchange(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me = node_open(nodes, node);
	struct utofu_mrq_notice notice;
	unsigned int got = 0, sent = 0;

	for (unsigned int to = 0; to < nodes->count; to++) {
		uint8_t coords[6] = { (uint8_t)to, 0, 0, 0, 0, 0 };
		utofu_stadd_t stadd;
		utofu_vcq_id_t id;

		CHECK(!utofu_construct_vcq_id(coords, 0, 0, 1, &id));
		CHECK(id == nodes->vcq[to]);
		CHECK(!utofu_query_stadd(id, 3, &stadd));
		CHECK(stadd == nodes->stadd[to]);
		CHECK(!utofu_put_piggyback8(me.vcq, id, node + 100,
					    stadd + 8 * node, 8, node,
					    LCL | RMT, NULL));
	}
	while (got < nodes->count || sent < nodes->count) {
		CHECK(!tofu_wait_mrq(me.vcq, &notice));
		if (notice.notice_type == UTOFU_MRQ_TYPE_LCL_PUT) {
			sent++;
			continue;
		}
		CHECK(notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT);
		CHECK(notice.vcq_id == nodes->vcq[notice.edata]);
		CHECK(((uint64_t *)me.buffer)[notice.edata] ==
		      notice.edata + 100);
		got++;
	}
	tofu_nodes_meet(nodes);
	node_close(&me);
}

TEST(all_to_all_by_constructed_names)
{
	EXPECT_EQ(tofu_nodes_run(4, exchange, -1), 0);
}

/* ---- */

#define ROUNDS 300

static void answer(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me = node_open(nodes, node);
	struct utofu_mrq_notice notice;
	utofu_vcq_id_t to = nodes->vcq[!node];

	for (int i = 0; i < ROUNDS; i++) {
		if (node == 0) {
			CHECK(!utofu_put(me.vcq, to, me.at, nodes->stadd[1],
					 i % 2 ? 8 : 5000, 0, LCL | RMT,
					 NULL));
			CHECK(!tofu_wait_mrq(me.vcq, &notice));
			CHECK(notice.notice_type == UTOFU_MRQ_TYPE_LCL_PUT);
			CHECK(!tofu_wait_mrq(me.vcq, &notice));
			CHECK(notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT);
		} else {
			CHECK(!tofu_wait_mrq(me.vcq, &notice));
			CHECK(notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT);
			CHECK(!utofu_put_piggyback8(me.vcq, to, 1,
						    nodes->stadd[0], 8, 0, RMT,
						    NULL));
		}
	}
	tofu_nodes_meet(nodes);
	node_close(&me);
}

TEST(an_answer_comes_after_the_own_notice)
{
	EXPECT_EQ(tofu_nodes_run(2, answer, -1), 0);
}

/* ---- */

static void sleeper(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me = node_open(nodes, node);
	struct utofu_mrq_notice notice;

	if (node == 1) {
		/* Calls nothing of the library until the other is through. */
		while (!__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE))
			usleep(1000);
		CHECK(*(uint64_t *)me.buffer == 42 + 100);
		node_close(&me);
		return;
	}
	CHECK(!utofu_put_piggyback8(me.vcq, nodes->vcq[1], 42, nodes->stadd[1],
				    8, 0, LCL, NULL));
	CHECK(!tofu_wait_mrq(me.vcq, &notice));
	for (uint64_t i = 0; i < 100; i++) {
		CHECK(!utofu_armw8(me.vcq, nodes->vcq[1], UTOFU_ARMW_OP_ADD, 1,
				   nodes->stadd[1], 0, LCL, NULL));
		CHECK(!tofu_wait_mrq(me.vcq, &notice));
		CHECK(notice.rmt_value == 42 + i);
	}
	CHECK(!utofu_get(me.vcq, nodes->vcq[1], me.at, nodes->stadd[1],
			 BIG, 0, LCL, NULL));
	CHECK(!tofu_wait_mrq(me.vcq, &notice));
	CHECK(*(uint64_t *)me.buffer == 142);
	__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
	node_close(&me);
}

/* Wherever its processor's system has put it: of 47 bits, 48, or more */
static void shows_all(struct tofu_nodes *nodes, unsigned int node)
{
	int fabric = open(getenv("TOFU_FABRIC"), O_RDONLY);
	struct tofu_shm_node entry;
	struct me me = node_open(nodes, node);

	CHECK(pread(fabric, &entry, sizeof(entry),
		    (off_t)tofu_shm_node_offset(node)) == sizeof(entry));
	CHECK(entry.ram_count == 1 && !entry.ram[0].addr);
	CHECK(entry.ram[0].len >= 1ULL << 56);
	close(fabric);
	node_close(&me);
}

TEST(all_memory_of_a_process_can_be_read_by_others)
{
	EXPECT_EQ(tofu_nodes_run(1, shows_all, -1), 0);
}

TEST(a_process_that_does_not_poll_is_served)
{
	EXPECT_EQ(tofu_nodes_run(2, sleeper, -1), 0);
}

/* ---- */

static void victim(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me = node_open(nodes, node);
	struct utofu_mrq_notice notice;
	time_t since = time(NULL);
	int code;

	if (node == 1) {
		while (__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE) < 50)
			sched_yield();
		raise(SIGKILL);
	}
	do {
		CHECK(!utofu_put(me.vcq, nodes->vcq[1], me.at, nodes->stadd[1],
				 BIG, 5, LCL, NULL));
		code = tofu_wait_mrq(me.vcq, &notice);
		CHECK(!code || code == UTOFU_ERR_MRQ_PEER);
		CHECK(notice.edata == 5 && notice.vcq_id == nodes->vcq[1]);
		__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_RELEASE);
	} while (!code && time(NULL) - since < WAIT_SECONDS);
	CHECK(code == UTOFU_ERR_MRQ_PEER);
	/* The sender is not harmed. */
	CHECK(!utofu_put(me.vcq, nodes->vcq[0], me.at, me.at + 64, 64, 6, LCL,
			 NULL));
	CHECK(!tofu_wait_mrq(me.vcq, &notice));
	CHECK(notice.edata == 6);
	node_close(&me);
}

TEST(a_killed_peer_is_told)
{
	EXPECT_EQ(tofu_nodes_run(2, victim, 1), 0);
}

/* ---- */

/* What a device writes meanwhile is no race that ThreadSanitizer could judge. */
__attribute__((no_sanitize("thread"))) static bool
all_bytes(const uint8_t *at, uint8_t value)
{
	for (size_t i = 0; i < BIG; i++)
		if (at[i] != value)
			return false;
	return true;
}

/* Node 1 takes its memory back while node 0 keeps writing to it. */
static void takes_back(struct tofu_nodes *nodes, struct me *me)
{
	struct timespec pause = { 0, 20000000 };

	while (!__atomic_load_n(&nodes->word[0], __ATOMIC_ACQUIRE))
		sched_yield();
	CHECK(!utofu_dereg_mem(me->vcq, me->at, 0));
	memset(me->buffer, 0x5a, BIG);
	nanosleep(&pause, NULL);
	CHECK(all_bytes(me->buffer, 0x5a));
}

static void dereg_in_flight(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me = node_open(nodes, node);
	struct utofu_mrq_notice notice;
	int code;

	if (node == 1) {
		takes_back(nodes, &me);
	} else {
		memset(me.buffer, 0xa5, BIG);
		do {
			CHECK(!utofu_put(me.vcq, nodes->vcq[1], me.at,
					 nodes->stadd[1], BIG, 0, LCL, NULL));
			code = tofu_wait_mrq(me.vcq, &notice);
			__atomic_store_n(&nodes->word[0], 1, __ATOMIC_RELEASE);
		} while (!code);
		CHECK(code == UTOFU_ERR_MRQ_RMT_STADD);
	}
	tofu_nodes_meet(nodes);
	node_close(&me);
}

TEST(memory_taken_back_in_flight_is_not_written)
{
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(tofu_nodes_run(2, dereg_in_flight, -1), 0);
}

/* ---- */

/* The last word of a buffer is what programs of the interface spin on. */
static void spins(struct tofu_nodes *nodes, unsigned int node)
{
	struct me me = node_open(nodes, node);
	uint8_t *last = me.buffer + BIG - 1;

	for (int round = 1; round <= 20; round++) {
		if (node == 0) {
			memset(me.buffer, round, BIG);
			CHECK(!utofu_put(me.vcq, nodes->vcq[1], me.at,
					 nodes->stadd[1], BIG, 0,
					 UTOFU_ONESIDED_FLAG_STRONG_ORDER,
					 NULL));
		} else {
			while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != round)
				sched_yield();
			CHECK(all_bytes(me.buffer, (uint8_t)round));
		}
		tofu_nodes_meet(nodes);
	}
	node_close(&me);
}

TEST(strong_order_writes_the_last_byte_last)
{
	EXPECT_EQ(tofu_nodes_run(2, spins, -1), 0);
}

/* ---- */

#define RANKS 3

/* Others' jobs would remove what dead ones leave here. */
FIXTURE(launcher)
{
	char folder[32];
};

FIXTURE_SETUP(launcher)
{
	strcpy(self->folder, "/tmp/utofu-nodes-XXXXXX");
	ASSERT_NE(mkdtemp(self->folder), NULL);
	tofu_job_folder = self->folder;
}

FIXTURE_TEARDOWN(launcher)
{
	rmdir(self->folder);
}

/* The job name that a launcher gives to ranks; made of this process's ID */
static char job[64];

static void job_say(const char *size)
{
	snprintf(job, sizeof(job), "unit.test.%d", (int)getpid());
	setenv("PMIX_NAMESPACE", job, 1);
	setenv("PMI_SIZE", size, 1);
}

static int files_of_job(void)
{
	DIR *dir = opendir(tofu_job_folder);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		if (strstr(entry->d_name, job))
			count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Writes to a rank, which may not have come yet. */
static void rank_greet(utofu_vcq_hdl_t vcq, unsigned int rank, unsigned int to)
{
	uint8_t at[6] = { (uint8_t)to, 0, 0, 0, 0, 0 };
	struct utofu_mrq_notice notice;
	time_t since = time(NULL);
	utofu_stadd_t stadd;
	utofu_vcq_id_t id;
	int code;

	CHECK(!utofu_construct_vcq_id(at, 0, 0, 0, &id));
	CHECK(!utofu_query_stadd(id, 0, &stadd));
	do {
		CHECK(!utofu_put_piggyback8(vcq, id, rank + 1,
					    stadd + 8 * rank, 8, 0, LCL, NULL));
		code = tofu_wait_mrq(vcq, &notice);
		CHECK(time(NULL) - since < WAIT_SECONDS);
	} while (code == UTOFU_ERR_MRQ_PEER || code == UTOFU_ERR_MRQ_RMT_STADD);
	CHECK(!code);
}

static void rank_main(unsigned int rank)
{
	static uint64_t word[RANKS] __attribute__((aligned(256)));
	utofu_vcq_hdl_t vcq;
	utofu_stadd_t stadd;
	uint8_t coords[6];
	char text[16];

	snprintf(text, sizeof(text), "%u", rank);
	setenv("PMI_RANK", text, 1);
	CHECK(!utofu_create_vcq_with_cmp_id(0, 0, 0, &vcq));
	CHECK(!utofu_reg_mem_with_stag(vcq, word, sizeof(word), 0, 0, &stadd));
	CHECK(!utofu_query_my_coords(coords));
	CHECK(coords[0] == rank);
	for (unsigned int to = 0; to < RANKS; to++)
		rank_greet(vcq, rank, to);
	for (unsigned int from = 0; from < RANKS; from++)
		CHECK(!tofu_wait_word(&word[from], from + 1));
}

static pid_t rank_start(unsigned int rank, void (*body)(unsigned int rank))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(2 * WAIT_SECONDS);
	body(rank);
	exit(0);
}

static int rank_status(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Return: how many ranks failed. */
static int ranks_run(void (*body)(unsigned int rank), unsigned int count)
{
	pid_t pid[RANKS];
	int failed = 0;

	for (unsigned int i = 0; i < count; i++)
		pid[i] = rank_start(i, body);
	for (unsigned int i = 0; i < count; i++)
		failed += rank_status(pid[i]) != 0;
	return failed;
}

TEST_F(launcher, ranks_of_a_launcher_find_each_other)
{
	job_say("3");
	EXPECT_EQ(ranks_run(rank_main, RANKS), 0);
	EXPECT_EQ(files_of_job(), 0);
}

/* ---- */

static void rank_attach(unsigned int rank)
{
	utofu_vcq_hdl_t vcq;
	char text[16];

	snprintf(text, sizeof(text), "%u", rank);
	setenv("PMI_RANK", text, 1);
	CHECK(!utofu_create_vcq_with_cmp_id(0, 0, 0, &vcq));
}

static void rank_killed(unsigned int rank)
{
	rank_attach(rank);
	raise(SIGKILL);
}

/* The dead job's machine has too few nodes for the next one of its name. */
TEST_F(launcher, what_a_killed_job_left_is_not_used)
{
	job_say("2");
	EXPECT_EQ(ranks_run(rank_killed, 1), 1);
	EXPECT_EQ(files_of_job(), 1);
	job_say("3");
	EXPECT_EQ(ranks_run(rank_main, RANKS), 0);
	EXPECT_EQ(files_of_job(), 0);
}

/* A process that ended while it made the file has left a part of one. */
TEST_F(launcher, what_is_no_machine_is_not_used)
{
	char path[128];

	job_say("3");
	tofu_job_file_name(job, path, sizeof(path));
	strcat(path, ".0");
	close(open(path, O_RDWR | O_CREAT, 0600));
	ASSERT_EQ(truncate(path, 1 << 20), 0);
	EXPECT_EQ(ranks_run(rank_main, RANKS), 0);
	EXPECT_EQ(files_of_job(), 0);
}

/* ---- */

/* Of two ranks, how many have come, and how many the library has let go. */
static unsigned int *come, *gone;

static void wait_for_both(unsigned int *count)
{
	time_t since = time(NULL);

	__atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < 2 &&
	       time(NULL) - since < WAIT_SECONDS)
		sched_yield();
}

/* After the library's, which has the default priority: that is later. */
__attribute__((destructor(200))) static void end_together(void)
{
	if (gone && getenv("PMI_RANK"))
		wait_for_both(gone);
}

static void rank_ends_with_other(unsigned int rank)
{
	rank_attach(rank);
	wait_for_both(come);
}

/* Neither has ended when the other leaves; a third rank never comes. */
TEST_F(launcher, the_last_of_those_that_end_together_takes_the_name)
{
	come = mmap(NULL, sizeof(*come) * 2, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(come, MAP_FAILED);
	gone = come + 1;
	job_say("3");
	EXPECT_EQ(ranks_run(rank_ends_with_other, 2), 0);
	EXPECT_EQ(*come, 2);
	EXPECT_EQ(*gone, 2);
	EXPECT_EQ(files_of_job(), 0);
}

/* ---- */

/* Process numbers are used anew; when a process was started is not. */
TEST_F(launcher, a_job_without_a_name_has_that_of_its_one_launcher)
{
	uint64_t start;

	ASSERT_EQ(tofu_process_start(getpid(), &start), 0);
	job_say("2");
	snprintf(job, sizeof(job), "%d.%llu", (int)getpid(),
		 (unsigned long long)start);
	unsetenv("PMIX_NAMESPACE");
	unsetenv("OMPI_MCA_ess_base_jobid");
	unsetenv("SLURM_JOB_ID");
	EXPECT_EQ(ranks_run(rank_killed, 1), 1);
	EXPECT_EQ(files_of_job(), 1);
	/* A rank that ends well removes the leftovers. */
	EXPECT_EQ(ranks_run(rank_attach, 1), 0);
	EXPECT_EQ(files_of_job(), 0);
}

TEST_HARNESS_MAIN
