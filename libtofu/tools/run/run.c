/* SPDX-License-Identifier: MIT */
/*
 * tofu-run: start the processes of a machine's nodes, on libtofu's emu port.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
#include "common/armw.h"
#include "common/shape.h"
#include "fabric/fabric.h"
#include "net/machine.h"
#include "net/shape.h"
#include "run/run.h"

#define STATUS_FAILED 125 /* tofu-run itself failed */
#define STATUS_TIMEOUT 124
#define STATUS_SIGNAL 128 /* plus the signal's number */
#define STATUS_NO_PROGRAM 127

/* Between SIGTERM and SIGKILL */
#define GRACE_MS 2000

static const char usage[] =
	"usage: tofu-run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"Start PROGRAM as the processes of a Tofu machine, one or more on each node,\n"
	"without VMs and without the driver.\n"
	"\n"
	"  -n, --processes N      how many (default: as many as fit the shape)\n"
	"      --nodes N          the same, counted in nodes; the shape's others stay empty\n"
	"  -p, --ppn N            processes a node (default 1): processes 0 to N - 1 are on\n"
	"                         node 0, and so on\n"
	"  -s, --shape SHAPE      4, 2x2, 4x3x8 or six sizes 1x1x1x2x3x2 (default: the\n"
	"                         most cubic one of so many nodes)\n"
	"  -m, --machine NAME     as many TNIs as on k, fx10, fx100 (4) or fugaku (6), and\n"
	"                         without remote atomics on k and fx10\n"
	"      --armw on|off      remote atomics (default: as the machine; on without one)\n"
	"  -t, --tnis N           TNIs of a node, 1 to 6 (default 4); programs that abort\n"
	"                         with fewer than six want 6\n"
	"      --timeout SECONDS  end all after that time\n"
	"      --no-prefix        do not begin the lines printed with '[process] '\n"
	"      --bind             give each process processors of its own; where there are\n"
	"                         fewer than processes, one that it shares with others\n"
	"      --spins            PROGRAM waits for words in memory without calling the\n"
	"                         library: --bind, and quicker turns on shared processors\n"
	"      --mpi              PROGRAM uses Open MPI: its messages go over Tofu\n"
	"      --print-env        print what mpirun's ranks need in their environment for\n"
	"                         that, and exit\n"
	"  -h, --help             print this and exit\n"
	"\n"
	"PROGRAM finds TOFU_RANK, TOFU_RANKS, TOFU_PPN, TOFU_NODE, TOFU_NODES and\n"
	"TOFU_SHAPE in its environment. Its standard input is empty. When one process\n"
	"fails, the others are ended. Exit status: the largest of the processes, where\n"
	"one that was killed by a signal counts as 128 plus the signal; 2 for wrong\n"
	"options and for MPI programs without --mpi, 124 after the time, 125 when\n"
	"tofu-run itself fails, 127 when PROGRAM cannot be started.\n";

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
 * struct run - the machine and its processes
 * @processes: number of processes
 * @ppn:      processes of a node
 * @shape:    shape of the machine
 * @tnis:     TNIs of a node
 * @armw:     there are remote atomics
 * @prefix:   whether output goes through pipes
 * @bind:     whether processes are bound to processors
 * @spins:    whether they spin on memory
 * @mpi:      whether they are ranks of an MPI over Tofu
 * @deadline: end of the time allowed, by now_ms(), or -1
 * @program:  program and its arguments
 * @fabric:   file descriptor of the shared file
 * @signals:  signalfd for the signals that tofu-run waits for
 * @mask:     signal mask of the processes
 * @files:    limit of open files of the processes
 * @process:  processes by rank
 * @living:   number of processes that still run
 * @status:   largest exit status so far
 * @stopping: SIGTERM has been sent
 * @kill_at:  when SIGKILL follows, by now_ms()
 */
