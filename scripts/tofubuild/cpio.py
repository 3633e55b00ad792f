# SPDX-License-Identifier: MIT
"""Writes an initramfs (cpio, newc), reproducibly; lists one."""

import os
import pathlib
import stat

_DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}


class Archive:
    """Entries by path; parents are added as needed, a later entry replaces."""

    def __init__(self):
        self._entries = {}
        for path, device in _DEVICES.items():
            self._put(path, stat.S_IFCHR | 0o600, b"", device)

    def __contains__(self, path):
        return path.strip("/") in self._entries

    def _put(self, path, mode, data=b"", device=(0, 0)):
        path = path.strip("/")
        parent = os.path.dirname(path)
        if parent and parent not in self._entries:
            self.folder(parent)
        self._entries[path] = (mode, data, device)

    def folder(self, path, mode=0o755):
        self._put(path, stat.S_IFDIR | mode)

    def data(self, path, data, mode=0o644):
        self._put(path, stat.S_IFREG | mode, data)

    def file(self, path, source):
        source = pathlib.Path(source)
        mode = 0o755 if os.access(source, os.X_OK) else 0o644
        self.data(path, source.read_bytes(), mode)

    def link(self, path, target):
        self._put(path, stat.S_IFLNK | 0o777, target.encode())

    def bytes(self):
        out = []
        # A parent sorts before what is in it.
        for inode, path in enumerate(sorted(self._entries), 1):
            mode, data, device = self._entries[path]
            out.append(_record(inode, path, mode, data, device))
        out.append(_record(0, "TRAILER!!!", 0, b"", (0, 0)))
        return b"".join(out)


def _record(inode, path, mode, data, device):
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, *device, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _pad(header + name) + _pad(data)


def _pad(data):
    return data.ljust(_padded(len(data)), b"\0")


def modes(data):
    """Modes by path of an archive's entries."""
    found, at = {}, 0
    while data[at:at + 6] == b"070701":
        fields = [int(data[at + 6 + 8 * n:at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110:at + 110 + name_size - 1].decode(errors="replace")
        found[name] = mode
        at += _padded(110 + name_size) + _padded(size)
    return found


def _padded(size):
    return size + -size % 4
