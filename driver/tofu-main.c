// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tofu interconnect controller: PCI driver.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include "tofu.h"

/*
 * How long a reset may take. It ends when all other nodes have stopped reading
 * this node's memory, or are known to be gone.
 */
#define TOFU_RESET_LIMIT_US (10 * USEC_PER_SEC)
#define TOFU_RESET_POLL_US 1000

struct workqueue_struct *tofu_workqueue;

/* ---- Hardware ---- */

static int tofu_hw_reset(struct tofu_dev *tdev)
{
	u64 ctrl;

	writeq(TOFU_CTRL_RESET, tdev->regs + TOFU_REG_CTRL);
	return readq_poll_timeout(tdev->regs + TOFU_REG_CTRL, ctrl,
				  !(ctrl & TOFU_CTRL_RESET),
				  TOFU_RESET_POLL_US, TOFU_RESET_LIMIT_US);
}

static int tofu_hw_identify(struct tofu_dev *tdev)
{
	struct device *dev = &tdev->pdev->dev;
	u64 id = tofu_read(tdev, TOFU_REG_ID);
	u64 caps = tofu_read(tdev, TOFU_REG_CAPS);

	if (TOFU_GET(id, TOFU_ID_MAGIC) != TOFU_ID_MAGIC ||
	    TOFU_GET(id, TOFU_ID_VERSION) != TOFU_ID_VERSION)
		return dev_err_probe(dev, -ENODEV,
				     "unknown controller (ID 0x%llx)\n", id);
	tdev->tnis = TOFU_GET(caps, TOFU_CAPS_TNIS);
	tdev->gates = TOFU_GET(caps, TOFU_CAPS_GATES);
	tdev->ring_code_max = TOFU_GET(caps, TOFU_CAPS_RING_CODE);
	tdev->ram_pages = TOFU_GET(caps, TOFU_CAPS_RAM_PAGES);
	tdev->direct = TOFU_GET(caps, TOFU_CAPS_DIRECT);
	tdev->armw = TOFU_GET(caps, TOFU_CAPS_ARMW);
	tdev->stags = min_t(unsigned int, TOFU_STAGS_WANTED,
			    1U << TOFU_GET(caps, TOFU_CAPS_STAG));
	if (!tdev->tnis || tdev->tnis > TOFU_TNIS_MAX ||
	    (tdev->gates && tdev->gates != TOFU_GATES) ||
	    tdev->ring_code_max > TOFU_RING_CODE_MAX ||
	    TOFU_GET(caps, TOFU_CAPS_CQS) != TOFU_CQS_PER_TNI ||
	    tdev->stags <= TOFU_STAG_AUTO)
		return dev_err_probe(dev, -ENODEV,
				     "impossible capabilities (0x%llx)\n",
				     caps);
	return 0;
}

/*
 * User space and the device share memory without system calls in between, so
 * there is no point at which to synchronize or to use a bounce buffer.
 */
