/* SPDX-License-Identifier: MIT */
#include "port/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * Moves *@at to the end of the mapping that a line of /proc/self/maps
 * describes. Return: false if the mapping begins above *@at, or does not allow
 * the access.
 */
static bool maps_line_covers(const char *line, uintptr_t *at, int write)
{
	uintptr_t from, to;
	char mode[5];

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, mode) !=
	    3)
		return false;
	if (to <= *at)
		return true;
	if (from > *at || mode[0] != 'r' || (write && mode[1] != 'w'))
		return false;
	*at = to;
	return true;
}

int tofu_maps_check(const void *addr, size_t length, int write)
{
	uintptr_t at = (uintptr_t)addr, end = at + length;
	FILE *maps = fopen("/proc/self/maps", "re");
	bool tail = false;
	char line[256];

	if (!maps)
		return -errno;
	while (at < end && fgets(line, sizeof(line), maps)) {
		bool head = !tail;

		/* A line with a long path comes in several pieces. */
		tail = !strchr(line, '\n');
		if (head && !maps_line_covers(line, &at, write))
			break;
	}
	fclose(maps);
	return at < end ? -EFAULT : 0;
}
