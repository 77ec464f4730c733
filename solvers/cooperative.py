"""Core, least epsilon and nucleolus of coalition games, in exact fractions.

A game gives each coalition what it earns by itself, more is better; coalitions are bit masks, bit i
for player i. The excess of a coalition is its value less what a division gives its members.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..instances.coalitions import MOST_PLAYERS, by_mask
from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import validate_options
from ..verify.cooperative import all_changes, change, settled

Numbers = npt.NDArray[Any]
Given = Any  # a sequence or array by bit mask, or a mapping from coalitions; checked when read

_PATIENCE = 5
"""Exchanges without progress after which Bland's rule (1977) chooses, which never cycles."""


class CoreTest(NamedTuple):
    """Whether a division is in the core, and the first coalition of the largest excess."""

    inside: bool
    coalition: int
    excess: Fraction


class Nucleolus(NamedTuple):
    """Division of a coalition game, and its largest excesses in levels, each with a certificate.

    Each of the `levels` is an excess and Kohlberg's certificate: coalitions of this excess and
    whole weights above 0. What they get, so weighted, is in sum the same for all divisions that the
    levels before leave, so that none gives more to each of them.
    """

    division: tuple[Fraction, ...]
    levels: tuple[tuple[Fraction, dict[int, int]], ...]


@validate_options
def in_core(values: Given, division: Given) -> CoreTest:
    """Decide whether a division is efficient and no coalition earns more by itself.

    Parameters
    ----------
    values : (2^k,) what each coalition earns, by mask: whole numbers, fractions, or decimals, which
        count as they are written. Or a mapping from coalitions, see `coalitions.by_mask`.
    division : (k,) what each player gets, alike.

    Raises
    ------
    InvalidOption
        They are no numbers, not so many, for more than 20 players or for one, or the first value,
        of nobody, is not 0.

    Examples
    --------
    >>> in_core([0, 0, 0, 4, 0, 4, 4, 5], [1, 2, 2])
    CoreTest(inside=False, coalition=3, excess=Fraction(1, 1))
    """
    (table, over), (shares, under) = whole_values(values), whole_numbers(division, "division")
    if 1 << len(shares) != len(table):
        raise InvalidOption(f"division has {len(shares)} entries for {len(table)} values")
    excess = table * under - _sums(shares * over)
    worst = 1 + int(np.argmax(excess[1:-1]))
    inside = excess[-1] == 0 and excess[worst] <= 0
    return CoreTest(bool(inside), worst, Fraction(excess[worst], over * under))


@validate_options
def least_epsilon(values: Given) -> Nucleolus:
    """Find the least epsilon with a nonempty epsilon-core; the core is empty if it is positive.

    It is the one level that is given. The certificate balances all players: the mean excess of its
    coalitions, weighted, is this number for every division (Bondareva 1963, Shapley 1967).

    Parameters
    ----------
    values : see `in_core`, also for what is raised.

    Examples
    --------
    >>> least_epsilon([0, 0, 0, 4, 0, 4, 4, 5]).levels
    ((Fraction(2, 3), {3: 1, 5: 1, 6: 1}),)
    """
    return _first_levels(*whole_values(values), rational=False, most=1)


@validate_options
def nucleolus(values: Given) -> Nucleolus:
    """Find the division whose sorted excesses are lexicographically minimal among individually
    rational divisions (Schmeidler 1969).

    Parameters
    ----------
    values : see `in_core`, also for what is raised.

    Raises
    ------
    InvalidOption
        The players earn more alone than all together: no division is rational.

    Notes
    -----
    At most k - 1 linear programs one after the other (Maschler, Peleg and Shapley 1979), by the
    simplex method in whole numbers: nothing is rounded. Each exchange takes O(2^k) additions.

    Examples
    --------
    >>> claims = [0, 100, 200, 300, 300, 400, 500, 600]  # on 200: Aumann and Maschler 1985
    >>> [str(share) for share in nucleolus([max(0, sum_ - 400) for sum_ in claims]).division]
    ['50', '75', '75']
    """
    table, over = whole_values(values)
    alone = sum(table[1 << player] for player in range(len(table).bit_length() - 1))
    if alone > table[-1]:
        raise InvalidOption(
            f"the players earn {Fraction(alone, over)} alone and {Fraction(table[-1], over)} "
            "together: no division gives each its own; take the prenucleolus"
        )
    return _first_levels(table, over, rational=True)


@validate_options
def prenucleolus(values: Given) -> Nucleolus:
    """Find the division whose sorted excesses are lexicographically minimal among all efficient
    divisions.

    A player may get less than it earns alone. It is the nucleolus where the core is not empty.
    `values` and errors as of `in_core`.

    Examples
    --------
    >>> [str(share) for share in prenucleolus([0, 0, 0, 10, 0, 0, 0, 2]).division]
    ['3', '3', '-4']
    """
    return _first_levels(*whole_values(values), rational=False)


DIVISIONS = {"nucleolus": nucleolus, "prenucleolus": prenucleolus}


def whole_values(values: Given) -> tuple[Numbers, int]:
    """Values of a game as integers over a common denominator; see `in_core`."""
    if isinstance(values, Mapping):
        values = by_mask(values.items())[1]
    values = _entries(values, "values")
    if not 2 < len(values) <= 1 << MOST_PLAYERS or len(values) & (len(values) - 1):
        raise InvalidOption(
            f"values has {len(values)} entries; expected 2^k, one for each coalition of k players, "
            f"k from 2 to {MOST_PLAYERS}"
        )
    table, over = whole_numbers(values, "values")
    if table[0]:
        raise InvalidOption(f"values[0] is {values[0]}; expected 0, for nobody")
    return table, over


