"""What `cotenant.solve` returns, and how a method is run: timed, checked, recomputed by us."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np

from ...instances.problem.answer_table import KEPT, AnswerTable, answer_table
from ...instances.problem.base import (
    NO_CONTENT_WHEN_ABSENT,
    Answer,
    Instance,
    SignatureErrors,
    Solution,
)
from ...instances.problem.documents import shortened, to_json_value
from ...instances.problem.errors import (
    CotenantError,
    InfeasibleSolution,
    InvalidFile,
    InvalidOption,
)
from ...instances.problem.files import FORMAT, write_text
from ...instances.problem.json_detection import document_kind
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import accepted
from ...instances.problem.reading import is_version, parse_json, read_text
from ...instances.problem.registry import check, problem_named, scale
from ...instances.problem.text import html_facts
from ...solvers.interrupts import deferred
from ...solvers.outcome import AGREE, Clock, Outcome, Report, Status, Stop, agree, gap, gap_absolute
from .starts import Starts

LOOSEST = 1e-3
"""An equilibrium claimed within more than this is not accepted as one."""

Trace = tuple[tuple[float, float | None, float | None], ...]


_CLAIMED = {"proof_status": "claimed"}


@dataclass(frozen=True, repr=False)
class Result(Generic[Answer], metaclass=SignatureErrors):
    """An answer and everything that is needed to judge, store and repeat it; the `solution` of a
    `Result[Pairing]` is a Pairing.

    Attributes
    ----------
    problem, instance, method : names.
    outcome : solution, bound, status, stop, certificate, trace.
    objective_name : the metric the method optimizes; None when it optimizes none of ours.
    objective : its value, recomputed from the solution; None without a solution.
    metrics : every metric of the problem, recomputed from the solution.
    seconds : wall time of the method, without what it took to load libraries, compile kernels and
        start processes.
    seed : of its random generator.
    options : as given.
    versions : of this package, Python and the libraries that can change an answer.
    fingerprint : of the instance's content.
    scale : of the objective on the instance, of gaps and agreement: `instances.problem.scale`.
    proof : how its claims stand, `proving.Proved.document`: claimed until a proof is accepted.
    stored : the JSON document it was read from, None when it was not read.
    given : the instance it answers, None when it was read.
    """

    offers: ClassVar[str] = "a result has its answer, `.solution`, and `.write(path)`"

    problem: str
    instance: str
    method: str
    outcome: Outcome[Answer]
    objective_name: str | None
    objective: float | None
    metrics: Mapping[str, float]
    seconds: float
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    scale: float = 1.0
    proof: Mapping[str, Any] = field(default_factory=lambda: dict(_CLAIMED))
    stored: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    given: Instance[Answer] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        items = (
            f"gap {text}" if name == "gap" else text for name, text in self._repr_items().items()
        )
        return f"Result({', '.join(items)})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_facts(f"{self.method} on {self.instance}", self._repr_items())

    def _repr_items(self) -> dict[str, str]:
        facts = {"run": f"{self.method} on {self.instance or self.problem}"}
        facts["status"] = self.status.value
        if self.objective is not None:
            facts["objective"] = f"{self.objective_name} {self.objective:z.6g}"
        if self.gap is not None:
            facts["gap"] = f"{self.gap:z.3g}"
        facts["seconds"] = f"{self.seconds:.3f} s"
        if (answer := self.described(1)) is not None and answer.sentence:
            facts["answer"] = answer.sentence
        return facts

    def described(self, most: int | None = None) -> AnswerTable | None:
        """The answer with names, at most `most` rows of it; None without one, or without names."""
        if self.solution is None:
            return None
        if self.given is not None:
            return answer_table(self.given, self.solution, most)
        named = (self.stored or {}).get("named")
        if not isinstance(named, dict):
            return None
        rows = tuple(map(tuple, named["rows"][:most]))
        return AnswerTable(named["sentence"], tuple(named["columns"]), rows, named["total"])

    @property
    def solution(self) -> Answer | None:
        """The answer, or None."""
        return self.outcome.solution

    @property
    def bound(self) -> float | None:
        """A proved bound on the objective, or None."""
        return self.outcome.bound

    @property
    def status(self) -> Status:
        """How good the answer is."""
        return self.outcome.status

    @property
    def stop(self) -> Stop:
        """Why the method stopped."""
        return self.outcome.stop

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What lets a reader check the claim."""
        return self.outcome.certificate

    @property
    def trace(self) -> Trace:
        """(seconds, objective, bound) as they improved."""
        return self.outcome.trace

    @property
    def gap(self) -> float | None:
        """|objective - bound| / |objective|, 0 when they agree (`solvers.outcome.agree`), None
        without a bound and where nothing is a fraction of 0: `gap_absolute` tells then.
        """
        return gap(self.objective, self.bound, self.outcome.tolerance, self.scale)

    @property
    def gap_absolute(self) -> float | None:
        """|objective - bound|, 0 when they agree, None without a bound."""
        return gap_absolute(self.objective, self.bound, self.outcome.tolerance, self.scale)

    def summary(self) -> dict[str, Any]:
        """One flat row: names, status, objective, bound, gap, seconds, and the metrics."""
        return {
            "problem": self.problem,
            "instance": self.instance,
            "fingerprint": self.fingerprint,
            "method": self.method,
            "seed": self.seed,
            "status": self.status.value,
            "stop": self.stop.value,
            "objective_name": self.objective_name,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "gap_absolute": self.gap_absolute,
            "tolerance": self.outcome.tolerance,
            "scale": self.scale,
            "levels": self.certificate.get("levels", []),
            "proof": dict(self.proof),
            "seconds": self.seconds,
            "options": dict(self.options),
            "metrics": dict(self.metrics),
            "versions": dict(self.versions),
        }

    def document(self) -> dict[str, Any]:
        """The whole result as JSON values; `from_document` is the inverse."""
        outcome = self.outcome
        named = self.described(KEPT)
        return {
            "cotenant": FORMAT,
            "result": self.summary(),
            "answer": None if outcome.solution is None else type(outcome.solution).__name__,
            "solution": None if outcome.solution is None else outcome.solution.document(),
            **({} if named is None else {"named": named.document()}),
            "certificate": to_json_value(dict(outcome.certificate)),
            "trace": [list(entry) for entry in outcome.trace],
        }

    @classmethod
    def from_document(cls, content: Mapping[str, Any]) -> Result:
        """Rebuild a result from `document`; raises InvalidFile for what is not one."""
        try:
            return cls._rebuilt(content)
        except KeyError as error:
            raise InvalidFile(f"not a whole result: {error} is missing") from None
        except (CotenantError, ValueError) as error:
            raise InvalidFile(f"not a whole result: {error}") from None
        except (LookupError, TypeError, AttributeError, OverflowError):
            expected = "fields of the types that `cotenant solve --out` writes"
            raise InvalidFile(f"not a whole result: expected {expected}") from None

    @classmethod
    def _rebuilt(cls, content: Mapping[str, Any]) -> Result:
        _validate(content)
        row, solution = content["result"], content["solution"]
        kind = (
            None
            if solution is None
            else problem_named(row["problem"]).solution_named(content.get("answer"))
        )
        outcome: Outcome[Any] = Outcome(
            solution=None if kind is None else kind.from_document(solution),
            bound=row["bound"],
            status=Status(row["status"]),
            stop=Stop(row["stop"]),
            certificate=content["certificate"],
            trace=tuple((entry[0], entry[1], entry[2]) for entry in content["trace"]),
            tolerance=row["tolerance"],
        )
        names = (
            "problem",
            "instance",
            "method",
            "objective_name",
            "objective",
            "metrics",
            "seconds",
            "seed",
            "options",
            "versions",
        )
        given = {
            "fingerprint": row["fingerprint"],
            "scale": row["scale"],
            "proof": row["proof"],
            "stored": content,
        }
        return cls(outcome=outcome, **given, **{name: row[name] for name in names})

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as JSON, whole or not at all."""
        return write_text(path, json.dumps(self.document(), allow_nan=False) + "\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `write` wrote; raises InvalidFile for anything else."""
        content = parse_json(read_text(path), path)
        if "result" not in content:
            kind = document_kind(content)
            raise InvalidFile(
                f"{os.fspath(path)} is not a result{kind and f' but {kind}'}; expected a file "
                "written by cotenant solve --out"
            )
        try:
            return cls.from_document(content)
        except InvalidFile as error:
            raise InvalidFile(f"{os.fspath(path)} is {error}") from None


