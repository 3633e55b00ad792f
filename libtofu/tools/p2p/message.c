// SPDX-License-Identifier: MIT
/*
 * Messages to node 0: one by one, with answers, and as many as can be.
 *
 * All that has to be written or compared is so before and after what is timed,
 * and receives are posted before it. Nodes meet before each message, so several
 * senders send at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/phase.h"
#include "common/stats.h"
#include "common/wait.h"
#include "net/topology.h"
#include "p2p/p2p.h"

enum tag {
	TAG_MESSAGE,
	TAG_ANSWER,
};

/* Regions begin at such a boundary. */
#define ALIGN 256

/* ---- Endpoints ---- */

static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	const struct tofu_machine *machine = arg;
	struct tofu_coords at = tofu_coords_of(&machine->shape, rank);

	(void)tni;
	(void)component;
	memcpy(coords, at.c, sizeof(at.c));
	return UTOFU_SUCCESS;
}

struct tofu_p2p_params measure_params(const struct measure *measure,
				      enum tofu_p2p_mode mode)
{
	const struct measure_options *options = measure->options;

	return (struct tofu_p2p_params){
		.processes = measure->machine.nodes,
		.rank = measure->machine.node,
		.tni = MEASURE_TNI,
		.component = MEASURE_COMPONENT,
		.where = where,
		.arg = (void *)(uintptr_t)&measure->machine,
		.mode = mode,
		.memory = options->memory,
		.ring = options->ring,
		.large = options->large,
		.small = options->small,
		.machine = options->machine,
		.eager = TOFU_P2P_DEFAULT,
		.get = TOFU_P2P_DEFAULT,
	};
}

int measure_open(struct measure *measure, const struct tofu_p2p_params *params,
		 struct tofu_p2p **p2p)
{
	int code = tofu_p2p_create(params, p2p);
	int err;

	if (code)
		return measure_fail(measure, "cannot make an endpoint", code);
	err = measure_barrier(measure);
	if (err)
		tofu_p2p_free(*p2p);
	return err;
}

int measure_close(struct measure *measure, struct tofu_p2p *p2p)
{
	int err = measure_barrier(measure);

	tofu_p2p_free(p2p);
	return err;
}

/* ---- Waiting ---- */

static int request_wait(struct measure *measure, struct tofu_p2p *p2p,
			struct tofu_p2p_request **request,
			struct tofu_p2p_status *status)
{
	struct tofu_wait wait = tofu_wait_keen(measure->options->timeout);
	int code;

	while ((code = tofu_p2p_test(p2p, request, status)) ==
	       UTOFU_ERR_NOT_COMPLETED)
		if (!tofu_wait_more(&wait)) {
			tofu_error_say(&measure->why,
				       "node %u: a message has not ended in %u s",
				       measure->machine.node,
				       measure->options->timeout);
			return -ETIMEDOUT;
		}
	return code ? measure_fail(measure, "a message has failed", code) : 0;
}

static int send_empty(struct measure *measure, struct tofu_p2p *p2p, uint32_t to,
		      enum tag tag)
{
	struct tofu_p2p_request *request;
	int code = tofu_p2p_isend(p2p, NULL, 0, to, tag, &request);

	if (code)
		return measure_fail(measure, "cannot send", code);
	return request_wait(measure, p2p, &request, NULL);
}

static int receive_empty(struct measure *measure, struct tofu_p2p *p2p,
			 uint32_t from, enum tag tag)
{
	struct tofu_p2p_request *request;
	int code = tofu_p2p_irecv(p2p, NULL, 0, from, tag, &request);

	if (code)
		return measure_fail(measure, "cannot receive", code);
	return request_wait(measure, p2p, &request, NULL);
}

/* A node that waits at a barrier answers no message. */
static int settle(struct measure *measure, struct tofu_p2p *p2p)
{
	struct tofu_wait wait = tofu_wait_keen(measure->options->timeout);
	int code;

	while ((code = tofu_p2p_flush(p2p)) == UTOFU_ERR_NOT_COMPLETED)
		if (!tofu_wait_more(&wait)) {
			tofu_error_say(&measure->why,
				       "node %u: an answer has not ended in %u s",
				       measure->machine.node,
				       measure->options->timeout);
			return -ETIMEDOUT;
		}
	return code ? measure_fail(measure, "an answer has failed", code) : 0;
}

