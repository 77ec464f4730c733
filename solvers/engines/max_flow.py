"""Maximum flow through a layered network with integer capacities, by OR-Tools."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def two_layer_flow(
    supply: Integers, middle: Integers, sink: Integers
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Maximum flow from a source through n left and m right nodes to a sink.

    Parameters
    ----------
    supply, middle, sink : (n,), (n, m) and (m,) capacities from the source to the left nodes, to
        the right nodes, and to the sink; below 2^63 in all.

    Returns
    -------
    The (n, m) flow in the middle, and (n,) the left nodes on the source's side of a least cut.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    (n, m), (left, right) = middle.shape, np.nonzero(middle)
    tail = np.concatenate([np.zeros(n), 1 + left, 1 + n + np.arange(m)]).astype(np.int32)
    head = np.concatenate([1 + np.arange(n), 1 + n + right, np.full(m, 1 + n + m)]).astype(np.int32)
    network, flow = SimpleMaxFlow(), np.zeros((n, m), dtype=np.int64)
    capacity = np.concatenate([supply, middle[left, right], sink]).astype(np.int64)
    arcs = network.add_arcs_with_capacity(tail, head, capacity)
    assert network.solve(0, 1 + n + m) == network.OPTIMAL
    flow[left, right] = network.flows(arcs)[n:-m]
    return flow, np.isin(np.arange(1, 1 + n), network.get_source_side_min_cut())
