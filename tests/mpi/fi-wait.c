/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: programs that sleep until a descriptor tells that
 * something has ended, and progress without calls.
 */
#include "fi-util.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define ROUNDS 20
#define LONG (1u << 20)
#define LIMIT_MS 20000

static const struct options descriptors = { .wait = FI_WAIT_FD };
static struct port port;

static void nap(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

/* ---- Descriptors ---- */

/* Whether the descriptor is readable within this time */
static bool rings(struct fid *fid, int ms)
{
	struct pollfd fd = { .fd = -1, .events = POLLIN };

	return !fi_control(fid, FI_GETWAIT, &fd.fd) && poll(&fd, 1, ms) == 1;
}

/* Sleeps until the next entry is there; only then it is read. */
static bool entry_come(struct fid_cq *queue, struct fi_cq_tagged_entry *entry)
{
	struct fid *fid = &queue->fid;
	uint64_t since = clock_ms();
	ssize_t got = -FI_EAGAIN;

	while (got == -FI_EAGAIN && !late(since)) {
		int ret = fi_trywait(fabric, &fid, 1);

		if (ret != -FI_EAGAIN && (ret || !rings(fid, LIMIT_MS)))
			return false;
		got = fi_cq_read(queue, entry, 1);
	}
	return got == 1;
}

static int descriptors_ring(void)
{
	struct fi_cq_tagged_entry entry;
	struct done out, in;
	uint8_t from[2000], to[2000];

	RUN(port_open(&port, &descriptors));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		bool sent = false, received = false;

		renew(&out);
		renew(&in);
		fill(from, sizeof(from), i);
		TEST(!receive_tagged(&port, left, to, sizeof(to), i, 0, &in));
		nap(rank);
		TEST(!send_tagged(&port, right, from, sizeof(from), i, &out));
		while (!sent || !received) {
			TEST(entry_come(port.receives, &entry));
			sent = sent || entry.op_context == &out;
			received = received || entry.op_context == &in;
		}
		TEST(filled(to, sizeof(to), i));
	}
	return port_close(&port);
}

static int descriptor_silent(void)
{
	struct fid *fid;
	enum fi_wait_obj wait = FI_WAIT_NONE;

	RUN(port_open(&port, &descriptors));
	fid = &port.receives->fid;
	TEST(!fi_control(fid, FI_GETWAITOBJ, &wait) && wait == FI_WAIT_FD);
	TEST(!fi_trywait(fabric, &fid, 1));
	TEST(!rings(fid, 30));
	return port_close(&port);
}

static int waits_refused(void)
{
	static const enum fi_wait_obj waits[] = { FI_WAIT_SET, FI_WAIT_MUTEX_COND };
	struct fid_cntr *counter;
	struct fid_cq *queue;
	int fd;

	for (int i = 0; i < 2; i++) {
		struct fi_cq_attr of_queue = { .wait_obj = waits[i] };
		struct fi_cntr_attr of_counter = { .wait_obj = waits[i] };

		TEST(fi_cq_open(domain, &of_queue, &queue, NULL) < 0);
		TEST(fi_cntr_open(domain, &of_counter, &counter, NULL) < 0);
	}
	TEST(!queue_open(FI_CQ_FORMAT_TAGGED, 0, &queue));
	TEST(fi_control(&queue->fid, FI_GETWAIT, &fd) < 0);
	TEST(!fi_close(&queue->fid));
	return 0;
}

static int event_queues(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_eq *queue;
	struct fid *fid;

	TEST(!fi_eq_open(fabric, &attr, &queue, NULL));
	fid = &queue->fid;
	TEST(!fi_trywait(fabric, &fid, 1));
	TEST(!rings(fid, 10));
	TEST(!fi_close(&queue->fid));
	return 0;
}

/* ---- Reading with a limit ---- */

static int sleeping_read(enum fi_wait_obj wait)
{
	const struct options options = { .wait = wait };
	struct fi_cq_tagged_entry entry;
	uint8_t from[8] = { 0 }, to[8];
	struct done out, in;
	int got = 0;

	RUN(port_open(&port, &options));
	TEST(fi_cq_sread(port.receives, &entry, 1, NULL, 30) == -FI_EAGAIN);
	renew(&out);
	renew(&in);
	TEST(!receive_tagged(&port, left, to, sizeof(to), 1, 0, &in));
	nap(5 * rank);
	TEST(!send_tagged(&port, right, from, sizeof(from), 1, &out));
	for (; got < 2; got++)
		TEST(fi_cq_sread(port.receives, &entry, 1, NULL, LIMIT_MS) == 1);
	return port_close(&port);
}

static int sleeping_reads(void)
{
	RUN(sleeping_read(FI_WAIT_FD));
	RUN(sleeping_read(FI_WAIT_UNSPEC));
	return 0;
}

static void *signal_later(void *queue)
{
	nap(20);
	fi_cq_signal(queue);
	return NULL;
}

