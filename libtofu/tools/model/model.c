// SPDX-License-Identifier: MIT
/*
 * tofu-model: throughput models of collectives, alone and beside what was
 * measured. It needs no controller: <tofu/model.h> is arithmetic.
 */
#include <err.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/print.h"

#include "model/model.h"

static const char usage[] =
	"usage: tofu-model table [OPTION]...\n"
	"       tofu-model time [OPTION]...\n"
	"       tofu-model fit [OPTION]... FILE...\n"
	"       tofu-model compare -o SVG [OPTION]... [FORMULA=]FILE...\n"
	"\n"
	"Throughput models of collectives, alone and beside what was measured.\n"
	"\n"
	"table    bandwidth B, half-performance length and delay t0 of the published\n"
	"         formulas\n"
	"time     how long a collective takes, with each algorithm\n"
	"fit      fits the line t = t0 + M / B to the pairs of each FILE\n"
	"compare  draws formulas beside what was measured; each FILE is written\n"
	"         FORMULA=FILE, where a formula is one of those of the table, or\n"
	"         KIND/ALGORITHM such as alltoall/direct\n"
	"\n"
	"A FILE has a pair in each line, bytes and microseconds, with blanks or a comma\n"
	"between them; # begins a comment; - is standard input.\n"
	"\n"
	"Of the formulas:\n"
	"      --machine NAME    k (default), fx10, fx100 or fugaku\n"
	"      --shape SHAPE     members along three axes (default 8x6x8); six sizes are\n"
	"                        those of a machine, such as 4x2x4x2x3x2\n"
	"      --kind KIND       barrier, bcast, reduce, allreduce (default), gather,\n"
	"                        scatter, allgather, reduce-scatter or alltoall\n"
	"      --algorithm NAME  gates, dissemination, pipelined, streamed, session,\n"
	"                        binomial, doubling, halving, ring, multiring, bruck,\n"
	"                        direct, or all that there are for the kind (default)\n"
	"      --bytes LIST      sizes of a block, such as 8,1K:4M (default 8:16M)\n"
	"      --segment BYTES   of pipelined algorithms (default 16K)\n"
	"      --engines N       most TNIs of a node (default: all)\n"
	"      --routes N        chains at the same time, 1 to 6 (default: what the shape\n"
	"                        and the engines allow)\n"
	"Of the fit:\n"
	"      --from BYTES      leave out smaller sizes; compare has the published ranges\n"
	"      --to BYTES        leave out larger sizes\n"
	"      --factor N        how often a message counts for the throughput (default 1;\n"
	"                        compare: 2 for allreduce, members for allgather)\n"
	"What is printed:\n"
	"  -o, --output FILE     the picture of compare, as SVG\n"
	"      --json            print as JSON\n"
	"      --help            print this and exit\n"
	"\n"
	"Exit status: 0; 1 when a file cannot be read or written; 2 for wrong options, for\n"
	"lines of files that are wrong, and where no line can be fitted.\n";

enum command { TABLE,
	       TIME,
	       FIT,
	       COMPARE,
	       COMMANDS };

static const char *const commands[] = {
	[TABLE] = "table",
	[TIME] = "time",
	[FIT] = "fit",
	[COMPARE] = "compare",
	[COMMANDS] = NULL,
};

#define OF(command) (1U << (command))

/**
 * struct options - what the user wants
 * @from, @to: UINT64_MAX: not given
 * @factor:    0: not given
 * @output:    file, or NULL
 */
struct options {
	struct model_setup setup;
	unsigned int kind;
	unsigned int algorithm;
	struct tofu_sizes sizes;
	uint64_t from;
	uint64_t to;
	uint64_t factor;
	const char *output;
	bool json;
};

static void shape_take(void *options, const char *option, const char *text)
{
	model_shape_parse(option, text,
			  ((struct options *)options)->setup.size);
}

#define BYTES_MAX (UINT64_C(1) << 50)
#define AT(member) TOFU_AT(struct options, member)
#define NUMBER(least, most) .kind = TOFU_ARG_NUMBER, .min = least, .max = most
#define WITH(commands) .with = commands
#define FORMULAS (OF(TABLE) | OF(TIME) | OF(COMPARE))

