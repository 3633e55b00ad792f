/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Until the first process of each other host is there */
#define MEET_MS 60000

#define TOKEN_BYTES 24
#define NAME_BYTES 63 /* of a host, in the table */

/**
 * struct meeting - what this process knows
 * @joined: @job is there
 * @self:   this host
 * @port:   socket that keeps the port from others, -1 before
 * @entry:  of this host in the table
 * @said:   other hosts have been told
 * @table:  NULL: the hosts have not met yet
 */
static struct {
	struct meet_job job;
	bool joined;
	uint32_t self;
	int port;
	char *entry;
	bool said;
	char *table;
	char *token;
	char name[NAME_BYTES + 1];
} meeting = { .port = -1 };

/* ---- The job ---- */

/* Return: 0, if each host has the ranks behind those of the one before it. */
static int check_order(const struct meet_job *job, uint32_t ranks,
		       tofu_meet_say *say)
{
	uint32_t next = 0;

	for (uint32_t h = 0; h < job->count; h++) {
		const struct meet_host *host = &job->host[h];

		if (host->first != next ||
		    host->last - host->first + 1 != host->count) {
			say("the ranks of %s do not follow each other, which they have to on several hosts: mpirun --map-by slot, srun --distribution block",
			    host->name);
			return -EINVAL;
		}
		next += host->count;
	}
	if (next == ranks)
		return 0;
	say("PMIx knows %u ranks of %u", next, ranks);
	return -EINVAL;
}

static int join(uint32_t rank, uint32_t ranks, bool *leads, tofu_meet_say *say)
{
	int err = meeting.joined ? 0 : words_join(&meeting.job, say);

	if (!err && meeting.job.rank != rank) {
		say("PMIx says that this is rank %u, and the launcher %u: name the hosts in TOFU_HOSTS",
		    meeting.job.rank, rank);
		err = -EINVAL;
	}
	if (!err && !meeting.joined)
		err = check_order(&meeting.job, ranks, say);
	if (err)
		return err;
	meeting.joined = true;
	meeting.self = 0;
	while (meeting.job.host[meeting.self].last < rank)
		meeting.self++;
	*leads = meeting.job.host[meeting.self].first == rank;
	return 0;
}

/* ---- This host ---- */

/*
 * A port that nobody else gets as long as the socket is there: it does not listen,
 * so the bridge can.
 */
