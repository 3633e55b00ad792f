// SPDX-License-Identifier: MIT
/* Programs that the host starts: their processes, pipes and terminals. */

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "port.h"

#define OUTPUT_READ (32 << 10)
/* Reads that empty a full pipe, which holds 64 KiB. */
#define LAST_READS 4

/**
 * struct job - a running program
 * @pid: its first process, leader of its session; 0 marks a free slot
 * @id: the host's number for it
 * @in: its input, or the terminal; -1 when closed
 * @out: descriptors to read its output from (STDOUT, STDERR); -1 when closed
 * @pty: @in and @out[0] are a terminal
 * @kept: input that the program has not taken yet
 * @kept_length: bytes of it
 * @ending: @in is to be closed after that
 */
struct job {
	pid_t pid;
	uint16_t id;
	int in;
	int out[JOB_FDS];
	int pty;
	char *kept;
	size_t kept_length;
	int ending;
};

static struct job jobs[JOB_MAX];

static struct job *job_find(uint16_t id)
{
	for (int i = 0; i < JOB_MAX; i++)
		if (jobs[i].pid && jobs[i].id == id)
			return &jobs[i];
	return NULL;
}

static struct job *job_free_slot(void)
{
	for (int i = 0; i < JOB_MAX; i++)
		if (!jobs[i].pid)
			return &jobs[i];
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A parsed request: the strings point into the request. */
struct command {
	uint32_t flags;
	struct winsize size;
	const char *cwd;
	char **argv;
	char **env;
	uint32_t envc;
};

static void command_destroy(struct command *command)
{
	free(command->argv);
	free(command->env);
}

/* The next NUL-ended string before @end, or NULL. */
static const char *take_string(const char **at, const char *end)
{
	const char *start = *at;
	const char *nul = memchr(start, '\0', (size_t)(end - start));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return start;
}

static char **take_strings(const char **at, const char *end, uint32_t count)
{
	char **list = calloc((size_t)count + 1, sizeof(*list));

	for (uint32_t i = 0; list && i < count; i++) {
		list[i] = (char *)take_string(at, end);
		if (!list[i]) {
			free(list);
			return NULL;
		}
	}
	return list;
}

static int command_parse(struct command *command, const void *request, size_t length)
{
	const struct tofu_agent_exec *exec = request;
	const char *at = exec->strings;
	const char *end = (const char *)request + length;

	memset(command, 0, sizeof(*command));
	/* Each string takes at least a byte, which bounds the counts. */
	if (length < sizeof(*exec) || !exec->argc || exec->argc > length || exec->envc > length)
		return -EINVAL;
	command->flags = exec->flags;
	command->size.ws_row = exec->rows;
	command->size.ws_col = exec->columns;
	command->envc = exec->envc;
	command->cwd = take_string(&at, end);
	if (!command->cwd)
		return -EINVAL;
	command->argv = take_strings(&at, end, exec->argc);
	command->env = command->argv ? take_strings(&at, end, exec->envc) : NULL;
	if (command->env)
		return 0;
	command_destroy(command);
	return -EINVAL;
}

/* In the child, with its descriptors in place: does not return. */
static void __attribute__((noreturn)) command_exec(const struct command *command)
{
	sigset_t none;
	int status;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	for (uint32_t i = 0; i < command->envc; i++)
		putenv(command->env[i]);
	if (chdir(command->cwd)) {
		dprintf(STDERR_FILENO, "tofu-agent: %s: %s\n", command->cwd, strerror(errno));
		_exit(126);
	}
	execvp(command->argv[0], command->argv);
	/* The shell's convention: 127 for a missing program, else 126. */
	status = errno == ENOENT ? 127 : 126;
	dprintf(STDERR_FILENO, "tofu-agent: %s: %s\n", command->argv[0], strerror(errno));
	_exit(status);
}

static int spawn_pty(struct job *job, const struct command *command)
{
	int master;
	pid_t pid = forkpty(&master, NULL, NULL, &command->size);

	if (pid < 0)
		return -errno;
	if (!pid)
		command_exec(command);
	fcntl(master, F_SETFD, FD_CLOEXEC);
	fcntl(master, F_SETFL, O_NONBLOCK);
	*job = (struct job){
		.pid = pid, .in = master, .out = { fcntl(master, F_DUPFD_CLOEXEC, 0), -1 },
		.pty = 1,
	};
	return 0;
}

static void close_pipes(int pipes[3][2])
{
	for (int i = 0; i < 3; i++) {
		close_fd(&pipes[i][0]);
		close_fd(&pipes[i][1]);
	}
}

static int spawn_pipes(struct job *job, const struct command *command)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	pid_t pid = -1;
	int err = 0;

	for (int i = 0; i < 3 && !err; i++)
		if (pipe2(pipes[i], O_CLOEXEC))
			err = -errno;
	if (!err) {
		pid = fork();
		if (pid < 0)
			err = -errno;
	}
	if (err) {
		close_pipes(pipes);
		return err;
	}
	if (!pid) {
		setsid();
		dup2(pipes[0][0], STDIN_FILENO);
		dup2(pipes[1][1], STDOUT_FILENO);
		dup2(pipes[2][1], STDERR_FILENO);
		command_exec(command);
	}
	*job = (struct job){
		.pid = pid, .in = pipes[0][1], .out = { pipes[1][0], pipes[2][0] },
	};
	fcntl(job->in, F_SETFL, O_NONBLOCK);
	fcntl(job->out[0], F_SETFL, O_NONBLOCK);
	fcntl(job->out[1], F_SETFL, O_NONBLOCK);
	pipes[0][1] = pipes[1][0] = pipes[2][0] = -1;
	close_pipes(pipes);
	return 0;
}

