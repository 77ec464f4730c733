"""The worked example of Xu and Yu (2014), figs. 2 and 3, and its theorems."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...analysis.packing.drawing import draw_tree
from ...analysis.report.picture import Chart, Drawing, Picture
from ...analysis.report.table import Column, Table
from ...instances.packing import Packing
from ...instances.packing.game import FairShare, min_utilization
from ...instances.packing.generators import paper_example
from ...instances.packing.instance import Integers
from ...solvers.packing.fixed_servers import UNCAPPED
from ...solvers.packing.game.result import utilities
from ...solvers.packing.game.strategies import game_of, pre_combination, with_strategies
from ...solvers.packing.game.tree import equilibrium_path, game_tree
from ..charts import chart
from ..experiment import Finding, Parts, addition, compare
from . import PAPER

PRINTED = [[[2, 0, 0], [1, 2, 0], [1, 0, 1]], [[1, 2, 0], [1, 0, 1], [0, 0, 2]]]
"""The strategy sets that section 4.3 prints for its two servers."""


LETTERS = {0: "abc", 1: "def"}
"""How fig. 3 calls the combinations of the first and the second to move, server 2 and server 1."""


@PAPER.experiment("figure-2", "fig. 2, section 4.3")
def figure_2(*, seed: int = 0) -> list[Finding | Picture]:
    """The worked example: fair share, combinations, strategy sets, utilities."""
    instance = paper_example(rng=np.random.default_rng(seed))
    fair = FairShare.of(instance)
    table = pre_combination(instance.demand, instance.capacity[0], np.full(3, UNCAPPED))
    true = game_of(instance, eta=3)
    game = with_strategies(true, PRINTED)
    second = np.array([[1, 0, 1], [1, 2, 0]])  # each its second combination, in the order of moves
    variance, worth = utilities(game, second)
    amounts = second.sum(axis=0)[:, None] * instance.demand
    sums = _without_roots(instance, fair, second)
    cause = (
        "the roots: with sums of absolute values for both of eq. 14's, U(1) is "
        f"{sums[1]:.3f} and U(2) {sums[0]:.3f}"
    )
    cause = cause if (round(sums[1], 1), round(sums[0], 2)) == (-1.2, -1.27) else ""
    ours = [[tuple(row) for row in entry.combination.tolist()] for entry in true.strategies]
    sets = [
        compare(
            f"O({server + 1})",
            ", ".join(map(_angle, PRINTED[server])),
            ", ".join(map(_angle, map(list, own))),
            set(own) == {tuple(row) for row in PRINTED[server]},
            "",
            "<0, 4, 0> scores 0.9 by eq. 10, and four combinations 5/6; <0, 0, 2> has 0.75",
        )
        for server, own in enumerate(ours)
    ]
    least = [float(entry.threshold) for entry in true.strategies]
    lengths = [
        compare(
            f"min O({server + 1})",
            f"{printed:g}",
            f"{value:.4g}",
            round(value, 4) == printed,
            "",
            "the least of the set above",
        )
        for server, (printed, value) in enumerate(zip((0.875, 0.75), least, strict=True))
    ]
    order = ", ".join(f"server {m + 1}" for m in true.player)
    return [
        compare("dominant share", "8/23", f"{fair.share:.6f}", abs(fair.share - 8 / 23) < 1e-12),
        compare("combinations of server 1", "12", str(len(table)), len(table) == 12, "",
            "<1, 0, 0> fits too"),
        *sets,
        *lengths,
        compare("order of moves", "server 2, server 1", order, order == "server 2, server 1"),
        compare("total of the second combinations (eq. 15)", "(4, 8, 40), (2, 2, 20), (2, 2, 10)",
            ", ".join(f"({', '.join(map(str, row))})" for row in amounts.tolist()),
            amounts.tolist() == [[4, 8, 40], [2, 2, 20], [2, 2, 10]]),
        addition("v of the second combinations", f"{variance:.4f}", "eq. 5 as printed"),
        compare("U(1), both choose their second combination", "-1.2", f"{worth[1]:.4f}",
            round(float(worth[1]), 1) == -1.2, "eq. 14 as printed", cause),
        compare("U(2), both choose their second combination", "-1.27", f"{worth[0]:.4f}",
            round(float(worth[0]), 2) == -1.27, "eq. 14 as printed", cause),
        _combinations(instance),
    ]  # fmt: skip


def _without_roots(instance: Packing, fair: FairShare, choice: Integers) -> list[float]:
    """Utilities at alpha 2, in the order of moves, with sums |x| for eq. 14's roots."""
    due = np.array(fair.due, dtype=float)
    variance = np.abs(choice.sum(axis=0)[:, None] * instance.demand / fair.total - due).sum()
    worth = []
    for server, row in zip((1, 0), choice, strict=True):
        used = (
            1
            - (instance.capacity[server] - row @ instance.demand)
            / instance.initial_capacity[server]
        )
        worth.append(-float(variance + np.abs(used / used.mean() - 1).sum()))
    return worth


