/* SPDX-License-Identifier: MIT */
/* What seeds.c needs of a program, and the program of a fuzzer that it is. */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

/* fuzz_inputs - inputs of a run that is not told how many */
extern const unsigned long fuzz_inputs;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_SEEDS_H */
