"""Drawing the extensive game, as in fig. 3 of Xu and Yu (2014)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidOption

MOST_LEAVES = 200


def draw_tree(tree: Any, path: str | os.PathLike[str] | None = None, *, digits: int = 4, first: int = 0) -> Any:
    """Draw a game tree: players at the nodes, actions on the edges, payoffs at the leaves, the equilibrium path marked.

    Parameters
    ----------
    tree : as `solvers.packing.game.tree.game_tree` returns it.
    path : file to write (.png, .svg, .pdf); none when not given.
    digits : of the payoffs.
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
    if len(leaves) > MOST_LEAVES:
        raise InvalidOption(
            f"the tree has {len(leaves)} leaves; at most {MOST_LEAVES} can be read. Draw a game with a smaller eta"
        )
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidOption("drawing needs matplotlib; pip install 'cotenant[plot]'") from None
    place = _places(tree, leaves)
    path_nodes = equilibrium_path(tree)
    depth = max(data["depth"] for _, data in tree.nodes(data=True))
    figure = Figure(figsize=(max(6.0, 1.3 * len(leaves)), 2.0 * (depth + 1)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    for parent, child, chosen in tree.edges(data="played"):
        on_path = parent in path_nodes and child in path_nodes
        (x0, y0), (x1, y1) = place[parent], place[child]
        colour, width = ("tab:red", 2.5) if on_path else ("black", 1.8) if chosen else ("0.65", 0.8)
        axes.plot([x0, x1], [y0, y1], color=colour, linewidth=width, zorder=1)
        label = "⟨" + ", ".join(map(str, tree.nodes[child]["action"])) + "⟩"
        axes.text((x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3, label, ha="center", va="center", fontsize=8, color=colour,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    for node, (x, y) in place.items():
        data = tree.nodes[node]
        if data["player"] is None:
            text = "(" + ",\n".join(f"{payoff:.{digits}f}" for payoff in data["payoffs"]) + ")"
            axes.text(x, y - 0.05, text, ha="center", va="top", fontsize=8, color="tab:red" if node in path_nodes else "black")
        else:
            box = {"facecolor": "white", "edgecolor": "tab:red" if node in path_nodes else "black", "boxstyle": "round"}
            axes.text(x, y, f"server {data['player'] + first}", ha="center", va="center", fontsize=9, zorder=2, bbox=box)
    axes.set_ylim(-depth - 0.6, 0.3)
    if path is not None:
        figure.savefig(Path(path))
    return figure


def equilibrium_path(tree: Any) -> list[int]:
    """The nodes of equilibrium play, from the root to its leaf."""
    node, path = 0, [0]
    while tree.out_degree(node):
        node = next(child for _, child, chosen in tree.out_edges(node, data="played") if chosen)
        path.append(node)
    return path


def _places(tree: Any, leaves: list[int]) -> dict[int, tuple[float, float]]:
    """Leaves side by side in the order of moves, every other node above the middle of what follows it."""
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(list(tree.successors(node))))
    across = {leaf: float(index) for index, leaf in enumerate(node for node in order if tree.out_degree(node) == 0)}
    for node in reversed(order):
        if node not in across:
            below = [across[child] for child in tree.successors(node)]
            across[node] = (min(below) + max(below)) / 2
    return {node: (across[node], -float(tree.nodes[node]["depth"])) for node in order}
