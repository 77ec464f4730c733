"""Words that all answers about a cluster share: numbers of things, lists, amounts, what is proved,
and lines of at most 80 letters.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from ...instances.problem.text import sanitize_for_terminal
from ..state.state import ClusterState

WIDTH = 80
NAMED = 5
"""Names in a list before the rest is a number."""

_PROVED = re.compile(r"(?<![\w/.-])proved(?![\w/.-])(?! of )")


def plural(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'s' * (number != 1)}"


def some(names: Sequence[str], most: int = NAMED) -> str:
    """The first of some names, and how many there are besides."""
    rest = len(names) - most
    return ", ".join(names[:most]) + f" and {rest} more" * (rest > 0)


def on_nodes(counts: Mapping[str, int], host: str) -> str:
    """Reasons by the number of nodes that have them: "on 3 nodes: spread; on 1 node: volume"."""
    by_number = grouped((plural(count, host), why) for why, count in counts.items())
    return "; ".join(f"on {number}: {', '.join(whys)}" for number, whys in by_number.items())


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The second of some pairs by the first."""
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def fewest(number: int, least: int, pinned: int, stay: str = "") -> str:
    """How sure it is that no fewer do: by a bound in any case, and one while something stays."""
    if number == least:
        return "fewest, proved"
    if number == pinned:
        return f"fewest{stay}, proved" + f"; at least {least} in any case" * bool(least)
    return f"at least {max(least, pinned)}, proved"


def amount(money: Fraction, rounded: Callable[[Fraction], int] = round) -> str:
    """An amount of money in the unit of its prices, with at most four digits after the point."""
    digits = 2 if abs(money) >= 100 else 4
    number = rounded(money * 10**digits)
    whole, part = divmod(abs(number), 10**digits)
    return f"{'-' * (number < 0)}{whole}.{part:0{digits}d}".rstrip("0").rstrip(".")


def qualified(state: ClusterState, words: str) -> str:
    """A sentence about a state: what is proved says of what."""
    of = f" of the {state.workload_noun}s in this file" if state.warnings else ""
    of += f", {state.counted}" if state.counted else ""
    return _PROVED.sub(f"proved{of}", words, count=1)


def as_sentence(state: ClusterState, words: str) -> str:
    """Words about a state as a sentence of a page; a name of a node stays as it is."""
    words = qualified(state, words)
    if words.partition(" ")[0].rstrip(",") in {node.name for node in state.nodes}:
        return words
    return words[:1].upper() + words[1:]


def wrapped(lines: Iterable[str]) -> list[str]:
    """Printable lines of at most 80 letters, what does not fit indented below."""
    texts = []
    for line in map(sanitize_for_terminal, lines):
        indent = len(line) - len(line.lstrip())
        texts += textwrap.wrap(
            line, WIDTH, initial_indent="", subsequent_indent=" " * (indent + 2),
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
    return texts
