"""Predictor of thesis section 3.2: parallel fractions and run times from profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...instances.market.instance import Booleans, Floats
from ...instances.market.profile import Profile, fractions
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options

if TYPE_CHECKING:
    import pandas

Holdout = Literal["largest-size", "every-other-count"]


@dataclass(frozen=True)
class Predictor:
    """Fitted speedup model of one workload.

    Attributes
    ----------
    workload : its name.
    fraction : F_est, mean of Karp-Flatt's over core counts and then over the sampled data sizes.
    variance : variance of F_c, mean over the sampled sizes.
    cores : c_max, the largest core count sampled, at which run time against data size is fitted.
    slope, intercept : seconds per unit of size, and seconds, of that line; through the origin when
        one size was sampled.
    """

    workload: str
    fraction: float
    variance: float
    cores: float
    slope: float
    intercept: float

    def seconds(self, size: float, cores: float) -> float:
        """Predicted run time for a data size and cores (thesis equation 3.3): T_c = T_cmax s(c_max)
        / s(c).
        """
        base = self.slope * size + self.intercept
        return base * self._speedup(self.cores) / self._speedup(cores)

    def _speedup(self, cores: float) -> float:
        return cores / (self.fraction + (1 - self.fraction) * cores)


def fit(profile: Profile, most_cores: float | None = None) -> list[Predictor]:
    """Fit a predictor for each workload of a profile.

    Fractions by thesis eq. 3.2; the line of run time against data size by least squares at the
    largest core count that the workload was profiled with, where profiling is quickest and the line
    fits best (thesis section 3.2.4). One sampled size gives a line through the origin, which the
    thesis does not consider.
    """
    estimates: dict[str, list[tuple[float, float]]] = {}
    for entry in fractions(profile, most_cores):
        estimates.setdefault(entry.workload, []).append((entry.mean, entry.variance))
    found = []
    for name, values in estimates.items():
        rows = profile.rows(name)
        if most_cores is not None:
            rows = rows & (profile.cores <= most_cores)
        top = float(profile.cores[rows].max())
        at = rows & (profile.cores == top)
        slope, intercept = _line(profile.size[at], profile.seconds[at])
        fraction, variance = np.mean(values, axis=0)
        found.append(Predictor(name, float(fraction), float(variance), top, slope, intercept))
    return found


@validate_options
def prediction_errors(
    profile: Profile, *, holdout: Holdout = "largest-size", most_cores: float | None = None
) -> pandas.DataFrame:
    """Errors of predicted run times on held-out rows (thesis figures 3.8 to 3.10).

    Parameters
    ----------
    holdout : "largest-size": learn from each workload's smaller data sizes, predict its largest
        (workloads with one size are left out). "every-other-count": learn from every second core
        count (and from one core), predict the others.
    most_cores : leave out rows with more cores.

    Returns
    -------
    One line per held-out row: workload, size, cores, measured and predicted seconds, and the
    relative error.
    """
    import pandas

    if most_cores is not None:
        profile = profile.only(profile.cores <= most_cores)
    held_out = np.zeros(len(profile.workload), dtype=bool)
    for name in profile.workloads:
        held_out |= _held_out(profile, name, holdout)
    if not held_out.any():
        raise InvalidOption(
            "nothing can be held out: every workload has one data size, or fewer than three "
            "core counts"
        )
    learnt = {entry.workload: entry for entry in fit(profile.only(~held_out))}
    lines = []
    for row in np.flatnonzero(held_out).tolist():
        size, cores, measured = profile.size[row], profile.cores[row], profile.seconds[row]
        predicted = learnt[profile.workload[row]].seconds(float(size), float(cores))
        lines.append(
            {
                "workload": profile.workload[row],
                "size": float(size),
                "cores": float(cores),
                "measured": float(measured),
                "predicted": predicted,
                "error": abs(predicted / float(measured) - 1),
            }
        )
    return pandas.DataFrame(lines)


def _held_out(profile: Profile, name: str, holdout: Holdout) -> Booleans:
    rows = profile.rows(name)
    if holdout == "largest-size":
        sizes = np.unique(profile.size[rows])
        return (
            rows & (profile.size == sizes[-1])
            if len(sizes) > 1
            else np.zeros(len(rows), dtype=bool)
        )
    counts = np.unique(profile.cores[rows & (profile.cores > 1)])
    # The largest count stays: it is where the predictor starts from.
    return rows & np.isin(profile.cores, counts[:-1][::-1][::2])


def _line(size: Floats, seconds: Floats) -> tuple[float, float]:
    if len(np.unique(size)) < 2:
        return float(seconds.mean() / size.mean()), 0.0
    slope, intercept = np.polyfit(size, seconds, 1)
    return float(slope), float(intercept)
