"""Cooper fig. 13 (thesis fig. 2.17): attribution as populations grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np

from ...analysis.report.picture import Chart, Picture
from ...instances.colocation.instance import Floats
from ...instances.colocation.objective import type_penalties
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ..charts import chart
from ..registry import Finding, addition, compare
from .links import Rows, correlations, linked
from .populations import UNBLOCKED, Setting, on_setting, unblocked

_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@on_setting(draws=50, agents=10, fixed=("agents", "order", "ties"))
@validate_options
def figure_13(
    given: Setting,
    *,
    draws: int,
    policy: Literal["GR", "CO", "SMP", "SMR", "SR"] = "SMR",
    largest: Annotated[int, AtLeast(20, "agents")] = 2000,
    proved: Annotated[int, AtLeast(0)] = 10,
) -> Iterator[Finding | Picture]:
    """Correlation of penalty with demand as populations grow.

    Parameters
    ----------
    policy : SMR, as the caption and the text say; the figure's own heading says SR.
    largest : most agents; sizes are 10, 20, 50, 100 and so on, which the papers do not print.
    draws : populations of each size.
    proved : how many of them are also paired without blocking pairs, by the exact method; 0 leaves
        it out.
    model_seed, matrix, form, bandwidth, gpu : see `populations.setting`.
    """
    if proved > draws:
        raise InvalidOption(f"proved is {proved}; expected 0 to draws = {draws}")
    sizes = [size for size in _SIZES if size <= largest]
    rows: dict[int, Rows] = {}
    exact: dict[int, Floats] = {}
    for size in sizes:
        people = [given.population(draw, agents=size) for draw in range(draws)]
        rows[size] = [
            (entry, given.paired(policy, entry, draw)) for draw, entry in enumerate(people)
        ]
        answers = [(entry, unblocked(entry)) for entry in people[:proved]]
        exact[size] = correlations(
            [(entry, answer) for entry, answer in answers if answer is not None]
        )
    found = {size: correlations(entries) for size, entries in rows.items()}
    yield from _scaling_claims(policy, rows, found, exact)
    yield addition("what this ran on", given.note)
    yield _scaling_chart(policy, found, exact)
    yield _deviation_chart(policy, rows)


def _scaling_claims(
    policy: str, rows: dict[int, Rows], found: dict[int, Floats], exact: dict[int, Floats]
) -> Iterator[Finding]:
    sizes = list(rows)
    mean = {
        size: float(values.mean()) if len(values) else float("nan")
        for size, values in found.items()
    }
    share = {size: _share_linked(entries) for size, entries in rows.items()}
    deviation = {size: _deviation(entries) for size, entries in rows.items()}
    wobble = {size: float(values.std()) for size, values in found.items() if len(values)}
    first, last = sizes[0], sizes[-1]
    yield compare(f"{policy}, the correlation strengthens with more agents", "yes",
        _by_size(mean, ".2f"), mean[last] > mean[first],
        "mean rank correlation by number of agents; the paper prints no sizes")  # fmt: skip
    yield compare("the link is weak in small systems", "yes",
        f"significant in {100 * share[first]:.0f} % of populations of {first}", share[first] < 0.5,
        "one-sided at 5 %; weak: in less than half of the populations")  # fmt: skip
    yield compare("in larger systems more contentious jobs have larger penalties", "yes",
        f"significant in {100 * share[last]:.0f} % of populations of {last}", share[last] >= 0.95,
        "in at least 95 %")  # fmt: skip
    yield compare(
        "standard deviations shrink with population size",
        "yes",
        _by_size(deviation, ".2f") + " points",
        deviation[last] < deviation[first] and _falling(deviation),
        "of a job type's mean penalty over populations",
    )
    yield addition("standard deviation of the rank correlation", _by_size(wobble, ".2f"))
    yield addition("which policy the figure shows", policy,
        "caption and text say SMR, the figure's heading SR: -o policy=SR")  # fmt: skip
    proved = {size: float(values.mean()) for size, values in exact.items() if len(values)}
    if proved:
        number = {size: len(values) for size, values in exact.items() if len(values)}
        note = "populations that have one: " + _by_size(number, "d")
        yield addition(f"rank correlation, {UNBLOCKED}", _by_size(proved, ".2f"), note)


def _share_linked(rows: Rows) -> float:
    """Share of the populations in which penalty and demand are significantly linked."""
    hits = []
    for population, pairing in rows:
        assert population.bandwidth is not None
        hits.append(linked(type_penalties(population, pairing), population.bandwidth)[1])
    return float(np.mean(hits))


def _deviation(rows: Rows) -> float:
    """Deviation over populations of types' mean penalties, mean over types [points]."""
    table = np.stack([type_penalties(population, pairing) for population, pairing in rows])
    often = (~np.isnan(table)).sum(axis=0) >= 2
    return float(100 * np.nanstd(table[:, often], axis=0).mean()) if often.any() else 0.0


def _falling(values: dict[int, float]) -> bool:
    """Whether values fall with size on the whole: the least is at or past the middle."""
    sizes = list(values)
    return sizes.index(min(values, key=values.__getitem__)) >= len(sizes) // 2


def _by_size(values: dict[int, float] | dict[int, int], form: str) -> str:
    return ", ".join(f"{size}: {value:{form}}" for size, value in values.items())


def _scaling_chart(policy: str, found: dict[int, Floats], exact: dict[int, Floats]) -> Chart:
    rows, ends = {}, {}
    for name, values in ((policy, found), (UNBLOCKED, exact)):
        kept = {size: entry for size, entry in values.items() if len(entry)}
        if kept:
            rows[name] = {size: float(entry.mean()) for size, entry in kept.items()}
            low, high = (
                [rows[name][size] + sign * float(entry.std()) for size, entry in kept.items()]
                for sign in (-1, 1)
            )
            ends[name] = (low, high)
    return chart("colocation-figure-13",
        "Rank correlation of penalty with demand as populations grow", "agents",
        "Spearman's coefficient", rows, style="line+points", strong=[UNBLOCKED], ends=ends,
        x_scale="log", note="intervals: one standard deviation over populations")  # fmt: skip


def _deviation_chart(policy: str, rows: dict[int, Rows]) -> Chart:
    value = {size: _deviation(entries) for size, entries in rows.items()}
    return chart("colocation-figure-13-deviation",
        "How much a job type's penalty varies from population to population", "agents",
        "standard deviation of mean penalty [points]", {policy: value}, style="line+points",
        x_scale="log")  # fmt: skip
