"""Instances whose agents are all different and never indifferent: stable roommates, with the theory that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.stability import TOLERANCE
from ..outcome import Clock, Stop
from ..roommates import AlmostStable, fewest_blocking_pairs, ranks_from_cost
from ..roommates.partition import Goal
from ..roommates.ranks import Ranks
from ..roommates.reduced import possible_pairs
from .starts import agent_partners


def is_strict(instance: Colocation) -> bool:
    """Whether the game is stable roommates with strict lists: every agent its own type, no two partners equal, nobody alone.

    An agent that may be left `unpaired` must like every partner strictly better than that. A surplus of machines is another
    game: a job alone on its machine is content and blocks nobody.
    """
    if not instance.distinct or (instance.singles_allowed > 0 and instance.unpaired is None):
        return False
    cost = np.sort(np.where(instance.allowed, instance.penalty, np.inf), axis=1)
    with np.errstate(invalid="ignore"):
        steps = np.diff(cost, axis=1)  # inf - inf between two forbidden partners
    if (steps <= TOLERANCE).any():
        return False
    return instance.unpaired is None or not (np.isfinite(cost) & (instance.unpaired - cost <= TOLERANCE)).any()


@dataclass(frozen=True)
class StrictAnswer:
    """The fewest blocking pairs of a strict instance, and the instance in which that pairing is stable."""

    found: AlmostStable
    rank: Ranks

    @property
    def pairing(self) -> Pairing | None:
        """The pairing found; None when no perfect one exists."""
        partner = self.found.partner
        return None if partner is None else Pairing.from_partners(np.arange(len(partner)), partner, len(partner))

    @property
    def stop(self) -> Stop:
        """Why the search stopped."""
        return Stop(self.found.stop)

    def certificate(self) -> dict[str, Any]:
        """What proves the bound: a stable partition anyone can check, and the numbers of deletions that were exhausted."""
        found, partition = self.found, self.found.partition
        if found.value == 0:
            return {"proof": "a pairing without blocking pair is its own proof"}
        steps = [f"the odd parties of a stable partition force at least {found.bound - len(found.finished)}"]
        steps += [f"an exhausted search over deletions shows that {k} are too few" for k in found.finished]
        return {
            "proof": "; ".join(steps),
            "stable_partition": partition.successor.tolist(),
            "odd_parties": [list(map(int, party)) for party in partition.odd_parties],
            "exhausted": [int(k) for k in found.finished],
        }

    def restricted(self, instance: Colocation) -> Colocation:
        """The instance with only the pairs that a matching stable after forgiving this one's blocking pairs can use.

        Every pairing of it without a blocking pair has, in the full instance, at most the blocking pairs forgiven here.
        """
        cost = np.where(instance.allowed, instance.penalty, np.inf)
        for i, j in self.found.blocking.tolist():
            cost[i, j] = cost[j, i] = np.inf
        kept = possible_pairs(ranks_from_cost(cost))
        return instance.replace(penalty=np.where(kept, instance.penalty, np.inf))


def solve_strict(instance: Colocation, clock: Clock, rng: np.random.Generator, start: Pairing | None) -> StrictAnswer:
    """Fewest blocking pairs by the stable partition and the exact search over deletions."""
    rank = ranks_from_cost(np.where(instance.allowed, instance.penalty, np.inf))
    goal: Goal = "perfect" if instance.unpaired is None else "any"
    found = fewest_blocking_pairs(
        rank,
        goal,
        time_limit=clock.left,
        rng=rng,
        start=None if start is None else agent_partners(instance, start),
        report=lambda seconds, value, bound, text: clock.note(value, bound, text),
    )
    return StrictAnswer(found, rank)
