// SPDX-License-Identifier: MIT
/*
 * The life of barrier gates: their settings, which are decoded and checked once,
 * when software enables them.
 */
#include <stdlib.h>
#include <string.h>

#include "icc/time.h"

#define BIT(side) (1U << (side))

struct icc_gate *icc_gate_make(struct icc *icc, unsigned int tni,
			       unsigned int g)
{
	struct icc_gate *gate = icc->tni[tni].gate[g];

	if (gate)
		return gate;
	gate = calloc(1, sizeof(*gate));
	if (!gate) {
		icc->tni[tni].gates_lost |= 1ULL << g;
		icc->ops->misuse(icc->host, "gate %u of TNI %u: out of memory",
				 g, tni);
		return NULL;
	}
	gate->tni = (uint8_t)tni;
	gate->gate = (uint8_t)g;
	icc->tni[tni].gate[g] = gate;
	return gate;
}

void icc_gates_free(struct icc *icc)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int g = 0; g < TOFU_GATES; g++)
			free(icc->tni[t].gate[g]);
	}
}

/*
 * Clear all but its numbers and settings. An entry that is still in the
 * calendar is harmless: the gate then has no work, or is not due.
 */
static void forget(struct icc *icc, struct icc_gate *gate)
{
	struct icc_gate new = {
		.tni = gate->tni,
		.gate = gate->gate,
		.enables = gate->enables,
	};

	if (gate->enabled)
		icc_time_closed(icc);
	memcpy(new.setting, gate->setting, sizeof(new.setting));
	*gate = new;
}

void icc_gates_reset(struct icc *icc)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int g = 0; g < TOFU_GATES; g++) {
			struct icc_gate *gate = icc->tni[t].gate[g];

			if (!gate)
				continue;
			forget(icc, gate);
			memset(gate->setting, 0, sizeof(gate->setting));
		}
		icc->tni[t].gates_lost = 0;
	}
}

static uint64_t setting(const struct icc_gate *gate, unsigned int reg)
{
	return gate->setting[(reg - TOFU_GATE_SRC_LCL) / 8];
}

static bool link_local(uint64_t word, struct icc_link *link)
{
	const uint64_t known = TOFU_FIELD(TOFU_LINK_GATE) |
			       TOFU_FIELD(TOFU_LINK_VALID);

	link->gate = (uint8_t)TOFU_GET(word, TOFU_LINK_GATE);
	return !(word & ~known) && link->gate < TOFU_GATES;
}

int64_t icc_link_owner(const struct icc *icc, const struct icc_link *link)
{
	return icc_endpoint(icc, link->node, TOFU_SHARE_GATE, link->tni,
			    link->gate);
}

static bool link_remote(const struct icc *icc, uint64_t word,
			struct icc_link *link)
{
	const uint64_t known = TOFU_FIELD(TOFU_LINK_COORDS) |
			       TOFU_FIELD(TOFU_LINK_TNI) |
			       TOFU_FIELD(TOFU_LINK_GATE) |
			       TOFU_FIELD(TOFU_LINK_PATH) |
			       TOFU_FIELD(TOFU_LINK_VALID);
	const struct tofu_coords coords = tofu_coords_unpack(word);
	const int64_t node = tofu_node_at(&icc->shape, &coords);

	link->node = (uint32_t)node;
	link->tni = (uint8_t)TOFU_GET(word, TOFU_LINK_TNI);
	link->gate = (uint8_t)TOFU_GET(word, TOFU_LINK_GATE);
	link->path = (uint8_t)TOFU_GET(word, TOFU_LINK_PATH);
	link->peer = node < 0 ? -1 : icc_link_owner(icc, link);
	return node >= 0 && !(word & ~known) && link->tni < TOFU_TNIS_MAX &&
	       link->gate < TOFU_GATES && tofu_path_valid(link->path);
}

/* Decode the links of two registers; false where one of them is invalid. */
static bool links(const struct icc *icc, uint64_t local, uint64_t remote,
		  struct icc_link *link, uint8_t *linked)
{
	*linked = 0;
	if (TOFU_GET(local, TOFU_LINK_VALID)) {
		*linked |= BIT(ICC_LCL);
		if (!link_local(local, &link[ICC_LCL]))
			return false;
	}
	if (TOFU_GET(remote, TOFU_LINK_VALID)) {
		*linked |= BIT(ICC_RMT);
		if (!link_remote(icc, remote, &link[ICC_RMT]))
			return false;
	}
	return true;
}

static bool settings_good(const struct icc *icc, struct icc_gate *gate)
{
	const uint64_t channel = setting(gate, TOFU_GATE_CHANNEL);

	if (channel && (gate->gate >= TOFU_CHANNELS ||
			channel % TOFU_CHANNEL_ALIGN))
		return false;
	return setting(gate, TOFU_GATE_GPID) <= UINT16_MAX &&
	       links(icc, setting(gate, TOFU_GATE_SRC_LCL),
		     setting(gate, TOFU_GATE_SRC_RMT), gate->src,
		     &gate->sources) &&
	       links(icc, setting(gate, TOFU_GATE_DST_LCL),
		     setting(gate, TOFU_GATE_DST_RMT), gate->dst,
		     &gate->destinations);
}

void icc_gate_enable(struct icc *icc, struct icc_gate *gate)
{
	if (gate->enabled)
		return;
	forget(icc, gate);
	if (icc->tni[gate->tni].gates_lost >> gate->gate & 1 ||
	    !settings_good(icc, gate)) {
		icc->ops->misuse(icc->host, "gate %u of TNI %u: wrong settings",
				 gate->gate, gate->tni);
		return;
	}
	gate->gpid = (uint16_t)setting(gate, TOFU_GATE_GPID);
	gate->channel = setting(gate, TOFU_GATE_CHANNEL);
	gate->enabled = true;
	icc_time_opened(icc);
	gate->enables++;
	if (gate->sources & BIT(ICC_RMT))
		icc->tni[gate->tni].unwatched |= 1ULL << gate->gate;
}

void icc_gate_disable(struct icc *icc, struct icc_gate *gate)
{
	forget(icc, gate);
}

uint64_t icc_gate_state(const struct icc_gate *gate)
{
	return TOFU_SET(TOFU_GATE_STATE_LCL, gate->full >> ICC_LCL) |
	       TOFU_SET(TOFU_GATE_STATE_RMT, gate->full >> ICC_RMT) |
	       TOFU_SET(TOFU_GATE_STATE_BEGUN, gate->phase != ICC_GATE_IDLE) |
	       TOFU_SET(TOFU_GATE_STATE_FIRED, gate->fired);
}
