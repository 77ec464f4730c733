"""Integer cores by leximin of the sharing ratios, exactly, for small markets.

Two integer programs a level: one raises the least ratio (HiGHS, in floats), one counts the fewest
users that must stay at it (CP-SAT, in whole numbers, its rows a little wider than they should be).
Both only propose: ratios are fractions worked out from the whole cores of a point, and a point on
which a user falls short of what its row asked for is cut off. A level is the largest once the count
proves that not everybody can be above it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...instances.market.instance import Allocation, Floats, Integers, Market
from ...instances.market.sharing import WholeRatios
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.market.whole_cores import CoreColumns, core_columns, require_small
from ...models.program import LinearProgram, ProgramBuilder
from ..engines import EngineAnswer, solve_program
from ..outcome import Clock, Outcome, Report, Status, Stop
from ..outcome import level as outcome_level
from .utilitarian import greedy_cores

LEVEL = "sharing ratio"
"""What a level of the certificate is a value of."""

_SLACK = 1e-9  # an engine's own tolerance, which a row that must be kept gives away
_LEAST = 1e-9  # the least entry of a row that an engine looks at
# the least entry of a mark: smaller ones are lost between an engine's tolerances
_LEAST_PART = 1e-4
# the range of levels within one program; beyond it small ratios drown in the tolerance of the large
_WIDE = 1e5


@validate_options
def leximin(
    instance: Market, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Integer cores by leximin: the least sharing ratio as large as possible, then as few users
    there as possible, and so on.

    The ratio is a user's utility over that of its endowment (`sharing_index`). Levels are exact
    fractions on the decimals as written (`instances.market.sharing`), and only equal ratios tie,
    however near others are. Small cases: the program has a column for every core of every job,
    50,000 at most, and beyond 500 a time limit must be given. The levels reached stand in
    `certificate["levels"]`, and whether they are all in `certificate["leximin"]`; the status is
    that of the first.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "leximin")
    >>> print(result.status, round(result.objective, 3))
    optimal 1.029
    """
    require_small(instance, time_limit)
    if not instance.active.any():
        raise InvalidOption("no user has a useful job, so there is nothing to share; use ES")
    search = LevelSearch(instance, Clock(time_limit, report))
    try:
        while search.settled < len(search.ratios.users) and search.stop is Stop.FINISHED:
            for route in EACH_LEVEL:
                if search.stop is Stop.FINISHED:
                    route(search)
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    answer, stop, trace = Allocation(search.best), search.stop, tuple(search.clock.trace)
    complete = search.settled == len(search.ratios.users)
    certificate: dict[str, Any] = {
        "levels": [level.document() for level in search.levels], "leximin": complete
    }  # fmt: skip
    if complete and not search.borne_out():  # an engine was wrong somewhere
        why = "the answer's own ratios are not the levels"
        certificate = {"levels": [], "leximin": False, "withdrawn": why}
        return Outcome(answer, None, Status.FEASIBLE, stop, certificate, trace)
    # the status is that of the first level
    status = Status.OPTIMAL if search.levels else Status.FEASIBLE
    return Outcome(answer, search.bound, status, stop, certificate, trace)


class _Level(NamedTuple):
    """Level of leximin: an exact sharing ratio, and the number of users that must stay at it."""

    value: Fraction
    users: int

    def document(self) -> dict[str, Any]:
        value = float(self.value)
        return {**outcome_level(LEVEL, value, value, True), "users": self.users}


class _Rejected(NamedTuple):
    """Cores of one user's jobs in a rejected point of a program, and their exact sharing ratio. The
    user has no higher ratio unless some job of it has more cores.
    """

    user: int
    cores: tuple[int, ...]
    ratio: Fraction


Marks = list[tuple[Fraction, Integers]]
"""Value of each level, and one 0/1 column per user that marks who stays at it; the level that is
being counted is last.
"""


