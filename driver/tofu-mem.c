// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registered memory: pinned pages, and the tables through which the device
 * finds them. A region has a steering entry, a memory block of the same number,
 * and a page table.
 *
 * Registration has four steps, since op_sem must not be held while the caller's
 * memory is touched: tofu_mem_create() reserves a STAG and pins the pages,
 * tofu_mem_insert() makes them known to the device's IOMMU and to revocation,
 * the answer is written, and tofu_mem_settle() enables the tables' entries.
 *
 * The end has two steps for the same reason: tofu_mem_retire() takes the region
 * from the device, tofu_mem_release() unpins the pages.
 */
#include <linux/dma-mapping.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "compat.h"
#include "tofu.h"
#include "tofu-trace.h"

/* How long a removal of the device waits for pages to be unpinned */
#define TOFU_UNPIN_LIMIT HZ

/* Largest page of a memory block: 2^40 bytes, the range of an offset */
#define TOFU_MEM_SHIFT_MAX 40

/**
 * struct tofu_mem - a region
 * @cq:      CQ; not to be used by tofu_mem_release()
 * @tdev:    controller
 * @stag:    its number there
 * @live:    the device knows it; protected by mem_lock
 * @read_only: others may only read it
 * @watched: @watcher watches its addresses
 * @watcher: marks it when they change
 * @start:   the caller's first byte
 * @length:  the caller's length in bytes
 * @npages:  number of pinned pages
 * @user:    whose locked_vm counts them; NULL: CAP_IPC_LOCK lifted the limit
 * @mm:      whose pinned_vm counts them, for information
 * @sgt:     pages and their bus addresses
 * @table:   page table
 * @table_dma: its bus address
 * @entries: its length
 * @shift:   log2 of the block's page size
 * @ticket:  flush that has to end before the region is freed
 * @link:    in tofu_cq.deferred or tofu_cq.retired
 * @work:    unpins it in tofu_workqueue
 */
struct tofu_mem {
	struct tofu_cq *cq;
	struct tofu_dev *tdev;
	u32 stag;
	bool live;
	bool read_only;
	bool watched;
	struct tofu_watcher watcher;
	u64 start;
	u64 length;
	unsigned long npages;
	struct user_struct *user;
	struct mm_struct *mm;
	struct sg_table sgt;
	__le64 *table;
	dma_addr_t table_dma;
	size_t entries;
	unsigned int shift;
	u64 ticket;
	struct list_head link;
	struct work_struct work;
};

static struct device *tofu_mem_device(struct tofu_mem *mem)
{
	return &mem->tdev->pdev->dev;
}

static enum dma_data_direction tofu_mem_direction(struct tofu_mem *mem)
{
	return mem->read_only ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

/* ---- Accounting ---- */

/*
 * A region outlives the process that registered it, if another one has the CQ.
 * So the limit counts what the user has, as that of io_uring does: a limit of
 * what a process has would end with each process, and begin anew with its
 * children.
 */
static int tofu_user_charge(struct user_struct *user, unsigned long npages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long old = atomic_long_read(&user->locked_vm);

	do {
		if (npages > limit || old > limit - npages)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &old,
					  old + npages));
	return 0;
}

static int tofu_mem_account(struct tofu_mem *mem)
{
	struct user_struct *user = current_user();

	if (!capable(CAP_IPC_LOCK)) {
		if (tofu_user_charge(user, mem->npages))
			return -ENOMEM;
		mem->user = get_uid(user);
	}
	mmgrab(current->mm);
	mem->mm = current->mm;
	atomic64_add(mem->npages, &mem->mm->pinned_vm);
	return 0;
}

static void tofu_mem_unaccount(struct tofu_mem *mem)
{
	atomic64_sub(mem->npages, &mem->mm->pinned_vm);
	mmdrop(mem->mm);
	if (mem->user) {
		atomic_long_sub(mem->npages, &mem->user->locked_vm);
		free_uid(mem->user);
	}
}

/* ---- Pages ---- */

