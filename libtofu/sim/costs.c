/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/costs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Of virtual machines, whose processor is the same whatever the interconnect's
 * machine is. scripts/tofu-costs fit writes the table.
 */
static const struct {
	const char *name;
	uint32_t ns;
} costs[TOFU_WORKS] = {
	[TOFU_WORK_POST] = { "post", 146 },
	[TOFU_WORK_POST_SLOT] = { "post-slot", 13 },
	[TOFU_WORK_POST_SLOWLY] = { "post-slowly", 234 },
	[TOFU_WORK_POST_ALONE] = { "post-alone", 15 },
	[TOFU_WORK_POST_PACED] = { "post-paced", 44 },
	[TOFU_WORK_POST_FULL] = { "post-full", 60 },
	[TOFU_WORK_POST_PREPARED] = { "post-prepared", 100 },
	[TOFU_WORK_PREPARED] = { "prepared", 106 },
	[TOFU_WORK_POSTED] = { "posted", 47 },
	[TOFU_WORK_POSTED_SLOWLY] = { "posted-slowly", 13 },
	[TOFU_WORK_PREPARE] = { "prepare", 173 },
	[TOFU_WORK_TCQ_LOOK] = { "tcq-look", 31 },
	[TOFU_WORK_TCQ_EMPTY] = { "tcq-empty", 23 },
	[TOFU_WORK_TCQ_FOUND] = { "tcq-found", 34 },
	[TOFU_WORK_MRQ_LOOK] = { "mrq-look", 30 },
	[TOFU_WORK_MRQ_EMPTY] = { "mrq-empty", 34 },
	[TOFU_WORK_MRQ_FOUND] = { "mrq-found", 86 },
	[TOFU_WORK_TCQ_SLOWLY] = { "tcq-slowly", 79 },
	[TOFU_WORK_MRQ_SLOWLY] = { "mrq-slowly", 93 },
	[TOFU_WORK_VCQ_IDLE] = { "vcq-idle", 21 },
	[TOFU_WORK_BARRIER_START] = { "barrier-start", 80 },
	[TOFU_WORK_BARRIER_STARTED] = { "barrier-started", 12 },
	[TOFU_WORK_BARRIER_LOOK] = { "barrier-look", 72 },
	[TOFU_WORK_BARRIER_EMPTY] = { "barrier-empty", 37 },
	[TOFU_WORK_BARRIER_ENDED] = { "barrier-ended", 25 },
	[TOFU_WORK_CLOCK] = { "clock", 73 },
	[TOFU_WORK_COUNTER] = { "counter", 9 },
	[TOFU_WORK_WAIT] = { "wait", 10 },
	[TOFU_WORK_YIELD] = { "yield", 799 },
	[TOFU_WORK_QUEUE] = { "queue", 236093 },
	[TOFU_WORK_QUEUE_FREE] = { "queue-free", 108708 },
	[TOFU_WORK_MEMORY] = { "memory", 6306 },
	[TOFU_WORK_MEMORY_FREE] = { "memory-free", 3958 },
	[TOFU_WORK_MEMORY_PAGE] = { "memory-page", 316 },
	[TOFU_WORK_MEMORY_PAGE_FREE] = { "memory-page-free", 92 },
	[TOFU_WORK_COPY] = { "copy", 25 },
	[TOFU_WORK_CLEAR] = { "clear", 14 },
	[TOFU_WORK_BOOT_PUT] = { "boot-put", 462 },
	[TOFU_WORK_BOOT_BARRIER] = { "boot-barrier", 100 },
	[TOFU_WORK_BOOT_WAIT] = { "boot-wait", 30 },
	[TOFU_WORK_EXCHANGE_START] = { "exchange-start", 29 },
	[TOFU_WORK_EXCHANGE_END] = { "exchange-end", 42 },
	[TOFU_WORK_EXCHANGE_TEST] = { "exchange-test", 94 },
	[TOFU_WORK_EXCHANGE_LOOK] = { "exchange-look", 15 },
	[TOFU_WORK_EXCHANGE_POST] = { "exchange-post", 38 },
	[TOFU_WORK_EXCHANGE_ENGINE] = { "exchange-engine", 17 },
	[TOFU_WORK_EXCHANGE_NOTICE] = { "exchange-notice", 47 },
	[TOFU_WORK_RING_LOOK] = { "ring-look", 3 },
	[TOFU_WORK_RING_FOUND] = { "ring-found", 72 },
	[TOFU_WORK_RING_CONSUME] = { "ring-consume", 63 },
	[TOFU_WORK_SRB_RECEIVE] = { "srb-receive", 49 },
	[TOFU_WORK_SRB_SEND] = { "srb-send", 282 },
	[TOFU_WORK_SRB_SENT] = { "srb-sent", 56 },
	[TOFU_WORK_SRB_SINGLE] = { "srb-single", 183 },
	[TOFU_WORK_SRB_EXPRESS] = { "srb-express", 61 },
	[TOFU_WORK_SRB_POLL] = { "srb-poll", 28 },
	[TOFU_WORK_SRB_POLLED] = { "srb-polled", 29 },
	[TOFU_WORK_SRB_NOTICE] = { "srb-notice", 101 },
	[TOFU_WORK_SRB_ENDED] = { "srb-ended", 113 },
	[TOFU_WORK_SRB_PUT] = { "srb-put", 130 },
	[TOFU_WORK_SRB_POSTED] = { "srb-posted", 65 },
	[TOFU_WORK_P2P_SEND] = { "p2p-send", 154 },
	[TOFU_WORK_P2P_RECEIVE] = { "p2p-receive", 225 },
	[TOFU_WORK_P2P_EXPRESS] = { "p2p-express", 113 },
	[TOFU_WORK_P2P_EXPRESSED] = { "p2p-expressed", 166 },
	[TOFU_WORK_P2P_RECORD] = { "p2p-record", 154 },
	[TOFU_WORK_P2P_SENT] = { "p2p-sent", 106 },
	[TOFU_WORK_P2P_FLOWN] = { "p2p-flown", 130 },
	[TOFU_WORK_P2P_TEST] = { "p2p-test", 36 },
	[TOFU_WORK_P2P_PROGRESS] = { "p2p-progress", 64 },
	[TOFU_WORK_P2P_SENDER] = { "p2p-sender", 28 },
	[TOFU_WORK_P2P_LOOK] = { "p2p-look", 40 },
	[TOFU_WORK_P2P_SHARED] = { "p2p-shared", 38 },
	[TOFU_WORK_P2P_TURNED] = { "p2p-turned", 40 },
	[TOFU_WORK_P2P_UNHEARD] = { "p2p-unheard", 13 },
	[TOFU_WORK_P2P_MESSAGE] = { "p2p-message", 343 },
	[TOFU_WORK_P2P_REPLY] = { "p2p-reply", 354 },
	[TOFU_WORK_P2P_CHUNK] = { "p2p-chunk", 354 },
	[TOFU_WORK_P2P_REGION] = { "p2p-region", 84 },
	[TOFU_WORK_P2P_CHECK] = { "p2p-check", 33 },
	[TOFU_WORK_P2P_ENDED] = { "p2p-ended", 53 },
	[TOFU_WORK_COLL_START] = { "coll-start", 59 },
	[TOFU_WORK_COLL_END] = { "coll-end", 51 },
	[TOFU_WORK_COLL_TEST] = { "coll-test", 67 },
	[TOFU_WORK_COLL_VAIN] = { "coll-vain", 38 },
	[TOFU_WORK_COLL_ENGINE] = { "coll-engine", 17 },
	[TOFU_WORK_COLL_POLLED] = { "coll-polled", 32 },
	[TOFU_WORK_COLL_NOTICE] = { "coll-notice", 15 },
	[TOFU_WORK_COLL_LANE] = { "coll-lane", 14 },
	[TOFU_WORK_COLL_AWAIT] = { "coll-await", 28 },
	[TOFU_WORK_COLL_STEP] = { "coll-step", 45 },
	[TOFU_WORK_COLL_DOUBLING] = { "coll-doubling", 65 },
	[TOFU_WORK_COLL_RING] = { "coll-ring", 209 },
	[TOFU_WORK_COLL_RINGS] = { "coll-rings", 76 },
	[TOFU_WORK_COLL_SUM] = { "coll-sum", 85 },
	[TOFU_WORK_COLL_COMMAND] = { "coll-command", 64 },
	[TOFU_WORK_COLL_PIGGYBACK] = { "coll-piggyback", 48 },
	[TOFU_WORK_COLL_PUT] = { "coll-put", 37 },
	[TOFU_WORK_COLL_CARRY] = { "coll-carry", 0 },
	[TOFU_WORK_COLL_COMBINE] = { "coll-combine", 78 },
	[TOFU_WORK_COLL_REDUCE] = { "coll-reduce", 52 },
};

