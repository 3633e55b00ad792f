// SPDX-License-Identifier: MIT
/*
 * A node in virtual time whose peer writes what an input says: words of its
 * clock, entries of its log, records in its rings, in and out of order. The node
 * has commands of its own, to the peer and to itself. Each of its steps ends,
 * and what it keeps of the peer is bounded.
 *
 * The input is as for icc-fuzz.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "node/virtual.h"
#include "seeds.h"
#include "virtual-runner.h"

#define VICTIM 0
#define ENEMY 1
#define NODES 2
#define STEP_NS 4096
#define BATCH 64

static const struct scenario scenario = { .shape = "2", .machine = "fugaku",
					  .commands = 100, .burst = 4,
					  .length = 9000, .poll = 200,
					  .sleeps = true, .loopback = true };

/* struct input - what is left of it; zeros follow its end */
struct input {
	const uint8_t *data;
	size_t left;
};

/**
 * struct machine - the victim, and what the enemy has
 * @time: of the enemy's entries, so that many are plausible
 */
struct machine {
	struct runner victim;
	struct tofu_fabric *enemy;
	struct tofu_shm_clock *clock;
	uint8_t *base;
	char path[32];
	int fd;
	uint64_t time;
	struct seen_log log[NODES];
};

static uint64_t take(struct input *in, size_t bytes)
{
	uint64_t value = 0;

	for (; bytes && in->left; bytes--, in->left--)
		value = value << 8 | *in->data++;
	return value;
}

/* A value near a limit, near @here, or any. */
static uint64_t take_word(struct input *in, uint64_t here)
{
	switch (take(in, 1) % 8) {
	case 0:
		return take(in, 8);
	case 1:
		return UINT64_MAX - take(in, 1);
	case 2:
		return TOFU_CLOCK_MAX - take(in, 1);
	case 3:
		return here - take(in, 2);
	default:
		return here + take(in, 2);
	}
}

/* ---- The enemy ---- */

static void come(struct machine *m, enum tofu_clock_state state)
{
	struct tofu_clock_report victim;

	m->enemy = attach(m->path, ENEMY);
	if (!m->enemy || tofu_fabric_clock_create(m->enemy))
		abort();
	tofu_fabric_clock_announce(m->enemy, state, m->time, m->time + 1000);
	/* It connects to the victim. */
	tofu_fabric_clock_report(m->enemy, VICTIM, &victim);
}

static void come_again(struct machine *m)
{
	const uint64_t now = m->victim.clock - m->victim.origin;

	tofu_fabric_detach(m->enemy);
	if (m->time < now)
		m->time = now;
	come(m, TOFU_CLOCK_JOINED);
}

static uint8_t take_type(struct input *in)
{
	static const uint8_t types[] = {
		TOFU_PKT_PUT, TOFU_PKT_GET, TOFU_PKT_ARMW, TOFU_PKT_SIGNAL,
		TOFU_PKT_DONE, TOFU_PKT_DATA, TOFU_PKT_VALUE,
	};
	const uint8_t which = (uint8_t)take(in, 1);

	return which < 224 ? types[which % sizeof(types)] : which;
}

static struct tofu_log_entry take_entry(struct machine *m, struct input *in)
{
	struct tofu_log_entry entry = {
		.tid = take(in, 2),
		.type = take_type(in),
		.tni = (uint8_t)(take(in, 1) % TOFU_TNIS_MAX),
		.cq = (uint8_t)(take(in, 1) % TOFU_CQS_PER_TNI),
		.taker = (uint8_t)(take(in, 1) % TOFU_TNIS_MAX),
		.path = (uint8_t)take(in, 1),
		.payload = (uint32_t)take(in, 2) % (TOFU_PKT_MTU_MAX + 1),
		.dst = (uint32_t)take(in, 1) % NODES,
	};

	m->time += take(in, 1);
	entry.time = m->time;
	switch (take(in, 1)) {
	case 0:
		entry.time = take_word(in, m->time);
		break;
	case 1:
		entry.payload = (uint32_t)take(in, 4);
		break;
	case 2:
		entry.dst = (uint32_t)take(in, 4);
		break;
	case 3:
		entry.tni = (uint8_t)take(in, 1);
		entry.cq = (uint8_t)take(in, 1);
		break;
	}
	return entry;
}

/* A record, whose fields beyond the entry's are any. */
static void send_record(struct machine *m, struct input *in,
			const struct tofu_log_entry *entry)
{
	const size_t payload = entry->payload <= TOFU_PKT_MTU_MAX ?
				       entry->payload :
				       0;
	int err;
	struct tofu_packet *pkt =
		tofu_fabric_tx_begin(m->enemy, VICTIM,
				     tofu_class_of(entry->type), payload, &err);

	if (!pkt)
		return;
	for (size_t i = 0; i < sizeof(*pkt); i++)
		((uint8_t *)pkt)[i] = (uint8_t)take(in, 1);
	memset(pkt + 1, (int)take(in, 1), payload);
	pkt->type = entry->type;
	pkt->time = entry->time + !take(in, 1);
	pkt->dst_tni = 0;
	pkt->dst_cq %= TOFU_CQS_PER_TNI;
	if (take(in, 1) > 15)
		pkt->flags &= (uint8_t)~TOFU_PKT_F_BLANK;
	tofu_fabric_tx_commit(m->enemy);
}

