// SPDX-License-Identifier: MIT
/* Barrier gates: allocation, links, mappings, use and loss. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tk_harness.h"

#define SAW_THE_END 7
#define RW (PROT_READ | PROT_WRITE)
#define LINK TOFU_SET(TOFU_LINK_VALID, 1)

static int create(int dev, struct tofu_ioc_gates_create *arg)
{
	arg->size = sizeof(*arg);
	return tk_ioctl(dev, TOFU_IOC_GATES_CREATE, arg);
}

/* ---- Which ones one gets ---- */

TEST_F(tofu, info_says_how_many_there_are)
{
	struct tk_gates gates;

	ASSERT_EQ(0, tk_gates_create(&gates, 0, 1));
	EXPECT_EQ(TOFU_GATES, gates.info.gates);
	tk_gates_close(&gates);
}

TEST_F(tofu, a_channel_and_relays)
{
	struct tk_gates a, b;
	int i;

	ASSERT_EQ(0, tk_gates_create(&a, 0, 3));
	EXPECT_EQ(FD_CLOEXEC, fcntl(a.fd, F_GETFD));
	EXPECT_EQ(0, a.create.gate[0]);
	EXPECT_EQ(16, a.create.gate[1]);
	EXPECT_EQ(17, a.create.gate[2]);
	for (i = 3; i < TOFU_GATES; i++)
		EXPECT_EQ(0, a.create.gate[i]);
	EXPECT_EQ(3, tk_count("gates"));
	ASSERT_EQ(0, tk_gates_create(&b, 0, 2));
	EXPECT_EQ(1, b.create.gate[0]);
	EXPECT_EQ(18, b.create.gate[1]);
	EXPECT_EQ(5, tk_count("gates"));
	tk_gates_close(&a);
	EXPECT_EQ(2, tk_count("gates"));

	ASSERT_EQ(0, tk_gates_create(&a, 0, 2));
	EXPECT_EQ(0, a.create.gate[0]);
	EXPECT_EQ(16, a.create.gate[1]);
	tk_gates_close(&a);
	tk_gates_close(&b);
}

TEST_F(tofu, relays_that_could_have_a_channel_go_last)
{
	struct tk_gates a, b, c;

	ASSERT_EQ(0, tk_gates_create(&a, 0, 1 + 31));
	EXPECT_EQ(46, a.create.gate[31]);
	ASSERT_EQ(0, tk_gates_create(&b, 0, 1 + 3));
	EXPECT_EQ(1, b.create.gate[0]);
	EXPECT_EQ(47, b.create.gate[1]);
	EXPECT_EQ(15, b.create.gate[2]);
	EXPECT_EQ(14, b.create.gate[3]);
	/* Twelve are free. */
	EXPECT_EQ(-ENOSPC, tk_gates_create(&c, 0, 13));
	EXPECT_EQ(32 + 4, tk_count("gates"));
	ASSERT_EQ(0, tk_gates_create(&c, 0, 12));
	EXPECT_EQ(2, c.create.gate[0]);
	EXPECT_EQ(13, c.create.gate[1]);
	EXPECT_EQ(3, c.create.gate[11]);
	tk_gates_close(&a);
	tk_gates_close(&b);
	tk_gates_close(&c);
}

TEST_F(tofu, running_out)
{
	struct tk_gates all, other;

	ASSERT_EQ(0, tk_gates_create(&all, 0, TOFU_GATES));
	EXPECT_EQ(TOFU_GATES, tk_count("gates"));
	EXPECT_EQ(-ENOSPC, tk_gates_create(&other, 0, 1));
	ASSERT_EQ(0, tk_gates_create(&other, 1, TOFU_GATES))
		TH_LOG("each TNI has its own");
	tk_gates_close(&other);
	tk_gates_close(&all);
	ASSERT_EQ(0, tk_gates_create(&all, 0, TOFU_GATES));
	tk_gates_close(&all);
}

