/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/meet.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port/beside.h"
#include "port/debug.h"
#include "port/host.h"

#define LIBRARY "libtofu-pmix.so"

/* Until the first process of each other host is there; then loading takes as long
 * as it takes.
 */
#define MEET_MS 60000

#define TOKEN_BYTES 24
#define NAME_MAX_BYTES 48 /* of a host, in the table */
#define ANY_PORT "9" /* a route is looked for; nothing is sent there */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

/**
 * struct meeting - what this process knows
 * @ops:   of the library; NULL: not joined yet
 * @self:  this host
 * @port:  socket that keeps the port from others, -1 before
 * @entry: of this host in the table
 * @table: NULL: the hosts have not met yet
 */
static struct {
	const struct tofu_meet_ops *ops;
	struct tofu_meet meet;
	uint32_t self;
	int port;
	char *entry;
	char *table;
	char *token;
	char name[NAME_MAX_BYTES + 1];
} meeting = { .port = -1 };

/* ---- The job ---- */

static const struct tofu_meet_ops *load(void)
{
	char path[PATH_MAX];
	void *library = NULL;

	if (tofu_beside("lib/" LIBRARY, path))
		library = dlopen(path, RTLD_NOW);
	if (!library)
		library = dlopen(LIBRARY, RTLD_NOW);
	if (library)
		return dlsym(library, TOFU_MEET_OPS);
	tofu_debug("the job is on several hosts: name them in TOFU_HOSTS, since PMIx cannot: %s",
		   dlerror());
	return NULL;
}

/* Return: 0, if each host has the ranks behind those of the one before it. */
static int check_order(const struct tofu_meet *meet, uint32_t ranks)
{
	uint32_t next = 0;

	for (uint32_t h = 0; h < meet->count; h++) {
		const struct tofu_meet_host *host = &meet->host[h];

		if (host->first != next ||
		    host->last - host->first + 1 != host->count) {
			tofu_debug("the ranks of %s do not follow each other, which they have to on several hosts: mpirun --map-by slot, srun --distribution block",
				   host->name);
			return -EINVAL;
		}
		next += host->count;
	}
	if (next == ranks)
		return 0;
	tofu_debug("PMIx knows %u ranks of %u", next, ranks);
	return -EINVAL;
}

int tofu_meet_join(uint32_t rank, uint32_t ranks, bool *leads)
{
	const struct tofu_meet_ops *ops = meeting.ops ? meeting.ops : load();
	int err;

	if (!ops)
		return -ENOENT;
	if (!meeting.ops) {
		err = ops->join(&meeting.meet);
		if (err) {
			tofu_debug("PMIx: cannot take part: %s", strerror(-err));
			return err;
		}
		err = check_order(&meeting.meet, ranks);
		if (err)
			return err;
		meeting.ops = ops;
	}
	meeting.self = 0;
	while (meeting.meet.host[meeting.self].last < rank)
		meeting.self++;
	*leads = meeting.meet.host[meeting.self].first == rank;
	return 0;
}

/* ---- The own address: in the network by which other hosts are reached ---- */

static bool is_loopback(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static socklen_t size_of(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->v4) :
						   sizeof(address->v6);
}

/* The address from which packets go to another one */
static bool route_to(const struct addrinfo *there, union address *own)
{
	const int fd = socket(there->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*own);
	bool good;

	if (fd < 0)
		return false;
	good = !connect(fd, there->ai_addr, there->ai_addrlen) &&
	       !getsockname(fd, &own->any, &size) && !is_loopback(own);
	close(fd);
	return good;
}

static bool address_towards(const char *name, union address *own)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found, *at;
	bool good = false;

	if (getaddrinfo(name, ANY_PORT, &hints, &found))
		return false;
	for (at = found; at && !good; at = at->ai_next)
		good = route_to(at, own);
	freeaddrinfo(found);
	return good;
}

/*
 * Where the launcher is, which is reached by the network that it was told to use:
 * "NUMBER;tcp://ADDRESS[,ADDRESS]...:PORT;..." of mpirun, an address of srun.
 */
static bool address_towards_launcher(union address *own)
{
	const char *uri = getenv("OMPI_MCA_orte_hnp_uri");
	const char *text = getenv("SLURM_LAUNCH_NODE_IPADDR");
	char name[INET6_ADDRSTRLEN];
	size_t bytes;

	uri = uri ? strstr(uri, "tcp://") : NULL;
	if (uri)
		text = uri + strlen("tcp://");
	if (!text)
		return false;
	bytes = uri ? strcspn(text, ",:;") : strlen(text);
	if (bytes >= sizeof(name))
		return false;
	memcpy(name, text, bytes);
	name[bytes] = '\0';
	return address_towards(name, own);
}

/* That interface's, of IPv4 if it has one; link-local ones need more to be said. */
static bool address_of_interface(const char *name, union address *own)
{
	struct ifaddrs *list, *at;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (at = list; at; at = at->ifa_next) {
		const union address *address = (void *)at->ifa_addr;

		if (!address || strcmp(at->ifa_name, name))
			continue;
		if (address->any.sa_family == AF_INET) {
			memcpy(own, address, sizeof(address->v4));
			found = true;
			break;
		}
		if (address->any.sa_family != AF_INET6 || found ||
		    IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr))
			continue;
		memcpy(own, address, sizeof(address->v6));
		found = true;
	}
	freeifaddrs(list);
	return found;
}

