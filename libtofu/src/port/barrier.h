/* SPDX-License-Identifier: MIT */
/*
 * Every ordering between this library and the engine, named by its role. The
 * other side is a thread, of QEMU behind the kernel port and of this process
 * in the emu port. So these are the C memory model's orderings on ordinary
 * memory, not device barriers.
 */
#ifndef PORT_BARRIER_H
#define PORT_BARRIER_H

#include <endian.h>

#include <tofu/desc.h>

/*
 * Reads the word of a ring entry that has the flip bit. Everything that the
 * engine wrote before it is visible: the rest of the entry, and the payload
 * that the entry reports. Pairs with the engine's store64.
 */
static inline __u64 tofu_entry_acquire(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/*
 * Reads another word of the entry, after that one. The writer is not trusted
 * to leave the words alone, so each is read once.
 */
static inline __u64 tofu_entry_word(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

/*
 * Reads a position that the engine publishes (toq_head). The TCQ entries that
 * the engine wrote before it fetched that far are visible.
 */
static inline __u64 tofu_position_acquire(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/*
 * Publishes a position to the engine. fetch_start: an engine that sees it also
 * sees the descriptors below it. mrq_full_pointer and tcq_read: the entries
 * below it have been read before the engine overwrites them.
 */
static inline void tofu_position_release(__le64 *word, __u64 position)
{
	__atomic_store_n(word, htole64(position), __ATOMIC_RELEASE);
}

/*
 * Stores a word of a direct command. The compiler neither splits the store nor
 * merges it with others. The device takes the word when fetch_start says so,
 * and that is stored with release.
 */
static inline void tofu_direct_write(__le64 *word, __le64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/*
 * Between publishing fetch_start and reading need_kick. Before the engine
 * sleeps, it sets need_kick, issues the same fence, and reads fetch_start, so
 * one of the two sees the other's store. Release and acquire do not ensure
 * that.
 */
static inline void tofu_kick_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Stores a word of a channel's block, for a barrier not yet started. */
static inline void tofu_block_write(__le64 *word, __u64 value)
{
	__atomic_store_n(word, htole64(value), __ATOMIC_RELAXED);
}

/*
 * Starts the barrier that a channel's block describes, by a store to the
 * channel's page. The device reads the block after the store, in the thread
 * that handles the trap or in one that takes a lock of that thread. Volatile,
 * so that the compiler does not drop the store.
 */
static inline void tofu_start_release(void *at)
{
	__atomic_store_n((volatile __u64 *)at, 1, __ATOMIC_RELEASE);
}

/*
 * Reads how many barriers have ended. The results, which the engine wrote
 * before it, are visible. Pairs with the engine's store64.
 */
static inline __u64 tofu_done_acquire(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/* Reads another word of the block, after that one: once, as above. */
static inline __u64 tofu_block_read(const __le64 *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

/* Reads a word of the page that orders nothing: need_kick, status. */
static inline __u32 tofu_word_read(const __le32 *word)
{
	return le32toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

#endif /* PORT_BARRIER_H */
