// SPDX-License-Identifier: MIT
/* Waiting by poll(2). */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "tk_harness.h"

#define LIMIT_MS (TK_LIMIT_S * 1000)

static int poll_cq(const struct tk_cq *cq, int timeout)
{
	struct pollfd fd = { .fd = cq->fd, .events = POLLIN };
	int ret = poll(&fd, 1, timeout);

	return ret < 0 ? -errno : ret ? fd.revents : 0;
}

static void post_nop(struct tk_cq *cq)
{
	tk_post(cq, tk_desc(cq, cq, TOFU_CMD_NOP, TOFU_TOQ_F_TCQ_NOTICE, 0, 0,
			    0), NULL);
}

/* An action on a CQ shortly after the caller fell asleep */
struct later {
	struct tk_cq *cq;
	void (*run)(struct tk_cq *cq);
	pthread_t thread;
};

static void *later_thread(void *arg)
{
	struct later *later = arg;

	usleep(100000);
	later->run(later->cq);
	return NULL;
}

static int later_begin(struct later *later, struct tk_cq *cq,
		       void (*run)(struct tk_cq *cq))
{
	later->cq = cq;
	later->run = run;
	return pthread_create(&later->thread, NULL, later_thread, later);
}

TEST_F(tofu, nothing_to_read)
{
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_open(&cq));
	EXPECT_EQ(0, poll_cq(&cq, 0));
	EXPECT_EQ(0, poll_cq(&cq, 50));
	tk_cq_close(&cq);
}

TEST_F(tofu, readable_until_it_was_read)
{
	struct tk_cq cq;
	uint64_t entry;

	ASSERT_EQ(0, tk_cq_open(&cq));
	post_nop(&cq);
	EXPECT_EQ(POLLIN, poll_cq(&cq, LIMIT_MS));
	EXPECT_EQ(POLLIN, poll_cq(&cq, 0));
	ASSERT_EQ(0, tk_tcq(&cq, &entry));
	EXPECT_EQ(0, poll_cq(&cq, 0));
	tk_cq_close(&cq);
}

TEST_F(tofu, a_tcq_entry_wakes)
{
	struct later later;
	struct tk_cq cq;
	uint64_t entry;
	int i;

	ASSERT_EQ(0, tk_cq_open(&cq));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, later_begin(&later, &cq, post_nop));
		EXPECT_EQ(POLLIN, poll_cq(&cq, LIMIT_MS));
		pthread_join(later.thread, NULL);
		ASSERT_EQ(0, tk_tcq(&cq, &entry));
	}
	tk_cq_close(&cq);
}

/* Its interrupt has the last vector that user space can have. */
TEST_F(tofu, the_last_cq_of_the_last_tni_wakes)
{
	struct tofu_ioc_cq_create last = { .cq = TOFU_CQ_KERNEL - 1 };
	struct later later;
	struct tk_cq cq;
	uint64_t entry;

	ASSERT_EQ(0, tk_cq_create(&cq));
	last.tni = cq.info.tnis - 1;
	tk_cq_close(&cq);
	ASSERT_EQ(0, tk_cq_create_as(&cq, last));
	ASSERT_EQ(0, tk_cq_map(&cq));
	ASSERT_EQ(0, later_begin(&later, &cq, post_nop));
	EXPECT_EQ(POLLIN, poll_cq(&cq, LIMIT_MS));
	pthread_join(later.thread, NULL);
	ASSERT_EQ(0, tk_tcq(&cq, &entry));
	tk_cq_close(&cq);
}

static struct tk_cq sender;
static struct tk_mem target;

static void put_to(struct tk_cq *cq)
{
	tk_post(&sender, tk_desc(&sender, cq, TOFU_CMD_PUT_PIGGYBACK,
				 TOFU_TOQ_F_RMT_NOTICE, target.stadd, 42, 8),
		NULL);
}

TEST_F(tofu, a_notice_from_elsewhere_wakes)
{
	struct tofu_mrq_entry entry;
	struct later later;
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_cq_open(&sender));
	ASSERT_EQ(0, tk_mem_new(&cq, 4096, &target));
	ASSERT_EQ(0, later_begin(&later, &cq, put_to));
	EXPECT_EQ(POLLIN, poll_cq(&cq, LIMIT_MS));
	pthread_join(later.thread, NULL);
	ASSERT_EQ(0, tk_mrq(&cq, &entry));
	EXPECT_EQ(TOFU_MRQ_RMT_PUT, TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ(42, *(uint64_t *)target.addr);
	tk_mem_free(&cq, &target);
	tk_cq_close(&cq);
	tk_cq_close(&sender);
}

/* More slots than the ring has: the engine stops. */
static void lie_about_the_tail(struct tk_cq *cq)
{
	cq->toq_tail = TOFU_RING_ENTRIES(0) + 1;
	post_nop(cq);
}

TEST_F(tofu, an_exception_wakes)
{
	struct later later;
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, later_begin(&later, &cq, lie_about_the_tail));
	EXPECT_EQ(POLLERR, poll_cq(&cq, LIMIT_MS));
	pthread_join(later.thread, NULL);
	EXPECT_EQ(POLLERR, poll_cq(&cq, 0));
	tk_cq_close(&cq);
}

TEST_F_TIMEOUT(tofu, a_lost_notice_is_an_error, TK_TIMEOUT_S)
{
	uint64_t entries = TOFU_RING_ENTRIES(0);
	struct tk_cq cq;
	struct tk_mem mem;
	uint64_t i, tcq;
	int ret = 0;

	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, 4096, &mem));
	for (i = 0; i <= entries && !ret; i++) {
		EXPECT_EQ(0, poll_cq(&cq, 0) & POLLERR);
		tk_post(&cq, tk_desc(&cq, &cq, TOFU_CMD_PUT_PIGGYBACK,
				     TOFU_TOQ_F_LCL_NOTICE |
				     TOFU_TOQ_F_TCQ_NOTICE, mem.stadd, i, 8),
			NULL);
		ret = tk_tcq(&cq, &tcq);
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(POLLERR, poll_cq(&cq, LIMIT_MS) & POLLERR);
	EXPECT_EQ(POLLIN, poll_cq(&cq, LIMIT_MS) & POLLIN);
	tk_mem_free(&cq, &mem);
	tk_cq_close(&cq);
}

TEST_F(tofu, edge_triggered_epoll_sees_each_entry)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct later later;
	struct tk_cq cq;
	uint64_t entry;
	int i;

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, cq.fd, &event));
	for (i = 0; i < 3; i++) {
		/* Polling arms, as in a program before it sleeps. */
		EXPECT_EQ(0, poll_cq(&cq, 0));
		ASSERT_EQ(0, later_begin(&later, &cq, post_nop));
		EXPECT_EQ(1, epoll_wait(epoll, &event, 1, LIMIT_MS));
		pthread_join(later.thread, NULL);
		ASSERT_EQ(0, tk_tcq(&cq, &entry));
	}
	close(epoll);
	tk_cq_close(&cq);
}

TEST_HARNESS_MAIN
