"""Drawing of the extensive game (Xu and Yu 2014, figure 3)."""

from __future__ import annotations

from typing import Any

from ...instances.problem.errors import InvalidOption, install
from ...solvers.packing.game.tree import equilibrium_path
from ..report.plotting import INK

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
    """(depth, -row) of each node: leaves in the order of moves, inner nodes at the middle of
    theirs.
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