/* ---- First contact ---- */

/* After this number of messages a peer's resources are all there. */
#define CONTACTS 6

/* Only node 0 and one other node */
static int meet_one(struct measure *measure, struct tofu_p2p *p2p,
		    uint32_t peer)
{
	bool root = measure_is_root(measure);
	uint32_t other = root ? peer : MEASURE_ROOT;
	int err = 0;

	for (int i = 0; i < CONTACTS && !err; i++) {
		if (!root)
			err = send_empty(measure, p2p, other, TAG_MESSAGE);
		if (!err)
			err = receive_empty(measure, p2p, other,
					    root ? TAG_MESSAGE : TAG_ANSWER);
		if (!err && root)
			err = send_empty(measure, p2p, other, TAG_ANSWER);
	}
	return err;
}

int measure_meet(struct measure *measure, struct tofu_p2p *p2p, uint32_t peer)
{
	int err = measure_barrier(measure);

	if (!err &&
	    (measure_is_root(measure) || measure->machine.node == peer))
		err = meet_one(measure, p2p, peer);
	return err ? err : settle(measure, p2p);
}

/* ---- Messages that are under way ---- */

/**
 * struct batch - messages of one size
 * @area:    @count buffers, one every @step bytes
 * @request: of each
 * @status:  of those that were received
 */
struct batch {
	size_t count;
	size_t bytes;
	size_t step;
	char *area;
	struct tofu_p2p_request **request;
	struct tofu_p2p_status *status;
};

static void *buffer(const struct batch *batch, size_t i)
{
	return batch->area + i * batch->step;
}

static void batch_free(struct batch *batch)
{
	free(batch->request);
	free(batch->status);
}

static size_t step_of(size_t bytes)
{
	return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static size_t largest(const struct tofu_sizes *sizes)
{
	size_t found = 0;

	for (size_t i = 0; i < sizes->count; i++)
		if (sizes->size[i] > found)
			found = sizes->size[i];
	return found;
}

/* Bytes that the buffers of a purpose take at most */
static size_t area_most(const struct measure *measure, enum measure_buffers of)
{
	const struct measure_options *options = measure->options;
	size_t count = measure_is_root(measure) ? largest(&options->senders) :
						  1;

	if (of == MEASURE_STREAM)
		count *= options->messages;
	return count * step_of(largest(&options->bytes));
}

/* Return: memory for the buffers of a purpose, always the same; or NULL. */
static char *area_get(struct measure *measure, enum measure_buffers of,
		      size_t bytes)
{
	size_t most = area_most(measure, of);

	if (measure->area[of] && measure->area_bytes[of] >= bytes)
		return measure->area[of];
	free(measure->area[of]);
	measure->area_bytes[of] = bytes > most ? bytes : most;
	measure->area[of] = aligned_alloc(ALIGN, measure->area_bytes[of]);
	if (!measure->area[of])
		measure->area_bytes[of] = 0;
	return measure->area[of];
}

/* Every page is there before something is timed. */
static int batch_make(struct measure *measure, enum measure_buffers of,
		      struct batch *batch, size_t count, size_t bytes)
{
	*batch = (struct batch){
		.count = count,
		.bytes = bytes,
		.step = step_of(bytes),
	};
	if (!count)
		return 0;
	batch->area = area_get(measure, of, count * batch->step);
	batch->request = calloc(count, sizeof(struct tofu_p2p_request *));
	batch->status = calloc(count, sizeof(*batch->status));
	if (!batch->area || !batch->request || !batch->status) {
		batch_free(batch);
		return -ENOMEM;
	}
	memset(batch->area, 0, count * batch->step);
	return 0;
}

static int batch_send(struct measure *measure, struct tofu_p2p *p2p,
		      struct batch *batch, size_t i, uint32_t to, enum tag tag)
{
	int code = tofu_p2p_isend(p2p, buffer(batch, i), batch->bytes, to, tag,
				  &batch->request[i]);

	return code ? measure_fail(measure, "cannot send", code) : 0;
}

static int batch_post(struct measure *measure, struct tofu_p2p *p2p,
		      struct batch *batch, uint32_t from, enum tag tag)
{
	int code = 0;

	for (size_t i = 0; i < batch->count && !code; i++)
		code = tofu_p2p_irecv(p2p, buffer(batch, i), batch->bytes, from,
				      tag, &batch->request[i]);
	return code ? measure_fail(measure, "cannot receive", code) : 0;
}

static int batch_wait(struct measure *measure, struct tofu_p2p *p2p,
		      struct batch *batch, size_t i)
{
	return request_wait(measure, p2p, &batch->request[i],
			    &batch->status[i]);
}

static int batch_wait_all(struct measure *measure, struct tofu_p2p *p2p,
			  struct batch *batch)
{
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i++)
		err = batch_wait(measure, p2p, batch, i);
	return err;
}

