# SPDX-License-Identifier: MIT
"""The experiments, in the order of the page."""

from . import (coll, coll_growth, figures, gain, homes, neighbor, p2p, p2p_memory,
               p2p_threshold, random_sets, scale, sensitivity, unit)

EXPERIMENTS = {one.name: one for one in (
    neighbor.Neighbor(), gain.Gain(), scale.Scale(), random_sets.RandomSets(), scale.Brief(),
    p2p.P2p(), p2p_memory.Memory(), p2p_threshold.Threshold(), p2p.Brief(),
    coll.Throughput(), coll_growth.Growth(), figures.Figures(), unit.Unit(),
    sensitivity.Sensitivity(), homes.Homes())}
