/* SPDX-License-Identifier: MIT */
/*
 * Initialisation and finalisation.
 */
#include <mpi.h>

#include "fjmpi.h"

#include <stdlib.h>
#include <string.h>

struct fjmpi fjmpi;
pthread_mutex_t fjmpi_lock = PTHREAD_MUTEX_INITIALIZER;

/* A page: puts entries of the table at known offsets from its STAG. */
#define TABLE_ALIGN 4096
#define TABLE_SIZE TABLE_ALIGN

_Static_assert(FJMPI_MEMIDS * sizeof(*fjmpi.table) <= TABLE_SIZE,
	       "the table fits");

/* ---- The process's queues ---- */

/* The last component IDs: programs that also use uTofu take the first ones. */
static int bank_open(utofu_tni_id_t tni, unsigned int bank,
		     utofu_vcq_hdl_t *hdl)
{
	struct utofu_onesided_caps *caps;
	int code = utofu_query_onesided_caps(tni, &caps);

	if (code)
		return code;
	if (caps->num_cmp_ids < FJMPI_BANKS ||
	    caps->num_reserved_stags < FJMPI_BANK_STAGS)
		return UTOFU_ERR_NOT_SUPPORTED;
	/*
	 * THREAD_SAFE, so that a program's own VCQs are not affected by these.
	 */
	return utofu_create_vcq_with_cmp_id(
		tni, (utofu_cmp_id_t)(caps->num_cmp_ids - FJMPI_BANKS + bank),
		UTOFU_VCQ_FLAG_THREAD_SAFE, hdl);
}

/* The place of a VCQ: coordinates, and its command queue */
struct place {
	uint8_t coords[6];
	utofu_cq_id_t cq;
};

static int place_of(utofu_vcq_id_t id, struct place *place)
{
	utofu_tni_id_t tni;
	uint16_t number;

	return utofu_query_vcq_info(id, place->coords, &tni, &place->cq,
				    &number);
}

/* All STADDs of a NIC must be of one queue, the same for each NIC. */
static int bank_check(const struct fjmpi_vcq *vcq, unsigned int bank)
{
	struct place first, other;
	utofu_vcq_id_t id[2];
	uint64_t stadd;
	int code;

	code = utofu_query_vcq_id(vcq->hdl[0], &id[0]);
	if (!code)
		code = utofu_query_vcq_id(vcq->hdl[bank], &id[1]);
	if (!code)
		code = place_of(id[0], &first);
	if (!code)
		code = place_of(id[1], &other);
	if (!code)
		code = utofu_query_stadd(id[1], 0, &stadd);
	if (code)
		return code;
	if (vcq == fjmpi.vcq)
		fjmpi.first[bank] = stadd;
	return first.cq == other.cq && stadd == fjmpi.first[bank] ?
		       UTOFU_SUCCESS :
		       UTOFU_ERR_NOT_SUPPORTED;
}

