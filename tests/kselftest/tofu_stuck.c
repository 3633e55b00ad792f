// SPDX-License-Identifier: MIT
/*
 * Faults in the caller's memory that nobody answers: they stop the caller, but
 * not the removal of the device, and nobody else.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "tk_harness.h"

#define PAGE 4096UL
/* Longer than a reset of the controller may take */
#define UNBIND_LIMIT_S 15

enum fault {
	FAULT_READ, /* the page is missing */
	FAULT_WRITE, /* the page cannot be written */
};

/**
 * struct call - a system call that needs a page whose faults are not answered
 * @uffd: says when it is stuck, and answers
 * @page: the page
 * @fault: what does not end
 * @source: what a missing page will contain
 * @fd:   file
 * @cmd:  command of ioctl(2); 0: it is read(2)
 * @arg:  its argument
 * @ret:  its result
 * @thread: runs it
 */
struct call {
	int uffd;
	char *page;
	enum fault fault;
	char source[PAGE];
	int fd;
	unsigned long cmd;
	void *arg;
	int ret;
	pthread_t thread;
};

static int uffd_open(void)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		return -EOPNOTSUPP;
	}
	return fd;
}

static struct uffdio_range page_range(const char *page)
{
	return (struct uffdio_range){ .start = (uintptr_t)page, .len = PAGE };
}

static int uffd_register(int uffd, const char *page, uint64_t mode)
{
	struct uffdio_register arg = {
		.range = page_range(page), .mode = mode,
	};

	return ioctl(uffd, UFFDIO_REGISTER, &arg) ? -errno : 0;
}

static int uffd_protect(int uffd, const char *page, uint64_t mode)
{
	struct uffdio_writeprotect arg = {
		.range = page_range(page), .mode = mode,
	};

	return ioctl(uffd, UFFDIO_WRITEPROTECT, &arg) ? -errno : 0;
}

static int uffd_fill(int uffd, const char *page, const char *source)
{
	struct uffdio_copy arg = {
		.dst = (uintptr_t)page, .src = (uintptr_t)source, .len = PAGE,
	};

	return ioctl(uffd, UFFDIO_COPY, &arg) ? -errno : 0;
}

