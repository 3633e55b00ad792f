// SPDX-License-Identifier: MIT
/*
 * Thresholds of machines: sizes at which one protocol becomes faster than the
 * other. Names are those of qemu-device/net/machine.c.
 */
#include "p2p/preset.h"

#include <stdint.h>
#include <string.h>

#include <tofu/p2p.h>

/*
 * Measured and compared by scripts/repro p2p-threshold, with buffers that are
 * still registered. At no size above that of eager messages did puts carry 3 %
 * more messages than gets, and gets take less time.
 */
#define NEVER_PUT SIZE_MAX

static const struct p2p_preset presets[] = {
	{ "k", 12288, NEVER_PUT },
	{ "fx10", 12288, NEVER_PUT },
	{ "fx100", 12288, NEVER_PUT },
	{ "fugaku", 8192, NEVER_PUT },
};

const struct p2p_preset *p2p_preset_find(const char *name)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

int tofu_p2p_machine(const char *machine, size_t *eager, size_t *get)
{
	const struct p2p_preset *preset;

	if (!machine || !eager || !get)
		return UTOFU_ERR_INVALID_POINTER;
	preset = p2p_preset_find(machine);
	if (!preset)
		return UTOFU_ERR_NOT_FOUND;
	*eager = preset->eager;
	*get = preset->get;
	return UTOFU_SUCCESS;
}
