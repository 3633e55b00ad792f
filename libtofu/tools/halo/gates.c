// SPDX-License-Identifier: MIT
/* Barrier gates of all nodes, linked to a butterfly. */
#include <errno.h>
#include <stdlib.h>

#include <utofu.h>

#include "coll/gates.h"
#include "common/error.h"
#include "halo/halo.h"

#define GATES_TNI 0

static int say_code(const struct tofu_machine *machine, const char *what,
		    int code, char **why)
{
	tofu_error_say(why, "node %u: cannot %s barrier gates: %s",
		       machine->node, what, tofu_error_text(code));
	return -EIO;
}

static int gates_link(const struct tofu_machine *machine,
		      const struct halo_gates *gates,
		      const struct tofu_gate_links *links, const uint64_t *ids,
		      char **why)
{
	struct utofu_vbg_setting settings[HALO_GATES_MAX];
	int code;

	tofu_network_settings(links, gates->count, machine->node, ids,
			      HALO_GATES_MAX, settings);
	code = utofu_set_vbg(settings, gates->count);
	return code ? say_code(machine, "link", code, why) : 0;
}

int halo_gates_make(const struct tofu_machine *machine, struct tofu_world *world,
		    struct halo_gates *gates, char **why)
{
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	unsigned int count = tofu_network_links(TOFU_NETWORK_BUTTERFLY,
						machine->nodes, machine->node,
						links);
	const uint64_t *ids;
	int code, err;

	if (count > HALO_GATES_MAX) {
		tofu_error_say(why, "a barrier of so many nodes needs %u gates",
			       count);
		return -ENOSPC;
	}
	code = utofu_alloc_vbg(GATES_TNI, count, 0, gates->id);
	if (code)
		return say_code(machine, "allocate", code, why);
	gates->count = count;
	err = tofu_world_gather(world, gates->id, HALO_GATES_MAX, &ids, why);
	if (!err)
		err = gates_link(machine, gates, links, ids, why);
	/* No signal comes to a gate that is not linked yet. */
	return err ? err : tofu_world_barrier(world, why);
}

void halo_gates_free(struct halo_gates *gates)
{
	if (gates->count)
		utofu_free_vbg(gates->id, gates->count);
	gates->count = 0;
}
