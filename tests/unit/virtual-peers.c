// SPDX-License-Identifier: MIT
/*
 * Nodes in common virtual time, one of which does not come, stands still, dies,
 * comes late or lies. No node hangs.
 */
#define _GNU_SOURCE
#include "virtual-rings.h"
#include "virtual-runner.h"

#include "icc/internal.h"
#include "node/virtual.h"

#include "harness.h"

#define DEATH_NS 100000

static const struct scenario quiet = { .shape = "3", .machine = "fugaku",
				       .burst = 1, .poll = 1000 };
static const struct scenario pair = { .shape = "2", .machine = "fugaku",
				      .burst = 1, .poll = 1000 };
static const struct scenario busy = { .shape = "3", .machine = "fugaku",
				      .commands = 200, .burst = 4,
				      .length = 3000, .poll = 1000,
				      .seed = 11 };

static struct tofu_shm_clock *clock_of(uint8_t *base, uint32_t nodes,
				       uint32_t node)
{
	return (void *)(base + tofu_shm_clock_offset(nodes, node));
}

/* ---- One that does not come ---- */

TEST(nobody_begins_before_all_have_come)
{
	struct runner *r = calloc(3, sizeof(*r));
	struct seen_log *log = share_log();
	char path[32];
	int fd = machine_of("3", path);
	uint8_t *base = machine_map(fd, 3);

	for (uint32_t n = 0; n < 2; n++) {
		ASSERT_TRUE(runner_open(&r[n], &quiet, path, n, NULL, &log[n]));
		EXPECT_EQ(UINT64_MAX, tofu_node_run(r[n].home.node, 0));
	}
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(-EAGAIN, tofu_node_join(r[0].home.node));
		EXPECT_EQ(-EAGAIN, tofu_node_join(r[1].home.node));
	}
	EXPECT_EQ(2 + 1, clock_of(base, 3, 0)->waits_for);
	EXPECT_EQ(2 + 1, clock_of(base, 3, 1)->waits_for);
	EXPECT_FALSE(tofu_node_joined(r[0].home.node));
	EXPECT_EQ(0, tofu_node_time(r[0].home.node));

	ASSERT_TRUE(runner_open(&r[2], &quiet, path, 2, NULL, &log[2]));
	EXPECT_EQ(-EAGAIN, tofu_node_join(r[0].home.node));
	EXPECT_EQ(0, tofu_node_join(r[2].home.node));
	for (uint32_t n = 0; n < 3; n++) {
		EXPECT_EQ(0, tofu_node_join(r[n].home.node));
		EXPECT_TRUE(tofu_node_joined(r[n].home.node));
		EXPECT_EQ(0, tofu_node_time(r[n].home.node));
		EXPECT_EQ(0, clock_of(base, 3, n)->waits_for);
	}
	for (uint32_t n = 0; n < 3; n++)
		runner_close(&r[n]);
	munmap(base, tofu_shm_size(3));
	drop_log(log);
	close(fd);
	free(r);
}

TEST(who_waits_says_for_whom)
{
	struct runner *r = calloc(2, sizeof(*r));
	struct seen_log *log = share_log();
	char path[32];
	int fd = machine_of("2", path);
	uint8_t *base = machine_map(fd, 2);
	uint64_t stop;

	for (uint32_t n = 0; n < 2; n++)
		ASSERT_TRUE(runner_open(&r[n], &pair, path, n, NULL, &log[n]));
	tofu_node_join(r[0].home.node);
	ASSERT_TRUE(runner_join(&r[1]));
	ASSERT_TRUE(runner_join(&r[0]));
	stop = tofu_node_run(r[0].home.node, r[0].clock);
	EXPECT_LT(r[0].clock, stop);
	EXPECT_EQ(0, clock_of(base, 2, 0)->waits_for);
	r[0].clock = stop;
	EXPECT_EQ(stop, tofu_node_run(r[0].home.node, stop));
	EXPECT_EQ(1 + 1, clock_of(base, 2, 0)->waits_for);
	EXPECT_EQ(stop - r[0].origin, clock_of(base, 2, 0)->now);
	/* Each wait ends after a while, however often it is called. */
	for (unsigned int turn = 0; turn < 1000; turn++)
		tofu_node_wait(r[0].home.node, turn);
	/* The other node sleeps for long, and this one continues. */
	tofu_node_run(r[1].home.node, r[1].clock + 1000000);
	EXPECT_LT(stop + 900000, tofu_node_run(r[0].home.node, stop));
	EXPECT_EQ(0, clock_of(base, 2, 0)->waits_for);
	runner_close(&r[0]);
	runner_close(&r[1]);
	munmap(base, tofu_shm_size(2));
	drop_log(log);
	close(fd);
	free(r);
}

