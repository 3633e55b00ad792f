/* SPDX-License-Identifier: MIT */
/*
 * The mailbox: frames to and from the host. There is no processor here that
 * could wait, so an access that would have to wait returns AGAIN.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "../libqos/pci-pc.h"
#include <tofu/mailbox.h>
#include "tofu-vm.h"

#define FRAME_MAX (sizeof(struct tofu_mailbox_frame) + TOFU_MAILBOX_PAYLOAD_MAX)

/**
 * struct mailbox - a QEMU with the device
 * @host: the host's end of the socket, or -1
 */
struct mailbox {
	QTestState *qts;
	QPCIBus *bus;
	QPCIDevice *dev;
	QPCIBar regs;
	QPCIBar windows;
	uint64_t windows_size;
	int host;
};

static char *mailbox_args(int fd)
{
	return g_strdup_printf("-nodefaults -machine pc -bios %s -m 64M "
			       "-device tofu-mailbox,addr=%d,fd=%d",
			       tofu_vm_firmware(), TOFU_SLOT, fd);
}

static struct mailbox mailbox_start(void)
{
	g_autofree char *args = NULL;
	struct mailbox box;
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
	g_assert_cmpint(fcntl(fds[0], F_SETFD, FD_CLOEXEC), ==, 0);
	args = mailbox_args(fds[1]);
	box.qts = qtest_init(args);
	close(fds[1]);
	box.host = fds[0];
	box.bus = qpci_new_pc(box.qts, NULL);
	box.dev = qpci_device_find(box.bus, QPCI_DEVFN(TOFU_SLOT, 0));
	g_assert_nonnull(box.dev);
	box.regs = qpci_iomap(box.dev, TOFU_MAILBOX_BAR_REGS, NULL);
	box.windows = qpci_iomap(box.dev, TOFU_MAILBOX_BAR_WINDOWS,
				 &box.windows_size);
	qpci_device_enable(box.dev);
	return box;
}

static void mailbox_hang_up(struct mailbox *box)
{
	close(box->host);
	box->host = -1;
}

static void mailbox_stop(struct mailbox *box)
{
	qtest_quit(box->qts);
	g_free(box->dev);
	qpci_free_pc(box->bus);
	if (box->host >= 0)
		mailbox_hang_up(box);
}

static uint64_t mailbox_reg(struct mailbox *box, uint64_t offset)
{
	return qpci_io_readq(box->dev, box->regs, offset);
}

static void mailbox_say(struct mailbox *box, const void *bytes, size_t len)
{
	g_assert_cmpint(send(box->host, bytes, len, MSG_NOSIGNAL), ==, len);
}

/* A frame with a payload of that length: 0, 1, 2 … */
static size_t frame_make(unsigned char *frame, uint32_t length)
{
	struct tofu_mailbox_frame header = { .length = cpu_to_le32(length),
					     .type = cpu_to_le16(7) };
	uint32_t i;

	memcpy(frame, &header, sizeof(header));
	for (i = 0; i < length; i++)
		frame[sizeof(header) + i] = i;
	return sizeof(header) + length;
}

static void test_identity(void)
{
	struct mailbox box = mailbox_start();
	uint64_t id = mailbox_reg(&box, TOFU_MAILBOX_ID);

	g_assert_cmphex(qpci_config_readw(box.dev, PCI_VENDOR_ID), ==,
			TOFU_MAILBOX_VENDOR_ID);
	g_assert_cmphex(qpci_config_readw(box.dev, PCI_DEVICE_ID), ==,
			TOFU_MAILBOX_DEVICE_ID);
	g_assert_cmphex(qpci_config_readw(box.dev, PCI_CLASS_DEVICE), ==,
			TOFU_MAILBOX_CLASS);
	g_assert_cmphex(box.windows_size, ==, TOFU_MAILBOX_BAR_WINDOWS_SIZE);
	g_assert_cmphex(TOFU_GET(id, TOFU_MAILBOX_ID_MAGIC), ==,
			TOFU_MAILBOX_ID_MAGIC);
	g_assert_cmpuint(TOFU_GET(id, TOFU_MAILBOX_ID_VERSION), ==,
			 TOFU_MAILBOX_ID_VERSION);
	g_assert_cmphex(mailbox_reg(&box, 0x18), ==, UINT64_MAX);
	mailbox_stop(&box);
}

static void check_received(struct mailbox *box, const unsigned char *frame,
			   size_t len)
{
	g_autofree unsigned char *got = g_malloc(len);

	g_assert_cmpuint(mailbox_reg(box, TOFU_MAILBOX_RECEIVE), ==, len);
	qpci_memread(box->dev, box->windows, TOFU_MAILBOX_RECEIVE_WINDOW, got,
		     len);
	g_assert_cmpmem(got, len, frame, len);
}

static void test_receive(void)
{
	struct mailbox box = mailbox_start();
	unsigned char frame[64];
	size_t len = frame_make(frame, 20);

	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_AGAIN);
	mailbox_say(&box, frame, len);
	mailbox_say(&box, frame, len);
	check_received(&box, frame, len);
	check_received(&box, frame, len);
	len = frame_make(frame, 0);
	mailbox_say(&box, frame, len);
	check_received(&box, frame, len);
	mailbox_stop(&box);
}

