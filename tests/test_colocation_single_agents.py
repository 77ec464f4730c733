"""The least penalty with few blocking pairs, of agents that all differ, against enumeration, other
programs, and what multipliers at random claim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.seeds import numbers

from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.colocation.objective import mean_penalty
from cotenant.solvers.colocation.blocking import at_most_blocking, find_stable
from cotenant.solvers.colocation.single_agents import agents_of, least_penalty
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_limits import StableLimits
from cotenant.solvers.colocation.to_roommates import lists_of_agents
from cotenant.solvers.engines import WarmStartedProgram
from cotenant.solvers.outcome import Clock, Stop
from cotenant.solvers.roommates import WeakLists, blocking_pairs


def drawn(agents: int, rng: np.random.Generator, digits: int) -> Colocation:
    """Agents that all differ, with ties, some pairs forbidden."""
    penalty = np.round(rng.random((agents, agents)), digits)
    if rng.random() < 0.3 and agents > 4:
        penalty[0, 1] = penalty[2, 3] = penalty[4, 1] = np.inf
    return Colocation(penalty, np.ones(agents))


class EndsEarly(Clock):
    """Its time is up when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    @property
    def expired(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def enumerated(instance: Colocation, lists: WeakLists, reference: Any) -> list[tuple[int, Any]]:
    """Blocking pairs and partners of every pairing."""
    every = [np.array(partner) for partner in reference.pairings(instance)]
    return [(len(blocking_pairs(lists.place, mate, lists.better)), mate) for mate in every]


@pytest.mark.parametrize("number", numbers(3000, 40))
def test_the_best_pairing_is_that_of_enumeration(number: int, reference: Any) -> None:
    rng, seen = np.random.default_rng(0), set()
    for _ in range(number):
        instance = drawn(int(rng.choice([4, 6, 8])), rng, int(rng.choice([1, 1, 2, 4])))
        alpha = float(rng.choice([0.0, 0.0, 0.1]))
        lists = lists_of_agents(instance, alpha)
        assert lists is not None
        every, types = enumerated(instance, lists, reference), instance.types
        for most in range(3):
            few = [
                Pairing.from_partners(instance.agent_types(), mate, types)
                for count, mate in every
                if count <= most
            ]
            if not few:
                continue
            least = min(mean_penalty(instance, pairing) for pairing in few)
            best, bound, stop = least_penalty(
                instance, lists, few[0], most, Clock(None), "highs", cheapest=2
            )
            assert stop is Stop.FINISHED
            assert len(blocking_pairs(lists.place, best.partners(instance), lists.better)) <= most
            assert mean_penalty(instance, best) == pytest.approx(least, abs=1e-9)
            assert bound == pytest.approx(least, abs=1e-6)
            clock = EndsEarly(int(rng.integers(1, 7)))
            _, early, _ = least_penalty(instance, lists, few[-1], most, clock, "highs", 2)
            assert early is None or early <= least + 1e-9
            seen.add((most, lists.strict, len(few) < len(every)))
    assert len(seen) >= 8


@pytest.mark.parametrize("number", numbers(3000, 60))
def test_no_multipliers_claim_more_than_is_true(number: int, reference: Any) -> None:
    rng = np.random.default_rng(1)
    for _ in range(number):
        instance = drawn(6, rng, 1)
        lists = lists_of_agents(instance)
        assert lists is not None
        most = int(rng.integers(3))
        agents = agents_of(instance, lists, most)
        usable = np.isfinite(agents.cost)
        chosen = usable & (rng.random(usable.shape) < rng.choice([0.3, 0.6, 1.0]))
        some = agents.program(chosen | chosen.T)
        relaxed = replace(some.program, integer=np.zeros(some.program.columns, dtype=np.bool_))
        dual = WarmStartedProgram(relaxed).solve().row_dual
        if dual is None:
            continue
        dual[rng.integers(len(dual), size=3)] += rng.normal(size=3) * rng.choice([0.0, 0.1, 1.0])
        bound, reduced = some.priced(dual)
        for count, mate in enumerated(instance, lists, reference):
            if count <= most:
                cost = agents.cost[np.arange(6), mate].sum() / 2
                assert bound <= cost + 1e-9
                more = reduced[np.arange(6), mate]
                assert (bound + np.maximum(more, 0.0) <= cost + 1e-9).all()


@pytest.mark.parametrize("number", numbers(40, 2))
def test_the_programs_over_all_pairs_agree(number: int) -> None:
    values = set()
    for seed in range(number):
        rng = np.random.default_rng(seed)
        instance = Colocation(np.round(rng.random((24, 24)), 2 + seed % 3), np.ones(24))
        found = stable(instance, limits=StableLimits(child_pairs=0), time_limit=600)
        first, second = found.certificate["levels"]
        assert (first["status"], second["status"]) == ("optimal", "optimal")
        most = first["value"]
        other = at_most_blocking(instance, most) if most else find_stable(instance)
        assert other.bound is not None
        assert second["value"] == pytest.approx(other.bound, abs=1e-9)
        values.add(most)
    assert len(values) == 2 or number < 10


def test_without_time_the_start_comes_back() -> None:
    rng = np.random.default_rng(0)
    instance = Colocation(np.round(rng.random((40, 40)), 2), np.ones(40))
    lists, found = lists_of_agents(instance), stable(instance)
    assert lists is not None
    assert found.solution is not None
    best, bound, stop = least_penalty(
        instance, lists, found.solution, 0, Clock(1e-9), "highs"
    )  # fmt: skip
    assert (best, bound, stop) == (found.solution, None, Stop.TIME_LIMIT)