/* ---- One that stands still ---- */

/* Run a node, without its peers, as far as it comes. */
static void run_alone(struct runner *r)
{
	uint64_t stop = tofu_node_run(r->home.node, r->clock);

	while (stop > r->clock) {
		const uint64_t step = r->cpu.next + r->origin;

		r->clock = step < stop ? step : stop;
		if (step < stop)
			cpu_step(&r->cpu, r->clock - r->origin);
		stop = tofu_node_run(r->home.node, r->clock);
	}
}

/* ---- One that knows what its software will do ---- */

static const struct scenario putting = { .shape = "2", .machine = "fugaku",
					 .commands = 10, .burst = 1,
					 .length = 64, .poll = 100,
					 .seed = 3 };

FIXTURE(ahead)
{
	int fd;
	char path[32];
	uint8_t *base;
	struct runner *r;
	struct seen_log *log;
	struct tofu_node *node;
	const struct tofu_clock_words *words;
	uint64_t store;
};

/* Two nodes in common time; the first one is at its horizon. */
FIXTURE_SETUP(ahead)
{
	self->fd = machine_of("2", self->path);
	self->base = machine_map(self->fd, 2);
	self->log = share_log();
	self->r = calloc(2, sizeof(*self->r));
	for (uint32_t n = 0; n < 2; n++)
		ASSERT_TRUE(runner_open(&self->r[n], &putting, self->path, n,
					NULL, &self->log[n]));
	self->node = self->r[0].home.node;
	self->words = &clock_of(self->base, 2, 0)->words;
	self->store = tofu_preset_store_ns(tofu_preset_find(putting.machine));
	tofu_node_join(self->node);
	ASSERT_TRUE(runner_join(&self->r[1]));
	ASSERT_TRUE(runner_join(&self->r[0]));
	self->r[0].clock = tofu_node_run(self->node, self->r[0].clock);
}

FIXTURE_TEARDOWN(ahead)
{
	runner_close(&self->r[0]);
	runner_close(&self->r[1]);
	munmap(self->base, tofu_shm_size(2));
	drop_log(self->log);
	close(self->fd);
	free(self->r);
}

TEST_F(ahead, it_stops_for_events_only)
{
	struct runner *other = &self->r[1];
	const uint64_t now = self->r[0].clock;

	/* It promises so much, and waits although the other goes on a bit. */
	EXPECT_EQ(now, tofu_node_run_ahead(self->node, now + 100000));
	EXPECT_EQ(now - self->r[0].origin + 100000 + self->store,
		  self->words->promise);
	tofu_node_run(other->home.node, other->clock + 20000);
	EXPECT_EQ(now, tofu_node_run_ahead(self->node, now + 100000));
	/* All is known up to there. */
	tofu_node_run(other->home.node, other->clock + 200000);
	EXPECT_LE(now + 100000,
		  tofu_node_run_ahead(self->node, now + 100000));
}

