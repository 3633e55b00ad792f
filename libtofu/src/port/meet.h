/* SPDX-License-Identifier: MIT */
/*
 * How the bridges of a launcher's job find each other: the first process of each
 * host says where its bridge will listen, by PMIx. All of that is in a library of
 * its own, libtofu-pmix.so, which is loaded only for a job that is on several
 * hosts.
 */
#ifndef PORT_MEET_H
#define PORT_MEET_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct tofu_hosts_known - what a bridge is started with
 * @table: all hosts, as --hosts of tofu-bridge takes it
 * @self:  which of them this is; NULL: its name says so
 * @token: by which they know each other; NULL: the environment has it
 */
struct tofu_hosts_known {
	const char *table;
	const char *self;
	const char *token;
};

typedef void tofu_meet_say(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The symbol of libtofu-pmix.so; another number for each change of the functions. */
#define TOFU_MEET_OPS "tofu_meet_ops_1"

/**
 * struct tofu_meet_ops - what it exports
 *
 * The functions are those below. @say gets a line for each error.
 */
struct tofu_meet_ops {
	int (*join)(uint32_t rank, uint32_t ranks, bool *leads, tofu_meet_say *say);
	int (*hosts)(uint32_t nodes, struct tofu_hosts_known *hosts,
		     tofu_meet_say *say);
};

/**
 * tofu_meet_join - begin to meet the processes of other hosts
 * @rank:  of this process
 * @ranks: number of processes
 * @leads: it is the first of its host, which has to start the bridge
 *
 * All processes of the job have to call this, since launchers want that.
 *
 * Return: 0; a negative errno after a line of tofu_debug().
 */
int tofu_meet_join(uint32_t rank, uint32_t ranks, bool *leads);

/**
 * tofu_meet_hosts - get the table of hosts, for the first process of a host
 * @nodes: of the machine; what is more than ranks belongs to the last host
 * @hosts: lives as long as this process
 *
 * Waits for the first processes of the other hosts, which call this, too. After
 * tofu_meet_join().
 *
 * Return: 0; a negative errno after a line of tofu_debug().
 */
int tofu_meet_hosts(uint32_t nodes, struct tofu_hosts_known *hosts);

#endif /* PORT_MEET_H */
