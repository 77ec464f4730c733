"""Utilities of a play of the game, and its outcome."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....instances.packing.game import squared_skewness
from ....instances.packing.instance import Integers, Placement
from ....instances.problem.option_types import validate_options
from ...outcome import Outcome, Status, Stop
from .radicals import MOST_DIGITS
from .strategies import Game


@validate_options
def utilities(game: Game, choice: Integers) -> tuple[float, list[float]]:
    """Fairness variance of a play (P, s), and each player's utility (equation 14) in the order of
    moves.
    """
    instance = game.instance
    variance = game.fair.variance(choice.sum(axis=0), game.alpha)
    rows, place = np.unique(
        np.column_stack([game.kind, choice @ instance.demand]), axis=0, return_inverse=True
    )
    uneven = [
        math.sqrt(
            squared_skewness(instance.capacity[c], instance.initial_capacity[c], np.array([load]))[
                0
            ]
        )
        for c, *load in rows.tolist()
    ]
    return variance, [-variance - uneven[at] for at in place.ravel().tolist()]


def played(game: Game, choice: Integers, stop: Stop, facts: dict[str, Any]) -> Outcome:
    """Outcome of the players' choices, in the order of moves."""
    variance, worth = utilities(game, choice)
    leaves = game.leaves
    certificate = {
        **facts,
        "order": game.player.tolist(),
        "choices": choice.tolist(),
        "utilities": worth,
        "fairness_variance": variance,
        "strategies": [len(entry.combination) for entry in game.strategies],
        "leaves": leaves if leaves < 2**53 else f"about 10^{len(str(leaves)) - 1}",
        "alpha": game.alpha,
    }
    if game.worths.unsettled:
        certificate["ties"] = (
            f"{len(game.worths.unsettled)} pairs of utilities count as equal: {MOST_DIGITS} "
            "digits agree"
        )
    return Outcome(Placement(choice, game.kind), None, Status.FEASIBLE, stop, certificate)
