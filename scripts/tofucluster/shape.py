# SPDX-License-Identifier: MIT
"""Shapes of a machine, as people write them: 2x2, 4x3x8, 1x1x1x2x3x2."""

from .errors import ClusterError

# As in qemu-device/fabric/fabric.h
NODES_MAX = 1024


def parse(text):
    """The axes of a shape."""
    try:
        axes = [int(word) for word in text.lower().split("x")]
    except ValueError:
        raise ClusterError(f"'{text}' is not a shape; write 2x2, 4x3x8 or six axes") from None
    if len(axes) not in (1, 2, 3, 6) or min(axes) < 1:
        raise ClusterError(f"'{text}' is not a shape: one, two, three or six axes")
    return axes


def count(axes):
    nodes = 1
    for axis in axes:
        nodes *= axis
    return nodes


def text(axes):
    return "x".join(map(str, axes))


def for_nodes(nodes):
    """The squarest two-dimensional shape with that number of nodes."""
    short = max(n for n in range(1, nodes + 1) if nodes % n == 0 and n * n <= nodes)
    return [nodes // short, short]


def choose(shape, nodes):
    """Axes from the user's shape, number of nodes, both or neither."""
    axes = parse(shape) if shape else for_nodes(nodes if nodes and nodes > 0 else 4)
    if nodes is not None and nodes != count(axes):
        raise ClusterError(f"shape {text(axes)} has {count(axes)} nodes, not {nodes}")
    if count(axes) > NODES_MAX:
        raise ClusterError(f"{count(axes)} nodes are more than {NODES_MAX}")
    return axes


def coordinates(axes, node):
    """Coordinates of a node; the last axis varies fastest."""
    place = []
    for axis in reversed(axes):
        place.insert(0, node % axis)
        node //= axis
    return place


def parse_nodes(spec, nodes):
    """Node numbers in a list such as 0,2-3; None means all."""
    if spec is None:
        return list(range(nodes))
    chosen = set()
    try:
        for part in spec.split(","):
            first, _, last = part.partition("-")
            chosen.update(range(int(first), int(last or first) + 1))
    except ValueError:
        raise ClusterError(f"'{spec}' is not a list of nodes such as 0,2-3") from None
    if not chosen or min(chosen) < 0 or max(chosen) >= nodes:
        raise ClusterError(f"'{spec}': this cluster has nodes 0 to {nodes - 1}")
    return sorted(chosen)
