// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: counts of live objects, for tests that look for leaks.
 */
#include <linux/debugfs.h>

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

void tofu_debugfs_add(struct tofu_dev *tdev)
{
	struct dentry *dir;

	dir = debugfs_create_dir(dev_name(&tdev->dev), tofu_debugfs);
	debugfs_create_atomic_t("cqs", 0444, dir, &tdev->nr_cqs);
	debugfs_create_atomic_t("gates", 0444, dir, &tdev->nr_gates);
	debugfs_create_atomic_t("regions", 0444, dir, &tdev->nr_regions);
	debugfs_create_atomic_t("pinned_pages", 0444, dir, &tdev->nr_pinned);
	debugfs_create_atomic_t("deferred", 0444, dir, &tdev->nr_deferred);
	tdev->debugfs = dir;
}

void tofu_debugfs_remove(struct tofu_dev *tdev)
{
	debugfs_remove(tdev->debugfs);
}
