/* SPDX-License-Identifier: MIT */
/*
 * The same interface as a wire, for MPI libraries that load no functions but talk to a
 * process manager: MPICH. A request is a line of words, key=value, and so is its answer.
 *
 * Here the manager is a thread of the process, which calls the functions of pmi.h while
 * the MPI waits for the answer. So nothing but the interconnect is needed. This library
 * comes before those of the program (LD_PRELOAD), and leaves the number of the socket in
 * the environment before main().
 */
#define _GNU_SOURCE
#include "pmi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What MPICH has room for in a line */
#define NAME_MAX_BYTES 256
#define KEY_MAX_BYTES 64
#define VALUE_MAX_BYTES 1024

/* Room for a line, either way: more than an MPICH has */
#define LINE_BYTES 2048

/* Words of a line that anybody sends, and some more */
#define WORDS_MAX 8

/**
 * struct request - a line, cut into words
 * @key, @value: of each word
 */
struct request {
	unsigned int count;
	const char *key[WORDS_MAX];
	const char *value[WORDS_MAX];
};

static void request_read(char *line, struct request *request)
{
	char *rest = line, *word;

	request->count = 0;
	while (request->count < WORDS_MAX &&
	       (word = strtok_r(rest, " ", &rest))) {
		char *equals = strchr(word, '=');

		if (!equals)
			continue;
		*equals = '\0';
		request->key[request->count] = word;
		request->value[request->count++] = equals + 1;
	}
}

/* Return: the value, or "" */
static const char *value_of(const struct request *request, const char *key)
{
	for (unsigned int i = 0; i < request->count; i++)
		if (!strcmp(request->key[i], key))
			return request->value[i];
	return "";
}

/* ---- Answers ---- */

/*
 * Without a FILE, which exit() would write once more, and without a signal where the
 * MPI has closed the socket.
 */
__attribute__((format(printf, 2, 3))) static void say(int fd, const char *format,
						      ...)
{
	char line[LINE_BYTES];
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (bytes > 0 && bytes < (int)sizeof(line))
		send(fd, line, (size_t)bytes, MSG_NOSIGNAL);
}

static int rc_of(int code)
{
	return code == PMI_SUCCESS ? 0 : -1;
}

static const char *message_of(int code)
{
	return code == PMI_SUCCESS ? "success" : "failed";
}

static void do_init(int fd, const struct request *request)
{
	int spawned, code;

	(void)request;
	code = PMI_Init(&spawned);
	say(fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
		rc_of(code));
}

static void do_get_maxes(int fd, const struct request *request)
{
	(void)request;
	say(fd, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d\n",
		NAME_MAX_BYTES, KEY_MAX_BYTES, VALUE_MAX_BYTES);
}

static void do_get_appnum(int fd, const struct request *request)
{
	int number = 0, code = PMI_Get_appnum(&number);

	(void)request;
	say(fd, "cmd=appnum rc=%d appnum=%d\n", rc_of(code), number);
}

static void do_get_universe_size(int fd, const struct request *request)
{
	int size = 0, code = PMI_Get_universe_size(&size);

	(void)request;
	say(fd, "cmd=universe_size rc=%d size=%d\n", rc_of(code), size);
}

static void do_get_my_kvsname(int fd, const struct request *request)
{
	char name[NAME_MAX_BYTES] = "";
	int code = PMI_KVS_Get_my_name(name, sizeof(name));

	(void)request;
	say(fd, "cmd=my_kvsname rc=%d kvsname=%s\n", rc_of(code), name);
}

static void do_put(int fd, const struct request *request)
{
	int code = PMI_KVS_Put(value_of(request, "kvsname"),
			       value_of(request, "key"),
			       value_of(request, "value"));

	say(fd, "cmd=put_result rc=%d msg=%s\n", rc_of(code),
		message_of(code));
}

