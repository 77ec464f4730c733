"""A table of instances, each with the best answers and the best proved bounds that anybody showed.

A table is a folder: `table.jsonl` has a row for each instance and each accepted proof about it, and
`files/` has both, named by their content. Nothing is believed: of a row only its set, date and
version are what somebody said; all else is what the verifier accepted for this very instance. An
answer alone is a proof whose bound is null.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from ... import catalog
from ...instances.problem.errors import CotenantError, InvalidFile, NotAdded
from ...instances.problem.fields import field_types
from ...instances.problem.files import document, instance_of, locate, write_text
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.reading import parse_json, read_text
from ...solvers.outcome import agree
from ...verify import methods_of
from ..registry import analysis_of
from .lock import locked
from .proving import judge
from .question import LOOSEST
from .result import versions

TABLE = "table.jsonl"
"""The file of a table's rows, in its folder."""

WAIT = 60.0
"""Seconds that one who adds a row waits for others, which take milliseconds."""

BoundRow = dict[str, Any]
"""A row of a table, see `FIELDS`, or what the rows of a question say together, see `known`."""

FIELDS = {
    "sha256": "[0-9a-f]{64}", "proof": "|[0-9a-f]{64}", "name": str, "problem": str, "size": dict,
    "question": str, "options": dict, "kind": str, "levels": list, "set": str, "date": str,
    "version": str,
}  # fmt: skip
"""What a row has: of the instance and of the proof ("" for none) the content's sha256, of the
instance the length of each axis, the first method of those that ask the same, with the options as
proofs hold them, what the proof claims ("optimal", "gap", "infeasible", "equilibrium", "" without
one), its levels, and what is only said: set, date of the addition, and version of cotenant.
"""

LEVEL = {"objective": str, "sense": "min|max", "value": int | float | None,
         "bound": int | float | None}  # fmt: skip
"""What a level has."""


def file_of(digest: str) -> str:
    """Path of the file with this sha256 in the folder of a table of bounds."""
    return f"files/{digest[:32]}.json.gz"


def _read(path: Path) -> tuple[str, BoundRow]:
    """The text of an instance's file, and its row without a proof: of what the first exact method
    asks that is meant for it.
    """
    text, size = read_text(path), dict[str, int]()
    instance = instance_of(document(text, path), text, path)
    for field in field_types(type(instance)):
        axes = () if field.axes is None else field.axes.names.split()
        shape = getattr(getattr(instance, field.name), "shape", ())
        size |= {axis: n for axis, n in zip(axes, shape, strict=False) if not axis.isdecimal()}
    goals = {name: goals for name, (_, goals, _) in methods_of(instance.problem).items()}
    entries = catalog.methods(instance.problem)
    exact = [one for one in entries if one.name in goals and one.kind == "exact"]
    if not exact:
        raise NotAdded(f"nothing of {instance.problem} has proofs as files: no row")
    method = min(exact, key=lambda one: (not one.applies_to(instance), bool(one.no_starts))).name
    objective, sense = goals[method].split(",")[0].split()
    return text, {
        "sha256": sha256(text.encode()).hexdigest(), "proof": "", "name": instance.name,
        "problem": instance.problem, "size": size, "options": {}, "kind": "",
        "question": _first_with(instance.problem, method),
        "levels": [{"objective": objective, "sense": sense, "value": None, "bound": None}],
    }  # fmt: skip


def _first_with(problem: str, method: str) -> str:
    """The first method with the objectives and the checker of this one: it asks the same."""
    asked = methods_of(problem)
    return next(name for name, what in asked.items() if what[1:] == asked[method][1:])


def judged(given: str, bare: BoundRow, text: str, where: str) -> BoundRow:
    """The row of a proof about an instance, whose text and row without a proof are given.

    Raises NotAdded for what the verifier refuses, InvalidFile for what is no proof.
    """
    proof = parse_json(text, where)
    if "cotenant_proof" not in proof:
        raise InvalidFile(f"{where} is no proof; expected one as `cotenant prove` writes it")
    with TemporaryDirectory() as folder:  # what is judged is kept, whoever writes meanwhile
        path = write_text(Path(folder) / "instance.json", given)
        code, says = judge(path, write_text(Path(folder) / "proof.json", text))
    if code:
        raise NotAdded(f"{where}: {says}")
    errors = map(Fraction, proof["claim"].get("epsilon", {}).values())
    if (error := max(errors, default=Fraction(0))) > LOOSEST:
        raise NotAdded(f"{where}: an equilibrium to within {float(error):g}, above {LOOSEST:g}")
    integer = analysis_of(bare["problem"]).whole
    claims = [proof["claim"], *(level["claim"] for level in proof["levels"])]
    return bare | {
        "proof": sha256(text.encode()).hexdigest(), "options": proof["options"],
        "question": _first_with(bare["problem"], proof["method"]),
        "kind": claims[0]["claim_kind"], "levels": [_in_json(claim, integer) for claim in claims],
    }  # fmt: skip


