"""CSV tables with a header: columns by name, cells with error messages, and the tables of one
folder.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np

from .documents import shortened
from .errors import InvalidFile, explain
from .fields import Floats, decimals, repeated
from .option_types import AtLeast, OptionType, Range
from .reading import csv_rows, is_standard_input, read_text
from .registry import PROBLEM_NAMES, CsvForm, problem_named
from .text import without_unit

PathLike = str | os.PathLike[str]

LARGEST = 2**53
"""Whole numbers stay below it: all of those are floats."""

FINITE, AMOUNT = Range(), AtLeast(0)

_MOST_DECIMALS = 30
"""Of a number that is read exactly."""

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
_SEPARATORS = {",": "", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What stands between cells, and what it is called when it is no comma."""


def separator(text: str) -> tuple[str, str]:
    """Detect the separator of a table's cells from its header, and drop Excel's line "sep=;": a
    comma, else a semicolon, tab or bar, which spreadsheets write where the comma is the decimal
    mark.
    """
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:
        return first.strip()[4], f"\n{rest}"
    header = text.lstrip().partition("\n")[0]
    return next((mark for mark in _SEPARATORS if mark in header), ","), text


class CsvTable:
    """CSV file whose first row names its columns; the other rows are read once, as a stream.

    Parameters
    ----------
    path : the file, see `reading.read_bytes`.
    needed : columns it must have.
    columns : names to use whatever the header says.
    lower : whether names are taken in lower case.
    ragged : whether a row may be of another length than the header, as long as it reaches the
        needed columns.
    alike : whether two columns may have one name, as where they are read by their place.
    text : the file's content, when it was read before.
    delimiter : between cells; what the header has when not given, see `separator`. Where it is no
        comma, numbers may have decimal commas.

    Raises
    ------
    InvalidFile
        A column is missing, or named twice, or there is one only; when iterated over, a row is too
        short or too long, or there is none.
    """

    def __init__(
        self, path: PathLike, *needed: str, columns: Sequence[str] = (), lower: bool = False,
        ragged: bool = False, alike: bool = False,
        text: str | None = None, delimiter: str = "",
    ) -> None:  # fmt: skip
        self.path = os.fspath(path)
        text = read_text(path) if text is None else text
        self.delimiter, text = (delimiter, text) if delimiter else separator(text)
        self.marks: set[str] = set()
        self._rows = csv_rows(text, path, self.delimiter)
        if (first := next(self._rows, None)) is None:
            raise InvalidFile(f"{self.path} is empty; expected {','.join(needed) or 'a header'}")
        header = [name.strip() for name in first[1]]
        self.columns = list(columns) or ([name.lower() for name in header] if lower else header)
        self.places = {name: place for place, name in reversed(list(enumerate(self.columns)))}
        twice = None if alike else repeated(name for name in self.columns if name)
        if twice is not None:
            seen = [place for place, name in enumerate(self.columns, 1) if name == twice]
            raise InvalidFile(
                f"{self.path}, line 1: column {shortened(twice)} is named twice, as columns "
                f"{seen[0]} and {seen[1]}; expected every name once. Rename or remove one of them"
            )
        self.require(*needed)
        self._reached = max(self.places[name] for name in needed) + 1 if ragged else None

    def require(self, *needed: str) -> None:
        """Raise InvalidFile for the first of the needed columns that is missing."""
        if len(needed) > 1 and len(self.columns) == 1 and needed != tuple(self.columns):
            raise InvalidFile(
                f"{self.path}, line 1: one column only, {shortened(self.columns[0])}; expected "
                f"{','.join(needed)}. Separate the columns by commas"
            )
        if missing := [name for name in needed if name not in self.places]:
            raise InvalidFile(
                f"{self.path}, line 1: no column {missing[0]!r}; expected {', '.join(needed)}; "
                f"the columns are {in_a_line(self.columns) or 'none'}"
            )

    def by_name(self, column: str, cure: str = "") -> dict[str, CsvRow]:
        """Rows by the names in a column, in order; raises InvalidFile for an empty or repeated
        name.
        """
        found: dict[str, CsvRow] = {}
        for row in self:
            name = row.word(column)
            if name in found:
                raise row.error(
                    f": {column} {name!r} is named twice; expected every name once{cure}"
                )
            found[name] = row
        return found

    @property
    def written(self) -> str:
        """Note on the form in which a table is written, if not with commas and decimal points."""
        words = [_SEPARATORS.get(self.delimiter, "")]
        words += ["decimal commas"] if "," in self.marks else []
        return " and ".join(word for word in words if word)

    def __iter__(self) -> Iterator[CsvRow]:
        width = len(self.columns)
        row = None
        for line, cells in self._rows:
            row = CsvRow(self, line, cells)
            if len(cells) != width if self._reached is None else len(cells) < self._reached:
                raise row.error(f": {len(cells)} values; expected {width}, as the header has")
            yield row
        if row is None:
            raise InvalidFile(f"{self.path} has no rows; expected some below the header")


