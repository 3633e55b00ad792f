/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "pmi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tofu/boot.h>
#include <tofu/error.h>
#include <tofu/job.h>

#include "words.h"

/* How long processes wait for each other: a program may compute between two. */
#define TIMEOUT_SECONDS 604800

/* Most bytes that the words of a process may have between two barriers */
#define UNSENT_MAX (64U << 20)

#define JOB_NAME "tofu"

/**
 * struct pmi - what this process has
 * @boot:   NULL: not initialized
 * @words:  of all processes, as of the last barrier, and own ones
 * @unsent: @used bytes that others have not got
 */
static struct {
	struct tofu_boot *boot;
	struct tofu_job_info job;
	struct words words;
	char *unsent;
	size_t used;
	char why[TOFU_BOOT_WHY];
} pmi;

/* The library that calls this says what it was doing, but not this. */
static int fail(const char *what, int code)
{
	fprintf(stderr, "libtofu-pmi: process %u: %s: %s\n", pmi.job.rank, what,
		*pmi.why ? pmi.why : tofu_error_text(code));
	return PMI_FAIL;
}

static int number_get(int *to, int number)
{
	if (!pmi.boot)
		return PMI_ERR_INIT;
	if (!to)
		return PMI_ERR_INVALID_ARG;
	*to = number;
	return PMI_SUCCESS;
}

/* ---- The process ---- */

int PMI_Init(int *spawned)
{
	int code;

	if (!spawned)
		return PMI_ERR_INVALID_ARG;
	*spawned = 0;
	if (pmi.boot)
		return PMI_SUCCESS;
	code = tofu_query_job(&pmi.job);
	if (code)
		return fail("no Tofu job here; TOFU_DEBUG=1 says more", code);
	code = tofu_boot_join(TIMEOUT_SECONDS, pmi.why, &pmi.boot);
	return code ? fail("cannot meet the others", code) : PMI_SUCCESS;
}

int PMI_Initialized(int *initialized)
{
	if (!initialized)
		return PMI_ERR_INVALID_ARG;
	*initialized = !!pmi.boot;
	return PMI_SUCCESS;
}

static void forget(void)
{
	words_free(&pmi.words);
	free(pmi.unsent);
	pmi.unsent = NULL;
	pmi.used = 0;
	pmi.boot = NULL;
}

int PMI_Finalize(void)
{
	int code;

	if (!pmi.boot)
		return PMI_ERR_INIT;
	code = tofu_boot_leave(pmi.boot);
	if (code)
		fail("cannot part from the others", code);
	forget();
	return code ? PMI_FAIL : PMI_SUCCESS;
}

int PMI_Abort(int code, const char message[])
{
	fprintf(stderr, "process %u aborts: %s\n", pmi.job.rank,
		message ? message : "");
	fflush(NULL);
	/* Of which the launcher sees eight bits */
	_exit(code & 0xff ? code : EXIT_FAILURE);
}

int PMI_Get_size(int *size)
{
	return number_get(size, (int)pmi.job.ranks);
}

int PMI_Get_rank(int *rank)
{
	return number_get(rank, (int)pmi.job.rank);
}

int PMI_Get_universe_size(int *size)
{
	return number_get(size, (int)pmi.job.ranks);
}

int PMI_Get_appnum(int *number)
{
	return number_get(number, 0);
}

/* ---- The node ---- */

static uint32_t node_first(void)
{
	return pmi.job.rank - pmi.job.rank % pmi.job.ppn;
}

static int node_size(void)
{
	const uint32_t left = pmi.job.ranks - node_first();

	return (int)(left < pmi.job.ppn ? left : pmi.job.ppn);
}

int PMI_Get_clique_size(int *size)
{
	return number_get(size, pmi.boot ? node_size() : 0);
}

int PMI_Get_clique_ranks(int ranks[], int length)
{
	if (!pmi.boot)
		return PMI_ERR_INIT;
	if (!ranks)
		return PMI_ERR_INVALID_ARG;
	if (length < node_size())
		return PMI_ERR_INVALID_LENGTH;
	for (int i = 0; i < node_size(); i++)
		ranks[i] = (int)node_first() + i;
	return PMI_SUCCESS;
}

/* ---- Words ---- */

int PMI_KVS_Get_name_length_max(int *length)
{
	return number_get(length, sizeof(JOB_NAME));
}

int PMI_KVS_Get_key_length_max(int *length)
{
	return number_get(length, WORDS_KEY_MAX);
}

int PMI_KVS_Get_value_length_max(int *length)
{
	return number_get(length, WORDS_VALUE_MAX);
}

