"""Metrics and rules of the user: functions that judge the answers of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, get_type_hints

from ...instances.problem.base import Instance
from ...instances.problem.errors import InvalidOption
from ..registry import analysis_of
from .result import Result
from .rows import Row

Functions = Sequence[Callable[..., Any]]


@dataclass(frozen=True)
class Measures:
    """Metrics and rules of the user, which judge answers.

    Attributes
    ----------
    metrics : each f(instance, result) -> number, annotated as `sense_of` reads it.
    rules : each f(instance, answer) -> None, or a text of what the answer breaks. A rule only
        excludes answers, so that a bound on the instance holds with it too.
    """

    metrics: Functions = ()
    rules: Functions = ()

    @property
    def names(self) -> list[str]:
        """Options that name the user's functions: "metric module:function", "rule ..."."""
        several = [("metric", each) for each in self.metrics]
        several += [("rule", each) for each in self.rules]
        return [f"{kind} {each.__module__}:{own_name(each)}" for kind, each in several]

    def document(self) -> Row:
        """Fields about the user's metrics and rules that every row has."""
        senses = {own_name(each): sense_of(each) for each in self.metrics}
        return {"measures": self.names, "own_metrics": senses} if self.names else {}

    def require_good(self, problems: Sequence[str]) -> None:
        """Refuse, before any work, metrics without a direction or with a name in use."""
        known = [metric for name in problems for metric in analysis_of(name).metric_table]
        taken = {name for each in known for name in (each.name, each.label, each.heading)}
        taken |= {*Row.__annotations__}
        for each in (*self.metrics, *self.rules):
            if (name := own_name(each)) in taken:
                raise InvalidOption(f"metrics and rules hold {name!r}, a name in use; rename it")
            taken.add(name)
        for each in self.metrics:
            sense_of(each)

    def judge(self, instance: Instance, result: Result, metrics: Any) -> Row:
        """Metrics of a row with the user's own, and the rules that the answer breaks."""
        if not metrics:
            return {}
        own = {own_name(each): each(instance, result) for each in self.metrics}
        for name, value in own.items():
            if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                raise InvalidOption(f"metric {name!r} is {value!r:.40}; expected a finite number")
        broken = {"broken": broken_rules(instance, result.solution, self.rules)}
        return {"metrics": {**metrics, **own}, **(broken if self.rules else {})}  # type: ignore[typeddict-item]


NO_MEASURES = Measures()


def sense_of(metric: Callable[..., Any]) -> Any:
    """Direction of the user's metric, "min" or "max", from its return annotation such as
    `Annotated[float, "min"]`; raises InvalidOption if there is none.
    """
    try:
        annotation = get_type_hints(metric, include_extras=True).get("return")
    except Exception:  # a name that is only there for type checkers
        annotation = None
    for each in getattr(annotation, "__metadata__", ()):
        if each in ("min", "max"):
            return each
    raise InvalidOption(
        f"metric {own_name(metric)!r} does not say which way is better; expected "
        '-> Annotated[float, "min"], or "max", as what it returns'
    )


def own_name(function: Callable[..., Any]) -> str:
    """Name of a function of the user's own."""
    return str(getattr(function, "__name__", type(function).__name__))


def broken_rules(instance: Instance, solution: Any, rules: Functions) -> dict[str, str]:
    """Messages of the user's rules that a solution breaks, by name; raises InvalidOption for a rule
    that returns neither None nor a text.
    """
    found = {own_name(rule): rule(instance, solution) for rule in rules}
    for name, text in found.items():
        if text is not None and not (isinstance(text, str) and text.strip()):
            raise InvalidOption(
                f"rule {name!r} returned {text!r:.40}; expected None where the answer obeys it, "
                "or a text of what it breaks"
            )
    return {name: text for name, text in found.items() if text is not None}
