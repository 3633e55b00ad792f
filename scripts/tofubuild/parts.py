# SPDX-License-Identifier: MIT
"""Driver, library and tools of an installed copy.

In a checkout `make` has built them. Who has installed a package never ran it.
"""

import os

from . import cache, kernel, run

KEEP = 2


def make():
    """Build in the cache what an installed copy needs of them; nothing in a checkout."""
    if not cache.installed():
        return
    out = cache.build()
    complete, headers = out / "complete", kernel.headers().name
    with cache.lock(cache.root() / "build.lock"):
        out.mkdir(parents=True, exist_ok=True)
        os.utime(out)
        if not complete.exists() or complete.read_text(encoding="utf-8") != headers:
            # Its cluster runs no MPI programs, so that libfjmpi is not needed.
            run.run(["nice", "make", "-C", cache.checkout(), f"O={out}", "MPIS=", "lib", "driver"],
                    out / "build.log", "compiling driver, library and tools (once)")
            complete.write_text(headers, encoding="utf-8")
    cache.prune(out.parent, KEEP)