static int tofu_pages_pin(struct tofu_mem *mem, struct page **pages)
{
	unsigned int flags = mem->read_only ? TOFU_PIN_READ : TOFU_PIN_WRITE;
	unsigned long addr = mem->start & PAGE_MASK;
	unsigned long done = 0;
	int ret;

	while (done < mem->npages) {
		ret = pin_user_pages_fast(addr + (done << PAGE_SHIFT),
					  min_t(unsigned long, INT_MAX,
						mem->npages - done),
					  flags, pages + done);
		if (ret <= 0) {
			unpin_user_pages(pages, done);
			return ret ?: -EFAULT;
		}
		done += ret;
		cond_resched();
	}
	return 0;
}

static int tofu_mem_pin(struct tofu_mem *mem)
{
	struct page **pages;
	int ret;

	/* Checked before a table of such a size is even allocated */
	if (mem->npages > totalram_pages())
		return -ENOMEM;
	pages = kvmalloc_array(mem->npages, sizeof(*pages),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pages)
		return -ENOMEM;
	ret = tofu_pages_pin(mem, pages);
	if (ret)
		goto out_free;
	ret = sg_alloc_table_from_pages(&mem->sgt, pages, mem->npages, 0,
					mem->npages << PAGE_SHIFT,
					GFP_KERNEL_ACCOUNT);
	if (ret)
		unpin_user_pages(pages, mem->npages);
	else
		atomic_add(mem->npages, &mem->tdev->nr_pinned);
out_free:
	kvfree(pages);
	return ret;
}

static void tofu_mem_unpin(struct tofu_mem *mem)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&mem->sgt, sg, i)
		unpin_user_page_range_dirty_lock(sg_page(sg),
						 sg->length >> PAGE_SHIFT,
						 !mem->read_only);
	sg_free_table(&mem->sgt);
	atomic_sub(mem->npages, &mem->tdev->nr_pinned);
}

/*
 * The pages may have other mappings, of regions that overlap. They are never
 * handed over: probing has checked that caches need no synchronization.
 */
#define TOFU_MEM_ATTRS DMA_ATTR_SKIP_CPU_SYNC

static int tofu_mem_map(struct tofu_mem *mem)
{
	if (dma_map_sgtable(tofu_mem_device(mem), &mem->sgt,
			    tofu_mem_direction(mem), TOFU_MEM_ATTRS))
		return -ENOMEM;
	return 0;
}

static void tofu_mem_unmap(struct tofu_mem *mem)
{
	dma_unmap_sgtable(tofu_mem_device(mem), &mem->sgt,
			  tofu_mem_direction(mem), TOFU_MEM_ATTRS);
}

/* ---- Page table ---- */

static u64 tofu_mem_first(const struct tofu_mem *mem)
{
	return mem->start >> PAGE_SHIFT;
}

/* Offset of the region's first small page in its first page of @shift */
static u64 tofu_mem_lead(const struct tofu_mem *mem, unsigned int shift)
{
	return (mem->start & PAGE_MASK) & (BIT_ULL(shift) - 1);
}

/*
 * The largest page size that the region consists of, by user addresses, so that
 * huge pages stay whole. A page must begin wherever bus addresses are not
 * contiguous. The first page may begin below the region, but not below bus
 * address 0: user addresses are aligned to higher powers of two than bus
 * addresses.
 */
static unsigned int tofu_mem_shift(struct tofu_mem *mem)
{
	u64 first = tofu_mem_first(mem);
	unsigned int order = fls64(first ^ (first + mem->npages - 1));
	struct sg_dma_page_iter iter;
	dma_addr_t next = 0;
	u64 page = first;

	order = min_t(unsigned int, order, TOFU_MEM_SHIFT_MAX - PAGE_SHIFT);
	for_each_sgtable_dma_page(&mem->sgt, &iter, 0) {
		dma_addr_t addr = sg_page_iter_dma_address(&iter);

		if (page != first && addr != next)
			order = min_t(unsigned int, order, __ffs64(page));
		next = addr + PAGE_SIZE;
		page++;
	}
	while (tofu_mem_lead(mem, order + PAGE_SHIFT) >
	       sg_dma_address(mem->sgt.sgl))
		order--;
	return order + PAGE_SHIFT;
}

