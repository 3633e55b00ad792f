// SPDX-License-Identifier: MIT
/* Latency and bandwidth. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/mark.h>

#include "common/error.h"
#include "common/phase.h"
#include "common/virtual.h"
#include "perf/run.h"

#define STOP 1
#define NOTICE UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE

/**
 * struct command - a command that is posted repeatedly
 * @op:    operation
 * @bytes: bytes of payload
 * @value: last bytes of a put; number of any other command
 * @flags: flags of notices
 */
struct command {
	enum perf_op op;
	size_t bytes;
	uint64_t value;
	unsigned long flags;
};

/* Set the value that a put carries; a bandwidth's puts carry none. */
static void put_value(struct perf *perf, size_t bytes, uint64_t value)
{
	if (bytes > sizeof(value) || perf->settings.memory)
		perf_flag_set(perf->area + perf->span, bytes, value);
}

static inline unsigned long flags_of(const struct perf *perf,
				     const struct command *command)
{
	return command->flags | (perf->settings.inject ?
					 UTOFU_ONESIDED_FLAG_CACHE_INJECTION :
					 0);
}

/* Post a put the way a program would choose for this size. */
static inline int put_post(struct perf *perf, const struct perf_engine *engine,
			   utofu_vcq_id_t peer, const struct command *command)
{
	uint8_t *from = perf->area + perf->span;
	size_t bytes = command->bytes;

	if (perf->settings.memory)
		return utofu_put(engine->vcq, peer, perf->stadd + perf->span,
				 perf->stadd, bytes, 0, flags_of(perf, command), NULL);
	if (bytes <= sizeof(uint64_t))
		return utofu_put_piggyback8(engine->vcq, peer, command->value,
					    perf->stadd, bytes, 0,
					    flags_of(perf, command), NULL);
	if (bytes <= 32)
		return utofu_put_piggyback(engine->vcq, peer, from,
					   perf->stadd, bytes, 0,
					   flags_of(perf, command), NULL);
	return utofu_put(engine->vcq, peer, perf->stadd + perf->span,
			 perf->stadd, bytes, 0, flags_of(perf, command), NULL);
}

static inline int atomic_post(struct perf *perf,
			      const struct perf_engine *engine,
			      utofu_vcq_id_t peer,
			      const struct command *command)
{
	utofu_stadd_t word = perf->stadd + perf_word_at(perf, PERF_WORD_ATOMIC);

	if (command->bytes == sizeof(uint32_t))
		return utofu_armw4(engine->vcq, peer, UTOFU_ARMW_OP_ADD, 1,
				   word, 0, flags_of(perf, command), NULL);
	return utofu_armw8(engine->vcq, peer, UTOFU_ARMW_OP_ADD, 1, word, 0,
			   flags_of(perf, command), NULL);
}

/* Inlined, since its own time lowers a measured bandwidth. */
__attribute__((always_inline)) static inline int
post(struct perf *perf, struct perf_engine *engine, uint32_t peer,
     const struct command *command)
{
	utofu_vcq_id_t id = engine->peer[peer];
	int code;

	if (command->op == PERF_PUT)
		code = put_post(perf, engine, id, command);
	else if (command->op == PERF_GET)
		code = utofu_get(engine->vcq, id, perf->stadd + perf->span,
				 perf->stadd, command->bytes, 0,
				 flags_of(perf, command), NULL);
	else
		code = atomic_post(perf, engine, id, command);
	if (code == UTOFU_SUCCESS && (command->flags & PERF_REPORT))
		engine->busy++;
	return code;
}

/* ---- Latency ---- */

/* The other side answers each put with one of the same size. */
static int pong(struct perf *perf, size_t bytes)
{
	const struct perf_settings *settings = &perf->settings;
	int code = UTOFU_SUCCESS;

	for (uint64_t i = 1;
	     i <= settings->warmup + settings->iterations && !code; i++) {
		const struct command put = { .op = PERF_PUT, .bytes = bytes,
					     .value = i,
					     .flags = PERF_WAITED_FOR };

		put_value(perf, bytes, i);
		code = perf_flag_wait(perf, perf->area, bytes, i);
		if (code == UTOFU_SUCCESS)
			code = post(perf, &perf->engine[0], 0, &put);
		if (code == UTOFU_SUCCESS)
			code = perf_report_wait(perf, &perf->engine[0], 0);
	}
	return code;
}

/* Compare the old value in the atomic's bytes. */
static bool atomic_is(const struct utofu_mrq_notice *notice, size_t bytes,
		      uint64_t value)
{
	if (bytes == sizeof(uint32_t))
		return (uint32_t)notice->rmt_value == (uint32_t)value;
	return notice->rmt_value == value;
}

/* Post a command and wait for the answer: for a put, one of the same size. */
static inline int ask(struct perf *perf, const struct command *command,
		      struct utofu_mrq_notice *notice)
{
	int code = post(perf, &perf->engine[0], 0, command);

