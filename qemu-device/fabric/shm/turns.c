/* SPDX-License-Identifier: MIT */
/*
 * Virtual time: nodes sleep until another node's words have moved, and take
 * turns on processors.
 *
 * Where there are fewer processors than nodes, each node keeps to one. Of the
 * nodes of a processor one is awake: it runs, or has to wait and looks which of
 * them can go on. To the one that is furthest behind it hands the processor
 * over, and sleeps. So whoever has moved its words wakes nobody: a node of
 * another processor is seen by the one that is awake there, and no wake-up
 * crosses processors, which takes longer than a turn. A node that is asleep
 * although it is its turn, because the one that should have seen it has ended
 * or been halted, wakes by itself after a turn at most, and looks whether the
 * others live.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fabric/pause.h"

#define SLEEP_NS 1000000
#define TURN_NS 2000000

/*
 * A node that looks who can go on returns after so many looks. After that many
 * turns in which nobody could, some node stands still, and it sleeps.
 */
#define LOOKS 2000
#define TURNS_IN_VAIN 16
#define PAUSES 8
/* Somebody else may need the processor. */
#define LOOKS_A_YIELD 64

static struct tofu_shm_clock *own_clock(const struct tofu_shm *shm)
{
	return tofu_shm_clock_of(shm, shm->fabric.self);
}

/* ---- Waking ---- */

static void rouse(struct tofu_shm_clock *clock)
{
	if (tofu_load(&clock->asleep) &&
	    __atomic_exchange_n(&clock->asleep, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &clock->asleep, FUTEX_WAKE, 1, NULL, NULL,
			0);
}

void tofu_turn_due(const struct tofu_shm *shm, uint32_t node)
{
	struct tofu_shm_clock *clock = tofu_shm_clock_of(shm, node);

	if (!tofu_load(&clock->cpu))
		rouse(clock);
	else if (!tofu_load(&clock->due))
		tofu_store(&clock->due, 1);
}

static bool reached(const struct tofu_shm_clock *clock,
		    const struct tofu_clock_words *words)
{
	return tofu_load(&words->promise) >= tofu_load(&clock->wait_promise) ||
	       tofu_load(&words->counted) >= tofu_load(&clock->wait_counted);
}

void tofu_turn_moved(const struct tofu_shm *shm)
{
	const struct tofu_shm_clock *own = own_clock(shm);

	for (uint32_t w = 0; w * 64 < shm->fabric.nodes; w++) {
		/* Acquire: a node writes what it waits for, then its bit. */
		uint64_t left = tofu_load_acquire(&own->sleepers[w]);

		for (; left; left &= left - 1) {
			const uint32_t node = w * 64 + __builtin_ctzll(left);

			if (node >= shm->fabric.nodes)
				break;
			if (reached(tofu_shm_clock_of(shm, node), &own->words))
				rouse(tofu_shm_clock_of(shm, node));
		}
	}
}

/* ---- Sleeping ---- */

static void fall_asleep(struct tofu_shm_clock *own)
{
	__atomic_store_n(&own->asleep, 1, __ATOMIC_SEQ_CST);
}

/* Unless it has been roused since it fell asleep. */
static void be_asleep(struct tofu_shm *shm, struct tofu_shm_clock *own, long ns)
{
	const struct timespec limit = { .tv_nsec = ns };

	if (syscall(SYS_futex, &own->asleep, FUTEX_WAIT, 1, &limit, NULL, 0) &&
	    errno == ETIMEDOUT)
		shm->alone = true;
}

/* Each node has a processor: who moves its words wakes this one. */
static void sleep_alone(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_shm_clock *other = tofu_shm_clock_of(shm, node);
	struct tofu_shm_clock *own = own_clock(shm);
	uint64_t *word = &other->sleepers[shm->fabric.self / 64];
	const uint64_t bit = 1ULL << (shm->fabric.self % 64);

	fall_asleep(own);
	__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	if (!reached(own, &other->words) && !tofu_clock_news(shm))
		be_asleep(shm, own, SLEEP_NS);
	tofu_store(&own->asleep, 0);
	__atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST);
}

/* ---- Processors ---- */

/* Keep to a processor: its number plus one; 0: there is no choice. */
static uint32_t keep_to_one(uint32_t node)
{
	cpu_set_t may, one;
	int nth;

	if (sched_getaffinity(0, sizeof(may), &may))
		return 0;
	nth = (int)(node % (uint32_t)CPU_COUNT(&may));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &may) || nth--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one) ?
			       0 :
			       (uint32_t)cpu + 1;
	}
	return 0;
}

