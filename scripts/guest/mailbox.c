// SPDX-License-Identifier: MIT
/* Frames through the mailbox, a PCI device without a driver. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tofu/mailbox.h>

#include "mailbox.h"

#define DEVICES "/sys/bus/pci/devices"

_Static_assert(TOFU_AGENT_PAYLOAD_MAX == TOFU_MAILBOX_PAYLOAD_MAX, "every frame fits");
_Static_assert(sizeof(struct tofu_agent_frame) == sizeof(struct tofu_mailbox_frame),
	       "one header for both");

/* Opens a device's file in sysfs; a descriptor or a negative errno. */
static int open_file(const char *device, const char *name, int flags)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", device, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static unsigned long read_number(const char *device, const char *name)
{
	char text[32] = "";
	int fd = open_file(device, name, O_RDONLY);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtoul(text, NULL, 0);
}

static int enable(const char *device)
{
	int fd = open_file(device, "enable", O_WRONLY);
	int err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, "1", 1) != 1)
		err = -errno;
	close(fd);
	return err;
}

static int map(const char *device, const char *name, size_t length, void **at)
{
	int fd = open_file(device, name, O_RDWR);
	int err;

	if (fd < 0)
		return fd;
	*at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = *at == MAP_FAILED ? -errno : 0;
	close(fd);
	return err;
}

static int map_device(struct port *port, const char *device)
{
	void *regs, *windows;
	int err = enable(device);

	if (!err)
		err = map(device, "resource0", TOFU_MAILBOX_BAR_REGS_SIZE, &regs);
	if (!err)
		err = map(device, "resource2", TOFU_MAILBOX_BAR_WINDOWS_SIZE, &windows);
	if (err)
		return err;
	*port = (struct port){ .fd = -1, .regs = regs, .windows = windows };
	if (TOFU_GET(port->regs[TOFU_MAILBOX_ID / 8], TOFU_MAILBOX_ID_MAGIC) !=
	    TOFU_MAILBOX_ID_MAGIC)
		return -EPROTO;
	return 0;
}

int mailbox_open(struct port *port)
{
	struct dirent *entry;
	int err = -ENODEV;
	DIR *dir;

	dir = opendir(DEVICES);
	if (!dir)
		return -ENODEV;
	while (err == -ENODEV && (entry = readdir(dir)))
		if (read_number(entry->d_name, "vendor") == TOFU_MAILBOX_VENDOR_ID &&
		    read_number(entry->d_name, "device") == TOFU_MAILBOX_DEVICE_ID)
			err = map_device(port, entry->d_name);
	closedir(dir);
	return err;
}

/* Reads a register that waits; repeats an interrupted read. */
static uint64_t wait_for(struct port *port, unsigned int offset)
{
	uint64_t value;

	do
		value = port->regs[offset / 8];
	while (value == TOFU_MAILBOX_AGAIN);
	return value;
}

void mailbox_wait(struct port *port)
{
	(void)port->regs[TOFU_MAILBOX_READY / 8];
}

int mailbox_receive(struct port *port, struct tofu_agent_frame *frame, void *payload)
{
	const uint8_t *window = port->windows + TOFU_MAILBOX_RECEIVE_WINDOW;
	uint64_t bytes = wait_for(port, TOFU_MAILBOX_RECEIVE);

	if (bytes == TOFU_MAILBOX_GONE)
		return -EPIPE;
	memcpy(frame, window, sizeof(*frame));
	if (frame->length > TOFU_AGENT_PAYLOAD_MAX || bytes != sizeof(*frame) + frame->length)
		return -EPROTO;
	memcpy(payload, window + sizeof(*frame), frame->length);
	return 0;
}

int mailbox_send(struct port *port, const struct tofu_agent_frame *frame, const void *payload)
{
	uint8_t *window = port->windows + TOFU_MAILBOX_SEND_WINDOW;

	memcpy(window, frame, sizeof(*frame));
	memcpy(window + sizeof(*frame), payload, frame->length);
	/* The window is written first: TSO, and no reordering compiler. */
	__asm__ volatile("" : : : "memory");
	port->regs[TOFU_MAILBOX_SEND / 8] = sizeof(*frame) + frame->length;
	return wait_for(port, TOFU_MAILBOX_SEND) == TOFU_MAILBOX_GONE ? -EPIPE : 0;
}