static const uint32_t accesses[TOFU_WORKS] = {
	[TOFU_WORK_COPY] = TOFU_MEMORY_COPY,
	[TOFU_WORK_CLEAR] = TOFU_MEMORY_CLEAR,
	[TOFU_WORK_COLL_REDUCE] = TOFU_MEMORY_REDUCE,
};

/* A loop that polls or looks at the clock has to come to its end. */
static const struct tofu_cost least[TOFU_WORKS] = {
	[TOFU_WORK_TCQ_LOOK] = { .ns = 1 },
	[TOFU_WORK_MRQ_LOOK] = { .ns = 1 },
	[TOFU_WORK_VCQ_IDLE] = { .ns = 1 },
	[TOFU_WORK_BARRIER_LOOK] = { .ns = 1 },
	[TOFU_WORK_CLOCK] = { .ns = 1 },
	[TOFU_WORK_YIELD] = { .ns = 1 },
};

const struct tofu_cost *sim_costs_least(void)
{
	return least;
}

static struct tofu_cost table[TOFU_WORKS];

const struct tofu_cost *sim_costs(const struct tofu_preset *machine)
{
	for (int i = 0; i < TOFU_WORKS; i++)
		table[i] = (struct tofu_cost){
			(costs[i].ns * machine->work_percent + 50) / 100,
			accesses[i],
		};
	return table;
}

