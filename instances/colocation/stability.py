"""Who would break away: the one strict comparison, and blocking pairs counted over types.

An agent gains by a change iff its penalty falls by strictly more than alpha, exactly: penalties and
alpha are the decimals that were written, not the floats that hold them. W[a, c] is the number of
a-agents who would gain by a c-agent beside them; then the blocking pairs are exactly sum over
allowed a < c of W[a, c] W[c, a], plus sum over allowed a of W[a, a] (W[a, a] - 1) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidOption
from ..problem.rules import AtLeast, checked
from .instance import Booleans, Colocation, Floats, Integers, Pairing

AlphaMode = Literal["penalty-points", "relative-penalty", "relative-throughput"]
ALPHA_MODES: tuple[AlphaMode, ...] = get_args(AlphaMode)
Alpha = Annotated[float, AtLeast(0, "a least gain", cure="0.05 is five points of penalty")]

_NOISE = 2.0**-49
"""A few times what rounding decimals to floats, and the float operations of `gains`, can change,
relative to their operands.
"""


_LEAST = 1e-300
"""Floats nearer to 0 than this hold fewer digits."""


@checked
def validate_alpha(alpha: Alpha, alpha_mode: AlphaMode = "penalty-points") -> None:
    """Refuse an alpha below zero, NaN, or a reading that is not known."""
    if alpha_mode == "relative-penalty" and alpha >= 1:
        raise InvalidOption(f"alpha is {alpha}; a relative gain in penalty is below 1")


def gains(
    old: npt.ArrayLike,
    new: npt.ArrayLike,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> Booleans:
    """Whether an agent whose penalty goes from `old` to `new` gains by it (element by element,
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
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # inf - inf, and the product with an enormous alpha
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


def least_gain(old: Floats, alpha: float, alpha_mode: AlphaMode = "penalty-points") -> Floats:
    """By how much penalty `old` must fall before its agent moves, in floats: `gains` decides
    exactly.
    """
    if alpha_mode == "relative-penalty":
        return alpha * np.abs(old)
    if alpha_mode == "relative-throughput":
        return alpha * (1.0 - old)
    return np.full_like(old, alpha)


@lru_cache(maxsize=1 << 16)
def _gains_exactly(old: float, new: float, alpha: float, alpha_mode: AlphaMode) -> bool:
    """See `gains`."""
    before, least = _decimal(old), _decimal(alpha)
    if alpha_mode == "relative-penalty":
        least *= abs(before)
    elif alpha_mode == "relative-throughput":
        least *= 1 - before
    return before - _decimal(new) > least


@lru_cache(maxsize=1 << 16)
def _decimal(value: float) -> Fraction:
    """The decimal that a float was written as: the shortest that reads as it."""
    return Fraction(repr(value))


def better_partners(
    ascending: Floats, alpha: float = 0.0, alpha_mode: AlphaMode = "penalty-points"
) -> Integers:
    """For an agent at each of some penalties, how many of them it would gain by: a prefix, since
    they ascend. O(m log m).

    Parameters
    ----------
    ascending : (m,) penalties, the least first.
    alpha, alpha_mode : as in `gains`, which decides.

    Returns
    -------
    (m,) whole numbers, ascending too.
    """
    values, place = np.unique(ascending, return_inverse=True)
    ends = np.append(np.searchsorted(ascending, values), len(ascending))
    if alpha == 0:
        return cast("Integers", ends[:-1][place])
    # the floats guess, `gains` decides: it is monotone, so a wrong guess is mended by going on in
    # one direction
    better = np.searchsorted(values, values - least_gain(values, float(alpha), alpha_mode))
    while (
        more := (better < len(values))
        & gains(values, values[np.minimum(better, len(values) - 1)], alpha, alpha_mode)
    ).any():
        better = better + more
    while (
        less := (better > 0) & ~gains(values, values[np.maximum(better - 1, 0)], alpha, alpha_mode)
    ).any():
        better = better - less
    return cast("Integers", ends[better][place])


@dataclass(frozen=True)
class BlockingPairs:
    """The blocking pairs of a pairing, by type.

    Attributes
    ----------
    count : how many pairs of agents block.
    agents : how many agents are in at least one blocking pair.
    first, second : (B,) types a <= c whose agents block.
    willing_first, willing_second : (B,) W[a, c] and W[c, a]; a pair of types a < c stands for their
        product of agent pairs, a = c for W (W - 1) / 2.
    """

    count: int
    agents: int
    first: Integers
    second: Integers
    willing_first: Integers
    willing_second: Integers


def willing(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> Integers:
    """(T, T): W[a, c], how many a-agents would gain by a c-agent beside them; 0 where the pair is
    not allowed.

    A job alone on its own machine never gains (its penalty is 0 or, by noise, above a negative one:
    it is left alone); an agent left `unpaired` gains by whoever it likes better. O(P T) for P pairs
    of types.
    """
    penalty = np.where(instance.allowed, instance.penalty, np.inf)
    total = np.zeros(penalty.shape, dtype=np.int64)
    for a, b, number in zip(
        pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True
    ):
        total[a] += number * gains(instance.penalty[a, b], penalty[a], alpha, alpha_mode)
        total[b] += number * gains(instance.penalty[b, a], penalty[b], alpha, alpha_mode)
    if instance.unpaired is not None:
        left_out = np.flatnonzero(pairing.single)
        total[left_out] += pairing.single[left_out, None] * gains(
            instance.unpaired, penalty[left_out], alpha, alpha_mode
        )
    return total


def blocking_pairs(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> BlockingPairs:
    """Count and list the pairs of agents who would both gain by leaving their co-runners for each
    other.

    Source: Cooper section III.B (definition) and fig. 10 (alpha); thesis section 2.2.2.
    """
    validate_alpha(alpha, alpha_mode)
    total = willing(instance, pairing, alpha, alpha_mode)
    products = total * total.T
    diagonal = np.diag(total)
    products[np.diag_indices(len(total))] = diagonal * (
        diagonal - 1
    )  # each pair twice, as off the diagonal
    first, second = np.nonzero(np.triu(products))
    return BlockingPairs(
        count=int(products.sum()) // 2,
        agents=_blocking_agents(instance, pairing, products > 0, alpha, alpha_mode),
        first=first,
        second=second,
        willing_first=total[first, second],
        willing_second=total[second, first],
    )


def _blocking_agents(
    instance: Colocation, pairing: Pairing, blocks: Booleans, alpha: float, alpha_mode: AlphaMode
) -> int:
    """Agents in at least one blocking pair: those who gain by some type with which their type
    blocks.
    """
    best = np.where(blocks, instance.penalty, np.inf).min(
        axis=1
    )  # the most tempting blocking partner of each type
    a, b = (
        np.concatenate([pairing.first, pairing.second]),
        np.concatenate([pairing.second, pairing.first]),
    )
    number = np.concatenate([pairing.pairs, pairing.pairs])
    total = int(number[gains(instance.penalty[a, b], best[a], alpha, alpha_mode)].sum())
    if instance.unpaired is not None:
        total += int(pairing.single[gains(instance.unpaired, best, alpha, alpha_mode)].sum())
    return total