TEST_F(tofu, running_out_of_channels)
{
	struct tk_gates gates[TOFU_CHANNELS], other;
	int i;

	for (i = 0; i < TOFU_CHANNELS; i++) {
		ASSERT_EQ(0, tk_gates_create(&gates[i], 0, 1));
		EXPECT_EQ(i, gates[i].create.gate[0]);
	}
	EXPECT_EQ(-ENOSPC, tk_gates_create(&other, 0, 1));
	EXPECT_EQ(TOFU_CHANNELS, tk_count("gates"));
	tk_gates_close(&gates[7]);
	ASSERT_EQ(0, tk_gates_create(&other, 0, 2));
	EXPECT_EQ(7, other.create.gate[0]);
	tk_gates_close(&other);
	for (i = 0; i < TOFU_CHANNELS; i++)
		if (i != 7)
			tk_gates_close(&gates[i]);
}

TEST_F(tofu, a_user_cannot_have_all_channels)
{
	int limit = tk_param("channels_per_user");
	struct tk_gates gates[TOFU_CHANNELS], other;
	int i;

	ASSERT_LT(0, limit);
	ASSERT_LT(limit, TOFU_CHANNELS);
	ASSERT_EQ(0, tk_become(1000));
	for (i = 0; i < limit; i++)
		ASSERT_EQ(0, tk_gates_create(&gates[i], 0, 1));
	EXPECT_EQ(-ENOSPC, tk_gates_create(&other, 0, 1));
	ASSERT_EQ(0, tk_gates_create(&other, 1, 1));
	tk_gates_close(&other);
	ASSERT_EQ(0, tk_become(1001));
	ASSERT_EQ(0, tk_gates_create(&other, 0, 1));
	tk_gates_close(&other);
	ASSERT_EQ(0, tk_become(0));
	for (i = 0; i < limit; i++)
		tk_gates_close(&gates[i]);
}

TEST_F(tofu, a_user_cannot_have_all_gates)
{
	int limit = tk_param("gates_per_user");
	struct tk_gates gates, other;

	ASSERT_LT(1, limit);
	ASSERT_LT(limit, TOFU_GATES);
	ASSERT_EQ(0, tk_become(1000));
	EXPECT_EQ(-ENOSPC, tk_gates_create(&gates, 0, limit + 1));
	ASSERT_EQ(0, tk_gates_create(&gates, 0, limit));
	EXPECT_EQ(-ENOSPC, tk_gates_create(&other, 0, 1));
	ASSERT_EQ(0, tk_become(1001));
	ASSERT_EQ(0, tk_gates_create(&other, 0, TOFU_GATES - limit));
	tk_gates_close(&other);
	ASSERT_EQ(0, tk_become(0));
	tk_gates_close(&gates);
}

TEST_F(tofu, running_out_of_descriptors)
{
	struct tofu_ioc_gates_create arg = { .count = 2 };
	struct rlimit before, none;
	int dev = tk_open();

	ASSERT_LE(0, dev);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, create(dev, &arg));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
	EXPECT_EQ(0, tk_count("gates"));
	close(dev);
}

/* ---- Fields ---- */

TEST_F(tofu, create_fields)
{
	struct tofu_ioc_gates_create bad[] = {
		{ .count = 1, .flags = 1 },
		{ .count = 1, .flags = 1U << 31 },
		{ .count = 1, .reserved = 1 },
		{ .count = 1, .tni = TOFU_TNIS_MAX },
		{ .count = 1, .tni = UINT32_MAX },
		{ .count = 1, .gate[0] = 1 },
		{ .count = 1, .gate[TOFU_GATES - 1] = 1 },
		{ .count = 0 },
		{ .count = TOFU_GATES + 1 },
		{ .count = UINT32_MAX },
	};
	int dev = tk_open();
	size_t i;

	ASSERT_LE(0, dev);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, create(dev, &bad[i]))
			TH_LOG("row %zu", i);
	close(dev);
}

