// SPDX-License-Identifier: MIT
/*
 * tofu-coll: what collectives of all processes cost; results are verified.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/tool.h"
#include "common/error.h"
#include "common/payload.h"
#include "common/print.h"
#include "common/virtual.h"

enum { EXIT_WRONG = 1 };

#define SAY_MAX 8 /* messages about wrong bytes, each member */

/* ---- What all rows need ---- */

bool measure_is_root(const struct measure *measure)
{
	return measure->info.number == MEASURE_ROOT;
}

int measure_fail(struct measure *measure, const char *what, int code)
{
	tofu_error_say(&measure->why, "process %u: %s: %s",
		       measure->machine.job.rank, what, tofu_error_text(code));
	return -EIO;
}

int measure_coll_fail(struct measure *measure, const char *what,
		      const struct tofu_coll *coll, int code)
{
	uint32_t rank;

	if (coll && !tofu_coll_lost(coll, &rank))
		tofu_error_say(&measure->why,
			       "process %u: %s: process %" PRIu32 " is gone",
			       measure->machine.job.rank, what, rank);
	return measure_fail(measure, what, code);
}

/* What the boot says is a sentence already. */
static int boot_fail(struct measure *measure)
{
	tofu_error_say(&measure->why, "%s", measure->said);
	return -EIO;
}

int measure_barrier(struct measure *measure)
{
	int code = tofu_coll_start(measure->barrier);

	if (!code)
		code = tofu_coll_wait(measure->barrier);
	return code ? measure_coll_fail(measure, "cannot meet the others",
					measure->barrier, code) :
		      0;
}

void measure_say(struct measure *measure, uint64_t *wrong,
		 const struct payload_wrong *found, enum tofu_coll_kind kind,
		 uint64_t bytes, const char *where)
{
	static unsigned int said;

	if (!found->count)
		return;
	*wrong += found->count;
	if (said++ < SAY_MAX)
		fprintf(stderr,
			"tofu-coll: member %" PRIu32 ": row %" PRIu64
			", %s of %" PRIu64
			" bytes: %s: byte %zu is 0x%02x, should be 0x%02x (%zu wrong)\n",
			measure->info.number, measure->rows,
			tofu_coll_kind_name(kind), bytes, where, found->first,
			found->seen, found->expected, found->count);
}

/* ---- Groups ---- */

static void size_check(const struct measure_options *options, uint32_t ranks)
{
	const uint32_t *size = options->size;
	uint64_t product = (uint64_t)size[0] * size[1] * size[2];

	if (*size && product != ranks)
		errx(EXIT_USAGE,
		     "--shape-of-group: %ux%ux%u has %" PRIu64
		     " members, and there are %u processes",
		     size[0], size[1], size[2], product, ranks);
}

static int groups_make(struct measure *measure)
{
	const struct measure_options *options = measure->options;
	const uint32_t *size = *options->size ? options->size : NULL;
	int code = tofu_group_create(measure->boot, NULL, 0, size,
				     &measure->all);

	if (!code && options->axes)
		code = tofu_group_sub(measure->all, options->axes,
				      &measure->part);
	if (code)
		return measure_fail(measure, "cannot make a group", code);
	if (!options->axes)
		measure->part = measure->all;
	tofu_group_query(measure->all, &measure->info);
	tofu_group_query(measure->part, &measure->of_part);
	measure_options_members(options, measure->info.count,
				measure->of_part.count);
	return 0;
}

static void groups_free(struct measure *measure)
{
	if (measure->part != measure->all)
		tofu_group_free(measure->part);
	tofu_group_free(measure->all);
}

static int barrier_make(struct measure *measure)
{
	const struct tofu_coll_spec spec = { .kind = TOFU_COLL_BARRIER };
	int code = tofu_coll_create(measure->all, &spec, NULL,
				    &measure->barrier);

	return code ? measure_fail(measure, "cannot make a barrier", code) : 0;
}

/* ---- All ---- */

static int rows_run(struct measure *measure)
{
	int err;

	if (measure_is_root(measure)) {
		measure->report = measure_report_begin(
			measure->options, &measure->machine, &measure->info,
			&measure->of_part);
		if (!measure->report)
			return -ENOMEM;
	}
	err = measure_rows(measure);
	if (!err && measure->report)
		measure_report_end(measure->report, measure->wrong);
	free(measure->report);
	return err;
}

static int members_run(struct measure *measure)
{
	int err = groups_make(measure);

	if (!err)
		err = barrier_make(measure);
	if (!err)
		err = rows_run(measure);
	tofu_coll_free(measure->barrier);
	groups_free(measure);
	return err;
}

static int machine_run(struct measure *measure, struct measure_options *options)
{
	int err = tofu_machine_find(&measure->machine, &measure->why);

	if (err)
		return err;
	tofu_virtual_find();
	measure_options_virtual(options);
	size_check(options, measure->machine.job.ranks);
	if (tofu_boot_join(options->timeout, measure->said, &measure->boot))
		return boot_fail(measure);
	err = members_run(measure);
	if (!err)
		return tofu_boot_leave(measure->boot) ? boot_fail(measure) : 0;
	tofu_boot_abandon(measure->boot);
	return err;
}

int main(int argc, char **argv)
{
	struct measure_options options = measure_options_parse(argc, argv);
	struct measure measure = {
		.options = &options,
	};
	int err;

	/* Messages of processes that are ended by the first failure stay whole. */
	setlinebuf(stderr);
	err = machine_run(&measure, &options);
	if (err)
		errx(EXIT_WRONG, "%s",
		     measure.why ? measure.why : strerror(-err));
	tofu_print_end();
	return measure.wrong ? EXIT_WRONG : EXIT_SUCCESS;
}
