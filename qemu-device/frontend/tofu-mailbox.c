/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mailbox: a channel to the host that takes no virtual time
 *
 * The processor waits inside its access, without the BQL, so that the rest of
 * QEMU continues. Meanwhile the guard against re-entrance keeps other
 * processors out.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/core/cpu.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "tofu-access.h"
#include "tofu-mailbox.h"
#include "trace.h"

#include <poll.h>

/* Longest time until a waiting processor sees that it has to stop */
#define TOFU_MAILBOX_LOOK_MS 20

static char *tofu_mailbox_window(TofuMailboxState *s, hwaddr offset)
{
    return (char *)memory_region_get_ram_ptr(&s->windows) + offset;
}

static void tofu_mailbox_gone(TofuMailboxState *s, const char *why)
{
    trace_tofu_mailbox_gone(why);
    shutdown(s->fd, SHUT_RDWR);
    s->gone = true;
}

/*
 * Waits until the socket can be read or written. Only the end of the machine's
 * run interrupts it: anything else would come at times of the host. A device that
 * writes here does not wait: it relies on the BQL.
 */
static bool tofu_mailbox_wait(TofuMailboxState *s, short events,
                              MemTxAttrs attrs)
{
    struct pollfd pollfd = { .fd = s->fd, .events = events };
    int ret = 0;

    if (!tofu_access_by_cpu(attrs)) {
        return false;
    }
    bql_unlock();
    while (ret <= 0 && !qatomic_read(&current_cpu->stop)) {
        ret = poll(&pollfd, 1, TOFU_MAILBOX_LOOK_MS);
        if (ret < 0 && errno != EINTR) {
            break;
        }
    }
    bql_lock();
    return ret != 0;
}

/*
 * Evaluates @ret of recv() or send(). True: it has advanced @done, or should be
 * tried again; false: the access returns @result.
 */
static bool tofu_mailbox_moved(TofuMailboxState *s, ssize_t ret, short events,
                               MemTxAttrs attrs, size_t *done,
                               uint64_t *result)
{
    if (ret > 0) {
        *done += ret;
        return true;
    }
    if (ret < 0 && errno == EINTR) {
        return true;
    }
    if (ret < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        *result = TOFU_MAILBOX_AGAIN;
        return tofu_mailbox_wait(s, events, attrs);
    }
    tofu_mailbox_gone(s, ret ? strerror(errno) : "closed");
    *result = TOFU_MAILBOX_GONE;
    return false;
}

/* The place for a frame's next bytes, and the number of bytes wanted */
static size_t tofu_mailbox_want(TofuMailboxState *s, char **at)
{
    size_t header = sizeof(s->frame);

    if (s->received < header) {
        *at = (char *)&s->frame + s->received;
        return header - s->received;
    }
    *at = tofu_mailbox_window(s, TOFU_MAILBOX_RECEIVE_WINDOW) + s->received;
    return header + le32_to_cpu(s->frame.length) - s->received;
}

static uint64_t tofu_mailbox_frame_done(TofuMailboxState *s)
{
    uint64_t bytes = s->received;

    memcpy(tofu_mailbox_window(s, TOFU_MAILBOX_RECEIVE_WINDOW), &s->frame,
           sizeof(s->frame));
    memory_region_set_dirty(&s->windows, TOFU_MAILBOX_RECEIVE_WINDOW, bytes);
    s->received = 0;
    trace_tofu_mailbox_receive(bytes);
    return bytes;
}

static uint64_t tofu_mailbox_receive(TofuMailboxState *s, MemTxAttrs attrs)
{
    uint64_t result;
    size_t want;
    ssize_t ret;
    char *at;

    while (!s->gone) {
        want = tofu_mailbox_want(s, &at);
        if (!want) {
            return tofu_mailbox_frame_done(s);
        }
        ret = recv(s->fd, at, want, MSG_DONTWAIT);
        if (!tofu_mailbox_moved(s, ret, POLLIN, attrs, &s->received,
                                &result)) {
            return result;
        }
        if (s->received >= sizeof(s->frame) &&
            le32_to_cpu(s->frame.length) > TOFU_MAILBOX_PAYLOAD_MAX) {
            tofu_mailbox_gone(s, "frame too long");
        }
    }
    return TOFU_MAILBOX_GONE;
}

static uint64_t tofu_mailbox_flush(TofuMailboxState *s, MemTxAttrs attrs)
{
    const char *window = tofu_mailbox_window(s, TOFU_MAILBOX_SEND_WINDOW);
    uint64_t result;
    ssize_t ret;

    while (!s->gone && s->sent < s->to_send) {
        ret = send(s->fd, window + s->sent, s->to_send - s->sent,
                   MSG_DONTWAIT | MSG_NOSIGNAL);
        if (!tofu_mailbox_moved(s, ret, POLLOUT, attrs, &s->sent, &result)) {
            return result;
        }
    }
    return s->gone ? TOFU_MAILBOX_GONE : 0;
}

static void tofu_mailbox_send(TofuMailboxState *s, uint64_t bytes,
                              MemTxAttrs attrs)
{
    if (bytes > TOFU_MAILBOX_WINDOW_SIZE || s->sent < s->to_send) {
        qemu_log_mask(LOG_GUEST_ERROR, TYPE_TOFU_MAILBOX ": cannot send %"
                      PRIu64 " bytes now\n", bytes);
        return;
    }
    trace_tofu_mailbox_send(bytes);
    s->to_send = bytes;
    s->sent = 0;
    tofu_mailbox_flush(s, attrs);
}

