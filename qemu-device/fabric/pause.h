/* SPDX-License-Identifier: MIT */
/*
 * A processor that spins lets its other hardware thread work.
 */
#ifndef FABRIC_PAUSE_H
#define FABRIC_PAUSE_H

static inline void tofu_pause(unsigned int times)
{
	while (times--) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
}

#endif /* FABRIC_PAUSE_H */
