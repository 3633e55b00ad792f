/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "boot/internal.h"
#include "utofu/error.h"

/* ---- All with all ---- */

/* Makes room for so many words of each process: see boot/internal.h. */
static int tables_grow(struct tofu_boot *boot, size_t words)
{
	int code;

	if (words <= boot->table_words)
		return UTOFU_SUCCESS;
	boot_region_free(boot, &boot->table);
	boot->table_words = 0;
	code = boot_region_create(boot, 2 * words * boot->job.ranks,
				  BOOT_TABLE_STAG, &boot->table);
	if (code)
		return code;
	boot->table_words = words;
	return boot_barrier(boot);
}

/*
 * Two tables in turn: a process in the next gather has passed this one's
 * barrier, but this process may still read the table. No process enters the
 * gather after that before all have reached the next one's barrier.
 */
static size_t table_next(struct tofu_boot *boot)
{
	return (boot->gathers++ & 1) * boot->table_words * boot->job.ranks;
}

static size_t words_of(size_t bytes)
{
	return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

/* Gathers as much as fits into a table, @stride words of each process. */
static int table_gather(struct tofu_boot *boot, size_t table,
			const void *mine, size_t bytes, size_t stride)
{
	size_t own = table + boot->job.rank * stride;
	int code;

	memcpy(&boot->table.word[own], mine, bytes);
	for (uint32_t rank = 0; rank < boot->job.ranks; rank++) {
		if (rank == boot->job.rank)
			continue;
		code = boot_put_block(boot, rank, &boot->table, own, own,
				      bytes);
		if (code != UTOFU_SUCCESS)
			return boot_say_put(boot, rank, code);
	}
	return boot_barrier(boot);
}

int tofu_boot_allgather(struct tofu_boot *boot, const void *mine, size_t bytes,
			void *all)
{
	const size_t most = BOOT_TABLE_WORDS * sizeof(uint64_t);
	int code;

	if (!boot || (bytes && (!mine || !all)))
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!bytes)
		return boot_barrier(boot);
	code = tables_grow(boot, words_of(bytes < most ? bytes : most));
	if (code)
		return code;
	for (size_t done = 0; done < bytes; done += most) {
		size_t now = bytes - done < most ? bytes - done : most;
		size_t stride = words_of(now);
		size_t table = table_next(boot);

		code = table_gather(boot, table, (const char *)mine + done,
				    now, stride);
		if (code)
			return code;
		for (uint32_t rank = 0; rank < boot->job.ranks; rank++)
			memcpy((char *)all + rank * bytes + done,
			       &boot->table.word[table + rank * stride], now);
	}
	return UTOFU_SUCCESS;
}

/* ---- One with another ---- */

static int note_check(const struct tofu_boot *boot, unsigned int slot,
		      const void *note, size_t bytes)
{
	if (!boot || !note)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (slot >= TOFU_BOOT_SLOTS)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (bytes > TOFU_BOOT_NOTE)
		return tofu_error(UTOFU_ERR_INVALID_SIZE);
	return UTOFU_SUCCESS;
}

static size_t note_at(unsigned int slot)
{
	return BOOT_BOARD + slot * BOOT_NOTE_WORDS;
}

int tofu_boot_tell(struct tofu_boot *boot, uint32_t rank, unsigned int slot,
		   const void *note, size_t bytes)
{
	int code = note_check(boot, slot, note, bytes);

	if (code)
		return code;
	if (rank >= boot->job.ranks)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (!bytes)
		return UTOFU_SUCCESS;
	memcpy(&boot->area.word[BOOT_OUT], note, bytes);
	code = boot_put_block(boot, rank, &boot->area, BOOT_OUT, note_at(slot),
			      bytes);
	return code ? boot_say_put(boot, rank, code) : UTOFU_SUCCESS;
}

int tofu_boot_told(const struct tofu_boot *boot, unsigned int slot, void *note,
		   size_t bytes)
{
	int code = note_check(boot, slot, note, bytes);

	if (!code)
		memcpy(note, &boot->area.word[note_at(slot)], bytes);
	return code;
}

int tofu_boot_check(struct tofu_boot *boot, uint32_t rank)
{
	int code;

	if (!boot)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (rank >= boot->job.ranks)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	code = boot_put(boot, rank, BOOT_PROBE, 1);
	return code ? boot_say_put(boot, rank, code) : UTOFU_SUCCESS;
}
