// SPDX-License-Identifier: MIT
/*
 * Every allocation of every path fails once: the path ends in an error or does
 * without, and nothing is left behind. The kernel counts the allocations of the
 * calling task (/proc/self/fail-nth), and so finds those of a path one by one.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>

#include "tk_harness.h"

#define FAIL_NTH "/proc/self/fail-nth"
#define DEBUGFS "/sys/kernel/debug/"
#define PAGE 4096UL
#define SIZE (16 * PAGE)
#define SWEEP_MAX 20000
#define NEAR 10 /* callers of the allocator */
#define SWEEP_TIMEOUT_S 900

/**
 * struct step - what a path works on
 * @cq:     a CQ, if the path has one
 * @gates:  gates, if the path has some
 * @mem:    a region of @memory, if the path has one
 * @watch:  result of TOFU_IOC_WATCH
 * @memory: SIZE bytes that are in memory
 * @fd:     a file
 */
struct step {
	struct tk_cq cq;
	struct tk_gates gates;
	struct tk_mem mem;
	struct tofu_ioc_watch watch;
	void *memory;
	int fd;
};

/**
 * struct path - a path through the driver
 * @before: makes what it needs, without failures; may be NULL
 * @run:    the path; returns 0 or a negative errno
 * @after:  removes what is left, whether @run has failed or not; may be NULL
 * @never_fails: ends of things, which must not need memory
 * @any_error: the kernel's own functions give up in other ways
 * @near: only what the module's functions allocate, or the next functions: some
 *        part of the kernel, further down, takes memory for granted
 */
struct path {
	int (*before)(struct step *step);
	int (*run)(struct step *step);
	void (*after)(struct step *step);
	bool never_fails;
	bool any_error;
	bool near;
};

/* ---- Failures ---- */

/* Sets an attribute of failures of all kinds of allocations. */
static int fail_setting(const char *name, const char *value)
{
	static const char * const kinds[] = { "failslab", "fail_page_alloc" };
	char path[128];
	int ret = 0;
	size_t i;

	for (i = 0; i < 2 && !ret; i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s/%s", kinds[i], name);
		ret = tk_write(path, value);
	}
	return ret;
}

/* Makes allocations that may sleep fail as well, and without a trace of calls. */
static int fail_all_kinds(void)
{
	tk_count("cqs"); /* mounts debugfs */
	tk_write(DEBUGFS "fail_page_alloc/min-order", "0");
	tk_write(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
	tk_write(DEBUGFS "fail_usercopy/verbose", "0");
	return fail_setting("ignore-gfp-wait", "N") ||
	       fail_setting("verbose", "0");
}

/* Counts allocations of which functions of the module are the nearest callers. */
static int fail_near_module(bool near)
{
	unsigned long start = 0, size = 0;
	char text[64];

	if (tk_module_place(&start, &size))
		return -ENOENT;
	snprintf(text, sizeof(text), "%d", near ? NEAR : 0);
	if (fail_setting("stacktrace-depth", text))
		return -ENOENT;
	snprintf(text, sizeof(text), "%lu", near ? start : 0);
	fail_setting("require-start", text);
	snprintf(text, sizeof(text), "%lu", near ? start + size : ULONG_MAX);
	return fail_setting("require-end", text);
}

static void fail_arm(int fd, int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", nth);

	/* The failure may hit the write that ends it. */
	while (pwrite(fd, text, length, 0) < 0 && errno == EFAULT)
		;
}

/* Disarms; returns whether the failure has happened. */
static bool fail_disarm(int fd)
{
	char text[16] = "";
	bool left = pread(fd, text, sizeof(text) - 1, 0) < 0 || atoi(text);

	fail_arm(fd, 0);
	return !left;
}

/* ---- The sweep ---- */

/* What may come instead of an answer: of allocations, and of copies. */
static bool result_is_fair(const struct path *path, bool hit, int ret)
{
	if (!ret || !hit || path->never_fails)
		return !ret;
	return path->any_error || ret == -ENOMEM || ret == -EFAULT;
}

static void sweep_once(struct __test_metadata *_metadata,
		       const struct path *path, int fd, int nth, bool *hit,
		       int *failed)
{
	struct step step = { .fd = -1 };
	int ret;

	step.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, step.memory);
	ASSERT_EQ(0, path->before ? path->before(&step) : 0);
	fail_arm(fd, nth);
	ret = path->run(&step);
	*hit = fail_disarm(fd);
	*failed += ret != 0;
	EXPECT_TRUE(result_is_fair(path, *hit, ret))
		TH_LOG("allocation %d: %d", nth, ret);
	if (path->after)
		path->after(&step);
	munmap(step.memory, SIZE);
	ASSERT_EQ(0, tk_count("cqs"))
		TH_LOG("allocation %d", nth);
	ASSERT_EQ(0, tk_count("gates"))
		TH_LOG("allocation %d", nth);
	ASSERT_EQ(0, tk_count("regions"))
		TH_LOG("allocation %d", nth);
	ASSERT_EQ(0, tk_count("pinned_pages"))
		TH_LOG("allocation %d", nth);
	ASSERT_EQ(0, tk_pinned_kb())
		TH_LOG("allocation %d", nth);
}

