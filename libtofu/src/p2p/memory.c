// SPDX-License-Identifier: MIT
/*
 * The memory that an endpoint takes, or would take: the same account, which in
 * the second case only counts.
 */
#include "p2p/internal.h"

static void memory_of(const struct p2p_account *account,
		      struct tofu_p2p_memory *memory)
{
	const size_t *used = account->used;

	*memory = (struct tofu_p2p_memory){
		.shared = used[P2P_SHARED],
		.own = used[P2P_STANDING] + used[P2P_LARGE] + used[P2P_SMALL],
		.peers = used[P2P_PEERS] + used[P2P_REQUESTS],
		.unexpected = used[P2P_UNEXPECTED],
		.pool = used[P2P_POOL],
		.peak = account->peak,
	};
}

void tofu_p2p_memory(const struct tofu_p2p *p2p, struct tofu_p2p_memory *memory)
{
	if (p2p && memory)
		memory_of(&p2p->account, memory);
}

/* ---- Without an endpoint ---- */

/* Takes what an endpoint takes at its creation. */
static bool least_take(struct p2p_account *account,
		       const struct p2p_config *config)
{
	return p2p_account_take(account, P2P_PEERS,
				config->floor[P2P_PEERS] -
					config->fixed[P2P_PEERS]) &&
	       p2p_account_take(account, P2P_REQUESTS, P2P_REQUESTS_FLOOR);
}

/* Takes an entry. If the table has to grow, both tables exist for a while. */
static bool entry_take(struct p2p_account *account, size_t *entries)
{
	size_t slot = sizeof(struct p2p_peer *);
	size_t before = p2p_table_slots(*entries) * slot;
	size_t after = p2p_table_slots(*entries + 1) * slot;

	if (after > before) {
		if (!p2p_account_take(account, P2P_PEERS, after))
			return false;
		p2p_account_give(account, P2P_PEERS, before);
	}
	if (!p2p_account_take(account, P2P_PEERS, sizeof(struct p2p_peer)))
		return false;
	++*entries;
	return true;
}

static bool ring_take(struct p2p_account *account,
		      const struct p2p_config *config)
{
	enum p2p_class class;
	size_t bytes;

	if (config->standing ||
	    !p2p_account_take(account, P2P_PEERS, sizeof(struct p2p_ring)))
		return false;
	if (p2p_ring_take(account, config, &class, &bytes))
		return true;
	p2p_account_give(account, P2P_PEERS, sizeof(struct p2p_ring));
	return false;
}

/*
 * Takes peers that all keep their rings. Peers without a ring are kept as long
 * as they are few.
 */
static void peers_take(struct p2p_account *account,
		       const struct p2p_config *config, uint64_t peers)
{
	size_t entries = 0;

	while (peers && entry_take(account, &entries)) {
		peers--;
		if (!ring_take(account, config))
			break;
	}
	for (unsigned int i = 1; i < P2P_IDLE_MAX && peers; i++, peers--)
		if (!entry_take(account, &entries))
			return;
}

int tofu_p2p_need(const struct tofu_p2p_params *params, uint64_t peers,
		  struct tofu_p2p_memory *memory)
{
	struct p2p_account account;
	struct p2p_config config;
	int code = p2p_config_make(params, &config);

	if (!code && !memory)
		code = UTOFU_ERR_INVALID_POINTER;
	if (!code)
		code = p2p_account_open(&account, &config);
	if (code)
		return code;
	if (!least_take(&account, &config))
		return UTOFU_ERR_INVALID_SIZE;
	peers_take(&account, &config, peers);
	memory_of(&account, memory);
	return UTOFU_SUCCESS;
}