/*
 * Compare what has come from anybody, in order of the receives: the messages of a
 * sender are its first, second … of those that are @first and following.
 */
static void batch_check(struct measure *measure, const struct batch *batch,
			uint64_t senders, uint64_t first)
{
	uint64_t came[MEASURE_SENDERS_MAX + 1] = { 0 };

	for (size_t i = 0; i < batch->count; i++) {
		const struct tofu_p2p_status *status = &batch->status[i];
		uint32_t from = status->source;

		if (!from || from > senders || status->bytes != batch->bytes)
			measure->wrong++;
		else
			measure_check(measure, buffer(batch, i), batch->bytes,
				      from, first + came[from]++);
	}
}

/* ---- One by one ---- */

/* Answers to different nodes differ. */
static uint64_t answer_number(uint64_t iteration, uint32_t to)
{
	return iteration * (MEASURE_SENDERS_MAX + 1) + to;
}

static int ping(struct measure *measure, struct tofu_p2p *p2p,
		struct batch *out, struct batch *in, uint64_t iteration,
		uint64_t *ns)
{
	uint64_t began;
	int err = batch_post(measure, p2p, in, MEASURE_ROOT, TAG_ANSWER);

	measure_fill(measure, buffer(out, 0), out->bytes, iteration);
	measure_spoil(measure, buffer(out, 0), !iteration);
	if (!err)
		err = measure_barrier(measure);
	began = tofu_now();
	if (!err)
		err = batch_send(measure, p2p, out, 0, MEASURE_ROOT,
				 TAG_MESSAGE);
	tofu_phase(measure->machine.node, iteration);
	if (!err)
		err = batch_wait(measure, p2p, in, 0);
	*ns = tofu_now() - began;
	if (!err)
		err = batch_wait(measure, p2p, out, 0);
	if (!err)
		measure_check(measure, buffer(in, 0), in->bytes, MEASURE_ROOT,
			      answer_number(iteration, measure->machine.node));
	return err;
}

static int answer(struct measure *measure, struct tofu_p2p *p2p,
		  struct batch *out, struct batch *in, uint64_t iteration)
{
	int err = batch_post(measure, p2p, in, TOFU_P2P_ANY_SOURCE,
			     TAG_MESSAGE);

	for (uint32_t i = 0; i < out->count; i++) {
		measure_fill(measure, buffer(out, i), out->bytes,
			     answer_number(iteration, i + 1));
		measure_spoil(measure, buffer(out, i), !iteration);
	}
	if (!err)
		err = measure_barrier(measure);
	tofu_phase(measure->machine.node, iteration);
	for (size_t i = 0; i < in->count && !err; i++) {
		uint32_t to;

		err = batch_wait(measure, p2p, in, i);
		to = in->status[i].source;
		if (!err && (!to || to > out->count))
			err = measure_fail(measure, "a message of nobody",
					   UTOFU_ERR_MRQ_OTHER);
		if (!err)
			err = batch_send(measure, p2p, out, to - 1, to,
					 TAG_ANSWER);
	}
	if (!err)
		err = batch_wait_all(measure, p2p, out);
	if (!err)
		batch_check(measure, in, in->count, iteration);
	return err;
}

