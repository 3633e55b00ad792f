/* SPDX-License-Identifier: MIT */
/*
 * PMIx.
 *
 * In the process itself, since a launcher takes a child that leaves for the process:
 * MPI could not begin afterwards. For the same reason it takes part until the
 * process ends. PMIx counts how often it was begun, so MPI may begin it, too.
 *
 * Words are published where the launcher can do that, as mpirun can. Otherwise, as
 * under srun, they are put and got. With mpirun that would fail: once its processes
 * have exchanged all there was, it looks for no more.
 *
 * A rank can run one program with PMIx, not another one after it: mpirun and srun have
 * forgotten their answers by then, or wait for ever. So each leaves a word that it was
 * there.
 */
#define _GNU_SOURCE
#include "meet.h"

#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Naps between two questions, which grow */
#define NAP_MS 5
#define NAP_MOST_MS 200

/* How long an answer takes that the launcher has: for words of this process */
#define OWN_MS 3000

static pmix_proc_t self;
static pid_t process; /* 0: not joined */
static bool publishes = true;
static struct meet_job found;

int64_t words_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int error_of(pmix_status_t status)
{
	switch (status) {
	case PMIX_SUCCESS:
	case PMIX_OPERATION_SUCCEEDED:
		return 0;
	case PMIX_ERR_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case PMIX_ERR_TIMEOUT:
	case PMIX_ERR_NOT_FOUND:
		return -ETIMEDOUT;
	default:
		return -EPROTO;
	}
}

/* Return: error_of(), after a line */
static int failed(const char *what, pmix_status_t status, tofu_meet_say *say)
{
	say("PMIx: %s: %s", what, PMIx_Error_string(status));
	return error_of(status);
}

/* ---- Hosts ---- */

/* A child that ends is none of the job's processes. */
static void leave(void)
{
	if (process == getpid())
		PMIx_Finalize(NULL, 0);
}

