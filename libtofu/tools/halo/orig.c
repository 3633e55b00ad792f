// SPDX-License-Identifier: MIT
/*
 * Messages as programs without a plan send and receive them: the plain
 * point-to-point protocols, with which the other ways are compared.
 *
 * Each engine has an endpoint, and message i goes by engine i modulo the
 * engines, as puts without a schedule do: so what differs are the protocols. A
 * message is named by its index at the sender.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/p2p.h>

#include "common/error.h"
#include "halo/run.h"

/* Room for large rings of all neighbours that a pattern can have */
#define MEMORY (32U << 20)

/* Of VCQs that the others look for; boot has its own. */
#define COMPONENT 0

/* A message is sent or received. */
#define REQUESTS_MAX (2 * HALO_MESSAGES_MAX)

/**
 * struct orig_receive - what is to be received, and what was
 * @source, @tag, @bytes: to be
 */
struct orig_receive {
	uint32_t source;
	uint64_t tag;
	size_t bytes;
	struct tofu_p2p_status status;
};

/**
 * struct orig_endpoint - of an engine
 * @machine: tells where nodes are
 * @request: of an exchange, in the order of their posts: @requests
 * @receive: of those that are receives, which are posted first
 * @ended:   requests that have, up to the first one that has not
 */
struct orig_endpoint {
	const struct tofu_machine *machine;
	utofu_tni_id_t tni;
	struct tofu_p2p *p2p;
	struct tofu_p2p_request *request[REQUESTS_MAX];
	struct orig_receive receive[HALO_MESSAGES_MAX];
	unsigned int requests;
	unsigned int receives;
	unsigned int ended;
};

/**
 * enum orig_phase - how far an exchange has come
 * @ORIG_MEET:  in the barrier before
 * @ORIG_SEND:  messages have to be posted
 * @ORIG_WAIT:  messages are under way
 * @ORIG_LEAVE: the barrier after has to be begun
 * @ORIG_PART:  in the barrier after
 * @ORIG_FLUSH: others may wait for answers
 * @ORIG_ENDED: through
 */
enum orig_phase {
	ORIG_MEET,
	ORIG_SEND,
	ORIG_WAIT,
	ORIG_LEAVE,
	ORIG_PART,
	ORIG_FLUSH,
	ORIG_ENDED,
};

/**
 * struct halo_orig - endpoints, made once
 * @endpoints: that there are
 */
struct halo_orig {
	struct orig_endpoint endpoint[TOFU_EXCHANGE_ENGINES_MAX];
	unsigned int endpoints;
	enum orig_phase phase;
};

/* ---- Endpoints ---- */

static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	const struct orig_endpoint *endpoint = arg;
	struct tofu_coords at = tofu_coords_of(&endpoint->machine->shape, rank);

	memcpy(coords, at.c, sizeof(at.c));
	*tni = endpoint->tni;
	*component = COMPONENT;
	return UTOFU_SUCCESS;
}

static int endpoint_make(const struct halo *halo,
			 struct orig_endpoint *endpoint, utofu_tni_id_t tni)
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
static int endpoints_make(const struct halo *halo, struct halo_orig *orig)
{
	unsigned int most = endpoints_most(halo->options);
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);

	if (code)
		return code;
	for (size_t i = 0; i < count && i < most && !code; i++) {
		code = endpoint_make(halo, &orig->endpoint[i], tnis[i]);
		orig->endpoints++;
	}
	free(tnis);
	return code;
}

int halo_orig_open(struct halo *halo, char **why)
{
	int code;

	halo->orig = calloc(1, sizeof(*halo->orig));
	if (!halo->orig)
		return -ENOMEM;
	code = endpoints_make(halo, halo->orig);
	if (code)
		return halo_say_code(halo, "cannot make an endpoint", code,
				     why);
	/* All have theirs before the first one sends. */
	return tofu_world_barrier(halo->world, why);
}

void halo_orig_close(struct halo *halo)
{
	if (!halo->orig)
		return;
	for (unsigned int i = 0; i < halo->orig->endpoints; i++)
		tofu_p2p_free(halo->orig->endpoint[i].p2p);
	free(halo->orig);
	halo->orig = NULL;
}

/* ---- Posting ---- */

static int receive_post(const struct halo *halo, struct orig_endpoint *endpoint,
			const struct halo_message *m)
{
	struct orig_receive *receive = &endpoint->receive[endpoint->receives++];

	*receive = (struct orig_receive){
		.source = m->from,
		.tag = m->back,
		.bytes = m->bytes,
	};
	return tofu_p2p_irecv(endpoint->p2p, halo_receive_set(halo) + m->offset,
			      m->bytes, m->from, m->back,
			      &endpoint->request[endpoint->requests++]);
}