TEST_F(tofu, an_answer_that_cannot_be_written_undoes_it)
{
	struct tofu_ioc_gates_create *arg;
	int dev = tk_open();

	ASSERT_LE(0, dev);
	arg = mmap(NULL, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	arg->size = sizeof(*arg);
	arg->count = 4;
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, tk_ioctl(dev, TOFU_IOC_GATES_CREATE, arg));
	EXPECT_EQ(0, tk_count("gates"));
	munmap(arg, 4096);
	close(dev);
}

TEST_F(tofu, set_fields)
{
	const uint64_t nowhere = LINK | TOFU_SET(TOFU_LINK_COORDS,
						 TOFU_SET(TOFU_ROUTE_X, 255));
	const struct tofu_ioc_gate_set bad[] = {
		{ .flags = 1 },
		{ .reserved = 1 },
		/* There is no link, so it must have no fields. */
		{ .src_lcl = TOFU_SET(TOFU_LINK_GATE, 1) },
		{ .src_rmt = TOFU_SET(TOFU_LINK_GATE, 1) },
		{ .dst_lcl = TOFU_SET(TOFU_LINK_GATE, 1) },
		{ .dst_rmt = TOFU_SET(TOFU_LINK_GATE, 1) },
		{ .src_lcl = LINK | TOFU_SET(TOFU_LINK_GATE, TOFU_GATES) },
		{ .src_rmt = LINK | TOFU_SET(TOFU_LINK_GATE, TOFU_GATES) },
		{ .dst_lcl = LINK | TOFU_SET(TOFU_LINK_GATE, TOFU_GATES) },
		{ .dst_rmt = LINK | TOFU_SET(TOFU_LINK_GATE, 255) },
		{ .src_rmt = LINK | TOFU_SET(TOFU_LINK_TNI, TOFU_TNIS_MAX) },
		{ .dst_rmt = LINK | TOFU_SET(TOFU_LINK_TNI, 7) },
		{ .src_rmt = nowhere },
		{ .dst_rmt = nowhere },
		/* Bits that this kind of link does not have */
		{ .src_lcl = LINK | TOFU_SET(TOFU_LINK_TNI, 1) },
		{ .dst_lcl = LINK | TOFU_SET(TOFU_LINK_COORDS, 1) },
		{ .dst_lcl = LINK | TOFU_SET(TOFU_LINK_PATH, 1) },
		{ .src_rmt = LINK | TOFU_SET(TOFU_LINK_PATH, 1) },
		{ .src_rmt = LINK | 1ULL << 31 },
		{ .dst_rmt = LINK | 1ULL << 62 },
		/* There are three values of pb. */
		{ .dst_rmt = LINK | TOFU_SET(TOFU_LINK_PATH,
					     TOFU_SET(TOFU_PATH_B, 3)) },
	};
	struct tk_gates gates;
	size_t i;

	ASSERT_EQ(0, tk_gates_create(&gates, 0, 2));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, tk_gate_set(&gates, 1, bad[i]))
			TH_LOG("row %zu", i);
	EXPECT_EQ(-EINVAL, tk_gate_set(&gates, 2, (struct tofu_ioc_gate_set){
						  .flags = 0 }));
	EXPECT_EQ(-EINVAL, tk_gate_set(&gates, UINT32_MAX,
				       (struct tofu_ioc_gate_set){
				       .flags = 0 }));
	tk_gates_close(&gates);
}

/* Another user's gate is a valid target, and so is an unused one. */
TEST_F(tofu, any_gate_can_be_named)
{
	const struct tofu_ioc_gate_set arg = {
		.src_lcl = LINK | TOFU_SET(TOFU_LINK_GATE, 47),
		.src_rmt = LINK | TOFU_SET(TOFU_LINK_GATE, 47),
		.dst_lcl = LINK | TOFU_SET(TOFU_LINK_GATE, 46),
		.dst_rmt = LINK | TOFU_SET(TOFU_LINK_GATE, 46) |
			   TOFU_SET(TOFU_LINK_TNI, 1),
	};
	struct tk_gates gates;

	ASSERT_EQ(0, tk_gates_create(&gates, 0, 2));
	EXPECT_EQ(0, tk_gate_set(&gates, 0, arg));
	EXPECT_EQ(0, tk_gate_set(&gates, 1, arg));
	tk_gates_close(&gates);
}

