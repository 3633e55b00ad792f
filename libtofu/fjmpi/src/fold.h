/* SPDX-License-Identifier: MIT */
/*
 * The machine of six axes as a torus of three. Each logical axis is a ring,
 * folded through a pair of the machine's axes: the first through X and A, the
 * second through Y and B, the third through Z and C. Neighbours on a logical
 * axis are neighbours on the machine, including the two ends.
 *
 * Pure arithmetic, without MPI.
 */
#ifndef FJMPI_FOLD_H
#define FJMPI_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#define FJMPI_MACHINE_AXES 6
#define FJMPI_LOGICAL_AXES 3

/**
 * fjmpi_fold_shape - compute the sizes of the logical axes
 * @machine: sizes of X, Y, Z, A, B, C
 * @logical: set to three sizes, 1 or more
 *
 * Return: the number of dimensions, 1 … 3: trailing axes of size 1 do not
 * count.
 */
int fjmpi_fold_shape(const uint16_t machine[FJMPI_MACHINE_AXES],
		     int logical[FJMPI_LOGICAL_AXES]);

/* fjmpi_fold_logical - compute the logical coordinates of a node */
void fjmpi_fold_logical(const uint16_t machine[FJMPI_MACHINE_AXES],
			const uint8_t coords[FJMPI_MACHINE_AXES],
			int logical[FJMPI_LOGICAL_AXES]);

/**
 * fjmpi_fold_machine - compute the node at logical coordinates
 *
 * Return: whether there is such a node; only then @coords is set.
 */
bool fjmpi_fold_machine(const uint16_t machine[FJMPI_MACHINE_AXES],
			const int logical[FJMPI_LOGICAL_AXES],
			uint8_t coords[FJMPI_MACHINE_AXES]);

#endif /* FJMPI_FOLD_H */
