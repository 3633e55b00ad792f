// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/scale.h"
#include "common/table.h"
#include "sched/sched.h"

/**
 * struct published - a published measurement
 * @set:       name of the set
 * @k:         levels
 * @scheduler: name of the scheduler
 * @us:        time of an exchange with a barrier at both ends
 */
struct published {
	const char *set;
	unsigned int k;
	const char *scheduler;
	unsigned int us;
};

/*
 * K, 48 processes, read off figures. East and west: 'on two engines', as in many
 * plans.
 */
static const struct published published[] = {
	{ "ew", 60, "bl:2", 18 },
	{ "ew", 872, "bl:2", 72 },
	{ "ns", 60, "round-robin:4", 18 },
	{ "ns", 60, "bl:4", 18 },
	{ "ns", 872, "round-robin:2", 108 },
	{ "ns", 872, "round-robin:4", 64 },
	{ "ns", 872, "bl:4", 74 },
	{ "four", 60, "bl:4", 23 },
	{ "four", 872, "bl:4", 86 },
};

static const struct published *published_find(const struct sched_set *set,
					      unsigned int k,
					      const char *scheduler)
{
	for (size_t i = 0; set && i < sizeof(published) / sizeof(published[0]);
	     i++) {
		const struct published *p = &published[i];

		if (!strcmp(p->set, set->name) && p->k == k &&
		    !strcmp(p->scheduler, scheduler))
			return p;
	}
	return NULL;
}

/**
 * struct comparison - the table being made
 * @set: set of the row, or NULL: the user's own workload
 * @k:   levels of the set
 */
struct comparison {
	const struct tofu_rsched_model *model;
	struct tofu_table table;
	struct tofu_json json;
	const struct sched_set *set;
	unsigned int k;
	bool use_json;
};

static bool is_possible(const struct comparison *comparison,
			const struct sched_scheduler *scheduler)
{
	return scheduler->width <= comparison->model->engines;
}

/* Return: the time of a plan, 0 where the machine has too few engines. */
static uint64_t makespan(const struct comparison *comparison,
			 const struct sched_scheduler *scheduler,
			 const struct sched_workload *workload)
{
	struct tofu_rsched_plan *plan;
	uint64_t ns;

	if (!is_possible(comparison, scheduler))
		return 0;
	plan = sched_plan(comparison->model, scheduler, workload);
	ns = plan->makespan_ns;
	tofu_rsched_free(plan);
	return ns;
}

static void row_json(struct comparison *comparison,
		     const struct sched_workload *workload)
{
	struct tofu_json *json = &comparison->json;

	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "workload", workload->title);
	if (comparison->set) {
		tofu_json_string(json, "set", comparison->set->name);
		tofu_json_number(json, "k", comparison->k);
	}
	tofu_json_open(json, "makespan_ns", '{');
	for (size_t i = 0; i < SCHED_SCHEDULERS; i++) {
		const struct sched_scheduler *s = &sched_schedulers[i];

		if (is_possible(comparison, s))
			tofu_json_number(json, s->name,
					 makespan(comparison, s, workload));
		else
			tofu_json_null(json, s->name);
	}
	tofu_json_close(json, '}');
	tofu_json_open(json, "published_us", '{');
	for (size_t i = 0; i < SCHED_SCHEDULERS; i++) {
		const char *name = sched_schedulers[i].name;
		const struct published *p = published_find(
			comparison->set, comparison->k, name);

		if (p)
			tofu_json_number(json, name, p->us);
	}
	tofu_json_close(json, '}');
	tofu_json_close(json, '}');
}

static void row_text(struct comparison *comparison,
		     const struct sched_workload *workload)
{
	struct tofu_table *table = &comparison->table;

	if (comparison->set)
		tofu_table_cell(table, "%u", comparison->k);
	else
		tofu_table_cell(table, "-");
	for (size_t i = 0; i < SCHED_SCHEDULERS; i++) {
		const struct sched_scheduler *s = &sched_schedulers[i];
		const char *mark = published_find(comparison->set,
						  comparison->k, s->name) ?
					   "*" :
					   " ";

		if (is_possible(comparison, s))
			tofu_table_cell(table, "%.2f%s",
					(double)makespan(comparison, s,
							 workload) /
						1000,
					mark);
		else
			tofu_table_cell(table, "- ");
	}
}

static void row(struct comparison *comparison,
		const struct sched_workload *workload)
{
	if (comparison->use_json)
		row_json(comparison, workload);
	else
		row_text(comparison, workload);
}

/* Print the time that plans leave to barriers and to unmodelled costs. */
static void published_print(struct comparison *comparison)
{
	static struct sched_workload workload;
	static const struct tofu_column columns[] = {
		{ "directions", -16 },	  { "k", 4 },	 { "scheduler", -18 },
		{ "planned/us", 10 },	  { "published/us", 10 },
		{ "more/us", 8 },
	};
	struct tofu_table table = { .out = stdout, .column = columns,
				    .columns = 6 };

	printf("\n* Published for K, with a barrier at both ends, which no plan has:\n\n");
	tofu_table_head(&table);
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		const struct published *p = &published[i];
		const struct sched_set *set = sched_set_find(p->set);
		const struct sched_scheduler *s = sched_scheduler_find(p->scheduler);
		double us;

		sched_workload_scale(&workload, set, p->k);
		us = (double)makespan(comparison, s, &workload) / 1000;
		tofu_table_cell(&table, "%s", set->title);
		tofu_table_cell(&table, "%u", p->k);
		tofu_table_cell(&table, "%s", s->title);
		tofu_table_cell(&table, "%.2f", us);
		tofu_table_cell(&table, "%u", p->us);
		tofu_table_cell(&table, "%.2f", p->us - us);
	}
}

static void scale_rows(struct comparison *comparison)
{
	static struct sched_workload workload;

	for (size_t i = 0; i < SCHED_SETS; i++) {
		comparison->set = &sched_sets[i];
		if (!comparison->use_json) {
			printf("%sSCALE-LES3, %s; us\n\n", i ? "\n" : "",
			       comparison->set->title);
			tofu_table_head(&comparison->table);
		}
		for (size_t r = 0; r < TOFU_SCALE_ROWS; r++) {
			comparison->k = tofu_scale_rows[r];
			sched_workload_scale(&workload, comparison->set,
					     comparison->k);
			row(comparison, &workload);
		}
	}
	if (!comparison->use_json && comparison->model->engines >= 4)
		published_print(comparison);
}

void sched_compare(const struct tofu_rsched_model *model, const char *machine,
		   const struct sched_workload *workload, bool json)
{
	struct tofu_column columns[1 + SCHED_SCHEDULERS] = { { "k", 4 } };
	struct comparison comparison = {
		.model = model,
		.table = { .out = stdout, .column = columns,
			   .columns = 1 + SCHED_SCHEDULERS },
		.json.out = stdout,
		.use_json = json,
	};

	for (size_t i = 0; i < SCHED_SCHEDULERS; i++)
		columns[1 + i] = (struct tofu_column){
			sched_schedulers[i].title, 9
		};
	if (json) {
		tofu_json_open(&comparison.json, NULL, '{');
		tofu_json_string(&comparison.json, "machine", machine);
		tofu_json_open(&comparison.json, "rows", '[');
	}
	if (workload && !json) {
		printf("%s; us\n\n", workload->title);
		tofu_table_head(&comparison.table);
	}
	if (workload)
		row(&comparison, workload);
	else
		scale_rows(&comparison);
	if (json) {
		tofu_json_close(&comparison.json, ']');
		tofu_json_close(&comparison.json, '}');
	}
}
