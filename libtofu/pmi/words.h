/* SPDX-License-Identifier: MIT */
/*
 * Keys and their values, and the bytes in which they travel: key, zero, value,
 * zero, one after the other.
 */
#ifndef TOFU_PMI_WORDS_H
#define TOFU_PMI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a key and of a value, with the zero at the end */
#define WORDS_KEY_MAX 256
#define WORDS_VALUE_MAX 65536

/**
 * struct words - the known keys
 * @tree: of tsearch()
 */
struct words {
	void *tree;
};

/* words_add - add a key, or change its value. Return: false without memory */
bool words_add(struct words *words, const char *key, const char *value);

/*
 * words_read - add those of another process, whose bytes are not trusted
 *
 * Return: false if they are not in this form, or without memory.
 */
bool words_read(struct words *words, const char *bytes, size_t count);

/* words_find - get the value of a key, or NULL */
const char *words_find(const struct words *words, const char *key);

void words_free(struct words *words);

#endif /* TOFU_PMI_WORDS_H */
