// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts of a CQ, and the flushes whose end they signal.
 */
#include <linux/interrupt.h>
#include <linux/jiffies.h>

#include "tofu.h"
#include "tofu-trace.h"

/* An interrupt may be lost: look again after this time. */
#define TOFU_FLUSH_POLL (HZ / 10)

/* ---- Flushes ---- */

void tofu_flush_init(struct tofu_flush *flush)
{
	spin_lock_init(&flush->lock);
}

static void tofu_flush_start_locked(struct tofu_cq *cq)
{
	struct tofu_flush *flush = &cq->flush;

	if (flush->started != flush->done || flush->requested == flush->done)
		return;
	flush->started = flush->requested;
	trace_tofu_flush_start(cq, flush->started);
	/* Arming ignores earlier causes: so arm first. */
	writeq(TOFU_CQ_IRQ_FLUSH, cq->regs + TOFU_CQ_IRQ_ARM);
	writeq(1, cq->regs + TOFU_CQ_FLUSH);
}

/*
 * All ones, as a removed device reads, mean 'not done'. That is the safe side,
 * as nothing is known about the other nodes then.
 */
static void tofu_flush_look_locked(struct tofu_cq *cq)
{
	struct tofu_flush *flush = &cq->flush;

	if (flush->started == flush->done)
		return;
	if (readq(cq->regs + TOFU_CQ_FLUSH))
		return;
	flush->done = flush->started;
	trace_tofu_flush_end(cq, flush->done);
	wake_up_all(&cq->wait);
	tofu_flush_start_locked(cq);
}

u64 tofu_flush_begin(struct tofu_cq *cq)
{
	unsigned long flags;
	u64 ticket;

	spin_lock_irqsave(&cq->flush.lock, flags);
	ticket = ++cq->flush.requested;
	tofu_flush_start_locked(cq);
	spin_unlock_irqrestore(&cq->flush.lock, flags);
	return ticket;
}

bool tofu_flush_done(struct tofu_cq *cq, u64 ticket)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&cq->flush.lock, flags);
	tofu_flush_look_locked(cq);
	done = cq->flush.done >= ticket;
	spin_unlock_irqrestore(&cq->flush.lock, flags);
	return done;
}

int tofu_flush_wait(struct tofu_cq *cq, u64 ticket)
{
	long ret;

	do {
		if (tofu_flush_done(cq, ticket))
			return 0;
		if (READ_ONCE(cq->handle.tdev->gone))
			return -ENODEV;
		ret = wait_event_killable_timeout(cq->wait,
						  tofu_flush_done(cq, ticket) ||
						  READ_ONCE(cq->handle.tdev->gone),
						  TOFU_FLUSH_POLL);
	} while (ret >= 0);
	return -EINTR;
}

bool tofu_flush_wait_limit(struct tofu_cq *cq, u64 ticket, long limit)
{
	unsigned long end = jiffies + limit;

	while (!tofu_flush_done(cq, ticket)) {
		if (time_after(jiffies, end) || READ_ONCE(cq->handle.tdev->gone))
			return false;
		wait_event_timeout(cq->wait,
				   tofu_flush_done(cq, ticket) ||
				   READ_ONCE(cq->handle.tdev->gone),
				   TOFU_FLUSH_POLL);
	}
	return true;
}

/* ---- Interrupts ---- */

static irqreturn_t tofu_irq(int irq, void *data)
{
	struct tofu_cq *cq = data;
	u64 cause = readq(cq->regs + TOFU_CQ_IRQ_CAUSE) & TOFU_CQ_IRQ_ALL;

	/*
	 * The vector belongs to this CQ alone: no cause left means that an
	 * earlier handler has taken it, not that the interrupt is another
	 * device's.
	 */
	writeq(cause, cq->regs + TOFU_CQ_IRQ_CAUSE);
	trace_tofu_irq(cq, cause);
	/* Sleepers check their own conditions, also after a flush. */
	wake_up_all(&cq->wait);
	return IRQ_HANDLED;
}

static int tofu_irq_number(struct tofu_cq *cq)
{
	return pci_irq_vector(cq->handle.tdev->pdev, TOFU_VECTOR_CQ(cq->tni, cq->nr));
}

int tofu_irq_request(struct tofu_cq *cq)
{
	return request_irq(tofu_irq_number(cq), tofu_irq, 0, TOFU_NAME, cq);
}

void tofu_irq_free(struct tofu_cq *cq)
{
	free_irq(tofu_irq_number(cq), cq);
}
