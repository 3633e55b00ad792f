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

#include "common/armw.h"
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
#define STATUS_NO_PROGRAM 127
#define STATUS_SIGNAL 128

/* Programs that watch a clock give up earlier. */
#define PATIENCE_NS 200000000000ULL

/* ---- Memory ---- */

/* What a node takes beside its program's data: controller, rings, stack */
#define NODE_BYTES (112UL << 10)

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

/*
 * The sum is said before the run: the system would end it in the middle. Ranks
 * of a host share its memory.
 */
static void memory_check(const char *name, uint32_t nodes, size_t program)
{
	const uint64_t each = (NODE_BYTES + program) >> 10;
	const uint64_t here = sim_ranks_host_sum(nodes);
	const uint64_t have = memory_free();

	if (!have || here * each <= have)
		return;
	errx(SIM_STATUS_FAILED, "%" PRIu64 " nodes need at least %" PRIu64 " MiB here (%" PRIu64 " KiB each, of which %zu KiB are data of %s), and %" PRIu64 " MiB are free; take fewer nodes, or several hosts by mpirun",
	     here, here * each >> 10, each, program >> 10, name, have >> 10);
}

/* ---- The run ---- */

static const char *const limit_reached = "the limit of virtual time is reached";
static const char *const in_vain = "programs wait, and nothing is under way";
static const char *const elsewhere = "another process has ended the run";

/* All ranks decide the same. Return: false when the run is over. */
static bool go_on(struct sim *sim, const struct sim_vote *vote, uint64_t limit)
{
	if (vote->stop) {
		if (vote->stop != sim_ranks_rank() + 1)
			sim->stop = elsewhere;
		return false;
	}
	if (!vote->running || vote->next == UINT64_MAX)
		return false;
	if (vote->next >= limit) {
		sim->stop = limit_reached;
		return false;
	}
	if (vote->next > vote->event && vote->next - vote->event > PATIENCE_NS) {
		sim->stop = in_vain;
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
			.stop = sim->stop ? sim_ranks_rank() + 1 : 0,
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
	return status;
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

/* The first rank whose programs have not ended names some that wait. */
static void say_waiting(const struct sim *sim, uint64_t running)
{
	const unsigned int ranks = sim_ranks_count(), rank = sim_ranks_rank();
	const uint64_t before =
		sim_ranks_most(sim->stats.running ? ranks - rank : 0);

	if (before == ranks - rank)
		sim_watch_say_waiting(sim, running);
}

/* What ended the run before its programs did, said by one of the ranks */
static int stopped(const struct sim *sim)
{
	const bool all = sim->stop == limit_reached || sim->stop == in_vain;
	uint64_t running = sim->stats.running;

	sim_ranks_sum(&running, 1);
	if (!sim->stop)
		return 0;
	if (sim->stop == in_vain)
		say_waiting(sim, running);
	if (all ? !sim_ranks_rank() : sim->stop != elsewhere)
		warnx("%s; %" PRIu64 " programs had not ended", sim->stop,
		      running);
	if (sim_watch_interrupted())
		return STATUS_SIGNAL + sim_watch_interrupted();
	return sim->stop == limit_reached ? STATUS_LIMIT : SIM_STATUS_FAILED;
}

/* The same in all ranks */
static int status_of(const struct sim *sim)
{
	const int stop = stopped(sim);

	return (int)sim_ranks_most((uint64_t)(stop ? stop : worst(sim)));
}

static void make_block(struct sim_params *params, bool quiet)
{
	char host[256] = "";

	if (sim_ranks_block(&params->shape, &params->first, &params->count))
		errx(SIM_STATUS_FAILED, "%u processes cannot share %u nodes: there is at least one for each, and memory",
		     sim_ranks_count(), tofu_shape_nodes(&params->shape));
	if (sim_ranks_count() == 1 || quiet)
		return;
	/* A launcher says which process of which host has died. */
	gethostname(host, sizeof(host) - 1);
	fprintf(stderr, "tofu-sim: rank %u, process %ld on %s: nodes %u to %u\n",
		sim_ranks_rank(), (long)getpid(), host, params->first,
		params->first + params->count - 1);
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

static const struct tofu_cost *costs(const struct sim_options *options)
{
	const struct tofu_cost *table;
	char *why = NULL;

	if (options->doorbells)
		return sim_costs_least();
	if (!options->costs)
		return sim_costs(options->machine);
	table = sim_costs_read(options->costs, options->machine, &why);
	if (!table)
		errx(SIM_STATUS_FAILED, "%s", why ? why : "out of memory");
	return table;
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
	sim_options_parse(argc, argv, &options);
	if (sim_ranks_begin(&why))
		errx(SIM_STATUS_FAILED, "%s", why ? why : "out of memory");
	params = (struct sim_params){
		.shape = options.shape,
		.machine = options.machine,
		.nodes = options.nodes,
		.tnis = options.tnis,
		.armw = tofu_armw_chosen(options.armw, options.machine),
		.awake = options.awake,
		.stack = options.stack,
		.software = &sim_programs,
		.argc = options.argc,
		.argv = options.argv,
		.trace = options.trace,
		.doorbells = options.doorbells,
	};
	make_block(&params, options.quiet);
	params.program = load(&options, tofu_shape_nodes(&params.shape));
	memory_check(options.argv[0], params.count,
		     sim_program_node_bytes(params.program));
	tofu_worked.cost = costs(&options);
	tofu_port_home = sim_port_open;
	if (sim_create(&params, &sim, &why))
		errx(SIM_STATUS_FAILED, "%s", why ? why : "out of memory");
	if (sim_hooks_begin(sim))
		err(SIM_STATUS_FAILED, "signals");
	began = tofu_host_now();
	sim_watch_begin(sim, options.budget, options.quiet);
	run(sim, options.limit);
	sim_watch_end();
	if (options.summary)
		summary(sim, (double)(tofu_host_now() - began) / 1e9);
	status = status_of(sim);
	if (fflush(NULL) || ferror(stdout)) {
		warnx("standard output: not all could be written; is the disk full?");
		status = SIM_STATUS_FAILED;
	}
	sim_ranks_end();
	/* Memory of programs that had not ended is not worth taking apart. */
	_exit(status);
}
