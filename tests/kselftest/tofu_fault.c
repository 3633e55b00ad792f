// SPDX-License-Identifier: MIT
/* Every allocation fails once: nothing may leak, nothing may crash. */
#include <fcntl.h>
#include <sys/mman.h>

#include "tk_harness.h"

#define FAIL_NTH "/proc/self/fail-nth"
#define SIZE (64 * 1024)
#define SWEEP_MAX 2000

/* Creates and destroys gates, as far as possible; returns the first error. */
static int gates_life(void)
{
	struct tk_gates gates;
	int ret = tk_gates_open(&gates, 0, 3);

	if (ret)
		return ret;
	ret = tk_gate_set(&gates, 0, (struct tofu_ioc_gate_set){ .flags = 0 });
	tk_gates_close(&gates);
	return ret;
}

/* The same for a CQ */
static int cq_life(void *memory)
{
	struct tk_cq cq;
	struct tk_mem mem;
	int ret = tk_cq_create(&cq);

	if (ret)
		return ret;
	ret = tk_cq_map(&cq);
	if (!ret)
		ret = tk_mem_reg(&cq, memory, SIZE, 0, &mem);
	if (!ret)
		ret = tk_mem_dereg(&cq, &mem);
	tk_cq_close(&cq);
	return ret;
}

/* Reads the kernel's count of calls left until the failure: 0 after it. */
static int left_to_fail(void)
{
	char text[16] = "";
	int fd = open(FAIL_NTH, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : atoi(text);
}

TEST_F_TIMEOUT(tofu, every_allocation_fails_once, TK_TIMEOUT_S)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[16];
	int nth, ret, left, failed = 0;

	if (access(FAIL_NTH, W_OK))
		SKIP(return, "a kernel without CONFIG_FAULT_INJECTION");
	memset(memory, 1, SIZE);
	for (nth = 1; nth < SWEEP_MAX; nth++) {
		snprintf(text, sizeof(text), "%d", nth);
		ASSERT_EQ(0, tk_write(FAIL_NTH, text));
		ret = cq_life(memory);
		if (!ret)
			ret = gates_life();
		left = left_to_fail();
		tk_write(FAIL_NTH, "0");
		failed += ret != 0;
		EXPECT_EQ(0, tk_count("cqs"));
		EXPECT_EQ(0, tk_count("gates"));
		EXPECT_EQ(0, tk_count("pinned_pages"));
		if (left > 0) {
			EXPECT_EQ(0, ret);
			break;
		}
	}
	TH_LOG("%d allocations, %d of them needed", nth - 1, failed);
	EXPECT_LT(nth, SWEEP_MAX);
	EXPECT_LT(0, failed);
	munmap(memory, SIZE);
}

TEST_HARNESS_MAIN
