"""Estimated penalty of every pair of jobs: measured, predicted, or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .statistics import CONTROL, Booleans, Floats, Observations, interval

Voids = Mapping[tuple[int, int], str]
"""Pairs (the lower index first) that failed twice, with the reason."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimated penalties, shape (T, T + 1): row beside column; the last column (`CONTROL`) is
    beside the control.

    Attributes
    ----------
    mid, low, high : (T, T + 1) shares of throughput lost, and the ends of their intervals; NaN of
        what was not measured in two rounds.
    deviation : (T, T + 1) standard deviations of the logarithms of one round.
    samples : (T, T + 1) rounds that were used.
    confidence : with which the intervals of all measured entries hold together.
    level : probability outside of one of them (Bonferroni over all T x T entries).
    """

    mid: Floats
    low: Floats
    high: Floats
    deviation: Floats
    samples: npt.NDArray[np.int64]
    confidence: float
    level: float

    @cached_property
    def half(self) -> Floats:
        """Half width of each interval (the wider side), shape (T, T + 1)."""
        return np.maximum(self.high - self.mid, self.mid - self.low)

    @property
    def known(self) -> Booleans:
        """Whether both entries of each pair were measured, shape (T, T)."""
        measured: Booleans = np.isfinite(self.mid[:, :CONTROL])
        return measured & measured.T


def estimate_penalties(seen: Observations, confidence: float) -> Estimates:
    """Estimate penalties with intervals from observations."""
    jobs = len(seen.jobs)
    level = (1 - confidence) / jobs**2
    samples: npt.NDArray[np.int64] = np.zeros((jobs, jobs + 1), dtype=np.int64)
    mean, deviation = np.full((2, jobs, jobs + 1), np.nan)
    for a in range(jobs):
        for c in (CONTROL, *range(jobs)):
            logs = seen.logs(a, c)
            if len(logs) >= 2:
                samples[a, c], mean[a, c], deviation[a, c] = (
                    len(logs),
                    logs.mean(),
                    logs.std(ddof=1),
                )
    return Estimates(
        *interval(samples, mean, deviation, level), deviation, samples, confidence, level
    )