TEST_F(ahead, an_event_makes_it_uncertain_again)
{
	const uint64_t now = self->r[0].clock;
	uint64_t stop = 0;

	/* It promises to do nothing, and the other one sends. */
	for (unsigned int i = 0; i < 1000 && stop <= now; i++) {
		stop = tofu_node_run_ahead(self->node, now + 1000000);
		run_alone(&self->r[1]);
	}
	EXPECT_GT(now + 1000000, stop);
	EXPECT_EQ(stop, tofu_node_due(self->node));
	EXPECT_EQ(0, tofu_node_handled(self->node));
	self->r[0].clock = stop;
	tofu_node_run_ahead(self->node, stop + 1000000);
	EXPECT_LT(0, tofu_node_handled(self->node));
	EXPECT_GE(stop - self->r[0].origin + self->store,
		  self->words->promise);
}

TEST(a_node_that_finds_no_room_does_not_wait_in_the_controller)
{
	static const struct scenario stream = { .shape = "2",
						.machine = "fugaku",
						.commands = 100, .burst = 8,
						.length = 30000, .poll = 100,
						.seed = 3 };
	struct runner *r = calloc(2, sizeof(*r));
	struct seen_log *log = share_log();
	char path[32];
	int fd = machine_of("2", path);

	for (uint32_t n = 0; n < 2; n++)
		ASSERT_TRUE(runner_open(&r[n], &stream, path, n, NULL,
					&log[n]));
	tofu_node_join(r[0].home.node);
	ASSERT_TRUE(runner_join(&r[1]));
	ASSERT_TRUE(runner_join(&r[0]));
	virtual_rings.bytes = TOFU_SHM_RECORD(TOFU_PKT_MTU_MAX);
	virtual_rings.inside = 0;
	while (!r[0].home.node->virtual->held_up) {
		/* The other one looks only now. */
		tofu_node_run(r[1].home.node, r[1].clock + 1000000);
		run_alone(&r[0]);
	}
	for (unsigned int turn = 0; turn < 100; turn++) {
		tofu_node_wait(r[0].home.node, turn);
		EXPECT_EQ(r[0].clock,
			  tofu_node_run(r[0].home.node, r[0].clock));
	}
	/* It continues when the other one has looked again. */
	tofu_node_run(r[1].home.node, r[1].clock + 1000000);
	tofu_node_run(r[0].home.node, r[0].clock);
	EXPECT_EQ(0, virtual_rings.inside);
	virtual_rings.bytes = 0;
	runner_close(&r[0]);
	runner_close(&r[1]);
	drop_log(log);
	close(fd);
	free(r);
}

/* ---- One that dies, one that comes late ---- */

/* Commands that ended with this status, from event number @from on. */
static unsigned int count_status(const struct seen_log *log, uint32_t from,
				 unsigned int status)
{
	unsigned int count = 0;

	for (uint32_t i = from; i < log->count; i++) {
		const struct seen *seen = &log->seen[i];

		count += seen->kind == SEEN_MRQ &&
			 TOFU_GET(seen->value, TOFU_MRQ_STATUS) == status;
	}
	return count;
}

/* A survivor: all its commands end, some of them in errors. */
static int survive(const char *path, uint32_t number, struct seen_log *log)
{
	struct runner *r = calloc(1, sizeof(*r));

	if (!runner_open(r, &busy, path, number, NULL, &log[number]) ||
	    !runner_join(r) || !runner_run(r, 4000000))
		return 1;
	if (r->cpu.left || r->cpu.under_way)
		return 2;
	if (!runner_end(r, log))
		return 3;
	runner_close(r);
	free(r);
	return count_status(&log[number], 0, TOFU_ST_PEER) ? 0 : 4;
}

static int die(const char *path, uint32_t number, struct seen_log *log)
{
	struct runner *r = calloc(1, sizeof(*r));

	if (!runner_open(r, &busy, path, number, NULL, &log[number]) ||
	    !runner_join(r) || !runner_run(r, DEATH_NS))
		return 1;
	log[number].ended = 1;
	return raise(SIGKILL);
}

