/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/options.h"

#include <err.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/armw.h"
#include "net/shape.h"
#include "sim/preset.h"

/* X, Y and Z have 8 bits of a coordinate each, the rest 12 nodes. */
#define NODES_MAX (256U * 256 * 256 * 12)
#define STACK_DEFAULT (256UL << 10)
#define BUDGET_DEFAULT 10

static const char usage[] =
	"usage: tofu-sim [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"Run PROGRAM on every node of a Tofu machine that is simulated in this process,\n"
	"in virtual time: the same run takes the same nanoseconds anywhere.\n"
	"\n"
	"  -m, --machine NAME     whose times: k (default), fx10, fx100, fugaku\n"
	"  -s, --shape SHAPE      4, 2x2, 4x3x8 or six sizes 4x2x4x2x3x2 (default: the\n"
	"                         most cubic one of so many nodes)\n"
	"  -n, --nodes N          nodes that run PROGRAM (default: all of the shape)\n"
	"  -t, --tnis N           TNIs of a node (default: as many as the machine has)\n"
	"      --armw on|off      remote atomics (default: as the machine, which k and fx10\n"
	"                         do without)\n"
	"      --stack BYTES      of each program (default 256K)\n"
	"      --limit NS         end the run at that virtual time\n"
	"      --budget SECONDS   of the host's processor that a program may compute\n"
	"                         between two calls of the library (default 10)\n"
	"      --set VALUE=NUMBER\n"
	"                         change a value of the machine, such as hop_ns=200 or\n"
	"                         hop_ns=50%; a wrong one lists their names; as often as\n"
	"                         wanted. What the library plans by does not change\n"
	"      --costs FILE       what calls of the library take, instead of the machine's\n"
	"      --trace FOLDER     write what each node's controller does, for tofu-trace\n"
	"      --doorbells FOLDER\n"
	"                         ring the doorbells at the times in these traces, which the\n"
	"                         same program has written, on virtual machines or here\n"
	"      --awake            make every poll in vain, also those that are known to be\n"
	"                         alike: slower, and to show that it makes no difference\n"
	"  -q, --quiet            do not report on progress\n"
	"      --summary          say at the end what the run has taken, and the hash of\n"
	"                         all that happened\n"
	"  -h, --help             print this and exit\n"
	"\n"
	"PROGRAM is a position-independent executable or a shared object with main(),\n"
	"linked with -ltofu; halo, perf, p2p and others of the library's own tools are\n"
	"found by their names. It finds TOFU_RANK, TOFU_RANKS, TOFU_NODE, TOFU_NODES and\n"
	"TOFU_SHAPE in its environment. Started by mpirun or srun, each process has a\n"
	"block of the nodes. Exit status: the largest of the programs; 2 for wrong\n"
	"options, 124 at the limit, 125 when tofu-sim itself fails, 127 when PROGRAM\n"
	"cannot be loaded, 128 plus the signal when one ends by a signal.\n";

static void take_machine(void *to, const char *option, const char *text)
{
	struct sim_options *options = to;

	options->machine = tofu_preset_find(text);
	if (options->machine)
		return;
	warnx("%s %s: there is no such machine; there are:", option, text);
	for (size_t i = 0; tofu_preset_at(i); i++)
		warnx("  %s", tofu_preset_at(i)->name);
	exit(EXIT_USAGE);
}

static void take_shape(void *to, const char *option, const char *text)
{
	struct sim_options *options = to;

	if (tofu_shape_parse(text, &options->shape))
		errx(EXIT_USAGE, "%s %s: not a shape, such as 4x3x8 or 4x2x4x2x3x2: up to 256 along X, Y and Z, 2 along A, 3 along B, 2 along C",
		     option, text);
}

/* Kept until the machine is known: a word a change. */
static void take_set(void *to, const char *option, const char *text)
{
	struct sim_options *options = to;

	if (options->sets == SIM_SETS_MAX)
		errx(EXIT_USAGE, "%s %s: more than %d of them", option, text,
		     SIM_SETS_MAX);
	options->set[options->sets++] = text;
}

