// SPDX-License-Identifier: MIT
/*
 * The exchange: puts straight into the neighbours' receive buffers.
 *
 * One area of memory holds the send buffers and two sets of receive buffers;
 * exchanges use the sets in turn. No put can overwrite what its target still
 * looks at: a node sends for exchange t + 2 only after it has everything of
 * t + 1, so also what the target of that put sent it then (every direction has
 * its opposite), and the target sent that after it was through with t, whose
 * set t + 2 uses again.
 *
 * The barrier before each exchange is therefore not for correctness: it makes
 * the time that of an exchange, not of the neighbours' verification.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tofu/mark.h>
#include <utofu.h>

#include "common/error.h"
#include "common/stats.h"
#include "common/wait.h"
#include "tofu-halo.h"

#define SETS 2
#define HALO_STAG 16
#define SAY_MAX 8 /* messages about wrong bytes, each node */
#define CHECK_NS 1000000000ULL

/* edata: which message, and into which set. */
#define EDATA(set, message) ((uint64_t)(set) << 7 | (message))
#define EDATA_SET(edata) ((unsigned int)((edata) >> 7 & 1))
#define EDATA_MESSAGE(edata) ((unsigned int)((edata) & 0x7f))

/**
 * struct engine - a VCQ on one TNI
 * @vcq:   handle
 * @stadd: of the area, here and on every other node
 * @busy:  puts that have not been reported yet
 */
struct engine {
	utofu_vcq_hdl_t vcq;
	utofu_stadd_t stadd;
	unsigned int busy;
};

/**
 * struct halo - a node's part of the exchanges
 * @area:    send buffers, then the receive sets
 * @span:    bytes of each of these
 * @ids:     of node n's engine e at n * engines + e
 * @arrived: segments of each message that have come, for each set
 * @expected: segments of each message
 * @said:    messages about wrong bytes so far
 */
struct halo {
	struct tofu_machine machine;
	struct tofu_boot *boot;
	struct halo_settings settings;
	unsigned int engines;
	struct engine engine[HALO_TNIS_MAX];
	uint8_t *area;
	size_t span;
	size_t size;
	utofu_vcq_id_t *ids;

	const struct halo_pattern *pattern;
	struct tofu_neighbor_plan plan;
	unsigned int expected[HALO_MESSAGES_MAX];
	unsigned int arrived[SETS][HALO_MESSAGES_MAX];
	unsigned int said;
};

static size_t set_offset(const struct halo *halo, unsigned int set)
{
	return halo->span * (1 + set);
}

/* ---- Sending ---- */

static int say_code(const struct halo *halo, int code, char **why)
{
	tofu_error_say(why, "node %u: the exchange failed: %s",
		       halo->machine.node, tofu_error_text(code));
	return -EIO;
}

/* Take reports of finished puts. */
static int engine_drain(struct halo *halo, struct engine *engine, char **why)
{
	void *cbdata;
	int code;

	while (engine->busy) {
		code = utofu_poll_tcq(engine->vcq, 0, &cbdata);
		if (code == UTOFU_ERR_NOT_FOUND)
			return 0;
		if (code != UTOFU_SUCCESS)
			return say_code(halo, code, why);
		engine->busy--;
	}
	return 0;
}

static int put_post(struct halo *halo, unsigned int index, unsigned int e,
		    unsigned int set, size_t offset, size_t bytes, char **why)
{
	const struct halo_message *m = &halo->pattern->message[index];
	struct tofu_wait wait = tofu_wait_keen(halo->settings.timeout);
	struct engine *engine = &halo->engine[e];
	utofu_stadd_t from = engine->stadd + m->offset + offset;
	utofu_stadd_t to = from + set_offset(halo, set);
	int code, err;

	for (;;) {
		code = utofu_put(engine->vcq,
				 halo->ids[m->to * halo->engines + e], from, to,
				 bytes, EDATA(set, index),
				 UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
					 UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE,
				 NULL);
		if (code != UTOFU_ERR_BUSY)
			break;
		err = engine_drain(halo, engine, why);
		if (err)
			return err;
		if (!tofu_wait_more(&wait))
			break;
	}
	if (code != UTOFU_SUCCESS)
		return say_code(halo, code, why);
	engine->busy++;
	return 0;
}

