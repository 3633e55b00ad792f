# SPDX-License-Identifier: MIT
"""Tests of scripts/repro: it measures what tests/repro/ expects."""

import subprocess
import tempfile

from .cluster import TOP

SECONDS = 900


def _measure(tap, name):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(TOP / "scripts/repro"), name, "-o", folder],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        if "no matplotlib" in done.stderr:
            tap.skip(f"repro {name}", "no matplotlib")
            return
        tap.point(done.returncode == 0, f"repro {name} measures the expected table",
                  done.stdout + done.stderr)


def repro_brief(tap):
    """12 nodes: a few rows of 'make repro' come out as expected"""
    _measure(tap, "brief")


def repro_p2p(tap):
    """3 nodes: messages, records and memory come out as expected"""
    _measure(tap, "p2p-brief")


TESTS = {"repro": repro_brief, "repro-p2p": repro_p2p}