def _validate(content: Mapping[str, Any]) -> None:
    """Refuse a stored result whose fields are not of their types."""
    row, certificate = content["result"], content["certificate"]
    if not is_version(content.get("cotenant"), FORMAT):
        raise ValueError(f"cotenant is {content.get('cotenant')!r}, expected {FORMAT}")
    _expect(_OBJECT, {"result": row, "certificate": certificate})
    _expect(_OBJECT, {name: row[name] for name in ("metrics", "options", "versions")})
    _expect(_NAME, {name: row[name] for name in ("problem", "instance", "method")})
    _expect(_TEXT, {"fingerprint": row["fingerprint"]})
    if row["objective_name"] is not None:
        _expect(_TEXT, {"objective_name": row["objective_name"]})
    values = ("objective", "bound", "gap", "gap_absolute", "tolerance")
    _expect(_OPEN, {name: row[name] for name in values})
    _expect(_PROOF, {"proof": row["proof"]})
    unit = row["scale"]
    _expect(_UNIT, {"scale": unit})
    _expect(_NO_LESS, {"seconds": row["seconds"]})
    _expect(_COUNT, {"seed": row["seed"]})
    _expect(_NUMBER, {f"metric {name}": value for name, value in row["metrics"].items()})
    _expect(_TEXT, {f"versions {name}": value for name, value in row["versions"].items()})
    if (named := content.get("named")) is not None:
        _expect(_OBJECT, {"named": named})
        _expect(_TEXT, {"named.sentence": named["sentence"]})
        _expect(_COUNT, {"named.total": named["total"]})
        _expect(_LIST, {"named.columns": named["columns"]})
        _expect(_LISTS, {"named.rows": named["rows"]})
    _expect(_TRACE, {"trace": content["trace"]})
    _expect(_LIST, {"levels": (levels := certificate.get("levels", []))})
    for level in levels:
        if not isinstance(level, dict) or not {"objective", "value", "bound", "status"} <= {*level}:
            raise ValueError(f"level {level!r} is not whole")
        _expect(_NAME, {"a level's objective": level["objective"]})
        _expect(_OPEN, {f"a level's {name}": level[name] for name in ("value", "bound")})
        Status(level["status"])
    implied, stated = gap(row["objective"], row["bound"], row["tolerance"], unit), row["gap"]
    if stated != implied and (stated is None or implied is None or abs(stated - implied) > AGREE):
        raise ValueError(f"gap is {stated}, but the objective and the bound give {implied}")


