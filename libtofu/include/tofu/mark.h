/* SPDX-License-Identifier: MIT */
/*
 * Phases of a program, for the traces of a machine in virtual time: traces show
 * the phases that a program marks beside the work of engines and links.
 */
#ifndef TOFU_MARK_H
#define TOFU_MARK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* End of the current phase */
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
 *        characters count; TOFU_MARK_END ends the phase and begins none
 *
 * Traces of a machine in virtual time show the phases beside the work of
 * engines and links:
 *
 *	tofu_mark(TOFU_MARK_NAME("pack"));
 *	...
 *	tofu_mark(TOFU_MARK_NAME("wait"));
 *	...
 *	tofu_mark(TOFU_MARK_END);
 *
 * A mark is one store, which nobody reads unless there is a trace. It takes the
 * same time with and without a trace.
 *
 * May be called at any time, by any thread; a process has one phase at a time.
 * Nothing is recorded before the process has its first VCQ and after it has
 * freed its last.
 */
void tofu_mark(uint64_t name);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_MARK_H */
