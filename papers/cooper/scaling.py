"""Cooper figure 13 (thesis 2.17): attribution as populations grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from ...instances.colocation.instance import Floats
from ...instances.colocation.objective import type_penalties
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast
from ..charts import chart
from ..experiment import Parts, compare, each
from . import PAPER
from .populations import (
    UNBLOCKED,
    Rows,
    Setting,
    all_unblocked,
    correlations,
    linked,
    penalties,
    within_deviation,
)

_FIFTY = Setting(agents=10, draws=50)
_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@PAPER.experiment(
    "figure-13", "fig. 13, thesis fig. 2.17", seconds=90, hide=("agents", "order", "ties"),
    variations={
        **penalties(proved=0, draws=20),
        "the policy, which the figure's heading calls SR": each("policy", "SR"),
    },
)  # fmt: skip
def figure_13(
    *,
    given: Setting = _FIFTY,
    policy: Literal["GR", "CO", "SMP", "SMR", "SR"] = "SMR",
    largest: Annotated[int, AtLeast(20, "agents")] = 2000,
    proved: Annotated[int, AtLeast(0)] = 10,
) -> Parts:
    """Rank correlation of penalty with bandwidth as populations grow.

    Parameters
    ----------
    given : see `Setting`.
    policy : SMR, as the caption and the text say; the figure's own heading says SR.
    largest : most agents; sizes are 10, 20, 50, 100 and so on, which the papers do not print.
    proved : how many of the populations of each size are also paired without blocking pairs, by the
        exact method; 0 leaves it out.
    """
    if proved > given.draws:
        raise InvalidOption(f"proved is {proved}; expected 0 to draws = {given.draws}")
    # 1. Pairings of every size, and the statistics of each.
    rows: dict[int, Rows] = {}
    exact: dict[int, Floats] = {}
    for size in (size for size in _SIZES if size <= largest):
        people = given.populations(agents=size)
        rows[size] = [
            (entry, given.paired(policy, entry, draw)) for draw, entry in enumerate(people)
        ]
        exact[size] = correlations(all_unblocked(people[:proved]))
    found = {size: correlations(entries) for size, entries in rows.items()}
    mean = {size: float(one.mean()) if len(one) else np.nan for size, one in found.items()}
    found, exact = (
        {size: values for size, values in samples.items() if len(values)}
        for samples in (found, exact)
    )
    share = {size: _share_linked(entries) for size, entries in rows.items()}
    deviation = {size: _deviation(entries) for size, entries in rows.items()}
    # 2. The sentences; deviations shrink where the least is at or past the middle.
    sizes = list(rows)
    first, last = sizes[0], sizes[-1]
    yield compare(f"{policy}, the correlation strengthens with more agents", "yes",
        _by_size(mean), mean[last] > mean[first],
        "our numbers are mean rank correlations by number of agents; the paper does not print "
        "the population sizes")  # fmt: skip
    yield compare("the link is weak in small systems", "yes",
        f"significant in {100 * share[first]:.0f} % of populations of {first}", share[first] < 0.5,
        "tested one-sided at 5 %; weak is taken as significant in less than half of the "
        "populations")  # fmt: skip
    yield compare("in larger systems more contentious jobs have larger penalties", "yes",
        f"significant in {100 * share[last]:.0f} % of populations of {last}", share[last] >= 0.95,
        "reproduced if significant in at least 95 % of the populations")  # fmt: skip
    least = sizes.index(min(deviation, key=deviation.__getitem__))
    yield compare("standard deviations shrink with population size", "yes",
        f"{_by_size(deviation)} points",
        deviation[last] < deviation[first] and least >= len(sizes) // 2,
        "a job type's mean penalty has this standard deviation over populations")  # fmt: skip
    # 3. The curves.
    samples = {policy: found, UNBLOCKED: exact}
    curves = {name: within_deviation(one) for name, one in samples.items() if one}
    yield chart("colocation-figure-13",
        "Rank correlation of penalty with demand as populations grow", "agents",
        "Spearman's coefficient", {name: means for name, (means, _) in curves.items()},
        style="line+points", strong=[UNBLOCKED],
        ends={name: ends for name, (_, ends) in curves.items()}, x_scale="log",
        note="intervals: one standard deviation over populations")  # fmt: skip
    yield chart("colocation-figure-13-deviation",
        "How much a job type's penalty varies from population to population", "agents",
        "standard deviation of mean penalty [points]", {policy: deviation}, style="line+points",
        x_scale="log")  # fmt: skip


def _share_linked(rows: Rows) -> float:
    """Fraction of the populations in which penalty and demand are significantly correlated."""
    hits = []
    for population, pairing in rows:
        assert population.bandwidth is not None
        hits.append(linked(type_penalties(population, pairing), population.bandwidth)[1])
    return float(np.mean(hits))


def _deviation(rows: Rows) -> float:
    """Deviation over populations of each type's mean penalty, averaged over types [points]."""
    table = np.stack([type_penalties(population, pairing) for population, pairing in rows])
    often = (~np.isnan(table)).sum(axis=0) >= 2
    return float(100 * np.nanstd(table[:, often], axis=0).mean()) if often.any() else 0.0


def _by_size(values: Mapping[int, float]) -> str:
    return ", ".join(f"{size}: {value:.2f}" for size, value in values.items())
