# SPDX-License-Identifier: MIT
"""A Debian of another release in a folder, to build and test in, as root.

debootstrap makes it once, from the mirror and with the settings that apt has
here, and it stays in the cache.  What is mounted in it is seen by the command
alone that runs in it, in namespaces of its own: nothing is left to unmount, and
no process is left, however the command ends.
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

# Where a checkout is seen, and where it is built; the latter stays from run to run.
SOURCES = "/checkout"
OUTPUT = "/build"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Settings of the system that are needed to reach the mirror.
SETTINGS = ["etc/resolv.conf", "etc/hosts", "etc/apt/apt.conf", "etc/apt/apt.conf.d",
            "etc/apt/auth.conf", "etc/apt/auth.conf.d", "etc/ssl/certs"]
# The command gets a /proc of its own from unshare. Slaves: what the host mounts
# later is seen, what happens here is not.
ENTER = """
set -e
top=$1 sources=$2; shift 2
mount --rbind --make-rslave /dev "$top/dev"
mount --rbind --make-rslave /sys "$top/sys"
mount --bind "$sources" "$top{sources}"
mount -o remount,bind,ro "$top{sources}"
exec chroot "$top" "$@"
""".format(sources=SOURCES)


def mirror():
    """The address that apt here has Debian from, or debootstrap's own default."""
    told = os.environ.get("MIRROR")
    if told:
        return [told]
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)"],
        capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^Debian main [a-z]+ (\S+)$", targets, flags=re.MULTILINE)
    return found[:1]


def _replace(source, target):
    """Copy a file; a link in its place, which would lead out of the chroot, goes."""
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
    """A release of Debian, by its code name; one for each purpose."""

    def __init__(self, suite, purpose=""):
        if not re.fullmatch(r"[a-z]+", suite):
            raise BuildError(f"'{suite}' is no code name of a Debian release, as trixie is")
        self.suite = suite
        self.home = cache.root() / "chroot"
        self.top = self.home / (f"{suite}-{purpose}" if purpose else suite)

    def make(self):
        """Make it unless it is there, and let its apt know what this one knows."""
        if os.geteuid():
            raise BuildError("a chroot is made by root: run this with sudo")
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
        """Yield a chroot to do anything in: a copy that is removed in the end."""
        with tempfile.TemporaryDirectory(prefix=f"{self.top.name}.tmp-", dir=self.home) as folder:
            copied = Chroot(self.suite)
            copied.top = pathlib.Path(folder, "top")
            subprocess.run(["cp", "-a", "--reflink=auto", self.top, copied.top], check=True)
            yield copied

    def run(self, command, sources, output=None, **settings):
        """Run a command in `sources`, which it cannot change; return its status.

        `output` is a file for what it prints, `settings` are variables of its
        environment beside the usual ones.
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
            # Who is killed takes along what it has started: this, unshare, all in there.
            ["setpriv", "--pdeathsig", "KILL",
             "unshare", "--mount", "--pid", "--fork", "--kill-child",
             f"--mount-proc={self.top}/proc",
             "sh", "-c", ENTER, "enter", self.top, sources,
             "env", "-i", f"--chdir={SOURCES}", *words, *command],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        return done.returncode
