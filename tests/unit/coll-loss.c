// SPDX-License-Identifier: MIT
/* A process is killed while the others are in a collective. */
#define _GNU_SOURCE
#include <signal.h>
#include <time.h>

#include "coll-util.h"
#include "harness.h"

#define MEMBERS 5
#define VICTIM 2
#define ROUNDS 300
#define ROUND_OF_DEATH 17
#define COUNT 600
#define LIMIT_SECONDS 20

/* When the victim is killed */
enum moment { BEFORE_CREATE, BEFORE_START, LATER };

/* Of the run, set before the processes are made */
static enum tofu_coll_kind kind;
static enum tofu_coll_algorithm algorithm;
static enum moment moment;
static uint32_t root;

static uint64_t send[MEMBERS * COUNT];
static uint64_t recv[MEMBERS * COUNT];

static bool has_root(void)
{
	return kind == TOFU_COLL_BCAST || kind == TOFU_COLL_REDUCE ||
	       kind == TOFU_COLL_GATHER || kind == TOFU_COLL_SCATTER;
}

/* Whether this member's part needs the victim in every round */
static bool needs_victim(unsigned int rank)
{
	if (!has_root())
		return true;
	if (kind == TOFU_COLL_BCAST || kind == TOFU_COLL_SCATTER)
		return root == VICTIM;
	return rank == root;
}

/* Gates combine up to 6 words. */
static size_t count(void)
{
	return algorithm == TOFU_COLL_GATES ? 4 : COUNT;
}

static int create(struct tofu_group *group, struct tofu_coll **coll)
{
	const struct tofu_coll_spec spec = {
		.kind = kind,
		.type = TOFU_COLL_UINT64,
		.root = root,
		.count = count(),
		.send = send,
		.recv = recv,
	};
	const struct tofu_coll_tuning tuning = {
		.algorithm = algorithm,
		.segment = 512,
	};

	return tofu_coll_create(group, &spec, &tuning, coll);
}

static int rounds_run(struct tofu_coll *coll, unsigned int rank)
{
	int code = UTOFU_SUCCESS;

	for (int i = 0; i < ROUNDS && !code; i++) {
		if (rank == VICTIM && moment == BEFORE_START)
			raise(SIGKILL);
		code = tofu_coll_start(coll);
		if (rank == VICTIM && i == ROUND_OF_DEATH)
			raise(SIGKILL);
		if (!code)
			code = tofu_coll_wait(coll);
	}
	return code;
}

static void check_lost(struct tofu_coll *coll, unsigned int rank, int code)
{
	uint32_t lost = MEMBERS;

	if (!code && !needs_victim(rank))
		return;
	if (code != UTOFU_ERR_MRQ_PEER || tofu_coll_lost(coll, &lost) ||
	    lost != VICTIM) {
		fprintf(stderr, "# %s by %s, root %u, member %u: %d, lost %u\n",
			tofu_coll_kind_name(kind),
			tofu_coll_algorithm_name(algorithm), root, rank, code,
			lost);
		_exit(1);
	}
	/* After a failure it stays failed. */
	CHECK(tofu_coll_start(coll) == code);
	CHECK(tofu_coll_test(coll) == code);
	CHECK(tofu_coll_wait(coll) == code);
}

/* One that leaves earlier is lost for the others, too. */
static void survivors_meet(struct tofu_nodes *nodes)
{
	__atomic_fetch_add(&nodes->word[0], 1, __ATOMIC_SEQ_CST);
	CHECK(!tofu_wait_word(&nodes->word[0], MEMBERS - 1));
}

static void member_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	struct tofu_coll *coll;
	time_t since;

	CHECK(!create(group, &coll));
	tofu_nodes_meet(nodes);
	since = time(NULL);
	check_lost(coll, rank, rounds_run(coll, rank));
	CHECK(time(NULL) - since <= LIMIT_SECONDS);
	survivors_meet(nodes);
	tofu_coll_free(coll);
	tofu_group_free(group);
	tofu_boot_abandon(boot);
}

