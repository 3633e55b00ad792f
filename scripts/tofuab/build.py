# SPDX-License-Identifier: MIT
"""Builds of revisions, cached by the hash of their sources."""

import subprocess
import sys
import tarfile

from tofubuild import cache, worktree
from tofubuild.cache import BuildError

TOP = cache.checkout()
ROOT = cache.root() / "ab"
# Driver, library and tools are built from these folders alone.
FOLDERS = cache.PARTS
FILES = ("Makefile", "scripts/mpis.mk", "scripts/toolchain.mk")
KEEP = 8


def _kernel_headers():
    done = subprocess.run([TOP / "scripts/build-guest", "--print-kdir"], stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        raise BuildError("no kernel headers: see above")
    return done.stdout.split()[-1]


def _of_working_tree():
    """(key, function that puts the sources into a folder)"""
    names = worktree.names(*FOLDERS, *FILES)
    key = cache.Hash()
    for name in names:
        key.add_file(TOP / name, name)
    return key, lambda folder: worktree.copy(names, folder)


def _of_revision(revision):
    commit = worktree.git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    commit = commit.decode().strip()
    there = [path for path in (*FOLDERS, *FILES)
             if worktree.git("ls-tree", commit, "--", path)]
    if set(FOLDERS) - set(there):
        raise BuildError(f"{revision} has no {', '.join(sorted(set(FOLDERS) - set(there)))}")
    key = cache.Hash().add(worktree.git("ls-tree", "-r", commit, "--", *there))

    def put(folder):
        with subprocess.Popen(["git", "-C", TOP, "archive", commit, "--", *there],
                              stdout=subprocess.PIPE) as archive:
            with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
                tar.extractall(folder)
        if archive.returncode:
            raise BuildError(f"git archive {revision} failed")
    return key, put


def _make(source, output, headers, log):
    for folder, more in (("driver", [f"KDIR={headers}"]), ("libtofu", ["all"])):
        done = subprocess.run(["make", "-j2", "-C", source / folder, f"O={output}", *more],
                              stdout=log, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            return folder
    return None


def build(revision):
    """The folder with driver/, lib/ and bin/ of a revision, or of '.'."""
    key, put = _of_working_tree() if revision == "." else _of_revision(revision)
    headers = _kernel_headers()
    final = ROOT / key.add(headers).hex()
    with cache.lock(ROOT / "lock"):
        if not final.exists():
            print(f"  building {revision}", file=sys.stderr, flush=True)
            with cache.publish(final) as scratch:
                put(scratch / "source")
                log = ROOT / "build.log"
                with open(log, "wb") as file:
                    failed = _make(scratch / "source", scratch / "build", headers, file)
                if failed:
                    tail = log.read_text(errors="replace").splitlines()[-15:]
                    raise BuildError(f"{revision}: {failed} does not build\n    " +
                                     "\n    ".join(tail))
        cache.prune(ROOT, KEEP)
    return final / "build"
