// SPDX-License-Identifier: MIT
/* The options of tofu-halo, and the rows of the table that follow from them. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scale.h"
#include "common/virtual.h"
#include "halo/halo.h"

#define BYTES_MAX (1U << 30)
#define RANDOM_SETS 12

static const char usage[] =
	"usage: tofu-halo [OPTION]...\n"
	"Exchange halos between the nodes of a Tofu machine, one process a node, and\n"
	"verify every byte received.\n"
	"\n"
	"Who sends how much to whom, in rows:\n"
	"      --pattern scale-les3|neighbor|random\n"
	"                         the 14 messages of SCALE-LES3 (default), equal ones to\n"
	"                         the nearest, or up to 14 by chance\n"
	"      --part LIST|each   scale-les3: ew, ns, four, diagonal, all (default all)\n"
	"      --grid LIST|all    scale-les3: levels of the grid (default: all 11 rows of\n"
	"                         the published measurements)\n"
	"      --neighbors LIST   neighbor: how many, 1 to 64 (default 6)\n"
	"      --bytes LIST       neighbor: bytes of a message, such as 64K or 4K:1M for\n"
	"                         4K, 8K ... 1M (default 16K:1M)\n"
	"      --sets LIST        random: numbers of sets; each is the same on all nodes\n"
	"                         and in all runs (default 1 to 12)\n"
	"      --procs AxB[x...]  periodic grid of the processes, 1 to 6 dimensions, 2 but\n"
	"                         for neighbor (default: the machine's first axis longer\n"
	"                         than 1, times the rest)\n"
	"How:\n"
	"      --scheduler LIST|each\n"
	"                         scale-les3, random: round-robin:1, :2, :4, bl:1, :2, :4,\n"
	"                         overhead-aware (default); native: message i by TNI i\n"
	"                         modulo the TNIs; orig: the same from point to point,\n"
	"                         sent and received\n"
	"      --algorithm LIST   neighbor: native (default), segmented: in segments that\n"
	"                         keep all TNIs busy; auto: what is faster by the model;\n"
	"                         orig: sent and received\n"
	"      --form one-sided|two-sided|steps|messages\n"
	"                         neighbor: everything is queued at once (default); in\n"
	"                         steps that wait for the neighbours; in steps that wait\n"
	"                         for this node's puts only; sent and received, segments\n"
	"                         in steps\n"
	"      --p2p-mode auto|fast|saving|shared\n"
	"                         orig, form messages: rings that messages are received\n"
	"                         in (default auto)\n"
	"      --tnis LIST        use N TNIs at most (default: all)\n"
	"      --machine NAME     whose model plans: k, fx10, fx100 or fugaku (default: the\n"
	"                         one whose virtual time it is; else k)\n"
	"      --start NS         time to start an engine in plans (default: as in\n"
	"                         tofu-sched)\n"
	"      --barrier          barriers of gates at both ends of each exchange, and in\n"
	"                         its time\n"
	"      --free-running     no barrier at all; without either a barrier before each\n"
	"                         exchange, which is not in its time\n"
	"      --phases NS[:SEED]\n"
	"                         every node waits up to NS nanoseconds before it begins\n"
	"                         an exchange, by chance, the same in all runs with SEED\n"
	"                         (default 1); also show the least and the greatest time\n"
	"      --iterations N     exchanges of a row (default 20)\n"
	"      --warmup N         exchanges before them that are not counted (default 2)\n"
	"      --no-verify        do not look at what was received\n"
	"      --verify           do (default)\n"
	"      --corrupt NODE     NODE sends one wrong byte in the last exchange of each\n"
	"                         row, to see it found\n"
	"      --timeout SECONDS  give up when nothing happens for so long (default 60)\n"
	"      --json             print results as JSON\n"
	"      --help             print this and exit\n"
	"\n"
	"Run it on every node: scripts/tofu-cluster run tofu-halo, or without VMs\n"
	"tofu-run -n 4 --shape 2x2 tofu-halo. Node 0 prints. Times are medians over the\n"
	"exchanges, of the slowest node. Exit status: 0; 1 when a byte was wrong or\n"
	"nodes could not talk; 2 for wrong options.\n";

/* ---- Words ---- */

enum { PATTERN_SCALE,
       PATTERN_NEIGHBOR,
       PATTERN_RANDOM };
static const char *const patterns[] = { "scale-les3", "neighbor", "random",
					NULL };
