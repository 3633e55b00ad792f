/* SPDX-License-Identifier: MIT */
#include "queue/queue.h"

#include "port/barrier.h"
#include "port/kick.h"

/* ---- TCQ ---- */

/*
 * Publishes how far the TCQ was read, for the kernel's poll(2), which asks
 * whether there is anything left. It is not urgent, so once per quarter of the
 * ring, and whenever the ring is empty, is often enough.
 */
static void tcq_tell(struct tofu_queue *queue)
{
	if (queue->tcq_told == queue->tcq_head)
		return;
	queue->tcq_told = queue->tcq_head;
	queue->tcq_due = tofu_due(queue->tcq_head, queue->toq_mask);
	queue->tcq_flip = tofu_flip(queue->tcq_head, queue->toq_mask);
	tofu_position_release(&queue->cq->page->tcq_read, queue->tcq_head);
}

/* Return: the lane that posted a command, or NULL if it is gone. */
static struct tofu_lane *posted_lane(const struct tofu_queue *queue,
				     const struct tofu_posted *posted)
{
	struct tofu_lane *lane = queue->lane[posted->owner % TOFU_LANES];

	return lane && lane->owner == posted->owner ? lane : NULL;
}

/* Takes the next entry, if there is one; @lane: set to its lane, or NULL */
static bool tcq_take(struct tofu_queue *queue, struct tofu_lane **lane,
		     struct tofu_report *report)
{
	uint64_t head = queue->tcq_head;
	const struct tofu_posted *posted;
	__u64 entry;

	entry = tofu_entry_acquire(&queue->cq->tcq[head & queue->toq_mask]);
	if (TOFU_GET(entry ^ queue->tcq_flip, TOFU_TCQ_FLIP)) {
		tcq_tell(queue);
		return false;
	}
	posted = &queue->posted[TOFU_GET(entry, TOFU_TCQ_INDEX) &
				queue->toq_mask];
	report->cbdata = posted->cbdata;
	report->status = (unsigned int)TOFU_GET(entry, TOFU_TCQ_STATUS);
	*lane = posted_lane(queue, posted);
	/* An entry means that its command and all before it have ended. */
	tofu_queue_ended(queue, (uint32_t)TOFU_GET(entry, TOFU_TCQ_INDEX));
	queue->tcq_head = head + 1;
	if (head == queue->tcq_due)
		tcq_tell(queue);
	return true;
}

static uint64_t report_mask(const struct tofu_queue *queue)
{
	return 2 * queue->toq_mask + 1;
}

/* There is always room: see tofu_lane_is_full() in post.h. */
static void report_park(struct tofu_queue *queue, struct tofu_lane *lane,
			const struct tofu_report *report)
{
	lane->report[lane->report_tail++ & report_mask(queue)] = *report;
}

void tofu_queue_reap_locked(struct tofu_queue *queue)
{
	struct tofu_report report;
	struct tofu_lane *lane;

	while (tcq_take(queue, &lane, &report))
		if (lane)
			report_park(queue, lane, &report);
}

bool tofu_queue_report_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			      struct tofu_report *report)
{
	struct tofu_lane *owner;

	if (lane->report_head != lane->report_tail) {
		*report = lane->report[lane->report_head++ &
				       report_mask(queue)];
		return true;
	}
	while (tcq_take(queue, &owner, report)) {
		if (owner == lane) {
			tofu_empty_polls_set(queue, 0);
			return true;
		}
		if (owner)
			report_park(queue, owner, report);
	}
	return false;
}

size_t tofu_queue_reports_locked(struct tofu_queue *queue,
				 struct tofu_lane *lane)
{
	tofu_queue_reap_locked(queue);
	return lane->report_tail - lane->report_head;
}

/* ---- MRQ ---- */

/* Returns read entries to the engine, as often as tcq_tell() publishes. */
static void mrq_tell(struct tofu_queue *queue)
{
	if (queue->mrq_told == queue->mrq_head)
		return;
	queue->mrq_told = queue->mrq_head;
	queue->mrq_due = tofu_due(queue->mrq_head, queue->mrq_mask);
	queue->mrq_flip = tofu_flip(queue->mrq_head, queue->mrq_mask);
	tofu_position_release(&queue->cq->page->mrq_full_pointer,
			      queue->mrq_head);
}

static bool mrq_take(struct tofu_queue *queue, struct tofu_mrq_entry *entry)
{
	uint64_t head = queue->mrq_head;
	const struct tofu_mrq_entry *next =
		&queue->cq->mrq[head & queue->mrq_mask];
	__u64 ctrl = tofu_entry_acquire(&next->ctrl);

	if (TOFU_GET(ctrl ^ queue->mrq_flip, TOFU_MRQ_FLIP)) {
		mrq_tell(queue);
		return false;
	}
	*entry = tofu_mrq_entry_read(next, ctrl,
				     tofu_entry_word(&next->route));
	if (tofu_mrq_is_local(ctrl) && queue->cq->direct)
		tofu_queue_ended_by_notice(queue, ctrl);
	queue->mrq_head = head + 1;
	if (head == queue->mrq_due)
		mrq_tell(queue);
	return true;
}

static struct tofu_lane *notice_lane(const struct tofu_queue *queue,
				     const struct tofu_mrq_entry *entry)
{
	uint8_t tag =
		tofu_mrq_tag(le64toh(entry->ctrl), le64toh(entry->route));

	return queue->lane[TOFU_GET(tag, TOFU_TAG_LCL)];
}

/* A lane that is not polled loses its own notices, not those of others. */
static void notice_park(struct tofu_queue *queue, struct tofu_lane *lane,
			const struct tofu_mrq_entry *entry)
{
	if (lane->notice_tail - lane->notice_head > queue->mrq_mask)
		lane->notice_lost = true;
	else
		lane->notice[lane->notice_tail++ & queue->mrq_mask] = *entry;
}

bool tofu_queue_notice_locked(struct tofu_queue *queue, struct tofu_lane *lane,
			      struct tofu_mrq_entry *entry)
{
	if (lane->notice_head != lane->notice_tail) {
		*entry = lane->notice[lane->notice_head++ & queue->mrq_mask];
		return true;
	}
	while (mrq_take(queue, entry)) {
		struct tofu_lane *owner = notice_lane(queue, entry);

		if (owner == lane) {
			tofu_empty_polls_set(queue, 0);
			queue->status_polls = 0;
			return true;
		}
		if (owner)
			notice_park(queue, owner, entry);
	}
	return false;
}

size_t tofu_queue_notices_locked(struct tofu_queue *queue,
				 struct tofu_lane *lane)
{
	struct tofu_mrq_entry entry;

	/*
	 * Counting must not make the inbox overflow: what does not fit stays
	 * in the ring, where its owner's polls find it.
	 */
	while (lane->notice_tail - lane->notice_head <= queue->mrq_mask &&
	       mrq_take(queue, &entry)) {
		struct tofu_lane *owner = notice_lane(queue, &entry);

		if (owner)
			notice_park(queue, owner, &entry);
	}
	return lane->notice_tail - lane->notice_head;
}

/* ---- Empty polls ---- */

bool tofu_queue_lend(struct tofu_queue *queue)
{
	tofu_empty_polls_set(queue, 0);
	if (!(tofu_word_read(&queue->cq->page->need_kick) &
	      TOFU_NEED_KICK_POLL))
		return false;
	return tofu_port_poll(queue->cq);
}
