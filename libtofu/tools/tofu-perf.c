// SPDX-License-Identifier: MIT
/*
 * tofu-perf: latency, bandwidth and message rate of put, get and atomics
 * between node 0 and another one.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/error.h"
#include "common/json.h"
#include "common/shape.h"
#include "common/table.h"
#include "tofu-perf.h"

enum { EXIT_USAGE = 2 };

#define PUT_MAX 0xffffff
#define WINDOW_MAX 1024
#define ITERATIONS 1000
#define ITERATIONS_MIN 16
#define BYTES_MAX (256ULL << 20) /* a measurement, by default */

static const char usage[] =
	"usage: tofu-perf [OPTION]...\n"
	"Measure transfers between node 0 and another node of a Tofu machine.\n"
	"\n"
	"      --op put|get|armw|all\n"
	"                        what to measure (default all)\n"
	"      --size LIST       bytes, such as 8 or 8:4M for 8, 16 ... 4M (default\n"
	"                        8:4M); of armw those that are 4 or 8, or else 8\n"
	"      --window N        commands outstanding when bandwidth is measured\n"
	"                        (default 16)\n"
	"      --iterations N    commands that are measured (default 1000, fewer of\n"
	"                        large ones)\n"
	"      --warmup N        commands before them (default a tenth of that)\n"
	"      --peer NODE       the other node (default 1, or 0 if there is but one)\n"
	"      --tni N           TNI that both use (default 0)\n"
	"      --memcpy          also the speed of memcpy() on node 0, and the ratio\n"
	"      --timeout SECONDS give up when nothing happens for so long (default 60)\n"
	"      --json            print results as JSON\n"
	"      --help            print this and exit\n"
	"\n"
	"Run it on every node: scripts/tofu-cluster run tofu-perf, or without VMs\n"
	"tofu-run -n 2 tofu-perf. Node 0 prints; nodes without a part wait.\n"
	"Latency: of put one way, half of a ping-pong in which both sides poll for the\n"
	"last bytes; of get and armw from the post to the notice. MB is 10^6 bytes.\n";

/**
 * struct options - what the user wants
 * @op:       which operations
 * @peer:     -1 when not given
 * @iterations, @warmup: -1 when not given
 */
struct options {
	bool op[PERF_OPS];
	struct tofu_sizes sizes;
	int64_t peer;
	unsigned int tni;
	int64_t iterations;
	int64_t warmup;
	unsigned int window;
	unsigned int timeout;
	bool memcpy;
	bool json;
};

static const char *const op_names[PERF_OPS] = { "put", "get", "armw" };

static void op_parse(const char *text, bool op[PERF_OPS])
{
	bool some = false;

	for (int i = 0; i < PERF_OPS; i++) {
		op[i] = !strcmp(text, "all") || !strcmp(text, op_names[i]);
		some |= op[i];
	}
	if (!some)
		errx(EXIT_USAGE, "--op: '%s' is not put, get, armw or all",
		     text);
}

enum {
	OPT_OP = 1,
	OPT_SIZE,
	OPT_WINDOW,
	OPT_ITERATIONS,
	OPT_WARMUP,
	OPT_PEER,
	OPT_TNI,
	OPT_MEMCPY,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_HELP,
};

static const struct option long_options[] = {
	{ "op", required_argument, NULL, OPT_OP },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "iterations", required_argument, NULL, OPT_ITERATIONS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "peer", required_argument, NULL, OPT_PEER },
	{ "tni", required_argument, NULL, OPT_TNI },
	{ "memcpy", no_argument, NULL, OPT_MEMCPY },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static uint64_t number(const char *option, uint64_t min, uint64_t max)
{
	return tofu_arg_number(option, optarg, min, max);
}