def whole_numbers(numbers: Given, what: str) -> tuple[Numbers, int]:
    """Decimals as integers over a common denominator."""
    exact = list[Fraction]()
    for place, number in enumerate(_entries(numbers, what)):
        try:
            if re.search("e[+-]?0*[1-9][0-9]{3}", str(number), re.IGNORECASE):
                raise ValueError  # thousands of digits
            exact.append(Fraction(str(number)))
        except (ValueError, ZeroDivisionError):
            raise InvalidOption(f"{what}[{place}] is {number!r}; expected a number") from None
    over = math.lcm(*(number.denominator for number in exact))
    return np.array([int(number * over) for number in exact], dtype=object), over


def _entries(numbers: object, what: str) -> list[Any]:
    """Entries of an iterable; raises InvalidOption for anything else."""
    if isinstance(numbers, Iterable) and not isinstance(numbers, str | bytes):
        return list(numbers)
    raise InvalidOption(f"{what} is {numbers!r}; expected a list of numbers")


def _first_levels(table: Numbers, over: int, *, rational: bool, most: int = 99) -> Nucleolus:
    """Nucleolus of integer values over a denominator, or only its first `most` levels."""
    players, levels = len(table).bit_length() - 1, list[tuple[Fraction, dict[int, int]]]()
    division, free = np.array([0] * (players - 1) + [table[-1]], dtype=object), all_changes(players)
    while free and len(levels) < most:
        epsilon, moved, unit, weights = _least_excess(table - _sums(division), free, rational)
        table, division, over = table * unit, division * unit + moved, over * unit
        levels.append((Fraction(epsilon, over), weights))
        for mask in weights:
            free = settled(free, mask)
    return Nucleolus(tuple(Fraction(share, over) for share in division), tuple(levels))


def _least_excess(
    excess: Numbers, free: list[list[int]], rational: bool
) -> tuple[int, Numbers, int, dict[int, int]]:
    """Make the largest excess of a coalition least by changes `free` of the division. Returns it
    (epsilon), the sum of the changes over a unit, and the weights of coalitions that prove it.

    A linear program in t and epsilon has the rows epsilon + t . free(S) >= excess(S). A basis is
    some of them as equations, and `inverse` over `unit` its inverse in integers.
    """
    size, changes = len(free), np.array(free, dtype=object)
    # coalitions whose sum some free change moves, and the players among them
    movable = np.flatnonzero(np.any([_sums(y) for y in changes], axis=0))
    single = movable[np.bitwise_count(movable) == 1]
    # 1. Begin at players alone, and a bound below the mean of their excesses, which never changes.
    bound = sum(excess[single]) // len(single) - 1
    basis, inverse, unit = [("bound", 0)] * (size + 1), np.eye(size + 1, dtype=object), 1

    def product(kind: str, mask: int) -> Numbers:
        row = [*(change(y, mask) for y in free), int(kind == "open")]
        return np.array(row, dtype=object) @ inverse

    def exchange(place: int, kind: str, mask: int) -> None:
        nonlocal inverse, unit
        row, column = product(kind, mask), inverse[:, place].copy()
        inverse = (inverse * row[place] - np.outer(column, row)) // unit
        inverse[:, place], unit, basis[place] = column, row[place], (kind, mask)
        if unit < 0:
            inverse, unit = -inverse, -unit

    for place in range(size):
        exchange(place, "open", next(int(m) for m in single if product("open", int(m))[place]))
    stalled = 0
    while True:
        # 2. A row that is not satisfied enters: the one off by most, or the first.
        right = [excess[mask] if kind != "bound" else bound for kind, mask in basis]
        *steps, epsilon = inverse @ np.array(right, dtype=object)
        moved = np.array(steps, dtype=object) @ changes
        off, entering = excess * unit - _sums(moved), None
        for kind, masks, least in (("alone", single, 0), ("open", movable, epsilon)):
            gaps = off[masks] - least
            place = int(np.argmax(gaps > 0 if stalled > _PATIENCE else gaps))
            if entering is None and gaps[place] > 0 and (rational or kind == "open"):
                entering = kind, int(masks[place])
        if entering is None:
            break
        # 3. The row leaves whose weight would fall below 0 first.
        row, weight = product(*entering), inverse[-1]
        ratios = [(Fraction(weight[i], row[i]), basis[i], i) for i in range(size + 1) if row[i] > 0]
        place = min(ratios)[2]
        stalled = 0 if weight[place] else stalled + 1
        exchange(place, *entering)
    weights = Counter[int]()
    for (_, mask), part in zip(basis, inverse[-1], strict=True):
        weights[mask] += part
    common = math.gcd(*weights.values())
    return epsilon, moved, unit, {m: w // common for m, w in sorted(weights.items()) if w}


def _sums(shares: Numbers) -> Numbers:
    """Sum of the members' shares for each coalition, shape (2^k,) by bit mask."""
    sums = np.zeros(1, dtype=object)
    for share in shares:
        sums = np.concatenate([sums, sums + share])
    return sums
