"""What to run next: which pairs, in which order, until when, and whether it is worth the time."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from .estimates import Estimates
from .statistics import CONTROL, Observations, rounds_needed

ALONE = -2
"""The place of nobody, among co-runners."""

Cell = tuple[int, int]
"""A job and whom it runs beside: another (the lower place first), `CONTROL`, or `ALONE`."""

LEAST_LOOKS = 6
"""Looks below which no cell is done: a deviation of fewer is too often too small by chance."""

PILOT_LOOKS = 4
"""Looks after which the rounds that a cell needs are estimated."""

MOST_LOOKS = 200
"""Looks that a cell without a budget may need."""


def first_pairs(counts: Sequence[int], share: float, rng: np.random.Generator) -> list[Cell]:
    """A random share of the pairs, each job in one at least; none of a lone job with itself."""
    jobs = len(counts)
    pairs = [
        (a, c) for a in range(jobs) for c in range(a, jobs) if a != c or counts[a] >= 2 or jobs == 1
    ]
    most = math.ceil(share * len(pairs) - 1e-9)
    if most >= len(pairs):
        return pairs
    order = rng.permutation(jobs).tolist()
    if jobs % 2:
        order.append(int(rng.choice(order[:-1])))
    chosen = {(min(pair), max(pair)) for pair in zip(order[::2], order[1::2], strict=True)}
    rest = [pair for pair in pairs if pair not in chosen]
    for place in rng.permutation(len(rest))[: max(0, most - len(chosen))]:
        chosen.add(rest[place])
    return sorted(chosen)


@dataclass(frozen=True)
class CellProgress:
    """How a cell stands.

    Attributes
    ----------
    samples : rounds used so far.
    half : half width of its wider interval; inf while there is none.
    needed : rounds it needs in all; 0 while too few are seen to estimate it.
    done : whether it is as narrow as wished.
    """

    samples: int
    half: float
    needed: int
    done: bool


def cell_progress(
    cell: Cell, seen: Observations, estimates: Estimates, half_width: float
) -> CellProgress:
    """How a cell stands, both its entries."""
    a, c = cell
    if c == CONTROL:
        entries = [estimates.controls.get(a)]
        row = [estimates.controls.get(a)]
    else:
        entries = [estimates.estimates.get((a, c)), estimates.estimates.get((c, a))]
        row = [
            guess
            for (job, other), guess in estimates.estimates.items()
            if job in cell or other in cell
        ]
    if any(guess is None for guess in entries):
        return CellProgress(0, math.inf, 0, False)
    both = [guess for guess in entries if guess is not None]
    samples, half = min(guess.samples for guess in both), max(guess.half for guess in both)
    needed = 0
    if samples >= PILOT_LOOKS:
        # the deviations of a few looks are pooled with those of the same jobs' other cells
        pool = [(g.samples - 1, g.deviation) for g in row if g is not None]
        pooled = math.sqrt(sum(n * d * d for n, d in pool) / sum(n for n, _ in pool))
        needed = max(rounds_needed(pooled, g.mid, half_width, estimates.level) for g in both)
    return CellProgress(samples, half, needed, half <= half_width and samples >= LEAST_LOOKS)


class Plan:
    """The cells of a campaign and what is open of them.

    Parameters
    ----------
    counts : agents of each job.
    pairs : that are wanted.
    control : whether every job also runs beside the control.
    half_width : wished.
    """

    def __init__(
        self, counts: Sequence[int], pairs: Collection[Cell], control: bool, half_width: float
    ) -> None:
        self.counts = tuple(counts)
        self.pairs = tuple(pairs)
        self.control = control
        self.half_width = half_width
        self.voids: dict[Cell, str] = {}

    def cells(self) -> list[Cell]:
        """Every cell that is wanted and has not failed twice, without those alone."""
        controls = [(a, CONTROL) for a in range(len(self.counts))] if self.control else []
        return [cell for cell in [*self.pairs, *controls] if not self._void(cell)]

    def progress(self, seen: Observations, estimates: Estimates) -> dict[Cell, CellProgress]:
        """How every cell stands."""
        return {
            cell: cell_progress(cell, seen, estimates, self.half_width) for cell in self.cells()
        }

    def _void(self, cell: Cell) -> str:
        """Why a cell is not run any more; "" when it is."""
        a, c = cell
        alone = [self.voids.get((job, ALONE), "") for job in (a, c) if job >= 0]
        return self.voids.get(cell, "") or next(filter(None, alone), "")
