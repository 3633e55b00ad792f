// SPDX-License-Identifier: MIT
/* Making a collective: checks, the choice of an algorithm, queues and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/mem.h>

#include "coll/choose.h"
#include "coll/coll.h"
#include "utofu/error.h"

/* Of a buffer: an address has so many bits for an offset. */
#define BYTES_MAX (UINT64_C(1) << 40)
#define SEGMENT_MAX ((size_t)8 << 20)

/* Every put names memory, also one without bytes. */
#define WORK_MIN 256
#define WORK_ALIGN 256

/* Memory without contents need not be there where nothing is touched. */
#define BLANK_AT ((void *)UINT64_C(0x200000000000))

/* ---- What the user asks for ---- */

static bool combines(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_REDUCE || kind == TOFU_COLL_ALLREDUCE ||
	       kind == TOFU_COLL_REDUCE_SCATTER;
}

static bool has_root(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_BCAST || kind == TOFU_COLL_REDUCE ||
	       kind == TOFU_COLL_GATHER || kind == TOFU_COLL_SCATTER;
}

/* Kinds whose @recv can have the contribution */
static bool can_be_in_place(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_BCAST || kind == TOFU_COLL_REDUCE ||
	       kind == TOFU_COLL_ALLREDUCE;
}

static bool is_reproducible(const struct tofu_coll *coll)
{
	return coll->tuning.flags & TOFU_COLL_REPRODUCIBLE;
}

static int words_check(const struct tofu_coll_spec *spec)
{
	if ((unsigned int)spec->kind >= TOFU_COLL_KINDS)
		return UTOFU_ERR_INVALID_ARG;
	if (spec->kind == TOFU_COLL_BARRIER)
		return UTOFU_SUCCESS;
	if ((unsigned int)spec->type >= TOFU_COLL_TYPES)
		return UTOFU_ERR_INVALID_ARG;
	if (spec->type == TOFU_COLL_USER && !spec->size)
		return UTOFU_ERR_INVALID_SIZE;
	if (!combines(spec->kind))
		return UTOFU_SUCCESS;
	if ((unsigned int)spec->op >= TOFU_COLL_OPS ||
	    !coll_op_exists(spec->type, spec->op))
		return UTOFU_ERR_INVALID_ARG;
	if (spec->op == TOFU_COLL_CALL && !spec->call)
		return UTOFU_ERR_INVALID_POINTER;
	return UTOFU_SUCCESS;
}

static int tuning_check(const struct tofu_coll *coll)
{
	const struct tofu_coll_tuning *tuning = &coll->tuning;
	const struct tofu_coll_spec *spec = &coll->spec;

	if ((unsigned int)tuning->algorithm >= TOFU_COLL_ALGORITHMS ||
	    tuning->flags & ~(TOFU_COLL_REPRODUCIBLE | TOFU_COLL_BLANK))
		return UTOFU_ERR_INVALID_ARG;
	if (tuning->algorithm != TOFU_COLL_AUTO &&
	    !tofu_coll_fits(spec->kind, tuning->algorithm))
		return UTOFU_ERR_INVALID_ARG;
	if (is_reproducible(coll) &&
	    (!combines(spec->kind) || spec->type != TOFU_COLL_DOUBLE ||
	     spec->op != TOFU_COLL_SUM))
		return UTOFU_ERR_INVALID_ARG;
	return UTOFU_SUCCESS;
}

static size_t element_of(const struct tofu_coll_spec *spec)
{
	if (spec->kind == TOFU_COLL_BARRIER)
		return 1;
	return spec->type == TOFU_COLL_USER ? spec->size :
					      tofu_coll_type_size(spec->type);
}

/* ---- Buffers ---- */

/**
 * struct needs - blocks of a member's buffers
 * @send, @recv: 0: not used
 */
struct needs {
	uint64_t send;
	uint64_t recv;
};

static struct needs needs_of(const struct tofu_coll *coll)
{
	uint64_t n = coll->group->count;
	bool root = has_root(coll->spec.kind) &&
		    coll->group->number == coll->spec.root;
	bool in_place = !coll->spec.send && can_be_in_place(coll->spec.kind);

