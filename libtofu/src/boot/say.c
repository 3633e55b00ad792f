/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tofu/error.h>

#include "boot/internal.h"
#include "utofu/error.h"

#define NAMED_MAX 8 /* processes in a sentence */

/* With one process per node, the rank is the number of the node. */
const char *boot_unit(const struct tofu_boot *boot)
{
	return boot->job.ppn > 1 ? "rank" : "node";
}

const char *boot_with_unit(const struct tofu_boot *boot)
{
	return boot->job.ppn > 1 ? "with rank" : "on node";
}

int boot_say(const struct tofu_boot *boot, int code, const char *format, ...)
{
	va_list args;
	int used;

	if (boot->why) {
		used = snprintf(boot->why, TOFU_BOOT_WHY, "%s %u: ",
				boot_unit(boot), boot->job.rank);
		va_start(args, format);
		vsnprintf(boot->why + used, TOFU_BOOT_WHY - (size_t)used,
			  format, args);
		va_end(args);
	}
	return tofu_error(code);
}

int boot_say_put(const struct tofu_boot *boot, uint32_t rank, int code)
{
	if (boot_is_absence(code) && boot->met)
		return boot_say(boot, UTOFU_ERR_MRQ_PEER,
				"the process %s %u is gone",
				boot_with_unit(boot), rank);
	return boot_say(boot, code, "cannot reach %s %u: %s", boot_unit(boot),
			rank, tofu_error_text(code));
}

/* Return: how many are missing, or more than are named: those are in @list. */
static unsigned int missing_find(struct tofu_boot *boot, char *list,
				 size_t room)
{
	unsigned int missing = 0;
	size_t used = 0;

	*list = '\0';
	for (uint32_t rank = 0; rank < boot->job.ranks; rank++) {
		if (missing > NAMED_MAX)
			break;
		if (!boot_is_absence(boot_put(boot, rank, BOOT_PROBE, 1)))
			continue;
		if (missing++ < NAMED_MAX)
			used += (size_t)snprintf(list + used, room - used,
						 "%s%u", used ? ", " : "",
						 rank);
	}
	return missing;
}

int boot_say_late(struct tofu_boot *boot, uint32_t awaited)
{
	char list[NAMED_MAX * 12];
	unsigned int missing = missing_find(boot, list, sizeof(list));

	if (!missing)
		return boot_say(
			boot, UTOFU_ERR_NOT_COMPLETED,
			"waited %u s for %s %u, which is there but has not come this far",
			boot->timeout, boot_unit(boot), awaited);
	return boot_say(boot, UTOFU_ERR_NOT_COMPLETED,
			"waited %u s; no such program is running %s%s %s%s",
			boot->timeout, boot_with_unit(boot),
			missing > 1 ? "s" : "", list,
			missing > NAMED_MAX ? " and more" : "");
}