static const char *const forms[] = {
	[TOFU_NEIGHBOR_ONE_SIDED] = "one-sided",
	[TOFU_NEIGHBOR_TWO_SIDED] = "two-sided",
	[TOFU_NEIGHBOR_STEPS] = "steps",
	[HALO_FORM_MESSAGES] = "messages",
	NULL,
};
static const char *const modes[] = { "auto", "fast", "saving", "shared", NULL };
static const char *const algorithms[] = {
	[TOFU_NEIGHBOR_AUTO] = "auto",
	[TOFU_NEIGHBOR_NATIVE] = "native",
	[TOFU_NEIGHBOR_SEGMENTED] = "segmented",
	[HALO_ALGORITHM_ORIG] = "orig",
	NULL,
};

static unsigned int pattern_of(const struct halo_options *options)
{
	if (options->neighbor)
		return PATTERN_NEIGHBOR;
	return options->random ? PATTERN_RANDOM : PATTERN_SCALE;
}

const char *halo_pattern_name(const struct halo_options *options)
{
	return patterns[pattern_of(options)];
}

const char *halo_algorithm_name(unsigned int algorithm)
{
	return algorithms[algorithm];
}

const char *halo_form_name(unsigned int form)
{
	return forms[form];
}

const char *halo_scheduler_name(unsigned int scheduler)
{
	switch (scheduler) {
	case HALO_SCHEDULER_NATIVE:
		return algorithms[TOFU_NEIGHBOR_NATIVE];
	case HALO_SCHEDULER_ORIG:
		return algorithms[HALO_ALGORITHM_ORIG];
	default:
		return sched_schedulers[scheduler].name;
	}
}

const char *halo_mode_name(unsigned int mode)
{
	return modes[mode];
}

static void choice_add(void *to, const char *option, unsigned int choice)
{
	struct halo_choices *choices = to;

	if (choices->count == HALO_CHOICES_MAX)
		errx(EXIT_USAGE, "%s: more than %d", option, HALO_CHOICES_MAX);
	choices->choice[choices->count++] = choice;
}

static void choices_parse(const char *option, const char *text,
			  const char *const *words, unsigned int each,
			  struct halo_choices *choices)
{
	choices->count = 0;
	tofu_arg_words(option, text, words, each, choice_add, choices);
}

static void parts_parse(const char *text, struct halo_choices *choices)
{
	const char *words[SCHED_SETS + 1] = { NULL };

	for (size_t i = 0; i < SCHED_SETS; i++)
		words[i] = sched_sets[i].name;
	choices_parse("--part", text, words, SCHED_SETS, choices);
}

static void schedulers_parse(const char *text, struct halo_choices *choices)
{
	const char *words[HALO_SCHEDULER_ORIG + 2] = { NULL };

	for (unsigned int i = 0; i <= HALO_SCHEDULER_ORIG; i++)
		words[i] = halo_scheduler_name(i);
	choices_parse("--scheduler", text, words, SCHED_SCHEDULERS, choices);
}

/* ---- Grids ---- */

static uint64_t grid_nodes(const struct tofu_grid *grid)
{
	uint64_t nodes = 1;

	/* The product of the greatest sizes fits into 64 bits. */
	for (unsigned int i = 0; i < grid->dims && nodes <= UINT32_MAX; i++)
		nodes *= grid->size[i];
	return nodes;
}

static void procs_parse(const char *text, struct tofu_grid *grid)
{
	const char *rest = text;
	int used = 0;

	*grid = (struct tofu_grid){ 0 };
	do {
		unsigned int *size = &grid->size[grid->dims];

		if (grid->dims == TOFU_GRID_DIMS_MAX ||
		    sscanf(rest, "%5u%n", size, &used) != 1 || !*size)
			break;
		grid->periodic |= 1U << grid->dims++;
		rest += used;
	} while (*rest++ == 'x');
	if (!grid->dims || rest[-1])
		errx(EXIT_USAGE, "--procs: '%s' is no grid such as 2x2", text);
}

/* The machine's first axis longer than 1, times the rest */
static void grid_default(struct tofu_grid *grid,
			 const struct tofu_machine *machine)
{
	int axis = 0;

	while (axis < TOFU_AXES - 1 && machine->shape.size[axis] == 1)
		axis++;
	*grid = (struct tofu_grid){
		.dims = 2,
		.size = {
			machine->shape.size[axis],
			machine->nodes / machine->shape.size[axis],
		},
		.periodic = 3,
	};
}

/* ---- Options ---- */

/**
 * struct command - the command line
 * @grid, @bytes, @sets: struct halo_options.sizes is the one of the pattern
 */
struct command {
	struct halo_options options;
	const char *grid;
	const char *bytes;
	const char *sets;
};

