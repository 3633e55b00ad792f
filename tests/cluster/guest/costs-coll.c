// SPDX-License-Identifier: MIT
/* What collectives cost: node 0 is measured. */
#include <string.h>

#include <tofu/coll.h>

#include "costs.h"

/**
 * struct coll - what is measured of a collective
 * @start: starting it
 * @vain:  tests while the other node has not started
 * @end:   the test that finds all that has come
 */
struct coll {
	struct tofu_coll *coll;
	struct meter start;
	struct meter vain;
	struct meter end;
};

static void vain_measure(struct test *test, struct coll *c)
{
	check(tofu_coll_start(c->coll), "tofu_coll_start");
	stop(test, &c->start);
	/* Its own puts have ended, and that is seen. */
	settle();
	tofu_coll_test(c->coll);
	start(test);
	for (unsigned int i = 0; i < test->tests; i++)
		tofu_coll_test(c->coll);
	stop(test, &c->vain);
}

static void round_measure(struct test *test, struct coll *c)
{
	bool measured = !test->guest.machine.node;
	int code = UTOFU_SUCCESS;

	guest_barrier(&test->guest);
	start(test);
	if (measured)
		vain_measure(test, c);
	guest_barrier(&test->guest);
	if (!measured)
		check(tofu_coll_start(c->coll), "tofu_coll_start");
	settle();
	settle();
	start(test);
	if (measured)
		code = tofu_coll_test(c->coll);
	stop(test, &c->end);
	/* The first one can take page faults; rings go on from there. */
	if (!measured || test->round < 0 || code == UTOFU_ERR_NOT_COMPLETED)
		code = tofu_coll_wait(c->coll);
	check(code, "tofu_coll_test");
}

static void collective(struct test *test, const char *name,
		       const struct tofu_coll_spec *spec,
		       const struct tofu_coll_tuning *tuning)
{
	struct coll *c = calloc(1, sizeof(*c));
	struct tofu_group *group;
	char text[32];

	if (!c)
		errx(EXIT_FAILURE, "no memory");
	check(tofu_group_create(test->guest.world->boot, NULL, 0, NULL, &group),
	      "tofu_group_create");
	check(tofu_coll_create(group, spec, tuning, &c->coll),
	      "tofu_coll_create");
	rounds_begin(test);
	while (round_next(test))
		round_measure(test, c);
	tofu_coll_free(c->coll);
	tofu_group_free(group);
	snprintf(text, sizeof(text), "coll-start-%s", name);
	report(test, text, &c->start, 1);
	snprintf(text, sizeof(text), "coll-vain-%s", name);
	report(test, text, &c->vain, test->tests);
	snprintf(text, sizeof(text), "coll-end-%s", name);
	report(test, text, &c->end, 1);
	free(c);
}

void coll_measure(struct test *test)
{
	const struct tofu_coll_tuning doubling = {
		.algorithm = TOFU_COLL_DOUBLING,
	};
	const struct tofu_coll_tuning rings = {
		.algorithm = TOFU_COLL_MULTIRING,
		.engines = 2,
	};
	const struct tofu_coll_tuning ring = {
		.algorithm = TOFU_COLL_RING,
	};
	const struct tofu_coll_tuning dissemination = {
		.algorithm = TOFU_COLL_DISSEMINATION,
	};
	const struct tofu_coll_tuning gates = {
		.algorithm = TOFU_COLL_GATES,
	};
	struct tofu_coll_spec barrier = {
		.kind = TOFU_COLL_BARRIER,
	};
	struct tofu_coll_spec spec = {
		.kind = TOFU_COLL_ALLREDUCE,
		.type = TOFU_COLL_DOUBLE,
		.op = TOFU_COLL_SUM,
		.count = 1,
		.send = calloc(2, BYTES_COLL),
		.recv = calloc(2, BYTES_COLL),
	};
	void *send = (void *)(uintptr_t)spec.send;

	if (!spec.send || !spec.recv)
		errx(EXIT_FAILURE, "no memory");
	collective(test, "8", &spec, &doubling);
	collective(test, "ring", &spec, &ring);
	spec.count = BYTES_COLL / sizeof(double);
	collective(test, "8192", &spec, &doubling);
	spec.kind = TOFU_COLL_ALLGATHER;
	collective(test, "rings", &spec, &rings);
	collective(test, "gates", &barrier, &gates);
	collective(test, "dissemination", &barrier, &dissemination);
	free(send);
	free(spec.recv);
}
