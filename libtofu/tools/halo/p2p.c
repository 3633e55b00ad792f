// SPDX-License-Identifier: MIT
/*
 * Messages that are sent and received by the plain point-to-point protocols,
 * with which the other ways are compared.
 *
 * Each engine has an endpoint, and engines send what they put in a neighbour
 * exchange (neighbor/schedule.h): so what differs are the protocols. Whole
 * messages are all posted at once and waited for together. Segments go step by
 * step: a send and a receive on each engine, and all of them have ended before
 * the next step. A message is named by its index at the sender.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/p2p.h>

#include "common/error.h"
#include "halo/run.h"
#include "neighbor/schedule.h"

/* Room for large rings of all neighbours that a pattern can have */
#define MEMORY (32U << 20)

/* Of VCQs that the others look for; boot has its own. */
#define COMPONENT 0

/*
 * A message is sent or received. An engine has no more segments than there are
 * steps, and so no more than there are messages.
 */
#define REQUESTS_MAX (2 * HALO_MESSAGES_MAX)

/**
 * struct p2p_receive - what is to be received
 * @request: index of its request
 */
struct p2p_receive {
	uint32_t source;
	uint64_t tag;
	size_t bytes;
	unsigned int request;
};

/**
 * struct p2p_endpoint - of an engine
 * @machine: tells where nodes are
 * @request: of an exchange, in the order of their posts: @requests
 * @status:  of those that are receives, when they have ended
 * @receive: what these are for
 * @ended:   requests that have, up to the first one that has not
 */
struct p2p_endpoint {
	const struct tofu_machine *machine;
	utofu_tni_id_t tni;
	struct tofu_p2p *p2p;
	struct tofu_p2p_request *request[REQUESTS_MAX];
	struct tofu_p2p_status status[REQUESTS_MAX];
	struct p2p_receive receive[HALO_MESSAGES_MAX];
	unsigned int requests;
	unsigned int receives;
	unsigned int ended;
};

/**
 * enum p2p_phase - how far an exchange has come
 * @P2P_MEET:  in the barrier before
 * @P2P_SEND:  messages of a step have to be posted
 * @P2P_WAIT:  messages are under way
 * @P2P_LEAVE: the barrier after has to be begun
 * @P2P_PART:  in the barrier after
 * @P2P_FLUSH: others may wait for answers
 * @P2P_ENDED: through
 */
enum p2p_phase {
	P2P_MEET,
	P2P_SEND,
	P2P_WAIT,
	P2P_LEAVE,
	P2P_PART,
	P2P_FLUSH,
	P2P_ENDED,
};

/**
 * struct halo_p2p - endpoints, made once
 * @endpoints: that there are
 * @plan:  of the row
 * @steps: of an exchange; whole messages are one step
 */
struct halo_p2p {
	struct p2p_endpoint endpoint[TOFU_EXCHANGE_ENGINES_MAX];
	unsigned int endpoints;
	struct tofu_neighbor_plan plan;
	unsigned int steps;
	unsigned int step;
	enum p2p_phase phase;
};

/* ---- Endpoints ---- */

static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	const struct p2p_endpoint *endpoint = arg;
	struct tofu_coords at = tofu_coords_of(&endpoint->machine->shape, rank);

	memcpy(coords, at.c, sizeof(at.c));
	*tni = endpoint->tni;
	*component = COMPONENT;
	return UTOFU_SUCCESS;
}

static int endpoint_make(const struct halo *halo,
			 struct p2p_endpoint *endpoint, utofu_tni_id_t tni)
{
	const struct tofu_p2p_params params = {
		.processes = halo->machine->nodes,
		.rank = halo->machine->node,
		.tni = tni,
		.component = COMPONENT,
		.where = where,
		.arg = endpoint,
		.mode = halo->options->p2p_mode,
		.memory = MEMORY,
		.machine = halo->options->machine,
		.eager = TOFU_P2P_DEFAULT,
		.get = TOFU_P2P_DEFAULT,
	};

	endpoint->machine = halo->machine;
	endpoint->tni = tni;
	return tofu_p2p_create(&params, &endpoint->p2p);
}

static unsigned int endpoints_most(const struct halo_options *options)
{
	uint64_t most = 0;

	for (size_t i = 0; i < options->tnis.count; i++)
		if (options->tnis.size[i] > most)
			most = options->tnis.size[i];
	return (unsigned int)most;
}

/* Engine e is the e-th TNI, as in the library's exchanges. */
static int endpoints_make(const struct halo *halo, struct halo_p2p *p2p)
{
	unsigned int most = endpoints_most(halo->options);
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);

	if (code)
		return code;
	for (size_t i = 0; i < count && i < most && !code; i++) {
		code = endpoint_make(halo, &p2p->endpoint[i], tnis[i]);
		p2p->endpoints++;
	}
	free(tnis);
	return code;
}

