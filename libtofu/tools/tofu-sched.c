// SPDX-License-Identifier: MIT
/*
 * tofu-sched: which engine sends which put when, planned and drawn. It needs no
 * controller: <tofu/rsched.h> is arithmetic.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/json.h"
#include "common/scale.h"
#include "common/table.h"
#include "tofu-sched.h"

enum { EXIT_USAGE = 2 };

#define ROWS 24
#define ROWS_MAX 1000
#define K_DEFAULT 872

static const char usage[] =
	"usage: tofu-sched [OPTION]... [FILE]\n"
	"Plan which engine sends which of several puts, in which order, and when.\n"
	"\n"
	"What is sent, one of (default --scale-les3 872):\n"
	"      --scale-les3 K    the halos of SCALE-LES3, of a grid with K levels\n"
	"      --set ew|ns|four|diagonal|all\n"
	"                        of them, only some directions (default all)\n"
	"      --neighbors N     N puts in directions of their own,\n"
	"      --bytes BYTES     of so many bytes each (default 8K)\n"
	"      FILE              a put in each line: DIRECTION BYTES [diagonal]; E, W, N,\n"
	"                        S, NE, SE, NW and SW are known, other names are new\n"
	"                        directions; - is standard input\n"
	"How:\n"
	"      --scheduler NAME  overhead-aware (default), round-robin:1, :2 or :4, bl:1,\n"
	"                        :2 or :4\n"
	"      --compare         times of all of them; without a workload the published\n"
	"                        table of SCALE-LES3\n"
	"      --machine NAME    k, fx10 (default), fx100 or fugaku\n"
	"      --engines N       instead of the machine's\n"
	"      --start NS        time to start an engine (default 1000)\n"
	"What is printed:\n"
	"      --draw            a picture for the terminal instead of the table\n"
	"      --rows N          lines of it (default 24)\n"
	"      --svg FILE        a picture, beside what is printed; with --compare all\n"
	"                        plans side by side\n"
	"      --json            print as JSON\n"
	"      --help            print this and exit\n";

/**
 * struct options - what the user wants
 * @given:   a workload, in any of the three ways
 * @svg:     file, or NULL
 */
struct options {
	struct tofu_rsched_model model;
	const struct sched_scheduler *scheduler;
	const struct sched_set *set;
	const char *machine;
	const char *svg;
	unsigned int k;
	unsigned int neighbors;
	unsigned int rows;
	uint64_t bytes;
	bool given;
	bool compare;
	bool draw;
	bool json;
};

/* ---- Plans ---- */

static struct sched_bar put_bar(const struct sched_workload *workload,
				const struct tofu_rsched_plan *plan, size_t put)
{
	const struct tofu_rsched_place *place = &plan->place[put];

	return (struct sched_bar){
		.engine = place->engine,
		.begin_ns = place->begin_ns,
		.end_ns = place->end_ns,
		.direction = workload->request[put].direction,
	};
}

/* The bars are to be freed. */
static struct sched_panel panel_of(const struct options *options,
				   const struct sched_scheduler *scheduler,
				   const struct sched_workload *workload,
				   const struct tofu_rsched_plan *plan)
{
	struct sched_panel panel = {
		.title = scheduler->title,
		.engines = options->model.engines,
		.end_ns = plan->makespan_ns,
		.name = workload->direction,
	};
	struct sched_bar *bar =
		calloc(plan->count + plan->engines + 1, sizeof(*bar));

	if (!bar)
		errx(EXIT_FAILURE, "no memory");
	panel.bar = bar;
	for (uint32_t e = 0; e < plan->engines && options->model.start_ns; e++)
		bar[panel.bars++] = (struct sched_bar){
			.engine = e,
			.begin_ns = (uint64_t)options->model.start_ns * e,
			.end_ns = (uint64_t)options->model.start_ns * (e + 1),
			.direction = SCHED_START,
		};
	for (size_t i = 0; i < plan->count; i++)
		bar[panel.bars++] = put_bar(workload, plan, i);
	return panel;
}

/* ---- Pictures ---- */

static void svg_write(const struct options *options,
		      const struct sched_workload *workload,
		      const struct sched_panel *panel, size_t panels)
{
	FILE *out = fopen(options->svg, "we");
	char title[128];

	if (!out)
		err(EXIT_FAILURE, "%s", options->svg);
	snprintf(title, sizeof(title), "%s; planned for %s", workload->title,
		 options->machine);
	sched_draw_svg(out, title, panel, panels);
	if (fclose(out))
		err(EXIT_FAILURE, "%s", options->svg);
}

