// SPDX-License-Identifier: MIT
/* What the user wants of tofu-halo, and the rows of the table that follow. */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scale.h"
#include "common/virtual.h"
#include "halo/halo.h"

enum { EXIT_USAGE = 2 };

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
	"      --form one-sided|two-sided\n"
	"                         neighbor: everything is queued at once (default), or\n"
	"                         step by step\n"
	"      --p2p-mode auto|fast|saving|shared\n"
	"                         orig: rings that messages are received in (default auto)\n"
	"      --tnis LIST        use N TNIs at most (default: all)\n"
	"      --machine NAME     whose model plans: k, fx10, fx100 or fugaku (default: the\n"
	"                         one whose virtual time it is; else fx10 for scale-les3\n"
	"                         and k for neighbor)\n"
	"      --start NS         time to start an engine in plans (default: as in\n"
	"                         tofu-sched)\n"
	"      --barrier          barriers of gates at both ends of each exchange, and in\n"
	"                         its time\n"
	"      --free-running     no barrier at all; without either a barrier before each\n"
	"                         exchange, which is not in its time\n"
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

enum {
	OPT_PATTERN = 1,
	OPT_PART,
	OPT_GRID,
	OPT_NEIGHBORS,
	OPT_BYTES,
	OPT_SETS,
	OPT_PROCS,
	OPT_SCHEDULER,
	OPT_ALGORITHM,
	OPT_FORM,
	OPT_P2P_MODE,
	OPT_TNIS,
	OPT_MACHINE,
	OPT_START,
	OPT_BARRIER,
	OPT_FREE,
	OPT_ITERATIONS,
	OPT_WARMUP,
	OPT_VERIFY,
	OPT_NO_VERIFY,
	OPT_CORRUPT,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_HELP,
	OPTIONS,
};

