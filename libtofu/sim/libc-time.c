// SPDX-License-Identifier: MIT
/* Clocks show virtual time to a node, and sleeping takes virtual time. */

#include "sim/libc-node.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* For programs, whatever else is hidden from them */
#pragma GCC visibility push(default)

#define NS 1000000000ull
#define US 1000ull
#define MS 1000000ull

static bool in_node(void)
{
	return sim_running() >= 0;
}

static uint64_t now(void)
{
	return sim_hooks.now ? sim_hooks.now() : 0;
}

static struct timespec to_timespec(uint64_t ns, time_t epoch)
{
	return (struct timespec){
		.tv_sec = epoch + ns / NS,
		.tv_nsec = ns % NS,
	};
}

/* Later than any run ends, if it is too much for ns. */
static uint64_t to_ns(time_t sec, uint64_t ns)
{
	uint64_t sum;

	if (sec < 0)
		return 0;
	if (__builtin_mul_overflow((uint64_t)sec, NS, &sum) ||
	    __builtin_add_overflow(sum, ns, &sum))
		return UINT64_MAX;
	return sum;
}

/* ---- Clocks ---- */

static time_t epoch_of(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		return SIM_LIBC_EPOCH;
	}
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!in_node())
		return REAL(clock_gettime)(clock, time);
	*time = to_timespec(now(), epoch_of(clock));
	return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	uint64_t ns;

	if (!in_node())
		return REAL(gettimeofday)(time, zone);
	ns = now();
	time->tv_sec = SIM_LIBC_EPOCH + ns / NS;
	time->tv_usec = ns % NS / US;
	return 0;
}

time_t time(time_t *to)
{
	time_t seconds;

	if (!in_node())
		return REAL(time)(to);
	seconds = SIM_LIBC_EPOCH + now() / NS;
	if (to)
		*to = seconds;
	return seconds;
}

clock_t clock(void)
{
	if (!in_node())
		return REAL(clock)();
	return now() / (NS / CLOCKS_PER_SEC);
}

int timespec_get(struct timespec *to, int base)
{
	if (!in_node() || base != TIME_UTC)
		return REAL(timespec_get)(to, base);
	*to = to_timespec(now(), SIM_LIBC_EPOCH);
	return base;
}

/* ---- Sleep ---- */

static void spend(uint64_t ns)
{
	if (sim_hooks.spend)
		sim_hooks.spend(ns);
}

static bool is_time(const struct timespec *time)
{
	return time->tv_sec >= 0 && time->tv_nsec >= 0 &&
	       time->tv_nsec < (long)NS;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!in_node())
		return REAL(nanosleep)(time, left);
	if (!is_time(time)) {
		errno = EINVAL;
		return -1;
	}
	spend(to_ns(time->tv_sec, time->tv_nsec));
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
		    struct timespec *left)
{
	uint64_t ns;

	if (!in_node())
		return REAL(clock_nanosleep)(clock, flags, time, left);
	if (!is_time(time))
		return EINVAL;
	if (!(flags & TIMER_ABSTIME)) {
		spend(to_ns(time->tv_sec, time->tv_nsec));
		return 0;
	}
	ns = to_ns(time->tv_sec - epoch_of(clock), time->tv_nsec);
	if (time->tv_sec >= epoch_of(clock) && ns > now())
		spend(ns - now());
	return 0;
}

int usleep(useconds_t us)
{
	if (!in_node())
		return REAL(usleep)(us);
	spend(us * US);
	return 0;
}

unsigned int sleep(unsigned int seconds)
{
	if (!in_node())
		return REAL(sleep)(seconds);
	spend(seconds * NS);
	return 0;
}

int thrd_sleep(const struct timespec *time, struct timespec *left)
{
	if (!in_node())
		return REAL(thrd_sleep)(time, left);
	return nanosleep(time, left) ? -2 : 0;
}

/* Without files it is a way to sleep. */
int poll(struct pollfd *files, nfds_t count, int ms)
{
	if (!in_node() || count || ms < 0)
		return REAL(poll)(files, count, ms);
	spend(ms * MS);
	return 0;
}

int select(int count, fd_set *restrict in, fd_set *restrict out,
	   fd_set *restrict other, struct timeval *restrict time)
{
	if (!in_node() || count || !time)
		return REAL(select)(count, in, out, other, time);
	if (time->tv_sec < 0 || time->tv_usec < 0) {
		errno = EINVAL;
		return -1;
	}
	spend(to_ns(time->tv_sec, time->tv_usec * US));
	*time = (struct timeval){ 0 };
	return 0;
}

/* ---- Yield ---- */

int sched_yield(void)
{
	if (!in_node())
		return REAL(sched_yield)();
	if (sim_hooks.yield)
		sim_hooks.yield();
	return 0;
}

void thrd_yield(void)
{
	sched_yield();
}

#pragma GCC visibility pop
