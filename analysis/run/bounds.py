"""A table of instances, each with the best answer and the best proved bound that anybody showed.

A table is a folder: `table.jsonl` has a row for each question about an instance, and `instances/`,
`answers/` and `proofs/` have the files that rows rest on, named by their content. Nothing is
believed: an answer is checked and measured here, a bound comes from a proof that the verifier
accepts for this very instance, and a file changes a row only for the better. Only a row's set,
date, command and version are what somebody said.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from fractions import Fraction
from functools import cache
from hashlib import sha256
from inspect import signature
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

from ... import catalog
from ...instances.problem.base import Instance
from ...instances.problem.errors import CotenantError, InvalidFile, NotAdded
from ...instances.problem.fields import field_types
from ...instances.problem.files import document, instance_of, locate, write_text
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.options import accepted
from ...instances.problem.reading import parse_json, read_text
from ...instances.problem.registry import check as check_answer
from ...instances.problem.registry import resolve
from ...solvers.outcome import agree
from ...solvers.proofs.rounding import option
from ...verify import methods_of
from ..registry import analysis_of
from .given_answer import solution_in
from .lock import locked
from .proving import judge
from .result import LOOSEST, fingerprint, versions

TABLE = "table.jsonl"
"""The file of a table's rows, in its folder."""

WAIT = 60.0
"""Seconds that one who adds a row waits for others, which take milliseconds."""

OTHER_WAY = {"min": "max", "max": "min"}
"""Which bounds are the stronger: of what is to be least, the greatest."""

BoundRow = dict[str, Any]
"""A row of a table, see `FIELDS`."""

FIELDS = {
    "sha256": str, "name": str, "problem": str, "size": dict, "question": str, "options": dict,
    "objective": str, "sense": str, "value": int | float | None, "bound": int | float | None,
    "kind": str, "levels": list, "answer": str | None, "proof": str | None,
    "set": str, "date": str, "command": str, "version": str,
}  # fmt: skip
"""What a row has: of the instance its content's sha256 and the length of each of its axes; the
first method of those that ask the same, with the options that change it, as proofs hold them; the
best answer's value and the best proof's bound, what that proof claims ("optimal", "gap",
"infeasible", "equilibrium"; "" without one), and its levels after the first, where its own answer
is the best; the files of both; and when, by what, with which cotenant the row was changed last.
"""

_FILE = r"None|(answers|proofs)/[0-9a-f]{32}\.json\.gz"
_SHAPES = {"sense": "min|max", "sha256": "[0-9a-f]{64}", "answer": _FILE, "proof": _FILE}

CLAIM = ("objective", "sense", "kind", "value", "bound")
"""What a level has."""

ABOUT = ("question", "options", "objective", "sense")
"""What tells the rows of an instance apart."""

NOTHING: BoundRow = {"value": None, "bound": None, "kind": "", "levels": []}
"""What is known of a question at first."""

ROLES = {"answer": "answers", "proof": "proofs"}
"""The files that a row names, and their folders. A proof may be the answer too."""


class Question(NamedTuple):
    """What is asked: by the first of the methods that ask the same, its first objective, "min" or
    "max", which options change it, and the method of the catalogue.
    """

    method: str
    objective: str
    sense: str
    options: tuple[str, ...]
    entry: catalog.Method

    def asked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that change it, as proofs hold them, without usual values."""
        takers = (analysis_of(self.entry.problem).metrics, self.entry.resolve())
        usual = {name: _as_in_proofs(one.default) for taker in takers
                 for name, one in signature(taker).parameters.items()}  # fmt: skip
        given = {name: _as_in_proofs(options[name]) for name in self.options if name in options}
        return {name: value for name, value in given.items() if value != usual.get(name)}


def _as_in_proofs(value: Any) -> Any:
    return option(value) if type(value) in (int, float) else value


@cache
def questions(problem: str) -> dict[str, Question]:
    """What can be asked of a problem and proved, by the verifier's names of methods: those for some
    of a method's options begin with its own.
    """
    found: dict[str, Question] = {}
    first: dict[tuple[str, object], Question] = {}
    known = sorted(catalog.methods(problem), key=lambda method: -len(method.name))
    for name, (options, goals, checker) in methods_of(problem).items():
        objective, sense = goals.split(",")[0].split()
        for entry in [one for one in known if f"{name}-".startswith(f"{one.name}-")][:1]:
            question = Question(name, objective, sense, tuple(options.split()), entry)
            # the same objectives, judged alike, are the same question
            found[name] = first.setdefault((goals, checker), question)
    return found


def question_of(
    instance: Instance, method: str = "", options: Mapping[str, Any] | None = None
) -> Question:
    """What a method's answer is an answer to: what it asks itself, else what is asked of the metric
    it optimizes; without a method, what the first exact one asks that is meant for the instance.

    Raises
    ------
    UnknownName, NotAdded
        There is no such method, or no question about what it optimizes.
    """
    known, entries = questions(instance.problem), catalog.methods(instance.problem)
    if not method:
        exact = [one for one in entries if one.name in known and one.kind == "exact"]
        if not exact:
            raise NotAdded(f"nothing of {instance.problem} has proofs as files: no row")
        return known[min(exact, key=lambda m: (not m.applies_to(instance), bool(m.no_starts))).name]
    entry = catalog.find(instance.problem, method)
    objective = entry.objective_of(options or {})
    same = [one for one in known.values() if one.objective == objective]
    if not same:
        raise NotAdded(f"{method} optimizes {objective}, of which there are no proofs: no row")
    return min(same, key=lambda one: one.entry != entry)


def _read(path: Path) -> tuple[str, Instance, BoundRow]:
    """The text of an instance's file, the instance, and what rows say of it."""
    text, size = read_text(path), dict[str, int]()
    instance = instance_of(document(text, path), text, path)
    for field in field_types(type(instance)):
        axes = () if field.axes is None else field.axes.names.split()
        shape = getattr(getattr(instance, field.name), "shape", ())
        size |= {axis: n for axis, n in zip(axes, shape, strict=False) if not axis.isdecimal()}
    facts = {"sha256": sha256(text.encode()).hexdigest(), "name": instance.name}
    return text, instance, facts | {"problem": instance.problem, "size": size}


