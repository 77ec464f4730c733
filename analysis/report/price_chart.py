"""Map of efficiency against fairness: the proved frontier as a line, each policy a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from ...instances.problem.option_types import validate_options
from ...solvers.outcome import Status, Stop
from ..frontier import PriceFrontier, PricePoint
from ..metric import Metric
from ..run.rows import Line
from .aggregate import label
from .picture import Chart, Series, Style

_SQUEEZED = 1000.0
"""A metric that counts and reaches beyond this has an axis logarithmic but around 0."""


@validate_options
def price_chart(
    frontier: PriceFrontier,
    lines: Sequence[Line],
    metrics: Mapping[str, Metric],
    name: str,
    title: str,
) -> Chart:
    """Chart of one frontier with the policies as points.

    Two staircases: what is proved (nothing beyond it is possible) and what was found (it holds
    until the next answer, which is more efficient and less fair). They meet in the proved points;
    between them nobody knows, unless a method stands there.

    Parameters
    ----------
    frontier : of one instance.
    lines : of the same instance, from `Comparison.summary`: each a point at its mean over seeds.
    metrics : of the problem, by name.
    name, title : of the chart.
    """
    fair, efficient = metrics[frontier.fairness], metrics[frontier.efficiency]
    points = [  # 1. Points of the methods.
        (label(line), x, y, line)
        for line in lines
        if (x := line["metrics"].get(fair.name)) is not None
        and (y := line["metrics"].get(efficient.name)) is not None
    ]
    sign = _direction(frontier, fair)
    found = _found(frontier.points, sign, efficient)  # 2. Points of the frontier.
    proved = [
        point
        for point in frontier.points
        if point.status is Status.OPTIMAL and point.value is not None
    ]
    across = [point[1] for point in points] + [x for x, _ in found]
    tips = [
        f"{method}: {fair.label} {x:.6g}, {efficient.label} {y:.6g}, mean of {_runs(line)}"
        for method, x, y, line in points
    ]
    named = _together(  # 3. All series of the chart.
        [(x, y, method, tip) for (method, x, y, _), tip in zip(points, tips, strict=True)]
    )
    bounds = _bounds(frontier.points, sign, efficient, across)
    best = [(_across(point), point.value) for point in proved]
    at: Sequence[tuple[Any, ...]] = [*zip(*named, strict=True)] or [()] * 4
    series = (
        _series("proved: nothing better is possible", bounds, "step", strong=True),
        _series("found", found, "step+points"),
        _series("found and proved best", best, "points", strong=True),
        *(
            _series(f"{kind}: found", _found(others, sign, efficient), "step+points")
            for kind, others in frontier.beside
        ),
        Series("methods, mean over seeds", at[0], at[1], "points", at[2], at[3]),
    )
    shown = {method for method, *_ in points}
    missing = [line for line in lines if label(line) not in shown]
    wide = fair.digits == 0 and across and max(map(abs, across)) > _SQUEEZED
    return Chart(
        name, title, _axis(fair), _axis(efficient), tuple(entry for entry in series if entry.x),
        _alt(fair, efficient, proved, points), x_scale="symlog" if wide else "linear",
        note=_note(frontier, fair, sign, len(proved), lines, missing),
    )  # fmt: skip


def _direction(frontier: PriceFrontier, fair: Metric) -> int:
    """Direction of the limits on fairness, by the metric or by the order of the points: 1 for upper
    limits, -1 for lower ones.
    """
    if fair.sense:
        return -1 if fair.sense == "max" else 1
    known = [
        x
        for point in frontier.points
        if (x := point.limit if point.limit is not None else point.reached) is not None
    ]
    return -1 if known and known[0] > known[-1] else 1  # the tightest comes first


def _together(
    points: Sequence[tuple[float, float, str, str]],
) -> list[tuple[float, float, str, str]]:
    """Merge points that coincide into one with all their names, three names on a line of text."""
    groups: dict[tuple[str, str], list[tuple[float, float, str, str]]] = {}
    for point in points:
        groups.setdefault((f"{point[0]:.9g}", f"{point[1]:.9g}"), []).append(point)
    found = []
    for several in groups.values():
        names = [name for _, _, name, _ in several]
        lines = [", ".join(names[start : start + 3]) for start in range(0, len(names), 3)]
        tips = "; ".join(tip for _, _, _, tip in several)
        found.append((*several[0][:2], ",\n".join(lines), tips))
    return found


def _found(
    points: Sequence[PricePoint], x_sign: int, efficient: Metric
) -> list[tuple[float, float]]:
    """Pairs (fairness reached, value) of the answers that are not dominated, the fairest first."""
    answers = [(_across(point), point.value) for point in points if point.value is not None]
    known = [(x, y) for x, y in answers if x is not None and y is not None]
    y_sign = -1 if efficient.sense == "max" else 1
    kept: list[tuple[float, float]] = []
    for x, y in sorted(known, key=lambda answer: (x_sign * answer[0], y_sign * answer[1])):
        if not kept or y_sign * y < y_sign * kept[-1][1]:
            kept.append((x, y))
    return kept


def _bounds(
    points: Sequence[PricePoint], sign: int, efficient: Metric, across: Sequence[float]
) -> list[tuple[float, float]]:
    """Pairs (limit, bound) of a frontier, the loosest first: a bound holds at its limit and at
    every tighter one, until a better one does.

    A bound without a limit is drawn from the least fair thing on the map, the tightest one up to
    the fairest.
    """
    limits = [
        (point.limit, point.bound)
        for point in points
        if point.limit is not None and point.bound is not None
    ]
    found = sorted(limits, key=lambda place: -sign * place[0])
    places = [sign * x for x in (*across, *(x for x, _ in found))]
    free = [point.bound for point in points if point.limit is None and point.bound is not None]
    drawn = [(sign * max(places), bound) for bound in free if places] + found
    if drawn and min(places) < sign * drawn[-1][0]:
        drawn.append((sign * min(places), drawn[-1][1]))
    # a looser limit's bound may be the better one
    better = min if efficient.sense == "max" else max
    return list(
        zip((x for x, _ in drawn), accumulate((bound for _, bound in drawn), better), strict=True)
    )


def _across(point: PricePoint) -> float | None:
    """Fairness that an answer reaches, which may be better than the limit it was found for."""
    return (
        None if point.value is None else point.reached if point.reached is not None else point.limit
    )


def _series(
    name: str,
    points: Sequence[tuple[float | None, float | None]],
    style: Style,
    strong: bool = False,
) -> Series:
    known = [(x, y) for x, y in points if x is not None]
    tips = tuple(f"{name}: {x:.6g}, {y:.6g}" for x, y in known)
    x, y = zip(*known, strict=True) if known else ((), ())
    return Series(name, x, y, style, tips=tips, strong=strong)


def _axis(metric: Metric) -> str:
    unit = f" [{metric.unit}]" if metric.unit else ""
    better = {"min": " (less is better)", "max": " (more is better)"}.get(metric.sense, "")
    return f"{metric.label}{unit}{better}"


def _runs(line: Line) -> str:
    done = line["runs"] - line["failed"]
    return "1 run" if done == 1 else f"{done} runs"


def _alt(
    fair: Metric, efficient: Metric, proved: Sequence[PricePoint], points: Sequence[Sequence[Any]]
) -> str:
    sentence = f"{efficient.label} against {fair.label}."
    if proved:
        first, last = proved[0], proved[-1]
        sentence += (
            f" Proved best: {efficient.label} {_four(first.value)} at {fair.label} "
            f"{_four(_across(first))} (the tightest limit)"
        )
        sentence += f", {_four(last.value)} at {_four(_across(last))} (the loosest)."
    where = ", ".join(f"{method} at {_four(x)}, {_four(y)}" for method, x, y, _ in points)
    return sentence + f" Methods: {where or 'none'}."


def _four(value: float | None) -> str:
    """Number with four digits, or all digits of a large one, without powers of ten."""
    if value is None:
        return "none"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def _note(
    frontier: PriceFrontier,
    fair: Metric,
    sign: int,
    proved: int,
    lines: Sequence[Line],
    missing: Sequence[Line],
) -> str:
    total = len(frontier.points)
    impossible = [p for p in frontier.points if p.status is Status.INFEASIBLE]
    silent = sum(
        p.value is None and p.bound is None and p.status is not Status.INFEASIBLE
        for p in frontier.points
    )
    sentences = [
        f"{proved} of {total} points of the frontier are proved; between the two lines nobody "
        "knows what is possible, but for what a method reaches there."
    ]
    if silent:
        sentences.append(f"For {silent} nothing was found or ruled out in time.")
    for point in impossible:
        side = "at least" if sign < 0 else "at most"
        sentences.append(
            f"Proved impossible: {fair.label} "
            f"{'any' if point.limit is None else f'{side} {point.limit:g}'}."
        )
    if any(line["runs"] - line["failed"] > 1 for line in lines):
        sentences.append(
            "A mean over several seeds may stand beyond the line, where no single answer can."
        )
    if frontier.stop is Stop.INTERRUPTED:
        sentences.append("The search was interrupted: points are missing.")
    if missing:
        sentences.append(
            "Not on the map, without an answer that has both metrics: "
            f"{', '.join(map(label, missing))}."
        )
    return " ".join([*sentences, frontier.note[:1].upper() + frontier.note[1:]]).strip()