static const struct tofu_option table[] = {
	{ "machine", TOFU_ARG_TEXT, AT(setup.machine_name), WITH(FORMULAS) },
	{ "shape", TOFU_ARG_TAKE, .take = shape_take, WITH(FORMULAS) },
	{ "kind", TOFU_ARG_WORD, AT(kind), .words = model_kinds,
	  WITH(OF(TIME) | OF(COMPARE)) },
	{ "algorithm", TOFU_ARG_WORD, AT(algorithm), .words = model_algorithms,
	  WITH(OF(TIME) | OF(COMPARE)) },
	{ "bytes", TOFU_ARG_SIZES, AT(sizes), .max = BYTES_MAX, WITH(OF(TIME)) },
	{ "segment", NUMBER(1, 1 << 30), AT(setup.segment), WITH(FORMULAS) },
	{ "engines", NUMBER(1, 64), AT(setup.engines), WITH(FORMULAS) },
	{ "routes", NUMBER(1, 6), AT(setup.routes), WITH(OF(TIME) | OF(COMPARE)) },
	{ "from", NUMBER(0, BYTES_MAX), AT(from), WITH(OF(FIT) | OF(COMPARE)) },
	{ "to", NUMBER(0, BYTES_MAX), AT(to), WITH(OF(FIT) | OF(COMPARE)) },
	{ "factor", NUMBER(1, UINT32_MAX), AT(factor),
	  WITH(OF(FIT) | OF(COMPARE)) },
	{ "output", TOFU_ARG_TEXT, AT(output), .letter = 'o', WITH(OF(COMPARE)) },
	{ "json", TOFU_ARG_SET, AT(json), .min = true,
	  WITH(FORMULAS | OF(FIT)) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table),
				       .letters = "o:h",
				       .operands = true };

static void with_check(enum command command, uint64_t given)
{
	for (size_t i = 0; i < args.count; i++)
		if (given >> i & 1 && !(table[i].with & OF(command)))
			errx(EXIT_USAGE, "--%s does not go with %s",
			     table[i].name, commands[command]);
}

/* Return: which files there are, from optind on. */
static enum command command_take(int argc, char **argv, uint64_t given)
{
	enum command command;
	int files;

	if (optind == argc)
		errx(EXIT_USAGE, "which command? table, time, fit or compare; see --help");
	for (command = 0; command < COMMANDS; command++)
		if (!strcmp(argv[optind], commands[command]))
			break;
	if (command == COMMANDS)
		errx(EXIT_USAGE, "'%s' is not a command: table, time, fit or compare",
		     argv[optind]);
	files = argc - ++optind;
	if (files && (command == TABLE || command == TIME))
		errx(EXIT_USAGE, "%s reads no file such as '%s'",
		     commands[command], argv[optind]);
	if (!files && (command == FIT || command == COMPARE))
		errx(EXIT_USAGE, "%s wants a FILE", commands[command]);
	with_check(command, given);
	return command;
}

static bool is_given(const char *name, uint64_t given)
{
	for (size_t i = 0; i < args.count; i++)
		if (!strcmp(table[i].name, name))
			return given >> i & 1;
	return false;
}

static struct model_range range_of(const struct options *options)
{
	struct model_range range = {
		.from = options->from == UINT64_MAX ? -1 : (double)options->from,
		.to = options->to == UINT64_MAX ? -1 : (double)options->to,
		.factor = (double)options->factor,
	};

	if (range.to >= 0 && range.from > range.to)
		errx(EXIT_USAGE, "--from is more than --to");
	return range;
}

static void compare(const struct options *options, uint64_t given,
		    char *const files[], size_t count)
{
	const struct model_range range = range_of(options);
	struct model_formula formula;
	char name[MODEL_NAME];
	const bool named = is_given("kind", given) && options->algorithm;

	if (!options->output)
		errx(EXIT_USAGE, "compare wants -o FILE for the picture");
	if ((is_given("kind", given) || is_given("algorithm", given)) && !named)
		errx(EXIT_USAGE, "compare wants both --kind and --algorithm, or neither");
	snprintf(name, sizeof(name), "%s/%s", model_kinds[options->kind],
		 model_algorithms[options->algorithm]);
	if (named && !model_formula_find(name, &formula))
		errx(EXIT_USAGE, "'%s' is no formula with a throughput", name);
	model_compare(&options->setup, named ? &formula : NULL, &range, files,
		      count, options->output, options->json);
}

int main(int argc, char **argv)
{
	struct options options = {
		.setup = { .machine_name = "k", .size = { 8, 6, 8 } },
		.kind = TOFU_COLL_ALLREDUCE,
		.from = UINT64_MAX,
		.to = UINT64_MAX,
	};
	struct model_range range;
	enum command command;
	uint64_t given;

	model_words_make();
	tofu_arg_sizes("--bytes", "8:16M", 0, BYTES_MAX, &options.sizes);
	given = tofu_args_parse(&args, argc, argv, &options);
	command = command_take(argc, argv, given);
	if (options.kind == TOFU_COLL_BARRIER && is_given("bytes", given))
		errx(EXIT_USAGE, "--bytes: a barrier has no bytes");
	if (tofu_model_machine(options.setup.machine_name,
			       &options.setup.machine))
		errx(EXIT_USAGE, "--machine: '%s' is not k, fx10, fx100 or fugaku",
		     options.setup.machine_name);
	range = range_of(&options);
	if (command == TABLE)
		model_table(&options.setup, options.json);
	else if (command == TIME)
		model_time(&options.setup, (enum tofu_coll_kind)options.kind,
			   (enum tofu_coll_algorithm)options.algorithm,
			   &options.sizes, options.json);
	else if (command == FIT)
		model_fit(&range, &argv[optind], (size_t)(argc - optind),
			  options.json);
	else
		compare(&options, given, &argv[optind],
			(size_t)(argc - optind));
	tofu_print_end();
	return EXIT_SUCCESS;
}
