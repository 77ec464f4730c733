"""The least alpha from which on some pairing is stable for every matrix within the intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty
from ...instances.colocation.stability import blocking_pairs, decimal, require_intervals
from ...instances.problem.rules import checked
from ..engines import EngineName
from ..outcome import Clock, Outcome, Status, Stop
from .blocking import zero_blocking
from .feasible import starting_pairing


@dataclass(frozen=True)
class RobustAlpha:
    """The least alpha of a pairing that is stable whatever the true penalties within the intervals.

    Attributes
    ----------
    alpha : at it `pairing` has no possibly blocking pair (recounted); None where the instance has
        no feasible pairing, or none was found in time.
    pairing : of least mean penalty at `alpha`, where time sufficed for that.
    penalty, bound : its mean penalty, and the proved bound on that at `alpha`.
    below : proved: at this alpha, and so at every smaller one, every pairing has a possibly
        blocking pair; None where nothing is proved, or nothing is below (`alpha` 0).
    status : optimal when no alpha between `below` and `alpha` changes any gain, so that `alpha` is
        the least; then every pairing has a possibly blocking pair at *every* alpha below it.
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
    stop: Stop
    certainty: str
    programs: int


@checked
def robust_alpha(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    start: Pairing | None = None,
) -> RobustAlpha:
    """The least alpha at which some pairing has no possibly blocking pair, by bisection.

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
            None, None, None, None, None, begin.status, begin.stop, instance.certainty, 0
        )
    search = _Bisection(instance, engine, clock, begin)
    try:
        search.run()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return search.result()


class _Bisection:
    """The breakpoints, the highest one that is proved too low, and the lowest that is known to
    do.
    """

    def __init__(
        self, instance: Colocation, engine: EngineName, clock: Clock, begin: Pairing
    ) -> None:
        self.instance, self.engine, self.clock = instance, engine, clock
        self.alphas = breakpoints(instance)
        self.best, self.stop, self.programs = begin, Stop.FINISHED, 0
        self.bound: float | None = None
        self.below = -1
        self.enough = self._reached(begin, len(self.alphas) - 1)

    def run(self) -> None:
        """Halve until nothing is between, then look for the least penalty at the least alpha."""
        while self.enough - self.below > 1:
            middle = (self.below + self.enough) // 2
            found = self._program(middle, penalty=False)
            if found is None:
                return
            if found.status is Status.INFEASIBLE:
                self.below = middle
            else:
                assert isinstance(found.solution, Pairing)
                self.best = found.solution
                self.enough = self._reached(self.best, middle)
        cheapest = self._program(self.enough, penalty=True)
        if cheapest is not None and isinstance(cheapest.solution, Pairing):
            self.best, self.bound = cheapest.solution, cheapest.bound

    def _program(self, place: int, *, penalty: bool) -> Outcome | None:
        """What a program at a breakpoint says; None when it was not decided in time."""
        if self.clock.over:
            self.stop = Stop.TIME_LIMIT
            return None
        found = zero_blocking(
            self.instance, self.alphas[place], uncertainty="possible", penalty=penalty,
            time_limit=self.clock.share(), engine=self.engine, start=self.best if penalty else None,
        )  # fmt: skip
        self.programs += 1
        if found.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        if found.solution is None and found.status is not Status.INFEASIBLE:
            self.stop = Stop.TIME_LIMIT if self.clock.over else found.stop
            return None
        return found

    def _reached(self, pairing: Pairing, known: int) -> int:
        """The least breakpoint at which a pairing has no possibly blocking pair; it has none at
        `known`.
        """
        low = self.below
        while known - low > 1:
            middle = (low + known) // 2
            if blocking_pairs(
                self.instance, pairing, self.alphas[middle], uncertainty="possible"
            ).count:
                low = middle
            else:
                known = middle
        return known

    def result(self) -> RobustAlpha:
        """What is known by now."""
        decided = self.enough - self.below == 1
        return RobustAlpha(
            alpha=self.alphas[self.enough],
            pairing=self.best,
            penalty=mean_penalty(self.instance, self.best),
            bound=self.bound,
            below=None if self.below < 0 else self.alphas[self.below],
            status=Status.OPTIMAL if decided else Status.FEASIBLE,
            stop=self.stop,
            certainty=self.instance.certainty,
            programs=self.programs,
        )


def breakpoints(instance: Colocation) -> list[float]:
    """0 and the alphas, ascending, at which a possible gain ends: high[a, b] - low[a, c] for b
    other than c, of pairs that can come about, each as the least float whose decimal is not below
    it.
    """
    low, high = require_intervals(instance, "breakpoints", "asked for")
    present = instance.count > 0
    allowed = instance.allowed & present & present[:, None]
    found = {0.0}
    for a in np.flatnonzero(present).tolist():
        partners = np.flatnonzero(allowed[a])
        differences = high[a, partners, None] - low[a, partners]
        np.fill_diagonal(differences, -1.0)
        here, there = np.nonzero(differences > -_NEAR)
        lows = [decimal(value) for value in low[a, partners].tolist()]
        highs = [decimal(value) for value in high[a, partners].tolist()]
        found |= set(_floats({highs[b] - lows[c] for b, c in zip(here, there, strict=True)}))
        if instance.unpaired is not None:
            left = decimal(instance.unpaired)
            found |= set(_floats({left - value for value in lows}))
    return sorted(found)


_NEAR = 1e-9
"""Differences of floats below minus this are below 0 as decimals too."""


def _floats(differences: set[Fraction]) -> Iterator[float]:
    for difference in differences:
        if difference > 0:
            value = float(difference)
            yield value if decimal(value) >= difference else math.nextafter(value, math.inf)
