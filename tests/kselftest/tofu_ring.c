// SPDX-License-Identifier: MIT
/* Commands to the same node, directly through the mapped rings. */
#include "tk_harness.h"

#define LENGTH (64 * 1024)
#define NOTICES (TOFU_TOQ_F_LCL_NOTICE | TOFU_TOQ_F_RMT_NOTICE | \
		 TOFU_TOQ_F_TCQ_NOTICE)

struct pair {
	struct tk_cq a, b;
	struct tk_mem at_a, at_b;
};

static int pair_open(struct pair *pair)
{
	int ret = tk_cq_open(&pair->a);

	if (!ret)
		ret = tk_cq_open(&pair->b);
	if (!ret)
		ret = tk_mem_new(&pair->a, LENGTH, &pair->at_a);
	if (!ret)
		ret = tk_mem_new(&pair->b, LENGTH, &pair->at_b);
	return ret;
}

static void pair_close(struct pair *pair)
{
	tk_mem_free(&pair->a, &pair->at_a);
	tk_mem_free(&pair->b, &pair->at_b);
	tk_cq_close(&pair->a);
	tk_cq_close(&pair->b);
}

static uint64_t counter(const struct tk_cq *cq, const char *name)
{
	char path[128];
	unsigned long long value = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/tofu/tofu0/tni%u_cq%u/%s",
		 cq->create.tni, cq->create.cq, name);
	file = fopen(path, "r");
	if (!file)
		return value;
	if (fscanf(file, "%llu", &value) != 1)
		value = UINT64_MAX;
	fclose(file);
	return value;
}

static void fill(void *addr, size_t length, unsigned int seed)
{
	unsigned char *byte = addr;
	size_t i;

	for (i = 0; i < length; i++)
		byte[i] = (i * 7 + i / 251 + seed) & 0xff;
}

TEST_F(tofu, nop_ends_in_the_tcq)
{
	struct tk_cq cq;
	uint64_t entry;

	ASSERT_EQ(0, tk_cq_open(&cq));
	tk_post(&cq, tk_desc(&cq, &cq, TOFU_CMD_NOP, TOFU_TOQ_F_TCQ_NOTICE, 0,
			     0, 0), NULL);
	ASSERT_EQ(0, tk_tcq(&cq, &entry));
	EXPECT_EQ(TOFU_ST_OK, TOFU_GET(entry, TOFU_TCQ_STATUS));
	EXPECT_EQ(0, TOFU_GET(entry, TOFU_TCQ_INDEX));
	tk_cq_close(&cq);
}

TEST_F_TIMEOUT(tofu, the_ring_goes_round, TK_TIMEOUT_S)
{
	uint64_t n = 2 * TOFU_RING_ENTRIES(0) + 5;
	struct tk_cq cq;
	uint64_t entry, i;
	int ret = 0;

	ASSERT_EQ(0, tk_cq_open(&cq));
	for (i = 0; i < n && !ret; i++) {
		tk_post(&cq, tk_desc(&cq, &cq, TOFU_CMD_NOP,
				     TOFU_TOQ_F_TCQ_NOTICE, 0, 0, 0), NULL);
		ret = tk_tcq(&cq, &entry);
	}
	EXPECT_EQ(0, ret);
	EXPECT_EQ(n - 1, TOFU_GET(entry, TOFU_TCQ_INDEX));
	tk_cq_close(&cq);
}