static void sync_take(struct halo_options *options, enum halo_sync sync)
{
	if (options->sync != HALO_SYNC_BEFORE && options->sync != sync)
		errx(EXIT_USAGE, "--barrier and --free-running: one of them");
	options->sync = sync;
}

static void barrier_take(void *command, const char *option, const char *text)
{
	(void)option, (void)text;
	sync_take(&((struct command *)command)->options, HALO_SYNC_GATES);
}

static void free_take(void *command, const char *option, const char *text)
{
	(void)option, (void)text;
	sync_take(&((struct command *)command)->options, HALO_SYNC_FREE);
}

static void pattern_take(void *command, const char *option, const char *text)
{
	struct halo_options *options = &((struct command *)command)->options;
	unsigned int pattern = tofu_arg_word(option, text, patterns);

	options->neighbor = pattern == PATTERN_NEIGHBOR;
	options->random = pattern == PATTERN_RANDOM;
}

static void parts_take(void *command, const char *option, const char *text)
{
	(void)option;
	parts_parse(text, &((struct command *)command)->options.parts);
}

static void schedulers_take(void *command, const char *option, const char *text)
{
	(void)option;
	schedulers_parse(text, &((struct command *)command)->options.schedulers);
}

static void algorithms_take(void *command, const char *option, const char *text)
{
	choices_parse(option, text, algorithms, 0,
		      &((struct command *)command)->options.algorithms);
}

static void phases_take(void *command, const char *option, const char *text)
{
	((struct command *)command)->options.starts =
		tofu_starts_parse(option, text);
}

static void procs_take(void *command, const char *option, const char *text)
{
	(void)option;
	procs_parse(text, &((struct command *)command)->options.grid);
}

#define AT(member) TOFU_AT(struct command, member)
#define KEPT(member) AT(options.member)
#define NUMBER(member, from, to) \
	.kind = TOFU_ARG_NUMBER, KEPT(member), .min = from, .max = to
#define SET(member, value) .kind = TOFU_ARG_SET, KEPT(member), .min = value
#define TEXT(member) .kind = TOFU_ARG_TEXT, AT(member)
#define WORD(member, list) .kind = TOFU_ARG_WORD, KEPT(member), .words = list
#define SIZES(member, most) \
	.kind = TOFU_ARG_SIZES, KEPT(member), .min = 1, .max = most
#define TAKE(function) .kind = TOFU_ARG_TAKE, .take = function
#define DO(function) .kind = TOFU_ARG_DO, .take = function

/* Patterns that an option goes with; none stands for all */
#define SCALE (1U << PATTERN_SCALE)
#define NEIGHBOR (1U << PATTERN_NEIGHBOR)
#define RANDOM (1U << PATTERN_RANDOM)

static const struct tofu_option table[] = {
	{ "pattern", TAKE(pattern_take) },
	{ "part", TAKE(parts_take), .with = SCALE },
	{ "grid", TEXT(grid), .with = SCALE },
	{ "neighbors", SIZES(neighbors, HALO_MESSAGES_MAX), .with = NEIGHBOR },
	{ "bytes", TEXT(bytes), .with = NEIGHBOR },
	{ "sets", TEXT(sets), .with = RANDOM },
	{ "procs", TAKE(procs_take) },
	{ "scheduler", TAKE(schedulers_take), .with = SCALE | RANDOM },
	{ "algorithm", TAKE(algorithms_take), .with = NEIGHBOR },
	{ "form", WORD(form, forms), .with = NEIGHBOR },
	{ "p2p-mode", WORD(p2p_mode, modes) },
	{ "tnis", SIZES(tnis, TOFU_EXCHANGE_ENGINES_MAX) },
	{ "machine", TEXT(options.machine) },
	{ "start", NUMBER(start_ns, 0, 1000000000), .with = SCALE | RANDOM },
	{ "barrier", DO(barrier_take) },
	{ "free-running", DO(free_take) },
	{ "phases", TAKE(phases_take) },
	{ "iterations", NUMBER(iterations, 1, 1000000) },
	{ "warmup", NUMBER(warmup, 0, 1000000) },
	{ "verify", SET(verify, true) },
	{ "no-verify", SET(verify, false) },
	{ "corrupt", NUMBER(corrupt, 0, UINT32_MAX) },
	{ "timeout", NUMBER(timeout, 1, 86400) },
	{ "json", SET(json, true) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table) };

