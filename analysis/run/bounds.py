"""A table of instances, each with the best answer and the best proved bound that anybody showed.

A table is a folder: `table.jsonl` has a row for each question about an instance, and `instances/`,
`answers/` and `proofs/` have the files that rows rest on, named by their content. Nothing is
believed: an answer is checked and measured here, a bound comes from a proof that the verifier
accepts for this very instance, and a file changes a row only for the better. Only a row's set,
date, command and version are what somebody said.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from inspect import signature
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ... import catalog
from ...instances.problem.base import Instance
from ...instances.problem.errors import CotenantError, InvalidFile, UnknownName
from ...instances.problem.fields import field_types
from ...instances.problem.files import document, instance_of, locate, write_bytes, write_text
from ...instances.problem.options import accepted, accepts
from ...instances.problem.reading import parse_json, read_bytes, read_text
from ...instances.problem.registry import check as check_answer
from ...instances.problem.registry import problem_named, resolve
from ...solvers.outcome import agree
from ...solvers.proofs.rounding import option
from ...verify import methods_of
from ..registry import analysis_of
from .lock import locked
from .proving import judge
from .result import LOOSEST, fingerprint, versions

TABLE = "table.jsonl"
"""The file of a table's rows, in its folder."""

FILES = {"instance": "instances", "answer": "answers", "proof": "proofs"}
"""The files that a row names, and their folders."""

KEY = ("sha256", "question", "objective", "options")
"""What tells rows apart."""

WAIT = 60.0
"""Seconds that one who adds a row waits for others, which take milliseconds."""

REPEATED = 1e-12
"""A metric worked out again on another machine may differ by this fraction of itself."""

OTHER_WAY = {"min": "max", "max": "min"}
"""Which bounds are the stronger: of what is to be least, the greatest."""

BoundRow = dict[str, Any]
"""A row of a table, see `documents.BoundDocument`."""


class NotAdded(CotenantError):
    """What was offered changes no row of a table; the message says why."""


@dataclass(frozen=True)
class Question:
    """What is asked of an instance: by the first method of those that ask the same, its first
    objective, "min" or "max", and which options change it (None: those of the metrics).
    """

    problem: str
    method: str
    objective: str
    sense: str
    options: tuple[str, ...] | None = None

    @property
    def entry(self) -> catalog.Method:
        """The method of the catalogue; what the verifier calls it by some of its options begins
        with its name.
        """
        known = sorted(catalog.methods(self.problem), key=lambda one: -len(one.name))
        return next(one for one in known if f"{self.method}-".startswith(f"{one.name}-"))

    def asked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that change it, without usual values, as proofs hold them."""
        metrics = analysis_of(self.problem).metrics
        usual = {name: _as_in_proofs(one.default) for taker in (metrics, self.entry.resolve())
                 for name, one in signature(taker).parameters.items()}  # fmt: skip
        changes = partial(accepts, metrics) if self.options is None else self.options.__contains__
        given = {name: _as_in_proofs(options[name]) for name in sorted(filter(changes, options))}
        if not given.get("alpha"):
            given.pop("alpha_mode", None)
        return {name: value for name, value in given.items() if value != usual.get(name)}


def _as_in_proofs(value: Any) -> Any:
    """An option's value as proofs hold it."""
    return option(value) if type(value) in (int, float) else value


@cache
def questions(problem: str) -> dict[str, Question]:
    """What can be asked of a problem, by method: the verifier's, then the other exact ones."""
    found: dict[str, Question] = {}
    first: dict[tuple[str, object], str] = {}
    for name, (options, goals, checker) in methods_of(problem).items():
        same = first.setdefault((goals, checker), name)  # the same objectives, judged alike
        objective, sense = goals.split(",")[0].split()
        found[name] = Question(problem, same, objective, sense, tuple(options.split()))
    senses = {metric.name: metric.sense for metric in analysis_of(problem).metric_table}
    for entry in catalog.methods(problem):
        if entry.kind == "exact" and entry.name not in found and senses.get(entry.objective):
            found[entry.name] = Question(
                problem, entry.name, entry.objective, senses[entry.objective]
            )
    return found


