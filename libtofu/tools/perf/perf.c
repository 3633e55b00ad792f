// SPDX-License-Identifier: MIT
/*
 * tofu-perf: latency, bandwidth and message rate of put, get and atomics
 * between two nodes or more, and where the time of a put goes.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "common/armw.h"
#include "common/error.h"
#include "common/json.h"
#include "common/print.h"
#include "common/shape.h"
#include "common/table.h"
#include "common/virtual.h"
#include "perf/perf.h"

#define PUT_MAX 0xffffff
#define WINDOW_MAX 1024

/**
 * struct defaults - how much is measured unless the user says otherwise
 * @sizes: sizes of the payload in bytes
 * @iterations: most iterations of a latency
 * @commands: most commands of a bandwidth
 * @least: fewest iterations or commands, however large the payload
 * @bytes: bytes that a measurement may move, which bounds both counts
 * @window: commands outstanding
 */
struct defaults {
	const char *sizes;
	uint64_t iterations;
	uint64_t commands;
	uint64_t least;
	uint64_t bytes;
	unsigned int window;
};

static const struct defaults defaults_usual = {
	.sizes = "8:4M",
	.iterations = 1000,
	.commands = 1000,
	.least = 16,
	.bytes = 256ULL << 20,
	.window = 16,
};

/* In virtual time all commands take equally long, and a second takes long. */
static const struct defaults defaults_virtual = {
	.sizes = "8:1M",
	.iterations = 20,
	.commands = 1000,
	.least = 4,
	.bytes = 4ULL << 20,
	.window = 8,
};

static const char usage[] =
	"usage: tofu-perf [OPTION]...\n"
	"Measure transfers between nodes of a Tofu machine.\n"
	"\n"
	"      --op put|get|armw|all\n"
	"                        what to measure (default all)\n"
	"      --size LIST       bytes, such as 8 or 8:4M for 8, 16 ... 4M (default\n"
	"                        8:4M; in virtual time 8:1M); of armw those that are\n"
	"                        4 or 8, or else 8\n"
	"      --window N        commands outstanding on each TNI when bandwidth is\n"
	"                        measured (default 16; in virtual time 8)\n"
	"      --iterations N    commands that are measured (default 1000, fewer of\n"
	"                        large ones; in virtual time 20, and for bandwidth\n"
	"                        1000)\n"
	"      --warmup N        commands before them (default a tenth of that)\n"
	"      --from NODE       the node that measures and prints (default 0)\n"
	"      --to NODE, --peer NODE\n"
	"                        the other node (default the next one)\n"
	"      --tni N           TNI that both use (default 0)\n"
	"      --tnis K          of bandwidth: K TNIs in turn, from that one on\n"
	"      --peers N         of bandwidth: N nodes in turn, the other node and the\n"
	"                        next ones by distance\n"
	"      --phases, --no-phases\n"
	"                        where the time of a put goes; only in virtual time,\n"
	"                        and there the default\n"
	"      --from-memory     engines fetch all commands and data of puts; else a\n"
	"                        command alone, and up to 32 bytes, are stored into\n"
	"                        the queue's page\n"
	"      --inject          data goes into the cache of the target's processor\n"
	"      --memcpy          also the speed of memcpy() on node 0, and the ratio\n"
	"      --timeout SECONDS\n"
	"                        give up when nothing happens for so long (default 60)\n"
	"      --json            print results as JSON\n"
	"      --help            print this and exit\n"
	"\n"
	"Run it on every node: scripts/tofu-cluster run tofu-perf, or without VMs\n"
	"tofu-run -n 2 tofu-perf. Nodes without a part wait.\n"
	"Latency: of put one way, half of a ping-pong in which both sides poll for the\n"
	"last bytes; of get and armw from the post to the notice. MB is 10^6 bytes.\n"
	"Exit status: 0; 1 when nodes could not talk; 2 for wrong options.\n";

