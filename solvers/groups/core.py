"""Groupings in the core: least mean penalty at an alpha, and the least alpha with a nonempty
core.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...instances.groups.feasible import check
from ...instances.groups.instance import UNIT, Grouping, Groups, Integers
from ...instances.groups.penalties import groups_number
from ...instances.groups.stability import (
    Alpha,
    blocking_groups,
    least_alpha_of,
    total_units,
    whole_alpha,
)
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...instances.problem.registry import feasible
from ...models.groups.columns import columns_of
from ...models.groups.core import core_program
from ..engines import EngineAnswer, EngineName, solve_program
from ..incumbent import Incumbent, conclude
from ..outcome import (
    LEAST_SECONDS,
    Clock,
    Outcome,
    Report,
    Status,
    Stop,
    agree,
    level,
    raise_if_interrupted,
)
from .common import dealt, engine_units, mean_of, prices_told, starting_grouping
from .optimal import GROUP_LIMITS, GroupLimits, Search, least_loss_pairs, too_large

BY_PROGRAM = "an integer program over kinds of groups has no point"

SORTED = "sorted by pressure, where no curve falls: no group blocks (baselines.groups.dealing)"

OPEN = "whether some grouping has no blocking group was not settled"


@dataclass(frozen=True)
class CoreLimits:
    """Parameters of `core` and `least_alpha`.

    Attributes
    ----------
    near : so many columns a type, those of least reduced cost, are in the first program.
    step_seconds : time for a program that is not the last, without a limit.
    quick_seconds : for HiGHS to say whether there is such a grouping, before CP-SAT is asked.
    confirm_seconds : for the other engine to confirm that there is none.
    penalty_seconds : for the least penalty without a limit, once the first level is settled.
    most_full : kinds of full groups up to which engines are asked whether there is such a grouping.
    full_seconds : that a full group takes in a program, before an engine looks at a clock.
    counts : so many times as long as listing the groups take the counts of those that block.
    part : a part of the differences in question lies below the one that is tried, one in so many.
    differences : of losses that are listed at once.
    relaxation : of `optimal`, which is asked first.
    """

    near: int = 20
    step_seconds: float = 10.0
    quick_seconds: float = 5.0
    confirm_seconds: float = 10.0
    penalty_seconds: float = 30.0
    most_full: int = 4_000
    full_seconds: float = 1e-3
    counts: float = 4
    part: int = 6
    differences: int = 10**6
    relaxation: GroupLimits = GROUP_LIMITS


class CoreSearch(Incumbent[Grouping, int]):
    """State of the search for a grouping in the core, or nearest to it: incumbent, and bounds on
    the least alpha and on the penalty.

    The value is the least alpha at which no group blocks the grouping, in units, or the alpha that
    is asked where that is more; of equal ones the one of less penalty is better.

    Attributes
    ----------
    least, alpha : the alpha that is asked, in units and as given; None for the least.
    fewest, blocking : of those at hand the grouping that the fewest groups block at the alpha that
        is asked, and how many; they are looked at until there is one that none blocks.
    below : the largest alpha, in units, at which there is proved to be none; -1 for none.
    confirmed, proof : whether a second proof says the same, and what the first is.
    decided : whether the value is proved to be the least alpha.
    stable_bound : what a grouping that no group blocks costs at least, in units.
    """

    best: Grouping

    def __init__(
        self, relaxed: Search, clock: Clock, least: int | None, alpha: float | None,
        limits: CoreLimits,
    ) -> None:  # fmt: skip
        self.relaxed, self.least, self.alpha, self.limits = relaxed, least, alpha, limits
        self.instance, self.columns = relaxed.instance, relaxed.columns
        goal = -1 if least is None else least
        super().__init__(
            self.instance, clock, lambda found: max(goal, least_alpha_of(self.instance, found)),
            bound=0, then=partial(total_units, self.instance), shown=lambda units: units / UNIT,
        )  # fmt: skip
        self.below, self.confirmed, self.decided, self.proof = -1, False, False, ""
        self.stable_bound = relaxed.bound
        self.begin(relaxed.best)
        self.fewest, self.blocking = self.best, self._blocking(self.best)
        self.report("start")

    def _blocking(self, grouping: Grouping) -> int:
        """Number of groups that block a grouping at the given alpha; 0 without one."""
        if self.alpha is None:
            return 0
        return blocking_groups(self.instance, grouping, self.alpha).count

    def offer(self, answer: Grouping | None, text: str = "") -> bool:
        """Keep a grouping of smaller alpha, and the grouping with the fewest blocking groups."""
        if self.blocking and answer is not None and feasible(self.instance, answer):
            number = self._blocking(answer)
            known = self.blocking, total_units(self.instance, self.fewest)
            if (number, total_units(self.instance, answer)) < known:
                self.fewest, self.blocking = answer, number
        return super().offer(answer, text)

    def report(self, text: str) -> None:
        """Report progress of the search: the least alpha or, with alpha given, blocking groups."""
        if self.alpha is None:
            super().report(text)
        else:
            self.clock.note(float(self.blocking), float(self.empty), text)

    @property
    def total(self) -> int:
        """Total loss of the incumbent's jobs."""
        return total_units(self.instance, self.best)

    @property
    def empty(self) -> bool:
        """Whether the core at the given alpha is proved empty."""
        return self.least is not None and self.below >= self.least

    def none_at(self, least: int) -> None:
        """Record a proof that the core is empty at an alpha (in units)."""
        self.below, self.proof = max(self.below, least), BY_PROGRAM
        self.confirmed = False
        self.bound = min(self.value, self.below + 1)

    def cheapest(self, total: int, bound: int) -> bool:
        """Return whether a total loss is proved minimal."""
        return total <= bound or agree(total, bound, self.relaxed.scale)

    @property
    def full(self) -> int:
        """Number of kinds of groups that fill all seats of a machine."""
        size = self.columns.size
        return int(np.count_nonzero(size == self.instance.seats[self.columns.where]))

    @property
    def many(self) -> bool:
        """Whether there are too many full groups for the engines."""
        return self.full > self.limits.most_full

    @property
    def late(self) -> bool:
        """Whether the time is up, or would be before a program over all full groups is built."""
        least = self.limits.full_seconds * self.full
        return self.clock.expired or (self.clock.left is not None and least > self.clock.left)

    def ask(
        self, least: int, some: Integers, engine: EngineName, seconds: float | None, *, costs: bool
    ) -> EngineAnswer:
        """Solve the program over some groups at an alpha (in units), and offer its grouping."""
        part, begun = self.columns.some(some), self.clock.seconds
        made = core_program(self.instance, part, self.columns, least, costs=costs)
        if seconds is not None:  # writing it down takes seconds too
            seconds = max(LEAST_SECONDS, seconds - (self.clock.seconds - begun))
        start, number = None, np.zeros(len(some), dtype=np.int64)
        if costs and self.value <= least:
            own = np.searchsorted(some, self.columns.find(self.instance, self.best))
            np.add.at(number, own, self.best.number)
            start = made.point(number)
        answer = solve_program(made.program, engine=engine, time_limit=seconds, start=start)
        if answer.point is not None:
            number = np.rint(answer.point[: len(some)]).astype(np.int64)
            self.offer(part.grouping(self.instance, number), "program over kinds of groups")
        raise_if_interrupted(answer.stop)
        return answer

    def outcome(self) -> Outcome:
        """Outcome whose certificate states the objective and the penalty, each with its bound."""
        instance, answer = self.instance, self.fewest if self.blocking else self.best
        check(instance, answer)
        name, value, bound = "least_alpha", self.value / UNIT, self.bound / UNIT
        facts: dict[str, Any] = {}
        if self.below >= 0:
            facts = {"empty_at": self.below / UNIT, "confirmed": self.confirmed}
        if self.alpha is not None:
            facts["alpha"] = self.alpha
            if self.below >= 0:
                facts["least_alpha"] = {"value": value, "bound": bound}
            name, value, bound = "blocking_groups", float(self.blocking), float(self.empty)
        settled, total = value <= bound, total_units(instance, answer)
        # groupings that some group blocks are bounded by the relaxation alone
        stable = self.least is None or self.value <= self.least
        least = self.stable_bound if settled and stable else self.relaxed.bound
        met = settled and self.cheapest(total, least)
        penalty, least_penalty = (mean_of(instance, units) for units in (total, min(least, total)))
        proof = self.proof or "a grouping that no group blocks is its own proof"
        if not settled and not self.proof:
            useless = ", and no useful answer" if self.alpha is not None else ""
            proof = f"none{useless}: {OPEN}; this is only the best at hand"
        certificate = {
            "proof": proof,
            **prices_told(instance, self.relaxed.price, self.relaxed.priced),
            "groups_listed": len(self.columns),
            "levels": [
                level(name, value, bound, settled), level("penalty", penalty, least_penalty, met),
            ],
            **facts,
        }  # fmt: skip
        return conclude(answer, value, bound, self.stop, certificate, self.clock)


