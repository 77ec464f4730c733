"""Blocking groups: sets of jobs that would all gain on a full machine of their own.

k jobs that sit on machines of k seats, wherever, can claim one such machine together: each brings
the seat it has. Such a group *blocks* at alpha when each of its jobs would lose more than alpha
less there than now; with two seats this is Cooper's blocking pair (section III.B), and a grouping
that no group blocks is in the core. Jobs on machines of another class have no claim to it, and a
job that is alone stays alone.

Let W[a, S] be the jobs of type a (on that class) that lose more than alpha more than they would in
the group S. S blocks exactly if W[a, S] >= m for every type a that S holds m times, and the product
of C(W[a, S], m) counts the sets of jobs that do. Penalties are whole units of 1e-12, so that every
comparison is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, floor
from typing import Annotated, cast

import numpy as np

from ..problem.option_types import AtLeast, validate_options
from ..problem.quantities import as_written
from .instance import FORBIDDEN, UNIT, Floats, Grouping, Groups, Integers, ascending
from .penalties import groups_listed, units

Alpha = Annotated[float, AtLeast(0, "a least gain", cure="0.05 is five points of penalty")]

_EXACT = 2.0**52
_MOST_EXCHANGES = 4 * 10**7
"""Exchanges of two types between kinds of groups that are looked at for a count."""


@dataclass(frozen=True)
class BlockingGroups:
    """Blocking groups of a grouping.

    Attributes
    ----------
    count : sets of jobs that block, each with the class of machine they claim.
    kinds : (B, S) types of the groups, -1 for seats there are not, the most frequent first; the
        first `LISTED`.
    where : (B,) the class.
    number : how many sets of jobs each stands for.
    """

    count: int
    kinds: Integers = field(repr=False)
    where: Integers = field(repr=False)
    number: tuple[int, ...] = field(repr=False)


LISTED = 1_000
"""Kinds of blocking groups that are kept."""


class Losses:
    """Penalties of the jobs of a grouping, sorted by class of machines and type.

    Parameters
    ----------
    instance, grouping : what is given, and a feasible answer.
    """

    def __init__(self, instance: Groups, grouping: Grouping) -> None:
        self.instance = instance
        kinds, places, lost, number, size = agent_losses(instance, grouping)
        self.kind, self.lost, self.number, self.size = kinds, lost, number, size
        self.place = instance.alike[places]

    def of(self, place: int, kind: int) -> tuple[Integers, Integers]:
        """Penalties of a type's jobs on a class of machines in increasing order, and for each the
        number of jobs with a smaller one.
        """
        here = (self.place == place) & (self.kind == kind) & (self.size > 1)
        order = np.argsort(self.lost[here], kind="stable")
        before = np.concatenate([[0], np.cumsum(self.number[here][order])])
        return self.lost[here][order], before


def agent_losses(
    instance: Groups, grouping: Grouping
) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    """Five arrays with an entry for each taken seat of each distinct group: type, class of
    machines, penalty, number of jobs, group size.
    """
    parts = []
    taken = grouping.members >= 0
    for place in np.unique(grouping.where).tolist():
        here = np.flatnonzero(grouping.where == place)
        rows, used = grouping.members[here], taken[here]
        lost = units(instance, place, rows)
        times = used.sum(axis=1)
        parts.append(
            np.stack([rows[used], np.full(used.sum(), place), lost[used],
                      np.repeat(grouping.number[here], times), np.repeat(times, times)])
        )  # fmt: skip
    every: Integers = np.concatenate(parts, axis=1).astype(np.int64)
    return every[0], every[1], every[2], every[3], every[4]


def whole_alpha(alpha: float) -> int:
    """Round alpha down to integer penalty units, which changes no comparison with it."""
    return floor(as_written(alpha) * UNIT) if alpha < 1e3 else FORBIDDEN


@validate_options
def blocking_groups(instance: Groups, grouping: Grouping, alpha: Alpha = 0.0) -> BlockingGroups:
    """Count and list the groups that would all gain more than alpha on a full machine of their own;
    raises InvalidOption for more kinds of groups than are listed.
    """
    total = 0
    found: list[tuple[int, int, Integers]] = []
    for place, rows, willing, times in _willing(instance, grouping, whole_alpha(alpha)):
        heads = times > 0
        blocks = np.flatnonzero((willing >= times).all(axis=1))
        if not len(blocks):
            continue
        rows, willing, times, heads = rows[blocks], willing[blocks], times[blocks], heads[blocks]
        rough = np.where(heads, willing, 1).astype(float) ** times
        if float(rough.prod(axis=1).sum()) < _EXACT:  # then every product below fits
            ways = np.ones(len(rows), dtype=np.int64)
            for column in range(rows.shape[1]):
                ways *= _choose(willing[:, column], times[:, column])
            number = ways.tolist()
        else:
            number = [
                int(np.prod([comb(w, m) for w, m in zip(ws, ms, strict=True)], dtype=object))
                for ws, ms in zip(willing.tolist(), times.tolist(), strict=True)
            ]
        total += sum(number)
        most = sorted(range(len(number)), key=lambda at: -number[at])[:LISTED]
        found += [(number[at], place, rows[at]) for at in most]
    found.sort(key=lambda entry: -entry[0])
    found = found[:LISTED]
    width = int(instance.seats.max())
    kinds = np.full((len(found), width), -1, dtype=np.int64)
    for at, (_, _, row) in enumerate(found):
        kinds[at, : len(row)] = row
    where = np.array([place for _, place, _ in found], dtype=np.int64)
    return BlockingGroups(total, kinds, where, tuple(number for number, _, _ in found))


def least_alpha_of(instance: Groups, grouping: Grouping) -> int:
    """Least alpha, in units, at which no group blocks a grouping.

    A group S blocks as long as alpha is below what its least eager member gains, the one of type a
    that S holds m times counted by its m-th largest loss.
    """
    losses = Losses(instance, grouping)
    most = 0
    for place in _places(instance):
        rows = groups_listed(instance, place, full=True)
        there, times = units(instance, place, rows), times_of(rows)
        gain = np.full(rows.shape, np.iinfo(np.int64).max)
        for kind in range(instance.types):
            at = (rows == kind) & (times > 0)
            if not at.any():
                continue
            lost, before = losses.of(place, kind)
            # the m-th largest loss of the type's jobs on this class; none has fewer jobs there
            rank = before[-1] - times[at]
            enough = rank >= 0
            largest = np.full(len(rank), -FORBIDDEN)
            spot = np.searchsorted(before, rank[enough], side="right") - 1
            largest[enough] = lost[spot]
            gain[at] = largest - there[at]
        if len(rows):
            most = max(most, int(gain.min(axis=1).max()))
    return most


def swap_blocking_pairs(instance: Groups, grouping: Grouping, alpha: Alpha = 0.0) -> int | None:
    """Pairs of jobs on two machines that would both gain more than alpha by exchanging their seats;
    None where there are too many kinds of groups to look.
    """
    least, times = whole_alpha(alpha), times_of(grouping.members)
    kind, seat = np.nonzero(times > 0)  # an entry for each type of each kind of group
    number, types = len(kind), np.arange(instance.types)
    if number * max(number, 10 * instance.types) > _MOST_EXCHANGES:
        return None
    own, place = grouping.members[kind, seat], grouping.where[kind]
    # penalty of a job of each type in the seat of each entry
    after: Integers = np.zeros((number, instance.types), dtype=np.int64)
    for one in np.unique(place).tolist():
        here = np.flatnonzero(place == one)
        rows = np.repeat(grouping.members[kind[here]], instance.types, axis=0)
        comes = np.tile(types, len(here))
        rows[np.arange(len(rows)), np.repeat(seat[here], instance.types)] = comes
        rows = ascending(rows)
        spot = np.argmax(rows == comes[:, None], axis=1)
        lost = units(instance, one, rows)[np.arange(len(rows)), spot]
        after[here] = lost.reshape(len(here), -1)
    now = after[np.arange(number), own]
    many, repeats = grouping.number[kind], times[kind, seat]
    jobs = many * repeats
    total = 0
    for part in np.array_split(np.arange(number), 1 + number // 256):
        both = now[part, None] - after[:, own[part]].T > least
        both &= now - after[part][:, own] > least
        ways = both @ (many * repeats)
        total += sum(
            a * b for a, b in zip((many * repeats)[part].tolist(), ways.tolist(), strict=True)
        )
        # of one kind of group: two jobs of one machine exchange nothing
        same = (both & (kind[part, None] == kind)) @ repeats
        total -= sum((jobs[part] * same).tolist())
    return total // 2


def _places(instance: Groups) -> list[int]:
    """Distinct classes of machines that an answer may use; of classes with equal seats and
    penalties, the first stands for all.
    """
    return [int(place) for place in np.unique(instance.alike[instance.limits > 0])]


def _willing(
    instance: Groups, grouping: Grouping, least: int
) -> Iterator[tuple[int, Integers, Integers, Integers]]:
    """For each class of machines: its full groups, the number of jobs that would gain at each seat,
    and the multiplicity of each type in its group.
    """
    losses = Losses(instance, grouping)
    for place in _places(instance):
        rows = groups_listed(instance, place, full=True)
        there, times = units(instance, place, rows), times_of(rows)
        willing = np.zeros(rows.shape, dtype=np.int64)
        for kind in range(instance.types):
            at = rows == kind
            lost, before = losses.of(place, kind)
            if len(lost):
                spot = np.searchsorted(lost, there[at] + least, side="right")
                willing[at] = before[-1] - before[spot]
        yield place, rows, willing, times


def times_of(rows: Integers) -> Integers:
    """Multiplicity (N, S) of each type in its group, at the type's first seat; 0 at later seats."""
    number = np.zeros_like(rows)
    for seat in range(rows.shape[1]):
        new = rows[:, seat] >= 0
        if seat:
            new = new & (rows[:, seat] != rows[:, seat - 1])
        number[:, seat] = np.where(new, (rows == rows[:, [seat]]).sum(axis=1), 0)
    return number


def _choose(of: Integers, number: Integers) -> Integers:
    """Binomial coefficients of arrays, elementwise, in 64-bit integers."""
    found = np.ones(len(of), dtype=np.int64)
    for step in range(1, int(number.max(initial=0)) + 1):
        found = np.where(step <= number, found * (of - step + 1) // step, found)
    return cast("Integers", found)


def mean_penalty(instance: Groups, grouping: Grouping) -> float:
    """Mean penalty over all jobs: the objective of `optimal`."""
    return float(Fraction(total_units(instance, grouping), UNIT * instance.jobs))


def total_units(instance: Groups, grouping: Grouping) -> int:
    """Total penalty of all jobs, in integer units."""
    _, _, lost, number, _ = agent_losses(instance, grouping)
    return sum(int(a) * int(b) for a, b in zip(lost.tolist(), number.tolist(), strict=True))


def type_penalties(instance: Groups, grouping: Grouping) -> Floats:
    """Mean penalty (T,) of each type's jobs; NaN for a type without jobs."""
    kind, _, lost, number, _ = agent_losses(instance, grouping)
    total = np.bincount(kind, weights=lost * number / UNIT, minlength=instance.types)
    return np.where(instance.count > 0, total / np.maximum(instance.count, 1), np.nan)