/**
 * struct options - the user's options
 * @op:       operations to measure
 * @from, @peers: nodes of the bandwidth, see struct perf_place
 * @peer:     -1 when not given
 * @iterations, @warmup: -1 when not given
 * @window:   0 when not given
 * @phases:   -1 when not given
 */
struct options {
	bool op[PERF_OPS];
	struct tofu_sizes sizes;
	uint32_t from;
	int64_t peer;
	uint32_t peers;
	unsigned int tni;
	unsigned int tnis;
	int64_t iterations;
	int64_t warmup;
	unsigned int window;
	unsigned int timeout;
	int phases;
	bool memcpy;
	bool memory;
	bool inject;
	bool json;
};

static const char *const op_names[PERF_OPS] = { "put", "get", "armw" };

static void op_take(void *to, const char *option, const char *text)
{
	struct options *options = to;
	bool some = false;

	for (int i = 0; i < PERF_OPS; i++) {
		options->op[i] = !strcmp(text, "all") ||
				 !strcmp(text, op_names[i]);
		some |= options->op[i];
	}
	if (!some)
		errx(EXIT_USAGE, "%s: '%s' is not put, get, armw or all",
		     option, text);
}

#define KEPT(member) TOFU_AT(struct options, member)
#define NUMBER(member, from, to) \
	.kind = TOFU_ARG_NUMBER, KEPT(member), .min = from, .max = to
#define SET(member, value) .kind = TOFU_ARG_SET, KEPT(member), .min = value

static const struct tofu_option table[] = {
	{ "op", TOFU_ARG_TAKE, .take = op_take },
	{ "size", TOFU_ARG_SIZES, KEPT(sizes), .min = 1, .max = PUT_MAX },
	{ "window", NUMBER(window, 1, WINDOW_MAX) },
	{ "iterations", NUMBER(iterations, 1, 10000000) },
	{ "warmup", NUMBER(warmup, 0, 10000000) },
	{ "from", NUMBER(from, 0, UINT32_MAX) },
	{ "to", NUMBER(peer, 0, UINT32_MAX) },
	{ "peer", NUMBER(peer, 0, UINT32_MAX) },
	{ "peers", NUMBER(peers, 1, UINT32_MAX) },
	{ "tni", NUMBER(tni, 0, TOFU_TNIS_MAX - 1) },
	{ "tnis", NUMBER(tnis, 1, TOFU_TNIS_MAX) },
	{ "phases", SET(phases, true) },
	{ "no-phases", SET(phases, false) },
	{ "from-memory", SET(memory, true) },
	{ "inject", SET(inject, true) },
	{ "memcpy", SET(memcpy, true) },
	{ "timeout", NUMBER(timeout, 1, 86400) },
	{ "json", SET(json, true) },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table) };

static struct options options_parse(int argc, char **argv)
{
	struct options options = {
		.op = { true, true, true },
		.peer = -1,
		.iterations = -1,
		.warmup = -1,
		.peers = 1,
		.tnis = 1,
		.phases = -1,
		.timeout = 60,
	};

	tofu_args_parse(&args, argc, argv, &options);
	return options;
}

static const struct defaults *defaults(void)
{
	return tofu_virtual() ? &defaults_virtual : &defaults_usual;
}

static void place_check(const struct options *options,
			const struct tofu_machine *machine)
{
	if (options->from >= machine->nodes)
		errx(EXIT_USAGE, "--from: the machine has nodes 0 to %u",
		     machine->nodes - 1);
	if (options->peer >= machine->nodes)
		errx(EXIT_USAGE, "--to: the machine has nodes 0 to %u",
		     machine->nodes - 1);
	if (options->peers > 1 && options->peer == options->from)
		errx(EXIT_USAGE, "--peers: the other node is to be another");
	if (options->peers > 1 && options->peers >= machine->nodes)
		errx(EXIT_USAGE, "--peers: there are %u other nodes",
		     machine->nodes - 1);
	if (options->phases > 0 && !tofu_virtual())
		errx(EXIT_USAGE, "--phases: there is no virtual time here");
	if (options->memcpy && tofu_virtual() && !tofu_virtual_runs())
		errx(EXIT_USAGE, "--memcpy: a copy takes no time on a simulated node");
}

