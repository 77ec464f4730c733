"""Preference lists by name, with ties and gaps: as an instance, from JSON or CSV, and its answers
by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..problem.documents import shortened
from ..problem.errors import InvalidFile, InvalidInstance, InvalidOption
from ..problem.fields import repeated
from ..problem.option_types import validate_options
from ..problem.reading import LIMIT_VARIABLE, csv_rows, file_limit, parse_json, read_text
from ..problem.tables import PathLike, name_of, separator
from .generators import from_scores
from .instance import Colocation, Pairing

_FORM = '{"ann": ["bob", ["cat", "dan"]], ...}, inner brackets for a tie'
_OPENING, _CLOSING = "[({", "])}"


@validate_options
def from_lists(
    lists: Any, *, perfect: bool = False, name: str = "", source: str = "preference lists"
) -> Colocation:
    """Make an instance of preference lists by name, best first; inner lists are ties.

    The penalty of an agent beside another is the other's rank in its list over the number of
    agents; a rank is one more than the number of those whom it likes better. Who is missing from a
    list is unacceptable to its owner, and a pair is possible where each is in the other's list.
    Where lists have gaps, or the number of agents is odd, an agent may stay without partner, which
    it likes least.

    Parameters
    ----------
    lists : of each agent its list, as a mapping or Series of lists or Series; a frame with a row
        for each agent of its index; rows that begin with their agent; or lists of numbers, of
        agent 0 first. An entry is a name, or a list of names that are liked equally.
    perfect : whether everyone must have a partner, also where lists have gaps; then methods say
        "infeasible" where no perfect matching exists.
    name, source : of the instance.

    Raises
    ------
    InvalidInstance : no lists, or a list that names its owner, somebody without a list, or somebody
        twice.

    Examples
    --------
    >>> import cotenant
    >>> lists = {"ann": ["bob", "cat"], "bob": ["cat", "ann"], "cat": [["ann", "bob"]]}
    >>> instance = cotenant.from_lists(lists)
    >>> from cotenant.instances.colocation.lists import matching
    >>> matching(instance, cotenant.solve(instance, "stable").solution)
    {'ann': None, 'bob': 'cat', 'cat': 'bob'}
    """
    names, rows = _named_rows(lists)
    place = {who: i for i, who in enumerate(names)}
    if (twice := repeated(names)) is not None:
        raise InvalidInstance("lists", f"two lists of {twice!r}", "one list for each agent")
    scores = np.full((len(names), len(names)), np.inf)
    for who, liked in zip(names, rows, strict=True):
        before = 0
        for position, entry in enumerate(_entries(f"lists[{who!r}]", liked, list | tuple)):
            where = f"lists[{who!r}][{position}]"
            tied = [entry] if isinstance(entry, str | int | np.integer) else _entries(where, entry)
            for other in map(str, tied):
                _require_another(where, other, who, place, scores)
                scores[place[who], place[other]] = before
            before += len(tied)
    mutual = np.isfinite(scores) & np.isfinite(scores.T)
    if perfect and (len(names) % 2 or not mutual.any(axis=1).all()):
        who = repr(names[int(np.argmin(mutual.any(axis=1)))])
        seen = "an odd number" * (len(names) % 2) or f"without a possible partner of {who}"
        raise InvalidInstance("lists", seen, "a partner for each agent", "Leave perfect out")
    listed = np.isfinite(scores).sum()
    gaps = listed < len(names) * (len(names) - 1) or len(names) % 2 == 1
    return from_scores(
        scores, name=name, source=source, incomplete=gaps and not perfect, names=names
    )


def _named_rows(given: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names of the agents, and their preference lists, from a mapping or a sequence of lists."""
    rows = given if isinstance(given, list | tuple) else ()
    if hasattr(given, "items") and not isinstance(given, type):  # a mapping, Series or frame
        pairs = [*(given.iterrows() if hasattr(given, "columns") else given.items())]
    elif rows and all(
        isinstance(row, list | tuple) and isinstance((*row, 0)[0], str) for row in rows
    ):
        pairs = [(row[0], row[1:]) for row in rows]
        if all(len(row) == 1 and isinstance(row[0], list | tuple) for _, row in pairs):
            cure = "Give dict(rows), where each row is an agent and its list"
            raise InvalidInstance("lists", shortened(given), "rows as in ['ann', 'bob']", cure)
    else:
        pairs = [*enumerate(rows)]
    if not pairs:
        raise InvalidInstance("lists", shortened(given), f"the list of each agent: {_FORM}")
    return tuple(str(who) for who, _ in pairs), [_plain(row) for _, row in pairs]


