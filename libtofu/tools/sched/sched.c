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
#include "common/print.h"
#include "common/scale.h"
#include "common/shape.h"
#include "common/table.h"
#include "sched/sched.h"

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
	"      --random SET      puts by chance, the same for the same number\n"
	"      FILE              a put in each line: DIRECTION BYTES [diagonal]; E, W, N,\n"
	"                        S, NE, SE, NW and SW are known, other names are new\n"
	"                        directions; - is standard input\n"
	"How:\n"
	"      --scheduler NAME  overhead-aware (default), round-robin:1, :2 or :4, bl:1,\n"
	"                        :2 or :4\n"
	"      --compare         times of all of them; without a workload the published\n"
	"                        table of SCALE-LES3\n"
	"      --machine NAME    k (default), fx10, fx100 or fugaku\n"
	"      --engines N       instead of the machine's\n"
	"      --shape SHAPE     of a machine, whose links the puts cross, such as 2x2;\n"
	"                        with --scale-les3, --set and --random\n"
	"      --procs AxB       periodic grid of its processes (default: the machine's\n"
	"                        first axis longer than 1, times the rest)\n"
	"      --start NS        time to start an engine (default: the machine's;\n"
	"                        about 1000 is published for K)\n"
	"What is printed:\n"
	"      --draw            a picture for the terminal instead of the table\n"
	"      --rows N          lines of it (default 24)\n"
	"      --svg FILE        a picture, beside what is printed; with --compare all\n"
	"                        plans side by side\n"
	"      --happened FILE   beside all that what 'tofu-trace engines' saw of it, a\n"
	"                        line a put; - is standard input\n"
	"      --json            print as JSON\n"
	"      --help            print this and exit\n"
	"\n"
	"Exit status: 0; 1 when a file cannot be read or written; 2 for wrong options, and\n"
	"for lines of files that are wrong.\n";

/**
 * struct options - what the user wants
 * @given:   a workload, in any of the four ways
 * @random:  number of a set; 0: no such set
 * @ways:    of the puts on a machine that is given; else no sites
 * @svg:     file, or NULL
 * @happened: file, or NULL
 */
struct options {
	struct tofu_rsched_model model;
	const struct sched_scheduler *scheduler;
	const struct sched_set *set;
	struct sched_ways ways;
	const char *machine;
	const char *svg;
	const char *happened;
	unsigned int k;
	unsigned int neighbors;
	unsigned int random;
	unsigned int rows;
	uint64_t bytes;
	bool given;
	bool compare;
	bool draw;
	bool json;
};

/* ---- Plans ---- */

/**
 * struct shown - a plan, and what there is beside it
 * @happened: NULL: it is only planned
 */
struct shown {
	const struct options *options;
	const struct sched_scheduler *scheduler;
	const struct sched_workload *workload;
	const struct tofu_rsched_plan *plan;
	const struct sched_happened *happened;
};

static struct sched_bar put_bar(const struct shown *shown, size_t put)
{
	const struct tofu_rsched_place *place = &shown->plan->place[put];

	return (struct sched_bar){
		.engine = place->engine,
		.begin_ns = place->begin_ns,
		.end_ns = place->end_ns,
		.direction = shown->workload->request[put].direction,
	};
}

static struct sched_bar put_bar_happened(const struct shown *shown, size_t put)
{
	const struct sched_seen *seen = &shown->happened->put[put];
	struct sched_bar bar = put_bar(shown, put);

	bar.begin_ns = seen->begin_ns;
	bar.end_ns = seen->end_ns;
	return bar;
}

/* When the processor has started so many engines */
static uint64_t started_ns(const struct shown *shown, uint32_t engines)
{
	const struct tofu_rsched_model *model = &shown->options->model;

	return (uint64_t)model->start_ns * engines +
	       shown->plan->first[engines] * model->post_ns;
}

static struct sched_bar start_bar(const struct shown *shown, uint32_t engine)
{
	return (struct sched_bar){
		.engine = engine,
		.begin_ns = started_ns(shown, engine),
		.end_ns = started_ns(shown, engine + 1),
		.direction = SCHED_START,
	};
}

/* All until the engine begins with its first put. */
static struct sched_bar start_bar_happened(const struct shown *shown,
					   uint32_t engine)
{
	return (struct sched_bar){
		.engine = engine,
		.end_ns = shown->happened->start_ns[engine],
		.direction = SCHED_START,
	};
}

