// SPDX-License-Identifier: MIT
/*
 * Engines that run through their lists, as an event simulation. Between two
 * events each put advances at one rate. Packets of puts on one link take turns,
 * so puts have equal shares, and what one leaves is shared by the others.
 */
#include "rsched/internal.h"

/* A put is counted in 10^-6 bytes, a rate in those per ns: shares are exact. */
#define PARTS_PER_BYTE UINT64_C(1000000)
#define RATE_PER_MBS UINT64_C(1000)

/**
 * struct sender - an engine
 * @put:    the put that it sends, or TOFU_RSCHED_NONE
 * @left:   what is left of it, parts
 * @free:   time when it can begin the next put, ns
 * @rate:   parts per ns
 * @links:  links of the put
 * @settled: its rate is known
 * @idle:   it has no more puts
 */
struct sender {
	size_t put;
	uint64_t left;
	uint64_t free;
	uint64_t rate;
	uint64_t links;
	bool settled;
	bool idle;
};

/**
 * struct turns - the state of the simulation
 * @engines: number of engines
 * @waiting: puts that no engine has picked yet
 * @now:     ns
 * @engine_rate, @link_rate: parts per ns
 */
struct turns {
	const struct tofu_rsched_work *work;
	unsigned int engines;
	size_t waiting;
	uint64_t now;
	uint64_t engine_rate;
	uint64_t link_rate;
	struct sender sender[TOFU_RSCHED_ENGINES_MAX];
};

static bool sends(const struct sender *sender)
{
	return sender->put != TOFU_RSCHED_NONE && sender->left;
}

/* ---- Rates ---- */

/* Links that one sender uses, and links that several share */
static uint64_t links_used(const struct turns *turns, uint64_t *shared)
{
	uint64_t used = 0;

	*shared = 0;
	for (unsigned int e = 0; e < turns->engines; e++) {
		const struct sender *sender = &turns->sender[e];

		if (!sends(sender))
			continue;
		*shared |= used & sender->links;
		used |= sender->links;
	}
	return used;
}

/* Share of a link for each sender that is not settled */
static uint64_t link_share(const struct turns *turns, uint64_t link)
{
	uint64_t left = turns->link_rate, users = 0;

	for (unsigned int e = 0; e < turns->engines; e++) {
		const struct sender *sender = &turns->sender[e];

		if (!sends(sender) || !(sender->links & link))
			continue;
		if (sender->settled)
			left -= sender->rate;
		else
			users++;
	}
	return users ? left / users : UINT64_MAX;
}

/* The shared link with the smallest share */
static uint64_t narrowest(const struct turns *turns, uint64_t shared,
			  uint64_t *share)
{
	uint64_t found = 0;

	for (; shared; shared &= shared - 1) {
		const uint64_t link = shared & -shared;
		const uint64_t here = link_share(turns, link);

		if (here < *share) {
			*share = here;
			found = link;
		}
	}
	return found;
}

static void rates_settle(struct turns *turns)
{
	const uint64_t alone = turns->engine_rate < turns->link_rate ?
				       turns->engine_rate :
				       turns->link_rate;
	uint64_t shared, link, share;

	links_used(turns, &shared);
	for (unsigned int e = 0; e < turns->engines; e++) {
		struct sender *sender = &turns->sender[e];

		sender->rate = alone;
		sender->settled = !(sender->links & shared);
	}
	/* One link after the other, until only engines are the limit */
	while (share = alone, link = narrowest(turns, shared, &share)) {
		for (unsigned int e = 0; e < turns->engines; e++) {
			struct sender *sender = &turns->sender[e];

			if (sender->settled || !(sender->links & link))
				continue;
			sender->rate = share;
			sender->settled = true;
		}
	}
}

/* ---- Events ---- */

static void begin(struct turns *turns, unsigned int engine, size_t index,
		  struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_put *put = &turns->work->put[index];
	struct sender *sender = &turns->sender[engine];

	turns->waiting--;
	sender->put = index;
	sender->links = put->links;
	sender->left = put->bytes * PARTS_PER_BYTE;
	sender->free = turns->now + turns->work->model.command_ns;
	draft->place[index].engine = engine;
	draft->place[index].begin_ns = turns->now;
}

