# SPDX-License-Identifier: MIT
"""The QEMU command line of a node."""

import pathlib
import shlex

from . import agent


def kernel_arguments(config, node):
    words = ["console=ttyS0", "quiet", "panic=-1", f"cluster_node={node}"]
    if config["accel"] == "tcg" and config["tsc_khz"]:
        # microvm has no clock to calibrate against but a PIT that a busy host
        # reads too slowly; the guest's counter is the host's.
        words += [f"tsc_early_khz={config['tsc_khz']}", "tsc=reliable", "no_timer_check"]
    return " ".join([*words, *shlex.split(config["kernel_args"])])


def command(config, node, console_fd, agent_fd):
    """The words of the command; the descriptors are inherited."""
    qemu, image = pathlib.Path(config["qemu"]), pathlib.Path(config["image"])
    memory = f"{config['memory']}M"
    words = [
        qemu, "-name", f"{config['name']}-node{node}",
        "-M", "microvm,pcie=on,acpi=on,pit=on,pic=on,rtc=on,x-option-roms=off,"
              "memory-backend=ram",
        "-accel", config["accel"],
        "-cpu", "host" if config["accel"] == "kvm" else "max",
        # A machine that can never have a second CPU gets plain instead of
        # atomic read-modify-writes from TCG: the ICC is such a second one.
        "-smp", "1,maxcpus=2",
        "-m", memory,
        "-object", f"memory-backend-memfd,id=ram,size={memory},share=on,seal=on",
        "-display", "none", "-nodefaults", "-no-user-config", "-no-reboot",
        "-bios", qemu.parent / "qboot.rom",
        "-kernel", image / "vmlinux", "-initrd", image / "initramfs",
        "-append", kernel_arguments(config, node),
        "-chardev", f"socket,id=console,fd={console_fd}", "-serial", "chardev:console",
        "-chardev", f"socket,id=agent,fd={agent_fd}",
        "-device", "virtio-serial-pci,romfile=",
        "-device", f"virtserialport,chardev=agent,name={agent.PORT_NAME}",
        "-device", "virtio-rng-pci,romfile=",
    ]
    # The probe for KVM is a guest without an interconnect.
    if config["fabric_fd"] is not None:
        tofu = f"tofu-pci,fabric=/dev/fd/{config['fabric_fd']},node={node},tnis={config['tnis']}"
        words += ["-device", ",".join([tofu, *config["node_args"]])]
    extra = config["qemu_args"].replace("{node}", str(node))
    return [*map(str, words), *shlex.split(extra)]
