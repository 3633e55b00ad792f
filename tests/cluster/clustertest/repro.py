# SPDX-License-Identifier: MIT
"""Tests of scripts/repro: what it measures is what stands in tests/repro/."""

import subprocess
import tempfile

from .cluster import TOP

SECONDS = 900


def repro_brief(tap):
    """12 nodes: a few rows of 'make repro' come out as expected, to the nanosecond"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(TOP / "scripts/repro"), "brief", "-o", folder],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        if "no matplotlib" in done.stderr:
            tap.skip("repro brief", "no matplotlib")
            return
        tap.point(done.returncode == 0, "repro brief measures the expected table",
                  done.stdout + done.stderr)


TESTS = {"repro": repro_brief}
