/* SPDX-License-Identifier: MIT */
/*
 * The guest's agent under random frames of the host, and its mailbox under
 * random contents. The agent runs as in a guest, in a process of its own, but
 * opens no file and executes no program: its calls are wrapped. For any input
 * it stays inside its memory (ASan), answers in frames of the protocol, and
 * ends when the host has gone.
 *
 *   agent-fuzz [seeds [first seed]]
 *
 * Without arguments, as many seeds as fit into some seconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tofu/mailbox.h>

#include "../../scripts/guest/mailbox.h"
#include "../../scripts/guest/port.h"

#define FUZZ_SECONDS 5
#define AGENT_SECONDS 20 /* one that takes longer hangs */
#define FRAMES_MAX 40
#define PAYLOAD_SHORT 40
#define PAYLOAD_LONG 5000 /* more than a path may have */

_Static_assert(FRAMES_MAX * (PAYLOAD_LONG + sizeof(struct tofu_agent_frame)) +
			       PAYLOAD_SHORT < TOFU_AGENT_PAYLOAD_MAX,
	       "a long frame follows the others");

static uint64_t state;

/* An agent's own status is 1. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "exitcode=99";
}

static uint64_t any(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static void any_bytes(uint8_t *at, size_t length)
{
	for (size_t i = 0; i < length; i++)
		at[i] = (uint8_t)(any(3) ? any(4) : any(256));
}

static void fail(uint64_t seed, const char *what)
{
	printf("not ok 1 - seed %llu: %s\n", (unsigned long long)seed, what);
	exit(1);
}

/* ---- The agent's calls ---- */

int agent_main(int argc, char **argv);

static int agent_fd;

int __wrap_port_open(struct port *port);
int __wrap_port_open(struct port *port)
{
	*port = (struct port){ .fd = agent_fd };
	return 0;
}

/* What is behind a payload is not the agent's to read. */
int __real_port_receive(struct port *port, struct tofu_agent_frame *frame,
			void *payload);
int __wrap_port_receive(struct port *port, struct tofu_agent_frame *frame,
			void *payload);
int __wrap_port_receive(struct port *port, struct tofu_agent_frame *frame,
			void *payload)
{
	int err;

	ASAN_UNPOISON_MEMORY_REGION(payload, TOFU_AGENT_PAYLOAD_MAX);
	err = __real_port_receive(port, frame, payload);
	if (!err)
		ASAN_POISON_MEMORY_REGION((uint8_t *)payload + frame->length,
					  TOFU_AGENT_PAYLOAD_MAX -
						  frame->length);
	return err;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	if (strlen(path) % 5 == 0) {
		errno = ENOENT;
		return -1;
	}
	return __real_open("/dev/null", flags & (O_ACCMODE | O_CLOEXEC));
}

int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	return path[0] + mode == 1;
}

int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
	return fd < 0 || mode > 07777;
}

int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	return strlen(from) == strlen(to);
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	return !strlen(path);
}

int __real_kill(pid_t pid, int signo);
int __wrap_kill(pid_t pid, int signo);
int __wrap_kill(pid_t pid, int signo)
{
	return pid >= -1 && signo;
}

/* Reads all that a program would get. */
/* The name of this host is none of a guest's. */
int __wrap_sethostname(const char *name, size_t length);
int __wrap_sethostname(const char *name, size_t length)
{
	size_t sum = 0;

	for (size_t i = 0; i < length; i++)
		sum += (uint8_t)name[i];
	errno = EINVAL;
	return sum % 2 ? -1 : 0;
}

int __wrap_execvp(const char *path, char *const argv[]);
int __wrap_execvp(const char *path, char *const argv[])
{
	size_t length = strlen(path);

	for (int i = 0; argv[i]; i++)
		length += strlen(argv[i]);
	_exit((int)(length % 2));
}