static int step_post(struct halo *halo, unsigned int step, unsigned int set,
		     char **why)
{
	const struct halo_pattern *pattern = halo->pattern;
	struct tofu_neighbor_put put;

	for (unsigned int e = 0; e < halo->engines; e++) {
		size_t bytes, offset, all;
		int err;

		if (!tofu_neighbor_plan_put(&halo->plan, step, e, &put))
			break;
		all = pattern->message[put.neighbor].bytes;
		bytes = tofu_neighbor_segment(&halo->plan, all, put.segment,
					      &offset);
		/* An empty message is sent, an empty part of one is not. */
		if (!bytes && put.segment)
			continue;
		err = put_post(halo, put.neighbor, e, set, offset, bytes, why);
		if (err)
			return err;
	}
	return 0;
}

/* ---- Receiving ---- */

static uint32_t notice_node(const struct halo *halo, utofu_vcq_id_t id)
{
	struct tofu_coords at;
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint16_t extra;

	if (utofu_query_vcq_info(id, at.c, &tni, &cq, &extra) != UTOFU_SUCCESS)
		return UINT32_MAX;
	return (uint32_t)tofu_node_at(&halo->machine.shape, &at);
}

static int say_lost(const struct halo *halo, int code,
		    const struct utofu_mrq_notice *notice, char **why)
{
	unsigned int index = EDATA_MESSAGE(notice->edata);

	if (!notice->vcq_id || index >= halo->pattern->count)
		return say_code(halo, code, why);
	tofu_error_say(why, "node %u: the put to node %u, going %s, failed: %s",
		       halo->machine.node, notice_node(halo, notice->vcq_id),
		       halo->pattern->message[index].direction,
		       tofu_error_text(code));
	return -EIO;
}

/* A put that somebody made: is it one that belongs here? */
static int notice_take(struct halo *halo, const struct engine *engine,
		       const struct utofu_mrq_notice *notice, char **why)
{
	unsigned int index = EDATA_MESSAGE(notice->edata);
	unsigned int set = EDATA_SET(notice->edata);
	uint32_t node = notice_node(halo, notice->vcq_id);
	const struct halo_message *m = &halo->pattern->message[index];
	utofu_stadd_t begin;

	if (notice->notice_type != UTOFU_MRQ_TYPE_RMT_PUT ||
	    index >= halo->pattern->count || node != m->from) {
		tofu_error_say(why,
			       "node %u: a notice that nobody should have sent: type %u, edata %" PRIu64 ", from node %u",
			       halo->machine.node, notice->notice_type,
			       notice->edata, node);
		return -EIO;
	}
	begin = engine->stadd + set_offset(halo, set) + m->offset;
	if (notice->rmt_stadd < begin || notice->rmt_stadd > begin + m->bytes ||
	    ++halo->arrived[set][index] > halo->expected[index]) {
		tofu_error_say(why,
			       "node %u: from node %u, going %s: a put to %#" PRIx64 ", more than there should be",
			       halo->machine.node, node, m->direction,
			       notice->rmt_stadd);
		return -EIO;
	}
	return 0;
}

/* One look at all queues; fills halo->arrived and engine->busy. */
static int poll_all(struct halo *halo, bool *some, char **why)
{
	for (unsigned int e = 0; e < halo->engines; e++) {
		struct engine *engine = &halo->engine[e];
		unsigned int busy = engine->busy;
		struct utofu_mrq_notice notice;
		int code, err;

		err = engine_drain(halo, engine, why);
		if (err)
			return err;
		*some |= busy != engine->busy;
		for (;;) {
			code = utofu_poll_mrq(engine->vcq, 0, &notice);
			if (code == UTOFU_ERR_NOT_FOUND)
				break;
			if (code != UTOFU_SUCCESS)
				return say_lost(halo, code, &notice, why);
			err = notice_take(halo, engine, &notice, why);
			if (err)
				return err;
			*some = true;
		}
	}
	return 0;
}

static bool sent_all(const struct halo *halo)
{
	for (unsigned int e = 0; e < halo->engines; e++) {
		if (halo->engine[e].busy)
			return false;
	}
	return true;
}