	switch (coll->spec.kind) {
	case TOFU_COLL_BCAST:
		return (struct needs){ root && !in_place, !root || in_place };
	case TOFU_COLL_REDUCE:
		return (struct needs){ !in_place, root || in_place };
	case TOFU_COLL_ALLREDUCE:
		return (struct needs){ !in_place, 1 };
	case TOFU_COLL_GATHER:
		return (struct needs){ 1, root ? n : 0 };
	case TOFU_COLL_SCATTER:
		return (struct needs){ root ? n : 0, 1 };
	case TOFU_COLL_ALLGATHER:
		return (struct needs){ 1, n };
	case TOFU_COLL_REDUCE_SCATTER:
		return (struct needs){ n, 1 };
	case TOFU_COLL_ALLTOALL:
		return (struct needs){ n, n };
	default:
		return (struct needs){ 0, 0 };
	}
}

static int buffers_check(const struct tofu_coll *coll)
{
	const struct tofu_coll_spec *spec = &coll->spec;
	struct needs needs = needs_of(coll);
	uint64_t size = element_of(spec);

	if (spec->kind == TOFU_COLL_BARRIER || !spec->count)
		return UTOFU_SUCCESS;
	if (is_reproducible(coll))
		size = coll_pieces_size();
	if (size > BYTES_MAX || spec->count > BYTES_MAX / size ||
	    spec->count * size > BYTES_MAX / coll->group->count)
		return UTOFU_ERR_INVALID_SIZE;
	if ((needs.send && !spec->send) || (needs.recv && !spec->recv))
		return UTOFU_ERR_INVALID_POINTER;
	return UTOFU_SUCCESS;
}

static int coll_check(const struct tofu_coll *coll)
{
	int code = words_check(&coll->spec);

	if (!code)
		code = tuning_check(coll);
	if (!code && has_root(coll->spec.kind) &&
	    coll->spec.root >= coll->group->count)
		code = UTOFU_ERR_INVALID_NUMBER;
	return code ? code : buffers_check(coll);
}

/* ---- Engines ---- */

static int engines_find(struct tofu_coll *coll, unsigned int *engines)
{
	unsigned int wanted = coll->tuning.engines;
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);

	if (code)
		return code;
	if (wanted > count)
		code = UTOFU_ERR_INVALID_NUMBER;
	if (!wanted || wanted > COLL_ENGINES_MAX)
		wanted = count < COLL_ENGINES_MAX ? (unsigned int)count :
						    COLL_ENGINES_MAX;
	for (unsigned int e = 0; e < wanted && !code; e++)
		coll->engine[e].tni = tnis[e];
	free(tnis);
	*engines = wanted;
	return code;
}

/* ---- The plan ---- */

static unsigned int gate_words(const struct tofu_coll *coll)
{
	const struct tofu_coll_spec *spec = &coll->spec;
	bool whole = spec->type == TOFU_COLL_UINT64 ||
		     spec->type == TOFU_COLL_INT64;

	if (is_reproducible(coll))
		return TOFU_REDUCE_DOUBLES;
	if (whole && (spec->op == TOFU_COLL_SUM || spec->op == TOFU_COLL_BAND ||
		      spec->op == TOFU_COLL_BOR || spec->op == TOFU_COLL_BXOR))
		return TOFU_REDUCE_WORDS;
	if (spec->type == TOFU_COLL_UINT64 && spec->op == TOFU_COLL_MAX)
		return TOFU_REDUCE_WORDS;
	return 0;
}

static struct coll_job job_of(const struct tofu_coll *coll,
			      unsigned int engines)
{
	const struct tofu_coll_spec *spec = &coll->spec;
	size_t segment = coll->tuning.segment;
	struct coll_job job = {
		.kind = spec->kind,
		.members = coll->group->count,
		.number = coll->group->number,
		.root = has_root(spec->kind) ? spec->root : 0,
		.torus = coll->group->torus,
		.element = (uint32_t)element_of(spec),
		.engines = engines,
		.routes = coll->tuning.routes,
		.in_place = !spec->send && can_be_in_place(spec->kind),
		.gate_words = gate_words(coll),
	};

	if (spec->kind != TOFU_COLL_BARRIER)
		job.bytes = spec->count * (uint64_t)job.element;
	if (segment > SEGMENT_MAX)
		segment = SEGMENT_MAX;
	if (segment)
		job.segment = coll_whole(segment, job.element);
	return job;
}