static void do_get(int fd, const struct request *request)
{
	char value[VALUE_MAX_BYTES] = "unknown";
	int code = PMI_KVS_Get(value_of(request, "kvsname"),
			       value_of(request, "key"), value, sizeof(value));

	say(fd, "cmd=get_result rc=%d msg=%s value=%s\n", rc_of(code),
		message_of(code), value);
}

static void do_barrier_in(int fd, const struct request *request)
{
	int code = PMI_Barrier();

	(void)request;
	say(fd, "cmd=barrier_out rc=%d msg=%s\n", rc_of(code),
		message_of(code));
}

static void do_finalize(int fd, const struct request *request)
{
	int code = PMI_Finalize();

	(void)request;
	say(fd, "cmd=finalize_ack rc=%d msg=%s\n", rc_of(code),
		message_of(code));
}

static void do_abort(int fd, const struct request *request)
{
	(void)fd;
	PMI_Abort(atoi(value_of(request, "exitcode")),
		  value_of(request, "message"));
}

static const struct {
	const char *name;
	void (*answer)(int fd, const struct request *request);
} commands[] = {
	{ "init", do_init },
	{ "get_maxes", do_get_maxes },
	{ "get_appnum", do_get_appnum },
	{ "get_universe_size", do_get_universe_size },
	{ "get_my_kvsname", do_get_my_kvsname },
	{ "put", do_put },
	{ "get", do_get },
	{ "barrier_in", do_barrier_in },
	{ "finalize", do_finalize },
	{ "abort", do_abort },
};

/* What there is not: names of services, more processes */
static void refuse(int fd, const char *name)
{
	say(fd, "cmd=%s_result rc=-1 msg=not_supported\n", name);
}

static void answer(int fd, const struct request *request)
{
	const char *name = value_of(request, "cmd");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name)) {
			commands[i].answer(fd, request);
			return;
		}
	refuse(fd, name);
}

/* ---- The manager ---- */

/* A request of many lines, which asks for more processes */
static bool is_long(const char *line)
{
	return !strncmp(line, "mcmd=", strlen("mcmd="));
}

/* Return: false at the end. A line for which there is no room is left out. */
static bool line_read(int fd, char line[LINE_BYTES])
{
	size_t have = 0;
	bool fits = true;

	for (;;) {
		if (recv(fd, line + have, 1, 0) != 1)
			return false;
		if (line[have] == '\n') {
			line[have] = '\0';
			if (fits)
				return true;
			have = 0;
			fits = true;
		} else if (have < LINE_BYTES - 1) {
			have++;
		} else {
			fits = false;
		}
	}
}

static void *serve(void *socket)
{
	const int fd = (int)(intptr_t)socket;
	struct request request;
	char line[LINE_BYTES];
	bool skips = false;

	while (line_read(fd, line)) {
		if (skips || is_long(line)) {
			skips = strcmp(line, "endcmd");
			if (!skips)
				refuse(fd, "spawn");
			continue;
		}
		request_read(line, &request);
		answer(fd, &request);
	}
	close(fd);
	return NULL;
}

/* Signals go to the program's threads. */
static bool thread_start(int fd)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

/* A shell between the launcher and the program has no MPI. */
static bool is_wanted(void)
{
	return getenv("TOFU_PMI_WIRE") && getenv("TOFU_RANK") &&
	       getenv("TOFU_RANKS") && !getenv("PMI_FD") &&
	       dlsym(RTLD_DEFAULT, "MPI_Init");
}

__attribute__((constructor)) static void wire_begin(void)
{
	char number[16];
	int fd[2];

	if (!is_wanted())
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)) {
		perror("libtofu-pmi: no socket for the MPI");
		return;
	}
	if (!thread_start(fd[1])) {
		fputs("libtofu-pmi: no thread for the MPI\n", stderr);
		close(fd[0]);
		close(fd[1]);
		return;
	}
	snprintf(number, sizeof(number), "%d", fd[0]);
	setenv("PMI_FD", number, 1);
	setenv("PMI_RANK", getenv("TOFU_RANK"), 1);
	setenv("PMI_SIZE", getenv("TOFU_RANKS"), 1);
}