struct run {
	unsigned int processes;
	unsigned int ppn;
	struct tofu_shape shape;
	unsigned int tnis;
	bool armw;
	bool prefix;
	bool bind;
	bool spins;
	bool mpi;
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

static unsigned int nodes_of(const struct run *run)
{
	return (run->processes + run->ppn - 1) / run->ppn;
}

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

static void environment_set(const struct run *run, unsigned int rank)
{
	char shape[TOFU_SHAPE_TEXT];
	char text[64];

	/* Not /proc/self: descendants that close descriptors can open it. */
	snprintf(text, sizeof(text), "/proc/%d/fd/%d", (int)getppid(),
		 run->fabric);
	setenv("TOFU_FABRIC", text, 1);
	number_set("TOFU_RANK", rank);
	number_set("TOFU_RANKS", run->processes);
	number_set("TOFU_PPN", run->ppn);
	number_set("TOFU_NODE", rank / run->ppn);
	number_set("TOFU_NODES", nodes_of(run));
	number_set("TOFU_TNIS", run->tnis);
	number_set("TOFU_ARMW", run->armw);
	setenv("TOFU_SHAPE", tofu_shape_text(&run->shape, shape), 1);
	setenv("TOFU_PORT", "emu", 1);
	if (run->mpi)
		tofu_mpi_environment(getppid(),
				     run->processes > processors_count());
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
	if (run->spins && count < run->processes)
		setenv("TOFU_SPINS", "1", 1);
	CPU_ZERO(&own);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nr++ % run->processes == rank % count)
			CPU_SET(cpu, &own);
	return sched_setaffinity(0, sizeof(own), &own);
}

/*
 * A process may talk to all others. Its limit is the one that tofu-run was
 * started with, or as much of what it needs as the system allows.
 */