int halo_p2p_open(struct halo *halo, char **why)
{
	int code;

	halo->p2p = calloc(1, sizeof(*halo->p2p));
	if (!halo->p2p)
		return -ENOMEM;
	code = endpoints_make(halo, halo->p2p);
	if (code)
		return halo_say_code(halo, "cannot make an endpoint", code,
				     why);
	/* All have theirs before the first one sends. */
	return tofu_world_barrier(halo->world, why);
}

void halo_p2p_close(struct halo *halo)
{
	if (!halo->p2p)
		return;
	for (unsigned int i = 0; i < halo->p2p->endpoints; i++)
		tofu_p2p_free(halo->p2p->endpoint[i].p2p);
	free(halo->p2p);
	halo->p2p = NULL;
}

/* ---- Posting ---- */

static int receive_post(const struct halo *halo, struct p2p_endpoint *endpoint,
			const struct halo_message *m, size_t offset,
			size_t bytes)
{
	struct p2p_receive *receive = &endpoint->receive[endpoint->receives++];

	*receive = (struct p2p_receive){
		.source = m->from,
		.tag = m->back,
		.bytes = bytes,
		.request = endpoint->requests++,
	};
	return tofu_p2p_irecv(endpoint->p2p,
			      halo_receive_set(halo) + m->offset + offset,
			      bytes, m->from, m->back,
			      &endpoint->request[receive->request]);
}

static int send_post(const struct halo *halo, struct p2p_endpoint *endpoint,
		     const struct halo_message *m, size_t offset, size_t bytes)
{
	unsigned int message = (unsigned int)(m - halo->pattern.message);

	return tofu_p2p_isend(endpoint->p2p, halo->area + m->offset + offset,
			      bytes, m->to, message,
			      &endpoint->request[endpoint->requests++]);
}

/* The endpoint that sends a segment in this step; NULL: in another one */
static struct p2p_endpoint *endpoint_now(struct halo_p2p *p2p,
					 struct tofu_neighbor_put put)
{
	unsigned int step, engine;

	tofu_neighbor_plan_place(&p2p->plan, &put, &step, &engine);
	if (p2p->steps > 1 && step != p2p->step)
		return NULL;
	return &p2p->endpoint[engine];
}

/*
 * Posts what the step has of a message.
 *
 * @index: the message's, at its sender
 */
static int message_post(const struct halo *halo, const struct halo_message *m,
			unsigned int index,
			int (*post)(const struct halo *halo,
				    struct p2p_endpoint *endpoint,
				    const struct halo_message *m, size_t offset,
				    size_t bytes))
{
	const struct tofu_neighbor_plan *plan = &halo->p2p->plan;
	int code = UTOFU_SUCCESS;

	for (unsigned int s = 0; s < plan->segments && !code; s++) {
		struct p2p_endpoint *endpoint = endpoint_now(
			halo->p2p, (struct tofu_neighbor_put){ index, s });
		size_t offset, bytes;

		bytes = tofu_neighbor_segment(plan, m->bytes, s, &offset);
		if (endpoint)
			code = post(halo, endpoint, m, offset, bytes);
	}
	return code;
}

/* Receives first, so that what comes is expected. */
static int step_post(const struct halo *halo)
{
	const struct halo_pattern *pattern = &halo->pattern;
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < pattern->count && !code; i++) {
		const struct halo_message *m = &pattern->message[i];

		code = message_post(halo, m, m->back, receive_post);
	}
	for (unsigned int i = 0; i < pattern->count && !code; i++)
		code = message_post(halo, &pattern->message[i], i, send_post);
	return code;
}

/* ---- Waiting ---- */

/* In order: what has ended meanwhile costs nothing when its turn comes. */
static int endpoint_test(struct p2p_endpoint *endpoint)
{
	while (endpoint->ended < endpoint->requests) {
		unsigned int i = endpoint->ended;
		int code = tofu_p2p_test(endpoint->p2p, &endpoint->request[i],
					 &endpoint->status[i]);

		if (code)
			return code;
		endpoint->ended++;
	}
	/* Its senders may wait for answers, and this node for those of others. */
	return tofu_p2p_progress(endpoint->p2p);
}

/* All turn, and what all say together: that of the first one to fail, if any */
static int endpoints_all(const struct halo *halo,
			 int (*turn)(struct p2p_endpoint *endpoint))
{
	int result = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < halo->row->tnis; i++) {
		int code = turn(&halo->p2p->endpoint[i]);

		if (code && code != UTOFU_ERR_NOT_COMPLETED)
			return code;
		if (code)
			result = code;
	}
	return result;
}

static int messages_test(const struct halo *halo)
{
	return endpoints_all(halo, endpoint_test);
}

static int endpoint_flush(struct p2p_endpoint *endpoint)
{
	return tofu_p2p_flush(endpoint->p2p);
}

