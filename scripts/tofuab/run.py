# SPDX-License-Identifier: MIT
"""Runs in virtual time, and how much time each phase took."""

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
    """An error with a message for the user."""


def _call(seconds, script, *words):
    done = subprocess.run([SCRIPTS / script, *map(str, words)], capture_output=True, text=True,
                          timeout=seconds, check=False)
    if done.returncode:
        raise RunError(f"{script} {words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@contextlib.contextmanager
def _cluster(args, build, *more):
    name = f"ab-{os.getpid()}"
    shape = ["--shape", args.shape] if args.shape else ["-n", args.nodes]
    _call(BOOT_SECONDS, "tofu-cluster", "up", "--name", name, "--owner", os.getpid(),
          "--time", "virtual", "--machine", args.machine, *shape, "--memory", 256,
          "--guest-arg=--build", f"--guest-arg={build}", *more)
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
        raise RunError(f"the tofu-perf of {build} reports no phases: is it from before virtual "
                       "time?") from None
    return {f"put of {one['bytes']} B":
            {phase: ns for phase, ns in one.items() if phase not in ("op", "bytes")}
            for one in results}


def _means(phases):
    """The mean of each phase over all commands of a kind and size."""
    found = {}
    for one in phases:
        what = f"{one['type']} of {one['bytes']} B"
        for phase, ns in one["phases_ns"].items():
            if ns is not None:
                found.setdefault(what, {}).setdefault(phase, []).append(ns)
    means = {what: {phase: sum(values) / len(values) for phase, values in of.items()}
             for what, of in found.items()}
    if phases:
        # Only this number includes software between transfers.
        last = max(one["start_ns"] + one["total_ns"] for one in phases)
        means["the whole run"] = {"first to last": last - min(one["start_ns"] for one in phases)}
    return means


def traced(args, build):
    """{what: {phase: ns}} of any program, from its trace."""
    with tempfile.TemporaryDirectory() as folder:
        with _cluster(args, build, "--trace", "--log-dir", folder) as name:
            _run(args, name, folder, *args.program)
            traces = sorted(pathlib.Path(folder).glob("node*.trace"))
            text = _call(args.timeout, "tofu-trace", "phases", "--json", *traces)
    return _means(json.loads(text))