/* Bars of starts, of those that take time, and puts; they are to be freed. */
static struct sched_panel
panel_of(const struct shown *shown,
	 struct sched_bar (*start)(const struct shown *, uint32_t),
	 struct sched_bar (*put)(const struct shown *, size_t))
{
	const struct tofu_rsched_plan *plan = shown->plan;
	struct sched_panel panel = {
		.engines = shown->options->model.engines,
		.name = shown->workload->direction,
	};
	struct sched_bar *bar =
		calloc(plan->count + plan->engines + 1, sizeof(*bar));

	if (!bar)
		errx(EXIT_FAILURE, "no memory");
	panel.bar = bar;
	for (uint32_t e = 0; e < plan->engines; e++) {
		bar[panel.bars] = start(shown, e);
		panel.bars += bar[panel.bars].end_ns > bar[panel.bars].begin_ns;
	}
	for (size_t i = 0; i < plan->count; i++)
		bar[panel.bars++] = put(shown, i);
	return panel;
}

static struct sched_panel panel_planned(const struct shown *shown)
{
	struct sched_panel panel = panel_of(shown, start_bar, put_bar);

	panel.end_ns = shown->plan->makespan_ns;
	snprintf(panel.title, sizeof(panel.title), "%s%s",
		 shown->happened ? "planned: " : "", shown->scheduler->title);
	return panel;
}

static struct sched_panel panel_happened(const struct shown *shown)
{
	struct sched_panel panel =
		panel_of(shown, start_bar_happened, put_bar_happened);

	panel.end_ns = shown->happened->makespan_ns;
	snprintf(panel.title, sizeof(panel.title), "happened");
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
	snprintf(title, sizeof(title), "%s; %s %s", workload->title,
		 options->happened ? "on" : "planned for", options->machine);
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
		panel[panels++] = panel_planned(&(struct shown){
			.options = options,
			.scheduler = s,
			.workload = workload,
			.plan = plan,
		});
		tofu_rsched_free(plan);
	}
	svg_write(options, workload, panel, panels);
	while (panels--)
		free((void *)panel[panels].bar);
}

/* ---- Tables ---- */

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

static void head_print(const struct shown *shown)
{
	const struct tofu_rsched_plan *plan = shown->plan;

	printf("%s, %s for %s: %.3f us on %" PRIu32 " engine%s",
	       shown->workload->title, shown->scheduler->title,
	       shown->options->machine, us(plan->makespan_ns), plan->engines,
	       plan->engines == 1 ? "" : "s");
	if (shown->happened)
		printf("; happened: %.3f us", us(shown->happened->makespan_ns));
	fputs("\n\n", stdout);
}

static void happened_cells(struct tofu_table *table,
			   const struct sched_bar *bar,
			   const struct sched_seen *seen)
{
	tofu_table_cell(table, "%.3f", us(seen->begin_ns));
	tofu_table_cell(table, "%.3f", us(seen->end_ns));
	tofu_table_cell(table, "%+.3f", us(seen->end_ns) - us(bar->end_ns));
	tofu_table_cell(table, "%.3f", us(seen->arrived_ns));
}

static void plan_table(const struct shown *shown)
{
	static const struct tofu_column columns[] = {
		{ "engine", 6 },
		{ "put", 4 },
		{ "direction", -9 },
		{ "bytes", 9 },
		{ "begin/us", 9 },
		{ "end/us", 9 },
		{ "began/us", 9 },
		{ "ended/us", 9 },
		{ "later/us", 9 },
		{ "arrived/us", 9 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = shown->happened ? 10 : 6,
	};

	head_print(shown);
	tofu_table_head(&table);
	for (size_t i = 0; i < shown->plan->count; i++) {
		const size_t put = shown->plan->order[i];
		const struct sched_bar bar = put_bar(shown, put);

		tofu_table_cell(&table, "%" PRIu32, bar.engine);
		tofu_table_cell(&table, "%zu", put);
		tofu_table_cell(&table, "%s",
				shown->workload->direction[bar.direction]);
		tofu_table_cell(&table, "%" PRIu64,
				shown->workload->request[put].bytes);
		tofu_table_cell(&table, "%.3f", us(bar.begin_ns));
		tofu_table_cell(&table, "%.3f", us(bar.end_ns));
		if (shown->happened)
			happened_cells(&table, &bar, &shown->happened->put[put]);
	}
}

static void put_json(struct tofu_json *json, const struct shown *shown,
		     size_t put)
{
	const struct sched_bar bar = put_bar(shown, put);

	tofu_json_open(json, NULL, '{');
	tofu_json_number(json, "put", put);
	tofu_json_number(json, "engine", bar.engine);
	tofu_json_string(json, "direction",
			 shown->workload->direction[bar.direction]);
	tofu_json_number(json, "bytes", shown->workload->request[put].bytes);
	tofu_json_number(json, "begin_ns", bar.begin_ns);
	tofu_json_number(json, "end_ns", bar.end_ns);
	if (shown->happened) {
		const struct sched_seen *seen = &shown->happened->put[put];

		tofu_json_open(json, "happened", '{');
		tofu_json_number(json, "begin_ns", seen->begin_ns);
		tofu_json_number(json, "end_ns", seen->end_ns);
		tofu_json_number(json, "arrived_ns", seen->arrived_ns);
		tofu_json_close(json, '}');
	}
	tofu_json_close(json, '}');
}

static void plan_json(const struct shown *shown)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '{');
	tofu_json_string(&json, "workload", shown->workload->title);
	tofu_json_string(&json, "machine", shown->options->machine);
	tofu_json_string(&json, "scheduler", shown->scheduler->name);
	tofu_json_number(&json, "engines", shown->plan->engines);
	tofu_json_number(&json, "makespan_ns", shown->plan->makespan_ns);
	if (shown->happened)
		tofu_json_number(&json, "happened_ns",
				 shown->happened->makespan_ns);
	tofu_json_open(&json, "puts", '[');
	for (size_t i = 0; i < shown->plan->count; i++)
		put_json(&json, shown, shown->plan->order[i]);
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

