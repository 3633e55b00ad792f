/* SPDX-License-Identifier: MIT */
/*
 * The library that asks PMIx, for port/meet.h: who is on which host, and words that
 * processes leave for each other.
 *
 * In the process itself, since a launcher takes a child that leaves for the process:
 * MPI could not begin afterwards. For the same reason it takes part until the
 * process ends. PMIx counts how often it was begun, so MPI may begin it, too.
 *
 * Words are published where the launcher can do that, as mpirun can. Otherwise, as
 * under srun, they are put and got. With mpirun that would fail: once its processes
 * have exchanged all there was, it looks for no more.
 *
 * May include: <pmix.h>, port/meet.h
 */
#include <errno.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "port/meet.h"

#define NAP_NS 10000000L

static pmix_proc_t self;
static pid_t process; /* 0: not joined */
static bool publishes = true;
static struct tofu_meet found;

static int error_of(pmix_status_t status)
{
	switch (status) {
	case PMIX_SUCCESS:
		return 0;
	case PMIX_ERR_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case PMIX_ERR_TIMEOUT:
	case PMIX_ERR_NOT_FOUND:
		return -ETIMEDOUT;
	case PMIX_ERR_NOMEM:
		return -ENOMEM;
	default:
		return -EPROTO;
	}
}

/* ---- Hosts ---- */

/* A child that ends is none of the job's processes. */
static void leave(void)
{
	if (process == getpid())
		PMIx_Finalize(NULL, 0);
}

static int add_host(struct tofu_meet *meet, const char *name)
{
	struct tofu_meet_host *host;
	pmix_proc_t *ranks = NULL;
	size_t count = 0;
	const int err = error_of(PMIx_Resolve_peers(name, self.nspace, &ranks, &count));

	if (err || !count)
		return err;
	host = &meet->host[meet->count];
	*host = (struct tofu_meet_host){ .name = strdup(name),
					 .first = ranks[0].rank,
					 .last = ranks[0].rank,
					 .count = (uint32_t)count };
	for (size_t i = 0; i < count; i++) {
		if (ranks[i].rank < host->first)
			host->first = ranks[i].rank;
		if (ranks[i].rank > host->last)
			host->last = ranks[i].rank;
	}
	PMIX_PROC_FREE(ranks, count);
	meet->count++;
	return host->name ? 0 : -ENOMEM;
}

static int by_first(const void *a, const void *b)
{
	const struct tofu_meet_host *one = a, *other = b;

	return one->first < other->first ? -1 : one->first > other->first;
}

static int list_hosts(struct tofu_meet *meet)
{
	char *nodes = NULL, *rest, *name;
	size_t most = 1;
	int err = error_of(PMIx_Resolve_nodes(self.nspace, &nodes));

	if (err || !nodes)
		return err ? err : -EPROTO;
	for (const char *at = nodes; *at; at++)
		most += *at == ',';
	meet->host = calloc(most, sizeof(*meet->host));
	if (!meet->host)
		err = -ENOMEM;
	for (name = strtok_r(nodes, ",", &rest); name && !err;
	     name = strtok_r(NULL, ",", &rest))
		err = add_host(meet, name);
	free(nodes);
	if (err)
		return err;
	qsort(meet->host, meet->count, sizeof(*meet->host), by_first);
	return meet->count ? 0 : -EPROTO;
}

static int join(struct tofu_meet *meet)
{
	int err = process ? 0 : error_of(PMIx_Init(&self, NULL, 0));

	if (err)
		return err;
	if (!process) {
		process = getpid();
		atexit(leave);
		err = list_hosts(&found);
	}
	*meet = found;
	return err;
}

/* ---- Words ---- */

/* Published ones are those of all jobs of a launcher. */
static void publish_key(char *name, size_t size, uint32_t rank, const char *key)
{
	snprintf(name, size, "tofu.%s.%u.%s", self.nspace, rank, key);
}

static int publish(const char *key, const char *word)
{
	pmix_info_t info;
	char name[PMIX_MAX_KEYLEN];
	pmix_status_t status;

	publish_key(name, sizeof(name), self.rank, key);
	PMIX_INFO_LOAD(&info, name, word, PMIX_STRING);
	status = PMIx_Publish(&info, 1);
	PMIX_INFO_DESTRUCT(&info);
	return error_of(status);
}

static int put_own(const char *key, const char *word)
{
	char name[PMIX_MAX_KEYLEN];
	pmix_value_t value;
	pmix_status_t status;

	snprintf(name, sizeof(name), "tofu.%s", key);
	PMIX_VALUE_LOAD(&value, word, PMIX_STRING);
	status = PMIx_Put(PMIX_GLOBAL, name, &value);
	PMIX_VALUE_DESTRUCT(&value);
	if (status == PMIX_SUCCESS)
		status = PMIx_Commit();
	return error_of(status);
}

static int put(const char *key, const char *word)
{
	int err = publishes ? publish(key, word) : -EOPNOTSUPP;

	if (err != -EOPNOTSUPP)
		return err;
	publishes = false;
	return put_own(key, word);
}

static int copy(const pmix_value_t *value, char **word)
{
	if (value->type != PMIX_STRING || !value->data.string)
		return -EPROTO;
	*word = strdup(value->data.string);
	return *word ? 0 : -ENOMEM;
}

static int lookup(uint32_t rank, const char *key, char **word)
{
	pmix_pdata_t data;
	pmix_status_t status;
	int err;

	PMIX_PDATA_CONSTRUCT(&data);
	publish_key(data.key, sizeof(data.key), rank, key);
	status = PMIx_Lookup(&data, 1, NULL, 0);
	err = status ? error_of(status) : copy(&data.value, word);
	PMIX_PDATA_DESTRUCT(&data);
	return err;
}

static int get_of(uint32_t rank, const char *key, unsigned int seconds, char **word)
{
	const bool anew = true;
	char name[PMIX_MAX_KEYLEN];
	pmix_value_t *value = NULL;
	pmix_info_t wishes[2];
	pmix_status_t status;
	pmix_proc_t proc;
	int err;

	PMIX_LOAD_PROCID(&proc, self.nspace, rank);
	PMIX_INFO_LOAD(&wishes[0], PMIX_TIMEOUT, &seconds, PMIX_INT);
	PMIX_INFO_LOAD(&wishes[1], PMIX_GET_REFRESH_CACHE, &anew, PMIX_BOOL);
	snprintf(name, sizeof(name), "tofu.%s", key);
	status = PMIx_Get(&proc, name, wishes, 2, &value);
	err = status ? error_of(status) : copy(value, word);
	if (value)
		PMIX_VALUE_RELEASE(value);
	return err;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Asks again and again, since a launcher may know that there is nothing yet. */
static int get(uint32_t rank, const char *key, unsigned int ms, char **word)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	const int64_t end = now_ms() + ms;
	int err;

	for (;;) {
		err = publishes ? lookup(rank, key, word) :
				  get_of(rank, key, 1 + ms / 1000, word);
		if (err != -ETIMEDOUT || now_ms() >= end)
			return err;
		nanosleep(&nap, NULL);
	}
}

__attribute__((visibility("default"))) const struct tofu_meet_ops tofu_meet_ops = {
	.join = join,
	.put = put,
	.get = get,
};