/* The first message of the set that is not complete, or count. */
static unsigned int missing(const struct halo *halo, unsigned int set)
{
	unsigned int i = 0;

	while (i < halo->pattern->count &&
	       halo->arrived[set][i] == halo->expected[i])
		i++;
	return i;
}

/*
 * A neighbour that has died sends nothing, not even that: after a second
 * without news, look whether the one that is waited for is there.
 */
static int check_alive(struct halo *halo, unsigned int set, uint64_t slept,
		       uint64_t *checked, char **why)
{
	unsigned int index;

	if (slept - *checked < CHECK_NS)
		return 0;
	*checked = slept;
	index = missing(halo, set);
	if (index == halo->pattern->count)
		return 0;
	return tofu_boot_check(halo->boot, halo->pattern->message[index].from,
			       why);
}

static int say_stuck(const struct halo *halo, unsigned int set, char **why)
{
	unsigned int index = missing(halo, set);

	if (index == halo->pattern->count)
		tofu_error_say(why, "node %u: own puts did not end in %u s",
			       halo->machine.node, halo->settings.timeout);
	else
		tofu_error_say(why,
			       "node %u: nothing from node %u, going %s, for %u s",
			       halo->machine.node,
			       halo->pattern->message[index].from,
			       halo->pattern->message[index].direction,
			       halo->settings.timeout);
	return -ETIMEDOUT;
}

/* Wait for own puts, and with @receive for everything of the set. */
static int wait_for(struct halo *halo, unsigned int set, bool receive,
		    char **why)
{
	struct tofu_wait wait = tofu_wait_keen(halo->settings.timeout);
	uint64_t checked = 0;
	int err;

	while (!sent_all(halo) ||
	       (receive && missing(halo, set) < halo->pattern->count)) {
		bool some = false;

		err = poll_all(halo, &some, why);
		if (err)
			return err;
		if (some)
			continue;
		if (!tofu_wait_more(&wait))
			return say_stuck(halo, set, why);
		err = check_alive(halo, set, tofu_wait_time(&wait), &checked,
				  why);
		if (err)
			return err;
	}
	return 0;
}

/* ---- An exchange ---- */

/* What is timed: from the first put to the last notice and report. */
static int exchange(struct halo *halo, unsigned int set, char **why)
{
	int err;

	for (unsigned int step = 0; step < halo->plan.steps; step++) {
		tofu_mark(TOFU_MARK_NAME("post"));
		err = step_post(halo, step, set, why);
		/* A step of the segmented form begins when the last has ended. */
		if (!err && halo->plan.segments > 1) {
			tofu_mark(TOFU_MARK_NAME("wait"));
			err = wait_for(halo, set, false, why);
		}
		if (err)
			return err;
	}
	for (unsigned int i = halo->pattern->planned; i < halo->pattern->count;
	     i++) {
		err = put_post(halo, i, i % halo->engines, set, 0, 0, why);
		if (err)
			return err;
	}
	tofu_mark(TOFU_MARK_NAME("wait"));
	err = wait_for(halo, set, true, why);
	tofu_mark(TOFU_MARK_END);
	if (!err)
		memset(halo->arrived[set], 0, sizeof(halo->arrived[set]));
	return err;
}

static void fill(struct halo *halo, uint64_t iteration)
{
	const struct halo_settings *settings = &halo->settings;
	const struct halo_pattern *pattern = halo->pattern;
	bool last = iteration + 1 == settings->warmup + settings->iterations;

	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];
		uint64_t seed = halo_seed(pattern->row, halo->machine.node, i,
					  iteration);

		halo_fill(halo->area + m->offset, m->bytes, seed);
	}
	if (last && settings->corrupt == halo->machine.node)
		halo->area[pattern->message[0].offset +
			   pattern->message[0].bytes / 2] ^= 1;
}

static void say_wrong(struct halo *halo, const struct halo_message *m,
		      uint64_t iteration, const struct halo_wrong *wrong,
		      const char *where)
{
	if (halo->said++ >= SAY_MAX)
		return;
	fprintf(stderr,
		"tofu-halo: node %u: row %" PRIu64 ", exchange %" PRIu64
		", from node %u going %s, message %u%s: byte %zu of %zu is 0x%02x, should be 0x%02x (%zu wrong)\n",
		halo->machine.node, halo->pattern->row, iteration, m->from,
		m->direction, m->part, where, wrong->first, m->bytes,
		wrong->seen, wrong->expected, wrong->count);
}

