// SPDX-License-Identifier: MIT
/* Endpoints: creating and freeing them, and the interface. */
#include "p2p/internal.h"

#include <stdlib.h>

#include "utofu/instance.h"
#include "utofu/time.h"
#include "utofu/work.h"

/* Boundary of regions, and of chunks */
#define ALIGN 256

/* ---- Making ---- */

/* Creates a ring's owner, which must be where the others look for it. */
static int owner_make(const struct tofu_p2p_params *params, unsigned int which,
		      utofu_vcq_hdl_t *vcq)
{
	utofu_cmp_id_t component = (utofu_cmp_id_t)(params->component + which);
	utofu_vcq_id_t expected[2], id;
	int code = p2p_where(params, params->rank, expected);

	if (!code)
		code = utofu_create_vcq_with_cmp_id(params->tni, component, 0,
						    vcq);
	if (!code)
		code = utofu_query_vcq_id(*vcq, &id);
	if (!code && id != expected[which])
		code = UTOFU_ERR_NOT_AVAILABLE;
	return code;
}

static int vcqs_make(struct tofu_p2p *p2p)
{
	const struct tofu_p2p_params *params = &p2p->config.params;
	utofu_vcq_hdl_t *const nameless[] = {
		&p2p->out.vcq,
		&p2p->back.vcq,
		&p2p->data,
	};
	int code = owner_make(params, 0, &p2p->requests_vcq);

	if (!code)
		code = owner_make(params, 1, &p2p->replies_vcq);
	for (unsigned int i = 0; i < 3 && !code; i++)
		code = utofu_create_vcq(params->tni, 0, nameless[i]);
	return code ? code : utofu_query_vcq_id(p2p->data, &p2p->data_id);
}

static int chunk_make(struct tofu_p2p *p2p)
{
	struct utofu_onesided_caps *caps;
	int code = utofu_query_onesided_caps(p2p->config.params.tni, &caps);

	if (!code)
		p2p->chunk = caps->max_putget_size & ~(size_t)(ALIGN - 1);
	return code;
}

/* The shared rings come last: from then on others can send. */
static int shared_make(struct tofu_p2p *p2p)
{
	const struct tofu_srb_params replies = p2p_srb_params(P2P_REPLY_RING);
	const struct tofu_srb_params requests =
		p2p_srb_params(p2p->config.ring);
	int code = tofu_srb_create(p2p->replies_vcq, &replies, &p2p->replies);

	return code ? code :
		      tofu_srb_create(p2p->requests_vcq, &requests,
				      &p2p->requests);
}

static void lists_make(struct tofu_p2p *p2p)
{
	TAILQ_INIT(&p2p->rings);
	TAILQ_INIT(&p2p->peerless);
	TAILQ_INIT(&p2p->orphans);
	TAILQ_INIT(&p2p->starting);
	TAILQ_INIT(&p2p->posting);
	TAILQ_INIT(&p2p->moving);
	TAILQ_INIT(&p2p->holds);
	TAILQ_INIT(&p2p->sought);
	TAILQ_INIT(&p2p->claimed);
	STAILQ_INIT(&p2p->told);
	p2p_regions_make(p2p);
	p2p_receive_make(p2p);
}

static int endpoint_make(struct tofu_p2p *p2p)
{
	int code;

	lists_make(p2p);
	code = p2p_slabs_make(p2p);
	if (!code)
		code = p2p_peers_make(p2p);
	if (!code)
		code = vcqs_make(p2p);
	if (!code)
		code = chunk_make(p2p);
	if (!code)
		code = p2p_senders_make(p2p);
	if (code)
		return code;
	return p2p->config.standing ? p2p_standing_make(p2p) : shared_make(p2p);
}

int tofu_p2p_create(const struct tofu_p2p_params *params, struct tofu_p2p **p2p)
{
	struct p2p_account account;
	struct p2p_config config;
	struct tofu_p2p *made;
	int code = params ? tofu_instance_open() : UTOFU_ERR_INVALID_POINTER;

	if (!code)
		code = p2p_config_make(params, &config);
	if (!code && !p2p)
		code = UTOFU_ERR_INVALID_POINTER;
	if (!code)
		code = p2p_account_open(&account, &config);
	if (code)
		return code;
	made = calloc(1, sizeof(*made));
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->config = config;
	made->account = account;
	code = endpoint_make(made);
	if (code) {
		tofu_p2p_free(made);
		return code;
	}
	*p2p = made;
	return UTOFU_SUCCESS;
}

static void vcqs_free(struct tofu_p2p *p2p)
{
	const utofu_vcq_hdl_t vcq[] = {
		p2p->data,
		p2p->out.vcq,
		p2p->back.vcq,
		p2p->requests_vcq,
		p2p->replies_vcq,
	};

	/* Also deregisters the users' buffers that are still registered. */
	for (size_t i = 0; i < sizeof(vcq) / sizeof(vcq[0]); i++)
		if (vcq[i])
			utofu_free_vcq(vcq[i]);
}

