/* SPDX-License-Identifier: MIT */
/* Where the bridge of a fabric is asked for its state. */
#ifndef TOFU_TOOLS_BRIDGE_H
#define TOFU_TOOLS_BRIDGE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* tofu_bridge_address - of the bridge of a fabric's file, of this user; its bytes
 */
socklen_t tofu_bridge_address(const struct stat *file,
			      struct sockaddr_un *address);

/* tofu_bridge_is_own - whether the other side belongs to this user, or to root:
 * anybody can take a name of the abstract namespace
 */
bool tofu_bridge_is_own(int fd);

#endif /* TOFU_TOOLS_BRIDGE_H */
