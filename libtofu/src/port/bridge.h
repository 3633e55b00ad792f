/* SPDX-License-Identifier: MIT */
/*
 * The bridge of a launcher's job that is spread over several hosts: the first
 * process on each host starts it. It ends by itself.
 */
#ifndef PORT_BRIDGE_H
#define PORT_BRIDGE_H

/**
 * tofu_bridge_start - start the bridge of this host
 * @fabric: the shared file
 * @hosts:  table of hosts, as --hosts of tofu-bridge takes it
 *
 * Waits until other processes can join.
 *
 * Return: 0 or a negative errno; what the bridge itself does not like it says.
 */
int tofu_bridge_start(int fabric, const char *hosts);

#endif /* PORT_BRIDGE_H */
