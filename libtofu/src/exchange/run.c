// SPDX-License-Identifier: MIT
/*
 * Running an exchange: nothing but posts and polls.
 *
 * There are two sets of receive buffers and no credits. A neighbour puts into
 * the set of exchange i again in exchange i + 2. It begins that when it has
 * ended i + 1, for which it needs this process's puts of i + 1; these are
 * posted by the start of i + 1, and by then the data of exchange i is no longer
 * read. All that this needs is that each neighbour sends something in each
 * exchange, even if only a notice. For the same reason the notices of a set can
 * be counted from zero: those of i + 2 come after i has been counted.
 */
#include "exchange/internal.h"

#include <string.h>

#include "utofu/time.h"
#include "utofu/work.h"

/*
 * Tests without success before neighbours are probed: more than any but the
 * longest exchanges need. Counted, not timed, so that in virtual time it is
 * always the same test.
 */
#define PROBE_TESTS (1U << 16)

/* ---- Engines ---- */

/* Whether the engine has nothing more to post in this step */
static bool engine_posted(const struct tofu_exchange *exchange,
			  const struct tofu_exchange_engine *engine)
{
	return engine->posted == engine->groups ||
	       engine->group[engine->posted].step > exchange->step;
}

static int engine_post(struct tofu_exchange *exchange,
		       struct tofu_exchange_engine *engine)
{
	tofu_work(TOFU_WORK_EXCHANGE_LOOK);
	while (!engine_posted(exchange, engine)) {
		const struct tofu_exchange_group *group =
			&engine->group[engine->posted];
		int code = utofu_post_toq(
			engine->vcq,
			engine->command[exchange->set] + group->begin,
			group->bytes, NULL);

		tofu_work(TOFU_WORK_EXCHANGE_POST);
		/* Reports will make room. */
		if (code == UTOFU_ERR_BUSY)
			return UTOFU_SUCCESS;
		if (code)
			return code;
		engine->posted++;
	}
	return UTOFU_SUCCESS;
}

static int arrival(struct tofu_exchange *exchange,
		   struct tofu_exchange_engine *engine,
		   const struct utofu_mrq_notice *notice)
{
	unsigned int set = EXCHANGE_EDATA_SET(notice->edata);
	unsigned int step = EXCHANGE_EDATA_STEP(notice->edata);

	tofu_work(TOFU_WORK_EXCHANGE_NOTICE);
	if (exchange->arrived[set][step] == exchange->expected[step] ||
	    engine->heards[set] == engine->due)
		return UTOFU_ERR_MRQ_OTHER;
	exchange->arrived[set][step]++;
	engine->heard[set][engine->heards[set]++] = notice->vcq_id;
	return UTOFU_SUCCESS;
}

static int notice_take(struct tofu_exchange *exchange,
		       struct tofu_exchange_engine *engine,
		       const struct utofu_mrq_notice *notice, int code)
{
	if (notice->notice_type == UTOFU_MRQ_TYPE_RMT_PUT && !code)
		return arrival(exchange, engine, notice);
	if (notice->notice_type == UTOFU_MRQ_TYPE_LCL_PUT)
		return exchange_probe_answered(exchange, notice, code);
	return code;
}

/* Takes the reports and notices that are there. */
static int engine_poll(struct tofu_exchange *exchange,
		       struct tofu_exchange_engine *engine)
{
	struct utofu_mrq_notice notice = { 0 };
	void *cbdata;
	int code;