@dataclass(frozen=True)
class Given:
    """An instance, and the content of its file."""

    content: bytes
    instance: Instance

    @classmethod
    def read(cls, path: Path) -> Given:
        """The instance of a file."""
        content = read_bytes(path)
        text = content.decode("utf-8-sig")
        return cls(content, instance_of(document(text, path), text, path))

    @property
    def facts(self) -> BoundRow:
        """What rows say of it."""
        size: dict[str, int] = {}
        for field in field_types(type(self.instance)):
            if field.axes is not None:
                shape = getattr(getattr(self.instance, field.name), "shape", ())
                size |= dict(zip(field.axes.names.split(), shape, strict=False))
        size = {axis: length for axis, length in size.items() if not axis.isdecimal()}
        facts = {"name": self.instance.name, "problem": self.instance.problem, "size": size}
        return {"sha256": sha256(self.content).hexdigest(), **facts}

    def question(self, name: str = "") -> Question:
        """What the method of that name asks; else the first exact one that is meant for it."""
        known = questions(self.instance.problem)
        if name and name not in known:
            raise UnknownName(f"{self.instance.problem} question", name, known)
        exact = [one for one in catalog.methods(self.instance.problem) if one.name in known]
        exact.sort(key=lambda one: (not one.applies_to(self.instance), bool(one.no_starts)))
        return known[name or exact[0].name]


@dataclass(frozen=True)
class Evidence:
    """What a file shows of an instance: value, bound, kind and levels as rows have them."""

    question: Question
    options: dict[str, Any]
    content: bytes
    value: float | None
    bound: float | None = None
    kind: str = ""
    levels: tuple[dict[str, Any], ...] = ()

    @property
    def place(self) -> str:
        """Its file in the folder of a table."""
        return _place("proofs" if self.kind else "answers", self.content)


def _place(folder: str, content: bytes) -> str:
    return f"{folder}/{sha256(content).hexdigest()[:32]}.json.gz"


def judged(given: Given, content: bytes, where: str, question: str = "") -> Evidence:
    """What a proof or a result shows of an instance, worked out here.

    Parameters
    ----------
    content : of the file: a proof, or a result as `cotenant solve --out` writes it, of which only
        answer, method and options are looked at: `{"solution": {...}}` will do.
    where : its name, for messages.
    question : the method whose question it has to be about; what it says when empty.

    Raises
    ------
    NotAdded
        It is of another instance or question, the verifier refuses it, or it shows nothing.
    InfeasibleSolution
        The answer breaks a rule of the instance.
    InvalidFile
        It is neither.
    """
    found = parse_json(content.decode("utf-8-sig"), where)
    if "cotenant_proof" in found:
        evidence = _proof(given, content, found, where)
        if question and evidence.question.method != given.question(question).method:
            raise NotAdded(f"{where} is about {evidence.question.method}, not {question}")
        return evidence
    if "solution" in found:
        return _answer(given, content, found, where, question)
    raise InvalidFile(
        f"{where} is neither a result nor a proof, as `cotenant solve --out` and `cotenant prove` "
        "write them"
    )


def _proof(given: Given, content: bytes, proof: Mapping[str, Any], where: str) -> Evidence:
    with TemporaryDirectory() as folder:  # what is judged is what is kept, whoever writes meanwhile
        instance = write_bytes(Path(folder) / "instance.json", given.content)
        code, says = judge(instance, write_bytes(Path(folder) / "proof.json", content))
    if code:
        raise NotAdded(f"{where}: {says}")
    question = given.question(proof["method"])
    whole = analysis_of(question.problem).whole
    claims = [_in_json(level["claim"], whole) for level in (proof, *proof["levels"])]
    first, *rest = claims
    return Evidence(
        question, question.asked(proof["options"]), content,
        first["value"], first["bound"], first["kind"], tuple(rest),
    )  # fmt: skip


def _in_json(claim: Mapping[str, Any], whole: frozenset[str]) -> dict[str, Any]:
    """An accepted claim in numbers of JSON; a bound on what counts is a whole number too."""
    found = {"objective": claim["objective"], "sense": claim["sense"], "kind": claim["claim_kind"]}
    for name in ("value", "bound"):
        exact = None if claim[name] is None else Fraction(claim[name])
        if exact is not None and name == "bound" and claim["objective"] in whole:
            exact = Fraction(math.ceil(exact) if claim["sense"] == "min" else math.floor(exact))
        found[name] = exact
        if exact is not None:
            found[name] = int(exact) if exact.denominator == 1 else float(exact)
    return found