class _Kind(NamedTuple):
    """What a field of a stored result may hold, and that in words."""

    holds: Callable[[Any], bool]
    expected: str


def _expect(kind: _Kind, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if not kind.holds(value):
            raise ValueError(f"{name} is {shortened(value)}, expected {kind.expected}")


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types) and not isinstance(value, bool)


_number = _is(int, float)
_OBJECT, _LIST = _Kind(_is(dict), "an object"), _Kind(_is(list), "a list")
_NAME, _TEXT = _Kind(_is(str), "a name"), _Kind(_is(str), "a text")
_NUMBER = _Kind(_number, "a number")
_OPEN = _Kind(lambda value: value is None or _number(value), "a number or null")
_NO_LESS = _Kind(lambda value: _number(value) and value >= 0, "a number, 0 or more")
_UNIT = _Kind(lambda value: _number(value) and 0 < value < float("inf"), "a number above 0")
_COUNT = _Kind(lambda value: _is(int)(value) and value >= 0, "a whole number, 0 or more")
_LISTS = _Kind(lambda value: _is(list)(value) and all(map(_is(list), value)), "a list of lists")


def _step(entry: Any) -> bool:
    """Whether an entry of a trace is (seconds, objective, bound)."""
    whole = _is(list, tuple)(entry) and len(entry) == 3
    return whole and _number(entry[0]) and all(map(_OPEN.holds, entry[1:]))


_TRACE = _Kind(
    lambda value: _is(list)(value) and all(map(_step, value)),
    "a list of [seconds, objective, bound]",
)
_PROOF = _Kind(
    lambda value: (
        _is(dict)(value) and value.get("proof_status") in ("claimed", "partly", "certified")
    ),
    "how its claims stand: claimed, partly or certified",
)


