# SPDX-License-Identifier: MIT
"""Common parts of all plots: the same input gives the same SVG."""

import sys

try:
    import matplotlib
except ImportError:
    sys.exit("repro: no matplotlib for /usr/bin/python3: run scripts/setup repro")

matplotlib.use("svg")
# pylint: disable=wrong-import-position
from matplotlib import pyplot, ticker

from .tables import number

# The colours of Okabe and Ito: distinct for the colour-blind, too
BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
BLUE, RED, PURPLE, GREY = "#0072b2", "#d55e00", "#cc79a7", "#777777"
# One more, for pictures with nine lines
BROWN = "#8c564b"

pyplot.rcParams.update({
    # Keep text as text: it is small, and can be searched.
    "svg.fonttype": "none", "svg.hashsalt": "tofu", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"], "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.6, "legend.frameon": False,
    "lines.linewidth": 1.5, "lines.markersize": 4.5, "axes.titlesize": 10,
})


def bytes_text(size):
    """1 KiB, 16 MiB; other sizes as they are."""
    for power, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def axes(title, x, y, width=5.6, height=4.2):
    """A figure with one pair of axes."""
    figure, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    ax.set_title(title, loc="left")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return figure, ax


def size_axis(ax, sizes):
    """Scale the horizontal axis by powers of two, in bytes."""
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(ticker.FixedLocator(sizes[::2]))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: bytes_text(round(size))))
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.tick_params(axis="x", labelrotation=40)


def value_axis(ax):
    """Make the vertical axis logarithmic, labelled 1, 2, 5, 10, 20."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.10g}"))
    ax.yaxis.set_minor_locator(ticker.NullLocator())


def legend_below(figure, ax, columns=3):
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=columns)


def save(figure, path):
    # The legend is below the figure: "tight" makes room for it.
    figure.savefig(path, format="svg", bbox_inches="tight",
                   metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def without_gaps(xs, cells):
    """Two lists: the xs whose cell has a number, and the numbers."""
    pairs = [(x, number(cell)) for x, cell in zip(xs, cells) if number(cell) is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]
