// SPDX-License-Identifier: MIT
/* The output of tofu-halo: a table for people, or JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/armw.h"
#include "common/json.h"
#include "common/shape.h"
#include "common/table.h"
#include "common/virtual.h"
#include "halo/halo.h"

#define COLUMNS_MAX 16

/**
 * struct halo_report - the output of node 0
 * @columns: columns of the table; one that never varies has no title
 */
struct halo_report {
	const struct halo_options *options;
	struct tofu_column column[COLUMNS_MAX];
	size_t columns;
	struct tofu_table table;
	struct tofu_json json;
};

/* ---- The table ---- */

static void column_add(struct halo_report *report, bool wanted,
		       const char *title, int width)
{
	report->column[report->columns++] = (struct tofu_column){
		.title = wanted ? title : "",
		.width = width,
	};
}

static bool is_only(const struct halo_choices *choices, unsigned int choice)
{
	return choices->count == 1 && choices->choice[0] == choice;
}

static bool is_planned(const struct halo_options *options)
{
	return options->neighbor ?
		       options->form != HALO_FORM_MESSAGES &&
			       !is_only(&options->algorithms,
					HALO_ALGORITHM_ORIG) :
		       !is_only(&options->schedulers, HALO_SCHEDULER_ORIG);
}

/* In the order of the cells that row_print() prints */
static void columns_make(struct halo_report *report)
{
	const struct halo_options *o = report->options;

	column_add(report, o->tnis.count > 1, "TNIs", 0);
	if (o->neighbor) {
		column_add(report, o->neighbors.count > 1, "neighbours", 0);
		column_add(report, o->algorithms.count > 1, "algorithm", -9);
		column_add(report,
			   !is_only(&o->algorithms, TOFU_NEIGHBOR_NATIVE) &&
				   !is_only(&o->algorithms,
					    HALO_ALGORITHM_ORIG),
			   "runs", -9);
		column_add(report, true, "bytes", 8);
	} else {
		column_add(report, !o->random && o->parts.count > 1, "part",
			   -8);
		column_add(report, o->schedulers.count > 1, "scheduler", -14);
		column_add(report, true, o->random ? "set" : "k", 4);
	}
	column_add(report, true, "engines", 0);
	column_add(report, true, "bytes/exchange", 0);
	column_add(report, true, "exchanges", 0);
	column_add(report, true, "verified", 12);
	column_add(report, true, "wrong", 0);
	column_add(report, tofu_virtual() && is_planned(o), "planned/µs", 10);
	column_add(report, true, "time/µs", 10);
	column_add(report, o->starts.ns, "least/µs", 10);
	column_add(report, o->starts.ns, "most/µs", 10);
	column_add(report, true, "MB/s/node", 10);
}

static void row_print(struct halo_report *report, const struct halo_row *row,
		      const struct halo_result *result)
{
	struct tofu_table *table = &report->table;
	double us = (double)result->time.median / 1e3;

	tofu_table_cell(table, "%u", row->tnis);
	if (row->neighbors) {
		tofu_table_cell(table, "%u", row->neighbors);
		tofu_table_cell(table, "%s", row->name);
		tofu_table_cell(table, "%s", result->runs);
	} else {
		tofu_table_cell(table, "%s", row->part ? row->part->name : "");
		tofu_table_cell(table, "%s", row->name);
	}
	tofu_table_cell(table, "%" PRIu64, row->size);
	tofu_table_cell(table, "%u", result->engines);
	tofu_table_cell(table, "%" PRIu64, result->bytes);
	tofu_table_cell(table, "%" PRIu64, report->options->iterations);
	if (report->options->verify)
		tofu_table_cell(table, "%" PRIu64, result->verified);
	else
		tofu_table_cell(table, "no");
	tofu_table_cell(table, "%" PRIu64, result->wrong);
	if (result->planned)
		tofu_table_cell(table, "%.1f", (double)result->planned / 1e3);
	else
		tofu_table_cell(table, "-");
	tofu_table_cell(table, "%.1f", us);
	tofu_table_cell(table, "%.1f", (double)result->time.min / 1e3);
	tofu_table_cell(table, "%.1f", (double)result->time.max / 1e3);
	tofu_table_cell(table, "%.1f", (double)result->bytes / us);
}