static int find_address(union address *own)
{
	const char *interface = getenv("TOFU_INTERFACE");

	if (interface && address_of_interface(interface, own))
		return 0;
	if (interface) {
		tofu_debug("TOFU_INTERFACE=%s: no interface of that name with an address",
			   interface);
		return -ENODEV;
	}
	for (uint32_t h = 0; h < meeting.meet.count; h++)
		if (h != meeting.self &&
		    address_towards(meeting.meet.host[h].name, own))
			return 0;
	if (address_towards_launcher(own))
		return 0;
	tofu_debug("which network leads to the other hosts is not known: name its interface in TOFU_INTERFACE");
	return -EADDRNOTAVAIL;
}

/*
 * A port that nobody else gets as long as the socket is there: it does not listen,
 * so the bridge can.
 */
static int take_port(union address *own)
{
	const int fd = socket(own->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*own);
	const int on = 1;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (own->any.sa_family == AF_INET)
		own->v4.sin_port = 0;
	else
		own->v6.sin6_port = 0;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, &own->any, size_of(own)) ||
	    getsockname(fd, &own->any, &size)) {
		err = -errno;
		tofu_debug("no port for the bridge: %s", strerror(errno));
		close(fd);
		return err;
	}
	meeting.port = fd;
	return 0;
}

/* ---- The table ---- */

/* What has a meaning in the table is not left in a name. */
static void name_self(const char *name)
{
	snprintf(meeting.name, sizeof(meeting.name), "%s", name);
	for (char *at = meeting.name; *at; at++)
		if (strchr(":@,/# \t", *at))
			*at = '-';
}

static int make_entry(void)
{
	const struct tofu_meet_host *host = &meeting.meet.host[meeting.self];
	union address own = { 0 };
	char text[INET6_ADDRSTRLEN];
	bool v4;
	int err = find_address(&own);

	if (!err)
		err = take_port(&own);
	if (err)
		return err;
	name_self(host->name);
	v4 = own.any.sa_family == AF_INET;
	if (!inet_ntop(own.any.sa_family,
		       v4 ? (void *)&own.v4.sin_addr : (void *)&own.v6.sin6_addr,
		       text, sizeof(text)))
		return -errno;
	if (asprintf(&meeting.entry, v4 ? "%s:%u@%s:%u" : "%s:%u@[%s]:%u",
		     meeting.name, host->count, text,
		     ntohs(v4 ? own.v4.sin_port : own.v6.sin6_port)) < 0) {
		meeting.entry = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int make_token(void)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	meeting.token = calloc(2, sizeof(bytes) + 1);
	if (!meeting.token)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(meeting.token + 2 * i, "%02x", bytes[i]);
	return 0;
}

static int say_own(void)
{
	int err = meeting.entry ? 0 : make_entry();

	/* The first host's is that of all. */
	if (!err && !meeting.self && !meeting.token)
		err = make_token();
	if (!err && !meeting.self)
		err = meeting.ops->put("token", meeting.token);
	return err ? err : meeting.ops->put("bridge", meeting.entry);
}

static int hear(uint32_t h, const char *key, uint64_t end, char **word)
{
	const struct tofu_meet_host *host = &meeting.meet.host[h];
	const uint64_t now = tofu_host_now();
	const uint64_t ms = now < end ? (end - now) / 1000000 : 0;
	const int err = meeting.ops->get(host->first, key, (unsigned int)ms, word);

	if (err)
		tofu_debug("host %s: nothing is known of its bridge (PMIx, rank %u): %s",
			   host->name, host->first, strerror(-err));
	return err;
}

/* Return: the table behind which @entry is, or NULL; the old one is gone. */
static char *append(char *table, const char *entry)
{
	char *longer = NULL;

	if (asprintf(&longer, "%s%s%s", table ? table : "", table ? "," : "", entry) < 0)
		longer = NULL;
	free(table);
	return longer;
}

static int hear_others(void)
{
	const uint64_t end = tofu_host_now() + MEET_MS * 1000000ULL;
	char *table = NULL;
	int err = 0;

	if (!meeting.token)
		err = hear(0, "token", end, &meeting.token);
	for (uint32_t h = 0; !err && h < meeting.meet.count; h++) {
		char *entry = NULL;

		if (h != meeting.self)
			err = hear(h, "bridge", end, &entry);
		if (err)
			break;
		table = append(table, entry ? entry : meeting.entry);
		free(entry);
		err = table ? 0 : -ENOMEM;
	}
	if (err)
		free(table);
	else
		meeting.table = table;
	return err;
}

int tofu_meet_hosts(struct tofu_hosts_known *hosts)
{
	int err = 0;

	/* It has met them before: they are where they were. */
	if (!meeting.table)
		err = say_own();
	if (!err && !meeting.table)
		err = hear_others();
	if (err)
		return err;
	*hosts = (struct tofu_hosts_known){ .table = meeting.table,
					    .self = meeting.name,
					    .token = meeting.token };
	return 0;
}
