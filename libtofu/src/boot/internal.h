/* SPDX-License-Identifier: MIT */
/*
 * The internals of a boot, which is built on uTofu and <tofu/job.h>.
 *
 * Each process registers one area under the same STAG, on a VCQ whose ID
 * follows from its rank, so no addresses need to be exchanged first. The words
 * of the area:
 *
 *   hello[round]  number of the process that signals this one in that round
 *   ack[round]    this process's hello, returned by the process it signals
 *   epoch[2][round]  the last barrier that the signalling process has reached,
 *                 of those with even and of those with odd numbers
 *   probe         written by processes that check whether this one is there
 *   link[2][gate] IDs of gates that other processes want linked to this one's
 *   out           a note on its way to another process's board
 *   board[slot]   notes that others leave here
 *
 * In round r of a barrier by dissemination, process i signals process i + 2^r
 * and waits for process i - 2^r (modulo their number). A hello is a number
 * drawn by each process. It stands in the upper half of the epochs that the
 * process sends, so that a word left by an earlier process of the same rank is
 * never taken for a signal. The lowest bit of an epoch says that some process
 * dissents from what the barrier is about. A process reads a word of barrier e
 * before it enters barrier e + 1, and no other enters e + 2 before that: so the
 * word is not overwritten too early.
 *
 * Memory and work of a process do not depend on the number of processes, except
 * for the rounds. The board is not touched before it is used. Only the tables
 * of an allgather are larger, so they are a region of their own, under a second
 * STAG: the area must stay registered while barriers are under way, and cannot
 * grow. The tables come into being at the first allgather, and are replaced by
 * larger ones when more is asked for. Both are safe: all processes call it with
 * the same length, so all do the same.
 *
 * - When a process withdraws its old tables, no put to them is under way. All
 *   of them arrived before their senders entered the barrier that ends the
 *   allgather before, and the process has passed that barrier.
 * - No put to the new tables finds them missing. A process enters a barrier
 *   when it has registered its own, and none puts before that has ended.
 *
 * May include: utofu/, net/, uapi/
 */
#ifndef BOOT_INTERNAL_H
#define BOOT_INTERNAL_H

#include <stdbool.h>

#include <tofu/boot.h>
#include <tofu/job.h>

#include "net/topology.h"
#include "utofu/time.h"

#define BOOT_ROUNDS_MAX 32
#define BOOT_RETRY_NS UINT64_C(5000000)
#define BOOT_NOTE_WORDS (TOFU_BOOT_NOTE / sizeof(uint64_t))
/* Words of a process in a table; a longer allgather takes several turns. */
#define BOOT_TABLE_WORDS 16
#define BOOT_TABLE_STAG (TOFU_BOOT_STAG - 1)
/* Of a region of the layer above: see struct boot_tenant. */
#define BOOT_TENANT_STAG (TOFU_BOOT_STAG - 2)
/* Gates of a process that can have links: a butterfly of 2^31 processes */
#define BOOT_LINKS_MAX 33

enum boot_word {
	BOOT_HELLO,
	BOOT_ACK = BOOT_ROUNDS_MAX,
	BOOT_EPOCH = 2 * BOOT_ROUNDS_MAX,
	BOOT_PROBE = 4 * BOOT_ROUNDS_MAX,
	BOOT_LINK_SRC,
	BOOT_LINK_DST = BOOT_LINK_SRC + BOOT_LINKS_MAX,
	BOOT_OUT = BOOT_LINK_DST + BOOT_LINKS_MAX,
	BOOT_BOARD = BOOT_OUT + BOOT_NOTE_WORDS,
	BOOT_WORDS = BOOT_BOARD + TOFU_BOOT_SLOTS * BOOT_NOTE_WORDS,
};

/**
 * struct boot_region - registered memory, all zeroes at first
 * @memory: as allocated, or NULL
 * @word:   its words, from the first boundary where a region can begin
 * @stadd:  of the first word, in every process
 */
struct boot_region {
	void *memory;
	uint64_t *word;
	utofu_stadd_t stadd;
};

/**
 * struct boot_tenant - what a layer above keeps with a boot
 * @region: under BOOT_TENANT_STAG, as large in every process
 * @state:  the layer's, or NULL
 * @free:   frees it, when the boot is freed
 */
struct boot_tenant {
	struct boot_region region;
	void *state;
	void (*free)(void *state);
};

/**
 * struct tofu_boot
 * @job:     as tofu_query_job() has it
 * @shape:   of the machine
 * @first:   node of rank 0
 * @tnis:    TNIs of each node
 * @timeout: seconds
 * @why:     buffer for sentences about failures, or NULL
 * @rounds:  of a barrier
 * @vcq:     valid if @has_vcq
 * @area:    enum boot_word
 * @table:   two tables of ranks x @table_words, of the last two allgathers
 * @table_words: 0 before the first allgather
 * @hello:   of this process, never 0
 * @epoch:   barriers begun
 * @gathers: tables used
 * @met:     all have said hello; no new hello is accepted
 * @leaving: this is the last barrier: others that have passed it may be gone
 * @answered: hellos that were acknowledged, by round
 * @next:    when the hello of a round may be sent again, nanoseconds
 * @tenant:  of a layer above
 */