/* ---- A plan alone, or with what happened beside it ---- */

static void shown_print(const struct shown *shown)
{
	const struct options *options = shown->options;
	struct sched_panel panel[2];
	size_t panels = 0;

	panel[panels++] = panel_planned(shown);
	if (shown->happened)
		panel[panels++] = panel_happened(shown);
	if (options->svg)
		svg_write(options, shown->workload, panel, panels);
	if (options->json)
		plan_json(shown);
	else if (options->draw)
		sched_draw_text(stdout, panel, panels, options->rows);
	else
		plan_table(shown);
	while (panels--)
		free((void *)panel[panels].bar);
}

static void plan_show(const struct options *options,
		      const struct sched_workload *workload)
{
	struct tofu_rsched_plan *plan =
		sched_plan(&options->model, options->scheduler, workload);
	struct sched_happened *happened = NULL;

	if (options->happened)
		happened = sched_happened_read(options->happened, plan, workload);
	shown_print(&(struct shown){
		.options = options,
		.scheduler = options->scheduler,
		.workload = workload,
		.plan = plan,
		.happened = happened,
	});
	free(happened);
	tofu_rsched_free(plan);
}

/* ---- Options ---- */

/**
 * struct command - what the command line says
 * @shape, @procs: of a machine and the grid on it; NULL: not given
 * @engines, @start_ns: of the model, where the user has others; -1: not given
 */
struct command {
	struct options options;
	const char *shape;
	const char *procs;
	int64_t engines;
	int64_t start_ns;
};

static void scheduler_take(void *command, const char *option, const char *text)
{
	const struct sched_scheduler *scheduler = sched_scheduler_find(text);

	if (!scheduler)
		errx(EXIT_USAGE, "%s: '%s' is none", option, text);
	((struct command *)command)->options.scheduler = scheduler;
}

static void set_take(void *command, const char *option, const char *text)
{
	const struct sched_set *set = sched_set_find(text);

	if (!set)
		errx(EXIT_USAGE,
		     "%s: '%s' is not ew, ns, four, diagonal or all", option,
		     text);
	((struct command *)command)->options.set = set;
}

#define AT(member) TOFU_AT(struct command, member)
#define KEPT(member) AT(options.member)
#define NUMBER(from, to) .kind = TOFU_ARG_NUMBER, .min = from, .max = to
#define SET(value) .kind = TOFU_ARG_SET, .min = value

static const struct tofu_option table[] = {
	{ "scale-les3", NUMBER(1, TOFU_SCALE_K_MAX), KEPT(k) },
	{ "set", TOFU_ARG_TAKE, .take = set_take },
	{ "neighbors", NUMBER(1, SCHED_DIRECTIONS), KEPT(neighbors) },
	{ "bytes", NUMBER(0, TOFU_RSCHED_BYTES_MAX), KEPT(bytes) },
	{ "random", NUMBER(1, SCHED_RANDOM_MAX), KEPT(random) },
	{ "scheduler", TOFU_ARG_TAKE, .take = scheduler_take },
	{ "compare", SET(true), KEPT(compare) },
	{ "machine", TOFU_ARG_TEXT, KEPT(machine) },
	{ "engines", NUMBER(1, TOFU_RSCHED_ENGINES_MAX), AT(engines) },
	{ "shape", TOFU_ARG_TEXT, AT(shape) },
	{ "procs", TOFU_ARG_TEXT, AT(procs) },
	{ "start", NUMBER(0, 1000000000), AT(start_ns) },
	{ "draw", SET(true), KEPT(draw) },
	{ "rows", NUMBER(1, ROWS_MAX), KEPT(rows) },
	{ "svg", TOFU_ARG_TEXT, KEPT(svg) },
	{ "happened", TOFU_ARG_TEXT, KEPT(happened) },
	{ "json", SET(true), KEPT(json) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table),
				       .operands = true };

