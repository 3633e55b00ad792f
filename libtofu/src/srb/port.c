/* SPDX-License-Identifier: MIT */
/* The sending side of shared receive buffers: slots, memory, notices. */
#include "srb/port.h"

#include <stdlib.h>
#include <string.h>

/* Where regions can begin */
#define ALIGN 256

_Static_assert(TOFU_SRB_RECORDS_MAX <= 256, "edata names a slot");

/* ---- Making ---- */

static int port_check(const struct tofu_srb_port_params *params)
{
	if (!params->records || params->records > TOFU_SRB_RECORDS_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	if (params->pool < TOFU_SRB_OVERHEAD)
		return UTOFU_ERR_INVALID_SIZE;
	if (params->flags & ~(TOFU_SRB_PORT_SERIAL | TOFU_SRB_PORT_FRESH))
		return UTOFU_ERR_INVALID_FLAGS;
	return UTOFU_SUCCESS;
}

/* The VCQ's TNI has the same limits as all others. */
static int port_limits(struct tofu_srb_port *port)
{
	struct utofu_onesided_caps *caps;
	int code = utofu_query_onesided_caps(0, &caps);

	if (code)
		return code;
	port->put_max = caps->max_putget_size & ~(size_t)(ALIGN - 1);
	return UTOFU_SUCCESS;
}

static int port_allocate(struct tofu_srb_port *port, size_t bytes)
{
	void *memory;

	if (posix_memalign(&memory, ALIGN, bytes))
		return UTOFU_ERR_OUT_OF_MEMORY;
	port->memory = memory;
	srb_pool_init(&port->pool, bytes & ~(size_t)(SRB_WORD - 1));
	port->send = calloc(port->records, sizeof(*port->send));
	port->flow = calloc(port->records, sizeof(*port->flow));
	if (!port->send || !port->flow)
		return UTOFU_ERR_OUT_OF_MEMORY;
	for (unsigned int i = port->records; i-- > 0;) {
		port->send[i].next = port->free;
		port->free = &port->send[i];
		srb_port_flow_free(port, &port->flow[i]);
	}
	return utofu_reg_mem(port->vcq, memory, bytes,
			     UTOFU_REG_MEM_FLAG_READ_ONLY, &port->stadd);
}

static void port_release(struct tofu_srb_port *port)
{
	free(port->memory);
	free(port->send);
	free(port->flow);
	free(port);
}

int tofu_srb_port_create(utofu_vcq_hdl_t vcq,
			 const struct tofu_srb_port_params *params,
			 struct tofu_srb_port **port)
{
	struct tofu_srb_port *made;
	int code;

	if (!params || !port)
		return UTOFU_ERR_INVALID_POINTER;
	code = port_check(params);
	if (code)
		return code;
	made = calloc(1, sizeof(*made));
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->vcq = vcq;
	made->flags = params->flags;
	made->records = params->records;
	code = port_limits(made);
	if (!code)
		code = port_allocate(made, params->pool);
	if (code) {
		port_release(made);
		return code;
	}
	*port = made;
	return UTOFU_SUCCESS;
}

void tofu_srb_port_free(struct tofu_srb_port *port)
{
	if (!port)
		return;
	for (unsigned int i = 0; i < port->records; i++)
		if (port->flow[i].peer)
			port->flow[i].peer->flow = NULL;
	utofu_dereg_mem(port->vcq, port->stadd, 0);
	port_release(port);
}

/* ---- What flows give back ---- */

void srb_port_flow_free(struct tofu_srb_port *port, struct tofu_srb_flow *flow)
{
	*flow = (struct tofu_srb_flow){
		.next = port->free_flow,
	};
	port->free_flow = flow;
}

void srb_port_ended(struct tofu_srb_port *port, struct srb_send *send)
{
	srb_pool_give(&port->pool, &send->block);
	send->flow = NULL;
	send->next = NULL;
	if (port->ended)
		port->ended_last->next = send;
	else
		port->ended = send;
	port->ended_last = send;
}

/* ---- Sending ---- */

/* What a record with this payload takes; more than any ring where it is too long */
static uint64_t parts_bytes(const struct iovec *part, unsigned int parts)
{
	uint64_t payload = 0;

	for (unsigned int i = 0; i < parts; i++) {
		if (part[i].iov_len > TOFU_SRB_BYTES_MAX)
			return UINT64_MAX;
		payload += part[i].iov_len;
	}
	return srb_record_bytes(payload);
}

/* The tail comes when the place is known. */
static void record_write(struct tofu_srb_port *port, struct srb_send *send,
			 const struct iovec *part, unsigned int parts)
{
	char *begin = port->memory + send->block.at + SRB_WORD, *at = begin;
	size_t padding;

	for (unsigned int i = 0; i < parts; i++) {
		if (part[i].iov_len)
			memcpy(at, part[i].iov_base, part[i].iov_len);
		at += part[i].iov_len;
	}
	padding = (size_t)(begin - at) & (SRB_WORD - 1);
	memset(at, 0, padding);
	*srb_send_word(port, send, 0) = SRB_DATA | (uint64_t)(at - begin);
}

static struct srb_send *send_take(struct tofu_srb_port *port, uint64_t bytes,
				  void *cbdata)
{
	struct srb_send *send = port->free;

	if (!send || !srb_pool_take(&port->pool, &send->block, bytes))
		return NULL;
	port->free = send->next;
	send->next = NULL;
	send->cbdata = cbdata;
	return send;
}

/* There are as many flows as slots, so there is one. */
static struct tofu_srb_flow *flow_take(struct tofu_srb_port *port,
				       struct tofu_srb_peer *peer)
{
	struct tofu_srb_flow *flow = port->free_flow;

	port->free_flow = flow->next;
	flow->next = NULL;
	flow->port = port;
	flow->peer = peer;
	peer->flow = flow;
	return flow;
}

static int send_check(const struct tofu_srb_port *port, uint64_t bytes,
		      uint64_t ring)
{
	if (port->error)
		return port->error;
	if (bytes > ring / 2 || bytes > port->pool.bytes)
		return UTOFU_ERR_INVALID_SIZE;
	return UTOFU_SUCCESS;
}

int tofu_srb_send(struct tofu_srb_port *port, struct tofu_srb_peer *peer,
		  const struct iovec *part, unsigned int parts, void *cbdata)
{
	utofu_stadd_t counters;
	struct tofu_srb_flow *flow;
	struct srb_where where;
	struct srb_send *send;
	uint64_t bytes;
	int code;

	if (!port || !peer || (!part && parts))
		return UTOFU_ERR_INVALID_POINTER;
	if (!srb_where(peer->address.ring, &where))
		return UTOFU_ERR_INVALID_ARG;
	bytes = parts_bytes(part, parts);
	code = send_check(port, bytes, where.bytes);
	if (!code)
		code = utofu_query_stadd(peer->address.vcq, where.stag,
					 &counters);
	if (code)
		return code;
	send = send_take(port, bytes, cbdata);
	if (!send)
		return UTOFU_ERR_BUSY;
	record_write(port, send, part, parts);
	flow = peer->flow;
	if (!flow) {
		flow = flow_take(port, peer);
		flow->where = where;
		flow->producer = counters + SRB_PRODUCER;
		flow->consumer = counters + SRB_CONSUMER;
	}
	srb_flow_add(flow, send);
	srb_flow_advance(flow);
	return UTOFU_SUCCESS;
}

int tofu_srb_send_single(struct tofu_srb_port *port,
			 struct tofu_srb_single *single,
			 const struct iovec *part, unsigned int parts,
			 void *cbdata)
{
	uint64_t bytes = parts_bytes(part, parts);
	struct tofu_srb_flow *flow = single->peer.flow;
	int code = send_check(port, bytes, single->bytes);
	struct srb_send *send;

	if (code)
		return code;
	send = send_take(port, bytes, cbdata);
	if (!send)
		return UTOFU_ERR_BUSY;
	record_write(port, send, part, parts);
	if (!flow) {
		flow = flow_take(port, &single->peer);
		flow->single = single;
		flow->where.bytes = single->bytes;
		flow->consumer = single->consumer;
	}
	srb_flow_add(flow, send);
	srb_flow_advance(flow);
	return UTOFU_SUCCESS;
}

/* ---- Polling ---- */

/* Lost notices come as this, and as nothing else. */
static bool notice_lost(const struct utofu_mrq_notice *notice, int code)
{
	return code == UTOFU_ERR_MRQ_OTHER && !notice->vcq_id &&
	       !notice->rmt_stadd && !notice->lcl_stadd;
}

/* Notices of others' commands are nobody's. */
static bool notice_own(const struct utofu_mrq_notice *notice)
{
	return notice->notice_type == UTOFU_MRQ_TYPE_LCL_PUT ||
	       notice->notice_type == UTOFU_MRQ_TYPE_LCL_ARMW;
}

static void notice_take(struct tofu_srb_port *port,
			const struct utofu_mrq_notice *notice, int code)
{
	struct srb_send *send;

	if (!notice_own(notice) || notice->edata >= port->records)
		return;
	send = &port->send[notice->edata];
	if (!send->flow || !send->pending)
		return;
	srb_flow_notice(send->flow, send, notice, code);
	srb_flow_advance(send->flow);
}

/* What a command ends with */
static bool is_mrq_code(int code)
{
	return code <= UTOFU_ERR_MRQ_OTHER && code >= UTOFU_ERR_MRQ_RMT_LENGTH;
}

/* Return: whether there may be more. */
static bool notice_poll(struct tofu_srb_port *port)
{
	struct utofu_mrq_notice notice;
	int code = utofu_poll_mrq(port->vcq, 0, &notice);

	if (code == UTOFU_ERR_NOT_FOUND)
		return false;
	if ((code && !is_mrq_code(code)) || notice_lost(&notice, code)) {
		port->error = code;
		return false;
	}
	notice_take(port, &notice, code);
	return true;
}

/* Only commands that the device refuses are told of here. */
static void report_poll(struct tofu_srb_port *port)
{
	void *cbdata;
	int code = utofu_poll_tcq(port->vcq, 0, &cbdata);

	if (code && code != UTOFU_ERR_NOT_FOUND)
		port->error = code;
}

static void again_run(struct tofu_srb_port *port)
{
	struct tofu_srb_flow *flow = port->again, *next;

	port->again = NULL;
	for (; flow; flow = next) {
		next = flow->next;
		flow->next = NULL;
		flow->again = false;
		srb_flow_advance(flow);
	}
}

static int ended_take(struct tofu_srb_port *port, void **cbdata, int *result)
{
	struct srb_send *send = port->ended;

	if (!send)
		return UTOFU_ERR_NOT_FOUND;
	port->ended = send->next;
	*cbdata = send->cbdata;
	*result = send->result;
	*send = (struct srb_send){
		.next = port->free,
	};
	port->free = send;
	return UTOFU_SUCCESS;
}

int tofu_srb_poll(struct tofu_srb_port *port, void **cbdata, int *result)
{
	if (!port || !cbdata || !result)
		return UTOFU_ERR_INVALID_POINTER;
	for (unsigned int i = 0; i < SRB_NOTICES_MAX && !port->error; i++)
		if (!notice_poll(port))
			break;
	if (!port->error)
		report_poll(port);
	if (port->error)
		return port->error;
	again_run(port);
	return ended_take(port, cbdata, result);
}
