/* SPDX-License-Identifier: MIT */
/* What the tests of FJMPI_Rdma share. */
#ifndef FJMPI_TEST_H
#define FJMPI_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <mpi.h>
#include <mpi-ext.h>

#include "mpi-test.h"

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

#endif /* FJMPI_TEST_H */
