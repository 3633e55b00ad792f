// SPDX-License-Identifier: MIT
/* Setting up, and the waits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/virtual.h"
#include "common/wait.h"
#include "perf/run.h"

#define PERF_STAG 17
#define PAGE 4096
/*
 * On a virtual machine in virtual time a poll takes longer than the measured
 * time, and awaited memory changes without one. Otherwise the poll lets the
 * engine run, and the pause after it lets the other programs run.
 */
#define LOOKS_VIRTUAL 4096

int perf_say(const struct perf *perf, const char *what, int code, char **why)
{
	tofu_error_say(why, "node %u: %s: %s", perf->machine.node, what,
		       code == UTOFU_SUCCESS ? "no end in time" :
					       tofu_error_text(code));
	return code == UTOFU_SUCCESS ? -ETIMEDOUT : -EIO;
}

bool perf_is_peer(const struct perf *perf)
{
	for (uint32_t i = 0; i < perf->place.peers; i++)
		if (perf->peers[i] == perf->machine.node)
			return true;
	return false;
}

/* ---- Waiting ---- */

int perf_notice_wait(struct perf *perf, struct utofu_mrq_notice *notice)
{
	struct tofu_wait wait = tofu_wait_keen(perf->settings.timeout);
	utofu_vcq_hdl_t vcq = perf->engine[0].vcq;

	do {
		/* Polls back to back see the notice early. */
		for (unsigned int look = perf->looks; look; look--) {
			int code = utofu_poll_mrq(vcq, 0, notice);

			if (code != UTOFU_ERR_NOT_FOUND)
				return code;
		}
	} while (tofu_wait_more(&wait));
	return UTOFU_ERR_NOT_FOUND;
}

int perf_report_wait(struct perf *perf, struct perf_engine *engine,
		     unsigned int most)
{
	struct tofu_wait wait;
	void *cbdata;

	if (engine->busy <= most)
		return UTOFU_SUCCESS;
	wait = tofu_wait_keen(perf->settings.timeout);
	while (engine->busy > most) {
		int code = utofu_poll_tcq(engine->vcq, 0, &cbdata);

		if (code == UTOFU_SUCCESS)
			engine->busy--;
		else if (code != UTOFU_ERR_NOT_FOUND || !tofu_wait_more(&wait))
			return code;
	}
	return UTOFU_SUCCESS;
}

/* Puts of eight bytes and more, which is one load and one store. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word_of_bytes;

static uint64_t flag_mask(size_t bytes)
{
	return UINT64_MAX >> 8 * (sizeof(uint64_t) - bytes);
}

void perf_flag_set(uint8_t *at, size_t bytes, uint64_t value)
{
	if (bytes >= sizeof(value))
		*(word_of_bytes *)(at + bytes - sizeof(value)) = value;
	else
		memcpy(at, &value, bytes);
}

static bool flag_seen(const uint8_t *at, size_t bytes, uint64_t value)
{
	uint64_t seen = 0;

	if (bytes >= sizeof(value))
		return *(const volatile word_of_bytes *)(at + bytes -
							 sizeof(value)) ==
		       value;
	/* Others write there. */
	__asm__ volatile("" : : : "memory");
	memcpy(&seen, at, bytes);
	return !((seen ^ value) & flag_mask(bytes));
}

static bool flag_looked(const struct perf *perf, const uint8_t *at,
			size_t bytes, uint64_t value)
{
	for (unsigned int look = perf->looks; look; look--)
		if (flag_seen(at, bytes, value))
			return true;
	return false;
}

