"""Statistics over many instances: shifted geometric means, wins, performance profiles, counts of
proofs and failures.

Everything here works on the lines of `Comparison.summary`: one per instance and method, averaged
over seeds. A method has a value on an instance only if every one of its runs there gave an answer;
otherwise it failed there.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...solvers.outcome import AGREE, agree
from ..metric import Metric, Sense
from ..run.gaps import difference_to
from ..run.rows import Line

SECONDS_SHIFT = 1.0
"""Added to seconds before their logarithms are averaged: 1 and 3 ms then count alike."""
GAP_SHIFT = 0.01
"""Added to gaps (fractions): 1 %."""
EXCESS_SHIFT = 1.0
"""Added to differences from a bound, in the metric's unit, where some bound is 0."""
WIN_TOLERANCE = 1e-6
"""A value within this share of the best, or 1e-9, is as good: solvers have such noise."""

Values = Mapping[str, Sequence[float | None]]
"""Method -> its value on each instance, in one order of instances; None where it failed."""


def shifted_geometric_mean(values: Sequence[float], shift: float) -> float | None:
    """exp(mean(log(max(v, 0) + shift))) - shift: between an arithmetic mean (large shift) and a
    geometric one (small).

    A negative value counts as 0 (a gap below 0 beats a bound that was proved under another
    objective's constraints, which is not worth more than reaching it); whoever prints the mean says
    how many there were.

    Parameters
    ----------
    values : finite numbers; None is returned for none.
    shift : above 0, in the unit of the values.
    """
    if not values:
        return None
    logs = [math.log(max(value, 0.0) + shift) for value in values]
    mean = math.exp(math.fsum(logs) / len(logs)) - shift
    # rounding must not leave the range of the values
    return min(max(mean, max(min(values), 0.0)), max(*values, 0.0))


def reaches(value: float | None, best: float) -> bool:
    """Whether a value is as good as the best one, within the tolerance of solvers."""
    return value is not None and abs(value - best) <= max(AGREE, WIN_TOLERANCE * abs(best))


def best_of(values: Sequence[float | None], sense: Sense) -> float | None:
    """Best value on one instance; None when every method failed."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if sense == "max" else min(known)


def wins(values: Values, sense: Sense) -> dict[str, int]:
    """Number of instances on which each method is best; ties count for all tied methods."""
    found = dict.fromkeys(values, 0)
    for column in _columns(values):
        best = best_of(list(column.values()), sense)
        for method, value in column.items():
            found[method] += best is not None and reaches(value, best)
    return found


def ratio(value: float | None, best: float | None, sense: Sense) -> float:
    """Ratio of a cost to the best of all methods on that instance: infinite for a failure.

    Where the best is 0 or less (or, when more is better, the value is) a ratio says nothing: 1 for
    who reaches the best, infinite for everybody else.
    """
    if value is None or best is None:
        return math.inf
    if reaches(value, best):
        return 1.0
    worse, better = (best, value) if sense == "max" else (value, best)
    return worse / better if better > 0 else math.inf


def has_ratios(values: Values, sense: Sense) -> bool:
    """Whether the best value of some instance is above 0, so that ratios to it are defined."""
    bests = (best_of(list(column.values()), sense) for column in _columns(values))
    return any(best is not None and best > 0 for best in bests)


def profiles(values: Values, sense: Sense) -> dict[str, list[tuple[float, float]]]:
    """Performance profiles: per method, the share of instances within each ratio of the best.

    A step function as its corners (ratio, share), from ratio 1 (the share of wins) to its largest
    finite ratio (the share answered); between corners the share is that of the corner before. Dolan
    and More, Benchmarking optimization software with performance profiles (2002), eq. 2.

    Instances on which every method failed count: nobody answered them.
    """
    columns = _columns(values)
    found: dict[str, list[tuple[float, float]]] = {}
    for method in values:
        ratios = [
            ratio(column[method], best_of(list(column.values()), sense), sense)
            for column in columns
        ]
        corners = sorted({1.0, *(each for each in ratios if math.isfinite(each))})
        ordered = sorted(ratios)
        found[method] = [
            (corner, bisect_right(ordered, corner) / len(ordered)) for corner in corners
        ]
    return found


def proof_profile(seconds: Values) -> dict[str, list[tuple[float, float]]]:
    """For each method, the share of instances proved within each number of seconds."""
    found: dict[str, list[tuple[float, float]]] = {}
    for method, column in seconds.items():
        done = sorted(value for value in column if value is not None)
        found[method] = [(value, (index + 1) / len(column)) for index, value in enumerate(done)]
    return found


@dataclass(frozen=True)
class Mean:
    """Shifted geometric mean (None over nothing), the number of instances that it is over, and the
    number of their values that were below 0 and counted as 0.
    """

    value: float | None
    count: int
    negative: int


@dataclass(frozen=True)
class Score:
    """Aggregate results of one method over all instances of a problem.

    Attributes
    ----------
    method : as tables call it.
    instances : on how many it was run.
    answered : on how many of them every run gave an answer.
    proved : on how many of them every run proved its (first) objective, found its equilibrium,
        or proved that there is no answer.
    equilibrium : whether it is an equilibrium that it finds.
    runs, failed : runs, and those that ended in an error.
    gaps : metric -> mean gap to the best proved bound, as a fraction, or as a difference for the
        metrics of `in_units`.
    seconds : mean over the instances answered.
    """

    method: str
    instances: int
    answered: int
    proved: int
    runs: int
    failed: int
    gaps: Mapping[str, Mean]
    seconds: Mean
    equilibrium: bool = False


def label(line: Line) -> str:
    """Name of a method in tables, with the sampled share if it ran on predicted penalties."""
    share = line.get("predict")
    return line["method"] if share is None else f"{line['method']} ({100 * share:g} % sampled)"


def instance_keys(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """(name, fingerprint) of every instance, in order of first occurrence."""
    return list(dict.fromkeys((line["instance"], line["fingerprint"]) for line in lines))


def whole(line: Line) -> bool:
    """Whether all runs of a method on an instance gave answers that keep the user's rules."""
    lacking = line["failed"] or line["unanswered"] or line.get("broken")
    return bool(line["metrics"]) and not lacking


