// SPDX-License-Identifier: MIT
/*
 * Arguments: KIND:BYTES:ITERATIONS[:ALGORITHM]...
 *
 * Every member carries out a collective again and again. Its time is that of
 * the slowest member, divided by the number of iterations. The results of one
 * more are verified.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll.h"

#define WARM_UP 5

static const char *const kind_names[COLL_KINDS] = {
	[COLL_ALLREDUCE] = "allreduce", [COLL_BCAST] = "bcast",
	[COLL_ALLGATHER] = "allgather", [COLL_BARRIER] = "barrier",
	[COLL_ALLTOALL] = "alltoall",	[COLL_REDUCE] = "reduce",
};

static struct coll_group group;

void coll_fail(const char *what, long code)
{
	fprintf(stderr, "coll: member %u: %s: %ld\n", group.number, what, code);
	exit(1);
}

/* ---- Contents ---- */

static size_t send_doubles(const struct coll_case *c)
{
	size_t blocks = c->kind == COLL_ALLTOALL ? group.members : 1;

	return blocks * c->bytes / sizeof(double);
}

static size_t recv_doubles(const struct coll_case *c)
{
	size_t blocks = c->kind == COLL_ALLTOALL || c->kind == COLL_ALLGATHER ?
				group.members :
				1;

	return blocks * c->bytes / sizeof(double);
}

static double value(uint32_t member, size_t index)
{
	return (double)((index * 31 + member * 7) % 1009);
}

static double expected(const struct coll_case *c, size_t index)
{
	size_t block = c->bytes / sizeof(double);
	double sum = 0;

	switch (c->kind) {
	case COLL_ALLGATHER:
		return value((uint32_t)(index / block), index % block);
	case COLL_ALLTOALL:
		return value((uint32_t)(index / block),
			     group.number * block + index % block);
	case COLL_BCAST:
		return value(COLL_ROOT, index);
	default:
		for (uint32_t i = 0; i < group.members; i++)
			sum += value(i, index);
		return sum;
	}
}

static void fill(const struct coll_case *c)
{
	double *send = c->send, *recv = c->recv;

	for (size_t i = 0; i < send_doubles(c); i++)
		send[i] = value(group.number, i);
	for (size_t i = 0; i < recv_doubles(c); i++)
		recv[i] = c->kind == COLL_BCAST && group.number == COLL_ROOT ?
				  value(COLL_ROOT, i) :
				  -1;
}

static void verify(const struct coll_case *c)
{
	const double *recv = c->recv;

	if (c->kind == COLL_REDUCE && group.number != COLL_ROOT)
		return;
	for (size_t i = 0; i < recv_doubles(c); i++)
		if (recv[i] != expected(c, i))
			coll_fail("wrong element", (long)i);
}

/* ---- Measuring ---- */

static void *buffer(size_t doubles)
{
	size_t page = 4096, bytes = doubles * sizeof(double);
	void *at = aligned_alloc(page, (bytes / page + 1) * page);

	if (!at)
		coll_fail("no memory", (long)bytes);
	return at;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double iterate(const struct coll_case *c, unsigned long iterations)
{
	double begun;

	coll_meet(0);
	begun = seconds();
	for (unsigned long i = 0; i < iterations; i++)
		coll_once(c);
	return coll_meet(seconds() - begun);
}

static void measure(struct coll_case *c, unsigned long iterations)
{
	const char *algorithm;
	double us;

	c->send = buffer(send_doubles(c));
	c->recv = buffer(recv_doubles(c));
	fill(c);
	algorithm = coll_make(c);
	iterate(c, WARM_UP);
	us = iterate(c, iterations) * 1e6 / (double)iterations;
	fill(c);
	iterate(c, 1);
	if (c->kind != COLL_BARRIER)
		verify(c);
	if (!group.number)
		printf("coll %s %zu %s %.3f\n", kind_names[c->kind], c->bytes,
		       algorithm, us);
	coll_unmake();
	free(c->send);
	free(c->recv);
}

/* ---- Arguments ---- */

static enum coll_kind kind_of(const char *name)
{
	for (unsigned int i = 0; i < COLL_KINDS; i++)
		if (name && !strcmp(name, kind_names[i]))
			return i;
	coll_fail("no such collective", 0);
}

static unsigned long number_of(const char *text)
{
	char *end;
	unsigned long number = text ? strtoul(text, &end, 10) : 0;

	if (!text || *end)
		coll_fail("not a number", 0);
	return number;
}

static void argument(char *text)
{
	struct coll_case c = { .kind = kind_of(strsep(&text, ":")) };
	unsigned long iterations;

	c.bytes = number_of(strsep(&text, ":"));
	iterations = number_of(strsep(&text, ":"));
	if (c.bytes % sizeof(double) || !iterations)
		coll_fail("bytes not of doubles, or no iterations", 0);
	c.algorithm = text ? text : "auto";
	measure(&c, iterations);
}

int main(int argc, char **argv)
{
	group = coll_begin(&argc, &argv);
	for (int i = 1; i < argc; i++)
		argument(argv[i]);
	coll_end();
	return 0;
}
