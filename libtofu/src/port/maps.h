/* SPDX-License-Identifier: MIT */
#ifndef PORT_MAPS_H
#define PORT_MAPS_H

#include <stddef.h>

/**
 * tofu_maps_check - whether the process may access a whole range that way
 *
 * In place of the kernel's pinning: the engine runs in this process, and an
 * access that the memory does not allow would crash it.
 *
 * Return: 0, -EFAULT, or another negative errno if that cannot be found out.
 */
int tofu_maps_check(const void *addr, size_t length, int write);

#endif /* PORT_MAPS_H */