static int tofu_hw_check_coherent(struct pci_dev *pdev)
{
	struct page *page = alloc_page(GFP_KERNEL);
	dma_addr_t dma;
	bool sync;

	if (!page)
		return -ENOMEM;
	dma = dma_map_page(&pdev->dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(&pdev->dev, dma)) {
		__free_page(page);
		return -ENOMEM;
	}
	sync = dma_need_sync(&pdev->dev, dma);
	dma_unmap_page(&pdev->dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	__free_page(page);
	if (sync)
		return dev_err_probe(&pdev->dev, -EOPNOTSUPP,
				     "memory is not coherent for the device\n");
	return 0;
}

static int tofu_hw_init(struct tofu_dev *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	int ret;

	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	/* Regions are described by page tables: any length and place. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pdev->dev, ULONG_MAX);

	tdev->regs = pcim_iomap(pdev, TOFU_BAR_REGS, TOFU_BAR_REGS_SIZE);
	if (!tdev->regs)
		return -ENOMEM;
	if (pci_resource_len(pdev, TOFU_BAR_REGS) < TOFU_BAR_REGS_SIZE ||
	    pci_resource_len(pdev, TOFU_BAR_PAGES) < TOFU_BAR_PAGES_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV, "BARs too small\n");
	tdev->pages = pci_resource_start(pdev, TOFU_BAR_PAGES);

	ret = tofu_hw_identify(tdev);
	if (ret)
		return ret;
	ret = tofu_hw_reset(tdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "reset does not end\n");
	return tofu_hw_check_coherent(pdev);
}

/* ---- Revocation ---- */

/*
 * Afterwards no one inside the driver can use the hardware, and nothing is
 * mapped. Returns with op_sem held for writing.
 */
static void tofu_revoke(struct tofu_dev *tdev)
{
	bool quiet;

	/* First without op_sem: waiters inside have to leave. */
	WRITE_ONCE(tdev->gone, true);
	tofu_cq_wake_all(tdev);
	down_write(&tdev->op_sem);
	cancel_delayed_work_sync(&tdev->reaper);
	tofu_cq_revoke(tdev);
	tofu_gates_revoke(tdev);
	quiet = !tofu_hw_reset(tdev);
	tofu_cq_drop_all(tdev, quiet);
	tofu_gates_drop_all(tdev);
}

/* ---- PCI ---- */

static int tofu_pci_setup(struct tofu_dev *tdev)
{
	struct pci_dev *pdev = tdev->pdev;
	int vectors;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = pci_request_regions(pdev, TOFU_NAME);
	if (ret)
		return ret;
	ret = tofu_hw_init(tdev);
	if (ret)
		return ret;
	vectors = TOFU_VECTORS(tdev->tnis);
	ret = pci_alloc_irq_vectors(pdev, vectors, vectors, PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;
	/*
	 * After the reset: the device may still know the previous kernel's
	 * memory.
	 */
	pci_set_master(pdev);
	return 0;
}

static void tofu_pci_teardown(struct tofu_dev *tdev)
{
	pci_free_irq_vectors(tdev->pdev);
	pci_clear_master(tdev->pdev);
}

static int tofu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct tofu_dev *tdev;
	int ret;

	tdev = tofu_dev_alloc(pdev);
	if (IS_ERR(tdev))
		return PTR_ERR(tdev);
	ret = tofu_pci_setup(tdev);
	if (ret)
		goto err_put;
	ret = tofu_sysfs_groups(tdev);
	if (ret)
		goto err_teardown;
	pci_set_drvdata(pdev, tdev);
	ret = tofu_dev_register(tdev);
	if (ret)
		goto err_teardown;
	return 0;

err_teardown:
	tofu_pci_teardown(tdev);
err_put:
	put_device(&tdev->dev);
	return ret;
}

static void tofu_remove(struct pci_dev *pdev)
{
	struct tofu_dev *tdev = pci_get_drvdata(pdev);

	tofu_dev_unregister(tdev);
	tofu_revoke(tdev);
	up_write(&tdev->op_sem);
	tofu_pci_teardown(tdev);
	tofu_mem_unpin_wait(tdev);
	put_device(&tdev->dev);
}

/* Other nodes must not read or write the next kernel's memory. */
static void tofu_shutdown(struct pci_dev *pdev)
{
	struct tofu_dev *tdev = pci_get_drvdata(pdev);

	if (tofu_hw_reset(tdev))
		dev_warn(&pdev->dev, "not quiet at shutdown\n");
	pci_clear_master(pdev);
}

/* op_sem is held from here to the end of the reset. */
static void tofu_reset_prepare(struct pci_dev *pdev)
{
	tofu_revoke(pci_get_drvdata(pdev));
}

static void tofu_reset_done(struct pci_dev *pdev)
{
	struct tofu_dev *tdev = pci_get_drvdata(pdev);

	if (tofu_hw_reset(tdev))
		dev_err(&pdev->dev, "reset does not end, device is unusable\n");
	else
		WRITE_ONCE(tdev->gone, false);
	up_write(&tdev->op_sem);
	tofu_mem_unpin_wait(tdev);
}

/*
 * The controller forgets its registers while it sleeps, and programs drive
 * their queues without the driver: it cannot stop them and later go on. Called
 * while processes are frozen, so nothing is created meanwhile.
 */
static int tofu_suspend(struct device *dev)
{
	struct tofu_dev *tdev = dev_get_drvdata(dev);
	int cqs = atomic_read(&tdev->nr_cqs);
	int gates = atomic_read(&tdev->nr_gates);

	if (!cqs && !gates)
		return 0;
	dev_err(dev, "no suspend while %d CQs and %d gates are in use\n", cqs,
		gates);
	return -EBUSY;
}

/* Also after an image was restored: another kernel had the controller. */
static int tofu_resume(struct device *dev)
{
	struct tofu_dev *tdev = dev_get_drvdata(dev);
	int ret = tofu_hw_reset(tdev);

	if (ret) {
		dev_err(dev, "reset does not end, device is unusable\n");
		WRITE_ONCE(tdev->gone, true);
	}
	return ret;
}

static DEFINE_SIMPLE_DEV_PM_OPS(tofu_pm_ops, tofu_suspend, tofu_resume);

static const struct pci_error_handlers tofu_err_handler = {
	.reset_prepare = tofu_reset_prepare,
	.reset_done = tofu_reset_done,
};

static const struct pci_device_id tofu_ids[] = {
	{ PCI_DEVICE(TOFU_PCI_VENDOR_ID, TOFU_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, tofu_ids);

static struct pci_driver tofu_driver = {
	.name = TOFU_NAME,
	.id_table = tofu_ids,
	.probe = tofu_probe,
	.remove = tofu_remove,
	.shutdown = tofu_shutdown,
	.err_handler = &tofu_err_handler,
	.driver.pm = pm_sleep_ptr(&tofu_pm_ops),
};

/* ---- Module ---- */

static int __init tofu_init(void)
{
	int ret;

	tofu_workqueue = alloc_workqueue(TOFU_NAME, WQ_UNBOUND, 0);
	if (!tofu_workqueue)
		return -ENOMEM;
	ret = tofu_dev_init();
	if (ret)
		goto err_destroy;
	tofu_debugfs_init();
	ret = pci_register_driver(&tofu_driver);
	if (ret)
		goto err_exit;
	return 0;

err_exit:
	tofu_debugfs_exit();
	tofu_dev_exit();
err_destroy:
	destroy_workqueue(tofu_workqueue);
	return ret;
}

static void __exit tofu_exit(void)
{
	pci_unregister_driver(&tofu_driver);
	destroy_workqueue(tofu_workqueue);
	tofu_debugfs_exit();
	tofu_dev_exit();
}

module_init(tofu_init);
module_exit(tofu_exit);

MODULE_DESCRIPTION("Tofu interconnect controller");
MODULE_AUTHOR("The Tofu project");
MODULE_LICENSE("GPL");