/* A put by a new CQ to memory of its own */
static int use_once(void)
{
	struct tk_mem mem;
	struct tk_cq cq;
	int ret;

	ret = tk_cq_open(&cq);
	if (ret)
		return ret;
	ret = tk_mem_new(&cq, SIZE, &mem);
	if (!ret) {
		ret = tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8);
		tk_mem_free(&cq, &mem);
	}
	tk_cq_close(&cq);
	return ret;
}

static void sweep(struct __test_metadata *_metadata, const struct path *path)
{
	int fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	int nth, failed = 0;
	bool hit = true;

	if (fd < 0 || fail_all_kinds())
		SKIP(return, "a kernel without fault injection");
	if (fail_near_module(path->near) && path->near)
		SKIP(return, "a kernel that cannot choose by callers");
	/* What is allocated once only is allocated now. */
	sweep_once(_metadata, path, fd, 0, &hit, &failed);
	ASSERT_EQ(0, failed);
	for (nth = 1, hit = true; hit && nth < SWEEP_MAX; nth++)
		sweep_once(_metadata, path, fd, nth, &hit, &failed);
	TH_LOG("up to allocation %d, %d times an error", nth - 1, failed);
	EXPECT_LT(nth, SWEEP_MAX);
	EXPECT_EQ(path->never_fails, failed == 0);
	close(fd);
	EXPECT_EQ(0, use_once());
}

#define SWEEP(name, ...)                                                \
	TEST_F_TIMEOUT(tofu, name, SWEEP_TIMEOUT_S)                     \
	{                                                               \
		sweep(_metadata, &(const struct path){ __VA_ARGS__ }); \
	}

/* ---- Parts of paths ---- */

static int cq_create(struct step *step)
{
	return tk_cq_create(&step->cq);
}

static int cq_open(struct step *step)
{
	return tk_cq_open(&step->cq);
}

static void cq_close(struct step *step)
{
	tk_cq_close(&step->cq);
}

static int region(struct step *step, unsigned int flags)
{
	return tk_mem_reg(&step->cq, step->memory, SIZE, flags, &step->mem);
}

static int watch(struct step *step)
{
	step->watch.size = sizeof(step->watch);
	return tk_ioctl(step->cq.fd, TOFU_IOC_WATCH, &step->watch);
}

static int cq_watching(struct step *step)
{
	int ret = cq_create(step);

	return ret ? ret : watch(step);
}

static int cq_with_region(struct step *step)
{
	int ret = cq_create(step);

	return ret ? ret : region(step, 0);
}

static int cq_with_watched(struct step *step)
{
	int ret = cq_watching(step);

	return ret ? ret : region(step, TOFU_MEM_WATCH);
}

static int gates_create(struct step *step)
{
	return tk_gates_create(&step->gates, 0, 3);
}

static void gates_close(struct step *step)
{
	tk_gates_close(&step->gates);
}

/* ---- Files ---- */

static int device_open(struct step *step)
{
	step->fd = open(TK_DEVICE, O_RDWR | O_CLOEXEC);
	return step->fd < 0 ? -errno : 0;
}

static void file_close(struct step *step)
{
	if (step->fd >= 0)
		close(step->fd);
}

SWEEP(open, .run = device_open, .after = file_close)

static int info_and_time(struct step *step)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };
	struct tofu_ioc_time now = { .size = sizeof(now) };
	int ret = tk_ioctl(step->fd, TOFU_IOC_INFO, &info);

	return ret ? ret : tk_ioctl(step->fd, TOFU_IOC_TIME, &now);
}

SWEEP(info, .before = device_open, .run = info_and_time, .after = file_close)

static int info_and_time_of_cq(struct step *step)
{
	step->fd = step->cq.fd;
	return info_and_time(step);
}

SWEEP(info_of_a_cq, .before = cq_create, .run = info_and_time_of_cq,
      .after = cq_close)

/* ---- CQs ---- */

SWEEP(cq_create, .run = cq_create, .after = cq_close)

static int cq_map(struct step *step)
{
	return tk_cq_map(&step->cq);
}

SWEEP(cq_map, .before = cq_create, .run = cq_map, .after = cq_close)

/* The first touch of each mapping: a fault that finds no memory comes again. */
static int cq_touch(struct step *step)
{
	int i;

	for (i = 0; i < TOFU_MAPS; i++)
		if (i != TOFU_MAP_KICK)
			(void)*(volatile char *)step->cq.map[i];
	return 0;
}

SWEEP(cq_touch, .before = cq_open, .run = cq_touch, .after = cq_close,
      .never_fails = true)

static int cq_poll(struct step *step)
{
	struct pollfd fd = { .fd = step->cq.fd, .events = POLLIN };

	return poll(&fd, 1, 0) < 0 ? -errno : 0;
}

SWEEP(cq_poll, .before = cq_open, .run = cq_poll, .after = cq_close)

/* ---- Memory ---- */

static int reg(struct step *step)
{
	return region(step, 0);
}

static int reg_read_only(struct step *step)
{
	return region(step, TOFU_MEM_READ_ONLY);
}

