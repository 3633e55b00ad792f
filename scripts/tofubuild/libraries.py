# SPDX-License-Identifier: MIT
"""The shared libraries that programs of the host need."""

import os
import pathlib
import re
import subprocess

from .cache import BuildError


def is_dynamic(path):
    """Whether the loader has something to do for a file."""
    path = pathlib.Path(path)
    with open(path, "rb") as file:
        head = file.read(4096)
    return head.startswith(b"\x7fELF") and path.suffix != ".ko"


def needed(program, build, folders=""):
    """(path in the guest, file) of the libraries that a program needs.

    Looks in a build and in `folders`, and then where the loader does.
    """
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, [str(build / "lib"), folders])))
    text = subprocess.run(["ldd", program], capture_output=True, text=True, env=env,
                          errors="surrogateescape", check=False).stdout
    for line in text.splitlines():
        if "not found" in line:
            raise BuildError(f"{program} needs a library that is not here:{line}")
        match = re.match(r"\s*(?:(\S+) => )?(/\S+) \(0x", line)
        if not match:
            continue
        path = pathlib.Path(match[2])
        # Ours go where the loader looks; the system's keep their paths.
        guest = f"/usr/lib/{match[1]}" if build in path.parents else match[2]
        yield guest, path