@PAPER.experiment("figure-3", "fig. 3")
def figure_3(*, seed: int = 0) -> Parts:
    """The game tree of the worked example: best replies and equilibrium."""
    game = with_strategies(game_of(paper_example(rng=np.random.default_rng(seed)), eta=3), PRINTED)
    tree = game_tree(game)
    names = [
        {
            tuple(row): letter
            for row, letter in zip(
                game.moves(place).combination.tolist(), LETTERS[place], strict=True
            )
        }
        for place in range(2)
    ]
    printed = {"a": "f", "b": "e", "c": "e"}
    for child in tree.successors(0):
        move = names[0][tuple(tree.nodes[child]["action"])]
        reply = names[1][tuple(tree.nodes[_played(tree, child)]["action"])]
        yield compare(
            f"best reply of server 1 to {move}", printed[move], reply, reply == printed[move]
        )
    path = equilibrium_path(tree)
    play = [names[place][tuple(tree.nodes[node]["action"])] for place, node in enumerate(path[1:])]
    payoffs = tree.nodes[path[-1]]["payoffs"]
    leaves = [node for node in tree if tree.out_degree(node) == 0]
    rows = []
    for leaf in leaves:
        parent = next(iter(tree.predecessors(leaf)))
        first, second = (tuple(tree.nodes[node]["action"]) for node in (parent, leaf))
        rows.append(
            (
                names[0][first],
                names[1][second],
                *(round(value, 6) for value in tree.nodes[leaf]["payoffs"]),
            )
        )
    columns = (
        Column("server 2"),
        Column("server 1"),
        Column("U(2)", numeric=True),
        Column("U(1)", numeric=True),
    )
    title = "The game tree of the worked example, with its equilibrium path"
    yield compare("equilibrium", "(c, e)", f"({', '.join(play)})", play == ["c", "e"],
        f"<0,0,2> and <1,2,0>, on the printed sets; utilities {payoffs[0]:.4f} and "
        f"{payoffs[1]:.4f}")  # fmt: skip
    yield compare(
        "leaves", "9", str(len(leaves)), len(leaves) == 9, "three combinations of each server"
    )
    yield Drawing(
        "packing-figure-3",
        title,
        lambda: draw_tree(tree, first=1),
        alt=f"A tree of two moves and {len(leaves)} leaves: server 2 moves first, then "
        "server 1. Backward induction plays "
        f"{play[0]}, then {play[1]}, with utilities {payoffs[0]:.4f} and {payoffs[1]:.4f}.",
        numbers=Table("packing-figure-3", title, columns, tuple(rows)),
    )


def _played(tree: Any, node: int) -> int:
    played: int = next(child for _, child, chosen in tree.out_edges(node, data="played") if chosen)
    return played


def _combinations(instance: Packing) -> Chart:
    """What each combination leaves least used on each server (eq. 10), as fig. 2 ranks them."""
    rows = {}
    for server, name in enumerate(("server 1", "server 2")):
        table = pre_combination(instance.demand, instance.capacity[server], np.full(3, UNCAPPED))
        value = min_utilization(
            instance.capacity[server], instance.initial_capacity[server], table @ instance.demand
        )
        order = np.lexsort((*table.T[::-1], -value))
        rows[name] = {_angle(table[row].tolist()): round(float(value[row]), 6) for row in order}
    return chart("packing-figure-2", "Least utilization of each combination of VMs (eq. 10)",
        "combination", "least utilization", rows)  # fmt: skip


def _angle(row: list[int]) -> str:
    return f"<{', '.join(map(str, row))}>"
