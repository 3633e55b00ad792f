/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/beside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tofu_beside(const char *what, char path[PATH_MAX])
{
	char own[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)&tofu_beside, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, own))
		return false;
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return snprintf(path, PATH_MAX, "%s/%s", own, what) < PATH_MAX &&
	       !access(path, R_OK);
}
