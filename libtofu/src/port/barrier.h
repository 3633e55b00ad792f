/* SPDX-License-Identifier: MIT */
/*
 * Every ordering between this library and the engine, named by what it is
 * for. The other side is a thread: of QEMU behind the kernel port, of this
 * process in the emu port. So these are the C memory model's orderings on
 * ordinary memory, and no device barriers.
 */
#ifndef PORT_BARRIER_H
#define PORT_BARRIER_H

#include <endian.h>

#include <tofu/desc.h>

/*
 * Reading an entry of a ring: its word with the flip bit. What the engine
 * wrote before it is seen: the rest of the entry, and the payload that the
 * entry tells of. Pairs with the engine's store64.
 */
static inline __u64 tofu_entry_acquire(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/*
 * The other words of the entry, after that. Who writes them is not to be
 * trusted to leave them alone, so each is read once.
 */
static inline __u64 tofu_entry_word(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

/*
 * Reading a position that the engine publishes (toq_head). The TCQ entries
 * that were written before the engine fetched that far are seen.
 */
static inline __u64 tofu_position_acquire(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/*
 * Publishing a position to the engine. fetch_start: the descriptors below it
 * are seen by whoever sees it. mrq_full_pointer and tcq_read: the entries
 * below it have been read before the engine writes them anew.
 */
static inline void tofu_position_release(__le64 *word, __u64 position)
{
	__atomic_store_n(word, htole64(position), __ATOMIC_RELEASE);
}

/*
 * A word of a direct command: a store of its own, which the compiler neither
 * splits nor joins with others. The device takes it when fetch_start tells it
 * to, and that is stored with release.
 */
static inline void tofu_direct_write(__le64 *word, __le64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/*
 * Between publishing fetch_start and reading need_kick. The engine, before it
 * sleeps, sets need_kick, has the same fence, and looks at fetch_start: one of
 * the two sees the other's store. Release and acquire cannot give that.
 */
static inline void tofu_kick_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* A word of a channel's block, of a barrier that is not yet started. */
static inline void tofu_block_write(__le64 *word, __u64 value)
{
	__atomic_store_n(word, htole64(value), __ATOMIC_RELAXED);
}

/*
 * Starting what a channel's block says, by a store to the channel's page. The
 * device reads the block after the store, in the thread that it traps to or in
 * one that takes a lock of that one's. The store is not left out, hence
 * volatile.
 */
static inline void tofu_start_release(void *at)
{
	__atomic_store_n((volatile __u64 *)at, 1, __ATOMIC_RELEASE);
}

/*
 * Reading how many barriers have ended. What the engine wrote before it is
 * seen: the results. Pairs with the engine's store64.
 */
static inline __u64 tofu_done_acquire(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/* The other words of the block, after that: each is read once, as above. */
static inline __u64 tofu_block_read(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

/* A word of the page that orders nothing: need_kick, status. */
static inline __u32 tofu_word_read(const __le32 *word)
{
	return le32toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

#endif /* PORT_BARRIER_H */
