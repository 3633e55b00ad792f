# SPDX-License-Identifier: MIT
"""A cache outside the checkout: content hashes, locks, atomic publication.

A file in the cache gets its final name when it is complete, so a name that
exists is a finished product. A builder that is killed leaves at most a
directory called ``*.tmp-*``, which the next one under the same lock removes.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile

# The folders that driver, library and tools are built from
PARTS = ("driver", "libtofu", "qemu-device", "uapi")


def root():
    """The folder that holds everything built outside the checkout."""
    explicit = os.environ.get("TOFU_CACHE")
    if explicit:
        return pathlib.Path(explicit).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base).absolute() / "tofu"


def checkout():
    """The top of the source tree that this script belongs to."""
    return pathlib.Path(__file__).resolve().parent.parent.parent


def installed():
    """Whether this is the copy that a package installed, which is read-only."""
    return (checkout() / "installed").exists()


@functools.cache
def build():
    """The folder for build results.

    An installed copy builds in the cache, in a folder named by the contents of
    the sources: files of another version's package may have the same age.
    """
    if not installed():
        return pathlib.Path(os.environ.get("O") or checkout() / "build")
    key = Hash()
    for name in PARTS:
        key.add_tree(checkout() / name, name)
    key.add_file(checkout() / "scripts/toolchain.mk")
    return root() / "build" / key.hex()


class Hash:
    """A content hash; every item is framed by its length."""

    def __init__(self):
        self._sha = hashlib.sha256()

    def add(self, *items):
        for item in items:
            data = item if isinstance(item, bytes) else str(item).encode()
            self._sha.update(b"%d:" % len(data))
            self._sha.update(data)
        return self

    def add_file(self, path, name=None):
        path = pathlib.Path(path)
        executable = b"x" if os.access(path, os.X_OK) else b"-"
        return self.add(name or path.name, executable, path.read_bytes())

    def add_tree(self, top, name, suffixes=None):
        for path in tree(top, suffixes):
            self.add_file(path, f"{name}/{path.relative_to(top)}")
        return self

    def hex(self):
        return self._sha.hexdigest()[:20]


def tree(top, suffixes=None):
    """Regular files below top, in stable order; no litter of tools."""
    top = pathlib.Path(top)
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = [f for f in folders if not f.startswith(".") and f != "__pycache__"]
        for file in files:
            if file.startswith(".") or file.endswith(("~", ".orig", ".rej")):
                continue
            if suffixes is None or file.endswith(suffixes):
                found.append(pathlib.Path(folder, file))
    return sorted(found)


def require_usable(folder):
    """Make a folder of the cache; refuse one in which builds would fail."""
    remedy = "name another folder in TOFU_CACHE"
    if re.search(r"[\s:]", str(folder)):
        raise BuildError(f"the cache's path {folder} has a blank or a colon, with which "
                         f"QEMU does not build: {remedy}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BuildError(f"the cache {folder} cannot be written to ({error.strerror}): "
                         f"{remedy}") from None


@contextlib.contextmanager
def lock(path, note=None):
    """Hold an exclusive lock; say so if another holder has to finish first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(note or f"waiting for another build ({path.name})")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def publish(final):
    """Yield a scratch directory that becomes `final` when the block succeeds.

    Callers hold the lock of `final`.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    for stale in final.parent.glob(f"{final.name}.tmp-*"):
        shutil.rmtree(stale, ignore_errors=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"{final.name}.tmp-", dir=final.parent))
    scratch.chmod(0o755)
    try:
        yield scratch
        os.rename(scratch, final)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def publish_file(source, final, mode=0o755):
    """Copy a file to its final name so that no reader sees it half written."""
    final.parent.mkdir(parents=True, exist_ok=True)
    fd, scratch = tempfile.mkstemp(prefix=f"{final.name}.tmp-", dir=final.parent)
    try:
        with open(source, "rb") as src, open(fd, "wb") as dst:
            shutil.copyfileobj(src, dst, 1 << 20)
            os.fchmod(dst.fileno(), mode)
        os.rename(scratch, final)
    except BaseException:
        os.unlink(scratch)
        raise


def prune(folder, keep, pattern="*"):
    """Keep the `keep` most recently used entries of a folder."""
    entries = sorted((p for p in folder.glob(pattern) if ".tmp-" not in p.name),
                     key=lambda p: p.stat().st_mtime, reverse=True)
    for old in entries[keep:]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def say(text):
    """One line of progress."""
    print(f"  {text}", file=sys.stderr, flush=True)


class BuildError(Exception):
    """A build step failed; the text is for the user."""
