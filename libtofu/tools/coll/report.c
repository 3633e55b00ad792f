// SPDX-License-Identifier: MIT
/* The output of tofu-coll: a table for people, or JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll/contents.h"
#include "coll/tool.h"
#include "common/armw.h"
#include "common/json.h"
#include "common/shape.h"
#include "common/table.h"
#include "common/virtual.h"

#define US 1000.0 /* ns */

static const struct tofu_column columns[] = {
	{ "collective", -14 },
	{ "algorithm", -20 },
	{ "bytes", 9 },
	{ "time/µs", 11 },
	{ "MB/s", 10 },
	{ "engines", 7 },
	{ "routes", 6 },
	{ "segment", 7 },
	{ "start/µs", 9 },
	{ "skew/µs", 9 },
	{ "first end/µs", 12 },
	{ "last end/µs", 11 },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define COLUMNS_OF_PHASES 4

/**
 * struct measure_report - the output of the first member
 */
struct measure_report {
	const struct measure_options *options;
	struct tofu_table table;
	struct tofu_json json;
};

/* ---- What is reported ---- */

/* What the time of an iteration is */
static const char *time_of(void)
{
	return tofu_virtual() ? "of the slowest member" : "mean of all members";
}

static const char *verified(const struct measure_options *options)
{
	if (options->blank)
		return "nothing";
	return options->verify ? "every iteration" : "one iteration of each row";
}

/* Bytes that count: an allreduce moves its message twice. */
static double bytes_counted(const struct measure_row *row)
{
	switch (row->kind) {
	case TOFU_COLL_BCAST:
	case TOFU_COLL_REDUCE:
		return (double)row->bytes;
	case TOFU_COLL_ALLREDUCE:
		return 2 * (double)row->bytes;
	default:
		return (double)row->members * (double)row->bytes;
	}
}

static double mb_per_s(const struct measure_row *row)
{
	double ns = (double)row->time.median;

	return ns > 0 ? bytes_counted(row) * 1000 / ns : 0;
}

static void size_text(const struct tofu_group_info *info, char text[64])
{
	snprintf(text, 64, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, info->size[0],
		 info->size[1], info->size[2]);
}

/* ---- Above the rows ---- */

static void json_begin(struct measure_report *report, const char *machine,
		       const char *odd, const char *shape, const struct tofu_group_info *all,
		       const struct tofu_group_info *measured)
{
	const struct measure_options *options = report->options;
	struct tofu_json *json = &report->json;
	char text[64];

	json->out = stdout;
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "tool", "tofu-coll");
	tofu_json_string(json, "shape", shape);
	tofu_json_number(json, "processes", all->count);
	size_text(all, text);
	tofu_json_string(json, "group", text);
	tofu_json_string(json, "sub", measure_sub_name(options->axes));
	size_text(measured, text);
	tofu_json_string(json, "measured", text);
	tofu_json_number(json, "members", measured->count);
	tofu_json_bool(json, "virtual_time", tofu_virtual());
	if (*machine)
		tofu_json_string(json, "machine", machine);
	if (odd)
		tofu_json_string(json, "armw", odd);
	tofu_json_string(json, "time", time_of());
	tofu_json_string(json, "verified", verified(options));
	tofu_json_number(json, "iterations", options->iterations);
	tofu_json_number(json, "warmup", options->warmup);
	tofu_json_open(json, "rows", '[');
}

static void text_begin(struct measure_report *report, const char *machine,
		       const char *odd, const char *shape, const struct tofu_group_info *all,
		       const struct tofu_group_info *measured)
{
	const struct measure_options *options = report->options;
	char text[64];

	size_text(all, text);
	printf("Collectives of %" PRIu32 " processes on %s, a group of %s",
	       all->count, shape, text);
	if (options->axes) {
		size_text(measured, text);
		printf(", in parts of %s", text);
	}
	if (*machine)
		printf(", in virtual time of %s", machine);
	if (odd)
		printf(" with armw=%s", odd);
	printf("\nTime: median of %" PRIu64 " iterations, %s; verified: %s\n\n",
	       options->iterations, time_of(), verified(options));
	report->table = (struct tofu_table){
		.out = stdout,
		.column = columns,
		.columns = COLUMNS - (options->phases ? 0 : COLUMNS_OF_PHASES),
	};
	tofu_table_head(&report->table);
}

