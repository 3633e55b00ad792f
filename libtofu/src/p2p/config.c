// SPDX-License-Identifier: MIT
/*
 * Configuration of an endpoint: sizes, and the division of its memory. Some is
 * always in use, some is reserved for a class so that it can always make
 * progress. Of the rest, no class can take all, except requests, which the
 * caller makes.
 */
#include "p2p/internal.h"

#include "p2p/preset.h"
#include "srb/sender.h"
#include "utofu/instance.h"

#define RING_DEFAULT (256U << 10)
#define LARGE_DEFAULT (64U << 10)
#define SMALL_DEFAULT (4U << 10)

/* Covers the buffers of a benchmark; far below the memory of a node. */
#define PINNED_DEFAULT (64U << 20)

#define POOL_MIN (64U << 10)

/* The pool has room for this many of the largest records. */
#define POOL_RECORDS 8

/* Requests of others after which a peer that has sent none is silent */
#define SILENCE 1024

/* Messages after which it is worth asking again */
#define ASK_AGAIN 256

/* Memory of a shared ring's owner, beside the ring */
#define SRB_BYTES (SRB_COUNTERS_BYTES + 256)

/* ---- Sizes ---- */

static size_t size_or(size_t size, size_t otherwise)
{
	return size ? size : otherwise;
}

static bool ring_fits(size_t bytes)
{
	return bytes >= TOFU_SRB_BYTES_MIN && bytes <= TOFU_SRB_BYTES_MAX &&
	       !(bytes & (bytes - 1));
}

static size_t largest_ring(const struct p2p_config *config)
{
	size_t largest = config->ring;

	if (config->large > largest)
		largest = config->large;
	return config->small > largest ? config->small : largest;
}

static int params_check(const struct tofu_p2p_params *params)
{
	if (!params || !params->where)
		return UTOFU_ERR_INVALID_POINTER;
	if (!params->processes || params->rank >= params->processes ||
	    params->processes == TOFU_P2P_ANY_SOURCE)
		return UTOFU_ERR_INVALID_NUMBER;
	if (params->mode > TOFU_P2P_SHARED)
		return UTOFU_ERR_INVALID_ARG;
	return UTOFU_SUCCESS;
}

static size_t pinned_of(const struct tofu_p2p_params *params)
{
	return params->pinned == TOFU_P2P_PIN_NONE ?
		       0 :
		       size_or(params->pinned, PINNED_DEFAULT);
}

/* The pool should take at most an eighth of the memory for eager records. */
static size_t eager_default(const struct tofu_p2p_params *params,
			    const struct p2p_preset *preset)
{
	size_t most = params->memory / 8 / POOL_RECORDS;

	return preset->eager < most ? preset->eager : most;
}

/*
 * Standing rings: those of saving or of fast mode, all there from the start. In
 * automatic mode they are large where that takes at most a quarter of the
 * memory.
 */
static int standing_make(struct p2p_config *config)
{
	const struct tofu_p2p_params *params = &config->params;

	config->standing = true;
	config->ring = config->large;
	switch (params->mode) {
	case TOFU_P2P_SHARED:
		return UTOFU_ERR_NOT_SUPPORTED;
	case TOFU_P2P_AUTO:
		if (p2p_standing_bytes(config) <= params->memory / 4)
			break;
		/* fall through */
	case TOFU_P2P_SAVING:
		config->ring = config->small;
		break;
	default:
		break;
	}
	return UTOFU_SUCCESS;
}

/* Before the first call that needs the interconnect, its kind is not known. */
static bool has_armw(void)
{
	return !tofu_instance()->port || tofu_armw();
}

static int sizes_make(struct p2p_config *config)
{
	const struct tofu_p2p_params *params = &config->params;
	const struct p2p_preset *preset =
		p2p_preset_find(params->machine ? params->machine : "k");
	size_t fits;

	if (!preset)
		return UTOFU_ERR_INVALID_ARG;
	config->ring = size_or(params->ring, RING_DEFAULT);
	config->large = size_or(params->large, LARGE_DEFAULT);
	config->small = size_or(params->small, SMALL_DEFAULT);
	if (!ring_fits(config->ring) || !ring_fits(config->large) ||
	    !ring_fits(config->small))
		return UTOFU_ERR_INVALID_SIZE;
	if (!has_armw()) {
		int code = standing_make(config);

		if (code)
			return code;
	}
	config->eager = params->eager == TOFU_P2P_DEFAULT ?
				eager_default(params, preset) :
				params->eager;
	config->get = params->get == TOFU_P2P_DEFAULT ? preset->get :
							params->get;
	fits = p2p_eager_max(largest_ring(config));
	if (config->eager > fits)
		config->eager = fits;
	config->pinned = pinned_of(params);
	config->silence = SILENCE;
	config->ask_again = ASK_AGAIN;
	return UTOFU_SUCCESS;
}

