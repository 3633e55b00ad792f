// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: counts of live objects, for tests that look for leaks.
 *
 * A file's value is that of its opening. Reading copies it to user space, where
 * a fault may never end, and debugfs_remove() waits for all that debugfs itself
 * protects. So it protects open() only, and read() touches no device.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>

#include "tofu.h"

static struct dentry *tofu_debugfs;

void tofu_debugfs_init(void)
{
	tofu_debugfs = debugfs_create_dir(TOFU_NAME, NULL);
}

void tofu_debugfs_exit(void)
{
	debugfs_remove(tofu_debugfs);
}

static int tofu_count_open(struct inode *inode, struct file *file)
{
	const atomic_t *count = inode->i_private;

	file->private_data = (void *)(unsigned long)atomic_read(count);
	return nonseekable_open(inode, file);
}

static ssize_t tofu_count_read(struct file *file, char __user *buf, size_t size,
			       loff_t *pos)
{
	int count = (unsigned long)file->private_data;
	char text[16];

	return simple_read_from_buffer(buf, size, pos, text,
				       scnprintf(text, sizeof(text), "%d\n",
						 count));
}

static const struct file_operations tofu_count_fops = {
	.owner = THIS_MODULE,
	.open = tofu_count_open,
	.read = tofu_count_read,
};

static void tofu_count_add(struct dentry *dir, const char *name,
			   atomic_t *count)
{
	debugfs_create_file_unsafe(name, 0444, dir, count, &tofu_count_fops);
}

void tofu_debugfs_add(struct tofu_dev *tdev)
{
	struct dentry *dir;

	dir = debugfs_create_dir(dev_name(&tdev->dev), tofu_debugfs);
	tofu_count_add(dir, "cqs", &tdev->nr_cqs);
	tofu_count_add(dir, "gates", &tdev->nr_gates);
	tofu_count_add(dir, "regions", &tdev->nr_regions);
	tofu_count_add(dir, "pinned_pages", &tdev->nr_pinned);
	tofu_count_add(dir, "deferred", &tdev->nr_deferred);
	tdev->debugfs = dir;
}

void tofu_debugfs_remove(struct tofu_dev *tdev)
{
	debugfs_remove(tdev->debugfs);
}
