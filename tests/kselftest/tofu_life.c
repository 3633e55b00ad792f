// SPDX-License-Identifier: MIT
/* The end of files, of processes, of the device, of the module. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tk_harness.h"

#define PAGE 4096UL
#define SIZE (256 * 1024)

static uint64_t load(const void *word)
{
	return __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE);
}

/* ---- Files and processes ---- */

/* All orders of closing descriptor, mappings and device */
TEST_F(tofu, order_of_closing)
{
	static const char * const orders[] = {
		"fmd", "fdm", "mfd", "mdf", "dfm", "dmf",
	};
	struct tk_mem mem;
	struct tk_cq cq;
	size_t i, k;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, tk_cq_open(&cq));
		ASSERT_EQ(0, tk_mem_new(&cq, SIZE, &mem));
		ASSERT_EQ(0, tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8));
		for (k = 0; k < 3; k++) {
			if (orders[i][k] == 'f')
				close(cq.fd);
			else if (orders[i][k] == 'd')
				close(cq.dev);
			else
				tk_cq_unmap(&cq);
		}
		munmap(mem.addr, SIZE);
		EXPECT_EQ(0, tk_count("pinned_pages"))
			TH_LOG("order %s", orders[i]);
	}
}

TEST_F(tofu, a_child_can_use_the_descriptor_and_outlive_its_parent)
{
	struct tk_cq cq;
	struct tk_mem mem;
	int status;
	pid_t child;

	ASSERT_EQ(0, tk_cq_create(&cq));
	child = fork();
	if (!child) {
		if (tk_cq_map(&cq) || tk_mem_new(&cq, SIZE, &mem))
			_exit(1);
		_exit(tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8) ? 2 : 0);
	}
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);
	/* The region lives as long as the CQ, though its process has ended. */
	EXPECT_EQ(SIZE / PAGE, tk_count("pinned_pages"));
	tk_cq_close(&cq);
}

#define SAW_THE_END 7

/* Ends when the device is gone. @putting: set as the first put is posted. */
static void put_for_ever(bool *putting)
{
	struct tk_cq cq;
	struct tk_mem mem;
	uint64_t i;

	if (tk_cq_open(&cq) || tk_mem_new(&cq, 2 * SIZE, &mem))
		_exit(1);
	for (i = 0;; i++) {
		while (i - load(&tk_page(&cq)->toq_head) > 30) {
			if (tk_gone(&cq))
				_exit(SAW_THE_END);
			*(volatile uint64_t *)((char *)cq.map[TOFU_MAP_KICK] +
					       TOFU_KICK_POLL) = 1;
		}
		tk_post(&cq, tk_desc(&cq, &cq, TOFU_CMD_PUT, 0, mem.stadd,
				     mem.stadd + SIZE, SIZE), NULL);
		__atomic_store_n(putting, true, __ATOMIC_RELEASE);
	}
}

/*
 * A child that puts for ever, or -1. Returns when it puts; its pages are pinned
 * before its registration has returned, so a count of them does not tell.
 */
static pid_t start_putting(void)
{
	bool *putting = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (putting == MAP_FAILED)
		return -1;
	child = fork();
	if (!child)
		put_for_ever(putting);
	while (child > 0 && !__atomic_load_n(putting, __ATOMIC_ACQUIRE)) {
		if (waitpid(child, NULL, WNOHANG))
			child = -1;
		else
			usleep(1000);
	}
	munmap(putting, PAGE);
	return child;
}

TEST_F_TIMEOUT(tofu, a_process_killed_in_mid_transfer, TK_TIMEOUT_S)
{
	int i, status;
	pid_t child;

	for (i = 0; i < 10; i++) {
		child = start_putting();
		ASSERT_LT(0, child);
		usleep(5000 * i);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(SIGKILL, WTERMSIG(status));
	}
}

static void register_for_ever(const struct tk_cq *cq)
{
	struct tk_cq mine = *cq;
	struct tk_mem mem;

	for (;;)
		if (!tk_mem_new(&mine, SIZE, &mem))
			tk_mem_free(&mine, &mem);
}

/* The parent holds the CQ, so its release does not clean up after the child. */
TEST_F_TIMEOUT(tofu, a_process_killed_while_it_deregisters, TK_TIMEOUT_S)
{
	struct tk_cq cq;
	int i, status;
	pid_t child;
	struct tk_mem mem;

	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, 2 * SIZE, &mem));
	for (i = 0; i < 20; i++) {
		child = fork();
		if (!child)
			register_for_ever(&cq);
		EXPECT_EQ(0, tk_put(&cq, &cq, mem.stadd, mem.stadd + SIZE,
				    SIZE));
		usleep(3000 * i);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	tk_cq_close(&cq);
	munmap(mem.addr, 2 * SIZE);
}

/* ---- Removal of the device ---- */

static void *wait_in_poll(void *arg)
{
	struct pollfd fd = { .fd = *(int *)arg, .events = POLLIN };

	if (poll(&fd, 1, TK_LIMIT_S * 1000) != 1)
		return NULL;
	return (void *)(intptr_t)fd.revents;
}