def _in_json(claim: BoundRow, integer: frozenset[str]) -> BoundRow:
    """An accepted claim in numbers of JSON; a bound on an integer is rounded to one."""
    level = {name: claim[name] for name in LEVEL}
    for name in ("value", "bound"):
        if (given := claim[name]) is not None:
            number = Fraction(given)
            if name == "bound" and claim["objective"] in integer:
                number = Fraction((math.ceil if claim["sense"] == "min" else math.floor)(number))
            level[name] = int(number) if number.denominator == 1 else float(number)
    return level


@validate_options
def read_table(table: str | os.PathLike[str]) -> list[BoundRow]:
    """The rows of a table; raises InvalidFile for what is none."""
    path, rows = Path(table) / TABLE, list[BoundRow]()
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        rows.append(row := parse_json(line, f"{path}, line {number},"))
        wrong = _misfit(row, FIELDS)
        if not wrong and (not row["levels"] or any(_misfit(one, LEVEL) for one in row["levels"])):
            wrong = "levels"
        if wrong:
            seen = f"{path}, line {number}: {wrong} is {row.get(wrong)!r:.60}"
            raise InvalidFile(f"{seen}; expected what `cotenant bounds add` writes")
    return rows


def _misfit(part: Any, fields: dict[str, Any]) -> str:
    """The first field that is missing, or not of its type or pattern; "" when all are."""
    for name, kind in fields.items():
        value = part.get(name, ...) if isinstance(part, dict) else ...
        text = isinstance(kind, str)
        if not isinstance(value, str if text else kind) or (text and not re.fullmatch(kind, value)):
            return name
    return ""


@validate_options
def known(rows: Sequence[BoundRow]) -> list[BoundRow]:
    """What rows say together, a row for each question about an instance: the best `value` and the
    best `bound` of any, `answer` and `proof`, the contents that show them (or ""), the levels of
    the best answer, and `status`: "infeasible", "equilibrium", "closed" (the best answer has the
    value of the best bound, and at further levels of its own), or "open".
    """
    groups: dict[str, list[BoundRow]] = {}
    for row in rows:
        groups.setdefault(_question(row), []).append(row)
    found = []
    for group in groups.values():
        answer = min(group, key=lambda row: _ranks(row, "value") + _ranks(row, "bound"))
        proof = min(group, key=lambda row: _ranks(row, "bound"))
        settled = [row for row in group if row["kind"] in ("infeasible", "equilibrium")][:1]
        value, bound = answer["levels"][0]["value"], proof["levels"][0]["bound"]
        pairs = [(value, bound), *((one["value"], one["bound"]) for one in answer["levels"][1:])]
        closed = all(None not in pair and agree(*pair, abs(pair[0])) for pair in pairs)
        found.append(group[-1] | {
            "value": value, "answer": "" if value is None else answer["proof"],
            "bound": bound, "proof": (settled or [proof])[0]["proof"], "levels": answer["levels"],
            "status": settled[0]["kind"] if settled else "closed" if closed else "open",
        })  # fmt: skip
    return found


def _question(row: BoundRow) -> str:
    """Key that distinguishes one question about an instance from another."""
    goal = [row["levels"][0][name] for name in ("objective", "sense")]
    return json.dumps([row["sha256"], row["question"], row["options"], goal], sort_keys=True)


def _ranks(row: BoundRow, name: str) -> tuple[float, ...]:
    """A row's values or bounds, level by level, the better the less; more levels are better."""
    ranks = []
    for level in row["levels"]:
        least = (level["sense"] == "min") == (name == "value")
        number = level[name]
        ranks.append(math.inf if number is None else number if least else -number)
    return (*ranks, math.inf)