static void model_find(struct options *options, const struct command *command)
{
	if (tofu_rsched_machine(options->machine, &options->model))
		errx(EXIT_USAGE,
		     "--machine: '%s' is not k, fx10, fx100 or fugaku",
		     options->machine);
	if (command->engines >= 0)
		options->model.engines = (uint32_t)command->engines;
	if (command->start_ns >= 0)
		options->model.start_ns = (uint32_t)command->start_ns;
}

/* As tofu-halo has it */
static void grid_find(const struct command *command,
		      const struct tofu_shape *shape, uint32_t size[2])
{
	const uint32_t nodes = tofu_shape_nodes(shape);
	int axis = 0, used = 0;

	if (!command->procs) {
		while (axis < TOFU_AXES - 1 && shape->size[axis] == 1)
			axis++;
		size[0] = shape->size[axis];
		size[1] = nodes / size[0];
		return;
	}
	if (sscanf(command->procs, "%5" SCNu32 "x%5" SCNu32 "%n", &size[0],
		   &size[1], &used) != 2 ||
	    command->procs[used])
		errx(EXIT_USAGE, "--procs: '%s' is no grid such as 4x3",
		     command->procs);
	if ((uint64_t)size[0] * size[1] != nodes)
		errx(EXIT_USAGE,
		     "--procs: %s processes are not as many as the machine's nodes (%" PRIu32 ")",
		     command->procs, nodes);
}

static void ways_find(struct options *options, const struct command *command)
{
	struct tofu_shape shape;
	uint32_t size[2];

	if (command->procs && !command->shape)
		errx(EXIT_USAGE, "--procs goes with --shape");
	if (!command->shape)
		return;
	if (!options->k && !options->set && !options->random)
		errx(EXIT_USAGE,
		     "--shape goes with --scale-les3, --set and --random");
	tofu_arg_shape("--shape", command->shape, &shape);
	grid_find(command, &shape, size);
	sched_places_ways(size, &shape, &options->ways);
}

static struct options options_parse(int argc, char **argv)
{
	struct command command = {
		.options = {
			.scheduler = &sched_schedulers[SCHED_SCHEDULERS - 1],
			.machine = "k",
			.rows = ROWS,
		},
		.engines = -1,
		.start_ns = -1,
	};
	struct options options;
	int ways;

	tofu_args_parse(&args, argc, argv, &command);
	options = command.options;
	ways = (options.k || options.set) + !!options.neighbors +
	       !!options.random + (argc - optind);
	if (ways > 1)
		errx(EXIT_USAGE, "only one of --scale-les3, --neighbors, --random and FILE");
	if (options.bytes && !options.neighbors)
		errx(EXIT_USAGE, "--bytes goes with --neighbors");
	if (options.happened && options.compare)
		errx(EXIT_USAGE, "--happened goes with one plan, and --compare makes all");
	if (options.happened && !strcmp(options.happened, "-") &&
	    optind < argc && !strcmp(argv[optind], "-"))
		errx(EXIT_USAGE, "--happened and FILE cannot both be standard input");
	options.given = ways;
	model_find(&options, &command);
	ways_find(&options, &command);
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
	else if (options->random)
		sched_workload_random(workload, options->random);
	else
		sched_workload_scale(workload,
				     options->set ? options->set :
						    sched_set_find("all"),
				     options->k ? options->k : K_DEFAULT);
	workload->ways = options->ways.sites ? &options->ways : NULL;
}

int main(int argc, char **argv)
{
	static struct sched_workload workload;
	struct options options = options_parse(argc, argv);

	workload_make(&options, argv[optind], &workload);
	if (!options.compare) {
		plan_show(&options, &workload);
		tofu_print_end();
		return EXIT_SUCCESS;
	}
	sched_compare(&options.model, options.machine,
		      options.given ? &workload : NULL, options.json);
	if (options.svg)
		svg_all(&options, &workload);
	tofu_print_end();
	return EXIT_SUCCESS;
}
