// SPDX-License-Identifier: MIT
/* Matching of messages with receives: order as of a plain list, and what it costs. */
#include <stdbool.h>
#include <stdlib.h>

#include "harness.h"

#include <tofu/p2p.h>

#include "p2p/match.h"

#define MANY 100000
/* Links that an operation looks at, at most: a queue a way, short chains */
#define STEPS_MAX 80
#define SEED UINT64_C(0x243f6a8885a308d3)

static uint64_t chance(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (*state >> 33) % below;
}

/* ---- Memory that is counted, and can be refused ---- */

struct account {
	size_t bytes;
	size_t peak;
	bool full;
};

static void *take(void *arg, size_t bytes)
{
	struct account *account = arg;

	if (account->full)
		return NULL;
	account->bytes += bytes;
	if (account->bytes > account->peak)
		account->peak = account->bytes;
	return calloc(1, bytes);
}

static void give(void *arg, void *memory, size_t bytes)
{
	struct account *account = arg;

	account->bytes -= bytes;
	free(memory);
}

static void init(struct p2p_match *match, struct account *account)
{
	const struct p2p_match_memory memory = {
		.take = take,
		.give = give,
		.arg = account,
	};

	p2p_match_init(match, &memory, &memory, SEED);
}

/* ---- The plain lists ---- */

/* Receives and messages, the earliest first */
struct item {
	struct p2p_match_receive receive;
	struct p2p_match_message message;
	struct p2p_match_want want;
};

struct list {
	struct item *item[MANY];
	size_t count;
};

static bool fits(const struct item *receive, const struct item *message)
{
	const struct p2p_match_want *want = &receive->want;

	return (want->any || want->source == message->want.source) &&
	       (want->tag | want->ignore) == (message->want.tag | want->ignore);
}

static struct item *list_take(struct list *list, size_t i)
{
	struct item *item = list->item[i];

	list->count--;
	for (; i < list->count; i++)
		list->item[i] = list->item[i + 1];
	return item;
}

struct machine {
	struct p2p_match match;
	struct account account;
	struct list receives;
	struct list messages;
	uint64_t chance;
	size_t matched;
	unsigned int masks;
};

/* More than have a place at a time */
static const uint64_t masks[] = {
	0, UINT64_MAX, 1, 2, 3, 1ULL << 32, 1ULL << 63, UINT64_MAX - 1,
	UINT32_MAX, UINT64_MAX - 2, 0x100000002, 0x100000003
};

#define MASKS (sizeof(masks) / sizeof(masks[0]))
#define WANTS (2 * MASKS)

static struct item *item_by_chance(struct machine *m, bool receive)
{
	static const uint64_t tags[] = { 0, 1, 2, 1ULL << 32, 1ULL << 63, UINT64_MAX };
	static const uint32_t sources[] = { 0, 1, 2, UINT32_MAX };
	struct item *item = calloc(1, sizeof(*item));

	item->want.tag = tags[chance(&m->chance, 6)];
	item->want.source = sources[chance(&m->chance, 4)];
	if (receive) {
		item->want.ignore = masks[chance(&m->chance, m->masks)];
		item->want.any = chance(&m->chance, 2);
	}
	return item;
}

/* Index of the first receive that fits, or that many */
static size_t first_receive(const struct machine *m, const struct item *message)
{
	size_t i = 0;

	while (i < m->receives.count && !fits(m->receives.item[i], message))
		i++;
	return i;
}

static size_t first_message(const struct machine *m, const struct item *receive)
{
	size_t i = 0;

	while (i < m->messages.count && !fits(receive, m->messages.item[i]))
		i++;
	return i;
}

/* A message comes: false if it goes elsewhere than the list says. */
static bool arrive(struct machine *m)
{
	struct item *item = item_by_chance(m, false);
	size_t first = first_receive(m, item);
	struct p2p_match_receive *got =
		p2p_match_posted(&m->match, item->want.source, item->want.tag);

	if (first == m->receives.count) {
		p2p_match_arrive(&m->match, &item->message, item->want.source,
				 item->want.tag);
		m->messages.item[m->messages.count++] = item;
		return !got;
	}
	free(item);
	item = list_take(&m->receives, first);
	if (got != &item->receive)
		return false;
	p2p_match_unpost(&m->match, got);
	free(item);
	m->matched++;
	return true;
}

