/* SPDX-License-Identifier: MIT */
/*
 * A polling wait: busy at first, then it yields the processor to other
 * processes, on which it may depend.
 */
#ifndef TOFU_TOOLS_WAIT_H
#define TOFU_TOOLS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct tofu_wait - one wait
 * @polls:    empty polls so far
 * @began:    nanoseconds, when the clock was first read; 0 before
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
 * tofu_wait_more - call after every empty poll
 *
 * Return: false when the time is over.
 */
bool tofu_wait_more(struct tofu_wait *wait);

/* tofu_wait_time - nanoseconds waited, 0 for the first polls */
uint64_t tofu_wait_time(const struct tofu_wait *wait);

#endif /* TOFU_TOOLS_WAIT_H */
