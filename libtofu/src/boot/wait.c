// SPDX-License-Identifier: MIT
#include <time.h>

#include "boot/internal.h"
#include "utofu/instance.h"
#include "utofu/work.h"

#define POLLS_BEFORE_CLOCK 256
#define NS_BEFORE_SLEEP 5000000
#define NS_SLEEP 100000

void tofu_boot_attend(struct tofu_attendant *attendant)
{
	struct tofu_instance *instance = tofu_instance();

	attendant->next = instance->attendants;
	instance->attendants = attendant;
}

void tofu_boot_unattend(struct tofu_attendant *attendant)
{
	struct tofu_attendant **at = &tofu_instance()->attendants;

	while (*at && *at != attendant)
		at = &(*at)->next;
	if (*at)
		*at = attendant->next;
}

static void exclude(bool on)
{
	struct tofu_attendant *attendant = tofu_instance()->attendants;

	for (; attendant; attendant = attendant->next)
		if (attendant->exclude)
			attendant->exclude(attendant->arg, on);
}

void boot_begin(void)
{
	if (!tofu_instance()->boots++)
		exclude(true);
}

int boot_end(int code)
{
	if (!--tofu_instance()->boots)
		exclude(false);
	return code;
}

/* Return: whether there was something to do, so that turns are not alike. */
static bool attend(void)
{
	struct tofu_attendant *attendant = tofu_instance()->attendants;
	const bool any = attendant;
	const bool excluded = tofu_instance()->boots;

	if (excluded)
		exclude(false);
	for (; attendant; attendant = attendant->next)
		attendant->attend(attendant->arg);
	if (excluded)
		exclude(true);
	return any;
}

struct boot_wait boot_wait_begin(const struct tofu_boot *boot)
{
	return (struct boot_wait){
		.limit = boot->timeout * UINT64_C(1000000000),
		.mark = tofu_work_mark(),
		.turns = tofu_turns_begin(0),
	};
}

bool boot_wait_more(struct boot_wait *wait)
{
	const struct timespec nap = { .tv_nsec = NS_SLEEP };
	uint64_t waited;

	tofu_work(TOFU_WORK_BOOT_WAIT);
	wait->polls += tofu_work_turns(&wait->mark);
	if (!attend())
		tofu_work_alike(POLLS_BEFORE_CLOCK - 1 -
				(unsigned int)(wait->polls % POLLS_BEFORE_CLOCK));
	tofu_give_way(&wait->turns);
	/* The clock costs more than a poll, so it is not read at each. */
	if (wait->polls % POLLS_BEFORE_CLOCK)
		return true;
	if (!wait->began)
		wait->began = tofu_time_now();
	waited = boot_wait_time(wait);
	if (waited >= wait->limit)
		return false;
	if (waited < NS_BEFORE_SLEEP)
		return true;
	/* A peer may come much later: do not keep a processor busy. */
	nanosleep(&nap, NULL);
	/* The clock is read again after the next poll. */
	wait->polls |= POLLS_BEFORE_CLOCK - 1;
	return true;
}

uint64_t boot_wait_time(const struct boot_wait *wait)
{
	return wait->began ? tofu_time_now() - wait->began : 0;
}
