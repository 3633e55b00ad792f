// SPDX-License-Identifier: MIT
/*
 * Engines that run through their lists, as an event simulation. Between two
 * events each put advances at one rate. Packets of puts on one link take turns,
 * so puts have equal shares, and what one leaves is shared by the others. The
 * same holds for the host interface, which all engines use. Where puts of other
 * processes come through, a link has less.
 */
#include "rsched/internal.h"

/* A put is counted in 10^-6 bytes, a rate in those per ns, rounded down. */
#define PARTS_PER_BYTE UINT64_C(1000000)
#define RATE_PER_MBS UINT64_C(1000)

/* The host interface: a put on any link uses it. */
#define HOST UINT64_MAX

/**
 * struct sender - an engine
 * @put:    the put that it sends, or TOFU_RSCHED_NONE
 * @left:   what is left of it, parts
 * @free:   time when it can begin the next put, ns
 * @rate:   parts per ns
 * @links:  links of the put
 * @way:    of the put
 * @settled: its rate is known
 * @idle:   it has no more puts
 */
struct sender {
	size_t put;
	uint64_t left;
	uint64_t free;
	uint64_t rate;
	uint64_t links;
	const struct tofu_rsched_way *way;
	bool settled;
	bool idle;
};

/**
 * struct turns - the state of the simulation
 * @engines: number of engines
 * @waiting: puts that no engine has picked yet
 * @now:     ns
 * @engine_rate, @link_rate, @host_rate: parts per ns
 */
struct turns {
	const struct tofu_rsched_work *work;
	unsigned int engines;
	size_t waiting;
	uint64_t now;
	uint64_t engine_rate;
	uint64_t link_rate;
	uint64_t host_rate;
	struct sender sender[TOFU_RSCHED_ENGINES_MAX];
};

static bool sends(const struct sender *sender)
{
	return sender->put != TOFU_RSCHED_NONE && sender->left;
}

/* ---- Rates ---- */

/* Links that one sender uses, and links that several processes or puts share */
static uint64_t links_used(const struct turns *turns, uint64_t *shared)
{
	uint64_t used = 0;

	*shared = 0;
	for (unsigned int e = 0; e < turns->engines; e++) {
		const struct sender *sender = &turns->sender[e];

		if (!sends(sender))
			continue;
		*shared |= (used & sender->links) | sender->way->crowded;
		used |= sender->links;
	}
	return used;
}

/* Engines that send on a link. On the host interface nobody passes by. */
static uint64_t lanes_of(const struct turns *turns, uint64_t link)
{
	uint64_t lanes = 0;

	for (unsigned int e = 0; link != HOST && e < turns->engines; e++)
		lanes += sends(&turns->sender[e]) &&
			 turns->sender[e].links & link;
	return lanes;
}

/*
 * How much of a link a byte of a put takes, in parts of @lanes + 1. At the link
 * each engine of the node there has a lane, and all that comes through has one,
 * so what comes through falls behind: of @lanes + 1 bytes, @lanes wait for the
 * whole chain, and one only for the crowd.
 */
static uint64_t weight(const struct sender *sender, uint64_t link,
		       uint64_t lanes)
{
	const struct tofu_rsched_way *way = sender->way;

	return lanes && way->crowded & link ? lanes * way->chain + way->crowd :
					      lanes + 1;
}

/* Share of a link, or of the host, for each sender that is not settled */
static uint64_t share_of(const struct turns *turns, uint64_t rate,
			 uint64_t link)
{
	const uint64_t lanes = lanes_of(turns, link);
	uint64_t left = rate * (lanes + 1), users = 0;

	for (unsigned int e = 0; e < turns->engines; e++) {
		const struct sender *sender = &turns->sender[e];

		if (!sends(sender) || !(sender->links & link))
			continue;
		if (sender->settled)
			left -= sender->rate * weight(sender, link, lanes);
		else
			users += weight(sender, link, lanes);
	}
	return users ? left / users : UINT64_MAX;
}

