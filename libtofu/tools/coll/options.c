// SPDX-License-Identifier: MIT
/* The options of tofu-coll. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/contents.h"
#include "coll/tool.h"
#include "common/virtual.h"

#define BYTES_MAX (1ULL << 40)
#define SEGMENT_MAX (1ULL << 30)
#define ENGINES_MAX 8
#define ROUTES_MAX 64
#define AXIS_MAX (1U << 24)

static const char usage[] =
	"usage: tofu-coll [OPTION]...\n"
	"Measure and verify collectives of all processes.\n"
	"\n"
	"      --collective LIST  barrier, bcast, reduce, allreduce, gather, scatter,\n"
	"                         allgather, reduce-scatter, alltoall, or all (default\n"
	"                         allreduce)\n"
	"      --algorithm LIST   gates, dissemination, pipelined, streamed, session,\n"
	"                         binomial, doubling, halving, ring, multiring, bruck,\n"
	"                         direct; each: all that a collective has; auto: by the\n"
	"                         model (default)\n"
	"      --bytes LIST       of a block: a message, or what two members exchange\n"
	"                         (default 8:1M)\n"
	"      --type WORD        byte, float, double, int32, int64, uint64, float-int,\n"
	"                         int32-int, double-int, int64-int, uint64-int, or user:\n"
	"                         12 bytes (default: double where elements are combined,\n"
	"                         otherwise byte)\n"
	"      --op WORD          sum, prod, min, max, band, bor, bxor, minloc, maxloc, or\n"
	"                         call: a function of the tool (default: sum, or what the\n"
	"                         type allows)\n"
	"      --root MEMBER      of collectives that have one (default 0)\n"
	"      --segment BYTES    of pipelined collectives (default: the quickest by the\n"
	"                         model; 16K without virtual time)\n"
	"      --engines N        most TNIs to use (default: all)\n"
	"      --routes N         of pipelined collectives (default: by shape and engines)\n"
	"      --shape-of-group AxBxC\n"
	"                         members along three axes (default: as the machine is)\n"
	"      --sub WORD         line0, line1, line2, plane01, plane02, plane12: lines or\n"
	"                         planes of the group, all at the same time\n"
	"      --reproducible     sums of double that no order changes\n"
	"      --in-place         bcast, reduce, allreduce: without a send buffer\n"
	"      --blank            buffers without contents, for machines of tofu-sim that\n"
	"                         are larger than the memory here; nothing is verified\n"
	"      --verify           verify each iteration (default: one after the timed ones)\n"
	"      --iterations N     that are timed (default 20; in virtual time 5)\n"
	"      --warmup N         before them (default 4; in virtual time 2)\n"
	"      --phases           in virtual time: when members start and end\n"
	"      --corrupt MEMBER   this member sends a wrong element in each row, where it\n"
	"                         sends any\n"
	"      --timeout SECONDS  give up when a process is missing for so long (default 60)\n"
	"      --json             print results as JSON\n"
	"      --help             print this and exit\n"
	"\n"
	"Run it in every process: scripts/tofu-cluster run tofu-coll, without VMs\n"
	"tofu-run -n 4 --shape 2x2 tofu-coll, or tofu-sim --shape 4x3x8 coll.\n"
	"Exit status: 0; 1 when a byte was wrong or a process is gone; 2 for wrong\n"
	"options.\n";

/* ---- Words ---- */

static const char *kind_word(unsigned int i)
{
	return tofu_coll_kind_name((enum tofu_coll_kind)i);
}

static const char *type_word(unsigned int i)
{
	return tofu_coll_type_name((enum tofu_coll_type)i);
}

static const char *op_word(unsigned int i)
{
	return tofu_coll_op_name((enum tofu_coll_op)i);
}

/* With auto at the end: "each" stands for the others. */
static enum tofu_coll_algorithm algorithm_at(unsigned int i)
{
	return (enum tofu_coll_algorithm)((i + 1) % TOFU_COLL_ALGORITHMS);
}

static const char *algorithm_word(unsigned int i)
{
	return tofu_coll_algorithm_name(algorithm_at(i));
}

/* Words of an enumeration of the library, for tofu_arg_word() */
#define WORDS_MAX 16

static const char *const *words(unsigned int count,
				const char *(*word)(unsigned int))
{
	static const char *list[WORDS_MAX];

	for (unsigned int i = 0; i < count; i++)
		list[i] = word(i);
	list[count] = NULL;
	return list;
}

static const char *const subs[] = {
	"all",
	"line0",
	"line1",
	"plane01",
	"line2",
	"plane02",
	"plane12",
	NULL,
};