/* Atomics are measured where there are some. */
static void ops_settle(struct options *options,
		       const struct tofu_machine *machine)
{
	if (machine->armw || !options->op[PERF_ARMW])
		return;
	if (!options->op[PERF_PUT])
		errx(EXIT_USAGE,
		     "--op armw: this machine has no remote atomics");
	options->op[PERF_ARMW] = false;
}

/* Settle the options that depend on the machine. */
static void options_finish(struct options *options,
			   const struct tofu_machine *machine)
{
	if (options->peer < 0)
		options->peer = (options->from + 1) % machine->nodes;
	ops_settle(options, machine);
	place_check(options, machine);
	if (!options->sizes.count)
		tofu_arg_sizes("--size", defaults()->sizes, 1, PUT_MAX,
			       &options->sizes);
	if (!options->window)
		options->window = defaults()->window;
	if (options->phases < 0)
		options->phases = tofu_virtual();
	/* For a put to the node itself both ends are the same queue. */
	if (!options->op[PERF_PUT] || options->peer == options->from)
		options->phases = 0;
}

/* Return: the count that @bytes allow. */
static uint64_t bounded(uint64_t count, uint64_t bytes)
{
	uint64_t min = defaults()->least;
	uint64_t fit = defaults()->bytes / bytes;

	if (fit > count)
		return count;
	return fit < min ? min : fit;
}

static struct perf_settings settings_of(const struct options *options,
					uint64_t bytes)
{
	const struct defaults *usual = defaults();
	struct perf_settings settings = {
		.window = options->window,
		.timeout = options->timeout,
		.memory = options->memory,
		.inject = options->inject,
	};

	if (options->iterations >= 0) {
		settings.iterations = (uint64_t)options->iterations;
		settings.commands = settings.iterations;
	} else {
		settings.iterations = bounded(usual->iterations, bytes);
		/* Per TNI and peer, so that all of them count */
		settings.commands = bounded(usual->commands, bytes) *
				    options->tnis * options->peers;
	}
	settings.warmup = options->warmup >= 0 ? (uint64_t)options->warmup :
						 settings.iterations / 10;
	return settings;
}

/* ---- Output ---- */

