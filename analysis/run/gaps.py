"""Gaps of a comparison's rows against the best proved bound of each instance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from inspect import Signature, signature
from operator import itemgetter
from statistics import stdev
from typing import TYPE_CHECKING, Any

from ...instances.problem.text import html_facts
from ...solvers.outcome import agree
from ..metric import Metric
from ..registry import analysis_of
from .rows import Line, Row

if TYPE_CHECKING:
    import pandas


InstanceKey = tuple[str, str, str]
"""What tells instances apart in tables: problem, name, and fingerprint of the content."""


def instance_key(row: Row | Line) -> InstanceKey:
    """Key of the instance of a row or of a line of a summary."""
    return row["problem"], row["instance"], row["fingerprint"]


def metric_table(problem: str, rows: Iterable[Row | Line]) -> tuple[Metric, ...]:
    """Metrics of a problem together with the user's own metrics in the rows."""
    own = {name: sense for row in rows for name, sense in row.get("own_metrics", {}).items()}
    named = (Metric(name, name.replace("_", " "), sense) for name, sense in own.items())
    return (*analysis_of(problem).metric_table, *named)


SHOWN = 20
"""Runs that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The rows of a comparison, and the tables made of them.

    Attributes
    ----------
    rows : one for each run, in the order of the tables.
    interrupted : whether Ctrl-C ended it.
    reused : how many rows were taken from the file `out` instead of being run.
    """

    rows: list[Row] = field(default_factory=list)
    interrupted: bool = False
    reused: int = 0

    def __repr__(self) -> str:
        items = (f"{key} {value}" for key, value in self._repr_items().items())
        return f"Comparison({', '.join(items)})"

    def _repr_html_(self) -> str:
        """HTML for a notebook: number of runs, and the table of the first of them."""
        return html_facts("Comparison", self._repr_items()) + self.table.head(SHOWN).to_html()

    def _repr_items(self) -> dict[str, int]:
        runs = self.runs
        return {
            "runs": len(runs),
            "instances": len({instance_key(row) for row in runs}),
            "methods": len({row["method"] for row in runs}),
            "failed": sum(bool(row.get("error")) for row in runs),
            **({"reused": self.reused} if self.reused else {}),
        }

    @property
    def runs(self) -> list[Row]:
        """The rows of methods, without those of frontiers."""
        return [row for row in self.rows if row.get("kind", "run") == "run"]

    @property
    def frontiers(self) -> list[Row]:
        """The rows of frontiers, of kind "frontier"."""
        return [row for row in self.rows if row.get("kind") == "frontier"]

    @property
    def table(self) -> pandas.DataFrame:
        """One line per run: names, seed, status, the method's objective with its own bound and gap,
        each metric, and the gap and difference of each objective to the best proved bound.

        The columns do not depend on what was found: NaN is a value that there is not, such as the
        gap to a bound of 0, None a text.
        """
        import pandas

        texts = "problem instance fingerprint method seed predict status stop objective_name"
        aims = {row["objective_name"]: 0 for row in self.runs if row.get("objective_name")}
        for row in self.runs:
            if row.get("tolerance") is not None:  # an equilibrium's error is no gap
                aims.pop(row.get("objective_name"), None)
        problems = dict.fromkeys(row["problem"] for row in self.runs)
        measured = [one.name for each in problems for one in analysis_of(each).metric_table]
        measured += [f"{kind}_{aim}" for kind in ("gap", "difference") for aim in aims]
        missing = dict.fromkeys(measured, math.nan)
        flat = []
        for row in with_gaps(self.runs):
            words = {name: row.get(name) for name in texts.split()}
            found: dict[str, Any] = {name: row.get(name) for name in ("objective", "bound", "gap")}
            found |= {**missing, **row["metrics"], **row["gaps"], **row["differences"]}
            found["seconds"] = row.get("seconds")
            numbers = {name: math.nan if it is None else it for name, it in found.items()}
            broken = ", ".join(row.get("broken", {})) or None
            flat.append({**words, **numbers, "error": row.get("error"), "broken": broken})
        numbers_of = ("objective", "bound", "gap", *missing, "seconds")
        columns = None if flat else [*texts.split(), *numbers_of, "error", "broken"]
        return pandas.DataFrame(flat, columns=columns)

    def summary(self) -> list[Line]:
        """Lines of the summary, one per problem, instance, method and predicted share: means over
        the seeds with an answer, and the number of failed seeds.

        A mean is None when a seed has no such value: a mean over the others would be of other runs
        than its neighbors. The lines are worked out once: later rows are not in them.
        """
        return self._lines

    @cached_property
    def _lines(self) -> list[Line]:
        groups: dict[tuple[Any, ...], list[Row]] = {}  # 1. Rows of each line.
        for row in with_gaps(self.runs):
            key = (*instance_key(row), row["method"], row.get("predict"))
            groups.setdefault(key, []).append(row)
        result: list[Line] = []
        for (problem, instance, mark, method, predict), rows in groups.items():
            # an instance proved infeasible is no failure
            done = [row for row in rows if not row.get("error")]
            answered = [row for row in done if row["metrics"]]
            line: Line = {  # 2. Names and counts.
                "problem": problem,
                "instance": instance,
                "fingerprint": mark,
                "method": method,
                "runs": len(rows),
                "failed": len(rows) - len(done),
                "unanswered": len(done) - len(answered),
            }
            line["predict"] = predict
            line["status"] = (
                "+".join(sorted({row["status"] for row in rows if row.get("status")})) or "error"
            )
            line["levels"] = done[0].get("levels", []) if done else []
            line["objective_name"] = next(
                (row["objective_name"] for row in done if row.get("objective_name")), None
            )
            line["own_gap"] = _mean([row.get("gap") for row in done])
            standings = [(row.get("proof") or {}).get("proof_status", "claimed") for row in done]
            order = ("claimed", "partly", "certified")  # 3. Proofs and misreports.
            weaker = [text for row in done if (text := (row.get("proof") or {}).get("weaker"))]
            line["proof"] = {
                "proof_status": min(standings, key=order.index, default="claimed"),
                "weaker": weaker[0] if weaker else "",
            }
            gains = [row["manipulation"] for row in done if "gain" in row.get("manipulation", {})]
            if gains:
                best, mosts = max(gains, key=itemgetter("gain")), [g["gain_at_most"] for g in gains]
                exact = len(gains) == len(done) and all(g["status"] == "exact" for g in gains)
                known = len(gains) == len(done) and None not in mosts
                line["manipulation"] = {
                    **best, "gain_at_most": max(mosts) if known else None,
                    "status": "exact" if exact else "at least",
                }  # fmt: skip
            line["equilibrium"] = any(row.get("tolerance") is not None for row in done)
            line["bounds"], line["scales"] = rows[0]["bounds"], rows[0]["scales"]
            line["metrics"] = _means([row["metrics"] for row in answered])
            line["gaps"] = _means([row["gaps"] for row in answered])
            line["differences"] = _means([row["differences"] for row in answered])
            line["spreads"] = {  # 4. Spread and seconds.
                name: _spread([row["metrics"].get(name) for row in answered])
                for name in line["metrics"]
            }
            line["seconds"] = _mean([row["seconds"] for row in done])
            line["errors"] = dict(
                sorted(Counter(error for row in rows if (error := row.get("error"))).items())
            )
            for row in rows:
                line["own_metrics"] = line.get("own_metrics", {}) | row.get("own_metrics", {})
                if "broken" in row:
                    line["broken"] = line.get("broken", {}) | row["broken"]
            result.append(line)
        return result