int __wrap_execl(const char *path, const char *arg, ...);
int __wrap_execl(const char *path, const char *arg, ...)
{
	_exit(strlen(path) == strlen(arg));
}

/* ---- Frames ---- */

static size_t exec_make(uint8_t *payload)
{
	struct tofu_agent_exec exec = {
		.flags = any(8) ? 0 : TOFU_AGENT_EXEC_PTY,
		.argc = (uint32_t)(any(4) ? any(4) : any(1ULL << 32)),
		.envc = (uint32_t)(any(4) ? any(3) : any(1ULL << 32)),
	};
	size_t strings = any(24);

	any_bytes(payload, sizeof(exec) + strings);
	memcpy(payload, &exec, sizeof(exec));
	return any(6) ? sizeof(exec) + strings : any(sizeof(exec));
}

static size_t payload_make(unsigned int type, uint8_t *payload)
{
	size_t length = any(2) ? sizeof(uint32_t) :
				 any(any(8) ? PAYLOAD_SHORT : PAYLOAD_LONG);

	if (type == TOFU_AGENT_EXEC)
		return exec_make(payload);
	any_bytes(payload, length);
	return length;
}

static size_t frame_make(uint8_t *at)
{
	struct tofu_agent_frame frame = {
		.type = (uint16_t)(any(8) ? any(TOFU_AGENT_NAME + 2) :
					    any(1 << 16)),
		.job = (uint16_t)any(6),
	};

	frame.length = (uint32_t)payload_make(frame.type, at + sizeof(frame));
	memcpy(at, &frame, sizeof(frame));
	return sizeof(frame) + frame.length;
}

/* A frame that is longer than the agent has room for */
static size_t long_frame_make(uint8_t *at)
{
	const struct tofu_agent_frame frame = {
		.length = TOFU_AGENT_PAYLOAD_MAX + 1 + (uint32_t)any(PAYLOAD_SHORT),
		.type = TOFU_AGENT_STDIN,
	};

	memset(at, 0, sizeof(frame) + frame.length);
	memcpy(at, &frame, sizeof(frame));
	return sizeof(frame) + frame.length;
}

/* Frames, of which the last one can be cut, or followed by anything. */
static size_t input_make(uint8_t *at)
{
	size_t length = 0, tail = any(PAYLOAD_SHORT);

	for (uint64_t frames = any(FRAMES_MAX); frames; frames--)
		length += frame_make(at + length);
	if (any(2))
		return length - any(length / 2 + 1);
	if (!any(8))
		return length + long_frame_make(at + length);
	any_bytes(at + length, tail);
	return length + tail;
}

/* ---- The host ---- */

/* Sends all, reads what comes; returns how much came, or -1: no end. */
static ssize_t converse(int fd, const uint8_t *input, size_t length,
			uint8_t *output, size_t room)
{
	size_t sent = 0, got = 0;

	for (;;) {
		struct pollfd ready = {
			.fd = fd,
			.events = POLLIN | POLLOUT * (sent < length),
		};
		ssize_t n;

		if (poll(&ready, 1, AGENT_SECONDS * 1000) <= 0 || got == room)
			return -1;
		if (ready.revents & POLLOUT) {
			n = send(fd, input + sent, length - sent, MSG_NOSIGNAL);
			sent = n < 0 ? length : sent + (size_t)n;
		}
		if (sent == length)
			shutdown(fd, SHUT_WR);
		if (!(ready.revents & (POLLIN | POLLHUP)))
			continue;
		n = read(fd, output + got, room - got);
		if (n <= 0)
			return (ssize_t)got;
		got += (size_t)n;
	}
}

static bool is_size(unsigned int type, size_t length)
{
	switch (type) {
	case TOFU_AGENT_HELLO:
	case TOFU_AGENT_STARTED:
		return length >= sizeof(uint32_t);
	case TOFU_AGENT_EXIT:
	case TOFU_AGENT_FILE_DONE:
	case TOFU_AGENT_NAMED:
		return length == sizeof(uint32_t);
	case TOFU_AGENT_STDOUT:
	case TOFU_AGENT_STDERR:
	case TOFU_AGENT_PONG:
		return true;
	default:
		return false;
	}
}