static bool messages_are_wanted(const struct halo_options *options)
{
	const struct halo_choices *choices = options->neighbor ?
						     &options->algorithms :
						     &options->schedulers;
	unsigned int orig = options->neighbor ? HALO_ALGORITHM_ORIG :
						HALO_SCHEDULER_ORIG;

	if (options->form == HALO_FORM_MESSAGES)
		return true;
	for (size_t i = 0; i < choices->count; i++)
		if (choices->choice[i] == orig)
			return true;
	return false;
}

/* Options that need others; @given is that of tofu_args_parse() */
static void given_check(const struct halo_options *options, uint64_t given)
{
	const unsigned int pattern = pattern_of(options);

	for (size_t i = 0; i < args.count; i++) {
		if (!(given >> i & 1))
			continue;
		if (table[i].with && !(table[i].with & 1U << pattern))
			errx(EXIT_USAGE, "--%s does not go with --pattern %s",
			     table[i].name, patterns[pattern]);
		if (table[i].words == modes && !messages_are_wanted(options))
			errx(EXIT_USAGE, "--p2p-mode goes with %s",
			     options->neighbor ?
				     "--algorithm orig and --form messages" :
				     "--scheduler orig");
	}
	if (!options->neighbor && options->grid.dims &&
	    options->grid.dims != 2)
		errx(EXIT_USAGE, "--procs: %s has a grid such as 4x3",
		     patterns[pattern]);
}

/*
 * A node must not overtake its receiver. Messages from the receiver hold the
 * node back, where there are any.
 */
static void odd_check(const struct halo_options *options)
{
	if (options->random && options->sync == HALO_SYNC_FREE)
		errx(EXIT_USAGE,
		     "--free-running does not go with --pattern random: nobody answers its messages");
	for (size_t i = 0; i < options->neighbors.count; i++)
		if (options->neighbor && options->sync == HALO_SYNC_FREE &&
		    options->neighbors.size[i] % 2)
			errx(EXIT_USAGE,
			     "--free-running wants an even number of --neighbors: nobody answers the last of an odd one");
}

static void sizes_finish(struct halo_options *options, const char *grid,
			 const char *bytes, const char *sets)
{
	struct tofu_sizes *sizes = &options->sizes;

	if (options->neighbor) {
		tofu_arg_sizes("--bytes", bytes ? bytes : "16K:1M", 1,
			       BYTES_MAX, sizes);
	} else if (options->random && sets) {
		tofu_arg_sizes("--sets", sets, 1, SCHED_RANDOM_MAX, sizes);
	} else if (options->random) {
		for (sizes->count = 0; sizes->count < RANDOM_SETS; sizes->count++)
			sizes->size[sizes->count] = sizes->count + 1;
	} else if (grid && strcmp(grid, "all")) {
		tofu_arg_sizes("--grid", grid, 1, TOFU_SCALE_K_MAX, sizes);
	} else {
		for (size_t i = 0; i < TOFU_SCALE_ROWS; i++)
			sizes->size[i] = tofu_scale_rows[i];
		sizes->count = TOFU_SCALE_ROWS;
	}
}

struct halo_options halo_options_parse(int argc, char **argv)
{
	struct command command = { .options = {
		.tnis = { .count = 1 },
		.neighbors = { 1, { 6 } },
		.verify = true,
		.iterations = 20,
		.warmup = 2,
		.timeout = 60,
		.corrupt = -1,
		.start_ns = -1,
	} };
	struct halo_options *options = &command.options;
	uint64_t given;

	parts_parse("all", &options->parts);
	schedulers_parse("overhead-aware", &options->schedulers);
	choices_parse("--algorithm", "native", algorithms, 0,
		      &options->algorithms);
	given = tofu_args_parse(&args, argc, argv, &command);
	given_check(options, given);
	odd_check(options);
	sizes_finish(options, command.grid, command.bytes, command.sets);
	return *options;
}

/* ---- With the machine ---- */

static void model_find(struct halo_options *options,
		       struct tofu_rsched_model *model)
{
	static char name[TOFU_VIRTUAL_MACHINE];

	if (options->machine) {
		if (tofu_rsched_machine(options->machine, model))
			errx(EXIT_USAGE,
			     "--machine: '%s' is not k, fx10, fx100 or fugaku",
			     options->machine);
		return;
	}
	options->machine = name;
	if (tofu_virtual_machine(name) && !tofu_rsched_machine(name, model))
		return;
	options->machine = "k";
	tofu_rsched_machine(options->machine, model);
}

static void schedulers_check(const struct halo_options *options,
			     unsigned int engines)
{
	for (size_t i = 0; i < options->schedulers.count; i++) {
		unsigned int choice = options->schedulers.choice[i];

		if (!options->neighbor && choice < SCHED_SCHEDULERS &&
		    sched_schedulers[choice].width > engines)
			errx(EXIT_USAGE, "--scheduler: %s needs %u TNIs, not %u",
			     sched_schedulers[choice].name,
			     sched_schedulers[choice].width, engines);
	}
}