/* Pieces of a header and of a payload; old bytes are not taken for a length. */
static void test_pieces(void)
{
	struct mailbox box = mailbox_start();
	g_autofree unsigned char *frame = g_malloc(FRAME_MAX);
	size_t len = frame_make(frame, 0x40000);
	size_t at, piece = 1;

	for (at = 0; at < len; at += piece, piece = MIN(2 * piece, 0x4000)) {
		piece = MIN(piece, len - at);
		g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
				TOFU_MAILBOX_AGAIN);
		mailbox_say(&box, frame + at, piece);
	}
	check_received(&box, frame, len);
	len = frame_make(frame, 0x1ffff);
	mailbox_say(&box, frame, 2);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_AGAIN);
	mailbox_stop(&box);
}

static void check_gone(struct mailbox *box)
{
	g_assert_cmphex(mailbox_reg(box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_GONE);
	g_assert_cmphex(mailbox_reg(box, TOFU_MAILBOX_SEND), ==,
			TOFU_MAILBOX_GONE);
}

static void test_too_long(void)
{
	struct mailbox box = mailbox_start();
	const struct tofu_mailbox_frame header = {
		.length = cpu_to_le32(TOFU_MAILBOX_PAYLOAD_MAX + 1),
	};

	mailbox_say(&box, &header, sizeof(header));
	check_gone(&box);
	check_gone(&box);
	mailbox_stop(&box);
}

static void test_hang_up(void)
{
	struct mailbox box = mailbox_start();
	unsigned char frame[64];
	size_t len = frame_make(frame, 3);

	mailbox_say(&box, frame, len);
	mailbox_hang_up(&box);
	check_received(&box, frame, len);
	check_gone(&box);
	qpci_io_writeq(box.dev, box.regs, TOFU_MAILBOX_SEND, 8);
	check_gone(&box);
	mailbox_stop(&box);
}

static void test_send(void)
{
	struct mailbox box = mailbox_start();
	unsigned char frame[64], got[64];
	size_t len = frame_make(frame, 20);

	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_SEND), ==, 0);
	qpci_memwrite(box.dev, box.windows, TOFU_MAILBOX_SEND_WINDOW, frame,
		      len);
	qpci_io_writeq(box.dev, box.regs, TOFU_MAILBOX_SEND,
		       TOFU_MAILBOX_WINDOW_SIZE + 1);
	qpci_io_writeq(box.dev, box.regs, TOFU_MAILBOX_SEND, len);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_SEND), ==, 0);
	g_assert_cmpint(recv(box.host, got, sizeof(got), 0), ==, len);
	g_assert_cmpmem(got, len, frame, len);
	mailbox_stop(&box);
}

/* The host is slow: nothing is lost, and nothing else begins. */
static void test_send_waits(void)
{
	const size_t len = TOFU_MAILBOX_WINDOW_SIZE;
	g_autofree unsigned char *sent = g_malloc(len);
	g_autofree unsigned char *got = g_malloc(len);
	struct mailbox box = mailbox_start();
	size_t at = 0;

	frame_make(sent, len - sizeof(struct tofu_mailbox_frame));
	qpci_memwrite(box.dev, box.windows, TOFU_MAILBOX_SEND_WINDOW, sent,
		      len);
	qpci_io_writeq(box.dev, box.regs, TOFU_MAILBOX_SEND, len);
	while (mailbox_reg(&box, TOFU_MAILBOX_SEND) == TOFU_MAILBOX_AGAIN) {
		ssize_t ret;

		qpci_io_writeq(box.dev, box.regs, TOFU_MAILBOX_SEND, 8);
		ret = recv(box.host, got + at, len - at, 0);
		g_assert_cmpint(ret, >, 0);
		at += ret;
	}
	g_assert_cmpint(at, >, 0);
	g_assert_cmpint(recv(box.host, got + at, len - at, MSG_WAITALL), ==,
			len - at);
	g_assert_cmpmem(got, len, sent, len);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_SEND), ==, 0);
	mailbox_stop(&box);
}

static void test_wrong_fd(void)
{
	static const int wrong[] = { -1, 0, 999 };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *args = mailbox_args(wrong[i]);
		g_autofree char *line = g_strdup_printf(
			"%s -accel qtest -display none %s",
			g_getenv("QTEST_QEMU_BINARY"), args);
		g_autofree char *err = NULL;
		int status;

		g_assert_true(g_spawn_command_line_sync(line, NULL, &err,
							&status, NULL));
		g_assert_true(WIFEXITED(status));
		g_assert_cmpint(WEXITSTATUS(status), ==, 1);
		g_assert_nonnull(strstr(err, "stream socket"));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	qtest_add_func("tofu/mailbox/identity", test_identity);
	qtest_add_func("tofu/mailbox/receive", test_receive);
	qtest_add_func("tofu/mailbox/pieces", test_pieces);
	qtest_add_func("tofu/mailbox/too-long", test_too_long);
	qtest_add_func("tofu/mailbox/hang-up", test_hang_up);
	qtest_add_func("tofu/mailbox/send", test_send);
	qtest_add_func("tofu/mailbox/send-waits", test_send_waits);
	qtest_add_func("tofu/mailbox/wrong-fd", test_wrong_fd);
	return g_test_run();
}