static const struct option long_options[] = {
	{ "pattern", required_argument, NULL, OPT_PATTERN },
	{ "part", required_argument, NULL, OPT_PART },
	{ "grid", required_argument, NULL, OPT_GRID },
	{ "neighbors", required_argument, NULL, OPT_NEIGHBORS },
	{ "bytes", required_argument, NULL, OPT_BYTES },
	{ "sets", required_argument, NULL, OPT_SETS },
	{ "procs", required_argument, NULL, OPT_PROCS },
	{ "scheduler", required_argument, NULL, OPT_SCHEDULER },
	{ "algorithm", required_argument, NULL, OPT_ALGORITHM },
	{ "form", required_argument, NULL, OPT_FORM },
	{ "p2p-mode", required_argument, NULL, OPT_P2P_MODE },
	{ "tnis", required_argument, NULL, OPT_TNIS },
	{ "machine", required_argument, NULL, OPT_MACHINE },
	{ "start", required_argument, NULL, OPT_START },
	{ "barrier", no_argument, NULL, OPT_BARRIER },
	{ "free-running", no_argument, NULL, OPT_FREE },
	{ "iterations", required_argument, NULL, OPT_ITERATIONS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "no-verify", no_argument, NULL, OPT_NO_VERIFY },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* ---- Words ---- */

enum { PATTERN_SCALE,
       PATTERN_NEIGHBOR,
       PATTERN_RANDOM };
static const char *const patterns[] = { "scale-les3", "neighbor", "random",
					NULL };
static const char *const forms[] = { "one-sided", "two-sided", NULL };
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

/* Number of a word in a list that ends with NULL; exits where it is not there. */
static unsigned int word_find(const char *option, const char *text,
			      const char *const *words)
{
	for (unsigned int i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	errx(EXIT_USAGE, "%s: '%s' is not one of those that --help names",
	     option, text);
}

static void choices_add(const char *option, struct halo_choices *choices,
			unsigned int choice)
{
	if (choices->count == HALO_CHOICES_MAX)
		errx(EXIT_USAGE, "%s: more than %d", option, HALO_CHOICES_MAX);
	choices->choice[choices->count++] = choice;
}

/* @each: how many of the first words "each" stands for; 0: it is no word */
static void choices_parse(const char *option, const char *text,
			  const char *const *words, unsigned int each,
			  struct halo_choices *choices)
{
	char *copy = strdup(text), *rest = copy, *word;

	if (!copy)
		errx(EXIT_FAILURE, "no memory");
	choices->count = 0;
	while ((word = strsep(&rest, ","))) {
		if (each && !strcmp(word, "each"))
			for (unsigned int i = 0; i < each; i++)
				choices_add(option, choices, i);
		else
			choices_add(option, choices,
				    word_find(option, word, words));
	}
	free(copy);
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

	/* No product of the greatest sizes is more than 64 bits. */
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

static uint64_t number(const char *option, uint64_t min, uint64_t max)
{
	return tofu_arg_number(option, optarg, min, max);
}

static void sync_take(struct halo_options *options, enum halo_sync sync)
{
	if (options->sync != HALO_SYNC_BEFORE && options->sync != sync)
		errx(EXIT_USAGE, "--barrier and --free-running: one of them");
	options->sync = sync;
}

static void pattern_take(struct halo_options *options)
{
	unsigned int pattern = word_find("--pattern", optarg, patterns);

	options->neighbor = pattern == PATTERN_NEIGHBOR;
	options->random = pattern == PATTERN_RANDOM;
}

/* Of what, and in which rows */
static bool rows_option_take(struct halo_options *options, int option)
{
	switch (option) {
	case OPT_PATTERN:
		pattern_take(options);
		return true;
	case OPT_PART:
		parts_parse(optarg, &options->parts);
		return true;
	case OPT_NEIGHBORS:
		tofu_arg_sizes("--neighbors", optarg, 1, HALO_MESSAGES_MAX,
			       &options->neighbors);
		return true;
	case OPT_PROCS:
		procs_parse(optarg, &options->grid);
		return true;
	case OPT_SCHEDULER:
		schedulers_parse(optarg, &options->schedulers);
		return true;
	case OPT_ALGORITHM:
		choices_parse("--algorithm", optarg, algorithms, 0,
			      &options->algorithms);
		return true;
	case OPT_FORM:
		options->form = (enum tofu_neighbor_form)word_find(
			"--form", optarg, forms);
		return true;
	case OPT_P2P_MODE:
		options->p2p_mode = (enum tofu_p2p_mode)word_find(
			"--p2p-mode", optarg, modes);
		return true;
	case OPT_TNIS:
		tofu_arg_sizes("--tnis", optarg, 1, TOFU_EXCHANGE_ENGINES_MAX,
			       &options->tnis);
		return true;
	default:
		return false;
	}
}

static void option_take(struct halo_options *options, int option)
{
	switch (option) {
	case OPT_MACHINE:
		options->machine = optarg;
		break;
	case OPT_START:
		options->start_ns = (int64_t)number("--start", 0, 1000000000);
		break;
	case OPT_BARRIER:
		sync_take(options, HALO_SYNC_GATES);
		break;
	case OPT_FREE:
		sync_take(options, HALO_SYNC_FREE);
		break;
	case OPT_ITERATIONS:
		options->iterations = number("--iterations", 1, 1000000);
		break;
	case OPT_WARMUP:
		options->warmup = number("--warmup", 0, 1000000);
		break;
	case OPT_VERIFY:
	case OPT_NO_VERIFY:
		options->verify = option == OPT_VERIFY;
		break;
	case OPT_CORRUPT:
		options->corrupt = (int64_t)number("--corrupt", 0, UINT32_MAX);
		break;
	case OPT_TIMEOUT:
		options->timeout =
			(unsigned int)number("--timeout", 1, 86400);
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_HELP:
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	default:
		fputs("Try 'tofu-halo --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

static bool orig_is_wanted(const struct halo_options *options)
{
	const struct halo_choices *choices = options->neighbor ?
						     &options->algorithms :
						     &options->schedulers;
	unsigned int orig = options->neighbor ? HALO_ALGORITHM_ORIG :
						HALO_SCHEDULER_ORIG;

	for (size_t i = 0; i < choices->count; i++)
		if (choices->choice[i] == orig)
			return true;
	return false;
}

/* Patterns that an option goes with; 0: all do */
static unsigned int option_patterns(int option)
{
	switch (option) {
	case OPT_PART:
	case OPT_GRID:
		return 1U << PATTERN_SCALE;
	case OPT_SETS:
		return 1U << PATTERN_RANDOM;
	case OPT_SCHEDULER:
	case OPT_START:
		return 1U << PATTERN_SCALE | 1U << PATTERN_RANDOM;
	case OPT_NEIGHBORS:
	case OPT_BYTES:
	case OPT_ALGORITHM:
	case OPT_FORM:
		return 1U << PATTERN_NEIGHBOR;
	default:
		return 0;
	}
}

/* Options that only make sense with others */
static void given_check(const struct halo_options *options,
			const bool given[OPTIONS])
{
	const unsigned int pattern = pattern_of(options);

	for (int option = 1; option < OPTIONS; option++) {
		const unsigned int with = option_patterns(option);

		if (given[option] && with && !(with & 1U << pattern))
			errx(EXIT_USAGE, "--%s does not go with --pattern %s",
			     long_options[option - 1].name, patterns[pattern]);
	}
	if (given[OPT_P2P_MODE] && !orig_is_wanted(options))
		errx(EXIT_USAGE, "--p2p-mode goes with --%s orig",
		     options->neighbor ? "algorithm" : "scheduler");
	if (!options->neighbor && options->grid.dims &&
	    options->grid.dims != 2)
		errx(EXIT_USAGE, "--procs: %s has a grid such as 4x3",
		     patterns[pattern]);
}

/*
 * A node must not overtake the one that it sends to. That one's own messages
 * hold it back, where there are any.
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
	struct halo_options options = {
		.tnis = { .count = 1 },
		.neighbors = { 1, { 6 } },
		.verify = true,
		.iterations = 20,
		.warmup = 2,
		.timeout = 60,
		.corrupt = -1,
		.start_ns = -1,
	};
	const char *grid = NULL, *bytes = NULL, *sets = NULL;
	bool given[OPTIONS] = { false };
	int option;

	parts_parse("all", &options.parts);
	schedulers_parse("overhead-aware", &options.schedulers);
	choices_parse("--algorithm", "native", algorithms, 0,
		      &options.algorithms);
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		given[option < OPTIONS ? option : 0] = true;
		if (option == OPT_GRID)
			grid = optarg;
		else if (option == OPT_BYTES)
			bytes = optarg;
		else if (option == OPT_SETS)
			sets = optarg;
		else if (!rows_option_take(&options, option))
			option_take(&options, option);
	}
	if (optind < argc)
		errx(EXIT_USAGE, "'%s' is not an option", argv[optind]);
	given_check(&options, given);
	odd_check(&options);
	sizes_finish(&options, grid, bytes, sets);
	return options;
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
	options->machine = options->neighbor ? "k" : "fx10";
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

/* @row: of this part; all but the size is set */
static void sizes_add(const struct halo_options *options, struct halo_row row,
		      struct halo_row *rows, size_t *count)
{
	for (size_t i = 0; i < options->sizes.count; i++) {
		row.number = *count;
		row.size = options->sizes.size[i];
		rows[(*count)++] = row;
	}
}

/* @part: of SCALE-LES3, or NULL */
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
			.orig = choice == HALO_SCHEDULER_ORIG,
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
			struct halo_row row = {
				.tnis = (unsigned int)options->tnis.size[t],
				.neighbors = neighbors,
				.algorithm =
					(enum tofu_neighbor_algorithm)choice,
				.orig = choice == HALO_ALGORITHM_ORIG,
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
