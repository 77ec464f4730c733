"""The findings of a comparison in words: who is best, how far the others are from what is proved, what failed and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from . import aggregate
from .aggregate import Score
from .metric import Metric
from .runs import Row
from .tables import figure, percent

_MOST_REASONS = 3
"""Reasons of failures that are told in words; the table of failures has all."""


def problem_sentences(lines: Sequence[Row], metrics: Sequence[Metric]) -> Iterator[str]:
    """One problem in words.

    Parameters
    ----------
    lines : of one problem, from `Comparison.summary`.
    metrics : of the problem.
    """
    scores = aggregate.scores(lines, metrics)
    instances = len(aggregate.instance_keys(lines))
    runs, failed = sum(score.runs for score in scores), sum(score.failed for score in scores)
    if not lines:
        yield "No method was run."
        return
    what = ", ".join([_count(instances, "instance"), _count(len(scores), "method"), _count(runs, "run")])
    yield f"{what}; {failed or 'none'} of them failed."
    for metric in metrics:
        if metric.sense and any(metric.name in score.gaps for score in scores):
            yield _gap_sentence(metric, scores, aggregate.in_units(lines, metric.name), instances)
    yield from _reasons(lines)


def _gap_sentence(metric: Metric, scores: Sequence[Score], in_units: bool, instances: int) -> str:
    """Who reaches the proved bound on a metric, who comes closest of the others, and who is farthest."""
    means = {score.method: score.gaps[metric.name].value for score in scores if metric.name in score.gaps}
    known = {method: value for method, value in means.items() if value is not None}
    at, others = [m for m, v in known.items() if v <= aggregate.WIN_TOLERANCE], {}
    others = {method: value for method, value in known.items() if method not in at}
    where = "" if instances == 1 else f" on every instance {'it' if len(at) == 1 else 'each'} answered"
    label = metric.label[:1].upper() + metric.label[1:]
    said = f"{label}: {_names(at)} {'reaches' if len(at) == 1 else 'reach'} the best proved bound{where}" if at else (
        f"{label}: nobody reaches the best proved bound"
    )  # fmt: skip
    if not others:
        return f"{said}."

    def far(method: str) -> str:
        value = others[method]
        if in_units:
            return f"{figure(value, metric)} {'above' if metric.sense == 'min' else 'below'} it"
        return f"{percent(value)} from it"

    near, last = min(others, key=lambda m: others[m]), max(others, key=lambda m: others[m])
    mean = "" if instances == 1 else " in the mean"
    if len(others) == 1:
        return f"{said}; {near} is {far(near)}{mean}."
    return f"{said}; {'of the others ' if at else ''}{near} is closest ({far(near)}{mean}), {last} farthest ({far(last)})."


def _reasons(lines: Sequence[Row]) -> Iterator[str]:
    reasons: Counter[str] = Counter()
    methods: dict[str, list[str]] = {}
    for line in lines:
        for error in line["errors"]:
            reasons[error] += line["failed"]
            methods.setdefault(error, []).append(aggregate.label(line))
    for error, count in reasons.most_common(_MOST_REASONS):
        yield f"Failed {_count(count, 'time')} ({_names(list(dict.fromkeys(methods[error])))}): {error}"
    if len(reasons) > _MOST_REASONS:
        yield f"{len(reasons) - _MOST_REASONS} more reasons of failures stand in the table of failures."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
