"""The action recommender: which agents are advised to break away, with whom, for what gain.

As many jobs as a machine has seats (two, or more) can claim one together, each bringing the seat
that it has. They break away if each of them gains more than `alpha`. Gains are read within the
intervals of what was measured: certain ones hold for every matrix within them, possible ones for
some. What a job loses beside one that stays beside it is one number, and cancels out.

By default agents take part all the same, as in the papers, and the recommendation is what
`cotenant advise job` prints. Strict ones act on it before they are begun: those that certainly gain
leave their co-runners, who go back to the queue, and are placed together at the next epoch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...instances.colocation.instance import Booleans, Floats, Integers
from ...instances.groups.stability import times_of
from ..measure.statistics import Entry

Types = tuple[int, ...]
"""The types on one machine, by seat."""

Place = tuple[int, int]
"""An agent: its group, by the place in a list of groups, and its seat."""

MOST_COMPARED = 10**8
"""Comparisons of a place with an offer up to which agents are asked."""

MOST_LEAVING = 5_000
"""Kinds of groups that strict agents look at, those of the largest gains."""

Ends = tuple[Floats, Floats, Floats]
"""(T, T) penalties beside one other, and both ends of their intervals; inf where it may not be."""

Reading = Literal["certain", "possible", "measured"]
_SIDES: dict[Reading, tuple[int, int]] = {"measured": (0, 0), "certain": (1, 2), "possible": (2, 1)}


@dataclass(frozen=True)
class Offer:
    """Jobs that would share a machine with one that is asked, and all gain.

    Attributes
    ----------
    others : their types.
    sets : how many sets of jobs there are of these types.
    gain, least, most : of the job that is asked, as measured and at the ends of the intervals.
    """

    others: Types
    sets: int
    gain: float
    least: float
    most: float


@dataclass(frozen=True)
class _Part:
    """The full groups with a type: places in the list, seat it is first, types beside it."""

    at: Integers
    seat: Integers
    others: Integers


class ActionRecommender:
    """The advice to the agents of an epoch's groups.

    Parameters
    ----------
    ends : penalties beside one other; beside several they add up, to 1 at most.
    measured : entry -> penalty, low and high of what was seen; they stand instead of the sum.
    seats : of each machine.
    groups : the types on each machine.
    alpha : the least gain for which an agent moves.

    Attributes
    ----------
    certain, possible : how many agents are advised to leave; None for too many groups.
    """

    def __init__(
        self,
        ends: Ends,
        measured: Mapping[Entry, tuple[float, ...]],
        seats: int,
        groups: Sequence[Types],
        alpha: float,
    ) -> None:
        self._ends, self._measured, self._alpha = ends, measured, alpha
        self._number: Counter[Entry] = Counter()
        for types, number in Counter(tuple(sorted(one)) for one in groups).items():
            for seat in range(len(types) if len(types) > 1 else 0):  # who is alone stays alone
                self._number[entry_of(types, seat)] += number
        jobs = np.bincount([kind for types in groups for kind in types])
        present = np.flatnonzero(jobs)
        work = comb(len(present) + seats - 2, seats - 1) * len(self._number) * seats**2
        self.certain: int | None = None
        self.possible: int | None = None
        self._parts: dict[int, _Part] = {}
        self._read: dict[Reading, tuple[Booleans, Integers]] = {}
        if work <= MOST_COMPARED:
            self._rows = _full_groups(jobs, seats, np.isfinite(ends[0]))
            self._times = times_of(self._rows)
            self._parts = {kind: self._part(kind) for kind in present.tolist()}
            self.certain, self.possible = self._advised("certain"), self._advised("possible")

    def offers(self, entry: Entry, reading: Reading) -> list[Offer]:
        """With whom a job of a type beside others would break away, its largest gain first."""
        part = self._parts.get(entry[0])
        if part is None or entry not in self._number:
            return []
        blocks, willing = self._blocking(reading)
        chosen = np.flatnonzero(blocks[part.at] & (self._gains(entry, reading) > self._alpha))
        gain, least, most = (self._gains(entry, of) for of in ("measured", "certain", "possible"))
        offers = []
        for place in chosen[np.argsort(-gain[chosen], kind="stable")].tolist():
            at, seat = int(part.at[place]), int(part.seat[place])
            pairs = zip(willing[at].tolist(), self._times[at].tolist(), strict=True)
            sets = prod(
                comb(w - (s == seat), m - (s == seat)) for s, (w, m) in enumerate(pairs) if m
            )
            offers.append(
                Offer(
                    tuple(part.others[place].tolist()), sets,
                    float(gain[place]), float(least[place]), float(most[place]),
                )
            )  # fmt: skip
        return offers

    def leaving(self, placed: Sequence[Types]) -> list[tuple[Place, ...]]:
        """Sets of agents that leave together for certain gains, those of the largest summed gain
        first: each agent as (group, seat), by its place in `placed`.

        Agents whose group somebody left are not beside the same jobs any more, and stay this time.
        """
        blocks, _ = self._blocking("certain")
        rows = np.flatnonzero(blocks)
        gains: dict[int, list[tuple[float, Entry]]] = defaultdict(list)
        best = np.zeros(self._rows.shape)
        for entry in self._number:
            part, gain = self._parts[entry[0]], self._gains(entry, "certain")
            for place in np.flatnonzero(blocks[part.at] & (gain > self._alpha)).tolist():
                at, seat = int(part.at[place]), int(part.seat[place])
                best[at, seat] = max(best[at, seat], gain[place])
                gains[at].append((float(gain[place]), entry))
        score = (best * self._times).sum(axis=1)[rows]
        free: dict[Entry, list[Place]] = defaultdict(list)
        for group, types in reversed(list(enumerate(placed))):
            for seat in range(len(types)):
                free[entry_of(types, seat)].append((group, seat))
        gone: set[int] = set()
        sets: list[tuple[Place, ...]] = []
        for at in rows[np.argsort(-score, kind="stable")][:MOST_LEAVING].tolist():
            ranked = sorted(gains[at], key=lambda one: (-one[0], one[1]))
            wanted = Counter(self._rows[at].tolist())
            while (one := _taken(wanted, ranked, free, gone)) is not None:
                gone |= {group for group, _ in one}
                sets.append(one)
        return sets

    def _advised(self, reading: Reading) -> int:
        """How many agents are in a set that breaks away."""
        blocks, _ = self._blocking(reading)
        return sum(
            number
            for entry, number in self._number.items()
            if (
                blocks[self._parts[entry[0]].at] & (self._gains(entry, reading) > self._alpha)
            ).any()
        )

    def _blocking(self, reading: Reading) -> tuple[Booleans, Integers]:
        """(R,) which full groups have willing jobs for all their seats, and (R, K) how many jobs of
        the seat's type are willing, at its first seat.
        """
        if reading not in self._read:
            willing = np.zeros_like(self._rows)
            for entry, number in self._number.items():
                part = self._parts[entry[0]]
                gains = self._gains(entry, reading) > self._alpha
                willing[part.at[gains], part.seat[gains]] += number
            blocks: Booleans = np.logical_and.reduce(willing >= self._times, axis=1)
            self._read[reading] = (blocks, willing)
        return self._read[reading]

    def _gains(self, entry: Entry, reading: Reading) -> Floats:
        """What a job gains in each full group that holds its type; -inf in its own."""
        kind, *beside = entry
        leave, offer = (self._ends[side] for side in _SIDES[reading])
        part = self._parts[kind]
        total = offer[kind][part.others].sum(axis=1)
        stays, left = np.zeros(len(total)), np.full(len(total), leave[kind, beside].sum())
        same = np.full(len(total), len(beside) == part.others.shape[1])
        for other, times in Counter(beside).items():
            both = (part.others == other).sum(axis=1)
            same &= both == times
            both = np.minimum(both, times)
            stays += both * offer[kind, other]
            left -= both * leave[kind, other]
        now = np.minimum(1.0, stays + left)
        new = np.minimum(1.0, total)
        sides = _SIDES[reading]
        if (seen := self._measured.get(entry)) is not None:
            now = np.full(len(total), seen[sides[0]])
        for entry_measured, values in self._measured.items():
            if entry_measured[0] == kind and len(entry_measured) == part.others.shape[1] + 1:
                here = (part.others == np.array(entry_measured[1:])).all(axis=1)
                new[here] = values[sides[1]]
                if seen is None:
                    now[here] = min(1.0, float(leave[kind, beside].sum()))
        gains: Floats = np.round(now - new, 12)  # of decimals: what sums of floats add is no gain
        gains[same] = -np.inf
        return gains

    def _part(self, kind: int) -> _Part:
        here = self._rows == kind
        at = np.flatnonzero(here.any(axis=1))
        seat = here[at].argmax(axis=1)
        keep = np.ones((len(at), self._rows.shape[1]), dtype=bool)
        keep[np.arange(len(at)), seat] = False
        return _Part(at, seat, self._rows[at][keep].reshape(len(at), self._rows.shape[1] - 1))


def format_counts(names: Sequence[str], groups: Sequence[Types]) -> str:
    """Groups of types in words, the most frequent first."""
    times = Counter(" and ".join(names[kind] for kind in types) for types in groups)
    return ", ".join(f"{number} x {group}" for group, number in times.most_common())


def entry_of(types: Types, seat: int) -> Entry:
    """A job's type, and those beside it, ascending."""
    return (types[seat], *sorted(types[:seat] + types[seat + 1 :]))