int PMI_KVS_Get_my_name(char name[], int length)
{
	if (!pmi.boot)
		return PMI_ERR_INIT;
	if (!name)
		return PMI_ERR_INVALID_ARG;
	if (length < (int)sizeof(JOB_NAME))
		return PMI_ERR_INVALID_LENGTH;
	memcpy(name, JOB_NAME, sizeof(JOB_NAME));
	return PMI_SUCCESS;
}

static int unsent_add(const char *key, size_t key_bytes, const char *value,
		      size_t value_bytes)
{
	const size_t bytes = pmi.used + key_bytes + value_bytes;
	char *grown = bytes > UNSENT_MAX ? NULL : realloc(pmi.unsent, bytes);

	if (!grown)
		return PMI_ERR_NOMEM;
	memcpy(grown + pmi.used, key, key_bytes);
	memcpy(grown + pmi.used + key_bytes, value, value_bytes);
	pmi.unsent = grown;
	pmi.used = bytes;
	return PMI_SUCCESS;
}

int PMI_KVS_Put(const char name[], const char key[], const char value[])
{
	size_t key_bytes, value_bytes;

	if (!pmi.boot)
		return PMI_ERR_INIT;
	if (!name || !key || !value)
		return PMI_ERR_INVALID_ARG;
	key_bytes = strlen(key) + 1;
	value_bytes = strlen(value) + 1;
	if (key_bytes > WORDS_KEY_MAX)
		return PMI_ERR_INVALID_KEY_LENGTH;
	if (value_bytes > WORDS_VALUE_MAX)
		return PMI_ERR_INVALID_VAL_LENGTH;
	if (!words_add(&pmi.words, key, value))
		return PMI_ERR_NOMEM;
	return unsent_add(key, key_bytes, value, value_bytes);
}

int PMI_KVS_Commit(const char name[])
{
	(void)name;
	return pmi.boot ? PMI_SUCCESS : PMI_ERR_INIT;
}

int PMI_KVS_Get(const char name[], const char key[], char value[], int length)
{
	const char *found;
	size_t bytes;

	if (!pmi.boot)
		return PMI_ERR_INIT;
	if (!name || !key || !value || length < 1)
		return PMI_ERR_INVALID_ARG;
	found = words_find(&pmi.words, key);
	if (!found)
		return PMI_ERR_INVALID_KEY;
	bytes = strlen(found) + 1;
	if (bytes > (size_t)length)
		return PMI_ERR_INVALID_LENGTH;
	memcpy(value, found, bytes);
	return PMI_SUCCESS;
}

/* ---- Barriers ---- */

/* Return: the most bytes that any process has to tell, or a negative code. */
static int64_t most_unsent(uint64_t *bytes)
{
	const uint64_t mine = pmi.used;
	uint64_t most = mine;
	int code = tofu_boot_allgather(pmi.boot, &mine, sizeof(mine), bytes);

	if (code)
		return code;
	for (uint32_t i = 0; i < pmi.job.ranks; i++)
		if (bytes[i] > most)
			most = bytes[i];
	return most > UNSENT_MAX ? UTOFU_ERR_INVALID_SIZE : (int64_t)most;
}

/* All processes give @most bytes, of which the first @bytes[rank] count. */
static int words_exchange(const uint64_t *bytes, size_t most)
{
	char *all = malloc(most * pmi.job.ranks), *mine = calloc(1, most);
	int code = UTOFU_ERR_OUT_OF_MEMORY;

	if (all && mine) {
		memcpy(mine, pmi.unsent ? pmi.unsent : "", pmi.used);
		code = tofu_boot_allgather(pmi.boot, mine, most, all);
	}
	for (uint32_t i = 0; !code && i < pmi.job.ranks; i++)
		if (i != pmi.job.rank &&
		    !words_read(&pmi.words, all + i * most, bytes[i]))
			code = UTOFU_ERR_OUT_OF_MEMORY;
	free(mine);
	free(all);
	return code;
}

int PMI_Barrier(void)
{
	uint64_t *bytes;
	int64_t most;
	int code;

	if (!pmi.boot)
		return PMI_ERR_INIT;
	bytes = calloc(pmi.job.ranks, sizeof(*bytes));
	if (!bytes)
		return PMI_ERR_NOMEM;
	most = most_unsent(bytes);
	code = most > 0 ? words_exchange(bytes, (size_t)most) : (int)most;
	free(bytes);
	pmi.used = 0;
	return code ? fail("cannot exchange with the others", code) :
		      PMI_SUCCESS;
}
