// SPDX-License-Identifier: MIT
/*
 * Memory that a process keeps for others: what node 0 takes after peers have
 * sent to it, and what it would take.
 */
#include <errno.h>

#include "p2p/p2p.h"

static uint64_t sum(const struct tofu_p2p_memory *memory)
{
	return memory->shared + memory->own + memory->peers +
	       memory->unexpected + memory->pool;
}

/* ---- Measured ---- */

static int memory_row(struct measure *measure, struct tofu_p2p *p2p,
		      const struct tofu_p2p_params *params, uint64_t peers)
{
	struct tofu_p2p_memory is, need;
	int code;

	tofu_p2p_memory(p2p, &is);
	code = tofu_p2p_need(params, peers, &need);
	if (code)
		return measure_fail(measure, "cannot compute", code);
	if (measure_is_root(measure) && sum(&is) != sum(&need))
		measure->wrong++;
	measure_row(measure,
		    (struct measure_cell[]){
			    { "mode", "mode", measure_mode_name(params->mode),
			      0, 0 },
			    { "peers", "peers", NULL, peers, 0 },
			    { "bytes", "bytes", NULL, sum(&is), 0 },
			    { "need", "need", NULL, sum(&need), 0 },
			    { "own rings", "own", NULL, is.own, 0 },
			    { "shared", "shared", NULL, is.shared, 0 },
			    { "pool", "pool", NULL, is.pool, 0 },
			    { "tables", "tables", NULL, is.peers, 0 },
		    },
		    8);
	return 0;
}

static int mode_run(struct measure *measure, enum tofu_p2p_mode mode)
{
	const struct measure_options *options = measure->options;
	struct tofu_p2p_params params = measure_params(measure, mode);
	struct tofu_p2p *p2p;
	uint32_t met = 0;
	int err = measure_open(measure, &params, &p2p);

	if (err)
		return err;
	for (size_t i = 0; i < options->peers.count && !err; i++) {
		while (met < options->peers.size[i] && !err)
			err = measure_meet(measure, p2p, ++met);
		if (!err)
			err = memory_row(measure, p2p, &params, met);
	}
	if (!err)
		return measure_close(measure, p2p);
	tofu_p2p_free(p2p);
	return err;
}

int measure_memory(struct measure *measure)
{
	const struct measure_options *options = measure->options;
	int err = 0;

	for (size_t i = 0; i < options->modes && !err; i++)
		err = mode_run(measure, options->mode[i]);
	return err;
}

/* ---- Computed ---- */

/* There is no peer to look up: nothing is sent. */
static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	(void)arg;
	(void)rank;
	(void)coords;
	(void)tni;
	(void)component;
	return UTOFU_ERR_NOT_AVAILABLE;
}

static int need_row(struct measure *measure, enum tofu_p2p_mode mode,
		    uint64_t peers)
{
	struct tofu_p2p_params params = measure_params(measure, mode);
	struct tofu_p2p_memory need;
	int code;

	params.processes = UINT32_MAX - 1;
	params.where = where;
	code = tofu_p2p_need(&params, peers, &need);
	if (code)
		return measure_fail(measure, "cannot compute", code);
	measure_row(measure,
		    (struct measure_cell[]){
			    { "mode", "mode", measure_mode_name(mode), 0, 0 },
			    { "peers", "peers", NULL, peers, 0 },
			    { "bytes", "need", NULL, sum(&need), 0 },
			    { "own rings", "own", NULL, need.own, 0 },
			    { "shared", "shared", NULL, need.shared, 0 },
			    { "pool", "pool", NULL, need.pool, 0 },
			    { "tables", "tables", NULL, need.peers, 0 },
		    },
		    7);
	return 0;
}

int measure_need(struct measure *measure)
{
	const struct measure_options *options = measure->options;
	int err = 0;

	for (size_t i = 0; i < options->modes; i++)
		for (size_t p = 0; p < options->peers.count && !err; p++)
			err = need_row(measure, options->mode[i],
				       options->peers.size[p]);
	return err;
}
