/* SPDX-License-Identifier: MIT */
/*
 * The last error of a thread, for utofu_get_last_error().
 */
#ifndef UTOFU_ERROR_H
#define UTOFU_ERROR_H

/*
 * tofu_error - record an error of a public function, where it is detected
 *
 * Records it for this thread, except UTOFU_SUCCESS and the codes that programs
 * get while they wait: UTOFU_ERR_BUSY, UTOFU_ERR_NOT_FOUND and
 * UTOFU_ERR_NOT_COMPLETED. As a tail call it costs a successful call nothing.
 *
 * Return: @code.
 */
__attribute__((cold)) int tofu_error(int code);

/* tofu_last_error_get, tofu_last_error_set - of this thread, for homes that let
 * programs take turns in it
 */
int tofu_last_error_get(void);
void tofu_last_error_set(int code);

/* tofu_error_known - tofu_error() for a code that the compiler shall know */
static inline int tofu_error_known(int code)
{
	tofu_error(code);
	return code;
}

#endif /* UTOFU_ERROR_H */
