"""Tables of instances with the best known answers and the best proved bounds.

A table is a file of JSON lines, with a row for each instance and each accepted proof about it,
which it names by their paths. Nothing is believed: of a row only its set and date are what somebody
said; all else is what the verifier accepted for this very instance. An answer alone is a proof
whose bound is null.
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
from ...instances.problem.files import document, instance_of, locate, write_text
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.reading import parse_json, read_text
from ...solvers.outcome import agree
from ...verify import methods_of
from ..registry import analysis_of
from .lock import locked
from .proving import judge
from .question import LOOSEST

WAIT = 60.0
"""Seconds that one who adds a row waits for others, which take milliseconds."""

BoundRow = dict[str, Any]
"""A row of a table, see `FIELDS`, or what the rows of a question say together, see `known`."""

FIELDS = {
    "instance": str, "sha256": "[0-9a-f]{64}", "proof": str, "name": str, "problem": str,
    "question": str, "options": dict, "kind": str, "levels": list, "set": str, "date": str,
}  # fmt: skip
"""What a row has: the instance's file, as seen from the table's folder, or its name among those
that are bundled, and the sha256 of its content; the proof's file ("" for none); the first method of
those that ask the same, with the options as proofs hold them; what the proof claims ("optimal",
"gap", "infeasible", "equilibrium", "" without one), its levels; and what is only said, set and
date.
"""

LEVEL = {"objective": str, "sense": "min|max", "value": int | float | None,
         "bound": int | float | None}  # fmt: skip
"""What a level has."""


def _first_with(problem: str, method: str) -> str:
    """First method of a problem with the objectives and proof checker of the given one."""
    asked = methods_of(problem)
    return next(name for name, what in asked.items() if what[1:] == asked[method][1:])


def _judged(path: Path, proof: Path | None) -> BoundRow:
    """Row of a bounds table for an instance and a proof about it. Without a proof, the row states
    only the question that the problem's first exact method answers.

    Raises NotAdded for what the verifier refuses, InvalidFile for what is no proof.
    """
    text = read_text(path)
    instance = instance_of(document(text, path), text, path)
    problem = instance.problem
    row = {"sha256": sha256(text.encode()).hexdigest(), "name": instance.name, "problem": problem}
    if proof is None:
        goals = {name: goals for name, (_, goals, _) in methods_of(problem).items()}
        entries = catalog.methods(problem)
        exact = [one for one in entries if one.name in goals and one.kind == "exact"]
        if not exact:
            raise NotAdded(f"nothing of {problem} has proofs as files: no row")
        first = min(exact, key=lambda one: (not one.applies_to(instance), bool(one.no_starts))).name
        objective, sense = goals[first].split(",")[0].split()
        level = {"objective": objective, "sense": sense, "value": None, "bound": None}
        question = _first_with(problem, first)
        return row | {"question": question, "options": {}, "kind": "", "levels": [level]}
    shown = read_text(proof)
    content = parse_json(shown, os.fspath(proof))
    if "cotenant_proof" not in content:
        raise InvalidFile(f"{proof} is no proof; expected one as `cotenant prove` writes it")
    with TemporaryDirectory() as folder:  # judged as it was read
        given = write_text(Path(folder) / "instance.json", text)
        code, message = judge(given, write_text(Path(folder) / "proof.json", shown))
    if code:
        raise NotAdded(f"{proof}: {message}")
    errors = map(Fraction, content["claim"].get("epsilon", {}).values())
    if (error := max(errors, default=Fraction(0))) > LOOSEST:
        raise NotAdded(f"{proof}: an equilibrium to within {float(error):g}, above {LOOSEST:g}")
    integer = analysis_of(problem).whole
    claims = [content["claim"], *(level["claim"] for level in content["levels"])]
    return row | {
        "question": _first_with(problem, content["method"]), "options": content["options"],
        "kind": claims[0]["claim_kind"], "levels": [_in_json(claim, integer) for claim in claims],
    }  # fmt: skip


def _in_json(claim: BoundRow, integer: frozenset[str]) -> BoundRow:
    """Accepted claim of a proof in JSON numbers; bounds on integers are rounded to integers."""
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
    """Read the rows of a bounds table; raises InvalidFile for any other file."""
    rows = list[BoundRow]()
    for number, line in enumerate(read_text(Path(table)).splitlines(), start=1):
        rows.append(row := parse_json(line, f"{table}, line {number},"))
        wrong = _misfit(row, FIELDS)
        if not wrong and (not row["levels"] or any(_misfit(one, LEVEL) for one in row["levels"])):
            wrong = "levels"
        if wrong:
            seen = f"{table}, line {number}: {wrong} is {row.get(wrong)!r:.60}"
            raise InvalidFile(f"{seen}; expected what `cotenant bounds add` writes")
    return rows


def _misfit(part: Any, fields: dict[str, Any]) -> str:
    """First field of a row that is missing or violates its type or pattern; "" when none does."""
    for name, kind in fields.items():
        value = part.get(name, ...) if isinstance(part, dict) else ...
        text = isinstance(kind, str)
        if not isinstance(value, str if text else kind) or (text and not re.fullmatch(kind, value)):
            return name
    return ""


@validate_options
def known(rows: Sequence[BoundRow]) -> list[BoundRow]:
    """Join the rows of each question about an instance into one: the best value and the best bound.
    `answer` and `proof` are the contents that show them (or ""), and `levels` those of the best
    answer. `status` is "infeasible", "equilibrium", "closed" (at each level the answer's value is
    the bound: at the first the best one of any row, then its own), or "open".
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
            "value": value, "bound": bound, "proof": (settled or [proof])[0]["proof"],
            "levels": answer["levels"],
            "status": settled[0]["kind"] if settled else "closed" if closed else "open",
        })  # fmt: skip
    return found


