/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/ranks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/find.h"
#include "sim/parcels.h"

#define PS 1000ULL

/*
 * With so few ranks everybody sends to everybody, and votes travel with the
 * packets. With more there is an allreduce beside the messages.
 */
#define RANKS_ALL 8

/**
 * @parcels:   for the ranks that this one exchanges messages with
 * @parcel_of: by rank: where its parcel is; NONE: there is none
 * @posted:    when there is something to do for a packet of this window
 */
static struct {
	const struct sim_transport *transport;
	unsigned int rank;
	unsigned int count;
	uint64_t nodes;
	struct sim_parcel *parcels;
	unsigned int parcel_count;
	unsigned int *parcel_of;
	uint64_t posted;
} ranks = {
	.count = 1,
	.posted = UINT64_MAX,
};

#define NONE UINT32_MAX

unsigned int sim_ranks_rank(void)
{
	return ranks.rank;
}

unsigned int sim_ranks_count(void)
{
	return ranks.count;
}

/* ---- The launcher ---- */

/*
 * How many processes there are, and of which MPI the launcher is, if that is
 * known. Intel's and other relatives of MPICH call it the same.
 */
static const struct launcher {
	const char *variable;
	const char *mpi;
} launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", "openmpi" },
	{ "PMI_SIZE", "mpich" },
	{ "SLURM_STEP_NUM_TASKS", NULL },
};

static unsigned long started(const char **mpi)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const char *text = getenv(launchers[i].variable);

		if (!text)
			continue;
		*mpi = launchers[i].mpi;
		return strtoul(text, NULL, 10);
	}
	return 1;
}

static int __attribute__((format(printf, 2, 3)))
refuse(char **why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
	return -ENOEXEC;
}

/* The default's is there where an MPI has no name. */
static char *find_transport(const char *mpi)
{
	char name[64];
	char *path = NULL;

	if (mpi && strchr(mpi, '/'))
		return strdup(mpi);
	if (mpi) {
		snprintf(name, sizeof(name), "mpi-%s.so", mpi);
		path = sim_find_part(name);
	}
	return path ? path : sim_find_part("mpi.so");
}

static int open_transport(const char *path, char **why)
{
	const struct sim_transport *transport = NULL;
	/* Open MPI opens parts that expect its names to be known. */
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (handle)
		transport = dlsym(handle, SIM_TRANSPORT_SYMBOL);
	if (!transport)
		return refuse(why, "%s: %s", path, dlerror());
	if (transport->size != sizeof(*transport))
		return refuse(why, "%s is of another version", path);
	ranks.transport = transport;
	return 0;
}

static int begin(const char *mpi, unsigned long count, char **why)
{
	char *path = find_transport(mpi);
	int err;

	if (!path)
		return refuse(why, "a launcher has started %lu processes, but tofu-sim was built without %s%s",
			      count, mpi ? "its MPI, " : "MPI", mpi ? mpi : "");
	err = open_transport(path, why);
	free(path);
	if (err)
		return err;
	ranks.transport->begin(&ranks.rank, &ranks.count);
	if (ranks.count != count)
		return refuse(why, "a launcher has started %lu processes, but they find %u: it is of another MPI; TOFU_SIM_MPI can name it",
			      count, ranks.count);
	return 0;
}

int sim_ranks_begin(char **why)
{
	const char *wanted = getenv("TOFU_SIM_MPI");
	const char *mpi = NULL;
	unsigned long count = started(&mpi);

	*why = NULL;
	if (wanted && !strcmp(wanted, "none"))
		return 0;
	return count > 1 ? begin(wanted ? wanted : mpi, count, why) : 0;
}

/* ---- Blocks ---- */

static uint32_t first_of(unsigned int rank)
{
	return (uint32_t)(ranks.nodes * rank / ranks.count);
}

static unsigned int rank_of(uint32_t node)
{
	return (unsigned int)((((uint64_t)node + 1) * ranks.count - 1) /
			      ranks.nodes);
}

/* Mark the ranks that links of this block lead to. */
static void mark_neighbours(const struct tofu_shape *shape)
{
	for (uint32_t n = first_of(ranks.rank); n < first_of(ranks.rank + 1);
	     n++) {
		for (int port = 0; port < TOFU_PORTS; port++) {
			const int64_t to = tofu_neighbour(
				shape, n, (enum tofu_port)port);

			if (to >= 0)
				ranks.parcel_of[rank_of((uint32_t)to)] = 0;
		}
	}
}

/* From the next rank on, so that not all send to the same one first */
static int add_parcels(void)
{
	for (unsigned int i = 1; i < ranks.count; i++) {
		const unsigned int rank = (ranks.rank + i) % ranks.count;
		struct sim_parcel *parcel = &ranks.parcels[ranks.parcel_count];

		if (ranks.parcel_of[rank] == NONE)
			continue;
		parcel->rank = rank;
		ranks.parcel_of[rank] = ranks.parcel_count++;
		if (sim_parcel_clear(parcel))
			return -ENOMEM;
	}
	return 0;
}

