// SPDX-License-Identifier: MIT
/*
 * Long messages: announced, and moved straight from one buffer to the other as
 * soon as sender and receiver know each other.
 *
 * A message that is longer than a put or get can be is moved in chunks, one
 * after the other.
 */
#include "p2p/internal.h"
#include "utofu/idle.h"
#include "utofu/vcq_id.h"
#include "utofu/work.h"

#define LCL UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE
#define RMT UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE

/* Most notices taken per turn */
#define TURN 64

/* ---- Slots of receives that wait for a notice ---- */

static void slot_take(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	for (uint32_t slot = 0; slot < P2P_SLOTS; slot++) {
		if (p2p->awaited[slot])
			continue;
		p2p->awaited[slot] = request;
		p2p->awaits++;
		request->slot = slot;
		return;
	}
}

void p2p_rendezvous_received(struct tofu_p2p *p2p,
			     struct tofu_p2p_request *request, int code)
{
	if (request->slot != P2P_SILENT) {
		p2p->awaited[request->slot] = NULL;
		p2p->awaits--;
	}
	request->slot = P2P_SILENT;
	p2p_request_end(p2p, request, code);
}

/* ---- Transfers ---- */

static size_t chunk_bytes(const struct tofu_p2p *p2p,
			  const struct tofu_p2p_request *request)
{
	size_t left = request->length - request->moved;

	return left < p2p->chunk ? left : p2p->chunk;
}

static int chunk_post(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	size_t bytes = chunk_bytes(p2p, request);
	utofu_stadd_t here = request->local + request->moved;
	utofu_stadd_t there = request->message.stadd + request->moved;
	void *cbdata = (void *)(uintptr_t)p2p_request_handle(request);
	bool tell = request->sends && request->slot != P2P_SILENT &&
		    request->moved + bytes == request->length;

	if (!request->sends)
		return utofu_get(p2p->data, request->message.vcq, here, there, bytes, 0,
				 LCL, cbdata);
	return utofu_put(p2p->data, request->message.vcq, here, there, bytes,
			 tell ? request->slot : 0, tell ? LCL | RMT : LCL,
			 cbdata);
}

/* Return: whether nobody waits to be told that it has been moved. */
static bool ends_alone(const struct tofu_p2p_request *request, int code)
{
	return request->access ||
	       (request->sends && !code && request->slot != P2P_SILENT);
}

/* All is moved, or an error has occurred: tell the other process. */
static void transfer_end(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
			 int code)
{
	p2p->movers--;
	request->code = code;
	if (ends_alone(request, code))
		p2p_request_end(p2p, request, code);
	else
		p2p_reply_later(p2p, request,
				request->sends ? P2P_FIN : P2P_DONE, true);
}

static void transfer_post(struct tofu_p2p *p2p,
			  struct tofu_p2p_request *request)
{
	int code = request->access == P2P_ATOMIC ? p2p_onesided_post(p2p, request) :
						   chunk_post(p2p, request);

	if (code == UTOFU_ERR_BUSY) {
		request->state = P2P_POSTING;
		TAILQ_INSERT_TAIL(&p2p->posting, request, link);
	} else if (code) {
		transfer_end(p2p, request, code);
	} else {
		request->state = P2P_MOVING;
		TAILQ_INSERT_TAIL(&p2p->moving, request, link);
	}
}

static void transfer_begin(struct tofu_p2p *p2p,
			   struct tofu_p2p_request *request)
{
	int code = UTOFU_SUCCESS;

	p2p->movers++;
	if (!request->registered && request->access != P2P_ATOMIC)
		code = p2p_region_take(p2p, request, request->length);
	if (code)
		transfer_end(p2p, request, code);
	else
		transfer_post(p2p, request);
}

void p2p_rendezvous_move(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	request->state = P2P_STARTING;
	TAILQ_INSERT_TAIL(&p2p->starting, request, link);
	p2p_rendezvous_run(p2p);
}

static void transfer_ended(struct tofu_p2p *p2p,
			   struct tofu_p2p_request *request, int code)
{
	tofu_work(TOFU_WORK_P2P_CHUNK);
	TAILQ_REMOVE(&p2p->moving, request, link);
	if (!code)
		request->moved += chunk_bytes(p2p, request);
	if (code || request->moved == request->length)
		transfer_end(p2p, request, code);
	else
		transfer_post(p2p, request);
}

void p2p_rendezvous_run(struct tofu_p2p *p2p)
{
	struct tofu_p2p_request *request;
	unsigned int posts = p2p->movers;

	while (posts-- && (request = TAILQ_FIRST(&p2p->posting))) {
		TAILQ_REMOVE(&p2p->posting, request, link);
		transfer_post(p2p, request);
	}
	while (p2p->movers < P2P_MOVING_MAX &&
	       (request = TAILQ_FIRST(&p2p->starting))) {
		TAILQ_REMOVE(&p2p->starting, request, link);
		transfer_begin(p2p, request);
	}
}

/* ---- The receiver's part ---- */

static void put_prepare(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	int code = p2p_region_take(p2p, request, request->length);

	request->code = code;
	if (code) {
		p2p_reply_later(p2p, request, P2P_DONE, true);
		return;
	}
	slot_take(p2p, request);
	p2p_reply_later(p2p, request, P2P_READY, false);
}

void p2p_rendezvous_begin(struct tofu_p2p *p2p,
			  struct tofu_p2p_request *request)
{
	int code = p2p_peer_get(p2p, request->message.source, &request->peer);

