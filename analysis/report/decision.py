"""The decision on an instance in words: what to do, how good, how much better than a policy."""

from __future__ import annotations

from collections.abc import Sequence

from ...catalog import find
from ...instances.problem.errors import UnknownName
from ...instances.problem.text import sanitize_for_terminal
from ...solvers.outcome import Status, agree
from ..metric import Metric
from ..run.rows import Row
from .tables import figure, percent


def decision(rows: Sequence[Row], metrics: Sequence[Metric]) -> str:
    """What to do on the instance of these rows, by the first metric that a method was run to
    optimize and that has a bound; "" where no such row has an answer in words.
    """
    answered = [row for row in rows if row.get("answer") and row.get("predict") is None]
    # first the metrics in which methods can be compared
    for metric in sorted(metrics, key=lambda metric: not metric.sense):
        found = [row for row in answered if row.get("objective_name") == metric.name]
        found = [row for row in found if row["metrics"].get(metric.name) is not None]
        if any(row.get("bound") is not None for row in found):
            return _decision_sentence(found, answered, metric)
    return ""


def _decision_sentence(found: Sequence[Row], answered: Sequence[Row], metric: Metric) -> str:
    sign = 1.0 if metric.sense == "min" else -1.0
    best = min(found, key=lambda row: (sign * _value(row, metric), row["status"] != "optimal"))
    value = _value(best, metric)
    words = f"{sanitize_for_terminal(str(best['answer']))}."
    sentence = f"{words[:1].upper()}{words[1:]} That is {metric.label} {figure(value, metric)}"
    bound = best.get("bound")
    if best["status"] == Status.OPTIMAL.value:
        proved = {"min": "the least", "max": "the most"}.get(metric.sense or "", "optimal")
        sentence += f", proved {proved} ({best['method']})"
    elif bound is not None and not agree(bound, 0.0, best.get("scale", 1.0)):
        away = abs(value - bound) / abs(bound)
        sentence += f", at most {percent(away)} from the best possible ({best['method']})"
    else:
        sentence += f" ({best['method']})"
    policies = [
        row for row in answered if _is_policy(row) and row["metrics"].get(metric.name) is not None
    ]
    if not policies or not metric.sense:
        return f"{sentence}."
    policy = min(policies, key=lambda row: sign * _value(row, metric))
    other = _value(policy, metric)
    if agree(value, other, best.get("scale", 1.0)) or not other:
        return f"{sentence}; {policy['method']} is as good."
    share = sign * (other - value) / abs(other)
    return f"{sentence}; {percent(share)} better than {policy['method']}, the best of the policies."


def _value(row: Row, metric: Metric) -> float:
    value = row["metrics"][metric.name]
    assert value is not None, "rows without the metric are left out"
    return value


def _is_policy(row: Row) -> bool:
    """Whether the method is a heuristic or a policy of the catalogue."""
    try:
        return find(row["problem"], row.get("named") or row["method"]).kind == "heuristic"
    except UnknownName:
        return False
