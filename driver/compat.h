/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that the driver builds for: 6.1 to 6.12.
 */
#ifndef TOFU_COMPAT_H
#define TOFU_COMPAT_H

#include <linux/device/class.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define tofu_class_create(name) class_create(THIS_MODULE, name)
#else
#define tofu_class_create(name) class_create(name)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define TOFU_DEVNODE_CONST
/*
 * These kernels do not break copy-on-write for a long-term read pin by
 * themselves. Unbroken, the owner's next write would go to another page than
 * the pinned one.
 */
#define TOFU_PIN_READ (FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE)
#else
#define TOFU_DEVNODE_CONST const
#define TOFU_PIN_READ FOLL_LONGTERM
#endif
#define TOFU_PIN_WRITE (FOLL_LONGTERM | FOLL_WRITE)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void tofu_vm_flags_mod(struct vm_area_struct *vma,
				     vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#else
#define tofu_vm_flags_mod(vma, set, clear) vm_flags_mod(vma, set, clear)
#endif

#endif /* TOFU_COMPAT_H */
