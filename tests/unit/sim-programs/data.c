// SPDX-License-Identifier: MIT
/*
 * Static and thread-local data of every kind, which each node changes between
 * turns; arguments are "large" numbers of bytes of more.
 */

#define _GNU_SOURCE
#include "nodes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifndef LARGE
#define LARGE 64
#endif

static int zero;
static int five = 5;
static int *pointer = &five;
static char large[LARGE];
static char filled[LARGE] = { 1, 2, 3 };
static __thread int thread_zero;
static __thread int thread_seven = 7;
static __thread int *thread_pointer;
static int constructed;
long shared_word = 11;

static void __attribute__((constructor)) construct(void)
{
	constructed++;
	tofu_test_note("+");
}

static void __attribute__((destructor)) destruct(void)
{
	tofu_test_note(constructed == 1 ? "-" : "?");
}

static const char *name_of(int node)
{
	static char name[32];

	snprintf(name, sizeof(name), "node %d", node);
	return name;
}

/* A name that the C library has, too: the program's own is to be called. */
int error(int node)
{
	return node * 3;
}

int main(int argc, char **argv)
{
	int node = tofu_test_node();
	const char *name = name_of(node);

	CHECK(argc == 2 && !strcmp(argv[0], "data") && !argv[2]);
	CHECK(constructed == 1);
	CHECK(zero == 0 && five == 5 && *pointer == 5);
	CHECK(filled[1] == 2 && filled[LARGE - 1] == 0);
	CHECK(large[0] == 0 && large[LARGE - 1] == 0);
	CHECK(thread_zero == 0 && thread_seven == 7 && !thread_pointer);
	CHECK(shared_word == 11);
	CHECK(error(node) == node * 3);
	argv[1][0] = 'a' + node;
	tofu_test_register(&shared_word, sizeof(shared_word));
	thread_pointer = &thread_zero;
	for (int turn = 1; turn < 6; turn++) {
		zero = five = thread_zero = thread_seven = node * turn;
		memset(large, node + turn, sizeof(large));
		filled[LARGE - 1] = node;
		errno = node + 1;
		tofu_test_turn();
		CHECK(errno == node + 1);
		CHECK(zero == node * turn && *pointer == node * turn);
		CHECK(*thread_pointer == node * turn);
		CHECK(thread_seven == node * turn);
		CHECK(large[0] == node + turn);
		CHECK(large[LARGE - 1] == node + turn);
		CHECK(filled[LARGE - 1] == node && filled[2] == 3);
		CHECK(shared_word == 11 + turn * (node + 1));
		CHECK(argv[1][0] == 'a' + node);
	}
	tofu_test_note(name);
	return node;
}
