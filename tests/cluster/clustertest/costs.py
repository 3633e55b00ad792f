# SPDX-License-Identifier: MIT
"""Tests of the table by which tofu-sim knows what the library's calls cost."""

import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
COSTS = TOP / "scripts/tofu-costs"
SECONDS = 300


def _run(*words):
    return subprocess.run([COSTS, *words], capture_output=True, text=True, timeout=SECONDS,
                          check=False)


def calibration(tap):
    """tofu-costs: tofu-sim takes as long for each call as virtual machines do"""
    measured = _run("measure")
    tap.point(measured.returncode == 0, "two virtual machines measure their calls",
              f"status {measured.returncode}\n{measured.stderr}")
    if measured.returncode:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(measured.stdout)
        file.flush()
        compared = _run("compare", file.name)
    tap.point(compared.returncode == 0, "tofu-sim measures the same; else: tofu-costs fit",
              compared.stdout + compared.stderr)


TESTS = {"costs": calibration}
