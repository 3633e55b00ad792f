// SPDX-License-Identifier: MIT
/* Every errno that uapi/tofu/ioctl.h names for the ioctls, and its cause. */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tk_harness.h"

#define BAD_POINTER ((void *)8)

static char memory[3 * 4096] __attribute__((aligned(4096)));

static int create(int dev, struct tofu_ioc_cq_create arg)
{
	int ret;

	arg.size = sizeof(arg);
	ret = tk_ioctl(dev, TOFU_IOC_CQ_CREATE, &arg);
	return ret ? ret : arg.fd;
}

static int reg(int fd, struct tofu_ioc_mem_reg arg)
{
	arg.size = sizeof(arg);
	return tk_ioctl(fd, TOFU_IOC_MEM_REG, &arg);
}

static int dereg(int fd, struct tofu_ioc_mem_dereg arg)
{
	arg.size = sizeof(arg);
	return tk_ioctl(fd, TOFU_IOC_MEM_DEREG, &arg);
}

TEST_F(tofu, info_says_what_the_node_is)
{
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_LT(0, cq.info.tnis);
	EXPECT_GE(TOFU_TNIS_MAX, cq.info.tnis);
	EXPECT_EQ(TOFU_CQ_KERNEL, cq.info.cqs);
	EXPECT_LT(cq.info.node, cq.info.nodes);
	EXPECT_EQ(0, cq.info.coords & ~TOFU_FIELD(TOFU_ROUTE_COORDS));
	EXPECT_GE(TOFU_RING_CODE_MAX, cq.info.ring_code_max);
	EXPECT_LT(TOFU_STAG_AUTO, cq.info.stags);
	tk_cq_close(&cq);
}

TEST_F(tofu, info_is_the_same_on_a_cq)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, tk_ioctl(cq.fd, TOFU_IOC_INFO, &info));
	EXPECT_EQ(0, memcmp(&info, &cq.info, sizeof(info)));
	tk_cq_close(&cq);
}

/* ---- Sizes: the same table for every command ---- */

enum kind { DEVICE, CQ, GATES, KINDS };

/* A file of each kind */
struct files {
	struct tk_cq cq;
	struct tk_gates gates;
	int fd[KINDS];
};

static int files_open(struct files *files)
{
	int ret = tk_cq_create(&files->cq);

	if (!ret)
		ret = tk_gates_create(&files->gates, 0, 1);
	files->fd[DEVICE] = files->cq.dev;
	files->fd[CQ] = files->cq.fd;
	files->fd[GATES] = files->gates.fd;
	return ret;
}

static void files_close(struct files *files)
{
	tk_gates_close(&files->gates);
	tk_cq_close(&files->cq);
}

