/* SPDX-License-Identifier: MIT */
/*
 * What a bridge says of itself to whoever asks: 'tofu-fabric status'. It listens
 * in the abstract namespace, under a name made of the user and the fabric's file, so
 * nothing is left of it. Only the same user and root are answered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bridge/bridge.h"
#include "common/bridge.h"
#include "common/json.h"

#define BACKLOG 4
/* The most pairs that are named as waiting */
#define PAIRS_MAX 64

/* Whether that is a bridge of this user, and not somebody who took the name. */
static bool is_answered(const struct sockaddr_un *address, socklen_t bytes)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool own;

	if (fd < 0)
		return false;
	own = !connect(fd, (const struct sockaddr *)address, bytes) &&
	      tofu_bridge_is_own(fd);
	close(fd);
	return own;
}

int status_listen(struct bridge *bridge)
{
	struct sockaddr_un address;
	socklen_t bytes;
	struct stat st;

	if (stat(bridge->path_kept, &st))
		return -errno;
	bytes = tofu_bridge_address(&st, &address);
	bridge->asked = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			       0);
	if (bridge->asked < 0)
		return -errno;
	if (bind(bridge->asked, (struct sockaddr *)&address, bytes) ||
	    listen(bridge->asked, BACKLOG)) {
		close(bridge->asked);
		bridge->asked = -1;
		return is_answered(&address, bytes) ? -EBUSY : 0;
	}
	bridge_watch(bridge, bridge->asked, NULL);
	return 0;
}

static void one_pair(struct tofu_json *json, const char *what, uint32_t from,
		     uint32_t to, int class_)
{
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "waits_for", what);
	tofu_json_number(json, "from", from);
	tofu_json_number(json, "to", to);
	tofu_json_string(json, "class",
			 class_ == TOFU_REQUEST ? "request" : "response");
	tofu_json_close(json, '}');
}

/* Whose packets cannot go on, and what for. */
static void pair_waits(struct tofu_json *json, const struct pair *pair,
		       unsigned int *left)
{
	for (int c = 0; c < TOFU_CLASSES && *left; c++) {
		if (pair->out[c].used >= BRIDGE_WINDOW / 2) {
			one_pair(json, "credits", pair->local, pair->remote, c);
			--*left;
		}
		if (in_waits(&pair->in[c]) && *left) {
			one_pair(json, "room", pair->remote, pair->local, c);
			--*left;
		}
	}
}

static void waits(struct tofu_json *json, const struct link *link)
{
	const struct bridge *bridge = link->bridge;
	unsigned int left = PAIRS_MAX;

	tofu_json_open(json, "waiting", '[');
	for (uint32_t r = 0; r < link->host->nodes; r++) {
		const struct proxy *proxy =
			&bridge->proxy[link->host->first + r];

		for (uint32_t n = 0; n < bridge->host->nodes; n++)
			if (proxy->pair[n])
				pair_waits(json, proxy->pair[n], &left);
	}
	tofu_json_close(json, ']');
}

static uint32_t nodes_up(const struct link *link)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < link->host->nodes; n++)
		count += link->bridge->proxy[link->host->first + n].gen != 0;
	return count;
}

static void one_host(struct tofu_json *json, const struct link *link)
{
	static const char *const way[] = { "received", "sent" };

	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "host", link->host->name);
	tofu_json_bool(json, "here", link->up);
	tofu_json_number(json, "nodes", link->host->nodes);
	tofu_json_number(json, "nodes_up", nodes_up(link));
	tofu_json_number(json, "times_here", link->ups);
	tofu_json_number(json, "round_trip_us", link->rtt_us);
	for (int w = 0; w < 2; w++) {
		tofu_json_open(json, way[w], '{');
		tofu_json_number(json, "messages", link->messages[w]);
		tofu_json_number(json, "packets", link->packets[w]);
		tofu_json_number(json, "bytes", link->bytes[w]);
		tofu_json_close(json, '}');
	}
	tofu_json_number(json, "without_credits", link->waits);
	waits(json, link);
	tofu_json_close(json, '}');
}

static void write_status(const struct bridge *bridge, FILE *out)
{
	struct tofu_json json = { .out = out };

	tofu_json_open(&json, NULL, '{');
	tofu_json_string(&json, "self", bridge->host->name);
	tofu_json_number(&json, "pid", (uint64_t)getpid());
	tofu_json_string(&json, "provider", bridge->provider);
	tofu_json_number(&json, "receive_buffers", bridge->rx.made);
	tofu_json_number(&json, "receive_buffers_unused", bridge->rx.unused);
	tofu_json_open(&json, "hosts", '[');
	for (uint32_t h = 0; h < bridge->hosts.count; h++)
		if (h != bridge->self)
			one_host(&json, &bridge->link[h]);
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

/* Who does not read it all at once gets a part. */
static void answer(const struct bridge *bridge, int fd)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return;
	write_status(bridge, out);
	if (!fclose(out))
		send(fd, text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(text);
}

void status_answer(struct bridge *bridge)
{
	int fd = bridge->asked < 0 ? -1 :
				     accept4(bridge->asked, NULL, NULL,
					     SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (tofu_bridge_is_own(fd))
		answer(bridge, fd);
	close(fd);
}
