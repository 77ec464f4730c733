"""What each problem's analysis offers runs, tables and the report: one `ANALYSIS` a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..instances.problem.answer_table import AnswerTable
from ..instances.problem.base import Instance
from ..instances.problem.option_types import validate_options
from ..instances.problem.registry import problem_named, resolve
from .frontier import PriceFrontier
from .metric import Metric
from .stated import Facts, Stated

Function = Callable[..., Any]


@dataclass(frozen=True)
class Analysis:
    """The functions of a problem's analysis, named by text ("module:function"), resolved on use.

    Only the metrics are a must; None says that a problem has no such thing, and a test that what is
    named is real.

    Attributes
    ----------
    metric_table_at : the metrics of the problem, in the order of its tables.
    metrics_at : f(instance, solution, **options) -> name: value.
    facts_at : f(stated) -> what of a stored certificate follows from instance, answer and options:
        entries by name, `...` for one that must be there; see `stated.Stated`.
    record_at : f(instance, solution, **options) -> small JSON values for the report's pictures.
    pictures_at : f(records) -> the report's pictures.
    answer_picture_at : f(instance, solution) -> the picture of the answer itself.
    frontiers_at : f(instance, *, time_limit, **options) -> the proved frontiers of fairness' price.
    predicted_at : f(instance, share, rng) -> the instance as predicted from a share of it.
    rounds_at : f(instance, solution, most, **options) -> the AnswerTable of an answer in whole
        rounds, or None where the options ask for none.
    reports_at : what its agents report and could misreport, a `manipulation.Reports`.
    """

    metric_table_at: str
    metrics_at: str
    facts_at: str | None = None
    record_at: str | None = None
    pictures_at: str | None = None
    answer_picture_at: str | None = None
    frontiers_at: str | None = None
    predicted_at: str | None = None
    rounds_at: str | None = None
    reports_at: str | None = None

    @classmethod
    def usual(cls, problem: str, **more: str) -> Analysis:
        """That of a problem with everything but `more` in the modules where others have it."""
        return cls(
            metric_table_at=f"analysis.{problem}.metrics:METRICS",
            metrics_at=f"analysis.{problem}.metrics:metrics",
            facts_at=f"analysis.{problem}.metrics:facts",
            record_at=f"analysis.{problem}.pictures:record",
            pictures_at=f"analysis.{problem}.pictures:pictures",
            answer_picture_at=f"analysis.{problem}.pictures:answer_picture",
            frontiers_at=f"analysis.{problem}.frontier:price_frontiers",
            **more,
        )

    @property
    def metric_table(self) -> tuple[Metric, ...]:
        """The problem's metrics, in the order of its tables."""
        table: tuple[Metric, ...] = resolve(self.metric_table_at)
        return table

    @property
    def whole(self) -> frozenset[str]:
        """The metrics that count."""
        return frozenset(metric.name for metric in self.metric_table if metric.whole)

    @property
    def exact(self) -> frozenset[str]:
        """The metrics of which bounds are compared without a tolerance."""
        fractions = (metric.name for metric in self.metric_table if metric.fraction)
        return self.whole.union(fractions)

    @property
    def metrics(self) -> Callable[..., dict[str, float]]:
        """What measures an answer."""
        function: Callable[..., dict[str, float]] = resolve(self.metrics_at)
        return function

    @property
    def facts(self) -> Callable[[Stated], Facts] | None:
        """What computes the entries of a certificate again; None where none are known."""
        return _named(self.facts_at)

    @property
    def record(self) -> Function | None:
        """What keeps of an answer the numbers that pictures need."""
        return _named(self.record_at)

    @property
    def pictures(self) -> Function | None:
        """What draws the report's pictures."""
        return _named(self.pictures_at)

    @property
    def answer_picture(self) -> Function | None:
        """What draws an answer itself."""
        return _named(self.answer_picture_at)

    @property
    def frontiers(self) -> Callable[..., Sequence[PriceFrontier]] | None:
        """What finds the proved frontiers."""
        return _named(self.frontiers_at)

    @property
    def predicted(self) -> Callable[..., Instance] | None:
        """What makes an instance of predicted values."""
        return _named(self.predicted_at)

    @property
    def reports(self) -> Any:
        """What its agents report; None where its methods ask nobody for anything."""
        return None if self.reports_at is None else resolve(self.reports_at)

    @property
    def rounds(self) -> Callable[..., AnswerTable | None] | None:
        """What makes the table of an answer in whole rounds."""
        return _named(self.rounds_at)


@validate_options
def analysis_of(problem: str) -> Analysis:
    """The analysis of the problem called so; raises UnknownName with the near ones."""
    problem_named(problem)
    found = import_module(f".{problem}", __package__).ANALYSIS
    assert isinstance(found, Analysis)
    return found


def _named(path: str | None) -> Function | None:
    function: Function | None = None if path is None else resolve(path)
    return function