static int reg_watched(struct step *step)
{
	return region(step, TOFU_MEM_WATCH);
}

/* Each second page is another mapping: nothing is contiguous. */
static int cq_create_scattered(struct step *step)
{
	size_t at;

	for (at = 0; at < SIZE; at += 2 * PAGE) {
		munmap((char *)step->memory + at, PAGE);
		if (mmap((char *)step->memory + at, PAGE,
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			return -errno;
	}
	return cq_create(step);
}

SWEEP(mem_reg, .before = cq_create, .run = reg, .after = cq_close)
SWEEP(mem_reg_read_only, .before = cq_create, .run = reg_read_only,
      .after = cq_close)
SWEEP(mem_reg_scattered, .before = cq_create_scattered, .run = reg,
      .after = cq_close)
SWEEP(mem_reg_watched, .before = cq_watching, .run = reg_watched,
      .after = cq_close)
SWEEP(watch, .before = cq_create, .run = watch, .after = cq_close)

static int dereg(struct step *step)
{
	return tk_mem_dereg(&step->cq, &step->mem);
}

SWEEP(mem_dereg, .before = cq_with_region, .run = dereg, .after = cq_close)

/* The notifier marks it. */
static int unmap_watched(struct step *step)
{
	int ret = munmap(step->memory, SIZE) ? -errno : 0;

	return ret == -ENOMEM ? 0 : ret; /* the kernel's, before anything is done */
}

SWEEP(unmap_watched, .before = cq_with_watched, .run = unmap_watched,
      .after = cq_close, .never_fails = true)

/* ---- Gates ---- */

static int gates_map(struct step *step)
{
	return tk_gates_map(&step->gates);
}

static int gate_set(struct step *step)
{
	return tk_gate_set(&step->gates, 0, (struct tofu_ioc_gate_set){});
}

SWEEP(gates_create, .run = gates_create, .after = gates_close)
SWEEP(gates_map, .before = gates_create, .run = gates_map, .after = gates_close)
SWEEP(gate_set, .before = gates_create, .run = gate_set, .after = gates_close)

/* ---- Ends: they must not need memory ---- */

static int cq_end(struct step *step)
{
	tk_cq_close(&step->cq);
	return 0;
}

static int gates_end(struct step *step)
{
	tk_gates_close(&step->gates);
	return 0;
}

SWEEP(cq_release, .before = cq_with_region, .run = cq_end,
      .never_fails = true)
SWEEP(cq_release_watched, .before = cq_with_watched, .run = cq_end,
      .never_fails = true)
SWEEP(gates_release, .before = gates_create, .run = gates_end,
      .never_fails = true)

/* ---- The device and the module ---- */

static char function[64];

static bool is_bound(void)
{
	char name[64];

	tk_function(name, sizeof(name));
	return name[0];
}

static int unbind(struct step *step)
{
	(void)step;
	return tk_write(TK_DRIVER "/unbind", function);
}

static int bind(struct step *step)
{
	(void)step;
	return tk_write(TK_DRIVER "/bind", function);
}

static int find_and_unbind(struct step *step)
{
	tk_function(function, sizeof(function));
	return unbind(step);
}

static int find_and_create(struct step *step)
{
	tk_function(function, sizeof(function));
	return cq_with_region(step);
}

/* A device does without debugfs when that has failed; the sweep does not. */
static bool has_counts(void)
{
	return tk_count("cqs") >= 0 && tk_count("gates") >= 0 &&
	       tk_count("regions") >= 0 && tk_count("pinned_pages") >= 0 &&
	       tk_count("deferred") >= 0;
}

static void bind_again(struct step *step)
{
	int fd;

	if (is_bound() && !has_counts())
		unbind(step);
	if (!is_bound())
		bind(step);
	fd = tk_open(); /* waits for its file */
	if (fd >= 0)
		close(fd);
}

static void close_and_bind_again(struct step *step)
{
	cq_close(step);
	bind_again(step);
}

/* The kernel's table of interrupts has to grow. */
SWEEP(probe, .before = find_and_unbind, .run = bind, .after = bind_again,
      .any_error = true, .near = true)
SWEEP(remove, .before = find_and_create, .run = unbind,
      .after = close_and_bind_again)

static int reset(struct step *step)
{
	char path[128];

	(void)step;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", function);
	return tk_write(path, "1");
}

SWEEP(reset, .before = find_and_create, .run = reset, .after = cq_close)

static int read_counters(struct step *step)
{
	static const char * const names[] = { "tnis", "coords", "shape" };
	char path[128], text[64];
	size_t i;
	ssize_t n;
	int fd;

	(void)step;
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/class/tofu/tofu0/%s",
			 names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		n = read(fd, text, sizeof(text));
		if (n < 0)
			n = -errno;
		close(fd);
		if (n < 0)
			return n;
	}
	return 0;
}

SWEEP(read_attributes, .run = read_counters)

/* ---- All of it ---- */

TEST_F_TIMEOUT(tofu, nothing_is_leaked, TK_TIMEOUT_S)
{
	TK_EXPECT_NO_LEAKS();
}

TEST_HARNESS_MAIN
