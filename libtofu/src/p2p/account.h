/* SPDX-License-Identifier: MIT */
/*
 * The account of an endpoint's memory: all of it is taken here and nowhere
 * else, so the limit always holds. tofu_p2p_need() takes without allocating.
 */
#ifndef P2P_ACCOUNT_H
#define P2P_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * enum p2p_class - purposes of memory
 * @P2P_SHARED:     rings shared by all peers
 * @P2P_STANDING:   standing rings, with what is known of them
 * @P2P_POOL:       pools of the senders, with their state of records under way
 * @P2P_LARGE:      large own rings
 * @P2P_SMALL:      small own rings
 * @P2P_PEERS:      entries of other processes, and the endpoint itself
 * @P2P_REQUESTS:   requests, and the tables that match them
 * @P2P_UNEXPECTED: messages that no receive has matched
 */
enum p2p_class {
	P2P_SHARED,
	P2P_STANDING,
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
 * @cap:   limit of each class
 * @floor: bytes of each class that no other class can take
 * @used:  bytes in use of each class
 * @bound: sum over all classes of the larger of @used and @floor
 * @all:   sum of @used
 * @peak:  largest value of @all so far
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

/* p2p_account_fits - check whether it could be taken now */
bool p2p_account_fits(const struct p2p_account *account, enum p2p_class of,
		      size_t bytes);

/* p2p_account_room - compute how many bytes of a class could be taken now */
size_t p2p_account_room(const struct p2p_account *account, enum p2p_class of);

/* p2p_account_take - take bytes; false, without effect, if they do not fit */
bool p2p_account_take(struct p2p_account *account, enum p2p_class of,
		      size_t bytes);
void p2p_account_give(struct p2p_account *account, enum p2p_class of,
		      size_t bytes);

/* p2p_memory - allocate zeroed memory that has been taken, or NULL */
void *p2p_memory(size_t bytes);

/* p2p_allocate - take zeroed memory, or NULL; p2p_free() also takes NULL */
void *p2p_allocate(struct p2p_account *account, enum p2p_class of,
		   size_t bytes);
void p2p_free(struct p2p_account *account, enum p2p_class of, void *memory,
	      size_t bytes);

#endif /* P2P_ACCOUNT_H */
