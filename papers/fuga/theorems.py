"""The theorems of Xu and Yu (2014) on random games."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...analysis.packing.audits import audit
from ...analysis.packing.metrics import metrics
from ...instances.packing import Packing
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import AtLeast
from ...solvers.packing.game.algorithm_1 import fuga_algorithm_1
from ...solvers.packing.game.play import fuga
from ..experiment import Parts, Variations, addition, compare, draws, each
from . import PAPER

GAMES: Variations = {
    **draws(games=50),
    "alpha": each("alpha", 3.0, 5.0, games=50),
    "the strategy sets": each("eta", 30, servers=3, games=50),
    "the number of servers": each("servers", 2, 3, games=50),
    "the VMs' size": {"servers four times as large": {"size": 4, "games": 20}},
}


@PAPER.experiment("theorems-8-10", "Theorems 7 to 10", seconds=90, variations=GAMES)
def theorems(
    *,
    seed: int = 0,
    games: Annotated[int, AtLeast(1)] = 100,
    servers: Annotated[int, AtLeast(1)] = 4,
    eta: int = 5,
    size: Annotated[int, AtLeast(1)] = 1,
    alpha: float = 2.0,
) -> Parts:
    """Random games: sharing incentive, envy, Pareto efficiency, Algorithm 1 against the
    equilibrium.

    Parameters
    ----------
    games, servers : how many games, and the servers of each.
    eta, alpha : of the game.
    size : servers are so many times as large, for VMs of the same size.
    """
    rng, rng_2 = np.random.default_rng(seed), np.random.default_rng([seed, 2])
    split = pooled = envy = fits = differs = differs_2 = 0
    play_ratio, printed_ratio = [], []
    for _ in range(games):
        instance = _random_game(rng, servers, size)
        right = fuga(instance, eta=eta, alpha=alpha)
        printed = fuga_algorithm_1(instance, eta=eta, alpha=alpha)
        found = audit(instance, right.solution, eta=eta, alpha=alpha)  # type: ignore[arg-type]
        split += bool(found.below_server_split)
        pooled += bool(found.below_pooled_split)
        envy += bool(found.enviers)
        fits += bool(found.still_fits)
        differs += right.certificate["choices"] != printed.certificate["choices"]
        two = _random_game(rng_2, 2, size)
        pair = (
            policy(two, eta=eta, alpha=alpha).certificate["choices"]
            for policy in (fuga, fuga_algorithm_1)
        )
        differs_2 += next(pair) != next(pair)
        least = found.least_disutility
        if least:
            play_ratio.append(found.disutility / least)
            printed_metrics = metrics(instance, printed.solution, alpha=alpha)  # type: ignore[arg-type]
            printed_ratio.append(printed_metrics["disutility"] / least)
    note = f"{games} random games of {servers} servers, 3 users, 3 resources, eta {eta}; whole VMs"
    return [
        compare("sharing incentive (Theorem 8), 1/s of every server", "always",
            f"fails in {split / games:.0%}", split == 0, note),
        compare("sharing incentive (Theorem 8), 1/s of the pool", "always",
            f"fails in {pooled / games:.0%}", pooled == 0, note,
            f"the share: of every server it fails in {split / games:.0%}" if not split else ""),
        compare("no envy (Theorem 9)", "always", f"fails in {envy / games:.0%}", envy == 0,
            f"{note}; envy by amounts held"),
        compare("Pareto efficient (Theorem 10)", "always",
            f"one more VM fits in {fits / games:.0%}", fits == 0, note),
        compare("Algorithm 1 finds the SPNE", "always", f"it does not in {differs / games:.0%}",
            differs == 0, "",
            "for three servers or more it is not backward induction: with two it differs in "
            f"{differs_2 / games:.0%}"),
        addition("SPNE's disutility over the least", f"{np.mean(play_ratio):.3f}"),
        addition("Algorithm 1's disutility over the least", f"{np.mean(printed_ratio):.3f}"),
    ]  # fmt: skip


def _random_game(rng: np.random.Generator, servers: int, size: int) -> Packing:
    """Servers of own classes, of 4 to 12 units x `size`, and VMs of 1 to 4."""
    while True:
        capacity = size * rng.integers(4, 13, (servers, 3))
        try:
            return Packing(
                capacity=capacity,
                initial=capacity + rng.integers(0, 5, (servers, 3)),
                servers=np.ones(servers),
                demand=rng.integers(1, 5, (3, 3)),
            )
        except InvalidInstance:  # a VM that fits no server
            continue
