"""The twenty-two named workloads of the thesis, with synthetic parallel fractions.

Names and suites are those of thesis Table 3.2. Their fractions were only ever a picture (fig. 3.4);
the text says that they range from 0.55 to 0.99, that graph processing, k-means on a small data set,
canneal and dedup scale worst, and nothing more. The fractions below are ours: the named poor ones
spread evenly over (.55, .77), the rest over (.80, .99), in the table's order.
"""

from __future__ import annotations

import numpy as np

from .profile import Profile

WORKLOADS: tuple[tuple[str, str], ...] = (
    ("correlation", "Spark"),
    ("decision-tree", "Spark"),
    ("fpgrowth", "Spark"),
    ("gradient-descent", "Spark"),
    ("kmeans", "Spark"),
    ("linear-regression", "Spark"),
    ("movie", "Spark"),
    ("naive-bayesian", "Spark"),
    ("svm", "Spark"),
    ("page-rank", "Spark"),
    ("connected", "Spark"),
    ("triangle-counting", "Spark"),
    ("blackscholes", "PARSEC"),
    ("bodytrack", "PARSEC"),
    ("canneal", "PARSEC"),
    ("dedup", "PARSEC"),
    ("ferret", "PARSEC"),
    ("raytrace", "PARSEC"),
    ("streamcluster", "PARSEC"),
    ("swaptions", "PARSEC"),
    ("vips", "PARSEC"),
    ("x264", "PARSEC"),
)
"""Name and suite: thesis Table 3.2."""

_POOR = ("kmeans", "page-rank", "connected", "triangle-counting", "canneal", "dedup")


def synthetic_fractions() -> dict[str, float]:
    """Synthetic parallel fraction of each named workload, two decimals."""
    names = [name for name, _ in WORKLOADS]
    rich = [name for name in names if name not in _POOR]
    low = dict(zip(_POOR, np.round(np.linspace(0.55, 0.77, len(_POOR)), 2).tolist(), strict=True))
    high = dict(zip(rich, np.round(np.linspace(0.80, 0.99, len(rich)), 2).tolist(), strict=True))
    return {name: (low | high)[name] for name in names}


PROFILED = (1, 2, 4, 8, 12, 24, 48)
"""Core counts of a synthetic profile; the thesis's server has 24 cores (Table 3.1)."""

_OVERHEAD = 0.015
"""Share of the sequential run time that a poor workload loses with every doubling of its cores."""
_NOISE = 0.01


def synthetic_profile(rng: np.random.Generator) -> Profile:
    """Run times of the named workloads that obey Amdahl's law but for noise and, for the poor ones,
    an overhead that grows.

    seconds(c) = 100 (1 - f + f / c + overhead log2 c) times lognormal noise. f is that of
    `synthetic_fractions`, and a little more for a poor workload, so that the mean of what Karp and
    Flatt's formula gives comes out near it. This stands in for the thesis's measured run times, of
    which the text gives none: what holds on it holds by construction.

    Parameters
    ----------
    rng : draws the noise.
    """
    names, cores, seconds = [], [], []
    for name, fraction in synthetic_fractions().items():
        overhead = _OVERHEAD if name in _POOR else 0.0
        whole = fraction + 4 * overhead
        for count in PROFILED:
            names.append(name)
            cores.append(float(count))
            seconds.append(
                100
                * (1 - whole + whole / count + overhead * np.log2(count))
                * rng.lognormal(0.0, _NOISE)
            )
    return Profile(tuple(names), np.ones(len(names)), np.array(cores), np.array(seconds))