/*
 * A machine that was saved while it waited here goes on behind the access, as
 * one does for which the host's first byte comes: both take the same
 * instructions.
 */
static uint64_t tofu_mailbox_ready(TofuMailboxState *s, MemTxAttrs attrs)
{
    if (!s->gone && !s->received) {
        tofu_mailbox_wait(s, POLLIN, attrs);
    }
    return 0;
}

/* ---- The device ---- */

static MemTxResult tofu_mailbox_read(void *opaque, hwaddr addr, uint64_t *value,
                                     unsigned int size, MemTxAttrs attrs)
{
    TofuMailboxState *s = opaque;

    switch (addr) {
    case TOFU_MAILBOX_ID:
        *value = TOFU_SET(TOFU_MAILBOX_ID_MAGIC, TOFU_MAILBOX_ID_MAGIC) |
                 TOFU_SET(TOFU_MAILBOX_ID_VERSION, TOFU_MAILBOX_ID_VERSION);
        break;
    case TOFU_MAILBOX_RECEIVE:
        *value = tofu_mailbox_receive(s, attrs);
        break;
    case TOFU_MAILBOX_SEND:
        *value = tofu_mailbox_flush(s, attrs);
        break;
    case TOFU_MAILBOX_READY:
        *value = tofu_mailbox_ready(s, attrs);
        break;
    default:
        *value = UINT64_MAX;
        break;
    }
    return MEMTX_OK;
}

static MemTxResult tofu_mailbox_write(void *opaque, hwaddr addr, uint64_t value,
                                      unsigned int size, MemTxAttrs attrs)
{
    if (addr == TOFU_MAILBOX_SEND) {
        tofu_mailbox_send(opaque, value, attrs);
    }
    return MEMTX_OK;
}

static const MemoryRegionOps tofu_mailbox_ops = {
    .read_with_attrs = tofu_mailbox_read,
    .write_with_attrs = tofu_mailbox_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 8, .max_access_size = 8 },
    .impl = { .min_access_size = 8, .max_access_size = 8 },
};

static bool tofu_mailbox_check_fd(TofuMailboxState *s, Error **errp)
{
    socklen_t len = sizeof(int);
    int type = 0;

    if (s->fd < 0 ||
        getsockopt(s->fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        type != SOCK_STREAM) {
        error_setg(errp, "property 'fd' is %" PRId32 ": give the number of a "
                   "stream socket that QEMU inherits", s->fd);
        return false;
    }
    return true;
}

static void tofu_mailbox_realize(PCIDevice *pci, Error **errp)
{
    TofuMailboxState *s = TOFU_MAILBOX(pci);
    Error *err = NULL;

    if (!tofu_mailbox_check_fd(s, errp)) {
        return;
    }
    memory_region_init_ram(&s->windows, OBJECT(s), "tofu-mailbox-windows",
                           TOFU_MAILBOX_BAR_WINDOWS_SIZE, &err);
    if (err) {
        error_propagate(errp, err);
        return;
    }
    memory_region_init_io(&s->regs, OBJECT(s), &tofu_mailbox_ops, s,
                          "tofu-mailbox-regs", TOFU_MAILBOX_BAR_REGS_SIZE);
    pci_register_bar(pci, TOFU_MAILBOX_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->regs);
    pci_register_bar(pci, TOFU_MAILBOX_BAR_WINDOWS,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->windows);
}

static const Property tofu_mailbox_properties[] = {
    DEFINE_PROP_INT32("fd", TofuMailboxState, fd, -1),
};

/*
 * A machine goes on with another socket than it was saved with, so no frame may
 * be under way.
 */
static int tofu_mailbox_pre_save(void *opaque)
{
    TofuMailboxState *s = opaque;

    if (!s->gone && !s->received && s->sent == s->to_send) {
        return 0;
    }
    error_report(TYPE_TOFU_MAILBOX ": cannot be saved: %s",
                 s->gone ? "the host has closed its end" :
                           "a frame is under way");
    return -EBUSY;
}

static const VMStateDescription tofu_mailbox_vmstate = {
    .name = TYPE_TOFU_MAILBOX,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = tofu_mailbox_pre_save,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, TofuMailboxState),
        VMSTATE_END_OF_LIST()
    },
};

static void tofu_mailbox_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = tofu_mailbox_realize;
    pc->vendor_id = TOFU_MAILBOX_VENDOR_ID;
    pc->device_id = TOFU_MAILBOX_DEVICE_ID;
    pc->revision = TOFU_MAILBOX_REVISION;
    pc->class_id = TOFU_MAILBOX_CLASS;
    dc->desc = "Mailbox: a channel to the host that takes no virtual time";
    dc->vmsd = &tofu_mailbox_vmstate;
    /* A processor may be waiting in it. */
    dc->hotpluggable = false;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, tofu_mailbox_properties);
    object_class_property_set_description(klass, "fd",
        "a stream socket to the host's program");
}

static const TypeInfo tofu_mailbox_type = {
    .name = TYPE_TOFU_MAILBOX,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(TofuMailboxState),
    .class_init = tofu_mailbox_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { },
    },
};

static void tofu_mailbox_register_types(void)
{
    type_register_static(&tofu_mailbox_type);
}

type_init(tofu_mailbox_register_types)
