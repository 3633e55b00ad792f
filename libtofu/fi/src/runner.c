/* SPDX-License-Identifier: MIT */
/*
 * A thread that makes progress when the program does not: for FI_PROGRESS_AUTO, and
 * for who sleeps until a descriptor tells that something has ended. The
 * interconnect interrupts nobody, so it looks, with naps that become longer while
 * nothing happens.
 */
#include <stdlib.h>
#include <unistd.h>

#include "provider.h"

#define NAP_MIN_NS 2000
#define NAP_MAX_NS 200000

/*
 * Whoever has the lock makes progress, too: so it never waits for it, and ends soon
 * when it is told to, whatever else the program is doing then.
 */
static void *run(void *arg)
{
	struct tofu_fi_domain *domain = arg;
	struct timespec nap = { .tv_nsec = NAP_MIN_NS };
	uint64_t ended = 0;

	while (!__atomic_load_n(&domain->runner_stops, __ATOMIC_ACQUIRE)) {
		nap.tv_nsec *= 2;
		if (nap.tv_nsec > NAP_MAX_NS)
			nap.tv_nsec = NAP_MAX_NS;
		if (!pthread_mutex_trylock(&tofu_fi_mutex)) {
			tofu_fi_progress_all(domain);
			if (domain->ended != ended)
				nap.tv_nsec = NAP_MIN_NS;
			ended = domain->ended;
			pthread_mutex_unlock(&tofu_fi_mutex);
		}
		nanosleep(&nap, NULL);
	}
	return NULL;
}

/* ---- Those that are left when the program ends ---- */

static LIST_HEAD(, tofu_fi_domain) domains;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;

/* A child of fork() has none. */
static void stop(struct tofu_fi_domain *domain)
{
	domain->runs = false;
	if (getpid() != owner)
		return;
	__atomic_store_n(&domain->runner_stops, true, __ATOMIC_RELEASE);
	pthread_join(domain->runner, NULL);
}

/* They must not run when libraries are gone. */
static void stop_all(void)
{
	struct tofu_fi_domain *domain;

	if (getpid() != owner)
		return;
	pthread_mutex_lock(&lock);
	LIST_FOREACH(domain, &domains, others)
		stop(domain);
	LIST_INIT(&domains);
	pthread_mutex_unlock(&lock);
}

static void remember(struct tofu_fi_domain *domain)
{
	pthread_mutex_lock(&lock);
	if (!owner)
		atexit(stop_all);
	owner = getpid();
	LIST_INSERT_HEAD(&domains, domain, others);
	pthread_mutex_unlock(&lock);
}

/* ---- Starting and stopping ---- */

int tofu_fi_runner_start(struct tofu_fi_domain *domain)
{
	int err;

	if (domain->runs)
		return 0;
	/* From now on there are two threads, whatever the program says of its own. */
	domain->locks = true;
	err = pthread_create(&domain->runner, NULL, run, domain);
	if (err) {
		tofu_fi_warn(FI_LOG_DOMAIN, "no thread for progress: error %d\n",
			     err);
		return -err;
	}
	domain->runs = true;
	remember(domain);
	return 0;
}

void tofu_fi_runner_stop(struct tofu_fi_domain *domain)
{
	if (!domain->runs)
		return;
	pthread_mutex_lock(&lock);
	LIST_REMOVE(domain, others);
	pthread_mutex_unlock(&lock);
	stop(domain);
}
