"""The two questions to the packing methods, how cheap the nodes and how few moves to them; and the
time that they have together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...catalog import find
from ...instances.packing.instance import Integers, Packing, Placement, check
from ...instances.packing.placement_constraints import stays
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop
from ...solvers.packing.aggregate import aggregate_bound
from ...solvers.packing.constrained import reduce_ruled
from ...solvers.packing.moves import moves_bound
from .assembly import Translation
from .placing import cost_of


@dataclass(frozen=True)
class Found:
    """An answer to one of the questions.

    Attributes
    ----------
    plan : the translation that is answered.
    value : what the workers in use and waiting pods cost, or moves; None without an answer.
    bound : no answer is below it.
    count : (servers, types) pods of each type on each server; None without an answer.
    infeasible : whether it is proved that there is none.
    """

    plan: Translation
    value: int | None = None
    bound: int = 0
    count: Integers | None = None
    infeasible: bool = False
    interrupted: bool = False


SOLVING = 0.9
"""The part of the time for fewest nodes and moves; the rest is for order and check."""

Say = Callable[[str], None]
"""Progress, in a few words."""

_Any = TypeVar("_Any")


class SolveBudget:
    """The time of an advice, its progress, and whether it was interrupted: then only what makes a
    plan of what was found is still done.
    """

    def __init__(self, time_limit: float | None, say: Say, parts: int = 1) -> None:
        self.whole, self.say = Clock(time_limit), say
        self.solving = Clock(None if time_limit is None else SOLVING * time_limit / parts)
        self.interrupted = False
        self.cut: list[str] = []

    def share(self, parts: float) -> float | None:
        """Seconds for one of so many parts of the solving to come."""
        return self.solving.time_slice(parts)

    def part(self, words: str, work: Callable[[], _Any], otherwise: _Any) -> _Any:
        """What a part of the work returns; something else after an interrupt."""
        if self.interrupted:
            return otherwise
        self.say(words)
        try:
            return work()
        except KeyboardInterrupt:
            self.interrupted = True
            return otherwise

    def find(
        self, words: str, parts: float, search: Callable[..., Found], plan: Translation, *asked: Any
    ) -> Found:
        """What a search finds in one of so many parts of the time: its best answer where it is
        interrupted, nothing after that.
        """

        def work() -> Found:
            return search(plan, *asked, time_limit=self.share(parts), report=self.report(words))

        found = self.part(words, work, Found(plan))
        self.interrupted |= found.interrupted
        return found

    def report(self, words: str) -> Callable[..., None]:
        """Progress of a search, after a few words."""

        def says(
            seconds: float, objective: float | None, bound: float | None, text: str = ""
        ) -> None:
            value = "none yet" if objective is None else f"{objective:.0f}"
            least = "" if bound is None else f", at least {bound:.0f}"
            self.say(f"{words}: {value}{least}")

        return says


TINY, SMALL = 400, 20_000
"""Servers times types up to which one declarative model decides at once, or where nothing else did:
it ends with a proof.
"""


def cost_needed(
    plan: Translation, time_limit: float | None = None, report: Report | None = None
) -> Found:
    """A proved bound on the cost of the workers in use: the least where that is soon known."""
    if plan.instance.has_constraints and _size(plan) > SMALL:
        problem, clock = reduce_ruled(plan.instance, costs=True), Clock(time_limit, report)
        bound = aggregate_bound(problem, clock, seconds=clock.time_slice()).bound
        return Found(plan, bound=max(0, bound - plan.kept_cost))
    return least_cost(plan, None, time_limit, report)


def moves_needed(
    plan: Translation, limit: int | None, time_limit: float | None = None,
    report: Report | None = None,
) -> Found:  # fmt: skip
    """A proved bound on the pods that move: the fewest where that is soon known."""
    if _size(plan) > SMALL:
        least = moves_bound(plan.instance, seconds=time_limit, **_within(plan, limit))
        return Found(plan, bound=least)
    return fewest_moves(plan, limit, None, time_limit, report)


def room_needed(
    plan: Translation, quick: bool, time_limit: float | None = None, report: Report | None = None
) -> Found:
    """The fewest pods that move so that all have a node, or a proved bound on them where the size
    is not small, or it has to be `quick`; infeasible where no moves do.
    """
    if _size(plan) <= (TINY if quick else SMALL):
        return fewest_moves(plan, None, None, time_limit, report)
    limits = {"servers": None} | _within(plan, None)
    bound = moves_bound(plan.instance, seconds=time_limit, quick=quick, **limits)
    running = 0 if plan.instance.placed is None else int(plan.instance.placed[:, 2].sum())
    return Found(plan, bound=bound, infeasible=bound > running)


def _size(plan: Translation) -> int:
    return int(plan.instance.server_count.sum()) * plan.instance.types


def _uniform(instance: Packing) -> bool:
    return bool((instance.server_cost == 1).all())


def _within(plan: Translation, limit: int | None) -> dict[str, Any]:
    """The limit on servers, where each costs 1, or on their cost; None forbids nothing."""
    cost = int(plan.instance.server_count @ plan.instance.server_cost)
    cost = cost if limit is None else limit + plan.kept_cost
    return {"servers" if _uniform(plan.instance) else "cost": cost}


def least_cost(
    plan: Translation,
    start: Integers | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Found:
    """The cheapest workers that hold everything, as few as can be where each costs 1; `start` is an
    answer (servers, types).
    """
    if not _uniform(plan.instance):
        return _found(plan, "min-cost", time_limit, report, start=start)
    clock, size, best = Clock(time_limit), _size(plan), Found(plan)
    if size > TINY:
        best = _found(plan, "min-servers", clock.time_slice(1 + (size <= SMALL)), report)
        if size > SMALL or best.infeasible or best.value == best.bound or best.interrupted:
            return best
    exact = _found(plan, "cp-sat", clock.time_slice(), report)
    if exact.infeasible:
        return exact
    some = [one for one in (best, exact) if one.value is not None]
    better = min(some, key=lambda one: one.value or 0, default=best)
    return replace(better, bound=max(best.bound, exact.bound), interrupted=exact.interrupted)


def fewest_moves(
    plan: Translation,
    limit: int | None,
    start: Integers | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Found:
    """As few pods that leave their node as let workers in use and waiting pods cost `limit` at most
    (None: anything); `start` is an answer (servers, types).
    """
    return _found(plan, "fewest-moves", time_limit, report, start=start, **_within(plan, limit))


def run(method: str, instance: Packing, **options: object) -> Outcome:
    """What a method of packing answers."""
    function = find(Packing.problem, method).resolve()
    outcome: Outcome = function(instance, rng=np.random.default_rng(0), **options)
    return outcome


def _found(
    plan: Translation,
    method: str,
    time_limit: float | None,
    report: Report | None,
    start: Integers | None = None,
    **within: int,
) -> Found:
    """What a method answers, checked and counted again, on the servers where most stays."""
    instance, options = plan.instance, dict[str, object](within)
    if start is not None:
        used = np.flatnonzero(start.any(axis=1))
        options["start"] = Placement(start[used], instance.server_class[used])
    outcome = run(method, instance, time_limit=time_limit, report=report, **options)
    placement, spent = outcome.solution, 0 if within else plan.kept_cost
    found = Found(
        plan, None, max(0, int(outcome.bound or 0) - spent), None,
        outcome.status is Status.INFEASIBLE, outcome.stop is Stop.INTERRUPTED,
    )  # fmt: skip
    if not isinstance(placement, Placement):
        return found
    check(instance, placement)
    on, left = stays(instance, placement.count, placement.server_class)
    count = np.zeros((int(instance.server_count.sum()), instance.types), dtype=np.int64)
    count[on] = placement.count
    return replace(found, value=left if within else cost_of(plan, count), count=count)