void tofu_p2p_free(struct tofu_p2p *p2p)
{
	if (!p2p)
		return;
	tofu_srb_free(p2p->requests);
	tofu_srb_free(p2p->replies);
	p2p_senders_free(p2p);
	p2p_standing_free(p2p);
	p2p_rings_free(p2p);
	p2p_receive_free(p2p);
	p2p_peers_free(p2p);
	p2p_slabs_free(p2p);
	vcqs_free(p2p);
	free(p2p);
}

/* ---- Progress ---- */

/* Answers first, since they need nothing; then what they have made ready. */
static int all_poll(struct tofu_p2p *p2p)
{
	int code = p2p_reply_all(p2p);

	if (!code)
		code = p2p_senders_poll(p2p);
	tofu_work(TOFU_WORK_P2P_LOOK);
	if (!code)
		code = p2p_rendezvous_poll(p2p);
	return code ? code : p2p_receive_all(p2p);
}

/* Begins with another peer each time, so that each is first in its turn. */
static void peers_push(struct tofu_p2p *p2p)
{
	struct p2p_peer_list *active = &p2p->peers.active;
	struct p2p_peer *peer, *next;

	for (peer = TAILQ_FIRST(active); peer; peer = next) {
		next = TAILQ_NEXT(peer, link);
		p2p_send_push(p2p, peer);
	}
	peer = TAILQ_FIRST(active);
	if (!peer || !TAILQ_NEXT(peer, link))
		return;
	TAILQ_REMOVE(active, peer, link);
	TAILQ_INSERT_TAIL(active, peer, link);
}

int tofu_p2p_progress(struct tofu_p2p *p2p)
{
	if (!p2p)
		return UTOFU_ERR_INVALID_POINTER;
	if (p2p->error)
		return p2p->error;
	tofu_work(TOFU_WORK_P2P_PROGRESS);
	/* Freed memory does not stay pinned until the next long message. */
	if (p2p->regions.count)
		p2p_regions_check(p2p);
	p2p->error = all_poll(p2p);
	if (!TAILQ_EMPTY(&p2p->orphans))
		p2p_receive_orphans(p2p);
	if (!TAILQ_EMPTY(&p2p->peerless))
		p2p_send_peerless(p2p);
	if (p2p->movers || !TAILQ_EMPTY(&p2p->starting))
		p2p_rendezvous_run(p2p);
	if (!TAILQ_EMPTY(&p2p->peers.active))
		peers_push(p2p);
	tofu_work(TOFU_WORK_P2P_TURNED);
	return p2p->error;
}

int tofu_p2p_flush(struct tofu_p2p *p2p)
{
	int code = tofu_p2p_progress(p2p);

	if (code)
		return code;
	return TAILQ_EMPTY(&p2p->peers.active) && TAILQ_EMPTY(&p2p->peerless) &&
			       !p2p->out.flying && !p2p->back.flying &&
			       !p2p->movers && TAILQ_EMPTY(&p2p->starting) ?
		       UTOFU_SUCCESS :
		       UTOFU_ERR_NOT_COMPLETED;
}

/* ---- Messages ---- */

int p2p_send_check(const struct tofu_p2p *p2p, const void *buf, size_t bytes,
		   uint32_t dest, uint64_t tag)
{
	if (!p2p || (!buf && bytes))
		return UTOFU_ERR_INVALID_POINTER;
	if (dest >= p2p->config.params.processes || tag == TOFU_P2P_ANY_TAG)
		return UTOFU_ERR_INVALID_NUMBER;
	return p2p->error;
}

int tofu_p2p_isend(struct tofu_p2p *p2p, const void *buf, size_t bytes,
		   uint32_t dest, uint64_t tag,
		   struct tofu_p2p_request **request)
{
	struct tofu_p2p_request *made, *sent = NULL;
	int code = p2p_send_check(p2p, buf, bytes, dest, tag);

	if (!code && !request)
		code = UTOFU_ERR_INVALID_POINTER;
	if (code)
		return code;
	if (p2p_is_express(bytes))
		sent = p2p_send_express(p2p, buf, bytes, dest, tag);
	made = sent ? sent : p2p_request_begin(p2p, true);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->dest = dest;
	made->buf = (void *)(uintptr_t)buf;
	made->room = bytes;
	made->message.tag = tag;
	made->message.bytes = bytes;
	if (!sent && dest != p2p->config.params.rank) {
		p2p_send_begin(p2p, made);
	} else if (!sent && !p2p_receive_self(p2p, made)) {
		p2p_request_free(p2p, made);
		return UTOFU_ERR_OUT_OF_MEMORY;
	}
	*request = made;
	return UTOFU_SUCCESS;
}

int p2p_receive_check(const struct tofu_p2p *p2p, const void *buf, size_t room,
		      uint32_t source)
{
	if (!p2p || (!buf && room))
		return UTOFU_ERR_INVALID_POINTER;
	if (source >= p2p->config.params.processes &&
	    source != TOFU_P2P_ANY_SOURCE)
		return UTOFU_ERR_INVALID_NUMBER;
	return p2p->error;
}

