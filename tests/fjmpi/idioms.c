/* SPDX-License-Identifier: MIT */
/*
 * The ways in which programs use the interface, in what C and C++ have in
 * common: that they compile without a warning is half of the test.
 */
#include <stdio.h>
#include <string.h>
#include <mpi.h>
#include <mpi-ext.h>

#define MEMID 1
#define TAG 5

/* As a program would: what is queued is counted, and then polled for. */
static int drain(int nic, int count)
{
	struct FJMPI_Rdma_cq cq;

	while (count) {
		switch (FJMPI_Rdma_poll_cq(nic, &cq)) {
		case FJMPI_RDMA_NOTICE:
			count--;
			if (cq.tag != TAG)
				return 1;
			break;
		case FJMPI_RDMA_HALFWAY_NOTICE:
		case FJMPI_RDMA_REMOTE_NOTICE:
			return 1;
		case 0:
			break;
		}
	}
	return 0;
}

static int exchange(int rank, int ranks)
{
	static uint32_t buffer[2 * 256];
	int right = (rank + 1) % ranks, flags, failed;
	uint64_t laddr, raddr;

	laddr = FJMPI_Rdma_reg_mem(MEMID, buffer, sizeof(buffer));
	if (laddr == FJMPI_RDMA_ERROR)
		return 1;
	while ((raddr = FJMPI_Rdma_get_remote_addr(right, MEMID)) ==
	       FJMPI_RDMA_ERROR)
		;
	buffer[0] = (uint32_t)rank + 1;
	flags = FJMPI_RDMA_LOCAL_NIC0 | FJMPI_RDMA_REMOTE_NIC1 |
		FJMPI_RDMA_PATH0 | FJMPI_RDMA_IMMEDIATE_RETURN;
	if (FJMPI_Rdma_put(right, TAG, raddr + 1024, laddr, 4, flags))
		return 1;
	failed = drain(FJMPI_RDMA_NIC0, 1);
	FJMPI_Rdma_put(right, TAG, raddr + 1028, laddr, 4,
		       FJMPI_RDMA_LOCAL_NIC2 | FJMPI_RDMA_REMOTE_NIC3 |
			       FJMPI_RDMA_REMOTE_NOTICE);
	while (FJMPI_Rdma_poll_cq(FJMPI_RDMA_NIC3, NULL) !=
	       FJMPI_RDMA_HALFWAY_NOTICE)
		;
	failed |= drain(FJMPI_RDMA_LOCAL_NIC2, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	failed |= buffer[256] != (uint32_t)(rank + ranks - 1) % ranks + 1;
	return failed | FJMPI_Rdma_dereg_mem(MEMID);
}

int main(int argc, char **argv)
{
	int rank, ranks, failed, any;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	failed = FJMPI_Rdma_init() || exchange(rank, ranks) ||
		 FJMPI_Rdma_finalize();
	MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (!rank)
		printf("TAP version 13\n1..1\n%sok 1 a program's idioms\n",
		       any ? "not " : "");
	MPI_Finalize();
	return any;
}
