// SPDX-License-Identifier: MIT
/* The output of tofu-p2p: a table for people, or JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/table.h"
#include "common/virtual.h"
#include "p2p/p2p.h"

#define COLUMNS_MAX 16
#define WIDTH 7

/**
 * struct measure_report - the output of node 0
 * @column: columns of the table, made from the first row
 */
struct measure_report {
	const struct measure_options *options;
	struct tofu_column column[COLUMNS_MAX];
	struct tofu_table table;
	struct tofu_json json;
};

static const char *machine_of(const struct measure_options *options)
{
	return options->machine ? options->machine : "k";
}

static void thresholds_json(struct tofu_json *json, const char *machine)
{
	size_t eager = 0, get = 0;

	tofu_p2p_machine(machine, &eager, &get);
	tofu_json_open(json, "thresholds", '{');
	tofu_json_number(json, "eager", eager);
	tofu_json_number(json, "get", get);
	tofu_json_close(json, '}');
}

static void json_begin(struct measure_report *report, uint32_t nodes,
		       const char *shape)
{
	const struct measure_options *options = report->options;
	struct tofu_json *json = &report->json;

	json->out = stdout;
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "tool", "tofu-p2p");
	tofu_json_string(json, "test", measure_test_name(options->test));
	if (nodes)
		tofu_json_string(json, "shape", shape);
	tofu_json_number(json, "nodes", nodes);
	tofu_json_string(json, "machine", machine_of(options));
	if (options->odd)
		tofu_json_string(json, "armw", options->odd);
	thresholds_json(json, machine_of(options));
	tofu_json_bool(json, "virtual_time", tofu_virtual());
	tofu_json_number(json, "memory", options->memory);
	tofu_json_open(json, "rows", '[');
}

static void text_begin(const struct measure_options *options, uint32_t nodes,
		       const char *shape)
{
	printf("Point to point, %s", measure_test_name(options->test));
	if (nodes)
		printf(": %" PRIu32 " nodes (%s)", nodes, shape);
	printf(", thresholds of %s", machine_of(options));
	if (options->odd)
		printf(", on a machine with armw=%s", options->odd);
	putchar('\n');
}

struct measure_report *
measure_report_begin(const struct measure_options *options, uint32_t nodes,
		     const char *shape)
{
	struct measure_report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->options = options;
	if (options->json)
		json_begin(report, nodes, shape);
	else
		text_begin(options, nodes, shape);
	return report;
}

static void table_begin(struct measure_report *report,
			const struct measure_cell *cell, size_t cells)
{
	for (size_t i = 0; i < cells; i++)
		report->column[i] = (struct tofu_column){
			.title = cell[i].title,
			.width = cell[i].text ? -WIDTH : WIDTH,
		};
	report->table = (struct tofu_table){
		.out = stdout,
		.column = report->column,
		.columns = cells,
	};
	tofu_table_head(&report->table);
}

static void cell_print(struct tofu_table *table, const struct measure_cell *cell)
{
	if (cell->text)
		tofu_table_cell(table, "%s", cell->text);
	else if (cell->by)
		tofu_table_cell(table, "%.3f", (double)cell->value / cell->by);
	else
		tofu_table_cell(table, "%" PRIu64, cell->value);
}

static void cell_json(struct tofu_json *json, const struct measure_cell *cell)
{
	if (cell->text)
		tofu_json_string(json, cell->key, cell->text);
	else if (cell->by)
		tofu_json_real(json, cell->key,
			       (double)cell->value / cell->by);
	else
		tofu_json_number(json, cell->key, cell->value);
}

void measure_report_row(struct measure_report *report,
			const struct measure_cell *cell, size_t cells)
{
	if (report->options->json) {
		tofu_json_open(&report->json, NULL, '{');
		for (size_t i = 0; i < cells; i++)
			cell_json(&report->json, &cell[i]);
		tofu_json_close(&report->json, '}');
	} else {
		if (!report->table.columns)
			table_begin(report, cell, cells);
		for (size_t i = 0; i < cells; i++)
			cell_print(&report->table, &cell[i]);
	}
	/* A run of many rows takes long. */
	fflush(stdout);
}

void measure_report_end(struct measure_report *report, uint64_t wrong)
{
	if (report->options->json) {
		tofu_json_close(&report->json, ']');
		tofu_json_number(&report->json, "wrong", wrong);
		tofu_json_bool(&report->json, "ok", !wrong);
		tofu_json_close(&report->json, '}');
	} else if (wrong) {
		printf("WRONG: %" PRIu64 "\n", wrong);
	}
	/* Before any process ends: a launcher may end all with the first. */
	fflush(stdout);
}