def _plain(row: Any) -> Any:
    """Convert a preference list, array or Series to a list without missing values."""
    row = row.dropna() if hasattr(row, "dropna") else row
    if not hasattr(row, "tolist"):
        return row
    # what is missing made floats of integers
    return [int(e) if isinstance(e, float) and e.is_integer() else e for e in row.tolist()]


def _entries(where: str, given: object, kinds: Any = list | tuple | set | frozenset) -> list[Any]:
    """Names in a preference list, or in one of its ties."""
    wanted = "a list of names" if kinds == list | tuple else "a name, or a list of names for a tie"
    if not isinstance(given, kinds):
        raise InvalidInstance(where, shortened(given), wanted, f"Lists are written as {_FORM}")
    entries = sorted(given, key=str) if isinstance(given, set | frozenset) else list(given)
    if kinds != list | tuple:
        if odd := [entry for entry in entries if not isinstance(entry, str | int | np.integer)]:
            raise InvalidInstance(where, shortened(odd[0]), "a name")
        if not entries:
            raise InvalidInstance(where, "[]", "a name, or a list of names for a tie")
    return entries


def _require_another(
    where: str, other: str, who: str, place: Mapping[str, int], scores: np.ndarray
) -> None:
    """Raise InvalidInstance for a name that an agent's preference list cannot contain."""
    if other == who:
        raise InvalidInstance(where, repr(other), "another agent than the owner of the list")
    if other not in place:
        raise InvalidInstance(
            where, repr(other), "an agent that has a list",
            f"Give {other!r} a list too, an empty one if it accepts nobody",
        )  # fmt: skip
    if np.isfinite(scores[place[who], place[other]]):
        raise InvalidInstance(where, f"{other!r} again", "every agent once in a list")


@validate_options
def preference_lists(path: PathLike, *, perfect: bool = False) -> Colocation:
    """Read preference lists in JSON or CSV, by name, with gaps, and ties in brackets.

    JSON: {"ann": ["bob", ["cat", "dan"]], ...}, or that object under "preferences". CSV: a row for
    each agent, its name first and then its list: `ann,bob,[cat,dan],eve`; a header that begins with
    "agent" or "name" is passed over. Text: `ann: bob cat` or `ann bob cat`, also with the number of
    agents on a line before. See `from_lists` for the
    instance that is made of them.

    Parameters
    ----------
    perfect : see `from_lists`.
    """
    text = read_text(path)
    where = os.fspath(path)
    if where.lower().endswith((".csv", ".tsv", ".txt")) or not text.lstrip().startswith("{"):
        lists: Any = _csv_lists(where, text)
    else:
        content = parse_json(text, path, f"JSON: {_FORM}")
        lists = content.get("preferences", content)
    if not isinstance(lists, dict) or not all(isinstance(row, list) for row in lists.values()):
        raise InvalidFile(f"{where} holds no preference lists; expected {_FORM}")
    if len(lists) ** 2 > file_limit() // 4:  # the file of their instance could not be read
        raise InvalidFile(
            f"{where} names {len(lists)} agents, whose matrix of penalties is more "
            f"than is read; set {LIMIT_VARIABLE}"
        )
    if not any(lists.values()):
        raise InvalidFile(
            f"{where} holds {len(lists)} agents, nobody in their lists; expected a row for each, "
            "as in ann,bob,cat or ann: bob cat"
        )
    source = f"preference lists of {Path(path).name}, penalty = rank / n"
    try:
        return from_lists(lists, perfect=perfect, name=name_of(path), source=source)
    except InvalidInstance as error:
        raise InvalidFile(f"{where}: {error}") from None


def _text_lists(where: str, text: str) -> str:
    """Convert preference lists written as `1: 2 3 4` or `1 2 3 4`, optionally below a line with
    their number, to CSV text.
    """
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    if len(rows) > 1 and rows[0].isdecimal() and int(rows[0]) == len(rows) - 1:
        rows, text = rows[1:], text.lstrip().partition("\n")[2]
        owners = [re.split(r"[\s:,;]", row)[0] for row in rows]
        if all(map(str.isdecimal, owners)) and owners != sorted(owners, key=int):
            raise InvalidFile(
                f"{where}: rows after the number of agents begin with {shortened(owners)}; "
                "expected each agent before its list, in order, as in 1: 2 3"
            )
    elif rows and rows[0].isdecimal() and rows[0] not in re.split(r"\W+", " ".join(rows[1:])):
        raise InvalidFile(
            f"{where} begins with {rows[0]}, and has {len(rows) - 1} rows below; expected the "
            f"number of agents, or {rows[0]}: of an agent that accepts nobody"
        )
    if any('"' in row for row in rows):
        return text
    if mark := next((mark for mark in ",;\t" if mark in "".join(rows)), ""):
        return re.sub(r"(?m)^([^\s,;:]+)[^\S\n]*:(?=\s)", rf"\1{mark}", text)
    split = [re.split(r"\s*:\s*|\s+", row) for row in rows]
    return "\n".join(",".join(filter(None, cells)) for cells in split)