def _answer(
    given: Given, content: bytes, result: Mapping[str, Any], where: str, question: str
) -> Evidence:
    instance, problem = given.instance, given.instance.problem
    if result["solution"] is None:
        raise NotAdded(f"{where} has no answer in it; that there is none, a proof shows")
    # 1. The answer itself, and that it is feasible.
    try:
        stated = dict(result.get("result", {}))
        options = dict(stated.get("options", {}))
        kind = problem_named(problem).solution_named(result.get("answer"))
        solution = kind.from_document(result["solution"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InvalidFile(f"{where} is no answer to a {problem} instance: {error}") from None
    if stated.get("fingerprint") not in (None, "", fingerprint(instance)):
        raise NotAdded(f"{where} is of another instance, {stated.get('instance')!r}")
    check_answer(instance, solution)
    # 2. What it answers: what is asked, else what its method optimizes.
    known, about = questions(problem), given.question(question)
    entry = next((m for m in catalog.methods(problem) if m.name == stated.get("method")), None)
    if entry is not None and not question:
        objective = entry.objective_of(options)
        same = [name for name, one in known.items() if one.objective == objective]
        own = [name for name in same if f"{name}-".startswith(f"{entry.name}-")]
        if not same:
            raise NotAdded(f"{where} optimizes {objective}, which no question of {problem} does")
        about = known[(own or same)[0]]
    entry = about.entry
    asked = about.asked(options)
    if entry.kind != "exact" or entry.no_starts:  # being feasible is not enough: a proof shows more
        return Evidence(about, asked, content, None)
    if not entry.applies_to(instance):
        raise NotAdded(f"{where}: {about.method} needs {entry.precondition_text}")
    if entry.asks and (asks := resolve(entry.asks))(
        instance, solution, **accepted(asks, options)
    ) is None:  # fmt: skip
        raise NotAdded(f"{where} is feasible, but no answer to what {about.method} asks")
    # 3. What it is worth.
    metrics = analysis_of(problem).metrics
    changing = accepted(metrics, {name: options[name] for name in asked})
    value = metrics(instance, solution, **changing).get(about.objective, math.nan)
    if not math.isfinite(value):
        raise NotAdded(f"{where}: its {about.objective} is not measured")
    return Evidence(about, asked, content, int(value) if float(value).is_integer() else value)


def read_table(table: str | os.PathLike[str]) -> list[BoundRow]:
    """The rows of a table; [] where there is none yet. Raises InvalidFile for what is no row."""
    from .documents import BoundDocument, require_document

    path, rows = Path(table) / TABLE, list[BoundRow]()
    for number, line in enumerate(read_text(path).splitlines() if path.exists() else (), start=1):
        rows.append(parse_json(line, where := f"{path}, line {number},"))
        require_document(BoundDocument, rows[-1], where)
    return rows


def better(one: float | None, other: float | None, sense: str) -> bool:
    """Whether a value is better than another by more than rounding; any is better than none."""
    if one is None or other is None:
        return one is not None and other is None
    return not agree(one, other, abs(one)) and (one < other) == (sense == "min")


def is_closed(row: BoundRow) -> bool:
    """Whether nothing is left to find: it is proved that there is no answer, or that the best one
    is an equilibrium or has the value of its bound, at every level that is in the proof.
    """
    if row["kind"] == "equilibrium":
        return row["value"] is not None and row["value"] <= LOOSEST
    claims = ((claim["value"], claim["bound"]) for claim in (row, *row["levels"]))
    return row["kind"] == "infeasible" or all(
        None not in claim and agree(*claim, abs(claim[0])) for claim in claims
    )


def gap_of(row: BoundRow) -> float | None:
    """How far the best answer may be from the best there is, as a fraction of the bound."""
    value, bound = row["value"], row["bound"]
    return None if value is None or not bound else abs(value - bound) / abs(bound)


def add(
    table: str | os.PathLike[str],
    source: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str]] = (),
    *,
    question: str = "",
    set_name: str = "",
    keep_instance: bool = True,
    command: str = "",
) -> tuple[BoundRow, BoundRow | None]:
    """Add an instance to a table, and what files show of it where that is better than before.

    Parameters
    ----------
    table : its folder, made when it is not there.
    source : the instance's file, or a bundled instance.
    files : results and proofs, of this package or of anybody, about one question.
    question : the method whose question they are about; when empty, what they say, or what the
        problem's first exact method asks.
    set_name : what people call the instances that it belongs to; its folder's name when empty.
    keep_instance : whether the folder gets a copy of the instance, without which nobody else can
        check the row; False for data that you may not hand on.
    command : that made the row, for people.

    Returns
    -------
    The row as it is now, and as it was; None where there was none.

    Raises
    ------
    NotAdded
        A file is refused, with the reason, or nothing is better than before. Nothing is written.
    InfeasibleSolution
        An answer breaks a rule of the instance.
    InvalidFile
        A file cannot be read or written.

    Examples
    --------
    >>> import cotenant
    >>> from tempfile import mkdtemp
    >>> folder, tiny = mkdtemp(), cotenant.read("packing/tiny")
    >>> result = cotenant.solve(tiny, "min-servers")
    >>> proof = cotenant.prove(tiny, result, folder).file
    >>> row, _ = add(f"{folder}/table", f"{folder}/packing-{result.fingerprint}.json", [proof])
    >>> row["objective"], row["value"], row["bound"], row["kind"]
    ('servers', 4, 4, 'optimal')
    """
    path = locate(source)
    given = Given.read(path)
    shown = [judged(given, read_bytes(file), os.fspath(file), question) for file in files]
    about = {(one.question.method, json.dumps(one.options)) for one in shown}
    if len(about) > 1:
        words = " and ".join(f"{method} {options}" for method, options in sorted(about))
        raise NotAdded(f"the files are about different questions: {words}")
    asked = shown[0].question if shown else given.question(question)
    if shown and all(one.value is None and not one.kind for one in shown):
        raise NotAdded(f"an answer to {asked.method} is judged with its proof; add that too")
    fresh: BoundRow = given.facts | {
        "set": set_name or path.resolve().parent.name, "question": asked.method,
        "options": shown[0].options if shown else {}, "objective": asked.objective,
        "sense": asked.sense, "value": None, "bound": None, "kind": "", "levels": [],
        "instance": None, "answer": None, "proof": None, "date": time.strftime("%Y-%m-%d"),
        "command": command, "version": versions()["cotenant"],
    }  # fmt: skip
    return _merged(Path(table), fresh, given, shown, keep_instance)


