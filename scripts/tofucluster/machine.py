# SPDX-License-Identifier: MIT
"""The QEMU command line of a node."""

import pathlib

from . import agent


def kernel_arguments(config, node):
    words = ["console=ttyS0", "quiet", "panic=-1", f"cluster_node={node}"]
    if config["accel"] == "tcg" and config["tsc_khz"]:
        # The guest's counter is the host's. Left to calibrate it, guests of a
        # busy host at times hung while booting. The likely cause: microvm's
        # only other clock is a PIT, which such a host serves late.
        words += [f"tsc_early_khz={config['tsc_khz']}", "tsc=reliable", "no_timer_check"]
    return " ".join([*words, *config["kernel_args"]])


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
    extra = [word.replace("{node}", str(node)) for word in config["qemu_args"]]
    return [*map(str, words), *extra]
