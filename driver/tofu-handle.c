// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles: files that give user space a part of the hardware.
 *
 * Each file has its own inode, and so an address space through which its
 * mappings, and no others, can be zapped.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "tofu.h"

#define TOFU_FS_MAGIC 0x746f6675

static struct vfsmount *tofu_mount;
static int tofu_mount_count;

struct tofu_handle *tofu_handle_of(struct file *file)
{
	return file->private_data;
}

int tofu_handle_init(struct tofu_handle *handle, struct tofu_dev *tdev,
		     const struct tofu_handle_ops *ops)
{
	/* Now, since a fault that comes too late must not fail. */
	handle->ones = (void *)__get_free_page(GFP_KERNEL_ACCOUNT);
	if (!handle->ones)
		return -ENOMEM;
	memset(handle->ones, 0xff, PAGE_SIZE);
	get_device(&tdev->dev);
	handle->tdev = tdev;
	handle->ops = ops;
	handle->owner = current_uid();
	handle->member = current_euid();
	handle->gpid = tofu_gpid(handle->member);
	return 0;
}

void tofu_handle_put(struct tofu_handle *handle)
{
	free_page((unsigned long)handle->ones);
	put_device(&handle->tdev->dev);
}

void tofu_handle_revoke(struct tofu_handle *handle)
{
	down_write(&handle->tdev->map_sem);
	handle->dead = true;
	up_write(&handle->tdev->map_sem);
	if (handle->inode)
		unmap_mapping_range(handle->inode->i_mapping, 0, 0, 1);
}

/* ---- File operations ---- */

long tofu_handle_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct tofu_handle *handle = tofu_handle_of(file);

	return tofu_ioctl(handle->tdev, handle, cmd, arg, handle->ops->ioctls,
			  handle->ops->nr_ioctls);
}

int tofu_handle_release(struct inode *inode, struct file *file)
{
	struct tofu_handle *handle = tofu_handle_of(file);
	struct tofu_dev *tdev = handle->tdev;
	bool over;

	/* The reaper may drop the handle's reference. */
	get_device(&tdev->dev);
	down_read(&tdev->op_sem);
	handle->inode = NULL;
	over = handle->dead || handle->ops->destroy(handle);
	up_read(&tdev->op_sem);
	if (over)
		handle->ops->free(handle);
	put_device(&tdev->dev);
	simple_release_fs(&tofu_mount, &tofu_mount_count);
	return 0;
}

/* ---- Creation ---- */

static int tofu_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, TOFU_FS_MAGIC) ? 0 : -ENOMEM;
}

/* Mounted while there are handles: the mount keeps the module loaded. */
static struct file_system_type tofu_fs = {
	.name = TOFU_NAME,
	.owner = THIS_MODULE,
	.init_fs_context = tofu_fs_init_context,
	.kill_sb = kill_anon_super,
};

static struct file *tofu_file_create(struct tofu_handle *handle)
{
	struct inode *inode;
	struct file *file;
	int ret;

	ret = simple_pin_fs(&tofu_fs, &tofu_mount, &tofu_mount_count);
	if (ret)
		return ERR_PTR(ret);
	inode = alloc_anon_inode(tofu_mount->mnt_sb);
	if (IS_ERR(inode)) {
		file = ERR_CAST(inode);
		goto err_release_fs;
	}
	/* The file's release drops it; the device's file holds another. */
	__module_get(THIS_MODULE);
	file = alloc_file_pseudo(inode, tofu_mount, handle->ops->name, O_RDWR,
				 handle->ops->fops);
	if (IS_ERR(file))
		goto err_iput;
	file->private_data = handle;
	handle->inode = inode;
	return file;

err_iput:
	module_put(THIS_MODULE);
	iput(inode);
err_release_fs:
	simple_release_fs(&tofu_mount, &tofu_mount_count);
	return file;
}

struct file *tofu_handle_file(struct tofu_handle *handle)
{
	struct file *file = tofu_file_create(handle);

	/* Nothing was mapped or registered. */
	if (IS_ERR(file) && handle->ops->destroy(handle))
		handle->ops->free(handle);
	return file;
}

int tofu_handle_install(struct file *file, struct tofu_ucmd *ucmd, s32 *fd)
{
	int ret;

	*fd = get_unused_fd_flags(O_CLOEXEC);
	if (*fd < 0) {
		ret = *fd;
		goto err_fput;
	}
	ret = tofu_ucmd_respond(ucmd);
	if (ret)
		goto err_put_fd;
	fd_install(*fd, file);
	return 0;

err_put_fd:
	put_unused_fd(*fd);
err_fput:
	fput(file);
	return ret;
}
