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
from ..outcome import Clock, Outcome, Status, agree, level, raise_if_interrupted
from .blossom import least_penalty_bound
from .common import Blocking, run

COUNTED_BY_AGENT: dict[str, str] = {"agents": "blocking_agents", "minimax": "most_blocking"}
"""The metric that is made least."""

WORDS = {"agents": "blocking agents", "minimax": "blocking pairs of one agent"}

MOST_TERMS = 1_000_000
"""Entries up to which the program over types is made."""

PROGRAM_SECONDS = 30.0
"""For a program where there is no time limit."""


def fewest_by_agent(
    instance: Colocation, objective: AgentObjective, counted: Blocking, clock: Clock,
    begin: Pairing, pairs: Callable[[float | None], Outcome],
) -> Outcome:  # fmt: skip
    """Minimize the blocking agents, or the blocking pairs of one agent, from a given pairing on.

    Few pairs mean few agents, and so many pairs at least mean so many agents at least. What that
    leaves open is decided by a program over types.

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
    """State of `fewest_by_agent`: incumbent, bounds on its objective and on the mean penalty."""

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
        """Derive a bound from the number of blocking pairs, then solve programs for the objective
        and for the penalty.
        """
        found = pairs(self.clock.time_slice(2))
        kept = ("stable_partition", "odd_parties", "exhausted", "unsettled_agents")
        self.certificate |= {name: found.certificate[name] for name in kept
                             if name in found.certificate}  # fmt: skip
        self.offer(cast("Pairing | None", found.solution), "fewest blocking pairs")
        least = int(found.bound or 0)
        implied = self._implied(least)
        proof = f"{found.certificate.get('proof', '')}; so many pairs have as many agents"
        self.raise_bound(implied, "fewest blocking pairs", proof)
        if self.value == 0:  # then both levels are the same as of pairs
            self.certificate["proof"] = found.certificate["proof"]
            self.penalty_bound = found.certificate["levels"][1]["bound"]
        raise_if_interrupted(found.stop)
        self._decide()
        if self.value > 0 and self.proved and not self.clock.expired:
            self._cheapest()

    def _implied(self, pairs: int) -> int:
        """Lower bound on the objective that a number of blocking pairs implies."""
        if self.objective == "minimax":
            return -(-2 * pairs // self.instance.agents)
        return next(few for few in range(2 * pairs + 1) if few * (few - 1) // 2 >= pairs)

    def _decide(self) -> None:
        """Decide by a program over types whether the lower bound on `objective` (blocking agents,
        or blocking pairs of one agent) is reached. If that stays undecided, minimize `objective`.
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
        """Minimize the penalty among pairings with the fewest blocking agents (or `minimax`)."""
        stop = self.stop
        answer = self._solved(self.value)
        if answer is not None and answer.bound is not None and self.penalty_bound is None:
            self.penalty_bound = answer.bound / self.instance.agents
        self.stop = stop

    def _solved(
        self, most: int | None, seconds: float | None = None, *, penalty: bool = True
    ) -> Any:
        """Solve a program by CP-SAT and offer its pairing; None if it is too large."""
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
        """Outcome whose certificate states the objective and the penalty, each with its bound."""
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
