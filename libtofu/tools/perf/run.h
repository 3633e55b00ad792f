/* SPDX-License-Identifier: MIT */
/*
 * What the measurements of tofu-perf share: queues, buffers, waits.
 *
 * Buffers are one area on each node under one STAG: a part that puts come to,
 * a part that they are sent from, and some words behind them.
 */
#ifndef TOFU_PERF_RUN_H
#define TOFU_PERF_RUN_H

#include <tofu/regs.h>

#include "perf/perf.h"

/* A command that is reported: its source is free when the report is read. */
#define PERF_REPORT UTOFU_ONESIDED_FLAG_TCQ_NOTICE
/* A wait for the last bytes relies on them being written last. */
#define PERF_WAITED_FOR (PERF_REPORT | UTOFU_ONESIDED_FLAG_STRONG_ORDER)

/**
 * enum perf_word - the words behind the buffers
 * @PERF_WORD_ATOMIC: of the atomics
 * @PERF_WORD_STOP:   what the peer is told when a measurement is over
 * @PERF_WORD_SEEN:   four of them: what the peer saw of a put
 */
enum perf_word {
	PERF_WORD_ATOMIC,
	PERF_WORD_STOP,
	PERF_WORD_SEEN,
	PERF_WORDS = PERF_WORD_SEEN + 4,
};

/**
 * struct perf_engine - a queue of this node
 * @vcq:  its handle
 * @id:   its ID
 * @peer: IDs of the peers' queues on the same TNI, as many as there are peers;
 *        of a node that does not measure: the measuring node's
 * @busy: commands that have not been reported yet
 */
struct perf_engine {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_vcq_id_t *peer;
	unsigned int busy;
};

/**
 * struct perf - a node's part
 * @settings: of the measurement under way
 * @peers: nodes by number of peer
 * @engine: the first one alone where bandwidth is not concerned
 * @engines: how many are open
 * @area:  @span bytes to receive into, @span to send from, and the words
 * @stadd: of the area, on every node and TNI
 * @looks: reads of awaited memory between two polls; polls for a notice
 *         between two readings of the clock
 */
struct perf {
	struct tofu_machine machine;
	struct tofu_world *world;
	struct perf_place place;
	struct perf_settings settings;
	uint32_t *peers;
	struct perf_engine engine[TOFU_TNIS_MAX];
	unsigned int engines;
	size_t span;
	size_t size;
	uint8_t *area;
	utofu_stadd_t stadd;
	unsigned int looks;
};

/* perf_word_at - where a word is in the area */
static inline size_t perf_word_at(const struct perf *perf, enum perf_word word)
{
	return 2 * perf->span + word * sizeof(uint64_t);
}

/* perf_say - that @what failed with @code; Return: a negative errno */
int perf_say(const struct perf *perf, const char *what, int code, char **why);

/* perf_is_peer - whether this node is one of the peers */
bool perf_is_peer(const struct perf *perf);

/*
 * Waits. All return enum utofu_return_code, UTOFU_ERR_NOT_FOUND when the time
 * is over.
 */

/* perf_notice_wait - the next notice */
int perf_notice_wait(struct perf *perf, struct utofu_mrq_notice *notice);

/* perf_report_wait - until at most @most commands of a queue are under way */
int perf_report_wait(struct perf *perf, struct perf_engine *engine,
		     unsigned int most);

/**
 * perf_flag_wait - for the last bytes of a put, up to 8
 * @at:    the put's first byte
 * @bytes: of the put
 * @value: what it carries there
 *
 * If a put of this node fails, it leaves a notice, so that is checked as well.
 */
int perf_flag_wait(struct perf *perf, const uint8_t *at, size_t bytes,
		   uint64_t value);

/* perf_flag_set - the last bytes of a put, up to 8, at @at */
void perf_flag_set(uint8_t *at, size_t bytes, uint64_t value);

#endif /* TOFU_PERF_RUN_H */
