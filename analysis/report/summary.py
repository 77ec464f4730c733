"""Sentences on a comparison: the best method, the distance of the others, and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..metric import Metric
from ..run.rows import Line
from . import aggregate
from .aggregate import Score
from .tables import away_from

_MOST_NAMES = 4
"""Methods named that share an end of the list; those that reach the bound are all named."""

_MOST_REASONS = 3
"""Reasons of failures that are given in words; the table of failures has all."""


def problem_sentences(lines: Sequence[Line], metrics: Sequence[Metric]) -> Iterator[str]:
    """Sentences about the comparison on one problem.

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
    what = ", ".join(
        [_count(instances, "instance"), _count(len(scores), "method"), _count(runs, "run")]
    )
    yield f"{what}; {failed or 'none'} of them failed."
    for metric in metrics:
        if metric.sense and any(metric.name in score.gaps for score in scores):
            yield _gap_sentence(metric, scores, lines, instances)
    yield from _reasons(lines)


def _gap_sentence(
    metric: Metric, scores: Sequence[Score], lines: Sequence[Line], instances: int
) -> str:
    """Sentence on methods that reach a metric's proved bound or come closest, and the farthest."""
    in_units = aggregate.in_units(lines, metric.name)
    means = {score.method: score.gaps[metric.name] for score in scores if metric.name in score.gaps}
    known = {method: mean.value for method, mean in means.items() if mean.value is not None}
    at = [method for method, value in known.items() if value <= aggregate.WIN_TOLERANCE]
    others = {method: value for method, value in known.items() if method not in at}
    bounded = len(
        aggregate.instance_keys([line for line in lines if metric.name in line["bounds"]])
    )
    where = (
        "" if instances == 1 else f" on every instance {'it' if len(at) == 1 else 'each'} answered"
    )
    label = metric.label[:1].upper() + metric.label[1:]
    sentence = (f"{label}: {_names(at)} {'reaches' if len(at) == 1 else 'reach'} the best proved "
           f"bound{where}") if at else (
        f"{label}: nobody reaches the best proved bound"
    )  # fmt: skip
    if not others:
        return f"{sentence}."

    def far(value: float) -> str:
        return away_from("it", value, metric, in_units)

    def some(end: float) -> tuple[str, str, str]:
        """Methods with the same printed gap as one end: names, verb, and number of instances."""
        several = [method for method, value in others.items() if far(value) == far(end)]
        fewer = {means[method].count for method in several}
        over = (
            f" over {fewer.pop()} of {bounded} instances"
            if len(fewer) == 1 and max(fewer) < bounded
            else ""
        )
        return _names(several, _MOST_NAMES), "is" if len(several) == 1 else "are", over

    near, last = min(others.values()), max(others.values())
    (best, verb, over), (worst, _, worst_over) = some(near), some(last)
    mean = "" if instances == 1 else " in the mean"
    if far(near) == far(last):
        all_of = "all " if len(others) > 1 and not at else ""
        return f"{sentence}; {best} {verb} {all_of}{far(near)}{mean}{over}."
    of = "of the others " if at else ""
    return (
        f"{sentence}; {of}{best} {verb} closest ({far(near)}{mean}{over}), {worst} farthest "
        f"({far(last)}{worst_over})."
    )


def _reasons(lines: Sequence[Line]) -> Iterator[str]:
    reasons: Counter[str] = Counter()
    methods: dict[str, list[str]] = {}
    for line in lines:
        for error, times in line["errors"].items():
            reasons[error] += times
            methods.setdefault(error, []).append(aggregate.label(line))
    for error, count in reasons.most_common(_MOST_REASONS):
        yield (
            f"Failed {_count(count, 'time')} "
            f"({_names(list(dict.fromkeys(methods[error])))}): {error}"
        )
    if len(reasons) > _MOST_REASONS:
        yield (
            f"{len(reasons) - _MOST_REASONS} more reasons of failures are in the table of failures."
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _names(names: Sequence[str], most: int | None = None) -> str:
    if most is not None and len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
