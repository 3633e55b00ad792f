# SPDX-License-Identifier: MIT
"""Whether and how much overhead-aware is worse than the best of the others."""

import dataclasses

# Smaller differences do not count: processors see time in steps of 0.13 µs.
SAME = 1  # per cent


@dataclasses.dataclass
class Case:
    """Measured times of one set of puts, µs: overhead-aware, and the best of the others."""
    where: str
    ours: float
    best: float

    def more(self):
        """Per cent by which overhead-aware takes longer."""
        return 100 * (self.ours / self.best - 1)


def cases(table, where, ours, others):
    """A case for each row of a table; `where` names it by the first cell."""
    best = [min(times) for times in zip(*(table.numbers(name) for name in others))]
    return [Case(where(cell), *times)
            for cell, *times in zip(table.column(table.columns[0]), table.numbers(ours), best)]


def sentence(every):
    """Conclusions from the cases."""
    more = [case.more() for case in every]
    worst = max(every, key=Case.more)
    text = f"overhead-aware is not worse than the best of the six others in " \
           f"{sum(value <= 0 for value in more)} of {len(every)} sets"
    if worst.more() > 0:
        text += f", and within {SAME} % in {sum(value <= SAME for value in more)}; at most " \
                f"{worst.more():.1f} % worse, at {worst.where} ({worst.ours:.2f} µs, not " \
                f"{worst.best:.2f})"
    mean = sum(more) / len(more)
    return f"{text}. On average it takes {abs(mean):.1f} % {'more' if mean > 0 else 'less'}."
