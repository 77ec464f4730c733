"""Results of `cotenant.solve`, with everything to judge, store and repeat them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...instances.problem.answer_table import KEPT, AnswerTable, answer_table
from ...instances.problem.base import (
    NO_CONTENT_WHEN_ABSENT,
    Answer,
    Instance,
    SignatureErrors,
)
from ...instances.problem.documents import to_json_value
from ...instances.problem.errors import (
    CotenantError,
    InvalidFile,
)
from ...instances.problem.files import FORMAT, write_text
from ...instances.problem.reading import document_kind, is_version, parse_json, read_text
from ...instances.problem.registry import problem_named
from ...instances.problem.text import html_facts
from ...solvers.outcome import AGREE, Outcome, Status, Stop, gap, gap_absolute

if TYPE_CHECKING:
    import pandas

_CLAIMED = {"proof_status": "claimed"}

_SUMMARY = (
    "problem", "instance", "fingerprint", "method", "seed", "status", "stop", "objective_name",
    "objective", "bound", "gap", "gap_absolute", "tolerance", "scale", "levels", "proof", "seconds",
    "options", "metrics", "versions",
)  # fmt: skip
"""Fields of `Result.summary`, in the order of rows and files."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Result(Outcome[Answer], metaclass=SignatureErrors):
    """The outcome of a method and everything that is needed to judge, store and repeat it; the
    `solution` of a `Result[Pairing]` is a Pairing.

    Attributes
    ----------
    problem, instance, method : names.
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
        """HTML of this result for a notebook."""
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
        """At most `most` rows of the answer with names; None without an answer or names."""
        if self.solution is None:
            return None
        if self.given is not None:
            return answer_table(self.given, self.solution, most)
        named = (self.stored or {}).get("named")
        if not isinstance(named, dict):
            return None
        rows = tuple(map(tuple, named["rows"][:most]))
        return AnswerTable(named["sentence"], tuple(named["columns"]), rows, named["total"])

    def to_frame(self) -> pandas.DataFrame:
        """Answer as a frame with its instance's names, a row for each part; empty without one."""
        import pandas

        if self.solution is not None and self.given is not None:
            return self.solution.to_frame(self.given)
        table = self.described()
        rows, columns = (table.rows, list(table.columns)) if table is not None else ((), None)
        return pandas.DataFrame(rows, columns=columns)

    @property
    def gap(self) -> float | None:
        """|objective - bound| / |objective|, 0 when they agree (`solvers.outcome.agree`), None
        without a bound or if the objective is 0: see `gap_absolute`.
        """
        return gap(self.objective, self.bound, self.tolerance, self.scale)

    @property
    def gap_absolute(self) -> float | None:
        """|objective - bound|, 0 when they agree, None without a bound."""
        return gap_absolute(self.objective, self.bound, self.tolerance, self.scale)

    def summary(self) -> dict[str, Any]:
        """One flat row: names, status, objective, bound, gap, seconds, and the metrics."""
        row: dict[str, Any] = {name: getattr(self, name, None) for name in _SUMMARY}
        row |= {"status": self.status.value, "stop": self.stop.value}
        row |= {name: dict(row[name]) for name in ("proof", "options", "metrics", "versions")}
        return row | {"levels": self.certificate.get("levels", [])}

    def document(self) -> dict[str, Any]:
        """The whole result as JSON values; `from_document` is the inverse."""
        named = self.described(KEPT)
        return {
            "cotenant": FORMAT,
            "result": self.summary(),
            "answer": None if self.solution is None else type(self.solution).__name__,
            "solution": None if self.solution is None else self.solution.document(),
            **({} if named is None else {"named": to_json_value(named)}),
            "certificate": to_json_value(dict(self.certificate)),
            "trace": [list(entry) for entry in self.trace],
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
        if solution is not None:
            kind = problem_named(row["problem"]).solution_named(content.get("answer"))
            solution = kind.from_document(solution)
        apart = {"solution", "certificate", "trace", "stored", "given"}  # not of the summary
        known = {each.name: row[each.name] for each in fields(cls) if each.name not in apart}
        known |= {"status": Status(row["status"]), "stop": Stop(row["stop"])}
        trace = tuple((entry[0], entry[1], entry[2]) for entry in content["trace"])
        more = {"certificate": content["certificate"], "trace": trace, "stored": content}
        return cls(solution=solution, **known | more)

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
    """Refuse a stored result whose fields have wrong types."""
    from .documents import ResultDocument, misfit  # with pydantic

    if not is_version(content.get("cotenant"), FORMAT):
        raise ValueError(f"cotenant is {content.get('cotenant')!r}, expected {FORMAT}")
    if wrong := misfit(ResultDocument, content):
        raise ValueError(wrong)
    row = content["result"]
    for level in content["certificate"].get("levels", []):
        Status(level["status"])
    implied = gap(row["objective"], row["bound"], row["tolerance"], row["scale"])
    stated = row["gap"]
    if stated != implied and (stated is None or implied is None or abs(stated - implied) > AGREE):
        raise ValueError(f"gap is {stated}, but the objective and the bound give {implied}")


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
    """Sixteen hexadecimal digits of the instance's content, to distinguish equal names."""
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
