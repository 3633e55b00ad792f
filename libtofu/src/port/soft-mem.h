/* SPDX-License-Identifier: MIT */
/*
 * Translation tables of a command queue whose bus addresses are virtual
 * addresses of the process. So a region needs only one page, of the largest
 * size, that begins where the region does. The memory block and the page of a
 * STAG have the STAG's number.
 */
#ifndef PORT_SOFT_MEM_H
#define PORT_SOFT_MEM_H

#include <stddef.h>
#include <stdint.h>

#include <tofu/regs.h>

/* Bytes of the tables for so many STAGs; unused parts are not touched. */
#define TOFU_SOFT_TABLES(stags)                                \
	((stags) * (sizeof(struct tofu_steering) +             \
		    sizeof(struct tofu_memory_block) + sizeof(__le64)))

/**
 * struct tofu_soft_mem - tables, all of the same length
 * @stags:    their length, above TOFU_STAG_AUTO
 * @steering: steering table, at the beginning of the memory
 * @block:    memory block table
 * @page:     page tables, of one entry each
 * @next:     where the search for a free STAG begins
 *
 * The port's lock protects them, against the engine too. A STAG is taken as
 * long as it has a block, and found while its steering is enabled.
 */
struct tofu_soft_mem {
	struct tofu_steering *steering;
	struct tofu_memory_block *block;
	__le64 *page;
	uint32_t stags;
	uint32_t next;
};

/* tofu_soft_mem_init - @tables: TOFU_SOFT_TABLES(@stags) zeroed bytes */
void tofu_soft_mem_init(struct tofu_soft_mem *mem, void *tables,
			uint32_t stags);

/* tofu_soft_mem_reg_locked - the mem_reg of struct tofu_port_ops; the range is
 * not checked
 */
int tofu_soft_mem_reg_locked(struct tofu_soft_mem *mem, void *addr,
			     size_t length, uint32_t flags, uint32_t *stag,
			     uint64_t *offset);

/* tofu_soft_mem_withdraw_locked - hide a STAG from the engine, which may still
 * use it; Return: 0, or -ENOENT: it is not registered
 */
int tofu_soft_mem_withdraw_locked(struct tofu_soft_mem *mem, uint32_t stag);

/* tofu_soft_mem_free_locked - free the number of a STAG that was withdrawn */
void tofu_soft_mem_free_locked(struct tofu_soft_mem *mem, uint32_t stag);

#endif /* PORT_SOFT_MEM_H */
