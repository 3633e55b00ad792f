// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include <tofu/job.h>

#include "error.h"
#include "world.h"

static int errno_of(int code)
{
	switch (code) {
	case UTOFU_SUCCESS:
		return 0;
	case UTOFU_ERR_NOT_COMPLETED:
		return -ETIMEDOUT;
	case UTOFU_ERR_OUT_OF_MEMORY:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

int tofu_world_errno(const struct tofu_world *world, int code, char **why)
{
	if (code)
		tofu_error_say(why, "%s", world->said);
	return errno_of(code);
}

/* Ranks are nodes. */
static int places_check(const struct tofu_machine *machine, char **why)
{
	const struct tofu_job_info *job = &machine->job;

	if (job->ppn > 1)
		tofu_error_say(why,
			       "node %u: this program is one process a node, and there are %u: start it without --ppn or TOFU_PPN",
			       machine->node, job->ppn);
	else if (job->ranks != machine->nodes)
		tofu_error_say(why,
			       "node %u: this program is a process on each of the machine's %u nodes, and its job has %u: start it with tofu-run, tofu-cluster or mpirun",
			       machine->node, machine->nodes, job->ranks);
	else
		return 0;
	return -EINVAL;
}

int tofu_world_meet(const struct tofu_machine *machine, unsigned int timeout,
		    char **why, struct tofu_world **result)
{
	struct tofu_world *world = calloc(1, sizeof(*world));
	int err;

	if (!world)
		return -ENOMEM;
	world->all = calloc(machine->job.ranks,
			    TOFU_WORLD_WORDS * sizeof(*world->all));
	err = world->all ? tofu_world_errno(world,
					    tofu_boot_join(timeout, world->said,
							   &world->boot), why) :
			   -ENOMEM;
	if (err)
		tofu_world_abandon(world);
	else
		*result = world;
	return err;
}

int tofu_world_join(const struct tofu_machine *machine, unsigned int timeout,
		    char **why, struct tofu_world **result)
{
	int err = places_check(machine, why);

	return err ? err : tofu_world_meet(machine, timeout, why, result);
}

int tofu_world_leave(struct tofu_world *world, char **why)
{
	int err = tofu_world_errno(world, tofu_boot_leave(world->boot), why);

	world->boot = NULL;
	tofu_world_abandon(world);
	return err;
}

void tofu_world_abandon(struct tofu_world *world)
{
	if (!world)
		return;
	tofu_boot_abandon(world->boot);
	free(world->all);
	free(world);
}

int tofu_world_barrier(struct tofu_world *world, char **why)
{
	return tofu_world_errno(world, tofu_boot_barrier(world->boot), why);
}

int tofu_world_check(struct tofu_world *world, uint32_t node, char **why)
{
	return tofu_world_errno(world, tofu_boot_check(world->boot, node), why);
}

int tofu_world_gather(struct tofu_world *world, const uint64_t *mine,
		      size_t words, const uint64_t **all, char **why)
{
	int code = tofu_boot_allgather(world->boot, mine, words * sizeof(*mine),
				       world->all);

	*all = world->all;
	return tofu_world_errno(world, code, why);
}
