"""Game trees as nested lists: small enough to keep with a run, enough to draw again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.packing import Placement
from ...solvers.packing.game.strategies import Game
from ...solvers.packing.game.tree import game_tree
from ..report.table import Column, Table
from .drawing import equilibrium_path


def play_of(game: Game, placement: Placement) -> Any:
    """The solved tree of a game if the placement is its equilibrium play, else None."""
    tree = game_tree(game)
    actions = [tree.nodes[node]["action"] for node in equilibrium_path(tree)[1:]]
    play = Placement(np.array(actions, dtype=np.int64), game.kind)
    return tree if play == placement else None


def tree_lists(tree: Any, node: int = 0) -> list[Any]:
    """The tree below a node: [action, payoffs] at a leaf, else [action, player, place of the child
    that is played, children].

    Payoffs keep six significant digits. `tree_from_lists` is the inverse up to that and `total`.
    """
    data = tree.nodes[node]
    action = None if data["action"] is None else list(data["action"])
    children = list(tree.successors(node))
    if not children:
        return [action, [float(f"{payoff:.6g}") for payoff in data["payoffs"]]]
    played = next(
        place for place, child in enumerate(children) if tree.edges[node, child]["played"]
    )
    return [action, data["player"], played, [tree_lists(tree, child) for child in children]]


def tree_from_lists(lists: list[Any]) -> Any:
    """The `networkx.DiGraph` that `drawing.draw_tree` takes; nodes are numbered level by level."""
    import networkx

    tree = networkx.DiGraph()
    level: list[tuple[int | None, bool, list[Any]]] = [(None, False, lists)]
    depth = 0
    while level:
        following: list[tuple[int | None, bool, list[Any]]] = []
        for parent, chosen, entry in level:
            node = tree.number_of_nodes()
            action = None if entry[0] is None else tuple(entry[0])
            tree.add_node(
                node, depth=depth, action=action, player=entry[1] if len(entry) == 4 else None
            )
            if parent is not None:
                tree.add_edge(parent, node, played=chosen)
            if len(entry) == 4:
                following += [
                    (node, place == entry[2], child) for place, child in enumerate(entry[3])
                ]
            else:
                tree.nodes[node]["payoffs"] = tuple(entry[1])
        level, depth = following, depth + 1
    for node in sorted(tree.nodes, reverse=True):
        for child in tree.successors(node):
            if tree.edges[node, child]["played"]:
                tree.nodes[node]["payoffs"] = tree.nodes[child]["payoffs"]
    return tree


def tree_table(tree: Any) -> Table:
    """Every outcome: the combinations that lead to it, the utilities, and whether it is played."""
    parent = {child: above for above, child in tree.edges}
    path = set(equilibrium_path(tree))
    rows = []
    for node, data in tree.nodes(data=True):
        if data["player"] is not None:
            continue
        moves, above = [data["action"]], parent.get(node)
        while above:
            moves.append(tree.nodes[above]["action"])
            above = parent.get(above)
        combination = " ".join(
            "<" + ", ".join(map(str, move)) + ">" for move in reversed(moves) if move is not None
        )
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