static void tofu_table_fill(struct tofu_mem *mem)
{
	u64 small = BIT_ULL(mem->shift - PAGE_SHIFT) - 1;
	u64 page = tofu_mem_first(mem);
	struct sg_dma_page_iter iter;
	size_t i = 0;

	for_each_sgtable_dma_page(&mem->sgt, &iter, 0) {
		u64 addr = sg_page_iter_dma_address(&iter);

		/*
		 * The first entry may cover bus addresses below the region that
		 * belong to others. They cannot be reached: the steering entry
		 * begins at the region.
		 */
		if (i == 0)
			mem->table[i++] = cpu_to_le64(addr -
						      tofu_mem_lead(mem,
								    mem->shift));
		else if (!(page & small))
			mem->table[i++] = cpu_to_le64(addr);
		page++;
	}
}

static int tofu_table_create(struct tofu_mem *mem)
{
	u64 first = tofu_mem_first(mem);
	u64 last = first + mem->npages - 1;
	unsigned int order;

	mem->shift = tofu_mem_shift(mem);
	order = mem->shift - PAGE_SHIFT;
	mem->entries = (last >> order) - (first >> order) + 1;
	mem->table = dma_alloc_coherent(tofu_mem_device(mem),
					mem->entries * sizeof(*mem->table),
					&mem->table_dma,
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem->table)
		return -ENOMEM;
	tofu_table_fill(mem);
	return 0;
}

static void tofu_table_destroy(struct tofu_mem *mem)
{
	dma_free_coherent(tofu_mem_device(mem),
			  mem->entries * sizeof(*mem->table), mem->table,
			  mem->table_dma);
}

/* ---- Entries of the CQ's tables ---- */

static void tofu_mem_publish_locked(struct tofu_mem *mem)
{
	struct tofu_memory_block *block = &mem->cq->mbt[mem->stag];
	struct tofu_steering *entry = &mem->cq->stt[mem->stag];
	u64 before = mem->start & (TOFU_STAG_ALIGN - 1);
	u64 ctrl = TOFU_SET(TOFU_STEERING_ENABLE, 1) |
		   TOFU_SET(TOFU_STEERING_READONLY, mem->read_only) |
		   TOFU_SET(TOFU_STEERING_FIRST, before) |
		   TOFU_SET(TOFU_STEERING_MBID, mem->stag);

	block->table = cpu_to_le64(mem->table_dma);
	block->npage = cpu_to_le64(mem->entries);
	entry->mbva = cpu_to_le64(tofu_mem_lead(mem, mem->shift) +
				  (mem->start & ~PAGE_MASK) - before);
	entry->length = cpu_to_le64(mem->length + before);
	/* The device may look at any time: write what enables an entry last. */
	dma_wmb();
	WRITE_ONCE(block->ctrl,
		   cpu_to_le64(TOFU_SET(TOFU_MB_ENABLE, 1) |
			       TOFU_SET(TOFU_MB_PAGE_SHIFT, mem->shift)));
	dma_wmb();
	WRITE_ONCE(entry->ctrl, cpu_to_le64(ctrl));
	mem->live = true;
}

/*
 * Transfers that began earlier may still use the entries: a flush must follow.
 */
static void tofu_mem_withdraw_locked(struct tofu_mem *mem)
{
	WRITE_ONCE(mem->cq->stt[mem->stag].ctrl, 0);
	WRITE_ONCE(mem->cq->mbt[mem->stag].ctrl, 0);
	mem->live = false;
}

/* ---- Registration ---- */

/* Reserves the region's STAG, under which no region is found yet. */
static int tofu_stag_take(struct tofu_mem *mem, u32 wanted)
{
	struct tofu_cq *cq = mem->cq;
	int ret;

	mutex_lock(&cq->mem_lock);
	if (wanted == TOFU_STAG_ANY) {
		ret = xa_alloc(&cq->regions, &mem->stag, NULL,
			       XA_LIMIT(TOFU_STAG_AUTO, cq->handle.tdev->stags - 1),
			       GFP_KERNEL_ACCOUNT);
		if (ret == -EBUSY)
			ret = -ENOSPC;
	} else {
		mem->stag = wanted;
		ret = xa_insert(&cq->regions, wanted, NULL, GFP_KERNEL_ACCOUNT);
		if (ret == -EBUSY)
			ret = -EEXIST;
	}
	mutex_unlock(&cq->mem_lock);
	return ret;
}

