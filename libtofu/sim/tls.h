/* SPDX-License-Identifier: MIT */
/*
 * Thread-local data of an executable. Its code addresses them relative to the
 * thread pointer, where the linker takes for granted that they are: next to it.
 * That place belongs to the executable of this process, so this executable
 * leaves it free for the programs that it loads.
 */
#ifndef SIM_TLS_H
#define SIM_TLS_H

#include <stddef.h>

/* Of the executables that are loaded, the most thread-local data */
#define SIM_TLS_RESERVE 65536

/**
 * sim_tls_place - where the thread-local data of an executable are to be
 *
 * Returns: the place, in the calling thread. NULL: there is not so much free.
 */
void *sim_tls_place(size_t len, size_t align);

#endif /* SIM_TLS_H */
