"""What is known of every entry of the matrix: measured, predicted, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...instances.colocation.instance import LEAST_PENALTY, Colocation
from ...instances.colocation.missing import computed_penalty
from ...instances.problem.errors import InvalidOption
from .statistics import CONTROL, Booleans, Estimate, Observations, estimate, jackknife_plus

Voids = Mapping[tuple[int, int], str]
"""Pairs (the lower place first) that failed twice, with the reason."""


@dataclass(frozen=True)
class Estimates:
    """The matrix as it was measured.

    Attributes
    ----------
    estimates : entry -> what was measured of it, in two rounds at least.
    controls : job -> what was measured of it beside the control.
    confidence : with which the intervals of all measured entries hold together.
    level : probability outside of one of them (Bonferroni over all T x T entries).
    """

    jobs: int
    estimates: Mapping[tuple[int, int], Estimate]
    controls: Mapping[int, Estimate]
    confidence: float
    level: float

    @property
    def known(self) -> Booleans:
        """(T, T): which entries were measured."""
        measured = np.zeros((self.jobs, self.jobs), dtype=bool)
        for entry in self.estimates:
            measured[entry] = True
        return measured & measured.T


def simultaneous(confidence: float, jobs: int) -> float:
    """The probability of a miss of one interval, for all T x T at a confidence (Bonferroni)."""
    return (1 - confidence) / jobs**2


def estimate_penalties(seen: Observations, confidence: float) -> Estimates:
    """What observations show."""
    jobs = range(len(seen.jobs))
    level = simultaneous(confidence, len(jobs))
    guesses = {
        (a, c): guess
        for a in jobs
        for c in (CONTROL, *jobs)
        if (guess := estimate(seen.logs(a, c), level)) is not None
    }
    return Estimates(
        jobs=len(jobs),
        estimates={entry: guess for entry, guess in guesses.items() if entry[1] != CONTROL},
        controls={a: guess for (a, c), guess in guesses.items() if c == CONTROL},
        confidence=confidence,
        level=level,
    )


def to_instance(
    estimates: Estimates,
    names: Sequence[str],
    counts: Sequence[int],
    *,
    bandwidth: Sequence[float] | None = None,
    voids: Voids | None = None,
    on_void: Literal["forbid", "predict"] | None = None,
    machines: float | None = None,
    name: str = "measured",
    source: str = "",
) -> Colocation:
    """The instance of the estimates, penalties with their intervals.

    Parameters
    ----------
    names, counts, bandwidth : of the jobs.
    voids : pairs that failed, which `on_void` says what to do with.
    machines : how many there are; just enough when not given. An odd number of agents gets one more
        than pairs: one job may run alone.

    Raises
    ------
    InvalidOption
        Pairs failed and nothing says what they mean; or no pair was measured.
    """
    voids = voids or {}
    if voids and on_void is None:
        (a, c), reason = next(iter(voids.items()))
        raise InvalidOption(
            f"{names[a]} beside {names[c]} failed twice ({reason}), and {len(voids) - 1} more "
            "pairs did. Set voids to forbid if they must not share a machine, or to predict, which "
            "predicts them from the other pairs"
        )
    known = estimates.known
    if not known.any():
        raise InvalidOption("no pair was measured in two rounds yet; measure more rounds")
    forbidden = np.zeros(known.shape, dtype=bool)
    for a, c in voids if on_void == "forbid" else ():
        forbidden[a, c] = forbidden[c, a] = True
    idle = np.diag(np.asarray(counts) < 2)  # nobody to sit beside
    middle, low, high = (np.zeros(known.shape) for _ in range(3))
    looks: npt.NDArray[np.int64] = np.zeros(known.shape, dtype=np.int64)
    for (a, c), guess in estimates.estimates.items():
        if known[a, c]:
            middle[a, c], low[a, c], high[a, c] = guess.mid, guess.low, guess.high
            looks[a, c] = guess.samples
    ends = (LEAST_PENALTY, 1.0)
    words = f"Student's t, Bonferroni over {known.size} entries"
    predicted = ~known & ~forbidden & ~idle
    if predicted.any():
        middle, low, high = jackknife_plus(middle, known, estimates.confidence, (low, high), ends)
        words = (
            f"measured ones hold together with {100 * estimates.confidence:.12g} % ({words}); "
            f"{predicted.sum()} predicted ones with about that each by itself (jackknife+)"
        )
    middle, low, high = (
        computed_penalty(part) for part in (middle, np.maximum(low, ends[0]), high)
    )
    for part in (middle, low, high):
        part[forbidden] = np.inf
    if machines is None and sum(counts) % 2:
        machines = (sum(counts) + 1) / 2
    return Colocation(
        penalty=middle,
        count=np.array(counts),
        bandwidth=None if bandwidth is None else np.array(bandwidth, dtype=float),
        names=tuple(names),
        machines=machines,
        low=low,
        high=high,
        looks=looks,
        confidence=None if predicted.any() else estimates.confidence,
        intervals=words,
        name=name,
        source=source,
    )