const char *measure_sub_name(unsigned int axes)
{
	return subs[axes];
}

/* ---- Options ---- */

static void kind_add(void *to, const char *option, unsigned int word)
{
	struct measure_options *options = to;

	for (size_t i = 0; i < options->kinds; i++)
		if (options->kind[i] == (enum tofu_coll_kind)word)
			errx(EXIT_USAGE, "%s: %s is there twice", option,
			     kind_word(word));
	options->kind[options->kinds++] = (enum tofu_coll_kind)word;
}

static void kinds_take(void *options, const char *option, const char *text)
{
	((struct measure_options *)options)->kinds = 0;
	tofu_arg_words(option, strcmp(text, "all") ? text : "each",
		       words(TOFU_COLL_KINDS, kind_word), TOFU_COLL_KINDS, kind_add, options);
}

static void algorithm_add(void *to, const char *option, unsigned int word)
{
	struct measure_options *options = to;

	for (size_t i = 0; i < options->algorithms; i++)
		if (options->algorithm[i] == algorithm_at(word))
			errx(EXIT_USAGE, "%s: %s is there twice", option,
			     algorithm_word(word));
	options->algorithm[options->algorithms++] = algorithm_at(word);
}

static void algorithms_take(void *options, const char *option,
			    const char *text)
{
	((struct measure_options *)options)->algorithms = 0;
	tofu_arg_words(option, text, words(TOFU_COLL_ALGORITHMS, algorithm_word),
		       TOFU_COLL_ALGORITHMS - 1, algorithm_add, options);
}

static void type_take(void *options, const char *option, const char *text)
{
	((struct measure_options *)options)->type =
		tofu_arg_word(option, text, words(TOFU_COLL_TYPES, type_word));
}

static void op_take(void *options, const char *option, const char *text)
{
	((struct measure_options *)options)->op =
		tofu_arg_word(option, text, words(TOFU_COLL_OPS, op_word));
}

/* Axes that are not named are 1. */
static void size_take(void *to, const char *option, const char *text)
{
	struct measure_options *options = to;
	char *copy = strdup(text), *rest = copy, *word;
	unsigned int axis = 0;

	if (!copy)
		errx(EXIT_FAILURE, "no memory");
	while ((word = strsep(&rest, "x"))) {
		if (axis == TOFU_COLL_AXES)
			errx(EXIT_USAGE, "%s: '%s' has more than %d axes",
			     option, text, TOFU_COLL_AXES);
		options->size[axis++] =
			(uint32_t)tofu_arg_number(option, word, 1, AXIS_MAX);
	}
	while (axis < TOFU_COLL_AXES)
		options->size[axis++] = 1;
	free(copy);
}

#define KEPT(member) TOFU_AT(struct measure_options, member)
#define NUMBER(member, from, to) \
	.kind = TOFU_ARG_NUMBER, KEPT(member), .min = from, .max = to
#define SET(member) .kind = TOFU_ARG_SET, KEPT(member), .min = true

static const struct tofu_option table[] = {
	{ "collective", TOFU_ARG_TAKE, .take = kinds_take },
	{ "algorithm", TOFU_ARG_TAKE, .take = algorithms_take },
	{ "bytes", TOFU_ARG_SIZES, KEPT(bytes), .min = 0, .max = BYTES_MAX },
	{ "type", TOFU_ARG_TAKE, .take = type_take },
	{ "op", TOFU_ARG_TAKE, .take = op_take },
	{ "root", NUMBER(root, 0, UINT32_MAX) },
	{ "segment", NUMBER(segment, 1, SEGMENT_MAX) },
	{ "engines", NUMBER(engines, 1, ENGINES_MAX) },
	{ "routes", NUMBER(routes, 1, ROUTES_MAX) },
	{ "shape-of-group", TOFU_ARG_TAKE, .take = size_take },
	{ "sub", TOFU_ARG_WORD, KEPT(axes), .words = subs },
	{ "reproducible", SET(reproducible) },
	{ "in-place", SET(in_place) },
	{ "blank", SET(blank) },
	{ "verify", SET(verify) },
	{ "iterations", NUMBER(iterations, 1, 100000) },
	{ "warmup", NUMBER(warmup, 0, 100000) },
	{ "phases", SET(phases) },
	{ "corrupt", NUMBER(corrupt, 0, UINT32_MAX) },
	{ "timeout", NUMBER(timeout, 1, 86400) },
	{ "json", SET(json) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table) };

/* ---- What does not go together ---- */