static int ping_once(struct measure *measure, struct tofu_p2p *p2p,
		     uint64_t senders, struct batch batch[2],
		     uint64_t iteration, uint64_t *ns)
{
	int err;

	if (measure_is_root(measure))
		err = answer(measure, p2p, &batch[0], &batch[1], iteration);
	else if (measure_sends(measure, senders))
		err = ping(measure, p2p, &batch[0], &batch[1], iteration, ns);
	else
		err = measure_barrier(measure);
	return err ? err : settle(measure, p2p);
}

static int pings_run(struct measure *measure, struct tofu_p2p *p2p,
		     uint64_t senders, struct batch batch[2],
		     uint64_t iterations, uint64_t *time)
{
	uint64_t warmup = measure->options->warmup;
	int err = 0;

	for (uint64_t i = 0; i < warmup + iterations && !err; i++) {
		uint64_t ns = 0;

		err = ping_once(measure, p2p, senders, batch, i, &ns);
		if (i >= warmup)
			time[i - warmup] = ns;
	}
	return err;
}

/* Messages that a node has in a batch for each of @senders */
static size_t share(const struct measure *measure, uint64_t senders)
{
	if (measure_is_root(measure))
		return senders;
	return measure_sends(measure, senders);
}

static int pings_time(struct measure *measure, struct tofu_p2p *p2p,
		      uint64_t senders, size_t bytes, uint64_t iterations,
		      uint64_t *time)
{
	size_t count = share(measure, senders);
	struct batch batch[2];
	int err = batch_make(measure, MEASURE_OUT, &batch[0], count, bytes);

	if (err)
		return err;
	err = batch_make(measure, MEASURE_IN, &batch[1], count, bytes);
	if (!err) {
		err = pings_run(measure, p2p, senders, batch, iterations, time);
		batch_free(&batch[1]);
	}
	batch_free(&batch[0]);
	return err;
}

int measure_ping(struct measure *measure, struct tofu_p2p *p2p,
		 uint64_t senders, size_t bytes, uint64_t iterations,
		 struct tofu_stats *stats)
{
	uint64_t *time = calloc(iterations, sizeof(*time));
	uint64_t middle[MEASURE_SENDERS_MAX];
	const uint64_t *all;
	int err;

	if (!time)
		return -ENOMEM;
	err = pings_time(measure, p2p, senders, bytes, iterations, time);
	middle[0] = tofu_stats_of(time, iterations).middle;
	free(time);
	if (!err)
		err = measure_gather(measure, middle, 1, &all);
	if (err)
		return err;
	memcpy(middle, all + 1, senders * sizeof(*middle));
	*stats = tofu_stats_of(middle, senders);
	return 0;
}

/* ---- As many as can be ---- */

static int flood(struct measure *measure, struct tofu_p2p *p2p,
		 struct batch *out, uint64_t iteration)
{
	size_t window = measure->options->window;
	int err = 0;

	for (size_t i = 0; i < out->count; i++) {
		measure_fill(measure, buffer(out, i), out->bytes, i);
		measure_spoil(measure, buffer(out, i), i + 1 == out->count);
	}
	err = measure_barrier(measure);
	tofu_phase(measure->machine.node, iteration);
	for (size_t i = 0; i < out->count && !err; i++) {
		if (i >= window)
			err = batch_wait(measure, p2p, out, i - window);
		if (!err)
			err = batch_send(measure, p2p, out, i, MEASURE_ROOT,
					 TAG_MESSAGE);
	}
	return err ? err : batch_wait_all(measure, p2p, out);
}

/* Until the last message is there */
static int drink(struct measure *measure, struct tofu_p2p *p2p,
		 struct batch *in, uint64_t senders, uint64_t *ns)
{
	uint64_t began;
	int err = batch_post(measure, p2p, in, TOFU_P2P_ANY_SOURCE,
			     TAG_MESSAGE);

