# SPDX-License-Identifier: MIT
"""The experiments, in the order of the page."""

from . import figures, gain, neighbor, scale

EXPERIMENTS = {one.name: one for one in (
    neighbor.Neighbor(), gain.Gain(), scale.Scale(), scale.Brief(), figures.Figures())}
