/* SPDX-License-Identifier: MIT */
#include "port/soft-mem.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>

#include "port/port.h"

void tofu_soft_mem_init(struct tofu_soft_mem *mem, void *tables, uint32_t stags)
{
	char *at = tables;

	mem->steering = (void *)at;
	at += stags * sizeof(*mem->steering);
	mem->block = (void *)at;
	at += stags * sizeof(*mem->block);
	mem->page = (void *)at;
	mem->stags = stags;
	mem->next = TOFU_STAG_AUTO;
}

static bool stag_used(const struct tofu_soft_mem *mem, uint32_t stag)
{
	return TOFU_GET(le64toh(mem->block[stag].ctrl), TOFU_MB_ENABLE);
}

/* The next after the last one given, so that a stale STADD finds nothing. */
static int stag_find(struct tofu_soft_mem *mem, uint32_t *stag)
{
	for (uint32_t i = TOFU_STAG_AUTO; i < mem->stags; i++) {
		uint32_t next = mem->next;

		mem->next = next + 1 < mem->stags ? next + 1 : TOFU_STAG_AUTO;
		if (!stag_used(mem, next)) {
			*stag = next;
			return 0;
		}
	}
	return -ENOSPC;
}

int tofu_soft_mem_reg_locked(struct tofu_soft_mem *mem, void *addr,
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
	       TOFU_SET(TOFU_STEERING_FIRST, before) |
	       TOFU_SET(TOFU_STEERING_MBID, s);
	if (flags & TOFU_MEM_READ_ONLY)
		ctrl |= TOFU_SET(TOFU_STEERING_READONLY, 1);
	if (flags & TOFU_MEM_BLANK)
		ctrl |= TOFU_SET(TOFU_STEERING_BLANK, 1);
	mem->steering[s] = (struct tofu_steering){
		.ctrl = htole64(ctrl),
		.length = htole64(before + length),
	};
	*stag = s;
	*offset = before;
	return 0;
}

int tofu_soft_mem_withdraw_locked(struct tofu_soft_mem *mem, uint32_t stag)
{
	struct tofu_steering *steering = &mem->steering[stag];

	if (stag >= mem->stags ||
	    !TOFU_GET(le64toh(steering->ctrl), TOFU_STEERING_ENABLE))
		return -ENOENT;
	*steering = (struct tofu_steering){ 0 };
	return 0;
}

void tofu_soft_mem_free_locked(struct tofu_soft_mem *mem, uint32_t stag)
{
	mem->block[stag] = (struct tofu_memory_block){ 0 };
}