	if (!err)
		err = measure_barrier(measure);
	began = tofu_now();
	if (!err)
		err = batch_wait_all(measure, p2p, in);
	*ns = tofu_now() - began;
	if (!err)
		batch_check(measure, in, senders, 0);
	return err;
}

static int rate_run(struct measure *measure, struct tofu_p2p *p2p,
		    struct batch *batch, uint64_t senders, uint64_t iteration,
		    uint64_t *ns)
{
	int err;

	if (batch->count)
		memset(batch->area, 0, batch->count * batch->step);
	if (measure_is_root(measure))
		err = drink(measure, p2p, batch, senders, ns);
	else if (measure_sends(measure, senders))
		err = flood(measure, p2p, batch, iteration);
	else
		err = measure_barrier(measure);
	return err ? err : settle(measure, p2p);
}

/*
 * Messages a second that node 0 gets: of streams one after the other. Each
 * stream has the same buffers, which are registered in the first one.
 */
static int rate_of(struct measure *measure, struct tofu_p2p *p2p,
		   uint64_t senders, size_t bytes, uint64_t *rate)
{
	uint64_t messages = senders * measure->options->messages;
	uint64_t iterations = measure->options->iterations;
	uint64_t *time = calloc(iterations, sizeof(*time));
	struct batch batch;
	uint64_t ns;
	int err;

	if (!time)
		return -ENOMEM;
	err = batch_make(measure, MEASURE_STREAM, &batch,
			 share(measure, senders) * measure->options->messages,
			 bytes);
	if (err)
		goto out_free;
	for (uint64_t i = 0; i < iterations && !err; i++)
		err = rate_run(measure, p2p, &batch, senders, i, &time[i]);
	ns = tofu_stats_of(time, iterations).middle;
	*rate = ns ? messages * 1000000000 / ns : 0;
	batch_free(&batch);
out_free:
	free(time);
	return err;
}

/* ---- Latency and rate ---- */

/* A round trip in ns, divided by this, is the latency shown. */
#define HALF_US 2000

static int latency_row(struct measure *measure, struct tofu_p2p *p2p,
		       enum tofu_p2p_mode mode, uint64_t senders, size_t bytes)
{
	struct tofu_stats stats;
	uint64_t rate;
	int err = measure_ping(measure, p2p, senders, bytes,
			       measure->options->iterations, &stats);

	if (!err)
		err = rate_of(measure, p2p, senders, bytes, &rate);
	if (err)
		return err;
	measure_row(measure,
		    (struct measure_cell[]){
			    { "mode", "mode", measure_mode_name(mode), 0, 0 },
			    { "senders", "senders", NULL, senders, 0 },
			    { "bytes", "bytes", NULL, bytes, 0 },
			    { "latency/µs", "latency_us", NULL, stats.middle,
			      HALF_US },
			    { "slowest/µs", "slowest_us", NULL, stats.max,
			      HALF_US },
			    { "messages/s", "messages_per_s", NULL, rate, 0 },
			    { "MB/s", "mb_per_s", NULL, rate * bytes / 1000,
			      1000 },
		    },
		    7);
	return 0;
}

static int latency_rows(struct measure *measure, struct tofu_p2p *p2p,
			enum tofu_p2p_mode mode)
{
	const struct measure_options *options = measure->options;
	int err = 0;

	for (size_t s = 0; s < options->senders.count; s++)
		for (size_t b = 0; b < options->bytes.count && !err; b++)
			err = latency_row(measure, p2p, mode,
					  options->senders.size[s],
					  options->bytes.size[b]);
	return err;
}

int measure_latency(struct measure *measure)
{
	const struct measure_options *options = measure->options;
	int err = 0;

	for (size_t i = 0; i < options->modes && !err; i++) {
		struct tofu_p2p_params params =
			measure_params(measure, options->mode[i]);
		struct tofu_p2p *p2p;

		err = measure_open(measure, &params, &p2p);
		if (err)
			break;
		err = latency_rows(measure, p2p, options->mode[i]);
		if (err)
			tofu_p2p_free(p2p);
		else
			err = measure_close(measure, p2p);
	}
	return err;
}