/* Whether all of it is frames that an agent may send; HELLO comes first. */
static bool are_frames(const uint8_t *at, size_t left)
{
	struct tofu_agent_frame frame;

	for (bool first = true; left; first = false) {
		if (left < sizeof(frame))
			return false;
		memcpy(&frame, at, sizeof(frame));
		if (left - sizeof(frame) < frame.length ||
		    !is_size(frame.type, frame.length) ||
		    first != (frame.type == TOFU_AGENT_HELLO))
			return false;
		at += sizeof(frame) + frame.length;
		left -= sizeof(frame) + frame.length;
	}
	return true;
}

static pid_t agent_start(int own, int hosts)
{
	static char name[] = "agent";
	char *argv[] = { name, NULL };
	pid_t pid = fork();

	if (pid)
		return pid;
	close(hosts);
	agent_fd = own;
	if (!freopen("/dev/null", "w", stderr) && agent_fd < 0)
		_exit(2);
	alarm(AGENT_SECONDS);
	_exit(agent_main(1, argv));
}

/* Return: the agent's status, when what it has started has ended, too. */
static int agent_end(pid_t pid)
{
	int status = -1;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	while (wait(NULL) > 0)
		;
	return status;
}

/* An agent says why it ends, with status 1: its host has gone. */
static void agent_run(uint64_t seed)
{
	static uint8_t input[2 * TOFU_AGENT_PAYLOAD_MAX];
	static uint8_t output[4 << 20];
	size_t length = input_make(input);
	int pair[2], status;
	ssize_t got;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		fail(seed, "no sockets");
	pid = agent_start(pair[1], pair[0]);
	close(pair[1]);
	got = converse(pair[0], input, length, output, sizeof(output));
	close(pair[0]);
	if (got < 0)
		__real_kill(pid, SIGKILL);
	status = agent_end(pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
		fail(seed, "the agent has died");
	if (got < 0 || !are_frames(output, (size_t)got))
		fail(seed, "the agent's answers are no frames");
}

/* ---- The mailbox ---- */

static void mailbox_run(uint64_t seed)
{
	static uint8_t windows[TOFU_MAILBOX_BAR_WINDOWS_SIZE];
	static uint64_t regs[TOFU_MAILBOX_BAR_REGS_SIZE / 8];
	struct port port = { .fd = -1, .regs = regs, .windows = windows };
	uint8_t *payload = malloc(TOFU_AGENT_PAYLOAD_MAX);
	struct tofu_agent_frame frame;
	uint32_t length = (uint32_t)(any(2) ? any(PAYLOAD_LONG) : any(1ULL << 32));
	int err;

	memcpy(windows + TOFU_MAILBOX_RECEIVE_WINDOW, &length, sizeof(length));
	regs[TOFU_MAILBOX_RECEIVE / 8] = any(2) ? sizeof(frame) + length :
						  any(1ULL << 20);
	err = mailbox_receive(&port, &frame, payload);
	if (!err && (frame.length != length || length > TOFU_AGENT_PAYLOAD_MAX))
		fail(seed, "a frame of the mailbox is too long");
	free(payload);
}

int main(int argc, char **argv)
{
	const unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 0) :
					       1UL << 30;
	const unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	const time_t end = time(NULL) + FUZZ_SECONDS;
	unsigned long seed = first;

	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (; seed < first + seeds && (argc > 1 || time(NULL) < end); seed++) {
		state = seed * 0x9e3779b97f4a7c15ULL | 1;
		agent_run(seed);
		mailbox_run(seed);
	}
	printf("ok 1 - %lu seeds from %lu\n", seed - first, first);
	return 0;
}
