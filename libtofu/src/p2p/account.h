/* SPDX-License-Identifier: MIT */
/*
 * The account of an endpoint's memory: all of it is taken here and nowhere else,
 * so the limit holds whatever happens. tofu_p2p_need() takes without allocating.
 */
#ifndef P2P_ACCOUNT_H
#define P2P_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * enum p2p_class - what memory is for
 * @P2P_SHARED:     rings of all
 * @P2P_POOL:       of the senders, with what they know of records under way
 * @P2P_LARGE:      large own rings
 * @P2P_SMALL:      small own rings
 * @P2P_PEERS:      what is known of other processes, and the endpoint itself
 * @P2P_REQUESTS:   requests, and the tables that match them
 * @P2P_UNEXPECTED: messages that nobody has asked for
 */
enum p2p_class {
	P2P_SHARED,
	P2P_POOL,
	P2P_LARGE,
	P2P_SMALL,
	P2P_PEERS,
	P2P_REQUESTS,
	P2P_UNEXPECTED,
	P2P_CLASSES
};

/**
 * struct p2p_account
 * @limit: bytes of all classes
 * @cap:   of each
 * @floor: of each, which no other can take
 * @used:  of each
 * @bound: sum of what is used, or of the floor where that is more
 * @all:   sum of @used
 * @peak:  the most that it was
 */
struct p2p_account {
	size_t limit;
	size_t cap[P2P_CLASSES];
	size_t floor[P2P_CLASSES];
	size_t used[P2P_CLASSES];
	size_t bound;
	size_t all;
	size_t peak;
};

/* p2p_account_fits - whether it could be taken now */
bool p2p_account_fits(const struct p2p_account *account, enum p2p_class of,
		      size_t bytes);

/* p2p_account_take - false, and nothing is taken, where it does not fit */
bool p2p_account_take(struct p2p_account *account, enum p2p_class of,
		      size_t bytes);
void p2p_account_give(struct p2p_account *account, enum p2p_class of,
		      size_t bytes);

/* p2p_memory - memory of zeros that has been taken, or NULL */
void *p2p_memory(size_t bytes);

/* p2p_allocate - memory of zeros, or NULL; p2p_free gives it back, NULL is nothing */
void *p2p_allocate(struct p2p_account *account, enum p2p_class of,
		   size_t bytes);
void p2p_free(struct p2p_account *account, enum p2p_class of, void *memory,
	      size_t bytes);

#endif /* P2P_ACCOUNT_H */
