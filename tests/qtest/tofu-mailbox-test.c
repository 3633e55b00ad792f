/* SPDX-License-Identifier: MIT */
/*
 * The mailbox: frames to and from the host. But for the last test there is no
 * processor here that could wait, so an access that would have to wait returns
 * AGAIN.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
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

static char *mailbox_args(int fd, const char *firmware, const char *more)
{
	return g_strdup_printf("-nodefaults -machine pc -bios %s -m 64M "
			       "-device tofu-mailbox,addr=%d,fd=%d %s",
			       firmware, TOFU_SLOT, fd, more);
}

/* @more: further arguments of QEMU */
static struct mailbox mailbox_start_with(const char *firmware, const char *more)
{
	g_autofree char *args = NULL;
	struct mailbox box;
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
	g_assert_cmpint(fcntl(fds[0], F_SETFD, FD_CLOEXEC), ==, 0);
	args = mailbox_args(fds[1], firmware, more);
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

static struct mailbox mailbox_start(void)
{
	return mailbox_start_with(tofu_vm_firmware(), "");
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
	g_assert_cmphex(mailbox_reg(&box, 0x20), ==, UINT64_MAX);
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

/* It waits for processors only, and takes nothing. */
static void test_ready(void)
{
	struct mailbox box = mailbox_start();
	unsigned char frame[64];
	size_t len = frame_make(frame, 20);

	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_READY), ==, 0);
	mailbox_say(&box, frame, len);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_READY), ==, 0);
	check_received(&box, frame, len);
	mailbox_hang_up(&box);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_READY), ==, 0);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_GONE);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_READY), ==, 0);
	mailbox_stop(&box);
}

#define SAVE_LOOKS 3000
#define SAVE_LOOK_US 10000

/* Whether the machine can be saved now; it goes on in any case. */
static bool can_be_saved(struct mailbox *box)
{
	const char *status = "";

	qtest_qmp_assert_success(box->qts,
				 "{'execute': 'migrate', 'arguments':"
				 " {'uri': 'exec:cat >/dev/null'}}");
	for (int look = 0; look < SAVE_LOOKS; look++) {
		g_autoptr(QDict) reply = qtest_qmp(
			box->qts, "{'execute': 'query-migrate'}");

		status = qdict_get_try_str(qdict_get_qdict(reply, "return"),
					   "status");
		if (g_strcmp0(status, "failed") == 0)
			return false;
		if (g_strcmp0(status, "completed") == 0) {
			qtest_qmp_assert_success(box->qts,
						 "{'execute': 'cont'}");
			return true;
		}
		g_usleep(SAVE_LOOK_US);
	}
	g_assert_not_reached();
}

static void test_saved(void)
{
	struct mailbox box = mailbox_start();
	unsigned char frame[64];
	size_t len = frame_make(frame, 20);

	g_assert_true(can_be_saved(&box));
	mailbox_say(&box, frame, len - 1);
	/* The socket keeps what nobody has asked for. */
	g_assert_true(can_be_saved(&box));
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_AGAIN);
	g_assert_false(can_be_saved(&box));
	mailbox_say(&box, frame + len - 1, 1);
	check_received(&box, frame, len);
	g_assert_true(can_be_saved(&box));
	mailbox_hang_up(&box);
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_GONE);
	g_assert_false(can_be_saved(&box));
	mailbox_stop(&box);
}

