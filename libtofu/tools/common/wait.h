/* SPDX-License-Identifier: MIT */
/*
 * Waiting for something that polling shows: at first as fast as can be, then
 * leaving the processor to others, who may be what is waited for.
 */
#ifndef TOFU_TOOLS_WAIT_H
#define TOFU_TOOLS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct tofu_wait - one wait
 * @polls:    empty polls so far
 * @began:    nanoseconds, at the first look at the clock; 0 before
 * @limit:    nanoseconds
 * @patient:  sleep after a while; else only yield
 */
struct tofu_wait {
	uint64_t polls;
	uint64_t began;
	uint64_t limit;
	bool patient;
};

/* tofu_wait_patient - a wait of up to @seconds that may end some 100 µs late */
struct tofu_wait tofu_wait_patient(unsigned int seconds);

/* tofu_wait_keen - a wait of up to @seconds that is being timed */
struct tofu_wait tofu_wait_keen(unsigned int seconds);

/**
 * tofu_wait_more - to be called after every poll that found nothing
 *
 * Return: false when the time is over.
 */
bool tofu_wait_more(struct tofu_wait *wait);

/* tofu_wait_time - nanoseconds that this has gone on for, 0 for a short while */
uint64_t tofu_wait_time(const struct tofu_wait *wait);

#endif /* TOFU_TOOLS_WAIT_H */