def _question(row: BoundRow) -> str:
    """Key that distinguishes one question about an instance from another."""
    goal = [row["levels"][0][name] for name in ("objective", "sense")]
    return json.dumps([row["sha256"], row["question"], row["options"], goal], sort_keys=True)


def _ranks(row: BoundRow, name: str) -> tuple[float, ...]:
    """Key that sorts rows by their values or bounds, level by level, better ones first. Of rows
    with equal numbers, the row with more levels comes first.
    """
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
    proof: str | os.PathLike[str] | None = None,
    *,
    set_name: str = "",
) -> BoundRow:
    """Add an instance to a bounds table, with a proof where it shows more than the table.

    Parameters
    ----------
    table : its file, made when it is not there.
    source : the instance's file, or a bundled instance.
    proof : of this package or of anybody; None for the instance alone.
    set_name : what people call the instances that it belongs to; its folder's name when empty.

    Returns
    -------
    What is known now about the question of the proof, see `known`.

    Raises
    ------
    NotAdded
        The proof is refused, with the reason, or shows no more than before. Nothing is written.
    InvalidFile
        A file cannot be read or written.

    Examples
    --------
    >>> import cotenant
    >>> from tempfile import mkdtemp
    >>> folder, tiny = mkdtemp(), cotenant.read("packing/tiny")
    >>> result = cotenant.solve(tiny, "min-servers")
    >>> proof = cotenant.prove(tiny, result, folder).file
    >>> row = add(f"{folder}/table.jsonl", f"{folder}/packing-{result.fingerprint}.json", proof)
    >>> row["value"], row["bound"], row["status"]
    (4, 4, 'closed')
    """
    path = locate(source)
    fresh = _judged(path, None if proof is None else Path(proof)) | {
        "instance": _seen_from(table, path) if path == Path(source) else os.fspath(source),
        "proof": "" if proof is None else _seen_from(table, Path(proof)),
        "set": set_name or path.resolve().parent.name, "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip
    with locked(table, "--table", wait=WAIT):
        rows = read_table(table) if os.path.exists(table) else []
        row = _taken(rows, fresh)
        write_text(table, "".join(json.dumps(each) + "\n" for each in (*rows, fresh)))
    return row


def _seen_from(table: str | os.PathLike[str], path: Path) -> str:
    """Path of a file relative to the folder of a table."""
    return os.path.relpath(path.resolve(), Path(table).resolve().parent)


def _taken(rows: Sequence[BoundRow], fresh: BoundRow) -> BoundRow:
    """Known facts of a question joined with a fresh row; raises NotAdded if it improves nothing or
    conflicts.
    """
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
    """Verify again the proof of each row of a table, `jobs` at the same time; yields each row with
    the claims that its files do not prove: "" when there are none.
    """
    rows = read_table(table)
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(rows, pool.map(partial(_broken, Path(table).parent), rows), strict=True)


def _broken(folder: Path, row: BoundRow) -> str:
    """Claims of a row that its files do not prove."""
    path = folder / row["instance"]
    try:
        path = path if path.exists() else locate(row["instance"])
        found = _judged(path, folder / row["proof"] if row["proof"] else None)
    except CotenantError as error:
        return str(error)
    for name, value in found.items():
        if value != row[name]:
            return f"{name} is {row[name]!r} in the table, and {value!r} by its files"
    return ""