TEST(a_node_that_dies_holds_nobody_up)
{
	struct seen_log *log = share_log();
	char path[32];
	int fd = machine_of("3", path);
	pid_t pid[3];

	for (uint32_t n = 0; n < 3; n++) {
		pid[n] = start_child();
		if (!pid[n])
			_exit(n == 2 ? die(path, n, log) :
				       survive(path, n, log));
	}
	EXPECT_EQ(0, end_child(pid[0]));
	EXPECT_EQ(0, end_child(pid[1]));
	EXPECT_EQ(1000 + SIGKILL, end_child(pid[2]));
	drop_log(log);
	close(fd);
}

/* Leaves, and comes again after the others have advanced, without errors. */
static int come_again(const char *path, uint32_t number, struct seen_log *log)
{
	struct runner *r = calloc(1, sizeof(*r));
	uint32_t before;

	if (!runner_open(r, &quiet, path, number, NULL, &log[number]) ||
	    !runner_join(r) || !runner_run(r, DEATH_NS))
		return 1;
	runner_close(r);
	usleep(20000);
	before = log[number].count;
	if (!runner_open(r, &busy, path, number, NULL, &log[number]) ||
	    !runner_join(r))
		return 2;
	if (tofu_node_time(r->home.node) <= DEATH_NS)
		return 3;
	r->cpu.next += tofu_node_time(r->home.node);
	if (!runner_run(r, tofu_node_time(r->home.node) + 4000000))
		return 4;
	if (r->cpu.left || r->cpu.under_way)
		return 5;
	if (count_status(&log[number], before, TOFU_ST_PEER))
		return 6;
	if (!runner_end(r, log))
		return 7;
	runner_close(r);
	free(r);
	return 0;
}

/* Runs until the node that comes again is done. */
static int go_on(const char *path, uint32_t number, struct seen_log *log)
{
	struct runner *r = calloc(1, sizeof(*r));
	uint64_t end = 0;

	if (!runner_open(r, &quiet, path, number, NULL, &log[number]) ||
	    !runner_join(r))
		return 1;
	while (!__atomic_load_n(&log[2].ended, __ATOMIC_ACQUIRE)) {
		end += 100000;
		if (!runner_run(r, end))
			return 2;
	}
	if (!runner_end(r, log))
		return 3;
	runner_close(r);
	free(r);
	return 0;
}

TEST(a_node_that_comes_late_joins_the_others)
{
	struct seen_log *log = share_log();
	char path[32];
	int fd = machine_of("3", path);
	pid_t pid[3];

	for (uint32_t n = 0; n < 3; n++) {
		pid[n] = start_child();
		if (!pid[n])
			_exit(n == 2 ? come_again(path, n, log) :
				       go_on(path, n, log));
	}
	EXPECT_EQ(0, end_child(pid[2]));
	/* The others run until then. */
	__atomic_store_n(&log[2].ended, 1, __ATOMIC_RELEASE);
	EXPECT_EQ(0, end_child(pid[0]));
	EXPECT_EQ(0, end_child(pid[1]));
	drop_log(log);
	close(fd);
}

/* ---- One that lies ---- */

#define VICTIM 0
#define ENEMY 1

/*
 * The enemy has a fabric and publishes any values; it writes those that the
 * interface would refuse straight to the file.
 */
FIXTURE(liar)
{
	int fd;
	char path[32];
	uint8_t *base;
	struct runner *victim;
	struct seen_log *log;
	struct tofu_fabric *enemy;
	struct tofu_shm_clock *clock;
	struct sink *sink;
};

/* An enemy in common time, in a new life. */
static struct tofu_fabric *enemy_come(const char *path,
				      enum tofu_clock_state state)
{
	struct tofu_fabric *enemy = attach(path, ENEMY);
	struct tofu_clock_report victim;