static bool uffd_faulted(int uffd, int ms)
{
	struct pollfd fd = { .fd = uffd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* ---- A call ---- */

/* Makes the page, and puts @arg there. */
static int call_init(struct call *call, enum fault fault, const void *arg,
		     size_t size)
{
	memset(call, 0, sizeof(*call));
	memcpy(call->source, arg, size);
	call->fault = fault;
	call->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (call->page == MAP_FAILED)
		return -errno;
	call->arg = call->page;
	call->uffd = uffd_open();
	if (call->uffd < 0)
		return call->uffd;
	if (fault == FAULT_READ)
		return uffd_register(call->uffd, call->page,
				     UFFDIO_REGISTER_MODE_MISSING);
	memcpy(call->page, arg, size);
	return uffd_register(call->uffd, call->page,
			     UFFDIO_REGISTER_MODE_WP) ?:
	       uffd_protect(call->uffd, call->page,
			    UFFDIO_WRITEPROTECT_MODE_WP);
}

static void *call_thread(void *arg)
{
	struct call *call = arg;

	if (call->cmd)
		call->ret = tk_ioctl(call->fd, call->cmd, call->arg);
	else
		call->ret = read(call->fd, call->arg, PAGE);
	return NULL;
}

/* Returns 0 once it is stuck. */
static int call_begin(struct call *call, int fd, unsigned long cmd, int ms)
{
	call->fd = fd;
	call->cmd = cmd;
	if (pthread_create(&call->thread, NULL, call_thread, call))
		return -EAGAIN;
	return uffd_faulted(call->uffd, ms) ? 0 : -ETIMEDOUT;
}

/* Answers the fault; returns the result of the call. */
static int call_end(struct call *call)
{
	int ret = call->fault == FAULT_READ ?
		  uffd_fill(call->uffd, call->page, call->source) :
		  uffd_protect(call->uffd, call->page, 0);

	if (ret)
		return ret;
	pthread_join(call->thread, NULL);
	return call->ret;
}

static void call_free(struct call *call)
{
	close(call->uffd);
	munmap(call->page, PAGE);
}

/* ---- Removal of the device ---- */

static void *unbind_thread(void *arg)
{
	return (void *)(intptr_t)tk_write(TK_DRIVER "/unbind", arg);
}

/* Begins to unbind; returns 0 if that ends, whatever else happens. */
static int unbind_begin(pthread_t *thread, char *function)
{
	struct timespec end;

	if (pthread_create(thread, NULL, unbind_thread, function))
		return EAGAIN;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += UNBIND_LIMIT_S;
	return pthread_timedjoin_np(*thread, NULL, &end);
}

enum kind { DEVICE, CQ, GATES, KINDS };

static char memory[PAGE] __attribute__((aligned(4096)));

static const struct {
	const char *name;
	enum kind on;
	unsigned long cmd;
	enum fault fault;
	int ret; /* after the removal */
} rows[] = {
	{ "info", DEVICE, TOFU_IOC_INFO, FAULT_READ, -ENODEV },
	{ "info", DEVICE, TOFU_IOC_INFO, FAULT_WRITE, 0 },
	{ "info", CQ, TOFU_IOC_INFO, FAULT_WRITE, 0 },
	{ "time", CQ, TOFU_IOC_TIME, FAULT_WRITE, 0 },
	{ "cq_create", DEVICE, TOFU_IOC_CQ_CREATE, FAULT_READ, -ENODEV },
	{ "cq_create", DEVICE, TOFU_IOC_CQ_CREATE, FAULT_WRITE, 0 },
	{ "gates_create", DEVICE, TOFU_IOC_GATES_CREATE, FAULT_WRITE, 0 },
	{ "gate_set", GATES, TOFU_IOC_GATE_SET, FAULT_READ, -ENODEV },
	{ "mem_reg", CQ, TOFU_IOC_MEM_REG, FAULT_READ, -ENODEV },
	{ "mem_reg", CQ, TOFU_IOC_MEM_REG, FAULT_WRITE, -ENODEV },
	{ "mem_dereg", CQ, TOFU_IOC_MEM_DEREG, FAULT_READ, -ENODEV },
	{ "watch", CQ, TOFU_IOC_WATCH, FAULT_WRITE, 0 },
};

union argument {
	uint32_t size;
	struct tofu_ioc_info info;
	struct tofu_ioc_time time;
	struct tofu_ioc_cq_create cq_create;
	struct tofu_ioc_gates_create gates_create;
	struct tofu_ioc_gate_set gate_set;
	struct tofu_ioc_mem_reg mem_reg;
	struct tofu_ioc_mem_dereg mem_dereg;
	struct tofu_ioc_watch watch;
};

static union argument argument(unsigned long cmd)
{
	union argument arg = { 0 };

	if (cmd == TOFU_IOC_CQ_CREATE)
		arg.cq_create.cq = TOFU_CQ_ANY;
	if (cmd == TOFU_IOC_GATES_CREATE)
		arg.gates_create.count = 1;
	if (cmd == TOFU_IOC_MEM_REG) {
		arg.mem_reg.addr = (uintptr_t)memory;
		arg.mem_reg.length = PAGE;
		arg.mem_reg.stag = TOFU_STAG_ANY;
	}
	arg.size = _IOC_SIZE(cmd);
	return arg;
}

/* Closes the file that a call has returned, after its device was removed. */
static void close_result(struct __test_metadata *_metadata, struct call *call)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };
	int fd = call->cmd == TOFU_IOC_CQ_CREATE ?
		 ((struct tofu_ioc_cq_create *)call->page)->fd :
		 ((struct tofu_ioc_gates_create *)call->page)->fd;

	if (call->cmd == TOFU_IOC_CQ_CREATE)
		EXPECT_EQ(-ENODEV, tk_ioctl(fd, TOFU_IOC_INFO, &info));
	EXPECT_EQ(0, close(fd));
}

/* Return: whether the device was removed while the call was stuck. */
static bool unbind_under_row(struct __test_metadata *_metadata, size_t i,
			     char *function)
{
	union argument arg = argument(rows[i].cmd);
	struct tk_gates gates;
	struct call call;
	struct tk_cq cq;
	pthread_t thread;
	int fd[KINDS], stuck;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, tk_gates_create(&gates, 0, 1));
	fd[DEVICE] = cq.dev;
	fd[CQ] = cq.fd;
	fd[GATES] = gates.fd;
	ASSERT_EQ(0, call_init(&call, rows[i].fault, &arg, sizeof(arg)));
	ASSERT_EQ(0, call_begin(&call, fd[rows[i].on], rows[i].cmd,
				TK_LIMIT_S * 1000));
	stuck = unbind_begin(&thread, function);
	EXPECT_EQ(0, stuck);
	EXPECT_EQ(rows[i].ret, call_end(&call));
	if (stuck)
		pthread_join(thread, NULL);
	else if (!call.ret && (rows[i].cmd == TOFU_IOC_CQ_CREATE ||
			       rows[i].cmd == TOFU_IOC_GATES_CREATE))
		close_result(_metadata, &call);
	EXPECT_EQ(0, tk_write(TK_DRIVER "/bind", function));
	EXPECT_EQ(0, tk_count("pinned_pages"));
	call_free(&call);
	tk_gates_close(&gates);
	tk_cq_close(&cq);
	return !stuck;
}

