"""Fewest blocking agents, or fewest blocking pairs of the agent that is in most, then least mean
penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty, scale
from ...models.colocation import AgentObjective, agent_program, agent_terms
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Status, Stop, agree, level, raise_if_interrupted
from ..roommates.deletions_by_agent import (
    DeletionsByAgent,
    OutOfTime,
    agents_in,
    least_measure_of,
    most_of_one,
)
from ..roommates.partition import Goal
from .bounds import least_penalty_bound
from .common import Blocking, run
from .to_roommates import alone_is_worst, lists_of_agents

COUNTED_BY_AGENT: dict[str, str] = {"agents": "blocking_agents", "minimax": "most_blocking"}
"""The metric that is made least."""

WORDS = {"agents": "blocking agents", "minimax": "blocking pairs of one agent"}

MOST_TERMS = 1_000_000
"""Entries up to which the program over types is made."""

PROGRAM_SECONDS = 30.0
"""For a program, and for the search over deletions, where there is no time limit."""


def fewest_by_agent(
    instance: Colocation, objective: AgentObjective, counted: Blocking, clock: Clock,
    begin: Pairing, pairs: Callable[[float | None], Outcome],
) -> Outcome:  # fmt: skip
    """The pairing that is best by an objective of agents, from one with the fewest blocking pairs.

    Few pairs mean few agents, and so many pairs at least mean so many agents at least. What that
    leaves open is decided for strict lists by a search over deletions, and else, or where that
    takes too long, by a program over types.

    Parameters
    ----------
    begin : a pairing.
    pairs : from seconds to the pairing with the fewest blocking pairs, and its bound.
    """
    search = _ByAgent(instance, objective, counted, clock, begin)
    with search.keeping_best():
        search.run(pairs)
    return search.outcome()


class _ByAgent(Incumbent[Pairing, int]):
    """The best pairing so far, and the bound on its objective and on its penalty."""

    best: Pairing

    def __init__(
        self, instance: Colocation, objective: AgentObjective, counted: Blocking, clock: Clock,
        begin: Pairing,
    ) -> None:  # fmt: skip
        super().__init__(
            instance, clock, self._count, bound=0, then=lambda one: mean_penalty(instance, one)
        )
        self.instance, self.objective, self.counted = instance, objective, counted
        self.penalty_bound: float | None = None
        self.begin(begin)
        self.report("start")

    def _count(self, pairing: Pairing) -> int:
        found = self.counted.pairs(self.instance, pairing)
        return found.agents if self.objective == "agents" else found.most

    def run(self, pairs: Callable[[float | None], Outcome]) -> None:
        """From pairs to agents; then what is open, and the penalty."""
        found = pairs(self.clock.time_slice(2))
        kept = ("stable_partition", "odd_parties", "exhausted", "unsettled_agents")
        self.certificate |= {name: found.certificate[name] for name in kept
                             if name in found.certificate}  # fmt: skip
        self.offer(cast("Pairing | None", found.solution), "fewest blocking pairs")
        least = int(found.bound or 0)
        measure = agents_in if self.objective == "agents" else most_of_one
        implied = least_measure_of(least, self.instance.agents, measure)
        proof = f"{found.certificate.get('proof', '')}; so many pairs have as many agents"
        self.raise_bound(implied, "fewest blocking pairs", proof)
        if self.value == 0:  # then both levels are the same as of pairs
            self.certificate["proof"] = found.certificate["proof"]
            self.penalty_bound = found.certificate["levels"][1]["bound"]
        raise_if_interrupted(found.stop)
        if self.open:
            self._delete()
        if self.open:
            self._decide()
        if self.value > 0 and self.proved and not self.clock.expired:
            self._cheapest()

    def _delete(self) -> None:
        """The search over deletions, for different agents with strict lists."""
        instance, counted = self.instance, self.counted
        if not (instance.distinct and alone_is_worst(instance, counted.alpha, counted.mode)):
            return
        lists = lists_of_agents(instance, counted.alpha, counted.mode)
        if lists is None or not lists.strict:
            return
        goal: Goal = "perfect" if instance.unpaired is None else "any"
        measure = agents_in if self.objective == "agents" else most_of_one
        seconds = self.clock.time_slice(2) or PROGRAM_SECONDS
        search = DeletionsByAgent(lists.place, goal, measure, Clock(seconds))
        try:
            while self.open:
                limit = self.bound
                partner = search.within(limit)
                if partner is not None:
                    types = np.arange(instance.types)
                    found = Pairing.from_partners(types, partner, instance.types)
                    self.offer(found, "search over deletions")
                    return
                proof = f"an exhausted search over deletions: more than {limit} "
                self.raise_bound(limit + 1, "deletions", proof + WORDS[self.objective])
        except OutOfTime:
            self.stop = Stop.TIME_LIMIT

    def _decide(self) -> None:
        """Is the bound enough? By a program over types, which mostly is far quicker than the least;
        that is asked for where it cannot say.
        """
        while self.open:
            limit = self.bound
            answer = self._solved(limit, self.clock.time_slice(2), penalty=False)
            if answer is not None and answer.status is Status.UNKNOWN:
                answer = self._solved(None)
                bound = None if answer is None else answer.bound
                self.raise_bound(int(np.ceil((bound or 0.0) - 1e-6)), "program over types",
                                 "integer program over types")  # fmt: skip
                return
            if answer is None or answer.status is not Status.INFEASIBLE:
                return
            proof = f"no pairing has {limit} {WORDS[self.objective]} or fewer: CP-SAT exhausted "
            self.raise_bound(limit + 1, "program over types", proof + "the program over types")

    def _cheapest(self) -> None:
        """Least penalty among all pairings that are as good."""
        stop = self.stop
        answer = self._solved(self.value)
        if answer is not None and answer.bound is not None and self.penalty_bound is None:
            self.penalty_bound = answer.bound / self.instance.agents
        self.stop = stop

    def _solved(
        self, most: int | None, seconds: float | None = None, *, penalty: bool = True
    ) -> Any:
        """What CP-SAT says of a program, its pairing offered; None where it is too large."""
        if agent_terms(self.instance) > MOST_TERMS:
            return None
        counted = self.counted
        program = agent_program(
            self.instance, self.objective, most, counted.alpha, counted.mode, penalty=penalty
        )
        seconds = seconds or self.clock.time_slice() or PROGRAM_SECONDS
        answer = run(program, Clock(seconds), engine="cp-sat")
        if answer.point is not None:
            self.offer(program.pairing(answer.point), "program over types")
        raise_if_interrupted(answer.stop)
        if answer.status is Status.UNKNOWN:
            self.stop = answer.stop
        return answer

    def outcome(self) -> Outcome:
        """The checked outcome, with both levels in its certificate."""
        bound, penalty = self.penalty_bound, mean_penalty(self.instance, self.best)
        if bound is None:
            bound = least_penalty_bound(self.instance, self.clock.left, start=self.best)
        met = self.proved and agree(penalty, bound, scale(self.instance, "penalty"))
        name = COUNTED_BY_AGENT[self.objective]
        levels = [
            level(name, self.value, min(self.bound, self.value), self.proved),
            level("penalty", penalty, min(bound, penalty), met),
        ]
        blocking = self.counted.listed(self.instance, self.best)
        return self.finish({**self.counted.facts, "blocking_pairs": blocking, "levels": levels})