	if (code != UTOFU_SUCCESS)
		return code;
	tofu_phase(perf->machine.node, command->value);
	if (command->op == PERF_PUT)
		return perf_flag_wait(perf, perf->area, command->bytes,
				      command->value);
	return perf_notice_wait(perf, notice);
}

/*
 * Each atomic adds one and returns the old value. The source of a put is
 * free when it has been reported.
 */
static int answer_check(struct perf *perf, const struct command *command,
			const struct utofu_mrq_notice *notice)
{
	if (command->op == PERF_ARMW &&
	    !atomic_is(notice, command->bytes, command->value - 1))
		return UTOFU_ERR_MRQ_OTHER;
	return perf_report_wait(perf, &perf->engine[0], 0);
}

/* Preparation and checks are not timed. */
static int latency(struct perf *perf, enum perf_op op, size_t bytes,
		   uint64_t *time)
{
	const struct perf_settings *settings = &perf->settings;
	struct command command = {
		.op = op,
		.bytes = bytes,
		.flags = op == PERF_PUT ? PERF_WAITED_FOR : NOTICE,
	};

	for (uint64_t i = 1; i <= settings->warmup + settings->iterations;
	     i++) {
		struct utofu_mrq_notice notice;
		uint64_t began, took;
		int code;

		command.value = i;
		if (op == PERF_PUT)
			put_value(perf, bytes, i);
		began = tofu_now();
		code = ask(perf, &command, &notice);
		took = tofu_now() - began;
		if (i > settings->warmup)
			time[i - settings->warmup - 1] = took;
		if (code == UTOFU_SUCCESS)
			code = answer_check(perf, &command, &notice);
		if (code != UTOFU_SUCCESS)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Bandwidth ---- */

/* Wait until the window has room: one report, mostly there, is enough. */
static inline int stream_wait(struct perf *perf, struct perf_engine *engine)
{
	void *cbdata;

	if (engine->busy < perf->settings.window)
		return UTOFU_SUCCESS;
	if (utofu_poll_tcq(engine->vcq, 0, &cbdata) == UTOFU_SUCCESS) {
		engine->busy--;
		return UTOFU_SUCCESS;
	}
	return perf_report_wait(perf, engine, perf->settings.window - 1);
}

/* Called when the queue is full: retry until it takes the command. */
static int stream_push(struct perf *perf, struct perf_engine *engine,
		       uint32_t peer, const struct command *command)
{
	int code = UTOFU_ERR_BUSY;

	while (code == UTOFU_ERR_BUSY && engine->busy &&
	       perf_report_wait(perf, engine, engine->busy - 1) ==
		       UTOFU_SUCCESS)
		code = post(perf, engine, peer, command);
	return code;
}

static int stream(struct perf *perf, enum perf_op op, size_t bytes,
		  uint64_t count)
{
	const struct command command = { .op = op, .bytes = bytes,
					 .flags = PERF_REPORT };
	unsigned int engine = 0;
	uint32_t peer = 0;
	int code = UTOFU_SUCCESS;

	for (uint64_t i = 0; i < count && code == UTOFU_SUCCESS; i++) {
		code = stream_wait(perf, &perf->engine[engine]);
		if (code != UTOFU_SUCCESS)
			break;
		code = post(perf, &perf->engine[engine], peer, &command);
		if (code == UTOFU_ERR_BUSY)
			code = stream_push(perf, &perf->engine[engine], peer,
					   &command);
		if (++engine == perf->engines)
			engine = 0;
		if (++peer == perf->place.peers)
			peer = 0;
	}
	for (unsigned int e = 0; e < perf->engines; e++)
		if (code == UTOFU_SUCCESS)
			code = perf_report_wait(perf, &perf->engine[e], 0);
	return code;
}

/* Only failed commands leave notices, which have come by now. */
static int stream_check(struct perf *perf)
{
	struct utofu_mrq_notice notice;

	for (unsigned int e = 0; e < perf->engines; e++) {
		int code = utofu_poll_mrq(perf->engine[e].vcq, 0, &notice);

		if (code != UTOFU_ERR_NOT_FOUND)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* In virtual time a stream keeps its first pace. */
#define STREAMS_VIRTUAL 9

static int streams(struct perf *perf, enum perf_op op, size_t bytes,
		   uint64_t *elapsed)
{
	const unsigned int count = tofu_virtual() ? STREAMS_VIRTUAL : 1;
	uint64_t time[STREAMS_VIRTUAL];
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < count && code == UTOFU_SUCCESS; i++) {
		uint64_t began;

		tofu_phase(perf->machine.node, i);
		began = tofu_now();
		code = stream(perf, op, bytes, perf->settings.commands);
		time[i] = tofu_now() - began;
	}
	*elapsed = tofu_stats_of(time, count).middle;
	return code;
}

static int bandwidth(struct perf *perf, enum perf_op op, size_t bytes,
		     struct perf_result *result)
{
	const struct perf_settings *settings = &perf->settings;
	int code = stream(perf, op, bytes, settings->warmup);

	if (code == UTOFU_SUCCESS)
		code = streams(perf, op, bytes, &result->elapsed);
	if (code == UTOFU_SUCCESS)
		code = stream_check(perf);
	if (code != UTOFU_SUCCESS)
		return code;
	result->rate = (double)settings->commands /
		       ((double)result->elapsed / 1e9);
	result->bandwidth = result->rate * (double)bytes;
	return UTOFU_SUCCESS;
}

/* ---- A measurement ---- */

/* The peers poll like a communicating program until they are told to stop. */
static int stop_send(struct perf *perf)
{
	struct perf_engine *engine = &perf->engine[0];
	int code = UTOFU_SUCCESS;

	for (uint32_t i = 0; i < perf->place.peers && !code; i++) {
		code = utofu_put_piggyback8(
			engine->vcq, engine->peer[i], STOP,
			perf->stadd + perf_word_at(perf, PERF_WORD_STOP),
			sizeof(uint64_t), 0, PERF_REPORT, NULL);
		if (code == UTOFU_SUCCESS)
			engine->busy++;
	}
	return code == UTOFU_SUCCESS ? perf_report_wait(perf, engine, 0) : code;
}

static int stop_wait(struct perf *perf)
{
	return perf_flag_wait(perf,
			      perf->area + perf_word_at(perf, PERF_WORD_STOP),
			      sizeof(uint64_t), STOP);
}

static int run_active(struct perf *perf, enum perf_op op, size_t bytes,
		      char **why, struct perf_result *result)
{
	uint64_t *time = calloc(perf->settings.iterations, sizeof(*time));
	int code;

	if (!time)
		return -ENOMEM;
	tofu_mark(TOFU_MARK_NAME("latency"));
	code = latency(perf, op, bytes, time);
	tofu_mark(TOFU_MARK_END);
	result->times = tofu_stats_of(time, perf->settings.iterations);
	result->ways = op == PERF_PUT &&
		       perf->place.to != perf->place.from ? 2 : 1;
	free(time);
	if (code != UTOFU_SUCCESS)
		return perf_say(perf, "latency", code, why);
	tofu_mark(TOFU_MARK_NAME("bandw."));
	code = bandwidth(perf, op, bytes, result);
	tofu_mark(TOFU_MARK_END);
	if (code == UTOFU_SUCCESS)
		code = stop_send(perf);
	return code == UTOFU_SUCCESS ? 0 :
				       perf_say(perf, "bandwidth", code, why);
}

static int run_passive(struct perf *perf, enum perf_op op, size_t bytes,
		       char **why)
{
	bool answers = op == PERF_PUT &&
		       perf->machine.node == perf->place.to;
	int code;

	tofu_mark(TOFU_MARK_NAME("answer"));
	code = answers ? pong(perf, bytes) : UTOFU_SUCCESS;
	if (code == UTOFU_SUCCESS)
		code = stop_wait(perf);
	tofu_mark(TOFU_MARK_END);
	return code == UTOFU_SUCCESS ? 0 : perf_say(perf, "peer", code, why);
}

int perf_run(struct perf *perf, const struct perf_settings *settings,
	     enum perf_op op, size_t bytes, char **why,
	     struct perf_result *result)
{
	int err;

	perf->settings = *settings;
	/* No other byte of the area is checked. */
	perf_flag_set(perf->area, bytes, 0);
	memset(perf->area + perf_word_at(perf, 0), 0,
	       PERF_WORDS * sizeof(uint64_t));
	err = tofu_world_barrier(perf->world, why);
	if (err)
		return err;
	if (perf->machine.node == perf->place.from)
		err = run_active(perf, op, bytes, why, result);
	else if (perf_is_peer(perf))
		err = run_passive(perf, op, bytes, why);
	return err ? err : tofu_world_barrier(perf->world, why);
}

double perf_memcpy(size_t bytes, uint64_t iterations)
{
	uint8_t *from = malloc(bytes), *to = malloc(bytes);
	double seconds = 0;

	if (from && to) {
		uint64_t began;

		memset(from, 1, bytes);
		memset(to, 2, bytes);
		began = tofu_now();
		for (uint64_t i = 0; i < iterations; i++) {
			memcpy(to, from, bytes);
			/* Each copy counts: the compiler must not drop one. */
			__asm__ volatile("" : : "r"(to) : "memory");
		}
		seconds = (double)(tofu_now() - began) / 1e9;
	}
	free(from);
	free(to);
	return seconds > 0 ? (double)iterations * (double)bytes / seconds : 0;
}