/* ---- Mappings ---- */

/* Returns 0, or the errno of mmap(); unmaps a successful mapping. */
static int try_map(int fd, uint64_t key, size_t length, int prot, int flags)
{
	void *at = mmap(NULL, length, prot, flags, fd, key);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, length);
	return 0;
}

TEST_F(tofu, what_can_be_mapped)
{
	struct tk_gates gates;
	struct tk_cq cq;
	int i;

	ASSERT_EQ(0, tk_gates_create(&gates, 0, 1));
	for (i = 0; i < TOFU_GATES_MAPS; i++) {
		const struct tofu_map *map = &gates.create.map[i];

		EXPECT_EQ(4096, map->length);
		EXPECT_EQ(0, map->reserved);
		EXPECT_EQ(0, try_map(gates.fd, map->key, 4096, RW, MAP_SHARED));
		EXPECT_EQ(-EINVAL, try_map(gates.fd, map->key, 4096, RW,
					   MAP_PRIVATE));
		EXPECT_EQ(-EINVAL, try_map(gates.fd, map->key, 4096,
					   RW | PROT_EXEC, MAP_SHARED));
		EXPECT_EQ(-EINVAL, try_map(gates.fd, map->key, 8192, RW,
					   MAP_SHARED));
		EXPECT_EQ(-EINVAL, try_map(gates.fd, map->key + 4096, 4096, RW,
					   MAP_SHARED));
	}
	EXPECT_EQ(TOFU_MAP_CACHED,
		  gates.create.map[TOFU_GATES_MAP_CHANNEL].cache);
	EXPECT_EQ(TOFU_MAP_UNCACHED,
		  gates.create.map[TOFU_GATES_MAP_START].cache);
	EXPECT_EQ(-EINVAL, try_map(gates.fd, 0, 4096, RW, MAP_SHARED));

	/* A CQ has more. */
	ASSERT_EQ(0, tk_cq_create(&cq));
	for (i = TOFU_GATES_MAPS; i < TOFU_MAPS; i++)
		EXPECT_EQ(-EINVAL, try_map(gates.fd, cq.create.map[i].key,
					   cq.create.map[i].length, RW,
					   MAP_SHARED));
	tk_cq_close(&cq);
	tk_gates_close(&gates);
}

TEST_F(tofu, a_new_channel_is_empty_whatever_the_last_owner_left)
{
	static const struct tofu_channel empty;
	struct tk_gates gates;

	ASSERT_EQ(0, tk_gates_open(&gates, 0, 1));
	memset(tk_channel(&gates), 0xa5, 4096);
	tk_gates_close(&gates);
	ASSERT_EQ(0, tk_gates_open(&gates, 0, 1));
	EXPECT_EQ(0, memcmp(tk_channel(&gates), &empty, sizeof(empty)));
	tk_gates_close(&gates);
}

TEST_F(tofu, mappings_outlive_the_descriptor)
{
	struct tk_gates gates;

	ASSERT_EQ(0, tk_gates_open(&gates, 0, 1));
	ASSERT_EQ(0, tk_gate_set(&gates, 0, (struct tofu_ioc_gate_set){
					    .flags = 0 }));
	close(gates.fd);
	gates.fd = -1;
	EXPECT_EQ(1, tk_count("gates"));
	tk_gates_start(&gates, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&gates));
	tk_gates_close(&gates);
}

/* ---- Barriers ---- */

