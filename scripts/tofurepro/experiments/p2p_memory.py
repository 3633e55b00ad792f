# SPDX-License-Identifier: MIT
"""A process's memory for peers: measured for few, computed for many."""

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Tables, Text
from ..measure import Processes
from ..tables import Sheet, Table
from . import p2p

RUN = "p2p-memory"
COMPUTED = "p2p-memory-computed"
PEERS = tuple(10 ** n * k for n in range(1, 7) for k in (1, 2, 5)) + (10 ** 7,)
# Measured numbers of processes, as many as a common machine has room for
PROCESSES = 64
MEASURED = (1, 2, 4, 8, 16, 32, 63)
LIMIT = 16 << 20
AUTO = f"auto, {LIMIT >> 20} MiB"
NEED = "bytes that a process takes, by peers"
EVEN = "peers from which own rings take more than the shared ones"
ALL = (*p2p.MODES, AUTO)
STYLES = {**p2p.STYLES, AUTO: {"color": plots.PURPLE, "marker": "x", "linestyle": "--"}}


def _need():
    """Bytes by mode and peers, as libtofu computes them."""
    bytes_of = {}
    for words in (("--mode", ",".join(p2p.MODES), "--memory", "0"),
                  ("--mode", "auto", "--memory", str(LIMIT))):
        rows = model.p2p_need(PEERS, *words)
        bytes_of.update({(row["mode"].replace("auto", AUTO), row["peers"]): row["need"]
                         for row in rows})
    return bytes_of


def _even():
    """All modes have the shared rings; own rings come in addition."""
    table = Table(EVEN, ["mode", "an own ring", "shared rings", "from"], [])
    for row in model.p2p_need((1,), "--mode", "fast,saving", "--memory", "0"):
        table.rows.append([row["mode"], str(row["own"]), str(row["shared"]),
                           str(row["shared"] // row["own"] + 1)])
    return table


def _draw(table, measured):
    figure, ax = plots.axes("memory of a process", "peers that it exchanges messages with",
                            "bytes", 8, 4.8)
    peers = table.numbers("peers")
    for mode in ALL:
        ax.plot(peers, table.numbers(mode), label=f"{mode}, computed",
                **{**STYLES[mode], "markersize": 0})
    for label, rows, style in (("measured, processes", measured[0], {"fillstyle": "none"}),
                               ("measured, tofu-sim", measured[1], {"markersize": 3})):
        for mode in p2p.MODES if rows else ():
            ax.plot(rows.numbers("peers"), rows.numbers(mode), label=f"{mode}, {label}",
                    **{**STYLES[mode], "linestyle": "none", **style})
    ax.set_xscale("log")
    ax.set_yscale("log")
    plots.legend_below(figure, ax, 3)
    return figure


class Memory(Experiment):
    """Bytes of a process against the number of its peers."""
    name = "p2p-memory"
    title = "Memory of a process for messages"
    runs = (Processes(RUN, PROCESSES, (
        ("tofu-p2p", "--json", "--test", "memory", "--mode", ",".join(p2p.MODES), "--peers",
         ",".join(map(str, MEASURED))),)),)
    sources = (RUN,)
    computes = (COMPUTED,)

    def sheet(self, run, answers):
        p2p.checked(answers)
        return Sheet(run.name, [f"{run.nodes()} processes of one host; every figure is what "
                                "tofu_p2p_need() computes, to the byte"],
                     [p2p.memory_table(answers[0])])

    def computed(self, sheets):
        if RUN not in sheets:
            return
        need = _need()
        table = Table(NEED, ["peers", *ALL], [[str(n), *(str(need[mode, n]) for mode in ALL)]
                                              for n in PEERS])
        yield Sheet(COMPUTED, ["tofu_p2p_need(), the same accounts as a process has"],
                    [table, _even()])

    def section(self, sheets):
        table, simulated = sheets[COMPUTED].table(NEED), sheets.get(f"p2p-{p2p.MACHINES[0]}")
        measured = (sheets[RUN].table(p2p.MEMORY), simulated and simulated.table(p2p.MEMORY))
        last = dict(zip(table.columns, table.rows[-1]))
        yield Text(
            "All bytes that the buffers and tables of <tofu/p2p.h> take in a process, without what "
            "uTofu keeps for its queues. Lines are computed by tofu_p2p_need(), by the code that "
            "keeps the accounts of a living process; points were measured, with processes of one "
            "host and by tofu-sim, and tofu-p2p fails where a byte differs. 'Shared' stays "
            "what it is when the peers of whom something is remembered are as many as may be; "
            "'auto' never takes more than the memory that it was given.")
        yield Plots("Memory against number of peers", [
            Plot("p2p-memory", "Log-log plot: bytes of a process against 10 to 10^7 peers. At "
                 f"{last['peers']} peers: " +
                 ", ".join(f"{mode} {int(last[mode]):.3g}" for mode in ALL) +
                 ". Fast and saving rise with the peers, shared is flat.",
                 lambda: _draw(table, measured))],
            [table, *(t for t in measured if t)])
        yield Tables([sheets[COMPUTED].table(EVEN)])
