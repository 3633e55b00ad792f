/* SPDX-License-Identifier: MIT */
/*
 * Shared by test programs that run on several nodes: they meet, each does its
 * part, and node 0 prints TAP for all of them.
 */
#ifndef TOFU_TEST_GUEST_H
#define TOFU_TEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/exchange.h>

#include "common/world.h"

/* Longest wait in seconds: far more than any needs */
#define GUEST_TIMEOUT 60

/**
 * struct guest - this node's process
 * @number, @count: of this process, and of all: those of nodes, where each has
 *          one
 * @vcq:    on TNI 0
 * @id:     VCQ IDs of all, by number
 * @points: number of test points so far
 * @failed: number of failed ones
 */
struct guest {
	struct tofu_machine machine;
	struct tofu_world *world;
	uint32_t number;
	uint32_t count;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t *id;
	unsigned int points;
	unsigned int failed;
};

/* guest_begin - meet and print the plan; exits on failure */
void guest_begin(struct guest *guest, unsigned int plan);

/* guest_begin_all - the same for programs that go with more processes a node */
void guest_begin_all(struct guest *guest, unsigned int plan);

/* guest_end - part; returns the exit status */
int guest_end(struct guest *guest);

/**
 * guest_point - report a test point, which is ok if it is on all nodes
 * @good: result on this node
 *
 * All nodes call it; it is a barrier.
 */
void guest_point(struct guest *guest, bool good, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * guest_watch - run a node's part in a child, which may kill itself
 * @run: returns an exit status
 *
 * So a node whose process dies reports no failure.
 *
 * Return: the exit status, 0 for SIGKILL.
 */
int guest_watch(int (*run)(void *data), void *data);

/* guest_skip - report a test point that cannot run here */
void guest_skip(struct guest *guest, const char *name, const char *reason);

/* guest_note - print a line for people, from any node */
void guest_note(const struct guest *guest, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* guest_barrier, guest_gather - as tofu_boot_*; exit on failure */
void guest_barrier(struct guest *guest);
const uint64_t *guest_gather(struct guest *guest, const uint64_t *mine,
			     size_t words);

/**
 * guest_connect - connect a message of an exchange
 * @back: message that comes in return
 * @peer: node that it goes to
 *
 * All nodes call it at the same time, for the same message; exits on failure.
 */
void guest_connect(struct guest *guest, struct tofu_exchange *exchange,
		   unsigned int message, unsigned int back, uint32_t peer);

/**
 * guest_area - zeroed memory, registered with guest->vcq under a STAG
 * @stag: the same on all nodes, so @stadd is equal, too
 *
 * Exits on failure.
 */
void *guest_area(struct guest *guest, size_t bytes, unsigned int stag,
		 utofu_stadd_t *stadd);

/* guest_next - get the node after this one, cyclically */
uint32_t guest_next(const struct guest *guest);

/* guest_previous - get the node before this one, cyclically */
uint32_t guest_previous(const struct guest *guest);

/**
 * guest_finish - wait for the end of one command posted with GUEST_FLAGS
 * @posted: what the post returned; an error is passed on
 * @notice: filled, unless NULL
 *
 * Return: UTOFU_SUCCESS; the error of report or notice; UTOFU_ERR_NOT_COMPLETED
 * if either does not come in time.
 */
#define GUEST_FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | \
		     UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)
int guest_finish(struct guest *guest, int posted,
		 struct utofu_mrq_notice *notice);

/**
 * guest_fill, guest_wrong - write or compare bytes from a seed, at any
 * alignment
 *
 * guest_wrong returns the number of bytes that differ.
 */
void guest_fill(void *buf, size_t bytes, uint64_t seed);
size_t guest_wrong(const void *buf, size_t bytes, uint64_t seed);

/* guest_seed - mix numbers that identify a transfer into a seed */
uint64_t guest_seed(uint64_t a, uint64_t b, uint64_t c);

#endif /* TOFU_TEST_GUEST_H */
