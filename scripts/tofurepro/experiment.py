# SPDX-License-Identifier: MIT
"""An experiment: its measurements, the sheets made of them, and its section.

A module of tofurepro/experiments/ has one or more; experiments/__init__.py
lists them. Everything that an experiment shows comes from sheets, so that a
page can also be made of sheets that were measured elsewhere.
"""

import dataclasses


@dataclasses.dataclass
class Text:
    """A paragraph of the page."""
    text: str


@dataclasses.dataclass
class Plot:
    """A picture, NAME.svg. `draw` makes it, a matplotlib figure.

    `alt` describes the picture to those who do not see it.
    """
    name: str
    alt: str
    draw: object


@dataclasses.dataclass
class Plots:
    """Pictures side by side, if there is room, and their tables."""
    caption: str
    plots: list
    tables: list


@dataclasses.dataclass
class Tables:
    """Tables that are not collapsed."""
    tables: list


class Experiment:
    """Base class of experiments.

    name     as scripts/repro takes it
    title    of its section
    runs     boots; each becomes a sheet of its name
    sources  sheets without which there is nothing to show
    computes names of sheets that are computed from others
    """
    name = ""
    title = ""
    runs = ()
    sources = ()
    computes = ()

    def sheet(self, run, answers):
        """The sheet of a run; `answers` is the JSON of its calls."""
        raise NotImplementedError

    def computed(self, sheets):
        """Computed sheets, by name; none if their sources are missing."""
        return []

    def complaints(self, sheets):
        """Problems in the results, even if all tables are as expected."""
        return []

    def section(self, sheets):
        """The section of the page, from the sheets that exist."""
        raise NotImplementedError