static void files_limit(const struct run *run)
{
	const rlim_t enough =
		TOFU_FABRIC_OTHER_FILES +
		(rlim_t)TOFU_FABRIC_PEER_FILES * run->ppn *
			tofu_shape_nodes(&run->shape);
	struct rlimit limit = run->files;

	if (limit.rlim_cur < enough)
		limit.rlim_cur = enough < limit.rlim_max ? enough :
							   limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

__attribute__((noreturn)) static void
process_main(const struct run *run, unsigned int rank, pid_t parent,
	     const int out[2])
{
	int null;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_FAILED);
	setpgid(0, 0);
	environment_set(run, rank);
	if (run->bind && processors_bind(run, rank)) {
		warn("cannot bind process %u to a processor", rank);
		_exit(STATUS_FAILED);
	}
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (run->prefix) {
		dup2(out[0], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
	}
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	files_limit(run);
	execvp(run->program[0], run->program);
	warn("%s", run->program[0]);
	_exit(STATUS_NO_PROGRAM);
}

static int outputs_open(const struct run *run, struct process *process,
			unsigned int rank, int out[2])
{
	int err;

	process->output[0].fd = -1;
	process->output[1].fd = -1;
	if (!run->prefix)
		return 0;
	err = tofu_output_open(&process->output[0], rank, STDOUT_FILENO,
			       &out[0]);
	if (!err)
		err = tofu_output_open(&process->output[1], rank,
				       STDERR_FILENO, &out[1]);
	return err;
}

static void process_start(struct run *run, unsigned int rank)
{
	struct process *process = &run->process[rank];
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
	if (run->prefix) {
		close(out[0]);
		close(out[1]);
	}
	run->living++;
}

static void processes_signal(const struct run *run, int signal)
{
	for (unsigned int i = 0; i < run->processes; i++)
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

	if (run->ppn == 1)
		snprintf(name, sizeof(name), "node %u", rank);
	else
		snprintf(name, sizeof(name), "process %u (node %u)", rank,
			 rank / run->ppn);
	return name;
}

/* Return: the exit status, or 0 where tofu-run itself ended the process. */
static int process_ended(struct run *run, pid_t pid, int wait_status)
{
	int status = exit_status(wait_status);
	unsigned int rank = 0;

	while (rank < run->processes && run->process[rank].pid != pid)
		rank++;
	if (rank == run->processes)
		return 0;
	/* Descendants left in its process group end with it. */
	kill(-pid, SIGKILL);
	run->process[rank].pid = 0;
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
	unsigned int count = 1 + 2 * run->processes;
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
	for (unsigned int i = 0; i < 2 * run->processes; i++)
		tofu_output_close(&run->process[i / 2].output[i % 2]);
	free(fd);
}

/* What the processes printed has to be where it was sent to. */
static void outputs_check(struct run *run)
{
	for (unsigned int i = 0; i < 2 * run->processes; i++) {
		const struct tofu_output *output =
			&run->process[i / 2].output[i % 2];

		if (!output->error)
			continue;
		warnx("%s: %s, what %s printed is incomplete",
		      output->to == STDOUT_FILENO ? "standard output" :
						    "standard error",
		      strerror(output->error), process_name(run, i / 2));
		run->status = STATUS_FAILED;
		return;
	}
}

/* ---- MPI programs ---- */

/* Print a word quoted for a shell. */
static void word_print(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	if (*word && !word[strspn(word, plain)]) {
		fprintf(stderr, " %s", word);
		return;
	}
	fputs(" '", stderr);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", stderr);
		else
			fputc(*word, stderr);
	fputc('\'', stderr);
}

/*
 * Print what mpirun's ranks need in the environment beside the defaults, with
 * @before and @after each.
 */
static void machine_print(const struct run *run, FILE *to, const char *before,
			  const char *after)
{
	char text[TOFU_SHAPE_TEXT];
	struct tofu_shape usual;

	if (tofu_shape_of_count(nodes_of(run), &usual) ||
	    memcmp(&usual, &run->shape, sizeof(usual)))
		fprintf(to, "%sTOFU_SHAPE=%s%s", before,
			tofu_shape_text(&run->shape, text), after);
	if (run->ppn != 1)
		fprintf(to, "%sTOFU_PPN=%u%s", before, run->ppn, after);
	if (run->tnis != TOFU_TNIS_DEFAULT)
		fprintf(to, "%sTOFU_TNIS=%u%s", before, run->tnis, after);
	if (!run->armw)
		fprintf(to, "%sTOFU_ARMW=0%s", before, after);
}

__attribute__((noreturn)) static void mpi_refuse(const struct run *run)
{
	warnx("%s is an MPI program, which mpirun starts:", run->program[0]);
	fputc(' ', stderr);
	machine_print(run, stderr, " ", "");
	fprintf(stderr, " mpirun -n %u", run->processes);
	for (char **word = run->program; *word; word++)
		word_print(*word);
	fputs("\nPut 'env' before its name to start it here all the same; then "
	      "each process is\nan MPI job of its own. With --mpi its messages "
	      "go over Tofu, too: see tofu-run(1).\n",
	      stderr);
	exit(EXIT_USAGE);
}

static void mpi_check(const struct run *run)
{
	const enum tofu_mpi mpi = tofu_program_mpi(run->program[0]);

	if (mpi && !run->mpi)
		mpi_refuse(run);
	if (run->mpi && run->ppn > run->tnis)
		errx(EXIT_USAGE,
		     "--mpi: each process has a TNI of its own, and nodes have "
		     "%u for %u processes; see --tnis",
		     run->tnis, run->ppn);
	if (mpi == TOFU_MPI_MPICH)
		errx(EXIT_USAGE,
		     "--mpi: %s uses MPICH; only Open MPI finds Tofu so: build "
		     "it with mpicc.openmpi",
		     run->program[0]);
}

/* ---- Starting ---- */

static void fabric_make(struct run *run)
{
	int error;

	run->fabric = memfd_create("tofu-fabric",
				   MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (run->fabric < 0)
		err(STATUS_FAILED, "memfd_create");
	error = tofu_fabric_format(run->fabric, &run->shape, run->ppn);
	if (error == -EINVAL)
		errx(EXIT_USAGE,
		     "%u nodes of up to %u processes are more than the %d "
		     "processes that a machine can have",
		     tofu_shape_nodes(&run->shape), run->ppn,
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

/* Settle processes and shape when one of them or both are given. */
static void shape_settle(struct run *run, bool shape_given)
{
	if (!run->processes)
		run->processes = run->ppn * (shape_given ?
						     tofu_shape_nodes(
							     &run->shape) :
						     1);
	if (!shape_given) {
		if (tofu_shape_of_count(nodes_of(run), &run->shape))
			errx(EXIT_USAGE,
			     "no torus has %u nodes: name a larger --shape",
			     nodes_of(run));
		return;
	}
	if (nodes_of(run) > tofu_shape_nodes(&run->shape))
		errx(EXIT_USAGE,
		     "--shape has %u nodes, too few for %u processes of which "
		     "%u fit a node; see --ppn",
		     tofu_shape_nodes(&run->shape), run->processes, run->ppn);
}

static const struct tofu_preset *machine_find(const char *name)
{
	const struct tofu_preset *machine = tofu_preset_find(name);

	if (!machine)
		errx(EXIT_USAGE,
		     "--machine: no '%s'; there are k, fx10, fx100, fugaku",
		     name);
	return machine;
}

/**
 * struct command - the command line
 * @nodes:   number of nodes; 0: @run.processes is given instead
 * @machine: NULL: none
 * @tnis:    number of TNIs; 0: as the machine has
 * @armw:    enum tofu_armw_choice
 * @timeout: seconds, or 0 for none
 * @shape:   @run.shape was given
 * @print:   only print the environment
 */
struct command {
	struct run run;
	unsigned int nodes;
	const struct tofu_preset *machine;
	unsigned int tnis;
	unsigned int armw;
	unsigned int timeout;
	bool shape;
	bool print;
};

/* The last of --processes and --nodes counts. */
static void processes_take(void *to, const char *option, const char *text)
{
	struct command *command = to;

	command->run.processes = (unsigned int)tofu_arg_number(
		option, text, 1, TOFU_FABRIC_NODES_MAX);
	command->nodes = 0;
}

static void machine_take(void *command, const char *option, const char *text)
{
	(void)option;
	((struct command *)command)->machine = machine_find(text);
}

static void shape_take(void *to, const char *option, const char *text)
{
	struct command *command = to;

	tofu_arg_shape(option, text, &command->run.shape);
	command->shape = true;
}

static void spins_take(void *to, const char *option, const char *text)
{
	struct command *command = to;

	(void)option, (void)text;
	command->run.bind = true;
	command->run.spins = true;
}

#define AT(member) TOFU_AT(struct command, member)
#define NUMBER(member, most) \
	.kind = TOFU_ARG_NUMBER, AT(member), .min = 1, .max = most
#define SET(member, value) .kind = TOFU_ARG_SET, AT(member), .min = value
#define TAKE(function) .kind = TOFU_ARG_TAKE, .take = function

static const struct tofu_option table[] = {
	{ "processes", TAKE(processes_take), .letter = 'n' },
	{ "nodes", NUMBER(nodes, TOFU_FABRIC_NODES_MAX) },
	{ "ppn", NUMBER(run.ppn, TOFU_FABRIC_PPN_MAX), .letter = 'p' },
	{ "machine", TAKE(machine_take), .letter = 'm' },
	{ "shape", TAKE(shape_take), .letter = 's' },
	{ "tnis", NUMBER(tnis, TOFU_TNIS_MAX), .letter = 't' },
	{ "armw", TOFU_ARG_WORD, AT(armw), .words = tofu_armw_words },
	{ "timeout", NUMBER(timeout, 1000000) },
	{ "no-prefix", SET(run.prefix, false) },
	{ "bind", SET(run.bind, true) },
	{ "spins", TOFU_ARG_DO, .take = spins_take },
	{ "mpi", SET(run.mpi, true) },
	{ "print-env", SET(print, true) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table),
				       .letters = "+n:p:m:s:t:h",
				       .operands = true };

static void arguments_read(struct run *run, int argc, char **argv)
{
	struct command command = { .run = *run };

	tofu_args_parse(&args, argc, argv, &command);
	if (optind == argc && !command.print)
		errx(EXIT_USAGE, "no program; try 'tofu-run --help'");
	*run = command.run;
	run->program = argv + optind;
	if (command.timeout)
		run->deadline = now_ms() + 1000 * (int64_t)command.timeout;
	if (command.machine)
		run->tnis = command.machine->tnis;
	if (command.tnis)
		run->tnis = command.tnis;
	run->armw = tofu_armw_chosen(command.armw, command.machine);
	if (command.nodes)
		run->processes = command.nodes * run->ppn;
	shape_settle(run, command.shape);
	if (!command.print)
		return;
	machine_print(run, stdout, "", "\n");
	tofu_mpi_print();
	exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	struct run run = {
		.ppn = 1,
		.tnis = TOFU_TNIS_DEFAULT,
		.prefix = true,
		.deadline = -1,
	};

	arguments_read(&run, argc, argv);
	mpi_check(&run);
	fabric_make(&run);
	signals_init(&run);
	limits_raise(&run);
	run.process = calloc(run.processes, sizeof(*run.process));
	if (!run.process)
		err(STATUS_FAILED, "no memory");
	for (unsigned int i = 0; i < run.processes; i++)
		process_start(&run, i);
	run_wait(&run);
	if (run.prefix)
		outputs_check(&run);
	free(run.process);
	return run.status;
}
