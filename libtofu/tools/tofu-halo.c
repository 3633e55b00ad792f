// SPDX-License-Identifier: MIT
/*
 * tofu-halo: halo exchanges through libtofu, one process a node, every byte
 * received verified against what its sender must have sent.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/error.h"
#include "common/json.h"
#include "common/scale.h"
#include "common/shape.h"
#include "common/table.h"
#include "common/virtual.h"
#include "tofu-halo.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

#define PUT_MAX 0xffffff

static const char usage[] =
	"usage: tofu-halo [OPTION]...\n"
	"Exchange halos between the nodes of a Tofu machine, one process a node, and\n"
	"verify every byte received.\n"
	"\n"
	"      --pattern scale-les3|neighbor\n"
	"                         who sends how much to whom: the 14 messages of\n"
	"                         SCALE-LES3 (default), or equal ones to the nearest\n"
	"      --grid K|all       scale-les3: levels of the grid (default: all 11 rows\n"
	"                         of the published measurements)\n"
	"      --neighbors N      neighbor: how many, 1 to 64 (default 6)\n"
	"      --bytes LIST       neighbor: bytes of a message, such as 64K or 4K:1M for\n"
	"                         4K, 8K ... 1M (default 16K:1M)\n"
	"      --procs PxQ        grid of the processes (default: the machine's first\n"
	"                         axis longer than 1, times the rest)\n"
	"      --algorithm native|segmented\n"
	"                         whole messages at once (default), or in segments that\n"
	"                         keep all TNIs busy; wants the neighbor pattern\n"
	"      --tnis N           use N TNIs at most (default: all)\n"
	"      --iterations N     exchanges of a row (default 20)\n"
	"      --warmup N         exchanges before them that are not counted (default 2)\n"
	"      --no-verify        do not look at what was received\n"
	"      --verify           do (default)\n"
	"      --free-running     no barrier before each exchange\n"
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

/**
 * struct options - what the user wants
 * @neighbor: pattern neighbor, else scale-les3
 * @rows:     values of k, or sizes of messages
 * @grid:     p is 0 when not given
 */
struct options {
	bool neighbor;
	unsigned int neighbors;
	struct tofu_sizes rows;
	struct halo_grid grid;
	bool json;
	struct halo_settings settings;
};

enum {
	OPT_PATTERN = 1,
	OPT_GRID,
	OPT_NEIGHBORS,
	OPT_BYTES,
	OPT_PROCS,
	OPT_ALGORITHM,
	OPT_TNIS,
	OPT_ITERATIONS,
	OPT_WARMUP,
	OPT_VERIFY,
	OPT_NO_VERIFY,
	OPT_FREE,
	OPT_CORRUPT,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_HELP,
};

