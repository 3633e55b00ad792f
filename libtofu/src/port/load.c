/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/load.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "port/beside.h"

static void *find_library(const char *name)
{
	static const char *const folders[] = { ".", "../lib" };
	char place[NAME_MAX], path[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(place, sizeof(place), "%s/%s", folders[i], name);
		if (tofu_beside(place, path))
			library = dlopen(path, RTLD_NOW);
	}
	return library ? library : dlopen(name, RTLD_NOW);
}

const void *tofu_load(const char *name, const char *symbol, const char **why)
{
	void *library = find_library(name);
	const void *found = library ? dlsym(library, symbol) : NULL;

	if (!found)
		*why = dlerror();
	return found;
}
