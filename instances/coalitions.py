"""Coalitional games: what each coalition of players earns or costs, from JSON or from a table."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

from .problem.csv_headers import name_of
from .problem.documents import shortened
from .problem.errors import InvalidInstance
from .problem.files import document, write_text
from .problem.reading import parse_any_json, read_text
from .problem.tables import FINITE, CsvTable, PathLike, in_a_line

_BETWEEN = re.compile(r"[+;,|]")
_WRITTEN = "Join the names of a coalition by + or spaces"


@dataclass(frozen=True)
class Game:
    """What each coalition of players earns or costs by itself.

    Attributes
    ----------
    kind : "values", more is better, or "costs", less is better.
    numbers : (2^k,) of all coalitions by bit mask, bit i for player i, as they are written.
    names : of the k players, if they have any.
    judged : whether the file is one that the verifier reads.
    """

    kind: str
    numbers: list[Any]
    names: tuple[str, ...] | None
    name: str
    judged: bool

    def write(self, path: PathLike) -> Path:
        """Write the JSON document, which the verifier reads."""
        head = {"cotenant": 1, "problem": "game", "name": self.name}
        if self.names is not None:
            head["names"] = list(self.names)
        numbers = ", ".join(map(str, self.numbers))  # decimals as they are written
        return write_text(path, f'{json.dumps(head)[:-1]}, "{self.kind}": [{numbers}]}}\n')


def by_mask(
    given: Iterable[tuple[Any, Any]], names: Iterable[str] = (), where: str = "values"
) -> tuple[tuple[str, ...], list[Any]]:
    """The players and the values by bit mask of pairs of a coalition and its value.

    Parameters
    ----------
    given : each coalition as players' names joined by +, semicolons, commas, bars or else spaces,
        perhaps in brackets, or as any set of names; the empty one may be missing.
    names : the players in order; in that of their first mention when not given.

    Raises
    ------
    InvalidInstance
        A coalition is missing, is given twice, or has a player twice or one of another name.
    """
    pairs = [
        (unicodedata.normalize("NFC", key) if isinstance(key, str) else key, value)
        for key, value in given
    ]
    marked = any(isinstance(key, str) and _BETWEEN.search(key) for key, _ in pairs)
    place = {name: number for number, name in enumerate(names)}
    fixed, table = bool(place), dict[int, Any]()
    for key, value in pairs:
        members = key if isinstance(key, Iterable) else (key,)
        if isinstance(key, str):
            bare = re.sub(r"^\s*[{(\[](.*)[\])}]\s*$", r"\1", key)
            members = _BETWEEN.split(bare) if marked else bare.split()
        mask = 0
        for name in filter(None, (str(member).strip(" ∅") for member in members)):
            number = place.get(name) if fixed else place.setdefault(name, len(place))
            if number is None or mask >> number & 1:
                expected = f"players of {in_a_line([*place])}, each once at most"
                raise InvalidInstance(f"{where}: a coalition", shortened(key), expected, _WRITTEN)
            mask |= 1 << number
        if mask in table:
            what = f"{where} of {shortened(key)}"
            raise InvalidInstance(what, "given twice", "each coalition once", "Remove one of them")
        table[mask] = value
    table.setdefault(0, 0)
    players = tuple(place)
    if len(table) < 1 << len(players):
        every = (c for k in range(len(players)) for c in combinations(players, k + 1))
        missing = next(c for c in every if sum(1 << place[name] for name in c) not in table)
        raise InvalidInstance(
            f"{where} of {' + '.join(missing)}", "missing",
            f"each of the 2^{len(players)} - 1 coalitions of {in_a_line(players)}",
            f"Add it, or correct a name. {_WRITTEN}",
        )  # fmt: skip
    return players, [table[mask] for mask in range(len(table))]


def read_game(path: PathLike, text: str | None = None) -> Game | None:
    """The game that a file, or its text, holds; None where it is another document of this package.

    A table has a column `coalition`, and `value` or `cost`. JSON is a document of problem "game",
    or its `values` or `costs` alone: a list by bit mask, or an object (see `by_mask`).

    Raises
    ------
    InvalidFile, InvalidInstance
        It is neither, or see `by_mask`.
    """
    text, where = read_text(path) if text is None else text, os.fspath(path)
    if text.lstrip()[:1] not in ("{", "["):
        table = CsvTable(path, lower=True, text=text)
        column = "cost" if "value" not in table.places and "cost" in table.places else "value"
        table.require("coalition", column)
        pairs = [(row["coalition"], row.exact(column, FINITE)) for row in table]
        names, numbers = by_mask(pairs, (), f"{where}: {column}")
        return Game(f"{column}s", numbers, names, name_of(path), False)
    content = parse_any_json(text, path)
    alone = content.values() if isinstance(content, dict) else content
    if alone and all(isinstance(value, int | float) for value in alone):
        content = {"values": json.loads(text, parse_float=Decimal)}
    elif document(text, Path(path)).get("problem") != "game":
        return None
    else:
        content = json.loads(text, parse_float=Decimal)
    kind = "costs" if "values" not in content and "costs" in content else "values"
    numbers, names = content.get(kind, "missing"), content.get("names")
    judged = "cotenant" in content and isinstance(numbers, list)
    different = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is not None and (not different or len({*names}) < len(names)):
        raise InvalidInstance(f"{where}: names", shortened(names), "a list of different texts")
    if isinstance(numbers, dict):
        names, numbers = by_mask(numbers.items(), names or (), f"{where}: {kind}")
    if not isinstance(numbers, list):
        expected = "a list by bit mask, or an object with a number for each coalition"
        raise InvalidInstance(f"{where}: {kind}", shortened(numbers), expected)
    if names is not None and len(numbers) != 1 << len(names):
        expected = f"2^{len(names)}, one for each coalition of the players named"
        raise InvalidInstance(f"{where}: {kind}", f"{len(numbers)} numbers", expected)
    named = None if names is None else tuple(names)
    return Game(kind, numbers, named, str(content.get("name", "")), judged)
