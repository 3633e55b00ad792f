# SPDX-License-Identifier: MIT
"""What a debug kernel reports: each cluster that it boots gets a test point."""

import re

from .cluster import Cluster

# What such a kernel needs more of than the distribution's
SLOWNESS = 4
MEMORY_MIB = 1024
BOOT_SECONDS = 300
# Warnings go to the console, where they outlast the guest.
LOG_LEVEL = "loglevel=5"
# A race is seen where two processors take part.
PROCESSORS = "-smp 2"

_REPORT = re.compile(
    r"BUG: |WARNING: |INFO: |UBSAN: |DMA-API: (?!.*(?:disabled|disabling)$)|ODEBUG: |"
    r"Kernel panic|general protection|Oops|kmemleak: \d+ new suspected|refcount_t: |"
    r"Bad page|list_(?:add|del) corruption")
# What DMA debugging says, with a trace, of a page that is mapped for the ninth
# time: it has no room to count that. Memory may be registered any number of times.
_KNOWN = re.compile(r"DMA-API: exceeded \d+ overlapping mappings of cacheline.*?"
                    r"(?:---\[ end trace|\Z)", re.DOTALL)
# KCSAN's reports. The kernel has races of its own, which are no concern here: a
# report counts if the driver makes an access itself, or calls what does. The
# words of struct page are the kernel's, also where it pins for the driver.
_RACE = re.compile(r"BUG: KCSAN: .*?(?:={20}|\Z)", re.DOTALL)
_ACCESS = re.compile(r" by (?:task|interrupt)\b.*\n(.*\n.*)")
_DRIVER = "[tofu]"
_PINS = re.compile(r" (?:(?:un)?pin_user_page|internal_get_user_pages_fast)")
_LINES = 60
# kmemleak's own limit is 5 s.
_SCAN = "cd /sys/kernel/debug && [ -e kmemleak ] || exit 0; for i in 1 2; do sleep 6; " \
        "echo scan >kmemleak; done; cat kmemleak"
_SCAN_SECONDS = 300


def _race(match):
    """A report of KCSAN if it is the driver's, else nothing."""
    of_driver = (_DRIVER in frames and not _PINS.search(frames.splitlines()[0])
                 for frames in _ACCESS.findall(match[0]))
    return match[0] if any(of_driver) else ""


def first(text):
    """The first report of a console, up to its likely end; empty if there is none."""
    lines = _RACE.sub(_race, _KNOWN.sub("", text)).splitlines()
    for number, line in enumerate(lines):
        if _REPORT.search(line):
            return "\n".join(lines[number:number + _LINES])
    return ""


class Reports:
    """Looks at the consoles of clusters before they end."""

    def __init__(self, tap, kernel):
        self._tap, self._kernel = tap, kernel
        self._shown = set()

    def consoles(self, cluster):
        """Failing points for new reports; called before a console is lost."""
        found = 0
        for path in sorted(cluster.log_dir.glob("node*.console")):
            report = first(path.read_text(encoding="utf-8", errors="replace"))
            if report and report not in self._shown:
                found += 1
                self._shown.add(report)
                self._tap.point(False, f"{cluster.title}, {path.stem}: a report of kernel "
                                       f"{self._kernel}", report)
        return found

    def down(self, cluster):
        """The point of a cluster that is about to end; scans for leaks first."""
        leaks = cluster.run("sh", "-c", "mount -t debugfs none /sys/kernel/debug 2>/dev/null; "
                            + _SCAN, timeout=_SCAN_SECONDS)
        found = {node: text for node, text in leaks.all_out().items() if text.strip()}
        self._tap.point(not leaks.status and not found, f"{cluster.title}: nothing is leaked",
                        leaks.everything())
        if not self.consoles(cluster):
            self._tap.point(True, f"{cluster.title}: kernel {self._kernel} reports nothing")


def watch(tap, kernel):
    """Have all clusters looked at, for what kernel $TOFU_KERNEL reports there."""
    Cluster.reports = Reports(tap, kernel)
    Cluster.slowness = SLOWNESS
    Cluster.memory_min = MEMORY_MIB
    Cluster.common_options = ("--kernel-args", LOG_LEVEL, "--boot-timeout", BOOT_SECONDS,
                              "--qemu-args", PROCESSORS)