static const char *sync_text(const struct halo_options *options)
{
	switch (options->sync) {
	case HALO_SYNC_GATES:
		return ", barriers at both ends";
	case HALO_SYNC_FREE:
		return ", free-running";
	default:
		return "";
	}
}

static void procs_print(const struct tofu_grid *grid)
{
	for (unsigned int i = 0; i < grid->dims; i++)
		printf("%s%u", i ? "x" : "", grid->size[i]);
}

static void way_print(const struct halo_options *options)
{
	if (options->tnis.count == 1)
		printf(", %" PRIu64 " TNIs", options->tnis.size[0]);
	if (!options->neighbor) {
		if (!options->random && options->parts.count == 1)
			printf(", %s",
			       sched_sets[options->parts.choice[0]].title);
		if (options->schedulers.count == 1)
			printf(", %s",
			       halo_scheduler_name(
				       options->schedulers.choice[0]));
		return;
	}
	if (options->neighbors.count == 1)
		printf(", %" PRIu64 " neighbours", options->neighbors.size[0]);
	if (options->algorithms.count == 1)
		printf(", %s",
		       halo_algorithm_name(options->algorithms.choice[0]));
	if (options->form != TOFU_NEIGHBOR_ONE_SIDED)
		printf(", %s", halo_form_name(options->form));
}

static const char *title(const struct halo_options *options)
{
	if (options->neighbor)
		return "Neighbour halo";
	return options->random ? "Random" : "SCALE-LES3 halo";
}

static void table_begin(struct halo_report *report,
			const struct tofu_machine *machine)
{
	const struct halo_options *options = report->options;
	char shape[TOFU_SHAPE_TEXT];

	printf("%s exchange: %u node%s (%s) as ", title(options), machine->nodes,
	       machine->nodes > 1 ? "s" : "",
	       tofu_shape_text(&machine->shape, shape));
	procs_print(&options->grid);
	fputs(" processes", stdout);
	way_print(options);
	printf("%s\n", sync_text(options));
	columns_make(report);
	report->table = (struct tofu_table){
		.out = stdout,
		.column = report->column,
		.columns = report->columns,
	};
	tofu_table_head(&report->table);
}

/* ---- JSON ---- */

static const char *sync_name(enum halo_sync sync)
{
	static const char *const names[] = {
		[HALO_SYNC_BEFORE] = "before",
		[HALO_SYNC_GATES] = "barrier",
		[HALO_SYNC_FREE] = "free-running",
	};

	return names[sync];
}

static void json_begin(struct halo_report *report,
		       const struct tofu_machine *machine)
{
	const struct halo_options *options = report->options;
	struct tofu_json *json = &report->json;
	char shape[TOFU_SHAPE_TEXT], name[TOFU_VIRTUAL_MACHINE];
	const char *odd = tofu_virtual_machine(name) ?
				  tofu_armw_odd(name, machine->armw) :
				  NULL;

	json->out = stdout;
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "tool", "tofu-halo");
	tofu_json_string(json, "pattern", halo_pattern_name(options));
	tofu_json_string(json, "shape", tofu_shape_text(&machine->shape, shape));
	tofu_json_number(json, "nodes", machine->nodes);
	tofu_json_open(json, "procs", '[');
	for (unsigned int i = 0; i < options->grid.dims; i++)
		tofu_json_number(json, NULL, options->grid.size[i]);
	tofu_json_close(json, ']');
	tofu_json_string(json, "machine", options->machine);
	if (odd)
		tofu_json_string(json, "armw", odd);
	tofu_json_bool(json, "virtual_time", tofu_virtual());
	tofu_json_string(json, "sync", sync_name(options->sync));
	tofu_json_bool(json, "verify", options->verify);
	tofu_json_number(json, "warmup", options->warmup);
	if (options->starts.ns) {
		tofu_json_open(json, "phases", '{');
		tofu_json_number(json, "ns", options->starts.ns);
		tofu_json_number(json, "seed", options->starts.seed);
		tofu_json_close(json, '}');
	}
	tofu_json_open(json, "rows", '[');
}

