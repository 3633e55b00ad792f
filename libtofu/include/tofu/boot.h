/* SPDX-License-Identifier: MIT */
/*
 * How the processes of a job find each other through the interconnect alone,
 * and exchange what they must know before they can communicate: VCQ IDs,
 * STADDs, cards of exchanges. The job is that of <tofu/job.h>: tofu-run,
 * tofu-cluster, mpirun and srun define its processes, and no MPI is needed.
 *
 * Functions return enum utofu_return_code. A boot belongs to one thread at a
 * time, and so does its VCQ, like one that utofu_create_vcq() makes without
 * UTOFU_VCQ_FLAG_THREAD_SAFE.
 */
#ifndef TOFU_BOOT_H
#define TOFU_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Finding the other processes ---- */

/* A boot uses these in its process: a component ID, and a STAG of its VCQ */
#define TOFU_BOOT_CMP_ID 7
#define TOFU_BOOT_STAG 255

/* Room for a sentence about what has failed, bytes */
#define TOFU_BOOT_WHY 256

struct tofu_boot;

/**
 * tofu_boot_join - meet all processes of the job
 * @timeout: seconds that this and every later wait may take, 1 or more
 * @why:     TOFU_BOOT_WHY bytes that the boot uses until it is freed, or NULL.
 *           Whenever a function of the boot fails, it leaves a sentence there
 *           that says what is wrong, and with which process.
 * @boot:    set on success
 *
 * Every process of the job calls it, in any order. Process l of its node,
 * counted from 0, gets queue l / t of TNI l % t, where t is the number of TNIs,
 * and a VCQ with component ID TOFU_BOOT_CMP_ID in it. Unless the process is
 * alone on its node, it must call this function before it creates VCQs of its
 * own there. VCQs that are created later can share the queue.
 *
 * A process can join again after it has left.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_COMPLETED if a process has not joined in
 * time, and the sentence lists the ranks that are missing; UTOFU_ERR_MRQ_PEER
 * if one has died; UTOFU_ERR_USED if this process has joined already, or
 * another program has the queue; UTOFU_ERR_NOT_AVAILABLE as tofu_query_job(),
 * and if a node has more processes than queues; UTOFU_ERR_INVALID_POINTER,
 * UTOFU_ERR_INVALID_NUMBER, UTOFU_ERR_OUT_OF_MEMORY; as utofu_create_vcq() and
 * utofu_reg_mem_with_stag().
 */
int tofu_boot_join(unsigned int timeout, char why[], struct tofu_boot **boot);

/**
 * tofu_boot_leave - wait until all processes call this, then free the boot
 * @boot: freed on return, also after an error
 *
 * No process leaves before all have called, so none finds a peer gone that it
 * still has to communicate with.
 *
 * Return: as tofu_boot_barrier().
 */
int tofu_boot_leave(struct tofu_boot *boot);

/**
 * tofu_boot_abandon - free a boot without waiting for the others
 * @boot: or NULL
 *
 * For a process that gives up: calls of the other processes fail with
 * UTOFU_ERR_MRQ_PEER.
 */
void tofu_boot_abandon(struct tofu_boot *boot);

/**
 * tofu_boot_rank, tofu_boot_size - rank of this process, number of processes
 * @boot: the boot
 *
 * The values are those of tofu_query_job().
 *
 * Return: the number; UTOFU_ERR_INVALID_POINTER.
 */
int tofu_boot_rank(const struct tofu_boot *boot);
int tofu_boot_size(const struct tofu_boot *boot);

/* ---- Exchanging bytes ---- */

/**
 * tofu_boot_barrier - wait until every process has called this
 * @boot: the boot
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_COMPLETED if one has not called in time;
 * UTOFU_ERR_MRQ_PEER if one has died; UTOFU_ERR_INVALID_POINTER. After a
 * failure the boot can only be abandoned with tofu_boot_abandon().
 */
int tofu_boot_barrier(struct tofu_boot *boot);

/**
 * tofu_boot_allgather - give bytes to all processes, and get those of all
 * @boot:  the boot
 * @mine:  bytes of this process
 * @bytes: how many, the same number everywhere; 0: only a barrier
 * @all:   set to the bytes of all processes, those of rank 0 first
 *
 * Acts as a barrier. @mine may be part of @all. Each process puts to every
 * other, and keeps up to 256 bytes for each until the boot is freed. In a large
 * job tofu_boot_tell() is better for what only some processes need.
 *
 * Return: as tofu_boot_barrier(). What @all holds after a failure is undefined.
 */
int tofu_boot_allgather(struct tofu_boot *boot, const void *mine, size_t bytes,
			void *all);

/* Slots of a process, and bytes of a note in a slot */
#define TOFU_BOOT_SLOTS 64
#define TOFU_BOOT_NOTE 256

/**
 * tofu_boot_tell - leave a note with another process
 * @boot:  the boot
 * @rank:  of the process, which may be this one
 * @slot:  of that process, below TOFU_BOOT_SLOTS; the program must ensure that
 *         no two processes leave a note in the same slot
 * @note:  the bytes
 * @bytes: how many, at most TOFU_BOOT_NOTE
 *
 * tofu_boot_told() finds it once both processes have passed the next barrier.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_MRQ_PEER if the process has died;
 * UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER (no such rank or slot),
 * UTOFU_ERR_INVALID_SIZE.
 */
int tofu_boot_tell(struct tofu_boot *boot, uint32_t rank, unsigned int slot,
		   const void *note, size_t bytes);

/**
 * tofu_boot_told - read a note that was left with this process
 * @boot:  the boot
 * @slot:  below TOFU_BOOT_SLOTS
 * @note:  filled
 * @bytes: how many, at most TOFU_BOOT_NOTE
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER,
 * UTOFU_ERR_INVALID_SIZE.
 */
int tofu_boot_told(const struct tofu_boot *boot, unsigned int slot, void *note,
		   size_t bytes);

/**
 * tofu_boot_check - check whether a process is still there
 * @boot: the boot
 * @rank: of the process
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_MRQ_PEER if it has died;
 * UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER.
 */
int tofu_boot_check(struct tofu_boot *boot, uint32_t rank);

/* ---- While a boot waits ---- */

/**
 * struct tofu_attendant - what else has to go on in this process
 * @attend: called again and again while a function of a boot waits for other
 *          processes, in the same thread; must not call functions of a boot
 * @exclude: NULL, or called with true before a function of a boot uses its VCQ, and
 *          with false after that, before @attend is called, too: between the two no
 *          other thread may use a VCQ that shares a command queue with it
 * @arg:    their argument
 * @next:   the library's
 */
struct tofu_attendant {
	void (*attend)(void *arg);
	void (*exclude)(void *arg, bool on);
	void *arg;
	struct tofu_attendant *next;
};

/**
 * tofu_boot_attend - have something done while a boot of this process waits
 * @attendant: stays the caller's; valid until tofu_boot_unattend()
 *
 * For layers whose messages another process may need before it can come to a
 * barrier, such as those of <tofu/p2p.h>. Only for the thread that uses boots.
 */
void tofu_boot_attend(struct tofu_attendant *attendant);

/**
 * tofu_boot_unattend - have it done no more
 * @attendant: of tofu_boot_attend()
 */
void tofu_boot_unattend(struct tofu_attendant *attendant);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_BOOT_H */