@validate_options
def add(
    table: str | os.PathLike[str],
    source: str | os.PathLike[str],
    proofs: Sequence[str | os.PathLike[str]] = (),
    *,
    set_name: str = "",
    keep_instance: bool = True,
) -> BoundRow:
    """Add an instance to a table, and proofs about it where they show more than before.

    Parameters
    ----------
    table : its folder, made when it is not there.
    source : the instance's file, or a bundled instance.
    proofs : of this package or of anybody.
    set_name : what people call the instances that it belongs to; its folder's name when empty.
    keep_instance : whether the folder gets a copy of the instance, without which nobody else can
        check the row; False for data that you may not hand on.

    Returns
    -------
    What is known now about the question of the last proof, see `known`.

    Raises
    ------
    NotAdded
        A proof is refused, with the reason, or shows no more than before. Nothing is written.
    InvalidFile
        A file cannot be read or written.

    Examples
    --------
    >>> import cotenant
    >>> from tempfile import mkdtemp
    >>> folder, tiny = mkdtemp(), cotenant.read("packing/tiny")
    >>> result = cotenant.solve(tiny, "min-servers")
    >>> proof = cotenant.prove(tiny, result, folder).file
    >>> row = add(f"{folder}/table", f"{folder}/packing-{result.fingerprint}.json", [proof])
    >>> row["value"], row["bound"], row["status"]
    (4, 4, 'closed')
    """
    given, bare = _read(path := locate(source))
    texts = [read_text(file) for file in proofs]
    shown = [judged(given, bare, text, os.fspath(file))
             for text, file in zip(texts, proofs, strict=True)]  # fmt: skip
    said = {"set": set_name or path.resolve().parent.name, "date": time.strftime("%Y-%m-%d"),
            "version": versions().get("cotenant", "")}  # fmt: skip
    copies = {row["proof"]: text for row, text in zip(shown, texts, strict=True)}
    copies |= {bare["sha256"]: given} if keep_instance else {}
    folder = Path(table)
    try:
        (folder / "files").mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise InvalidFile(
            f"{str(table)!r} cannot be made: {error}; choose another folder"
        ) from None
    with locked(folder / TABLE, "--table", wait=WAIT):
        rows = read_table(folder) if (folder / TABLE).exists() else []
        for fresh in [row | said for row in shown or [bare]]:
            row = _taken(rows, fresh)
            rows.append(fresh)
        for digest, text in copies.items():  # first: no row names a file that is not there
            write_text(folder / file_of(digest), text)
        write_text(folder / TABLE, "".join(json.dumps(each) + "\n" for each in rows))
    return row


def _taken(rows: Sequence[BoundRow], fresh: BoundRow) -> BoundRow:
    """What is known with a fresh row; raises NotAdded when it is nothing better, or impossible."""
    before, after = ({_question(row): row for row in known(every)}
                     for every in (rows, [*rows, fresh]))  # fmt: skip
    row, old = after[_question(fresh)], before.get(_question(fresh))
    value, bound, words = row["value"], row["bound"], f"{row['name']}, {row['question']}"
    if old and all(row[name] == old[name] for name in ("value", "bound", "levels", "status")):
        raise NotAdded(f"{words}: no better; the table has value {value} and bound {bound}")
    beyond = (
        None not in (value, bound)
        and not agree(value, bound, abs(value))
        and ((value < bound) == (row["levels"][0]["sense"] == "min"))
    )
    if beyond or (value is not None and row["status"] == "infeasible"):
        raise NotAdded(
            f"{words}: an answer worth {value} contradicts an accepted proof of {bound or 'none'}; "
            "a checker is wrong: please report it, with both"
        )
    return row


@validate_options
def check(
    table: str | os.PathLike[str], *, jobs: Annotated[int, AtLeast(1)] = 1
) -> Iterator[tuple[BoundRow, str]]:
    """Judge again the proof of each row of a table, so many at the same time; yields each row with
    what of it is not borne out by its files: "" when all is.
    """
    rows = read_table(table)
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(rows, pool.map(partial(_broken, Path(table)), rows), strict=True)


def _broken(table: Path, row: BoundRow) -> str:
    """What of a row its files do not bear out."""
    try:
        given, found = _read(table / file_of(row["sha256"]))
        if row["proof"]:
            file = file_of(row["proof"])
            found = judged(given, found, read_text(table / file), file)
    except CotenantError as error:
        return str(error)
    for name, value in found.items():
        if value != row[name]:
            return f"{name} is {row[name]!r} in the table, and {value!r} by its files"
    return ""
