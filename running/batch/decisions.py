"""How an epoch's batch is placed, assessed and believed of: in pairs, or in larger groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...analysis.colocation.batches import Batch, Policy, Waiting, pair_oldest
from ...instances.colocation.instance import Pairing
from ..lab.penalty_model import PenaltyModel
from .agents import Place, Types, assess, leaving


@dataclass(frozen=True)
class PredictedPenalties:
    """What is believed of the penalties of a group's jobs, by seat.

    Attributes
    ----------
    low, high : ends of the intervals; the penalty itself where there are none.
    """

    penalty: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Decision:
    """A batch, placed.

    Attributes
    ----------
    batch : its jobs, by age and type.
    groups : the types on each machine.
    certain, possible : agents that are advised to leave, see `agents.Assessment`; None where there
        were too many groups to look at.
    leaving : who of these groups leaves with whom for certain gains, each agent at most once.
    """

    batch: Batch
    groups: list[Types]
    certain: int | None
    possible: int | None
    leaving: Callable[[Sequence[Types]], list[tuple[Place, ...]]]


class Placer(Protocol):
    """Decides epochs for machines of so many seats."""

    seats: int

    def place(self, queue: Waiting, free: int, rng: np.random.Generator) -> Decision | None:
        """Take the oldest jobs off the queue, and place them; None when nothing waits."""

    def losses(self, types: Types) -> PredictedPenalties:
        """What is believed of a group."""


class PairPlacer:
    """Two seats: any colocation method.

    Parameters
    ----------
    penalty_model : of the penalties.
    policy : pairs a batch.
    alpha : the least gain for which an agent moves.
    """

    seats = 2

    def __init__(self, penalty_model: PenaltyModel, policy: Policy, alpha: float) -> None:
        self._penalty_model, self._policy, self._alpha = penalty_model, policy, alpha

    def place(self, queue: Waiting, free: int, rng: np.random.Generator) -> Decision | None:
        """Take the oldest jobs off the queue, and pair them; None when nothing waits."""
        found = pair_oldest(self._penalty_model.instance(), self._policy, queue, free, rng)
        if found is None:
            return None
        problem, pairing, batch = found
        assessed = assess(problem, pairing, self._alpha)
        return Decision(
            batch, _groups(pairing), assessed.certain, assessed.possible,
            lambda placed: leaving(assessed.advice, placed),
        )  # fmt: skip

    def losses(self, types: Types) -> PredictedPenalties:
        """What is believed of a pair, or of a job alone."""
        if len(types) < 2:
            return PredictedPenalties((0.0,), (0.0,), (0.0,))
        known = self._penalty_model.instance()
        penalty, low, high = (
            (float(matrix[types]), float(matrix[types[::-1]]))
            for matrix in (
                known.penalty,
                known.penalty if known.low is None else known.low,
                known.penalty if known.high is None else known.high,
            )
        )
        return PredictedPenalties(penalty, low, high)


def _groups(pairing: Pairing) -> list[Types]:
    """The types on each machine of a pairing."""
    found: list[Types] = []
    for first, second, pairs in zip(
        pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True
    ):
        found += [(first, second)] * pairs
    for kind, number in enumerate(pairing.single.tolist()):
        found += [(kind,)] * number
    return found
