"""The worked example of Xu and Yu (2014), figures 2 and 3, and its theorems."""

from __future__ import annotations

import numpy as np

from ...analysis.packing.drawing import draw_tree
from ...analysis.report.picture import Drawing
from ...analysis.report.table import Column, Table
from ...instances.packing import Packing
from ...instances.packing.game import FairShare, min_utilization
from ...instances.packing.generators import paper_example
from ...instances.packing.instance import Integers
from ...solvers.packing.fixed_servers import UNCAPPED
from ...solvers.packing.game.strategies import game_of, pre_combination, utilities, with_strategies
from ...solvers.packing.game.tree import equilibrium_path, game_tree
from ..charts import chart
from ..experiment import Parts, compare, equal
from . import PAPER

PRINTED = [[[2, 0, 0], [1, 2, 0], [1, 0, 1]], [[1, 2, 0], [1, 0, 1], [0, 0, 2]]]
"""The strategy sets that section 4.3 prints for its two servers."""


EXAMPLE = paper_example(rng=np.random.default_rng(0))

LETTERS = ("abc", "def")
"""How fig. 3 calls the combinations of the first and the second to move, server 2 and server 1."""


@PAPER.experiment("figure-2", "fig. 2, section 4.3")
def figure_2() -> Parts:
    """The worked example: fair share, combinations, strategy sets, utilities."""
    # 1. The fair share, and the strategy sets.
    instance = EXAMPLE
    fair = FairShare.of(instance)
    number = len(_combinations(instance, 0))
    yield compare("dominant share", "8/23", f"{fair.share:.6f}", abs(fair.share - 8 / 23) < 1e-12)
    yield compare("combinations of server 1", "12", str(number), number == 12, "",
        "the combination <1, 0, 0> fits too")  # fmt: skip
    true = game_of(instance, eta=3)
    for server, entry in enumerate(true.strategies):
        own = entry.combination.tolist()
        yield compare(f"O({server + 1})", ", ".join(map(_angle, PRINTED[server])),
            ", ".join(map(_angle, own)), sorted(own) == sorted(PRINTED[server]), "",
            "<0, 4, 0> scores 0.9 by eq. 10, and four combinations 5/6; <0, 0, 2> has "
            "0.75")  # fmt: skip
    for server, (least, entry) in enumerate(zip((0.875, 0.75), true.strategies, strict=True)):
        value = float(entry.threshold)
        yield compare(f"min O({server + 1})", f"{least:g}", f"{value:.4g}",
            round(value, 4) == least, "", "ours is the minimum of the row above")  # fmt: skip
    # 2. Both servers choose their second combination, in the order of moves.
    order = ", ".join(f"server {m + 1}" for m in true.player)
    yield equal("order of moves", "server 2, server 1", order)
    second = np.array([[1, 0, 1], [1, 2, 0]])
    amounts = (second.sum(axis=0)[:, None] * instance.demand).tolist()
    yield equal("total of the second combinations (eq. 15)",
        "(4, 8, 40), (2, 2, 20), (2, 2, 10)",
        ", ".join(f"({', '.join(map(str, row))})" for row in amounts))  # fmt: skip
    _, worth = utilities(with_strategies(true, PRINTED), second)
    sums = _without_roots(instance, fair, second)
    cause = (
        "the roots of eq. 14: with sums of absolute values in place of both, U(1) is "
        f"{sums[1]:.3f} and U(2) {sums[0]:.3f}"
    )
    cause = cause if (round(sums[1], 1), round(sums[0], 2)) == (-1.2, -1.27) else ""
    for name, printed, digits, value in (("1", -1.2, 1, worth[1]), ("2", -1.27, 2, worth[0])):
        yield compare(f"U({name}), both choose their second combination", f"{printed:g}",
            f"{value:.4f}", round(float(value), digits) == printed, "computed by eq. 14 as printed",
            cause)  # fmt: skip
    # 3. What each combination leaves least used on each server (eq. 10), as fig. 2 ranks them.
    rows = {}
    for server in range(2):
        capacity, table = instance.capacity[server], _combinations(instance, server)
        amount = table @ instance.demand
        least_used = min_utilization(capacity, instance.initial_capacity[server], amount)
        ranked = np.lexsort((*table.T[::-1], -least_used))
        rows[f"server {server + 1}"] = {
            _angle(table[row].tolist()): round(float(least_used[row]), 6) for row in ranked
        }
    yield chart("packing-figure-2", "Least utilization of each combination of VMs (eq. 10)",
        "combination", "least utilization", rows)  # fmt: skip


