// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tofu/ioctl.h>
#include <utofu.h>

#include "error.h"
#include "machine.h"

#define DEVICE "/dev/tofu0"

/* The driver knows the machine. Returns -ENOENT where there is none. */
static int find_device(struct tofu_shape *shape, char **why)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	int err = 0;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || ioctl(fd, TOFU_IOC_INFO, &info))
		err = -errno;
	else
		err = tofu_shape_unpack(info.shape, shape);
	if (fd >= 0)
		close(fd);
	if (err)
		tofu_error_say(why, "%s: %s", DEVICE, strerror(-err));
	return err;
}

/* Without VMs whoever started the processes has said what they are. */
static int find_environment(struct tofu_shape *shape, char **why)
{
	const char *text = getenv("TOFU_SHAPE");
	int err = tofu_shape_parse(text ? text : "1", shape);

	if (err)
		tofu_error_say(why, "TOFU_SHAPE: '%s' is no shape such as 2x2",
			       text);
	return err;
}

int tofu_machine_find(struct tofu_machine *machine, char **why)
{
	const char *port = getenv("TOFU_PORT");
	struct tofu_coords coords;
	int64_t node;
	int code, err = -ENOENT;

	if (!port || strcmp(port, "emu"))
		err = find_device(&machine->shape, why);
	if (err == -ENOENT)
		err = find_environment(&machine->shape, why);
	if (err)
		return err;
	code = utofu_query_my_coords(coords.c);
	if (code != UTOFU_SUCCESS) {
		tofu_error_say(why, "cannot use the interconnect: %s",
			       tofu_error_text(code));
		return -ENODEV;
	}
	node = tofu_node_at(&machine->shape, &coords);
	if (node < 0) {
		tofu_error_say(why,
			       "TOFU_SHAPE is not the shape of this machine");
		return -EINVAL;
	}
	machine->node = (uint32_t)node;
	machine->nodes = tofu_shape_nodes(&machine->shape);
	return 0;
}

const char *tofu_machine_shape(const struct tofu_machine *machine,
			       char text[TOFU_SHAPE_TEXT])
{
	const uint16_t *size = machine->shape.size;
	int axes = 1, used = 0;

	for (int i = 0; i < TOFU_AXES; i++) {
		if (size[i] > 1)
			axes = i < TOFU_A ? i + 1 : TOFU_AXES;
	}
	for (int i = 0; i < axes; i++)
		used += snprintf(text + used, (size_t)(TOFU_SHAPE_TEXT - used),
				 "%s%u", i ? "x" : "", size[i]);
	return text;
}