TEST_F(tofu, a_barrier_of_one)
{
	const uint64_t operand[] = { 7, 8, 9 };
	struct tk_gates gates;
	int i;

	ASSERT_EQ(0, tk_gates_open(&gates, 0, 1));
	ASSERT_EQ(0, tk_gate_set(&gates, 0, (struct tofu_ioc_gate_set){
					    .flags = 0 }));
	for (i = 0; i < 10; i++) {
		tk_gates_start(&gates, TOFU_REDUCE_BARRIER, 0, NULL);
		EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&gates));
	}
	tk_gates_start(&gates, TOFU_REDUCE_SUM, 3, operand);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&gates));
	EXPECT_EQ(0, memcmp(operand, tk_channel(&gates)->result,
			    sizeof(operand)));
	EXPECT_EQ(11, TOFU_GET(tk_channel(&gates)->done, TOFU_CHANNEL_ENDED));
	/* Setting it again restarts the count at zero. */
	ASSERT_EQ(0, tk_gate_set(&gates, 0, (struct tofu_ioc_gate_set){
					    .flags = 0 }));
	EXPECT_EQ(0, tk_channel(&gates)->done);
	EXPECT_EQ(0, tk_channel(&gates)->result[0]);
	tk_gates_start(&gates, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&gates));
	EXPECT_EQ(1, TOFU_GET(tk_channel(&gates)->done, TOFU_CHANNEL_ENDED));
	tk_gates_close(&gates);
}

/* The channel, then every relay, and back */
static int set_ring(struct tk_gates *gates)
{
	unsigned int count = gates->create.count;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		ret = tk_gate_set(gates, i, (struct tofu_ioc_gate_set){
			.src_lcl = tk_link(gates, (i + count - 1) % count),
			.dst_lcl = tk_link(gates, (i + 1) % count),
		});
	return ret;
}

TEST_F(tofu, a_ring_of_relays)
{
	const uint64_t operand = 42;
	struct tk_gates gates;
	int i;

	ASSERT_EQ(0, tk_gates_open(&gates, 0, TOFU_GATES));
	ASSERT_EQ(0, set_ring(&gates));
	for (i = 0; i < 10; i++) {
		tk_gates_start(&gates, TOFU_REDUCE_MAX, 1, &operand);
		ASSERT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&gates));
		EXPECT_EQ(42, tk_channel(&gates)->result[0]);
	}
	tk_gates_close(&gates);
}

/* Two channels that signal each other, through the node's network */
static int set_pair(struct tk_gates *a, struct tk_gates *b)
{
	int ret = tk_gate_set(a, 0, (struct tofu_ioc_gate_set){
		.src_rmt = tk_link_rmt(b, 0), .dst_rmt = tk_link_rmt(b, 0),
	});

	if (!ret)
		ret = tk_gate_set(b, 0, (struct tofu_ioc_gate_set){
			.src_rmt = tk_link_rmt(a, 0),
			.dst_rmt = tk_link_rmt(a, 0),
		});
	return ret;
}

TEST_F(tofu, two_tnis)
{
	const uint64_t one = 1, two = 2;
	struct tk_gates a, b;
	int i;

	ASSERT_EQ(0, tk_gates_open(&a, 0, 1));
	ASSERT_EQ(0, tk_gates_open(&b, 1, 1));
	ASSERT_EQ(0, set_pair(&a, &b));
	for (i = 0; i < 10; i++) {
		tk_gates_start(&a, TOFU_REDUCE_SUM, 1, &one);
		EXPECT_FALSE(tk_gates_ended(&a));
		tk_gates_start(&b, TOFU_REDUCE_SUM, 1, &two);
		ASSERT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&a));
		ASSERT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&b));
		/* A channel returns what came, not what it sent. */
		EXPECT_EQ(two, tk_channel(&a)->result[0]);
		EXPECT_EQ(one, tk_channel(&b)->result[0]);
	}
	tk_gates_close(&a);
	tk_gates_close(&b);
}

