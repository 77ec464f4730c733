"""Groupings that no group blocks: the least mean penalty among them at an alpha, and the least
alpha at which there are any.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from ..incumbent import conclude
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
from ..routes import Routed
from .common import dealt, engine_units, mean_of, prices_told
from .feasible import starting_grouping
from .nogoods import TREE_LIMITS, Tree, TreeLimits
from .optimal import GROUP_LIMITS, GroupLimits, Search, too_large
from .pairs import least_loss_pairs

BY_NOGOODS = "every way to settle the groups that could block ends in prices that leave no grouping"
BY_ENGINE = ", or in an integer program that has no point"

OPEN = "whether some grouping has no blocking group was not settled"

SORTED = "sorted by pressure, where no curve falls: no group blocks (baselines.groups.dealing)"


@dataclass(frozen=True)
class CoreLimits(Routed):
    """What steers `core` and `least_alpha`.

    Attributes
    ----------
    near : so many columns a type, those of least reduced cost, are in the first program.
    step_seconds : time for a program that is not the last, without a limit.
    quick_seconds : for HiGHS to say whether there is such a grouping, before CP-SAT is asked.
    confirm_seconds : for the other engine to confirm that there is none.
    penalty_seconds : for the least penalty without a limit, once the first level is settled.
    search_seconds : for a search over limits of losses at one alpha.
    most_searched : groups that it may form at first; of more, those of least reduced cost.
    limit_seconds : that it takes for each of them, and for each group that could block, before it
        looks at a clock.
    most_full, many_parts : kinds of full groups up to which engines are asked whether there is such
        a grouping; the search over limits has one such part of the time where there are more.
    full_seconds : that a full group takes in a program, before an engine looks at a clock.
    counts : so many times as long as listing the groups take the counts of those that block.
    part : a part of the differences in question lies below the one that is tried, one in so many.
    differences : of losses that are listed at once.
    relaxation : of `optimal`, which is asked first; tree : of the search over limits of losses.
    """

    near: int = 20
    step_seconds: float = 10.0
    quick_seconds: float = 5.0
    confirm_seconds: float = 10.0
    penalty_seconds: float = 30.0
    search_seconds: float = 20.0
    most_searched: int = 20_000
    limit_seconds: float = 2e-5
    most_full: int = 4_000
    many_parts: float = 1.25
    full_seconds: float = 1e-3
    counts: float = 4
    part: int = 6
    differences: int = 10**6
    relaxation: GroupLimits = GROUP_LIMITS
    tree: TreeLimits = TREE_LIMITS
    routes: frozenset[str] = frozenset({"engines", "nogoods"})


@validate_options
def core(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Alpha = 0.0,
    start: Solution | None = None,
    report: Report | None = None,
    limits: CoreLimits | None = None,
) -> Outcome:
    """Least mean penalty such that no jobs would all gain more than `alpha` on a full machine of
    their own.

    An integer program over kinds of groups says so exactly (`models.groups.core`). It is solved
    over the groups of least reduced cost first: an answer that costs less than the relaxation and
    the reduced cost of every group outside is the best of all. Where no grouping is without a
    blocking group, and that is proved, `certificate["least_alpha"]` says from which alpha on there
    is one. Where none without was found, the answer is the one at hand with the fewest.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    rng : not used; the method is deterministic.
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
    return _solved(
        instance,
        Clock(time_limit, report),
        start,
        whole_alpha(alpha),
        alpha,
        limits or CoreLimits(),
    )


