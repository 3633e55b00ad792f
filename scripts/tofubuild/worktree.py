# SPDX-License-Identifier: MIT
"""The project's files as they are now, committed or not."""

import shutil
import subprocess

from . import cache
from .cache import BuildError

TOP = cache.checkout()


def git(*words):
    """Output of a git command in the checkout."""
    done = subprocess.run(["git", "-C", TOP, *words], capture_output=True, check=False)
    if done.returncode:
        raise BuildError(done.stderr.decode(errors="replace").strip().splitlines()[-1])
    return done.stdout


def names(*paths):
    """Files, all or below these paths, relative to the top; no ignored ones."""
    listed = git("ls-files", "-z", "-c", "-o", "--exclude-standard", "--", *paths)
    found = sorted(set(listed.decode().split("\0")))
    return [name for name in found if name and (TOP / name).is_file()]


def copy(files, folder):
    """Copy files of that list, with their modes."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, folder / name)