	if (!enemy || tofu_fabric_clock_create(enemy))
		abort();
	tofu_fabric_clock_announce(enemy, state, 0, 1000000);
	/* It connects to the victim. */
	tofu_fabric_clock_report(enemy, VICTIM, &victim);
	return enemy;
}

FIXTURE_SETUP(liar)
{
	self->fd = machine_of("2", self->path);
	self->base = machine_map(self->fd, 2);
	self->log = share_log();
	self->victim = calloc(1, sizeof(*self->victim));
	self->sink = calloc(1, sizeof(*self->sink));
	ASSERT_TRUE(runner_open(self->victim, &pair, self->path, VICTIM, NULL,
				self->log));
	self->enemy = enemy_come(self->path, TOFU_CLOCK_READY);
	self->clock = clock_of(self->base, 2, ENEMY);
	ASSERT_TRUE(runner_join(self->victim));
	ASSERT_LT(1000000, tofu_node_run(self->victim->home.node, 0) -
				   self->victim->origin);
	sink_poll(self->enemy, self->sink);
}

FIXTURE_TEARDOWN(liar)
{
	runner_close(self->victim);
	tofu_fabric_detach(self->enemy);
	munmap(self->base, tofu_shm_size(2));
	drop_log(self->log);
	free(self->victim);
	free(self->sink);
	close(self->fd);
}

static const struct tofu_log_entry good_entry = {
	.time = 2000000, .dst = ENEMY, .payload = 100, .type = TOFU_PKT_PUT
};

/* Whether the victim still counts the enemy as up; it runs in any case. */
static bool still_in(struct runner *victim)
{
	uint64_t stop = 0;

	for (int i = 0; i < 3; i++)
		stop = tofu_node_run(victim->home.node, victim->clock);
	return stop != UINT64_MAX;
}

static void bad_node(struct tofu_log_entry *entry)
{
	entry->dst = 2;
}

static void bad_payload(struct tofu_log_entry *entry)
{
	entry->payload = TOFU_PKT_MTU_MAX + 1;
}

static void bad_time(struct tofu_log_entry *entry)
{
	entry->time = UINT64_MAX;
}

static void bad_engine(struct tofu_log_entry *entry)
{
	entry->tni = TOFU_TNIS_MAX;
}

static void bad_taker(struct tofu_log_entry *entry)
{
	entry->taker = TOFU_TNIS_MAX;
}

static void bad_queue(struct tofu_log_entry *entry)
{
	entry->cq = TOFU_CQS_PER_TNI;
}

static void no_record(struct tofu_log_entry *entry)
{
	entry->dst = VICTIM;
}

TEST_F(liar, entries_are_not_believed)
{
	static void (*const lies[])(struct tofu_log_entry *) = {
		bad_node, bad_payload, bad_time, bad_engine, bad_taker, bad_queue,
		no_record,
	};

	EXPECT_TRUE(still_in(self->victim));
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct tofu_log_entry entry = good_entry;

		tofu_fabric_log_append(self->enemy, &entry);
		EXPECT_TRUE(still_in(self->victim));
		lies[i](&entry);
		tofu_fabric_log_append(self->enemy, &entry);
		EXPECT_FALSE(still_in(self->victim));

		tofu_fabric_detach(self->enemy);
		self->enemy = enemy_come(self->path, TOFU_CLOCK_JOINED);
		EXPECT_TRUE(still_in(self->victim));
	}
}

/* The victim keeps each of them until it arrives, which is never. */
TEST_F(liar, no_flood_of_entries_is_kept)
{
	const unsigned int batch = 1024;
	unsigned int sent = 0;

	while (sent < 4 * TOFU_FLYING_MAX && still_in(self->victim)) {
		for (unsigned int i = 0; i < batch; i++)
			tofu_fabric_log_append(self->enemy, &good_entry);
		sent += batch;
	}
	EXPECT_EQ(TOFU_FLYING_MAX + batch, sent);
	EXPECT_EQ(TOFU_FLYING_MAX,
		  self->victim->home.node->virtual->flying[ENEMY]);
}

