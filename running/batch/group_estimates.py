"""What is believed of jobs on machines of more than two seats, and how they are grouped there.

A job that was seen among certain others twice or more is believed what was seen. Of everything
else a model is believed: penalties beside several others are the sum of those beside each, at most
1. The sum is an assumption; `cotenant convert --from groups-csv` says how wrong it is for groups
that were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...analysis.colocation.batches import Policy, Waiting, answer_of, place_oldest
from ...instances.colocation.instance import LEAST_PENALTY, Colocation, Integers
from ...instances.groups import Grouping, Groups, check
from ...instances.groups.instance import FORBIDDEN, UNIT
from ...instances.groups.penalties import groups_listed, groups_number, units
from ..lab.estimates import simultaneous
from ..lab.penalty_model import PenaltyModel
from ..lab.statistics import Entry, Estimate
from .agents import Place, Types
from .decisions import Decision, PredictedPenalties
from .group_agents import GroupAgents

MOST_TABLED = 200_000
"""Kinds of groups of which a table is made, for the sake of those that were measured; where a batch
has more, the model stands for all of them.
"""


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

    @property
    def words(self) -> str:
        """What is believed, in words."""
        seen = f", but for {len(self.measured)} that were measured" if self.measured else ""
        return f"penalties beside several others are taken to add up{seen}"

    def losses(self, types: Types) -> PredictedPenalties:
        """What is believed of a group, by seat."""
        sides = []
        for seat, kind in enumerate(types):
            others = sorted(types[:seat] + types[seat + 1 :])
            seen = self.measured.get((kind, *others))
            sides.append(
                seen or tuple(min(1.0, float(end[kind, others].sum())) for end in self.ends)
            )
        penalty, low, high = zip(*sides, strict=True)
        return PredictedPenalties(penalty, low, high)

    def instance(self, count: Integers, machines: int) -> Groups:
        """The jobs at hand as an instance: additive, or a table where some of their groups were
        measured.

        Parameters
        ----------
        count : (T,) jobs.
        """
        load = self.pairs.bandwidth
        fields = {
            "count": count, "seats": self.seats, "machines": machines, "names": self.pairs.names,
            "pressure": load,
        }  # fmt: skip
        plain = Groups(penalty=self.ends[0], **fields)  # type: ignore[arg-type]
        here = [
            entry
            for entry in self.measured
            if (np.bincount(entry, minlength=len(count)) <= count).all()
        ]
        # a table of all sizes: policies fill machines job by job
        spare = plain.replace(machines=float("inf"))
        if not here or groups_number(spare) > MOST_TABLED:
            return plain
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


class GroupPlacer:
    """More than two seats: any method of the problem `groups`.

    Parameters
    ----------
    penalty_model : of the penalties.
    policy : groups a batch.
    alpha : the least gain for which an agent moves.
    seats : of each machine.
    """

    def __init__(
        self, penalty_model: PenaltyModel, policy: Policy, alpha: float, seats: int
    ) -> None:
        self._penalty_model, self._policy, self._alpha = penalty_model, policy, alpha
        self.seats = seats
        self._known_estimates: GroupEstimates | None = None

    def estimates(self) -> GroupEstimates:
        """What is believed now."""
        pairs = self._penalty_model.instance()
        if self._known_estimates is None or self._known_estimates.pairs is not pairs:
            self._known_estimates = group_estimates(self._penalty_model, self.seats)
        return self._known_estimates

    def place(self, queue: Waiting, free: int, rng: np.random.Generator) -> Decision | None:
        """Take the oldest jobs off the queue, and group them; None when nothing waits."""
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

        found = place_oldest(queue, self.seats, free, rng, place, need)
        if found is None:
            return None
        grouping, batch = found
        groups = [
            tuple(kind for kind in types if kind >= 0)
            for types, number in zip(
                grouping.members.tolist(), grouping.number.tolist(), strict=True
            )
            for _ in range(number)
        ]
        agents = GroupAgents(estimates.ends, estimates.measured, self.seats, groups, self._alpha)

        def leave(placed: Sequence[Types]) -> list[tuple[Place, ...]]:
            return agents.leaving(placed)

        return Decision(batch, groups, agents.certain, agents.possible, leave)

    def losses(self, types: Types) -> PredictedPenalties:
        """What is believed of a group."""
        return self.estimates().losses(types)


def group_estimates(penalty_model: PenaltyModel, seats: int) -> GroupEstimates:
    """What is known of groups."""
    estimates = penalty_model.profile.estimates
    level = simultaneous(estimates.confidence, estimates.jobs)
    return GroupEstimates(
        penalty_model.instance(), penalty_model.seen.group_estimates(level), seats
    )