/* The interface does not take nodes that there are not. */
static void append(struct machine *m, const struct tofu_log_entry *entry)
{
	struct tofu_log_entry *log =
		(void *)(m->base + tofu_shm_log_offset(NODES, ENEMY));
	struct tofu_log_entry known = *entry;

	known.dst %= NODES;
	log[tofu_fabric_log_append(m->enemy, &known) % TOFU_SHM_LOG].dst =
		entry->dst;
}

static void log_one(struct machine *m, struct input *in)
{
	const struct tofu_log_entry entry = take_entry(m, in);

	/* Now and then the record is missing, or nobody's. */
	if ((entry.dst == VICTIM) != !take(in, 1))
		send_record(m, in, &entry);
	append(m, &entry);
}

/* Entries of one time: more than the log has, if repeated */
static void log_many(struct machine *m, struct input *in)
{
	struct tofu_log_entry entry = take_entry(m, in);

	if (entry.dst == VICTIM)
		entry.dst = ENEMY;
	for (unsigned int i = 0; i < BATCH; i++)
		append(m, &entry);
}

static void set_words(struct machine *m, struct input *in)
{
	struct tofu_clock_words *words = &m->clock->words;

	switch (take(in, 1) % 8) {
	case 0:
		words->tail += take_word(in, 0);
		break;
	case 1:
		words->start = take_word(in, words->tail);
		break;
	case 2:
		m->clock->state = take(in, 8);
		break;
	case 3:
		m->clock->now = take_word(in, m->time);
		m->clock->waits_for = (uint32_t)take(in, 4);
		break;
	case 4:
		m->clock->wait_promise = take_word(in, m->time);
		m->clock->wait_counted = take_word(in, m->time);
		m->clock->asleep = (uint32_t)take(in, 4);
		break;
	case 5:
		words->counted = take_word(in, m->time);
		break;
	default:
		words->promise = take_word(in, m->time);
		break;
	}
}

/* What it publishes when it behaves. */
static void go_on(struct machine *m, struct input *in)
{
	m->time += take(in, 1) * 8;
	tofu_fabric_clock_publish(m->enemy, m->time, m->time);
}

/* ---- The victim ---- */

static void live(struct machine *m, uint64_t ns)
{
	struct runner *r = &m->victim;
	const uint64_t end = r->clock + ns;
	uint64_t stop = tofu_node_run(r->home.node, r->clock);

	while (stop > r->clock && r->clock < end) {
		const uint64_t step = r->cpu.next + r->origin;
		const uint64_t next = step > r->clock && step < stop ? step :
								       stop;

		r->clock = next < end ? next : end;
		if (r->clock == step && step < stop)
			cpu_step(&r->cpu, step - r->origin);
		stop = tofu_node_run(r->home.node, r->clock);
		cpu_wake(&r->cpu, r->clock - r->origin);
	}
	if (r->home.node->virtual->flying[ENEMY] > TOFU_FLYING_MAX ||
	    r->home.node->virtual->coming.count > 2 * TOFU_FLYING_MAX)
		abort();
}

static void machine_begin(struct machine *m)
{
	m->fd = machine_of(scenario.shape, m->path);
	m->base = machine_map(m->fd, NODES);
	m->clock = (void *)(m->base + tofu_shm_clock_offset(NODES, ENEMY));
	if (!runner_open(&m->victim, &scenario, m->path, VICTIM, NULL, m->log))
		abort();
	come(m, TOFU_CLOCK_READY);
	if (!runner_join(&m->victim))
		abort();
}

static void machine_end(struct machine *m)
{
	runner_close(&m->victim);
	tofu_fabric_detach(m->enemy);
	munmap(m->base, tofu_shm_size(NODES));
	close(m->fd);
}

static void step(struct machine *m, struct input *in)
{
	switch (take(in, 1) % 16) {
	case 0:
		set_words(m, in);
		break;
	case 1:
		log_many(m, in);
		break;
	case 2:
		tofu_node_wait(m->victim.home.node, (unsigned int)take(in, 1));
		break;
	case 3:
		if (take(in, 1) < 32)
			come_again(m);
		break;
	case 4:
	case 5:
	case 6:
		log_one(m, in);
		break;
	case 7:
	case 8:
	case 9:
		go_on(m, in);
		break;
	default:
		live(m, take(in, 2) % STEP_NS);
		break;
	}
}

const unsigned long fuzz_inputs = 1000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct input in = { data, size };

	if (!m)
		abort();
	machine_begin(m);
	while (in.left)
		step(m, &in);
	machine_end(m);
	free(m);
	return 0;
}
