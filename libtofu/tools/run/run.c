/* SPDX-License-Identifier: MIT */
/*
 * tofu-run: start the processes of a machine's nodes, on libtofu's emu port.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
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
#include "net/shape.h"
#include "run/run.h"

/* Beside EXIT_USAGE */
#define STATUS_FAILED 125 /* tofu-run itself failed */
#define STATUS_TIMEOUT 124
#define STATUS_SIGNAL 128 /* plus the signal's number */
#define STATUS_NO_PROGRAM 127

/* Between SIGTERM and SIGKILL */
#define GRACE_MS 2000

/**
 * struct process - a process of the machine
 * @pid:    leader of a process group of its own; 0 when it has ended
 * @output: standard output and error
 */
struct process {
	pid_t pid;
	struct tofu_output output[2];
};

/**
 * struct run - the processes that are started here
 * @deadline: end of the time allowed, by now_ms(), or -1
 * @fabric:   file descriptor of the shared file
 * @signals:  signalfd for the signals that tofu-run waits for
 * @mask:     signal mask of the processes
 * @files:    limit of open files of the processes
 * @process:  @plan.processes of them
 * @living:   number of processes that still run
 * @status:   largest exit status so far
 * @bridge:   process of the bridge to other hosts, or 0
 * @stopping: SIGTERM has been sent
 * @kill_at:  when SIGKILL follows, by now_ms()
 */