static void tofu_stag_give_back(struct tofu_mem *mem)
{
	mutex_lock(&mem->cq->mem_lock);
	xa_erase(&mem->cq->regions, mem->stag);
	mutex_unlock(&mem->cq->mem_lock);
}

static int tofu_mem_watch(struct tofu_mem *mem)
{
	int ret = tofu_watch_begin(&mem->watcher, mem->cq, mem->stag,
				   mem->start, mem->length);

	mem->watched = !ret;
	return ret;
}

static void tofu_mem_unwatch(struct tofu_mem *mem)
{
	if (mem->watched)
		tofu_watch_end(&mem->watcher);
	mem->watched = false;
}

static int tofu_mem_hold(struct tofu_mem *mem)
{
	int ret;

	ret = tofu_mem_account(mem);
	if (ret)
		return ret;
	ret = tofu_mem_pin(mem);
	if (ret)
		tofu_mem_unaccount(mem);
	return ret;
}

static int tofu_mem_build(struct tofu_mem *mem)
{
	int ret;

	ret = tofu_mem_map(mem);
	if (ret)
		return ret;
	ret = tofu_table_create(mem);
	if (ret)
		tofu_mem_unmap(mem);
	else
		atomic_inc(&mem->tdev->nr_regions);
	return ret;
}

/*
 * Frees a region that the device does not know, that has no STAG and is not
 * watched. Called without locks: a page that a FUSE file writes back is locked
 * as long as the file's server pleases.
 */
static void tofu_mem_release(struct tofu_mem *mem)
{
	lockdep_assert_not_held(&mem->tdev->op_sem);
	tofu_mem_unpin(mem);
	tofu_mem_unaccount(mem);
	kfree(mem);
}

/*
 * Nothing may touch the pages any more, and no one can look the region up. Only
 * tofu_mem_release() is left to do.
 */
static void tofu_mem_retire(struct tofu_mem *mem)
{
	trace_tofu_mem_dereg(mem->cq, mem->stag, mem->start, mem->length);
	tofu_table_destroy(mem);
	tofu_mem_unmap(mem);
	tofu_mem_unwatch(mem);
	atomic_dec(&mem->tdev->nr_regions);
}

/* Called without locks: pinning may take for ever. */
static struct tofu_mem *tofu_mem_create(struct tofu_cq *cq,
					const struct tofu_ioc_mem_reg *arg)
{
	struct tofu_mem *mem;
	int ret;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->cq = cq;
	mem->tdev = cq->handle.tdev;
	mem->read_only = !!(arg->flags & TOFU_MEM_READ_ONLY);
	mem->start = arg->addr;
	mem->length = arg->length;
	mem->npages = ((arg->addr + arg->length - 1) >> PAGE_SHIFT) -
		      (arg->addr >> PAGE_SHIFT) + 1;

	/* First the cheap check for a free STAG */
	ret = tofu_stag_take(mem, arg->stag);
	if (ret)
		goto err_kfree;
	/* Before pinning: what changes from then on is marked. */
	if (arg->flags & TOFU_MEM_WATCH)
		ret = tofu_mem_watch(mem);
	if (ret)
		goto err_give_back;
	ret = tofu_mem_hold(mem);
	if (ret)
		goto err_unwatch;
	return mem;

err_unwatch:
	tofu_mem_unwatch(mem);
err_give_back:
	tofu_stag_give_back(mem);
err_kfree:
	kfree(mem);
	return ERR_PTR(ret);
}

/* From here on a revocation frees the region. */
static int tofu_mem_insert(struct tofu_ucmd *ucmd, struct tofu_mem *mem)
{
	struct tofu_cq *cq = mem->cq;
	int ret;

	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	ret = tofu_mem_build(mem);
	if (!ret) {
		mutex_lock(&cq->mem_lock);
		/* Its place is reserved, so nothing has to be allocated. */
		xa_store(&cq->regions, mem->stag, mem, GFP_KERNEL_ACCOUNT);
		mutex_unlock(&cq->mem_lock);
	}
	tofu_ucmd_leave(ucmd);
	return ret;
}

