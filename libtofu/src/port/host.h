/* SPDX-License-Identifier: MIT */
/*
 * Clock and waiting of a port whose node runs in the host's time.
 */
#ifndef PORT_HOST_H
#define PORT_HOST_H

#include <stdint.h>

/* tofu_host_now - nanoseconds of the host's monotonic clock */
uint64_t tofu_host_now(void);

/* tofu_host_wait - the wait of struct tofu_port_ops: yield, later sleep */
unsigned int tofu_host_wait(unsigned int turn);

#endif /* PORT_HOST_H */