static int add_host(struct meet_job *job, const char *name, tofu_meet_say *say)
{
	struct meet_host *host = &job->host[job->count];
	pmix_proc_t *ranks = NULL;
	size_t count = 0;
	const pmix_status_t status =
		PMIx_Resolve_peers(name, self.nspace, &ranks, &count);

	if (status != PMIX_SUCCESS)
		return failed("who is on a host", status, say);
	if (!count)
		return 0;
	*host = (struct meet_host){ .name = strdup(name),
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
	job->count++;
	return host->name ? 0 : -ENOMEM;
}

static int by_first(const void *a, const void *b)
{
	const struct meet_host *one = a, *other = b;

	return one->first < other->first ? -1 : one->first > other->first;
}

static int list_hosts(struct meet_job *job, tofu_meet_say *say)
{
	char *nodes = NULL, *rest, *name;
	size_t most = 1;
	const pmix_status_t status = PMIx_Resolve_nodes(self.nspace, &nodes);
	int err = 0;

	if (status != PMIX_SUCCESS || !nodes)
		return failed("which hosts there are", status, say);
	for (const char *at = nodes; *at; at++)
		most += *at == ',';
	job->host = calloc(most, sizeof(*job->host));
	if (!job->host)
		err = -ENOMEM;
	for (name = strtok_r(nodes, ",", &rest); name && !err;
	     name = strtok_r(NULL, ",", &rest))
		err = add_host(job, name, say);
	free(nodes);
	if (!err)
		qsort(job->host, job->count, sizeof(*job->host), by_first);
	return err;
}

static void drop_hosts(struct meet_job *job)
{
	for (uint32_t h = 0; h < job->count; h++)
		free(job->host[h].name);
	free(job->host);
	*job = (struct meet_job){ 0 };
}

/* ---- Words that are published: of all jobs of a launcher ---- */

static void publish_key(char *name, uint32_t rank, const char *key)
{
	snprintf(name, PMIX_MAX_KEYLEN, "tofu.%s.%u.%s", self.nspace, rank, key);
}

static pmix_status_t publish(const char *key, const char *word)
{
	pmix_info_t info;
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_status_t status;

	publish_key(name, self.rank, key);
	PMIX_INFO_LOAD(&info, name, word, PMIX_STRING);
	status = PMIx_Publish(&info, 1);
	PMIX_INFO_DESTRUCT(&info);
	return status;
}

static char *string_of(const pmix_value_t *value)
{
	return value->type == PMIX_STRING && value->data.string ?
		       strdup(value->data.string) :
		       NULL;
}

static pmix_status_t lookup(uint32_t rank, const char *key, char **word)
{
	pmix_pdata_t data;
	pmix_status_t status;

	PMIX_PDATA_CONSTRUCT(&data);
	publish_key(data.key, rank, key);
	status = PMIx_Lookup(&data, 1, NULL, 0);
	if (status == PMIX_SUCCESS) {
		*word = string_of(&data.value);
		if (!*word)
			status = PMIX_ERR_BAD_PARAM;
	}
	PMIX_PDATA_DESTRUCT(&data);
	return status;
}

/* ---- Words that are put: of a process ---- */

static pmix_status_t put_own(const char *key, const char *word)
{
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_value_t value;
	pmix_status_t status;

	snprintf(name, sizeof(name), "tofu.%s", key);
	PMIX_VALUE_LOAD(&value, word, PMIX_STRING);
	status = PMIx_Put(PMIX_GLOBAL, name, &value);
	PMIX_VALUE_DESTRUCT(&value);
	return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

/**
 * struct answer - what is waited for; whoever comes last frees it
 * @left: one of both has left
 */
struct answer {
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool done;
	bool left;
	pmix_status_t status;
	char *word;
};

static void answer_free(struct answer *answer)
{
	pthread_mutex_destroy(&answer->lock);
	pthread_cond_destroy(&answer->came);
	free(answer->word);
	free(answer);
}

static void answered(pmix_status_t status, pmix_value_t *value, void *arg)
{
	struct answer *answer = arg;
	bool last;

	pthread_mutex_lock(&answer->lock);
	answer->status = status;
	if (status == PMIX_SUCCESS && value)
		answer->word = string_of(value);
	answer->done = true;
	last = answer->left;
	pthread_cond_signal(&answer->came);
	pthread_mutex_unlock(&answer->lock);
	if (last)
		answer_free(answer);
}

static struct answer *answer_new(void)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	pthread_condattr_t attr;

	if (!answer)
		return NULL;
	pthread_mutex_init(&answer->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&answer->came, &attr);
	pthread_condattr_destroy(&attr);
	return answer;
}

static pmix_status_t await(struct answer *answer, int64_t end, char **word)
{
	const struct timespec until = { .tv_sec = end / 1000,
					.tv_nsec = end % 1000 * 1000000 };
	pmix_status_t status = PMIX_ERR_TIMEOUT;
	bool done;

	pthread_mutex_lock(&answer->lock);
	while (!answer->done &&
	       pthread_cond_timedwait(&answer->came, &answer->lock, &until) != ETIMEDOUT)
		;
	done = answer->done;
	answer->left = true;
	if (done) {
		status = answer->status;
		*word = answer->word;
		answer->word = NULL;
	}
	pthread_mutex_unlock(&answer->lock);
	if (done)
		answer_free(answer);
	if (status == PMIX_SUCCESS && !*word)
		status = PMIX_ERR_BAD_PARAM;
	return status;
}

/* A launcher may wait for longer than it was told to, and it may know an old answer. */
static pmix_status_t get_of(uint32_t rank, const char *key, int64_t end, char **word)
{
	static const bool yes = true;
	const int seconds = 1;
	struct answer *answer = answer_new();
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_info_t wishes[2];
	pmix_status_t status;
	pmix_proc_t proc;

	if (!answer)
		return PMIX_ERR_NOMEM;
	PMIX_LOAD_PROCID(&proc, self.nspace, rank);
	/* In this order: some look at the first one only. */
	PMIX_INFO_LOAD(&wishes[0], PMIX_GET_REFRESH_CACHE, &yes, PMIX_BOOL);
	PMIX_INFO_LOAD(&wishes[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
	snprintf(name, sizeof(name), "tofu.%s", key);
	status = PMIx_Get_nb(&proc, name, wishes, 2, answered, answer);
	if (status == PMIX_SUCCESS)
		return await(answer, end, word);
	answer_free(answer);
	/* Without a call of answered() there is no word. */
	return status == PMIX_OPERATION_SUCCEEDED ? PMIX_ERR_BAD_PARAM : status;
}

/* ---- Both ---- */

static pmix_status_t ask(uint32_t rank, const char *key, int64_t end, char **word)
{
	return publishes ? lookup(rank, key, word) : get_of(rank, key, end, word);
}

int words_put(const char *key, const char *word, tofu_meet_say *say)
{
	const pmix_status_t status = publishes ? publish(key, word) : put_own(key, word);

	return error_of(status) ? failed("cannot leave a word", status, say) : 0;
}

/* Asks again and again, since a launcher may know that there is nothing yet. */
int words_get(uint32_t rank, const char *key, int64_t end, char **word,
	      tofu_meet_say *say)
{
	int64_t nap = NAP_MS;

	for (;;) {
		const pmix_status_t status = ask(rank, key, end, word);
		const int err = error_of(status);

		if (err && err != -ETIMEDOUT)
			return failed("where another host's bridge is", status, say);
		if (!err || words_now() >= end)
			return err;
		nanosleep(&(struct timespec){ .tv_nsec = nap * 1000000 }, NULL);
		nap = nap * 2 < NAP_MOST_MS ? nap * 2 : NAP_MOST_MS;
	}
}

/* ---- Beginning ---- */

static int be_the_first(tofu_meet_say *say)
{
	char *word = NULL;
	pmix_status_t status = ask(self.rank, "came", words_now() + OWN_MS, &word);

	if (status == PMIX_ERR_NOT_SUPPORTED) {
		publishes = false;
		status = ask(self.rank, "came", words_now() + OWN_MS, &word);
	}
	free(word);
	if (error_of(status) == -ETIMEDOUT)
		return words_put("came", "1", say);
	say("PMIx: another program of this rank has taken part, and launchers allow one: name the hosts in TOFU_HOSTS (%s)",
	    PMIx_Error_string(status));
	return -EALREADY;
}

static int begin(tofu_meet_say *say)
{
	const pmix_status_t status = PMIx_Init(&self, NULL, 0);

	if (status != PMIX_SUCCESS)
		return failed("cannot take part", status, say);
	process = getpid();
	atexit(leave);
	return be_the_first(say);
}

int words_join(struct meet_job *job, tofu_meet_say *say)
{
	int err;

	if (process && process != getpid()) {
		say("a child of a process of the job is none");
		return -ECHILD;
	}
	err = process ? 0 : begin(say);
	if (!err && !found.count) {
		err = list_hosts(&found, say);
		if (err)
			drop_hosts(&found);
	}
	found.rank = self.rank;
	*job = found;
	return err;
}
