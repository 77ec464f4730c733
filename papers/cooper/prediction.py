"""Cooper fig. 12 (thesis 2.16): how well a sample predicts preferences, and if well enough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.colocation.metrics import attribution
from ...analysis.colocation.prediction import Accuracy, accuracy_curve, predicted_instance
from ...analysis.report.picture import Chart, Picture
from ...instances.colocation.instance import Floats
from ...instances.colocation.objective import mean_penalty
from ...instances.colocation.stability import blocking_pairs
from ..charts import chart
from ..registry import Finding, addition, compare
from .populations import Setting, on_setting

PRINTED = {0.25: 0.83, 0.75: 0.95}
"""Share sampled -> share of preferences predicted correctly (section VI.C)."""

WITHIN = 0.03
"""Our accuracy counts as the printed one within three points."""
QUICKLY = 2.0
"""Error falls quickly where it falls at least so many times as fast as where it falls slowly."""
SAME = 1.5
"""Blocking pairs are as many as before up to this factor."""
_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9)


@on_setting(draws=5, fixed=("order",))
def figure_12(given: Setting, *, repeats: int = 30, draws: int) -> Iterator[Finding | Picture]:
    """Share of preferences predicted correctly (eq. 2) against the share of colocations sampled.

    Parameters
    ----------
    repeats : samples drawn for each share; the papers do not say how many.
    agents, draws : of the populations on which stable policies are run on predicted penalties.
    ties, model_seed, matrix, form, bandwidth, gpu : see `populations.setting`.
    """
    curve = accuracy_curve(
        given.base, _SHARES, repeats=repeats, rng=np.random.default_rng(given.seed)
    )
    points = {point.fraction: point for point in curve.points}
    for share, paper in PRINTED.items():
        point = points[share]
        ours = f"{100 * point.mean:.1f} % ± {100 * point.deviation:.1f}"
        note = (
            f"mean and deviation over {repeats} samples of our filter (recommenderlab's "
            "formulas are not in the text)"
        )
        what = f"preferences right with {100 * share:.0f} % sampled"
        yield compare(what, f"{100 * paper:.0f} %", ours, abs(point.mean - paper) <= WITHIN,
            f"{note}; within 3 points")  # fmt: skip
    yield _fall(points)
    yield from _desiderata(given, draws)
    yield addition("what this ran on", given.note)
    yield _accuracy_chart(points, given)


def _fall(points: dict[float, Accuracy]) -> Finding:
    """Section IV.A: error too high at 20 %, falls quickly with 25 %, slowly beyond 30 %."""
    quick = (points[0.25].mean - points[0.2].mean) / 5
    slow = (points[0.5].mean - points[0.3].mean) / 20
    ours = (
        f"{100 * quick:.2f} points of accuracy per point sampled from 20 to 25 %, "
        f"{100 * slow:.2f} from 30 to 50 %"
    )
    holds = quick >= QUICKLY * slow
    return compare("error falls quickly from 20 to 25 % sampled, slowly beyond 30 %", "yes", ours,
        holds, "quickly: twice as fast")  # fmt: skip


def _desiderata(given: Setting, draws: int) -> Iterator[Finding]:
    """Stable policies on penalties predicted from a quarter, judged on the true ones."""
    for name in ("SMR", "SR"):
        table: dict[str, list[tuple[float, float, float]]] = {"known": [], "predicted": []}
        for draw in range(draws):
            truth = given.population(draw)
            guess = predicted_instance(truth, 0.25, np.random.default_rng([given.seed, draw]))
            for what, seen in (("known", truth), ("predicted", guess)):
                pairing = given.paired(name, seen, draw)
                rank = attribution(truth, pairing)
                blocking = blocking_pairs(truth, pairing).count
                table[what].append(
                    (
                        float("nan") if rank is None else rank,
                        float(blocking),
                        mean_penalty(truth, pairing),
                    )
                )
        known, predicted = (np.array(table[what]) for what in ("known", "predicted"))
        yield from _compared(name, known, predicted)


def _compared(name: str, known: Floats, predicted: Floats) -> list[Finding]:
    rank = [
        float(np.nanmean(values[:, 0])) if np.isfinite(values[:, 0]).any() else float("nan")
        for values in (known, predicted)
    ]
    blocking = [float(np.median(values[:, 1])) for values in (known, predicted)]
    penalty = [float(values[:, 2].mean()) for values in (known, predicted)]
    expected = "the same with oracular knowledge and with 25 % sampled"
    fair, stable = rank[1] >= rank[0] - 0.1, blocking[1] <= SAME * max(blocking[0], 1.0)
    return [
        compare(f"{name}, fair attribution (rank correlation)", expected,
            f"{rank[0]:.2f} known, {rank[1]:.2f} predicted", fair,
            "the same: lower by at most 0.1"),
        compare(f"{name}, stability (median blocking pairs)", expected,
            f"{blocking[0]:.0f} known, {blocking[1]:.0f} predicted", stable,
            "the same: at most half as many again; one wrong order counts for every agent of "
            "a type"),
        addition(f"{name}, mean penalty",
            f"{100 * penalty[0]:.2f} % known, {100 * penalty[1]:.2f} % predicted"),
    ]  # fmt: skip


def _accuracy_chart(points: dict[float, Accuracy], given: Setting) -> Chart:
    rows = {
        "ours": {100 * share: 100 * point.mean for share, point in points.items()},
        "printed in the paper": {100 * share: 100 * value for share, value in PRINTED.items()},
    }
    low, high = (
        [100 * (point.mean + sign * point.deviation) for point in points.values()]
        for sign in (-1, 1)
    )
    return chart("colocation-figure-12",
        "Preferences predicted correctly by share of colocations sampled", "sampled [%]",
        "preferences right [%]", rows, style="line+points",
        styles={"printed in the paper": "points"}, ends={"ours": (low, high)},
        note=f"intervals: one standard deviation over samples; {given.note}")  # fmt: skip
