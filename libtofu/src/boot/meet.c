/* SPDX-License-Identifier: MIT */
#include "boot/internal.h"
#include "utofu/time.h"
#include "utofu/work.h"

#define PROBE_NS UINT64_C(1000000000)

static uint32_t signalled(const struct tofu_boot *boot, unsigned int round)
{
	return (uint32_t)((boot->job.rank + (UINT64_C(1) << round)) %
			  boot->job.ranks);
}

static uint32_t signaller(const struct tofu_boot *boot, unsigned int round)
{
	uint64_t ranks = boot->job.ranks;

	return (uint32_t)((boot->job.rank + ranks -
			   (UINT64_C(1) << round) % ranks) % ranks);
}

/* ---- Meeting ---- */

static void hello_send(struct tofu_boot *boot, unsigned int round)
{
	if (tofu_time_now() < boot->next[round])
		return;
	/* The acknowledgement tells whether it has arrived. */
	boot_put(boot, signalled(boot, round), BOOT_HELLO + round, boot->hello);
	boot->next[round] = tofu_time_now() + BOOT_RETRY_NS;
}

/* Returns true when this round's signaller knows that it was heard. */
static bool hello_answer(struct tofu_boot *boot, unsigned int round)
{
	uint32_t hello = (uint32_t)boot_word(boot, BOOT_HELLO + round);

	if (!hello)
		return false;
	if (hello != boot->answered[round] &&
	    boot_put(boot, signaller(boot, round), BOOT_ACK + round, hello) ==
		    UTOFU_SUCCESS)
		boot->answered[round] = hello;
	return hello == boot->answered[round];
}

/* Return: rounds whose two neighbours are known; @awaited: one that is not */
static unsigned int rounds_look(struct tofu_boot *boot, uint32_t *awaited)
{
	unsigned int through = 0;

	for (unsigned int r = 0; r < boot->rounds; r++) {
		bool heard = boot_word(boot, BOOT_ACK + r) == boot->hello;

		if (!heard)
			hello_send(boot, r);
		if (hello_answer(boot, r) && heard)
			through++;
		else
			*awaited = heard ? signaller(boot, r) :
					   signalled(boot, r);
	}
	return through;
}

int boot_meet(struct tofu_boot *boot)
{
	struct boot_wait wait = boot_wait_begin(boot);
	uint32_t awaited = 0;

	while (rounds_look(boot, &awaited) < boot->rounds)
		if (!boot_wait_more(&wait))
			return boot_say_late(boot, awaited);
	boot->met = true;
	return UTOFU_SUCCESS;
}

/* ---- Barrier ---- */

#define DISSENT UINT64_C(1)

static size_t epoch_at(const struct tofu_boot *boot, unsigned int round)
{
	return BOOT_EPOCH + (boot->epoch & 1) * BOOT_ROUNDS_MAX + round;
}

/* What a process with this hello sends in this barrier, if it assents */
static uint64_t signal_of(const struct tofu_boot *boot, uint32_t hello)
{
	return (uint64_t)hello << 32 | (uint32_t)(boot->epoch << 1);
}

static bool signal_seen(const struct tofu_boot *boot, unsigned int round)
{
	uint64_t word = boot_word(boot, epoch_at(boot, round));

	return (word & ~DISSENT) == signal_of(boot, boot->answered[round]);
}

/* A process that is dead never signals: do not wait for it. */
static int signaller_check(struct tofu_boot *boot, unsigned int round)
{
	uint32_t from = signaller(boot, round);
	int code = boot_put(boot, from, BOOT_PROBE, 1);

	if (code == UTOFU_SUCCESS || signal_seen(boot, round))
		return UTOFU_SUCCESS;
	return boot_say_put(boot, from, code);
}

static int signal_wait(struct tofu_boot *boot, unsigned int round)
{
	struct boot_wait wait = boot_wait_begin(boot);
	uint32_t from = signaller(boot, round);
	struct utofu_mrq_notice notice;
	uint64_t probed = 0;
	int code;

	while (!signal_seen(boot, round)) {
		if ((uint32_t)boot_word(boot, BOOT_HELLO + round) !=
		    boot->answered[round])
			return boot_say(boot, UTOFU_ERR_MRQ_PEER,
					"the process %s %u has started anew",
					boot_with_unit(boot), from);
		/* No notice is expected: the poll lets the engine work. */
		boot_begin();
		code = boot_end(utofu_poll_mrq(boot->vcq, 0, &notice));
		if (code != UTOFU_ERR_NOT_FOUND)
			return boot_say_put(boot, from, code);
		if (!boot_wait_more(&wait))
			return boot_say_late(boot, from);
		if (boot_wait_time(&wait) - probed < PROBE_NS)
			continue;
		probed = boot_wait_time(&wait);
		code = signaller_check(boot, round);
		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

int boot_agree(struct tofu_boot *boot, bool assent, bool *all)
{
	uint64_t dissent = assent ? 0 : DISSENT;
	int code;

	boot->epoch++;
	for (unsigned int r = 0; r < boot->rounds; r++) {
		uint32_t to = signalled(boot, r);

		code = boot_put(boot, to, epoch_at(boot, r),
				signal_of(boot, boot->hello) | dissent);
		/*
		 * A leaving process needs this signal before it goes: if it is
		 * gone, only the answer to the put was lost.
		 */
		if (code != UTOFU_SUCCESS &&
		    !(boot->leaving && boot_is_absence(code)))
			return boot_say_put(boot, to, code);
		code = signal_wait(boot, r);
		if (code)
			return code;
		dissent |= boot_word(boot, epoch_at(boot, r)) & DISSENT;
	}
	tofu_work(TOFU_WORK_BOOT_BARRIER);
	*all = !dissent;
	return UTOFU_SUCCESS;
}

int boot_barrier(struct tofu_boot *boot)
{
	bool all;

	return boot_agree(boot, true, &all);
}
