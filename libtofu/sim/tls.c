// SPDX-License-Identifier: MIT

#include "sim/tls.h"

#include <stdint.h>

/*
 * The block of the executable ends at the thread pointer on x86-64, and begins
 * behind two words of the thread's on aarch64. The linker puts .tcommon last,
 * and .tdata first; this executable has nothing else in those sections.
 */
#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

#if defined(__x86_64__)
#define SECTION ".tcommon,\"awT\",@nobits"
#define TYPE "@object"
#elif defined(__aarch64__)
#define SECTION ".tdata,\"awT\",%progbits"
#define TYPE "%object"
#else
#error "where is the thread-local data of an executable?"
#endif

__asm__(".pushsection " SECTION "\n"
	".balign 16\n"
	".globl sim_tls_reserve\n"
	".hidden sim_tls_reserve\n"
	".type sim_tls_reserve, " TYPE "\n"
	".size sim_tls_reserve, " TEXT_OF(SIM_TLS_RESERVE) "\n"
	"sim_tls_reserve:\n"
	".zero " TEXT_OF(SIM_TLS_RESERVE) "\n"
	".popsection\n");

extern __thread char sim_tls_reserve[]
	__attribute__((visibility("hidden"), tls_model("local-exec")));

/*
 * Between the reserve and the thread pointer is nothing but what the linker
 * skipped to align the block, or there are other variables in the way. More
 * than the alignment of the processor's widest vectors it does not skip.
 */
#define SKIPPED 64

static uintptr_t thread_pointer(void)
{
#if defined(__x86_64__)
	uintptr_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

void *sim_tls_place(size_t len, size_t align)
{
	uintptr_t tp = thread_pointer();
	uintptr_t reserve = (uintptr_t)sim_tls_reserve;
	uintptr_t at;

	if (align < 1)
		align = 1;
	if (len > SIM_TLS_RESERVE || align > SKIPPED || (align & (align - 1)))
		return NULL;
#if defined(__x86_64__)
	at = tp - ((len + align - 1) & ~(align - 1));
	if (at < reserve || tp - (reserve + SIM_TLS_RESERVE) >= SKIPPED)
		return NULL;
#else
	at = tp + ((16 + align - 1) & ~(align - 1));
	if (reserve - tp > SKIPPED || at + len > reserve + SIM_TLS_RESERVE)
		return NULL;
#endif
	return (void *)at;
}