class LevelSearch:
    """State of the search for leximin cores: the ratios settled so far, and the best cores known.

    Attributes
    ----------
    best : (k,) the cores whose sorted exact ratios are the largest so far.
    levels : in order, each with the number of users that stand there.
    unit : the largest ratio of the last program; `tops` of each user alone, sorted.
    stop : why the search ended.
    """

    def __init__(self, market: Market, clock: Clock) -> None:
        self.market, self.clock = market, clock
        self.ratios = WholeRatios(market)
        self.levels: list[_Level] = []
        self.best: Floats = greedy_cores(market).cores
        self._sorted = sorted(self.ratios.all(self.best))
        self._rejected: list[_Rejected] = []
        whole = np.floor(market.capacity + 1e-9)[market.server]
        alone = self.ratios.all(np.where(market.useful, whole, 0.0))
        self.tops = sorted(alone)  # of each user with whole servers to itself
        self._unproved = float(self.tops[0])
        self.stop = Stop.FINISHED

    @property
    def settled(self) -> int:
        """Number of users whose level is final."""
        return sum(level.users for level in self.levels)

    @property
    def bound(self) -> float:
        """Upper bound on the least ratio of every allocation."""
        if self.levels:
            return float(self.levels[0].value)
        return max(self._unproved, float(self._sorted[0]))

    def borne_out(self) -> bool:
        """Whether the sorted exact ratios of the best cores equal the levels of all users."""
        return self._sorted == [level.value for level in self.levels for _ in range(level.users)]

    @property
    def next(self) -> Fraction:
        """Value that the next level has in the best cores known: the least sharing ratio of the
        users whose level is not final.
        """
        return self._sorted[self.settled]

    def solve(self, value: Fraction | None) -> EngineAnswer:
        """Solve the program that raises the next level, or that counts the users that stay at
        `value`, until exact ratios confirm the engine's point.
        """
        while True:
            columns, program, marks = self._program(value)
            if self.clock.expired:
                return EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT)
            answer = solve_program(
                program, engine="highs" if value is None else "cp-sat", time_limit=self.clock.left
            )
            if value is None and not self.levels and answer.bound is not None:
                self._unproved = min(self._unproved, -answer.bound * self.unit)
            if answer.point is None or not self._cut(
                columns.cores(self.market, answer.point), marks, answer.point
            ):
                return answer

    def _cut(self, cores: Floats, marks: Marks, point: Floats) -> bool:
        """Record each user whose exact ratio is below what its row of the program requires, so that
        the point is excluded; return whether there is one. Keeps the cores if they are best.
        """
        ratios = self.ratios.all(cores)
        ordered = sorted(ratios)
        if ordered > self._sorted:
            self.best, self._sorted = cores, ordered
        before = len(self._rejected)
        for user, (ratio, jobs) in enumerate(zip(ratios, self.ratios.jobs, strict=True)):
            stands = [value for value, stays in marks if point[stays[user]] > 0.5]
            if ratio < min(stands) if stands else (marks and ratio <= marks[-1][0]):
                taken = tuple(cores[jobs].astype(int).tolist())
                self._rejected.append(_Rejected(user, taken, ratio))
        return len(self._rejected) > before

    def _program(self, value: Fraction | None) -> tuple[CoreColumns, LinearProgram, Marks]:
        """Build the program that raises the next level (`value` None), or that counts the users who
        must stay at the ratio `value`.
        """
        columns, number = core_columns(self.market), len(self.ratios.users)
        builder = columns.builder
        # 1. columns that mark who stays at which level, and the column of the raised level
        marks: Marks = []
        for level in self.levels:
            marks.append((level.value, builder.columns(number, upper=1.0, integer=True)))
            builder.row(marks[-1][1], upper=float(level.users))
        if value is None:
            raised = self._raised_column(builder)
        else:
            marks.append((value, builder.columns(number, upper=1.0, integer=True, cost=1.0)))
        limit = marks[-1][0] if marks else Fraction(0)
        parts = [1 - float(level / limit) for level, _ in marks[:-1]] if limit > 0 else []
        for user in range(number):
            # 2. the user's ratio is the sum of its gains; it stays at one level at most
            entries = np.flatnonzero(columns.user == self.ratios.users[user])
            cores = columns.column[entries]
            gain = columns.gain[entries] / float(self.ratios.static[user])
            marked = np.array([stays[user] for _, stays in marks], dtype=np.int64)
            if len(marked) > 1:
                builder.row(marked, upper=1.0)
            # 3. its ratio is at least the raised level, unless it stays at an earlier one
            if value is None:
                weight = np.concatenate([_clipped(gain, self.unit), [-1.0], np.ones(len(marked))])
                builder.row(np.concatenate([cores, [raised], marked]), weight, lower=0.0)
            # 4. and at least the last level, or that at which it stays. That it is above the last
            # where it stays at none is left to rejected points: an engine cannot tell
            if limit > 0:
                weight = np.append(_clipped(gain, float(limit)), np.maximum(parts, _LEAST_PART))
                builder.row(np.append(cores, marked[:-1]), weight, lower=1 - _SLACK)
            self._rule_out(builder, columns, entries, user, marks)
        return columns, builder.build(), marks

    def _raised_column(self, builder: ProgramBuilder) -> int:
        """Add the column for the next least sharing ratio, and set the `unit` of its values."""
        low = float(self.next)
        top = float(self.tops[self.settled])
        self.unit = min(top, _WIDE * low) if low > 0 else top
        if self.unit == 0:
            self.unit = 1.0
        return int(builder.columns(1, upper=min(top / self.unit, 1.0), cost=-1.0)[0])

    def _rule_out(
        self,
        builder: ProgramBuilder,
        columns: CoreColumns,
        entries: Integers,
        user: int,
        marks: Marks,
    ) -> None:
        """Add rows that exclude rejected points: a user whose ratio was too low needs one more core
        for some job, or must stay at a level that the ratio reached.
        """
        jobs = self.ratios.jobs[user]
        nothing = _Rejected(user, (0,) * len(jobs), Fraction(0))
        for point in [nothing, *(each for each in self._rejected if each.user == user)]:
            if not marks or point.ratio > marks[-1][0]:
                continue
            cores_of = dict(zip(jobs.tolist(), point.cores, strict=True))
            more = [
                columns.column[entry]
                for entry in entries
                if columns.core[entry] == cores_of[int(columns.job[entry])] + 1
            ]
            reached = [stays[user] for value, stays in marks if value <= point.ratio]
            builder.row(np.array([*more, *reached], dtype=np.int64), lower=1.0)


