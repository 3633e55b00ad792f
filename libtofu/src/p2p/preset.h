/* SPDX-License-Identifier: MIT */
/* Thresholds of machines. */
#ifndef P2P_PRESET_H
#define P2P_PRESET_H

#include <stddef.h>

/**
 * struct p2p_preset
 * @eager: bytes up to which messages are eager
 * @get:   bytes up to which longer messages are got, larger ones are put
 */
struct p2p_preset {
	const char *name;
	size_t eager;
	size_t get;
};

/* p2p_preset_find - look up a machine. Return: NULL for an unknown name */
const struct p2p_preset *p2p_preset_find(const char *name);

#endif /* P2P_PRESET_H */
