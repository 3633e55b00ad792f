# SPDX-License-Identifier: MIT
"""Two virtual machines, connected by Tofu and by an Ethernet."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("O") or TOP / "build")
TOFU_CLUSTER = TOP / "scripts/tofu-cluster"

PERFTEST = ["/usr/bin/ib_write_lat", "/usr/bin/ib_write_bw", "/usr/bin/ib_atomic_lat"]
PROVIDER = "libibverbs/librxe-rdmav34.so"
# The Soft-RoCE driver needs a CRC-32; the generic one is fastest where
# carry-less multiplication is emulated.
MODULES = "virtio_net,crc32_generic,rdma_rxe,ib_uverbs"


class BenchError(Exception):
    """The measurement is impossible; the text is for the user."""


def provider():
    """The plug-in of libibverbs that drives rdma_rxe."""
    found = sorted(pathlib.Path("/usr/lib").glob(f"*/{PROVIDER}"))
    if not found:
        raise BenchError(f"no {PROVIDER}: run scripts/setup bench")
    return found[0]


def guest_arguments():
    """Files that the guests' image needs in addition."""
    plugin = provider()
    yield f"--modules={MODULES}"
    for program in [*PERFTEST, "/usr/bin/rdma"]:
        yield f"--add={program}"
    for file in (plugin, "/etc/libibverbs.d/rxe.driver"):
        yield f"--add={file}:{file}"


def network_arguments(folder):
    """An Ethernet between two QEMUs: datagram sockets that know each other."""
    for node in (0, 1):
        (folder / f"peer{node}").symlink_to(str(1 - node))
    return (f"-netdev dgram,id=ether,local.type=unix,local.path={folder}/{{node}},"
            f"remote.type=unix,remote.path={folder}/peer{{node}} "
            "-device virtio-net-pci,netdev=ether,romfile=,mac=52:54:00:00:00:0{node}")


class Cluster:
    """The two machines; programs run on one or both."""

    def __init__(self, name, folder):
        self.name = name
        self._folder = folder

    def up(self, accel):
        words = [TOFU_CLUSTER, "up", "--name", self.name, "--owner", str(os.getpid()),
                 "-n", "2", "--accel", accel, "--log-dir", BUILD / "bench/cluster",
                 f"--qemu-args={network_arguments(self._folder)}",
                 *(f"--guest-arg={word}" for word in guest_arguments())]
        if subprocess.run(words, check=False, timeout=1800).returncode:
            raise BenchError("the cluster did not come up")

    def down(self):
        subprocess.run([TOFU_CLUSTER, "down", "--name", self.name], check=False, timeout=60)

    def command(self, nodes, program, limit, output):
        return list(map(str, [TOFU_CLUSTER, "run", "--name", self.name, "--nodes", nodes,
                              "--timeout", limit, "--output-dir", output, *program]))

    def run(self, nodes, *program, limit=60):
        """Run a program; returns the first node's standard output."""
        with tempfile.TemporaryDirectory(dir=self._folder) as output:
            done = subprocess.run(self.command(nodes, program, limit, output),
                                  capture_output=True, text=True, check=False,
                                  timeout=limit + 30)
            first = pathlib.Path(output, f"node{nodes[0]}")
            if done.returncode:
                said = [first.with_suffix(s) for s in (".out", ".err")]
                texts = [p.read_text(errors="replace") for p in said if p.exists()]
                raise BenchError("\n".join([f"{' '.join(map(str, program))}: failed",
                                            done.stderr, *texts]))
            return first.with_suffix(".out").read_text()

    @contextlib.contextmanager
    def background(self, node, *program, limit=60):
        """A program that runs meanwhile; waits for its end."""
        with tempfile.TemporaryDirectory(dir=self._folder) as output:
            with subprocess.Popen(self.command(node, program, limit, output),
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as child:
                try:
                    yield
                    child.wait(timeout=limit)
                finally:
                    child.terminate()


@contextlib.contextmanager
def cluster(accel):
    """Two machines, removed at the end in any case."""
    with tempfile.TemporaryDirectory(prefix="tofu-bench-") as folder:
        machines = Cluster(f"bench-{os.getpid()}", pathlib.Path(folder))
        try:
            machines.up(accel)
            yield machines
        finally:
            machines.down()
