// SPDX-License-Identifier: MIT
/*
 * tofu-p2p: what messages between two processes cost, and what a process keeps
 * for others, one process a node; every message is compared.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/print.h"
#include "common/shape.h"
#include "common/virtual.h"
#include "common/payload.h"
#include "p2p/p2p.h"

enum { EXIT_WRONG = 1 };

#define SAY_MAX 8 /* messages about wrong bytes, each node */

/* ---- What all tests need ---- */

int measure_fail(struct measure *measure, const char *what, int code)
{
	tofu_error_say(&measure->why, "node %u: %s: %s", measure->machine.node,
		       what, tofu_error_text(code));
	return -EIO;
}

int measure_barrier(struct measure *measure)
{
	return tofu_world_barrier(measure->world, &measure->why);
}

int measure_gather(struct measure *measure, const uint64_t *mine, size_t words,
		   const uint64_t **all)
{
	return tofu_world_gather(measure->world, mine, words, all,
				   &measure->why);
}

bool measure_is_root(const struct measure *measure)
{
	return measure->machine.node == MEASURE_ROOT;
}

bool measure_sends(const struct measure *measure, uint64_t senders)
{
	return !measure_is_root(measure) && measure->machine.node <= senders;
}

/* No two messages of a row are the same, nor those of two sizes. */
static uint64_t seed_of(const struct measure *measure, size_t bytes,
			uint32_t sender, uint64_t number)
{
	return payload_seed(measure->rows, sender, (unsigned int)bytes, number);
}

void measure_fill(const struct measure *measure, void *buf, size_t bytes,
		  uint64_t number)
{
	payload_fill(buf, bytes,
		  seed_of(measure, bytes, measure->machine.node, number));
}

bool measure_is(const struct measure *measure, const void *buf, size_t bytes,
		uint32_t sender, uint64_t number)
{
	uint64_t seed = seed_of(measure, bytes, sender, number);

	return !payload_verify(buf, bytes, seed).count;
}

void measure_spoil(const struct measure *measure, void *buf, bool last)
{
	if (last && measure->options->corrupt == measure->machine.node)
		*(unsigned char *)buf ^= 1;
}

void measure_check(struct measure *measure, const void *buf, size_t bytes,
		   uint32_t sender, uint64_t number)
{
	struct payload_wrong wrong =
		payload_verify(buf, bytes, seed_of(measure, bytes, sender, number));

	if (!wrong.count)
		return;
	if (measure->wrong++ < SAY_MAX)
		fprintf(stderr,
			"tofu-p2p: node %u: row %" PRIu64 ", message %" PRIu64
			" of node %u: byte %zu of %zu is 0x%02x, should be 0x%02x (%zu wrong)\n",
			measure->machine.node, measure->rows, number, sender,
			wrong.first, bytes, wrong.seen, wrong.expected,
			wrong.count);
}

void measure_row(struct measure *measure, const struct measure_cell *cell,
		 size_t cells)
{
	measure->rows++;
	if (measure->report)
		measure_report_row(measure->report, cell, cells);
}

/* ---- All ---- */

typedef int measure_fn(struct measure *measure);

static measure_fn *const tests[] = {
	[MEASURE_LATENCY] = measure_latency,
	[MEASURE_THRESHOLD] = measure_threshold,
	[MEASURE_SRB] = measure_srb,
	[MEASURE_COUNTER] = measure_counter,
	[MEASURE_MEMORY] = measure_memory,
};

static int wrong_gather(struct measure *measure, uint64_t *wrong)
{
	const uint64_t *all;
	int err = measure_gather(measure, &measure->wrong, 1, &all);

	*wrong = 0;
	for (uint32_t n = 0; !err && n < measure->machine.nodes; n++)
		*wrong += all[n];
	return err;
}

static int report_make(struct measure *measure)
{
	char shape[TOFU_SHAPE_TEXT];

	if (!measure_is_root(measure))
		return 0;
	measure->report = measure_report_begin(
		measure->options, measure->machine.nodes,
		tofu_shape_text(&measure->machine.shape, shape));
	return measure->report ? 0 : -ENOMEM;
}

static int rows_run(struct measure *measure, uint64_t *wrong)
{
	int err = report_make(measure);

	if (!err)
		err = tests[measure->options->test](measure);
	if (!err)
		err = wrong_gather(measure, wrong);
	if (!err && measure->report)
		measure_report_end(measure->report, *wrong);
	for (unsigned int i = 0; i < MEASURE_BUFFERS; i++)
		free(measure->area[i]);
	free(measure->report);
	return err;
}

static int machine_run(struct measure *measure, struct measure_options *options,
		       uint64_t *wrong)
{
	int err = tofu_machine_find(&measure->machine, &measure->why);

	if (err)
		return err;
	tofu_virtual_find();
	options->armw = measure->machine.armw;
	measure_options_finish(options, measure->machine.nodes);
	err = tofu_world_join(&measure->machine, options->timeout, &measure->why,
			     &measure->world);
	if (!err)
		err = rows_run(measure, wrong);
	if (!err)
		return tofu_world_leave(measure->world, &measure->why);
	tofu_world_abandon(measure->world);
	return err;
}

/* Without a machine: only computed */
static int alone_run(struct measure *measure, struct measure_options *options)
{
	int err;

	measure_options_finish(options, 0);
	measure->report = measure_report_begin(options, 0, "");
	if (!measure->report)
		return -ENOMEM;
	err = measure_need(measure);
	if (!err)
		measure_report_end(measure->report, 0);
	free(measure->report);
	return err;
}

int main(int argc, char **argv)
{
	struct measure_options options = measure_options_parse(argc, argv);
	struct measure measure = {
		.options = &options,
	};
	uint64_t wrong = 0;
	int err;

	/* Messages of nodes that are ended by the first failure stay whole. */
	setlinebuf(stderr);
	if (options.test == MEASURE_NEED)
		err = alone_run(&measure, &options);
	else
		err = machine_run(&measure, &options, &wrong);
	if (err)
		errx(EXIT_WRONG, "%s",
		     measure.why ? measure.why : strerror(-err));
	tofu_print_end();
	return wrong ? EXIT_WRONG : EXIT_SUCCESS;
}