/* No sender waits for this node any more, which may wait elsewhere then. */
static int messages_flush(const struct halo *halo)
{
	return endpoints_all(halo, endpoint_flush);
}

/* Nodes that are not in the barrier yet may wait for this node's answers. */
static int part(const struct halo *halo)
{
	int code = messages_flush(halo);

	return code && code != UTOFU_ERR_NOT_COMPLETED ?
		       code :
		       utofu_poll_barrier(halo_barrier(halo), 0);
}

/* ---- Phases ---- */

static int phase_run(const struct halo *halo)
{
	int code;

	switch (halo->p2p->phase) {
	case P2P_MEET:
		return utofu_poll_barrier(halo_barrier(halo), 0);
	case P2P_SEND:
		return step_post(halo);
	case P2P_WAIT:
		return messages_test(halo);
	case P2P_LEAVE:
		code = utofu_barrier(halo_barrier(halo), 0);
		return code == UTOFU_ERR_BUSY ? UTOFU_ERR_NOT_COMPLETED : code;
	case P2P_PART:
		return part(halo);
	default:
		return messages_flush(halo);
	}
}

static enum p2p_phase phase_next(const struct halo *halo)
{
	bool barrier = halo_barrier(halo) != UTOFU_VBG_ID_NULL;

	if (halo->p2p->phase == P2P_WAIT &&
	    ++halo->p2p->step < halo->p2p->steps)
		return P2P_SEND;
	if (halo->p2p->phase == P2P_WAIT && !barrier)
		return P2P_FLUSH;
	return halo->p2p->phase + 1;
}

static int p2p_test(struct halo *halo)
{
	while (halo->p2p->phase != P2P_ENDED) {
		int code = phase_run(halo);

		if (code)
			return code;
		halo->p2p->phase = phase_next(halo);
	}
	return UTOFU_SUCCESS;
}

static int p2p_start(struct halo *halo)
{
	halo->p2p->step = 0;
	for (unsigned int i = 0; i < halo->row->tnis; i++) {
		halo->p2p->endpoint[i].requests = 0;
		halo->p2p->endpoint[i].receives = 0;
		halo->p2p->endpoint[i].ended = 0;
	}
	if (halo_barrier(halo) != UTOFU_VBG_ID_NULL) {
		halo->p2p->phase = P2P_MEET;
		return utofu_barrier(halo_barrier(halo), 0);
	}
	halo->p2p->phase = P2P_WAIT;
	return step_post(halo);
}

/* ---- The way ---- */

static bool in_segments(const struct halo *halo)
{
	const struct halo_row *row = halo->row;

	if (row->algorithm != TOFU_NEIGHBOR_AUTO)
		return row->algorithm == TOFU_NEIGHBOR_SEGMENTED;
	return row->size >= tofu_neighbor_crossover(halo->options->machine,
						    row->neighbors, row->tnis);
}

static int p2p_make(struct halo *halo, struct halo_result *result, char **why)
{
	unsigned int count = halo->pattern.count, tnis = halo->row->tnis;
	struct tofu_neighbor_plan plan =
		in_segments(halo) ? tofu_neighbor_plan_segmented(count, tnis) :
				    tofu_neighbor_plan_native(count, tnis);

	(void)why;
	halo->p2p->plan = plan;
	halo->p2p->steps = plan.segments > 1 ? plan.steps : 1;
	result->runs = !halo->row->form ? halo->row->name :
					  halo_algorithm_name(
						  plan.segments > 1 ?
							  TOFU_NEIGHBOR_SEGMENTED :
							  TOFU_NEIGHBOR_NATIVE);
	result->puts = count * plan.segments;
	result->engines = result->puts < tnis ? result->puts : tnis;
	return 0;
}

static bool is_right(const struct p2p_endpoint *endpoint,
		     const struct p2p_receive *receive)
{
	const struct tofu_p2p_status *status =
		&endpoint->status[receive->request];

	return status->source == receive->source &&
	       status->tag == receive->tag && status->bytes == receive->bytes;
}

static int p2p_check(struct halo *halo, char **why)
{
	for (unsigned int e = 0; e < halo->row->tnis; e++) {
		const struct p2p_endpoint *endpoint =
			&halo->p2p->endpoint[e];

		for (unsigned int i = 0; i < endpoint->receives; i++) {
			if (is_right(endpoint, &endpoint->receive[i]))
				continue;
			tofu_error_say(why,
				       "node %u: a message from node %u is not the one that was asked for",
				       halo->machine->node,
				       endpoint->receive[i].source);
			return -EIO;
		}
	}
	return 0;
}

static void p2p_free(struct halo *halo)
{
	(void)halo;
}

const struct halo_way halo_p2p = {
	.make = p2p_make,
	.start = p2p_start,
	.test = p2p_test,
	.check = p2p_check,
	.free = p2p_free,
};
