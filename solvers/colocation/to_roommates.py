"""Instances as stable roommates: lists of agents, with or without ties, and the theory that goes
with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.stability import AlphaMode, better_partners, gains
from ..outcome import Report
from ..roommates import (
    AlmostStable,
    WeakLists,
    blocking_pairs,
    fewest_blocking_pairs,
    fewest_with_ties,
    weak_lists,
)
from ..roommates.matching_search import ROOMMATES_LIMITS, RoommatesLimits
from ..roommates.partition import Goal
from ..roommates.ranks import possible_pairs
from .common import Blocking


def lists_of_agents(
    instance: Colocation, alpha: float = 0.0, alpha_mode: AlphaMode = "penalty-points"
) -> WeakLists | None:
    """Preference lists of the agents, numbered type by type; None if jobs may run alone, because
    such a job never blocks.

    Without a partner an agent is taken to gain by everyone (see `alone_is_worst`). The lists are
    strict when no two partners are equal to an agent, or too near to each other to gain alpha;
    agents of one type are equal to all.
    """
    if instance.singles_allowed > 0 and instance.unpaired is None:
        return None
    types = instance.agent_types()
    cost = np.where(instance.allowed, instance.penalty, np.inf)[np.ix_(types, types)]
    return weak_lists(cost, partial(better_partners, alpha=alpha, alpha_mode=alpha_mode))


def alone_is_worst(
    instance: Colocation, alpha: float = 0.0, alpha_mode: AlphaMode = "penalty-points"
) -> bool:
    """Return whether every agent prefers any partner to none; otherwise some pairs block in the
    lists but not in the instance.
    """
    worst = np.where(instance.allowed, instance.penalty, -np.inf).max()
    return instance.unpaired is None or bool(gains(instance.unpaired, worst, alpha, alpha_mode))


@dataclass(frozen=True)
class RoommatesAnswer:
    """Result of the search for the fewest blocking pairs of preference lists."""

    found: AlmostStable
    lists: WeakLists
    goal: Goal

    def pairing(self, instance: Colocation) -> Pairing | None:
        """Matching found, as a pairing of types; None if there is no perfect matching."""
        partner = self.found.partner
        if partner is None:
            return None
        return Pairing.from_partners(instance.agent_types(), partner, instance.types)

    def certificate(self, known: str = "") -> dict[str, Any]:
        """Certificate of the bound: a stable partition, and the numbers of deletions that were
        exhausted.

        Parameters
        ----------
        known : the proof of the bound that the search began with, said where the partition does not
            prove as much.
        """
        found, partition = self.found, self.found.partition
        if found.value == 0:
            return {"proof": "a pairing without blocking pair is its own proof"}
        begun = found.bound - len(found.finished)
        searched = "deletions" if self.lists.strict else "tie-breakings and deletions"
        steps = [
            f"an exhausted search over {searched} shows that {k} are too few"
            for k in found.finished
        ]
        if begun > partition.bound(self.goal) - len(found.unsettled):
            steps = [known] * (begun > 0) + steps
        else:
            steps = [self._by_partition(begun), *steps]
        facts = {
            "proof": "; ".join(steps),
            "stable_partition": partition.successor.tolist(),
            "odd_parties": [list(map(int, party)) for party in partition.odd_parties],
            "exhausted": [int(k) for k in found.finished],
        }
        return facts if self.lists.strict else {**facts, "unsettled_agents": list(found.unsettled)}

    def _by_partition(self, bound: int) -> str:
        text = f"the odd parties of a stable partition force at least {bound}"
        if self.lists.strict:
            return text
        less, agents = "", len(self.found.unsettled)
        if agents:
            less = f", one less for each of {agents} agents whose ties could unsettle it"
        return f"{text} however ties are broken{less}"

    def one_tie_breaking(self, instance: Colocation) -> Colocation:
        """Instance restricted to the pairs of matchings that are stable under the tie-breaking of
        the incumbent.

        Few pairs, mostly; a pairing of them without a blocking pair has none in the full instance,
        but others have none as well.
        """
        rank = self.found.tie_breaking
        assert rank is not None
        possible = without_blocking(instance, WeakLists(rank, rank))
        assert possible is not None
        return possible


def without_blocking(instance: Colocation, lists: WeakLists) -> Colocation | None:
    """Instance of different agents restricted to the pairs that a pairing without blocking pairs
    can use; None if there is no such pairing.

    A pairing of these has no blocking pair in the full instance if it has none here.
    """
    kept = possible_pairs(lists)
    if instance.unpaired is None and not kept.any(axis=1).all():
        return None
    return instance.without_intervals(penalty=np.where(kept, instance.penalty, np.inf))


def forgiving(
    instance: Colocation, lists: WeakLists, pairing: Pairing, counted: Blocking
) -> Colocation:
    """Instance of different agents restricted to pairs that do not block `pairing` and that a
    pairing without blocking pairs among them can use.

    Every pairing of it without a blocking pair has no others in the full instance than those this
    one has.
    """
    blocking = blocking_pairs(lists.place, pairing.partners(instance), lists.better)
    if len(blocking):
        forgiven = instance.penalty.copy()
        for i, j in blocking.tolist():
            forgiven[i, j] = forgiven[j, i] = np.inf
        without = instance.without_intervals(penalty=forgiven)
        rest = lists_of_agents(without, counted.alpha, counted.mode)
        assert rest is not None
        lists = rest
    possible = without_blocking(instance, lists)
    assert possible is not None
    return possible


def solve_roommates(
    instance: Colocation,
    lists: WeakLists,
    *,
    seconds: float | None,
    rng: np.random.Generator,
    start: Pairing,
    known: int = 0,
    report: Report | None = None,
    limits: RoommatesLimits = ROOMMATES_LIMITS,
) -> RoommatesAnswer:
    """Minimize the blocking pairs by stable partitions and an exact search over deletions and, with
    ties, over tie-breakings.

    Parameters
    ----------
    lists : of the agents of the instance.
    seconds : the time limit.
    known : a bound that has been proved already.
    limits : which routes of the search run.
    """
    goal: Goal = "perfect" if instance.unpaired is None else "any"
    how: dict[str, Any] = {
        "time_limit": seconds, "rng": rng, "start": start.partners(instance), "report": report,
        "limits": limits,
    }  # fmt: skip
    if lists.strict:
        return RoommatesAnswer(fewest_blocking_pairs(lists.place, goal, **how), lists, goal)
    return RoommatesAnswer(fewest_with_ties(lists, goal, known=known, **how), lists, goal)
