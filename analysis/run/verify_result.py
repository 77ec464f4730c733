"""A stored result judged again: what its instance and its answer do not bear out, and what was not
looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Literal

from ...catalog import Method, find
from ...instances.problem.answer_table import KEPT
from ...instances.problem.base import Instance, to_json_value
from ...instances.problem.errors import (
    CotenantError,
    InfeasibleSolution,
    InvalidFile,
    InvalidOption,
    UnknownName,
)
from ...instances.problem.option_types import option_types_of
from ...instances.problem.options import accepts, check_options
from ...instances.problem.registry import check, scale
from ...solvers.outcome import Status, implies
from ..claim_checks import ClaimChecks, Stored, alike, covered, places, short
from ..registry import Analysis, analysis_of
from .result import Result, fingerprint, proves

REPEATED = 1e-12
"""Sums worked out again on another machine may differ by this fraction of them, or of their scale.
"""

Bound = Literal["re-proved", "not re-proved", "none"]


@dataclass(frozen=True)
class Recheck:
    """What became of a stored result's claims.

    Attributes
    ----------
    broken : what is not borne out, in sentences; empty when all that was looked at is.
    not_looked_at : the claims that nothing here confirms, by their place in the file (of `result`
        without its name).
    bound : whether the bound on the objective was proved again, from the certificate or from the
        instance alone.
    """

    broken: tuple[str, ...]
    not_looked_at: tuple[str, ...]
    bound: Bound

    @property
    def sentence(self) -> str:
        """For people: what became of the bound."""
        return {
            "re-proved": "bound: proved again from the certificate and the instance",
            "not re-proved": "bound: not proved again; it is what the solver said",
            "none": "bound: the result claims none",
        }[self.bound]


def recheck(instance: Instance, result: Result) -> Recheck:
    """Check and measure a stored answer again, and set every claim of its document against that.

    Feasibility, every metric, the objective, the levels' values, that bounds and statuses fit the
    values, and all that follows from them are recomputed from the instance and the solution alone.
    A bound is confirmed where it is proved again from what the certificate holds, or from the
    instance. Every other claim of the document is in `not_looked_at`: what is confirmed has to be
    named by some code, so nothing is confirmed by accident.

    Raises
    ------
    InvalidFile
        The result is of another problem, or something in it is not of its type.
    InvalidOption
        An option that it was made with is unknown, or out of range.
    """
    if result.problem != instance.problem:
        raise InvalidFile(
            f"the result answers a {result.problem} instance; this is a {instance.problem} instance"
        )
    if result.fingerprint and result.fingerprint != fingerprint(instance):
        return Recheck(
            (
                f"the result is of another instance: {result.instance!r} with content "
                f"{result.fingerprint}",
            ),
            (),
            "none",
        )
    try:
        return _ResultVerifier(instance, result).verdict()
    except CotenantError:
        raise
    except (
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        ArithmeticError,
    ) as error:  # something is not of its type
        raise InvalidFile(f"the result cannot be read: {type(error).__name__}: {error}") from None


class _ResultVerifier:
    """The claims of one result, and which of them were looked at."""

    def __init__(self, instance: Instance, result: Result) -> None:
        self.instance, self.result = instance, result
        self.analysis: Analysis = analysis_of(instance.problem)
        self.senses = {metric.name: str(metric.sense) for metric in self.analysis.metric_table}
        self.whole = self.analysis.whole
        self.method = _catalogued(result)
        functions = (
            self.analysis.metrics,
            *([] if self.method is None else [self.method.resolve()]),
        )
        if self.method is not None:
            check_options(functions, result.options, f"method {result.method!r}")
        for function in functions:
            rules = option_types_of(function)
            for name, value in result.options.items():
                if name in rules:
                    rules[name].check(name, value)
        self.defaults = {
            name: entry.default
            for function in functions
            for name, entry in signature(function).parameters.items()
            if entry.default is not entry.empty
        }
        self.broken: list[str] = []
        self.checked: set[str] = set()
        self.found = ClaimChecks()
        self.measured: dict[str, float] = {}
        self.bound: Bound = "none" if result.bound is None else "not re-proved"

    def verdict(self) -> Recheck:
        """Everything that is looked at, one after the other."""
        self._as_written()
        if self.result.solution is not None:
            try:
                check(self.instance, self.result.solution)
            except InfeasibleSolution as error:
                return self._finished(str(error))
        self._names()
        self._described()
        self._measure()
        self._problem()
        if self.result.solution is None:
            self._without_answer()
        else:
            self._first_level()
            self._levels()
        return self._finished()

    def _finished(self, *more: str) -> Recheck:
        document = self.result.stored or self.result.document()
        row = {
            name: value
            for name, value in document["result"].items()
            if name not in ("levels", "versions")
        }
        parts = {name: document[name] for name in ("solution", "certificate") if document[name]}
        claims = [*places(row), "versions", "trace", *places(parts)]
        if document["solution"] is not None and "named" not in document:
            claims.append("named")  # files of older versions have no names to look at
        unseen = tuple(place for place in dict.fromkeys(claims) if not covered(place, self.checked))
        return Recheck((*self.broken, *more), unseen, self.bound)

    def _as_written(self) -> None:
        """The document as it was read must be the one that its own fields make: gaps, levels, and
        what else follows.
        """
        if self.result.stored is None:
            return
        written, made = _by_field(self.result.stored), _by_field(self.result.document())
        for name in dict.fromkeys([*made, *written]):
            if name not in written:
                self.broken.append(f"{name} is missing; a result of this version has it")
            elif name not in made:
                self.broken.append(f"{name} is not a field of a result")
            elif not alike(made[name], written[name]):
                stated, given = short(written[name]), short(made[name])
                self.broken.append(f"{name} is {stated}, but what it follows from gives {given}")

    def _names(self) -> None:
        """Names that have one right value each; of a user's function only the instance's."""
        result, entry = self.result, self.method
        self.checked |= {"problem"} if entry is None else {"problem", "objective_name"}
        self.checked |= {"fingerprint"} if result.fingerprint else set()
        self.checked |= {"instance"} if result.instance == self.instance.name else set()
        if entry is not None and result.objective_name != entry.objective_of(result.options):
            self.broken.append(
                f"objective_name is {result.objective_name!r}; {result.method} has "
                f"{entry.objective_of(result.options)!r}"
            )

    def _described(self) -> None:
        """The answer with names must be the solution's."""
        written = (self.result.stored or {}).get("named")
        made = replace(self.result, given=self.instance).described(KEPT)
        if written is None or made is None:
            return
        for name, value in made.document().items():
            if written.get(name) != value:
                stated, given = short(written.get(name)), short(value)
                self.broken.append(f"named.{name} is {stated}, but the solution gives {given}")

    def _measure(self) -> None:
        """Every metric again, and the objective, which is one of them."""
        result = self.result
        options = {
            name: value
            for name, value in result.options.items()
            if accepts(self.analysis.metrics, name)
        }
        if result.solution is not None:
            self.measured = self.analysis.metrics(self.instance, result.solution, **options)
            if (
                "unmeasured" in result.certificate and not result.metrics
            ):  # interrupted: it claims no values
                objective = self.measured.get(result.objective_name or "")
                self.result = result = replace(result, metrics=self.measured, objective=objective)
        self.checked |= {"metrics", "objective", "scale", "gap", "gap_absolute"}
        for name in dict.fromkeys([*self.measured, *result.metrics]):
            if not self._same(name, self.measured.get(name), result.metrics.get(name)):
                self.broken.append(
                    f"{name} is {self.measured.get(name)}, not {result.metrics.get(name)} as "
                    "claimed"
                )
        name = result.objective_name or ""
        if not self._same(name, objective := self.measured.get(name), result.objective):
            self.broken.append(f"objective is {objective}, not {result.objective} as claimed")
        unit = self._unit(name) if name else 1.0
        if not abs(unit - result.scale) <= REPEATED * unit:
            self.broken.append(
                f"the scale of the objective is {unit}, not {result.scale} as claimed"
            )

    def _problem(self) -> None:
        """What the problem's own claims are worth."""
        result = self.result
        options = self.defaults | dict(result.options)
        certificate = to_json_value(dict(result.certificate))
        method = "" if self.method is None else self.method.name
        stored = Stored(
            method,
            result.solution,
            certificate,
            options,
            result.objective_name,
            result.bound,
            result.status,
        )
        if self.analysis.claims is not None:
            self.found = self.analysis.claims(self.instance, stored)
        self.broken += self.found.broken
        self.senses |= self.found.senses
        self.checked |= {f"certificate.{place}" for place in self.found.checked}
        if result.solution is not None:
            fields = result.solution.document()
            self.checked |= {f"solution.{name}" for name in fields if name not in self.found.unseen}

    def _without_answer(self) -> None:
        """A result that has no answer says that there is none, or that it knows of none."""
        status = self.result.status
        if status not in (Status.INFEASIBLE, Status.UNKNOWN):
            self.broken.append(f"status {status.value} without a solution")
        elif status is Status.UNKNOWN:
            self.checked.add("status")
        elif self.found.impossible is False:
            self.broken.append("status infeasible, but there is an answer")
        elif self.found.impossible:
            self.checked.add("status")
        if status is Status.INFEASIBLE and self.result.bound is not None:
            self.broken.append(f"a bound of {self.result.bound} on answers that there are none of")
        self._tolerance(None if self.method is None else self.method.kind)
        self._bounded()

    def _first_level(self) -> None:
        """The objective's bound and the status, by the kind of method that claims them."""
        result, kind = self.result, None if self.method is None else self.method.kind
        status, bound, tolerance = result.status, result.bound, result.outcome.tolerance
        name = result.objective_name
        if status is Status.INFEASIBLE:
            self.broken.append("status infeasible, with a solution")
        elif (
            status is Status.UNKNOWN
            and "contradiction" not in result.certificate
            and kind is not None
        ):
            self.broken.append("status unknown, with a solution")
        if kind in ("heuristic", "simulation") and (bound is not None or status is Status.OPTIMAL):
            self.broken.append(
                f"{result.method} is a {kind}: it proves no bound and nothing optimal"
            )
        self._tolerance(kind)
        stated = "unmeasured" not in result.certificate
        value = self.measured.get(name or "")
        self.broken += _contradictions(
            name, value, bound, status, self.senses, result.scale, tolerance, stated=stated
        )
        self._bounded()
        if bound is None or self.bound == "re-proved":
            self.checked.add("status")

    def _tolerance(self, kind: str | None) -> None:
        """Only an equilibrium counts as one within a tolerance, and that is the one its certificate
        and options name.
        """
        result = self.result
        tolerance, stated = result.outcome.tolerance, result.certificate.get("tolerance")
        if kind is None:  # a user's function
            return
        self.checked.add("tolerance")
        if tolerance is not None and (kind != "equilibrium" or tolerance != stated):
            self.broken.append(f"tolerance is {tolerance}; " + (
                f"the certificate's is {stated}" if kind == "equilibrium"
                else f"{result.method} is not a method of equilibria and has none"
            ))  # fmt: skip
        elif tolerance is None and kind == "equilibrium" and result.bound is not None:
            self.broken.append(
                "a bound on an equilibrium's error without the tolerance that it was met at"
            )
        elif tolerance is not None and result.bound != 0:
            self.broken.append(
                f"the bound on an equilibrium's error is {result.bound}; it is 0, or there is none"
            )

    def _bounded(self) -> None:
        """Whether the bound was proved again."""
        name, bound = self.result.objective_name, self.result.bound
        if bound is None:
            self.checked.add("bound")
        elif (
            name is not None
            and (name in self.measured or self.result.solution is None)
            and self._proved(name, bound, name)
        ):
            self.bound = "re-proved"
            self.checked.add("bound")

    def _levels(self) -> None:
        """The levels of a lexicographic method: values that are metrics, and bounds as of the
        objective.
        """
        levels, first = self.result.certificate.get("levels", []), True
        for number, level in enumerate(levels):
            place = f"levels[{number}]"
            name = level["objective"]
            value = level["value"]
            bound = level["bound"]
            status = level["status"]
            if (
                number == 0
                and name == self.result.objective_name
                and "withdrawn" not in self.result.certificate
                and self.result.status is not Status.UNKNOWN
                and not self._same(name, bound, self.result.bound)
            ):
                self.broken.append(
                    f"level {name} has the bound {bound}; the result has {self.result.bound}"
                )
            if name not in self.measured:  # only the problem's own code knows what it is
                continue
            unit = self._unit(name)
            looked = {"objective", "value"}
            if not self._same(name, self.measured[name], value):
                self.broken.append(f"level {name} is {self.measured[name]}, not {value} as claimed")
            elif bound is not None or status == Status.OPTIMAL:
                self.broken += _contradictions(
                    name,
                    self.measured[name],
                    bound,
                    Status(status),
                    self.senses,
                    unit,
                    None,
                    stated=first,
                )
            if bound is None or self._proved(name, bound, place) or self._proved(name, bound, name):
                looked |= {"bound", "status"}
            if status not in (Status.OPTIMAL, Status.FEASIBLE):
                self.broken.append(f"level {name} is {status}, with an answer")
            first = first and status == Status.OPTIMAL
            self.checked |= {f"certificate.{place}.{entry}" for entry in looked}
        self.checked |= set() if levels else {"certificate.levels"}

    def _proved(self, name: str, bound: float, key: str) -> bool:
        """Whether what was proved again is at least as strong as a bound claimed."""
        proved = self.found.bounds.get(key)
        if proved is None or self.senses.get(name) not in ("min", "max"):
            return False
        return implies(proved, bound, self.senses[name], whole=name in self.whole)

    def _same(self, name: str, one: float | None, other: float | None) -> bool:
        """Whether a value worked out again is the one that was claimed."""
        if one is None or other is None or name in self.whole:
            return one == other
        return abs(one - other) <= REPEATED * max(abs(one), self._unit(name))

    def _unit(self, name: str) -> float:
        return scale(self.instance, name, **self.result.options)


