/* SPDX-License-Identifier: MIT */
#include "meet.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANY_PORT "9" /* a route is looked for; nothing is sent there */

/* A name that nobody knows can take seconds. */
#define NAMES_MAX 3

/* Addresses that other hosts do not reach, or not without more words */
static bool is_near(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) ||
	       IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr);
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
	       !getsockname(fd, &own->any, &size) && !is_near(own);
	close(fd);
	return good;
}

static bool towards(const char *name, union address *own)
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

static bool towards_hosts(const struct meet_job *job, uint32_t self,
			  union address *own)
{
	unsigned int tried = 0;

	for (uint32_t h = 0; h < job->count && tried < NAMES_MAX; h++) {
		if (h == self)
			continue;
		if (towards(job->host[h].name, own))
			return true;
		tried++;
	}
	return false;
}

/*
 * Where the launcher is, which is reached by the network that it was told to use:
 * "NUMBER;tcp://ADDRESS[,ADDRESS]...:PORT;..." of mpirun, an address of srun.
 */
static bool towards_launcher(union address *own)
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
	return towards(name, own);
}

/* Its address of IPv4, if it has one */
static bool of_interface(const char *name, union address *own)
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

int address_find(const struct meet_job *job, uint32_t self, union address *own,
		 tofu_meet_say *say)
{
	const char *interface = getenv("TOFU_INTERFACE");

	if (interface && of_interface(interface, own))
		return 0;
	if (interface) {
		say("TOFU_INTERFACE=%s: no interface of that name with an address",
		    interface);
		return -ENODEV;
	}
	if (towards_hosts(job, self, own) || towards_launcher(own))
		return 0;
	say("which network leads to the other hosts is not known: name its interface in TOFU_INTERFACE");
	return -EADDRNOTAVAIL;
}