def raise_level(search: LevelSearch) -> None:
    """Maximize the least sharing ratio of the users whose ratio is not settled, by integer programs
    in floats. The ratios of their points are computed as exact fractions.
    """
    while search.stop is Stop.FINISHED:
        before = search.next
        search.stop = search.solve(None).stop
        value, top = search.next, float(search.tops[search.settled])
        # the range of levels in one program may have ended there
        if not (value > before and float(value) > search.unit / 2 and search.unit < top):
            return


def count_users(search: LevelSearch) -> None:
    """Find the fewest users that must stay at the level just raised, by an integer program; if none
    must, it is raised further.
    """
    value = search.next
    answer = search.solve(value)
    if answer.status is not Status.OPTIMAL or answer.objective is None:
        search.stop = _reason(answer)
    elif number := round(answer.objective):
        search.levels.append(_Level(value, number))
        text = f"level {len(search.levels)}"
        search.clock.note(float(search.levels[0].value), search.bound, text)


EACH_LEVEL = raise_level, count_users
ROUTES = {"each level": EACH_LEVEL}
"""The routes of `leximin`, in the order in which they run until every user stands at a level."""


def _clipped(gain: Floats, most: float) -> Floats:
    """Divide gains by `most`, to 1 at most; positive ones stay at or above a number that engines do
    not round to 0.
    """
    return np.where(gain > 0, np.clip(gain / most, _LEAST, 1.0), 0.0)


def _reason(answer: EngineAnswer) -> Stop:
    """Why an engine stopped without a proof; if it says finished, it ran out of iterations."""
    return answer.stop if answer.stop is not Stop.FINISHED else Stop.ITERATION_LIMIT
