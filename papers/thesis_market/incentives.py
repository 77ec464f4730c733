"""Thesis 3.1.2: work conservation against entitlements; 3.3.2: gains of a user that misreports
fractions, where the thesis has users take prices as given.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...analysis.manipulation import best_misreport
from ...analysis.market.audits import work_conserving
from ...instances.market.generators import population
from ...instances.problem.option_types import AtLeast
from ..charts import chart
from ..experiment import Parts, addition, compare, equal
from . import PAPER

_POPULATIONS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_NEGLIGIBLE = 1e-3


@PAPER.experiment(
    "section-3.1.2", "section 3.1.2", what="Alice and Bob under a work-conserving policy"
)
def section_3_1_2() -> Parts:
    """Alice and Bob under a work-conserving policy."""
    cores = work_conserving(
        np.array([10.0, 10.0]), np.array([0, 1, 0, 1]), np.array([2.0, 8.0, 8.0, 8.0])
    )
    alice, bob = float(cores[:2].sum()), float(cores[2:].sum())
    yield equal("Alice's cores, entitled to 10", "7", f"{alice:g}")
    yield equal("Bob's cores, entitled to 10", "13", f"{bob:g}")
    yield equal("Alice's cores on the first server", "2", f"{cores[0]:g}")
    yield equal("Alice's cores on the second server", "5", f"{cores[1]:g}")
    rows = {"entitled to": {"Alice": 10.0, "Bob": 10.0}, "gets": {"Alice": alice, "Bob": bob}}
    yield chart("market-section-3.1.2", "Cores under a work-conserving policy", "user",
        "cores on both servers", rows)  # fmt: skip


@PAPER.experiment("section-3.3.2", "section 3.3.2", seconds=5)
def section_3_3_2(
    *,
    seed: int = 0,
    largest: Annotated[int, AtLeast(2)] = 100,
    draws: Annotated[int, AtLeast(1)] = 5,
    jobs: Annotated[int, AtLeast(1)] = 5,
) -> Parts:
    """Gain of a user that misreports its fractions, by its share of the budgets.

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
            ratios = []
            for draw in range(draws):
                rng = np.random.default_rng((seed, n, draw))
                market = population(users=n, servers=number, jobs=jobs, work="lognormal", rng=rng)
                ratios.append(best_misreport(market, "fisher", "0", None, kinds=("odds",)).ratio)
            gains[name][1 / n] = float(np.mean(ratios)) - 1
        line = (f"{n}: {gain:.2%}" for n, gain in zip(sizes, gains[name].values(), strict=True))
        yield addition(f"gain of the best misreport, {name}, by users", ", ".join(line))
    fixed, growing = ([*gains[name].values()] for name in kinds)
    last = f"at a share of {1 / sizes[-1]:g}"
    yield compare(f"the gain vanishes with a user's share of the budgets, {jobs} servers",
        "users respond to prices as given; what one gains by not doing so is not said",
        f"{fixed[-1]:.2%} {last}, {fixed[0]:.2%} at {1 / sizes[0]:g}", None,
        f"{'below' if fixed[-1] < _NEGLIGIBLE else 'not below'} {_NEGLIGIBLE:.1%} at the last",
    )  # fmt: skip
    yield compare("the same where servers grow with users", "not said",
        f"{growing[-1]:.2%} {last}", None,
        "what counts is a user's share of the money on its own servers, which stays about "
        f"1/{jobs}")  # fmt: skip
    yield chart("market-section-3.3.2", "What a user gains by reporting other fractions",
        "share of all budgets", "gain in utility", gains, style="line+points", x_scale="log",
        note=f"means over {draws} populations of each size, {jobs} jobs a user, work lognormal; "
        "the best of ten reports of all its fractions")  # fmt: skip
