/* SPDX-License-Identifier: MIT */
/*
 * A node's processor: the program's coroutine, the time that it spends, and its
 * sleep while it polls in vain.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "port/work.h"
#include "sim/doorbells.h"
#include "sim/sim.h"
#include "sim/task.h"
#include "utofu/error.h"

/* A nap is at least that long, and ends for programs that watch a clock. */
#define NAP_NS 100000ULL
#define NAPS_DOUBLED 10
#define OVERRUN_TURNS 61
/* A time that no run comes to: 292 years */
#define NEVER_NS (1ULL << 63)
/* A round of more polls than that is not looked for. */
#define ROUND_POLLS 64
/*
 * So many rounds without anything else are no accident, unless the loop has
 * been seen to end by itself: to do something else after some polls in vain.
 */
#define ROUNDS 16
#define ROUNDS_RESTLESS 64
/* A program that yields the processor need not wait for anything. */
#define ROUNDS_YIELD 4096

struct tofu_worked tofu_worked;

/* Other threads, which an MPI may have, run no node. */
static _Thread_local struct sim_node *running;

struct sim_node *sim_node_running(void)
{
	return running;
}

/* ---- Turns ---- */

static void run_program(void *arg)
{
	struct sim_node *node = arg;

	node->status = node->sim->params.software->run(node);
	sim_spend_work(node);
	tofu_instance_close();
}

int sim_begin(struct sim_node *node)
{
	node->task = sim_task_create(node->number - node->sim->params.first,
				     run_program, node);
	if (!node->task)
		return -ENOMEM;
	node->worked.cost = tofu_worked.cost;
	node->begun = true;
	node->wake = 0;
	return 0;
}

static void switch_in(struct sim_node *node)
{
	running = node;
	tofu_worked = node->worked;
	tofu_instance_current = node->instance;
	tofu_last_error_set(node->last_error);
	node->sim->params.software->enter(node);
	errno = node->saved_errno;
}

static void switch_out(struct sim_node *node)
{
	node->saved_errno = errno;
	node->last_error = tofu_last_error_get();
	node->worked = tofu_worked;
	running = NULL;
}

static void end(struct sim_node *node)
{
	sim_task_destroy(node->task);
	node->task = NULL;
	node->ended = true;
	node->wake = UINT64_MAX;
	node->sim->stats.running--;
	sim_doorbells_end(node);
}

static void stop_for_stack(struct sim_node *node)
{
	static char text[64];

	snprintf(text, sizeof(text),
		 "node %u needs more stack: see --stack", node->number);
	node->sim->stop = text;
}

void sim_go_on(struct sim_node *node)
{
	if (node->poll.asleep) {
		node->poll.asleep = false;
		node->poll.began = node->now;
		node->poll.naps++;
	} else {
		sim_event(node->sim, node->now);
	}
	switch_in(node);
	sim_task_resume(node->task);
	switch_out(node);
	node->sim->stats.turns++;
	/* The look at the end of the stack is a cache line that nobody else needs. */
	if ((sim_task_ended(node->task) ||
	     node->sim->stats.turns % OVERRUN_TURNS == 0) &&
	    sim_task_overrun(node->task))
		stop_for_stack(node);
	if (sim_task_ended(node->task))
		end(node);
}

/* ---- Time ---- */

void sim_spend(struct sim_node *node, uint64_t ns)
{
	if (!ns)
		return;
	node->wake = node->now + ns;
	if (node->wake < node->now || node->wake > NEVER_NS)
		node->wake = NEVER_NS;
	/* Nothing else happens here meanwhile, and nobody else has to wait. */
	if (node->wake < node->sim->until &&
	    sim_node_events(node) > node->wake &&
	    sim_node_unknown(node) > node->wake) {
		node->now = node->wake;
		return;
	}
	/* A sleep ends, however long it is, unless nobody lives to see that. */
	if (node->wake < NEVER_NS)
		sim_event(node->sim, node->wake);
	sim_task_yield(node->task);
}

/* How long memory takes to load and store @bytes */
static uint64_t memory_ns(const struct sim_node *node, uint64_t bytes)
{
	const uint32_t mbs = node->sim->params.machine->memory_mbs;

	return mbs ? tofu_preset_ps(bytes, mbs) / 1000 : 0;
}

/* The network does not wait for memory, so the processor waits for both. */
static void spend_on_memory(struct sim_node *node, uint64_t ns, uint64_t bytes)
{
	const uint64_t began = node->now, moved = node->moved;
	uint64_t end;

	sim_spend(node, ns);
	while (bytes) {
		end = began + memory_ns(node, bytes + node->moved - moved);
		if (end <= node->now)
			break;
		sim_spend(node, end - node->now);
	}
}

void sim_spend_work(struct sim_node *node)
{
	const struct tofu_worked work = tofu_worked;

	tofu_worked.ns = 0;
	tofu_worked.memory_ns = 0;
	tofu_worked.memory_bytes = 0;
	sim_spend(node, work.ns);
	spend_on_memory(node, work.memory_ns, work.memory_bytes);
}

uint64_t sim_time(const struct sim_node *node)
{
	const uint64_t ns = memory_ns(node, tofu_worked.memory_bytes);

	return node->now + tofu_worked.ns +
	       (ns > tofu_worked.memory_ns ? ns : tofu_worked.memory_ns);
}

static void round_leave(struct sim_poll *poll);

