# SPDX-License-Identifier: MIT
"""Kernels that look for errors of the driver, compiled from the distribution's source.

A kernel has a small configuration, tests/kernel/guest.config, with what the
file of its own name adds. Nothing else is switched on, which is why it compiles
in minutes, and it has no modules: what guests load otherwise is built in.
"""

import os
import pathlib
import shutil
import subprocess

from . import apt, cache, run, system
from .cache import BuildError

FRAGMENTS = cache.checkout() / "tests/kernel"
BASE = "guest"
NAMES = ("debug", "kcsan")
KEEP = 4
# What `make M=…` needs of a source tree in which a kernel was compiled
_KEPT_PATHS = ("include", "scripts", "arch/x86/include", "tools/objtool/objtool")
_KEPT_NAMES = ("Makefile", "Kbuild", ".config", "Module.symvers", "modules.builtin")


def root():
    return cache.root() / "kernel-debug"


def _source():
    """(name, version) of the installed package with the kernel's source."""
    query = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", "linux-source"],
                           capture_output=True, text=True, check=False)
    package = query.stdout.replace(",", " ").split(" ")[0]
    version = package and apt.installed_version(package)
    if not version:
        raise BuildError("the source of the distribution's kernel is not installed; "
                         "run scripts/setup kernel")
    system.require_kernel(version)
    return package, version


def _compiler():
    return subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True,
                          check=True).stdout.strip()


class DebugKernel:
    """The image of one of NAMES, and the folder to build modules against."""

    def __init__(self, name):
        self.name = name
        self._package, self._version = _source()
        self._fragments = [FRAGMENTS / f"{part}.config" for part in (BASE, name)]
        for fragment in self._fragments:
            if not fragment.is_file():
                raise BuildError(f"kernel {name} is compiled in a checkout only: no {fragment}")
        release = system.dotted(system.version(self._version))
        self._patches = sorted((FRAGMENTS / "patches" / release).glob("*.patch"))
        key = cache.Hash().add(self._package, self._version, _compiler())
        key.add_file(pathlib.Path(__file__))
        for file in [*self._fragments, *self._patches]:
            key.add_file(file)
        self.folder = root() / f"{name}-{key.hex()}"
        # With KASAN a vmlinux does not boot: the C code at its entry is instrumented,
        # but runs before there is shadow memory.
        self.vmlinux = self.folder / "bzImage"
        self.kdir = self.folder / "build"
        self._work = root() / f"{self.folder.name}.work"
        self._log = root() / f"{name}.log"

    @property
    def abi(self):
        return (self.kdir / "include/config/kernel.release").read_text("ascii").strip()

    def make(self):
        """Complete the kernel; resumes an interrupted attempt."""
        if self.folder.exists():
            os.utime(self.folder)
            return
        with cache.lock(root() / "lock"):
            if self.folder.exists():
                return
            self._unpack()
            self._configure()
            self._make("bzImage", "modules",
                       what=f"compiling kernel {self.name} (once; minutes)")
            self._publish()

    def modules(self, names):
        """Nothing that has to be loaded: what is asked for must be built in."""
        lines = (self.kdir / "modules.builtin").read_text("ascii").split()
        builtin = {pathlib.Path(line).stem.replace("-", "_") for line in lines}
        for name in names:
            if name.replace("-", "_") not in builtin:
                raise BuildError(f"kernel {self.name} has no module {name}")
        return []

    def _make(self, *targets, what, **variables):
        # The variables of a make that has started this one are not for the kernel's.
        env = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MFLAGS", "O", "V", "CROSS_COMPILE", "ARCH")}
        run.run(["nice", "make", f"-j{os.cpu_count()}", *targets], self._log, what,
                cwd=self._work / "src", env={**env, **variables})

    def _unpack(self):
        if (self._work / "src").exists():
            return
        with cache.publish(self._work / "src") as scratch:
            run.run(["tar", "-xf", f"/usr/src/{self._package}.tar.xz", "-C", scratch,
                     "--strip-components=1"], self._log, f"unpacking {self._package}")
            for patch in self._patches:
                run.run(["patch", "--strip=1", "--force", "--input", patch], self._log,
                        f"applying {patch.name} to {self._package}", cwd=scratch)

    def _configure(self):
        wanted = self._work / "wanted.config"
        text = "".join(path.read_text("ascii") for path in self._fragments)
        wanted.write_text(f'{text}CONFIG_LOCALVERSION="-{self.name}"\n', encoding="ascii")
        self._make("allnoconfig", what=f"configuring kernel {self.name}",
                   KCONFIG_ALLCONFIG=str(wanted))
        got = (self._work / "src/.config").read_text("ascii").splitlines()
        lost = [line for line in text.splitlines()
                if line.startswith("CONFIG_") and line not in got]
        if lost:
            raise BuildError(f"{self._package} does not take {', '.join(lost)}: see tests/kernel/")

    def _publish(self):
        with cache.publish(self.folder) as scratch:
            source = self._work / "src"
            shutil.copy(source / "arch/x86/boot/bzImage", scratch)
            for path in _kept(source):
                place = scratch / "build" / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place)
        shutil.rmtree(self._work)
        cache.prune(root(), KEEP, "*-" + 20 * "?")


def _kept(source):
    """Files of a tree that building a module needs."""
    for path in source.rglob("*"):
        name = str(path.relative_to(source))
        inside = any(name == kept or name.startswith(f"{kept}/") for kept in _KEPT_PATHS)
        wanted = path.name in _KEPT_NAMES or path.name.startswith("Makefile")
        if (inside or wanted) and path.suffix not in (".o", ".a", ".cmd") and path.is_file():
            yield path