static const struct tofu_column columns[] = {
	{ "op", -4 },	 { "bytes", 8 },      { "min/µs", 9 },
	{ "median/µs", 9 }, { "p99/µs", 9 }, { "max/µs", 9 },
	{ "MB/s", 9 },	 { "commands/s", 10 }, { "memcpy MB/s", 0 },
	{ "ratio", 6 },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define COLUMNS_MEMCPY 2 /* the last columns */

/**
 * struct report - the output of the node that measures
 * @on: this is the node that measures
 */
struct report {
	bool on;
	const struct options *options;
	struct tofu_table table;
	struct tofu_json json;
};

/* See tofu_armw_odd(). */
static const char *odd_of(const struct tofu_machine *machine)
{
	char name[TOFU_VIRTUAL_MACHINE];

	return tofu_virtual_machine(name) ?
		       tofu_armw_odd(name, machine->armw) :
		       NULL;
}

static void head_print(const struct options *options,
		       const struct tofu_machine *machine, const char *shape)
{
	const char *odd = odd_of(machine);

	printf("Node %u and node %" PRId64 " of %u (%s), TNI %u, %u outstanding for bandwidth",
	       options->from, options->peer, machine->nodes, shape,
	       options->tni, options->window);
	if (options->tnis > 1 || options->peers > 1)
		printf(" on each of %u TNI%s to %u node%s", options->tnis,
		       options->tnis > 1 ? "s" : "", options->peers,
		       options->peers > 1 ? "s" : "");
	printf("%s", tofu_virtual() ? ", virtual time" : "");
	if (odd)
		printf(", a machine with armw=%s", odd);
	putchar('\n');
}

static void report_begin(struct report *report,
			 const struct tofu_machine *machine)
{
	const struct options *options = report->options;
	struct tofu_json *json = &report->json;
	const char *odd = odd_of(machine);
	char shape[TOFU_SHAPE_TEXT];

	tofu_shape_text(&machine->shape, shape);
	if (!report->on)
		return;
	if (!options->json) {
		head_print(options, machine, shape);
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
	tofu_json_bool(json, "virtual_time", tofu_virtual());
	if (odd)
		tofu_json_string(json, "armw", odd);
	tofu_json_number(json, "from", options->from);
	tofu_json_number(json, "peer", (uint64_t)options->peer);
	tofu_json_number(json, "peers", options->peers);
	tofu_json_number(json, "tni", options->tni);
	tofu_json_number(json, "tnis", options->tnis);
	tofu_json_number(json, "window", options->window);
	tofu_json_open(json, "results", '[');
}

/* Print the times as they were taken, and the latencies made from them. */
static void times_json(struct tofu_json *json, const struct perf_result *result)
{
	const struct tofu_stats *times = &result->times;
	double us = 1e3 * result->ways;

	tofu_json_open(json, "latency_us", '{');
	tofu_json_real(json, "min", (double)times->min / us);
	tofu_json_real(json, "median", (double)times->median / us);
	tofu_json_real(json, "p99", (double)times->p99 / us);
	tofu_json_real(json, "max", (double)times->max / us);
	tofu_json_close(json, '}');
	tofu_json_number(json, "ways", result->ways);
	tofu_json_open(json, "round_trip_ns", '{');
	tofu_json_number(json, "min", times->min);
	tofu_json_number(json, "median", times->median);
	tofu_json_number(json, "p99", times->p99);
	tofu_json_number(json, "max", times->max);
	tofu_json_close(json, '}');
}

static void report_json(struct report *report, enum perf_op op, uint64_t bytes,
			const struct perf_settings *settings,
			const struct perf_result *result, double copy)
{
	struct tofu_json *json = &report->json;

	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "op", op_names[op]);
	tofu_json_number(json, "bytes", bytes);
	tofu_json_number(json, "iterations", settings->iterations);
	times_json(json, result);
	tofu_json_number(json, "commands", settings->commands);
	tofu_json_number(json, "commands_ns", result->elapsed);
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
	const struct tofu_stats *times = &result->times;
	double us = 1e3 * result->ways;

	tofu_table_cell(table, "%s", op_names[op]);
	tofu_table_cell(table, "%" PRIu64, bytes);
	tofu_table_cell(table, "%.2f", (double)times->min / us);
	tofu_table_cell(table, "%.2f", (double)times->median / us);
	tofu_table_cell(table, "%.2f", (double)times->p99 / us);
	tofu_table_cell(table, "%.2f", (double)times->max / us);
	tofu_table_cell(table, "%.1f", result->bandwidth / 1e6);
	tofu_table_cell(table, "%.0f", result->rate);
	if (report->options->memcpy) {
		tofu_table_cell(table, "%.1f", copy / 1e6);
		tofu_table_cell(table, "%.2f", result->bandwidth / copy);
	}
}

/* ---- Phases ---- */

static const char *const phase_names[PERF_PHASES] = {
	[PERF_LIBRARY] = "library", [PERF_DOORBELL] = "doorbell",
	[PERF_ENGINE] = "engine",   [PERF_WIRE] = "wire",
	[PERF_RECEIVE] = "receive", [PERF_NOTICE] = "notice",
};

static const struct tofu_column phase_columns[] = {
	{ "op", -4 },	   { "bytes", 8 },	 { "library/ns", 0 },
	{ "doorbell/ns", 0 }, { "engine/ns", 9 }, { "wire/ns", 9 },
	{ "receive/ns", 0 },  { "notice/ns", 9 }, { "total/ns", 9 },
	{ "return/ns", 9 },
};

static void phases_begin(struct report *report)
{
	if (!report->on)
		return;
	if (report->options->json) {
		tofu_json_close(&report->json, ']');
		tofu_json_open(&report->json, "phases", '[');
		return;
	}
	printf("\nFrom the call of a put to the return of the poll that finds its notice\n");
	report->table = (struct tofu_table){
		.out = stdout,
		.column = phase_columns,
		.columns = sizeof(phase_columns) / sizeof(phase_columns[0]),
	};
	tofu_table_head(&report->table);
}

static void phases_json(struct tofu_json *json, uint64_t bytes,
			const struct perf_phases *phases)
{
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "op", op_names[PERF_PUT]);
	tofu_json_number(json, "bytes", bytes);
	for (int i = 0; i < PERF_PHASES; i++)
		tofu_json_number(json, phase_names[i],
				 (uint64_t)phases->ns[i]);
	tofu_json_number(json, "total", (uint64_t)phases->total);
	tofu_json_number(json, "return", (uint64_t)phases->back);
	tofu_json_close(json, '}');
}