void halo_options_finish(struct halo_options *options,
			 const struct tofu_machine *machine,
			 unsigned int engines, struct tofu_rsched_model *model)
{
	const struct tofu_grid *grid = &options->grid;

	if (!grid->dims)
		grid_default(&options->grid, machine);
	if (grid_nodes(grid) != machine->nodes)
		errx(EXIT_USAGE,
		     "--procs: %" PRIu64 " processes are not as many as the machine's nodes (%u)",
		     grid_nodes(grid), machine->nodes);
	if (options->corrupt >= machine->nodes)
		errx(EXIT_USAGE, "--corrupt: the machine has nodes 0 to %u",
		     machine->nodes - 1);
	model_find(options, model);
	if (options->start_ns >= 0)
		model->start_ns = (uint32_t)options->start_ns;
	if (model->engines > engines)
		model->engines = engines;
	for (size_t i = 0; i < options->tnis.count; i++) {
		uint64_t *tnis = &options->tnis.size[i];

		if (!*tnis || *tnis > engines)
			*tnis = engines;
		schedulers_check(options, *tnis < model->engines ?
						  (unsigned int)*tnis :
						  model->engines);
	}
}

/* ---- Rows ---- */

/* @row: complete but for the size */
static void sizes_add(const struct halo_options *options, struct halo_row row,
		      struct halo_row *rows, size_t *count)
{
	for (size_t i = 0; i < options->sizes.count; i++) {
		row.number = *count;
		row.size = options->sizes.size[i];
		rows[(*count)++] = row;
	}
}

/* @part: a part of SCALE-LES3, or NULL */
static void schedulers_add(const struct halo_options *options,
			   unsigned int tnis, const struct sched_set *part,
			   struct halo_row *rows, size_t *count)
{
	for (size_t s = 0; s < options->schedulers.count; s++) {
		unsigned int choice = options->schedulers.choice[s];
		struct halo_row row = {
			.tnis = tnis,
			.part = part,
			.scheduler = choice < SCHED_SCHEDULERS ?
					     &sched_schedulers[choice] :
					     NULL,
			.algorithm = TOFU_NEIGHBOR_NATIVE,
			.messages = choice == HALO_SCHEDULER_ORIG,
			.name = halo_scheduler_name(choice),
		};

		sizes_add(options, row, rows, count);
	}
}

static void parts_add(const struct halo_options *options, unsigned int tnis,
		      struct halo_row *rows, size_t *count)
{
	if (options->random) {
		schedulers_add(options, tnis, NULL, rows, count);
		return;
	}
	for (size_t p = 0; p < options->parts.count; p++)
		schedulers_add(options, tnis,
			       &sched_sets[options->parts.choice[p]], rows,
			       count);
}

static void neighbors_add(const struct halo_options *options,
			  unsigned int neighbors, struct halo_row *rows,
			  size_t *count)
{
	for (size_t t = 0; t < options->tnis.count; t++) {
		for (size_t a = 0; a < options->algorithms.count; a++) {
			unsigned int choice = options->algorithms.choice[a];
			bool orig = choice == HALO_ALGORITHM_ORIG;
			struct halo_row row = {
				.tnis = (unsigned int)options->tnis.size[t],
				.neighbors = neighbors,
				.algorithm = orig ? TOFU_NEIGHBOR_NATIVE :
						    choice,
				.messages = orig || options->form ==
							    HALO_FORM_MESSAGES,
				.form = orig ? NULL :
					       halo_form_name(options->form),
				.name = halo_algorithm_name(choice),
			};

			sizes_add(options, row, rows, count);
		}
	}
}

struct halo_row *halo_rows(const struct halo_options *options, size_t *count)
{
	size_t ways = options->neighbor ?
			      options->neighbors.count *
				      options->algorithms.count :
			      options->parts.count * options->schedulers.count;
	struct halo_row *rows = calloc(
		ways * options->tnis.count * options->sizes.count,
		sizeof(*rows));

	*count = 0;
	if (rows && options->neighbor)
		for (size_t i = 0; i < options->neighbors.count; i++)
			neighbors_add(options,
				      (unsigned int)options->neighbors.size[i],
				      rows, count);
	else if (rows)
		for (size_t i = 0; i < options->tnis.count; i++)
			parts_add(options, (unsigned int)options->tnis.size[i],
				  rows, count);
	return rows;
}