def _place(folder: str, text: str) -> str:
    return f"{folder}/{sha256(text.encode()).hexdigest()[:32]}.json.gz"


def instance_place(row: BoundRow) -> str:
    """Where the copy of a row's instance is in the folder, if there is one."""
    return f"instances/{row['sha256'][:32]}.json.gz"


def judged(given: str, instance: Instance, text: str, where: str) -> BoundRow:
    """What a file shows of an instance, worked out here, as rows have it, and its `file` there.

    It is a proof, or a result as `cotenant solve --out` writes it, of which only three things are
    looked at: the answer, the method, whose question it answers, and its options. Raises NotAdded
    for what is of another instance, refused by the verifier or no answer to that question,
    InfeasibleSolution for an answer that breaks a rule, InvalidFile for anything else.
    """
    found = parse_json(text, where)
    if "solution" in found:
        about, options, value = _measured(instance, found, where)
        claims = [NOTHING | {"value": value}]
    elif "cotenant_proof" in found:
        with TemporaryDirectory() as folder:  # what is judged is kept, whoever writes meanwhile
            path = write_text(Path(folder) / "instance.json", given)
            code, says = judge(path, write_text(Path(folder) / "proof.json", text))
        if code or found["method"] not in questions(instance.problem):
            raise NotAdded(f"{where}: {says if code else 'of no method of the catalogue: no row'}")
        errors = map(Fraction, found["claim"].get("epsilon", {}).values())
        if (error := max(errors, default=Fraction(0))) > LOOSEST:
            raise NotAdded(f"{where}: an equilibrium to within {float(error):g}, above {LOOSEST:g}")
        whole = analysis_of(instance.problem).whole
        claims = [_in_json(level["claim"], whole) for level in (found, *found["levels"])]
        about, options = questions(instance.problem)[found["method"]], found["options"]
    else:
        raise InvalidFile(f"{where} is no result (`cotenant solve --out`) and no proof")
    file = _place("proofs" if claims[0]["kind"] else "answers", text)
    return _about(about, options) | claims[0] | {"levels": claims[1:], "file": file}


def _in_json(claim: Mapping[str, Any], whole: frozenset[str]) -> dict[str, Any]:
    """An accepted claim in numbers of JSON; a bound on what counts is a whole number too."""
    found = {"objective": claim["objective"], "sense": claim["sense"], "kind": claim["claim_kind"]}
    for name in ("value", "bound"):
        number = claim[name]
        if number is not None:
            number = Fraction(number)
            if name == "bound" and claim["objective"] in whole:
                number = Fraction((math.ceil if claim["sense"] == "min" else math.floor)(number))
            number = int(number) if number.denominator == 1 else float(number)
        found[name] = number
    return found