def _taken(
    wanted: Mapping[int, int],
    ranked: Sequence[tuple[float, Entry]],
    free: Mapping[Entry, list[Place]],
    gone: set[int],
) -> tuple[Place, ...] | None:
    """Agents of the wanted types, those that gain most first, off `free`; None for too few."""
    chosen: list[tuple[Entry, Place]] = []
    for kind, times in wanted.items():
        left = times
        for _, entry in ranked:
            agents = free[entry] if entry[0] == kind else []
            while left and agents:
                if (agent := agents.pop())[0] not in gone:
                    chosen.append((entry, agent))
                    left -= 1
        if left:
            for entry, agent in reversed(chosen):
                free[entry].append(agent)
            return None
    return tuple(agent for _, agent in chosen)


def _full_groups(jobs: Integers, seats: int, may: npt.NDArray[np.bool_]) -> Integers:
    """(R, seats) the kinds of groups that take every seat, of jobs that may be together."""
    present = np.flatnonzero(jobs)
    beside = may & may.T
    rows: Integers = np.zeros((1, 0), dtype=np.int64)
    for _ in range(seats):
        parts = []
        for kind in present.tolist():
            fits = rows if not rows.size else rows[rows[:, -1] <= kind]
            fits = fits[(fits == kind).sum(axis=1) < jobs[kind]]
            fits = fits[beside[kind][fits].all(axis=1)]
            parts.append(np.column_stack([fits, np.full(len(fits), kind)]))
        rows = np.concatenate(parts)
    return rows
