// SPDX-License-Identifier: MIT
/*
 * Running collectives: nothing but posts and polls, and work on memory.
 *
 * A test takes the notices that have come, and lets every lane go on as far as
 * it can. It does so for all collectives of the boot that are under way: a
 * member that waits for one may be what another member needs for another one.
 */
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "utofu/error.h"
#include "utofu/time.h"
#include "utofu/work.h"

/*
 * Tests without success before others are asked whether they are there; counted,
 * so that in virtual time it is always the same test.
 */
#define PROBE_TESTS (1U << 16)

/* Of so many tests one polls all engines. */
#define FULL_TESTS 16

/* Longer puts are cut: a put has less than 16 MiB. */
#define PUT_MAX (UINT64_C(8) << 20)

/* Operands of a barrier gate */
#define GATE_WORDS 6

/* A lane that cannot go on now */
#define LANE_WAITS 1

/* ---- Notices ---- */

static int arrival(struct tofu_coll *coll, struct coll_engine *engine,
		   const struct utofu_mrq_notice *notice)
{
	uint16_t port = engine->port[notice->edata & (COLL_TAGS - 1)];

	tofu_work(TOFU_WORK_COLL_NOTICE);
	if (port == COLL_PORT_NONE)
		return UTOFU_ERR_MRQ_OTHER;
	coll->come[port]++;
	coll->tests = 0;
	return UTOFU_SUCCESS;
}

/* Puts have a local notice when they fail, which names the target. */
static int failure(struct tofu_coll *coll,
		   const struct utofu_mrq_notice *notice, int code)
{
	if (code != UTOFU_ERR_MRQ_PEER && code != UTOFU_ERR_MRQ_RMT_STADD)
		return code;
	for (unsigned int i = 0; i < coll->plan.links; i++)
		if (coll->target[i].vcq == notice->vcq_id)
			return coll_lose(coll, coll->target[i].rank);
	return code;
}

