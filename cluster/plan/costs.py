"""Integer costs of nodes in a packing instance, and the conversion of a bound on them to money."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from ...instances.problem.errors import InvalidInstance
from ..state.state import ClusterState, change_nodes


@dataclass(frozen=True)
class NodeCosts:
    """Integer costs of nodes and of a pod left pending, in one unit.

    Attributes
    ----------
    of_node : of each node of the state, while it is in use; 1 where the state has no prices.
    waiting : of each pod that waits: more than all nodes together, so that no node is saved by
        letting one more wait.
    priced : whether the nodes have prices.
    step, unit : so much cost is so much money. Nodes that are free of charge cost 1: all of them
        together less than a step.
    paid_anyway : money for nodes that are paid whatever the plan: those that may not be freed.
    """

    of_node: tuple[int, ...]
    waiting: int
    priced: bool = True
    step: int = 1
    unit: Fraction = Fraction(1)
    paid_anyway: Fraction = Fraction(0)

    def split(self, total: int) -> tuple[int, int]:
        """Split a total cost into the number of pods left pending and the cost of nodes; of a lower
        bound the parts are lexicographic lower bounds.
        """
        return divmod(total, self.waiting)

    def limit(self, cost: int) -> int:
        """Largest integer cost of nodes that has the same price as `cost`."""
        return cost // self.step * self.step + self.step - 1

    def money(self, cost: int) -> Fraction:
        """Lower bound on the price of nodes whose integer cost is `cost` or more."""
        return cost // self.step * self.unit + self.paid_anyway


def node_costs(state: ClusterState) -> NodeCosts:
    """Integer costs of the nodes of a state: proportional to their prices, or 1 each.

    Raises
    ------
    InvalidInstance
        Some nodes have a price, and one that may be freed has none.
    """
    if not state.priced:
        return NodeCosts((1,) * len(state.nodes), len(state.nodes) + 1, False)
    free = [node for node in state.nodes if node.can_be_drained]
    if without := [node.name for node in free if node.price is None]:
        raise InvalidInstance(
            f"the price of {', '.join(without[:3])}"
            + f" and {len(without) - 3} more" * (len(without) > 3),
            "not given", "one for every node that may be freed",
            "Add their types to the prices",
        )  # fmt: skip
    prices = [
        node.price or Fraction(0) if node.can_be_drained else Fraction(0) for node in state.nodes
    ]
    scale = lcm(*(price.denominator for price in prices))
    unit = Fraction(gcd(*(int(price * scale) for price in prices)) or 1, scale)
    # what is free of charge costs 1, and a unit of money more than all of that
    unpaid = sum(
        not price and node.can_be_drained for node, price in zip(state.nodes, prices, strict=True)
    )
    step = 1 + unpaid
    costs = tuple(int(price / unit) * step or 1 for price in prices)
    return NodeCosts(
        costs, sum(costs) + 1, True, step, unit, price_of(state, frozenset()) or Fraction(0)
    )


def unpriced(state: ClusterState) -> ClusterState:
    """Copy a state without its prices, for questions that are not about money."""
    return change_nodes(state, lambda node: replace(node, price=None))


def price_of(state: ClusterState, names: frozenset[str]) -> Fraction | None:
    """Price of the named nodes and of all nodes that may not be freed; None if the state has no
    prices.
    """
    if not state.priced:
        return None
    paid = (node.price for node in state.nodes if node.name in names or not node.can_be_drained)
    return sum((price for price in paid if price is not None), Fraction(0))