static void check_dead(struct __test_metadata *_metadata, struct tk_cq *cq)
{
	struct tofu_ioc_cq_create create = cq->create;
	struct tofu_ioc_info info = { .size = sizeof(info) };
	struct pollfd fd = { .fd = cq->fd, .events = POLLIN };
	struct tk_mem mem = { .stag = TOFU_STAG_AUTO };
	int i;

	EXPECT_EQ(-ENODEV, tk_ioctl(cq->fd, TOFU_IOC_INFO, &info));
	EXPECT_EQ(-ENODEV, tk_mem_dereg(cq, &mem));
	EXPECT_EQ(-ENODEV, tk_mem_new(cq, PAGE, &mem));
	EXPECT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(POLLERR | POLLHUP, fd.revents);
	for (i = 0; i < TOFU_MAPS; i++) {
		EXPECT_EQ(MAP_FAILED, mmap(NULL, create.map[i].length,
					   PROT_READ, MAP_SHARED, cq->fd,
					   create.map[i].key));
		EXPECT_EQ(ENODEV, errno);
	}
	EXPECT_EQ(0, tk_pinned_kb());
	EXPECT_TRUE(tk_gone(cq));
}

/* The pages of the device read as ones, until the program itself writes. */
static void check_ones(struct __test_metadata *_metadata, struct tk_cq *cq)
{
	const uint64_t *page = cq->map[TOFU_MAP_PAGE];
	const uint64_t *kick = cq->map[TOFU_MAP_KICK];
	size_t i;

	for (i = 0; i < PAGE / sizeof(*page); i++) {
		ASSERT_EQ(~0ULL, page[i]);
		ASSERT_EQ(~0ULL, kick[i]);
	}
}

/*
 * A program that knows nothing yet: it finds what had come, and then no more.
 * @cq has one command and its notice.
 */
static void check_rings(struct __test_metadata *_metadata, struct tk_cq *cq,
			struct tk_mem *mem)
{
	const struct tofu_toq_desc *toq = cq->map[TOFU_MAP_TOQ];
	struct tofu_mrq_entry entry;
	int i;

	EXPECT_EQ(TOFU_CMD_PUT, TOFU_GET(toq[0].ctrl, TOFU_TOQ_CMD));
	EXPECT_EQ(0, tk_mrq_try(cq, &entry));
	EXPECT_EQ(TOFU_ST_OK, TOFU_GET(entry.ctrl, TOFU_MRQ_STATUS));
	for (i = 0; i < 3; i++) {
		tk_post(cq, tk_desc(cq, cq, TOFU_CMD_PUT,
				    TOFU_TOQ_F_LCL_NOTICE, mem->stadd,
				    mem->stadd + 8, 8), NULL);
		ASSERT_EQ(-EAGAIN, tk_mrq_try(cq, &entry));
	}
}

TEST_F_TIMEOUT(tofu, unbind_under_a_mapped_cq, TK_TIMEOUT_S)
{
	struct tofu_ioc_cq_create create = {
		.size = sizeof(create), .cq = TOFU_CQ_ANY,
	};
	char function[64];
	struct tk_cq cq, next;
	struct tk_mem mem;
	pthread_t thread;
	void *revents;

	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, SIZE, &mem));
	tk_post(&cq, tk_desc(&cq, &cq, TOFU_CMD_PUT, TOFU_TOQ_F_LCL_NOTICE,
			     mem.stadd, mem.stadd + 8, 8), NULL);
	while (!TOFU_GET(load(cq.map[TOFU_MAP_MRQ]), TOFU_MRQ_FLIP))
		tk_kick_poll(&cq);
	/* For poll(2), it is read. */
	tk_page(&cq)->mrq_full_pointer = 1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_poll, &cq.fd));
	usleep(50000);
	ASSERT_EQ(0, tk_write(TK_DRIVER "/unbind", function));
	pthread_join(thread, &revents);
	EXPECT_EQ(POLLERR | POLLHUP, (intptr_t)revents);
	check_ones(_metadata, &cq);
	check_dead(_metadata, &cq);
	check_rings(_metadata, &cq, &mem);
	check_dead(_metadata, &cq);
	EXPECT_EQ(-ENODEV, tk_ioctl(cq.dev, TOFU_IOC_CQ_CREATE, &create));

	/* Binding again does not revive old files. */
	ASSERT_EQ(0, tk_write(TK_DRIVER "/bind", function));
	ASSERT_EQ(0, tk_cq_open(&next));
	check_dead(_metadata, &cq);
	tk_cq_close(&cq);
	munmap(mem.addr, SIZE);
	ASSERT_EQ(0, tk_mem_new(&next, SIZE, &mem));
	EXPECT_EQ(0, tk_put(&next, &next, mem.stadd, mem.stadd + 8, 8));
	tk_mem_free(&next, &mem);
	tk_cq_close(&next);
}

