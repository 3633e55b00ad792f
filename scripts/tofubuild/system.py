# SPDX-License-Identifier: MIT
"""The host's distribution, and whether its QEMU and kernel are supported."""

import pathlib
import re

from . import cache
from .cache import BuildError

OS_RELEASE = pathlib.Path("/etc/os-release")
# A folder with changes for each QEMU that the device builds with
PATCHES = cache.checkout() / "qemu-device/patches"
# The oldest and the newest kernel that driver/compat.h supports
KERNELS = ((6, 1), (6, 12))

_ELSEWHERE = "Build in a chroot or container of Debian 12 or 13"


def name():
    """The distribution and its release: 'Debian 12'."""
    fields = {}
    try:
        lines = OS_RELEASE.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition("=")
        fields[key] = value.strip("\"'")
    words = [fields.get("NAME", "Linux").removesuffix(" GNU/Linux"),
             fields.get("VERSION_ID") or fields.get("VERSION_CODENAME", "")]
    return " ".join(filter(None, words))


def version(text):
    """(major, minor) of a package version: '1:10.0.13+ds-0+deb13u1'."""
    match = re.match(r"(?:\d+:)?(\d+)\.(\d+)", text)
    if not match:
        raise BuildError(f"'{text}' is not a version")
    return int(match[1]), int(match[2])


def dotted(pair):
    return f"{pair[0]}.{pair[1]}"


def qemus():
    """Versions of the QEMUs that the device builds with."""
    return sorted(version(folder.name) for folder in PATCHES.iterdir())


def qemu_patches(found):
    """The changes to QEMU `found`, a pair, in the order of application."""
    if found not in qemus():
        raise BuildError(
            f"{name()} has QEMU {dotted(found)}, and the device builds with "
            f"{' and '.join(map(dotted, qemus()))}. {_ELSEWHERE}; or make a folder "
            f"{dotted(found)} beside the others in qemu-device/patches, whose changes apply "
            "to it")
    return sorted((PATCHES / dotted(found)).glob("*.patch"))


def require_kernel(release):
    """Refuse kernel headers that the driver does not support."""
    oldest, newest = KERNELS
    if not oldest <= version(release) <= newest:
        raise BuildError(
            f"{name()} has headers of Linux {release}, and the driver builds for Linux "
            f"{dotted(oldest)} to {dotted(newest)}. {_ELSEWHERE}; or install headers of such "
            "a kernel and name them: scripts/build-guest --kernel")