def _without_roots(instance: Packing, fair: FairShare, choice: Integers) -> list[float]:
    """Utilities at alpha 2, in the order of moves, with sums |x| for equation 14's roots."""
    due = np.array(fair.due, dtype=float)
    variance = np.abs(choice.sum(axis=0)[:, None] * instance.demand / fair.total - due).sum()
    worth = []
    for server, row in zip((1, 0), choice, strict=True):
        left = instance.capacity[server] - row @ instance.demand
        used = 1 - left / instance.initial_capacity[server]
        worth.append(-float(variance + np.abs(used / used.mean() - 1).sum()))
    return worth


@PAPER.experiment("figure-3", "fig. 3")
def figure_3() -> Parts:
    """The game tree of the worked example: best replies and equilibrium."""
    # 1. The tree on the printed strategy sets, its moves by the figure's letters.
    game = with_strategies(game_of(EXAMPLE, eta=3), PRINTED)
    tree = game_tree(game)
    letters = [
        dict(zip(map(tuple, game.strategies[c].combination.tolist()), names, strict=True))
        for c, names in zip(game.kind, LETTERS, strict=True)
    ]

    def move(node: int, index: int) -> str:
        return letters[index][tuple(tree.nodes[node]["action"])]

    # 2. Best replies, and the equilibrium.
    printed = {"a": "f", "b": "e", "c": "e"}
    for child in tree.successors(0):
        first = move(child, 0)
        played = next(node for _, node, chosen in tree.out_edges(child, data="played") if chosen)
        yield equal(f"best reply of server 1 to {first}", printed[first], move(played, 1))
    path = equilibrium_path(tree)
    play = [move(node, index) for index, node in enumerate(path[1:])]
    payoffs = tree.nodes[path[-1]]["payoffs"]
    leaves = [node for node in tree if tree.out_degree(node) == 0]
    both = f"utilities {payoffs[0]:.4f} and {payoffs[1]:.4f}"
    yield equal("equilibrium", "(c, e)", f"({', '.join(play)})",
        f"<0,0,2> and <1,2,0>, on the printed sets; {both}")  # fmt: skip
    yield equal("leaves", "9", len(leaves), "the sets have three combinations of each server")
    # 3. The tree drawn, and its leaves.
    rows = tuple(
        (
            move(next(iter(tree.predecessors(leaf))), 0),
            move(leaf, 1),
            *(round(value, 6) for value in tree.nodes[leaf]["payoffs"]),
        )
        for leaf in leaves
    )
    columns = (
        *map(Column, ("server 2", "server 1")),
        *(Column(name, numeric=True) for name in ("U(2)", "U(1)")),
    )
    title = "The game tree of the worked example, with its equilibrium path"
    yield Drawing(
        "packing-figure-3", title, lambda: draw_tree(tree, first=1),
        alt=f"A tree of two moves and {len(leaves)} leaves: server 2 moves first, then server 1. "
        f"Backward induction plays {play[0]}, then {play[1]}, with {both}.",
        numbers=Table("packing-figure-3", title, columns, rows),
    )  # fmt: skip


def _combinations(instance: Packing, server: int) -> Integers:
    """Numbers of VMs of each type that fit on a server together."""
    return pre_combination(instance.demand, instance.capacity[server], np.full(3, UNCAPPED))


def _angle(row: list[int]) -> str:
    return f"<{', '.join(map(str, row))}>"
