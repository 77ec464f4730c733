"""The theorems of Xu and Yu (2014) on random games."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import numpy as np

from ...analysis.packing.audits import audit
from ...instances.packing import Packing
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import AtLeast
from ...solvers.packing.game.algorithm_1 import fuga_algorithm_1
from ...solvers.packing.game.play import fuga
from ..experiment import Parts, Variations, compare, draws, each
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
    # 1. How often each property fails.
    rng, rng_2 = np.random.default_rng(seed), np.random.default_rng([seed, 2])
    failed: Counter[str] = Counter()
    for _ in range(games):
        instance = _random_game(rng, servers, size)
        right = fuga(instance, eta=eta, alpha=alpha)
        printed = fuga_algorithm_1(instance, eta=eta, alpha=alpha)
        found = audit(instance, right.solution)  # type: ignore[arg-type]
        two = _random_game(rng_2, 2, size)
        pair = [
            policy(two, eta=eta, alpha=alpha).certificate["choices"]
            for policy in (fuga, fuga_algorithm_1)
        ]
        failed += Counter({
            "split": bool(found.below_server_split), "pooled": bool(found.below_pooled_split),
            "envy": bool(found.enviers), "fits": bool(found.still_fits),
            "SPNE": right.certificate["choices"] != printed.certificate["choices"],
            "SPNE of two": pair[0] != pair[1],
        })  # fmt: skip
    # 2. The theorems.
    names = ("split", "pooled", "envy", "fits", "SPNE", "SPNE of two")
    share = {name: f"{failed[name] / games:.0%}" for name in names}
    note = (
        f"{games} random games of {servers} servers, 3 users, 3 resources, eta {eta}; integer VMs"
    )
    split = f"the share: with 1/s of every server it fails in {share['split']}"
    split = "" if failed["split"] else split
    backward = "for three servers or more Algorithm 1 is not backward induction: with two servers "
    backward += f"its result differs in {share['SPNE of two']}"
    for name, what, ours, beside, cause in (
        ("split", "sharing incentive (Theorem 8), 1/s of every server", "fails in", note, ""),
        ("pooled", "sharing incentive (Theorem 8), 1/s of the pool", "fails in", note, split),
        ("envy", "no envy (Theorem 9)", "fails in", f"{note}; envy compares the amounts held", ""),
        ("fits", "Pareto efficient (Theorem 10)", "one more VM fits in", note, ""),
        ("SPNE", "Algorithm 1 finds the SPNE", "it does not in", "", backward),
    ):  # fmt: skip
        yield compare(what, "always", f"{ours} {share[name]}", not failed[name], beside, cause)


def _random_game(rng: np.random.Generator, servers: int, size: int) -> Packing:
    """Random game: servers of own classes, of 4 to 12 units x `size`, and VMs of 1 to 4."""
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
