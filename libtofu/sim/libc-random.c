// SPDX-License-Identifier: MIT
/* Random numbers: to a node, a sequence that follows from its number. */

#include "sim/libc-node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* For programs, whatever else is hidden from them */
#pragma GCC visibility push(default)

/* Since glibc 2.36 */
uint32_t arc4random(void);
void arc4random_buf(void *to, size_t len);
uint32_t arc4random_uniform(uint32_t limit);

/* splitmix64, by Sebastiano Vigna */
static uint64_t draw(struct sim_node *node)
{
	uint64_t z = sim_running() + 1;

	z = (z << 40) + ++node->drawn;
	z *= 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void fill(struct sim_node *node, void *to, size_t len)
{
	while (len) {
		uint64_t drawn = draw(node);
		size_t part = len < sizeof(drawn) ? len : sizeof(drawn);

		memcpy(to, &drawn, part);
		to = (char *)to + part;
		len -= part;
	}
}

ssize_t getrandom(void *to, size_t len, unsigned int flags)
{
	struct sim_node *node = sim_running_node();

	if (!node)
		return REAL(getrandom)(to, len, flags);
	fill(node, to, len);
	return len;
}

int getentropy(void *to, size_t len)
{
	struct sim_node *node = sim_running_node();

	if (!node)
		return REAL(getentropy)(to, len);
	if (len > 256) {
		errno = EIO;
		return -1;
	}
	fill(node, to, len);
	return 0;
}

/* An older C library has none, and nobody who calls it, either. */
void arc4random_buf(void *to, size_t len)
{
	struct sim_node *node = sim_running_node();
	void (*real)(void *to, size_t len) = REAL(arc4random_buf);

	if (node)
		fill(node, to, len);
	else
		real(to, len);
}

uint32_t arc4random(void)
{
	uint32_t drawn;

	arc4random_buf(&drawn, sizeof(drawn));
	return drawn;
}

/* A number from the last, incomplete round of limits is drawn again. */
uint32_t arc4random_uniform(uint32_t limit)
{
	uint32_t drawn;

	if (limit < 2)
		return 0;
	do
		drawn = arc4random();
	while (drawn < -limit % limit);
	return drawn % limit;
}

#pragma GCC visibility pop
