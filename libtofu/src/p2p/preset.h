/* SPDX-License-Identifier: MIT */
/* Thresholds of machines. */
#ifndef P2P_PRESET_H
#define P2P_PRESET_H

#include <stddef.h>

/**
 * struct p2p_preset
 * @eager: bytes up to which messages are eager
 * @get:   bytes up to which longer ones are got, the others are put
 */
struct p2p_preset {
	const char *name;
	size_t eager;
	size_t get;
};

/* p2p_preset_find - Return: NULL for a name that there is not */
const struct p2p_preset *p2p_preset_find(const char *name);

#endif /* P2P_PRESET_H */
