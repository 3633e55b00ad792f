/* SPDX-License-Identifier: MIT */
/* Descriptors that become readable when something has ended. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "provider.h"

int tofu_fi_bell_open(struct tofu_fi_bell *bell, struct tofu_fi_domain *domain,
		      enum fi_wait_obj wait)
{
	int err;

	*bell = (struct tofu_fi_bell){
		.fd = -1,
		.wait = wait,
	};
	switch (wait) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_YIELD:
		return 0;
	case FI_WAIT_FD:
		break;
	default:
		return -FI_ENOSYS;
	}
	bell->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (bell->fd < 0)
		return -errno;
	err = domain ? tofu_fi_runner_start(domain) : 0;
	if (err)
		tofu_fi_bell_close(bell);
	return err;
}

void tofu_fi_bell_close(const struct tofu_fi_bell *bell)
{
	if (bell->fd >= 0)
		close(bell->fd);
}

int tofu_fi_bell_control(const struct tofu_fi_bell *bell, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		if (bell->fd < 0)
			return -FI_ENODATA;
		*(int *)arg = bell->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = bell->wait;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

void tofu_fi_bell_ring(struct tofu_fi_bell *bell)
{
	if (!bell->armed)
		return;
	bell->armed = false;
	eventfd_write(bell->fd, 1);
}

void tofu_fi_bell_arm(struct tofu_fi_bell *bell)
{
	eventfd_t count;

	if (bell->fd < 0 || bell->armed)
		return;
	eventfd_read(bell->fd, &count);
	bell->armed = true;
}

void tofu_fi_bell_wait(const struct tofu_fi_bell *bell, int timeout)
{
	struct pollfd fd = {
		.fd = bell->fd,
		.events = POLLIN,
	};

	poll(&fd, 1, timeout);
}
