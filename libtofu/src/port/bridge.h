/* SPDX-License-Identifier: MIT */
/*
 * The bridge of a launcher's job that is spread over several hosts: the first
 * process on each host starts it. It ends by itself.
 */
#ifndef PORT_BRIDGE_H
#define PORT_BRIDGE_H

#include "port/meet.h"

/**
 * tofu_bridge_start - start the bridge of this host
 * @fabric: the shared file
 * @hosts:  with what it is started
 *
 * Waits until other processes can join.
 *
 * Return: 0 or a negative errno; what the bridge itself does not like it says.
 */
int tofu_bridge_start(int fabric, const struct tofu_hosts_known *hosts);

#endif /* PORT_BRIDGE_H */
