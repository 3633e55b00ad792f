# SPDX-License-Identifier: MIT
"""A saved boot, from which the nodes of clusters in virtual time go on.

Guests are alike until each gets its name. So one boots, and is saved as it
waits for that; a node is a copy of it, which comes up in milliseconds. The
memory is a file, of which a node copies the pages that it writes to; the
devices are some kilobytes. A copy takes the same instructions as a guest that
has booted by itself.
"""

import asyncio
import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile

from tofubuild import cache

from . import machine
from .errors import ClusterError
from .node import Template

# Part of the key: to be changed with what is saved, or how
FORMAT = 1
KEPT = 6
LOCK_SECONDS = 0.05
MIB = 1 << 20


def _write_back(folder):
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file)


def _identity(path):
    """A file without its contents, which are large: scripts/build-* name it by them."""
    try:
        info = os.stat(path)
    except OSError as error:
        raise ClusterError(f"{path}: {error.strerror}") from None
    return f"{path} {info.st_size} {info.st_mtime_ns}"


def path_of(config):
    """Where the saved boot for this configuration is, or will be."""
    image, qemu = pathlib.Path(config["image"]), pathlib.Path(config["qemu"])
    key = cache.Hash().add(FORMAT, machine.kernel_arguments(config), config["memory"],
                           config["tnis"], *config["node_args"])
    for file in (qemu, qemu.parent / machine.BIOS, image / machine.KERNEL,
                 image / machine.INITRD):
        key.add(_identity(file))
    return cache.root() / "boot" / key.hex()


def require_room(config):
    """Raise ClusterError where a boot has no room to be saved."""
    path = path_of(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free // MIB
    if not path.exists() and free < config["memory"]:
        raise ClusterError(f"{path.parent} has {free} MiB left, and a saved boot of this guest "
                           f"takes up to {config['memory']}: --fresh does without, and TOFU_CACHE "
                           "names another folder")


@contextlib.asynccontextmanager
async def _lock(path):
    """As cache.lock(), while other tasks go on."""
    with open(path, "a", encoding="ascii") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(LOCK_SECONDS)
        yield


class Saved:
    """The saved boot of a configuration, in a folder of the cache."""

    def __init__(self, config):
        self._config = config
        self.path = path_of(config)
        self.memory = self.path / "memory"
        self.devices = self.path / "devices"

    def _exists(self):
        """Whether it is there, and whole; notes that it is used."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.path)
            return (self.memory.stat().st_size == self._config["memory"] * MIB and
                    self.devices.stat().st_size > 0)
        return False

    async def require(self, tell):
        """Make it unless it exists; raises ClusterError if the guest does not boot."""
        if self._exists():
            return
        async with _lock(self.path.parent / "lock"):
            if self._exists():
                return
            await tell({"event": "saving"})
            # Left by one that was killed: this one has the lock.
            for stale in self.path.parent.glob("*.tmp-*"):
                shutil.rmtree(stale, ignore_errors=True)
            scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.path.name}.tmp-",
                                                    dir=self.path.parent))
            try:
                await self._make(scratch)
                # After a crash of the host it is whole, or not there.
                await asyncio.get_running_loop().run_in_executor(None, _write_back, scratch)
                self.forget()
                os.rename(scratch, self.path)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            cache.prune(self.path.parent, KEPT, "?" * len(self.path.name))

    async def _make(self, folder):
        config = {**self._config, "fabric_fd": None}
        memory = folder / self.memory.name
        memory.touch(0o600)
        os.truncate(memory, config["memory"] * MIB)

        def command(number, *fds):
            return machine.command(config, number, *fds, memory=(memory, "on")), []

        template = Template(command, folder)
        try:
            await template.start(config["boot_timeout"])
            await template.save(folder / self.devices.name)
        except ClusterError as error:
            raise ClusterError("\n    | ".join([str(error), *template.console_tail()])) from None
        finally:
            await template.kill()

    def forget(self):
        """Remove it, for instance since a node could not go on from it."""
        stale = self.path.with_name(f"{self.path.name}.tmp-{os.getpid()}")
        with contextlib.suppress(OSError):
            self.path.rename(stale)
        shutil.rmtree(stale, ignore_errors=True)
