"""Analyses of each problem (metrics, frontiers, pictures, tables), found in its modules by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from ..instances.problem.answer_table import AnswerTable
from ..instances.problem.base import Instance
from ..instances.problem.option_types import validate_options
from ..instances.problem.registry import Problem, problem_named
from .frontier import PriceFrontier
from .metric import Facts, Metric, Stated

Function = Callable[..., Any]
Value = TypeVar("Value")


class Offered(Generic[Value]):
    """Descriptor of `Analysis` that imports an attribute on first use from a module in the
    problem's folder; None for a problem whose module, or its name there, is missing.

    Parameters
    ----------
    places : "module:name" in the folder, the first that is there.
    """

    def __init__(self, *places: str) -> None:
        self._places = places

    def __get__(self, analysis: Analysis, kind: type[Analysis]) -> Value:
        folder = f"{__package__}.{analysis.problem.name}"
        found: Any = None
        for module, _, name in (place.partition(":") for place in self._places):
            try:
                found = found or getattr(import_module(f"{folder}.{module}"), name, None)
            except ModuleNotFoundError as error:
                if error.name != f"{folder}.{module}":  # a library is missing
                    raise
        value: Value = found
        return value


@dataclass(frozen=True)
class Analysis:
    """Analysis of a problem: functions for metrics, and optional ones for frontiers and pictures.

    Attributes
    ----------
    problem : its instances and answers, with `check` and `scale`.
    metric_table : the metrics of the problem, in the order of its tables.
    metrics : f(instance, solution, **options) -> name: value.
    facts : f(stated) -> what of a stored certificate follows from instance, answer and options:
        entries by name, `...` for one that must be there; see `metric.Stated`.
    record : f(instance, solution, **options) -> small JSON values for the report's pictures.
    pictures : f(records) -> the report's pictures.
    answer_picture : f(instance, solution) -> the picture of the answer itself.
    frontiers : f(instance, *, time_limit, **options) -> the proved frontiers of fairness' price.
    predicted : f(instance, share, rng) -> the instance as predicted from a share of it.
    rounds : f(instance, solution, most, **options) -> the AnswerTable of an answer in whole rounds,
        or None where the options ask for none.
    reports : what its agents report and could misreport, a `manipulation.Reports`.
    parts : f(instance) -> what it asks for, in words, and f(indices) -> the instance that asks for
        these alone, None where that always has an answer; for `run.conflict`.
    """

    problem: Problem

    metric_table = Offered[tuple[Metric, ...]]("metrics:METRICS")
    metrics = Offered[Callable[..., dict[str, float]]]("metrics:metrics")
    facts = Offered[Callable[[Stated], Facts] | None]("metrics:facts")
    record = Offered[Function | None]("pictures:record")
    pictures = Offered[Function | None]("pictures:pictures")
    answer_picture = Offered[Function | None]("pictures:answer_picture", "metrics:answer_picture")
    frontiers = Offered[Callable[..., Sequence[PriceFrontier]] | None]("frontier:price_frontiers")
    predicted = Offered[Callable[..., Instance] | None]("prediction:predicted_instance")
    rounds = Offered[Callable[..., AnswerTable | None] | None]("rounds:rounds_table")
    reports = Offered[Any]("metrics:REPORTS", "strategy:REPORTS")
    parts = Offered[Function | None]("metrics:parts")

    @property
    def whole(self) -> frozenset[str]:
        """Names of the metrics whose values are integers."""
        return frozenset(metric.name for metric in self.metric_table if metric.whole)

    @property
    def exact(self) -> frozenset[str]:
        """Names of the metrics whose bounds are compared without tolerance."""
        fractions = (metric.name for metric in self.metric_table if metric.fraction)
        return self.whole.union(fractions)


@validate_options
def analysis_of(problem: str) -> Analysis:
    """Analysis of the named problem; raises UnknownName with similar names."""
    return Analysis(problem_named(problem))
