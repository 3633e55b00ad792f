# SPDX-License-Identifier: MIT
"""A Debian of another release in a folder, to build and test in, as root.

debootstrap makes it once, from apt's mirror and with apt's settings, and it
stays in the cache. Only the command that runs in it sees what is mounted there,
in its own namespaces: nothing is left to unmount, and no process remains,
however the command ends.
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import cache, run
from .cache import BuildError

# Mount point of the checkout, and build folder; the latter is kept between
# runs.
SOURCES = "/checkout"
OUTPUT = "/build"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Settings of the system that reaching the mirror needs
SETTINGS = ["etc/resolv.conf", "etc/hosts", "etc/apt/apt.conf", "etc/apt/apt.conf.d",
            "etc/apt/auth.conf", "etc/apt/auth.conf.d", "etc/ssl/certs"]
# unshare gives the command its own /proc, and shared memory is its own. Slave mounts:
# later mounts of the host appear here, but none of these on the host.
ENTER = """
set -e
top=$1 sources=$2; shift 2
mount --rbind --make-rslave /dev "$top/dev"
mount -t tmpfs -o mode=1777 shm "$top/dev/shm"
mount --rbind --make-rslave /sys "$top/sys"
mount --bind "$sources" "$top{sources}"
mount -o remount,bind,ro "$top{sources}"
exec chroot "$top" "$@"
""".format(sources=SOURCES)


def mirror():
    """The mirror from which apt here gets Debian, or debootstrap's default."""
    told = os.environ.get("MIRROR")
    if told:
        return [told]
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)"],
        capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^Debian main [a-z]+ (\S+)$", targets, flags=re.MULTILINE)
    return found[:1]


def _replace(source, target):
    """Copy a file; replaces a link, which would lead out of the chroot."""
    pathlib.Path(target).unlink(missing_ok=True)
    return shutil.copy(source, target)


def _copy_settings(top):
    for name in SETTINGS:
        source, target = pathlib.Path("/", name), top / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=_replace,
                            ignore_dangling_symlinks=True, dirs_exist_ok=True)
        elif source.exists():
            _replace(source, target)


class Chroot:
    """A release of Debian, by code name; one for each purpose."""

    def __init__(self, suite, purpose=""):
        if not re.fullmatch(r"[a-z]+", suite):
            raise BuildError(f"'{suite}' is no code name of a Debian release, as trixie is")
        self.suite = suite
        self.home = cache.root() / "chroot"
        self.top = self.home / (f"{suite}-{purpose}" if purpose else suite)

    def make(self):
        """Make it unless it exists, and give its apt what this apt knows."""
        if os.geteuid():
            raise BuildError("making a chroot requires root: run this with sudo")
        if not shutil.which("debootstrap"):
            raise BuildError("no debootstrap: run scripts/setup chroot")
        self.home.mkdir(parents=True, exist_ok=True)
        with cache.lock(self.home / f"{self.top.name}.lock"):
            if not self.top.exists():
                self._debootstrap()
        for place in (SOURCES, OUTPUT):
            (self.top / place[1:]).mkdir(exist_ok=True)
        _copy_settings(self.top)

    def _debootstrap(self):
        log = self.home / f"{self.top.name}.log"
        with cache.publish(self.top) as scratch:
            run.run(["debootstrap", "--variant=minbase", self.suite, scratch, *mirror()], log,
                    f"making a chroot of Debian {self.suite}")

    @contextlib.contextmanager
    def copy(self):
        """Yield a chroot for any use: a copy that is removed at the end."""
        with tempfile.TemporaryDirectory(prefix=f"{self.top.name}.tmp-", dir=self.home) as folder:
            copied = Chroot(self.suite)
            copied.top = pathlib.Path(folder, "top")
            subprocess.run(["cp", "-a", "--reflink=auto", self.top, copied.top], check=True)
            yield copied

    def run(self, command, sources, output=None, **settings):
        """Run a command in `sources`, read-only to it; return its status.

        `output` is a file for its output, `settings` are additional variables
        of its environment.
        """
        environment = {
            "PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "O": OUTPUT,
            "DEBIAN_FRONTEND": "noninteractive", "PYTHONDONTWRITEBYTECODE": "1",
            "TERM": os.environ.get("TERM", "dumb"),
            # The checkout may be another user's.
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*", **settings}
        words = [f"{name}={value}" for name, value in environment.items()]
        done = subprocess.run(
            # Being killed takes along all child processes: this, unshare, all
            # inside.
            ["setpriv", "--pdeathsig", "KILL",
             "unshare", "--mount", "--pid", "--fork", "--kill-child",
             f"--mount-proc={self.top}/proc",
             "sh", "-c", ENTER, "enter", self.top, sources,
             "env", "-i", f"--chdir={SOURCES}", *words, *command],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        return done.returncode
