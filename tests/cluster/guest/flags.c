// SPDX-License-Identifier: MIT
/*
 * Whether a processor preserves the flags that CMPXCHG8B and CMPXCHG16B do not
 * change: QEMU 7.2 needs patches/7.2/0003 for this. Otherwise garbage gets into
 * EFLAGS from time to time, and the guest dies anywhere.
 *
 * Run by each node alone; the kernel of every guest has such instructions.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>

#define ROUNDS 1000
#define FLAG_Z 0x40ul
/* Carry, parity, adjust, zero, sign and overflow */
#define FLAGS 0x8d5ul

/*
 * The flags of @a - @b, and those after an exchange. The subtraction comes
 * after a jump, in the block of code that has the exchange, and the block
 * before ends with flags of another kind.
 */
#define AROUND(exchange, word)                                                 \
	static void around_##exchange(uint64_t a, uint64_t b, word target,     \
				      uint64_t *before, uint64_t *after)       \
	{                                                                      \
		uint64_t low = 0, high = 0;                                    \
		asm volatile("cmp %[b], %[a]\n"                                \
			     "pushfq\n"                                        \
			     "pop %[before]\n"                                 \
			     "test %[a], %[a]\n"                               \
			     "jmp 1f\n"                                        \
			     "1: cmp %[b], %[a]\n" #exchange " %[target]\n"    \
			     "pushfq\n"                                        \
			     "pop %[after]\n"                                  \
			     : [before] "=&r"(*before), [after] "=&r"(*after), \
			       "+a"(low), "+d"(high), [target] "+m"(*target)   \
			     : [a] "r"(a), [b] "r"(b), "b"(1ul), "c"(2ul)      \
			     : "cc", "memory");                                \
	}

AROUND(cmpxchg8b, uint64_t *)
AROUND(cmpxchg16b, unsigned __int128 *)

/* All flags are preserved, except zero, which reports success. */
static void check(const char *name, int success, uint64_t before,
		  uint64_t after)
{
	uint64_t wanted = (before & ~FLAG_Z) | (success ? FLAG_Z : 0);

	if ((after ^ wanted) & FLAGS)
		errx(1, "%s: flags %#llx became %#llx", name,
		     (unsigned long long)before, (unsigned long long)after);
}

int main(void)
{
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t a = i * 0x9e3779b97f4a7c15, b = i * 0xd1b54a32d192ed03;
		uint64_t one = i & 1, before, after;
		unsigned __int128 two = i & 1;

		around_cmpxchg8b(a, b, &one, &before, &after);
		check("cmpxchg8b", !(i & 1), before, after);
		around_cmpxchg16b(a, b, &two, &before, &after);
		check("cmpxchg16b", !(i & 1), before, after);
	}
	printf("flags are kept\n");
	return 0;
}
