"""How an epoch's jobs are placed, and what is predicted of them: in pairs by a method of
colocation, in larger groups by one of groups.

The penalty of a job among several others is predicted to be what was measured of it among these,
twice or more; of everything else the sum of those beside each, at most 1. The sum is an assumption;
`cotenant convert --from groups-csv` says how wrong it is for groups that were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...analysis.colocation.batches import (
    Batch,
    Policy,
    Waiting,
    answer_of,
    pair_oldest,
    place_oldest,
)
from ...instances.colocation.instance import LEAST_PENALTY, Colocation, Integers, Pairing
from ...instances.groups import Grouping, Groups, check
from ...instances.groups.instance import FORBIDDEN, UNIT
from ...instances.groups.penalties import groups_listed, groups_number, units
from ..measure.estimates import simultaneous
from ..measure.predictor import Predictor
from ..measure.statistics import Entry, Estimate
from .action_recommender import ActionRecommender, Types

MOST_TABLED = 200_000
"""Kinds of groups up to which a batch has a table, with what was measured; else the sum."""


@dataclass(frozen=True)
class PredictedPenalties:
    """What is predicted of the penalties of a group's jobs, by seat.

    Attributes
    ----------
    low, high : ends of the intervals; the penalty itself where there are none.
    """

    penalty: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class GroupEstimates:
    """Penalties of groups, with their intervals.

    Parameters
    ----------
    pairs : penalties beside one other.
    measured : a job's type and those beside it, ascending -> what was seen of it there.
    seats : of each machine.
    """

    def __init__(self, pairs: Colocation, measured: Mapping[Entry, Estimate], seats: int) -> None:
        self.pairs, self.seats = pairs, seats
        self.ends = (
            pairs.penalty,
            pairs.penalty if pairs.low is None else pairs.low,
            pairs.penalty if pairs.high is None else pairs.high,
        )
        self.measured = {
            entry: tuple(
                round(min(1.0, max(LEAST_PENALTY, end)), 12)
                for end in (guess.mid, guess.low, guess.high)
            )
            for entry, guess in measured.items()
            if len(entry) <= seats
        }
        self._predicted: dict[Types, PredictedPenalties] = {}  # of thousands of groups few differ

    @property
    def words(self) -> str:
        """The assumption, in words."""
        seen = f", but for {len(self.measured)} that were measured" if self.measured else ""
        return f"penalties beside several others are taken to add up{seen}"

    def losses(self, types: Types) -> PredictedPenalties:
        """What is predicted of a group, by seat."""
        if types in self._predicted:
            return self._predicted[types]
        sides = []
        for seat, kind in enumerate(types):
            others = sorted(types[:seat] + types[seat + 1 :])
            seen = self.measured.get((kind, *others))
            sides.append(
                seen or tuple(min(1.0, float(end[kind, others].sum())) for end in self.ends)
            )
        self._predicted[types] = PredictedPenalties(*zip(*sides, strict=True))
        return self._predicted[types]

    def instance(self, count: Integers, machines: int) -> Groups:
        """The jobs at hand as an instance: additive, or a table where groups were measured.

        Parameters
        ----------
        count : (T,) jobs.
        """
        fields = {
            "count": count, "seats": self.seats, "machines": machines, "names": self.pairs.names,
            "pressure": self.pairs.bandwidth,
        }  # fmt: skip
        additive = Groups(penalty=self.ends[0], **fields)  # type: ignore[arg-type]
        here = [
            entry
            for entry in self.measured
            if (np.bincount(entry, minlength=len(count)) <= count).all()
        ]
        # a table of all sizes: policies fill machines job by job
        spare = additive.replace(machines=float("inf"))
        if not here or groups_number(spare) > MOST_TABLED:
            return additive
        rows = groups_listed(spare, 0)
        lost = units(spare, 0, rows)
        rows, lost = rows[(may := lost.max(axis=1) < FORBIDDEN)], lost[may]
        losses = np.maximum(lost / UNIT, LEAST_PENALTY)
        place = {types: at for at, types in enumerate(map(tuple, rows.tolist()))}
        for entry in here:
            types = sorted(entry)
            at = place.get((*types, *[-1] * (self.seats - len(types))))
            if at is not None:
                losses[at, rows[at] == entry[0]] = self.measured[entry][0]
        return Groups(members=rows, losses=losses, where=np.full(len(rows), -1), **fields)  # type: ignore[arg-type]


def group_estimates(predictor: Predictor, seats: int) -> GroupEstimates:
    """What a model predicts of groups."""
    estimates = predictor.profile.estimates
    level = simultaneous(estimates.confidence, estimates.jobs)
    return GroupEstimates(predictor.instance(), predictor.seen.group_estimates(level), seats)


@dataclass(frozen=True)
class Decision:
    """A batch, placed: its jobs by age and type, the types on each machine, and their agents."""

    batch: Batch
    groups: list[Types]
    agents: ActionRecommender


class Placer:
    """Decides epochs for machines of so many seats.

    Parameters
    ----------
    predictor : of the penalties.
    policy : pairs a batch where there are two seats, groups it where there are more.
    alpha : the least gain for which an agent moves.
    seats : of each machine.
    """

    def __init__(self, predictor: Predictor, policy: Policy, alpha: float, seats: int) -> None:
        self._predictor, self._policy, self._alpha = predictor, policy, alpha
        self.seats = seats
        self._estimates: GroupEstimates | None = None

    def estimates(self) -> GroupEstimates:
        """What is predicted by all that was measured until now."""
        if self._estimates is None or self._estimates.pairs is not self._predictor.instance():
            self._estimates = group_estimates(self._predictor, self.seats)
        return self._estimates

    def losses(self, types: Types) -> PredictedPenalties:
        """What is predicted of a group."""
        return self.estimates().losses(types)

    def place(self, queue: Waiting, free: int, rng: np.random.Generator) -> Decision | None:
        """Take the oldest jobs off the queue, and place them; None when nothing waits."""
        placed = (self._pairs if self.seats == 2 else self._groups)(queue, free, rng)
        return None if placed is None else Decision(*placed, self.agents(placed[1]))

    def agents(self, groups: Sequence[Types]) -> ActionRecommender:
        """The advice to the agents of groups."""
        estimates = self.estimates()
        return ActionRecommender(
            estimates.ends, estimates.measured, self.seats, groups, self._alpha
        )

    def _pairs(
        self, queue: Waiting, free: int, rng: np.random.Generator
    ) -> tuple[Batch, list[Types]] | None:
        placed = pair_oldest(self._predictor.instance(), self._policy, queue, free, rng)
        return None if placed is None else (placed[2], groups_of(placed[1]))

    def _groups(
        self, queue: Waiting, free: int, rng: np.random.Generator
    ) -> tuple[Batch, list[Types]] | None:
        estimates = self.estimates()
        finite = np.isfinite(estimates.pairs.penalty)
        beside = finite & finite.T

        def place(count: Integers, machines: int) -> Grouping | None:
            problem = estimates.instance(count, machines)
            grouping: Grouping | None = answer_of(self._policy, problem, rng)
            if grouping is not None:
                check(problem, grouping)
            return grouping

        def need(count: Integers) -> int:
            others = beside @ count - np.diag(beside)
            alone = int(count[(count > 0) & (others == 0)].sum())
            return alone - (alone - int(count.sum())) // self.seats

        placed = place_oldest(queue, self.seats, free, rng, place, need)
        if placed is None:
            return None
        grouping, batch = placed
        members, number = grouping.members.tolist(), grouping.number.tolist()
        groups = [
            tuple(kind for kind in types if kind >= 0)
            for types, times in zip(members, number, strict=True)
            for _ in range(times)
        ]
        return batch, groups


def groups_of(pairing: Pairing) -> list[Types]:
    """The types on each machine of a pairing, pairs first."""
    pairs = zip(pairing.first.tolist(), pairing.second.tolist(), strict=True)
    groups = [
        types
        for types, times in zip(pairs, pairing.pairs.tolist(), strict=True)
        for _ in range(times)
    ]
    single = enumerate(pairing.single.tolist())
    return [*groups, *((kind,) for kind, times in single for _ in range(times))]
