/* SPDX-License-Identifier: MIT */
/*
 * What went wrong in a thread last, for utofu_get_last_error(), and what codes mean.
 */
#ifndef UTOFU_ERROR_H
#define UTOFU_ERROR_H

/*
 * tofu_error - where an error begins that a public function returns
 *
 * Remembers it for this thread; but not UTOFU_SUCCESS, and not what programs meet
 * whenever they wait: UTOFU_ERR_BUSY, UTOFU_ERR_NOT_FOUND, UTOFU_ERR_NOT_COMPLETED.
 * As a call at the end of a function it takes nothing of those who succeed.
 *
 * Return: @code.
 */
__attribute__((cold)) int tofu_error(int code);

/* tofu_error_known - the same, where the compiler is to go on knowing the code */
static inline int tofu_error_known(int code)
{
	tofu_error(code);
	return code;
}

#endif /* UTOFU_ERROR_H */
