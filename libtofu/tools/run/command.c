/* SPDX-License-Identifier: MIT */
/*
 * The command line of tofu-run: what is to be started.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/armw.h"
#include "common/hosts.h"
#include "common/shape.h"
#include "fabric/fabric.h"
#include "net/machine.h"
#include "net/shape.h"
#include "run/run.h"

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
	"      --mpi              PROGRAM uses Open MPI, or an MPICH for libfabric:\n"
	"                         its messages go over Tofu\n"
	"      --print-env        print what mpirun's ranks need in their environment for\n"
	"                         that, and exit\n"
	"      --hosts TABLE      the machine is spread over several hosts: NAME:NODES\n"
	"                         [@ADDRESS[:PORT]],... or a file of such lines. Started on\n"
	"                         each of them, it runs the processes of the host's nodes\n"
	"      --host NAME        which of them this is (default: the host's name)\n"
	"      --token FILE       secret of all of them (default: in TOFU_BRIDGE_TOKEN)\n"
	"      --on-node          on a node of a machine, with the driver: start only the\n"
	"                         processes of this node (tofu-cluster run --ppn)\n"
	"  -h, --help             print this and exit\n"
	"\n"
	"PROGRAM finds TOFU_RANK, TOFU_RANKS, TOFU_PPN, TOFU_NODE, TOFU_NODES and\n"
	"TOFU_SHAPE in its environment. Its standard input is empty. When one process\n"
	"fails, the others are ended. Exit status: the largest of the processes, where\n"
	"one that was killed by a signal counts as 128 plus the signal; 2 for wrong\n"
	"options and for MPI programs without --mpi, 124 after the time, 125 when\n"
	"tofu-run itself fails, 127 when PROGRAM cannot be started.\n";

unsigned int tofu_plan_nodes(const struct tofu_plan *plan)
{
	return (plan->ranks + plan->ppn - 1) / plan->ppn;
}

/* ---- Machine and processes ---- */

/* Settle processes and shape when one of them or both are given. */
static void shape_settle(struct tofu_plan *plan, bool shape_given)
{
	if (!plan->ranks && shape_given)
		plan->ranks = plan->ppn * tofu_shape_nodes(&plan->shape);
	if (!plan->ranks)
		plan->ranks = plan->ppn;
	plan->processes = plan->ranks;
	if (!shape_given) {
		if (tofu_shape_of_count(tofu_plan_nodes(plan), &plan->shape))
			errx(EXIT_USAGE,
			     "no torus has %u nodes: name a larger --shape",
			     tofu_plan_nodes(plan));
		return;
	}
	if (tofu_plan_nodes(plan) > tofu_shape_nodes(&plan->shape))
		errx(EXIT_USAGE,
		     "--shape has %u nodes, too few for %u processes of which "
		     "%u fit a node; see --ppn",
		     tofu_shape_nodes(&plan->shape), plan->ranks, plan->ppn);
}

static unsigned int variable_read(const char *name, unsigned int max)
{
	const char *text = getenv(name);

	if (!text)
		errx(EXIT_USAGE,
		     "--on-node: no %s here: tofu-cluster sets it on the nodes "
		     "of a machine",
		     name);
	return (unsigned int)tofu_arg_number(name, text, 0, max);
}

/* Settle which processes of the job are those of this node. */
static void node_settle(struct tofu_plan *plan)
{
	const unsigned int node =
		variable_read("TOFU_NODE", TOFU_FABRIC_NODES_MAX - 1);

	if (!plan->ranks)
		plan->ranks = plan->ppn * variable_read("TOFU_NODES",
							TOFU_FABRIC_NODES_MAX);
	plan->first = node * plan->ppn;
	if (plan->first >= plan->ranks)
		errx(EXIT_USAGE,
		     "--on-node: node %u has none of %u processes, of which %u "
		     "fit a node",
		     node, plan->ranks, plan->ppn);
	plan->processes = plan->ranks - plan->first;
	if (plan->processes > plan->ppn)
		plan->processes = plan->ppn;
}

/* A machine that nobody gave a shape has the nodes of its hosts. */
static void hosts_shape(struct tofu_plan *plan, const struct tofu_hosts *hosts)
{
	if (tofu_shape_of_count(hosts->nodes, &plan->shape))
		errx(EXIT_USAGE, "no torus has %u nodes: name a larger --shape",
		     hosts->nodes);
}

/*
 * Settle which processes of the job are those of this host. The table has the
 * nodes of the machine; a program may use fewer.
 */
