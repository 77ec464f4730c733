"""FUGA-tree: the extensive game as a tree, solved by backward induction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....instances.packing.game import Alpha
from ....instances.packing.instance import Packing
from ....instances.problem.errors import InvalidOption
from ....instances.problem.option_types import validate_options
from ...outcome import Outcome, Stop
from .strategies import Eta, Game, Overload, game_of, played

MOST_NODES = 100_000


@validate_options
def fuga_tree(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Alpha = 2.0,
    eta: Eta = 5,
    overload: Overload | None = None,
) -> Outcome:
    """The whole extensive game as a tree, and its subgame-perfect equilibrium by backward
    induction.

    For games small enough to look at: refused above 100,000 nodes, where `FUGA` gives the same
    play. `game_tree` returns the tree itself, `analysis.packing.trees.draw_tree` draws it. Ties
    and errors as for `FUGA`. Source: Xu and Yu (2014), section 4.3, steps 3 and 4, fig. 3.

    Parameters
    ----------
    alpha : weight of fairness (eq. 14), above 1; the paper uses 2 to 5.
    eta : combinations each server may choose among, or "shrinking" with the number of servers.
    overload : combinations that use more than this share of some resource are rejected.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "FUGA-tree", eta=3)
    >>> print(result.status, round(result.objective, 3))
    feasible 1.898
    """
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    tree = game_tree(game)
    choice = np.array([tree.nodes[node]["action"] for node in equilibrium_path(tree)[1:]])
    facts = {"equilibrium": "subgame perfect", "nodes": tree.number_of_nodes()}
    return played(game, choice, Stop.FINISHED, facts)


def game_tree(game: Game) -> Any:
    """The extensive game as a `networkx.DiGraph`, solved.

    Nodes are numbered from the root, 0. Attributes: `depth`; `player`, the server that moves there
    (None at a leaf); `action`, the combination that led there; `total`, the VM counts so far;
    `payoffs`, the utilities of all players in the order of moves (at a leaf), and of the play that
    follows (elsewhere). Edges have `played`: whether backward induction chooses them; the played
    edges from the root are the equilibrium path.

    Raises
    ------
    InvalidOption
        The tree would have more than 100,000 nodes.
    """
    import networkx

    nodes, width = 1, 1
    for c in game.kind.tolist():
        width *= len(game.strategies[c].combination)
        nodes += width
        if nodes > MOST_NODES:
            raise InvalidOption(
                f"the tree has more than {MOST_NODES} nodes; use FUGA, which gives the same "
                "play without a tree, or a smaller eta"
            )
    tree = networkx.DiGraph(players=game.player.tolist())
    tree.add_node(
        0, depth=0, action=None, total=(0,) * game.instance.types, uneven=(), squared=None
    )
    level = [0]
    for index in range(game.players):
        level = [child for node in level for child in _children(tree, game, node, index)]
    ends = game.worths.keys(np.array([tree.nodes[leaf]["total"] for leaf in level], dtype=np.int64))
    for leaf, key, variance in zip(
        level, ends.tolist(), game.worths.variance(ends).tolist(), strict=True
    ):
        data = tree.nodes[leaf]
        data |= {
            "end": key,
            "variance": variance,
            "payoffs": tuple(-variance - uneven for uneven in data["uneven"]),
        }
    for node in sorted(tree.nodes, reverse=True):  # children come after their parent
        _induce(tree, game, node)
    for _, data in tree.nodes(data=True):
        for name in ("uneven", "squared", "end", "variance"):
            del data[name]
    return tree


def equilibrium_path(tree: Any) -> list[int]:
    """The nodes of equilibrium play, from the root to its leaf."""
    node, path = 0, [0]
    while tree.out_degree(node):
        node = next(child for _, child, chosen in tree.out_edges(node, data="played") if chosen)
        path.append(node)
    return path


def _children(tree: Any, game: Game, node: int, turn: int) -> list[int]:
    """Add the moves of the player at a node as children, in lexicographic order; the empty move if
    caps allow nothing.
    """
    before = tree.nodes[node]
    total, moves = np.array(before["total"], dtype=np.int64), game.moves(turn)
    options = [
        (moves.combination[a], float(moves.uneven[a]), moves.squared[a])
        for a in game.possible(turn, total).tolist()
    ]
    if not options:
        idle = game.idle[int(game.kind[turn])]
        options = [(np.zeros_like(total), math.sqrt(idle), idle)]
    children = []
    for move, uneven, squared in options:
        child = tree.number_of_nodes()
        tree.add_node(
            child, depth=turn + 1, action=tuple(move.tolist()),
            total=tuple((total + move).tolist()),
            uneven=(*before["uneven"], uneven), squared=squared,
        )  # fmt: skip
        tree.add_edge(node, child, played=False)
        children.append(child)
    return children


def _induce(tree: Any, game: Game, node: int) -> None:
    """Backward induction at a node: choose the first child that is best for the player."""
    data = tree.nodes[node]
    children = list(tree.successors(node))
    if not children:
        data["player"] = None
        return
    turn = data["depth"]
    data["player"] = int(game.player[turn])
    below = [tree.nodes[child] for child in children]
    best = game.worths.best(
        np.array([entry["variance"] for entry in below]), [entry["end"] for entry in below],
        np.array([math.sqrt(entry["squared"]) for entry in below]),
        [entry["squared"] for entry in below],
    )  # fmt: skip
    tree.edges[node, children[best]]["played"] = True
    data |= {name: below[best][name] for name in ("payoffs", "end", "variance")}
