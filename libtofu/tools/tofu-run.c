/* SPDX-License-Identifier: MIT */
/*
 * tofu-run: start processes as the nodes of a machine, on libtofu's emu port.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/args.h"
#include "common/shape.h"
#include "fabric/fabric.h"
#include "port/shape.h"
#include "tofu-run.h"

#define STATUS_FAILED 125 /* of tofu-run itself */
#define STATUS_TIMEOUT 124
#define STATUS_SIGNAL 128 /* plus its number */
#define STATUS_NO_PROGRAM 127
#define STATUS_USAGE 2

/* Between SIGTERM and SIGKILL */
#define GRACE_MS 2000

static const char usage[] =
	"usage: tofu-run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"Start PROGRAM once for each node of a Tofu machine of processes, without VMs\n"
	"and without the driver.\n"
	"\n"
	"  -n, --nodes N          how many (default: all of the shape); the others stay\n"
	"                         empty\n"
	"  -s, --shape SHAPE      4, 2x2, 4x3x8 or six sizes 1x1x1x2x3x2 (default: the\n"
	"                         most cubic one of N nodes)\n"
	"  -t, --tnis N           TNIs of a node, 1 to 6 (default 4)\n"
	"      --timeout SECONDS  end all after that time\n"
	"      --no-prefix        do not begin the lines printed with '[node] '\n"
	"  -h, --help             print this and exit\n"
	"\n"
	"PROGRAM finds TOFU_NODE, TOFU_NODES and TOFU_SHAPE in its environment, as under\n"
	"tofu-cluster run. Its standard input is empty. When one process fails, the others are\n"
	"ended. Exit status: the largest of the processes, where one that was killed by\n"
	"a signal counts as 128 plus the signal; 124 after the time, 125 when tofu-run\n"
	"itself fails, 127 when PROGRAM cannot be started.\n";

/**
 * struct process - one node
 * @pid:    leader of a process group of its own; 0 when it has ended
 * @output: standard output and error
 */
struct process {
	pid_t pid;
	struct tofu_output output[2];
};

/**
 * struct run
 * @nodes:    processes
 * @shape:    of the machine
 * @tnis:     of a node
 * @prefix:   whether output goes through pipes
 * @deadline: on now_ms(), or -1
 * @program:  and its arguments
 * @fabric:   the shared file
 * @signals:  signalfd of what tofu-run waits for
 * @mask:     signal mask of the processes
 * @files:    their limit of descriptors
 * @process:  by node
 * @living:   of them
 * @status:   the largest so far
 * @stopping: SIGTERM has been sent
 * @kill_at:  when SIGKILL follows, on now_ms()
 */
