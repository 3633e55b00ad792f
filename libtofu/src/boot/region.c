// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include <tofu/error.h>
#include <tofu/regs.h>

#include "boot/internal.h"
#include "utofu/error.h"

/* At such a boundary the STADD of a region does not depend on its address. */
static void *aligned(void *memory)
{
	uintptr_t at = (uintptr_t)memory + TOFU_STAG_ALIGN - 1;

	return (void *)(at & ~(uintptr_t)(TOFU_STAG_ALIGN - 1));
}

int boot_region_create(struct tofu_boot *boot, size_t words, unsigned int stag,
		       struct boot_region *region)
{
	size_t size = words * sizeof(*region->word);
	int code;

	/* Not aligned_alloc() and memset(), which would touch all of it. */
	region->memory = calloc(1, size + TOFU_STAG_ALIGN - 1);
	if (!region->memory)
		return boot_say(boot, UTOFU_ERR_OUT_OF_MEMORY,
				"no memory for %zu bytes", size);
	region->word = aligned(region->memory);
	boot_begin();
	code = boot_end(utofu_reg_mem_with_stag(boot->vcq, region->word, size,
						stag, 0, &region->stadd));
	if (code == UTOFU_SUCCESS)
		return code;
	free(region->memory);
	region->memory = NULL;
	return boot_say(boot, code, "cannot register %zu bytes: %s", size,
			tofu_error_text(code));
}

void boot_region_free(struct tofu_boot *boot, struct boot_region *region)
{
	if (!region->memory)
		return;
	boot_begin();
	boot_end(utofu_dereg_mem(boot->vcq, region->stadd, 0));
	free(region->memory);
	*region = (struct boot_region){ 0 };
}
