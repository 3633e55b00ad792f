# SPDX-License-Identifier: MIT
"""What an experiment is: what to measure, what to make of it, what to show.

A module of tofurepro/experiments/ has one or more; experiments/__init__.py names
them.  All that an experiment shows comes from sheets, so that a page can be made of
sheets that somebody else has measured.
"""

import dataclasses


@dataclasses.dataclass
class Text:
    """A paragraph of the page."""
    text: str


@dataclasses.dataclass
class Plot:
    """A picture, NAME.svg.  `draw` makes it, a matplotlib figure.

    `alt` says what is to be seen to whom does not see it.
    """
    name: str
    alt: str
    draw: object


@dataclasses.dataclass
class Plots:
    """Pictures side by side, where there is room, and the tables that they show."""
    caption: str
    plots: list
    tables: list


@dataclasses.dataclass
class Tables:
    """Tables that are not folded away."""
    tables: list


class Experiment:
    """Overridden by each experiment.

    name     as scripts/repro takes it
    title    of its section
    runs     boots, each of which becomes a sheet of its name
    sources  sheets without which there is nothing to show
    computes names of sheets that are made of others
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
        """Sheets made of those that there are, by name; none without their sources."""
        return []

    def complaints(self, sheets):
        """What must not stay as it is, though all tables are as expected."""
        return []

    def section(self, sheets):
        """What the page shows, of the sheets that there are."""
        raise NotImplementedError