/* Polls of the channel's page only improve speed. */
TEST_F(tofu, barriers_end_without_polls)
{
	struct tk_gates a, b;
	int i, k;

	ASSERT_EQ(0, tk_gates_open(&a, 0, 1));
	ASSERT_EQ(0, tk_gates_open(&b, 1, 1));
	ASSERT_EQ(0, set_pair(&a, &b));
	for (i = 0; i < 5; i++) {
		/* Long enough for the engine to fall asleep */
		usleep(20000);
		tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
		usleep(20000);
		tk_gates_start(&b, TOFU_REDUCE_BARRIER, 0, NULL);
		for (k = 0; k < TK_LIMIT_S * 1000; k++) {
			if (tk_gates_ended(&a) && tk_gates_ended(&b))
				break;
			usleep(1000);
		}
		ASSERT_TRUE(tk_gates_ended(&a));
		ASSERT_TRUE(tk_gates_ended(&b));
		EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&a));
		EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&b));
	}
	tk_gates_close(&a);
	tk_gates_close(&b);
}

TEST_F(tofu, groups_cannot_signal_each_other)
{
	struct tk_gates a, b, c;

	ASSERT_EQ(0, tk_gates_open(&a, 0, 1));
	ASSERT_EQ(0, seteuid(65534));
	ASSERT_EQ(0, tk_gates_open(&b, 1, 1));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, tk_gates_open(&c, 1, 1));
	ASSERT_EQ(0, set_pair(&a, &b));
	tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
	tk_gates_start(&b, TOFU_REDUCE_BARRIER, 0, NULL);
	/* Everything before these two on the same way has come. */
	ASSERT_EQ(0, tk_gate_set(&a, 0, (struct tofu_ioc_gate_set){
		.src_rmt = tk_link_rmt(&c, 0), .dst_rmt = tk_link_rmt(&c, 0),
	}));
	ASSERT_EQ(0, tk_gate_set(&c, 0, (struct tofu_ioc_gate_set){
		.src_rmt = tk_link_rmt(&a, 0), .dst_rmt = tk_link_rmt(&a, 0),
	}));
	tk_gates_start(&c, TOFU_REDUCE_BARRIER, 0, NULL);
	tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
	ASSERT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&a));
	ASSERT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&c));
	EXPECT_FALSE(tk_gates_ended(&b));
	tk_gates_close(&a);
	tk_gates_close(&b);
	tk_gates_close(&c);
}

/* ---- Ends ---- */

/* Its signal has come, or comes later: no gate names it as a source. */
TEST_F(tofu, closed_when_begun)
{
	struct tk_gates a, b, next;
	int i;

	ASSERT_EQ(0, tk_gates_open(&a, 0, 1));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, tk_gates_open(&b, 1, 1));
		ASSERT_EQ(0, tk_gates_open(&next, 1, 1));
		ASSERT_EQ(0, set_pair(&a, &b));
		tk_gates_start(&b, TOFU_REDUCE_BARRIER, 0, NULL);
		tk_gates_close(&b);
		ASSERT_EQ(0, set_pair(&a, &next));
		tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
		EXPECT_FALSE(tk_gates_ended(&a));
		tk_gates_start(&next, TOFU_REDUCE_BARRIER, 0, NULL);
		EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&a));
		EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&next));
		tk_gates_close(&next);
	}
	tk_gates_close(&a);
}

TEST_F(tofu, closed_relays_signal_no_more)
{
	const struct tofu_ioc_gate_set alone = { .flags = 0 };
	struct tk_gates a, relay, fence;

	ASSERT_EQ(0, tk_gates_open(&a, 0, 1));
	ASSERT_EQ(0, tk_gates_open(&relay, 0, 2));
	ASSERT_EQ(0, tk_gates_open(&fence, 0, 1));
	ASSERT_EQ(0, tk_gate_set(&fence, 0, alone));
	ASSERT_EQ(0, tk_gate_set(&a, 0, (struct tofu_ioc_gate_set){
		.src_lcl = tk_link(&relay, 1), .dst_lcl = tk_link(&relay, 1),
	}));
	ASSERT_EQ(0, tk_gate_set(&relay, 1, (struct tofu_ioc_gate_set){
		.src_lcl = tk_link(&a, 0), .dst_lcl = tk_link(&a, 0),
	}));
	tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&a));
	tk_gates_close(&relay);
	tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
	tk_gates_start(&fence, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&fence));
	EXPECT_FALSE(tk_gates_ended(&a));
	tk_gates_close(&fence);
	tk_gates_close(&a);
}