/* The same job with each double in pieces */
static struct coll_job pieces_job(const struct tofu_coll *coll,
				  struct coll_job job)
{
	job.element = (uint32_t)coll_pieces_size();
	job.bytes = coll->spec.count * (uint64_t)job.element;
	job.segment = coll_whole(job.segment, job.element);
	job.in_place = false;
	return job;
}

static int plan_make(struct tofu_coll *coll)
{
	unsigned int engines;
	struct coll_job job;
	int code = engines_find(coll, &engines);

	if (code)
		return code;
	job = job_of(coll, engines);
	code = coll_choose(coll, &job);
	if (code)
		return code;
	coll->cut = is_reproducible(coll) &&
		    coll->algorithm->algorithm != TOFU_COLL_GATES;
	if (coll->cut)
		job = pieces_job(coll, job);
	if (coll_plan_make(coll->algorithm, &job, &coll->plan))
		return UTOFU_ERR_OUT_OF_MEMORY;
	coll->op = (struct coll_op){
		.type = coll->spec.type,
		.op = coll->spec.op,
		.size = element_of(&coll->spec),
		.call = coll->spec.call,
		.data = coll->spec.data,
	};
	return UTOFU_SUCCESS;
}

/* ---- Memory ---- */

static int pieces_make(struct tofu_coll *coll, struct needs needs)
{
	struct coll_pieces *p = &coll->pieces;
	const uint64_t count = coll->spec.count;
	const uint64_t blocks =
		coll->spec.kind == TOFU_COLL_REDUCE_SCATTER ? needs.send : 1;

	p->from = coll->spec.send ? coll->spec.send : coll->spec.recv;
	p->sent = count * blocks;
	p->received = needs.recv ? count : 0;
	if (coll->blank)
		return UTOFU_SUCCESS;
	p->send = malloc(p->sent * coll_pieces_size());
	p->recv = malloc(count * coll_pieces_size());
	if (!p->send || !p->recv)
		return UTOFU_ERR_OUT_OF_MEMORY;
	coll->area[COLL_SEND] = p->send;
	coll->area[COLL_RECV] = p->recv;
	return UTOFU_SUCCESS;
}

static int work_make(struct tofu_coll *coll)
{
	uint64_t bytes = coll->plan.work < WORK_MIN ? WORK_MIN :
						      coll->plan.work;
	uintptr_t at;

	coll->area_bytes[COLL_WORK] = bytes;
	if (coll->blank) {
		coll->area[COLL_WORK] = BLANK_AT;
		return UTOFU_SUCCESS;
	}
	/* Not aligned_alloc(), which may touch what is never used. */
	coll->work = malloc(bytes + WORK_ALIGN);
	if (!coll->work)
		return UTOFU_ERR_OUT_OF_MEMORY;
	at = (uintptr_t)coll->work + WORK_ALIGN - 1;
	coll->area[COLL_WORK] = (char *)(at & ~(uintptr_t)(WORK_ALIGN - 1));
	return UTOFU_SUCCESS;
}

/* Only what is read or written is registered: nothing else need be there. */
static int areas_make(struct tofu_coll *coll)
{
	struct needs needs = needs_of(coll);
	const struct coll_job *job = &coll->plan.job;
	int code = UTOFU_SUCCESS;

	coll->blank = coll->tuning.flags & TOFU_COLL_BLANK &&
		      coll->board->in_calls;
	coll->area[COLL_SEND] = (char *)(uintptr_t)coll->spec.send;
	coll->area[COLL_RECV] = coll->spec.recv;
	if (coll->cut && job->bytes) {
		code = pieces_make(coll, needs);
		needs.send = needs.send ? needs.send : 1;
	}
	coll->area_bytes[COLL_SEND] = needs.send * job->bytes;
	coll->area_bytes[COLL_RECV] = needs.recv * job->bytes;
	return code ? code : work_make(coll);
}

