/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/bridge.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

socklen_t tofu_bridge_address(const struct stat *file,
			      struct sockaddr_un *address)
{
	int bytes;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	bytes = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
			 "tofu-bridge/%u/%u.%u.%llu", (unsigned int)geteuid(),
			 major(file->st_dev), minor(file->st_dev),
			 (unsigned long long)file->st_ino);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)bytes);
}

bool tofu_bridge_is_own(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) &&
	       (peer.uid == geteuid() || !peer.uid);
}