TEST_F_TIMEOUT(tofu, unbind_in_mid_transfer, TK_TIMEOUT_S)
{
	char function[64];
	int i, status;
	pid_t child;

	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	for (i = 0; i < 5; i++) {
		child = start_putting();
		ASSERT_LT(0, child);
		usleep(3000 * i);
		EXPECT_EQ(0, tk_write(TK_DRIVER "/unbind", function));
		waitpid(child, &status, 0);
		EXPECT_TRUE(WIFEXITED(status));
		EXPECT_EQ(SAW_THE_END, WEXITSTATUS(status));
		EXPECT_EQ(0, tk_write(TK_DRIVER "/bind", function));
		EXPECT_LE(0, tk_count("cqs"));
	}
}

TEST_F_TIMEOUT(tofu, reset_of_the_function, TK_TIMEOUT_S)
{
	char function[64], path[128];
	struct tk_cq cq, next;
	struct tk_mem mem;

	tk_function(function, sizeof(function));
	snprintf(path, sizeof(path), TK_DRIVER "/%s/reset", function);
	if (access(path, W_OK))
		SKIP(return, "the PCI function cannot be reset alone");
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, SIZE, &mem));
	ASSERT_EQ(0, tk_write(path, "1"));
	check_dead(_metadata, &cq);
	munmap(mem.addr, SIZE);
	ASSERT_EQ(0, tk_cq_open(&next));
	ASSERT_EQ(0, tk_mem_new(&next, SIZE, &mem));
	EXPECT_EQ(0, tk_put(&next, &next, mem.stadd, mem.stadd + 8, 8));
	tk_mem_free(&next, &mem);
	tk_cq_close(&next);
	tk_cq_close(&cq);
}

/* ---- Suspend ---- */

#define PM_TEST "/sys/power/pm_test"
#define PM_TEST_DELAY "/sys/module/suspend/parameters/pm_test_delay"

/* Suspends all devices, and resumes them at once; the rest stays awake. */
static int suspend_devices(void)
{
	int ret = tk_write(PM_TEST, "devices");

	if (!ret)
		ret = tk_write("/sys/power/state", "freeze");
	tk_write(PM_TEST, "none");
	return ret;
}

TEST_F_TIMEOUT(tofu, suspend_is_refused_while_something_is_in_use, TK_TIMEOUT_S)
{
	struct tk_gates gates;
	struct tk_mem mem;
	struct tk_cq cq;

	if (access(PM_TEST, W_OK))
		SKIP(return, "a kernel without CONFIG_PM_SLEEP_DEBUG");
	tk_write(PM_TEST_DELAY, "0");
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, SIZE, &mem));
	EXPECT_EQ(-EBUSY, suspend_devices());
	EXPECT_EQ(0, tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8));
	tk_mem_free(&cq, &mem);
	tk_cq_close(&cq);
	ASSERT_EQ(0, tk_gates_create(&gates, 0, 1));
	EXPECT_EQ(-EBUSY, suspend_devices());
	tk_gates_close(&gates);

	EXPECT_EQ(0, suspend_devices());
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, SIZE, &mem));
	EXPECT_EQ(0, tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8));
	tk_mem_free(&cq, &mem);
	tk_cq_close(&cq);
}

/* ---- The module ---- */

static const char *module_path(void)
{
	const char *path = getenv("TOFU_MODULE");

	return path ? path : "/lib/modules/tofu.ko";
}

static int module_load(void)
{
	int fd = open(module_path(), O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

static int module_unload(void)
{
	return syscall(SYS_delete_module, "tofu", O_NONBLOCK) ? -errno : 0;
}

/* The last reference to a file may be dropped a little after close(2). */
static int module_unload_soon(void)
{
	int i, ret = module_unload();

	for (i = 0; i < 200 && ret == -EWOULDBLOCK; i++) {
		usleep(10000);
		ret = module_unload();
	}
	return ret;
}

TEST_F(tofu, the_module_stays_while_a_file_is_open)
{
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_open(&cq));
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	close(cq.dev);
	cq.dev = -1;
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	close(cq.fd);
	cq.fd = -1;
	EXPECT_EQ(-EWOULDBLOCK, module_unload())
		TH_LOG("the mappings hold it");
	tk_cq_close(&cq);
}

TEST_F_TIMEOUT(tofu, unload_and_load, TK_TIMEOUT_S)
{
	struct tk_mem mem;
	struct tk_cq cq;
	int i;

	if (access(module_path(), R_OK))
		SKIP(return, "no %s (TOFU_MODULE)", module_path());
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, module_unload_soon());
		EXPECT_EQ(-1, access(TK_DEVICE, F_OK));
		ASSERT_EQ(0, module_load());
		ASSERT_EQ(0, tk_cq_open(&cq));
		ASSERT_EQ(0, tk_mem_new(&cq, SIZE, &mem));
		EXPECT_EQ(0, tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8));
		tk_mem_free(&cq, &mem);
		tk_cq_close(&cq);
	}
}

TEST_HARNESS_MAIN
