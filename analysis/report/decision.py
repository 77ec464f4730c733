"""Recommended decision on an instance as text and table, with its distance from the bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...catalog import find
from ...instances.problem.answer_table import AnswerTable
from ...instances.problem.errors import UnknownName
from ...instances.problem.text import sanitize_for_terminal
from ...solvers.outcome import Status, agree
from ..metric import Metric
from ..run.gaps import with_gaps
from ..run.rows import Row
from .commands import run_command
from .table import Table, slug
from .tables import away_from, figure, labeled_answer, percent


@dataclass(frozen=True)
class Decision:
    """Decision recommended on an instance.

    Attributes
    ----------
    sentence : the first part of the answer, how good it is, and the best policy beside it.
    answer : the whole answer with names; None where the row has no table of it.
    """

    sentence: str
    answer: Table | None = None


def decision(rows: Sequence[Row], metrics: Sequence[Metric]) -> Decision | None:
    """Decision on the instance of these rows, by the first metric that a method was run to optimize
    and that has a bound; None where no such row describes its answer.
    """
    answered = [row for row in rows if row.get("answer") and row.get("predict") is None]
    answered = [row for row in answered if not row.get("broken")]
    # first the metrics in which methods can be compared
    for metric in sorted(metrics, key=lambda metric: not metric.sense):
        runs = [row for row in answered if row.get("objective_name") == metric.name]
        runs = [row for row in runs if row["metrics"].get(metric.name) is not None]
        if any(row.get("bound") is not None for row in runs):
            sign = 1.0 if metric.sense == "min" else -1.0
            best = min(
                runs, key=lambda row: (sign * _value(row, metric), row["status"] != "optimal")
            )
            return Decision(_sentence(best, with_gaps(answered), metric), _answer(best))
    return None


def _sentence(best: Row, answered: Sequence[Row], metric: Metric) -> str:
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
    sign = 1.0 if metric.sense == "min" else -1.0
    policy = min(policies, key=lambda row: sign * _value(row, metric))
    if agree(value, _value(policy, metric), best.get("scale", 1.0)):
        return f"{sentence}; {policy['method']} is as good."
    best_policy = f"{policy['method']}, the best of the policies,"
    gap = policy["gaps"].get(f"gap_{metric.name}")
    distance = policy["differences"].get(f"difference_{metric.name}") if gap is None else gap
    if distance is None:  # the error of an equilibrium is no bound
        return f"{sentence}; {best_policy} has {figure(_value(policy, metric), metric)}."
    far = away_from("the best proved bound", distance, metric, gap is None)
    return f"{sentence}; {best_policy} is {far}."


def _answer(row: Row) -> Table | None:
    """Table of a row's answer, with the command that prints the rest if it is truncated."""
    stored = row.get("answer_table")
    if stored is None:
        return None
    found = AnswerTable(
        "", tuple(stored["columns"]), tuple(map(tuple, stored["rows"])), stored["total"]
    )
    table = labeled_answer(found)
    shown = f"{len(found.rows)} of {found.total} rows" if found.left_out else f"{found.total} rows"
    command = run_command(row)
    all_rows = f"; all with {command} --format csv" if found.left_out and command else ""
    return replace(
        table,
        name=slug(f"{row['problem']} {row['instance']} answer"),
        title=f"The whole answer by {row['method']}: {shown}{all_rows}",
    )


def _value(row: Row, metric: Metric) -> float:
    value = row["metrics"][metric.name]
    assert value is not None, "rows without the metric are left out"
    return value


def _is_policy(row: Row) -> bool:
    """Whether the method is a heuristic or policy of the catalog."""
    try:
        return find(row["problem"], row.get("named") or row["method"]).kind == "heuristic"
    except UnknownName:
        return False
