/* SPDX-License-Identifier: MIT */
/*
 * Phases of a program, for the traces of a machine in virtual time: what the
 * program says here stands beside what engines and links do meanwhile.
 */
#ifndef TOFU_MARK_H
#define TOFU_MARK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* No phase any more */
#define TOFU_MARK_END UINT64_C(0)

/**
 * TOFU_MARK_NAME - the name of a phase
 * @text: a string literal; the first eight characters count
 */
#define TOFU_MARK_NAME(text)                                         \
	(TOFU_MARK_CHAR_(text, 0) | TOFU_MARK_CHAR_(text, 1) |       \
	 TOFU_MARK_CHAR_(text, 2) | TOFU_MARK_CHAR_(text, 3) |       \
	 TOFU_MARK_CHAR_(text, 4) | TOFU_MARK_CHAR_(text, 5) |       \
	 TOFU_MARK_CHAR_(text, 6) | TOFU_MARK_CHAR_(text, 7))

#define TOFU_MARK_CHAR_(text, i)                                         \
	((uint64_t)(unsigned char)("" text)[(i) < sizeof(text) ? (i) :   \
					     sizeof(text) - 1]           \
	 << 8 * (i))

/**
 * tofu_mark - begin a phase of this process, and end the one before it
 * @name: TOFU_MARK_NAME() of a string literal, of which the first eight
 *        characters count, or TOFU_MARK_END: there is no phase any more
 *
 * Traces of a machine in virtual time show the phases beside what engines and
 * links do meanwhile:
 *
 *	tofu_mark(TOFU_MARK_NAME("pack"));
 *	...
 *	tofu_mark(TOFU_MARK_NAME("wait"));
 *	...
 *	tofu_mark(TOFU_MARK_END);
 *
 * A mark is one store, of which nobody takes notice where there is no trace. It
 * takes the same time whether there is one or not.
 *
 * May be called at any time, by any thread; a process has one phase at a time.
 * Before the first VCQ is there and after the last one is gone, nothing is
 * recorded.
 */
void tofu_mark(uint64_t name);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_MARK_H */
