// SPDX-License-Identifier: MIT
/*
 * Messages among all nodes, in each mode: eager, get and put, from any source;
 * checks every byte, and the order of each pair. Then messages from buffers and
 * into buffers that are unmapped, and mapped again, between two of them.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tofu/p2p.h>

#include "common/error.h"
#include "guest.h"

#define NODES_MAX 64
#define ROUNDS 20
#define BYTES_MAX 200001

/* Another one than that of guest.vcq */
#define TNI 1

static const size_t sizes[] = { 0, 8, 1000, 30000, BYTES_MAX };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Follows all other tags */
#define TAG_END (SIZES * ROUNDS)

struct test {
	struct guest guest;
	struct tofu_p2p *p2p;
	uint32_t node;
	uint32_t nodes;
	char *sent[SIZES];
	char *got;
	uint64_t next[NODES_MAX];
	size_t wrong;
};

static void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	const struct test *test = arg;
	utofu_tni_id_t of;
	utofu_cq_id_t cq;
	uint16_t extra;

	(void)tni;
	(void)component;
	return utofu_query_vcq_info(test->guest.id[rank], coords, &of, &cq,
				    &extra);
}

static uint64_t seed_of(uint32_t from, uint32_t to, uint64_t tag)
{
	return guest_seed(from, to, tag);
}

/* Messages of one sender come in the order of their tags. */
static void receive_one(struct test *test)
{
	struct tofu_p2p_status status;
	size_t bytes;

	check(tofu_p2p_recv(test->p2p, test->got, BYTES_MAX,
			    TOFU_P2P_ANY_SOURCE, TOFU_P2P_ANY_TAG, &status),
	      "receive");
	bytes = status.tag == TAG_END ? 0 : sizes[status.tag % SIZES];
	test->wrong += status.bytes != bytes;
	test->wrong += status.tag != test->next[status.source]++;
	test->wrong += guest_wrong(test->got, bytes,
				   seed_of(status.source, test->node,
					   status.tag));
}

static void round_run(struct test *test, uint64_t round)
{
	struct tofu_p2p_request *request[NODES_MAX][SIZES];

	for (uint32_t step = 0; step < test->nodes; step++) {
		uint32_t to = (test->node + step) % test->nodes;

		for (size_t i = 0; i < SIZES; i++) {
			uint64_t tag = round * SIZES + i;
			char *at = test->sent[i] + to * sizes[i];

			guest_fill(at, sizes[i], seed_of(test->node, to, tag));
			check(tofu_p2p_isend(test->p2p, at, sizes[i], to, tag,
					     &request[to][i]),
			      "send");
		}
	}
	/*
	 * Some of the next round may come before: who counted them for this one
	 * would leave a long message here, whose sender waits, as this process
	 * does for its own.
	 */
	for (uint32_t from = 0; from < test->nodes; from++)
		while (test->next[from] < (round + 1) * SIZES)
			receive_one(test);
	for (uint32_t to = 0; to < test->nodes; to++)
		for (size_t i = 0; i < SIZES; i++)
			check(tofu_p2p_wait(test->p2p, &request[to][i], NULL),
			      "sent");
}

/* A process that has this message from all others is no longer waited for. */
static void all_meet(struct test *test)
{
	for (uint32_t to = 0; to < test->nodes; to++)
		check(tofu_p2p_send(test->p2p, NULL, 0, to, TAG_END), "end");
	while (test->next[test->node] <= TAG_END)
		receive_one(test);
	for (uint32_t from = 0; from < test->nodes; from++)
		while (test->next[from] <= TAG_END)
			receive_one(test);
}

/* ---- Buffers that change ---- */

#define REMAPS 30

