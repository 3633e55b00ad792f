/* SPDX-License-Identifier: MIT */
/*
 * Halos of SCALE-LES3: a 2-D periodic grid of processes, each with a grid of
 * k x 16 x 16 points of 8 bytes and two points of the neighbours on each side.
 */
#ifndef TOFU_TOOLS_SCALE_H
#define TOFU_TOOLS_SCALE_H

#include <stddef.h>

#define TOFU_SCALE_K_MAX 100000

/* Levels k of the published measurements */
#define TOFU_SCALE_ROWS 11
extern const unsigned int tofu_scale_rows[TOFU_SCALE_ROWS];

/**
 * struct tofu_scale - bytes of a message
 * @ew:       to the east or west: one each
 * @ns:       to the north or south: two each
 * @diagonal: to the others: two each
 */
struct tofu_scale {
	size_t ew;
	size_t ns;
	size_t diagonal;
};

/* tofu_scale_of - of a grid with @k levels, at most TOFU_SCALE_K_MAX */
struct tofu_scale tofu_scale_of(unsigned int k);

#endif /* TOFU_TOOLS_SCALE_H */
