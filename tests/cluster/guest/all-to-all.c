// SPDX-License-Identifier: MIT
/*
 * All nodes put to all nodes, including themselves, by all TNIs at once, each
 * put with a notice at its target.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wait.h"
#include "guest.h"

#define ROUNDS 4
#define TNIS_MAX 8
#define STAG 40

static const size_t sizes[] = { 8, 100, 4096, 65536, 300001 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define SLOT (300001 + 4096 - 300001 % 4096)

/**
 * struct engine - a TNI's VCQ and its memory
 * @area: a slot to receive into for each node, then one to send from for each
 */
struct engine {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t *id;
	uint8_t *area;
	utofu_stadd_t stadd;
	unsigned int sent;
	unsigned int received;
};

struct test {
	struct guest guest;
	unsigned int engines;
	struct engine engine[TNIS_MAX];
	uint64_t errors;
};

static void engine_open(struct test *test, struct engine *engine,
			utofu_tni_id_t tni)
{
	uint32_t nodes = test->guest.machine.nodes;
	size_t bytes = (size_t)SLOT * (nodes + 1);
	utofu_vcq_id_t own;

	if (utofu_create_vcq(tni, 0, &engine->vcq) != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "no VCQ on TNI %u", tni);
	engine->area = aligned_alloc(4096, bytes);
	engine->id = calloc(nodes, sizeof(own));
	if (!engine->area || !engine->id)
		errx(EXIT_FAILURE, "no memory");
	memset(engine->area, 0, bytes);
	if (utofu_reg_mem_with_stag(engine->vcq, engine->area, bytes, STAG, 0,
				    &engine->stadd) != UTOFU_SUCCESS ||
	    utofu_query_vcq_id(engine->vcq, &own) != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "cannot register %zu bytes", bytes);
	memcpy(engine->id, guest_gather(&test->guest, &own, 1),
	       nodes * sizeof(own));
}

static void engines_open(struct test *test)
{
	utofu_tni_id_t *tnis;
	size_t count;

	if (utofu_get_onesided_tnis(&tnis, &count) != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "no TNIs");
	for (size_t i = 0; i < count && i < TNIS_MAX; i++)
		engine_open(test, &test->engine[test->engines++], tnis[i]);
	free(tnis);
}

static void send_all(struct test *test, size_t bytes, uint64_t seed)
{
	uint32_t nodes = test->guest.machine.nodes;
	uint32_t own = test->guest.machine.node;

	for (unsigned int e = 0; e < test->engines; e++) {
		struct engine *engine = &test->engine[e];
		size_t from = (size_t)SLOT * nodes;

		guest_fill(engine->area + from, bytes,
			   guest_seed(seed, own, e));
		for (uint32_t i = 0; i < nodes; i++) {
			/* Not all to the same node at the same time */
			uint32_t to = (own + i) % nodes;
			int code = utofu_put(
				engine->vcq, engine->id[to],
				engine->stadd + from,
				engine->stadd + (size_t)SLOT * own, bytes,
				seed & 0xff,
				UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
					UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE,
				engine);

			if (code == UTOFU_SUCCESS)
				engine->sent++;
			else
				test->errors++;
		}
	}
}

static bool engine_poll(struct test *test, struct engine *engine,
			uint64_t seed)
{
	struct utofu_mrq_notice notice;
	void *cbdata = NULL;
	int code = utofu_poll_tcq(engine->vcq, 0, &cbdata);
	bool some = code != UTOFU_ERR_NOT_FOUND;

	if (some) {
		engine->sent--;
		test->errors += code != UTOFU_SUCCESS || cbdata != engine;
	}
	code = utofu_poll_mrq(engine->vcq, 0, &notice);
	if (code != UTOFU_ERR_NOT_FOUND) {
		some = true;
		engine->received++;
		test->errors += code != UTOFU_SUCCESS ||
				notice.notice_type != UTOFU_MRQ_TYPE_RMT_PUT ||
				notice.edata != (seed & 0xff);
	}
	return some;
}

static void wait_all(struct test *test, uint64_t seed)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);
	bool left;

	do {
		bool some = false;

		left = false;
		for (unsigned int e = 0; e < test->engines; e++) {
			struct engine *engine = &test->engine[e];

			some |= engine_poll(test, engine, seed);
			left |= engine->sent ||
				engine->received < test->guest.machine.nodes;
		}
		if (left && !some && !tofu_wait_more(&wait)) {
			guest_note(&test->guest, "not all puts have ended");
			test->errors++;
			return;
		}
	} while (left);
}

static size_t verify_all(struct test *test, size_t bytes, uint64_t seed)
{
	size_t wrong = 0;

	for (unsigned int e = 0; e < test->engines; e++) {
		struct engine *engine = &test->engine[e];

		engine->received = 0;
		for (uint32_t n = 0; n < test->guest.machine.nodes; n++)
			wrong += guest_wrong(engine->area + (size_t)SLOT * n,
					     bytes, guest_seed(seed, n, e));
	}
	return wrong;
}

int main(void)
{
	struct test *test = calloc(1, sizeof(*test));

	if (!test)
		return EXIT_FAILURE;
	guest_begin(&test->guest, SIZES);
	engines_open(test);
	for (size_t i = 0; i < SIZES; i++) {
		size_t wrong = 0;

		for (uint64_t round = 0; round < ROUNDS; round++) {
			uint64_t seed = i * ROUNDS + round;

			guest_barrier(&test->guest);
			send_all(test, sizes[i], seed);
			wait_all(test, seed);
			wrong += verify_all(test, sizes[i], seed);
		}
		if (wrong)
			guest_note(&test->guest, "%zu bytes wrong", wrong);
		guest_point(&test->guest, !wrong && !test->errors,
			    "%u nodes to all, %u TNIs, %zu bytes",
			    test->guest.machine.nodes, test->engines, sizes[i]);
		test->errors = 0;
	}
	for (unsigned int e = 0; e < test->engines; e++)
		utofu_free_vcq(test->engine[e].vcq);
	return guest_end(&test->guest);
}