static size_t pool_bytes(const struct p2p_config *config)
{
	size_t record = srb_record_bytes(sizeof(struct p2p_head) +
					 config->eager);
	size_t bytes = POOL_RECORDS * record;

	return bytes < POOL_MIN ? POOL_MIN : bytes;
}

/* ---- Accounts ---- */

static size_t sender_bytes(void)
{
	return sizeof(struct tofu_srb_sender) +
	       P2P_RECORDS *
		       (sizeof(struct srb_send) + sizeof(struct tofu_srb_flow));
}

static void fixed_make(struct p2p_config *config)
{
	config->fixed[P2P_POOL] =
		config->pool + P2P_REPLY_POOL + 2 * sender_bytes();
	if (config->standing) {
		config->fixed[P2P_STANDING] = p2p_standing_bytes(config);
		config->fixed[P2P_POOL] +=
			2 * srb_sender_words_bytes(P2P_RECORDS);
	} else {
		config->fixed[P2P_SHARED] =
			config->ring + P2P_REPLY_RING + 2 * SRB_BYTES;
	}
	config->fixed[P2P_PEERS] = sizeof(struct tofu_p2p);
}

/*
 * A slab of requests, so that a receive can be posted; the spare entries; and
 * the largest possible message, so that it can be matched.
 */
static void floor_make(struct p2p_config *config)
{
	for (unsigned int of = 0; of < P2P_CLASSES; of++)
		config->floor[of] = config->fixed[of];
	config->floor[P2P_PEERS] +=
		p2p_table_slots(0) * sizeof(struct p2p_peer *) +
		P2P_SPARES * sizeof(struct p2p_peer);
	config->floor[P2P_REQUESTS] += P2P_REQUESTS_FLOOR;
	config->floor[P2P_UNEXPECTED] +=
		p2p_unexpected_bytes(largest_ring(config) / 2);
}

int p2p_config_make(const struct tofu_p2p_params *params,
		    struct p2p_config *config)
{
	int code = params_check(params);

	if (code)
		return code;
	*config = (struct p2p_config){
		.params = *params,
	};
	code = sizes_make(config);
	if (code)
		return code;
	config->pool = pool_bytes(config);
	fixed_make(config);
	floor_make(config);
	return UTOFU_SUCCESS;
}

/* Eighths of the rest that a class may take; requests may take all of it. */
static void caps_make(struct p2p_account *account,
		      const struct p2p_config *config, size_t left)
{
	static const unsigned int eighths[][P2P_CLASSES] = {
		[TOFU_P2P_AUTO] = { [P2P_LARGE] = 2, [P2P_SMALL] = 2 },
		[TOFU_P2P_FAST] = { [P2P_LARGE] = 4 },
		[TOFU_P2P_SAVING] = { [P2P_SMALL] = 4 },
		[TOFU_P2P_SHARED] = { 0 },
	};

	for (unsigned int of = 0; of < P2P_CLASSES; of++)
		account->cap[of] =
			account->floor[of] +
			left / 8 * eighths[config->params.mode][of];
	account->cap[P2P_PEERS] += left / 8;
	account->cap[P2P_UNEXPECTED] += left / 8 * 2;
	account->cap[P2P_REQUESTS] += left;
}

int p2p_account_open(struct p2p_account *account,
		     const struct p2p_config *config)
{
	size_t limit = config->params.memory;

	*account = (struct p2p_account){
		.limit = limit,
	};
	for (unsigned int of = 0; of < P2P_CLASSES; of++) {
		account->floor[of] = config->floor[of];
		account->bound += config->floor[of];
	}
	if (account->bound > limit)
		return UTOFU_ERR_INVALID_SIZE;
	caps_make(account, config, limit - account->bound);
	for (unsigned int of = 0; of < P2P_CLASSES; of++)
		if (!p2p_account_take(account, of, config->fixed[of]))
			return UTOFU_ERR_INVALID_SIZE;
	return UTOFU_SUCCESS;
}