int job_start(uint16_t id, const void *request, size_t length)
{
	struct job *job = job_free_slot();
	struct command command;
	int err;

	if (!job || job_find(id))
		return -EBUSY;
	err = command_parse(&command, request, length);
	if (err)
		return err;
	if (command.flags & TOFU_AGENT_EXEC_PTY)
		err = spawn_pty(job, &command);
	else
		err = spawn_pipes(job, &command);
	if (!err)
		job->id = id;
	command_destroy(&command);
	return err;
}

static void input_close(struct job *job)
{
	close_fd(&job->in);
	free(job->kept);
	job->kept = NULL;
	job->kept_length = 0;
}

/* Gives the program as much of the kept input as it takes now. */
static void input_push(struct job *job)
{
	ssize_t put = 0;

	if (job->kept_length)
		put = write(job->in, job->kept, job->kept_length);
	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		input_close(job);
		return;
	}
	if (put > 0) {
		job->kept_length -= (size_t)put;
		memmove(job->kept, job->kept + put, job->kept_length);
	}
	if (!job->kept_length && job->ending)
		input_close(job);
}

void job_input(uint16_t id, const void *data, size_t length)
{
	struct job *job = job_find(id);
	char *kept;

	if (!job || job->in < 0)
		return;
	if (!length) {
		/* A terminal's end of input is a key only. */
		job->ending = !job->pty;
		input_push(job);
		return;
	}
	kept = job->kept_length + length > JOB_INPUT_MAX ?
		       NULL : realloc(job->kept, job->kept_length + length);
	if (!kept) {
		input_close(job);
		return;
	}
	memcpy(kept + job->kept_length, data, length);
	job->kept = kept;
	job->kept_length += length;
	input_push(job);
}

void job_resize(uint16_t id, uint16_t rows, uint16_t columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };
	struct job *job = job_find(id);

	if (job && job->pty && job->in >= 0)
		ioctl(job->in, TIOCSWINSZ, &size);
}

void job_signal(uint16_t id, int signo)
{
	struct job *job = job_find(id);

	if (job)
		kill(-job->pid, signo);
}

nfds_t job_poll_fill(struct pollfd *fds)
{
	nfds_t count = 0;

	for (int i = 0; i < JOB_MAX; i++) {
		const struct job *job = &jobs[i];

		if (!job->pid)
			continue;
		for (int stream = 0; stream < JOB_FDS; stream++)
			if (job->out[stream] >= 0)
				fds[count++] = (struct pollfd){
					.fd = job->out[stream], .events = POLLIN,
				};
		if (job->kept_length)
			fds[count++] = (struct pollfd){ .fd = job->in, .events = POLLOUT };
	}
	return count;
}

/* Forwards one buffer of output; returns whether there may be more. */
static int job_forward(struct port *port, struct job *job, int stream)
{
	static char buffer[OUTPUT_READ];
	ssize_t got = read(job->out[stream], buffer, sizeof(buffer));

	if (got > 0) {
		port_send(port, stream ? TOFU_AGENT_STDERR : TOFU_AGENT_STDOUT, job->id, buffer,
			  (size_t)got);
		return 1;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	close_fd(&job->out[stream]);
	return 0;
}

static void job_handle(struct port *port, struct job *job, const struct pollfd *ready)
{
	if (ready->events == POLLOUT) {
		if (job->kept_length && job->in == ready->fd)
			input_push(job);
		return;
	}
	for (int stream = 0; stream < JOB_FDS; stream++)
		if (job->out[stream] == ready->fd)
			job_forward(port, job, stream);
}

void job_poll_handle(struct port *port, const struct pollfd *fds, nfds_t count)
{
	for (nfds_t n = 0; n < count; n++)
		for (int i = 0; fds[n].revents && i < JOB_MAX; i++)
			if (jobs[i].pid)
				job_handle(port, &jobs[i], &fds[n]);
}

static void job_finish(struct port *port, struct job *job, int wait_status)
{
	uint32_t status = (uint32_t)wait_status;

	/*
	 * What it wrote before it ended is in the pipes now. A process that it
	 * left behind may hold them open and write more: do not wait for that.
	 */
	for (int stream = 0; stream < JOB_FDS; stream++)
		for (int i = 0; i < LAST_READS && job->out[stream] >= 0; i++)
			if (!job_forward(port, job, stream))
				break;
	port_send(port, TOFU_AGENT_EXIT, job->id, &status, sizeof(status));
	input_close(job);
	close_fd(&job->out[0]);
	close_fd(&job->out[1]);
	job->pid = 0;
}

void job_reap(struct port *port)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < JOB_MAX; i++)
			if (jobs[i].pid == pid)
				job_finish(port, &jobs[i], status);
}
