/* SPDX-License-Identifier: MIT */
/*
 * Barriers and reductions of all processes of a job, by barrier gates: the
 * gates of the processes are linked into a network once. Then each process
 * starts and polls through its own gate.
 *
 * Functions return enum utofu_return_code.
 */
#ifndef TOFU_GATES_H
#define TOFU_GATES_H

#include <utofu.h>

#include <tofu/boot.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Barrier gates of all processes ---- */

struct tofu_gates;

/**
 * tofu_gates_create - link barrier gates of all processes of a boot
 * @boot:  of the processes; not used after the return
 * @tni:   one of utofu_get_barrier_tnis(), the same everywhere
 * @flags: UTOFU_VBG_FLAG_*, of this process's gates
 * @gates:  set on success
 *
 * All processes call it at the same time. The network is a butterfly: a barrier
 * of n processes takes log2(n) steps, and each process needs as many gates and
 * up to two more. It fails everywhere if one process has no gates left.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_FULL if this process or another has no
 * gates left; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_OUT_OF_MEMORY; as
 * tofu_boot_barrier(), utofu_alloc_vbg() and utofu_set_vbg().
 */
int tofu_gates_create(struct tofu_boot *boot, utofu_tni_id_t tni,
		     unsigned long flags, struct tofu_gates **gates);

/**
 * tofu_gates_id - get the gate by which the process takes part
 * @gates: the network
 * @gate: set to its start and end gate, for utofu_barrier(),
 *        utofu_reduce_uint64() and utofu_reduce_double(), for
 *        utofu_poll_barrier() and the other polls, and for makers of exchanges
 *        that want a barrier
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER.
 */
int tofu_gates_id(const struct tofu_gates *gates, utofu_vbg_id_t *gate);

/**
 * tofu_gates_free - free the gates of this process
 * @gates: or NULL; no barrier is under way in it
 *
 * The gates of the other processes are then useless and can only be freed. A
 * barrier is not under way any more once this process has polled its end.
 */
void tofu_gates_free(struct tofu_gates *gates);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_GATES_H */
