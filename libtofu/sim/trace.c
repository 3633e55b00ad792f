/* SPDX-License-Identifier: MIT */
#include "sim/trace.h"

#include <stdio.h>

#include "node/trace.h"

#define FACTOR 0x9e3779b97f4a7c15ULL

int sim_trace_open(struct sim_node *node, const char *folder)
{
	char path[4096];
	int bytes = snprintf(path, sizeof(path), "%s/node%u.trace", folder,
			     node->number);

	if (bytes < 0 || (size_t)bytes >= sizeof(path))
		return -36; /* ENAMETOOLONG */
	return tofu_trace_create(path, &node->sim->params.shape, node->number,
				 node->sim->params.machine, &node->trace);
}

void sim_trace_close(struct sim_node *node)
{
	tofu_trace_destroy(node->trace);
	node->trace = NULL;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * FACTOR;
	return hash ^ hash >> 29;
}

void sim_trace_add(struct sim_node *node, const struct icc_trace *r)
{
	uint64_t *of = &node->hash[r->kind == ICC_TRACE_LINK];
	uint64_t hash = mix(*of, r->time);

	hash = mix(hash, r->end ^ r->id << 1);
	hash = mix(hash, (uint64_t)r->origin << 32 | r->peer);
	hash = mix(hash, (uint64_t)r->bytes << 32 | (uint64_t)r->kind << 24 |
				 (uint64_t)r->type << 16 |
				 (uint64_t)r->tni << 8 | r->cq);
	*of = mix(hash, (uint64_t)r->detail << 32 | r->wait);
	if (node->trace && !tofu_trace_add(node->trace, r))
		node->sim->stop = "a trace cannot be written";
}

void sim_trace_mark(struct sim_node *node, uint64_t time, uint64_t name)
{
	const struct icc_trace mark = {
		.kind = ICC_TRACE_MARK,
		.time = time,
		.end = time,
		.id = name,
		.origin = node->number,
		.peer = node->number,
	};

	sim_trace_add(node, &mark);
}

static bool is_response(const struct tofu_packet *pkt)
{
	return pkt->type >= TOFU_PKT_DONE;
}

/* How long the packet that now has a link waited for it */
static uint32_t wait_for(struct sim_node *node, enum tofu_port port)
{
	const uint64_t all =
		tofu_net_link(node->sim->net, node->number, port)->wait_ns;
	const uint64_t wait = all - node->waited[port];

	node->waited[port] = all;
	return (uint32_t)wait;
}

void sim_trace_link(void *ctx, const struct tofu_net_packet *packet,
		    uint32_t number, enum tofu_port port, uint64_t start,
		    uint64_t end)
{
	struct sim_node *node = sim_node_at(ctx, number);
	const struct sim_mail *mail = packet->cookie;
	const struct icc_trace record = {
		.time = start,
		.end = end,
		.id = mail->pkt.tid,
		.origin = is_response(&mail->pkt) ? packet->dst : packet->src,
		.peer = packet->dst,
		.bytes = packet->payload,
		.kind = ICC_TRACE_LINK,
		.type = mail->pkt.type,
		.tni = mail->pkt.src_tni,
		.cq = mail->pkt.src_cq,
		.detail = port,
		.wait = wait_for(node, port),
	};

	sim_trace_add(node, &record);
}

uint64_t sim_trace_hash(const struct sim *sim)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sim->params.count; i++) {
		const struct sim_node *node = &sim->node[i];

		sum += mix(mix(node->hash[0], node->hash[1]),
			   node->number + 1);
	}
	return sum;
}