static int mrq_poll(struct tofu_coll *coll, struct coll_engine *engine,
		    utofu_vcq_hdl_t vcq)
{
	struct utofu_mrq_notice notice;
	int code;

	while ((code = utofu_poll_mrq(vcq, 0, &notice)) !=
	       UTOFU_ERR_NOT_FOUND) {
		if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT && !code)
			code = arrival(coll, engine, &notice);
		else if (code)
			code = failure(coll, &notice, code);
		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

static unsigned int bit_of(const struct tofu_coll *coll,
			   const struct coll_engine *engine)
{
	return 1U << (engine - coll->engine);
}

static int tcq_poll(struct tofu_coll *coll, struct coll_engine *engine,
		    utofu_vcq_hdl_t vcq)
{
	void *cbdata;
	int code;

	while (!(code = utofu_poll_tcq(vcq, 0, &cbdata))) {
		struct coll_lane *lane = cbdata;

		if (!lane) {
			engine->carried--;
			continue;
		}
		lane->under_way--;
		engine->under_way--;
		coll->under_way--;
		coll->tests = 0;
	}
	if (!engine->under_way)
		coll->posted &= ~bit_of(coll, engine);
	return code == UTOFU_ERR_NOT_FOUND ? UTOFU_SUCCESS : code;
}

/* Nobody waits for the end of carried puts, but it may be a failure. */
static bool wants_tcq(const struct tofu_coll *coll,
		      const struct coll_engine *engine)
{
	return coll->posted & bit_of(coll, engine) ||
	       (engine->carried && coll->turns % FULL_TESTS == 0);
}

static int queue_poll(struct tofu_coll *coll, struct coll_engine *engine,
		      utofu_vcq_hdl_t vcq)
{
	int code = UTOFU_SUCCESS;

	if (wants_tcq(coll, engine))
		code = tcq_poll(coll, engine, vcq);
	return code ? code : mrq_poll(coll, engine, vcq);
}

static int engine_poll(struct tofu_coll *coll, struct coll_engine *engine)
{
	int code;

	tofu_work(TOFU_WORK_COLL_ENGINE);
	code = queue_poll(coll, engine, engine->vcq);
	if (!code && engine->has_session)
		code = queue_poll(coll, engine, engine->session);
	tofu_work(TOFU_WORK_COLL_POLLED);
	return code;
}

/* ---- Steps ---- */

static char *memory_at(const struct tofu_coll *coll, struct coll_place place)
{
	return coll->area[place.area] + place.offset;
}

static void copy(const struct tofu_coll *coll, const struct coll_step *step)
{
	tofu_work_bytes(TOFU_WORK_COPY, step->bytes);
	if (!coll->blank && step->bytes)
		memcpy(memory_at(coll, step->dst), memory_at(coll, step->a),
		       step->bytes);
}

static void reduce(const struct tofu_coll *coll, const struct coll_step *step)
{
	char *dst = memory_at(coll, step->dst);
	const char *a = memory_at(coll, step->a), *b = memory_at(coll, step->b);

	tofu_work(TOFU_WORK_COLL_COMBINE);
	tofu_work_bytes(TOFU_WORK_COLL_REDUCE, step->bytes);
	if (coll->blank)
		return;
	if (coll->cut)
		coll_pieces_run(dst, a, b, step->bytes / coll_pieces_size());
	else
		coll_op_run(&coll->op, dst, a, b, step->bytes);
}

static bool has_come(const struct tofu_coll *coll,
		     const struct coll_step *step)
{
	const struct coll_port *port = &coll->plan.port[step->which];

	return coll->come[step->which] >=
	       coll->round * port->due + step->count;
}

/* @lane: what waits for the end of the put; NULL: nobody does */
static int posted(struct tofu_coll *coll, struct coll_engine *engine,
		  struct coll_lane *lane, int code)
{
	if (code && code != UTOFU_ERR_BUSY)
		return code;
	if (code || lane)
		coll->posted |= bit_of(coll, engine);
	if (code)
		return LANE_WAITS;
	if (lane) {
		lane->under_way++;
		engine->under_way++;
		coll->under_way++;
		tofu_work(TOFU_WORK_COLL_PUT);
	} else {
		engine->carried++;
		tofu_work(TOFU_WORK_COLL_CARRY);
	}
	return UTOFU_SUCCESS;
}

/* Neither its lane nor the round waits for the end of such a put. */
static bool is_carried(const struct coll_step *step)
{
	return step->bytes && step->bytes <= COLL_CARRIED;
}

static int carry(struct tofu_coll *coll, const struct coll_step *step)
{
	const struct coll_link *link = &coll->plan.link[step->which];
	const struct coll_target *target = &coll->target[step->which];
	struct coll_engine *engine = &coll->engine[link->engine];
	uint64_t word = 0;

	_Static_assert(COLL_CARRIED == sizeof(word), "piggyback8");
	tofu_work(TOFU_WORK_COLL_PIGGYBACK);
	if (!coll->blank)
		memcpy(&word, memory_at(coll, step->a), step->bytes);
	return posted(coll, engine, NULL,
		      utofu_put_piggyback8(
			      engine->vcq, target->vcq, word,
			      target->at[step->dst.area] + step->dst.offset,
			      step->bytes, link->tag,
			      UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
				      UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE,
			      NULL));
}

/* A notice alone names memory all the same, and does not read it. */
static int put(struct tofu_coll *coll, struct coll_lane *lane)
{
	const struct coll_step *step = &lane->step;
	const struct coll_link *link = &coll->plan.link[step->which];
	const struct coll_target *target = &coll->target[step->which];
	struct coll_engine *engine = &coll->engine[link->engine];
	struct coll_place from = step->a, to = step->dst;
	struct coll_lane *waits = lane;
	int code;

	if (!step->bytes) {
		from = coll_place(COLL_WORK, 0);
		to = from;
		waits = NULL;
	}
	do {
		uint64_t left = step->bytes - lane->done;
		uint64_t now = left < PUT_MAX ? left : PUT_MAX;
		unsigned long flags = UTOFU_ONESIDED_FLAG_TCQ_NOTICE;

		if (now == left)
			flags |= UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE;
		tofu_work(TOFU_WORK_COLL_COMMAND);
		code = posted(coll, engine, waits,
			      utofu_put(engine->vcq, target->vcq,
					engine->at[from.area] + from.offset +
						lane->done,
					target->at[to.area] + to.offset +
						lane->done,
					now, link->tag, flags, waits));
		if (!code)
			lane->done += now;
	} while (!code && lane->done < step->bytes);
	return code;
}

static int blocks(struct tofu_coll *coll, struct coll_lane *lane)
{
	const struct coll_step *step = &lane->step;
	const struct coll_link *link = &coll->plan.link[step->which];
	const struct coll_target *target = &coll->target[step->which];
	struct coll_engine *engine = &coll->engine[link->engine];
	utofu_stadd_t from = link->waits ? engine->session_at :
					   engine->at[step->a.area];

	tofu_work(TOFU_WORK_COLL_COMMAND);
	return posted(coll, engine, lane,
		      utofu_put_stride(link->waits ? engine->session :
						     engine->vcq,
				       target->vcq, from + step->a.offset,
				       target->at[step->dst.area] +
					       step->dst.offset,
				       step->bytes, step->bytes, step->count,
				       link->tag,
				       UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
					       UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE |
					       UTOFU_ONESIDED_FLAG_SPS(1),
				       lane));
}

/* ---- Gates ---- */

static enum utofu_reduce_op gate_op(const struct tofu_coll *coll)
{
	switch (coll->spec.op) {
	case TOFU_COLL_BAND:
		return UTOFU_REDUCE_OP_BAND;
	case TOFU_COLL_BOR:
		return UTOFU_REDUCE_OP_BOR;
	case TOFU_COLL_BXOR:
		return UTOFU_REDUCE_OP_BXOR;
	case TOFU_COLL_MAX:
		return UTOFU_REDUCE_OP_MAX;
	default:
		return UTOFU_REDUCE_OP_SUM;
	}
}

static int gate_start(struct tofu_coll *coll, const struct coll_step *step)
{
	uint64_t word[GATE_WORDS] = { 0 };
	double real[GATE_WORDS];
	size_t count = step->bytes / sizeof(uint64_t);
	int code;

	if (!count)
		return utofu_barrier(coll->gate[0], 0);
	if (!coll->blank)
		memcpy(word, memory_at(coll, step->a), step->bytes);
	memcpy(real, word, step->bytes);
	if (coll->spec.type == TOFU_COLL_DOUBLE)
		code = utofu_reduce_double(coll->gate[0],
					   UTOFU_REDUCE_OP_BFPSUM, real, count,
					   0);
	else
		code = utofu_reduce_uint64(coll->gate[0], gate_op(coll), word,
					   count, 0);
	return code;
}

static int gate_end(struct tofu_coll *coll, const struct coll_step *step)
{
	uint64_t word[GATE_WORDS];
	double real[GATE_WORDS];
	bool is_real = coll->spec.type == TOFU_COLL_DOUBLE;
	int code;

	if (!step->bytes)
		code = utofu_poll_barrier(coll->gate[0], 0);
	else if (is_real)
		code = utofu_poll_reduce_double(coll->gate[0], 0, real);
	else
		code = utofu_poll_reduce_uint64(coll->gate[0], 0, word);
	if (code == UTOFU_ERR_NOT_COMPLETED)
		return LANE_WAITS;
	if (!code && step->bytes && !coll->blank)
		memcpy(memory_at(coll, step->dst),
		       is_real ? (void *)real : (void *)word, step->bytes);
	return code;
}

/* ---- Lanes ---- */

static int wait_if(bool waits)
{
	return waits ? LANE_WAITS : UTOFU_SUCCESS;
}

/* Return: UTOFU_SUCCESS if the step is done, LANE_WAITS, or an error. */
static int step_run(struct tofu_coll *coll, struct coll_lane *lane)
{
	const struct coll_step *step = &lane->step;

	switch (step->what) {
	case COLL_AWAIT:
		return wait_if(!has_come(coll, step));
	case COLL_FLUSH:
		return wait_if(lane->under_way > step->count);
	case COLL_JOIN:
		return wait_if(!coll->lane[step->which].ended &&
			       coll->lane[step->which].index < step->count);
	case COLL_PUT:
		return is_carried(step) ? carry(coll, step) :
					  put(coll, lane);
	case COLL_BLOCKS:
		return blocks(coll, lane);
	case COLL_COPY:
		copy(coll, step);
		return UTOFU_SUCCESS;
	case COLL_REDUCE:
		reduce(coll, step);
		return UTOFU_SUCCESS;
	case COLL_GATE:
		return gate_start(coll, step);
	case COLL_RESULT:
		return gate_end(coll, step);
	default:
		return UTOFU_ERR_FATAL;
	}
}

static void step_get(struct tofu_coll *coll, struct coll_lane *lane)
{
	memset(&lane->step, 0, sizeof(lane->step));
	coll->plan.step(&coll->plan, (unsigned int)(lane - coll->lane),
			lane->index, coll->round & 1, &lane->step);
	lane->ready = true;
	lane->done = 0;
}

/* Notes the engine by which a lane goes on. */
static void lane_waits(struct tofu_coll *coll, const struct coll_lane *lane)
{
	if (lane->step.what != COLL_AWAIT)
		return;
	tofu_work(TOFU_WORK_COLL_AWAIT);
	coll->awaited |= 1U << coll->plan.port[lane->step.which].engine;
}

static int lane_run(struct tofu_coll *coll, struct coll_lane *lane)
{
	tofu_work(TOFU_WORK_COLL_LANE);
	while (!lane->ended) {
		int code;

		if (!lane->ready)
			step_get(coll, lane);
		if (lane->step.what == COLL_END) {
			lane->ended = true;
			coll->lanes_left--;
			break;
		}
		code = step_run(coll, lane);
		if (code == LANE_WAITS)
			lane_waits(coll, lane);
		if (code)
			return code == LANE_WAITS ? UTOFU_SUCCESS : code;
		tofu_work(TOFU_WORK_COLL_STEP);
		lane->ready = false;
		lane->index++;
	}
	return UTOFU_SUCCESS;
}

static int lanes_run(struct tofu_coll *coll)
{
	int code = UTOFU_SUCCESS;

	coll->awaited = 0;
	for (unsigned int i = 0; i < coll->plan.lanes && !code; i++)
		code = lane_run(coll, &coll->lane[i]);
	return code;
}

/* ---- Rounds ---- */

void coll_stop(struct tofu_coll *coll)
{
	struct tofu_coll **at = &coll->board->active;

	while (*at != coll)
		at = &(*at)->next;
	*at = coll->next;
	coll->is_active = false;
}

static void round_end(struct tofu_coll *coll)
{
	tofu_work(TOFU_WORK_COLL_END);
	coll->round++;
	if (coll->pieces.recv && !coll->blank)
		coll_pieces_join(coll->spec.recv, coll->pieces.recv,
				 coll->pieces.received);
	coll_stop(coll);
}

/*
 * Engines to poll: those from which a lane waits for a notice, or the end of a
 * put. An empty poll costs as much as all else of a test, and where
 * processors are shared perhaps a turn of all others. Now and then all are
 * polled, since a put may fail after it has been reported.
 */
static unsigned int engines_awaited(struct tofu_coll *coll)
{
	coll->turns += tofu_work_turns(&coll->mark);
	tofu_work_alike(FULL_TESTS - 1 - coll->turns % FULL_TESTS);
	return coll->turns % FULL_TESTS ? coll->awaited | coll->posted :
					  coll->open;
}

static int step_all(struct tofu_coll *coll, unsigned int engines)
{
	int code = UTOFU_SUCCESS;

	for (; engines && !code; engines &= engines - 1)
		code = engine_poll(coll, &coll->engine[__builtin_ctz(engines)]);
	if (!code)
		code = lanes_run(coll);
	if (code)
		return code;
	return coll->lanes_left || coll->under_way ? UTOFU_ERR_NOT_COMPLETED :
						     UTOFU_SUCCESS;
}

/*
 * A member that is gone may have sent all that it owed before: that is there by
 * now. A put to it may fail by now, too, and name it.
 */
static int lost_judge(struct tofu_coll *coll)
{
	int lost = coll_probe(coll), code;

	coll->tests = 0;
	if (!lost)
		return UTOFU_ERR_NOT_COMPLETED;
	coll->has_lost = false;
	code = step_all(coll, coll->open);
	return code == UTOFU_ERR_NOT_COMPLETED && coll_probe(coll) ? lost :
								     code;
}

static void progress(struct tofu_coll *coll)
{
	int code = coll_told(coll);

	if (!code) {
		tofu_work(TOFU_WORK_COLL_TEST);
		code = step_all(coll, engines_awaited(coll));
	}
	if (code == UTOFU_ERR_NOT_COMPLETED && ++coll->tests >= PROBE_TESTS)
		code = lost_judge(coll);
	if (!code) {
		round_end(coll);
	} else if (code == UTOFU_ERR_NOT_COMPLETED) {
		tofu_work(TOFU_WORK_COLL_VAIN);
	} else {
		coll_stop(coll);
		coll_fail(coll, code);
	}
}

static void all_progress(struct coll_board *board)
{
	struct tofu_coll *coll = board->active;

	while (coll) {
		struct tofu_coll *next = coll->next;

		progress(coll);
		coll = next;
	}
}

/* ---- The end ---- */

static unsigned int puts_carried(const struct tofu_coll *coll)
{
	unsigned int count = 0;

	for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++)
		count += coll->engine[e].carried;
	return count;
}

