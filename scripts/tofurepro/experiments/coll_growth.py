# SPDX-License-Identifier: MIT
"""How the time of collectives grows with the machine."""

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Simulated, nodes_of
from ..tables import Sheet, Table

# The last three sizes of a machine lie on the axes of the first three.
MEASURED = ("1x1x1x2x3x2", "1x2x4x1x3x2", "2x1x4x2x3x2", "4x2x4x2x3x2", "8x3x4x2x3x2",
            "8x6x4x2x3x2")
COMPUTED = ("16x6x8x2x3x2", "24x18x16x2x3x2")
LARGE = 16 << 20
SEGMENT = 16 << 10
# kind, algorithms, bytes, words of tofu-coll, measured shapes: the largest but one takes
# ten minutes for 16 MiB
CALLS = (("barrier", ("gates", "dissemination"), None, (), MEASURED),
         ("allreduce", ("gates", "doubling"), 8, ("--type", "uint64"), MEASURED),
         ("allreduce", ("pipelined", "streamed"), LARGE, ("--blank", "--segment", SEGMENT),
          MEASURED[:-2]))
STYLES = ({"color": plots.BLUE}, {"color": plots.SKY}, {"color": plots.RED},
          {"color": plots.ORANGE}, {"color": plots.GREEN}, {"color": plots.PURPLE})
MACHINE = "k"


def _group(shape):
    """8x6x8 of 4x2x4x2x3x2"""
    sizes = list(map(int, shape.split("x")))
    return "x".join(str(a * b) for a, b in zip(sizes[:3], sizes[3:]))


def _program(kind, algorithms, size, more):
    return ("coll", "--json", "--collective", kind, "--algorithm", ",".join(algorithms),
            *(("--bytes", size) if size else ()), "--warmup", int(size != LARGE),
            "--iterations", 1, *more)


def _title(kind, size):
    if size is None:
        return f"{kind}, µs"
    return f"{kind} of {plots.bytes_text(size)}, µs"


def _columns(algorithms):
    return ["nodes", "members", *(f"{name}{of}" for name in algorithms for of in ("", " formula"))]


def _formulas(kind, algorithms, size, shape):
    return [model.coll_us(kind, name, MACHINE, _group(shape), size) for name in algorithms]


def _row(call, shape, measured):
    kind, algorithms, size, *_ = call
    cells = [str(nodes_of(shape)), _group(shape)]
    for name, us in zip(algorithms, _formulas(kind, algorithms, size, shape)):
        cells += [f"{measured[name]:.3f}" if measured else "", f"{us:.3f}"]
    return cells


def _times(answer):
    return {row["asked"]: row["time_us"] for row in answer["rows"]}


def _draw(sheet):
    figure, ax = plots.axes(f"{MACHINE}: collectives of all nodes", "nodes", "time, µs", width=7.6,
                            height=5.2)
    styles = iter(STYLES)
    for kind, algorithms, size, *_ in CALLS:
        title = _title(kind, size)
        table = sheet.table(title)
        nodes = table.numbers("nodes")
        for name in algorithms:
            style = next(styles)
            ax.plot(nodes, table.numbers(f"{name} formula"), label=f"{title[:-4]}: {name}",
                    **style)
            ax.plot(*plots.without_gaps(nodes, table.column(name)), marker="o",
                    linestyle="none", **style)
    ax.set_xscale("log")
    ax.set_xticks(nodes, [str(round(n)) for n in nodes], rotation=40)
    ax.minorticks_off()
    plots.value_axis(ax)
    plots.legend_below(figure, ax, 2)
    return figure


class Growth(Experiment):
    """Barrier, and allreduce of 8 bytes and of 16 MiB, from 12 nodes to all of K."""
    name = "coll-growth"
    title = "Collectives of 12 to 82,944 nodes"
    runs = (Simulated("coll-growth", MACHINE, tuple((shape, _program(*call[:4])) for call in CALLS
                                                    for shape in call[4])),)
    sources = ("coll-growth",)

    def sheet(self, run, answers):
        answers = iter(answers)
        tables = []
        for call in CALLS:
            rows = [_row(call, shape, _times(next(answers)) if shape in call[4] else None)
                    for shape in MEASURED + COMPUTED]
            tables.append(Table(_title(call[0], call[2]), _columns(call[1]), rows))
        return Sheet(run.name, [f"collectives of all nodes of {MACHINE}, virtual time of tofu-sim; "
                                "largest machines by formula only"], tables)

    def section(self, sheets):
        sheet = sheets["coll-growth"]
        yield Text(
            "Points are measured, lines computed. The machines are boxes of K, up to all of it. "
            f"Those of {nodes_of(COMPUTED[0])} nodes and more are computed only, and 16 MiB also on "
            f"{nodes_of(MEASURED[-2])} and {nodes_of(MEASURED[-1])}: on all of K they are 1.5 "
            "thousand million packets.")
        yield Plots("Barrier, and allreduce of 8 bytes and of 16 MiB", [
            Plot("coll-growth", "Time of collectives against the number of nodes, 12 to 82944: "
                 "lines of the formulas and measured points; the tables have the same numbers.",
                 lambda: _draw(sheet))], sheet.tables)
