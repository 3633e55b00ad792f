/* SPDX-License-Identifier: MIT */
/*
 * How the bridges of a launcher's job find each other: the first process of each
 * host says where its bridge will listen, by PMIx. What needs PMIx is in a library
 * of its own, libtofu-pmix.so, which is loaded only for a job that is on several
 * hosts.
 */
#ifndef PORT_MEET_H
#define PORT_MEET_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct tofu_meet_host - a host of the job
 * @name:  as the launcher has it
 * @first: lowest rank on it
 * @last:  highest rank on it
 * @count: how many ranks
 */
struct tofu_meet_host {
	char *name;
	uint32_t first;
	uint32_t last;
	uint32_t count;
};

/**
 * struct tofu_meet - the hosts of the job, in the order of their ranks
 */
struct tofu_meet {
	struct tofu_meet_host *host;
	uint32_t count;
};

/**
 * struct tofu_meet_ops - what libtofu-pmix.so exports, as TOFU_MEET_OPS
 * @join: take part, until this process ends, and get the hosts. Again: the same
 *        ones. 0 or a negative errno.
 * @put:  leave a word for other processes. 0 or a negative errno.
 * @get:  the word that @rank has left, which the caller frees. Waits some time for
 *        it, at least @ms milliseconds. 0; -ETIMEDOUT; or another negative errno.
 */
struct tofu_meet_ops {
	int (*join)(struct tofu_meet *meet);
	int (*put)(const char *key, const char *word);
	int (*get)(uint32_t rank, const char *key, unsigned int ms, char **word);
};

#define TOFU_MEET_OPS "tofu_meet_ops"

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
 * @hosts: lives as long as this process
 *
 * Waits for the first processes of the other hosts, which call this, too.
 *
 * Return: 0; a negative errno after a line of tofu_debug().
 */
int tofu_meet_hosts(struct tofu_hosts_known *hosts);

#endif /* PORT_MEET_H */
