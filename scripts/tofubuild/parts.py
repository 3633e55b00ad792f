# SPDX-License-Identifier: MIT
"""Driver, library and tools of an installed copy.

In a checkout `make` has built them; users of a package never run it.
"""

import os

from . import cache, kernel, run

KEEP = 2


def make():
    """Build them in the cache, for an installed copy only."""
    if not cache.installed():
        return
    out = cache.build()
    complete, headers = out / "complete", kernel.headers().name
    with cache.lock(cache.root() / "build.lock"):
        out.mkdir(parents=True, exist_ok=True)
        os.utime(out)
        if not complete.exists() or complete.read_text(encoding="utf-8") != headers:
            # Clusters of an installed copy run no MPI programs, so need no
            # libfjmpi.
            run.run(["nice", "make", "-C", cache.checkout(), f"O={out}", "MPIS=", "lib", "driver"],
                    out / "build.log", "compiling driver, library and tools (once)")
            complete.write_text(headers, encoding="utf-8")
    cache.prune(out.parent, KEEP)
