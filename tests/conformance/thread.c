// SPDX-License-Identifier: MIT
/* Several threads: with one VCQ that is THREAD_SAFE, and with one each. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define THREADS 4
#define ROUNDS 10
#define POSTS 400 /* notices of a round fit into the smallest MRQ, of 2048 */
#define ALL (THREADS * POSTS)

/**
 * struct worker - a thread
 * @port:   VCQ that it posts by and polls
 * @number: of the thread
 * @base:   first cookie of its posts
 * @total:  reports, and notices, that all who share the VCQ wait for
 * @taken:  reports and notices so far, of all who share the VCQ
 * @seen:   by cookie, how often it was reported
 */
struct worker {
	struct port *port;
	unsigned int number;
	size_t base;
	size_t total;
	_Atomic size_t *taken;
	_Atomic unsigned char *seen;
};

static struct port ports[THREADS];
static uint8_t cookies[ALL];

static void poll_once(struct worker *worker)
{
	struct utofu_mrq_notice notice;
	void *cbdata;
	int code = utofu_poll_tcq(worker->port->vcq, 0, &cbdata);

	if (code == UTOFU_SUCCESS) {
		ptrdiff_t cookie = (uint8_t *)cbdata - cookies;

		if (CHECK(cookie >= 0 && cookie < ALL))
			atomic_fetch_add(&worker->seen[cookie], 1);
		atomic_fetch_add(&worker->taken[0], 1);
	} else {
		CHECK(code == UTOFU_ERR_NOT_FOUND);
	}
	code = utofu_poll_mrq(worker->port->vcq, 0, &notice);
	if (code == UTOFU_SUCCESS)
		atomic_fetch_add(&worker->taken[1], 1);
	else
		CHECK(code == UTOFU_ERR_NOT_FOUND);
}

static bool all_taken(struct worker *worker)
{
	return atomic_load(&worker->taken[0]) == worker->total &&
	       atomic_load(&worker->taken[1]) == worker->total;
}

static void *work(void *data)
{
	struct patience patience = { 0 };
	struct worker *worker = data;
	struct port *port = worker->port;
	size_t posted = 0;

	while (posted < POSTS || !all_taken(worker)) {
		int code = UTOFU_ERR_BUSY;

		if (posted < POSTS)
			code = utofu_put_piggyback8(
				port->vcq, port->id[world.next], posted + 1,
				port->stadd[world.next] + worker->number * 8,
				8, 0, TCQ | RMT,
				&cookies[worker->base + posted]);
		if (code == UTOFU_SUCCESS)
			posted++;
		else
			CHECK(code == UTOFU_ERR_BUSY);
		poll_once(worker);
		if (code != UTOFU_SUCCESS && !CHECK(patient(&patience)))
			break;
	}
	return NULL;
}

static void run(struct worker worker[THREADS])
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, &worker[i]))
			give_up("no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void check_seen(_Atomic unsigned char *seen)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ALL; i++)
		wrong += seen[i] != 1;
	CHECK(wrong == 0);
}

/* All share the first port, or each has its own. */
static void check_round(bool shared)
{
	static _Atomic unsigned char seen[ALL];
	_Atomic size_t taken[THREADS][2];
	struct worker worker[THREADS];

	memset((void *)seen, 0, sizeof(seen));
	for (unsigned int i = 0; i < THREADS; i++) {
		struct worker new = {
			.port = &ports[shared ? 0 : i],
			.number = i,
			.base = (size_t)i * POSTS,
			.total = shared ? ALL : POSTS,
			.taken = taken[shared ? 0 : i],
			.seen = seen,
		};

		atomic_store(&taken[i][0], 0);
		atomic_store(&taken[i][1], 0);
		worker[i] = new;
	}
	meet();
	run(worker);
	meet();
	check_seen(seen);
	for (unsigned int i = 0; i < THREADS; i++) {
		uint64_t last;

		memcpy(&last, worker[i].port->area + i * 8, sizeof(last));
		CHECK(last == POSTS);
		check_quiet(worker[i].port);
		memset(worker[i].port->area + i * 8, 0, sizeof(last));
	}
	meet();
}

static void check_threads(bool shared, const char *name)
{
	for (int i = 0; i < ROUNDS; i++)
		check_round(shared);
	claim("%s", name);
}

/* Makes and frees VCQs and registrations while others communicate. */
static void *make_and_free(void *data)
{
	utofu_tni_id_t tni = *(utofu_tni_id_t *)data;
	static uint8_t memory[4096];

	for (int i = 0; i < 100; i++) {
		utofu_vcq_hdl_t vcq = 0;
		utofu_stadd_t stadd = 0;

		CODE(utofu_create_vcq(tni, UTOFU_VCQ_FLAG_THREAD_SAFE, &vcq),
		     UTOFU_SUCCESS);
		CODE(utofu_reg_mem(vcq, memory, sizeof(memory), 0, &stadd),
		     UTOFU_SUCCESS);
		CODE(utofu_reg_mem_with_stag(vcq, memory, sizeof(memory), 1, 0,
					     &stadd),
		     UTOFU_SUCCESS);
		CODE(utofu_dereg_mem(vcq, stadd, 0), UTOFU_SUCCESS);
		CODE(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	}
	return NULL;
}

static void check_making(void)
{
	utofu_tni_id_t tni[2] = { 0, 1 };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, make_and_free, &tni[i]))
			give_up("no thread");
	check_threads(true, "threads send while others make VCQs");
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	claim("VCQs and registrations made and freed by threads at once");
}

static void open_all(unsigned int tnis, unsigned long flags)
{
	for (unsigned int i = 0; i < THREADS; i++)
		port_open(&ports[i], (utofu_tni_id_t)(i % tnis), flags, 4096);
}

static void close_all(void)
{
	for (unsigned int i = 0; i < THREADS; i++)
		port_close(&ports[i]);
}

int main(void)
{
	unsigned int tnis;

	conform_begin();
	/* The queues of one TNI are not enough for all of several processes. */
	tnis = world.ppn > 1 ? 2 : 1;
	open_all(1, UTOFU_VCQ_FLAG_THREAD_SAFE);
	check_threads(true, "4 threads share a THREAD_SAFE VCQ");
	check_threads(false, "4 threads, a THREAD_SAFE VCQ each, one queue");
	check_making();
	close_all();
	open_all(tnis, UTOFU_VCQ_FLAG_THREAD_SAFE | UTOFU_VCQ_FLAG_EXCLUSIVE);
	check_threads(true, "4 threads share an EXCLUSIVE THREAD_SAFE VCQ");
	close_all();
	open_all(tnis, UTOFU_VCQ_FLAG_EXCLUSIVE);
	check_threads(false, "4 threads, an EXCLUSIVE VCQ each, no locks");
	close_all();
	open_all(world.tnis, 0);
	check_threads(false, "4 threads, a TNI each, no locks");
	close_all();
	return conform_end();
}