static int signalled(enum fi_wait_obj wait)
{
	const struct options options = { .wait = wait };
	struct fi_cq_tagged_entry entry;
	pthread_t thread;
	uint64_t since;

	RUN(port_open(&port, &options));
	TEST(!pthread_create(&thread, NULL, signal_later, port.receives));
	since = clock_ms();
	TEST(fi_cq_sread(port.receives, &entry, 1, NULL, 2 * LIMIT_MS) ==
	     -FI_EAGAIN);
	TEST(!late(since));
	TEST(!pthread_join(thread, NULL));
	/* That was one signal, for one read. */
	TEST(fi_cq_sread(port.receives, &entry, 1, NULL, 10) == -FI_EAGAIN);
	return port_close(&port);
}

static int signals(void)
{
	RUN(signalled(FI_WAIT_FD));
	RUN(signalled(FI_WAIT_UNSPEC));
	return 0;
}

/* ---- Counters ---- */

static int counter_rings(void)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP,
				     .wait_obj = FI_WAIT_FD };
	struct options options = { .counted[0] = FI_RECV };
	uint8_t from[8] = { 0 }, to[8];
	struct done out, in;
	struct fid *fid;

	TEST(!fi_cntr_open(domain, &attr, &options.counter[0], NULL));
	fid = &options.counter[0]->fid;
	RUN(port_open(&port, &options));
	TEST(!fi_trywait(fabric, &fid, 1));
	TEST(!rings(fid, 10));
	renew(&out);
	renew(&in);
	TEST(!receive_tagged(&port, left, to, sizeof(to), 1, 0, &in));
	TEST(meet());
	nap(rank);
	TEST(!send_tagged(&port, right, from, sizeof(from), 1, &out));
	TEST(rings(fid, LIMIT_MS));
	TEST(fi_cntr_read(options.counter[0]) == 1);
	/* It has changed since the last time. */
	TEST(fi_trywait(fabric, &fid, 1) == -FI_EAGAIN);
	TEST(!fi_trywait(fabric, &fid, 1));
	TEST(!fi_cntr_wait(options.counter[0], 1, LIMIT_MS));
	TEST(fi_cntr_wait(options.counter[0], 2, 30) == -FI_ETIMEDOUT);
	TEST(succeeded(&out, 1) && succeeded(&in, 1));
	RUN(port_close(&port));
	TEST(!fi_close(fid));
	return 0;
}

/* ---- Progress without calls ---- */

static struct fi_info *info_auto(void)
{
	struct fi_info *hints = fi_allocinfo(), *got = NULL;

	if (!hints)
		return NULL;
	hints->fabric_attr->prov_name = strdup("tofu");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &got);
	fi_freeinfo(hints);
	return got;
}

/* A long message moves only if its receiver acts; it looks at memory alone. */
static int moves_alone(void)
{
	volatile uint8_t *last;
	uint8_t *from = room(LONG), *to = room(LONG);
	uint64_t since = clock_ms();
	struct done out, in;

	RUN(port_open(&port, NULL));
	fill(from, LONG, (unsigned int)rank);
	from[LONG - 1] = 77;
	memset(to, 0, LONG);
	last = &to[LONG - 1];
	renew(&out);
	renew(&in);
	TEST(!receive_tagged(&port, left, to, LONG, 1, 0, &in));
	TEST(!send_tagged(&port, right, from, LONG, 1, &out));
	while (*last != 77 && !late(since))
		nap(1);
	TEST(*last == 77);
	TEST(succeeded(&in, 1) && succeeded(&out, 1));
	TEST(filled(to, LONG - 1, (unsigned int)left));
	return port_close(&port);
}

static int progress_alone(void)
{
	struct fid_domain *others = domain;
	struct fi_info *got = info_auto(), *had = info;
	int failed;

	TEST(got && got->domain_attr->data_progress == FI_PROGRESS_AUTO);
	TEST(!fi_domain(fabric, got, &domain, NULL));
	info = got;
	failed = moves_alone();
	if (failed)
		ports_close();
	failed = fi_close(&domain->fid) || failed;
	domain = others;
	info = had;
	fi_freeinfo(got);
	return failed;
}

bool alone_to_the_end(void)
{
	struct fi_info *got = info_auto();
	struct fid_fabric *own;
	struct fid_domain *open;
	bool done = got && !fi_fabric(got->fabric_attr, &own, NULL) &&
		    !fi_domain(own, got, &open, NULL);

	fi_freeinfo(got);
	return done;
}

static const struct test tests[] = {
	{ "a descriptor tells that something has ended", descriptors_ring },
	{ "and is silent while nothing does", descriptor_silent },
	{ "other wait objects are refused", waits_refused },
	{ "event queues have a descriptor, too", event_queues },
	{ "a read waits for as long as it is told", sleeping_reads },
	{ "a signal ends it", signals },
	{ "a counter's descriptor tells that it has changed", counter_rings },
	{ "with automatic progress messages move without calls", progress_alone },
};

const struct suite wait_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