static bool post(struct machine *m)
{
	struct item *item = item_by_chance(m, true);
	size_t first = first_message(m, item);
	struct p2p_match_message *got =
		p2p_match_arrived(&m->match, &item->want);

	if (first == m->messages.count) {
		p2p_match_post(&m->match, &item->receive, &item->want);
		m->receives.item[m->receives.count++] = item;
		return !got;
	}
	free(item);
	item = list_take(&m->messages, first);
	if (got != &item->message)
		return false;
	p2p_match_take(&m->match, got);
	free(item);
	m->matched++;
	return true;
}

static bool cancel(struct machine *m)
{
	struct item *item;

	if (!m->receives.count)
		return true;
	item = list_take(&m->receives, chance(&m->chance, m->receives.count));
	p2p_match_unpost(&m->match, &item->receive);
	free(item);
	return true;
}

static bool probe(struct machine *m)
{
	struct item *item = item_by_chance(m, true);
	size_t first = first_message(m, item);
	struct p2p_match_message *got =
		p2p_match_arrived(&m->match, &item->want);
	bool none = first == m->messages.count;

	free(item);
	return none ? !got : got == &m->messages.item[first]->message;
}

/* Phases with more messages, and phases with more receives */
static bool step(struct machine *m, size_t i)
{
	uint64_t way = chance(&m->chance, 16);
	bool more = i / 500 % 2;

	if (way == 0)
		return cancel(m);
	if (way == 1)
		return probe(m);
	return way < (more ? 11 : 7) ? arrive(m) : post(m);
}

static void drain(struct machine *m)
{
	while (m->receives.count)
		cancel(m);
	while (m->messages.count) {
		struct item *item = list_take(&m->messages, 0);

		p2p_match_take(&m->match, &item->message);
		free(item);
	}
	p2p_match_free(&m->match);
}

static struct machine machine;

static void run(struct harness_test *_metadata, bool full, unsigned int masks)
{
	size_t waiting = 0;

	machine = (struct machine){ .account = { .full = full }, .chance = 5,
				    .masks = masks };
	init(&machine.match, &machine.account);
	for (size_t i = 0; i < MANY; i++) {
		ASSERT_TRUE(step(&machine, i)) TH_LOG("operation %zu", i);
		if (machine.receives.count + machine.messages.count > waiting)
			waiting = machine.receives.count + machine.messages.count;
	}
	/* It was about something. */
	ASSERT_GT(machine.matched, MANY / 4);
	ASSERT_GT(waiting, 50);
	drain(&machine);
	ASSERT_EQ(machine.match.posted.queues, 0);
	ASSERT_EQ(machine.match.arrived.queues, 0);
	ASSERT_EQ(machine.account.bytes, 0);
}

TEST(the_order_is_that_of_a_list)
{
	run(_metadata, false, 2);
}

TEST(so_it_is_with_masks)
{
	/* All have a place; more than have one; only few of them fit in at a time */
	run(_metadata, false, 6);
	run(_metadata, false, P2P_MATCH_MASKS);
	run(_metadata, false, MASKS);
}

TEST(so_it_is_without_memory)
{
	run(_metadata, true, 2);
	run(_metadata, true, MASKS);
}

/* Memory comes and goes: masks lose the places of their messages, and get them back. */
TEST(so_it_is_when_memory_comes_and_goes)
{
	machine = (struct machine){ .chance = 7, .masks = MASKS };
	init(&machine.match, &machine.account);
	for (size_t i = 0; i < MANY; i++) {
		machine.account.full = i / 50 % 2;
		ASSERT_TRUE(step(&machine, i)) TH_LOG("operation %zu", i);
	}
	drain(&machine);
	ASSERT_EQ(machine.account.bytes, 0);
}

