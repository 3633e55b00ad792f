// SPDX-License-Identifier: GPL-2.0-only
/*
 * Command queues.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "tofu.h"
#define CREATE_TRACE_POINTS
#include "tofu-trace.h"

/* How long close() waits for a flush before it leaves it to the reaper */
#define TOFU_CLOSE_LIMIT HZ
#define TOFU_REAP_INTERVAL (HZ / 2)

static const struct tofu_handle_ops tofu_cq_handle_ops;

struct tofu_cq *tofu_cq_of(struct tofu_handle *handle)
{
	return container_of(handle, struct tofu_cq, handle);
}

/* ---- Registers and tables ---- */

static void tofu_cq_disable(struct tofu_cq *cq)
{
	writeq(0, cq->regs + TOFU_CQ_CTRL);
}

/*
 * What the last owner left would be taken for commands, or read by the new
 * owner.
 */
static void tofu_cq_clear_page(struct tofu_cq *cq)
{
	size_t size = cq->handle.tdev->ram_pages ? TOFU_PAGE_SIZE :
					    sizeof(struct tofu_cq_page);
	size_t i;

	for (i = 0; i < size; i += sizeof(u64))
		writeq(0, cq->page + i);
}

static int tofu_cq_enable(struct tofu_cq *cq,
			  const struct tofu_ioc_cq_create *arg)
{
	bool session = arg->flags & TOFU_CQ_SESSION_MODE;
	struct tofu_dev *tdev = cq->handle.tdev;
	u64 status;

	tofu_cq_clear_page(cq);
	writeq(cq->rings[TOFU_MAP_TOQ].dma, cq->regs + TOFU_CQ_TOQ_BASE);
	writeq(cq->rings[TOFU_MAP_TCQ].dma, cq->regs + TOFU_CQ_TCQ_BASE);
	writeq(cq->rings[TOFU_MAP_MRQ].dma, cq->regs + TOFU_CQ_MRQ_BASE);
	writeq(TOFU_SET(TOFU_CQ_RINGS_TOQ, arg->toq_code) |
	       TOFU_SET(TOFU_CQ_RINGS_MRQ, arg->mrq_code) |
	       TOFU_SET(TOFU_CQ_RINGS_SESSION, session),
	       cq->regs + TOFU_CQ_RINGS);
	writeq(cq->stt_dma, cq->regs + TOFU_CQ_STT_BASE);
	writeq(tdev->stags, cq->regs + TOFU_CQ_STT_COUNT);
	writeq(cq->mbt_dma, cq->regs + TOFU_CQ_MBT_BASE);
	writeq(tdev->stags, cq->regs + TOFU_CQ_MBT_COUNT);
	writeq(cq->handle.gpid, cq->regs + TOFU_CQ_GPID);
	writeq(TOFU_CQ_CTRL_ENABLE, cq->regs + TOFU_CQ_CTRL);

	status = readq(cq->regs + TOFU_CQ_STATUS);
	if (status & TOFU_CQ_STATUS_BAD_CONFIG ||
	    !(status & TOFU_CQ_STATUS_ENABLED)) {
		dev_err(&tdev->dev,
			"CQ %u of TNI %u refuses its settings (status 0x%llx)\n",
			cq->nr, cq->tni, status);
		return -EIO;
	}
	return 0;
}