TEST_F(liar, tails_are_not_believed)
{
	static const uint64_t moves[] = { TOFU_SHM_LOG + 1, -1ULL, 1ULL << 63 };

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		self->clock->words.tail += moves[i];
		EXPECT_FALSE(still_in(self->victim));
		tofu_fabric_detach(self->enemy);
		self->enemy = enemy_come(self->path, TOFU_CLOCK_JOINED);
		/* A tail behind the position already read has no effect. */
		if (i == 0)
			EXPECT_TRUE(still_in(self->victim));
		still_in(self->victim);
	}
}

/* Send a record for an engine to the victim, and append an entry for a put to 0. */
static void send_other(struct tofu_fabric *enemy, enum tofu_packet_type type,
		       uint8_t tni, uint64_t time, uint64_t said)
{
	int err;
	struct tofu_packet *pkt =
		tofu_fabric_tx_begin(enemy, VICTIM, TOFU_REQUEST, 100, &err);
	struct tofu_log_entry entry = good_entry;

	if (!pkt)
		abort();
	pkt->type = (uint8_t)type;
	pkt->dst_tni = tni;
	pkt->time = time;
	memset(pkt + 1, 0xff, 100);
	tofu_fabric_tx_commit(enemy);
	entry.dst = VICTIM;
	entry.time = said;
	tofu_fabric_log_append(enemy, &entry);
}

static void send_record(struct tofu_fabric *enemy, uint64_t time, uint64_t said)
{
	send_other(enemy, TOFU_PKT_PUT, 0, time, said);
}

/* Run the victim for @ns; returns the count of packets that it has sent. */
static uint64_t live(struct runner *victim, uint64_t ns)
{
	const uint64_t end = victim->clock + ns;

	while (victim->clock < end) {
		const uint64_t stop =
			tofu_node_run(victim->home.node, victim->clock);

		if (stop <= victim->clock)
			break;
		victim->clock = stop < end ? stop : end;
	}
	return victim->home.node->fabric->clocks[VICTIM].words->tail;
}

TEST_F(liar, a_record_must_be_what_its_entry_says)
{
	struct runner *victim = self->victim;

	/* A valid one is answered. */
	send_record(self->enemy, 1000, 1000);
	tofu_fabric_clock_publish(self->enemy, 10000000, 10000000);
	EXPECT_EQ(1, live(victim, 900000));
	/* One from the past is only late. */
	send_record(self->enemy, 0, 0);
	EXPECT_EQ(2, live(victim, 900000));
	EXPECT_TRUE(still_in(victim));

	send_record(self->enemy, 5000000, 5000001);
	EXPECT_FALSE(still_in(victim));
}

TEST_F(liar, a_record_must_be_of_the_type_that_its_entry_says)
{
	send_other(self->enemy, TOFU_PKT_GET, 0, 1000, 1000);
	EXPECT_FALSE(still_in(self->victim));
}

TEST_F(liar, a_record_must_be_for_the_engine_that_its_entry_says)
{
	send_other(self->enemy, TOFU_PKT_PUT, 1, 1000, 1000);
	EXPECT_FALSE(still_in(self->victim));
}

/* ---- One that promises no more than it must ---- */

/* When a packet on a link of the victim becomes visible; 0: there is none. */
static uint64_t crossing(const struct runner *victim)
{
	const struct tofu_heap *crossings =
		&victim->home.node->virtual->links.crossings;

	return crossings->count ? tofu_heap_time(crossings) : 0;
}

static uint64_t packets_in(struct runner *victim)
{
	uint64_t packets = 0;

	tofu_node_catch_up(victim->home.node);
	for (int port = 0; port < TOFU_PORTS; port++)
		packets += icc_reg_read(
			victim->home.icc,
			TOFU_REG_PORT(port, TOFU_PORT_RX_PACKETS), 8);
	return packets;
}

