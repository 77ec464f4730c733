"""A stored result judged again: what is not borne out, and what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from ...catalog import Method, find
from ...instances.problem.answer_table import KEPT
from ...instances.problem.base import Instance
from ...instances.problem.documents import to_json_value
from ...instances.problem.errors import (
    CotenantError,
    InfeasibleSolution,
    InvalidFile,
    InvalidOption,
    UnknownName,
)
from ...instances.problem.files import write
from ...instances.problem.option_types import option_types_of
from ...instances.problem.options import accepted, check_options
from ...instances.problem.registry import check, scale
from ...solvers.outcome import Status, implies
from ...verify import Refused
from ..claim_checks import ClaimChecks, alike, covered, places, short
from ..registry import Analysis, analysis_of
from .proving import prove_file
from .result import Result, fingerprint, proves
from .solve import solve

REPEATED = 1e-12
"""Sums worked out again on another machine may differ by this fraction of them, or of their scale.
"""

LIMIT = 20.0
"""Seconds to make a proof, to judge it, and to look for an answer where none is claimed."""

Bound = Literal["re-proved", "not re-proved", "none"]


@dataclass(frozen=True)
class Recheck:
    """What became of a stored result's claims.

    Attributes
    ----------
    broken : what is not borne out, in sentences; empty when all that was looked at is.
    not_looked_at : the claims that nothing here confirms, by their place in the file (of `result`
        without its name).
    bound : whether the bound on the objective was proved again: in closed form, or by a proof that
        the verifier accepts.
    weaker : the bound that is claimed and that which such a proof reaches, where it is weaker.
    """

    broken: tuple[str, ...]
    not_looked_at: tuple[str, ...]
    bound: Bound
    weaker: str = ""

    @property
    def sentence(self) -> str:
        """For people: what became of the bound."""
        if self.weaker:
            return f"NOT PROVED: {self.weaker}"
        return {
            "re-proved": "bound: proved again from the certificate and the instance",
            "not re-proved": "bound: not proved again; it is what the solver said",
            "none": "bound: the result claims none",
        }[self.bound]


def recheck(instance: Instance, result: Result, *, time_limit: float = LIMIT) -> Recheck:
    """Check and measure a stored answer again, and compare every claim of its document with that.

    Feasibility, every metric, the objective, the levels' values, that bounds and statuses fit the
    values, and all that follows from them are recomputed from the instance and the solution alone.
    A bound is confirmed where no answer passes it in closed form, or where a proof of it is made
    and accepted. Every other claim of the document is in `not_looked_at`: what is confirmed has to
    be named by some code, so nothing is confirmed by accident.

    Parameters
    ----------
    time_limit : seconds to make a proof, as many to judge it, and as many to look for an answer
        where there is said to be none; 0 for neither.

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
        return _ResultVerifier(instance, result, time_limit).verdict()
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

    def __init__(self, instance: Instance, result: Result, time_limit: float) -> None:
        self.instance, self.result, self.time_limit = instance, result, time_limit
        self.analysis: Analysis = analysis_of(instance.problem)
        self.senses = {metric.name: str(metric.sense) for metric in self.analysis.metric_table}
        self.whole = self.analysis.whole
        self.method = _catalogued(result)
        self.kind = None if self.method is None else self.method.kind
        functions = [self.analysis.metrics]
        if self.method is not None:
            functions.append(self.method.resolve())
            check_options(tuple(functions), result.options, f"method {result.method!r}")
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
        self.measured: dict[str, float] = {}
        self.bound: Bound = "none" if result.bound is None else "not re-proved"
        self.weaker = ""

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
        self._tolerance()
        self._bounds()
        return self._finished()

    def _finished(self, *more: str) -> Recheck:
        document = self.result.stored or self.result.document()
        row = dict(document["result"])
        del row["levels"], row["versions"]
        parts = {name: document[name] for name in ("solution", "certificate") if document[name]}
        claims = [*places(row), "versions", "trace", *places(parts)]
        unseen = tuple(place for place in dict.fromkeys(claims) if not covered(place, self.checked))
        weaker = self.weaker if self.bound == "not re-proved" else ""
        return Recheck((*self.broken, *more), unseen, self.bound, weaker)

    def _as_written(self) -> None:
        """The document must be the one that its own fields make: gaps, levels, what follows."""
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
        self.checked |= {"problem", "fingerprint"} if result.fingerprint else {"problem"}
        self.checked |= {"instance"} if result.instance == self.instance.name else set()
        if entry is None:
            return
        self.checked.add("objective_name")
        name, right = result.objective_name, entry.objective_of(result.options)
        if name != right:
            self.broken.append(f"objective_name is {name!r}; {result.method} has {right!r}")

    def _described(self) -> None:
        """The answer with names must be the solution's."""
        written = (self.result.stored or {}).get("named")
        made = replace(self.result, given=self.instance).described(KEPT)
        if self.result.stored is None or made is None:
            return
        if written is None:
            self.broken.append("named is missing; a result of this version has it")
            return
        for name, value in made.document().items():
            if written.get(name) != value:
                stated, given = short(written.get(name)), short(value)
                self.broken.append(f"named.{name} is {stated}, but the solution gives {given}")

    def _measure(self) -> None:
        """Every metric again, and the objective, which is one of them."""
        result = self.result
        options = accepted(self.analysis.metrics, result.options)
        if result.solution is not None:
            self.measured = self.analysis.metrics(self.instance, result.solution, **options)
            # interrupted: it claims no values
            if "unmeasured" in result.certificate and not result.metrics:
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
        self.checks = checks = ClaimChecks(
            "" if self.method is None else self.method.name,
            result.solution,
            to_json_value(dict(result.certificate)),
            self.defaults | dict(result.options),
            result.objective_name,
            result.bound,
        )
        if self.analysis.claims is not None:
            self.analysis.claims(self.instance, checks)
        self.broken += checks.broken
        self.senses |= checks.senses
        self.checked |= {f"certificate.{place}" for place in checks.checked}
        if result.solution is not None:
            fields = result.solution.document()
            self.checked |= {f"solution.{name}" for name in fields if name not in checks.unseen}

    def _without_answer(self) -> None:
        """A result that has no answer says that there is none, or that it knows of none."""
        status, bound = self.result.status, self.result.bound
        if status not in (Status.INFEASIBLE, Status.UNKNOWN):
            self.broken.append(f"status {status.value} without a solution")
        elif status is Status.UNKNOWN:
            self.checked.add("status")
        elif bound is not None:
            self.broken.append(f"a bound of {bound} on answers that there are none of")

    def _first_level(self) -> None:
        """The objective's bound and the status, by the kind of method that claims them."""
        result, kind, certificate = self.result, self.kind, self.result.certificate
        status, bound = result.status, result.bound
        withdrawn = kind is None or "contradiction" in certificate
        if status is Status.INFEASIBLE or (status is Status.UNKNOWN and not withdrawn):
            self.broken.append(f"status {status.value}, with a solution")
        if kind in ("heuristic", "simulation") and (bound is not None or status is Status.OPTIMAL):
            self.broken.append(
                f"{result.method} is a {kind}: it proves no bound and nothing optimal"
            )
        name, stated = result.objective_name, "unmeasured" not in certificate
        claim = (bound, status, self.senses, result.scale, result.outcome.tolerance)
        self.broken += _contradictions(name, self.measured.get(name or ""), *claim, stated=stated)

    def _tolerance(self) -> None:
        """Only an equilibrium counts within a tolerance, that of its certificate and options."""
        result, kind = self.result, self.kind
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

    def _levels(self) -> None:
        """The levels of a lexicographic method: values that are metrics, and bounds."""
        result, levels, first = self.result, self.result.certificate.get("levels", []), True
        for number, level in enumerate(levels):
            name, value, bound = level["objective"], level["value"], level["bound"]
            status = level["status"]
            told_apart = "withdrawn" in result.certificate or result.status is Status.UNKNOWN
            if (
                (number, name) == (0, result.objective_name)
                and not told_apart
                and not self._same(name, bound, result.bound)
            ):
                self.broken.append(
                    f"level {name} has the bound {bound}; the result has {result.bound}"
                )
            if name not in self.measured:  # only the problem's own code knows what it is
                continue
            own = self.measured[name]
            if not self._same(name, own, value):
                self.broken.append(f"level {name} is {own}, not {value} as claimed")
            elif bound is not None or status == Status.OPTIMAL:
                claim = (bound, Status(status), self.senses, self._unit(name), None)
                self.broken += _contradictions(name, own, *claim, stated=first)
            if status not in (Status.OPTIMAL, Status.FEASIBLE):
                self.broken.append(f"level {name} is {status}, with an answer")
            first = first and status == Status.OPTIMAL
            self.checked |= {f"certificate.levels[{number}].{it}" for it in ("objective", "value")}
        self.checked |= set() if levels else {"certificate.levels"}

    def _bounds(self) -> None:
        """Which bounds are proved again: in closed form, and by a proof where that leaves some."""
        result = self.result
        levels = [] if result.solution is None else result.certificate.get("levels", [])
        claims = {"": (0, result.objective_name, result.bound)} | {
            f"certificate.levels[{number}].": (number, level["objective"], level["bound"])
            for number, level in enumerate(levels)
        }
        infeasible = result.status is Status.INFEASIBLE
        proved = {
            place
            for place, (_, name, bound) in claims.items()
            if not infeasible and self._within_limits(name, bound)
        }
        if len(proved) < len(claims) and not self.broken:
            covered_levels = self._covered_by_proof()
            proved |= {
                place
                for place, (number, _, bound) in claims.items()
                if covered_levels[number : number + 1] == (True,)
                and (number > 0 or alike(result.bound, bound))
            }
            if infeasible and "" not in proved:
                self._look_for_answer()
        if result.bound is None:
            self.checked.add("bound")
        elif "" in proved:
            self.bound = "re-proved"
        for place in proved:
            self.checked |= {f"{place}bound", f"{place}status"}

    def _within_limits(self, name: str | None, bound: float | None) -> bool:
        """Whether there is no bound, or no answer passes it in closed form."""
        if bound is None:
            return name == self.result.objective_name or name in self.measured
        limit, sense = self.checks.limits.get(name or ""), self.senses.get(name or "")
        if limit is None or sense not in ("min", "max"):
            return False
        looked_at = self.result.solution is None or name in self.measured
        return looked_at and implies(limit, bound, sense, exact=name in self.analysis.exact)

    def _covered_by_proof(self) -> tuple[bool, ...]:
        """For each level, whether a proof made now leaves nothing of it on trust."""
        if self.method is None or not self.time_limit or self.checks.other_question:
            return ()
        with TemporaryDirectory() as folder:
            path, limit = Path(folder) / "instance.json", self.time_limit
            write(self.instance, path)
            out = Path(folder) / "proof.json"
            try:
                made = prove_file(self.instance, path, self.result, out, limit, limit)
                self.weaker = made.weaker
                return made.covered
            except (Refused, TypeError, ValueError, LookupError, ArithmeticError):
                return ()  # what the producer reads of the certificate is missing, or of no use

    def _look_for_answer(self) -> None:
        """Solve again what is said to have no answer."""
        result = self.result
        if self.method is None or not self.time_limit:
            return
        given = {"seed": result.seed, "time_limit": self.time_limit, **result.options}
        if solve(self.instance, self.method.name, **given).solution is not None:
            self.broken.append("status infeasible, but there is an answer")

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
    """Where bound and status do not fit their value; `stated`: agreement had to be said."""
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
