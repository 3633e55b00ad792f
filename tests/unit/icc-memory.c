// SPDX-License-Identifier: MIT
/*
 * The memory of a controller: how much it takes, and what happens where there
 * is none. One node sends to itself. The linker lets calls of the allocator go
 * through this file; the home allocates nothing while they are watched.
 */
#include "harness.h"

#include <malloc.h>

#include "icc-host.h"

#define KIB 1024
#define CQS 5
#define GATES 8
#define PACKETS 1024
#define FLIGHT 500 /* ns, more than any preset's receive_ns */
#define REGION 20000
#define NEVER UINT32_MAX

/* ---- The allocator ---- */

/**
 * struct allocator - what a controller has done with it
 * @watched: calls are the controller's
 * @left:    calls that succeed before one fails; NEVER: none fails
 * @no_lines: requests for whole cache lines fail: queues and windows
 */
static struct {
	bool watched;
	bool no_lines;
	unsigned int left;
	unsigned int calls;
	size_t bytes;
	size_t peak;
} allocator = { .left = NEVER };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *at);

static bool fails(void)
{
	if (!allocator.watched)
		return false;
	allocator.calls++;
	if (allocator.left == NEVER || (allocator.left && --allocator.left))
		return false;
	errno = ENOMEM;
	return true;
}