/*
 * The last instruction before a stop sees the time of the stop, so software
 * reads and stores at the horizon itself, before what is due there is known. It
 * must see the same where the horizon is far away.
 */
TEST_F(liar, software_at_the_horizon_sees_what_is_before_it)
{
	const uint64_t flight =
		tofu_preset_flight_ns(tofu_preset_find(pair.machine));
	struct runner *victim = self->victim;
	uint64_t delay;

	send_record(self->enemy, 1000000, 1000000);
	tofu_fabric_clock_publish(self->enemy, 2000000, 2000000);
	while (!crossing(victim))
		live(victim, 1);
	delay = crossing(victim) - 1000000;
	victim->clock = victim->origin + 1000000 + delay;
	EXPECT_EQ(0, packets_in(victim));
	victim->clock++;
	EXPECT_EQ(1, packets_in(victim));

	send_record(self->enemy, 2000000, 2000000);
	tofu_fabric_clock_publish(self->enemy, 2000000 + delay - flight,
				  2000000);
	live(victim, 2000000);
	ASSERT_EQ(victim->origin + 2000000 + delay, victim->clock);
	EXPECT_EQ(1, packets_in(victim));
	tofu_fabric_clock_publish(self->enemy, 3000000, 2000000);
	live(victim, 1);
	EXPECT_EQ(2, packets_in(victim));
}

/* ---- One that uses its controller, or does not ---- */

TEST_F(liar, who_has_nothing_enabled_promises_more)
{
	const uint64_t store =
		tofu_preset_store_ns(tofu_preset_find(pair.machine));
	const struct tofu_clock_words *words =
		&clock_of(self->base, 2, VICTIM)->words;
	struct runner *victim = self->victim;

	victim->home.icc->quiet_ns = 5000;
	tofu_node_run(victim->home.node, victim->clock);
	EXPECT_EQ(tofu_node_time(victim->home.node) + store, words->promise);
	icc_reset(victim->home.icc);
	tofu_node_run(victim->home.node, victim->clock);
	EXPECT_EQ(tofu_node_time(victim->home.node) + 5000 + store,
		  words->promise);
	victim->clock += 1000;
	scenario_enable(&pair, &victim->home, VICTIM);
	tofu_node_run(victim->home.node, victim->clock);
	EXPECT_EQ(tofu_node_time(victim->home.node) + 5000 + store,
		  words->promise);
	/* The promise does not move until the CQ acts. */
	victim->clock += 4000;
	tofu_node_run(victim->home.node, victim->clock);
	EXPECT_EQ(tofu_node_time(victim->home.node) + 1000 + store,
		  words->promise);
}

TEST_F(liar, words_only_hold_up_who_believes_them)
{
	const uint64_t words[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1,
				   1ULL << 63 };

	for (size_t i = 0; i < 25; i++) {
		self->clock->words.promise = words[i % 5];
		self->clock->words.counted = words[i / 5];
		self->clock->now = words[i % 5];
		self->clock->wait_promise = words[i / 5];
		self->clock->asleep = (uint32_t)words[i % 5];
		self->clock->due = (uint32_t)words[i / 5];
		self->clock->wait_on = (uint32_t)words[i % 5];
		self->clock->cpu = (uint32_t)i % 3;
		memset(clock_of(self->base, 2, VICTIM)->sleepers, 0xff,
		       sizeof(self->clock->sleepers));
		still_in(self->victim);
		for (unsigned int turn = 0; turn < 1000; turn += 150)
			tofu_node_wait(self->victim->home.node, turn);
	}
	self->clock->words.promise = UINT64_MAX;
	EXPECT_EQ(UINT64_MAX, tofu_node_run(self->victim->home.node, 0));
}

TEST_HARNESS_MAIN