struct tofu_boot {
	struct tofu_job_info job;
	struct tofu_shape shape;
	uint32_t first;
	unsigned int tnis;
	unsigned int timeout;
	char *why;
	unsigned int rounds;
	utofu_vcq_hdl_t vcq;
	bool has_vcq;
	struct boot_region area;
	struct boot_region table;
	size_t table_words;
	uint32_t hello;
	uint32_t epoch;
	uint32_t gathers;
	bool met;
	bool leaving;
	uint32_t answered[BOOT_ROUNDS_MAX];
	uint64_t next[BOOT_ROUNDS_MAX];
	struct boot_tenant tenant;
};

/* ---- wait.c ---- */

/**
 * struct boot_wait - a polling wait: busy at first, then it yields the
 * processor to other processes, on which it may depend
 * @polls:  empty polls so far
 * @began:  nanoseconds, when the clock was first read; 0 before
 * @limit:  nanoseconds
 * @mark:   of tofu_work_turns()
 * @turns:  the same polls, by which the processor is yielded
 */
struct boot_wait {
	uint64_t polls;
	uint64_t began;
	uint64_t limit;
	unsigned int mark;
	struct tofu_turns turns;
};


/*
 * boot_begin, boot_end - around what uses the boot's VCQ: attendants keep their
 * threads away, but not from what boot_wait_more() has them do. The end returns its
 * argument.
 */
void boot_begin(void);
int boot_end(int code);

struct boot_wait boot_wait_begin(const struct tofu_boot *boot);

/* boot_wait_more - call after an empty poll; false: the time is over */
bool boot_wait_more(struct boot_wait *wait);

/* boot_wait_time - nanoseconds waited, 0 for the first polls */
uint64_t boot_wait_time(const struct boot_wait *wait);

/* ---- region.c ---- */

/**
 * boot_region_create - allocate and register memory through the boot's VCQ
 *
 * The memory is not touched here, so what is never used takes no room.
 *
 * Return: UTOFU_SUCCESS, or a code after a sentence.
 */
int boot_region_create(struct tofu_boot *boot, size_t words, unsigned int stag,
		       struct boot_region *region);

/* boot_region_free - deregister and free it, if it was created */
void boot_region_free(struct tofu_boot *boot, struct boot_region *region);

/* ---- put.c: words of other processes; codes of enum utofu_return_code ---- */

/* boot_place - TNI and queue of a process's VCQ */
void boot_place(const struct tofu_boot *boot, uint32_t rank,
		utofu_tni_id_t *tni, utofu_cq_id_t *cq);

/* boot_put - put a word into another process's area; returns when it arrived */
int boot_put(struct tofu_boot *boot, uint32_t rank, size_t index,
	     uint64_t value);

/* boot_put_block - put bytes of a region here to the same region of another */
int boot_put_block(struct tofu_boot *boot, uint32_t rank,
		   const struct boot_region *region, size_t from, size_t to,
		   size_t bytes);

/* boot_get_block - get bytes of the same region of another into a region here */
int boot_get_block(struct tofu_boot *boot, uint32_t rank,
		   const struct boot_region *region, size_t from, size_t to,
		   size_t bytes);

/* boot_is_absence - whether a code means that the process is not there */
bool boot_is_absence(int code);

/* boot_word - read a word that others put; later puts are not seen before it */
static inline uint64_t boot_word(const struct tofu_boot *boot, size_t index)
{
	return __atomic_load_n(&boot->area.word[index], __ATOMIC_ACQUIRE);
}

/* ---- say.c: sentences for people ---- */

/* boot_say - keep a sentence that names this process; records, returns @code */
int boot_say(const struct tofu_boot *boot, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* boot_unit, boot_with_unit - "rank" or "node", with its preposition */
const char *boot_unit(const struct tofu_boot *boot);
const char *boot_with_unit(const struct tofu_boot *boot);

/* boot_say_put - report that a put to a process failed with @code */
int boot_say_put(const struct tofu_boot *boot, uint32_t rank, int code);

/* boot_say_late - report a timeout, and which processes are missing */
int boot_say_late(struct tofu_boot *boot, uint32_t awaited);

/* ---- meet.c ---- */

int boot_meet(struct tofu_boot *boot);
int boot_barrier(struct tofu_boot *boot);

/**
 * boot_agree - a barrier that tells whether all processes assent
 * @assent: of this process
 * @all:    set to whether every process assents
 *
 * It costs no more than boot_barrier(), and processes can mix the two.
 *
 * Return: as boot_barrier().
 */
int boot_agree(struct tofu_boot *boot, bool assent, bool *all);

#endif /* BOOT_INTERNAL_H */
