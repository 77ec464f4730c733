"""What the routes of `stable` share: the best pairing so far, what is proved, and the programs they
ask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty, scale
from ...instances.colocation.stability import Uncertainty
from ...models.colocation import order_terms
from ..engines import EngineName, call_in_subprocess
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, Stop, agree, level, raise_if_interrupted
from ..roommates import WeakLists
from .blocking import KINDS, find_stable
from .bounds import least_penalty_bound
from .common import CHILD_TIME_FRACTION, Blocking
from .stable_limits import StableLimits
from .to_roommates import RoommatesAnswer, alone_is_worst, lists_of_agents, solve_roommates

KILL_GRACE = 0.5
"""Seconds a process of its own may pass the limit before it is ended."""

COUNTED: dict[Uncertainty, str] = {
    "none": "blocking_pairs",
    "certain": "certain_blocking_pairs",
    "possible": "possible_blocking_pairs",
}
"""The metric that is made least."""


class StableSearch(Incumbent[Pairing, int]):
    """The pairing with the fewest blocking pairs so far, of those the one of least penalty, and
    what is proved.

    Attributes
    ----------
    certain : whether measured gains count, not those within intervals.
    penalty_bound : on the mean penalty of all with as few blocking pairs; None without one.
    answer : what the search over deletions found last, where all agents differ.
    """

    best: Pairing
    answer: RoommatesAnswer

    def __init__(
        self,
        instance: Colocation,
        counted: Blocking,
        engine: EngineName,
        clock: Clock,
        rng: np.random.Generator,
        begin: Pairing,
        limits: StableLimits,
    ) -> None:
        super().__init__(
            instance, clock, partial(counted.count, instance), bound=0,
            then=partial(mean_penalty, instance),
        )  # fmt: skip
        self.instance, self.counted, self.engine = instance, counted, engine
        self.rng, self.limits = rng, limits
        self.certain = counted.uncertainty == "none"
        self.penalty_bound: float | None = None
        self.begin(begin)
        self.report("start")

    @cached_property
    def alone_is_worst(self) -> bool:
        """Whether the lists of agents say all that blocks."""
        return alone_is_worst(self.instance, self.counted.alpha, self.counted.mode)

    @property
    def everyone(self) -> bool:
        """Whether all agents have lists: a job that may run alone at no penalty never blocks."""
        return self.instance.singles_allowed == 0 or self.instance.unpaired is not None

    @cached_property
    def lists(self) -> WeakLists:
        """The lists of the agents, one by one, where `everyone` has one."""
        found = lists_of_agents(self.instance, self.counted.alpha, self.counted.mode)
        assert found is not None
        return found

    @property
    def probe_seconds(self) -> float:
        """For a first search over tie-breakings."""
        return min(self.limits.probe_seconds, self.clock.time_slice(4) or np.inf)

    @property
    def second_level_time(self) -> float | None:
        """For the least penalty."""
        return self.clock.time_slice() or (None if self.value == 0 else self.limits.penalty_seconds)

    def by_deletions(self, seconds: float | None) -> None:
        """What the search over deletions finds, and its bound where the lists say all."""
        all_said = self.alone_is_worst
        known = self.bound if all_said else 0

        def report(_: float, value: float | None, bound: float | None, text: str) -> None:
            best = self.value if value is None else min(value, self.value)
            self.clock.note(best, bound if all_said else float(self.bound), text)

        self.answer = answer = solve_roommates(
            self.instance, self.lists, seconds=seconds, rng=self.rng, start=self.best, known=known,
            report=report, limits=self.limits.roommates,
        )  # fmt: skip
        self.stop = answer.stop
        self.offer(answer.pairing(self.instance), "search over deletions")
        if answer.found.bound > self.bound and all_said:
            self.certificate |= answer.certificate(self.certificate.get("proof", ""))
            self.raise_bound(int(answer.found.bound), "stable partition and search over deletions")
        raise_if_interrupted(self.stop)

    def ask(
        self,
        function: Callable[..., Outcome],
        seconds: float | None,
        report: Report | None = None,
        **how: Any,
    ) -> Outcome | None:
        """What a program over types says within the time; a large one in a process of its own,
        which does not report.

        None when that had to be ended.
        """
        given: dict[str, Any] = {
            **self.counted.options, "engine": "cp-sat", "time_limit": seconds, **how
        }  # fmt: skip
        terms = order_terms(self.instance, how.get("most"), how.get("steps"))
        small = self.instance.types < self.limits.child_types and terms < self.limits.child_terms
        if small or seconds is None:
            return function(self.instance, **given, report=report)
        given["time_limit"] = max(CHILD_TIME_FRACTION * seconds, seconds - KILL_GRACE)
        return self._in_time(
            call_in_subprocess(function, self.instance, **given, hard_limit=seconds + KILL_GRACE)
        )

    def find_stable(
        self, instance: Colocation, seconds: float | None, start: Pairing | None = None
    ) -> Outcome | None:
        """What `blocking.find_stable` finds; None when it was not known by the time limit.

        On a large program HiGHS looks at no clock for long, and making it takes long too: it gets a
        process of its own, which is ended.
        """
        how: dict[str, Any] = {
            **self.counted.options, "engine": self.engine, "start": start,
            "limits": self.limits.shares,
        }  # fmt: skip
        if seconds is None or not self.large(instance):
            return find_stable(instance, **how, time_limit=seconds)
        limit = CHILD_TIME_FRACTION * seconds
        return self._in_time(
            call_in_subprocess(find_stable, instance, **how, time_limit=limit, hard_limit=seconds)
        )

    def _in_time(self, found: Outcome | None) -> Outcome | None:
        """What a process of its own found; None is the time limit."""
        if found is None:
            self.stop = Stop.TIME_LIMIT
        return found

    def large(self, instance: Colocation, most: int | None = None) -> bool:
        """Whether the program without blocking pairs has more ordered pairs than that: HiGHS may
        not keep its time limit on more than `child_pairs`.
        """
        most = self.limits.child_pairs if most is None else most
        if int(instance.allowed.sum()) <= most:
            return False
        keep = self.counted.usable_pairs(instance, 0)
        return keep is not None and int(keep.sum()) > most

    def outcome(self) -> Outcome:
        """The checked outcome, with both levels and the list of blocking pairs in its
        certificate.
        """
        if self.value == 0:
            self.certificate.setdefault("proof", self.own_proof)
        facts = self.counted.facts_of(self.instance, self.best)
        self.certificate = facts | self.certificate
        return self.finish({"blocking_pairs": facts["blocking_pairs"], "levels": self._levels()})

    @property
    def own_proof(self) -> str:
        """What a pairing without blocking pair proves, in words."""
        proof = f"a pairing without {KINDS[self.counted.uncertainty]}blocking pair is its own proof"
        if self.counted.uncertainty == "possible":
            proof += ": it is stable for every matrix within the intervals"
        return proof

    @property
    def cheapest(self) -> bool:
        """Whether the best pairing's penalty is known to be the least."""
        bound, penalty = self.penalty_bound, mean_penalty(self.instance, self.best)
        return bound is not None and agree(penalty, bound, scale(self.instance, "penalty"))

    def _levels(self) -> list[dict[str, Any]]:
        penalty = mean_penalty(self.instance, self.best)
        if self.penalty_bound is None:
            self.penalty_bound = least_penalty_bound(
                self.instance, self.clock.left, self.limits.programs, self.best
            )
        bound, met = self.penalty_bound, self.proved and self.cheapest
        counted = COUNTED[self.counted.uncertainty]
        return [
            level(counted, self.value, min(self.bound, self.value), self.proved),
            level("penalty", penalty, min(bound, penalty), met),
        ]