static void svg_all(const struct options *options,
		    const struct sched_workload *workload)
{
	struct sched_panel panel[SCHED_SCHEDULERS];
	size_t panels = 0;

	for (size_t i = 0; i < SCHED_SCHEDULERS; i++) {
		const struct sched_scheduler *s = &sched_schedulers[i];
		struct tofu_rsched_plan *plan;

		if (s->width > options->model.engines)
			continue;
		plan = sched_plan(&options->model, s, workload);
		panel[panels++] = panel_of(options, s, workload, plan);
		tofu_rsched_free(plan);
	}
	svg_write(options, workload, panel, panels);
	while (panels--)
		free((void *)panel[panels].bar);
}

/* ---- Tables ---- */

static void plan_table(const struct options *options,
		       const struct sched_workload *workload,
		       const struct tofu_rsched_plan *plan)
{
	static const struct tofu_column columns[] = {
		{ "engine", 6 }, { "put", 4 },	    { "direction", -9 },
		{ "bytes", 9 },	 { "begin/us", 9 }, { "end/us", 9 },
	};
	struct tofu_table table = { .out = stdout, .column = columns,
				    .columns = 6 };

	printf("%s, %s for %s: %.3f us on %" PRIu32 " engine%s\n\n",
	       workload->title, options->scheduler->title, options->machine,
	       (double)plan->makespan_ns / 1000, plan->engines,
	       plan->engines == 1 ? "" : "s");
	tofu_table_head(&table);
	for (size_t i = 0; i < plan->count; i++) {
		const size_t put = plan->order[i];
		const struct sched_bar bar = put_bar(workload, plan, put);

		tofu_table_cell(&table, "%" PRIu32, bar.engine);
		tofu_table_cell(&table, "%zu", put);
		tofu_table_cell(&table, "%s",
				workload->direction[bar.direction]);
		tofu_table_cell(&table, "%" PRIu64,
				workload->request[put].bytes);
		tofu_table_cell(&table, "%.3f", (double)bar.begin_ns / 1000);
		tofu_table_cell(&table, "%.3f", (double)bar.end_ns / 1000);
	}
}

