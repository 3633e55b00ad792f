# SPDX-License-Identifier: MIT
"""The QEMU command line of a node."""

import pathlib

from . import agent

# Machines of virtual time and their TNIs, by their names in
# qemu-device/net/machine.c; and those of them that have remote atomics
MACHINES = {"k": 4, "fx10": 4, "fx100": 4, "fugaku": 6}
ARMW = ("fx100", "fugaku")
VIRTUAL_TSC_KHZ = 1000000
# Files of a folder with QEMU, and of a guest's
BIOS = "qboot.rom"
KERNEL = "vmlinux"
INITRD = "initramfs"
# The lowest priority above all ordinary ones
REALTIME = ("chrt", "--rr", "1")


def armw(name, choice):
    """Whether a machine has remote atomics; `choice` is an option's, or None."""
    if choice:
        return choice == "on"
    return not name or name in ARMW


def title(name, has_armw):
    """A machine's name, and what it has against its nature."""
    odd = has_armw != (name in ARMW)
    return name + (f" with armw={'on' if has_armw else 'off'}" if odd else "")


def kernel_arguments(config):
    words = ["console=ttyS0", "quiet", "panic=-1"]
    if config["accel"] == "tcg" and config["tsc_khz"]:
        # The guest's counter is the host's; in virtual time it runs at 1 GHz.
        # When guests calibrated it themselves, some hung while booting on a
        # busy host, probably because microvm's only other clock is a PIT, which
        # such a host serves late.
        words += [f"tsc_early_khz={config['tsc_khz']}", "tsc=reliable", "no_timer_check"]
    if config["time"] == "virtual":
        # No randomness: addresses decide about caches and translations.
        words += ["nokaslr", "norandmaps", "random.trust_cpu=off"]
    return " ".join([*words, *config["kernel_args"]])


def _quoted(path):
    """A path, quoted for a list of QEMU properties."""
    return str(path).replace(",", ",,")


def _functional(config, agent_fd):
    """Arguments of a node whose clock is the host's."""
    memory = f"{config['memory']}M"
    return [
        "-M", "microvm,pcie=on,acpi=on,pit=on,pic=on,rtc=on,x-option-roms=off,"
              "memory-backend=ram",
        "-accel", config["accel"],
        "-cpu", "host" if config["accel"] == "kvm" else "max",
        # If a machine can never have a second CPU, TCG emits plain instead of
        # atomic read-modify-writes; the ICC acts like a second CPU.
        "-smp", "1,maxcpus=2",
        "-m", memory,
        "-object", f"memory-backend-memfd,id=ram,size={memory},share=on,seal=on",
        "-chardev", f"socket,id=agent,fd={agent_fd}",
        "-device", "virtio-serial-pci,romfile=",
        "-device", f"virtserialport,chardev=agent,name={agent.PORT_NAME}",
        "-device", "virtio-rng-pci,romfile=",
    ]


def _virtual(config, agent_fd, memory):
    """Arguments of a node whose clock counts instructions.

    No device of it reacts to the host's time. Its controller works in the
    thread of its only CPU: plain read-modify-writes are safe, and no other
    process maps its memory, which may be that of a saved boot.
    """
    kind, words = "microvm,pcie=on,acpi=on,pit=on,pic=on,rtc=on,x-option-roms=off", []
    if memory:
        path, share = memory
        kind += ",memory-backend=ram"
        words = ["-object", f"memory-backend-file,id=ram,size={config['memory']}M,"
                            f"mem-path={_quoted(path)},share={share}"]
    return [
        *words, "-M", kind,
        "-accel", "tcg", "-icount", "shift=0,sleep=off",
        "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1",
        "-cpu", "max,-rdrand,-rdseed,-erms,-fsrm", "-smp", "1", "-m", f"{config['memory']}M",
        "-device", f"tofu-mailbox,fd={agent_fd}",
    ]


def _tofu(config, node, trace):
    words = ["tofu-pci", f"tnis={config['tnis']}", f"armw={'on' if config['armw'] else 'off'}"]
    # A guest that is to be saved has no network.
    if config["fabric_fd"] is not None:
        words += [f"fabric=/dev/fd/{config['fabric_fd']}", f"node={node}"]
    if config["time"] == "virtual":
        words.append(f"machine={config['machine']}")
    if trace:
        words.append(f"trace={_quoted(trace)}")
    return ",".join([*words, *config["node_args"]])


def command(config, node, console_fd, agent_fd, monitor_fd=None, trace=None, memory=None):
    """The command's arguments; the descriptors are inherited.

    `memory` is a file with the guest's memory, and whether that is shared with
    the file ("on") or a copy of it ("off").
    """
    qemu, image = pathlib.Path(config["qemu"]), pathlib.Path(config["image"])
    kind = (_virtual(config, agent_fd, memory) if config["time"] == "virtual"
            else _functional(config, agent_fd))
    words = [
        *(REALTIME if config["realtime"] else ()), qemu, "-name", f"{config['name']}-node{node}",
        *kind,
        "-display", "none", "-nodefaults", "-no-user-config", "-no-reboot",
        "-bios", qemu.parent / BIOS,
        "-kernel", image / KERNEL, "-initrd", image / INITRD,
        "-append", kernel_arguments(config),
        # A file accepts all output: no guest has to wait for a reader.
        "-chardev", f"file,id=console,path=/dev/fd/{console_fd}",
        "-serial", "chardev:console",
    ]
    # The probe for KVM is a guest without an interconnect.
    if config["fabric_fd"] is not None or memory:
        words += ["-device", _tofu(config, node, trace)]
    if monitor_fd is not None:
        words += ["-chardev", f"socket,id=monitor,fd={monitor_fd}",
                  "-mon", "chardev=monitor,mode=control"]
    # It waits for the devices that belong to the memory.
    if memory and memory[1] == "off":
        words += ["-incoming", "defer"]
    extra = [word.replace("{node}", str(node)) for word in config["qemu_args"]]
    return [*map(str, words), *extra]