/*
 * @err is the result of the answer. Not killable: if the caller is killed now,
 * others that have the CQ may go on using it.
 */
static int tofu_mem_settle(struct tofu_cq *cq, struct tofu_mem *mem, int err)
{
	struct tofu_dev *tdev = cq->handle.tdev;
	bool undo = false;

	down_read(&tdev->op_sem);
	if (tofu_handle_gone(&cq->handle)) {
		/* The revocation frees the region, or already has. */
		err = err ?: -ENODEV;
	} else if (err) {
		tofu_stag_give_back(mem);
		tofu_mem_retire(mem);
		undo = true;
	} else {
		trace_tofu_mem_reg(cq, mem->stag, mem->start, mem->length);
		mutex_lock(&cq->mem_lock);
		tofu_mem_publish_locked(mem);
		mutex_unlock(&cq->mem_lock);
	}
	up_read(&tdev->op_sem);
	if (undo)
		tofu_mem_release(mem);
	return err;
}

static int tofu_mem_reg_check(struct tofu_cq *cq,
			      const struct tofu_ioc_mem_reg *arg)
{
	u64 last;

	if (arg->flags & ~(TOFU_MEM_READ_ONLY | TOFU_MEM_WATCH) ||
	    arg->reserved || !arg->length)
		return -EINVAL;
	/* Another thread may just have made the page, and zeroed it before. */
	if (arg->flags & TOFU_MEM_WATCH && !smp_load_acquire(&cq->watch))
		return -EINVAL;
	if (arg->stag != TOFU_STAG_ANY && arg->stag >= TOFU_STAG_AUTO)
		return -EINVAL;
	if (check_add_overflow(arg->addr, arg->length - 1, &last))
		return -EINVAL;
	if (arg->length > BIT_ULL(TOFU_ADDR_OFFSET_BITS) - TOFU_STAG_ALIGN)
		return -EINVAL;
	return 0;
}

int tofu_mem_reg(struct tofu_ucmd *ucmd)
{
	struct tofu_cq *cq = tofu_cq_of(ucmd->handle);
	struct tofu_ioc_mem_reg *arg = ucmd->cmd;
	struct tofu_mem *mem;
	int ret;

	ret = tofu_mem_reg_check(cq, arg);
	if (ret)
		return ret;
	mem = tofu_mem_create(cq, arg);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	arg->stag = mem->stag;
	arg->offset = mem->start & (TOFU_STAG_ALIGN - 1);
	ret = tofu_mem_insert(ucmd, mem);
	if (ret) {
		tofu_stag_give_back(mem);
		tofu_mem_unwatch(mem);
		tofu_mem_release(mem);
		return ret;
	}
	/* Answer before it is live, so that a failure needs no flush. */
	return tofu_mem_settle(cq, mem, tofu_ucmd_respond(ucmd));
}

/* ---- Deregistration ---- */

/* Takes a live region from the device; its STAG stays in use. */
static struct tofu_mem *tofu_mem_withdraw(struct tofu_cq *cq, u32 stag)
{
	struct tofu_mem *mem;

	mutex_lock(&cq->mem_lock);
	mem = xa_load(&cq->regions, stag);
	if (mem && mem->live)
		tofu_mem_withdraw_locked(mem);
	else
		mem = NULL;
	mutex_unlock(&cq->mem_lock);
	return mem;
}

static void tofu_mem_defer(struct tofu_mem *mem)
{
	struct tofu_cq *cq = mem->cq;

	mutex_lock(&cq->mem_lock);
	list_add_tail(&mem->link, &cq->deferred);
	mutex_unlock(&cq->mem_lock);
	atomic_inc(&cq->handle.tdev->nr_deferred);
	tofu_cq_reap_later(cq->handle.tdev);
}