static int connect(const struct tofu_shape *shape)
{
	const bool all = ranks.count <= RANKS_ALL;

	ranks.parcels = calloc(ranks.count, sizeof(*ranks.parcels));
	ranks.parcel_of = calloc(ranks.count, sizeof(*ranks.parcel_of));
	if (!ranks.parcels || !ranks.parcel_of)
		return -ENOMEM;
	for (unsigned int i = 0; i < ranks.count; i++)
		ranks.parcel_of[i] = all ? 0 : NONE;
	mark_neighbours(shape);
	return add_parcels();
}

int sim_ranks_block(const struct tofu_shape *shape, uint32_t *first,
		    uint32_t *count)
{
	ranks.nodes = tofu_shape_nodes(shape);
	if (ranks.count > ranks.nodes)
		return -EINVAL;
	*first = first_of(ranks.rank);
	*count = first_of(ranks.rank + 1) - *first;
	return ranks.count > 1 ? connect(shape) : 0;
}

/* ---- Between windows ---- */

static void check(struct sim *sim, int err)
{
	if (err == -EPROTO)
		sim->stop = "a message of another process is damaged";
	else if (err == -EMSGSIZE)
		sim->stop = "a message to another process is too large";
	else if (err)
		sim->stop = "out of memory";
}

void sim_ranks_post(struct sim *sim, uint32_t node,
		    const struct tofu_net_packet *packet, uint64_t ps,
		    unsigned int at)
{
	const unsigned int parcel = ranks.parcel_of[rank_of(node)];

	check(sim, sim_parcel_add(&ranks.parcels[parcel], node, packet, ps,
				  at));
	sim_mail_free(sim, packet->cookie);
	if (ps / PS < ranks.posted)
		ranks.posted = ps / PS;
}

void sim_ranks_credit(struct sim *sim, const struct tofu_net_credit *credit)
{
	const unsigned int parcel = ranks.parcel_of[rank_of(credit->node)];

	check(sim, sim_parcel_add_credit(&ranks.parcels[parcel], credit));
	if (credit->ps / PS < ranks.posted)
		ranks.posted = credit->ps / PS;
}

/* Votes travel with the packets, since everybody sends to everybody. */
static void turn_all(struct sim *sim, struct sim_vote *vote)
{
	for (unsigned int i = 0; i < ranks.parcel_count; i++)
		sim_parcel_sign(&ranks.parcels[i], vote);
	ranks.transport->exchange(ranks.parcels, ranks.parcel_count, NULL, 0);
	for (unsigned int i = 0; i < ranks.parcel_count; i++) {
		struct sim_vote other = *vote;

		check(sim, sim_parcel_open(sim, &ranks.parcels[i], &other));
		sim_vote_count(vote, &other);
	}
}

/* The later, the less; both ways. */
static uint64_t nearness(uint64_t time)
{
	return time < INT64_MAX ? INT64_MAX - time : 0;
}

static void turn_neighbours(struct sim *sim, struct sim_vote *vote)
{
	uint64_t most[] = { nearness(vote->next), vote->event, vote->running,
			    vote->stop };
	struct sim_vote ignored;

	ranks.transport->exchange(ranks.parcels, ranks.parcel_count, most, 4);
	for (unsigned int i = 0; i < ranks.parcel_count; i++)
		check(sim, sim_parcel_open(sim, &ranks.parcels[i], &ignored));
	*vote = (struct sim_vote){ .next = most[0] ? nearness(most[0]) :
						     UINT64_MAX,
				   .event = most[1],
				   .running = most[2],
				   .stop = most[3] };
}

void sim_ranks_turn(struct sim *sim, struct sim_vote *vote)
{
	if (ranks.count == 1)
		return;
	if (ranks.posted < vote->next)
		vote->next = ranks.posted;
	if (ranks.count <= RANKS_ALL)
		turn_all(sim, vote);
	else
		turn_neighbours(sim, vote);
	for (unsigned int i = 0; i < ranks.parcel_count; i++)
		check(sim, sim_parcel_clear(&ranks.parcels[i]));
	ranks.posted = UINT64_MAX;
}

/* ---- Together ---- */

void sim_ranks_sum(uint64_t *numbers, unsigned int count)
{
	if (ranks.transport)
		ranks.transport->sum(numbers, count);
}

uint64_t sim_ranks_host_sum(uint64_t number)
{
	if (ranks.transport)
		ranks.transport->host_sum(&number, 1);
	return number;
}

uint64_t sim_ranks_most(uint64_t number)
{
	if (ranks.transport)
		ranks.transport->most(&number, 1);
	return number;
}

void sim_ranks_end(void)
{
	if (ranks.transport)
		ranks.transport->end();
}
