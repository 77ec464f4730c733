"""Game trees: stored with a run, as a table, as Gambit files, and drawn (Xu and Yu, figure 3)."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import numpy as np

from ...instances.packing import Placement
from ...instances.packing.game import Alpha
from ...instances.packing.instance import Packing
from ...instances.problem.errors import InvalidOption, install
from ...instances.problem.files import read
from ...instances.problem.option_types import validate_options
from ...solvers.packing.game.strategies import Eta, Game, Overload, game_of
from ...solvers.packing.game.tree import equilibrium_path, game_tree
from ..report.plotting import INK
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


MOST_LEAVES = 200

_ROW = 0.28
"""Inches from one leaf to the next."""

_PLAYED = "#D62728"


def draw_tree(tree: Any, *, first: int = 0) -> Any:
    """Draw a game tree from left to right: players at nodes, actions on edges, payoffs at leaves.

    The equilibrium path is red; what backward induction chooses elsewhere is dark. Fig. 3 of the
    paper runs downwards, which for more than a dozen outcomes is too wide to read.

    Parameters
    ----------
    tree : as `solvers.packing.game.tree.game_tree` returns it.
    first : number of the first server; the paper counts from 1.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidOption
        The tree has more than 200 leaves, too many to read, or matplotlib is not installed.
    """
    leaves = [node for node in tree if tree.out_degree(node) == 0]
    if len(leaves) > MOST_LEAVES:  # 1. Refuse what cannot be drawn.
        raise InvalidOption(
            f"the tree has {len(leaves)} leaves; at most {MOST_LEAVES} can be read. Draw a "
            "game with a smaller eta"
        )
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidOption(f"drawing needs matplotlib; {install('plot')}") from None
    place = _places(tree, leaves)  # 2. Positions, and a figure of their size.
    path_nodes = set(equilibrium_path(tree))
    depth = max(data["depth"] for _, data in tree.nodes(data=True))
    players = len(tree.nodes[leaves[0]]["payoffs"])
    # inches from one player to the next
    step = 1.1 + 0.125 * max(len(_action(tree, node)) for node in place)
    width = step * depth + 0.6 + 0.81 * players
    drawn = Figure(figsize=(width, max(1.5, _ROW * (len(leaves) + 1))))
    axes = drawn.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-0.45, width - 0.45)  # in inches, like everything here
    axes.set_ylim(-_ROW * len(leaves), _ROW)
    for parent, child, chosen in tree.edges(data="played"):  # 3. Edges with actions.
        on_path = parent in path_nodes and child in path_nodes
        (x0, y0), (x1, y1) = [(step * x, _ROW * y) for x, y in (place[parent], place[child])]
        color, thick = (_PLAYED, 2.2) if on_path else (INK, 1.5) if chosen else ("0.6", 0.8)
        over = 2 if on_path else 1 if chosen else 0
        axes.plot(
            [x0, x0 + 0.55, x1],
            [y0, y1, y1],
            color=color,
            linewidth=thick,
            zorder=over,
            solid_joinstyle="round",
        )
        axes.text(
            (x0 + 0.55 + x1 - 0.33) / 2,
            y1 + 0.015,
            _action(tree, child),
            ha="center",
            va="bottom",
            fontsize=9,
            color=_PLAYED if on_path else INK,
            zorder=3,
        )
    for node, (x, y) in place.items():  # 4. Nodes with players or payoffs.
        data, color = tree.nodes[node], _PLAYED if node in path_nodes else INK
        if data["player"] is None:
            text = "(" + ", ".join(f"{payoff:.4f}" for payoff in data["payoffs"]) + ")"
            axes.text(
                step * x + 0.06, _ROW * y, text, ha="left", va="center", fontsize=9, color=color
            )
        else:  # dark on white on every page
            box = {"facecolor": "white", "edgecolor": color, "boxstyle": "round,pad=0.25"}
            axes.text(
                step * x,
                _ROW * y,
                f"server {data['player'] + first}",
                ha="center",
                va="center",
                fontsize=9,
                zorder=4,
                color="#111111",
                bbox=box,
            )
    return drawn


def _action(tree: Any, node: int) -> str:
    action = tree.nodes[node]["action"]
    return "" if action is None else "⟨" + ", ".join(map(str, action)) + "⟩"


def _places(tree: Any, leaves: list[int]) -> dict[int, tuple[float, float]]:
    """Position (depth, -row) of each node of a drawn tree. Leaves have rows in the order of moves;
    an inner node is in the middle between its first and last child.
    """
    from networkx import dfs_preorder_nodes

    order = list(dfs_preorder_nodes(tree, 0))
    down = {
        leaf: float(index)
        for index, leaf in enumerate(node for node in order if tree.out_degree(node) == 0)
    }
    for node in reversed(order):
        if node not in down:
            below = [down[child] for child in tree.successors(node)]
            down[node] = (min(below) + max(below)) / 2
    return {node: (float(tree.nodes[node]["depth"]), -down[node]) for node in order}