@validate_options
def run(
    instance: Instance[Answer],
    function: Callable[..., Any],
    *,
    method: str,
    objective_name: str | None,
    metrics: Callable[..., dict[str, float]],
    seed: int = 0,
    time_limit: float | None = None,
    start: Solution | Starts | None = None,
    report: Report | None = None,
    options: Mapping[str, Any] | None = None,
) -> Result[Answer]:
    """Run a method on an instance and judge its answer by our own `check` and metrics, whatever it
    says of itself.

    `start` is an answer to begin from, or the policies that are asked for one. Ctrl-C while they
    are asked keeps the best so far, Ctrl-C while the metrics are worked out keeps the answer
    without metrics, and `stop` says "interrupted".

    Raises
    ------
    InfeasibleSolution
        The method returned an answer that breaks a rule: a defect, never passed on silently.
    InvalidOption
        The method returned nothing, or no answer to such an instance.
    """
    given = dict(options or {})
    clock = Clock(time_limit)
    answer: Any = None
    starts = start if isinstance(start, Starts) else None
    if starts is not None:
        stop = starts.look(clock)
        start = None if starts.best is None else starts.best.solution
        if stop is Stop.INTERRUPTED:
            answer = Outcome(start, None, Status.FEASIBLE, stop)
    if answer is None:
        # Finding the start is part of the method's time.
        house = {
            "rng": np.random.default_rng(seed),
            "time_limit": clock.left,
            "start": start,
            "report": report,
        }
        answer = function(instance, **accepted(function, house), **accepted(function, given))
    seconds = clock.seconds
    outcome = outcome_of(answer, instance, method)
    outcome, measured = _judged(instance, outcome, metrics, given, method)
    if starts is not None and (kept := starts.kept(outcome, measured)) is not outcome:
        outcome, measured = _judged(instance, kept, metrics, given, method)
    with deferred() as late:
        objective = None if objective_name is None else measured.get(objective_name)

        def unit(name: str) -> float:
            return scale(instance, name, **given)

        judged = _consistent(outcome, measured, objective_name, unit, method)
        result = Result(
            problem=instance.problem,
            instance=instance.name,
            method=method,
            outcome=_traced(judged, objective, seconds),
            objective_name=objective_name,
            objective=objective,
            metrics=measured,
            seconds=seconds,
            seed=seed,
            options=given,
            versions=versions(),
            fingerprint=fingerprint(instance),
            scale=1.0 if objective_name is None else unit(objective_name),
            given=instance,
        )
        if late.interrupted:
            result = replace(result, outcome=replace(result.outcome, stop=Stop.INTERRUPTED))
    return result


def outcome_of(answer: Any, instance: Instance, method: str) -> Outcome[Any]:
    """What a method returned, as an outcome. Raises InvalidOption, naming the user's function, when
    that is no answer to the instance, nor an Outcome that is whole.
    """
    outcome = answer if isinstance(answer, Outcome) else Outcome(answer, None, Status.FEASIBLE)
    kinds = problem_named(instance.problem).solutions
    wanted = f"a {' or '.join(kind.__name__ for kind in kinds)}, or an Outcome that holds one"
    solution, bound = outcome.solution, outcome.bound
    returned = f"method {method!r} returned {_named(answer)}"
    if not isinstance(outcome.status, Status) or not isinstance(outcome.stop, Stop):
        seen = f"status {outcome.status!r} and stop {outcome.stop!r}"
        raise InvalidOption(f"{returned} with {seen}; expected a Status and a Stop")
    if bound is not None and (
        isinstance(bound, bool) or not isinstance(bound, Real) or bound != bound
    ):
        raise InvalidOption(f"{returned} whose bound is {bound!r}; expected a number or None")
    empty = answer is not outcome or outcome.status in (Status.OPTIMAL, Status.FEASIBLE)
    if not isinstance(solution, kinds) and (empty or solution is not None):
        seen = "" if answer is solution else f" that holds {_named(solution)}"
        cure = "; does every way through it end in return?" if answer is None else ""
        raise InvalidOption(f"{returned}{seen}; expected {wanted}{cure}")
    return outcome