static const struct {
	const char *name;
	unsigned long cmd;
	uint32_t size;
	uint32_t first; /* size of the first version */
	enum kind on;
	int plain; /* result with only the size set */
} commands[] = {
	{ "info", TOFU_IOC_INFO, sizeof(struct tofu_ioc_info),
	  TOFU_IOC_INFO_SIZE_1, DEVICE, 0 },
	{ "info", TOFU_IOC_INFO, sizeof(struct tofu_ioc_info),
	  TOFU_IOC_INFO_SIZE_1, CQ, 0 },
	{ "time", TOFU_IOC_TIME, sizeof(struct tofu_ioc_time),
	  sizeof(struct tofu_ioc_time), DEVICE, 0 },
	{ "time", TOFU_IOC_TIME, sizeof(struct tofu_ioc_time),
	  sizeof(struct tofu_ioc_time), CQ, 0 },
	{ "cq_create", TOFU_IOC_CQ_CREATE, sizeof(struct tofu_ioc_cq_create),
	  sizeof(struct tofu_ioc_cq_create), DEVICE, 0 },
	{ "gates_create", TOFU_IOC_GATES_CREATE,
	  sizeof(struct tofu_ioc_gates_create),
	  sizeof(struct tofu_ioc_gates_create), DEVICE, -EINVAL /* count 0 */ },
	{ "gate_set", TOFU_IOC_GATE_SET, sizeof(struct tofu_ioc_gate_set),
	  sizeof(struct tofu_ioc_gate_set), GATES, 0 },
	{ "mem_reg", TOFU_IOC_MEM_REG, sizeof(struct tofu_ioc_mem_reg),
	  sizeof(struct tofu_ioc_mem_reg), CQ, -EINVAL /* length 0 */ },
	{ "watch", TOFU_IOC_WATCH, sizeof(struct tofu_ioc_watch),
	  sizeof(struct tofu_ioc_watch), CQ, 0 },
	{ "mem_dereg", TOFU_IOC_MEM_DEREG, sizeof(struct tofu_ioc_mem_dereg),
	  sizeof(struct tofu_ioc_mem_dereg), CQ, -ENOENT },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Closes a CQ that was created meanwhile, of TNI 1, at once. */
static int call(const struct files *files, size_t i, void *buf, uint32_t size)
{
	int ret;

	*(uint32_t *)buf = size;
	if (commands[i].cmd == TOFU_IOC_CQ_CREATE)
		((struct tofu_ioc_cq_create *)buf)->tni = 1;
	ret = tk_ioctl(files->fd[commands[i].on], commands[i].cmd, buf);
	if (!ret && commands[i].cmd == TOFU_IOC_CQ_CREATE)
		close(((struct tofu_ioc_cq_create *)buf)->fd);
	return ret;
}

TEST_F(tofu, size_decides_what_is_read)
{
	uint64_t buf[2048];
	struct files files;
	size_t i;

	ASSERT_EQ(0, files_open(&files));
	for (i = 0; i < COMMANDS; i++) {
		uint32_t size = commands[i].size;

		memset(buf, 0, sizeof(buf));
		EXPECT_EQ(commands[i].plain, call(&files, i, buf, size))
			TH_LOG("%s", commands[i].name);
		memset(buf, 0, sizeof(buf));
		EXPECT_EQ(commands[i].plain,
			  call(&files, i, buf, commands[i].first));
		memset(buf, 0, sizeof(buf));
		EXPECT_EQ(-EINVAL, call(&files, i, buf, commands[i].first - 1));
		EXPECT_EQ(-EINVAL, call(&files, i, buf, 0));
		EXPECT_EQ(-EINVAL, call(&files, i, buf, sizeof(uint32_t)));
		/* A later version's structure: valid while its rest is zero. */
		EXPECT_EQ(commands[i].plain, call(&files, i, buf, size + 8));
		memset(buf, 0, sizeof(buf));
		EXPECT_EQ(commands[i].plain, call(&files, i, buf, 4096));
		memset(buf, 0, sizeof(buf));
		((char *)buf)[size + 7] = 1;
		EXPECT_EQ(-E2BIG, call(&files, i, buf, size + 8));
		memset(buf, 0, sizeof(buf));
		EXPECT_EQ(-E2BIG, call(&files, i, buf, sizeof(buf)));
		EXPECT_EQ(-E2BIG, call(&files, i, buf, UINT32_MAX));
	}
	files_close(&files);
}

TEST_F(tofu, nothing_beyond_the_callers_size_is_written)
{
	struct {
		struct tofu_ioc_info info;
		uint64_t rest;
	} buf = { .info.size = sizeof(buf.info), .rest = 0x1234 };
	int dev = tk_open();

	ASSERT_LE(0, dev);
	EXPECT_EQ(0, tk_ioctl(dev, TOFU_IOC_INFO, &buf));
	EXPECT_EQ(0x1234, buf.rest);
	EXPECT_EQ(sizeof(buf.info), buf.info.size);
	close(dev);
}

TEST_F(tofu, callers_of_the_first_version_get_no_more)
{
	struct tofu_ioc_info info = { .size = TOFU_IOC_INFO_SIZE_1,
				      .caps = 0x1234 };
	int dev = tk_open();

	ASSERT_LE(0, dev);
	/* Bytes beyond the caller's size are neither read nor written. */
	info.gates = 0x5678;
	EXPECT_EQ(0, tk_ioctl(dev, TOFU_IOC_INFO, &info));
	EXPECT_LT(0, info.tnis);
	EXPECT_EQ(0x1234, info.caps);
	EXPECT_EQ(0x5678, info.gates);
	close(dev);
}

/* Virtual time and the counter advance, or there is no virtual time. */
TEST_F(tofu, time_goes_on_or_is_zero)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };
	struct tofu_ioc_time a = { .size = sizeof(a) };
	struct tofu_ioc_time b = { .size = sizeof(b) };
	int dev = tk_open();

	ASSERT_LE(0, dev);
	ASSERT_EQ(0, tk_ioctl(dev, TOFU_IOC_INFO, &info));
	ASSERT_EQ(0, tk_ioctl(dev, TOFU_IOC_TIME, &a));
	ASSERT_EQ(0, tk_ioctl(dev, TOFU_IOC_TIME, &b));
	EXPECT_LE(a.cycles, b.cycles);
	if (info.caps & TOFU_INFO_DIRECT) {
		EXPECT_LT(a.time, b.time);
	} else {
		EXPECT_EQ(0, a.time);
		EXPECT_EQ(0, b.time);
	}
	close(dev);
}

