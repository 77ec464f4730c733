"""The map of what fairness costs: the proved frontier of efficiency against fairness as a line, every policy a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..solvers.outcome import Status
from .aggregate import label
from .metric import Metric
from .picture import Chart, Scale, Series
from .price_map import PriceFrontier, PricePoint
from .runs import Row

_SQUEEZED = 1000.0
"""A metric that counts and reaches beyond this is drawn on a logarithmic axis that is linear around 0."""


def price_chart(frontier: PriceFrontier, lines: Sequence[Row], metrics: Mapping[str, Metric], name: str, title: str) -> Chart:
    """One map.

    The line joins proved points only, and holds each value up to the next: between two limits the best possible lies between
    their values. What was found and not proved is drawn apart, with the bound on what is possible.

    Parameters
    ----------
    frontier : of one instance.
    lines : of the same instance, from `Comparison.summary`: each a point at its mean over seeds.
    metrics : of the problem, by name.
    name, title : of the chart.
    """
    fair, efficient = metrics[frontier.fairness], metrics[frontier.efficiency]
    proved = [(x, p.value) for p in frontier.points if p.status is Status.OPTIMAL and (x := _across(p)) is not None]
    open_points = [p for p in frontier.points if p.status not in (Status.OPTIMAL, Status.INFEASIBLE)]
    found = [(x, p.value) for p in open_points if p.value is not None and (x := _across(p)) is not None]
    bounds = [(x, p.bound) for p in open_points if p.bound is not None and (x := _limit(p)) is not None]
    points = [
        (label(line), line["metrics"][fair.name], line["metrics"][efficient.name], line)
        for line in lines
        if line["metrics"].get(fair.name) is not None and line["metrics"].get(efficient.name) is not None
    ]
    proved.sort(key=lambda point: point[0], reverse=fair.sense == "max")  # the tightest limit first
    series = [_series("best possible, proved", proved, "step+points", True)]
    series.append(_series("found, not proved best", found, "points"))
    series.append(_series("bound: nothing better is possible", bounds, "points"))
    tips = [f"{method}: {fair.label} {x:.6g}, {efficient.label} {y:.6g}, mean of {_runs(line)}" for method, x, y, line in points]
    series.append(
        Series("methods, mean over seeds", _firsts(points, 1), _firsts(points, 2), "points", _firsts(points, 0), tuple(tips))
    )
    across = [x for entry in series for x in entry.x]
    return Chart(
        name=name,
        title=title,
        x_label=_axis(fair),
        y_label=_axis(efficient),
        series=tuple(entry for entry in series if entry.x),
        alt=_alt(fair, efficient, proved, points),
        x_scale=_scale(fair, across),
        note=_note(frontier, fair, len(proved), [line for line in lines if label(line) not in _firsts(points, 0)]),
    )


def _across(point: PricePoint) -> float | None:
    """Where an answer stands: at the fairness it reaches, which its limit only requires."""
    return None if point.value is None else point.reached if point.reached is not None else point.limit


def _limit(point: PricePoint) -> float | None:
    """Where a bound stands: at the limit it was proved for."""
    return point.limit if point.limit is not None else point.reached


def _series(name: str, points: Sequence[tuple[float, float | None]], style: str, strong: bool = False) -> Series:
    tips = tuple(f"{name}: {x:.6g}, {y:.6g}" for x, y in points)
    return Series(name, _firsts(points, 0), _firsts(points, 1), style, tips=tips, strong=strong)  # type: ignore[arg-type]


def _firsts(points: Sequence[Sequence[object]], place: int) -> tuple[object, ...]:
    return tuple(point[place] for point in points)


def _axis(metric: Metric) -> str:
    unit = f" [{metric.unit}]" if metric.unit else ""
    better = {"min": " (less is better)", "max": " (more is better)"}.get(metric.sense, "")
    return f"{metric.label}{unit}{better}"


def _scale(metric: Metric, values: Sequence[float]) -> Scale:
    wide = metric.digits == 0 and values and max(map(abs, values)) > _SQUEEZED
    return "symlog" if wide else "linear"


def _runs(line: Row) -> str:
    done = line["runs"] - line["failed"]
    return "1 run" if done == 1 else f"{done} runs"


def _alt(fair: Metric, efficient: Metric, proved: Sequence[tuple[float, float | None]], points: Sequence[Sequence[object]]) -> str:
    said = f"{efficient.label} against {fair.label}."
    if proved:
        (x0, y0), (x1, y1) = proved[0], proved[-1]
        said += f" The proved frontier goes from {y0:.4g} at {x0:.4g} (most fair) to {y1:.4g} at {x1:.4g} (most efficient)."
    return said + f" Methods: {', '.join(str(point[0]) for point in points) or 'none'}."


def _note(frontier: PriceFrontier, fair: Metric, proved: int, missing: Sequence[Row]) -> str:
    total = len(frontier.points)
    impossible = [p for p in frontier.points if p.status is Status.INFEASIBLE]
    silent = sum(p.value is None and p.bound is None and p.status is not Status.INFEASIBLE for p in frontier.points)
    said = [f"{proved} of {total} points of the frontier are proved; the line holds each value up to the next point."]
    if total - proved - len(impossible) > 0:
        said.append("Where a point is not proved, the best possible lies between what was found and the bound.")
    if silent:
        said.append(f"For {silent} nothing was found or ruled out in time.")
    for point in impossible:
        side = "at least" if fair.sense == "max" else "at most"
        said.append(f"Proved impossible: {fair.label} {side} {point.limit if point.limit is not None else 'any'}.")
    if missing:
        said.append(f"Not on the map, without an answer that has both metrics: {', '.join(map(label, missing))}.")
    return " ".join([*said, frontier.note]).strip()