enum tofu_coll_type measure_type(const struct measure_options *options,
				 enum tofu_coll_kind kind)
{
	if (options->type < TOFU_COLL_TYPES)
		return (enum tofu_coll_type)options->type;
	return contents_combines(kind) ? TOFU_COLL_DOUBLE : TOFU_COLL_BYTE;
}

enum tofu_coll_op measure_op(const struct measure_options *options,
			     enum tofu_coll_kind kind)
{
	if (!contents_combines(kind))
		return TOFU_COLL_SUM;
	if (options->op < TOFU_COLL_OPS)
		return (enum tofu_coll_op)options->op;
	return contents_op_of(measure_type(options, kind));
}

static void combining_check(const struct measure_options *options,
			    enum tofu_coll_kind kind)
{
	enum tofu_coll_type type = measure_type(options, kind);
	enum tofu_coll_op op = measure_op(options, kind);

	if (!contents_op_goes(type, op))
		errx(EXIT_USAGE, "--op: %s does not go with --type %s",
		     tofu_coll_op_name(op), tofu_coll_type_name(type));
	if (options->reproducible &&
	    (type != TOFU_COLL_DOUBLE || op != TOFU_COLL_SUM))
		errx(EXIT_USAGE, "--reproducible: only sums of double are");
}

static void sizes_check(const struct measure_options *options,
			enum tofu_coll_kind kind)
{
	enum tofu_coll_type type = measure_type(options, kind);
	size_t size = contents_size(type);

	for (size_t i = 0; i < options->bytes.count; i++)
		if (options->bytes.size[i] % size)
			errx(EXIT_USAGE,
			     "--bytes: %llu is not a multiple of %zu, which a %s has",
			     (unsigned long long)options->bytes.size[i], size,
			     tofu_coll_type_name(type));
}

static void kind_check(const struct measure_options *options,
		       enum tofu_coll_kind kind)
{
	if (options->in_place && kind != TOFU_COLL_BCAST &&
	    kind != TOFU_COLL_REDUCE && kind != TOFU_COLL_ALLREDUCE)
		errx(EXIT_USAGE, "--in-place: %s takes two buffers",
		     tofu_coll_kind_name(kind));
	if (kind == TOFU_COLL_BARRIER)
		return;
	if (contents_combines(kind))
		combining_check(options, kind);
	sizes_check(options, kind);
}

static void algorithms_check(const struct measure_options *options)
{
	for (size_t k = 0; k < options->kinds; k++)
		for (size_t a = 0; a < options->algorithms; a++)
			if (options->algorithm[a] == TOFU_COLL_AUTO ||
			    tofu_coll_fits(options->kind[k],
					   options->algorithm[a]))
				return;
	errx(EXIT_USAGE, "--algorithm: there is no %s for %s",
	     tofu_coll_algorithm_name(options->algorithm[0]),
	     tofu_coll_kind_name(options->kind[0]));
}

struct measure_options measure_options_parse(int argc, char **argv)
{
	struct measure_options options = {
		.kind = { TOFU_COLL_ALLREDUCE },
		.kinds = 1,
		.algorithm = { TOFU_COLL_AUTO },
		.algorithms = 1,
		.type = TOFU_COLL_TYPES,
		.op = TOFU_COLL_OPS,
		.warmup = UINT64_MAX,
		.timeout = 60,
		.corrupt = -1,
	};

	tofu_args_parse(&args, argc, argv, &options);
	if (!options.bytes.count)
		tofu_arg_sizes("--bytes",
			       options.type == TOFU_COLL_USER ? "12:1536K" :
								"8:1M",
			       0, BYTES_MAX, &options.bytes);
	for (size_t i = 0; i < options.kinds; i++)
		kind_check(&options, options.kind[i]);
	algorithms_check(&options);
	if (options.blank && (options.verify || options.corrupt >= 0))
		errx(EXIT_USAGE,
		     "--blank: there is nothing that --verify or --corrupt could compare");
	return options;
}

/* ---- With the machine ---- */

void measure_options_virtual(struct measure_options *options)
{
	if (!options->iterations)
		options->iterations = tofu_virtual() ? 5 : 20;
	if (options->warmup == UINT64_MAX)
		options->warmup = tofu_virtual() ? 2 : 4;
	if (options->phases && !tofu_virtual())
		errx(EXIT_USAGE, "--phases: there is no virtual time here");
}

void measure_options_members(const struct measure_options *options,
			     uint32_t all, uint32_t measured)
{
	if (options->root >= measured)
		errx(EXIT_USAGE, "--root: there are members 0 to %u",
		     measured - 1);
	if (options->corrupt >= all)
		errx(EXIT_USAGE, "--corrupt: there are members 0 to %u",
		     all - 1);
}
