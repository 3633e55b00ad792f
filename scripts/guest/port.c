// SPDX-License-Identifier: MIT
/* Frames over the virtio-serial port, where there is no mailbox. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mailbox.h"
#include "port.h"

#define PORTS "/sys/class/virtio-ports"
#define ATTEMPTS 500
#define ATTEMPT_USEC 10000

static int name_matches(const char *entry)
{
	char path[PATH_MAX], name[64];
	FILE *file;
	int found;

	snprintf(path, sizeof(path), PORTS "/%s/name", entry);
	file = fopen(path, "re");
	if (!file)
		return 0;
	found = fgets(name, sizeof(name), file) && !strcmp(name, TOFU_AGENT_PORT_NAME "\n");
	fclose(file);
	return found;
}

static int port_try_open(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int fd = -ENOENT;
	DIR *dir;

	dir = opendir(PORTS);
	if (!dir)
		return -errno;
	while (fd == -ENOENT && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !name_matches(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	closedir(dir);
	return fd;
}

int port_open(struct port *port)
{
	int fd = mailbox_open(port);

	if (fd != -ENODEV)
		return fd;
	/*
	 * The host announces ports after the driver is bound, which takes a
	 * moment.
	 */
	for (int i = 0; i < ATTEMPTS; i++) {
		fd = port_try_open();
		if (fd >= 0) {
			*port = (struct port){ .fd = fd };
			return 0;
		}
		usleep(ATTEMPT_USEC);
	}
	return fd;
}

static int read_all(int fd, void *buffer, size_t length)
{
	char *at = buffer;

	while (length) {
		ssize_t got = read(fd, at, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EPIPE;
		at += got;
		length -= (size_t)got;
	}
	return 0;
}

int port_receive(struct port *port, struct tofu_agent_frame *frame, void *payload)
{
	int err;

	if (port_is_mailbox(port))
		return mailbox_receive(port, frame, payload);
	err = read_all(port->fd, frame, sizeof(*frame));
	if (err)
		return err;
	if (frame->length > TOFU_AGENT_PAYLOAD_MAX)
		return -EPROTO;
	return read_all(port->fd, payload, frame->length);
}

static int write_all(int fd, const void *buffer, size_t length)
{
	const char *at = buffer;

	while (length) {
		ssize_t put = write(fd, at, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		length -= (size_t)put;
	}
	return 0;
}

int port_send(struct port *port, uint16_t type, uint16_t job, const void *payload, size_t length)
{
	struct tofu_agent_frame frame = { .length = (uint32_t)length, .type = type, .job = job };
	int err;

	if (port_is_mailbox(port))
		return mailbox_send(port, &frame, payload);
	err = write_all(port->fd, &frame, sizeof(frame));
	return err ? err : write_all(port->fd, payload, length);
}