/* The shared link with the smallest share, or all links: the host has it */
static uint64_t narrowest(const struct turns *turns, uint64_t shared,
			  uint64_t *share)
{
	const uint64_t of_host = share_of(turns, turns->host_rate, HOST);
	uint64_t found = 0;

	if (of_host < *share) {
		*share = of_host;
		found = HOST;
	}
	for (; shared; shared &= shared - 1) {
		const uint64_t link = shared & -shared;
		const uint64_t here = share_of(turns, turns->link_rate, link);

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
	uint64_t shared, links, share;

	links_used(turns, &shared);
	for (unsigned int e = 0; e < turns->engines; e++) {
		turns->sender[e].rate = alone;
		turns->sender[e].settled = false;
	}
	/* One after the other, until only engines are the limit */
	while (share = alone, links = narrowest(turns, shared, &share)) {
		for (unsigned int e = 0; e < turns->engines; e++) {
			struct sender *sender = &turns->sender[e];

			if (sender->settled || !(sender->links & links))
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
	sender->way = &turns->work->way[index];
	sender->links = sender->way->path;
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
		       const struct tofu_rsched_starts *starts,
		       struct tofu_rsched_picker *picker,
		       struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_model *model = &work->model;
	struct turns turns = {
		.work = work,
		.engines = starts->engines,
		.waiting = work->count,
		.engine_rate = model->engine_mbs * RATE_PER_MBS,
		.link_rate = model->link_mbs * RATE_PER_MBS,
		.host_rate = model->host_mbs * RATE_PER_MBS,
	};
	uint64_t next;

	for (unsigned int e = 0; e < turns.engines; e++) {
		turns.sender[e].put = TOFU_RSCHED_NONE;
		turns.sender[e].free = starts->at[e];
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

/* ---- Lists ---- */

/**
 * struct lists - what each engine sends, in order
 * @key:  of the puts, sorted by engine
 * @next, @end: of each engine's part of @key
 */
struct lists {
	struct tofu_rsched_picker picker;
	const struct tofu_rsched_key *key;
	size_t next[TOFU_RSCHED_ENGINES_MAX];
	size_t end[TOFU_RSCHED_ENGINES_MAX];
};

static size_t list_pick(struct tofu_rsched_picker *picker, unsigned int engine,
			uint64_t busy)
{
	struct lists *lists = (struct lists *)picker;

	(void)busy;
	if (lists->next[engine] == lists->end[engine])
		return TOFU_RSCHED_NONE;
	return lists->key[lists->next[engine]++].index;
}

/* At the site that is looked at */
static bool run_here(struct tofu_rsched_work *work,
		     struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_starts starts =
		tofu_rsched_starts(work, draft);
	struct lists lists = {
		.picker.pick = list_pick,
		.key = work->key,
	};
	size_t at = 0;

	tofu_rsched_by_engine(work, draft);
	for (unsigned int e = 0; e < starts.engines; e++) {
		lists.next[e] = at;
		while (at < work->count && work->key[at].major == e)
			at++;
		lists.end[e] = at;
	}
	return tofu_rsched_turns(work, &starts, &lists.picker, draft) &&
	       tofu_rsched_collect(work, &starts, draft);
}

/*
 * Begins with the site at which other lists were slow, so that what is too slow
 * is soon given up.
 */
bool tofu_rsched_run(struct tofu_rsched_work *work,
		     struct tofu_rsched_draft *draft)
{
	const size_t first = work->slowest;
	uint64_t most = 0;
	size_t site = first;

	for (size_t i = 0; i < work->sites; i++) {
		site = (first + i) % work->sites;
		tofu_rsched_look(work, site);
		if (!run_here(work, draft)) {
			work->slowest = site;
			return false;
		}
		if (draft->end > most) {
			most = draft->end;
			work->slowest = site;
		}
	}
	if (site == work->slowest)
		return true;
	tofu_rsched_look(work, work->slowest);
	return run_here(work, draft);
}

/* ---- Round robin ---- */

bool tofu_rsched_round_robin(struct tofu_rsched_work *work, unsigned int width,
			     struct tofu_rsched_draft *draft)
{
	for (size_t i = 0; i < work->count; i++)
		draft->place[i] = (struct tofu_rsched_place){
			.engine = (uint32_t)(i % width),
			.begin_ns = i,
		};
	return tofu_rsched_run(work, draft);
}