static int send_post(const struct halo *halo, struct orig_endpoint *endpoint,
		     const struct halo_message *m, unsigned int message)
{
	return tofu_p2p_isend(endpoint->p2p, halo->area + m->offset, m->bytes,
			      m->to, message,
			      &endpoint->request[endpoint->requests++]);
}

static struct orig_endpoint *endpoint_of(const struct halo *halo,
					 unsigned int message)
{
	return &halo->orig->endpoint[message % halo->row->tnis];
}

/* Receives first, so that what comes is expected. */
static int messages_post(const struct halo *halo)
{
	const struct halo_pattern *pattern = &halo->pattern;
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < halo->row->tnis; i++) {
		halo->orig->endpoint[i].requests = 0;
		halo->orig->endpoint[i].receives = 0;
		halo->orig->endpoint[i].ended = 0;
	}
	for (unsigned int i = 0; i < pattern->count && !code; i++) {
		const struct halo_message *m = &pattern->message[i];

		code = receive_post(halo, endpoint_of(halo, m->back), m);
	}
	for (unsigned int i = 0; i < pattern->count && !code; i++)
		code = send_post(halo, endpoint_of(halo, i),
				 &pattern->message[i], i);
	return code;
}

/* ---- Waiting ---- */

/* In order: what has ended meanwhile costs nothing when its turn comes. */
static int endpoint_test(struct orig_endpoint *endpoint)
{
	while (endpoint->ended < endpoint->requests) {
		unsigned int i = endpoint->ended;
		struct tofu_p2p_status *status =
			i < endpoint->receives ? &endpoint->receive[i].status :
						 NULL;
		int code = tofu_p2p_test(endpoint->p2p, &endpoint->request[i],
					 status);

		if (code)
			return code;
		endpoint->ended++;
	}
	/* Its senders may wait for answers, and this node for those of others. */
	return tofu_p2p_progress(endpoint->p2p);
}

/* All turn, and what all say together: that of the first one to fail, if any */
static int endpoints_all(const struct halo *halo,
			 int (*turn)(struct orig_endpoint *endpoint))
{
	int result = UTOFU_SUCCESS;

	for (unsigned int i = 0; i < halo->row->tnis; i++) {
		int code = turn(&halo->orig->endpoint[i]);

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

static int endpoint_flush(struct orig_endpoint *endpoint)
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

	switch (halo->orig->phase) {
	case ORIG_MEET:
		return utofu_poll_barrier(halo_barrier(halo), 0);
	case ORIG_SEND:
		return messages_post(halo);
	case ORIG_WAIT:
		return messages_test(halo);
	case ORIG_LEAVE:
		code = utofu_barrier(halo_barrier(halo), 0);
		return code == UTOFU_ERR_BUSY ? UTOFU_ERR_NOT_COMPLETED : code;
	case ORIG_PART:
		return part(halo);
	default:
		return messages_flush(halo);
	}
}

static enum orig_phase phase_next(const struct halo *halo)
{
	bool barrier = halo_barrier(halo) != UTOFU_VBG_ID_NULL;

	if (halo->orig->phase == ORIG_WAIT && !barrier)
		return ORIG_FLUSH;
	return halo->orig->phase + 1;
}

static int orig_test(struct halo *halo)
{
	while (halo->orig->phase != ORIG_ENDED) {
		int code = phase_run(halo);

		if (code)
			return code;
		halo->orig->phase = phase_next(halo);
	}
	return UTOFU_SUCCESS;
}

static int orig_start(struct halo *halo)
{
	if (halo_barrier(halo) != UTOFU_VBG_ID_NULL) {
		halo->orig->phase = ORIG_MEET;
		return utofu_barrier(halo_barrier(halo), 0);
	}
	halo->orig->phase = ORIG_WAIT;
	return messages_post(halo);
}

/* ---- The way ---- */

static int orig_make(struct halo *halo, struct halo_result *result, char **why)
{
	unsigned int count = halo->pattern.count, tnis = halo->row->tnis;

	(void)why;
	result->runs = halo->row->name;
	result->puts = count;
	result->engines = count < tnis ? count : tnis;
	return 0;
}

static bool is_right(const struct orig_receive *receive)
{
	const struct tofu_p2p_status *status = &receive->status;

	return status->source == receive->source &&
	       status->tag == receive->tag && status->bytes == receive->bytes;
}

static int orig_check(struct halo *halo, char **why)
{
	for (unsigned int e = 0; e < halo->row->tnis; e++) {
		const struct orig_endpoint *endpoint =
			&halo->orig->endpoint[e];

		for (unsigned int i = 0; i < endpoint->receives; i++) {
			if (is_right(&endpoint->receive[i]))
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

static void orig_free(struct halo *halo)
{
	(void)halo;
}

const struct halo_way halo_orig = {
	.make = orig_make,
	.start = orig_start,
	.test = orig_test,
	.check = orig_check,
	.free = orig_free,
};