TEST_F(tofu, nothing_beyond_the_kernels_size_is_written)
{
	struct tofu_ioc_info info = { .size = 4096 };
	char buf[4096] = { 0 };
	int dev = tk_open();
	size_t i;

	ASSERT_LE(0, dev);
	memcpy(buf, &info, sizeof(info));
	EXPECT_EQ(0, tk_ioctl(dev, TOFU_IOC_INFO, buf));
	for (i = sizeof(info); i < sizeof(buf) && !buf[i]; i++)
		;
	EXPECT_EQ(sizeof(buf), i);
	close(dev);
}

TEST_F(tofu, unknown_commands)
{
	static const struct {
		enum kind on;
		unsigned long cmd;
	} others[] = {
		{ DEVICE, TOFU_IOC_MEM_REG }, { DEVICE, TOFU_IOC_GATE_SET },
		{ CQ, TOFU_IOC_CQ_CREATE }, { CQ, TOFU_IOC_GATES_CREATE },
		{ CQ, TOFU_IOC_GATE_SET }, { GATES, TOFU_IOC_GATES_CREATE },
		{ GATES, TOFU_IOC_MEM_REG }, { GATES, TOFU_IOC_INFO },
	};
	uint64_t buf[64] = { sizeof(buf) };
	struct files files;
	size_t i;

	ASSERT_EQ(0, files_open(&files));
	for (i = 0; i < KINDS; i++) {
		EXPECT_EQ(-ENOTTY, tk_ioctl(files.fd[i],
					    _IOWR(TOFU_IOC_TYPE, 0x7f, buf),
					    buf));
		EXPECT_EQ(-ENOTTY, tk_ioctl(files.fd[i], _IOWR('Z', 0, buf),
					    buf));
	}
	/* Commands of the wrong direction, and of other files */
	EXPECT_EQ(-ENOTTY, tk_ioctl(files.fd[DEVICE], _IO(TOFU_IOC_TYPE, 0),
				    buf));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT_EQ(-ENOTTY, tk_ioctl(files.fd[others[i].on],
					    others[i].cmd, buf));
	files_close(&files);
}

TEST_F(tofu, bad_pointers)
{
	struct files files;
	size_t i;

	ASSERT_EQ(0, files_open(&files));
	for (i = 0; i < COMMANDS; i++)
		EXPECT_EQ(-EFAULT, tk_ioctl(files.fd[commands[i].on],
					    commands[i].cmd, BAD_POINTER));
	files_close(&files);
}

TEST_F(tofu, an_answer_that_cannot_be_written_undoes_the_command)
{
	struct tofu_ioc_cq_create *arg;
	struct tofu_ioc_mem_reg *mem;
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	arg->size = sizeof(*arg);
	arg->cq = TOFU_CQ_ANY;
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, tk_ioctl(cq.dev, TOFU_IOC_CQ_CREATE, arg));
	EXPECT_EQ(1, tk_count("cqs"));

	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ | PROT_WRITE));
	mem = (void *)arg;
	*mem = (struct tofu_ioc_mem_reg) {
		.size = sizeof(*mem), .addr = (uintptr_t)memory,
		.length = sizeof(memory), .stag = TOFU_STAG_ANY,
	};
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, tk_ioctl(cq.fd, TOFU_IOC_MEM_REG, mem));
	EXPECT_EQ(0, tk_count("regions"));
	EXPECT_EQ(0, tk_count("pinned_pages"));
	munmap(arg, 4096);
	tk_cq_close(&cq);
}