/* ---- Costs ---- */

static struct p2p_match_want tags_in_a_row(uint32_t i)
{
	return (struct p2p_match_want){ .tag = i };
}

static struct p2p_match_want equal_low_bits(uint32_t i)
{
	return (struct p2p_match_want){ .tag = (uint64_t)i << 40, .source = i << 15 };
}

static struct p2p_match_want sources_only(uint32_t i)
{
	return (struct p2p_match_want){ .tag = 7, .source = i << 12 };
}

static struct p2p_match_want sum_is_the_same(uint32_t i)
{
	return (struct p2p_match_want){ .tag = UINT64_MAX - i, .source = i };
}

static struct p2p_match_want all_the_same(uint32_t i)
{
	(void)i;
	return (struct p2p_match_want){ .tag = 7, .source = 9 };
}

static struct p2p_match_want any_source(uint32_t i)
{
	return (struct p2p_match_want){ .tag = i, .any = true };
}

static struct p2p_match_want any_tag(uint32_t i)
{
	return (struct p2p_match_want){ .source = i, .ignore = UINT64_MAX };
}

static struct p2p_match_want all_ways(uint32_t i)
{
	return (struct p2p_match_want){
		.tag = i / 4,
		.source = i / 4,
		.any = i % 2,
		.ignore = i % 4 < 2 ? 0 : UINT64_MAX,
	};
}

static struct p2p_match_want one_mask(uint32_t i)
{
	return (struct p2p_match_want){ .tag = 2 * i, .ignore = 1 };
}

/* Nothing, and as many masks as have a place */
#define PLACES (P2P_MATCH_MASKS - 1)

static struct p2p_match_want all_masks(uint32_t i)
{
	return (struct p2p_match_want){
		.tag = (uint64_t)i << 8,
		.ignore = i % PLACES ? 1 << i % PLACES : 0,
	};
}

static struct p2p_match_want (*const patterns[])(uint32_t) = {
	tags_in_a_row, equal_low_bits, sources_only, sum_is_the_same,
	all_the_same, any_source, any_tag, all_ways,
	one_mask, all_masks
};

#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

static struct p2p_match_receive receive[MANY];
static struct p2p_match_message message[MANY];

struct meter {
	struct account account;
	struct p2p_match match;
	uint64_t steps;
	size_t buckets;
};

/* Steps since the last call, if no table has grown in them */
static uint64_t steps_of(struct meter *meter)
{
	size_t buckets = meter->match.posted.buckets + meter->match.arrived.buckets;
	uint64_t steps = meter->match.steps - meter->steps;

	if (buckets != meter->buckets)
		steps = 0;
	meter->steps = meter->match.steps;
	meter->buckets = buckets;
	return steps;
}

/* 10^5 receives wait; then messages for them come. */
TEST(many_receives_cost_as_few)
{
	for (size_t p = 0; p < PATTERNS; p++) {
		struct meter meter = {};
		struct p2p_match *match = &meter.match;

		init(match, &meter.account);
		for (uint32_t i = 0; i < MANY; i++) {
			struct p2p_match_want key = patterns[p](i);

			p2p_match_post(match, &receive[i], &key);
			ASSERT_LE(steps_of(&meter), STEPS_MAX) TH_LOG("pattern %zu, receive %u", p, i);
		}
		ASSERT_LE(match->steps, 4 * MANY);
		for (uint32_t i = 0; i < MANY; i++) {
			struct p2p_match_want key = patterns[p](i);
			struct p2p_match_receive *got =
				p2p_match_posted(match, key.source, key.tag);

			ASSERT_NE(got, NULL);
			p2p_match_unpost(match, got);
			ASSERT_LE(steps_of(&meter), STEPS_MAX) TH_LOG("pattern %zu, message %u", p, i);
		}
		ASSERT_EQ(match->posted.queues, 0);
		p2p_match_free(match);
		ASSERT_EQ(meter.account.bytes, 0);
	}
}