def _by_field(document: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a document by their place: those of the result without its name."""
    parts: dict[str, Any] = {}
    for name, value in document.items():
        inside = name in ("result", "solution", "certificate") and isinstance(value, dict)
        head = "" if name == "result" else f"{name}."
        parts |= (
            {f"{head}{key}": entry for key, entry in value.items()} if inside else {name: value}
        )
    return parts


def _catalogued(result: Result) -> Method | None:
    """The catalogue's entry; None for a user's function, which has no objective of ours."""
    if result.objective_name is None:
        return None
    try:
        return find(result.problem, result.method)
    except (UnknownName, InvalidOption):
        return None


def _contradictions(
    name: str | None,
    value: float | None,
    bound: float | None,
    status: Status,
    senses: Mapping[str, str],
    unit: float,
    tolerance: float | None,
    *,
    stated: bool = True,
) -> list[str]:
    """Where a bound and a status do not fit the value they are claimed of; `stated`: that they
    agree had to be said.
    """
    optimal = status is Status.OPTIMAL
    if name is None:
        return ["claimed optimal without an objective"] if optimal else []
    if bound is None:
        return [f"claimed optimal in {name} without a bound"] if optimal else []
    if value is None:  # not measured with these options, or too dear: nothing to hold it against
        return []
    met = proves(value, bound, unit, tolerance)
    passed = {"min": bound - value, "max": value - bound}.get(senses.get(name, ""), 0.0)
    if passed > 0 and not met:
        return [f"the bound {bound} on {name} contradicts the value {value}"]
    if optimal and not met:
        return [
            f"claimed optimal in {name}, but the bound is {bound} and the answer is worth {value}"
        ]
    if met and not optimal and stated:
        return [f"claimed {status.value} in {name}, but value and bound agree: that is optimal"]
    return []
