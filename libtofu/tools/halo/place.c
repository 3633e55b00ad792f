// SPDX-License-Identifier: MIT
/* Where the processes of a grid are: on a torus of the same sizes, in its rings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/coll.h>

#include "common/error.h"
#include "halo/halo.h"

/* Sizes longer than 1 */
static unsigned int longer(const unsigned int size[], unsigned int count,
			   unsigned int found[])
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < count; i++)
		if (size[i] > 1)
			found[used++] = size[i];
	return used;
}

static bool has_sizes(const struct tofu_grid *grid,
		      const struct tofu_group_info *torus)
{
	unsigned int a[TOFU_GRID_DIMS_MAX], b[TOFU_GRID_DIMS_MAX];
	unsigned int count = longer(grid->size, grid->dims, a);

	return longer(torus->size, TOFU_COLL_AXES, b) == count &&
	       !memcmp(a, b, count * sizeof(*a));
}

/* Places are the torus's numbers: both grow fastest along the last axis. */
static int places_fill(struct halo_places *places,
		       const struct tofu_group *group, uint32_t count,
		       uint32_t own)
{
	int code = UTOFU_SUCCESS;

	places->node = calloc(count, sizeof(*places->node));
	if (!places->node)
		return UTOFU_ERR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < count && !code; i++) {
		code = tofu_group_rank(group, i, &places->node[i]);
		if (places->node[i] == own)
			places->own = i;
	}
	return code;
}

int halo_places_make(const struct tofu_grid *grid, struct tofu_boot *boot,
		     uint32_t own, struct halo_places *places, char **why)
{
	struct tofu_group_info torus;
	struct tofu_group *group;
	int code = tofu_group_create(boot, NULL, 0, NULL, &group);

	*places = (struct halo_places){ .own = own };
	if (!code) {
		tofu_group_query(group, &torus);
		if (has_sizes(grid, &torus))
			code = places_fill(places, group, torus.count, own);
		tofu_group_free(group);
	}
	if (!code)
		return 0;
	tofu_error_say(why, "node %u: cannot find the torus: %s", own,
		       tofu_error_text(code));
	return code == UTOFU_ERR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

void halo_places_put(const struct halo_places *places,
		     struct halo_pattern *pattern)
{
	for (unsigned int i = 0; places->node && i < pattern->count; i++) {
		struct halo_message *m = &pattern->message[i];

		m->to = places->node[m->to];
		m->from = places->node[m->from];
	}
}

void halo_places_free(struct halo_places *places)
{
	free(places->node);
}
