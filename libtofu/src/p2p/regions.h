/* SPDX-License-Identifier: MIT */
/* Registered buffers of messages, some of which stay registered. */
#ifndef P2P_REGIONS_H
#define P2P_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <utofu.h>

struct tofu_p2p;
struct tofu_p2p_request;

/* Registrations that are remembered at most */
#define P2P_REGIONS 128

/**
 * struct p2p_region - a registration that outlives its message
 * @start, @end: addresses
 * @stadd: STADD of @start
 * @users: requests that use it
 * @known: in the table
 * @link:  in a list: those without users, or free ones
 */
struct p2p_region {
	uintptr_t start;
	uintptr_t end;
	utofu_stadd_t stadd;
	unsigned int users;
	bool known;
	TAILQ_ENTRY(p2p_region) link;
};

TAILQ_HEAD(p2p_region_list, p2p_region);

/**
 * struct p2p_regions - remembered registrations
 * @region: all
 * @table:  the known ones, @count of them, by address. None contains another,
 *          so both starts and ends ascend.
 * @idle:   known ones without users, the longest unused first
 * @free:   unused entries
 * @pinned: bytes of the pages of idle ones, at most p2p_config.pinned
 * @generation: of struct tofu_watch when it was last looked at
 */
struct p2p_regions {
	struct p2p_region region[P2P_REGIONS];
	struct p2p_region *table[P2P_REGIONS];
	unsigned int count;
	struct p2p_region_list idle;
	struct p2p_region_list free;
	size_t pinned;
	uint64_t generation;
};

/* p2p_region_take - have the beginning of a request's buffer registered */
int p2p_region_take(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		    size_t bytes);

/* p2p_region_give - a request that ends so needs its registration no more */
void p2p_region_give(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		     int code);

/* p2p_regions_check - forget regions whose addresses have changed */
void p2p_regions_check(struct tofu_p2p *p2p);

void p2p_regions_make(struct tofu_p2p *p2p);

#endif /* P2P_REGIONS_H */
