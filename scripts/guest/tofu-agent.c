// SPDX-License-Identifier: MIT
/*
 * The host's agent in a guest: runs programs, takes files. Process 1 of the
 * guest, started by /init when the guest is set up.
 *
 * usage: tofu-agent [FILE], a file with earlier errors
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "mailbox.h"
#include "port.h"

/* In virtual time; far longer than a packet is under way */
#define SETTLE_USEC 1000

static const char *trouble_file;
static _Alignas(8) uint8_t received[TOFU_AGENT_PAYLOAD_MAX];

/* An incoming file, one at a time: the host waits for each. */
static struct {
	int fd;
	int err;
	char path[4096];
	char scratch[4096 + 8];
} incoming = { .fd = -1 };

/* A file may need new folders. */
static void make_folders_of(const char *path)
{
	char folder[sizeof(incoming.path)];

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0755);
		*slash = '/';
	}
}

static void file_open(const uint8_t *payload, size_t length)
{
	uint32_t mode;

	if (incoming.fd >= 0)
		close(incoming.fd);
	incoming.fd = -1;
	incoming.err = EINVAL;
	if (length <= sizeof(mode) || length - sizeof(mode) >= sizeof(incoming.path))
		return;
	memcpy(&mode, payload, sizeof(mode));
	memcpy(incoming.path, payload + sizeof(mode), length - sizeof(mode));
	incoming.path[length - sizeof(mode)] = '\0';
	make_folders_of(incoming.path);
	/* A running program cannot be written, but its name can be replaced. */
	snprintf(incoming.scratch, sizeof(incoming.scratch), "%s.new", incoming.path);
	incoming.fd = open(incoming.scratch, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	incoming.err = incoming.fd < 0 ? errno : 0;
	if (!incoming.err && fchmod(incoming.fd, mode & 07777))
		incoming.err = errno;
}

static void file_data(const uint8_t *payload, size_t length)
{
	while (length && !incoming.err) {
		ssize_t put = write(incoming.fd, payload, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			incoming.err = errno;
			return;
		}
		payload += put;
		length -= (size_t)put;
	}
}

static void file_close(struct port *port, uint16_t job)
{
	uint32_t err;

	if (incoming.fd < 0 && !incoming.err)
		incoming.err = EBADF;
	if (incoming.fd >= 0 && close(incoming.fd) && !incoming.err)
		incoming.err = errno;
	if (!incoming.err && rename(incoming.scratch, incoming.path))
		incoming.err = errno;
	if (incoming.err && incoming.fd >= 0)
		unlink(incoming.scratch);
	incoming.fd = -1;
	err = (uint32_t)incoming.err;
	incoming.err = EBADF;
	port_send(port, TOFU_AGENT_FILE_DONE, job, &err, sizeof(err));
}

static void name_set(struct port *port, const void *payload, size_t length)
{
	uint32_t err = sethostname(payload, length) ? (uint32_t)errno : 0;

	port_send(port, TOFU_AGENT_NAMED, 0, &err, sizeof(err));
}

static void exec_start(struct port *port, uint16_t job, const void *payload, size_t length)
{
	uint32_t status = 126u << 8;
	char text[128];
	int err = job_start(job, payload, length);

	if (!err)
		return;
	snprintf(text, sizeof(text), "tofu-agent: cannot start a program: %s\n", strerror(-err));
	port_send(port, TOFU_AGENT_STDERR, job, text, strlen(text));
	port_send(port, TOFU_AGENT_EXIT, job, &status, sizeof(status));
}

static void frame_handle(struct port *port, const struct tofu_agent_frame *frame,
			 const void *payload)
{
	uint16_t size[2];
	uint32_t signo;

	switch (frame->type) {
	case TOFU_AGENT_EXEC:
		exec_start(port, frame->job, payload, frame->length);
		break;
	case TOFU_AGENT_STDIN:
		job_input(frame->job, payload, frame->length);
		break;
	case TOFU_AGENT_RESIZE:
		if (frame->length != sizeof(size))
			break;
		memcpy(size, payload, sizeof(size));
		job_resize(frame->job, size[0], size[1]);
		break;
	case TOFU_AGENT_SIGNAL:
		if (frame->length != sizeof(signo))
			break;
		memcpy(&signo, payload, sizeof(signo));
		job_signal(frame->job, (int)signo);
		break;
	case TOFU_AGENT_FILE_OPEN:
		file_open(payload, frame->length);
		break;
	case TOFU_AGENT_FILE_DATA:
		file_data(payload, frame->length);
		break;
	case TOFU_AGENT_FILE_CLOSE:
		file_close(port, frame->job);
		break;
	case TOFU_AGENT_NAME:
		name_set(port, payload, frame->length);
		break;
	case TOFU_AGENT_PING:
		port_send(port, TOFU_AGENT_PONG, frame->job, payload, frame->length);
		break;
	default:
		fprintf(stderr, "tofu-agent: unknown frame %u\n", frame->type);
	}
}

/* Sends HELLO or STARTED with the errors so far. */
static int report_send(struct port *port, uint16_t type)
{
	struct {
		uint32_t version;
		char trouble[8192];
	} report = { .version = TOFU_AGENT_VERSION };
	int fd = trouble_file ? open(trouble_file, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got = 0;
	int err;

	if (fd >= 0) {
		got = read(fd, report.trouble, sizeof(report.trouble));
		close(fd);
	}
	if (got < 0)
		got = 0;
	err = port_send(port, type, 0, &report, sizeof(report.version) + (size_t)got);
	return err ? err : (int)got;
}

static int child_signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Loads the interconnect's driver. */
static void driver_load(void)
{
	pid_t pid = fork();

	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/etc/load-modules", "load-modules", "/etc/modules.tofu", (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* One signal may stand for several children. */
static void children_ended(struct port *port, int children)
{
	struct signalfd_siginfo info;

	/* Lets packets of the programs arrive before the host ends the run. */
	if (port_is_mailbox(port))
		usleep(SETTLE_USEC);
	while (read(children, &info, sizeof(info)) > 0)
		;
	job_reap(port);
}

static int serve(struct port *port, int children)
{
	static struct pollfd fds[2 + JOB_POLL_MAX];

	for (;;) {
		struct tofu_agent_frame frame;
		nfds_t count;
		int err;

		fds[0] = (struct pollfd){ .fd = port->fd, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = children, .events = POLLIN };
		count = job_poll_fill(fds + 2);
		if (poll(fds, 2 + count, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		job_poll_handle(port, fds + 2, count);
		if (fds[1].revents)
			children_ended(port, children);
		if (!fds[0].revents)
			continue;
		err = port_receive(port, &frame, received);
		if (err)
			return err;
		frame_handle(port, &frame, received);
	}
}

/* Virtual time: takes files until a program comes, and starts that. */
static int take_program(struct port *port)
{
	struct tofu_agent_frame frame;
	int trouble;

	for (;;) {
		int err = port_receive(port, &frame, received);

		if (err)
			return err;
		if (frame.type == TOFU_AGENT_EXEC || frame.type == TOFU_AGENT_REST)
			break;
		frame_handle(port, &frame, received);
	}
	driver_load();
	trouble = report_send(port, TOFU_AGENT_STARTED);
	if (!trouble && frame.type == TOFU_AGENT_EXEC) {
		frame_handle(port, &frame, received);
		/* No more input is read. */
		job_input(frame.job, NULL, 0);
	}
	return trouble < 0 ? trouble : 0;
}

static int begin(struct port *port)
{
	int err;

	if (!port_is_mailbox(port))
		driver_load();
	err = report_send(port, TOFU_AGENT_HELLO);
	if (err < 0)
		return err;
	if (port_is_mailbox(port))
		mailbox_wait(port);
	return port_is_mailbox(port) ? take_program(port) : 0;
}

int main(int argc, char **argv)
{
	int children = child_signal_fd();
	struct port port;
	int err = port_open(&port);

	trouble_file = argc > 1 ? argv[1] : NULL;
	if (err || children < 0) {
		fprintf(stderr, "tofu-agent: no way to the host: %s\n",
			strerror(err ? -err : errno));
		return 1;
	}
	err = begin(&port);
	if (!err)
		err = serve(&port, children);
	fprintf(stderr, "tofu-agent: %s\n", strerror(-err));
	return 1;
}