/* ---- Queues ---- */

static int engine_register(struct tofu_coll *coll, struct coll_engine *engine,
			   enum coll_area area, utofu_vcq_hdl_t vcq,
			   utofu_stadd_t *stadd)
{
	unsigned long flags = 0;

	if (!coll->area_bytes[area])
		return UTOFU_SUCCESS;
	(void)engine;
	if (area == COLL_SEND)
		flags |= UTOFU_REG_MEM_FLAG_READ_ONLY;
	if (coll->tuning.flags & TOFU_COLL_BLANK)
		flags |= TOFU_REG_MEM_FLAG_BLANK;
	return utofu_reg_mem(vcq, coll->area[area], coll->area_bytes[area],
			     flags, stadd);
}

static int session_open(struct tofu_coll *coll, struct coll_engine *engine)
{
	int code = utofu_create_vcq(engine->tni, UTOFU_VCQ_FLAG_SESSION_MODE,
				    &engine->session);

	if (code)
		return code;
	engine->has_session = true;
	code = utofu_query_vcq_id(engine->session, &engine->session_id);
	return code ? code :
		      engine_register(coll, engine, COLL_RECV, engine->session,
				      &engine->session_at);
}

static int engine_open(struct tofu_coll *coll, struct coll_engine *engine)
{
	int code = utofu_create_vcq(engine->tni, 0, &engine->vcq);

	if (code)
		return code;
	engine->has_vcq = true;
	coll->open |= 1U << (engine - coll->engine);
	code = utofu_query_vcq_id(engine->vcq, &engine->id);
	for (int area = 0; area < COLL_AREAS && !code; area++)
		code = engine_register(coll, engine, area, engine->vcq,
				       &engine->at[area]);
	if (!code && engine->sessions)
		code = session_open(coll, engine);
	return code;
}

static void engines_mark(struct tofu_coll *coll)
{
	const struct coll_plan *plan = &coll->plan;

	for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++)
		memset(coll->engine[e].port, 0xff,
		       sizeof(coll->engine[e].port));
	for (unsigned int i = 0; i < plan->ports; i++) {
		const struct coll_port *port = &plan->port[i];
		struct coll_engine *engine = &coll->engine[port->engine];

		engine->used = true;
		engine->sessions |= port->session;
		engine->port[port->tag] = (uint16_t)i;
	}
	for (unsigned int i = 0; i < plan->links; i++) {
		const struct coll_link *link = &plan->link[i];

		coll->engine[link->engine].used = true;
		coll->engine[link->engine].sessions |= link->session;
	}
}

static int queues_make(struct tofu_coll *coll)
{
	const struct coll_plan *plan = &coll->plan;
	int code = UTOFU_SUCCESS;

	coll->target = calloc(plan->links + 1, sizeof(*coll->target));
	coll->come = calloc(plan->ports + 1, sizeof(*coll->come));
	coll->lane = calloc(plan->lanes + 1, sizeof(*coll->lane));
	if (!coll->target || !coll->come || !coll->lane)
		return UTOFU_ERR_OUT_OF_MEMORY;
	engines_mark(coll);
	for (unsigned int e = 0; e < COLL_ENGINES_MAX && !code; e++)
		if (coll->engine[e].used)
			code = engine_open(coll, &coll->engine[e]);
	return code;
}

/* ---- Creating ---- */

static bool has_gates(const struct tofu_coll *coll)
{
	return coll->algorithm->algorithm == TOFU_COLL_GATES &&
	       coll->plan.lanes && coll->group->count > 1;
}

/*
 * The plan, and gates where it has some. Where a member has no gates left, all
 * take another algorithm, unless these were asked for.
 */
static int plan_try(struct tofu_coll *coll)
{
	int code = plan_make(coll);

	if (code || !has_gates(coll))
		return code;
	code = coll_gates_alloc(coll);
	if (code != UTOFU_ERR_FULL || coll->tuning.algorithm == TOFU_COLL_GATES)
		return code;
	coll_plan_clear(&coll->plan);
	coll->no_gates = true;
	return plan_make(coll);
}

