/* SPDX-License-Identifier: MIT */
/*
 * Translation tables of a command queue of the emu port. A bus address is a
 * virtual address of the process, so a region needs only one page, of the
 * largest size, that begins where the region does. The memory block and the
 * page of a STAG have the STAG's number.
 */
#ifndef PORT_EMU_MEM_H
#define PORT_EMU_MEM_H

#include <stddef.h>
#include <stdint.h>

#include <tofu/regs.h>

#define TOFU_EMU_STAGS (1U << TOFU_STAG_BITS_MAX)

/**
 * struct tofu_emu_mem - tables, all TOFU_EMU_STAGS long
 * @steering: steering table
 * @block:    memory block table
 * @page:     page tables, of one entry each
 * @next:     where the search for a free STAG begins
 *
 * The node's lock protects them, against the engine too. A STAG is taken as
 * long as it has a block, and found while its steering is enabled.
 */
struct tofu_emu_mem {
	struct tofu_steering *steering;
	struct tofu_memory_block *block;
	__le64 *page;
	uint32_t next;
};

int tofu_emu_mem_create(struct tofu_emu_mem *mem);
void tofu_emu_mem_destroy(struct tofu_emu_mem *mem);

/* tofu_emu_mem_check - whether the process may access a whole range that way */
int tofu_emu_mem_check(const void *addr, size_t length, int write);

/* tofu_emu_mem_reg_locked - the mem_reg of struct tofu_port_ops; the range is
 * not checked
 */
int tofu_emu_mem_reg_locked(struct tofu_emu_mem *mem, void *addr,
			    size_t length, uint32_t flags, uint32_t *stag,
			    uint64_t *offset);

/* tofu_emu_mem_withdraw_locked - hide a STAG from the engine, which may still
 * use it; Return: 0, or -ENOENT: it is not registered
 */
int tofu_emu_mem_withdraw_locked(struct tofu_emu_mem *mem, uint32_t stag);

/* tofu_emu_mem_free_locked - free the number of a STAG that was withdrawn */
void tofu_emu_mem_free_locked(struct tofu_emu_mem *mem, uint32_t stag);

#endif /* PORT_EMU_MEM_H */
