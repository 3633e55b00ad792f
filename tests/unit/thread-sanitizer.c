/* SPDX-License-Identifier: MIT */
/*
 * A function that ThreadSanitizer does not know: it would take what the lock
 * protects for unprotected. Linked into tests that it checks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define SECOND_NS 1000000000

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
			    const struct timespec *end)
{
	struct timespec now, real;
	int64_t ns;

	clock_gettime(clock, &now);
	clock_gettime(CLOCK_REALTIME, &real);
	ns = (end->tv_sec - now.tv_sec + real.tv_sec) * (int64_t)SECOND_NS +
	     end->tv_nsec - now.tv_nsec + real.tv_nsec;
	real.tv_sec = ns / SECOND_NS;
	real.tv_nsec = ns % SECOND_NS;
	return pthread_mutex_timedlock(mutex, &real);
}
