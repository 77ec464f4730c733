"""The pairs a stable matching can contain."""

from __future__ import annotations

import numpy as np
from support.oracles.matchings import every_matching

from cotenant.solvers.roommates import UNRANKED, WeakLists, blocking_pairs, ranks_from_cost
from cotenant.solvers.roommates.first_phase import possible_pairs


def test_every_stable_matching_uses_possible_pairs_and_no_other_pair_blocks_inside_them() -> None:
    rng = np.random.default_rng(0)
    stable = 0
    for _ in range(150):
        agents = int(rng.integers(2, 8))
        cost = rng.random((agents, agents))
        cost[rng.random((agents, agents)) < rng.choice([0.0, 0.3])] = np.inf
        rank = ranks_from_cost(cost)
        kept = possible_pairs(WeakLists(rank, rank))
        assert (kept == kept.T).all()
        restricted = np.where(kept, rank, UNRANKED)
        for partner in every_matching(agents):
            pairs = [(i, j) for i, j in enumerate(partner.tolist()) if i < j]
            if not all(rank[i, j] < UNRANKED for i, j in pairs):
                continue
            if len(blocking_pairs(rank, partner)) == 0:
                stable += 1
                assert all(kept[i, j] for i, j in pairs)
            elif all(kept[i, j] for i, j in pairs):
                assert len(blocking_pairs(restricted, partner)) > 0, (
                    "a matching stable inside is stable outside"
                )
    assert stable > 50


def test_long_random_lists_are_reduced_to_few_pairs() -> None:
    rank = ranks_from_cost(np.random.default_rng(1).random((200, 200)))
    assert possible_pairs(WeakLists(rank, rank)).sum() < 200 * 199 / 4
