/* SPDX-License-Identifier: MIT */
/*
 * libtofu-pmix.so, for port/meet.h: who is on which host, by PMIx; where the bridge of
 * this host listens; and the table of all.
 *
 * May include: <pmix.h>, port/meet.h
 */
#ifndef PMIX_MEET_H
#define PMIX_MEET_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "port/meet.h"

/* ---- Words that processes leave for each other ---- */

/**
 * struct meet_host - a host of the job
 * @name:  as the launcher has it
 * @first: lowest rank on it
 * @last:  highest rank on it
 * @count: how many ranks
 */
struct meet_host {
	char *name;
	uint32_t first;
	uint32_t last;
	uint32_t count;
};

/* struct meet_job - the hosts, in the order of their ranks, and this process's rank */
struct meet_job {
	struct meet_host *host;
	uint32_t count;
	uint32_t rank;
};

/**
 * words_join - take part in what the launcher does, until this process ends
 *
 * Again: the same job. A second program of a rank cannot.
 *
 * Return: 0; a negative errno after a line of @say.
 */
int words_join(struct meet_job *job, tofu_meet_say *say);

/**
 * words_put - leave a word for other processes
 *
 * Return: 0; a negative errno after a line of @say.
 */
int words_put(const char *key, const char *word, tofu_meet_say *say);

/**
 * words_get - get the word that a process has left; the caller frees it
 * @end: until when to wait for it, as words_now()
 *
 * Return: 0; -ETIMEDOUT, or another negative errno after a line of @say.
 */
int words_get(uint32_t rank, const char *key, int64_t end, char **word,
	      tofu_meet_say *say);

/* words_now - milliseconds of the system's clock */
int64_t words_now(void);

/* ---- Addresses ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

/**
 * address_find - the own address, in the network by which other hosts are reached
 * @self: this host
 *
 * Return: 0; a negative errno after a line of @say.
 */
int address_find(const struct meet_job *job, uint32_t self, union address *own,
		 tofu_meet_say *say);

#endif /* PMIX_MEET_H */