def _measured(
    instance: Instance, result: Mapping[str, Any], where: str
) -> tuple[Question, dict[str, Any], float | None]:
    """What a result's answer is an answer to, with which options, and what it is worth there; None
    where being feasible is not enough, so that a proof shows it.
    """
    try:
        stated = dict(result.get("result", {}))
        options = dict(stated.get("options", {}))
    except (TypeError, ValueError):
        raise InvalidFile(f"{where}: result or its options is no object; expected one") from None
    solution = solution_in(instance, result, where)
    if stated.get("fingerprint", "") not in ("", fingerprint(instance)):
        raise NotAdded(f"{where} is of another instance, {stated.get('instance')!r}")
    check_answer(instance, solution)
    about = question_of(instance, str(stated.get("method", "")), options)
    entry, metrics = about.entry, analysis_of(instance.problem).metrics
    if entry.kind != "exact" or entry.no_starts:
        return about, options, None
    if not entry.applies_to(instance):
        raise NotAdded(f"{where}: {about.method} needs {entry.precondition_text}")
    asks = resolve(entry.asks) if entry.asks else None
    if asks and asks(instance, solution, **accepted(asks, options)) is None:
        raise NotAdded(f"{where} is feasible, but no answer to what {about.method} asks")
    changing = accepted(metrics, {name: options[name] for name in about.asked(options)})
    value = metrics(instance, solution, **changing).get(about.objective, math.nan)
    if not math.isfinite(value):
        raise NotAdded(f"{where}: its {about.objective} is not measured")
    return about, options, int(value) if float(value).is_integer() else value


@validate_options
def read_table(table: str | os.PathLike[str]) -> list[BoundRow]:
    """The rows of a table; raises InvalidFile for what is none."""
    path, rows = Path(table) / TABLE, list[BoundRow]()
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        rows.append(row := parse_json(line, f"{path}, line {number},"))
        wrong = _misfit(row, FIELDS)
        for level in () if wrong else row["levels"]:
            wrong = wrong or ("levels" if _misfit(level, CLAIM) else "")
        if wrong:
            seen = f"{path}, line {number}: {wrong} is {row.get(wrong)!r:.60}"
            raise InvalidFile(f"{seen}; expected what `cotenant bounds add` writes")
    return rows


def _misfit(part: Any, names: Iterable[str]) -> str:
    """The first field that is not of its type; "" when all are."""
    for name in names:
        value = part.get(name, ...) if isinstance(part, dict) else ...
        shape = _SHAPES.get(name, "(?s).*")
        if not isinstance(value, FIELDS[name]) or not re.fullmatch(shape, str(value)):
            return name
    return ""


def better(one: float | None, other: float | None, sense: str) -> bool:
    """Whether a value is better than another by more than rounding; any is better than none."""
    if one is None or other is None:
        return one is not None and other is None
    return not agree(one, other, abs(one)) and (one < other) == (sense == "min")


def status(row: BoundRow) -> str:
    """What is known: "closed" (the best answer has the value of its bound, at every level that is
    in the proof), "infeasible", "equilibrium", or "open".
    """
    claims = [(claim["value"], claim["bound"]) for claim in (row, *row["levels"])]
    closed = all(None not in claim and agree(*claim, abs(claim[0])) for claim in claims)
    proved = row["kind"] in ("infeasible", "equilibrium")
    return str(row["kind"]) if proved else "closed" if closed else "open"


@validate_options
def add(
    table: str | os.PathLike[str],
    source: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str]] = (),
    *,
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
    given, instance, facts = _read(path := locate(source))
    texts = [read_text(file) for file in files]
    shown = [judged(given, instance, text, os.fspath(file))
             for text, file in zip(texts, files, strict=True)]  # fmt: skip
    fresh = facts | NOTHING | _about(question_of(instance), {}) | {
        "answer": None, "proof": None, "set": set_name or path.resolve().parent.name,
        "date": time.strftime("%Y-%m-%d"), "command": command,
        "version": versions().get("cotenant", ""),
    }  # fmt: skip
    for one in shown:
        fresh |= {name: shown[0][name] for name in ABOUT}
        if (mine := _in_words(one)) != (first := _in_words(fresh)):
            raise NotAdded(f"the files are about different questions: {first}, and {mine}")
    if shown and all(one["value"] is None and not one["kind"] for one in shown):
        raise NotAdded(f"an answer to {fresh['question']} is judged with its proof; add that too")
    kept = {one["file"]: text for one, text in zip(shown, texts, strict=True)}
    kept |= {instance_place(fresh): given} if keep_instance else {}
    return _merged(Path(table), fresh, shown, kept)


