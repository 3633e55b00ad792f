/* SPDX-License-Identifier: MIT */
/*
 * Return codes in words.
 */
#ifndef TOFU_ERROR_H
#define TOFU_ERROR_H

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Return codes ---- */

/**
 * tofu_error_text - get name and meaning of a return code
 * @code: enum utofu_return_code
 *
 * The name is without UTOFU_ERR_:
 *
 *	FULL (none is left)
 *
 * May be called at any time, by any thread.
 *
 * Return: a text, which the caller must not change or free; for a number that
 * is no code, a text that says so.
 */
const char *tofu_error_text(int code);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_ERROR_H */