def _merged(
    table: Path, fresh: BoundRow, given: Given, shown: list[Evidence], keep: bool
) -> tuple[BoundRow, BoundRow | None]:
    """Write the better row, and its files, while nobody else writes."""
    try:
        for folder in FILES.values():
            (table / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{table} cannot be made: {error.strerror}") from None
    with locked(table / TABLE, "--table", wait=WAIT):
        rows = read_table(table)
        key = [fresh[name] for name in KEY]
        place = next((n for n, row in enumerate(rows) if [row[k] for k in KEY] == key), len(rows))
        before = rows[place] if place < len(rows) else None
        # 1. What each file makes better; a copy of the instance is something new too.
        row, copy = before or fresh, _place("instances", given.content)
        for one in shown:
            row = _better(row, one)
        row = row | {"instance": copy if keep else row["instance"]}
        if row == before:
            raise NotAdded(f"{_title(row)}: no better; {_seen(row, shown)}")
        row |= {name: fresh[name] for name in ("date", "command", "version")}
        # 2. Files first: a row never names one that is not there.
        contents = {copy: given.content} | {one.place: one.content for one in shown}
        for file in {row[name] for name in FILES} & contents.keys():
            write_bytes(table / file, gzip.compress(contents[file], mtime=0))
        rows[place:] = [row, *rows[place + 1 :]]
        write_text(table / TABLE, "".join(json.dumps(each) + "\n" for each in rows))
        # 3. What no row names any more goes.
        named = {None, *(each[name] for each in rows for name in FILES)}
        for old in {before[name] for name in FILES if before} - named:
            with suppress(OSError):
                (table / old).unlink()
    return row, before


def _title(row: BoundRow) -> str:
    return f"{row['name']}, {row['question']}, {row['objective']}"


def _seen(row: BoundRow, shown: Sequence[Evidence]) -> str:
    """What files show, beside what the table has."""
    pairs = ((name, getattr(one, name)) for one in shown for name in ("value", "bound"))
    words = [
        f"{name} {seen} (the table has {row[name]})" for name, seen in pairs if seen is not None
    ]
    return ", ".join(words) or "it is in the table already"


def _better(row: BoundRow, one: Evidence) -> BoundRow:
    """The row with what a file shows where that is better; raises NotAdded for what cannot be."""
    sense, other_way = row["sense"], OTHER_WAY[row["sense"]]
    for value, bound in ((one.value, row["bound"]), (row["value"], one.bound)):
        beyond = bound is not None and value is not None and better(value, bound, sense)
        if beyond or (value is not None and "infeasible" in (one.kind, row["kind"])):
            raise NotAdded(
                f"{row['name']}: an answer with {row['objective']} {value} contradicts an accepted "
                f"proof ({one.place}, {row['proof']}); a checker is wrong: please report it"
            )
    changed = dict(row)
    if better(one.value, row["value"], sense):
        changed |= {"value": one.value, "answer": one.place, "levels": []}
    best = not better(changed["value"], one.value, sense)  # what its further levels are about
    further = best and _further(one.levels, changed["levels"])
    settles = further or one.kind not in ("", "gap", row["kind"])
    weaker = better(row["bound"], one.bound, other_way)
    if one.kind and (
        better(one.bound, row["bound"], other_way) or (settles and not weaker)
    ):  # fmt: skip
        changed |= {"bound": one.bound, "kind": one.kind, "proof": one.place}
        changed |= {"levels": list(one.levels) if best else []}
        changed |= {"answer": one.place} if further else {}
    return changed


def _further(new: Sequence[BoundRow], old: Sequence[BoundRow]) -> bool:
    """Whether the levels after the first are better: the earlier first, by value, then by bound."""
    for one, other in zip_longest(new, old):
        if one is None or other is None:
            return other is None
        for name, sense in (("value", one["sense"]), ("bound", OTHER_WAY[one["sense"]])):
            if better(one[name], other[name], sense) or better(other[name], one[name], sense):
                return better(one[name], other[name], sense)
    return False


def check(
    table: str | os.PathLike[str],
    rows: Sequence[BoundRow] | None = None,
    *,
    jobs: int = 1,
    instances: str | os.PathLike[str] | None = None,
) -> Iterator[tuple[BoundRow, str]]:
    """Judge again every file that the rows of a table rest on; yields each row as it is done, with
    what of it is not borne out ("" when all is).

    Parameters
    ----------
    table, rows : its folder, and those to judge; all when None.
    jobs : how many rows at the same time; the verifier of each is a process of its own.
    instances : a folder with the instances that the table has no copies of, under any names.
    """
    found = [] if instances is None else [*Path(instances).rglob("*.json*")]
    others = {sha256(read_bytes(path)).hexdigest(): path for path in found if path.is_file()}
    rows = read_table(table) if rows is None else rows
    with ThreadPoolExecutor(jobs) as pool:
        going = {pool.submit(_broken, Path(table), row, others): row for row in rows}
        try:
            for done in as_completed(going):
                yield going[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _broken(table: Path, row: BoundRow, others: Mapping[str, Path]) -> str:
    """What of a row its files do not bear out."""
    try:
        path = others.get(row["sha256"]) if row["instance"] is None else table / row["instance"]
        if path is None:
            return "there is no copy of the instance; --instances FOLDER names where it is"
        given, shown = Given.read(path), dict[str, Evidence]()
        for name in ("answer", "proof"):
            if (file := row[name]) is not None:
                shown[name] = judged(given, read_bytes(table / file), file, row["question"])
                if shown[name].place != file:
                    return f"{file} was changed: its name is not that of its content"
        found = given.facts
        for one in shown.values():
            about = one.question
            found |= {"question": about.method, "objective": about.objective, "sense": about.sense}
            found |= {"options": one.options}
        proof = shown.get("proof")
        found["value"] = shown["answer"].value if "answer" in shown else None
        found |= {"bound": proof and proof.bound, "kind": proof.kind if proof else ""}
    except (CotenantError, LookupError, ValueError) as error:
        return str(error)
    for name, value in found.items():
        close = isinstance(value, float) and isinstance(row[name], float)
        if not (math.isclose(value, row[name], rel_tol=REPEATED) if close else value == row[name]):
            return f"{name} is {row[name]!r} in the table, and {value!r} by its files"
    if row["levels"] and (proof is None or list(proof.levels) != row["levels"]):
        return "its levels are not those of its proof"
    return ""