static bool can_uffd(void)
{
	int fd = uffd_open();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

TEST_F_TIMEOUT(tofu, unbind_under_an_argument_whose_fault_never_ends,
	       TK_TIMEOUT_S)
{
	char function[64];
	bool went_on = true;
	size_t i;

	if (!can_uffd())
		SKIP(return, "a kernel without userfaultfd(2)");
	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	for (i = 0; went_on && i < sizeof(rows) / sizeof(rows[0]); i++) {
		went_on = unbind_under_row(_metadata, i, function);
		EXPECT_TRUE(went_on)
			TH_LOG("%s, fault at %s", rows[i].name,
			       rows[i].fault == FAULT_READ ? "reading" :
							     "writing");
	}
}

/*
 * Kernels before 6.4 do not wait for such a fault when they pin, but give up at
 * once.
 */
TEST_F_TIMEOUT(tofu, unbind_under_a_page_whose_pinning_never_ends, TK_TIMEOUT_S)
{
	union argument arg = argument(TOFU_IOC_MEM_REG);
	char function[64];
	struct call call;
	pthread_t thread;
	struct tk_cq cq;
	bool waits;
	int stuck;

	if (!can_uffd())
		SKIP(return, "a kernel without userfaultfd(2)");
	tk_function(function, sizeof(function));
	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, call_init(&call, FAULT_READ, "", 1));
	arg.mem_reg.addr = (uintptr_t)call.page;
	call.arg = &arg;
	waits = !call_begin(&call, cq.fd, TOFU_IOC_MEM_REG, 1000);
	stuck = unbind_begin(&thread, function);
	EXPECT_EQ(0, stuck);
	EXPECT_EQ(waits ? -ENODEV : -EFAULT, call_end(&call));
	if (stuck)
		pthread_join(thread, NULL);
	EXPECT_EQ(0, tk_write(TK_DRIVER "/bind", function));
	EXPECT_EQ(0, tk_count("pinned_pages"));
	call_free(&call);
	tk_cq_close(&cq);
}

TEST_F_TIMEOUT(tofu, unbind_under_a_reader_whose_fault_never_ends,
	       TK_TIMEOUT_S)
{
	static const char * const paths[] = {
		"/sys/kernel/debug/tofu/tofu0/cqs",
		"/sys/class/tofu/tofu0/nodes",
		"/sys/class/tofu/tofu0/tni0_cq0/tx_commands",
	};
	char function[64];
	struct call call;
	pthread_t thread;
	int fd, stuck;
	size_t i;

	if (!can_uffd())
		SKIP(return, "a kernel without userfaultfd(2)");
	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, call_init(&call, FAULT_READ, "", 1));
		ASSERT_EQ(0, call_begin(&call, fd, 0, TK_LIMIT_S * 1000));
		stuck = unbind_begin(&thread, function);
		EXPECT_EQ(0, stuck)
			TH_LOG("%s", paths[i]);
		EXPECT_LT(0, call_end(&call));
		if (stuck)
			pthread_join(thread, NULL);
		EXPECT_EQ(0, tk_write(TK_DRIVER "/bind", function));
		call_free(&call);
		close(fd);
	}
}

/* ---- The end of the caller ---- */

/* A child that is stuck when it has written a byte to @ready */
static void call_for_ever(int fd, unsigned long cmd, int ready)
{
	union argument arg = argument(cmd);
	struct call call;

	if (call_init(&call, FAULT_WRITE, &arg, sizeof(arg)) ||
	    call_begin(&call, fd, cmd, TK_LIMIT_S * 1000) ||
	    write(ready, "", 1) != 1)
		_exit(1);
	pause();
}

static int call_killed(int fd, unsigned long cmd)
{
	int ready[2], status = 0;
	char byte;
	pid_t child;

	if (pipe(ready))
		return -errno;
	child = fork();
	if (!child)
		call_for_ever(fd, cmd, ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		kill(child, SIGKILL);
	close(ready[0]);
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -EIO;
}

static bool becomes(const char *name, int count)
{
	int i;

	for (i = 0; i < TK_LIMIT_S * 100 && tk_count(name) != count; i++)
		usleep(10000);
	return tk_count(name) == count;
}

/* The files are still open here, so their release does not clean up. */
TEST_F_TIMEOUT(tofu, a_killed_caller_leaves_nothing_behind, TK_TIMEOUT_S)
{
	struct tk_mem mem;
	struct tk_cq cq;

	if (!can_uffd())
		SKIP(return, "a kernel without userfaultfd(2)");
	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_EQ(0, call_killed(cq.dev, TOFU_IOC_CQ_CREATE));
	EXPECT_TRUE(becomes("cqs", 1));
	EXPECT_EQ(0, call_killed(cq.dev, TOFU_IOC_GATES_CREATE));
	EXPECT_TRUE(becomes("gates", 0));
	EXPECT_EQ(0, call_killed(cq.fd, TOFU_IOC_MEM_REG));
	EXPECT_TRUE(becomes("regions", 0));
	EXPECT_TRUE(becomes("pinned_pages", 0));
	ASSERT_EQ(0, tk_mem_reg(&cq, memory, PAGE, 0, &mem));
	EXPECT_EQ(TOFU_STAG_AUTO, mem.stag);
	tk_cq_close(&cq);
}

TEST_HARNESS_MAIN