struct run {
	unsigned int nodes;
	struct tofu_shape shape;
	unsigned int tnis;
	bool prefix;
	int64_t deadline;
	char **program;
	int fabric;
	int signals;
	sigset_t mask;
	struct rlimit files;
	struct process *process;
	unsigned int living;
	int status;
	bool stopping;
	int64_t kill_at;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* ---- The processes ---- */

static void environment_set(const struct run *run, unsigned int node)
{
	char shape[TOFU_SHAPE_TEXT];
	char text[64];

	/* Not /proc/self: descendants that close descriptors can open it. */
	snprintf(text, sizeof(text), "/proc/%d/fd/%d", (int)getppid(),
		 run->fabric);
	setenv("TOFU_FABRIC", text, 1);
	snprintf(text, sizeof(text), "%u", node);
	setenv("TOFU_NODE", text, 1);
	snprintf(text, sizeof(text), "%u", run->nodes);
	setenv("TOFU_NODES", text, 1);
	setenv("TOFU_SHAPE", tofu_shape_text(&run->shape, shape), 1);
	snprintf(text, sizeof(text), "%u", run->tnis);
	setenv("TOFU_TNIS", text, 1);
	setenv("TOFU_PORT", "emu", 1);
}

__attribute__((noreturn)) static void
process_main(const struct run *run, unsigned int node, pid_t parent,
	     const int out[2])
{
	int null;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_FAILED);
	setpgid(0, 0);
	environment_set(run, node);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (run->prefix) {
		dup2(out[0], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
	}
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	setrlimit(RLIMIT_NOFILE, &run->files);
	execvp(run->program[0], run->program);
	warn("%s", run->program[0]);
	_exit(STATUS_NO_PROGRAM);
}

static int outputs_open(const struct run *run, struct process *process,
			unsigned int node, int out[2])
{
	int err;

	process->output[0].fd = -1;
	process->output[1].fd = -1;
	if (!run->prefix)
		return 0;
	err = tofu_output_open(&process->output[0], node, STDOUT_FILENO,
			       &out[0]);
	if (!err)
		err = tofu_output_open(&process->output[1], node,
				       STDERR_FILENO, &out[1]);
	return err;
}

static void process_start(struct run *run, unsigned int node)
{
	struct process *process = &run->process[node];
	pid_t parent = getpid();
	int out[2] = { -1, -1 };
	int error = outputs_open(run, process, node, out);

	if (error) {
		errno = -error;
		err(STATUS_FAILED, "cannot make a pipe for node %u", node);
	}
	process->pid = fork();
	if (process->pid < 0)
		err(STATUS_FAILED, "cannot start the process of node %u", node);
	if (!process->pid)
		process_main(run, node, parent, out);
	/* Here as well: a signal to the group must not come too early. */
	setpgid(process->pid, process->pid);
	if (run->prefix) {
		close(out[0]);
		close(out[1]);
	}
	run->living++;
}

static void processes_signal(const struct run *run, int signal)
{
	for (unsigned int i = 0; i < run->nodes; i++)
		if (run->process[i].pid)
			kill(-run->process[i].pid, signal);
}

/* Ends what still runs; @status is why. */
static void run_stop(struct run *run, int status)
{
	if (status > run->status)
		run->status = status;
	if (run->stopping)
		return;
	run->stopping = true;
	run->kill_at = now_ms() + GRACE_MS;
	processes_signal(run, SIGTERM);
}

static int exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ?
		       STATUS_SIGNAL + WTERMSIG(wait_status) :
		       WEXITSTATUS(wait_status);
}

/* Return: its status, or 0 where that says nothing: it was told to end. */
static int process_ended(struct run *run, pid_t pid, int wait_status)
{
	int status = exit_status(wait_status);
	unsigned int node = 0;

	while (node < run->nodes && run->process[node].pid != pid)
		node++;
	if (node == run->nodes)
		return 0;
	/* What it has left behind in its group goes with it. */
	kill(-pid, SIGKILL);
	run->process[node].pid = 0;
	run->living--;
	if (!status || run->stopping)
		return 0;
	if (WIFSIGNALED(wait_status))
		warnx("node %u: killed by signal %d (%s)", node,
		      WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	else
		warnx("node %u: exit status %d", node, status);
	return status;
}

/*
 * All that have ended by now are looked at before others are stopped, so that
 * failures at the same time all count.
 */
static void processes_reap(struct run *run)
{
	int wait_status, worst = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		int status = process_ended(run, pid, wait_status);

		if (status > worst)
			worst = status;
	}
	if (worst)
		run_stop(run, worst);
}

/* ---- Waiting ---- */

static void signals_init(struct run *run)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	sigprocmask(SIG_BLOCK, &wanted, &run->mask);
	run->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signals < 0)
		err(STATUS_FAILED, "signalfd");
}

static void signals_read(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGCHLD)
			processes_reap(run);
		else
			run_stop(run, STATUS_SIGNAL + (int)info.ssi_signo);
}

/* Does what is due. Return: milliseconds until the next, or -1. */
static int run_timers(struct run *run)
{
	int64_t now = now_ms(), next = -1;

	if (run->stopping) {
		if (now >= run->kill_at) {
			processes_signal(run, SIGKILL);
			run->kill_at = now + GRACE_MS;
		}
		next = run->kill_at - now;
	} else if (run->deadline >= 0) {
		if (now >= run->deadline) {
			warnx("not finished when --timeout was over: ended");
			run_stop(run, STATUS_TIMEOUT);
			return 0;
		}
		next = run->deadline - now;
	}
	return (int)next;
}