@dataclass(frozen=True, slots=True)
class CsvRow:
    """Row of a table with its line number; `row["name"]` is the text of a cell, or ""."""

    table: CsvTable
    line: int
    cells: list[str]

    def __getitem__(self, column: str) -> str:
        place = self.table.places.get(column)
        return "" if place is None else self.cells[place].strip()

    def word(self, column: str) -> str:
        """Text of a cell; raises InvalidFile if it is empty."""
        if not self[column]:
            raise self.wrong(column, "a name")
        return self[column]

    def place(self, column: str, names: Sequence[str]) -> int:
        """Index of a cell's text in a list of names, where "3" also means "VM 3"."""
        word = self.word(column)
        for index, name in enumerate(names):
            if name == word or (word.isdecimal() and name.endswith(f" {word}")):
                return index
        raise self.wrong(column, f"a name of the instance: {in_a_line(names)}")

    def number(
        self, column: str, limits: Range | None = FINITE,
        blank: Mapping[str, float] = MappingProxyType({}), cure: str = "",
        text: str | None = None,
    ) -> float:  # fmt: skip
        """Parse the number of a cell within limits (None: any number, also infinite), or the value
        of one of the words in `blank`.

        `text` stands for the cell of a column that has no name of its own.
        """
        word = self[column] if text is None else text.strip()
        if word.lower() in blank:
            return blank[word.lower()]
        try:
            value = float(self._pointed(word))
        except ValueError:
            value = math.nan
        if value != value or (limits is not None and not limits.holds(value)):
            bare = without_unit(word)
            cure = (
                f"{bare[0].upper()}{bare[1:]}, in one unit for the whole column" if bare else cure
            )
            raise self.wrong(column, OptionType(((float, limits),)).words, cure, word)
        return value

    def _pointed(self, word: str) -> str:
        """Replace a decimal comma in a number by a point if the cell separator is no comma."""
        if self.table.delimiter == ",":
            return word
        mark = "," if _DECIMAL_COMMA.fullmatch(word) else "." if "." in word else ""
        self.table.marks.update(mark)
        if len(self.table.marks) > 1:  # 1.250 would be 1250 in a table of decimal commas
            raise self.error(
                f": {shortened(word)}, and elsewhere another decimal mark; expected commas or "
                "points throughout, and no marks between thousands"
            )
        return word.replace(",", ".") if mark == "," else word

    def whole(self, column: str, scale: int = 1) -> int:
        """Parse the number in a cell times `scale` as an integer, at least 0 and below 2**53."""
        given = self.number(column, AMOUNT)
        value = scale * given
        if value % 1 or value >= LARGEST:
            times = 10 ** decimals(given)
            cure = "Change the unit"
            if scale == 1 and value < LARGEST / times:
                cure = f"Multiply the whole column by {times}: {Decimal(repr(given)) * times:.0f}"
            raise self.wrong(
                column,
                f"a whole number below 2**53{f' when taken {scale} times' * (scale > 1)}",
                cure,
            )
        return int(value)

    def exact(self, column: str, limits: Range = AMOUNT) -> Decimal:
        """Parse the exact decimal number of a cell within limits (at least 0 by default)."""
        self.number(column, limits)
        with suppress(InvalidOperation):  # of an exponent beyond all
            value = Decimal(self._pointed(self[column]))
            if abs(int(value.as_tuple().exponent)) <= _MOST_DECIMALS:
                return value
        raise self.wrong(column, f"a number of at most {_MOST_DECIMALS} decimals")

    def fraction(self, column: str) -> Fraction:
        """Parse the exact nonnegative number of a cell as a fraction."""
        return Fraction(self.exact(column))

    def wrong(
        self, column: str, expected: str, cure: str = "", text: str | None = None
    ) -> InvalidFile:
        """Error for a cell of a CSV row whose value is not the expected one."""
        seen = shortened(self[column] if text is None else text)
        return self.error(explain(f", column {column!r}", seen, expected, cure))

    def error(self, what: str) -> InvalidFile:
        """InvalidFile error for a row: the path and line number, then at once the text `what`."""
        return InvalidFile(f"{self.table.path}, line {self.line}{what}")