def values_of(lines: Sequence[Line], metric: str) -> dict[str, list[float | None]]:
    """Values of a metric on every instance, by method, for methods that have any."""
    values = [line["metrics"].get(metric) if whole(line) else None for line in lines]
    return _grid(lines, values, lines)


def proof_seconds(
    lines: Sequence[Line], objective: str | None = None
) -> dict[str, list[float | None]]:
    """Seconds of each method on the instances where all its runs ended with a proof, else None.

    Certified equilibria are no proofs of an optimum and are left out.

    Parameters
    ----------
    objective : only methods that optimize this metric.
    """
    chosen = [
        line
        for line in lines
        if objective in (None, line["objective_name"]) and not line["equilibrium"]
    ]
    return _grid(chosen, [line["seconds"] if _proved(line) else None for line in chosen], lines)


def in_units(lines: Sequence[Line], metric: str) -> bool:
    """Whether the best bound on a metric is 0 for some instance: gaps are then differences."""
    return any(
        metric in line["bounds"] and agree(line["bounds"][metric], 0.0, _scale(line, metric))
        for line in lines
    )


def scores(lines: Sequence[Line], metrics: Sequence[Metric]) -> list[Score]:
    """Aggregate results of every method of one problem, in the order of the methods."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(label(line), []).append(line)
    units = {metric.name: in_units(lines, metric.name) for metric in metrics}
    return [_score(method, own, metrics, units) for method, own in groups.items()]


def _score(
    method: str, lines: Sequence[Line], metrics: Sequence[Metric], units: Mapping[str, bool]
) -> Score:
    """Score of a method from its results on all instances. `units` says of which metrics gaps are
    in the metric's own unit, and not relative.
    """
    good = [line for line in lines if whole(line)]
    gaps: dict[str, Mean] = {}
    for metric in metrics:
        found = [
            difference_to(
                metric, line["metrics"].get(metric.name), line["bounds"].get(metric.name),
                _scale(line, metric.name),
            )
            if units[metric.name]
            else line["gaps"].get(f"gap_{metric.name}")
            for line in good
        ]  # fmt: skip
        known = [value for value in found if value is not None]
        if known:
            gaps[metric.name] = _mean(known, EXCESS_SHIFT if units[metric.name] else GAP_SHIFT)
    return Score(
        method=method,
        instances=len(lines),
        answered=len(good),
        proved=sum(map(_proved, lines)),
        runs=sum(line["runs"] for line in lines),
        failed=sum(line["failed"] for line in lines),
        gaps=gaps,
        seconds=_mean(
            [line["seconds"] for line in good if line["seconds"] is not None], SECONDS_SHIFT
        ),
        equilibrium=any(line["equilibrium"] for line in lines),
    )


def _scale(line: Line, metric: str) -> float:
    scale: float = line.get("scales", {}).get(metric, 1.0)
    return scale


def _mean(values: Sequence[float], shift: float) -> Mean:
    return Mean(
        shifted_geometric_mean(values, shift), len(values), sum(value < 0 for value in values)
    )


def _proved(line: Line) -> bool:
    """Whether every run proved its answer optimal or the instance infeasible."""
    return (
        whole(line)
        if line["status"] == "optimal"
        else line["status"] == "infeasible" and not line["failed"]
    )


def _columns(values: Values) -> list[dict[str, float | None]]:
    """List with a dictionary for each instance: the value of each method on it."""
    size = max(map(len, values.values()), default=0)
    return [{method: row[index] for method, row in values.items()} for index in range(size)]


def _grid(
    lines: Sequence[Line], values: Sequence[float | None], universe: Sequence[Line]
) -> dict[str, list[float | None]]:
    """Values of a metric by method on every instance; methods without any value are left out."""
    places = {key: index for index, key in enumerate(instance_keys(universe))}
    found: dict[str, list[float | None]] = {}
    for line, value in zip(lines, values, strict=True):
        row = found.setdefault(label(line), [None] * len(places))
        row[places[line["instance"], line["fingerprint"]]] = value
    return {method: row for method, row in found.items() if any(value is not None for value in row)}
