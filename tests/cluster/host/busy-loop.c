// SPDX-License-Identifier: MIT
/*
 * Preloaded into QEMU: the main loop never waits, and the processor's thread is
 * slow to leave the guest's code. So the main loop runs at every moment at
 * which a processor has halted without having reported it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEAVE_NS 500

typedef int ppoll_fn(struct pollfd *fds, nfds_t count,
		     const struct timespec *timeout, const sigset_t *mask);
typedef void longjmp_fn(sigjmp_buf env, int value);

static int in_main_loop(void)
{
	return syscall(SYS_gettid) == getpid();
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	  const sigset_t *mask)
{
	static const struct timespec none;
	ppoll_fn *real = (ppoll_fn *)dlsym(RTLD_NEXT, "ppoll");

	return real(fds, count, in_main_loop() ? &none : timeout, mask);
}

static long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void leave(const char *symbol, sigjmp_buf env, int value)
{
	longjmp_fn *real = (longjmp_fn *)dlsym(RTLD_NEXT, symbol);
	long end = now_ns() + LEAVE_NS;

	while (!in_main_loop() && now_ns() < end)
		continue;
	real(env, value);
}

void siglongjmp(sigjmp_buf env, int value)
{
	leave("siglongjmp", env, value);
	abort();
}

/* The variant that a QEMU compiled with _FORTIFY_SOURCE calls */
void __longjmp_chk(sigjmp_buf env, int value) __attribute__((noreturn));

void __longjmp_chk(sigjmp_buf env, int value)
{
	leave("__longjmp_chk", env, value);
	abort();
}