static void *got(void *at)
{
	if (!allocator.watched || !at)
		return at;
	allocator.bytes += malloc_usable_size(at);
	if (allocator.bytes > allocator.peak)
		allocator.peak = allocator.bytes;
	return at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : got(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : got(__real_calloc(count, size));
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	if (allocator.watched && allocator.no_lines)
		return NULL;
	return fails() ? NULL : got(__real_aligned_alloc(align, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	const size_t before = old ? malloc_usable_size(old) : 0;
	void *at;

	if (fails())
		return NULL;
	at = __real_realloc(old, size);
	if (at && allocator.watched)
		allocator.bytes -= before;
	return got(at);
}

void __wrap_free(void *at)
{
	if (allocator.watched && at)
		allocator.bytes -= malloc_usable_size(at);
	__real_free(at);
}

/* Let the call number @nth from now fail, and all after it; 0: none. */
static void fail_from(unsigned int nth)
{
	allocator.left = nth ? nth : NEVER;
	allocator.calls = 0;
}

/* ---- The network: to the node itself ---- */

struct under_way {
	uint64_t time;
	struct net_packet packet;
};

static struct {
	uint64_t now;
	struct under_way packet[PACKETS];
	unsigned int count;
} wire;

static uint64_t host_now(void *host)
{
	(void)host;
	return wire.now;
}

static struct tofu_packet *host_tx_begin(void *host, uint32_t endpoint,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	(void)host;
	(void)class_;
	(void)err;
	if (endpoint || payload > TOFU_PKT_MTU_MAX || wire.count == PACKETS)
		abort();
	return &wire.packet[wire.count].packet.pkt;
}

static void host_tx_commit(void *host)
{
	struct under_way *p = &wire.packet[wire.count++];

	(void)host;
	p->time = p->packet.pkt.time + FLIGHT;
}

static bool host_tx_room(void *host, uint32_t endpoint, enum tofu_class class_)
{
	(void)host;
	(void)endpoint;
	(void)class_;
	return wire.count < PACKETS;
}

static bool host_fence_done(void *host)
{
	(void)host;
	return true;
}

/* The packet that arrives first, and of those of one time was sent first. */
static struct under_way *first(void)
{
	struct under_way *best = NULL;

	for (unsigned int i = 0; i < wire.count; i++) {
		if (!best || wire.packet[i].time < best->time)
			best = &wire.packet[i];
	}
	return best;
}

static void receive(struct net_node *node, struct under_way *p)
{
	const struct under_way taken = *p;

	wire.count--;
	memmove(p, p + 1,
		(size_t)(&wire.packet[wire.count] - p) * sizeof(*p));
	if (node->net->mode.machine)
		icc_credit(node->icc, taken.packet.pkt.src_tni, wire.now);
	if (icc_receive(node->icc, &taken.packet.pkt, taken.packet.payload))
		abort();
}

static void run(struct net_node *node)
{
	for (;;) {
		struct under_way *p = first();
		const uint64_t next = icc_next_time(node->icc);

		if (p || next != UINT64_MAX)
			wire.now = p && p->time < next ? p->time : next;
		if (p && p->time <= wire.now)
			receive(node, p);
		else if (!icc_progress(node->icc) && !p)
			return;
	}
}

/* ---- A node with queues, of which a controller can be made anew ---- */

FIXTURE(memory)
{
	struct icc_host_ops ops;
	struct icc_params params;
	struct net *net;
	struct net_node *node;
	struct cq *cq[CQS];
	struct region *src[CQS], *dst[CQS];
};

FIXTURE_VARIANT(memory)
{
	const char *machine;
};

FIXTURE_VARIANT_ADD(memory, timed){ .machine = "k" };
FIXTURE_VARIANT_ADD(memory, untimed){ .machine = NULL };

/* Replace the controller; false: there is no memory. */
static bool make(FIXTURE_DATA(memory) * self)
{
	allocator.watched = true;
	self->node->icc = icc_create(&self->params);
	allocator.watched = false;
	return self->node->icc;
}

static void destroy(FIXTURE_DATA(memory) * self)
{
	allocator.watched = true;
	icc_destroy(self->node->icc);
	allocator.watched = false;
	self->node->icc = NULL;
}

/* Some controller is needed to make queues; another one replaces it. */
FIXTURE_SETUP(memory)
{
	const struct tofu_preset *machine =
		variant->machine ? tofu_preset_find(variant->machine) : NULL;
	const struct net_mode mode = { .mtu = 2000,
				       .doorbells = true,
				       .machine = machine };

	self->ops = net_ops;
	self->ops.now = host_now;
	self->ops.tx_begin = host_tx_begin;
	self->ops.tx_commit = host_tx_commit;
	self->ops.tx_room = host_tx_room;
	self->ops.fence_done = host_fence_done;
	self->net = net_create_with("1", 4, &mode, &self->ops);
	self->node = &self->net->node[0];
	self->params = (struct icc_params){
		.tnis = 4,
		.pages = self->node->pages,
		.mtu = mode.mtu,
		.doorbells = true,
		.machine = machine,
		.ops = &self->ops,
		.host = self->node,
	};
	ASSERT_EQ(0, tofu_shape_parse("24x18x16x2x3x2", &self->params.shape));
	for (unsigned int i = 0; i < CQS; i++) {
		struct cq *cq = cq_create(self->net, 0, i % 4, i);

		self->cq[i] = cq;
		self->src[i] = region_create(cq, 1, REGION, 256, 12, 0);
		self->dst[i] = region_create(cq, 2, REGION, 512, 12, 0);
		region_fill(self->src[i], i + 1);
	}
	destroy(self);
	allocator.bytes = 0;
	ASSERT_TRUE(make(self));
}

FIXTURE_TEARDOWN(memory)
{
	for (unsigned int i = 0; i < CQS; i++) {
		region_destroy(self->src[i]);
		region_destroy(self->dst[i]);
		cq_destroy(self->cq[i]);
	}
	if (self->node->icc || make(self))
		net_destroy(self->net);
}

/* As a driver does; true: the queue is enabled. */
static bool enable(struct cq *cq)
{
	allocator.watched = true;
	cq_settings(cq);
	cq_enable(cq);
	allocator.watched = false;
	return cq_reg(cq, TOFU_CQ_CTRL) == TOFU_CQ_CTRL_ENABLE;
}

static void reset(FIXTURE_DATA(memory) * self)
{
	allocator.watched = true;
	icc_reset(self->node->icc);
	run(self->node);
	allocator.watched = false;
}

static struct transfer transfer(FIXTURE_DATA(memory) * self, unsigned int i,
				enum tofu_command cmd, uint64_t length)
{
	const bool get = cmd == TOFU_CMD_GET;

	return (struct transfer){
		.cmd = cmd,
		.flags = ALL_NOTICES,
		.cq = self->cq[i],
		.lcl = get ? self->dst[i] : self->src[i],
		.rmt = get ? self->src[i] : self->dst[i],
		.length = length,
	};
}

static void post_and_run(FIXTURE_DATA(memory) * self, const struct transfer *t)
{
	allocator.watched = true;
	transfer_post(t);
	run(self->node);
	allocator.watched = false;
}

/* A put and a get by each queue. */
static void use(FIXTURE_DATA(memory) * self)
{
	for (unsigned int i = 0; i < CQS; i++) {
		const struct transfer put =
			transfer(self, i, TOFU_CMD_PUT, REGION);
		const struct transfer get =
			transfer(self, i, TOFU_CMD_GET, REGION);

		post_and_run(self, &put);
		post_and_run(self, &get);
	}
}

static uint64_t gate_reg(FIXTURE_DATA(memory) * self, unsigned int gate,
			 unsigned int reg)
{
	return icc_reg_read(self->node->icc, TOFU_GATE_REGS(1, gate) + reg, 8);
}

static void gate_set(FIXTURE_DATA(memory) * self, unsigned int gate,
		     unsigned int reg, uint64_t value)
{
	allocator.watched = true;
	icc_reg_write(self->node->icc, TOFU_GATE_REGS(1, gate) + reg, value, 8);
	allocator.watched = false;
}

/* A gate that signals the next one; true: it is enabled. */
static bool enable_gate(FIXTURE_DATA(memory) * self, unsigned int gate)
{
	gate_set(self, gate, TOFU_GATE_DST_LCL,
		 TOFU_SET(TOFU_LINK_GATE, gate + 1) |
			 TOFU_SET(TOFU_LINK_VALID, 1));
	gate_set(self, gate, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
	return gate_reg(self, gate, TOFU_GATE_CTRL) == TOFU_GATE_CTRL_ENABLE;
}

/* ---- How much ---- */

TEST_F(memory, an_idle_controller_is_small)
{
	reset(self);
	if (variant->machine)
		EXPECT_GT(12 * KIB, allocator.peak);
	destroy(self);
	EXPECT_EQ(0, allocator.bytes);
}

TEST_F(memory, a_controller_that_is_used_is_small)
{
	for (unsigned int i = 0; i < CQS; i++)
		ASSERT_TRUE(enable(self->cq[i]));
	for (unsigned int i = 0; i < GATES; i++)
		ASSERT_TRUE(enable_gate(self, i));
	use(self);
	harness_log(_metadata, __FILE__, __LINE__, "%zu bytes, at most %zu",
		    allocator.bytes, allocator.peak);
	if (variant->machine)
		EXPECT_GT(32 * KIB, allocator.bytes);
	destroy(self);
	EXPECT_EQ(0, allocator.bytes);
}

TEST_F(memory, reading_registers_allocates_nothing)
{
	const size_t before = allocator.bytes;

	allocator.watched = true;
	for (uint64_t offset = 0; offset < TOFU_BAR_REGS_SIZE; offset += 8)
		icc_reg_read(self->node->icc, offset, 8);
	allocator.watched = false;
	EXPECT_EQ(before, allocator.bytes);
	EXPECT_EQ(0, cq_reg(self->cq[0], TOFU_CQ_STATUS));
}

TEST_F(memory, a_reset_clears_the_pages_of_unused_queues)
{
	struct tofu_cq_page *page = self->cq[0]->page;

	page->status = 1;
	page->need_kick = 2;
	page->toq_head = 3;
	reset(self);
	EXPECT_EQ(0, page->status | page->need_kick | page->toq_head);
}

TEST_F(memory, an_untimed_queue_allocates_nothing_once_enabled)
{
	if (variant->machine)
		return;
	for (unsigned int i = 0; i < CQS; i++)
		ASSERT_TRUE(enable(self->cq[i]));
	allocator.calls = 0;
	use(self);
	EXPECT_EQ(0, allocator.calls);
	EXPECT_EQ(-1, region_differs(self->src[0], 0, self->dst[0], 0, REGION));
}

/* ---- Failures ---- */

TEST_F(memory, without_memory_no_controller_is_made)
{
	unsigned int nth = 0;
	bool made;

	destroy(self);
	do {
		fail_from(++nth);
		errno = 0;
		made = make(self);
		EXPECT_TRUE(made || errno == ENOMEM);
		EXPECT_TRUE(made || !allocator.bytes);
	} while (!made && nth < 100);
	EXPECT_TRUE(made);
	EXPECT_LT(1, nth);
}

TEST_F(memory, without_memory_a_queue_is_not_enabled_before_a_reset)
{
	const struct transfer put = transfer(self, 0, TOFU_CMD_PUT, 64);
	struct cq *cq = self->cq[0];
	unsigned int nth = 0;

	for (;;) {
		destroy(self);
		ASSERT_TRUE(make(self));
		fail_from(++nth);
		if (enable(cq))
			break;
		fail_from(0);
		EXPECT_EQ(TOFU_CQ_STATUS_BAD_CONFIG,
			  cq_reg(cq, TOFU_CQ_STATUS));
		reset(self);
		EXPECT_EQ(0, cq_reg(cq, TOFU_CQ_STATUS));
		ASSERT_TRUE(enable(cq));
		post_and_run(self, &put);
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(cq));
		ASSERT_GT(100, nth);
	}
	fail_from(0);
	EXPECT_LT(2, nth);
}

/* Only the first write finds no memory: its value is lost. */
TEST_F(memory, a_queue_without_all_its_settings_is_not_enabled)
{
	struct cq *cq = self->cq[0];

	fail_from(1);
	allocator.watched = true;
	cq_reg_set(cq, TOFU_CQ_TOQ_BASE, cq->toq);
	allocator.watched = false;
	fail_from(0);
	cq_reg_set(cq, TOFU_CQ_MRQ_BASE, cq->mrq);
	cq_reg_set(cq, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	EXPECT_EQ(0, cq_reg(cq, TOFU_CQ_CTRL));
	EXPECT_EQ(TOFU_CQ_STATUS_BAD_CONFIG, cq_reg(cq, TOFU_CQ_STATUS));
}

TEST_F(memory, without_memory_a_gate_is_not_enabled_before_a_reset)
{
	fail_from(1);
	EXPECT_FALSE(enable_gate(self, 3));
	fail_from(0);
	EXPECT_FALSE(enable_gate(self, 3));
	reset(self);
	EXPECT_TRUE(enable_gate(self, 3));
	EXPECT_TRUE(enable_gate(self, 4));
}

/* An event may be lost then, and commands with it, but nothing else. */
TEST_F(memory, nothing_breaks_when_memory_ends_under_load)
{
	for (unsigned int nth = 1; nth < 60; nth++) {
		fail_from(0);
		destroy(self);
		ASSERT_TRUE(make(self));
		for (unsigned int i = 0; i < CQS; i++)
			ASSERT_TRUE(enable(self->cq[i]));
		fail_from(nth);
		use(self);
		wire.count = 0;
	}
	fail_from(0);
	destroy(self);
	EXPECT_EQ(0, allocator.bytes);
}

TEST_F(memory, a_window_that_cannot_grow_is_small_and_works)
{
	const struct transfer put = transfer(self, 0, TOFU_CMD_PUT, 4000);

	ASSERT_TRUE(enable(self->cq[0]));
	allocator.no_lines = true;
	for (unsigned int i = 0; i < TOFU_WINDOW; i++)
		transfer_push(&put);
	allocator.watched = true;
	cq_kick(self->cq[0]);
	run(self->node);
	allocator.watched = false;
	for (unsigned int i = 0; i < TOFU_WINDOW; i++)
		EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->cq[0]));
	allocator.no_lines = false;
}

/* The target cannot keep that a packet has failed, and fails the put. */
TEST_F(memory, a_failed_put_is_not_reported_as_good)
{
	const struct transfer put = transfer(self, 0, TOFU_CMD_PUT, REGION);
	struct tofu_mrq_entry entry;
	bool remote = false;

	if (variant->machine)
		return;
	ASSERT_TRUE(enable(self->cq[0]));
	self->node->hole[0] = self->dst[0]->page[1];
	self->node->holes = 1;
	fail_from(1);
	post_and_run(self, &put);
	fail_from(0);
	while (cq_mrq(self->cq[0], &entry)) {
		remote |= TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE) ==
			  TOFU_MRQ_RMT_PUT;
		EXPECT_EQ(TOFU_ST_RMT_MEMORY,
			  TOFU_GET(entry.ctrl, TOFU_MRQ_STATUS));
	}
	EXPECT_FALSE(remote);
	EXPECT_EQ(1, cq_reg(self->cq[0], TOFU_CQ_MRQ_TAIL));
}

TEST_HARNESS_MAIN