static void run_wait(struct run *run)
{
	unsigned int count = 1 + 2 * run->nodes;
	struct pollfd *fd = calloc(count, sizeof(*fd));

	if (!fd)
		err(STATUS_FAILED, "no memory");
	while (run->living) {
		fd[0] = (struct pollfd){ run->signals, POLLIN, 0 };
		for (unsigned int i = 1; i < count; i++) {
			struct process *p = &run->process[(i - 1) / 2];

			fd[i] = (struct pollfd){ p->output[(i - 1) % 2].fd,
						 POLLIN, 0 };
		}
		if (poll(fd, count, run_timers(run)) <= 0)
			continue;
		for (unsigned int i = 1; i < count; i++)
			if (fd[i].revents)
				tofu_output_read(&run->process[(i - 1) / 2]
							  .output[(i - 1) % 2]);
		if (fd[0].revents)
			signals_read(run);
	}
	for (unsigned int i = 0; i < 2 * run->nodes; i++)
		tofu_output_close(&run->process[i / 2].output[i % 2]);
	free(fd);
}

/* ---- Starting ---- */

static void fabric_make(struct run *run)
{
	int error;

	run->fabric = memfd_create("tofu-fabric",
				   MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (run->fabric < 0)
		err(STATUS_FAILED, "memfd_create");
	error = tofu_fabric_format(run->fabric, &run->shape);
	if (error) {
		errno = -error;
		err(STATUS_FAILED, "cannot make the shared file");
	}
}

/* Two pipes a node can be more than the usual limit. */
static void limits_raise(struct run *run)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &run->files);
	limit = run->files;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* From @nodes, the shape, or both. */
static void shape_settle(struct run *run, bool shape_given)
{
	if (!shape_given) {
		if (!run->nodes)
			run->nodes = 1;
		if (tofu_shape_of_count(run->nodes, &run->shape))
			errx(STATUS_USAGE,
			     "no torus has %u nodes: name a larger --shape",
			     run->nodes);
		return;
	}
	if (!run->nodes)
		run->nodes = tofu_shape_nodes(&run->shape);
	if (run->nodes > tofu_shape_nodes(&run->shape))
		errx(STATUS_USAGE, "--nodes: the shape has fewer than %u nodes",
		     run->nodes);
}

enum { OPTION_TIMEOUT = 256, OPTION_NO_PREFIX };

static const struct option options[] = {
	{ "nodes", required_argument, NULL, 'n' },
	{ "shape", required_argument, NULL, 's' },
	{ "tnis", required_argument, NULL, 't' },
	{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
	{ "no-prefix", no_argument, NULL, OPTION_NO_PREFIX },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void arguments_read(struct run *run, int argc, char **argv)
{
	bool shape = false;
	int c;

	while ((c = getopt_long(argc, argv, "+n:s:t:h", options, NULL)) >= 0) {
		switch (c) {
		case 'n':
			run->nodes = (unsigned int)tofu_arg_number(
				"--nodes", optarg, 1, TOFU_FABRIC_NODES_MAX);
			break;
		case 's':
			tofu_arg_shape("--shape", optarg, &run->shape);
			shape = true;
			break;
		case 't':
			run->tnis = (unsigned int)tofu_arg_number(
				"--tnis", optarg, 1, TOFU_TNIS_MAX);
			break;
		case OPTION_TIMEOUT:
			run->deadline = now_ms() +
					1000 * (int64_t)tofu_arg_number(
						       "--timeout", optarg, 1,
						       1000000);
			break;
		case OPTION_NO_PREFIX:
			run->prefix = false;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs("Try 'tofu-run --help'.\n", stderr);
			exit(STATUS_USAGE);
		}
	}
	if (optind == argc)
		errx(STATUS_USAGE, "no program; try 'tofu-run --help'");
	run->program = argv + optind;
	shape_settle(run, shape);
}

int main(int argc, char **argv)
{
	struct run run = {
		.tnis = TOFU_TNIS_DEFAULT,
		.prefix = true,
		.deadline = -1,
	};

	arguments_read(&run, argc, argv);
	fabric_make(&run);
	signals_init(&run);
	limits_raise(&run);
	run.process = calloc(run.nodes, sizeof(*run.process));
	if (!run.process)
		err(STATUS_FAILED, "no memory");
	for (unsigned int i = 0; i < run.nodes; i++)
		process_start(&run, i);
	run_wait(&run);
	free(run.process);
	return run.status;
}
