# SPDX-License-Identifier: GPL-2.0-or-later
#
# The machines and devices that a cluster and its tests need, nothing else.

# The nodes of a cluster, with PCI Express (gpex).
CONFIG_MICROVM=y
# Register tests (qtest) drive the device on a plain PC.
CONFIG_I440FX=y

CONFIG_TOFU=y

CONFIG_PCI=y
CONFIG_PCI_DEVICES=y
CONFIG_VIRTIO_PCI=y
# The console of the guest agent.
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_RNG=y
# What the interconnect is compared with, in `make bench`.
CONFIG_VIRTIO_NET=y
# Lets a guest end QEMU with a status: the probe for a working KVM.
CONFIG_ISA_DEBUG=y
