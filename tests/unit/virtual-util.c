// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "virtual-util.h"

#define NOTICES \
	(TOFU_TOQ_F_TCQ_NOTICE | TOFU_TOQ_F_LCL_NOTICE | TOFU_TOQ_F_RMT_NOTICE)
#define UNDER_WAY_MAX 60
#define WORDS (HOME_DATA_BYTES / 2) /* target of atomics, in the region */

/* ---- Observations ---- */

void seen_add(struct seen_log *log, uint64_t time, enum seen_kind kind,
	      uint64_t value)
{
	if (log->count < SEEN_MAX)
		log->seen[log->count] = (struct seen){ time, kind, value };
	log->count++;
}

static bool log_same(const struct seen_log *a, const struct seen_log *b,
		     uint32_t node)
{
	const uint32_t count = a->count < b->count ? a->count : b->count;

	for (uint32_t i = 0; i < count && i < SEEN_MAX; i++) {
		const struct seen *x = &a->seen[i], *y = &b->seen[i];

		if (!memcmp(x, y, sizeof(*x)))
			continue;
		fprintf(stderr,
			"# node %u, event %u: at %llu %llu %#llx, "
			"at %llu %llu %#llx\n",
			node, i, (unsigned long long)x->time,
			(unsigned long long)x->kind,
			(unsigned long long)x->value,
			(unsigned long long)y->time,
			(unsigned long long)y->kind,
			(unsigned long long)y->value);
		return false;
	}
	if (a->count != b->count)
		fprintf(stderr, "# node %u: %u and %u events\n", node, a->count,
			b->count);
	return a->count == b->count;
}

bool seen_same(const struct seen_log *a, const struct seen_log *b,
	       uint32_t nodes)
{
	for (uint32_t n = 0; n < nodes; n++) {
		if (!log_same(&a[n], &b[n], n))
			return false;
	}
	return true;
}

/* ---- The program ---- */

static uint64_t draw(struct cpu *cpu, uint64_t below)
{
	cpu->rng ^= cpu->rng << 13;
	cpu->rng ^= cpu->rng >> 7;
	cpu->rng ^= cpu->rng << 17;
	return cpu->rng % below;
}

void scenario_enable(const struct scenario *scenario, struct home *home,
		     uint32_t node)
{
	home_tables(home);
	home->session = scenario->sessions && node % 2;
	home_enable(home);
}

void cpu_create(struct cpu *cpu, const struct scenario *scenario,
		struct home *home, uint32_t node, struct seen_log *log)
{
	memset(cpu, 0, sizeof(*cpu));
	cpu->scenario = scenario;
	cpu->home = home;
	cpu->log = log;
	cpu->node = node;
	tofu_shape_parse(scenario->shape, &cpu->shape);
	cpu->nodes = tofu_shape_nodes(&cpu->shape);
	cpu->rng = (scenario->seed + 1) * 0x9e3779b97f4a7c15ULL ^
		   (node + 1) * 0xbf58476d1ce4e5b9ULL;
	cpu->left = scenario->commands;
	cpu->next = scenario->quiet + 100 + draw(cpu, 1000);
}

static uint32_t target(struct cpu *cpu)
{
	uint32_t node;

	if (cpu->nodes == 1)
		return 0;
	if (cpu->scenario->all_to_one && cpu->node)
		return 0;
	do {
		node = (uint32_t)draw(cpu, cpu->nodes);
	} while (node == cpu->node && !cpu->scenario->loopback);
	return node;
}

static struct tofu_toq_desc command(struct cpu *cpu)
{
	static const uint8_t commands[] = { TOFU_CMD_PUT, TOFU_CMD_PUT,
					    TOFU_CMD_GET,
					    TOFU_CMD_PUT_PIGGYBACK,
					    TOFU_CMD_ARMW };
	const unsigned int cmd = commands[draw(cpu, sizeof(commands))];
	struct tofu_coords to = tofu_coords_of(&cpu->shape, target(cpu));
	uint64_t length = draw(cpu, cpu->scenario->length + 1);
	uint64_t at = WORDS / 2 + draw(cpu, 64) * 64;
	struct tofu_toq_desc desc = {
		.ctrl = TOFU_SET(TOFU_TOQ_CMD, cmd) |
			TOFU_SET(TOFU_TOQ_FLAGS, NOTICES) |
			TOFU_SET(TOFU_TOQ_PATH, draw(cpu, 8)) |
			TOFU_SET(TOFU_TOQ_EDATA, draw(cpu, 256)),
		.lcl = home_addr(0),
	};

	if (cmd == TOFU_CMD_PUT_PIGGYBACK) {
		length = 8;
		at = WORDS + 8 * draw(cpu, 4);
		desc.lcl = draw(cpu, 1 << 20);
	} else if (cmd == TOFU_CMD_ARMW) {
		length = 0;
		at = WORDS + 8 * draw(cpu, 4);
		desc.lcl = draw(cpu, 1 << 20);
		desc.ctrl |= TOFU_SET(TOFU_TOQ_ARMW_OP, TOFU_ARMW_ADD) |
			     TOFU_SET(TOFU_TOQ_ARMW_8, 1);
	}
	desc.rmt = home_addr(at);
	desc.route = tofu_coords_pack(&to) |
		     TOFU_SET(TOFU_ROUTE_TNI, HOME_TNI) |
		     TOFU_SET(TOFU_ROUTE_LENGTH, length);
	return desc;
}