static void plan_json(const struct options *options,
		      const struct sched_workload *workload,
		      const struct tofu_rsched_plan *plan)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '{');
	tofu_json_string(&json, "workload", workload->title);
	tofu_json_string(&json, "machine", options->machine);
	tofu_json_string(&json, "scheduler", options->scheduler->name);
	tofu_json_number(&json, "engines", plan->engines);
	tofu_json_number(&json, "makespan_ns", plan->makespan_ns);
	tofu_json_open(&json, "puts", '[');
	for (size_t i = 0; i < plan->count; i++) {
		const size_t put = plan->order[i];
		const struct sched_bar bar = put_bar(workload, plan, put);

		tofu_json_open(&json, NULL, '{');
		tofu_json_number(&json, "put", put);
		tofu_json_number(&json, "engine", bar.engine);
		tofu_json_string(&json, "direction",
				 workload->direction[bar.direction]);
		tofu_json_number(&json, "bytes", workload->request[put].bytes);
		tofu_json_number(&json, "begin_ns", bar.begin_ns);
		tofu_json_number(&json, "end_ns", bar.end_ns);
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

static void plan_show(const struct options *options,
		      const struct sched_workload *workload)
{
	struct tofu_rsched_plan *plan =
		sched_plan(&options->model, options->scheduler, workload);
	struct sched_panel panel =
		panel_of(options, options->scheduler, workload, plan);

	if (options->svg)
		svg_write(options, workload, &panel, 1);
	if (options->json)
		plan_json(options, workload, plan);
	else if (options->draw)
		sched_draw_text(stdout, &panel, options->rows);
	else
		plan_table(options, workload, plan);
	free((void *)panel.bar);
	tofu_rsched_free(plan);
}

/* ---- Options ---- */

enum {
	OPT_SCALE = 1,
	OPT_SET,
	OPT_NEIGHBORS,
	OPT_BYTES,
	OPT_SCHEDULER,
	OPT_COMPARE,
	OPT_MACHINE,
	OPT_ENGINES,
	OPT_START,
	OPT_DRAW,
	OPT_ROWS,
	OPT_SVG,
	OPT_JSON,
	OPT_HELP,
};

static const struct option long_options[] = {
	{ "scale-les3", required_argument, NULL, OPT_SCALE },
	{ "set", required_argument, NULL, OPT_SET },
	{ "neighbors", required_argument, NULL, OPT_NEIGHBORS },
	{ "bytes", required_argument, NULL, OPT_BYTES },
	{ "scheduler", required_argument, NULL, OPT_SCHEDULER },
	{ "compare", no_argument, NULL, OPT_COMPARE },
	{ "machine", required_argument, NULL, OPT_MACHINE },
	{ "engines", required_argument, NULL, OPT_ENGINES },
	{ "start", required_argument, NULL, OPT_START },
	{ "draw", no_argument, NULL, OPT_DRAW },
	{ "rows", required_argument, NULL, OPT_ROWS },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const struct sched_scheduler *scheduler_parse(const char *name)
{
	const struct sched_scheduler *scheduler = sched_scheduler_find(name);

	if (!scheduler)
		errx(EXIT_USAGE, "--scheduler: '%s' is none", name);
	return scheduler;
}

static const struct sched_set *set_parse(const char *name)
{
	const struct sched_set *set = sched_set_find(name);

	if (!set)
		errx(EXIT_USAGE,
		     "--set: '%s' is not ew, ns, four, diagonal or all", name);
	return set;
}

static unsigned int number(const char *option, uint64_t min, uint64_t max)
{
	return (unsigned int)tofu_arg_number(option, optarg, min, max);
}

/**
 * struct costs - of the model, where the user has others; -1: not given
 */
struct costs {
	int64_t engines;
	int64_t start_ns;
};

static void option_take(struct options *options, struct costs *costs,
			int option)
{
	switch (option) {
	case OPT_SCALE:
		options->k = number("--scale-les3", 1, TOFU_SCALE_K_MAX);
		break;
	case OPT_SET:
		options->set = set_parse(optarg);
		break;
	case OPT_NEIGHBORS:
		options->neighbors = number("--neighbors", 1, SCHED_DIRECTIONS);
		break;
	case OPT_BYTES:
		options->bytes = tofu_arg_number("--bytes", optarg, 0,
						 TOFU_RSCHED_BYTES_MAX);
		break;
	case OPT_SCHEDULER:
		options->scheduler = scheduler_parse(optarg);
		break;
	case OPT_COMPARE:
		options->compare = true;
		break;
	case OPT_MACHINE:
		options->machine = optarg;
		break;
	case OPT_ENGINES:
		costs->engines =
			number("--engines", 1, TOFU_RSCHED_ENGINES_MAX);
		break;
	case OPT_START:
		costs->start_ns = number("--start", 0, 1000000000);
		break;
	case OPT_DRAW:
		options->draw = true;
		break;
	case OPT_ROWS:
		options->rows = number("--rows", 1, ROWS_MAX);
		break;
	case OPT_SVG:
		options->svg = optarg;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_HELP:
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	default:
		fputs("Try 'tofu-sched --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

static void model_find(struct options *options, const struct costs *costs)
{
	if (tofu_rsched_machine(options->machine, &options->model))
		errx(EXIT_USAGE,
		     "--machine: '%s' is not k, fx10, fx100 or fugaku",
		     options->machine);
	if (costs->engines >= 0)
		options->model.engines = (uint32_t)costs->engines;
	if (costs->start_ns >= 0)
		options->model.start_ns = (uint32_t)costs->start_ns;
}

static struct options options_parse(int argc, char **argv)
{
	struct costs costs = { .engines = -1, .start_ns = -1 };
	struct options options = {
		.scheduler = &sched_schedulers[SCHED_SCHEDULERS - 1],
		.machine = "fx10",
		.rows = ROWS,
	};
	int option, ways;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_take(&options, &costs, option);
	ways = (options.k || options.set) + !!options.neighbors +
	       (argc - optind);
	if (ways > 1)
		errx(EXIT_USAGE, "only one of --scale-les3, --neighbors and FILE");
	if (options.bytes && !options.neighbors)
		errx(EXIT_USAGE, "--bytes goes with --neighbors");
	options.given = ways;
	model_find(&options, &costs);
	return options;
}

static void workload_make(const struct options *options, const char *file,
			  struct sched_workload *workload)
{
	if (file)
		sched_workload_read(workload, file);
	else if (options->neighbors)
		sched_workload_neighbors(workload, options->neighbors,
					 options->bytes ? options->bytes :
							  8192);
	else
		sched_workload_scale(workload,
				     options->set ? options->set :
						    sched_set_find("all"),
				     options->k ? options->k : K_DEFAULT);
}

int main(int argc, char **argv)
{
	static struct sched_workload workload;
	struct options options = options_parse(argc, argv);

	workload_make(&options, argv[optind], &workload);
	if (!options.compare) {
		plan_show(&options, &workload);
		return EXIT_SUCCESS;
	}
	sched_compare(&options.model, options.machine,
		      options.given ? &workload : NULL, options.json);
	if (options.svg)
		svg_all(&options, &workload);
	return EXIT_SUCCESS;
}