static int take_port(union address *own, tofu_meet_say *say)
{
	const bool v4 = own->any.sa_family == AF_INET;
	const int fd = socket(own->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = v4 ? sizeof(own->v4) : sizeof(own->v6);
	const int on = 1;
	int err = 0;

	if (v4)
		own->v4.sin_port = 0;
	else
		own->v6.sin6_port = 0;
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, &own->any, size) || getsockname(fd, &own->any, &size)) {
		err = -errno;
		say("no port for the bridge: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	meeting.port = fd;
	return 0;
}

/* What has a meaning in the table is not left in a name, and long ones end alike. */
static void name_self(const struct meet_host *host)
{
	const int bytes = snprintf(meeting.name, sizeof(meeting.name), "%s", host->name);

	if (bytes > NAME_BYTES)
		snprintf(meeting.name, sizeof(meeting.name), "%.*s-%u", NAME_BYTES - 11,
			 host->name, host->first);
	for (char *at = meeting.name; *at; at++)
		if (strchr(":@,/# \t", *at))
			*at = '-';
}

/* The last host has the nodes that are more than ranks: nobody is there. */
static uint32_t nodes_here(uint32_t nodes)
{
	const struct meet_host *host = &meeting.job.host[meeting.self];

	return meeting.self == meeting.job.count - 1 ? nodes - host->first :
						       host->count;
}

static int make_entry(uint32_t nodes, tofu_meet_say *say)
{
	union address own = { 0 };
	char text[INET6_ADDRSTRLEN];
	bool v4;
	int err = address_find(&meeting.job, meeting.self, &own, say);

	if (!err)
		err = take_port(&own, say);
	if (err)
		return err;
	name_self(&meeting.job.host[meeting.self]);
	v4 = own.any.sa_family == AF_INET;
	inet_ntop(own.any.sa_family,
		  v4 ? (void *)&own.v4.sin_addr : (void *)&own.v6.sin6_addr, text,
		  sizeof(text));
	if (asprintf(&meeting.entry, v4 ? "%s:%u@%s:%u" : "%s:%u@[%s]:%u",
		     meeting.name, nodes_here(nodes), text,
		     ntohs(v4 ? own.v4.sin_port : own.v6.sin6_port)) >= 0)
		return 0;
	meeting.entry = NULL;
	return -ENOMEM;
}

static int make_token(tofu_meet_say *say)
{
	unsigned char bytes[TOKEN_BYTES];
	char *text = calloc(2, sizeof(bytes) + 1);

	if (!text)
		return -ENOMEM;
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		say("no random bytes: %s", strerror(errno));
		free(text);
		return -EIO;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	meeting.token = text;
	return 0;
}

static int say_own(uint32_t nodes, tofu_meet_say *say)
{
	int err = meeting.entry ? 0 : make_entry(nodes, say);

	/* The first host's is that of all. */
	if (!err && !meeting.self && !meeting.token)
		err = make_token(say);
	if (!err && !meeting.self)
		err = words_put("token", meeting.token, say);
	if (!err)
		err = words_put("bridge", meeting.entry, say);
	meeting.said = !err;
	return err;
}

/* ---- The others ---- */

static int hear(uint32_t h, const char *key, int64_t end, char **word,
		tofu_meet_say *say)
{
	const struct meet_host *host = &meeting.job.host[h];
	const int err = words_get(host->first, key, end, word, say);

	if (err == -ETIMEDOUT)
		say("host %s: rank %u has not opened the interconnect", host->name,
		    host->first);
	return err;
}

/* Others have left it: it must not be more than one host, or the name of a file. */
static int check_entry(const struct meet_host *host, const char *entry,
		       tofu_meet_say *say)
{
	if (*entry && !strpbrk(entry, ",/# \t\n"))
		return 0;
	say("host %s: where its bridge is cannot be understood", host->name);
	return -EPROTO;
}

/* Return: the table behind which @entry is, or NULL; the old one is gone. */
static char *append(char *table, const char *entry)
{
	char *longer = NULL;

	if (asprintf(&longer, "%s%s%s", table ? table : "", table ? "," : "",
		     entry) < 0)
		longer = NULL;
	free(table);
	return longer;
}

static int hear_others(tofu_meet_say *say)
{
	const int64_t end = words_now() + MEET_MS;
	char *table = NULL;
	int err = meeting.token ? 0 : hear(0, "token", end, &meeting.token, say);

	for (uint32_t h = 0; !err && h < meeting.job.count; h++) {
		char *entry = NULL;

		if (h != meeting.self)
			err = hear(h, "bridge", end, &entry, say);
		if (!err && entry)
			err = check_entry(&meeting.job.host[h], entry, say);
		if (!err)
			table = append(table, entry ? entry : meeting.entry);
		free(entry);
		if (!err && !table)
			err = -ENOMEM;
	}
	if (err)
		free(table);
	else
		meeting.table = table;
	return err;
}

static int hosts(uint32_t nodes, struct tofu_hosts_known *known, tofu_meet_say *say)
{
	/* It has met them before: they are where they were. */
	int err = meeting.said ? 0 : say_own(nodes, say);

	if (!err && !meeting.table)
		err = hear_others(say);
	if (err)
		return err;
	*known = (struct tofu_hosts_known){ .table = meeting.table,
					    .self = meeting.name,
					    .token = meeting.token };
	return 0;
}

__attribute__((visibility("default"))) const struct tofu_meet_ops tofu_meet_ops_1 = {
	.join = join,
	.hosts = hosts,
};