TEST_F(tofu, put_and_its_three_notices)
{
	struct tofu_mrq_entry lcl, rmt;
	struct pair p;
	uint64_t tcq;

	ASSERT_EQ(0, pair_open(&p));
	fill(p.at_a.addr, LENGTH, 1);
	tk_post(&p.a, tk_desc(&p.a, &p.b, TOFU_CMD_PUT, NOTICES, p.at_b.stadd,
			      p.at_a.stadd, LENGTH), NULL);
	ASSERT_EQ(0, tk_tcq(&p.a, &tcq));
	ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
	ASSERT_EQ(0, tk_mrq(&p.b, &rmt));
	EXPECT_EQ(TOFU_ST_OK, TOFU_GET(tcq, TOFU_TCQ_STATUS));
	EXPECT_EQ(TOFU_MRQ_LCL_PUT, TOFU_GET(lcl.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ(TOFU_ST_OK, TOFU_GET(lcl.ctrl, TOFU_MRQ_STATUS));
	EXPECT_EQ(TOFU_MRQ_RMT_PUT, TOFU_GET(rmt.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ(p.a.create.cq, TOFU_GET(rmt.ctrl, TOFU_MRQ_CQ));
	EXPECT_EQ(LENGTH, TOFU_GET(rmt.route, TOFU_ROUTE_LENGTH));
	EXPECT_EQ(0, memcmp(p.at_a.addr, p.at_b.addr, LENGTH));
	pair_close(&p);
}

TEST_F(tofu, get)
{
	struct tofu_mrq_entry lcl;
	struct pair p;

	ASSERT_EQ(0, pair_open(&p));
	fill(p.at_b.addr, LENGTH, 2);
	tk_post(&p.a, tk_desc(&p.a, &p.b, TOFU_CMD_GET, TOFU_TOQ_F_LCL_NOTICE,
			      p.at_b.stadd, p.at_a.stadd, LENGTH), NULL);
	ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
	EXPECT_EQ(TOFU_MRQ_LCL_GET, TOFU_GET(lcl.ctrl, TOFU_MRQ_TYPE));
	EXPECT_EQ(TOFU_ST_OK, TOFU_GET(lcl.ctrl, TOFU_MRQ_STATUS));
	EXPECT_EQ(0, memcmp(p.at_a.addr, p.at_b.addr, LENGTH));
	pair_close(&p);
}

TEST_F(tofu, piggyback_of_8_and_of_32_bytes)
{
	struct tofu_toq_data data = { .word = { 1, 2, 3, 4 } };
	struct tofu_mrq_entry lcl;
	struct pair p;

	ASSERT_EQ(0, pair_open(&p));
	tk_post(&p.a, tk_desc(&p.a, &p.b, TOFU_CMD_PUT_PIGGYBACK,
			      TOFU_TOQ_F_LCL_NOTICE, p.at_b.stadd + 8,
			      0x1122334455667788, 8), NULL);
	ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
	EXPECT_EQ(0x1122334455667788, ((uint64_t *)p.at_b.addr)[1]);
	tk_post(&p.a, tk_desc(&p.a, &p.b, TOFU_CMD_PUT_PIGGYBACK,
			      TOFU_TOQ_F_LCL_NOTICE, p.at_b.stadd, 0, 32),
		&data);
	ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
	EXPECT_EQ(0, memcmp(&data, p.at_b.addr, 32));
	pair_close(&p);
}

TEST_F(tofu, atomics)
{
	static const struct {
		enum tofu_armw_op op;
		uint64_t before, operand, after;
	} rows[] = {
		{ TOFU_ARMW_SWAP, 5, 9, 9 },
		{ TOFU_ARMW_ADD, 5, UINT64_MAX, 4 },
		{ TOFU_ARMW_XOR, 0xff, 0x0f, 0xf0 },
		{ TOFU_ARMW_AND, 0xff, 0x0f, 0x0f },
		{ TOFU_ARMW_OR, 0xf0, 0x0f, 0xff },
	};
	struct tofu_mrq_entry lcl;
	struct pair p;
	uint64_t *word;
	size_t i;

	ASSERT_EQ(0, pair_open(&p));
	word = p.at_b.addr;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*word = rows[i].before;
		tk_post(&p.a, tk_armw(&p.a, &p.b, rows[i].op, 8, p.at_b.stadd,
				      rows[i].operand), NULL);
		ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
		EXPECT_EQ(rows[i].before, lcl.lcl);
		EXPECT_EQ(rows[i].after, *word);
	}
	pair_close(&p);
}

TEST_F(tofu, compare_and_swap)
{
	struct tofu_toq_data compare = { .word = { 5 } };
	struct tofu_mrq_entry lcl;
	struct pair p;
	uint32_t *word;

	ASSERT_EQ(0, pair_open(&p));
	word = p.at_b.addr;
	word[0] = 5;
	word[1] = 0x1234;
	tk_post(&p.a, tk_armw(&p.a, &p.b, TOFU_ARMW_CSWAP, 4, p.at_b.stadd, 6),
		&compare);
	ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
	EXPECT_EQ(5, lcl.lcl);
	EXPECT_EQ(6, word[0]);
	tk_post(&p.a, tk_armw(&p.a, &p.b, TOFU_ARMW_CSWAP, 4, p.at_b.stadd, 7),
		&compare);
	ASSERT_EQ(0, tk_mrq(&p.a, &lcl));
	EXPECT_EQ(6, lcl.lcl);
	EXPECT_EQ(6, word[0]);
	EXPECT_EQ(0x1234, word[1]);
	pair_close(&p);
}

TEST_F(tofu, only_registered_bytes_are_reached)
{
	struct pair p;

	ASSERT_EQ(0, pair_open(&p));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&p.a, &p.b, p.at_b.stadd, p.at_a.stadd,
				     LENGTH));
	EXPECT_EQ(TOFU_ST_RMT_STADD, tk_put(&p.a, &p.b, p.at_b.stadd + 1,
					    p.at_a.stadd, LENGTH));
	ASSERT_EQ(0, tk_mem_dereg(&p.b, &p.at_b));
	EXPECT_EQ(TOFU_ST_RMT_STADD, tk_put(&p.a, &p.b, p.at_b.stadd,
					    p.at_a.stadd, 8));
	pair_close(&p);
}

TEST_F(tofu, groups_cannot_reach_each_other)
{
	struct pair p;

	ASSERT_EQ(0, tk_cq_open(&p.a));
	ASSERT_EQ(0, tk_mem_new(&p.a, LENGTH, &p.at_a));
	ASSERT_EQ(0, seteuid(65534));
	ASSERT_EQ(0, tk_cq_open(&p.b));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, tk_mem_new(&p.b, LENGTH, &p.at_b));
	EXPECT_EQ(TOFU_ST_PEER, tk_put(&p.a, &p.b, p.at_b.stadd, p.at_a.stadd,
				       8));
	pair_close(&p);
}