/* ---- Fields ---- */

TEST_F(tofu, info_flags_are_reserved)
{
	struct tofu_ioc_info info = { .size = sizeof(info), .flags = 1 };
	struct tofu_ioc_time time = { .size = sizeof(time), .flags = 1 };
	int dev = tk_open();

	ASSERT_LE(0, dev);
	EXPECT_EQ(-EINVAL, tk_ioctl(dev, TOFU_IOC_INFO, &info));
	info.flags = 0;
	info.gates = 1;
	EXPECT_EQ(-EINVAL, tk_ioctl(dev, TOFU_IOC_INFO, &info));
	EXPECT_EQ(-EINVAL, tk_ioctl(dev, TOFU_IOC_TIME, &time));
	close(dev);
}

TEST_F(tofu, cq_create_fields)
{
	static const struct tofu_ioc_cq_create bad[] = {
		{ .flags = TOFU_CQ_SESSION_MODE << 1 },
		{ .flags = 1U << 31 },
		{ .reserved = 1 },
		{ .tni = TOFU_TNIS_MAX },
		{ .tni = UINT32_MAX },
		{ .cq = TOFU_CQ_KERNEL },
		{ .cq = TOFU_CQS_PER_TNI },
		{ .cq = TOFU_CQ_ANY - 1 },
		{ .toq_code = TOFU_RING_CODE_MAX + 1 },
		{ .toq_code = UINT32_MAX },
		{ .mrq_code = TOFU_RING_CODE_MAX + 1 },
	};
	int dev = tk_open();
	size_t i;

	ASSERT_LE(0, dev);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, create(dev, bad[i]))
			TH_LOG("row %zu", i);
	close(dev);
}

TEST_F(tofu, mem_reg_fields)
{
	const struct tofu_ioc_mem_reg good = {
		.addr = (uintptr_t)memory, .length = sizeof(memory),
		.stag = TOFU_STAG_ANY,
	};
	struct tofu_ioc_mem_reg bad[8];
	struct tk_cq cq;
	size_t i;

	for (i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].flags = TOFU_MEM_READ_ONLY << 1;
	bad[1].flags = 1U << 31;
	bad[2].reserved = 1;
	bad[3].length = 0;
	bad[4].stag = TOFU_STAG_AUTO;
	bad[5].stag = TOFU_STAG_ANY - 1;
	bad[6].length = UINT64_MAX;
	bad[7].length = 1ULL << TOFU_ADDR_OFFSET_BITS;

	ASSERT_EQ(0, tk_cq_create(&cq));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(-EINVAL, reg(cq.fd, bad[i]))
			TH_LOG("row %zu", i);
	EXPECT_EQ(0, reg(cq.fd, good));
	tk_cq_close(&cq);
}

TEST_F(tofu, mem_reg_of_memory_that_is_not_there)
{
	char *hole = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tofu_ioc_mem_reg arg = {
		.addr = (uintptr_t)hole, .length = 2 * 4096,
		.stag = TOFU_STAG_ANY,
	};
	struct tk_cq cq;

	ASSERT_EQ(0, munmap(hole + 4096, 4096));
	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_EQ(-EFAULT, reg(cq.fd, arg));
	arg.addr = 1ULL << 63;
	EXPECT_EQ(-EFAULT, reg(cq.fd, arg));
	EXPECT_EQ(0, tk_count("pinned_pages"));
	EXPECT_EQ(0, tk_pinned_kb());
	munmap(hole, 4096);
	tk_cq_close(&cq);
}

TEST_F(tofu, mem_reg_of_more_than_there_is)
{
	struct tofu_ioc_mem_reg arg = {
		.addr = 4096, .length = 1ULL << 39, .stag = TOFU_STAG_ANY,
	};
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_EQ(-ENOMEM, reg(cq.fd, arg));
	EXPECT_EQ(0, tk_pinned_kb());
	tk_cq_close(&cq);
}