static int vcq_open(struct fjmpi_vcq *vcq, utofu_tni_id_t tni)
{
	vcq->inbox = &fjmpi.inbox[vcq - fjmpi.vcq];
	for (unsigned int bank = 0; bank < FJMPI_BANKS; bank++) {
		int code = bank_open(tni, bank, &vcq->hdl[bank]);

		if (!code)
			code = bank_check(vcq, bank);
		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

static int vcqs_open(void)
{
	utofu_tni_id_t *tni;
	size_t tnis;
	int code;

	code = utofu_get_onesided_tnis(&tni, &tnis);
	if (code)
		return code;
	while (!code && fjmpi.vcqs < tnis && fjmpi.vcqs < FJMPI_NICS) {
		code = vcq_open(&fjmpi.vcq[fjmpi.vcqs], tni[fjmpi.vcqs]);
		fjmpi.vcqs++;
	}
	free(tni);
	return fjmpi.vcqs ? code : UTOFU_ERR_NOT_AVAILABLE;
}

/* ---- The table that peers read ---- */

/* Peers may read it, and no one may write it. */
static int table_open(void)
{
	utofu_vcq_hdl_t hdl = fjmpi.vcq[0].hdl[FJMPI_BANK(FJMPI_TABLE)];
	utofu_stadd_t stadd;
	int code;

	fjmpi.table = aligned_alloc(TABLE_ALIGN, TABLE_SIZE);
	if (!fjmpi.table)
		return UTOFU_ERR_OUT_OF_MEMORY;
	memset(fjmpi.table, 0, TABLE_SIZE);
	code = utofu_reg_mem_with_stag(hdl, fjmpi.table, TABLE_SIZE,
				       FJMPI_STAG(FJMPI_TABLE),
				       UTOFU_REG_MEM_FLAG_READ_ONLY, &stadd);
	if (code)
		return code;
	return utofu_reg_mem(hdl, &fjmpi.found, sizeof(fjmpi.found), 0,
			     &fjmpi.found_at);
}

/* ---- The peers ---- */

static int peers_alloc(void)
{
	int size;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	fjmpi.size = (unsigned int)size;
	fjmpi.peer = calloc(fjmpi.size, sizeof(*fjmpi.peer));
	fjmpi.name = calloc((size_t)fjmpi.size * FJMPI_NICS,
			    sizeof(*fjmpi.name));
	return fjmpi.peer && fjmpi.name ? UTOFU_SUCCESS :
					  UTOFU_ERR_OUT_OF_MEMORY;
}

/*
 * Four paths, where the machine has that many: by the peer's A and C, and by
 * the other side of one of them or both.
 */
static void peer_paths(utofu_vcq_id_t id[FJMPI_PATHS])
{
	struct place place;

	for (unsigned int path = 1; path < FJMPI_PATHS; path++) {
		uint8_t at[3];

		id[path] = id[0];
		if (place_of(id[0], &place))
			continue;
		at[0] = place.coords[3] ^ (path & 1);
		at[1] = place.coords[4];
		at[2] = place.coords[5] ^ (uint8_t)(path >> 1);
		/* A path that leads nowhere leaves the default. */
		utofu_set_vcq_id_path(&id[path], at);
	}
}

int fjmpi_name_compare(const void *a, const void *b)
{
	const struct fjmpi_name *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

static void names_make(void)
{
	struct fjmpi_name *name = fjmpi.name;

	for (unsigned int pid = 0; pid < fjmpi.size; pid++)
		for (unsigned int nic = 0; nic < FJMPI_NICS; nic++)
			*name++ = (struct fjmpi_name){
				.id = fjmpi.peer[pid].id[nic][0],
				.pid = (int)pid,
			};
	qsort(fjmpi.name, (size_t)fjmpi.size * FJMPI_NICS, sizeof(*fjmpi.name),
	      fjmpi_name_compare);
}

static void peers_exchange(void)
{
	struct fjmpi_peer own = { 0 };

	for (unsigned int nic = 0; nic < FJMPI_NICS; nic++)
		utofu_query_vcq_id(fjmpi_vcq_of_nic(nic)->hdl[0],
				   &own.id[nic][0]);
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, fjmpi.peer, sizeof(own),
		      MPI_BYTE, MPI_COMM_WORLD);
	for (unsigned int pid = 0; pid < fjmpi.size; pid++)
		for (unsigned int nic = 0; nic < FJMPI_NICS; nic++)
			peer_paths(fjmpi.peer[pid].id[nic]);
	names_make();
}

/* ---- The interface ---- */

static int open_own(void)
{
	int code = vcqs_open();

	if (!code)
		code = table_open();
	if (!code)
		code = peers_alloc();
	return code;
}

/* Also closes what was opened in part. */
static void close_own(void)
{
	for (unsigned int i = 0; i < fjmpi.vcqs; i++)
		for (unsigned int bank = FJMPI_BANKS; bank-- > 0;)
			if (fjmpi.vcq[i].hdl[bank])
				utofu_free_vcq(fjmpi.vcq[i].hdl[bank]);
	for (unsigned int nic = 0; nic < FJMPI_NICS; nic++)
		fjmpi_inbox_free(&fjmpi.inbox[nic]);
	free(fjmpi.table);
	free(fjmpi.peer);
	free(fjmpi.name);
	memset(&fjmpi, 0, sizeof(fjmpi));
}

bool fjmpi_mpi_usable(void)
{
	int begun, ended;

	MPI_Initialized(&begun);
	MPI_Finalized(&ended);
	return begun && !ended;
}

/* Either all ranks start, or none does. */
static int init_locked(void)
{
	int good = open_own() == UTOFU_SUCCESS, all;

	MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!all) {
		close_own();
		return (int)FJMPI_RDMA_ERROR;
	}
	peers_exchange();
	fjmpi.up = true;
	return 0;
}

int FJMPI_Rdma_init(void)
{
	int ret = (int)FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (!fjmpi.up && fjmpi_mpi_usable())
		ret = init_locked();
	pthread_mutex_unlock(&fjmpi_lock);
	return ret;
}

int FJMPI_Rdma_finalize(void)
{
	int ret = (int)FJMPI_RDMA_ERROR;

	pthread_mutex_lock(&fjmpi_lock);
	if (fjmpi.up) {
		fjmpi_quiesce();
		/* Others may have transfers under way to this rank. */
		if (fjmpi_mpi_usable())
			MPI_Barrier(MPI_COMM_WORLD);
		close_own();
		ret = 0;
	}
	pthread_mutex_unlock(&fjmpi_lock);
	return ret;
}