@validate_options
def least_alpha(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: CoreLimits | None = None,
) -> Outcome:
    """The least alpha at which no group blocks some grouping, proved on both sides.

    A job leaves one group for another iff the difference of its losses is more than alpha, so the
    least alpha is 0 or one of these finitely many differences, in whole units of 1e-12. Bisection:
    an integer program over kinds of groups finds a grouping that no group blocks at an alpha, or
    says that there is none; at the difference before the least alpha there is none, and more alpha
    never adds a group that blocks. CP-SAT is asked to confirm what HiGHS ruled out.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    rng : not used; the method is deterministic.
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
    """Both methods: at an alpha, or None for the least."""
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
    search = _Search(relaxed, clock, least, alpha, limits)
    try:
        search.run()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return search.outcome()


@dataclass(frozen=True)
class _Found:
    """What a program says of the groupings that no group blocks."""

    grouping: Grouping | None
    none: bool
    answer: EngineAnswer


class _Search:
    """The best grouping so far, and what is proved of the least alpha and of the least penalty.

    Attributes
    ----------
    best, enough : a grouping and the least alpha, in units, at which no group blocks it: of those
        at hand the one of least penalty that is good enough, or the one that comes nearest.
    fewest, blocking : of those at hand the grouping that the fewest groups block at the alpha that
        was asked, and how many; they are looked at until there is one that none blocks.
    below : the largest alpha, in units, at which there is proved to be none; -1 for none.
    stable_bound : what a grouping that no group blocks costs at least, in units.
    """

    def __init__(
        self,
        relaxed: Search,
        clock: Clock,
        least: int | None,
        alpha: float | None,
        limits: CoreLimits,
    ) -> None:
        self.relaxed, self.clock, self.least, self.alpha = relaxed, clock, least, alpha
        self.limits = limits
        self.instance, self.columns = relaxed.instance, relaxed.columns
        self.best = relaxed.best
        self.enough = least_alpha_of(self.instance, self.best)
        self.below, self.confirmed = -1, False
        self.stable_bound = relaxed.bound
        self.stop = Stop.FINISHED
        self.proof = ""
        self.decided = False
        self.fewest, self.blocking = self.best, self._blocking(self.best, self.enough)
        self.note("start")

    @property
    def bound(self) -> int:
        """A bound on the least alpha, in units."""
        if self.decided:
            return self.enough
        return min(self.enough, self.below + 1) if self.below >= 0 else 0

    def note(self, text: str) -> None:
        """Progress, in the objective of the method."""
        if self.alpha is None:
            self.clock.note(self.enough / UNIT, self.bound / UNIT, text)
        else:
            self.clock.note(float(self.blocking), float(self._empty), text)

    def offer(self, found: Grouping) -> None:
        """Keep a grouping that is nearer to no blocking group, or as near at less penalty."""
        if not feasible(self.instance, found):  # no engine's word is final
            return
        enough, value = least_alpha_of(self.instance, found), total_units(self.instance, found)
        goal = -1 if self.least is None else self.least
        now, other = max(self.enough, goal), max(enough, goal)
        if (other, value) < (now, self.value):
            self.best, self.enough = found, enough
        if self.blocking:
            number = self._blocking(found, enough)
            if (number, value) < (self.blocking, total_units(self.instance, self.fewest)):
                self.fewest, self.blocking = found, number

    @property
    def value(self) -> int:
        """What the jobs of the best grouping lose together."""
        return total_units(self.instance, self.best)

    def run(self) -> None:
        """The relaxation, what can be had without a program, and the programs."""
        self.relaxed.relax()
        clock, limits = self.relaxed.clock, self.limits.relaxation
        fewest = limits.pairs if "pairs" in limits.routes else None
        if pairs := least_loss_pairs(self.instance, self.relaxed.best, clock, fewest):
            self.relaxed.accept_outcome(pairs, "pairs")
            if pairs.status is Status.OPTIMAL:
                self.relaxed.raise_bound(self.relaxed.value, "pairs")
        self.stable_bound = max(self.stable_bound, self.relaxed.bound)
        self.offer(self.relaxed.best)
        self.offer(dealt(self.instance, snake=False))
        self.note("relaxation")
        if self.least is not None:
            if self.enough > self.least:
                self._searched(self.least)
                self.note("search")
            if not self._empty:
                self.cheapest(self.least)
        if self.least is None or self._empty:
            self.bisect()
            if self.least is None and self.decided:
                self.cheapest(self.enough)

    @property
    def _full(self) -> int:
        """How many kinds of full groups there are."""
        size = self.columns.size
        return int(np.count_nonzero(size == self.instance.seats[self.columns.where]))

    @property
    def _many(self) -> bool:
        """Whether they are more than engines can say anything of."""
        return self._full > self.limits.most_full

    @property
    def _no_time(self) -> bool:
        """Whether the time is up, or would be before a program is made."""
        least = self.limits.full_seconds * self._full
        return self.clock.expired or (self.clock.left is not None and least > self.clock.left)

    @property
    def _empty(self) -> bool:
        """Whether it is proved that every grouping is blocked at the alpha that was asked."""
        return self.least is not None and self.below >= self.least

    def cheapest(self, least: int) -> None:
        """Programs over the groups of least reduced cost, more and more, up to all that a better
        answer could hold.
        """
        limits = self.limits
        search, near = self.relaxed, limits.near * self.instance.types
        begun = self.clock.seconds
        while True:
            have = self.enough <= least
            if have and self._agrees():
                return
            most = self.value - search.priced if have else None
            every = np.arange(len(self.columns))
            possible = every if most is None else np.flatnonzero(search.rest < most)
            some = search.nearest(possible, near)
            last = len(some) == len(possible)
            beyond = None if last else search.priced + int(np.delete(search.rest, some).min())
            if have:
                some = np.union1d(some, self.columns.find(self.instance, self.best))
            spent = self.clock.seconds - begun
            late = have and self.clock.left is None and spent > limits.penalty_seconds
            if late or self._no_time:
                self.stop = Stop.TIME_LIMIT
                return
            seconds = self.clock.time_slice()
            if not last:
                seconds = self.clock.time_slice(2, limits.step_seconds)
            if have and self.clock.left is None:
                seconds = min(seconds or limits.penalty_seconds, limits.penalty_seconds - spent)
            found = self._asked(least, some, "highs", seconds, costs=True)
            self._bounded(found, least, beyond, have)
            self.note(f"{len(some)} kinds of groups")
            if self._empty:
                self._confirm()
                return
            if last and (found.answer.stop is not Stop.FINISHED or have or found.none):
                self.stop = found.answer.stop
                return
            if last and not have and self.enough > least:
                self.stop = Stop.TIME_LIMIT
                return
            near *= 4

    def _bounded(self, found: _Found, least: int, beyond: int | None, have: bool) -> None:
        """What a program over some of the groups proves of all."""
        reached = None
        if found.none and not have:
            if beyond is None:
                self.below = max(self.below, least)
                self.proof = "an integer program over kinds of groups has no point"
                return
            reached = beyond
        elif found.answer.bound is not None and not found.none:
            reached = engine_units(self.columns, found.answer.bound)
            reached = reached if beyond is None else min(reached, beyond)
        if reached is not None:
            self.stable_bound = max(self.stable_bound, reached)

    def _searched(self, least: int) -> bool:
        """Look for a grouping that no group blocks at an alpha by a search over limits of losses;
        False when it did not say in time.
        """
        if "nogoods" not in self.limits.routes:
            return False
        # programs of so many groups come to nothing: the search has nearly all the time
        limits = self.limits
        parts, most = (limits.many_parts, None) if self._many else (2, limits.search_seconds)
        clock = Clock(self.clock.time_slice(parts, most))
        every, number = np.arange(len(self.columns)), limits.most_searched
        while self.enough > least and self.below < least:
            some = self.relaxed.nearest(every, number)
            seconds = limits.limit_seconds * (self._full + len(some))
            if clock.left is not None and clock.left < seconds:
                return False
            part = self.columns.some(some)
            tree = Tree(self.instance, part, self.columns, least, clock, limits.tree)
            try:
                tree.run()
            finally:  # Ctrl-C leaves what was found
                if tree.found is not None:
                    self.offer(tree.found)
            if tree.found is None and len(some) == len(every):
                if not tree.empty:
                    return False
                self.below, self.confirmed = max(self.below, least), not tree.engine
                self.proof = BY_NOGOODS + (BY_ENGINE if tree.engine else "")
            number *= 4  # a part of the groups has no such grouping: more of them
        return True

    def _asked(
        self, least: int, some: Integers, engine: EngineName, seconds: float | None, *, costs: bool
    ) -> _Found:
        """What a program over some groups says at an alpha, in units; Ctrl-C is raised."""
        part, begun = self.columns.some(some), self.clock.seconds
        made = core_program(self.instance, part, self.columns, least, costs=costs)
        if seconds is not None:  # writing it down takes seconds too
            seconds = max(LEAST_SECONDS, seconds - (self.clock.seconds - begun))
        start = None
        if costs and self.enough <= least:
            number = np.zeros(len(some), dtype=np.int64)
            own = np.searchsorted(some, self.columns.find(self.instance, self.best))
            np.add.at(number, own, self.best.number)
            start = made.point(number)
        answer = solve_program(made.program, engine=engine, time_limit=seconds, start=start)
        grouping = None
        if answer.point is not None:
            number = np.rint(answer.point[: len(some)]).astype(np.int64)
            grouping = part.grouping(self.instance, number)
            self.offer(grouping)
        raise_if_interrupted(answer.stop)
        return _Found(grouping, answer.status is Status.INFEASIBLE, answer)

    def bisect(self) -> None:
        """Try alphas until no difference of losses lies between one at which there is none and the
        least of the best grouping: 0, and then nearer to the low end, for least alphas are small
        and the programs of small alphas the quickest.
        """
        tried = self.below
        while True:
            tried = max(tried, self.below)
            between = self._between(tried)
            if not between:
                self.decided = tried == self.below
                break
            least = between[len(between) // self.limits.part]
            if not self._tried(least):  # with a limit larger ones are tried, which are easier
                if self.clock.left is None or self.clock.expired:
                    break
                tried = least
            self.note("bisection")
        if not self.confirmed:
            self._confirm()

    def _tried(self, least: int) -> bool:
        """Move one of the two ends; False when it was not decided in time."""
        if self._searched(least):
            return True
        every = np.arange(len(self.columns))
        left, quick = self.clock.time_slice(), self.clock.time_slice(1, self.limits.quick_seconds)
        tries: tuple[tuple[EngineName, float | None], ...] = (("highs", quick), ("cp-sat", left))
        for engine, seconds in tries:
            if self._many or self._no_time or "engines" not in self.limits.routes:
                break
            found = self._asked(least, every, engine, seconds, costs=False)
            if found.none:
                self.below, self.confirmed = max(self.below, least), False
                self.proof = "an integer program over kinds of groups has no point"
                return True
            if self.enough <= least:
                return True
            left = self.clock.time_slice()
        self.stop = Stop.TIME_LIMIT
        return False

    def _confirm(self) -> None:
        """Ask CP-SAT about the alpha at which HiGHS found none; a grouping at it would refute all
        that was proved.
        """
        if self.below < 0 or self._many or self._no_time:
            return
        seconds = self.clock.time_slice(2, self.limits.confirm_seconds)
        every = np.arange(len(self.columns))
        found = self._asked(self.below, every, "cp-sat", seconds, costs=False)
        self.confirmed = found.none
        if self.enough <= self.below:
            self.below, self.decided, self.proof = -1, False, ""

    def _between(self, low: int) -> list[int]:
        """The differences of losses above an alpha, and below the least of the best grouping; 0
        alone before anything is known, and one alpha between where there are very many.
        """
        high = self.enough
        if high <= 0:
            return []
        if low < 0:
            return [0]
        found: set[int] = set()
        columns = self.columns
        for place in np.flatnonzero(columns.limits > 0).tolist():
            here = (columns.where == place) & (columns.size > 1)
            full = here & (columns.size == self.instance.seats[place])
            for kind in range(self.instance.types):
                leaves = np.unique(columns.lost[here][columns.members[here] == kind])
                joins = np.unique(columns.lost[full][columns.members[full] == kind])
                first = np.searchsorted(leaves, joins + low, side="right")
                last = np.searchsorted(leaves, joins + high, side="left")
                number = np.maximum(last - first, 0)
                if number.sum() + len(found) > self.limits.differences:
                    return [low + (high - low) // self.limits.part]
                at = np.repeat(first, number) + np.arange(number.sum())
                at -= np.repeat(np.cumsum(number) - number, number)
                found |= set(np.unique(leaves[at] - np.repeat(joins, number)).tolist())
        return sorted(found)

    def _agrees(self) -> bool:
        return self._near(self.value, self.stable_bound)

    def _near(self, total: int, bound: int) -> bool:
        """Whether jobs that lose so much together are proved to lose least."""
        return total <= bound or agree(total, bound, self.relaxed.scale)

    def _blocking(self, grouping: Grouping, enough: int) -> int:
        """How many groups block a grouping at the alpha that was asked; 0 where none was."""
        if self.alpha is None or (self.least is not None and enough <= self.least):
            return 0
        return blocking_groups(self.instance, grouping, self.alpha).count

    def outcome(self) -> Outcome:
        """The checked outcome, with both levels in its certificate."""
        instance, answer = self.instance, self.fewest if self.blocking else self.best
        check(instance, answer)
        enough = self.enough / UNIT
        goal = self.enough if self.least is None else self.least
        value, bound = enough, self.bound / UNIT
        if self.alpha is not None:
            value, bound = float(self.blocking), float(self._empty)
        settled = value <= bound
        total = total_units(instance, answer)
        # groupings that some group blocks are bounded by the relaxation alone
        least = self.stable_bound if settled and self.enough <= goal else self.relaxed.bound
        met = settled and self._near(total, least)
        penalty, least_penalty = (mean_of(instance, units) for units in (total, min(least, total)))
        name = "least_alpha" if self.alpha is None else "blocking_groups"
        certificate: dict[str, Any] = {
            "proof": self.proof or "a grouping that no group blocks is its own proof",
            **prices_told(self.instance, self.relaxed.price, self.relaxed.priced),
            "groups_listed": len(self.columns),
            "levels": [
                level(name, value, bound, settled),
                level("penalty", penalty, least_penalty, met),
            ],
        }
        if self.alpha is not None:
            certificate["alpha"] = self.alpha
        if self.below >= 0:
            certificate["empty_at"] = self.below / UNIT
            certificate["confirmed"] = self.confirmed
            if self.alpha is not None:
                certificate["least_alpha"] = {"value": enough, "bound": self.bound / UNIT}
        if not settled and not self.proof:
            useless = ", and no useful answer" if self.alpha is not None else ""
            certificate["proof"] = f"none{useless}: {OPEN}; this is only the best at hand"
        return conclude(answer, value, bound, self.stop, certificate, self.clock)