	tofu_work(TOFU_WORK_EXCHANGE_ENGINE);
	while (!(code = utofu_poll_tcq(engine->vcq, 0, &cbdata)))
		engine->reported++;
	if (code != UTOFU_ERR_NOT_FOUND)
		return code;
	while ((code = utofu_poll_mrq(engine->vcq, 0, &notice)) !=
	       UTOFU_ERR_NOT_FOUND) {
		code = notice_take(exchange, engine, &notice, code);
		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Steps ---- */

static bool step_ended(const struct tofu_exchange *exchange)
{
	for (unsigned int e = 0; e < exchange->engines; e++) {
		const struct tofu_exchange_engine *engine =
			&exchange->engine[e];

		if (!engine_posted(exchange, engine) ||
		    engine->reported != engine->posted)
			return false;
	}
	return exchange->arrived[exchange->set][exchange->step] ==
	       exchange->expected[exchange->step];
}

static int step_run(struct tofu_exchange *exchange)
{
	for (unsigned int e = 0; e < exchange->engines; e++) {
		struct tofu_exchange_engine *engine = &exchange->engine[e];
		int code = engine_post(exchange, engine);

		if (code)
			return code;
	}
	for (unsigned int e = 0; e < exchange->engines; e++) {
		int code = engine_poll(exchange, &exchange->engine[e]);

		if (code)
			return code;
	}
	return step_ended(exchange) ? UTOFU_SUCCESS : UTOFU_ERR_NOT_COMPLETED;
}

static int steps_run(struct tofu_exchange *exchange)
{
	do {
		int code = step_run(exchange);

		if (code)
			return code;
	} while (++exchange->step < exchange->steps);
	return UTOFU_SUCCESS;
}

/* ---- Phases ---- */

static void exchange_end(struct tofu_exchange *exchange)
{
	tofu_work(TOFU_WORK_EXCHANGE_END);
	memset(exchange->arrived[exchange->set], 0,
	       sizeof(exchange->arrived[exchange->set]));
	for (unsigned int e = 0; e < exchange->engines; e++) {
		exchange->engine[e].posted = 0;
		exchange->engine[e].reported = 0;
		exchange->engine[e].heards[exchange->set] = 0;
	}
	exchange->step = 0;
	exchange->tests = 0;
	exchange->probe_error = UTOFU_SUCCESS;
	exchange->probe_next = exchange->messages;
	exchange->last = exchange->set;
	exchange->set = !exchange->set;
}

/* Return: UTOFU_SUCCESS when the phase has ended. */
static int phase_run(struct tofu_exchange *exchange)
{
	int code;

	switch (exchange->phase) {
	case EXCHANGE_MEET:
	case EXCHANGE_PART:
		return utofu_poll_barrier(exchange->barrier, 0);
	case EXCHANGE_STEPS:
		return steps_run(exchange);
	case EXCHANGE_LEAVE:
		code = utofu_barrier(exchange->barrier, 0);
		return code == UTOFU_ERR_BUSY ? UTOFU_ERR_NOT_COMPLETED : code;
	default:
		return UTOFU_SUCCESS;
	}
}

static enum tofu_exchange_phase phase_next(const struct tofu_exchange *exchange)
{
	switch (exchange->phase) {
	case EXCHANGE_MEET:
		return EXCHANGE_STEPS;
	case EXCHANGE_STEPS:
		return exchange->barrier == UTOFU_VBG_ID_NULL ? EXCHANGE_IDLE :
								EXCHANGE_LEAVE;
	case EXCHANGE_LEAVE:
		return EXCHANGE_PART;
	default:
		return EXCHANGE_IDLE;
	}
}

/* ---- The interface ---- */

static int exchange_run(struct tofu_exchange *exchange)
{
	while (exchange->phase != EXCHANGE_IDLE) {
		int code = phase_run(exchange);

		if (code)
			return code;
		exchange->phase = phase_next(exchange);
	}
	exchange_end(exchange);
	return UTOFU_SUCCESS;
}

/* Probes are for the steps only: gates report a lost process themselves. */
static int exchange_waits(struct tofu_exchange *exchange)
{
	int code = exchange_probe_judge(exchange);

	if (code)
		return code;
	if (++exchange->tests < PROBE_TESTS)
		return UTOFU_ERR_NOT_COMPLETED;
	exchange->tests = 0;
	if (exchange->phase == EXCHANGE_STEPS)
		code = exchange_probe(exchange);
	return code ? code : UTOFU_ERR_NOT_COMPLETED;
}

int tofu_exchange_test(struct tofu_exchange *exchange)
{
	int code;

	if (!exchange)
		return UTOFU_ERR_INVALID_POINTER;
	if (exchange->error || exchange->phase == EXCHANGE_IDLE)
		return exchange->error;
	tofu_work(TOFU_WORK_EXCHANGE_TEST);
	code = exchange_run(exchange);
	if (code == UTOFU_ERR_NOT_COMPLETED)
		code = exchange_waits(exchange);
	if (code != UTOFU_ERR_NOT_COMPLETED)
		exchange->error = code;
	return code;
}

int tofu_exchange_start(struct tofu_exchange *exchange)
{
	int code = UTOFU_SUCCESS;

	if (!exchange)
		return UTOFU_ERR_INVALID_POINTER;
	if (exchange->error)
		return exchange->error;
	if (exchange->phase != EXCHANGE_IDLE)
		return UTOFU_ERR_BUSY;
	if (exchange->missing)
		return UTOFU_ERR_INVALID_ARG;
	tofu_work(TOFU_WORK_EXCHANGE_START);
	if (exchange->barrier != UTOFU_VBG_ID_NULL) {
		code = utofu_barrier(exchange->barrier, 0);
		if (code)
			return code;
		exchange->phase = EXCHANGE_MEET;
		return UTOFU_SUCCESS;
	}
	exchange->phase = EXCHANGE_STEPS;
	for (unsigned int e = 0; e < exchange->engines && !code; e++)
		code = engine_post(exchange, &exchange->engine[e]);
	exchange->error = code;
	return code;
}

int tofu_exchange_wait(struct tofu_exchange *exchange)
{
	struct tofu_turns turns = tofu_turns_begin(0);
	int code;

	/* A test that lets others run takes as long as some that do not. */
	while ((code = tofu_exchange_test(exchange)) == UTOFU_ERR_NOT_COMPLETED)
		exchange->tests += tofu_give_way(&turns) - 1;
	return code;
}

int tofu_exchange_received(const struct tofu_exchange *exchange,
			   unsigned int message, void **buffer)
{
	if (!exchange || !buffer)
		return UTOFU_ERR_INVALID_POINTER;
	if (message >= exchange->messages)
		return UTOFU_ERR_INVALID_NUMBER;
	if (exchange->last == EXCHANGE_SETS)
		return UTOFU_ERR_NOT_PROCESSED;
	*buffer = exchange->message[message].recv[exchange->last];
	return UTOFU_SUCCESS;
}
