# SPDX-License-Identifier: MIT
"""Runs in virtual time, and where their time went."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

from tofubuild import cache

SCRIPTS = cache.checkout() / "scripts"
SIZES = "8,1024,65536"
BOOT_SECONDS = 300


class RunError(Exception):
    """Something that a person has to read."""


def _call(seconds, script, *words):
    done = subprocess.run([SCRIPTS / script, *map(str, words)], capture_output=True, text=True,
                          timeout=seconds, check=False)
    if done.returncode:
        raise RunError(f"{script} {words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@contextlib.contextmanager
def _cluster(args, build):
    name = f"ab-{os.getpid()}"
    shape = ["--shape", args.shape] if args.shape else ["-n", args.nodes]
    _call(BOOT_SECONDS, "tofu-cluster", "up", "--name", name, "--time", "virtual",
          "--machine", args.machine, *shape, "--memory", 256,
          "--guest-arg=--build", f"--guest-arg={build}")
    try:
        yield name
    finally:
        _call(60, "tofu-cluster", "down", "--name", name)


def _run(args, name, folder, *words):
    _call(args.timeout + 60, "tofu-cluster", "run", "--name", name, "--timeout", args.timeout,
          "--output-dir", folder, *words)


def perf(args, build):
    """{what: {phase: ns}} of puts by tofu-perf."""
    with _cluster(args, build) as name, tempfile.TemporaryDirectory() as folder:
        _run(args, name, folder, "tofu-perf", "--op", "put", "--size", SIZES, "--phases", "--json")
        text = (pathlib.Path(folder) / "node0.out").read_text()
    try:
        results = json.loads(text)["phases"]
    except (ValueError, KeyError):
        raise RunError(f"the tofu-perf of {build} tells no phases: is it from before virtual "
                       "time?") from None
    return {f"put of {one['bytes']} B":
            {phase: ns for phase, ns in one.items() if phase not in ("op", "bytes")}
            for one in results}


def traced(args, build):
    """{what: {phase: ns}} of any program, out of its trace."""
    with _cluster(args, build) as name, tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        _run(args, name, folder, "--trace", trace, *args.program)
        text = _call(args.timeout, "tofu-trace", "phases", "--json", trace)
    return json.loads(text)