static void option_take(struct options *options, int option)
{
	switch (option) {
	case OPT_OP:
		op_parse(optarg, options->op);
		break;
	case OPT_SIZE:
		tofu_arg_sizes("--size", optarg, 1, PUT_MAX, &options->sizes);
		break;
	case OPT_WINDOW:
		options->window =
			(unsigned int)number("--window", 1, WINDOW_MAX);
		break;
	case OPT_ITERATIONS:
		options->iterations =
			(int64_t)number("--iterations", 1, 10000000);
		break;
	case OPT_WARMUP:
		options->warmup = (int64_t)number("--warmup", 0, 10000000);
		break;
	case OPT_PEER:
		options->peer = (int64_t)number("--peer", 0, UINT32_MAX);
		break;
	case OPT_TNI:
		options->tni = (unsigned int)number("--tni", 0,
						    TOFU_TNIS_MAX - 1);
		break;
	case OPT_MEMCPY:
		options->memcpy = true;
		break;
	case OPT_TIMEOUT:
		options->timeout = (unsigned int)number("--timeout", 1, 86400);
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_HELP:
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	default:
		fputs("Try 'tofu-perf --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

static struct options options_parse(int argc, char **argv)
{
	struct options options = {
		.op = { true, true, true },
		.peer = -1,
		.iterations = -1,
		.warmup = -1,
		.window = 16,
		.timeout = 60,
	};
	int option;

	tofu_arg_sizes("--size", "8:4M", 1, PUT_MAX, &options.sizes);
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_take(&options, option);
	if (optind < argc)
		errx(EXIT_USAGE, "'%s' is not an option", argv[optind]);
	return options;
}

static void peer_finish(struct options *options,
			const struct tofu_machine *machine)
{
	if (options->peer < 0)
		options->peer = machine->nodes > 1;
	if (options->peer >= machine->nodes)
		errx(EXIT_USAGE, "--peer: the machine has nodes 0 to %u",
		     machine->nodes - 1);
}

static struct perf_settings settings_of(const struct options *options,
					uint64_t bytes)
{
	struct perf_settings settings = {
		.peer = (uint32_t)options->peer,
		.window = options->window,
		.iterations = ITERATIONS,
		.timeout = options->timeout,
	};

	if (options->iterations >= 0)
		settings.iterations = (uint64_t)options->iterations;
	else if (bytes * ITERATIONS > BYTES_MAX)
		settings.iterations = BYTES_MAX / bytes < ITERATIONS_MIN ?
					      ITERATIONS_MIN :
					      BYTES_MAX / bytes;
	settings.warmup = options->warmup >= 0 ? (uint64_t)options->warmup :
						 settings.iterations / 10;
	return settings;
}

/* ---- What is printed ---- */

static const struct tofu_column columns[] = {
	{ "op", -4 },	 { "bytes", 8 },      { "min/µs", 9 },
	{ "median/µs", 9 }, { "p99/µs", 9 }, { "max/µs", 9 },
	{ "MB/s", 9 },	 { "commands/s", 10 }, { "memcpy MB/s", 0 },
	{ "ratio", 6 },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define COLUMNS_MEMCPY 2 /* the last ones */

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

static void report_begin(struct report *report,
			 const struct tofu_machine *machine)
{
	const struct options *options = report->options;
	struct tofu_json *json = &report->json;
	char shape[TOFU_SHAPE_TEXT];

	tofu_shape_text(&machine->shape, shape);
	if (!report->on)
		return;
	if (!options->json) {
		printf("Node 0 and node %" PRId64 " of %u (%s), TNI %u, %u outstanding for bandwidth\n",
		       options->peer, machine->nodes, shape, options->tni,
		       options->window);
		report->table = (struct tofu_table){
			.out = stdout,
			.column = columns,
			.columns = options->memcpy ? COLUMNS :
						     COLUMNS - COLUMNS_MEMCPY,
		};
		tofu_table_head(&report->table);
		return;
	}
	json->out = stdout;
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "tool", "tofu-perf");
	tofu_json_string(json, "shape", shape);
	tofu_json_number(json, "nodes", machine->nodes);
	tofu_json_number(json, "peer", (uint64_t)options->peer);
	tofu_json_number(json, "tni", options->tni);
	tofu_json_number(json, "window", options->window);
	tofu_json_open(json, "results", '[');
}

static void report_json(struct report *report, enum perf_op op, uint64_t bytes,
			uint64_t iterations, const struct perf_result *result,
			double copy)
{
	struct tofu_json *json = &report->json;

	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "op", op_names[op]);
	tofu_json_number(json, "bytes", bytes);
	tofu_json_number(json, "iterations", iterations);
	tofu_json_open(json, "latency_us", '{');
	tofu_json_real(json, "min", (double)result->latency.min / 1e3);
	tofu_json_real(json, "median", (double)result->latency.median / 1e3);
	tofu_json_real(json, "p99", (double)result->latency.p99 / 1e3);
	tofu_json_real(json, "max", (double)result->latency.max / 1e3);
	tofu_json_close(json, '}');
	tofu_json_real(json, "mb_per_s", result->bandwidth / 1e6);
	tofu_json_real(json, "commands_per_s", result->rate);
	if (report->options->memcpy)
		tofu_json_real(json, "memcpy_mb_per_s", copy / 1e6);
	tofu_json_close(json, '}');
}

static void report_table(struct report *report, enum perf_op op, uint64_t bytes,
			 const struct perf_result *result, double copy)
{
	struct tofu_table *table = &report->table;

	tofu_table_cell(table, "%s", op_names[op]);
	tofu_table_cell(table, "%" PRIu64, bytes);
	tofu_table_cell(table, "%.2f", (double)result->latency.min / 1e3);
	tofu_table_cell(table, "%.2f", (double)result->latency.median / 1e3);
	tofu_table_cell(table, "%.2f", (double)result->latency.p99 / 1e3);
	tofu_table_cell(table, "%.2f", (double)result->latency.max / 1e3);
	tofu_table_cell(table, "%.1f", result->bandwidth / 1e6);
	tofu_table_cell(table, "%.0f", result->rate);
	if (report->options->memcpy) {
		tofu_table_cell(table, "%.1f", copy / 1e6);
		tofu_table_cell(table, "%.2f", result->bandwidth / copy);
	}
}

static void report_end(struct report *report)
{
	if (!report->on || !report->options->json)
		return;
	tofu_json_close(&report->json, ']');
	tofu_json_close(&report->json, '}');
}

/* ---- The run ---- */

static int size_run(struct perf *perf, struct report *report, enum perf_op op,
		    uint64_t bytes, char **why)
{
	const struct options *options = report->options;
	struct perf_settings settings = settings_of(options, bytes);
	struct perf_result result = { 0 };
	double copy = 0;
	int err = perf_run(perf, &settings, op, bytes, why, &result);

	if (err || !report->on)
		return err;
	if (options->memcpy)
		copy = perf_memcpy(bytes, settings.iterations);
	if (options->json)
		report_json(report, op, bytes, settings.iterations, &result,
			    copy);
	else
		report_table(report, op, bytes, &result, copy);
	return 0;
}

/* The sizes of an operation: atomics have no others than 4 and 8. */
static struct tofu_sizes op_sizes(const struct options *options,
				  enum perf_op op)
{
	struct tofu_sizes sizes = { 0 };

	if (op != PERF_ARMW)
		return options->sizes;
	for (size_t i = 0; i < options->sizes.count; i++) {
		uint64_t size = options->sizes.size[i];

		if (size == sizeof(uint32_t) || size == sizeof(uint64_t))
			sizes.size[sizes.count++] = size;
	}
	if (!sizes.count)
		sizes.size[sizes.count++] = sizeof(uint64_t);
	return sizes;
}

static int all_run(const struct options *options,
		   const struct tofu_machine *machine, struct tofu_boot *boot,
		   char **why)
{
	struct report report = { .on = machine->node == 0,
				 .options = options };
	struct perf *perf;
	size_t largest = 0;
	int err;

	for (size_t i = 0; i < options->sizes.count; i++) {
		if (options->sizes.size[i] > largest)
			largest = options->sizes.size[i];
	}
	err = perf_open(machine, boot, options->tni, (uint32_t)options->peer,
			largest, why, &perf);
	if (err)
		return err;
	report_begin(&report, machine);
	for (enum perf_op op = 0; !err && op < PERF_OPS; op++) {
		struct tofu_sizes sizes = op_sizes(options, op);

		if (!options->op[op])
			continue;
		for (size_t i = 0; !err && i < sizes.count; i++)
			err = size_run(perf, &report, op, sizes.size[i], why);
	}
	if (!err)
		report_end(&report);
	perf_close(perf);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = options_parse(argc, argv);
	struct tofu_machine machine;
	struct tofu_boot *boot = NULL;
	char *why = NULL;
	int err;

	/* Messages of nodes that are ended by the first failure stay whole. */
	setlinebuf(stderr);
	err = tofu_machine_find(&machine, &why);
	if (!err) {
		peer_finish(&options, &machine);
		err = tofu_boot_join(&machine, options.timeout, &why, &boot);
	}
	if (!err)
		err = all_run(&options, &machine, boot, &why);
	if (!err)
		err = tofu_boot_leave(boot, &why);
	else
		tofu_boot_abandon(boot);
	if (err)
		errx(EXIT_FAILURE, "%s", why ? why : strerror(-err));
	return EXIT_SUCCESS;
}
