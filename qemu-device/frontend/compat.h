/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between the QEMUs that the device builds with: 7.2 and 10.0
 *
 * The device is written for the newer one. This file defines the newer names
 * and signatures for the older one; no other file checks the version.
 */
#ifndef HW_TOFU_COMPAT_H
#define HW_TOFU_COMPAT_H

#include "block/aio-wait.h"
#include "hw/qdev-properties.h"
#include "migration/blocker.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"

#if QEMU_VERSION_MAJOR >= 10

#include "hw/pci/pci_device.h"
#include "system/cpu-timers.h"
#include "system/cpus.h"
#include "system/hostmem.h"
#include "system/iothread.h"
#include "system/replay.h"
#include "system/tcg.h"

/* For tofu-ahead.c, which is compiled for one kind of processor */
#ifdef TOFU_PER_TARGET
#include "accel/tcg/tcg-accel-ops.h"
#include "system/cpu-timers-internal.h"

#define tofu_icount_decr(cpu) (&(cpu)->neg.icount_decr)
#endif

#else

#include "hw/pci/pci.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/cpus.h"
#include "sysemu/hostmem.h"
#include "sysemu/iothread.h"
#include "sysemu/replay.h"
#include "sysemu/tcg.h"

#ifdef TOFU_PER_TARGET
#include "accel/tcg/tcg-accel-ops.h"
#include "softmmu/timers-state.h"

#define tcg_cpu_exec tcg_cpus_exec
#define cpu_env(cpu) ((CPUArchState *)(cpu)->env_ptr)
#define tofu_icount_decr(cpu) (&cpu_neg(cpu)->icount_decr)

/* There, the end is the first that is spared. */
static inline void tofu_tb_invalidate(ram_addr_t start, ram_addr_t last)
{
    tb_invalidate_phys_range(start, last + 1);
}
#define tb_invalidate_phys_range tofu_tb_invalidate
#endif

#define bql_lock()   qemu_mutex_lock_iothread()
#define bql_unlock() qemu_mutex_unlock_iothread()
#define bql_locked() qemu_mutex_iothread_locked()

/* There, a context has a lock, which is released while waiting for it. */
static inline void tofu_aio_wait_bh_oneshot(AioContext *ctx, QEMUBHFunc *bh,
                                            void *opaque)
{
    aio_context_acquire(ctx);
    aio_wait_bh_oneshot(ctx, bh, opaque);
    aio_context_release(ctx);
}
#define aio_wait_bh_oneshot tofu_aio_wait_bh_oneshot

/* There, only handlers marked as external stop, for block devices. */
#define aio_set_event_notifier(ctx, notifier, read, poll, ready) \
    (aio_set_event_notifier)(ctx, notifier, false, read, poll, ready)

/* There, a nameless property ends the list; the class keeps it for ever. */
static inline Property *tofu_properties(const Property *from, size_t count)
{
    Property *to = g_new0(Property, count + 1);

    memcpy(to, from, count * sizeof(*from));
    return to;
}
#define device_class_set_props(dc, properties) \
    (device_class_set_props)(dc, tofu_properties(properties, \
                                                 ARRAY_SIZE(properties)))

static inline void device_class_set_legacy_reset(DeviceClass *dc,
                                                 DeviceReset reset)
{
    dc->reset = reset;
}

/* There, the caller keeps ownership of the reason. */
static inline int tofu_migrate_add_blocker(Error **reason, Error **errp)
{
    int ret = migrate_add_blocker(*reason, errp);

    if (ret < 0) {
        error_free(*reason);
        *reason = NULL;
    }
    return ret;
}
#define migrate_add_blocker tofu_migrate_add_blocker

static inline void tofu_migrate_del_blocker(Error **reason)
{
    migrate_del_blocker(*reason);
    error_free(*reason);
    *reason = NULL;
}
#define migrate_del_blocker tofu_migrate_del_blocker

#endif

#endif /* HW_TOFU_COMPAT_H */