struct measure_report *
measure_report_begin(const struct measure_options *options,
		     const struct tofu_machine *machine,
		     const struct tofu_group_info *all,
		     const struct tofu_group_info *measured)
{
	struct measure_report *report = calloc(1, sizeof(*report));
	char shape[TOFU_SHAPE_TEXT], name[TOFU_VIRTUAL_MACHINE];
	const char *odd;

	if (!report)
		return NULL;
	report->options = options;
	tofu_shape_text(&machine->shape, shape);
	if (!tofu_virtual_machine(name))
		*name = '\0';
	odd = tofu_armw_odd(name, machine->armw);
	if (options->json)
		json_begin(report, name, odd, shape, all, measured);
	else
		text_begin(report, name, odd, shape, all, measured);
	fflush(stdout);
	return report;
}

/* ---- Rows ---- */

static void row_json(struct tofu_json *json,
		     const struct measure_options *options,
		     const struct measure_row *row)
{
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "collective", tofu_coll_kind_name(row->kind));
	tofu_json_string(json, "asked", tofu_coll_algorithm_name(row->asked));
	tofu_json_string(json, "algorithm",
			 tofu_coll_algorithm_name(row->how.algorithm));
	tofu_json_string(json, "how", row->how.text);
	if (contents_roots(row->kind))
		tofu_json_number(json, "root", options->root);
	if (row->kind != TOFU_COLL_BARRIER)
		tofu_json_string(json, "type",
				 tofu_coll_type_name(
					 measure_type(options, row->kind)));
	if (contents_combines(row->kind))
		tofu_json_string(json, "op",
				 tofu_coll_op_name(
					 measure_op(options, row->kind)));
	tofu_json_number(json, "bytes", row->bytes);
	tofu_json_number(json, "members", row->members);
	tofu_json_real(json, "time_us", (double)row->time.median / US);
	tofu_json_real(json, "min_us", (double)row->time.min / US);
	tofu_json_real(json, "middle_us", (double)row->time.middle / US);
	tofu_json_real(json, "max_us", (double)row->time.max / US);
	tofu_json_real(json, "mb_per_s", mb_per_s(row));
	tofu_json_number(json, "engines", row->how.engines);
	tofu_json_number(json, "routes", row->how.routes);
	tofu_json_number(json, "segment", row->how.segment);
	tofu_json_number(json, "work", row->how.work);
	if (options->phases) {
		tofu_json_real(json, "start_us", (double)row->phases.start / US);
		tofu_json_real(json, "skew_us", (double)row->phases.skew / US);
		tofu_json_real(json, "first_end_us",
			       (double)row->phases.first / US);
		tofu_json_real(json, "last_end_us",
			       (double)row->phases.last / US);
	}
	tofu_json_number(json, "wrong", row->wrong);
	tofu_json_close(json, '}');
}

/* An algorithm that was replaced is shown with what was asked for. */
static void algorithm_cell(struct tofu_table *table,
			   const struct measure_row *row)
{
	const char *is = tofu_coll_algorithm_name(row->how.algorithm);

	if (row->asked == TOFU_COLL_AUTO || row->asked == row->how.algorithm)
		tofu_table_cell(table, "%s", is);
	else
		tofu_table_cell(table, "%s, not %s", is,
				tofu_coll_algorithm_name(row->asked));
}

static void row_print(struct tofu_table *table,
		      const struct measure_options *options,
		      const struct measure_row *row)
{
	tofu_table_cell(table, "%s", tofu_coll_kind_name(row->kind));
	algorithm_cell(table, row);
	tofu_table_cell(table, "%" PRIu64, row->bytes);
	tofu_table_cell(table, "%.3f", (double)row->time.median / US);
	tofu_table_cell(table, "%.2f", mb_per_s(row));
	tofu_table_cell(table, "%u", row->how.engines);
	tofu_table_cell(table, "%u", row->how.routes);
	if (row->how.segment)
		tofu_table_cell(table, "%zu", row->how.segment);
	else
		tofu_table_cell(table, "-");
	if (!options->phases)
		return;
	tofu_table_cell(table, "%.3f", (double)row->phases.start / US);
	tofu_table_cell(table, "%.3f", (double)row->phases.skew / US);
	tofu_table_cell(table, "%.3f", (double)row->phases.first / US);
	tofu_table_cell(table, "%.3f", (double)row->phases.last / US);
}

void measure_report_row(struct measure_report *report,
			const struct measure_row *row)
{
	if (report->options->json)
		row_json(&report->json, report->options, row);
	else
		row_print(&report->table, report->options, row);
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
