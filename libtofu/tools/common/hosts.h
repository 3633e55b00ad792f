/* SPDX-License-Identifier: MIT */
/* The hosts over which a machine is spread. */
#ifndef TOFU_TOOLS_HOSTS_H
#define TOFU_TOOLS_HOSTS_H

#include <stdint.h>

#include "net/topology.h"

#define TOFU_HOST_NAME 64
#define TOFU_HOST_PORT 7410

/**
 * struct tofu_host - a host
 * @address: NULL where the table has none
 * @port:    as text
 * @first:   its first node
 * @nodes:   count of its nodes
 */
struct tofu_host {
	char name[TOFU_HOST_NAME];
	char *address;
	char *port;
	uint32_t first;
	uint32_t nodes;
};

/**
 * struct tofu_hosts - all hosts of a machine, in the order of their nodes
 * @nodes: count of nodes of all
 */
struct tofu_hosts {
	struct tofu_host *host;
	uint32_t count;
	uint32_t nodes;
};

/**
 * tofu_hosts_read - the table of hosts from an option
 * @option: as the user wrote it, for messages
 * @text:   HOST,HOST,... or, where it has a slash, a file with a HOST a line and
 *          comments that begin with #. HOST is NAME:NODES or
 *          NAME:NODES@ADDRESS or NAME:NODES@ADDRESS:PORT, with an IPv6 address
 *          in brackets. The first host has the nodes from 0 on, the next one
 *          those behind.
 * @port:   of hosts without one
 *
 * Exits as tofu_arg_number() does.
 */
void tofu_hosts_read(const char *option, const char *text, unsigned int port,
		     struct tofu_hosts *hosts);

void tofu_hosts_free(struct tofu_hosts *hosts);

/**
 * tofu_hosts_self - which host this is
 * @name: as in the table; NULL: the name of the system
 *
 * Return: its place in the table. Exits where it is not there.
 */
uint32_t tofu_hosts_self(const struct tofu_hosts *hosts, const char *name);

/**
 * tofu_hosts_hash - a number by which hosts see that they have the same table
 *
 * Addresses and ports may differ: a host can have another one inside than
 * outside.
 */
uint64_t tofu_hosts_hash(const struct tofu_hosts *hosts,
			 const struct tofu_shape *shape);

#endif /* TOFU_TOOLS_HOSTS_H */
