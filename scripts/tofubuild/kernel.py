# SPDX-License-Identifier: MIT
"""The distribution's kernel: fetched, not installed, and unpacked to vmlinux."""

import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import zlib

from . import apt, cache, debugkernel, run, system
from .cache import BuildError

# Modules that no guest can use: two thirds of the package
_UNUSED = ["sound", "drivers/gpu", "drivers/media", "drivers/staging", "drivers/net/wireless",
           "drivers/net/ethernet", "drivers/hwmon", "drivers/iio", "drivers/input",
           "drivers/scsi", "drivers/usb", "drivers/mfd", "drivers/hid", "drivers/bluetooth"]

# The packages that depend on the release's headers: Debian's, Ubuntu's.
_HEADERS = ["linux-headers-amd64", "linux-headers-generic"]

_DECOMPRESSORS = [
    (b"\xfd7zXZ\0", "xz"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x02\x21\x4c\x18", "lz4"),
]


def headers(abi=None):
    """The folder of installed kernel headers: of `abi`, or of the release's kernel."""
    if not abi:
        # Headers of other kernels may be installed, too.
        query = subprocess.run(["dpkg-query", "-W", "-f", "${Depends} ", *_HEADERS],
                               capture_output=True, text=True, check=False)
        match = re.search(r"linux-headers-(\d[^\s,]*)", query.stdout)
        if not match:
            raise BuildError("no headers of the distribution's kernel are installed; "
                             "run scripts/setup guest")
        abi = match[1]
    folder = pathlib.Path(f"/usr/src/linux-headers-{abi}")
    if not folder.is_dir():
        raise BuildError(f"no {folder}; install linux-headers-{abi}")
    system.require_kernel(abi)
    return folder


def chosen(name=None):
    """The name of the guests' kernel: `name`, else $TOFU_KERNEL; empty: the release's own."""
    return name or os.environ.get("TOFU_KERNEL", "")


def choose(name=None):
    """The guests' kernel: a debug kernel, or that of the ABI of installed headers."""
    name = chosen(name)
    if name in debugkernel.NAMES:
        return debugkernel.DebugKernel(name)
    return Kernel(headers(name))


class Kernel:
    """The vmlinux and modules that match a folder of kernel headers."""

    name = ""  # the results of builds for it have the usual places

    def __init__(self, kdir):
        self.abi = kdir.name.removeprefix("linux-headers-")
        self.version = apt.installed_version(kdir.name)
        if not self.version:
            raise BuildError(f"{kdir} does not belong to an installed package")
        self.folder = cache.root() / "kernel" / f"{self.abi}_{self.version}"
        self.vmlinux = self.folder / "vmlinux"

    def make(self):
        if self.folder.exists():
            return
        root = cache.root() / "kernel"
        with cache.lock(root / "lock"):
            if self.folder.exists():
                return
            with cache.publish(self.folder) as scratch:
                self._fetch(scratch, root / "build.log")

    def _fetch(self, scratch, log):
        deb = apt.fetch_binary(f"linux-image-{self.abi}", self.version, scratch, log)
        unpacked = scratch / "unpacked"
        run.run(["dpkg", "-x", deb, unpacked], log, "unpacking the kernel")
        # Since Debian 13, packages use /usr/lib themselves.
        if not (unpacked / "lib").exists():
            (unpacked / "lib").symlink_to("usr/lib")
        modules = unpacked / "lib/modules" / self.abi
        for name in _UNUSED:
            shutil.rmtree(modules / "kernel" / name, ignore_errors=True)
        image = (unpacked / f"boot/vmlinuz-{self.abi}").read_bytes()
        (scratch / "vmlinux").write_bytes(extract(image))
        run.run(["/sbin/depmod", "-b", unpacked, self.abi], log, "indexing modules")
        modules.rename(scratch / "modules")
        shutil.rmtree(unpacked)
        deb.unlink()

    def modules(self, names):
        """(name, content) of the modules and their dependencies, in order."""
        needs = {}
        for line in (self.folder / "modules/modules.dep").read_text("ascii").splitlines():
            path, _, rest = line.partition(":")
            needs[_module_name(path)] = (path, rest.split())
        builtin = (self.folder / "modules/modules.builtin").read_text("ascii").split()
        builtin = {_module_name(path) for path in builtin}
        order = []
        for name in names:
            name = name.replace("-", "_")
            if name in builtin:
                continue
            if name not in needs:
                raise BuildError(f"kernel {self.abi} has no module {name}")
            path, rest = needs[name]
            # depmod lists the nearest dependency first.
            for item in [*reversed(rest), path]:
                if item not in order:
                    order.append(item)
        return [(f"{_module_name(item)}.ko", _module_content(self.folder / "modules" / item))
                for item in order]


def _module_name(path):
    return pathlib.Path(path).name.partition(".ko")[0].replace("-", "_")


def _module_content(path):
    """A module as the guest's insmod takes it: not compressed."""
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def extract(image):
    """The ELF file inside a bzImage, found through its header."""
    if image[0x202:0x206] != b"HdrS":
        raise BuildError("the kernel image is not a bzImage")
    protocol, = struct.unpack_from("<H", image, 0x206)
    if protocol < 0x208:
        raise BuildError("the kernel image is too old to say where its payload is")
    setup_sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    # The last four bytes are the unpacked size, not a part of the stream.
    payload = image[start:start + length - 4]
    elf = _decompress(payload)
    if not elf.startswith(b"\x7fELF"):
        raise BuildError("the payload of the kernel image is not an ELF file")
    return elf


def _decompress(payload):
    for magic, tool in _DECOMPRESSORS:
        if not payload.startswith(magic):
            continue
        if tool == "xz":
            return lzma.LZMADecompressor().decompress(payload)
        if tool == "gzip":
            return zlib.decompressobj(31).decompress(payload)
        done = subprocess.run([tool, "-dc"], input=payload, capture_output=True, check=False)
        return done.stdout
    raise BuildError("the compression of the kernel image is unknown here")