/* All payload of a set; returns how many bytes are wrong. */
static uint64_t verify_payload(struct halo *halo, unsigned int set,
			       uint64_t iteration)
{
	const struct halo_pattern *pattern = halo->pattern;
	uint8_t *base = halo->area + set_offset(halo, set);
	uint64_t count = 0;

	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];
		uint64_t seed = halo_seed(pattern->row, m->from, i, iteration);
		struct halo_wrong wrong =
			halo_verify(base + m->offset, m->bytes, seed);

		if (wrong.count)
			say_wrong(halo, m, iteration, &wrong, "");
		count += wrong.count;
	}
	return count;
}

/* The bytes between the buffers, after each up to the next one. */
static uint64_t verify_guards(struct halo *halo, unsigned int set,
			      uint64_t iteration)
{
	const struct halo_pattern *pattern = halo->pattern;
	uint8_t *base = halo->area + set_offset(halo, set);
	struct halo_wrong wrong = halo_guard_verify(base, 0, HALO_GUARD);
	uint64_t count = wrong.count;

	if (wrong.count)
		say_wrong(halo, &pattern->message[0], iteration, &wrong,
			  ", guard before the buffer");
	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];
		size_t end = m->offset + m->bytes;
		size_t next = i + 1 < pattern->count ?
				      pattern->message[i + 1].offset :
				      pattern->span;

		wrong = halo_guard_verify(base, end, next - end);
		if (wrong.count) {
			wrong.first -= m->offset;
			say_wrong(halo, m, iteration, &wrong,
				  ", guard behind the buffer");
		}
		count += wrong.count;
	}
	return count;
}

/* ---- A row ---- */

static int row_begin(struct halo *halo, const struct halo_pattern *pattern,
		     char **why)
{
	halo->pattern = pattern;
	halo->plan = halo->settings.segmented ?
		tofu_neighbor_plan_segmented(pattern->planned, halo->engines) :
		tofu_neighbor_plan_native(pattern->planned, halo->engines);
	for (unsigned int i = 0; i < pattern->count; i++) {
		size_t bytes = pattern->message[i].bytes;
		unsigned int segments = halo->plan.segments;

		/* Of a short message some segments are empty. */
		halo->expected[i] = !bytes ? 1 :
				    bytes < segments ? (unsigned int)bytes :
						       segments;
		if (i >= pattern->planned)
			halo->expected[i] = 1;
	}
	for (unsigned int set = 0; set < SETS; set++)
		halo_guard_fill(halo->area + set_offset(halo, set), 0,
				pattern->span);
	/* Nobody's first put comes before everybody is ready for it. */
	return tofu_boot_barrier(halo->boot, why);
}

int halo_run(struct halo *halo, const struct halo_pattern *pattern, char **why,
	     struct halo_result *result)
{
	const struct halo_settings *settings = &halo->settings;
	uint64_t *time = calloc(settings->iterations, sizeof(*time));
	struct halo_result sum = { 0 };
	int err = time ? row_begin(halo, pattern, why) : -ENOMEM;

	for (uint64_t i = 0; !err && i < settings->warmup + settings->iterations;
	     i++) {
		bool counted = i >= settings->warmup;
		unsigned int set = i % SETS;
		uint64_t began;

		tofu_mark(TOFU_MARK_NAME("pack"));
		fill(halo, i);
		tofu_mark(TOFU_MARK_NAME("sync"));
		if (!settings->free)
			err = tofu_boot_barrier(halo->boot, why);
		if (err)
			break;
		began = tofu_now();
		err = exchange(halo, set, why);
		if (counted)
			time[i - settings->warmup] = tofu_now() - began;
		if (err || !settings->verify)
			continue;
		tofu_mark(TOFU_MARK_NAME("check"));
		sum.wrong += verify_payload(halo, set, i);
		sum.wrong += verify_guards(halo, set, i);
		tofu_mark(TOFU_MARK_END);
		sum.verified += counted ? pattern->bytes : 0;
	}
	if (!err) {
		sum.median = tofu_stats_of(time, settings->iterations).median;
		*result = sum;
	}
	free(time);
	return err;
}

