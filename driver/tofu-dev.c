// SPDX-License-Identifier: GPL-2.0-only
/*
 * The character device, and dispatch of ioctls.
 */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/irqflags.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "tofu.h"

#define TOFU_MINORS 16

/* As long as the longest structure of any ioctl table */
union tofu_ioc_any {
	struct tofu_ioc_info info;
	struct tofu_ioc_time time;
	struct tofu_ioc_cq_create cq_create;
	struct tofu_ioc_gates_create gates_create;
	struct tofu_ioc_gate_set gate_set;
	struct tofu_ioc_mem_reg mem_reg;
	struct tofu_ioc_mem_dereg mem_dereg;
	struct tofu_ioc_watch watch;
};

static struct class *tofu_class;
static dev_t tofu_devt;
static DEFINE_IDA(tofu_minors);

/* ---- ioctl ---- */

int tofu_ucmd_respond(struct tofu_ucmd *ucmd)
{
	/*
	 * Both sizes bound the copy: a caller's longer structure must not make
	 * the kernel leak what lies behind its own.
	 */
	if (copy_to_user(ucmd->ubuf, ucmd->cmd,
			 min(ucmd->user_size, ucmd->size)))
		return -EFAULT;
	return 0;
}

static const struct tofu_ioctl_op *tofu_op_find(unsigned int cmd,
						const struct tofu_ioctl_op *ops,
						size_t count)
{
	size_t i;

	/* The size in the command differs between versions of a structure. */
	for (i = 0; i < count; i++)
		if (!((ops[i].cmd ^ cmd) & ~IOCSIZE_MASK))
			return &ops[i];
	return NULL;
}

int tofu_ucmd_enter(struct tofu_ucmd *ucmd)
{
	struct tofu_dev *tdev = ucmd->tdev;

	if (down_read_killable(&tdev->op_sem))
		return -EINTR;
	if (ucmd->handle ? tofu_handle_gone(ucmd->handle) :
			   READ_ONCE(tdev->gone)) {
		up_read(&tdev->op_sem);
		return -ENODEV;
	}
	return 0;
}

void tofu_ucmd_leave(struct tofu_ucmd *ucmd)
{
	up_read(&ucmd->tdev->op_sem);
}

long tofu_ioctl(struct tofu_dev *tdev, struct tofu_handle *handle,
		unsigned int cmd, unsigned long arg,
		const struct tofu_ioctl_op *ops, size_t count)
{
	const struct tofu_ioctl_op *op = tofu_op_find(cmd, ops, count);
	union tofu_ioc_any buf = {};
	struct tofu_ucmd ucmd = {
		.tdev = tdev,
		.handle = handle,
		.ubuf = (void __user *)arg,
		.cmd = &buf,
	};
	int ret;

	if (!op)
		return -ENOTTY;
	ucmd.size = op->size;
	if (get_user(ucmd.user_size, (u32 __user *)ucmd.ubuf))
		return -EFAULT;
	if (ucmd.user_size < op->min_size)
		return -EINVAL;
	/* No future structure is that long: bounds the check of the rest. */
	if (ucmd.user_size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&buf, op->size, ucmd.ubuf, ucmd.user_size);
	if (ret)
		return ret;
	return op->run(&ucmd);
}

/* ---- The device's file ---- */

static void tofu_info_fill(struct tofu_dev *tdev, struct tofu_ioc_info *arg)
{
	u64 node = tofu_read(tdev, TOFU_REG_NODE);

	arg->tnis = tdev->tnis;
	arg->cqs = TOFU_CQ_KERNEL;
	arg->node = lower_32_bits(node);
	arg->nodes = upper_32_bits(node);
	arg->coords = tofu_read(tdev, TOFU_REG_COORDS);
	arg->shape = tofu_read(tdev, TOFU_REG_SHAPE);
	arg->ring_code_max = tdev->ring_code_max;
	arg->stags = tdev->stags;
	arg->caps = (tdev->direct ? TOFU_INFO_DIRECT : 0) |
		    (tdev->armw ? TOFU_INFO_ARMW : 0);
	arg->gates = tdev->gates;
}

int tofu_dev_info(struct tofu_ucmd *ucmd)
{
	struct tofu_ioc_info *arg = ucmd->cmd;
	int ret;

	if (arg->flags || arg->gates)
		return -EINVAL;
	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	tofu_info_fill(ucmd->tdev, arg);
	tofu_ucmd_leave(ucmd);
	return tofu_ucmd_respond(ucmd);
}

static void tofu_time_fill(struct tofu_dev *tdev, struct tofu_ioc_time *arg)
{
	unsigned long flags;

	/* Nothing may come between the two reads. */
	local_irq_save(flags);
	arg->time = tdev->direct ? tofu_read(tdev, TOFU_REG_TIME) : 0;
	arg->cycles = get_cycles();
	local_irq_restore(flags);
}