/* Choose blocks, MTU and gap of a put or get; returns its slots. */
static unsigned int shape_blocks(struct cpu *cpu, struct tofu_toq_desc slot[2])
{
	const struct tofu_toq_stride stride = { .stride = draw(cpu, 64) * 8,
						.blocks = 1 + draw(cpu, 5) };
	const uint64_t cmd = TOFU_GET(slot[0].ctrl, TOFU_TOQ_CMD);

	if (cmd != TOFU_CMD_PUT && cmd != TOFU_CMD_GET)
		return 1;
	if (!draw(cpu, 3))
		slot[0].ctrl |= TOFU_SET(TOFU_TOQ_GAP, draw(cpu, 256));
	if (!draw(cpu, 3))
		slot[0].ctrl |= TOFU_SET(TOFU_TOQ_MTU, draw(cpu, 256));
	if (draw(cpu, 2))
		return 1;
	slot[0].ctrl |= TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE);
	memcpy(&slot[1], &stride, sizeof(stride));
	return 2;
}

/* Post a command at the ring's tail. */
static void post_one(struct cpu *cpu)
{
	struct home *home = cpu->home;
	struct tofu_toq_desc *toq = (void *)(home->ram + HOME_TOQ);
	struct tofu_toq_desc slot[2] = { command(cpu) };
	unsigned int slots = 1;

	if (cpu->scenario->blocks)
		slots = shape_blocks(cpu, slot);
	if (cpu->scenario->sessions)
		slot[0].ctrl |= TOFU_SET(TOFU_TOQ_SPS, draw(cpu, 4));
	slot[0].ctrl |= TOFU_SET(TOFU_TOQ_FLIP, tofu_ring_flip(home->tail, 0));
	for (unsigned int i = 0; i < slots; i++)
		toq[home->tail++ % TOFU_RING_ENTRIES(0)] = slot[i];
}

static bool post(struct cpu *cpu)
{
	unsigned int count = 1 + (unsigned int)draw(cpu, cpu->scenario->burst);

	if (cpu->under_way + count > UNDER_WAY_MAX)
		return false;
	if (count > cpu->left)
		count = cpu->left;
	for (unsigned int i = 0; i < count; i++)
		post_one(cpu);
	cpu->left -= count;
	cpu->under_way += count;
	if (count)
		cpu->ring(cpu, cpu->home->tail);
	return count;
}

static void poll_rings(struct cpu *cpu, uint64_t now)
{
	struct home *home = cpu->home;
	int status;

	while ((status = home_tcq(home)) >= 0) {
		seen_add(cpu->log, now, SEEN_TCQ, (uint64_t)status);
		cpu->under_way--;
	}
	for (;;) {
		const struct tofu_mrq_entry *mrq =
			(void *)(home->ram + HOME_MRQ);
		const struct tofu_mrq_entry *entry =
			&mrq[home->mrq_read % TOFU_RING_ENTRIES(0)];

		if (home_mrq(home) < 0)
			break;
		seen_add(cpu->log, now, SEEN_MRQ, entry->ctrl);
	}
	for (int i = 0; i < 4; i++) {
		uint64_t word;

		memcpy(&word, home->data + WORDS + 8 * i, sizeof(word));
		if (word != cpu->word[i])
			seen_add(cpu->log, now, SEEN_WORD, word);
		cpu->word[i] = word;
	}
}

static void fall_asleep(struct cpu *cpu, uint64_t now)
{
	home_reg(cpu->home, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_TCQ | TOFU_CQ_IRQ_MRQ);
	cpu->irqs = cpu->home->irqs;
	cpu->asleep = true;
	cpu->next = now + 1000 + draw(cpu, 50000);
}

bool cpu_step(struct cpu *cpu, uint64_t now)
{
	bool rang = false;

	cpu->asleep = false;
	poll_rings(cpu, now);
	if (cpu->left && !draw(cpu, 3))
		rang = post(cpu);
	cpu->next = now + 1 + draw(cpu, 2 * cpu->scenario->poll);
	if (cpu->scenario->sleeps && !draw(cpu, 4))
		fall_asleep(cpu, now);
	if (!cpu->left && !cpu->under_way) {
		/* All done: do not delay the others. */
		cpu->irqs = cpu->home->irqs;
		cpu->asleep = true;
		cpu->next = now + 20000;
	}
	return rang;
}

void cpu_wake(struct cpu *cpu, uint64_t now)
{
	if (!cpu->asleep || cpu->irqs == cpu->home->irqs)
		return;
	seen_add(cpu->log, now, SEEN_WAKE, 0);
	cpu->asleep = false;
	cpu->next = now + 10;
}

bool home_alone(struct home *home, void *pages)
{
	memset(home, 0, sizeof(*home));
	home->pages = pages;
	home->ram = mmap(NULL, HOME_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	home->data = home->ram + HOME_DATA;
	home->page = (void *)(home->pages + TOFU_CQ_PAGE(HOME_TNI, HOME_CQ));
	return home->ram != MAP_FAILED;
}

void ports_see(struct cpu *cpu, uint64_t now)
{
	for (int port = 0; port < TOFU_PORTS; port++) {
		for (int c = 0; c < TOFU_PORT_COUNTERS; c++)
			seen_add(cpu->log, now, SEEN_PORT,
				 icc_reg_read(cpu->home->icc,
					      TOFU_REG_PORT(port, c), 8));
	}
}
