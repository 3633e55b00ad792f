/* SPDX-License-Identifier: MIT */
/*
 * Threads on the control path: one that waits for another node holds none of
 * the others up, and what it waits with is not freed under it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "utofu-util.h"
#include "utofu/instance.h"

#define BYTES 4096
#define NAP_US 20000
#define PEER 1

static struct tofu_nodes *nodes;

/* An object that a thread is about to free, and whether it has done so */
struct ending {
	utofu_vcq_hdl_t vcq;
	utofu_stadd_t at;
	int code;
	bool ended;
};

static void *dereg(void *arg)
{
	struct ending *ending = arg;

	ending->code = utofu_dereg_mem(ending->vcq, ending->at, 0);
	__atomic_store_n(&ending->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *free_vcq(void *arg)
{
	struct ending *ending = arg;

	ending->code = utofu_free_vcq(ending->vcq);
	__atomic_store_n(&ending->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool ended(const struct ending *ending)
{
	return __atomic_load_n(&ending->ended, __ATOMIC_ACQUIRE);
}

/* ---- A node that does not answer ---- */

static char state_of(pid_t pid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
	fclose(file);
	return state;
}

static void peer_stop(void)
{
	pid_t pid = (pid_t)nodes->word[PEER];

	CHECK(!kill(pid, SIGSTOP));
	while (state_of(pid) != 'T')
		usleep(NAP_US);
	usleep(NAP_US);
}

static void peer_continue(void)
{
	CHECK(!kill((pid_t)nodes->word[PEER], SIGCONT));
}

static void *memory(void)
{
	void *at = aligned_alloc(256, BYTES);

	memset(at, 0, BYTES);
	return at;
}

/* It is here so that others can stop it. */
static void peer(void)
{
	struct ending own = { 0 };
	void *at = memory();

	CHECK(!utofu_create_vcq(0, 0, &own.vcq));
	CHECK(!utofu_query_vcq_id(own.vcq, &nodes->vcq[PEER]));
	CHECK(!utofu_reg_mem(own.vcq, at, BYTES, 0, &nodes->stadd[PEER]));
	nodes->word[PEER] = (uint64_t)getpid();
	tofu_nodes_meet(nodes);
	tofu_nodes_meet(nodes);
	CHECK(!utofu_free_vcq(own.vcq));
	free(at);
}

/* A get that is not answered: what is freed now has to be waited for. */
static void get_begin(struct ending *ending, void *at)
{
	CHECK(!utofu_create_vcq(0, 0, &ending->vcq));
	CHECK(!utofu_reg_mem(ending->vcq, at, BYTES, 0, &ending->at));
	peer_stop();
	CHECK(!utofu_get(ending->vcq, nodes->vcq[PEER], ending->at,
			 nodes->stadd[PEER], 8, 0, 0, NULL));
}

/* Whether the thread has got as far as where it waits */
static bool under_way(const struct ending *ending)
{
	const struct tofu_vcq *vcq;
	bool gone;

	tofu_instance_lock();
	vcq = tofu_vcq_find(ending->vcq);
	gone = !vcq || !vcq->region;
	tofu_instance_unlock();
	return gone;
}

static pthread_t begin(void *(*run)(void *), struct ending *ending)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, run, ending));
	while (!under_way(ending))
		usleep(NAP_US);
	CHECK(!ended(ending));
	return thread;
}

static void end(pthread_t thread, struct ending *ending)
{
	CHECK(!ended(ending));
	peer_continue();
	pthread_join(thread, NULL);
	CHECK(!ending->code);
}

/* All that there is to do on the control path, and a put */
static utofu_vcq_hdl_t others_go_on(void *at)
{
	struct utofu_mrq_notice notice;
	utofu_vbg_id_t gates[2];
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_stadd_t stadd;

	CHECK(!utofu_create_vcq(0, UTOFU_VCQ_FLAG_EXCLUSIVE, &vcq));
	CHECK(!utofu_query_vcq_id(vcq, &id));
	CHECK(!utofu_reg_mem(vcq, at, BYTES, 0, &stadd));
	CHECK(!utofu_put_piggyback8(vcq, id, 77, stadd, 8, 0, RMT, NULL));
	CHECK(!tofu_wait_mrq(vcq, &notice));
	CHECK(*(uint64_t *)at == 77);
	CHECK(!utofu_alloc_vbg(0, 2, 0, gates));
	CHECK(!utofu_free_vbg(gates, 2));
	return vcq;
}

static void others_go_on_while(void *(*run)(void *), bool frees_vcq)
{
	struct ending ending = { 0 };
	void *own = memory(), *other = memory();
	utofu_vcq_hdl_t vcq;
	pthread_t thread;

	tofu_nodes_meet(nodes);
	get_begin(&ending, own);
	thread = begin(run, &ending);
	vcq = others_go_on(other);
	end(thread, &ending);
	CHECK(!utofu_free_vcq(vcq));
	if (!frees_vcq)
		CHECK(!utofu_free_vcq(ending.vcq));
	free(own);
	free(other);
	tofu_nodes_meet(nodes);
}

static void deregistering(struct tofu_nodes *all, unsigned int node)
{
	nodes = all;
	if (node)
		peer();
	else
		others_go_on_while(dereg, false);
}

TEST(others_go_on_while_memory_is_deregistered)
{
	EXPECT_EQ(tofu_nodes_run(2, deregistering, -1), 0);
}

static void freeing(struct tofu_nodes *all, unsigned int node)
{
	nodes = all;
	if (node)
		peer();
	else
		others_go_on_while(free_vcq, true);
}

TEST(others_go_on_while_a_vcq_is_freed)
{
	EXPECT_EQ(tofu_nodes_run(2, freeing, -1), 0);
}

/* The queue stays until the thread that waits with it has come back. */
static void freeing_under_it(struct tofu_nodes *all, unsigned int node)
{
	struct ending ending = { 0 };
	void *own = memory();
	pthread_t thread;

	nodes = all;
	if (node) {
		free(own);
		peer();
		return;
	}
	tofu_nodes_meet(nodes);
	get_begin(&ending, own);
	thread = begin(dereg, &ending);
	CHECK(!utofu_free_vcq(ending.vcq));
	CHECK(utofu_dereg_mem(ending.vcq, ending.at, 0) ==
	      UTOFU_ERR_INVALID_VCQ_HDL);
	end(thread, &ending);
	free(own);
	tofu_nodes_meet(nodes);
}

TEST(a_queue_outlives_its_vcq_while_it_is_waited_with)
{
	EXPECT_EQ(tofu_nodes_run(2, freeing_under_it, -1), 0);
}

/* ---- Many at once ---- */

#define THREADS 4
#define ROUNDS 50

static void *make_and_free(void *arg)
{
	unsigned long flags = UTOFU_VCQ_FLAG_THREAD_SAFE;
	void *at = memory();

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct utofu_mrq_notice notice;
		utofu_stadd_t stadd[2];
		utofu_vcq_hdl_t vcq;
		utofu_vcq_id_t id;

		CHECK(!utofu_create_vcq(0, flags, &vcq));
		CHECK(!utofu_query_vcq_id(vcq, &id));
		CHECK(!utofu_reg_mem(vcq, at, BYTES, 0, &stadd[0]));
		CHECK(!utofu_reg_mem(vcq, at, BYTES, 0, &stadd[1]));
		CHECK(!utofu_put(vcq, id, stadd[0], stadd[1] + 8, 8, 0, RMT,
				 NULL));
		CHECK(!tofu_wait_mrq(vcq, &notice));
		CHECK(!utofu_dereg_mem(vcq, stadd[i % 2], 0));
		CHECK(!utofu_free_vcq(vcq));
	}
	free(at);
	return NULL;
}

TEST(threads_share_queues_that_come_and_go)
{
	pthread_t thread[THREADS];

	setenv("TOFU_PORT", "emu", 1);
	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, make_and_free, NULL),
			  0);
	for (int i = 0; i < THREADS; i++)
		EXPECT_EQ(pthread_join(thread[i], NULL), 0);
}

TEST_HARNESS_MAIN
