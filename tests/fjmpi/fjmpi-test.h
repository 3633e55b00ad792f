/* SPDX-License-Identifier: MIT */
/*
 * What the tests of FJMPI_Rdma share. A test runs on all ranks; it has passed
 * when it has on each of them. Rank 0 prints TAP.
 */
#ifndef FJMPI_TEST_H
#define FJMPI_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <mpi.h>
#include <mpi-ext.h>

/* A wait that takes longer has failed. */
#define WAIT_SECONDS 30

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

/* test_begin - MPI_Init(), with a limit of time for all of the program */
void test_begin(int *argc, char ***argv);

/* test_run - run them; Return: for main(), after MPI_Finalize() */
int test_run(const struct test tests[], int count);

/* TEST - in a test */
#define TEST(expr)                                                       \
	do {                                                             \
		if (!(expr)) {                                           \
			fprintf(stderr, "# %s:%d: rank %d: %s\n",        \
				__FILE__, __LINE__, rank, #expr);        \
			return 1;                                        \
		}                                                        \
	} while (0)

/* wait_cq - poll until there is a notice; Return: as the poll, 0 for none */
int wait_cq(int nic, struct FJMPI_Rdma_cq *cq);

/* wait_for - whether the next notice of the NIC is this one */
bool wait_for(int nic, int kind, int pid, int tag);

/* wait_word - whether another rank has stored it */
bool wait_word(const volatile uint32_t *word, uint32_t value);

/* nothing_left - whether no NIC has a notice */
bool nothing_left(void);

/* remote - the address of what a peer has registered, when it has */
uint64_t remote(int pid, int memid);

/* fill, filled - words that tell who wrote them, and what for */
void fill(uint32_t *word, size_t bytes, int who, unsigned int seed);
bool filled(const uint32_t *word, size_t bytes, int who, unsigned int seed);

#endif /* FJMPI_TEST_H */