TEST(many_messages_cost_as_few)
{
	for (size_t p = 0; p < PATTERNS; p++) {
		struct meter meter = {};
		struct p2p_match *match = &meter.match;
		unsigned int searches = 0;

		init(match, &meter.account);
		for (uint32_t i = 0; i < MANY; i++) {
			struct p2p_match_want key = patterns[p](i);

			p2p_match_arrive(match, &message[i], key.source, key.tag);
			ASSERT_LE(steps_of(&meter), STEPS_MAX) TH_LOG("pattern %zu, message %u", p, i);
		}
		ASSERT_LE(match->steps, 12 * MANY);
		for (uint32_t i = 0; i < MANY; i++) {
			struct p2p_match_want key = patterns[p](i);
			struct p2p_match_message *got =
				p2p_match_arrived(match, &key);

			ASSERT_NE(got, NULL);
			p2p_match_take(match, got);
			searches += steps_of(&meter) > STEPS_MAX;
		}
		/* Once a mask, to give all messages their places for it */
		ASSERT_LE(searches, P2P_MATCH_MASKS) TH_LOG("pattern %zu", p);
		ASSERT_EQ(match->arrived.queues, 0);
		p2p_match_free(match);
		ASSERT_EQ(meter.account.bytes, 0);
	}
}

/* Without receives for any source or tag, none is looked for. */
TEST(wildcards_cost_nothing_when_they_have_gone)
{
	struct account account = {};
	struct p2p_match match;
	uint64_t before;

	init(&match, &account);
	for (uint32_t i = 0; i < WANTS; i++) {
		const struct p2p_match_want want = {
			.tag = i,
			.source = i,
			.ignore = masks[i / 2],
			.any = i % 2,
		};

		p2p_match_post(&match, &receive[i], &want);
	}
	for (uint32_t i = 0; i < WANTS; i++)
		p2p_match_unpost(&match, &receive[i]);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct p2p_match_want want = { .tag = i, .source = i };

		p2p_match_post(&match, &receive[i], &want);
	}
	before = match.steps;
	for (uint32_t i = 0; i < MANY; i++)
		ASSERT_EQ(p2p_match_posted(&match, i, i), &receive[i]);
	/* One's own head, and few before it */
	ASSERT_LE(match.steps - before, 2 * MANY);
	p2p_match_free(&match);
}

/* Tables take two words a queue, and the old one while they grow. */
TEST(tables_are_bounded_by_what_waits)
{
	struct account account = {};
	struct p2p_match match;

	init(&match, &account);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct p2p_match_want want = { .tag = i, .source = i };

		p2p_match_post(&match, &receive[i], &want);
	}
	ASSERT_LE(account.peak, 3 * MANY * sizeof(void *));
	/* Messages that come and go take no more memory. */
	for (uint32_t i = 0; i < MANY; i++) {
		const struct p2p_match_want want = {
			.tag = i + MANY,
			.source = i,
		};

		p2p_match_unpost(&match, &receive[i]);
		p2p_match_post(&match, &receive[i], &want);
	}
	ASSERT_LE(account.peak, 3 * MANY * sizeof(void *));
	p2p_match_free(&match);
}

/* ---- Thresholds of machines ---- */

TEST(machines_have_thresholds)
{
	static const char *const names[] = { "k", "fx10", "fx100", "fugaku" };
	size_t eager, get;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		EXPECT_EQ(UTOFU_SUCCESS,
			  tofu_p2p_machine(names[i], &eager, &get));
		EXPECT_LT(0, eager);
		EXPECT_LE(eager, get);
	}
	eager = 77;
	EXPECT_EQ(UTOFU_ERR_NOT_FOUND, tofu_p2p_machine("?", &eager, &get));
	EXPECT_EQ(77, eager);
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_p2p_machine(NULL, &eager, &get));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_p2p_machine("k", NULL, &get));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_p2p_machine("k", &eager, NULL));
}

TEST_HARNESS_MAIN
