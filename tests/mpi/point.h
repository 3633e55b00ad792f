/* SPDX-License-Identifier: MIT */
/* A test point that runs on all ranks, and has passed when it has on each. */
#ifndef POINT_H
#define POINT_H

#include <stdio.h>

/* Own rank, number of ranks, and the neighbours in a ring */
extern int rank, ranks, left, right;

/**
 * struct test - a test point
 * @name: says what holds
 * @run:  returns 0 where it does; TEST() in it otherwise
 */
struct test {
	const char *name;
	int (*run)(void);
};

/* TEST - in a test */
#define TEST(expr)                                                \
	do {                                                      \
		if (!(expr)) {                                    \
			fprintf(stderr, "# %s:%d: rank %d: %s\n", \
				__FILE__, __LINE__, rank, #expr); \
			return 1;                                 \
		}                                                 \
	} while (0)

#endif /* POINT_H */
