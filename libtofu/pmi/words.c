/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "words.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A node of the tree: the comparison sees only the key. */
struct word {
	char *key;
	char *value;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct word *)a)->key,
		      ((const struct word *)b)->key);
}

static void word_free(void *node)
{
	struct word *word = node;

	free(word->key);
	free(word->value);
	free(word);
}

static struct word *word_make(const char *key)
{
	struct word *word = calloc(1, sizeof(*word));

	if (!word)
		return NULL;
	word->key = strdup(key);
	if (word->key)
		return word;
	free(word);
	return NULL;
}

/* Return: the word of the key, which is made if there is none; or NULL. */
static struct word *word_get(struct words *words, const char *key)
{
	struct word *made = word_make(key);
	struct word **found = made ? tsearch(made, &words->tree, compare) :
				     NULL;

	if (!found || *found != made)
		if (made)
			word_free(made);
	return found ? *found : NULL;
}

bool words_add(struct words *words, const char *key, const char *value)
{
	struct word *word = word_get(words, key);
	char *copy = word ? strdup(value) : NULL;

	if (!copy)
		return false;
	free(word->value);
	word->value = copy;
	return true;
}

bool words_read(struct words *words, const char *bytes, size_t count)
{
	const char *end = bytes + count;

	while (bytes < end) {
		const char *key = bytes;
		const char *value = memchr(key, 0, (size_t)(end - key));
		const char *zero;

		if (!value++)
			return false;
		zero = memchr(value, 0, (size_t)(end - value));
		if (!zero || !words_add(words, key, value))
			return false;
		bytes = zero + 1;
	}
	return true;
}

const char *words_find(const struct words *words, const char *key)
{
	const struct word wanted = { .key = (char *)key };
	struct word **found = tfind(&wanted, &words->tree, compare);

	return found ? (*found)->value : NULL;
}

void words_free(struct words *words)
{
	tdestroy(words->tree, word_free);
	words->tree = NULL;
}