TEST_F(tofu, counters_count)
{
	struct pair p;

	ASSERT_EQ(0, pair_open(&p));
	EXPECT_EQ(0, counter(&p.a, "tx_commands"));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&p.a, &p.b, p.at_b.stadd, p.at_a.stadd,
				     100));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&p.a, &p.b, p.at_b.stadd, p.at_a.stadd,
				     20));
	EXPECT_EQ(2, counter(&p.a, "tx_commands"));
	EXPECT_EQ(120, counter(&p.a, "tx_bytes"));
	EXPECT_EQ(2, counter(&p.b, "rx_requests"));
	EXPECT_EQ(120, counter(&p.b, "rx_bytes"));
	pair_close(&p);
}

/* ---- Session mode ---- */

/* A CQ in session mode, and another one that releases its commands */
static int session_open(struct pair *pair)
{
	int ret = tk_cq_create_as(&pair->a, (struct tofu_ioc_cq_create){
		.cq = TOFU_CQ_ANY, .flags = TOFU_CQ_SESSION_MODE,
	});

	if (!ret)
		ret = tk_cq_map(&pair->a);
	if (!ret)
		ret = tk_cq_open(&pair->b);
	if (!ret)
		ret = tk_mem_new(&pair->a, LENGTH, &pair->at_a);
	if (!ret)
		ret = tk_mem_new(&pair->b, LENGTH, &pair->at_b);
	return ret;
}

/* A put of one byte from b to a, with that many session steps, to its end */
static int step(struct pair *p, unsigned int sps)
{
	struct tofu_toq_desc desc =
		tk_desc(&p->b, &p->a, TOFU_CMD_PUT, TOFU_TOQ_F_LCL_NOTICE,
			p->at_a.stadd, p->at_b.stadd, 1);
	struct tofu_mrq_entry entry;
	int ret;

	desc.ctrl |= TOFU_SET(TOFU_TOQ_SPS, sps);
	tk_post(&p->b, desc, NULL);
	ret = tk_mrq(&p->b, &entry);
	return ret ? ret : (int)TOFU_GET(entry.ctrl, TOFU_MRQ_STATUS);
}

/* Posts a put from a to b with a TCQ notice. */
static void post_waiting(struct pair *p)
{
	tk_post(&p->a, tk_desc(&p->a, &p->b, TOFU_CMD_PUT,
			       TOFU_TOQ_F_TCQ_NOTICE, p->at_b.stadd + 64,
			       p->at_a.stadd + 64, 8), NULL);
}

TEST_F(tofu, session_mode_waits_for_steps)
{
	uint64_t entry, i;
	struct pair p;

	ASSERT_EQ(0, session_open(&p));
	for (i = 0; i < 4; i++)
		post_waiting(&p);
	/* The engine has run since, and steps of 0 release nothing. */
	EXPECT_EQ(TOFU_ST_OK, step(&p, 0));
	EXPECT_EQ(0, counter(&p.a, "tx_commands"));
	EXPECT_EQ(TOFU_ST_OK, step(&p, 1));
	ASSERT_EQ(0, tk_tcq(&p.a, &entry));
	EXPECT_EQ(0, TOFU_GET(entry, TOFU_TCQ_INDEX));
	EXPECT_EQ(TOFU_ST_OK, step(&p, 0));
	EXPECT_EQ(1, counter(&p.a, "tx_commands"));
	EXPECT_EQ(TOFU_ST_OK, step(&p, 2));
	for (i = 1; i < 3; i++) {
		ASSERT_EQ(0, tk_tcq(&p.a, &entry));
		EXPECT_EQ(i, TOFU_GET(entry, TOFU_TCQ_INDEX));
		EXPECT_EQ(TOFU_ST_OK, TOFU_GET(entry, TOFU_TCQ_STATUS));
	}
	EXPECT_EQ(TOFU_ST_OK, step(&p, 0));
	EXPECT_EQ(3, counter(&p.a, "tx_commands"));
	pair_close(&p);
}

TEST_F(tofu, session_steps_can_come_first)
{
	struct pair p;
	uint64_t entry;

	ASSERT_EQ(0, session_open(&p));
	EXPECT_EQ(TOFU_ST_OK, step(&p, 1));
	post_waiting(&p);
	post_waiting(&p);
	ASSERT_EQ(0, tk_tcq(&p.a, &entry));
	EXPECT_EQ(TOFU_ST_OK, step(&p, 0));
	EXPECT_EQ(1, counter(&p.a, "tx_commands"));
	/* Closed with a command that was never released */
	pair_close(&p);
}

TEST_F(tofu, other_cqs_do_not_wait)
{
	struct pair p;

	ASSERT_EQ(0, pair_open(&p));
	EXPECT_EQ(TOFU_ST_OK, step(&p, 15));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&p.a, &p.b, p.at_b.stadd, p.at_a.stadd,
				     8));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&p.a, &p.b, p.at_b.stadd, p.at_a.stadd,
				     8));
	pair_close(&p);
}

TEST_HARNESS_MAIN