/* ---- Thresholds ---- */

/* Half of it has to have room for the largest message. */
static size_t ring_for(const struct tofu_sizes *sizes)
{
	size_t ring = TOFU_SRB_BYTES_MIN;

	while (ring < 4 * largest(sizes))
		ring *= 2;
	return ring;
}

/*
 * A ring per sender, with eager messages of any size, or none. The shared ring
 * is as long, since first messages go through it.
 */
static struct tofu_p2p_params params_for(const struct measure *measure,
					 enum tofu_p2p_transfer transfer)
{
	struct tofu_p2p_params params = measure_params(measure, TOFU_P2P_FAST);

	params.memory = SIZE_MAX;
	params.ring = ring_for(&measure->options->bytes);
	params.large = params.ring;
	params.eager = transfer == TOFU_P2P_EAGER ? params.ring : 0;
	params.get = transfer == TOFU_P2P_GET ? params.ring : 0;
	return params;
}

/**
 * struct way - what a message costs by one transfer
 * @round_trip_ns: with its answer
 * @rate: messages a second
 */
struct way {
	uint64_t round_trip_ns;
	uint64_t rate;
};

static int transfer_size(struct measure *measure, struct tofu_p2p *p2p,
			 size_t bytes, struct way *way)
{
	struct tofu_stats stats;
	int err = measure_ping(measure, p2p, 1, bytes,
			       measure->options->iterations, &stats);

	if (err)
		return err;
	way->round_trip_ns = stats.middle;
	return rate_of(measure, p2p, 1, bytes, &way->rate);
}

static int transfer_run(struct measure *measure,
			enum tofu_p2p_transfer transfer, struct way *way)
{
	const struct tofu_sizes *sizes = &measure->options->bytes;
	const struct tofu_p2p_params params = params_for(measure, transfer);
	struct tofu_p2p *p2p;
	int err = measure_open(measure, &params, &p2p);

	if (err)
		return err;
	for (size_t i = 0; i < sizes->count && !err; i++)
		err = transfer_size(measure, p2p, sizes->size[i], &way[i]);
	if (!err)
		return measure_close(measure, p2p);
	tofu_p2p_free(p2p);
	return err;
}

static void threshold_row(struct measure *measure, uint64_t bytes,
			  const struct way *eager, const struct way *get,
			  const struct way *put)
{
	const struct way *best = eager;

	if (get->round_trip_ns < best->round_trip_ns)
		best = get;
	if (put->round_trip_ns < best->round_trip_ns)
		best = put;
	measure_row(measure,
		    (struct measure_cell[]){
			    { "bytes", "bytes", NULL, bytes, 0 },
			    { "eager/µs", "eager_us", NULL,
			      eager->round_trip_ns, HALF_US },
			    { "get/µs", "get_us", NULL, get->round_trip_ns,
			      HALF_US },
			    { "put/µs", "put_us", NULL, put->round_trip_ns,
			      HALF_US },
			    { "fastest", "fastest",
			      best == eager ? "eager" :
			      best == get   ? "get" :
					      "put",
			      0, 0 },
			    { "eager/s", "eager_per_s", NULL, eager->rate, 0 },
			    { "get/s", "get_per_s", NULL, get->rate, 0 },
			    { "put/s", "put_per_s", NULL, put->rate, 0 },
		    },
		    8);
}

int measure_threshold(struct measure *measure)
{
	const struct tofu_sizes *sizes = &measure->options->bytes;
	struct way way[3][TOFU_SIZES_MAX];
	int err = 0;

	for (int i = 0; i < 3 && !err; i++)
		err = transfer_run(measure, (enum tofu_p2p_transfer)i, way[i]);
	for (size_t i = 0; i < sizes->count && !err; i++)
		threshold_row(measure, sizes->size[i],
			      &way[TOFU_P2P_EAGER][i], &way[TOFU_P2P_GET][i],
			      &way[TOFU_P2P_PUT][i]);
	return err;
}
