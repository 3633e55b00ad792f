/* SPDX-License-Identifier: MIT */
/*
 * What the tests of FJMPI_Rdma share.
 */
#include "fjmpi-test.h"

#include <time.h>

static bool expired(time_t since)
{
	return time(NULL) - since > WAIT_SECONDS;
}

int wait_cq(int nic, struct FJMPI_Rdma_cq *cq)
{
	time_t since = time(NULL);
	int ret;

	do {
		ret = FJMPI_Rdma_poll_cq(nic, cq);
	} while (!ret && !expired(since));
	return ret;
}

bool wait_for(int nic, int kind, int pid, int tag)
{
	struct FJMPI_Rdma_cq cq = { -2, -2 };
	int ret = wait_cq(nic, &cq);

	if (ret == kind && cq.pid == pid && cq.tag == tag)
		return true;
	fprintf(stderr, "# rank %d: nic %d: %d of pid %d tag %d, not %d of pid %d tag %d\n", rank,
		nic, ret, cq.pid, cq.tag, kind, pid, tag);
	return false;
}

bool wait_word(const volatile uint32_t *word, uint32_t value)
{
	time_t since = time(NULL);

	while (*word != value)
		if (expired(since))
			return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return true;
}

bool nothing_left(void)
{
	for (int nic = 0; nic < 4; nic++)
		if (FJMPI_Rdma_poll_cq(nic, NULL))
			return false;
	return true;
}

uint64_t remote(int pid, int memid)
{
	time_t since = time(NULL);
	uint64_t addr;

	do {
		addr = FJMPI_Rdma_get_remote_addr(pid, memid);
	} while (addr == FJMPI_RDMA_ERROR && !expired(since));
	return addr;
}
