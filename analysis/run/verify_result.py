"""Verification of a stored result (which claims are refuted, and which are without a proof), and
readers of answers by any solver: a result, a solution in JSON, a CSV of pairs or placements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from ...catalog import Method, find
from ...instances.problem.base import Instance, Solution
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
from ...instances.problem.options import check_options
from ...instances.problem.reading import parse_json, read_text
from ...instances.problem.registry import check, problem_named
from ...instances.problem.tables import CsvTable
from ...instances.problem.text import shortened
from ...solvers.outcome import Status
from ...verify import Refused, methods_of
from ..metric import Stated
from ..registry import analysis_of
from .proving import Proved, claimed, prove_file
from .question import Question, proves
from .result import Result, fingerprint
from .solve import solve

REPEATED = 1e-12
"""Sums computed again on another machine may differ by this fraction of them, or of their scale.
"""

SAME = 1e-9
"""How far a number of a certificate that is computed again may differ, as a fraction."""

FROM_0 = frozenset({"equilibrium_error", "least_alpha", "slack", "unfairness"})
"""Metrics that are never below 0, besides counts."""

LIMIT = 10.0
"""Seconds to make a proof, to verify it, and to look for an answer where none is claimed."""


NOT_LOOKED_AT = ("instance", "method", "seed", "stop", "seconds", "versions", "proof", "trace")
"""What a result says of how it was made."""


@dataclass(frozen=True)
class Recheck:
    """The verdict on a stored result.

    Attributes
    ----------
    broken : what is refuted, in sentences; empty when nothing is.
    claimed : the bounds and statuses that no accepted proof shows, in sentences with the reason;
        empty when there are none, or something is refuted.
    not_looked_at : the entries of the file that were not computed again, by name; a certificate's
        are hints and notes of the search, on which no verdict rests.
    bound : what became of the bounds: "proved", "claimed", or "none" where none is stated.
    """

    broken: tuple[str, ...]
    claimed: tuple[str, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    bound: Literal["proved", "claimed", "none"] = "none"

    @property
    def sentence(self) -> str:
        """Sentence on the bounds: proved again, or claimed."""
        if self.claimed:
            return "\n".join(f"claimed, not proved: {claim}" for claim in self.claimed)
        return "bound: proved again" if self.bound == "proved" else "bound: none is claimed"


def recheck(instance: Instance, result: Result, *, time_limit: float | None = LIMIT) -> Recheck:
    """Check and measure a stored answer again, and prove its bounds again.

    1. The document must be what its own fields make: gaps, levels, the answer with names.
    2. The answer must be feasible, and an answer to the method's question (`Method.asks`).
    3. Metrics, objective and scale are computed again, and what of the certificate follows from
       instance, answer and options (`Analysis.facts`).
    4. Statuses, bounds, tolerance and levels must fit these values.
    5. A bound is proved again by the method's own producer, and the proof verified, or the bound
       is listed in `claimed`; that a count is not below 0 needs no proof.

    Parameters
    ----------
    time_limit : seconds to make a proof, as many to verify it, and as many to look for an answer
        where there is said to be none; 0 for neither, None for as long as it takes.

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
        other = f"{result.instance!r} with content {result.fingerprint}"
        return Recheck((f"the result is of another instance: {other}",))
    try:
        return _Judge(instance, result).verdict(time_limit)
    except CotenantError:
        raise
    except (
        TypeError, ValueError, LookupError, AttributeError, ArithmeticError,
    ) as error:  # something is not of its type  # fmt: skip
        raise InvalidFile(f"the result cannot be read: {type(error).__name__}: {error}") from None


