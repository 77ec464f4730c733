"""Lexicographic search of all questions: fewest pending pods, then least cost of nodes, then fewest
moves, each with a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...instances.problem.errors import InvalidInstance
from .answer import Question, Reason
from .assembly import Translation
from .optimum import (
    Found,
    SolveBudget,
    as_it_is,
    cost_needed,
    cost_of,
    fewest_moves,
    least_cost,
    moves_needed,
    moves_of,
    settled,
    with_waiting,
)
from .to_packing import translate


class Search:
    """Searches of one question: `needed` and `cheapest` minimize pending pods and nodes, then
    `move` and `relax` minimize and bound the moves.

    Parameters
    ----------
    name : of the case, where there are several.

    Attributes
    ----------
    tries, best : the fewest moves found for each translation, and of all.
    bound, low : no plan of any kind moves fewer, and none that was looked for; None where no moves
        do.
    tightened : whether a plan that was tried keeps more than is asked for: its bounds are none of
        the state then.
    unplaced, stays : why the plans that were tried put pods nowhere, and leave others.
    """

    def __init__(self, question: Question, work: SolveBudget, name: str = "") -> None:
        self.question, self.work, self.name = question, work, name
        self.tries: list[Found] = []
        self.best: Found | None = None
        self.bound: int | None = 0
        self.low: int | None = 0
        self.tightened = False
        self.unplaced: Mapping[int, tuple[Reason, ...]] = {}
        self.stays: Mapping[int, tuple[Reason, ...]] = {}

    @cached_property
    def relaxed(self) -> Translation:
        """Packing instance of the question for lower bounds. Raises InvalidInstance if no node may
        hold some running pod.
        """
        return translate(self.question, for_bound=True)

    @cached_property
    def plans(self) -> list[Translation]:
        """Packing instances for plans: one that leaves broken rules as they are, and one that
        repairs them. Raises as `relaxed` does.
        """
        left = translate(self.question)
        if not left.violated_rules or self.question.repair:
            return [left]
        try:
            return [left, translate(replace(self.question, repair=True))]
        except InvalidInstance:  # some of it can be nowhere without breaking a rule
            return [left]

    @property
    def moves(self) -> int | None:
        """Number of moves of the best answer; None without an answer."""
        return None if self.best is None else self.best.value

    @property
    def pinned(self) -> int | None:
        """Lower bound on the moves while the pinned pods stay; None if no moves reach the goal."""
        return None if self.bound is None or self.low is None else max(self.bound, self.low)

    def needed(self, parts: float, words: str = "nodes") -> int:
        """Lower bound on the total cost of nodes and pending pods."""
        words = f"a bound on the {words}"
        return self.work.find(words, parts, cost_needed, self.relaxed).bound

    def cheapest(self, parts: float, aim: str) -> list[Found]:
        """Find the cheapest placement in each of the packing instances `plans`. The first is never
        worse than the current placement.
        """
        present = as_it_is(self.plans[0])
        answers = [
            self.work.find(aim, parts, least_cost, plan, start)
            for plan, start in zip(self.plans, (present, None), strict=False)
        ]
        now, first = cost_of(self.plans[0], present), answers[0]
        if first.value is None or now < first.value:
            answers[0] = replace(first, value=now, count=present)
        return answers

    def move(
        self, parts: float, waiting: int = 0, limit: int | None = None, starts: Sequence[Found] = ()
    ) -> None:
        """Find the fewest moves while the pinned pods stay, nodes cost at most `limit` (None: no
        limit) and at most `waiting` pods stay pending, besides those that no node may take.

        Parameters
        ----------
        starts : placements that are so, of the plans that are tried; all plans when not given.
        """
        self.tries = []
        self.unplaced, self.stays = self.plans[0].unplaced, self.plans[0].pinned
        self.tightened = any(plan.tightened for plan in self.plans)
        words = f"the fewest moves{f' in {self.name}' * bool(self.name)}"
        some = [(one.plan, one.count) for one in starts]
        for plan, count in some or [(plan, None) for plan in self.plans]:
            unable = 0 if self.question.least == "moves" else nowhere(plan)
            if (placed := at_most_waiting(plan, max(waiting, unable))) is None:
                continue
            total = None if limit is None else limit + placed.waiting_servers
            start = None if count is None else settled(placed, count)
            one = self.work.find(words, parts, fewest_moves, placed, total, start)
            if one.count is None and start is not None:
                one = replace(one, value=moves_of(placed, start), count=start)
            self.tries.append(one)
        self.best = fewest(self.tries)
        if not self.tightened:
            least = 0 if self.best is None else self.best.bound
            self.low = None if all(one.infeasible for one in self.tries) else least

    def relax(
        self, parts: float, waiting: int = 0, limit: int | None = None, quick: bool = False
    ) -> None:
        """Bound from below the moves of all plans, with no pod pinned. As in `move`, nodes cost at
        most `limit` and at most `waiting` pods stay pending.
        """
        words = f"a bound on the moves{f' in {self.name}' * bool(self.name)}"
        if (placed := at_most_waiting(self.relaxed, waiting)) is None:
            self.bound = None
            return
        total = None if limit is None else limit + waiting
        low = self.work.find(words, parts, moves_needed, placed, total, quick)
        self.bound = None if low.infeasible else low.bound

    def impossible(self) -> str:
        """Phrase on how it is proved that no moves answer the question; "" if it is not proved."""

        def proof() -> str:
            try:
                self.relax(1)
            except InvalidInstance:
                self.bound = None
            if self.bound is None:
                return "whatever else moves (proved)"
            return "" if self.tightened else "while the pinned pods stay (proved)"

        known = all(one.infeasible for one in self.tries)
        return self.work.part("a proof", proof, "") if known else ""


def cost_beside(
    relaxed: Translation, waiting: int, work: SolveBudget, parts: float, words: str
) -> int:
    """Lower bound on the cost of nodes if at most `waiting` pods stay pending."""
    # a node costs so much in it that all of the waiting pods together do not reach that
    free = with_waiting(relaxed, waiting, waiting + 1)
    total = work.find(words, parts, cost_needed, free).bound
    return max(0, -((waiting - total) // (waiting + 1)))


def fewest(answers: Iterable[Found]) -> Found | None:
    """Among answers found to one question, the one with the fewest moves, with a bound that holds
    for all of them.
    """
    possible = [one for one in answers if not one.infeasible]
    some = [one for one in possible if one.count is not None]
    if not some:
        return None
    best = min(some, key=lambda one: one.value or 0)
    return replace(best, bound=min(one.bound for one in possible))


def nowhere(plan: Translation) -> int:
    """Number of pods of a packing instance that none of its nodes may take."""
    instance, last = plan.instance, plan.instance.classes - 1
    large = np.any(instance.demand[:, None] > instance.capacity[:last], axis=2)
    taken: list[bool] = np.any(instance.rules.allowed[:, :last] & ~large, axis=1).tolist()
    return sum(len(pods) for pods, some in zip(plan.pods, taken, strict=False) if not some)


def at_most_waiting(plan: Translation, number: int) -> Translation | None:
    """Packing instance in which at most `number` pods may stay pending; None if infeasible."""
    try:
        return with_waiting(plan, number)
    except InvalidInstance:
        return None
