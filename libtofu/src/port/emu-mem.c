/* SPDX-License-Identifier: MIT */
#include "port/emu-mem.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <tofu/ioctl.h>

/* One mapping for all tables of a queue; unused parts take no memory. */
#define TABLES_SIZE                                                     \
	(TOFU_EMU_STAGS * (sizeof(struct tofu_steering) +               \
			   sizeof(struct tofu_memory_block) + sizeof(__le64)))

int tofu_emu_mem_create(struct tofu_emu_mem *mem)
{
	char *tables = mmap(NULL, TABLES_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (tables == MAP_FAILED)
		return -errno;
	mem->steering = (void *)tables;
	tables += TOFU_EMU_STAGS * sizeof(*mem->steering);
	mem->block = (void *)tables;
	tables += TOFU_EMU_STAGS * sizeof(*mem->block);
	mem->page = (void *)tables;
	mem->next = TOFU_STAG_AUTO;
	return 0;
}

void tofu_emu_mem_destroy(struct tofu_emu_mem *mem)
{
	munmap(mem->steering, TABLES_SIZE);
}

/*
 * Moves *@at to the end of the mapping that a line of /proc/self/maps
 * describes. Return: false if the mapping begins above *@at, or does not allow
 * the access.
 */
static bool maps_line_covers(const char *line, uintptr_t *at, int write)
{
	uintptr_t from, to;
	char mode[5];

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, mode) !=
	    3)
		return false;
	if (to <= *at)
		return true;
	if (from > *at || mode[0] != 'r' || (write && mode[1] != 'w'))
		return false;
	*at = to;
	return true;
}

/*
 * In place of the kernel's pinning: the engine runs in this process, and an
 * access that the memory does not allow would crash it.
 */
int tofu_emu_mem_check(const void *addr, size_t length, int write)
{
	uintptr_t at = (uintptr_t)addr, end = at + length;
	FILE *maps = fopen("/proc/self/maps", "re");
	bool tail = false;
	char line[256];

	if (!maps)
		return -errno;
	while (at < end && fgets(line, sizeof(line), maps)) {
		bool head = !tail;

		/* A line with a long path comes in several pieces. */
		tail = !strchr(line, '\n');
		if (head && !maps_line_covers(line, &at, write))
			break;
	}
	fclose(maps);
	return at < end ? -EFAULT : 0;
}

static bool stag_used(const struct tofu_emu_mem *mem, uint32_t stag)
{
	return TOFU_GET(le64toh(mem->block[stag].ctrl), TOFU_MB_ENABLE);
}

/* The next after the last one given, so that a stale STADD finds nothing. */
static int stag_find(struct tofu_emu_mem *mem, uint32_t *stag)
{
	for (uint32_t i = TOFU_STAG_AUTO; i < TOFU_EMU_STAGS; i++) {
		uint32_t next = mem->next;

		mem->next = next + 1 < TOFU_EMU_STAGS ? next + 1 :
							TOFU_STAG_AUTO;
		if (!stag_used(mem, next)) {
			*stag = next;
			return 0;
		}
	}
	return -ENOSPC;
}

int tofu_emu_mem_reg_locked(struct tofu_emu_mem *mem, void *addr,
			    size_t length, uint32_t flags, uint32_t *stag,
			    uint64_t *offset)
{
	uint64_t before = (uintptr_t)addr % TOFU_STAG_ALIGN;
	uint64_t ctrl;
	uint32_t s = *stag;

	if (s == TOFU_STAG_ANY) {
		int err = stag_find(mem, &s);

		if (err)
			return err;
	} else if (s >= TOFU_STAG_AUTO) {
		return -EINVAL;
	} else if (stag_used(mem, s)) {
		return -EEXIST;
	}
	mem->page[s] = htole64((uintptr_t)addr - before);
	mem->block[s] = (struct tofu_memory_block){
		.ctrl = htole64(TOFU_SET(TOFU_MB_ENABLE, 1) |
				TOFU_SET(TOFU_MB_PAGE_SHIFT,
					 TOFU_ADDR_OFFSET_BITS)),
		.table = htole64((uintptr_t)&mem->page[s]),
		.npage = htole64(1),
	};
	ctrl = TOFU_SET(TOFU_STEERING_ENABLE, 1) |
	       TOFU_SET(TOFU_STEERING_MBID, s);
	if (flags & TOFU_MEM_READ_ONLY)
		ctrl |= TOFU_SET(TOFU_STEERING_READONLY, 1);
	mem->steering[s] = (struct tofu_steering){
		.ctrl = htole64(ctrl),
		.length = htole64(before + length),
	};
	*stag = s;
	*offset = before;
	return 0;
}

int tofu_emu_mem_withdraw_locked(struct tofu_emu_mem *mem, uint32_t stag)
{
	struct tofu_steering *steering = &mem->steering[stag];

	if (stag >= TOFU_EMU_STAGS ||
	    !TOFU_GET(le64toh(steering->ctrl), TOFU_STEERING_ENABLE))
		return -ENOENT;
	*steering = (struct tofu_steering){ 0 };
	return 0;
}

void tofu_emu_mem_free_locked(struct tofu_emu_mem *mem, uint32_t stag)
{
	mem->block[stag] = (struct tofu_memory_block){ 0 };
}