def _csv_lists(where: str, text: str) -> dict[str, list[Any]]:
    """Read CSV rows of an agent's name and its preference list, with ties in brackets over one or
    several cells; a header begins with "agent" or "name".
    """
    text = _text_lists(where, text)
    mark, text = separator(text)
    lists: dict[str, list[Any]] = {}
    for line, (owner, *cells) in csv_rows(text, where, mark):
        if not lists and owner.strip().lower() in ("agent", "name"):
            continue
        row: list[Any] = []
        tie: list[str] | None = None
        for cell in map(str.strip, mark.join(cells).split(mark)):
            opens, closes = cell[:1] in _OPENING, cell[-1:] in _CLOSING
            if not cell:
                continue
            if (opens and tie is not None) or (closes and tie is None and not opens):
                raise InvalidFile(
                    f"{where}, line {line}: {cell!r}; expected a tie in one pair of brackets, as "
                    "in ann,bob,[cat,dan]"
                )
            tie = [] if opens else tie
            word = cell[opens : len(cell) - closes].strip()
            if tie is None:
                row.append(word)
            elif word:
                tie.append(word)
            if closes:
                row.append(tie)
                tie = None
        if tie is not None:
            raise InvalidFile(f"{where}, line {line}: a tie has no closing bracket")
        if owner.strip() in lists:
            raise InvalidFile(f"{where}, line {line}: a second list of {owner.strip()!r}")
        lists[owner.strip()] = row
    return lists


@validate_options
def matching(instance: Colocation, pairing: Pairing) -> dict[str, str | None]:
    """Partner of each agent by name, None for none, in a pairing of different agents.

    Raises
    ------
    InvalidOption : a type has several agents, which have one name.
    """
    if not instance.distinct:
        raise InvalidOption(
            f"{instance.name or 'the instance'} has types of several agents, or of none; expected "
            "one agent of each name. Its pairs by type are in first, second and pairs"
        )
    names = instance.names
    mates = pairing.partners(instance).tolist()
    return {who: None if j < 0 else names[j] for who, j in zip(names, mates, strict=True)}


def has_lists(instance: Colocation) -> bool:
    """Return whether an instance consists of preference lists: different agents who prefer every
    partner to none.
    """
    if not instance.distinct or (instance.singles_allowed > 0 and instance.unpaired is None):
        return False
    worst = np.where(instance.allowed, instance.penalty, -np.inf).max()
    return instance.unpaired is None or bool(instance.unpaired > worst)


def has_strict_lists(instance: Colocation) -> bool:
    """Return whether an instance consists of preference lists without ties."""
    return has_lists(instance) and tied_agent(instance) is None


def tied_agent(instance: Colocation) -> tuple[int, int, int] | None:
    """Find an agent with two partners it likes equally; None for strict lists."""
    cost = np.where(instance.allowed, instance.penalty, np.inf)
    order = np.argsort(cost, axis=1, kind="stable")
    ascending = np.take_along_axis(cost, order, axis=1)
    equal = (ascending[:, 1:] == ascending[:, :-1]) & np.isfinite(ascending[:, 1:])
    if not equal.any():
        return None
    i, r = (int(at) for at in np.argwhere(equal)[0])
    return i, int(order[i, r]), int(order[i, r + 1])


def require_lists(instance: Colocation, method: str, *, strict: bool = False) -> None:
    """Raise InvalidOption unless an instance consists of preference lists, strict ones if asked."""
    if not has_lists(instance):
        several = np.flatnonzero(instance.count != 1)
        if len(several):
            kind = int(several[0])
            seen = f"count[{kind}] is {instance.count[kind]}"
        elif instance.unpaired is None:
            seen = f"machines is {instance.machines:g}, so that jobs may run alone"
        else:
            seen = f"unpaired is {instance.unpaired:g}, no more than a penalty beside somebody"
        raise InvalidOption(
            f"{method} is about preference lists, and {seen}; expected one agent of each type, "
            "each of whom prefers every possible partner to none. cotenant.from_lists makes such "
            "an instance; with types, use stable"
        )
    tie = tied_agent(instance) if strict else None
    if tie is not None:
        who, one, other = (instance.names[i] for i in tie)
        raise InvalidOption(
            f"{method} is about strict lists, and penalty[{tie[0]}] is equal for two: {who!r} "
            f"likes {one!r} and {other!r} the same. Break the tie, or use stable or egalitarian, "
            "which take ties"
        )