def read_matrix(
    path: PathLike,
    blank: Mapping[str, float] = MappingProxyType({}),
    cure: str = "",
    extra: int = 0,
    text: str | None = None,
) -> tuple[list[str], list[str], Floats]:
    """Read row names (first column), column names, and the (rows, columns) numbers of a table.

    Raises
    ------
    InvalidFile
        A cell is no number (and none of the words in `blank`), or a name is given twice, the last
        `extra` columns apart.
    """
    table = CsvTable(path, alike=True, text=text)
    columns, names, values = table.columns[1:], [], []
    for row in table:
        names.append(row.cells[0].strip())
        cells = zip(columns, row.cells[1:], strict=True)
        values.append(
            np.array(
                [row.number(column, None, blank, cure, cell) for column, cell in cells], dtype=float
            )
        )
    for what, given in (("row", names), ("column", columns[: len(columns) - extra])):
        if (twice := repeated(given)) is not None:
            raise InvalidFile(
                f"{table.path} names the {what} {shortened(twice)} twice; expected every name "
                "once. Rename or remove one of them"
            )
    return names, columns, np.array(values)


def in_a_line(names: Sequence[str]) -> str:
    """Names of a file joined on one line for a message, since a cell may hold line breaks."""
    text = ", ".join(" ".join(name.split()) for name in names)
    return text if len(text) <= 300 else f"{text[:297]}..."


def plain_forms() -> dict[str, CsvForm]:
    """Plain CSV tables of each problem that has them."""
    found = {name: problem_named(name).csv_form for name in PROBLEM_NAMES}
    return {name: plain for name, plain in found.items() if plain is not None}


def plain_form(path: PathLike) -> str:
    """Find the format of a CSV table, or of a folder's main table, by its header.

    Raises
    ------
    InvalidFile
        No plain header fits, or two do; or the table comes on standard input, which is read once.
    """
    where = os.fspath(path)  # 1. Refuse a table that can be read only once.
    known = plain_forms()
    if is_standard_input(path):
        forms = ", ".join(plain.form for plain in known.values())
        raise InvalidFile(
            f"{where} can be read only once, so its header cannot be looked at first; name the "
            f"format: {forms}"
        )
    seen = set()  # 2. Compare the header with each plain form.
    fits: list[CsvForm] = []
    lacking: list[tuple[bool, int, int, str]] = []  # mistakes, the likeliest least
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
    if len(fits) == 1:  # 3. The one form that fits, or the likeliest mistake.
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
    """Paths of a main CSV table and of the other tables, given by option or found in its folder.

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
    """Whether the row names of a file equal its column names, in any order."""
    if os.path.isdir(path):
        return False
    first, *others = CsvTable(path, lower=True).columns or [""]
    table = CsvTable(path, first, lower=True, ragged=True)
    return bool(others) and sorted(row[first].lower() for row in table) == sorted(others)


def _words(header: str) -> set[str]:
    return set(re.findall(r"\w+", header))


def unread(path: PathLike, known: Iterable[str]) -> list[str]:
    """Names of the CSV tables in a folder that no reader uses."""
    names = set(known)
    if is_standard_input(path) or not os.path.isdir(path):
        return []
    return sorted(file.name for file in Path(path).glob("*.csv") if file.name not in names)


def name_of(path: PathLike) -> str:
    """Name of an instance read from a path: the folder's or the file's name."""
    resolved = Path(path).resolve() if os.path.isdir(path) else Path(path)
    return resolved.name.split(".")[0]
