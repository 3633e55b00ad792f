/* SPDX-License-Identifier: MIT */
/*
 * Every function of <utofu.h> with random arguments of the right types, on a
 * machine without any other process: handles, IDs, STADDs and prepared
 * commands come from pools of valid, formerly valid and invalid ones. Arguments
 * are valid for C: a pointer is NULL, or leads to enough memory. Each call
 * returns some code of the interface; and when all has been freed, a put
 * arrives as ever.
 *
 *   utofu-fuzz [seeds [first seed [calls of each]]]
 */
#define _GNU_SOURCE
#include "utofu-fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "fabric/fabric.h"

#define WAIT_SECONDS 20

static uint64_t run_seed;
static unsigned long run_call;		/* how many were made before it */
static unsigned long good[FUZZ_CALLS];	/* calls that succeeded */

static bool is_code(int code)
{
	return (code <= 0 && code >= UTOFU_ERR_NOT_SUPPORTED) ||
	       (code <= UTOFU_ERR_TCQ_OTHER && code >= UTOFU_ERR_TCQ_LENGTH) ||
	       (code <= UTOFU_ERR_MRQ_OTHER &&
		code >= UTOFU_ERR_MRQ_RMT_LENGTH) ||
	       (code <= UTOFU_ERR_BARRIER_OTHER &&
		code >= UTOFU_ERR_BARRIER_MISMATCH) ||
	       (code <= UTOFU_ERR_INVALID_ARG &&
		code >= UTOFU_ERR_INVALID_DATA) ||
	       code == UTOFU_ERR_OUT_OF_RESOURCE ||
	       code == UTOFU_ERR_OUT_OF_MEMORY || code == UTOFU_ERR_FATAL;
}

static void fail(const char *what, int code)
{
	printf("not ok 1 - seed %llu, call %lu: %s: %d\n",
	       (unsigned long long)run_seed, run_call, what, code);
	exit(1);
}

static void expect(const char *what, int code)
{
	if (code)
		fail(what, code);
}

/* Nothing of a run is left: a VCQ works as the first one of a program does. */
static void check_calm(void)
{
	utofu_stadd_t from = 0, to = 0;
	struct utofu_mrq_notice notice;
	time_t since = time(NULL);
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t me;
	int code;

	expect("create", utofu_create_vcq(0, 0, &vcq));
	expect("query", utofu_query_vcq_id(vcq, &me));
	expect("reg", utofu_reg_mem(vcq, fuzz.buffer[0], BUFFER, 0, &from));
	expect("reg", utofu_reg_mem(vcq, fuzz.buffer[1], BUFFER, 0, &to));
	memset(fuzz.buffer[0], (int)run_seed, 9000);
	memset(fuzz.buffer[1], (int)~run_seed, 9000);
	expect("put", utofu_put(vcq, me, from, to, 9000, 0,
				UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL));
	do {
		code = utofu_poll_mrq(vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND &&
		 time(NULL) - since < WAIT_SECONDS);
	expect("notice", code);
	expect("bytes", memcmp(fuzz.buffer[0], fuzz.buffer[1], 9000));
	expect("free", utofu_free_vcq(vcq));
}

static void run(uint64_t seed, unsigned long calls)
{
	run_seed = seed;
	fuzz.random = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (run_call = 0; run_call < calls; run_call++) {
		unsigned int i;
		int code = fuzz_next(&i);

		if (!is_code(code))
			fail(fuzz_name[i], code);
		good[i] += code == UTOFU_SUCCESS;
	}
	for (unsigned int i = 0; i < VCQS; i++) {
		int code = utofu_free_vcq(fuzz.hdl[i]);

		if (code && code != UTOFU_ERR_INVALID_VCQ_HDL)
			fail("free_vcq", code);
	}
	for (unsigned int i = 0; i < NETS; i++) {
		if (fuzz.vbgs[i])
			expect("free_vbg", utofu_free_vbg(fuzz.vbg[i],
							  fuzz.vbgs[i]));
		fuzz.vbgs[i] = 0;
	}
	check_calm();
}

/* All twelve paths, and eleven nodes that do not answer. */
static void machine_enter(void)
{
	const struct tofu_shape shape = { { 1, 1, 1, 2, 3, 2 } };
	int fabric = memfd_create("fabric", MFD_ALLOW_SEALING);
	char text[64];

	if (fabric < 0 || tofu_fabric_format(fabric, &shape, 1))
		abort();
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fabric);
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_FABRIC", text, 1);
	setenv("TOFU_NODE", "0", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
}

int main(int argc, char **argv)
{
	const unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 0) : 50;
	const unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	const unsigned long calls = argc > 3 ? strtoul(argv[3], NULL, 0) : 5000;

	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	machine_enter();
	for (int i = 0; i < BUFFERS; i++) {
		fuzz.buffer[i] = aligned_alloc(256, BUFFER);
		memset(fuzz.buffer[i], i, BUFFER);
	}
	for (unsigned long seed = first; seed < first + seeds; seed++) {
		fprintf(stderr, "# seed %lu\r", seed);
		run(seed, calls);
	}
	/* As many as there are by default reach everything. */
	for (unsigned int i = 0; i < FUZZ_CALLS && argc == 1; i++)
		if (!good[i])
			fail(fuzz_name[i], UTOFU_ERR_NOT_FOUND);
	for (int i = 0; i < BUFFERS; i++)
		free(fuzz.buffer[i]);
	printf("ok 1 - %lu calls of each of %lu seeds from %lu\n", calls, seeds,
	       first);
	return 0;
}
