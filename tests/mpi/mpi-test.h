/* SPDX-License-Identifier: MIT */
/*
 * What tests that are MPI programs share. A test runs on all ranks; it has
 * passed when it has on each of them. Rank 0 prints TAP.
 */
#ifndef MPI_TEST_H
#define MPI_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <mpi.h>

#include "point.h"

/* A wait that takes longer has failed. */
#define WAIT_SECONDS 30

/* test_begin - MPI_Init(), with a limit of time for all of the program */
void test_begin(int *argc, char ***argv);

/* test_points - run @count tests of @plan. Return: how many have failed */
int test_points(const struct test tests[], int count, int plan);

/* test_run - run all tests; Return: for main(), after MPI_Finalize() */
int test_run(const struct test tests[], int count);

/* fill, filled - words that tell who wrote them, and what for */
void fill(uint32_t *word, size_t bytes, int who, unsigned int seed);
bool filled(const uint32_t *word, size_t bytes, int who, unsigned int seed);

#endif /* MPI_TEST_H */
