# SPDX-License-Identifier: MIT
"""What a program of the host needs in the guests: itself, its libraries, an MPI's parts."""

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess

from tofubuild import cache, cpio, libraries

from . import wire
from .errors import ClusterError

BUILD = cache.build()
PROVIDER = "lib/libfabric/libtofu-fi.so"
# Where the guests' loader looks by itself
LOADER_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/lib/x86_64-linux-gnu",
                  "/usr/lib/x86_64-linux-gnu")
# Where the guests' shell looks, and their programs of the same name are
PROGRAM_FOLDERS = ("/bin", "/usr/libexec/tofu")
OPEN_MPI_WITHOUT_PMI = 5
# Of an MPICH that is built as itself, which talks to libtofu-pmi.so
MPICH = "libmpi.so.12"
UPLOAD_SECONDS = 120
TOOL_SECONDS = 60


class Files:
    """Files for the guests: `listed` and `data` are of an exec message.

    Those that are the host's, and not the user's, are sent to a node once.
    `library_folders` are those in which the guests' loader does not look by itself.
    """

    def __init__(self):
        self._data = {}
        self._listed = {}
        self.library_folders = {}

    def add(self, path, data, mode, once):
        self._data[path] = data
        self._listed[path] = {"path": path, "mode": mode, "bytes": len(data), "once": once}

    def add_file(self, path, source, once):
        mode = 0o755 if os.access(source, os.X_OK) else 0o644
        self.add(path, pathlib.Path(source).read_bytes(), mode, once)

    def __contains__(self, path):
        return path in self._listed

    @property
    def listed(self):
        return list(self._listed.values())

    @property
    def data(self):
        return b"".join(self._data.values())


class Image:
    """What the guests' image has."""

    def __init__(self, status):
        self._path = pathlib.Path(status["image"], "initramfs")
        self._modes = None

    def _mode(self, path):
        if self._modes is None:
            self._modes = cpio.modes(self._path.read_bytes())
        return self._modes.get(path.lstrip("/"), 0)

    def __contains__(self, path):
        return bool(self._mode(path))

    def has_program(self, path):
        mode = self._mode(path)
        return stat.S_ISLNK(mode) or stat.S_ISREG(mode) and bool(mode & 0o111)


def _in_guest(connection, node, path):
    """Whether a guest has a program of this name."""
    connection.send({"op": "exec", "nodes": [node], "env": {}, "cwd": "/",
                     "argv": ["/bin/busybox", "test", "-x", path]})
    status = None
    while status is None:
        message, _ = connection.receive()
        if message is None or "error" in message or message["event"] == "gone":
            return False
        if message["event"] == "exit":
            status = message["status"]
    return status == 0


def _have_program(cluster, status, node, image, path):
    if status["time"] == "virtual":
        return image.has_program(path)
    connection = wire.Connection.open(cluster, timeout=UPLOAD_SECONDS)
    with contextlib.closing(connection):
        return _in_guest(connection, node, path)


# ---- Libraries ----

def _add_libraries(files, image, source):
    """Add what the loader will look for; return the paths of all of it."""
    places = []
    for place, path in libraries.needed(source, BUILD, os.environ.get("LD_LIBRARY_PATH", "")):
        places.append(place)
        if os.path.dirname(place) not in LOADER_FOLDERS:
            files.library_folders[os.path.dirname(place)] = True
        # The image may be older than the build.
        ours = BUILD in path.parents
        if (ours or place not in image) and place not in files:
            files.add_file(place, path, once=True)
    return places


# ---- Open MPI ----

def _tool(*command, env=None):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              errors="surrogateescape", timeout=TOOL_SECONDS, env=env).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ClusterError(f"--mpi: {error}") from None


def _mpi_folders():
    """Where Open MPI has its parts, by their names in ompi_info."""
    if not shutil.which("ompi_info"):
        raise ClusterError("--mpi: ompi_info is missing, which knows where the parts of Open MPI "
                           "are: install openmpi-bin")
    version = re.search(r"Open MPI v(\d+)", _tool("ompi_info", "--version"))
    if version and int(version[1]) >= OPEN_MPI_WITHOUT_PMI:
        raise ClusterError(f"--mpi: this is Open MPI {version[1]}, whose processes ask only "
                           "its own launcher for their ranks: they need Open MPI 4")
    lines = _tool("ompi_info", "--parsable", "--path", "all").splitlines()
    folders = {name: pathlib.Path(path) for name, path in
               (line.split(":", 2)[1:] for line in lines if line.count(":") >= 2)}
    if missing := {"pkglibdir", "sysconfdir", "pkgdatadir"} - folders.keys():
        raise ClusterError(f"--mpi: ompi_info does not tell {', '.join(sorted(missing))}")
    return folders


