"""The arc-flow program: servers are paths through a graph of loads, a unit of flow each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..program import LinearProgram, ProgramBuilder

Integers = npt.NDArray[np.int64]


def arc_flow_program(
    tail: Integers,
    head: Integers,
    item: Integers,
    nodes: int,
    ends: list[tuple[int, int]],
    request: Integers,
    servers: Integers,
    price: Integers,
) -> LinearProgram:
    """Least cost of flow from each source to its target that runs through enough arcs of every VM
    type.

    Parameters
    ----------
    tail, head, item : (arcs,) node, node, and VM type that the arc adds (-1 for none).
    nodes : how many.
    ends : (source, target) of each class.
    request, servers, price : (s,) VMs of each type; (p,) servers of each class, and their cost.

    Columns: the arcs, then one per class for the flow that returns from target to source: its
    number of servers. Source: Brandão and Pedroso, "Bin packing and related problems: general
    arc-flow formulation with graph compression" (2016).
    """
    builder = ProgramBuilder()
    most = int(request.sum())
    arcs = builder.columns(
        len(tail),
        upper=np.where(item >= 0, request[np.maximum(item, 0)], most).astype(float),
        integer=True,
    )
    back = builder.columns(
        len(ends),
        cost=price.astype(float),
        upper=np.minimum(servers, most).astype(float),
        integer=True,
    )
    source = np.array([entry[0] for entry in ends])
    target = np.array([entry[1] for entry in ends])
    ways = (tail, arcs, -1.0), (head, arcs, 1.0), (target, back, -1.0), (source, back, 1.0)
    builder.sums(nodes, *ways, lower=0.0, upper=0.0)
    adds = item >= 0
    builder.sums(len(request), (item[adds], arcs[adds], 1.0), lower=request)
    return builder.build()
