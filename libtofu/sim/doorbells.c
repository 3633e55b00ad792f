/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/doorbells.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gates that have a channel are fewer than 16, and so are the CQs of a TNI. */
#define QUEUES 16
#define KINDS 2 /* doorbells and channels */

/**
 * struct sim_doorbells - of a node
 * @ring:  the records, in their order
 * @next:  by kind, TNI and queue: no earlier record is to ring
 * @rung:  how many have
 */
struct sim_doorbells {
	struct icc_trace *ring;
	size_t count;
	size_t rung;
	size_t next[KINDS][TOFU_TNIS_MAX][QUEUES];
};

/* ---- Reading ---- */

__attribute__((format(printf, 3, 4))) static int
fail(char **why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
	return err;
}

static bool is_ring(const struct icc_trace *record)
{
	return (record->kind == ICC_TRACE_DOORBELL ||
		record->kind == ICC_TRACE_CHANNEL) &&
	       record->tni < TOFU_TNIS_MAX && record->cq < QUEUES;
}

static int check(const struct sim_node *node, const char *path,
		 const struct icc_trace_header *header, char **why)
{
	const struct sim_params *p = &node->sim->params;

	if (header->magic != ICC_TRACE_MAGIC)
		return fail(why, -EINVAL, "%s: not a trace", path);
	if (header->version != ICC_TRACE_VERSION)
		return fail(why, -EINVAL,
			    "%s: version %u, and this program knows %d", path,
			    header->version, ICC_TRACE_VERSION);
	if (header->node != node->number)
		return fail(why, -EINVAL, "%s: of node %u", path, header->node);
	if (header->shape != tofu_shape_pack(&p->shape) ||
	    strncmp(header->machine, p->machine->name, sizeof(header->machine)))
		return fail(why, -EINVAL, "%s: of another --machine or --shape",
			    path);
	if (header->lost)
		return fail(why, -EINVAL,
			    "%s: its end is missing: it could not grow", path);
	return 0;
}

static bool add(struct sim_doorbells *bells, const struct icc_trace *record)
{
	/* Room for a power of two */
	if (!(bells->count & (bells->count - 1))) {
		const size_t room = bells->count ? 2 * bells->count : 1;
		void *more = realloc(bells->ring, room * sizeof(*record));

		if (!more)
			return false;
		bells->ring = more;
	}
	bells->ring[bells->count++] = *record;
	return true;
}

static int read_all(const struct sim_node *node, const char *path, FILE *file,
		    char **why)
{
	struct icc_trace_header header = { 0 };
	struct icc_trace record;
	int err;

	if (fread(&header, sizeof(header), 1, file) != 1)
		header.magic = 0;
	err = check(node, path, &header, why);
	for (uint64_t i = 0; !err && i < header.records; i++) {
		if (fread(&record, sizeof(record), 1, file) != 1)
			err = fail(why, -EINVAL, "%s: it has been cut", path);
		else if (is_ring(&record) && !add(node->doorbells, &record))
			err = -ENOMEM;
	}
	return err;
}

int sim_doorbells_open(struct sim_node *node, const char *folder, char **why)
{
	FILE *file;
	char *path;
	int err;

	*why = NULL;
	node->doorbells = calloc(1, sizeof(*node->doorbells));
	if (!node->doorbells ||
	    asprintf(&path, "%s/node%u.trace", folder, node->number) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	if (file) {
		err = read_all(node, path, file, why);
		fclose(file);
	} else {
		err = -errno;
		fail(why, err, "%s: %s", path, strerror(errno));
	}
	free(path);
	return err;
}

void sim_doorbells_close(struct sim_node *node)
{
	if (node->doorbells)
		free(node->doorbells->ring);
	free(node->doorbells);
	node->doorbells = NULL;
}

/* ---- Ringing ---- */

/* Others find the same in the same window; the first one is told. */
__attribute__((format(printf, 2, 3))) static void
differ(struct sim_node *node, const char *format, ...)
{
	va_list args;

	if (node->sim->stop)
		return;
	node->sim->stop = "the doorbells are not those of the traces";
	va_start(args, format);
	fprintf(stderr, "tofu-sim: node %u", node->number);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static const char *word_of(enum icc_trace_kind kind)
{
	return kind == ICC_TRACE_CHANNEL ? "gate" : "CQ";
}

static const struct icc_trace *find(struct sim_doorbells *bells,
				    enum icc_trace_kind kind, unsigned int tni,
				    unsigned int cq)
{
	size_t *next = &bells->next[kind == ICC_TRACE_CHANNEL][tni][cq];

	while (*next < bells->count) {
		const struct icc_trace *ring = &bells->ring[(*next)++];

		if (ring->kind == kind && ring->tni == tni && ring->cq == cq)
			return ring;
	}
	return NULL;
}

void sim_doorbells_wait(struct sim_node *node, enum icc_trace_kind kind,
			unsigned int tni, unsigned int cq)
{
	const struct icc_trace *ring;
	uint64_t time = UINT64_MAX;

	if (!node->doorbells)
		return;
	ring = find(node->doorbells, kind, tni, cq);
	if (!ring)
		differ(node,
		       ", TNI %u %s %u: a doorbell at %" PRIu64 " ns is not recorded",
		       tni, word_of(kind), cq, node->now);
	else if (ring->time < node->now)
		differ(node,
		       ", TNI %u %s %u: a doorbell at %" PRIu64 " ns is recorded at %" PRIu64 " ns",
		       tni, word_of(kind), cq, node->now, ring->time);
	else
		time = ring->time;
	node->doorbells->rung++;
	sim_spend(node, time - node->now);
}

void sim_doorbells_end(struct sim_node *node)
{
	const struct sim_doorbells *bells = node->doorbells;

	if (!bells || bells->rung == bells->count)
		return;
	differ(node, " has ended, and %zu doorbells of %zu have not rung",
	       bells->count - bells->rung, bells->count);
}
