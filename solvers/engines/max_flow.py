"""The most flow through a layered network of whole capacities, by OR-Tools."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def two_layer_flow(
    supply: Integers, middle: Integers, sink: Integers
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """The most flow from a source through n left and then m right nodes to a sink.

    Parameters
    ----------
    supply : (n,) capacities from the source to each left node.
    middle : (n, m) capacities between left and right nodes.
    sink : (m,) capacities from each right node to the sink; capacities add up to less than 2^63.

    Returns
    -------
    The (n, m) flow between the layers, and (n,) the left nodes on the source's side of the least
    cut with the fewest nodes on that side.
    """
    from ortools.graph.python.max_flow import SimpleMaxFlow

    (n, m), (left, right) = middle.shape, np.nonzero(middle)
    tail = np.concatenate([np.zeros(n), 1 + left, 1 + n + np.arange(m)]).astype(np.int32)
    head = np.concatenate([1 + np.arange(n), 1 + n + right, np.full(m, 1 + n + m)]).astype(np.int32)
    network = SimpleMaxFlow()
    arcs = network.add_arcs_with_capacity(
        tail, head, np.concatenate([supply, middle[left, right], sink]).astype(np.int64)
    )
    if (status := network.solve(0, 1 + n + m)) != network.OPTIMAL:
        raise RuntimeError(f"the flow ended as {status}")  # pragma: no cover - capacities are small
    flow = np.zeros((n, m), dtype=np.int64)
    flow[left, right] = network.flows(arcs)[n:-m]
    near = np.zeros(2 + n + m, dtype=bool)
    near[network.get_source_side_min_cut()] = True
    return flow, near[1 : 1 + n]
