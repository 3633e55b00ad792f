# SPDX-License-Identifier: MIT
"""Fetches packages without touching the system's package configuration.

Binary packages come through the system's own lists. Source packages need
`deb-src` entries, which systems seldom have: they are derived from the system's
own entries, in a private folder with private lists.
"""

import os
import pathlib
import re
import shutil
import subprocess

from . import run
from .cache import BuildError

_ETC = pathlib.Path("/etc/apt")
_STALE = ("If apt does not find it, its lists are old, or a newer one has taken its place: let "
          "root run `apt-get update`, then `apt-get upgrade`")


def _deb822_as_source(text):
    return re.sub(r"(?mi)^Types:.*$", "Types: deb-src", text)


def _lines_as_source(text):
    lines = []
    for line in text.splitlines():
        match = re.match(r"\s*deb(?:-src)?\s+(.*)", line)
        if match:
            lines.append(f"deb-src {match[1]}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _write_sources(parts):
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    found = list((_ETC / "sources.list.d").glob("*"))
    found.append(_ETC / "sources.list")
    for path in found:
        if path.suffix == ".sources":
            text = _deb822_as_source(path.read_text(encoding="utf-8"))
        elif path.suffix == ".list" and path.exists():
            text = _lines_as_source(path.read_text(encoding="utf-8"))
        else:
            continue
        (parts / path.name).write_text(text, encoding="utf-8")


def _environment():
    return dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")


def _private_options(folder):
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return ["-o", "Dir::Etc::sourcelist=/dev/null",
            "-o", f"Dir::Etc::sourceparts={folder / 'sources.list.d'}",
            "-o", f"Dir::State::lists={folder / 'lists'}",
            "-o", f"Dir::Cache={folder / 'cache'}",
            "-o", "APT::Sandbox::User=root",
            "-o", "Acquire::Retries=3"]


def candidate_source(package):
    """The version of the source of the package that apt would install, or None.

    It comes out of the system's lists, without the network.
    """
    shown = subprocess.run(["apt-cache", "show", "--no-all-versions", package],
                           capture_output=True, text=True, check=False, env=_environment())
    fields = dict(line.split(": ", 1) for line in shown.stdout.splitlines()
                  if line.startswith(("Source: ", "Version: ")))
    # Rebuilt packages have a version of their own, 'Source: qemu (7.2-1)'.
    source = re.search(r"\((\S+)\)", fields.get("Source", ""))
    return source[1] if source else fields.get("Version")


def fetch_source(package, version, folder, log):
    """Download a source package into `folder`; return the path of its .dsc.

    Without a version it is the newest.
    """
    private = folder / "apt"
    _write_sources(private / "sources.list.d")
    apt = ["apt-get", *_private_options(private)]
    run.run([*apt, "update"], log, "apt: reading the list of source packages",
            env=_environment())
    name = f"{package}={version}" if version else package
    try:
        run.run([*apt, "source", "--download-only", name], log,
                f"apt: fetching the source of {package}", cwd=folder, env=_environment())
    except BuildError as error:
        raise BuildError(f"{error}\n{_STALE}") from None
    shutil.rmtree(private)
    found = sorted(folder.glob("*.dsc"))
    if len(found) != 1:
        raise BuildError(f"apt-get source {package} left {len(found)} .dsc files")
    return found[0]


def fetch_binary(package, version, folder, log):
    """Download one binary package of exactly this version; return its path."""
    try:
        run.run(["apt-get", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3",
                 "download", f"{package}={version}"],
                log, f"apt: fetching {package}", cwd=folder, env=_environment())
    except BuildError as error:
        raise BuildError(f"{error}\n{_STALE}") from None
    found = sorted(folder.glob(f"{package}_*.deb"))
    if len(found) != 1:
        raise BuildError(f"apt-get download {package} left {len(found)} packages")
    return found[0]


def installed_version(package):
    """The version that dpkg has installed, or None."""
    query = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
                           capture_output=True, text=True, check=False)
    words = query.stdout.split()
    return words[1] if query.returncode == 0 and words[0] == "installed" else None