/* ---- Setting up ---- */

static int engine_open(struct halo *halo, struct engine *engine,
		       utofu_tni_id_t tni, utofu_vcq_id_t *id, char **why)
{
	int code = utofu_create_vcq(tni, 0, &engine->vcq);

	if (code != UTOFU_SUCCESS) {
		tofu_error_say(why, "node %u: cannot create a VCQ on TNI %u: %s",
			       halo->machine.node, tni, tofu_error_text(code));
		return -EIO;
	}
	halo->engines++;
	code = utofu_reg_mem_with_stag(engine->vcq, halo->area, halo->size,
				       HALO_STAG, 0, &engine->stadd);
	if (code == UTOFU_SUCCESS)
		code = utofu_query_vcq_id(engine->vcq, id);
	if (code == UTOFU_SUCCESS)
		return 0;
	tofu_error_say(why, "node %u: cannot register %zu bytes on TNI %u: %s",
		       halo->machine.node, halo->size, tni,
		       tofu_error_text(code));
	return -EIO;
}

static int engines_open(struct halo *halo, utofu_vcq_id_t *ids, char **why)
{
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);
	int err = 0;

	if (code != UTOFU_SUCCESS)
		return say_code(halo, code, why);
	if (halo->settings.tnis && count > halo->settings.tnis)
		count = halo->settings.tnis;
	if (count > HALO_TNIS_MAX)
		count = HALO_TNIS_MAX;
	for (size_t i = 0; !err && i < count; i++)
		err = engine_open(halo, &halo->engine[i], tnis[i], &ids[i], why);
	free(tnis);
	return err;
}

/* Everybody's VCQ IDs; all nodes must have the same number of engines. */
static int ids_gather(struct halo *halo, const utofu_vcq_id_t *own, char **why)
{
	uint64_t mine = halo->engines;
	const uint64_t *all;
	int err = tofu_boot_allgather(halo->boot, &mine, 1, &all, why);

	for (uint32_t n = 0; !err && n < halo->machine.nodes; n++) {
		if (all[n] == halo->engines)
			continue;
		tofu_error_say(why,
			       "node %u has %u TNIs and node %u has %" PRIu64 ": use --tnis",
			       halo->machine.node, halo->engines, n, all[n]);
		err = -EINVAL;
	}
	if (!err)
		err = tofu_boot_allgather(halo->boot, own, halo->engines, &all,
					  why);
	if (err)
		return err;
	halo->ids = calloc(halo->machine.nodes * halo->engines,
			   sizeof(*halo->ids));
	if (!halo->ids)
		return -ENOMEM;
	memcpy(halo->ids, all,
	       halo->machine.nodes * halo->engines * sizeof(*halo->ids));
	return 0;
}

int halo_open(const struct tofu_machine *machine, struct tofu_boot *boot,
	      const struct halo_settings *settings, size_t span, char **why,
	      struct halo **result)
{
	struct halo *halo = calloc(1, sizeof(*halo));
	utofu_vcq_id_t ids[HALO_TNIS_MAX];
	int err;

	if (!halo)
		return -ENOMEM;
	halo->machine = *machine;
	halo->boot = boot;
	halo->settings = *settings;
	halo->span = span;
	halo->size = span * (1 + SETS);
	halo->area = mmap(NULL, halo->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (halo->area == MAP_FAILED) {
		free(halo);
		tofu_error_say(why, "node %u: no memory for %zu bytes",
			       machine->node, span * (1 + SETS));
		return -ENOMEM;
	}
	err = engines_open(halo, ids, why);
	if (!err)
		err = ids_gather(halo, ids, why);
	if (err) {
		halo_close(halo);
		return err;
	}
	*result = halo;
	return 0;
}

void halo_close(struct halo *halo)
{
	if (!halo)
		return;
	for (unsigned int e = 0; e < halo->engines; e++)
		utofu_free_vcq(halo->engine[e].vcq);
	munmap(halo->area, halo->size);
	free(halo->ids);
	free(halo);
}

unsigned int halo_tnis(const struct halo *halo)
{
	return halo->engines;
}