/* A person may have moved the thread, or have told it to keep to others. */
static void settle(struct tofu_shm *shm)
{
	if (!shm->cpu || sched_getcpu() + 1 != (int)shm->cpu)
		shm->cpu = keep_to_one(shm->fabric.self);
	if (tofu_load(&own_clock(shm)->cpu) != shm->cpu)
		tofu_store(&own_clock(shm)->cpu, shm->cpu);
}

/* ---- Turns ---- */

static bool can_go_on(const struct tofu_shm *shm,
		      const struct tofu_shm_clock *clock)
{
	const uint32_t whom = tofu_load(&clock->wait_on);

	return tofu_load(&clock->due) ||
	       (whom < shm->fabric.nodes &&
		reached(clock, &tofu_shm_clock_of(shm, whom)->words));
}

/**
 * struct others - the other nodes of this processor
 * @awake: one of them is not asleep
 * @next:  the one that can go on and is furthest behind; or NULL
 */
struct others {
	bool awake;
	struct tofu_shm_clock *next;
};

static struct others look(const struct tofu_shm *shm)
{
	struct others others = { 0 };
	uint64_t least = UINT64_MAX;

	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		struct tofu_shm_clock *clock = tofu_shm_clock_of(shm, n);

		if (n == shm->fabric.self ||
		    tofu_load(&clock->cpu) != shm->cpu ||
		    !tofu_clock_state(shm, n))
			continue;
		if (!tofu_load(&clock->asleep)) {
			others.awake = true;
		} else if (tofu_load(&clock->now) < least &&
			   can_go_on(shm, clock)) {
			least = tofu_load(&clock->now);
			others.next = clock;
		}
	}
	return others;
}

/* Whether this node has slept: never all of a processor's at once. */
static bool hand_over(struct tofu_shm *shm, struct tofu_shm_clock *own)
{
	struct others others = look(shm);

	if (!others.next && !others.awake)
		return false;
	fall_asleep(own);
	/* The one that was awake may have seen this one awake, and sleep now. */
	if (!others.next)
		others = look(shm);
	if (others.next)
		rouse(others.next);
	if (others.next || others.awake)
		be_asleep(shm, own, TURN_NS);
	tofu_store(&own->asleep, 0);
	return others.next || others.awake;
}

static bool my_turn(const struct tofu_shm *shm,
		    const struct tofu_shm_clock *own)
{
	return can_go_on(shm, own) || tofu_clock_news(shm);
}

/* Some node stands still: look now and then. */
static void nap(struct tofu_shm *shm, struct tofu_shm_clock *own)
{
	fall_asleep(own);
	if (!my_turn(shm, own))
		be_asleep(shm, own, SLEEP_NS);
	tofu_store(&own->asleep, 0);
}

static void take_turns(struct tofu_shm *shm)
{
	struct tofu_shm_clock *own = own_clock(shm);

	for (unsigned int i = 1; i <= LOOKS; i++) {
		if (my_turn(shm, own) || hand_over(shm, own)) {
			shm->in_vain = 0;
			break;
		}
		tofu_pause(PAUSES);
		if (i % LOOKS_A_YIELD == 0)
			sched_yield();
		if (i == LOOKS && ++shm->in_vain > TURNS_IN_VAIN)
			nap(shm, own);
	}
	tofu_store(&own->due, 0);
}

void tofu_turn_sleep(struct tofu_fabric *fabric, uint32_t node,
		     uint64_t promise, uint64_t counted, bool crowd)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_shm_clock *own = own_clock(shm);

	if (crowd)
		settle(shm);
	tofu_store(&own->wait_on, node);
	tofu_store(&own->wait_promise, promise);
	tofu_store(&own->wait_counted, counted);
	if (crowd && shm->cpu)
		take_turns(shm);
	else
		sleep_alone(shm, node);
}

void tofu_turn_pass(struct tofu_fabric *fabric, bool leaves)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct others others;

	if (!tofu_load(&own_clock(shm)->cpu))
		return;
	others = look(shm);
	if (others.next && !others.awake)
		rouse(others.next);
	if (leaves)
		tofu_store(&own_clock(shm)->cpu, 0);
}
