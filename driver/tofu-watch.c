// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watched regions: user space may keep a region registered between uses, and
 * has to know when the addresses that it registered have got other pages.
 *
 * The kernel tells mmu notifiers of a range before it changes the pages there.
 * Ours marks the region in a page that user space reads. A process that unmaps
 * memory, and registers or looks up a region afterwards, therefore finds the
 * mark: the call that unmaps returns after the notifier did.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "tofu.h"

#ifndef CONFIG_MMU_NOTIFIER
#error "the driver needs a kernel with CONFIG_MMU_NOTIFIER"
#endif

#define TOFU_WATCH_WORD 64

static_assert(sizeof(struct tofu_watch) <= PAGE_SIZE, "marks fill a page");
static_assert(TOFU_WATCH_STAGS >= TOFU_STAGS_WANTED, "each STAG has a mark");

static u64 *tofu_watch_word(const struct tofu_watcher *watcher)
{
	return &watcher->cq->watch->stale[watcher->stag / TOFU_WATCH_WORD];
}

static u64 tofu_watch_bit(const struct tofu_watcher *watcher)
{
	return BIT_ULL(watcher->stag % TOFU_WATCH_WORD);
}

static void tofu_watch_mark_locked(struct tofu_watcher *watcher)
{
	struct tofu_watch *watch = watcher->cq->watch;
	u64 *word = tofu_watch_word(watcher);

	if (*word & tofu_watch_bit(watcher))
		return;
	WRITE_ONCE(*word, *word | tofu_watch_bit(watcher));
	/* Whoever sees the new generation sees the mark. */
	smp_wmb();
	WRITE_ONCE(watch->generation, watch->generation + 1);
}

/*
 * All events count. Some of them leave the pinned pages where they are, such as
 * fork(); then the region is registered again without need.
 */
static bool tofu_watch_invalidate(struct mmu_interval_notifier *notifier,
				  const struct mmu_notifier_range *range,
				  unsigned long seq)
{
	struct tofu_watcher *watcher =
		container_of(notifier, struct tofu_watcher, notifier);
	struct tofu_cq *cq = watcher->cq;

	spin_lock(&cq->watch_lock);
	mmu_interval_set_seq(notifier, seq);
	tofu_watch_mark_locked(watcher);
	spin_unlock(&cq->watch_lock);
	return true;
}

static const struct mmu_interval_notifier_ops tofu_watch_ops = {
	.invalidate = tofu_watch_invalidate,
};

int tofu_watch_begin(struct tofu_watcher *watcher, struct tofu_cq *cq, u32 stag,
		     u64 start, u64 length)
{
	u64 *word;
	int ret;

	watcher->cq = cq;
	watcher->stag = stag;
	word = tofu_watch_word(watcher);
	spin_lock(&cq->watch_lock);
	WRITE_ONCE(*word, *word & ~tofu_watch_bit(watcher));
	spin_unlock(&cq->watch_lock);
	ret = mmu_interval_notifier_insert(&watcher->notifier, current->mm,
					   start, length, &tofu_watch_ops);
	if (ret)
		return ret;
	/*
	 * A change under way is not told to those who come late. Wait for its
	 * end, so that the caller pins what is there afterwards.
	 */
	mmu_interval_read_begin(&watcher->notifier);
	return 0;
}

void tofu_watch_end(struct tofu_watcher *watcher)
{
	mmu_interval_notifier_remove(&watcher->notifier);
}

/* ---- The page ---- */

static int tofu_watch_make_locked(struct tofu_cq *cq)
{
	struct tofu_area *area = &cq->handle.areas[TOFU_AREA_WATCH];
	unsigned long page;

	if (cq->watch)
		return 0;
	page = get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	area->pfn = PHYS_PFN(virt_to_phys((void *)page));
	area->cached = true;
	area->read_only = true;
	/* mmap() takes no lock: it sees the size last. */
	smp_store_release(&area->size, PAGE_SIZE);
	/* Neither do registrations: they see a page that is zeroed. */
	smp_store_release(&cq->watch, (struct tofu_watch *)page);
	return 0;
}

int tofu_watch_map(struct tofu_ucmd *ucmd)
{
	struct tofu_cq *cq = tofu_cq_of(ucmd->handle);
	struct tofu_ioc_watch *arg = ucmd->cmd;
	int ret;

	if (arg->flags)
		return -EINVAL;
	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	mutex_lock(&cq->mem_lock);
	ret = tofu_watch_make_locked(cq);
	mutex_unlock(&cq->mem_lock);
	tofu_ucmd_leave(ucmd);
	if (ret)
		return ret;
	tofu_handle_describe_map(&cq->handle, TOFU_AREA_WATCH, &arg->map);
	return tofu_ucmd_respond(ucmd);
}

void tofu_watch_free(struct tofu_cq *cq)
{
	free_page((unsigned long)cq->watch);
}
