/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/emu-helper.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Naps after a packet, for programs that spin on memory. */
#define NAP_NS 200000
#define NAPS 20

/*
 * Sleeps until there is something to do. Other programs may spin on memory,
 * like the one that waits for the packet just written, and keep the processor
 * until their time slices end. A thread that wakes makes the scheduler choose
 * again: hence the naps, for about as long as a slice.
 */
static void helper_sleep(struct pollfd *fd, int timeout, bool program_spins,
			     unsigned int *naps)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	int ready;

	if (timeout < 0 && *naps) {
		--*naps;
		ready = ppoll(fd, 1, &nap, NULL);
	} else {
		*naps = 0;
		ready = poll(fd, 1, timeout);
	}
	if (ready > 0 && timeout < 0 && program_spins)
		*naps = NAPS;
}

/* Serves the other nodes while the program does not poll. */
static void *helper_run(void *arg)
{
	const struct tofu_emu_helper *helper = arg;
	struct tofu_node *node = helper->node;
	struct pollfd fd = { .fd = tofu_node_fd(node), .events = POLLIN };
	const bool program_spins = getenv("TOFU_SPINS");
	unsigned int naps = 0;

	while (!__atomic_load_n(&helper->stopped, __ATOMIC_RELAXED)) {
		int timeout = tofu_node_sleep(node);

		if (!timeout)
			continue;
		helper_sleep(&fd, timeout, program_spins, &naps);
		tofu_node_awake(node);
	}
	return NULL;
}

/* Signals go to the program's threads. */
int tofu_emu_helper_start(struct tofu_emu_helper *helper,
			  struct tofu_node *node)
{
	sigset_t all, old;
	int err;

	helper->node = node;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&helper->thread, NULL, helper_run, helper);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* The eventfd that it sleeps on stays readable until it has looked. */
void tofu_emu_helper_stop(struct tofu_emu_helper *helper)
{
	__atomic_store_n(&helper->stopped, true, __ATOMIC_RELAXED);
	tofu_fabric_wake(tofu_node_fabric(helper->node));
	pthread_join(helper->thread, NULL);
}
