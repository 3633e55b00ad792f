# SPDX-License-Identifier: MIT
"""Soft-RoCE (rdma_rxe) between the two machines, measured by perftest.

It is given what serves it: jumbo frames, so that its packets carry 4096 bytes,
and a timeout that a slow machine does not mistake for a loss.
"""

from cluster import BenchError

MIB = 1.048576  # perftest's MB/sec is 2^20 bytes
PORT = "4853"  # 18515 in hexadecimal, the port of perftest's server
COMMON = ["-d", "rxe0", "-x", "1", "-m", "4096", "-u", "20", "-F"]

SETUP = """
set -e
ip link set lo up
ip link set eth0 mtu 4500 up
ip addr add 10.0.0.$1/24 dev eth0
rdma link add rxe0 type rxe netdev eth0
"""
LISTENS = f"""
for i in $(seq 100); do
	grep -q ':{PORT} .* 0A ' /proc/net/tcp /proc/net/tcp6 && exit 0
	sleep 0.1
done
exit 1
"""


def setup(machines):
    for node in (0, 1):
        machines.run(str(node), "sh", "-c", SETUP, "sh", str(node + 1))
    machines.run("0", "ping", "-c", "1", "-W", "5", "10.0.0.2")


def row(text, size):
    """The numbers in the line that begins with the size."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 5 and words[0] == str(size):
            return [float(word) for word in words]
    raise BenchError(f"perftest printed no result:\n{text}")


def perftest(machines, program, size, iterations, *options):
    words = [program, *COMMON, "-n", str(iterations), *options]
    with machines.background("0", *words):
        machines.run("0", "sh", "-c", LISTENS)
        return row(machines.run("1", *words, "10.0.0.1"), size)


def latency(numbers):
    return {"min": numbers[2], "typical": numbers[4], "average": numbers[5]}


def measure(machines):
    """One round: latencies in µs, bandwidths in MB/s."""
    def bandwidth(size, iterations):
        numbers = perftest(machines, "ib_write_bw", size, iterations, "-s", str(size))
        return {"average": numbers[3] * MIB}

    return {
        "write_8": latency(perftest(machines, "ib_write_lat", 8, 1000, "-s", "8")),
        "atomic_8": latency(perftest(machines, "ib_atomic_lat", 8, 1000,
                                     "-A", "FETCH_AND_ADD")),
        "write_64k": bandwidth(65536, 300),
        "write_4m": bandwidth(4 << 20, 8),
    }