static void json_what(struct halo_report *report, const struct halo_row *row,
		      const struct halo_result *result)
{
	struct tofu_json *json = &report->json;

	if (row->neighbors) {
		tofu_json_number(json, "bytes", row->size);
		tofu_json_number(json, "neighbors", row->neighbors);
		tofu_json_string(json, "algorithm",
				 row->name);
		tofu_json_string(json, "runs", result->runs);
		if (row->form)
			tofu_json_string(json, "form", row->form);
	} else {
		tofu_json_number(json, row->part ? "k" : "set", row->size);
		if (row->part)
			tofu_json_string(json, "part", row->part->name);
		tofu_json_string(json, "scheduler", row->name);
	}
	if (row->messages)
		tofu_json_string(json, "p2p_mode",
				 halo_mode_name(report->options->p2p_mode));
}

static void json_times(struct tofu_json *json, const struct halo_time *time)
{
	tofu_json_open(json, "times_us", '{');
	tofu_json_real(json, "min", (double)time->min / 1e3);
	tofu_json_real(json, "lower", (double)time->lower / 1e3);
	tofu_json_real(json, "upper", (double)time->upper / 1e3);
	tofu_json_real(json, "max", (double)time->max / 1e3);
	tofu_json_close(json, '}');
}

static void json_row(struct halo_report *report, const struct halo_row *row,
		     const struct halo_result *result)
{
	struct tofu_json *json = &report->json;
	double us = (double)result->time.median / 1e3;

	tofu_json_open(json, NULL, '{');
	json_what(report, row, result);
	tofu_json_number(json, "tnis", row->tnis);
	tofu_json_number(json, "puts", result->puts);
	tofu_json_number(json, "engines", result->engines);
	tofu_json_number(json, "bytes_per_exchange", result->bytes);
	tofu_json_number(json, "exchanges", report->options->iterations);
	tofu_json_number(json, "bytes_verified", result->verified);
	tofu_json_number(json, "bytes_wrong", result->wrong);
	if (result->planned)
		tofu_json_real(json, "planned_us",
			       (double)result->planned / 1e3);
	tofu_json_real(json, "time_us", us);
	json_times(json, &result->time);
	tofu_json_real(json, "middle_us", (double)result->middle / 1e3);
	tofu_json_real(json, "mb_per_s_per_node", (double)result->bytes / us);
	tofu_json_close(json, '}');
	/* A run of many rows takes long. */
	fflush(stdout);
}

/* ---- Both ---- */

struct halo_report *halo_report_begin(const struct halo_options *options,
				      const struct tofu_machine *machine)
{
	struct halo_report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->options = options;
	if (options->json)
		json_begin(report, machine);
	else
		table_begin(report, machine);
	return report;
}

void halo_report_row(struct halo_report *report, const struct halo_row *row,
		     const struct halo_result *result)
{
	if (!report)
		return;
	if (report->options->json)
		json_row(report, row, result);
	else
		row_print(report, row, result);
}

void halo_report_end(struct halo_report *report, uint64_t wrong)
{
	if (!report)
		return;
	if (report->options->json) {
		tofu_json_close(&report->json, ']');
		tofu_json_bool(&report->json, "ok", !wrong);
		tofu_json_close(&report->json, '}');
	} else if (wrong) {
		printf("bytes that are WRONG: %" PRIu64 "\n", wrong);
	} else if (report->options->verify) {
		printf("every byte received was right\n");
	}
	/* Before any process ends: a launcher may end all with the first. */
	fflush(stdout);
}
