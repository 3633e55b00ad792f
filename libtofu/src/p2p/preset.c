// SPDX-License-Identifier: MIT
/*
 * Thresholds of machines: where one way of a message begins to be faster than
 * the other. Names are those of qemu-device/icc/machine.c.
 */
#include "p2p/preset.h"

#include <string.h>

/* All are first guesses, to be replaced by what is measured. */
static const struct p2p_preset presets[] = {
	{ "k", 16384, 1 << 20 },
	{ "fx10", 16384, 1 << 20 },
	{ "fx100", 32768, 1 << 20 },
	{ "fugaku", 32768, 1 << 20 },
};

const struct p2p_preset *p2p_preset_find(const char *name)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}