TEST_F(tofu, mem_dereg_fields)
{
	static const struct tofu_ioc_mem_dereg bad[] = {
		{ .flags = 1 },
		{ .reserved = 1 },
	};
	struct tk_cq cq;
	size_t i;

	ASSERT_EQ(0, tk_cq_create(&cq));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, dereg(cq.fd, bad[i]));
	tk_cq_close(&cq);
}

/* ---- States ---- */

TEST_F(tofu, a_cq_in_use_is_busy)
{
	struct tofu_ioc_cq_create arg = { .cq = 3 };
	int dev = tk_open();
	int fd;

	ASSERT_LE(0, dev);
	fd = create(dev, arg);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(-EBUSY, create(dev, arg));
	close(fd);
	fd = create(dev, arg);
	EXPECT_LE(0, fd);
	close(fd);
	close(dev);
}

TEST_F(tofu, running_out_of_cqs)
{
	struct tofu_ioc_cq_create arg = { .cq = TOFU_CQ_ANY };
	int fds[TOFU_CQ_KERNEL];
	int dev = tk_open();
	int i, other;

	ASSERT_LE(0, dev);
	for (i = 0; i < TOFU_CQ_KERNEL; i++) {
		fds[i] = create(dev, arg);
		ASSERT_LE(0, fds[i]);
	}
	EXPECT_EQ(-ENOSPC, create(dev, arg));
	EXPECT_EQ(-EBUSY, create(dev, (struct tofu_ioc_cq_create){ 0 }));
	close(fds[5]);
	other = create(dev, arg);
	EXPECT_LE(0, other);
	for (i = 0; i < TOFU_CQ_KERNEL; i++)
		if (i != 5)
			close(fds[i]);
	close(other);
	close(dev);
}

TEST_F(tofu, a_user_cannot_have_all_cqs)
{
	struct tofu_ioc_cq_create arg = { .cq = TOFU_CQ_ANY };
	int limit = tk_param("cqs_per_user");
	int fds[TOFU_CQ_KERNEL];
	int dev = tk_open();
	int i, other;

	ASSERT_LE(0, dev);
	ASSERT_LT(0, limit);
	ASSERT_LT(limit, TOFU_CQ_KERNEL);
	ASSERT_EQ(0, tk_become(1000));
	for (i = 0; i < limit; i++) {
		fds[i] = create(dev, arg);
		ASSERT_LE(0, fds[i]);
	}
	EXPECT_EQ(-ENOSPC, create(dev, arg));
	EXPECT_EQ(-EBUSY, create(dev, (struct tofu_ioc_cq_create){ 0 }));
	other = create(dev, (struct tofu_ioc_cq_create){
		.tni = 1, .cq = TOFU_CQ_ANY });
	EXPECT_LE(0, other);
	close(other);
	close(fds[0]);
	fds[0] = create(dev, arg);
	EXPECT_LE(0, fds[0]);
	ASSERT_EQ(0, tk_become(1001));
	other = create(dev, arg);
	EXPECT_LE(0, other);
	close(other);
	ASSERT_EQ(0, tk_become(0));
	for (i = 0; i < limit; i++)
		close(fds[i]);
	close(dev);
}

TEST_F(tofu, a_stag_in_use)
{
	struct tofu_ioc_mem_reg arg = {
		.addr = (uintptr_t)memory, .length = 1, .stag = 17,
	};
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	EXPECT_EQ(-ENOENT, dereg(cq.fd, (struct tofu_ioc_mem_dereg){
					 .stag = 17 }));
	EXPECT_EQ(0, reg(cq.fd, arg));
	EXPECT_EQ(-EEXIST, reg(cq.fd, arg));
	EXPECT_EQ(0, dereg(cq.fd, (struct tofu_ioc_mem_dereg){ .stag = 17 }));
	EXPECT_EQ(-ENOENT, dereg(cq.fd, (struct tofu_ioc_mem_dereg){
					 .stag = 17 }));
	EXPECT_EQ(0, reg(cq.fd, arg));
	EXPECT_EQ(-ENOENT, dereg(cq.fd, (struct tofu_ioc_mem_dereg){
					 .stag = UINT32_MAX }));
	tk_cq_close(&cq);
}

