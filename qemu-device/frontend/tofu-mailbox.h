/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mailbox: a channel to the host that takes no virtual time
 *
 * Documentation/spec/mailbox.rst is the specification.
 */
#ifndef HW_TOFU_TOFU_MAILBOX_H
#define HW_TOFU_TOFU_MAILBOX_H

#include "compat.h"
#include <tofu/mailbox.h>

#define TYPE_TOFU_MAILBOX "tofu-mailbox"
OBJECT_DECLARE_SIMPLE_TYPE(TofuMailboxState, TOFU_MAILBOX)

/*
 * TofuMailboxState:
 * @fd: property: a stream socket that QEMU has inherited
 * @gone: the host has closed its end, or broken the protocol
 * @frame: header of the frame that is being received
 * @received: bytes received so far of the frame's header and payload
 * @to_send, @sent: bytes of the send window
 *
 * Owned by the processor that is in an access; there is one at a time.
 */
struct TofuMailboxState {
    PCIDevice parent_obj;

    int32_t fd;

    MemoryRegion regs;
    MemoryRegion windows;
    bool gone;
    struct tofu_mailbox_frame frame;
    size_t received;
    size_t to_send;
    size_t sent;
};

#endif /* HW_TOFU_TOFU_MAILBOX_H */