static void test_wrong_fd(void)
{
	static const int wrong[] = { -1, 0, 999 };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *args = mailbox_args(wrong[i],
						      tofu_vm_firmware(), "");
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

/* ---- A processor, and a device that it makes read the mailbox ---- */

#define RNG_SLOT 5
#define RNG                                                                   \
	"-device virtio-rng-pci,addr=" G_STRINGIFY(RNG_SLOT)                   \
	",ioeventfd=off,disable-modern=on,disable-legacy=off"

/* Words where the processor finds what to do; the port is 0 when it is done. */
#define CPU_PORT 0x1000
#define CPU_VALUE 0x1004

/* The device's queue, in the layout of virtio 0.9: the ring follows the entries */
#define QUEUE_AT 0x2000

#define FIRMWARE_SIZE 0x10000
#define FIRMWARE_CODE 0xff00
#define FIRMWARE_RESET 0xfff0

/* Real mode, in which segment 0 is the data segment after a reset */
static const unsigned char firmware_code[] = {
	0xa1, 0x00, 0x10,		    /* wait: mov ax, [CPU_PORT] */
	0x85, 0xc0,			    /* test ax, ax */
	0x74, 0xf9,			    /* jz wait */
	0x89, 0xc2,			    /* mov dx, ax */
	0xa1, 0x04, 0x10,		    /* mov ax, [CPU_VALUE] */
	0xef,				    /* out dx, ax */
	0xc7, 0x06, 0x00, 0x10, 0x00, 0x00, /* mov word [CPU_PORT], 0 */
	0xeb, 0xeb,			    /* jmp wait */
};

/* jmp FIRMWARE_CODE */
static const unsigned char firmware_reset[] = { 0xe9, 0x0d, 0xff };

/* Path of a firmware that writes to ports, to be removed and freed */
static char *firmware_with_code(void)
{
	g_autofree char *image = g_malloc0(FIRMWARE_SIZE);
	char *path;
	int fd = g_file_open_tmp("tofu-qtest-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	memcpy(image + FIRMWARE_CODE, firmware_code, sizeof(firmware_code));
	memcpy(image + FIRMWARE_RESET, firmware_reset, sizeof(firmware_reset));
	g_assert_cmpint(write(fd, image, FIRMWARE_SIZE), ==, FIRMWARE_SIZE);
	close(fd);
	return path;
}

/*
 * A virtio device whose next request is described at @table, in a table of one
 * entry; it reads that as soon as it is notified. Return: the port for that.
 */
static uint16_t rng_prepare(struct mailbox *box, QPCIDevice *rng,
			    uint64_t table)
{
	const struct vring_desc desc = {
		.addr = cpu_to_le64(table),
		.len = cpu_to_le32(sizeof(desc)),
		.flags = cpu_to_le16(VRING_DESC_F_INDIRECT),
	};
	uint64_t ring;
	QPCIBar port;

	qpci_device_enable(rng);
	port = qpci_iomap(rng, 0, NULL);
	g_assert_true(port.is_io);
	ring = QUEUE_AT + qpci_io_readw(rng, port, VIRTIO_PCI_QUEUE_NUM) *
				  sizeof(struct vring_desc);
	qtest_memwrite(box->qts, QUEUE_AT, &desc, sizeof(desc));
	/* Entry 0 is the first of the ring, whose index is one now. */
	qtest_writew(box->qts, ring + offsetof(struct vring_avail, idx), 1);
	qpci_io_writel(rng, port, VIRTIO_PCI_QUEUE_PFN,
		       QUEUE_AT >> VIRTIO_PCI_QUEUE_ADDR_SHIFT);
	qpci_io_writeb(rng, port, VIRTIO_PCI_STATUS,
		       VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER |
			       VIRTIO_CONFIG_S_DRIVER_OK);
	return port.addr + VIRTIO_PCI_QUEUE_NOTIFY;
}

/* Let the processor write; false if it does not come back from that. */
static bool cpu_write(struct mailbox *box, uint16_t port, uint16_t value)
{
	int look;

	qtest_writew(box->qts, CPU_VALUE, value);
	qtest_writew(box->qts, CPU_PORT, port);
	for (look = 0; look < 6000; look++) {
		if (!qtest_readw(box->qts, CPU_PORT))
			return true;
		g_usleep(10000);
	}
	return false;
}

/*
 * The processor notifies a device, which reads RECEIVE first on the
 * processor's thread. It must not wait there: it is in the middle of its own
 * work, and relies on the BQL.
 */
static void test_device_does_not_wait(void)
{
	g_autofree char *firmware = firmware_with_code();
	struct mailbox box;
	unsigned char frame[64];
	QPCIDevice *rng;
	uint16_t port;

	box = mailbox_start_with(firmware, "-accel tcg " RNG);
	rng = qpci_device_find(box.bus, QPCI_DEVFN(RNG_SLOT, 0));
	g_assert_nonnull(rng);
	port = rng_prepare(&box, rng,
			   box.regs.addr + TOFU_MAILBOX_RECEIVE);

	/* The device takes a frame that is there ... */
	mailbox_say(&box, frame, frame_make(frame, 20));
	g_assert_true(cpu_write(&box, port, 0));
	g_assert_cmphex(mailbox_reg(&box, TOFU_MAILBOX_RECEIVE), ==,
			TOFU_MAILBOX_AGAIN);
	/* ... and goes on without one. */
	g_assert_true(cpu_write(&box, port, 0));

	g_free(rng);
	mailbox_stop(&box);
	unlink(firmware);
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
	qtest_add_func("tofu/mailbox/ready", test_ready);
	qtest_add_func("tofu/mailbox/saved", test_saved);
	qtest_add_func("tofu/mailbox/wrong-fd", test_wrong_fd);
	qtest_add_func("tofu/mailbox/device-does-not-wait",
		       test_device_does_not_wait);
	return g_test_run();
}
