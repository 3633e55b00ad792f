# SPDX-License-Identifier: MIT
"""Tests of tofu-ab: it prints what an edit of the library costs."""

import json
import os
import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
POST = "libtofu/src/utofu/transfer.c"
FUNCTION = "\nint utofu_put_piggyback8("
INSTRUCTIONS = 7
# Instructions that the compiler adds or drops because of them
AROUND = 3
SECONDS = 600


def _git(*words, **more):
    return subprocess.run(["git", "-C", TOP, *words], check=True, capture_output=True, text=True,
                          **more).stdout.strip()


def _slower(text):
    """The source, with instructions added at the beginning of the function."""
    body = text.index("{\n", text.index(FUNCTION)) + 2
    declarations_end = text.index("\n\n", body) + 1
    nops = "nop\\n" * INSTRUCTIONS
    return f'{text[:declarations_end]}\t__asm__ volatile("{nops}");\n{text[declarations_end:]}'


def _environment(folder):
    """A folder that git writes to, instead of the checkout."""
    objects = _git("rev-parse", "--path-format=absolute", "--git-path", "objects")
    identity = {f"GIT_{who}_{what}": "tofu-ab@localhost" for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")}
    return {**os.environ, **identity, "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder), "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}


def _commit_of(folder, text, env):
    """A commit like HEAD except for one file."""
    file = folder / "source.c"
    file.write_text(text)
    blob = _git("hash-object", "-w", file, env=env)
    _git("read-tree", "HEAD", env=env)
    _git("update-index", "--cacheinfo", f"100644,{blob},{POST}", env=env)
    return _git("commit-tree", "-m", "slower", _git("write-tree", env=env), env=env)


def instructions(tap):
    """tofu-ab: instructions that were put into a put are what it has lost"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        env = _environment(folder)
        slower = _commit_of(folder, _slower(_git("show", f"HEAD:{POST}") + "\n"), env)
        done = subprocess.run([TOP / "scripts/tofu-ab", "--json", "HEAD", slower], env=env,
                              capture_output=True, text=True, timeout=SECONDS, check=False)
    tap.point(done.returncode == 0, "tofu-ab compares two revisions",
              f"status {done.returncode}\n{done.stderr}")
    if done.returncode:
        return
    rows = {(row["what"], row["phase"]): row["b"] - row["a"]
            for row in json.loads(done.stdout)["rows"]}
    put = {phase: change for (what, phase), change in rows.items() if what == "put of 8 B"}
    library = put.get("library", 0)
    tap.point(INSTRUCTIONS <= library <= INSTRUCTIONS + AROUND and
              put.get("wire") == 0 and put.get("engine") == 0,
              f"{INSTRUCTIONS} instructions more in a put are seen in the library, and only there",
              f"changes: {put}")


TESTS = {"ab": instructions}
