/* SPDX-License-Identifier: MIT */
/*
 * The links and routers of a machine once more, and slowly: of all packets that
 * could begin to cross a link, or be taken by an engine, the one that could do so
 * first does. For that it looks at all of them each time.
 */
#ifndef NETWORK_SLOW_H
#define NETWORK_SLOW_H

#include "net/network.h"

/* struct slow_fate - as of the callbacks, but in ps */
struct slow_fate {
	uint64_t departed;
	uint64_t arrived;
};

/* network_slow - what becomes of each packet; to be freed */
struct slow_fate *network_slow(const struct tofu_shape *shape,
			       const struct tofu_preset *machine,
			       const struct tofu_net_packet *packet,
			       size_t count);

#endif /* NETWORK_SLOW_H */