def _named(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _traced(outcome: Outcome[Answer], objective: float | None, seconds: float) -> Outcome[Answer]:
    """The outcome with a trace that ends where the method did: many note nothing on the way."""
    end = (objective, outcome.bound)
    if outcome.bound is None or (outcome.trace and outcome.trace[-1][1:] == end):
        return outcome
    return replace(outcome, trace=(*outcome.trace, (seconds, *end)))


def _judged(
    instance: Instance,
    outcome: Outcome[Any],
    metrics: Callable[..., dict[str, float]],
    options: Mapping[str, Any],
    method: str,
) -> tuple[Outcome[Any], dict[str, float]]:
    """The outcome, and every metric of its answer: none without one, or at Ctrl-C."""
    if outcome.solution is None:
        return outcome, {}
    try:
        return outcome, _measured(instance, outcome.solution, metrics, options)
    except InfeasibleSolution as error:
        raise InfeasibleSolution(
            f"{method} returned an answer that is not feasible: {error}"
        ) from error
    except KeyboardInterrupt:  # the method is done: its answer is kept
        return _unmeasured(instance, outcome.solution, outcome), {}


def _measured(
    instance: Instance,
    solution: Solution,
    metrics: Callable[..., dict[str, float]],
    options: Mapping[str, Any],
) -> dict[str, float]:
    """Every metric of a solution that passes `check`."""
    check(instance, solution)
    return metrics(instance, solution, **accepted(metrics, options))


def _unmeasured(instance: Instance, solution: Solution, outcome: Outcome) -> Outcome:
    """What is kept of an answer that Ctrl-C leaves unmeasured: checked, but it proves nothing."""
    check(instance, solution)  # quick, and nothing is handed on without it
    status = Status.FEASIBLE if outcome.status is Status.OPTIMAL else outcome.status
    why = "interrupted before the answer was measured; `cotenant check` measures it"
    return replace(
        outcome,
        status=status,
        stop=Stop.INTERRUPTED,
        certificate={**outcome.certificate, "unmeasured": why},
    )


def proves(value: float, bound: float, scale: float, tolerance: float | None = None) -> bool:
    """Whether a bound proves a value: they agree, or are within the tolerance of an equilibrium."""
    return (
        agree(value, bound, scale)
        if tolerance is None
        else abs(value - bound) <= min(tolerance, LOOSEST)
    )


def _consistent(
    outcome: Outcome[Answer],
    measured: Mapping[str, float],
    objective_name: str | None,
    unit: Callable[[str], float],
    method: str,
) -> Outcome[Answer]:
    """The outcome with the statuses that recomputed values and bounds decide: optimal where they
    agree; a claim of it where they do not is withdrawn, with the reason.
    """
    name = objective_name or ""
    objective = measured.get(name)
    if outcome.status not in (Status.OPTIMAL, Status.FEASIBLE) or objective is None:
        return outcome
    bound, certificate = outcome.bound, dict(outcome.certificate)
    if bound is not None and proves(objective, bound, unit(name), outcome.tolerance):
        if levels := certificate.get("levels"):
            certificate["levels"] = _settled(levels, measured, unit)
        return replace(outcome, status=Status.OPTIMAL, certificate=certificate)
    if outcome.status is Status.FEASIBLE:
        return outcome
    why = (
        f"{method} said optimal with bound {bound}, but its answer is worth {objective}; "
        "not accepted as a proof"
    )
    return Outcome(
        outcome.solution, None, Status.FEASIBLE, outcome.stop, {**certificate, "withdrawn": why},
        outcome.trace,
    )  # fmt: skip


def _settled(
    levels: list[dict[str, Any]], measured: Mapping[str, float], unit: Callable[[str], float]
) -> list[dict[str, Any]]:
    """The levels of a certificate: optimal are those, too, whose value and bound agree, and all
    before them are. Of a level that is no metric the method's own code decides.
    """
    optimal, settled = True, list[dict[str, Any]]()
    for level in levels:
        name, bound = level["objective"], level["bound"]
        if optimal and bound is not None and name in measured:
            optimal = agree(measured[name], bound, unit(name))
            level = level | ({"status": Status.OPTIMAL.value} if optimal else {})
        optimal = optimal and level["status"] == Status.OPTIMAL
        settled.append(level)
    return settled


@cache
def versions() -> dict[str, str]:
    """Versions of this package, Python, and the libraries that can change an answer."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("cotenant", "numpy", "scipy", "highspy", "ortools", "cvxpy", "pyomo", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def fingerprint(instance: Instance) -> str:
    """Sixteen hexadecimal digits of the instance's content: two instances of one name are two."""
    from hashlib import sha256

    digest = sha256()
    for entry in fields(instance):
        value = getattr(instance, entry.name)
        if isinstance(value, tuple) and not value:
            continue  # names that nobody gave are no content
        # the array itself, without a copy: it may be most of the memory
        is_array = hasattr(value, "tobytes")
        if entry.metadata == NO_CONTENT_WHEN_ABSENT and not is_array and value == entry.default:
            continue
        digest.update(np.ascontiguousarray(value).data if is_array else repr(value).encode())
        digest.update(f"|{entry.name}|{getattr(value, 'shape', '')}".encode())
    return digest.hexdigest()[:16]