void sim_act(struct sim_node *node)
{
	sim_spend_work(node);
	if (node->now < node->poll.floor)
		sim_spend(node, node->poll.floor - node->now);
	round_leave(&node->poll);
	node->poll.naps = 0;
}

/* ---- Polls in vain ---- */

/*
 * Sleep for whole rounds, so that the end of a nap finds it where it was, and
 * for no more than are known to be alike.
 */
static void nap(struct sim_node *node, unsigned int alike)
{
	struct sim_poll *poll = &node->poll;
	const unsigned int doubled =
		poll->naps < NAPS_DOUBLED ? poll->naps : NAPS_DOUBLED;
	const uint64_t began = poll->began;
	uint64_t rounds = (NAP_NS << doubled) / poll->took + 1;

	if (node->sim->params.awake)
		return;
	if (rounds > alike)
		rounds = alike;
	poll->asleep = true;
	node->wake = node->now + rounds * poll->took;
	sim_task_yield(node->task);
	tofu_worked.skipped =
		(unsigned int)((poll->began - began) / poll->took);
}

/* The key of polls that look at nothing */
static const char yields;

/*
 * The entry of a loop, or the oldest to be used for it. Addresses are compared
 * for equality alone: where things are in memory is not the same in every run.
 */
static struct sim_loop *loop_of(struct sim_poll *poll)
{
	struct sim_loop *loop;

	for (unsigned int i = 0; i < SIM_LOOPS; i++) {
		loop = &poll->loop[i];
		if (loop->key == poll->key && loop->frame == poll->frame)
			return loop;
	}
	loop = &poll->loop[poll->oldest++ % SIM_LOOPS];
	*loop = (struct sim_loop){ .key = poll->key, .frame = poll->frame };
	return loop;
}

/* A round begins: what the library told was about the last one. */
static void turn_begin(void)
{
	tofu_worked.alike = UINT_MAX;
	tofu_worked.settle = 0;
	tofu_worked.own = false;
	tofu_worked.turn++;
	tofu_worked.skipped = 0;
}

static void round_first(struct sim_poll *poll, const void *key,
			const void *frame, uint64_t now)
{
	poll->key = key;
	poll->frame = frame;
	poll->took = loop_of(poll)->took;
	poll->again = 0;
	poll->began = now;
	poll->polls = 0;
	poll->seen = false;
	poll->quiet = 0;
	turn_begin();
}

/*
 * @told: what the library has told in this round
 *
 * Return: whether nothing but such rounds is to be expected.
 */
static bool round_last(struct sim_poll *poll, uint64_t now,
		       const struct tofu_worked *told)
{
	struct sim_loop *loop = loop_of(poll);
	const uint64_t took = now - poll->began;

	poll->quiet = poll->seen ? 0 : poll->quiet + 1;
	poll->again = took == poll->took ? poll->again + 1 : 0;
	poll->took = took;
	poll->began = now;
	poll->polls = 0;
	poll->seen = false;
	if (took != loop->took) {
		loop->took = took;
		loop->rounds = 0;
	}
	loop->rounds++;
	if (poll->quiet <= told->settle || !poll->again || !told->alike)
		return false;
	if (told->own)
		return true;
	if (poll->key == &yields)
		return poll->again >= ROUNDS_YIELD;
	return loop->restless ? poll->again >= ROUNDS_RESTLESS :
				loop->rounds >= ROUNDS;
}

/* The program does something: of its own accord, or since something was seen */
static void round_leave(struct sim_poll *poll)
{
	if (poll->key && poll->again && poll->quiet && !poll->seen)
		loop_of(poll)->restless = true;
	poll->key = NULL;
}

bool sim_poll_empty(struct sim_node *node, const void *key)
{
	struct sim_poll *poll = &node->poll;
	const void *frame = __builtin_frame_address(0);
	const bool twice = key == poll->last_key && frame == poll->last_frame;
	bool came;

	/* The round has found something, perhaps as long as others have taken. */
	if (tofu_worked.found)
		poll->seen = true;
	tofu_worked.found = false;
	poll->came = false;
	sim_spend_work(node);
	came = poll->came;
	if (poll->key == key && poll->frame == frame) {
		const struct tofu_worked told = tofu_worked;

		turn_begin();
		if (round_last(poll, node->now, &told))
			nap(node, told.alike);
	} else if (!poll->key || twice || poll->polls > ROUND_POLLS) {
		round_first(poll, key, frame, node->now);
	}
	poll->last_key = key;
	poll->last_frame = frame;
	poll->polls++;
	return came;
}

void sim_yield(struct sim_node *node)
{
	sim_poll_empty(node, &yields);
}

static void wake_at(struct sim_node *node, uint64_t time, uint64_t rounds)
{
	struct sim_poll *poll = &node->poll;

	poll->asleep = false;
	poll->naps = 0;
	poll->floor = time;
	poll->began += rounds * poll->took;
	node->wake = poll->began;
}

void sim_wake(struct sim_node *node, uint64_t time)
{
	const struct sim_poll *poll = &node->poll;

	/* What happens as a round ends is found by that round's last poll. */
	if (poll->asleep && time <= node->wake)
		wake_at(node, time,
			time > poll->began ?
				(time - poll->began - 1) / poll->took :
				0);
}

/* If that was not expected, the program goes on with the next whole round. */
void sim_see(struct sim_node *node)
{
	struct sim_poll *poll = &node->poll;

	poll->seen = true;
	poll->came = true;
	if (poll->asleep && node->now < node->wake)
		wake_at(node, node->now,
			(node->now - poll->began) / poll->took + 1);
}
