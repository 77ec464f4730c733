"""Game trees stored with a run, as a table, and as Gambit files."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import numpy as np

from ...instances.packing import Placement
from ...instances.packing.game import Alpha
from ...instances.packing.instance import Packing
from ...instances.problem.files import read
from ...instances.problem.option_types import validate_options
from ...solvers.packing.game.strategies import Eta, Game, Overload, game_of
from ...solvers.packing.game.tree import equilibrium_path, game_tree
from ..report.table import Column, Table


def play_of(game: Game, placement: Placement) -> Any:
    """Solved tree of a game if the placement is its equilibrium play, else None."""
    tree = game_tree(game)
    actions = [tree.nodes[node]["action"] for node in equilibrium_path(tree)[1:]]
    play = Placement(np.array(actions, dtype=np.int64), game.kind)
    return tree if play == placement else None


@validate_options
def game_in_efg(
    path: str | os.PathLike[str],
    *,
    alpha: Alpha = 2.0,
    eta: Eta = 5,
    overload: Overload | None = None,
) -> str:
    """The game that `FUGA` plays on a packing instance, in Gambit's extensive form (EFG 2 R).

    Players stand in the order of moves; each sees all moves before it. Payoffs have 12 decimals, at
    which equal utilities are equal, and ties go to the first action. Options as for `FUGA`; raises
    as `read` and `game_tree` do.
    """
    import networkx as nx

    instance = read(path, Packing)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    tree, seen = game_tree(game), Counter[int]()
    players = " ".join(f'"server {server}"' for server in game.player.tolist())
    lines = [f"EFG 2 R {json.dumps(instance.name, ensure_ascii=False)} {{ {players} }}", '""', ""]
    for node in nx.dfs_preorder_nodes(tree, 0):
        data, place = tree.nodes[node], tree.nodes[node]["depth"]
        seen[place] += 1
        actions = " ".join(f'"{tree.nodes[child]["action"]}"' for child in tree.successors(node))
        payoffs = ", ".join(f"{payoff:.12f}" for payoff in data["payoffs"])
        moves = f'p "" {place + 1} {seen[place]} "" {{ {actions} }} 0'
        lines.append(moves if actions else f't "" {seen[place]} "" {{ {payoffs} }}')
    return "\n".join([*lines, ""])


def tree_table(tree: Any) -> Table:
    """Table of all outcomes: the combinations, the utilities, and the played one."""
    from networkx import single_source_shortest_path

    path, rows = equilibrium_path(tree), []
    for node, way in single_source_shortest_path(tree, 0).items():
        data = tree.nodes[node]
        if data["player"] is not None:
            continue
        moves = [", ".join(map(str, tree.nodes[each]["action"])) for each in way[1:]]
        combination = " ".join(f"<{move}>" for move in moves)
        rows.append((combination, *data["payoffs"], "played" if node in path else ""))
    utilities = [
        Column(f"utility of mover {place + 1}", "{:.4f}".format, numeric=True)
        for place in range(len(rows[0]) - 2)
    ]
    return Table(
        "game-tree",
        "Outcomes of the game",
        (Column("moves in order"), *utilities, Column("equilibrium")),
        tuple(rows),
    )
