/* SPDX-License-Identifier: MIT */
/*
 * What the test programs that run on several nodes share: they meet, each does
 * its part, and node 0 prints TAP for all of them.
 */
#ifndef TOFU_TEST_GUEST_H
#define TOFU_TEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/exchange.h>

#include "common/world.h"

/* Seconds that a wait may take: far more than any does. */
#define GUEST_TIMEOUT 60

/**
 * struct guest - this node's process
 * @vcq:    on TNI 0
 * @id:     VCQ IDs of all nodes, by number
 * @points: test points so far
 * @failed: of them
 */
struct guest {
	struct tofu_machine machine;
	struct tofu_world *world;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t *id;
	unsigned int points;
	unsigned int failed;
};

/* guest_begin - meet and print the plan; exits where that fails */
void guest_begin(struct guest *guest, unsigned int plan);

/* guest_end - part; returns the exit status */
int guest_end(struct guest *guest);

/**
 * guest_point - a test point of all nodes: good where it is on all of them
 * @good: on this one
 *
 * All nodes call it; a barrier.
 */
void guest_point(struct guest *guest, bool good, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* guest_skip - a test point that cannot be had here */
void guest_skip(struct guest *guest, const char *name, const char *reason);

/* guest_note - a line for people, from any node */
void guest_note(const struct guest *guest, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* guest_barrier, guest_gather - as tofu_world_*; exit where they fail */
void guest_barrier(struct guest *guest);
const uint64_t *guest_gather(struct guest *guest, const uint64_t *mine,
			     size_t words);

/**
 * guest_connect - connect a message of an exchange
 * @back: what comes in return for it
 * @peer: node that it goes to
 *
 * All nodes call it at the same time, for the same message; exits where it fails.
 */
void guest_connect(struct guest *guest, struct tofu_exchange *exchange,
		   unsigned int message, unsigned int back, uint32_t peer);

/**
 * guest_area - zeroed memory, registered with guest->vcq under a STAG
 * @stag: the same on all nodes, so that @stadd is too
 *
 * Exits where that fails.
 */
void *guest_area(struct guest *guest, size_t bytes, unsigned int stag,
		 utofu_stadd_t *stadd);

/* guest_next - the node after this one, around the end */
uint32_t guest_next(const struct guest *guest);

/* guest_previous - the node before this one */
uint32_t guest_previous(const struct guest *guest);

/**
 * guest_finish - the end of one command posted with GUEST_FLAGS
 * @posted: what the post returned: anything but UTOFU_SUCCESS is passed on
 * @notice: filled, unless NULL
 *
 * Return: UTOFU_SUCCESS; the error of report or notice;
 * UTOFU_ERR_NOT_COMPLETED where neither comes in time.
 */
#define GUEST_FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | \
		     UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)
int guest_finish(struct guest *guest, int posted,
		 struct utofu_mrq_notice *notice);

/**
 * guest_fill, guest_wrong - bytes that a seed stands for, at any alignment
 *
 * guest_wrong returns how many of the bytes differ.
 */
void guest_fill(void *buf, size_t bytes, uint64_t seed);
size_t guest_wrong(const void *buf, size_t bytes, uint64_t seed);

/* guest_seed - mixes what tells one transfer from all others */
uint64_t guest_seed(uint64_t a, uint64_t b, uint64_t c);

#endif /* TOFU_TEST_GUEST_H */
