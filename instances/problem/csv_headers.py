"""Tables with plain headers: which problem's they are, and those beside one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from .documents import shortened
from .errors import InvalidFile
from .reading import is_standard_input
from .registry import PROBLEM_NAMES, CsvForm, problem_named
from .tables import CsvTable, PathLike


def plain_forms() -> dict[str, CsvForm]:
    """The plain tables of each problem that has some."""
    found = {name: problem_named(name).csv_form for name in PROBLEM_NAMES}
    return {name: plain for name, plain in found.items() if plain is not None}


def plain_form(path: PathLike) -> str:
    """The format whose plain header a table has, or the main table of a folder.

    Raises
    ------
    InvalidFile
        No plain header fits, or two do; or the table comes on standard input, which is read once.
    """
    where = os.fspath(path)
    known = plain_forms()
    if is_standard_input(path):
        forms = ", ".join(plain.form for plain in known.values())
        raise InvalidFile(
            f"{where} can be read only once, so its header cannot be looked at first; name the "
            f"format: {forms}"
        )
    seen = set()
    fits: list[CsvForm] = []
    lacking: list[tuple[bool, int, int, str]] = []
    unseparated: list[tuple[int, str]] = []
    for problem, plain in known.items():
        file = Path(path) / plain.file if os.path.isdir(path) else Path(path)
        if os.path.isdir(path) and not file.exists():
            continue
        columns = CsvTable(file, lower=True).columns
        seen.add(f"{file.name}: {','.join(columns[:8])}")
        needed = plain.enough if plain.enough and file.name == plain.file else plain.columns
        missing = [name for name in needed if name not in columns]
        if not missing:
            fits.append(plain)
        elif len(missing) < len(plain.columns):
            words = f"{file} has no column {missing[0]!r}; expected {plain.header} ({problem})"
            words += f"; rename one of {','.join(columns[:8])}"
            known_words = len(_words(plain.header) & set(columns))
            lacking.append((file.name != plain.file, len(missing), -known_words, words))
        elif len(columns) == 1:
            words = f"{file}, line 1: one column only, {shortened(columns[0])}; expected "
            words += f"{plain.header}. Separate the columns by commas"
            named = sum(word in columns[0] for word in _words(plain.header))
            unseparated.append((-named, words))
    if len(fits) == 1:
        return fits[0].form
    if not fits and _is_square(path):
        raise InvalidFile(
            f"{where} is a square matrix; expected a table with a row for each pair. Read it with "
            "--from slowdown-csv (run times over those alone) or penalty-csv (throughput lost)"
        )
    if not fits and (lacking or unseparated):
        raise InvalidFile(min(lacking)[-1] if lacking else min(unseparated)[-1])
    headers = "; ".join(
        f"{plain.header} ({plain.file}, {problem})" for problem, plain in known.items()
    )
    what = "has none of the tables with plain headers" if not fits else "has tables of two problems"
    raise InvalidFile(
        f"{where} {what} ({'; '.join(sorted(seen)) or 'no table found'}); expected one of "
        f"{headers}. A square matrix is read by slowdown-csv or penalty-csv; "
        "coalition,value by game"
    )


def tables_of(path: PathLike, main: str, **given: str | None) -> tuple[Path, dict[str, Path]]:
    """The main table, and those of the others that there are.

    Parameters
    ----------
    path : the main table, or a folder that holds it as `main` and others as `<name>.csv`.
    given : the path of each other table, None for the one in the folder, if there is one.
    """
    folder = Path(path) if os.path.isdir(path) else None
    others = {name: Path(file) for name, file in given.items() if file is not None}
    if folder is not None:
        beside = {name: folder / f"{name}.csv" for name in given if name not in others}
        others |= {name: file for name, file in beside.items() if file.exists()}
    return Path(path) if folder is None else folder / main, others


def _is_square(path: PathLike) -> bool:
    """Whether a file's rows have the names of its columns, in any order."""
    if os.path.isdir(path):
        return False
    first, *others = CsvTable(path, lower=True).columns or [""]
    table = CsvTable(path, first, lower=True, ragged=True)
    return bool(others) and sorted(row[first].lower() for row in table) == sorted(others)


def _words(header: str) -> set[str]:
    return set(re.findall(r"\w+", header))


def unread(path: PathLike, known: Iterable[str]) -> list[str]:
    """The tables of a folder that no reader looks at: all but those of these names."""
    names = set(known)
    if is_standard_input(path) or not os.path.isdir(path):
        return []
    return sorted(file.name for file in Path(path).glob("*.csv") if file.name not in names)


def name_of(path: PathLike) -> str:
    """What an instance is called that was read from here: the folder's or the file's name."""
    resolved = Path(path).resolve() if os.path.isdir(path) else Path(path)
    return resolved.name.split(".")[0]