TEST_F(tofu, a_child_uses_the_descriptor_but_not_the_mappings)
{
	struct tk_gates gates, other;
	int i, status;
	pid_t child;

	ASSERT_EQ(0, tk_gates_open(&gates, 0, 1));
	child = fork();
	if (!child) {
		other = gates;
		memset(other.map, 0, sizeof(other.map));
		if (tk_gates_map(&other) ||
		    tk_gate_set(&other, 0, (struct tofu_ioc_gate_set){
					   .flags = 0 }))
			_exit(1);
		tk_gates_start(&other, TOFU_REDUCE_BARRIER, 0, NULL);
		_exit(tk_gates_wait(&other) == TOFU_BARRIER_OK ? 0 : 2);
	}
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, tk_count("gates"));
	EXPECT_EQ(1, TOFU_GET(tk_channel(&gates)->done, TOFU_CHANNEL_ENDED));
	for (i = 0; i < TOFU_GATES_MAPS; i++) {
		child = fork();
		if (!child) {
			(void)*(volatile char *)gates.map[i];
			_exit(0);
		}
		waitpid(child, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(SIGSEGV, WTERMSIG(status));
	}
	tk_gates_close(&gates);
}

static bool count_becomes(int count)
{
	int i;

	for (i = 0; i < TK_LIMIT_S * 100; i++) {
		if (tk_count("gates") == count)
			return true;
		usleep(10000);
	}
	return false;
}