/* Return: the retired region, or an ERR_PTR. */
static struct tofu_mem *tofu_mem_remove(struct tofu_cq *cq, u32 stag)
{
	struct tofu_mem *mem;
	int ret;

	mem = tofu_mem_withdraw(cq, stag);
	if (!mem)
		return ERR_PTR(-ENOENT);

	mem->ticket = tofu_flush_begin(cq);
	ret = tofu_flush_wait(cq, mem->ticket);
	if (ret) {
		tofu_mem_defer(mem);
		return ERR_PTR(ret);
	}
	tofu_stag_give_back(mem);
	tofu_mem_retire(mem);
	return mem;
}

int tofu_mem_dereg(struct tofu_ucmd *ucmd)
{
	const struct tofu_ioc_mem_dereg *arg = ucmd->cmd;
	struct tofu_mem *mem;
	int ret;

	if (arg->flags || arg->reserved)
		return -EINVAL;
	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	mem = tofu_mem_remove(tofu_cq_of(ucmd->handle), arg->stag);
	tofu_ucmd_leave(ucmd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	tofu_mem_release(mem);
	return 0;
}

/* ---- Unpinning in the background ---- */

static void tofu_mem_unpin_work(struct work_struct *work)
{
	struct tofu_mem *mem = container_of(work, struct tofu_mem, work);
	struct tofu_dev *tdev = mem->tdev;

	tofu_mem_release(mem);
	if (atomic_dec_and_test(&tdev->nr_unpinning))
		wake_up_all(&tdev->unpinned);
	put_device(&tdev->dev);
}

static void tofu_mem_release_later(struct tofu_mem *mem)
{
	get_device(&mem->tdev->dev);
	atomic_inc(&mem->tdev->nr_unpinning);
	INIT_WORK(&mem->work, tofu_mem_unpin_work);
	queue_work(tofu_workqueue, &mem->work);
}

void tofu_mem_unpin_all(struct tofu_cq *cq)
{
	struct tofu_mem *mem, *next;

	list_for_each_entry_safe(mem, next, &cq->retired, link)
		tofu_mem_release(mem);
	INIT_LIST_HEAD(&cq->retired);
}

void tofu_mem_unpin_later(struct tofu_cq *cq)
{
	struct tofu_mem *mem, *next;

	list_for_each_entry_safe(mem, next, &cq->retired, link)
		tofu_mem_release_later(mem);
	INIT_LIST_HEAD(&cq->retired);
}

void tofu_mem_unpin_wait(struct tofu_dev *tdev)
{
	wait_event_timeout(tdev->unpinned, !atomic_read(&tdev->nr_unpinning),
			   TOFU_UNPIN_LIMIT);
}

/* ---- Late flushes, and the end of a CQ ---- */

bool tofu_mem_reap_locked(struct tofu_cq *cq)
{
	struct tofu_mem *mem, *next;

	list_for_each_entry_safe(mem, next, &cq->deferred, link) {
		if (!tofu_flush_done(cq, mem->ticket))
			continue;
		list_del(&mem->link);
		atomic_dec(&cq->handle.tdev->nr_deferred);
		xa_erase(&cq->regions, mem->stag);
		tofu_mem_retire(mem);
		tofu_mem_release_later(mem);
	}
	return !list_empty(&cq->deferred);
}

void tofu_mem_retire_all(struct tofu_cq *cq)
{
	struct tofu_mem *mem;
	unsigned long stag;

	list_for_each_entry(mem, &cq->deferred, link)
		atomic_dec(&cq->handle.tdev->nr_deferred);
	INIT_LIST_HEAD(&cq->deferred);
	xa_for_each(&cq->regions, stag, mem) {
		xa_erase(&cq->regions, stag);
		tofu_mem_retire(mem);
		list_add_tail(&mem->link, &cq->retired);
	}
	/* What is left is reserved; registrations under way give it back. */
}

unsigned int tofu_mem_leak_all(struct tofu_cq *cq)
{
	struct tofu_mem *mem;
	unsigned long stag;
	unsigned int count = 0;

	xa_for_each(&cq->regions, stag, mem) {
		tofu_mem_unwatch(mem);
		count++;
	}
	return count;
}