TEST_F_TIMEOUT(tofu, running_out_of_stags, TK_TIMEOUT_S)
{
	struct tofu_ioc_mem_reg arg = {
		.addr = (uintptr_t)memory, .length = 1, .stag = TOFU_STAG_ANY,
	};
	struct tk_cq cq;
	uint32_t i;
	int ret = 0;

	ASSERT_EQ(0, tk_cq_create(&cq));
	for (i = TOFU_STAG_AUTO; !ret && i < cq.info.stags; i++)
		ret = reg(cq.fd, arg);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(-ENOSPC, reg(cq.fd, arg));
	/* STAGs that callers choose are a separate pool. */
	arg.stag = 0;
	EXPECT_EQ(0, reg(cq.fd, arg));
	EXPECT_EQ(0, dereg(cq.fd, (struct tofu_ioc_mem_dereg){
				  .stag = TOFU_STAG_AUTO + 9 }));
	arg.stag = TOFU_STAG_ANY;
	EXPECT_EQ(0, reg(cq.fd, arg));
	tk_cq_close(&cq);
}

/* ---- Locked memory ---- */

static int drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

TEST_F(tofu, running_out_of_locked_memory)
{
	const struct rlimit two_pages = { 2 * 4096, 2 * 4096 };
	struct tofu_ioc_mem_reg arg = {
		.addr = (uintptr_t)memory, .length = 3 * 4096,
		.stag = TOFU_STAG_ANY,
	};
	struct tk_cq cq;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &two_pages));
	EXPECT_EQ(0, reg(cq.fd, arg))
		TH_LOG("the capability lifts the limit");
	EXPECT_EQ(12, tk_pinned_kb());
	EXPECT_EQ(0, dereg(cq.fd, (struct tofu_ioc_mem_dereg){
				  .stag = TOFU_STAG_AUTO }));
	EXPECT_EQ(0, tk_pinned_kb());

	ASSERT_EQ(0, drop_ipc_lock());
	EXPECT_EQ(-ENOMEM, reg(cq.fd, arg));
	arg.length = 2 * 4096;
	EXPECT_EQ(0, reg(cq.fd, arg));
	arg.length = 1;
	EXPECT_EQ(-ENOMEM, reg(cq.fd, arg));
	EXPECT_EQ(8, tk_pinned_kb());
	tk_cq_close(&cq);
}

/* Registers @pages in a child, which ends; returns its result. */
static int reg_in_child(int fd, uint32_t stag, uint64_t pages)
{
	struct tofu_ioc_mem_reg arg = {
		.addr = (uintptr_t)memory, .length = pages * 4096,
		.stag = stag,
	};
	pid_t child = fork();
	int status;

	if (!child)
		_exit(-reg(fd, arg));
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ?
	       -WEXITSTATUS(status) : -ECHILD;
}

TEST_F(tofu, locked_memory_is_the_users_not_the_process)
{
	const struct rlimit four_pages = { 4 * 4096, 4 * 4096 };
	struct tk_cq cq, other;

	ASSERT_EQ(0, tk_cq_create(&cq));
	ASSERT_EQ(0, tk_cq_create(&other));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &four_pages));
	ASSERT_EQ(0, drop_ipc_lock());
	EXPECT_EQ(0, reg_in_child(cq.fd, 1, 3));
	EXPECT_EQ(-ENOMEM, reg_in_child(cq.fd, 2, 2));
	EXPECT_EQ(-ENOMEM, reg_in_child(other.fd, 2, 2));
	EXPECT_EQ(0, reg_in_child(other.fd, 2, 1));
	EXPECT_EQ(-ENOMEM, reg_in_child(cq.fd, 3, 1));
	EXPECT_EQ(4, tk_count("pinned_pages"));
	/* Whoever takes a region back, its user is charged no longer. */
	EXPECT_EQ(0, dereg(cq.fd, (struct tofu_ioc_mem_dereg){ .stag = 1 }));
	EXPECT_EQ(0, reg_in_child(cq.fd, 1, 2));
	EXPECT_EQ(-ENOMEM, reg_in_child(cq.fd, 3, 2));
	tk_cq_close(&cq);
	EXPECT_EQ(0, reg_in_child(other.fd, 1, 3));
	tk_cq_close(&other);
}

TEST_HARNESS_MAIN