def _mpi_choices(env):
    """Components by framework, where the environment of ranks names them."""
    run = BUILD / "bin/tofu-run"
    lines = _tool(run, "--no-prefix", "--mpi", "/usr/bin/env",
                  env={"PATH": os.environ.get("PATH", "/bin"), **env}).splitlines()
    chosen = {}
    for line in lines:
        match = re.fullmatch(r"OMPI_MCA_([a-z]+)=([\w,]+)", line)
        if match:
            chosen[match[1]] = match[2].split(",")
    return chosen


def _mpi_components(folder, chosen):
    """The components that ranks may load; of some frameworks only one is of use."""
    for path in sorted(folder.glob("mca_*.so")):
        _, framework, name = path.stem.split("_", 2)
        if name in chosen.get(framework, [name]):
            yield path


def _add_provider(files, image):
    """Add what libfabric loads by name."""
    provider = BUILD / PROVIDER
    if not provider.is_file():
        raise ClusterError(f"--mpi: no {provider}: it is built where libfabric's headers are "
                           "(libfabric-dev)")
    _add_libraries(files, image, provider)
    files.add_file(f"/{PROVIDER}", provider, once=True)


def _add_open_mpi(files, image, env):
    """Add what Open MPI loads by name, and how the host configures it."""
    folders = _mpi_folders()
    for path in _mpi_components(folders["pkglibdir"], _mpi_choices(env)):
        _add_libraries(files, image, path)
        files.add_file(str(path), path, once=True)
    for folder, pattern in (("sysconfdir", "*.conf"), ("pkgdatadir", "*.txt")):
        for path in sorted(folders[folder].glob(pattern)):
            files.add_file(str(path), path, once=True)


def _is_open_mpi(program, places):
    """Whether a program with these libraries uses that; otherwise an MPICH for libfabric."""
    names = [os.path.basename(place) for place in places]
    if any(name.startswith("libmpich.so") for name in names):
        raise ClusterError(f"--mpi: {program} uses MPICH as the distribution has it, without "
                           "libfabric: build it with mpicc.openmpi, or with an MPICH for "
                           "libfabric")
    if not any(name.startswith("libmpi.so") for name in names):
        raise ClusterError(f"--mpi: {program} does not use an MPI: it needs no libmpi.so")
    return MPICH not in names


# ---- A run ----

def _find(program, image):
    """The host's file of an MPI program that is named as in a shell."""
    if "/" in program or any(image.has_program(f"{f}/{program}") for f in PROGRAM_FOLDERS):
        return program
    return shutil.which(program) or program


def _add_program(files, args, status, node, image, program):
    """Add a program if it is a file of the host.

    Returns its path in the guests, and its libraries; None where it is there already.
    """
    source = pathlib.Path(program)
    if "/" not in program or not source.is_file():
        return program, None
    if source.is_absolute() and _have_program(args.name, status, node, image, program):
        return program, None
    data = source.read_bytes()
    # The folder is named by the content: running programs are not replaced.
    place = f"/tmp/run-{hashlib.sha256(data).hexdigest()[:12]}/{source.name}"
    files.add(place, data, 0o755, once=False)
    return place, _add_libraries(files, image, source) if libraries.is_dynamic(source) else []


def _add_inputs(files, args):
    for word in args.file:
        name, _, place = word.partition(":")
        if not pathlib.Path(name).is_file():
            raise ClusterError(f"--file: no file {name}")
        if not place or place.endswith("/"):
            place += pathlib.Path(name).name
        files.add_file(os.path.join(args.cwd, place), name, once=False)


def of_run(args, status, node, program, env):
    """What `run` sends: the program's path in the guests, its files, its environment."""
    files, image = Files(), Image(status)
    if args.mpi:
        program = _find(program, image)
    place, places = _add_program(files, args, status, node, image, program)
    if args.mpi:
        _add_provider(files, image)
        if places is None or _is_open_mpi(program, places):
            _add_open_mpi(files, image, env)
    _add_inputs(files, args)
    folders = ":".join(files.library_folders)
    if folders and "LD_LIBRARY_PATH" not in env:
        env = {**env, "LD_LIBRARY_PATH": folders}
    return place, files, env