def relax(search: CoreSearch) -> None:
    """Solve the linear program over kinds of groups, or match pairs of different jobs by
    blossoms: the least penalty without regard to alpha.
    """
    relaxed = search.relaxed
    relaxed.relax()
    if pairs := least_loss_pairs(search.instance, relaxed.best, relaxed.clock, relaxed.limits):
        relaxed.accept_outcome(pairs, "pairs")
        if pairs.status is Status.OPTIMAL:
            relaxed.raise_bound(relaxed.value, "pairs")
    search.stable_bound = max(search.stable_bound, relaxed.bound)
    search.offer(relaxed.best, "relaxation")
    search.offer(dealt(search.instance, snake=False), "sorted")
    search.report("relaxation")


def cheapen(search: CoreSearch) -> None:
    """Minimize the penalty of groupings without blocking group by integer programs over ever more
    kinds of groups, those of least reduced cost first, unless there is no such grouping.
    """
    if search.empty or (search.least is None and not search.decided):
        return
    least = search.value if search.least is None else search.least
    limits, relaxed, clock = search.limits, search.relaxed, search.clock
    near, begun, every = limits.near * search.instance.types, clock.seconds, search.columns
    while True:
        # 1. the groups of the next program, and what a grouping of others costs at least
        have = search.value <= least
        if have and search.cheapest(search.total, search.stable_bound):
            return
        possible = np.arange(len(every))
        if have:
            possible = np.flatnonzero(relaxed.rest < search.total - relaxed.priced)
        some = relaxed.nearest(possible, near)
        last = len(some) == len(possible)
        beyond = None if last else relaxed.priced + int(np.delete(relaxed.rest, some).min())
        if have:
            some = np.union1d(some, every.find(search.instance, search.best))
        # 2. its time: without a limit the least penalty alone has one
        spent = clock.seconds - begun
        if search.late or (have and clock.left is None and spent > limits.penalty_seconds):
            search.stop = Stop.TIME_LIMIT
            return
        seconds = clock.time_slice() if last else clock.time_slice(2, limits.step_seconds)
        if have and clock.left is None:
            seconds = min(seconds or limits.penalty_seconds, limits.penalty_seconds - spent)
        # 3. what it proves of all groupings
        answer = search.ask(least, some, "highs", seconds, costs=True)
        none = answer.status is Status.INFEASIBLE
        if none and not have and beyond is None:
            search.none_at(least)
        elif none and not have:
            search.stable_bound = max(search.stable_bound, beyond or 0)
        elif answer.bound is not None and not none:
            reached = engine_units(every, answer.bound)
            reached = reached if beyond is None else min(reached, beyond)
            search.stable_bound = max(search.stable_bound, reached)
        search.report(f"{len(some)} kinds of groups")
        # 4. whether it was the last
        if search.empty:
            _confirm(search)
            return
        if last and (answer.stop is not Stop.FINISHED or have or none):
            search.stop = answer.stop
            return
        if last and not have and search.value > least:
            search.stop = Stop.TIME_LIMIT
            return
        near *= 4


