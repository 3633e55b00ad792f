/* SPDX-License-Identifier: MIT */
/*
 * The clock and the waiting of a port whose node lives in the host's time.
 */
#ifndef PORT_HOST_H
#define PORT_HOST_H

#include <stdint.h>

/* tofu_host_now - nanoseconds of the host's clock, which never goes back */
uint64_t tofu_host_now(void);

/* tofu_host_wait - as struct tofu_port_ops.wait: yield, later sleep */
unsigned int tofu_host_wait(unsigned int turn);

#endif /* PORT_HOST_H */
