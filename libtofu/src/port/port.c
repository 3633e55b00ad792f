/* SPDX-License-Identifier: MIT */
#include "port/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port/debug.h"

static bool kernel_there(void)
{
	return !access(TOFU_KERNEL_DEVICE, F_OK);
}

int (*tofu_port_home)(struct tofu_port_dev **port);

int tofu_port_open(struct tofu_port_dev **port)
{
	const char *name = getenv("TOFU_PORT");

	if (tofu_port_home)
		return tofu_port_home(port);
	if (!name)
		name = kernel_there() ? "kernel" : "emu";
	if (!strcmp(name, "kernel"))
		return tofu_kernel_open(port);
	if (!strcmp(name, "emu"))
		return tofu_emu_open(port);
	tofu_debug("TOFU_PORT=%s: neither \"kernel\" nor \"emu\"", name);
	return -EINVAL;
}
