# SPDX-License-Identifier: MIT
"""What the manual pages have in common: how they begin, and how text becomes roff."""

import re
import textwrap

WIDTH = 76
RAGGED = [".nh", ".ad l"]  # names are not broken, nor stretched


class Wrong(Exception):
    """What is said somewhere, and a page cannot say."""


def flowed(text):
    return " ".join(text.split())


def escaped(text):
    text = text.replace("\\", r"\e").replace("…", "...")
    # An option's hyphens are minuses; a line must not begin as a request does.
    text = re.sub(r"(?<![\w.])--?(?=\w)", lambda match: r"\-" * len(match[0]), text)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def wrapped(text):
    """Lines of a paragraph that is roff already."""
    return [re.sub(r"^(?=[.'])", r"\&", line) for line in
            textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)]


def top(name, section, origin, date, source, title):
    """Lines up to the first section; origin says where a page is to be edited."""
    return [r".\" SPDX-License-Identifier: MIT", rf".\" {origin}",
            f'.TH {name.upper()} {section} {date} "{source}" {title}', *RAGGED]


def lines_of(path):
    """A file's, without comments; '.so FILE' stands for the lines of a file beside it."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(".so "):
            yield from lines_of(path.parent / line[len(".so "):])
        elif not line.startswith(r".\""):
            yield line


def sections(path):
    """What a file in roff has, by the names of sections: lists of lines."""
    found, section = {}, None
    for line in lines_of(path):
        if line.startswith(".SH "):
            section = found.setdefault(line[len(".SH "):].strip('"'), [])
        elif section is None:
            raise Wrong(f"{path}: begins with no section")
        else:
            # After .EE lines would be filled and words broken as if it were the beginning.
            section.extend([line, *(RAGGED if line == ".EE" else [])])
    return found
