"""FUGA-tree: the extensive game as a tree, solved by backward induction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.packing.instance import Integers, Packing
from ....instances.problem.errors import InvalidOption
from ...outcome import Outcome, Stop, validate_time_limit
from .states import Space
from .strategies import Eta, Game, game_of

MOST_NODES = 100_000


def fuga_tree(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: float = 2.0,
    eta: Eta = 5,
    overload: float | None = None,
) -> Outcome:
    """The whole extensive game as a tree, and its subgame-perfect equilibrium by backward induction.

    For games small enough to look at: refused above 100,000 nodes, where `FUGA` gives the same play. `game_tree` returns the
    tree itself, `analysis.packing.drawing.draw_tree` draws it. Options, ties and errors as for `FUGA`.

    Source: Xu and Yu (2014), section 4.3, steps 3 and 4, fig. 3.
    """
    from .play import played

    validate_time_limit(time_limit)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    tree = game_tree(game)
    choice = np.zeros((game.players, instance.types), dtype=np.int64)
    node = 0
    for place in range(game.players):
        node = next(child for _, child, played_here in tree.out_edges(node, data="played") if played_here)
        choice[place] = tree.nodes[node]["action"]
    told = {"equilibrium": "subgame perfect", "nodes": tree.number_of_nodes()}
    return played(game, choice, Stop.FINISHED, told)


def game_tree(game: Game) -> Any:
    """The extensive game as a `networkx.DiGraph`, solved.

    Nodes are numbered from the root, 0. Attributes: `depth`; `player`, the server that moves there (None at a leaf);
    `action`, the combination that led there; `total`, the VM counts so far; `payoffs`, the utilities of all players in the
    order of moves (at a leaf), and of the play that follows (elsewhere). Edges have `played`: whether backward induction
    chooses them; the played edges from the root are the equilibrium path.

    Raises
    ------
    InvalidOption
        The tree would have more than 100,000 nodes.
    """
    import networkx

    nodes, width = 1, 1
    for place in range(game.players):
        width *= len(game.moves(place).combination)
        nodes += width
        if nodes > MOST_NODES:
            raise InvalidOption(
                f"the tree has more than {MOST_NODES} nodes; use FUGA, which gives the same play without it, or a smaller eta"
            )
    space = Space.of(game)
    tree = networkx.DiGraph(players=game.player.tolist())
    tree.add_node(0, depth=0, action=None, total=(0,) * game.instance.types, uneven=())
    level = [0]
    for place in range(game.players):
        level = [child for node in level for child in _children(tree, space, node, place)]
    totals = np.array([tree.nodes[leaf]["total"] for leaf in level], dtype=np.int64)
    for leaf, variance in zip(level, space.variance(space.keys(totals)).tolist(), strict=True):
        tree.nodes[leaf]["payoffs"] = tuple(-variance - uneven for uneven in tree.nodes[leaf]["uneven"])
    for node in sorted(tree.nodes, reverse=True):  # children come after their parent
        _induce(tree, game, node)
    return tree


def _children(tree: Any, space: Space, node: int, place: int) -> list[int]:
    """Add what the player at this place may do at a node, in lexicographic order."""
    from .algorithm_1 import _possible

    total = np.array(tree.nodes[node]["total"], dtype=np.int64)
    moves, uneven = _possible(space, place, total)
    children = []
    for move, skew in zip(moves, uneven.tolist(), strict=True):
        child = tree.number_of_nodes()
        tree.add_node(
            child, depth=place + 1, action=tuple(move.tolist()), total=tuple((total + move).tolist()),
            uneven=(*tree.nodes[node]["uneven"], skew),
        )  # fmt: skip
        tree.add_edge(node, child, played=False)
        children.append(child)
    return children


def _induce(tree: Any, game: Game, node: int) -> None:
    """Backward induction at one node: the first child that is best for the player who moves."""
    data = tree.nodes[node]
    data.pop("uneven", None)
    children = list(tree.successors(node))
    if not children:
        data["player"] = None
        return
    place = data["depth"]
    data["player"] = int(game.player[place])
    best = children[0]
    for child in children[1:]:
        if tree.nodes[child]["payoffs"][place] > tree.nodes[best]["payoffs"][place]:
            best = child
    tree.edges[node, best]["played"] = True
    data["payoffs"] = tree.nodes[best]["payoffs"]


__all__ = ["MOST_NODES", "Integers", "fuga_tree", "game_tree"]