TEST_F_TIMEOUT(tofu, exec_ends_them, TK_TIMEOUT_S)
{
	char *const words[] = { "sleep", "1000", NULL };
	int to_child[2], status;
	struct tk_gates gates;
	pid_t child;

	ASSERT_EQ(0, pipe(to_child));
	child = fork();
	if (!child) {
		if (tk_gates_open(&gates, 0, 5) ||
		    read(to_child[0], &status, 1) != 1)
			_exit(1);
		execvp(words[0], words);
		_exit(2);
	}
	EXPECT_TRUE(count_becomes(5));
	ASSERT_EQ(1, write(to_child[1], "", 1));
	EXPECT_TRUE(count_becomes(0));
	EXPECT_EQ(0, waitpid(child, &status, WNOHANG))
		TH_LOG("it lives on as something else");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

static bool gone(struct tk_gates *gates)
{
	return __atomic_load_n(&tk_channel(gates)->done, __ATOMIC_RELAXED) ==
	       TOFU_CHANNEL_GONE;
}

/* Ends when the device is gone. */
static void reduce_for_ever(void)
{
	const uint64_t operand = 1;
	struct tk_gates gates;

	if (tk_gates_open(&gates, 0, TOFU_GATES) || set_ring(&gates))
		_exit(1);
	while (!gone(&gates))
		tk_gates_start(&gates, TOFU_REDUCE_SUM, 1, &operand);
	_exit(SAW_THE_END);
}

TEST_F_TIMEOUT(tofu, a_process_killed_in_mid_barrier, TK_TIMEOUT_S)
{
	int i, status;
	pid_t child;

	for (i = 0; i < 10; i++) {
		child = fork();
		if (!child)
			reduce_for_ever();
		EXPECT_TRUE(count_becomes(TOFU_GATES));
		usleep(2000 * i);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		EXPECT_EQ(SIGKILL, WTERMSIG(status));
		EXPECT_TRUE(count_becomes(0));
	}
}

static void check_dead(struct __test_metadata *_metadata,
		       struct tk_gates *gates)
{
	int i;

	EXPECT_EQ(-ENODEV, tk_gate_set(gates, 0, (struct tofu_ioc_gate_set){
						 .flags = 0 }));
	for (i = 0; i < TOFU_GATES_MAPS; i++)
		EXPECT_EQ(-ENODEV, try_map(gates->fd, gates->create.map[i].key,
					   4096, RW, MAP_SHARED));
	/* What a program does that knows nothing yet */
	tk_gates_start(gates, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_TRUE(gone(gates));
}

TEST_F_TIMEOUT(tofu, unbind_when_begun, TK_TIMEOUT_S)
{
	struct tofu_ioc_gates_create arg = { .count = 1 };
	struct tk_gates a, b, next;
	char function[64];

	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	ASSERT_EQ(0, tk_gates_open(&a, 0, 1));
	ASSERT_EQ(0, tk_gates_open(&b, 1, 1));
	ASSERT_EQ(0, set_pair(&a, &b));
	tk_gates_start(&a, TOFU_REDUCE_BARRIER, 0, NULL);
	ASSERT_EQ(0, tk_write(TK_DRIVER "/unbind", function));
	check_dead(_metadata, &a);
	check_dead(_metadata, &b);
	EXPECT_EQ(-ENODEV, create(a.dev, &arg));

	/* Binding again does not revive old files. */
	ASSERT_EQ(0, tk_write(TK_DRIVER "/bind", function));
	ASSERT_EQ(0, tk_gates_open(&next, 0, 1));
	EXPECT_EQ(0, next.create.gate[0]);
	check_dead(_metadata, &a);
	tk_gates_close(&a);
	tk_gates_close(&b);
	ASSERT_EQ(0, tk_gate_set(&next, 0, (struct tofu_ioc_gate_set){
					   .flags = 0 }));
	tk_gates_start(&next, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&next));
	tk_gates_close(&next);
}

TEST_F_TIMEOUT(tofu, unbind_in_mid_barrier, TK_TIMEOUT_S)
{
	char function[64];
	int i, status;
	pid_t child;

	tk_function(function, sizeof(function));
	ASSERT_NE(0, function[0]);
	for (i = 0; i < 5; i++) {
		child = fork();
		if (!child)
			reduce_for_ever();
		EXPECT_TRUE(count_becomes(TOFU_GATES));
		usleep(3000 * i);
		EXPECT_EQ(0, tk_write(TK_DRIVER "/unbind", function));
		waitpid(child, &status, 0);
		/* The child may have been on its way to the last GATE_SET. */
		EXPECT_TRUE(WIFEXITED(status) &&
			    (WEXITSTATUS(status) == SAW_THE_END ||
			     WEXITSTATUS(status) == 1));
		EXPECT_EQ(0, tk_write(TK_DRIVER "/bind", function));
		EXPECT_TRUE(count_becomes(0));
	}
}

TEST_F_TIMEOUT(tofu, reset_of_the_function, TK_TIMEOUT_S)
{
	struct tk_gates gates, next;
	char function[64], path[128];

	tk_function(function, sizeof(function));
	snprintf(path, sizeof(path), TK_DRIVER "/%s/reset", function);
	if (access(path, W_OK))
		SKIP(return, "the PCI function cannot be reset alone");
	ASSERT_EQ(0, tk_gates_open(&gates, 0, 3));
	ASSERT_EQ(0, set_ring(&gates));
	ASSERT_EQ(0, tk_write(path, "1"));
	check_dead(_metadata, &gates);
	EXPECT_EQ(0, tk_count("gates"));
	ASSERT_EQ(0, tk_gates_open(&next, 0, 3));
	ASSERT_EQ(0, set_ring(&next));
	tk_gates_start(&next, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&next));
	/* Its release must not free what the next one has. */
	tk_gates_close(&gates);
	EXPECT_EQ(3, tk_count("gates"));
	tk_gates_start(&next, TOFU_REDUCE_BARRIER, 0, NULL);
	EXPECT_EQ(TOFU_BARRIER_OK, tk_gates_wait(&next));
	tk_gates_close(&next);
}

TEST_HARNESS_MAIN