static const struct option long_options[] = {
	{ "pattern", required_argument, NULL, OPT_PATTERN },
	{ "grid", required_argument, NULL, OPT_GRID },
	{ "neighbors", required_argument, NULL, OPT_NEIGHBORS },
	{ "bytes", required_argument, NULL, OPT_BYTES },
	{ "procs", required_argument, NULL, OPT_PROCS },
	{ "algorithm", required_argument, NULL, OPT_ALGORITHM },
	{ "tnis", required_argument, NULL, OPT_TNIS },
	{ "iterations", required_argument, NULL, OPT_ITERATIONS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "no-verify", no_argument, NULL, OPT_NO_VERIFY },
	{ "free-running", no_argument, NULL, OPT_FREE },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Which of two words; says so and exits where it is neither. */
static bool choose(const char *option, const char *text, const char *no,
		   const char *yes)
{
	if (strcmp(text, no) && strcmp(text, yes))
		errx(EXIT_USAGE, "%s: '%s' is neither %s nor %s", option, text,
		     no, yes);
	return !strcmp(text, yes);
}

static void procs_parse(const char *text, struct halo_grid *grid)
{
	int end = 0;

	if (sscanf(text, "%" SCNu32 "x%" SCNu32 "%n", &grid->p, &grid->q,
		   &end) != 2 ||
	    text[end] || !grid->p || !grid->q)
		errx(EXIT_USAGE, "--procs: '%s' is no grid such as 2x2", text);
}

static uint64_t number(const char *option, uint64_t min, uint64_t max)
{
	return tofu_arg_number(option, optarg, min, max);
}

static void option_take(struct options *options, int option,
			const char **grid, const char **bytes)
{
	struct halo_settings *settings = &options->settings;

	switch (option) {
	case OPT_PATTERN:
		options->neighbor =
			choose("--pattern", optarg, "scale-les3", "neighbor");
		break;
	case OPT_GRID:
		*grid = optarg;
		break;
	case OPT_NEIGHBORS:
		options->neighbors = (unsigned int)number("--neighbors", 1,
							  HALO_NEIGHBORS_MAX);
		break;
	case OPT_BYTES:
		*bytes = optarg;
		break;
	case OPT_PROCS:
		procs_parse(optarg, &options->grid);
		break;
	case OPT_ALGORITHM:
		settings->segmented =
			choose("--algorithm", optarg, "native", "segmented");
		break;
	case OPT_TNIS:
		settings->tnis =
			(unsigned int)number("--tnis", 1, HALO_TNIS_MAX);
		break;
	case OPT_ITERATIONS:
		settings->iterations = number("--iterations", 1, 1000000);
		break;
	case OPT_WARMUP:
		settings->warmup = number("--warmup", 0, 1000000);
		break;
	case OPT_VERIFY:
	case OPT_NO_VERIFY:
		settings->verify = option == OPT_VERIFY;
		break;
	case OPT_FREE:
		settings->free = true;
		break;
	case OPT_CORRUPT:
		settings->corrupt = (int64_t)number("--corrupt", 0, UINT32_MAX);
		break;
	case OPT_TIMEOUT:
		settings->timeout =
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

/* Options that only make sense together, and the rows of the table. */
static void options_finish(struct options *options, const char *grid,
			   const char *bytes)
{
	if (options->neighbor && grid)
		errx(EXIT_USAGE, "--grid goes with --pattern scale-les3");
	if (!options->neighbor && bytes)
		errx(EXIT_USAGE, "--bytes goes with --pattern neighbor");
	if (!options->neighbor && options->settings.segmented)
		errx(EXIT_USAGE,
		     "--algorithm segmented wants messages of equal size, and those of scale-les3 are not: use --pattern neighbor");
	if (options->neighbor) {
		tofu_arg_sizes("--bytes", bytes ? bytes : "16K:1M", 1, PUT_MAX,
			       &options->rows);
	} else if (grid && strcmp(grid, "all")) {
		tofu_arg_sizes("--grid", grid, 1, TOFU_SCALE_K_MAX,
			       &options->rows);
	} else {
		for (size_t i = 0; i < TOFU_SCALE_ROWS; i++)
			options->rows.size[i] = tofu_scale_rows[i];
		options->rows.count = TOFU_SCALE_ROWS;
	}
}

static struct options options_parse(int argc, char **argv)
{
	struct options options = {
		.neighbors = 6,
		.settings = {
			.verify = true,
			.iterations = 20,
			.warmup = 2,
			.timeout = 60,
			.corrupt = -1,
		},
	};
	const char *grid = NULL, *bytes = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_take(&options, option, &grid, &bytes);
	if (optind < argc)
		errx(EXIT_USAGE, "'%s' is not an option", argv[optind]);
	options_finish(&options, grid, bytes);
	return options;
}

/* The grid of the processes, which must be all nodes of the machine. */
static void grid_finish(struct halo_grid *grid,
			const struct tofu_machine *machine)
{
	for (int i = 0; !grid->p && i < TOFU_AXES; i++) {
		uint16_t size = machine->shape.size[i];

		if (size > 1 || i == TOFU_AXES - 1) {
			grid->p = size;
			grid->q = machine->nodes / size;
		}
	}
	if ((uint64_t)grid->p * grid->q != machine->nodes)
		errx(EXIT_USAGE,
		     "--procs: %" PRIu32 "x%" PRIu32 " are not as many as the machine's nodes (%u)",
		     grid->p, grid->q, machine->nodes);
}

static void machine_check(struct options *options,
			  const struct tofu_machine *machine)
{
	grid_finish(&options->grid, machine);
	if (options->settings.corrupt >= machine->nodes)
		errx(EXIT_USAGE, "--corrupt: the machine has nodes 0 to %u",
		     machine->nodes - 1);
}

/* ---- What is printed ---- */

/**
 * struct report - what node 0 prints
 * @on: this is node 0
 */
struct report {
	bool on;
	const struct options *options;
	struct tofu_table table;
	struct tofu_json json;
};

static const struct tofu_column columns_scale[] = {
	{ "k", 4 },	     { "bytes/exchange", 0 },	  { "exchanges", 0 },
	{ "verified", 12 },  { "wrong", 0 },	  { "time/µs", 10 },
	{ "MB/s/node", 10 },
};

static const struct tofu_column columns_neighbor[] = {
	{ "bytes", 8 },	     { "bytes/exchange", 0 },	  { "exchanges", 0 },
	{ "verified", 12 },  { "wrong", 0 },	  { "time/µs", 10 },
	{ "MB/s/node", 10 },
};

static const char *algorithm_name(const struct options *options)
{
	return options->settings.segmented ? "segmented" : "native";
}

static void report_begin_table(struct report *report,
			       const struct tofu_machine *machine,
			       unsigned int tnis)
{
	const struct options *options = report->options;
	struct tofu_neighbor_plan plan;
	char shape[TOFU_SHAPE_TEXT];

	printf("%s halo exchange: %u node%s (%s) as %" PRIu32 "x%" PRIu32
	       " processes, %u TNIs, %s\n",
	       options->neighbor ? "Neighbour" : "SCALE-LES3", machine->nodes,
	       machine->nodes > 1 ? "s" : "",
	       tofu_shape_text(&machine->shape, shape), options->grid.p,
	       options->grid.q, tnis, algorithm_name(options));
	if (options->settings.segmented) {
		plan = tofu_neighbor_plan_segmented(options->neighbors, tnis);
		printf("%u neighbours on %u TNIs: %u step%s, messages in %u segment%s%s\n",
		       options->neighbors, tnis, plan.steps,
		       plan.steps > 1 ? "s" : "", plan.segments,
		       plan.segments > 1 ? "s" : "",
		       plan.segments > 1 ? "" : " (the same as native)");
	}
	report->table = (struct tofu_table){
		.out = stdout,
		.column = options->neighbor ? columns_neighbor : columns_scale,
		.columns = sizeof(columns_scale) / sizeof(columns_scale[0]),
	};
	tofu_table_head(&report->table);
}

static void report_begin_json(struct report *report,
			      const struct tofu_machine *machine,
			      unsigned int tnis)
{
	const struct options *options = report->options;
	struct tofu_json *json = &report->json;
	char shape[TOFU_SHAPE_TEXT];

	json->out = stdout;
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "tool", "tofu-halo");
	tofu_json_string(json, "pattern",
			 options->neighbor ? "neighbor" : "scale-les3");
	tofu_json_string(json, "algorithm", algorithm_name(options));
	tofu_json_string(json, "shape", tofu_shape_text(&machine->shape, shape));
	tofu_json_number(json, "nodes", machine->nodes);
	tofu_json_open(json, "procs", '[');
	tofu_json_number(json, NULL, options->grid.p);
	tofu_json_number(json, NULL, options->grid.q);
	tofu_json_close(json, ']');
	tofu_json_number(json, "tnis", tnis);
	if (options->neighbor)
		tofu_json_number(json, "neighbors", options->neighbors);
	tofu_json_bool(json, "verify", options->settings.verify);
	tofu_json_number(json, "warmup", options->settings.warmup);
	tofu_json_open(json, "rows", '[');
}

static void report_begin(struct report *report,
			 const struct tofu_machine *machine, unsigned int tnis)
{
	if (!report->on)
		return;
	if (report->options->json)
		report_begin_json(report, machine, tnis);
	else
		report_begin_table(report, machine, tnis);
}

static void report_row(struct report *report,
		       const struct halo_pattern *pattern,
		       const struct halo_result *result)
{
	const struct options *options = report->options;
	uint64_t exchanges = options->settings.iterations;
	double us = (double)result->median / 1e3;
	double rate = (double)pattern->bytes / us;

	if (!report->on)
		return;
	if (options->json) {
		struct tofu_json *json = &report->json;

		tofu_json_open(json, NULL, '{');
		tofu_json_number(json, options->neighbor ? "bytes" : "k",
				 pattern->row);
		tofu_json_number(json, "puts", pattern->planned);
		tofu_json_number(json, "bytes_per_exchange", pattern->bytes);
		tofu_json_number(json, "exchanges", exchanges);
		tofu_json_number(json, "bytes_verified", result->verified);
		tofu_json_number(json, "bytes_wrong", result->wrong);
		tofu_json_real(json, "time_us", us);
		tofu_json_real(json, "mb_per_s_per_node", rate);
		tofu_json_close(json, '}');
		return;
	}
	tofu_table_cell(&report->table, "%" PRIu64, pattern->row);
	tofu_table_cell(&report->table, "%" PRIu64, pattern->bytes);
	tofu_table_cell(&report->table, "%" PRIu64, exchanges);
	if (options->settings.verify)
		tofu_table_cell(&report->table, "%" PRIu64, result->verified);
	else
		tofu_table_cell(&report->table, "no");
	tofu_table_cell(&report->table, "%" PRIu64, result->wrong);
	tofu_table_cell(&report->table, "%.1f", us);
	tofu_table_cell(&report->table, "%.1f", rate);
}

static void report_end(struct report *report, uint64_t wrong)
{
	if (!report->on)
		return;
	if (report->options->json) {
		tofu_json_close(&report->json, ']');
		tofu_json_bool(&report->json, "ok", !wrong);
		tofu_json_close(&report->json, '}');
	} else if (wrong) {
		printf("bytes that are WRONG: %" PRIu64 "\n", wrong);
	} else if (report->options->settings.verify) {
		printf("every byte received was right\n");
	}
	/* Before any process ends: a launcher may end all with the first. */
	fflush(stdout);
}

/* ---- The run ---- */

static void pattern_make(const struct options *options, uint32_t node,
			 uint64_t row, struct halo_pattern *pattern)
{
	if (options->neighbor)
		halo_pattern_neighbor(&options->grid, node, options->neighbors,
				      row, pattern);
	else
		halo_pattern_scale(&options->grid, node, (unsigned int)row,
				   pattern);
}

static size_t span_max(const struct options *options)
{
	struct halo_pattern pattern;
	size_t span = 0;

	for (size_t i = 0; i < options->rows.count; i++) {
		pattern_make(options, 0, options->rows.size[i], &pattern);
		if (pattern.span > span)
			span = pattern.span;
	}
	return span;
}

/* Sums of all nodes; of the times the longest. */
static int result_gather(struct tofu_boot *boot, uint32_t nodes,
			 struct halo_result *result, char **why)
{
	uint64_t mine[] = { result->wrong, result->verified, result->median };
	const size_t words = sizeof(mine) / sizeof(mine[0]);
	const uint64_t *all;
	int err = tofu_boot_allgather(boot, mine, words, &all, why);

	if (err)
		return err;
	*result = (struct halo_result){ 0 };
	for (uint32_t node = 0; node < nodes; node++, all += words) {
		result->wrong += all[0];
		result->verified += all[1];
		if (all[2] > result->median)
			result->median = all[2];
	}
	return 0;
}

static int rows_run(const struct options *options,
		    const struct tofu_machine *machine, struct tofu_boot *boot,
		    uint64_t *wrong, char **why)
{
	struct report report = { .on = machine->node == 0,
				 .options = options };
	struct halo *halo;
	int err = halo_open(machine, boot, &options->settings,
			    span_max(options), why, &halo);

	if (err)
		return err;
	report_begin(&report, machine, halo_tnis(halo));
	for (size_t i = 0; !err && i < options->rows.count; i++) {
		struct halo_pattern pattern;
		struct halo_result result;

		pattern_make(options, machine->node, options->rows.size[i],
			     &pattern);
		err = halo_run(halo, &pattern, why, &result);
		if (!err)
			err = result_gather(boot, machine->nodes, &result, why);
		if (err)
			break;
		report_row(&report, &pattern, &result);
		*wrong += result.wrong;
	}
	if (!err)
		report_end(&report, *wrong);
	halo_close(halo);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = options_parse(argc, argv);
	struct tofu_machine machine;
	struct tofu_boot *boot = NULL;
	uint64_t wrong = 0;
	char *why = NULL;
	int err;

	/* Messages of nodes that are ended by the first failure stay whole. */
	setlinebuf(stderr);
	err = tofu_machine_find(&machine, &why);
	if (!err) {
		tofu_virtual_find();
		machine_check(&options, &machine);
		err = tofu_boot_join(&machine, options.settings.timeout, &why,
				     &boot);
	}
	if (!err)
		err = rows_run(&options, &machine, boot, &wrong, &why);
	if (!err)
		err = tofu_boot_leave(boot, &why);
	else
		tofu_boot_abandon(boot);
	if (err)
		errx(EXIT_WRONG, "%s", why ? why : strerror(-err));
	return wrong ? EXIT_WRONG : EXIT_SUCCESS;
}
