/* SPDX-License-Identifier: MIT */
/*
 * A boot from the inside. It is made of uTofu and <tofu/job.h>.
 *
 * Each process registers one area under the same STAG, on a VCQ whose ID the
 * others can tell from its rank: there is nothing to agree on before. What
 * others write there, as words:
 *
 *   hello[round]  who I am, from the process that signals me in that round
 *   ack[round]    my own hello, back from the process that I signal
 *   epoch[round]  how many barriers that process has come to
 *   probe         written by a process that wants to know whether I am there
 *   board[slot]   notes that others leave for me
 *   out           a note on its way to another's board
 *   table[2]      the words of all processes, of the last two allgathers
 *
 * In round r of a barrier by dissemination, process i signals process i + 2^r
 * and waits for process i - 2^r (modulo their number). A hello is a number
 * drawn by each process, and it stands in the upper half of the epochs that it
 * sends, so that what an earlier process of the same rank left behind is never
 * taken for a signal.
 *
 * May include: utofu/, net/
 */
#ifndef BOOT_INTERNAL_H
#define BOOT_INTERNAL_H

#include <stdbool.h>

#include <tofu/boot.h>
#include <tofu/job.h>

#include "net/topology.h"

#define BOOT_ROUNDS_MAX 32
#define BOOT_RETRY_NS UINT64_C(5000000)
#define BOOT_NOTE_WORDS (TOFU_BOOT_NOTE / sizeof(uint64_t))
/* Of a process in a table; a longer allgather takes several turns. */
#define BOOT_TABLE_WORDS 16

enum boot_word {
	BOOT_HELLO,
	BOOT_ACK = BOOT_ROUNDS_MAX,
	BOOT_EPOCH = 2 * BOOT_ROUNDS_MAX,
	BOOT_PROBE = 3 * BOOT_ROUNDS_MAX,
	BOOT_BOARD,
	BOOT_OUT = BOOT_BOARD + TOFU_BOOT_SLOTS * BOOT_NOTE_WORDS,
	BOOT_TABLE = BOOT_OUT + BOOT_NOTE_WORDS,
};

/**
 * struct tofu_boot
 * @job:     as tofu_query_job() has it
 * @shape:   of the machine
 * @first:   node of rank 0
 * @tnis:    TNIs of each node
 * @timeout: seconds
 * @why:     where sentences go, or NULL
 * @rounds:  of a barrier
 * @vcq:     where @has_vcq
 * @word:    the area, enum boot_word
 * @stadd:   of the area, in every process
 * @hello:   of this process, never 0
 * @epoch:   barriers begun
 * @gathers: tables used
 * @met:     all have said hello; none may say another
 * @leaving: this is the last barrier: others that are through may be gone
 * @answered: hellos that were acknowledged, by round
 * @last:    when the hello of a round was sent, nanoseconds
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
	uint64_t *word;
	utofu_stadd_t stadd;
	uint32_t hello;
	uint32_t epoch;
	uint32_t gathers;
	bool met;
	bool leaving;
	uint32_t answered[BOOT_ROUNDS_MAX];
	uint64_t last[BOOT_ROUNDS_MAX];
};

/* ---- wait.c ---- */

/**
 * struct boot_wait - waiting for something that polling shows: at first as fast
 * as can be, then leaving the processor to others, who may be what is waited
 * for
 * @polls:  empty polls so far
 * @began:  nanoseconds, at the first look at the clock; 0 before
 * @limit:  nanoseconds
 * @turns:  how often the processor was left to others
 */
struct boot_wait {
	uint64_t polls;
	uint64_t began;
	uint64_t limit;
	unsigned int turns;
};


struct boot_wait boot_wait_begin(const struct tofu_boot *boot);

/* boot_wait_more - after a poll that found nothing; false: the time is over */
bool boot_wait_more(struct boot_wait *wait);

/* boot_wait_time - nanoseconds that this has gone on, 0 for a short while */
uint64_t boot_wait_time(const struct boot_wait *wait);

/* ---- put.c: words of others; all return enum utofu_return_code ---- */

/* boot_place - TNI and queue in which a process has its VCQ */
void boot_place(const struct tofu_boot *boot, uint32_t rank,
		utofu_tni_id_t *tni, utofu_cq_id_t *cq);

/* boot_put - a word into another's area; returns when it is there */
int boot_put(struct tofu_boot *boot, uint32_t rank, size_t index,
	     uint64_t value);

/* boot_put_block - bytes from the own area to another's, at words @from, @to */
int boot_put_block(struct tofu_boot *boot, uint32_t rank, size_t from,
		   size_t to, size_t bytes);

/* boot_is_absence - a code of no process being there: not yet, or no more */
bool boot_is_absence(int code);

/* boot_word - what others put: seen whole, and before what they put next */
static inline uint64_t boot_word(const struct tofu_boot *boot, size_t index)
{
	return __atomic_load_n(&boot->word[index], __ATOMIC_ACQUIRE);
}

/* ---- say.c: sentences for people ---- */

/* boot_say - behind the name of this process; Return: @code, remembered */
int boot_say(const struct tofu_boot *boot, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* boot_unit - what people know a process by, and how it stands to that */
const char *boot_unit(const struct tofu_boot *boot);
const char *boot_with_unit(const struct tofu_boot *boot);

/* boot_say_put - a put to a process has failed with @code */
int boot_say_put(const struct tofu_boot *boot, uint32_t rank, int code);

/* boot_say_late - the time is over; looks which processes are missing */
int boot_say_late(struct tofu_boot *boot, uint32_t awaited);

/* ---- meet.c ---- */

int boot_meet(struct tofu_boot *boot);
int boot_barrier(struct tofu_boot *boot);

#endif /* BOOT_INTERNAL_H */
