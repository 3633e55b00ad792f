/* SPDX-License-Identifier: MIT */
/*
 * How the processes of a job find each other with nothing but the interconnect,
 * and tell each other what they have to know before they can communicate: VCQ
 * IDs, STADDs, cards of exchanges. The job is that of <tofu/job.h>: tofu-run,
 * tofu-cluster, mpirun and srun say who is in it, and no MPI is needed.
 *
 * Functions return enum utofu_return_code. A boot belongs to one thread at a
 * time, and so does the VCQ that it keeps, as of utofu_create_vcq() without
 * UTOFU_VCQ_FLAG_THREAD_SAFE.
 */
#ifndef TOFU_BOOT_H
#define TOFU_BOOT_H

#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Finding the other processes ---- */

/* What a boot keeps of its process: a component ID, and a STAG of its VCQ */
#define TOFU_BOOT_CMP_ID 7
#define TOFU_BOOT_STAG 255

/* Room for a sentence about what has failed, bytes */
#define TOFU_BOOT_WHY 256

struct tofu_boot;

/**
 * tofu_boot_join - meet all processes of the job
 * @timeout: seconds that this and every later wait may take, 1 or more
 * @why:     TOFU_BOOT_WHY bytes that stay the boot's until it is gone, or NULL:
 *           whenever a function of the boot fails, it leaves a sentence there
 *           that says what is wrong, and with which process
 * @boot:    set on success
 *
 * Every process of the job calls it, in whichever order they start. Process l
 * of its node, counted from 0, gets queue l / t of TNI l % t, where t is the
 * number of TNIs, and a VCQ of component ID TOFU_BOOT_CMP_ID in it. So it is to
 * be called before the process creates VCQs of its own there, unless it is
 * alone on its node. VCQs that are created later can share the queue.
 *
 * A process joins once at a time; when it has left it can join again.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_COMPLETED when not all have come in
 * time, and the sentence has the ranks that are missing; UTOFU_ERR_MRQ_PEER
 * when one has died; UTOFU_ERR_USED when this process has joined already, or
 * another program has the queue; UTOFU_ERR_NOT_AVAILABLE as of
 * tofu_query_job(), and where a node has more processes than queues;
 * UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER, UTOFU_ERR_OUT_OF_MEMORY;
 * as utofu_create_vcq() and utofu_reg_mem_with_stag().
 */
int tofu_boot_join(unsigned int timeout, char why[], struct tofu_boot **boot);

/**
 * tofu_boot_leave - wait until all processes come here too, then free the boot
 * @boot: gone on return in any case
 *
 * No process goes before all have come, so none finds another gone that it
 * still has something to tell.
 *
 * Return: as tofu_boot_barrier().
 */
int tofu_boot_leave(struct tofu_boot *boot);

/**
 * tofu_boot_abandon - free a boot without waiting for the others
 * @boot: or NULL
 *
 * For a process that gives up: the others' functions fail with
 * UTOFU_ERR_MRQ_PEER.
 */
void tofu_boot_abandon(struct tofu_boot *boot);

/**
 * tofu_boot_rank, tofu_boot_size - number of this process, and of all of them
 * @boot: the boot
 *
 * As tofu_query_job() has them.
 *
 * Return: the number; UTOFU_ERR_INVALID_POINTER.
 */
int tofu_boot_rank(const struct tofu_boot *boot);
int tofu_boot_size(const struct tofu_boot *boot);

/* ---- Exchanging bytes ---- */

/**
 * tofu_boot_barrier - wait until every process has come here
 * @boot: the boot
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_COMPLETED when one has not come in time;
 * UTOFU_ERR_MRQ_PEER when one has died; UTOFU_ERR_INVALID_POINTER. After a
 * failure tofu_boot_abandon() is all that is left.
 */
int tofu_boot_barrier(struct tofu_boot *boot);

/**
 * tofu_boot_allgather - give some bytes to all, and get those of all
 * @boot:  the boot
 * @mine:  bytes of this process
 * @bytes: how many, the same number everywhere; 0: only a barrier
 * @all:   set to the bytes of all processes, those of rank 0 first
 *
 * A barrier. @mine may be part of @all.
 *
 * Return: as tofu_boot_barrier(). What @all holds after a failure is undefined.
 */
int tofu_boot_allgather(struct tofu_boot *boot, const void *mine, size_t bytes,
			void *all);

/* A process has so many slots, each for a note of so many bytes. */
#define TOFU_BOOT_SLOTS 64
#define TOFU_BOOT_NOTE 256

/**
 * tofu_boot_tell - leave a note with another process
 * @boot:  the boot
 * @rank:  of the process, which may be this one
 * @slot:  of that process, below TOFU_BOOT_SLOTS; the program has to see to it
 *         that no two leave a note in the same slot
 * @note:  the bytes
 * @bytes: how many, at most TOFU_BOOT_NOTE
 *
 * It is there for tofu_boot_told() once both have passed the next barrier.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_MRQ_PEER when the process has died;
 * UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER (no such rank or slot),
 * UTOFU_ERR_INVALID_SIZE.
 */
int tofu_boot_tell(struct tofu_boot *boot, uint32_t rank, unsigned int slot,
		   const void *note, size_t bytes);

/**
 * tofu_boot_told - read a note that was left with this process
 * @boot:  the boot
 * @slot:  below TOFU_BOOT_SLOTS
 * @note:  where to
 * @bytes: how many, at most TOFU_BOOT_NOTE
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER,
 * UTOFU_ERR_INVALID_SIZE.
 */
int tofu_boot_told(const struct tofu_boot *boot, unsigned int slot, void *note,
		   size_t bytes);

/**
 * tofu_boot_check - tell whether a process is still there
 * @boot: the boot
 * @rank: of the process
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_MRQ_PEER when it has died;
 * UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER.
 */
int tofu_boot_check(struct tofu_boot *boot, uint32_t rank);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_BOOT_H */