/* One that failed has ended, too: others may still be on their way. */
static void engine_drain(struct coll_engine *engine)
{
	void *cbdata;

	while (engine->carried && utofu_poll_tcq(engine->vcq, 0, &cbdata) !=
					  UTOFU_ERR_NOT_FOUND)
		engine->carried--;
}

void coll_drain(struct tofu_coll *coll)
{
	struct tofu_turns turns = tofu_turns_begin(0);
	unsigned int waited = 0;

	while (waited < PROBE_TESTS && puts_carried(coll)) {
		for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++)
			engine_drain(&coll->engine[e]);
		waited += tofu_give_way(&turns);
	}
}

/* ---- The interface ---- */

int tofu_coll_start(struct tofu_coll *coll)
{
	if (!coll)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (coll->error)
		return coll->error;
	if (coll->is_active)
		return UTOFU_ERR_BUSY;
	tofu_work(TOFU_WORK_COLL_START);
	for (unsigned int i = 0; i < coll->plan.lanes; i++)
		coll->lane[i] = (struct coll_lane){ 0 };
	coll->lanes_left = coll->plan.lanes;
	coll->mark = tofu_work_mark();
	coll->tests = 0;
	coll->is_active = true;
	coll->next = coll->board->active;
	coll->board->active = coll;
	if (coll->pieces.send && !coll->blank)
		coll_pieces_split(coll->pieces.send, coll->pieces.from,
				  coll->pieces.sent);
	progress(coll);
	return coll->error;
}

int tofu_coll_test(struct tofu_coll *coll)
{
	if (!coll)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!coll->is_active)
		return coll->error;
	all_progress(coll->board);
	return coll->is_active ? UTOFU_ERR_NOT_COMPLETED : coll->error;
}

int tofu_coll_wait(struct tofu_coll *coll)
{
	unsigned int begin = coll && coll->board->crowded ? TOFU_PATIENCE : 0;
	struct tofu_turns turns = tofu_turns_begin(begin);
	int code;

	/* A test that lets others run takes as long as some that do not. */
	while ((code = tofu_coll_test(coll)) == UTOFU_ERR_NOT_COMPLETED) {
		/* Something has come: patience begins again. */
		if (coll->tests <= 1 && !coll->board->in_calls)
			turns.polls = begin;
		coll->tests += tofu_give_way(&turns) - 1;
	}
	return code;
}

int tofu_coll_lost(const struct tofu_coll *coll, uint32_t *rank)
{
	if (!coll || !rank)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!coll->error || !coll->has_lost)
		return tofu_error(UTOFU_ERR_NOT_FOUND);
	*rank = coll->lost;
	return UTOFU_SUCCESS;
}