int perf_flag_wait(struct perf *perf, const uint8_t *at, size_t bytes,
		   uint64_t value)
{
	struct tofu_wait wait = tofu_wait_keen(perf->settings.timeout);
	struct utofu_mrq_notice notice;

	while (!flag_looked(perf, at, bytes, value)) {
		int code = utofu_poll_mrq(perf->engine[0].vcq, 0, &notice);

		if (code != UTOFU_ERR_NOT_FOUND || !tofu_wait_more(&wait))
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Setting up ---- */

static int engine_open(struct perf *perf, unsigned int number, char **why)
{
	struct perf_engine *engine = &perf->engine[number];
	utofu_tni_id_t tni = (utofu_tni_id_t)(perf->place.tni + number);
	int code = utofu_create_vcq(tni, 0, &engine->vcq);

	if (code != UTOFU_SUCCESS)
		return perf_say(perf, "cannot create a VCQ", code, why);
	perf->engines++;
	code = utofu_reg_mem_with_stag(engine->vcq, perf->area, perf->size,
				       PERF_STAG, 0, &perf->stadd);
	if (code == UTOFU_SUCCESS)
		code = utofu_query_vcq_id(engine->vcq, &engine->id);
	if (code != UTOFU_SUCCESS)
		return perf_say(perf, "cannot register memory", code, why);
	return 0;
}

static int engines_open(struct perf *perf, char **why)
{
	int err = 0;

	perf->area = mmap(NULL, perf->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (perf->area == MAP_FAILED) {
		perf->area = NULL;
		return -ENOMEM;
	}
	/* The kernel pins what it registers, so it has touched all of it. */
	if (!tofu_virtual())
		memset(perf->area, 0, perf->size);
	for (unsigned int i = 0; !err && i < perf->place.tnis; i++)
		err = engine_open(perf, i, why);
	return err;
}

static int distance(const struct tofu_machine *machine, uint32_t a, uint32_t b)
{
	struct tofu_coords from = tofu_coords_of(&machine->shape, a);
	struct tofu_coords to = tofu_coords_of(&machine->shape, b);
	int sum = 0;

	for (int axis = 0; axis < TOFU_AXES; axis++) {
		int size = machine->shape.size[axis];
		int d = abs((int)from.c[axis] - (int)to.c[axis]);

		sum += d < size - d ? d : size - d;
	}
	return sum;
}

static bool chosen(const struct perf *perf, uint32_t count, uint32_t node)
{
	if (node == perf->place.from)
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (perf->peers[i] == node)
			return true;
	return false;
}

/* The nearest of those that are not chosen, of the lowest number. */
static uint32_t nearest(const struct perf *perf, uint32_t count)
{
	const struct tofu_machine *machine = &perf->machine;
	uint32_t best = machine->nodes;
	int near = 0;

	for (uint32_t node = 0; node < machine->nodes; node++) {
		int d = distance(machine, perf->place.from, node);

		if (chosen(perf, count, node))
			continue;
		if (best == machine->nodes || d < near) {
			best = node;
			near = d;
		}
	}
	return best;
}

static int peers_choose(struct perf *perf)
{
	perf->peers = calloc(perf->place.peers, sizeof(*perf->peers));
	if (!perf->peers)
		return -ENOMEM;
	perf->peers[0] = perf->place.to;
	for (uint32_t i = 1; i < perf->place.peers; i++)
		perf->peers[i] = nearest(perf, i);
	return 0;
}

/* The measuring node talks to all peers, every other node to that one. */
static int ids_learn(struct perf *perf, char **why)
{
	bool measures = perf->machine.node == perf->place.from;
	uint64_t own[TOFU_TNIS_MAX];
	unsigned int engines = perf->engines;
	const uint64_t *ids;
	int err;

	for (unsigned int e = 0; e < engines; e++)
		own[e] = perf->engine[e].id;
	err = tofu_world_gather(perf->world, own, engines, &ids, why);
	for (unsigned int e = 0; !err && e < engines; e++) {
		utofu_vcq_id_t *peer = calloc(perf->place.peers, sizeof(*peer));

		if (!peer)
			return -ENOMEM;
		perf->engine[e].peer = peer;
		for (uint32_t i = 0; i < perf->place.peers; i++) {
			uint32_t node = measures ? perf->peers[i] :
						   perf->place.from;

			peer[i] = ids[node * engines + e];
		}
	}
	return err;
}

int perf_open(const struct tofu_machine *machine, struct tofu_world *world,
	      const struct perf_place *place, char **why, struct perf **result)
{
	struct perf *perf = calloc(1, sizeof(*perf));
	int err;

	if (!perf)
		return -ENOMEM;
	perf->machine = *machine;
	perf->world = world;
	perf->place = *place;
	perf->span = (place->bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	perf->size = 2 * perf->span + PAGE;
	perf->looks = tofu_virtual_runs() ? LOOKS_VIRTUAL : 1;
	err = peers_choose(perf);
	if (!err)
		err = engines_open(perf, why);
	if (!err)
		err = ids_learn(perf, why);
	if (err)
		perf_close(perf);
	else
		*result = perf;
	return err;
}

void perf_close(struct perf *perf)
{
	if (!perf)
		return;
	for (unsigned int e = 0; e < perf->engines; e++) {
		utofu_free_vcq(perf->engine[e].vcq);
		free(perf->engine[e].peer);
	}
	if (perf->area)
		munmap(perf->area, perf->size);
	free(perf->peers);
	free(perf);
}
