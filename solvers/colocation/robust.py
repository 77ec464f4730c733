"""Least alpha at which some pairing is stable for every matrix within the intervals."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Pairing
from ...instances.colocation.objective import mean_penalty
from ...instances.colocation.stability import (
    compared,
    least_float,
    require_intervals,
    stable_alpha,
)
from ...instances.problem.option_types import validate_options
from ...instances.problem.quantities import as_written
from ..engines import EngineName
from ..outcome import Clock, Outcome, Status, Stop, raise_if_interrupted
from .aggregate_relaxation import SHARE_LIMITS, ShareLimits
from .blocking import at_most_blocking
from .feasible import starting_pairing

NARROW = 1e-6
"""Alphas nearer than this are not halved further: so many equal differences are between."""

_NEAR = 1e-9
"""Differences of floats are those of their decimals to this."""


@dataclass(frozen=True)
class RobustLimits:
    """Parameters of `robust_alpha`.

    Attributes
    ----------
    differences : that are made decimals: of more, alphas between them are tried first.
    confirm_seconds : for the other engine to confirm that nothing is possible below.
    quick_seconds : for the first engine to say whether there is a pairing at an alpha.
    shares : of programs of many agents of a type.
    """

    differences: int = 20_000
    confirm_seconds: float = 5.0
    quick_seconds: float = 1.0
    shares: ShareLimits = SHARE_LIMITS


@dataclass(frozen=True)
class RobustAlpha:
    """Least alpha of a robustly stable pairing, with the pairing and bounds.

    Attributes
    ----------
    alpha : at it `pairing` has no possibly blocking pair; None where the instance has
        no feasible pairing, or none was found in time.
    pairing : of least mean penalty at `alpha`, where time sufficed for that.
    penalty, bound : its mean penalty, and the proved bound on that at `alpha`.
    below : proved: at this alpha, and so at every smaller one, every pairing has a possibly
        blocking pair; None where nothing is proved, or nothing is below (`alpha` 0).
    status : optimal when no alpha between `below` and `alpha` changes any gain, so that `alpha` is
        the least; then every pairing has a possibly blocking pair at *every* alpha below it.
    confirmed : whether the other engine, asked last, finds no pairing possible at `below` too.
    stop : why the search ended.
    certainty : the confidence that the intervals claim.
    programs : integer programs that were solved.
    """

    alpha: float | None
    pairing: Pairing | None
    penalty: float | None
    bound: float | None
    below: float | None
    status: Status
    confirmed: bool
    stop: Stop
    certainty: str
    programs: int


@validate_options
def robust_alpha(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    start: Pairing | None = None,
    limits: RobustLimits | None = None,
) -> RobustAlpha:
    """Find the least alpha at which some pairing has no possibly blocking pair, by bisection.

    An agent beside b possibly gains by c iff high[a, b] - low[a, c] > alpha, so only these
    differences matter. They are finitely many decimals; between two that follow each other no gain
    changes, and at a difference itself its gain is gone already, as gains are strict. More alpha
    never adds a gain: what is stable at one alpha is so at every larger one. So the least alpha is
    0 or one of the differences, and a bisection over them is exact: one integer program says that
    there is a pairing at it, another that there is none at the difference before it, which holds
    up to the least alpha, that excluded. A difference that no float is written as stands for the
    least float that is not smaller.

    Parameters
    ----------
    instance : with intervals.
    time_limit : seconds in all.
    engine : "highs" or "cp-sat" for the programs.
    start : a pairing to begin with.
    limits : what steers the search.

    Raises
    ------
    InvalidOption
        The instance has no intervals, or an option is out of range.

    Examples
    --------
    >>> from cotenant.instances.colocation import Colocation
    >>> middle = [[0.1, 0.3], [0.2, 0.4]]
    >>> low, high = [[[p + e for p in row] for row in middle] for e in (-0.0625, 0.0625)]
    >>> robust_alpha(Colocation(middle, [1, 1], low=low, high=high)).alpha
    0.0
    """
    require_intervals(instance, "robust_alpha", "asked for")
    clock = Clock(time_limit)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return RobustAlpha(
            None, None, None, None, None, begin.status, False, begin.stop, instance.certainty, 0
        )
    search = _Bisection(instance, engine, clock, begin, limits or RobustLimits())
    try:
        search.run()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return search.result()


class _Bisection:
    """Largest alpha proved too low, and the incumbent pairing with the least alpha known to
    suffice.
    """

    def __init__(
        self, instance: Colocation, engine: EngineName, clock: Clock, begin: Pairing,
        limits: RobustLimits,
    ) -> None:  # fmt: skip
        self.instance, self.engine, self.clock, self.limits = instance, engine, clock, limits
        self._other: EngineName = "cp-sat" if engine == "highs" else "highs"
        self.best, self.stop, self.programs = begin, Stop.FINISHED, 0
        self.bound: float | None = None
        self.below = -1.0  # nothing is proved too low
        self.enough = stable_alpha(instance, begin, "possible")
        self.decided = self.confirmed = False

    def run(self) -> None:
        """Bisect until no difference of penalties is between the two ends, then minimize the
        penalty at the least alpha.
        """
        while (
            self.enough - self.below > NARROW
            and _number_between(self.instance, self.below, self.enough) > self.limits.differences
        ):
            if not self._tried((max(self.below, 0.0) + self.enough) / 2):
                return
        between = breakpoints(self.instance, self.below, self.enough)
        first, last = 0, bisect_left(between, self.enough)
        while first < last:
            middle = (first + last) // 2
            if not self._tried(between[middle]):
                return
            last = bisect_left(between, self.enough)
            first = bisect_right(between, self.below)
        self.decided = True
        self._confirm()
        cheapest = self._program(self.enough, penalty=True)
        if cheapest is not None and isinstance(cheapest.solution, Pairing):
            self.best, self.bound = cheapest.solution, cheapest.bound  # recounted there

    def _confirm(self) -> None:
        """Let the other engine confirm that no pairing is stable at the largest alpha proved too
        low; a pairing found there would refute the proof.
        """
        if self.below < 0 or self.clock.expired:
            return
        seconds = self.clock.time_slice(1, self.limits.confirm_seconds)
        found = self._asked(self.below, self._other, seconds)
        self.confirmed = found.status is Status.INFEASIBLE
        if isinstance(found.solution, Pairing):
            self.best, self.below, self.decided = found.solution, -1.0, False
            self.enough = stable_alpha(self.instance, self.best, "possible")

    def _tried(self, alpha: float) -> bool:
        """Solve the program at an alpha between the two ends of the bisection and move one end;
        return False if undecided in time.
        """
        found = self._program(alpha, penalty=False)
        if found is None:
            return False
        if found.status is Status.INFEASIBLE:
            self.below = alpha
        else:
            assert isinstance(found.solution, Pairing)
            self.best = found.solution
            self.enough = stable_alpha(self.instance, self.best, "possible")
        return True

    def _program(self, alpha: float, *, penalty: bool) -> Outcome | None:
        """Outcome of the program at an alpha, by either engine; None if undecided in time."""
        if self.clock.expired:
            self.stop = Stop.TIME_LIMIT
            return None
        # without an objective HiGHS mostly tells at once, and else is lost for long: then the other
        # engine is asked
        left = self.clock.time_slice()
        quick = self.clock.time_slice(1, self.limits.quick_seconds)
        tries = [(self.engine, left)] if penalty else [(self.engine, quick), (self._other, left)]
        for engine, seconds in tries:
            found = self._asked(alpha, engine, seconds, penalty=penalty)
            decided = found.solution is not None or found.status is Status.INFEASIBLE
            if decided or self.clock.expired:
                break
        if not decided:
            self.stop = Stop.TIME_LIMIT if self.clock.expired else found.stop
            return None
        return found

    def _asked(
        self, alpha: float, engine: EngineName, seconds: float | None, *, penalty: bool = False
    ) -> Outcome:
        """Outcome of one engine at an alpha; raises KeyboardInterrupt if interrupted."""
        self.programs += 1
        found = at_most_blocking(
            self.instance, 0, alpha, uncertainty="possible", penalty=penalty, time_limit=seconds,
            engine=engine, start=self.best if penalty else None, limits=self.limits.shares,
        )  # fmt: skip
        raise_if_interrupted(found.stop)
        return found

    def result(self) -> RobustAlpha:
        """Return the pairing and the ends of the bisection so far as a `RobustAlpha`."""
        return RobustAlpha(
            alpha=self.enough,
            pairing=self.best,
            penalty=mean_penalty(self.instance, self.best),
            bound=self.bound,
            below=None if self.below < 0 else self.below,
            status=Status.OPTIMAL if self.decided else Status.FEASIBLE,
            confirmed=self.confirmed,
            stop=self.stop,
            certainty=self.instance.certainty,
            programs=self.programs,
        )


def breakpoints(instance: Colocation, above: float = -1.0, upto: float = math.inf) -> list[float]:
    """Alphas at which the set of possible gains changes, ascending, in a range.

    They are 0 and, of pairs that can come about, high[a, b] - low[a, c] for b other than c, each as
    the least float whose decimal is not below it; above `above` and at most `upto`.
    """
    found = {0.0}
    for leaves, offered, inside in _differences(instance, above, upto):
        b, c = np.nonzero(inside)
        pairs = np.unique(np.stack([leaves[b], offered[c]]), axis=1).T.tolist()
        differences = {as_written(left) - as_written(joined) for left, joined in pairs}
        found |= {least_float(value) for value in differences if value > 0}
    return sorted(alpha for alpha in found if above < alpha <= upto)


def _number_between(instance: Colocation, above: float, upto: float) -> int:
    """Count triples (type, old and new partner) whose difference of penalties is in a range."""
    return sum(int(inside.sum()) for *_, inside in _differences(instance, above, upto))


def _differences(
    instance: Colocation, above: float, upto: float
) -> Iterator[tuple[Floats, Floats, Booleans]]:
    """Penalties of the old partners b and new partners c of each type, and for which b and c the
    difference lies in a range.
    """
    leaves, offered = compared(instance, "possible")
    present = instance.count > 0
    allowed = instance.allowed & present & present[:, None]
    for a in np.flatnonzero(present).tolist():
        partners = np.flatnonzero(allowed[a])
        left, joined = leaves[a, partners], offered[a, partners]
        if instance.unpaired is not None:
            left = np.append(left, instance.unpaired)
        difference = left[:, None] - joined
        inside = (difference > max(above, 0.0) - _NEAR) & (difference < upto + _NEAR)
        np.fill_diagonal(inside, False)
        yield left, joined, inside
