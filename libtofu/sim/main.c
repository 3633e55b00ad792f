/* SPDX-License-Identifier: MIT */
/*
 * tofu-sim: a Tofu machine in one process, or in several that mpirun starts.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/costs.h"
#include "sim/find.h"
#include "sim/hooks.h"
#include "sim/options.h"
#include "port/host.h"
#include "sim/program.h"
#include "sim/ranks.h"
#include "sim/sim.h"
#include "sim/trace.h"
#include "sim/watch.h"

#define STATUS_LIMIT 124
#define STATUS_FAILED 125
#define STATUS_NO_PROGRAM 127
#define STATUS_SIGNAL 128

/* Programs that watch a clock give up earlier. */
#define PATIENCE_NS 200000000000ULL

/* ---- Memory ---- */

/* What a node takes beside its program's data: controller, rings, stack */
#define NODE_BYTES (64UL << 10)

/* Kilobytes of a line of /proc/meminfo, or 0 */
static uint64_t memory_free(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kilobytes = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kilobytes;
}

/* The sum is said before the run: the system would end it in the middle. */
static void memory_check(const char *name, uint32_t nodes, size_t program)
{
	const uint64_t each = (NODE_BYTES + program) >> 10;
	const uint64_t have = memory_free();

	if (!have || nodes * each <= have)
		return;
	errx(STATUS_FAILED, "%u nodes need at least %" PRIu64 " MiB here (%" PRIu64 " KiB each, of which %zu KiB are data of %s), and %" PRIu64 " MiB are free; take fewer nodes, or several hosts by mpirun",
	     nodes, nodes * each >> 10, each, program >> 10, name, have >> 10);
}

/* ---- The run ---- */

static const char *const limit_reached = "the limit of virtual time is reached";

/* Return: false when the run is over. */
static bool go_on(struct sim *sim, const struct sim_vote *vote, uint64_t limit)
{
	if (vote->stop || !vote->running || vote->next == UINT64_MAX)
		return false;
	if (vote->next >= limit) {
		sim->stop = limit_reached;
		return false;
	}
	if (vote->next > vote->event && vote->next - vote->event > PATIENCE_NS) {
		sim_watch_say_waiting(sim);
		sim->stop = "programs wait, and nothing is under way";
		return false;
	}
	return true;
}

static void run(struct sim *sim, uint64_t limit)
{
	struct sim_vote vote;

	do {
		vote = (struct sim_vote){
			.next = sim_next(sim),
			.event = sim->event,
			.running = sim->stats.running,
			.stop = sim->stop != NULL,
		};
		sim_ranks_turn(sim, &vote);
		if (!go_on(sim, &vote, limit))
			break;
		sim_watch_tell(sim);
	} while (sim_window(sim, vote.next) || sim_ranks_count() > 1);
}

static int worst(const struct sim *sim)
{
	int status = 0;

	for (uint32_t i = 0; i < sim->params.count; i++) {
		if (sim->node[i].status > status)
			status = sim->node[i].status;
	}
	return (int)sim_ranks_most((uint64_t)status);
}

static void summary(const struct sim *sim, double seconds)
{
	uint64_t sums[] = { sim_trace_hash(sim), sim->stats.packets,
			    sim->stats.turns };
	const uint64_t time = sim_ranks_most(sim->stats.time);

	sim_ranks_sum(sums, 3);
	if (sim_ranks_rank())
		return;
	fflush(stdout);
	fprintf(stderr,
		"tofu-sim: %" PRIu64 " ns of virtual time in %.2f s; %" PRIu64 " packets, %" PRIu64 " turns, %" PRIu64 " windows; trace %016" PRIx64 "\n",
		time, seconds, sums[1], sums[2], sim->stats.windows, sums[0]);
}

/* What ended the run before its programs did, said in one place */
static int stopped(const struct sim *sim, int status)
{
	if (!sim->stop)
		return status;
	warnx("%s; %u programs had not ended", sim->stop, sim->stats.running);
	if (sim_watch_interrupted())
		return STATUS_SIGNAL + sim_watch_interrupted();
	return sim->stop == limit_reached ? STATUS_LIMIT : STATUS_FAILED;
}

static struct sim_program *load(const struct sim_options *options,
				uint32_t nodes)
{
	char *path = sim_find(options->argv[0]);
	struct sim_program *program;
	char *why = NULL;
	int err;

	if (!path)
		errx(STATUS_NO_PROGRAM, "%s: not found, neither beside tofu-sim nor in PATH",
		     options->argv[0]);
	err = sim_program_load(path, nodes, &program, &why);
	if (err)
		errx(STATUS_NO_PROGRAM, "%s", why ? why : strerror(-err));
	free(path);
	return program;
}

int main(int argc, char **argv)
{
	struct sim_params params;
	struct sim_options options;
	struct sim *sim;
	char *why = NULL;
	uint64_t began;
	int status;

	/* A crash in the middle of the run leaves what was printed before. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (sim_ranks_begin(&why))
		errx(STATUS_FAILED, "%s", why);
	sim_options_parse(argc, argv, &options);
	params = (struct sim_params){
		.shape = options.shape,
		.machine = options.machine,
		.nodes = options.nodes,
		.tnis = options.tnis,
		.stack = options.stack,
		.software = &sim_programs,
		.argc = options.argc,
		.argv = options.argv,
		.trace = options.trace,
		.doorbells = options.doorbells,
	};
	sim_ranks_block(tofu_shape_nodes(&params.shape), &params.first,
			&params.count);
	params.program = load(&options, tofu_shape_nodes(&params.shape));
	memory_check(options.argv[0], params.count,
		     sim_program_node_bytes(params.program));
	tofu_worked.cost = options.doorbells ? sim_costs_least() :
					       sim_costs(options.machine);
	tofu_port_home = sim_port_open;
	if (sim_create(&params, &sim, &why))
		errx(STATUS_FAILED, "%s", why ? why : "out of memory");
	if (sim_hooks_begin(sim))
		err(STATUS_FAILED, "signals");
	began = tofu_host_now();
	sim_watch_begin(sim, options.budget, options.quiet);
	run(sim, options.limit);
	sim_watch_end();
	if (options.summary)
		summary(sim, (double)(tofu_host_now() - began) / 1e9);
	status = stopped(sim, worst(sim));
	fflush(NULL);
	sim_ranks_end(status);
	/* Memory of programs that had not ended is not worth taking apart. */
	_exit(status);
}
