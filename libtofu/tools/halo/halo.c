// SPDX-License-Identifier: MIT
/*
 * tofu-halo: halo exchanges through libtofu, one process a node, every byte
 * received verified against what its sender must have sent.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/exchange.h>

#include "common/error.h"
#include "common/print.h"
#include "common/virtual.h"
#include "halo/halo.h"

enum { EXIT_WRONG = 1 };

/* A plan for other engines is another plan. */
static int engines_agree(const struct tofu_machine *machine,
			 struct tofu_world *world, unsigned int engines,
			 char **why)
{
	uint64_t mine = engines;
	const uint64_t *all;
	int err = tofu_world_gather(world, &mine, 1, &all, why);

	for (uint32_t n = 0; !err && n < machine->nodes; n++) {
		if (all[n] == mine)
			continue;
		tofu_error_say(why,
			       "node %u has %u TNIs and node %u has %" PRIu64,
			       machine->node, engines, n, all[n]);
		err = -EINVAL;
	}
	return err;
}

/* @report: NULL on nodes that do not print */
static int rows_run(struct halo *halo, const struct halo_row *row, size_t rows,
		    struct halo_report *report, uint64_t *wrong, char **why)
{
	for (size_t i = 0; i < rows; i++) {
		struct halo_result result;
		int err = halo_run(halo, &row[i], why, &result);

		if (err)
			return err;
		halo_report_row(report, &row[i], &result);
		*wrong += result.wrong;
	}
	halo_report_end(report, *wrong);
	return 0;
}

static int machine_run(struct halo_options *options,
		       const struct tofu_machine *machine,
		       struct tofu_world *world, unsigned int engines,
		       const struct tofu_rsched_model *model, uint64_t *wrong,
		       char **why)
{
	struct halo_report *report = NULL;
	struct halo *halo = NULL;
	size_t rows;
	struct halo_row *row = halo_rows(options, &rows);
	int err = row ? engines_agree(machine, world, engines, why) : -ENOMEM;

	if (!err)
		err = halo_open(machine, world, options, model, row, rows, why,
				&halo);
	if (!err && machine->node == 0) {
		report = halo_report_begin(options, machine);
		err = report ? 0 : -ENOMEM;
	}
	if (!err)
		err = rows_run(halo, row, rows, report, wrong, why);
	free(report);
	halo_close(halo);
	free(row);
	return err;
}

static int engines_find(unsigned int *engines, char **why)
{
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);

	if (code) {
		tofu_error_say(why, "cannot ask for TNIs: %s",
			       tofu_error_text(code));
		return -EIO;
	}
	free(tnis);
	*engines = count < TOFU_EXCHANGE_ENGINES_MAX ?
			   (unsigned int)count : TOFU_EXCHANGE_ENGINES_MAX;
	return 0;
}

int main(int argc, char **argv)
{
	struct halo_options options = halo_options_parse(argc, argv);
	struct tofu_rsched_model model;
	struct tofu_machine machine;
	struct tofu_world *world = NULL;
	unsigned int engines;
	uint64_t wrong = 0;
	char *why = NULL;
	int err;

	/* Messages of nodes that are ended by the first failure stay whole. */
	setlinebuf(stderr);
	err = tofu_machine_find(&machine, &why);
	if (!err)
		err = engines_find(&engines, &why);
	if (!err) {
		tofu_virtual_find();
		halo_options_finish(&options, &machine, engines, &model);
		err = tofu_world_join(&machine, options.timeout, &why, &world);
	}
	if (!err)
		err = machine_run(&options, &machine, world, engines, &model,
				  &wrong, &why);
	if (!err)
		err = tofu_world_leave(world, &why);
	else
		tofu_world_abandon(world);
	if (err)
		errx(EXIT_WRONG, "%s", why ? why : strerror(-err));
	tofu_print_end();
	return wrong ? EXIT_WRONG : EXIT_SUCCESS;
}
