# SPDX-License-Identifier: MIT
"""The page: all tables and plots, in one file with the plots beside it.

It loads nothing from elsewhere: no script, font or style sheet.
"""

from html import escape

from . import plots
from .experiment import Plots, Tables, Text
from .experiments import EXPERIMENTS

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff;
       max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-top: 2px solid #0072b2; padding-top: .6rem; }
p { max-width: 46rem; }
nav a { margin-right: 1rem; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; }
.plots img { flex: 1 1 22rem; min-width: 0; max-width: 100%; height: auto; }
.plots img:only-child { max-width: 60rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .8rem 0 .2rem; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #777; }
summary { cursor: pointer; color: #0072b2; }
pre { overflow-x: auto; background: #f5f5f5; padding: .6rem; font-size: .8rem; }
@media print { body { font-size: 10pt; max-width: none; } .plots { break-inside: avoid; }
  details::details-content { content-visibility: visible; } }
"""


def _table(table):
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                     for row in table.rows)
    return f'<div class="wide"><table><caption>{escape(table.title)}</caption>\n' \
           f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"


def _folded(title, inside):
    return f"<details><summary>{escape(title)}</summary>\n{inside}</details>\n"


def _plot(plot, folder):
    plots.save(plot.draw(), folder / f"{plot.name}.svg")
    return f'<img src="{escape(plot.name)}.svg" alt="{escape(plot.alt)}">\n'


def _item(item, folder):
    if isinstance(item, Text):
        return f"<p>{escape(item.text)}</p>\n"
    if isinstance(item, Tables):
        return "".join(map(_table, item.tables))
    assert isinstance(item, Plots)
    tables = "".join(map(_table, item.tables))
    if not item.plots:
        return f"<h3>{escape(item.caption)}</h3>\n{tables}"
    images = "".join(_plot(plot, folder) for plot in item.plots)
    return f'<h3>{escape(item.caption)}</h3>\n<div class="plots">\n{images}</div>\n' + \
        (_folded("the same as tables", tables) if tables else "")


def _commands(experiment):
    lines = "\n\n".join("\n".join(run.commands()) for run in experiment.runs)
    return _folded("to measure the same by hand", f"<pre>{escape(lines)}</pre>\n") if lines else ""


def _section(experiment, sheets, folder):
    body = "".join(_item(item, folder) for item in experiment.section(sheets))
    return f'<section id="{experiment.name}">\n<h2>{escape(experiment.title)}</h2>\n' \
           f"{body}{_commands(experiment)}</section>\n"


def _runs(sheets, states):
    rows = []
    for experiment in EXPERIMENTS.values():
        for run in experiment.runs:
            if run.name in sheets:
                state = states.get(run.name, {})
                seconds = state.get("seconds")
                rows.append((f"{run.name}.txt", run.machine, run.nodes(), run.shape,
                             f"{seconds} s" if seconds is not None else "-",
                             state.get("expected", "-")))
    cells = "\n".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
                      for row in rows)
    head = "".join(f'<th scope="col">{name}</th>' for name in
                   ("table", "machine", "nodes", "shape", "took", "as expected"))
    return '<div class="wide"><table><caption>What was measured</caption>\n' \
           f"<thead><tr>{head}</tr></thead>\n<tbody>\n{cells}\n</tbody></table></div>\n"


BELIEF = (
    "Every time on this page is virtual: a nanosecond an instruction in the guests, and the times "
    "of a machine model in the interconnect. Clusters of virtual machines boot, and run the "
    "programs that are named below each section, on the driver and the library of this tree. Two "
    "runs of the same binaries give the same text, on an idle and on a busy host. Other binaries "
    "move a time by nanoseconds, and by more where that changes which packet goes first: the tables "
    "are compared with those in tests/repro/, and a run fails whose figures differ by more than "
    "2 %, those of messages by more than 5 %, or where another one of two schedules that are "
    "further apart is the faster.",
    "So the figures are exact, and true of the model; how near the model is to a real machine is "
    "what the sections with published figures are for. A processor with caches, errors of links "
    "and a busy network are not in it. The time that a run took is the host's, and no figure.",
)


def write(folder, sheets, states):
    """index.html and the plots of the sheets; `states` has their origins."""
    wanted = [one for one in EXPERIMENTS.values() if any(s in sheets for s in one.sources)]
    links = "".join(f'<a href="#{one.name}">{escape(one.title)}</a> ' for one in wanted)
    sections = "".join(_section(one, sheets, folder) for one in wanted)
    belief = "".join(f"<p>{escape(text)}</p>\n" for text in BELIEF)
    path = folder / "index.html"
    path.write_text(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Open Tofu: what is measured</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>What is measured</h1>\n<nav>{links}</nav>\n{belief}{_runs(sheets, states)}"
        f"{sections}</body>\n</html>\n", encoding="utf-8")
    return path