static void hosts_settle(struct tofu_plan *plan, const struct tofu_hosts *hosts)
{
	const struct tofu_host *host =
		&hosts->host[tofu_hosts_self(hosts, plan->host)];

	if (plan->ppn != 1)
		errx(EXIT_USAGE, "--hosts: each process is a node, without --ppn");
	if (tofu_shape_nodes(&plan->shape) != hosts->nodes)
		errx(EXIT_USAGE,
		     "--hosts has %u nodes, and the machine %u; see --shape",
		     hosts->nodes, tofu_shape_nodes(&plan->shape));
	plan->first = host->first;
	plan->processes = host->first < plan->ranks ?
				  plan->ranks - host->first :
				  0;
	if (plan->processes > host->nodes)
		plan->processes = host->nodes;
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
static void machine_print(const struct tofu_plan *plan, FILE *to, const char *before,
			  const char *after)
{
	char text[TOFU_SHAPE_TEXT];
	struct tofu_shape usual;

	if (tofu_shape_of_count(tofu_plan_nodes(plan), &usual) ||
	    memcmp(&usual, &plan->shape, sizeof(usual)))
		fprintf(to, "%sTOFU_SHAPE=%s%s", before,
			tofu_shape_text(&plan->shape, text), after);
	if (plan->ppn != 1)
		fprintf(to, "%sTOFU_PPN=%u%s", before, plan->ppn, after);
	if (plan->tnis != TOFU_TNIS_DEFAULT)
		fprintf(to, "%sTOFU_TNIS=%u%s", before, plan->tnis, after);
	if (!plan->armw)
		fprintf(to, "%sTOFU_ARMW=0%s", before, after);
}

__attribute__((noreturn)) static void mpi_refuse(const struct tofu_plan *plan)
{
	if (plan->on_node)
		errx(EXIT_USAGE,
		     "%s is an MPI program: 'tofu-cluster run --mpi' starts it",
		     plan->program[0]);
	warnx("%s is an MPI program, which mpirun starts:", plan->program[0]);
	fputc(' ', stderr);
	machine_print(plan, stderr, " ", "");
	fprintf(stderr, " mpirun -n %u", plan->ranks);
	for (char **word = plan->program; *word; word++)
		word_print(*word);
	fputs("\nPut 'env' before its name to start it here all the same; then "
	      "each process is\nan MPI job of its own. With --mpi its messages "
	      "go over Tofu, too: see tofu-run(1).\n",
	      stderr);
	exit(EXIT_USAGE);
}

/* From here on it asks only PMIx for ranks: each process would be a job. */
#define OPEN_MPI_WITHOUT_PMI 5

static void version_check(const struct tofu_plan *plan)
{
	const unsigned int version = tofu_open_mpi_version();

	if (version < OPEN_MPI_WITHOUT_PMI)
		return;
	warnx("--mpi: this is Open MPI %u, whose processes know only their own "
	      "launcher. Start it by:",
	      version);
	fputs("  env $(tofu-run --print-env)", stderr);
	machine_print(plan, stderr, " ", "");
	fprintf(stderr, " mpirun -n %u", plan->ranks);
	for (char **word = plan->program; *word; word++)
		word_print(*word);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

static void mpi_check(const struct tofu_plan *plan)
{
	const enum tofu_mpi mpi = tofu_program_mpi(plan->program[0]);

	if (mpi && !plan->mpi)
		mpi_refuse(plan);
	if (plan->mpi && !plan->on_node && plan->ppn > plan->tnis)
		errx(EXIT_USAGE,
		     "--mpi: each process has a TNI of its own, and nodes have "
		     "%u for %u processes; see --tnis",
		     plan->tnis, plan->ppn);
	if (mpi == TOFU_MPI_MPICH)
		errx(EXIT_USAGE,
		     "--mpi: %s uses MPICH as the distribution has it, without "
		     "libfabric: build it with mpicc.openmpi, or with an MPICH "
		     "for libfabric",
		     plan->program[0]);
	if (plan->mpi && !plan->on_node && mpi != TOFU_MPI_WIRE)
		version_check(plan);
}

/* ---- Options ---- */

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
 * @nodes:   number of nodes; 0: @plan.ranks is given instead
 * @machine: NULL: none
 * @tnis:    number of TNIs; 0: as the machine has
 * @armw:    enum tofu_armw_choice
 * @shape:   @plan.shape was given
 * @print:   only print the environment
 */
struct command {
	struct tofu_plan plan;
	unsigned int nodes;
	const struct tofu_preset *machine;
	unsigned int tnis;
	unsigned int armw;
	bool shape;
	bool print;
};

/* The last of --processes and --nodes counts. */
static void processes_take(void *to, const char *option, const char *text)
{
	struct command *command = to;

	command->plan.ranks = (unsigned int)tofu_arg_number(
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

	tofu_arg_shape(option, text, &command->plan.shape);
	command->shape = true;
}

static void spins_take(void *to, const char *option, const char *text)
{
	struct command *command = to;

	(void)option, (void)text;
	command->plan.bind = true;
	command->plan.spins = true;
}

#define AT(member) TOFU_AT(struct command, member)
#define NUMBER(member, most) \
	.kind = TOFU_ARG_NUMBER, AT(member), .min = 1, .max = most
#define SET(member, value) .kind = TOFU_ARG_SET, AT(member), .min = value
#define TAKE(function) .kind = TOFU_ARG_TAKE, .take = function

static const struct tofu_option table[] = {
	{ "processes", TAKE(processes_take), .letter = 'n' },
	{ "nodes", NUMBER(nodes, TOFU_FABRIC_NODES_MAX) },
	{ "ppn", NUMBER(plan.ppn, TOFU_FABRIC_PPN_MAX), .letter = 'p' },
	{ "machine", TAKE(machine_take), .letter = 'm' },
	{ "shape", TAKE(shape_take), .letter = 's' },
	{ "tnis", NUMBER(tnis, TOFU_TNIS_MAX), .letter = 't' },
	{ "armw", TOFU_ARG_WORD, AT(armw), .words = tofu_armw_words },
	{ "timeout", NUMBER(plan.timeout, 1000000) },
	{ "no-prefix", SET(plan.prefix, false) },
	{ "bind", SET(plan.bind, true) },
	{ "spins", TOFU_ARG_DO, .take = spins_take },
	{ "mpi", SET(plan.mpi, true) },
	{ "print-env", SET(print, true) },
	{ "hosts", .kind = TOFU_ARG_TEXT, AT(plan.hosts) },
	{ "host", .kind = TOFU_ARG_TEXT, AT(plan.host) },
	{ "token", .kind = TOFU_ARG_TEXT, AT(plan.token) },
	{ "on-node", SET(plan.on_node, true) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table),
				       .letters = "+n:p:m:s:t:h",
				       .operands = true };

/* A node is what its machine has made it. */
static void node_check(const struct command *command)
{
	if (command->print)
		errx(EXIT_USAGE, "--on-node: no mpirun there needs --print-env");
	if (command->plan.hosts || command->shape || command->machine || command->tnis ||
	    command->armw != TOFU_ARMW_AS_MACHINE || command->nodes)
		errx(EXIT_USAGE,
		     "--on-node: the machine is there, so its --hosts, "
		     "--nodes, --shape, --machine, --tnis and --armw are");
}

static void machine_settle(struct command *command)
{
	struct tofu_plan *plan = &command->plan;
	struct tofu_hosts hosts = { 0 };

	if (command->machine)
		plan->tnis = command->machine->tnis;
	if (command->tnis)
		plan->tnis = command->tnis;
	plan->armw = tofu_armw_chosen(command->armw, command->machine);
	if (command->nodes)
		plan->ranks = command->nodes * plan->ppn;
	if (!plan->hosts && (plan->host || plan->token))
		errx(EXIT_USAGE, "--host and --token belong to --hosts");
	if (plan->hosts) {
		tofu_hosts_read("--hosts", plan->hosts, TOFU_HOST_PORT, &hosts);
		if (!command->shape)
			hosts_shape(plan, &hosts);
	}
	shape_settle(plan, command->shape || plan->hosts);
	if (plan->hosts)
		hosts_settle(plan, &hosts);
	tofu_hosts_free(&hosts);
}

void tofu_plan_read(struct tofu_plan *plan, int argc, char **argv)
{
	struct command command = {
		.plan = { .ppn = 1, .tnis = TOFU_TNIS_DEFAULT, .prefix = true },
	};

	tofu_args_parse(&args, argc, argv, &command);
	if (optind == argc && !command.print)
		errx(EXIT_USAGE, "no program; try 'tofu-run --help'");
	command.plan.program = argv + optind;
	if (command.plan.on_node) {
		node_check(&command);
		node_settle(&command.plan);
	} else {
		machine_settle(&command);
	}
	*plan = command.plan;
	if (!command.print) {
		mpi_check(plan);
		return;
	}
	machine_print(plan, stdout, "", "\n");
	tofu_mpi_print();
	exit(EXIT_SUCCESS);
}