class _Judge:
    """Checks of one stored result: the claims refuted so far, and recomputed values."""

    def __init__(self, instance: Instance, result: Result) -> None:
        self.instance, self.result = instance, result
        self.method: Method | None = None  # a user's function has no objective
        if result.objective_name is not None:
            with suppress(UnknownName, InvalidOption):
                self.method = find(result.problem, result.method)
        function = print if self.method is None else self.method.resolve()
        about = (function, result.method, result.objective_name, result.options, self.method)
        self.question = Question(instance, *about)
        self.analysis = self.question.analysis
        self.kind = None if self.method is None else self.method.kind
        self.options = _options(self.question)
        self.senses: dict[str, str] = {it.name: it.sense for it in self.analysis.metric_table}
        if self.method is not None:  # a metric that has no sense of its own may be optimized
            _, goals, _ = methods_of(instance.problem).get(self.method.name, ("", "", None))
            self.senses |= dict(goal.split() for goal in goals.split(",") if goal)
        self.broken: list[str] = []
        self.computed: set[str] = set()
        self.measured: dict[str, float] = {}

    def verdict(self, time_limit: float | None) -> Recheck:
        """Run all checks in order and return the verdict."""
        if self.result.solution is not None:
            try:
                self.measured = self.question.measure(self.result.solution)
            except InfeasibleSolution as error:
                return Recheck((str(error),))
        self._written()
        self._compare()
        self._facts()
        if self.result.solution is None:
            self._without_answer()
        else:
            self._first_level()
            self._levels()
        self._tolerance()
        claims = {} if self.broken else self._claims()
        unproved = self._unproved(claims, time_limit)
        some = (claims or self.result.bound is not None) and not self.broken
        kept = {"levels"} | self.computed
        hints = (f"certificate.{name}" for name in self.result.certificate if name not in kept)
        return Recheck(
            tuple(self.broken),
            () if self.broken else tuple(unproved),
            (
                *NOT_LOOKED_AT,
                *["options"] * (self.method is not None and self.method.kind == "simulation"),
                *hints,
            ),
            "claimed" if unproved else "proved" if some else "none",
        )

    def _written(self) -> None:
        """Check that a result's document equals what the result's fields and instance imply."""
        result, entry = self.result, self.method
        if entry is not None and result.objective_name != (
            right := entry.objective_of(result.options)
        ):
            self.broken.append(
                f"objective_name is {result.objective_name!r}; {result.method} has {right!r}"
            )
        if result.stored is None:
            return
        written = _by_field(result.stored)
        made = _by_field(replace(result, given=self.instance).document())
        for name in dict.fromkeys([*made, *written]):
            if name not in written:
                self.broken.append(f"{name} is missing; a result of this version has it")
            elif name not in made:
                self.broken.append(f"{name} is not a field of a result")
            elif made[name] != written[name] and (
                name.startswith("named.") or not alike(made[name], written[name])
            ):
                stated, given = _short(written[name]), _short(made[name])
                self.broken.append(f"{name} is {stated}, but what it follows from gives {given}")

    def _compare(self) -> None:
        """Check every metric against its recomputed value, and the objective, one of them."""
        result, name = self.result, self.result.objective_name or ""
        # interrupted: it claims no values
        if self.measured and "unmeasured" in result.certificate and not result.metrics:
            objective = self.measured.get(name)
            self.result = result = replace(result, metrics=self.measured, objective=objective)
        for metric in dict.fromkeys([*self.measured, *result.metrics]):
            own, stated = self.measured.get(metric), result.metrics.get(metric)
            if not self._same(metric, own, stated):
                self.broken.append(f"{metric} is {own}, not {stated} as claimed")
        if not self._same(name, own := self.measured.get(name), result.objective):
            self.broken.append(f"objective is {own}, not {result.objective} as claimed")
        unit = self.question.unit(result.objective_name)
        if not abs(unit - result.scale) <= REPEATED * unit:
            self.broken.append(
                f"the scale of the objective is {unit}, not {result.scale} as claimed"
            )

    def _facts(self) -> None:
        """Check the entries of the certificate that follow from instance, answer and options; and
        that the answer fits the method's question.
        """
        method, solution, stated = self.method, self.result.solution, self.result.certificate
        facts = self.analysis.facts
        if solution is not None and self.question.asked(solution) is None:
            self.broken.append(f"the answer is none to what {self.question.name} asks for")
        if method is None or facts is None:
            return
        policy = getattr(solution, "policy", method.name)  # of a simulation
        if policy != method.name:
            self.broken.append(f"policy is {policy!r}, but the method is {method.name!r}")
        document = to_json_value(dict(stated))
        given = Stated(method.name, self.instance, solution, document, self.options)
        for name, value in facts(given).items():
            self.computed |= set() if value is ... else {name}
            if name in document:
                self.broken += [] if value is ... else _differences(name, value, document[name])
            elif "answer_by" not in document:  # a policy gave the answer, not the search
                self.broken.append(f"certificate: {name} is missing")

    def _without_answer(self) -> None:
        """Check that a result without answer has status infeasible or unknown."""
        status, bound = self.result.status, self.result.bound
        if status not in (Status.INFEASIBLE, Status.UNKNOWN):
            self.broken.append(f"status {status.value} without a solution")
        elif status is Status.INFEASIBLE and bound is not None:
            self.broken.append(f"a bound of {bound} on answers that there are none of")

    def _first_level(self) -> None:
        """Check that the method's kind permits the stated bound and status of the objective."""
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
        self.broken += self._contradictions(
            name, self.measured.get(name or ""), bound, status, result.scale,
            result.tolerance, stated=stated,
        )  # fmt: skip

    def _tolerance(self) -> None:
        """Check the tolerance that a result states. Only an equilibrium has one, which its
        certificate repeats; the bound on its error is 0 or absent.
        """
        bound, stated = self.result.bound, self.result.tolerance
        error = self.kind == "equilibrium" and bound is not None
        right = self.result.certificate.get("tolerance") if error else None
        if self.kind is not None and stated != right:  # None: a user's function
            self.broken.append(f"tolerance is {stated}; expected {right}")
        if error and bound != 0:
            self.broken.append(f"the bound on an equilibrium's error is {bound}; expected 0")

    def _levels(self) -> None:
        """Check the value, bound and status of each level of a lexicographic method."""
        result, levels, first = self.result, self.result.certificate.get("levels", []), True
        told_apart = "withdrawn" in result.certificate or result.status is Status.UNKNOWN
        for number, level in enumerate(levels):
            name, value, bound = level["objective"], level["value"], level["bound"]
            status = Status(level["status"])
            same_level = (number, name) == (0, result.objective_name) and not told_apart
            if same_level and not self._same(name, bound, result.bound):
                self.broken.append(
                    f"level {name} has the bound {bound}; the result has {result.bound}"
                )
            if status not in (Status.OPTIMAL, Status.FEASIBLE):
                self.broken.append(f"level {name} is {status.value}, with an answer")
            own = self.measured.get(name)
            if own is not None and not self._same(name, own, value):
                self.broken.append(f"level {name} is {own}, not {value} as claimed")
            elif own is None and value is None and status is Status.OPTIMAL:
                self.broken.append(f"level {name} is optimal without a value")
            elif value is not None and (bound is not None or status is Status.OPTIMAL):
                known = value if own is None else own
                unit = (
                    self.question.unit(name) if own is not None else max(abs(value), result.scale)
                )
                self.broken += self._contradictions(
                    name, known, bound, status, unit, None, stated=first and own is not None
                )
            first = first and status is Status.OPTIMAL

    def _contradictions(
        self,
        name: str | None,
        value: float | None,
        bound: float | None,
        status: Status,
        unit: float,
        tolerance: float | None,
        *,
        stated: bool = True,
    ) -> list[str]:
        """Message if a value contradicts its bound or status. With `stated`, also if value and
        bound agree without being claimed optimal.
        """
        optimal = status is Status.OPTIMAL
        if name is None:
            return ["claimed optimal without an objective"] if optimal else []
        if bound is None:
            return [f"claimed optimal in {name} without a bound"] if optimal else []
        if value is None:  # not measured with these options, or too dear: nothing to compare with
            return []
        met = proves(value, bound, unit, tolerance)
        passed = {"min": bound - value, "max": value - bound}.get(self.senses.get(name, ""), 0.0)
        if passed > 0 and not met:
            return [f"the bound {bound} on {name} contradicts the value {value}"]
        if optimal and not met:
            return [
                f"claimed optimal in {name}, but the bound is {bound} and the answer is worth "
                f"{value}"
            ]
        if met and not optimal and stated:
            return [f"claimed {status.value} in {name}, but value and bound agree: that is optimal"]
        return []

    def _claims(self) -> dict[int, str]:
        """Texts of the claims that need a proof, by index of their level (0: the objective)."""
        result, found = self.result, dict[int, str]()
        if result.solution is None:
            infeasible = result.status is Status.INFEASIBLE
            return {0: "that there is no answer"} if infeasible else found
        first = {"objective": result.objective_name, "bound": result.bound}
        for number, level in enumerate([first, *result.certificate.get("levels", [])[1:]]):
            name, bound = level["objective"], level["bound"]
            least = name in self.analysis.whole | FROM_0 and self.senses[name] == "min"
            if bound is not None and not (least and bound <= 0 and name in self.measured):
                found[number] = f"bound {bound:.10g} on {name}"
        kind = result.certificate.get("equilibrium") if self.kind == "equilibrium" else None
        if kind is not None and not kind.startswith("not reached"):  # claimed without a bound
            found[0] = f"{kind} equilibrium"
        return found

    def _unproved(self, claims: Mapping[int, str], time_limit: float | None) -> list[str]:
        """Make the proof again, and return the claims that it does not show, with the reason."""
        if not claims:
            return []
        proved = self._proof(time_limit)
        left = [n for n in claims if proved.covered[n : n + 1] != (True,)]
        if left and self.result.solution is None and self.method is not None and time_limit != 0:
            given = {"seed": self.result.seed, "time_limit": time_limit, **self.result.options}
            if solve(self.instance, self.method.name, **given).solution is not None:
                self.broken.append("status infeasible, but there is an answer")
        if left and proved.weaker:
            return [proved.weaker]
        return [f"{claims[n]} ({proved.says})" for n in left]

    def _proof(self, time_limit: float | None) -> Proved:
        """Make the proof of the stored result again, and return what it proves."""
        if self.method is None:
            return Proved("claimed", f"{self.result.method} is no method of the catalogue")
        if not self.method.proof_producer:
            return Proved("claimed", claimed(self.method))
        if time_limit == 0:
            return Proved("claimed", "no proof was made")
        with TemporaryDirectory() as folder:
            path = write(self.instance, Path(folder) / "instance.json")
            out = Path(folder) / "proof.json"
            try:
                proved = prove_file(self.instance, path, self.result, out, time_limit, time_limit)
                if proved.file and (asked := self._only(out)):
                    return Proved("claimed", f"the proof is of answers with {asked} alone")
                return proved
            except (
                Refused, AssertionError, TypeError, ValueError, LookupError, ArithmeticError,
            ):  # fmt: skip
                # what the producer reads of the certificate is missing, or of no use
                return Proved("claimed", "its certificate is of no use to make a proof")

    def _only(self, proof: Path) -> str:
        """Text of the options that a proof has and the verified result lacks. Such a proof covers
        fewer answers.
        """
        options = parse_json(read_text(proof), proof)["options"]
        more = [name for name in options if self.options.get(name) is None]
        return ", ".join(f"{name}={options[name]}" for name in more)

    def _same(self, name: str, one: float | None, other: float | None) -> bool:
        """Whether a recomputed value equals the claimed one."""
        if one is None or other is None or name in self.analysis.whole:
            return one == other
        return abs(one - other) <= REPEATED * max(abs(one), self.question.unit(name))