def _merged(
    table: Path, fresh: BoundRow, shown: Sequence[BoundRow], texts: Mapping[str, str]
) -> tuple[BoundRow, BoundRow | None]:
    """Write the better row, and those files that it rests on, while nobody else writes."""
    try:
        for folder in ("instances", *ROLES.values()):
            (table / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{table} cannot be made: {error.strerror}") from None
    with locked(table / TABLE, "--table", wait=WAIT):
        rows = read_table(table) if (table / TABLE).exists() else []
        key = [fresh[name] for name in ("sha256", *ABOUT)]
        keys = [[row[name] for name in ("sha256", *ABOUT)] for row in rows]
        place = keys.index(key) if key in keys else len(rows)
        before = rows[place] if key in keys else None
        row, copy = before or fresh, instance_place(fresh)
        for one in shown:
            row = _better(row, one)
        if row == before and ((table / copy).exists() or copy not in texts):
            seen = [f"{name} {one[name]} (the table has {row[name]})" for one in shown
                    for name in ("value", "bound") if one[name] is not None]  # fmt: skip
            words = ", ".join(seen) or "it is in the table"
            raise NotAdded(f"{row['name']}, {_in_words(row)}: no better; {words}")
        row = row | {name: fresh[name] for name in ("date", "command", "version")}
        for file in texts.keys() & {copy, row["answer"], row["proof"]}:
            # files first: a row never names one that is not there
            write_text(table / file, texts[file])
        rows[place:] = [row, *rows[place + 1 :]]
        write_text(table / TABLE, "".join(json.dumps(each) + "\n" for each in rows))
        named = {None, *(each[role] for each in rows for role in ROLES)}
        for old in {before[role] for role in ROLES if before} - named:
            with suppress(OSError):
                (table / old).unlink()
    return row, before


def _about(question: Question, options: Mapping[str, Any]) -> BoundRow:
    asked = {"question": question.method, "options": question.asked(options)}
    return asked | {"objective": question.objective, "sense": question.sense}


def _in_words(row: BoundRow) -> str:
    options = "".join(f" {name}={value}" for name, value in row["options"].items())
    return f"{row['objective']} of {row['question']}{options}"


def _better(row: BoundRow, one: BoundRow) -> BoundRow:
    """The row with what a file shows where that is better; raises NotAdded for what cannot be."""
    sense, other_way = row["sense"], OTHER_WAY[row["sense"]]
    for value, bound in ((one["value"], row["bound"]), (row["value"], one["bound"])):
        beyond = value is not None and bound is not None and better(value, bound, sense)
        if beyond or (value is not None and "infeasible" in (one["kind"], row["kind"])):
            raise NotAdded(
                f"{row['name']}, {_in_words(row)}: an answer worth {value} contradicts an accepted "
                f"proof of {bound or 'none'}; a checker is wrong: please report it, with both"
            )
    changed = dict(row)
    if better(one["value"], row["value"], sense):
        changed |= {"value": one["value"], "answer": one["file"], "levels": []}
    best = not better(changed["value"], one["value"], sense)  # what its further levels are about
    further = best and _further(one["levels"], changed["levels"])
    settles = further or one["kind"] not in ("", "gap", row["kind"])
    weaker = better(row["bound"], one["bound"], other_way)
    if better(one["bound"], row["bound"], other_way) or (settles and not weaker):
        changed |= {"bound": one["bound"], "kind": one["kind"], "proof": one["file"]}
        changed |= {"levels": one["levels"] if best else []}
        changed |= {"answer": one["file"]} if further else {}
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


@validate_options
def check(
    table: str | os.PathLike[str], *, jobs: Annotated[int, AtLeast(1)] = 1
) -> Iterator[tuple[BoundRow, str]]:
    """Judge again every file that the rows of a table rest on, so many rows at the same time, the
    verifier of each in a process of its own; yields each row as it is done, with what of it is not
    borne out: "" when all is.
    """
    with ThreadPoolExecutor(jobs) as pool:
        going = {pool.submit(_broken, Path(table), row): row for row in read_table(table)}
        try:
            for done in as_completed(going):
                yield going[done], done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _broken(table: Path, row: BoundRow) -> str:
    """What of a row its files do not bear out."""
    try:
        given, instance, found = _read(table / instance_place(row))
        found |= NOTHING
        for role in (role for role in ROLES if row[role] is not None):
            one = judged(given, instance, read_text(table / row[role]), row[role])
            if one["file"] != row[role]:
                return f"{row[role]} was changed: its name is not that of its content"
            shows = ("value",) if role == "answer" else ("bound", "kind", "levels")
            found |= {name: one[name] for name in (*ABOUT, *shows)}
    except CotenantError as error:
        return str(error)
    for name, value in found.items():
        close = isinstance(value, float) and isinstance(row[name], float)
        same = math.isclose(value, row[name], rel_tol=1e-12) if close else value == row[name]
        if not same and (name, row[name]) != ("levels", []):  # its own answer may not be the best
            return f"{name} is {row[name]!r} in the table, and {value!r} by its files"
    return ""
