/* SPDX-License-Identifier: MIT */
/*
 * Remote atomics: an option for machines, and what tools say of one that has
 * them, or has none, against its nature.
 */
#ifndef TOFU_TOOLS_ARMW_H
#define TOFU_TOOLS_ARMW_H

#include <stdbool.h>
#include <stddef.h>

#include "net/machine.h"

/* The option's value, of tofu_armw_words */
enum tofu_armw_choice {
	TOFU_ARMW_AS_MACHINE,
	TOFU_ARMW_ON,
	TOFU_ARMW_OFF,
};

extern const char *const tofu_armw_words[];

/* tofu_armw_chosen - whether there are atomics; without @machine by default */
bool tofu_armw_chosen(unsigned int choice, const struct tofu_preset *machine);

/*
 * tofu_armw_odd - what @machine has against its nature: "on" or "off", or NULL
 * where it is as it was, or not known
 */
const char *tofu_armw_odd(const char *machine, bool armw);

#endif /* TOFU_TOOLS_ARMW_H */
