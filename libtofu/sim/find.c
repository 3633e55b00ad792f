/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where tools and other parts are, seen from this executable's folder */
#define PARTS "../lib/tofu-sim"

static char *there(char *path)
{
	if (path && !access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

char *sim_find_part(const char *name)
{
	char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;
	char *path = NULL;

	if (slash) {
		*slash = '\0';
		if (asprintf(&path, "%s/" PARTS "/%s", self, name) < 0)
			path = NULL;
	}
	free(self);
	return there(path);
}

/* A tool that is built for this: those in PATH carry the library in them. */
static char *find_tool(const char *name)
{
	const char *prefix = strncmp(name, "tofu-", 5) ? "tofu-" : "";
	char *full, *path;

	if (asprintf(&full, "%s%s", prefix, name) < 0)
		return NULL;
	path = sim_find_part(full);
	free(full);
	return path;
}

static char *find_in_path(const char *name)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		const size_t bytes = strcspn(at, ":");
		char *path;

		if (asprintf(&path, "%.*s/%s", (int)bytes, at, name) < 0)
			return NULL;
		path = there(path);
		if (path)
			return path;
		at += bytes + (at[bytes] == ':');
	}
	return NULL;
}

char *sim_find(const char *name)
{
	char *path;

	if (strchr(name, '/'))
		return strdup(name);
	path = find_tool(name);
	return path ? path : find_in_path(name);
}