static void phases_table(struct tofu_table *table, uint64_t bytes,
			 const struct perf_phases *phases)
{
	tofu_table_cell(table, "%s", op_names[PERF_PUT]);
	tofu_table_cell(table, "%" PRIu64, bytes);
	for (int i = 0; i < PERF_PHASES; i++)
		tofu_table_cell(table, "%" PRId64, phases->ns[i]);
	tofu_table_cell(table, "%" PRId64, phases->total);
	tofu_table_cell(table, "%" PRId64, phases->back);
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
		report_json(report, op, bytes, &settings, &result, copy);
	else
		report_table(report, op, bytes, &result, copy);
	return 0;
}

/* The sizes of an operation: atomics have only 4 and 8. */
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

static int phases_run(struct perf *perf, struct report *report, char **why)
{
	const struct options *options = report->options;
	int err = 0;

	phases_begin(report);
	for (size_t i = 0; !err && i < options->sizes.count; i++) {
		uint64_t bytes = options->sizes.size[i];
		struct perf_settings settings = settings_of(options, bytes);
		struct perf_phases phases;

		err = perf_phases(perf, &settings, bytes, why, &phases);
		if (err || !report->on)
			continue;
		if (options->json)
			phases_json(&report->json, bytes, &phases);
		else
			phases_table(&report->table, bytes, &phases);
	}
	return err;
}

static struct perf_place place_of(const struct options *options)
{
	struct perf_place place = {
		.from = options->from,
		.to = (uint32_t)options->peer,
		.peers = options->peers,
		.tni = options->tni,
		.tnis = options->tnis,
	};

	for (size_t i = 0; i < options->sizes.count; i++)
		if (options->sizes.size[i] > place.bytes)
			place.bytes = options->sizes.size[i];
	return place;
}

static int all_run(const struct options *options,
		   const struct tofu_machine *machine, struct tofu_world *world,
		   char **why)
{
	struct report report = { .on = machine->node == options->from,
				 .options = options };
	const struct perf_place place = place_of(options);
	struct perf *perf;
	int err = perf_open(machine, world, &place, why, &perf);

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
	if (!err && options->phases)
		err = phases_run(perf, &report, why);
	if (!err)
		report_end(&report);
	perf_close(perf);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = options_parse(argc, argv);
	struct tofu_machine machine;
	struct tofu_world *world = NULL;
	char *why = NULL;
	int err;

	/* The first failure may end other nodes: keep their lines whole. */
	setlinebuf(stderr);
	if (options.memory)
		setenv("TOFU_DIRECT", "0", 1);
	err = tofu_machine_find(&machine, &why);
	if (!err) {
		tofu_virtual_find();
		options_finish(&options, &machine);
		err = tofu_world_join(&machine, options.timeout, &why, &world);
	}
	if (!err)
		err = all_run(&options, &machine, world, &why);
	if (!err)
		err = tofu_world_leave(world, &why);
	else
		tofu_world_abandon(world);
	if (err)
		errx(EXIT_FAILURE, "%s", why ? why : strerror(-err));
	tofu_print_end();
	return EXIT_SUCCESS;
}
