/* SPDX-License-Identifier: MIT */
/*
 * Measures collectives: coll.c with either coll-tofu.c or coll-mpi.c, so that
 * both do the same, with the same buffers.
 */
#ifndef BENCH_COLL_H
#define BENCH_COLL_H

#include <stddef.h>
#include <stdint.h>

enum coll_kind {
	COLL_ALLREDUCE, /* of double, sum */
	COLL_BCAST,
	COLL_ALLGATHER,
	COLL_BARRIER,
	COLL_ALLTOALL,
	COLL_REDUCE,
	COLL_KINDS
};

/* Member 0 is the root. */
#define COLL_ROOT 0U

/**
 * struct coll_case - a collective that is measured
 * @kind:  of it
 * @bytes: of the message, or of a block where members have one each
 * @algorithm: name that <tofu/coll.h> gives it; other libraries ignore it
 * @send, @recv: buffers; a broadcast has @recv alone
 */
struct coll_case {
	enum coll_kind kind;
	size_t bytes;
	const char *algorithm;
	void *send;
	void *recv;
};

/**
 * struct coll_group - the processes
 * @number: of this one
 * @members: how many
 */
struct coll_group {
	uint32_t number;
	uint32_t members;
};

/* coll_fail - print why, and end the process with an error */
_Noreturn void coll_fail(const char *what, long code);

/* ---- What a library provides ---- */

struct coll_group coll_begin(int *argc, char ***argv);
void coll_end(void);

/* coll_make - make ready; Return: the name of the algorithm, "-" if unknown */
const char *coll_make(const struct coll_case *c);
void coll_once(const struct coll_case *c);
void coll_unmake(void);

/* coll_meet - wait for all; Return: the greatest value that one has given */
double coll_meet(double value);

#endif /* BENCH_COLL_H */
