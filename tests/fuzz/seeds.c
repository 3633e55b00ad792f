// SPDX-License-Identifier: MIT
/*
 * main() of a program for a fuzzer, where there is none: random inputs, the same
 * ones each time. Not linked where libFuzzer is.
 *
 *   PROGRAM [inputs [first seed]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "seeds.h"

#define INPUT_BYTES 4000
#define INPUT_SECONDS 30

static void fill(uint8_t data[INPUT_BYTES], uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL;

	for (unsigned int i = 0; i < INPUT_BYTES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		data[i] = (uint8_t)(x >> 32);
	}
}

int main(int argc, char **argv)
{
	const unsigned long inputs = argc > 1 ? strtoul(argv[1], NULL, 0) :
						fuzz_inputs;
	const unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	static uint8_t data[INPUT_BYTES];

	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	for (unsigned long seed = first; seed < first + inputs; seed++) {
		fill(data, seed);
		fprintf(stderr, "# seed %lu\r", seed);
		alarm(INPUT_SECONDS);
		LLVMFuzzerTestOneInput(data, INPUT_BYTES);
	}
	printf("ok 1 - %lu inputs from seed %lu\n", inputs, first);
	return 0;
}