def _options(question: Question) -> dict[str, Any]:
    """Options of a result with defaults for those not given; refuses invalid ones."""
    takers = (question.metrics, *([question.function] if question.entry else []))
    if question.entry is not None:
        check_options(takers, question.options, f"method {question.name!r}")
    usual = dict[str, Any]()
    for taker in takers:
        rules = option_types_of(taker)
        for name in rules.keys() & question.options.keys():
            rules[name].check(name, question.options[name])
        for name, entry in signature(taker).parameters.items():
            if entry.default is not entry.empty:
                usual[name] = entry.default
    return usual | dict(question.options)


def _by_field(document: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a result's document by key path, without its name."""
    parts: dict[str, Any] = {}
    for name, value in document.items():
        opened = ("result", "solution", "certificate", "named")
        inside = name in opened and isinstance(value, dict)
        head = "" if name == "result" else f"{name}."
        parts |= (
            {f"{head}{key}": entry for key, entry in value.items()} if inside else {name: value}
        )
    return parts


def _differences(name: str, expected: Any, stated: Any) -> Iterator[str]:
    """Messages on entries of a certificate that differ from their expected values."""
    if name == "levels" and isinstance(stated, list) and len(stated) == len(expected):
        for number, (level, known) in enumerate(zip(stated, expected, strict=True)):
            for key, value in known.items():
                yield from _differences(f"levels[{number}].{key}", value, level.get(key))
    elif not alike(expected, stated):
        yield f"certificate: {name} is {_short(expected)}, not {_short(stated)} as claimed"


def alike(expected: Any, claimed: Any) -> bool:
    """Whether a stored JSON value equals the recomputed one; integers must be equal."""
    if isinstance(expected, bool) or isinstance(claimed, bool):
        return expected is claimed
    if isinstance(expected, int) and isinstance(claimed, int | float):
        return expected == claimed
    if isinstance(expected, float) and isinstance(claimed, int | float):
        near = abs(expected - claimed) <= SAME * abs(expected) + REPEATED
        return bool(expected == claimed or near)
    if isinstance(expected, list | tuple) and isinstance(claimed, list):
        return len(expected) == len(claimed) and all(map(alike, expected, claimed))
    if isinstance(expected, dict) and isinstance(claimed, dict):
        return expected.keys() == claimed.keys() and all(
            alike(value, claimed[name]) for name, value in expected.items()
        )
    return type(expected) is type(claimed) and bool(expected == claimed)


def _short(value: Any) -> str:
    """Value in the short form in which a message shows it."""
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def read_answer(instance: Instance, path: str) -> Result | Solution | None:
    """Read an answer from a file: a result or a solution; None if it holds a proof. A result is
    what `cotenant solve --out` writes; a solution is a part of it or, for some problems, a CSV.

    Raises
    ------
    InvalidFile : it holds none of these, or names what the instance has not.
    """
    text, problem = read_text(path), problem_named(instance.problem)
    form = problem.answer_columns
    if problem.read_table is not None and text.strip() and not text.lstrip().startswith(("{", "[")):
        table = CsvTable(path, *form.partition("[")[0].split(","), text=text)
        return problem.read_table(instance, table)
    wanted = f"a result or solution in JSON{f', or CSV: {form}' * bool(form)}"
    content = parse_json(text, path, wanted)
    if "cotenant_proof" in content:
        return None
    if "solution" in content and "result" not in content:
        return solution_in(instance, content, path)
    return Result.read(path)


def judge_answer(
    instance: Instance, given: Result | Solution, time_limit: float | None = LIMIT
) -> tuple[Recheck, str]:
    """Verify an answer: the verdict, and lines that describe it, "" for a refused solution. The
    time limit is that of `recheck`.
    """
    if isinstance(given, Solution):
        try:
            check(instance, given)
        except InfeasibleSolution as error:
            return Recheck((str(error),)), ""
        values = analysis_of(instance.problem).metrics(instance, given)
        worth = ", ".join(f"{name} {value:.6g}" for name, value in values.items())
        return Recheck(()), f"feasible; nothing else is claimed: {worth}"
    found = recheck(instance, given, time_limit=time_limit)
    said = "feasible; objective, metrics and levels are as claimed"
    if given.solution is None:
        said = f"claims {given.status.value}: there is no answer to check"
    return found, f"{said}\n{found.sentence}\nnot looked at: {', '.join(found.not_looked_at)}"


def solution_in(instance: Instance, content: Mapping[str, Any], where: str) -> Solution:
    """Read the solution in a document; raises InvalidFile if it does not fit the instance."""
    kind = problem_named(instance.problem).solution_named(content.get("answer"))
    try:
        return kind.from_document(dict(content["solution"]))
    except CotenantError as error:
        why = str(error)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        names = ", ".join(field.name for field in fields(kind))
        why = f"solution is {shortened(content['solution'])}; expected an object with {names}"
    raise InvalidFile(f"{where} holds no {instance.problem} answer: {why}")
