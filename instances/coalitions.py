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

from ..verify.reading import Decimal as Written
from .problem.documents import shortened
from .problem.errors import InvalidFile, InvalidInstance
from .problem.files import document
from .problem.reading import parse_any_json, read_text
from .problem.tables import FINITE, CsvTable, PathLike, in_a_line, name_of

MOST_PLAYERS = 20
"""Players of a game at most: 16 take some seconds, each more about twice as many."""

_BETWEEN = re.compile(r"[+;,|]")
_HEAD = ("cotenant", "problem", "name", "source", "names")
_COLUMNS = "expected the columns coalition and value, or coalition and cost"
_FIELDS = f"expected values or costs, and {', '.join(_HEAD)}"
_WRITTEN = "Join the names of a coalition by + or spaces"


@dataclass(frozen=True)
class Game:
    """Cooperative game: the value or cost of each coalition of players by itself.

    Attributes
    ----------
    kind : "values", more is better, or "costs", less is better.
    names : of the k players, or empty.
    numbers : (2^k,) of all coalitions by bit mask, bit i for player i, as they are written.
    judged : whether the file is one that the verifier reads.
    """

    kind: str
    names: list[str]
    numbers: Any
    name: str
    judged: bool


def by_mask(
    given: Iterable[tuple[Any, Any]], names: Iterable[str] = (), where: str = "values"
) -> tuple[list[str], list[Any]]:
    """Players of a game, and its values by bit mask, from pairs of a coalition and its value.

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
    pairs = list(given)
    marked = any(isinstance(key, str) and _BETWEEN.search(key) for key, _ in pairs)
    number_of = {name: number for number, name in enumerate(names)}
    fixed, table = bool(number_of), dict[int, Any]()
    for key, value in pairs:
        members = key if isinstance(key, Iterable) else (key,)
        if isinstance(key, str):
            bare = re.sub(r"^\s*[{(\[](.*)[\])}]\s*$", r"\1", key)
            members = _BETWEEN.split(bare) if marked else bare.split()
        mask = 0
        for name in filter(None, (str(member).strip(" ∅") for member in members)):
            number = number_of.get(name) if fixed else number_of.setdefault(name, len(number_of))
            if number is None or mask >> number & 1:
                expected = f"players of {in_a_line([*number_of])}, each once at most"
                raise InvalidInstance(f"{where}: a coalition", shortened(key), expected, _WRITTEN)
            mask |= 1 << number
        if len(number_of) > MOST_PLAYERS:
            seen = f"of the players {in_a_line([*number_of])}"
            raise InvalidInstance(where, seen, f"at most {MOST_PLAYERS} players", _WRITTEN)
        if mask in table:
            what = f"{where} of {shortened(key)}"
            raise InvalidInstance(what, "given twice", "each coalition once", "Remove one of them")
        table[mask] = value
    table.setdefault(0, 0)
    players = [*number_of]
    if len(table) < 1 << len(players):
        every = (c for k in range(len(players)) for c in combinations(players, k + 1))
        missing = next(c for c in every if sum(1 << number_of[name] for name in c) not in table)
        raise InvalidInstance(
            f"{where} of {' + '.join(missing)}", "missing",
            f"each of the 2^{len(players)} - 1 coalitions of {in_a_line(players)}",
            f"Add it, or correct a name. {_WRITTEN}",
        )  # fmt: skip
    return players, [table[mask] for mask in range(len(table))]


def read_game(path: PathLike, text: str | None = None) -> Game | None:
    """Read a cooperative game from a file or text; None for another document of this package.

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
        kinds = [name for name in table.places if name in ("value", "cost")]
        if len(kinds) != 1:
            raise InvalidFile(f"{where} has {in_a_line(table.columns)}; {_COLUMNS}")
        (kind,) = kinds
        table.require("coalition", kind)
        pairs = [(row["coalition"], row.exact(kind, FINITE)) for row in table]
        return Game(f"{kind}s", *by_mask(pairs, (), f"{where}: {kind}"), name_of(path), False)
    content = parse_any_json(text, path)
    alone = content.values() if isinstance(content, dict) else content
    bare = alone and all(isinstance(value, int | float) for value in alone)
    if not bare and document(text, Path(path)).get("problem") != "game":
        return None
    content = json.loads(unicodedata.normalize("NFC", text), parse_float=Written)
    content = {"values": content} if bare else content
    fields = [each for each in content if each not in _HEAD]
    if fields not in (["values"], ["costs"]):
        raise InvalidFile(f"{where} has {in_a_line(fields) or 'no values'}; {_FIELDS}")
    (kind,) = fields
    given, names, name = content[kind], content.get("names", []), content.get("name", "")
    texts = isinstance(names, list) and all(isinstance(each, str) for each in names)
    if not texts or len({*names}) < len(names):
        raise InvalidInstance(f"{where}: names", shortened(names), "a list of different texts")
    if isinstance(given, dict):
        return Game(kind, *by_mask(given.items(), names, f"{where}: {kind}"), str(name), False)
    return Game(kind, names, given, str(name), not bare)


def game_document(path: PathLike) -> str:
    """Return the JSON document of the cooperative game in a file, with a list of values by bit
    mask; see `read_game`.
    """
    if (game := read_game(path)) is None:
        raise InvalidFile(f"{os.fspath(path)} is no game; expected values or costs of coalitions")
    if not isinstance(game.numbers, list) or {*map(type, game.numbers)} - {int, Decimal}:
        seen = f"{os.fspath(path)}: {game.kind} is {shortened(game.numbers)}"
        raise InvalidFile(f"{seen}; expected numbers, as a list by bit mask or an object")
    head = {"cotenant": 1, "problem": "game", "name": game.name, "names": game.names}
    exact = (Decimal, Written)  # decimals as they are written
    numbers = ", ".join(str(n) if isinstance(n, exact) else json.dumps(n) for n in game.numbers)
    return f'{json.dumps(head)[:-1]}, "{game.kind}": [{numbers}]}}\n'