/* ---- Files ---- */

/* Return: whether the line is empty, a comment, or a cost. */
static bool line_take(const char *line)
{
	char name[32];
	uint32_t ns;
	int end = 0;

	if (line[strspn(line, " \t\n")] == '\0' || *line == '#')
		return true;
	if (sscanf(line, "%31s %" SCNu32 " %n", name, &ns, &end) != 2 ||
	    line[end])
		return false;
	for (int i = 0; i < TOFU_WORKS; i++) {
		if (strcmp(name, costs[i].name))
			continue;
		table[i].ns = ns > least[i].ns ? ns : least[i].ns;
		return true;
	}
	return false;
}

static bool lines_take(FILE *file, const char *path, char **why)
{
	char line[128];

	for (int number = 1; fgets(line, sizeof(line), file); number++) {
		if (line_take(line))
			continue;
		if (asprintf(why, "%s: line %d is not the name of a cost and its ns",
			     path, number) < 0)
			*why = NULL;
		return false;
	}
	return true;
}

const struct tofu_cost *sim_costs_read(const char *path,
				       const struct tofu_preset *machine,
				       char **why)
{
	FILE *file = fopen(path, "re");
	bool good;

	if (!file) {
		if (asprintf(why, "%s: %s", path, strerror(errno)) < 0)
			*why = NULL;
		return NULL;
	}
	sim_costs(machine);
	good = lines_take(file, path, why);
	fclose(file);
	return good ? table : NULL;
}