/* Gives a put to every engine that has none. */
static void pick_all(struct turns *turns, struct tofu_rsched_picker *picker,
		     struct tofu_rsched_draft *draft)
{
	uint64_t ignored, busy = links_used(turns, &ignored);

	for (unsigned int e = 0; e < turns->engines; e++) {
		struct sender *sender = &turns->sender[e];
		size_t index;

		if (sender->idle || sender->put != TOFU_RSCHED_NONE ||
		    sender->free > turns->now)
			continue;
		index = picker->pick(picker, e, busy);
		sender->idle = index == TOFU_RSCHED_NONE;
		if (sender->idle)
			continue;
		begin(turns, e, index, draft);
		busy |= sender->links;
	}
}

/* Time of the next event; UINT64_MAX: never */
static uint64_t next_event(const struct turns *turns)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int e = 0; e < turns->engines; e++) {
		const struct sender *sender = &turns->sender[e];
		uint64_t at = sender->free;

		if (sender->put == TOFU_RSCHED_NONE &&
		    (sender->idle || !turns->waiting))
			continue;
		if (sends(sender))
			at = turns->now + (sender->left + sender->rate - 1) /
						  sender->rate;
		if (at < next)
			next = at;
	}
	return next;
}

static void go_on(struct turns *turns, uint64_t to,
		  struct tofu_rsched_draft *draft)
{
	const uint64_t ns = to - turns->now;

	turns->now = to;
	for (unsigned int e = 0; e < turns->engines; e++) {
		struct sender *sender = &turns->sender[e];

		if (sends(sender))
			sender->left = sender->left / sender->rate < ns ?
					       0 :
					       sender->left - sender->rate * ns;
		if (sender->put == TOFU_RSCHED_NONE || sender->left ||
		    sender->free > to)
			continue;
		draft->place[sender->put].end_ns = to;
		draft->end = to;
		sender->put = TOFU_RSCHED_NONE;
	}
}

bool tofu_rsched_turns(const struct tofu_rsched_work *work,
		       unsigned int engines, struct tofu_rsched_picker *picker,
		       struct tofu_rsched_draft *draft)
{
	struct turns turns = {
		.work = work,
		.engines = engines,
		.waiting = work->count,
		.engine_rate = work->model.engine_mbs * RATE_PER_MBS,
		.link_rate = work->model.link_mbs * RATE_PER_MBS,
	};
	uint64_t next;

	for (unsigned int e = 0; e < engines; e++) {
		turns.sender[e].put = TOFU_RSCHED_NONE;
		turns.sender[e].free = tofu_rsched_start(&work->model, e);
	}
	draft->end = 0;
	for (;;) {
		pick_all(&turns, picker, draft);
		rates_settle(&turns);
		next = next_event(&turns);
		if (next == UINT64_MAX)
			return true;
		if (next >= work->limit)
			return false;
		go_on(&turns, next, draft);
	}
}

/* ---- Round robin ---- */

/**
 * struct robin - lists that are made by counting
 * @next:  next put of each engine
 * @width: distance from one to the next
 */
struct robin {
	struct tofu_rsched_picker picker;
	size_t next[TOFU_RSCHED_ENGINES_MAX];
	size_t count;
	unsigned int width;
};

static size_t robin_pick(struct tofu_rsched_picker *picker, unsigned int engine,
			 uint64_t busy)
{
	struct robin *robin = (struct robin *)picker;
	const size_t index = robin->next[engine];

	(void)busy;
	if (index >= robin->count)
		return TOFU_RSCHED_NONE;
	robin->next[engine] += robin->width;
	return index;
}

bool tofu_rsched_round_robin(const struct tofu_rsched_work *work,
			     unsigned int width,
			     struct tofu_rsched_draft *draft)
{
	struct robin robin = {
		.picker.pick = robin_pick,
		.count = work->count,
		.width = width,
	};

	for (unsigned int e = 0; e < width; e++)
		robin.next[e] = e;
	return tofu_rsched_turns(work, width, &robin.picker, draft);
}
