/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/args.h"
#include "common/hash.h"
#include "common/hosts.h"
#include "fabric/fabric.h"

#define STATUS_FAILED 1

/* What is read, and for whom. */
struct reading {
	const char *option;
	unsigned int port;
	struct tofu_hosts *hosts;
};

__attribute__((noreturn)) static void wrong(const struct reading *reading, const char *entry,
		  const char *why)
{
	errx(EXIT_USAGE,
	     "%s: '%s': %s; a host is NAME:NODES, or NAME:NODES@ADDRESS "
	     "with an address that the others reach, and :PORT if need be",
	     reading->option, entry, why);
}

static char *copy(const char *text, size_t bytes)
{
	char *new = strndup(text, bytes);

	if (!new)
		errx(STATUS_FAILED, "out of memory");
	return new;
}

/* "address", "address:port", "[v6]" or "[v6]:port" */
static void read_address(const struct reading *reading, const char *entry,
			 const char *text, struct tofu_host *host)
{
	const char *port = NULL;
	const char *end;

	if (*text == '[') {
		end = strchr(++text, ']');
		if (!end || (end[1] && end[1] != ':'))
			wrong(reading, entry, "an address in brackets ends with ']'");
		port = end[1] ? end + 2 : NULL;
	} else {
		end = text + strcspn(text, ":");
		port = *end ? end + 1 : NULL;
		if (port && strchr(port, ':'))
			wrong(reading, entry, "an IPv6 address stands in brackets");
	}
	if (end == text)
		wrong(reading, entry, "it has no address behind '@'");
	host->address = copy(text, (size_t)(end - text));
	if (!port)
		return;
	tofu_arg_number(reading->option, port, 1, UINT16_MAX);
	free(host->port);
	host->port = copy(port, strlen(port));
}

static void read_host(const struct reading *reading, const char *entry)
{
	const size_t name = strcspn(entry, ":@");
	struct tofu_hosts *hosts = reading->hosts;
	struct tofu_host *host;
	char text[24];
	char *end;
	unsigned long nodes;

	if (!name || name >= TOFU_HOST_NAME)
		wrong(reading, entry, "it has no name, or a very long one");
	if (entry[name] != ':')
		wrong(reading, entry, "it does not say how many nodes");
	errno = 0;
	nodes = strtoul(entry + name + 1, &end, 10);
	if (!isdigit((unsigned char)entry[name + 1]) || errno || !nodes ||
	    nodes > TOFU_FABRIC_NODES_MAX || (*end && *end != '@'))
		wrong(reading, entry, "it does not say how many nodes");
	hosts->host = reallocarray(hosts->host, hosts->count + 1,
				   sizeof(*hosts->host));
	if (!hosts->host)
		errx(STATUS_FAILED, "out of memory");
	host = &hosts->host[hosts->count];
	*host = (struct tofu_host){ .first = hosts->nodes,
			       .nodes = (uint32_t)nodes };
	memcpy(host->name, entry, name);
	snprintf(text, sizeof(text), "%u", reading->port);
	host->port = copy(text, strlen(text));
	if (*end)
		read_address(reading, entry, end + 1, host);
	for (uint32_t h = 0; h < hosts->count; h++)
		if (!strcmp(hosts->host[h].name, host->name))
			wrong(reading, entry, "there is one of that name before");
	hosts->count++;
	hosts->nodes += host->nodes;
	if (hosts->nodes > TOFU_FABRIC_NODES_MAX)
		wrong(reading, entry, "these are more nodes than a machine can have");
}

static void read_list(const struct reading *reading, const char *text)
{
	while (*text) {
		const size_t bytes = strcspn(text, ",");
		char *entry = copy(text, bytes);

		read_host(reading, entry);
		free(entry);
		text += bytes;
		text += *text == ',';
	}
}

static void read_file(const struct reading *reading, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		err(EXIT_USAGE, "%s: %s", reading->option, path);
	while (getline(&line, &size, file) >= 0) {
		char *at = line + strspn(line, " \t");

		at[strcspn(at, "#\r\n")] = '\0';
		for (size_t n = strlen(at); n && isspace((unsigned char)at[n - 1]);)
			at[--n] = '\0';
		if (*at)
			read_host(reading, at);
	}
	if (ferror(file))
		err(STATUS_FAILED, "%s: %s", reading->option, path);
	free(line);
	fclose(file);
}

void tofu_hosts_read(const char *option, const char *text, unsigned int port,
		     struct tofu_hosts *hosts)
{
	const struct reading reading = { option, port, hosts };

	*hosts = (struct tofu_hosts){ 0 };
	if (strchr(text, '/'))
		read_file(&reading, text);
	else
		read_list(&reading, text);
	if (!hosts->count)
		errx(EXIT_USAGE, "%s: '%s' names no host", option, text);
}

void tofu_hosts_free(struct tofu_hosts *hosts)
{
	for (uint32_t h = 0; h < hosts->count; h++) {
		free(hosts->host[h].address);
		free(hosts->host[h].port);
	}
	free(hosts->host);
	*hosts = (struct tofu_hosts){ 0 };
}

uint32_t tofu_hosts_self(const struct tofu_hosts *hosts, const char *name)
{
	char own[TOFU_HOST_NAME] = "";

	if (!name) {
		gethostname(own, sizeof(own) - 1);
		name = own;
	}
	for (uint32_t h = 0; h < hosts->count; h++)
		if (!strcmp(hosts->host[h].name, name))
			return h;
	/* A table may have short names where the system has long ones. */
	for (uint32_t h = 0; h < hosts->count; h++) {
		const char *dot = strchr(name, '.');

		if (dot && !strncmp(hosts->host[h].name, name,
				    (size_t)(dot - name)) &&
		    !hosts->host[h].name[dot - name])
			return h;
	}
	errx(EXIT_USAGE,
	     "the table of hosts does not name this one, '%s'; say with --self "
	     "(of tofu-run --host) which it is",
	     name);
}

uint64_t tofu_hosts_hash(const struct tofu_hosts *hosts, const struct tofu_shape *shape)
{
	uint64_t hash = tofu_hash(TOFU_HASH_BASIS, shape, sizeof(*shape));

	for (uint32_t h = 0; h < hosts->count; h++) {
		const struct tofu_host *host = &hosts->host[h];

		hash = tofu_hash(hash, host->name, strlen(host->name) + 1);
		hash = tofu_hash(hash, &host->nodes, sizeof(host->nodes));
	}
	return hash;
}