static struct p2p_match_want want_of(uint32_t source, uint64_t tag)
{
	return (struct p2p_match_want){
		.tag = tag,
		.ignore = tag == TOFU_P2P_ANY_TAG ? UINT64_MAX : 0,
		.source = source,
		.any = source == TOFU_P2P_ANY_SOURCE,
	};
}

int tofu_p2p_irecv(struct tofu_p2p *p2p, void *buf, size_t room,
		   uint32_t source, uint64_t tag,
		   struct tofu_p2p_request **request)
{
	struct tofu_p2p_request *made;
	struct p2p_match_want want;
	int code = p2p_receive_check(p2p, buf, room, source);

	if (!code && !request)
		code = UTOFU_ERR_INVALID_POINTER;
	if (code)
		return code;
	made = p2p_request_begin(p2p, false);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->buf = buf;
	made->room = room;
	made->message.source = source;
	*request = made;
	want = want_of(source, tag);
	p2p_receive_begin(p2p, made, &want);
	return UTOFU_SUCCESS;
}

/* Return: the code that it has ended with. */
static int request_take(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
			struct tofu_p2p_status *status)
{
	struct tofu_p2p_request *ended = *request;
	int code = ended->code;

	tofu_work(TOFU_WORK_P2P_ENDED);
	if (status && !ended->sends)
		*status = (struct tofu_p2p_status){
			.source = ended->message.source,
			.tag = ended->message.tag,
			.bytes = ended->message.bytes,
		};
	p2p_request_free(p2p, ended);
	*request = NULL;
	p2p->tests = 0;
	return code;
}

static int request_wait(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	if (++p2p->tests >= P2P_HELLO_TESTS) {
		p2p->tests = 0;
		p2p_reply_hello(p2p, request);
	}
	return UTOFU_ERR_NOT_COMPLETED;
}

int tofu_p2p_test(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
		  struct tofu_p2p_status *status)
{
	int code;

	if (!p2p || !request)
		return UTOFU_ERR_INVALID_POINTER;
	if (!*request)
		return UTOFU_SUCCESS;
	if ((*request)->state == P2P_ENDED)
		return request_take(p2p, request, status);
	tofu_work(TOFU_WORK_P2P_TEST);
	code = tofu_p2p_progress(p2p);
	if ((*request)->state == P2P_ENDED)
		return request_take(p2p, request, status);
	return code ? code : request_wait(p2p, *request);
}

int tofu_p2p_wait(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
		  struct tofu_p2p_status *status)
{
	struct tofu_turns turns = tofu_turns_begin(0);
	int code;

	while ((code = tofu_p2p_test(p2p, request, status)) ==
	       UTOFU_ERR_NOT_COMPLETED)
		p2p->tests += tofu_give_way(&turns) - 1;
	return code;
}

int tofu_p2p_send(struct tofu_p2p *p2p, const void *buf, size_t bytes,
		  uint32_t dest, uint64_t tag)
{
	struct tofu_p2p_request *request;
	int code = tofu_p2p_isend(p2p, buf, bytes, dest, tag, &request);

	return code ? code : tofu_p2p_wait(p2p, &request, NULL);
}

int tofu_p2p_recv(struct tofu_p2p *p2p, void *buf, size_t room, uint32_t source,
		  uint64_t tag, struct tofu_p2p_status *status)
{
	struct tofu_p2p_request *request;
	int code = tofu_p2p_irecv(p2p, buf, room, source, tag, &request);

	return code ? code : tofu_p2p_wait(p2p, &request, status);
}

int tofu_p2p_probe(struct tofu_p2p *p2p, uint32_t source, uint64_t tag,
		   struct tofu_p2p_status *status)
{
	const struct p2p_unexpected *found;
	struct p2p_match_want want;
	int code = p2p_receive_check(p2p, NULL, 0, source);

	if (!code && !status)
		code = UTOFU_ERR_INVALID_POINTER;
	if (!code)
		code = tofu_p2p_progress(p2p);
	if (code)
		return code;
	want = want_of(source, tag);
	found = p2p_receive_probe(p2p, &want);
	if (!found)
		return UTOFU_ERR_NOT_FOUND;
	*status = (struct tofu_p2p_status){
		.source = found->message.source,
		.tag = found->message.tag,
		.bytes = found->message.bytes,
	};
	return UTOFU_SUCCESS;
}

int tofu_p2p_cancel(struct tofu_p2p *p2p, struct tofu_p2p_request **request)
{
	if (!p2p || !request || !*request)
		return UTOFU_ERR_INVALID_POINTER;
	if ((*request)->state != P2P_POSTED)
		return UTOFU_ERR_BUSY;
	p2p_receive_unpost(p2p, *request);
	p2p_request_free(p2p, *request);
	*request = NULL;
	return UTOFU_SUCCESS;
}
