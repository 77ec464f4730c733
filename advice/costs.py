"""What the nodes of a state cost in a packing instance, and what a bound there says in money."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from ..instances.problem.errors import InvalidInstance
from .state import ClusterState


@dataclass(frozen=True)
class NodeCosts:
    """Whole costs of nodes, and of a pod that waits, in one scale.

    Attributes
    ----------
    of_node : of each node of the state, while it is in use; 1 where the state has no prices.
    waiting : of each pod that waits: more than all nodes together, so that no node is saved by
        letting one more wait.
    step, unit : so much cost is so much money. Above 1 where nodes are free of charge: each node in
        use costs 1 besides, so that of equal prices the fewest nodes are taken.
    paid_anyway : money for nodes that are paid whatever the plan: committed ones, and those that
        may not be freed.
    """

    of_node: tuple[int, ...]
    waiting: int
    step: int = 1
    unit: Fraction = Fraction(1)
    paid_anyway: Fraction = Fraction(0)

    def split(self, total: int) -> tuple[int, int]:
        """Pods that wait, and the cost of the nodes, in a total (of an answer, or a bound: then no
        fewer pods wait, and with as many the nodes cost no less).
        """
        return divmod(total, self.waiting)

    def limit(self, cost: int) -> int:
        """The largest cost of nodes that takes no more money."""
        return cost if self.step == 1 else cost // self.step * self.step + len(self.of_node)

    def money(self, cost: int) -> Fraction:
        """The least money that nodes of such a cost take, or of more."""
        besides = len(self.of_node) if self.step > 1 else 0
        return max(0, -((besides - cost) // self.step)) * self.unit + self.paid_anyway


def node_costs(state: ClusterState) -> NodeCosts:
    """The costs of a state's nodes: their prices, or 1 each.

    Raises
    ------
    InvalidInstance
        Some nodes have a price, and one that may be freed has none.
    """
    if not state.priced:
        return NodeCosts((1,) * len(state.nodes), len(state.nodes) + 1)
    without = [node.name for node in state.nodes if node.price is None and node.can_be_drained]
    if without:
        raise InvalidInstance(
            f"the price of {', '.join(without[:3])}"
            + f" and {len(without) - 3} more" * (len(without) > 3),
            "not given", "one for every node that may be freed",
            "Add their types to the prices",
        )  # fmt: skip
    asked = [
        Fraction(0) if node.committed else node.price
        for node in state.nodes
        if node.price is not None and node.can_be_drained
    ]
    scale = lcm(*(price.denominator for price in asked))
    part = gcd(*(int(price * scale) for price in asked)) or 1
    unit = Fraction(part, scale)
    step = len(state.nodes) + 1 if 0 in asked else 1
    costs = tuple(
        1
        if node.price is None or not node.can_be_drained
        else int((0 if node.committed else node.price) / unit) * step + (step > 1)
        for node in state.nodes
    )
    paid = price_of(state, frozenset())
    assert paid is not None
    return NodeCosts(costs, sum(costs) + 1, step, unit, paid)


def unpriced(state: ClusterState) -> ClusterState:
    """The same state without prices, for questions that are not about money."""
    return replace(state, nodes=tuple(replace(node, price=None) for node in state.nodes))


def price_of(state: ClusterState, names: frozenset[str]) -> Fraction | None:
    """What is paid while some nodes are in use: their prices, and of committed nodes and of those
    that may not be freed; None where the state has no prices.
    """
    if not state.priced:
        return None
    paid = (
        node.price
        for node in state.nodes
        if node.name in names or node.committed or not node.can_be_drained
    )
    return sum((price for price in paid if price is not None), Fraction(0))