static int tofu_cq_alloc_tables(struct tofu_cq *cq)
{
	struct device *dev = &cq->handle.tdev->pdev->dev;
	unsigned int count = cq->handle.tdev->stags;

	cq->stt = dma_alloc_coherent(dev, count * sizeof(*cq->stt),
				     &cq->stt_dma,
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!cq->stt)
		return -ENOMEM;
	cq->mbt = dma_alloc_coherent(dev, count * sizeof(*cq->mbt),
				     &cq->mbt_dma,
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return cq->mbt ? 0 : -ENOMEM;
}

static void tofu_cq_free_tables(struct tofu_cq *cq)
{
	struct device *dev = &cq->handle.tdev->pdev->dev;
	unsigned int count = cq->handle.tdev->stags;

	if (cq->mbt)
		dma_free_coherent(dev, count * sizeof(*cq->mbt), cq->mbt,
				  cq->mbt_dma);
	if (cq->stt)
		dma_free_coherent(dev, count * sizeof(*cq->stt), cq->stt,
				  cq->stt_dma);
}

/* User space may still read the rings: tofu_cq_free() frees them. */
static void tofu_cq_free_memory(struct tofu_cq *cq)
{
	enum tofu_map_index i;

	for (i = 0; i < TOFU_MAPS; i++)
		tofu_ring_detach(cq->handle.tdev, &cq->rings[i]);
	tofu_cq_free_tables(cq);
	if (cq->page)
		iounmap(cq->page);
}

static int tofu_cq_alloc_rings(struct tofu_cq *cq,
			       const struct tofu_ioc_cq_create *arg)
{
	const u64 toq = TOFU_RING_ENTRIES(arg->toq_code);
	const u64 mrq = TOFU_RING_ENTRIES(arg->mrq_code);
	const size_t bytes[TOFU_MAPS] = {
		[TOFU_MAP_TOQ] = toq * sizeof(struct tofu_toq_desc),
		[TOFU_MAP_TCQ] = toq * sizeof(__le64),
		[TOFU_MAP_MRQ] = mrq * sizeof(struct tofu_mrq_entry),
	};
	enum tofu_map_index i;
	int ret = 0;

	for (i = TOFU_MAP_TOQ; i < TOFU_MAPS && !ret; i++)
		ret = tofu_ring_alloc(cq->handle.tdev, &cq->rings[i], bytes[i]);
	return ret;
}

static int tofu_cq_map_page(struct tofu_cq *cq)
{
	struct tofu_dev *tdev = cq->handle.tdev;
	phys_addr_t page = tdev->pages + TOFU_CQ_PAGE(cq->tni, cq->nr);

	/* Mapped as in user space: no page may have two memory types. */
	cq->page = tdev->ram_pages ? ioremap_cache(page, TOFU_PAGE_SIZE) :
				     ioremap(page, TOFU_PAGE_SIZE);
	return cq->page ? 0 : -ENOMEM;
}

static int tofu_cq_alloc_memory(struct tofu_cq *cq,
				const struct tofu_ioc_cq_create *arg)
{
	int ret;

	ret = tofu_cq_alloc_rings(cq, arg);
	if (!ret)
		ret = tofu_cq_alloc_tables(cq);
	if (!ret)
		ret = tofu_cq_map_page(cq);
	if (ret)
		tofu_cq_free_memory(cq);
	return ret;
}

static void tofu_cq_set_areas(struct tofu_cq *cq)
{
	struct tofu_dev *tdev = cq->handle.tdev;
	struct tofu_area *areas = cq->handle.areas;
	enum tofu_map_index i;

	areas[TOFU_MAP_PAGE] = tofu_area_of_bar(
		tdev, TOFU_CQ_PAGE(cq->tni, cq->nr), tdev->ram_pages);
	areas[TOFU_MAP_KICK] = tofu_area_of_bar(
		tdev, TOFU_KICK_PAGE(cq->tni, cq->nr), false);
	for (i = TOFU_MAP_TOQ; i < TOFU_MAPS; i++)
		areas[i] = tofu_area_of_ring(&cq->rings[i]);
}

/* ---- The table of CQs ---- */

static unsigned int tofu_cq_index(unsigned int tni, unsigned int nr)
{
	return tni * TOFU_CQS_PER_TNI + nr;
}

static int tofu_cq_choose_locked(struct tofu_dev *tdev, u32 tni, u32 wanted)
{
	unsigned int nr;

	if (wanted != TOFU_CQ_ANY)
		return tdev->cqs[tofu_cq_index(tni, wanted)] ? -EBUSY : wanted;
	for (nr = 0; nr < TOFU_CQ_KERNEL; nr++)
		if (!tdev->cqs[tofu_cq_index(tni, nr)])
			return nr;
	return -ENOSPC;
}

static int tofu_cq_take(struct tofu_cq *cq, u32 tni, u32 wanted)
{
	struct tofu_dev *tdev = cq->handle.tdev;
	int nr;

	mutex_lock(&tdev->lock);
	nr = tofu_cq_choose_locked(tdev, tni, wanted);
	if (nr >= 0 && !tofu_limit_cqs_locked(tdev, tni))
		nr = -ENOSPC;
	if (nr >= 0 && !tofu_limit_group_locked(tdev, &cq->handle))
		nr = -EUSERS;
	if (nr >= 0) {
		cq->tni = tni;
		cq->nr = nr;
		cq->regs = tdev->regs + TOFU_CQ_REGS(tni, nr);
		tdev->cqs[tofu_cq_index(tni, nr)] = cq;
		atomic_inc(&tdev->nr_cqs);
	}
	mutex_unlock(&tdev->lock);
	return nr < 0 ? nr : 0;
}

static void tofu_cq_give_back_locked(struct tofu_cq *cq)
{
	cq->handle.tdev->cqs[tofu_cq_index(cq->tni, cq->nr)] = NULL;
	atomic_dec(&cq->handle.tdev->nr_cqs);
}

/* ---- Destruction ---- */

static void tofu_cq_free(struct tofu_cq *cq)
{
	enum tofu_map_index i;

	tofu_mem_unpin_all(cq);
	tofu_handle_put(&cq->handle);
	if (cq->leaked)
		return;
	for (i = 0; i < TOFU_MAPS; i++)
		tofu_ring_free(&cq->rings[i]);
	/*
	 * Not earlier: a registration that a revocation overtakes still watches
	 * its addresses.
	 */
	tofu_watch_free(cq);
	kfree(cq);
}

/*
 * Frees everything but the structure itself, the rings and retired regions. The
 * CQ is disabled and quiet: nothing touches its memory, here or on other nodes.
 */
static void tofu_cq_drop_locked(struct tofu_cq *cq)
{
	trace_tofu_cq_destroy(cq);
	tofu_irq_free(cq);
	mutex_lock(&cq->mem_lock);
	tofu_mem_retire_all(cq);
	mutex_unlock(&cq->mem_lock);
	tofu_cq_free_memory(cq);
	tofu_cq_give_back_locked(cq);
	if (cq->late)
		atomic_dec(&cq->handle.tdev->nr_deferred);
}

/*
 * Some node may still read this memory, and cannot be asked. It would read the
 * data of any new user of these pages. So they are lost until the next boot,
 * and so is the structure that refers to them.
 */
static void tofu_cq_leak_locked(struct tofu_cq *cq)
{
	dev_err(&cq->handle.tdev->pdev->dev,
		"CQ %u of TNI %u never became quiet: its rings and %u regions are lost until the next boot\n",
		cq->nr, cq->tni, tofu_mem_leak_all(cq));
	cq->leaked = true;
	tofu_irq_free(cq);
	iounmap(cq->page);
	tofu_cq_give_back_locked(cq);
	if (cq->late)
		atomic_dec(&cq->handle.tdev->nr_deferred);
}

static void tofu_cq_defer(struct tofu_cq *cq)
{
	struct tofu_dev *tdev = cq->handle.tdev;

	dev_warn_ratelimited(&tdev->dev,
			     "CQ %u of TNI %u: a flush is late, its memory stays pinned until it ends\n",
			     cq->nr, cq->tni);
	mutex_lock(&tdev->lock);
	cq->late = true;
	atomic_inc(&tdev->nr_deferred);
	mutex_unlock(&tdev->lock);
	tofu_cq_reap_later(tdev);
}

/* Return: whether it can be freed; otherwise the reaper does that. */
static bool tofu_cq_destroy(struct tofu_cq *cq)
{
	struct tofu_dev *tdev = cq->handle.tdev;
	u64 ticket;

	tofu_cq_disable(cq);
	ticket = tofu_flush_begin(cq);
	if (!tofu_flush_wait_limit(cq, ticket, TOFU_CLOSE_LIMIT)) {
		tofu_cq_defer(cq);
		return false;
	}
	mutex_lock(&tdev->lock);
	tofu_cq_drop_locked(cq);
	mutex_unlock(&tdev->lock);
	return true;
}

/* ---- The reaper ---- */

/* Return: true if there is work left. */
static bool tofu_cq_reap_one_locked(struct tofu_cq *cq)
{
	bool left;

	if (cq->late) {
		if (!tofu_flush_done(cq, cq->flush.requested))
			return true;
		tofu_cq_drop_locked(cq);
		tofu_mem_unpin_later(cq);
		tofu_cq_free(cq);
		return false;
	}
	mutex_lock(&cq->mem_lock);
	left = tofu_mem_reap_locked(cq);
	mutex_unlock(&cq->mem_lock);
	return left;
}

void tofu_cq_reap(struct work_struct *work)
{
	struct tofu_dev *tdev = container_of(to_delayed_work(work),
					     struct tofu_dev, reaper);
	bool left = false;
	unsigned int i;

	mutex_lock(&tdev->lock);
	for (i = 0; i < ARRAY_SIZE(tdev->cqs); i++)
		if (tdev->cqs[i])
			left |= tofu_cq_reap_one_locked(tdev->cqs[i]);
	mutex_unlock(&tdev->lock);
	if (left)
		tofu_cq_reap_later(tdev);
}

void tofu_cq_reap_later(struct tofu_dev *tdev)
{
	queue_delayed_work(system_unbound_wq, &tdev->reaper,
			   TOFU_REAP_INTERVAL);
}

/* ---- Revocation ---- */

static void tofu_cq_revoke_locked(struct tofu_cq *cq)
{
	tofu_cq_disable(cq);
	tofu_handle_revoke(&cq->handle);
	wake_up_all(&cq->wait);
}

void tofu_cq_revoke(struct tofu_dev *tdev)
{
	unsigned int i;

	mutex_lock(&tdev->lock);
	for (i = 0; i < ARRAY_SIZE(tdev->cqs); i++)
		if (tdev->cqs[i])
			tofu_cq_revoke_locked(tdev->cqs[i]);
	mutex_unlock(&tdev->lock);
}

void tofu_cq_drop_all(struct tofu_dev *tdev, bool quiet)
{
	unsigned int i;

	mutex_lock(&tdev->lock);
	for (i = 0; i < ARRAY_SIZE(tdev->cqs); i++) {
		struct tofu_cq *cq = tdev->cqs[i];

		if (!cq)
			continue;
		if (quiet)
			tofu_cq_drop_locked(cq);
		else
			tofu_cq_leak_locked(cq);
		tofu_mem_unpin_later(cq);
		/* Otherwise the release of the file frees it. */
		if (cq->late)
			tofu_cq_free(cq);
	}
	mutex_unlock(&tdev->lock);
}

void tofu_cq_wake_all(struct tofu_dev *tdev)
{
	unsigned int i;

	mutex_lock(&tdev->lock);
	for (i = 0; i < ARRAY_SIZE(tdev->cqs); i++)
		if (tdev->cqs[i])
			wake_up_all(&tdev->cqs[i]->wait);
	mutex_unlock(&tdev->lock);
}

/* ---- The file ---- */

static __poll_t tofu_cq_look(struct tofu_cq *cq)
{
	u64 mrq_read = readq(cq->page +
			     offsetof(struct tofu_cq_page, mrq_full_pointer));
	u64 tcq_read = readq(cq->page +
			     offsetof(struct tofu_cq_page, tcq_read));
	u64 status = readq(cq->regs + TOFU_CQ_STATUS);
	__poll_t mask = 0;

	/* User space can only deceive itself about what it has read. */
	if (readq(cq->regs + TOFU_CQ_MRQ_TAIL) != mrq_read ||
	    readq(cq->regs + TOFU_CQ_TCQ_TAIL) != tcq_read)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (status & (TOFU_CQ_STATUS_TOQ_EXCEPTION |
		      TOFU_CQ_STATUS_MRQ_OVERFLOW))
		mask |= EPOLLERR;
	return mask;
}

static __poll_t tofu_cq_poll(struct file *file, struct poll_table_struct *table)
{
	struct tofu_cq *cq = tofu_cq_of(tofu_handle_of(file));
	struct tofu_dev *tdev = cq->handle.tdev;
	__poll_t mask = EPOLLERR | EPOLLHUP;

	poll_wait(file, &cq->wait, table);
	if (down_read_killable(&tdev->op_sem))
		return mask;
	if (!tofu_handle_gone(&cq->handle)) {
		/*
		 * Arm, check, then sleep: any other order could miss a wakeup.
		 */
		writeq(TOFU_CQ_IRQ_TCQ | TOFU_CQ_IRQ_MRQ |
		       TOFU_CQ_IRQ_EXCEPTION, cq->regs + TOFU_CQ_IRQ_ARM);
		mask = tofu_cq_look(cq);
	}
	up_read(&tdev->op_sem);
	return mask;
}

static const struct tofu_ioctl_op tofu_cq_ops[] = {
	TOFU_IOCTL_GROWN(TOFU_IOC_INFO, struct tofu_ioc_info,
			 TOFU_IOC_INFO_SIZE_1, tofu_dev_info),
	TOFU_IOCTL(TOFU_IOC_TIME, struct tofu_ioc_time, tofu_dev_time),
	TOFU_IOCTL(TOFU_IOC_MEM_REG, struct tofu_ioc_mem_reg, tofu_mem_reg),
	TOFU_IOCTL(TOFU_IOC_MEM_DEREG, struct tofu_ioc_mem_dereg,
		   tofu_mem_dereg),
	TOFU_IOCTL(TOFU_IOC_WATCH, struct tofu_ioc_watch, tofu_watch_map),
};

static const struct file_operations tofu_cq_fops = {
	.owner = THIS_MODULE,
	.release = tofu_handle_release,
	.mmap = tofu_handle_mmap,
	.poll = tofu_cq_poll,
	.unlocked_ioctl = tofu_handle_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static bool tofu_cq_handle_destroy(struct tofu_handle *handle)
{
	return tofu_cq_destroy(tofu_cq_of(handle));
}

static void tofu_cq_handle_free(struct tofu_handle *handle)
{
	tofu_cq_free(tofu_cq_of(handle));
}

static const struct tofu_handle_ops tofu_cq_handle_ops = {
	.name = "[tofu-cq]",
	.fops = &tofu_cq_fops,
	.ioctls = tofu_cq_ops,
	.nr_ioctls = ARRAY_SIZE(tofu_cq_ops),
	.destroy = tofu_cq_handle_destroy,
	.free = tofu_cq_handle_free,
};

/* ---- Creation ---- */

static int tofu_cq_check(struct tofu_dev *tdev,
			 const struct tofu_ioc_cq_create *arg)
{
	if (arg->flags & ~TOFU_CQ_SESSION_MODE || arg->reserved ||
	    arg->tni >= tdev->tnis)
		return -EINVAL;
	if (arg->cq != TOFU_CQ_ANY && arg->cq >= TOFU_CQ_KERNEL)
		return -EINVAL;
	if (arg->toq_code > tdev->ring_code_max ||
	    arg->mrq_code > tdev->ring_code_max)
		return -EINVAL;
	return 0;
}

static struct tofu_cq *tofu_cq_alloc(struct tofu_dev *tdev)
{
	struct tofu_cq *cq;

	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return NULL;
	if (tofu_handle_init(&cq->handle, tdev, &tofu_cq_handle_ops)) {
		kfree(cq);
		return NULL;
	}
	init_waitqueue_head(&cq->wait);
	tofu_flush_init(&cq->flush);
	spin_lock_init(&cq->watch_lock);
	mutex_init(&cq->mem_lock);
	xa_init_flags(&cq->regions, XA_FLAGS_ALLOC);
	INIT_LIST_HEAD(&cq->deferred);
	INIT_LIST_HEAD(&cq->retired);
	return cq;
}

static struct tofu_cq *tofu_cq_build(struct tofu_dev *tdev,
				     const struct tofu_ioc_cq_create *arg)
{
	struct tofu_cq *cq;
	int ret;

	cq = tofu_cq_alloc(tdev);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	ret = tofu_cq_take(cq, arg->tni, arg->cq);
	if (ret)
		goto err_free;
	ret = tofu_cq_alloc_memory(cq, arg);
	if (ret)
		goto err_give_back;
	ret = tofu_irq_request(cq);
	if (ret)
		goto err_free_memory;
	ret = tofu_cq_enable(cq, arg);
	if (ret)
		goto err_irq_free;
	tofu_cq_set_areas(cq);
	trace_tofu_cq_create(cq);
	return cq;

err_irq_free:
	tofu_irq_free(cq);
err_free_memory:
	tofu_cq_free_memory(cq);
err_give_back:
	mutex_lock(&tdev->lock);
	tofu_cq_give_back_locked(cq);
	mutex_unlock(&tdev->lock);
err_free:
	tofu_cq_free(cq);
	return ERR_PTR(ret);
}

static struct file *tofu_cq_file(struct tofu_dev *tdev,
				 struct tofu_ioc_cq_create *arg)
{
	struct tofu_cq *cq = tofu_cq_build(tdev, arg);

	if (IS_ERR(cq))
		return ERR_CAST(cq);
	arg->cq = cq->nr;
	tofu_handle_describe_maps(&cq->handle, arg->map, TOFU_MAPS);
	return tofu_handle_file(&cq->handle);
}

int tofu_cq_create(struct tofu_ucmd *ucmd)
{
	struct tofu_ioc_cq_create *arg = ucmd->cmd;
	struct file *file;
	int ret;

	ret = tofu_cq_check(ucmd->tdev, arg);
	if (ret)
		return ret;
	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	file = tofu_cq_file(ucmd->tdev, arg);
	tofu_ucmd_leave(ucmd);
	if (IS_ERR(file))
		return PTR_ERR(file);
	return tofu_handle_install(file, ucmd, &arg->fd);
}