/* Who needs no word of the victim does not have to notice. */
static void early_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	struct tofu_coll *coll;
	time_t since = time(NULL);
	int code;

	if (rank == VICTIM)
		raise(SIGKILL);
	code = create(group, &coll);
	if (code) {
		CHECK(code == UTOFU_ERR_MRQ_PEER ||
		      code == UTOFU_ERR_NOT_AVAILABLE);
	} else {
		code = rounds_run(coll, rank);
		tofu_coll_free(coll);
	}
	CHECK(code || !needs_victim(rank));
	CHECK(time(NULL) - since <= LIMIT_SECONDS);
	survivors_meet(nodes);
	tofu_group_free(group);
	tofu_boot_abandon(boot);
}

static int algorithms_run(void)
{
	int failed = 0;

	for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++) {
		if (!tofu_coll_fits(kind, a))
			continue;
		algorithm = a;
		failed += tofu_nodes_run(MEMBERS,
					 moment == BEFORE_CREATE ? early_main :
								   member_main,
					 VICTIM);
	}
	return failed;
}

static int roots_run(enum tofu_coll_kind of, enum moment when)
{
	int failed;

	kind = of;
	moment = when;
	root = 0;
	failed = algorithms_run();
	if (!has_root())
		return failed;
	root = VICTIM;
	return failed + algorithms_run();
}

FIXTURE(killed) { int unused; };
FIXTURE_VARIANT(killed) { enum tofu_coll_kind kind; };
FIXTURE_SETUP(killed) { }
FIXTURE_TEARDOWN(killed) { }

#define KIND(word, value) \
	FIXTURE_VARIANT_ADD(killed, word) { .kind = value }
KIND(barrier, TOFU_COLL_BARRIER);
KIND(bcast, TOFU_COLL_BCAST);
KIND(reduce, TOFU_COLL_REDUCE);
KIND(allreduce, TOFU_COLL_ALLREDUCE);
KIND(gather, TOFU_COLL_GATHER);
KIND(scatter, TOFU_COLL_SCATTER);
KIND(allgather, TOFU_COLL_ALLGATHER);
KIND(reduce_scatter, TOFU_COLL_REDUCE_SCATTER);
KIND(alltoall, TOFU_COLL_ALLTOALL);

TEST_F_TIMEOUT(killed, before_it_creates, 120)
{
	EXPECT_EQ(0, roots_run(variant->kind, BEFORE_CREATE));
}

TEST_F_TIMEOUT(killed, before_its_first_start, 120)
{
	EXPECT_EQ(0, roots_run(variant->kind, BEFORE_START));
}

TEST_F_TIMEOUT(killed, after_many_rounds, 120)
{
	EXPECT_EQ(0, roots_run(variant->kind, LATER));
}

/*
 * In a chain the first dies when the second has created the collective, which
 * then fails there and is freed. The fourth creates it only then, and lets go
 * the third, which has waited for it and may not have seen the freed one.
 */
#define FREES ((VICTIM + 1) % MEMBERS)
#define LATE ((VICTIM + 3) % MEMBERS)

static void first_main(struct tofu_nodes *nodes, struct tofu_group *group)
{
	struct tofu_coll *coll;

	CHECK(!create(group, &coll));
	CHECK(!tofu_wait_word(&nodes->word[1], 1));
	raise(SIGKILL);
}

static void chain_main(struct tofu_nodes *nodes, unsigned int rank)
{
	struct tofu_boot *boot = joined(rank, nodes->count);
	struct tofu_group *group = group_of_all(boot);
	struct tofu_coll *coll;
	int code;

	if (rank == VICTIM)
		first_main(nodes, group);
	if (rank == LATE)
		CHECK(!tofu_wait_word(&nodes->word[1], 2));
	code = create(group, &coll);
	if (!code) {
		if (rank == FREES)
			__atomic_store_n(&nodes->word[1], 1, __ATOMIC_RELEASE);
		code = rounds_run(coll, rank);
		tofu_coll_free(coll);
	}
	CHECK(code == UTOFU_ERR_MRQ_PEER);
	if (rank == FREES)
		__atomic_store_n(&nodes->word[1], 2, __ATOMIC_RELEASE);
	survivors_meet(nodes);
	tofu_group_free(group);
	tofu_boot_abandon(boot);
}

TEST(failed_and_freed_before_all_create)
{
	algorithm = TOFU_COLL_PIPELINED;
	root = VICTIM;
	kind = TOFU_COLL_BCAST;
	EXPECT_EQ(0, tofu_nodes_run(MEMBERS, chain_main, VICTIM));
}

TEST_HARNESS_MAIN