/* Memory for all messages of a round; later at the same addresses */
static char *remap(char *at, size_t bytes)
{
	char *to;

	if (at)
		munmap(at, bytes);
	to = mmap(at, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
	if (to == MAP_FAILED)
		err(EXIT_FAILURE, "cannot map %zu bytes", bytes);
	return to;
}

/* To the next node, and from the previous one; also with what is there already */
static void remapped_round(struct test *test, char *from, char *to,
			   uint64_t round)
{
	uint32_t next = (test->node + 1) % test->nodes;
	uint32_t previous = (test->node + test->nodes - 1) % test->nodes;
	struct tofu_p2p_request *send, *recv;

	for (uint64_t again = 0; again < 2; again++) {
		uint64_t tag = 2 * round + again;

		guest_fill(from, BYTES_MAX, seed_of(test->node, next, tag));
		check(tofu_p2p_irecv(test->p2p, to, BYTES_MAX, previous, tag,
				     &recv),
		      "receive");
		check(tofu_p2p_isend(test->p2p, from, BYTES_MAX, next, tag,
				     &send),
		      "send");
		check(tofu_p2p_wait(test->p2p, &recv, NULL), "received");
		check(tofu_p2p_wait(test->p2p, &send, NULL), "sent");
		test->wrong += guest_wrong(to, BYTES_MAX,
					   seed_of(previous, test->node, tag));
	}
}

static void remapped_run(struct test *test, size_t get, const char *name)
{
	const struct tofu_p2p_params params = {
		.processes = test->nodes,
		.rank = test->node,
		.tni = TNI,
		.where = where,
		.arg = test,
		.memory = 8 << 20,
		.get = get,
	};
	char *from = NULL, *to = NULL;

	for (uint32_t node = 0; node < test->nodes; node++)
		test->next[node] = TAG_END;
	test->wrong = 0;
	check(tofu_p2p_create(&params, &test->p2p), "create");
	guest_barrier(&test->guest);
	for (uint64_t round = 0; round < REMAPS; round++) {
		/* One of them at least, and both at times */
		if (round % 3)
			from = remap(from, BYTES_MAX);
		if (!round || round % 3 != 1)
			to = remap(to, BYTES_MAX);
		if (!from)
			from = remap(from, BYTES_MAX);
		remapped_round(test, from, to, round);
	}
	all_meet(test);
	guest_point(&test->guest, !test->wrong,
		    "%u messages from other memory at the same address, %s",
		    2 * REMAPS, name);
	tofu_p2p_free(test->p2p);
	munmap(from, BYTES_MAX);
	munmap(to, BYTES_MAX);
}

static struct tofu_p2p_params params_of(struct test *test,
				       enum tofu_p2p_mode mode)
{
	return (struct tofu_p2p_params){
		.processes = test->nodes,
		.rank = test->node,
		.tni = TNI,
		.where = where,
		.arg = test,
		.mode = mode,
		.memory = 8 << 20,
		.eager = 2000,
		.get = 100000,
	};
}

static void mode_run(struct test *test, enum tofu_p2p_mode mode,
		     const char *name)
{
	const struct tofu_p2p_params params = params_of(test, mode);

	memset(test->next, 0, sizeof(test->next));
	test->wrong = 0;
	check(tofu_p2p_create(&params, &test->p2p), "create");
	guest_barrier(&test->guest);
	for (uint64_t round = 0; round < ROUNDS; round++)
		round_run(test, round);
	all_meet(test);
	guest_point(&test->guest, !test->wrong, "%u messages to each, %s",
		    (unsigned int)(ROUNDS * SIZES), name);
	tofu_p2p_free(test->p2p);
}

/* On machines without remote atomics */
static void shared_refused(struct test *test)
{
	const struct tofu_p2p_params params = params_of(test, TOFU_P2P_SHARED);
	int code = tofu_p2p_create(&params, &test->p2p);

	guest_point(&test->guest, code == UTOFU_ERR_NOT_SUPPORTED,
		    "nothing is shared without atomics");
}

int main(void)
{
	struct test *test = calloc(1, sizeof(*test));

	if (!test)
		return EXIT_FAILURE;
	guest_begin(&test->guest, 6);
	test->node = test->guest.machine.node;
	test->nodes = test->guest.machine.nodes;
	if (test->nodes > NODES_MAX)
		errx(EXIT_FAILURE, "more than %u nodes", NODES_MAX);
	for (size_t i = 0; i < SIZES; i++) {
		test->sent[i] = malloc(test->nodes * sizes[i] + 1);
		if (!test->sent[i])
			return EXIT_FAILURE;
	}
	test->got = malloc(BYTES_MAX);
	if (!test->got)
		return EXIT_FAILURE;
	mode_run(test, TOFU_P2P_AUTO, "automatic");
	mode_run(test, TOFU_P2P_FAST, "fast");
	mode_run(test, TOFU_P2P_SAVING, "saving");
	if (test->guest.machine.armw)
		mode_run(test, TOFU_P2P_SHARED, "shared");
	else
		shared_refused(test);
	remapped_run(test, SIZE_MAX, "got");
	remapped_run(test, 0, "put");
	return guest_end(&test->guest);
}
