// SPDX-License-Identifier: MIT
#include "armw.h"

const char *const tofu_armw_words[] = {
	[TOFU_ARMW_AS_MACHINE] = "auto",
	[TOFU_ARMW_ON] = "on",
	[TOFU_ARMW_OFF] = "off",
	NULL,
};

bool tofu_armw_chosen(unsigned int choice, const struct tofu_preset *machine)
{
	if (choice == TOFU_ARMW_AS_MACHINE)
		return !machine || machine->armw;
	return choice == TOFU_ARMW_ON;
}

const char *tofu_armw_odd(const char *machine, bool armw)
{
	const struct tofu_preset *preset = tofu_preset_find(machine);

	if (!preset || preset->armw == armw)
		return NULL;
	return armw ? "on" : "off";
}
