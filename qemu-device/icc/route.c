// SPDX-License-Identifier: MIT
/*
 * The router of an untimed controller: the ports by which a packet leaves and
 * arrives, and the counters of these ports.
 */
#include "icc/internal.h"

void icc_port_set_counter(struct icc *icc, enum tofu_port port,
			  enum tofu_port_counter counter, uint64_t value)
{
	icc->port[port][counter] = value - icc->port_base[port][counter];
}

/* Counters of the network in time continue: remember their values. */
void icc_ports_reset(struct icc *icc)
{
	for (int port = 0; port < TOFU_PORTS; port++) {
		for (int c = 0; c < TOFU_PORT_COUNTERS; c++) {
			if (icc->time)
				icc->port_base[port][c] += icc->port[port][c];
			icc->port[port][c] = 0;
		}
	}
}

static enum tofu_port first_port(const struct icc *icc, uint32_t to,
				 unsigned int path)
{
	struct tofu_hop hop[TOFU_HOPS_MAX];

	return tofu_route(&icc->shape, icc->node, to, path, hop) ?
		       hop[0].port :
		       TOFU_PORTS;
}

static enum tofu_port last_port(const struct icc *icc, uint32_t from,
				unsigned int path)
{
	struct tofu_hop hop[TOFU_HOPS_MAX];
	size_t hops = tofu_route(&icc->shape, from, icc->node, path, hop);

	return hops ? tofu_port_reverse(hop[hops - 1].port) : TOFU_PORTS;
}

/*
 * Untimed controllers: computing a route takes longer than a small put, so
 * cache the last ones.
 */
static const struct icc_route *route(struct icc *icc, uint32_t endpoint,
				     unsigned int path)
{
	const uint64_t id = ((uint64_t)endpoint << TOFU_TOQ_PATH_BITS) |
			    (path & TOFU_MASK(TOFU_TOQ_PATH_BITS));
	struct tofu_coords coords;
	struct icc_route *r;

	r = &icc->route[(id ^ (id >> TOFU_TOQ_PATH_BITS)) % ICC_ROUTES];
	if (r->key != id + 1) {
		const uint32_t node = endpoint / icc->ppn;

		r->key = id + 1;
		r->out = (uint8_t)first_port(icc, node, path);
		r->in = (uint8_t)last_port(icc, node, path);
		coords = tofu_coords_of(&icc->shape, node);
		r->coords = tofu_coords_pack(&coords);
	}
	return r;
}

uint64_t icc_route_coords(struct icc *icc, const struct tofu_packet *pkt)
{
	struct tofu_coords coords;

	if (!icc->time)
		return route(icc, pkt->src, pkt->path)->coords;
	/* Its node has one process, and needs no route. */
	coords = tofu_coords_of(&icc->shape, pkt->src);
	return tofu_coords_pack(&coords);
}

void icc_port_count_sent(struct icc *icc, uint32_t endpoint,
			 unsigned int path, uint64_t bytes)
{
	const struct icc_route *r;

	if (icc->time)
		return; /* the network in time counts */
	r = route(icc, endpoint, path);
	if (r->out == TOFU_PORTS)
		return;
	icc->port[r->out][TOFU_PORT_TX_PACKETS]++;
	icc->port[r->out][TOFU_PORT_TX_BYTES] += bytes;
}

void icc_port_count_arrived(struct icc *icc, const struct tofu_packet *pkt)
{
	const struct icc_route *r = route(icc, pkt->src, pkt->path);
	uint64_t bytes = 0;

	if (r->in == TOFU_PORTS)
		return;
	if (pkt->type == TOFU_PKT_PUT ||
	    (pkt->type == TOFU_PKT_DATA && pkt->status == TOFU_ST_OK))
		bytes = pkt->length;
	else if (pkt->type == TOFU_PKT_SIGNAL)
		bytes = pkt->payload;
	icc->port[r->in][TOFU_PORT_RX_PACKETS]++;
	icc->port[r->in][TOFU_PORT_RX_BYTES] += bytes;
}