def bisect(search: CoreSearch) -> None:
    """Find the least alpha by bisection over differences of losses, 0 first, then from the low end.
    A search at a given alpha needs it only if every grouping is blocked there.
    """
    if search.least is not None and not search.empty:
        return
    tried = search.below
    while True:
        tried = max(tried, search.below)
        between = _between(search, tried)
        if not between:
            search.decided = tried == search.below
            search.bound = search.value if search.decided else search.bound
            break
        # least alphas are small, and the programs of small alphas the quickest
        least = between[len(between) // search.limits.part]
        if not _tried(search, least):  # with a limit larger ones are tried, which are easier
            if search.clock.left is None or search.clock.expired:
                break
            tried = least
        search.report("bisection")
    if not search.confirmed:
        _confirm(search)


def _tried(search: CoreSearch, least: int) -> bool:
    """Find a grouping that no group blocks at alpha `least`, or prove that there is none; return
    False if undecided in time.
    """
    every = np.arange(len(search.columns))
    left = search.clock.time_slice()
    quick = search.clock.time_slice(1, search.limits.quick_seconds)
    tries: tuple[tuple[EngineName, float | None], ...] = (("highs", quick), ("cp-sat", left))
    for engine, seconds in tries:
        if search.many or search.late:
            break
        answer = search.ask(least, every, engine, seconds, costs=False)
        if answer.status is Status.INFEASIBLE:
            search.none_at(least)
            return True
        if search.value <= least:
            return True
    search.stop = Stop.TIME_LIMIT
    return False


def _confirm(search: CoreSearch) -> None:
    """Let CP-SAT confirm that the core is empty at the largest alpha ruled out; a grouping found
    there would refute the proof.
    """
    if search.below < 0 or search.many or search.late:
        return
    seconds = search.clock.time_slice(2, search.limits.confirm_seconds)
    every = np.arange(len(search.columns))
    answer = search.ask(search.below, every, "cp-sat", seconds, costs=False)
    search.confirmed = answer.status is Status.INFEASIBLE
    if search.value <= search.below:
        search.below, search.bound, search.decided, search.proof = -1, 0, False, ""


def _between(search: CoreSearch, low: int) -> list[int]:
    """Values of alpha to try between `low` and the incumbent's: they are differences of losses.
    First 0 alone, and later one value if there are very many.
    """
    high, columns, limits = search.value, search.columns, search.limits
    if high <= 0:
        return []
    if low < 0:
        return [0]
    found: set[int] = set()
    for machine_class in np.flatnonzero(columns.limits > 0).tolist():
        here = (columns.where == machine_class) & (columns.size > 1)
        full = here & (columns.size == search.instance.seats[machine_class])
        for kind in range(search.instance.types):
            leaves = np.unique(columns.lost[here][columns.members[here] == kind])
            joins = np.unique(columns.lost[full][columns.members[full] == kind])
            first = np.searchsorted(leaves, joins + low, side="right")
            last = np.searchsorted(leaves, joins + high, side="left")
            number = np.maximum(last - first, 0)
            if number.sum() + len(found) > limits.differences:
                return [low + (high - low) // limits.part]
            index = np.repeat(first, number) + np.arange(number.sum())
            index -= np.repeat(np.cumsum(number) - number, number)
            found |= set(np.unique(leaves[index] - np.repeat(joins, number)).tolist())
    return sorted(found)


AT_ALPHA = (relax, cheapen, bisect)
LEAST_ALPHA = (relax, bisect, cheapen)
ROUTES = {"an alpha that is given": AT_ALPHA, "the least alpha": LEAST_ALPHA}
"""The routes of `core` and `least_alpha`, in the order in which they run."""


@validate_options
def core(
    instance: Groups,
    *,
    time_limit: float | None = None,
    alpha: Alpha = 0.0,
    start: Solution | None = None,
    report: Report | None = None,
    limits: CoreLimits | None = None,
) -> Outcome:
    """Minimize the mean penalty such that no jobs would all gain more than `alpha` on a full
    machine of their own.

    An integer program over kinds of groups says so exactly (`models.groups.core`). It is solved
    over the groups of least reduced cost first: an answer that costs less than the relaxation and
    the reduced cost of every group outside is the best of all. Where no grouping is without a
    blocking group, and that is proved, `certificate["least_alpha"]` says from which alpha on there
    is one. Where none without was found, the answer is the one at hand with the fewest.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    time_limit : seconds, more than 0. Without one the least penalty gets 30 seconds at most once
        there is such a grouping; whether there is one takes as long as it takes.
    alpha : least gain for which jobs break away, in points of penalty (0.05 is five percentage
        points).
    start : a grouping to begin with.
    report : called with (seconds, blocking groups, bound, text).
    limits : what steers the search.

    Returns
    -------
    Outcome
        `bound` and `status` are those of the number of blocking groups: 0, or 1 where it is proved
        that there is always one (then "feasible", for how few there can be is not asked).
        `certificate["levels"]` holds both levels, the mean penalty's with its own bound;
        `certificate["blocking_groups"]` names those that block.

    Raises
    ------
    InvalidOption
        alpha below 0, or there are more kinds of groups than are listed.

    Notes
    -----
    Source: Cooper (HPCA 2017) section III.B, blocking pairs, for machines of any seats. That the
    core of such a game may be empty is Banerjee, Konishi and Sonmez (2001).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "core")
    >>> print(result.status, result.objective, round(result.metrics["penalty"], 4))
    optimal 0.0 0.075
    """
    clock = Clock(time_limit, report)
    return _solved(instance, clock, start, whole_alpha(alpha), alpha, limits or CoreLimits())


@validate_options
def least_alpha(
    instance: Groups,
    *,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: CoreLimits | None = None,
) -> Outcome:
    """Find the least alpha at which some grouping has no blocking group, with proofs of both sides.

    A job leaves one group for another iff the difference of its losses is more than alpha, so the
    least alpha is 0 or one of these finitely many differences, in whole units of 1e-12. Bisection:
    an integer program over kinds of groups finds a grouping that no group blocks at an alpha, or
    says that there is none; at the difference before the least alpha there is none, and more alpha
    never adds a group that blocks. CP-SAT is asked to confirm what HiGHS ruled out.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    time_limit : seconds, more than 0. Without one the least penalty at the least alpha gets 30
        seconds at most.
    start : a grouping to begin with.
    report : called with (seconds, least alpha, bound, text).
    limits : what steers the search.

    Returns
    -------
    Outcome
        Objective and bound are the least alpha of the grouping and that of all, in points of
        penalty; the mean penalty at it stands in `certificate["levels"]`, and
        `certificate["empty_at"]` is the largest alpha at which no grouping was found to be without
        a blocking group, null where none was asked.

    Raises
    ------
    InvalidOption
        There are more kinds of groups than are listed.

    Notes
    -----
    The least epsilon of an epsilon-core, which with many players of few types is small (Kovalenkov
    and Wooders, "Approximate cores of games and economies with clubs", 2003).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "least-alpha")
    >>> print(result.status, result.objective)
    optimal 0.0
    """
    return _solved(instance, Clock(time_limit, report), start, None, None, limits or CoreLimits())


def _solved(
    instance: Groups, clock: Clock, start: Solution | None, least: int | None,
    alpha: float | None, limits: CoreLimits,
) -> Outcome:  # fmt: skip
    """Outcome of `core` at an alpha, or of `least_alpha` without one."""
    seconds = limits.counts * limits.relaxation.group_seconds * groups_number(instance)
    if clock.left is not None and seconds > clock.left:
        found = dealt(instance, snake=False)
        if instance.model == "pressure" and feasible(instance, found):
            return Outcome(found, 0.0, Status.OPTIMAL, Stop.FINISHED, {"proof": SORTED})
        return too_large(instance, start, clock, bound=0.0)
    columns = columns_of(instance)
    begin = starting_grouping(instance, columns, start, clock)
    if isinstance(begin, Outcome):
        return begin
    # the relaxation reports penalties: its progress is not this method's
    relaxed = Search(instance, columns, begin, Clock(clock.time_slice(4)), limits.relaxation)
    search = CoreSearch(relaxed, clock, least, alpha, limits)
    with search.keeping_best():
        for route in LEAST_ALPHA if least is None else AT_ALPHA:
            route(search)
    return search.outcome()
