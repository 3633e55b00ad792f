// SPDX-License-Identifier: MIT
/* The collectives of <tofu/coll.h> */
#include <stdbool.h>
#include <string.h>

#include <tofu/coll.h>

#include "coll.h"

#define TIMEOUT 60
#define MEMBERS_MAX 64

static const enum tofu_coll_kind kinds[COLL_KINDS] = {
	[COLL_ALLREDUCE] = TOFU_COLL_ALLREDUCE,
	[COLL_BCAST] = TOFU_COLL_BCAST,
	[COLL_ALLGATHER] = TOFU_COLL_ALLGATHER,
	[COLL_BARRIER] = TOFU_COLL_BARRIER,
	[COLL_ALLTOALL] = TOFU_COLL_ALLTOALL,
	[COLL_REDUCE] = TOFU_COLL_REDUCE,
};

static struct tofu_boot *boot;
static struct tofu_group *group;
static struct tofu_coll *coll;

static void check(int code, const char *what)
{
	if (code)
		coll_fail(what, code);
}

struct coll_group coll_begin(int *argc, char ***argv)
{
	struct tofu_group_info info;

	(void)argc;
	(void)argv;
	check(tofu_boot_join(TIMEOUT, NULL, &boot), "tofu_boot_join");
	check(tofu_group_create(boot, NULL, 0, NULL, &group),
	      "tofu_group_create");
	check(tofu_group_query(group, &info), "tofu_group_query");
	if (info.count > MEMBERS_MAX)
		coll_fail("too many members", info.count);
	return (struct coll_group){ .number = info.number,
				    .members = info.count };
}

void coll_end(void)
{
	tofu_group_free(group);
	check(tofu_boot_leave(boot), "tofu_boot_leave");
}

static enum tofu_coll_algorithm algorithm_of(const char *name)
{
	for (unsigned int i = 0; i < TOFU_COLL_ALGORITHMS; i++)
		if (!strcmp(name, tofu_coll_algorithm_name(i)))
			return i;
	coll_fail("no such algorithm", 0);
}

const char *coll_make(const struct coll_case *c)
{
	static struct tofu_coll_description description;
	const struct tofu_coll_spec spec = {
		.kind = kinds[c->kind],
		.type = TOFU_COLL_DOUBLE,
		.op = TOFU_COLL_SUM,
		.root = COLL_ROOT,
		.count = c->bytes / sizeof(double),
		.send = c->kind == COLL_BCAST ? NULL : c->send,
		.recv = c->recv,
	};
	/* Barrier gates make sums of doubles that no order changes. */
	bool sum_by_gates = c->kind == COLL_ALLREDUCE &&
			    !strcmp(c->algorithm, "gates");
	const struct tofu_coll_tuning tuning = {
		.algorithm = algorithm_of(c->algorithm),
		.flags = sum_by_gates ? TOFU_COLL_REPRODUCIBLE : 0,
	};

	check(tofu_coll_create(group, &spec, &tuning, &coll),
	      "tofu_coll_create");
	check(tofu_coll_describe(coll, &description), "tofu_coll_describe");
	return tofu_coll_algorithm_name(description.algorithm);
}

void coll_unmake(void)
{
	tofu_coll_free(coll);
}

void coll_once(const struct coll_case *c)
{
	(void)c;
	check(tofu_coll_start(coll), "tofu_coll_start");
	check(tofu_coll_wait(coll), "tofu_coll_wait");
}

double coll_meet(double value)
{
	double all[MEMBERS_MAX], greatest = value;

	check(tofu_boot_allgather(boot, &value, sizeof(value), all),
	      "tofu_boot_allgather");
	for (int i = 0; i < tofu_boot_size(boot); i++)
		if (all[i] > greatest)
			greatest = all[i];
	return greatest;
}
