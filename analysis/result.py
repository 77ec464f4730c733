"""What `cotenant.solve` returns, and the one way a method is run: timed, checked, its objective recomputed by us."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..instances.problem.base import Instance, Solution, plain
from ..instances.problem.errors import InfeasibleSolution, InvalidFile
from ..instances.problem.files import FORMAT, parse_json, read_text, write_text
from ..instances.problem.options import accepts
from ..instances.problem.registry import check, problem_named
from ..solvers.outcome import AGREE, Outcome, Report, Status, Stop, gap, gap_absolute, validate_time_limit

LOOSEST = 1e-3
"""An equilibrium claimed within more than this is not accepted as one."""

Trace = tuple[tuple[float, float | None, float | None], ...]


@dataclass(frozen=True)
class Result:
    """An answer and everything that is needed to judge, store and repeat it.

    Attributes
    ----------
    problem, instance, method : names.
    outcome : solution, bound, status, stop, certificate, trace.
    objective_name : the metric the method optimises; None when it optimises none of ours.
    objective : its value, recomputed from the solution; None without a solution.
    metrics : every metric of the problem, recomputed from the solution.
    seconds : wall time of the method.
    seed : of its random generator.
    options : as given.
    versions : of this package, Python and the libraries that can change an answer.
    fingerprint : of the instance's content.
    """

    problem: str
    instance: str
    method: str
    outcome: Outcome
    objective_name: str | None
    objective: float | None
    metrics: Mapping[str, float]
    seconds: float
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def solution(self) -> Any:
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
        """|objective - bound| / max(|objective|, 1e-9), 0 when they agree to 1e-9, None without a bound."""
        return gap(self.objective, self.bound, self.outcome.tolerance)

    @property
    def gap_absolute(self) -> float | None:
        """|objective - bound|, 0 when they agree to 1e-9, None without a bound."""
        return gap_absolute(self.objective, self.bound, self.outcome.tolerance)

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
            "levels": self.certificate.get("levels", []),
            "seconds": self.seconds,
            "options": dict(self.options),
            "metrics": dict(self.metrics),
            "versions": dict(self.versions),
        }

    def document(self) -> dict[str, Any]:
        """The whole result as JSON values; `from_document` is the inverse."""
        outcome = self.outcome
        content = {
            "cotenant": FORMAT,
            "result": self.summary(),
            "answer": None if outcome.solution is None else type(outcome.solution).__name__,
            "solution": None if outcome.solution is None else outcome.solution.document(),
            "certificate": plain(dict(outcome.certificate)),
            "trace": [list(entry) for entry in outcome.trace],
        }
        return content

    @classmethod
    def from_document(cls, content: Mapping[str, Any]) -> Result:
        """Rebuild a result from `document`."""
        row = content["result"]
        solution = content["solution"]
        _validate_row(row, content)
        kind = problem_named(row["problem"]).solution_named(content.get("answer"))
        outcome = Outcome(
            solution=None if solution is None else kind.from_document(solution),
            bound=row["bound"],
            status=Status(row["status"]),
            stop=Stop(row["stop"]),
            certificate=content["certificate"],
            trace=tuple((entry[0], entry[1], entry[2]) for entry in content["trace"]),
            tolerance=row.get("tolerance"),
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
        return cls(outcome=outcome, fingerprint=row.get("fingerprint", ""), **{name: row[name] for name in names})

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as JSON, whole or not at all."""
        return write_text(path, json.dumps(self.document(), allow_nan=False) + "\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `write` wrote.

        Raises
        ------
        InvalidFile
            The file is missing, truncated, or no result of this package.
        """
        content = parse_json(read_text(path), path)
        if "result" not in content:
            raise InvalidFile(f"{os.fspath(path)} is not a result; expected a file written by cotenant solve --out")
        try:
            return cls.from_document(content)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InvalidFile(f"{os.fspath(path)} is not a whole result: {error}") from None


def _validate_row(row: Any, content: Mapping[str, Any]) -> None:
    """Refuse a stored result whose fields are not of their types."""

    def number(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    if content.get("cotenant") != FORMAT:
        raise ValueError(f"cotenant is {content.get('cotenant')!r}, expected {FORMAT}")
    for name in ("objective", "bound"):
        if row[name] is not None and not number(row[name]):
            raise ValueError(f"{name} is {row[name]!r}, expected a number or null")
    for name in ("metrics", "options", "versions"):
        if not isinstance(row[name], dict):
            raise ValueError(f"{name} is {row[name]!r}, expected an object")
    for name, value in row["metrics"].items():
        if not number(value):
            raise ValueError(f"metric {name} is {value!r}, expected a number")
    if not isinstance(content["certificate"], dict):
        raise ValueError(f"certificate is {content['certificate']!r}, expected an object")
    for level in content["certificate"].get("levels", []):
        if not isinstance(level, dict) or not {"objective", "value", "bound", "status"} <= set(level):
            raise ValueError(f"level {level!r} is not whole")
    implied = gap(row["objective"], row["bound"], row.get("tolerance"))
    if row["gap"] != implied and (row["gap"] is None or implied is None or abs(row["gap"] - implied) > AGREE):
        raise ValueError(f"gap is {row['gap']}, but the objective and the bound give {implied}")


def run(
    instance: Instance,
    function: Callable[..., Any],
    *,
    method: str,
    objective_name: str | None,
    metrics: Callable[..., dict[str, float]],
    seed: int = 0,
    time_limit: float | None = None,
    start: Solution | Callable[[], Solution | None] | None = None,
    report: Report | None = None,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Run a method on an instance and judge its answer by our own `check` and metrics, whatever it says of itself.

    Ctrl-C while the metrics are worked out keeps the answer, with `stop` interrupted and no metrics.

    Raises
    ------
    InfeasibleSolution
        The method returned an answer that breaks a rule: a defect, never passed on silently.
    """
    validate_time_limit(time_limit)
    given = dict(options or {})
    begin = time.perf_counter()
    if callable(start):
        start = start()
    if time_limit is not None:  # finding the start is part of the method's time
        time_limit = max(time_limit - (time.perf_counter() - begin), 0.01 * time_limit)
    house = {"rng": np.random.default_rng(seed), "time_limit": time_limit, "start": start, "report": report}
    call = {name: value for name, value in house.items() if accepts(function, name)}
    own = {name: value for name, value in given.items() if accepts(function, name)}
    answer = function(instance, **call, **own)
    seconds = time.perf_counter() - begin
    outcome = answer if isinstance(answer, Outcome) else Outcome(solution=answer, bound=None, status=Status.FEASIBLE)
    measured: dict[str, float] = {}
    if outcome.solution is not None:
        try:
            measured = _measured(instance, outcome.solution, metrics, given)
        except InfeasibleSolution as error:
            raise InfeasibleSolution(f"{method} returned an answer that is not feasible: {error}") from error
        except KeyboardInterrupt:  # the method is done: its answer is kept
            outcome = _unmeasured(instance, outcome.solution, outcome)
    objective = None if objective_name is None else measured.get(objective_name)
    return Result(
        problem=instance.problem,
        instance=instance.name,
        method=method,
        outcome=_consistent(outcome, objective, method),
        objective_name=objective_name,
        objective=objective,
        metrics=measured,
        seconds=seconds,
        seed=seed,
        options=given,
        versions=versions(),
        fingerprint=fingerprint(instance),
    )


def _measured(
    instance: Instance, solution: Solution, metrics: Callable[..., dict[str, float]], options: Mapping[str, Any]
) -> dict[str, float]:
    """Every metric of a solution that passes `check`."""
    check(instance, solution)
    return metrics(instance, solution, **{name: value for name, value in options.items() if accepts(metrics, name)})


def _unmeasured(instance: Instance, solution: Solution, outcome: Outcome) -> Outcome:
    """What is kept of an answer when Ctrl-C comes before it is measured: it is checked, but its value proves nothing."""
    check(instance, solution)  # quick, and nothing is handed on without it
    status = Status.FEASIBLE if outcome.status is Status.OPTIMAL else outcome.status
    why = "interrupted before the answer was measured; `cotenant check` measures it"
    return replace(outcome, status=status, stop=Stop.INTERRUPTED, certificate={**outcome.certificate, "unmeasured": why})


def allowed(value: float, tolerance: float | None) -> float:
    """How far a bound may be from a proved value: an equilibrium's own tolerance, or the noise of recomputing an optimum."""
    return max(1.0, abs(value)) * 1e3 * AGREE if tolerance is None else min(tolerance, LOOSEST)


def _consistent(outcome: Outcome, objective: float | None, method: str) -> Outcome:
    """A claim of optimality must be borne out by the recomputed objective; otherwise it is withdrawn, with the reason."""
    if outcome.status is not Status.OPTIMAL or objective is None:
        return outcome
    difference = gap_absolute(objective, outcome.bound)
    if difference is not None and difference <= allowed(objective, outcome.tolerance):
        return outcome
    why = f"{method} said optimal with bound {outcome.bound}, but its answer is worth {objective}; not accepted as a proof"
    status = Status.FEASIBLE
    return Outcome(outcome.solution, None, status, outcome.stop, {**outcome.certificate, "withdrawn": why}, outcome.trace)


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
        digest.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
        digest.update(f"|{entry.name}|{getattr(value, 'shape', '')}".encode())
    return digest.hexdigest()[:16]
