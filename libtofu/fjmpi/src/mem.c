/* SPDX-License-Identifier: MIT */
/*
 * Memory: registering it, and looking up what peers have registered.
 */
#include "fjmpi.h"

/* A STADD is a STAG above an offset. */
#define STADD_STAG(addr) ((addr) >> 40)

int fjmpi_memid_of(uint64_t addr)
{
	for (int bank = 0; bank < FJMPI_BANKS; bank++) {
		uint64_t stag = STADD_STAG(addr) -
				STADD_STAG(fjmpi.first[bank]);
		int memid = (int)(bank * FJMPI_BANK_STAGS + (stag & 0xff));

		if (stag < FJMPI_BANK_STAGS)
			return memid < FJMPI_MEMIDS ? memid : -1;
	}
	return -1;
}

/* ---- Own memory; locked ---- */

static void dereg(int memid, uint64_t addr, unsigned int vcqs)
{
	for (unsigned int i = 0; i < vcqs; i++)
		utofu_dereg_mem(fjmpi.vcq[i].hdl[FJMPI_BANK(memid)], addr, 0);
}

/* Registers with all NICs, since each transfer can use any of them. */
static uint64_t reg(int memid, void *buf, size_t length)
{
	uint64_t addr = 0;

	for (unsigned int i = 0; i < fjmpi.vcqs; i++) {
		utofu_vcq_hdl_t hdl = fjmpi.vcq[i].hdl[FJMPI_BANK(memid)];

		if (utofu_reg_mem_with_stag(hdl, buf, length,
					    FJMPI_STAG(memid), 0, &addr)) {
			dereg(memid, addr, i);
			return FJMPI_RDMA_ERROR;
		}
	}
	return addr;
}

static void publish(int memid, uint64_t addr, size_t length)
{
	fjmpi.region[memid].addr = addr;
	fjmpi.region[memid].size = length;
	__atomic_store_n(&fjmpi.table[memid], addr, __ATOMIC_RELEASE);
}

uint64_t FJMPI_Rdma_reg_mem(int memid, void *buf, size_t length)
{
	uint64_t addr = FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (fjmpi.up && fjmpi_memid_valid(memid) && !fjmpi.region[memid].size)
		addr = reg(memid, buf, length);
	if (addr != FJMPI_RDMA_ERROR)
		publish(memid, addr, length);
	pthread_mutex_unlock(&fjmpi_lock);
	return addr;
}

int FJMPI_Rdma_dereg_mem(int memid)
{
	int ret = (int)FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (fjmpi.up && fjmpi_memid_valid(memid) && fjmpi.region[memid].size) {
		uint64_t addr = fjmpi.region[memid].addr;

		publish(memid, 0, 0);
		/* Programs deregister memory that they have just put. */
		fjmpi_quiesce();
		dereg(memid, addr, fjmpi.vcqs);
		ret = 0;
	}
	pthread_mutex_unlock(&fjmpi_lock);
	return ret;
}

/* ---- A peer's memory; locked ---- */

static int lookup_post(utofu_vcq_hdl_t hdl, int pid, int memid)
{
	utofu_vcq_id_t peer = fjmpi.peer[pid].id[0][0];
	utofu_stadd_t entry = fjmpi.first[FJMPI_BANK(FJMPI_TABLE)];
	int code;

	entry += (uint64_t)FJMPI_STAG(FJMPI_TABLE) << 40;
	entry += (uint64_t)memid * sizeof(*fjmpi.table);
	do {
		code = utofu_get(hdl, peer, fjmpi.found_at, entry,
				 sizeof(fjmpi.found), 0,
				 UTOFU_ONESIDED_FLAG_TCQ_NOTICE, NULL);
	} while (code == UTOFU_ERR_BUSY);
	return code;
}

/*
 * Uses a VCQ that has no transfers, so that it meets no reports but its own. A
 * report is never lost, unlike a notice where peers send many. It does not say
 * what went wrong at the peer: then nothing is found.
 */
static uint64_t lookup(int pid, int memid)
{
	utofu_vcq_hdl_t hdl = fjmpi.vcq[0].hdl[FJMPI_BANK(FJMPI_TABLE)];
	uint64_t addr;
	void *cbdata;
	int code;

	fjmpi.found = 0;
	code = lookup_post(hdl, pid, memid);
	if (code)
		return FJMPI_RDMA_ERROR;
	do {
		code = utofu_poll_tcq(hdl, 0, &cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND);
	addr = __atomic_load_n(&fjmpi.found, __ATOMIC_ACQUIRE);
	return code || !addr ? FJMPI_RDMA_ERROR : addr;
}

uint64_t FJMPI_Rdma_get_remote_addr(int pid, int memid)
{
	uint64_t addr = FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (fjmpi.up && fjmpi_pid_valid(pid) && fjmpi_memid_valid(memid))
		addr = lookup(pid, memid);
	pthread_mutex_unlock(&fjmpi_lock);
	return addr;
}
