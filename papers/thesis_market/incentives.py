"""Thesis 3.3.2 has users take prices as given: what one gains that misreports fractions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from ...analysis.manipulation import best_misreport
from ...analysis.report.picture import Picture
from ...instances.market.generators import population
from ...instances.problem.option_types import AtLeast
from ..charts import chart
from ..registry import Finding, addition, compare, experiment

_POPULATIONS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_NEGLIGIBLE = 1e-3


@experiment
def section_3_3_2(
    *,
    seed: int = 0,
    largest: Annotated[int, AtLeast(2)] = 100,
    draws: Annotated[int, AtLeast(1)] = 5,
    jobs: Annotated[int, AtLeast(1)] = 5,
) -> Iterator[Finding | Picture]:
    """The gain of one user's best misreport, by its share of the budgets.

    Parameters
    ----------
    largest : most users.
    draws : populations of each size; means are compared.
    jobs : of each user, and servers where their number is fixed.
    """
    sizes = [n for n in _POPULATIONS if n <= largest]
    kinds = {
        f"{jobs} servers": [jobs for _ in sizes],
        "as many servers as users": [max(n, jobs) for n in sizes],
    }
    gains: dict[str, dict[float, float]] = {}
    for name, servers in kinds.items():
        gains[name] = {}
        for n, number in zip(sizes, servers, strict=True):
            runs = [
                best_misreport(
                    population(
                        users=n,
                        servers=number,
                        jobs=jobs,
                        work="lognormal",
                        rng=np.random.default_rng((seed, n, draw)),
                    ),
                    "fisher",
                    "0",
                    None,
                    kinds=("odds",),
                )
                for draw in range(draws)
            ]
            gains[name][1 / n] = float(np.mean([run.ratio for run in runs])) - 1
        line = ", ".join(
            f"{n}: {gain:.2%}" for n, gain in zip(sizes, gains[name].values(), strict=True)
        )
        yield addition(f"gain of the best misreport, {name}, by users", line)
    fixed, growing = ([*gains[name].values()] for name in kinds)
    yield compare(
        f"the gain vanishes with a user's share of the budgets, {jobs} servers",
        "users respond to prices as given; what one gains by not doing so is not said",
        f"{fixed[-1]:.2%} at a share of {1 / sizes[-1]:g}, {fixed[0]:.2%} at {1 / sizes[0]:g}",
        None,
        f"{'below' if fixed[-1] < _NEGLIGIBLE else 'not below'} {_NEGLIGIBLE:.1%} at the last",
    )
    yield compare(
        "the same where servers grow with users",
        "not said",
        f"{growing[-1]:.2%} at a share of {1 / sizes[-1]:g}",
        None,
        "what counts is a user's share of the money on its own servers, which stays "
        f"about 1/{jobs}",
    )
    yield chart(
        "market-section-3.3.2",
        "What a user gains by reporting other fractions",
        "share of all budgets",
        "gain in utility",
        gains,
        style="line+points",
        x_scale="log",
        note=f"means over {draws} populations of each size, {jobs} jobs a user, work lognormal; "
        "the best of ten reports of all its fractions",
    )