int tofu_dev_time(struct tofu_ucmd *ucmd)
{
	struct tofu_ioc_time *arg = ucmd->cmd;
	int ret;

	if (arg->flags)
		return -EINVAL;
	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	tofu_time_fill(ucmd->tdev, arg);
	tofu_ucmd_leave(ucmd);
	return tofu_ucmd_respond(ucmd);
}

static struct tofu_dev *tofu_dev_of(struct file *file)
{
	return file->private_data;
}

static const struct tofu_ioctl_op tofu_dev_ops[] = {
	TOFU_IOCTL_GROWN(TOFU_IOC_INFO, struct tofu_ioc_info,
			 TOFU_IOC_INFO_SIZE_1, tofu_dev_info),
	TOFU_IOCTL(TOFU_IOC_TIME, struct tofu_ioc_time, tofu_dev_time),
	TOFU_IOCTL(TOFU_IOC_CQ_CREATE, struct tofu_ioc_cq_create,
		   tofu_cq_create),
	TOFU_IOCTL(TOFU_IOC_GATES_CREATE, struct tofu_ioc_gates_create,
		   tofu_gates_create),
};

static long tofu_dev_ioctl(struct file *file, unsigned int cmd,
			   unsigned long arg)
{
	return tofu_ioctl(tofu_dev_of(file), NULL, cmd, arg, tofu_dev_ops,
			  ARRAY_SIZE(tofu_dev_ops));
}

/* The file holds the cdev, and the cdev holds the device. */
static int tofu_dev_open(struct inode *inode, struct file *file)
{
	file->private_data = container_of(inode->i_cdev, struct tofu_dev, cdev);
	return 0;
}

static const struct file_operations tofu_dev_fops = {
	.owner = THIS_MODULE,
	.open = tofu_dev_open,
	.unlocked_ioctl = tofu_dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* ---- The device ---- */

static void tofu_dev_release(struct device *dev)
{
	struct tofu_dev *tdev = container_of(dev, struct tofu_dev, dev);

	kfree(tdev);
}

struct tofu_dev *tofu_dev_alloc(struct pci_dev *pdev)
{
	struct tofu_dev *tdev;

	tdev = kzalloc(sizeof(*tdev), GFP_KERNEL);
	if (!tdev)
		return ERR_PTR(-ENOMEM);
	tdev->pdev = pdev;
	init_rwsem(&tdev->op_sem);
	init_rwsem(&tdev->map_sem);
	mutex_init(&tdev->lock);
	INIT_LIST_HEAD(&tdev->gates_list);
	INIT_DELAYED_WORK(&tdev->reaper, tofu_cq_reap);
	init_waitqueue_head(&tdev->unpinned);
	device_initialize(&tdev->dev);
	tdev->dev.class = tofu_class;
	tdev->dev.parent = &pdev->dev;
	tdev->dev.release = tofu_dev_release;
	cdev_init(&tdev->cdev, &tofu_dev_fops);
	tdev->cdev.owner = THIS_MODULE;
	return tdev;
}

int tofu_dev_register(struct tofu_dev *tdev)
{
	int minor;
	int ret;

	minor = ida_alloc_max(&tofu_minors, TOFU_MINORS - 1, GFP_KERNEL);
	if (minor < 0)
		return minor;
	tdev->dev.id = minor;
	tdev->dev.devt = MKDEV(MAJOR(tofu_devt), minor);
	ret = dev_set_name(&tdev->dev, TOFU_NAME "%d", minor);
	if (ret)
		goto err_free_minor;
	ret = cdev_device_add(&tdev->cdev, &tdev->dev);
	if (ret)
		goto err_free_minor;
	tofu_debugfs_add(tdev);
	return 0;

err_free_minor:
	ida_free(&tofu_minors, minor);
	return ret;
}

void tofu_dev_unregister(struct tofu_dev *tdev)
{
	tofu_debugfs_remove(tdev);
	cdev_device_del(&tdev->cdev, &tdev->dev);
	ida_free(&tofu_minors, tdev->dev.id);
}

/*
 * Open to all users: they are kept apart by their groups, and by limits
 * (tofu-limit.c).
 */
static char *tofu_devnode(TOFU_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

int tofu_dev_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&tofu_devt, 0, TOFU_MINORS, TOFU_NAME);
	if (ret)
		return ret;
	tofu_class = tofu_class_create(TOFU_NAME);
	if (IS_ERR(tofu_class)) {
		unregister_chrdev_region(tofu_devt, TOFU_MINORS);
		return PTR_ERR(tofu_class);
	}
	tofu_class->devnode = tofu_devnode;
	return 0;
}

void tofu_dev_exit(void)
{
	class_destroy(tofu_class);
	unregister_chrdev_region(tofu_devt, TOFU_MINORS);
}
