"""Blocking pairs of a pairing, counted by types, with exact comparisons of penalties.

An agent gains by a change iff its penalty falls by strictly more than alpha, exactly: penalties and
alpha are the decimals that were written, not the floats that hold them. W[a, c] is the number of
a-agents who would gain by a c-agent beside them; then the blocking pairs are exactly sum over
allowed a < c of W[a, c] W[c, a], plus sum over allowed a of W[a, a] (W[a, a] - 1) / 2.

Where penalties have intervals, the true matrix is any matrix M of the box low <= M <= high, and
there are two more counts of the same form. An a-agent beside b *certainly* gains by c iff
low[a, b] - high[a, c] > alpha, and *possibly* iff high[a, b] - low[a, c] > alpha and b is not c
(one entry is one number: nobody gains by what it has).

Theorem. A pair of agents blocks in every matrix of the box iff both certainly gain, and in some
matrix of the box iff both possibly gain. So a pairing without possibly blocking pair is exactly a
pairing that is stable for every matrix in the box.

Proof. Let i, of type a beside b, and j, of type c beside d, be two agents, b None for one who is
left unpaired. They block in M iff M[a, b] - M[a, c] > alpha and M[c, d] - M[c, a] > alpha. With
b = c the first difference is 0 whatever M is, which is not above alpha; so too with d = a. Else the
entries (a, b) and (a, c) differ, and so do (c, d) and (c, a). No entry stands in both differences
with opposite signs: if a is not c they are in different rows, and if a is c the entry (a, a) is
subtracted in both and (a, b), (a, d) are not it. Hence one matrix of the box takes both differences
to their largest values at once, high[a, b] - low[a, c] and high[c, d] - low[c, a], and another to
their least. The other readings of alpha compare f(M[a, b]) with M[a, c] for a function f that
increases, so the same ends decide. Last, a pairing is stable for every matrix iff none of its pairs
blocks in any.

The converse does not hold for certain gains: a pairing without certainly blocking pair need not be
stable for any one matrix. It is one that no agents leave whom the data prove a gain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidOption
from ..problem.option_types import AtLeast, validate_options
from ..problem.quantities import as_written
from .instance import BLOCK, Booleans, Colocation, Floats, Integers, Pairing, blocks

AlphaMode = Literal["penalty-points", "relative-penalty", "relative-throughput"]
ALPHA_MODES: tuple[AlphaMode, ...] = get_args(AlphaMode)
Alpha = Annotated[float, AtLeast(0, "a least gain", cure="0.05 is five points of penalty")]
Uncertainty = Literal["none", "certain", "possible"]
UNCERTAINTIES: tuple[Uncertainty, ...] = get_args(Uncertainty)
"""Which gains count: measured ones, those in every matrix of the box, those in some."""

_NOISE = 2.0**-49
"""A few times what floats of decimals, and the operations of `gains`, can be off by."""


_LEAST = 1e-300
"""Floats nearer to 0 than this hold fewer digits."""

MOST_TOLD = 20
"""Entries of the list, those of most pairs of agents first."""


_NEAR = 1e-12
"""Differences of floats that are nearer are compared as decimals."""


@validate_options
def validate_alpha(alpha: Alpha, alpha_mode: AlphaMode = "penalty-points") -> None:
    """Raise InvalidOption for an alpha below zero or NaN, or an unknown `alpha_mode`."""
    if alpha_mode == "relative-penalty" and alpha >= 1:
        raise InvalidOption(f"alpha is {alpha}; a relative gain in penalty is below 1")


@validate_options
def gains(
    old: npt.ArrayLike,
    new: npt.ArrayLike,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> Booleans:
    """Return whether an agent gains when its penalty changes from `old` to `new` (elementwise,
    broadcast).

    The comparison is exact on the decimals as written: a float stands for the shortest decimal that
    reads as it, the one that it prints as. So .3 - .25 is not more than .05, although the floats
    say so. Floats decide where they are far enough apart, fractions elsewhere; at alpha 0 the
    floats themselves are in the order of their decimals.

    Parameters
    ----------
    old, new : penalties, fractions of throughput lost; inf as `new` never gains.
    alpha : least gain for which an agent moves (Cooper fig. 10).
    alpha_mode : "penalty-points": old - new > alpha, the default. The papers' text allows two other
        readings: "relative-penalty": old - new > alpha |old|; "relative-throughput":
        (1-new)/(1-old) - 1 > alpha.
    """
    before, after = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    if alpha == 0:
        return np.asarray(before > after)
    alpha = float(alpha)
    # inf - inf, and the product with an enormous alpha
    with np.errstate(over="ignore", invalid="ignore"):
        excess = before - after - least_gain(before, alpha, alpha_mode)
        noise = _NOISE * (np.abs(before) + np.abs(after) + alpha * (1.0 + np.abs(before))) + _LEAST
        near = np.isfinite(excess) & (np.abs(excess) <= noise)
    better = np.asarray(excess > 0)
    if near.any():
        before, after = (np.broadcast_to(side, near.shape)[near] for side in (before, after))
        cases, place = np.unique(np.stack([before, after]), axis=1, return_inverse=True)
        exactly = [_gains_exactly(one, other, alpha, alpha_mode) for one, other in cases.T.tolist()]
        better[near] = np.array(exactly)[place.reshape(-1)]
    return better


def require_intervals(instance: Colocation, option: str, value: object) -> tuple[Floats, Floats]:
    """Ends of the penalty intervals; raises InvalidOption for an option that needs them."""
    if instance.low is None or instance.high is None:
        raise InvalidOption(
            f"{option} is {value!r}, and {instance.name or 'the instance'} has no intervals; "
            "give low and high, one entry for each penalty, or leave the option out"
        )
    return instance.low, instance.high


def compared(instance: Colocation, uncertainty: Uncertainty = "none") -> tuple[Floats, Floats]:
    """Penalties (T, T) with a partner that an agent has, and with one that it may go to instead.

    They are those measured, or opposite ends of their intervals, as `uncertainty` says.
    """
    if uncertainty == "none":
        return instance.penalty, instance.penalty
    low, high = require_intervals(instance, "uncertainty", uncertainty)
    return (low, high) if uncertainty == "certain" else (high, low)


def least_gain(old: Floats, alpha: float, alpha_mode: AlphaMode = "penalty-points") -> Floats:
    """Least decrease of penalty `old` for which an agent moves, in floats (`gains` is exact)."""
    if alpha_mode == "relative-penalty":
        return alpha * np.abs(old)
    if alpha_mode == "relative-throughput":
        return alpha * (1.0 - old)
    return np.full_like(old, alpha)


@lru_cache(maxsize=1 << 16)
def _gains_exactly(old: float, new: float, alpha: float, alpha_mode: AlphaMode) -> bool:
    """Compare penalties exactly on their decimals, as `gains` defines a gain."""
    before, least = as_written(old), as_written(alpha)
    if alpha_mode == "relative-penalty":
        least *= abs(before)
    elif alpha_mode == "relative-throughput":
        least *= 1 - before
    return before - as_written(new) > least


def least_float(value: Fraction) -> float:
    """Least float whose shortest decimal is at least a given fraction."""
    near = float(value)
    return near if as_written(near) >= value else math.nextafter(near, math.inf)


def better_partners(
    ascending: Floats,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    others: Floats | None = None,
) -> Integers:
    """For each ascending penalty: how many penalties would be a gain on it by enough. O(m log m).

    Parameters
    ----------
    ascending : (m,) penalties, the least first.
    alpha, alpha_mode : as in `gains`, which decides.
    others : ascending penalties that it may go to, where they are not the same.

    Returns
    -------
    (m,) whole numbers, ascending too.
    """
    if alpha == 0 and others is None:
        return np.searchsorted(ascending, ascending)
    values, inverse = np.unique(ascending, return_inverse=True)
    others = ascending if others is None else others
    found = np.unique(others)
    # number of others below each distinct one, and their number in all
    ends = np.append(np.searchsorted(others, found), len(others))
    if alpha == 0:
        return cast("Integers", ends[np.searchsorted(found, values)][inverse])
    # the floats guess, `gains` decides: it is monotone, so a wrong guess is corrected by going on
    # in one direction
    better = np.searchsorted(found, values - least_gain(values, float(alpha), alpha_mode))
    while (
        more := (better < len(found))
        & gains(values, found[np.minimum(better, len(found) - 1)], alpha, alpha_mode)
    ).any():
        better = better + more
    while (
        less := (better > 0) & ~gains(values, found[np.maximum(better - 1, 0)], alpha, alpha_mode)
    ).any():
        better = better - less
    return cast("Integers", ends[better][inverse])


@dataclass(frozen=True)
class BlockingPairs:
    """Blocking pairs of a pairing, counted by type.

    Attributes
    ----------
    count : how many pairs of agents block.
    agents : how many agents are in at least one blocking pair.
    """

    count: int
    agents: int
    _everyone: _Everyone = field(repr=False, compare=False)

    @cached_property
    def most(self) -> int:
        """Largest number of blocking pairs that one agent is in. O(P T) for P pairs of types."""
        everyone = self._everyone
        total = np.zeros(len(everyone.kind), dtype=np.int64)
        for rows, columns, here, there in everyone.meetings():
            everyone.add_partners(total, rows, columns, there)
            if rows != columns:
                everyone.add_partners(total, columns, rows, here.T)
        return int(total.max(initial=0))

    @cached_property
    def listed(self) -> tuple[Integers, ...]:
        """Pairs of types with blocking agents, and how many of each type gain: four arrays (B,).

        The arrays are types a <= c, and the agents W[a, c] and W[c, a] who gain. They make W[a, c]
        W[c, a] pairs of agents, or W (W - 1) / 2 for a = c.
        """
        found = [np.zeros((4, 0), dtype=np.int64)]
        for rows, columns, here, there in self._everyone.meetings():
            first, second = np.nonzero(_products(rows, columns, here, there))
            keep = first + rows.start <= second + columns.start
            first, second = first[keep], second[keep]
            ends = (first + rows.start, second + columns.start)
            found.append(np.stack([*ends, here[first, second], there[first, second]]))
        listed = np.concatenate(found, axis=1)
        return tuple(listed[:, np.lexsort((listed[1], listed[0]))])


class AgentGroups:
    """Agents of a pairing grouped by their own type and their partner's type.

    Attributes
    ----------
    kind, beside : (P,) types; `beside` is -1 for those left unpaired. Jobs alone on a machine of
        their own, who never leave it, are in none.
    number : (P,) agents.
    """

    def __init__(self, instance: Colocation, pairing: Pairing) -> None:
        a, b = pairing.first, pairing.second
        apart = a != b  # both ends of a pair of one type are in one group
        self.instance = instance
        kind, beside = np.concatenate([a, b[apart]]), np.concatenate([b, a[apart]])
        number = np.concatenate([pairing.pairs * (2 - apart), pairing.pairs[apart]])
        if instance.unpaired is not None:
            alone = np.flatnonzero(pairing.single)
            kind, beside = np.append(kind, alone), np.append(beside, np.full(len(alone), -1))
            number = np.append(number, pairing.single[alone])
        self.kind, self.beside, self.number = kind, beside, number

    @cached_property
    def elsewhere(self) -> Booleans:
        """Whether an agent of each group could share with each type but does not, shape (P, T)."""
        apart = self.beside[:, None] != np.arange(self.instance.types)
        return cast("Booleans", self.instance.allowed[self.kind] & apart)

    def bear(self, penalty: Floats) -> Floats:
        """Penalty (P,) that the agents of each group suffer under a given penalty matrix."""
        alone = self.beside < 0
        paired = penalty[self.kind, self.beside]
        return np.where(alone, self.instance.single_penalty, paired)


class _Everyone:
    """Agents of a pairing grouped by type and penalty, and their possible gains."""

    def __init__(
        self,
        instance: Colocation,
        pairing: Pairing,
        alpha: float,
        alpha_mode: AlphaMode,
        uncertainty: Uncertainty,
    ) -> None:
        self.instance, self.alpha, self.alpha_mode = instance, alpha, alpha_mode
        leaves, self.offered = compared(instance, uncertainty)
        self.apart = uncertainty == "possible"  # nobody gains by what it has
        groups = AgentGroups(instance, pairing)
        order = np.argsort(groups.kind, kind="stable")
        ones = np.bincount(groups.kind, weights=groups.number, minlength=1).max() <= 1
        self.dtype = np.int8 if ones else np.int64
        self.number = groups.number[order].astype(self.dtype)
        self.kind, self.beside = groups.kind[order], groups.beside[order]
        self.bears = groups.bear(leaves)[order]
        self.start = np.searchsorted(self.kind, np.arange(instance.types + 1))

    def willing(self, rows: slice, columns: slice) -> Integers:
        """Number of agents of each type in `rows` who would leave for each type in `columns`."""
        total: Integers = np.zeros(
            (rows.stop - rows.start, columns.stop - columns.start), dtype=self.dtype
        )
        for some, kind, better in self._gaining(rows, columns):
            heads = np.flatnonzero(np.diff(kind, prepend=-1))
            counts: Any = self.number[some, None] * better
            if len(heads) < len(kind):
                counts = np.add.reduceat(counts, heads, axis=0)
            total[kind[heads]] += counts
        total *= self.instance.allowed[rows, columns]
        return total

    def _gaining(self, rows: slice, columns: slice) -> Iterator[tuple[slice, Integers, Booleans]]:
        """Iterate over blocks of groups of alike agents, with the types each group gains by.

        Each block is a slice of the groups of types in `rows`, their types, and a table of whether
        each group gains by a partner of each type in `columns`.
        """
        penalty = self.offered[rows, columns]
        begin, end = self.start[rows.start], self.start[rows.stop]
        for least in range(begin, end, BLOCK):
            some = slice(least, min(least + BLOCK, end))
            kind = self.kind[some] - rows.start
            better = gains(self.bears[some, None], penalty[kind], self.alpha, self.alpha_mode)
            if self.apart:
                better &= self.beside[some, None] != np.arange(columns.start, columns.stop)
            yield some, kind, better

    def add_partners(self, total: Integers, rows: slice, columns: slice, there: Integers) -> None:
        """Add to `total` (groups,) how many agents one agent of each group blocks with.

        Groups of types in `rows` and partners of types in `columns` are counted.
        """
        for some, kind, better in self._gaining(rows, columns):
            better = better & self.instance.allowed[rows, columns][kind]
            total[some] += np.where(better, there[kind], 0).sum(axis=1, dtype=np.int64)
            if rows == columns:
                total[some] -= better[np.arange(len(kind)), kind].astype(np.int64)

    def meetings(self) -> Iterator[tuple[slice, slice, Integers, Integers]]:
        """Iterate over blocks of the matrix `willing` on and above the diagonal, each with the
        transposed block below the diagonal.
        """
        for rows, columns in itertools.combinations_with_replacement(
            blocks(self.instance.types), 2
        ):
            here = self.willing(rows, columns)
            yield rows, columns, here, (here if rows == columns else self.willing(columns, rows)).T

    def tempted(self, tempting: _Tempting) -> int:
        """Number of agents that gain by the best partner they form a blocking pair with."""
        own = self.beside == tempting.whom[self.kind]
        best = np.where(own, tempting.second[self.kind], tempting.best[self.kind])
        better = gains(self.bears, best, self.alpha, self.alpha_mode)
        return int(self.number[better].sum())


class _Tempting:
    """For each type: the partner type of least penalty among those it forms blocking pairs with,
    this penalty, and the second least.
    """

    def __init__(self, types: int) -> None:
        self.best, self.second = np.full(types, np.inf), np.full(types, np.inf)
        self.whom = np.full(types, -2)

    def meet(self, side: slice, other: slice, penalty: Floats) -> None:
        """Lower the two least penalties of each type by those beside the types `other`.

        The table `penalty` of the types `side` is infinite where two types do not block.
        """
        rows = np.arange(len(penalty))
        place = penalty.argmin(axis=1)
        least = penalty[rows, place]
        rest = penalty.copy()
        rest[rows, place] = np.inf
        known = self.best[side]
        self.second[side] = np.minimum(
            np.maximum(known, least), np.minimum(self.second[side], rest.min(axis=1))
        )
        self.whom[side] = np.where(least < known, place + other.start, self.whom[side])
        self.best[side] = np.minimum(known, least)


def _products(rows: slice, columns: slice, here: Integers, there: Integers) -> Integers:
    """Number of blocking pairs by types, from willing agents both ways; doubled on the diagonal."""
    products = here * there
    if rows == columns:
        alike = np.diagonal(here)
        np.fill_diagonal(products, alike * (alike - 1))
    return cast("Integers", products)


def willing(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
) -> Integers:
    """Number (T, T) of agents of type a that would gain by one of type c; 0 for forbidden pairs.

    A job alone on its own machine never gains (its penalty is 0 or, by noise, above a negative one:
    it is left alone); an agent left `unpaired` gains by whoever it likes better. O(P T) for P pairs
    of types.
    """
    everyone = _Everyone(instance, pairing, alpha, alpha_mode, uncertainty)
    every = blocks(instance.types)
    return np.block(
        [[everyone.willing(rows, columns) for columns in every] for rows in every]
    ).astype(np.int64)


@validate_options
def blocking_pairs(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
) -> BlockingPairs:
    """Count and list the pairs of agents that would both gain by leaving their partners for each
    other.

    Parameters
    ----------
    instance, pairing : what is given, and a feasible answer.
    alpha, alpha_mode : as in `gains`.
    uncertainty : "none" counts gains on the measured penalties, "certain" those in every matrix
        within the intervals, "possible" those in some (see the module for the theorem).

    Raises
    ------
    InvalidOption
        An option out of range, or an uncertainty where there are no intervals.

    Source: Cooper section III.B (definition) and fig. 10 (alpha); thesis section 2.2.2.
    """
    validate_alpha(alpha, alpha_mode)
    everyone = _Everyone(instance, pairing, alpha, alpha_mode, uncertainty)
    tempting = _Tempting(instance.types)
    twice = 0
    for rows, columns, here, there in everyone.meetings():
        products = _products(rows, columns, here, there)
        twice += int(products.sum()) * (1 if rows == columns else 2)
        both = products > 0
        sides = ((rows, columns, both), (columns, rows, both.T))
        for side, other, block in sides[: 1 if rows == columns else 2]:
            tempting.meet(side, other, np.where(block, everyone.offered[side, other], np.inf))
    # who gains by the most tempting of those with whom its type blocks is in a blocking pair
    return BlockingPairs(twice // 2, everyone.tempted(tempting), everyone)


def stable_alpha(
    instance: Colocation, pairing: Pairing, uncertainty: Uncertainty = "none"
) -> float:
    """Least alpha (penalty points) at which a pairing has no blocking pair.

    Two agents block below the lesser of their two gains, so it is the most that this is for any two
    (0 at least), exactly on the decimals as written; where no float is written as that number, the
    least that is not below it. With "possible" gains the pairing is stable from there on for every
    matrix within the intervals. O(P^2) for P pairs of types.
    """
    groups, (leaves, offered) = AgentGroups(instance, pairing), compared(instance, uncertainty)
    kind, bear = groups.kind, groups.bear(leaves)
    fall = np.where(groups.elsewhere, bear[:, None] - offered[kind], -np.inf)

    def lesser(one: int) -> Floats:
        both = np.minimum(fall[one, kind[one:]], fall[one:, kind[one]])
        both[0] = both[0] if groups.number[one] > 1 else -np.inf
        return cast("Floats", both)

    most = max((float(lesser(one).max()) for one in range(len(kind))), default=-np.inf)
    if most < -_NEAR:
        return 0.0
    near: set[tuple[float, ...]] = set()
    for one in range(len(kind)):
        for other in (one + np.flatnonzero(lesser(one) >= most - _NEAR)).tolist():
            a, c = kind[one], kind[other]
            near.add((bear[one], offered[a, c], bear[other], offered[c, a]))
    exact = max(
        min(as_written(x) - as_written(y), as_written(z) - as_written(w))
        for x, y, z, w in (map(float, case) for case in near)
    )
    return least_float(max(exact, Fraction(0)))


@validate_options
def undecided_pairs(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> list[dict[str, Any]]:
    """Groups of agents that possibly but not certainly block, with the intervals that decide.

    Narrower intervals of these settle whether they block; a pair that certainly blocks does so
    however it is measured. O(P^2) for P pairs of types.

    Returns
    -------
    JSON values, at most `MOST_TOLD`, most pairs of agents first: `types` [a, c] and whom they are
    `beside` (None for nobody), by name; how many `pairs` of agents they make; `now` the two
    intervals of what they have, `then` of what they would have.
    """
    groups = AgentGroups(instance, pairing)
    kind, beside, number = groups.kind, groups.beside, groups.number
    highest, lowest = compared(instance, "possible")
    now = np.stack([groups.bear(lowest), groups.bear(highest)], axis=1)
    read = (alpha, alpha_mode)
    possibly = gains(now[:, 1, None], lowest[kind], *read) & groups.elsewhere
    certainly = gains(now[:, 0, None], highest[kind], *read)
    found: list[tuple[int, int, int]] = []
    for one in range(len(kind)):
        later = slice(one, None)
        undecided = possibly[one, kind[later]] & possibly[later, kind[one]]
        undecided &= ~(certainly[one, kind[later]] & certainly[later, kind[one]])
        pairs = number[one] * number[later] * undecided
        pairs[0] = undecided[0] * number[one] * (number[one] - 1) // 2
        first = np.argsort(-pairs, kind="stable")[:MOST_TOLD]
        found += [(int(pairs[other]), one, one + other) for other in first.tolist() if pairs[other]]
    found.sort(key=lambda entry: (-entry[0], entry[1:]))
    names = instance.names

    def ends(x: int, y: int) -> list[float]:
        return [float(lowest[x, y]), float(highest[x, y])]

    return [
        {
            "types": [names[kind[one]], names[kind[other]]],
            "beside": [None if beside[g] < 0 else names[beside[g]] for g in (one, other)],
            "pairs": pairs,
            "now": now[[one, other]].tolist(),
            "then": [ends(kind[one], kind[other]), ends(kind[other], kind[one])],
        }
        for pairs, one, other in found[:MOST_TOLD]
    ]