static const struct tofu_option table[] = {
	{ .name = "machine", .letter = 'm', .kind = TOFU_ARG_TAKE,
	  .take = take_machine },
	{ .name = "shape", .letter = 's', .kind = TOFU_ARG_TAKE,
	  .take = take_shape },
	{ .name = "nodes", .letter = 'n', .kind = TOFU_ARG_NUMBER,
	  TOFU_AT(struct sim_options, nodes), .min = 1, .max = NODES_MAX },
	{ .name = "tnis", .letter = 't', .kind = TOFU_ARG_NUMBER,
	  TOFU_AT(struct sim_options, tnis), .min = 1, .max = 6 },
	{ .name = "armw", .kind = TOFU_ARG_WORD,
	  TOFU_AT(struct sim_options, armw), .words = tofu_armw_words },
	{ .name = "stack", .kind = TOFU_ARG_NUMBER,
	  TOFU_AT(struct sim_options, stack), .min = 32768, .max = 1UL << 30 },
	{ .name = "limit", .kind = TOFU_ARG_NUMBER,
	  TOFU_AT(struct sim_options, limit), .min = 1, .max = INT64_MAX },
	{ .name = "budget", .kind = TOFU_ARG_NUMBER,
	  TOFU_AT(struct sim_options, budget), .min = 1, .max = 1000000 },
	{ .name = "trace", .kind = TOFU_ARG_TEXT,
	  TOFU_AT(struct sim_options, trace) },
	{ .name = "doorbells", .kind = TOFU_ARG_TEXT,
	  TOFU_AT(struct sim_options, doorbells) },
	{ .name = "set", .kind = TOFU_ARG_TAKE, .take = take_set },
	{ .name = "costs", .kind = TOFU_ARG_TEXT,
	  TOFU_AT(struct sim_options, costs) },
	{ .name = "awake", .kind = TOFU_ARG_SET,
	  TOFU_AT(struct sim_options, awake), .min = 1 },
	{ .name = "quiet", .letter = 'q', .kind = TOFU_ARG_SET,
	  TOFU_AT(struct sim_options, quiet), .min = 1 },
	{ .name = "summary", .kind = TOFU_ARG_SET,
	  TOFU_AT(struct sim_options, summary), .min = 1 },
};

static const struct tofu_args args = {
	TOFU_ARGS(usage, table),
	.letters = "+m:s:n:t:qh",
	.operands = true,
};

static void change(struct sim_options *options)
{
	char *why;

	if (!options->sets)
		return;
	options->changed = *options->machine;
	options->machine = &options->changed;
	for (unsigned int i = 0; i < options->sets; i++)
		if (!sim_preset_set(&options->changed, options->set[i], &why))
			errx(EXIT_USAGE, "--set %s", why ? why : "");
}

static void complete(struct sim_options *options)
{
	uint32_t all = 0;

	if (options->shape.size[0])
		all = tofu_shape_nodes(&options->shape);
	if (!options->nodes)
		options->nodes = all ? all : 1;
	if (!all && tofu_shape_of_count(options->nodes, &options->shape))
		errx(EXIT_USAGE, "--nodes %u: no torus has so many nodes; give a --shape with room for them",
		     options->nodes);
	if (options->nodes > tofu_shape_nodes(&options->shape))
		errx(EXIT_USAGE, "--nodes %u: the shape has %u", options->nodes,
		     tofu_shape_nodes(&options->shape));
	if (!options->tnis)
		options->tnis = options->machine->tnis;
}

void sim_options_parse(int argc, char **argv, struct sim_options *options)
{
	*options = (struct sim_options){
		.machine = tofu_preset_find("k"),
		.stack = STACK_DEFAULT,
		.budget = BUDGET_DEFAULT,
		.limit = UINT64_MAX,
	};
	tofu_args_parse(&args, argc, argv, options);
	if (optind == argc)
		errx(EXIT_USAGE, "which PROGRAM? See --help");
	options->argv = argv + optind;
	options->argc = argc - optind;
	/* A program begins with what it finds there. */
	optind = 1;
	options->stack = (options->stack + 4095) & ~4095UL;
	change(options);
	complete(options);
}
