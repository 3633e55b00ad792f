/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * The mailbox: a second PCI device, through which a machine in virtual time
 * talks to its host. Waiting for the host takes no virtual time: a read that
 * waits completes when there is something to return.
 *
 * Shared by the device and the programs of the guest.
 * Documentation/spec/mailbox.rst is the specification.
 */
#ifndef TOFU_UAPI_MAILBOX_H
#define TOFU_UAPI_MAILBOX_H

#include <tofu/base.h>

/* As TOFU_PCI_VENDOR_ID; the number is not registered with anybody. */
#define TOFU_MAILBOX_VENDOR_ID 0x1b36
#define TOFU_MAILBOX_DEVICE_ID 0x00f1
#define TOFU_MAILBOX_REVISION 1
#define TOFU_MAILBOX_CLASS 0x0780 /* communication controller, other */

#define TOFU_MAILBOX_BAR_REGS 0
#define TOFU_MAILBOX_BAR_REGS_SIZE 0x1000
#define TOFU_MAILBOX_BAR_WINDOWS 2 /* memory, 64-bit, prefetchable */
#define TOFU_MAILBOX_BAR_WINDOWS_SIZE 0x100000

/* ---- Registers, in TOFU_MAILBOX_BAR_REGS: aligned 8-byte accesses ---- */

#define TOFU_MAILBOX_ID 0x00
#define TOFU_MAILBOX_ID_MAGIC_SHIFT 0
#define TOFU_MAILBOX_ID_MAGIC_BITS 32
#define TOFU_MAILBOX_ID_MAGIC 0x4c49414d /* "MAIL" in memory order */
#define TOFU_MAILBOX_ID_VERSION_SHIFT 32
#define TOFU_MAILBOX_ID_VERSION_BITS 16
#define TOFU_MAILBOX_ID_VERSION 2

/*
 * Read: waits until a frame from the host is in the receive window; returns its
 * bytes, header included. The frame stays there until the next read.
 */
#define TOFU_MAILBOX_RECEIVE 0x08

/*
 * Write n: sends the first n bytes of the send window, which must not change
 * until the next read; ignored if n exceeds the window's size. Read: waits
 * until they have been sent; returns 0.
 */
#define TOFU_MAILBOX_SEND 0x10

/*
 * Read: waits until the host has sent something, or is gone, or the machine is
 * halted, which may be for saving it; returns 0.
 */
#define TOFU_MAILBOX_READY 0x18

/* Other results of reading RECEIVE and SEND: */
#define TOFU_MAILBOX_AGAIN (~0ULL - 1) /* interrupted: read again */
#define TOFU_MAILBOX_GONE (~0ULL) /* the host is gone, for good */

/* ---- Windows, in TOFU_MAILBOX_BAR_WINDOWS ---- */

#define TOFU_MAILBOX_RECEIVE_WINDOW 0x00000
#define TOFU_MAILBOX_SEND_WINDOW 0x80000
#define TOFU_MAILBOX_WINDOW_SIZE 0x80000

/* A frame is a header and its payload, which the device does not interpret. */
#define TOFU_MAILBOX_PAYLOAD_MAX 0x40000

/**
 * struct tofu_mailbox_frame - header of a frame
 * @length: bytes of payload that follow, at most TOFU_MAILBOX_PAYLOAD_MAX
 * @type, @job: for the two ends to use
 */
struct tofu_mailbox_frame {
	__le32 length;
	__le16 type;
	__le16 job;
};
TOFU_ASSERT_SIZE(struct tofu_mailbox_frame, 8);

#endif /* TOFU_UAPI_MAILBOX_H */