static int parts_make(struct tofu_coll *coll)
{
	int code = coll_check(coll);

	if (!code)
		code = plan_try(coll);
	if (!code)
		code = areas_make(coll);
	if (!code)
		code = queues_make(coll);
	if (!code)
		code = coll_publish(coll);
	if (!code)
		code = coll_connect(coll);
	if (!code && has_gates(coll))
		code = coll_gates_link(coll);
	return code;
}

int tofu_coll_create(struct tofu_group *group,
		     const struct tofu_coll_spec *spec,
		     const struct tofu_coll_tuning *tuning,
		     struct tofu_coll **result)
{
	struct tofu_coll *coll;
	int code;

	if (!group || !spec || !result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	coll = calloc(1, sizeof(*coll));
	if (!coll)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	coll->group = group;
	coll->spec = *spec;
	if (tuning)
		coll->tuning = *tuning;
	code = coll_board(group->boot, &coll->board);
	if (!code)
		code = coll_name(coll);
	if (!code) {
		code = parts_make(coll);
		if (code)
			coll_refuse(coll);
	}
	if (code) {
		tofu_coll_free(coll);
		return tofu_error(code);
	}
	*result = coll;
	return UTOFU_SUCCESS;
}

void tofu_coll_free(struct tofu_coll *coll)
{
	if (!coll)
		return;
	if (coll->is_active)
		coll_stop(coll);
	if (!coll->error)
		coll_drain(coll);
	/* Some may still be creating what has failed here. */
	if (coll->error)
		coll_refuse(coll);
	else
		coll_withdraw(coll);
	if (coll->gates)
		utofu_free_vbg(coll->gate, coll->gates);
	/* From then on nothing reads or writes the memory. */
	for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++) {
		if (coll->engine[e].has_session)
			utofu_free_vcq(coll->engine[e].session);
		if (coll->engine[e].has_vcq)
			utofu_free_vcq(coll->engine[e].vcq);
	}
	free(coll->pieces.send);
	free(coll->pieces.recv);
	free(coll->work);
	free(coll->target);
	free(coll->come);
	free(coll->lane);
	coll_plan_clear(&coll->plan);
	free(coll);
}

int tofu_coll_run(struct tofu_group *group, const struct tofu_coll_spec *spec,
		  const struct tofu_coll_tuning *tuning)
{
	struct tofu_coll *coll;
	int code = tofu_coll_create(group, spec, tuning, &coll);

	if (code)
		return code;
	code = tofu_coll_start(coll);
	if (!code)
		code = tofu_coll_wait(coll);
	tofu_coll_free(coll);
	return code;
}

/* ---- Describing ---- */

static unsigned int engines_used(const struct tofu_coll *coll)
{
	unsigned int count = 0;

	for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++)
		count += coll->engine[e].used;
	return count;
}

int tofu_coll_describe(const struct tofu_coll *coll,
		       struct tofu_coll_description *d)
{
	enum tofu_coll_algorithm wanted;
	int used;

	if (!coll || !d)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	wanted = coll->tuning.algorithm;
	*d = (struct tofu_coll_description){
		.algorithm = coll->algorithm->algorithm,
		.engines = engines_used(coll),
		.routes = coll->plan.routes,
		.segment = coll_algorithm_cuts(coll->algorithm) ?
				   coll->plan.job.segment : 0,
		.work = coll->plan.work,
	};
	used = snprintf(d->text, sizeof(d->text),
			"%s of %u by %s, %u engines, %u routes",
			tofu_coll_kind_name(coll->spec.kind),
			coll->group->count,
			tofu_coll_algorithm_name(d->algorithm), d->engines,
			d->routes);
	if (coll->fallback)
		snprintf(d->text + used, sizeof(d->text) - (size_t)used,
			 "; %s does not fit: %s",
			 tofu_coll_algorithm_name(wanted), coll->fallback);
	return UTOFU_SUCCESS;
}
