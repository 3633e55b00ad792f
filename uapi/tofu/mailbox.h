/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * The mailbox: a second PCI device, through which a machine in virtual time
 * talks to its host. Waiting for the host takes no virtual time: the access
 * that waits does not end before there is something.
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
#define TOFU_MAILBOX_ID_VERSION 1

/*
 * Read: waits until a frame of the host stands in the receive window; its
 * bytes, header included. It stands there until the next read.
 */
#define TOFU_MAILBOX_RECEIVE 0x08

/*
 * Write n: sends the first n bytes of the send window, which must be left
 * alone until the next read; more than the window's size: ignored. Read: waits
 * until they have been sent; then 0.
 */
#define TOFU_MAILBOX_SEND 0x10

/* Reads of RECEIVE and SEND that have no such answer: */
#define TOFU_MAILBOX_AGAIN (~0ULL - 1) /* interrupted: read once more */
#define TOFU_MAILBOX_GONE (~0ULL) /* the host is gone, for good */

/* ---- Windows, in TOFU_MAILBOX_BAR_WINDOWS ---- */

#define TOFU_MAILBOX_RECEIVE_WINDOW 0x00000
#define TOFU_MAILBOX_SEND_WINDOW 0x80000
#define TOFU_MAILBOX_WINDOW_SIZE 0x80000

/* A frame is a header and its payload; the device gives no other sense to it. */
#define TOFU_MAILBOX_PAYLOAD_MAX 0x40000

/**
 * struct tofu_mailbox_frame - header of a frame
 * @length: bytes of payload that follow, at most TOFU_MAILBOX_PAYLOAD_MAX
 * @type, @job: of the two ends
 */
struct tofu_mailbox_frame {
	__le32 length;
	__le16 type;
	__le16 job;
};
TOFU_ASSERT_SIZE(struct tofu_mailbox_frame, 8);

#endif /* TOFU_UAPI_MAILBOX_H */
