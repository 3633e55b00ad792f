// SPDX-License-Identifier: MIT
/* <tofu/gates.h> on machines of processes. */
#define _GNU_SOURCE
#include <stdlib.h>

#include <tofu/gates.h>

#include "harness.h"
#include "utofu-util.h"

static struct tofu_boot *joined(unsigned int rank, unsigned int ranks)
{
	struct tofu_boot *boot;
	char text[12];

	setenv("TOFU_PORT", "emu", 1);
	snprintf(text, sizeof(text), "%u", rank);
	setenv("TOFU_RANK", text, 1);
	snprintf(text, sizeof(text), "%u", ranks);
	setenv("TOFU_RANKS", text, 1);
	CHECK(!tofu_boot_join(WAIT_SECONDS, NULL, &boot));
	return boot;
}

static void sums_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	unsigned int count = nodes->count;
	struct tofu_gates *gates;
	utofu_vbg_id_t gate;

	CHECK(!tofu_gates_create(boot, 0, 0, &gates));
	CHECK(!tofu_gates_id(gates, &gate));
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t sum = (rank + 1) * (i + 1);

		CHECK(!utofu_reduce_uint64(gate, UTOFU_REDUCE_OP_SUM, &sum, 1,
					   0));
		CHECK(!tofu_wait_uint64(gate, &sum));
		CHECK(sum == count * (count + 1) / 2 * (i + 1));
		CHECK(!utofu_barrier(gate, 0));
		CHECK(!tofu_wait_barrier(gate));
	}
	tofu_gates_free(gates);
	/* All of its gates are free again, and can be linked anew. */
	CHECK(!tofu_gates_create(boot, 0, 0, &gates));
	CHECK(!tofu_boot_barrier(boot));
	tofu_gates_free(gates);
	CHECK(!tofu_boot_leave(boot));
}

TEST(barriers_and_sums_are_of_all)
{
	for (unsigned int count = 1; count <= 6; count++)
		EXPECT_EQ(0, tofu_nodes_run(count, sums_main, -1));
}

/* Takes start and end gates until there are none. */
static void gates_exhaust(void)
{
	utofu_vbg_id_t id;
	int code;

	do {
		code = utofu_alloc_vbg(0, 1, 0, &id);
	} while (!code);
	CHECK(code == UTOFU_ERR_FULL);
}

static void full_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_gates *gates = NULL;

	if (rank == 1)
		gates_exhaust();
	CHECK(tofu_gates_create(boot, 0, 0, &gates) == UTOFU_ERR_FULL);
	CHECK(!gates);
	/* The boot is as good as before. */
	CHECK(!tofu_boot_leave(boot));
}

TEST(all_learn_that_one_has_no_gates)
{
	for (unsigned int count = 2; count <= 6; count++)
		EXPECT_EQ(0, tofu_nodes_run(count, full_main, -1));
}

TEST(arguments_are_checked)
{
	struct tofu_boot *boot = joined(0, 1);
	struct tofu_gates *gates = NULL;
	utofu_vbg_id_t gate;

	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_gates_create(NULL, 0, 0, &gates));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_gates_create(boot, 0, 0, NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_TNI_ID,
		  tofu_gates_create(boot, 99, 0, &gates));
	EXPECT_EQ(UTOFU_ERR_INVALID_FLAGS,
		  tofu_gates_create(boot, 0, ~0UL, &gates));
	EXPECT_EQ(NULL, gates);
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_gates_id(NULL, &gate));
	tofu_gates_free(NULL);
	tofu_boot_abandon(boot);
}

TEST_HARNESS_MAIN