struct run {
	struct tofu_plan plan;
	int64_t deadline;
	int fabric;
	int signals;
	sigset_t mask;
	struct rlimit files;
	struct process *process;
	unsigned int living;
	int status;
	pid_t bridge;
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

static void number_set(const char *name, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

/* Return: how many processors tofu-run may use. */
static unsigned int processors_count(void)
{
	cpu_set_t all;

	return sched_getaffinity(0, sizeof(all), &all) ?
		       1 :
		       (unsigned int)CPU_COUNT(&all);
}

/* What tells the process of a machine; @parent holds the shared file. */
static void machine_set(const struct run *run, unsigned int rank, pid_t parent)
{
	char shape[TOFU_SHAPE_TEXT];
	char text[64];

	/* Not /proc/self: descendants that close descriptors can open it. */
	snprintf(text, sizeof(text), "/proc/%d/fd/%d", (int)parent,
		 run->fabric);
	setenv("TOFU_FABRIC", text, 1);
	number_set("TOFU_NODE", rank / run->plan.ppn);
	number_set("TOFU_TNIS", run->plan.tnis);
	number_set("TOFU_ARMW", run->plan.armw);
	setenv("TOFU_SHAPE", tofu_shape_text(&run->plan.shape, shape), 1);
	setenv("TOFU_PORT", "emu", 1);
}

/* All nodes of a job have to give it one number: those of a machine, none. With
 * the same hosts there is one job at a time, since they listen at their ports.
 */
static pid_t job_number(const struct run *run, pid_t parent)
{
	const char *text = run->plan.hosts;
	unsigned int hash = 0;

	if (run->plan.on_node)
		return 0;
	if (!text)
		return parent;
	while (*text)
		hash = hash * 31 + (unsigned char)*text++;
	return (pid_t)(hash % INT32_MAX + 1);
}

static void environment_set(const struct run *run, unsigned int rank,
			    pid_t parent)
{
	if (!run->plan.on_node)
		machine_set(run, rank, parent);
	/* That is for the bridge. */
	unsetenv("TOFU_BRIDGE_TOKEN");
	number_set("TOFU_RANK", rank);
	number_set("TOFU_RANKS", run->plan.ranks);
	number_set("TOFU_PPN", run->plan.ppn);
	number_set("TOFU_NODES", tofu_plan_nodes(&run->plan));
	if (run->plan.mpi)
		tofu_mpi_environment(tofu_program_mpi(run->plan.program[0]),
				     job_number(run, parent),
				     run->plan.processes > processors_count());
}

/*
 * Deal out the processors that tofu-run may use: each goes to one process, or
 * to several where processors are fewer than processes.
 */
static int processors_bind(const struct run *run, unsigned int rank)
{
	const unsigned int count = processors_count();
	unsigned int nr = 0;
	cpu_set_t all, own;

	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	if (run->plan.spins && count < run->plan.processes)
		setenv("TOFU_SPINS", "1", 1);
	CPU_ZERO(&own);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nr++ % run->plan.processes == rank % count)
			CPU_SET(cpu, &own);
	return sched_setaffinity(0, sizeof(own), &own);
}

/*
 * A process may talk to all others. Its limit is the one that tofu-run was
 * started with, or as much of what it needs as the system allows.
 */
static void files_limit(const struct run *run)
{
	rlim_t enough =
		TOFU_FABRIC_OTHER_FILES +
		(rlim_t)TOFU_FABRIC_PEER_FILES * run->plan.ppn *
			tofu_shape_nodes(&run->plan.shape);
	struct rlimit limit = run->files;

	/* The driver needs no file for each peer. */
	if (run->plan.on_node)
		enough = 0;
	if (limit.rlim_cur < enough)
		limit.rlim_cur = enough < limit.rlim_max ? enough :
							   limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void input_empty(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
}

__attribute__((noreturn)) static void program_execute(const struct run *run)
{
	execvp(run->plan.program[0], run->plan.program);
	warn("%s", run->plan.program[0]);
	_exit(STATUS_NO_PROGRAM);
}

__attribute__((noreturn)) static void
process_main(const struct run *run, unsigned int rank, pid_t parent,
	     const int out[2])
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_FAILED);
	setpgid(0, 0);
	environment_set(run, rank, parent);
	if (run->plan.bind && processors_bind(run, rank)) {
		warn("cannot bind process %u to a processor", rank);
		_exit(STATUS_FAILED);
	}
	input_empty();
	if (run->plan.prefix) {
		dup2(out[0], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
	}
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	files_limit(run);
	program_execute(run);
}

static int outputs_open(const struct run *run, struct process *process,
			unsigned int rank, int out[2])
{
	int err;

	process->output[0].fd = -1;
	process->output[1].fd = -1;
	if (!run->plan.prefix)
		return 0;
	err = tofu_output_open(&process->output[0], rank, STDOUT_FILENO,
			       &out[0]);
	if (!err)
		err = tofu_output_open(&process->output[1], rank,
				       STDERR_FILENO, &out[1]);
	return err;
}

static void process_start(struct run *run, unsigned int i)
{
	struct process *process = &run->process[i];
	const unsigned int rank = run->plan.first + i;
	pid_t parent = getpid();
	int out[2] = { -1, -1 };
	int error = outputs_open(run, process, rank, out);

	if (error) {
		errno = -error;
		err(STATUS_FAILED, "cannot make a pipe for process %u", rank);
	}
	process->pid = fork();
	if (process->pid < 0)
		err(STATUS_FAILED, "cannot start process %u", rank);
	if (!process->pid)
		process_main(run, rank, parent, out);
	/* Here as well: a signal to the group must not come too early. */
	setpgid(process->pid, process->pid);
	if (run->plan.prefix) {
		close(out[0]);
		close(out[1]);
	}
	run->living++;
}

static void processes_signal(const struct run *run, int signal)
{
	for (unsigned int i = 0; i < run->plan.processes; i++)
		if (run->process[i].pid)
			kill(-run->process[i].pid, signal);
}

/* End the processes that still run; @status is the reason. */
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

/* Return: the name of a process in messages. */
static const char *process_name(const struct run *run, unsigned int rank)
{
	static char name[48];

	if (run->plan.ppn == 1)
		snprintf(name, sizeof(name), "node %u", rank);
	else
		snprintf(name, sizeof(name), "process %u (node %u)", rank,
			 rank / run->plan.ppn);
	return name;
}

/* Return: the exit status, or 0 where tofu-run itself ended the process. */
static int process_ended(struct run *run, pid_t pid, int wait_status)
{
	int status = exit_status(wait_status);
	unsigned int rank, i = 0;

	if (pid == run->bridge) {
		run->bridge = 0;
		warnx("the bridge to the other hosts has ended");
		return STATUS_FAILED;
	}
	while (i < run->plan.processes && run->process[i].pid != pid)
		i++;
	if (i == run->plan.processes)
		return 0;
	/* Descendants left in its process group end with it. */
	kill(-pid, SIGKILL);
	run->process[i].pid = 0;
	rank = run->plan.first + i;
	run->living--;
	if (!status || run->stopping)
		return 0;
	if (WIFSIGNALED(wait_status))
		warnx("%s: killed by signal %d (%s)", process_name(run, rank),
		      WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	else
		warnx("%s: exit status %d", process_name(run, rank), status);
	return status;
}

/*
 * Collect all processes that have ended before stopping others, so that
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

/* Run due timers. Return: milliseconds until the next one, or -1. */
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
	unsigned int count = 1 + 2 * run->plan.processes;
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
	for (unsigned int i = 0; i < 2 * run->plan.processes; i++)
		tofu_output_close(&run->process[i / 2].output[i % 2]);
	free(fd);
}

/* What the processes printed has to be where it was sent to. */
static void outputs_check(struct run *run)
{
	for (unsigned int i = 0; i < 2 * run->plan.processes; i++) {
		const struct tofu_output *output =
			&run->process[i / 2].output[i % 2];

		if (!output->error)
			continue;
		warnx("%s: %s, what %s printed is incomplete",
		      output->to == STDOUT_FILENO ? "standard output" :
						    "standard error",
		      strerror(output->error),
		      process_name(run, run->plan.first + i / 2));
		run->status = STATUS_FAILED;
		return;
	}
}

/* ---- Starting ---- */

static void fabric_make(struct run *run)
{
	int error;

	run->fabric = memfd_create("tofu-fabric",
				   MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (run->fabric < 0)
		err(STATUS_FAILED, "memfd_create");
	error = tofu_fabric_format(run->fabric, &run->plan.shape, run->plan.ppn);
	if (error == -EINVAL)
		errx(EXIT_USAGE,
		     "%u nodes of up to %u processes are more than the %d "
		     "processes that a machine can have",
		     tofu_shape_nodes(&run->plan.shape), run->plan.ppn,
		     TOFU_FABRIC_NODES_MAX);
	if (error) {
		errno = -error;
		err(STATUS_FAILED, "cannot make the shared file");
	}
}

/* Two pipes per process can exceed the usual limit. */
static void limits_raise(struct run *run)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &run->files);
	limit = run->files;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* On a node, a process alone takes this one's place. */
__attribute__((noreturn)) static void process_become(const struct run *run)
{
	environment_set(run, run->plan.first, 0);
	input_empty();
	program_execute(run);
}

static void processes_start(struct run *run)
{
	run->process = calloc(run->plan.processes, sizeof(*run->process));
	if (!run->process)
		err(STATUS_FAILED, "no memory");
	for (unsigned int i = 0; i < run->plan.processes; i++)
		process_start(run, i);
}

int main(int argc, char **argv)
{
	struct run run = { .fabric = -1, .deadline = -1 };

	tofu_plan_read(&run.plan, argc, argv);
	if (run.plan.timeout)
		run.deadline = now_ms() + 1000 * (int64_t)run.plan.timeout;
	if (!run.plan.on_node)
		fabric_make(&run);
	else if (run.plan.ppn == 1 && !run.plan.timeout && !run.plan.bind)
		process_become(&run);
	signals_init(&run);
	limits_raise(&run);
	if (run.plan.hosts)
		run.bridge = tofu_bridge_start(&run.plan, run.fabric,
					       &run.mask);
	processes_start(&run);
	run_wait(&run);
	if (run.bridge)
		tofu_bridge_end(run.bridge);
	if (run.plan.prefix)
		outputs_check(&run);
	free(run.process);
	return run.status;
}