	if (code == UTOFU_ERR_OUT_OF_MEMORY) {
		request->state = P2P_PEERLESS;
		TAILQ_INSERT_TAIL(&p2p->orphans, request, link);
		return;
	}
	if (code) {
		p2p_request_end(p2p, request, code);
		return;
	}
	p2p_peer_pin(p2p, request->peer);
	if (!request->length)
		p2p_reply_later(p2p, request, P2P_DONE, true);
	else if (request->message.kind == P2P_GET)
		p2p_rendezvous_move(p2p, request);
	else
		put_prepare(p2p, request);
}

/* The peer has an entry: its record was not taken without. */
void p2p_rendezvous_tell(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
			 uint64_t handle)
{
	request->message.handle = handle;
	request->peer = p2p_peer_find(p2p, request->message.source);
	p2p_peer_pin(p2p, request->peer);
	p2p_reply_later(p2p, request, P2P_TAKEN, true);
}

/* ---- Notices ---- */

static uint8_t notice_type_of(const struct tofu_p2p_request *request)
{
	if (request->access == P2P_ATOMIC)
		return UTOFU_MRQ_TYPE_LCL_ARMW;
	return request->sends ? UTOFU_MRQ_TYPE_LCL_PUT : UTOFU_MRQ_TYPE_LCL_GET;
}

/* One buffer may go to several peers at a time, from the same region. */
static bool moves_between(const struct tofu_p2p_request *request,
			  const struct utofu_mrq_notice *notice)
{
	return notice_type_of(request) == notice->notice_type &&
	       request->local + request->moved == notice->lcl_stadd &&
	       request->message.stadd + request->moved == notice->rmt_stadd &&
	       tofu_vcq_id_plain(request->message.vcq) == notice->vcq_id;
}

static struct tofu_p2p_request *
moving_find(const struct tofu_p2p *p2p, const struct utofu_mrq_notice *notice)
{
	struct tofu_p2p_request *request;

	TAILQ_FOREACH(request, &p2p->moving, link)
		if (moves_between(request, notice))
			return request;
	return NULL;
}

/* Only the process that announced the message can report its arrival. */
static void awaited_come(struct tofu_p2p *p2p,
			 const struct utofu_mrq_notice *notice)
{
	struct tofu_p2p_request *request = NULL;

	if (notice->edata < P2P_SLOTS)
		request = p2p->awaited[notice->edata];
	if (request && request->state == P2P_AWAITED &&
	    request->message.vcq == notice->vcq_id)
		p2p_rendezvous_received(p2p, request, UTOFU_SUCCESS);
}

static bool is_of_transfer(const struct utofu_mrq_notice *notice)
{
	return notice->notice_type == UTOFU_MRQ_TYPE_LCL_PUT ||
	       notice->notice_type == UTOFU_MRQ_TYPE_LCL_GET ||
	       notice->notice_type == UTOFU_MRQ_TYPE_LCL_ARMW;
}

static void notice_take(struct tofu_p2p *p2p,
			const struct utofu_mrq_notice *notice, int code)
{
	struct tofu_p2p_request *request;

	if (notice->notice_type == UTOFU_MRQ_TYPE_RMT_PUT) {
		awaited_come(p2p, notice);
		return;
	}
	if (!is_of_transfer(notice))
		return;
	request = moving_find(p2p, notice);
	if (!request)
		return;
	if (request->access == P2P_ATOMIC && !code)
		p2p_onesided_result(request, notice->rmt_value);
	transfer_ended(p2p, request, code);
}

/* The only form in which lost notices are reported */
static bool notice_lost(const struct utofu_mrq_notice *notice, int code)
{
	return code == UTOFU_ERR_MRQ_OTHER && !notice->vcq_id &&
	       !notice->lcl_stadd && !notice->rmt_stadd;
}

static bool is_of_notice(int code)
{
	return code <= UTOFU_ERR_MRQ_OTHER && code >= UTOFU_ERR_MRQ_RMT_LENGTH;
}

/* Out of line, so that a turn in vain saves no registers for it. */
__attribute__((noinline)) static int notices_poll(struct tofu_p2p *p2p)
{
	struct utofu_mrq_notice notice;

	for (unsigned int i = 0; i < TURN; i++) {
		int code = utofu_poll_mrq(p2p->data, 0, &notice);

		if (code == UTOFU_ERR_NOT_FOUND)
			return UTOFU_SUCCESS;
		if (code &&
		    (!is_of_notice(code) || notice_lost(&notice, code)))
			return code;
		notice_take(p2p, &notice, code);
	}
	return UTOFU_SUCCESS;
}

/* Reports come only for transfers that could not begin: unmapped buffers. */
static int reports_poll(struct tofu_p2p *p2p)
{
	struct tofu_p2p_request *request;
	void *cbdata;
	int code = utofu_poll_tcq(p2p->data, 0, &cbdata);

	if (!code || code == UTOFU_ERR_NOT_FOUND)
		return UTOFU_SUCCESS;
	if (code > UTOFU_ERR_TCQ_OTHER || code < UTOFU_ERR_TCQ_LENGTH)
		return code;
	request = p2p_request_find(p2p, (uintptr_t)cbdata);
	if (request && request->state == P2P_MOVING)
		transfer_ended(p2p, request, code);
	return UTOFU_SUCCESS;
}

int p2p_rendezvous_poll(struct tofu_p2p *p2p)
{
	int code;

	if (!p2p->movers && !p2p->awaits)
		return tofu_vcq_idle(p2p->data);
	code = notices_poll(p2p);
	return code || !p2p->movers ? code : reports_poll(p2p);
}
