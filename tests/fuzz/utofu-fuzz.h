/* SPDX-License-Identifier: MIT */
/*
 * The calls that utofu-fuzz makes, and what they take their arguments from.
 */
#ifndef FUZZ_UTOFU_FUZZ_H
#define FUZZ_UTOFU_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#define FUZZ_CALLS 65	/* functions of the interface */
#define VCQS 8
#define REGIONS 4	/* of each */
#define NETS 4		/* allocations of barrier gates */
#define GATES 8		/* of each */
#define BUFFERS 4
#define BUFFER 65536
#define DESCS (8 * 64)	/* bytes of concatenated commands */

/* Pools of what is good, was good once, or never was */
struct fuzz {
	uint64_t random;
	unsigned int own;	/* VCQ that mostly is meant by a call */
	unsigned int other;	/* the same, at the other end */
	utofu_vcq_hdl_t hdl[VCQS];
	utofu_vcq_id_t id[VCQS];
	utofu_stadd_t stadd[VCQS][REGIONS];
	utofu_vbg_id_t vbg[NETS][GATES];
	size_t vbgs[NETS];	/* 0 while it is not allocated */
	uint8_t desc[DESCS];
	size_t desc_size;
	unsigned int desc_own;	/* VCQ that most of them are of */
	uint8_t *buffer[BUFFERS];
};

extern struct fuzz fuzz;

extern const char *const fuzz_name[FUZZ_CALLS];

/* fuzz_next - make a random call; @call: set to its number; Return: its code */
int fuzz_next(unsigned int *call);

#endif /* FUZZ_UTOFU_FUZZ_H */