def gap_to(
    metric: Metric, value: float | None, bound: float | None, scale: float = 1.0
) -> float | None:
    """Gap between a metric's value and a proved bound on it, as a fraction of the bound.

    |value - bound| / |bound| when the value is on the worse side of the bound, 0 when they `agree`
    (`scale` is the metric's on the instance). A value better than the bound is negative: the bound
    was proved for another objective's constraints, or is wrong. None where the bound is 0, of which
    nothing is a fraction: there `difference_to` tells.
    """
    excess = difference_to(metric, value, bound, scale)
    if not excess:
        return excess
    assert bound is not None
    return None if agree(bound, 0.0, scale) else excess / abs(bound)


def difference_to(
    metric: Metric, value: float | None, bound: float | None, scale: float = 1.0
) -> float | None:
    """Distance of a value from a proved bound on the worse side, in its unit; 0 if they `agree`."""
    if value is None or bound is None or metric.sense == "":
        return None
    excess = value - bound if metric.sense == "min" else bound - value
    return 0.0 if agree(value, bound, scale) else excess


def with_gaps(rows: Iterable[Row]) -> list[Row]:
    """Rows with `bounds` (the best proved on the same instance by any method, by metric), their
    `scales`, `gaps` and `differences`.

    Rows of predicted penalties are judged against bounds of the true instance.
    """
    listed = list(rows)
    tables = {
        row["problem"]: {m.name: m for m in analysis_of(row["problem"]).metric_table}
        for row in listed
    }
    best: dict[tuple[Any, ...], dict[str, float]] = {}  # by group and metric: best bound
    scales: dict[tuple[Any, ...], dict[str, float]] = {}  # by group and metric: scale
    for row in listed:
        name, bound = row.get("objective_name"), row.get("bound")
        if (
            name is None
            or bound is None
            or row.get("predict") is not None
            or row.get("tolerance") is not None
        ):
            continue  # the error of an equilibrium is no gap to an optimum
        bounds = best.setdefault(_judged_together(row), {})
        scales.setdefault(_judged_together(row), {})[name] = row.get("scale", 1.0)
        sense = tables[row["problem"]][name].sense
        bounds[name] = (
            bound if name not in bounds else (max if sense == "min" else min)(bounds[name], bound)
        )
    result = []
    for row in listed:
        metrics = tables[row["problem"]]
        bounds, scale = best.get(_judged_together(row), {}), scales.get(_judged_together(row), {})
        gaps = {
            f"gap_{name}": gap_to(metrics[name], row["metrics"].get(name), bound, scale[name])
            for name, bound in bounds.items()
        }
        differences = {
            f"difference_{name}": difference_to(
                metrics[name], row["metrics"].get(name), bound, scale[name]
            )
            for name, bound in bounds.items()
        }
        row = row | {"bounds": bounds, "scales": scale, "gaps": gaps}
        result.append(row | {"differences": differences})
    return result


def reading(row: Row) -> dict[str, Any]:
    """Options that define a run's metrics, with defaults; other options make other quantities."""
    options = row.get("options") or {}
    parameters = _signature(row["problem"]).parameters.values()
    printed = {
        entry.name: options.get(entry.name, entry.default)
        for entry in parameters
        if entry.kind is entry.KEYWORD_ONLY
    }
    # 0 and 0.0 are one alpha: rows are distinguished by what is written of it.
    return {name: float(value) if type(value) is int else value for name, value in printed.items()}


@cache
def _signature(problem: str) -> Signature:
    return signature(analysis_of(problem).metrics)


def _judged_together(row: Row) -> tuple[Any, ...]:
    """Key of rows whose metrics are the same quantities, so that they share bounds."""
    return (row["problem"], row["fingerprint"], repr(reading(row)))


def _means(rows: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    return {
        name: _mean([row.get(name) for row in rows])
        for name in dict.fromkeys(name for row in rows for name in row)
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _spread(values: Sequence[float | None]) -> float | None:
    """Sample standard deviation of two or more values; None of fewer."""
    known = [value for value in values if value is not None]
    return stdev(known) if len(known) > 1 and len(known) == len(values) else None
