/* SPDX-License-Identifier: MIT */
/*
 * What the programs of tests/unit/sim-program.c call in place of the library.
 * The stub has the functions, too, and fails: the test's are to be called.
 */
#ifndef SIM_PROGRAMS_NODES_H
#define SIM_PROGRAMS_NODES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int tofu_test_node(void);

/* tofu_test_turn - all other nodes run before this returns */
void tofu_test_turn(void);

/* tofu_test_note - append to what the test knows of the node */
void tofu_test_note(const char *text);

/* tofu_test_register - data that the test reads and writes */
void tofu_test_register(void *data, size_t len);

#ifdef __cplusplus
}
#endif

#define CHECK(so)                    \
	do {                         \
		if (!(so))           \
			return __LINE__ % 200 + 20; \
	} while (0)

#endif /* SIM_PROGRAMS_NODES_H */
