# SPDX-License-Identifier: MIT
"""Tofu, between the same machines, and between two processes of the host."""

import json
import re
import subprocess

from cluster import BUILD, BenchError

MIB4 = str(4 << 20)
# Name of the figure: (options of tofu-perf, member of its result)
GUEST = {
    "put_8": (["--op", "put", "--size", "8"], "latency_us"),
    "armw_8": (["--op", "armw", "--size", "8"], "latency_us"),
    "put_64k": (["--op", "put", "--size", "65536", "--window", "16"], "mb_per_s"),
    "put_4m": (["--op", "put", "--size", MIB4], "mb_per_s"),
}


def result(text):
    """The first result in the output of tofu-perf --json."""
    # A launcher of several processes prefixes each line.
    text = re.sub(r"^\[\d+\] ?", "", text, flags=re.M)
    try:
        return json.loads(text)["results"][0]
    except (ValueError, KeyError, IndexError):
        raise BenchError(f"tofu-perf printed no result:\n{text}") from None


def guest(machines):
    """One round between the machines."""
    return {name: result(machines.run("0-1", "tofu-perf", "--json", *options))[key]
            for name, (options, key) in GUEST.items()}


def emu(*options, bind=False):
    """tofu-perf on two processes of the host, bound to processors if wanted."""
    command = [BUILD / "bin/tofu-run", "-n", "2", *["--bind"] * bind, BUILD / "bin/tofu-perf",
               "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise BenchError(f"tofu-run tofu-perf: failed\n{done.stderr}")
    return result(done.stdout)


def host():
    """One round on the host, with the speed of its memcpy()."""
    large = emu("--op", "put", "--size", MIB4, "--memcpy")
    # In turns: a put in strong order has to keep up with a get, which has none.
    one_way = {f"emu_one_way_{op}_{name}": emu("--op", op, "--size", size, bind=True)["latency_us"]
               for name, size in (("64k", "65536"), ("4m", MIB4)) for op in ("put", "get")}
    return {
        **one_way,
        "emu_put_8": emu("--op", "put", "--size", "8", "--iterations", "20000")["latency_us"],
        "emu_put_4m": large["mb_per_s"],
        "memcpy_4m": large["memcpy_mb_per_s"],
    }
